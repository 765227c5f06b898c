// SPDX-License-Identifier: Apache-2.0
#include "call/operands.h"

#include "call/launcher.h"

#include <masu/error.h>

#include <fmt/format.h>

#include <bit>
#include <span>

namespace masu::call {

namespace {

constexpr std::size_t most_element_bytes = 64;
constexpr std::uint64_t most_unit = 16;

// `dtype`: null where the elements have none.
std::uint64_t whole_elements(std::string_view function, const BufferBase& buffer, std::size_t element_bytes,
                             const Dtype* dtype) {
  if (buffer.size_bytes() % element_bytes != 0) {
    const std::string type = dtype != nullptr ? fmt::format(" ({})", to_string(*dtype)) : "";
    refuse(function,
           fmt::format("size must be a multiple of {} bytes{}, got {}", element_bytes, type, buffer.size_bytes()));
  }
  const std::uint64_t count = buffer.size_bytes() / element_bytes;
  check_count(function, count);
  return count;
}

}  // namespace

void refuse(std::string_view function, const std::string& rule) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", function, rule));
}

bool overlap(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) noexcept {
  const auto left = reinterpret_cast<std::uintptr_t>(a);
  const auto right = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes != 0 && b_bytes != 0 && left < right + b_bytes && right < left + a_bytes;
}

bool same_place(const BufferBase& a, const BufferBase& b) noexcept {
  return a.size_bytes() == b.size_bytes() && overlap(a, b) &&
         a.memory()->place() + a.byte_offset() == b.memory()->place() + b.byte_offset();
}

void check_count(std::string_view function, std::uint64_t count) {
  if (count > most_elements) refuse(function, fmt::format("at most 2^48 elements, got {}", count));
}

std::uint64_t count_of(std::string_view function, const BufferBase& buffer, std::size_t element_bytes) {
  return whole_elements(function, buffer, element_bytes, nullptr);
}

std::uint64_t count_of(std::string_view function, const BufferBase& buffer, Dtype dtype) {
  return whole_elements(function, buffer, size_of(dtype), &dtype);
}

void check_element_bytes(std::string_view function, std::size_t bytes) {
  if (bytes == 0 || bytes > most_element_bytes) {
    refuse(function, fmt::format("elements have 1 to {} bytes, got {}", most_element_bytes, bytes));
  }
}

void check_fp64(std::string_view function, const masu::Device& device, Dtype dtype) {
  if (dtype != Dtype::f64 || device.info().fp64) return;
  throw Error(ErrorCode::unsupported, fmt::format("{}: {} has no fp64, got f64 data", function, device.id()));
}

void check_nan(std::string_view function, NanPolicy nan, NanPolicy other) {
  if (nan == NanPolicy::skip || nan == other) return;
  refuse(function, fmt::format("nan must be {} or skip, got {}", to_string(other), to_string(nan)));
}

void check_rows(std::string_view function, std::uint64_t elements, std::uint64_t rows) {
  if (rows != 0 && elements % rows == 0) return;
  refuse(function, fmt::format("rows must divide the {} elements, got {}", elements, rows));
}

void check_one_row(std::string_view function, std::uint64_t rows) {
  if (rows != 1) refuse(function, fmt::format("rows must be 1 where data comes in pieces, got {}", rows));
}

void check_dtype(std::string_view function, Dtype expected, Dtype got) {
  if (expected == got) return;
  refuse(function, fmt::format("data must be {} as before, got {}", to_string(expected), to_string(got)));
}

void check_device(std::string_view function, const masu::Device& device, const BufferBase& buffer) {
  if (buffer.device() == device) return;
  refuse(function, fmt::format("data must lie on {}, got {}", device.id(), buffer.device().id()));
}

void check_stream(std::string_view function, const masu::Stream& stream, const BufferBase& data) {
  if (stream.device() == data.device()) return;
  refuse(function, fmt::format("stream and buffers must be of one device, got {} and {}", stream.device().id(),
                               data.device().id()));
}

void check_one_device(std::string_view function, const BufferBase& a, const BufferBase& b) {
  if (a.device() == b.device()) return;
  refuse(function, fmt::format("all buffers must lie on one device, got {} and {}", a.device().id(), b.device().id()));
}

void check_writable(std::string_view function, const BufferBase& out, std::string_view name) {
  if (out.memory() == nullptr || !out.memory()->read_only()) return;
  refuse(function, fmt::format("{} must be writable, got read-only memory", name));
}

void refuse_overlap(std::string_view function, std::string_view names) {
  refuse(function, fmt::format("{} must not overlap", names));
}

void check_apart(std::string_view function, std::string_view names, const BufferBase& a, const BufferBase& b) {
  if (overlap(a, b)) refuse_overlap(function, names);
}

void check_begin(std::string_view function, std::string_view name, const BufferBase& buffer,
                 std::size_t element_bytes) {
  const std::uint64_t place = place_of(buffer);
  if (place % element_bytes == 0) return;
  refuse(function, fmt::format("{} must begin at a multiple of {} bytes, got {}", name, element_bytes, place));
}

void check_results(std::string_view function, std::string_view name, const BufferBase& results,
                   const masu::Device& device, std::uint64_t count, std::size_t element_bytes,
                   std::initializer_list<const BufferBase*> operands) {
  if (!(results.device() == device)) {
    refuse(function, fmt::format("{} must lie on {}, got {}", name, device.id(), results.device().id()));
  }
  check_writable(function, results, name);
  if (results.size_bytes() != count * element_bytes) {
    refuse(function, fmt::format("{} must have {} bytes ({} x {}), got {}", name, count * element_bytes, count,
                                 element_bytes, results.size_bytes()));
  }
  check_begin(function, name, results, element_bytes);
  for (const BufferBase* operand : operands) {
    if (operand == nullptr || !overlap(results, *operand)) continue;
    refuse_overlap(function, fmt::format("{} and data", name));
  }
}

void clear_status(masu::Stream& stream, const BufferBase& status) {
  fill(stream, status, std::uint8_t{0xff});
}

void check_workspace(std::string_view function, const BufferBase& workspace, const masu::Device& device,
                     std::uint64_t bytes, std::initializer_list<const BufferBase*> operands, std::string_view what) {
  if (!(workspace.device() == device)) {
    refuse(function, fmt::format("{} must lie on {}, got {}", what, device.id(), workspace.device().id()));
  }
  check_writable(function, workspace, what);
  if (workspace.size_bytes() < bytes) {
    refuse(function, fmt::format("{} must be at least {} bytes, got {}", what, bytes, workspace.size_bytes()));
  }
  // OpenCL's memory is aligned; other memory may be the caller's.
  const auto begin = device.kind() == DeviceKind::cpu ? reinterpret_cast<std::uintptr_t>(host_address(workspace))
                                                      : place_of(workspace);
  if (begin % workspace_alignment != 0) {
    refuse(function, fmt::format("{} must begin at a multiple of {} bytes, got {}", what, workspace_alignment, begin));
  }
  for (const BufferBase* operand : operands) {
    if (operand != nullptr && overlap(workspace, *operand)) refuse_overlap(function, fmt::format("{} and data", what));
  }
}

Buffer<std::byte> take_workspace(std::string_view function, const BufferBase* workspace, const masu::Device& device,
                                 std::uint64_t bytes, std::initializer_list<const BufferBase*> operands) {
  if (workspace == nullptr) return Buffer<std::byte>(device, bytes);
  check_workspace(function, *workspace, device, bytes, operands);
  return Buffer<std::byte>(device, workspace->memory(), workspace->byte_offset(), bytes);
}

Buffer<std::byte> take_workspace(std::string_view function, const BufferBase* workspace, const masu::Stream& stream,
                                 std::uint64_t bytes, std::initializer_list<const BufferBase*> operands) {
  check_capture(function, stream, workspace, bytes);
  return take_workspace(function, workspace, stream.device(), bytes, operands);
}

void check_capture(std::string_view function, const masu::Stream& stream, const BufferBase* workspace,
                   std::uint64_t bytes) {
  if (workspace != nullptr || bytes == 0) return;
  refuse_capture(function, stream, fmt::format("a workspace of {} bytes must be given", bytes));
}

void refuse_capture(std::string_view function, const masu::Stream& stream, std::string_view what) {
  if (stream.capturing()) refuse(function, fmt::format("{} while a graph is captured from the stream", what));
}

std::byte* host_address(const BufferBase& buffer) noexcept {
  return static_cast<std::byte*>(buffer.native()) + buffer.byte_offset();
}

ArrayView host_view(const BufferBase& buffer, Dtype dtype) noexcept {
  return {dtype, host_address(buffer), buffer.size_bytes() / size_of(dtype)};
}

Buffer<std::byte> upload(const masu::Device& device, const ArrayView& data) {
  Buffer<std::byte> copy(device, data.count * size_of(data.dtype));
  if (data.count != 0) copy.write(std::span(static_cast<const std::byte*>(data.data), copy.size()));
  return copy;
}

void download_bytes(const Buffer<std::byte>& from, void* to) {
  if (!from.empty()) from.read(std::span(static_cast<std::byte*>(to), from.size()));
}

std::uint64_t place_of(const BufferBase& buffer) noexcept {
  const bool has_address = buffer.device().kind() == DeviceKind::cuda && buffer.memory() != nullptr;
  return (has_address ? buffer.memory()->place() : 0) + buffer.byte_offset();
}

unsigned move_unit(std::uint64_t element_bytes, std::uint64_t offsets) noexcept {
  return 1U << std::countr_zero(element_bytes | offsets | most_unit);
}

}  // namespace masu::call
