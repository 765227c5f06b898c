// SPDX-License-Identifier: Apache-2.0
// The public functions that merge sorted runs.
#include "call/form.h"
#include "sort/cpu/sort_cpu.h"
#include "sort/device/sort_merge.h"

#include <masu/sort.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu {

namespace {

using call::Operand;

// The runs that have elements.
std::vector<Run> runs_of(std::string_view function, std::span<const std::uint64_t> offsets, std::uint64_t count) {
  if (offsets.size() % 2 != 0) {
    call::refuse(function, fmt::format("runs must be pairs of offsets, got {} of them", offsets.size()));
  }
  const auto place = std::ranges::is_sorted_until(offsets);
  if (place != offsets.end()) {
    call::refuse(function, fmt::format("runs must be non-decreasing offsets, got {} after {} at place {}", *place,
                                       *(place - 1), place - offsets.begin()));
  }
  if (!offsets.empty() && offsets.back() > count) {
    call::refuse(function, fmt::format("runs must end at or before {}, got {}", count, offsets.back()));
  }
  std::vector<Run> runs;
  for (std::size_t r = 0; r < offsets.size(); r += 2) {
    if (offsets[r] != offsets[r + 1]) runs.push_back({offsets[r], offsets[r + 1]});
  }
  return runs;
}

// Keys, and perhaps values that move with them, from one place to another.
class Merge final : public call::Primitive {
 public:
  Merge(std::string_view function, const Operand& keys, const Operand& result, const std::optional<Operand>& values,
        const std::optional<Operand>& result_values, std::span<const std::uint64_t> runs, const SortOptions& options)
      : Primitive(function, nullptr),
        keys_(changes(values ? "keys" : "data", keys)),
        result_(writes(values ? "merged keys" : "result", result)),
        offsets_(runs),
        order_(options.order) {
    if (!values) return;
    values_ = &changes("values", *values);
    result_values_ = &writes("result", *result_values);
  }

 private:
  void check() override {
    runs_ = runs_of(function_name(), offsets_, keys_.count());
    std::uint64_t merged = 0;
    for (const Run& run : runs_) merged += run.size();
    check_count_of(result_, values_ == nullptr ? "data" : "keys", merged);
    if (values_ == nullptr) return;
    if (values_->count() != keys_.count()) {
      refuse(fmt::format("there must be a value for each key, got {} for {} keys", values_->count(), keys_.count()));
    }
    check_count_of(*result_values_, "values", merged);
  }
  void check_count_of(const Operand& result, std::string_view name, std::uint64_t merged) const {
    if (result.count() == merged) return;
    refuse(fmt::format("the result of {} must have the {} elements of the runs, got {}", name, merged, result.count()));
  }
  [[nodiscard]] bool is_empty() const override { return runs_.empty(); }
  void run_on_cpu() override {
    cpu::MergeArrays arrays{static_cast<std::byte*>(keys_.data()), static_cast<std::byte*>(result_.data())};
    if (values_ != nullptr) {
      arrays.values = static_cast<std::byte*>(values_->data());
      arrays.merged_values = static_cast<std::byte*>(result_values_->data());
      arrays.value_bytes = values_->element_bytes();
    }
    cpu::merge_runs(keys_.dtype(), arrays, runs_, order_, cpu::Threads::all);
  }
  void enqueue(Stream& stream) override {
    Arrays arrays{keys_.dtype(), order_, &keys_.buffer(), &result_.buffer()};
    if (values_ != nullptr) {
      arrays.payload = {Payload::Kind::records, &values_->buffer(), values_->element_bytes()};
      arrays.moved = &result_values_->buffer();
    }
    sort_merge::merge(stream, arrays, std::move(runs_), work_);
  }

  const Operand& keys_;
  const Operand& result_;
  const Operand* values_ = nullptr;
  const Operand* result_values_ = nullptr;
  std::span<const std::uint64_t> offsets_;
  Order order_;
  std::vector<Run> runs_;
  DeviceWork work_;
};

}  // namespace

void merge_sorted(BufferBase& data, Dtype dtype, std::span<const std::uint64_t> runs, BufferBase& result,
                  const SortOptions& options) {
  call::run<Merge>("merge_sorted", Operand(data, dtype), Operand(result, dtype), std::nullopt, std::nullopt, runs,
                   options);
}

void merge_sorted_by_key(BufferBase& keys, Dtype dtype, BufferBase& values, std::size_t value_bytes,
                         std::span<const std::uint64_t> runs, BufferBase& result_keys, BufferBase& result_values,
                         const SortOptions& options) {
  call::run<Merge>("merge_sorted_by_key", Operand(keys, dtype), Operand(result_keys, dtype),
                   Operand(values, value_bytes), Operand(result_values, value_bytes), runs, options);
}

}  // namespace masu
