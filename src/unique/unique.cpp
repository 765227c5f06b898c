// SPDX-License-Identifier: Apache-2.0
// The public functions: check, then on the CPU or on a device.
#include "call/launcher.h"
#include "call/operands.h"
#include "unique/unique_cpu.h"
#include "unique/unique_plan.h"

#include <masu/sort.h>
#include <masu/unique.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <new>
#include <optional>
#include <string_view>

namespace masu {

namespace {

using Bytes = Buffer<std::byte>;
using Counts = Buffer<std::uint64_t>;

template <class T>
Buffer<T> upload(const Device& device, const std::vector<T>& values) {
  Buffer<T> buffer(device, values.size());
  if (!values.empty()) buffer.write(values);
  return buffer;
}

DeviceUnique<std::byte> upload(const Device& device, const UniqueArrays& found) {
  return {upload(device, found.values.bytes), upload(device, found.counts), upload(device, found.indices),
          upload(device, found.inverse)};
}

// Distinct values by sorting, or runs. Both are found as runs, and differ in what their results are called.
enum class Of { values, runs };

std::string_view name_of(Of of) {
  return of == Of::values ? "unique" : "run_length";
}

UniqueOptions as_values(const RunOptions& options) {
  return {.counts = options.lengths, .indices = options.starts, .workspace = options.workspace, .times = options.times};
}

DeviceRuns<std::byte> as_runs(DeviceUnique<std::byte> found) {
  return {std::move(found.values), std::move(found.counts), std::move(found.indices)};
}

bool wants_order(const UniqueOptions& options) {
  return options.indices || options.inverse;
}

// `another_way`: whether the values may be sorted once they were counted in vain.
bool counts_on_device(Of of, Dtype dtype, std::uint64_t count, const UniqueOptions& options, bool another_way) {
  return of == Of::values && !wants_order(options) && unique_patterns::serves(dtype, count, another_way);
}

// The temporary memory: of values the sorted elements, their order, then what the sort needs; when that is done, and
// for runs, what the runs need.
struct Layout {
  std::uint64_t count;
  std::size_t index_bytes = 0;  // 0: no order
  std::uint64_t key_bytes = 0;
  std::uint64_t order_bytes = 0;
  std::uint64_t rest_bytes;
  unique_plan::Plan plan;

  Layout(Of of, const Device& device, Dtype dtype, std::uint64_t elements, const UniqueOptions& options)
      : count(elements), plan(unique_plan::make(device.info(), dtype, count)) {
    rest_bytes = plan.workspace();
    if (of == Of::runs) return;
    if (wants_order(options)) index_bytes = unique_plan::index_bytes(elements);
    key_bytes = call::aligned(count * size_of(dtype));
    order_bytes = call::aligned(count * index_bytes);
    rest_bytes = call::aligned(std::max(rest_bytes, sort_workspace(device, dtype, count, index_bytes)));
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return key_bytes + order_bytes + rest_bytes; }
};

using Operands = std::initializer_list<const BufferBase*>;

// A call on a device, between its two halves.
class Job {
 public:
  Job(Of of, Stream& stream, const BufferBase& data, Dtype dtype, const UniqueOptions& options, Operands operands)
      : stream_(stream),
        dtype_(dtype),
        layout_(of, data.device(), dtype, data.size_bytes() / size_of(dtype), options),
        options_(options),
        memory_(call::take_workspace(name_of(of), options.workspace, stream, layout_.bytes(), operands)),
        elements_(of == Of::values ? memory_.slice(0, layout_.count * size_of(dtype))
                                   : Bytes(data.device(), data.memory(), data.byte_offset(), data.size_bytes())),
        order_(memory_.slice(layout_.key_bytes, layout_.count * layout_.index_bytes)),
        rest_(memory_.slice(layout_.key_bytes + layout_.order_bytes, layout_.rest_bytes)),
        finder_(stream, elements_, dtype, layout_.count, layout_.plan, rest_,
                layout_.index_bytes == 0 ? nullptr : &order_, std::max<std::size_t>(layout_.index_bytes, 4)) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Marks the runs; of values, sorts before. With `may_wait` the sort may look at what it met, and so be faster.
  void start(Of of, const BufferBase& data, bool may_wait) {
    if (of == Of::values) sort_elements(data, may_wait);
    finder_.mark();
  }

  // Queues all that is left, where who called has room for as many values as there are elements.
  void write(const UniqueTargets& to) {
    finder_.write({&to.values, to.counts, to.indices, &to.number});
    if (to.inverse != nullptr) finder_.write_inverse(*to.inverse);
  }

  DeviceUnique<std::byte> finish() {
    const Device& device = stream_.device();
    const std::uint64_t runs = finder_.runs();
    DeviceUnique<std::byte> result{Bytes(device, runs * size_of(dtype_)), Counts(device, options_.counts ? runs : 0),
                                   Counts(device, options_.indices ? runs : 0),
                                   Counts(device, options_.inverse ? layout_.count : 0)};
    finder_.write(
        {&result.values, options_.counts ? &result.counts : nullptr, options_.indices ? &result.indices : nullptr});
    if (options_.inverse) finder_.write_inverse(result.inverse);
    stream_.finish();
    if (options_.times != nullptr) options_.times->compute += finder_.seconds();
    return result;
  }

 private:
  void sort_elements(const BufferBase& data, bool may_wait) {
    Times times;
    SortOptions sorting{.workspace = &rest_};
    if (may_wait && options_.times != nullptr) sorting.times = &times;
    if (layout_.index_bytes != 0) {
      call::copy(stream_, data, elements_);
      finder_.fill_order();
      if (may_wait) {
        stream_.finish();
        sort_by_key(elements_, dtype_, order_, layout_.index_bytes, sorting);
      } else {
        sorted_.emplace(sort_by_key(stream_, elements_, dtype_, order_, layout_.index_bytes, sorting));
      }
    } else if (may_wait) {
      sort(data, dtype_, elements_, sorting);
    } else {
      sorted_.emplace(sort(stream_, data, dtype_, elements_, sorting));
    }
    if (sorting.times != nullptr) options_.times->compute += times.compute;
  }

  Stream& stream_;
  Dtype dtype_;
  Layout layout_;
  UniqueOptions options_;
  Bytes memory_;
  Bytes elements_;
  Bytes order_;
  Bytes rest_;
  std::optional<Pending<void>> sorted_;
  DeviceRunFinder finder_;
};

// One that has started, and waits for nothing.
std::shared_ptr<Job> start_job(Of of, Stream& stream, const BufferBase& data, Dtype dtype, UniqueOptions options,
                               Operands operands) {
  options.times = nullptr;
  auto job = std::make_shared<Job>(of, stream, data, dtype, options, operands);
  job->start(of, data, false);
  return job;
}

// The results in new memory of the device, which has some of the data.
DeviceUnique<std::byte> find(Of of, const BufferBase& data, Dtype dtype, const UniqueOptions& options) {
  Stream stream = call::timed_stream(data.device(), options.times != nullptr);
  Job job(of, stream, data, dtype, options, {&data});
  job.start(of, data, true);
  return job.finish();
}

// The values by counting, for the caller to read or to have written.
std::shared_ptr<unique_patterns::Finder> start_counting(Stream& stream, const BufferBase& data, Dtype dtype,
                                                        const BufferBase* workspace, Operands operands) {
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  return std::make_shared<unique_patterns::Finder>(
      stream, data, dtype, count,
      call::take_workspace("unique", workspace, stream,
                           unique_patterns::workspace(stream.device().info(), dtype, count), operands));
}

std::optional<DeviceUnique<std::byte>> count_on_device(const BufferBase& data, Dtype dtype,
                                                       const UniqueOptions& options) {
  Stream stream = call::timed_stream(data.device(), options.times != nullptr);
  const auto finder = start_counting(stream, data, dtype, options.workspace, {&data});
  auto found = finder->read(options.counts);
  if (options.times != nullptr) options.times->compute += finder->seconds();
  return found;
}

// Results that do not fit into host memory.
[[noreturn]] void no_memory(std::string_view function, const ArrayView& data) {
  throw Error(ErrorCode::out_of_memory, fmt::format("{}: no memory for the result of {} elements of {} bytes", function,
                                                    data.count, size_of(data.dtype)));
}

detail::ResultMemory memory_of(HostArray& array) {
  return [&array](std::uint64_t count) {
    array.bytes.resize(count * size_of(array.dtype));
    return static_cast<void*>(array.bytes.data());
  };
}

void runs_cpu(const ArrayView& data, const UniqueOptions& options, const detail::UniqueMemory& results) {
  const CpuRunFinder finder(data);
  void* values = results.values(finder.runs());
  std::uint64_t* const lengths = options.counts ? numbers_of(results.counts, finder.runs()) : nullptr;
  finder.write(values, lengths, options.indices ? numbers_of(results.indices, finder.runs()) : nullptr);
}

// The results of host data in host memory.
void find_into(Of of, const Device& device, const ArrayView& data, UniqueOptions options,
               const detail::UniqueMemory& results) try {
  const FloatingPointScope usual;
  Times* const times = options.times;
  call::start_times(times);
  call::check_count(name_of(of), data.count);
  if (call::on_cpu(device) || data.count == 0) {
    const call::Timer timer(times, &Times::compute);
    if (of == Of::values) unique_cpu(data, options, results);
    else runs_cpu(data, options, results);
    return;
  }
  options.workspace = nullptr;
  Times there;
  if (times != nullptr) options.times = &there;
  const double start = call::now();
  const Bytes input = call::upload(device, data);
  if (times != nullptr) times->transfer = call::now() - start;
  const DeviceUnique<std::byte> found =
      of == Of::values ? masu::unique(input, data.dtype, options) : find(of, input, data.dtype, options);
  call::add_times(times, there);
  const call::Timer timer(times, &Times::transfer);
  call::download_bytes(found.values, results.values(found.values.size() / size_of(data.dtype)));
  const auto fetch = [](bool asked, const Counts& from, const detail::ResultMemory& memory) {
    if (asked) from.read(std::span(numbers_of(memory, from.size()), from.size()));
  };
  fetch(options.counts, found.counts, results.counts);
  fetch(options.indices, found.indices, results.indices);
  fetch(options.inverse, found.inverse, results.inverse);
} catch (const std::bad_alloc&) {
  no_memory(name_of(of), data);
}

// A u64 for each element, where it is wanted.
void check_numbers(Of of, std::string_view name, const BufferBase* numbers, std::uint64_t count, Operands operands) {
  if (numbers == nullptr) return;
  call::check_results(name_of(of), name, *numbers, (*operands.begin())->device(), count, sizeof(std::uint64_t),
                      operands);
}

std::uint64_t* numbers_at(const BufferBase* there) {
  return there == nullptr ? nullptr : reinterpret_cast<std::uint64_t*>(call::host_address(*there));
}

// The results in memory that the caller gave.
Pending<void> find_targets(Of of, Stream& stream, const BufferBase& data, Dtype dtype, const UniqueTargets& to,
                           const BufferBase* workspace) {
  const FloatingPointScope usual;
  const std::string_view name = name_of(of);
  call::check_stream(name, stream, data);
  const Device& device = stream.device();
  const std::uint64_t count = call::count_of(name, data, dtype);
  call::check_results(name, "the values", to.values, device, count, size_of(dtype), {&data});
  call::check_results(name, "the number", to.number, device, 1, sizeof(std::uint64_t), {&data, &to.values});
  const bool values = of == Of::values;
  check_numbers(of, values ? "the counts" : "the lengths", to.counts, count, {&data, &to.values, &to.number});
  check_numbers(of, values ? "the indices" : "the starts", to.indices, count,
                {&data, &to.values, &to.number, to.counts});
  check_numbers(of, "the inverse", to.inverse, count, {&data, &to.values, &to.number, to.counts, to.indices});
  if (count == 0) {
    call::clear(stream, to.number, 0, sizeof(std::uint64_t));
    return {call::end_of(stream), [] {}};
  }
  if (call::on_cpu(device)) {
    stream.finish();  // what was given to it before may still change the data
    const ArrayView here = call::host_view(data, dtype);
    const auto wanted = [](const BufferBase* there) { return there != nullptr; };
    if (values) {
      const UniqueArrays found =
          unique(device, here, {wanted(to.counts), wanted(to.indices), wanted(to.inverse), nullptr, nullptr});
      std::memcpy(call::host_address(to.values), found.values.bytes.data(), found.values.bytes.size());
      std::copy(found.counts.begin(), found.counts.end(), numbers_at(to.counts));
      std::copy(found.indices.begin(), found.indices.end(), numbers_at(to.indices));
      std::copy(found.inverse.begin(), found.inverse.end(), numbers_at(to.inverse));
      *numbers_at(&to.number) = found.size();
    } else {
      const CpuRunFinder finder(here);
      finder.write(call::host_address(to.values), numbers_at(to.counts), numbers_at(to.indices));
      *numbers_at(&to.number) = finder.runs();
    }
    return {Event(), [] {}};
  }
  const UniqueOptions options{.counts = to.counts != nullptr,
                              .indices = to.indices != nullptr,
                              .inverse = to.inverse != nullptr,
                              .workspace = workspace};
  const Operands operands{&data, &to.values, &to.number, to.counts, to.indices, to.inverse};
  if (counts_on_device(of, dtype, count, options, false)) {
    const auto finder = start_counting(stream, data, dtype, workspace, operands);
    finder->write({.values = &to.values, .lengths = to.counts, .number = &to.number});
    return {call::end_of(stream), [finder] {}};
  }
  const auto job = start_job(of, stream, data, dtype, options, operands);
  job->write(to);
  return {call::end_of(stream), [job] {}};
}

}  // namespace

std::uint64_t unique_workspace(const Device& device, Dtype dtype, std::uint64_t count, const UniqueOptions& options) {
  call::check_count("unique_workspace", count);
  if (call::on_cpu(device) || count == 0) return 0;
  const std::uint64_t counting = counts_on_device(Of::values, dtype, count, options, true)
                                     ? unique_patterns::workspace(device.info(), dtype, count)
                                     : 0;
  if (counts_on_device(Of::values, dtype, count, options, false)) return counting;
  return std::max(counting, Layout(Of::values, device, dtype, count, options).bytes());
}

std::uint64_t run_length_workspace(const Device& device, Dtype dtype, std::uint64_t count) {
  call::check_count("run_length_workspace", count);
  return call::on_cpu(device) || count == 0 ? 0 : unique_plan::make(device.info(), dtype, count).workspace();
}

void detail::unique_into(const Device& device, const ArrayView& data, const UniqueOptions& options,
                         const UniqueMemory& results) {
  find_into(Of::values, device, data, options, results);
}

UniqueArrays unique(const Device& device, const ArrayView& data, const UniqueOptions& options) {
  UniqueArrays result;
  result.values.dtype = data.dtype;
  detail::unique_into(device, data, options,
                      {memory_of(result.values), detail::memory_of(result.counts), detail::memory_of(result.indices),
                       detail::memory_of(result.inverse)});
  return result;
}

DeviceUnique<std::byte> unique(const BufferBase& data, Dtype dtype, const UniqueOptions& options) {
  const FloatingPointScope usual;
  call::start_times(options.times);
  const std::uint64_t count = call::count_of("unique", data, dtype);
  const Device& device = data.device();
  if (call::on_cpu(device) || count == 0) {
    return upload(device, unique(Device::open("cpu"),
                                 count == 0 ? ArrayView(dtype, nullptr, 0) : call::host_view(data, dtype), options));
  }
  if (counts_on_device(Of::values, dtype, count, options, true)) {
    if (auto found = count_on_device(data, dtype, options)) return std::move(*found);
  }
  return find(Of::values, data, dtype, options);
}

Pending<DeviceUnique<std::byte>> unique(Stream& stream, const BufferBase& data, Dtype dtype,
                                        const UniqueOptions& options) {
  const FloatingPointScope usual;
  call::check_stream("unique", stream, data);
  const std::uint64_t count = call::count_of("unique", data, dtype);
  UniqueOptions untimed = options;
  untimed.times = nullptr;
  if (call::on_cpu(data.device()) || count == 0) {
    stream.finish();
    return call::finished_work([&] { return unique(data, dtype, untimed); });
  }
  if (counts_on_device(Of::values, dtype, count, options, false)) {
    const auto finder = start_counting(stream, data, dtype, options.workspace, {&data});
    return {call::end_of(stream), [finder, counts = options.counts] { return *finder->read(counts); }};
  }
  const auto job = start_job(Of::values, stream, data, dtype, untimed, {&data});
  return {call::end_of(stream), [job] { return job->finish(); }};
}

Pending<void> unique(Stream& stream, const BufferBase& data, Dtype dtype, const UniqueTargets& to,
                     const BufferBase* workspace) {
  return find_targets(Of::values, stream, data, dtype, to, workspace);
}

void detail::run_length_into(const Device& device, const ArrayView& data, const RunOptions& options,
                             const ResultMemory& values, std::vector<std::uint64_t>& lengths,
                             std::vector<std::uint64_t>& starts) {
  find_into(Of::runs, device, data, as_values(options), {values, memory_of(lengths), memory_of(starts), {}});
}

RunArrays run_length(const Device& device, const ArrayView& data, const RunOptions& options) {
  RunArrays result;
  result.values.dtype = data.dtype;
  detail::run_length_into(device, data, options, memory_of(result.values), result.lengths, result.starts);
  return result;
}

namespace {

// On `cpu`, into its memory.
DeviceRuns<std::byte> runs_here(const Device& device, const ArrayView& data, const RunOptions& options) try {
  const call::Timer timer(options.times, &Times::compute);
  const CpuRunFinder finder(data);
  const std::uint64_t runs = finder.runs();
  DeviceRuns<std::byte> found{Bytes(device, runs * size_of(data.dtype)), Counts(device, options.lengths ? runs : 0),
                              Counts(device, options.starts ? runs : 0)};
  finder.write(found.values.native(), options.lengths ? static_cast<std::uint64_t*>(found.lengths.native()) : nullptr,
               options.starts ? static_cast<std::uint64_t*>(found.starts.native()) : nullptr);
  return found;
} catch (const std::bad_alloc&) {
  no_memory("run_length", data);
}

}  // namespace

DeviceRuns<std::byte> run_length(const BufferBase& data, Dtype dtype, const RunOptions& options) {
  const FloatingPointScope usual;
  call::start_times(options.times);
  const std::uint64_t count = call::count_of("run_length", data, dtype);
  const Device& device = data.device();
  if (count == 0) return {Bytes(device, 0), Counts(device, 0), Counts(device, 0)};
  if (call::on_cpu(device)) return runs_here(device, call::host_view(data, dtype), options);
  return as_runs(find(Of::runs, data, dtype, as_values(options)));
}

Pending<DeviceRuns<std::byte>> run_length(Stream& stream, const BufferBase& data, Dtype dtype,
                                          const RunOptions& options) {
  const FloatingPointScope usual;
  call::check_stream("run_length", stream, data);
  const std::uint64_t count = call::count_of("run_length", data, dtype);
  RunOptions untimed = options;
  untimed.times = nullptr;
  if (call::on_cpu(data.device()) || count == 0) {
    stream.finish();
    return call::finished_work([&] { return run_length(data, dtype, untimed); });
  }
  const auto job = start_job(Of::runs, stream, data, dtype, as_values(options), {&data});
  return {call::end_of(stream), [job] { return as_runs(job->finish()); }};
}

Pending<void> run_length(Stream& stream, const BufferBase& data, Dtype dtype, const RunTargets& to,
                         const BufferBase* workspace) {
  return find_targets(Of::runs, stream, data, dtype, {to.values, to.number, to.lengths, to.starts}, workspace);
}

}  // namespace masu
