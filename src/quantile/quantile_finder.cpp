// SPDX-License-Identifier: Apache-2.0
// Quantiles of data that comes in pieces, in passes.
#include "call/accumulator.h"
#include "quantile/quantile_rule.h"
#include "select/place_finder.h"

#include <masu/quantile.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>

namespace masu {

void check_quantiles(std::span<const double> q) {
  for (const double one : q) {
    if (!(one >= 0 && one <= 1)) call::refuse("quantile", fmt::format("q must be within 0 to 1, got {}", one));
  }
}

Quantiles::Quantiles(Dtype dtype, QuantileMethod method, std::uint64_t n, std::span<const double> q) : dtype_(dtype) {
  for (const double one : q) wanted_.push_back(quantile_place(method, n, one));
  for (const QuantilePlace& place : wanted_) places_.insert(places_.end(), {place.previous, place.next});
  last_is_for_nan_ = is_float(dtype) && std::find(places_.begin(), places_.end(), n - 1) == places_.end();
  if (last_is_for_nan_) places_.push_back(n - 1);
  std::sort(places_.begin(), places_.end());
  places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
}

void Quantiles::append(const std::function<std::uint64_t(std::size_t)>& key, std::vector<Quantile>& result) const {
  const auto bits_at = [&](std::uint64_t place) {
    const auto at = std::lower_bound(places_.begin(), places_.end(), place);
    return bits_of_key(dtype_, key(static_cast<std::size_t>(at - places_.begin())));
  };
  if (wanted_.empty()) return;
  const bool nan = is_float(dtype_) && key(places_.size() - 1) == greatest_key(dtype_);
  for (const QuantilePlace& place : wanted_) {
    if (!nan) {
      result.push_back(quantile_at(dtype_, place, bits_at(place.previous), bits_at(place.next)));
      continue;
    }
    const std::uint64_t bits = bits_of_key(dtype_, greatest_key(dtype_));
    result.push_back(quantile_at(dtype_, {0, 0, 0, true}, bits, bits));
    if (!place.is_element) result.back() = {result.back().value, 0, false};
  }
}

namespace {

// The wanted quantiles of a state.
struct WantedPlaces {
  Dtype dtype;
  QuantileMethod method;
  std::vector<double> q;

  explicit WantedPlaces(call::StateReader& from) : dtype(from.dtype()) {
    method = static_cast<QuantileMethod>(from.below(static_cast<std::uint64_t>(QuantileMethod::nearest) + 1, 1));
    for (const std::uint64_t one : from.numbers(from.number())) q.push_back(std::bit_cast<double>(one));
  }
};

}  // namespace

template <>
struct detail::Accumulator<QuantileFinder>::State : call::AccumulatorState {
  static constexpr call::StateName name{"QuantileFinder", "MQUA", 2};
  static constexpr std::string_view function = "quantile";

  State(const Device& on, Dtype type, std::span<const double> wanted, const QuantileOptions& options)
      : AccumulatorState(on, type), q(wanted.begin(), wanted.end()), method(options.method), search(on, type) {}

  [[nodiscard]] std::uint64_t elements() const noexcept { return search.count(); }
  [[nodiscard]] Times all_times() const { return search.times(); }
  std::span<const std::uint64_t> places_among(std::uint64_t count_of_all) {
    if (!quantiles) quantiles = std::make_unique<Quantiles>(dtype, method, count_of_all, q);
    return quantiles->places();
  }
  void check_open() const {
    if (search.holds()) call::refuse("quantile", "a finder that holds its data takes no more, got more data");
  }
  void add(const ArrayView& data) { search.add(data); }
  void add(const BufferBase& data) { search.add(data, data.byte_offset(), data.size_bytes() / size_of(dtype)); }
  void hold(HeldData data, std::uint64_t samples) {
    check_open();
    if (quantiles || elements() != 0) {
      call::refuse("quantile", fmt::format("a finder holds all of its data, got {} elements before", elements()));
    }
    search.hold(std::move(data), samples);
  }

  [[nodiscard]] std::string text() const {
    std::string all;  // fmt::join of numbers would compile fmt's output of numbers here once more
    for (const double each : q) all += fmt::format("{}{}", all.empty() ? "" : ", ", each);
    return fmt::format("{} quantiles ({}) of {} by {} on {}, {} elements so far", q.size(), all, to_string(dtype),
                       to_string(method), device.id(), elements());
  }
  void merge(const State& other) {
    if (dtype == other.dtype && q == other.q && method == other.method && search.merge(other.search)) return;
    call::refuse("QuantileFinder::merge",
                 fmt::format("both must be in the same pass for the same, got {} and {}", text(), other.text()));
  }

  void write(call::StateWriter& to) const {
    to.dtype(dtype);
    to.number(static_cast<std::uint64_t>(method), 1);
    to.number(q.size());
    for (const double one : q) to.real(one);
    search.write(to);
  }
  static QuantileFinder read(const Device& device, call::StateReader& from) {
    const WantedPlaces wanted(from);
    QuantileFinder result(device, wanted.dtype, wanted.q, {.method = wanted.method});
    result.state_->read_passes(from);
    return result;
  }
  // Reads what write() wrote after the quantiles.
  void read_passes(call::StateReader& from) {
    quantiles.reset();
    search.read(from, [&](std::uint64_t count_of_all) { return places_among(count_of_all); });
  }

  std::vector<double> q;
  QuantileMethod method;
  PlaceState search;
  std::unique_ptr<Quantiles> quantiles;
};

template class detail::Accumulator<QuantileFinder>;
template class detail::BufferAccumulator<QuantileFinder>;

QuantileFinder::QuantileFinder(const Device& device, Dtype dtype, std::span<const double> q,
                               const QuantileOptions& options) {
  const FloatingPointScope usual;
  check_quantiles(q);
  call::check_one_row("quantile", options.rows);
  state_ = detail::make_hidden<State>(device, dtype, q, options);
}

void QuantileFinder::hold(const ArrayView& data, std::uint64_t samples) {
  const FloatingPointScope usual;
  call::check_dtype("quantile", state_->dtype, data.dtype);
  state_->hold(HeldData(state_->device, data), samples);
}

void QuantileFinder::hold_buffer(const BufferBase& data, Dtype dtype, std::uint64_t samples) {
  const FloatingPointScope usual;
  (void)state_->check_buffer("quantile", data, dtype);
  state_->hold(HeldData(data, dtype), samples);
}

void QuantileFinder::take(std::span<const std::byte> bytes) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::StateReader from(State::name, bytes);
  const WantedPlaces wanted(from);
  if (wanted.dtype != s.dtype || wanted.q != s.q || wanted.method != s.method) {
    call::refuse("QuantileFinder::take", "the bytes must be of the same quantiles, got others");
  }
  (void)from_bytes(s.device, bytes);  // refused as a whole, before this one changes
  s.read_passes(from);
}

bool QuantileFinder::next_pass() {
  const FloatingPointScope usual;
  State& s = *state_;
  if (s.search.done()) return false;
  if (s.elements() == 0) call::refuse("quantile", "there must be data, got no elements");
  const std::span<const std::uint64_t> places = s.places_among(s.elements());
  return s.search.next_pass(places, s.quantiles->last_is_for_nan());
}

std::vector<Quantile> QuantileFinder::result() const {
  const FloatingPointScope usual;
  const State& s = *state_;
  if (!s.search.done()) call::refuse("quantile", "the passes must have ended before there is a result");
  std::vector<Quantile> result;
  s.quantiles->append([&](std::size_t i) { return s.search.key(s.quantiles->places()[i]); }, result);
  return result;
}

}  // namespace masu
