// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_merge.h"

#include "call/operands.h"
#include "elements/elements.h"
#include "sort/device/sort_plan.h"
#include "sort/device/sort_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace masu::sort_merge {

using sort_kernels::Arrays;
using sort_kernels::Side;

namespace {

// Tiles of a group, as long as each compute unit has this many groups.
constexpr unsigned most_tiles_each = 4;
constexpr std::uint64_t groups_of_unit = 8;
constexpr auto merge_files = sort_plan::files("src/sort/device/sort_merge.cl");

// Work-items of a group, keys of each, and tiles of the group.
struct Shape {
  unsigned group;
  unsigned each;
  unsigned tiles;
  [[nodiscard]] std::uint64_t tile() const noexcept { return std::uint64_t{group} * each; }
  // A tile with a place between those of two work-items: its keys and, where something moves with them, after these
  // where they come from.
  [[nodiscard]] std::uint64_t memory(std::size_t key_bytes) const noexcept {
    return call::aligned((tile() + group) * std::max(key_bytes, sizeof(std::uint32_t)));
  }
  [[nodiscard]] std::uint64_t borders() const noexcept { return tiles + 1; }
};
constexpr std::size_t part_bytes = 32;  // masu_part in sort_merge.cl

Shape shape_of(const DeviceInfo& device, Dtype dtype, bool with_payload) {
  Shape shape{static_cast<unsigned>(
                  std::bit_floor(std::min<std::uint64_t>(device.max_work_group_size, sort_plan::tuned.merge_group))),
              sort_plan::tuned.merge_each, 0};
  // Keys of 8 bytes, or places beside keys, take twice the registers.
  if (size_of(dtype) == 8 || with_payload) shape.each /= 2;
  shape.each = std::clamp(shape.group / 2, 1U, shape.each);
  // Runs are whole numbers of tiles.
  const std::uint64_t run = sort_rows::most_local_keys(device, dtype, true);
  while (shape.tile() > run ||
         shape.memory(size_of(dtype)) + most_tiles_each * (part_bytes + 32) > device.local_bytes) {
    (shape.each > 1 ? shape.each : shape.group) /= 2;
  }
  shape.tiles = std::clamp(shape.group - 1, 1U, most_tiles_each);
  return shape;
}

std::uint64_t run_of(const DeviceInfo& device, const Arrays& arrays) {
  return sort_rows::most_local_keys(device, arrays.dtype, !arrays.alone());
}

bool moves_records_themselves(const Arrays& arrays) {
  return arrays.has_records() && arrays.record_bytes() <= 8 && arrays.record_unit() == arrays.record_bytes();
}

// The merged arrays and the temporary memory: bytes of each part, one after the other.
struct Layout {
  std::size_t payload_bytes = 0;    // of each key: an index, a record, or nothing
  bool by_indices = false;          // records follow at the end
  std::uint64_t first_payload = 0;  // where indices end that are not wanted themselves
  std::uint64_t first_keys = 0;     // where keys go that are not wanted
  std::uint64_t keys = 0;
  std::uint64_t payload = 0;
  std::uint64_t records = 0;  // in the room of the two before
  std::uint64_t list = 0;     // of tiles that are sorted again
  [[nodiscard]] std::uint64_t list_at() const noexcept {
    return first_payload + first_keys + std::max(keys + payload, records);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return list_at() + list; }
};

Layout layout_of(const DeviceInfo& device, const Arrays& arrays, std::uint64_t pieces, std::uint64_t piece_length) {
  const std::uint64_t count = pieces * piece_length;
  Layout layout;
  if (arrays.has_indices()) {
    layout.payload_bytes = arrays.index_bytes();
  } else if (moves_records_themselves(arrays)) {
    layout.payload_bytes = arrays.record_bytes();
  } else if (arrays.has_records()) {
    layout.by_indices = true;
    layout.payload_bytes = piece_length > UINT32_MAX ? 8 : 4;
    layout.first_payload = call::aligned(count * layout.payload_bytes);
    layout.records = call::aligned(count * arrays.record_bytes());
  }
  layout.keys = call::aligned(count * size_of(arrays.dtype));
  if (arrays.keys_stay()) layout.first_keys = layout.keys;
  layout.payload = call::aligned(count * layout.payload_bytes);
  layout.list = sort_rows::workspace_bytes(device, arrays, {pieces, piece_length, run_of(device, arrays)});
  return layout;
}

class Merger {
 public:
  Merger(const Device& device, const Arrays& arrays, Moved moved)
      : shape_(shape_of(device.info(), arrays.dtype, moved.units != 0)),
        key_bytes_(size_of(arrays.dtype)),
        units_(device.info().compute_units),
        kernels_(device, files(), defines(device.info(), arrays.dtype, arrays.order, moved), shape_.group) {}

  // `pieces` of piece_length keys are runs of `left` and of `right` keys in turns: each two become one. The second
  // begins right_place keys after the first.
  void merge(Stream& stream, const Side& from, const Side& to, std::uint64_t pieces, std::uint64_t piece_length,
             std::uint64_t left, std::uint64_t right, std::uint64_t right_place, DeviceWork& work) {
    const std::uint64_t piece_tiles = (piece_length + shape_.tile() - 1) / shape_.tile();
    const std::uint64_t tiles = piece_tiles * pieces;
    const std::uint64_t each = std::clamp<std::uint64_t>(tiles / (groups_of_unit * units_), 1, shape_.tiles);
    const std::uint64_t most_tiles = sort_kernels::most_groups * each;
    const call::At nothing{*from.keys.buffer, 0};
    for (std::uint64_t first = 0; first < tiles; first += most_tiles) {
      const std::uint64_t groups = (std::min(tiles - first, most_tiles) + each - 1) / each;
      work.done(kernels_.launch(
          stream, "sort_merge", groups, from.keys.argument(), to.keys.argument(),
          from.values ? from.values.argument() : nothing, to.values ? to.values.argument() : nothing, piece_length,
          piece_tiles, left, right, right_place, first, tiles, static_cast<std::uint32_t>(each),
          LocalMemory{shape_.memory(key_bytes_)}, LocalMemory{shape_.tiles * part_bytes},
          call::local<std::uint64_t>(shape_.borders()), call::local<std::uint32_t>(3 * shape_.borders())));
    }
  }

 private:
  Shape shape_;
  std::size_t key_bytes_;
  std::uint64_t units_;
  call::Kernels kernels_;
};

}  // namespace

std::vector<runtime::Define> defines(const DeviceInfo& device, Dtype dtype, Order order, Moved moved) {
  const Shape shape = shape_of(device, dtype, moved.units != 0);
  std::vector<runtime::Define> result = sort_kernels::key_defines(dtype, order);
  result.push_back({"MASU_GROUP", shape.group});
  result.push_back({"MASU_ITEMS", shape.each});
  result.push_back({"MASU_TILES", shape.tiles});
  result.push_back({"MASU_UNROLLED", device.gpu ? "MASU_PRAGMA_UNROLL" : ""});
  result.push_back({"MASU_PAYLOAD_UNITS", moved.units});
  result.push_back({"MASU_PAYLOAD", unsigned_type(std::max(moved.unit_bytes, 1U))});
  return result;
}

std::span<const std::string_view> files() noexcept {
  return merge_files;
}

std::uint64_t workspace_bytes(const DeviceInfo& device, const Arrays& arrays, std::uint64_t pieces,
                              std::uint64_t piece_length) {
  if (piece_length <= run_of(device, arrays)) {
    return sort_rows::workspace_bytes(device, arrays, {pieces, piece_length, piece_length});
  }
  return layout_of(device, arrays, pieces, piece_length).bytes();
}

void sort(Stream& stream, const Arrays& arrays, std::uint64_t pieces, std::uint64_t piece_length,
          const BufferBase* workspace, DeviceWork& work) {
  const Device& device = stream.device();
  std::uint64_t run = run_of(device.info(), arrays);
  if (piece_length <= run) {
    return sort_rows::sort(stream, arrays, {pieces, piece_length, piece_length}, workspace, work);
  }
  const Layout layout = layout_of(device.info(), arrays, pieces, piece_length);
  const Buffer<std::byte> memory = work.memory_for(device, workspace, layout.bytes());
  const auto part = [&](std::uint64_t first, std::uint64_t bytes) { return memory.slice(first, bytes); };
  const std::uint64_t second_half = layout.first_payload + layout.first_keys;
  const Buffer<std::byte> first_payload = part(0, layout.first_payload);
  const Buffer<std::byte> first_keys = part(layout.first_payload, layout.first_keys);
  const Buffer<std::byte> other_keys = part(second_half, layout.keys);
  const Buffer<std::byte> other_payload = part(second_half + layout.keys, layout.payload);

  // Where the result of each pass goes: the last one to the first of these.
  std::array<const BufferBase*, 2> keys = {arrays.target == nullptr ? &first_keys : arrays.target, &other_keys};
  std::array<const BufferBase*, 2> payload = {nullptr, nullptr};
  if (layout.payload_bytes != 0) {
    const BufferBase* own = arrays.has_indices() ? arrays.indices() : arrays.moved_records();
    payload = {layout.by_indices ? &first_payload : own, &other_payload};
  }
  std::uint64_t runs = (piece_length + run - 1) / run;
  if (std::bit_width(runs - 1) % 2 != 0) {
    std::swap(keys[0], keys[1]);
    std::swap(payload[0], payload[1]);
  }

  Arrays rows = arrays;
  rows.target = keys[0];
  if (moves_records_themselves(arrays)) rows.moved = payload[0];
  else if (layout.payload_bytes != 0) rows.payload = {Payload::Kind::indices, payload[0], layout.payload_bytes};
  const Buffer<std::byte> list = part(layout.list_at(), layout.list);
  sort_rows::sort(stream, rows, {pieces, piece_length, run}, &list, work);

  const auto unit_bytes = static_cast<unsigned>(layout.payload_bytes);
  Merger merger(device, arrays, {unit_bytes, unit_bytes == 0 ? 0U : 1U});
  for (; run < piece_length; run *= 2) {
    merger.merge(stream, {keys[0], payload[0]}, {keys[1], payload[1]}, pieces, piece_length, run, run, run, work);
    std::swap(keys[0], keys[1]);
    std::swap(payload[0], payload[1]);
  }
  if (!layout.by_indices) return;
  const Buffer<std::byte> moved = part(second_half, pieces * piece_length * arrays.record_bytes());
  sort_kernels::gather(stream, *arrays.records(), moved, *payload[0], layout.payload_bytes, arrays.record_bytes(),
                       pieces * piece_length, piece_length, work);
  work.done(call::copy(stream, moved, *arrays.moved_records()));
}

void merge(Stream& stream, const Arrays& arrays, std::vector<Run> runs, DeviceWork& work) {
  const unsigned unit = arrays.has_records() ? arrays.record_unit() : 0;
  Merger merger(stream.device(), arrays, {unit, unit == 0 ? 0U : static_cast<unsigned>(arrays.record_bytes() / unit)});
  std::array<Side, 2> sides{{{arrays.source, arrays.records()}, {arrays.target, arrays.moved_records()}}};
  const std::size_t key_bytes = size_of(arrays.dtype);
  // From an element of one side to one of the other; of two runs, or of one where `right` is empty.
  const auto move = [&](const Run& left, const Run& right, std::uint64_t to) {
    const auto side_at = [&](const Side& side, std::uint64_t first) -> Side {
      return {side.keys.after(first * key_bytes), side.values.after(first * arrays.record_bytes())};
    };
    const Side from = side_at(sides[0], left.first);
    const Side there = side_at(sides[1], to);
    if (right.size() != 0) {
      return merger.merge(stream, from, there, 1, left.size() + right.size(), left.size(), right.size(),
                          right.first - left.first, work);
    }
    sort_kernels::copy(stream, there.keys, from.keys, left.size() * key_bytes, work);
    if (from.values) {
      sort_kernels::copy(stream, there.values, from.values, left.size() * arrays.record_bytes(), work);
    }
  };
  do {
    std::uint64_t to = 0;
    std::vector<Run> merged;
    for (std::size_t r = 0; r < runs.size(); r += 2) {
      const Run right = r + 1 < runs.size() ? runs[r + 1] : Run{};
      move(runs[r], right, to);
      merged.push_back({to, to + runs[r].size() + right.size()});
      to = merged.back().end;
    }
    runs = std::move(merged);
    std::swap(sides[0], sides[1]);
  } while (runs.size() > 1);
  if (sides[0].keys.buffer != arrays.target) move(runs[0], {}, 0);
}

}  // namespace masu::sort_merge
