// SPDX-License-Identifier: Apache-2.0
// The kernel compiles as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "each_architecture.h"

#include "convert/convert_plan.h"

namespace masu {
namespace {

class ConvertNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(ConvertNvrtc);

TEST_P(ConvertNvrtc, Pairs) {
  int pair = 0;
  for (const Dtype source : {Dtype::u8, Dtype::i16, Dtype::i32, Dtype::u64, Dtype::f16, Dtype::f32, Dtype::f64}) {
    for (const Dtype target : {Dtype::i8, Dtype::u32, Dtype::i64, Dtype::f16, Dtype::f32, Dtype::f64}) {
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
