// SPDX-License-Identifier: Apache-2.0
#include "histogram/bins/bin_rule.h"

#include "call/operands.h"
#include "elements/each_type.h"
#include "elements/stored_float.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace masu {

namespace {

double even_edge_f64(const BinRule& rule, std::uint64_t i) {
  const auto position = static_cast<double>(i);
  if (rule.step == 0) return position / static_cast<double>(rule.n) * (rule.hi - rule.lo) + rule.lo;
  const double product = position * rule.step;
  return product + rule.lo;
}

}  // namespace

// NumPy computes its stored floats in f32; their sums and products are exact in f32 or round alike, quotients are
// rounded twice.
double quotient_in(Dtype dtype, double x, double y) noexcept {
  dtype = arithmetic_dtype(dtype);
  if (!is_float(dtype) || dtype == Dtype::f64) return x / y;
  return rounded_to(dtype, static_cast<double>(static_cast<float>(x) / static_cast<float>(y)));
}

BinRule::BinRule(const Bins& given, Dtype type, bool right_open, bool joint, Outside outside)
    : bins(given),
      kind(bins.kind()),
      dtype(type),
      n(bins.size()),
      half_open(right_open || kind == Bins::Kind::integers),
      clamps(outside == Outside::clamp),
      own_dtype(arithmetic_dtype(type)) {
  if (bins.needs_data()) {
    call::refuse("histogram", "bins that depend on the data must be made definite here; BinEstimator does that");
  }
  if (kind == Bins::Kind::integers && is_float(dtype)) {
    call::refuse("histogram", fmt::format("integers(n) takes integer data, got {}", to_string(dtype)));
  }
  if (kind == Bins::Kind::even) {
    resolve_even(joint);
  } else if (kind == Bins::Kind::edges) {
    edges = bins.edges_;
  } else {
    hi = static_cast<double>(n);
    step = 1;
  }
}

void BinRule::resolve_even(bool joint) {
  const bool from_data = bins.origin_ == Bins::Origin::data;
  own_edges = is_float(dtype) && dtype != Dtype::f64 && (from_data || !joint);
  own_arithmetic = own_edges && from_data;
  stored_guess = is_stored_float(own_dtype) && !joint;
  lo = bins.lo_;
  hi = bins.hi_;
  if (from_data ? bins.single_ : lo == hi) {
    lo -= 0.5;
    hi += 0.5;
    if (own_arithmetic) {
      lo = own(lo);
      hi = own(hi);
    }
  }
  // NumPy fails where the range overflows the data's type; its f64 arithmetic for given ranges takes over.
  if (own_arithmetic && !std::isfinite(own(hi - lo))) own_arithmetic = false;
  if (own_arithmetic && own_dtype == Dtype::f32) {  // a range that was found elsewhere may have more digits
    lo = own(lo);
    hi = own(hi);
  }
  if (!std::isfinite(hi - lo)) {
    call::refuse("histogram",
                 fmt::format("the range must be no wider than f64 can tell, got {}:{}; give edges", lo, hi));
  }
  step = own_arithmetic ? quotient_in(dtype, own(hi - lo), own(static_cast<double>(n)))
                        : (hi - lo) / static_cast<double>(n);
  check_width();
}

void BinRule::check_width() const {
  // Steps of several units in the last place can't fail to increase; only narrower ones are looked at one by one.
  const double magnitude = std::max(std::abs(lo), std::abs(hi));
  const bool is_f32 = own_edges && own_dtype == Dtype::f32;
  const bool is_stored = own_edges && !is_f32;
  // Subnormal numbers are as far apart as the smallest of them.
  const double unit = is_f32 ? std::max(magnitude * 0x1p-23, 0x1p-149) : std::max(magnitude * 0x1p-52, 0x1p-1074);
  bool increasing = std::isfinite(step);
  if (own_edges) increasing = increasing && std::isfinite(edge(0)) && std::isfinite(edge(n));
  if (is_stored) increasing = increasing && n < (1U << 16);  // the dtype has no more values than that
  if (increasing && (is_stored || !(step > 8 * unit))) {
    for (std::uint64_t i = 0; i < n && increasing; ++i) increasing = edge(i) < edge(i + 1);
  }
  // A step that is itself subnormal has few digits: the bins may run past the end.
  increasing = increasing && edge(n - 1) < edge(n);
  if (!increasing) {
    call::refuse(
        "histogram",
        fmt::format("too many bins for the range: {} bins of {}:{} as {} have no width; give fewer bins, a wider "
                    "range or edges",
                    n, lo, hi, to_string(own_edges ? own_dtype : Dtype::f64)));
  }
}

void BinRule::write(call::StateWriter& to) const {
  to.block(bins.bytes());
  to.number(half_open ? 1 : 0, 1);
}

std::shared_ptr<const BinRule> BinRule::read(call::StateReader& from, Dtype dtype, bool joint) {
  const Bins bins = Bins::from_bytes(from.block());
  const bool right_open = from.flag();
  from.require(bins.size() <= from.left() / sizeof(std::uint64_t));  // a count for each, at least
  return std::make_shared<const BinRule>(bins, dtype, right_open, joint);
}

std::string BinRule::text(const BinRule& other) const {
  std::string inner;
  for (std::uint64_t i = 1; i < n && n == other.n && inner.empty(); ++i) {
    if (edge(i) != other.edge(i)) inner = fmt::format(", edge {} {}", i, edge(i));
  }
  return fmt::format("{} bins of {} from {} to {}{}{}", n, to_string(dtype), edge(0), edge(n), inner,
                     half_open ? ", right-open" : "");
}
bool same_edges(BinRules a, BinRules b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x->same_edges(*y); });
}

std::string texts_of(BinRules rules, BinRules others) {
  std::string result;
  for (std::size_t d = 0; d < rules.size(); ++d) {
    result += (d == 0 ? "" : " x ") + rules[d]->text(*(d < others.size() ? others : rules)[d]);
  }
  return result;
}

double BinRule::own(double x) const noexcept {
  return own_dtype == Dtype::f32 ? static_cast<double>(static_cast<float>(x)) : rounded_to(own_dtype, x);
}

double BinRule::edge(std::uint64_t i) const noexcept {
  if (kind == Bins::Kind::edges) return (*edges)[i];
  if (kind == Bins::Kind::integers) return static_cast<double>(i);
  if (i == n) return own_edges ? own(hi) : hi;
  if (!own_arithmetic) {
    const double e = even_edge_f64(*this, i);
    return own_edges ? own(e) : e;
  }
  const double position = own(static_cast<double>(i));
  const double product =
      own(step == 0 ? quotient_in(dtype, position, own(static_cast<double>(n))) * own(hi - lo) : position * step);
  return own(product + lo);
}

std::vector<double> BinRule::all_edges() const {
  std::vector<double> result(n + 1);
  for (std::uint64_t i = 0; i <= n; ++i) result[i] = edge(i);
  return result;
}

BinRule::Halves BinRule::halves() const noexcept {
  if (!stored_guess) return {};
  return {rounded_to(dtype, lo), rounded_to(dtype, hi - lo), rounded_to(dtype, static_cast<double>(n))};
}

std::uint64_t BinRule::slot(double x) const noexcept {
  // Edge i of these is i.
  if (kind == Bins::Kind::integers && x >= 0 && x < static_cast<double>(n)) return static_cast<std::uint64_t>(x);
  if (kind == Bins::Kind::edges) {
    return slot_by(x, halves(), [given = edges->data()](std::uint64_t i) { return given[i]; });
  }
  return slot_by(x, halves(), [this](std::uint64_t i) { return edge(i); });
}

template <class At>
std::uint64_t BinRule::slot_by(double x, const Halves& halves, const At& at) const noexcept {
  if (std::isnan(x)) return n + slot_nan;
  if (x < at(0)) return below();
  const double end = at(n);
  if (x > end || (half_open && x == end)) return above();
  return stored_guess ? guess(x, halves, at) : search(x, at);
}

template <class At>
std::uint64_t BinRule::search(double x, const At& at) const noexcept {
  if (kind == Bins::Kind::even) {
    const auto bins = static_cast<double>(n);
    const double position = (x - lo) / (hi - lo) * bins;
    const auto near = position > 0 && position < bins ? static_cast<std::uint64_t>(position) : 0;
    if (x >= at(near) && (near + 1 == n || x < at(near + 1))) return near;
  }
  std::uint64_t first = 0;  // at(first) <= x always holds
  std::uint64_t length = n;
  while (length > 1) {
    const std::uint64_t half = length / 2;
    if (x >= at(first + half)) first += half;
    length -= half;
  }
  return first;
}

// numpy.histogram's arithmetic: in the dtype throughout when the range came from the data; the numbers of a given range
// are f64, and the quotient with them. Where NumPy's guess is no bin at all (it raises an error then), the edges
// decide.
template <class At>
std::uint64_t BinRule::guess(double x, const Halves& halves, const At& at) const noexcept {
  const auto bins = static_cast<double>(n);
  const double offset = rounded_to(dtype, x - halves.lo);
  const double position = own_arithmetic ? rounded_to(dtype, quotient_in(dtype, offset, halves.width) * halves.bins)
                                         : offset / (hi - lo) * bins;
  if (!(position < bins + 1)) return search(x, at);
  auto bin = static_cast<std::uint64_t>(position);
  if (bin == n) --bin;
  if (x < at(bin)) --bin;
  if (x >= at(bin + 1) && bin != n - 1) ++bin;
  return bin;
}

bool BinRule::same_edges(const BinRule& other) const noexcept {
  if (n != other.n || half_open != other.half_open) return false;
  if (kind == Bins::Kind::even && other.kind == Bins::Kind::even && lo == other.lo && hi == other.hi &&
      own_edges == other.own_edges && own_arithmetic == other.own_arithmetic &&
      (!own_edges || own_dtype == other.own_dtype)) {
    return true;
  }
  if (kind == Bins::Kind::integers && other.kind == kind) return true;
  for (std::uint64_t i = 0; i <= n; ++i) {
    if (edge(i) != other.edge(i)) return false;
  }
  return true;
}

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
    // Rounded to nearest it is the bound, or the value below or above it.
    if (!reaches(v)) v = std::nextafter(v, Limits::infinity());
    const T before = std::nextafter(v, -Limits::infinity());
    result = reaches(before) ? before : v;
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

#define MASU_INSTANTIATE(name, T)                 \
  template bool least_reaching(double, bool, T&); \
  template struct BinLimits<T>;                   \
  template struct Thresholds<T>;
MASU_EACH_INTEGER(MASU_INSTANTIATE)
MASU_EACH_WIDE_FLOAT(MASU_INSTANTIATE)
#undef MASU_INSTANTIATE

namespace {

constexpr unsigned patterns = 1U << 16;
constexpr unsigned sign_bit = 0x8000;

// The bit pattern of the value of a rank: -infinity has rank 0, both zeros have one.
constexpr std::uint16_t pattern_of(unsigned rank, unsigned infinity) noexcept {
  return static_cast<std::uint16_t>(rank < infinity ? sign_bit | (infinity - rank) : rank - infinity);
}

}  // namespace

std::uint64_t slots_of(const BinRule& rule) noexcept {
  return size_of(rule.dtype) == 1 ? std::uint64_t{256} : rule.n + extra_slots;
}

bool counts_by_value(const BinRule& rule, std::uint64_t counted) noexcept {
  return counted != rule.n + extra_slots || size_of(rule.dtype) == 1;
}

std::vector<std::uint32_t> slots_by_value(const BinRule& rule, std::uint64_t counted) {
  if (!counts_by_value(rule, counted)) return {};
  if (is_stored_float(rule.dtype)) return rule.half_slots();
  std::vector<std::uint32_t> slot_of(counted);  // bytes, and u16 in as many bins as it has values
  for (std::size_t bits = 0; bits < counted; ++bits) {
    const auto value = rule.dtype == Dtype::i8 ? static_cast<std::int8_t>(bits) : static_cast<std::int64_t>(bits);
    slot_of[bits] = static_cast<std::uint32_t>(rule.slot(static_cast<double>(value)));
  }
  return slot_of;
}

std::vector<std::uint32_t> BinRule::half_slots() const {
  std::vector<std::uint32_t> slots(patterns);
  const Halves of_range = halves();
  const auto fill = [&](const auto& at) {
    for (unsigned bits = 0; bits < patterns; ++bits) {
      const double x = stored_value(dtype, static_cast<std::uint16_t>(bits));
      slots[bits] = static_cast<std::uint32_t>(slot_by(x, of_range, at));
    }
  };
  if (n >= patterns) {
    fill([this](std::uint64_t i) { return edge(i); });
    return slots;
  }
  // Edges in the arithmetic of stored floats take longer to compute than to keep.
  const std::vector<double> kept = all_edges();
  fill([&](std::uint64_t i) { return kept[i]; });
  return slots;
}

std::optional<Thresholds<float>> half_thresholds(const BinRule& rule) {
  BinRule dropping = rule;  // tells what lies outside of the bins
  dropping.clamps = false;
  const std::vector<std::uint32_t> slots = dropping.half_slots();
  Thresholds<float> result;
  bool reached = false;  // the first edge
  bool inside = false;   // a bin
  bool past = false;     // the last edge
  const auto infinity = static_cast<unsigned>(bits_rounded_to(rule.dtype, std::numeric_limits<double>::infinity()));
  for (unsigned rank = 0; rank <= 2 * infinity; ++rank) {
    const std::uint16_t bits = pattern_of(rank, infinity);
    const auto value = static_cast<float>(stored_value(rule.dtype, bits));
    const std::uint64_t slot = slots[bits];
    if (slot == rule.n + slot_below) {
      if (reached) return std::nullopt;
      continue;
    }
    if (!reached) result.first = value;
    reached = true;
    if (slot == rule.n + slot_above) {
      result.lower.resize(rule.n, value);
      past = true;
      continue;
    }
    if (past || result.lower.size() > slot + 1) return std::nullopt;
    result.lower.resize(slot + 1, value);
    result.last = value;
    inside = true;
  }
  result.all_below = !reached;
  result.reachable = result.lower.size();
  if (reached && !inside) {  // what lies before the first edge is below, all else above
    constexpr float infinity = std::numeric_limits<float>::infinity();
    result.all_above = result.first == -infinity;
    result.last = std::nextafter(result.first, -infinity);
  }
  return result;
}

}  // namespace masu
