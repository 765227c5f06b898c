// SPDX-License-Identifier: Apache-2.0
// The public functions: three forms of one call, and data that comes in pieces.
#include "call/form.h"
#include "scan/scan_cpu.h"
#include "scan/scan_device.h"
#include "scan/scan_plan.h"

#include <masu/scan.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace masu {

namespace {

using call::Operand;

constexpr std::array<std::string_view, 3> op_names = {"sum", "min", "max"};
constexpr std::string_view function = "scan";

[[noreturn]] void refuse(const std::string& rule) {
  call::refuse(function, rule);
}

// The dtype of the results.
Dtype result_of(Dtype dtype, const ScanOptions& options) {
  const Dtype result = options.result.value_or(dtype);
  if (result == dtype) return dtype;
  if (options.op != ScanOp::sum || is_float(dtype) || is_float(result) || size_of(result) != sizeof(std::uint64_t)) {
    refuse(fmt::format("the result must be {}{}, got {}", to_string(dtype),
                       options.op == ScanOp::sum && !is_float(dtype) ? ", i64 or u64" : "", to_string(result)));
  }
  return result;
}

void check_shape(std::uint64_t count, std::uint64_t out_count, const ScanOptions& options) {
  call::check_count(function, count);
  if (out_count != count) refuse(fmt::format("input and output must be of one size, got {} and {}", count, out_count));
  if (options.rows == 0 || options.rows > call::most_elements || count % options.rows != 0) {
    refuse(fmt::format("rows must be at least 1 and divide the {} elements, got {}", count, options.rows));
  }
}

scan_plan::Plan plan_for(const Device& device, Dtype dtype, std::uint64_t count, const ScanOptions& options) {
  const bool segmented = options.rows != 1 || options.device_flags != nullptr || options.flags.count != 0;
  const bool flags = options.device_flags != nullptr || options.flags.count != 0;
  return scan_plan::make(device.info(), dtype, result_of(dtype, options), count, options.op, options.exclusive,
                         segmented, 0, 0, segmented && !flags ? count / options.rows : 0);
}

// The flags of the form that has such an output, if any.
std::optional<Operand> flags_of(const Operand& output, const ScanOptions& options) {
  if (output.is_on_host()) {
    if (options.flags.data == nullptr && options.flags.count == 0) return std::nullopt;
    return Operand(options.flags);
  }
  if (options.device_flags == nullptr) return std::nullopt;
  return Operand(*options.device_flags, 1);
}

// What the pieces of an accumulator have come to.
struct Continued {
  ScanState state;                       // on `cpu`
  std::vector<std::uint64_t> on_device;  // on others
};

class Scan final : public call::Primitive {
 public:
  // `before`: null, or what this piece continues.
  Scan(const Operand& input, const Operand& output, const ScanOptions& options, Continued* before)
      : Primitive(function, options.times, options.workspace),
        output_(writes("the output", output)),
        input_(reads("the input", input)),
        flags_(reads("the flags", flags_of(output, options))),
        options_(options),
        before_(before) {
    allow_in_place(input_);
  }

 private:
  void check() override {
    const Dtype result = result_of(input_.dtype(), options_);
    if (output_.dtype() != result) {
      refuse(fmt::format("the output of {} must be {}, got {}", to_string(input_.dtype()), to_string(result),
                         to_string(output_.dtype())));
    }
    check_shape(input_.count(), output_.count(), options_);
    if (input_.is_on_host()) {
      if (options_.device_flags != nullptr) refuse("device_flags are for data in device memory, got host data");
    } else {
      call::check_begin(function, "the input", input_.buffer(), input_.element_bytes());
      call::check_begin(function, "the output", output_.buffer(), output_.element_bytes());
      if (options_.flags.data != nullptr || options_.flags.count != 0) {
        refuse("flags are for host data, got data in device memory: use device_flags");
      }
    }
    if (flags_ == nullptr) return;
    if (flags_->dtype() != Dtype::u8) refuse(fmt::format("flags are u8, got {}", to_string(flags_->dtype())));
    if (flags_->count() != input_.count()) {
      refuse(fmt::format("as many flags as elements, got {} for {}", flags_->count(), input_.count()));
    }
  }
  [[nodiscard]] bool is_empty() const override { return input_.count() == 0; }
  [[nodiscard]] std::uint64_t workspace_bytes(const Device& device) override {
    if (is_empty()) return 0;
    plan_ = plan_for(device, input_.dtype(), input_.count(), options_);
    return plan_.workspace();
  }
  void run_on_cpu() override {
    const auto* flags = flags_ == nullptr ? nullptr : static_cast<const std::uint8_t*>(flags_->data());
    scan_cpu(
        {input_.dtype(), output_.dtype(), options_.op, options_.exclusive, static_cast<const std::byte*>(input_.data()),
         static_cast<std::byte*>(output_.data()), input_.count(), options_.rows, flags},
        before_ == nullptr ? nullptr : &before_->state);
  }
  void enqueue(Stream& stream) override {
    scan_.emplace(stream.device(), plan_, &workspace());
    scan_->start(stream, input_.buffer(), output_.buffer(), input_.count() / options_.rows,
                 flags_ == nullptr ? nullptr : &flags_->buffer(),
                 before_ == nullptr ? std::vector<std::uint64_t>() : before_->on_device, before_ != nullptr);
    if (before_ != nullptr) before_->on_device = scan_->fetch_state(stream);
  }
  [[nodiscard]] double seconds() const override { return scan_->seconds(); }

  const Operand& output_;
  const Operand& input_;
  const Operand* flags_;
  ScanOptions options_;
  Continued* before_;
  scan_plan::Plan plan_;
  std::optional<DeviceScan> scan_;
};

}  // namespace

std::string_view to_string(ScanOp op) noexcept {
  return op_names[static_cast<std::size_t>(op)];
}

ScanOp scan_op_from_name(std::string_view name) {
  const auto found = std::find(op_names.begin(), op_names.end(), name);
  if (found != op_names.end()) return static_cast<ScanOp>(found - op_names.begin());
  refuse(fmt::format("the operation is one of sum min max, got \"{}\"", name));
}

std::uint64_t scan_workspace(const Device& device, Dtype dtype, std::uint64_t count, const ScanOptions& options) {
  check_shape(count, count, options);
  static_cast<void>(result_of(dtype, options));
  if (call::on_cpu(device) || count == 0) return 0;
  return plan_for(device, dtype, count, options).workspace();
}

void scan(const Device& device, const ArrayView& input, MutableArrayView output, const ScanOptions& options) {
  call::run_on<Scan>(device, input, output, options, nullptr);
}

void scan(const BufferBase& input, Dtype dtype, BufferBase& output, const ScanOptions& options) {
  call::run<Scan>(Operand(input, dtype), Operand(output, result_of(dtype, options)), options, nullptr);
}

Pending<void> scan(Stream& stream, const BufferBase& input, Dtype dtype, BufferBase& output,
                   const ScanOptions& options) {
  return call::start<Scan>(stream, Operand(input, dtype), Operand(output, result_of(dtype, options)), options, nullptr);
}

struct ScanAccumulator::State {
  Device device;
  Dtype dtype;
  ScanOptions options;
  Continued done;
  std::uint64_t count = 0;
  Times times;
};

ScanAccumulator::ScanAccumulator(const Device& device, Dtype dtype, const ScanOptions& options) {
  const FloatingPointScope usual;
  call::check_one_row(function, options.rows);
  if (options.flags.count != 0 || options.device_flags != nullptr) refuse("data that comes in pieces has no flags");
  if (options.result.value_or(dtype) != dtype) {
    refuse(fmt::format("the result of data that comes in pieces must be {}, got {}", to_string(dtype),
                       to_string(*options.result)));
  }
  state_ = detail::make_hidden<State>(State{device, dtype, options, {}, 0, {}});
  state_->options.workspace = nullptr;  // pieces of different sizes need different memory
  state_->done.state.bits = scan_identity(dtype, options.op);
}

void ScanAccumulator::start_after(const SumAccumulator& before) {
  const FloatingPointScope usual;
  State& s = *state_;
  if (s.options.op != ScanOp::sum) refuse(fmt::format("start_after is for sums, got {}", to_string(s.options.op)));
  if (s.count != 0) refuse(fmt::format("start_after comes before the first piece, got it after {} elements", s.count));
  if (before.dtype() != s.dtype || before.kind() == SumKind::dot) {
    refuse(
        fmt::format("start_after takes the sum of {} values, got {}", to_string(s.dtype), to_string(before.dtype())));
  }
  // masu/sum.h: the elements, NaN, infinity, -infinity, digits of 32 bits from 2^-1088 on.
  constexpr std::size_t head = 4;
  constexpr int lowest = -1088;
  const std::vector<std::int64_t> integers = before.integers();
  const auto digits = std::span(integers).subspan(head, 70);
  if (!is_float(s.dtype)) {
    const auto* ones = digits.data() - lowest / 32;
    s.done.state.bits = (static_cast<std::uint64_t>(ones[0]) + (static_cast<std::uint64_t>(ones[1]) << 32)) &
                        ~std::uint64_t{0} >> (64 - 8 * size_of(s.dtype));
    if (!call::on_cpu(s.device)) s.done.on_device = {s.done.state.bits};
    return;
  }
  if (call::on_cpu(s.device)) {
    s.done.state.sum.add(digits, integers[1] != 0, integers[2] != 0, integers[3] != 0);
    return;
  }
  // A wide number in units of the least subnormal number, then the three kinds (scan_wide.cl).
  const int unit = float_format(s.dtype).least;
  const unsigned words = plan_for(s.device, s.dtype, 1, s.options).wide_words();
  s.done.on_device.assign(words + 3, 0);
  std::int64_t carry = 0;
  for (unsigned i = 0; i < words; ++i) {
    // Word i has the bits from 2^(unit + 32 i) on: parts of two digits.
    const int from = unit + 32 * static_cast<int>(i) - lowest;
    const auto digit = [&](int at) { return at < 70 ? digits[static_cast<std::size_t>(at)] : 0; };
    const std::int64_t low = digit(from / 32) / (std::int64_t{1} << from % 32);
    const std::int64_t high =
        digit(from / 32 + 1) % (std::int64_t{1} << from % 32) * (std::int64_t{1} << (32 - from % 32) % 32);
    carry += low + (from % 32 == 0 ? 0 : high);
    s.done.on_device[i] = i + 1 < words ? static_cast<std::uint32_t>(carry) : static_cast<std::uint64_t>(carry);
    carry >>= 32;
  }
  for (unsigned kind = 0; kind < 3; ++kind)
    s.done.on_device[words + kind] = static_cast<std::uint64_t>(integers[kind + 1] != 0);
}

void ScanAccumulator::scan(const ArrayView& input, MutableArrayView output) {
  const FloatingPointScope usual;
  State& s = *state_;
  if (input.dtype != s.dtype || output.dtype != s.dtype) {
    refuse(fmt::format("the pieces must be {}, got {} and {}", to_string(s.dtype), to_string(input.dtype),
                       to_string(output.dtype)));
  }
  Times times;
  ScanOptions options = s.options;
  options.times = &times;
  call::run_on<Scan>(s.device, input, output, options, &s.done);
  call::add_times(&s.times, times);
  s.count += input.count;
}

std::uint64_t ScanAccumulator::count() const noexcept {
  return state_->count;
}

Times ScanAccumulator::times() const {
  return state_->times;
}

}  // namespace masu
