// SPDX-License-Identifier: Apache-2.0
// How often each digit follows given digits, in one pass over a piece of the data. After selection_digits.cl and totals.cl.

// Adds to `totals` (64-bit, low word first), for each of the prefixes a table of the digits that follow it: the digit of a
// key is its `width` bits from bit `shift` on, at most SELECT_DIGIT_BITS; the prefix is what is above them. A group sees fewer
// than 2^32 elements.
__kernel MASU_WORK_GROUP(MASU_GROUP) void selection_counts(SELECT_DATA, const uint shift, const uint width,
                                                      const ulong prefix0, const ulong prefix1, const ulong prefix2,
                                                      const ulong prefix3, __global uint *totals,
                                                      __local uint *tables) {
  MASU_LOCAL_POINTER(uint, tables);
  const uint lane = (uint)get_local_id(0);
  const ulong prefixes[4] = {prefix0, prefix1, prefix2, prefix3};
  Wanted wanted;
  wanted.listed = 0;
  wanted.left = count;
  wanted.shift = shift;
  wanted.width = width;
  wanted.some = (1u << MASU_PREFIXES) - 1u;
  wanted.base = 0;
  MASU_PRAGMA_UNROLL
  for (uint n = 0; n < MASU_PREFIXES; ++n) wanted.front[n] = (MASU_BITS)prefixes[n];
  for (uint i = lane; i < SELECT_DIGITS * MASU_PREFIXES * MASU_COPIES; i += MASU_GROUP) tables[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  (void)count_digits(data + byte_offset, wanted, get_global_id(0), get_global_size(0), tables);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = lane; i < SELECT_DIGITS * MASU_PREFIXES; i += MASU_GROUP) {
    uint sum = 0;
    for (uint c = 0; c < MASU_COPIES; ++c) sum += tables[i * MASU_COPIES + c];
    add_total(&totals[2 * i], sum);
  }
}
