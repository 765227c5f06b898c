// SPDX-License-Identifier: Apache-2.0
// Counting the digits that follow some fronts of keys, in local memory. After selection.cl.

// What is looked for, in registers: keys that begin with one of the fronts which have a bit in `some`. A key less `base` is
// compared, and its digit is the `width` bits from bit `shift` on.
typedef struct {
  uint listed, left, shift, width, some;
  MASU_BITS base, front[MASU_PREFIXES];
} Wanted;

// Each front has a table, in copies that neighbouring work-items take in turns.
MASU_INLINE void count_key(const MASU_BITS key, const Wanted wanted, __local uint *tables) {
  const MASU_BITS front = (MASU_BITS)(key - wanted.base) >> wanted.shift;
  const MASU_BITS before = front >> wanted.width;
  const uint digit = (uint)front & ((1u << wanted.width) - 1u);
  MASU_PRAGMA_UNROLL
  for (uint n = 0; n < MASU_PREFIXES; ++n) {
    if ((wanted.some >> n & 1u) != 0 && before == wanted.front[n]) {
      atomic_inc(&tables[(n * SELECT_DIGITS + digit) * MASU_COPIES + (uint)get_local_id(0) % MASU_COPIES]);
    }
  }
}

// Counts the share of work-item `item`, one of `items`, of the elements, or of the keys that are listed, from `bytes` on.
// Returns what it saw.
MASU_INLINE uint count_digits(__global const uchar *bytes, const Wanted wanted, const ulong item, const ulong items,
                              __local uint *tables) {
  const uint gap = gap_of(bytes);
  const ulong vectors = wanted.left != 0 ? ((ulong)gap + wanted.left + MASU_PER_VECTOR - 1) / MASU_PER_VECTOR : 0;
  uint seen = 0;
  for (ulong first = item; first < vectors; first += MASU_UNROLL * items) {
    uint4 loaded[MASU_UNROLL];
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) {
      const ulong vector = first + k * items;
      loaded[k] = load_vector(bytes, gap, vector < vectors ? wanted.left : 0, vector);
    }
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) {
      const uint4 v = loaded[k];
      // After the last vector there is none of them; it may be so far beyond that 32 bits do not say.
      const uint e = (uint)((first + k * items) * MASU_PER_VECTOR) - gap;
      const uint left = first + k * items < vectors ? wanted.left : 0;
#define MASU_EACH(bits, number)                                                 \
  if (e + number < left) {                                                      \
    count_key(wanted.listed != 0 ? (bits) : ordered_key(bits), wanted, tables); \
    seen |= seen_of(bits);                                                      \
  }
      MASU_EACH_OF(v)
#undef MASU_EACH
    }
  }
  return seen;
}
