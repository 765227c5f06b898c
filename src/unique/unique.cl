// SPDX-License-Identifier: Apache-2.0
// Runs of equal neighbours, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++): reduce, then scan.
//
// 1. unique_flags reads the data once and writes a bit for each element, 1 where a run starts, and for each span of
//    elements how many starts it has and where the last one is.
// 2. unique_emit reads the bits, finds how many starts lie before its span from the numbers of all spans, and writes
//    the runs, and which run each element belongs to.
// Between the two the host may read the numbers of the spans: how many runs there are.
//
// Bit b of the mask is element b - lead, where `lead` elements would fill the 16 bytes in which the data starts: so
// vectors of 16 aligned bytes make whole groups of bits. A tile is the bits that a work-group takes at a time.
//
// After elements.cl and group_scan.cl. kernels.md has the parameters, which unique_plan.cpp gives.

#define UNIQUE_TILE_WORDS (MASU_GROUP * MASU_WORDS)
#define UNIQUE_PARTS (32 / MASU_PER_VECTOR)  // vectors that make a word of the mask
#define UNIQUE_AT_ONCE 8  // elements of a work-item that are loaded before any is used; of a tile it has a multiple

// The input of a work-group: `count` elements at data + byte_offset.
#define UNIQUE_INPUT __global const uchar *restrict data, const ulong byte_offset, const ulong count
#define UNIQUE_LEAD gap_of(data + byte_offset)

// Two words of each span: its starts, and 1 + the place of the last among its bits, 0 where it has none. A span has
// less than 2^32 bits.
#define UNIQUE_SPANS __global const uint* restrict spans

inline int differ(const MASU_ELEMENT a, const MASU_ELEMENT b) {
#if MASU_FLOAT
  const MASU_BITS magnitude = MASU_SIGN - 1;
  return a != b && ((a | b) & magnitude) != 0 &&
         !((a & magnitude) > MASU_INFINITY_BITS && (b & magnitude) > MASU_INFINITY_BITS);
#else
  return a != b;
#endif
}

// Bit i: element i of a vector differs from the one before it, which is `before` for the first.
// Where elements are shorter than a word, `before` is the word before this one. Shifted words are not joined by |: what
// Clang makes of that, Oclgrind 21.10 does not know.
#if MASU_ELEMENT_BYTES == 1
// The top bit of each byte that is not 0, brought together.
inline uint word_flags(const uint word, const uint before) {
  const uint d = word ^ word << 8 ^ before >> 24;
  const uint tops = ((((d & 0x7f7f7f7fu) + 0x7f7f7f7fu) | d) >> 7) & 0x01010101u;
  return (tops * 0x01020408u >> 24) & 15u;
}
inline uint vector_flags(const uint4 v, const MASU_ELEMENT before) {
  return word_flags(v.x, (uint)before << 24) | word_flags(v.y, v.x) << 4 | word_flags(v.z, v.y) << 8 |
         word_flags(v.w, v.z) << 12;
}
#elif MASU_ELEMENT_BYTES == 2
inline uint word_flags(const uint word, const uint before) {
  const uint d = word ^ word << 16 ^ before >> 16;
  uint tops = ((d & 0x7fff7fffu) + 0x7fff7fffu) | d;
#if MASU_FLOAT
  // A carry into the top bit of a half tells what is greater than infinity, and what is not 0.
  const uint a = word & 0x7fff7fffu;
  const uint b = (word << 16 & 0x7fff0000u) + (before >> 16 & 0x7fffu);
  const uint above = (0x7fffu - MASU_INFINITY_BITS) * 0x10001u;
  tops &= ((a | b) + 0x7fff7fffu) & ~((a + above) & (b + above));
#endif
  return (tops >> 15 & 1u) | (tops >> 30 & 2u);
}
inline uint vector_flags(const uint4 v, const MASU_ELEMENT before) {
  return word_flags(v.x, (uint)before << 16) | word_flags(v.y, v.x) << 2 | word_flags(v.z, v.y) << 4 |
         word_flags(v.w, v.z) << 6;
}
#elif MASU_ELEMENT_BYTES == 4
inline uint vector_flags(const uint4 v, const MASU_ELEMENT before) {
  return (uint)differ(v.x, before) | (uint)differ(v.y, v.x) << 1 | (uint)differ(v.z, v.y) << 2 |
         (uint)differ(v.w, v.z) << 3;
}
#else
inline uint vector_flags(const uint4 v, const MASU_ELEMENT before) {
  const ulong first = (ulong)v.y << 32 | v.x;
  const ulong second = (ulong)v.w << 32 | v.z;
  return (uint)differ(first, before) | (uint)differ(second, first) << 1;
}
#endif

// The flags of vector number `vector`, some of whose elements may not be there. The bit of element 0 is set.
inline uint edge_flags(__global const MASU_ELEMENT* elements, const ulong count, const ulong vector, const uint lead) {
  uint flags = 0;
  for (uint i = 0; i < MASU_PER_VECTOR; ++i) {
    const ulong bit = vector * MASU_PER_VECTOR + i;
    if (bit < lead || bit - lead >= count) continue;
    const ulong e = bit - lead;
    if (e == 0 || differ(elements[e], elements[e - 1])) flags |= 1u << i;
  }
  return flags;
}

// The starts in the spans before this one, those of all spans, and in *last 1 + the bit of the last one before, 0 where there
// is none. `partial` has 3 * MASU_GROUP words.
inline ulong starts_before(UNIQUE_SPANS, const ulong span_bits, __local ulong* partial, const uint lane, ulong* last,
                           ulong* all) {
  ulong sum = 0;
  ulong end = 0;
  ulong after = 0;
  for (size_t s = lane; s < get_num_groups(0); s += MASU_GROUP) {
    const bool before = s < get_group_id(0);
    sum += before ? spans[2 * s] : 0;
    after += before ? 0 : spans[2 * s];
    if (before && spans[2 * s + 1] != 0) end = s * span_bits + spans[2 * s + 1];
  }
  partial[lane] = sum;
  partial[MASU_GROUP + lane] = end;
  partial[2 * MASU_GROUP + lane] = after;
  for (uint distance = MASU_GROUP / 2; distance > 0; distance /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < distance) {
      partial[lane] += partial[lane + distance];
      const ulong other = partial[MASU_GROUP + lane + distance];
      if (other > partial[MASU_GROUP + lane]) partial[MASU_GROUP + lane] = other;
      partial[2 * MASU_GROUP + lane] += partial[2 * MASU_GROUP + lane + distance];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  *last = partial[MASU_GROUP];
  *all = partial[0] + partial[2 * MASU_GROUP];
  return partial[0];
}

// Marks the starts of `tiles` tiles for each work-group, the last tile's bits after the data included.
__kernel MASU_WORK_GROUPS(MASU_GROUP, 4) void unique_flags(UNIQUE_INPUT, const ulong tiles, const ulong all_tiles,
                                                       __global uchar* temporary, const ulong mask_at,
                                                       const ulong spans_at, __local uint* parts, __local uint* ends) {
  MASU_LOCAL_POINTER(uint, parts);  // MASU_GROUP * MASU_UNROLL: the flags of each vector
  MASU_LOCAL_POINTER(uint, ends);   // 2 * MASU_GROUP
  __global uint* mask = (__global uint*)(temporary + mask_at);
  __global uint* spans = (__global uint*)(temporary + spans_at);
  __global const MASU_ELEMENT* elements = (__global const MASU_ELEMENT*)(data + byte_offset);
  const uint lead = UNIQUE_LEAD;
  const uint lane = (uint)get_local_id(0);
  // Vector v is the elements from v * MASU_PER_VECTOR - lead on. Those from `first` to before `end` are whole and have
  // an element before them.
  __global const uint4* vectors = (__global const uint4*)(data + byte_offset - lead * MASU_ELEMENT_BYTES);
  const ulong first = 1;
  const ulong end = (count + lead) / MASU_PER_VECTOR;
  const ulong words_a_step = MASU_GROUP * MASU_UNROLL / UNIQUE_PARTS;
  const ulong begin_word = get_group_id(0) * tiles * UNIQUE_TILE_WORDS;
  const ulong all_words = all_tiles * UNIQUE_TILE_WORDS;
  ulong end_word = begin_word + tiles * UNIQUE_TILE_WORDS;
  if (end_word > all_words) end_word = all_words;
  uint starts = 0;
  uint last = 0;
  for (ulong word = begin_word; word < end_word; word += words_a_step) {
    const ulong vector = word * UNIQUE_PARTS + lane;
    if (vector - lane >= first && vector - lane + MASU_GROUP * MASU_UNROLL <= end) {
      uint4 loaded[MASU_UNROLL];
      MASU_ELEMENT before[MASU_UNROLL];
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < MASU_UNROLL; ++k) loaded[k] = vectors[vector + k * MASU_GROUP];
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < MASU_UNROLL; ++k) {
        before[k] = elements[(vector + k * MASU_GROUP) * MASU_PER_VECTOR - lead - 1];
      }
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < MASU_UNROLL; ++k) parts[k * MASU_GROUP + lane] = vector_flags(loaded[k], before[k]);
    } else {
      for (uint k = 0; k < MASU_UNROLL; ++k) {
        const ulong v = vector + k * MASU_GROUP;
        parts[k * MASU_GROUP + lane] = v >= first && v < end
                                           ? vector_flags(vectors[v], elements[v * MASU_PER_VECTOR - lead - 1])
                                           : edge_flags(elements, count, v, lead);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint w = lane; w < words_a_step; w += MASU_GROUP) {
      uint bits = 0;
      MASU_PRAGMA_UNROLL
      for (uint i = 0; i < UNIQUE_PARTS; ++i) {
        const uint part = (i + lane) % UNIQUE_PARTS;  // neighbours begin in different banks
        bits |= parts[w * UNIQUE_PARTS + part] << (part * MASU_PER_VECTOR);
      }
      mask[word + w] = bits;
      starts += popcount(bits);
      if (bits != 0) last = (uint)(word + w - begin_word) * 32 + 32 - clz(bits);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  ends[lane] = starts;
  ends[MASU_GROUP + lane] = last;
  for (uint distance = MASU_GROUP / 2; distance > 0; distance /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < distance) {
      ends[lane] += ends[lane + distance];
      const uint other = ends[MASU_GROUP + lane + distance];
      if (other > ends[MASU_GROUP + lane]) ends[MASU_GROUP + lane] = other;
    }
  }
  if (lane == 0) {
    spans[2 * get_group_id(0)] = ends[0];
    spans[2 * get_group_id(0) + 1] = ends[MASU_GROUP];
  }
}

// What is written of a run; bits of `wanted`.
#define UNIQUE_WANTS_VALUES 1u
#define UNIQUE_WANTS_LENGTHS 2u
#define UNIQUE_WANTS_STARTS 4u
#define UNIQUE_WANTS_FIRSTS 8u  // starts[run] = order[start]
#define UNIQUE_WANTS_NUMBER 16u   // of the runs
#define UNIQUE_WANTS_INVERSE 32u  // inverse[order[e]] = the run that element e belongs to

#define UNIQUE_OUTPUT                                                                                   \
  __global uchar *values, const ulong values_at, __global uchar *lengths, const ulong lengths_at,       \
      __global uchar *starts, const ulong starts_at, __global const uchar *order, const ulong order_at, \
      __global uchar *number, const ulong number_at, __global uchar *inverse, const ulong inverse_at,         \
      const uint wanted

// Writes run number `run`, which starts at element e, `value`; the one before it started at `before`, unless it is the first.
#define UNIQUE_WRITE_RUN(run, e, value, before)                                                           \
  {                                                                                                       \
    if (wanted & UNIQUE_WANTS_VALUES) ((__global MASU_ELEMENT*)(values + values_at))[run] = (value);      \
    if ((wanted & UNIQUE_WANTS_LENGTHS) && (run) != 0)                                                    \
      ((__global ulong*)(lengths + lengths_at))[(run)-1] = (e) - (before);                                \
    if (wanted & UNIQUE_WANTS_STARTS) ((__global ulong*)(starts + starts_at))[run] = (e);                 \
    if (wanted & UNIQUE_WANTS_FIRSTS) {                                                                   \
      ((__global ulong*)(starts + starts_at))[run] = ((__global const MASU_INDEX*)(order + order_at))[e]; \
    }                                                                                                     \
  }

// A work-item's words of a tile's mask. Returns how many runs start in the words before them; *all: in the tile.
MASU_INLINE uint starts_of_tile(__global const uint* mask, const ulong tile, uint* own, __local uint* sums,
                                const uint lane, uint* all) {
  uint mine = 0;
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_WORDS; ++k) {
    own[k] = mask[tile * UNIQUE_TILE_WORDS + lane * MASU_WORDS + k];
    mine += popcount(own[k]);
  }
  const uint before = group_scan(mine, MASU_GROUP, sums, lane, all) - mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  return before;
}

// Writes the run of each element of a tile. words: of the mask, and the starts before each; `base`: those before the tile.
MASU_INLINE void invert_tile(const ulong tile, const ulong count, const uint lead, __local const uint* words, const uint lane,
                             const ulong base, __global const uchar* order, __global uchar* inverse) {
  __global const MASU_INDEX* places = (__global const MASU_INDEX*)order;
  __global ulong* runs = (__global ulong*)inverse;
  const ulong first = tile * UNIQUE_TILE_WORDS * 32;
  const uint begin = first < lead ? lead : 0;  // the lead is shorter than a tile
  // The last tile may begin after the data: tiles are made for the longest lead.
  const ulong end = min(first + UNIQUE_TILE_WORDS * 32, count + lead);
  for (ulong from = first + begin + lane; from < end; from += MASU_GROUP * UNIQUE_AT_ONCE) {
    MASU_INDEX loaded[UNIQUE_AT_ONCE];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < UNIQUE_AT_ONCE; ++k) loaded[k] = places[min(from + k * MASU_GROUP, end - 1) - lead];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < UNIQUE_AT_ONCE; ++k) {
      const uint b = (uint)(from + k * MASU_GROUP - first);
      if (from + k * MASU_GROUP >= end) continue;
      // The run of the last start at or before the element: 0-based, so one less than the starts up to here.
      const uint up_to = words[b / 32] & (0xffffffffu >> (31 - b % 32));
      runs[loaded[k]] = base + words[UNIQUE_TILE_WORDS + b / 32] + popcount(up_to) - 1;
    }
  }
}

// Writes the runs that start in `tiles` tiles for each work-group.
__kernel MASU_WORK_GROUPS(MASU_GROUP, 4) void unique_emit(UNIQUE_INPUT, const ulong tiles, const ulong all_tiles,
                                                      __global const uchar* restrict temporary, const ulong mask_at,
                                                      const ulong spans_at, UNIQUE_OUTPUT, __local ulong* partial,
                                                      __local uint* sums, __local uint* last_bit,
                                                      __local ushort* staged, __local uint* words) {
  MASU_LOCAL_POINTER(ulong, partial);  // 3 * MASU_GROUP
  MASU_LOCAL_POINTER(uint, sums);      // MASU_GROUP
  MASU_LOCAL_POINTER(uint, last_bit);  // 1: of the tile
  MASU_LOCAL_POINTER(ushort, staged);  // MASU_STAGED: where the runs of a tile start, in order
  MASU_LOCAL_POINTER(uint, words);     // 2 * UNIQUE_TILE_WORDS: of the mask, and the starts before each
  __global const uint* mask = (__global const uint*)(temporary + mask_at);
  __global const uint* spans = (__global const uint*)(temporary + spans_at);
  __global const MASU_ELEMENT* elements = (__global const MASU_ELEMENT*)(data + byte_offset);
  const uint lead = UNIQUE_LEAD;
  const uint lane = (uint)get_local_id(0);
  const ulong group = get_group_id(0);
  const bool inverts = (wanted & UNIQUE_WANTS_INVERSE) != 0;
  if (spans[2 * group] == 0 && !inverts) return;
  ulong last = 0;
  ulong runs = 0;
  ulong base = starts_before(spans, tiles * UNIQUE_TILE_WORDS * 32, partial, lane, &last, &runs);
  if (base == 0 && lane == 0 && (wanted & UNIQUE_WANTS_NUMBER)) *(__global ulong*)(number + number_at) = runs;
  ulong last_start = last - 1 - lead;  // element; of no use before the first run
  const ulong end_tile = (group + 1) * tiles < all_tiles ? (group + 1) * tiles : all_tiles;
  for (ulong tile = group * tiles; tile < end_tile; ++tile) {
    uint own[MASU_WORDS];
    uint all = 0;
    uint rank = starts_of_tile(mask, tile, own, sums, lane, &all);
    if (all == 0 && !inverts) continue;
    const ulong first = tile * UNIQUE_TILE_WORDS * 32 - lead;  // the element of bit 0; may wrap around before element 0
    if (all <= MASU_STAGED && !inverts) {
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < MASU_WORDS; ++k) {
        for (uint bits = own[k]; bits != 0;) {
          const uint bit = 31 - clz(bits & (0u - bits));
          bits &= bits - 1;
          staged[rank++] = (ushort)((lane * MASU_WORDS + k) * 32 + bit);
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint i = lane; i < all; i += MASU_GROUP) {
        const ulong e = first + staged[i];
        const ulong before = i != 0 ? first + staged[i - 1] : last_start;
        UNIQUE_WRITE_RUN(base + i, e, elements[e], before)
      }
      last_start = first + staged[all - 1];
    } else {
      // So many that each element finds its place by itself, or all need one.
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < MASU_WORDS; ++k) {
        words[lane * MASU_WORDS + k] = own[k];
        words[UNIQUE_TILE_WORDS + lane * MASU_WORDS + k] = rank;
        if (own[k] != 0 && rank + popcount(own[k]) == all) {
          *last_bit = (lane * MASU_WORDS + k) * 32 + 31 - clz(own[k]);
        }
        rank += popcount(own[k]);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint begin = lane; begin < UNIQUE_TILE_WORDS * 32; begin += MASU_GROUP * UNIQUE_AT_ONCE) {
        MASU_ELEMENT loaded[UNIQUE_AT_ONCE];
        MASU_PRAGMA_UNROLL
        for (uint k = 0; k < UNIQUE_AT_ONCE; ++k) {
          const uint b = begin + k * MASU_GROUP;
          loaded[k] = (words[b / 32] >> (b % 32) & 1u) != 0 ? elements[first + b] : 0;
        }
        MASU_PRAGMA_UNROLL
        for (uint k = 0; k < UNIQUE_AT_ONCE; ++k) {
          const uint b = begin + k * MASU_GROUP;
          uint w = b / 32;
          const uint word = words[w];
          if ((word >> (b % 32) & 1u) == 0) continue;
          uint below = word & ((1u << (b % 32)) - 1);
          const uint i = words[UNIQUE_TILE_WORDS + w] + popcount(below);
          const ulong e = first + b;
          ulong before = last_start;
          if (i != 0 && (wanted & UNIQUE_WANTS_LENGTHS)) {
            while (below == 0) below = words[--w];
            before = first + w * 32 + 31 - clz(below);
          }
          UNIQUE_WRITE_RUN(base + i, e, loaded[k], before)
        }
      }
      if (all != 0) last_start = first + *last_bit;
      if (inverts) invert_tile(tile, count, lead, words, lane, base, order + order_at, inverse + inverse_at);
    }
    base += all;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (base == runs && spans[2 * group] != 0 && lane == 0 && (wanted & UNIQUE_WANTS_LENGTHS)) {
    ((__global ulong*)(lengths + lengths_at))[runs - 1] = count - last_start;
  }
}

// order[i] = i, and to[i] = data[i].
__kernel MASU_WORK_GROUP(MASU_GROUP) void unique_iota(__global uchar* order, const ulong order_at,
                                                      __global const uchar* restrict data, const ulong data_at,
                                                      __global uchar* to, const ulong to_at, const ulong count) {
  __global MASU_INDEX* places = (__global MASU_INDEX*)(order + order_at);
  __global const MASU_ELEMENT* elements = (__global const MASU_ELEMENT*)(data + data_at);
  for (size_t i = get_global_id(0); i < count; i += get_global_size(0)) {
    places[i] = (MASU_INDEX)i;
    ((__global MASU_ELEMENT*)(to + to_at))[i] = elements[i];
  }
}
