// SPDX-License-Identifier: Apache-2.0
// How often each digit of the ranks follows given digits, counted on a device: exact selection, a pass for each digit.
#pragma once

#include "topk/topk_plan.h"

#include <masu/buffer.h>
#include <masu/stream.h>

#include <cstdint>
#include <span>
#include <vector>

namespace masu {

class DigitCounter {
 public:
  explicit DigitCounter(const topk_plan::Plan& plan, const Device& device);
  // Bytes of device memory that a counter has.
  static constexpr std::uint64_t bytes = (std::uint64_t{8} << topk_plan::digit_bits) * topk_plan::most_prefixes;

  // Of `count` elements that begin `byte_offset` bytes into the buffer's memory: a table of 2^digit_bits counts for
  // each of up to four different prefixes, one behind the other. The digit of a rank is its `width` bits from bit
  // `shift` on, at most digit_bits; the prefix is what is above them. Waits.
  std::vector<std::uint64_t> count(Stream& stream, const BufferBase& data, std::uint64_t byte_offset,
                                   std::uint64_t count, unsigned shift, unsigned width,
                                   std::span<const std::uint64_t> prefixes);

 private:
  topk_plan::Plan plan_;
  Device device_;
  Buffer<std::uint64_t> totals_;
};

}  // namespace masu
