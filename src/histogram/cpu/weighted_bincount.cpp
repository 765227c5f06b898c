// SPDX-License-Identifier: Apache-2.0
// Totals of weights by integers, and of float weights by slots, exact and rounded once, with memory and time by what is
// touched.
#include "call/operands.h"
#include "elements/order.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/cpu/histogram_simd.h"
#include "runtime/parallel.h"
#include "sum/compensated.h"
#include "sum/sum_simd.h"

#include <masu/interrupt.h>
#include <masu/weighted_histogram.h>
#include <sys/mman.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <vector>

namespace masu {

void detail::Freed::operator()(void* memory) const noexcept {
  std::free(memory);
}

namespace {

constexpr std::uint64_t most_totals = std::uint64_t{1} << 31;
// Elements between two looks at whether the call shall end; also what is worth a thread.
constexpr std::uint64_t looked_after = std::uint64_t{1} << 18;

template <class T>
using Array1 = std::unique_ptr<T[], detail::Freed>;

// Zeros; what is not written takes no time and no place. Large ones lie in huge pages, where the system has them.
template <class T>
Array1<T> zeros(std::uint64_t count) {
  constexpr std::uint64_t huge_page = std::uint64_t{1} << 21;
  const std::uint64_t bytes = std::max<std::uint64_t>(count, 1) * sizeof(T);
  void* const memory = std::calloc(bytes, 1);
  if (memory == nullptr) throw std::bad_alloc();
  if (bytes >= 2 * huge_page) {
    const std::uint64_t skip = -reinterpret_cast<std::uintptr_t>(memory) % huge_page;
    madvise(static_cast<std::byte*>(memory) + skip, (bytes - skip) / huge_page * huge_page, MADV_HUGEPAGE);
  }
  return Array1<T>(static_cast<T*>(memory));
}

// On all threads; a single one is not worth asking how many there are.
template <class F>
void each_task(std::uint64_t tasks, const F& body) {
  if (tasks == 1) body(std::uint64_t{0});
  else runtime::parallel_tasks(tasks, body);
}
// Calls body(first, end) for parts of 0 to count.
template <class F>
void each_part(std::uint64_t count, const F& body) {
  each_task((count + looked_after - 1) / looked_after, [&](std::uint64_t part) {
    check_interrupted();
    body(part * looked_after, std::min(count, (part + 1) * looked_after));
  });
}
template <class F>
void each_in_pieces(std::uint64_t count, const F& body) {
  for (std::uint64_t first = 0; first < count; first += looked_after) {
    check_interrupted();
    const std::uint64_t end = std::min(count, first + looked_after);
    for (std::uint64_t i = first; i < end; ++i) body(i);
  }
}

struct Weighed {
  std::uint64_t bin;
  double weight;
};

// The totals of the bins that wanted(bin) names, which are few: their elements of those that each(take) gives are
// sorted by bin, so nothing is touched but what they name.
template <class Each, class Wanted>
void add_sorted(const Each& each, const Wanted& wanted, double* totals) {
  std::vector<Weighed> elements;
  each([&](std::uint64_t bin, double weight) {
    if (wanted(bin)) elements.push_back({bin, weight});
  });
  std::sort(elements.begin(), elements.end(), [](const Weighed& a, const Weighed& b) { return a.bin < b.bin; });
  std::vector<double> weights;
  for (std::size_t first = 0; first < elements.size();) {
    std::size_t end = first;
    Compensated sum;
    for (; end < elements.size() && elements[end].bin == elements[first].bin; ++end) sum.add(elements[end].weight);
    std::optional<double> total = sum.rounded<double>();
    if (!total) {
      weights.clear();
      for (std::size_t i = first; i < end; ++i) weights.push_back(elements[i].weight);
      fixed::Sum exact;
      cpu::add_values(weights.data(), weights.size(), exact);
      total = fixed::sum_of(fixed::Part(exact), Dtype::f64);
    }
    totals[elements[first].bin] = *total;
    first = end;
  }
}

struct Halves : cpu::WeightHalves {
  static constexpr std::uint64_t prefetched = 64;  // elements ahead
  [[nodiscard]] std::optional<double> rounded() const noexcept { return high + low; }
};
struct CompensatedBin : Compensated {
  static constexpr std::uint64_t prefetched = 16;
  using Compensated::add;
  void add(const CompensatedBin& other) noexcept {
    add(other.sum);
    add_error(other.error);
    lost += other.lost;
  }
  [[nodiscard]] std::optional<double> rounded() const noexcept { return Compensated::rounded<double>(); }
};

constexpr std::uint64_t block = 512;
constexpr std::uint64_t cached_bytes = std::uint64_t{1} << 18;  // of a table whose lines need no prefetching

template <class W>
class Cutter {
 public:
  Cutter(const W* weights, std::uint64_t count) : units_(weights, count) {}
  bool operator()(const W* weights, std::uint64_t count, cpu::WeightHalves* parts) const {
    if constexpr (std::is_floating_point_v<W>) {
      return cpu::cut_weights(weights, count, units_, parts);
    } else {
      double doubles[block];
      std::copy_n(weights, count, doubles);
      return cpu::cut_weights(doubles, count, units_, parts);
    }
  }

 private:
  cpu::WeightUnits units_;
};

// Weights as they are.
struct AsDoubles {
  template <class W>
  bool operator()(const W* weights, std::uint64_t count, double* parts) const noexcept {
    for (std::uint64_t i = 0; i < count; ++i) parts[i] = static_cast<double>(weights[i]);
    return true;
  }
};

// Of an integer that is not negative.
template <class X>
std::uint64_t index_of(X integer) noexcept {
  return static_cast<std::make_unsigned_t<X>>(integer);
}

constexpr double open = std::numeric_limits<double>::quiet_NaN();

// Writes the totals, or `open` where they are not certain. The sums in `totals` are exact but for the errors that are
// noted beside them: few where there are many more bins than elements.
template <class X, class W>
bool add_noted(const X* x, const W* weights, std::uint64_t count, double* totals) {
  std::vector<Weighed> errors;
  each_in_pieces(count, [&](std::uint64_t i) {
    const auto bin = index_of(x[i]);
    const double error = add_exactly(totals[bin], static_cast<double>(weights[i]));
    if (error != 0) errors.push_back({bin, error});
  });
  std::sort(errors.begin(), errors.end(), [](const Weighed& a, const Weighed& b) { return a.bin < b.bin; });
  bool all_sure = true;
  for (std::size_t first = 0; first < errors.size();) {
    const std::uint64_t bin = errors[first].bin;
    Compensated sum{totals[bin]};
    for (; first < errors.size() && errors[first].bin == bin; ++first) sum.add_error(errors[first].weight);
    const std::optional<double> total = sum.rounded<double>();
    totals[bin] = total.value_or(open);
    all_sure = all_sure && total;
  }
  return all_sure;
}

// The same by a sum for each bin, and one for each thread where there are far more elements than bins. Nothing where
// make(weights, their number, parts) is false for a block of them; the parts are what is added.
template <class Sum, class Part, class X, class W, class Make>
std::optional<bool> add_to_sums(const X* x, const W* weights, std::uint64_t count, std::uint64_t bins, double* totals,
                                const Make& make) {
  static_assert(std::is_trivially_destructible_v<Sum>);  // and all zeros is an empty one
  const std::uint64_t worth = count / std::max(bins, looked_after);
  const std::uint64_t shares = worth < 2 ? 1 : std::min<std::uint64_t>(worth, cpu_threads());
  const bool far = bins * sizeof(Sum) > cached_bytes;
  std::vector<Array1<Sum>> tables(shares);
  std::atomic<bool> stopped = false;
  each_task(shares, [&](std::uint64_t share) {
    tables[share] = zeros<Sum>(bins);
    Sum* const sums = tables[share].get();
    const std::uint64_t end = count * (share + 1) / shares;
    std::uint64_t looked = 0;
    alignas(64) Part parts[block];
    for (std::uint64_t first = count * share / shares; first < end && !stopped; first += block) {
      if (++looked % (looked_after / block) == 0) check_interrupted();
      const std::uint64_t length = std::min(block, end - first);
      if (!make(weights + first, length, parts)) stopped = true;
      const X* const bin = x + first;
      std::uint64_t i = 0;
      for (; far && i < length && first + i + Sum::prefetched < count; ++i) {
        __builtin_prefetch(sums + index_of(bin[i + Sum::prefetched]), 1);
        sums[index_of(bin[i])].add(parts[i]);
      }
      for (; i < length; ++i) sums[index_of(bin[i])].add(parts[i]);
    }
  });
  if (stopped) return std::nullopt;
  std::atomic<bool> all_sure = true;
  each_part(bins, [&](std::uint64_t first, std::uint64_t end) {
    if constexpr (std::is_same_v<Sum, Halves>) {
      if (shares == 1) {
        const Sum* const sums = tables.front().get();
        for (std::uint64_t bin = first; bin < end; ++bin) totals[bin] = sums[bin].high + sums[bin].low;
        return;
      }
    }
    bool sure = true;
    for (std::uint64_t bin = first; bin < end; ++bin) {
      Sum& sum = tables.front()[bin];
      for (std::uint64_t share = 1; share < shares; ++share) sum.add(tables[share][bin]);
      const std::optional<double> total = sum.rounded();
      totals[bin] = total.value_or(open);
      sure = sure && total;
    }
    if (!sure) all_sure = false;
  });
  return all_sure.load();
}

// What `join` makes of number(0), number(1), …, in four chains side by side.
template <class T, class F, class Join>
T joined(std::uint64_t count, T first, const F& number, const Join& join) {
  T chains[4] = {first, first, first, first};
  std::uint64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::uint64_t chain = 0; chain < 4; ++chain) chains[chain] = join(chains[chain], number(i + chain));
  }
  for (; i < count; ++i) chains[0] = join(chains[0], number(i));
  return join(join(chains[0], chains[1]), join(chains[2], chains[3]));
}

template <class X, class W>
Array1<double> totals_of(const X* x, const W* weights, std::uint64_t count, std::uint64_t bins) {
  Array1<double> totals = zeros<double>(bins);
  bool all_sure;
  if (count < bins / 4) {
    all_sure = add_noted(x, weights, count, totals.get());
  } else {
    auto sure =
        add_to_sums<Halves, cpu::WeightHalves>(x, weights, count, bins, totals.get(), Cutter<W>(weights, count));
    if (!sure) sure = add_to_sums<CompensatedBin, double>(x, weights, count, bins, totals.get(), AsDoubles());
    all_sure = *sure;
  }
  if (all_sure) return totals;
  const auto each = [&](const auto& take) {
    each_in_pieces(count, [&](std::uint64_t i) { take(index_of(x[i]), static_cast<double>(weights[i])); });
  };
  add_sorted(
      each, [&](std::uint64_t bin) { return std::isnan(totals[bin]); }, totals.get());
  return totals;
}

// The dtypes whose elements are doubles as they are.
template <class W>
inline constexpr bool is_weight = !is_stored<W> && (sizeof(W) < 8 || std::is_same_v<W, double>);

}  // namespace

std::optional<IndexTotals> weighted_bincount(const ArrayView& indices, const ArrayView& weights, std::uint64_t least) {
  const FloatingPointScope usual;
  if (indices.count != weights.count) {
    call::refuse("weighted_bincount", fmt::format("indices and weights must have as many elements, got {} and {}",
                                                  indices.count, weights.count));
  }
  IndexTotals result;
  if (indices.count == 0 || is_float(indices.dtype)) return std::nullopt;
  dispatch(indices.dtype, [&](auto tag) {
    using X = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<X>) {
      const X* const data = static_cast<const X*>(indices.data);
      // One that is negative is a large one.
      using Unsigned = std::make_unsigned_t<X>;
      std::atomic<std::uint64_t> highest = 0;
      each_part(indices.count, [&](std::uint64_t first, std::uint64_t end) {
        const std::uint64_t here = joined(
            end - first, Unsigned{0}, [&](std::uint64_t i) { return static_cast<Unsigned>(data[first + i]); },
            [](Unsigned a, Unsigned b) { return std::max(a, b); });
        for (std::uint64_t known = highest; known < here && !highest.compare_exchange_weak(known, here);) {
        }
      });
      const std::uint64_t high = highest;
      if (std::is_signed_v<X> && high > static_cast<std::uint64_t>(std::numeric_limits<X>::max())) return;
      if (high >= most_totals || least > most_totals) return;
      result.count = std::max(high + 1, least);
      dispatch(weights.dtype, [&](auto weight) {
        using W = typename decltype(weight)::type;
        if constexpr (is_weight<W>) {
          result.totals = totals_of(data, static_cast<const W*>(weights.data), indices.count, result.count);
        }
      });
    }
  });
  if (!result.totals) return std::nullopt;
  return result;
}

namespace cpu {

namespace {

// Calls take(slot, weight) for each element.
template <class W, class F>
void each_slot_weight(const SlotSource& source, const NarrowSlots& where, const W* weights, std::uint64_t count,
                      const F& take) {
  constexpr std::uint64_t looked_after_blocks = 256;
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
    for (std::size_t i = 0; i < length; ++i) take(slots[i], to_f64(weights[first + i]));
  }
}

}  // namespace

void add_narrow(const SlotSource& source, const NarrowSlots& where, const ArrayView& weights,
                std::span<double> totals) {
  // Fewer elements than one for so many slots are sorted by slot; else each slot has a sum.
  constexpr std::uint64_t sparse_slots = 16;
  dispatch(weights.dtype, [&](auto tag) {
    using W = typename decltype(tag)::type;
    if constexpr (is_float(dtype_of<W>)) {
      const auto each = [&](const auto& take) {
        each_slot_weight(source, where, static_cast<const W*>(weights.data), weights.count, take);
      };
      if (weights.count < where.slots / sparse_slots) {
        return add_sorted(
            each, [](std::uint64_t) { return true; }, totals.data());
      }
      std::vector<Compensated> sums(where.slots);
      each([&](std::uint32_t slot, double weight) { sums[slot].add(weight); });
      bool any_open = false;
      for (std::uint64_t slot = 0; slot < where.slots; ++slot) {
        const std::optional<double> total = sums[slot].template rounded<double>();
        totals[slot] = total.value_or(open);
        any_open = any_open || !total;
      }
      if (any_open)
        add_sorted(
            each, [&](std::uint64_t slot) { return std::isnan(totals[slot]); }, totals.data());
    }
  });
}

}  // namespace cpu

}  // namespace masu
