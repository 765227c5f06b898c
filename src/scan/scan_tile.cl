// SPDX-License-Identifier: Apache-2.0
// What a work-group does with a tile, which is what it holds at once, in OpenCL C 1.2 (and, behind the CUDA prelude, in
// CUDA C++). Behind reduce_elements.cl of the room reduce, in front of the kernels.
//
// In a tile each work-item has MASU_ITEMS elements that lie side by side; they come and go through local memory, so that
// global memory is read and written by whole vectors.
//
// With segments a total is a pair: whether a segment began among the elements, and the total since the last that did.
//
// Defines, all given by scan_plan.cpp:
#ifndef MASU_GROUP            // work-items in a work-group, a power of two
#error "MASU_GROUP is not defined"
#endif
#ifndef MASU_ITEM_VECTORS     // 16-byte vectors of a work-item in a tile: 1, 2 or 4
#error "MASU_ITEM_VECTORS is not defined"
#endif
#ifndef MASU_OP               // 0: sum, 1: least, 2: greatest
#error "MASU_OP is not defined"
#endif
#ifndef MASU_EXCLUSIVE        // 1: an element's result is that of the elements in front of it
#error "MASU_EXCLUSIVE is not defined"
#endif
#ifndef MASU_SEGMENTED        // 1: there are rows or flags
#error "MASU_SEGMENTED is not defined"
#endif
#ifndef MASU_IDENTITY         // its bits
#error "MASU_IDENTITY is not defined"
#endif

#define MASU_ITEM_WORDS (4 * MASU_ITEM_VECTORS)
#define MASU_ITEMS (MASU_ITEM_VECTORS * MASU_PER_VECTOR)
#define MASU_TILE ((ulong)MASU_GROUP * MASU_ITEMS)
#define MASU_SPAN 16
#define MASU_SPANS ((MASU_GROUP + MASU_SPAN - 1) / MASU_SPAN)

// A total: a value, and whether a segment began.
typedef struct {
  MASU_WIDE value;
  uint reset;
} Total;

// Of elements a in front of b.
inline MASU_WIDE combine(const MASU_WIDE a, const MASU_WIDE b) {
#if MASU_OP == 0
  return (a + b) & MASU_ALL;
#else
  return rank_of(b, MASU_OP == 2) < rank_of(a, MASU_OP == 2) ? b : a;
#endif
}
inline Total joined(const Total a, const Total b) {
  Total total;
  total.value = MASU_SEGMENTED && b.reset != 0 ? b.value : combine(a.value, b.value);
  total.reset = MASU_SEGMENTED ? a.reset | b.reset : 0;
  return total;
}
inline Total nothing(void) {
  Total total;
  total.value = MASU_IDENTITY;
  total.reset = 0;
  return total;
}

// Element k of a work-item's words.
MASU_INLINE MASU_WIDE element_of(const uint *words, const uint k) {
#if MASU_BYTES == 8
  return (ulong)words[2 * k + 1] << 32 | words[2 * k];
#elif MASU_BYTES == 4
  return words[k];
#else
  return words[k * MASU_BYTES / 4] >> (k * MASU_BYTES % 4 * 8) & MASU_ALL;
#endif
}
MASU_INLINE void set_element_of(uint *words, const uint k, const MASU_WIDE x) {
#if MASU_BYTES == 8
  words[2 * k] = (uint)x;
  words[2 * k + 1] = (uint)(x >> 32);
#elif MASU_BYTES == 4
  words[k] = x;
#else
  const uint shift = k * MASU_BYTES % 4 * 8;
  words[k * MASU_BYTES / 4] = (words[k * MASU_BYTES / 4] & ~(MASU_ALL << shift)) | x << shift;
#endif
}

// Where a vector of the tile lies in local memory: moved within its line of 8, so that neither work-items that take
// neighbouring vectors nor those that take their own meet in a bank.
inline uint place_of(const uint vector) { return vector ^ (vector >> 3 & 7); }

// Elements one by one, for tiles that are not whole or not aligned.
inline __local uchar *element_place(__local uint4 *tile, const uint i) {
  const uint byte = i * MASU_BYTES;
  return (__local uchar *)(tile + place_of(byte >> 4)) + (byte & 15);
}
inline void put_element(__local uint4 *tile, const uint i, const MASU_WIDE x) {
#if MASU_BYTES == 1
  *element_place(tile, i) = (uchar)x;
#elif MASU_BYTES == 2
  *(__local ushort *)element_place(tile, i) = (ushort)x;
#elif MASU_BYTES == 4
  *(__local uint *)element_place(tile, i) = x;
#else
  *(__local ulong *)element_place(tile, i) = x;
#endif
}
inline void write_element(__local uint4 *tile, const uint i, __global uchar *data) {
#if MASU_BYTES == 1
  *data = *element_place(tile, i);
#elif MASU_BYTES == 2
  *(__global ushort *)data = *(__local ushort *)element_place(tile, i);
#elif MASU_BYTES == 4
  *(__global uint *)data = *(__local uint *)element_place(tile, i);
#else
  *(__global ulong *)data = *(__local ulong *)element_place(tile, i);
#endif
}

inline uint is_aligned(__global const uchar *data) { return ((size_t)data & 15) == 0; }

// A work-item's share of a whole tile, which begins with element `first`: vectors that lie MASU_GROUP apart.
MASU_INLINE void load_vectors(__global const uchar *data, const ulong first, uint4 *v) {
  __global const uint4 *vectors = (__global const uint4 *)(data + first * MASU_BYTES) + get_local_id(0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) v[i] = vectors[i * MASU_GROUP];
}
MASU_INLINE void put_vectors(__local uint4 *tile, const uint4 *v) {
  const uint lane = (uint)get_local_id(0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) tile[place_of(lane + i * MASU_GROUP)] = v[i];
}
// The same for any tile, one by one; places behind the last element get the identity.
inline void put_elements(__global const uchar *data, const ulong first, const ulong count, __local uint4 *tile) {
  for (uint i = (uint)get_local_id(0); i < MASU_TILE; i += MASU_GROUP) {
    put_element(tile, i, first + i < count ? element_at(data, first + i) : (MASU_WIDE)MASU_IDENTITY);
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
    __global uint4 *vectors = (__global uint4 *)(data + first * MASU_BYTES) + lane;
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) vectors[i * MASU_GROUP] = tile[place_of(lane + i * MASU_GROUP)];
  } else {
    for (uint i = lane; i < MASU_TILE && first + i < count; i += MASU_GROUP) {
      write_element(tile, i, data + (first + i) * MASU_BYTES);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

MASU_INLINE void load_item(__local const uint4 *tile, uint *words) {
  const uint lane = (uint)get_local_id(0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) {
    const uint4 v = tile[place_of(lane * MASU_ITEM_VECTORS + i)];
    words[4 * i] = v.x;
    words[4 * i + 1] = v.y;
    words[4 * i + 2] = v.z;
    words[4 * i + 3] = v.w;
  }
}
MASU_INLINE void store_item(__local uint4 *tile, const uint *words) {
  const uint lane = (uint)get_local_id(0);
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_ITEM_VECTORS; ++i) {
    uint4 v;
    v.x = words[4 * i];
    v.y = words[4 * i + 1];
    v.z = words[4 * i + 2];
    v.w = words[4 * i + 3];
    tile[place_of(lane * MASU_ITEM_VECTORS + i)] = v;
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

MASU_INLINE Total total_of(const uint *words, const uint heads) {
  Total total = nothing();
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_ITEMS; ++k) {
    if (MASU_SEGMENTED && (heads >> k & 1) != 0) total.value = MASU_IDENTITY;
    total.value = combine(total.value, element_of(words, k));
  }
  total.reset = MASU_SEGMENTED && heads != 0;
  return total;
}

// Turns a work-item's elements into their results; `running` is the total in front of them.
MASU_INLINE void scan_item(uint *words, const uint heads, MASU_WIDE running) {
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_ITEMS; ++k) {
    if (MASU_SEGMENTED && (heads >> k & 1) != 0) running = MASU_IDENTITY;
    const MASU_WIDE next = combine(running, element_of(words, k));
    set_element_of(words, k, MASU_EXCLUSIVE ? running : next);
    running = next;
  }
}

#if MASU_SHUFFLE_LANES > 1
inline Total other_total(const Total x, const uint mask) {
  Total other;
#if MASU_BYTES == 8
  other.value = (ulong)masu_shuffle_xor((uint)(x.value >> 32), mask) << 32 | masu_shuffle_xor((uint)x.value, mask);
#else
  other.value = masu_shuffle_xor(x.value, mask);
#endif
  other.reset = MASU_SEGMENTED ? masu_shuffle_xor(x.reset, mask) : 0;
  return other;
}
#endif

// The total of the work-items in front of this one, and in *all that of the whole group. All work-items come here, and
// meet a barrier before they come again.
inline Total total_before(const Total own, Total *all, __local ulong *totals) {
  const uint lane = (uint)get_local_id(0);
#if MASU_SHUFFLE_LANES > 1
  Total before = nothing();
  Total sum = own;
  for (uint mask = 1; mask < MASU_SHUFFLE_LANES; mask *= 2) {
    const Total other = other_total(sum, mask);
    if ((lane & mask) != 0) {
      before = joined(other, before);
      sum = joined(other, sum);
    } else {
      sum = joined(sum, other);
    }
  }
  const uint sub_group = lane / MASU_SHUFFLE_LANES;
  if (lane % MASU_SHUFFLE_LANES == 0) {
    totals[2 * sub_group] = sum.value;
    totals[2 * sub_group + 1] = sum.reset;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  Total front = nothing();
  *all = nothing();
  for (uint i = 0; i < MASU_GROUP / MASU_SHUFFLE_LANES; ++i) {
    Total one;
    one.value = (MASU_WIDE)totals[2 * i];
    one.reset = (uint)totals[2 * i + 1];
    if (i == sub_group) front = *all;
    *all = joined(*all, one);
  }
  return joined(front, before);
#else
  // A few work-items scan MASU_SPAN totals each, then everyone adds up theirs.
  __local ulong *span_totals = totals + 2 * MASU_GROUP;
  totals[2 * lane] = own.value;
  totals[2 * lane + 1] = own.reset;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < MASU_SPANS) {
    Total sum = nothing();
    for (uint i = lane * MASU_SPAN; i < (lane + 1) * MASU_SPAN && i < MASU_GROUP; ++i) {
      Total one;
      one.value = (MASU_WIDE)totals[2 * i];
      one.reset = (uint)totals[2 * i + 1];
      totals[2 * i] = sum.value;
      totals[2 * i + 1] = sum.reset;
      sum = joined(sum, one);
    }
    span_totals[2 * lane] = sum.value;
    span_totals[2 * lane + 1] = sum.reset;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  Total front = nothing();
  *all = nothing();
  for (uint i = 0; i < MASU_SPANS; ++i) {
    Total one;
    one.value = (MASU_WIDE)span_totals[2 * i];
    one.reset = (uint)span_totals[2 * i + 1];
    if (i == lane / MASU_SPAN) front = *all;
    *all = joined(*all, one);
  }
  Total before;
  before.value = (MASU_WIDE)totals[2 * lane];
  before.reset = (uint)totals[2 * lane + 1];
  return joined(front, before);
#endif
}
