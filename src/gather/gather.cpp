// SPDX-License-Identifier: Apache-2.0
// Gather, scatter, permute and reverse: check, then on the CPU or on a device.
#include "call/launcher.h"
#include "call/operands.h"
#include "gather/gather_plan.h"

#include <masu/gather.h>

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace masu {

namespace {

using gather_plan::Move;
using gather_plan::Operation;

constexpr std::array<std::string_view, 4> names = {"gather", "scatter", "permute", "reverse"};

std::string_view name_of(const Move& move) {
  return names[static_cast<std::size_t>(move.operation)];
}

[[noreturn]] void refuse(Operation operation, const std::string& rule) {
  call::refuse(names[static_cast<std::size_t>(operation)], rule);
}

// How many of everything there are, in all rows.
struct Counts {
  std::uint64_t in;
  std::uint64_t indices;
  std::uint64_t out;
};

Move make_move(Operation operation, std::size_t element_bytes, const Counts& counts, Dtype index_dtype,
               std::uint64_t rows) {
  if (operation != Operation::reverse && index_dtype != Dtype::u32 && index_dtype != Dtype::u64) {
    refuse(operation, fmt::format("indices are u32 or u64, got {}", to_string(index_dtype)));
  }
  const auto row_of = [&](std::string_view what, std::uint64_t count) {
    if (rows == 0) refuse(operation, "rows must be >= 1, got 0");
    if (count % rows != 0) refuse(operation, fmt::format("{} rows must divide the {} {}", rows, count, what));
    return count / rows;
  };
  Move move{operation, element_bytes, rows, row_of("elements", counts.in), row_of("elements out", counts.out)};
  move.index_dtype = index_dtype;
  move.indices = counts.indices;
  if (operation == Operation::gather && counts.out != counts.indices) {
    refuse(operation, fmt::format("as many elements out as indices, got {} for {}", counts.out, counts.indices));
  }
  if (operation == Operation::scatter && counts.in != counts.indices) {
    refuse(operation, fmt::format("as many elements as indices, got {} for {}", counts.in, counts.indices));
  }
  if (operation == Operation::permute && (move.in_row != counts.indices || move.out_row != counts.indices)) {
    refuse(operation, fmt::format("rows have as many elements as the mask, got {} in and {} out for {}", move.in_row,
                                  move.out_row, counts.indices));
  }
  if (operation == Operation::reverse && counts.in != counts.out) {
    refuse(operation, fmt::format("as many elements out as in, got {} for {}", counts.out, counts.in));
  }
  if (operation == Operation::gather || operation == Operation::scatter) move.index_row = counts.indices / rows;
  if (operation != Operation::reverse && counts.indices != 0 && move.limit() == 0) {
    refuse(operation, fmt::format("indices must be below 0, got {} of them", counts.indices));
  }
  return move;
}

void check_index(const Move& move, const BadIndex& bad) {
  if (bad.position == BadIndex::none) return;
  refuse(move.operation,
         fmt::format("indices must be below {}, got {} at position {}", move.limit(), bad.index, bad.position));
}

std::uint64_t index_at(const Move& move, const void* indices, std::uint64_t position) {
  if (move.index_dtype == Dtype::u32) return static_cast<const std::uint32_t*>(indices)[position];
  return static_cast<const std::uint64_t*>(indices)[position];
}

BadIndex first_bad_here(const Move& move, const void* indices) {
  const std::uint64_t bad = first_bad_index_cpu(indices, move.index_dtype, move.indices, move.limit());
  if (bad == move.indices) return {};
  return {bad, index_at(move, indices, bad)};
}

void here(const Move& move, const void* in, const void* indices, void* out, Times* times) {
  const call::Timer timer(times, &Times::compute);
  if (move.operation != Operation::reverse) check_index(move, first_bad_here(move, indices));
  move_cpu(move, in, indices, out);
}

// Nothing moves, and no index can be wrong.
bool is_idle(const Move& move) {
  return move.operation == Operation::reverse ? move.rows * move.in_row == 0 : move.indices == 0;
}

std::uint64_t workspace_of(const Move& move) {
  if (move.operation == Operation::reverse) return 0;
  if (move.operation == Operation::scatter) return gather_plan::scatter_bytes(move.rows * move.out_row);
  return gather_plan::notes_bytes();
}

// Device memory; `indices` is null for reverse.
struct Operands {
  const BufferBase& in;
  const BufferBase* indices;
  const BufferBase& out;
};

Move checked(Operation operation, const Operands& operands, std::size_t element_bytes, Dtype index_dtype,
             const GatherOptions& options) {
  const std::string_view name = names[static_cast<std::size_t>(operation)];
  call::check_element_bytes(name, element_bytes);
  Counts counts{call::count_of(name, operands.in, element_bytes), 0, call::count_of(name, operands.out, element_bytes)};
  call::check_one_device(name, operands.in, operands.out);
  call::check_writable(name, operands.out);
  if (operands.indices != nullptr) {
    counts.indices = call::count_of(name, *operands.indices, index_dtype);
    call::check_one_device(name, *operands.indices, operands.out);
  }
  Move move = make_move(operation, element_bytes, counts, index_dtype, options.rows);
  move.in_place = operation == Operation::reverse && call::same_place(operands.in, operands.out);
  if (!move.in_place) call::check_apart(name, "the output and the input", operands.out, operands.in);
  if (operands.indices != nullptr) {
    call::check_apart(name, "the output and the indices", operands.out, *operands.indices);
  }
  if (operands.indices != nullptr && options.status != nullptr) {
    call::check_status(name, *options.status, operands.out.device(), {&operands.in, operands.indices, &operands.out});
  }
  if (operands.indices != nullptr && options.workspace != nullptr && !call::on_cpu(operands.out.device())) {
    call::check_workspace(name, *options.workspace, operands.out.device(), workspace_of(move),
                          {&operands.in, operands.indices, &operands.out, options.status});
  }
  return move;
}

void here(const Move& move, const Operands& operands, Times* times) {
  here(move, call::host_address(operands.in),
       operands.indices != nullptr ? call::host_address(*operands.indices) : nullptr, call::host_address(operands.out),
       times);
}

std::shared_ptr<const GatherWork> queue(Stream& stream, const Move& move, const Operands& operands,
                                        const BufferBase* workspace, const BufferBase* status) {
  auto work = std::make_shared<GatherWork>();
  const auto plan = gather_plan::make(stream.device().info(), move.element_bytes,
                                      call::place_of(operands.in) | call::place_of(operands.out));
  if (move.operation == Operation::reverse) {
    work->events = reverse_on_device(stream, move, operands.in, operands.out, plan);
    return work;
  }
  work->notes = call::take_workspace(name_of(move), workspace, stream, workspace_of(move));
  work->events = move_on_device(stream, move, operands.in, *operands.indices, operands.out, *work->notes, plan, status);
  return work;
}

void check_noted(const Move& move, const GatherWork& work) {
  if (work.notes) check_index(move, first_bad_index(work.notes->slice(0, gather_plan::notes_bytes())));
}

void run(Operation operation, const Operands& operands, std::size_t element_bytes, Dtype index_dtype,
         const GatherOptions& options) {
  call::start_times(options.times);
  const Move move = checked(operation, operands, element_bytes, index_dtype, options);
  if (is_idle(move)) return;
  if (call::on_cpu(operands.out.device())) return here(move, operands, options.times);
  Stream stream = call::timed_stream(operands.out.device(), options.times != nullptr);
  const auto work = queue(stream, move, operands, options.workspace, nullptr);
  stream.finish();
  if (options.times != nullptr) options.times->compute += call::seconds_of(work->events);
  check_noted(move, *work);
}

Pending<void> run(Stream& stream, Operation operation, const Operands& operands, std::size_t element_bytes,
                  Dtype index_dtype, const GatherOptions& options) {
  const Move move = checked(operation, operands, element_bytes, index_dtype, options);
  call::check_stream(name_of(move), stream, operands.out);
  const BufferBase* status = operands.indices != nullptr ? options.status : nullptr;
  if (is_idle(move)) {
    if (status == nullptr) return {Event(), [] {}};
    call::clear_status(stream, *status);
    return {call::end_of(stream), [] {}};
  }
  if (call::on_cpu(operands.out.device())) {
    stream.finish();
    if (status == nullptr) return call::finished_work([&] { here(move, operands, nullptr); });
    const BadIndex bad = first_bad_here(move, call::host_address(*operands.indices));
    call::put_status(*status, bad.position, bad.index);
    if (bad.position == BadIndex::none) {
      move_cpu(move, call::host_address(operands.in), call::host_address(*operands.indices),
               call::host_address(operands.out));
    }
    return {Event(), [] {}};
  }
  const auto work = queue(stream, move, operands, options.workspace, status);
  return {call::end_of(stream), [=] {
            if (status == nullptr) check_noted(move, *work);
          }};
}

// Host data.
void run(const Device& device, Operation operation, const ConstRecordsView& in, const ArrayView& indices,
         const RecordsView& out, const GatherOptions& options) {
  call::start_times(options.times);
  const std::string_view name = names[static_cast<std::size_t>(operation)];
  call::check_element_bytes(name, in.record_bytes);
  if (in.record_bytes != out.record_bytes) {
    refuse(operation,
           fmt::format("elements must have one size, got {} and {} bytes", in.record_bytes, out.record_bytes));
  }
  call::check_count(name, std::max({in.count, indices.count, out.count}));
  const std::uint64_t in_bytes = in.count * in.record_bytes;
  const std::uint64_t out_bytes = out.count * out.record_bytes;
  const std::uint64_t index_bytes = indices.count * size_of(indices.dtype);
  Move move = make_move(operation, in.record_bytes, {in.count, indices.count, out.count}, indices.dtype, options.rows);
  move.in_place = operation == Operation::reverse && in.data == out.data;
  if (!move.in_place && call::overlap(in.data, in_bytes, out.data, out_bytes)) {
    call::refuse_overlap(name, "the output and the input");
  }
  if (call::overlap(indices.data, index_bytes, out.data, out_bytes))
    call::refuse_overlap(name, "the output and the indices");
  if (is_idle(move)) return;
  if (call::on_cpu(device)) return here(move, in.data, indices.data, out.data, options.times);
  const double start = call::now();
  const Buffer<std::byte> in_there = call::upload_bytes(device, in.data, in_bytes);
  const Buffer<std::byte> indices_there = call::upload(device, indices);
  // Scatter leaves most of the output as it was, perhaps.
  const Buffer<std::byte> out_there = move.in_place ? in_there.slice(0, in_bytes)
                                      : operation == Operation::scatter
                                          ? call::upload_bytes(device, out.data, out_bytes)
                                          : Buffer<std::byte>(device, out_bytes);
  const double brought = call::now() - start;
  const BufferBase* used = operation == Operation::reverse ? nullptr : &indices_there;
  run(operation, {in_there, used, out_there}, in.record_bytes, indices.dtype, options);
  const double done = call::now();
  call::download_bytes(out_there, out.data);
  if (options.times != nullptr) options.times->transfer += brought + call::now() - done;
}

}  // namespace

std::uint64_t gather_workspace(const Device& device) noexcept {
  return call::on_cpu(device) ? 0 : gather_plan::notes_bytes();
}

std::uint64_t scatter_workspace(const Device& device, std::uint64_t out_count) noexcept {
  return call::on_cpu(device) ? 0 : gather_plan::scatter_bytes(out_count);
}

void gather(const Device& device, const ConstRecordsView& in, const ArrayView& indices, const RecordsView& out,
            const GatherOptions& options) {
  run(device, Operation::gather, in, indices, out, options);
}
void scatter(const Device& device, const ConstRecordsView& in, const ArrayView& indices, const RecordsView& out,
             const GatherOptions& options) {
  run(device, Operation::scatter, in, indices, out, options);
}
void permute(const Device& device, const ConstRecordsView& in, const ArrayView& mask, const RecordsView& out,
             const GatherOptions& options) {
  run(device, Operation::permute, in, mask, out, options);
}
void reverse(const Device& device, const ConstRecordsView& in, const RecordsView& out, const GatherOptions& options) {
  run(device, Operation::reverse, in, {Dtype::u32, nullptr, 0}, out, options);
}

void gather(const BufferBase& in, std::size_t element_bytes, const BufferBase& indices, Dtype index_dtype,
            BufferBase& out, const GatherOptions& options) {
  run(Operation::gather, {in, &indices, out}, element_bytes, index_dtype, options);
}
void scatter(const BufferBase& in, std::size_t element_bytes, const BufferBase& indices, Dtype index_dtype,
             BufferBase& out, const GatherOptions& options) {
  run(Operation::scatter, {in, &indices, out}, element_bytes, index_dtype, options);
}
void permute(const BufferBase& in, std::size_t element_bytes, const BufferBase& mask, Dtype index_dtype,
             BufferBase& out, const GatherOptions& options) {
  run(Operation::permute, {in, &mask, out}, element_bytes, index_dtype, options);
}
void reverse(const BufferBase& in, std::size_t element_bytes, BufferBase& out, const GatherOptions& options) {
  run(Operation::reverse, {in, nullptr, out}, element_bytes, Dtype::u32, options);
}

Pending<void> gather(Stream& stream, const BufferBase& in, std::size_t element_bytes, const BufferBase& indices,
                     Dtype index_dtype, BufferBase& out, const GatherOptions& options) {
  return run(stream, Operation::gather, {in, &indices, out}, element_bytes, index_dtype, options);
}
Pending<void> scatter(Stream& stream, const BufferBase& in, std::size_t element_bytes, const BufferBase& indices,
                      Dtype index_dtype, BufferBase& out, const GatherOptions& options) {
  return run(stream, Operation::scatter, {in, &indices, out}, element_bytes, index_dtype, options);
}
Pending<void> permute(Stream& stream, const BufferBase& in, std::size_t element_bytes, const BufferBase& mask,
                      Dtype index_dtype, BufferBase& out, const GatherOptions& options) {
  return run(stream, Operation::permute, {in, &mask, out}, element_bytes, index_dtype, options);
}
Pending<void> reverse(Stream& stream, const BufferBase& in, std::size_t element_bytes, BufferBase& out,
                      const GatherOptions& options) {
  return run(stream, Operation::reverse, {in, nullptr, out}, element_bytes, Dtype::u32, options);
}

}  // namespace masu
