// SPDX-License-Identifier: Apache-2.0
// The public functions: check, then on the CPU or on a device.
#include "call/launcher.h"
#include "call/operands.h"
#include "call/timer.h"
#include "unique/unique_counted.h"
#include "unique/unique_cpu.h"
#include "unique/unique_device.h"
#include "unique/unique_plan.h"

#include <masu/histogram.h>
#include <masu/sort.h>
#include <masu/unique.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

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

bool counts_on_device(Dtype dtype, std::uint64_t count, const UniqueOptions& options) {
  return is_counted(dtype, count) && !options.indices && !options.inverse;
}

bool wants_order(const UniqueOptions& options) {
  return options.indices || options.inverse;
}

// The temporary memory of a unique by sorting: the sorted elements, their order, then what the sort needs and, when it
// is done, what the runs need.
struct Layout {
  std::uint64_t count;
  std::size_t index_bytes;  // 0: no order
  std::uint64_t key_bytes;
  std::uint64_t order_bytes;
  std::uint64_t rest_bytes;
  unique_plan::Plan plan;

  Layout(const Device& device, Dtype dtype, std::uint64_t elements, const UniqueOptions& options)
      : count(elements),
        index_bytes(wants_order(options) ? unique_plan::index_bytes(elements) : 0),
        key_bytes(call::aligned(count * size_of(dtype))),
        order_bytes(call::aligned(count * index_bytes)),
        plan(unique_plan::make(device.info(), dtype, count)) {
    rest_bytes = call::aligned(std::max(plan.workspace(), sort_workspace(device, dtype, count, index_bytes)));
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return key_bytes + order_bytes + rest_bytes; }
};

// A unique by sorting on a device, between its two halves.
class UniqueJob {
 public:
  UniqueJob(Stream& stream, const BufferBase& data, Dtype dtype, const Layout& layout, const UniqueOptions& options,
            std::initializer_list<const BufferBase*> operands)
      : stream_(stream),
        dtype_(dtype),
        layout_(layout),
        options_(options),
        memory_(call::take_workspace("unique", options.workspace, data.device(), layout.bytes(), operands)),
        keys_(memory_.slice(0, layout.count * size_of(dtype))),
        order_(memory_.slice(layout.key_bytes, layout.count * layout.index_bytes)),
        rest_(memory_.slice(layout.key_bytes + layout.order_bytes, layout.rest_bytes)),
        finder_(stream, keys_, dtype, layout.count, layout.plan, rest_, layout.index_bytes == 0 ? nullptr : &order_,
                std::max<std::size_t>(layout.index_bytes, 4)) {}
  UniqueJob(const UniqueJob&) = delete;
  UniqueJob& operator=(const UniqueJob&) = delete;

  // Sorts and marks. With `may_wait` the sort may look at what it met, and so be faster.
  void start(const BufferBase& data, bool may_wait) {
    Times times;
    SortOptions sorting{.workspace = &rest_};
    if (may_wait && options_.times != nullptr) sorting.times = &times;
    if (layout_.index_bytes != 0) {
      call::copy(stream_, data, keys_);
      finder_.fill_order();
      if (may_wait) {
        stream_.finish();
        sort_by_key(keys_, dtype_, order_, layout_.index_bytes, sorting);
      } else {
        sorted_.emplace(sort_by_key(stream_, keys_, dtype_, order_, layout_.index_bytes, sorting));
      }
    } else if (may_wait) {
      sort(data, dtype_, keys_, sorting);
    } else {
      sorted_.emplace(sort(stream_, data, dtype_, keys_, sorting));
    }
    if (sorting.times != nullptr) options_.times->compute += times.compute;
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
  Stream& stream_;
  Dtype dtype_;
  Layout layout_;
  UniqueOptions options_;
  Bytes memory_;
  Bytes keys_;
  Bytes order_;
  Bytes rest_;
  std::optional<Pending<void>> sorted_;
  DeviceRunFinder finder_;
};

// Runs on a device, between the two halves.
class RunJob {
 public:
  RunJob(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t count, const RunOptions& options,
         std::initializer_list<const BufferBase*> operands)
      : stream_(stream),
        dtype_(dtype),
        options_(options),
        data_(data.device(), data.memory(), data.byte_offset(), data.size_bytes()),
        plan_(unique_plan::make(data.device().info(), dtype, count)),
        memory_(call::take_workspace("run_length", options.workspace, data.device(), plan_.workspace(), operands)),
        finder_(stream, data_, dtype, count, plan_, memory_, nullptr, 4) {
    finder_.mark();
  }
  RunJob(const RunJob&) = delete;
  RunJob& operator=(const RunJob&) = delete;

  void write(const RunTargets& to) { finder_.write({&to.values, to.lengths, to.starts, &to.number}); }

  DeviceRuns<std::byte> finish() {
    const Device& device = stream_.device();
    const std::uint64_t runs = finder_.runs();
    DeviceRuns<std::byte> result{Bytes(device, runs * size_of(dtype_)), Counts(device, options_.lengths ? runs : 0),
                                 Counts(device, options_.starts ? runs : 0)};
    finder_.write(
        {&result.values, options_.lengths ? &result.lengths : nullptr, options_.starts ? &result.starts : nullptr});
    stream_.finish();
    if (options_.times != nullptr) options_.times->compute += finder_.seconds();
    return result;
  }

 private:
  Stream& stream_;
  Dtype dtype_;
  RunOptions options_;
  Buffer<const std::byte> data_;
  unique_plan::Plan plan_;
  Bytes memory_;
  DeviceRunFinder finder_;
};

// Nothing where a value has several patterns: which of them is first is not known then.
std::optional<DeviceUnique<std::byte>> count_on_device(const BufferBase& data, Dtype dtype,
                                                       const UniqueOptions& options) {
  const PatternType type = pattern_type(dtype);
  HistogramOptions counting;
  counting.workspace = options.workspace;
  const Histogram histogram = masu::histogram(data, type.dtype, Bins::integers(type.patterns), counting);
  CountedValues found = counted_values(dtype, {histogram.counts().begin(), histogram.counts().end()});
  if (!found.several.empty()) return std::nullopt;
  UniqueArrays arrays;
  arrays.values.dtype = dtype;
  for (const std::uint16_t value : found.values) {
    arrays.values.bytes.push_back(static_cast<std::byte>(value & 0xffU));
    if (size_of(dtype) == 2) arrays.values.bytes.push_back(static_cast<std::byte>(value >> 8));
  }
  if (options.counts) arrays.counts = std::move(found.counts);
  return upload(data.device(), arrays);
}

Bytes bring(const Device& device, const ArrayView& data, Times* times) {
  const call::Timer timer(times, &Times::transfer);
  return call::upload(device, data);
}

void fetch(const Bytes& there, Dtype dtype, const detail::ResultMemory& memory) {
  call::download_bytes(there, memory(there.size() / size_of(dtype)));
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

// Values, and how many they are, in memory that the caller gave.
void check_distinct(std::string_view function, const BufferBase& data, std::uint64_t count, Dtype dtype,
                    const BufferBase& values, const BufferBase& number) {
  const Device& device = data.device();
  call::check_results(function, "the values", values, device, count, size_of(dtype), {&data});
  call::check_results(function, "the number", number, device, 1, sizeof(std::uint64_t), {&data, &values});
}

// A u64 for each element, where it is wanted.
void check_numbers(std::string_view function, std::string_view name, const BufferBase* numbers, std::uint64_t count,
                   std::initializer_list<const BufferBase*> operands) {
  if (numbers == nullptr) return;
  call::check_results(function, name, *numbers, (*operands.begin())->device(), count, sizeof(std::uint64_t), operands);
}

void put_numbers(const std::vector<std::uint64_t>& numbers, const BufferBase* to) {
  if (to == nullptr) return;
  std::memcpy(call::host_address(*to), numbers.data(), numbers.size() * sizeof(std::uint64_t));
}

Pending<void> no_elements(Stream& stream, const BufferBase& number) {
  call::clear(stream, number, 0, sizeof(std::uint64_t));
  return {stream.record(), [] {}};
}

}  // namespace

std::uint64_t unique_workspace(const Device& device, Dtype dtype, std::uint64_t count, const UniqueOptions& options) {
  call::check_count("unique_workspace", count);
  if (call::on_cpu(device) || count == 0) return 0;
  const std::uint64_t sorting = Layout(device, dtype, count, options).bytes();
  if (!counts_on_device(dtype, count, options)) return sorting;
  const PatternType type = pattern_type(dtype);
  const std::uint64_t counting = histogram_workspace(device, type.dtype, Bins::integers(type.patterns), {}, count);
  return std::max(sorting, counting);
}

std::uint64_t run_length_workspace(const Device& device, Dtype dtype, std::uint64_t count) {
  call::check_count("run_length_workspace", count);
  return call::on_cpu(device) || count == 0 ? 0 : unique_plan::make(device.info(), dtype, count).workspace();
}

void detail::unique_into(const Device& device, const ArrayView& data, const UniqueOptions& options,
                         const UniqueMemory& results) try {
  call::start_times(options.times);
  call::check_count("unique", data.count);
  if (call::on_cpu(device)) {
    const call::Timer timer(options.times, &Times::compute);
    return unique_cpu(data, options, results);
  }
  UniqueOptions there = options;
  there.workspace = nullptr;
  const Bytes input = bring(device, data, options.times);
  const double transfer = options.times != nullptr ? options.times->transfer : 0;
  const DeviceUnique<std::byte> found = masu::unique(input, data.dtype, there);
  if (options.times != nullptr) options.times->transfer += transfer;
  const call::Timer timer(options.times, &Times::transfer);
  fetch(found.values, data.dtype, results.values);
  const auto fetch_numbers = [](bool asked, const Counts& from, const ResultMemory& memory) {
    if (asked) from.read(std::span(numbers_of(memory, from.size()), from.size()));
  };
  fetch_numbers(options.counts, found.counts, results.counts);
  fetch_numbers(options.indices, found.indices, results.indices);
  fetch_numbers(options.inverse, found.inverse, results.inverse);
} catch (const std::bad_alloc&) {
  no_memory("unique", data);
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
  call::start_times(options.times);
  const std::uint64_t count = call::count_of("unique", data, dtype);
  const Device& device = data.device();
  if (call::on_cpu(device) || count == 0) {
    return upload(device, unique(Device::open("cpu"),
                                 count == 0 ? ArrayView(dtype, nullptr, 0) : call::host_view(data, dtype), options));
  }
  if (counts_on_device(dtype, count, options)) {
    const call::Timer timer(options.times, &Times::compute);
    if (auto found = count_on_device(data, dtype, options)) return std::move(*found);
  }
  Stream stream = call::timed_stream(device, options.times != nullptr);
  UniqueJob job(stream, data, dtype, Layout(device, dtype, count, options), options, {&data});
  job.start(data, true);
  return job.finish();
}

Pending<DeviceUnique<std::byte>> unique(Stream& stream, const BufferBase& data, Dtype dtype,
                                        const UniqueOptions& options) {
  call::check_stream("unique", stream, data);
  const std::uint64_t count = call::count_of("unique", data, dtype);
  UniqueOptions untimed = options;
  untimed.times = nullptr;
  if (call::on_cpu(data.device()) || count == 0) {
    stream.finish();
    return call::finished_work([&] { return unique(data, dtype, untimed); });
  }
  auto job = std::make_shared<UniqueJob>(stream, data, dtype, Layout(data.device(), dtype, count, untimed), untimed,
                                         std::initializer_list<const BufferBase*>{&data});
  job->start(data, false);
  return {stream.record(), [job] { return job->finish(); }};
}

Pending<void> unique(Stream& stream, const BufferBase& data, Dtype dtype, const UniqueTargets& to,
                     const BufferBase* workspace) {
  constexpr std::string_view name = "unique";
  call::check_stream(name, stream, data);
  const Device& device = stream.device();
  const std::uint64_t count = call::count_of(name, data, dtype);
  check_distinct(name, data, count, dtype, to.values, to.number);
  check_numbers(name, "the counts", to.counts, count, {&data, &to.values, &to.number});
  check_numbers(name, "the indices", to.indices, count, {&data, &to.values, &to.number, to.counts});
  check_numbers(name, "the inverse", to.inverse, count, {&data, &to.values, &to.number, to.counts, to.indices});
  const UniqueOptions options{.counts = to.counts != nullptr,
                              .indices = to.indices != nullptr,
                              .inverse = to.inverse != nullptr,
                              .workspace = workspace};
  if (count == 0) return no_elements(stream, to.number);
  if (call::on_cpu(device)) {
    stream.finish();  // what was given to it before may still change the data
    const UniqueArrays found = unique(device, call::host_view(data, dtype), options);
    const std::uint64_t number = found.size();
    std::memcpy(call::host_address(to.values), found.values.bytes.data(), found.values.bytes.size());
    std::memcpy(call::host_address(to.number), &number, sizeof number);
    put_numbers(found.counts, to.counts);
    put_numbers(found.indices, to.indices);
    put_numbers(found.inverse, to.inverse);
    return {Event(), [] {}};
  }
  auto job = std::make_shared<UniqueJob>(
      stream, data, dtype, Layout(device, dtype, count, options), options,
      std::initializer_list<const BufferBase*>{&data, &to.values, &to.number, to.counts, to.indices, to.inverse});
  job->start(data, false);
  job->write(to);
  return {stream.record(), [job] {}};
}

void detail::run_length_into(const Device& device, const ArrayView& data, const RunOptions& options,
                             const ResultMemory& values, std::vector<std::uint64_t>& lengths,
                             std::vector<std::uint64_t>& starts) try {
  call::start_times(options.times);
  call::check_count("run_length", data.count);
  if (call::on_cpu(device)) {
    const call::Timer timer(options.times, &Times::compute);
    const CpuRunFinder finder(data);
    void* to = values(finder.runs());
    if (options.lengths) lengths.resize(finder.runs());
    if (options.starts) starts.resize(finder.runs());
    return finder.write(to, options.lengths ? lengths.data() : nullptr, options.starts ? starts.data() : nullptr);
  }
  RunOptions there = options;
  there.workspace = nullptr;
  const Bytes input = bring(device, data, options.times);
  const double transfer = options.times != nullptr ? options.times->transfer : 0;
  const DeviceRuns<std::byte> found = masu::run_length(input, data.dtype, there);
  if (options.times != nullptr) options.times->transfer += transfer;
  const call::Timer timer(options.times, &Times::transfer);
  fetch(found.values, data.dtype, values);
  lengths = found.lengths.read();
  starts = found.starts.read();
} catch (const std::bad_alloc&) {
  no_memory("run_length", data);
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
  call::start_times(options.times);
  const std::uint64_t count = call::count_of("run_length", data, dtype);
  const Device& device = data.device();
  if (count == 0) return {Bytes(device, 0), Counts(device, 0), Counts(device, 0)};
  if (call::on_cpu(device)) return runs_here(device, call::host_view(data, dtype), options);
  Stream stream = call::timed_stream(device, options.times != nullptr);
  return RunJob(stream, data, dtype, count, options, {&data}).finish();
}

Pending<DeviceRuns<std::byte>> run_length(Stream& stream, const BufferBase& data, Dtype dtype,
                                          const RunOptions& options) {
  call::check_stream("run_length", stream, data);
  const std::uint64_t count = call::count_of("run_length", data, dtype);
  RunOptions untimed = options;
  untimed.times = nullptr;
  if (call::on_cpu(data.device()) || count == 0) {
    stream.finish();
    return call::finished_work([&] { return run_length(data, dtype, untimed); });
  }
  auto job =
      std::make_shared<RunJob>(stream, data, dtype, count, untimed, std::initializer_list<const BufferBase*>{&data});
  return {stream.record(), [job] { return job->finish(); }};
}

Pending<void> run_length(Stream& stream, const BufferBase& data, Dtype dtype, const RunTargets& to,
                         const BufferBase* workspace) {
  constexpr std::string_view name = "run_length";
  call::check_stream(name, stream, data);
  const Device& device = stream.device();
  const std::uint64_t count = call::count_of(name, data, dtype);
  check_distinct(name, data, count, dtype, to.values, to.number);
  check_numbers(name, "the lengths", to.lengths, count, {&data, &to.values, &to.number});
  check_numbers(name, "the starts", to.starts, count, {&data, &to.values, &to.number, to.lengths});
  if (count == 0) return no_elements(stream, to.number);
  if (call::on_cpu(device)) {
    stream.finish();  // what was given to it before may still change the data
    const auto numbers = [](const BufferBase* there) {
      return there == nullptr ? nullptr : reinterpret_cast<std::uint64_t*>(call::host_address(*there));
    };
    const CpuRunFinder finder(call::host_view(data, dtype));
    finder.write(call::host_address(to.values), numbers(to.lengths), numbers(to.starts));
    *numbers(&to.number) = finder.runs();
    return {Event(), [] {}};
  }
  auto job = std::make_shared<RunJob>(
      stream, data, dtype, count, RunOptions{.workspace = workspace},
      std::initializer_list<const BufferBase*>{&data, &to.values, &to.number, to.lengths, to.starts});
  job->write(to);
  return {stream.record(), [job] {}};
}

}  // namespace masu
