// SPDX-License-Identifier: Apache-2.0
// Totals of weights by integers, exact and rounded once, with memory and time by what is touched.
#include "arrays.h"
#include "keys.h"
#include "module.h"
#include "short_sum.h"

#include <masu/interrupt.h>
#include <masu/sum.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

constexpr std::uint64_t most_totals = std::uint64_t{1} << 31;
// Elements between two looks at whether the call shall end.
constexpr std::uint64_t looked_after = std::uint64_t{1} << 18;
constexpr std::uint64_t few_weights = 16384;  // so little work that the GIL is kept

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
using Totals = std::unique_ptr<double[], Free>;

// Zeros; what is not written takes no time and no place.
template <class T>
std::unique_ptr<T[], Free> zeros(std::uint64_t count) {
  void* const memory = std::calloc(std::max<std::uint64_t>(count, 1), sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  return std::unique_ptr<T[], Free>(static_cast<T*>(memory));
}

template <class F>
void each_in_pieces(std::uint64_t count, const F& body) {
  for (std::uint64_t first = 0; first < count; first += looked_after) {
    masu::check_interrupted();
    const std::uint64_t end = std::min(count, first + looked_after);
    for (std::uint64_t i = first; i < end; ++i) body(i);
  }
}

struct Weighed {
  std::uint64_t bin;
  double weight;
};

// The totals of the bins of elements that are few: sorted by bin, so nothing is touched but what they name.
void add_sorted(std::vector<Weighed>& elements, double* totals) {
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
      total = masu::sum(masu::Device::open("cpu"), masu::ArrayView(weights)).value();
    }
    totals[elements[first].bin] = *total;
    first = end;
  }
}

// A sum and its additions' errors where no weight is below 0. The sum then never falls, so that its last value bounds
// the errors, and what the errors' own roundings took away.
struct Rising {
  double sum = 0;
  double error = 0;
  void add(double x) noexcept { error += masu::add_exactly(sum, x); }
};
// That bound leaves little open for so many weights, and where a bin has few of them.
constexpr std::uint64_t most_rising = std::uint64_t{1} << 18;
constexpr std::uint64_t most_rising_in_bin = 64;

struct RisingRule {
  double additions;
  double exact_below;  // sums below this lose nothing: the errors are multiples of what all weights are multiples of
  RisingRule(std::uint64_t count, double unit)
      : additions(static_cast<double>(count)), exact_below(std::min(0x1p105 / additions * unit, 0x1p1000)) {}
  [[nodiscard]] std::optional<double> operator()(const Rising& sum) const noexcept {
    if (sum.sum < exact_below) return sum.sum + sum.error;
    return masu::certain<double>(sum.sum, sum.error, additions * additions * 0x1p-105 * sum.sum);
  }
};

constexpr double open = std::numeric_limits<double>::quiet_NaN();

// Writes the totals, or `open` where they are not certain. The sums in `totals` are exact but for the errors that are
// noted beside them: few where there are many more bins than elements.
template <class X, class W>
bool add_noted(const X* x, const W* weights, std::uint64_t count, double* totals) {
  std::vector<Weighed> errors;
  each_in_pieces(count, [&](std::uint64_t i) {
    const auto bin = static_cast<std::uint64_t>(x[i]);
    const double error = masu::add_exactly(totals[bin], static_cast<double>(weights[i]));
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

// The same by a sum for each bin.
template <class Sum, class X, class W, class Rounded>
bool add_to_sums(const X* x, const W* weights, std::uint64_t count, std::uint64_t bins, double* totals,
                 const Rounded& rounded) {
  static_assert(std::is_trivially_destructible_v<Sum>);  // and all zeros is an empty one
  const auto sums = zeros<Sum>(bins);
  each_in_pieces(count,
                 [&](std::uint64_t i) { sums[static_cast<std::uint64_t>(x[i])].add(static_cast<double>(weights[i])); });
  bool all_sure = true;
  each_in_pieces(bins, [&](std::uint64_t bin) {
    const std::optional<double> total = rounded(sums[bin]);
    totals[bin] = total.value_or(open);
    all_sure = all_sure && total;
  });
  return all_sure;
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

// A power of 2 of which all weights are multiples; nothing where one is below 0, or -0. Of few weights the last bit of
// the least, which may be more than is needed: of floats that are not below 0, the bits have their order.
template <class W>
std::optional<double> unit_of(const W* weights, std::uint64_t count) {
  using Bits = Key<W>;
  constexpr Bits sign = std::is_unsigned_v<W> ? Bits{0} : sign_of<W>;
  constexpr Bits most = std::numeric_limits<Bits>::max();
  const auto bits = [&](std::uint64_t i) { return std::bit_cast<Bits>(weights[i]); };
  const auto least = [](Bits a, Bits b) { return std::min(a, b); };
  if ((joined(count, Bits{0}, bits, std::bit_or<Bits>()) & sign) != 0) return std::nullopt;
  if constexpr (std::is_floating_point_v<W>) {
    constexpr int fraction_bits = std::numeric_limits<W>::digits - 1;
    constexpr int lowest = std::numeric_limits<W>::min_exponent - std::numeric_limits<W>::digits;  // of subnormals
    if (count <= most_rising) {
      const Bits found = joined(
          count, most, [&](std::uint64_t i) { return static_cast<Bits>(bits(i) - 1); }, least);
      const auto exponent = found == most ? 0 : static_cast<int>(static_cast<Bits>(found + 1) >> fraction_bits);
      return std::ldexp(1.0, lowest + std::max(exponent - 1, 0));
    }
    const auto last_bit = [&](std::uint64_t i) {
      const Bits exponent = bits(i) >> fraction_bits;
      const Bits fraction = bits(i) & ((Bits{1} << fraction_bits) - 1);
      const Bits digits = exponent == 0 ? fraction : fraction | Bits{1} << fraction_bits;
      return digits == 0 ? most : static_cast<Bits>(std::max(exponent, Bits{1}) - 1 + std::countr_zero(digits));
    };
    const Bits found = joined(count, most, last_bit, least);
    return std::ldexp(1.0, found == most ? 0 : lowest + static_cast<int>(found));
  } else {
    return 1.0;
  }
}

template <class X, class W>
Totals totals_of(const X* x, const W* weights, std::uint64_t count, std::uint64_t bins) {
  Totals totals = zeros<double>(bins);
  bool all_sure;
  if (count < bins / 4) {
    all_sure = add_noted(x, weights, count, totals.get());
  } else if (const auto unit =
                 count <= std::max(most_rising, most_rising_in_bin * bins) ? unit_of(weights, count) : std::nullopt) {
    all_sure = add_to_sums<Rising>(x, weights, count, bins, totals.get(), RisingRule(count, *unit));
  } else {
    all_sure = add_to_sums<Compensated>(x, weights, count, bins, totals.get(),
                                        [](const Compensated& sum) { return sum.rounded<double>(); });
  }
  if (all_sure) return totals;
  std::vector<Weighed> unsure;
  each_in_pieces(count, [&](std::uint64_t i) {
    const auto bin = static_cast<std::uint64_t>(x[i]);
    if (totals[bin] != totals[bin]) unsure.push_back({bin, static_cast<double>(weights[i])});
  });
  add_sorted(unsure, totals.get());
  return totals;
}

// The dtypes whose elements are doubles as they are.
template <class W>
inline constexpr bool is_weight = !std::is_same_v<W, masu::Half> && (sizeof(W) < 8 || std::is_same_v<W, double>);

// The totals of the weights of 0, 1, 2, …, at least `least` of them; None where there are negative integers, too many
// bins, or dtypes for which another way must be taken.
nb::object weighted_bincount(nb::handle integers, nb::handle weights, std::uint64_t least) {
  const Input x(integers);
  const Input by(weights);
  if (x.on_device() || by.on_device() || x.count() != by.count() || x.count() == 0 || masu::is_float(x.dtype())) {
    return nb::none();
  }
  std::uint64_t bins = 0;
  Totals totals;
  const auto work = [&] {
    masu::dispatch(x.dtype(), [&](auto tag) {
      using X = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<X>) {
        const X* const data = x.data<X>();
        // One that is negative is a large one.
        std::uint64_t high = 0;
        for (std::uint64_t first = 0; first < x.count(); first += looked_after) {
          masu::check_interrupted();
          const X* const piece = data + first;
          using Unsigned = std::make_unsigned_t<X>;
          high = std::max<std::uint64_t>(high, joined(
                                                   std::min(looked_after, x.count() - first), Unsigned{0},
                                                   [&](std::uint64_t i) { return static_cast<Unsigned>(piece[i]); },
                                                   [](Unsigned a, Unsigned b) { return std::max(a, b); }));
        }
        if (std::is_signed_v<X> && high > static_cast<std::uint64_t>(std::numeric_limits<X>::max())) return;
        if (high >= most_totals || least > most_totals) return;
        bins = std::max(high + 1, least);
        masu::dispatch(by.dtype(), [&](auto weight) {
          using W = typename decltype(weight)::type;
          if constexpr (is_weight<W>) totals = totals_of(data, by.data<W>(), x.count(), bins);
        });
      }
    });
  };
  if (x.count() <= few_weights) work();
  else call(work);
  if (!totals) return nb::none();
  double* const memory = totals.get();
  const nb::capsule owner(memory, [](void* pointer) noexcept { std::free(pointer); });
  static_cast<void>(totals.release());
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<1>>(memory, {static_cast<std::size_t>(bins)}, owner));
}

}  // namespace

void register_bincount(nb::module_& m) {
  m.def("weighted_bincount", weighted_bincount, nb::arg("integers"), nb::arg("weights"), nb::arg("least"));
}

}  // namespace masu_python
