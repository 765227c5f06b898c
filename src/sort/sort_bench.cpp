// SPDX-License-Identifier: Apache-2.0
// How fast keys are sorted. Axes: device, case, number of keys, distribution, algorithm, CPU threads. Every result is
// checked before it is timed; masu and the plain copy of the same bytes take turns.
#include <masu/group.h>
#include <masu/sort.h>

#include "bench/ordering.h"
#include "bench/runner.h"
#include "bench/sort_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace masu::bench {
namespace {

using Kind = SortCase::Kind;

// What is sorted: the same for every device.
struct Keys {
  Keys(const SortCase& case_, std::uint64_t count, std::string_view distribution)
      : what(case_),
        input(ordering_input(case_.dtype, count, distribution)),
        offsets(case_.offsets(count)),
        facts(key_facts(input.view(), offsets)) {}

  SortCase what;
  Input input;
  std::vector<std::uint64_t> offsets;
  KeyFacts facts;
};

// Sorting of one input on one device, as the public functions on device memory do it; temporary memory is allocated
// before.
class Sorting : public Work {
 public:
  Sorting(const Keys& keys, const Device& device, const SortOptions& options, Runner& runner)
      : keys_(keys),
        device_(device),
        options_(options),
        runner_(runner),
        source_(device.upload(keys.input.bytes())),
        stream_(device) {
    if (keys.what.kind == Kind::rows) options_.rows = keys.offsets.size() - 1;
    if (keys.what.kind == Kind::segments) options_.segments = keys.offsets;
  }

  double run() override {
    Times times;
    options_.times = &times;
    sort_once();
    options_.times = nullptr;
    return times.compute;
  }
  void call() override { sort_once(); }
  double ceiling() override {
    if (device_.kind() == DeviceKind::cpu) return copy_on_cpu();
    DeviceCopy& copy = runner_.ceilings().copying(plain_source(), plain_target());
    return copy.copy(stream_, plain_source(), plain_target()).seconds();
  }
  [[nodiscard]] std::string strategy() const override { return std::string(to_string(options_.algorithm)); }
  [[nodiscard]] std::uint64_t scratch() const override { return workspace_ ? workspace_->size() : 0; }

 protected:
  virtual void sort_once() = 0;
  // What the ceiling copies: as many bytes as are sorted.
  virtual const Buffer<std::byte>& plain_source() = 0;
  virtual Buffer<std::byte>& plain_target() = 0;

  [[nodiscard]] std::uint64_t workspace_for(std::size_t value_bytes) const {
    return sort_workspace(device_, keys_.what.dtype, keys_.input.view().count, value_bytes, options_);
  }
  void use_workspace(std::uint64_t bytes) {
    if (device_.kind() == DeviceKind::cpu) return;
    workspace_.emplace(device_, std::max<std::uint64_t>(bytes, 16));
    options_.workspace = &*workspace_;
  }
  void differs(const std::string& name) const {
    throw WrongResult("bench: " + name + ": the result is not the sorted input");
  }
  [[nodiscard]] const ArrayView keys() const { return keys_.input.view(); }

  const Keys& keys_;
  Device device_;
  SortOptions options_;
  Runner& runner_;
  Buffer<std::byte> source_;
  Stream stream_;

 private:
  double copy_on_cpu() {
    const auto span = [](const Buffer<std::byte>& buffer) {
      return std::span(static_cast<std::byte*>(buffer.native()) + buffer.byte_offset(), buffer.size());
    };
    return copy_plainly(span(plain_source()), span(plain_target()));
  }
  std::optional<Buffer<std::byte>> workspace_;
};

// Keys alone, whole or by rows or segments: from the source to a result; on `cpu`, as its peers do, in place, from a
// fresh copy each time.
class KeySorting final : public Sorting {
 public:
  KeySorting(const Keys& keys, const Device& device, const SortOptions& options, Runner& runner)
      : Sorting(keys, device, options, runner), result_(device, source_.size()) {
    use_workspace(workspace_for(0));
  }
  void prepare() override {
    if (!in_place_) return;
    stream_.copy(result_, source_);
    stream_.finish();
  }
  void check(const std::string& name) override {
    const ArrayView sorted(keys_.what.dtype, runner_.mirror().read(result_), keys().count);
    if (!rises(sorted, keys_.offsets) || key_facts(sorted, keys_.offsets) != keys_.facts) differs(name);
  }

 private:
  void sort_once() override {
    if (in_place_) sort(result_, keys_.what.dtype, options_);
    else sort(source_, keys_.what.dtype, result_, options_);
  }
  const Buffer<std::byte>& plain_source() override { return source_; }
  Buffer<std::byte>& plain_target() override { return result_; }

  const bool in_place_ = device_.kind() == DeviceKind::cpu;
  Buffer<std::byte> result_;
};

// Keys and, as values, their places: in place, from a fresh copy each time.
class PairSorting final : public Sorting {
 public:
  PairSorting(const Keys& keys, const Device& device, const SortOptions& options, Runner& runner)
      : Sorting(keys, device, options, runner),
        both_(device, keys.input.view().count * keys.what.element_bytes()),
        work_(device, both_.size()),
        sorted_keys_(work_.slice(0, source_.size())),
        values_(work_.slice(source_.size(), both_.size() - source_.size())) {
    const std::uint64_t count = keys.input.view().count;
    const Input places(Dtype::u32, count, fmt::format("iota:u32:{}", count));
    both_.slice(0, source_.size()).copy_from(source_);
    both_.slice(source_.size(), places.bytes().size()).write(places.bytes());
    use_workspace(workspace_for(keys.what.value_bytes()));
  }
  void prepare() override {
    stream_.copy(work_, both_);
    stream_.finish();
  }
  void check(const std::string& name) override {
    const std::byte* both = runner_.mirror().read(work_);
    const std::span indices(reinterpret_cast<const std::uint32_t*>(both + source_.size()), keys().count);
    const ArrayView sorted(keys_.what.dtype, both, keys().count);
    if (!is_stable_order(keys(), indices) || !is_gathered(sorted, keys(), indices)) differs(name);
  }

 private:
  void sort_once() override {
    sort_by_key(sorted_keys_, keys_.what.dtype, values_, keys_.what.value_bytes(), options_);
  }
  const Buffer<std::byte>& plain_source() override { return both_; }
  Buffer<std::byte>& plain_target() override { return work_; }

  Buffer<std::byte> both_;
  Buffer<std::byte> work_;
  Buffer<std::byte> sorted_keys_;
  Buffer<std::byte> values_;
};

// The order of keys, as u32. The plain copy is of the keys' bytes.
class Ordering final : public Sorting {
 public:
  Ordering(const Keys& keys, const Device& device, const SortOptions& options, Runner& runner)
      : Sorting(keys, device, options, runner),
        indices_(device, keys.input.view().count * sizeof(std::uint32_t)),
        target_(device, source_.size()) {
    use_workspace(argsort_workspace(device_, keys.what.dtype, keys.input.view().count, Dtype::u32, options_));
  }
  void check(const std::string& name) override {
    const auto* indices = reinterpret_cast<const std::uint32_t*>(runner_.mirror().read(indices_));
    if (!is_stable_order(keys(), {indices, keys().count})) differs(name);
  }

 private:
  void sort_once() override { argsort(source_, keys_.what.dtype, indices_, Dtype::u32, options_); }
  const Buffer<std::byte>& plain_source() override { return source_; }
  Buffer<std::byte>& plain_target() override { return target_; }

  Buffer<std::byte> indices_;
  Buffer<std::byte> target_;
};

// Ids of as many groups as their dtype has numbers.
class Grouping final : public Sorting {
 public:
  Grouping(const Keys& keys, const Device& device, const SortOptions& options, Runner& runner)
      : Sorting(keys, device, options, runner),
        counts_(device, std::uint64_t{1} << 8 * size_of(keys.what.dtype)),
        offsets_(device, counts_.size() + 1),
        order_(device, keys.input.view().count * sizeof(std::uint32_t)),
        target_(device, source_.size()) {
    const std::uint64_t count = keys.input.view().count;
    use_workspace(group_workspace(device, keys.what.dtype, count, counts_.size(), Dtype::u32));
  }
  void check(const std::string& name) override {
    const auto* order = reinterpret_cast<const std::uint32_t*>(runner_.mirror().read(order_));
    if (!is_stable_order(keys(), {order, keys().count})) differs(name);
    std::vector<std::uint64_t> offsets(offsets_.size());
    dispatch(keys_.what.dtype, [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_integral_v<T>) {
        const auto* ids = static_cast<const T*>(keys().data);
        for (std::uint64_t i = 0; i < keys().count; ++i) ++offsets[static_cast<std::size_t>(ids[i]) + 1];
      }
    });
    const bool counted = std::equal(offsets.begin() + 1, offsets.end(), counts_.read().begin());
    for (std::size_t g = 1; g < offsets.size(); ++g) offsets[g] += offsets[g - 1];
    if (!counted || offsets != offsets_.read()) differs(name);
  }

 private:
  void sort_once() override {
    group(source_, keys_.what.dtype, {counts_, offsets_, order_, Dtype::u32},
          {.workspace = options_.workspace, .times = options_.times});
  }
  const Buffer<std::byte>& plain_source() override { return source_; }
  Buffer<std::byte>& plain_target() override { return target_; }

  Buffer<std::uint64_t> counts_;
  Buffer<std::uint64_t> offsets_;
  Buffer<std::byte> order_;
  Buffer<std::byte> target_;
};

std::unique_ptr<Work> make_work(const Keys& keys, const Device& device, const SortOptions& options, Runner& runner) {
  if (keys.what.kind == Kind::pairs) return std::make_unique<PairSorting>(keys, device, options, runner);
  if (keys.what.kind == Kind::group) return std::make_unique<Grouping>(keys, device, options, runner);
  if (keys.what.kind == Kind::argsort) return std::make_unique<Ordering>(keys, device, options, runner);
  return std::make_unique<KeySorting>(keys, device, options, runner);
}

class SortSuite {
 public:
  explicit SortSuite(const Request& request)
      : request_(request),
        runner_(request, {"kernel", "call"}, {"kernel", "call"}),
        cases_(request.selection.chosen_cases(sort_cases())) {
    if (request.ladder)
      throw Error(ErrorCode::invalid_argument, "bench: only histogram has a --ladder, got it for sort");
    for (const std::string& name : request.strategies) algorithms_.push_back(sort_algorithm_from_name(name));
    if (algorithms_.empty()) algorithms_.push_back(SortAlgorithm::automatic);
  }

  Measurements run() {
    for (const SortCase& what : cases_) {
      for (const auto& [count, devices] : runner_.devices_by_count(what.element_bytes())) {
        runner_.next_group();
        for (const std::string_view distribution :
             ordering_distributions_of(what.dtype, request_.selection.distributions)) {
          const Keys keys(what, what.whole(count), distribution);
          const Row row = sort_row(what, keys.input, distribution);
          for (const Device& device : devices) measure_on(device, keys, row);
        }
      }
    }
    return runner_.finish();
  }

 private:
  void measure_on(const Device& device, const Keys& keys, const Row& row) {
    for (const SortAlgorithm algorithm : algorithms_) {
      runner_.on_device(device, row, [&](const Row& one) {
        Row asked = one;
        if (!request_.strategies.empty()) asked.asked = to_string(algorithm);
        SortOptions options;
        options.algorithm = algorithm;
        const auto work = make_work(keys, device, options, runner_);
        runner_.measure(asked, *work);
      });
    }
  }

  const Request& request_;
  Runner runner_;
  std::vector<SortCase> cases_;
  std::vector<SortAlgorithm> algorithms_;
};

}  // namespace

Measurements sort_suite(const Request& request) {
  return SortSuite(request).run();
}

}  // namespace masu::bench
