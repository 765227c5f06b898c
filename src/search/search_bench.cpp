// SPDX-License-Identifier: Apache-2.0
// How fast values are sought in sorted data. Axes: device, case (dtype and size of the sorted data), number of values,
// distribution of both, CPU threads. Every result is checked before it is timed. The plain reading that a row is held
// against is that of the values' bytes.
#include <masu/search.h>

#include "bench/ordering.h"
#include "bench/runner.h"
#include "unique/unique_reference.h"

#include <algorithm>
#include <array>
#include <vector>

namespace masu::bench {
namespace {

constexpr std::array<std::string_view, 2> gpu_counts = {"64Mi", "1000"};
constexpr std::array<std::string_view, 2> other_counts = {"4Mi", "1000"};

// At most this many answers are checked by a binary search each, spread over all.
constexpr std::uint64_t checked = std::uint64_t{1} << 20;

template <class T>
bool is_right(const ArrayView& sorted, const ArrayView& values, const std::vector<std::uint64_t>& positions) {
  const auto* first = static_cast<const T*>(sorted.data);
  const auto* sought = static_cast<const T*>(values.data);
  const std::uint64_t stride = values.count / checked + 1;
  for (std::uint64_t i = 0; i < values.count; i += stride) {
    const T* place = std::lower_bound(first, first + sorted.count, sought[i], reference::less<T>);
    if (positions[i] != static_cast<std::uint64_t>(place - first)) return false;
  }
  return true;
}

class Searching final : public Reading {
 public:
  Searching(const SearchCase& what, const Input& sorted, const Input& values, const Device& device, Ceilings& ceilings)
      : Reading(values.bytes(), device, ceilings),
        what_(what),
        host_sorted_(sorted),
        host_values_(values),
        sorted_(device.upload(sorted.bytes())),
        positions_(device, values.view().count) {}
  void check(const std::string& name) override {
    const bool right = dispatch(what_.dtype, [&](auto tag) {
      return is_right<typename decltype(tag)::type>(host_sorted_.view(), host_values_.view(), positions_.read());
    });
    if (!right) throw WrongResult("bench: " + name + ": a place is not that of a binary search");
  }

 private:
  void once(Times* times) override {
    searchsorted(sorted_, data(), what_.dtype, positions_, Dtype::u64, {.times = times});
  }

  SearchCase what_;
  const Input& host_sorted_;
  const Input& host_values_;
  Buffer<std::byte> sorted_;
  Buffer<std::uint64_t> positions_;
};

}  // namespace

Measurements search_suite(const Request& request) {
  refuse_strategies(request, "search");
  Runner runner(request, {"kernel", "call"}, {"kernel", "call"});
  const auto measure = [&](const SearchCase& what, const Device& device, std::string_view distribution,
                           std::uint64_t count) {
    const Input sorted = search_sorted(what, distribution);
    const Input values = ordering_input(what.dtype, count, distribution);
    runner.measure({&device, 1}, ordering_row(what.name, values, distribution),
                   [&](const Device&) { return Searching(what, sorted, values, device, runner.ceilings()); });
  };
  return each_ordering(request, runner, search_cases(), gpu_counts, other_counts, measure);
}

}  // namespace masu::bench
