// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/histogram_plan.h"

#include "elements/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace masu {

namespace {

// Comparisons decide where positions are off by less than this many bins, one of them where it is less than the first.
constexpr double most_error_of_one = 0.2;
constexpr double most_compared_error = 1.5;
// Up to so many bins the host tries whether positions alone are right.
constexpr std::uint64_t most_proved_bins = 1U << 17;
// The layout of a guide, as histogram_slots.cl has it.
constexpr unsigned place_bits = 9;
constexpr std::uint32_t places = 1U << place_bits;
constexpr unsigned guide_slot_at = 10;
constexpr unsigned guide_slot_bits = 21;
constexpr std::uint32_t guide_search = 0x80000000U;
constexpr std::uint32_t guide_fine = 0xc0000000U;
constexpr std::uint32_t fine_parts = 16;
constexpr std::uint64_t most_guide_words = std::uint64_t{1} << 20U;  // that entries with parts can name
// So many places are the low bits of a float.
constexpr std::uint64_t most_places_by_sum = std::uint64_t{1} << 23U;

// The order of the bits, as ordered_bits in histogram_slots.cl.
std::uint32_t ordered_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x == 0 ? 0.0F : x);
  return (bits >> 31U) != 0 ? ~bits : bits | 0x80000000U;
}
std::uint32_t ordered_bits(double x) {
  const auto bits = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x == 0 ? 0.0 : x) >> 32U);
  return (bits >> 31U) != 0 ? ~bits : bits | 0x80000000U;
}

// x - base without overflow, as MASU_DISTANCE has it.
template <class Position, class T>
auto distance(T x, T base) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<Position>(x) - static_cast<Position>(base);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(base);
  } else {
    return static_cast<std::uint32_t>(x) - static_cast<std::uint32_t>(base);
  }
}

// How many thresholds are not alone in their cell.
template <class T, class Place>
std::uint64_t crowded(std::span<const T> lower, const Place& place) {
  std::uint64_t found = 0;
  for (std::size_t i = 1; i < lower.size(); ++i) {
    found += place(lower[i]) >> place_bits == place(lower[i - 1]) >> place_bits ? 1 : 0;
  }
  return found;
}

// The value before one that is not the least.
template <class T>
T value_before(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::nextafter(x, -std::numeric_limits<T>::infinity());
  else return static_cast<T>(x - 1);
}
// The value before x, which is finite, of a stored float, and not the least.
float stored_before(Dtype dtype, float x) {
  return dispatch(dtype, [&]<class T>(TypeTag<T>) {
    return static_cast<float>(to_f64(value_of_key<T>(ordered_key(rounded_to<T>(static_cast<double>(x))) - 1U)));
  });
}

// Moves thresholds from a value of a stored float to the middle between it and the one before: then no value ever
// equals one, and places in a guide tell nearly all of them apart. The first stays: it is where the bins begin.
void move_between_values(Dtype dtype, std::span<float> lower) {
  const FloatFormat format = float_format(dtype);
  const int least = format.least + format.precision - 1;  // the exponent of the least normal number
  for (std::size_t i = 1; i < lower.size(); ++i) {
    if (lower[i] == lower.front() || !std::isfinite(lower[i])) continue;
    const int exponent = lower[i] == 0 ? least : std::max(least, std::ilogb(lower[i]));
    const float step = std::ldexp(1.0F, exponent - format.precision + 1);
    // Above a power of two the step down is half as long; a quarter of the longer one is safe for both.
    lower[i] -= step / 4;
  }
}

}  // namespace

double position_error(const BinRule& rule, bool in_double) noexcept {
  constexpr double none = std::numeric_limits<double>::infinity();
  if (rule.kind != Bins::Kind::even || rule.step == 0) return none;
  const double unit = in_double ? 0x1p-53 : 0x1p-24;
  const auto n = static_cast<double>(rule.n);
  const double range = rule.hi - rule.lo;
  const double scale = n / range;
  const double largest = in_double ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  const double smallest = in_double ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  if (!(range < largest / 2) || !(scale < largest) || !(scale > smallest) || rule.step < smallest) return none;
  const double magnitude = std::max(std::abs(rule.lo), std::abs(rule.hi));
  // Values, or their products, are rounded in the position's type, edges to f32 or f64.
  const double value_unit = unit;
  const double edge_unit = rule.own_edges ? 0x1p-24 : 0x1p-53;
  const double step_unit = rule.own_arithmetic ? 0x1p-24 : 0x1p-53;
  const double subnormal = rule.own_edges ? 0x1p-149 : 0x1p-1074;
  const double moved = std::max((4 * value_unit + 2 * edge_unit) * magnitude, subnormal);
  return (8 * unit + 5 * step_unit) * n + moved * scale;
}

SlotRule::SlotRule(const BinRule& rule, const DeviceInfo& device, bool joint, bool wide)
    : element(rule.dtype),
      value(is_stored_float(rule.dtype) ? Dtype::f32 : rule.dtype),
      slots(rule.n + extra_slots),
      bins(static_cast<std::uint32_t>(rule.n)),
      clamps(rule.clamps),
      wide_(wide) {
  position_double = wide;
  if (element == Dtype::f64 && !device.fp64) {
    throw Error(ErrorCode::unsupported,
                fmt::format("histogram: {} ({}) has no fp64, got f64 data", device.id, device.name));
  }
  if (size_of(element) == 1 && !joint) {
    slots = histogram_plan::byte_slots;
    value = Dtype::u8;
    return;
  }
  if (is_stored_float(element)) {
    std::optional<Thresholds<float>> found = half_thresholds(rule);
    if (found && (lies_nowhere(*found) || set_even_halves(rule, *found))) return;
    if (found) {
      move_between_values(element, found->lower);
      set_edges(*found);
    } else if (joint) {
      throw Error(ErrorCode::unsupported, fmt::format("joint_histogram: {} bins of {} data are in no order on {}",
                                                      rule.n, to_string(element), device.id));
    } else {
      slots = histogram_plan::half_slots;
      value = Dtype::u16;
    }
    return;
  }
  dispatch(element, [&]<class T>(TypeTag<T>) {
    if constexpr (!is_stored<T>) set<T>(rule, device);
  });
}

template <class T>
bool SlotRule::lies_nowhere(const BinLimits<T>& limits) {
  if (!limits.all_below && !limits.all_above) return false;
  kind = Kind::nowhere;
  cells = limits.all_above ? 1 : 0;
  first_ = last_ = base_ = KernelArgument(T{});
  return true;
}

template <class T>
void SlotRule::set(const BinRule& rule, const DeviceInfo& device) {
  const BinLimits<T> limits(rule);
  if (lies_nowhere(limits)) return;
  first_ = KernelArgument(limits.first);
  last_ = KernelArgument(limits.last);
  base_ = first_;
  if (rule.kind == Bins::Kind::integers) {
    kind = Kind::integers;
    if (std::is_same_v<T, std::uint16_t> && rule.n >= histogram_plan::half_slots) {  // every value is a bin
      kind = Kind::bits;
      slots = histogram_plan::half_slots;
    }
    return;
  }
  if (rule.kind == Bins::Kind::even) set_even<T>(rule, device);
  if (kind == Kind::bits) {  // no way was found yet
    position_double = wide_ || std::is_same_v<T, double>;
    set_edges(Thresholds<T>(rule));
  }
}

// Whether the whole part of a position is the bin, for both values around each edge; finds the shift that makes it so.
// `number`: what of a value is multiplied.
template <class Position, class T, class Before, class Number>
bool SlotRule::prove(const BinRule& rule, const BinLimits<T>& limits, std::span<const T> lower, const Before& before,
                     const Number& number) {
  const auto scale = static_cast<Position>(static_cast<double>(rule.n) / (rule.hi - rule.lo));
  const auto start = static_cast<Position>(-rule.lo * static_cast<double>(scale));
  if (lower.empty() || !std::isnormal(scale) || !std::isfinite(start)) return false;
  const auto position = [&](T x, Position shift) { return std::fma(static_cast<Position>(number(x)), scale, shift); };
  // The whole number nearest to a position, as HISTOGRAM_NEAREST finds it.
  constexpr auto whole = static_cast<Position>(std::is_same_v<Position, double> ? 0x1.8p52 : 0x1.8p23);
  const auto nearest = [&](T x, Position shift) {
    const Position sum = position(x, shift) + whole;
    return sum - whole;
  };
  // The shift must bring each bin's least value to its number, and the value before to less.
  auto least = -std::numeric_limits<double>::infinity();
  auto most = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (i > 0 && !(lower[i] > lower[i - 1])) return false;  // a bin that no value reaches
    const auto at = static_cast<double>(i);
    least = std::max(least, at - static_cast<double>(position(lower[i], start)));
    if (i > 0) most = std::min(most, at - static_cast<double>(position(before(lower[i]), start)));
  }
  if (!(least < most)) return false;
  const double middle = std::isinf(most) ? least : least + (most - least) / 2;
  const auto shift = static_cast<Position>(static_cast<double>(start) + middle - 0.5);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const auto at = static_cast<Position>(i);
    if (!(nearest(lower[i], shift) >= at) || (i > 0 && !(nearest(before(lower[i]), shift) < at))) return false;
  }
  // Where the last bins are out of reach, so must their numbers be.
  const auto end = static_cast<Position>(lower.size());
  last_proved = nearest(limits.last, shift) < end;
  if (lower.size() < rule.n && !last_proved) return false;
  using Limits = std::numeric_limits<T>;
  all_inside = sizeof(T) <= 2 && limits.first == Limits::lowest() && limits.last == Limits::max() && last_proved;
  kind = Kind::even_proved;
  position_double = std::is_same_v<Position, double>;
  scale_ = static_cast<double>(scale);
  shift_ = static_cast<double>(shift);
  return true;
}

// Edges of stored floats are rounded to the nearest value of the dtype, so that an edge before rounding lies less than
// half a step above its value, or below it: a line through the edges parts the values that are moved up by half of
// their step.
bool SlotRule::set_even_halves(const BinRule& rule, const Thresholds<float>& found) {
  if (rule.kind != Bins::Kind::even || rule.n > most_proved_bins || rule.step == 0 || !(rule.lo >= 0)) return false;
  const std::span<const float> lower(found.lower);
  const BinLimits<float>& limits = found;
  // Sets the bit of an f32 number after the last one that the dtype has, as histogram_slots.cl does.
  const std::uint32_t half_of_step = 1U << (23 - float_format(rule.dtype).precision);
  const auto moved = [&](float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) | half_of_step); };
  const auto before = [&](float x) { return stored_before(rule.dtype, x); };
  const bool proved =
      wide_ ? prove<double>(rule, limits, lower, before, moved) : prove<float>(rule, limits, lower, before, moved);
  if (!proved) return false;
  kind = Kind::even_halves;
  first_ = KernelArgument(limits.first);
  last_ = KernelArgument(limits.last);
  base_ = first_;
  return true;
}

// Leaves the kind as it is where positions are of no use.
template <class T>
void SlotRule::set_even(const BinRule& rule, const DeviceInfo& device) {
  if (rule.n <= most_proved_bins && rule.step != 0) {
    const Thresholds<T> found(rule);
    const std::span<const T> lower(found.lower);
    const BinLimits<T>& limits = found;
    const auto itself = [](T x) { return x; };
    if constexpr (!std::is_same_v<T, double>) {
      if (!wide_ && prove<float>(rule, limits, lower, value_before<T>, itself)) return;
    }
    if (device.fp64 && prove<double>(rule, limits, lower, value_before<T>, itself)) return;
  }
  if (!device.fp64 && !rule.own_arithmetic) return;
  position_double = wide_ || std::is_same_v<T, double>;
  error_ = position_error(rule, position_double);
  if (!position_double && device.fp64 && error_ > most_error_of_one) {
    const double better = position_error(rule, true);
    if (better < error_) {
      error_ = better;
      position_double = true;
    }
  }
  constexpr std::uint64_t most_nearest = std::uint64_t{1} << 22;  // of positions in f32, as HISTOGRAM_NEAREST finds it
  if (!(error_ < most_compared_error) || (!position_double && rule.n >= most_nearest)) return;
  kind = rule.own_arithmetic ? Kind::even_f32 : rule.own_edges ? Kind::even_rounded : Kind::even_f64;
  scale_ = static_cast<double>(rule.n) / (rule.hi - rule.lo);
  // Nearest to the bin or one before it: it is above position - error - 1, and at most position + error.
  shift_ = -rule.lo * scale_ - (error_ + 0.55);
  comparisons = static_cast<unsigned>(2 * error_ + 1.1);
  lo_ = rule.lo;
  step_ = rule.step;
}

template <class T>
void SlotRule::set_edges(const Thresholds<T>& found) {
  kind = Kind::edges;
  first_ = KernelArgument(found.first);
  last_ = KernelArgument(found.last);
  base_ = first_;
  std::memcpy(end_.data(), &found.last, sizeof(T));
  reachable = static_cast<std::uint32_t>(found.reachable);
  thresholds.resize(found.lower.size() * sizeof(T));
  if (!found.lower.empty()) std::memcpy(thresholds.data(), found.lower.data(), thresholds.size());
  make_guide(1, 0);
}

namespace {

// One entry: the thresholds from number `first` to before `end` lie in it, places[i] of threshold i and of the value
// before from its beginning on, `step` of them one of the sum's.
struct Places {
  std::uint32_t at;
  std::uint32_t before;
};
std::uint32_t guide_entry(std::uint32_t first, std::span<const Places> inside, std::uint32_t begin,
                          std::uint32_t step) {
  // The first threshold of all is passed by every value that lies in a bin.
  if (first == 0 && !inside.empty()) return guide_entry(1, inside.subspan(1), begin, step);
  const std::uint32_t slot = first - std::min(first, 1U);
  if (inside.size() > 1) return guide_search | slot;
  if (inside.empty()) return slot << guide_slot_at;
  const std::uint32_t last_sum = (1U << guide_slot_at) - (inside[0].before == inside[0].at ? 1 : 0);
  return (slot << guide_slot_at) + last_sum - (inside[0].at - begin) * step;
}

}  // namespace

template <class T, class Place>
void SlotRule::fill_guide(std::span<const T> lower, std::uint64_t most_words, const Place& place) {
  std::vector<Places> all(lower.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = {place(lower[i]), place(lower[i] == lower[0] ? lower[i] : value_before(lower[i]))};
  }
  std::uint32_t upto = 0;  // thresholds in the cells before
  // The entry of the places from `begin` to before `end`, and how many thresholds it has.
  const auto next_entry = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t step) {
    const std::uint32_t first = upto;
    while (upto < all.size() && all[upto].at < end) ++upto;
    return guide_entry(first, std::span(all).subspan(first, upto - first), begin, step);
  };
  guide.assign(std::uint64_t{cells} + 2, 0);
  for (std::uint32_t cell = 0; cell <= cells; ++cell) {
    const std::uint32_t first = upto;
    const std::uint32_t begin = cell * places;
    guide[cell] = next_entry(begin, begin + places, 1);
    if (guide[cell] < guide_search || guide.size() + fine_parts + 1 > std::min(most_words, most_guide_words)) continue;
    upto = first;
    guide[cell] = guide_fine | static_cast<std::uint32_t>(guide.size()) << guide_slot_at;
    constexpr std::uint32_t part = places / fine_parts;
    for (std::uint32_t i = 0; i < fine_parts; ++i) {
      guide.push_back(next_entry(begin + i * part, begin + (i + 1) * part, fine_parts));
    }
    guide.push_back(guide_entry(upto, {}, 0, 1));
  }
  guide[cells + 1] = guide_entry(upto, {}, 0, 1);
}

template <class T, class Position>
void SlotRule::make_guide_of(std::uint32_t most_cells, std::uint64_t most_words) {
  const std::span lower(reinterpret_cast<const T*>(thresholds.data()), reachable);
  guide_bits = false;
  scale_ = 0;
  const auto one_cell = [&] {
    cells = 0;
    guide.assign({guide_search, reachable == 0 ? 0 : reachable - 1});
  };
  // More thresholds than an entry can number are searched from the whole.
  if (reachable >= 1U << guide_slot_bits || most_cells <= 1 || reachable < 2) return one_cell();
  cells = most_cells - 1;
  const T base = lower.front();
  const auto length = static_cast<double>(static_cast<Position>(distance<Position>(lower.back(), base)));
  const std::uint32_t last_place = most_cells * places - 1;
  const bool in_double = std::is_same_v<Position, double>;
  // All of the bins, where the last one is not much of them.
  T end;
  std::memcpy(&end, end_.data(), sizeof(end));
  const auto whole_length = static_cast<double>(static_cast<Position>(distance<Position>(end, base)));
  by_sum_ = (in_double || last_place < most_places_by_sum) && whole_length < 1.5 * length;
  const auto scale = static_cast<Position>((static_cast<double>(last_place) - 1) / (by_sum_ ? whole_length : length));
  constexpr auto whole = static_cast<Position>(std::is_same_v<Position, double> ? 0x1p52 : 0x1p23);
  auto most = static_cast<Position>(last_place);
  if (!in_double && static_cast<std::uint64_t>(most) > last_place) most = std::nextafter(most, Position{0});
  error_ = static_cast<double>(most);
  const auto linear = [&](T x) {
    const auto from = static_cast<Position>(distance<Position>(x, base));
    if (by_sum_) return static_cast<std::uint32_t>(std::fma(from, scale, whole) - whole);
    return static_cast<std::uint32_t>(std::min(from * scale, most));
  };
  const bool linear_works = std::isfinite(length) && length > 0 && std::isnormal(scale) &&
                            std::isfinite(static_cast<double>(base)) &&
                            std::isfinite(static_cast<double>(lower.back()));
  if constexpr (std::is_floating_point_v<T>) {
    const std::uint32_t first = ordered_bits(base);
    const std::uint32_t span = ordered_bits(lower.back()) - first;
    const int wanted = std::bit_width(last_place);
    const auto shift = static_cast<std::uint32_t>(std::max(0, static_cast<int>(std::bit_width(span)) - wanted));
    const auto by_bits = [&](T x) { return std::min((ordered_bits(x) - first) >> shift, last_place); };
    if (!linear_works || crowded(lower, by_bits) < crowded(lower, linear)) {
      guide_bits = true;
      scale_ = shift;
      return fill_guide(lower, most_words, by_bits);
    }
  }
  if (!linear_works) return one_cell();
  scale_ = static_cast<double>(scale);
  fill_guide(lower, most_words, linear);
}

void SlotRule::make_guide(std::uint32_t most_cells, std::uint64_t most_words) {
  if (kind != Kind::edges) return;
  dispatch(value, [&]<class T>(TypeTag<T>) {
    if constexpr (!is_stored<T>) {
      if (std::is_same_v<T, double> || position_double) make_guide_of<T, double>(most_cells, most_words);
      else make_guide_of<T, float>(most_cells, most_words);
    }
  });
}

void SlotRule::look_up(const BinRule& rule) {
  if (kind != Kind::bits) return;
  kind = Kind::table;
  guide = slots_by_value(rule, slots);
  slots = rule.n + extra_slots;
}

std::string_view SlotRule::function() const noexcept {
  constexpr std::array<std::string_view, 10> names{"bits",     "table",    "integers",     "even_proved", "even_halves",
                                                   "even_f32", "even_f64", "even_rounded", "edges",       "nowhere"};
  if (kind == Kind::edges && guide_bits) return "edges_by_bits";
  if (kind == Kind::edges && !by_sum_) return "edges_up_to";
  return names[static_cast<std::size_t>(kind)];
}

call::Arguments SlotRule::arguments(const BufferBase& thresholds_buffer, const BufferBase& guide_buffer, bool in_double,
                                    bool edge_double) const {
  const auto position = [&](double x) { return in_double ? KernelArgument(x) : KernelArgument(static_cast<float>(x)); };
  const auto edge = [&](double x) { return edge_double ? KernelArgument(x) : KernelArgument(static_cast<float>(x)); };
  const auto or_zero = [&](const KernelArgument& bits_or_value) {
    if (kind != Kind::bits && kind != Kind::table) return bits_or_value;
    return value == Dtype::u8 ? KernelArgument(std::uint8_t{0}) : KernelArgument(std::uint16_t{0});
  };
  return call::Arguments(KernelArgument(thresholds_buffer), KernelArgument(guide_buffer), cells, bins, or_zero(first_),
                         or_zero(last_), or_zero(base_), position(scale_), position(shift_), position(error_),
                         edge(lo_), edge(step_));
}

}  // namespace masu
