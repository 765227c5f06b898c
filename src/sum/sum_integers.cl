// SPDX-License-Identifier: Apache-2.0
// Exact sums and dot products of integers, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After sum.cl.

// A work-item's total: two's complement, in as many words of 64 bits as it can need.
#define SUM_64 (MASU_INPUTS == 1 ? MASU_ELEMENT_BYTES < 8 : MASU_ELEMENT_BYTES < 4)

// Adds a number of three words, the lowest first.
inline void add_wide(ulong *total, const ulong low, const ulong high, const ulong top) {
  total[0] += low;
  const ulong carry = total[0] < low ? 1 : 0;
  total[1] += high;
  total[2] += top + (total[1] < high ? 1 : 0);
  total[1] += carry;
  total[2] += total[1] < carry ? 1 : 0;
}
#if MASU_ELEMENT_BYTES == 1
#define SUM_INTEGER(bits) (MASU_SIGNED ? (int)as_char((uchar)(bits)) : (int)(bits))
#elif MASU_ELEMENT_BYTES == 2
#define SUM_INTEGER(bits) (MASU_SIGNED ? (int)as_short((ushort)(bits)) : (int)(bits))
#endif
#if MASU_SIGNED
#define SUM_LONG(bits) ((long)as_int(bits))
#define SUM_EXTENSION(word) ((ulong)(as_long(word) >> 63))
#else
#define SUM_LONG(bits) ((long)(ulong)(bits))
#define SUM_EXTENSION(word) ((ulong)0)
#endif

#if MASU_INPUTS == 1
#if MASU_ELEMENT_BYTES < 4
#define SUM_ADD(bits, unused) part += SUM_INTEGER(bits);
#elif MASU_ELEMENT_BYTES == 4
#define SUM_ADD(bits, unused) total[0] += (ulong)SUM_LONG(bits);
#else
#define SUM_ADD(bits, unused)                                               \
  {                                                                         \
    const ulong b = (bits);                                                 \
    add_wide(total, b, SUM_EXTENSION(b), 0);                                   \
  }
#endif
#else
#if MASU_ELEMENT_BYTES == 1
#define SUM_ADD(x_bits, y_bits) part += SUM_INTEGER(x_bits) * SUM_INTEGER(y_bits);
#elif MASU_ELEMENT_BYTES == 2
#define SUM_ADD(x_bits, y_bits) total[0] += (ulong)((long)SUM_INTEGER(x_bits) * SUM_INTEGER(y_bits));
#elif MASU_ELEMENT_BYTES == 4
#define SUM_ADD(x_bits, y_bits)                                             \
  {                                                                         \
    const ulong p = (ulong)(SUM_LONG(x_bits) * SUM_LONG(y_bits));           \
    add_wide(total, p, SUM_EXTENSION(p), 0);                                   \
  }
#else
#define SUM_ADD(x_bits, y_bits)                                                           \
  {                                                                                       \
    const ulong a = (x_bits);                                                             \
    const ulong b = (y_bits);                                                             \
    const ulong p = mul_hi(a, b) - (SUM_EXTENSION(a) & b) - (SUM_EXTENSION(b) & a);       \
    add_wide(total, a * b, p, SUM_EXTENSION(p));                                             \
  }
#endif
#endif

// Adds this group's share of a row, unit `unit`, to the row's totals; `kinds` is that of floats.
// Not MASU_INLINE: what PoCL 3.1 makes of it then adds nothing to the totals.
inline void add_unit(__global const uchar *x, const ulong x_at, __global const uchar *y, const ulong y_at,
                     const ulong count, const ulong rows, const ulong columns, const ulong shares, const size_t unit,
                     __local uint *table, __global uint *row_totals, __global uint *kinds) {
  __local uint *column = table + SUM_COLUMN;
  SUM_UNIT(unit)
  ulong total[3] = {0, 0, 0};
  // Parts of 32 bits are added to the total before they could overflow.
  const size_t round_vectors = MASU_STEPS * stride;
  for (size_t from = first; from < vectors; from += round_vectors) {
    const size_t last = from - first + round_vectors;
    const size_t end = last < vectors ? last : vectors;
    int part = 0;
    SUM_ADD_VECTORS(from, end)
    total[0] += (ulong)(long)part;
  }
  int part = 0;
  SUM_ADD_EDGES
  total[0] += (ulong)(long)part;
  if (SUM_64) {
    const bool negative = MASU_SIGNED && as_long(total[0]) < 0;
    total[1] = negative ? ULONG_MAX : 0;
  }
#if MASU_INPUTS == 1 || MASU_ELEMENT_BYTES < 8
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
  flush(table, row_totals);
  barrier(CLK_LOCAL_MEM_FENCE);
}
