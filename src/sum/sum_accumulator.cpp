// SPDX-License-Identifier: Apache-2.0
// Sums of data that comes in pieces, and their bytes.
#include "call/accumulator.h"
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

constexpr std::array<std::string_view, 3> kind_names = {"sum", "squares", "dot"};
constexpr std::size_t sum_words = 70;  // the most of a number
constexpr std::size_t product_words = 137;

[[noreturn]] void refuse_pieces(const std::string& rule) {
  call::refuse("SumAccumulator", rule);
}

bool keeps_products(const SumNeeds& needs) {
  return needs.squares || needs.products;
}

void append(std::vector<std::byte>& bytes, const SumNeeds& needs, const Parts& parts) {
  if (needs.values) fixed::append(bytes, parts.values);
  if (keeps_products(needs)) fixed::append(bytes, parts.products);
}

bool take(std::span<const std::byte>& bytes, const SumNeeds& needs, Parts& parts) {
  if (needs.values && !fixed::take(bytes, fixed::Sum::lowest, sum_words, parts.values)) return false;
  return !keeps_products(needs) || fixed::take(bytes, fixed::Products::lowest, product_words, parts.products);
}

// All values of a dtype are at most 2^this.
int most_exponent(Dtype dtype) {
  if (is_float(dtype)) return float_format(dtype).end;
  return static_cast<int>(8 * size_of(dtype)) - (is_signed(dtype) ? 1 : 0);
}

// Whether `count` elements can have these totals, by sizes, signs, NaNs and infinities.
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

template <>
struct detail::Accumulator<SumAccumulator>::State : call::AccumulatorState {
  static constexpr call::StateName name{"SumAccumulator", "msum"};
  static constexpr std::string_view function = name.type;

  State(const Device& on, Dtype type, SumKind what, std::uint64_t length)
      : AccumulatorState(on, type),
        kind(what),
        needs(needs_of(what)),
        row_length(length),
        sums(on, type, needs, length, [this](std::uint64_t row, const Totals& totals) { keep(row, totals); }) {}

  void keep(std::uint64_t row, const Totals& totals) {
    std::vector<std::byte> bytes;
    append(bytes, needs, Parts(totals));
    const std::lock_guard lock(mutex);
    if (finished.size() <= row) finished.resize(row + 1);
    finished[row] = std::move(bytes);
  }

  [[nodiscard]] std::string_view kind_name() const { return kind_names[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::uint64_t elements() const noexcept { return sums.count(); }
  [[nodiscard]] Times all_times() const { return sums.times(); }

  void check_inputs(unsigned inputs) const {
    const unsigned expected = kind == SumKind::dot ? 2 : 1;
    if (inputs != expected) refuse_pieces(fmt::format("{} inputs are added, got {}", expected, inputs));
  }
  void check_open() const { check_inputs(1); }
  void check_no_rows(std::string_view what) const {
    if (row_length != 0) refuse_pieces(fmt::format("{}: there must be no rows", what));
  }

  void add(const ArrayView& x) { sums.add(x.data, x.data, x.count); }
  void add(const BufferBase& x, const BufferBase& y, Dtype type) {
    const FloatingPointScope usual;
    call::check_dtype(function, dtype, type);
    call::check_device(function, device, x);
    call::check_device(function, device, y);
    const std::size_t size = size_of(type);
    if (x.size_bytes() % size != 0 || x.size_bytes() != y.size_bytes()) {
      refuse_pieces(fmt::format("inputs must have as many bytes, a multiple of {}, got {} and {}", size, x.size_bytes(),
                                y.size_bytes()));
    }
    if (x.size_bytes() == 0) return;
    const std::uint64_t length = x.size_bytes() / size;
    if (call::on_cpu(device)) return sums.add(call::host_address(x), call::host_address(y), length);
    Stream stream = call::timed_stream(device, false);
    sums.add(stream, x, x.byte_offset(), y, y.byte_offset(), length, false);
  }

  void merge(const State& other) {
    if (row_length != 0 || other.row_length != 0) refuse_pieces("merge: there must be no rows");
    if (dtype != other.dtype || kind != other.kind) {
      refuse_pieces(fmt::format("merge: both must have one type and kind, got {} of {} and {} of {}", kind_name(),
                                to_string(dtype), other.kind_name(), to_string(other.dtype)));
    }
    (void)call::elements_of_both("SumAccumulator::merge", elements(), other.elements());
    sums.merge(other.sums.open_row(), other.sums.count());
  }

  void write(call::StateWriter& to) const {
    check_no_rows("bytes");
    to.dtype(dtype);
    to.number(static_cast<std::uint64_t>(kind), 1);
    to.number(0, 1);
    to.number(sums.count());
    std::vector<std::byte> totals;
    append(totals, needs, Parts(sums.open_row()));
    to.raw(totals);
  }

  static SumAccumulator read(const Device& device, call::StateReader& from) {
    const Dtype dtype = from.dtype();
    const auto kind = static_cast<SumKind>(from.below(kind_names.size(), 1));
    (void)from.below(1, 1);
    const std::uint64_t count = from.number();
    std::span<const std::byte> rest = from.raw(from.left());
    SumAccumulator result(device, dtype, kind);
    Parts parts;
    if (!take(rest, result.state_->needs, parts) || !rest.empty()) from.refuse("the bytes hold no number");
    if (!is_possible(parts, dtype, kind, count)) from.refuse("no data have these sums");
    Totals totals;
    totals.values.add(parts.values.number);
    totals.values.note(parts.values.specials);
    totals.products.add(parts.products.number);
    totals.products.note(parts.products.specials);
    result.state_->sums.merge(totals, count);
    return result;
  }

  [[nodiscard]] SumResult result(const SumRule& rule) const {
    const FloatingPointScope usual;
    const SumNeeds wanted = rule.needs();
    if ((wanted.values && !needs.values) || (wanted.squares && !needs.squares) ||
        (wanted.products && !needs.products)) {
      refuse_pieces(fmt::format("a {} needs what SumKind::{} does not keep", rule.name(), kind_name()));
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

  SumKind kind;
  SumNeeds needs;
  std::uint64_t row_length;
  std::mutex mutex;
  std::vector<std::vector<std::byte>> finished;  // rows
  RowSums sums;
};

template class detail::Accumulator<SumAccumulator>;

SumAccumulator::SumAccumulator(const Device& device, Dtype dtype, SumKind kind, std::uint64_t row_length) {
  state_ = detail::make_hidden<State>(device, dtype, kind, row_length);
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
  state_->add(x, x, dtype);
}

void SumAccumulator::add_buffers(const BufferBase& x, const BufferBase& y, Dtype dtype) {
  state_->check_inputs(2);
  state_->add(x, y, dtype);
}

std::vector<std::int64_t> SumAccumulator::integers() const {
  const State& s = *state_;
  s.check_no_rows("integers");
  const Parts parts(s.sums.open_row());
  std::vector<std::int64_t> result{static_cast<std::int64_t>(s.sums.count())};
  if (s.needs.values) append_integers(result, parts.values, fixed::Sum::lowest, sum_words);
  if (keeps_products(s.needs)) {
    append_integers(result, parts.products, fixed::Products::lowest, product_words);
  }
  return result;
}

SumAccumulator SumAccumulator::from_integers(const Device& device, Dtype dtype, SumKind kind,
                                             std::span<const std::int64_t> integers) {
  SumAccumulator result(device, dtype, kind);
  const SumNeeds needs = needs_of(kind);
  const bool second = keeps_products(needs);
  const std::size_t size = 1 + (needs.values ? 3 + sum_words : 0) + (second ? 3 + product_words : 0);
  if (integers.size() != size) {
    refuse_pieces(fmt::format("there must be {} integers, got {}", size, integers.size()));
  }
  const std::int64_t count = integers.front();
  integers = integers.subspan(1);
  Totals totals;
  if (count < 0 || (needs.values && !take_integers(integers, sum_words, totals.values)) ||
      (second && !take_integers(integers, product_words, totals.products)) ||
      !is_possible(Parts(totals), dtype, kind, static_cast<std::uint64_t>(count))) {
    refuse_pieces("these integers are no sum of what integers() gave");
  }
  result.state_->sums.merge(totals, static_cast<std::uint64_t>(count));
  return result;
}

SumKind SumAccumulator::kind() const noexcept {
  return state_->kind;
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

}  // namespace masu
