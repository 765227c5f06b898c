// SPDX-License-Identifier: Apache-2.0
// The kernels of weighted histograms compile as CUDA C++ for each architecture that masu supports, without a GPU.
#include "each_architecture.h"

#include "histogram/device/weighted_histogram_plan.h"

#include <string>
#include <vector>

namespace masu {
namespace {

class WeightedHistogramNvrtc : public test::EachArchitecture {
 protected:
  static void expect_plan(std::span<const SlotRule> columns, Dtype weights, bool squared) {
    SCOPED_TRACE(std::string(to_string(weights)) + (squared ? " squared" : ""));
    const auto plan = weighted_plan::make(test::nvrtc_gpu(), columns, 259, WeightFormat(weights, squared), false);
    const bool joint = columns.size() > 1;
    for (const weighted_plan::Plan& each : {plan, plan.window()}) {
      expect_compiles(each.base.files(), each.defines(test::nvrtc_gpu(), columns, joint),
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
    for (const bool listed : {false, true}) {
      expect_compiles({files.begin(), files.end()},
                      weighted_plan::rounding_defines(test::nvrtc_gpu(), WeightFormat(weights, listed), listed),
                      {"weighted_round"});
    }
  }
}

TEST_P(WeightedHistogramNvrtc, SeveralColumns) {
  const std::vector<SlotRule> columns{rule_of(Bins::even(3, 0, 1), Dtype::f64, true),
                                      rule_of(Bins::edges({0, 1, 2}), Dtype::f64, true)};
  expect_plan(columns, Dtype::f32, false);
}

}  // namespace
}  // namespace masu
