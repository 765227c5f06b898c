// SPDX-License-Identifier: Apache-2.0
// The stable order of keys, as 64-bit slots: a slot's lower half is the index of a key, and keys' slots stand in the
// keys' order. The upper half is free.
#pragma once

#include "sort/cpu/sort_cpu_quick.h"

#include <masu/sort.h>

#include <cstdint>
#include <functional>

namespace masu::cpu {

constexpr std::uint64_t most_slots = std::uint64_t{1} << 32;

// Writes `count` slots, at most most_slots. `finished(first, last)` is called, by any thread, for parts of them that
// will not change any more; together they are all slots.
void order_slots(Dtype dtype, const void* keys, std::uint64_t count, Order order, std::uint64_t* slots, Threads threads,
                 const std::function<void(std::uint64_t, std::uint64_t)>& finished);

}  // namespace masu::cpu
