// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_device.h"

#include "call/operands.h"
#include "gather/gather_plan.h"
#include "runtime/backend.h"
#include "sort/device/sort_counting.h"
#include "sort/device/sort_few.h"
#include "sort/device/sort_keys.h"
#include "sort/device/sort_merge.h"
#include "sort/device/sort_once.h"
#include "sort/device/sort_ordered.h"
#include "sort/device/sort_plan.h"
#include "sort/device/sort_radix.h"
#include "sort/device/sort_rows.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace masu::sort_kernels {

bool aligned(const BufferBase* buffer, std::uint64_t bytes) {
  return buffer == nullptr || call::place_of(*buffer) % bytes == 0;
}

unsigned Arrays::record_unit() const noexcept {
  if (records() == nullptr && odd_places) return 1;
  const std::uint64_t offsets =
      records() == nullptr ? 0 : call::place_of(*records()) | call::place_of(*moved_records());
  return std::min(8U, call::move_unit(record_bytes(), offsets));
}

void gather(Stream& stream, const BufferBase& records, const BufferBase& moved, const BufferBase& indices,
            std::size_t index_bytes, std::size_t record_bytes, std::uint64_t count, std::uint64_t piece_length,
            DeviceWork& work) {
  const auto plan =
      gather_plan::make(stream.device().info(), record_bytes, call::place_of(records) | moved.byte_offset());
  const std::uint64_t units = count * plan.units;
  const std::uint64_t a_group = std::uint64_t{plan.group} * gather_plan::tuned.unroll;
  call::Kernels kernels(stream.device(), gather_plan::gather_files,
                        plan.move_defines(index_bytes == 4 ? Dtype::u32 : Dtype::u64), plan.group);
  const call::At no_notes{indices, 0};  // the indices are right
  work.done(kernels.launch(stream, "gather_records", std::min((units + a_group - 1) / a_group, most_groups), records,
                           moved, indices, units, piece_length, piece_length, piece_length, no_notes,
                           std::uint32_t{0}));
}

void copy(Stream& stream, const Place& to, const Place& from, std::uint64_t bytes, DeviceWork& work) {
  runtime::Stream& commands = stream.implementation();
  work.done(
      Event(commands.copy(*to.buffer->memory(), to.at, *from.buffer->memory(), from.at, bytes, commands.own_commands)));
}

void count_up(Stream& stream, const BufferBase& indices, std::size_t index_bytes, std::uint64_t count, bool falling,
              DeviceWork& work) {
  const auto plan = gather_plan::make(stream.device().info(), index_bytes, indices.byte_offset());
  work.done(iota_on_device(stream, index_bytes == 8 ? Dtype::u64 : Dtype::u32, count, indices, falling ? count - 1 : 0,
                           falling ? ~std::uint64_t{0} : 1, plan));
}

}  // namespace masu::sort_kernels

namespace masu {

namespace {

// Which way sorts: merging, rows in registers, each row like one piece, counting, few keys in local memory, digits in
// one launch, many keys from a histogram on, or digits.
enum class Way : std::uint8_t { merge, rows, each_row, segments, counting, few, once, keys, radix };

// Up to so many keys, merging takes fewer launches than digits do, and so less time.
std::uint64_t most_merged(const Arrays& arrays) {
  const auto place = static_cast<unsigned>(std::countr_zero(size_of(arrays.dtype)));
  return sort_plan::tuned.merged_keys[place] / (arrays.alone() ? 1 : 2);
}

// The longest piece that sort_rows takes.
std::uint64_t most_of_rows(const DeviceInfo& info, const Arrays& arrays) {
  return sort_rows::most_local_keys(info, arrays.dtype, !arrays.alone());
}

SortJob row_of(const SortJob& job) {
  return {job.order, job.algorithm, {job.pieces.length(0), 1, {}}, job.function};
}

Way way_of(const DeviceInfo& info, const Arrays& arrays, const SortJob& job) {
  const Pieces& pieces = job.pieces;
  const Dtype dtype = arrays.dtype;
  const bool equal = pieces.segments.empty();
  if (equal && pieces.rows > 1 && job.algorithm == SortAlgorithm::automatic &&
      pieces.length(0) * size_of(dtype) >= sort_plan::tuned.row_bytes) {
    const Way row = way_of(info, arrays, row_of(job));
    if (row == Way::once || row == Way::keys || row == Way::counting) return Way::each_row;
  }
  if (equal && job.algorithm == SortAlgorithm::merge) return Way::merge;
  if (equal && pieces.rows == 1 && job.algorithm == SortAlgorithm::automatic) {
    const bool alone = arrays.alone();
    if (alone && sort_counting::serves(dtype, pieces.count)) return Way::counting;
    if (alone && pieces.count > most_of_rows(info, arrays) && sort_few::serves(info, dtype, pieces.count)) {
      return Way::few;
    }
    if (!alone && pieces.count >= sort_plan::tuned.once_keys && sort_once::serves(info, arrays, pieces.count)) {
      return Way::once;
    }
    if (info.gpu && pieces.count >= sort_plan::tuned.bucket_keys && sort_keys::serves(info, arrays, pieces.count)) {
      return Way::keys;
    }
  }
  // Rows in registers are for GPUs; elsewhere each length is a program that takes long to build, for little. Many
  // pieces take them anyway, since digits need a kibibyte for each.
  const bool by_digits = job.algorithm == SortAlgorithm::radix;
  if ((by_digits || !info.gpu) && pieces.size() < sort_plan::tuned.many_pieces) return Way::radix;
  if (!equal) return Way::segments;
  const std::uint64_t most_in_registers = most_of_rows(info, arrays);
  if (pieces.longest() <= most_in_registers) return Way::rows;
  if (by_digits) return Way::radix;
  // Two merges of rows take less time than the passes of their digits.
  const bool soon_merged = size_of(dtype) >= 4 && pieces.longest() <= 4 * most_in_registers;
  return soon_merged || pieces.count <= most_merged(arrays) ? Way::merge : Way::radix;
}

std::uint64_t radix_bytes(const DeviceInfo& info, const Arrays& arrays, const SortJob& job, std::uint64_t others = 0) {
  return std::max<std::uint64_t>(sort_radix::workspace_bytes(info, arrays, job, others), 16);
}

// Temporary memory that the way needs, for `arrays` that may lack their buffers.
std::uint64_t workspace_bytes(const DeviceInfo& info, const Arrays& arrays, const SortJob& job, Way way) {
  const std::uint64_t rows = job.pieces.rows;
  const std::uint64_t length = job.pieces.segments.empty() ? job.pieces.length(0) : 0;
  switch (way) {
    case Way::merge: return sort_merge::workspace_bytes(info, arrays, rows, length);
    case Way::rows: return sort_rows::workspace_bytes(info, arrays, {rows, length, length});
    case Way::each_row: {
      const SortJob row = row_of(job);
      return workspace_bytes(info, arrays, row, way_of(info, arrays, row));
    }
    case Way::counting: return sort_counting::workspace_bytes(info, arrays.dtype, length);
    case Way::few: return sort_few::workspace_bytes(info, arrays.dtype, length);
    case Way::once:
    case Way::keys: {
      const std::uint64_t bytes = way == Way::once ? sort_once::workspace_bytes(info, arrays, length)
                                                   : sort_keys::workspace_bytes(info, arrays, length);
      // Where there is not so much memory, digits need less.
      return arrays.alone() ? bytes : std::max(bytes, radix_bytes(info, arrays, job));
    }
    case Way::segments:  // the short ones when the long ones are done
      return std::max(radix_bytes(info, arrays, job, most_of_rows(info, arrays)),
                      sort_rows::Segments::workspace_bytes(arrays, job.pieces.size()));
    case Way::radix: break;
  }
  return radix_bytes(info, arrays, job);
}

// Memory for the way, or, where there is not so much for what is packed, for digits, which are then the way.
Buffer<std::byte> memory_for(const Device& device, const BufferBase* workspace, std::uint64_t bytes,
                             std::uint64_t digits_bytes, Way& way, DeviceWork& work) {
  try {
    return work.memory_for(device, workspace, bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory || way == Way::radix || digits_bytes >= bytes) throw;
  }
  way = Way::radix;
  return work.memory_for(device, workspace, digits_bytes);
}

// A timed sort on CUDA has an event of its first command and one of its end, but none between them: each
// takes as long as a small launch.
class FewEvents {
 public:
  FewEvents(Stream& stream, DeviceWork& work) : stream_(stream.implementation()), work_(work) {
    if (stream.device().kind() == DeviceKind::cuda && stream_.own_commands == runtime::Mark::yes) {
      work_.sparing = &stream_;
    }
  }
  FewEvents(const FewEvents&) = delete;
  FewEvents& operator=(const FewEvents&) = delete;
  ~FewEvents() { stop(); }
  void end() {
    if (work_.sparing != nullptr && work_.first) work_.last = Event(stream_.record());
    stop();
  }

 private:
  void stop() {
    if (std::exchange(work_.sparing, nullptr) != nullptr) stream_.own_commands = runtime::Mark::yes;
  }

  runtime::Stream& stream_;
  DeviceWork& work_;
};

}  // namespace

void DeviceWork::done(Event event) {
  if (!first) {
    first = event;
    if (sparing != nullptr) sparing->own_commands = runtime::Mark::no;
  }
  last = std::move(event);
}

// What digits sort, and, with Way::segments, what is sorted in registers.
struct DeviceSegments {
  SortTables digits;
  std::optional<sort_rows::Segments> short_ones;
};

std::shared_ptr<const DeviceSegments> segments_on_device(const Device& device, const Arrays& arrays,
                                                         const SortJob& job) {
  const DeviceInfo& info = device.info();
  const bool rows = way_of(info, arrays, job) == Way::segments;
  auto made = std::make_shared<DeviceSegments>(
      DeviceSegments{sort_radix::tables_of(device, arrays, job, rows ? most_of_rows(info, arrays) : 0), {}});
  if (rows) made->short_ones.emplace(device, arrays.dtype, !arrays.alone(), job.pieces.segments);
  return made;
}

DeviceWork sort_on_device(Stream& stream, const Arrays& arrays, const SortJob& job, const BufferBase* workspace,
                          bool may_wait, const DeviceSegments* segments) {
  const Device& device = stream.device();
  const DeviceInfo& info = device.info();
  Way way = way_of(info, arrays, job);
  const std::uint64_t bytes = workspace_bytes(info, arrays, job, way);
  if (workspace != nullptr) {
    const BufferBase* const keys = arrays.source;
    call::check_workspace(job.function, *workspace, device, bytes,
                          {keys, arrays.target != nullptr ? arrays.target : keys,
                           arrays.payload.buffer != nullptr ? arrays.payload.buffer : keys});
  }
  if (segments == nullptr && !job.pieces.segments.empty())
    call::refuse_capture(job.function, stream, "segments must be prepared (PreparedSegments)");
  call::check_capture(job.function, stream, workspace, workspace == nullptr ? bytes : 0);
  const std::uint64_t rows = job.pieces.rows;
  const std::uint64_t length = job.pieces.segments.empty() ? job.pieces.length(0) : 0;
  DeviceWork work;
  if (way == Way::each_row) {
    const Buffer<std::byte> memory = work.memory_for(device, workspace, bytes);
    for (std::uint64_t row = 0; row < rows; ++row) {
      const auto part_of = [&](const BufferBase* all, std::size_t size) {  // keys stand for what there is not
        const BufferBase& whole = all != nullptr ? *all : *arrays.source;
        return Buffer<std::byte>(device, whole.memory(), whole.byte_offset() + row * length * size, length * size);
      };
      const Buffer<std::byte> from = part_of(arrays.source, size_of(arrays.dtype));
      const Buffer<std::byte> to = part_of(arrays.target, size_of(arrays.dtype));
      const Buffer<std::byte> moved = part_of(arrays.payload.buffer, arrays.payload.bytes);
      Arrays own{arrays.dtype, arrays.order, &from, arrays.target != nullptr ? &to : nullptr, arrays.payload};
      if (!arrays.alone()) own.payload.buffer = &moved;
      DeviceWork one = sort_on_device(stream, own, row_of(job), &memory, may_wait);
      if (!work.first) work.first = one.first;
      work.last = std::move(one.last);
    }
    return work;
  }
  FewEvents events(stream, work);
  if (segments == nullptr && !job.pieces.segments.empty()) {
    const auto made = segments_on_device(device, arrays, job);
    segments = made.get();
    work.kept.push_back(made);
  }
  const SortTables* tables = segments != nullptr ? &segments->digits : nullptr;
  switch (way) {
    case Way::merge: sort_merge::sort(stream, arrays, rows, length, workspace, work); break;
    case Way::rows: sort_rows::sort(stream, arrays, {rows, length, length}, workspace, work); break;
    case Way::each_row: break;  // above
    case Way::counting: sort_counting::sort(stream, arrays, length, workspace, work); break;
    case Way::few: sort_few::sort(stream, arrays, length, workspace, work); break;
    case Way::once:
    case Way::keys:
    case Way::radix: {
      const std::uint64_t digits_bytes = arrays.alone() ? bytes : radix_bytes(info, arrays, job);
      const Buffer<std::byte> memory = memory_for(device, workspace, bytes, digits_bytes, way, work);
      const bool found =
          sort_ordered::serves(job, may_wait) && sort_ordered::sort(stream, arrays, length, memory, work);
      if (found) break;
      if (way == Way::once) sort_once::sort(stream, arrays, length, &memory, work);
      else if (way == Way::keys) sort_keys::sort(stream, arrays, length, &memory, work);
      else sort_radix::sort(stream, arrays, job, &memory, may_wait, tables, work);
      break;
    }
    case Way::segments: {
      const Buffer<std::byte> memory = work.memory_for(device, workspace, bytes);
      sort_radix::sort(stream, arrays, job, &memory, may_wait, tables, work);
      Arrays rest = arrays;
      if (arrays.target != nullptr) rest.source = arrays.target;  // where the keys have been copied
      segments->short_ones->sort(stream, rest, &memory, work);
      break;
    }
  }
  events.end();
  return work;
}

std::uint64_t sort_workspace_on_device(const DeviceInfo& info, Arrays arrays, const SortJob& job) {
  const Way way = way_of(info, arrays, job);
  arrays.odd_places = true;
  const std::uint64_t odd = workspace_bytes(info, arrays, job, way);
  arrays.odd_places = false;
  return std::max(odd, workspace_bytes(info, arrays, job, way));
}

}  // namespace masu
