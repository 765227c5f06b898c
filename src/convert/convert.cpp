// SPDX-License-Identifier: Apache-2.0
// The public functions: check, then on the CPU or on a device.
#include "call/launcher.h"
#include "call/operands.h"
#include "convert/convert_plan.h"
#include "elements/stored_float.h"

#include <masu/convert.h>

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace masu {

namespace {

constexpr std::string_view name = "convert";
constexpr std::array<std::string_view, 3> overflows = {"error", "saturate", "wrap"};
constexpr std::array<std::string_view, 4> roundings = {"nearest-even", "zero", "up", "down"};

ConvertRule rule_for(Dtype in, Dtype out, const ConvertOptions& options) {
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
  return dispatch(dtype, [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, &bits, sizeof value);
    if constexpr (is_stored<T>) return fmt::format("{}", static_cast<float>(to_double(value)));
    else return fmt::format("{}", value);
  });
}

// What does not fit is an error, if any was found.
void check_found(const ConvertRule& rule, std::uint64_t position, std::uint64_t bits, std::uint64_t first_position) {
  if (position == no_position || rule.overflow != Overflow::error) return;
  call::refuse(name,
               fmt::format("every value must fit {}, got {} {} at position {}", to_string(rule.target_dtype),
                           to_string(rule.source_dtype), text_of(rule.source_dtype, bits), first_position + position));
}

void here(const ConvertRule& rule, const void* in, void* out, std::uint64_t count, std::uint64_t first_position,
          Times* times) {
  std::uint64_t position = no_position;
  {
    const call::Timer timer(times, &Times::compute);
    position = convert_cpu(rule, in, out, count);
  }
  std::uint64_t bits = 0;
  if (position != no_position) {
    const std::size_t bytes = size_of(rule.source_dtype);
    std::memcpy(&bits, static_cast<const std::byte*>(in) + position * bytes, bytes);
  }
  check_found(rule, position, bits, first_position);
}

std::uint64_t checked(const BufferBase& in, Dtype in_dtype, const BufferBase& out, Dtype out_dtype,
                      const ConvertOptions& options) {
  const std::uint64_t count = call::count_of(name, in, in_dtype);
  const std::uint64_t places = call::count_of(name, out, out_dtype);
  if (count != places) call::refuse(name, fmt::format("as many elements out as in, got {} for {}", places, count));
  call::check_one_device(name, in, out);
  call::check_writable(name, out);
  call::check_apart(name, "the output and the input", in, out);
  if (options.status != nullptr) call::check_status(name, *options.status, in.device(), {&in, &out});
  const bool notes = make_rule(in_dtype, out_dtype, options.overflow, options.rounding).overflow == Overflow::error;
  if (notes && options.workspace != nullptr && !call::on_cpu(in.device())) {
    call::check_workspace(name, *options.workspace, in.device(), convert_plan::most_workspace,
                          {&in, &out, options.status});
  }
  return count;
}

// Work that was queued, and the memory in which it notes what does not fit.
struct Queued {
  Event converted;
  std::optional<Buffer<std::byte>> notes;

  // After the work is done.
  void check(const ConvertRule& rule, std::uint64_t first_position) const {
    if (!notes) return;
    std::uint64_t position = no_position;
    std::uint64_t bits = 0;
    std::vector<std::uint64_t> found(notes->size() / sizeof(std::uint64_t));
    notes->read(std::as_writable_bytes(std::span(found)));
    for (std::size_t g = 0; g < found.size(); g += 2) {
      if (found[g] >= position) continue;
      position = found[g];
      bits = found[g + 1];
    }
    check_found(rule, position, bits, first_position);
  }
};

std::shared_ptr<const Queued> queue(Stream& stream, const BufferBase& in, const BufferBase& out, std::uint64_t count,
                                    const ConvertRule& rule, const ConvertOptions& options) {
  auto work = std::make_shared<Queued>();
  if (rule.copies()) {
    work->converted = call::copy(stream, in, out);
    if (options.status != nullptr) call::clear_status(stream, *options.status);
    return work;
  }
  const auto plan = convert_plan::make(stream.device().info(), rule, count, call::place_of(in), call::place_of(out));
  const BufferBase* notes = nullptr;
  if (rule.overflow == Overflow::error) {
    notes = &work->notes.emplace(call::take_workspace(name, options.workspace, stream, plan.workspace()));
  } else if (options.status != nullptr) {
    call::clear_status(stream, *options.status);
  }
  work->converted =
      convert_on_device(stream, in, out, count, rule, plan, notes, options.status, options.first_position);
  return work;
}

// Converts on a device and waits.
std::shared_ptr<const Queued> run(const BufferBase& in, const BufferBase& out, std::uint64_t count,
                                  const ConvertRule& rule, const ConvertOptions& options) {
  Stream stream = call::timed_stream(in.device(), options.times != nullptr);
  ConvertOptions told = options;  // by the error that is thrown
  told.status = nullptr;
  auto work = queue(stream, in, out, count, rule, told);
  stream.finish();
  if (options.times != nullptr) options.times->compute += work->converted.seconds();
  return work;
}

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
  const FloatingPointScope usual;
  call::start_times(options.times);
  call::check_count(name, in.count);
  if (in.count != out.count)
    call::refuse(name, fmt::format("as many elements out as in, got {} for {}", out.count, in.count));
  const std::uint64_t in_bytes = in.count * size_of(in.dtype);
  const std::uint64_t out_bytes = out.count * size_of(out.dtype);
  if (call::overlap(in.data, in_bytes, out.data, out_bytes)) call::refuse_overlap(name, "the output and the input");
  const ConvertRule rule = rule_for(in.dtype, out.dtype, options);
  if (in.count == 0) return;
  if (call::on_cpu(device)) return here(rule, in.data, out.data, in.count, options.first_position, options.times);
  const double start = call::now();
  const Buffer<std::byte> there = call::upload_bytes(device, in.data, in_bytes);
  const Buffer<std::byte> made(device, out_bytes);
  checked(there, in.dtype, made, out.dtype, options);
  const double brought = call::now() - start;
  const auto work = run(there, made, in.count, rule, options);
  const double done = call::now();
  call::download_bytes(made, out.data);
  if (options.times != nullptr) options.times->transfer += brought + call::now() - done;
  work->check(rule, options.first_position);
}

void convert(const BufferBase& in, Dtype in_dtype, BufferBase& out, Dtype out_dtype, const ConvertOptions& options) {
  const FloatingPointScope usual;
  call::start_times(options.times);
  const std::uint64_t count = checked(in, in_dtype, out, out_dtype, options);
  const ConvertRule rule = rule_for(in_dtype, out_dtype, options);
  if (count == 0) return;
  if (call::on_cpu(in.device())) {
    return here(rule, call::host_address(in), call::host_address(out), count, options.first_position, options.times);
  }
  run(in, out, count, rule, options)->check(rule, options.first_position);
}

Pending<void> convert(Stream& stream, const BufferBase& in, Dtype in_dtype, BufferBase& out, Dtype out_dtype,
                      const ConvertOptions& options) {
  const FloatingPointScope usual;
  const std::uint64_t count = checked(in, in_dtype, out, out_dtype, options);
  call::check_stream(name, stream, in);
  const ConvertRule rule = rule_for(in_dtype, out_dtype, options);
  if (count == 0) {
    if (options.status == nullptr) return {Event(), [] {}};
    call::clear_status(stream, *options.status);
    return {call::end_of(stream), [] {}};
  }
  const std::uint64_t first_position = options.first_position;
  const bool tells = options.status == nullptr;
  if (call::on_cpu(in.device())) {
    stream.finish();
    const auto* from = call::host_address(in);
    const std::uint64_t position = convert_cpu(rule, from, call::host_address(out), count);
    std::uint64_t bits = 0;
    if (position != no_position) std::memcpy(&bits, from + position * size_of(in_dtype), size_of(in_dtype));
    if (tells) return {Event(), [=] { check_found(rule, position, bits, first_position); }};
    call::clear_status(stream, *options.status);
    if (position != no_position && rule.overflow == Overflow::error) {
      call::put_status(*options.status, first_position + position, bits);
    }
    return {Event(), [] {}};
  }
  const auto work = queue(stream, in, out, count, rule, options);
  return {call::end_of(stream), [=] {
            if (tells) work->check(rule, first_position);
          }};
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
