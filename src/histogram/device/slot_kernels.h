// SPDX-License-Identifier: Apache-2.0
// What counting or summing by slots takes on a device, made once: tables of edges and compiled kernels. Its launches
// are all that a call gives to a stream.
#pragma once

#include "call/launcher.h"

#include <masu/histogram.h>
#include <masu/stream.h>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace masu {

// What is copied beside the work, both of one size in the device's memory.
struct CopiedBeside {
  const BufferBase& from;
  const BufferBase& to;
};

// Elements in device memory.
struct CountedData {
  std::span<const call::At> arrays;  // a column or several; where elements have weights, those last
  std::uint64_t count;               // elements of each
  std::uint64_t rows = 1;            // so many times, `pitch` bytes apart; of one column only
  std::uint64_t pitch = 0;
  std::uint64_t position = 0;  // elements that came before: they tell which row these belong to
  const CopiedBeside* beside = nullptr;
};

// Used by one thread at a time.
class SlotKernels {
 public:
  SlotKernels() = default;
  virtual ~SlotKernels() = default;
  SlotKernels(const SlotKernels&) = delete;
  SlotKernels& operator=(const SlotKernels&) = delete;

  [[nodiscard]] virtual Strategy strategy() const noexcept = 0;
  // Bytes of the totals, all zeros at first.
  [[nodiscard]] virtual std::uint64_t totals_bytes() const noexcept = 0;
  // So many elements belong together.
  [[nodiscard]] virtual unsigned channels() const noexcept { return 1; }
  [[nodiscard]] virtual std::uint64_t row_elements() const noexcept {
    return std::numeric_limits<std::uint64_t>::max();
  }
  // Bytes of temporary memory for `count` elements. With less they are counted in more chunks.
  [[nodiscard]] virtual std::uint64_t temporary_bytes(std::uint64_t /*count*/) const { return 0; }
  // Whether two calls on different streams must not run at a time: they share memory without atomics.
  [[nodiscard]] virtual bool one_at_a_time() const noexcept { return false; }

  // Adds what the data have to the totals. `temporary` is null where none is needed.
  virtual void count(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
                     std::vector<Event>& launches) = 0;
  // The same for totals that hold anything before. Gives whether `data.beside` was copied too.
  virtual bool set(Stream& stream, const CountedData& data, const BufferBase& totals, const BufferBase* temporary,
                   std::vector<Event>& launches) {
    call::clear(stream, totals, 0, totals.size_bytes());
    if (data.count != 0) count(stream, data, totals, temporary, launches);
    return false;
  }
};

}  // namespace masu
