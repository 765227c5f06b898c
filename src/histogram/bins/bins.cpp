// SPDX-License-Identifier: Apache-2.0
// Bins: what the caller asks for, checked.
#include "call/operands.h"
#include "call/state_bytes.h"
#include "elements/dtypes.h"
#include "histogram/bins/bin_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

namespace masu {

namespace {

constexpr std::uint64_t max_bins = std::uint64_t{1} << 31;
constexpr std::uint64_t default_bins = 100;
constexpr std::uint64_t max_value_bins = 1024;

std::uint64_t checked_count(std::uint64_t n) {
  if (n < 1) call::refuse("histogram", "bins must be >= 1, got 0");
  if (n > max_bins) {
    call::refuse("histogram", fmt::format("bins must be <= 2147483648, got {}", n));
  }
  return n;
}

// In the order of the enumerators.
constexpr std::array<std::string_view, 7> strategy_names{"auto",  "global", "private",    "local",
                                                         "lanes", "packed", "partitioned"};
constexpr std::array<std::string_view, 8> estimator_names{"auto",  "fd",   "doane",   "scott",
                                                          "stone", "rice", "sturges", "sqrt"};

template <class Value>
std::string_view name_of(std::span<const std::string_view> names, Value value) noexcept {
  const auto i = static_cast<std::size_t>(value);
  return i < names.size() ? names[i] : "?";
}

template <class Value>
Value from_name(std::span<const std::string_view> names, std::string_view what, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    call::refuse("histogram", fmt::format("{} is one of {}; got '{}'", what, fmt::join(names, ", "), name));
  }
  return static_cast<Value>(found - names.begin());
}

}  // namespace

std::string_view to_string(Strategy strategy) noexcept {
  return name_of(strategy_names, strategy);
}

Strategy strategy_from_name(std::string_view name) {
  if (name == "sequential") {
    call::refuse("histogram",
                 "strategy sequential has left masu; its one loop is in the example program atomic_histogram");
  }
  return from_name<Strategy>(strategy_names, "strategy", name);
}

std::string_view to_string(Estimator estimator) noexcept {
  return name_of(estimator_names, estimator);
}

Estimator estimator_from_name(std::string_view name) {
  return from_name<Estimator>(estimator_names, "the rule for bins", name);
}

Bins Bins::even(std::uint64_t n) {
  return Bins(Kind::even, checked_count(n));
}

Bins Bins::even(std::uint64_t n, double lo, double hi) {
  const FloatingPointScope usual;
  Bins bins(Kind::even, checked_count(n));
  if (!std::isfinite(lo) || !std::isfinite(hi)) {
    call::refuse("histogram", fmt::format("the range must be finite, got {}:{}", lo, hi));
  }
  if (lo > hi) {
    call::refuse("histogram", fmt::format("the range must have lo <= hi, got {}:{}", lo, hi));
  }
  bins.origin_ = Origin::given;
  bins.lo_ = lo;
  bins.hi_ = hi;
  return bins;
}

Bins Bins::even(std::uint64_t n, const ValueRange& range) {
  Bins bins = even(n, range.lo, range.hi);
  bins.origin_ = Origin::data;
  bins.single_ = range.single;
  return bins;
}

Bins Bins::edges(std::vector<double> edges) {
  const FloatingPointScope usual;
  if (edges.size() < 2) {
    call::refuse("histogram", fmt::format("edges must be at least 2, got {}", edges.size()));
  }
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (std::isnan(edges[i])) {
      call::refuse("histogram", fmt::format("edges must be numbers, got NaN at {}", i));
    }
    if (i > 0 && edges[i] < edges[i - 1]) {
      call::refuse("histogram",
                   fmt::format("edges must not decrease, got {} after {} at {}", edges[i], edges[i - 1], i));
    }
  }
  Bins bins(Kind::edges, checked_count(edges.size() - 1));
  bins.edges_ = std::make_shared<const std::vector<double>>(std::move(edges));
  return bins;
}

Bins Bins::logarithmic(std::uint64_t n, double lo, double hi) {
  const FloatingPointScope usual;
  Bins bins(Kind::edges, checked_count(n));
  if (!(lo > 0 && lo < hi && std::isfinite(hi))) {
    call::refuse("histogram", fmt::format("a logarithmic range must be finite with 0 < lo < hi, got {}:{}", lo, hi));
  }
  // As many numbers lie between two positive ones as between their bit patterns.
  bool increasing = n <= std::bit_cast<std::uint64_t>(hi) - std::bit_cast<std::uint64_t>(lo);
  if (increasing) {
    std::vector<double> edges = logarithmic_edges(n, lo, hi);
    increasing = std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) == edges.end();
    bins.edges_ = std::make_shared<const std::vector<double>>(std::move(edges));
  }
  if (!increasing) {
    call::refuse("histogram",
                 fmt::format("too many bins for the range: {} logarithmic bins of {}:{} have no width", n, lo, hi));
  }
  return bins;
}

Bins Bins::integers(std::uint64_t n) {
  return Bins(Kind::integers, checked_count(n));
}

Bins Bins::automatic(Estimator estimator) {
  Bins bins(Kind::automatic, 0);
  bins.estimator_ = estimator;
  return bins;
}

Bins Bins::automatic(Estimator estimator, double lo, double hi) {
  Bins bins = even(1, lo, hi);
  bins.kind_ = Kind::automatic;
  bins.size_ = 0;
  bins.estimator_ = estimator;
  return bins;
}

namespace {
constexpr call::StateName bins_state{"Bins", "MBIN"};
}  // namespace

std::vector<std::byte> Bins::bytes() const {
  call::StateWriter to(bins_state);
  to.number(static_cast<std::uint64_t>(kind_), 1);
  to.number(static_cast<std::uint64_t>(origin_), 1);
  to.number(static_cast<std::uint64_t>(estimator_), 1);
  to.number(single_ ? 1 : 0, 1);
  to.number(size_);
  to.real(lo_);
  to.real(hi_);
  if (kind_ == Kind::edges) {
    for (const double edge : *edges_) to.real(edge);
  }
  return to.finish();
}

Bins Bins::from_bytes(std::span<const std::byte> bytes) {
  call::StateReader from(bins_state, bytes);
  const auto kind = static_cast<Kind>(from.below(4, 1));
  const auto origin = static_cast<Origin>(from.below(3, 1));
  const auto estimator = static_cast<Estimator>(from.below(8, 1));
  const bool single = from.flag();
  const std::uint64_t size = from.number();
  const double lo = from.real();
  const double hi = from.real();
  std::optional<Bins> bins;
  switch (kind) {
    case Kind::even:
      if (origin == Origin::none) bins = even(size);
      else if (origin == Origin::given) bins = even(size, lo, hi);
      else bins = even(size, ValueRange{lo, hi, single});
      break;
    case Kind::edges: {
      from.require(size < max_bins + 1);
      const std::vector<std::uint64_t> bits = from.numbers(size + 1);
      std::vector<double> all(bits.size());
      std::transform(bits.begin(), bits.end(), all.begin(), [](std::uint64_t x) { return std::bit_cast<double>(x); });
      bins = edges(std::move(all));
      break;
    }
    case Kind::integers: bins = integers(size); break;
    case Kind::automatic: bins = origin == Origin::none ? automatic(estimator) : automatic(estimator, lo, hi); break;
  }
  from.end();
  const std::vector<std::byte> again = bins->bytes();  // nothing is set that the kind does not have
  from.require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  return *bins;
}

Bins Bins::for_data(Dtype dtype, const std::optional<ValueRange>& range) {
  const FloatingPointScope usual;
  if (dtype == Dtype::u8) return integers(256);
  if (dtype == Dtype::i8) return even(256, -128, 128);
  const ValueRange found = range.value_or(ValueRange{0, 1, false});
  // Beyond 2^53 whole numbers have gaps in f64: such data gets plain even bins.
  if (is_float(dtype) || std::max(std::abs(found.lo), std::abs(found.hi)) >= 0x1p53) {
    return range ? bins_that_hold(default_bins, found, dtype)
                 : even(default_bins, 0, 1);  // 0:1 is not f32 data: see Origin
  }
  const double values = found.hi - found.lo + 1;
  if (values <= static_cast<double>(max_value_bins)) {
    return even(static_cast<std::uint64_t>(values), found.lo, found.hi + 1);
  }
  const double width = std::ceil(values / static_cast<double>(default_bins));
  const double bins = std::ceil(values / width);
  return even(static_cast<std::uint64_t>(bins), found.lo, found.lo + bins * width);
}

namespace {

bool have_width(const Bins& bins, Dtype dtype) {
  try {
    (void)BinRule(bins, dtype, false);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Bins bins_that_hold(std::uint64_t n, const ValueRange& range, Dtype dtype) {
  Bins plain = Bins::even(n, range);
  if (have_width(plain, dtype)) return plain;
  const auto parts = static_cast<double>(n);
  const FloatFormat format = float_format(is_float(dtype) ? arithmetic_dtype(dtype) : Dtype::f64);
  const double most = greatest_of(format);
  const double unit = power_of_two(1 - format.precision);
  const double least = std::ldexp(1.0, format.least);
  const double step = std::max(std::max(std::abs(range.lo), std::abs(range.hi)) * unit, least);
  for (double by = step * parts / 2; by <= most && std::isfinite(range.hi - range.lo); by *= 2) {
    const ValueRange wider{std::max(range.lo - by, -most), std::min(range.hi + by, most), false};
    if (Bins bins = Bins::even(n, wider); have_width(bins, dtype)) return bins;
  }
  if (range.lo == range.hi) return plain;
  std::vector<double> edges(n + 1, range.hi);
  for (std::uint64_t i = 0; i < n; ++i) {
    const double part = static_cast<double>(i) / parts;
    edges[i] = range.lo * (1 - part) + range.hi * part;
  }
  return Bins::edges(std::move(edges));
}

std::optional<ValueRange> merge(const std::optional<ValueRange>& a, const std::optional<ValueRange>& b) {
  const FloatingPointScope usual;
  if (!a) return b;
  if (!b) return a;
  const bool single = a->single && b->single && a->lo == b->lo && a->hi == b->hi;
  return ValueRange{std::min(a->lo, b->lo), std::max(a->hi, b->hi), single};
}

std::vector<double> bin_edges(const Bins& bins, Dtype dtype) {
  const FloatingPointScope usual;
  if (bins.needs_data()) {
    call::refuse("bin_edges", "the bins must not depend on data; find them before");
  }
  return BinRule(bins, dtype, false).all_edges();
}

}  // namespace masu
