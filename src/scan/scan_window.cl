// SPDX-License-Identifier: Apache-2.0
// The numbers of exact sums of floats, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After scan_tile.cl.
//
// A finite element is ±mantissa * 2^place, in units of the least subnormal number; its place is its exponent's field less
// 1, or 0 where the field is 0. Elements are integers to the kernels: processors may take subnormal floats for zeros.
//
// A Window is the integer floor(sum / 2^unit) in two's complement, for a unit that lets it fit: the sum lies between it
// and it plus the number of terms that have bits below the unit. Rounding never decreases, so where both ends round to
// one float, the sum does.

#if MASU_ELEMENT_BYTES == 8
#define SCAN_UPPER(magnitude) ((uint)((magnitude) >> 32))
#else
#define SCAN_UPPER(magnitude) (magnitude)
#endif
#define SCAN_PRECISION (MASU_FRACTION + 1)
#define SCAN_MAGNITUDE(bits) ((bits) & (MASU_SIGN - 1))
// The place of an element by the upper word of its magnitude, or of several by the greatest or the least of them.
#define SCAN_PLACE(upper) (max((upper) >> (MASU_FRACTION % 32), 1U) - 1)

#if MASU_ELEMENT_BYTES == 8
#define SCAN_WINDOW_BITS 128
#define SCAN_STEP 64  // bits by which a window is moved down
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
// a * 2^n and floor(a / 2^n), for n < SCAN_WINDOW_BITS.
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
#define SCAN_WINDOW_BITS 64
#define SCAN_STEP 32
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

// Whether all finite elements, and the sums of a tile, are integers of the least subnormal number that fit a window: units are
// always 1 then.
#define SCAN_FIXED (MASU_STORED && (1 << MASU_EXPONENT_BITS) + MASU_FRACTION < 50)
// Whether a tile's first prefixes are two doubles each, and not windows.
#define SCAN_PAIRS (MASU_ELEMENT_BYTES == 8 && MASU_FP64)

// Windows stay below 2^SCAN_WINDOW_TOP, so that twice one and a bit more fits.
#define SCAN_WINDOW_TOP (SCAN_WINDOW_BITS - 3)

// A finite element's mantissa, with its sign.
inline long mantissa_of(const MASU_BITS bits, const uint place) {
  const MASU_BITS m = SCAN_MAGNITUDE(bits) - ((MASU_BITS)place << MASU_FRACTION);
#if MASU_ELEMENT_BYTES == 8
  const long minus = (long)bits >> 63;
  return ((long)m ^ minus) - minus;
#else
  const int minus = as_int(bits << (32 - 8 * MASU_ELEMENT_BYTES)) >> 31;
  return (as_int(m) ^ minus) - minus;
#endif
}

// floor(element / 2^unit) of finite elements, where it is known to be below 2^SCAN_WINDOW_TOP: the mantissa from the
// highest bit on, moved right.
inline Window top_part(const MASU_BITS bits, const uint unit) {
  const uint place = SCAN_PLACE(SCAN_UPPER(SCAN_MAGNITUDE(bits)));
  const long m = mantissa_of(bits, place);
  const uint shift = unit + (SCAN_WINDOW_BITS - 2 - SCAN_PRECISION) - place;
#if MASU_ELEMENT_BYTES == 8
  return window_right(window_from(0, (ulong)m << (62 - SCAN_PRECISION)), min(shift, SCAN_WINDOW_BITS - 1U));
#else
  return window_right((ulong)m << (62 - SCAN_PRECISION), min(shift, SCAN_WINDOW_BITS - 1U));
#endif
}

// Whether a finite element has a bit below the unit.
inline uint loses_bits(const MASU_BITS bits, const uint unit) {
  const uint place = SCAN_PLACE(SCAN_UPPER(SCAN_MAGNITUDE(bits)));
  const MASU_BITS m = SCAN_MAGNITUDE(bits) - ((MASU_BITS)place << MASU_FRACTION);
  return place < unit && (m & (((MASU_BITS)1 << min(unit - place, SCAN_PRECISION + 0U)) - 1)) != 0;
}

// floor(element / 2^unit) of finite elements, modulo 2^SCAN_WINDOW_BITS.
inline Window part_of(const MASU_BITS bits, const uint unit) {
  const uint place = SCAN_PLACE(SCAN_UPPER(SCAN_MAGNITUDE(bits)));
  const Window m = window_of(mantissa_of(bits, place));
  if (place < unit) return window_right(m, min(unit - place, SCAN_WINDOW_BITS - 1U));
  return place - unit < SCAN_WINDOW_BITS ? window_left(m, place - unit) : window_of(0);
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
  const uint lead = unit + (SCAN_WINDOW_BITS - 1) - empty;
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
// The same; a unit may be half of the least subnormal number, which is less than 0, where the value is even.
MASU_INLINE MASU_BITS rounded(const Window value, const uint unit) {
#if MASU_ELEMENT_BYTES == 4
  if (unit + 1 <= MASU_FRACTION) return rounded_rarely(value, unit);
  // Not subnormal: the conversion rounds, and a power of two changes no bit of the fraction.
  return as_uint((float)(long)value * as_float((unit - (MASU_FRACTION - 1)) << MASU_FRACTION));
#elif SCAN_FIXED && defined(MASU_CUDA) && MASU_EXPONENT_BITS == 5
  return masu_nearest_half((double)(long)value * 0x1p-24);  // where a double has not all bits, this is infinite
#else
  return rounded_by_bits(value, unit);
#endif
}
