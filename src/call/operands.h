// SPDX-License-Identifier: Apache-2.0
// Checks of a call's operands, and moving them to a device and back. The checks throw invalid_argument:
// "function: what must hold, got value".
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include "runtime/backend.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace masu::call {

inline constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;  // so that sizes in bytes never wrap
inline constexpr std::uint64_t workspace_alignment = 16;

[[noreturn]] void refuse(std::string_view function, const std::string& rule);

[[nodiscard]] inline bool on_cpu(const masu::Device& device) {
  return device.kind() == DeviceKind::cpu;
}

[[nodiscard]] bool overlap(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) noexcept;
using runtime::overlap;
// Whether both are exactly the same bytes.
[[nodiscard]] bool same_place(const BufferBase& a, const BufferBase& b) noexcept;

// The number of elements.
void check_count(std::string_view function, std::uint64_t count);
std::uint64_t count_of(std::string_view function, const BufferBase& buffer, std::size_t element_bytes);
std::uint64_t count_of(std::string_view function, const BufferBase& buffer, Dtype dtype);
void check_element_bytes(std::string_view function, std::size_t bytes);  // 1 to 64
// f64 on a device without it is `unsupported`.
void check_fp64(std::string_view function, const masu::Device& device, Dtype dtype);
// NaNs may be skipped, or be `other`.
void check_nan(std::string_view function, NanPolicy nan, NanPolicy other);
// Rows of equal length; where data comes in pieces, one.
void check_rows(std::string_view function, std::uint64_t elements, std::uint64_t rows);
void check_one_row(std::string_view function, std::uint64_t rows);
// Pieces of data have the dtype of the first one, and lie on its device.
void check_dtype(std::string_view function, Dtype expected, Dtype got);
void check_device(std::string_view function, const masu::Device& device, const BufferBase& buffer);
void check_stream(std::string_view function, const masu::Stream& stream, const BufferBase& data);
void check_one_device(std::string_view function, const BufferBase& a, const BufferBase& b);
void check_writable(std::string_view function, const BufferBase& out, std::string_view name = "the output");
// `names`: "the output and the input".
[[noreturn]] void refuse_overlap(std::string_view function, std::string_view names);
void check_apart(std::string_view function, std::string_view names, const BufferBase& a, const BufferBase& b);

// A buffer of elements begins at a multiple of their size.
void check_begin(std::string_view function, std::string_view name, const BufferBase& buffer, std::size_t element_bytes);
// A buffer for results lies on this device, is writable, has exactly `count` elements, begins at a multiple of their
// size, and does not overlap what the call reads. Operands may be null, here and below.
void check_results(std::string_view function, std::string_view name, const BufferBase& results,
                   const masu::Device& device, std::uint64_t count, std::size_t element_bytes,
                   std::initializer_list<const BufferBase*> operands);

// The status buffer receives the first element that breaks a rule: two u64, its position and its value.
void check_status(std::string_view function, const BufferBase& status, const masu::Device& device,
                  std::initializer_list<const BufferBase*> operands);
// Writes "no error" to the status buffer.
void clear_status(masu::Stream& stream, const BufferBase& status);
// The same for a buffer of `cpu`.
void put_status(const BufferBase& status, std::uint64_t position, std::uint64_t element) noexcept;

// The caller's workspace lies on this device, is writable, large enough and aligned, and overlaps no operand. `what`
// names it in messages.
void check_workspace(std::string_view function, const BufferBase& workspace, const masu::Device& device,
                     std::uint64_t bytes, std::initializer_list<const BufferBase*> operands = {},
                     std::string_view what = "workspace");
// Work that a graph captures must not use memory that is released when the call ends: refuses a call that needs `bytes`
// of workspace and was given none. The other refuses calls that no graph can capture; `what` has to come first.
void check_capture(std::string_view function, const masu::Stream& stream, const BufferBase* workspace,
                   std::uint64_t bytes);
void refuse_capture(std::string_view function, const masu::Stream& stream, std::string_view what);
// Returns the caller's workspace, or allocates one. For a stream it calls check_capture() first.
Buffer<std::byte> take_workspace(std::string_view function, const BufferBase* workspace, const masu::Device& device,
                                 std::uint64_t bytes, std::initializer_list<const BufferBase*> operands = {});
Buffer<std::byte> take_workspace(std::string_view function, const BufferBase* workspace, const masu::Stream& stream,
                                 std::uint64_t bytes, std::initializer_list<const BufferBase*> operands = {});

// `bytes` up to where the next array of a workspace may begin.
[[nodiscard]] constexpr std::uint64_t aligned(std::uint64_t bytes) noexcept {
  return (bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
}

// The address, or the elements, of a buffer of `cpu`.
[[nodiscard]] std::byte* host_address(const BufferBase& buffer) noexcept;
[[nodiscard]] ArrayView host_view(const BufferBase& buffer, Dtype dtype) noexcept;
// Copies host data to a device and back; it may be empty.
Buffer<std::byte> upload_bytes(const masu::Device& device, const void* data, std::uint64_t bytes);
Buffer<std::byte> upload(const masu::Device& device, const ArrayView& data);
void download_bytes(const Buffer<std::byte>& from, void* to);

// Where a buffer begins, for what depends on its alignment: its address if the device has addresses, since memory of
// the caller's may begin anywhere, else its offset in its memory.
[[nodiscard]] std::uint64_t place_of(const BufferBase& buffer) noexcept;
// The largest power of two, of at most 16 bytes, that divides all of them: the unit in which kernels move records.
[[nodiscard]] unsigned move_unit(std::uint64_t element_bytes, std::uint64_t offsets) noexcept;

// A Pending of work that is done at once: get() returns its result, or throws its exception.
template <class F>
auto finished_work(const F& work) -> Pending<decltype(work())> {
  using T = decltype(work());
  try {
    if constexpr (std::is_void_v<T>) {
      work();
      return {Event(), [] {}};
    } else {
      return {Event(), [result = std::make_shared<T>(work())] { return std::move(*result); }};
    }
  } catch (...) {
    return {Event(), [error = std::current_exception()]() -> T { std::rethrow_exception(error); }};
  }
}

}  // namespace masu::call
