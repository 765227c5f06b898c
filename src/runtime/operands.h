// SPDX-License-Identifier: Apache-2.0
// What functions with inputs and one output check and do alike, before and after their work.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace masu::runtime {

inline constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;  // so that sizes in bytes never wrap

// The host's clock.
double seconds_now();

[[nodiscard]] bool overlap(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) noexcept;
// Of one device.
[[nodiscard]] bool overlap(const BufferBase& a, const BufferBase& b) noexcept;
// Whether both are the very same bytes.
[[nodiscard]] bool same_place(const BufferBase& a, const BufferBase& b) noexcept;

// The checks throw invalid_argument: "function: …".
void check_element_bytes(std::string_view function, std::size_t bytes);  // 1 to 64
// The number of elements; a rest is an error, and too many are.
std::uint64_t count_of(std::string_view function, const BufferBase& buffer, std::size_t element_bytes);
void check_writable(std::string_view function, const BufferBase& out);
void check_stream(std::string_view function, const masu::Stream& stream, const BufferBase& data);
void check_one_device(std::string_view function, const BufferBase& a, const BufferBase& b);
[[noreturn]] void refuse_overlap(std::string_view function, std::string_view name);
// That `bytes` of temporary memory on this device are given, where any is.
void check_workspace(std::string_view function, const BufferBase* workspace, const masu::Device& device,
                     std::uint64_t bytes);

// The device for host data: `cpu`, unless MASU_DEVICE names another.
masu::Device device_for_host_data();
// The address of a buffer of `cpu`.
[[nodiscard]] std::byte* host_address(const BufferBase& buffer) noexcept;
Buffer<std::byte> upload_bytes(const masu::Device& device, const void* data, std::uint64_t bytes);
void download_bytes(const Buffer<std::byte>& from, void* to);

// The largest power of two, of at most 16 bytes, that divides all of them: the unit in which kernels move records.
[[nodiscard]] unsigned move_unit(std::uint64_t element_bytes, std::uint64_t offsets) noexcept;

}  // namespace masu::runtime
