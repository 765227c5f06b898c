// SPDX-License-Identifier: Apache-2.0
// How fast prefixes are summed and compared. Axes: device, case, number of elements, distribution, CPU threads. Every
// result is checked before it is timed; plain copying of the same bytes is the ceiling.
#include <masu/scan.h>

#include "bench/moving.h"
#include "bench/ordering.h"
#include "bench/runner.h"
#include "scan/scan_reference.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace masu::bench {
namespace {

struct ScanCase {
  std::string_view name;
  Dtype dtype;
  ScanOp op;
  bool usual = false;
  bool exclusive = false;
  std::uint64_t row = 0;  // elements of a row; 0: all
  bool wide = false;      // results are i64
};

constexpr auto cases = std::to_array<ScanCase>({
    {"u32-sum", Dtype::u32, ScanOp::sum, true},
    {"u32-sum-exclusive", Dtype::u32, ScanOp::sum, false, true},
    {"u64-sum", Dtype::u64, ScanOp::sum, true},
    {"u8-sum", Dtype::u8, ScanOp::sum, true},
    {"i32-sum-i64", Dtype::i32, ScanOp::sum, true, false, 0, true},
    {"u8-sum-i64", Dtype::u8, ScanOp::sum, false, false, 0, true},
    {"i32-max", Dtype::i32, ScanOp::max},
    {"f32-max", Dtype::f32, ScanOp::max, true},
    {"f64-min", Dtype::f64, ScanOp::min},
    {"f32-sum", Dtype::f32, ScanOp::sum},
    {"f64-sum", Dtype::f64, ScanOp::sum},
    {"f16-sum", Dtype::f16, ScanOp::sum},
    {"u32-sum-rows-of-1000", Dtype::u32, ScanOp::sum, false, false, 1000},
});

// f(the elements' type, the results')
template <class F>
auto with_types(const ScanCase& what, const F& f) {
  return dispatch(what.dtype, [&](auto tag) {
    if constexpr (std::is_integral_v<typename decltype(tag)::type>) {
      if (what.wide) return f(tag, TypeTag<std::int64_t>());
    }
    return f(tag, tag);
  });
}

// How many first elements are compared with a plain scan. After them, differences of neighbouring sums are compared.
constexpr std::uint64_t scanned_plainly = std::uint64_t{1} << 18;

class Scanning final : public Moving {
 public:
  Scanning(Runner& runner, const Device& device, const ScanCase& what, const Input& input)
      : Moving(runner, device, input.bytes(), input.view().count * size_of(what.wide ? Dtype::i64 : what.dtype)),
        what_(what),
        count_(input.view().count) {
    options_.op = what.op;
    options_.exclusive = what.exclusive;
    if (what.row != 0) options_.rows = count_ / what.row;
    if (what.wide) options_.result = Dtype::i64;
    with_types(what, [&](auto element, auto result) {
      using T = typename decltype(element)::type;
      using R = typename decltype(result)::type;
      const auto* x = static_cast<const T*>(input.view().data);
      std::uint64_t size = std::min(count_, scanned_plainly);
      if (what.row != 0) size = size / what.row * what.row;
      const std::vector<R> front(x, x + size);
      const auto right = reference::scan(front, what.op, what.exclusive, what.row == 0 ? 1 : size / what.row);
      right_.resize(size * sizeof(R));
      std::memcpy(right_.data(), right.data(), right_.size());
    });
  }
  double run() override {
    Times times;
    options_.times = &times;
    scan(source_, what_.dtype, target_, options_);
    options_.times = nullptr;
    return times.compute + times.transfer;
  }
  void call() override { scan(source_, what_.dtype, target_, options_); }

 private:
  [[nodiscard]] bool is_right(const std::byte* result, std::uint64_t i) const override {
    return with_types(what_, [&](auto element, auto sum) {
      using T = typename decltype(element)::type;
      using R = typename decltype(sum)::type;
      const std::size_t at = i * sizeof(R);
      if (at < right_.size()) return std::memcmp(result + at, right_.data() + at, sizeof(R)) == 0;
      if constexpr (std::is_integral_v<T>) {
        if (what_.op == ScanOp::sum) {
          const auto* found = reinterpret_cast<const R*>(result);
          const auto* x = reinterpret_cast<const T*>(in_.data());
          const bool first = what_.row != 0 && i % what_.row == 0;
          const R before = first ? R{0} : found[i - 1];
          const R term = what_.exclusive ? x[i - 1] : x[i];
          return found[i] == static_cast<R>(before + (what_.exclusive && first ? R{0} : term));
        }
      }
      return true;
    });
  }
  [[nodiscard]] std::uint64_t result_count() const override { return count_; }

  ScanCase what_;
  std::uint64_t count_;
  ScanOptions options_;
  std::vector<std::byte> right_;
};

}  // namespace

Measurements scan_suite(const Request& request) {
  refuse_strategies(request, "scan");
  Runner runner(request, {"kernel", "call"}, {"kernel", "call"});
  const std::vector<std::string>& wanted = request.selection.distributions;
  for (const ScanCase& what : request.selection.chosen_cases(std::span<const ScanCase>(cases))) {
    for (const auto& [count, devices] : runner.devices_by_count(size_of(what.dtype))) {
      runner.next_group();
      for (const std::string_view distribution :
           ordering_distributions_of(what.dtype, wanted.empty() ? std::vector<std::string>{"uniform"} : wanted)) {
        const std::uint64_t whole = what.row == 0 ? count : count / what.row * what.row;
        const Input input = ordering_input(what.dtype, whole, distribution);
        const Row row = ordering_row(what.name, input, distribution);
        runner.measure(devices, row, [&](const Device& device) { return Scanning(runner, device, what, input); });
      }
    }
  }
  return runner.finish();
}

}  // namespace masu::bench
