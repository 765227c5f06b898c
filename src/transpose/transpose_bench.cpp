// SPDX-License-Identifier: Apache-2.0
// How fast matrices are transposed. Axes: device, case (bytes of an element and shape), number of elements, CPU
// threads. Every result is checked before it is timed; plain copying of the same bytes is the ceiling.
#include <masu/transpose.h>

#include "bench/moving.h"
#include "bench/ordering.h"
#include "bench/runner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace masu::bench {
namespace {

enum class Form {
  square,  // as many rows as columns, a power of two where the count is
  odd,     // about square, prime-like: no row begins at a whole word
  tall,    // 3 columns
  wide,    // 40 rows
  in_place
};

struct TransposeCase {
  std::string_view name;
  std::size_t bytes;
  Form form;
  bool usual = true;
};

constexpr std::array<TransposeCase, 18> cases = {{{"1-square", 1, Form::square},
                                                  {"2-square", 2, Form::square},
                                                  {"4-square", 4, Form::square},
                                                  {"8-square", 8, Form::square},
                                                  {"16-square", 16, Form::square},
                                                  {"1-odd", 1, Form::odd},
                                                  {"2-odd", 2, Form::odd},
                                                  {"4-odd", 4, Form::odd},
                                                  {"8-odd", 8, Form::odd},
                                                  {"16-odd", 16, Form::odd},
                                                  {"1-tall", 1, Form::tall},
                                                  {"2-tall", 2, Form::tall},
                                                  {"4-tall", 4, Form::tall},
                                                  {"16-tall", 16, Form::tall},
                                                  {"4-wide", 4, Form::wide},
                                                  {"4-in-place", 4, Form::in_place},
                                                  {"3-square", 3, Form::square},
                                                  {"12-square", 12, Form::square}}};

struct Shape {
  std::uint64_t rows;
  std::uint64_t columns;
};

Shape shape_of(Form form, std::uint64_t count) {
  const std::uint64_t edge = std::bit_floor(static_cast<std::uint64_t>(std::sqrt(static_cast<double>(count))));
  switch (form) {
    case Form::tall: return {std::max<std::uint64_t>(count / 3, 2), 3};
    case Form::wide: return {40, std::max<std::uint64_t>(count / 40, 2)};
    case Form::odd: return {edge | 1, (std::max<std::uint64_t>(count / (edge | 1), 3) - 2) | 1};
    case Form::in_place: return {edge, edge};
    default: return {edge, std::max<std::uint64_t>(count / edge, 1)};
  }
}

class Transposing final : public Moving {
 public:
  Transposing(Runner& runner, const Device& device, const TransposeCase& what, Shape shape,
              std::span<const std::byte> in)
      : Moving(runner, device, in, in.size()), what_(what), shape_(shape) {}
  void prepare() override {
    if (what_.form == Form::in_place) target_.copy_from(source_);
  }
  double run() override {
    Times times;
    turn({.times = &times});
    return times.compute;
  }
  void call() override { turn({}); }

 private:
  void turn(const TransposeOptions& options) {
    transpose(what_.form == Form::in_place ? target_ : source_, what_.bytes, shape_.rows, shape_.columns, target_,
              options);
  }
  [[nodiscard]] bool is_right(const std::byte* result, std::uint64_t i) const override {
    const std::uint64_t from = i % shape_.rows * shape_.columns + i / shape_.rows;
    return std::memcmp(result + i * what_.bytes, in_.data() + from * what_.bytes, what_.bytes) == 0;
  }
  [[nodiscard]] std::uint64_t result_count() const override { return shape_.rows * shape_.columns; }

  TransposeCase what_;
  Shape shape_;
};

}  // namespace

Measurements transpose_suite(const Request& request) {
  refuse_strategies(request, "transpose");
  Runner runner(request, {"kernel", "call"}, {"kernel", "call"});
  for (const TransposeCase& what : request.selection.chosen_cases(std::span<const TransposeCase>(cases))) {
    for (const auto& [count, devices] : runner.devices_by_count(what.bytes)) {
      runner.next_group();
      const Shape shape = shape_of(what.form, count);
      const std::uint64_t elements = shape.rows * shape.columns;
      const Input in = ordering_input(Dtype::u8, elements * what.bytes, "uniform");
      Row row = ordering_row(what.name, in, "uniform");
      row.count = elements;
      row.details["shape"] = {shape.rows, shape.columns};
      runner.measure(devices, row,
                     [&](const Device& device) { return Transposing(runner, device, what, shape, in.bytes()); });
    }
  }
  return runner.finish();
}

}  // namespace masu::bench
