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
#include <optional>
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

class Searching final : public Work {
 public:
  Searching(const SearchCase& what, const Input& sorted, const Input& values, const Device& device, Ceilings& ceilings)
      : what_(what),
        host_sorted_(sorted),
        host_values_(values),
        ceilings_(ceilings),
        sorted_(device.upload(sorted.bytes())),
        values_(device.upload(values.bytes())),
        positions_(device, values.view().count),
        stream_(device) {
    if (device.kind() == DeviceKind::cpu) here_.emplace(values.bytes());
  }
  double run() override {
    Times times;
    find(&times);
    return times.compute;
  }
  void call() override { find(nullptr); }
  double ceiling() override {
    if (here_) return here_->read(host_values_.bytes());
    return ceilings_.reading(values_, host_values_.bytes()).read(stream_, values_).seconds();
  }
  void check(const std::string& name) override {
    const bool right = dispatch(what_.dtype, [&](auto tag) {
      return is_right<typename decltype(tag)::type>(host_sorted_.view(), host_values_.view(), positions_.read());
    });
    if (!right) throw WrongResult("bench: " + name + ": a place is not that of a binary search");
  }

 private:
  void find(Times* times) { searchsorted(sorted_, values_, what_.dtype, positions_, Dtype::u64, {.times = times}); }

  SearchCase what_;
  const Input& host_sorted_;
  const Input& host_values_;
  Ceilings& ceilings_;
  Buffer<std::byte> sorted_;
  Buffer<std::byte> values_;
  Buffer<std::uint64_t> positions_;
  Stream stream_;
  std::optional<CpuCeiling> here_;
};

}  // namespace

Measurements search_suite(const Request& request) {
  if (request.ladder || !request.strategies.empty()) {
    throw Error(ErrorCode::invalid_argument, "bench: search has no strategies and no --ladder");
  }
  Runner runner(request, {"kernel", "call"}, {"kernel", "call"});
  for (const SearchCase& what : request.selection.chosen_cases(search_cases())) {
    for (const Device& device : request.devices) {
      const auto counts = device.info().gpu ? request.selection.counts(size_of(what.dtype), gpu_counts)
                                            : request.selection.counts(size_of(what.dtype), other_counts);
      for (const std::uint64_t count : counts) {
        runner.next_group();
        for (const std::string_view distribution :
             ordering_distributions_of(what.dtype, request.selection.distributions)) {
          const Input sorted = search_sorted(what, distribution);
          const Input values = ordering_input(what.dtype, count, distribution);
          const Row row = ordering_row(what.name, values, distribution);
          runner.on_device(device, row, [&](const Row& one) {
            Searching work(what, sorted, values, device, runner.ceilings());
            runner.measure(one, work);
          });
        }
      }
    }
  }
  return runner.finish();
}

}  // namespace masu::bench
