// SPDX-License-Identifier: Apache-2.0
// Exact numbers in registers, of few words. Sums of floats below f64, for rows that one work-group ends and for which no
// bound proves the rounding; sum_narrow.cl has those of integers. Rounded once, by the rules of sum_number.cl. Included
// after sum_certain.cl, before sum_narrow.cl and sum_quick.cl.

// Hands this work-item's elements of a row that is read again to SUM_ADD_AGAIN, so many in flight: one where its running
// sum may take its place. They are added by one copy of the code: each takes the first one's place, as registers have no index.
#define SUM_AGAIN (MASU_RUNNING ? 1 : 8)
#define SUM_READ_AGAIN                                                                               \
  for (size_t e = lane; e < count; e += SUM_AGAIN * stride) {                                        \
    MASU_BITS held[SUM_AGAIN];                                                                       \
    MASU_UNROLLED                                                                                    \
    for (int k = 0; k < SUM_AGAIN; ++k) {                                                            \
      held[k] = element_at(xs, (e + k * stride < count ? e + k * stride : e) * SUM_BETWEEN);         \
    }                                                                                                \
    MASU_ROLLED                                                                                      \
    for (int k = 0; k < SUM_AGAIN && e + k * stride < count; ++k) {                                  \
      SUM_ADD_AGAIN(held[0])                                                                         \
      MASU_UNROLLED                                                                                  \
      for (int i = 0; i + 1 < SUM_AGAIN; ++i) held[i] = held[i + 1];                                 \
    }                                                                                                \
  }

#define SUM_IN_REGISTERS (MASU_QUICK && MASU_FLOAT && MASU_ELEMENT_BYTES < 8 && MASU_INPUTS == 1)
#define SUM_IN_FEW_WORDS (MASU_QUICK && !MASU_FLOAT && MASU_INPUTS != 1)
#if MASU_FLOAT
// Bits of all elements, 40 for their number, and a sign.
#define SUM_EXACT_WORDS (((1 << MASU_EXPONENT_BITS) + MASU_FRACTION + 103) / 64)
#define SUM_REGISTER_WORDS (2 * SUM_EXACT_WORDS)
#define SUM_DIVIDED_BITS 16  // at a time: divisors have up to 48
#else
#define SUM_REGISTER_WORDS 5
#define SUM_DIVIDED_BITS 32  // divisors have as many
#endif

#if SUM_IN_REGISTERS || SUM_IN_FEW_WORDS
// Shifts the highest bit to the top; by how much. Zero stays.
MASU_INLINE int to_the_top(uint* words) {
  int shift = 0;
  for (int moves = 1; moves < SUM_REGISTER_WORDS && words[SUM_REGISTER_WORDS - 1] == 0; ++moves) {
    MASU_UNROLLED
    for (int w = SUM_REGISTER_WORDS - 1; w > 0; --w) words[w] = words[w - 1];
    words[0] = 0;
    shift += 32;
  }
  const int bits = words[SUM_REGISTER_WORDS - 1] == 0 ? 0 : (int)clz(words[SUM_REGISTER_WORDS - 1]);
  if (bits == 0) return shift;
  MASU_UNROLLED
  for (int w = SUM_REGISTER_WORDS - 1; w > 0; --w) words[w] = words[w] << bits | words[w - 1] >> (32 - bits);
  words[0] <<= bits;
  return shift + bits;
}

// words /= divisor, rounded down. Whether something is left. All words are divided by one copy of the code: each makes room for the
// next one at the top, and its quotient stands at the bottom.
MASU_INLINE bool divide_words(uint* words, const ulong divisor) {
  ulong rest = 0;
  MASU_ROLLED
  for (int turn = 0; turn < SUM_REGISTER_WORDS; ++turn) {
    uint quotient = 0;
    MASU_ROLLED
    for (int at = 32 - SUM_DIVIDED_BITS; at >= 0; at -= SUM_DIVIDED_BITS) {
      const ulong dividend = rest << SUM_DIVIDED_BITS | (words[SUM_REGISTER_WORDS - 1] >> at & 0xffffffffu >> (32 - SUM_DIVIDED_BITS));
      const ulong part = dividend / divisor;
      rest = dividend - part * divisor;
      quotient |= (uint)part << at;
    }
    MASU_UNROLLED
    for (int w = SUM_REGISTER_WORDS - 1; w > 0; --w) words[w] = words[w - 1];
    words[0] = quotient;
  }
  return rest != 0;
}

// The number or its root, words[0] standing for 2^lowest, in a format as in finished(). Takes words' content.
MASU_INLINE ulong finished_words(uint* words, int lowest, bool more, const bool root, const uint precision,
                                 const int least, const uint bits) {
  lowest += 32 * (SUM_REGISTER_WORDS - 4) - to_the_top(words);
  if (words[SUM_REGISTER_WORDS - 1] == 0) return 0;
  ulong upper = (ulong)words[SUM_REGISTER_WORDS - 1] << 32 | words[SUM_REGISTER_WORDS - 2];
  ulong lower = (ulong)words[SUM_REGISTER_WORDS - 3] << 32 | words[SUM_REGISTER_WORDS - 4];
  MASU_UNROLLED
  for (int w = 0; w < SUM_REGISTER_WORDS - 4; ++w) more = more || words[w] != 0;
  if (root) {  // of an even power of two
    const uint odd = (uint)lowest & 1;
    more = more || (lower & odd) != 0;
    lower = lower >> odd | (upper << 63) * odd;
    upper >>= odd;
    lowest += (int)odd;
    upper = root_of(upper, lower, &more);
    lowest /= 2;
  } else {
    more = more || lower != 0;
    lowest += 64;
  }
  return rounded_top(upper, more, lowest, precision, least, bits);
}
#endif

#if SUM_IN_REGISTERS
// The exponent of the lowest bit.
#define SUM_EXACT_LOWEST (2 - (1 << (MASU_EXPONENT_BITS - 1)) - MASU_FRACTION)

// number += a finite element.
MASU_INLINE void add_exact(ulong *number, const MASU_BITS bits) {
  const uint magnitude = SUM_MAGNITUDE(bits);
  const uint place = SUM_PLACE(magnitude);
  const ulong mantissa = SUM_MANTISSA(magnitude, place);
  const int word = (int)(place / 64);
  const uint shift = place % 64;
  const ulong minus = 0 - (ulong)(bits >> SUM_SIGN_BIT);
  const ulong low = mantissa << shift ^ minus;
  const ulong high = mantissa >> 1 >> (63 - shift) ^ minus;
  ulong carry = 0;
  MASU_UNROLLED
  for (int w = 0; w < SUM_EXACT_WORDS; ++w) {
    const ulong piece = w < word ? 0 : w == word ? low : w == word + 1 ? high : minus;
    carry |= w == word ? minus & 1 : 0;
    const ulong sum = number[w] + piece;
    number[w] = sum + carry;
    carry = (sum < piece ? 1 : 0) | (number[w] < carry ? 1 : 0);
  }
}

// The number divided by `divisor`, rounded once. `kinds`: of what was not finite.
inline ulong rounded_exact(const ulong *number, const uint kinds, const ulong divisor, const uint precision, const int least,
                           const uint bits) {
  if (kinds != 0) return special_bits(kinds, precision, bits);
  const bool negative = number[SUM_EXACT_WORDS - 1] >> 63 != 0;
  uint words[SUM_REGISTER_WORDS];
  ulong add = negative ? 1 : 0;
  MASU_UNROLLED
  for (int w = 0; w < SUM_EXACT_WORDS; ++w) {
    const ulong word = (negative ? ~number[w] : number[w]) + add;
    add = word < add ? 1 : 0;
    words[2 * w] = (uint)word;
    words[2 * w + 1] = (uint)(word >> 32);
  }
  // From the top on the quotient has bits enough.
  const int lowest = SUM_EXACT_LOWEST - to_the_top(words);
  const bool more = divisor > 1 && divide_words(words, divisor);
  const ulong found = finished_words(words, lowest, more, false, precision, least, bits);
  return negative && found != 0 ? found | (ulong)1 << (bits - 1) : found;
}

// What the work-items of each team have, together, in the first of them; parts: MASU_GROUP words.
inline void join_exact(ulong *number, uint *kinds, const uint team_bits, __local ulong *parts) {
  const uint me = (uint)get_local_id(0);
  const uint lane = SUM_TEAM_LANE(me, team_bits);
  for (uint distance = 1u << team_bits >> 1; distance != 0; distance >>= 1) {
    const uint other = me + (lane < distance ? distance * SUM_TEAM_STEP(team_bits) : 0);
    ulong carry = 0;
    for (int w = 0; w <= SUM_EXACT_WORDS; ++w) {
      parts[me] = w < SUM_EXACT_WORDS ? number[w] : *kinds;
      barrier(CLK_LOCAL_MEM_FENCE);
      const ulong piece = lane < distance ? parts[other] : 0;
      if (w == SUM_EXACT_WORDS) *kinds |= (uint)piece;
      else {
        const ulong sum = number[w] + piece;
        number[w] = sum + carry;
        carry = (sum < piece ? 1 : 0) | (number[w] < carry ? 1 : 0);
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
}

#define SUM_ADD_AGAIN(bits)                   \
  {                                           \
    const uint kind = kind_of(bits, bits);    \
    kinds |= kind;                            \
    if (kind == 0) add_exact(number, bits);   \
    SUM_ROUND_AGAIN                           \
  }
#if MASU_RUNNING
#define SUM_ROUND_AGAIN                                          \
  if (mine < rows) {                                             \
    store_result(SUM_PREFIX_AT(row, e), bits,                    \
                 rounded_exact(number, kinds, divisor, precision, least, bits)); \
  }
#else
#define SUM_ROUND_AGAIN
#endif
// The teams' rows, one each, or none. All work-items of the group come here.
inline void add_in_registers(SUM_PARAMETERS, SUM_RESULT_PARAMETERS, const size_t mine, const uint team_bits,
                             __local ulong *parts) {
  const uint me = (uint)get_local_id(0);
  const size_t lane = SUM_TEAM_LANE(me, team_bits);
  ulong number[SUM_EXACT_WORDS] = {0};
  uint kinds = 0;
  const size_t row = mine < rows ? mine : (size_t)rows - 1;
  __global const uchar *xs = SUM_ROW_AT(row);
  const size_t stride = (size_t)1 << team_bits;
  SUM_READ_AGAIN
#if MASU_ADDEND
  for (size_t e = lane; e < 1; ++e) SUM_ADD_AGAIN((MASU_BITS)y_at)
#endif
  join_exact(number, &kinds, team_bits, parts);
  if (MASU_RUNNING == 0 && lane == 0 && mine < rows) {
    store_result(results + results_at + mine * (bits / 8), bits,
                 rounded_exact(number, kinds, divisor, precision, least, bits));
  }
}
#endif
