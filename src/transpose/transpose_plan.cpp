// SPDX-License-Identifier: Apache-2.0
#include "transpose/transpose_plan.h"

#include "call/operands.h"
#include "elements/clusters.h"
#include "elements/elements.h"

#include <algorithm>
#include <bit>

namespace masu::transpose_plan {

namespace {

constexpr std::size_t word_bytes = 4;  // elements smaller than this share a word

// Rows and columns of a square tile: runs of at least 128 bytes, in at most 17 KiB of local memory, twice that in
// place. Devices that are no GPUs hide no latency with many loads, and compile them slowly.
unsigned tile_of(const DeviceInfo& device, std::size_t element_bytes, unsigned pack) {
  if (!device.gpu) return bank_words * pack;
  if (pack == 4) return 128;
  return element_bytes <= word_bytes ? 64 : 32;
}

std::uint64_t tile_words(std::uint64_t tile, unsigned pack) {
  return tile * (tile / pack + 1) + tile / bank_words;
}

std::uint64_t stride_of(const Plan& plan) {
  return plan.tile_columns * plan.units | 1;
}

void make_tiles(Plan& plan, const DeviceInfo& device, const Matrix& matrix) {
  plan.strategy = Strategy::tiles;
  const std::size_t bytes = matrix.element_bytes;
  plan.unit = static_cast<unsigned>(std::max(bytes, word_bytes));
  if (bytes < word_bytes) {
    plan.pack = static_cast<unsigned>(word_bytes / bytes);
    plan.aligned = matrix.rows % plan.pack == 0 && matrix.columns % plan.pack == 0 &&
                   matrix.in_offset % word_bytes == 0 && matrix.out_offset % word_bytes == 0;
    // A word that holds elements of two tiles must not be read while the other tile is written.
    if (matrix.in_place && !plan.aligned) {
      plan.pack = 1;
      plan.unit = static_cast<unsigned>(bytes);
      plan.aligned = true;
    }
  }
  std::uint64_t tile = std::min(tile_of(device, bytes, plan.pack), plan.group * plan.pack);
  const std::uint64_t copies = matrix.in_place ? 2 : 1;
  while (tile > plan.pack && copies * tile_words(tile, plan.pack) * plan.unit > device.local_bytes) tile /= 2;
  plan.tile_rows = plan.tile_columns = tile;
}

void make_free(Plan& plan, const DeviceInfo& device, const Matrix& matrix) {
  plan.strategy = Strategy::free;
  plan.unit = call::move_unit(matrix.element_bytes, matrix.in_offset | matrix.out_offset);
  plan.units = static_cast<unsigned>(matrix.element_bytes / plan.unit);
  const std::uint64_t copies = matrix.in_place ? 2 : 1;
  const std::uint64_t elements = std::max<std::uint64_t>(
      1, std::min(tuned.free_tile_bytes, device.local_bytes / 2 / copies) / matrix.element_bytes);
  const std::uint64_t edge = std::uint64_t{1} << (static_cast<unsigned>(std::bit_width(elements)) - 1) / 2;
  // What a short side leaves is given to the long one, in whole vectors.
  plan.tile_rows = std::min(matrix.rows, edge);
  plan.tile_columns = std::min(matrix.columns, std::max(edge, elements / plan.tile_rows / bank_words * bank_words));
  plan.tile_rows = std::min(matrix.rows, std::max(edge, elements / plan.tile_columns / bank_words * bank_words));
  if (matrix.in_place) plan.tile_rows = plan.tile_columns = std::min(matrix.rows, edge);
}

}  // namespace

const char* Plan::kernel() const noexcept {
  return strategy == Strategy::tiles ? "transpose_tiles" : "transpose_free";
}

std::uint64_t Plan::local_bytes() const noexcept {
  const std::uint64_t words = strategy == Strategy::tiles ? tile_words(tile_rows, pack) : tile_rows * stride_of(*this);
  const std::uint64_t beside = strategy == Strategy::free ? group : 0;
  return (words * (in_place ? 2 : 1) + beside) * unit;
}

std::vector<runtime::Define> Plan::defines() const {
  std::vector<runtime::Define> result = {{"MASU_GROUP", group},
                                         {"MASU_FREE", strategy == Strategy::free},
                                         {"MASU_WORD", unsigned_type(unit)},
                                         {"MASU_IN_PLACE", in_place},
                                         {"MASU_BAND", tuned.band}};
  if (strategy == Strategy::free) {
    result.push_back({"MASU_UNITS", units});
    result.push_back({"MASU_UNROLL", tuned.unroll});
  } else {
    result.push_back({"MASU_PACK", pack});
    result.push_back({"MASU_TILE", tile_rows});
    result.push_back({"MASU_RESIDENT_ITEMS", std::max(tuned.resident_items, group)});
    result.push_back({"MASU_ALIGNED", aligned});
    result.push_back({"MASU_BANK_WORDS", bank_words});
  }
  return result;
}

Plan make(const DeviceInfo& device, const Matrix& matrix, unsigned group) {
  Plan plan;
  plan.group = group != 0 ? group : work_group(device, plan.group);
  plan.in_place = matrix.in_place;
  const bool whole = matrix.element_bytes <= 16 && std::has_single_bit(matrix.element_bytes) &&
                     (matrix.in_offset | matrix.out_offset) % matrix.element_bytes == 0;
  if (whole && std::min(matrix.rows, matrix.columns) >= tuned.least_edge) make_tiles(plan, device, matrix);
  else make_free(plan, device, matrix);
  // More than 8 words for a work-item cost registers, and so work-groups that run at once.
  if (plan.strategy == Strategy::tiles && device.gpu && group == 0 && device.max_work_group_size >= tuned.large_group &&
      plan.tile_rows * plan.tile_rows / plan.pack > 8 * plan.group) {
    plan.group = tuned.large_group;
  }
  const std::uint64_t across = (matrix.columns + plan.tile_columns - 1) / plan.tile_columns;
  const std::uint64_t down = (matrix.rows + plan.tile_rows - 1) / plan.tile_rows;
  plan.groups = std::min(across * down, most_groups);
  return plan;
}

}  // namespace masu::transpose_plan
