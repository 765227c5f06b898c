// SPDX-License-Identifier: Apache-2.0
// The kernels of the networks and of merging compile as CUDA C++ for each architecture that masu supports, without a
// GPU.
#include "each_architecture.h"
#include "sort/device/bitonic_device.h"
#include "sort/device/sort_merge.h"
#include "sort/device/sort_rows.h"

#include <utility>

namespace masu {
namespace {

class SortNetworkNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(SortNetworkNvrtc);

TEST_P(SortNetworkNvrtc, Rows) {
  std::vector<sort_rows::Plan> plans;
  for (const Dtype dtype : {Dtype::f32, Dtype::u32, Dtype::i8, Dtype::f16, Dtype::f64, Dtype::i64}) {
    for (const bool indexed : {false, true}) {
      if (GetParam() != 90 && dtype != Dtype::f32 && dtype != Dtype::f64) continue;
      sort_kernels::Arrays arrays;
      arrays.dtype = dtype;
      arrays.order = indexed ? Order::descending : Order::ascending;
      sort_rows::Plan plan = sort_rows::make(test::nvrtc_gpu(), arrays, indexed, dtype == Dtype::i8 ? 5 : 256);
      plan.moves_keys = true;
      plans.push_back(plan);
    }
  }
  sort_rows::Plan pairs = plans[1];
  pairs.index_bytes = 8;
  pairs.record_unit = 4;
  pairs.segments = true;
  plans.push_back(pairs);
  pairs.listed = true;
  pairs.index_bytes = pairs.record_unit = 0;
  plans.push_back(pairs);
  for (const sort_rows::Plan& plan : plans) expect_compiles(sort_rows::Plan::files(), plan.defines(), {"sort_rows"});
}

TEST_P(SortNetworkNvrtc, Bitonic) {
  for (const unsigned fused : {0U, 1U, 2U, 3U}) {
    const std::vector<std::string> name = {fused == 0 ? "bitonic_near" : "bitonic_far"};
    for (const unsigned index_bytes : {0U, 4U, 8U}) {
      const Dtype dtype = index_bytes == 0 ? Dtype::i64 : index_bytes == 4 ? Dtype::f32 : Dtype::f16;
      if (GetParam() != 90 && fused == 2) continue;
      expect_compiles(bitonic::files(),
                      bitonic::defines(test::nvrtc_gpu(), dtype, Order::descending, index_bytes, fused), name);
    }
  }
}

TEST_P(SortNetworkNvrtc, Merge) {
  const std::pair<Dtype, sort_merge::Moved> kernels[] = {
      {Dtype::f32, {0, 0}}, {Dtype::f32, {1, 1}}, {Dtype::f16, {2, 1}}, {Dtype::f64, {4, 1}},
      {Dtype::f32, {8, 1}}, {Dtype::u8, {1, 3}},  {Dtype::i64, {4, 5}}, {Dtype::u32, {8, 8}},
  };
  for (const auto& [dtype, moved] : kernels) {
    const Order order = moved.units > 1 ? Order::descending : Order::ascending;
    expect_compiles(sort_merge::files(), sort_merge::defines(test::nvrtc_gpu(), dtype, order, moved), {"sort_merge"});
  }
}

}  // namespace
}  // namespace masu
