// SPDX-License-Identifier: Apache-2.0
// The public functions: check, then on the CPU or on a device.
#include "runtime/backend.h"
#include "search/search_cpu.h"
#include "search/search_device.h"
#include "search/search_plan.h"

#include <masu/search.h>

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace masu {

namespace {

constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;  // so that sizes in bytes never wrap
constexpr std::uint64_t most_of_u32 = std::uint64_t{1} << 32;

[[noreturn]] void refuse(const std::string& rule) {
  throw Error(ErrorCode::invalid_argument, "searchsorted: " + rule);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void check(std::uint64_t sorted, std::uint64_t values, std::uint64_t positions, Dtype position_dtype) {
  if (sorted > most_elements || values > most_elements) {
    refuse(fmt::format("at most 2^48 elements, got {} and {}", sorted, values));
  }
  if (position_dtype != Dtype::u64 && position_dtype != Dtype::u32) {
    refuse(fmt::format("positions are u64 or u32, got {}", to_string(position_dtype)));
  }
  if (position_dtype == Dtype::u32 && sorted >= most_of_u32) {
    refuse(fmt::format("positions of type u32 serve less than 2^32 elements, got {}", sorted));
  }
  if (positions != values) refuse(fmt::format("as many positions as values, got {} for {}", positions, values));
}

void check_apart(std::string_view name, const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) {
  const auto left = reinterpret_cast<std::uintptr_t>(a);
  const auto right = reinterpret_cast<std::uintptr_t>(b);
  if (a_bytes != 0 && b_bytes != 0 && left < right + b_bytes && right < left + a_bytes) {
    refuse(fmt::format("positions and {} must not overlap", name));
  }
}

std::uint64_t count_of(const BufferBase& buffer, Dtype dtype) {
  if (buffer.size_bytes() % size_of(dtype) != 0) {
    refuse(fmt::format("{} bytes are no whole number of elements of {} bytes", buffer.size_bytes(), size_of(dtype)));
  }
  return buffer.size_bytes() / size_of(dtype);
}

void check_apart(std::string_view name, const BufferBase& positions, const BufferBase& other) {
  if (!(positions.device() == other.device())) {
    refuse(fmt::format("positions and {} must lie on one device, got {} and {}", name, positions.device().id(),
                       other.device().id()));
  }
  // An address, or a cl_mem: different ones of these do not overlap.
  if (positions.device().kind() == DeviceKind::opencl && positions.native() != other.native()) return;
  check_apart(name, static_cast<const std::byte*>(positions.native()) + positions.byte_offset(), positions.size_bytes(),
              static_cast<const std::byte*>(other.native()) + other.byte_offset(), other.size_bytes());
}

void check(const BufferBase& sorted, const BufferBase& values, Dtype dtype, const BufferBase& positions,
           Dtype position_dtype) {
  check(count_of(sorted, dtype), count_of(values, dtype), count_of(positions, position_dtype), position_dtype);
  check_apart("sorted data", positions, sorted);
  check_apart("values", positions, values);
  if (positions.memory()->read_only()) refuse("positions must be writable, got read-only memory");
}

bool on_cpu(const Device& device) {
  return device.kind() == DeviceKind::cpu;
}

std::byte* address(const BufferBase& buffer) {
  return static_cast<std::byte*>(buffer.native()) + buffer.byte_offset();
}

void here(const ArrayView& sorted, const ArrayView& values, MutableArrayView positions, const SearchOptions& options) {
  const double start = now();
  search_cpu(sorted, values, positions, options.side);
  if (options.times != nullptr) options.times->compute += now() - start;
}

void here(const BufferBase& sorted, const BufferBase& values, Dtype dtype, const BufferBase& positions,
          Dtype position_dtype, const SearchOptions& options) {
  here({dtype, address(sorted), count_of(sorted, dtype)}, {dtype, address(values), count_of(values, dtype)},
       {position_dtype, address(positions), count_of(positions, position_dtype)}, options);
}

Event queue(Stream& stream, const BufferBase& sorted, const BufferBase& values, Dtype dtype,
            const BufferBase& positions, Dtype position_dtype, Side side) {
  const auto plan = search_plan::make(stream.device().info(), dtype, count_of(sorted, dtype), count_of(values, dtype));
  return search_on_device(stream, sorted, values, dtype, positions, position_dtype, side, plan);
}

Buffer<std::byte> bring(const Device& device, const ArrayView& data) {
  Buffer<std::byte> there(device, data.count * size_of(data.dtype));
  if (data.count != 0) there.write(std::span(static_cast<const std::byte*>(data.data), there.size()));
  return there;
}

void start_times(const SearchOptions& options) {
  if (options.times != nullptr) *options.times = {};
}

}  // namespace

Device device_for_search() {
  const char* named = std::getenv("MASU_DEVICE");
  return Device::open(named != nullptr && *named != '\0' ? named : "cpu");
}

void searchsorted(const Device& device, const ArrayView& sorted, const ArrayView& values, MutableArrayView positions,
                  const SearchOptions& options) {
  start_times(options);
  if (sorted.dtype != values.dtype) {
    refuse(fmt::format("sorted data and values must be of one type, got {} and {}", to_string(sorted.dtype),
                       to_string(values.dtype)));
  }
  check(sorted.count, values.count, positions.count, positions.dtype);
  const std::uint64_t bytes = positions.count * size_of(positions.dtype);
  check_apart("sorted data", positions.data, bytes, sorted.data, sorted.count * size_of(sorted.dtype));
  check_apart("values", positions.data, bytes, values.data, values.count * size_of(values.dtype));
  if (values.count == 0) return;
  if (on_cpu(device)) return here(sorted, values, positions, options);
  const double start = now();
  const Buffer<std::byte> sorted_there = bring(device, sorted);
  const Buffer<std::byte> values_there = bring(device, values);
  Buffer<std::byte> positions_there(device, bytes);
  const double brought = now() - start;
  searchsorted(sorted_there, values_there, sorted.dtype, positions_there, positions.dtype, options);
  const double searched = now();
  positions_there.read(std::span(static_cast<std::byte*>(positions.data), bytes));
  if (options.times != nullptr) options.times->transfer += brought + now() - searched;
}

void searchsorted(const BufferBase& sorted, const BufferBase& values, Dtype dtype, BufferBase& positions,
                  Dtype position_dtype, const SearchOptions& options) {
  start_times(options);
  check(sorted, values, dtype, positions, position_dtype);
  if (values.size_bytes() == 0) return;
  if (on_cpu(values.device())) return here(sorted, values, dtype, positions, position_dtype, options);
  Stream stream(values.device(), options.times != nullptr ? Timing::on : Timing::off);
  const Event event = queue(stream, sorted, values, dtype, positions, position_dtype, options.side);
  stream.finish();
  if (options.times != nullptr) options.times->compute += event.seconds();
}

Pending<void> searchsorted(Stream& stream, const BufferBase& sorted, const BufferBase& values, Dtype dtype,
                           BufferBase& positions, Dtype position_dtype, const SearchOptions& options) {
  check(sorted, values, dtype, positions, position_dtype);
  if (!(stream.device() == values.device())) {
    refuse(fmt::format("stream and buffers must be of one device, got {} and {}", stream.device().id(),
                       values.device().id()));
  }
  SearchOptions untimed = options;
  untimed.times = nullptr;
  if (values.size_bytes() == 0) return {Event(), [] {}};
  if (on_cpu(values.device())) {
    stream.finish();
    here(sorted, values, dtype, positions, position_dtype, untimed);
    return {Event(), [] {}};
  }
  return {queue(stream, sorted, values, dtype, positions, position_dtype, options.side), [] {}};
}

}  // namespace masu
