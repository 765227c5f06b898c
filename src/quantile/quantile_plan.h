// SPDX-License-Identifier: Apache-2.0
// Selecting elements by their places and partitioning data around one: the launches on a device, every constant of the
// kernels, and the same on the CPU.
#pragma once

#include "call/lines.h"
#include "elements/elements.h"
#include "runtime/kernel_source.h"
#include "select/selection_plan.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/quantile.h>
#include <masu/stream.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace masu::quantile_plan {

// The parts of the data that work-groups take one each, in whole tiles of the selection.
struct Chunks {
  std::uint64_t groups = 1;
  std::uint64_t vectors = 0;  // of each
};

// The stable partition around a key; `index_bytes`: 0, or of the indices that are written in place of elements.
struct Partition {
  selection_plan::Plan selection;
  unsigned index_bytes = 0;
  unsigned group = 256;
  unsigned unroll = 1;  // vectors of a work-item in a tile

  static constexpr std::array<std::string_view, 6> files = {"src/elements/elements.cl",   "src/elements/order.cl",
                                                            "src/elements/group_scan.cl", "src/elements/soft_float.cl",
                                                            "src/select/selection.cl",    "src/quantile/quantile.cl"};
  [[nodiscard]] std::vector<runtime::Define> defines() const {
    return element_defines(selection.dtype, {{"MASU_GROUP", group},
                                             {"MASU_UNROLL", unroll},
                                             {"MASU_UNROLLED", selection.gpu ? "MASU_PRAGMA_UNROLL" : ""},
                                             {"MASU_INDEX_BYTES", index_bytes},
                                             {"MASU_GROUPS_A_UNIT", selection_plan::tuned.part_groups_a_unit},
                                             {"MASU_FILTER_TILE", selection.tile_vectors()}});
  }
  [[nodiscard]] Chunks chunks(std::uint64_t count) const noexcept {
    const std::uint64_t tiles = selection.tiles(count);
    const std::uint64_t groups = std::clamp<std::uint64_t>(
        tiles, 1,
        std::uint64_t{selection.compute_units} * (selection.gpu ? selection_plan::tuned.part_groups_a_unit : 1));
    const std::uint64_t each = (tiles + groups - 1) / groups;
    return {.groups = (tiles + each - 1) / each, .vectors = each * selection.tile_vectors()};
  }
  // Local memory for two tiles of what is written, or for the sums of all chunks.
  [[nodiscard]] std::uint64_t staged_bytes() const noexcept {
    using selection_plan::vector_bytes;
    constexpr std::uint64_t ends = 6;  // vectors: of each part two are not full
    const std::uint64_t element = size_of(selection.dtype);
    const std::uint64_t elements = std::uint64_t{group} * unroll * (vector_bytes / element);
    const std::uint64_t tile = index_bytes == 0 ? elements * element + ends * vector_bytes
                                                : (elements + ends * (vector_bytes / index_bytes)) * 2;
    const std::uint64_t sums = std::uint64_t{group} * 4 * sizeof(std::uint64_t);
    return std::max(2 * tile, sums);
  }
};
inline Partition partition(const DeviceInfo& device, Dtype dtype, unsigned index_bytes) {
  Partition plan{.selection = selection_plan::make(device, dtype), .index_bytes = index_bytes};
  plan.group = std::min(plan.selection.group, selection_plan::tuned.part_group);
  // A work-item's elements are at most 32, and a tile divides the selection's.
  if (plan.selection.gpu) plan.unroll = std::min(plan.selection.unroll, size_of(dtype) == 1 ? 2U : 4U);
  while (plan.group > 16 && plan.staged_bytes() > device.local_bytes) plan.group /= 2;
  return plan;
}

}  // namespace masu::quantile_plan

// Elements at places of the sorted order of rows in device memory, and medians: launches alone, nothing is read back.
namespace masu {

// Selection and partition of host memory on the CPU.

// Refuses places that do not ascend or are not within a row.
void check_places(std::string_view function, std::uint64_t length, std::span<const std::uint64_t> places);

}  // namespace masu

namespace masu::cpu {

// The ascending keys (elements/order.h) at `places`, which ascend, of each row: row by row.
void keys_at(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
             std::span<std::uint64_t> keys);
// Partitions the data around the element at a place, on all threads.
PartitionResult partition_at(const ArrayView& data, void* result, std::uint64_t place);
// The same of the elements' indices.
PartitionResult argpartition_at(const ArrayView& data, std::uint64_t* result, std::uint64_t place);

}  // namespace masu::cpu

namespace masu {

// The input of a selection: `rows` rows of equal length, none of them empty.
struct SelectedRows {
  const BufferBase& data;
  Dtype dtype;
  std::uint64_t rows;
  std::uint64_t columns = 1;  // of few elements: of the matrices whose columns they are

  [[nodiscard]] std::uint64_t length() const { return data.size_bytes() / size_of(dtype) / rows; }
};

// Bytes of temporary memory for `places` places of each row; a median has two.
std::uint64_t selection_bytes(const Device& device, Dtype dtype, std::uint64_t rows, std::uint64_t length,
                              std::size_t places);
// Whether that many places are looked up in a sorted copy, so that one more costs nothing.
bool is_selected_by_sorting(const Device& device, Dtype dtype, std::uint64_t rows, std::uint64_t length,
                            std::size_t places);

// A zero that is found has any sign, or that of the one which stands there in the stable order.
enum class Zeros : std::uint8_t { any, stable };

// The elements at `places`, ascending, of each row, to `result`, row by row; a NaN is the quiet NaN. With `nan_mark`
// there is one result more for each row: NaN where the row has any, else zero; not where the rows are sorted.
void select_on_device(Stream& stream, const SelectedRows& from, std::span<const std::uint64_t> places, Zeros zeros,
                      bool nan_mark, const BufferBase& result, const BufferBase& workspace);
// A median is a point, too: the mean of its two places. As in selection_found.cl; no caller's point or method is that.
inline constexpr auto mean_of_places = static_cast<QuantilePoint::Kind>(3);
inline constexpr auto median_method = static_cast<QuantileMethod>(13);
inline QuantilePoint median_point(std::uint64_t numbers) {
  return {(numbers - 1) / 2, numbers / 2, 0, mean_of_places};
}
constexpr Dtype dtype_of_median(Dtype dtype) {
  return is_float(dtype) ? dtype : Dtype::f64;
}
// The median of each row.
void medians_on_device(Stream& stream, const SelectedRows& from, const BufferBase& result, const BufferBase& workspace);

// Bytes of temporary memory for points with `places` different places.
std::uint64_t points_bytes(const Device& device, Dtype dtype, std::uint64_t rows, std::uint64_t length,
                           std::size_t places);
// What the points are made of: `places` are all that they name, ascending. To `result`, a row for each point; NaN for a
// row of the data that has any.
void points_on_device(Stream& stream, const SelectedRows& from, std::span<const QuantilePoint> points,
                      std::span<const std::uint64_t> places, Dtype result_dtype, const BufferBase& result,
                      const BufferBase& workspace);

// Quantiles of the elements that are not NaN in rows of floats, which are sorted: `workspace` has number_bytes().
std::uint64_t number_bytes(const Device& device, Dtype dtype, std::uint64_t rows, std::uint64_t length);
void numbers_on_device(Stream& stream, const SelectedRows& from, QuantileMethod method, std::span<const double> q,
                       Dtype result_dtype, const BufferBase& result, const BufferBase& workspace);

// The points wanted of each line of an array, or, where there are `q`, quantiles of the floats that are no NaN.
struct FewQuantiles {
  std::span<const QuantilePoint> points;
  QuantileMethod method = median_method;
  std::span<const double> q = {};
};
// Lines of few elements along an axis, in device memory, by a launch for each four wanted: a row of results for each.
// Returns false, and does nothing, for others.
MASU_EXPORT bool few_quantiles(Stream& stream, const BufferBase& data, Dtype dtype, const call::Lines& lines,
                               const FewQuantiles& wanted, const BufferBase& result, Dtype result_dtype);

// What select_on_device() leaves in its workspace of one place in one row, for a partition around it: offsets of what
// selection.cl has, from the workspace's beginning.
struct Filtered {
  bool bounded = false;  // there is something
  std::uint64_t list = 0;
  std::uint64_t found = 0;  // by the filter, of each tile
};
Filtered filtered_of(const Device& device, Dtype dtype, std::uint64_t length, std::uint64_t place);

// Partition on an OpenCL or CUDA device: launches alone, nothing is read back.
struct DevicePartition {
  const BufferBase& data;
  Dtype dtype;
  const BufferBase& result;  // the elements, or their indices
  unsigned index_bytes;      // 0: elements
  const BufferBase& sizes;   // u64: how many elements are less, and equal
};

// Bytes of temporary memory for `count` elements around the one at a place.
std::uint64_t partition_bytes(const Device& device, Dtype dtype, std::uint64_t count);
// Around the element at place k, which is below the elements.
void partition_on_device(Stream& stream, const DevicePartition& what, std::uint64_t k, const BufferBase& workspace);

// The same around an element of these bits, for any number of elements; this waits, and its memory is not asked for.
void partition_around(Stream& stream, const DevicePartition& what, std::uint64_t bits);

}  // namespace masu
