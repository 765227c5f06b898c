// SPDX-License-Identifier: Apache-2.0
// The kernel compiles as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "each_architecture.h"

#include "search/search_plan.h"

namespace masu {
namespace {

class SearchNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(SearchNvrtc);

TEST_P(SearchNvrtc, EveryType) {
  for (const Dtype dtype : {Dtype::i8, Dtype::u16, Dtype::f16, Dtype::u32, Dtype::f32, Dtype::i64, Dtype::f64}) {
    if (GetParam() != 90 && size_of(dtype) != 8) continue;  // the others differ by nothing an architecture knows
    const auto plan = search_plan::make(test::nvrtc_gpu(), dtype, std::uint64_t{1} << 28, 1 << 20);
    for (const Side side : {Side::left, Side::right}) {
      const SearchOptions options{.side = side, .order = side == Side::left ? Order::descending : Order::ascending};
      expect_compiles(search_plan::files, plan.defines(dtype, side == Side::left ? Dtype::u32 : Dtype::u64, options),
                      {"search_sorted"});
    }
  }
}

}  // namespace
}  // namespace masu
