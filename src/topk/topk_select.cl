// SPDX-License-Identifier: Apache-2.0
// What the kernels of a top-k share: ranks, their memory, entries, and how a work-group finds the least of the greatest
// numbers, eight bits at a time. Behind elements.cl and order.cl.
// kernels.md has the parameters, which topk_plan.cpp gives.
//
// A rank is an unsigned number that is the greater the earlier an element comes; elements of one rank are equal and come
// by index. The host's half is in topk_cpu.h.
//
// An entry is an element that may be of the result: of up to four bytes as one number, rank << 32 | ~index, whose order is
// that of the result; eight-byte ones (MASU_PAIRS) as rank and index apart.

#define TOPK_NAN_RANK (MASU_NAN_FIRST ? MASU_ALL_BITS : (MASU_BITS)0)
#define TOPK_FLIP (MASU_LARGEST ? (MASU_BITS)0 : MASU_ALL_BITS)

inline MASU_BITS rank_of(const MASU_BITS bits) {
  const MASU_BITS key = ordered_key(bits);
#if MASU_FLOAT
  if (key == MASU_ALL_BITS) return TOPK_NAN_RANK;
#endif
  return key ^ TOPK_FLIP;
}

// The bits of the element with a rank that is not NaN's.
inline MASU_BITS bits_of_rank(const MASU_BITS rank) { return bits_of_key(rank ^ TOPK_FLIP); }

// `count` elements, `byte_offset` bytes into `data`.
#define TOPK_DATA __global const uchar *data, const ulong byte_offset, const uint count
// Temporary memory, and where the arrays begin in it: views of it are not for every device.
#define TOPK_WORK                                                                                                  \
  __global uchar *work, const ulong control_at, const ulong ranks_at, const ulong tiles_at, const ulong keys_at,   \
      const ulong indices_at
#define TOPK_AT(type, at) ((__global type *)(work + (at)))
// Where the k results of each row go.
#define TOPK_RESULT \
  const uint k, __global uchar *results, const ulong result_indices_at, __global uchar *values, const ulong values_at
#define TOPK_RESULT_ARGUMENTS results + result_indices_at, values + values_at

// What the kernels of one call tell each other and the host: words of `control`.
#define control_above 0      // elements above the threshold
#define control_equal 1      // elements equal to it, or at least as many as are needed
#define control_taken 2      // of the equal ones, how many were gathered
#define control_nan 4        // NaNs, where they are skipped
#define control_end 5        // the tile after the last one that has some of these
#define control_threshold 6  // its rank, low word first
#define control_words 16

inline MASU_BITS threshold_of(__global const uint *control) {
#if MASU_ELEMENT_BYTES == 8
  return (ulong)control[control_threshold + 1] << 32 | control[control_threshold];
#else
  return control[control_threshold];
#endif
}

inline ulong key_of_entry(const MASU_BITS rank, const uint index) {
#if MASU_PAIRS
  return rank;
#else
  return (ulong)rank << 32 | (uint)~index;
#endif
}
// NaNs that are skipped have the rank 0; so they are the last.
inline bool is_skipped(const ulong key) {
#if !MASU_SKIP
  return false;
#elif MASU_PAIRS
  return key == 0;
#else
  return key >> 32 == 0;
#endif
}
// Writes result number `place`.
inline void set_result(__global const uchar *bytes, const ulong key, const uint index, const size_t place,
                       __global uchar *result_indices, __global uchar *result_values) {
  const bool none = is_skipped(key);
  ((__global ulong *)result_indices)[place] = none ? ULONG_MAX : (ulong)index;
#if MASU_PAIRS
  const MASU_BITS rank = key;
#else
  const MASU_BITS rank = (uint)(key >> 32);
#endif
#if MASU_FLOAT
  const bool known = rank != TOPK_NAN_RANK && rank != rank_of(0);  // NaNs and zeros keep their bits
#else
  const bool known = true;
#endif
  MASU_BITS bits = MASU_ALL_BITS;
  if (!none) bits = known ? bits_of_rank(rank) : element_at(bytes, index);
  set_element(result_values, place, bits);
}

#define TOPK_DIGITS 256u
inline void clear_words(__local uint *words, const uint count) {
  for (uint i = (uint)get_local_id(0); i < count; i += MASU_GROUP) words[i] = 0;
}
inline void count_digit(__local uint *tables, const uint digit) {
  atomic_inc(&tables[digit * MASU_COPIES + (uint)get_local_id(0) % MASU_COPIES]);
}

// Behind a barrier, with counted tables: which digit has the `rest`-th greatest number. state[0]: the digit; state[1]: how
// many have a greater one; state[2]: how many have it. Ends with a barrier. `rest` is 1 to all that were counted.
inline void find_digit(__local uint *tables, __local uint *sums, __local uint *state, const uint rest) {
  const uint lane = (uint)get_local_id(0);
  for (uint d = lane; d < TOPK_DIGITS; d += MASU_GROUP) {
    uint sum = 0;
    for (uint c = 0; c < MASU_COPIES; ++c) sum += tables[d * MASU_COPIES + (c + lane) % MASU_COPIES];
    tables[d * MASU_COPIES] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < 16) {
    uint sum = 0;
    for (uint d = 16 * lane; d < 16 * lane + 16; ++d) sum += tables[d * MASU_COPIES];
    sums[lane] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane == 0) {
    uint above = 0;
    uint part = 15;
    while (part > 0 && above + sums[part] < rest) above += sums[part--];
    uint d = 16 * part + 15;
    while (d > 16 * part && above + tables[d * MASU_COPIES] < rest) above += tables[d-- * MASU_COPIES];
    state[0] = d;
    state[1] = above;
    state[2] = tables[d * MASU_COPIES];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}
