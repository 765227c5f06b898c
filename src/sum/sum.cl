// SPDX-License-Identifier: Apache-2.0
// Exact sums and dot products. Floats: a table of 32-bit counters in local memory, a row for each place of a digit of 16
// bits, a column for each lane, so that lanes meet no other's bank. A value ±m * 2^p is shifted by the low bits of p,
// cut into digits of its two's complement, and each is added in the row that the high bits of p name. Before a counter
// can overflow the table is added to 64-bit totals. Integers: each work-item adds in registers, and its total goes the
// same way. Totals are two words, low one first; the host adds them up and rounds.
//
// All `rows` rows have `count` elements each; `shares` work-groups share a row.
//
// Defines, all given by sum_plan.cpp:
#ifndef MASU_GROUP        // work-items in a work-group
#error "MASU_GROUP is not defined"
#endif
#ifndef MASU_GROUPS_A_UNIT  // work-groups that share a compute unit
#error "MASU_GROUPS_A_UNIT is not defined"
#endif
#ifndef MASU_GPU          // 1: arrays may lie in registers, and loops over them are unrolled
#error "MASU_GPU is not defined"
#endif
#ifndef MASU_UNROLL       // 16-byte loads of an input in flight for each work-item
#error "MASU_UNROLL is not defined"
#endif
#ifndef MASU_VALUE_BYTES  // of an element
#error "MASU_VALUE_BYTES is not defined"
#endif
#ifndef MASU_FLOAT        // 1: elements are floats
#error "MASU_FLOAT is not defined"
#endif
#ifndef MASU_SIGNED       // 1: elements are signed integers
#error "MASU_SIGNED is not defined"
#endif
#ifndef MASU_INPUTS       // 0: the squares of x; 1: x; 2: the products of x and y
#error "MASU_INPUTS is not defined"
#endif
#ifndef MASU_COLUMNS      // of the table, a power of two
#error "MASU_COLUMNS is not defined"
#endif
#ifndef MASU_TABLE_ROWS   // of the table
#error "MASU_TABLE_ROWS is not defined"
#endif
#ifndef MASU_SPACING      // 2^this places have one first row
#error "MASU_SPACING is not defined"
#endif
#ifndef MASU_STEP         // rows from the first row of one place to that of the next
#error "MASU_STEP is not defined"
#endif
#ifndef MASU_CLASSIFY     // 1: the kernel that looks at what is not finite; 0: the one that adds
#error "MASU_CLASSIFY is not defined"
#endif
#ifndef MASU_STEPS        // 16-byte vectors that a work-item takes before counters could overflow
#error "MASU_STEPS is not defined"
#endif

#if MASU_GPU
#define MASU_UNROLLED MASU_PRAGMA_UNROLL
#else
#define MASU_UNROLLED
#endif
#define MASU_PER_VECTOR (16 / MASU_VALUE_BYTES)
#if MASU_VALUE_BYTES == 8
#define MASU_BITS ulong
#else
#define MASU_BITS uint
#endif
#define MASU_PLACES_MASK ((1u << MASU_SPACING) - 1u)
#define MASU_NAN 1u
#define MASU_INFINITY 2u
#define MASU_MINUS_INFINITY 4u

inline MASU_BITS element_at(__global const uchar *bytes, const size_t i) {
#if MASU_VALUE_BYTES == 1
  return bytes[i];
#elif MASU_VALUE_BYTES == 2
  return ((__global const ushort *)bytes)[i];
#elif MASU_VALUE_BYTES == 4
  return ((__global const uint *)bytes)[i];
#else
  return ((__global const ulong *)bytes)[i];
#endif
}

// The vector from element `first` on, as four words; `aligned`: at a multiple of 16 bytes.
inline void load(uint *words, __global const uchar *bytes, const size_t first, const bool aligned) {
  __global const uchar *from = bytes + first * MASU_VALUE_BYTES;
  if (aligned) {
    const uint4 v = masu_load_streaming((__global const uint4 *)from);
    words[0] = v.x, words[1] = v.y;
    words[2] = v.z, words[3] = v.w;
    return;
  }
  MASU_UNROLLED
  for (int w = 0; w < 4; ++w) {
#if MASU_VALUE_BYTES == 8
    words[w] = ((__global const uint *)from)[w];
#else
    words[w] = 0;
    MASU_UNROLLED
    for (int k = 0; k < 4 / MASU_VALUE_BYTES; ++k) {
      words[w] |= element_at(from, w * (4 / MASU_VALUE_BYTES) + k) << (k * MASU_VALUE_BYTES * 8);
    }
#endif
  }
}
inline MASU_BITS element_of(const uint *words, const int k) {
#if MASU_VALUE_BYTES == 8
  return (ulong)words[2 * k + 1] << 32 | words[2 * k];
#elif MASU_VALUE_BYTES == 4
  return words[k];
#else
  return words[k * MASU_VALUE_BYTES / 4] >> (k * MASU_VALUE_BYTES % 4 * 8) & ((1u << (MASU_VALUE_BYTES * 8)) - 1u);
#endif
}

// What every kernel is given. y is x again unless MASU_INPUTS is 2.
#define MASU_PARAMETERS                                                                                             \
  __global const uchar *restrict x, const ulong x_at, __global const uchar *restrict y, const ulong y_at,           \
      const ulong count, const ulong rows, const ulong shares, __global uint *totals, const ulong totals_at,        \
      const ulong flags_at

// Row `unit / shares` and this group's share of it: names for what follows.
#define MASU_UNIT(unit)                                                                                \
  const size_t row = (unit) / shares;                                                                  \
  const size_t stride = (size_t)shares * MASU_GROUP;                                                   \
  const size_t first = ((unit) - row * shares) * MASU_GROUP + get_local_id(0);                         \
  __global const uchar *xs = x + x_at + row * count * MASU_VALUE_BYTES;                                \
  const size_t misaligned = (size_t)xs & 15;                                                           \
  const size_t before = misaligned == 0 ? 0 : (16 - misaligned) / MASU_VALUE_BYTES;                    \
  const size_t head = before < count ? before : (size_t)count;                                         \
  const size_t vectors = (size_t)(count - head) / MASU_PER_VECTOR;                                     \
  const size_t edges = (size_t)count - vectors * MASU_PER_VECTOR;                                      \
  MASU_UNIT_Y

#if MASU_INPUTS == 2
#define MASU_UNIT_Y                                                                                    \
  __global const uchar *ys = y + y_at + row * count * MASU_VALUE_BYTES;                                \
  const bool aligned = (((size_t)ys + head * MASU_VALUE_BYTES) & 15) == 0;
#define MASU_ALL_Y(n) uint all_y[n][4];
#define MASU_LOAD_Y(k, element) load(all_y[k], ys, element, aligned);
#define MASU_OF_Y(k) all_y[k]
#define MASU_ONE_Y(element) element_at(ys, element)
#else
#define MASU_UNIT_Y
#define MASU_ALL_Y(n)
#define MASU_LOAD_Y(k, element)
#define MASU_OF_Y(k) all_x[k]
#define MASU_ONE_Y(element) one_x
#endif

// Hands the elements of `n` vectors, `stride` apart, to MASU_ADD(x's bits, y's bits): all loads come first.
#define MASU_ADD_LOADS(n)                                                                               \
  {                                                                                                     \
    uint all_x[n][4];                                                                                   \
    MASU_ALL_Y(n)                                                                                       \
    MASU_UNROLLED                                                                                       \
    for (int k = 0; k < (n); ++k) {                                                                     \
      const size_t element = head + (i + k * stride) * MASU_PER_VECTOR;                                 \
      load(all_x[k], xs, element, true);                                                                \
      MASU_LOAD_Y(k, element)                                                                           \
    }                                                                                                   \
    MASU_UNROLLED                                                                                       \
    for (int k = 0; k < (n); ++k) {                                                                     \
      MASU_UNROLLED                                                                                     \
      for (int e = 0; e < MASU_PER_VECTOR; ++e) {                                                       \
        MASU_ADD(element_of(all_x[k], e), element_of(MASU_OF_Y(k), e))                                  \
      }                                                                                                 \
    }                                                                                                   \
  }
// The elements of the vectors from `from` on to before `end`, this work-item's share of them.
#if MASU_UNROLL == 1
#define MASU_ADD_VECTORS(from, end) \
  for (size_t i = (from); i < (end); i += stride) MASU_ADD_LOADS(1)
#else
#define MASU_ADD_VECTORS(from, end)                                                                               \
  {                                                                                                               \
    size_t i = (from);                                                                                            \
    for (; i + (MASU_UNROLL - 1) * stride < (end); i += MASU_UNROLL * stride) MASU_ADD_LOADS(MASU_UNROLL)         \
    for (; i < (end); i += stride) MASU_ADD_LOADS(1)                                                              \
  }
#endif
// Those before and behind the vectors.
#define MASU_ADD_EDGES                                                                  \
  for (size_t e = first; e < edges; e += stride) {                                      \
    const size_t element = e < head ? e : e + vectors * MASU_PER_VECTOR;                \
    const MASU_BITS one_x = element_at(xs, element);                                    \
    MASU_ADD(one_x, MASU_ONE_Y(element))                                                \
  }

// Adds a signed number of 64 bits to a total of two words, and another carry to none.
inline void add_total(__global uint *total, const ulong number) {
  const uint low = (uint)number;
  uint high = (uint)(number >> 32);
  if (low != 0) high += atomic_add(total, low) > UINT_MAX - low ? 1u : 0u;
  if (high != 0) atomic_add(total + 1, high);
}

// This work-item's column. `rows` is below 2^40; as compilers do not know that, they leave the column in one register and
// find a digit's counter by a constant from the cell, not by bits of an index put together anew.
#define MASU_COLUMN ((size_t)(get_local_id(0) & (MASU_COLUMNS - 1)) + (size_t)(rows >> 40))

inline void clear(__local uint *table) {
  for (uint i = (uint)get_local_id(0); i < MASU_TABLE_ROWS * MASU_COLUMNS; i += MASU_GROUP) table[i] = 0;
}

// Adds every row of the table to its total, and clears it. The columns are gone through from a place that differs from
// lane to lane, so that lanes do not meet in a bank.
inline void flush(__local uint *table, __global uint *totals) {
  for (uint r = (uint)get_local_id(0); r < MASU_TABLE_ROWS; r += MASU_GROUP) {
    long sum = 0;
    for (uint c = 0; c < MASU_COLUMNS; ++c) {
      const uint cell = r * MASU_COLUMNS + ((c + r) & (MASU_COLUMNS - 1));
      sum += as_int(table[cell]);
      table[cell] = 0;
    }
    if (sum != 0) add_total(totals + 2 * r, (ulong)sum);
  }
}

#if MASU_FLOAT
#if MASU_VALUE_BYTES == 2
#define MASU_FRACTION 10
#define MASU_TOP 31u
#elif MASU_VALUE_BYTES == 4
#define MASU_FRACTION 23
#define MASU_TOP 255u
#else
#define MASU_FRACTION 52
#define MASU_TOP 2047u
#endif
#define MASU_SIGN_BIT (MASU_VALUE_BYTES * 8 - 1)

// A float's parts: its exponent's field, 0 for a field of 0 or else 1, and its mantissa as an integer. Subnormal numbers
// are never seen as floats: processors may take them for zeros.
#define MASU_FIELD(bits) ((uint)((bits) >> MASU_FRACTION) & MASU_TOP)
#define MASU_MANTISSA(bits, normal) \
  (((bits) & (((MASU_BITS)1 << MASU_FRACTION) - 1)) + ((MASU_BITS)(normal) << MASU_FRACTION))

// The first counter of a place: of the row that it begins in, and this work-item's column.
#define MASU_CELL(place) (column + ((place) >> MASU_SPACING) * (MASU_STEP * MASU_COLUMNS))
#define MASU_DIGIT(cell, number, value) atomic_add((cell) + (number) * MASU_COLUMNS, (uint)(value));

// Adds ±mantissa * 2^place; `minus` is 0 or all bits.
#if MASU_VALUE_BYTES < 8 && !(MASU_VALUE_BYTES == 4 && MASU_INPUTS != 1)
// At most 31 bits when shifted.
inline void add_number(__local uint *column, const uint mantissa, const uint place, const uint minus) {
  __local uint *cell = MASU_CELL(place);
  const uint v = ((mantissa << (place & MASU_PLACES_MASK)) ^ minus) - minus;
#if MASU_VALUE_BYTES == 2 && MASU_INPUTS == 1
  MASU_DIGIT(cell, 0, v)
#else
  MASU_DIGIT(cell, 0, v & 65535u)
  MASU_DIGIT(cell, 1, as_int(v) >> 16)
#endif
}
#elif MASU_VALUE_BYTES == 4
// At most 63 bits when shifted.
inline void add_number(__local uint *column, const ulong mantissa, const uint place, const uint minus) {
  __local uint *cell = MASU_CELL(place);
  const ulong shifted = mantissa << (place & MASU_PLACES_MASK);
  // The two's complement is the bits the other way round, plus 1; that goes into the lowest digit.
  const uint w0 = (uint)shifted ^ minus;
  const uint w1 = (uint)(shifted >> 32) ^ minus;
  MASU_DIGIT(cell, 0, (w0 & 65535u) - minus)
  MASU_DIGIT(cell, 1, w0 >> 16)
  MASU_DIGIT(cell, 2, w1 & 65535u)
  MASU_DIGIT(cell, 3, as_int(w1) >> 16)
}
#else
// At most 68 bits when shifted; or, of two words, 121.
inline void add_number(__local uint *column, const ulong low, const ulong high, const uint place, const uint minus) {
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
#if MASU_INPUTS == 1
  MASU_DIGIT(cell, 4, w2)
#else
  const uint w3 = (uint)(above >> 32) ^ minus;
  MASU_DIGIT(cell, 4, w2 & 65535u)
  MASU_DIGIT(cell, 5, w2 >> 16)
  MASU_DIGIT(cell, 6, w3 & 65535u)
  MASU_DIGIT(cell, 7, as_int(w3) >> 16)
#endif
}
#endif

// Adds one element, or one product, and keeps the greatest exponent's field in `worst`.
#if MASU_INPUTS == 1
#define MASU_ADD(bits, unused)                                                              \
  {                                                                                         \
    const MASU_BITS b = (bits);                                                             \
    const uint field = MASU_FIELD(b);                                                       \
    const uint normal = min(field, one);                                                     \
    worst = max(worst, field);                                                              \
    const uint minus = 0u - (uint)(b >> MASU_SIGN_BIT);                                     \
    MASU_ADD_ONE(MASU_MANTISSA(b, normal), field - normal, minus)                           \
  }
#if MASU_VALUE_BYTES == 8
#define MASU_ADD_ONE(mantissa, place, minus) add_number(column, mantissa, 0, place, minus);
#else
#define MASU_ADD_ONE(mantissa, place, minus) add_number(column, mantissa, place, minus);
#endif
#else
#define MASU_ADD(x_bits, y_bits)                                                            \
  {                                                                                         \
    const MASU_BITS a = (x_bits);                                                           \
    const MASU_BITS b = (y_bits);                                                           \
    const uint a_field = MASU_FIELD(a);                                                     \
    const uint b_field = MASU_FIELD(b);                                                     \
    const uint a_normal = min(a_field, one);                                                 \
    const uint b_normal = min(b_field, one);                                                 \
    worst = max(worst, max(a_field, b_field));                                              \
    const uint minus = 0u - (uint)((a ^ b) >> MASU_SIGN_BIT);                               \
    const MASU_BITS m = MASU_MANTISSA(a, a_normal);                                         \
    const MASU_BITS n = MASU_MANTISSA(b, b_normal);                                         \
    const uint place = a_field + b_field - a_normal - b_normal;                             \
    MASU_ADD_ONE(m, n, place, minus)                                                        \
  }
#if MASU_VALUE_BYTES == 8
#define MASU_ADD_ONE(m, n, place, minus) add_number(column, (m) * (n), mul_hi(m, n), place, minus);
#elif MASU_VALUE_BYTES == 4
#define MASU_ADD_ONE(m, n, place, minus) add_number(column, (ulong)(m) * (n), place, minus);
#else
#define MASU_ADD_ONE(m, n, place, minus) add_number(column, (m) * (n), place, minus);
#endif
#endif

#if !MASU_CLASSIFY
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_add(MASU_PARAMETERS, __local uint *table) {
  MASU_LOCAL_POINTER(uint, table);
  __local uint *column = table + MASU_COLUMN;
  clear(table);
  barrier(CLK_LOCAL_MEM_FENCE);
  const size_t units = (size_t)rows * shares;
  for (size_t unit = get_group_id(0); unit < units; unit += get_num_groups(0)) {
    MASU_UNIT(unit)
    __global uint *row_totals = totals + totals_at / 4 + row * (2 * MASU_TABLE_ROWS);
    uint worst = 0;
    const uint one = 1u + (uint)(rows >> 40);  // 1, which compilers do not know either: a minimum, no choice
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
    if (worst == MASU_TOP) atomic_or(totals + flags_at / 4 + row, 1u);
  }
}

#else
#undef MASU_ADD
// Which NaNs and infinities there are.
#define MASU_MAGNITUDE(bits) ((bits) & ~((MASU_BITS)1 << MASU_SIGN_BIT))
#define MASU_INFINITE ((MASU_BITS)MASU_TOP << MASU_FRACTION)
inline uint kind_of(const MASU_BITS a, const MASU_BITS b) {
  const MASU_BITS m = MASU_MAGNITUDE(a);
#if MASU_INPUTS == 1
  if (m < MASU_INFINITE) return 0;
  const uint minus = (uint)(a >> MASU_SIGN_BIT);
  return m > MASU_INFINITE ? MASU_NAN : minus != 0 ? MASU_MINUS_INFINITY : MASU_INFINITY;
#else
  const MASU_BITS n = MASU_MAGNITUDE(b);
  if (m < MASU_INFINITE && n < MASU_INFINITE) return 0;
  const uint minus = (uint)((a ^ b) >> MASU_SIGN_BIT);
  return m > MASU_INFINITE || n > MASU_INFINITE || m == 0 || n == 0 ? MASU_NAN
         : minus != 0                                              ? MASU_MINUS_INFINITY
                                                                   : MASU_INFINITY;
#endif
}
#define MASU_ADD(x_bits, y_bits) seen |= kind_of(x_bits, y_bits);

// Launched where something was not finite.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_classify(MASU_PARAMETERS) {
  const size_t units = (size_t)rows * shares;
  for (size_t unit = get_group_id(0); unit < units; unit += get_num_groups(0)) {
    MASU_UNIT(unit)
    uint seen = 0;
    MASU_ADD_VECTORS(first, vectors)
    MASU_ADD_EDGES
    if (seen != 0) atomic_or(totals + flags_at / 4 + row, seen << 1);
  }
}
#endif

#else  // integers

// A work-item's total: two's complement, in as many words of 64 bits as it can need.
#define MASU_SUM_64 (MASU_INPUTS == 1 ? MASU_VALUE_BYTES < 8 : MASU_VALUE_BYTES < 4)

// Adds a number of three words, the lowest first.
inline void add_wide(ulong *total, const ulong low, const ulong high, const ulong top) {
  total[0] += low;
  const ulong carry = total[0] < low ? 1 : 0;
  total[1] += high;
  total[2] += top + (total[1] < high ? 1 : 0);
  total[1] += carry;
  total[2] += total[1] < carry ? 1 : 0;
}
#if MASU_VALUE_BYTES == 1
#define MASU_INTEGER(bits) (MASU_SIGNED ? (int)as_char((uchar)(bits)) : (int)(bits))
#elif MASU_VALUE_BYTES == 2
#define MASU_INTEGER(bits) (MASU_SIGNED ? (int)as_short((ushort)(bits)) : (int)(bits))
#endif
#if MASU_SIGNED
#define MASU_LONG(bits) ((long)as_int(bits))
#define MASU_EXTENSION(word) ((ulong)(as_long(word) >> 63))
#else
#define MASU_LONG(bits) ((long)(ulong)(bits))
#define MASU_EXTENSION(word) ((ulong)0)
#endif

#if MASU_INPUTS == 1
#if MASU_VALUE_BYTES < 4
#define MASU_ADD(bits, unused) part += MASU_INTEGER(bits);
#elif MASU_VALUE_BYTES == 4
#define MASU_ADD(bits, unused) total[0] += (ulong)MASU_LONG(bits);
#else
#define MASU_ADD(bits, unused)                                              \
  {                                                                         \
    const ulong b = (bits);                                                 \
    add_wide(total, b, MASU_EXTENSION(b), 0);                                  \
  }
#endif
#else
#if MASU_VALUE_BYTES == 1
#define MASU_ADD(x_bits, y_bits) part += MASU_INTEGER(x_bits) * MASU_INTEGER(y_bits);
#elif MASU_VALUE_BYTES == 2
#define MASU_ADD(x_bits, y_bits) total[0] += (ulong)((long)MASU_INTEGER(x_bits) * MASU_INTEGER(y_bits));
#elif MASU_VALUE_BYTES == 4
#define MASU_ADD(x_bits, y_bits)                                            \
  {                                                                         \
    const ulong p = (ulong)(MASU_LONG(x_bits) * MASU_LONG(y_bits));         \
    add_wide(total, p, MASU_EXTENSION(p), 0);                                  \
  }
#else
#define MASU_ADD(x_bits, y_bits)                                                          \
  {                                                                                       \
    const ulong a = (x_bits);                                                             \
    const ulong b = (y_bits);                                                             \
    const ulong p = mul_hi(a, b) - (MASU_EXTENSION(a) & b) - (MASU_EXTENSION(b) & a);     \
    add_wide(total, a * b, p, MASU_EXTENSION(p));                                            \
  }
#endif
#endif

__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void sum_add(MASU_PARAMETERS, __local uint *table) {
  MASU_LOCAL_POINTER(uint, table);
  __local uint *column = table + MASU_COLUMN;
  clear(table);
  barrier(CLK_LOCAL_MEM_FENCE);
  const size_t units = (size_t)rows * shares;
  for (size_t unit = get_group_id(0); unit < units; unit += get_num_groups(0)) {
    MASU_UNIT(unit)
    ulong total[3] = {0, 0, 0};
    // Parts of 32 bits are added to the total before they could overflow.
    const size_t round_vectors = MASU_STEPS * stride;
    for (size_t from = first; from < vectors; from += round_vectors) {
      const size_t last = from - first + round_vectors;
      const size_t end = last < vectors ? last : vectors;
      int part = 0;
      MASU_ADD_VECTORS(from, end)
      total[0] += (ulong)(long)part;
    }
    int part = 0;
    MASU_ADD_EDGES
    total[0] += (ulong)(long)part;
    if (MASU_SUM_64) {
      const bool negative = MASU_SIGNED && as_long(total[0]) < 0;
      total[1] = negative ? ULONG_MAX : 0;
    }
#if MASU_INPUTS == 1 || MASU_VALUE_BYTES < 8
    // Two words hold it: the third is made of the sign.
    total[2] = MASU_SIGNED && as_long(total[1]) < 0 ? ULONG_MAX : 0;
#endif
    MASU_UNROLLED
    for (int d = 0; d < MASU_TABLE_ROWS; ++d) {
      const uint digit = (uint)(total[d / 4] >> (d % 4 * 16)) & 65535u;
      const uint top = d == MASU_TABLE_ROWS - 1 && (digit & 32768u) != 0 ? 65536u : 0;
      atomic_add(column + d * MASU_COLUMNS, digit - top);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    flush(table, totals + totals_at / 4 + row * (2 * MASU_TABLE_ROWS));
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
#endif
