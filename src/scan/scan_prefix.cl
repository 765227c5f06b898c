// SPDX-License-Identifier: Apache-2.0
// The prefixes of a tile as numbers that mostly decide what they round to, in OpenCL C 1.2 (and, after the CUDA prelude, in
// CUDA C++). After scan_wide.cl.
//
// A prefix lies in units below which no element has a bit, or next to that: then the tile is cut. Its lowest bit, half a unit,
// says whether the number before the tile has bits below: where it is far above, its rounding is right.
// - Windows of 64 bits, in half units. With doubles, an element becomes one by an addition to a number whose last place is
//   half a unit.
// - f64: two doubles, multiples of different units. An addition to 1.5 * 2^52 units cuts an element; as each sum fits 53 bits, no
//   addition rounds, and that of both rounds once.

// The words that work-items find together, in local memory between the wide number and the table.
#define SCAN_MOST 0       // the greatest upper word of a finite magnitude in the tile
#define SCAN_LEAST 1      // the least one of those that are not 0, less 1
#define SCAN_HIGHEST 2    // the words of the wide number up to the highest that is not its sign
#define SCAN_LOWEST 3     // the lowest word that is not 0
#define SCAN_UNDECIDED 4  // whether a prefix is not rounded yet; two words
#define SCAN_LAST_HEAD 6  // the elements up to the last that begins a segment
#define SCAN_KINDS 7      // of the elements before that are not finite
#define SCAN_SPECIAL 8    // whether the tile has such
#define SCAN_LOST 9       // whether it has elements with bits below the unit

// The greatest upper word of a magnitude of a work-item's elements, and the least of those that are not 0, less 1.
MASU_INLINE void find_magnitudes(const uint *words, uint *most, uint *least) {
  *most = 0;
  *least = 0xffffffffU;
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < SCAN_ITEMS; ++k) {
    const MASU_BITS magnitude = SCAN_MAGNITUDE(element_of(words, k));
    const uint upper = SCAN_UPPER(magnitude);
    *most = max(*most, upper);
    // Beside an upper word the lower one only tells that there is an element.
    if (!SCAN_FIXED) *least = min(*least, (MASU_ELEMENT_BYTES == 8 ? upper | ((uint)magnitude != 0) : upper) - 1);
  }
}

// A work-item's elements, with 0 in place of those that are not finite. Gives whether there are any.
MASU_INLINE uint load_finite(__local const uint4 *tile, uint *words) {
  uint special = 0;
  load_item(tile, words);
  MASU_PRAGMA_UNROLL
  for (uint k = 0; k < SCAN_ITEMS; ++k) {
    if (!is_special(element_of(words, k))) continue;
    set_element_of(words, k, 0);
    special = 1;
  }
  return special;
}

// Finds what a tile and the number before it span. Needs a barrier before and after.
MASU_INLINE void find_span(uint most, uint least, __local const uint *wide, __local uint *found) {
  const uint lane = (uint)get_local_id(0);
  for (uint i = lane; i < MASU_WIDE_WORDS; i += MASU_GROUP) {
    if (wide[i] != wide_sign(wide)) atomic_max(found + SCAN_HIGHEST, i + 1);
    if (wide[i] != 0) atomic_min(found + SCAN_LOWEST, i);
  }
#if MASU_SHUFFLE_LANES > 1
  most = masu_greatest_of_lanes(most);
  least = ~masu_greatest_of_lanes(~least);
  if (lane % MASU_SHUFFLE_LANES != 0) return;
#endif
  atomic_max(found + SCAN_MOST, most);
  atomic_min(found + SCAN_LEAST, least);
}

// How a tile's prefixes are seen.
typedef struct {
  uint unit;   // no element has a bit below it, unless the tile is cut
  uint least;  // nor below this
  uint low;    // the number before has none below this
  uint fits;   // whether all sums are numbers
} Span;

// The bits between the units of two doubles, and those of a prefix.
#define SCAN_LOW_BITS (52 - MASU_TILE_BITS)
#if SCAN_PAIRS
#define SCAN_KEPT_BITS (52 + SCAN_LOW_BITS)
#elif MASU_FP64 && !SCAN_FIXED
// Twice an element lies below 2^51, as first_part needs, also in tiles of few elements.
#define SCAN_KEPT_BITS (SCAN_WINDOW_TOP < 51 + MASU_TILE_BITS ? SCAN_WINDOW_TOP : 51 + MASU_TILE_BITS)
#else
#define SCAN_KEPT_BITS SCAN_WINDOW_TOP
#endif

inline Span span_of(__local const uint *wide, __local const uint *found) {
  Span span;
  const uint sign = wide_sign(wide);
  const uint words = found[SCAN_HIGHEST];
  const uint low = found[SCAN_LOWEST];
  const uint least = found[SCAN_LEAST];
  const uint highest = words == 0 ? 0 : 32 * words - clz(wide[words - 1] ^ sign);
  const uint top = max(SCAN_PLACE(found[SCAN_MOST]) + SCAN_PRECISION + MASU_TILE_BITS, highest) + 1;
  span.unit = top > SCAN_KEPT_BITS ? top - SCAN_KEPT_BITS : 0;
  span.least = least == 0xffffffffU ? least : SCAN_PLACE(least + 1);
  span.low = low >= MASU_WIDE_WORDS ? 0xffffffffU : 32 * low + 31 - clz(wide[low] & (0 - wide[low]));
  span.fits = !SCAN_PAIRS || top < (1U << MASU_EXPONENT_BITS) + MASU_FRACTION - 3;
  return span;
}

#if SCAN_PAIRS
// 2^place least subnormal numbers.
inline double power_at(const uint place) {
  return as_double(place < MASU_FRACTION ? 1UL << place : (ulong)(place - (MASU_FRACTION - 1)) << MASU_FRACTION);
}
#define SCAN_HIGH_UNIT(span) power_at((span).unit + SCAN_LOW_BITS)
#endif
#define SCAN_CUTTER(unit) (0x1.8p52 * (unit))

// What an element adds to prefixes. `cutters`: two doubles, or twice 2^-unit of least subnormal numbers.
MASU_INLINE Window cutters_of(const Span span) {
#if SCAN_PAIRS
  return window_from(as_ulong(SCAN_CUTTER(power_at(span.unit))), as_ulong(SCAN_CUTTER(SCAN_HIGH_UNIT(span))));
#elif MASU_FP64
  // The exponent of 1, and that of the least subnormal number.
  return (ulong)(1023 + (1 << (MASU_EXPONENT_BITS - 1)) - 2 + MASU_FRACTION + 1 - span.unit) << 52;
#else
  return 0;
#endif
}
MASU_INLINE Window first_part(const MASU_BITS bits, const Span span, const Window cutters) {
#if SCAN_PAIRS
  const double x = as_double(bits);
  const double high = (x + as_double(cutters.high)) - as_double(cutters.high);
  double low = x - high;
  if (span.least < span.unit) low = (low + as_double(cutters.low)) - as_double(cutters.low);
  return window_from(as_ulong(low), as_ulong(high));
#elif SCAN_FIXED && defined(MASU_CUDA) && MASU_EXPONENT_BITS == 5
  return (ulong)(long)(masu_half_value(bits) * 0x1p24f);
#elif SCAN_FIXED
  return part_of(bits, 0);
#elif MASU_FP64
#if defined(MASU_CUDA) && MASU_EXPONENT_BITS == 8
  const double x = (double)as_float(bits << (32 - 8 * MASU_ELEMENT_BYTES));
#else
  const double x = SUM_SMALL_DOUBLE(bits) * SUM_SCALE;
#endif
  return as_ulong(fma(x, as_double(cutters), SCAN_CUTTER(1.0))) - as_ulong(SCAN_CUTTER(1.0));
#else
  return top_part(bits, span.unit - 1);
#endif
}
inline Window first_sum(const Window a, const Window b) {
#if SCAN_PAIRS
  return pair_sum(a, b);
#else
  return window_sum(a, b);
#endif
}
// The number before a tile; one bit more where it has bits below the unit.
inline Window first_front(__local const uint *wide, const Span span) {
#if SCAN_PAIRS
  const Window whole = wide_part(wide, span.unit);
  const Window high = window_right(whole, SCAN_LOW_BITS);
  const double low = (double)(whole.low & ((1UL << SCAN_LOW_BITS) - 1)) * power_at(span.unit);
  return window_from(as_ulong(span.low < span.unit ? low + power_at(span.unit - 1) : low),
                     as_ulong((double)(long)high.low * SCAN_HIGH_UNIT(span)));
#elif SCAN_FIXED
  return fixed_front(wide);
#else
  return window_sum(window_left(wide_part(wide, span.unit), 1), window_of(span.low < span.unit));
#endif
}
// The sum of a tile that is not cut as a window.
inline Window first_whole(const Window sum, const Span span) {
#if SCAN_PAIRS
  return window_sum(part_of(sum.high, span.unit), part_of(sum.low, span.unit));
#elif SCAN_FIXED
  return sum;
#else
  return window_right(sum, 1);
#endif
}

// By how many units a prefix may be greater than its window, where elements have bits below the unit.
#define SCAN_ERROR ((1L << MASU_TILE_BITS) + 1)

// Whether a value has fewer bits than SCAN_STEP - 3; the others have more than what they are rounded to.
inline uint is_small(const Window x) {
  return window_is_zero(window_right(window_sum(x, window_left(window_of(1), SCAN_STEP - 4)), SCAN_STEP - 3));
}

// What a prefix rounds to where the tile is cut, or units are below normal numbers. Sets *open where that does not decide it. A
// call, as it is rare.
#if !SCAN_FIXED
MASU_NOINLINE MASU_BITS result_rarely(const Window value, const uint unit, const uint cut, const uint more, uint *open) {
#if SCAN_PAIRS
  const double low = as_double(value.low);
  const double off = power_at(unit + MASU_TILE_BITS);
  const MASU_BITS result = as_ulong(as_double(value.high) + (low - off));
  if (result != as_ulong(as_double(value.high) + (low + off))) *open = 1;
  return result;
#else
  const Window off = window_of(cut != 0 ? SCAN_ERROR : 0);
  const MASU_BITS result = rounded(window_sum(value, window_negated(off)), unit - 1);
  if (cut != 0 && result != rounded(window_sum(value, off), unit - 1)) *open = 1;
  if (cut == 0 && more != 0 && is_small(value)) *open = 1;
  return result;
#endif
}
#endif
// Whether results are made of floats, whose exponents theirs are.
#define SCAN_BY_FLOATS (MASU_EXPONENT_BITS == 8)
// Whether all tiles that are not cut have results by the shorter way.
#define SCAN_RARE(span, cut) (!SCAN_FIXED && ((cut) != 0 || (!SCAN_PAIRS && (span).unit <= MASU_FRACTION)))
// That way. `more`: whether the number before has bits below the unit. `scale`: of a unit.
#if SCAN_PAIRS
#define SCAN_SCALE(unit) power_at((unit) + MASU_FRACTION + 4)
#define SCAN_NUMBER double
#elif SCAN_BY_FLOATS
#define SCAN_SCALE(unit) as_float(((unit) - MASU_FRACTION) << 23)
#define SCAN_NUMBER float
#else
#define SCAN_SCALE(unit) ((unit) - 1)
#define SCAN_NUMBER uint
#endif
MASU_INLINE MASU_BITS first_result(const Window value, const SCAN_NUMBER scale, const uint more, uint *open) {
#if SCAN_FIXED
  return rounded(value, 0);
#elif SCAN_PAIRS
  const double sum = as_double(value.high) + as_double(value.low);
  if (more != 0 && fabs(sum) < scale) *open = 1;
  return as_ulong(sum);
#elif SCAN_BY_FLOATS
  const float sum = (float)(long)value;
  if (more != 0 && fabs(sum) < 0x1p29f) *open = 1;
  uint bits = as_uint(sum * scale);
#if MASU_ELEMENT_BYTES == 2
  // A float in the middle of two results is moved to where the value lies.
  if ((bits & 0xffffu) == 0x8000u && (long)sum != (long)value) bits += ((long)sum < (long)value) == (sum > 0) ? 1 : 0xffffffffu;
  bits = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
#endif
  return bits;
#else
  if (more != 0 && is_small(value)) *open = 1;
  return rounded(value, scale);
#endif
}
