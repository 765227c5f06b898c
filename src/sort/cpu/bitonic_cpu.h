// SPDX-License-Identifier: Apache-2.0
// The bitonic network on the CPU.
#pragma once

#include <masu/sort.h>

#include <cstdint>
#include <span>

namespace masu::bitonic {

// The stable order of the keys, keys[indices[0]] first, by the network of masu/bitonic.h over pairs of key and index.
// As many indices as keys. Takes 16 bytes of memory for each.
void order_cpu(const ArrayView& keys, Order order, std::span<std::uint64_t> indices);

}  // namespace masu::bitonic
