// SPDX-License-Identifier: Apache-2.0
// What BinEstimator knows between its passes: one tells how many values there are and between what; the others depend
// on the rule.
#pragma once

#include "call/operands.h"
#include "call/state_bytes.h"
#include "elements/order.h"
#include "histogram/bins/bin_rule.h"
#include "select/key_passes.h"

#include <masu/bins.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/histogram.h>
#include <masu/quantile.h>
#include <masu/sum.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace masu {

// Stone's rule: among 1 … K bins, the number whose histogram has the least estimated error. K is the root of the number
// of values, but at least 100.

// Throws invalid_argument: a pass has more values than those before.
[[noreturn]] void refuse_more_values(std::uint64_t got, std::uint64_t before);

class StoneRule {
 public:
  // `make(k)`: k bins over the range; `spread`: how far apart the least and the greatest of the n values are.
  StoneRule(Dtype dtype, std::uint64_t n, double spread, std::function<Bins(std::uint64_t)> make);

  // All at once, from each value's key (elements/order.h) and how often it occurs.
  void count_values(std::span<const std::uint64_t> counts);
  // Or in passes over data: as many candidates together as fit into 2 MiB of counters.
  void add(const ArrayView& data);
  // Ends a pass; false when all candidates have been counted.
  bool next_pass();
  // The number of bins found.
  std::uint64_t best() const noexcept { return best_; }

  // Between passes: the next candidates, and the best result so far. The counts of a pass are the bins of all its
  // candidates, one candidate after the other.
  struct Progress {
    std::uint64_t first = 1;
    std::uint64_t best = 1;
    double least = 0;
  };
  Progress progress() const noexcept { return {first_, best_, least_}; }
  std::uint64_t candidates() const noexcept { return candidates_; }
  void go_on(const Progress& progress);
  std::vector<std::uint64_t> counts() const;
  // How many numbers that are.
  std::uint64_t counters() const noexcept;
  // Adds what counts() of another one in the same pass is.
  void add_counts(std::span<const std::uint64_t> counts);

 private:
  void start_pass();
  void judge(std::uint64_t bins, double squares);

  Dtype dtype_;
  std::uint64_t n_;
  double spread_;
  std::function<Bins(std::uint64_t)> make_;
  std::uint64_t candidates_;
  std::uint64_t first_ = 1;  // the first candidate of this pass
  std::vector<HistogramAccumulator> pass_;
  std::vector<std::uint64_t> added_;  // by add_counts(); empty: nothing
  std::uint64_t best_ = 1;
  double least_ = 0;
};

// How wide the bins of NumPy's estimators are (numpy/lib/_histograms_impl.py), from statistics of the data. Where NumPy
// computes in a float below f64 because the data are of it, so does this.
struct BinStatistics {
  Dtype dtype = Dtype::f64;
  std::uint64_t n = 0;          // values in the range, at least one
  double spread = 0;            // greatest - least, in the dtype
  double deviation = 0;         // scott, doane: the standard deviation, before it is rounded to the dtype
  double skew = 0;              // doane: the mean of the cubes of what is (x - mean) / deviation
  double quartile_range = 0;    // auto, fd
  std::uint64_t smoothest = 0;  // stone: the number of bins of the least estimated error; 0 where there is no spread
};

// The bins that the estimator's width makes of a range `delta` wide; not a number, or more than there can be, where it
// says nothing. `given`: the range came from the caller, and is f64.
double bins_of_width(Estimator estimator, const BinStatistics& data, double delta, bool given) noexcept;

// What one pass of BinEstimator finds out about the data. Every number is a sum of whole numbers or an exact sum, so
// that neither the order nor the pieces of the data matter.

// Which values count, as keys (elements/order.h), both ends included.
struct KeyLimits {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool none = false;
};
// The finite values.
KeyLimits finite_limits(Dtype dtype);
// The values between the ends of even bins over a given range.
KeyLimits range_limits(Dtype dtype, const Bins& bins);

struct TallyPass {
  Dtype dtype = Dtype::u8;
  KeyLimits limits;
  bool extremes = false;  // how many, the least, the greatest
  bool sum = false;
  bool squares = false;  // the sums of the squares and of the cubes of (x - mean) * scale
  bool cubes = false;
  double mean = 0;
  double scale = 1;
  // How often each digit follows each of these prefixes, as DigitPass has them.
  std::vector<std::uint64_t> prefixes;
  unsigned shift = 0;
  unsigned digit_bits = 0;
  [[nodiscard]] DigitPass digit_pass() const noexcept {
    return {shift, digit_bits, prefixes, limits.first, limits.last};
  }
};

struct Tally {
  explicit Tally(const TallyPass& pass) : digits(pass.prefixes.size() << pass.digit_bits) {}
  std::uint64_t n = 0;
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t greatest = 0;
  ExactSum sum;
  ExactSum squares;
  ExactSum cubes;
  std::vector<std::uint64_t> digits;  // a table for each prefix
  void merge(const Tally& other);
};

// Adds data of the pass's dtype, on all threads where there is much.
void add_to_tally(const TallyPass& pass, const ArrayView& data, Tally& total);

inline constexpr unsigned most_digit_bits = 16;
inline constexpr double most_estimated_bins = 0x1p31;

inline bool needs_moments(Estimator estimator) {
  return estimator == Estimator::scott || estimator == Estimator::doane;
}
inline bool needs_quartiles(Estimator estimator) {
  return estimator == Estimator::automatic || estimator == Estimator::fd;
}

// (a - b) * unit as f64, computed in the dtype unless that overflows. Unsigned for integers, whose unit is 1.
inline double difference(Dtype dtype, std::uint64_t a, std::uint64_t b, double unit) {
  if (!is_float(dtype)) return static_cast<double>(a - b);  // keys of integers are as far apart as they are
  const double exact = value_of_key(dtype, a) * unit - value_of_key(dtype, b) * unit;
  const double rounded = rounded_to(arithmetic_dtype(dtype), exact);
  return std::isfinite(rounded) ? rounded : exact;
}

inline QuantilePoint quartile_point(std::uint64_t n, double part) {
  return quantile_points(QuantileMethod::linear, n, std::span(&part, 1)).front();
}

struct BinEstimator::State {
  State(Dtype type, const Bins& wanted) : dtype(type), bins(wanted) {
    if (!bins.needs_data()) {
      call::refuse("BinEstimator", "bins must depend on the data, got definite ones");
    }
    automatic = bins.kind_ == Bins::Kind::automatic;
    given = bins.origin_ == Bins::Origin::given;
    pass.dtype = dtype;
    pass.limits = given ? range_limits(dtype, Bins::even(1, bins.lo_, bins.hi_)) : finite_limits(dtype);
    pass.extremes = true;
    const auto bits = static_cast<unsigned>(8 * size_of(dtype));
    values_known = bits <= most_digit_bits;
    pass.sum = !values_known && needs_moments(bins.estimator_);
    if (automatic && (values_known || needs_quartiles(bins.estimator_))) {
      pass.digit_bits = std::min(bits, most_digit_bits);
      pass.shift = bits - pass.digit_bits;
      pass.prefixes = {0};
    }
    tally = std::make_unique<Tally>(pass);
  }

  // k bins over the range that was given or found.
  Bins even(std::uint64_t k) const {
    if (given) return Bins::even(k, bins.lo_, bins.hi_);
    if (!range) return Bins::even(k, 0, 1);
    return automatic ? bins_that_hold(k, *range, dtype) : Bins::even(k, *range);
  }

  bool next_pass() {
    if (!automatic) return finish();
    if (!surveyed) {
      survey();
      if (data.n == 0) return finish();
      if (values_known) return finish_with_values();
    } else if (stone) {
      if (stone->next_pass()) return true;
      data.smoothest = stone->best();
      return finish();
    } else if (pass.squares) {
      set_moments(*tally);
      return finish();
    }
    if (needs_moments(bins.estimator_)) {
      start_moments();
      return true;
    }
    if (needs_quartiles(bins.estimator_)) return next_digit() || finish();
    if (bins.estimator_ == Estimator::stone && data.spread > 0) {
      start_stone();
      return true;
    }
    return finish();
  }

  void start_moments() {
    pass.squares = true;
    pass.cubes = bins.estimator_ == Estimator::doane;
    pass.sum = pass.extremes = false;
    tally = std::make_unique<Tally>(pass);
  }
  void start_stone() {
    stone = std::make_unique<StoneRule>(dtype, data.n, data.spread, [this](std::uint64_t k) { return even(k); });
  }

  void survey() {
    set_extremes(tally->n, tally->least, tally->greatest);
    if (data.n == 0) return;
    if (needs_quartiles(bins.estimator_)) {
      for (const double part : {0.25, 0.75}) {
        const QuantilePoint point = quartile_point(data.n, part);
        for (const std::uint64_t rank : {point.previous, point.next}) ranks.push_back({0, rank});
      }
    }
    set_mean(tally->sum);
  }

  void set_extremes(std::uint64_t n, std::uint64_t least_key, std::uint64_t greatest_key) {
    surveyed = true;
    data.dtype = arithmetic_dtype(dtype);
    data.n = n;
    if (n == 0) return;
    least = least_key;
    greatest = greatest_key;
    unit = 1;
    data.spread = difference(dtype, greatest, least, unit);
    if (!(data.spread <= 0x1p1022)) {
      unit = 0.25;
      data.spread = difference(dtype, greatest, least, unit);
    }
    range = ValueRange{value_of_key(dtype, least), value_of_key(dtype, greatest), greatest == least};
  }

  void set_mean(const ExactSum& sum) {
    if (sum.count() != 0) set_mean(sum.mean());
  }
  void set_mean(double mean) {
    pass.mean = mean;
    // Distances up to the spread, as numbers up to 2: nothing overflows, and what underflows does not count.
    if (data.spread > 0) pass.scale = std::ldexp(1, -std::max(std::ilogb(data.spread), -1000));
  }

  void set_moments(const Tally& found) {
    const auto n = static_cast<double>(data.n);
    const double deviation = std::sqrt(found.squares.sum() / n);
    data.deviation = deviation * unit / pass.scale;
    data.skew = found.cubes.sum() / n / (deviation * deviation * deviation);
  }

  // 8- and 16-bit data: everything follows from how often each value occurs.
  bool finish_with_values() {
    const std::vector<std::uint64_t>& counts = tally->digits;
    if (needs_moments(bins.estimator_)) {
      const auto each = [&](const auto& add) {
        for (std::uint64_t key = 0; key < counts.size(); ++key) {
          if (counts[key] != 0) add(value_of_key(dtype, key), counts[key]);
        }
      };
      ExactSum sum;
      each([&](double x, std::uint64_t times) { sum.add(x, times); });
      set_mean(sum);
      Tally found{TallyPass{}};
      each([&](double x, std::uint64_t times) {
        const double distance = (x - pass.mean) * pass.scale;
        found.squares.add(distance * distance, times);
        found.cubes.add(distance * distance * distance, times);
      });
      set_moments(found);
    } else if (needs_quartiles(bins.estimator_)) {
      next_digit();
    } else if (bins.estimator_ == Estimator::stone && data.spread > 0) {
      StoneRule rule(dtype, data.n, data.spread, [this](std::uint64_t k) { return even(k); });
      rule.count_values(counts);
      data.smoothest = rule.best();
    }
    return finish();
  }

  // Takes the digit of every rank from its table; false when it was the last one.
  bool next_digit() {
    for (KnownKey& rank : ranks) find_digit(pass.digit_pass(), tally->digits, rank);
    if (pass.shift == 0) {
      data.quartile_range = quartile(2, 0.75) - quartile(0, 0.25);
      return false;
    }
    pass.shift -= pass.digit_bits;
    start_digit();
    return true;
  }

  // Starts the pass that finds the digit at pass.shift, the one after each rank's prefix.
  void start_digit() {
    pass.prefixes.clear();
    for (const KnownKey& rank : ranks) pass.prefixes.push_back(rank.prefix);
    std::ranges::sort(pass.prefixes);
    pass.prefixes.erase(std::unique(pass.prefixes.begin(), pass.prefixes.end()), pass.prefixes.end());
    pass.extremes = false;
    tally = std::make_unique<Tally>(pass);
  }

  // numpy.percentile's interpolation.
  double quartile(std::size_t first, double part) const {
    const QuantilePoint point = quartile_point(data.n, part);
    const std::uint64_t a = ranks[first].prefix;
    const std::uint64_t b = ranks[first + 1].prefix;
    const double step = difference(dtype, b, a, unit) * point.weight;
    if (point.kind == QuantilePoint::Kind::from_next) return value_of_key(dtype, b) * unit - step;
    return value_of_key(dtype, a) * unit + step;
  }

  bool finish() {
    done = true;
    tally.reset();
    stone.reset();
    return false;
  }

  // How many bins the rule finds; it may be more than Bins holds.
  double found() const {
    if (!automatic) return static_cast<double>(bins.size_);
    if (data.n == 0) return 1;
    double delta = data.spread;
    if (given) delta = bins.lo_ == bins.hi_ ? (bins.hi_ + 0.5) - (bins.lo_ - 0.5) : bins.hi_ - bins.lo_;
    BinStatistics of = data;
    if (!std::isfinite(rounded_to(data.dtype, data.spread))) of.dtype = Dtype::f64;  // NumPy's arithmetic ends there
    return std::max(bins_of_width(bins.estimator_, of, delta, given), 1.0);
  }

  Bins result() const {
    const double size = found();
    if (!(size <= most_estimated_bins)) {
      call::refuse("histogram", fmt::format("the rule {} must find 1 to 2147483648 bins, got {} for {} values",
                                            to_string(bins.estimator_), size, data.n));
    }
    return even(static_cast<std::uint64_t>(size));
  }

  // Which pass it is in.
  enum class Phase : std::uint8_t { first, moments, digits, stone, done };
  [[nodiscard]] Phase phase() const {
    if (done) return Phase::done;
    if (!surveyed) return Phase::first;
    return stone ? Phase::stone : pass.squares ? Phase::moments : Phase::digits;
  }

  // What the passes before have found: the same wherever all data has been given.
  void write_found(call::StateWriter& to) const;
  // What this pass has found.
  void write_pass(call::StateWriter& to) const;
  void read(call::StateReader& from);
  void read_found(call::StateReader& from, Phase phase);
  void read_pass(call::StateReader& from);

  Device cpu = Device::open("cpu");
  Dtype dtype;
  Bins bins;
  bool automatic = false;
  bool given = false;
  bool values_known = false;  // the first pass counts every value there can be
  bool surveyed = false;
  bool done = false;
  TallyPass pass;
  std::unique_ptr<Tally> tally;
  std::unique_ptr<StoneRule> stone;
  BinStatistics data;
  double unit = 1;          // the factor of all values in `data`, so that twice the spread is finite
  std::uint64_t least = 0;  // keys
  std::uint64_t greatest = 0;
  std::optional<ValueRange> range;
  std::vector<KnownKey> ranks;  // of both quartiles' neighbours
};

}  // namespace masu
