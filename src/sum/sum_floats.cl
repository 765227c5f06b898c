// SPDX-License-Identifier: Apache-2.0
// Exact sums and dot products of floats, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After sum.cl.

#define SUM_SIGN_BIT (MASU_ELEMENT_BYTES * 8 - 1)

// A float's parts. Its place is its exponent's field less 1, or 0 where the field is 0: taken out of the magnitude, it
// leaves the mantissa, with the implicit bit of what is normal. Subnormal numbers are never seen as floats: processors may
// take them for zeros. The field stands in the upper word.
#if MASU_ELEMENT_BYTES == 8
#define SUM_UPPER(bits) ((uint)((bits) >> 32))
#define SUM_UPPER_FRACTION (MASU_FRACTION - 32)
#else
#define SUM_UPPER(bits) (bits)
#define SUM_UPPER_FRACTION MASU_FRACTION
#endif
#define SUM_MAGNITUDE(bits) ((bits) & (MASU_SIGN - 1))
#define SUM_PLACE(upper) ((uint)max((int)((upper) >> SUM_UPPER_FRACTION) - 1, 0))
#define SUM_MANTISSA(magnitude, place) ((magnitude) - ((MASU_BITS)(place) << MASU_FRACTION))

// The first counter of a place: of the row that it begins in, and this work-item's column.
#define SUM_CELL(place) (column + ((place) >> MASU_SPACING) * (MASU_STEP * MASU_COLUMNS))
#define SUM_DIGIT(cell, number, value) atomic_add((cell) + (number) * MASU_COLUMNS, (uint)(value));

// Adds ±mantissa * 2^place; `minus` is 0 or all bits.
#if MASU_ELEMENT_BYTES < 8 && !(MASU_ELEMENT_BYTES == 4 && MASU_INPUTS != 1)
// At most 31 bits when shifted.
inline void add_number(__local uint *column, const uint mantissa, const uint place, const uint minus) {
  __local uint *cell = SUM_CELL(place);
  const uint v = ((mantissa << (place & SUM_PLACES_MASK)) ^ minus) - minus;
  SUM_DIGIT(cell, 0, v)
#if SUM_PAIRED
  SUM_DIGIT(cell, 1, as_int(v) >> 16)
#endif
}
#elif MASU_ELEMENT_BYTES == 4
// At most 63 bits when shifted; `narrow`: at most 47.
inline void add_number(__local uint *column, const ulong mantissa, const uint place, const uint minus,
                       const bool narrow) {
  __local uint *cell = SUM_CELL(place);
  const ulong shifted = mantissa << (place & SUM_PLACES_MASK);
  // The two's complement is the bits the other way round, plus 1; that goes into the lowest digit.
  const uint w0 = (uint)shifted ^ minus;
  const uint w1 = (uint)(shifted >> 32) ^ minus;
  SUM_DIGIT(cell, 0, (w0 & 65535u) - minus)
  SUM_DIGIT(cell, 1, w0 >> 16)
  SUM_DIGIT(cell, 2, narrow ? w1 : w1 & 65535u)
  if (!narrow) {
    SUM_DIGIT(cell, 3, as_int(w1) >> 16)
  }
}
#else
// At most 121 bits when shifted; `narrow`: at most 68.
inline void add_number(__local uint *column, const ulong low, const ulong high, const uint place, const uint minus,
                       const bool narrow) {
  __local uint *cell = SUM_CELL(place);
  const uint shift = place & SUM_PLACES_MASK;
  const ulong shifted = low << shift;
  const uint w0 = (uint)shifted ^ minus;
  const uint w1 = (uint)(shifted >> 32) ^ minus;
  const ulong above = (high << shift) | (low >> 1 >> (63 - shift));
  const uint w2 = (uint)above ^ minus;
  SUM_DIGIT(cell, 0, (w0 & 65535u) - minus)
  SUM_DIGIT(cell, 1, w0 >> 16)
  SUM_DIGIT(cell, 2, w1 & 65535u)
  SUM_DIGIT(cell, 3, w1 >> 16)
  SUM_DIGIT(cell, 4, narrow ? w2 : w2 & 65535u)
  if (!narrow) {
    const uint w3 = (uint)(above >> 32) ^ minus;
    SUM_DIGIT(cell, 5, w2 >> 16)
    SUM_DIGIT(cell, 6, w3 & 65535u)
    SUM_DIGIT(cell, 7, as_int(w3) >> 16)
  }
}
#endif

// Which NaNs and infinities there are.
inline uint kind_of(const MASU_BITS a, const MASU_BITS b) {
  const MASU_BITS m = SUM_MAGNITUDE(a);
#if MASU_INPUTS == 1
  if (m < MASU_INFINITY_BITS) return 0;
  const uint minus = (uint)(a >> SUM_SIGN_BIT);
  return m > MASU_INFINITY_BITS ? MASU_NAN : minus != 0 ? MASU_MINUS_INFINITY : MASU_INFINITY;
#else
  const MASU_BITS n = SUM_MAGNITUDE(b);
  if (m < MASU_INFINITY_BITS && n < MASU_INFINITY_BITS) return 0;
  const uint minus = (uint)((a ^ b) >> SUM_SIGN_BIT);
  return m > MASU_INFINITY_BITS || n > MASU_INFINITY_BITS || m == 0 || n == 0 ? MASU_NAN
         : minus != 0                                              ? MASU_MINUS_INFINITY
                                                                   : MASU_INFINITY;
#endif
}
#define SUM_ADD(x_bits, y_bits) seen |= kind_of(x_bits, y_bits);
// The kinds in this work-item's share of a unit.
inline uint kinds_of_unit(__global const uchar *restrict x, const ulong x_at, __global const uchar *restrict y,
                          const ulong y_at, const ulong count, const ulong rows, const ulong columns,
                          const ulong shares, const size_t unit) {
  SUM_UNIT(unit)
  uint seen = 0;
  SUM_ADD_RARELY(first, vectors)
  SUM_ADD_EDGES
  return seen;
}
#undef SUM_ADD

// Whether products are of values and a number of one bit.
#define SUM_NARROW (MASU_BOTH && y_at != 0)

// Adds one element, or one product, and keeps the greatest upper word of a magnitude in `worst`.
#if MASU_INPUTS == 1
#define SUM_ADD(bits, unused)                                                               \
  {                                                                                         \
    const MASU_BITS b = (bits);                                                             \
    const MASU_BITS magnitude = SUM_MAGNITUDE(b);                                           \
    const uint place = SUM_PLACE(SUM_UPPER(magnitude));                                     \
    worst = max(worst, SUM_UPPER(magnitude));                                               \
    const uint minus = 0u - (uint)(b >> SUM_SIGN_BIT);                                      \
    SUM_ADD_ONE(SUM_MANTISSA(magnitude, place), place, minus)                               \
  }
#if MASU_ELEMENT_BYTES == 8
#define SUM_ADD_ONE(mantissa, place, minus) add_number(column, mantissa, 0, place, minus, true);
#else
#define SUM_ADD_ONE(mantissa, place, minus) add_number(column, mantissa, place, minus);
#endif
#else
#define SUM_ADD(x_bits, y_bits)                                                             \
  {                                                                                         \
    const MASU_BITS a = (x_bits);                                                           \
    const MASU_BITS b = (y_bits);                                                           \
    const MASU_BITS a_magnitude = SUM_MAGNITUDE(a);                                         \
    const MASU_BITS b_magnitude = SUM_MAGNITUDE(b);                                         \
    const uint a_place = SUM_PLACE(SUM_UPPER(a_magnitude));                                 \
    const uint b_place = SUM_PLACE(SUM_UPPER(b_magnitude));                                 \
    worst = max(worst, max(SUM_UPPER(a_magnitude), SUM_UPPER(b_magnitude)));                \
    const uint minus = 0u - (uint)((a ^ b) >> SUM_SIGN_BIT);                                \
    const MASU_BITS m = SUM_MANTISSA(a_magnitude, a_place);                                 \
    const MASU_BITS n = SUM_MANTISSA(b_magnitude, b_place);                                 \
    SUM_ADD_ONE(m, n, a_place + b_place, minus)                                             \
  }
#if MASU_ELEMENT_BYTES == 8
#define SUM_ADD_ONE(m, n, place, minus) add_number(column, (m) * (n), mul_hi(m, n), place, minus, SUM_NARROW);
#elif MASU_ELEMENT_BYTES == 4
#define SUM_ADD_ONE(m, n, place, minus) add_number(column, (ulong)(m) * (n), place, minus, SUM_NARROW);
#else
#define SUM_ADD_ONE(m, n, place, minus) add_number(column, (m) * (n), place, minus);
#endif
#endif

// Adds this group's share of a row, unit `unit`, to the row's totals, and the kinds of what is not finite to `kinds`.
// Not MASU_INLINE: what PoCL 3.1 makes of it then adds nothing to the totals.
inline void add_unit(__global const uchar *x, const ulong x_at, __global const uchar *y, const ulong y_at,
                     const ulong count, const ulong rows, const ulong columns, const ulong shares, const size_t unit,
                     __local uint *table, __global uint *row_totals, __global uint *kinds) {
  __local uint *column = table + SUM_COLUMN;
  SUM_UNIT(unit)
  uint worst = 0;
  const size_t round_vectors = MASU_STEPS * stride;
  const size_t rounds = vectors == 0 ? 1 : (vectors + round_vectors - 1) / round_vectors;
  for (size_t round = 0; round < rounds; ++round) {
    const size_t last = (round + 1) * round_vectors;
    const size_t end = last < vectors ? last : vectors;
    SUM_ADD_RARELY(first + round * round_vectors, end)
    if (round == 0) {
      SUM_ADD_EDGES
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    flush(table, row_totals);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (worst >= SUM_UPPER(MASU_INFINITY_BITS)) {
    atomic_or(kinds, kinds_of_unit(x, x_at, y, y_at, count, rows, columns, shares, unit));
  }
}
