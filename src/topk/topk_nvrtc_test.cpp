// SPDX-License-Identifier: Apache-2.0
// The kernels of this room and of the room quantile compile as CUDA C++, without a GPU and without a warning.
#include "each_architecture.h"

#include "quantile/quantile_plan.h"
#include "quantile/selection_plan.h"
#include "topk/topk_plan.h"

#include <string>
#include <vector>

namespace masu {
namespace {

using topk_plan::Part;
using topk_plan::Plan;

class TopkNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(TopkNvrtc);

TEST_P(TopkNvrtc, EveryKernelOfEveryKindOfElement) {
  for (const Dtype dtype : {Dtype::u8, Dtype::i64, Dtype::f16, Dtype::f32}) {
    if (GetParam() != 90 && dtype != Dtype::f32) continue;  // the others differ by nothing an architecture knows
    for (const bool largest : {true, false}) {
      const NanPolicy nan = largest == (dtype == Dtype::f16) ? NanPolicy::skip : NanPolicy::last;
      const Plan plan = topk_plan::make(test::nvrtc_gpu(), dtype, Ranking(dtype, largest, nan));
      expect_compiles(
          plan.files(Part::select), plan.defines(Part::select),
          {"topk_sample", "topk_threshold", "topk_ranks", "topk_exact", "topk_filter", "topk_scan", "topk_gather"});
      expect_compiles(plan.files(Part::finish), plan.defines(Part::finish), {"topk_finish"});
      expect_compiles(plan.files(Part::rows), plan.defines(Part::rows), {"topk_rows"});
    }
    const Plan plan = topk_plan::make(test::nvrtc_gpu(), dtype, Ranking(dtype, true, NanPolicy::last));
    for (const unsigned prefixes : {1U, 2U, 4U}) {
      expect_compiles(plan.files(Part::digits), plan.defines(Part::digits, prefixes), {"topk_digits"});
    }
    for (const unsigned index_bytes : {0U, 4U, 8U}) {
      const quantile_plan::Partition parting = quantile_plan::partition(test::nvrtc_gpu(), dtype, index_bytes);
      expect_compiles(quantile_plan::Partition::files, parting.defines(), {"partition_count", "partition_scatter"});
    }
    const selection_plan::Plan selection = selection_plan::make(test::nvrtc_gpu(), dtype);
    const auto compiles = [&](selection_plan::Part of, const std::vector<std::string>& kernels) {
      expect_compiles(selection.files(of), selection.defines(of), kernels);
    };
    compiles(selection_plan::Part::alone, {"selection_rows", "selection_bounds"});
    compiles(selection_plan::Part::passes,
             {"selection_sample", "selection_filter", "selection_digits", "selection_zeros", "selection_finish"});
    compiles(selection_plan::Part::sorted, {"selection_gather", "selection_medians"});
    compiles(selection_plan::Part::points, {"selection_points"});
    if (is_float(dtype))
      compiles(selection_plan::Part::numbers, {"selection_number_medians", "selection_number_points"});
  }
}

TEST(TopkPlan, SamplesSoThatFewPass) {
  const Plan plan = topk_plan::make(test::nvrtc_gpu(), Dtype::f32, Ranking(Dtype::f32, true, NanPolicy::last));
  const std::uint64_t n = std::uint64_t{1} << 28;
  for (const std::uint64_t k : {1, 100, 1024, 1000000}) {
    const topk_plan::Sampling sampling = topk_plan::sampling(plan, n, k);
    EXPECT_TRUE(sampling.sampled);
    EXPECT_LT(sampling.rest, topk_plan::samples);
    EXPECT_GE(sampling.capacity, k);
    EXPECT_LT(sampling.capacity, 2 * k + 100000);
  }
  EXPECT_FALSE(topk_plan::sampling(plan, n, n - 1).sampled);
  EXPECT_EQ(topk_plan::sampling(plan, n, n - 1).capacity, n);
  EXPECT_FALSE(topk_plan::sampling(plan, 100, 1).sampled);
}

}  // namespace
}  // namespace masu
