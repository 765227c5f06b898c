// SPDX-License-Identifier: Apache-2.0
// Exact sums and dot products of integers, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). After sum.cl.

// A work-item's total is in two's complement, in words of 64 bits, the lowest first: so many of numbers, and of products.
#define SUM_NUMBER_WORDS (MASU_ELEMENT_BYTES < 8 ? 1 : 2)
#define SUM_PRODUCT_WORDS (MASU_ELEMENT_BYTES < 4 ? 1 : MASU_ELEMENT_BYTES < 8 ? 2 : 3)

#if MASU_SIGNED
#define SUM_EXTENSION(word) ((ulong)(as_long(word) >> 63))
#else
#define SUM_EXTENSION(word) ((ulong)0)
#endif
// Adds a number of three words.
inline void add_wide(ulong *total, const ulong low, const ulong high, const ulong top) {
  total[0] += low;
  const ulong carry = total[0] < low ? 1 : 0;
  total[1] += high;
  total[2] += top + (total[1] < high ? 1 : 0);
  total[1] += carry;
  total[2] += total[1] < carry ? 1 : 0;
}
// Adds one word to two.
MASU_INLINE void add_word(ulong *total, const ulong word) {
  total[0] += word;
  total[1] += SUM_EXTENSION(word) + (total[0] < word ? 1 : 0);
}
// The words of a total that come after those in use.
inline void extend(ulong *total, const int used, const int words) {
  const ulong sign = MASU_SIGNED && as_long(total[used - 1]) < 0 ? ULONG_MAX : 0;
  for (int w = used; w < words; ++w) total[w] = sign;
}

#if MASU_ELEMENT_BYTES == 1
#define SUM_LONG(bits) (MASU_SIGNED ? (long)as_char((uchar)(bits)) : (long)(bits))
#elif MASU_ELEMENT_BYTES == 2
#define SUM_LONG(bits) (MASU_SIGNED ? (long)as_short((ushort)(bits)) : (long)(bits))
#elif MASU_ELEMENT_BYTES == 4
#define SUM_LONG(bits) (MASU_SIGNED ? (long)as_int(bits) : (long)(bits))
#endif
// Add an element, or the product of two, to a total.
#if MASU_ELEMENT_BYTES == 8
MASU_INLINE void add_product(ulong *total, const ulong a, const ulong b) {
  const ulong high = mul_hi(a, b) - (SUM_EXTENSION(a) & b) - (SUM_EXTENSION(b) & a);
  add_wide(total, a * b, high, SUM_EXTENSION(high));
}
#define SUM_ADD_NUMBER(total, bits) add_word(total, bits);
#define SUM_ADD_PRODUCT(total, x_bits, y_bits) add_product(total, x_bits, y_bits);
#else
#define SUM_ADD_NUMBER(total, bits) total[0] += (ulong)SUM_LONG(bits);
#if MASU_ELEMENT_BYTES == 4
#define SUM_ADD_PRODUCT(total, x_bits, y_bits) add_word(total, (ulong)(SUM_LONG(x_bits) * SUM_LONG(y_bits)));
#else
#define SUM_ADD_PRODUCT(total, x_bits, y_bits) total[0] += (ulong)(SUM_LONG(x_bits) * SUM_LONG(y_bits));
#endif
#endif
// Those of a sum.
#define SUM_TOTAL_WORDS (MASU_ADDEND ? 2 : SUM_NUMBER_WORDS)
#if MASU_ADDEND
#define SUM_ADD_ADDEND                     \
  extend(total, SUM_NUMBER_WORDS, 2);      \
  if (first == 0) add_word(total, y_at);
#endif
#if MASU_INPUTS == 1
#define SUM_ADD(bits, unused) SUM_ADD_NUMBER(total, bits)
#else
#define SUM_ADD(x_bits, y_bits) SUM_ADD_PRODUCT(total, x_bits, y_bits)
#endif

// Adds this group's share of a row, unit `unit`, to the row's totals; `kinds` is that of floats.
// Not MASU_INLINE: what PoCL 3.1 makes of it then adds nothing to the totals.
inline void add_unit(__global const uchar *x, const ulong x_at, __global const uchar *y, const ulong y_at,
                     const ulong count, const ulong rows, const ulong columns, const ulong shares, const size_t unit,
                     __local uint *table, __global uint *row_totals, __global uint *kinds) {
  __local uint *column = table + SUM_COLUMN;
  SUM_UNIT(unit)
  ulong total[3] = {0, 0, 0};
  SUM_ADD_RARELY(first, vectors)
  SUM_ADD_EDGES
  extend(total, MASU_INPUTS == 1 ? SUM_TOTAL_WORDS : SUM_PRODUCT_WORDS, 3);
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
