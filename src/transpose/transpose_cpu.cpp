// SPDX-License-Identifier: Apache-2.0
// Small blocks are turned in registers. Where the output is large and its rows begin with lines, so many rows of the
// input are read at a time as make whole lines of the output, which are written at once, past the caches. Else tiles
// are read along rows into a buffer in the nearest cache, and leave it along columns in long runs.
#include "transpose/transpose_plan.h"

#include "elements/order.h"
#include "runtime/parallel.h"
#include "runtime/stream_out.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

namespace masu {

namespace {

constexpr std::uint64_t run_bytes = 512;  // of a row of the input, and of one of the output, that a tile has
constexpr std::uint64_t line_run_bytes = std::uint64_t{4} << 10;   // of a row of the input, where lines are written
constexpr std::uint64_t in_place_bytes = std::uint64_t{16} << 10;  // of a tile
constexpr std::uint64_t task_bytes = std::uint64_t{1} << 20;
constexpr std::size_t vector_bytes = 16;
constexpr std::size_t line_bytes = 64;
constexpr std::uint64_t block = 16;  // rows and columns of elements that no vector turns

struct Shape {
  std::uint64_t in_stride;   // bytes from row to row
  std::uint64_t out_stride;  // the same of the output
  std::uint64_t rows;        // of the block
  std::uint64_t columns;
  std::uint64_t ahead = 0;  // bytes from here to what is read next, after the block; 0: unknown
};

// Rows of the block that is read next.
void prefetch(const std::byte* in, const Shape& shape, std::uint64_t rows, std::uint64_t row_bytes) {
  if (shape.ahead == 0) return;
  for (std::uint64_t r = 0; r < rows; ++r) {
    for (std::uint64_t b = 0; b < row_bytes; b += line_bytes) {
      __builtin_prefetch(in + r * shape.in_stride + shape.ahead + b);
    }
  }
}

// A block element by element: out[c][r] = in[r][c].
template <std::size_t Bytes>
void turn_singly(const std::byte* in, std::byte* out, const Shape& shape) {
  for (std::uint64_t first = 0; first < shape.rows; first += block) {
    const std::uint64_t end = std::min(shape.rows, first + block);
    prefetch(in + first * shape.in_stride, shape, end - first, shape.columns * Bytes);
    for (std::uint64_t column = 0; column < shape.columns; column += block) {
      for (std::uint64_t c = column; c < std::min(shape.columns, column + block); ++c) {
        for (std::uint64_t r = first; r < end; ++r) {
          std::memcpy(out + c * shape.out_stride + r * Bytes, in + r * shape.in_stride + c * Bytes, Bytes);
        }
      }
    }
  }
}

// As many rows of a vector as it has elements become as many columns: each step interleaves row i with the row half of
// them further on.
template <std::size_t Bytes, std::size_t... Pair>
void turn_vectors(const std::byte* in, std::byte* out, const Shape& shape, std::index_sequence<Pair...> /*pairs*/) {
  constexpr int lanes = static_cast<int>(vector_bytes / Bytes);
  using V __attribute__((vector_size(vector_bytes))) = UnsignedOf<Bytes>;
  V rows[lanes];
  for (int i = 0; i < lanes; ++i) {
    std::memcpy(&rows[i], in + static_cast<std::uint64_t>(i) * shape.in_stride, vector_bytes);
  }
  for (int step = lanes; step > 1; step /= 2) {
    V next[lanes];
    for (int i = 0; i < lanes / 2; ++i) {
      const V a = rows[i];
      const V b = rows[i + lanes / 2];
      next[2 * i] = __builtin_shufflevector(a, b, static_cast<int>(Pair % 2 * lanes + Pair / 2)...);
      next[2 * i + 1] = __builtin_shufflevector(a, b, static_cast<int>(Pair % 2 * lanes + lanes / 2 + Pair / 2)...);
    }
    for (int i = 0; i < lanes; ++i) rows[i] = next[i];
  }
  for (int i = 0; i < lanes; ++i) {
    std::memcpy(out + static_cast<std::uint64_t>(i) * shape.out_stride, &rows[i], vector_bytes);
  }
}

template <std::size_t Bytes>
void turn(const std::byte* in, std::byte* out, const Shape& shape) {
  if constexpr (Bytes == 1 || Bytes == 2 || Bytes == 4 || Bytes == 8) {
    constexpr std::size_t lanes = vector_bytes / Bytes;
    const std::uint64_t rows = shape.rows / lanes * lanes;
    const std::uint64_t columns = shape.columns / lanes * lanes;
    for (std::uint64_t r = 0; r < rows; r += lanes) {
      prefetch(in + r * shape.in_stride, shape, lanes, shape.columns * Bytes);
      for (std::uint64_t c = 0; c < columns; c += lanes) {
        turn_vectors<Bytes>(in + r * shape.in_stride + c * Bytes, out + c * shape.out_stride + r * Bytes, shape,
                            std::make_index_sequence<lanes>());
      }
    }
    // What is left on the right and below.
    turn_singly<Bytes>(in + columns * Bytes, out + columns * shape.out_stride,
                       {shape.in_stride, shape.out_stride, rows, shape.columns - columns});
    turn_singly<Bytes>(in + rows * shape.in_stride, out + rows * Bytes,
                       {shape.in_stride, shape.out_stride, shape.rows - rows, shape.columns});
  } else {
    turn_singly<Bytes>(in, out, shape);
  }
}

// `wide` columns of as many rows as fill a line: lines[c] = column c.
template <std::size_t Bytes>
void turn_into_lines(const std::byte* in, std::uint64_t stride, std::byte* lines, std::size_t wide) {
  constexpr std::size_t lanes = vector_bytes / Bytes;
  for (std::size_t r = 0; r < line_bytes / Bytes; r += lanes) {
    for (std::size_t c = 0; c < wide; c += lanes) {
      const std::byte* from = in + r * stride + c * Bytes;
      std::byte* to = lines + c * line_bytes + r * Bytes;
      if constexpr (lanes == 1) {
        std::memcpy(to, from, vector_bytes);
      } else {
        turn_vectors<Bytes>(from, to, {stride, line_bytes, lanes, lanes}, std::make_index_sequence<lanes>());
      }
    }
  }
}

// As many rows as fill lines of the output, which begin with lines: each line is written at once.
template <std::size_t Bytes>
void turn_lines(const std::byte* in, std::byte* out, const Shape& shape) {
  constexpr std::size_t side = line_bytes / Bytes;
  // The many rows of narrow elements are brought near first, a line wide: rows whose distance is a power of two would
  // drive each other from the cache before their lines are used up.
  constexpr bool by_squares = Bytes <= 2;
  constexpr std::size_t wide = by_squares ? side : vector_bytes / Bytes;
  const std::uint64_t columns = shape.columns / wide * wide;
  for (std::uint64_t c = 0; c < columns; c += wide) {
    alignas(line_bytes) std::array<std::byte, wide * line_bytes> lines;
    if constexpr (by_squares) {
      alignas(line_bytes) std::array<std::byte, side * line_bytes> square;
      for (std::size_t r = 0; r < side; ++r) {
        std::memcpy(square.data() + r * line_bytes, in + r * shape.in_stride + c * Bytes, line_bytes);
      }
      turn_into_lines<Bytes>(square.data(), line_bytes, lines.data(), wide);
    } else {
      turn_into_lines<Bytes>(in + c * Bytes, shape.in_stride, lines.data(), wide);
    }
    for (std::size_t i = 0; i < wide; ++i) {
      runtime::stream_line(out + (c + i) * shape.out_stride, lines.data() + i * line_bytes);
    }
  }
  turn_singly<Bytes>(in + columns * Bytes, out + columns * shape.out_stride,
                     {shape.in_stride, shape.out_stride, shape.rows, shape.columns - columns});
}

using Turn = void (*)(const std::byte*, std::byte*, const Shape&);
template <std::size_t... Index>
constexpr std::array<Turn, sizeof...(Index)> turns(std::index_sequence<Index...> /*bytes*/) {
  return {&turn<Index + 1>...};
}
constexpr auto turn_of_bytes = turns(std::make_index_sequence<64>());

struct Job {
  const std::byte* in;
  std::byte* out;
  std::size_t bytes;
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t in_stride;
  std::uint64_t out_stride;
  Turn turn;
  std::uint64_t tile_rows;
  std::uint64_t tile_columns;
  bool streams;
  Turn lines;  // where whole lines can be written; tiles are as high as a line then
};

Turn lines_of_bytes(std::size_t bytes) {
  switch (bytes) {
    case 1: return &turn_lines<1>;
    case 2: return &turn_lines<2>;
    case 4: return &turn_lines<4>;
    case 8: return &turn_lines<8>;
    case 16: return &turn_lines<16>;
    default: return nullptr;
  }
}

// Through the buffer: the tile at (row, column).
void move_tile(const Job& job, std::uint64_t row, std::uint64_t column, std::byte* buffer) {
  const std::uint64_t rows = std::min(job.tile_rows, job.rows - row);
  const std::uint64_t columns = std::min(job.tile_columns, job.columns - column);
  const std::byte* from = job.in + row * job.in_stride + column * job.bytes;
  std::byte* to = job.out + column * job.out_stride + row * job.bytes;
  if (job.lines != nullptr) {  // the rows are whole lines, so every tile is
    job.lines(from, to, {job.in_stride, job.out_stride, rows, columns});
    return;
  }
  if (!job.streams) {
    job.turn(from, to, {job.in_stride, job.out_stride, rows, columns});
    return;
  }
  // Runs one line apart from a power of two: they would all fall into few sets of the cache.
  const std::uint64_t stride = rows * job.bytes + line_bytes;
  const bool more = column + columns + job.tile_columns <= job.columns;
  job.turn(from, buffer, {job.in_stride, stride, rows, columns, more ? columns * job.bytes : 0});
  for (std::uint64_t c = 0; c < columns; ++c) {
    runtime::stream_out(to + c * job.out_stride, buffer + c * stride, rows * job.bytes);
  }
}

// Tile (row, column) and its mirror image change places.
void swap_tiles(const Job& job, std::uint64_t row, std::uint64_t column, std::byte* buffer) {
  const std::uint64_t rows = std::min(job.tile_rows, job.rows - row);
  const std::uint64_t columns = std::min(job.tile_columns, job.columns - column);
  const std::uint64_t stride = job.in_stride;
  std::byte* upper = job.out + (row * job.columns + column) * job.bytes;
  std::byte* lower = job.out + (column * job.rows + row) * job.bytes;
  job.turn(upper, buffer, {stride, rows * job.bytes, rows, columns});
  if (row != column) job.turn(lower, upper, {stride, stride, columns, rows});
  for (std::uint64_t c = 0; c < columns; ++c) {
    std::memcpy(lower + c * stride, buffer + c * rows * job.bytes, rows * job.bytes);
  }
}

}  // namespace

void transpose_cpu(const void* in, void* out, std::size_t element_bytes, std::uint64_t rows, std::uint64_t columns) {
  const std::uint64_t bytes = rows * columns * element_bytes;
  if (rows <= 1 || columns <= 1) {
    if (in == out) return;
    runtime::parallel_parts(bytes, task_bytes, [&](std::uint64_t begin, std::uint64_t end) {
      std::memcpy(static_cast<std::byte*>(out) + begin, static_cast<const std::byte*>(in) + begin, end - begin);
    });
    return;
  }
  transpose_cpu(in, out, {element_bytes, rows, columns, columns * element_bytes, rows * element_bytes});
}

void transpose_cpu(const void* in, void* out, const StridedMatrix& matrix) {
  const std::size_t element_bytes = matrix.element_bytes;
  const std::uint64_t rows = matrix.rows;
  const std::uint64_t columns = matrix.columns;
  const std::uint64_t bytes = rows * columns * element_bytes;
  Job job{static_cast<const std::byte*>(in),
          static_cast<std::byte*>(out),
          element_bytes,
          rows,
          columns,
          matrix.in_stride,
          matrix.out_stride,
          turn_of_bytes[element_bytes - 1],
          0,
          0,
          bytes >= runtime::stream_out_bytes,
          nullptr};
  const bool begins_with_lines = reinterpret_cast<std::uintptr_t>(out) % line_bytes == 0 &&
                                 matrix.out_stride % line_bytes == 0 && rows * element_bytes % line_bytes == 0;
  if (job.streams && in != out && begins_with_lines) job.lines = lines_of_bytes(element_bytes);
  const std::uint64_t run = run_bytes / element_bytes;
  if (job.lines != nullptr) {
    job.tile_rows = line_bytes / element_bytes;
    job.tile_columns = std::min(columns, line_run_bytes / element_bytes);
  } else if (in == out) {
    const std::uint64_t elements = in_place_bytes / element_bytes;
    job.tile_rows = job.tile_columns = std::uint64_t{1} << (static_cast<unsigned>(std::bit_width(elements)) - 1) / 2;
  } else {
    // What a short side leaves is given to the other.
    job.tile_rows = std::min(rows, std::max(run, run * run / columns));
    job.tile_columns = std::min(columns, std::max(run, run * run / job.tile_rows));
    if (!job.streams && job.tile_rows == rows && job.tile_columns == columns) return move_tile(job, 0, 0, nullptr);
  }
  // The buffer holds a tile; not in place, its runs lie apart.
  const std::uint64_t buffer_bytes = job.tile_columns * (job.tile_rows * element_bytes + (in == out ? 0 : line_bytes));
  // A task is a strip of tiles along a row of tiles.
  const std::uint64_t down = (rows + job.tile_rows - 1) / job.tile_rows;
  const std::uint64_t across = (columns + job.tile_columns - 1) / job.tile_columns;
  const std::uint64_t strip =
      std::clamp<std::uint64_t>(task_bytes / (job.tile_rows * job.tile_columns * element_bytes), 1, across);
  const std::uint64_t strips = (across + strip - 1) / strip;
  runtime::parallel_tasks(strips * down, [&](std::uint64_t task) {
    const std::uint64_t row = task / strips * job.tile_rows;
    const std::uint64_t first = task % strips * strip;
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(buffer_bytes);
    for (std::uint64_t x = first; x < std::min(across, first + strip); ++x) {
      if (in != out) move_tile(job, row, x * job.tile_columns, buffer.get());
      else if (x * job.tile_columns >= row) swap_tiles(job, row, x * job.tile_columns, buffer.get());
    }
    if (job.streams) runtime::stream_out_end();
  });
}

}  // namespace masu
