// SPDX-License-Identifier: Apache-2.0
#include "histogram/bin_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace masu {

namespace {

double even_edge_f32(const BinRule& rule, std::uint64_t i) {
  const auto lo = static_cast<float>(rule.lo);
  const auto step = static_cast<float>(rule.step);
  if (step == 0) {
    const float part = static_cast<float>(i) / static_cast<float>(rule.n);
    return part * (static_cast<float>(rule.hi) - lo) + lo;
  }
  const float product = static_cast<float>(i) * step;
  return product + lo;
}

double even_edge_f64(const BinRule& rule, std::uint64_t i) {
  const auto position = static_cast<double>(i);
  if (rule.step == 0) return position / static_cast<double>(rule.n) * (rule.hi - rule.lo) + rule.lo;
  const double product = position * rule.step;
  return product + rule.lo;
}

}  // namespace

BinRule::BinRule(const Bins& bins, Dtype type, bool right_open)
    : kind(bins.kind()), dtype(type), n(bins.size()), half_open(right_open || kind == Bins::Kind::integers) {
  if (dtype == Dtype::f16) {
    throw Error(ErrorCode::unsupported, "histogram: f16 data is not supported in this version");
  }
  if (bins.needs_data()) {
    throw Error(ErrorCode::invalid_argument, "histogram: even bins need a range here; find it with finite_range");
  }
  if (kind == Bins::Kind::integers && is_float(dtype)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("histogram: integers(n) takes integer data, got {}", to_string(dtype)));
  }
  if (kind == Bins::Kind::even) {
    resolve_even(bins);
  } else if (kind == Bins::Kind::edges) {
    edges = bins.edges_;
  } else {
    hi = static_cast<double>(n);
    step = 1;
  }
}

void BinRule::resolve_even(const Bins& bins) {
  f32_edges = dtype == Dtype::f32;
  f32_arithmetic = f32_edges && bins.origin_ == Bins::Origin::data;
  lo = bins.lo_;
  hi = bins.hi_;
  if (bins.origin_ == Bins::Origin::data ? bins.single_ : lo == hi) {
    lo -= 0.5;
    hi += 0.5;
    if (f32_arithmetic) {
      lo = static_cast<float>(lo);
      hi = static_cast<float>(hi);
    }
  }
  if (f32_arithmetic) {
    step = (static_cast<float>(hi) - static_cast<float>(lo)) / static_cast<float>(n);
  } else {
    step = (hi - lo) / static_cast<double>(n);
  }
  // Steps of several units in the last place can't fail to increase; only narrower ones are looked at one by one.
  const double magnitude = std::max(std::abs(lo), std::abs(hi));
  // Subnormal numbers are as far apart as the smallest of them.
  const double unit = f32_edges ? std::max(magnitude * 0x1p-23, 0x1p-149) : std::max(magnitude * 0x1p-52, 0x1p-1074);
  bool increasing = std::isfinite(step) && (!f32_edges || std::isfinite(static_cast<float>(magnitude)));
  if (increasing && !(step > 8 * unit)) {
    for (std::uint64_t i = 0; i < n && increasing; ++i) increasing = edge(i) < edge(i + 1);
  }
  // A step that is itself subnormal has few digits: the bins may run past the end.
  increasing = increasing && edge(n - 1) < edge(n);
  if (!increasing) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("histogram: too many bins for the range: {} bins of {}:{} as {} have no width", n, lo, hi,
                            f32_edges ? "f32" : "f64"));
  }
}

double BinRule::edge(std::uint64_t i) const noexcept {
  if (kind == Bins::Kind::edges) return (*edges)[i];
  if (kind == Bins::Kind::integers) return static_cast<double>(i);
  if (i == n) return f32_edges ? static_cast<double>(static_cast<float>(hi)) : hi;
  if (f32_arithmetic) return even_edge_f32(*this, i);
  const double e = even_edge_f64(*this, i);
  return f32_edges ? static_cast<double>(static_cast<float>(e)) : e;
}

std::uint64_t BinRule::slot(double x) const noexcept {
  if (std::isnan(x)) return n + slot_nan;
  if (x < edge(0)) return n + slot_below;
  const double end = edge(n);
  if (x > end || (half_open && x == end)) return n + slot_above;
  std::uint64_t first = 0;  // edge(first) <= x always holds
  std::uint64_t length = n;
  while (length > 1) {
    const std::uint64_t half = length / 2;
    if (x >= edge(first + half)) first += half;
    length -= half;
  }
  return first;
}

bool BinRule::same_edges(const BinRule& other) const noexcept {
  if (n != other.n || half_open != other.half_open) return false;
  if (kind == Bins::Kind::even && other.kind == Bins::Kind::even && lo == other.lo && hi == other.hi &&
      f32_edges == other.f32_edges && f32_arithmetic == other.f32_arithmetic) {
    return true;
  }
  if (kind == Bins::Kind::integers && other.kind == kind) return true;
  for (std::uint64_t i = 0; i <= n; ++i) {
    if (edge(i) != other.edge(i)) return false;
  }
  return true;
}

namespace {

// The least T whose f64 value is >= bound (or > bound); false when there is none.
template <class T>
bool least_reaching(double bound, bool strictly, T& result) {
  using Limits = std::numeric_limits<T>;
  const auto reaches = [&](T v) {
    const auto x = static_cast<double>(v);
    return strictly ? x > bound : x >= bound;
  };
  if constexpr (std::is_floating_point_v<T>) {
    if (!reaches(Limits::infinity())) return false;
    auto v = static_cast<T>(bound);
    while (!reaches(v)) v = std::nextafter(v, Limits::infinity());
    for (T before = std::nextafter(v, -Limits::infinity()); before != v && reaches(before);
         before = std::nextafter(v, -Limits::infinity())) {
      v = before;
    }
    result = v;
    return true;
  } else {
    if (!reaches(Limits::max())) return false;
    T first = Limits::min();
    if (reaches(first)) {
      result = first;
      return true;
    }
    T end = Limits::max();  // reaches(end), not reaches(first): the answer lies in (first, end]
    if (std::abs(bound) < 0x1p52) {
      // Two values around the bound decide: the search below then has one step or two left.
      const double near = std::floor(bound);
      const auto clamped = [](double x) {
        if (x <= static_cast<double>(Limits::min())) return Limits::min();
        return x >= static_cast<double>(Limits::max()) ? Limits::max() : static_cast<T>(x);
      };
      const T a = clamped(near - 1);
      const T b = clamped(near + 2);
      if (!reaches(a)) first = a;
      if (reaches(b)) end = b;
    }
    using U = std::make_unsigned_t<T>;
    while (static_cast<U>(static_cast<U>(end) - static_cast<U>(first)) > 1) {
      const auto middle =
          static_cast<T>(static_cast<U>(first) + static_cast<U>(static_cast<U>(end) - static_cast<U>(first)) / 2U);
      (reaches(middle) ? end : first) = middle;
    }
    result = end;
    return true;
  }
}

}  // namespace

template <class T>
BinLimits<T>::BinLimits(const BinRule& rule) {
  using Limits = std::numeric_limits<T>;
  if (rule.kind == Bins::Kind::integers) {
    const auto most = static_cast<std::uint64_t>(Limits::max());
    last = static_cast<T>(std::min(most, rule.n - 1));
    return;
  }
  all_below = !least_reaching<T>(rule.edge(0), false, first);
  // The last value before the first one past the end.
  T past{};
  if (!least_reaching<T>(rule.edge(rule.n), !rule.half_open, past)) {
    last = Limits::has_infinity ? Limits::infinity() : Limits::max();
  } else if (past == Limits::lowest() && !Limits::has_infinity) {
    all_above = true;
  } else if constexpr (std::is_floating_point_v<T>) {
    all_above = past == -Limits::infinity();
    last = std::nextafter(past, -Limits::infinity());
  } else {
    last = static_cast<T>(past - 1);
  }
}

template <class T>
Thresholds<T>::Thresholds(const BinRule& rule) : BinLimits<T>(rule) {
  if (rule.kind == Bins::Kind::integers) {
    reachable = static_cast<std::uint64_t>(this->last) + 1;
    return;
  }
  lower.reserve(rule.n);
  for (std::uint64_t i = 0; i < rule.n; ++i) {
    T value{};
    if (!least_reaching<T>(rule.edge(i), false, value)) break;
    lower.push_back(value);
  }
  reachable = lower.size();
}

#define MASU_INSTANTIATE(T)      \
  template struct BinLimits<T>; \
  template struct Thresholds<T>;
MASU_INSTANTIATE(std::uint8_t)
MASU_INSTANTIATE(std::int8_t)
MASU_INSTANTIATE(std::uint16_t)
MASU_INSTANTIATE(std::int16_t)
MASU_INSTANTIATE(std::uint32_t)
MASU_INSTANTIATE(std::int32_t)
MASU_INSTANTIATE(std::uint64_t)
MASU_INSTANTIATE(std::int64_t)
MASU_INSTANTIATE(float)
MASU_INSTANTIATE(double)
#undef MASU_INSTANTIATE

}  // namespace masu
