// SPDX-License-Identifier: Apache-2.0
// Many keys on GPUs: an exact histogram of the uppermost bits, two partitions into exact places, and each bucket
// finished in local memory. Keys of 4 and 8 bytes alone: equal keys may change places where nobody can see it; zeros
// and NaNs keep the order of the input. Keys of 4 bytes with values or with indices as the result: packed above their
// indices, so that no two are equal. The launches depend on sizes alone: nothing is read back.
#pragma once

#include "sort/device/sort_device.h"

#include <cstdint>

namespace masu::sort_keys {

// From so many keys on, in one piece, it is faster than the other ways (H200, 2026-11) where it serves: on GPUs.
inline constexpr std::uint64_t least_keys = std::uint64_t{1} << 22;
bool serves(const DeviceInfo& info, Dtype dtype, const Payload& payload, std::uint64_t count);

// Bytes of temporary memory.
std::uint64_t workspace_bytes(const DeviceInfo& info, Dtype dtype, const Payload& payload, std::uint64_t count);

// Which integers alone, and orders of integers, are sorted by sort_once, if the device can: those that are faster so,
// or, for tests, all or none.
enum class ByDigitsWhere : std::uint8_t { automatic, all, none };

// Sorts `keys`, which sort_keys serves, into `result`, which may be the same, or, with indices, null. A workspace of
// workspace_bytes(), from a multiple of 16 on; null: allocated. For tests, without workspace: `bucket_bits` that are
// not 0 stand for bucket_bits_of(), and kernels have the shapes that they have for `shaped_for` keys, if that is not 0.
void sort(Stream& stream, const BufferBase& keys, Dtype dtype, const BufferBase* result, const Payload& payload,
          const SortJob& job, const BufferBase* workspace, DeviceWork& work, unsigned bucket_bits = 0,
          ByDigitsWhere by_digits = ByDigitsWhere::automatic, std::uint64_t shaped_for = 0);

}  // namespace masu::sort_keys
