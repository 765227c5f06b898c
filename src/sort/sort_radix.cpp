// SPDX-License-Identifier: Apache-2.0
#include "sort/sort_radix.h"

#include "runtime/backend.h"
#include "runtime/program_cache.h"
#include "runtime/whole.h"
#include "sort/sort_kernels.h"
#include "sort/sort_plan.h"
#include "sort/sort_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace masu {

using sort_plan::Plan;

namespace {

constexpr std::uint32_t flag_indices = 1;
constexpr std::uint32_t flag_drop_keys = 2;
constexpr std::uint32_t flag_whole = 4;

// Bytes in a memory, from `at` on.
struct Place {
  Buffer<const std::byte> memory;
  std::uint64_t at;

  static Place of(const BufferBase& buffer, std::uint64_t at = 0) { return {whole(buffer), buffer.byte_offset() + at}; }
  [[nodiscard]] Place copy() const { return {whole(memory), at}; }
};

// Whether records move with the keys.
bool may_carry(const Companions& companions) {
  return companions.kind != Companions::Kind::records || sort_kernels::aligned(companions.buffer, companions.bytes);
}

// What a sort needs beside its input and its result, in one piece of temporary memory.
struct Needs {
  Plan plan;
  Plan local;                      // for pieces that fit a tile
  std::uint64_t record_bytes = 0;  // of records that are gathered at the end; 0: none
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
  std::uint64_t tables = 0;
  std::uint64_t bytes = 0;
};

Needs needs_of(const DeviceInfo& info, Dtype dtype, const Companions& companions, const SortJob& job,
               bool may_carry = true) {
  Needs needs;
  const std::uint64_t count = job.pieces.count;
  const bool records = companions.kind == Companions::Kind::records;
  const bool gathered = records && !(may_carry && sort_plan::carried(companions.bytes));
  const std::uint64_t index_bytes = job.pieces.longest() > std::uint64_t{1} << 32 ? 8 : 4;
  const std::size_t value_bytes = companions.kind == Companions::Kind::none ? 0
                                  : gathered                                ? index_bytes
                                                                            : companions.bytes;
  const bool pieces = job.pieces.size() > 1 || !job.pieces.segments.empty();
  needs.record_bytes = gathered ? companions.bytes : 0;
  needs.plan = sort_plan::make(info, dtype, value_bytes, count, pieces);
  const std::uint64_t tile = needs.plan.tile();
  const std::uint64_t most_local = sort_plan::most_local_keys(info, dtype, value_bytes);
  needs.local = sort_plan::make_local(info, dtype, value_bytes, std::min(job.pieces.longest(), most_local), pieces);
  const bool local_only = job.pieces.longest() <= needs.local.tile();
  if (!local_only) {
    // A piece that is not local has a ragged tile and a ragged chunk at most.
    const std::uint64_t long_pieces = std::min(job.pieces.size(), count / needs.local.tile() + 1);
    needs.most_tiles = count / tile + long_pieces;
    needs.most_chunks = needs.most_tiles / sort_plan::chunk_tiles + long_pieces;
  }
  std::uint64_t end = 0;
  const auto reserve = [&](std::uint64_t bytes) {
    const std::uint64_t begin = end;
    end += (bytes + 15) / 16 * 16;
    return begin;
  };
  const bool indices = companions.kind == Companions::Kind::indices;
  if (!local_only) {
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
    needs.records = reserve(count * companions.bytes);
  }
  if (pieces) needs.tables = reserve(SortTables::most_bytes(job.pieces.size(), needs.most_tiles, needs.most_chunks));
  needs.bytes = end;
  return needs;
}

class RadixSorter {
 public:
  RadixSorter(Stream& stream, Dtype dtype, const SortJob& job, const Needs& needs, const BufferBase* scratch,
              std::uint64_t others, DeviceWork& work)
      : stream_(stream),
        device_(stream.device()),
        dtype_(dtype),
        job_(job),
        needs_(needs),
        others_(others),
        work_(work) {
    if (needs_.plan.pieces) {  // before anything is queued, as it takes a while
      tables_.emplace(job_.pieces, needs_.plan.tile(), needs_.local.tile(), others_);
    }
    scratch_.emplace(
        Place::of(sort_kernels::memory_of(device_, scratch, std::max<std::uint64_t>(needs_.bytes, 16), work)));
  }

  // Sorts the keys, and the companions if any.
  void run(const BufferBase& keys, BufferBase* result, const Companions& companions, bool may_wait) {
    if (companions.kind == Companions::Kind::records && needs_.record_bytes != 0) {
      sort_gathered(keys, *result, companions, may_wait);
      return;
    }
    Task task{Place::of(keys), std::nullopt, std::nullopt, std::nullopt, false, false};
    if (result != nullptr) task.result.emplace(Place::of(*result));
    if (companions.kind != Companions::Kind::none) task.moved.emplace(Place::of(*companions.buffer));
    if (companions.kind == Companions::Kind::records) task.values.emplace(Place::of(*companions.buffer));
    task.indices = companions.kind == Companions::Kind::indices;
    if (!job_.pieces.segments.empty()) {  // what is outside of the segments
      if (result != nullptr && !same(task.keys, *task.result)) {
        copy(*result, keys);
        task.keys = task.result->copy();
      }
      if (task.indices) launch_iota(*task.moved, companions.bytes);
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

  static bool same(const Place& a, const Place& b) {
    return a.memory.memory()->serial() == b.memory.memory()->serial() && a.at == b.at;
  }

  [[nodiscard]] Place scratch(std::uint64_t at) const { return {whole(scratch_->memory), scratch_->at + at}; }

  // What turns digits round for a descending order.
  [[nodiscard]] std::uint32_t flip() const noexcept {
    return job_.order == Order::descending ? sort_plan::digits - 1 : 0;
  }

  void done(Event event) { work_.done(std::move(event)); }
  void launch(const runtime::Module& /*keeps it alive*/, runtime::Kernel& kernel, std::uint64_t groups, unsigned group,
              std::span<const KernelArgument> arguments) {
    done(Event(stream_.implementation().launch(kernel, NDRange(groups * group, group), arguments)));
  }
  void copy(BufferBase& to, const BufferBase& from) { done(stream_.copy_bytes(to, from)); }
  void copy(const Place& to, const Place& from, std::uint64_t bytes) {
    done(Event(stream_.implementation().copy(*to.memory.memory(), to.at, *from.memory.memory(), from.at, bytes)));
  }

  static void add(std::vector<KernelArgument>& arguments, const Place& place) {
    arguments.emplace_back(place.memory);
    arguments.emplace_back(place.at);
  }

  void launch_iota(const Place& indices, std::size_t index_bytes) {
    const auto module = order_program(index_bytes);
    std::vector<KernelArgument> arguments;
    add(arguments, indices);
    arguments.emplace_back(job_.pieces.count);
    launch_each(*module, "sort_iota", job_.pieces.count, arguments);
  }
  void launch_each(runtime::Module& module, std::string_view name, std::uint64_t items,
                   std::span<const KernelArgument> arguments) {
    constexpr unsigned group = sort_plan::order_group;
    const std::shared_ptr<runtime::Kernel> kernel = module.kernel(name);
    launch(module, *kernel, (items + group - 1) / group, group, arguments);
  }
  [[nodiscard]] std::shared_ptr<runtime::Module> order_program(std::size_t index_bytes) const {
    return runtime::own_program(*device_.implementation(), sort_plan::order_files,
                                sort_plan::order_defines(dtype_, index_bytes));
  }

  // Records that do not move with the keys: their order first, then all of them at once.
  void sort_gathered(const BufferBase& keys, BufferBase& result, const Companions& companions, bool may_wait) {
    const std::size_t index_bytes = needs_.plan.value_bytes;
    Task task{Place::of(keys), Place::of(result), std::nullopt, scratch(needs_.values_too), true, true};
    if (!job_.pieces.segments.empty()) launch_iota(*task.moved, index_bytes);
    const Place records = Place::of(*companions.buffer);
    copy(scratch(needs_.records), records, companions.buffer->size_bytes());
    sort(task, may_wait);
    sort_kernels::gather(stream_,
                         Buffer<std::byte>(device_, scratch_->memory.memory(), scratch_->at + needs_.records,
                                           job_.pieces.count * companions.bytes),
                         *companions.buffer,
                         Buffer<std::byte>(device_, scratch_->memory.memory(), scratch_->at + needs_.values_too,
                                           job_.pieces.count * index_bytes),
                         index_bytes, companions.bytes, job_.pieces.count, job_.pieces.count, work_);
  }

  void sort(const Task& task, bool may_wait) {
    const Pieces& pieces = job_.pieces;
    if (!tables_) {
      if (pieces.count <= needs_.local.tile()) return launch_local(task, 1, 0);
      const std::uint64_t tiles = (pieces.count + needs_.plan.tile() - 1) / needs_.plan.tile();
      return launch_passes(task, {tiles, (tiles + sort_plan::chunk_tiles - 1) / sort_plan::chunk_tiles, 1, 0, 0, 0},
                           may_wait);
    }
    SortTables& made = *tables_;
    if (made.words().empty()) return;
    work_.tables.push_back(made.take_words());
    const std::vector<std::uint64_t>& words = work_.tables.back();
    const Place at = scratch(needs_.tables);
    done(Event(stream_.implementation().write(*at.memory.memory(), at.at, words.data(), words.size() * 8)));
    if (made.local_pieces() != 0) launch_local(task, made.local_pieces(), made.local_at());
    if (made.long_pieces() != 0) {
      launch_passes(
          task, {made.tiles(), made.chunks(), made.long_pieces(), made.tiles_at(), made.chunks_at(), made.pieces_at()},
          may_wait);
    }
  }

  void launch_local(const Task& task, std::uint64_t groups, std::uint64_t table_at) {
    const Plan& plan = needs_.local;
    const auto module = runtime::own_program(*device_.implementation(), sort_plan::local_files, plan.defines());
    const auto kernel = module->kernel("sort_local");
    std::vector<KernelArgument> arguments;
    add(arguments, task.keys);
    add(arguments, task.result ? *task.result : task.keys);
    if (plan.value_bytes != 0) {
      add(arguments, task.values ? *task.values : *task.moved);
      add(arguments, *task.moved);
    }
    add(arguments, scratch(needs_.tables + table_at));
    arguments.emplace_back(static_cast<std::uint32_t>(plan.pieces ? 0 : job_.pieces.count));
    arguments.emplace_back(flip());
    arguments.emplace_back(task.flags() | (task.result ? 0 : flag_drop_keys));
    arguments.emplace_back(LocalMemory{plan.scatter_bytes()});
    launch(*module, *kernel, groups, plan.group, arguments);
  }

  // How many tiles, chunks and pieces there are, and where their tables begin.
  struct Extent {
    std::uint64_t tiles;
    std::uint64_t chunks;
    std::uint64_t pieces;
    std::uint64_t tiles_at;
    std::uint64_t chunks_at;
    std::uint64_t pieces_at;
  };

  struct Kernels {
    std::shared_ptr<runtime::Module> module;
    std::shared_ptr<runtime::Kernel> count;
    std::shared_ptr<runtime::Kernel> scan_tiles;
    std::shared_ptr<runtime::Kernel> scan_chunks;
    std::shared_ptr<runtime::Kernel> scatter;
  };

  void launch_count(const Kernels& kernels, const Extent& extent, const Place& keys, unsigned shift, bool facts) {
    std::vector<KernelArgument> arguments;
    add(arguments, keys);
    arguments.emplace_back(scratch_->memory);
    for (const std::uint64_t at : {needs_.tables + extent.tiles_at, needs_.counts, needs_.facts}) {
      arguments.emplace_back(scratch_->at + at);
    }
    arguments.emplace_back(job_.pieces.count);
    arguments.emplace_back(std::uint32_t{shift});
    arguments.emplace_back(flip());
    arguments.emplace_back(std::uint32_t{facts});
    arguments.emplace_back(LocalMemory{needs_.plan.count_bytes()});
    launch(*kernels.module, *kernels.count, extent.tiles, needs_.plan.group, arguments);
  }

  void launch_scans(const Kernels& kernels, const Extent& extent) {
    const std::uint64_t at = scratch_->at;
    const std::array<KernelArgument, 6> tiles{
        scratch_->memory, at + needs_.tables + extent.chunks_at,    at + needs_.counts,
        at + needs_.sums, static_cast<std::uint32_t>(extent.tiles), LocalMemory{2 * sort_plan::digits * 4}};
    launch(*kernels.module, *kernels.scan_tiles, extent.chunks, 2 * sort_plan::digits, tiles);
    const std::array<KernelArgument, 6> chunks{scratch_->memory,
                                               at + needs_.tables + extent.pieces_at,
                                               at + needs_.sums,
                                               at + needs_.bases,
                                               static_cast<std::uint32_t>(extent.chunks),
                                               LocalMemory{sort_plan::digits * needs_.plan.offset_bytes()}};
    launch(*kernels.module, *kernels.scan_chunks, extent.pieces, sort_plan::digits, chunks);
  }

  struct Step {
    Place keys_from;
    Place keys_to;
    std::optional<Place> values_from;
    std::optional<Place> values_to;
    std::uint32_t flags;
  };

  void launch_scatter(const Kernels& kernels, const Extent& extent, const Step& step, unsigned shift) {
    std::vector<KernelArgument> arguments;
    add(arguments, step.keys_from);
    add(arguments, step.keys_to);
    if (step.values_to) {
      add(arguments, *step.values_from);
      add(arguments, *step.values_to);
    }
    arguments.emplace_back(scratch_->memory);
    for (const std::uint64_t at : {needs_.tables + extent.tiles_at, needs_.counts, needs_.bases}) {
      arguments.emplace_back(scratch_->at + at);
    }
    arguments.emplace_back(job_.pieces.count);
    arguments.emplace_back(std::uint32_t{shift});
    arguments.emplace_back(flip());
    arguments.emplace_back(step.flags);
    arguments.emplace_back(LocalMemory{needs_.plan.scatter_bytes()});
    launch(*kernels.module, *kernels.scatter, extent.tiles, needs_.plan.group, arguments);
  }

  // The shifts of the digits in which not all keys agree. Counts the first digit; waits.
  std::vector<unsigned> useful_shifts(const Kernels& kernels, const Extent& extent, const Place& keys) {
    std::array<std::uint32_t, 4> facts{};
    const Place at = scratch(needs_.facts);
    stream_.implementation().fill(*at.memory.memory(), at.at, sizeof facts, facts.data(), sizeof facts);
    launch_count(kernels, extent, keys, 0, true);
    stream_.implementation().read(*at.memory.memory(), at.at, facts.data(), sizeof facts);
    stream_.finish();
    const std::uint64_t differ =
        (facts[0] | std::uint64_t{facts[2]} << 32) & (facts[1] | std::uint64_t{facts[3]} << 32);
    std::vector<unsigned> shifts;
    for (unsigned shift = 0; shift < 8 * size_of(dtype_); shift += sort_plan::digit_bits) {
      if ((differ >> shift & (sort_plan::digits - 1)) != 0) shifts.push_back(shift);
    }
    return shifts;
  }

  void launch_passes(const Task& task, const Extent& extent, bool may_wait) {
    const auto module = runtime::own_program(*device_.implementation(), sort_plan::sort_files, needs_.plan.defines());
    const Kernels kernels{module, module->kernel("sort_count"), module->kernel("sort_scan_tiles"),
                          module->kernel("sort_scan_chunks"), module->kernel("sort_scatter")};
    const bool counted = may_wait && job_.pieces.count >= sort_plan::facts_keys;
    std::vector<unsigned> shifts;
    if (counted) {
      shifts = useful_shifts(kernels, extent, task.keys);
    } else {
      for (unsigned shift = 0; shift < 8 * size_of(dtype_); shift += sort_plan::digit_bits) shifts.push_back(shift);
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
      return !in_result ? scratch(needs_.keys) : task.result ? task.result->copy() : scratch(needs_.keys_too);
    };
    Step step{pass == 0 ? task.keys.copy() : keys_at(from_result), keys_at(to_result), std::nullopt, std::nullopt, 0};
    if (!task.moved) return step;
    const auto values_at = [&](bool in_result) { return in_result ? task.moved->copy() : scratch(needs_.values); };
    step.values_from.emplace(pass > 0      ? values_at(from_result)
                             : task.values ? task.values->copy()
                                           : task.moved->copy());
    step.values_to.emplace(values_at(to_result));
    if (pass == 0) step.flags |= task.flags();
    if (!task.result && pass + 1 == passes) step.flags |= flag_drop_keys;
    return step;
  }

  void settle(const Task& task, std::size_t passes) {
    if (passes == 0) {
      if (task.result && !same(task.keys, *task.result)) {
        copy(*task.result, task.keys, job_.pieces.count * size_of(dtype_));
      }
      return;
    }
    if (ends_in_result(task, passes - 1, passes)) return;
    copy_back(needs_.keys, *task.result, size_of(dtype_));
    if (task.moved) copy_back(needs_.values, *task.moved, needs_.plan.value_bytes);
  }

  // Brings pieces back from the temporary memory: those that went through passes.
  void copy_back(std::uint64_t from, const Place& to, std::size_t size) {
    if (!needs_.plan.pieces) return copy(to, scratch(from), job_.pieces.count * size);
    for (std::uint64_t piece = 0; piece < job_.pieces.size(); ++piece) {
      const std::uint64_t length = job_.pieces.length(piece);
      const std::uint64_t begin = job_.pieces.begin(piece) * size;
      if (length > needs_.local.tile() && length > others_) {
        copy({whole(to.memory), to.at + begin}, scratch(from + begin), length * size);
      }
    }
  }

  Stream& stream_;
  Device device_;
  Dtype dtype_;
  SortJob job_;
  Needs needs_;
  std::optional<SortTables> tables_;  // of pieces
  std::optional<Place> scratch_;
  std::uint64_t others_;
  DeviceWork& work_;
};

}  // namespace

namespace sort_radix {

std::uint64_t scratch_bytes(const DeviceInfo& info, Dtype dtype, const Companions& companions, const SortJob& job) {
  const std::uint64_t bytes = needs_of(info, dtype, companions, job, may_carry(companions)).bytes;
  if (companions.buffer != nullptr) return bytes;
  return std::max(bytes, needs_of(info, dtype, companions, job, false).bytes);  // records may lie at odd places
}

void sort(Stream& stream, const BufferBase& keys, Dtype dtype, BufferBase* result, const Companions& companions,
          const SortJob& job, const BufferBase* scratch, bool may_wait, std::uint64_t others, DeviceWork& work) {
  RadixSorter(stream, dtype, job, needs_of(stream.device().info(), dtype, companions, job, may_carry(companions)),
              scratch, others, work)
      .run(keys, result, companions, may_wait);
}

}  // namespace sort_radix

}  // namespace masu
