// SPDX-License-Identifier: Apache-2.0
// Compact, fill and iota: check, then on the CPU or on a device.
#include "call/launcher.h"
#include "call/operands.h"
#include "elements/order.h"
#include "gather/gather_plan.h"

#include <masu/gather.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace masu {

namespace {

void check_rows(std::string_view function, const GatherOptions& options) {
  if (options.rows != 1) call::refuse(function, fmt::format("there are no rows here, got {}", options.rows));
}

std::uint64_t checked_number(std::uint64_t number, std::uint64_t room) {
  if (number > room) {
    call::refuse("compact",
                 fmt::format("the output must have room for all that is selected, {} elements, got {}", number, room));
  }
  return number;
}

void check_flags(std::uint64_t flags, std::uint64_t count) {
  if (flags != count) call::refuse("compact", fmt::format("as many flags as elements, got {} for {}", flags, count));
}

// What compact() works on, in device memory.
struct Selection {
  std::uint64_t count = 0;
  std::uint64_t room = 0;
};

// Tiles of the smallest work-groups that a device may want.
std::uint64_t notes_for(const Device& device, std::uint64_t count) {
  return gather_plan::compact_bytes(count, gather_plan::make(device.info(), 1, 0).tile());
}

Selection checked(const BufferBase& in, std::size_t element_bytes, const BufferBase& flags, const BufferBase& out,
                  const GatherOptions& options, const BufferBase* number = nullptr) {
  constexpr std::string_view name = "compact";
  check_rows(name, options);
  call::check_element_bytes(name, element_bytes);
  const Selection selection{call::count_of(name, in, element_bytes), call::count_of(name, out, element_bytes)};
  check_flags(flags.size_bytes(), selection.count);
  call::check_one_device(name, in, out);
  call::check_one_device(name, flags, out);
  call::check_writable(name, out);
  call::check_apart(name, "the output and the input", out, in);
  call::check_apart(name, "the output and the flags", out, flags);
  if (number != nullptr) {
    call::check_results(name, "the number", *number, out.device(), 1, sizeof(std::uint64_t), {&in, &flags, &out});
  }
  if (options.workspace != nullptr && !call::on_cpu(out.device())) {
    call::check_workspace(name, *options.workspace, out.device(), notes_for(out.device(), selection.count),
                          {&in, &flags, &out, number});
  }
  return selection;
}

std::uint64_t here(const Selection& selection, std::size_t element_bytes, const void* in, const void* flags, void* out,
                   Times* times) {
  const call::Timer timer(times, &Times::compute);
  return checked_number(compact_cpu(element_bytes, selection.count, in, flags, out, selection.room), selection.room);
}

std::shared_ptr<const GatherWork> queue(Stream& stream, const Selection& selection, std::size_t element_bytes,
                                        const BufferBase& in, const BufferBase& flags, const BufferBase& out,
                                        const BufferBase* workspace, const BufferBase* number = nullptr) {
  auto work = std::make_shared<GatherWork>();
  const auto plan = gather_plan::make(stream.device().info(), element_bytes, call::place_of(in) | call::place_of(out));
  work->notes =
      call::take_workspace("compact", workspace, stream, gather_plan::compact_bytes(selection.count, plan.tile()));
  work->events = compact_on_device(stream, selection.count, in, flags, out, selection.room, *work->notes, plan, number);
  return work;
}

std::uint64_t number_of(const GatherWork& work, std::uint64_t room) {
  std::uint64_t number = 0;
  work.notes->read(std::as_writable_bytes(std::span(&number, 1)));
  return checked_number(number, room);
}

// An element as 64 bits: of floats the bits of f64, of integers the value modulo 2^64.
std::uint64_t as_word(Dtype dtype, const void* element) {
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T value;
    std::memcpy(&value, element, sizeof value);
    if constexpr (std::is_integral_v<T>) return static_cast<std::uint64_t>(value);
    else return std::bit_cast<std::uint64_t>(to_f64(value));
  });
}

std::uint64_t checked_iota(const BufferBase& out, Dtype dtype, const GatherOptions& options) {
  check_rows("iota", options);
  const std::uint64_t count = call::count_of("iota", out, dtype);
  call::check_writable("iota", out);
  if (is_float(dtype) && !out.device().info().fp64) {
    throw Error(ErrorCode::unsupported, fmt::format("iota: {} needs double precision, which {} does not have",
                                                    to_string(dtype), out.device().id()));
  }
  return count;
}

Events queue_iota(Stream& stream, const BufferBase& out, Dtype dtype, std::uint64_t count, const void* start,
                  const void* step) {
  const auto plan = gather_plan::make(stream.device().info(), size_of(dtype), out.byte_offset());
  return iota_on_device(stream, dtype, count, out, as_word(dtype, start), as_word(dtype, step), plan);
}

void check_fill(const BufferBase& out, std::size_t element_bytes, const GatherOptions& options) {
  check_rows("fill", options);
  call::check_element_bytes("fill", element_bytes);
  call::count_of("fill", out, element_bytes);
  call::check_writable("fill", out);
}

}  // namespace

std::uint64_t compact_workspace(const Device& device, std::uint64_t count) noexcept {
  return call::on_cpu(device) ? 0 : notes_for(device, count);
}

std::uint64_t compact(const Device& device, const ConstRecordsView& in, const ArrayView& flags, const RecordsView& out,
                      const GatherOptions& options) {
  constexpr std::string_view name = "compact";
  call::start_times(options.times);
  check_rows(name, options);
  call::check_element_bytes(name, in.record_bytes);
  if (in.record_bytes != out.record_bytes) {
    call::refuse(name,
                 fmt::format("elements must have one size, got {} and {} bytes", in.record_bytes, out.record_bytes));
  }
  if (size_of(flags.dtype) != 1) call::refuse(name, fmt::format("flags are u8, got {}", to_string(flags.dtype)));
  check_flags(flags.count, in.count);
  call::check_count(name, std::max(in.count, out.count));
  const std::uint64_t in_bytes = in.count * in.record_bytes;
  const std::uint64_t out_bytes = out.count * out.record_bytes;
  if (call::overlap(in.data, in_bytes, out.data, out_bytes)) call::refuse_overlap(name, "the output and the input");
  if (call::overlap(flags.data, flags.count, out.data, out_bytes))
    call::refuse_overlap(name, "the output and the flags");
  if (in.count == 0) return 0;
  if (call::on_cpu(device)) {
    return here({in.count, out.count}, in.record_bytes, in.data, flags.data, out.data, options.times);
  }
  const double start = call::now();
  const Buffer<std::byte> in_there = call::upload_bytes(device, in.data, in_bytes);
  const Buffer<std::byte> flags_there = call::upload(device, flags);
  Buffer<std::byte> out_there(device, out_bytes);
  const double brought = call::now() - start;
  const std::uint64_t number = compact(in_there, in.record_bytes, flags_there, out_there, options);
  const double done = call::now();
  call::download_bytes(out_there.slice(0, number * in.record_bytes), out.data);
  if (options.times != nullptr) options.times->transfer += brought + call::now() - done;
  return number;
}

std::uint64_t compact(const BufferBase& in, std::size_t element_bytes, const BufferBase& flags, BufferBase& out,
                      const GatherOptions& options) {
  call::start_times(options.times);
  const Selection selection = checked(in, element_bytes, flags, out, options);
  if (selection.count == 0) return 0;
  if (call::on_cpu(out.device())) {
    return here(selection, element_bytes, call::host_address(in), call::host_address(flags), call::host_address(out),
                options.times);
  }
  Stream stream = call::timed_stream(out.device(), options.times != nullptr);
  const auto work = queue(stream, selection, element_bytes, in, flags, out, options.workspace);
  stream.finish();
  if (options.times != nullptr) options.times->compute += call::seconds_of(work->events);
  return number_of(*work, selection.room);
}

Pending<std::uint64_t> compact(Stream& stream, const BufferBase& in, std::size_t element_bytes, const BufferBase& flags,
                               BufferBase& out, const GatherOptions& options) {
  const Selection selection = checked(in, element_bytes, flags, out, options);
  call::check_stream("compact", stream, out);
  if (selection.count == 0) return {Event(), [] { return std::uint64_t{0}; }};
  if (call::on_cpu(out.device())) {
    stream.finish();
    return call::finished_work([&] {
      return here(selection, element_bytes, call::host_address(in), call::host_address(flags), call::host_address(out),
                  nullptr);
    });
  }
  const auto work = queue(stream, selection, element_bytes, in, flags, out, options.workspace);
  const std::uint64_t room = selection.room;
  return {call::end_of(stream), [=] { return number_of(*work, room); }};
}

Pending<void> compact(Stream& stream, const BufferBase& in, std::size_t element_bytes, const BufferBase& flags,
                      BufferBase& out, const BufferBase& number, const GatherOptions& options) {
  const Selection selection = checked(in, element_bytes, flags, out, options, &number);
  call::check_stream("compact", stream, out);
  if (selection.count == 0) {
    call::clear(stream, number, 0, sizeof(std::uint64_t));
    return {call::end_of(stream), [] {}};
  }
  if (call::on_cpu(out.device())) {
    stream.finish();  // what was given to it before may still change the data
    const std::uint64_t found = compact_cpu(element_bytes, selection.count, call::host_address(in),
                                            call::host_address(flags), call::host_address(out), selection.room);
    std::memcpy(call::host_address(number), &found, sizeof found);
    return {Event(), [] {}};
  }
  const auto work = queue(stream, selection, element_bytes, in, flags, out, options.workspace, &number);
  return {call::end_of(stream), [work] {}};
}

void fill(BufferBase& out, const void* element, std::size_t element_bytes, const GatherOptions& options) {
  call::start_times(options.times);
  check_fill(out, element_bytes, options);
  if (out.size_bytes() == 0) return;
  Stream stream = call::timed_stream(out.device(), options.times != nullptr);
  const double start = call::now();
  const Event event = stream.fill_bytes(out, element, element_bytes);
  stream.finish();
  if (options.times == nullptr) return;
  options.times->compute += call::on_cpu(out.device()) ? call::now() - start : event.seconds();
}

Pending<void> fill(Stream& stream, BufferBase& out, const void* element, std::size_t element_bytes,
                   const GatherOptions& options) {
  check_fill(out, element_bytes, options);
  call::check_stream("fill", stream, out);
  if (out.size_bytes() == 0) return {Event(), [] {}};
  return {stream.fill_bytes(out, element, element_bytes), [] {}};
}

void iota(const Device& device, MutableArrayView out, const void* start, const void* step,
          const GatherOptions& options) {
  const FloatingPointScope usual;
  call::start_times(options.times);
  check_rows("iota", options);
  call::check_count("iota", out.count);
  if (out.count == 0) return;
  if (call::on_cpu(device)) {
    const call::Timer timer(options.times, &Times::compute);
    return iota_cpu(out.dtype, out.count, out.data, as_word(out.dtype, start), as_word(out.dtype, step));
  }
  Buffer<std::byte> there(device, out.count * size_of(out.dtype));
  iota(there, out.dtype, start, step, options);
  const call::Timer timer(options.times, &Times::transfer);
  call::download_bytes(there, out.data);
}

void iota(BufferBase& out, Dtype dtype, const void* start, const void* step, const GatherOptions& options) {
  call::start_times(options.times);
  const std::uint64_t count = checked_iota(out, dtype, options);
  if (count == 0) return;
  if (call::on_cpu(out.device())) {
    return iota(out.device(), MutableArrayView(dtype, call::host_address(out), count), start, step, options);
  }
  Stream stream = call::timed_stream(out.device(), options.times != nullptr);
  const Events events = queue_iota(stream, out, dtype, count, start, step);
  stream.finish();
  if (options.times != nullptr) options.times->compute += events.front().seconds();
}

Pending<void> iota(Stream& stream, BufferBase& out, Dtype dtype, const void* start, const void* step,
                   const GatherOptions& options) {
  const FloatingPointScope usual;
  const std::uint64_t count = checked_iota(out, dtype, options);
  call::check_stream("iota", stream, out);
  if (count == 0) return {Event(), [] {}};
  if (call::on_cpu(out.device())) {
    stream.finish();
    iota_cpu(dtype, count, call::host_address(out), as_word(dtype, start), as_word(dtype, step));
    return {Event(), [] {}};
  }
  queue_iota(stream, out, dtype, count, start, step);
  return {call::end_of(stream), [] {}};
}

}  // namespace masu
