// SPDX-License-Identifier: Apache-2.0
// Counting with several counters in a word of local memory, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++): two of 16
// bits (`packed`), or, for rows of bytes, four of 8 bits. histogram_slots.cl and histogram_vectors.cl come before this file.
//
// kernels.md has the parameters, which histogram_plan.cpp gives.

#define HISTOGRAM_KERNEL_PACKED 0
#define HISTOGRAM_KERNEL_BYTE_ROWS 1

#if MASU_KERNEL == HISTOGRAM_KERNEL_PACKED
// MASU_SPLIT work-groups, an even number, are a set with a part of the vectors, and each has a table of `each` words.
// Mostly two 16-bit counters a word: the halves of a set have half of its vectors each, and a group counts 2 * each of the slots. A
// look at a sample of the values, the same in all groups of a set, tells whether some are so frequent that counters would
// overflow; then a word is one counter, and each group reads all vectors of the set and counts `each` of the slots.
//
// Additions do not tell what a counter was, which would take longer. Whether one did overflow is seen in the end: each loses 65,535 or
// more of the sum of all counters. Then the group counts again, and moves counters to the totals before they can.
#define HISTOGRAM_HALVES (MASU_SPLIT / 2)
#define HISTOGRAM_SAMPLES (MASU_GROUP < 32 ? 1 : MASU_GROUP / 32)  // places in the data
#define HISTOGRAM_SHARE_UNROLL (MASU_UNROLL > 1 ? 8 : 2)  // vectors in flight where a word is one counter
#define HISTOGRAM_PACKED_ROUNDS (MASU_PACKED / (MASU_UNROLL * MASU_GROUP * MASU_PER_VECTOR))
#define HISTOGRAM_PACKED_MOVED (65536 - MASU_PACKED)
#define HISTOGRAM_PACKED_ANY (MASU_PACKED * 0x10001u)  // a bit of either counter from HISTOGRAM_PACKED_MOVED on
inline void move_counters(__local uint *word, __global uint *lower, __global uint *upper, const uint from) {
  const uint both = *word;
  uint left = both;
  if ((both & 65535) >= from) {
    add_total(lower, both & 65535);
    left &= 0xffff0000u;
  }
  if (both >> 16 >= from) {
    add_total(upper, both >> 16);
    left &= 65535;
  }
  *word = left;
}
// A vector of equal elements, or of two in turns: lanes that meet in a word wait for each other, so it is one addition or two. Where the
// first vector is one, those like it are not counted one by one at all.
#if MASU_ELEMENT_BYTES == 1 || MASU_CHANNELS > 1
#define HISTOGRAM_REPEATS(v) false
#define HISTOGRAM_OF_REPEATED(x, y, times, HISTOGRAM_DO)
#elif MASU_ELEMENT_BYTES == 8
#define HISTOGRAM_REPEATS(v) (v.x == v.z && v.y == v.w)
#define HISTOGRAM_OF_REPEATED(x, y, times, HISTOGRAM_DO) HISTOGRAM_DO(HISTOGRAM_SLOT_OF(MASU_AS_VALUE((ulong)(y) << 32 | (ulong)(x))), 2 * (times))
#else
#define HISTOGRAM_REPEATS(v) (v.x == v.y && v.x == v.z && v.x == v.w)
#if MASU_ELEMENT_BYTES == 4
#define HISTOGRAM_OF_REPEATED(x, y, times, HISTOGRAM_DO) HISTOGRAM_DO(HISTOGRAM_SLOT_OF(MASU_AS_VALUE(x)), 4 * (times))
#else
#define HISTOGRAM_OF_REPEATED(x, y, times, HISTOGRAM_DO)                  \
  {                                                                       \
    const uint one = HISTOGRAM_SLOT_OF(MASU_AS_VALUE((x) & 65535));       \
    const uint other = HISTOGRAM_SLOT_OF(MASU_AS_VALUE((x) >> 16));       \
    HISTOGRAM_DO(one, one == other ? 8 * (times) : 4 * (times))           \
    if (one != other) HISTOGRAM_DO(other, 4 * (times))                    \
  }
#endif
#endif
#define HISTOGRAM_IS_HOT(v) (HISTOGRAM_REPEATS(v) && v.x == hot_x && v.y == hot_y)
#define HISTOGRAM_CLEAR_TABLE                                         \
  for (uint w = lane; w < words + 4; w += MASU_GROUP) table[w] = 0;   \
  barrier(CLK_LOCAL_MEM_FENCE);
// The values before and after the vectors: fewer than 32.
#define HISTOGRAM_COUNT_EDGES                                                             \
  if (set == 0) {                                                                         \
    for (size_t e = lane; e < head + (size_t)(count - tail); e += MASU_GROUP) {           \
      const size_t element = e < head ? e : tail + (e - head);                            \
      HISTOGRAM_SET_CHANNEL(element)                                                      \
      HISTOGRAM_COUNT(value_at(bytes, element))                                           \
    }                                                                                     \
  }
#define HISTOGRAM_COUNT(x) HISTOGRAM_COUNT_BIN(HISTOGRAM_SLOT_OF(x))
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_packed(HISTOGRAM_PARAMETERS, __local uint4 *fours) {
  MASU_LOCAL_POINTER(uint4, fours);
  __local uint *table = (__local uint *)fours;
  const uint lane = (uint)get_local_id(0);
  const uint each = (slots * MASU_CHANNELS + MASU_SPLIT - 1) / MASU_SPLIT;
  const uint words = (each + 3) / 4 * 4;
  __local uint *found = table + words;
  const uint member = (uint)(get_group_id(0) % MASU_SPLIT);
  const size_t set = get_group_id(0) / MASU_SPLIT;
  const size_t sets = get_num_groups(0) / MASU_SPLIT;
  __global const uchar *bytes = data + byte_offset;
  const size_t head = head_of(bytes, count);
  const size_t vectors = (size_t)(count - head) / MASU_PER_VECTOR;
  const size_t tail = head + vectors * MASU_PER_VECTOR;
  __global const uint4 *body = (__global const uint4 *)(bytes + head * MASU_ELEMENT_BYTES);
  const size_t stride = 2 * sets * MASU_GROUP;
  HISTOGRAM_CLEAR_TABLE

  uint hot_x = 0;
  uint hot_y = 0;
  if (vectors != 0) {
    const uint4 v = body[0];
    hot_x = HISTOGRAM_REPEATS(v) ? v.x : ~v.z;
    hot_y = v.y;
  }
  const size_t apart = vectors / HISTOGRAM_SAMPLES;
  if (apart != 0) {
    const uint at = MASU_GROUP / HISTOGRAM_SAMPLES;
    const size_t i = lane / at * apart + (set * at + lane % at) % apart;
    const uint4 v = body[i];
    HISTOGRAM_SET_CHANNEL(head + i * MASU_PER_VECTOR)
#define HISTOGRAM_COUNT_BIN(bin)                         \
  atomic_inc(&table[(HISTOGRAM_CHANNEL + (bin)) % each]); \
  HISTOGRAM_NEXT_CHANNEL
    if (!HISTOGRAM_IS_HOT(v)) {
      HISTOGRAM_COUNT_VECTOR(v)
    }
#undef HISTOGRAM_COUNT_BIN
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint peak = 0;
  for (uint w = lane; w < each; w += MASU_GROUP) peak = max(peak, table[w]);
  atomic_max(found, peak);
  barrier(CLK_LOCAL_MEM_FENCE);
  const ulong most = (vectors / stride + 1) * MASU_GROUP * MASU_PER_VECTOR + 32;  // values of a half
  const bool packed = most < 65536 || *found * most <= (ulong)MASU_GROUP * MASU_PER_VECTOR * 32768;
  barrier(CLK_LOCAL_MEM_FENCE);
  HISTOGRAM_CLEAR_TABLE

  if (packed) {
    const uint side = member / HISTOGRAM_HALVES;
    const uint first_slot = member % HISTOGRAM_HALVES * 2 * each;
    const size_t from = (2 * set + side) * MASU_GROUP;
    uint like_hot = 0;  // vectors
    bool again = false;
    while (true) {
      uint added = 0;  // values, to the table
#if MASU_ALL_HALVES && HISTOGRAM_HALVES == 1
// One bit tells which half of the 65,536 values is counted in the upper halves. For both elements of a word: four times the place,
// and that bit.
#define HISTOGRAM_ADD_AT(place, is_upper, times) \
  atomic_add((__local uint *)((__local uchar *)table + ((place)&0x1fffc)), (is_upper) ? (times) << 16 : (times));
#define HISTOGRAM_ADD(bin, times) HISTOGRAM_ADD_AT((bin) << 2, ((bin)&0x8000) != 0, times)
#define HISTOGRAM_COUNT_HALVES(w) \
  HISTOGRAM_ADD_AT((w) << 2, ((w)&0x8000) != 0, 1u) HISTOGRAM_ADD_AT((w) >> 14, (w) >> 31 != 0, 1u)
#define HISTOGRAM_COUNT_PACKED(v) HISTOGRAM_COUNT_HALVES(v.x) HISTOGRAM_COUNT_HALVES(v.y) HISTOGRAM_COUNT_HALVES(v.z) HISTOGRAM_COUNT_HALVES(v.w)
#else
#define HISTOGRAM_ADD(bin, times)                                                                           \
  {                                                                                                         \
    const uint slot = HISTOGRAM_CHANNEL + (bin)-first_slot;                                                 \
    if (HISTOGRAM_HALVES == 1 || slot < 2 * each) {                                                         \
      atomic_add(&table[slot >= each ? slot - each : slot], slot >= each ? (times) << 16 : (times));        \
      if (HISTOGRAM_HALVES > 1) added += (times);                                                           \
    }                                                                                                       \
  }
#define HISTOGRAM_COUNT_PACKED(v) HISTOGRAM_COUNT_VECTOR(v)
#endif
#define HISTOGRAM_COUNT_BIN(bin) \
  HISTOGRAM_ADD(bin, 1u)    \
  HISTOGRAM_NEXT_CHANNEL
      if (side == 0) {
        HISTOGRAM_COUNT_EDGES
        if (HISTOGRAM_HALVES == 1 && set == 0) {
          for (size_t e = lane; e < head + (size_t)(count - tail); e += MASU_GROUP) ++added;
        }
      }
      // All work-items of a group go round together. A vector is loaded as soon as the one before it is counted.
      uint4 loaded[MASU_UNROLL];
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < MASU_UNROLL; ++k) {
        if (from + lane + k * stride < vectors) loaded[k] = masu_load_streaming(body + from + lane + k * stride);
      }
      uint rounds = 0;
      for (size_t begin = from; begin < vectors; begin += MASU_UNROLL * stride) {
        if (again && rounds == HISTOGRAM_PACKED_ROUNDS) {
          rounds = 0;
          barrier(CLK_LOCAL_MEM_FENCE);
          for (uint f = lane; f < words / 4; f += MASU_GROUP) {
            const uint4 four = fours[f];
            if (((four.x | four.y | four.z | four.w) & HISTOGRAM_PACKED_ANY) != 0) {
              for (uint w = 4 * f; w < 4 * f + 4; ++w) {
                __global uint *lower = &totals[2 * (first_total + first_slot + w)];
                move_counters(&table[w], lower, lower + 2 * each, HISTOGRAM_PACKED_MOVED);
              }
            }
          }
          barrier(CLK_LOCAL_MEM_FENCE);
        }
        ++rounds;
        MASU_PRAGMA_UNROLL
        for (int k = 0; k < MASU_UNROLL; ++k) {
          const size_t i = begin + lane + k * stride;
          const size_t next = i + MASU_UNROLL * stride;
          const uint4 v = loaded[k];
          if (next < vectors) loaded[k] = masu_load_streaming(body + next);
          if (i < vectors) {
            HISTOGRAM_SET_CHANNEL(head + i * MASU_PER_VECTOR)
            if (HISTOGRAM_HALVES == 1) added += MASU_PER_VECTOR;
            if (!HISTOGRAM_REPEATS(v)) {
              HISTOGRAM_COUNT_PACKED(v)
            } else if (v.x == hot_x && v.y == hot_y) {
              if (HISTOGRAM_HALVES == 1) added -= MASU_PER_VECTOR;
              ++like_hot;
            } else {
              HISTOGRAM_OF_REPEATED(v.x, v.y, 1u, HISTOGRAM_ADD)
            }
          }
        }
      }
#undef HISTOGRAM_COUNT_BIN
      barrier(CLK_LOCAL_MEM_FENCE);
      if (again) break;
      uint sum = 0;
      for (uint w = lane; w < words; w += MASU_GROUP) sum += (table[w] & 65535) + (table[w] >> 16);
      atomic_add(found, sum - added);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (*found == 0) break;
      barrier(CLK_LOCAL_MEM_FENCE);
      HISTOGRAM_CLEAR_TABLE
      like_hot = 0;
      again = true;
    }
    // Each set begins elsewhere, so that they do not wait for each other's additions.
    const uint turn = (uint)((2 * set + side) * each / (2 * sets));
    for (uint i = lane; i < each; i += MASU_GROUP) {
      const uint w = i + turn < each ? i + turn : i + turn - each;
      __global uint *lower = &totals[2 * (first_total + first_slot + w)];
      move_counters(&table[w], lower, lower + 2 * each, 1);
    }
    const uint times = masu_sum_lanes(like_hot);
    if (times != 0 && lane % MASU_SHUFFLE_LANES == 0) {
#define HISTOGRAM_ADD_HOT(bin, times) \
  if ((bin)-first_slot < 2 * each) add_total(&totals[2 * (first_total + (bin))], times);
      HISTOGRAM_OF_REPEATED(hot_x, hot_y, (ulong)times, HISTOGRAM_ADD_HOT)
    }
  } else {
    const uint first_slot = member * each;
#if MASU_ALL_HALVES && MASU_SPLIT == 2
    const uint flip = first_slot == 0 ? 0 : 0x80008000u;
#define HISTOGRAM_COUNT_HALF(w)                                      \
  {                                                                  \
    const uint halves = (w) ^ flip;                                  \
    if ((halves & 0x8000) == 0) atomic_inc(&table[halves & 0x7fff]); \
    if (halves >> 31 == 0) atomic_inc(&table[halves >> 16]);         \
  }
#define HISTOGRAM_COUNT_SHARE(v) HISTOGRAM_COUNT_HALF(v.x) HISTOGRAM_COUNT_HALF(v.y) HISTOGRAM_COUNT_HALF(v.z) HISTOGRAM_COUNT_HALF(v.w)
#else
#define HISTOGRAM_COUNT_SHARE(v) HISTOGRAM_COUNT_VECTOR(v)
#endif
#define HISTOGRAM_COUNT_BIN(bin)                              \
  {                                                           \
    const uint slot = HISTOGRAM_CHANNEL + (bin)-first_slot;   \
    if (slot < each) atomic_inc(&table[slot]);                \
  }                                                           \
  HISTOGRAM_NEXT_CHANNEL
    HISTOGRAM_COUNT_EDGES
    for (size_t begin = 2 * set * MASU_GROUP + lane; begin < vectors; begin += HISTOGRAM_SHARE_UNROLL / 2 * stride) {
      uint4 loaded[HISTOGRAM_SHARE_UNROLL];
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < HISTOGRAM_SHARE_UNROLL; ++k) {
        const size_t i = begin + k / 2 * stride + k % 2 * MASU_GROUP;
        if (i < vectors) loaded[k] = masu_load_streaming(body + i);
      }
      MASU_PRAGMA_UNROLL
      for (int k = 0; k < HISTOGRAM_SHARE_UNROLL; ++k) {
        const size_t i = begin + k / 2 * stride + k % 2 * MASU_GROUP;
        if (i < vectors) {
          const uint4 v = loaded[k];
          HISTOGRAM_SET_CHANNEL(head + i * MASU_PER_VECTOR)
          HISTOGRAM_COUNT_SHARE(v)
        }
      }
    }
#undef HISTOGRAM_COUNT_BIN
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint w = lane; w < each; w += MASU_GROUP) {
      if (table[w] != 0) add_total(&totals[2 * (first_total + first_slot + w)], table[w]);
    }
  }
}
#endif

#if MASU_KERNEL == HISTOGRAM_KERNEL_BYTE_ROWS
// A histogram for each row of fewer than 2^16 bytes, on GPUs.
//
// A work-group of 32 takes two rows, its even work-items one and its odd ones the other. Each work-item has a table of its own in
// one bank of local memory, whose counters are bytes: the word of the four values from 4 * f on is number f * 32 + lane. A
// part of a row is up to HISTOGRAM_ROUNDS rounds of MASU_UNROLL vectors for each work-item, and two bytes more; then the tables are
// summed, and cleared. That is fewer than 256 bytes, or 256 in whole vectors: where these are all equal the last round is not
// counted but added to the sums.
#define HISTOGRAM_PLACE(four, amount) \
  atomic_add((__local uint *)((__local uchar *)table + (((four) & (63 * 128)) | column)), rotate(1u, (uint)(amount)));
#define HISTOGRAM_COUNT_BYTE(w, k)          \
  {                                         \
    const uint byte = masu_byte(w, k);      \
    HISTOGRAM_PLACE(byte << 5, byte << 3)   \
  }
#define HISTOGRAM_COUNT_BYTES(w) \
  HISTOGRAM_PLACE((w) << 5, (w) << 3) \
  HISTOGRAM_COUNT_BYTE(w, 1)   \
  HISTOGRAM_COUNT_BYTE(w, 2)   \
  HISTOGRAM_COUNT_BYTE(w, 3)
// Adds the bytes of a word: numbers 0 and 2 as a pair of 16 bits, and all but number 0 as 16 bits each, the second half a byte
// above the first; so numbers 1 and 3 are what is left without number 2.
#define HISTOGRAM_ADD_BYTES(w, n) \
  even[n] += (w) & 0x00ff00ffu; \
  upper[n] += (w) >> 8;
#define HISTOGRAM_MEMBERS 16  // of a row
#define HISTOGRAM_ROUNDS 2
#define HISTOGRAM_FULL_ROUND 8  // vectors: twice as many are 256 bytes
// After the table: for each work-item, 256 + the value of all its bytes if its last round was not counted; then the last such part.
#define HISTOGRAM_ALONE (64 * 32)
#define HISTOGRAM_ALONE_LAST (HISTOGRAM_ALONE + 32)
// Where this work-item's row of two lies, and its first round.
#define HISTOGRAM_NEXT_ROW(row)                                  \
  bytes = data + byte_offset + ((row) + side) * pitch;           \
  head = head_of(bytes, count);                                  \
  vectors = (row) + side < rows ? (uint)(count - head) / 16 : 0; \
  first = 0;
#define HISTOGRAM_VECTOR_OF(k) (first + (k)*HISTOGRAM_MEMBERS + lane / 2)
#define HISTOGRAM_HAS_VECTOR(k) ((k) < step && HISTOGRAM_VECTOR_OF(k) < vectors)
#define HISTOGRAM_LOAD_ROUND                                                                       \
  MASU_PRAGMA_UNROLL                                                                               \
  for (uint k = 0; k < MASU_UNROLL; ++k) {                                                         \
    if (HISTOGRAM_HAS_VECTOR(k)) {                                                                 \
      loaded[k] = masu_load_streaming((__global const uint4 *)(bytes + head) + HISTOGRAM_VECTOR_OF(k)); \
    }                                                                                              \
  }

// The value of all bytes of some vectors and 256, or 0 where they differ. Mostly three words tell that they do.
MASU_INLINE uint only_value(const uint4 *v) {
  const uint word = v[0].x;
  const uint value = word & 255;
  if (word != value * 0x01010101u || v[MASU_UNROLL / 2].y != word || v[MASU_UNROLL - 1].w != word) return 0;
  uint different = 0;
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_UNROLL; ++k) {
    different |= (v[k].x ^ word) | (v[k].y ^ word) | (v[k].z ^ word) | (v[k].w ^ word);
  }
  return different == 0 ? 256 | value : 0;
}

__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_RESIDENT) void histogram_byte_rows(HISTOGRAM_PARAMETERS, __local uint4 *table) {
  MASU_LOCAL_POINTER(uint4, table);
  __local uint *words = (__local uint *)table;
  const uint lane = (uint)get_local_id(0);
  const uint side = lane & 1;
  const uint column = masu_computed(4 * lane);
  const bool whole = (((size_t)data + byte_offset) % 16 | pitch % 16 | count % 16) == 0;
  const uint step = MASU_UNROLL < HISTOGRAM_FULL_ROUND || whole ? MASU_UNROLL : HISTOGRAM_FULL_ROUND - 1;
  uint4 zeros;
  zeros.x = zeros.y = zeros.z = zeros.w = 0;
  size_t row = get_group_id(0) * 2;
  __global const uchar *bytes;
  size_t head;
  uint vectors;
  uint first;
  uint4 loaded[MASU_UNROLL];
  HISTOGRAM_NEXT_ROW(row)
  HISTOGRAM_LOAD_ROUND
  for (uint w = lane; w < 512; w += MASU_GROUP) table[w] = zeros;
  if (lane == 0) words[HISTOGRAM_ALONE_LAST] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  // The sums of quads lane and lane + 32, for both rows.
  uint even[4] = {0, 0, 0, 0};
  uint upper[4] = {0, 0, 0, 0};
  uint part = 1;
  uint round = 0;
  uint only = 0;
  while (row < rows) {
    uint alone = 0;
    if (MASU_UNROLL == HISTOGRAM_FULL_ROUND) {
      const uint before = only;
      only = whole && HISTOGRAM_VECTOR_OF(MASU_UNROLL - 1) < vectors ? only_value(loaded) : 0;
      alone = round == 1 && only == before ? only : 0;
    }
    if (alone == 0) {
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < MASU_UNROLL; ++k) {
        if (HISTOGRAM_HAS_VECTOR(k)) {
          HISTOGRAM_COUNT_BYTES(loaded[k].x)
          HISTOGRAM_COUNT_BYTES(loaded[k].y)
          HISTOGRAM_COUNT_BYTES(loaded[k].z)
          HISTOGRAM_COUNT_BYTES(loaded[k].w)
        }
      }
    }
    if (first == 0 && row + side < rows && !whole) {  // the bytes before and after the vectors
      const size_t tail = head + (size_t)vectors * 16;
      for (uint e = lane / 2; e < head + (size_t)(count - tail); e += HISTOGRAM_MEMBERS) {
        const uint value = bytes[e < head ? e : tail + (e - head)];
        HISTOGRAM_PLACE(value << 5, value << 3)
      }
    }
    // The next round is on its way while others are counted or summed.
    const size_t this_row = row;
    first += step * HISTOGRAM_MEMBERS;
    if (first >= (uint)count / 16) {
      row += get_num_groups(0) * 2;
      HISTOGRAM_NEXT_ROW(row)
    }
    HISTOGRAM_LOAD_ROUND
    if (row == this_row && ++round < HISTOGRAM_ROUNDS) continue;
    round = 0;
    if (MASU_UNROLL == HISTOGRAM_FULL_ROUND) {
      words[HISTOGRAM_ALONE + lane] = alone;
      if (alone != 0) words[HISTOGRAM_ALONE_LAST] = part;
    }
    const bool last = row >= rows;  // of this work-group: most have no others, and writing zeros takes as long as reading
    barrier(CLK_LOCAL_MEM_FENCE);
    MASU_PRAGMA_UNROLL
    for (uint n = 0; n < 4; n += 2) {
      MASU_PRAGMA_UNROLL
      for (uint c = 0; c < 8; ++c) {
        // Work-items side by side begin in different banks.
        __local uint4 *at = &table[(lane + 16 * n) * 8 + ((c + lane) & 7)];
        const uint4 v = *at;
        if (!last) *at = zeros;
        HISTOGRAM_ADD_BYTES(v.x, n)
        HISTOGRAM_ADD_BYTES(v.y, n + 1)
        HISTOGRAM_ADD_BYTES(v.z, n)
        HISTOGRAM_ADD_BYTES(v.w, n + 1)
      }
    }
    if (MASU_UNROLL == HISTOGRAM_FULL_ROUND && words[HISTOGRAM_ALONE_LAST] == part) {
      const uint more = 16 * HISTOGRAM_FULL_ROUND;
      for (uint item = 0; item < 32; ++item) {
        const uint one = words[HISTOGRAM_ALONE + item];
        MASU_PRAGMA_UNROLL
        for (uint n = 0; n < 4; ++n) {
          if (one != 0 && (one & 255) / 4 == lane + n / 2 * 32 && (item & 1) == n % 2) {
            // As HISTOGRAM_ADD_BYTES would of such a word.
            even[n] += (one & 1) != 0 ? 0 : more << 8 * (one & 2);
            upper[n] += (one & 3) == 0 ? 0 : more << 8 * ((one & 3) - 1);
          }
        }
      }
    }
    ++part;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (row == this_row) continue;
    MASU_PRAGMA_UNROLL
    for (uint n = 0; n < 4; ++n) {
      if (this_row + n % 2 < rows) {
        __global ulong *four = (__global ulong *)totals + first_total + (this_row + n % 2) * 256 + 4 * (lane + n / 2 * 32);
        const uint odd = upper[n] - (even[n] >> 16 << 8);
        if (((size_t)four & 15) == 0) {
          uint4 two = zeros;
          two.x = even[n] & 65535;
          two.z = odd & 65535;
          ((__global uint4 *)four)[0] = two;
          two.x = even[n] >> 16;
          two.z = odd >> 16;
          ((__global uint4 *)four)[1] = two;
        } else {
          four[0] = even[n] & 65535;
          four[1] = odd & 65535;
          four[2] = even[n] >> 16;
          four[3] = odd >> 16;
        }
      }
      even[n] = 0;
      upper[n] = 0;
    }
  }
}
#endif
