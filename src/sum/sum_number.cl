// SPDX-License-Identifier: Apache-2.0
// An exact number on a device: made of totals, divided, its root, rounded once; in OpenCL C 1.2 (and, after the CUDA
// prelude, in CUDA C++). The rules are those of fixed_point.cpp and statistics.cpp. After elements.cl.
//
// kernels.md has the parameters, which sum_plan.cpp gives.
// Where a number is said to be followed by `more`, it is greater by less than its lowest bit.

// The lowest bit that total r of a row counts, from the lowest one of all: of totals that the kernels add to with these
// MASU_SPACING and MASU_STEP, which is 1 or 2.
inline int total_offset(const int r, const int spacing, const int step) {
  return MASU_FLOAT ? (r >> (step - 1) << spacing) + (r & (step - 1)) * 16 : r * 16;
}

// A row of totals to local memory. They were added to by atomics, and are read by them: other work-groups of the same launch
// may have been there.
inline void take_totals(__global uint *totals, const int table_rows, __local uint *row) {
  for (int i = (int)get_local_id(0); i < 2 * table_rows; i += MASU_GROUP) row[i] = atomic_or(totals + i, 0u);
  barrier(CLK_LOCAL_MEM_FENCE);
}

// The number that a row of totals stands for, in two's complement, in `words` from word `below` on, of which there are
// `count`. All work-items of the group come here; the first one gets the word above the others: 0 or -1.
inline long make_number(__local const uint *totals, const int table_rows, const int spacing, const int step,
                        const int below, const int count, __local ulong *digits, __local uint *words) {
  const int lane = (int)get_local_id(0);
  // What each word gets of the totals' 64 bits: their two's complement, the upper part with its sign.
  for (int w = lane; w < count; w += MASU_GROUP) {
    ulong sum = 0;
    // Digits that are 16 bits apart are looked at where they may reach this word.
    const int first = MASU_FLOAT ? 0 : max(0, 2 * (w - below - 2));
    const int end = MASU_FLOAT ? table_rows : min(table_rows, 2 * (w - below) + 2);
    MASU_ROLLED
    for (int r = first; r < end; ++r) {
      const int offset = total_offset(r, spacing, step);
      const int part = w - below - offset / 32;
      if (part < 0 || part > 2) continue;
      const int shift = offset % 32;
      const ulong total = (ulong)totals[2 * r + 1] << 32 | totals[2 * r];
      if (part == 0) sum += total << shift & 0xffffffffu;
      else if (part == 1) sum += total >> (32 - shift) & 0xffffffffu;
      else sum += (ulong)(as_long(total) >> 32 >> (shift == 0 ? 31 : 32 - shift));
    }
    digits[w] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  long carry = 0;
  if (lane == 0) {
    MASU_ROLLED
    for (int w = 0; w < count; ++w) {
      const long value = as_long(digits[w]) + carry;
      carry = value >> 32;
      words[w] = (uint)value;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return carry;
}

// The number modulo 2^64; whether it fits 64 bits, with a sign or without. `above`: what make_number() gave.
inline bool whole_number(const long above, __local const uint *words, const bool is_signed, ulong *whole) {
  *whole = (ulong)words[MASU_BELOW + 1] << 32 | words[MASU_BELOW];
  const uint sign = is_signed && as_long(*whole) < 0 ? 0xffffffffu : 0;
  bool fits = above == as_int(sign);
  for (int w = MASU_BELOW + 2; w < MASU_WORDS; ++w) fits = fits && words[w] == sign;
  return fits;
}

// The magnitude of a negative number in two's complement.
inline void negate(__local uint *words, const int count) {
  ulong add = 1;
  for (int w = 0; w < count; ++w) {
    add += ~words[w];
    words[w] = (uint)add;
    add >>= 32;
  }
}

inline uint word_bit(__local const uint *words, const int position) {
  return words[position / 32] >> (position % 32) & 1u;
}
// The 64 bits from `position` on.
inline ulong word_bits(__local const uint *words, const int position) {
  const int w = position / 32;
  const int shift = position % 32;
  ulong result = (ulong)words[w] >> shift;
  if (w + 1 < MASU_WORDS) result |= (ulong)words[w + 1] << (32 - shift);
  if (shift != 0 && w + 2 < MASU_WORDS) result |= (ulong)words[w + 2] << (64 - shift);
  return result;
}
inline bool any_below(__local const uint *words, const int position) {
  for (int w = 0; w < position / 32; ++w) {
    if (words[w] != 0) return true;
  }
  return (words[position / 32] & ((1u << (position % 32)) - 1u)) != 0;
}
// The highest bit; -1 where there is none.
inline int top_bit(__local const uint *words) {
  int w = MASU_WORDS - 1;
  MASU_ROLLED
  while (w >= 0 && words[w] == 0) --w;
  return w < 0 ? -1 : 32 * w + 31 - (int)clz(words[w]);
}

// The bits of `mantissa` * 2^exponent in a format of so many bits, whose lowest one stands for 2^least: the field of the
// exponent counts from there, and the implicit bit adds 1 to it.
inline ulong format_bits(const ulong mantissa, const int exponent, const uint precision, const int least) {
  return ((ulong)(exponent - least) << (precision - 1)) + mantissa;
}

// Rounded to nearest, ties to even. `lowest`: the exponent of bit 0, not above `least`.
inline ulong rounded(__local const uint *words, const int lowest, bool more, const uint precision, const int least) {
  const int top = top_bit(words);
  if (top < 0) return 0;
  const int low = max(top - (int)precision + 1, least - lowest);
  if (low > top + 1) return 0;
  ulong mantissa = low <= top ? word_bits(words, low) : 0;
  if (low > 0 && word_bit(words, low - 1) != 0 && (more || (mantissa & 1) != 0 || any_below(words, low - 1))) ++mantissa;
  return format_bits(mantissa, low + lowest, precision, least);
}

// `upper` * 2^lowest, whose highest bit is that of 2^63, in a format of so many bits, rounded likewise; infinite where it is too large.
MASU_INLINE ulong rounded_top(const ulong upper, const bool more, const int lowest, const uint precision, const int least,
                              const uint bits) {
  const int low = max(64 - (int)precision, least - lowest);
  if (low > 64) return 0;
  ulong mantissa = low < 64 ? upper >> low : 0;
  const ulong half_unit = (ulong)1 << (low - 1);
  const bool below = more || (upper & (half_unit - 1)) != 0;
  if ((upper & half_unit) != 0 && (below || (mantissa & 1) != 0)) ++mantissa;
  const ulong infinity = ((ulong)1 << (bits - 1)) - ((ulong)1 << (precision - 1));
  return min(format_bits(mantissa, low + lowest, precision, least), infinity);
}

// What a sum is with elements that are not finite, of these kinds: 2 infinity, 4 the negative one.
inline ulong special_bits(const uint kinds, const uint precision, const uint bits) {
  const ulong infinity = ((ulong)1 << (bits - 1)) - ((ulong)1 << (precision - 1));
  if (kinds == 2) return infinity;
  if (kinds == 4) return infinity | (ulong)1 << (bits - 1);
  return infinity | (ulong)1 << (precision - 2);
}

// words /= divisor, which is at most 2^48, rounded down. Whether something is left.
inline bool divide(__local uint *words, const ulong divisor) {
  ulong rest = 0;
  MASU_ROLLED
  for (int w = MASU_WORDS - 1; w >= 0; --w) {
    const ulong upper = rest << 16 | words[w] >> 16;
    const ulong first = upper / divisor;
    const ulong lower = (upper - first * divisor) << 16 | (words[w] & 65535u);
    const ulong second = lower / divisor;
    rest = lower - second * divisor;
    words[w] = (uint)first << 16 | (uint)second;
  }
  return rest != 0;
}

// The root of a number of 128 bits, rounded down. *more: whether something is left, or was before.
inline ulong root_of(const ulong upper, const ulong lower, bool *more) {
  ulong root = 0;
  MASU_ROLLED
  for (int bit = 63; bit >= 0; --bit) {
    const ulong trial = root | (ulong)1 << bit;
    const ulong high = mul_hi(trial, trial);
    if (high < upper || (high == upper && trial * trial <= lower)) root = trial;
  }
  *more = *more || mul_hi(root, root) != upper || root * root != lower;
  return root;
}

// words becomes the root of its upper 127 or 128 bits, rounded down: 64 bits, of 2^*exponent. Whether something is left.
inline bool take_root(__local uint *words, int *exponent) {
  const int top = top_bit(words);
  int low = top - 127;  // the words below the number are zeros: there are as many bits
  if (((low - MASU_LOWEST) & 1) != 0) ++low;
  const ulong lower = word_bits(words, low);
  const ulong upper = low + 64 <= top ? word_bits(words, low + 64) : 0;
  bool more = any_below(words, low);
  const ulong root = root_of(upper, lower, &more);
  for (int w = 2; w < MASU_WORDS; ++w) words[w] = 0;
  words[0] = (uint)root;
  words[1] = (uint)(root >> 32);
  *exponent = (low - MASU_LOWEST) / 2;
  return more;
}

// The root or the rounded number itself. Where `specials` says that there was more than finite numbers, that decides.
// Takes words' content. `precision` bits, the lowest one of 2^least; `bits` of the dtype.
inline ulong finished(__local uint *words, const bool root, bool more, const bool minus, const uint specials,
                      const uint precision, const int least, const uint bits) {
  if (specials != 0) return special_bits(specials, precision, bits);
  const ulong infinity = ((ulong)1 << (bits - 1)) - ((ulong)1 << (precision - 1));
  int lowest = -MASU_LOWEST;
  if (root && top_bit(words) >= 0) more = take_root(words, &lowest) || more;
  const ulong found = min(rounded(words, lowest, more, precision, least), infinity);
  return minus && found != 0 ? found | (ulong)1 << (bits - 1) : found;
}

inline void store_result(__global uchar *results, const uint bits, const ulong found) {
  if (bits == 64) *(__global ulong *)results = found;
  else if (bits == 32) *(__global uint *)results = (uint)found;
  else *(__global ushort *)results = (ushort)found;
}
