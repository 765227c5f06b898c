// SPDX-License-Identifier: Apache-2.0
// Quantiles of data that comes in pieces, in passes.
#include "call/operands.h"
#include "call/state_bytes.h"
#include "quantile/quantile_places.h"
#include "quantile/quantiles.h"

#include <masu/quantile.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <memory>

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

struct QuantileFinder::State {
  State(const Device& on, Dtype type, std::span<const double> wanted, const QuantileOptions& asked)
      : device(on), dtype(type), q(wanted.begin(), wanted.end()), method(asked.method), finder(on, type) {}
  Device device;
  Dtype dtype;
  std::vector<double> q;
  QuantileMethod method;
  PlaceFinder finder;
  std::unique_ptr<Quantiles> quantiles;
  bool done = false;
};

QuantileFinder::QuantileFinder(const Device& device, Dtype dtype, std::span<const double> q,
                               const QuantileOptions& options) {
  check_quantiles(q);
  if (options.rows != 1) {
    call::refuse("quantile", fmt::format("rows must be 1 where data comes in pieces, got {}", options.rows));
  }
  state_ = std::make_unique<State>(device, dtype, q, options);
}

QuantileFinder::QuantileFinder(QuantileFinder&&) noexcept = default;
QuantileFinder& QuantileFinder::operator=(QuantileFinder&&) noexcept = default;
QuantileFinder::~QuantileFinder() = default;

void QuantileFinder::add(const ArrayView& data) {
  call::check_dtype("quantile", state_->dtype, data.dtype);
  state_->finder.add(data);
}

void QuantileFinder::add_buffer(const BufferBase& data, Dtype dtype) {
  call::check_dtype("quantile", state_->dtype, dtype);
  call::check_device("quantile", state_->device, data);
  state_->finder.add(data, data.byte_offset(), call::count_of("quantile", data, dtype));
}

void QuantileFinder::merge(const QuantileFinder& other) {
  State& s = *state_;
  const State& from = *other.state_;
  if (s.dtype != from.dtype || s.q != from.q || s.method != from.method || !s.finder.merge(from.finder)) {
    const auto text = [](const State& of) {
      return fmt::format("{} quantiles ({}) of {} by {}, {} elements so far", of.q.size(), fmt::join(of.q, ", "),
                         to_string(of.dtype), to_string(of.method), of.finder.count());
    };
    call::refuse("QuantileFinder::merge",
                 fmt::format("both must be in the same pass for the same, got {} and {}", text(s), text(from)));
  }
}

namespace {
constexpr call::StateName quantile_state{"QuantileFinder", "MQUA"};
}  // namespace

std::vector<std::byte> QuantileFinder::bytes() const {
  const State& s = *state_;
  call::StateWriter to(quantile_state);
  to.dtype(s.dtype);
  to.number(static_cast<std::uint64_t>(s.method), 1);
  to.number(s.done ? 1 : 0, 1);
  to.number(s.q.size());
  for (const double one : s.q) to.real(one);
  s.finder.write(to);
  return to.finish();
}

QuantileFinder QuantileFinder::from_bytes(const Device& device, std::span<const std::byte> bytes) {
  call::StateReader from(quantile_state, bytes);
  const Dtype dtype = from.dtype();
  const auto method =
      static_cast<QuantileMethod>(from.below(static_cast<std::uint64_t>(QuantileMethod::nearest) + 1, 1));
  const bool done = from.flag();
  std::vector<double> q;
  for (const std::uint64_t one : from.numbers(from.number())) q.push_back(std::bit_cast<double>(one));
  QuantileFinder result(device, dtype, q, {.method = method});
  State& s = *result.state_;
  s.done = done;
  s.finder.read(from, [&](std::uint64_t count) {
    s.quantiles = std::make_unique<Quantiles>(dtype, method, count, q);
    return s.quantiles->places();
  });
  from.end();
  from.require(done == s.finder.done());
  return result;
}

bool QuantileFinder::next_pass() {
  State& s = *state_;
  if (s.done) return false;
  if (s.finder.count() == 0) call::refuse("quantile", "there must be data, got no elements");
  if (!s.quantiles) s.quantiles = std::make_unique<Quantiles>(s.dtype, s.method, s.finder.count(), s.q);
  s.done = !s.finder.next_pass(s.quantiles->places());
  return !s.done;
}

std::vector<Quantile> QuantileFinder::result() const {
  const State& s = *state_;
  if (!s.done) call::refuse("quantile", "the passes must have ended before there is a result");
  std::vector<Quantile> result;
  s.quantiles->append([&](std::size_t i) { return s.finder.key(s.quantiles->places()[i]); }, result);
  return result;
}

Dtype QuantileFinder::dtype() const noexcept {
  return state_->dtype;
}

std::uint64_t QuantileFinder::count() const noexcept {
  return state_->finder.count();
}

Times QuantileFinder::times() const {
  return state_->finder.times();
}

}  // namespace masu
