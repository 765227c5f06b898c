// SPDX-License-Identifier: Apache-2.0
// Rows and segments that fit a work-group, each sorted by itself in registers, in OpenCL C 1.2 (and, after the CUDA
// prelude, in CUDA C++). A work-group takes a tile: as many rows as it has room for, each padded with what comes last.
// sort_key.cl stands in front of this file.
//
// Keys alone need no index where equal keys have equal bits. Floats have two zeros and many NaNs: a tile that has both
// zeros, or other NaNs than one of the two that processors make, is left as it is and noted in a list, and a second
// launch, with indices, sorts what is in the list.
//
// A bitonic network sorts items that several work-items hold in registers. The passes are those of examples/bitonic.h: distances
// within a work-item's own items need no exchange, those between lanes are shuffles where the device has them, and else go
// through local memory. An item is what is compared: a key, or a key with its index below it, so that no two are equal.
// 8-byte keys leave no room for the index, which is then a word of its own.
//
// kernels.md has the parameters, which sort_rows.cpp gives.

#define SORT_INDEX_APART (MASU_INDEXED && MASU_ELEMENT_BYTES == 8)
#if MASU_INDEXED && MASU_ELEMENT_BYTES < 4
typedef uint Item;
#define MASU_INDEX_BITS 16
#elif MASU_INDEXED && MASU_ELEMENT_BYTES == 4
typedef ulong Item;
#define MASU_INDEX_BITS 32
#else
typedef MASU_BITS Item;
#define MASU_INDEX_BITS 0
#endif

// Local memory: item e of lane l at e * item_stride + l. The stride keeps neighbours in a row, too, from sharing a bank.
enum { item_stride = MASU_GROUP + MASU_LOCAL_PAD };

// In these, `items` and `indices` are arrays of MASU_ITEMS in registers: every subscript is known when compiled.
#if SORT_INDEX_APART
#define SORT_COMES_FIRST(a, a_index, b, b_index) ((a) < (b) || ((a) == (b) && (a_index) < (b_index)))
// The lesser of items i and j goes to i.
#define SORT_IN_ORDER(i, j)                                                                  \
  {                                                                                          \
    const Item a = items[i], b = items[j];                                              \
    const uint a_index = indices[i], b_index = indices[j];                                   \
    const bool exchanged = SORT_COMES_FIRST(b, b_index, a, a_index);                         \
    items[i] = exchanged ? b : a, items[j] = exchanged ? a : b;                              \
    indices[i] = exchanged ? b_index : a_index, indices[j] = exchanged ? a_index : b_index;  \
  }
// Item i becomes the lesser of itself and another where `lower`, else the greater.
#define SORT_KEEP(i, other, other_index, lower)                                            \
  if (SORT_COMES_FIRST(other, other_index, items[i], indices[i]) == (lower)) {             \
    items[i] = other;                                                                      \
    indices[i] = other_index;                                                              \
  }
#else
#define SORT_IN_ORDER(i, j)                     \
  {                                             \
    const Item a = items[i], b = items[j]; \
    items[i] = min(a, b), items[j] = max(a, b); \
  }
#define SORT_KEEP(i, other, other_index, lower) \
  if ((other < items[i]) == (lower)) items[i] = other;
#endif

MASU_INLINE Item shuffled(const Item x, const uint mask) {
#if MASU_SHUFFLE_LANES == 1
  return x;
#else
  if (sizeof x == 4) return (Item)masu_shuffle_xor((uint)x, mask);
  return (Item)((ulong)masu_shuffle_xor((uint)((ulong)x >> 32), mask) << 32 | masu_shuffle_xor((uint)x, mask));
#endif
}

// All passes of a stage within each work-item, from the distance MASU_ITEMS / 2 on.
MASU_INLINE void merge_own(Item *items, uint *indices) {
  MASU_PRAGMA_UNROLL
  for (int distance = MASU_ITEMS / 2; distance > 0; distance /= 2) {
    MASU_PRAGMA_UNROLL
    for (int i = 0; i < MASU_ITEMS; ++i) {
      if ((i & distance) == 0) SORT_IN_ORDER(i, i + distance)
    }
  }
}

// Sorts the items of each work-item: by Batcher's odd-even merging, which needs fewer comparisons than the bitonic one, and
// whose irregular pairs cost nothing here.
MASU_INLINE void sort_own(Item *items, uint *indices) {
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
        if (compared) SORT_IN_ORDER(i, i + distance)
      }
    }
  }
}

// One pass between lanes `mask` apart (as bits). A mirrored pass compares with the other's items in reverse order.
MASU_INLINE void pass_between(Item *items, uint *indices, const uint lane, const uint mask, const bool lower,
                              const bool mirrored, __local Item *shared, __local uint *shared_indices) {
#if MASU_SHUFFLE_LANES > 1
  if (MASU_LANES <= MASU_SHUFFLE_LANES || mask < MASU_SHUFFLE_LANES) {
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < MASU_ITEMS / 2; ++e) {
      const int f = MASU_ITEMS - 1 - e;
      const Item left = shuffled(items[mirrored ? f : e], mask);
      const Item right = shuffled(items[mirrored ? e : f], mask);
#if SORT_INDEX_APART
      const uint left_index = masu_shuffle_xor(indices[mirrored ? f : e], mask);
      const uint right_index = masu_shuffle_xor(indices[mirrored ? e : f], mask);
#endif
      SORT_KEEP(e, left, left_index, lower)
      SORT_KEEP(f, right, right_index, lower)
    }
    return;
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_PRAGMA_UNROLL
  for (int e = 0; e < MASU_ITEMS; ++e) {
    shared[e * item_stride + lane] = items[e];
#if SORT_INDEX_APART
    shared_indices[e * item_stride + lane] = indices[e];
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  MASU_PRAGMA_UNROLL
  for (int e = 0; e < MASU_ITEMS; ++e) {
    const uint at = (uint)(mirrored ? MASU_ITEMS - 1 - e : e) * item_stride + (lane ^ mask);
    const Item other = shared[at];
#if SORT_INDEX_APART
    const uint other_index = shared_indices[at];
#endif
    SORT_KEEP(e, other, other_index, lower)
  }
}

// Sorts the items of each MASU_LANES neighbouring work-items: lane l of them gets items l * MASU_ITEMS on, in order.
// Every work-item of the group comes here.
MASU_INLINE void sort_lanes(Item *items, uint *indices, const uint lane, __local Item *shared,
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

enum { tile_rows = MASU_GROUP / MASU_LANES };

// Keys as they are compared without an index, and back. Floats each have their own, and those with a minus before NaN come before
// the infinity: that is mended below.
#define SORT_TURN (MASU_DESCENDING ? MASU_ALL_BITS : 0)
MASU_INLINE MASU_BITS item_of(const MASU_BITS bits) { return distinct_key(bits) ^ SORT_TURN; }
MASU_INLINE MASU_ELEMENT key_of(const MASU_BITS item) { return (MASU_ELEMENT)bits_of_distinct(item ^ SORT_TURN); }

#define SORT_CAN_DIFFER (MASU_ELEMENT_CLASS == 2 && !MASU_INDEXED)
#if SORT_CAN_DIFFER
// What a tile holds of keys that are equal, but not in their bits.
enum {
  met_plus_zero = 1U,
  met_minus_zero = 2U,
  met_plus_nan = 4U,
  met_minus_nan = 8U,
  met_other_nan = 16U,
  met_nans = met_plus_nan | met_minus_nan | met_other_nan,
};
MASU_INLINE uint kind_of_nan(const MASU_BITS bits) {
  if (bits == MASU_QUIET_NAN) return met_plus_nan;
  return bits == (MASU_QUIET_NAN | MASU_SIGN) ? met_minus_nan : met_other_nan;
}
// Whether keys of these kinds may stand in an order that can be seen.
MASU_INLINE bool differ(const uint kinds) {
  const uint zeros = met_plus_zero | met_minus_zero;
  const uint nans = met_plus_nan | met_minus_nan;
  return (kinds & zeros) == zeros || (kinds & nans) == nans || (kinds & met_other_nan) != 0;
}
#endif

// Rows: `pieces` of `piece_length` keys, each cut into `piece_rows` rows of `row_length` keys, the last shorter. With
// MASU_SEGMENTS: row r has lengths[first_row + r]
// keys from begins[first_row + r] on.
#if MASU_SEGMENTS
#define SORT_ROWS __global const ulong *begins, __global const uint *lengths, const ulong first_row, const ulong rows
#else
#define SORT_ROWS const ulong piece_length, const ulong piece_rows, const uint row_length, const ulong rows
#endif

#define SORT_INSIDE(i) (MASU_WHOLE ? length != 0 : (i) < length)

__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sort_rows(
    __global const uchar* source, const ulong source_offset, __global uchar* target, const ulong target_offset,
    __global const uchar* record_source, const ulong record_source_offset, __global uchar* record_target,
    const ulong record_target_offset, const uint record_units, __global uchar* index_target, const ulong index_offset,
    SORT_ROWS, const ulong first_tile, __global uchar* list_memory, const ulong list_offset, __local Item* shared,
    __local uint* shared_indices) {
  MASU_LOCAL_POINTER(Item, shared);
  MASU_LOCAL_POINTER(uint, shared_indices);
  __global const MASU_ELEMENT* from = (__global const MASU_ELEMENT*)(source + source_offset);
  __global MASU_ELEMENT* to = (__global MASU_ELEMENT*)(target + target_offset);
#if MASU_LISTED || SORT_CAN_DIFFER
  __global uint* list = (__global uint*)(list_memory + list_offset);
#endif
  const uint lane = (uint)get_local_id(0);
  const uint row_lane = lane & (MASU_LANES - 1);
#if MASU_LISTED
  for (uint place = (uint)get_group_id(0); place < list[0]; place += (uint)get_num_groups(0)) {
    const ulong tile = list[1 + place];
#else
  {
    const ulong tile = first_tile + get_group_id(0);
#endif
    const ulong row = tile * tile_rows + lane / MASU_LANES;
    ulong begin = 0;
#if !MASU_SEGMENTS || MASU_INDEX_BYTES != 0
    ulong base = 0;   // where the row begins in its piece
#endif
    uint length = 0;  // of a row that there is not
    if (row < rows) {
#if MASU_SEGMENTS
      begin = begins[first_row + row];
      length = lengths[first_row + row];
#else
      const ulong piece = piece_rows == 1 ? row : row / piece_rows;
      base = (row - piece * piece_rows) * row_length;
      begin = piece * piece_length + base;
      length = (uint)min((ulong)row_length, piece_length - base);
#endif
    }

    MASU_BITS keys[MASU_ITEMS];
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < MASU_ITEMS; ++e) {
      const uint i = e * MASU_LANES + row_lane;
      keys[e] = 0;
      if (SORT_INSIDE(i)) keys[e] = from[begin + i];
    }
    Item items[MASU_ITEMS];
    uint indices[MASU_ITEMS];
#if SORT_CAN_DIFFER
    bool plus_zero = false, minus_zero = false, nan = false;
#endif
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < MASU_ITEMS; ++e) {
      const uint i = e * MASU_LANES + row_lane;
      const bool inside = SORT_INSIDE(i);
      indices[e] = i;
#if !MASU_INDEXED
      items[e] = inside ? item_of(keys[e]) : MASU_ALL_BITS;
#elif SORT_INDEX_APART
      items[e] = inside ? sort_key(keys[e]) : MASU_ALL_BITS;
#else
    items[e] = (Item)(inside ? sort_key((MASU_ELEMENT)keys[e]) : MASU_ALL_BITS) << MASU_INDEX_BITS | i;
#endif
#if SORT_CAN_DIFFER
      plus_zero |= inside & (keys[e] == 0);
      minus_zero |= inside & (keys[e] == MASU_SIGN);
      nan |= inside & ((keys[e] & (MASU_SIGN - 1)) > MASU_INFINITY_BITS);
#endif
    }
#if SORT_CAN_DIFFER
    uint kinds = (plus_zero ? met_plus_zero : 0) | (minus_zero ? met_minus_zero : 0);
    if (nan) {  // a minus is taken away for now
      MASU_PRAGMA_UNROLL
      for (int e = 0; e < MASU_ITEMS; ++e) {
        const MASU_BITS bits = key_of(items[e]);
        if (SORT_INSIDE(e * MASU_LANES + row_lane) && (bits & (MASU_SIGN - 1)) > MASU_INFINITY_BITS) {
          kinds |= kind_of_nan(bits);
          items[e] = item_of(MASU_QUIET_NAN);
        }
      }
    }
    if (lane == 0) shared_indices[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (kinds != 0) atomic_or(&shared_indices[0], kinds);
    barrier(CLK_LOCAL_MEM_FENCE);
    kinds = shared_indices[0];
    if (differ(kinds)) {  // the same for all work-items
      if (lane == 0) list[1 + atomic_inc(&list[0])] = (uint)tile;
      return;
    }
#endif
    sort_lanes(items, indices, lane, shared, shared_indices);

#if SORT_CAN_DIFFER
    if ((kinds & met_minus_nan) != 0) {
      MASU_PRAGMA_UNROLL
      for (int e = 0; e < MASU_ITEMS; ++e) {
        if (items[e] == item_of(MASU_QUIET_NAN)) items[e] = item_of(MASU_QUIET_NAN | MASU_SIGN);
      }
    }
#endif

    // From an order in which each lane has neighbours to one in which lanes are neighbours.
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < MASU_ITEMS; ++e) {
#if SORT_INDEX_APART
      shared_indices[e * item_stride + lane] = indices[e];
#else
      shared[e * item_stride + lane] = items[e];
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if ((MASU_INDEXED != 0) | (MASU_WHOLE == 0) | (length != 0)) {
      MASU_PRAGMA_UNROLL
      for (int e = 0; e < MASU_ITEMS; ++e) {
        const uint i = e * MASU_LANES + row_lane;
        const uint at = i % MASU_ITEMS * item_stride + (lane - row_lane) + i / MASU_ITEMS;
#if !MASU_INDEXED
        if ((MASU_WHOLE != 0) | (i < length)) to[begin + i] = key_of(shared[at]);
#elif SORT_INDEX_APART
        indices[e] = shared_indices[at];
#else
      indices[e] = (uint)(shared[at] & (((Item)1 << MASU_INDEX_BITS) - 1));
#endif
      }
    }

#if MASU_INDEXED
#if MASU_INDEX_BYTES != 0
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < MASU_ITEMS; ++e) {
      const uint i = e * MASU_LANES + row_lane;
      if (SORT_INSIDE(i))
        ((__global MASU_INDEX*)(index_target + index_offset))[begin + i] = (MASU_INDEX)(base + indices[e]);
    }
#endif
    // What moves may move within one array: all is read before any is written. Rows of other groups lie elsewhere.
#if MASU_MOVES_KEYS
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < MASU_ITEMS; ++e) {
      if (SORT_INSIDE(e * MASU_LANES + row_lane)) keys[e] = from[begin + indices[e]];
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    MASU_PRAGMA_UNROLL
    for (int e = 0; e < MASU_ITEMS; ++e) {
      const uint i = e * MASU_LANES + row_lane;
      if (SORT_INSIDE(i)) to[begin + i] = (MASU_ELEMENT)keys[e];
    }
#endif
#if MASU_RECORD_UNIT != 0
    __global const MASU_RECORD* records = (__global const MASU_RECORD*)(record_source + record_source_offset);
    __global MASU_RECORD* moved = (__global MASU_RECORD*)(record_target + record_target_offset);
    for (uint unit = 0; unit < record_units; ++unit) {
      MASU_RECORD units[MASU_ITEMS];
      MASU_PRAGMA_UNROLL
      for (int e = 0; e < MASU_ITEMS; ++e) {
        units[e] = 0;
        if (SORT_INSIDE(e * MASU_LANES + row_lane)) units[e] = records[(begin + indices[e]) * record_units + unit];
      }
      barrier(CLK_GLOBAL_MEM_FENCE);
      MASU_PRAGMA_UNROLL
      for (int e = 0; e < MASU_ITEMS; ++e) {
        const uint i = e * MASU_LANES + row_lane;
        if (SORT_INSIDE(i)) moved[(begin + i) * record_units + unit] = units[e];
      }
    }
#endif
#endif
#if MASU_LISTED
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
}
