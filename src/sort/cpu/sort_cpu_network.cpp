// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/bitonic_cpu.h"
#include "sort/cpu/sort_cpu_memory.h"
#include "sort/cpu/sort_cpu_stable.h"

#include <cstring>

namespace masu::cpu {

namespace {

// Record i becomes the one that was at order[i].
void apply(std::byte* records, std::size_t bytes, std::span<const std::uint64_t> order) {
  const Scratch old(order.size() * bytes);
  const std::byte* const from = old.as<std::byte>();
  std::memcpy(old.as<std::byte>(), records, order.size() * bytes);
  for (std::uint64_t i = 0; i < order.size(); ++i) std::memcpy(records + i * bytes, from + order[i] * bytes, bytes);
}

}  // namespace

void network_sort(const StableWork& work, Order order) {
  if (work.count == 0) return;
  const ArrayView keys(work.dtype, work.keys, work.count);
  if (work.indices != nullptr && work.index_bytes == sizeof(std::uint64_t)) {
    return bitonic::order_cpu(keys, order, {static_cast<std::uint64_t*>(work.indices), work.count});
  }
  const Scratch memory(work.count * sizeof(std::uint64_t));
  const std::span<std::uint64_t> indices(memory.as<std::uint64_t>(), work.count);
  bitonic::order_cpu(keys, order, indices);
  if (work.indices != nullptr) {
    auto* const narrow = static_cast<std::uint32_t*>(work.indices);
    for (std::uint64_t i = 0; i < work.count; ++i) narrow[i] = static_cast<std::uint32_t>(indices[i]);
    return;
  }
  apply(static_cast<std::byte*>(work.keys), size_of(work.dtype), indices);
  if (work.value_bytes != 0) apply(work.values, work.value_bytes, indices);
}

}  // namespace masu::cpu
