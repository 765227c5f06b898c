// SPDX-License-Identifier: Apache-2.0
// Sums of data that comes in pieces, and their bytes.
#include "call/launcher.h"
#include "call/operands.h"
#include "call/state_bytes.h"
#include "sum/sum_rows.h"
#include "sum/sum_totals.h"

#include <masu/sum.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace masu {

using Function = SumRule::Function;

namespace {

constexpr call::StateName sum_state{"SumAccumulator", "msum"};
constexpr std::array<std::string_view, 3> kind_names = {"sum", "squares", "dot"};
constexpr std::size_t sum_words = 70;  // the most of a number
constexpr std::size_t product_words = 137;

[[noreturn]] void refuse_pieces(const std::string& rule) {
  call::refuse("SumAccumulator", rule);
}

void append(std::vector<std::byte>& bytes, const SumNeeds& needs, const Parts& parts) {
  if (needs.values) fixed::append(bytes, parts.values);
  if (needs.squares || needs.products) fixed::append(bytes, parts.products);
}

bool take(std::span<const std::byte>& bytes, const SumNeeds& needs, Parts& parts) {
  if (needs.values && !fixed::take(bytes, fixed::Sum::lowest, sum_words, parts.values)) return false;
  return !(needs.squares || needs.products) ||
         fixed::take(bytes, fixed::Products::lowest, product_words, parts.products);
}

}  // namespace

struct SumAccumulator::State {
  Dtype dtype;
  SumKind kind;
  SumNeeds needs;
  std::uint64_t row_length;
  Device device;
  std::mutex mutex;
  std::vector<std::vector<std::byte>> finished;  // rows
  RowSums sums;

  State(const Device& on, Dtype type, SumKind what, std::uint64_t length)
      : dtype(type),
        kind(what),
        needs(needs_of(what)),
        row_length(length),
        device(on),
        sums(on, type, needs, length, [this](std::uint64_t row, const Totals& totals) { keep(row, totals); }) {}

  void keep(std::uint64_t row, const Totals& totals) {
    std::vector<std::byte> bytes;
    append(bytes, needs, Parts(totals));
    const std::lock_guard lock(mutex);
    if (finished.size() <= row) finished.resize(row + 1);
    finished[row] = std::move(bytes);
  }

  [[nodiscard]] std::string_view name() const { return kind_names[static_cast<std::size_t>(kind)]; }

  void check_inputs(unsigned inputs) const {
    const unsigned expected = kind == SumKind::dot ? 2 : 1;
    if (inputs != expected) refuse_pieces(fmt::format("{} inputs are added, got {}", expected, inputs));
  }

  [[nodiscard]] SumResult result(const SumRule& rule) const {
    const FloatingPointScope usual;
    const SumNeeds wanted = rule.needs();
    if ((wanted.values && !needs.values) || (wanted.squares && !needs.squares) ||
        (wanted.products && !needs.products)) {
      refuse_pieces(fmt::format("a {} needs what SumKind::{} does not keep", rule.name(), name()));
    }
    if (row_length == 0) {
      rule.check(sums.count());
      SumResult result = SumParts::make(rule.result_dtype(), 1);
      SumParts::bits(result, 0) = rule.bits(Parts(sums.open_row()), sums.count());
      return result;
    }
    rule.check(row_length);
    if (sums.in_row() != 0) {
      refuse_pieces(fmt::format("the last row must have {} elements, got {}", row_length, sums.in_row()));
    }
    SumResult result = SumParts::make(rule.result_dtype(), finished.size());
    for (std::size_t row = 0; row < finished.size(); ++row) {
      Parts parts;
      std::span<const std::byte> bytes(finished[row]);
      (void)take(bytes, needs, parts);
      SumParts::bits(result, row) = rule.bits(parts, row_length);
    }
    return result;
  }
};

SumAccumulator::SumAccumulator(const Device& device, Dtype dtype, SumKind kind, std::uint64_t row_length)
    : state_(std::make_unique<State>(device, dtype, kind, row_length)) {}
SumAccumulator::SumAccumulator(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
SumAccumulator::SumAccumulator(SumAccumulator&&) noexcept = default;
SumAccumulator& SumAccumulator::operator=(SumAccumulator&&) noexcept = default;
SumAccumulator::~SumAccumulator() = default;

void SumAccumulator::add(const ArrayView& x) {
  const FloatingPointScope usual;
  state_->check_inputs(1);
  call::check_dtype("SumAccumulator", state_->dtype, x.dtype);
  state_->sums.add(x.data, x.data, x.count);
}

void SumAccumulator::add(const ArrayView& x, const ArrayView& y) {
  const FloatingPointScope usual;
  state_->check_inputs(2);
  call::check_dtype("SumAccumulator", state_->dtype, x.dtype);
  call::check_dtype("SumAccumulator", state_->dtype, y.dtype);
  if (x.count != y.count)
    refuse_pieces(fmt::format("x and y must have as many elements, got {} and {}", x.count, y.count));
  state_->sums.add(x.data, y.data, x.count);
}

void SumAccumulator::add_buffer(const BufferBase& x, Dtype dtype) {
  state_->check_inputs(1);
  add_memory(x, x, dtype);
}

void SumAccumulator::add_buffers(const BufferBase& x, const BufferBase& y, Dtype dtype) {
  state_->check_inputs(2);
  add_memory(x, y, dtype);
}

void SumAccumulator::add_memory(const BufferBase& x, const BufferBase& y, Dtype dtype) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::check_dtype("SumAccumulator", s.dtype, dtype);
  call::check_device("SumAccumulator", s.device, x);
  call::check_device("SumAccumulator", s.device, y);
  const std::size_t size = size_of(dtype);
  if (x.size_bytes() % size != 0 || x.size_bytes() != y.size_bytes()) {
    refuse_pieces(fmt::format("inputs must have as many bytes, a multiple of {}, got {} and {}", size, x.size_bytes(),
                              y.size_bytes()));
  }
  if (x.size_bytes() == 0) return;
  if (call::on_cpu(s.device)) {
    return s.sums.add(call::host_view(x, dtype).data, call::host_view(y, dtype).data, x.size_bytes() / size);
  }
  Stream stream = call::timed_stream(s.device, false);
  s.sums.add(stream, x, x.byte_offset(), y, y.byte_offset(), x.size_bytes() / size, false);
}

void SumAccumulator::merge(const SumAccumulator& other) {
  const FloatingPointScope usual;
  const State& from = *other.state_;
  if (state_->row_length != 0 || from.row_length != 0) refuse_pieces("merge: there must be no rows");
  if (state_->dtype != from.dtype || state_->kind != from.kind) {
    refuse_pieces(fmt::format("merge: both must have one type and kind, got {} of {} and {} of {}", state_->name(),
                              to_string(state_->dtype), from.name(), to_string(from.dtype)));
  }
  (void)call::elements_of_both("SumAccumulator::merge", count(), other.count());
  state_->sums.merge(from.sums.open_row(), from.sums.count());
}

std::vector<std::byte> SumAccumulator::bytes() const {
  const State& s = *state_;
  if (s.row_length != 0) refuse_pieces("bytes: there must be no rows");
  call::StateWriter to(sum_state);
  to.dtype(s.dtype);
  to.number(static_cast<std::uint64_t>(s.kind), 1);
  to.number(0, 1);
  to.number(s.sums.count());
  std::vector<std::byte> result = to.finish();
  append(result, s.needs, Parts(s.sums.open_row()));
  return result;
}

namespace {

// All values of a dtype are at most 2^this.
int most_exponent(Dtype dtype) {
  if (is_float(dtype)) return float_format(dtype).end;
  return static_cast<int>(8 * size_of(dtype)) - (is_signed(dtype) ? 1 : 0);
}

// Whether `count` elements can have these totals, as far as sizes, signs and what is not finite tell.
bool is_possible(const Parts& parts, Dtype dtype, SumKind kind, std::uint64_t count) {
  const int most = most_exponent(dtype);
  if (count > call::most_in_state || !fixed::is_at_most(parts.values.number, count, most) ||
      !fixed::is_at_most(parts.products.number, count, 2 * most)) {
    return false;
  }
  const unsigned specials = parts.values.specials | parts.products.specials;
  if (count == 0 && specials != 0) return false;
  if (!is_float(dtype) && specials != 0) return false;
  const bool natural = !is_float(dtype) && !is_signed(dtype);
  if (natural && (parts.values.number.negative || parts.products.number.negative)) return false;
  return kind != SumKind::squares ||
         (!parts.products.number.negative && (parts.products.specials & fixed::has_minus_infinity) == 0);
}

}  // namespace

SumAccumulator SumAccumulator::from_bytes(const Device& device, std::span<const std::byte> bytes) {
  call::StateReader from(sum_state, bytes);
  const Dtype dtype = from.dtype();
  const auto kind = static_cast<SumKind>(from.below(kind_names.size(), 1));
  (void)from.below(1, 1);
  const std::uint64_t count = from.number();
  std::span<const std::byte> rest = from.raw(from.left());
  auto state = std::make_unique<State>(device, dtype, kind, std::uint64_t{0});
  Parts parts;
  if (!take(rest, state->needs, parts) || !rest.empty()) from.refuse("the bytes hold no number");
  if (!is_possible(parts, dtype, kind, count)) from.refuse("no data have these sums");
  Totals totals;
  totals.values.add(parts.values.number);
  totals.values.note(parts.values.specials);
  totals.products.add(parts.products.number);
  totals.products.note(parts.products.specials);
  state->sums.merge(totals, count);
  return SumAccumulator(std::move(state));
}

namespace {

void append_integers(std::vector<std::int64_t>& to, const fixed::Part& part, int lowest, std::size_t words) {
  for (const std::uint8_t flag : {fixed::has_nan, fixed::has_infinity, fixed::has_minus_infinity}) {
    to.push_back((part.specials & flag) != 0 ? 1 : 0);
  }
  const auto place = static_cast<std::size_t>((part.number.exponent - lowest) / fixed::digit_bits);
  const std::size_t first = to.size() + place;
  to.resize(to.size() + words);
  for (std::size_t i = 0; i < part.number.size; ++i) {
    const auto word = static_cast<std::int64_t>(part.number.words[i]);
    to[first + i] = part.number.negative ? -word : word;
  }
}

template <class Total>
bool take_integers(std::span<const std::int64_t>& from, std::size_t words, Total& total) {
  for (const std::uint8_t flag : {fixed::has_nan, fixed::has_infinity, fixed::has_minus_infinity}) {
    if (from.front() < 0) return false;
    if (from.front() > 0) total.note(flag);
    from = from.subspan(1);
  }
  // Room for the carries of the last digit.
  std::vector<std::int64_t> digits(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(words));
  from = from.subspan(words);
  if (std::any_of(digits.begin(), digits.end(), [](std::int64_t x) { return x == INT64_MIN || x == INT64_MAX; }))
    return false;
  const fixed::Magnitude number = fixed::magnitude_of(digits, Total::lowest);
  if (number.size != 0 && number.exponent + fixed::digit_bits * static_cast<int>(number.size) >
                              Total::lowest + fixed::digit_bits * static_cast<int>(words)) {
    return false;
  }
  total.add(number);
  return true;
}

}  // namespace

std::vector<std::int64_t> SumAccumulator::integers() const {
  const State& s = *state_;
  if (s.row_length != 0) refuse_pieces("integers: there must be no rows");
  const Parts parts(s.sums.open_row());
  std::vector<std::int64_t> result{static_cast<std::int64_t>(s.sums.count())};
  if (s.needs.values) append_integers(result, parts.values, fixed::Sum::lowest, sum_words);
  if (s.needs.squares || s.needs.products) {
    append_integers(result, parts.products, fixed::Products::lowest, product_words);
  }
  return result;
}

SumAccumulator SumAccumulator::from_integers(const Device& device, Dtype dtype, SumKind kind,
                                             std::span<const std::int64_t> integers) {
  auto state = std::make_unique<State>(device, dtype, kind, std::uint64_t{0});
  const bool second = state->needs.squares || state->needs.products;
  const std::size_t size = 1 + (state->needs.values ? 3 + sum_words : 0) + (second ? 3 + product_words : 0);
  if (integers.size() != size) {
    refuse_pieces(fmt::format("there must be {} integers, got {}", size, integers.size()));
  }
  const std::int64_t count = integers.front();
  integers = integers.subspan(1);
  Totals totals;
  if (count < 0 || (state->needs.values && !take_integers(integers, sum_words, totals.values)) ||
      (second && !take_integers(integers, product_words, totals.products)) ||
      !is_possible(Parts(totals), dtype, kind, static_cast<std::uint64_t>(count))) {
    refuse_pieces("these integers are no sum of what integers() gave");
  }
  state->sums.merge(totals, static_cast<std::uint64_t>(count));
  return SumAccumulator(std::move(state));
}

Dtype SumAccumulator::dtype() const noexcept {
  return state_->dtype;
}
SumKind SumAccumulator::kind() const noexcept {
  return state_->kind;
}
std::uint64_t SumAccumulator::count() const noexcept {
  return state_->sums.count();
}
std::uint64_t SumAccumulator::rows() const noexcept {
  return state_->row_length == 0 ? 1 : state_->sums.full_rows() + (state_->sums.in_row() != 0 ? 1 : 0);
}

SumResult SumAccumulator::sum(Dtype result) const {
  return state_->result({Function::sum, state_->dtype, result});
}
SumResult SumAccumulator::dot(Dtype result) const {
  return state_->result({Function::dot, state_->dtype, result});
}
SumResult SumAccumulator::mean(Dtype result) const {
  return state_->result({Function::mean, state_->dtype, result});
}
SumResult SumAccumulator::norm2(Dtype result) const {
  return state_->result({Function::norm2, state_->dtype, result});
}
SumResult SumAccumulator::variance(std::uint64_t ddof, Dtype result) const {
  return state_->result({Function::variance, state_->dtype, result, ddof});
}

SumResult SumAccumulator::standard_deviation(std::uint64_t ddof, Dtype result) const {
  return state_->result({Function::standard_deviation, state_->dtype, result, ddof});
}
Times SumAccumulator::times() const {
  return state_->sums.times();
}

}  // namespace masu
