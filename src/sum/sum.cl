// SPDX-License-Identifier: Apache-2.0
// Exact sums and dot products. Floats: a table of 32-bit counters in local memory, a row for each place of a digit of 16
// bits, a column for each lane, so that lanes meet no other's bank. A value ±m * 2^p is shifted by the low bits of p,
// cut into digits of its two's complement, and each is added in the row that the high bits of p name. Before a counter
// can overflow the table is added to 64-bit totals. Integers: each work-item adds in registers, and its total goes the
// same way. Totals are two words, low one first; the host adds them up and rounds, or sum_finish.cl does.
//
// After elements.cl and totals.cl. All `rows` rows have `count` elements each; `shares` work-groups share a row.
//
// kernels.md has the parameters, which sum_plan.cpp gives.

#define SUM_PLACES_MASK ((1u << MASU_SPACING) - 1u)
#define MASU_NAN 1u
#define MASU_INFINITY 2u
#define MASU_MINUS_INFINITY 4u

// The vector from element `first` on, as four words; `aligned`: at a multiple of 16 bytes.
inline void load(uint *words, __global const uchar *bytes, const size_t first, const bool aligned) {
  __global const uchar *from = bytes + first * MASU_ELEMENT_BYTES;
  const uint4 v = aligned ? masu_load_streaming((__global const uint4 *)from) : load_elements(from);
  words_of_vector(v, words);
}
// One element.
MASU_INLINE void load_one(uint *words, __global const uchar *bytes, const size_t i) {
  const MASU_BITS bits = element_at(bytes, i);
  words[0] = (uint)bits;
#if MASU_ELEMENT_BYTES == 8
  words[1] = (uint)(bits >> 32);
#endif
}

// What the kernels are given. y is x again unless MASU_INPUTS is 2. `columns`: of the matrices, with MASU_BY_COLUMN.
// After the totals: for each row the kinds of what is not finite, then the work-groups that have been there.
#define SUM_PARAMETERS                                                                                              \
  __global const uchar *restrict x, const ulong x_at, __global const uchar *restrict y, const ulong y_at,           \
      const ulong count, const ulong rows, const ulong columns, const ulong shares, __global uint *totals,          \
      const ulong totals_at, const ulong flags_at

// The row of a unit, whose division takes longer than adding few elements.
#define SUM_ROW_OF(unit) (shares == 1 ? (size_t)(unit) : rows == 1 ? (size_t)0 : (size_t)((unit) / shares))
// That row and this group's share of it: names for what follows.
#define SUM_UNIT(unit)                                                                                 \
  const size_t row = SUM_ROW_OF(unit);                                                                 \
  const size_t stride = (size_t)shares * MASU_GROUP;                                                   \
  const size_t first = ((unit) - row * shares) * MASU_GROUP + get_local_id(0);                         \
  SUM_ROW
// The same of a row of which this work-item takes each vector number `stride` from number `first` on. Elements lie SUM_BETWEEN
// apart; a load brings SUM_LOADED of them.
#if MASU_BY_COLUMN
#define SUM_LOADED 1
#define SUM_BETWEEN (size_t)columns
// The matrix of a row: a division of 64 bits takes longer than adding few elements.
MASU_INLINE size_t matrix_of(const size_t row, const ulong rows, const ulong columns) {
  if (rows == columns) return 0;
  if (columns == 1) return row;
  return rows >> 32 == 0 ? (uint)row / (uint)columns : row / columns;
}
#define SUM_BEGIN_OF(row) (matrix_of(row, rows, columns) * (count - 1) * columns + (row))
#define SUM_ROW_AT(row) (x + x_at + SUM_BEGIN_OF(row) * MASU_ELEMENT_BYTES)
// Where the running sum after element `i` of a row goes.
#define SUM_PREFIX_AT(row, i) (results + results_at + (SUM_BEGIN_OF(row) + (i) * SUM_BETWEEN) * (bits / 8))
#define SUM_ROW                                                                                        \
  __global const uchar *xs = SUM_ROW_AT(row);                                                          \
  const size_t head = 0;                                                                               \
  const size_t vectors = (size_t)count;
#define SUM_LOAD_X(k, element) load_one(all_x[k], xs, (element) * SUM_BETWEEN);
#else
#define SUM_LOADED MASU_PER_VECTOR
#define SUM_BETWEEN 1
#define SUM_ROW_AT(row) (x + x_at + (row) * count * MASU_ELEMENT_BYTES)
#define SUM_ROW                                                                                        \
  __global const uchar *xs = SUM_ROW_AT(row);                                                            \
  const size_t misaligned = (size_t)xs & 15;                                                           \
  const size_t before = misaligned == 0 ? 0 : (16 - misaligned) / MASU_ELEMENT_BYTES;                    \
  const size_t head = before < count ? before : (size_t)count;                                         \
  const size_t vectors = (size_t)(count - head) / MASU_PER_VECTOR;                                     \
  const size_t edges = (size_t)count - vectors * MASU_PER_VECTOR;                                      \
  SUM_ROW_OF_Y
#define SUM_LOAD_X(k, element) load(all_x[k], xs, element, true);
#endif

#if MASU_INPUTS == 2
#define SUM_ROW_OF_Y                                                                                     \
  __global const uchar *ys = y + y_at + row * count * MASU_ELEMENT_BYTES;                                \
  const bool aligned = (((size_t)ys + head * MASU_ELEMENT_BYTES) & 15) == 0;
#define SUM_ALL_Y(n) uint all_y[n][4];
#define SUM_LOAD_Y(k, element) load(all_y[k], ys, element, aligned);
#define SUM_Y(k, e) element_of(all_y[k], e)
#define SUM_ONE_Y(element) element_at(ys, element)
#else
#define SUM_ROW_OF_Y
#define SUM_ALL_Y(n)
#define SUM_LOAD_Y(k, element)
#if MASU_BOTH
// The products of values and the least number that there is: they count from the lowest bit of squares.
#define SUM_Y(k, e) (y_at != 0 ? (MASU_BITS)1 : element_of(all_x[k], e))
#define SUM_ONE_Y(element) (y_at != 0 ? (MASU_BITS)1 : one_x)
#else
#define SUM_Y(k, e) element_of(all_x[k], e)
#define SUM_ONE_Y(element) one_x
#endif
#endif

// Hands the elements of `n` vectors, `stride` apart, to SUM_ADD(x's bits, y's bits): all loads come first. `is_there`: which
// vectors there are, the first one always.
#define SUM_ADD_LOADS(n, is_there)                                                                      \
  {                                                                                                     \
    uint all_x[n][4];                                                                                   \
    SUM_ALL_Y(n)                                                                                        \
    MASU_UNROLLED                                                                                       \
    for (int k = 0; k < (n); ++k) {                                                                     \
      const size_t element = head + (is_there ? i + k * stride : i) * SUM_LOADED;                       \
      SUM_LOAD_X(k, element)                                                                            \
      SUM_LOAD_Y(k, element)                                                                            \
    }                                                                                                   \
    SUM_START_LOADS                                                                                     \
    MASU_UNROLLED                                                                                       \
    for (int k = 0; k < (n); ++k) {                                                                     \
      if (is_there) {                                                                                   \
        SUM_ADD_VECTOR(k)                                                                               \
      }                                                                                                 \
    }                                                                                                   \
    SUM_END_LOADS                                                                                       \
  }
// Before and after the elements of these loads.
#define SUM_START_LOADS
#define SUM_END_LOADS
// The elements of vector number k of those.
#define SUM_ADD_VECTOR(k)                             \
  MASU_UNROLLED                                       \
  for (int e = 0; e < SUM_LOADED; ++e) {              \
    SUM_ADD(element_of(all_x[k], e), SUM_Y(k, e))     \
  }
// The elements of the vectors from `from` on to before `end`, this work-item's share of them.
#if MASU_UNROLL == 1
#define SUM_ADD_VECTORS(from, end)  \
  for (size_t i = (from); i < (end); i += stride) SUM_ADD_LOADS(1, true)
#else
#if MASU_REST == MASU_UNROLL
#define SUM_ADD_REST(end) if (i < (end)) SUM_ADD_LOADS(MASU_UNROLL, i + k * stride < (end))
#else
#define SUM_ADD_REST(end)  \
  for (; i < (end); i += MASU_REST * stride) SUM_ADD_LOADS(MASU_REST, i + k * stride < (end))
#endif
#define SUM_ADD_VECTORS(from, end)                                                                                \
  {                                                                                                               \
    size_t i = (from);                                                                                            \
    for (; i + (MASU_UNROLL - 1) * stride < (end); i += MASU_UNROLL * stride) SUM_ADD_LOADS(MASU_UNROLL, true)    \
    SUM_ADD_REST(end)                                                                                             \
  }
#endif
// The same for what is rare, where rows are tried otherwise first: less code.
#if MASU_QUICK
#define SUM_ADD_RARELY(from, end)  \
  MASU_ROLLED                      \
  for (size_t i = (from); i < (end); i += 2 * stride) SUM_ADD_LOADS(2, i + k * stride < (end))
#else
#define SUM_ADD_RARELY(from, end) SUM_ADD_VECTORS(from, end)
#endif
// The elements before and after the vectors, and with MASU_ADDEND the row's addend, whose bits are y_at. To sums of integers,
// which have 64 bits more for it, SUM_ADD_ADDEND adds it.
#if MASU_ADDEND && !MASU_FLOAT
#define SUM_ADDENDS 0
#else
#define SUM_ADDENDS MASU_ADDEND
#define SUM_ADD_ADDEND
#endif
#if MASU_BY_COLUMN && SUM_ADDENDS
#define SUM_ADD_EDGES                                              \
  if (first == 0) {                                                \
    SUM_ADD((MASU_BITS)y_at, (MASU_BITS)y_at)                      \
  }                                                                \
  SUM_ADD_ADDEND
#elif MASU_BY_COLUMN
#define SUM_ADD_EDGES SUM_ADD_ADDEND
#else
#define SUM_ADD_EDGES                                                                                 \
  for (size_t e = first; e < edges + SUM_ADDENDS; e += stride) {                                      \
    const size_t element = e < head ? e : e + vectors * MASU_PER_VECTOR;                              \
    const MASU_BITS one_x = SUM_ADDENDS && e == edges ? (MASU_BITS)y_at : element_at(xs, element);    \
    SUM_ADD(one_x, SUM_ONE_Y(element))                                                                \
  }                                                                                                   \
  SUM_ADD_ADDEND
#endif

// This work-item's column. `rows` is below 2^40; as compilers do not know that, they leave the column in one register and
// find a digit's counter by a constant from the cell, not by bits of an index put together anew.
#define SUM_COLUMN ((size_t)(get_local_id(0) & (MASU_COLUMNS - 1)) + (size_t)(rows >> 40))

inline void clear(__local uint *table) {
  for (uint i = (uint)get_local_id(0); i < MASU_TABLE_ROWS * MASU_COLUMNS; i += MASU_GROUP) table[i] = 0;
}

// Values of at most 31 bits that need two digits have rows of their own for both, and the lower row gets all of a value,
// modulo 2^32: less what the upper row counts, times 2^16, it is the sum of the lower digits.
#define SUM_PAIRED (MASU_FLOAT && MASU_ELEMENT_BYTES < 8 && (MASU_ELEMENT_BYTES == 4) == (MASU_INPUTS == 1))

// Adds every row of the table to its total, and clears it. The columns are gone through from a place that differs from
// lane to lane, so that lanes do not meet in a bank.
inline void flush(__local uint *table, __global uint *totals) {
#if SUM_PAIRED
  for (uint pair = (uint)get_local_id(0); pair < MASU_TABLE_ROWS / 2; pair += MASU_GROUP) {
    long low = 0;
    long high = 0;
    for (uint c = 0; c < MASU_COLUMNS; ++c) {
      const uint cell = 2 * pair * MASU_COLUMNS + ((c + pair) & (MASU_COLUMNS - 1));
      const uint upper = table[cell + MASU_COLUMNS];
      low += table[cell] - (upper << 16);
      high += as_int(upper);
      table[cell] = 0;
      table[cell + MASU_COLUMNS] = 0;
    }
    if (low != 0) add_total(totals + 4 * pair, (ulong)low);
    if (high != 0) add_total(totals + 4 * pair + 2, (ulong)high);
  }
#else
  for (uint r = (uint)get_local_id(0); r < MASU_TABLE_ROWS; r += MASU_GROUP) {
    long sum = 0;
    for (uint c = 0; c < MASU_COLUMNS; ++c) {
      const uint cell = r * MASU_COLUMNS + ((c + r) & (MASU_COLUMNS - 1));
      sum += as_int(table[cell]);
      table[cell] = 0;
    }
    if (sum != 0) add_total(totals + 2 * r, (ulong)sum);
  }
#endif
}

// The binary logarithms of MASU_GROUP and MASU_SHUFFLE_LANES, powers of two.
#define SUM_GROUP_BITS (31u - (uint)clz((uint)MASU_GROUP))
#define SUM_LANE_BITS (31u - (uint)clz((uint)MASU_SHUFFLE_LANES))

// The work-items of a team are neighbours. By column the teams are: so neighbours read neighbours.
#if MASU_BY_COLUMN
#define SUM_TEAM(me, team_bits) ((me) & ((MASU_GROUP >> (team_bits)) - 1u))
#define SUM_TEAM_LANE(me, team_bits) ((me) >> (SUM_GROUP_BITS - (team_bits)))
#define SUM_TEAM_STEP(team_bits) ((uint)MASU_GROUP >> (team_bits))
#else
#define SUM_TEAM(me, team_bits) ((me) >> (team_bits))
#define SUM_TEAM_LANE(me, team_bits) ((me) & ((1u << (team_bits)) - 1u))
#define SUM_TEAM_STEP(team_bits) 1u
#endif
