// SPDX-License-Identifier: Apache-2.0
// What all selections share: the words in which kernels leave what they found, bounds between which elements lie, and how
// those of a tile, MASU_UNROLL vectors of each work-item, are listed. After elements.cl, order.cl and group_scan.cl.
// kernels.md has the parameters, which selection_plan.cpp gives.

#define SELECT_DIGIT_BITS 11u
#define SELECT_DIGITS (1u << SELECT_DIGIT_BITS)
#define SELECT_SHARE (SELECT_DIGITS / MASU_GROUP)  // digits that a work-item looks through
#define SELECT_KEY_BITS (8u * MASU_ELEMENT_BYTES)
#define SELECT_PASSES ((SELECT_KEY_BITS + SELECT_DIGIT_BITS - 1) / SELECT_DIGIT_BITS)

#define SELECT_DATA __global const uchar *data, const ulong byte_offset, const uint count
// The two places, and whether there are bounds; `list` has room for `capacity` keys.
#define SELECT_WORK                                                                                              \
  const uint place0, const uint place1, const uint bounded, __global uchar *work, const ulong control_at,        \
      const ulong list_at, const uint capacity
// Element `first` of the result is what is at place0, element `second` what is at place1; element `mark` is NaN where there
// is any, else zero.
#define SELECT_RESULT                                                                                             \
  const uint what, __global uchar *results, const ulong results_at, const ulong first, const ulong second,        \
      const ulong mark
#define SELECT_NO_MARK (~(ulong)0)
#define SELECT_ELEMENTS 0u  // the two elements; else their mean, NaN where there is any

// Words of `control`; after them the counts of all passes, two tables each, and the zeros of each work-group.
#define control_less 0     // keys below the lower bound
#define control_lower 1    // equal to it
#define control_between 2  // between the bounds
#define control_upper 3    // equal to the upper bound
#define control_seen 4     // SELECT_SEEN_...
#define control_bounds 8   // the lower and the upper one, low word first, and SELECT_HAS_...
#define control_states 16  // after each number of passes
#define control_words (control_states + state_words * SELECT_PASSES)
#define SELECT_SEEN_NAN 1u
#define SELECT_SEEN_MINUS 2u  // a zero with a sign
#define SELECT_HAS_LOWER 1u
#define SELECT_HAS_UPPER 2u
#define SELECT_IS_NAN 4u  // a bound: there are none

// What the filter leaves of each of its tiles, for a partition: words. Two numbers in one are its lower and upper 16 bits.
#define filtered_begin 0  // where in the list its keys begin
#define filtered_below 1  // how many are below the lower bound, and equal to it
#define filtered_above 2  // how many are equal to the upper bound, and between the bounds
#define filtered_words 3

// What is known of the keys at the places: words of a state. For each of them `target_words` from state_targets on.
#define state_listed 0  // what is left to look at is the list
#define state_left 1    // how many
#define state_bits 2    // of what is unknown of a key
#define state_base 4    // it is a key less this number, low word first
#define state_targets 6
#define state_words 16
#define target_known 0  // 1: all bits of it; 2: the key itself
#define target_rest 1   // the place among the keys that begin so
#define target_front 2  // what is known of it, low word first
#define target_words 4

// The keys that lie between the bounds: `span` from `first` on, if `some` do.
typedef struct {
  MASU_BITS lower, upper, first, span;
  uint has, some;
} Bounds;
inline Bounds bounds_of(__global const uint *control) {
  Bounds bounds;
  __global const uint *words = control + control_bounds;
  bounds.lower = (MASU_BITS)((ulong)words[1] << 32 | words[0]);
  bounds.upper = (MASU_BITS)((ulong)words[3] << 32 | words[2]);
  bounds.has = words[4];
  // What is equal to both is equal to the lower one.
  if (bounds.has == (SELECT_HAS_LOWER | SELECT_HAS_UPPER) && bounds.lower == bounds.upper) bounds.has = SELECT_HAS_LOWER;
  const uint above = (bounds.has & SELECT_HAS_LOWER) != 0 ? 1 : 0;
  const uint below = (bounds.has & SELECT_HAS_UPPER) != 0 ? 1 : 0;
  const bool equal = bounds.lower == bounds.upper;
  bounds.some = !equal && bounds.upper - bounds.lower >= above + below ? 1 : 0;
  bounds.first = bounds.lower + above;
  bounds.span = bounds.upper - bounds.lower - above - below;
  return bounds;
}

inline uint seen_of(const MASU_BITS bits) {
#if MASU_FLOAT
  const MASU_BITS magnitude = bits & (MASU_SIGN - 1);
  return magnitude > MASU_INFINITY_BITS ? SELECT_SEEN_NAN : bits == MASU_SIGN ? SELECT_SEEN_MINUS : 0u;
#else
  return 0;
#endif
}

// Keeps the vectors of a work-item that lists any. Few are listed: a loop over these takes them from local memory.
MASU_INLINE void hold_listed(const uint mask, const uint4 *loaded, __local uint4 *held) {
  if (mask != 0) {
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) held[k * MASU_GROUP + (uint)get_local_id(0)] = loaded[k];
  }
}

// The element of `held` that the lowest bit of `mask` stands for.
inline MASU_BITS first_listed(const uint mask, __local const uint4 *held) {
  const uint n = 31u - clz(mask & (0u - mask));
  __local const uint4 *vector = held + n / MASU_PER_VECTOR * MASU_GROUP + (uint)get_local_id(0);
  return ((__local const MASU_ELEMENT *)vector)[n % MASU_PER_VECTOR];
}
