// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_cpu_tables.h"

#include "runtime/interrupt.h"
#include "runtime/parallel.h"

#include <masu/device.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace masu::cpu {

namespace {

// Copies of a table are kept while all of them fit here; the first-level data cache is 32 KiB or more.
constexpr std::uint64_t copies_bytes = std::uint64_t{24} << 10;
constexpr unsigned most_copies = 8;
// What a thread's table may take when it is asked for, and what it takes when nothing is: a
// thread's part of the caches.
constexpr std::uint64_t private_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t cached_bytes = std::uint64_t{4} << 20;

std::uint64_t table_bytes(const TableShape& shape) noexcept {
  return shape.counters() * sizeof(std::uint32_t);
}

[[noreturn]] void too_large(std::string_view strategy, std::string_view tables, std::uint64_t limit,
                            std::uint64_t bytes) {
  throw Error(ErrorCode::unsupported, fmt::format("histogram: strategy {} holds {} of at most {} bytes on cpu, got {}",
                                                  strategy, tables, limit, bytes));
}

// A whole block.
bool all_slots_equal(const std::uint32_t* slots) noexcept {
  const std::uint32_t first = slots[0];
  if (slots[block_elements - 1] != first || slots[block_elements / 2] != first) return false;
  std::uint32_t different = 0;
  for (std::size_t i = 0; i < block_elements; ++i) different |= slots[i] ^ first;
  return different == 0;
}

}  // namespace

Strategy choose_strategy(const TableShape& shape, Strategy asked) {
  const std::uint64_t bytes = table_bytes(shape);
  if (asked == Strategy::local || asked == Strategy::packed) {
    throw Error(ErrorCode::unsupported,
                fmt::format("histogram: strategy {} needs local memory; the device cpu has none", to_string(asked)));
  }
  if (asked == Strategy::lanes && bytes * 2 > copies_bytes) too_large("lanes", "2 tables", copies_bytes / 2, bytes);
  if (asked == Strategy::private_ && bytes > private_bytes) {
    too_large("private", "tables", private_bytes, bytes);
  }
  if (asked != Strategy::automatic) return asked;
  if (bytes * 2 <= copies_bytes) return Strategy::lanes;
  return bytes <= cached_bytes ? Strategy::private_ : Strategy::partitioned;
}

unsigned copies_of(const TableShape& shape, Strategy strategy) noexcept {
  if (strategy != Strategy::lanes) return 1;
  return table_bytes(shape) * most_copies <= copies_bytes ? most_copies : 2;
}

void Tables::add(const std::uint32_t* slots, std::size_t count) {
  if (shape_.channels == 1) {
    if (copies_ == most_copies) return add_copies<most_copies>(slots, count);
    if (copies_ > 1) return add_copies<2>(slots, count);
    return add_copies<1>(slots, count);
  }
  std::uint32_t* table = counts_.data();
  const auto [slots_of_channel, channels] = shape_;
  for (std::size_t i = 0; i < count; i += channels) {
    for (unsigned c = 0; c < channels; ++c) ++table[c * slots_of_channel + slots[i + c]];
  }
}

// Values of several parts of a block take turns: equal neighbours, as in sorted data, would wait for each other's sum.
template <unsigned copies>
void Tables::add_copies(const std::uint32_t* slots, std::size_t count) {
  if (count != block_elements) {
    for (std::size_t i = 0; i < count; ++i) ++counts_[slots[i]];
    return;
  }
  if (all_slots_equal(slots)) {
    counts_[slots[0]] += block_elements;
    return;
  }
  constexpr unsigned parts = std::max(4U, copies);
  constexpr std::size_t length = block_elements / parts;
  std::uint32_t* tables[copies];
  for (unsigned k = 0; k < copies; ++k) tables[k] = counts_.data() + k * shape_.slots;
  for (std::size_t i = 0; i < length; ++i) {
    for (unsigned part = 0; part < parts; ++part) ++tables[part % copies][slots[part * length + i]];
  }
}

void Tables::add(const SlotSource& source, std::uint64_t first, std::uint64_t count) {
  alignas(64) std::uint32_t slots[block_elements];
  SlotHistories histories = {};
  const std::size_t block = shape_.block();
  for (std::uint64_t i = 0; i < count; i += block) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block, count - i));
    source.write(first + i, length, histories, slots);
    add(slots, length);
  }
}

void count_in_tables(const TableShape& shape, unsigned copies, std::uint64_t elements, std::size_t size,
                     std::span<std::uint64_t> totals,
                     const std::function<void(Tables&, std::uint64_t, std::uint64_t)>& count) {
  const std::uint64_t piece = piece_bytes / size / shape.channels * shape.channels;
  const std::uint64_t pieces = (elements + piece - 1) / piece;
  // Each thread takes the next piece until none is left; the tables are added under one lock.
  std::atomic<std::uint64_t> next_piece = 0;
  std::mutex adding;
  runtime::parallel_tasks(std::min<std::uint64_t>(cpu_threads(), pieces), [&](std::uint64_t) {
    Tables tables(shape, copies);
    const auto drain = [&] {
      const std::lock_guard lock(adding);
      tables.drain([&](std::uint64_t i, std::uint64_t sum) { totals[i] += sum; });
    };
    std::uint64_t counted = 0;
    for (std::uint64_t p = next_piece++; p < pieces; p = next_piece++) {
      runtime::check_interrupted();
      const std::uint64_t length = std::min(piece, elements - p * piece);
      if (counted + length > drain_elements) {
        drain();
        counted = 0;
      }
      count(tables, p * piece, length);
      counted += length;
    }
    if (counted != 0) drain();
  });
}

void count_in_totals(const TableShape& shape, const SlotSource& source, std::uint64_t elements, std::size_t size,
                     bool one_thread, std::span<std::uint64_t> totals) {
  const std::uint64_t piece = piece_bytes / size / shape.channels * shape.channels;
  const std::uint64_t pieces = (elements + piece - 1) / piece;
  const bool atomic = !one_thread && std::min<std::uint64_t>(cpu_threads(), pieces) > 1;
  const auto count = [&](std::uint64_t begin, std::uint64_t end) {
    std::uint32_t slots[block_elements] = {};
    SlotHistories histories = {};
    const std::size_t block = shape.block();
    for (std::uint64_t i = begin; i < end; i += block) {
      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block, end - i));
      source.write(i, length, histories, slots);
      for (std::size_t k = 0, channel = 0; k < length; ++k) {
        std::uint64_t& total = totals[channel * shape.slots + slots[k]];
        if (atomic) {
          std::atomic_ref(total).fetch_add(1, std::memory_order_relaxed);
        } else {
          ++total;
        }
        channel = channel + 1 == shape.channels ? 0 : channel + 1;
      }
    }
  };
  if (!atomic) return count(0, elements);
  runtime::parallel_tasks(pieces, [&](std::uint64_t p) { count(p * piece, std::min(elements, (p + 1) * piece)); });
}

}  // namespace masu::cpu
