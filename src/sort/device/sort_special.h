// SPDX-License-Identifier: Apache-2.0
// Zeros of both signs and NaNs, which keep the order of the input while all other keys are sorted or written anew.
#pragma once

#include "sort/device/sort_device.h"
#include "sort/device/sort_plan.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace masu::sort_special {

inline constexpr unsigned group = 256;
inline constexpr unsigned most_listed = 1024;  // zeros, and NaNs: fewer than that need no further reading
inline constexpr unsigned most_chunks = 4096;
inline constexpr unsigned chunk_keys = 32 * group;  // at least

// The files of a program, with `more`, and its defines. `listed`: most_listed, or 0 where none are listed.
template <class... Names>
constexpr auto files(Names... more) noexcept {
  return sort_plan::files("src/elements/group_scan.cl", "src/sort/device/sort_lists.cl",
                          "src/sort/device/sort_special.cl", more...);
}
inline std::vector<runtime::Define> defines(Dtype dtype, unsigned listed) {
  std::vector<runtime::Define> list = sort_kernels::key_defines(dtype);
  list.push_back({"MASU_GROUP", group});
  list.push_back({"MASU_MOST_LISTED", listed});
  return list;
}

// Brings those of `count` keys that have to keep their order, if the header says so, to their places in `moved`. Where
// things begin in `memory`: `chunks`, 8 bytes for each; `listed`, as many for each that may be listed; `zero_end`,
// where the place after the last zero stands.
inline void move(Stream& stream, call::Kernels& kernels, const BufferBase& keys, const BufferBase& moved,
                 const KernelArgument& memory, std::uint64_t header, std::uint64_t chunks_at, std::uint64_t listed,
                 std::uint64_t zero_end, std::uint32_t count, std::uint32_t flipped, DeviceWork& work) {
  const std::uint64_t chunks = std::clamp(count / chunk_keys, 1U, most_chunks);
  const LocalMemory local = call::local<std::uint32_t>(group + 2);
  work.done(kernels.launch(stream, "special_count", chunks, keys, memory, header, chunks_at, count, local));
  work.done(kernels.launch(stream, "special_move", chunks, keys, moved, memory, header, chunks_at, listed, zero_end,
                           count, flipped, local));
}

}  // namespace masu::sort_special
