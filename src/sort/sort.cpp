// SPDX-License-Identifier: Apache-2.0
// The public functions of sorting: forms of one call.
#include "call/form.h"
#include "sort/device/sort_device.h"
#include "sort/prepared_segments.h"
#include "sort/sort_job.h"

#include <masu/sort.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace masu {

namespace {

constexpr std::array<std::string_view, 3> algorithm_names = {"auto", "radix", "merge"};
using call::on_cpu;
using call::Operand;
using call::refuse;

SortJob job_for(std::string_view function, std::uint64_t count, const SortOptions& options) {
  call::check_count(function, count);
  const std::span<const std::uint64_t> segments = options.segments;
  if (options.rows != 1 && !segments.empty()) refuse(function, "rows and segments must not be given together");
  if (options.prepared != nullptr) {
    if (options.rows != 1 || !segments.empty()) refuse(function, "prepared segments must be given alone");
    return options.prepared->state().job(function, count, options.order);
  }
  if (segments.empty()) {
    if (options.rows == 0 || count % options.rows != 0) {
      refuse(function, fmt::format("rows must divide the {} keys, got {}", count, options.rows));
    }
    return {options.order, options.algorithm, {count, options.rows, {}}, function};
  }
  check_segments(function, segments, count);
  return {options.order, options.algorithm, {count, 1, segments}, function};
}

void check_indices(const SortJob& job, Dtype dtype, std::uint64_t count) {
  if (dtype != Dtype::u64 && dtype != Dtype::u32) {
    refuse("argsort", fmt::format("indices are u64 or u32, got {}", to_string(dtype)));
  }
  if (count != job.pieces.count) {
    refuse("argsort", fmt::format("as many indices as keys, got {} for {} keys", count, job.pieces.count));
  }
  // Elements outside of segments get the place that they have in the whole.
  const std::uint64_t most = job.pieces.segments.empty() ? job.pieces.longest() : job.pieces.count;
  if (dtype == Dtype::u32 && most > std::uint64_t{1} << 32) {
    refuse("argsort", fmt::format("indices of type u32 serve at most 2^32 keys, got {}", most));
  }
}

// A call: keys that stay, change or go to a result, and what moves with them.
struct Sorted {
  std::string_view function;
  Operand keys;
  std::optional<Operand> result = {};
  Payload::Kind moved = Payload::Kind::none;
  std::optional<Operand> payload = {};
};

class Sort final : public call::Primitive {
 public:
  Sort(const Sorted& what, const SortOptions& options)
      : Primitive(what.function, options.times), kind_(what.moved), options_(options) {
    const bool stay = what.result.has_value() || kind_ == Payload::Kind::indices;
    const char* name = kind_ == Payload::Kind::none ? "data" : "keys";
    keys_ = stay ? &reads(name, what.keys) : &changes(name, what.keys);
    if (kind_ == Payload::Kind::none) result_ = what.result ? &writes("result", *what.result) : keys_;
    if (kind_ == Payload::Kind::records) payload_ = &changes("values", *what.payload);
    if (kind_ == Payload::Kind::indices) payload_ = &writes("indices", *what.payload);
    if (what.result) share_copies();
  }

 private:
  void check() override {
    job_ = job_for(function_name(), keys_->count(), options_);
    if (on_cpu(device()) && job_.algorithm != SortAlgorithm::automatic) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: algorithm {} has left the CPU, which sorts by auto alone; OpenCL and CUDA devices "
                              "have it",
                              function_name(), to_string(job_.algorithm)));
    }
    if (options_.prepared != nullptr) {
      options_.prepared->state().check(function_name(), device(), keys_->dtype(), payload());
    }
    if (kind_ == Payload::Kind::records && payload_->count() != keys_->count()) {
      refuse(fmt::format("as many values as keys, got {} values for {} keys", payload_->count(), keys_->count()));
    }
    if (kind_ == Payload::Kind::indices) check_indices(job_, payload_->dtype(), payload_->count());
    if (result_ != nullptr && (result_->dtype() != keys_->dtype() || result_->count() != keys_->count())) {
      refuse(fmt::format("the result must be {} of {}, got {} of {}", keys_->count(), to_string(keys_->dtype()),
                         result_->count(), to_string(result_->dtype())));
    }
  }
  [[nodiscard]] bool is_empty() const override { return keys_->count() == 0; }
  void run_on_cpu() override {
    switch (kind_) {
      case Payload::Kind::none: return sort_cpu(keys_->view(), result_->data(), job_);
      case Payload::Kind::records: return sort_by_key_cpu(keys_->mutable_view(), payload_->records(), job_);
      case Payload::Kind::indices: return argsort_cpu(keys_->view(), payload_->mutable_view(), job_);
    }
  }
  void enqueue(Stream& stream) override {
    const BufferBase* result = kind_ == Payload::Kind::indices ? nullptr : &(result_ ? result_ : keys_)->buffer();
    const DeviceSegments* tables = options_.prepared == nullptr ? nullptr : options_.prepared->state().tables();
    const Arrays arrays{keys_->dtype(), job_.order, &keys_->buffer(), result, payload()};
    work_ = sort_on_device(stream, arrays, job_, options_.workspace, waits(), tables);
  }
  [[nodiscard]] double seconds() const override {
    return work_.first ? work_.first->seconds() + work_.last.seconds_since(*work_.first) : 0;
  }

  [[nodiscard]] Payload payload() const {
    if (payload_ == nullptr) return {};
    return {kind_, payload_->is_on_host() ? nullptr : &payload_->buffer(), payload_->element_bytes()};
  }

  const Operand* keys_;
  const Operand* result_ = nullptr;  // of keys alone
  const Operand* payload_ = nullptr;
  Payload::Kind kind_;
  SortOptions options_;
  SortJob job_;
  DeviceWork work_;
};

class IsSorted final : public call::Primitive {
 public:
  IsSorted(const Operand& data, const SortOptions& options)
      : Primitive("is_sorted", nullptr), data_(reads("data", data)), options_(options) {}
  [[nodiscard]] bool result() const noexcept { return sorted_; }

 private:
  void check() override { job_ = job_for(function_name(), data_.count(), options_); }
  [[nodiscard]] bool is_empty() const override { return data_.count() == 0; }
  void run_on_cpu() override { sorted_ = is_sorted_cpu(data_.view(), job_); }
  void enqueue(Stream& stream) override { sorted_ = is_sorted_on_device(stream, data_.buffer(), data_.dtype(), job_); }

  const Operand& data_;
  const SortOptions& options_;
  SortJob job_;
  bool sorted_ = true;
};

Sorted keys_with(const Operand& keys, const Operand& values) {
  return {.function = "sort_by_key", .keys = keys, .moved = Payload::Kind::records, .payload = values};
}

Sorted order_of(const Operand& keys, const Operand& indices) {
  return {.function = "argsort", .keys = keys, .moved = Payload::Kind::indices, .payload = indices};
}

}  // namespace

std::string_view to_string(SortAlgorithm algorithm) noexcept {
  return algorithm_names[static_cast<std::size_t>(algorithm)];
}

SortAlgorithm sort_algorithm_from_name(std::string_view name) {
  if (name == "bitonic") {
    call::refuse("sort", "algorithm bitonic has left masu; the sorting network is the example program bitonic_sort");
  }
  const auto found = std::ranges::find(algorithm_names, name);
  if (found == algorithm_names.end()) {
    call::refuse("sort", fmt::format("algorithm must be one of {}, got {}", fmt::join(algorithm_names, " "), name));
  }
  return static_cast<SortAlgorithm>(found - algorithm_names.begin());
}

std::uint64_t sort_workspace(const Device& device, Dtype dtype, std::uint64_t count, std::size_t value_bytes,
                             const SortOptions& options) {
  const SortJob job = job_for("sort_workspace", count, options);
  if (value_bytes != 0) call::check_element_bytes("sort_workspace", value_bytes);
  if (on_cpu(device) || count == 0) return 0;
  const auto kind = value_bytes == 0 ? Payload::Kind::none : Payload::Kind::records;
  return sort_workspace_on_device(device.info(), {.dtype = dtype, .payload = {kind, nullptr, value_bytes}}, job);
}

std::uint64_t argsort_workspace(const Device& device, Dtype dtype, std::uint64_t count, Dtype index_dtype,
                                const SortOptions& options) {
  const SortJob job = job_for("argsort_workspace", count, options);
  check_indices(job, index_dtype, count);
  if (on_cpu(device) || count == 0) return 0;
  const Payload indices{Payload::Kind::indices, nullptr, size_of(index_dtype)};
  return sort_workspace_on_device(device.info(), {.dtype = dtype, .payload = indices}, job);
}

void sort(const Device& device, MutableArrayView data, const SortOptions& options) {
  call::run_on<Sort>(device, Sorted{"sort", data}, options);
}
void sort(const Device& device, const ArrayView& data, MutableArrayView result, const SortOptions& options) {
  call::run_on<Sort>(device, Sorted{"sort", data, Operand(result)}, options);
}
void sort(BufferBase& data, Dtype dtype, const SortOptions& options) {
  call::run<Sort>(Sorted{"sort", Operand(data, dtype)}, options);
}
void sort(const BufferBase& data, Dtype dtype, BufferBase& result, const SortOptions& options) {
  call::run<Sort>(Sorted{"sort", Operand(data, dtype), Operand(result, dtype)}, options);
}
Pending<void> sort(Stream& stream, BufferBase& data, Dtype dtype, const SortOptions& options) {
  return call::start<Sort>(stream, Sorted{"sort", Operand(data, dtype)}, options);
}
Pending<void> sort(Stream& stream, const BufferBase& data, Dtype dtype, BufferBase& result,
                   const SortOptions& options) {
  return call::start<Sort>(stream, Sorted{"sort", Operand(data, dtype), Operand(result, dtype)}, options);
}

void sort_by_key(const Device& device, MutableArrayView keys, RecordsView values, const SortOptions& options) {
  call::run_on<Sort>(device, keys_with(keys, values), options);
}
void sort_by_key(BufferBase& keys, Dtype dtype, BufferBase& values, std::size_t value_bytes,
                 const SortOptions& options) {
  call::run<Sort>(keys_with(Operand(keys, dtype), Operand(values, value_bytes)), options);
}
Pending<void> sort_by_key(Stream& stream, BufferBase& keys, Dtype dtype, BufferBase& values, std::size_t value_bytes,
                          const SortOptions& options) {
  return call::start<Sort>(stream, keys_with(Operand(keys, dtype), Operand(values, value_bytes)), options);
}

void argsort(const Device& device, const ArrayView& keys, MutableArrayView indices, const SortOptions& options) {
  call::run_on<Sort>(device, order_of(keys, indices), options);
}
void argsort(const BufferBase& keys, Dtype dtype, BufferBase& indices, Dtype index_dtype, const SortOptions& options) {
  call::run<Sort>(order_of(Operand(keys, dtype), Operand(indices, index_dtype)), options);
}
Pending<void> argsort(Stream& stream, const BufferBase& keys, Dtype dtype, BufferBase& indices, Dtype index_dtype,
                      const SortOptions& options) {
  return call::start<Sort>(stream, order_of(Operand(keys, dtype), Operand(indices, index_dtype)), options);
}

bool is_sorted(const Device& device, const ArrayView& data, const SortOptions& options) {
  return call::run_on<IsSorted>(device, data, options);
}
bool is_sorted(const BufferBase& data, Dtype dtype, const SortOptions& options) {
  return call::run<IsSorted>(Operand(data, dtype), options);
}

}  // namespace masu
