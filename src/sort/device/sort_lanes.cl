// SPDX-License-Identifier: Apache-2.0
// A bitonic network over items that several work-items hold in registers, in OpenCL C 1.2 (and, behind the CUDA prelude,
// in CUDA C++). sort_key.cl stands in front of this file. The passes are those of masu/bitonic.h: distances within a
// work-item's own items need no exchange, those between lanes are shuffles where the device has them, and else go
// through local memory.
//
// An item is what is compared: a key, or a key with its index below it, so that no two are equal. 8-byte keys leave no
// room for the index, which is then a word of its own.
//
// Defines, all given by sort_rows.cpp:
// - MASU_GROUP    work-items in a work-group, a power of two
// - MASU_ITEMS    items of each work-item, a power of two from 2 on
// - MASU_LANES    work-items that share a row, a power of two up to MASU_GROUP
// - MASU_INDEXED  1: items have an index

#define MASU_INDEX_APART (MASU_INDEXED && MASU_ELEMENT_BYTES == 8)
#if MASU_INDEXED && MASU_ELEMENT_BYTES < 4
#define MASU_ITEM uint
#define MASU_INDEX_BITS 16
#elif MASU_INDEXED && MASU_ELEMENT_BYTES == 4
#define MASU_ITEM ulong
#define MASU_INDEX_BITS 32
#else
#define MASU_ITEM MASU_BITS
#define MASU_INDEX_BITS 0
#endif

// Local memory: item e of lane l at e * MASU_STRIDE + l. The stride keeps neighbours in a row, too, from sharing a bank.
#define MASU_STRIDE (MASU_GROUP + MASU_LOCAL_PAD)

// In these, `items` and `indices` are arrays of MASU_ITEMS in registers: every subscript is known when compiled.
#if MASU_INDEX_APART
#define MASU_COMES_FIRST(a, a_index, b, b_index) ((a) < (b) || ((a) == (b) && (a_index) < (b_index)))
// The lesser of items i and j goes to i.
#define MASU_IN_ORDER(i, j)                                                                  \
  {                                                                                          \
    const MASU_ITEM a = items[i], b = items[j];                                              \
    const uint a_index = indices[i], b_index = indices[j];                                   \
    const bool exchanged = MASU_COMES_FIRST(b, b_index, a, a_index);                         \
    items[i] = exchanged ? b : a, items[j] = exchanged ? a : b;                              \
    indices[i] = exchanged ? b_index : a_index, indices[j] = exchanged ? a_index : b_index;  \
  }
// Item i becomes the lesser of itself and another where `lower`, else the greater.
#define MASU_KEEP(i, other, other_index, lower)                                            \
  if (MASU_COMES_FIRST(other, other_index, items[i], indices[i]) == (lower)) {             \
    items[i] = other;                                                                      \
    indices[i] = other_index;                                                              \
  }
#else
#define MASU_IN_ORDER(i, j)                     \
  {                                             \
    const MASU_ITEM a = items[i], b = items[j]; \
    items[i] = min(a, b), items[j] = max(a, b); \
  }
#define MASU_KEEP(i, other, other_index, lower) \
  if ((other < items[i]) == (lower)) items[i] = other;
#endif

MASU_INLINE MASU_ITEM shuffled(const MASU_ITEM x, const uint mask) {
#if MASU_SHUFFLE_LANES == 1
  return x;
#else
  if (sizeof x == 4) return (MASU_ITEM)masu_shuffle_xor((uint)x, mask);
  return (MASU_ITEM)((ulong)masu_shuffle_xor((uint)((ulong)x >> 32), mask) << 32 | masu_shuffle_xor((uint)x, mask));
#endif
}

// All passes of a stage within each work-item, from the distance MASU_ITEMS / 2 on.
MASU_INLINE void merge_own(MASU_ITEM *items, uint *indices) {
  MASU_PRAGMA_UNROLL
  for (int distance = MASU_ITEMS / 2; distance > 0; distance /= 2) {
    MASU_PRAGMA_UNROLL
    for (int i = 0; i < MASU_ITEMS; ++i) {
      if ((i & distance) == 0) MASU_IN_ORDER(i, i + distance)
    }
  }
}

// Sorts the items of each work-item: by Batcher's odd-even merging, which needs fewer comparisons than the bitonic one, and
// whose irregular pairs cost nothing here.
MASU_INLINE void sort_own(MASU_ITEM *items, uint *indices) {
  MASU_PRAGMA_UNROLL
  for (int width = 1; width < MASU_ITEMS; width *= 2) {
    MASU_PRAGMA_UNROLL
    for (int distance = width; distance > 0; distance /= 2) {
      MASU_PRAGMA_UNROLL
      for (int i = 0; i < MASU_ITEMS; ++i) {
        const int within = i & (2 * width - 1);
        const bool compared =
            distance == width ? within < width
                             : within >= distance && within < 2 * width - distance && (within / distance & 1) != 0;
        if (compared) MASU_IN_ORDER(i, i + distance)
      }
    }
  }
}

// One pass between lanes `mask` apart (as bits). A mirrored pass compares with the other's items in reverse order.
MASU_INLINE void pass_between(MASU_ITEM *items, uint *indices, const uint lane, const uint mask, const bool lower,
                              const bool mirrored, __local MASU_ITEM *shared, __local uint *shared_indices) {
#if MASU_SHUFFLE_LANES > 1
  if (MASU_LANES <= MASU_SHUFFLE_LANES || mask < MASU_SHUFFLE_LANES) {
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < MASU_ITEMS / 2; ++e) {
      const int f = MASU_ITEMS - 1 - e;
      const MASU_ITEM left = shuffled(items[mirrored ? f : e], mask);
      const MASU_ITEM right = shuffled(items[mirrored ? e : f], mask);
#if MASU_INDEX_APART
      const uint left_index = masu_shuffle_xor(indices[mirrored ? f : e], mask);
      const uint right_index = masu_shuffle_xor(indices[mirrored ? e : f], mask);
#endif
      MASU_KEEP(e, left, left_index, lower)
      MASU_KEEP(f, right, right_index, lower)
    }
    return;
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_PRAGMA_UNROLL
  for (int e = 0; e < MASU_ITEMS; ++e) {
    shared[e * MASU_STRIDE + lane] = items[e];
#if MASU_INDEX_APART
    shared_indices[e * MASU_STRIDE + lane] = indices[e];
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_PRAGMA_UNROLL
  for (int e = 0; e < MASU_ITEMS; ++e) {
    const uint at = (uint)(mirrored ? MASU_ITEMS - 1 - e : e) * MASU_STRIDE + (lane ^ mask);
    const MASU_ITEM other = shared[at];
#if MASU_INDEX_APART
    const uint other_index = shared_indices[at];
#endif
    MASU_KEEP(e, other, other_index, lower)
  }
}

// Sorts the items of each MASU_LANES neighbouring work-items: lane l of them gets items l * MASU_ITEMS on, in order.
// Every work-item of the group comes here.
MASU_INLINE void sort_lanes(MASU_ITEM *items, uint *indices, const uint lane, __local MASU_ITEM *shared,
                            __local uint *shared_indices) {
  sort_own(items, indices);
  for (uint width = 1; width < MASU_LANES; width *= 2) {
#if MASU_SHUFFLE_LANES == 1  // one place with barriers: compilers that make loops of work-items take long for each
    for (uint distance = width; distance > 0; distance /= 2) {
      const bool mirrored = distance == width;
      pass_between(items, indices, lane, mirrored ? 2 * width - 1 : distance, (lane & distance) == 0, mirrored, shared,
                   shared_indices);
    }
#else
    pass_between(items, indices, lane, 2 * width - 1, (lane & width) == 0, true, shared, shared_indices);
    for (uint distance = width / 2; distance > 0; distance /= 2) {
      pass_between(items, indices, lane, distance, (lane & distance) == 0, false, shared, shared_indices);
    }
#endif
    merge_own(items, indices);
  }
}
