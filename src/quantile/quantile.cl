// SPDX-License-Identifier: Apache-2.0
// The stable partition around a key that stands in device memory: how many elements of each chunk are less than it and
// equal to it, then one read and one write. Behind elements.cl, order.cl, group_scan.cl, soft_float.cl and selection.cl.
// kernels.md has the parameters, which quantile_plan.h gives.
//
// Vectors are those of elements.cl. A chunk is what a work-group takes, in tiles of MASU_UNROLL vectors a work-item.

#define QUANTILE_TILE_VECTORS (MASU_GROUP * MASU_UNROLL)
#define QUANTILE_ROW_BITS ((1u << MASU_PER_VECTOR) - 1u)  // a bit for each element of a vector
#define QUANTILE_KEYS_AT_A_TIME 8  // that a work-item reads of the list
#define QUANTILE_SOURCE __global const uchar *data, const ulong byte_offset, const ulong count, const ulong chunk

#if MASU_SHUFFLE_LANES == 32 && MASU_GROUP >= 32
#define QUANTILE_SUB_GROUP MASU_SHUFFLE_LANES
#else
#define QUANTILE_SUB_GROUP 1
#endif

// What is written: elements, or their indices, which lie in local memory as places in a tile.
#if MASU_INDEX_BYTES == 0
#define QUANTILE_OUT_BYTES MASU_ELEMENT_BYTES
#define QUANTILE_STAGED MASU_ELEMENT
#else
#define QUANTILE_OUT_BYTES MASU_INDEX_BYTES
#define QUANTILE_STAGED ushort
#endif
#define QUANTILE_OUT_PER_VECTOR (16 / QUANTILE_OUT_BYTES)
#define QUANTILE_STAGED_VECTORS(items) (((items) + QUANTILE_OUT_PER_VECTOR - 1) / QUANTILE_OUT_PER_VECTOR)
// Room for a tile's items; each of the three parts begins where in a vector it does in the result.
#define QUANTILE_STAGED_ITEMS (QUANTILE_TILE_VECTORS * MASU_PER_VECTOR + 6 * QUANTILE_OUT_PER_VECTOR)

// An integer whose order is that of the elements; NaNs are the greatest. Both zeros, and NaNs, are several integers.
inline MASU_BITS place_in_order(const MASU_BITS bits) {
#if MASU_FLOAT
  const MASU_BITS least = (MASU_SIGN | MASU_INFINITY_BITS) ^ (MASU_SIGN - 1);
  const MASU_BITS sign = bits >> (SELECT_KEY_BITS - 1);
  return ((bits ^ (((MASU_BITS)0 - sign) & (MASU_SIGN - 1))) - least) & MASU_ALL_BITS;
#elif MASU_SIGNED
  return bits ^ MASU_SIGN;
#else
  return bits;
#endif
}

// Elements equal to the key are `first` to `last` by place_in_order().
typedef struct {
  MASU_BITS first, last;
} Pivot;
inline Pivot pivot_of(const MASU_BITS bits) {
  Pivot pivot;
  pivot.first = place_in_order(bits);
  pivot.last = pivot.first;
#if MASU_FLOAT
  const MASU_BITS magnitude = bits & (MASU_SIGN - 1);
  if (magnitude == 0) {
    pivot.first = place_in_order(MASU_SIGN);
    pivot.last = place_in_order(0);
  } else if (magnitude > MASU_INFINITY_BITS) {
    pivot.first = place_in_order(MASU_INFINITY_BITS) + 1;
    pivot.last = MASU_ALL_BITS;
  }
#endif
  return pivot;
}

// The elements of the tile that begins with vector `tile`: the first one has number `first`, and `front` in the tile.
typedef struct {
  ulong first;
  uint front, length;
} Tile;
inline Tile tile_at(const ulong tile, const uint gap, const ulong count) {
  const ulong begin = tile * MASU_PER_VECTOR;
  const ulong end = min(begin + QUANTILE_TILE_VECTORS * MASU_PER_VECTOR, gap + count);
  Tile here;
  here.front = begin < gap ? gap : 0;
  here.first = begin + here.front - gap;
  here.length = (uint)(end - begin) - here.front;
  return here;
}
inline bool is_whole(const Tile here) { return here.length == QUANTILE_TILE_VECTORS * MASU_PER_VECTOR; }
inline ulong vectors_of(const uint gap, const ulong count) { return (gap + count + MASU_PER_VECTOR - 1) / MASU_PER_VECTOR; }

// Vector r of a work-item in a tile is number place_of_vector(r): neighbours' lie side by side where they exchange.
inline uint place_of_vector(const uint r) {
  const uint lane = (uint)get_local_id(0);
  return (lane / QUANTILE_SUB_GROUP * MASU_UNROLL + r) * QUANTILE_SUB_GROUP + lane % QUANTILE_SUB_GROUP;
}
MASU_INLINE void load_tile(__global const uchar *bytes, const Tile here, uint4 *vectors) {
  __global const uchar *first = bytes + here.first * MASU_ELEMENT_BYTES;
  MASU_UNROLLED
  for (int r = 0; r < MASU_UNROLL; ++r) {
    const uint vector = place_of_vector(r);
    vectors[r] = is_whole(here) ? masu_load_streaming((__global const uint4 *)first + vector)
                                : load_vector(first, here.front, here.length, vector);
  }
}

// Which of a work-item's elements are less, and which are not greater: bit r * MASU_PER_VECTOR + number. What is no
// element of the tile is in neither.
MASU_INLINE void classify(const uint4 *vectors, const Tile here, const Pivot pivot, uint *less, uint *upto) {
  uint low = 0;
  uint most = 0;
  MASU_UNROLLED
  for (int r = 0; r < MASU_UNROLL; ++r) {
    const uint4 v = vectors[r];
#define MASU_EACH(bits, number)                                                \
  {                                                                            \
    const MASU_BITS place = place_in_order(bits);                              \
    low |= place < pivot.first ? 1u << (r * MASU_PER_VECTOR + number) : 0u;    \
    most |= place <= pivot.last ? 1u << (r * MASU_PER_VECTOR + number) : 0u;   \
  }
    MASU_EACH_OF(v)
#undef MASU_EACH
  }
  if (!is_whole(here)) {
    uint valid = 0;
    for (int n = 0; n < MASU_UNROLL * MASU_PER_VECTOR; ++n) {
      const uint place = place_of_vector(n / MASU_PER_VECTOR) * MASU_PER_VECTOR + n % MASU_PER_VECTOR;
      valid |= place - here.front < here.length ? 1u << n : 0u;
    }
    low &= valid;
    most &= valid;
  }
  *less = low;
  *upto = most;
}

// How many elements of each chunk are less than the key, and equal to it: two 64-bit numbers. Where the filter has listed
// what lies between bounds, from that; `bounded`: there was a filter.
__kernel MASU_WORK_GROUP(MASU_GROUP) void partition_count(QUANTILE_SOURCE, __global uchar *work, const ulong key_at,
                                                          const ulong parts_at, const uint bounded,
                                                          const ulong control_at, const ulong list_at,
                                                          const ulong filtered_at, __local uint *found) {
  MASU_LOCAL_POINTER(uint, found);
  __global const uint *control = (__global const uint *)(work + control_at);
  __global const uchar *bytes = data + byte_offset;
  const uint lane = (uint)get_local_id(0);
  const uint group = (uint)get_group_id(0);
  const uint gap = gap_of(bytes);
  const MASU_BITS bits = element_at(work + key_at, 0);
  const ulong first = group * chunk;
  const ulong end = min(first + chunk, vectors_of(gap, count));
  if (lane < 2) found[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint less = 0;
  uint equal = 0;
  if (bounded != 0 && control[control_states + state_listed] != 0) {
    __global const uint *filtered = (__global const uint *)(work + filtered_at);
    const Bounds bounds = bounds_of(control);
    const MASU_BITS key = ordered_key(bits);
    const bool has_lower = (bounds.has & SELECT_HAS_LOWER) != 0;
    const bool has_upper = (bounds.has & SELECT_HAS_UPPER) != 0;
    // 32 work-items take a tile's keys, some of each at a time.
    const uint step = MASU_GROUP < 32 ? MASU_GROUP : 32;
    for (ulong tile = first / MASU_FILTER_TILE + lane / step; tile * MASU_FILTER_TILE < end; tile += MASU_GROUP / step) {
      __global const uint *entry = filtered + tile * filtered_words;
      const size_t begin = entry[filtered_begin];
      const uint number = entry[filtered_above] >> 16;
      if (lane % step == 0) {
        const uint on_lower = has_lower ? entry[filtered_below] >> 16 : 0;
        const uint on_upper = has_upper ? entry[filtered_above] & 0xffffu : 0;
        less += (entry[filtered_below] & 0xffffu) + (key > bounds.lower ? on_lower : 0);
        equal += (key == bounds.lower ? on_lower : 0) + (key == bounds.upper ? on_upper : 0);
      }
      for (uint i = lane % step; i < number; i += QUANTILE_KEYS_AT_A_TIME * step) {
        MASU_UNROLLED
        for (uint k = 0; k < QUANTILE_KEYS_AT_A_TIME; ++k) {
          const bool some = i + k * step < number;
          const MASU_BITS here = some ? element_at(work + list_at, begin + i + k * step) : 0;
          less += some && here < key ? 1 : 0;
          equal += some && here == key ? 1 : 0;
        }
      }
    }
  } else {
    const Pivot pivot = pivot_of(bits);
    for (ulong tile = first; tile < end; tile += QUANTILE_TILE_VECTORS) {
      const Tile here = tile_at(tile, gap, count);
      uint4 vectors[MASU_UNROLL];
      load_tile(bytes, here, vectors);
      uint low;
      uint most;
      classify(vectors, here, pivot, &low, &most);
      less += (uint)popcount(low);
      equal += (uint)popcount(most & ~low);
    }
  }
  if (less != 0) atomic_add(&found[0], less);
  if (equal != 0) atomic_add(&found[1], equal);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < 2) ((__global ulong *)(work + parts_at))[2 * group + lane] = found[lane];
}

// The sums of the chunks' two numbers: in front of this work-group's, and of all, to sums[0] to [3].
MASU_INLINE void sums_of_chunks(__global const ulong *parts, __local ulong *sums) {
  const uint lane = (uint)get_local_id(0);
  ulong own[4] = {0, 0, 0, 0};
  for (uint g = lane; g < get_num_groups(0); g += MASU_GROUP) {
    for (uint which = 0; which < 2; ++which) {
      const ulong part = parts[2 * g + which];
      own[which] += g < get_group_id(0) ? part : 0;
      own[2 + which] += part;
    }
  }
  for (uint i = 0; i < 4; ++i) sums[4 * lane + i] = own[i];
  for (uint apart = MASU_GROUP / 2; apart > 0; apart /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < apart) {
      for (uint i = 0; i < 4; ++i) sums[4 * lane + i] += sums[4 * (lane + apart) + i];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// A part of a tile in local memory: items `begin` to `end`; item i goes to place `to` + i of the result.
typedef struct {
  ulong to;
  uint begin, end;
} Part;
// The part of `length` items after `before` others that goes to place `to` on, in a result that lies `gap` items in a vector.
inline Part part_of(const uint before, const uint length, const ulong to, const uint gap) {
  Part part;
  part.begin = QUANTILE_STAGED_VECTORS(before) * QUANTILE_OUT_PER_VECTOR + (uint)((to + gap) % QUANTILE_OUT_PER_VECTOR);
  part.end = part.begin + length;
  part.to = to - part.begin;
  return part;
}

// Vector number `vector` of a tile's items, whose tile begins with element `first`, to its place in the result.
MASU_INLINE void write_vector(__local const QUANTILE_STAGED *staged, const uint vector, const Part part, const ulong first,
                              __global uchar *result) {
  const uint item = vector * QUANTILE_OUT_PER_VECTOR;
  __global uchar *to = result + (part.to + item) * QUANTILE_OUT_BYTES;
  if (item >= part.begin && item + QUANTILE_OUT_PER_VECTOR <= part.end) {
#if MASU_INDEX_BYTES == 0
    *(__global uint4 *)to = ((__local const uint4 *)staged)[vector];
#else
    uint words[4];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < QUANTILE_OUT_PER_VECTOR; ++k) {
      const ulong index = first + staged[item + k];
      words[k * (MASU_INDEX_BYTES / 4)] = (uint)index;
      if (MASU_INDEX_BYTES == 8) words[2 * k + 1 & 3] = (uint)(index >> 32);
    }
    *(__global uint4 *)to = vector_of(words);
#endif
    return;
  }
  for (uint k = 0; k < QUANTILE_OUT_PER_VECTOR; ++k) {
    if (item + k < part.begin || item + k >= part.end) continue;
#if MASU_INDEX_BYTES == 0
    ((__global MASU_ELEMENT *)to)[k] = staged[item + k];
#elif MASU_INDEX_BYTES == 4
    ((__global uint *)to)[k] = (uint)(first + staged[item + k]);
#else
    ((__global ulong *)to)[k] = first + staged[item + k];
#endif
  }
}

// Each element, or its index, to its place. Work-group 0 writes how many are less and equal, two 64-bit numbers, to `sizes`.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void partition_scatter(QUANTILE_SOURCE, __global const uchar *work,
                                                                const ulong key_at, const ulong parts_at,
                                                                __global uchar *results, const ulong results_at,
                                                                __global uchar *sizes, const ulong sizes_at,
                                                                __local uint *partial, __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint, partial);
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local QUANTILE_STAGED *kept = (__local QUANTILE_STAGED *)local_memory;  // two tiles in turns
  __global const uchar *bytes = data + byte_offset;
  __global uchar *result = results + results_at;
  __local ulong *sums = (__local ulong *)local_memory;
  const uint lane = (uint)get_local_id(0);
  const uint gap = gap_of(bytes);
  const uint result_gap = (uint)((size_t)result & 15) / QUANTILE_OUT_BYTES;
  const Pivot pivot = pivot_of(element_at(work + key_at, 0));
  sums_of_chunks((__global const ulong *)(work + parts_at), sums);
  const ulong first_tile = get_group_id(0) * chunk;
  const ulong end = min(first_tile + chunk, vectors_of(gap, count));
  ulong less_to = sums[0];
  ulong equal_to = sums[2] + sums[1];
  ulong greater_to = sums[2] + sums[3] + tile_at(first_tile, gap, count).first - sums[0] - sums[1];
  if (get_group_id(0) == 0 && lane < 2) ((__global ulong *)(sizes + sizes_at))[lane] = sums[2 + lane];
  barrier(CLK_LOCAL_MEM_FENCE);
  uint turn = 0;
  for (ulong tile = first_tile; tile < end; tile += QUANTILE_TILE_VECTORS) {
    const Tile here = tile_at(tile, gap, count);
    __local QUANTILE_STAGED *staged = kept + turn * QUANTILE_STAGED_ITEMS;
    turn ^= 1;
    uint4 vectors[MASU_UNROLL];
    load_tile(bytes, here, vectors);
    uint less;
    uint upto;
    classify(vectors, here, pivot, &less, &upto);
    // How many are less (low half) and equal (high half): in front of each vector in the sub-group, then in the tile.
    uint before[MASU_UNROLL];
    uint own = 0;
    MASU_UNROLLED
    for (int r = 0; r < MASU_UNROLL; ++r) {
      const uint row = QUANTILE_ROW_BITS << (r * MASU_PER_VECTOR);
      const uint mine = (uint)popcount(less & row) + ((uint)popcount(upto & ~less & row) << 16);
#if QUANTILE_SUB_GROUP > 1
      const uint sum = masu_scan_lanes(mine);
      before[r] = own + sum - mine;
      own += masu_last_lane(sum);
#else
      before[r] = own;
      own += mine;
#endif
    }
    uint all;
#if QUANTILE_SUB_GROUP > 1
    const uint in_front = sums_before_sub_group(own, MASU_GROUP, partial, lane, &all);
#else
    const uint in_front = group_scan(own, MASU_GROUP, partial, lane, &all) - own;
#endif
    const uint less_length = all & 0xffffu;
    const uint equal_length = all >> 16;
    const uint greater_length = here.length - less_length - equal_length;
    const Part less_part = part_of(0, less_length, less_to, result_gap);
    const Part equal_part = part_of(less_part.end, equal_length, equal_to, result_gap);
    const Part greater_part = part_of(equal_part.end, greater_length, greater_to, result_gap);
    less_to += less_length;
    equal_to += equal_length;
    greater_to += greater_length;
    MASU_UNROLLED
    for (int r = 0; r < MASU_UNROLL; ++r) {
      const uint4 v = vectors[r];
      const uint number = place_of_vector(r) * MASU_PER_VECTOR - here.front;  // of the vector's first element in the tile
      const uint front = in_front + before[r];
      uint less_at = less_part.begin + (front & 0xffffu);
      uint equal_at = equal_part.begin + (front >> 16);
      uint greater_at = greater_part.begin + number - (front & 0xffffu) - (front >> 16);
#if MASU_INDEX_BYTES == 0
#define QUANTILE_ITEM(bits, n) (QUANTILE_STAGED)(bits)
#else
#define QUANTILE_ITEM(bits, n) ((void)(bits), (QUANTILE_STAGED)(number + (n)))
#endif
#define MASU_EACH(bits, n)                                                                           \
  {                                                                                                  \
    const uint bit = 1u << (r * MASU_PER_VECTOR + (n));                                              \
    const bool is_less = (less & bit) != 0;                                                          \
    const bool is_greater = (upto & bit) == 0;                                                       \
    const uint place = is_less ? less_at : is_greater ? greater_at : equal_at;                       \
    if (is_whole(here) || number + (n) < here.length) staged[place] = QUANTILE_ITEM(bits, n);        \
    less_at += is_less ? 1 : 0;                                                                      \
    greater_at += is_greater ? 1 : 0;                                                                \
    equal_at += is_less || is_greater ? 0 : 1;                                                       \
  }
      MASU_EACH_OF(v)
#undef MASU_EACH
#undef QUANTILE_ITEM
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint equal_vector = QUANTILE_STAGED_VECTORS(less_part.end);
    const uint greater_vector = QUANTILE_STAGED_VECTORS(equal_part.end);
    const uint all_vectors = QUANTILE_STAGED_VECTORS(greater_part.end);
    for (uint vector = lane; vector < all_vectors; vector += MASU_GROUP) {
      const Part part = vector < equal_vector ? less_part : vector < greater_vector ? equal_part : greater_part;
      write_vector(staged, vector, part, here.first, result);
    }
  }
}
