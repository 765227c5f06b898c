// SPDX-License-Identifier: Apache-2.0
// The public functions: three forms of one call.
#include "call/form.h"
#include "convert/convert_plan.h"
#include "elements/stored_float.h"

#include <masu/convert.h>

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>

namespace masu {

namespace {

using call::Operand;

constexpr std::string_view name = "convert";
constexpr std::array<std::string_view, 3> overflows = {"error", "saturate", "wrap"};
constexpr std::array<std::string_view, 4> roundings = {"nearest-even", "zero", "up", "down"};

ConvertRule rule_for(Dtype in, Dtype out, const ConvertOptions& options) {
  if (options.float8) {
    if (in != Dtype::u8 || options.truth || options.negate) {
      call::refuse(name, fmt::format("float8 needs u8, without truth and negate, got {}", to_string(in)));
    }
    return make_rule(in, out, options.overflow, options.rounding, options.float8);
  }
  if (options.truth) {
    if (in != Dtype::u8 || out != Dtype::u8 || options.negate) {
      call::refuse(name,
                   fmt::format("truth needs u8 to u8, without negate, got {} to {}", to_string(in), to_string(out)));
    }
    ConvertRule rule = make_rule(in, out, Overflow::wrap, options.rounding);
    rule.truth = true;
    return rule;
  }
  if (!options.negate) return make_rule(in, out, options.overflow, options.rounding);
  if (in != out || !is_float(in)) {
    call::refuse(name, fmt::format("negate needs floats of one dtype, got {} to {}", to_string(in), to_string(out)));
  }
  ConvertRule rule = make_rule(in, out, Overflow::wrap, options.rounding);
  rule.negate = true;
  return rule;
}

std::string text_of(Dtype dtype, std::uint64_t bits) {
  return dispatch(dtype, [&]<class T>(TypeTag<T>) -> std::string {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    if constexpr (is_stored<T>) return fmt::format("{}", static_cast<float>(to_double(value)));
    else return fmt::format("{}", value);
  });
}

class Conversion final : public call::Primitive {
 public:
  Conversion(const Operand& in, const Operand& out, const ConvertOptions& options)
      : Primitive(name, options.times, options.workspace, options.status),
        out_(writes("the output", out)),
        in_(reads("the input", in)),
        options_(options),
        rule_(rule_for(in.dtype(), out.dtype(), options)) {}

 private:
  [[nodiscard]] std::string source_text() const {
    return rule_.float8 ? fmt::format("{}", float8_values(*rule_.float8)[fault_.element])
                        : text_of(rule_.source_dtype, fault_.element);
  }
  void check() override {
    if (in_.count() != out_.count()) {
      refuse(fmt::format("as many elements out as in, got {} for {}", out_.count(), in_.count()));
    }
  }
  [[nodiscard]] bool is_empty() const override { return in_.count() == 0; }
  [[nodiscard]] std::uint64_t workspace_bytes(const Device& /*device*/) override {
    return rule_.overflow == Overflow::error ? convert_plan::most_workspace : 0;
  }
  void run_on_cpu() override {
    const std::uint64_t position = convert_cpu(rule_, in_.data(), out_.data(), in_.count());
    if (position == no_position || rule_.overflow != Overflow::error) return;
    const std::size_t bytes = in_.element_bytes();
    fault_ = {options_.first_position + position, 0};
    std::memcpy(&fault_.element, static_cast<const std::byte*>(in_.data()) + position * bytes, bytes);
  }
  void enqueue(Stream& stream) override {
    const BufferBase& in = in_.buffer();
    const BufferBase& out = out_.buffer();
    const bool notes = rule_.overflow == Overflow::error;
    if (!notes && status() != nullptr) call::clear_status(stream, *status());
    if (rule_.copies()) return time(call::copy(stream, in, out));
    const auto plan =
        convert_plan::make(stream.device().info(), rule_, in_.count(), call::place_of(in), call::place_of(out));
    if (notes) notes_.emplace(workspace().slice(0, plan.workspace()));
    time(convert_on_device(stream, in, out, in_.count(), rule_, plan, notes ? &*notes_ : nullptr, status(),
                           options_.first_position));
  }
  void finish() override {
    bring_back();  // also elements that do not fit are written
    if (notes_) {
      fault_ = call::first_fault(*notes_);
      if (fault_.found()) fault_.position += options_.first_position;
    }
    if (!fault_.found()) return;
    refuse(fmt::format("every value must fit {}, got {} {} at position {}", to_string(rule_.target_dtype),
                       rule_.float8 ? to_string(*rule_.float8) : to_string(rule_.source_dtype), source_text(),
                       fault_.position));
  }

  const Operand& out_;
  const Operand& in_;
  ConvertOptions options_;
  const ConvertRule rule_;
  std::optional<Buffer<std::byte>> notes_;  // where work-groups note what does not fit
};

}  // namespace

std::string_view to_string(Overflow overflow) noexcept {
  return overflows[static_cast<std::size_t>(overflow)];
}

std::string_view to_string(Rounding rounding) noexcept {
  return roundings[static_cast<std::size_t>(rounding)];
}

Rounding rounding_from_name(std::string_view text) {
  for (std::size_t i = 0; i < roundings.size(); ++i) {
    if (roundings[i] == text) return static_cast<Rounding>(i);
  }
  call::refuse(name, fmt::format("the rounding must be one of nearest-even, zero, up, down, got '{}'", text));
}

std::uint64_t convert_workspace(const Device& device) noexcept {
  return call::on_cpu(device) ? 0 : convert_plan::most_workspace;
}

void convert(const Device& device, const ArrayView& in, MutableArrayView out, const ConvertOptions& options) {
  call::run_on<Conversion>(device, in, out, options);
}

void convert(const BufferBase& in, Dtype in_dtype, BufferBase& out, Dtype out_dtype, const ConvertOptions& options) {
  call::run<Conversion>(Operand(in, in_dtype), Operand(out, out_dtype), options);
}

Pending<void> convert(Stream& stream, const BufferBase& in, Dtype in_dtype, BufferBase& out, Dtype out_dtype,
                      const ConvertOptions& options) {
  return call::start<Conversion>(stream, Operand(in, in_dtype), Operand(out, out_dtype), options);
}

Event convert_on_device(Stream& stream, const BufferBase& in, const BufferBase& out, std::uint64_t count,
                        const ConvertRule& rule, const convert_plan::Plan& plan, const BufferBase* found,
                        const BufferBase* status, std::uint64_t first_position) {
  call::Kernels kernels(stream.device(), convert_plan::files, plan.defines(rule), plan.group);
  Event converted = kernels.launch(stream, "convert_elements", plan.groups, in, out, count, plan.head, plan.vectors,
                                   found != nullptr ? *found : in, LocalMemory{convert_plan::local_bytes});
  if (found != nullptr && status != nullptr) {
    kernels.launch(stream, "first_note", 1, *found, static_cast<std::uint32_t>(plan.groups), first_position, *status,
                   LocalMemory{convert_plan::local_bytes});
  }
  return converted;
}

}  // namespace masu
