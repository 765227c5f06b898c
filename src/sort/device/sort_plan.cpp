// SPDX-License-Identifier: Apache-2.0
#include "sort/device/sort_plan.h"

#include "elements/elements.h"
#include "sort/device/sort_device.h"

#include <algorithm>
#include <bit>

namespace masu::sort_plan {

namespace {

// From the largest tile to the smallest.
std::array<Shape, 5> gpu_shapes() {
  return {tuned.tile_1, tuned.tile_2, tuned.tile_3, tuned.tile_4, tuned.tile_5};
}

Plan plan_for(const DeviceInfo& info, Dtype dtype, std::size_t value_bytes, const Shape& shape) {
  Plan plan;
  plan.dtype = dtype;
  plan.value_bytes = value_bytes;
  plan.group = shape.group;
  plan.items = shape.items;
  plan.resident = shape.resident;
  plan.unroll = info.gpu;
  return plan;
}

bool fits(const DeviceInfo& info, const Plan& plan) {
  return plan.group <= info.max_work_group_size && plan.scatter_bytes() <= info.local_bytes;
}

}  // namespace

unsigned Plan::pad_shift() const noexcept {
  return static_cast<unsigned>(std::countr_zero(group / columns * items));
}

std::uint64_t Plan::staging_words() const noexcept {
  const std::uint64_t widest = std::max({size_of(dtype), value_bytes, std::size_t{2}});
  const std::uint64_t padded = tile() + (tile() >> pad_shift());
  return std::max<std::uint64_t>(counter_words, (padded * widest + 15) / 16 * 4);
}

std::uint64_t Plan::count_bytes() const noexcept {
  return (counter_words + group) * std::uint64_t{4};
}

std::uint64_t Plan::scatter_bytes() const noexcept {
  return (staging_words() + group * 17 / 16 + 64) * 4 + digits * offset_bytes();
}

std::vector<runtime::Define> Plan::defines() const {
  std::vector<runtime::Define> list =
      sort_kernels::key_defines(dtype);  // kernels get the direction when they are launched
  const auto add = [&](std::string_view name, std::uint64_t value) { list.emplace_back(name, value); };
  add("MASU_GROUP", group);
  add("MASU_ITEMS", items);
  add("MASU_RESIDENT", resident);
  list.emplace_back("MASU_UNROLLED", unroll ? "MASU_PRAGMA_UNROLL" : "");
  add("MASU_PAD_SHIFT", pad_shift());
  add("MASU_PAYLOAD_BYTES", value_bytes);
  list.emplace_back("MASU_VALUE", unsigned_type(value_bytes));
  add("MASU_STAGING_WORDS", staging_words());
  add("MASU_OFFSET_BYTES", offset_bytes());
  add("MASU_PIECES", pieces ? 1 : 0);
  add("MASU_CHUNK_TILES", chunk_tiles);
  return list;
}

Plan make(const DeviceInfo& info, Dtype dtype, std::size_t value_bytes, std::uint64_t count, bool pieces) {
  const std::size_t widest = std::max(size_of(dtype), value_bytes);
  for (const Shape& shape : gpu_shapes()) {
    if (widest > 2 && shape.items > 16) continue;  // registers
    if (widest > 4 && shape.items > 8 && info.kind != DeviceKind::cuda) continue;
    Plan plan = plan_for(info, dtype, value_bytes, shape);
    plan.large = count > (std::uint64_t{1} << 32) - plan.tile();
    plan.pieces = pieces;
    if (fits(info, plan)) return plan;
  }
  throw Error(ErrorCode::unsupported,
              "sort: work-groups of 256 work-items and 24 KiB of local memory are needed on " + info.id);
}

bool carried(std::size_t value_bytes) noexcept {
  return value_bytes <= 16 && std::has_single_bit(value_bytes);
}

}  // namespace masu::sort_plan
