// SPDX-License-Identifier: Apache-2.0
// Searching on the CPU, and on an OpenCL or CUDA device; how it is done, and every constant of the kernel and of the
// CPU's tree.
#pragma once

#include "runtime/kernel_source.h"
#include "runtime/tuning.h"

#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/search.h>
#include <masu/stream.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu::search_plan {

inline constexpr std::array<std::string_view, 3> files = {"src/elements/elements.cl", "src/elements/order.cl",
                                                          "src/search/search.cl"};
// The CPU's tree fits into a core's second-level cache, and leaves room in it.
inline constexpr std::uint64_t cpu_tree_bytes = std::uint64_t{1} << 18;

struct Tuned {
#define MASU_TUNED MASU_TUNED_MEMBER
#include "search/search_tuning.def"
};
inline Tuned tuned;

// Blocks of 2^shift elements; a tree of 2^levels - 1 nodes has the last element of each full block.
struct Tree {
  unsigned levels = 0;
  unsigned shift = 0;
};
// The tree of at most `most_levels` levels for `values` values that are sought with it.
Tree tree_for(std::uint64_t sorted, std::uint64_t values, unsigned most_levels) noexcept;

struct Plan {
  unsigned group = 256;            // work-items in a work-group
  unsigned unroll = tuned.unroll;  // values that a work-item seeks at a time
  std::uint64_t groups = 1;        // work-groups
  std::size_t key_bytes = 4;
  Tree tree;

  [[nodiscard]] std::uint64_t local_bytes() const noexcept { return (std::uint64_t{1} << tree.levels) * key_bytes; }
  [[nodiscard]] std::vector<runtime::Define> defines(Dtype dtype, Dtype positions, const SearchOptions& options) const;
};

// `group`, `most_levels`: not those that suit the device, for tests.
Plan make(const DeviceInfo& device, Dtype dtype, std::uint64_t sorted, std::uint64_t values, unsigned group = 0,
          unsigned most_levels = 32);

}  // namespace masu::search_plan

namespace masu {

// options.times is not filled. positions.dtype is u32 or u64, positions.count is values.count.
void search_cpu(const ArrayView& sorted, const ArrayView& values, MutableArrayView positions,
                const SearchOptions& options);

// Queues the search of all values in all sorted elements on an OpenCL or CUDA device.
Event search_on_device(Stream& stream, const BufferBase& sorted, const BufferBase& values, Dtype dtype,
                       const BufferBase& positions, Dtype position_dtype, const SearchOptions& options,
                       const search_plan::Plan& plan);

}  // namespace masu
