// SPDX-License-Identifier: Apache-2.0
// Plans, which are functions of the device's facts and of sizes alone, made for devices that are not there; and their
// kernels, which compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "convert/convert_plan.h"
#include "each_architecture.h"
#include "plan_devices.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cstdint>

namespace masu {
namespace {

TEST(ConvertPlan, VectorsAreAlignedOnBothSides) {
  for (const DeviceInfo& device : test::plan_devices()) {
    for (const Dtype from : test::all_dtypes) {
      for (const Dtype to : test::all_dtypes) {
        if (from == to) continue;
        const ConvertRule rule = make_rule(from, to, Overflow::error, Rounding::nearest_even);
        const std::uint64_t in = size_of(from);
        const std::uint64_t out = size_of(to);
        for (const std::uint64_t count : test::plan_counts) {
          for (const std::uint64_t skipped : {0, 1, 3}) {
            const auto plan = convert_plan::make(device, rule, count, skipped * in, 0);
            test::expect_group(plan.group, device);
            ASSERT_LE(plan.head + plan.vectors * plan.vector, count);
            ASSERT_LT(count - plan.head - plan.vectors * plan.vector, plan.vector);
            if (plan.vectors != 0) {
              ASSERT_EQ((skipped * in + plan.head * in) % (plan.vector * in), 0U);
              ASSERT_EQ(plan.head * out % (plan.vector * out), 0U);
            }
            ASSERT_GE(plan.groups, 1U);
            ASSERT_LE(plan.workspace(), convert_plan::most_workspace);
            ASSERT_EQ(plan.workspace() % 16, 0U);
          }
        }
        test::expect_defines([&] { return convert_plan::make(device, rule, 1000, 0, 0).defines(rule); });
      }
    }
  }
}

// The ends of the source, and NaN, tell whether something may not fit.
TEST(ConvertPlan, WhereEverythingFitsNothingIsLookedFor) {
  for (const Dtype from : test::all_dtypes) {
    for (const Dtype to : test::all_dtypes) {
      const Format format = format_of(from);
      const std::uint64_t greatest = format.is_float ? format.infinity() - 1 : format.most();
      const std::uint64_t least = format.is_float ? greatest | format.sign() : format.is_signed ? format.sign() : 0;
      bool bad = false;
      for (const std::uint64_t bits : {greatest, least, format.is_float ? format.infinity() + 1 : 0}) {
        convert_bits(make_rule(from, to, Overflow::saturate, Rounding::nearest_even), bits, bad);
      }
      const ConvertRule rule = make_rule(from, to, Overflow::error, Rounding::nearest_even);
      EXPECT_EQ(rule.overflow, bad ? Overflow::error : Overflow::wrap) << to_string(from) << " to " << to_string(to);
    }
  }
}

class ConvertNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(ConvertNvrtc);

TEST_P(ConvertNvrtc, Pairs) {
  int pair = 0;
  for (const Dtype source :
       {Dtype::u8, Dtype::i16, Dtype::i32, Dtype::u64, Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
    for (const Dtype target : {Dtype::i8, Dtype::u32, Dtype::i64, Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
      ++pair;
      if (source == target || (GetParam() != 90 && !is_float(target))) continue;
      if (GetParam() == 80) continue;  // what 75 and 90 know
      const auto overflow = static_cast<Overflow>(pair % 3);
      const ConvertRule rule = make_rule(source, target, overflow, static_cast<Rounding>(pair % 4));
      const auto plan = convert_plan::make(test::nvrtc_gpu(), rule, 1 << 20, 0, pair % 2 == 0 ? 0 : size_of(target));
      expect_compiles(convert_plan::files, plan.defines(rule), {"convert_elements", "first_note"});
    }
  }
}

TEST_P(ConvertNvrtc, TruthValues) {
  ConvertRule rule = make_rule(Dtype::u8, Dtype::u8, Overflow::wrap, Rounding::nearest_even);
  rule.truth = true;
  const auto plan = convert_plan::make(test::nvrtc_gpu(), rule, 1 << 20, 0, 0);
  expect_compiles(convert_plan::files, plan.defines(rule), {"convert_elements", "first_note"});
}

TEST_P(ConvertNvrtc, Negated) {
  for (const Dtype dtype : {Dtype::f16, Dtype::f32, Dtype::f64}) {
    ConvertRule rule = make_rule(dtype, dtype, Overflow::wrap, Rounding::nearest_even);
    rule.negate = true;
    const auto plan = convert_plan::make(test::nvrtc_gpu(), rule, 1 << 20, 0, 0);
    expect_compiles(convert_plan::files, plan.defines(rule), {"convert_elements", "first_note"});
  }
}

}  // namespace

}  // namespace masu
