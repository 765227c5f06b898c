// SPDX-License-Identifier: Apache-2.0
// The kernels compile as CUDA C++ for each architecture that masu supports, without a GPU and without a warning.
#include "each_architecture.h"

#include "transpose/transpose_plan.h"

namespace masu {
namespace {

class TransposeNvrtc : public test::EachArchitecture {};
MASU_ON_EACH_ARCHITECTURE(TransposeNvrtc);

TEST_P(TransposeNvrtc, EverySizeOfElement) {
  for (const bool in_place : {false, true}) {
    for (const std::size_t bytes : {1, 2, 3, 4, 8, 16, 48}) {
      if (GetParam() != 90 && bytes != 1) continue;  // the others differ by nothing an architecture knows
      for (const std::uint64_t columns : {4096U, 4097U}) {
        const auto plan = transpose_plan::make(test::nvrtc_gpu(), {columns, columns, bytes, 0, 0, in_place});
        expect_compiles(transpose_plan::files, plan.defines(), {plan.kernel()});
      }
    }
  }
}

}  // namespace
}  // namespace masu
