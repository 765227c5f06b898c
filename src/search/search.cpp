// SPDX-License-Identifier: Apache-2.0
// The public functions: check, then on the CPU or on a device.
#include "call/launcher.h"
#include "call/operands.h"
#include "search/search_plan.h"

#include <masu/search.h>

#include <fmt/format.h>

#include <string_view>

namespace masu {

namespace {

constexpr std::string_view name = "searchsorted";
constexpr std::uint64_t most_of_u32 = std::uint64_t{1} << 32;

void check(std::uint64_t sorted, std::uint64_t values, std::uint64_t positions, Dtype position_dtype) {
  call::check_count(name, sorted);
  call::check_count(name, values);
  if (position_dtype != Dtype::u64 && position_dtype != Dtype::u32) {
    call::refuse(name, fmt::format("positions are u64 or u32, got {}", to_string(position_dtype)));
  }
  if (position_dtype == Dtype::u32 && sorted >= most_of_u32) {
    call::refuse(name, fmt::format("positions of type u32 serve less than 2^32 elements, got {}", sorted));
  }
  if (positions != values) {
    call::refuse(name, fmt::format("as many positions as values, got {} for {}", positions, values));
  }
}

void check(const BufferBase& sorted, const BufferBase& values, Dtype dtype, const BufferBase& positions,
           Dtype position_dtype) {
  check(call::count_of(name, sorted, dtype), call::count_of(name, values, dtype),
        call::count_of(name, positions, position_dtype), position_dtype);
  call::check_one_device(name, sorted, positions);
  call::check_one_device(name, values, positions);
  call::check_apart(name, "positions and sorted data", positions, sorted);
  call::check_apart(name, "positions and values", positions, values);
  call::check_writable(name, positions, "positions");
}

void here(const ArrayView& sorted, const ArrayView& values, MutableArrayView positions, const SearchOptions& options) {
  const call::Timer timer(options.times, &Times::compute);
  search_cpu(sorted, values, positions, options);
}

void here(const BufferBase& sorted, const BufferBase& values, Dtype dtype, const BufferBase& positions,
          Dtype position_dtype, const SearchOptions& options) {
  here(call::host_view(sorted, dtype), call::host_view(values, dtype),
       {position_dtype, call::host_address(positions), positions.size_bytes() / size_of(position_dtype)}, options);
}

Event queue(Stream& stream, const BufferBase& sorted, const BufferBase& values, Dtype dtype,
            const BufferBase& positions, Dtype position_dtype, const SearchOptions& options) {
  const auto plan = search_plan::make(stream.device().info(), dtype, sorted.size_bytes() / size_of(dtype),
                                      values.size_bytes() / size_of(dtype));
  return search_on_device(stream, sorted, values, dtype, positions, position_dtype, options, plan);
}

}  // namespace

void searchsorted(const Device& device, const ArrayView& sorted, const ArrayView& values, MutableArrayView positions,
                  const SearchOptions& options) {
  const FloatingPointScope usual;
  call::start_times(options.times);
  if (sorted.dtype != values.dtype) {
    call::refuse(name, fmt::format("sorted data and values must be of one type, got {} and {}", to_string(sorted.dtype),
                                   to_string(values.dtype)));
  }
  check(sorted.count, values.count, positions.count, positions.dtype);
  const std::uint64_t bytes = positions.count * size_of(positions.dtype);
  if (call::overlap(positions.data, bytes, sorted.data, sorted.count * size_of(sorted.dtype))) {
    call::refuse_overlap(name, "positions and sorted data");
  }
  if (call::overlap(positions.data, bytes, values.data, values.count * size_of(values.dtype))) {
    call::refuse_overlap(name, "positions and values");
  }
  if (values.count == 0) return;
  if (call::on_cpu(device)) return here(sorted, values, positions, options);
  const double start = call::now();
  const Buffer<std::byte> sorted_there = call::upload(device, sorted);
  const Buffer<std::byte> values_there = call::upload(device, values);
  Buffer<std::byte> positions_there(device, bytes);
  const double brought = call::now() - start;
  searchsorted(sorted_there, values_there, sorted.dtype, positions_there, positions.dtype, options);
  const double searched = call::now();
  call::download_bytes(positions_there, positions.data);
  if (options.times != nullptr) options.times->transfer += brought + call::now() - searched;
}

void searchsorted(const BufferBase& sorted, const BufferBase& values, Dtype dtype, BufferBase& positions,
                  Dtype position_dtype, const SearchOptions& options) {
  const FloatingPointScope usual;
  call::start_times(options.times);
  check(sorted, values, dtype, positions, position_dtype);
  if (values.size_bytes() == 0) return;
  if (call::on_cpu(values.device())) return here(sorted, values, dtype, positions, position_dtype, options);
  Stream stream = call::timed_stream(values.device(), options.times != nullptr);
  const Event event = queue(stream, sorted, values, dtype, positions, position_dtype, options);
  stream.finish();
  if (options.times != nullptr) options.times->compute += event.seconds();
}

Pending<void> searchsorted(Stream& stream, const BufferBase& sorted, const BufferBase& values, Dtype dtype,
                           BufferBase& positions, Dtype position_dtype, const SearchOptions& options) {
  const FloatingPointScope usual;
  check(sorted, values, dtype, positions, position_dtype);
  call::check_stream(name, stream, values);
  SearchOptions untimed = options;
  untimed.times = nullptr;
  if (values.size_bytes() == 0) return {Event(), [] {}};
  if (call::on_cpu(values.device())) {
    stream.finish();
    here(sorted, values, dtype, positions, position_dtype, untimed);
    return {Event(), [] {}};
  }
  queue(stream, sorted, values, dtype, positions, position_dtype, options);
  return {call::end_of(stream), [] {}};
}

}  // namespace masu
