// SPDX-License-Identifier: Apache-2.0
// The public functions: validate, then add and round, on the CPU (sum_cpu.cpp) or on a device.
#include "call/launcher.h"
#include "call/operands.h"
#include "elements/stored_float.h"
#include "sum/sum_cpu.h"
#include "sum/sum_device.h"
#include "sum/sum_rows.h"
#include "sum/sum_totals.h"

#include <masu/histogram.h>
#include <masu/sum.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <string>

namespace masu {
using Function = SumRule::Function;
namespace {

constexpr std::uint64_t most_rows = std::uint64_t{1} << 32;

[[noreturn]] void refuse(const std::string& rule) {
  throw Error(ErrorCode::invalid_argument, rule);
}

SumRule rule_of(Function function, Dtype dtype, const SumOptions& options) {
  return {function, dtype, options.result, options.ddof};
}

// Returns the elements of a row.
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

// Columns are for results in device memory.
void refuse_columns(const SumRule& rule, const SumOptions& options) {
  if (options.columns == 1) return;
  refuse(fmt::format("{}: columns must be 1 where results are returned, got {}", rule.name(), options.columns));
}

void check_lengths(const SumRule& rule, std::uint64_t x, std::uint64_t y) {
  if (x != y) refuse(fmt::format("{}: x and y must have as many elements, got {} and {}", rule.name(), x, y));
}

std::uint64_t check_buffers(const SumRule& rule, const BufferBase& x, const BufferBase& y, const SumOptions& options) {
  call::check_one_device(rule.name(), x, y);
  const std::uint64_t count = call::count_of(rule.name(), x, rule.dtype);
  check_lengths(rule, count, call::count_of(rule.name(), y, rule.dtype));
  return check_rows(rule, count, options);
}

// The form of host data.
SumResult from_host(Function function, const Device& device, const ArrayView& x, const ArrayView& y,
                    const SumOptions& options) {
  const FloatingPointScope usual;
  const SumRule rule = rule_of(function, x.dtype, options);
  call::check_dtype(rule.name(), x.dtype, y.dtype);
  check_lengths(rule, x.count, y.count);
  refuse_columns(rule, options);
  const std::uint64_t length = check_rows(rule, x.count, options);
  call::start_times(options.times);
  std::atomic<bool> misfit = false;
  return SumParts::make(rule.result_dtype(), options.rows, [&](std::byte* memory) {
    SumRows rows(rule, length, memory, options.wrap ? &misfit : nullptr);
    if (call::on_cpu(device)) {
      const call::Timer timer(options.times, &Times::compute);
      return cpu::sum_rows(rows, x.data, y.data, options.rows);
    }
    RowSums sums(device, x.dtype, rule.needs(), length,
                 [&](std::uint64_t row, const Totals& totals) { rows.take(row, totals); });
    sums.add(x.data, y.data, x.count);
    if (length == 0) rows.take_nothing(options.rows);
    call::add_times(options.times, sums.times());
  });
}

// Results that are made on a device for the host. What it is given outlives it.
class Running {
 public:
  Running(Stream& stream, const SumRule& rule, const BufferBase& x, const BufferBase& y, std::uint64_t length,
          const SumOptions& options)
      : stream_(stream),
        rule_(rule),
        x_(x),
        y_(y),
        length_(length),
        rows_(options.rows),
        wraps_(options.wrap),
        sums_(x.device(), rule, options.rows, length, 1, true),
        memory_(call::take_workspace(rule.name(), options.workspace, stream, sums_.bytes(), {&x, &y})),
        launches_(sums_.enqueue(stream, x, y, memory_, {})) {}

  // Waits.
  [[nodiscard]] SumResult get() const {
    bool fits = true;
    SumResult result =
        SumParts::make(rule_.result_dtype(), rows_, [&](std::byte* to) { fits = sums_.read(stream_, memory_, to); });
    if (!fits && !wraps_) refuse_misfit();
    return result;
  }
  [[nodiscard]] double seconds() const { return call::seconds_of(launches_); }

 private:
  // Adds once more, as the error says how large the exact total is.
  void refuse_misfit() const {
    RowSums totals(x_.device(), rule_.dtype, rule_.needs(), length_,
                   [&](std::uint64_t /*row*/, const Totals& found) { (void)rule_.bits(Parts(found), length_); });
    totals.add(stream_, x_, x_.byte_offset(), y_, y_.byte_offset(), length_ * rows_, false);
  }

  Stream& stream_;
  SumRule rule_;
  const BufferBase& x_;
  const BufferBase& y_;
  std::uint64_t length_;
  std::uint64_t rows_;
  bool wraps_;
  SumsOnDevice sums_;
  Buffer<std::byte> memory_;
  std::vector<Event> launches_;
};

// The form of device memory.
SumResult from_buffer(Function function, const BufferBase& x, const BufferBase& y, Dtype dtype,
                      const SumOptions& options) {
  const FloatingPointScope usual;
  const SumRule rule = rule_of(function, dtype, options);
  refuse_columns(rule, options);
  const std::uint64_t length = check_buffers(rule, x, y, options);
  if (call::on_cpu(x.device())) {
    return from_host(function, x.device(), call::host_view(x, dtype), call::host_view(y, dtype), options);
  }
  call::start_times(options.times);
  Stream stream = call::timed_stream(x.device(), options.times != nullptr);
  const Running work(stream, rule, x, y, length, options);
  SumResult result = work.get();
  if (options.times != nullptr) options.times->compute = work.seconds();
  return result;
}

// The same on a stream: the results are read when they are asked for.
Pending<SumResult> on_stream(Function function, Stream& stream, const BufferBase& x, const BufferBase& y, Dtype dtype,
                             SumOptions options) {
  const SumRule rule = rule_of(function, dtype, options);
  call::check_stream(rule.name(), stream, x);
  refuse_columns(rule, options);
  const std::uint64_t length = check_buffers(rule, x, y, options);
  options.times = nullptr;
  if (call::on_cpu(stream.device())) {
    stream.finish();  // what was given to it before may still change the data
    auto result = std::make_shared<SumResult>(from_buffer(function, x, y, dtype, options));
    return {call::end_of(stream), [result] { return std::move(*result); }};
  }
  auto work = std::make_shared<Running>(stream, rule, x, y, length, options);
  return {call::end_of(stream), [work] { return work->get(); }};
}

// The form whose results stay in device memory.
Pending<void> into(Function function, Stream& stream, const BufferBase& x, const BufferBase& y, Dtype dtype,
                   const BufferBase& results, const SumOptions& options) {
  const FloatingPointScope usual;
  const SumRule rule = rule_of(function, dtype, options);
  const Device& device = stream.device();
  call::check_stream(rule.name(), stream, x);
  const std::uint64_t length = check_buffers(rule, x, y, options);
  check_columns(rule, options);
  call::check_results(rule.name(), "results", results, device, options.rows, size_of(rule.result_dtype()), {&x, &y});
  if (options.status != nullptr) {
    call::check_results(rule.name(), "status", *options.status, device, 1, sizeof(std::uint32_t), {&x, &y, &results});
  }
  if (call::on_cpu(device)) {
    stream.finish();  // what was given to it before may still change the data
    const bool fits = sum_lines(rule, call::host_view(x, dtype), call::host_view(y, dtype), options.rows,
                                options.columns, call::host_address(results));
    const std::uint32_t word = fits ? 0 : 1;
    if (options.status != nullptr) std::memcpy(call::host_address(*options.status), &word, sizeof(word));
    return {call::end_of(stream), [] {}};
  }
  const SumsOnDevice sums(device, rule, options.rows, length, options.columns, false);
  if (options.zeros != nullptr) {
    const std::uint64_t words = options.rows * sizeof(std::uint32_t);
    call::check_workspace(rule.name(), *options.zeros, device, words,
                          {&x, &y, &results, options.workspace, options.status}, "zeros");
  }
  const auto memory = std::make_shared<Buffer<std::byte>>(
      call::take_workspace(rule.name(), options.workspace, stream, sums.bytes(), {&x, &y, &results}));
  if (options.status != nullptr) call::clear(stream, *options.status, 0, sizeof(std::uint32_t));
  sums.enqueue(stream, x, y, *memory, {.results = &results, .status = options.status, .zeros = options.zeros});
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

// The forms of each function; y is x again for functions of one input.
#define MASU_SUM_FORMS(name, DECLARE_Y, y)                                                                          \
  SumResult name(const Device& device, const ArrayView& x DECLARE_Y(const ArrayView&), const SumOptions& options) { \
    return from_host(Function::name, device, x, y, options);                                                        \
  }                                                                                                                 \
  SumResult name(const BufferBase& x DECLARE_Y(const BufferBase&), Dtype dtype, const SumOptions& options) {        \
    return from_buffer(Function::name, x, y, dtype, options);                                                       \
  }                                                                                                                 \
  Pending<SumResult> name(Stream& stream, const BufferBase& x DECLARE_Y(const BufferBase&), Dtype dtype,            \
                          const SumOptions& options) {                                                              \
    return on_stream(Function::name, stream, x, y, dtype, options);                                                 \
  }                                                                                                                 \
  Pending<void> name(Stream& stream, const BufferBase& x DECLARE_Y(const BufferBase&), Dtype dtype,                 \
                     const BufferBase& results, const SumOptions& options) {                                        \
    return into(Function::name, stream, x, y, dtype, results, options);                                             \
  }
#define MASU_NO_Y(type)
#define MASU_Y(type) , type y
MASU_SUM_FORMS(sum, MASU_NO_Y, x)
MASU_SUM_FORMS(dot, MASU_Y, y)
MASU_SUM_FORMS(mean, MASU_NO_Y, x)
MASU_SUM_FORMS(norm2, MASU_NO_Y, x)
MASU_SUM_FORMS(variance, MASU_NO_Y, x)
MASU_SUM_FORMS(standard_deviation, MASU_NO_Y, x)
#undef MASU_SUM_FORMS
#undef MASU_NO_Y
#undef MASU_Y

std::uint64_t sum_workspace(const Device& device, Dtype dtype, std::uint64_t count, const SumOptions& options) {
  const SumRule rule = rule_of(Function::sum, dtype, options);
  const std::uint64_t length = check_rows(rule, count, options);
  check_columns(rule, options);
  if (call::on_cpu(device)) return 0;
  std::uint64_t bytes = 0;
  for (const Function function : {Function::sum, Function::dot, Function::norm2, Function::variance}) {
    const SumsOnDevice sums(device, rule_of(function, dtype, options), options.rows, length, options.columns, true);
    bytes = std::max(bytes, sums.bytes());
  }
  return bytes;
}

SumOptions detail::one_row(const SumOptions& options) {
  if (options.rows != 1) {
    refuse(fmt::format("sum: rows must be 1 where one number is returned, got {}", options.rows));
  }
  return options;
}

}  // namespace masu
