// SPDX-License-Identifier: Apache-2.0
// Work that was queued on a device, with the memory in which it notes what it found.
#pragma once

#include <masu/buffer.h>
#include <masu/stream.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu {

struct GatherWork {
  std::vector<Event> events;
  std::optional<Buffer<std::byte>> notes;

  // The caller's memory, or memory of its own.
  void take_notes(const Device& device, const BufferBase* workspace, std::uint64_t bytes) {
    if (workspace == nullptr) notes.emplace(device, bytes);
    else notes.emplace(device, workspace->memory(), workspace->byte_offset(), bytes);
  }
  // On a stream with times.
  [[nodiscard]] double seconds() const {
    double sum = 0;
    for (const Event& event : events) sum += event.seconds();
    return sum;
  }
};

// Work that was done where it was called: get() gives what it gave, or throws what it threw.
template <class T, class F>
Pending<T> finished_work(const F& work) {
  try {
    if constexpr (std::is_void_v<T>) {
      work();
      return {Event(), [] {}};
    } else {
      return {Event(), [result = work()] { return result; }};
    }
  } catch (...) {
    return {Event(), [error = std::current_exception()]() -> T { std::rethrow_exception(error); }};
  }
}

}  // namespace masu
