// SPDX-License-Identifier: Apache-2.0
#include "histogram/cpu/weighted_histogram_cpu.h"

#include "elements/order.h"
#include "histogram/bins/bin_rule.h"
#include "runtime/interrupt.h"
#include "sum/compensated.h"
#include "sum/sum_simd.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

namespace masu::cpu {

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
