// SPDX-License-Identifier: Apache-2.0
// Totals of weights by integers, and of float weights by slots, exact and rounded once, with memory and time by what is
// touched.
#include "call/operands.h"
#include "elements/order.h"
#include "histogram/cpu/histogram_cpu.h"
#include "histogram/cpu/histogram_simd.h"
#include "histogram/weighted_sums.h"
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
// Elements between two checks for an interruption; also what is worth a thread.
constexpr std::uint64_t checked_after = std::uint64_t{1} << 18;

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
  each_task((count + checked_after - 1) / checked_after, [&](std::uint64_t part) {
    check_interrupted();
    body(part * checked_after, std::min(count, (part + 1) * checked_after));
  });
}

struct Weighed {
  std::uint64_t slot;
  double weight;
};

constexpr std::uint64_t block = 1024;
constexpr std::uint64_t cached_bytes = std::uint64_t{1} << 18;  // of a table whose lines need no prefetching
constexpr double open = std::numeric_limits<double>::quiet_NaN();

void put_doubles(const ArrayView& weights, std::uint64_t first, std::uint64_t count, double* to) {
  dispatch(weights.dtype, [&](auto tag) {
    const auto* from = static_cast<const typename decltype(tag)::type*>(weights.data) + first;
    std::transform(from, from + count, to, [](auto weight) { return to_f64(weight); });
  });
}

// Elements with their slots and weights. A slot that is the number of all slots counts nowhere.
struct Elements {
  const cpu::SlotSource& source;
  const ArrayView& weights;
  std::uint64_t slots;

  // Calls take(slots, first, length, known) for blocks of elements: the slots of `known` elements are there, of those
  // that follow the block too. Ends where it is false.
  template <class Take>
  void each_block(std::uint64_t first, std::uint64_t end, const Take& take) const {
    constexpr std::uint64_t ahead = 64;
    alignas(64) std::uint32_t found[block + ahead + cpu::block_elements];
    cpu::SlotHistories histories = {};
    std::uint64_t blocks = 0;
    for (std::uint64_t known = 0; first < end;) {
      if (++blocks % (checked_after / block) == 0) check_interrupted();
      while (known < std::min(block + ahead, end - first)) {
        const std::uint64_t more = std::min<std::uint64_t>(cpu::block_elements, end - first - known);
        source.write(first + known, more, histories, found + known);
        known += more;
      }
      const std::uint64_t length = std::min(block, end - first);
      if (!take(found, first, length, known)) return;
      std::copy(found + length, found + known, found);
      first += length;
      known -= length;
    }
  }
  // Calls add(slot, weight) for each element.
  template <class Add>
  void each(const Add& add) const {
    double doubles[block];
    each_block(0, weights.count, [&](const std::uint32_t* found, std::uint64_t first, std::uint64_t length, auto) {
      put_doubles(weights, first, length, doubles);
      for (std::uint64_t i = 0; i < length; ++i) {
        if (found[i] < slots) add(found[i], doubles[i]);
      }
      return true;
    });
  }
};

void sort_by_slot(std::vector<Weighed>& elements) {
  std::sort(elements.begin(), elements.end(), [](const Weighed& a, const Weighed& b) { return a.slot < b.slot; });
}

// A square is high + low, exactly, by the method of T. J. Dekker (Numerische Mathematik 18, 1971): 27 bits of a factor
// times 27 bits have no rounding. `low` is no number where the square is too small or too large for that.
struct Square {
  double high;
  double low;
};
Square square_of(double x) noexcept {
  constexpr double splitter = 0x1p27 + 1;
  constexpr double least = 0x1p-960;
  const double high = x * x;
  const double scaled = splitter * x;
  const double a = scaled - (scaled - x);
  const double b = x - a;
  const double low = ((a * a - high) + 2 * (a * b)) + b * b;
  return {high, high < least && x != 0 ? open : low};
}

double sum_of_squares(std::span<const double> weights) {
  constexpr std::size_t most = fixed::additions_before_carry / 2;
  WeightSums sums({Dtype::f64, true}, 1);
  const AddWeights add = add_weights(sums.format());
  const std::vector<std::uint32_t> slots(std::min(weights.size(), most));
  for (std::size_t first = 0; first < weights.size(); first += most) {
    add(slots.data(), weights.data() + first, std::min(most, weights.size() - first), sums.words(0), sums.flags(0));
    sums.propagate(0, 1);
  }
  return sums.total(0);
}

// The totals of the slots that are open, which are few: their elements are sorted by slot.
void add_open(const Elements& all, double* totals, bool squared) {
  std::vector<Weighed> elements;
  all.each([&](std::uint32_t slot, double weight) {
    if (std::isnan(totals[slot])) elements.push_back({slot, weight});
  });
  sort_by_slot(elements);
  std::vector<double> weights;
  for (std::size_t first = 0; first < elements.size();) {
    const std::uint64_t slot = elements[first].slot;
    weights.clear();
    for (; first < elements.size() && elements[first].slot == slot; ++first) weights.push_back(elements[first].weight);
    if (squared) {
      totals[slot] = sum_of_squares(weights);
      continue;
    }
    fixed::Sum exact;
    cpu::add_values(weights.data(), weights.size(), exact);
    totals[slot] = fixed::sum_of(fixed::Part(exact), Dtype::f64);
  }
}

struct Halves : cpu::WeightHalves {
  static constexpr std::uint64_t prefetched = 64;  // elements ahead
  [[nodiscard]] std::optional<double> rounded() const noexcept { return high + low; }
};
struct CompensatedSlot : Compensated {
  static constexpr std::uint64_t prefetched = 16;
  using Compensated::add;
  void add(const CompensatedSlot& other) noexcept {
    add(other.sum);
    add_error(other.error);
    lost += other.lost;
  }
  void add(const Square& square) noexcept {
    add(square.high);
    add_error(square.low);
  }
  [[nodiscard]] std::optional<double> rounded() const noexcept { return Compensated::rounded<double>(); }
};

// Makes parts of blocks of weights: their halves, false where they cannot be cut.
class Cutter {
 public:
  explicit Cutter(const ArrayView& weights) : weights_(weights), units_(first_ones(weights), weights.count) {}
  bool operator()(std::uint64_t first, std::uint64_t count, cpu::WeightHalves* parts) const {
    if (weights_.dtype == Dtype::f64) return cut(static_cast<const double*>(weights_.data) + first, count, parts);
    if (weights_.dtype == Dtype::f32) return cut(static_cast<const float*>(weights_.data) + first, count, parts);
    double doubles[block];
    put_doubles(weights_, first, count, doubles);
    return cut(doubles, count, parts);
  }

 private:
  template <class W>
  bool cut(const W* weights, std::uint64_t count, cpu::WeightHalves* parts) const {
    return cpu::cut_weights(weights, count, units_, parts);
  }
  static cpu::WeightSample first_ones(const ArrayView& weights) {
    cpu::WeightSample sample{};
    put_doubles(weights, 0, std::min<std::uint64_t>(weights.count, sample.size()), sample.data());
    return sample;
  }
  const ArrayView& weights_;
  cpu::WeightUnits units_;
};
// Or the weights as they are.
struct AsDoubles {
  const ArrayView& weights;
  bool operator()(std::uint64_t first, std::uint64_t count, double* parts) const {
    put_doubles(weights, first, count, parts);
    return true;
  }
};

// Or their squares.
struct AsSquares {
  const ArrayView& weights;
  bool operator()(std::uint64_t first, std::uint64_t count, Square* parts) const {
    double doubles[block];
    put_doubles(weights, first, count, doubles);
    std::transform(doubles, doubles + count, parts, square_of);
    return true;
  }
};

// Writes the totals, or `open` where they are not certain, to zeros. The sums in `totals` are exact but for the errors
// that are noted beside them: few where there are many more slots than elements.
bool add_noted(const Elements& all, double* totals, bool squared) {
  std::vector<Weighed> errors;
  const auto note = [&](std::uint32_t slot, double error) {
    if (error != 0) errors.push_back({slot, error});
  };
  all.each([&](std::uint32_t slot, double weight) {
    const Square added = squared ? square_of(weight) : Square{weight, 0};
    note(slot, add_exactly(totals[slot], added.high));
    note(slot, added.low);
  });
  sort_by_slot(errors);
  bool all_sure = true;
  for (std::size_t first = 0; first < errors.size();) {
    const std::uint64_t slot = errors[first].slot;
    Compensated sum{totals[slot]};
    for (; first < errors.size() && errors[first].slot == slot; ++first) sum.add_error(errors[first].weight);
    const std::optional<double> total = sum.rounded<double>();
    totals[slot] = total.value_or(open);
    all_sure = all_sure && total;
  }
  return all_sure;
}

// The same by a sum for each slot, and one for each thread where there are far more elements than slots. Nothing where
// make(first, count, parts) is false for a block of the weights; the parts are what is added.
template <class Sum, class Part, class Make>
std::optional<bool> add_to_sums(const Elements& all, double* totals, const Make& make) {
  static_assert(std::is_trivially_destructible_v<Sum>);  // and all zeros is an empty one
  const std::uint64_t count = all.weights.count;
  const std::uint64_t worth = count / std::max(all.slots, checked_after);
  const std::uint64_t shares = worth < 2 ? 1 : std::min<std::uint64_t>(worth, cpu_threads());
  const bool far = all.slots * sizeof(Sum) > cached_bytes;
  std::vector<Array1<Sum>> tables(shares);
  std::atomic<bool> stopped = false;
  each_task(shares, [&](std::uint64_t share) {
    tables[share] = zeros<Sum>(all.slots + 1);  // one for what counts nowhere
    Sum* const sums = tables[share].get();
    alignas(64) Part parts[block];
    all.each_block(count * share / shares, count * (share + 1) / shares,
                   [&](const std::uint32_t* slots, std::uint64_t first, std::uint64_t length, std::uint64_t known) {
                     if (!make(first, length, parts)) stopped = true;
                     std::uint64_t i = 0;
                     for (; far && i < length && i + Sum::prefetched < known; ++i) {
                       __builtin_prefetch(sums + slots[i + Sum::prefetched], 1);
                       sums[slots[i]].add(parts[i]);
                     }
                     for (; i < length; ++i) sums[slots[i]].add(parts[i]);
                     return !stopped;
                   });
  });
  if (stopped) return std::nullopt;
  std::atomic<bool> all_sure = true;
  each_part(all.slots, [&](std::uint64_t first, std::uint64_t end) {
    if constexpr (std::is_same_v<Sum, Halves>) {
      if (shares == 1) {
        const Sum* const sums = tables.front().get();
        for (std::uint64_t slot = first; slot < end; ++slot) totals[slot] = sums[slot].high + sums[slot].low;
        return;
      }
    }
    bool sure = true;
    for (std::uint64_t slot = first; slot < end; ++slot) {
      Sum& sum = tables.front()[slot];
      for (std::uint64_t share = 1; share < shares; ++share) sum.add(tables[share][slot]);
      const std::optional<double> total = sum.rounded();
      totals[slot] = total.value_or(open);
      sure = sure && total;
    }
    if (!sure) all_sure = false;
  });
  return all_sure.load();
}

// The dtypes whose elements are doubles as they are.
bool are_weights(Dtype dtype) noexcept {
  return dtype == Dtype::f64 || (!is_stored_float(dtype) && size_of(dtype) < 8);
}

}  // namespace

void cpu::add_narrow(const SlotSource& source, const ArrayView& weights, std::span<double> totals, bool squared) {
  const Elements all{source, weights, totals.size()};
  bool all_sure;
  if (weights.count < totals.size() / 4) {
    all_sure = add_noted(all, totals.data(), squared);
  } else if (squared) {
    all_sure = *add_to_sums<CompensatedSlot, Square>(all, totals.data(), AsSquares{weights});
  } else {
    auto sure = add_to_sums<Halves, WeightHalves>(all, totals.data(), Cutter(weights));
    if (!sure) sure = add_to_sums<CompensatedSlot, double>(all, totals.data(), AsDoubles{weights});
    all_sure = *sure;
  }
  if (!all_sure) add_open(all, totals.data(), squared);
}

std::optional<IndexTotals> weighted_bincount(const ArrayView& indices, const ArrayView& weights, std::uint64_t least) {
  const FloatingPointScope usual;
  if (indices.count != weights.count) {
    call::refuse("weighted_bincount", fmt::format("indices and weights must have as many elements, got {} and {}",
                                                  indices.count, weights.count));
  }
  IndexTotals result;
  if (indices.count == 0 || is_float(indices.dtype) || !are_weights(weights.dtype)) return std::nullopt;
  dispatch(indices.dtype, [&]<class X>(TypeTag<X>) {
    if constexpr (std::is_integral_v<X>) {
      // One that is negative is a large one.
      using Unsigned = std::make_unsigned_t<X>;
      const auto* const data = static_cast<const Unsigned*>(indices.data);
      std::atomic<std::uint64_t> highest = 0;
      each_part(indices.count, [&](std::uint64_t first, std::uint64_t end) {
        Unsigned lowest = std::numeric_limits<Unsigned>::max();
        Unsigned found = 0;
        cpu::add_to_range(data + first, end - first, lowest, found);
        for (std::uint64_t known = highest; known < found && !highest.compare_exchange_weak(known, found);) {
        }
      });
      const std::uint64_t high = highest;
      if (std::is_signed_v<X> && high > static_cast<std::uint64_t>(std::numeric_limits<X>::max())) return;
      if (high >= most_totals || least > most_totals) return;
      result.count = std::max(high + 1, least);
      result.totals = zeros<double>(result.count);
      cpu::add_narrow(cpu::IndexSource<Unsigned>(data), weights, {result.totals.get(), result.count});
    }
  });
  if (!result.totals) return std::nullopt;
  return result;
}

}  // namespace masu
