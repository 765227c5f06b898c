// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/row_histogram_cpu.h"

#include "histogram/cpu/histogram_simd.h"
#include "runtime/parallel.h"

#include <masu/device.h>

#include <algorithm>
#include <optional>

namespace masu::cpu {

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

RowCounter::RowCounter(std::shared_ptr<const BinRule> rule, std::uint64_t row_elements, unsigned channels,
                       Strategy strategy, std::span<std::uint64_t> counts, std::span<std::uint64_t> outside)
    : rule_(std::move(rule)),
      row_elements_(row_elements),
      shape_{slots_of(*rule_), channels},
      strategy_(rows_strategy(shape_, strategy)),
      writer_(*rule_),
      whole_(rule_, channels, strategy),
      counts_(counts),
      outside_(outside) {
  if (size_of(rule_->dtype) != 1) return;
  of_byte_.resize(shape_.slots);
  for (unsigned byte = 0; byte < of_byte_.size(); ++byte) {
    const int value = rule_->dtype == Dtype::i8 ? static_cast<std::int8_t>(byte) : static_cast<int>(byte);
    of_byte_[byte] = rule_->slot(value);
  }
}

void RowCounter::add(const ArrayView& data) {
  writer_.prepare(data.count);
  for (std::uint64_t first = 0; first < data.count;) {
    const std::uint64_t row = position_ / row_elements_;
    const std::uint64_t in_row = position_ % row_elements_;
    const std::uint64_t left = data.count - first;
    std::uint64_t taken = std::min(left, row_elements_ - in_row);
    if (taken == row_elements_) {
      taken = left / row_elements_ * row_elements_;
      add_rows(part(data, first, taken), row, taken / row_elements_);
    } else {
      add_rows(part(data, first, taken), row, 1);
    }
    position_ += taken;
    first += taken;
  }
}

// Whole rows, or a part of one.
void RowCounter::add_rows(const ArrayView& data, std::uint64_t row, std::uint64_t rows) {
  const std::uint64_t length = data.count / rows;
  const std::uint64_t bytes = length * size_of(data.dtype);
  if (bytes >= long_row_bytes && strategy_ != Strategy::sequential) {
    for (std::uint64_t r = 0; r < rows; ++r) add_long(part(data, r * length, length), row + r);
    return;
  }
  const std::uint64_t at_a_time =
      strategy_ == Strategy::sequential ? rows : std::max<std::uint64_t>(1, task_bytes / bytes);
  runtime::parallel_tasks((rows + at_a_time - 1) / at_a_time, [&](std::uint64_t task) {
    std::optional<Tables> tables;
    if (in_table(length)) tables.emplace(shape_, copies_of(shape_, strategy_));
    for (std::uint64_t r = task * at_a_time; r < std::min(rows, (task + 1) * at_a_time); ++r) {
      add_short(part(data, r * length, length), row + r, tables ? &*tables : nullptr);
    }
  });
}

bool RowCounter::in_table(std::uint64_t elements) const noexcept {
  // A row of bytes pays for its tables a little later.
  const std::uint64_t least = size_of(rule_->dtype) == 1 ? 4 * shape_.counters() : shape_.counters();
  return strategy_ != Strategy::sequential && strategy_ != Strategy::global && elements >= least;
}

void RowCounter::add_long(const ArrayView& data, std::uint64_t row) {
  table_.assign(shape_.counters(), 0);
  whole_.count(data, table_);
  for (unsigned c = 0; c < shape_.channels; ++c) {
    const RowTable table = table_of(row, c);
    for (std::uint64_t slot = 0; slot < shape_.slots; ++slot) {
      *table.at(bin_of(slot)) += table_[c * shape_.slots + slot];
    }
  }
}

void RowCounter::add_short(const ArrayView& data, std::uint64_t row, Tables* tables) const {
  if (tables == nullptr) return add_directly(data, row);
  if (size_of(data.dtype) == 1 && shape_.channels == 1) {
    std::uint32_t counted[256] = {};
    count_bytes()(static_cast<const std::uint8_t*>(data.data), data.count, counted);
    const RowTable table = table_of(row, 0);
    for (unsigned byte = 0; byte < 256; ++byte) *table.at(of_byte_[byte]) += counted[byte];
    return;
  }
  if (size_of(data.dtype) == 1) {
    add_bytes(*tables, static_cast<const std::uint8_t*>(data.data), data.count, shape_.channels);
  } else {
    tables->add(ValueSource(writer_, data), 0, data.count);
  }
  RowTable table = table_of(row, 0);
  unsigned channel = 0;
  std::uint64_t slot = 0;
  tables->drain([&](std::uint64_t, std::uint64_t sum) {
    if (sum != 0) *table.at(bin_of(slot)) += sum;
    if (++slot == shape_.slots && ++channel < shape_.channels) {
      slot = 0;
      table = table_of(row, channel);
    }
  });
}

void RowCounter::add_directly(const ArrayView& data, std::uint64_t row) const {
  if (size_of(data.dtype) == 1 && shape_.channels == 1) {
    const auto* bytes = static_cast<const std::uint8_t*>(data.data);
    const RowTable table = table_of(row, 0);
    for (std::uint64_t i = 0; i < data.count; ++i) ++*table.at(of_byte_[bytes[i]]);
    return;
  }
  const ByteSource bytes(data.data);
  const ValueSource values(writer_, data);
  const SlotSource& source = size_of(data.dtype) == 1 ? static_cast<const SlotSource&>(bytes) : values;
  std::vector<RowTable> of_channel;
  for (unsigned c = 0; c < shape_.channels; ++c) of_channel.push_back(table_of(row, c));
  std::uint32_t slots[block_elements] = {};
  SlotHistories histories = {};
  const std::size_t block = shape_.block();
  for (std::uint64_t i = 0; i < data.count; i += block) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block, data.count - i));
    source.write(i, length, histories, slots);
    unsigned channel = 0;
    for (std::size_t k = 0; k < length; ++k) {
      ++*of_channel[channel].at(bin_of(slots[k]));
      channel = channel + 1 == shape_.channels ? 0 : channel + 1;
    }
  }
}

}  // namespace masu::cpu
