// SPDX-License-Identifier: Apache-2.0
// Zeros of both signs and NaNs, which keep the order of the input while all other keys are sorted or written anew.
#pragma once

#include "sort/device/sort_device.h"
#include "sort/device/sort_plan.h"

#include <cstdint>
#include <vector>

namespace masu::sort_special {

inline constexpr unsigned group = 256;
inline constexpr unsigned most_listed = 1024;  // zeros, and NaNs: fewer than that need no further reading
inline constexpr unsigned most_chunks = 4096;
// Bytes of temporary memory for what is counted, and for the places of few zeros and of few NaNs.
inline constexpr std::uint64_t chunk_bytes = most_chunks * std::uint64_t{8};
inline constexpr std::uint64_t list_bytes = most_listed * std::uint64_t{8};

// The files of a program, with `more`, and its defines.
template <class... Names>
constexpr auto files(Names... more) noexcept {
  return sort_plan::files("src/elements/group_scan.cl", "src/sort/device/sort_lists.cl",
                          "src/sort/device/sort_special.cl", more...);
}
std::vector<runtime::Define> defines(Dtype dtype);

// Where things begin in the memory that holds them.
struct Places {
  std::uint64_t header;
  std::uint64_t chunks;
  std::uint64_t listed;
  std::uint64_t zero_end;  // the place after the last zero
};

// Brings those of `count` keys that have to keep their order, if the header says so, to their places in `moved`.
void move(Stream& stream, call::Kernels& kernels, const BufferBase& keys, const BufferBase& moved,
          const KernelArgument& memory, const Places& at, std::uint32_t count, std::uint32_t flipped, DeviceWork& work);

}  // namespace masu::sort_special
