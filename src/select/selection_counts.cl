// SPDX-License-Identifier: Apache-2.0
// How often each digit follows given digits, in one pass over a piece of the data. After selection.cl and totals.cl.
// kernels.md has the parameters.

// Adds to `totals` (64-bit, low word first), for each of the prefixes a table of the digits that follow it: the digit of a
// key is its `width` bits from bit `shift` on, at most SELECT_DIGIT_BITS; the prefix is what is above them. A group sees fewer
// than 2^32 elements.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_counts(SELECT_DATA, const uint shift, const uint width,
                                                      const ulong prefix0, const ulong prefix1, const ulong prefix2,
                                                      const ulong prefix3, __global uint *totals,
                                                      __local uint *tables) {
  MASU_LOCAL_POINTER(uint, tables);
  __global const uchar *bytes = data + byte_offset;
  const uint lane = (uint)get_local_id(0);
  const uint copy = lane % MASU_COPIES;
  for (uint i = lane; i < SELECT_DIGITS * MASU_PREFIXES * MASU_COPIES; i += MASU_GROUP) tables[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint gap = gap_of(bytes);
  const ulong vectors = ((ulong)gap + count + MASU_PER_VECTOR - 1) / MASU_PER_VECTOR;
  const ulong stride = get_global_size(0);
  for (ulong first = get_global_id(0); first < vectors; first += MASU_UNROLL * stride) {
    uint4 loaded[MASU_UNROLL];
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) {
      if (first + k * stride < vectors) loaded[k] = load_vector(bytes, gap, count, first + k * stride);
    }
    MASU_UNROLLED
    for (int k = 0; k < MASU_UNROLL; ++k) {
      if (first + k * stride >= vectors) break;
      const uint4 v = loaded[k];
      const uint e = (uint)((first + k * stride) * MASU_PER_VECTOR) - gap;
#define SELECT_COUNT_FOR(n) \
  if (front >> width == prefix##n) atomic_inc(&tables[((n)*SELECT_DIGITS + digit) * MASU_COPIES + copy]);
#define MASU_EACH(bits, number)                               \
  if (e + number < count) {                                   \
    const ulong front = (ulong)ordered_key(bits) >> shift;        \
    const uint digit = (uint)front & ((1u << width) - 1);     \
    SELECT_COUNT_FOR(0) SELECT_COUNT_FOR_1 SELECT_COUNT_FOR_2 \
  }
#if MASU_PREFIXES > 1
#define SELECT_COUNT_FOR_1 else SELECT_COUNT_FOR(1)
#else
#define SELECT_COUNT_FOR_1
#endif
#if MASU_PREFIXES > 2
#define SELECT_COUNT_FOR_2 else SELECT_COUNT_FOR(2) else SELECT_COUNT_FOR(3)
#else
#define SELECT_COUNT_FOR_2
#endif
      MASU_EACH_OF(v)
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = lane; i < SELECT_DIGITS * MASU_PREFIXES; i += MASU_GROUP) {
    uint sum = 0;
    for (uint c = 0; c < MASU_COPIES; ++c) sum += tables[i * MASU_COPIES + c];
    add_total(&totals[2 * i], sum);
  }
}
