// SPDX-License-Identifier: Apache-2.0
// What a work-group does with a tile, which is what it holds at once, in OpenCL C 1.2 (and, after the CUDA prelude, in
// CUDA C++). After elements.cl and order.cl.
//
// In a tile each work-item has SCAN_ITEMS elements that lie side by side; they come and go through local memory, so that
// global memory is read and written by whole vectors.
//
// kernels.md has the parameters, which scan_plan.cpp gives.

#define SCAN_ITEM_WORDS (4 * MASU_ITEM_VECTORS)
#define SCAN_ITEMS (MASU_ITEM_VECTORS * MASU_PER_VECTOR)
#define SCAN_AT_A_TIME (SCAN_ITEMS < 8 ? SCAN_ITEMS : 8)
#define SCAN_TILE ((ulong)MASU_GROUP * SCAN_ITEMS)

// What kernels of chunks take: elements, those of a chunk, a multiple of MASU_PER_VECTOR, those of a row, the columns of matrices
// whose columns are the rows, and flags.
#define SCAN_CHUNK_PARAMETERS                                                                            \
  const ulong count, const ulong chunk, const ulong row, const uint columns,                             \
      __global const uchar *restrict flag_memory, const ulong flags_at, const uint has_flags

// Where element i of the rows lies; with more than one column, of fewer than 2^32 elements.
inline ulong scan_place(const ulong i, const ulong row, const uint columns) {
  if (!MASU_SEGMENTED || columns == 1) return i;
  const uint line = (uint)i / (uint)row;
  const uint matrix = line / columns;
  return (ulong)((matrix * (uint)row + ((uint)i - line * (uint)row)) * columns + (line - matrix * columns));
}

// Where a vector of the tile lies in local memory: moved within its line of 8, so that neither work-items that take
// neighbouring vectors nor those that take their own meet in a bank.
inline uint place_of(const uint vector) { return vector ^ (vector >> 3 & 7); }

// Elements one by one, for tiles that are not whole or not aligned.
inline __local MASU_ELEMENT *element_place(__local uint4 *tile, const uint i) {
  const uint byte = i * MASU_ELEMENT_BYTES;
  return (__local MASU_ELEMENT *)((__local uchar *)(tile + place_of(byte >> 4)) + (byte & 15));
}

inline uint is_aligned(__global const uchar *data) { return ((size_t)data & 15) == 0; }

// SCAN_SOURCE is what the elements of a vector are in the input, where they may be narrower: they are widened in
// registers.
#if MASU_FROM_BYTES == MASU_ELEMENT_BYTES
#define SCAN_SOURCE uint4
inline MASU_BITS input_at(__global const uchar *data, const ulong i) { return element_at(data, i); }
MASU_INLINE uint4 vector_from(const uint4 source) { return source; }
// The elements from `at` on; after the last, the identity.
MASU_INLINE uint4 source_at(__global const uchar *data, const ulong at, const ulong count) {
  uint words[4] = {0, 0, 0, 0};
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_PER_VECTOR; ++k) {
    set_element_of(words, k, at + k < count ? element_at(data, at + k) : (MASU_BITS)MASU_IDENTITY);
  }
  return vector_of(words);
}
#else
#if MASU_FROM_BYTES == 4
#define SCAN_SOURCE ulong
#define SCAN_FROM uint
#elif MASU_FROM_BYTES == 2
#define SCAN_SOURCE uint
#define SCAN_FROM ushort
#else
#define SCAN_SOURCE ushort
#define SCAN_FROM uchar
#endif
#define SCAN_FROM_BITS (8 * MASU_FROM_BYTES)
inline ulong widened(const uint bits) {
  const uint empty = 32 - SCAN_FROM_BITS;
#if MASU_FROM_SIGNED
  return (ulong)(long)(as_int(bits << empty) >> empty);
#else
  return bits << empty >> empty;
#endif
}
inline ulong input_at(__global const uchar *data, const ulong i) {
  return widened(((__global const SCAN_FROM *)data)[i]);
}
MASU_INLINE uint4 vector_from(const SCAN_SOURCE source) {
  uint words[4] = {0, 0, 0, 0};
  set_element_of(words, 0, widened((uint)source));
  set_element_of(words, 1, widened((uint)(source >> SCAN_FROM_BITS)));
  return vector_of(words);
}
MASU_INLINE SCAN_SOURCE source_at(__global const uchar *data, const ulong at, const ulong count) {
  __global const SCAN_FROM *from = (__global const SCAN_FROM *)data;
  SCAN_SOURCE source = at < count ? from[at] : 0;
  if (at + 1 < count) source |= (SCAN_SOURCE)((SCAN_SOURCE)from[at + 1] << SCAN_FROM_BITS);
  return source;
}
#endif
inline uint input_is_aligned(__global const uchar *data) {
  return ((size_t)data & (MASU_FROM_BYTES * MASU_PER_VECTOR - 1)) == 0;
}
inline __global const SCAN_SOURCE *sources(__global const uchar *data, const ulong first) {
  return (__global const SCAN_SOURCE *)(data + first * MASU_FROM_BYTES);
}

// A work-item's share of a whole tile, which begins with element `first`: vectors that lie MASU_GROUP apart.
MASU_INLINE void load_sources(__global const uchar *data, const ulong first, SCAN_SOURCE *v) {
  __global const SCAN_SOURCE *from = sources(data, first) + get_local_id(0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) v[i] = from[i * MASU_GROUP];
}
MASU_INLINE void put_sources(__local uint4 *tile, const SCAN_SOURCE *v) {
  const uint lane = (uint)get_local_id(0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) tile[place_of(lane + i * MASU_GROUP)] = vector_from(v[i]);
}
// A share's words, of data that is read once and in any order.
MASU_INLINE void load_words(__global const uchar *data, const ulong first, uint *words) {
#if MASU_FROM_BYTES == MASU_ELEMENT_BYTES
  __global const uint4 *from = sources(data, first) + get_local_id(0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) {
    words_of_vector(masu_load_streaming(from + i * MASU_GROUP), words + 4 * i);
  }
#else
  SCAN_SOURCE v[MASU_ITEM_VECTORS];
  load_sources(data, first, v);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) words_of_vector(vector_from(v[i]), words + 4 * i);
#endif
}
// Any tile, one by one, of which some are under way together; places after the last element get the identity.
inline void put_elements(__global const uchar *data, const ulong first, const ulong count, const ulong row, const uint columns,
                         __local uint4 *tile) {
  MASU_ROLLED
  for (uint i = (uint)get_local_id(0); i < SCAN_TILE; i += SCAN_AT_A_TIME * MASU_GROUP) {
    MASU_BITS x[SCAN_AT_A_TIME];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < SCAN_AT_A_TIME; ++k) {
      const ulong at = first + i + k * MASU_GROUP;
      x[k] = at < count ? input_at(data, scan_place(at, row, columns)) : (MASU_BITS)MASU_IDENTITY;
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < SCAN_AT_A_TIME; ++k) *element_place(tile, i + k * MASU_GROUP) = (MASU_ELEMENT)x[k];
  }
}
// All work-items come here; what they did with the tile before is over when theirs is put there. Needs a barrier after.
inline void load_tile(__global const uchar *data, const ulong first, const ulong count, const ulong row, const uint columns,
                      __local uint4 *tile) {
  const uint by_vectors = columns == 1 && input_is_aligned(data);
  if (first + SCAN_TILE <= count && by_vectors) {
    SCAN_SOURCE v[MASU_ITEM_VECTORS];
    load_sources(data, first, v);
    barrier(CLK_LOCAL_MEM_FENCE);
    put_sources(tile, v);
  } else if (by_vectors) {
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_ROLLED
    for (uint i = (uint)get_local_id(0); i < MASU_ITEM_VECTORS * MASU_GROUP; i += MASU_GROUP) {
      const ulong at = first + i * MASU_PER_VECTOR;
      tile[place_of(i)] = vector_from(at + MASU_PER_VECTOR <= count ? sources(data, first)[i] : source_at(data, at, count));
    }
  } else {
    barrier(CLK_LOCAL_MEM_FENCE);
    put_elements(data, first, count, row, columns, tile);
  }
}

// After a barrier.
inline void store_tile(__global uchar *data, const ulong first, const ulong count, const ulong row, const uint columns,
                       __local uint4 *tile) {
  const uint lane = (uint)get_local_id(0);
  const uint by_vectors = columns == 1 && is_aligned(data);
  if (first + SCAN_TILE <= count && by_vectors) {
    __global uint4 *vectors = (__global uint4 *)(data + first * MASU_ELEMENT_BYTES) + lane;
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) vectors[i * MASU_GROUP] = tile[place_of(lane + i * MASU_GROUP)];
  } else {
    // Whole vectors, then elements.
    uint done = 0;
    if (by_vectors) {
      const uint whole = (uint)(min(count - first, SCAN_TILE) / MASU_PER_VECTOR);
      __global uint4 *vectors = (__global uint4 *)(data + first * MASU_ELEMENT_BYTES);
      MASU_ROLLED
      for (uint i = lane; i < whole; i += MASU_GROUP) vectors[i] = tile[place_of(i)];
      done = whole * MASU_PER_VECTOR;
    }
    MASU_ROLLED
    for (uint i = done + lane; i < SCAN_TILE && first + i < count; i += MASU_GROUP) {
      set_element(data, scan_place(first + i, row, columns), *element_place(tile, i));
    }
  }
}

MASU_INLINE void load_item(__local const uint4 *tile, uint *words) {
  const uint lane = (uint)get_local_id(0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) {
    words_of_vector(tile[place_of(lane * MASU_ITEM_VECTORS + i)], words + 4 * i);
  }
}
MASU_INLINE void store_item(__local uint4 *tile, const uint *words) {
  const uint lane = (uint)get_local_id(0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) {
    tile[place_of(lane * MASU_ITEM_VECTORS + i)] = vector_of(words + 4 * i);
  }
}

// Which of a work-item's elements begin a segment; the first of them is element `first`. `row`: elements of a row.
inline uint heads_of(const ulong first, const ulong count, const ulong row, __global const uchar *flags,
                     const uint has_flags) {
#if MASU_SEGMENTED
  uint heads = 0;
  // A division of 64 bits takes longer than a scan of few elements.
  const ulong into = (first | row) >> 32 == 0 ? (uint)first % (uint)row : first % row;
  const ulong to_row = into == 0 ? 0 : row - into;
  for (ulong k = to_row; k < SCAN_ITEMS && first + k < count; k += row) heads |= 1U << (uint)k;
  const uint flagged = has_flags != 0 ? SCAN_ITEMS : 0;
  for (uint k = 0; k < flagged && first + k < count; ++k) heads |= flags[first + k] != 0 ? 1U << k : 0;
  return heads;
#else
  return 0;
#endif
}
