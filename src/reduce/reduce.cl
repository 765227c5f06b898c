// SPDX-License-Identifier: Apache-2.0
// Extremes, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++). Behind elements.cl and order.cl.
//
// A tile is what a work-group reads at once: MASU_VECTORS vectors of each work-item, side by side. A work-item takes the
// least and the greatest of its part of a tile with plain minima, and only then looks whether that is better than what
// it had; so it knows in which tile its extreme is met first, and no element costs more for the place. The first element
// of that rank in the first such tile is sought when all else is done.
//
// Defines, all given by reduce_plan.cpp:
// - MASU_GROUP    work-items in a work-group, a power of two
// - MASU_VECTORS  16-byte vectors that a work-item reads at a time
// - MASU_GROUPS_A_UNIT  work-groups of extreme_parts that share a compute unit
// - MASU_SKIP     1: NaNs are left out
// - MASU_MIN      1: the least is wanted
// - MASU_MAX      1: the greatest is wanted
// - MASU_WANTS_VALUES, MASU_WANTS_INDICES  bits of what extreme_targets writes

#define MASU_TILE ((ulong)MASU_GROUP * MASU_VECTORS * MASU_PER_VECTOR)  // elements

// Narrow elements are compared in pairs, as the halves of a word. Of bytes the upper one of a half decides; what lies
// below it is of no importance: the word as it is has two of its bytes there, and shifted to the left the other two.
#if MASU_ELEMENT_BYTES < 4
#define MASU_LEAST(a, b) masu_min_pair(a, b)
#define MASU_MOST(a, b) masu_max_pair(a, b)
#define MASU_MINUS(a, b) masu_sub_pair(a, b)
#define MASU_TWICE(x) ((uint)(x) * 0x10001u)
#define MASU_TOP (16 - 8 * MASU_ELEMENT_BYTES)
#define MASU_LANES (2 / MASU_ELEMENT_BYTES)
#else
#define MASU_LEAST(a, b) min(a, b)
#define MASU_MOST(a, b) max(a, b)
#define MASU_MINUS(a, b) ((a) - (b))
#define MASU_TWICE(x) ((MASU_BITS)(x))
#define MASU_TOP 0
#define MASU_LANES 1
#endif
#define MASU_WORD_ALL (~(MASU_BITS)0)
#define MASU_WORD_SIGN MASU_TWICE(MASU_SIGN << MASU_TOP)

// The raw order of floats: that of the bits, so -0 is below +0, and NaNs lie at both ends.
#define MASU_RAW_LOW ((MASU_SIGN - 1) - MASU_INFINITY_BITS)  // of minus infinity
#define MASU_RAW_HIGH (MASU_SIGN + MASU_INFINITY_BITS)
#define MASU_RAW_SPAN (MASU_RAW_HIGH - MASU_RAW_LOW)

// least[] and most[] of a part: raw orders, of narrow elements in pairs. Where NaNs are skipped, least[] is counted from minus
// infinity up and most[] from plus infinity down, which makes NaNs great: then both are minima.
MASU_INLINE void start_part(MASU_BITS *least, MASU_BITS *most) {
  MASU_PRAGMA_UNROLL
  for (uint lane = 0; lane < MASU_LANES; ++lane) {
    least[lane] = MASU_WORD_ALL;
    most[lane] = MASU_FLOAT && MASU_SKIP ? MASU_WORD_ALL : 0;
  }
}

MASU_INLINE void take_word(const MASU_BITS word, MASU_BITS *least, MASU_BITS *most, const uint lane) {
#if MASU_FLOAT
#if MASU_ELEMENT_BYTES == 8
  const MASU_BITS raw = word ^ ((ulong)((long)word >> 63) | MASU_WORD_SIGN);
#elif MASU_ELEMENT_BYTES == 4
  const MASU_BITS raw = word ^ ((uint)((int)word >> 31) | MASU_WORD_SIGN);
#else
  const uint negative = word & MASU_WORD_SIGN;
  const uint raw = word ^ ((negative - (negative >> 15)) | MASU_WORD_SIGN);
#endif
#if MASU_SKIP
#if MASU_MIN
  least[lane] = MASU_LEAST(least[lane], MASU_MINUS(raw, MASU_TWICE(MASU_RAW_LOW)));
#endif
#if MASU_MAX
  most[lane] = MASU_LEAST(most[lane], MASU_MINUS(MASU_TWICE(MASU_RAW_HIGH), raw));
#endif
#else  // both ends are needed, to see NaNs of both signs
  least[lane] = MASU_LEAST(least[lane], raw);
  most[lane] = MASU_MOST(most[lane], raw);
#endif
#else
  const MASU_BITS raw = MASU_SIGNED ? word ^ MASU_WORD_SIGN : word;
#if MASU_MIN
  least[lane] = MASU_LEAST(least[lane], raw);
#endif
#if MASU_MAX
  most[lane] = MASU_MOST(most[lane], raw);
#endif
#endif
}

MASU_INLINE void take_vector(const uint4 v, MASU_BITS *least, MASU_BITS *most) {
#if MASU_ELEMENT_BYTES == 8
  take_word((ulong)v.y << 32 | v.x, least, most, 0);
  take_word((ulong)v.w << 32 | v.z, least, most, 0);
#else
  MASU_PRAGMA_UNROLL
  for (uint lane = 0; lane < MASU_LANES; ++lane) {
    take_word(v.x << 8 * lane, least, most, lane);
    take_word(v.y << 8 * lane, least, most, lane);
    take_word(v.z << 8 * lane, least, most, lane);
    take_word(v.w << 8 * lane, least, most, lane);
  }
#endif
}

// The key of what has a raw order: both zeros have one.
inline MASU_BITS key_of_raw(const MASU_BITS raw) {
#if MASU_FLOAT
  return raw < MASU_SIGN ? raw + 1 : raw;
#else
  return raw;
#endif
}

// The ranks of the part's extremes. Where it has no elements they are worse than any number's, or equal to the worst.
MASU_INLINE void ranks_of(const MASU_BITS *least, const MASU_BITS *most, MASU_BITS *least_rank, MASU_BITS *most_rank) {
  MASU_BITS low = least[0];
  MASU_BITS high = most[0];
  MASU_PRAGMA_UNROLL
  for (uint lane = 1; lane < MASU_LANES; ++lane) {
    low = MASU_LEAST(low, least[lane]);
    high = MASU_MOST(high, most[lane]);
  }
#if MASU_ELEMENT_BYTES < 4
  low = min(low & 65535, low >> 16) >> MASU_TOP;
  high = (MASU_FLOAT && MASU_SKIP ? min(high & 65535, high >> 16) : max(high & 65535, high >> 16)) >> MASU_TOP;
#endif
#if MASU_FLOAT && MASU_SKIP
  *least_rank = low > MASU_RAW_SPAN ? MASU_ALL_BITS : key_of_raw(low + MASU_RAW_LOW);
  *most_rank = high > MASU_RAW_SPAN ? MASU_ALL_BITS : key_of_raw(MASU_RAW_HIGH - high) ^ MASU_ALL_BITS;
#elif MASU_FLOAT
  const uint numbers = low >= MASU_RAW_LOW && high <= MASU_RAW_HIGH;
  *least_rank = numbers ? key_of_raw(low) : 0;
  *most_rank = numbers ? key_of_raw(high) ^ MASU_ALL_BITS : 0;
#else
  *least_rank = low;
  *most_rank = high ^ MASU_ALL_BITS;
#endif
}

// The least pair (rank, place) of each `width` work-items that lie side by side, in all of them. All work-items of the
// group come here; `width` is a power of two.
inline void least_pair(ulong *rank, ulong *place, const uint width, __local ulong *ranks, __local ulong *places) {
  const uint lane = (uint)get_local_id(0);
  ranks[lane] = *rank;
  places[lane] = *place;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = width / 2; distance != 0; distance /= 2) {
    if ((lane & (width - 1)) < distance) {
      const ulong other = ranks[lane + distance];
      const ulong other_place = places[lane + distance];
      if (other < ranks[lane] || (other == ranks[lane] && other_place < places[lane])) {
        ranks[lane] = other;
        places[lane] = other_place;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  *rank = ranks[lane & ~(width - 1)];
  *place = places[lane & ~(width - 1)];
  barrier(CLK_LOCAL_MEM_FENCE);
}

// `members` work-groups take the tiles of each row in turn. Each writes the rank of its extremes and the first tile
// where it is met to parts: pairs, `members` for each row, first those of the least, then those of the greatest.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void extreme_parts(__global const uchar *restrict memory,
                                                            const ulong memory_at, const ulong count, const ulong rows,
                                                            const uint members, __global uchar *part_memory,
                                                            const ulong parts_at, __local ulong *ranks,
                                                            __local ulong *places) {
  MASU_LOCAL_POINTER(ulong, ranks);   // MASU_GROUP
  MASU_LOCAL_POINTER(ulong, places);  // MASU_GROUP
  const uint lane = (uint)get_local_id(0);
  const ulong row = get_group_id(0) / members;
  const uint member = (uint)(get_group_id(0) % members);
  __global const uchar *data = memory + memory_at + row * count * MASU_ELEMENT_BYTES;
  const uint gap = gap_of(data);
  const ulong tiles = (count + gap + MASU_TILE - 1) / MASU_TILE;
#if MASU_MIN
  MASU_BITS best_least = MASU_ALL_BITS;
  ulong least_tile = member;
#endif
#if MASU_MAX
  MASU_BITS best_most = MASU_ALL_BITS;
  ulong most_tile = member;
#endif
  for (ulong tile = member; tile < tiles; tile += members) {
    MASU_BITS least[MASU_LANES];
    MASU_BITS most[MASU_LANES];
    start_part(least, most);
    const long first = (long)(tile * MASU_TILE) - (long)gap;  // element
    if (first >= 0 && (ulong)first + MASU_TILE <= count) {
      __global const uint4 *vectors = (__global const uint4 *)(data + first * MASU_ELEMENT_BYTES) + lane;
      uint4 v[MASU_VECTORS];
      MASU_PRAGMA_UNROLL
      for (uint i = 0; i < MASU_VECTORS; ++i) v[i] = masu_load_streaming(vectors + i * MASU_GROUP);
      MASU_PRAGMA_UNROLL
      for (uint i = 0; i < MASU_VECTORS; ++i) take_vector(v[i], least, most);
    } else {
      const ulong begin = first < 0 ? 0 : (ulong)first;
      const ulong end = min((ulong)(first + (long)MASU_TILE), count);
      for (ulong i = begin + lane; i < end; i += MASU_GROUP) {
        take_word(MASU_TWICE((MASU_BITS)element_at(data, i) << MASU_TOP), least, most, 0);
      }
    }
    MASU_BITS least_rank;
    MASU_BITS most_rank;
    ranks_of(least, most, &least_rank, &most_rank);
#if MASU_MIN
    if (least_rank < best_least) {
      best_least = least_rank;
      least_tile = tile;
    }
#endif
#if MASU_MAX
    if (most_rank < best_most) {
      best_most = most_rank;
      most_tile = tile;
    }
#endif
  }
  __global ulong *parts = (__global ulong *)(part_memory + parts_at) + 2 * (row * members + member);
#if MASU_MIN
  ulong least_best = best_least;
  least_pair(&least_best, &least_tile, MASU_GROUP, ranks, places);
  if (lane == 0) {
    parts[0] = least_best;
    parts[1] = least_tile;
  }
  parts += 2 * rows * members;
#endif
#if MASU_MAX
  ulong most_best = best_most;
  least_pair(&most_best, &most_tile, MASU_GROUP, ranks, places);
  if (lane == 0) {
    parts[0] = most_best;
    parts[1] = most_tile;
  }
#endif
}

// A work-group for each row, and again for the greatest: takes the best of the members' parts, seeks its first element
// in that tile, and writes index and bits to results.
__kernel MASU_WORK_GROUP(MASU_GROUP) void extreme_places(__global const uchar *restrict memory, const ulong memory_at,
                                                         const ulong count, const ulong rows, const uint members,
                                                         __global const uchar *restrict part_memory,
                                                         const ulong parts_at, __global uchar *result_memory,
                                                         const ulong results_at, __local ulong *ranks,
                                                         __local ulong *places) {
  MASU_LOCAL_POINTER(ulong, ranks);   // MASU_GROUP
  MASU_LOCAL_POINTER(ulong, places);  // MASU_GROUP
  const uint lane = (uint)get_local_id(0);
  const ulong number = get_group_id(0);
  const ulong row = number % rows;
  const uint largest = !MASU_MIN || number >= rows;
  __global const uchar *data = memory + memory_at + row * count * MASU_ELEMENT_BYTES;
  __global const ulong *parts = (__global const ulong *)(part_memory + parts_at) + 2 * number * members;
  ulong rank = parts[0];
  ulong tile = parts[1];
  for (uint member = lane; member < members; member += MASU_GROUP) {
    const ulong other = parts[2 * member];
    const ulong other_tile = parts[2 * member + 1];
    if (other < rank || (other == rank && other_tile < tile)) {
      rank = other;
      tile = other_tile;
    }
  }
  least_pair(&rank, &tile, MASU_GROUP, ranks, places);
  const long first = (long)(tile * MASU_TILE) - (long)gap_of(data);
  ulong worse = 1;
  ulong place = count;
  // All loads are under way together; one after the other they took a tenth of the time of extreme_parts.
  if (first >= 0 && (ulong)first + MASU_TILE <= count) {
    __global const uint4 *vectors = (__global const uint4 *)(data + first * MASU_ELEMENT_BYTES) + lane;
    uint words[4 * MASU_VECTORS];
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < MASU_VECTORS; ++i) words_of_vector(vectors[i * MASU_GROUP], words + 4 * i);
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < MASU_VECTORS * MASU_PER_VECTOR; ++i) {
      if (worse == 0 || extreme_rank(element_of(words, i), largest, MASU_SKIP) != (MASU_BITS)rank) continue;
      worse = 0;
      place = (ulong)first + (i / MASU_PER_VECTOR * MASU_GROUP + lane) * MASU_PER_VECTOR + i % MASU_PER_VECTOR;
    }
  } else {
    const ulong begin = first < 0 ? 0 : (ulong)first;
    const ulong end = min((ulong)(first + (long)MASU_TILE), count);
    for (ulong i = begin + lane; i < end; i += MASU_GROUP) {
      if (worse == 0 || extreme_rank(element_at(data, i), largest, MASU_SKIP) != (MASU_BITS)rank) continue;
      worse = 0;
      place = i;
    }
  }
  least_pair(&worse, &place, MASU_GROUP, ranks, places);
  if (lane == 0) {
    __global ulong *result = (__global ulong *)(result_memory + results_at) + 2 * number;
    result[0] = place;
    result[1] = element_at(data, place);
  }
}

// Short rows: `width` work-items take each, several rows side by side a work-group. Results as above.
__kernel MASU_WORK_GROUP(MASU_GROUP) void extreme_rows(__global const uchar *restrict memory, const ulong memory_at,
                                                       const uint count, const ulong rows, const uint width,
                                                       __global uchar *result_memory, const ulong results_at,
                                                       __local ulong *ranks, __local ulong *places) {
  MASU_LOCAL_POINTER(ulong, ranks);   // MASU_GROUP
  MASU_LOCAL_POINTER(ulong, places);  // MASU_GROUP
  const uint lane = (uint)get_local_id(0);
  const uint side_by_side = MASU_GROUP / width;
  __global ulong *results = (__global ulong *)(result_memory + results_at);
  for (ulong first = get_group_id(0) * side_by_side; first < rows; first += get_num_groups(0) * side_by_side) {
    const ulong row = first + lane / width;
    __global const uchar *data = memory + memory_at + row * count * MASU_ELEMENT_BYTES;
    ulong rank[2] = {MASU_ALL_BITS, MASU_ALL_BITS};
    ulong place[2] = {count, count};
    for (uint i = lane % width; row < rows && i < count; i += width) {
      const MASU_BITS bits = element_at(data, i);
      for (uint largest = !MASU_MIN; largest < 1 + MASU_MAX; ++largest) {
        const MASU_BITS here = extreme_rank(bits, largest, MASU_SKIP);
        if (here < rank[largest] || place[largest] == count) {
          rank[largest] = here;
          place[largest] = i;
        }
      }
    }
    for (uint largest = !MASU_MIN; largest < 1 + MASU_MAX; ++largest) {
      least_pair(&rank[largest], &place[largest], width, ranks, places);
      if (row < rows && lane % width == 0) {
        __global ulong *result = results + 2 * ((MASU_MIN && largest != 0 ? rows : 0) + row);
        result[0] = place[largest];
        result[1] = element_at(data, place[largest]);
      }
    }
  }
}

// The extremes of each row, largest 0 or 1, as elements and u64, where they are wanted. Where NaNs are skipped and a row
// has nothing else, the index is 2^64 - 1.
__kernel MASU_WORK_GROUP(MASU_GROUP) void extreme_targets(__global const uchar *restrict result_memory,
                                                          const ulong results_at, const ulong rows, const uint largest,
                                                          const uint wanted, __global uchar *value_memory,
                                                          const ulong values_at, __global uchar *index_memory,
                                                          const ulong indices_at) {
  __global const ulong *results = (__global const ulong *)(result_memory + results_at) + 2 * MASU_MIN * largest * rows;
  for (ulong row = get_global_id(0); row < rows; row += get_global_size(0)) {
    const ulong bits = results[2 * row + 1];
    if ((wanted & MASU_WANTS_VALUES) != 0) {
      ((__global MASU_ELEMENT *)(value_memory + values_at))[row] = (MASU_ELEMENT)bits;
    }
    if ((wanted & MASU_WANTS_INDICES) != 0) {
      const uint skipped = MASU_SKIP && extreme_rank((MASU_BITS)bits, largest, MASU_SKIP) == MASU_ALL_BITS;
      ((__global ulong *)(index_memory + indices_at))[row] = skipped ? ~(ulong)0 : results[2 * row];
    }
  }
}
