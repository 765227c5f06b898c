// SPDX-License-Identifier: Apache-2.0
// The kernels compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "each_architecture.h"

#include "sum/sum_plan.h"

namespace masu {
namespace {

using sum_plan::Inputs;

class SumNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(SumNvrtc);

TEST_P(SumNvrtc, EveryTypeAndInput) {
  for (const Dtype dtype : {Dtype::i16, Dtype::u64, Dtype::f16, Dtype::f32, Dtype::f64}) {
    if (GetParam() != 90 && dtype != Dtype::f64) continue;  // the others differ by nothing an architecture knows
    for (const Inputs inputs : {Inputs::squares, Inputs::values, Inputs::products}) {
      if (inputs == Inputs::squares && dtype != Dtype::f32) continue;
      const sum_plan::Plan plan = sum_plan::make(test::nvrtc_gpu(), dtype, inputs);
      for (const bool finishes : {false, true}) {
        if (!finishes && dtype != Dtype::f32) continue;  // what finishes holds the same code and more
        std::vector<std::string> kernels{"sum_add"};
        if (finishes) kernels.emplace_back("sum_rows");
        if (finishes && is_float(dtype) && dtype != Dtype::f64) kernels.emplace_back("sum_parts");
        expect_compiles(plan.files(finishes), plan.defines(finishes), kernels);
      }
    }
    if (dtype == Dtype::f32) {
      const sum_plan::Plan squares = sum_plan::make(test::nvrtc_gpu(), dtype, Inputs::squares);
      expect_compiles(squares.files(true), squares.defines(true, true), {"sum_parts"});
    }
    const sum_plan::Variance variance =
        sum_plan::variance_of(sum_plan::make(test::nvrtc_gpu(), dtype, Inputs::values),
                              sum_plan::make(test::nvrtc_gpu(), dtype, Inputs::squares));
    expect_compiles(variance.files, variance.defines, {"sum_variance"});
  }
}

}  // namespace
}  // namespace masu
