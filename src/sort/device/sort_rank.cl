// SPDX-License-Identifier: Apache-2.0
// The place of a key among the keys of a tile by one digit of 8 bits, stably, in OpenCL C 1.2 (and, after the CUDA prelude,
// in CUDA C++). sort_key.cl, group_scan.cl and sort_counters.cl stand in front of this file.
//
// A digit's place within a tile. Work-items stand in 32 columns; the keys of a column follow each other in memory, and in
// a column those of a row. Each column has a counter for each digit, in a memory bank of its own. Row after row takes its
// turn, so that a counter is added to in the order of the keys: the old value is the key's place among its equals in the
// column. The counters, two of 16 bits a word, are then summed: digit by digit, column by column.
//
// kernels.md has the parameters, which sort_plan.cpp gives.

enum {
  digit_count = 256,
  column_count = 32,
  row_count = MASU_GROUP / column_count,
  tile_keys = MASU_GROUP * MASU_ITEMS,
  counter_words = digit_count / 2 * column_count,
  counters_each = counter_words / MASU_GROUP,
};
#define SORT_PADDED(i) ((i) + ((i) >> MASU_PAD_SHIFT))

// `flip` is 0, or digit_count - 1 where greater keys come first.
inline uint digit_of(const MASU_ELEMENT key, const uint shift, const uint flip) {
  return ((uint)(sort_key(key) >> shift) & (digit_count - 1)) ^ flip;
}

inline void clear_counters(__local uint *counters, const uint lid) {
  MASU_UNROLLED
  for (uint i = 0; i < counters_each; ++i) counters[i * MASU_GROUP + lid] = 0;
}

// The places of a work-item's keys in their ordered tile of `size` keys: ranks[i] for keys[i], which stood at own + i.
// What stands after the tile's keys stays there. Ends with the scanned counters.
inline void rank_keys(const MASU_ELEMENT *keys, const uint shift, const uint flip, const uint own, const uint size,
                      uint *ranks, __local uint *counters, __local uint *partial, const uint lid) {
  const uint column = lid % column_count;
  clear_counters(counters, lid);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint row = 0; row < row_count; ++row) {
    if (lid / column_count == row) {
      MASU_UNROLLED
      for (uint i = 0; i < MASU_ITEMS; ++i) {
        const uint digit = own + i < size ? digit_of(keys[i], shift, flip) : digit_count - 1;
        const uint upper = upper_of(digit);
        const uint old = atomic_add(&counters[counter_of(digit, column)], 1U << upper);
        ranks[i] = (old >> upper & 0xffff) | digit << 16;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  uint total;
  uint pairs;
  scan_counter_pairs(counters, counters_each, MASU_GROUP, partial, lid, &total, &pairs);
  MASU_UNROLLED
  for (uint i = 0; i < MASU_ITEMS; ++i) {
    const uint digit = ranks[i] >> 16;
    ranks[i] = (ranks[i] & 0xffff) + (counters[counter_of(digit, column)] >> upper_of(digit) & 0xffff);
  }
}

// Bits of `flags`: the values are the places of the keys in their piece, not read; the keys are not written; places are
// counted from the first of all keys; values of 4 bytes are written as 8.
enum { flag_indices = 1 };
enum { flag_drop_keys = 2 };
enum { flag_whole = 4 };
enum { flag_widen = 8 };

#if MASU_PAYLOAD_BYTES > 0
#define SORT_VALUE_PARAMETERS                                                                                 \
  __global const uchar *restrict values, const ulong values_at, __global uchar *restrict moved, const ulong moved_at,
#else
#define SORT_VALUE_PARAMETERS
#endif
