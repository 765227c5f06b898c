// SPDX-License-Identifier: Apache-2.0
#include "call/operands.h"
#include "call/state_bytes.h"
#include "elements/order.h"
#include "histogram/bins/bin_estimator_state.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/cpu/histogram_cpu_slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace masu {

namespace {

constexpr std::uint64_t piece_elements = std::uint64_t{1} << 17;
constexpr std::uint64_t many_elements = 8 * piece_elements;  // fewer are not worth a thread's tables

template <class T>
void add_piece(const TallyPass& pass, const T* x, std::uint64_t count, Tally& tally) {
  const auto first = static_cast<KeyOf<T>>(pass.limits.first);
  const auto last = static_cast<KeyOf<T>>(pass.limits.last);
  const auto each = [&](const auto& add) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const KeyOf<T> key = ordered_key(x[i]);
      if (key >= first && key <= last) add(x[i], key);
    }
  };
  if (pass.extremes) {
    std::uint64_t n = 0;
    KeyOf<T> least = last;
    KeyOf<T> greatest = first;
    each([&](T, KeyOf<T> key) {
      ++n;
      least = std::min(least, key);
      greatest = std::max(greatest, key);
    });
    tally.n += n;
    if (n != 0) {
      tally.least = std::min<std::uint64_t>(tally.least, least);
      tally.greatest = std::max<std::uint64_t>(tally.greatest, greatest);
    }
  }
  if (pass.sum) each([&](T value, KeyOf<T>) { tally.sum.add(to_f64(value)); });
  const double mean = pass.mean * pass.scale;  // both are scaled, as their distance may overflow
  const auto distance = [&](T value) { return to_f64(value) * pass.scale - mean; };
  if (pass.squares) each([&](T value, KeyOf<T>) { tally.squares.add(distance(value) * distance(value)); });
  if (pass.cubes) {
    each([&](T value, KeyOf<T>) { tally.cubes.add(distance(value) * distance(value) * distance(value)); });
  }
  if (!pass.prefixes.empty()) count_digits(ArrayView(dtype_of<T>, x, count), pass.digit_pass(), tally.digits);
}

}  // namespace

KeyLimits finite_limits(Dtype dtype) {
  return dispatch(dtype, []<class T>(TypeTag<T>) -> KeyLimits {
    if constexpr (is_float_type<T>) {
      constexpr std::uint64_t most = infinity_bits<T> - 1;
      return {key_sign<T> - most, key_sign<T> + most};
    } else {
      return {ordered_key(std::numeric_limits<T>::lowest()), ordered_key(std::numeric_limits<T>::max())};
    }
  });
}

KeyLimits range_limits(Dtype dtype, const Bins& bins) {
  const BinRule rule(bins, dtype, false);
  return dispatch(dtype, [&]<class T>(TypeTag<T>) -> KeyLimits {
    if constexpr (is_stored<T>) {
      // Where edges have more digits than the data, the values next to them that lie between them.
      const auto lo = rounded_to<T>(rule.edge(0));
      const auto hi = rounded_to<T>(rule.edge(rule.n));
      const KeyLimits found{ordered_key(lo) + (to_double(lo) < rule.edge(0) ? 1U : 0U),
                            ordered_key(hi) - (to_double(hi) > rule.edge(rule.n) ? 1U : 0U)};
      return {found.first, found.last, found.first > found.last};
    } else {
      const BinLimits<T> limits(rule);
      return {ordered_key(limits.first), ordered_key(limits.last), limits.all_below || limits.all_above};
    }
  });
}

void Tally::merge(const Tally& other) {
  n += other.n;
  least = std::min(least, other.least);
  greatest = std::max(greatest, other.greatest);
  sum.merge(other.sum);
  squares.merge(other.squares);
  cubes.merge(other.cubes);
  for (std::size_t i = 0; i < digits.size(); ++i) digits[i] += other.digits[i];
}

void add_to_tally(const TallyPass& pass, const ArrayView& data, Tally& total) {
  if (pass.limits.none) return;
  dispatch(data.dtype, [&]<class T>(TypeTag<T>) {
    const T* x = static_cast<const T*>(data.data);
    if (data.count < many_elements) {
      for (std::uint64_t first = 0; first < data.count; first += piece_elements) {
        add_piece(pass, x + first, std::min(piece_elements, data.count - first), total);
      }
      return;
    }
    cpu::count_by_threads(
        data.count, piece_elements, data.count, [&] { return Tally(pass); },
        [&](Tally& part, std::uint64_t first, std::uint64_t count) { add_piece(pass, x + first, count, part); },
        [&](const Tally& part) { total.merge(part); });
  });
}

namespace {

constexpr std::uint64_t least_candidates = 100;
constexpr std::uint64_t counters_a_pass = std::uint64_t{1} << 18;
// Every candidate counts all values: beyond this the passes would take hours.
constexpr std::uint64_t most_candidates = 4096;

double square(std::uint64_t count) {
  return static_cast<double>(count) * static_cast<double>(count);
}

}  // namespace

void refuse_more_values(std::uint64_t got, std::uint64_t before) {
  call::refuse("BinEstimator", fmt::format("every pass must give the same values, got {} after {}", got, before));
}

StoneRule::StoneRule(Dtype dtype, std::uint64_t n, double spread, std::function<Bins(std::uint64_t)> make)
    : dtype_(dtype), n_(n), spread_(spread), make_(std::move(make)) {
  candidates_ = std::max(least_candidates, static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n))));
  if (size_of(dtype) <= 2) return;
  if (candidates_ > most_candidates) {
    throw Error(ErrorCode::unsupported,
                fmt::format("histogram: the rule stone takes at most {} values of {}, got {}",
                            (most_candidates + 1) * (most_candidates + 1) - 1, to_string(dtype), n));
  }
  start_pass();
}

void StoneRule::count_values(std::span<const std::uint64_t> counts) {
  std::vector<std::pair<double, std::uint64_t>> values;
  for (std::uint64_t key = 0; key < counts.size(); ++key) {
    if (counts[key] != 0) values.emplace_back(value_of_key(dtype_, key), counts[key]);
  }
  for (std::uint64_t k = 1; k <= candidates_; ++k) {
    const BinRule rule(make_(k), dtype_, false);
    double squares = 0;
    std::uint64_t bin = 0;
    std::uint64_t held = 0;
    std::vector<std::uint64_t> unordered(rule.stored_guess ? k : 0);
    for (const auto& [value, count] : values) {
      if (rule.stored_guess) {
        unordered[rule.slot(value)] += count;
        continue;
      }
      if (bin + 1 < k && value >= rule.edge(bin + 1)) {
        squares += square(std::exchange(held, 0));
        while (bin + 1 < k && value >= rule.edge(bin + 1)) ++bin;
      }
      held += count;
    }
    squares += square(held);
    for (const std::uint64_t count : unordered) squares += square(count);
    judge(k, squares);
  }
}

void StoneRule::start_pass() {
  const Device cpu = Device::open("cpu");
  pass_.clear();
  added_.clear();
  std::uint64_t counters = 0;
  for (std::uint64_t k = first_; k <= candidates_ && counters + k <= counters_a_pass; ++k) {
    pass_.emplace_back(cpu, dtype_, make_(k));
    counters += k;
  }
}

void StoneRule::add(const ArrayView& data) {
  for (HistogramAccumulator& candidate : pass_) candidate.add(data);
}

std::uint64_t StoneRule::counters() const noexcept {
  const std::uint64_t end = first_ + pass_.size();
  return (first_ + end - 1) * pass_.size() / 2;
}

std::vector<std::uint64_t> StoneRule::counts() const {
  std::vector<std::uint64_t> result;
  result.reserve(counters());
  for (const HistogramAccumulator& candidate : pass_) {
    const std::vector<Histogram> found = candidate.result();
    result.insert(result.end(), found.front().counts().begin(), found.front().counts().end());
  }
  for (std::size_t i = 0; i < added_.size(); ++i) result[i] += added_[i];
  return result;
}

void StoneRule::add_counts(std::span<const std::uint64_t> counts) {
  // Each candidate counts each value once.
  const std::vector<std::uint64_t> before = this->counts();
  const std::uint64_t both =
      call::elements_of_both("BinEstimator::merge", call::total_of_counts({before}), call::total_of_counts({counts}));
  if (both > n_ * pass_.size()) refuse_more_values(both / pass_.size(), n_);
  added_.resize(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) added_[i] += counts[i];
}

void StoneRule::go_on(const Progress& progress) {
  first_ = progress.first;
  best_ = progress.best;
  least_ = progress.least;
  start_pass();
}

bool StoneRule::next_pass() {
  const std::vector<std::uint64_t> all = counts();
  const std::uint64_t* bin = all.data();
  for (const std::uint64_t end = first_ + pass_.size(); first_ < end;) {
    double squares = 0;
    for (const std::uint64_t* last = bin + first_; bin < last; ++bin) squares += square(*bin);
    judge(first_++, squares);
  }
  if (first_ > candidates_) return false;
  start_pass();
  return true;
}

void StoneRule::judge(std::uint64_t bins, double squares) {
  const auto n = static_cast<double>(n_);
  const double width = quotient_in(dtype_, spread_, static_cast<double>(bins));
  const double error = (2 - (n + 1) * (squares / n / n)) / width;
  if (bins > 1 && !(error < least_)) return;
  best_ = bins;
  least_ = error;
}

}  // namespace masu
