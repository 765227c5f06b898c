// SPDX-License-Identifier: Apache-2.0
// Counting on the CPU.
#pragma once

#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu_counter.h"

#include <masu/histogram.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace masu::cpu {

// Slots of one channel in the totals: 256 (the byte itself) for 8-bit data, otherwise rule.n + extra_slots.
std::uint64_t slots_of(const BinRule& rule) noexcept;

// 8-bit data: the byte is the slot, of i8 too.
class ByteSource final : public SlotSource {
 public:
  explicit ByteSource(const void* data) : data_(static_cast<const std::uint8_t*>(data)) {}
  void write(std::uint64_t first, std::size_t count, SlotHistories& histories, std::uint32_t* slots) const override;

 private:
  const std::uint8_t* data_;
};

// The slots of elements in memory.
class ValueSource final : public SlotSource {
 public:
  ValueSource(const SlotWriter& writer, const ArrayView& data)
      : writer_(writer), data_(static_cast<const char*>(data.data)), size_(size_of(data.dtype)) {}
  void write(std::uint64_t first, std::size_t count, SlotHistories& histories, std::uint32_t* slots) const override;

 private:
  const SlotWriter& writer_;
  const char* data_;
  std::size_t size_;
};

// Counts interleaved bytes by their value.
void add_bytes(Tables& tables, const std::uint8_t* data, std::uint64_t count, unsigned channels);

// Counts data that comes in pieces; keeps the tables that finding slots needs.
class Counter {
 public:
  // Throws unsupported where the tables of `strategy` do not fit.
  Counter(std::shared_ptr<const BinRule> rule, unsigned channels, Strategy strategy);
  // Adds the counts of `data` to `totals`, slots_of(rule) entries for each channel.
  void count(const ArrayView& data, std::span<std::uint64_t> totals);
  [[nodiscard]] Strategy strategy() const noexcept { return counter_.strategy(); }

 private:
  bool count_steps(const ArrayView& data, std::span<std::uint64_t> totals);

  std::shared_ptr<const BinRule> rule_;
  SlotCounter counter_;
  SlotWriter writer_;
};

// The range of the finite values.
std::optional<ValueRange> finite_range(const ArrayView& data);

}  // namespace masu::cpu
