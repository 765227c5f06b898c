// SPDX-License-Identifier: Apache-2.0
// What a work-group does with a tile, which is what it holds at once, in OpenCL C 1.2 (and, behind the CUDA prelude, in
// CUDA C++). Behind elements.cl and order.cl.
//
// In a tile each work-item has MASU_ITEMS elements that lie side by side; they come and go through local memory, so that
// global memory is read and written by whole vectors.
//
// Defines, all given by scan_plan.cpp:
// - MASU_GROUP         work-items in a work-group, a power of two
// - MASU_ITEM_VECTORS  16-byte vectors of a work-item in a tile: 1, 2, 4 or 8
// - MASU_OP            0: sum, 1: least, 2: greatest
// - MASU_EXCLUSIVE     1: an element's result is that of the elements in front of it
// - MASU_SEGMENTED     1: there are rows or flags
// - MASU_IDENTITY      its bits

#define MASU_ITEM_WORDS (4 * MASU_ITEM_VECTORS)
#define MASU_ITEMS (MASU_ITEM_VECTORS * MASU_PER_VECTOR)
#define MASU_TILE ((ulong)MASU_GROUP * MASU_ITEMS)

// What kernels of chunks take: elements, tiles of a chunk, elements of a row, and flags.
#define MASU_CHUNK_PARAMETERS                                                                        \
  const ulong count, const ulong chunk, const ulong row, __global const uchar *restrict flag_memory, \
      const ulong flags_at, const uint has_flags

// Where a vector of the tile lies in local memory: moved within its line of 8, so that neither work-items that take
// neighbouring vectors nor those that take their own meet in a bank.
inline uint place_of(const uint vector) { return vector ^ (vector >> 3 & 7); }

// Elements one by one, for tiles that are not whole or not aligned.
inline __local MASU_ELEMENT *element_place(__local uint4 *tile, const uint i) {
  const uint byte = i * MASU_ELEMENT_BYTES;
  return (__local MASU_ELEMENT *)((__local uchar *)(tile + place_of(byte >> 4)) + (byte & 15));
}

inline uint is_aligned(__global const uchar *data) { return ((size_t)data & 15) == 0; }

// A work-item's share of a whole tile, which begins with element `first`: vectors that lie MASU_GROUP apart.
MASU_INLINE void load_vectors(__global const uchar *data, const ulong first, uint4 *v) {
  __global const uint4 *vectors = (__global const uint4 *)(data + first * MASU_ELEMENT_BYTES) + get_local_id(0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) v[i] = vectors[i * MASU_GROUP];
}
MASU_INLINE void put_vectors(__local uint4 *tile, const uint4 *v) {
  const uint lane = (uint)get_local_id(0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) tile[place_of(lane + i * MASU_GROUP)] = v[i];
}
// A share's words, of data that is read once and in any order.
MASU_INLINE void load_words(__global const uchar *data, const ulong first, uint *words) {
  __global const uint4 *vectors = (__global const uint4 *)(data + first * MASU_ELEMENT_BYTES) + get_local_id(0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) {
    words_of_vector(masu_load_streaming(vectors + i * MASU_GROUP), words + 4 * i);
  }
}
// Any tile, one by one; places behind the last element get the identity.
inline void put_elements(__global const uchar *data, const ulong first, const ulong count, __local uint4 *tile) {
  for (uint i = (uint)get_local_id(0); i < MASU_TILE; i += MASU_GROUP) {
    const MASU_BITS x = first + i < count ? element_at(data, first + i) : (MASU_BITS)MASU_IDENTITY;
    *element_place(tile, i) = (MASU_ELEMENT)x;
  }
}
// All work-items come here.
inline void load_tile(__global const uchar *data, const ulong first, const ulong count, __local uint4 *tile) {
  if (first + MASU_TILE <= count && is_aligned(data)) {
    uint4 v[MASU_ITEM_VECTORS];
    load_vectors(data, first, v);
    put_vectors(tile, v);
  } else {
    put_elements(data, first, count, tile);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

inline void store_tile(__global uchar *data, const ulong first, const ulong count, __local uint4 *tile) {
  const uint lane = (uint)get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (first + MASU_TILE <= count && is_aligned(data)) {
    __global uint4 *vectors = (__global uint4 *)(data + first * MASU_ELEMENT_BYTES) + lane;
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) vectors[i * MASU_GROUP] = tile[place_of(lane + i * MASU_GROUP)];
  } else {
    for (uint i = lane; i < MASU_TILE && first + i < count; i += MASU_GROUP) {
      set_element(data, first + i, *element_place(tile, i));
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
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
  ulong to_row = (row - first % row) % row;
  for (uint k = 0; k < MASU_ITEMS && first + k < count; ++k) {
    if (to_row == k) {
      heads |= 1U << k;
      to_row += row;
    } else if (has_flags != 0 && flags[first + k] != 0) {
      heads |= 1U << k;
    }
  }
  return heads;
#else
  return 0;
#endif
}
