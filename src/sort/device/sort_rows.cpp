// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_rows.h"

#include "call/operands.h"
#include "elements/elements.h"
#include "runtime/parallel.h"
#include "sort/device/sort_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

namespace masu::sort_rows {

using sort_kernels::Arrays;

namespace {

// Items of a work-item, as many as registers allow: those of 4 bytes, of 8, and of 8 with an index beside each.
constexpr unsigned most_items[] = {32, 16, 8};
constexpr unsigned few_items = 4;  // where registers do not hold arrays anyway, and compilers take long
constexpr unsigned most_group = 512;
constexpr unsigned usual_group = 128;
constexpr std::uint64_t most_local_bytes = 48 << 10;
constexpr unsigned registers_a_unit = 65536;
constexpr std::uint64_t task_segments = std::uint64_t{1} << 16;

constexpr auto rows_files = sort_plan::files("src/sort/device/sort_rows.cl");

std::uint64_t tiles_of(const Plan& plan, std::uint64_t rows) {
  return (rows + plan.tile_rows() - 1) / plan.tile_rows();
}

std::uint64_t rows_of_piece(const Rows& rows) {
  return rows.row_length == 0 ? 0 : (rows.piece_length + rows.row_length - 1) / rows.row_length;
}

// The list: how many tiles are in it, then their numbers.
std::uint64_t list_bytes(std::uint64_t tiles) {
  return (1 + tiles) * sizeof(std::uint32_t);
}

// What says where the rows are: the kernel's SORT_ROWS.
struct Where {
  call::Arguments arguments;
  std::uint64_t rows = 0;
  std::uint64_t longest = 0;
  bool equal = false;  // all rows are as long as the longest
};

class Launcher {
 public:
  Launcher(Stream& stream, const Arrays& arrays, bool segments, DeviceWork& work)
      : stream_(stream), arrays_(arrays), segments_(segments), work_(work) {}

  // With a list of tiles where keys alone are sorted that could have to be sorted again.
  void sort(const Where& where, Buffer<std::byte>* list) {
    const DeviceInfo& device = stream_.device().info();
    Plan plan = make(device, arrays_, !arrays_.alone(), where.longest);
    plan.segments = segments_;
    plan.whole = where.equal && where.longest == plan.row_keys();
    const std::uint64_t tiles = tiles_of(plan, where.rows);
    call::Kernels kernels = program(plan);
    std::optional<call::Kernels> kernels_again;
    Plan again;
    if (list != nullptr) {
      call::clear(stream_, *list, 0, sizeof(std::uint32_t));
      again = make(device, arrays_, true, where.longest);
      again.segments = segments_;
      again.whole = plan.whole;
      again.listed = true;
      // A tile is the same rows to both kernels.
      again.group = static_cast<unsigned>(plan.tile_rows() * again.lanes);
      kernels_again.emplace(program(again));
      kernels_again->start({"sort_rows"});
    }
    for (std::uint64_t first = 0; first < tiles; first += sort_kernels::most_groups) {
      run(kernels, plan, where, first, std::min(tiles - first, sort_kernels::most_groups), list);
    }
    if (list == nullptr) return;
    const std::uint64_t groups = std::uint64_t{device.compute_units} * (device.gpu ? 8 : 1);
    run(*kernels_again, again, where, 0, std::min(tiles, groups), list);
  }

 private:
  [[nodiscard]] call::Kernels program(const Plan& plan) const {
    return {stream_.device(), Plan::files(), plan.defines(), plan.group};
  }
  void run(call::Kernels& kernels, const Plan& plan, const Where& where, std::uint64_t first, std::uint64_t groups,
           const Buffer<std::byte>* list) {
    const auto place_of = [&](const BufferBase* array) { return sort_kernels::place_of(array, *arrays_.source); };
    const auto units = static_cast<std::uint32_t>(arrays_.record_bytes() / std::max(plan.record_unit, 1U));
    work_.done(kernels.launch(stream_, "sort_rows", groups, *arrays_.source, place_of(arrays_.target),
                              place_of(arrays_.records()), place_of(arrays_.moved_records()), units,
                              place_of(arrays_.indices()), where.arguments, where.rows, first, place_of(list),
                              LocalMemory{plan.local_bytes()}, LocalMemory{plan.local_index_bytes()}));
  }

  Stream& stream_;
  const Arrays& arrays_;
  bool segments_;
  DeviceWork& work_;
};

}  // namespace

unsigned Plan::item_bytes() const noexcept {
  const std::size_t key = size_of(dtype);
  return key == 8 || (key == 4 && indexed) ? 8 : 4;
}

unsigned Plan::most_items_here() const noexcept {
  return gpu ? most_items[index_apart() ? 2 : item_bytes() / 8] : few_items;
}

// Two for each word of an item, while items are exchanged, and some for addresses.
unsigned Plan::registers() const noexcept {
  return 2 * items * (item_bytes() / 4 + (index_apart() ? 1 : 0)) + 32;
}

unsigned Plan::local_pad() const noexcept {
  return std::max(1U, 128 / item_bytes() / items);
}

std::size_t Plan::local_bytes() const noexcept {
  return std::size_t{items} * (group + local_pad()) * item_bytes();
}

std::size_t Plan::local_index_bytes() const noexcept {
  return index_apart() ? std::size_t{items} * (group + local_pad()) * sizeof(std::uint32_t) : 16;
}

std::span<const std::string_view> Plan::files() noexcept {
  return rows_files;
}

std::vector<runtime::Define> Plan::defines() const {
  std::vector<runtime::Define> result = sort_kernels::key_defines(dtype, order);
  const auto add = [&](const char* name, const auto& value) { result.push_back({name, value}); };
  add("MASU_GROUP", group);
  add("MASU_GROUPS_A_UNIT", std::max(1U, registers_a_unit / registers() / group));
  add("MASU_ITEMS", items);
  add("MASU_LANES", lanes);
  add("MASU_LOCAL_PAD", local_pad());
  add("MASU_INDEXED", indexed);
  add("MASU_SEGMENTS", segments);
  add("MASU_WHOLE", whole);
  add("MASU_LISTED", listed);
  add("MASU_MOVES_KEYS", moves_keys);
  add("MASU_INDEX_BYTES", index_bytes);
  add("MASU_INDEX", unsigned_type(index_bytes == 8 ? 8 : 4));
  add("MASU_RECORD_UNIT", record_unit);
  add("MASU_RECORD", unsigned_type(std::max(record_unit, 1U)));
  return result;
}

std::uint64_t most_local_keys(const DeviceInfo& device, Dtype dtype, bool indexed) {
  Plan plan;
  plan.gpu = device.gpu;
  plan.dtype = dtype;
  plan.indexed = indexed || needs_list(dtype);
  plan.items = plan.most_items_here();
  plan.group = static_cast<unsigned>(std::bit_floor(std::min<std::uint64_t>(device.max_work_group_size, most_group)));
  const std::uint64_t bytes = std::min<std::uint64_t>(device.local_bytes, most_local_bytes);
  while (plan.group > 1 && plan.local_bytes() + plan.local_index_bytes() > bytes) plan.group /= 2;
  return std::uint64_t{plan.group} * plan.items;
}

Plan make(const DeviceInfo& device, const Arrays& arrays, bool indexed, std::uint64_t longest) {
  Plan plan;
  plan.gpu = device.gpu;
  plan.dtype = arrays.dtype;
  plan.order = arrays.order;
  plan.indexed = indexed;
  plan.moves_keys = !arrays.keys_stay();
  plan.index_bytes = static_cast<unsigned>(arrays.index_bytes());
  if (arrays.has_records()) plan.record_unit = arrays.record_unit();
  const auto row = static_cast<unsigned>(std::bit_ceil(std::max<std::uint64_t>(longest, 2)));
  plan.items = std::min(row, plan.most_items_here());
  plan.lanes = row / plan.items;
  // At most a half of what the device can do: the kernel for lists may need twice as many work-items for as many rows.
  const std::uint64_t most = std::bit_floor(std::max<std::uint64_t>(device.max_work_group_size, 2)) / 2;
  plan.group = static_cast<unsigned>(std::max<std::uint64_t>(plan.lanes, std::min<std::uint64_t>(usual_group, most)));
  return plan;
}

std::uint64_t workspace_bytes(const DeviceInfo& device, const Arrays& arrays, const Rows& rows) {
  if (!arrays.alone() || !needs_list(arrays.dtype)) return 0;
  const Plan plan = make(device, arrays, false, std::min(rows.row_length, rows.piece_length));
  return list_bytes(tiles_of(plan, rows.pieces * rows_of_piece(rows)));
}

void sort(Stream& stream, const Arrays& arrays, const Rows& rows, const BufferBase* workspace, DeviceWork& work) {
  const Where where{
      call::Arguments(rows.piece_length, rows_of_piece(rows), static_cast<std::uint32_t>(rows.row_length)),
      rows.pieces * rows_of_piece(rows), std::min(rows.row_length, rows.piece_length),
      rows.row_length <= rows.piece_length && rows.piece_length % rows.row_length == 0};
  if (where.rows == 0) return;
  if (where.longest == 1 && arrays.records() == arrays.moved_records()) {  // all are in order
    const bool copied = arrays.target != nullptr && !call::same_place(*arrays.source, *arrays.target);
    if (copied) work.done(call::copy(stream, *arrays.source, *arrays.target));
    if (arrays.has_indices()) work.done(call::clear(stream, *arrays.indices(), 0, arrays.indices()->size_bytes()));
    return;
  }
  std::optional<Buffer<std::byte>> list;
  if (const std::uint64_t bytes = workspace_bytes(stream.device().info(), arrays, rows); bytes != 0) {
    list.emplace(work.memory_for(stream.device(), workspace, bytes));
  }
  Launcher(stream, arrays, false, work).sort(where, list ? &*list : nullptr);
}

Segments::Segments(const Device& device, Dtype dtype, bool indexed, std::span<const std::uint64_t> offsets)
    : begins_(device, 0), lengths_(device, 0) {
  const std::uint64_t most = most_local_keys(device.info(), dtype, indexed);
  const std::uint64_t segments = offsets.size() - 1;
  const auto class_of = [&](std::uint64_t segment) {
    const std::uint64_t length = offsets[segment + 1] - offsets[segment];
    // A key alone is in order, but its index has to be written.
    if (length == 1) return indexed ? 1U : 0U;
    return length == 0 || length > most ? 0U : static_cast<unsigned>(std::bit_width(length - 1));
  };
  // How many of each class a task has, then where it puts them.
  std::vector<std::array<std::uint64_t, most_classes>> places((segments + task_segments - 1) / task_segments);
  const auto each_segment = [&](const auto& body) {
    runtime::parallel_tasks(places.size(), [&](std::uint64_t task) {
      const std::uint64_t end = std::min(segments, (task + 1) * task_segments);
      for (std::uint64_t s = task * task_segments; s < end; ++s) body(s, places[task][class_of(s)]);
    });
  };
  each_segment([](std::uint64_t /*segment*/, std::uint64_t& count) { ++count; });
  std::uint64_t all = 0;
  for (unsigned c = 1; c < most_classes; ++c) {
    firsts_[c] = all;
    for (auto& of_task : places) all += std::exchange(of_task[c], all);
  }
  firsts_[most_classes] = all;
  if (all == 0) return;
  std::vector<std::uint64_t> begins(all);
  std::vector<std::uint32_t> lengths(all);
  each_segment([&](std::uint64_t segment, std::uint64_t& place) {
    if (class_of(segment) == 0) return;
    begins[place] = offsets[segment];
    lengths[place++] = static_cast<std::uint32_t>(offsets[segment + 1] - offsets[segment]);
  });
  begins_ = device.upload(begins);
  lengths_ = device.upload(lengths);
}

std::uint64_t Segments::workspace_bytes(const Arrays& arrays, std::uint64_t segments) {
  return !arrays.alone() || !needs_list(arrays.dtype) ? 0 : list_bytes(segments);
}

void Segments::sort(Stream& stream, const Arrays& arrays, const BufferBase* workspace, DeviceWork& work) const {
  const std::uint64_t segments = begins_.size();
  std::optional<Buffer<std::byte>> list;  // of one class after the other
  if (const std::uint64_t bytes = workspace_bytes(arrays, segments); bytes != 0 && segments != 0) {
    list.emplace(work.memory_for(stream.device(), workspace, bytes));
  }
  Launcher launcher(stream, arrays, true, work);
  for (unsigned c = 1; c < most_classes; ++c) {
    const std::uint64_t count = firsts_[c + 1] - firsts_[c];
    if (count == 0) continue;
    launcher.sort({call::Arguments(call::memory_of(begins_), call::memory_of(lengths_), firsts_[c]), count,
                   std::uint64_t{1} << c},
                  list ? &*list : nullptr);
  }
}

}  // namespace masu::sort_rows
