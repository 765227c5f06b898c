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
  for (const Dtype dtype : {Dtype::i16, Dtype::u64, Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
    if (GetParam() != 90 && dtype != Dtype::f64) continue;  // the others differ by nothing an architecture knows
    for (const Inputs inputs : {Inputs::squares, Inputs::values, Inputs::products, Inputs::both}) {
      if (inputs == Inputs::squares && dtype != Dtype::f32) continue;
      const bool fine = inputs == Inputs::both && dtype != Dtype::f16 && dtype != Dtype::bf16;
      const std::uint64_t count = dtype == Dtype::i16 ? 2 : ~std::uint64_t{0};  // few of i16 in registers
      const sum_plan::Plan plan = sum_plan::make(test::nvrtc_gpu(GetParam()), dtype, inputs, true, fine, count);
      // What makes results holds the same code and more.
      if (dtype == Dtype::f32 && inputs != Inputs::both)
        expect_compiles(plan.files(false), plan.defines(false), {"sum_add"});
      // Long rows of these have a program of their own, without clusters.
      const bool streams = is_float(dtype) && inputs == Inputs::values;
      if (streams) expect_compiles(plan.files(true), plan.defines(true), {"sum_teams", "sum_shared"});
      const sum_plan::Plan usual =
          streams ? sum_plan::make(test::nvrtc_gpu(GetParam()), dtype, inputs, true, fine, 1024) : plan;
      std::vector<std::string> kernels{"sum_teams", "sum_shared"};
      EXPECT_EQ(usual.cluster > 1, usual.quick && GetParam() >= 90);
      if (usual.cluster > 1) kernels.emplace_back("sum_clusters");
      expect_compiles(usual.files(true), usual.defines(true), kernels);
      if (inputs == Inputs::products) continue;
      const sum_plan::Plan columns =
          sum_plan::make(test::nvrtc_gpu(GetParam()), dtype, inputs, true, fine, count, sum_plan::Layout::columns);
      expect_compiles(columns.files(true), columns.defines(true), {"sum_teams"});
    }
  }
}

// Sums with an addend.
TEST_P(SumNvrtc, Addends) {
  if (GetParam() != 90) return;
  for (const Dtype dtype : {Dtype::i16, Dtype::u64, Dtype::f16, Dtype::f32, Dtype::f64}) {
    for (const auto layout : {sum_plan::Layout::shared, sum_plan::Layout::columns}) {
      sum_plan::Plan plan = sum_plan::make(test::nvrtc_gpu(90), dtype, Inputs::values, true, false, 1024, layout);
      plan.adds = true;
      std::vector<std::string> kernels{"sum_teams"};
      if (layout == sum_plan::Layout::shared) kernels.insert(kernels.end(), {"sum_shared", "sum_clusters"});
      expect_compiles(plan.files(true), plan.defines(true), kernels);
    }
  }
}

// Sums that become f64, and columns of few elements.
TEST_P(SumNvrtc, FineSumsAndShortColumns) {
  if (GetParam() != 90) return;
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const sum_plan::Plan rows = sum_plan::make(test::nvrtc_gpu(90), dtype, Inputs::values, true, true, 1024);
    expect_compiles(rows.files(true), rows.defines(true), {"sum_teams", "sum_shared", "sum_clusters"});
    const sum_plan::Plan many_rows =
        sum_plan::make(test::nvrtc_gpu(90), dtype, Inputs::values, true, false, 1024, sum_plan::Layout::rows, 1000);
    EXPECT_EQ(many_rows.close, dtype == Dtype::f32);
    expect_compiles(many_rows.files(true), many_rows.defines(true), {"sum_teams", "sum_shared"});
    const sum_plan::Plan many_columns =
        sum_plan::make(test::nvrtc_gpu(90), dtype, Inputs::values, true, false, 1000, sum_plan::Layout::columns, 1000);
    EXPECT_EQ(many_columns.close, dtype == Dtype::f32);
    expect_compiles(many_columns.files(true), many_columns.defines(true), {"sum_teams"});
    for (const Inputs inputs : {Inputs::values, Inputs::both}) {  // and so many lines that a work-item holds several
      sum_plan::Plan many = sum_plan::make(test::nvrtc_gpu(90), dtype, inputs, true, false, 3,
                                           sum_plan::Layout::columns, std::uint64_t{1} << 24);
      EXPECT_EQ(many.lines, inputs == Inputs::values && dtype != Dtype::f16 ? 8U : 5U);
      many.running = inputs == Inputs::values && dtype == Dtype::f16;
      expect_compiles(many.files(true), many.defines(true), {"sum_teams"});
    }
    sum_plan::Plan running = sum_plan::make(test::nvrtc_gpu(90), dtype, Inputs::values, true, false, 33,
                                            sum_plan::Layout::columns, std::uint64_t{1} << 24);
    running.running = true;
    expect_compiles(running.files(true), running.defines(true), {"sum_teams"});
    for (const std::uint64_t count : {1, 3}) {
      const sum_plan::Plan columns =
          sum_plan::make(test::nvrtc_gpu(90), dtype, Inputs::values, true, true, count, sum_plan::Layout::columns);
      EXPECT_EQ(columns.unroll, count);
      expect_compiles(columns.files(true), columns.defines(true), {"sum_teams"});
    }
  }
}

}  // namespace
}  // namespace masu
