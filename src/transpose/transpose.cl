// SPDX-License-Identifier: Apache-2.0
// Transposing by tiles in local memory, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++): a tile is read along
// its rows and written along its columns, so both go over memory in order.
//
// kernels.md has the parameters, which transpose_plan.cpp gives.

// Where tile `n` of across x down stands.
inline void tile_at(const ulong n, const ulong across, const ulong down, ulong *x, ulong *y) {
  const ulong in_band = MASU_BAND * down;
  const ulong number = n / in_band;
  const ulong first = number * MASU_BAND;
  const ulong width = across - first < MASU_BAND ? across - first : MASU_BAND;
  const ulong rest = n - number * in_band;
  *y = rest / width;
  *x = first + (rest - *y * width);
}

#if MASU_FREE


// q * d + r = n for n < 2^16, by inverse = ceil(2^32 / d), d > 1.
inline uint quotient(const uint n, const uint divisor, const uint inverse) {
  return divisor == 1 ? n : mul_hi(n, inverse);
}

// A tile into local memory, `stride` words a row; `nowhere`: this work-item's place for what lies outside. With a condition
// for each, loads would wait for each other.
inline void load_tile(__global const MASU_WORD *in, const ulong rows, const ulong columns, const ulong row,
                      const ulong column, const uint tile_rows, const uint tile_columns, const uint inverse,
                      const uint stride, __local MASU_WORD *tile, __local MASU_WORD *nowhere) {
  const uint width = tile_columns * MASU_UNITS;
  const uint valid_rows = rows - row < tile_rows ? (uint)(rows - row) : tile_rows;
  const uint valid = (columns - column < tile_columns ? (uint)(columns - column) : tile_columns) * MASU_UNITS;
  in += (row * columns + column) * MASU_UNITS;
  const uint all = valid_rows * width;
  for (uint first = (uint)get_local_id(0); first < all; first += MASU_UNROLL * MASU_GROUP) {
    MASU_WORD word[MASU_UNROLL];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      const uint n = min(first + k * MASU_GROUP, all - 1);
      const uint r = quotient(n, width, inverse);
      word[k] = in[(size_t)r * columns * MASU_UNITS + min(n - r * width, valid - 1)];
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      const uint n = first + k * MASU_GROUP;
      const uint r = quotient(n, width, inverse);
      const uint u = n - r * width;
      *(n < all && u < valid ? &tile[r * stride + u] : nowhere) = word[k];
    }
  }
}

// The transposed tile to rows `column`…, columns `row`… of out, which has `rows` columns.
inline void store_tile(__global MASU_WORD *out, const ulong rows, const ulong columns, const ulong row,
                       const ulong column, const uint tile_rows, const uint tile_columns, const uint inverse,
                       const uint stride, __local const MASU_WORD *tile) {
  const uint width = tile_rows * MASU_UNITS;
  const uint valid_columns = columns - column < tile_columns ? (uint)(columns - column) : tile_columns;
  const uint valid = (rows - row < tile_rows ? (uint)(rows - row) : tile_rows) * MASU_UNITS;
  out += (column * rows + row) * MASU_UNITS;
  const uint all = valid_columns * width;
  for (uint first = (uint)get_local_id(0); first < all; first += MASU_UNROLL * MASU_GROUP) {
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      const uint n = first + k * MASU_GROUP;
      const uint c = quotient(n, width, inverse);
      const uint u = n - c * width;
      const uint r = u / MASU_UNITS;
      if (n < all && u < valid) {
        out[(size_t)c * rows * MASU_UNITS + u] = tile[r * stride + c * MASU_UNITS + (u - r * MASU_UNITS)];
      }
    }
  }
}

__kernel MASU_WORK_GROUP(MASU_GROUP) void transpose_free(__global const uchar *in_memory, const ulong in_at,
                                                         __global uchar *out_memory, const ulong out_at,
                                                         const ulong rows, const ulong columns, const uint tile_rows,
                                                         const uint tile_columns, const uint row_inverse,
                                                         const uint column_inverse, const uint stride,
                                                         __local MASU_WORD *tile) {
  MASU_LOCAL_POINTER(MASU_WORD, tile);  // tile_rows * stride words, twice in place, and MASU_GROUP
  __local MASU_WORD *nowhere = tile + (1 + MASU_IN_PLACE) * tile_rows * stride + get_local_id(0);
  __global const MASU_WORD *in = (__global const MASU_WORD *)(in_memory + in_at);
  __global MASU_WORD *out = (__global MASU_WORD *)(out_memory + out_at);
  const ulong across = (columns + tile_columns - 1) / tile_columns;
  const ulong down = (rows + tile_rows - 1) / tile_rows;
  for (ulong n = get_group_id(0); n < across * down; n += get_num_groups(0)) {
    ulong x, y;
    tile_at(n, across, down, &x, &y);
    const ulong row = y * tile_rows;
    const ulong column = x * tile_columns;
#if MASU_IN_PLACE
    if (x < y) continue;  // the tile of the other side does both
    __local MASU_WORD *other = tile + tile_rows * stride;
    load_tile(in, rows, columns, row, column, tile_rows, tile_columns, column_inverse, stride, tile, nowhere);
    if (x != y) load_tile(in, rows, columns, column, row, tile_rows, tile_columns, column_inverse, stride, other, nowhere);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // what is written was read by others
    store_tile(out, rows, columns, row, column, tile_rows, tile_columns, row_inverse, stride, tile);
    if (x != y) store_tile(out, rows, columns, column, row, tile_rows, tile_columns, row_inverse, stride, other);
#else
    load_tile(in, rows, columns, row, column, tile_rows, tile_columns, column_inverse, stride, tile, nowhere);
    barrier(CLK_LOCAL_MEM_FENCE);
    store_tile(out, rows, columns, row, column, tile_rows, tile_columns, row_inverse, stride, tile);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

#else


#define TRANSPOSE_WORDS (MASU_TILE / MASU_PACK)                     // of a row of a tile
#define TRANSPOSE_BLOCKS ((TRANSPOSE_WORDS * TRANSPOSE_WORDS) / MASU_GROUP)   // of MASU_PACK x MASU_PACK elements, for a work-item
#define TRANSPOSE_ELEMENT_BITS (32 / MASU_PACK)

// Word w of column c of a tile. Lanes that write words of columns which are MASU_PACK apart, and lanes that read words
// beside each other, all meet different banks.
#define TRANSPOSE_PLACE(c, w) ((c) * (TRANSPOSE_WORDS + 1) + (c) / MASU_BANK_WORDS + (w))
#define TRANSPOSE_TILE_WORDS TRANSPOSE_PLACE(MASU_TILE, 0)

#if MASU_PACK == 4
#define MASU_ELEMENT uchar
#elif MASU_PACK == 2
#define MASU_ELEMENT ushort
#else
#define MASU_ELEMENT MASU_WORD
#endif

#define TRANSPOSE_STEP (MASU_GROUP / TRANSPOSE_WORDS)  // words of a group lie in so many rows of a tile

#if !MASU_ALIGNED
// The word at any element; `at` counts elements from a whole word on. What lies past `end` is not read.
inline uint load_before(__global const uint *words, const ulong at, const ulong end) {
  uint bits = 0;
  for (uint k = 0; k < MASU_PACK && at + k < end; ++k) {
    bits |= (uint)((__global const MASU_ELEMENT *)words)[at + k] << k * TRANSPOSE_ELEMENT_BITS;
  }
  return bits;
}
// The same where two whole words are there.
inline uint load_anywhere(__global const uint *words, const ulong at) {
  const ulong w = at / MASU_PACK;
  return (uint)(((ulong)words[w + 1] << 32 | words[w]) >> (uint)(at % MASU_PACK) * TRANSPOSE_ELEMENT_BITS);
}
#endif

// Reads the tile at (row, column), transposes it within words, and leaves it in local memory by columns. `in_skip`: elements
// between a whole word of memory and the matrix. Places outside of the matrix get something from inside: with a
// condition for each, loads would wait for each other.
inline void load_tile(__global const MASU_WORD *in, const uint in_skip, const ulong rows, const ulong columns,
                      const ulong row, const ulong column, __local MASU_WORD *tile) {
  const uint lane = (uint)get_local_id(0) % TRANSPOSE_WORDS;
  const uint first = (uint)get_local_id(0) / TRANSPOSE_WORDS;
  const uint last_row = rows - row < MASU_TILE ? (uint)(rows - row) - 1 : MASU_TILE - 1;
  const uint last_column = columns - column < MASU_TILE ? (uint)(columns - column) - 1 : MASU_TILE - 1;
  const ulong begin = row * columns + column + min(lane * MASU_PACK, last_column / MASU_PACK * MASU_PACK);
#define TRANSPOSE_AT (begin + min((first + b * TRANSPOSE_STEP) * MASU_PACK + j, last_row) * columns)
  MASU_WORD word[TRANSPOSE_BLOCKS][MASU_PACK];
#if MASU_ALIGNED
  if (last_row == MASU_TILE - 1) {  // addresses by additions
    const ulong row_words = columns / MASU_PACK;
    in += begin / MASU_PACK + first * MASU_PACK * row_words;
    MASU_PRAGMA_UNROLL
    for (uint b = 0; b < TRANSPOSE_BLOCKS; ++b) {
      MASU_PRAGMA_UNROLL
      for (uint j = 0; j < MASU_PACK; ++j) word[b][j] = in[(b * TRANSPOSE_STEP * MASU_PACK + j) * row_words];
    }
  } else {
    MASU_PRAGMA_UNROLL
    for (uint b = 0; b < TRANSPOSE_BLOCKS; ++b) {
      MASU_PRAGMA_UNROLL
      for (uint j = 0; j < MASU_PACK; ++j) word[b][j] = in[TRANSPOSE_AT / MASU_PACK];
    }
  }
#else
  if (row + MASU_TILE < rows) {
    MASU_PRAGMA_UNROLL
    for (uint b = 0; b < TRANSPOSE_BLOCKS; ++b) {
      MASU_PRAGMA_UNROLL
      for (uint j = 0; j < MASU_PACK; ++j) word[b][j] = load_anywhere(in, in_skip + TRANSPOSE_AT);
    }
  } else {
    MASU_PRAGMA_UNROLL
    for (uint b = 0; b < TRANSPOSE_BLOCKS; ++b) {
      MASU_PRAGMA_UNROLL
      for (uint j = 0; j < MASU_PACK; ++j) {
        word[b][j] = load_before(in, in_skip + TRANSPOSE_AT, in_skip + rows * columns);
      }
    }
  }
#endif
  MASU_PRAGMA_UNROLL
  for (uint b = 0; b < TRANSPOSE_BLOCKS; ++b) {
    const uint c = lane * MASU_PACK;
    const uint w = first + b * TRANSPOSE_STEP;
#if MASU_PACK == 4
    // Bytes of pairs of rows, then halves of pairs of pairs.
    const uint a = (word[b][0] & 0x00ff00ffu) | (word[b][1] & 0x00ff00ffu) << 8;
    const uint d = (word[b][0] >> 8 & 0x00ff00ffu) | (word[b][1] & 0xff00ff00u);
    const uint e = (word[b][2] & 0x00ff00ffu) | (word[b][3] & 0x00ff00ffu) << 8;
    const uint f = (word[b][2] >> 8 & 0x00ff00ffu) | (word[b][3] & 0xff00ff00u);
    tile[TRANSPOSE_PLACE(c, w)] = (a & 0xffffu) | e << 16;
    tile[TRANSPOSE_PLACE(c + 1, w)] = (d & 0xffffu) | f << 16;
    tile[TRANSPOSE_PLACE(c + 2, w)] = a >> 16 | (e & 0xffff0000u);
    tile[TRANSPOSE_PLACE(c + 3, w)] = d >> 16 | (f & 0xffff0000u);
#elif MASU_PACK == 2
    tile[TRANSPOSE_PLACE(c, w)] = (word[b][0] & 0xffffu) | word[b][1] << 16;
    tile[TRANSPOSE_PLACE(c + 1, w)] = word[b][0] >> 16 | (word[b][1] & 0xffff0000u);
#else
    tile[TRANSPOSE_PLACE(c, w)] = word[b][0];
#endif
  }
}

#define TRANSPOSE_RUNS (TRANSPOSE_BLOCKS * MASU_PACK)  // words of a tile that a work-item writes

// Writes the tile that was read at (row, column) to where it belongs: rows of `rows` elements.
inline void store_tile(__global MASU_WORD *out, const uint out_skip, const ulong rows, const ulong columns,
                       const ulong row, const ulong column, __local const MASU_WORD *tile) {
  const uint lane = (uint)get_local_id(0) % TRANSPOSE_WORDS;
  const uint first = (uint)get_local_id(0) / TRANSPOSE_WORDS;
  const uint rows_left = rows - row < MASU_TILE ? (uint)(rows - row) : MASU_TILE;
  const uint columns_left = columns - column < MASU_TILE ? (uint)(columns - column) : MASU_TILE;
#if MASU_ALIGNED
  const ulong row_words = rows / MASU_PACK;
  out += (column + first) * row_words + row / MASU_PACK + lane;
  if (rows_left == MASU_TILE && columns_left == MASU_TILE) {
    MASU_WORD word[TRANSPOSE_RUNS];
    MASU_PRAGMA_UNROLL
    for (uint b = 0; b < TRANSPOSE_RUNS; ++b) word[b] = tile[TRANSPOSE_PLACE(first + b * TRANSPOSE_STEP, lane)];
    MASU_PRAGMA_UNROLL
    for (uint b = 0; b < TRANSPOSE_RUNS; ++b) out[b * TRANSPOSE_STEP * row_words] = word[b];
  } else if (lane * MASU_PACK < rows_left) {
    for (uint b = 0; first + b * TRANSPOSE_STEP < columns_left; ++b) {
      out[b * TRANSPOSE_STEP * row_words] = tile[TRANSPOSE_PLACE(first + b * TRANSPOSE_STEP, lane)];
    }
  }
#else
  // Rows begin anywhere in a word: whole words of `out` are put together of two words each.
  const ulong begin = out_skip + column * rows + row;
  for (uint c = first; c < columns_left; c += TRANSPOSE_STEP) {
    const ulong at = begin + c * rows;  // where the tile's part of this row of out begins
    const uint before = (uint)(at % MASU_PACK);
    const uint low = tile[TRANSPOSE_PLACE(c, lane == 0 ? 0 : lane - 1)];
    const uint high = tile[TRANSPOSE_PLACE(c, lane)];
    const uint shift = before * TRANSPOSE_ELEMENT_BITS;
    // The word has the column's elements from lane * MASU_PACK - before on.
    if ((lane != 0 || before == 0) && (lane + 1) * MASU_PACK - before <= rows_left) {
      out[at / MASU_PACK + lane] = (uint)(((ulong)high << 32 | low) >> (32 - shift));
    }
  }
  // What is left at both ends goes by elements.
  __global MASU_ELEMENT *elements = (__global MASU_ELEMENT *)out;
  for (uint c = (uint)get_local_id(0); c < columns_left; c += MASU_GROUP) {
    const ulong at = begin + c * rows;
    const uint head = min((uint)(0 - (uint)at) % MASU_PACK, rows_left);
    const uint tail = head + (rows_left - head) / MASU_PACK * MASU_PACK;
    for (uint k = 0; k < head; ++k) {
      elements[at + k] = (MASU_ELEMENT)(tile[TRANSPOSE_PLACE(c, 0)] >> k * TRANSPOSE_ELEMENT_BITS);
    }
    for (uint k = tail; k < rows_left; ++k) {
      elements[at + k] = (MASU_ELEMENT)(tile[TRANSPOSE_PLACE(c, k / MASU_PACK)] >> k % MASU_PACK * TRANSPOSE_ELEMENT_BITS);
    }
  }
#endif
}

__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT_ITEMS / MASU_GROUP) void transpose_tiles(__global const uchar *in_memory, const ulong in_at,
                                                          const uint in_skip, __global uchar *out_memory,
                                                          const ulong out_at, const uint out_skip, const ulong rows,
                                                          const ulong columns, __local MASU_WORD *tile) {
  MASU_LOCAL_POINTER(MASU_WORD, tile);  // TRANSPOSE_TILE_WORDS, twice in place
  __global const MASU_WORD *in = (__global const MASU_WORD *)(in_memory + in_at);
  __global MASU_WORD *out = (__global MASU_WORD *)(out_memory + out_at);
  const ulong across = (columns + MASU_TILE - 1) / MASU_TILE;
  const ulong down = (rows + MASU_TILE - 1) / MASU_TILE;
  for (ulong n = get_group_id(0); n < across * down; n += get_num_groups(0)) {
    ulong x, y;
    tile_at(n, across, down, &x, &y);
    const ulong row = y * MASU_TILE;
    const ulong column = x * MASU_TILE;
#if MASU_IN_PLACE
    if (x < y) continue;  // the tile of the other side does both
    __local MASU_WORD *other = tile + TRANSPOSE_TILE_WORDS;
    load_tile(in, in_skip, rows, columns, row, column, tile);
    if (x != y) load_tile(in, in_skip, rows, columns, column, row, other);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // what is written was read by others
    store_tile(out, out_skip, rows, columns, row, column, tile);
    if (x != y) store_tile(out, out_skip, rows, columns, column, row, other);
#else
    load_tile(in, in_skip, rows, columns, row, column, tile);
    barrier(CLK_LOCAL_MEM_FENCE);
    store_tile(out, out_skip, rows, columns, row, column, tile);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

#endif
