// SPDX-License-Identifier: Apache-2.0
// Top-k of one long row in one pass: a threshold from a sample, everything above it gathered, what is equal to it
// counted tile by tile, and only the first of these gathered. selection_row.cl, scrambled.cl and
// topk_select.cl stand in front of this file; topk_order.cl has the step that brings what was gathered into order.
//
// kernels.md has the parameters, which topk_plan.cpp gives.

#define TOPK_TILE_VECTORS (MASU_GROUP * MASU_UNROLL)

inline uint tiles_of(const uint gap, const uint count) {
  const ulong vectors = ((ulong)gap + count + MASU_PER_VECTOR - 1) / MASU_PER_VECTOR;
  return (uint)((vectors + TOPK_TILE_VECTORS - 1) / TOPK_TILE_VECTORS);
}

// 2^shift elements are looked at, and MASU_SAMPLES ranks are left: each the greatest of those that MASU_LOOKERS work-items
// of a work-group see. The data is cut into 2^shift equal parts and an element is taken from each; neighbouring parts are
// of different ranks. Also clears `control`.
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_sample(TOPK_DATA, TOPK_WORK, const uint shift,
                                                      __local MASU_BITS *seen) {
  MASU_LOCAL_POINTER(MASU_BITS, seen);
  __global MASU_BITS *ranks = TOPK_AT(MASU_BITS, ranks_at);
  __global uint *control = TOPK_AT(uint, control_at);
  if (get_global_id(0) < control_words) control[get_global_id(0)] = 0;
  const uint ranks_here = MASU_GROUP / MASU_LOOKERS;
  const uint lane = (uint)get_local_id(0);
  const uint first_rank = (uint)get_group_id(0) * ranks_here;
  const uint first_part = first_rank + lane % ranks_here + lane / ranks_here * MASU_SAMPLES;
  const uint parts = 1u << shift;
  const uint width = count >> shift;
  const uint length = TOPK_LENGTH(0);  // after it are ranks of 0
  MASU_BITS most = 0;
  MASU_BITS looked[MASU_LOOKS];  // all on their way at once
  bool there[MASU_LOOKS];
  MASU_UNROLLED
  for (int i = 0; i < MASU_LOOKS; ++i) {
    const uint part = first_part + i * MASU_LOOKERS * MASU_SAMPLES;
    const ulong place = ((ulong)part * count >> shift) + ((ulong)scrambled(part) * width >> 32);
    there[i] = part < parts && place < length;
    looked[i] = there[i] ? element_at(data + byte_offset, (size_t)place) : 0;
  }
  MASU_UNROLLED
  for (int i = 0; i < MASU_LOOKS; ++i) {
    const MASU_BITS rank = rank_of(looked[i]);
    if (there[i] && rank > most) most = rank;
  }
  seen[lane] = most;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < ranks_here) {
    for (uint other = lane; other < MASU_GROUP; other += ranks_here) most = seen[other] > most ? seen[other] : most;
    ranks[first_rank + lane] = most;
  }
}

// One work-group: the threshold is the `rest`-th greatest of MASU_SAMPLES ranks.
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_threshold(TOPK_WORK, const uint rest_of_all,
                                                         __local uint *local_words) {
  MASU_LOCAL_POINTER(uint, local_words);
  __global const MASU_BITS *ranks = TOPK_AT(const MASU_BITS, ranks_at);
  __global uint *control = TOPK_AT(uint, control_at);
  __local uint *tables = local_words;
  __local uint *partial = tables + SELECT_ROW_DIGITS;
  __local uint *state = partial + MASU_GROUP;
  const uint lane = (uint)get_local_id(0);
  MASU_BITS mine[MASU_SAMPLES / MASU_GROUP];
  MASU_UNROLLED
  for (int i = 0; i < MASU_SAMPLES / MASU_GROUP; ++i) mine[i] = ranks[lane + i * MASU_GROUP];
  uint rest = rest_of_all;
  ulong prefix = 0;
  for (int shift = 8 * MASU_ELEMENT_BYTES - 8; shift >= 0; shift -= 8) {
    clear_words(tables, SELECT_ROW_DIGITS);
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_UNROLLED
    for (int i = 0; i < MASU_SAMPLES / MASU_GROUP; ++i) {
      const ulong front = (ulong)mine[i] >> shift;
      if (front >> 8 == prefix) count_digit(tables, (uint)front & 255u);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    find_digit(tables, partial, state, rest);
    prefix = prefix << 8 | state[row_digit];
    rest -= state[row_above];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) {
    control[control_threshold] = (uint)prefix;
    control[control_threshold + 1] = (uint)(prefix >> 32);
  }
}

// All ranks, in the order of the elements, and ranks of 0 after them.
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_ranks(TOPK_DATA, __global uchar *restrict ranks, const ulong ranks_at) {
  __global const uchar *bytes = data + byte_offset;
  const uint length = TOPK_LENGTH(0);
  for (size_t i = get_global_id(0); i < count; i += get_global_size(0)) {
    set_element(ranks + ranks_at, i, i < length ? rank_of(element_at(bytes, i)) : 0);
  }
}

// The threshold is the rank of an element, or that rank itself where it was selected among ranks: nothing is known yet of
// what reaches it. One work-group.
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_exact(TOPK_WORK, __global const uchar *restrict element,
                                                     const ulong element_at_byte, const uint is_rank) {
  __global uint *control = TOPK_AT(uint, control_at);
  const MASU_BITS found = element_at(element + element_at_byte, 0);
  const ulong rank = is_rank != 0 ? found : rank_of(found);
  const uint lane = (uint)get_local_id(0);
  if (lane >= control_words) return;
  control[lane] = lane == control_threshold ? (uint)rank : lane == control_threshold + 1 ? (uint)(rank >> 32) : 0;
}

#if MASU_ELEMENT_BYTES == 1
#define TOPK_MASK ulong
#else
#define TOPK_MASK uint
#endif

// The value that the next higher rank stands for: what is above the threshold reaches it, and what is equal does not.
inline MASU_VALUE next_value(const MASU_BITS threshold) {
  return MASU_AS_VALUE(bits_of_rank(threshold + 1));
}

// With collect 0: gathers what is above the threshold and counts for each tile what is equal to it, until the work-group
// has seen k such elements: no later one is needed, and constant data costs no more than other data. With collect 1:
// gathers what is equal, in the tiles whose count is not 0. Entries after the last place are counted and not stored.
// No barrier stands in a branch, nor after a `return` or `continue`: PoCL 3.1 computes wrong results there.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void topk_filter(TOPK_DATA, TOPK_WORK, const uint k_first,
                                                                           const uint places, const uint collect,
                                                                           __local uint *words) {
  MASU_LOCAL_POINTER(uint, words);
  __local uint *found = words;       // of three tiles in turns
  __local uint *equals = words + 3;  // likewise
  __local uint *base = words + 6;
  __global uint *control = TOPK_AT(uint, control_at);
  __global uint *tiles = TOPK_AT(uint, tiles_at);
  __global ulong *keys = TOPK_AT(ulong, keys_at);
#if TOPK_PAIRS
  __global uint *indices = TOPK_AT(uint, indices_at);
#endif
  __global const uchar *bytes = data + byte_offset;
  const uint lane = (uint)get_local_id(0);
  // Nobody adds to `above` while equal ones are gathered.
  const uint first_place = collect != 0 ? control[control_above] : 0;
  __global uint *gathered = control + (collect != 0 ? control_taken : control_above);
  const MASU_BITS threshold = threshold_of(control);
  // No number has the threshold: ranks are compared.
  const bool by_rank = MASU_FLOAT && (threshold == SELECT_NAN_RANK || threshold == 0);
  const MASU_VALUE t = MASU_AS_VALUE(bits_of_rank(threshold));
  MASU_VALUE looked_for = t;  // what reaches it is looked at
  bool closed = false;        // nothing is
  uint seen = 0;
  const uint gap = gap_of(bytes);
  const uint length = TOPK_LENGTH(0);
  const uint all_tiles = collect != 0 ? control[control_end] : tiles_of(gap, length);
  if (lane < 8) words[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
#if MASU_SKIP
  __local uint *nans = words + 7;
  uint my_nans = 0;
#endif
  uint turn = 0;
  for (uint tile = (uint)get_group_id(0); tile < all_tiles; tile += (uint)get_num_groups(0)) {
    const bool wanted = collect == 0 || tiles[tile] != 0;
    const uint count_here = wanted ? length : 0;  // else nothing is loaded
    const ulong first = (ulong)tile * TOPK_TILE_VECTORS + lane;
    const uint first_element = (uint)(first * MASU_PER_VECTOR) - gap;  // wraps round before the first element
    uint4 loaded[MASU_UNROLL];
    if ((first - lane) * MASU_PER_VECTOR >= gap &&
        (first - lane + TOPK_TILE_VECTORS) * MASU_PER_VECTOR <= (ulong)gap + count_here) {
      __global const uint4 *body = (__global const uint4 *)(bytes - gap * MASU_ELEMENT_BYTES) + first;
      MASU_UNROLLED
      for (int k = 0; k < MASU_UNROLL; ++k) loaded[k] = masu_load_streaming(body + k * MASU_GROUP);
    } else {
      MASU_UNROLLED
      for (int k = 0; k < MASU_UNROLL; ++k) loaded[k] = load_vector(bytes, gap, count_here, first + k * MASU_GROUP);
    }
    TOPK_MASK mask = 0;  // which elements are gathered
    uint equal = 0;
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) {
      const uint4 v = loaded[k];
      bool any = by_rank;
#define MASU_EACH(bits, number) any |= TOPK_REACHES(MASU_AS_VALUE(bits), looked_for);
      MASU_EACH_OF(v)
#undef MASU_EACH
#if MASU_SKIP
// Zeros stand where a vector holds elements of others: they are no NaNs.
#define MASU_EACH(bits, number) my_nans += ((bits) & ~MASU_SIGN) > MASU_INFINITY_BITS ? 1 : 0;
      MASU_EACH_OF(v)
#undef MASU_EACH
#endif
      if (any && !closed) {
        const uint e = first_element + k * MASU_GROUP * MASU_PER_VECTOR;
#define MASU_EACH(bits, number)                                                         \
  {                                                                                     \
    const MASU_VALUE x = MASU_AS_VALUE(bits);                                           \
    const bool above = by_rank ? rank_of(bits) > threshold : TOPK_EXCEEDS(x, t);        \
    const bool same = by_rank ? rank_of(bits) == threshold : TOPK_REACHES(x, t) && !above; \
    if (e + number < count_here) {                                                      \
      if (collect != 0 ? same : above) mask |= (TOPK_MASK)1 << (k * MASU_PER_VECTOR + number); \
      equal += same ? 1 : 0;                                                            \
    }                                                                                   \
  }
        MASU_EACH_OF(v)
#undef MASU_EACH
      }
    }
    uint mine = 0;
    const uint many = (uint)popcount(mask);
    if (many != 0) mine = atomic_add(&found[turn], many);
    if (equal != 0) atomic_add(&equals[turn], equal);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint next = next_turn(turn);
    const uint all = found[turn];
    seen += equals[turn];
    if (seen >= k_first && collect == 0) {
      closed = threshold == MASU_ALL_BITS;
      if (!by_rank) looked_for = next_value(threshold);
    }
    if (lane == 0) {
      if (collect == 0) tiles[tile] = equals[turn];
      if (all != 0) base[0] = first_place + atomic_add(gathered, all);
      found[next_turn(next)] = 0;
      equals[next_turn(next)] = 0;
    }
    turn = next;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint place = base[0] + mine; mask != 0 && place < places; mask &= mask - 1, ++place) {
      const uint bit = (uint)popcount((TOPK_MASK)((mask & (0 - mask)) - 1));
      const uint e = first_element + bit / MASU_PER_VECTOR * (MASU_GROUP * MASU_PER_VECTOR) + bit % MASU_PER_VECTOR;
      keys[place] = key_of_entry(rank_of(element_at(bytes, e)), e);
#if TOPK_PAIRS
      indices[place] = e;
#endif
    }
  }
#if MASU_SKIP
  if (collect == 0 && my_nans != 0) atomic_add(nans, my_nans);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane == 0 && nans[0] != 0) atomic_add(&control[control_nan], nans[0]);
#endif
}

// One work-group: how many of the equal elements are needed, and which tiles have the first of them. Tiles after these
// are set to 0, up to control_end; nothing looks further. control_equal is not less than what is needed, if there are as
// many.
#define TOPK_SCANNED 16  // tiles that a work-item takes at a time
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_scan(TOPK_DATA, TOPK_WORK, const uint k, __local uint *sums) {
  MASU_LOCAL_POINTER(uint, sums);
  __global uint *control = TOPK_AT(uint, control_at);
  __global uint *tiles = TOPK_AT(uint, tiles_at);
  const uint lane = (uint)get_local_id(0);
  const uint all_tiles = tiles_of(gap_of(data + byte_offset), TOPK_LENGTH(0));
  const uint above = control[control_above];
  const long missing = (long)k - (long)above;  // in 32 bits, Oclgrind 21.10 would not know the instruction
  const uint needed = missing > 0 ? (uint)missing : 0;
  uint total = 0;
  uint last = 0;
  for (uint begin = 0; begin < all_tiles && total < needed; begin += MASU_GROUP * TOPK_SCANNED) {
    const uint first = begin + lane * TOPK_SCANNED;
    uint equal[TOPK_SCANNED];
    uint sum = 0;
    MASU_UNROLLED
    for (int i = 0; i < TOPK_SCANNED; ++i) {
      equal[i] = first + i < all_tiles ? tiles[first + i] : 0;
      sum += equal[i];
    }
    uint all;
    uint before = total + group_scan(sum, MASU_GROUP, sums, lane, &all) - sum;
    MASU_UNROLLED
    for (int i = 0; i < TOPK_SCANNED; ++i) {
      if (equal[i] != 0 && before >= needed) tiles[first + i] = 0;
      if (equal[i] != 0 && before < needed) last = first + i + 1;
      before += equal[i];
    }
    total += all;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (last != 0) atomic_max(&control[control_end], last);
  if (lane == 0) control[control_equal] = total;
}

// The result from entries that are in order, at least k, after the elements those without an index.
__kernel MASU_WORK_GROUP(MASU_GROUP) void topk_gather(TOPK_DATA, TOPK_WORK, TOPK_RESULT) {
  __global const ulong *keys = TOPK_AT(const ulong, keys_at);
  for (uint i = (uint)get_global_id(0); i < k; i += (uint)get_global_size(0)) {
#if TOPK_PAIRS
    const uint index = TOPK_AT(const uint, indices_at)[i];
#else
    const uint index = ~(uint)keys[i];
#endif
    set_result(data + byte_offset, keys[i], index, i, TOPK_RESULT_ARGUMENTS);
  }
}
