// SPDX-License-Identifier: Apache-2.0
// Elements at places of the sorted order of rows in device memory, and medians: launches alone, nothing is read back.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/quantile.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace masu {

// Refuses places that do not ascend or are not within a row.
void check_places(std::string_view function, std::uint64_t length, std::span<const std::uint64_t> places);

}  // namespace masu

namespace masu::cpu {

// The ascending keys (elements/order.h) at `places`, which ascend, of each row: row by row.
void keys_at(const ArrayView& data, std::uint64_t rows, std::span<const std::uint64_t> places,
             std::span<std::uint64_t> keys);
// Parts the data around the element at a place, by all threads.
PartitionResult partition_at(const ArrayView& data, void* result, std::uint64_t place);

}  // namespace masu::cpu

namespace masu {

// What is selected from: `rows` rows of equal length, no row being empty.
struct SelectedRows {
  const BufferBase& data;
  Dtype dtype;
  std::uint64_t rows;

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
// The median of each row, of floats in their dtype, else in f64.
void medians_on_device(Stream& stream, const SelectedRows& from, const BufferBase& result, const BufferBase& workspace);

// Bytes of temporary memory for points of so many different places.
std::uint64_t points_bytes(const Device& device, Dtype dtype, std::uint64_t rows, std::uint64_t length,
                           std::size_t places);
// What the points are made of: `places` are all that they name, ascending. To `result`, a row for each point; NaN for a
// row of the data that has any.
void points_on_device(Stream& stream, const SelectedRows& from, std::span<const QuantilePoint> points,
                      std::span<const std::uint64_t> places, Dtype result_dtype, const BufferBase& result,
                      const BufferBase& workspace);

// Of what is no NaN in rows of floats, which are sorted: `workspace` has number_bytes(). A null `method`: medians.
std::uint64_t number_bytes(const Device& device, Dtype dtype, std::uint64_t rows, std::uint64_t length);
void numbers_on_device(Stream& stream, const SelectedRows& from, const QuantileMethod* method,
                       std::span<const double> q, Dtype result_dtype, const BufferBase& result,
                       const BufferBase& workspace);

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
