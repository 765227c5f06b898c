// SPDX-License-Identifier: Apache-2.0
// How fast runs and distinct values are found. Axes: device, case, number of elements, distribution, CPU threads. Every
// result is checked before it is timed; masu and the plain reading of the same bytes take turns.
#include <masu/unique.h>

#include "bench/ordering.h"
#include "bench/runner.h"
#include "elements/order.h"
#include "unique/unique_reference.h"

#include <array>
#include <bit>
#include <optional>
#include <vector>

namespace masu::bench {
namespace {

constexpr std::array<std::string_view, 2> gpu_counts = {"256Mi", "16Mi"};
constexpr std::array<std::string_view, 1> other_counts = {"16Mi"};

// A sum over elements, each taken as often as it occurs, that their order does not change. What is equal adds the same.
template <class T>
std::uint64_t mixed(T x) {
  std::uint64_t bits = 0;
  if (reference::same(x, T{})) x = T{};
  if (!(reference::number(x) == reference::number(x))) return 0x9e3779b97f4a7c15U;
  std::memcpy(&bits, &x, sizeof(T));
  bits = (bits + 1) * 0x9e3779b97f4a7c15U;
  return (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9U;
}

template <class T>
bool is_right(const ArrayView& data, const DeviceRuns<std::byte>& found) {
  const auto* elements = static_cast<const T*>(data.data);
  const std::vector<T> values = Buffer<T>(detail::typed<T>(found.values)).read();
  const std::vector<std::uint64_t> lengths = found.lengths.read();
  const std::vector<std::uint64_t> starts = found.starts.read();
  std::uint64_t e = 0;
  for (std::size_t r = 0; r < values.size(); ++r) {
    if (starts[r] != e || lengths[r] == 0 || lengths[r] > data.count - e) return false;
    if (std::bit_cast<UnsignedOf<sizeof(T)>>(values[r]) != std::bit_cast<UnsignedOf<sizeof(T)>>(elements[e]))
      return false;
    if (e != 0 && reference::same(elements[e - 1], elements[e])) return false;
    for (const std::uint64_t end = e + lengths[r]; ++e < end;) {
      if (!reference::same(elements[e - 1], elements[e])) return false;
    }
  }
  return e == data.count;
}

template <class T>
bool is_right(const ArrayView& data, const DeviceUnique<std::byte>& found) {
  const auto* elements = static_cast<const T*>(data.data);
  const std::vector<T> values = Buffer<T>(detail::typed<T>(found.values)).read();
  const std::vector<std::uint64_t> counts = found.counts.read();
  std::uint64_t expected = 0;
  for (std::uint64_t e = 0; e < data.count; ++e) expected += mixed(elements[e]);
  std::uint64_t sum = 0;
  std::uint64_t count = 0;
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (v != 0 && !reference::less(values[v - 1], values[v])) return false;
    sum += mixed(values[v]) * counts[v];
    count += counts[v];
  }
  return sum == expected && count == data.count;
}

// One operation on device memory. `Result`: DeviceRuns or DeviceUnique of bytes.
template <class Result>
class Finding final : public Reading {
 public:
  Finding(const UniqueCase& what, const Input& input, const Device& device, Ceilings& ceilings)
      : Reading(input.bytes(), device, ceilings), what_(what), input_(input) {}
  void check(const std::string& name) override {
    const bool right = dispatch(
        what_.dtype, [&](auto tag) { return is_right<typename decltype(tag)::type>(input_.view(), *result_); });
    if (!right) throw WrongResult("bench: " + name + ": the result is not that of the input");
  }

 private:
  void once(Times* times) override {
    result_.reset();
    if constexpr (std::is_same_v<Result, DeviceRuns<std::byte>>) {
      result_.emplace(run_length(data(), what_.dtype, {.times = times}));
    } else {
      result_.emplace(unique(data(), what_.dtype, {.times = times}));
    }
  }

  UniqueCase what_;
  const Input& input_;
  std::optional<Result> result_;
};

}  // namespace

Measurements unique_suite(const Request& request) {
  refuse_strategies(request, "unique");
  Runner runner(request, {"kernel", "call"}, {"kernel", "call"});
  const auto measure = [&](const UniqueCase& what, const Device& device, std::string_view distribution,
                           std::uint64_t count) {
    const Input input = ordering_input(what.dtype, count, distribution);
    runner.on_device(device, ordering_row(what.name, input, distribution), [&](const Row& row) {
      if (what.runs) {
        Finding<DeviceRuns<std::byte>> work(what, input, device, runner.ceilings());
        runner.measure(row, work);
      } else {
        Finding<DeviceUnique<std::byte>> work(what, input, device, runner.ceilings());
        runner.measure(row, work);
      }
    });
  };
  return each_ordering(request, runner, unique_cases(), gpu_counts, other_counts, measure);
}

}  // namespace masu::bench
