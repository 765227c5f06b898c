// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_radix.h"

#include "call/operands.h"
#include "runtime/backend.h"
#include "sort/device/sort_plan.h"

#include <algorithm>
#include <array>
#include <utility>

namespace masu {

using sort_plan::Plan;

namespace {

constexpr std::uint32_t flag_indices = 1;
constexpr std::uint32_t flag_drop_keys = 2;
constexpr std::uint32_t flag_whole = 4;
constexpr std::uint32_t flag_widen = 8;

// Bytes in the memory of a buffer that outlives the call, from `at` on.
struct Place {
  const BufferBase* buffer;
  std::uint64_t at;

  static Place of(const BufferBase& buffer) { return {&buffer, buffer.byte_offset()}; }
  [[nodiscard]] runtime::Memory& memory() const { return *buffer->memory(); }
  [[nodiscard]] call::At argument() const { return {*buffer, at}; }
};

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
        device_(stream.device()),
        arrays_(arrays),
        job_(job),
        needs_(needs),
        tables_(tables),
        workspace_(work.memory_for(device_, workspace, std::max<std::uint64_t>(needs_.bytes, 16))),
        work_(work) {}

  // Sorts the keys, and the payload if any.
  void run(bool may_wait) {
    if (needs_.record_bytes != 0) return sort_gathered(may_wait);
    const Payload& payload = arrays_.payload;
    Task task{Place::of(*arrays_.source), std::nullopt, std::nullopt, std::nullopt, arrays_.has_indices(), false};
    if (arrays_.target != nullptr) task.result.emplace(Place::of(*arrays_.target));
    if (!arrays_.alone()) task.moved.emplace(Place::of(*payload.buffer));
    if (arrays_.has_records()) task.values = task.moved;
    if (!job_.pieces.segments.empty()) {  // what is outside of the segments
      if (task.result && !same(task.keys, *task.result)) {
        copy(*arrays_.target, *arrays_.source);
        task.keys = *task.result;
      }
      if (task.indices) count_up(*payload.buffer, payload.bytes);
    }
    sort(task, may_wait);
  }

 private:
  struct Task {
    Place keys;
    std::optional<Place> result;  // where the keys go; none: nowhere
    std::optional<Place> values;  // none: indices, or nothing
    std::optional<Place> moved;   // where values or indices go
    bool indices;
    bool whole;  // indices count from the first of all keys, not of the piece

    [[nodiscard]] std::uint32_t flags() const noexcept { return indices ? flag_indices | (whole ? flag_whole : 0) : 0; }
  };

  static bool same(const Place& a, const Place& b) { return a.buffer->memory() == b.buffer->memory() && a.at == b.at; }

  [[nodiscard]] Place workspace(std::uint64_t at) const { return {&workspace_, workspace_.byte_offset() + at}; }
  [[nodiscard]] std::uint64_t at(std::uint64_t place) const { return workspace_.byte_offset() + place; }

  // What turns digits round for a descending order.
  [[nodiscard]] std::uint32_t flip() const noexcept {
    return arrays_.order == Order::descending ? sort_plan::digits - 1 : 0;
  }

  void done(Event event) { work_.done(std::move(event)); }
  void copy(const BufferBase& to, const BufferBase& from) { done(call::copy(stream_, from, to)); }
  void copy(const Place& to, const Place& from, std::uint64_t bytes) {
    auto& commands = stream_.implementation();
    done(Event(commands.copy(to.memory(), to.at, from.memory(), from.at, bytes, commands.own_commands)));
  }

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
    const Task task{Place::of(*arrays_.source), Place::of(*arrays_.target), std::nullopt, Place::of(order), true, true};
    if (!job_.pieces.segments.empty()) count_up(order, index_bytes);
    copy(Place::of(records), Place::of(*payload.buffer), payload.buffer->size_bytes());
    sort(task, may_wait);
    sort_kernels::gather(stream_, records, *payload.buffer, order, index_bytes, payload.bytes, job_.pieces.count,
                         job_.pieces.count, work_);
  }

  void sort(const Task& task, bool may_wait) {
    const Pieces& pieces = job_.pieces;
    if (tables_ == nullptr) {
      const std::uint64_t length = pieces.length(0);
      const std::uint64_t tiles = (length + needs_.plan.tile() - 1) / needs_.plan.tile();
      const std::uint64_t chunks = (tiles + sort_plan::chunk_tiles - 1) / sort_plan::chunk_tiles;
      return launch_passes(task, {pieces.rows * tiles, pieces.rows * chunks, pieces.rows, length, tiles, tiles, chunks},
                           may_wait);
    }
    if (tables_->tiles() != 0) {
      launch_passes(task,
                    {tables_->tiles(), tables_->chunks(), tables_->pieces().size(), 0, tables_->tiles_at(),
                     tables_->chunks_at(), tables_->pieces_at()},
                    may_wait);
    }
  }

  // Something of the tables; without them, a number in its place.
  [[nodiscard]] call::Arguments table(std::uint64_t at) const {
    return call::Arguments(tables_ != nullptr ? call::memory_of(tables_->memory()) : memory_, at);
  }

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

  void launch_count(call::Kernels& kernels, const Extent& extent, const Place& keys, unsigned shift, bool facts) {
    done(kernels.in_groups_of(needs_.plan.group)
             .launch(stream_, "sort_count", extent.tiles, keys.argument(), memory_, table(extent.tiles_at),
                     at(needs_.counts), at(needs_.facts), extent.length, std::uint32_t{shift}, flip(),
                     std::uint32_t{facts}, LocalMemory{needs_.plan.count_bytes()}));
  }

  void launch_scans(call::Kernels& kernels, const Extent& extent) {
    done(kernels.in_groups_of(2 * sort_plan::digits)
             .launch(stream_, "sort_scan_tiles", extent.chunks, memory_, table(extent.chunks_at), at(needs_.counts),
                     at(needs_.sums), call::local<std::uint32_t>(2 * sort_plan::digits)));
    done(kernels.in_groups_of(sort_plan::digits)
             .launch(stream_, "sort_scan_chunks", extent.pieces, memory_, table(extent.pieces_at), at(needs_.sums),
                     at(needs_.bases), extent.length, LocalMemory{sort_plan::digits * needs_.plan.offset_bytes()}));
  }

  struct Step {
    Place keys_from;
    Place keys_to;
    std::optional<Place> values_from;
    std::optional<Place> values_to;
    std::uint32_t flags;
  };

  void launch_scatter(call::Kernels& kernels, const Extent& extent, const Step& step, unsigned shift) {
    call::Arguments values;
    if (step.values_to) values.add(call::Arguments(step.values_from->argument(), step.values_to->argument()));
    done(kernels.in_groups_of(needs_.plan.group)
             .launch(stream_, "sort_scatter", extent.tiles, step.keys_from.argument(), step.keys_to.argument(), values,
                     memory_, table(extent.tiles_at), at(needs_.counts), at(needs_.bases), extent.length,
                     std::uint32_t{shift}, flip(), step.flags, LocalMemory{needs_.plan.scatter_bytes()}));
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
    std::vector<unsigned> shifts;
    for (unsigned shift = 0; shift < 8 * size_of(arrays_.dtype); shift += sort_plan::digit_bits) {
      if ((differ >> shift & (sort_plan::digits - 1)) != 0) shifts.push_back(shift);
    }
    return shifts;
  }

  void launch_passes(const Task& task, const Extent& extent, bool may_wait) {
    call::Kernels kernels(device_, sort_plan::sort_files, needs_.plan.defines(), needs_.plan.group);
    const bool counted = may_wait && job_.pieces.count >= sort_plan::tuned.shared_bits_keys;
    std::vector<unsigned> shifts;
    if (counted) {
      shifts = useful_shifts(kernels, extent, task.keys);
    } else {
      for (unsigned shift = 0; shift < 8 * size_of(arrays_.dtype); shift += sort_plan::digit_bits)
        shifts.push_back(shift);
    }
    if (shifts.empty() && task.indices) shifts.push_back(0);  // some pass must write them
    for (std::size_t pass = 0; pass < shifts.size(); ++pass) {
      const Step step = step_of(task, pass, shifts.size());
      if (!(counted && shifts[pass] == 0)) launch_count(kernels, extent, step.keys_from, shifts[pass], false);
      launch_scans(kernels, extent);
      launch_scatter(kernels, extent, step, shifts[pass]);
    }
    settle(task, shifts.size());
  }

  // Keys and values go from the input to the result, by way of the temporary memory. In place an even number of passes
  // ends where it began; an odd number ends in the temporary memory, and settle() brings it back.
  [[nodiscard]] bool in_place(const Task& task) const {
    return (task.result && same(task.keys, *task.result)) || (task.values && same(*task.values, *task.moved));
  }
  [[nodiscard]] bool ends_in_result(const Task& task, std::size_t pass, std::size_t passes) const {
    return in_place(task) ? pass % 2 == 1 : (passes - 1 - pass) % 2 == 0;
  }
  [[nodiscard]] Step step_of(const Task& task, std::size_t pass, std::size_t passes) const {
    const bool to_result = ends_in_result(task, pass, passes);
    const bool from_result = pass > 0 && ends_in_result(task, pass - 1, passes);
    // Without a result the keys need two places of their own.
    const auto keys_at = [&](bool in_result) {
      return !in_result ? workspace(needs_.keys) : task.result ? *task.result : workspace(needs_.keys_too);
    };
    Step step{pass == 0 ? task.keys : keys_at(from_result), keys_at(to_result), std::nullopt, std::nullopt, 0};
    if (!task.moved) return step;
    const auto values_at = [&](bool in_result) { return in_result ? *task.moved : workspace(needs_.values); };
    step.values_from.emplace(pass > 0 ? values_at(from_result) : task.values ? *task.values : *task.moved);
    step.values_to.emplace(values_at(to_result));
    if (pass == 0) step.flags |= task.flags();
    if (pass + 1 == passes) step.flags |= (task.result ? 0 : flag_drop_keys) | (needs_.widens ? flag_widen : 0);
    return step;
  }

  void settle(const Task& task, std::size_t passes) {
    if (passes == 0) {
      if (task.result && !same(task.keys, *task.result)) {
        copy(*task.result, task.keys, job_.pieces.count * size_of(arrays_.dtype));
      }
      return;
    }
    if (ends_in_result(task, passes - 1, passes)) return;
    copy_back(needs_.keys, *task.result, size_of(arrays_.dtype));
    if (task.moved) copy_back(needs_.values, *task.moved, needs_.plan.value_bytes);
  }

  // Brings pieces back from the temporary memory: those that went through passes.
  void copy_back(std::uint64_t from, const Place& to, std::size_t size) {
    if (tables_ == nullptr) return copy(to, workspace(from), job_.pieces.count * size);
    for (const Run& piece : tables_->pieces()) {
      const std::uint64_t begin = piece.first * size;
      copy({to.buffer, to.at + begin}, workspace(from + begin), piece.size() * size);
    }
  }

  Stream& stream_;
  Device device_;
  const Arrays& arrays_;
  SortJob job_;
  Needs needs_;
  const SortTables* tables_;  // of segments
  Buffer<std::byte> workspace_;
  KernelArgument memory_ = call::memory_of(workspace_);
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
  const std::uint64_t others = tables != nullptr ? tables->others() : 0;
  const Needs needs = needs_of(stream.device().info(), arrays, job, others, may_carry(arrays));
  RadixSorter(stream, arrays, job, needs, workspace, tables, work).run(may_wait);
}

}  // namespace sort_radix

SortTables::SortTables(const Device& device, const Pieces& pieces, std::uint64_t tile, std::uint64_t others)
    : others_(others), memory_(device, 0) {
  std::vector<std::uint64_t> tiles;
  std::vector<std::uint64_t> chunks;
  std::vector<std::uint64_t> longs;
  for (std::uint64_t piece = 0; piece < pieces.size(); ++piece) {
    const std::uint64_t begin = pieces.begin(piece);
    const std::uint64_t length = pieces.length(piece);
    if (length <= others) continue;
    const std::uint64_t first_chunk = chunks.size();
    for (std::uint64_t at = 0, number = 0; at < length; at += tile, ++number) {
      if (number % sort_plan::chunk_tiles == 0) chunks.push_back(tiles.size() / 3);
      chunks.back() += std::uint64_t{1} << 32;
      tiles.push_back(begin + at);
      tiles.push_back(at);
      tiles.push_back(std::min(tile, length - at) | (chunks.size() - 1) << 32);
    }
    pieces_.push_back({begin, begin + length});
    longs.push_back(begin);
    longs.push_back(first_chunk | (chunks.size() - first_chunk) << 32);
  }
  tiles_ = tiles.size() / 3;
  chunks_ = chunks.size();
  std::vector<std::uint64_t> words;
  for (const auto* const part : {&tiles, &chunks, &longs}) words.insert(words.end(), part->begin(), part->end());
  if (!words.empty()) memory_ = device.upload(words);
}

}  // namespace masu
