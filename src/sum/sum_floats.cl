// SPDX-License-Identifier: Apache-2.0
// Exact sums and dot products of floats, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After sum.cl.

#define MASU_SIGN_BIT (MASU_ELEMENT_BYTES * 8 - 1)

// A float's parts. Its place is its exponent's field less 1, or 0 where the field is 0: taken out of the magnitude, it
// leaves the mantissa, with the implicit bit of what is normal. Subnormal numbers are never seen as floats: processors may
// take them for zeros. The field stands in the upper word.
#if MASU_ELEMENT_BYTES == 8
#define MASU_UPPER(bits) ((uint)((bits) >> 32))
#define MASU_UPPER_FRACTION (MASU_FRACTION - 32)
#else
#define MASU_UPPER(bits) (bits)
#define MASU_UPPER_FRACTION MASU_FRACTION
#endif
#define MASU_MAGNITUDE(bits) ((bits) & (MASU_SIGN - 1))
#define MASU_PLACE(upper) ((uint)max((int)((upper) >> MASU_UPPER_FRACTION) - 1, 0))
#define MASU_MANTISSA(magnitude, place) ((magnitude) - ((MASU_BITS)(place) << MASU_FRACTION))

// The first counter of a place: of the row that it begins in, and this work-item's column.
#define MASU_CELL(place) (column + ((place) >> MASU_SPACING) * (MASU_STEP * MASU_COLUMNS))
#define MASU_DIGIT(cell, number, value) atomic_add((cell) + (number) * MASU_COLUMNS, (uint)(value));

// Adds ±mantissa * 2^place; `minus` is 0 or all bits.
#if MASU_ELEMENT_BYTES < 8 && !(MASU_ELEMENT_BYTES == 4 && MASU_INPUTS != 1)
// At most 31 bits when shifted.
inline void add_number(__local uint *column, const uint mantissa, const uint place, const uint minus) {
  __local uint *cell = MASU_CELL(place);
  const uint v = ((mantissa << (place & MASU_PLACES_MASK)) ^ minus) - minus;
  MASU_DIGIT(cell, 0, v)
#if MASU_PAIRED
  MASU_DIGIT(cell, 1, as_int(v) >> 16)
#endif
}
#elif MASU_ELEMENT_BYTES == 4
// At most 63 bits when shifted; `narrow`: at most 47.
inline void add_number(__local uint *column, const ulong mantissa, const uint place, const uint minus,
                       const bool narrow) {
  __local uint *cell = MASU_CELL(place);
  const ulong shifted = mantissa << (place & MASU_PLACES_MASK);
  // The two's complement is the bits the other way round, plus 1; that goes into the lowest digit.
  const uint w0 = (uint)shifted ^ minus;
  const uint w1 = (uint)(shifted >> 32) ^ minus;
  MASU_DIGIT(cell, 0, (w0 & 65535u) - minus)
  MASU_DIGIT(cell, 1, w0 >> 16)
  MASU_DIGIT(cell, 2, narrow ? w1 : w1 & 65535u)
  if (!narrow) {
    MASU_DIGIT(cell, 3, as_int(w1) >> 16)
  }
}
#else
// At most 121 bits when shifted; `narrow`: at most 68.
inline void add_number(__local uint *column, const ulong low, const ulong high, const uint place, const uint minus,
                       const bool narrow) {
  __local uint *cell = MASU_CELL(place);
  const uint shift = place & MASU_PLACES_MASK;
  const ulong shifted = low << shift;
  const uint w0 = (uint)shifted ^ minus;
  const uint w1 = (uint)(shifted >> 32) ^ minus;
  const ulong above = (high << shift) | (low >> 1 >> (63 - shift));
  const uint w2 = (uint)above ^ minus;
  MASU_DIGIT(cell, 0, (w0 & 65535u) - minus)
  MASU_DIGIT(cell, 1, w0 >> 16)
  MASU_DIGIT(cell, 2, w1 & 65535u)
  MASU_DIGIT(cell, 3, w1 >> 16)
  MASU_DIGIT(cell, 4, narrow ? w2 : w2 & 65535u)
  if (!narrow) {
    const uint w3 = (uint)(above >> 32) ^ minus;
    MASU_DIGIT(cell, 5, w2 >> 16)
    MASU_DIGIT(cell, 6, w3 & 65535u)
    MASU_DIGIT(cell, 7, as_int(w3) >> 16)
  }
}
#endif

// Which NaNs and infinities there are.
inline uint kind_of(const MASU_BITS a, const MASU_BITS b) {
  const MASU_BITS m = MASU_MAGNITUDE(a);
#if MASU_INPUTS == 1
  if (m < MASU_INFINITY_BITS) return 0;
  const uint minus = (uint)(a >> MASU_SIGN_BIT);
  return m > MASU_INFINITY_BITS ? MASU_NAN : minus != 0 ? MASU_MINUS_INFINITY : MASU_INFINITY;
#else
  const MASU_BITS n = MASU_MAGNITUDE(b);
  if (m < MASU_INFINITY_BITS && n < MASU_INFINITY_BITS) return 0;
  const uint minus = (uint)((a ^ b) >> MASU_SIGN_BIT);
  return m > MASU_INFINITY_BITS || n > MASU_INFINITY_BITS || m == 0 || n == 0 ? MASU_NAN
         : minus != 0                                              ? MASU_MINUS_INFINITY
                                                                   : MASU_INFINITY;
#endif
}
#define MASU_ADD(x_bits, y_bits) seen |= kind_of(x_bits, y_bits);
// The kinds in this work-item's share of a unit.
inline uint kinds_of_unit(__global const uchar *restrict x, const ulong x_at, __global const uchar *restrict y,
                          const ulong y_at, const ulong count, const ulong rows, const ulong columns,
                          const ulong shares, const size_t unit) {
  MASU_UNIT(unit)
  uint seen = 0;
  MASU_ADD_VECTORS(first, vectors)
  MASU_ADD_EDGES
  return seen;
}
#undef MASU_ADD

// Whether products are of values and a number of one bit.
#define MASU_NARROW (MASU_BOTH && y_at != 0)

// Adds one element, or one product, and keeps the greatest upper word of a magnitude in `worst`.
#if MASU_INPUTS == 1
#define MASU_ADD(bits, unused)                                                              \
  {                                                                                         \
    const MASU_BITS b = (bits);                                                             \
    const MASU_BITS magnitude = MASU_MAGNITUDE(b);                                          \
    const uint place = MASU_PLACE(MASU_UPPER(magnitude));                                   \
    worst = max(worst, MASU_UPPER(magnitude));                                              \
    const uint minus = 0u - (uint)(b >> MASU_SIGN_BIT);                                     \
    MASU_ADD_ONE(MASU_MANTISSA(magnitude, place), place, minus)                             \
  }
#if MASU_ELEMENT_BYTES == 8
#define MASU_ADD_ONE(mantissa, place, minus) add_number(column, mantissa, 0, place, minus, true);
#else
#define MASU_ADD_ONE(mantissa, place, minus) add_number(column, mantissa, place, minus);
#endif
#else
#define MASU_ADD(x_bits, y_bits)                                                            \
  {                                                                                         \
    const MASU_BITS a = (x_bits);                                                           \
    const MASU_BITS b = (y_bits);                                                           \
    const MASU_BITS a_magnitude = MASU_MAGNITUDE(a);                                        \
    const MASU_BITS b_magnitude = MASU_MAGNITUDE(b);                                        \
    const uint a_place = MASU_PLACE(MASU_UPPER(a_magnitude));                               \
    const uint b_place = MASU_PLACE(MASU_UPPER(b_magnitude));                               \
    worst = max(worst, max(MASU_UPPER(a_magnitude), MASU_UPPER(b_magnitude)));              \
    const uint minus = 0u - (uint)((a ^ b) >> MASU_SIGN_BIT);                               \
    const MASU_BITS m = MASU_MANTISSA(a_magnitude, a_place);                                \
    const MASU_BITS n = MASU_MANTISSA(b_magnitude, b_place);                                \
    MASU_ADD_ONE(m, n, a_place + b_place, minus)                                            \
  }
#if MASU_ELEMENT_BYTES == 8
#define MASU_ADD_ONE(m, n, place, minus) add_number(column, (m) * (n), mul_hi(m, n), place, minus, MASU_NARROW);
#elif MASU_ELEMENT_BYTES == 4
#define MASU_ADD_ONE(m, n, place, minus) add_number(column, (ulong)(m) * (n), place, minus, MASU_NARROW);
#else
#define MASU_ADD_ONE(m, n, place, minus) add_number(column, (m) * (n), place, minus);
#endif
#endif

// Adds this group's share of a row, unit `unit`, to the row's totals, and the kinds of what is not finite to `kinds`.
// Not MASU_INLINE: what PoCL 3.1 makes of it then adds nothing to the totals.
inline void add_unit(__global const uchar *x, const ulong x_at, __global const uchar *y, const ulong y_at,
                     const ulong count, const ulong rows, const ulong columns, const ulong shares, const size_t unit,
                     __local uint *table, __global uint *row_totals, __global uint *kinds) {
  __local uint *column = table + MASU_COLUMN;
  MASU_UNIT(unit)
  uint worst = 0;
  const size_t round_vectors = MASU_STEPS * stride;
  const size_t rounds = vectors == 0 ? 1 : (vectors + round_vectors - 1) / round_vectors;
  for (size_t round = 0; round < rounds; ++round) {
    const size_t last = (round + 1) * round_vectors;
    const size_t end = last < vectors ? last : vectors;
    MASU_ADD_VECTORS(first + round * round_vectors, end)
    if (round == 0) {
      MASU_ADD_EDGES
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    flush(table, row_totals);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (worst >= MASU_UPPER(MASU_INFINITY_BITS)) {
    atomic_or(kinds, kinds_of_unit(x, x_at, y, y_at, count, rows, columns, shares, unit));
  }
}
