// SPDX-License-Identifier: Apache-2.0
// The public functions: forms of one call.
#include "call/form.h"
#include "reduce/reduce_plan.h"
#include "reduce/reduce_rank.h"

#include <masu/histogram.h>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace masu {

namespace {

using call::Operand;

constexpr std::array<std::string_view, 4> op_names = {"min", "max", "minmax", "count-nonzero"};

bool skips(const ReduceOptions& options) {
  return options.nan == NanPolicy::skip;
}

// Elements of a row.
std::uint64_t check_shape(std::uint64_t count, ReduceOp op, const ReduceOptions& options) {
  call::check_count(reduce_name, count);
  call::check_nan(reduce_name, options.nan, NanPolicy::propagate);
  if (options.rows == 0 || options.rows > call::most_elements || count % options.rows != 0) {
    call::refuse(reduce_name,
                 fmt::format("rows must be at least 1 and divide the {} elements, got {}", count, options.rows));
  }
  if (count == 0 && op != ReduceOp::count_nonzero) {
    call::refuse(reduce_name, fmt::format("{} needs at least one element, got none", to_string(op)));
  }
  return count / options.rows;
}

reduce_plan::Plan plan_for(const Device& device, Dtype dtype, std::uint64_t row, ReduceOp op,
                           const ReduceOptions& options) {
  return reduce_plan::make(device.info(), dtype, op, skips(options), options.rows, row);
}

struct Target {
  const BufferBase* memory;
  const char* name;
  std::size_t bytes;  // of a result
};
using Targets = std::array<Target, 7>;

Targets targets_of(const ReduceTargets& to, Dtype dtype) {
  const std::size_t size = size_of(dtype);
  constexpr std::size_t word = sizeof(std::uint64_t);
  return {{{to.min, "min", size},
           {to.max, "max", size},
           {to.min_indices, "min_indices", word},
           {to.max_indices, "max_indices", word},
           {to.nonzero, "nonzero", word},
           {to.all, "all", 1},
           {to.any, "any", 1}}};
}

// Writes the results to memory of `cpu`.
void write_on_cpu(const std::vector<Reduced>& rows, Dtype dtype, std::uint64_t row_length, bool skip,
                  const ReduceTargets& to) {
  const auto put = [](const BufferBase* target, std::uint64_t row, const auto& value, std::size_t bytes) {
    if (target != nullptr) std::memcpy(call::host_address(*target) + row * bytes, &value, bytes);
  };
  for (std::uint64_t row = 0; row < rows.size(); ++row) {
    const Reduced& found = rows[row];
    for (int which = 0; which < 2; ++which) {
      const Extreme& extreme = found.extremes[which];
      put(which == 0 ? to.min : to.max, row, extreme.bits, size_of(dtype));
      put(which == 0 ? to.min_indices : to.max_indices, row, extreme.place(dtype, skip), sizeof(std::uint64_t));
    }
    put(to.nonzero, row, found.nonzero, sizeof(std::uint64_t));
    put(to.all, row, static_cast<std::uint8_t>(found.nonzero == row_length), 1);
    put(to.any, row, static_cast<std::uint8_t>(found.nonzero != 0), 1);
  }
}

// The results of each row, for the host or in device memory.
class Reduction final : public call::Primitive {
 public:
  Reduction(const Operand& data, ReduceOp op, const ReduceOptions& options, const ReduceTargets* to = nullptr)
      : Primitive(reduce_name, options.times, options.workspace),
        data_(reads("data", data)),
        op_(op),
        options_(options),
        skip_(options.nan == NanPolicy::skip) {
    if (to == nullptr) return;
    to_ = *to;
    targets_ = targets_of(to_, data.dtype());
    for (const Target& target : targets_) {
      if (target.memory != nullptr) results_.push_back(&returns(target.name, Operand(*target.memory, target.bytes)));
    }
  }
  [[nodiscard]] ReduceResult result() {
    if (is_empty()) found_.resize(options_.rows);
    return ReduceParts::make(data_.dtype(), op_, skip_, found_);
  }

 private:
  void check() override {
    row_ = check_shape(data_.count(), op_, options_);
    for (auto target = targets_.begin(); target != targets_.end(); ++target) {
      for (auto before = targets_.begin(); before != target && target->memory != nullptr; ++before) {
        if (before->memory == nullptr || !call::overlap(*before->memory, *target->memory)) continue;
        call::refuse_overlap(reduce_name, fmt::format("{} and {}", before->name, target->name));
      }
    }
    for (const Operand* result : results_) check_result(*result, options_.rows);
  }
  [[nodiscard]] bool is_empty() const override { return data_.count() == 0; }
  [[nodiscard]] std::uint64_t workspace_bytes(const Device& device) override {
    plan_ = plan_for(device, data_.dtype(), row_, op_, options_);
    return plan_.workspace();
  }
  void run_on_cpu() override {
    found_ = reduce_cpu(data_.view(), options_.rows, op_, skip_);
    if (!results_.empty()) write_on_cpu(found_, data_.dtype(), row_, skip_, to_);
  }
  void enqueue(Stream& stream) override {
    job_.emplace(data_.buffer(), plan_, workspace().slice(0, plan_.workspace()), to_);
    job_->start(stream, data_.buffer());
    if (waits()) job_->read(stream);
    stream_ = &stream;
  }
  bool enqueue_empty(Stream& stream) override {
    for (const Target& target : targets_) {
      const std::uint8_t value = target.memory == to_.all ? 1 : 0;
      if (target.memory != nullptr) call::fill(stream, *target.memory, value);
    }
    return true;
  }
  void finish() override {
    if (job_ && results_.empty()) found_ = waits() ? job_->found() : job_->fetch(*stream_);
  }
  [[nodiscard]] double seconds() const override { return job_->seconds(); }

  const Operand& data_;
  ReduceOp op_;
  ReduceOptions options_;
  bool skip_;
  Targets targets_{};
  ReduceTargets to_;
  std::vector<const Operand*> results_;
  std::uint64_t row_ = 0;
  reduce_plan::Plan plan_;
  std::optional<DeviceReduce> job_;
  Stream* stream_ = nullptr;
  std::vector<Reduced> found_;
};

}  // namespace

std::string_view to_string(ReduceOp op) noexcept {
  return op_names[static_cast<std::size_t>(op)];
}

void detail::check_one_row(const ReduceOptions& options) {
  if (options.rows != 1) {
    call::refuse(reduce_name, fmt::format("this function has one result, so rows must be 1, got {}", options.rows));
  }
}

std::uint64_t reduce_workspace(const Device& device, Dtype dtype, std::uint64_t count, ReduceOp op,
                               const ReduceOptions& options) {
  if (count == 0) return 0;
  const std::uint64_t row = check_shape(count, op, options);
  return call::on_cpu(device) ? 0 : plan_for(device, dtype, row, op, options).workspace();
}

ReduceOp ReduceTargets::op() const {
  const bool least = min != nullptr || min_indices != nullptr;
  const bool greatest = max != nullptr || max_indices != nullptr;
  const bool counted = nonzero != nullptr || all != nullptr || any != nullptr;
  if (counted == (least || greatest)) {
    call::refuse(reduce_name,
                 fmt::format("the targets must be extremes, or what is counted, got {}", counted ? "both" : "neither"));
  }
  if (counted) return ReduceOp::count_nonzero;
  return !greatest ? ReduceOp::min : !least ? ReduceOp::max : ReduceOp::minmax;
}

ReduceResult reduce(const Device& device, const ArrayView& data, ReduceOp op, const ReduceOptions& options) {
  if (call::on_cpu(device) || options.rows != 1) return call::run_on<Reduction>(device, data, op, options);
  // One row goes in pieces, so that copies go on beside the kernels.
  const FloatingPointScope usual;
  call::start_times(options.times);
  check_shape(data.count, op, options);
  ReduceAccumulator accumulator(device, data.dtype, op, options);
  accumulator.add(data);
  call::add_times(options.times, accumulator.times());
  return accumulator.result();
}

ReduceResult reduce(const BufferBase& data, Dtype dtype, ReduceOp op, const ReduceOptions& options) {
  return call::run<Reduction>(Operand(data, dtype), op, options);
}

Pending<ReduceResult> reduce(Stream& stream, const BufferBase& data, Dtype dtype, ReduceOp op,
                             const ReduceOptions& options) {
  return call::start<Reduction>(stream, Operand(data, dtype), op, options);
}

Pending<void> reduce(Stream& stream, const BufferBase& data, Dtype dtype, const ReduceTargets& to,
                     const ReduceOptions& options) {
  return call::start_into<Reduction>(stream, Operand(data, dtype), to.op(), options, &to);
}

}  // namespace masu
