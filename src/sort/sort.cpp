// SPDX-License-Identifier: Apache-2.0
#include "call/launcher.h"
#include "call/operands.h"
#include "runtime/backend.h"
#include "sort/device/sort_device.h"
#include "sort/sort_job.h"

#include <masu/sort.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

namespace masu {

namespace {

constexpr std::array<std::string_view, 4> algorithm_names = {"auto", "bitonic", "radix", "merge"};
using call::check_stream;
using call::count_of;
using call::on_cpu;
using call::refuse;

// What is sorted, and where.
struct Subject {
  const Device& device;
  Dtype dtype;
  Payload::Kind moved = Payload::Kind::none;
  std::size_t bytes = 0;               // of a value or index
  const BufferBase* values = nullptr;  // of the caller's
};

// `subject`: where keys are sorted now.
SortJob job_for(std::string_view function, std::uint64_t count, const SortOptions& options,
                const Subject* subject = nullptr) {
  call::check_count(function, count);
  const std::span<const std::uint64_t> segments = options.segments;
  if (options.rows != 1 && !segments.empty()) refuse(function, "rows and segments must not be given together");
  if (options.prepared != nullptr) {
    if (options.rows != 1 || !segments.empty()) refuse(function, "prepared segments must be given alone");
    const PreparedSegments::State& prepared = options.prepared->state();
    const SortJob job = prepared.job(function, count, options.order);
    if (subject != nullptr) {
      prepared.check(function, subject->device, subject->dtype, subject->moved, subject->bytes, subject->values);
    }
    return job;
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

void check_record(std::string_view function, std::size_t bytes, std::uint64_t count, std::uint64_t keys) {
  call::check_element_bytes(function, bytes);
  if (count != keys) refuse(function, fmt::format("as many values as keys, got {} values for {} keys", count, keys));
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

// Host data.
void check_apart(std::string_view function, std::string_view names, const void* a, std::uint64_t a_bytes, const void* b,
                 std::uint64_t b_bytes) {
  if (call::overlap(a, a_bytes, b, b_bytes)) call::refuse_overlap(function, names);
}

void check_apart(std::string_view function, std::string_view names, const BufferBase& a, const BufferBase& b) {
  call::check_one_device(function, a, b);
  call::check_apart(function, names, a, b);
}

MutableArrayView target_of(const BufferBase& data, Dtype dtype) {
  return {dtype, call::host_address(data), data.size_bytes() / size_of(dtype)};
}

// Runs what sorts on a device, and waits for it.
void finish(Stream& stream, const DeviceWork& work, Times* times) {
  stream.finish();
  if (times == nullptr || !work.first) return;
  times->compute += work.first->seconds() + work.last.seconds_since(*work.first);
}

// A sort on a device, which looks at what has been prepared for it.
DeviceWork enqueue(Stream& stream, const BufferBase& keys, Dtype dtype, BufferBase* result, const Payload& payload,
                   const SortJob& job, const SortOptions& options, bool may_wait) {
  const DeviceSegments* tables = options.prepared == nullptr ? nullptr : options.prepared->state().tables();
  return sort_on_device(stream, keys, dtype, result, payload, job, options.workspace, may_wait, tables);
}

// Host data on a device: up, `sorted` there, down. The arrays are of bytes.
class Visit {
 public:
  Visit(const Device& device, const SortOptions& options)
      : stream_(call::timed_stream(device, options.times != nullptr)), options_(options) {}

  Buffer<std::byte> bring(const void* data, std::uint64_t bytes) {
    Buffer<std::byte> buffer(stream_.device(), bytes);
    const call::Timer timer(options_.times, &Times::transfer);
    buffer.write(std::span(static_cast<const std::byte*>(data), bytes));
    return buffer;
  }
  void fetch(const Buffer<std::byte>& buffer, void* data) {
    const call::Timer timer(options_.times, &Times::transfer);
    buffer.read(std::span(static_cast<std::byte*>(data), buffer.size()));
  }
  void sort(const BufferBase& keys, Dtype dtype, BufferBase* result, const Payload& payload, const SortJob& job) {
    const DeviceWork work = enqueue(stream_, keys, dtype, result, payload, job, options_, true);
    finish(stream_, work, options_.times);
  }

 private:
  FloatingPointScope usual_;
  Stream stream_;
  const SortOptions& options_;
};

// The same for work on a stream: what it holds lives until it is done.
Pending<void> pending(Stream& stream, DeviceWork work) {
  const auto kept = std::make_shared<DeviceWork>(std::move(work));
  return {call::end_of(stream), [kept] {}};
}

// A sort on `stream`; on the CPU it is done when this returns.
Pending<void> start(Stream& stream, const BufferBase& keys, Dtype dtype, BufferBase* result, const Payload& payload,
                    const SortJob& job, const SortOptions& options) {
  const FloatingPointScope usual;
  return pending(stream, enqueue(stream, keys, dtype, result, payload, job, options, false));
}

// What the calls on buffers check and share.
SortJob job_in_place(std::string_view function, const BufferBase& data, Dtype dtype, const SortOptions& options,
                     Payload::Kind moved = Payload::Kind::none, std::size_t bytes = 0,
                     const BufferBase* values = nullptr) {
  call::check_writable(function, data, "data");
  call::start_times(options.times);
  const Subject subject{data.device(), dtype, moved, bytes, values};
  return job_for(function, count_of(function, data, dtype), options, &subject);
}

SortJob job_apart(const BufferBase& data, Dtype dtype, const BufferBase& result, const SortOptions& options) {
  const SortJob job = job_in_place("sort", result, dtype, options);
  if (data.size_bytes() != result.size_bytes()) {
    refuse("sort", fmt::format("data and result must have one size, got {} and {} bytes", data.size_bytes(),
                               result.size_bytes()));
  }
  check_apart("sort", "data and result", data, result);
  return job;
}

SortJob job_by_key(const BufferBase& keys, Dtype dtype, const BufferBase& values, std::size_t value_bytes,
                   const SortOptions& options) {
  const SortJob job = job_in_place("sort_by_key", keys, dtype, options, Payload::Kind::records, value_bytes, &values);
  check_record("sort_by_key", value_bytes, value_bytes == 0 ? 0 : count_of("sort_by_key", values, value_bytes),
               job.pieces.count);
  call::check_writable("sort_by_key", values, "values");
  check_apart("sort_by_key", "keys and values", keys, values);
  return job;
}

SortJob job_argsort(const BufferBase& keys, Dtype dtype, const BufferBase& indices, Dtype index_dtype,
                    const SortOptions& options) {
  call::start_times(options.times);
  const Subject subject{keys.device(), dtype, Payload::Kind::indices, size_of(index_dtype)};
  const SortJob job = job_for("argsort", count_of("argsort", keys, dtype), options, &subject);
  check_indices(job, index_dtype, count_of("argsort", indices, index_dtype));
  call::check_writable("argsort", indices, "indices");
  check_apart("argsort", "keys and indices", keys, indices);
  return job;
}

// Work on buffers of the CPU device.
void here(const SortOptions& options, const std::function<void()>& body) {
  const FloatingPointScope usual;
  const call::Timer timer(options.times, &Times::compute);
  body();
}

}  // namespace

std::string_view to_string(SortAlgorithm algorithm) noexcept {
  return algorithm_names[static_cast<std::size_t>(algorithm)];
}

SortAlgorithm sort_algorithm_from_name(std::string_view name) {
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
  if (on_cpu(device)) return 0;
  if (count == 0) return 0;
  const auto kind = value_bytes == 0 ? Payload::Kind::none : Payload::Kind::records;
  return sort_workspace_on_device(device.info(), dtype, {kind, nullptr, value_bytes}, job);
}

std::uint64_t argsort_workspace(const Device& device, Dtype dtype, std::uint64_t count, Dtype index_dtype,
                                const SortOptions& options) {
  const SortJob job = job_for("argsort_workspace", count, options);
  check_indices(job, index_dtype, count);
  if (on_cpu(device) || count == 0) return 0;
  return sort_workspace_on_device(device.info(), dtype, {Payload::Kind::indices, nullptr, size_of(index_dtype)}, job);
}

void sort(const Device& device, MutableArrayView data, const SortOptions& options) {
  call::start_times(options.times);
  const Subject subject{device, data.dtype};
  const SortJob job = job_for("sort", data.count, options, &subject);
  if (on_cpu(device)) return here(options, [&] { sort_cpu(data, data.data, job); });
  if (data.count == 0) return;
  Visit visit(device, options);
  Buffer<std::byte> there = visit.bring(data.data, data.count * size_of(data.dtype));
  visit.sort(there, data.dtype, &there, {}, job);
  visit.fetch(there, data.data);
}

void sort(const Device& device, const ArrayView& data, MutableArrayView result, const SortOptions& options) {
  call::start_times(options.times);
  const Subject subject{device, data.dtype};
  const SortJob job = job_for("sort", data.count, options, &subject);
  if (result.dtype != data.dtype || result.count != data.count) {
    refuse("sort", fmt::format("the result must be {} of {}, got {} of {}", data.count, to_string(data.dtype),
                               result.count, to_string(result.dtype)));
  }
  const std::uint64_t bytes = data.count * size_of(data.dtype);
  check_apart("sort", "data and result", data.data, bytes, result.data, bytes);
  if (on_cpu(device)) return here(options, [&] { sort_cpu(data, result.data, job); });
  if (data.count == 0) return;
  Visit visit(device, options);
  Buffer<std::byte> there = visit.bring(data.data, bytes);
  visit.sort(there, data.dtype, &there, {}, job);
  visit.fetch(there, result.data);
}

void sort(BufferBase& data, Dtype dtype, const SortOptions& options) {
  const SortJob job = job_in_place("sort", data, dtype, options);
  if (on_cpu(data.device())) {
    return here(options, [&] { sort_cpu(call::host_view(data, dtype), call::host_address(data), job); });
  }
  if (job.pieces.count != 0) Visit(data.device(), options).sort(data, dtype, &data, {}, job);
}

void sort(const BufferBase& data, Dtype dtype, BufferBase& result, const SortOptions& options) {
  const SortJob job = job_apart(data, dtype, result, options);
  if (on_cpu(data.device())) {
    return here(options, [&] { sort_cpu(call::host_view(data, dtype), call::host_address(result), job); });
  }
  if (job.pieces.count != 0) Visit(data.device(), options).sort(data, dtype, &result, {}, job);
}

void sort_by_key(const Device& device, MutableArrayView keys, RecordsView values, const SortOptions& options) {
  call::start_times(options.times);
  const Subject subject{device, keys.dtype, Payload::Kind::records, values.record_bytes};
  const SortJob job = job_for("sort_by_key", keys.count, options, &subject);
  check_record("sort_by_key", values.record_bytes, values.count, keys.count);
  const std::uint64_t key_bytes = keys.count * size_of(keys.dtype);
  const std::uint64_t value_bytes = values.count * values.record_bytes;
  check_apart("sort_by_key", "keys and values", keys.data, key_bytes, values.data, value_bytes);
  if (on_cpu(device)) return here(options, [&] { sort_by_key_cpu(keys, values, job); });
  if (keys.count == 0) return;
  Visit visit(device, options);
  Buffer<std::byte> there = visit.bring(keys.data, key_bytes);
  Buffer<std::byte> records = visit.bring(values.data, value_bytes);
  visit.sort(there, keys.dtype, &there, {Payload::Kind::records, &records, values.record_bytes}, job);
  visit.fetch(there, keys.data);
  visit.fetch(records, values.data);
}

void sort_by_key(BufferBase& keys, Dtype dtype, BufferBase& values, std::size_t value_bytes,
                 const SortOptions& options) {
  const SortJob job = job_by_key(keys, dtype, values, value_bytes, options);
  if (on_cpu(keys.device())) {
    return here(options, [&] {
      sort_by_key_cpu(target_of(keys, dtype), {call::host_address(values), value_bytes, job.pieces.count}, job);
    });
  }
  if (job.pieces.count == 0) return;
  Visit(keys.device(), options).sort(keys, dtype, &keys, {Payload::Kind::records, &values, value_bytes}, job);
}

void argsort(const Device& device, const ArrayView& keys, MutableArrayView indices, const SortOptions& options) {
  call::start_times(options.times);
  const Subject subject{device, keys.dtype, Payload::Kind::indices, size_of(indices.dtype)};
  const SortJob job = job_for("argsort", keys.count, options, &subject);
  check_indices(job, indices.dtype, indices.count);
  const std::uint64_t key_bytes = keys.count * size_of(keys.dtype);
  const std::uint64_t index_bytes = indices.count * size_of(indices.dtype);
  check_apart("argsort", "keys and indices", keys.data, key_bytes, indices.data, index_bytes);
  if (on_cpu(device)) return here(options, [&] { argsort_cpu(keys, indices, job); });
  if (keys.count == 0) return;
  Visit visit(device, options);
  const Buffer<std::byte> there = visit.bring(keys.data, key_bytes);
  Buffer<std::byte> result(device, index_bytes);
  visit.sort(there, keys.dtype, nullptr, {Payload::Kind::indices, &result, size_of(indices.dtype)}, job);
  visit.fetch(result, indices.data);
}

void argsort(const BufferBase& keys, Dtype dtype, BufferBase& indices, Dtype index_dtype, const SortOptions& options) {
  const SortJob job = job_argsort(keys, dtype, indices, index_dtype, options);
  if (on_cpu(keys.device())) {
    return here(options, [&] { argsort_cpu(call::host_view(keys, dtype), target_of(indices, index_dtype), job); });
  }
  if (job.pieces.count == 0) return;
  Visit(keys.device(), options)
      .sort(keys, dtype, nullptr, {Payload::Kind::indices, &indices, size_of(index_dtype)}, job);
}

bool is_sorted(const Device& device, const ArrayView& data, const SortOptions& options) {
  const FloatingPointScope usual;
  const SortJob job = job_for("is_sorted", data.count, options);
  if (on_cpu(device)) return is_sorted_cpu(data, job);
  if (data.count == 0) return true;
  Buffer<std::byte> there(device, data.count * size_of(data.dtype));
  there.write(std::span(static_cast<const std::byte*>(data.data), there.size()));
  return is_sorted_on_device(there, data.dtype, job);
}

bool is_sorted(const BufferBase& data, Dtype dtype, const SortOptions& options) {
  const FloatingPointScope usual;
  const SortJob job = job_for("is_sorted", count_of("is_sorted", data, dtype), options);
  if (on_cpu(data.device())) return is_sorted_cpu(call::host_view(data, dtype), job);
  return job.pieces.count == 0 || is_sorted_on_device(data, dtype, job);
}

Pending<void> sort(Stream& stream, BufferBase& data, Dtype dtype, const SortOptions& options) {
  check_stream("sort", stream, data);
  const SortJob job = job_in_place("sort", data, dtype, options);
  if (on_cpu(data.device()) || job.pieces.count == 0) {
    sort(data, dtype, options);
    return pending(stream, {});
  }
  return start(stream, data, dtype, &data, {}, job, options);
}

Pending<void> sort(Stream& stream, const BufferBase& data, Dtype dtype, BufferBase& result,
                   const SortOptions& options) {
  check_stream("sort", stream, data);
  const SortJob job = job_apart(data, dtype, result, options);
  if (on_cpu(data.device()) || job.pieces.count == 0) {
    sort(data, dtype, result, options);
    return pending(stream, {});
  }
  return start(stream, data, dtype, &result, {}, job, options);
}

Pending<void> sort_by_key(Stream& stream, BufferBase& keys, Dtype dtype, BufferBase& values, std::size_t value_bytes,
                          const SortOptions& options) {
  check_stream("sort_by_key", stream, keys);
  const SortJob job = job_by_key(keys, dtype, values, value_bytes, options);
  if (on_cpu(keys.device()) || job.pieces.count == 0) {
    sort_by_key(keys, dtype, values, value_bytes, options);
    return pending(stream, {});
  }
  return start(stream, keys, dtype, &keys, {Payload::Kind::records, &values, value_bytes}, job, options);
}

Pending<void> argsort(Stream& stream, const BufferBase& keys, Dtype dtype, BufferBase& indices, Dtype index_dtype,
                      const SortOptions& options) {
  check_stream("argsort", stream, keys);
  const SortJob job = job_argsort(keys, dtype, indices, index_dtype, options);
  if (on_cpu(keys.device()) || job.pieces.count == 0) {
    argsort(keys, dtype, indices, index_dtype, options);
    return pending(stream, {});
  }
  return start(stream, keys, dtype, nullptr, {Payload::Kind::indices, &indices, size_of(index_dtype)}, job, options);
}

}  // namespace masu
