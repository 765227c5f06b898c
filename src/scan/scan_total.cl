// SPDX-License-Identifier: Apache-2.0
// Totals of elements and their scan by a work-group, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After
// scan_tile.cl and, for exact sums, scan_window.cl.
//
// With segments a total is a pair: whether a segment began among the elements, and the total since the last that did.

// kernels.md has the parameters.

#if MASU_EXACT
typedef Window State;
#define SCAN_STATE_WORDS (SCAN_WINDOW_BITS / 64)
inline State identity(void) { return window_of(0); }
inline State combine(const State a, const State b) { return window_sum(a, b); }
#if SCAN_PAIRS
// The same of two doubles, each of which has all bits of its sum.
inline State pair_sum(const State a, const State b) {
  return window_from(as_ulong(as_double(a.low) + as_double(b.low)), as_ulong(as_double(a.high) + as_double(b.high)));
}
#else
#define pair_sum(a, b) combine(a, b)
#endif
#else
#define pair_sum(a, b) combine(a, b)
typedef MASU_BITS State;
#define SCAN_STATE_WORDS 1
inline State identity(void) { return MASU_IDENTITY; }
// Joins elements a with elements b after them.
inline State combine(const State a, const State b) {
#if MASU_OP == 0
  return (a + b) & MASU_ALL_BITS;
#elif MASU_FLOAT && !MASU_STORED && MASU_FIRST_EXTREMES
  return MASU_OP == 1 ? masu_first_least(a, b) : masu_first_greatest(a, b);
#else
  return extreme_rank(b, MASU_OP == 2, 0) < extreme_rank(a, MASU_OP == 2, 0) ? b : a;
#endif
}
#endif

typedef struct {
  State value;
  uint reset;  // whether a segment began
} Total;

// For functions that return a struct: Oclgrind does not run what LLVM makes of them where they are always inlined.
#ifdef MASU_CUDA
#define SCAN_INLINE MASU_INLINE
#else
#define SCAN_INLINE inline
#endif

// `first`, a constant: of a tile's first prefixes.
SCAN_INLINE Total joined_as(const uint first, const Total a, const Total b) {
  Total total;
  total.value = MASU_SEGMENTED && b.reset != 0 ? b.value : first ? pair_sum(a.value, b.value) : combine(a.value, b.value);
  total.reset = MASU_SEGMENTED ? a.reset | b.reset : 0;
  return total;
}
inline Total joined(const Total a, const Total b) { return joined_as(0, a, b); }
inline Total nothing(void) {
  Total total;
  total.value = identity();
  total.reset = 0;
  return total;
}

// Totals in local memory, of SCAN_STATE_WORDS + 1 words each.
inline void put_total(__local ulong *totals, const uint i, const Total total) {
  __local ulong *words = totals + i * (SCAN_STATE_WORDS + 1);
#if SCAN_STATE_WORDS == 2
  words[0] = total.value.low;
  words[1] = total.value.high;
#else
  words[0] = total.value;
#endif
  words[SCAN_STATE_WORDS] = total.reset;
}
inline void get_total(__local const ulong *totals, const uint i, Total *total) {
  __local const ulong *words = totals + i * (SCAN_STATE_WORDS + 1);
#if SCAN_STATE_WORDS == 2
  total->value.low = words[0];
  total->value.high = words[1];
#else
  total->value = (State)words[0];
#endif
  total->reset = (uint)words[SCAN_STATE_WORDS];
}

#if MASU_SHUFFLE_LANES > 1
inline ulong word_before(const ulong x, const uint distance) {
  return (ulong)masu_lane_at((uint)(x >> 32), distance) << 32 | masu_lane_at((uint)x, distance);
}
inline Total total_of_lane_before(const Total x, const uint distance) {
  Total other;
#if SCAN_STATE_WORDS == 2
  other.value.low = word_before(x.value.low, distance);
  other.value.high = word_before(x.value.high, distance);
#else
  other.value =
      sizeof(State) == 8 ? (State)word_before(x.value, distance) : (State)masu_lane_at((uint)x.value, distance);
#endif
  other.reset = MASU_SEGMENTED ? masu_lane_at(x.reset, distance) : 0;
  return other;
}
#endif

// The total of the work-items before this one, and in *all that of the whole group, but with `first` in the first sub-group alone. All work-items call this, and
// meet a barrier before they come again. `totals` has room for MASU_GROUP + SCAN_SPANS totals.
#define SCAN_SPANS ((MASU_GROUP + MASU_SPAN - 1) / MASU_SPAN)
SCAN_INLINE Total total_before_as(const uint first, const Total own, Total *all, __local ulong *totals) {
  const uint lane = (uint)get_local_id(0);
  *all = nothing();
#if MASU_SHUFFLE_LANES > 1
  const uint own_lane = lane % MASU_SHUFFLE_LANES;
  const uint sub_group = lane / MASU_SHUFFLE_LANES;
  Total sum = own;
  MASU_PRAGMA_UNROLL
  for (uint distance = 1; distance < MASU_SHUFFLE_LANES; distance *= 2) {
    const Total other = total_of_lane_before(sum, distance);
    if (own_lane >= distance) sum = joined_as(first, other, sum);
  }
  if (own_lane == MASU_SHUFFLE_LANES - 1) put_total(totals, sub_group, sum);
  Total before = total_of_lane_before(sum, 1);
  if (own_lane == 0) before = nothing();
  barrier(CLK_LOCAL_MEM_FENCE);
  Total front = nothing();
  for (uint i = 0; i < sub_group; ++i) {
    Total one;
    get_total(totals, i, &one);
    front = joined_as(first, front, one);
  }
  *all = front;
  if (!first || sub_group == 0) {
    for (uint i = sub_group; i < MASU_GROUP / MASU_SHUFFLE_LANES; ++i) {
      Total one;
      get_total(totals, i, &one);
      *all = joined_as(first, *all, one);
    }
  }
  return joined_as(first, front, before);
#else
  // A few work-items scan MASU_SPAN totals each, then everyone adds up theirs.
  put_total(totals, lane, own);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane < SCAN_SPANS) {
    Total sum = nothing();
    for (uint i = lane * MASU_SPAN; i < (lane + 1) * MASU_SPAN && i < MASU_GROUP; ++i) {
      Total one;
      get_total(totals, i, &one);
      put_total(totals, i, sum);
      sum = joined_as(first, sum, one);
    }
    put_total(totals, MASU_GROUP + lane, sum);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  Total front = nothing();
  for (uint i = 0; i < SCAN_SPANS; ++i) {
    Total one;
    get_total(totals, MASU_GROUP + i, &one);
    if (i == lane / MASU_SPAN) front = *all;
    *all = joined_as(first, *all, one);
  }
  Total before;
  get_total(totals, lane, &before);
  return joined_as(first, front, before);
#endif
}
inline Total total_before(const Total own, Total *all, __local ulong *totals) {
  return total_before_as(0, own, all, totals);
}

#if !MASU_EXACT
MASU_INLINE Total total_of(const uint *words, const uint heads) {
  Total total = nothing();
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < SCAN_ITEMS; ++k) {
    if (MASU_SEGMENTED && (heads >> k & 1) != 0) total.value = MASU_IDENTITY;
    total.value = combine(total.value, element_of(words, k));
  }
  total.reset = MASU_SEGMENTED && heads != 0;
  return total;
}

// Turns a work-item's elements into their results; `running` is the total before them.
MASU_INLINE void scan_item(uint *words, const uint heads, MASU_BITS running) {
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < SCAN_ITEMS; ++k) {
    if (MASU_SEGMENTED && (heads >> k & 1) != 0) running = MASU_IDENTITY;
    const MASU_BITS next = combine(running, element_of(words, k));
    set_element_of(words, k, MASU_EXCLUSIVE ? running : next);
    running = next;
  }
}
#endif
