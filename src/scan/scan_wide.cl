// SPDX-License-Identifier: Apache-2.0
// The numbers of exact sums of floats, windows and wide ones, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++).
// Behind scan_tile.cl.
//
// A finite element is ±mantissa * 2^place, in units of the least subnormal number; its place is its exponent's field less
// 1, or 0 where the field is 0. Elements are integers to the kernels: processors may take subnormal floats for zeros.
//
// A Window is the integer floor(sum / 2^unit) in two's complement, for a unit that lets it fit: the sum lies between it
// and it plus the number of terms that have bits below the unit. Rounding never decreases, so where both ends round to
// one float, the sum does.
//
// A wide number lies in local memory and holds any sum of floats. It has MASU_WIDE_WORDS words of 32 bits in two's
// complement, in units of the least subnormal number. Elements are added to a table of counters, a row for each digit of 16
// bits, a column for some of the work-items, so that the lanes of a sub-group meet no bank: each of an element's digits is
// one local atomic whose result is not used.
//
// Defines beside those of scan_tile.cl:
// - MASU_WIDE_WORDS  of a wide number
// - MASU_TABLE_ROWS  digits that elements have, at most 2 * MASU_WIDE_WORDS
// - MASU_COLUMNS     of the table: as many as lanes of a sub-group, or 8

#if MASU_ELEMENT_BYTES == 8
#define MASU_FRACTION 52
#define MASU_UPPER(magnitude) ((uint)((magnitude) >> 32))
#elif MASU_ELEMENT_BYTES == 4
#define MASU_FRACTION 23
#define MASU_UPPER(magnitude) (magnitude)
#else
#define MASU_FRACTION 10
#define MASU_UPPER(magnitude) (magnitude)
#endif
#define MASU_PRECISION (MASU_FRACTION + 1)
#define MASU_MAGNITUDE(bits) ((bits) & (MASU_SIGN - 1))
// The place of an element by the upper word of its magnitude, or of several by the greatest or the least of them.
#define MASU_PLACE(upper) (max((upper) >> (MASU_FRACTION % 32), 1U) - 1)

#if MASU_ELEMENT_BYTES == 8
#define MASU_WINDOW_BITS 128
#define MASU_STEP 64  // bits by which a window is moved down
typedef struct {
  ulong low;
  ulong high;
} Window;

inline Window window_of(const long x) {
  Window w;
  w.low = (ulong)x;
  w.high = (ulong)(x >> 63);
  return w;
}
inline Window window_sum(const Window a, const Window b) {
  Window w;
  w.low = a.low + b.low;
  w.high = a.high + b.high + (w.low < a.low ? 1 : 0);
  return w;
}
inline Window window_negated(const Window a) {
  Window w;
  w.low = 0 - a.low;
  w.high = ~a.high + (a.low == 0 ? 1 : 0);
  return w;
}
inline uint window_negative(const Window a) { return (uint)(a.high >> 63); }
inline Window window_magnitude(const Window a) { return window_negative(a) != 0 ? window_negated(a) : a; }
inline uint window_is_zero(const Window a) { return (a.low | a.high) == 0; }
// a * 2^n and floor(a / 2^n), for n < MASU_WINDOW_BITS.
inline Window window_left(const Window a, const uint n) {
  Window w;
  w.low = n < 64 ? a.low << n : 0;
  w.high = n < 64 ? a.high << n | a.low >> 1 >> (63 - n) : a.low << (n - 64);
  return w;
}
inline Window window_right(const Window a, const uint n) {
  Window w;
  w.low = n < 64 ? a.low >> n | a.high << 1 << (63 - n) : (ulong)((long)a.high >> (n - 64));
  w.high = (ulong)((long)a.high >> (n < 64 ? n : 63));
  return w;
}
inline Window window_and(const Window a, const Window b) {
  Window w;
  w.low = a.low & b.low;
  w.high = a.high & b.high;
  return w;
}
inline uint window_word(const Window a, const uint i) {
  const ulong word = i < 2 ? a.low : a.high;
  return (uint)(word >> 32 * (i & 1));
}
inline ulong window_integer(const Window a) { return a.low; }
inline Window window_from(const ulong low, const ulong high) {
  Window w;
  w.low = low;
  w.high = high;
  return w;
}
#else
#define MASU_WINDOW_BITS 64
#define MASU_STEP 32
typedef ulong Window;

inline Window window_of(const long x) { return (ulong)x; }
inline Window window_sum(const Window a, const Window b) { return a + b; }
inline Window window_negated(const Window a) { return 0 - a; }
inline uint window_negative(const Window a) { return (uint)(a >> 63); }
// Not as a choice: Oclgrind does not know the instruction that LLVM makes of it.
inline Window window_magnitude(const Window a) { return (a ^ (0 - (a >> 63))) + (a >> 63); }
inline uint window_is_zero(const Window a) { return a == 0; }
inline Window window_left(const Window a, const uint n) { return a << n; }
inline Window window_right(const Window a, const uint n) { return (ulong)((long)a >> n); }
inline Window window_and(const Window a, const Window b) { return a & b; }
inline uint window_word(const Window a, const uint i) { return (uint)(a >> 32 * i); }
inline ulong window_integer(const Window a) { return a; }
inline Window window_from(const ulong low, const ulong high) { return low; }
#endif

// Windows stay below 2^MASU_WINDOW_TOP, so that twice one and a bit more fits.
#define MASU_WINDOW_TOP (MASU_WINDOW_BITS - 3)

// A finite element's mantissa, with its sign.
inline long mantissa_of(const MASU_BITS bits, const uint place) {
  const MASU_BITS m = MASU_MAGNITUDE(bits) - ((MASU_BITS)place << MASU_FRACTION);
#if MASU_ELEMENT_BYTES == 8
  const long minus = (long)bits >> 63;
  return ((long)m ^ minus) - minus;
#else
  const int minus = as_int(bits << (32 - 8 * MASU_ELEMENT_BYTES)) >> 31;
  return (as_int(m) ^ minus) - minus;
#endif
}

// floor(element / 2^unit) of finite elements, where it is known to be below 2^MASU_WINDOW_TOP: the mantissa from the
// highest bit on, moved right.
inline Window top_part(const MASU_BITS bits, const uint unit) {
  const uint place = MASU_PLACE(MASU_UPPER(MASU_MAGNITUDE(bits)));
  const long m = mantissa_of(bits, place);
  const uint shift = unit + (MASU_WINDOW_BITS - 2 - MASU_PRECISION) - place;
#if MASU_ELEMENT_BYTES == 8
  return window_right(window_from(0, (ulong)m << (62 - MASU_PRECISION)), min(shift, MASU_WINDOW_BITS - 1U));
#else
  return window_right((ulong)m << (62 - MASU_PRECISION), min(shift, MASU_WINDOW_BITS - 1U));
#endif
}

// Whether a finite element has a bit below the unit.
inline uint loses_bits(const MASU_BITS bits, const uint unit) {
  const uint place = MASU_PLACE(MASU_UPPER(MASU_MAGNITUDE(bits)));
  const MASU_BITS m = MASU_MAGNITUDE(bits) - ((MASU_BITS)place << MASU_FRACTION);
  return place < unit && (m & (((MASU_BITS)1 << min(unit - place, MASU_PRECISION + 0U)) - 1)) != 0;
}

// floor(element / 2^unit) of finite elements, modulo 2^MASU_WINDOW_BITS.
inline Window part_of(const MASU_BITS bits, const uint unit) {
  const uint place = MASU_PLACE(MASU_UPPER(MASU_MAGNITUDE(bits)));
  const Window m = window_of(mantissa_of(bits, place));
  if (place < unit) return window_right(m, min(unit - place, MASU_WINDOW_BITS - 1U));
  return place - unit < MASU_WINDOW_BITS ? window_left(m, place - unit) : window_of(0);
}

// The bits of value * 2^unit as a float, to nearest, ties to even.
MASU_INLINE MASU_BITS rounded_by_bits(const Window value, const uint unit) {
  const uint minus = window_negative(value);
  const Window m = window_magnitude(value);
  if (window_is_zero(m)) return 0;
  // The highest 64 bits from the leading one on, the lowest of them set where anything below is.
#if MASU_ELEMENT_BYTES == 8
  const uint empty = m.high != 0 ? (uint)clz(m.high) : 64 + (uint)clz(m.low);
  const Window moved = window_left(m, empty);
  const ulong top = moved.high | (moved.low != 0 ? 1 : 0);
#else
  const uint empty = (uint)clz(m);
  const ulong top = m << empty;
#endif
  const uint lead = unit + (MASU_WINDOW_BITS - 1) - empty;
  const MASU_BITS sign = minus != 0 ? MASU_SIGN : 0;
  // Without a bit below the least subnormal number: exact.
  if (lead < MASU_FRACTION) return (MASU_BITS)(top >> (63 - lead)) | sign;
  const MASU_BITS kept = (MASU_BITS)(top >> (63 - MASU_FRACTION));
  const ulong rest = top << (MASU_FRACTION + 1) >> 1;  // of half a unit of the last place: 2^62
  const MASU_BITS up = rest + (kept & 1) > 1UL << 62 ? 1 : 0;
  // The leading bit adds 1 to the exponent's field, a carry of the rounding too.
  return min(((MASU_BITS)(lead - MASU_FRACTION) << MASU_FRACTION) + kept + up, (MASU_BITS)MASU_INFINITY_BITS) | sign;
}
#if MASU_ELEMENT_BYTES == 4
// A call, as it is rare.
MASU_NOINLINE uint rounded_rarely(const Window value, const uint unit) { return rounded_by_bits(value, unit); }
#endif
MASU_INLINE MASU_BITS rounded(const Window value, const uint unit) {
#if MASU_ELEMENT_BYTES == 4
  if (unit < MASU_FRACTION) return rounded_rarely(value, unit);
  // Not subnormal: the conversion rounds, and the exponent's field is moved.
  const uint bits = as_uint((float)(long)value);
  const uint moved = (bits & 0x7fffffffU) + (unit << MASU_FRACTION) - (149U << MASU_FRACTION);
  const uint magnitude = min(moved, MASU_INFINITY_BITS);
  return bits == 0 ? 0 : magnitude | (bits & 0x80000000U);
#else
  return rounded_by_bits(value, unit);
#endif
}

#define MASU_NAN 1U
#define MASU_INFINITY 2U
#define MASU_MINUS_INFINITY 4U

inline uint is_special(const MASU_BITS bits) { return MASU_MAGNITUDE(bits) >= MASU_INFINITY_BITS; }
inline uint kind_of(const MASU_BITS bits) {
  if (MASU_MAGNITUDE(bits) > MASU_INFINITY_BITS) return MASU_NAN;
  return (bits & MASU_SIGN) != 0 ? MASU_MINUS_INFINITY : MASU_INFINITY;
}
// What a sum is that has these kinds of elements.
inline MASU_BITS special_sum(const uint kinds) {
  if (kinds == MASU_INFINITY) return MASU_INFINITY_BITS;
  if (kinds == MASU_MINUS_INFINITY) return MASU_INFINITY_BITS | MASU_SIGN;
  return MASU_INFINITY_BITS | (MASU_BITS)1 << (MASU_FRACTION - 1);
}

// Table and sums: of the rows, a word for each digit of a wide number.
inline void clear_table(__local uint *table, __local ulong *sums) {
  const uint lane = (uint)get_local_id(0);
  for (uint i = lane; i < MASU_TABLE_ROWS * MASU_COLUMNS; i += MASU_GROUP) table[i] = 0;
  for (uint i = lane; i < 2 * MASU_WIDE_WORDS; i += MASU_GROUP) sums[i] = 0;
}
#define MASU_DIGIT(number, value) atomic_add(cell + (number) * MASU_COLUMNS, (uint)(value));
// Adds an element; gives what kind it is where it is not finite. The highest digit has a sign.
MASU_INLINE uint add_element(__local uint *column, const MASU_BITS bits) {
  if (is_special(bits)) return kind_of(bits);
  const uint place = MASU_PLACE(MASU_UPPER(MASU_MAGNITUDE(bits)));
  const long m = mantissa_of(bits, place);
  const uint shift = place & 15;
  __local uint *cell = column + (place >> 4) * MASU_COLUMNS;
#if MASU_ELEMENT_BYTES == 2
  const uint x = (uint)m << shift;
  MASU_DIGIT(0, x & 65535)
  MASU_DIGIT(1, as_int(x) >> 16)
#else
  const ulong x = (ulong)m << shift;
  MASU_DIGIT(0, x & 65535)
  MASU_DIGIT(1, (uint)x >> 16)
#if MASU_ELEMENT_BYTES == 4
  MASU_DIGIT(2, x >> 32)
#else
  MASU_DIGIT(2, x >> 32 & 65535)
  MASU_DIGIT(3, x >> 48)
  MASU_DIGIT(4, m >> 1 >> (63 - shift))
#endif
#endif
  return 0;
}
// All work-items come here, behind a barrier.
inline void add_rows(__local const uint *table, __local ulong *sums) {
  const uint lane = (uint)get_local_id(0);
#if MASU_COLUMNS == MASU_SHUFFLE_LANES
  // A sub-group takes a row: the sums of the lower halves and of the upper ones fit 32 bits.
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
// One work-item adds the sums to a wide number.
inline void add_sums(__local uint *wide, __local const ulong *sums) {
  long carry = 0;
  for (uint i = 0; i < MASU_WIDE_WORDS; ++i) {
    carry += (long)sums[2 * i] + (long)sums[2 * i + 1] * 65536 + wide[i];
    wide[i] = (uint)carry;
    carry >>= 32;
  }
}

inline uint wide_sign(__local const uint *wide) { return (uint)(as_int(wide[MASU_WIDE_WORDS - 1]) >> 31); }
// floor(wide / 2^unit) modulo 2^MASU_WINDOW_BITS.
inline Window wide_part(__local const uint *wide, const uint unit) {
  const uint first = unit / 32;
  const uint shift = unit % 32;
  uint words[MASU_WINDOW_BITS / 32 + 1];
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i <= MASU_WINDOW_BITS / 32; ++i) {
    words[i] = first + i < MASU_WIDE_WORDS ? wide[first + i] : wide_sign(wide);
  }
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_WINDOW_BITS / 32; ++i) {
    words[i] = (uint)(((ulong)words[i + 1] << 32 | words[i]) >> shift);
  }
  return window_from((ulong)words[1] << 32 | words[0],
                     (ulong)words[MASU_WINDOW_BITS / 32 - 1] << 32 | words[MASU_WINDOW_BITS / 32 - 2]);
}
// One work-item adds x * 2^unit.
inline void add_window(__local uint *wide, const Window x, const uint unit) {
  const uint sign = window_negative(x) != 0 ? 0xffffffffU : 0;
  uint before = 0;
  ulong carry = 0;
  for (uint i = 0; unit / 32 + i < MASU_WIDE_WORDS; ++i) {
    // Above x only its sign and the carry are left, which mostly are nothing together.
    if (i > MASU_WINDOW_BITS / 32 && (uint)carry + sign == 0) break;
    const uint word = i < MASU_WINDOW_BITS / 32 ? window_word(x, i) : sign;
    carry += (ulong)wide[unit / 32 + i] + (uint)(((ulong)word << 32 | before) << unit % 32 >> 32);
    wide[unit / 32 + i] = (uint)carry;
    carry >>= 32;
    before = word;
  }
}
