// SPDX-License-Identifier: Apache-2.0
// The public functions: validate, add, round.
#include "call/launcher.h"
#include "call/operands.h"
#include "runtime/half.h"
#include "runtime/parallel.h"
#include "sum/sum_device.h"
#include "sum/sum_quick.h"
#include "sum/sum_rows.h"
#include "sum/sum_totals.h"

#include <masu/histogram.h>
#include <masu/sum.h>
#include <masu/transpose.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

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
  const auto one = [&]<class T>(const T* from, const T* with, std::uint64_t row, bool quick) {
    std::optional<double> found;
    if (quick && rule.function == Function::dot) found = cpu::quick_dot(from, with, length, rule.result);
    if constexpr (!std::is_same_v<T, Half>) {
      const bool root = rule.function == Function::standard_deviation;
      if (quick && rule.is_spread()) found = cpu::quick_spread(from, {length, rule.ddof, root, rule.result});
      else if (quick && rule.function != Function::dot) found = cpu::quick_sum(from, length, rule.result, divisor);
    }
    if (found) return results.take(row, *found);
    Totals totals;
    cpu::add_totals(rule.dtype, rule.needs(), from, with, length, totals);
    results.take(row, totals);
  };
  const auto all = [&]<class T>(const T* from, const T* with) {
    const auto some = [&](std::uint64_t first, std::uint64_t end) {
      const bool quick = proves && cpu::quick_arithmetic();
      for (std::uint64_t row = first; row < end; ++row) one(from + row * length, with + row * length, row, quick);
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
    if (cpu::quick_arithmetic()) cpu::quick_rows(rule, from, here, length, values.data(), sure.data());
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

// Results of rows, rounded on the device, that the host takes.
class RoundedThere {
 public:
  RoundedThere(const SumRule& rule, Stream& stream, const BufferBase& x, const BufferBase& y, const SumOptions& options,
               std::uint64_t row)
      : rule_(rule),
        rows_(options.rows),
        sums_(stream.device(), rule, rows_, row, 1),
        status_at_(call::aligned(sums_.bytes())),
        memory_(call::take_workspace(rule.name(), options.workspace, stream,
                                     status_at_ + status_bytes + rows_ * size_of(rule.result_dtype()), {&x, &y})) {
    call::clear(stream, memory_, status_at_, status_bytes);
    const std::uint64_t status = memory_.byte_offset() + status_at_;
    launches_ = sums_.enqueue(
        stream, {x, x.byte_offset(), y, y.byte_offset(), memory_, status + status_bytes, memory_, status}, memory_);
  }
  // Waits. Nothing where an integer does not fit, unless it `wraps`.
  std::optional<SumResult> finish(Stream& stream, bool wraps) const {
    const std::size_t size = size_of(rule_.result_dtype());
    std::vector<std::byte> found(status_bytes + rows_ * size);
    call::fetch(stream, memory_, status_at_, found.data(), found.size());
    stream.finish();
    if (!wraps && found.front() != std::byte{0}) return std::nullopt;
    SumResult result = SumParts::make(rule_.result_dtype(), rows_);
    for (std::uint64_t row = 0; row < rows_; ++row) {
      SumParts::bits(result, row) = dispatch(rule_.result_dtype(), [&](auto tag) -> std::uint64_t {
        typename decltype(tag)::type value;
        std::memcpy(&value, found.data() + status_bytes + row * size, size);
        if constexpr (std::is_same_v<decltype(value), Half>)
          return std::bit_cast<std::uint64_t>(runtime::to_double(value));
        else if constexpr (std::is_integral_v<decltype(value)>) return static_cast<std::uint64_t>(value);
        else return std::bit_cast<std::uint64_t>(static_cast<double>(value));
      });
    }
    return result;
  }
  // Of the launches, on a timed stream.
  [[nodiscard]] double seconds() const { return call::seconds_of(launches_); }

 private:
  SumRule rule_;
  std::uint64_t rows_;
  SumsOnDevice sums_;
  std::uint64_t status_at_;
  Buffer<std::byte> memory_;
  std::vector<Event> launches_;
};

// Of exact totals, which the host rounds.
SumResult of_totals(const SumRule& rule, const BufferBase& x, const BufferBase& y, const SumOptions& options,
                    std::uint64_t row) {
  Results results(rule, options, row);
  RowSums sums(x.device(), rule.dtype, rule.needs(), row, results.sink());
  const bool timed = options.times != nullptr;
  Stream stream = call::timed_stream(x.device(), timed);
  sums.add(stream, x, x.byte_offset(), y, y.byte_offset(), row * options.rows, timed);
  give_times(options, sums);
  return results.finish();
}

SumResult of_buffer(Function function, const BufferBase& x, const BufferBase& y, Dtype dtype,
                    const SumOptions& options) {
  const SumRule rule = rule_of(function, dtype, options);
  refuse_columns(rule, options);
  const std::uint64_t row = check_buffers(rule, x, y, options);
  if (call::on_cpu(x.device())) {
    return of_host(function, x.device(), call::host_view(x, dtype), call::host_view(y, dtype), options);
  }
  if (row == 0) return of_totals(rule, x, y, options, row);
  call::start_times(options.times);
  Stream stream = call::timed_stream(x.device(), options.times != nullptr);
  const RoundedThere job(rule, stream, x, y, options, row);
  std::optional<SumResult> result = job.finish(stream, options.wrap);
  if (!result) return of_totals(rule, x, y, options, row);  // which says what does not fit
  if (options.times != nullptr) options.times->compute = job.seconds();
  return *std::move(result);
}

Pending<SumResult> on_stream(Function function, Stream& stream, const BufferBase& x, const BufferBase& y, Dtype dtype,
                             const SumOptions& options) {
  const SumRule rule = rule_of(function, dtype, options);
  call::check_stream(rule.name(), stream, x);
  refuse_columns(rule, options);
  const std::uint64_t row = check_buffers(rule, x, y, options);
  SumOptions quiet = options;
  quiet.times = nullptr;
  if (call::on_cpu(stream.device()) || row == 0) {
    stream.finish();  // what was given to it before may still change the data
    auto result = std::make_shared<SumResult>(of_buffer(function, x, y, dtype, quiet));
    return {call::end_of(stream), [result] { return std::move(*result); }};
  }
  auto job = std::make_shared<RoundedThere>(rule, stream, x, y, quiet, row);
  return {call::end_of(stream), [job, &stream, &x, &y, rule, row, quiet] {
            std::optional<SumResult> result = job->finish(stream, quiet.wrap);
            return result ? *std::move(result) : of_totals(rule, x, y, quiet, row);
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
    const std::size_t size = size_of(dtype);
    const std::uint64_t length = of_x.count / options.rows;
    const std::uint64_t each = length * options.columns;  // elements of a matrix
    rows.resize(of_x.count * size);
    for (std::uint64_t at = 0; at < rows.size(); at += each * size) {
      transpose(x.device(), {static_cast<const std::byte*>(of_x.data) + at, size, each}, length, options.columns,
                {rows.data() + at, size, each});
    }
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

#define MASU_FUNCTION(name)                                                                              \
  SumResult name(const Device& device, const ArrayView& x, const SumOptions& options) {                  \
    return of_host(Function::name, device, x, x, options);                                               \
  }                                                                                                      \
  SumResult name(const BufferBase& x, Dtype dtype, const SumOptions& options) {                          \
    return of_buffer(Function::name, x, x, dtype, options);                                              \
  }                                                                                                      \
  Pending<SumResult> name(Stream& stream, const BufferBase& x, Dtype dtype, const SumOptions& options) { \
    return on_stream(Function::name, stream, x, x, dtype, options);                                      \
  }                                                                                                      \
  Pending<void> name(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& results,        \
                     const SumOptions& options) {                                                        \
    return into(Function::name, stream, x, x, dtype, results, options);                                  \
  }
MASU_FUNCTION(sum)
MASU_FUNCTION(mean)
MASU_FUNCTION(norm2)
MASU_FUNCTION(variance)
MASU_FUNCTION(standard_deviation)
#undef MASU_FUNCTION

SumResult dot(const Device& device, const ArrayView& x, const ArrayView& y, const SumOptions& options) {
  return of_host(Function::dot, device, x, y, options);
}
SumResult dot(const BufferBase& x, const BufferBase& y, Dtype dtype, const SumOptions& options) {
  return of_buffer(Function::dot, x, y, dtype, options);
}
Pending<SumResult> dot(Stream& stream, const BufferBase& x, const BufferBase& y, Dtype dtype,
                       const SumOptions& options) {
  return on_stream(Function::dot, stream, x, y, dtype, options);
}
Pending<void> dot(Stream& stream, const BufferBase& x, const BufferBase& y, Dtype dtype, const BufferBase& results,
                  const SumOptions& options) {
  return into(Function::dot, stream, x, y, dtype, results, options);
}

std::uint64_t sum_workspace(const Device& device, Dtype dtype, std::uint64_t count, const SumOptions& options) {
  const SumRule rule = rule_of(Function::sum, dtype, options);
  (void)check_rows(rule, count, options);
  check_columns(rule, options);
  if (call::on_cpu(device)) return 0;
  std::uint64_t bytes = 0;
  for (const Function function : {Function::sum, Function::dot, Function::norm2, Function::variance}) {
    const SumRule one = rule_of(function, dtype, options);
    const SumsOnDevice sums(device, one, options.rows, count / options.rows, options.columns);
    bytes = std::max(bytes, call::aligned(sums.bytes()));
  }
  return bytes + status_bytes + options.rows * sizeof(std::uint64_t);
}

SumOptions detail::one_row(const SumOptions& options) {
  if (options.rows != 1) {
    refuse(fmt::format("sum: rows must be 1 where one number is returned, got {}", options.rows));
  }
  return options;
}

}  // namespace masu
