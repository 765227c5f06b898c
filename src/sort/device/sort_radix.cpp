// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_radix.h"

#include "call/operands.h"
#include "runtime/backend.h"
#include "sort/device/sort_plan.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace masu {

using sort_kernels::Place;
using sort_kernels::Side;
using sort_plan::Plan;

namespace {

constexpr std::uint32_t flag_indices = 1;
constexpr std::uint32_t flag_drop_keys = 2;
constexpr std::uint32_t flag_whole = 4;
constexpr std::uint32_t flag_widen = 8;

// Whether records move with the keys.
bool may_carry(const Arrays& arrays) {
  return sort_kernels::aligned(arrays.records(), arrays.payload.bytes);
}

// What a sort needs beside its input and its result, in one piece of temporary memory.
struct Needs {
  Plan plan;
  std::uint64_t record_bytes = 0;  // of records that are gathered at the end; 0: none
  bool widens = false;             // indices of 4 bytes become 8 when they are written last
  std::uint64_t most_tiles = 0;
  std::uint64_t most_chunks = 0;
  // Where things begin in the temporary memory, and its size.
  std::uint64_t keys = 0;
  std::uint64_t keys_too = 0;
  std::uint64_t values = 0;
  std::uint64_t values_too = 0;
  std::uint64_t records = 0;
  std::uint64_t counts = 0;
  std::uint64_t sums = 0;
  std::uint64_t bases = 0;
  std::uint64_t facts = 0;
  std::uint64_t bytes = 0;
};

// Pieces of up to `others` keys are left out.
Needs needs_of(const DeviceInfo& info, const Arrays& arrays, const SortJob& job, std::uint64_t others, bool may_carry) {
  Needs needs;
  const std::uint64_t count = job.pieces.count;
  const Dtype dtype = arrays.dtype;
  const Payload& payload = arrays.payload;
  const bool gathered = arrays.has_records() && !(may_carry && sort_plan::carried(payload.bytes));
  // Records are gathered by their places in the whole.
  const std::uint64_t indexed = gathered ? count : job.pieces.longest();
  const std::uint64_t index_bytes = indexed > std::uint64_t{1} << 32 ? 8 : 4;
  const bool indices = arrays.has_indices();
  const bool pieces = !job.pieces.segments.empty();
  // Not those of segments: between passes some lie in the result, where others are already.
  needs.widens = indices && !pieces && index_bytes < payload.bytes;
  const std::size_t value_bytes = gathered || needs.widens ? index_bytes : payload.bytes;
  needs.record_bytes = gathered ? payload.bytes : 0;
  needs.plan = sort_plan::make(info, dtype, value_bytes, count, pieces);
  const std::uint64_t tile = needs.plan.tile();
  const bool passes = job.pieces.longest() > others;
  if (passes) {
    // A piece has a ragged tile and a ragged chunk at most.
    const std::uint64_t most_pieces = std::min(job.pieces.size(), count / (others + 1) + 1);
    needs.most_tiles = count / tile + most_pieces;
    needs.most_chunks = needs.most_tiles / sort_plan::chunk_tiles + most_pieces;
  }
  std::uint64_t end = 0;
  const auto reserve = [&](std::uint64_t bytes) {
    const std::uint64_t begin = end;
    end += call::aligned(bytes);
    return begin;
  };
  if (passes) {
    needs.keys = reserve(count * size_of(dtype));
    if (indices) needs.keys_too = reserve(count * size_of(dtype));
    if (value_bytes != 0) needs.values = reserve(count * value_bytes);
    needs.counts = reserve(needs.most_tiles * sort_plan::digits * 4);
    needs.sums = reserve(needs.most_chunks * sort_plan::digits * 4);
    needs.bases = reserve(needs.most_chunks * sort_plan::digits * needs.plan.offset_bytes());
    needs.facts = reserve(16);
  }
  if (gathered) {
    needs.values_too = reserve(count * value_bytes);
    needs.records = reserve(count * payload.bytes);
  }
  needs.bytes = end;
  return needs;
}

class RadixSorter {
 public:
  RadixSorter(Stream& stream, const Arrays& arrays, const SortJob& job, const Needs& needs, const BufferBase* workspace,
              const SortTables* tables, DeviceWork& work)
      : stream_(stream),
        arrays_(arrays),
        job_(job),
        needs_(needs),
        tables_(tables),
        workspace_(work.memory_for(stream.device(), workspace, std::max<std::uint64_t>(needs_.bytes, 16))),
        work_(work) {}

  // Sorts the keys, and the payload if any.
  void run(bool may_wait) {
    if (needs_.record_bytes != 0) return sort_gathered(may_wait);
    Task task{.keys = arrays_.source,
              .result = arrays_.target,
              .values = arrays_.records(),
              .moved = arrays_.alone() ? nullptr : arrays_.payload.buffer,
              .flags = arrays_.has_indices() ? flag_indices : 0};
    if (!job_.pieces.segments.empty()) {  // what is outside of the segments
      if (task.result && !task.keys.is(task.result)) {
        work_.done(call::copy(stream_, *arrays_.source, *arrays_.target));
        task.keys = task.result;
      }
      if (arrays_.has_indices()) count_up(*arrays_.payload.buffer, arrays_.payload.bytes);
    }
    sort(task, may_wait);
  }

 private:
  struct Task {
    Place keys;
    Place result{};  // where the keys go; none: nowhere
    Place values{};  // none: indices, or nothing
    Place moved{};   // where values or indices go
    std::uint32_t flags = 0;
  };
  // How many tiles, chunks and pieces there are, and where their tables begin; without tables, the keys of a row, and
  // in place of the tables the tiles of a row twice, and its chunks.
  struct Extent {
    std::uint64_t tiles;
    std::uint64_t chunks;
    std::uint64_t pieces;
    std::uint64_t length;
    std::uint64_t tiles_at;
    std::uint64_t chunks_at;
    std::uint64_t pieces_at;
  };

  [[nodiscard]] Place workspace(std::uint64_t place) const { return {&workspace_, at(place)}; }
  [[nodiscard]] std::uint64_t at(std::uint64_t place) const { return workspace_.byte_offset() + place; }

  // Indices that count.
  void count_up(const BufferBase& indices, std::size_t index_bytes) {
    sort_kernels::count_up(stream_, indices, index_bytes, job_.pieces.count, false, work_);
  }

  // Records that do not move with the keys: their order first, then all of them at once.
  void sort_gathered(bool may_wait) {
    const Payload& payload = arrays_.payload;
    const std::size_t index_bytes = needs_.plan.value_bytes;
    const Buffer<std::byte> order = workspace_.slice(needs_.values_too, job_.pieces.count * index_bytes);
    const Buffer<std::byte> records = workspace_.slice(needs_.records, job_.pieces.count * payload.bytes);
    if (!job_.pieces.segments.empty()) count_up(order, index_bytes);
    sort_kernels::copy(stream_, &records, payload.buffer, payload.buffer->size_bytes(), work_);
    // Indices count from the first of all keys, not of the piece.
    sort({.keys = arrays_.source, .result = arrays_.target, .moved = &order, .flags = flag_indices | flag_whole},
         may_wait);
    sort_kernels::gather(stream_, records, *payload.buffer, order, index_bytes, payload.bytes, job_.pieces.count,
                         job_.pieces.count, work_);
  }

  [[nodiscard]] Extent extent() const {
    if (tables_ != nullptr) {
      return {tables_->tiles,      tables_->chunks,      tables_->pieces.size(), 0,
              tables_->tiles_at(), tables_->chunks_at(), tables_->pieces_at()};
    }
    const std::uint64_t rows = job_.pieces.rows;
    const std::uint64_t length = job_.pieces.length(0);
    const std::uint64_t tiles = (length + needs_.plan.tile() - 1) / needs_.plan.tile();
    const std::uint64_t chunks = (tiles + sort_plan::chunk_tiles - 1) / sort_plan::chunk_tiles;
    return {rows * tiles, rows * chunks, rows, length, tiles, tiles, chunks};
  }

  // Something of the tables; without them, a number in its place.
  [[nodiscard]] call::Arguments table(std::uint64_t place) const {
    return call::Arguments(tables_ != nullptr ? call::memory_of(tables_->memory) : memory_, place);
  }

  void launch_count(call::Kernels& kernels, const Extent& extent, const Place& keys, unsigned shift, bool facts) {
    work_.done(kernels.in_groups_of(needs_.plan.group)
                   .launch(stream_, "sort_count", extent.tiles, keys.argument(), memory_, table(extent.tiles_at),
                           at(needs_.counts), at(needs_.facts), extent.length, std::uint32_t{shift}, flip_,
                           std::uint32_t{facts}, LocalMemory{needs_.plan.count_bytes()}));
  }

  void launch_scans(call::Kernels& kernels, const Extent& extent) {
    work_.done(kernels.in_groups_of(2 * sort_plan::digits)
                   .launch(stream_, "sort_scan_tiles", extent.chunks, memory_, table(extent.chunks_at),
                           at(needs_.counts), at(needs_.sums), call::local<std::uint32_t>(2 * sort_plan::digits)));
    work_.done(kernels.in_groups_of(sort_plan::digits)
                   .launch(stream_, "sort_scan_chunks", extent.pieces, memory_, table(extent.pieces_at),
                           at(needs_.sums), at(needs_.bases), extent.length,
                           LocalMemory{sort_plan::digits * needs_.plan.offset_bytes()}));
  }

  // The shifts of the digits in which not all keys agree. Counts the first digit; waits.
  std::vector<unsigned> useful_shifts(call::Kernels& kernels, const Extent& extent, const Place& keys) {
    std::array<std::uint32_t, 4> facts{};
    call::clear(stream_, workspace_, needs_.facts, sizeof facts);
    launch_count(kernels, extent, keys, 0, true);
    call::fetch(stream_, workspace_, needs_.facts, facts.data(), sizeof facts);
    stream_.finish();
    const std::uint64_t differ =
        (facts[0] | std::uint64_t{facts[2]} << 32) & (facts[1] | std::uint64_t{facts[3]} << 32);
    std::vector<unsigned> shifts = all_shifts();
    std::erase_if(shifts, [&](unsigned shift) { return (differ >> shift & (sort_plan::digits - 1)) == 0; });
    return shifts;
  }
  [[nodiscard]] std::vector<unsigned> all_shifts() const {
    std::vector<unsigned> shifts(size_of(arrays_.dtype));
    for (unsigned i = 0; i < shifts.size(); ++i) shifts[i] = i * sort_plan::digit_bits;
    return shifts;
  }

  // Keys and values go from the input to the result, by way of the temporary memory. In place an even number of passes
  // ends where it began; an odd number ends in the temporary memory, and what went through passes is brought back.
  void sort(const Task& task, bool may_wait) {
    const Extent extent = this->extent();
    if (extent.tiles == 0 && tables_ != nullptr) return;
    call::Kernels kernels(stream_.device(), sort_plan::sort_files, needs_.plan.defines(), needs_.plan.group);
    const bool counted = may_wait && job_.pieces.count >= sort_plan::tuned.shared_bits_keys;
    std::vector<unsigned> shifts = counted ? useful_shifts(kernels, extent, task.keys) : all_shifts();
    if (shifts.empty() && (task.flags & flag_indices) != 0) shifts.push_back(0);  // some pass must write them
    const bool in_place = (task.result && task.keys.is(task.result)) || (task.values && task.values.is(task.moved));
    // The result, where keys without one need a place too, and the temporary memory.
    const std::array<Side, 2> sides{{{task.result ? task.result : workspace(needs_.keys_too), task.moved},
                                     {workspace(needs_.keys), workspace(needs_.values)}}};
    Side from{task.keys, task.values ? task.values : task.moved};
    std::size_t side = in_place || shifts.size() % 2 == 0 ? 1 : 0;
    for (const unsigned shift : shifts) {
      const Side& to = sides[side];
      std::uint32_t flags = shift == shifts.front() ? task.flags : 0;
      if (shift == shifts.back()) flags |= (task.result ? 0 : flag_drop_keys) | (needs_.widens ? flag_widen : 0);
      call::Arguments values;
      if (task.moved) values.add(call::Arguments(from.values.argument(), to.values.argument()));
      if (!(counted && shift == 0)) launch_count(kernels, extent, from.keys, shift, false);
      launch_scans(kernels, extent);
      work_.done(kernels.in_groups_of(needs_.plan.group)
                     .launch(stream_, "sort_scatter", extent.tiles, from.keys.argument(), to.keys.argument(), values,
                             memory_, table(extent.tiles_at), at(needs_.counts), at(needs_.bases), extent.length,
                             std::uint32_t{shift}, flip_, flags, LocalMemory{needs_.plan.scatter_bytes()}));
      from = to;
      side = 1 - side;
    }
    if (shifts.empty()) {
      if (task.result && !task.keys.is(task.result)) {
        sort_kernels::copy(stream_, task.result, task.keys, job_.pieces.count * size_of(arrays_.dtype), work_);
      }
    } else if (side == 0) {  // the last pass wrote to the temporary memory
      copy_back(needs_.keys, task.result, size_of(arrays_.dtype));
      if (task.moved) copy_back(needs_.values, task.moved, needs_.plan.value_bytes);
    }
  }

  void copy_back(std::uint64_t from, const Place& to, std::size_t size) {
    const Run all{0, job_.pieces.count};
    for (const Run& run : tables_ != nullptr ? std::span<const Run>(tables_->pieces) : std::span(&all, 1)) {
      const std::uint64_t begin = run.first * size;
      sort_kernels::copy(stream_, to.after(begin), workspace(from + begin), run.size() * size, work_);
    }
  }

  Stream& stream_;
  const Arrays& arrays_;
  SortJob job_;
  Needs needs_;
  const SortTables* tables_;  // of segments
  Buffer<std::byte> workspace_;
  KernelArgument memory_ = call::memory_of(workspace_);
  std::uint32_t flip_ = arrays_.order == Order::descending ? sort_plan::digits - 1 : 0;  // turns digits round
  DeviceWork& work_;
};

}  // namespace

namespace sort_radix {

std::uint64_t workspace_bytes(const DeviceInfo& info, const Arrays& arrays, const SortJob& job, std::uint64_t others) {
  const std::uint64_t bytes = needs_of(info, arrays, job, others, may_carry(arrays)).bytes;
  if (arrays.payload.buffer != nullptr) return bytes;
  return std::max(bytes, needs_of(info, arrays, job, others, false).bytes);  // records may lie at odd places
}

SortTables tables_of(const Device& device, const Arrays& arrays, const SortJob& job, std::uint64_t others) {
  const Needs needs = needs_of(device.info(), arrays, job, others, may_carry(arrays));
  return {device, job.pieces, needs.plan.tile(), others};
}

void sort(Stream& stream, const Arrays& arrays, const SortJob& job, const BufferBase* workspace, bool may_wait,
          const SortTables* tables, DeviceWork& work) {
  const std::uint64_t others = tables != nullptr ? tables->others : 0;
  const Needs needs = needs_of(stream.device().info(), arrays, job, others, may_carry(arrays));
  RadixSorter(stream, arrays, job, needs, workspace, tables, work).run(may_wait);
}

}  // namespace sort_radix

SortTables::SortTables(const Device& device, const Pieces& all, std::uint64_t tile, std::uint64_t left_out)
    : others(left_out), memory(device, 0) {
  std::vector<std::uint64_t> of_tiles;
  std::vector<std::uint64_t> of_chunks;
  std::vector<std::uint64_t> of_pieces;
  for (std::uint64_t piece = 0; piece < all.size(); ++piece) {
    const std::uint64_t begin = all.begin(piece);
    const std::uint64_t length = all.length(piece);
    if (length <= others) continue;
    const std::uint64_t first_chunk = of_chunks.size();
    for (std::uint64_t at = 0, number = 0; at < length; at += tile, ++number) {
      if (number % sort_plan::chunk_tiles == 0) of_chunks.push_back(of_tiles.size() / 3);
      of_chunks.back() += std::uint64_t{1} << 32;
      of_tiles.insert(of_tiles.end(), {begin + at, at, std::min(tile, length - at) | (of_chunks.size() - 1) << 32});
    }
    pieces.push_back({begin, begin + length});
    of_pieces.insert(of_pieces.end(), {begin, first_chunk | (of_chunks.size() - first_chunk) << 32});
  }
  tiles = of_tiles.size() / 3;
  chunks = of_chunks.size();
  for (const auto* const part : {&of_chunks, &of_pieces}) of_tiles.insert(of_tiles.end(), part->begin(), part->end());
  if (!of_tiles.empty()) memory = device.upload(of_tiles);
}

}  // namespace masu
