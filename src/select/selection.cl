// SPDX-License-Identifier: Apache-2.0
// The elements at one or two places of the sorted order, found by digits of their keys, the first digits first. Behind
// elements.cl, order.cl, group_scan.cl and soft_float.cl.
// kernels.md has the parameters, which selection_device.cpp gives.
//
// What a work-group that is alone shares with those that pass over a long row: what is known, how elements of a tile, MASU_UNROLL
// vectors of each work-item, are listed, and the result.

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
#define control_seen 4     // ORDER_SEEN_...
#define control_bounds 8   // the lower and the upper one, low word first, and SELECT_HAS_...
#define control_states 16  // after each number of passes
#define control_words (control_states + state_words * SELECT_PASSES)
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

inline ulong wide_at(__local const uint *words) { return (ulong)words[1] << 32 | words[0]; }
inline void set_wide(__local uint *words, const ulong value) {
  words[0] = (uint)value;
  words[1] = (uint)(value >> 32);
}

// Bits that are known after so many passes.
inline uint known_bits(const uint bits, const uint passes) { return min(bits, passes * SELECT_DIGIT_BITS); }

inline void set_target(__local uint *state, const uint which, const uint known, const uint rest, const ulong front) {
  __local uint *target = state + state_targets + which * target_words;
  target[target_known] = known;
  target[target_rest] = rest;
  set_wide(target + target_front, front);
}

// Nothing is known, and all `count` elements are to be looked at.
inline void begin_state(__local uint *state, const uint count, const uint place0, const uint place1) {
  state[state_listed] = 0;
  state[state_left] = count;
  state[state_bits] = SELECT_KEY_BITS;
  set_wide(state + state_base, 0);
  set_target(state, 0, 0, place0, 0);
  set_target(state, 1, 0, place1, 0);
}

// What counting digits needs of a state, in registers. Looked for are keys whose front is `front0`, and with `two` front1.
typedef struct {
  uint listed, left, shift, width, some, two;
  MASU_BITS base, front0, front1;
} Wanted;
inline Wanted wanted_of(__local const uint *state, const uint pass) {
  Wanted wanted;
  __local const uint *first = state + state_targets;
  __local const uint *second = first + target_words;
  const uint bits = state[state_bits];
  const uint known = known_bits(bits, pass + 1);
  wanted.listed = state[state_listed];
  wanted.shift = bits - known;
  wanted.width = known - known_bits(bits, pass);
  wanted.base = (MASU_BITS)wide_at(state + state_base);
  wanted.front0 = (MASU_BITS)wide_at(first + target_front);
  wanted.front1 = (MASU_BITS)wide_at(second + target_front);
  wanted.some = first[target_known] == 0 ? 1 : 0;
  wanted.two = second[target_known] == 0 && (wanted.some == 0 || wanted.front0 != wanted.front1) ? 1 : 0;
  wanted.left = wanted.some != 0 || wanted.two != 0 ? state[state_left] : 0;
  return wanted;
}

MASU_INLINE void count_key(const MASU_BITS key, const Wanted wanted, __local uint *tables) {
  const MASU_BITS front = (MASU_BITS)(key - wanted.base) >> wanted.shift;
  const MASU_BITS before = front >> wanted.width;
  const uint digit = (uint)front & ((1u << wanted.width) - 1u);
  if (wanted.some != 0 && before == wanted.front0) atomic_inc(&tables[digit]);
  if (wanted.two != 0 && before == wanted.front1) atomic_inc(&tables[SELECT_DIGITS + digit]);
}

// Which digit follows at the places that look at table number `table` of `pass`, from a work-item's share of its counts.
// All work-items come here.
MASU_INLINE void add_digits(const uint *share, const uint pass, const uint table, const uint two, __local uint *state,
                            __local uint *partial) {
  __local uint *targets = state + state_targets;
  const uint lane = (uint)get_local_id(0);
  const uint bits = state[state_bits];
  const uint known = known_bits(bits, pass + 1);
  const uint width = known - known_bits(bits, pass);
  uint open[2];
  uint rest[2];
  ulong front[2];
  MASU_PRAGMA_UNROLL
  for (uint which = 0; which < 2; ++which) {
    __local const uint *target = targets + which * target_words;
    open[which] = target[target_known] == 0 && which * two == table ? 1 : 0;
    rest[which] = target[target_rest];
    front[which] = wide_at(target + target_front);
  }
  uint sum = 0;
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < SELECT_SHARE; ++i) sum += share[i];
  uint all;
  uint before = group_scan(sum, MASU_GROUP, partial, lane, &all) - sum;
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < SELECT_SHARE; ++i) {
    for (uint which = 0; which < 2; ++which) {
      if (open[which] != 0 && rest[which] >= before && rest[which] - before < share[i]) {
        set_target(state, which, known == bits ? 1 : 0, rest[which] - before,
                   front[which] << width | (lane * SELECT_SHARE + i));
      }
    }
    before += share[i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// The key at a place, once all passes are done.
inline MASU_BITS key_at(__local const uint *state, const uint which) {
  __local const uint *target = state + state_targets + which * target_words;
  const ulong base = target[target_known] == 2 ? 0 : wide_at(state + state_base);
  return (MASU_BITS)(base + wide_at(target + target_front));
}
inline uint rest_at(__local const uint *state, const uint which) {
  return state[state_targets + which * target_words + target_rest];
}
inline bool is_zero_key(const MASU_BITS key) { return MASU_FLOAT && key == MASU_SIGN; }

// Whether zero number `rest` among the elements from `first` to `end` has a sign, to *found, if it is `wanted`. All
// work-items come here.
MASU_INLINE void find_zero(__global const uchar *bytes, const uint first, const uint end, const uint rest,
                           const bool wanted, __local uint *partial, __local uint *found) {
  const uint lane = (uint)get_local_id(0);
  uint before = 0;
  for (uint at = first; wanted && at < end && before <= rest; at += MASU_GROUP) {
    const MASU_BITS bits = at + lane < end ? element_at(bytes, at + lane) : 1;
    const uint zero = (bits & (MASU_BITS)(MASU_ALL_BITS ^ MASU_SIGN)) == 0 ? 1 : 0;
    uint all;
    const uint mine = group_scan(zero, MASU_GROUP, partial, lane, &all);
    if (zero != 0 && before + mine == rest + 1) *found = bits != 0 ? 1 : 0;
    before += all;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
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

// By one work-item; `minus`: which of the two, if it is a zero, has a sign.
inline void store_result(const MASU_BITS key0, const MASU_BITS key1, const uint seen, __local const uint *minus,
                         const bool one, const uint what, __global uchar *results, const ulong first, const ulong second,
                         const ulong mark) {
  MASU_BITS found[2];
  for (uint t = 0; t < 2; ++t) {
    const MASU_BITS key = t == 0 ? key0 : key1;
    found[t] = bits_of_key(key);
#if MASU_FLOAT
    if (key == MASU_ALL_BITS) found[t] = MASU_QUIET_NAN;
    if (is_zero_key(key) && minus[t] != 0) found[t] = MASU_SIGN;
#endif
  }
  if (what == SELECT_ELEMENTS) {
    set_element(results, first, found[0]);
    set_element(results, second, found[1]);
#if MASU_FLOAT
    if (mark != SELECT_NO_MARK) set_element(results, mark, (seen & ORDER_SEEN_NAN) != 0 ? MASU_QUIET_NAN : 0);
#endif
    return;
  }
  __global MASU_MEAN *mean = (__global MASU_MEAN *)results + first;
#if MASU_FLOAT
  *mean = (seen & ORDER_SEEN_NAN) != 0 ? MASU_MEAN_QUIET_NAN : mean_of_two(found[0], found[1], one);
#else
  *mean = mean_of_two(found[0], found[1], one);
#endif
}
