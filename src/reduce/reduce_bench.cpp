// SPDX-License-Identifier: Apache-2.0
// How fast extremes are found and elements are counted that are not zero. Axes: device, case, number of elements,
// distribution, CPU threads. Every result is checked before it is timed; masu and the plain reading of the same bytes
// take turns.
#include <masu/reduce.h>

#include "bench/ordering.h"
#include "bench/runner.h"
#include "unique/unique_reference.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace masu::bench {
namespace {

struct ReduceCase {
  std::string_view name;
  Dtype dtype;
  ReduceOp op;
  bool usual = false;
  NanPolicy nan = NanPolicy::propagate;
  std::uint64_t row = 0;  // elements of a row; 0: all
};

// A place is found with each extreme, so `argmin` is `min`. Cases of one dtype stand together: they share the input.
constexpr auto cases = std::to_array<ReduceCase>({
    {"f32-min", Dtype::f32, ReduceOp::min, true},
    {"f32-minmax", Dtype::f32, ReduceOp::minmax, true},
    {"f32-nanmin", Dtype::f32, ReduceOp::min, false, NanPolicy::skip},
    {"f32-count-nonzero", Dtype::f32, ReduceOp::count_nonzero, true},
    {"f32-min-rows-of-64", Dtype::f32, ReduceOp::min, false, NanPolicy::propagate, 64},
    {"f32-min-rows-of-64Ki", Dtype::f32, ReduceOp::min, false, NanPolicy::propagate, 1 << 16},
    {"f64-min", Dtype::f64, ReduceOp::min, true},
    {"f64-minmax", Dtype::f64, ReduceOp::minmax},
    {"f16-min", Dtype::f16, ReduceOp::min},
    {"u8-max", Dtype::u8, ReduceOp::max, true},
    {"u8-minmax", Dtype::u8, ReduceOp::minmax},
    {"u8-count-nonzero", Dtype::u8, ReduceOp::count_nonzero},
    {"i32-max", Dtype::i32, ReduceOp::max},
    {"u64-max", Dtype::u64, ReduceOp::max},
});

template <class T>
bool is_number(T x) {
  return reference::number(x) == reference::number(x);
}

template <class T>
bool same_bits(T a, T b) {
  using Bytes = std::array<std::byte, sizeof(T)>;
  return std::bit_cast<Bytes>(a) == std::bit_cast<Bytes>(b);
}

// Against a plain loop, row by row.
template <class T>
bool is_right(const ArrayView& data, const ReduceCase& what, std::uint64_t rows, const ReduceResult& found) {
  const std::uint64_t row = data.count / rows;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const T* x = static_cast<const T*>(data.data) + r * row;
    std::uint64_t nonzero = 0;
    std::uint64_t places[2] = {row, row};
    bool has_nan = false;
    for (std::uint64_t i = 0; i < row && !has_nan; ++i) {
      nonzero += reference::number(x[i]) != 0 ? 1 : 0;
      if (!is_number(x[i])) {
        has_nan = what.nan == NanPolicy::propagate && what.op != ReduceOp::count_nonzero;
        if (has_nan) places[0] = places[1] = i;
        continue;
      }
      if (places[0] == row || reference::number(x[i]) < reference::number(x[places[0]])) places[0] = i;
      if (places[1] == row || reference::number(x[i]) > reference::number(x[places[1]])) places[1] = i;
    }
    if (what.op == ReduceOp::count_nonzero) {
      if (found.nonzero()[r] != nonzero) return false;
      continue;
    }
    if (places[0] == row) continue;  // NaNs alone
    const bool least =
        what.op == ReduceOp::max || (found.min_indices()[r] == places[0] && same_bits(found.min<T>(r), x[places[0]]));
    const bool greatest =
        what.op == ReduceOp::min || (found.max_indices()[r] == places[1] && same_bits(found.max<T>(r), x[places[1]]));
    if (!least || !greatest) return false;
  }
  return true;
}

class Reducing final : public Reading {
 public:
  Reducing(const ReduceCase& what, const Input& input, const Device& device, Ceilings& ceilings)
      : Reading(input.bytes(), device, ceilings), what_(what), input_(input) {
    options_.nan = what.nan;
    if (what.row != 0) options_.rows = input.view().count / what.row;
  }
  void check(const std::string& name) override {
    const bool right = dispatch(what_.dtype, [&](auto tag) {
      return is_right<typename decltype(tag)::type>(input_.view(), what_, options_.rows, result_);
    });
    if (!right) throw WrongResult("bench: " + name + ": the result is not that of a plain loop");
  }

 private:
  void once(Times* times) override {
    options_.times = times;
    result_ = reduce(data(), what_.dtype, what_.op, options_);
  }

  ReduceCase what_;
  const Input& input_;
  ReduceOptions options_;
  ReduceResult result_;
};

}  // namespace

Measurements reduce_suite(const Request& request) {
  refuse_strategies(request, "reduce");
  Runner runner(request, {"kernel", "call"}, {"kernel", "call"});
  const std::vector<std::string>& wanted = request.selection.distributions;
  std::optional<Input> input;  // that of the case before, where it serves this one too
  std::string made;
  for (const ReduceCase& what : request.selection.chosen_cases(std::span<const ReduceCase>(cases))) {
    for (const auto& [count, devices] : runner.devices_by_count(size_of(what.dtype))) {
      runner.next_group();
      const std::uint64_t whole = what.row == 0 ? count : count / what.row * what.row;
      for (const std::string_view distribution :
           ordering_distributions_of(what.dtype, wanted.empty() ? std::vector<std::string>{"uniform"} : wanted)) {
        const std::string key = fmt::format("{} {} {}", to_string(what.dtype), whole, distribution);
        if (key != made) input.emplace(ordering_input(what.dtype, whole, distribution));
        made = key;
        runner.measure(devices, ordering_row(what.name, *input, distribution),
                       [&](const Device& device) { return Reducing(what, *input, device, runner.ceilings()); });
      }
    }
  }
  return runner.finish();
}

}  // namespace masu::bench
