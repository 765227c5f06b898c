// SPDX-License-Identifier: Apache-2.0
// What the kernels of a top-k share: their memory, entries, results. After elements.cl, order.cl and selection_row.cl,
// which has the ranks; the host's half is in topk_cpu.h. kernels.md has the parameters, which topk_plan.cpp gives.
//
// An entry is an element that may be of the result: of up to four bytes as one number, rank << 32 | ~index, whose order is
// that of the result; eight-byte ones (TOPK_PAIRS) as rank and index apart.

#define TOPK_PAIRS (MASU_ELEMENT_BYTES == 8)

// Rows of `count` elements, `byte_offset` bytes into `data`, and their lengths.
#define TOPK_DATA                                                                                                   \
  __global const uchar *data, const ulong byte_offset, const uint count, __global const uchar *lengths,             \
      const ulong lengths_at, const uint length_form
// How many elements the row `r` has: all, or as many as its length says, which is clamped. A form has the words of a length, 0
// where there are none, and 4 more where lengths have a sign.
inline uint length_of(__global const uchar *lengths, const uint form, const size_t r, const uint count) {
  if (form == 0) return count;
  const uint words = form & 3;
  __global const uint *length = (__global const uint *)lengths + r * words;
  if (form > 4 && length[words - 1] >> 31 != 0) return 0;
  return words == 2 && length[1] != 0 ? count : min(length[0], count);
}
#define TOPK_LENGTH(r) length_of(lengths + lengths_at, length_form, r, count)
// Temporary memory, and where the arrays begin in it: views of it are not for every device.
#define TOPK_WORK                                                                                                  \
  __global uchar *work, const ulong control_at, const ulong ranks_at, const ulong tiles_at, const ulong keys_at,   \
      const ulong indices_at
#define TOPK_AT(type, at) ((__global type *)(work + (at)))
// Where the k results of each row go.
#define TOPK_RESULT                                                                                                 \
  const uint k, __global uchar *results, const ulong result_indices_at, const uint index_bytes, __global uchar *values, \
      const ulong values_at
#define TOPK_RESULT_ARGUMENTS results + result_indices_at, index_bytes, values + values_at

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

// Whether a value is at or above t in the result's order, and whether it is above; t is not NaN.
#if !MASU_LARGEST
#define TOPK_REACHES(x, t) ((x) <= (t))
#define TOPK_EXCEEDS(x, t) ((x) < (t))
#elif MASU_FLOAT && MASU_NAN_FIRST
#define TOPK_REACHES(x, t) (!((x) < (t)))
#define TOPK_EXCEEDS(x, t) (!((x) <= (t)))
#else
#define TOPK_REACHES(x, t) ((x) >= (t))
#define TOPK_EXCEEDS(x, t) ((x) > (t))
#endif

inline ulong key_of_entry(const MASU_BITS rank, const uint index) {
#if TOPK_PAIRS
  return rank;
#else
  return (ulong)rank << 32 | (uint)~index;
#endif
}
// NaNs that are skipped have the rank 0; so they are the last.
inline bool is_skipped(const ulong key) {
#if !MASU_SKIP
  return false;
#elif TOPK_PAIRS
  return key == 0;
#else
  return key >> 32 == 0;
#endif
}
// In a place without an element: an index, and the number that comes last.
#define TOPK_NO_INDEX UINT_MAX
#define TOPK_LAST (MASU_FLOAT ? MASU_INFINITY_BITS | (MASU_LARGEST ? MASU_SIGN : 0) : bits_of_rank(0))
// Writes result number `place`.
inline void set_result(__global const uchar *bytes, const ulong key, const uint index, const size_t place,
                       __global uchar *result_indices, const uint index_bytes, __global uchar *result_values) {
  const bool none = index == TOPK_NO_INDEX || is_skipped(key);
  if (index_bytes == 4) ((__global uint *)result_indices)[place] = none ? UINT_MAX : index;
  else ((__global ulong *)result_indices)[place] = none ? ULONG_MAX : (ulong)index;
#if TOPK_PAIRS
  const MASU_BITS rank = key;
#else
  const MASU_BITS rank = (uint)(key >> 32);
#endif
#if MASU_FLOAT
  const bool known = rank != SELECT_NAN_RANK && rank != rank_of(0);  // NaNs and zeros keep their bits
#else
  const bool known = true;
#endif
  MASU_BITS bits = TOPK_LAST;
  if (!none) bits = known ? bits_of_rank(rank) : element_at(bytes, index);
  set_element(result_values, place, bits);
}
