// SPDX-License-Identifier: Apache-2.0
#include "gather/gather_device.h"

#include "runtime/backend.h"
#include "runtime/whole.h"

#include <algorithm>
#include <array>
#include <span>

namespace masu {

namespace {

using gather_plan::Move;
using gather_plan::Operation;
using gather_plan::Plan;

constexpr std::size_t first_words_bytes = 8;  // local memory of first_of_group()

// Launches kernels of one program.
class Launcher {
 public:
  Launcher(Stream& stream, std::span<const std::string_view> files, std::span<const runtime::Define> defines,
           unsigned group)
      : stream_(stream),
        program_(runtime::own_program(*stream.device().implementation(), files, defines)),
        group_(group) {}

  void operator()(const char* name, std::uint64_t groups, const std::vector<KernelArgument>& arguments) {
    events.emplace_back(
        stream_.implementation().launch(*program_->kernel(name), NDRange(groups * group_, group_), arguments));
  }
  void clear(const BufferBase& memory, std::uint64_t offset, std::uint64_t bytes) {
    constexpr std::uint32_t zero = 0;
    events.emplace_back(
        stream_.implementation().fill(*memory.memory(), memory.byte_offset() + offset, bytes, &zero, sizeof zero));
  }

  Events events;

 private:
  Stream& stream_;
  std::shared_ptr<runtime::Module> program_;
  unsigned group_;
};

void scatter_claimed(Launcher& launch, const Move& move, const BufferBase& in, const BufferBase& indices,
                     const BufferBase& out, const BufferBase& notes, const Plan& plan) {
  const std::uint64_t owner_at = notes.byte_offset() + gather_plan::notes_bytes();
  const std::uint64_t count = move.rows * move.in_row;
  for (std::uint64_t begin = 0; begin < count; begin += gather_plan::claimed_at_a_time) {
    const auto part = static_cast<std::uint32_t>(std::min(gather_plan::claimed_at_a_time, count - begin));
    launch.clear(notes, gather_plan::notes_bytes(), move.rows * move.out_row * gather_plan::owner_bytes);
    launch("claim_places", plan.groups(part),
           {whole(indices), indices.byte_offset(), begin, part, move.in_row, move.out_row, whole(notes),
            notes.byte_offset(), owner_at});
    launch("scatter_records", plan.groups(std::uint64_t{part} * plan.units),
           {whole(in), in.byte_offset(), whole(out), out.byte_offset(), whole(indices), indices.byte_offset(), begin,
            part, move.in_row, move.out_row, whole(notes), notes.byte_offset(), owner_at});
  }
}

}  // namespace

Events move_on_device(Stream& stream, const Move& move, const BufferBase& in, const BufferBase& indices,
                      const BufferBase& out, const BufferBase& notes, const Plan& plan) {
  Launcher launch(stream, gather_plan::move_files, plan.move_defines(move.index_dtype), plan.group);
  launch.clear(notes, 0, gather_plan::flag_bytes);
  // All work-groups note something, those that have no indices too.
  launch("check_indices", gather_plan::note_groups,
         {whole(indices), indices.byte_offset(), move.indices, move.limit(), whole(notes), notes.byte_offset(),
          LocalMemory{first_words_bytes}});
  if (move.operation == Operation::scatter) {
    scatter_claimed(launch, move, in, indices, out, notes, plan);
  } else {
    const std::uint64_t units = move.rows * move.out_row * plan.units;
    launch("gather_records", plan.groups((units + gather_plan::unroll - 1) / gather_plan::unroll),
           {whole(in), in.byte_offset(), whole(out), out.byte_offset(), whole(indices), indices.byte_offset(), units,
            move.in_row, move.out_row, move.index_row, whole(notes), notes.byte_offset(), std::uint32_t{1}});
  }
  return std::move(launch.events);
}

Events reverse_on_device(Stream& stream, const Move& move, const BufferBase& in, const BufferBase& out,
                         const Plan& plan) {
  Launcher launch(stream, gather_plan::move_files, plan.move_defines(move.index_dtype), plan.group);
  launch("reverse_records", plan.groups(move.rows * move.in_row * plan.units),
         {whole(in), in.byte_offset(), whole(out), out.byte_offset(), move.rows, move.in_row,
          std::uint32_t{move.in_place ? 1U : 0U}});
  return std::move(launch.events);
}

Events compact_on_device(Stream& stream, std::uint64_t count, const BufferBase& in, const BufferBase& flags,
                         const BufferBase& out, std::uint64_t room, const BufferBase& notes, const Plan& plan) {
  Launcher launch(stream, gather_plan::compact_files, plan.compact_defines(), plan.group);
  const std::uint64_t tiles = (count + plan.tile() - 1) / plan.tile();
  const std::uint64_t count_at = notes.byte_offset() + sizeof(std::uint64_t) * (1 + tiles);
  const std::uint64_t groups = std::min(tiles, plan.most_groups);
  const std::size_t sums = plan.group * sizeof(std::uint32_t);
  launch("compact_count", groups,
         {whole(flags), flags.byte_offset(), count, whole(notes), count_at, LocalMemory{sizeof(std::uint32_t)}});
  launch("compact_offsets", 1, {whole(notes), notes.byte_offset(), count_at, tiles, LocalMemory{sums}});
  launch("compact_move", groups,
         {whole(in), in.byte_offset(), whole(flags), flags.byte_offset(), whole(out), out.byte_offset(), count, room,
          whole(notes), notes.byte_offset(), LocalMemory{sums + plan.tile() * sizeof(std::uint16_t)}});
  return std::move(launch.events);
}

Events iota_on_device(Stream& stream, Dtype dtype, std::uint64_t count, const BufferBase& out, std::uint64_t start,
                      std::uint64_t step, const Plan& plan) {
  Launcher launch(stream, gather_plan::iota_files, plan.iota_defines(dtype), plan.group);
  launch("write_iota", plan.groups(count), {whole(out), out.byte_offset(), count, start, step});
  return std::move(launch.events);
}

BadIndex first_bad_index(const Buffer<std::byte>& notes) {
  std::vector<std::uint64_t> found(gather_plan::notes_bytes() / sizeof(std::uint64_t));
  notes.read(std::as_writable_bytes(std::span(found)));
  BadIndex first;
  for (std::size_t g = gather_plan::flag_bytes / sizeof(std::uint64_t); g < found.size(); g += 2) {
    if (found[g] < first.position) first = {found[g], found[g + 1]};
  }
  return first;
}

}  // namespace masu
