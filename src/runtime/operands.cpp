// SPDX-License-Identifier: Apache-2.0
#include "runtime/operands.h"

#include "runtime/backend.h"

#include <masu/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <span>
#include <string>

namespace masu::runtime {

namespace {

constexpr std::size_t most_element_bytes = 64;
constexpr std::uint64_t most_unit = 16;
constexpr std::uint64_t workspace_alignment = 8;

[[noreturn]] void refuse(std::string_view function, const std::string& rule) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", function, rule));
}

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool overlap(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) noexcept {
  const auto left = reinterpret_cast<std::uintptr_t>(a);
  const auto right = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes != 0 && b_bytes != 0 && left < right + b_bytes && right < left + a_bytes;
}

bool overlap(const BufferBase& a, const BufferBase& b) noexcept {
  // An address, or a cl_mem: different ones of these do not overlap.
  if (a.device().kind() == DeviceKind::opencl && a.native() != b.native()) return false;
  return overlap(static_cast<const std::byte*>(a.native()) + a.byte_offset(), a.size_bytes(),
                 static_cast<const std::byte*>(b.native()) + b.byte_offset(), b.size_bytes());
}

bool same_place(const BufferBase& a, const BufferBase& b) noexcept {
  if (a.size_bytes() != b.size_bytes() || !overlap(a, b)) return false;
  return static_cast<const std::byte*>(a.native()) + a.byte_offset() ==
         static_cast<const std::byte*>(b.native()) + b.byte_offset();
}

void check_element_bytes(std::string_view function, std::size_t bytes) {
  if (bytes == 0 || bytes > most_element_bytes) {
    refuse(function, fmt::format("elements have 1 to {} bytes, got {}", most_element_bytes, bytes));
  }
}

std::uint64_t count_of(std::string_view function, const BufferBase& buffer, std::size_t element_bytes) {
  const std::uint64_t count = buffer.size_bytes() / element_bytes;
  if (buffer.size_bytes() % element_bytes != 0) {
    refuse(function,
           fmt::format("{} bytes are no whole number of elements of {} bytes", buffer.size_bytes(), element_bytes));
  }
  if (count > most_elements) refuse(function, fmt::format("at most 2^48 elements, got {}", count));
  return count;
}

void check_writable(std::string_view function, const BufferBase& out) {
  if (out.memory() != nullptr && out.memory()->read_only()) {
    refuse(function, "the output must be writable, got read-only memory");
  }
}

void check_stream(std::string_view function, const masu::Stream& stream, const BufferBase& data) {
  if (!(stream.device() == data.device())) {
    refuse(function, fmt::format("stream and buffers must be of one device, got {} and {}", stream.device().id(),
                                 data.device().id()));
  }
}

void check_one_device(std::string_view function, const BufferBase& a, const BufferBase& b) {
  if (!(a.device() == b.device())) {
    refuse(function,
           fmt::format("all buffers must lie on one device, got {} and {}", a.device().id(), b.device().id()));
  }
}

void refuse_overlap(std::string_view function, std::string_view name) {
  refuse(function, fmt::format("the output and {} must not overlap", name));
}

void check_workspace(std::string_view function, const BufferBase* workspace, const masu::Device& device,
                     std::uint64_t bytes) {
  if (workspace == nullptr || bytes == 0) return;
  if (!(workspace->device() == device)) {
    refuse(function, fmt::format("the workspace must lie on {}, got one on {}", device.id(), workspace->device().id()));
  }
  if (workspace->size_bytes() < bytes) {
    refuse(function, fmt::format("the workspace must have at least {} bytes, got {}", bytes, workspace->size_bytes()));
  }
  if (workspace->byte_offset() % workspace_alignment != 0) {
    refuse(function, fmt::format("the workspace must begin at a multiple of {} bytes, got {}", workspace_alignment,
                                 workspace->byte_offset()));
  }
}

masu::Device device_for_host_data() {
  const char* named = std::getenv("MASU_DEVICE");
  return masu::Device::open(named != nullptr && *named != '\0' ? named : "cpu");
}

std::byte* host_address(const BufferBase& buffer) noexcept {
  return static_cast<std::byte*>(buffer.native()) + buffer.byte_offset();
}

Buffer<std::byte> upload_bytes(const masu::Device& device, const void* data, std::uint64_t bytes) {
  Buffer<std::byte> there(device, bytes);
  if (bytes != 0) there.write(std::span(static_cast<const std::byte*>(data), bytes));
  return there;
}

void download_bytes(const Buffer<std::byte>& from, void* to) {
  if (!from.empty()) from.read(std::span(static_cast<std::byte*>(to), from.size()));
}

unsigned move_unit(std::uint64_t element_bytes, std::uint64_t offsets) noexcept {
  return 1U << std::countr_zero(element_bytes | offsets | most_unit);
}

}  // namespace masu::runtime
