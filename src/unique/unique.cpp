// SPDX-License-Identifier: Apache-2.0
// The public functions: forms of one call.
#include "call/form.h"
#include "unique/unique_cpu.h"
#include "unique/unique_plan.h"

#include <masu/sort.h>
#include <masu/unique.h>

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <new>
#include <optional>
#include <string_view>

namespace masu {

namespace {

using Bytes = Buffer<std::byte>;
using Counts = Buffer<std::uint64_t>;
using call::Operand;

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
  void write(const UniqueTargets& to) { finder_.write({&to.values, to.counts, to.indices, &to.number, to.inverse}); }

  DeviceUnique<std::byte> finish() {
    const Device& device = stream_.device();
    const std::uint64_t runs = finder_.runs();
    DeviceUnique<std::byte> result{Bytes(device, runs * size_of(dtype_)), Counts(device, options_.counts ? runs : 0),
                                   Counts(device, options_.indices ? runs : 0),
                                   Counts(device, options_.inverse ? layout_.count : 0)};
    finder_.write({&result.values, options_.counts ? &result.counts : nullptr,
                   options_.indices ? &result.indices : nullptr, nullptr,
                   options_.inverse ? &result.inverse : nullptr});
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
      finder_.start_order(data);
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

DeviceUnique<std::byte> no_values(const Device& device) {
  return {Bytes(device, 0), Counts(device, 0), Counts(device, 0), Counts(device, 0)};
}

// Memory for results: of the host, new memory of `cpu`, and the caller's memory of `cpu`, which has room for all.
detail::ResultMemory memory_of(HostArray& array) {
  return [&array](std::uint64_t count) {
    array.bytes.resize(count * size_of(array.dtype));
    return static_cast<void*>(array.bytes.data());
  };
}
template <class T>
detail::ResultMemory memory_of(Buffer<T>& buffer, std::size_t elements = 1) {
  return [&buffer, elements](std::uint64_t count) -> void* {
    buffer = Buffer<T>(buffer.device(), count * elements);
    return call::host_address(buffer);
  };
}
detail::ResultMemory memory_at(const BufferBase* buffer) {
  return [buffer](std::uint64_t /*count*/) -> void* { return call::host_address(*buffer); };
}

// Distinct values or runs: for the host, in new memory, or in memory of the caller's.
class Finding : public call::Primitive {
 public:
  // `host`: where the results of host data go, or null.
  Finding(Of of, const Operand& data, const UniqueOptions& options, const detail::UniqueMemory* host = nullptr)
      : Primitive(name_of(of), options.times), data_(reads("data", data)), of_(of), options_(options), host_(host) {}
  [[nodiscard]] DeviceUnique<std::byte> result() {
    return found_ ? std::move(*found_) : no_values(data_.buffer().device());
  }

 protected:
  void check() override {}
  [[nodiscard]] bool is_empty() const override { return data_.count() == 0; }
  void run_on_cpu() override {
    if (host_ != nullptr) return find_on_cpu(*host_);
    DeviceUnique<std::byte>& found = found_.emplace(no_values(data_.buffer().device()));
    find_on_cpu({memory_of(found.values, data_.element_bytes()), memory_of(found.counts), memory_of(found.indices),
                 memory_of(found.inverse)});
  }
  void enqueue(Stream& stream) override {
    options_.times = times();
    if (host_ != nullptr) options_.workspace = nullptr;
    if (counts_on_device(of_, data_.dtype(), data_.count(), options_, waits())) {
      start_counting(stream, {&data_.buffer()});
      if (!waits()) return;
      found_ = counter_->read(options_.counts);
      if (times() != nullptr) times()->compute += counter_->seconds();
      if (found_) return;
    }
    start_job(stream, {&data_.buffer()});
    if (waits()) found_ = job_->finish();
  }
  void finish() override {
    if (!waits() && job_) found_ = job_->finish();
    else if (!waits() && counter_) found_ = counter_->read(options_.counts);
    if (host_ != nullptr && found_) download();
  }

  // The values by counting, for the caller to read or to have written.
  void start_counting(Stream& stream, Operands operands) {
    const std::uint64_t bytes = unique_patterns::workspace(stream.device().info(), data_.dtype(), data_.count());
    counter_.emplace(stream, data_.buffer(), data_.dtype(), data_.count(),
                     call::take_workspace(name_of(of_), options_.workspace, stream, bytes, operands));
  }
  void start_job(Stream& stream, Operands operands) {
    job_.emplace(of_, stream, data_.buffer(), data_.dtype(), options_, operands);
    job_->start(of_, data_.buffer(), waits());
  }
  void find_on_cpu(const detail::UniqueMemory& results) const try {
    if (of_ == Of::values) return unique_cpu(data_.view(), options_, results);
    const CpuRunFinder finder(data_.view());
    const std::uint64_t runs = finder.runs();
    void* values = results.values(runs);
    std::uint64_t* const lengths = options_.counts ? numbers_of(results.counts, runs) : nullptr;
    finder.write(values, lengths, options_.indices ? numbers_of(results.indices, runs) : nullptr);
  } catch (const std::bad_alloc&) {
    no_memory();
  }
  void download() const try {
    const call::Timer timer(times(), &Times::transfer);
    call::download_bytes(found_->values, host_->values(found_->values.size() / data_.element_bytes()));
    const auto fetch = [](bool wanted, const Counts& from, const detail::ResultMemory& memory) {
      if (wanted) from.read(std::span(numbers_of(memory, from.size()), from.size()));
    };
    fetch(options_.counts, found_->counts, host_->counts);
    fetch(options_.indices, found_->indices, host_->indices);
    fetch(options_.inverse, found_->inverse, host_->inverse);
  } catch (const std::bad_alloc&) {
    no_memory();
  }
  [[noreturn]] void no_memory() const {
    throw Error(ErrorCode::out_of_memory, fmt::format("{}: no memory for the result of {} elements of {} bytes",
                                                      name_of(of_), data_.count(), data_.element_bytes()));
  }

  const Operand& data_;
  Of of_;
  UniqueOptions options_;
  const detail::UniqueMemory* host_;
  std::optional<unique_patterns::Finder> counter_;
  std::optional<Job> job_;
  std::optional<DeviceUnique<std::byte>> found_;
};

class RunFinding final : public Finding {
 public:
  using Finding::Finding;
  [[nodiscard]] DeviceRuns<std::byte> result() { return as_runs(Finding::result()); }
};

class FindingThere final : public Finding {
 public:
  FindingThere(Of of, const Operand& data, const UniqueTargets& to, const BufferBase* workspace)
      : Finding(of, data, {to.counts != nullptr, to.indices != nullptr, to.inverse != nullptr, workspace}),
        to_(to),
        values_(returns("the values", Operand(to.values, data.dtype()))),
        number_(returns("the number", Operand(to.number, Dtype::u64))) {
    const bool values = of == Of::values;
    declare(values ? "the counts" : "the lengths", to.counts);
    declare(values ? "the indices" : "the starts", to.indices);
    declare("the inverse", to.inverse);
  }

 private:
  void declare(const char* name, const BufferBase* numbers) {
    if (numbers != nullptr) numbers_.push_back(&returns(name, Operand(*numbers, Dtype::u64)));
  }
  void check() override {
    check_result(values_, data_.count());
    check_result(number_, 1);
    for (const Operand* numbers : numbers_) check_result(*numbers, data_.count());
  }
  void run_on_cpu() override {
    auto* const number = static_cast<std::uint64_t*>(number_.data());
    const detail::ResultMemory values = [&](std::uint64_t count) {
      *number = count;
      return values_.data();
    };
    find_on_cpu({values, memory_at(to_.counts), memory_at(to_.indices), memory_at(to_.inverse)});
  }
  void enqueue(Stream& stream) override {
    const Operands operands{&data_.buffer(), &to_.values, &to_.number, to_.counts, to_.indices, to_.inverse};
    if (counts_on_device(of_, data_.dtype(), data_.count(), options_, false)) {
      start_counting(stream, operands);
      return counter_->write({.values = &to_.values, .lengths = to_.counts, .number = &to_.number});
    }
    start_job(stream, operands);
    job_->write(to_);
  }
  bool enqueue_empty(Stream& stream) override {
    call::clear(stream, to_.number, 0, sizeof(std::uint64_t));
    return true;
  }
  void finish() override {}

  UniqueTargets to_;
  const Operand& values_;
  const Operand& number_;
  std::vector<const Operand*> numbers_;
};

// The results of host data in host memory.
void find_into(Of of, const Device& device, const ArrayView& data, const UniqueOptions& options,
               const detail::UniqueMemory& results) {
  if (data.count == 0) (void)results.values(0);
  Finding finding(of, data, options, &results);
  finding.run(device);
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
  return call::run<Finding>(Of::values, Operand(data, dtype), options);
}

Pending<DeviceUnique<std::byte>> unique(Stream& stream, const BufferBase& data, Dtype dtype,
                                        const UniqueOptions& options) {
  return call::start<Finding>(stream, Of::values, Operand(data, dtype), options);
}

Pending<void> unique(Stream& stream, const BufferBase& data, Dtype dtype, const UniqueTargets& to,
                     const BufferBase* workspace) {
  return call::start_into<FindingThere>(stream, Of::values, Operand(data, dtype), to, workspace);
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

DeviceRuns<std::byte> run_length(const BufferBase& data, Dtype dtype, const RunOptions& options) {
  return call::run<RunFinding>(Of::runs, Operand(data, dtype), as_values(options));
}

Pending<DeviceRuns<std::byte>> run_length(Stream& stream, const BufferBase& data, Dtype dtype,
                                          const RunOptions& options) {
  return call::start<RunFinding>(stream, Of::runs, Operand(data, dtype), as_values(options));
}

Pending<void> run_length(Stream& stream, const BufferBase& data, Dtype dtype, const RunTargets& to,
                         const BufferBase* workspace) {
  return call::start_into<FindingThere>(stream, Of::runs, Operand(data, dtype),
                                        UniqueTargets{to.values, to.number, to.lengths, to.starts}, workspace);
}

}  // namespace masu
