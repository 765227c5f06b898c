// SPDX-License-Identifier: Apache-2.0
// Exact sums of floats below f64 in registers: a few words of 64 bits hold any sum. For rows that one work-group ends and
// for which no bound proves the rounding. Included after sum_certain.cl, before sum_quick.cl.

// Hands this work-item's elements of a row that is read again to SUM_ADD_AGAIN, so many in flight.
#define SUM_AGAIN 8
#define SUM_READ_AGAIN                                                                               \
  for (size_t e = lane; e < count; e += SUM_AGAIN * stride) {                                        \
    MASU_BITS held[SUM_AGAIN];                                                                       \
    MASU_UNROLLED                                                                                    \
    for (int k = 0; k < SUM_AGAIN; ++k) {                                                            \
      held[k] = element_at(xs, (e + k * stride < count ? e + k * stride : e) * SUM_BETWEEN);         \
    }                                                                                                \
    MASU_UNROLLED                                                                                    \
    for (int k = 0; k < SUM_AGAIN; ++k) {                                                            \
      if (e + k * stride < count) {                                                                  \
        SUM_ADD_AGAIN(held[k])                                                                       \
      }                                                                                              \
    }                                                                                                \
  }

#define SUM_IN_REGISTERS (MASU_QUICK && MASU_FLOAT && MASU_ELEMENT_BYTES < 8 && MASU_INPUTS == 1)
#if SUM_IN_REGISTERS
// Bits of all elements, 40 for their number, and a sign.
#define SUM_EXACT_WORDS (((1 << MASU_EXPONENT_BITS) + MASU_FRACTION + 103) / 64)
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

// The number divided by `divisor`, rounded once. Takes its content. `kinds`: of what was not finite.
inline ulong rounded_exact(ulong *number, const uint kinds, const ulong divisor, const uint precision, const int least,
                           const uint bits) {
  if (kinds != 0) return special_bits(kinds, precision, bits);
  const bool negative = number[SUM_EXACT_WORDS - 1] >> 63 != 0;
  ulong add = negative ? 1 : 0;
  MASU_UNROLLED
  for (int w = 0; w < SUM_EXACT_WORDS; ++w) {
    number[w] = (negative ? ~number[w] : number[w]) + add;
    add = number[w] < add ? 1 : 0;
  }
  // The highest bit to the top.
  int lowest = SUM_EXACT_LOWEST + 64 * (SUM_EXACT_WORDS - 2);
  for (int moves = 1; moves < SUM_EXACT_WORDS && number[SUM_EXACT_WORDS - 1] == 0; ++moves) {
    MASU_UNROLLED
    for (int w = SUM_EXACT_WORDS - 1; w > 0; --w) number[w] = number[w - 1];
    number[0] = 0;
    lowest -= 64;
  }
  ulong upper = number[SUM_EXACT_WORDS - 1];
  ulong lower = number[SUM_EXACT_WORDS - 2];
  if (upper == 0) return 0;
  bool more = false;
  MASU_UNROLLED
  for (int w = 0; w < SUM_EXACT_WORDS - 3; ++w) more = more || number[w] != 0;
  ulong below = SUM_EXACT_WORDS > 2 ? number[SUM_EXACT_WORDS > 2 ? SUM_EXACT_WORDS - 3 : 0] : 0;
  const int up = (int)clz(upper);
  if (up != 0) {
    upper = upper << up | lower >> (64 - up);
    lower = lower << up | below >> (64 - up);
    below <<= up;
    lowest -= up;
  }
  more = more || below != 0;
  if (divisor > 1) {
    ulong rest = 0;
    for (int part = 7; part >= 0; --part) {
      const ulong word = part > 3 ? upper : lower;
      const int at = part % 4 * 16;
      const ulong dividend = rest << 16 | (word >> at & 65535u);
      const ulong quotient = dividend / divisor;
      rest = dividend - quotient * divisor;
      if (part > 3) upper = (upper & ~((ulong)65535u << at)) | quotient << at;
      else lower = (lower & ~((ulong)65535u << at)) | quotient << at;
    }
    more = more || rest != 0;
    const int again = (int)clz(upper);
    if (again != 0) upper = upper << again | lower >> (64 - again);
    lower <<= again;
    lowest -= again;
  }
  const ulong found = rounded_top(upper, more || lower != 0, lowest + 64, precision, least, bits);
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
  }
// The teams' rows from `begin` on, one each. All work-items of the group come here.
inline void add_in_registers(SUM_PARAMETERS, SUM_RESULT_PARAMETERS, const size_t begin, const uint team_bits,
                             __local ulong *parts) {
  const uint me = (uint)get_local_id(0);
  const size_t lane = SUM_TEAM_LANE(me, team_bits);
  const size_t mine = begin + SUM_TEAM(me, team_bits);
  ulong number[SUM_EXACT_WORDS] = {0};
  uint kinds = 0;
  const size_t row = mine < rows ? mine : (size_t)rows - 1;
  __global const uchar *xs = SUM_ROW_AT(row);
  const size_t stride = (size_t)1 << team_bits;
  SUM_READ_AGAIN
  join_exact(number, &kinds, team_bits, parts);
  if (lane == 0 && mine < rows) {
    store_result(results + results_at + mine * (bits / 8), bits,
                 rounded_exact(number, kinds, divisor, precision, least, bits));
  }
}
#endif
