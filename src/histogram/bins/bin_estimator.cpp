// SPDX-License-Identifier: Apache-2.0
// BinEstimator's state as bytes, and the merging of states.
#include "call/operands.h"
#include "call/state_bytes.h"
#include "histogram/bins/bin_estimator_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace masu {

namespace {
constexpr call::StateName estimator_state{"BinEstimator", "MBES"};
}  // namespace

void BinEstimator::State::write_found(call::StateWriter& to) const {
  to.number(static_cast<std::uint64_t>(phase()), 1);
  if (!automatic || !surveyed) return;
  to.number(data.n);
  to.number(least);
  to.number(greatest);
  switch (phase()) {
    case Phase::first: break;
    case Phase::moments: to.real(pass.mean); break;
    case Phase::digits:
      to.number(pass.shift, 1);
      for (const KnownKey& rank : ranks) {
        to.number(rank.rest);
        to.number(rank.prefix);
      }
      break;
    case Phase::stone: {
      const StoneRule::Progress progress = stone->progress();
      to.number(progress.first);
      to.number(progress.best);
      to.real(progress.least);
      break;
    }
    case Phase::done:
      for (const double one : {data.deviation, data.skew, data.quartile_range}) to.real(one);
      to.number(data.smoothest);
      break;
  }
}

void BinEstimator::State::write_pass(call::StateWriter& to) const {
  if (!automatic) {
    to.number(range ? range->single ? 2 : 1 : 0, 1);
    if (range) to.real(range->lo);
    if (range) to.real(range->hi);
    return;
  }
  if (done) return;
  if (stone) return to.numbers(stone->counts());
  for (const std::uint64_t one : {tally->n, tally->least, tally->greatest}) to.number(one);
  for (const ExactSum* sum : {&tally->sum, &tally->squares, &tally->cubes}) to.block(sum->bytes());
  to.numbers(tally->digits);
}

void BinEstimator::State::read(call::StateReader& from) {
  const auto phase = static_cast<Phase>(from.below(static_cast<std::uint64_t>(Phase::done) + 1, 1));
  if (!automatic) {
    from.require(phase == Phase::first || phase == Phase::done);
    const std::uint64_t kind = from.below(3, 1);
    if (kind != 0) {
      const double lo = from.real();
      const double hi = from.real();
      from.require(std::isfinite(lo) && std::isfinite(hi) && lo <= hi && (kind == 2) <= (lo == hi));
      range = ValueRange{lo, hi, kind == 2};
    }
    done = phase == Phase::done;
    return;
  }
  if (phase != Phase::first) read_found(from, phase);
  if (phase == Phase::done) (void)finish();
  else read_pass(from);
}

void BinEstimator::State::read_found(call::StateReader& from, Phase phase) {
  const std::uint64_t n = from.elements();
  const std::uint64_t first = from.number();
  const std::uint64_t last = from.number();
  if (n == 0) from.require(phase == Phase::done && first == 0 && last == 0);
  else from.require(!pass.limits.none && pass.limits.first <= first && first <= last && last <= pass.limits.last);
  set_extremes(n, first, last);
  const auto real = [&] {
    const double one = from.real();
    from.require(std::isfinite(one));
    return one;
  };
  switch (phase) {
    case Phase::first: break;
    case Phase::moments:
      from.require(!values_known && needs_moments(bins.estimator_));
      set_mean(real());
      start_moments();
      break;
    case Phase::digits: {
      const auto bits = static_cast<unsigned>(8 * size_of(dtype));
      from.require(!values_known && needs_quartiles(bins.estimator_));
      pass.shift = static_cast<unsigned>(from.below(bits - most_digit_bits, 1));
      from.require(pass.shift % most_digit_bits == 0);
      const unsigned known = bits - pass.shift - pass.digit_bits;
      for (unsigned i = 0; i < 4; ++i) {
        const std::uint64_t rest = from.below(n);
        ranks.push_back({from.below(std::uint64_t{1} << known), rest});
      }
      start_digit();
      break;
    }
    case Phase::stone: {
      from.require(!values_known && bins.estimator_ == Estimator::stone && data.spread > 0);
      start_stone();
      const std::uint64_t end = stone->candidates() + 1;
      const std::uint64_t next = from.below(end);
      const std::uint64_t best = from.below(end);
      const double error = from.real();
      from.require(next >= 1 && best >= 1 && !std::isnan(error));
      stone->go_on({next, best, error});
      break;
    }
    case Phase::done:
      data.deviation = from.real();
      data.skew = from.real();
      data.quartile_range = from.real();
      data.smoothest = from.number();
      break;
  }
}

void BinEstimator::State::read_pass(call::StateReader& from) {
  if (stone) return stone->add_counts(from.numbers(stone->counters()));
  tally->n = from.elements();
  for (std::uint64_t* one : {&tally->least, &tally->greatest}) *one = from.number();
  const bool none = tally->n == 0;
  from.require(none ? tally->least == ~std::uint64_t{0} && tally->greatest == 0
                    : pass.extremes && !pass.limits.none && pass.limits.first <= tally->least &&
                          tally->least <= tally->greatest && tally->greatest <= pass.limits.last);
  const std::pair<ExactSum*, bool> sums[] = {
      {&tally->sum, pass.sum}, {&tally->squares, pass.squares}, {&tally->cubes, pass.cubes}};
  for (const auto& [sum, used] : sums) {
    *sum = ExactSum::from_bytes(from.block());
    from.require(sum->count() == 0 || (used && (pass.extremes || sum->count() <= data.n)));
  }
  from.require(!pass.sum || tally->sum.count() == tally->n);
  tally->digits = from.numbers(tally->digits.size());
  // The first pass counts each value in the one table; later ones in one table at most.
  const std::uint64_t all = pass.extremes ? tally->n : data.n;
  std::uint64_t counted = 0;
  for (const std::uint64_t count : tally->digits) {
    from.require(count <= all - counted);
    counted += count;
  }
  from.require(!pass.extremes || tally->digits.empty() || counted == all);
}

void BinEstimator::merge(const BinEstimator& other) {
  const FloatingPointScope usual;
  State& s = *state_;
  const State& from = *other.state_;
  const auto found = [](const State& of) {
    call::StateWriter to(estimator_state);
    to.dtype(of.dtype);
    to.block(of.bins.bytes());
    of.write_found(to);
    return to.finish();
  };
  if (s.done || from.done || found(s) != found(from)) {
    call::refuse(
        "BinEstimator::merge",
        fmt::format("both must be in the same pass for the same bins of the same data, got "
                    "{} and {}, {}",
                    to_string(s.dtype), to_string(from.dtype),
                    s.done || from.done ? "of which one has no pass left" : "in other passes or of other bins"));
  }
  if (!s.automatic) {
    s.range = masu::merge(s.range, from.range);
    return;
  }
  if (s.stone) return s.stone->add_counts(from.stone->counts());
  const auto counted = [](const Tally& of) {
    return std::max({of.n, of.squares.count(), call::total_of_counts({of.digits})});
  };
  const std::uint64_t both = call::elements_of_both("BinEstimator::merge", counted(*s.tally), counted(*from.tally));
  if (s.surveyed && both > s.data.n) refuse_more_values(both, s.data.n);
  s.tally->merge(*from.tally);
}

std::vector<std::byte> BinEstimator::bytes() const {
  call::StateWriter to(estimator_state);
  to.dtype(state_->dtype);
  to.block(state_->bins.bytes());
  state_->write_found(to);
  state_->write_pass(to);
  return to.finish();
}

BinEstimator BinEstimator::from_bytes(std::span<const std::byte> bytes) {
  call::StateReader from(estimator_state, bytes);
  const Dtype dtype = from.dtype();
  const Bins bins = Bins::from_bytes(from.block());
  from.require(bins.needs_data());
  BinEstimator result(dtype, bins);
  result.state_->read(from);
  from.end();
  return result;
}

BinEstimator::BinEstimator(Dtype dtype, const Bins& bins)
    : state_((FloatingPointScope(), detail::make_hidden<State>(dtype, bins))) {}

void BinEstimator::add(const ArrayView& data) {
  const FloatingPointScope usual;
  State& s = *state_;
  if (data.dtype != s.dtype) {
    call::refuse("BinEstimator::add",
                 fmt::format("data must be {} as before, got {}", to_string(s.dtype), to_string(data.dtype)));
  }
  if (s.done) {
    call::refuse("BinEstimator::add", fmt::format("no pass is left, got {} values more", data.count));
  }
  if (!s.automatic) {  // only the range is asked for: there is a faster way
    s.range = masu::merge(s.range, finite_range(s.cpu, data));
    return;
  }
  if (s.stone) return s.stone->add(data);
  add_to_tally(s.pass, data, *s.tally);
}

bool BinEstimator::next_pass() {
  const FloatingPointScope usual;
  return !state_->done && state_->next_pass();
}

double BinEstimator::bins_found() const {
  if (!state_->done) {
    call::refuse("BinEstimator::bins_found", "passes must be given until next_pass() is false");
  }
  return state_->found();
}

Bins BinEstimator::bins() const {
  const FloatingPointScope usual;
  if (!state_->done) {
    call::refuse("BinEstimator::bins", "passes must be given until next_pass() is false");
  }
  return state_->result();
}

namespace {

struct Width {
  double value;
  bool own;  // a number of the dtype; f64 otherwise
};

double count(const BinStatistics& data) {
  return static_cast<double>(data.n);
}

Width square_root(const BinStatistics& data) {
  return {data.spread / std::sqrt(count(data)), false};
}

Width sturges(const BinStatistics& data) {
  return {data.spread / (std::log2(count(data)) + 1.0), false};
}

Width rice(const BinStatistics& data) {
  const double bins = 2.0 * std::pow(count(data), 1.0 / 3);
  return {quotient_in(data.dtype, data.spread, rounded_to(data.dtype, bins)), true};
}

Width scott(const BinStatistics& data) {
  const double factor = std::pow(24.0 * std::pow(std::numbers::pi, 0.5) / count(data), 1.0 / 3.0);
  const double deviation = rounded_to(data.dtype, data.deviation);
  return {rounded_to(data.dtype, rounded_to(data.dtype, factor) * deviation), true};
}

Width stone(const BinStatistics& data) {
  if (data.smoothest == 0) return {0, false};
  return {quotient_in(data.dtype, data.spread, static_cast<double>(data.smoothest)), true};
}

Width doane(const BinStatistics& data) {
  const double n = count(data);
  if (data.n <= 2 || !(rounded_to(data.dtype, data.deviation) > 0)) return {0, false};
  const double expected = std::sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)));
  const double skew = std::abs(rounded_to(data.dtype, data.skew));
  return {data.spread / (1.0 + std::log2(n) + std::log2(1.0 + skew / expected)), false};
}

Width freedman_diaconis(const BinStatistics& data) {
  return {2.0 * data.quartile_range * std::pow(count(data), -1.0 / 3.0), false};
}

Width automatic(const BinStatistics& data) {
  const double relaxed = std::max(freedman_diaconis(data).value, square_root(data).value / 2);
  return {std::min(relaxed, sturges(data).value), false};
}

// In the order of Estimator.
constexpr std::array<Width (*)(const BinStatistics&), 8> widths{automatic, freedman_diaconis, doane,      scott, stone,
                                                                rice,      sturges,           square_root};

}  // namespace

double bins_of_width(Estimator estimator, const BinStatistics& data, double delta, bool given) noexcept {
  Width width = widths[static_cast<std::size_t>(estimator)](data);
  if (width.value == 0) return 1;
  if (!is_float(data.dtype) && width.value < 1) width.value = 1;
  return std::ceil(width.own && !given ? quotient_in(data.dtype, delta, width.value) : delta / width.value);
}

}  // namespace masu
