// SPDX-License-Identifier: Apache-2.0
#include "elements/order.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu.h"
#include "runtime/parallel.h"
#include "sum/compensated.h"
#include "sum/sum_simd.h"

#include <masu/device.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

namespace masu::cpu {

namespace {

// What a thread takes at a time.
constexpr std::uint64_t piece_elements = std::uint64_t{1} << 16;
// Fewer elements than this are not worth a second thread, nor fewer than this many for each slot a table a thread.
constexpr std::uint64_t threads_pay = std::uint64_t{1} << 14;
constexpr std::uint64_t weighted_table_pays = 4;
// The most bytes of the sums of one thread.
constexpr std::uint64_t most_table_bytes = std::uint64_t{8} << 20;
// The elements whose slots are found at a time where threads share the slots.
constexpr std::uint64_t shared_elements = std::uint64_t{1} << 21;

// Calls take(slots, first element, count) for each block of the elements.
template <class Take>
void each_block(const SlotSource& source, std::uint64_t first, std::uint64_t count, const Take& take) {
  alignas(64) std::uint32_t slots[block_elements];
  SlotHistories histories = {};
  for (std::uint64_t i = 0; i < count; i += block_elements) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block_elements, count - i));
    source.write(first + i, length, histories, slots);
    take(slots, first + i, length);
  }
}

std::uint64_t slots_of(std::span<const std::shared_ptr<const BinRule>> rules) {
  if (rules.size() == 1) return rules.front()->n + extra_slots;
  std::uint64_t joint_bins = 1;
  for (const auto& rule : rules) joint_bins *= rule->n;
  return joint_bins + 2;
}

}  // namespace

WeightedCounter::WeightedCounter(std::span<const std::shared_ptr<const BinRule>> rules, bool clamp, std::uint64_t rows,
                                 std::uint64_t row_elements, std::span<WeightSums> sums)
    : rules_(rules.begin(), rules.end()),
      clamp_(clamp),
      row_elements_(row_elements),
      sums_(sums),
      weight_size_(size_of(sums.front().format().weights)),
      slots_(slots_of(rules)),
      pending_(rows) {
  for (const auto& rule : rules_) writers_.emplace_back(*rule);
  for (const WeightSums& each : sums_) add_.push_back(add_weights(each.format()));
}

void WeightedCounter::add(std::span<const Column> columns, const std::byte* weights, std::uint64_t count) {
  for (SlotWriter& writer : writers_) writer.prepare(count);
  const auto data = ArrayView(rules_.front()->dtype, columns.front().data, count);
  std::optional<ValueSource> one;
  std::optional<JointPoints> several;
  if (rules_.size() == 1) {
    one.emplace(writers_.front(), data);
  } else {
    several.emplace(rules_, writers_, clamp_, columns);
  }
  const SlotSource& source = one ? static_cast<const SlotSource&>(*one) : *several;
  for (std::uint64_t first = 0; first < count;) {
    const std::uint64_t row = position_ / row_elements_;
    const std::uint64_t in_row = position_ % row_elements_;
    const std::uint64_t whole_rows = (count - first) / row_elements_;
    std::uint64_t length = std::min(row_elements_ - in_row, count - first);
    if (in_row == 0 && whole_rows > 1 && row_elements_ < piece_elements) {
      // Short rows are spread over the threads.
      const std::uint64_t rows_a_task = std::max<std::uint64_t>(1, threads_pay / row_elements_);
      runtime::parallel_tasks((whole_rows + rows_a_task - 1) / rows_a_task, [&](std::uint64_t task) {
        const std::uint64_t end = std::min(whole_rows, (task + 1) * rows_a_task);
        for (std::uint64_t r = task * rows_a_task; r < end; ++r) {
          add_directly(row + r, {source, weights, first + r * row_elements_, row_elements_});
        }
      });
      length = whole_rows * row_elements_;
    } else {
      add_row(row, {source, weights, first, length});
    }
    first += length;
    position_ += length;
  }
}

void WeightedCounter::add_row(std::uint64_t row, const Part& part) {
  std::uint64_t bytes = 0;
  for (const WeightSums& each : sums_) bytes += WeightSums::bytes_for(each.format(), slots_);
  const bool alone = cpu_threads() == 1 || part.count < threads_pay;
  if (!alone && bytes > most_table_bytes) return add_in_shares(row, part);
  if (!alone && part.count >= weighted_table_pays * slots_) return add_in_tables(row, part);
  for (std::uint64_t first = 0; first < part.count; first += fixed::additions_before_carry / 2) {
    add_directly(row, {part.source, part.weights, part.first + first,
                       std::min(fixed::additions_before_carry / 2, part.count - first)});
  }
}

void WeightedCounter::make_room(std::uint64_t row, std::uint64_t count) {
  if (pending_[row] + count > fixed::additions_before_carry) {
    for (WeightSums& each : sums_) each.propagate(row * slots_, (row + 1) * slots_);
    pending_[row] = 1;
  }
  pending_[row] += static_cast<std::uint32_t>(count);
}

void WeightedCounter::add_directly(std::uint64_t row, const Part& part) {
  make_room(row, part.count);
  each_block(part.source, part.first, part.count,
             [&](const std::uint32_t* slots, std::uint64_t first, std::size_t count) {
               for (std::size_t k = 0; k < sums_.size(); ++k) {
                 add_[k](slots, part.weights + first * weight_size_, count, sums_[k].words(row * slots_),
                         sums_[k].flags(row * slots_));
               }
             });
}

void WeightedCounter::add_in_tables(std::uint64_t row, const Part& part) {
  const std::uint64_t pieces = (part.count + piece_elements - 1) / piece_elements;
  std::atomic<std::uint64_t> next_piece = 0;
  std::mutex adding;
  runtime::parallel_tasks(std::min<std::uint64_t>(cpu_threads(), pieces), [&](std::uint64_t) {
    std::vector<WeightSums> tables;
    for (const WeightSums& each : sums_) tables.emplace_back(each.format(), slots_);
    std::uint64_t added = 0;
    for (std::uint64_t p = next_piece++; p < pieces; p = next_piece++) {
      runtime::check_interrupted();
      const std::uint64_t first = part.first + p * piece_elements;
      const std::uint64_t length = std::min(piece_elements, part.count - p * piece_elements);
      each_block(part.source, first, length, [&](const std::uint32_t* slots, std::uint64_t at, std::size_t count) {
        for (std::size_t k = 0; k < tables.size(); ++k) {
          add_[k](slots, part.weights + at * weight_size_, count, tables[k].words(0), tables[k].flags(0));
        }
      });
      added += length;
      if (added + piece_elements > fixed::additions_before_carry) {
        for (WeightSums& table : tables) table.propagate(0, slots_);
        added = 1;
      }
    }
    if (added == 0) return;
    for (WeightSums& table : tables) table.propagate(0, slots_);
    const std::lock_guard lock(adding);
    make_room(row, 1);
    for (std::size_t k = 0; k < tables.size(); ++k) sums_[k].merge(tables[k], row * slots_);
  });
}

void WeightedCounter::add_in_shares(std::uint64_t row, const Part& part) {
  std::vector<std::uint32_t> found(std::min(shared_elements, part.count));
  const std::uint64_t shares = cpu_threads();
  for (std::uint64_t begin = 0; begin < part.count; begin += shared_elements) {
    const std::uint64_t length = std::min(shared_elements, part.count - begin);
    make_room(row, length);
    runtime::parallel_tasks((length + piece_elements - 1) / piece_elements, [&](std::uint64_t piece) {
      const std::uint64_t first = piece * piece_elements;
      each_block(part.source, part.first + begin + first, std::min(piece_elements, length - first),
                 [&](const std::uint32_t* slots, std::uint64_t at, std::size_t count) {
                   std::copy_n(slots, count, found.data() + (at - part.first - begin));
                 });
    });
    const std::byte* weights = part.weights + (part.first + begin) * weight_size_;
    runtime::parallel_tasks(shares, [&](std::uint64_t share) {
      const std::uint64_t from = slots_ * share / shares;
      const std::uint64_t end = slots_ * (share + 1) / shares;
      std::uint32_t slots[block_elements];
      alignas(8) std::byte chosen[block_elements * sizeof(std::uint64_t)];
      std::size_t count = 0;
      const auto flush = [&] {
        for (std::size_t k = 0; k < sums_.size(); ++k) {
          add_[k](slots, chosen, count, sums_[k].words(row * slots_), sums_[k].flags(row * slots_));
        }
        count = 0;
      };
      for (std::uint64_t i = 0; i < length; ++i) {
        if (found[i] < from || found[i] >= end) continue;
        slots[count] = found[i];
        std::memcpy(chosen + count * weight_size_, weights + i * weight_size_, weight_size_);
        if (++count == block_elements) flush();
      }
      flush();
    });
  }
}

namespace {

// Fewer elements than one for so many slots are sorted by slot; else each slot has a sum.
constexpr std::uint64_t sparse_slots = 16;
constexpr std::uint64_t looked_after_blocks = 256;

template <class W>
struct SlotWeight {
  std::uint32_t slot;
  W weight;
};

// Calls take(slot, weight) for each element.
template <class W, class F>
void each_slot_weight(const SlotSource& source, const NarrowSlots& where, const W* weights, std::uint64_t count,
                      const F& take) {
  alignas(64) std::uint32_t slots[block_elements];
  SlotHistories histories = {};
  for (std::uint64_t first = 0; first < count; first += block_elements) {
    if (first / block_elements % looked_after_blocks == 0) runtime::check_interrupted();
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(block_elements, count - first));
    source.write(first, length, histories, slots);
    if (where.clamp) {
      const auto below = static_cast<std::uint32_t>(where.bins + slot_below);
      const auto above = static_cast<std::uint32_t>(where.bins + slot_above);
      for (std::size_t i = 0; i < length; ++i) {
        if (slots[i] == below) slots[i] = 0;
        else if (slots[i] == above) slots[i] = static_cast<std::uint32_t>(where.bins - 1);
      }
    }
    for (std::size_t i = 0; i < length; ++i) take(slots[i], weights[first + i]);
  }
}

template <class W>
void add_sorted(std::vector<SlotWeight<W>>& elements, std::span<double> totals) {
  std::sort(elements.begin(), elements.end(), [](const auto& a, const auto& b) { return a.slot < b.slot; });
  std::vector<W> weights;
  for (std::size_t first = 0; first < elements.size();) {
    std::size_t end = first;
    Compensated sum;
    for (; end < elements.size() && elements[end].slot == elements[first].slot; ++end) {
      sum.add(to_f64(elements[end].weight));
    }
    std::optional<double> total = sum.rounded<double>();
    if (!total) {
      weights.clear();
      for (std::size_t i = first; i < end; ++i) weights.push_back(elements[i].weight);
      fixed::Sum exact;
      add_values(weights.data(), weights.size(), exact);
      total = fixed::sum_of(fixed::Part(exact), Dtype::f64);
    }
    totals[elements[first].slot] = *total;
    first = end;
  }
}

template <class W>
void add_narrow_weights(const SlotSource& source, const NarrowSlots& where, const W* weights, std::uint64_t count,
                        std::span<double> totals) {
  std::vector<SlotWeight<W>> elements;
  if (count < where.slots / sparse_slots) {
    elements.reserve(count);
    each_slot_weight(source, where, weights, count, [&](std::uint32_t slot, W weight) {
      elements.push_back({slot, weight});
    });
    return add_sorted(elements, totals);
  }
  std::vector<Compensated> sums(where.slots);
  each_slot_weight(source, where, weights, count,
                   [&](std::uint32_t slot, W weight) { sums[slot].add(to_f64(weight)); });
  constexpr double open = std::numeric_limits<double>::quiet_NaN();
  bool any_open = false;
  for (std::uint64_t slot = 0; slot < where.slots; ++slot) {
    const std::optional<double> total = sums[slot].rounded<double>();
    totals[slot] = total.value_or(open);
    any_open = any_open || !total;
  }
  if (!any_open) return;
  each_slot_weight(source, where, weights, count, [&](std::uint32_t slot, W weight) {
    if (totals[slot] != totals[slot]) elements.push_back({slot, weight});
  });
  add_sorted(elements, totals);
}

}  // namespace

void add_narrow(const SlotSource& source, const NarrowSlots& where, const ArrayView& weights,
                std::span<double> totals) {
  dispatch(weights.dtype, [&](auto tag) {
    using W = typename decltype(tag)::type;
    if constexpr (is_float(dtype_of<W>)) {
      add_narrow_weights(source, where, static_cast<const W*>(weights.data), weights.count, totals);
    }
  });
}

}  // namespace masu::cpu
