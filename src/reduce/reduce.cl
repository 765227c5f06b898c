// SPDX-License-Identifier: Apache-2.0
// Extremes, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After elements.cl and order.cl.
//
// A tile is what a work-group reads at once: MASU_VECTORS vectors of each work-item, side by side. A work-item takes the
// least and the greatest of its part of a tile with plain minima, and only then looks whether that is better than what
// it had; so it knows in which tile its extreme is met first, and no element costs more for the place. The first element
// of that rank in the first such tile is sought when all else is done, by the last work-group of a row.
//
// kernels.md has the parameters, which reduce_device.cpp gives.

#define REDUCE_TILE ((ulong)MASU_GROUP * MASU_VECTORS * MASU_PER_VECTOR)  // elements

// Narrow elements are compared in pairs, as the halves of a word. Of bytes the upper one of a half decides; what lies
// below it is of no importance: the word as it is has two of its bytes there, and shifted to the left the other two.
#if MASU_ELEMENT_BYTES < 4
#define REDUCE_LEAST(a, b) masu_min_pair(a, b)
#define REDUCE_MOST(a, b) masu_max_pair(a, b)
#define REDUCE_MINUS(a, b) masu_sub_pair(a, b)
#define REDUCE_TWICE(x) ((uint)(x) * 0x10001u)
#define REDUCE_TOP (16 - 8 * MASU_ELEMENT_BYTES)
#define REDUCE_LANES (2 / MASU_ELEMENT_BYTES)
#else
#define REDUCE_LEAST(a, b) min(a, b)
#define REDUCE_MOST(a, b) max(a, b)
#define REDUCE_MINUS(a, b) ((a) - (b))
#define REDUCE_TWICE(x) ((MASU_BITS)(x))
#define REDUCE_TOP 0
#define REDUCE_LANES 1
#endif
#define REDUCE_WORD_ALL (~(MASU_BITS)0)
#define REDUCE_WORD_SIGN REDUCE_TWICE(MASU_SIGN << REDUCE_TOP)

// The raw order of floats: that of the bits, so -0 is below +0, and NaNs lie at both ends.
#define REDUCE_RAW_LOW ((MASU_SIGN - 1) - MASU_INFINITY_BITS)  // of minus infinity
#define REDUCE_RAW_HIGH (MASU_SIGN + MASU_INFINITY_BITS)
#define REDUCE_RAW_SPAN (REDUCE_RAW_HIGH - REDUCE_RAW_LOW)

// least[] and most[] of a part: raw orders, of narrow elements in pairs. Where NaNs are skipped, least[] is counted from minus
// infinity up and most[] from plus infinity down, which makes NaNs great: then both are minima.
MASU_INLINE void start_part(MASU_BITS *least, MASU_BITS *most) {
  MASU_PRAGMA_UNROLL
  for (uint lane = 0; lane < REDUCE_LANES; ++lane) {
    least[lane] = REDUCE_WORD_ALL;
    most[lane] = MASU_FLOAT && MASU_SKIP ? REDUCE_WORD_ALL : 0;
  }
}

MASU_INLINE void take_word(const MASU_BITS word, MASU_BITS *least, MASU_BITS *most, const uint lane) {
#if MASU_FLOAT
#if MASU_ELEMENT_BYTES == 8
  const MASU_BITS raw = word ^ ((ulong)((long)word >> 63) | REDUCE_WORD_SIGN);
#elif MASU_ELEMENT_BYTES == 4
  const MASU_BITS raw = word ^ ((uint)((int)word >> 31) | REDUCE_WORD_SIGN);
#else
  const uint negative = word & REDUCE_WORD_SIGN;
  const uint raw = word ^ ((negative - (negative >> 15)) | REDUCE_WORD_SIGN);
#endif
#if MASU_SKIP
#if MASU_MIN
  least[lane] = REDUCE_LEAST(least[lane], REDUCE_MINUS(raw, REDUCE_TWICE(REDUCE_RAW_LOW)));
#endif
#if MASU_MAX
  most[lane] = REDUCE_LEAST(most[lane], REDUCE_MINUS(REDUCE_TWICE(REDUCE_RAW_HIGH), raw));
#endif
#else  // both ends are needed, to see NaNs of both signs
  least[lane] = REDUCE_LEAST(least[lane], raw);
  most[lane] = REDUCE_MOST(most[lane], raw);
#endif
#else
  const MASU_BITS raw = MASU_SIGNED ? word ^ REDUCE_WORD_SIGN : word;
#if MASU_MIN
  least[lane] = REDUCE_LEAST(least[lane], raw);
#endif
#if MASU_MAX
  most[lane] = REDUCE_MOST(most[lane], raw);
#endif
#endif
}

MASU_INLINE void take_vector(const uint4 v, MASU_BITS *least, MASU_BITS *most) {
#if MASU_ELEMENT_BYTES == 8
  take_word((ulong)v.y << 32 | v.x, least, most, 0);
  take_word((ulong)v.w << 32 | v.z, least, most, 0);
#else
  MASU_PRAGMA_UNROLL
  for (uint lane = 0; lane < REDUCE_LANES; ++lane) {
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

// The ranks of the part's extremes, of the greatest integer itself: Intel's compiler (2026.2, AVX-512) takes wrong minima of
// u64 that are inverted just before. Where it has no elements they are worse than any number's, or equal to the worst.
#define REDUCE_INVERTED(largest) (!MASU_FLOAT && (largest) != 0)
MASU_INLINE void ranks_of(const MASU_BITS *least, const MASU_BITS *most, MASU_BITS *least_rank, MASU_BITS *most_rank) {
  MASU_BITS low = least[0];
  MASU_BITS high = most[0];
  MASU_PRAGMA_UNROLL
  for (uint lane = 1; lane < REDUCE_LANES; ++lane) {
    low = REDUCE_LEAST(low, least[lane]);
    high = REDUCE_MOST(high, most[lane]);
  }
#if MASU_ELEMENT_BYTES < 4
  low = min(low & 65535, low >> 16) >> REDUCE_TOP;
  high = (MASU_FLOAT && MASU_SKIP ? min(high & 65535, high >> 16) : max(high & 65535, high >> 16)) >> REDUCE_TOP;
#endif
#if MASU_FLOAT && MASU_SKIP
  *least_rank = low > REDUCE_RAW_SPAN ? MASU_ALL_BITS : key_of_raw(low + REDUCE_RAW_LOW);
  *most_rank = high > REDUCE_RAW_SPAN ? MASU_ALL_BITS : key_of_raw(REDUCE_RAW_HIGH - high) ^ MASU_ALL_BITS;
#elif MASU_FLOAT
  const uint numbers = low >= REDUCE_RAW_LOW && high <= REDUCE_RAW_HIGH;
  *least_rank = numbers ? key_of_raw(low) : 0;
  *most_rank = numbers ? key_of_raw(high) ^ MASU_ALL_BITS : 0;
#else
  *least_rank = low;
  *most_rank = high;
#endif
}

// The least x of each `width` work-items that lie side by side, in all of them. All work-items of the group come here;
// `width` is a power of two.
inline ulong least_of(ulong x, const uint width, __local ulong *words) {
  const uint lane = (uint)get_local_id(0);
#if MASU_SHUFFLE_LANES > 1
  for (uint mask = 1; mask < min(width, (uint)MASU_SHUFFLE_LANES); mask *= 2) {
    const ulong other = (ulong)masu_shuffle_xor((uint)(x >> 32), mask) << 32 | masu_shuffle_xor((uint)x, mask);
    x = min(x, other);
  }
  if (width <= MASU_SHUFFLE_LANES) return x;
  if (lane % MASU_SHUFFLE_LANES == 0) words[lane / MASU_SHUFFLE_LANES] = x;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint first = (lane & ~(width - 1)) / MASU_SHUFFLE_LANES;
  for (uint i = 0; i < width / MASU_SHUFFLE_LANES; ++i) x = min(x, words[first + i]);
#else
  words[lane] = x;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = width / 2; distance != 0; distance /= 2) {
    if ((lane & (width - 1)) < distance) words[lane] = min(words[lane], words[lane + distance]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  x = words[lane & ~(width - 1)];
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  return x;
}

// The least pair (rank, place), as above. Places beside ranks of up to 32 bits are below 2^32.
inline void least_pair(ulong *rank, ulong *place, const uint width, __local ulong *words) {
#if MASU_ELEMENT_BYTES <= 4
  const ulong both = least_of(*rank << 32 | *place, width, words);
  *rank = both >> 32;
  *place = both & UINT_MAX;
#else
  const ulong least = least_of(*rank, width, words);
  *place = least_of(*rank == least ? *place : ~(ulong)0, width, words);
  *rank = least;
#endif
}

// Where the results of rows go: elements and u64, of the least and of the greatest. Of a row that has nothing but NaNs that are
// skipped the index is 2^64 - 1, and the place that of the first.
#define REDUCE_TARGETS                                                                                                 \
  const uint wanted, __global uchar *min_memory, const ulong min_at, __global uchar *min_place_memory,               \
      const ulong min_places_at, __global uchar *max_memory, const ulong max_at, __global uchar *max_place_memory,   \
      const ulong max_places_at
#define REDUCE_TARGET_ARGUMENTS \
  wanted, min_memory, min_at, min_place_memory, min_places_at, max_memory, max_at, max_place_memory, max_places_at
inline void store_extreme(const ulong row, const uint largest, const ulong place, const MASU_BITS bits, REDUCE_TARGETS) {
  const uint wants = wanted >> MASU_WANTS_BITS * largest;
  if ((wants & MASU_WANTS_VALUES) != 0) {
    ((__global MASU_ELEMENT *)((largest != 0 ? max_memory : min_memory) + (largest != 0 ? max_at : min_at)))[row] =
        (MASU_ELEMENT)bits;
  }
  if ((wants & (MASU_WANTS_INDICES | MASU_WANTS_PLACES)) != 0) {
    const uint skipped = MASU_SKIP && (wants & MASU_WANTS_PLACES) == 0 &&
                         extreme_rank(bits, largest, MASU_SKIP) == MASU_ALL_BITS;
    ((__global ulong *)((largest != 0 ? max_place_memory : min_place_memory) +
                        (largest != 0 ? max_places_at : min_places_at)))[row] = skipped ? ~(ulong)0 : place;
  }
}

// The best element that a work-group found in its tiles: its rank, and the number of the tile. Read and written by atomics, since the
// last work-group of a row reads it in the launch that wrote it. No memory has room for 2^32 tiles.
#define REDUCE_PART_WORDS (1 + (MASU_ELEMENT_BYTES + 3) / 4)
inline void leave_part(__global uint *part, const ulong rank, const uint turn) {
  atomic_xchg(part, turn);
  atomic_xchg(part + 1, (uint)rank);
#if MASU_ELEMENT_BYTES == 8
  atomic_xchg(part + 2, (uint)(rank >> 32));
#endif
}

// The best of this one and of the parts of a row's members, in all work-items. One member has left none.
#define REDUCE_PARTS_AT_ONCE 6
inline void best_part(__global uint *parts, const uint members, ulong *rank, ulong *tile, __local ulong *words) {
  for (uint first = members == 1 ? 1 : (uint)get_local_id(0); first < members; first += REDUCE_PARTS_AT_ONCE * MASU_GROUP) {
    uint part[REDUCE_PARTS_AT_ONCE][REDUCE_PART_WORDS];
    // All are under way together.
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < REDUCE_PARTS_AT_ONCE; ++i) {
      const uint member = min(first + i * MASU_GROUP, members - 1);
      MASU_PRAGMA_UNROLL
      for (uint w = 0; w < REDUCE_PART_WORDS; ++w) part[i][w] = atomic_or(&parts[member * REDUCE_PART_WORDS + w], 0u);
    }
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < REDUCE_PARTS_AT_ONCE; ++i) {
      const uint member = min(first + i * MASU_GROUP, members - 1);
      const ulong other = (MASU_ELEMENT_BYTES == 8 ? (ulong)part[i][REDUCE_PART_WORDS - 1] << 32 : 0) | part[i][1];
      const ulong other_tile = (ulong)part[i][0] * members + member;
      if (other < *rank || (other == *rank && other_tile < *tile)) {
        *rank = other;
        *tile = other_tile;
      }
    }
  }
  least_pair(rank, tile, MASU_GROUP, words);
}

// Seeks the first element of the rank in a tile of a row, and stores it.
inline void find_extreme(__global const uchar *data, const ulong count, const ulong row, const uint largest,
                         const ulong rank, const ulong tile, __local ulong *words, REDUCE_TARGETS) {
  const uint lane = (uint)get_local_id(0);
  const long first = (long)(tile * REDUCE_TILE) - (long)gap_of(data);
  ulong place = ~(ulong)0;
  // All loads are under way together; one after the other they took a tenth of the time of all.
  if (first >= 0 && (ulong)first + REDUCE_TILE <= count) {
    __global const uint4 *vectors = (__global const uint4 *)(data + first * MASU_ELEMENT_BYTES) + lane;
    uint all[4 * MASU_VECTORS];
    MASU_PRAGMA_UNROLL
    for (uint i = 0; i < MASU_VECTORS; ++i) words_of_vector(vectors[i * MASU_GROUP], all + 4 * i);
    uint at = UINT_MAX;
    MASU_PRAGMA_UNROLL
    for (uint i = MASU_VECTORS * MASU_PER_VECTOR; i-- > 0;) {
      at = extreme_rank(element_of(all, i), largest, MASU_SKIP) == (MASU_BITS)rank ? i : at;
    }
    if (at != UINT_MAX) {
      place = (ulong)first + (at / MASU_PER_VECTOR * MASU_GROUP + lane) * MASU_PER_VECTOR + at % MASU_PER_VECTOR;
    }
  } else {
    const ulong begin = first < 0 ? 0 : (ulong)first;
    const ulong end = min((ulong)(first + (long)REDUCE_TILE), count);
    for (ulong i = begin + lane; i < end && place == ~(ulong)0; i += MASU_GROUP) {
      if (extreme_rank(element_at(data, i), largest, MASU_SKIP) == (MASU_BITS)rank) place = i;
    }
  }
  place = least_of(place, MASU_GROUP, words);
  // A rank does not tell which zero or NaN it is of.
  const MASU_BITS bits = MASU_FLOAT && lane == 0 ? element_at(data, place)
                                                 : (MASU_BITS)(rank ^ (largest != 0 ? MASU_ALL_BITS : 0)) ^ MASU_SIGN * MASU_SIGNED;
  if (lane == 0) store_extreme(row, largest, place, bits, REDUCE_TARGET_ARGUMENTS);
}

// `members` work-groups take the tiles of each row in turn. Each leaves the rank of its extremes and the first tile where it is
// met; the last one of a row takes the best of them, and seeks it. parts: `members` for each row, first those of the least, then those
// of the greatest. left: a word for each row, of work-groups that were here: zeros before the launch. With one
// member neither is used.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void extreme_tiles(
    __global const uchar *restrict memory, const ulong memory_at, const ulong count, const ulong rows,
    const uint members, __global uchar *part_memory, const ulong parts_at, __global uchar *left_memory,
    const ulong left_at, REDUCE_TARGETS, __local ulong *words, __local uint *is_last) {
  MASU_LOCAL_POINTER(ulong, words);  // MASU_GROUP
  MASU_LOCAL_POINTER(uint, is_last);    // 1
  const uint lane = (uint)get_local_id(0);
  const ulong row = get_group_id(0) / members;
  const uint member = (uint)(get_group_id(0) - row * members);
  __global const uchar *data = memory + memory_at + row * count * MASU_ELEMENT_BYTES;
  const uint gap = gap_of(data);
  const ulong tiles = (count + gap + REDUCE_TILE - 1) / REDUCE_TILE;
  MASU_BITS best[2] = {MASU_ALL_BITS, REDUCE_INVERTED(1) ? 0 : MASU_ALL_BITS};
  uint turn[2] = {0, 0};
  uint now = 0;
  for (ulong tile = member; tile < tiles; tile += members) {
    MASU_BITS least[REDUCE_LANES];
    MASU_BITS most[REDUCE_LANES];
    start_part(least, most);
    const long first = (long)(tile * REDUCE_TILE) - (long)gap;  // element
    if (first >= 0 && (ulong)first + REDUCE_TILE <= count) {
      __global const uint4 *vectors = (__global const uint4 *)(data + first * MASU_ELEMENT_BYTES) + lane;
      uint4 v[MASU_VECTORS];
      MASU_PRAGMA_UNROLL
      for (uint i = 0; i < MASU_VECTORS; ++i) v[i] = masu_load_streaming(vectors + i * MASU_GROUP);
      MASU_PRAGMA_UNROLL
      for (uint i = 0; i < MASU_VECTORS; ++i) take_vector(v[i], least, most);
    } else {
      const ulong begin = first < 0 ? 0 : (ulong)first;
      const ulong end = min((ulong)(first + (long)REDUCE_TILE), count);
      for (ulong i = begin + lane; i < end; i += MASU_GROUP) {
        take_word(REDUCE_TWICE((MASU_BITS)element_at(data, i) << REDUCE_TOP), least, most, 0);
      }
    }
    MASU_BITS ranks[2];
    ranks_of(least, most, &ranks[0], &ranks[1]);
    MASU_PRAGMA_UNROLL
    for (uint largest = !MASU_MIN; largest < 1 + MASU_MAX; ++largest) {
      if (REDUCE_INVERTED(largest) ? ranks[largest] > best[largest] : ranks[largest] < best[largest]) {
        best[largest] = ranks[largest];
        turn[largest] = now;
      }
    }
    ++now;
  }
  __global uint *parts = (__global uint *)(part_memory + parts_at) + row * members * REDUCE_PART_WORDS;
  const ulong apart = rows * members * REDUCE_PART_WORDS;
  ulong rank[2];
  ulong tile[2];
  MASU_PRAGMA_UNROLL
  for (uint largest = !MASU_MIN; largest < 1 + MASU_MAX; ++largest) {
    rank[largest] = REDUCE_INVERTED(largest) ? best[largest] ^ MASU_ALL_BITS : best[largest];
    ulong first_turn = turn[largest];
    least_pair(&rank[largest], &first_turn, MASU_GROUP, words);
    tile[largest] = first_turn * members + member;
    if (lane == 0 && members > 1) {
      leave_part(parts + (MASU_MIN ? largest : 0) * apart + member * REDUCE_PART_WORDS, rank[largest], (uint)first_turn);
    }
  }
  __global uint *row_left = (__global uint *)(left_memory + left_at) + row;
  const uint last = is_last_group(row_left, members, false, is_last) ? 1 : 0;
  // A loop, not a condition: PoCL 3.1 runs what follows a barrier inside a condition for all work-items.
  for (uint l = 0; l < last; ++l) {
    MASU_PRAGMA_UNROLL
    for (uint largest = !MASU_MIN; largest < 1 + MASU_MAX; ++largest) {
      best_part(parts + (MASU_MIN ? largest : 0) * apart, members, &rank[largest], &tile[largest], words);
      find_extreme(data, count, row, largest, rank[largest], tile[largest], words, REDUCE_TARGET_ARGUMENTS);
    }
  }
}

// Short rows: `width` work-items take each, several rows side by side a work-group.
__kernel MASU_WORK_GROUP(MASU_GROUP) void extreme_rows(__global const uchar *restrict memory, const ulong memory_at,
                                                       const uint count, const ulong rows, const uint width,
                                                       REDUCE_TARGETS, __local ulong *words) {
  MASU_LOCAL_POINTER(ulong, words);  // MASU_GROUP
  const uint lane = (uint)get_local_id(0);
  const uint side_by_side = MASU_GROUP / width;
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
      least_pair(&rank[largest], &place[largest], width, words);
      if (row < rows && lane % width == 0) {
        store_extreme(row, largest, place[largest], element_at(data, place[largest]), REDUCE_TARGET_ARGUMENTS);
      }
    }
  }
}

MASU_CLEAR_ARRIVED
