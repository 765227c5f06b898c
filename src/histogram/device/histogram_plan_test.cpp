// SPDX-License-Identifier: Apache-2.0
// The kernels compile as CUDA C++ for each architecture that masu supports, without a GPU.
#include "histogram/device/histogram_plan.h"
#include "each_architecture.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/device/slot_kernels.h"
#include "plan_devices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace masu {
namespace {

using histogram_plan::KernelKind;
using histogram_plan::Plan;

SlotRule rule_of(const Bins& bins, Dtype dtype, bool joint = false) {
  return {BinRule(bins, dtype, false), test::nvrtc_gpu(), joint};
}

class HistogramNvrtc : public test::EachArchitecture {
 protected:
  static void expect_plan(const Plan& plan, std::span<const SlotRule> columns) {
    SCOPED_TRACE(std::string(to_string(columns.front().element)) + ' ' + std::string(columns.front().function()));
    std::vector<std::string> kernels{std::string(plan.kernel_name())};
    if (plan.cluster > 1) kernels.emplace_back("histogram_cluster");
    expect_compiles(plan.files(), plan.defines(test::nvrtc_gpu(), columns), kernels);
  }
  static void expect_strategy(const SlotRule& rule, Strategy strategy, unsigned channels = 1, bool rows = false) {
    const DeviceInfo gpu = test::nvrtc_gpu(GetParam());
    expect_plan(histogram_plan::make(gpu, rule, channels, strategy, rows), {&rule, 1});
  }
};
MASU_ON_EACH_ARCHITECTURE(HistogramNvrtc);

TEST_P(HistogramNvrtc, EveryKernel) {
  const SlotRule bytes = rule_of(Bins::integers(256), Dtype::u8);
  const SlotRule wide = rule_of(Bins::integers(65536), Dtype::u16);
  for (const Strategy strategy : {Strategy::global, Strategy::private_, Strategy::lanes}) {
    expect_strategy(bytes, strategy);
    expect_strategy(bytes, strategy, 3, true);
  }
  for (const unsigned channels : {2U, 3U, 4U, 5U}) expect_strategy(bytes, Strategy::lanes, channels);
  expect_strategy(wide, Strategy::packed);
  expect_strategy(rule_of(Bins::integers(40000), Dtype::u16), Strategy::packed, 2);
  Plan parts = histogram_plan::make(test::nvrtc_gpu(), wide, 1, Strategy::partitioned);
  for (const KernelKind kernel : {KernelKind::scatter, KernelKind::order, KernelKind::parts}) {
    expect_plan(histogram_plan::step(test::nvrtc_gpu(), parts, kernel), {&wide, 1});
  }
  for (const std::uint64_t elements : {1, 4096}) {
    expect_plan(histogram_plan::make_rows(test::nvrtc_gpu(), bytes, 1, elements).value(), {&bytes, 1});
  }
  SlotRule range = rule_of(Bins::integers(256), Dtype::i8);
  range.value = Dtype::i8;
  expect_plan(histogram_plan::make_range(test::nvrtc_gpu()), {&range, 1});
}

TEST_P(HistogramNvrtc, Folding) {
  const auto& files = histogram_plan::fold_files;
  expect_compiles({files.begin(), files.end()}, histogram_plan::fold_defines(test::nvrtc_gpu()), {"histogram_fold"});
}

TEST_P(HistogramNvrtc, EveryTypeAndRule) {
  for (const Dtype dtype :
       {Dtype::u16, Dtype::i16, Dtype::u32, Dtype::i32, Dtype::u64, Dtype::i64, Dtype::f16, Dtype::f32, Dtype::f64}) {
    if (GetParam() != 90 && size_of(dtype) != 8) continue;  // the others differ by nothing an architecture knows
    if (!is_float(dtype)) expect_strategy(rule_of(Bins::integers(90), dtype), Strategy::lanes);
    expect_strategy(rule_of(Bins::even(100, 0, 1), dtype), Strategy::lanes);
    expect_strategy(rule_of(Bins::even(100, ValueRange{0, 1, false}), dtype), Strategy::lanes, 2);
    SlotRule edges = rule_of(Bins::edges({0, 1, 3, 7, 20, 100, 1000}), dtype);
    expect_strategy(edges, Strategy::lanes);
    edges.guide_bits = is_float(dtype);
    expect_strategy(edges, Strategy::global, 4);
  }
  expect_strategy(rule_of(Bins::even(10000000, 0, 1), Dtype::f32), Strategy::partitioned);
  expect_strategy(rule_of(Bins::edges({1e10, 2e10}), Dtype::i32), Strategy::lanes);  // no value reaches the bins
}

TEST_P(HistogramNvrtc, JointHistograms) {
  std::vector<SlotRule> columns;
  for (unsigned d = 0; d < 8; ++d) {
    const Bins bins = d % 2 == 0 ? Bins::even(3, 0, 1) : Bins::edges({0, 1, 2});
    columns.push_back(rule_of(bins, Dtype::f32, true));
    if (d != 1 && d != 7) continue;
    for (const Strategy strategy : {Strategy::lanes, Strategy::global, Strategy::partitioned}) {
      expect_plan(histogram_plan::make_joint(test::nvrtc_gpu(), columns, 10000, strategy), columns);
    }
  }
}

class WeightedHistogramNvrtc : public test::EachArchitecture {
 protected:
  static void expect_plan(std::span<const SlotRule> columns, Dtype weights, bool squared) {
    SCOPED_TRACE(std::string(to_string(weights)) + (squared ? " squared" : ""));
    const auto plan = weighted_plan::make(test::nvrtc_gpu(), columns, 259, WeightFormat(weights, squared));
    for (const weighted_plan::Plan& each : {plan, plan.window()}) {
      expect_compiles(each.base.files(), each.defines(test::nvrtc_gpu(), columns),
                      {std::string(each.base.kernel_name())});
    }
  }
  static SlotRule rule_of(const Bins& bins, Dtype dtype, bool joint = false) {
    return {BinRule(bins, dtype, false, joint), test::nvrtc_gpu(), joint};
  }
};
MASU_ON_EACH_ARCHITECTURE(WeightedHistogramNvrtc);

TEST_P(WeightedHistogramNvrtc, EveryTypeOfWeights) {
  const SlotRule rule = rule_of(Bins::even(256, 0, 1), Dtype::f32);
  for (const Dtype weights : {Dtype::u8, Dtype::i16, Dtype::u32, Dtype::i64, Dtype::f16, Dtype::f32, Dtype::f64}) {
    if (GetParam() != 90 && weights != Dtype::f32) continue;  // the others differ by nothing an architecture knows
    expect_plan({&rule, 1}, weights, false);
    expect_plan({&rule, 1}, weights, true);
  }
}

TEST_P(WeightedHistogramNvrtc, Rounding) {
  const auto& files = weighted_plan::rounding_files;
  for (const Dtype weights : {Dtype::u32, Dtype::i64, Dtype::f32}) {
    for (const bool squared : {false, true}) {
      expect_compiles({files.begin(), files.end()},
                      weighted_plan::rounding_defines(test::nvrtc_gpu(), WeightFormat(weights, squared)),
                      {"weighted_round"});
    }
  }
}

TEST_P(WeightedHistogramNvrtc, SeveralColumns) {
  const std::vector<SlotRule> columns{rule_of(Bins::even(3, 0, 1), Dtype::f64, true),
                                      rule_of(Bins::edges({0, 1, 2}), Dtype::f64, true)};
  expect_plan(columns, Dtype::f32, false);
}

TEST(HistogramPlan, TablesFitLocalMemory) {
  for (const DeviceInfo& device : test::plan_devices()) {
    if (device.max_work_group_size < 16) continue;
    for (const Dtype dtype : {Dtype::u8, Dtype::i16, Dtype::f32, Dtype::f64}) {
      if (dtype == Dtype::f64 && !device.fp64) continue;
      for (const std::uint64_t bins : {1, 100, 5000, 1000000}) {
        const SlotRule rule(BinRule(Bins::even(bins, 0, 1000), dtype, false), device);
        const auto plan = histogram_plan::make(device, rule, 1, Strategy::automatic);
        test::expect_group(plan.group, device);
        EXPECT_LE(plan.local_words * 4, device.local_bytes);
        EXPECT_GE(plan.groups, 1U);
        // No counter of 32 bits overflows.
        EXPECT_GE(plan.most_elements(), 1U);
        for (const std::uint64_t count : test::plan_counts) {
          ASSERT_GE(plan.groups_for(count, size_of(dtype)), 1U);
          ASSERT_LE(plan.groups_for(count, size_of(dtype)), plan.groups);
        }
        EXPECT_FALSE(plan.kernel_name().empty());
        test::expect_defines([&] { return plan.defines(device, {&rule, 1}); });
      }
    }
  }
}

TEST(HistogramPlan, TemporaryMemoryHoldsWhatItIsFor) {
  for (const DeviceInfo& device : test::plan_devices()) {
    if (device.max_work_group_size < 16) continue;
    for (const std::uint64_t bins : {100000, 1000000, 10000000}) {
      const SlotRule rule(BinRule(Bins::integers(bins), Dtype::i32, false), device);
      const auto plan = [&]() -> std::optional<histogram_plan::Plan> {
        try {
          return histogram_plan::make(device, rule, 1, Strategy::partitioned);
        } catch (const Error&) {
          return std::nullopt;  // local memory is too small
        }
      }();
      if (!plan) continue;
      for (const std::uint64_t elements : {1, 255, 32768, 100003, 1 << 20, 77777777, 1 << 27}) {
        const std::uint64_t bytes = Partitioner::bytes_for(*plan, elements);
        const std::uint64_t found = Partitioner::elements_in(*plan, bytes);
        ASSERT_GE(found, elements);
        if (found > 1 << 15) {
          ASSERT_LE(Partitioner::bytes_for(*plan, found), bytes);
        }
        // Two bytes for each, some words for each block, and blocks that are not full.
        ASSERT_LE(bytes, elements * 11 + 540 * (plan->parts + 1) + 1024);
      }
    }
  }
}

}  // namespace
}  // namespace masu
