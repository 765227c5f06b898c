// SPDX-License-Identifier: Apache-2.0
// The elements at one or two places of the sorted order, found by digits of their keys, the first digits first. Behind
// elements.cl, order.cl, group_scan.cl and mean_of_two.cl. Defines beside those of them, given by selection_plan.cpp:
// - MASU_GROUP     work-items in a work-group
// - MASU_UNROLL    16-byte loads in flight for each work-item
// - MASU_UNROLLED  stands before loops over arrays that may lie in registers: unrolls them on GPUs
//
// A work-group finds the elements of a short row alone. For a long one each pass over it is a launch: its work-groups all
// compute from the counts of the launch before what is known, and count the digits that follow. Before that, where it
// pays, bounds from a sample, and a filter that leaves what lies between them.

#define MASU_DIGIT_BITS 11u
#define MASU_DIGITS (1u << MASU_DIGIT_BITS)
#define MASU_SHARE (MASU_DIGITS / MASU_GROUP)  // digits that a work-item looks through
#define MASU_KEY_BITS (8u * MASU_ELEMENT_BYTES)
#define MASU_PASSES ((MASU_KEY_BITS + MASU_DIGIT_BITS - 1) / MASU_DIGIT_BITS)

#define MASU_DATA __global const uchar *data, const ulong byte_offset, const uint count
// The two places, and whether there are bounds; `list` has room for `capacity` keys.
#define MASU_WORK                                                                                                \
  const uint place0, const uint place1, const uint bounded, __global uchar *work, const ulong control_at,        \
      const ulong list_at, const uint capacity
// Element `first` of the result is what is at place0, element `second` what is at place1; element `mark` is NaN where there
// is any, else zero.
#define MASU_RESULT                                                                                               \
  const uint what, __global uchar *results, const ulong results_at, const ulong first, const ulong second,        \
      const ulong mark
#define MASU_NO_MARK (~(ulong)0)
#define MASU_ELEMENTS 0u  // the two elements
#define MASU_MEDIAN 1u    // their mean; NaN where there is any

// Words of `control`; behind them the counts of all passes, two tables each, and the zeros of each work-group.
#define control_less 0     // keys below the lower bound
#define control_lower 1    // equal to it
#define control_between 2  // between the bounds
#define control_upper 3    // equal to the upper bound
#define control_seen 4     // MASU_SEEN_...
#define control_bounds 8   // the lower and the upper one, low word first, and MASU_HAS_...
#define control_states 16  // after each number of passes
#define control_words (control_states + state_words * MASU_PASSES)
#define MASU_SEEN_NAN 1u
#define MASU_SEEN_MINUS 2u  // a zero with a sign
#define MASU_HAS_LOWER 1u
#define MASU_HAS_UPPER 2u

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

inline ulong wide_at(__local const uint *words) { return (ulong)words[1] << 32 | words[0]; }
inline void set_wide(__local uint *words, const ulong value) {
  words[0] = (uint)value;
  words[1] = (uint)(value >> 32);
}

// Bits that are known after so many passes.
inline uint known_bits(const uint bits, const uint passes) { return min(bits, passes * MASU_DIGIT_BITS); }

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
  state[state_bits] = MASU_KEY_BITS;
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
  if (wanted.two != 0 && before == wanted.front1) atomic_inc(&tables[MASU_DIGITS + digit]);
}

inline uint seen_of(const MASU_BITS bits) {
#if MASU_FLOAT
  const MASU_BITS magnitude = bits & (MASU_SIGN - 1);
  return magnitude > MASU_INFINITY_BITS ? MASU_SEEN_NAN : bits == MASU_SIGN ? MASU_SEEN_MINUS : 0u;
#else
  return 0;
#endif
}

// Which digit follows at a place, from a work-item's share of the counts of `pass`. All work-items come here.
MASU_INLINE void add_digit(const uint *share, const uint pass, const uint which, __local uint *state,
                           __local uint *partial) {
  __local uint *target = state + state_targets + which * target_words;
  const uint lane = (uint)get_local_id(0);
  const bool open = target[target_known] == 0;
  const uint rest = target[target_rest];
  const ulong front = wide_at(target + target_front);
  const uint bits = state[state_bits];
  const uint known = known_bits(bits, pass + 1);
  const uint width = known - known_bits(bits, pass);
  uint sum = 0;
  for (uint i = 0; i < MASU_SHARE; ++i) sum += share[i];
  uint all;
  uint before = group_scan(sum, MASU_GROUP, partial, lane, &all) - sum;
  for (uint i = 0; i < MASU_SHARE; ++i) {
    if (open && rest >= before && rest - before < share[i]) {
      set_target(state, which, known == bits ? 1 : 0, rest - before, front << width | (lane * MASU_SHARE + i));
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

#if MASU_FLOAT
#define MASU_QUIET_NAN (MASU_INFINITY_BITS | ((MASU_INFINITY_BITS >> 1) & ~MASU_INFINITY_BITS))
#endif

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
  if (what == MASU_ELEMENTS) {
    set_element(results, first, found[0]);
    set_element(results, second, found[1]);
#if MASU_FLOAT
    if (mark != MASU_NO_MARK) set_element(results, mark, (seen & MASU_SEEN_NAN) != 0 ? MASU_QUIET_NAN : 0);
#endif
    return;
  }
  __global MASU_MEAN *mean = (__global MASU_MEAN *)results + first;
#if MASU_FLOAT
  *mean = (seen & MASU_SEEN_NAN) != 0 ? MASU_MEAN_QUIET_NAN : mean_of_two(found[0], found[1], one);
#else
  *mean = mean_of_two(found[0], found[1], one);
#endif
}

// The work-group finds what is at both places of some elements.
#define MASU_LOADED 8
MASU_INLINE void select_here(__global const uchar *bytes, const uint count, const uint place0, const uint place1,
                             __local uint *tables, __local uint *state, __local uint *partial, __local uint *seen) {
  const uint lane = (uint)get_local_id(0);
  if (lane == 0) {
    begin_state(state, count, place0, place1);
    *seen = 0;
  }
  for (uint pass = 0; pass < MASU_PASSES; ++pass) {
    for (uint i = lane; i < 2 * MASU_DIGITS; i += MASU_GROUP) tables[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const Wanted wanted = wanted_of(state, pass);
    uint mine = 0;
    for (uint first = lane; first < wanted.left; first += MASU_LOADED * MASU_GROUP) {
      MASU_BITS loaded[MASU_LOADED];
      MASU_UNROLLED
      for (int i = 0; i < MASU_LOADED; ++i) {
        loaded[i] = first + i * MASU_GROUP < wanted.left ? element_at(bytes, first + i * MASU_GROUP) : 0;
      }
      MASU_UNROLLED
      for (int i = 0; i < MASU_LOADED; ++i) {
        if (first + i * MASU_GROUP < wanted.left) {
          count_key(ordered_key(loaded[i]), wanted, tables);
          mine |= seen_of(loaded[i]);
        }
      }
    }
    if (mine != 0 && pass == 0) atomic_or(seen, mine);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint which = 0; which < 2; ++which) {
      const uint from = which * wanted.two;
      uint share[MASU_SHARE];
      for (uint i = 0; i < MASU_SHARE; ++i) share[i] = tables[from * MASU_DIGITS + lane * MASU_SHARE + i];
      add_digit(share, pass, which, state, partial);
    }
  }
}

// A work-group takes a row at a time.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_rows(MASU_DATA, const uint rows, const uint place0, const uint place1,
                                                         MASU_RESULT, const ulong stride, const uint signs,
                                                         __local uint *tables, __local uint *partial,
                                                         __local uint *state) {
  MASU_LOCAL_POINTER(uint, tables);
  MASU_LOCAL_POINTER(uint, partial);
  MASU_LOCAL_POINTER(uint, state);
  __local uint *seen = state + state_words;
  __local uint *minus = seen + 1;
  for (uint row = (uint)get_group_id(0); row < rows; row += (uint)get_num_groups(0)) {
    __global const uchar *bytes = data + byte_offset + (ulong)row * count * MASU_ELEMENT_BYTES;
    select_here(bytes, count, place0, place1, tables, state, partial, seen);
#if MASU_FLOAT
    for (uint which = 0; which < 2; ++which) {
      if (get_local_id(0) == 0) minus[which] = 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      const bool wanted = signs != 0 && is_zero_key(key_at(state, which)) && (*seen & MASU_SEEN_MINUS) != 0;
      find_zero(bytes, 0, count, rest_at(state, which), wanted, partial, &minus[which]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    if (get_local_id(0) == 0) {
      const ulong at = row * stride;
      store_result(state, *seen, minus, place0 == place1, what, results + results_at, at + first, at + second,
                   mark == MASU_NO_MARK ? mark : at + mark);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// Looks random; the same on every device.
inline uint scrambled(uint x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

// An element of each of `samples` equal parts, to the list; clears `cleared` words of control and what is behind it.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_sample(MASU_DATA, MASU_WORK, const uint samples, const uint cleared) {
  __global uint *control = (__global uint *)(work + control_at);
  const uint step = (uint)get_global_size(0);
  for (uint i = (uint)get_global_id(0); i < cleared; i += step) control[i] = 0;
  const uint width = count / samples;
  for (uint i = (uint)get_global_id(0); i < samples; i += step) {
    const ulong at = (ulong)i * count / samples + ((ulong)scrambled(i) * width >> 32);
    set_element(work + list_at, i, element_at(data + byte_offset, (size_t)at));
  }
}

// One work-group: the bounds are the elements at two places of the sample.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_bounds(__global uchar *work, const ulong control_at,
                                                           const ulong list_at, const uint samples, const uint lower,
                                                           const uint upper, const uint has, __local uint *tables,
                                                           __local uint *partial, __local uint *state) {
  MASU_LOCAL_POINTER(uint, tables);
  MASU_LOCAL_POINTER(uint, partial);
  MASU_LOCAL_POINTER(uint, state);
  __global uint *bounds = (__global uint *)(work + control_at) + control_bounds;
  select_here(work + list_at, samples, lower, upper, tables, state, partial, state + state_words);
  if (get_local_id(0) == 0) {
    const ulong low = (has & MASU_HAS_LOWER) != 0 ? key_at(state, 0) : 0;
    const ulong high = (has & MASU_HAS_UPPER) != 0 ? key_at(state, 1) : MASU_ALL_BITS;
    bounds[0] = (uint)low;
    bounds[1] = (uint)(low >> 32);
    bounds[2] = (uint)high;
    bounds[3] = (uint)(high >> 32);
    bounds[4] = has;
  }
}

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
  if (bounds.has == (MASU_HAS_LOWER | MASU_HAS_UPPER) && bounds.lower == bounds.upper) bounds.has = MASU_HAS_LOWER;
  const uint above = (bounds.has & MASU_HAS_LOWER) != 0 ? 1 : 0;
  const uint below = (bounds.has & MASU_HAS_UPPER) != 0 ? 1 : 0;
  const bool equal = bounds.lower == bounds.upper;
  bounds.some = !equal && bounds.upper - bounds.lower >= above + below ? 1 : 0;
  bounds.first = bounds.lower + above;
  bounds.span = bounds.upper - bounds.lower - above - below;
  return bounds;
}

// Counts the keys below, on and between the bounds, and lists those between; in any order, as only their keys matter.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_filter(MASU_DATA, MASU_WORK, __local uint *words) {
  MASU_LOCAL_POINTER(uint, words);
  __local uint *found = words;  // of three tiles in turns
  __local uint *base = words + 3;
  __local uint *totals = words + 4;  // as in control
  __global uint *control = (__global uint *)(work + control_at);
  __global uchar *list = work + list_at;
  __global const uchar *bytes = data + byte_offset;
  const Bounds bounds = bounds_of(control);
  const uint lane = (uint)get_local_id(0);
  if (lane < 9) words[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint gap = gap_of(bytes);
  const ulong vectors = ((ulong)gap + count + MASU_PER_VECTOR - 1) / MASU_PER_VECTOR;
  const ulong tile_vectors = (ulong)MASU_GROUP * MASU_UNROLL;
  uint less = 0;
  uint on_lower = 0;
  uint on_upper = 0;
  uint seen = 0;
  uint turn = 0;
  for (ulong tile = get_group_id(0) * tile_vectors; tile < vectors; tile += get_num_groups(0) * tile_vectors) {
    uint4 loaded[MASU_UNROLL];
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) {
      const ulong vector = tile + lane + (ulong)(k * MASU_GROUP);
      loaded[k] = load_vector(bytes, gap, vector < vectors ? count : 0, vector);
    }
    uint listed = 0;
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) {
      const uint4 v = loaded[k];
      const uint e = (uint)((tile + lane + (ulong)(k * MASU_GROUP)) * MASU_PER_VECTOR) - gap;
#define MASU_EACH(bits, number)                                             \
  if (e + number < count) {                                                 \
    const MASU_BITS key = ordered_key(bits);                                \
    less += key < bounds.lower ? 1 : 0;                                     \
    on_lower += key == bounds.lower ? 1 : 0;                                \
    on_upper += key == bounds.upper ? 1 : 0;                                \
    listed += (MASU_BITS)(key - bounds.first) <= bounds.span ? 1 : 0;       \
    seen |= seen_of(bits);                                                  \
  }
      MASU_EACH_OF(v)
#undef MASU_EACH
    }
    if (bounds.some == 0) listed = 0;
    uint place = listed != 0 ? atomic_add(&found[turn], listed) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint next = turn == 2 ? 0 : turn + 1;
    if (lane == 0) {
      base[0] = found[turn] != 0 ? atomic_add(&control[control_between], found[turn]) : 0;
      // Who used it is past the last barrier, and nobody comes to it before the next one.
      found[next == 2 ? 0 : next + 1] = 0;
    }
    turn = next;
    barrier(CLK_LOCAL_MEM_FENCE);
    place += base[0];
    if (listed != 0) {
      MASU_UNROLLED
      for (int k = 0; k < MASU_UNROLL; ++k) {
        const uint4 v = loaded[k];
        const uint e = (uint)((tile + lane + (ulong)(k * MASU_GROUP)) * MASU_PER_VECTOR) - gap;
#define MASU_EACH(bits, number)                                                          \
  {                                                                                      \
    const MASU_BITS key = ordered_key(bits);                                             \
    if (e + number < count && (MASU_BITS)(key - bounds.first) <= bounds.span) {          \
      if (place < capacity) set_element(list, place, key);                               \
      ++place;                                                                           \
    }                                                                                    \
  }
        MASU_EACH_OF(v)
#undef MASU_EACH
      }
    }
  }
  if (less != 0) atomic_add(&totals[control_less], less);
  if (on_lower != 0) atomic_add(&totals[control_lower], on_lower);
  if (on_upper != 0) atomic_add(&totals[control_upper], on_upper);
  if (seen != 0) atomic_or(&totals[control_seen], seen);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < control_seen && totals[lane] != 0) atomic_add(&control[lane], totals[lane]);
  if (lane == control_seen && totals[lane] != 0) atomic_or(&control[lane], totals[lane]);
}

// Where a place lies, by what the filter has counted. False where the sample misled.
inline bool place_between(const uint place, const uint which, __global const uint *control, const Bounds bounds,
                          const uint capacity, __local uint *state) {
  const uint on_lower = (bounds.has & MASU_HAS_LOWER) != 0 ? control[control_lower] : 0;
  const uint on_upper = (bounds.has & MASU_HAS_UPPER) != 0 ? control[control_upper] : 0;
  const uint between = control[control_between];
  if (place < control[control_less]) return false;
  uint rest = place - control[control_less];
  if (rest < on_lower) {
    set_target(state, which, 2, rest, bounds.lower);
    return true;
  }
  rest -= on_lower;
  if (rest < between) {
    set_target(state, which, bounds.span == 0 ? 1 : 0, rest, 0);
    return between <= capacity;
  }
  rest -= between;
  set_target(state, which, 2, rest, bounds.upper);
  return rest < on_upper;
}

// What is known before pass number `pass`, by all work-groups in the same way.
MASU_INLINE void resume(const uint pass, const uint count, const uint place0, const uint place1, const uint bounded,
                        __global const uint *control, const uint capacity, __local uint *state, __local uint *partial) {
  const uint lane = (uint)get_local_id(0);
  if (pass == 0) {
    if (lane == 0) {
      bool found = false;
      if (bounded != 0) {
        const Bounds bounds = bounds_of(control);
        state[state_listed] = 1;
        state[state_left] = control[control_between];
        state[state_bits] = 64u - (uint)clz((ulong)bounds.span);
        set_wide(state + state_base, bounds.first);
        found = place_between(place0, 0, control, bounds, capacity, state);
        found = place_between(place1, 1, control, bounds, capacity, state) && found;
      }
      if (!found) begin_state(state, count, place0, place1);
    }
  } else {
    for (uint i = lane; i < state_words; i += MASU_GROUP) state[i] = control[control_states + (pass - 1) * state_words + i];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint last = pass == 0 ? 0 : pass - 1;
  const Wanted wanted = wanted_of(state, last);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint which = 0; which < (pass == 0 ? 0u : 2u); ++which) {
    __global const uint *table = control + control_words + (2 * last + which * wanted.two) * MASU_DIGITS;
    uint share[MASU_SHARE];
    for (uint i = 0; i < MASU_SHARE; ++i) share[i] = table[lane * MASU_SHARE + i];
    add_digit(share, last, which, state, partial);
  }
}

// Counts the digits of one pass.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_digits(MASU_DATA, MASU_WORK, const uint pass, __local uint *tables,
                                                           __local uint *partial, __local uint *state) {
  MASU_LOCAL_POINTER(uint, tables);
  MASU_LOCAL_POINTER(uint, partial);
  MASU_LOCAL_POINTER(uint, state);
  __global uint *control = (__global uint *)(work + control_at);
  const uint lane = (uint)get_local_id(0);
  resume(pass, count, place0, place1, bounded, control, capacity, state, partial);
  if (get_group_id(0) == 0) {
    for (uint i = lane; i < state_words; i += MASU_GROUP) control[control_states + pass * state_words + i] = state[i];
  }
  const Wanted wanted = wanted_of(state, pass);
  const uint cleared = wanted.left != 0 ? 2 * MASU_DIGITS : 0;
  for (uint i = lane; i < cleared; i += MASU_GROUP) tables[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  __global const uchar *bytes = wanted.listed != 0 ? work + list_at : data + byte_offset;
  const uint gap = gap_of(bytes);
  const ulong vectors = wanted.left != 0 ? ((ulong)gap + wanted.left + MASU_PER_VECTOR - 1) / MASU_PER_VECTOR : 0;
  const ulong step = get_global_size(0);
  uint seen = 0;
  for (ulong first = get_global_id(0); first < vectors; first += MASU_UNROLL * step) {
    uint4 loaded[MASU_UNROLL];
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) {
      const ulong vector = first + k * step;
      loaded[k] = load_vector(bytes, gap, vector < vectors ? wanted.left : 0, vector);
    }
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) {
      const uint4 v = loaded[k];
      // Behind the last vector there is none of them; it may be so far behind that 32 bits do not tell.
      const uint e = (uint)((first + k * step) * MASU_PER_VECTOR) - gap;
      const uint left = first + k * step < vectors ? wanted.left : 0;
#define MASU_EACH(bits, number)                                                        \
  if (e + number < left) {                                                             \
    count_key(wanted.listed != 0 ? (bits) : ordered_key(bits), wanted, tables);        \
    seen |= seen_of(bits);                                                             \
  }
      MASU_EACH_OF(v)
#undef MASU_EACH
    }
  }
  if (seen != 0 && pass == 0 && wanted.listed == 0 && bounded == 0) atomic_or(&control[control_seen], seen);
  barrier(CLK_LOCAL_MEM_FENCE);
  __global uint *counts = control + control_words + 2 * pass * MASU_DIGITS;
  for (uint i = lane; i < cleared; i += MASU_GROUP) {
    if (tables[i] != 0) atomic_add(&counts[i], tables[i]);
  }
}

// Behind the counts of the passes: how many zeros each of the work-groups of selection_zeros has seen.
#define MASU_ZEROS (control_words + 2 * MASU_PASSES * MASU_DIGITS)
// Elements that each of them takes.
inline uint zeros_share(const uint count, const uint groups) { return (uint)(((ulong)count + groups - 1) / groups); }

// If a zero was found and there are some with a sign: counts those of either kind, a part of the data for each work-group.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_zeros(MASU_DATA, MASU_WORK, __local uint *partial,
                                                          __local uint *state) {
  MASU_LOCAL_POINTER(uint, partial);
  MASU_LOCAL_POINTER(uint, state);
  __global uint *control = (__global uint *)(work + control_at);
  const uint lane = (uint)get_local_id(0);
  resume(MASU_PASSES, count, place0, place1, bounded, control, capacity, state, partial);
  const bool wanted = (control[control_seen] & MASU_SEEN_MINUS) != 0 &&
                      (is_zero_key(key_at(state, 0)) || is_zero_key(key_at(state, 1)));
  const uint share = zeros_share(count, (uint)get_num_groups(0));
  const uint first = min(count, (uint)get_group_id(0) * share);
  const uint end = wanted ? min(count, first + share) : first;
  uint zeros = 0;
  for (uint e = first + lane; e < end; e += MASU_GROUP) {
    zeros += (element_at(data + byte_offset, e) & (MASU_BITS)(MASU_ALL_BITS ^ MASU_SIGN)) == 0 ? 1 : 0;
  }
  uint all;
  barrier(CLK_LOCAL_MEM_FENCE);
  group_scan(zeros, MASU_GROUP, partial, lane, &all);
  if (lane == 0) control[MASU_ZEROS + get_group_id(0)] = all;
}

// One work-group: the result. `groups`: those of selection_zeros, at most MASU_GROUP.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_finish(MASU_DATA, MASU_WORK, MASU_RESULT, const uint groups,
                                                           __local uint *partial, __local uint *state) {
  MASU_LOCAL_POINTER(uint, partial);
  MASU_LOCAL_POINTER(uint, state);
  __local uint *minus = state + state_words;
  __global const uint *control = (__global const uint *)(work + control_at);
  const uint lane = (uint)get_local_id(0);
  resume(MASU_PASSES, count, place0, place1, bounded, control, capacity, state, partial);
  const uint seen = control[control_seen];
#if MASU_FLOAT
  __local uint *part = minus + 2;  // that has the zero, and the zero's number in it
  const uint mine = groups != 0 && lane < groups ? control[MASU_ZEROS + lane] : 0;
  for (uint which = 0; which < 2; ++which) {
    const uint rest = rest_at(state, which);
    const bool wanted = groups != 0 && is_zero_key(key_at(state, which)) && (seen & MASU_SEEN_MINUS) != 0;
    if (lane == 0) minus[which] = 0;
    uint all;
    const uint before = group_scan(mine, MASU_GROUP, partial, lane, &all) - mine;
    if (wanted && rest >= before && rest - before < mine) {
      part[0] = lane;
      part[1] = rest - before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint share = zeros_share(count, groups != 0 ? groups : 1);
    const uint first = wanted ? part[0] * share : 0;
    const uint number = wanted ? part[1] : 0;
    find_zero(data + byte_offset, first, min(count, first + share), number, wanted, partial, &minus[which]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#endif
  if (lane == 0) store_result(state, seen, minus, place0 == place1, what, results + results_at, first, second, mark);
}

// Sorted rows: up to eight of the elements from result number `first` of each row on; a row of results has `stride`.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_gather(__global const uchar *data, const ulong byte_offset,
                                                           const ulong count, const ulong rows, const ulong place0,
                                                           const ulong place1, const ulong place2, const ulong place3,
                                                           const ulong place4, const ulong place5, const ulong place6,
                                                           const ulong place7, const uint number,
                                                           __global uchar *results, const ulong results_at,
                                                           const ulong first, const ulong stride) {
  for (ulong i = get_global_id(0); i < rows * number; i += get_global_size(0)) {
    const ulong row = i / number;
    const uint which = (uint)(i % number);
    const ulong place = which == 0   ? place0
                        : which == 1 ? place1
                        : which == 2 ? place2
                        : which == 3 ? place3
                        : which == 4 ? place4
                        : which == 5 ? place5
                        : which == 6 ? place6
                                     : place7;
    MASU_BITS bits = element_at(data + byte_offset, row * count + place);
#if MASU_FLOAT
    if ((bits & (MASU_SIGN - 1)) > MASU_INFINITY_BITS) bits = MASU_QUIET_NAN;
#endif
    set_element(results + results_at, row * stride + first + which, bits);
  }
}

// Sorted rows: the median of each.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_medians(__global const uchar *data, const ulong byte_offset,
                                                            const ulong count, const ulong rows, const ulong lower,
                                                            const ulong upper, __global uchar *results,
                                                            const ulong results_at) {
  __global MASU_MEAN *means = (__global MASU_MEAN *)(results + results_at);
  for (ulong row = get_global_id(0); row < rows; row += get_global_size(0)) {
    __global const uchar *bytes = data + byte_offset + row * count * MASU_ELEMENT_BYTES;
    const MASU_BITS below = element_at(bytes, lower);
    const MASU_BITS above = element_at(bytes, upper);
#if MASU_FLOAT
    const bool nan = ordered_key(element_at(bytes, count - 1)) == MASU_ALL_BITS;
    means[row] = nan ? MASU_MEAN_QUIET_NAN : mean_of_two(below, above, lower == upper);
#else
    means[row] = mean_of_two(below, above, lower == upper);
#endif
  }
}
