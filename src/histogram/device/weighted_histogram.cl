// SPDX-License-Identifier: Apache-2.0
// Summing weights by slots, exactly, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++). histogram_slots.cl and
// histogram_elements.cl, which find an element's slot, come before this file.
//
// A sum is a fixed-point number of MASU_DIGITS digits of 16 bits, whose unit is that of the smallest weight there is. A
// weight lies in MASU_TOUCHED of them; each is added to, or taken from, a digit of its own. In the totals a digit is a
// signed number of 64 bits in two 32-bit words, low word first; a word of flags for NaN and infinities follows the
// digits of a slot. In a table in local memory a digit has 32 bits, and its carry is moved on in time.
//
// kernels.md has the parameters, which weighted_kernels.cpp gives.

#define HISTOGRAM_KERNEL_WEIGHTED 0
#define HISTOGRAM_KERNEL_WINDOW 1

// What follows from the size.
#if MASU_WEIGHT_BYTES == 1
#define HISTOGRAM_WEIGHT uchar
#define HISTOGRAM_SIGNED_WEIGHT char
#elif MASU_WEIGHT_BYTES == 2
#define HISTOGRAM_WEIGHT ushort
#define HISTOGRAM_SIGNED_WEIGHT short
#elif MASU_WEIGHT_BYTES == 4
#define HISTOGRAM_WEIGHT uint
#define HISTOGRAM_SIGNED_WEIGHT int
#else
#define HISTOGRAM_WEIGHT ulong
#define HISTOGRAM_SIGNED_WEIGHT long
#endif
#define HISTOGRAM_WEIGHT_SIGN ((HISTOGRAM_WEIGHT)1 << (8 * MASU_WEIGHT_BYTES - 1))
// Floats have a sign beside their digits; integers have it in the highest one.
#if MASU_WEIGHT_FLOAT && !MASU_SQUARED
#define HISTOGRAM_NEGATIVE(bits) (((bits) & HISTOGRAM_WEIGHT_SIGN) != 0)
#else
#define HISTOGRAM_NEGATIVE(bits) false
#endif

// The bits of weight e.
#define HISTOGRAM_WEIGHT_AT(e) ((__global const HISTOGRAM_WEIGHT *)(weights + weights_offset))[e]

#if MASU_WEIGHT_FLOAT
#define HISTOGRAM_WEIGHT_FRACTION (8 * MASU_WEIGHT_BYTES - 1 - MASU_WEIGHT_EXPONENT)
#define HISTOGRAM_MOST_EXPONENT ((1u << MASU_WEIGHT_EXPONENT) - 1)
#define HISTOGRAM_EXPONENT_OF(bits) ((uint)((bits) >> HISTOGRAM_WEIGHT_FRACTION) & HISTOGRAM_MOST_EXPONENT)
#define HISTOGRAM_FRACTION_OF(bits) ((bits) & (((HISTOGRAM_WEIGHT)1 << HISTOGRAM_WEIGHT_FRACTION) - 1))
// How far the lowest bit of the weight, or of its square, is above the unit.
#define HISTOGRAM_PLACE_OF(exponent) ((uint)(max((int)(exponent), 1) - 1) << MASU_SQUARED)
#endif

#if MASU_KERNEL == HISTOGRAM_KERNEL_WEIGHTED
// 128 bits in two words.
struct masu_wide {
  ulong low;
  ulong high;
};

// A weight, or its square, in the digits it lies in, the lowest one first.
MASU_INLINE struct masu_wide digits_of(const HISTOGRAM_WEIGHT bits) {
  struct masu_wide wide;
#if MASU_WEIGHT_FLOAT
  const uint exponent = HISTOGRAM_EXPONENT_OF(bits);
  const ulong magnitude = (ulong)HISTOGRAM_FRACTION_OF(bits) | (exponent != 0 ? (ulong)1 << HISTOGRAM_WEIGHT_FRACTION : 0);
#elif MASU_WEIGHT_SIGNED
  const ulong magnitude = (ulong)(long)(HISTOGRAM_SIGNED_WEIGHT)bits;
#else
  const ulong magnitude = bits;
#endif
#if MASU_SQUARED
  // The square of a negative number is that of its two's complement, but for the high word.
  wide.low = magnitude * magnitude;
  wide.high = MASU_WEIGHT_BYTES == 8 ? mul_hi(magnitude, magnitude) : 0;
#if MASU_WEIGHT_BYTES == 8 && MASU_WEIGHT_SIGNED && !MASU_WEIGHT_FLOAT
  if ((magnitude & HISTOGRAM_WEIGHT_SIGN) != 0) wide.high -= 2 * magnitude;
#endif
#else
  wide.low = magnitude;
  wide.high = 0;
#endif
#if MASU_WEIGHT_FLOAT
  const uint shift = HISTOGRAM_PLACE_OF(exponent) & 15;
#if MASU_TOUCHED > 4
  // The low word's bits that leave it; in two steps, as no shift is by 64.
  wide.high = wide.high << shift | wide.low >> 1 >> (63 - shift);
#endif
  wide.low <<= shift;
#endif
  return wide;
}
#define HISTOGRAM_BITS_OF_DIGIT(wide, k) \
  (int)(((k) < 4 ? (wide).low >> (16 * ((k) & 3)) : (wide).high >> (16 * ((k) & 3))) & 0xffff)
#if MASU_WEIGHT_SIGNED && !MASU_WEIGHT_FLOAT && !MASU_SQUARED
#define HISTOGRAM_DIGIT(wide, k) \
  ((k) + 1 == MASU_TOUCHED ? (int)(short)HISTOGRAM_BITS_OF_DIGIT(wide, k) : HISTOGRAM_BITS_OF_DIGIT(wide, k))
#else
#define HISTOGRAM_DIGIT(wide, k) HISTOGRAM_BITS_OF_DIGIT(wide, k)
#endif

// Adds to a 64-bit number in two words: whoever makes the low word wrap adds the carry. Needs no 64-bit atomics.
inline void add_signed(__global uint *number, const int amount) {
  const uint low = (uint)amount;
  const uint before = atomic_add(&number[0], low);
  const uint high = (amount < 0 ? 0xffffffffu : 0u) + (before + low < before ? 1u : 0u);
  if (high != 0) atomic_add(&number[1], high);
}

// The words of a slot in the totals.
#define HISTOGRAM_SLOT_WORDS ((size_t)2 * (MASU_DIGITS + 1))

// A weight whose digits lie outside of the table.
MASU_NOINLINE void add_to_totals(__global uint *slot_totals, const struct masu_wide wide, const uint lowest,
                                 const bool negative) {
  for (uint k = 0; k < MASU_TOUCHED; ++k) {
    const int digit = HISTOGRAM_DIGIT(wide, k);
    if (digit != 0) add_signed(&slot_totals[2 * (lowest + k)], negative ? -digit : digit);
  }
}

// Adds a weight to its slot: `table` has digits [base, base + digits) of each slot, `copies` of them side by side; a
// weight fits it when its lowest digit is one of the first `places`.
MASU_INLINE void add_weight(const HISTOGRAM_WEIGHT bits, const size_t slot, __local uint *table, const uint table_slot,
                            const uint digits, const uint copies, const uint copy, const uint base, const uint places,
                            __global uint *totals) {
  uint lowest = 0;
#if MASU_WEIGHT_FLOAT
  const uint exponent = HISTOGRAM_EXPONENT_OF(bits);
  if (exponent == HISTOGRAM_MOST_EXPONENT) {
    const uint infinity = HISTOGRAM_NEGATIVE(bits) ? MASU_MINUS_INFINITY : MASU_INFINITY;
    atomic_or(&totals[slot * HISTOGRAM_SLOT_WORDS + 2 * MASU_DIGITS], HISTOGRAM_FRACTION_OF(bits) != 0 ? MASU_NAN : infinity);
    return;
  }
  lowest = HISTOGRAM_PLACE_OF(exponent) >> 4;
#endif
  const bool negative = HISTOGRAM_NEGATIVE(bits);
  const struct masu_wide wide = digits_of(bits);
  if (lowest - base < places) {
    __local uint *at = table + (table_slot * digits + (lowest - base)) * copies + copy;
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_TOUCHED; ++k) {
      const int digit = HISTOGRAM_DIGIT(wide, k);
      if (digit != 0) atomic_add(&at[k * copies], (uint)(negative ? -digit : digit));
    }
  } else if ((bits & (HISTOGRAM_WEIGHT)(MASU_WEIGHT_FLOAT ? ~HISTOGRAM_WEIGHT_SIGN : ~(HISTOGRAM_WEIGHT)0)) != 0) {
    add_to_totals(totals + slot * HISTOGRAM_SLOT_WORDS, wide, lowest, negative);
  }
}

// Rows of `row_length` elements, `parts` work-groups for each, whose slots follow each other in the totals from
// `first_slot` on. A group adds into its table in local memory, moves the carries on between two barriers before a digit
// could overflow, and adds the table to the totals in the end. A group takes fewer than 2^30 elements of a row. The
// table is as `given`, or as weighted_window has described it.
__kernel MASU_WORK_GROUP(MASU_GROUP) void weighted_histogram(HISTOGRAM_INPUT, __global const uchar *restrict weights,
                                                             const ulong weights_offset, const ulong row_length,
                                                             const uint parts, const ulong first_slot,
                                                             const uint given, __global const uint *descriptions,
                                                             const ulong description_at, __global uint *totals,
                                                             const ulong totals_at, __local uint *table) {
  MASU_LOCAL_POINTER(uint, table);
  totals += 2 * totals_at;
  const uint lane = (uint)get_local_id(0);
  const uint description = description_at == ULONG_MAX ? given : descriptions[description_at];
  const uint base = description & 0xfff;
  const uint digits = description >> 12 & 0xfff;
  const uint copies_log = description >> 24;
  const uint copies = 1u << copies_log;
  const uint copy = lane & (copies - 1);
  // The last digit of a table only takes carries.
  const uint places = digits == 0 ? 0 : digits - MASU_TOUCHED;
  const uint words = (slots * digits) << copies_log;
  const ulong units = (row_length == 0 ? 0 : count / row_length) * parts;
  // As many elements of the group as keep each digit in its word.
  ulong batch = ULONG_MAX;
  if (digits != 0) {
    const uint each = min(((uint)MASU_WORD_WEIGHTS << copies_log) / MASU_GROUP, (uint)MASU_WORD_WEIGHTS);
    batch = (ulong)(each / MASU_UNROLL * MASU_UNROLL) * MASU_GROUP;
  }

  for (ulong unit = get_group_id(0); unit < units; unit += get_num_groups(0)) {
    const ulong row = unit / parts;
    const ulong part = unit - row * parts;
    const ulong begin = row * row_length + row_length * part / parts;
    const ulong end = row * row_length + row_length * (part + 1) / parts;
    const size_t slot_of_row = (size_t)(first_slot + row * slots);
    for (uint w = lane; w < words; w += MASU_GROUP) table[w] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (ulong first = begin; first < end;) {
      const ulong last = end - first > batch ? first + batch : end;
      ulong e = first + lane;
#define HISTOGRAM_ADD(k)                                                                                        \
  add_weight(loaded[k], slot_of_row + of_element, table, of_element, digits, copies, copy, base, places, totals);
      HISTOGRAM_DECLARE_VALUES(MASU_UNROLL)
      HISTOGRAM_WEIGHT loaded[MASU_UNROLL];
#if MASU_UNROLL > 1
      for (; e + (MASU_UNROLL - 1) * MASU_GROUP < last; e += MASU_UNROLL * MASU_GROUP) {
        MASU_PRAGMA_UNROLL
        for (int k = 0; k < MASU_UNROLL; ++k) {
          HISTOGRAM_LOAD_VALUES(e + k * MASU_GROUP, k)
          loaded[k] = HISTOGRAM_WEIGHT_AT(e + k * MASU_GROUP);
        }
        MASU_PRAGMA_UNROLL
        for (int k = 0; k < MASU_UNROLL; ++k) {
          HISTOGRAM_FIND_SLOT(e + k * MASU_GROUP, k, of_element)
          HISTOGRAM_ADD(k)
        }
      }
#endif
      for (; e < last; e += MASU_GROUP) {
        HISTOGRAM_LOAD_VALUES(e, 0)
        loaded[0] = HISTOGRAM_WEIGHT_AT(e);
        HISTOGRAM_FIND_SLOT(e, 0, of_element)
        HISTOGRAM_ADD(0)
      }
      first = last;
      if (digits == 0) continue;
      barrier(CLK_LOCAL_MEM_FENCE);
      // Each digit becomes one of -2^15 … 2^15 - 1, but for the last.
      for (uint p = lane; p < slots << copies_log; p += MASU_GROUP) {
        __local uint *at = table + ((p >> copies_log) * digits << copies_log) + (p & (copies - 1));
        int carry = 0;
        for (uint d = 1; d < digits; ++d, at += copies) {
          const int value = (int)*at + carry;
          carry = (value + 32768) >> 16;
          *at = (uint)(value - carry * 65536);
        }
        *at += (uint)carry;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }

    // Each work-item sums the copies of some digits; those whose copies lie in the same banks start at different ones.
    for (uint w = lane; w < slots * digits; w += MASU_GROUP) {
      int sum = 0;
      for (uint c = 0; c < copies; ++c) sum += (int)table[(w << copies_log) + ((c + (w << copies_log) / 32) & (copies - 1))];
      const uint slot = w / digits;
      if (sum != 0) add_signed(&totals[(slot_of_row + slot) * HISTOGRAM_SLOT_WORDS + 2 * (base + w - slot * digits)], sum);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
#endif

#if MASU_KERNEL == HISTOGRAM_KERNEL_WINDOW
#define HISTOGRAM_LOOKS 16
// Looks at some of the weights, in one work-group, and describes the table for them: the narrow one, its highest digits
// where those of the greatest weights are, or, where too many weights are too small for it, the wide one.
__kernel MASU_WORK_GROUP(MASU_GROUP) void weighted_window(__global const uchar *restrict weights,
                                                          const ulong weights_offset, const ulong count,
                                                          const uint narrow, const uint wide,
                                                          __global uint *descriptions, const ulong description_at,
                                                          __local uint *found) {
  MASU_LOCAL_POINTER(uint, found);  // one more than the highest of the lowest digits; weights below the table
  const uint lane = (uint)get_local_id(0);
  const uint looked_at = count < MASU_SAMPLED ? (uint)count : MASU_SAMPLED;
  const uint digits = narrow >> 12 & 0xfff;
  const uint places = digits - MASU_TOUCHED;
  if (lane < 2) found[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint base = 0;
  for (uint step = 0; step < 2; ++step) {
    uint highest = 0;
    uint below = 0;
    for (uint first = lane; first < looked_at; first += MASU_GROUP * HISTOGRAM_LOOKS) {
      HISTOGRAM_WEIGHT looked[HISTOGRAM_LOOKS];  // all are loaded before any is looked at
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < HISTOGRAM_LOOKS; ++k) {
        const uint i = first + k * MASU_GROUP;
        looked[k] = i < looked_at ? HISTOGRAM_WEIGHT_AT((size_t)(count / looked_at * i)) : 0;
      }
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < HISTOGRAM_LOOKS; ++k) {
        const HISTOGRAM_WEIGHT bits = looked[k];
#if MASU_WEIGHT_FLOAT
        const uint exponent = HISTOGRAM_EXPONENT_OF(bits);
        if (exponent == HISTOGRAM_MOST_EXPONENT || (bits & (HISTOGRAM_WEIGHT)~HISTOGRAM_WEIGHT_SIGN) == 0) continue;
        const uint lowest = HISTOGRAM_PLACE_OF(exponent) >> 4;
#else
        if (bits == 0) continue;
        const uint lowest = 0;
#endif
        highest = max(highest, lowest + 1);
        if (lowest < base) ++below;
      }
    }
    if (step == 0 && highest != 0) atomic_max(&found[0], highest);
    if (step == 1 && below != 0) atomic_add(&found[1], below);
    barrier(CLK_LOCAL_MEM_FENCE);
    base = min((uint)max((int)found[0] - (int)places, 0), (uint)MASU_DIGITS - digits);
  }
  if (lane == 0) descriptions[description_at] = found[1] > looked_at / MASU_OUTLIERS ? wide : narrow | base;
}
#endif
