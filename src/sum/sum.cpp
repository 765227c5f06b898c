// SPDX-License-Identifier: Apache-2.0
// The public functions: forms of one call, which adds and rounds on the CPU (sum_cpu.cpp) or on a device.
#include "call/form.h"
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
#include <optional>
#include <string>
#include <utility>

namespace masu {
using Function = SumRule::Function;
namespace {

using call::Operand;

constexpr std::uint64_t most_rows = std::uint64_t{1} << 32;

[[noreturn]] void refuse(const std::string& rule) {
  throw Error(ErrorCode::invalid_argument, rule);
}

SumRule rule_of(Function function, Dtype dtype, const SumOptions& options) {
  const std::uint64_t addend = addend_of(dtype, options.initial);
  const SumRule rule{function, dtype, options.result, options.ddof, addend};
  if (addend != 0 && function != Function::sum)
    refuse(fmt::format("{}: initial must be 0, as only sums have one", rule.name()));
  return rule;
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

// The results of rows: left in device memory, or returned.
class RowResults final : public call::Primitive {
 public:
  // `to`: null where they are returned.
  RowResults(const SumRule& rule, const Operand& x, const Operand& y, const SumOptions& options,
             const BufferBase* to = nullptr)
      : Primitive(rule.name(), options.times, options.workspace),
        rule_(rule),
        x_(reads("x", x)),
        y_(reads("y", y)),
        options_(options) {
    if (to == nullptr) return;
    to_ = &returns("results", Operand(*to, size_of(rule.result_dtype())));
    if (options.status != nullptr) misfit_ = &returns("status", Operand(*options.status, sizeof(std::uint32_t)));
  }
  [[nodiscard]] SumResult result() { return std::move(result_); }

 private:
  void check() override {
    call::check_dtype(rule_.name(), x_.dtype(), y_.dtype());
    if (x_.count() != y_.count()) {
      refuse(fmt::format("x and y must have as many elements, got {} and {}", x_.count(), y_.count()));
    }
    length_ = check_rows(rule_, x_.count(), options_);
    if (to_ == nullptr) return refuse_columns(rule_, options_);
    check_columns(rule_, options_);
    check_result(*to_, options_.rows);
    if (misfit_ != nullptr) check_result(*misfit_, 1);
    if (options_.zeros == nullptr || call::on_cpu(device())) return;
    call::check_workspace(rule_.name(), *options_.zeros, device(), options_.rows * sizeof(std::uint32_t),
                          {&x_.buffer(), &y_.buffer(), &to_->buffer(), options_.workspace, options_.status}, "zeros");
  }
  [[nodiscard]] bool is_empty() const override { return false; }  // a row without elements has a sum
  [[nodiscard]] std::uint64_t workspace_bytes(const Device& device) override {
    sums_.emplace(device, rule_, options_.rows, length_, options_.columns, to_ == nullptr);
    return sums_->bytes();
  }
  void run_on_cpu() override {
    std::uint32_t misfit = 0;
    const auto sum_to = [&](void* memory) {
      const bool refuses = to_ == nullptr && !options_.wrap;
      if (!sum_lines(rule_, x_.view(), y_.view(), options_.rows, options_.columns, memory, refuses)) misfit = 1;
    };
    if (to_ == nullptr) {
      result_ = SumParts::make(rule_.result_dtype(), options_.rows, sum_to);
      return;
    }
    sum_to(to_->data());
    if (misfit_ != nullptr) std::memcpy(misfit_->data(), &misfit, sizeof misfit);
  }
  void enqueue(Stream& stream) override {
    stream_ = &stream;
    SumsOnDevice::Targets targets;
    if (to_ != nullptr) targets = {.results = &to_->buffer(), .status = options_.status, .zeros = options_.zeros};
    if (misfit_ != nullptr) call::clear(stream, misfit_->buffer(), 0, misfit_->bytes());
    time(sums_->enqueue(stream, x_.buffer(), y_.buffer(), workspace(), targets));
    if (waits()) fetch();
  }
  void finish() override {
    if (to_ != nullptr || !sums_) return;
    if (!waits()) {
      fetch();
      stream_->finish();
    }
    const bool fits = sums_->fits(SumParts::memory(result_));
    SumParts::settle(result_);
    if (!fits && !options_.wrap) refuse_misfit();
  }
  // What is returned, to its memory once the stream has been finished.
  void fetch() {
    if (to_ != nullptr) return;
    result_ = SumParts::make(rule_.result_dtype(), options_.rows + 1);
    sums_->fetch(*stream_, workspace(), SumParts::memory(result_));
  }
  // Adds once more, as the error says how large the exact total is.
  void refuse_misfit() {
    RowSums totals(
        stream_->device(), rule_.dtype, rule_.needs(), length_,
        [&](std::uint64_t /*row*/, const Totals& found) { (void)rule_.bits(Parts(rule_.whole(found)), length_); });
    totals.add(*stream_, x_.buffer(), x_.buffer().byte_offset(), y_.buffer(), y_.buffer().byte_offset(), x_.count(),
               false);
  }

  SumRule rule_;
  const Operand& x_;
  const Operand& y_;
  SumOptions options_;
  const Operand* to_ = nullptr;
  const Operand* misfit_ = nullptr;
  std::uint64_t length_ = 0;
  std::optional<SumsOnDevice> sums_;
  Stream* stream_ = nullptr;
  SumResult result_;
};

// Host data, without what a call on buffers needs, which takes as long as few elements. On devices it comes in pieces,
// so that copies go on beside the kernels.
SumResult from_host(const SumRule& rule, const Device& device, const ArrayView& x, const ArrayView& y,
                    const SumOptions& options) {
  const FloatingPointScope usual;
  call::check_dtype(rule.name(), x.dtype, y.dtype);
  if (x.count != y.count) {
    refuse(fmt::format("{}: x and y must have as many elements, got {} and {}", rule.name(), x.count, y.count));
  }
  refuse_columns(rule, options);
  const std::uint64_t length = check_rows(rule, x.count, options);
  call::start_times(options.times);
  std::atomic<bool> misfit = false;
  return SumParts::make(rule.result_dtype(), options.rows, [&](std::byte* memory) {
    if (call::on_cpu(device)) {
      const call::Timer timer(options.times, &Times::compute);
      return void(sum_lines(rule, x, y, options.rows, 1, memory, !options.wrap));
    }
    const SumRows rows(rule, length, memory, options.wrap ? &misfit : nullptr);
    RowSums sums(device, x.dtype, rule.needs(), length,
                 [&](std::uint64_t row, const Totals& totals) { rows.take(row, totals); });
    sums.add(x.data, y.data, x.count);
    if (length == 0) rows.take_nothing(options.rows);
    call::add_times(options.times, sums.times());
  });
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
    return from_host(rule_of(Function::name, x.dtype, options), device, x, y, options);                             \
  }                                                                                                                 \
  SumResult name(const BufferBase& x DECLARE_Y(const BufferBase&), Dtype dtype, const SumOptions& options) {        \
    return call::run<RowResults>(rule_of(Function::name, dtype, options), Operand(x, dtype), Operand(y, dtype),     \
                                 options);                                                                          \
  }                                                                                                                 \
  Pending<SumResult> name(Stream& stream, const BufferBase& x DECLARE_Y(const BufferBase&), Dtype dtype,            \
                          const SumOptions& options) {                                                              \
    return call::start<RowResults>(stream, rule_of(Function::name, dtype, options), Operand(x, dtype),              \
                                   Operand(y, dtype), options);                                                     \
  }                                                                                                                 \
  Pending<void> name(Stream& stream, const BufferBase& x DECLARE_Y(const BufferBase&), Dtype dtype,                 \
                     const BufferBase& results, const SumOptions& options) {                                        \
    return call::start_into<RowResults>(stream, rule_of(Function::name, dtype, options), Operand(x, dtype),         \
                                        Operand(y, dtype), options, &results);                                      \
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
