// SPDX-License-Identifier: Apache-2.0
// Work that was queued on a device, with the memory in which it notes what it found.
#pragma once

#include <masu/buffer.h>
#include <masu/stream.h>

#include <optional>
#include <vector>

namespace masu {

struct GatherWork {
  std::vector<Event> events;
  std::optional<Buffer<std::byte>> notes;
};

}  // namespace masu
