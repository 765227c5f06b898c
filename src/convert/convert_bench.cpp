// SPDX-License-Identifier: Apache-2.0
// How fast elements are converted. Axes: device, case (both dtypes), number of elements, CPU threads. Every result is
// checked before it is timed; plain copying of as many bytes as are read and written is the ceiling.
#include <masu/convert.h>

#include "bench/moving.h"
#include "bench/ordering.h"
#include "bench/runner.h"
#include "convert/convert_plan.h"

#include <array>
#include <cstring>
#include <optional>

namespace masu::bench {
namespace {

struct ConvertCase {
  std::string_view name;
  Dtype from;
  Dtype to;
  Overflow overflow = Overflow::error;
  Rounding rounding = Rounding::nearest_even;
  bool usual = true;
};

constexpr std::array<ConvertCase, 19> cases = {{
    {"u8-to-f32", Dtype::u8, Dtype::f32},
    {"u16-to-f32", Dtype::u16, Dtype::f32},
    {"i32-to-f32", Dtype::i32, Dtype::f32},
    {"f32-to-u8", Dtype::f32, Dtype::u8},
    {"f32-to-u8-saturate", Dtype::f32, Dtype::u8, Overflow::saturate},
    {"f32-to-i32", Dtype::f32, Dtype::i32},
    {"f32-to-f16", Dtype::f32, Dtype::f16},
    {"f16-to-f32", Dtype::f16, Dtype::f32},
    {"f32-to-f64", Dtype::f32, Dtype::f64},
    {"f64-to-f32", Dtype::f64, Dtype::f32},
    {"f64-to-f16", Dtype::f64, Dtype::f16},
    {"i64-to-f64", Dtype::i64, Dtype::f64},
    {"i64-to-i32-wrap", Dtype::i64, Dtype::i32, Overflow::wrap},
    {"u8-to-i8-saturate", Dtype::u8, Dtype::i8, Overflow::saturate},
    {"i32-to-u8-saturate", Dtype::i32, Dtype::u8, Overflow::saturate},
    {"f32-to-f16-zero", Dtype::f32, Dtype::f16, Overflow::error, Rounding::zero, false},
    {"f64-to-f32-up", Dtype::f64, Dtype::f32, Overflow::error, Rounding::up, false},
    {"f32-to-u8-wrap", Dtype::f32, Dtype::u8, Overflow::wrap, Rounding::nearest_even, false},
    {"u8-to-f64", Dtype::u8, Dtype::f64, Overflow::error, Rounding::nearest_even, false},
}};

class Converting final : public Moving {
 public:
  Converting(Runner& runner, const Device& device, const ConvertCase& what, const Input& in)
      : Moving(runner, device, in.bytes(), in.view().count * size_of(what.to)),
        what_(what),
        count_(in.view().count),
        rule_(make_rule(what.from, what.to, what.overflow, what.rounding)) {
    if (convert_workspace(device) != 0) workspace_.emplace(device, convert_workspace(device));
  }
  double run() override {
    Times times;
    change(&times);
    return times.compute;
  }
  void call() override { change(nullptr); }

 private:
  void change(Times* times) {
    ConvertOptions options{.overflow = what_.overflow, .rounding = what_.rounding, .times = times};
    if (workspace_) options.workspace = &*workspace_;
    convert(source_, what_.from, target_, what_.to, options);
  }
  [[nodiscard]] bool is_right(const std::byte* result, std::uint64_t i) const override {
    std::uint64_t bits = 0;
    std::memcpy(&bits, in_.data() + i * size_of(what_.from), size_of(what_.from));
    bool bad = false;
    const std::uint64_t right = convert_bits(rule_, bits, bad);
    return std::memcmp(result + i * size_of(what_.to), &right, size_of(what_.to)) == 0;
  }
  [[nodiscard]] std::uint64_t result_count() const override { return count_; }

  ConvertCase what_;
  std::uint64_t count_;
  ConvertRule rule_;
  std::optional<Buffer<std::byte>> workspace_;
};

}  // namespace

Measurements convert_suite(const Request& request) {
  refuse_strategies(request, "convert");
  Runner runner(request, {"kernel", "call"}, {"kernel", "call"});
  for (const ConvertCase& what : request.selection.chosen_cases(std::span<const ConvertCase>(cases))) {
    for (const auto& [count, devices] : runner.devices_by_count(size_of(what.from))) {
      runner.next_group();
      const Input in = ordering_input(what.from, count, "uniform");
      Row row = ordering_row(what.name, in, "uniform");
      row.details["to"] = to_string(what.to);
      runner.measure(devices, row, [&](const Device& device) { return Converting(runner, device, what, in); });
    }
  }
  return runner.finish();
}

}  // namespace masu::bench
