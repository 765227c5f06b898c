// SPDX-License-Identifier: Apache-2.0
// Many keys that are in order already, or strictly in the opposite one.
#pragma once

#include "sort/device/sort_device.h"

namespace masu::sort_ordered {

// Whether it is worth looking. `may_wait`: it reads what it finds back.
bool serves(const SortJob& job, bool may_wait);

// Sorts such keys, and their payload: they stay, or are reversed. False, with nothing written but the first 4 bytes of
// `workspace`, where they are in neither order. Waits for what the keys are, not for its last command.
bool sort(Stream& stream, const Arrays& arrays, std::uint64_t count, const Buffer<std::byte>& workspace,
          DeviceWork& work);

}  // namespace masu::sort_ordered
