// SPDX-License-Identifier: Apache-2.0
// The elements at one or two places of the sorted order, found by digits of their keys, the first digits first: what is
// known, what the counts of a pass add to it, and the result. A work-group that is alone shares this with those that pass
// over a long row. After selection_digits.cl and soft_float.cl.

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

// What counting digits needs of a state.
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
  wanted.front[0] = (MASU_BITS)wide_at(first + target_front);
  wanted.front[1] = (MASU_BITS)wide_at(second + target_front);
  wanted.some = first[target_known] == 0 ? 1 : 0;
  const bool alike = wanted.some != 0 && wanted.front[0] == wanted.front[1];
  if (second[target_known] == 0 && !alike) wanted.some |= 2;
  wanted.left = wanted.some != 0 ? state[state_left] : 0;
  return wanted;
}
// Whether the second place looks at a table of its own.
inline uint has_two(const Wanted wanted) { return wanted.some >> 1; }

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

// By one work-item; `minus`: which of the two, if it is a zero, has a sign.
inline void store_result(__local const uint *state, const uint seen, __local const uint *minus, const bool one,
                         const uint what, __global uchar *results, const ulong first, const ulong second,
                         const ulong mark) {
  MASU_BITS found[2];
  for (uint t = 0; t < 2; ++t) {
    const MASU_BITS key = key_at(state, t);
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
    if (mark != SELECT_NO_MARK) set_element(results, mark, (seen & SELECT_SEEN_NAN) != 0 ? MASU_QUIET_NAN : 0);
#endif
    return;
  }
  __global MASU_MEAN *mean = (__global MASU_MEAN *)results + first;
#if MASU_FLOAT
  *mean = (seen & SELECT_SEEN_NAN) != 0 ? MASU_MEAN_QUIET_NAN : mean_of_two(found[0], found[1], one);
#else
  *mean = mean_of_two(found[0], found[1], one);
#endif
}
