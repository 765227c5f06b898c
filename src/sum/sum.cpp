// SPDX-License-Identifier: Apache-2.0
// The public functions: validate, add, round.
#include "call/launcher.h"
#include "call/operands.h"
#include "runtime/half.h"
#include "runtime/parallel.h"
#include "sum/sum_cpu.h"
#include "sum/sum_device.h"
#include "sum/sum_quick.h"
#include "sum/sum_rows.h"
#include "sum/sum_totals.h"

#include <masu/histogram.h>
#include <masu/sum.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

namespace masu {
using Function = SumRule::Function;
namespace {

constexpr std::uint64_t most_rows = std::uint64_t{1} << 32;
constexpr std::uint64_t task_elements = std::uint64_t{1} << 16;
constexpr std::uint64_t status_bytes = call::workspace_alignment;  // a word that nobody looks at

[[noreturn]] void refuse(const std::string& rule) {
  throw Error(ErrorCode::invalid_argument, rule);
}

SumRule rule_of(Function function, Dtype dtype, const SumOptions& options) {
  return {function, dtype, options.result, options.ddof};
}

// Elements of a row.
std::uint64_t check_rows(const SumRule& rule, std::uint64_t count, const SumOptions& options) {
  if (options.rows == 0 || options.rows > most_rows || count % options.rows != 0) {
    refuse(
        fmt::format("{}: rows must be 1 to 2^32 and divide the {} elements, got {}", rule.name(), count, options.rows));
  }
  rule.check(count / options.rows);
  return count / options.rows;
}

void check_columns(const SumRule& rule, const SumOptions& options) {
  if (options.columns == 0 || options.rows % options.columns != 0) {
    refuse(fmt::format("{}: columns must be >= 1 and divide the {} rows, got {}", rule.name(), options.rows,
                       options.columns));
  }
  if (options.columns > 1 && rule.function == SumRule::Function::dot) {
    refuse(fmt::format("dot: columns must be 1, got {}", options.columns));
  }
}

// Of results that are returned.
void refuse_columns(const SumRule& rule, const SumOptions& options) {
  if (options.columns == 1) return;
  refuse(fmt::format("{}: columns must be 1 where results are returned, got {}", rule.name(), options.columns));
}

void check_lengths(const SumRule& rule, std::uint64_t x, std::uint64_t y) {
  if (x != y) refuse(fmt::format("{}: x and y must have as many elements, got {} and {}", rule.name(), x, y));
}

// The rows' results, as they come.
class Results {
 public:
  // `misfit`: as SumRule::bits has it.
  Results(const SumRule& rule, const SumOptions& options, std::uint64_t row, std::atomic<bool>* misfit = nullptr)
      : rule_(rule),
        row_(row),
        misfit_(misfit == nullptr && options.wrap ? &wrapped_ : misfit),
        result_(SumParts::make(rule.result_dtype(), options.rows)) {}
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  void take(std::uint64_t row, double value) { SumParts::bits(result_, row) = std::bit_cast<std::uint64_t>(value); }
  void take(std::uint64_t row, const Totals& totals) {
    SumParts::bits(result_, row) = rule_.bits(Parts(totals), row_, misfit_);
  }
  [[nodiscard]] RowSums::Sink sink() {
    return [this](std::uint64_t row, const Totals& totals) { take(row, totals); };
  }
  // Rows without elements, which no data completes.
  SumResult finish() {
    if (row_ == 0) {
      const Totals nothing;
      for (std::uint64_t row = 0; row < result_.rows(); ++row) take(row, nothing);
    }
    return std::move(result_);
  }

 private:
  SumRule rule_;
  std::uint64_t row_;
  std::atomic<bool> wrapped_ = false;  // which nobody asks about
  std::atomic<bool>* misfit_;
  SumResult result_;
};

void give_times(const SumOptions& options, const RowSums& sums) {
  if (options.times != nullptr) *options.times = sums.times();
}

bool is_quick(const SumRule& rule, const Device& device, std::uint64_t length) {
  if (!call::on_cpu(device) || length == 0) return false;
  if (rule.dtype == Dtype::f16) {
    return rule.function == Function::dot && rule.result == Dtype::f16 && length <= cpu::quick_dot_halves;
  }
  const bool known = rule.is_spread() ? length <= cpu::quick_spread_elements : rule.function != Function::norm2;
  return known && is_float(rule.dtype) && rule.result != Dtype::f16;
}

// Rows of floats on the CPU: those whose rounding is proved without exact totals, and the others.
void add_quickly(const SumRule& rule, const ArrayView& x, const ArrayView& y, std::uint64_t rows, std::uint64_t length,
                 Results& results) {
  const std::uint64_t divisor = rule.function == Function::mean ? length : 1;
  // Of more f32 than that the bound proves no result of f64.
  const bool proves =
      rule.is_spread() || rule.dtype == rule.result || rule.dtype == Dtype::f64 || length <= cpu::quick_few;
  const auto one = [&]<class T>(const T* from, const T* with, std::uint64_t row) {
    std::optional<double> found;
    if (proves && rule.function == Function::dot) found = cpu::quick_dot(from, with, length, rule.result);
    if constexpr (!std::is_same_v<T, Half>) {
      const bool root = rule.function == Function::standard_deviation;
      if (proves && rule.is_spread()) found = cpu::quick_spread(from, {length, rule.ddof, root, rule.result});
      else if (proves && rule.function != Function::dot) found = cpu::quick_sum(from, length, rule.result, divisor);
    }
    if (found) return results.take(row, *found);
    Totals totals;
    cpu::add_totals(rule.dtype, rule.needs(), from, with, length, totals);
    results.take(row, totals);
  };
  const auto all = [&]<class T>(const T* from, const T* with) {
    const auto some = [&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t row = first; row < end; ++row) one(from + row * length, with + row * length, row);
    };
    if (rows < 2 || rows * length < 2 * task_elements || length > task_elements) return some(0, rows);
    const std::uint64_t each = std::max<std::uint64_t>(task_elements / length, 1);
    runtime::parallel_tasks((rows + each - 1) / each,
                            [&](std::uint64_t task) { some(task * each, std::min(rows, (task + 1) * each)); });
  };
  if (rule.dtype == Dtype::f16) all(static_cast<const Half*>(x.data), static_cast<const Half*>(y.data));
  else if (rule.dtype == Dtype::f32) all(static_cast<const float*>(x.data), static_cast<const float*>(y.data));
  else all(static_cast<const double*>(x.data), static_cast<const double*>(y.data));
}

// The same of rows that are worked on many at a time, of any dtype.
void add_together(const SumRule& rule, const ArrayView& x, std::uint64_t rows, std::uint64_t length, Results& results) {
  const std::size_t bytes = length * size_of(rule.dtype);
  const std::uint64_t each = std::max<std::uint64_t>(task_elements / length, 1);
  runtime::parallel_tasks((rows + each - 1) / each, [&](std::uint64_t task) {
    const std::uint64_t first = task * each;
    const std::uint64_t here = std::min(rows - first, each);
    const auto* const from = static_cast<const std::byte*>(x.data) + first * bytes;
    std::vector<double> values(here);
    std::vector<std::uint8_t> sure(here);
    cpu::quick_rows(rule, from, here, length, values.data(), sure.data());
    for (std::uint64_t row = 0; row < here; ++row) {
      if (sure[row] != 0) {
        results.take(first + row, values[row]);
        continue;
      }
      Totals totals;
      cpu::add_totals(rule.dtype, rule.needs(), from + row * bytes, from + row * bytes, length, totals);
      results.take(first + row, totals);
    }
  });
}

SumResult of_host(Function function, const Device& device, const ArrayView& x, const ArrayView& y,
                  const SumOptions& options, std::atomic<bool>* misfit = nullptr) {
  const FloatingPointScope usual;
  const SumRule rule = rule_of(function, x.dtype, options);
  call::check_dtype(rule.name(), x.dtype, y.dtype);
  check_lengths(rule, x.count, y.count);
  refuse_columns(rule, options);
  const std::uint64_t row = check_rows(rule, x.count, options);
  Results results(rule, options, row, misfit);
  const bool together = call::on_cpu(device) && cpu::are_quick_rows(rule, options.rows, row);
  if (together || is_quick(rule, device, row)) {
    call::start_times(options.times);
    const call::Timer timer(options.times, &Times::compute);
    if (together) add_together(rule, x, options.rows, row, results);
    else add_quickly(rule, x, y, options.rows, row, results);
    return results.finish();
  }
  RowSums sums(device, x.dtype, rule.needs(), row, results.sink());
  sums.add(x.data, y.data, x.count);
  give_times(options, sums);
  return results.finish();
}

std::uint64_t check_buffers(const SumRule& rule, const BufferBase& x, const BufferBase& y, const SumOptions& options) {
  call::check_one_device(rule.name(), x, y);
  const std::uint64_t count = call::count_of(rule.name(), x, rule.dtype);
  check_lengths(rule, count, call::count_of(rule.name(), y, rule.dtype));
  return check_rows(rule, count, options);
}

// Variances of one reading, rounded on the device, that waits for them.
SumResult of_one_reading(const SumsOnDevice& sums, const SumRule& rule, const BufferBase& x,
                         const SumOptions& options) {
  const Device& device = x.device();
  const bool timed = options.times != nullptr;
  call::start_times(options.times);
  Stream stream = call::timed_stream(device, timed);
  const std::uint64_t temporary = call::aligned(sums.bytes());
  const Buffer<std::byte> memory =
      call::take_workspace(rule.name(), options.workspace, device, temporary + status_bytes, {&x});
  const std::size_t size = size_of(rule.result_dtype());
  const Buffer<std::byte> results(device, options.rows * size);
  const std::vector<Event> launches = sums.enqueue(stream,
                                                   {x, x.byte_offset(), x, x.byte_offset(), results,
                                                    results.byte_offset(), memory, memory.byte_offset() + temporary},
                                                   memory);
  std::vector<std::byte> found(results.size());
  call::fetch(stream, results, 0, found.data(), found.size());
  stream.finish();
  if (timed) options.times->compute = call::seconds_of(launches);
  SumResult result = SumParts::make(rule.result_dtype(), options.rows);
  for (std::uint64_t row = 0; row < options.rows; ++row) {
    const auto value = [&]<class T>(T number) {
      std::memcpy(&number, found.data() + row * size, size);
      return number;
    };
    double number = 0;
    switch (rule.result_dtype()) {
      case Dtype::f16: number = runtime::to_double(value(Half{})); break;
      case Dtype::f32: number = value(0.0F); break;
      default: number = value(0.0);
    }
    SumParts::bits(result, row) = std::bit_cast<std::uint64_t>(number);
  }
  return result;
}

SumResult of_buffer(Function function, const BufferBase& x, const BufferBase& y, Dtype dtype,
                    const SumOptions& options) {
  const FloatingPointScope usual;
  const SumRule rule = rule_of(function, dtype, options);
  refuse_columns(rule, options);
  const std::uint64_t row = check_buffers(rule, x, y, options);
  if (call::on_cpu(x.device())) {
    return of_host(function, x.device(), call::host_view(x, dtype), call::host_view(y, dtype), options);
  }
  if ((function == Function::variance || function == Function::standard_deviation) && row != 0) {
    const SumsOnDevice sums(x.device(), rule, options.rows, row, 1);
    if (sums.tries()) return of_one_reading(sums, rule, x, options);
  }
  Results results(rule, options, row);
  RowSums sums(x.device(), dtype, rule.needs(), row, results.sink());
  const bool timed = options.times != nullptr;
  Stream stream = call::timed_stream(x.device(), timed);
  sums.add(stream, x, x.byte_offset(), y, y.byte_offset(), row * options.rows, timed, options.workspace);
  give_times(options, sums);
  return results.finish();
}

Pending<SumResult> on_stream(Function function, Stream& stream, const BufferBase& x, const BufferBase& y, Dtype dtype,
                             const SumOptions& options) {
  const SumRule rule = rule_of(function, dtype, options);
  call::check_stream(rule.name(), stream, x);
  refuse_columns(rule, options);
  const std::uint64_t row = check_buffers(rule, x, y, options);
  SumOptions quiet = options;
  quiet.times = nullptr;
  if (call::on_cpu(stream.device())) {
    stream.finish();  // what was given to it before may still change the data
    auto result = std::make_shared<SumResult>(of_buffer(function, x, y, dtype, quiet));
    return {call::end_of(stream), [result] { return std::move(*result); }};
  }
  if (options.rows > DeviceSum::most_rows(x.device(), dtype, rule.needs())) {
    return {call::end_of(stream), [function, &x, &y, dtype, quiet] { return of_buffer(function, x, y, dtype, quiet); }};
  }
  call::check_capture(rule.name(), stream, options.workspace,
                      DeviceSum::bytes(x.device(), dtype, rule.needs(), options.rows));
  auto job = std::make_shared<DeviceSum>(rule.name(), x, y, dtype, rule.needs(), options.rows, row, options.workspace);
  job->start(stream, x.byte_offset(), y.byte_offset());
  return {call::end_of(stream), [job, &stream, rule, row, quiet] {
            job->finish(stream);
            Results results(rule, quiet, row);
            for (std::uint64_t r = 0; r < quiet.rows; ++r) {
              Totals totals;
              job->add_to(totals, r);
              results.take(r, totals);
            }
            return results.finish();
          }};
}

// On `cpu`, whose memory the results lie in.
void into_memory(Function function, const BufferBase& x, const BufferBase& y, Dtype dtype, const BufferBase& results,
                 const SumOptions& options) {
  std::atomic<bool> misfit = false;
  ArrayView of_x = call::host_view(x, dtype);
  ArrayView of_y = call::host_view(y, dtype);
  SumOptions by_row = options;
  std::vector<std::byte> rows;
  if (options.columns > 1 && of_x.count != 0) {
    rows = cpu::columns_as_rows(of_x, options.rows, options.columns);
    of_x.data = of_y.data = rows.data();
  }
  by_row.columns = 1;
  const SumResult found = of_host(function, x.device(), of_x, of_y, by_row, &misfit);
  std::byte* to = call::host_address(results);
  const auto store = [&]<class T>(T value) {
    std::memcpy(to, &value, sizeof(value));
    to += sizeof(value);
  };
  for (std::uint64_t row = 0; row < found.rows(); ++row) {
    switch (found.dtype()) {
      case Dtype::i64: store(found.signed_integer(row)); break;
      case Dtype::u64: store(found.unsigned_integer(row)); break;
      case Dtype::f16: store(runtime::to_half(found.value(row))); break;
      case Dtype::f32: store(static_cast<float>(found.value(row))); break;
      default: store(found.value(row));
    }
  }
  if (options.status == nullptr) return;
  const std::uint32_t word = misfit ? 1 : 0;
  std::memcpy(call::host_address(*options.status), &word, sizeof(word));
}

Pending<void> into(Function function, Stream& stream, const BufferBase& x, const BufferBase& y, Dtype dtype,
                   const BufferBase& results, const SumOptions& options) {
  const FloatingPointScope usual;
  const SumRule rule = rule_of(function, dtype, options);
  const Device& device = stream.device();
  call::check_stream(rule.name(), stream, x);
  const std::uint64_t row = check_buffers(rule, x, y, options);
  check_columns(rule, options);
  call::check_results(rule.name(), "results", results, device, options.rows, size_of(rule.result_dtype()), {&x, &y});
  if (options.status != nullptr) {
    call::check_results(rule.name(), "status", *options.status, device, 1, sizeof(std::uint32_t), {&x, &y, &results});
  }
  SumOptions quiet = options;
  quiet.times = nullptr;
  if (call::on_cpu(device)) {
    stream.finish();  // what was given to it before may still change the data
    into_memory(function, x, y, dtype, results, quiet);
    return {call::end_of(stream), [] {}};
  }
  const SumsOnDevice sums(device, rule, options.rows, row, options.columns);
  if (options.zeros != nullptr) {
    const std::uint64_t words = options.rows * sizeof(std::uint32_t);
    call::check_workspace(rule.name(), *options.zeros, device, words,
                          {&x, &y, &results, options.workspace, options.status}, "zeros");
  }
  const std::uint64_t temporary = call::aligned(sums.bytes());
  const auto memory = std::make_shared<Buffer<std::byte>>(
      call::take_workspace(rule.name(), options.workspace, stream, temporary + status_bytes, {&x, &y, &results}));
  const Buffer<std::byte> own_status = memory->slice(temporary, sizeof(std::uint32_t));
  const BufferBase& status = options.status != nullptr ? *options.status : own_status;
  if (options.status != nullptr) call::clear(stream, status, 0, sizeof(std::uint32_t));  // nobody reads its own
  sums.enqueue(stream,
               {x, x.byte_offset(), y, y.byte_offset(), results, results.byte_offset(), status, status.byte_offset(),
                options.zeros},
               *memory);
  return {call::end_of(stream), [memory] {}};
}

}  // namespace

std::uint64_t SumResult::bits(std::uint64_t row) const {
  if (row >= bits_.size()) refuse(fmt::format("sum: the result has {} rows, got row {}", bits_.size(), row));
  return bits_[row];
}

double SumResult::value(std::uint64_t row) const {
  const FloatingPointScope usual;
  const std::uint64_t word = bits(row);
  if (dtype_ == Dtype::i64) return static_cast<double>(static_cast<std::int64_t>(word));
  return dtype_ == Dtype::u64 ? static_cast<double>(word) : std::bit_cast<double>(word);
}

std::int64_t SumResult::signed_integer(std::uint64_t row) const {
  if (dtype_ != Dtype::i64) refuse(fmt::format("sum: the result must be i64, got {}", to_string(dtype_)));
  return static_cast<std::int64_t>(bits(row));
}

std::uint64_t SumResult::unsigned_integer(std::uint64_t row) const {
  if (dtype_ != Dtype::u64) refuse(fmt::format("sum: the result must be u64, got {}", to_string(dtype_)));
  return bits(row);
}

SumResult sum(const Device& device, const ArrayView& x, const SumOptions& options) {
  return of_host(Function::sum, device, x, x, options);
}
SumResult dot(const Device& device, const ArrayView& x, const ArrayView& y, const SumOptions& options) {
  return of_host(Function::dot, device, x, y, options);
}
SumResult mean(const Device& device, const ArrayView& x, const SumOptions& options) {
  return of_host(Function::mean, device, x, x, options);
}
SumResult norm2(const Device& device, const ArrayView& x, const SumOptions& options) {
  return of_host(Function::norm2, device, x, x, options);
}
SumResult variance(const Device& device, const ArrayView& x, const SumOptions& options) {
  return of_host(Function::variance, device, x, x, options);
}
SumResult standard_deviation(const Device& device, const ArrayView& x, const SumOptions& options) {
  return of_host(Function::standard_deviation, device, x, x, options);
}

SumResult sum(const BufferBase& x, Dtype dtype, const SumOptions& options) {
  return of_buffer(Function::sum, x, x, dtype, options);
}
SumResult dot(const BufferBase& x, const BufferBase& y, Dtype dtype, const SumOptions& options) {
  return of_buffer(Function::dot, x, y, dtype, options);
}
SumResult mean(const BufferBase& x, Dtype dtype, const SumOptions& options) {
  return of_buffer(Function::mean, x, x, dtype, options);
}
SumResult norm2(const BufferBase& x, Dtype dtype, const SumOptions& options) {
  return of_buffer(Function::norm2, x, x, dtype, options);
}
SumResult variance(const BufferBase& x, Dtype dtype, const SumOptions& options) {
  return of_buffer(Function::variance, x, x, dtype, options);
}
SumResult standard_deviation(const BufferBase& x, Dtype dtype, const SumOptions& options) {
  return of_buffer(Function::standard_deviation, x, x, dtype, options);
}

Pending<SumResult> sum(Stream& stream, const BufferBase& x, Dtype dtype, const SumOptions& options) {
  return on_stream(Function::sum, stream, x, x, dtype, options);
}
Pending<SumResult> dot(Stream& stream, const BufferBase& x, const BufferBase& y, Dtype dtype,
                       const SumOptions& options) {
  return on_stream(Function::dot, stream, x, y, dtype, options);
}
Pending<SumResult> mean(Stream& stream, const BufferBase& x, Dtype dtype, const SumOptions& options) {
  return on_stream(Function::mean, stream, x, x, dtype, options);
}
Pending<SumResult> norm2(Stream& stream, const BufferBase& x, Dtype dtype, const SumOptions& options) {
  return on_stream(Function::norm2, stream, x, x, dtype, options);
}
Pending<SumResult> variance(Stream& stream, const BufferBase& x, Dtype dtype, const SumOptions& options) {
  return on_stream(Function::variance, stream, x, x, dtype, options);
}
Pending<SumResult> standard_deviation(Stream& stream, const BufferBase& x, Dtype dtype, const SumOptions& options) {
  return on_stream(Function::standard_deviation, stream, x, x, dtype, options);
}

Pending<void> sum(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& results,
                  const SumOptions& options) {
  return into(Function::sum, stream, x, x, dtype, results, options);
}
Pending<void> dot(Stream& stream, const BufferBase& x, const BufferBase& y, Dtype dtype, const BufferBase& results,
                  const SumOptions& options) {
  return into(Function::dot, stream, x, y, dtype, results, options);
}
Pending<void> mean(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& results,
                   const SumOptions& options) {
  return into(Function::mean, stream, x, x, dtype, results, options);
}
Pending<void> norm2(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& results,
                    const SumOptions& options) {
  return into(Function::norm2, stream, x, x, dtype, results, options);
}
Pending<void> variance(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& results,
                       const SumOptions& options) {
  return into(Function::variance, stream, x, x, dtype, results, options);
}
Pending<void> standard_deviation(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& results,
                                 const SumOptions& options) {
  return into(Function::standard_deviation, stream, x, x, dtype, results, options);
}

std::uint64_t sum_workspace(const Device& device, Dtype dtype, std::uint64_t count, const SumOptions& options) {
  const SumRule rule = rule_of(Function::sum, dtype, options);
  (void)check_rows(rule, count, options);
  check_columns(rule, options);
  if (call::on_cpu(device)) return 0;
  std::uint64_t bytes = 0;
  for (const Function function : {Function::sum, Function::dot, Function::norm2, Function::variance}) {
    const SumRule one = rule_of(function, dtype, options);
    const std::uint64_t rows = std::min(options.rows, DeviceSum::most_rows(device, dtype, one.needs()));
    bytes = std::max({bytes, DeviceSum::bytes(device, dtype, one.needs(), rows),
                      SumsOnDevice(device, one, options.rows, count / options.rows, options.columns).bytes()});
  }
  return call::aligned(bytes) + status_bytes;
}

SumOptions detail::one_row(const SumOptions& options) {
  if (options.rows != 1) {
    refuse(fmt::format("sum: rows must be 1 where one number is returned, got {}", options.rows));
  }
  return options;
}

}  // namespace masu
