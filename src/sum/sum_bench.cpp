// SPDX-License-Identifier: Apache-2.0
// How fast numbers are added exactly. Axes: device, case, number of elements, distribution, CPU threads. Every result
// is checked by the plain loop before it is timed; masu and the plain reading of the same bytes take turns. A dot
// product's inputs are the two halves of one memory.
#include <masu/sum.h>

#include "bench/ordering.h"
#include "bench/runner.h"
#include "runtime/parallel.h"
#include "sum/sum_simd.h"
#include "sum/sum_totals.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <span>
#include <type_traits>

namespace masu::bench {
namespace {

struct SumCase {
  std::string_view name;
  Dtype dtype;
  SumRule::Function function = SumRule::Function::sum;
  bool usual = false;
  std::uint64_t row = 0;  // elements of a row; 0: all
};

using Function = SumRule::Function;
constexpr auto cases = std::to_array<SumCase>({
    {"f32-sum", Dtype::f32, Function::sum, true},
    {"f32-dot", Dtype::f32, Function::dot, true},
    {"f64-sum", Dtype::f64, Function::sum, true},
    {"f64-dot", Dtype::f64, Function::dot, true},
    {"f16-sum", Dtype::f16},
    {"f16-dot", Dtype::f16, Function::dot},
    {"f32-variance", Dtype::f32, Function::variance},
    {"f64-norm2", Dtype::f64, Function::norm2},
    {"u8-sum", Dtype::u8},
    {"i32-sum", Dtype::i32},
    {"i32-norm2", Dtype::i32, Function::norm2},
    {"u64-mean", Dtype::u64, Function::mean},
    {"f32-sum-rows-of-2", Dtype::f32, Function::sum, false, 2},
    {"f32-sum-rows-of-64", Dtype::f32, Function::sum, false, 64},
    {"f32-sum-rows-of-64Ki", Dtype::f32, Function::sum, false, 1 << 16},
});

// uniform: from 0 to 1; normal; wide: every finite number alike, by its bits; cancelling: as wide, the second half of
// an input being the first with other signs, but for its last element; constant; subnormal: as wide, with the least
// exponent.
constexpr std::array<std::string_view, 6> distributions = {"uniform",    "normal",   "wide",
                                                           "cancelling", "constant", "subnormal"};
constexpr std::array<std::string_view, 3> usual_distributions_of_sums = {"uniform", "wide", "cancelling"};

constexpr std::uint64_t piece = std::uint64_t{1} << 20;

template <class F>
void in_pieces(std::uint64_t count, const F& use) {
  runtime::parallel_parts(count, piece, use);
}

// Random words as finite numbers.
template <class Word>
void make_finite(Word* words, std::uint64_t count, bool subnormal) {
  constexpr int fraction = sizeof(Word) == 2 ? 10 : sizeof(Word) == 4 ? 23 : 52;
  constexpr Word sign = static_cast<Word>(~(static_cast<Word>(~Word{0}) >> 1U));
  constexpr Word field = static_cast<Word>(static_cast<Word>(~sign) >> fraction << fraction);
  constexpr Word lowest = static_cast<Word>(Word{1} << fraction);
  in_pieces(count, [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t i = first; i < end; ++i) {
      if (subnormal) words[i] = static_cast<Word>(words[i] & ~field);
      else if ((words[i] & field) == field) words[i] = static_cast<Word>(words[i] ^ lowest);
    }
  });
}

// The second half is the first one with other signs (`opposite`) or as it is.
template <class Word>
void repeat_half(Word* words, std::uint64_t count, bool opposite) {
  constexpr Word sign = static_cast<Word>(~(static_cast<Word>(~Word{0}) >> 1U));
  const std::uint64_t half = count / 2;
  const Word flipped = opposite ? sign : Word{0};
  in_pieces(half, [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t i = first; i < end; ++i) words[half + i] = static_cast<Word>(words[i] ^ flipped);
  });
  if (half != 0) words[2 * half - 1] = Word{1};
}

Input input_of(const SumCase& what, std::uint64_t count, std::string_view distribution) {
  const bool bits = distribution == "wide" || distribution == "cancelling" || distribution == "subnormal";
  if (!is_float(what.dtype)) return ordering_input(what.dtype, count, bits ? "uniform" : distribution);
  Input input = ordering_input(what.dtype, count, bits ? "bits" : distribution);
  if (!bits) return input;
  const auto change = [&](auto* words) {
    make_finite(words, count, distribution == "subnormal");
    if (distribution != "cancelling") return;
    const std::uint64_t elements = what.function == Function::dot ? count / 2 : count;
    repeat_half(words, elements, true);
    if (elements != count) repeat_half(words + elements, elements, false);
  };
  std::byte* memory = input.bytes().data();
  if (what.dtype == Dtype::f16) change(reinterpret_cast<std::uint16_t*>(memory));
  else if (what.dtype == Dtype::f32) change(reinterpret_cast<std::uint32_t*>(memory));
  else change(reinterpret_cast<std::uint64_t*>(memory));
  return input;
}

// By plain loops, in pieces that are merged.
template <class T>
Totals plain_totals(const SumNeeds& needs, const T* x, const T* y, std::uint64_t count) {
  Totals totals;
  std::mutex mutex;
  in_pieces(count, [&](std::uint64_t first, std::uint64_t end) {
    Totals own;
    if (needs.values) cpu::add_plain(x + first, end - first, own.values);
    if (needs.squares || needs.products) cpu::add_plain(x + first, y + first, end - first, own.products);
    const std::lock_guard lock(mutex);
    totals.values.merge(own.values);
    totals.products.merge(own.products);
  });
  return totals;
}

// The results of an input by plain loops, made once for all devices.
class Expected {
 public:
  Expected(const SumCase& what, const Input& input) : what_(what), rule_{what.function, what.dtype}, input_(input) {}
  bool equals(const SumResult& result) {
    if (bits_.empty()) {
      dispatch(what_.dtype, [&](auto tag) { compute<typename decltype(tag)::type>(); });
    }
    if (result.rows() != bits_.size()) return false;
    SumResult expected = SumParts::make(rule_.result_dtype(), bits_.size());
    for (std::uint64_t row = 0; row < bits_.size(); ++row) SumParts::bits(expected, row) = bits_[row];
    return result == expected;
  }

 private:
  template <class T>
  void compute() {
    const std::uint64_t count = input_.view().count / (what_.function == Function::dot ? 2 : 1);
    const auto* x = reinterpret_cast<const T*>(input_.bytes().data());
    const T* y = what_.function == Function::dot ? x + count : x;
    const std::uint64_t row = what_.row == 0 ? count : what_.row;
    for (std::uint64_t first = 0; first < count; first += row) {
      bits_.push_back(rule_.bits(Parts(plain_totals(rule_.needs(), x + first, y + first, row)), row));
    }
  }
  SumCase what_;
  SumRule rule_;
  const Input& input_;
  std::vector<std::uint64_t> bits_;
};

class Summing final : public Reading {
 public:
  Summing(const SumCase& what, const Input& input, Expected& expected, const Device& device, Ceilings& ceilings)
      : Reading(input.bytes(), device, ceilings),
        what_(what),
        expected_(expected),
        half_(what.function == Function::dot ? data().size() / 2 : 0),
        x_(data().slice(0, data().size() - half_)),
        y_(data().slice(half_, data().size() - half_)) {
    if (what.row != 0) options_.rows = x_.size() / size_of(what.dtype) / what.row;
  }
  void check(const std::string& name) override {
    if (!expected_.equals(result_)) throw WrongResult("bench: " + name + ": the result is not that of a plain loop");
  }

 private:
  void once(Times* times) override {
    options_.times = times;
    switch (what_.function) {
      case Function::sum: result_ = sum(x_, what_.dtype, options_); break;
      case Function::dot: result_ = dot(x_, y_, what_.dtype, options_); break;
      case Function::mean: result_ = mean(x_, what_.dtype, options_); break;
      case Function::norm2: result_ = norm2(x_, what_.dtype, options_); break;
      case Function::variance: result_ = variance(x_, what_.dtype, options_); break;
      case Function::standard_deviation: result_ = standard_deviation(x_, what_.dtype, options_); break;
    }
  }

  SumCase what_;
  Expected& expected_;
  SumOptions options_;
  std::uint64_t half_;  // bytes of x where there is a y
  Buffer<std::byte> x_;
  Buffer<std::byte> y_;
  SumResult result_;
};

}  // namespace

Measurements sum_suite(const Request& request) {
  refuse_strategies(request, "sum");
  Runner runner(request, {"kernel", "call"}, {"kernel", "call"});
  for (const SumCase& what : request.selection.chosen_cases(std::span<const SumCase>(cases))) {
    for (const auto& size : runner.devices_by_count(size_of(what.dtype))) {
      runner.next_group();
      for (const std::string_view distribution : Selection::chosen("--distribution", request.selection.distributions,
                                                                   distributions, usual_distributions_of_sums)) {
        const bool bits = distribution == "wide" || distribution == "cancelling" || distribution == "subnormal";
        if (bits && !is_float(what.dtype)) continue;
        const std::uint64_t count =
            what.row == 0 ? size.first : std::max<std::uint64_t>(size.first / what.row, 1) * what.row;
        const Input input = input_of(what, what.function == Function::dot ? 2 * count : count, distribution);
        Expected expected(what, input);
        Row row = ordering_row(what.name, input, distribution);
        row.count = count;
        runner.measure(size.second, row,
                       [&](const Device& device) { return Summing(what, input, expected, device, runner.ceilings()); });
      }
    }
  }
  return runner.finish();
}

}  // namespace masu::bench
