// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/histogram_cpu_counter.h"

namespace masu::cpu {

SlotCounter::SlotCounter(const TableShape& shape, Strategy asked)
    : shape_(shape), strategy_(choose_strategy(shape, asked)) {
  if (strategy_ == Strategy::partitioned) parts_.emplace(shape_);
}

void SlotCounter::count(const SlotSource& source, std::uint64_t elements, std::size_t size,
                        std::span<std::uint64_t> totals) {
  // Tables that are much longer than the data are not worth their clearing and adding.
  constexpr std::uint64_t counters_an_element = 4;
  const bool few = shape_.counters() / counters_an_element > elements && elements <= piece_bytes / size;
  if (strategy_ == Strategy::sequential || strategy_ == Strategy::global || few) {
    return count_in_totals(shape_, source, elements, size, strategy_ == Strategy::sequential || few, totals);
  }
  if (parts_) return parts_->count(source, elements, totals);
  count_in_tables(shape_, copies_of(shape_, strategy_), elements, size, totals,
                  [&](Tables& tables, std::uint64_t first, std::uint64_t count) { tables.add(source, first, count); });
}

}  // namespace masu::cpu
