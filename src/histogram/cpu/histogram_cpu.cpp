// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_cpu.h"

#include "elements/stored_float.h"
#include "runtime/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

namespace masu::cpu {

std::vector<Column> columns_of(std::span<const ArrayView> columns) {
  std::vector<Column> found;
  for (const ArrayView& column : columns) {
    found.push_back({static_cast<const std::byte*>(column.data), size_of(column.dtype)});
  }
  return found;
}

std::vector<Column> columns_of_points(const ArrayView& points, std::size_t columns) {
  const std::size_t size = size_of(points.dtype);
  std::vector<Column> found;
  for (std::size_t d = 0; d < columns; ++d) {
    found.push_back({static_cast<const std::byte*>(points.data) + d * size, columns * size});
  }
  return found;
}

SlotFinder::SlotFinder(BinRules rules, bool joint)
    : rules_(rules), size_(size_of(rules.front()->dtype)), slots_(rules.front()->n + extra_slots) {
  for (const auto& each : rules_) writers_.emplace_back(*each);
  if (!joint) {
    of_byte_ = writers_.front().slot_of_byte();
    return;
  }
  join_ = join_slots();
  finish_ = finish_joint_bins();
  std::uint64_t bins = 1;
  for (const auto& each : rules_) bins *= each->n;
  slots_ = bins + joint_extra_bins;
  for (const auto& each : rules_) {
    bins /= each->n;
    loops_.push_back({.n = static_cast<std::uint32_t>(each->n), .stride = static_cast<std::uint32_t>(bins)});
  }
}

void SlotFinder::prepare(std::uint64_t elements) {
  for (SlotWriter& each : writers_) each.prepare(elements);
}

void ColumnSource::write(std::uint64_t first, std::size_t count, SlotHistories& histories, std::uint32_t* slots) const {
  const std::size_t size = finder_.size_;
  if (!finder_.is_joint()) {
    const std::byte* const x = columns_.front().data + first * size;
    prefetch_next(x, count * size);
    return finder_.writers_.front().write(x, count, histories[0], slots);
  }
  std::memset(slots, 0, count * sizeof(std::uint32_t));
  alignas(64) std::uint32_t of_column[block_elements];
  alignas(64) std::byte gathered[block_elements * sizeof(std::uint64_t)];
  for (std::size_t d = 0; d < columns_.size(); ++d) {
    const Column& column = columns_[d];
    const std::byte* x = column.data + first * column.stride;
    if (column.stride != size) {
      for (std::size_t i = 0; i < count; ++i) std::memcpy(gathered + i * size, x + i * column.stride, size);
      x = gathered;
    } else {
      prefetch_next(x, count * size);
    }
    finder_.writers_[d].write(x, count, histories[d], of_column);
    finder_.join_(of_column, count, finder_.loops_[d], slots);
  }
  finder_.finish_(count, static_cast<std::uint32_t>(finder_.slots_ - joint_extra_bins), slots);
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

namespace {

// Rows of so many bytes are worth all threads, one row after the other; shorter ones are spread over the threads.
constexpr std::uint64_t long_row_bytes = std::uint64_t{4} << 20;
// What a thread takes at a time, in whole rows.
constexpr std::uint64_t task_bytes = std::uint64_t{256} << 10;

// `partitioned` counts one table; rows whose tables are too large for the others are counted in the totals.
Strategy rows_strategy(const TableShape& shape, Strategy asked) {
  if (asked == Strategy::partitioned) {
    throw Error(ErrorCode::unsupported, "row_histograms: strategy partitioned counts one histogram, not rows");
  }
  const Strategy chosen = choose_strategy(shape, asked);
  return chosen == Strategy::partitioned ? Strategy::global : chosen;
}

ArrayView part(const ArrayView& data, std::uint64_t first, std::uint64_t count) {
  return {data.dtype, static_cast<const char*>(data.data) + first * size_of(data.dtype), count};
}

}  // namespace

Counter::Counter(BinRules rules, bool joint, unsigned channels, Strategy strategy, std::span<std::uint64_t> totals,
                 std::uint64_t row_elements)
    : finder_(rules, joint),
      counter_({finder_.counters(), channels}, strategy),
      strategy_(row_elements == no_row_end ? counter_.strategy() : rows_strategy(counter_.shape(), strategy)),
      row_elements_(row_elements),
      totals_(totals) {}

void Counter::add(std::span<const Column> columns, std::uint64_t count) {
  const ArrayView data(finder_.rule().dtype, columns.front().data, count);
  if (!finder_.is_joint() && row_elements_ == no_row_end) return this->count(data, totals_);
  finder_.prepare(count);
  if (finder_.is_joint()) {
    return counter_.count(ColumnSource(finder_, columns), count, finder_.element_bytes(), totals_);
  }
  each_row(position_, row_elements_, count,
           [&](const RowPart& at) { add_rows(part(data, at.first, at.rows * at.length), at.row, at.rows); });
  position_ += count;
}

void Counter::count(const ArrayView& data, std::span<std::uint64_t> totals) {
  const std::size_t size = size_of(data.dtype);
  if (size != 1) {
    finder_.prepare(data.count);
    if (count_steps(data, totals)) return;
    const Column column{static_cast<const std::byte*>(data.data), size};
    return counter_.count(ColumnSource(finder_, {&column, 1}), data.count, size, totals);
  }
  const TableShape& shape = counter_.shape();
  if (!pays_for_tables(data.count)) return add_short(data, totals, nullptr);
  std::vector<std::uint64_t> counted(shape.counters());
  if (strategy() != Strategy::lanes && strategy() != Strategy::private_) {
    counter_.count(ByteSource(data.data), data.count, size, counted);
  } else {
    const auto* bytes = static_cast<const std::uint8_t*>(data.data);
    count_in_tables(shape, copies_of(shape, strategy()), data.count, size, counted,
                    [&](Tables& tables, std::uint64_t first, std::uint64_t count) {
                      add_bytes(tables, bytes + first, count, shape.channels);
                    });
  }
  for (std::uint64_t i = 0; i < counted.size(); ++i) totals[finder_.slot_of_counter(i)] += counted[i];
}

// Arbitrary edges: steps are found faster than slots, where tables of them fit, and there is enough to count.
bool Counter::count_steps(const ArrayView& data, std::span<std::uint64_t> totals) {
  SlotWriter& writer = finder_.writer();
  const TableShape shape{std::max<std::uint64_t>(1, writer.step_counters()), 1};
  if (writer.step_counters() == 0 || counter_.shape().channels != 1 || data.count < 4 * shape.slots) return false;
  if (strategy() != Strategy::lanes && strategy() != Strategy::private_) return false;
  std::vector<std::uint64_t> steps(shape.slots);
  const std::size_t size = size_of(data.dtype);
  const unsigned copies = std::min(4U, copies_of(shape, choose_strategy(shape, Strategy::automatic)));
  if (writer.count_steps_by_cells(data.data, data.count, copies, steps)) {
    writer.fold_steps(steps, totals);
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
                      writer.count_steps(x + i * size, length, table);
                    }
                  });
  writer.fold_steps(steps, totals);
  return true;
}

std::optional<ValueRange> finite_range(const ArrayView& data) {
  return dispatch(data.dtype, [&]<class T>(TypeTag<T>) -> std::optional<ValueRange> {
    using Value = ComputedAs<T>;
    const T* x = static_cast<const T*>(data.data);
    const std::uint64_t piece = piece_bytes / sizeof(T);
    Value least = std::numeric_limits<Value>::max();
    Value greatest = std::numeric_limits<Value>::lowest();
    std::mutex joining;
    runtime::parallel_parts(data.count, piece, [&](std::uint64_t first, std::uint64_t end) {
      const T* from = x + first;
      const std::uint64_t length = end - first;
      Value lo = std::numeric_limits<Value>::max();
      Value hi = std::numeric_limits<Value>::lowest();
      if constexpr (is_stored<T>) {
        for (std::uint64_t i = 0; i < length; ++i) {
          const auto value = static_cast<float>(to_double(from[i]));
          if (!std::isfinite(value)) continue;
          lo = std::min(lo, value);
          hi = std::max(hi, value);
        }
      } else {
        add_to_range(from, length, lo, hi);
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

void Counter::add_rows(const ArrayView& data, std::uint64_t row, std::uint64_t rows) {
  const TableShape& shape = counter_.shape();
  const std::uint64_t length = data.count / rows;
  const std::uint64_t bytes = length * size_of(data.dtype);
  if (bytes >= long_row_bytes) {
    for (std::uint64_t r = 0; r < rows; ++r) count(part(data, r * length, length), totals_of(row + r));
    return;
  }
  const bool in_tables = strategy_ != Strategy::global && pays_for_tables(length);
  const std::uint64_t at_a_time = std::max<std::uint64_t>(1, task_bytes / bytes);
  runtime::parallel_parts(rows, at_a_time, [&](std::uint64_t first, std::uint64_t end) {
    std::optional<Tables> tables;
    if (in_tables) tables.emplace(shape, copies_of(shape, strategy_));
    for (std::uint64_t r = first; r < end; ++r) {
      add_short(part(data, r * length, length), totals_of(row + r), tables ? &*tables : nullptr);
    }
  });
}

void Counter::add_short(const ArrayView& data, std::span<std::uint64_t> totals, Tables* tables) const {
  const unsigned channels = counter_.shape().channels;
  const auto* const x = static_cast<const std::byte*>(data.data);
  const Column column{x, size_of(data.dtype)};
  const ColumnSource source(finder_, {&column, 1});
  if (tables == nullptr) {
    return count_in_totals({finder_.slots(), channels}, source, data.count, column.stride, true, totals);
  }
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(x);
  if (finder_.counts_bytes() && channels == 1) {
    std::uint32_t counted[byte_values] = {};
    count_bytes()(bytes, data.count, counted);
    for (unsigned byte = 0; byte < byte_values; ++byte) totals[finder_.slot_of_counter(byte)] += counted[byte];
    return;
  }
  if (finder_.counts_bytes()) add_bytes(*tables, bytes, data.count, channels);
  else tables->add(source, 0, data.count);
  tables->drain([&](std::uint64_t i, std::uint64_t sum) {
    if (sum != 0) totals[finder_.slot_of_counter(i)] += sum;
  });
}

}  // namespace masu::cpu
