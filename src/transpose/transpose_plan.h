// SPDX-License-Identifier: Apache-2.0
// How a matrix is cut into tiles, and every constant of the kernels.
#pragma once

#include "runtime/kernel_source.h"
#include "runtime/tuning.h"

#include <masu/device.h>
#include <masu/stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace masu::transpose_plan {

inline constexpr std::array<std::string_view, 1> files = {"src/transpose/transpose.cl"};
inline constexpr std::uint64_t most_groups = std::uint64_t{1} << 30;  // each goes on to further tiles
inline constexpr unsigned bank_words = 32;

struct Tuned {
#define MASU_TUNED MASU_TUNED_MEMBER
#include "transpose/transpose_tuning.def"
};
inline Tuned tuned;

// What is transposed, in device memory.
struct Matrix {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::size_t element_bytes = 1;
  std::uint64_t in_offset = 0;  // bytes
  std::uint64_t out_offset = 0;
  bool in_place = false;
};

enum class Strategy {
  tiles,  // square tiles of elements of 1, 2, 4, 8 or 16 bytes, small ones several to a word
  free,   // tiles of any shape, elements of any number of units
};

struct Plan {
  Strategy strategy = Strategy::free;
  unsigned group = 256;         // work-items in a work-group
  unsigned unit = 1;            // bytes of a unit: what is moved at a time (in local memory, of `tiles` that of a word)
  unsigned units = 1;           // of an element
  unsigned pack = 1;            // elements in a word
  bool aligned = true;          // words begin where rows do
  std::uint64_t tile_rows = 1;  // elements
  std::uint64_t tile_columns = 1;
  std::uint64_t groups = 1;
  bool in_place = false;

  [[nodiscard]] const char* kernel() const noexcept;
  [[nodiscard]] std::uint64_t local_bytes() const noexcept;
  [[nodiscard]] std::vector<runtime::Define> defines() const;
};

// `group`: not the one that suits the device, for tests.
Plan make(const DeviceInfo& device, const Matrix& matrix, unsigned group = 0);

}  // namespace masu::transpose_plan

// Transposing on the CPU, and on an OpenCL or CUDA device.
namespace masu {

// `out` may be `in` where rows == columns. Elements of 1 to 64 bytes.
void transpose_cpu(const void* in, void* out, std::size_t element_bytes, std::uint64_t rows, std::uint64_t columns);
// A matrix of at least two rows and columns. The rows, and those of the transposed matrix, may have gaps between them.
struct StridedMatrix {
  std::size_t element_bytes;
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t in_stride;   // bytes from row to row
  std::uint64_t out_stride;  // the same of the output
};
void transpose_cpu(const void* in, void* out, const StridedMatrix& matrix);

// Transposing on an OpenCL or CUDA device.

// Queues the transposition; `in` and `out` are the same memory where plan.in_place.
Event transpose_on_device(Stream& stream, const BufferBase& in, const transpose_plan::Matrix& matrix,
                          const BufferBase& out, const transpose_plan::Plan& plan);

}  // namespace masu
