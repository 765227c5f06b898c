// SPDX-License-Identifier: Apache-2.0
// The result of a row, made of its exact totals by the last work-group that adds to them: a sum, a dot product, a mean or a
// norm. No work-group waits for another. Behind sum.cl and sum_number.cl.

// What a result is, beside its dtype.
#define MASU_AS_INTEGER 0u  // a sum or dot product of integers, modulo 2^64
#define MASU_AS_QUOTIENT 1u
#define MASU_AS_ROOT 2u
#define MASU_AS_VARIANCE 3u   // in sum_quick.cl alone
#define MASU_AS_DEVIATION 4u  // its root

// Behind MASU_PARAMETERS and the table. `what`: MASU_AS_...; a float has `bits` bits, `precision` of its mantissa, the lowest
// one of 2^least at least. An integer that does not fit sets the lowest bit of the status word.
#define MASU_FINISH_PARAMETERS                                                                                          \
  , const uint what, const ulong divisor, const uint precision, const int least, const uint bits,                      \
      __global uchar *results, const ulong results_at, __global uchar *status, const ulong status_at,                   \
      __local ulong *digits, __local uint *words, __local uint *kept_totals
#define MASU_FINISH_POINTERS                                       \
  MASU_LOCAL_POINTER(ulong, digits);    /* MASU_WORDS */           \
  MASU_LOCAL_POINTER(uint, words);      /* MASU_WORDS */           \
  MASU_LOCAL_POINTER(uint, kept_totals); /* 2 * MASU_TABLE_ROWS */
// At the end of a unit, when its work-group has added to the totals. Every work-group comes to every barrier: PoCL 3.1 runs
// what stands behind a barrier inside of a condition for all work-items.
#define MASU_FINISH(totals)                                                                                             \
  finish_row(is_last((totals) + flags_at / 4 + rows + row, shares, words),                                              \
             (totals) + totals_at / 4 + row * (2 * MASU_TABLE_ROWS), (totals) + flags_at / 4 + row, what, divisor,      \
             precision, least, bits, results + results_at + row * (bits / 8), (__global uint *)(status + status_at),    \
             digits, words, kept_totals);

// Whether the other work-groups of a row have all been here.
inline bool is_last(__global uint *arrived, const ulong shares, __local uint *told) {
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    told[0] = atomic_inc(arrived) + 1 == shares ? 1u : 0;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  return told[0] != 0;
}

// By one work-item.
inline void store_row(const long above, __global uint *kinds, const uint what, const ulong divisor, const uint precision,
                      const int least, const uint bits, __global uchar *result, __global uint *status,
                      __local uint *words) {
#if !MASU_FLOAT
  if (what == MASU_AS_INTEGER) {
    const ulong low = (ulong)words[MASU_BELOW + 1] << 32 | words[MASU_BELOW];
    const uint sign = MASU_SIGNED && as_long(low) < 0 ? 0xffffffffu : 0;
    bool fits = above == as_int(sign);
    for (int w = MASU_BELOW + 2; w < MASU_WORDS; ++w) fits = fits && words[w] == sign;
    if (!fits) atomic_or(status, 1u);
    *(__global ulong *)result = low;
    return;
  }
#endif
  if (above < 0) negate(words, MASU_WORDS);
  const bool more = divisor > 1 && divide(words, divisor);
  store_result(result, bits,
               finished(words, what == MASU_AS_ROOT, more, above < 0, atomic_or(kinds, 0u), precision, least, bits));
}

inline void finish_row(const bool last, __global uint *totals, __global uint *kinds, const uint what, const ulong divisor,
                       const uint precision, const int least, const uint bits, __global uchar *result,
                       __global uint *status, __local ulong *digits, __local uint *words, __local uint *kept_totals) {
  take_totals(totals, last ? MASU_TABLE_ROWS : 0, kept_totals);
  const long above = make_number(kept_totals, MASU_TABLE_ROWS, MASU_SPACING, MASU_STEP, MASU_BELOW,
                                 last ? MASU_WORDS : 0, digits, words);
  if (last && get_local_id(0) == 0) {
    store_row(above, kinds, what, divisor, precision, least, bits, result, status, words);
  }
}
