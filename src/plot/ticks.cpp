// SPDX-License-Identifier: Apache-2.0
#include "plot/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace masu::plot {
namespace {

constexpr const char* minus = "\u2212";
constexpr double plain_below = 1e6;    // larger values share a power of ten
constexpr double plain_counts = 1e4;   // larger counts are written with a k
constexpr double named_counts = 1e15;  // larger counts share a power of ten
constexpr int most_digits = 7;         // longer labels are written as what is beyond a common offset

std::string signed_text(std::string text) {
  if (text.starts_with('-')) text.replace(0, 1, minus);
  return text;
}

double power_of_ten(int exponent) {
  return std::pow(10.0, exponent);
}

// value * 10^exponent, rounded once where the power is exact.
double times_power(double value, int exponent) {
  if (exponent >= 0) return value * power_of_ten(exponent);
  if (exponent >= -300) return value / power_of_ten(-exponent);
  return value / 1e300 / power_of_ten(-exponent - 300);
}

int decade(double value) {
  return static_cast<int>(std::floor(std::log10(value) + 1e-9));
}

Label power_label(double mantissa, int exponent) {
  const std::string power = signed_text(fmt::to_string(exponent));
  if (mantissa == 1) return {"10", power};
  return {fmt::format("{}×10", mantissa), power};
}

// 2500 as "2.5k".
std::string count_label(double value) {
  constexpr std::array<std::pair<double, const char*>, 4> units = {{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [unit, name] : units) {
    if (value >= unit) return fmt::format("{:.6g}{}", value / unit, name);
  }
  return fmt::format("{:.6g}", value);
}

struct TickStep {
  int mantissa = 1;  // 1, 2 or 5
  int exponent = 0;
  [[nodiscard]] double value() const { return times_power(mantissa, exponent); }
};

// The smallest step that has at most `most` multiples in a range of this length.
TickStep step_for(double length, unsigned most) {
  const double least = length / most;
  TickStep step{1, least > 0 ? decade(least) : -323};
  for (; step.value() < least * (1 - 1e-9);) {
    if (step.mantissa == 5) ++step.exponent;
    step.mantissa = step.mantissa == 1 ? 2 : step.mantissa == 2 ? 5 : 1;
  }
  return step;
}

struct Written {
  double value;
  double relative;  // what its label says, before the factor
};

void write_linear(Axis& axis, const std::vector<Written>& found, const TickStep& step, Numbers numbers) {
  double most = 0;
  for (const Written& tick : found) most = std::max(most, std::abs(tick.relative));
  const bool counts = numbers == Numbers::counts && step.exponent >= 0;
  if (counts && most >= plain_counts && most < named_counts) {
    for (const Written& tick : found) axis.ticks.push_back({tick.value, {count_label(tick.relative), ""}});
    return;
  }
  int factor = 0;
  if (most >= plain_below) factor = decade(most) / 3 * 3;
  else if (most > 0 && step.exponent < -4) factor = decade(most);
  if (factor != 0) axis.factor = {"×10", signed_text(fmt::to_string(factor))};
  const int decimals = std::clamp(factor - step.exponent, 0, 20);
  for (const Written& tick : found) {
    const double shown = times_power(tick.relative, -factor);
    axis.ticks.push_back({tick.value, {signed_text(fmt::format("{:.{}f}", shown == 0 ? 0 : shown, decimals)), ""}});
  }
}

void name_linear(Axis& axis, unsigned most, Numbers numbers) {
  // Halves: the length itself may be beyond the greatest number.
  const double half = axis.hi / 2 - axis.lo / 2;
  TickStep step = step_for(half < 1e300 ? axis.hi - axis.lo : half, most);
  const bool whole = numbers == Numbers::whole || (numbers == Numbers::counts && axis.hi >= 1 && axis.hi < 10);
  if (whole && step.exponent < 0) step = {1, 0};
  const double width = step.value();
  const double greatest = std::max(std::abs(axis.lo), std::abs(axis.hi));
  double offset = 0;
  if (width > 0 && decade(greatest) - step.exponent + 1 > most_digits && half < 1e300) {
    const double unit = times_power(1, decade(axis.hi - axis.lo) + 1);
    if (unit > 0 && greatest / unit > 10) offset = std::floor(axis.lo / unit) * unit;
  }
  const double slack = half < 1e300 ? half * 2e-9 : 0;
  std::vector<Written> found;
  if (width > 0) {
    const double first = std::ceil((axis.lo - offset - slack) / width);
    for (double i = 0; i <= 2.0 * most + 4; ++i) {
      const double relative = times_power((first + i) * step.mantissa, step.exponent);
      const double value = offset + relative;
      if (!(value <= axis.hi + slack)) break;
      if (found.empty() || value > found.back().value) found.push_back({value, relative});
    }
  }
  // A short range may lie between two multiples.
  if (found.size() < 2 && most < 64) return name_linear(axis, most * 2, numbers);
  if (offset != 0) {
    const bool whole = offset == std::floor(offset) && std::abs(offset) < 1e15;
    axis.offset =
        whole ? grouped(static_cast<std::uint64_t>(std::abs(offset))) : fmt::format("{:.17g}", std::abs(offset));
    axis.offset = (offset < 0 ? std::string(minus) + " " : "+ ") + axis.offset;
  }
  write_linear(axis, found, step, numbers);
}

Label log_label(double mantissa, int exponent, bool plain, Numbers numbers) {
  const double value = times_power(mantissa, exponent);
  if (numbers == Numbers::counts && value >= 1 && plain)
    return {value < plain_counts && exponent < 3 ? fmt::format("{:.0f}", value) : count_label(value), ""};
  if (plain) return {fmt::format("{:.{}f}", value, std::max(0, -exponent)), ""};
  return power_label(mantissa, exponent);
}

void name_logarithmic(Axis& axis, unsigned most, Numbers numbers) {
  const double lo = std::log10(axis.lo);
  const double hi = std::log10(axis.hi);
  const double slack = (hi - lo) * 1e-9;
  const int first = static_cast<int>(std::ceil(lo - slack));
  const int last = static_cast<int>(std::floor(hi + slack));
  const int decades = last - first + 1;
  const bool plain = numbers == Numbers::counts ? first >= 0 && last < 15 : lo >= -3.01 && hi <= 4.01;
  const auto inside = [&](double value) { return value >= axis.lo * (1 - 1e-9) && value <= axis.hi * (1 + 1e-9); };
  // Decades that are far apart stand alone; between few of them 2 and 5, or 2 to 9, are named too.
  static constexpr std::array<std::array<bool, 10>, 3> named = {
      {{0, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {0, 1, 1, 0, 0, 1, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0, 0, 0, 0, 0}}};
  static constexpr std::array<double, 3> most_decades = {0.8, 3.5, 1000};
  for (std::size_t set = 0; set < named.size(); ++set) {
    if (hi - lo > most_decades[set]) continue;
    const auto& digits = named[set];
    std::vector<std::pair<int, int>> found;
    for (int exponent = std::max(first - 1, -323); exponent <= std::min(last, 308) && found.size() <= most; ++exponent)
      for (int digit = 1; digit < 10; ++digit)
        if (digits[static_cast<std::size_t>(digit)] && inside(times_power(digit, exponent)))
          found.emplace_back(digit, exponent);
    if (found.size() < 2 || found.size() > most) continue;
    for (const auto& [digit, exponent] : found)
      axis.ticks.push_back({times_power(digit, exponent), log_label(digit, exponent, plain, numbers)});
    break;
  }
  if (axis.ticks.empty() && decades >= 2) {
    const TickStep step = step_for(decades, std::max(2U, most));
    const int every = std::max(1, static_cast<int>(std::lround(step.value())));
    const int start = static_cast<int>(std::ceil(static_cast<double>(first) / every)) * every;
    for (int exponent = start; exponent <= last; exponent += every)
      axis.ticks.push_back({times_power(1, exponent), log_label(1, exponent, plain, numbers)});
  }
  if (axis.ticks.empty()) return name_linear(axis, most, numbers);  // within a part of a decade
  if (decades > 12) {
    for (int exponent = first; decades <= 60 && exponent <= last; ++exponent)
      axis.minor.push_back(times_power(1, exponent));
    return;
  }
  for (int exponent = std::max(first - 1, -323); exponent <= last; ++exponent)
    for (int digit = 1; digit < 10; ++digit)
      if (const double value = times_power(digit, exponent); inside(value)) axis.minor.push_back(value);
}

}  // namespace

double Axis::at(double value) const noexcept {
  if (logarithmic) return (std::log(value) - std::log(lo)) / (std::log(hi) - std::log(lo));
  const double length = hi - lo;
  if (std::isfinite(length)) return (value - lo) / length;
  return (value / 4 - lo / 4) / (hi / 4 - lo / 4);
}

double Axis::value(double at) const noexcept {
  if (at <= 0 || at >= 1) return at <= 0 ? lo : hi;
  if (logarithmic) return std::clamp(std::exp(std::log(lo) + at * (std::log(hi) - std::log(lo))), lo, hi);
  return std::clamp(lo * (1 - at) + hi * at, lo, hi);
}

void Axis::name(unsigned most, Numbers numbers) {
  ticks.clear();
  minor.clear();
  factor = {};
  offset.clear();
  (logarithmic ? name_logarithmic : name_linear)(*this, std::max(2U, most), numbers);
}

namespace {

// The first i of [first, end) whose edge satisfies `beyond`, which holds for all edges after such a one; else `end`.
template <class Predicate>
std::uint64_t first_edge(const BinAxis& bins, std::uint64_t first, std::uint64_t end, Predicate beyond) {
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    if (beyond(bins.edge(middle))) end = middle;
    else first = middle + 1;
  }
  return first;
}

// Heights of bins, asked for from left to right.
class Heights {
 public:
  Heights(const Series& series, Quantity quantity, std::uint64_t total)
      : series_(series), quantity_(quantity), total_(static_cast<double>(total)) {}

  // The highest of bins [first, end).
  double highest(std::uint64_t first, std::uint64_t end) {
    if (!series_.totals.empty()) {
      double most = 0;  // the farthest from 0
      for (std::uint64_t i = first; i < end; ++i) {
        const double total = series_.totals[i];
        if (std::isfinite(total) && std::abs(total) > std::abs(most)) most = total;
      }
      return most;
    }
    const auto counts = series_.counts;
    if (quantity_ == Quantity::cumulative) {
      for (; summed_ < end; ++summed_) sum_ += counts[summed_];
      return static_cast<double>(sum_);
    }
    if (quantity_ != Quantity::density) {
      std::uint64_t most = 0;
      for (std::uint64_t i = first; i < end; ++i) most = std::max(most, counts[i]);
      const double percent = quantity_ == Quantity::percent && most > 0 ? 100 / total_ : 1;
      return static_cast<double>(most) * percent;
    }
    double most = 0;
    for (std::uint64_t i = first; i < end; ++i) {
      if (counts[i] == 0) continue;
      const double density =
          static_cast<double>(counts[i]) / total_ / (series_.bins.edge(i + 1) - series_.bins.edge(i));
      if (std::isfinite(density)) most = std::max(most, density);
    }
    return most;
  }

 private:
  const Series& series_;
  Quantity quantity_;
  double total_;
  std::uint64_t summed_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace

Placed placed(const BinAxis& bins, bool logarithmic) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Placed place;
  const std::uint64_t edges = bins.size + 1;
  place.first = first_edge(bins, 0, edges, [&](double e) { return logarithmic ? e > 0 : e > -infinity; });
  const std::uint64_t beyond = first_edge(bins, place.first, edges, [](double e) { return !(e < infinity); });
  if (beyond <= place.first + 1) return {};
  place.end = beyond - 1;
  place.lo = bins.edge(place.first);
  place.hi = bins.edge(place.end);
  return place;
}

bool is_logarithmic(const BinAxis& bins) {
  if (bins.scale != Scale::automatic) return bins.scale == Scale::logarithmic;
  const std::uint64_t n = bins.size;
  const double lo = bins.edge(0);
  const double hi = bins.edge(n);
  if (n < 3 || !(lo > 0) || !std::isfinite(hi) || hi / lo < 10) return false;
  for (const std::uint64_t i : {n / 4, n / 2, n - n / 4, n - 1}) {
    const double expected =
        std::log(lo) + (std::log(hi) - std::log(lo)) * static_cast<double>(i) / static_cast<double>(n);
    if (std::abs(std::log(bins.edge(i)) - expected) > 1e-6 * (std::log(hi) - std::log(lo))) return false;
  }
  return true;
}

std::pair<double, double> widened(double lo, double hi, bool logarithmic) {
  if (logarithmic) {
    if (lo > 0 && hi / lo > 1 + 1e-12) return {lo, hi};
    return lo > 0 ? std::pair(lo / 2, hi * 2) : std::pair(1.0, 10.0);
  }
  // A range that doubles can hardly divide is widened too.
  const double greatest = std::max(std::abs(lo), std::abs(hi));
  if (hi / 2 - lo / 2 > greatest * 1e-13) return {lo, hi};
  const double around = greatest == 0 ? 0.5 : greatest * 1e-6;
  return {lo - around, hi + around};
}

std::vector<Span> bins_in_columns(const BinAxis& bins, const Placed& place, const Axis& axis, std::uint64_t columns) {
  std::vector<Span> spans(columns);
  std::uint64_t from = place.first;
  for (std::uint64_t column = 0; column < columns; ++column) {
    const double left = axis.value(static_cast<double>(column) / static_cast<double>(columns));
    const double right = axis.value(static_cast<double>(column + 1) / static_cast<double>(columns));
    if (right <= place.lo || left >= place.hi) continue;
    // From the bin that holds the column's left end to the last one that begins before its right end.
    const std::uint64_t beyond = first_edge(bins, from, place.end, [&](double e) { return e > left; });
    from = std::max(beyond, place.first + 1) - 1;
    const bool all = right >= place.hi;
    const std::uint64_t end =
        all ? place.end : first_edge(bins, from + 1, place.end, [&](double e) { return e >= right; });
    spans[column] = {from, end};
  }
  return spans;
}

Steps steps(const Series& series, const Axis& axis, std::uint64_t columns, Quantity quantity, std::uint64_t total) {
  Steps result;
  const Placed place = placed(series.bins, axis.logarithmic);
  const auto sum = [&](std::uint64_t first, std::uint64_t end) {
    return std::accumulate(series.counts.begin() + static_cast<std::ptrdiff_t>(first),
                           series.counts.begin() + static_cast<std::ptrdiff_t>(end), std::uint64_t{0});
  };
  if (series.totals.empty()) result.unplaced = sum(0, place.first) + sum(place.end, series.counts.size());
  Heights heights(series, quantity, total);
  if (place.end - place.first <= columns) {
    double left = axis.at(place.lo);
    for (std::uint64_t i = place.first; i < place.end; ++i) {
      const double right = axis.at(series.bins.edge(i + 1));
      result.steps.push_back({left, right, heights.highest(i, i + 1)});
      left = right;
    }
  } else {
    const std::vector<Span> spans = bins_in_columns(series.bins, place, axis, columns);
    for (std::uint64_t column = 0; column < columns; ++column) {
      const auto [first, end] = spans[column];
      if (first == end) continue;
      result.most_in_column = std::max(result.most_in_column, end - first);
      result.steps.push_back({static_cast<double>(column) / static_cast<double>(columns),
                              static_cast<double>(column + 1) / static_cast<double>(columns),
                              heights.highest(first, end)});
    }
  }
  for (const Step& step : result.steps) {
    result.highest = std::max(result.highest, step.height);
    result.least = std::min(result.least, step.height);
    if (step.height > 0 && (result.lowest == 0 || step.height < result.lowest)) result.lowest = step.height;
  }
  return result;
}

}  // namespace masu::plot
