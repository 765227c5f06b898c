// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_cpu.h"

#include "histogram/cpu/histogram_simd.h"
#include "histogram/device/histogram_plan.h"
#include "runtime/half.h"
#include "runtime/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

namespace masu::cpu {

void ByteSource::write(std::uint64_t first, std::size_t count, SlotHistories&, std::uint32_t* slots) const {
  for (std::size_t i = 0; i < count; ++i) slots[i] = data_[first + i];
}

void ValueSource::write(std::uint64_t first, std::size_t count, SlotHistories& histories, std::uint32_t* slots) const {
  const char* x = data_ + first * size_;
  prefetch_next(x, count * size_);
  writer_.write(x, count, histories[0], slots);
}

namespace {

// Counts pixels, two at a time in different copies; how many bytes. A word is read for eight of them.
template <unsigned channels>
std::uint64_t add_pixels(const std::uint8_t* data, std::uint64_t count, std::uint32_t* even, std::uint32_t* odd) {
  constexpr unsigned word_bytes = 8;
  constexpr std::uint64_t at_once = word_bytes * channels;
  std::uint64_t i = 0;
  for (; i + at_once <= count; i += at_once) {
    [&]<std::size_t... w>(std::index_sequence<w...>) {
      std::array<std::uint64_t, channels> words;
      std::memcpy(words.data(), data + i, at_once);
      ((++((w / channels) % 2 != 0
               ? odd
               : even)[256 * (w % channels) + (words[w / word_bytes] >> (8 * (w % word_bytes)) & 255U)]),
       ...);
    }
    (std::make_index_sequence<at_once>());
  }
  return i;
}

}  // namespace

void add_bytes(Tables& tables, const std::uint8_t* data, std::uint64_t count, unsigned channels) {
  if (channels == 1) {
    if (tables.copies() > 1) return count_bytes()(data, count, tables.data());
    for (std::uint64_t i = 0; i < count; ++i) ++tables.data()[data[i]];
    return;
  }
  if (const CountBytes planes = count >= least_by_planes ? count_byte_planes(channels) : nullptr) {
    const std::uint64_t whole = count / (byte_plane_block * channels) * (byte_plane_block * channels);
    planes(data, whole, tables.data());
    data += whole;
    count -= whole;
  }
  // Two pixels at a time go to different copies.
  std::uint32_t* even = tables.data();
  std::uint32_t* odd = tables.copies() > 1 ? even + std::uint64_t{256} * channels : even;
  std::uint64_t i = channels == 2   ? add_pixels<2>(data, count, even, odd)
                    : channels == 3 ? add_pixels<3>(data, count, even, odd)
                    : channels == 4 ? add_pixels<4>(data, count, even, odd)
                                    : 0;
  for (; i < count; i += channels) {
    for (unsigned c = 0; c < channels; ++c) ++even[256 * c + data[i + c]];
    std::swap(even, odd);
  }
}

std::uint64_t slots_of(const BinRule& rule) noexcept {
  return histogram_plan::slots_of(rule);
}

Counter::Counter(std::shared_ptr<const BinRule> rule, unsigned channels, Strategy strategy)
    : rule_(std::move(rule)), counter_({slots_of(*rule_), channels}, strategy), writer_(*rule_) {}

void Counter::count(const ArrayView& data, std::span<std::uint64_t> totals) {
  const std::size_t size = size_of(data.dtype);
  if (size != 1) {
    writer_.prepare(data.count);
    if (count_steps(data, totals)) return;
    return counter_.count(ValueSource(writer_, data), data.count, size, totals);
  }
  if (strategy() != Strategy::lanes && strategy() != Strategy::private_) {
    return counter_.count(ByteSource(data.data), data.count, size, totals);
  }
  const auto* bytes = static_cast<const std::uint8_t*>(data.data);
  const TableShape& shape = counter_.shape();
  count_in_tables(shape, copies_of(shape, strategy()), data.count, size, totals,
                  [&](Tables& tables, std::uint64_t first, std::uint64_t count) {
                    add_bytes(tables, bytes + first, count, shape.channels);
                  });
}

// Arbitrary edges: steps are found faster than slots, where tables of them fit, and there is enough to count.
bool Counter::count_steps(const ArrayView& data, std::span<std::uint64_t> totals) {
  const TableShape shape{std::max<std::uint64_t>(1, writer_.step_counters()), 1};
  if (writer_.step_counters() == 0 || counter_.shape().channels != 1 || data.count < 4 * shape.slots) return false;
  if (strategy() != Strategy::lanes && strategy() != Strategy::private_) return false;
  std::vector<std::uint64_t> steps(shape.slots);
  const std::size_t size = size_of(data.dtype);
  const unsigned copies = std::min(4U, copies_of(shape, choose_strategy(shape, Strategy::automatic)));
  if (writer_.count_steps_by_cells(data.data, data.count, copies, steps)) {
    writer_.fold_steps(steps, totals);
    return true;
  }
  count_in_tables(shape, copies, data.count, size, steps,
                  [&](Tables& tables, std::uint64_t first, std::uint64_t count) {
                    StepTables table;
                    for (unsigned k = 0; k < table.size(); ++k) table[k] = tables.data() + k % copies * shape.slots;
                    const char* x = static_cast<const char*>(data.data) + first * size;
                    for (std::uint64_t i = 0; i < count; i += block_elements) {
                      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block_elements, count - i));
                      prefetch_next(x + i * size, length * size);
                      writer_.count_steps(x + i * size, length, table);
                    }
                  });
  writer_.fold_steps(steps, totals);
  return true;
}

std::optional<ValueRange> finite_range(const ArrayView& data) {
  return dispatch(data.dtype, [&](auto tag) -> std::optional<ValueRange> {
    using T = typename decltype(tag)::type;
    using Value = std::conditional_t<std::is_same_v<T, Half>, float, T>;
    const T* x = static_cast<const T*>(data.data);
    const std::uint64_t piece = piece_bytes / sizeof(T);
    Value least = std::numeric_limits<Value>::max();
    Value greatest = std::numeric_limits<Value>::lowest();
    std::mutex joining;
    runtime::parallel_tasks((data.count + piece - 1) / piece, [&](std::uint64_t task) {
      const T* from = x + task * piece;
      const std::uint64_t length = std::min(piece, data.count - task * piece);
      Value lo = std::numeric_limits<Value>::max();
      Value hi = std::numeric_limits<Value>::lowest();
      if constexpr (std::is_same_v<T, Half>) {
        for (std::uint64_t i = 0; i < length; ++i) {
          const auto value = static_cast<float>(runtime::to_double(from[i]));
          if (!std::isfinite(value)) continue;
          lo = std::min(lo, value);
          hi = std::max(hi, value);
        }
      } else if constexpr (sizeof(T) >= 4) {
        range_of(from, length, lo, hi);
      } else {
        for (std::uint64_t i = 0; i < length; ++i) {
          lo = std::min(lo, from[i]);
          hi = std::max(hi, from[i]);
        }
      }
      const std::lock_guard lock(joining);
      least = std::min(least, lo);
      greatest = std::max(greatest, hi);
    });
    if (least > greatest) return std::nullopt;
    // +0 of either zero, whichever thread was first
    return ValueRange{static_cast<double>(least) + 0.0, static_cast<double>(greatest) + 0.0, least == greatest};
  });
}

}  // namespace masu::cpu
