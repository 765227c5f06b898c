// SPDX-License-Identifier: Apache-2.0
// Numbers that hold any sum of floats, in local memory, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++).
// After scan_total.cl.
//
// A wide number has MASU_WIDE_WORDS words of 32 bits in two's complement, in units of the least subnormal number. Elements
// are added to a table of counters, a row for each digit of 16 bits, a column for some of the work-items, so that the
// lanes of a sub-group meet no bank: each of an element's digits is one local atomic whose result is not used.

// kernels.md has the parameters.

#define SCAN_NAN 1U
#define SCAN_INFINITY 2U
#define SCAN_MINUS_INFINITY 4U

inline uint is_special(const MASU_BITS bits) { return SCAN_MAGNITUDE(bits) >= MASU_INFINITY_BITS; }
inline uint kind_of(const MASU_BITS bits) {
  if (SCAN_MAGNITUDE(bits) > MASU_INFINITY_BITS) return SCAN_NAN;
  return (bits & MASU_SIGN) != 0 ? SCAN_MINUS_INFINITY : SCAN_INFINITY;
}
// What a sum is that has these kinds of elements.
inline MASU_BITS special_sum(const uint kinds) {
  if (kinds == SCAN_INFINITY) return MASU_INFINITY_BITS;
  if (kinds == SCAN_MINUS_INFINITY) return MASU_INFINITY_BITS | MASU_SIGN;
  return MASU_QUIET_NAN;
}

// Table and sums: of the rows, a word for each digit of a wide number.
inline void clear_table(__local uint *table, __local ulong *sums) {
  const uint lane = (uint)get_local_id(0);
  for (uint i = lane; i < MASU_TABLE_ROWS * MASU_COLUMNS; i += MASU_GROUP) table[i] = 0;
  for (uint i = lane; i < 2 * MASU_WIDE_WORDS; i += MASU_GROUP) sums[i] = 0;
}
#define SCAN_DIGIT(number, value) atomic_add(cell + (number) * MASU_COLUMNS, (uint)(value));
// Adds m * 2^place, of so many digits, a constant; the highest has a sign.
MASU_INLINE void add_digits(__local uint *column, const uint place, const long m, const uint digits) {
  const uint shift = place & 15;
  __local uint *cell = column + (place >> 4) * MASU_COLUMNS;
  const ulong x = (ulong)m << shift;
  SCAN_DIGIT(0, x & 65535)
  if (digits == 2) SCAN_DIGIT(1, as_int((uint)x) >> 16)
  if (digits > 2) SCAN_DIGIT(1, (uint)x >> 16)
  if (digits == 3) SCAN_DIGIT(2, x >> 32)
  if (digits == 5) {
    SCAN_DIGIT(2, x >> 32 & 65535)
    SCAN_DIGIT(3, x >> 48)
    SCAN_DIGIT(4, m >> 1 >> (63 - shift))
  }
}
// Adds an element; gives what kind it is where it is not finite.
MASU_INLINE uint add_element(__local uint *column, const MASU_BITS bits) {
  if (is_special(bits)) return kind_of(bits);
  const uint place = SCAN_PLACE(SCAN_UPPER(SCAN_MAGNITUDE(bits)));
  add_digits(column, place, mantissa_of(bits, place), MASU_ELEMENT_BYTES == 8 ? 5 : MASU_ELEMENT_BYTES == 4 ? 3 : 2);
  return 0;
}
// All work-items call this, after a barrier.
inline void add_rows(__local const uint *table, __local ulong *sums) {
  const uint lane = (uint)get_local_id(0);
#if MASU_COLUMNS == MASU_SHUFFLE_LANES
  // A sub-group takes a row: the sums of the lower halves and of the upper ones fit 32 bits.
  MASU_PRAGMA_UNROLL
  for (uint row = lane / MASU_COLUMNS; row < MASU_TABLE_ROWS; row += MASU_GROUP / MASU_COLUMNS) {
    const uint x = table[row * MASU_COLUMNS + lane % MASU_COLUMNS];
    const uint low = masu_sum_lanes(x & 65535);
    const uint high = masu_sum_lanes((uint)(as_int(x) >> 16));
    if (lane % MASU_COLUMNS == 0) sums[row] = (ulong)((long)as_int(high) * 65536 + low);
  }
#else
  for (uint row = lane; row < MASU_TABLE_ROWS; row += MASU_GROUP) {
    long sum = 0;
    for (uint i = 0; i < MASU_COLUMNS; ++i) sum += as_int(table[row * MASU_COLUMNS + i]);
    sums[row] = (ulong)sum;
  }
#endif
}
// One work-item adds the sums to a wide number, of which some words are loaded at a time.
#define SCAN_WORDS_AHEAD 4
inline void add_sums(__local uint *wide, __local const ulong *sums) {
  long carry = 0;
  for (uint i = 0; i < MASU_WIDE_WORDS; i += SCAN_WORDS_AHEAD) {
    long words[SCAN_WORDS_AHEAD];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < SCAN_WORDS_AHEAD; ++k) {
      const uint at = min(i + k, MASU_WIDE_WORDS - 1U);
      words[k] = (long)sums[2 * at] + (long)sums[2 * at + 1] * 65536 + wide[at];
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < SCAN_WORDS_AHEAD; ++k) {
      carry += words[k];
      if (i + k < MASU_WIDE_WORDS) wide[i + k] = (uint)carry;
      carry >>= 32;
    }
  }
}

inline uint wide_sign(__local const uint *wide) { return (uint)(as_int(wide[MASU_WIDE_WORDS - 1]) >> 31); }
// floor(wide / 2^unit) modulo 2^SCAN_WINDOW_BITS.
inline Window wide_part(__local const uint *wide, const uint unit) {
  const uint first = unit / 32;
  const uint shift = unit % 32;
  uint words[SCAN_WINDOW_BITS / 32 + 1];
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i <= SCAN_WINDOW_BITS / 32; ++i) {
    words[i] = first + i < MASU_WIDE_WORDS ? wide[first + i] : wide_sign(wide);
  }
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < SCAN_WINDOW_BITS / 32; ++i) {
    words[i] = (uint)(((ulong)words[i + 1] << 32 | words[i]) >> shift);
  }
  return window_from((ulong)words[1] << 32 | words[0],
                     (ulong)words[SCAN_WINDOW_BITS / 32 - 1] << 32 | words[SCAN_WINDOW_BITS / 32 - 2]);
}
#if SCAN_FIXED
// The number before a tile. One that does not fit is so great that all of the tile's prefixes round to infinity.
inline Window fixed_front(__local const uint *wide) {
  const uint sign = wide_sign(wide);
  const uint fits = wide[MASU_WIDE_WORDS - 1] == sign && (wide[1] ^ sign) >> 30 == 0;
  const Window greatest = window_left(window_of(1), SCAN_WINDOW_TOP);
  return fits != 0 ? wide_part(wide, 0) : sign != 0 ? window_negated(greatest) : greatest;
}
#endif

// One work-item adds x * 2^unit.
inline void add_window(__local uint *wide, const Window x, const uint unit) {
  const uint sign = window_negative(x) != 0 ? 0xffffffffU : 0;
  uint before = 0;
  ulong carry = 0;
  for (uint i = 0; unit / 32 + i < MASU_WIDE_WORDS; ++i) {
    // Above x only its sign and the carry are left, which mostly are nothing together.
    if (i > SCAN_WINDOW_BITS / 32 && (uint)carry + sign == 0) break;
    const uint word = i < SCAN_WINDOW_BITS / 32 ? window_word(x, i) : sign;
    carry += (ulong)wide[unit / 32 + i] + (uint)(((ulong)word << 32 | before) << unit % 32 >> 32);
    wide[unit / 32 + i] = (uint)carry;
    carry >>= 32;
    before = word;
  }
}
