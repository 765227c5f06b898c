// SPDX-License-Identifier: Apache-2.0
// One pass over elements: how many lie below and within some ranges of values. The elements within are listed, or
// counted alone. Behind selection.cl and totals.cl. kernels.md has the parameters.

#define SELECT_MOST_RANGES 6
// The bits of the least and of the greatest value of a range.
#define SELECT_RANGE(i) const ulong low##i, const ulong high##i
#define SELECT_OF_RANGE(i, name) \
  (i == 0 ? name##0 : i == 1 ? name##1 : i == 2 ? name##2 : i == 3 ? name##3 : i == 4 ? name##4 : name##5)

// What is found, in words, after two totals of 64 bits for each range.
#define ranges_listed (4 * SELECT_MOST_RANGES)
#define ranges_nan (ranges_listed + 1)

// Adds to what is found: of each range the elements that are not from it on, NaNs among them, and those within it; how
// many elements are listed; whether there is a NaN. The list has room for `capacity` elements, in any order; what does
// not fit is left out, and counted.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void selection_ranges(
    SELECT_DATA, SELECT_RANGE(0), SELECT_RANGE(1), SELECT_RANGE(2), SELECT_RANGE(3), SELECT_RANGE(4), SELECT_RANGE(5),
    __global uchar* work, const ulong found_at, const ulong list_at, const uint capacity, __local uint4* held) {
  MASU_LOCAL_POINTER(uint4, held);                                          // a work-item's vectors of a tile
  __local uint* number = (__local uint*)(held + MASU_GROUP * MASU_UNROLL);  // listed of three tiles in turns
  __local uint* base = number + 3;
  __local uint* totals = number + 4;
  __global uint* found = (__global uint*)(work + found_at);
  __global uchar* list = work + list_at;
  __global const uchar* bytes = data + byte_offset;
  MASU_VALUE low[MASU_RANGES];
  MASU_VALUE high[MASU_RANGES];
  uint below[MASU_RANGES];
  uint within[MASU_RANGES];
  MASU_PRAGMA_UNROLL
  for (int r = 0; r < MASU_RANGES; ++r) {
    low[r] = MASU_AS_VALUE((MASU_BITS)SELECT_OF_RANGE(r, low));
    high[r] = MASU_AS_VALUE((MASU_BITS)SELECT_OF_RANGE(r, high));
    below[r] = 0;
    within[r] = 0;
  }
// `below` is counted down: a number that is selected is added in fewer steps than a counter is raised.
#define SELECT_LISTS(r) ((MASU_LISTED >> (r) & 1u) != 0)
#define SELECT_CLASSIFY_RANGES(bits, n)                 \
  {                                                     \
    const MASU_VALUE x = MASU_AS_VALUE(bits);           \
    bool in = false;                                    \
    MASU_PRAGMA_UNROLL                                  \
    for (int r = 0; r < MASU_RANGES; ++r) {             \
      const bool from = x >= low[r];                    \
      below[r] -= from ? 0u : 1u;                       \
      if (SELECT_LISTS(r)) in |= from && x <= high[r];  \
      else within[r] += from && x <= high[r] ? 1u : 0u; \
    }                                                   \
    mask |= in ? 1u << (n) : 0u;                        \
    nan |= x != x;                                      \
  }
  const uint lane = (uint)get_local_id(0);
  if (lane < 4 + 2 * MASU_RANGES) number[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint gap = gap_of(bytes);
  const ulong vectors = ((ulong)gap + count + MASU_PER_VECTOR - 1) / MASU_PER_VECTOR;
  const ulong tile_vectors = (ulong)MASU_GROUP * MASU_UNROLL;
  bool nan = false;
  uint turn = 0;
  for (ulong tile = get_group_id(0) * tile_vectors; tile < vectors; tile += get_num_groups(0) * tile_vectors) {
    const bool whole = tile * MASU_PER_VECTOR >= gap && (tile + tile_vectors) * MASU_PER_VECTOR <= (ulong)gap + count;
    uint4 loaded[MASU_UNROLL];
    uint mask = 0;  // which elements are listed
    if (whole) {
      __global const uint4* body = (__global const uint4*)(bytes - gap * MASU_ELEMENT_BYTES) + tile + lane;
      MASU_UNROLLED
      for (int k = 0; k < MASU_UNROLL; ++k) loaded[k] = masu_load_streaming(body + k * MASU_GROUP);
      MASU_UNROLLED
      for (int k = 0; k < MASU_UNROLL; ++k) {
        const uint4 v = loaded[k];
#define MASU_EACH(bits, number) SELECT_CLASSIFY_RANGES(bits, k* MASU_PER_VECTOR + number)
        MASU_EACH_OF(v)
#undef MASU_EACH
      }
    } else {
      const uint first_element = (uint)((tile + lane) * MASU_PER_VECTOR) - gap;
      MASU_UNROLLED
      for (int k = 0; k < MASU_UNROLL; ++k) {
        const ulong vector = tile + lane + (ulong)(k * MASU_GROUP);
        const uint left = vector < vectors ? count : 0;
        loaded[k] = load_vector(bytes, gap, left, vector);
        const uint4 v = loaded[k];
        const uint e = first_element + k * MASU_GROUP * MASU_PER_VECTOR;
#define MASU_EACH(bits, number) \
  if (e + number < left) SELECT_CLASSIFY_RANGES(bits, k* MASU_PER_VECTOR + number)
        MASU_EACH_OF(v)
#undef MASU_EACH
      }
    }
    hold_listed(mask, loaded, held);
    const uint own = (uint)popcount(mask);
    const uint together = masu_scan_lanes(own);
    uint place = 0;
    if (lane % MASU_SHUFFLE_LANES == MASU_SHUFFLE_LANES - 1 && together != 0)
      place = atomic_add(&number[turn], together);
    place = masu_last_lane(place) + together - own;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint next = next_turn(turn);
    if (lane == 0) {
      base[0] = number[turn] != 0 ? atomic_add(&found[ranges_listed], number[turn]) : 0;
      number[next_turn(next)] = 0;
    }
    turn = next;
    barrier(CLK_LOCAL_MEM_FENCE);
    place += base[0];
    for (; mask != 0; mask &= mask - 1) {
      const MASU_BITS bits = first_listed(mask, held);
      if (place < capacity) set_element(list, place, bits);
      ++place;
      MASU_PRAGMA_UNROLL
      for (int r = 0; r < MASU_RANGES; ++r) {
        if (SELECT_LISTS(r)) within[r] += MASU_AS_VALUE(bits) >= low[r] && MASU_AS_VALUE(bits) <= high[r] ? 1u : 0u;
      }
    }
  }
  MASU_PRAGMA_UNROLL
  for (int r = 0; r < MASU_RANGES; ++r) {
    const uint all_below = masu_sum_lanes(0u - below[r]);
    const uint all_within = masu_sum_lanes(within[r]);
    if (lane % MASU_SHUFFLE_LANES == MASU_SHUFFLE_LANES - 1) {
      atomic_add(&totals[2 * r], all_below);
      atomic_add(&totals[2 * r + 1], all_within);
    }
  }
  if (nan) atomic_or(&found[ranges_nan], 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < 2 * MASU_RANGES) add_total(found + 2 * lane, totals[lane]);
}
