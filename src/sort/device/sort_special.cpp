// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_special.h"

#include <algorithm>

namespace masu::sort_special {

namespace {

constexpr std::uint32_t chunk_keys = 32 * group;  // at least

}  // namespace

std::vector<runtime::Define> defines(Dtype dtype) {
  std::vector<runtime::Define> list = sort_kernels::key_defines(dtype, Order::ascending);
  list.push_back({"MASU_GROUP", group});
  list.push_back({"MASU_MOST_LISTED", most_listed});
  return list;
}

void move(Stream& stream, call::Kernels& kernels, const BufferBase& keys, const BufferBase& moved,
          const KernelArgument& memory, const Places& at, std::uint32_t count, std::uint32_t flipped,
          DeviceWork& work) {
  const std::uint64_t chunks = std::clamp<std::uint32_t>(count / chunk_keys, 1, most_chunks);
  const LocalMemory local = call::local<std::uint32_t>(group + 2);
  work.done(
      kernels.launch(stream, "special_count", chunks, keys, memory, at.header, at.chunks, at.listed, count, local));
  work.done(kernels.launch(stream, "special_move", chunks, keys, moved, memory, at.header, at.chunks, at.listed,
                           at.zero_end, count, flipped, local));
}

}  // namespace masu::sort_special
