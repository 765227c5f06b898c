// SPDX-License-Identifier: Apache-2.0
// Scans in one launch, one read and one write, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After
// scan_tile.cl. No segments.
//
// The data is taken in waves: in wave w, work-group g takes tile w * groups + g. It scans the tile alone, publishes its
// total, and keeps the result in local memory. MASU_DELAY waves later, when the totals of that wave have long been
// published, it adds the prefix and writes. So no work-group stands still for another, though each waits for all: the plan
// launches them together (cooperatively), all at once on the device.
//
// A total stands with its wave's number in one 64-bit word, read and written as a whole, so no fence is needed; elements
// of 8 bytes have two words, each with the number. Numbers begin with 1 in words of 0. There are MASU_WAVES words a
// work-group, used in turns: a work-group that publishes the total of wave w has read those of wave w - MASU_DELAY, so all have
// published that one, and have read those of wave w - 2 * MASU_DELAY. Each total is published in MASU_REPLICAS copies: one
// place that all read at once slows them down.
//
// MASU_GROUP of a work-group's items scan, and SCAN_SUB_GROUP more read the totals meanwhile. Each sub-group takes a part
// of the tile alone: it is loaded and stored by rows of neighbouring vectors, one for each work-item, and through local
// memory, so that a work-item scans MASU_ITEM_VECTORS vectors that lie side by side.

// kernels.md has the parameters.

#if MASU_SHUFFLE_LANES > 1
#define SCAN_SUB_GROUP MASU_SHUFFLE_LANES
#else
#define SCAN_SUB_GROUP 1
#endif
#define SCAN_SUB_GROUPS (MASU_GROUP / SCAN_SUB_GROUP)
#define SCAN_WORDS_OF_TOTAL (MASU_ELEMENT_BYTES == 8 ? 2 : 1)
// Totals of a work-group that are read at a time: the loads are under way together.
#define SCAN_AT_ONCE (8 / SCAN_WORDS_OF_TOTAL)

// Where totals are joined in any order, neighbours read neighbouring words.
#define SCAN_ANY_ORDER (MASU_OP == 0 || !MASU_FLOAT)

// Sums of 1- and 2-byte elements are added within a word without a carry from one to the next.
#if MASU_OP == 0 && MASU_ELEMENT_BYTES < 4
#define SCAN_PACKED 1
#define SCAN_TOPS (MASU_ELEMENT_BYTES == 1 ? 0x80808080u : 0x80008000u)
#define SCAN_ONES (MASU_ELEMENT_BYTES == 1 ? 0x01010101u : 0x00010001u)
inline uint packed_sum(const uint a, const uint b) {
  return ((a & ~SCAN_TOPS) + (b & ~SCAN_TOPS)) ^ ((a ^ b) & SCAN_TOPS);
}
#else
#define SCAN_PACKED 0
#endif

// A total to which elements are joined one after the other. Where elements are ranked its rank is kept, so that each is
// ranked once.
#define SCAN_RANKED (MASU_OP != 0 && !(MASU_FLOAT && !MASU_STORED && MASU_FIRST_EXTREMES))
typedef struct {
  MASU_BITS value;
  MASU_BITS rank;
} Running;
inline Running running_from(const MASU_BITS value) {
  Running running;
  running.value = value;
  running.rank = SCAN_RANKED ? extreme_rank(value, MASU_OP == 2, 0) : 0;
  return running;
}
MASU_INLINE void take(Running *running, const MASU_BITS x) {
#if SCAN_RANKED
  const MASU_BITS rank = extreme_rank(x, MASU_OP == 2, 0);
  const uint better = rank < running->rank;
  running->value = better ? x : running->value;
  running->rank = better ? rank : running->rank;
#else
  running->value = combine(running->value, x);
#endif
}

// The total of a work-item's vectors, which lie side by side in local memory.
MASU_INLINE MASU_BITS total_of_vectors(__local const uint4 *part, const uint first) {
#if SCAN_PACKED
  uint total = 0;
  MASU_PRAGMA_UNROLL
  for (uint r = 0; r < MASU_ITEM_VECTORS; ++r) {
    const uint4 v = part[place_of(first + r)];
#if MASU_ELEMENT_BYTES == 1
    total = masu_add_bytes(masu_add_bytes(masu_add_bytes(masu_add_bytes(total, v.x), v.y), v.z), v.w);
#else
    total = packed_sum(total, packed_sum(packed_sum(v.x, v.y), packed_sum(v.z, v.w)));
#endif
  }
#if MASU_ELEMENT_BYTES == 2
  total += total >> 16;
#endif
  return total & MASU_ALL_BITS;
#else
  Running total = running_from(MASU_IDENTITY);
  MASU_PRAGMA_UNROLL
  for (uint r = 0; r < MASU_ITEM_VECTORS; ++r) {
    uint words[4];
    words_of_vector(part[place_of(first + r)], words);
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_PER_VECTOR; ++k) take(&total, element_of(words, k));
  }
  return total.value;
#endif
}

// Turns a vector's elements into their results; *running is the total before them, and then after them.
MASU_INLINE uint4 scan_vector(const uint4 vector, Running *running) {
  uint words[4];
  words_of_vector(vector, words);
#if SCAN_PACKED
  uint total = running->value;
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < 4; ++i) {
    const uint x = words[i];
#if MASU_ELEMENT_BYTES == 1
    // Sums of up to 17 bytes in fields of 16 bits: those up to bytes 1 and 3, and up to bytes 0 and 2.
    const uint even = x & 0x00ff00ffu;
    const uint odd = x >> 8 & 0x00ff00ffu;
    const uint to_odd = (even + odd + total) * 0x10001u;
    const uint to_even = to_odd - odd;
    const uint first = MASU_EXCLUSIVE ? to_even - even : to_even;
    const uint second = MASU_EXCLUSIVE ? to_even : to_odd;
    words[i] = (first & 0x00ff00ffu) | (second << 8 & 0xff00ff00u);
    total = to_odd >> 16;
#else
    const uint sums = x + (x << 16);
    words[i] = packed_sum(MASU_EXCLUSIVE ? x << 16 : sums, (total & 65535) * 0x10001u);
    total += sums >> 16;
#endif
  }
  running->value = total & MASU_ALL_BITS;
#else
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_PER_VECTOR; ++k) {
    const MASU_BITS before = running->value;
    take(running, element_of(words, k));
    set_element_of(words, k, MASU_EXCLUSIVE ? before : running->value);
  }
#endif
  return vector_of(words);
}

// Joins the prefix `front` to each result of a vector.
MASU_INLINE uint4 join_front(const Running front, const uint4 vector) {
  uint words[4];
  words_of_vector(vector, words);
#if SCAN_PACKED
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < 4; ++i) words[i] = packed_sum(words[i], front.value * SCAN_ONES);
#else
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < MASU_PER_VECTOR; ++k) {
    Running total = front;
    take(&total, element_of(words, k));
    set_element_of(words, k, total.value);
  }
#endif
  return vector_of(words);
}

// The total of the sub-group's work-items before this one, and in *all the total of all.
MASU_INLINE MASU_BITS items_before(MASU_BITS own, MASU_BITS *all) {
  MASU_BITS before = MASU_IDENTITY;
#if SCAN_SUB_GROUP > 1
  MASU_PRAGMA_UNROLL
  for (uint mask = 1; mask < SCAN_SUB_GROUP; mask *= 2) {
    MASU_BITS other = masu_shuffle_xor((uint)own, mask);
    if (sizeof own == 8) other |= (MASU_BITS)((ulong)masu_shuffle_xor((uint)((ulong)own >> 32), mask) << 32);
    const uint second = ((uint)get_local_id(0) & mask) != 0;
    if (second) before = combine(other, before);
    own = second && !SCAN_ANY_ORDER ? combine(other, own) : combine(own, other);
  }
#endif
  *all = own;
  return before;
}

// A work-item's vectors of a tile, as they are in the input; elements after the last are the identity.
MASU_INLINE void load_rows(__global const uchar *data, const ulong tile, const ulong count, const uint place,
                           SCAN_SOURCE *vectors) {
  const ulong first = tile * SCAN_TILE;
  if (first + SCAN_TILE <= count && input_is_aligned(data)) {
    __global const SCAN_SOURCE *from = sources(data, first) + place;
    MASU_PRAGMA_UNROLL
    for (uint r = 0; r < MASU_ITEM_VECTORS; ++r) vectors[r] = from[r * SCAN_SUB_GROUP];
  } else {
    MASU_PRAGMA_UNROLL
    for (uint r = 0; r < MASU_ITEM_VECTORS; ++r) {
      vectors[r] = source_at(data, first + (place + r * SCAN_SUB_GROUP) * MASU_PER_VECTOR, count);
    }
  }
}

// Writes a work-item's vectors of a tile, from local memory, joined to `front`.
MASU_INLINE void store_rows(__global uchar *data, const ulong tile, const ulong count, const uint place,
                            const Running front, __local const uint4 *part) {
  const ulong first = tile * SCAN_TILE;
  const uint lane = (uint)get_local_id(0) % SCAN_SUB_GROUP;
  if (first + SCAN_TILE <= count && is_aligned(data)) {
    __global uint4 *to = (__global uint4 *)(data + first * MASU_ELEMENT_BYTES) + place;
    MASU_PRAGMA_UNROLL
    for (uint r = 0; r < MASU_ITEM_VECTORS; ++r) {
      to[r * SCAN_SUB_GROUP] = join_front(front, part[place_of(r * SCAN_SUB_GROUP + lane)]);
    }
  } else {
    for (uint r = 0; r < MASU_ITEM_VECTORS; ++r) {
      const ulong at = first + (place + r * SCAN_SUB_GROUP) * MASU_PER_VECTOR;
      uint words[4];
      words_of_vector(join_front(front, part[place_of(r * SCAN_SUB_GROUP + lane)]), words);
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < MASU_PER_VECTOR; ++k) {
        if (at + k < count) set_element(data, at + k, element_of(words, k));
      }
    }
  }
}

// Words of wave `number` (from 1 on); `stride` apart by replica.
inline __global volatile ulong *words_of(__global volatile ulong *words, const uint number, const uint replica,
                                         const uint stride) {
  return words + ((number & (MASU_WAVES - 1)) * MASU_REPLICAS + replica) * stride;
}

// The words of one total, and whether they are those of wave `number`.
inline uint has_come(const ulong *word, const uint number) {
  return (uint)(word[0] >> 32) == number && (uint)(word[SCAN_WORDS_OF_TOTAL - 1] >> 32) == number;
}
inline void read_words(__global volatile const ulong *words, const uint group, ulong *word) {
  for (uint i = 0; i < SCAN_WORDS_OF_TOTAL; ++i) word[i] = words[group * SCAN_WORDS_OF_TOTAL + i];
}

// Waits for the `groups_known` totals of a wave; returns the total of the work-groups before this one, and in *all the
// total of all. Only the sub-group that reads calls this.
inline MASU_BITS totals_of_wave(__global volatile const ulong *words, const uint number, const uint groups_known,
                                MASU_BITS *all) {
  const uint lane = (uint)get_local_id(0) % SCAN_SUB_GROUP;
  const uint own = (uint)get_group_id(0);
  const uint each = (groups_known + SCAN_SUB_GROUP - 1) / SCAN_SUB_GROUP;
  const uint first = SCAN_ANY_ORDER ? lane : lane * each;
  const uint step = SCAN_ANY_ORDER ? SCAN_SUB_GROUP : 1;
  MASU_BITS before = MASU_IDENTITY;
  MASU_BITS sum = MASU_IDENTITY;
  for (uint i = 0; i < each; i += SCAN_AT_ONCE) {
    ulong word[SCAN_AT_ONCE][2];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < SCAN_AT_ONCE; ++k) {
      const uint group = first + (i + k) * step;
      if (i + k < each && group < groups_known) read_words(words, group, word[k]);
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < SCAN_AT_ONCE; ++k) {
      const uint group = first + (i + k) * step;
      if (i + k < each && group < groups_known) {
        while (!has_come(word[k], number)) read_words(words, group, word[k]);
#if MASU_ELEMENT_BYTES == 8
        const MASU_BITS value = word[k][1] << 32 | (uint)word[k][0];
#else
        const MASU_BITS value = (uint)word[k][0];
#endif
        sum = combine(sum, value);
        if (group < own) before = combine(before, value);
      }
    }
  }
  MASU_BITS whole;
  items_before(before, &whole);
  items_before(sum, all);
  return whole;
}

// `words` are zeros at the start. Input and output may be the same memory. After the words, at `state_at`, stands at
// the end the total of all.
__kernel MASU_WORK_GROUP(MASU_GROUP + SCAN_SUB_GROUP) void scan_once(
    __global const uchar *memory, const ulong memory_at, __global uchar *output_memory, const ulong output_at,
    const ulong count, const ulong state, __global uchar *word_memory, const ulong words_at, const ulong state_at,
    __local uint4 *kept, __local ulong *totals) {
  MASU_LOCAL_POINTER(uint4, kept);    // (MASU_DELAY + 1) * MASU_GROUP * MASU_ITEM_VECTORS
  MASU_LOCAL_POINTER(ulong, totals);  // 2 * (SCAN_SUB_GROUPS + 2)
  const uint item = (uint)get_local_id(0);
  const uint lane = item % SCAN_SUB_GROUP;
  const uint sub_group = item / SCAN_SUB_GROUP;
  const uint group = (uint)get_group_id(0);
  const uint groups = (uint)get_num_groups(0);
  const uint stride = (groups + 255) / 256 * 256 * SCAN_WORDS_OF_TOTAL;
  const uint place = sub_group * SCAN_SUB_GROUP * MASU_ITEM_VECTORS + lane;
  const uint scans = item < MASU_GROUP;
  __global volatile ulong *words = (__global volatile ulong *)(word_memory + words_at);
  const ulong tiles = (count + SCAN_TILE - 1) / SCAN_TILE;
  const ulong waves = (tiles + groups - 1) / groups;
  SCAN_SOURCE vectors[MASU_ITEM_VECTORS];
  MASU_BITS running = (MASU_BITS)state;  // of all before the wave that is written
  MASU_BITS front[MASU_DELAY];            // of each wave that waits: the group's tile before this sub-group
  for (uint i = 0; i < MASU_DELAY; ++i) front[i] = MASU_IDENTITY;
  if (scans) load_rows(memory + memory_at, group, count, place, vectors);
  uint slot = 0;
  for (ulong wave = 0; wave < waves + MASU_DELAY; ++wave) {
    __local ulong *const shared = totals + (wave & 1) * (SCAN_SUB_GROUPS + 2);
    if (scans) {
      __local uint4 *const part = kept + (slot * SCAN_SUB_GROUPS + sub_group) * SCAN_SUB_GROUP * MASU_ITEM_VECTORS;
      MASU_PRAGMA_UNROLL
      for (uint r = 0; r < MASU_ITEM_VECTORS; ++r) {
        part[place_of(r * SCAN_SUB_GROUP + lane)] = vector_from(vectors[r]);
      }
      if (wave + 1 < waves) load_rows(memory + memory_at, (wave + 1) * groups + group, count, place, vectors);
      masu_sub_group_barrier();
      MASU_BITS sum;
      Running before = running_from(items_before(total_of_vectors(part, lane * MASU_ITEM_VECTORS), &sum));
      MASU_PRAGMA_UNROLL
      for (uint r = 0; r < MASU_ITEM_VECTORS; ++r) {
        __local uint4 *const vector = part + place_of(lane * MASU_ITEM_VECTORS + r);
        *vector = scan_vector(*vector, &before);
      }
      if (lane == 0) shared[sub_group] = sum;
    } else if (wave >= MASU_DELAY) {
      const ulong first = (wave - MASU_DELAY) * groups;
      const uint number = (uint)(wave - MASU_DELAY) + 1;
      MASU_BITS all;
      const MASU_BITS before = totals_of_wave(words_of(words, number, group % MASU_REPLICAS, stride), number,
                                              (uint)min((ulong)groups, tiles - first), &all);
      if (lane == 0) {
        shared[SCAN_SUB_GROUPS] = before;
        shared[SCAN_SUB_GROUPS + 1] = all;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (scans) {
      if (++slot > MASU_DELAY) slot = 0;
      const ulong tile = (wave - MASU_DELAY) * groups + group;
      if (wave >= MASU_DELAY && tile < tiles) {
        const MASU_BITS before = combine(combine(running, (MASU_BITS)shared[SCAN_SUB_GROUPS]), front[MASU_DELAY - 1]);
        store_rows(output_memory + output_at, tile, count, place, running_from(before),
                   kept + (slot * SCAN_SUB_GROUPS + sub_group) * SCAN_SUB_GROUP * MASU_ITEM_VECTORS);
      }
      if (wave >= MASU_DELAY) running = combine(running, (MASU_BITS)shared[SCAN_SUB_GROUPS + 1]);
      MASU_PRAGMA_UNROLL
      for (uint i = MASU_DELAY - 1; i > 0; --i) front[i] = front[i - 1];
      MASU_BITS all = MASU_IDENTITY;
      front[0] = MASU_IDENTITY;
      for (uint i = 0; i < SCAN_SUB_GROUPS; ++i) {
        if (i == sub_group) front[0] = all;
        all = combine(all, (MASU_BITS)shared[i]);
      }
      if (item < MASU_REPLICAS && wave * groups + group < tiles) {
        const uint number = (uint)wave + 1;
        __global volatile ulong *own = words_of(words, number, item, stride) + group * SCAN_WORDS_OF_TOTAL;
#if MASU_ELEMENT_BYTES == 8
        own[0] = (ulong)number << 32 | (uint)all;
        own[1] = (ulong)number << 32 | all >> 32;
#else
        own[0] = (ulong)number << 32 | all;
#endif
      }
    }
  }
  if (group == 0 && item == 0) *(__global ulong *)(word_memory + state_at) = running;
}
