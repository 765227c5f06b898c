// SPDX-License-Identifier: Apache-2.0
// Which slot a value belongs to, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++): the part that all kernels of
// the histogram share. A slot is a bin, or one of three after the bins: below, above, NaN.
//
// kernels.md has the parameters, which histogram_plan.cpp gives.

#if MASU_FP64 && defined(MASU_OPENCL) && defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#if MASU_GUIDE_LOCAL
#define HISTOGRAM_GUIDE_SPACE __local
#else
#define HISTOGRAM_GUIDE_SPACE __global
#endif

// What a column needs to find slots, d its number. first <= x <= last says that x lies in a bin. Even bins: the position
// fma(x, scale, shift) is what its function says, and edge i is i * step + lo. Edges: `thresholds` holds
// the least value of each bin that the type reaches, `guide` what slot_edges says, for `cells` + 1 cells.
#define HISTOGRAM_RULE_PARAMETERS_AS(d, HISTOGRAM_ALONE) \
  __global const MASU_VALUE *HISTOGRAM_ALONE thresholds##d, __global const uint *HISTOGRAM_ALONE guide##d, const uint cells##d, \
      const uint bins##d, const MASU_VALUE first##d, const MASU_VALUE last##d, const MASU_VALUE base##d, \
      const MASU_POSITION scale##d, const MASU_POSITION shift##d, const MASU_POSITION error##d, const MASU_EDGE lo##d, \
      const MASU_EDGE step##d
#define HISTOGRAM_RULE_ARGUMENTS(d) \
  thresholds##d, guide##d, cells##d, bins##d, first##d, last##d, base##d, scale##d, shift##d, error##d, lo##d, step##d
#define HISTOGRAM_RULE_PARAMETERS(d) HISTOGRAM_RULE_PARAMETERS_AS(d, restrict)

// The same as the slot functions take it: the tables where MASU_GUIDE_LOCAL says that they are.
#define HISTOGRAM_SLOT_PARAMETERS                                                                                   \
  HISTOGRAM_GUIDE_SPACE const MASU_VALUE *thresholds, HISTOGRAM_GUIDE_SPACE const uint *guide, const uint cells,    \
      const uint bins, const MASU_VALUE first, const MASU_VALUE last, const MASU_VALUE base,                        \
      const MASU_POSITION scale, const MASU_POSITION shift, const MASU_POSITION error, const MASU_EDGE lo,          \
      const MASU_EDGE step
#define HISTOGRAM_SLOT_ARGUMENTS thresholds, guide, cells, bins, first, last, base, scale, shift, error, lo, step
#define HISTOGRAM_RULE(d)                                                                                         \
  HISTOGRAM_THRESHOLDS(d), HISTOGRAM_GUIDE(d), cells##d, bins##d, first##d, last##d, base##d, scale##d, shift##d, error##d, \
      lo##d, step##d
#if MASU_GUIDE_LOCAL
// One column's tables at most lie in local memory.
#define HISTOGRAM_THRESHOLDS(d) local_thresholds
#define HISTOGRAM_GUIDE(d) local_guide
#else
#define HISTOGRAM_THRESHOLDS(d) thresholds##d
#define HISTOGRAM_GUIDE(d) guide##d
#endif

#if MASU_ALL_INSIDE
#define HISTOGRAM_INSIDE(x) true
#else
#define HISTOGRAM_INSIDE(x) ((x >= first) & (x <= last))
#endif
#if MASU_CLAMP
#define MASU_BELOW(bins) 0
#define HISTOGRAM_ABOVE(bins) ((bins) - 1)
#else
#define MASU_BELOW(bins) (bins)
#define HISTOGRAM_ABOVE(bins) ((bins) + 1)
#endif
inline uint outside_slot(const MASU_VALUE x, const uint bins, const MASU_VALUE first, const MASU_VALUE last) {
  return x < first ? MASU_BELOW(bins) : x > last ? HISTOGRAM_ABOVE(bins) : bins + 2;
}

// A function slot_… gives the slot of any value. The function try_… beside it gives the bin of most values, and clears
// `sure` where it cannot decide: so several values are found with one branch after them, and the rare case stays out of
// the loop.

// The bits are the slot; the host folds the 256 counts of bytes into bins, or the 65,536 of 16-bit elements.
inline uint slot_bits(const MASU_VALUE x, HISTOGRAM_SLOT_PARAMETERS) { return (uint)x; }
inline uint try_bits(const MASU_VALUE x, bool *sure, HISTOGRAM_SLOT_PARAMETERS) { return (uint)x; }

// The guide has the slot of each value, by its bits.
inline uint slot_table(const MASU_VALUE x, HISTOGRAM_SLOT_PARAMETERS) { return guide[(uint)x]; }
inline uint try_table(const MASU_VALUE x, bool *sure, HISTOGRAM_SLOT_PARAMETERS) { return guide[(uint)x]; }

// Bins that no value of the type reaches: all are below them, or above. `first` and `last` are one value: only a NaN lies on
// neither side.
MASU_NOINLINE uint slot_nowhere(const MASU_VALUE x, HISTOGRAM_SLOT_PARAMETERS) {
  return !(x >= first || x <= last) ? bins + 2 : cells == 0 ? MASU_BELOW(bins) : HISTOGRAM_ABOVE(bins);
}
inline uint try_nowhere(const MASU_VALUE x, bool *sure, HISTOGRAM_SLOT_PARAMETERS) {
  *sure = false;
  return 0;
}

// Value v is bin v.
inline uint try_integers(const MASU_VALUE x, bool *sure, HISTOGRAM_SLOT_PARAMETERS) {
  *sure = *sure & HISTOGRAM_INSIDE(x);
  return (uint)x;
}
MASU_NOINLINE uint slot_integers(const MASU_VALUE x, HISTOGRAM_SLOT_PARAMETERS) {
  return x >= first && x <= last ? (uint)x : outside_slot(x, bins, first, last);
}

// Conversions between numbers and integers are slow on some devices; these use the bits of a sum instead. A position is
// rounded to the nearest whole number, and must be below 2^22 (float) or 2^31 (double).
#if MASU_ELEMENT_BYTES == 2 && !MASU_FLOAT && !MASU_SIGNED
#define HISTOGRAM_NUMBER(x) (as_float(0x4b000000u | (uint)(x)) - 8388608.0f)
#else
#define HISTOGRAM_NUMBER(x) (MASU_POSITION)(x)
#endif
#define HISTOGRAM_POSITION_OF(x) fma((MASU_POSITION)HISTOGRAM_NUMBER(x), scale, shift)
#if MASU_POSITION_DOUBLE
#define HISTOGRAM_NEAREST_BITS(position) (uint)as_ulong((position) + 6755399441055744.0)
#define HISTOGRAM_BITS_OF_0 0
#else
#define HISTOGRAM_NEAREST_BITS(position) as_uint((position) + 12582912.0f)
#define HISTOGRAM_BITS_OF_0 0x4b400000u
#endif
#define HISTOGRAM_NEAREST(position) (HISTOGRAM_NEAREST_BITS(position) - HISTOGRAM_BITS_OF_0)

// Even bins where the host has tried both values around each edge and found the position to be nearest to the bin (but
// for the upper end of the last one). It does not decrease with x, so it is for all values.
#if MASU_LAST_PROVED
#define HISTOGRAM_PROVED(x) HISTOGRAM_NEAREST(HISTOGRAM_POSITION_OF(x))
#else
#define HISTOGRAM_PROVED(x) (min(HISTOGRAM_NEAREST_BITS(HISTOGRAM_POSITION_OF(x)), bins - 1 + HISTOGRAM_BITS_OF_0) - HISTOGRAM_BITS_OF_0)
#endif
inline uint try_even_proved(const MASU_VALUE x, bool *sure, HISTOGRAM_SLOT_PARAMETERS) {
  *sure = *sure & HISTOGRAM_INSIDE(x);
  return HISTOGRAM_PROVED(x);
}
MASU_NOINLINE uint slot_even_proved(const MASU_VALUE x, HISTOGRAM_SLOT_PARAMETERS) {
  return x >= first && x <= last ? HISTOGRAM_PROVED(x) : outside_slot(x, bins, first, last);
}

// The same of stored floats, none below 0 in a bin, where the host has proved it of the values moved up by half of their step.
#if MASU_STORED
#define HISTOGRAM_MOVED(x) as_float(as_uint(x) | 1u << (22 - MASU_FRACTION))
inline uint try_even_halves(const MASU_VALUE x, bool *sure, HISTOGRAM_SLOT_PARAMETERS) {
  *sure = *sure & HISTOGRAM_INSIDE(x);
  return HISTOGRAM_PROVED(HISTOGRAM_MOVED(x));
}
MASU_NOINLINE uint slot_even_halves(const MASU_VALUE x, HISTOGRAM_SLOT_PARAMETERS) {
  return x >= first && x <= last ? HISTOGRAM_PROVED(HISTOGRAM_MOVED(x)) : outside_slot(x, bins, first, last);
}
#endif

// Even bins where the host has proved that the position is nearest to the bin or one of the MASU_COMPARED before it (for the
// first bins perhaps below 0): comparisons with the edges between them, computed as NumPy computes them, decide.
#define HISTOGRAM_DEFINE_EVEN(name, HISTOGRAM_REACHES)                                                 \
  inline uint bin_##name(const MASU_VALUE x, HISTOGRAM_SLOT_PARAMETERS) {                              \
    uint guess = HISTOGRAM_NEAREST(HISTOGRAM_POSITION_OF(x));                                          \
    if (MASU_COMPARED > 1) guess = (uint)max((int)guess, 0);                                           \
    uint bin = guess;                                                                                  \
    MASU_PRAGMA_UNROLL                                                                                 \
    for (uint i = 1; i <= MASU_COMPARED; ++i) bin = HISTOGRAM_REACHES(x, guess + i) ? guess + i : bin; \
    return min(bin, bins - 1);                                                                         \
  }                                                                                                    \
  inline uint try_##name(const MASU_VALUE x, bool *sure, HISTOGRAM_SLOT_PARAMETERS) {                  \
    *sure = *sure & HISTOGRAM_INSIDE(x);                                                               \
    return bin_##name(x, HISTOGRAM_SLOT_ARGUMENTS);                                                    \
  }                                                                                                    \
  MASU_NOINLINE uint slot_##name(const MASU_VALUE x, HISTOGRAM_SLOT_PARAMETERS) {                             \
    return x >= first && x <= last ? bin_##name(x, HISTOGRAM_SLOT_ARGUMENTS) : outside_slot(x, bins, first, last); \
  }
#define HISTOGRAM_REACHES_F32(x, i) ((float)(x) >= (float)(i) * (float)step + (float)lo)
HISTOGRAM_DEFINE_EVEN(even_f32, HISTOGRAM_REACHES_F32)
#if MASU_FP64
#define HISTOGRAM_DOUBLE_OF(i) (as_double(0x4330000000000000ul | (ulong)(i)) - 4503599627370496.0)
#define HISTOGRAM_REACHES_F64(x, i) ((double)(x) >= HISTOGRAM_DOUBLE_OF(i) * (double)step + (double)lo)
#define HISTOGRAM_REACHES_ROUNDED(x, i) ((float)(x) >= (float)(HISTOGRAM_DOUBLE_OF(i) * (double)step + (double)lo))
HISTOGRAM_DEFINE_EVEN(even_f64, HISTOGRAM_REACHES_F64)
HISTOGRAM_DEFINE_EVEN(even_rounded, HISTOGRAM_REACHES_ROUNDED)
#endif

// Given edges. A guide divides the range into cells, `cells` + 1, a power of two, and each cell into 512 places, that do not
// decrease with the value. Entry and place of a value are added: the sum holds from bit 10 on the value's slot, since a place
// after the threshold inside of the cell carries into it. Its low bits are all ones at the very place of a threshold that
// places do not tell from the value before: there a comparison decides. HISTOGRAM_GUIDE_FINE: several thresholds lie in the cell,
// and the entry holds from bit 10 on where 16 entries for 16 parts of it begin, and one more. HISTOGRAM_GUIDE_SEARCH: a cell, or a
// part of one, that is searched from the slot in the rest of its entry to that of the next one.
#define HISTOGRAM_GUIDE_SEARCH 0x80000000u
#define HISTOGRAM_GUIDE_FINE 0xc0000000u
#define HISTOGRAM_GUIDE_REST 0x3fffffffu
#define HISTOGRAM_SUM_IS_SURE(sum) (((sum) & (HISTOGRAM_GUIDE_SEARCH | 1023u)) < 1023u)
// The number of the entry of a part, of a sum with HISTOGRAM_GUIDE_FINE.
#define HISTOGRAM_FINE_ENTRY(sum) (((sum) & HISTOGRAM_GUIDE_REST) >> 10) + ((sum) >> 5 & 15)
#define HISTOGRAM_FINE_PLACE(sum) (((sum) & 31) << 4)
// The slot of a cell's least value, or one more.
MASU_NOINLINE uint first_slot(uint entry, HISTOGRAM_GUIDE_SPACE const uint *guide) {
  if (entry >= HISTOGRAM_GUIDE_FINE) entry = guide[HISTOGRAM_FINE_ENTRY(entry)];
  return entry >= HISTOGRAM_GUIDE_SEARCH ? entry & HISTOGRAM_GUIDE_REST : entry >> 10;
}
MASU_NOINLINE uint search_cell(const MASU_VALUE x, uint slot, uint length,
                               HISTOGRAM_GUIDE_SPACE const MASU_VALUE *thresholds) {
  while (length > 1) {  // thresholds[slot] <= x
    const uint middle = length / 2;
    if (x >= thresholds[slot + middle]) slot += middle;
    length -= middle;
  }
  return slot;
}
inline uint slot_at_place(const MASU_VALUE x, const uint place, const uint cells,
                          HISTOGRAM_GUIDE_SPACE const MASU_VALUE *thresholds, HISTOGRAM_GUIDE_SPACE const uint *guide) {
  uint at = place >> 9 & cells;
  uint here = place & 511;
  uint entry = guide[at];
  if (entry >= HISTOGRAM_GUIDE_FINE) {
    const uint sum = entry + here;
    at = HISTOGRAM_FINE_ENTRY(sum);
    here = HISTOGRAM_FINE_PLACE(sum);
    entry = guide[at];
  }
  if (entry >= HISTOGRAM_GUIDE_SEARCH) {
    const uint slot = entry & HISTOGRAM_GUIDE_REST;
    // One cell is for any number of thresholds.
    const uint next = cells == 0 ? guide[1] : first_slot(guide[at + 1], guide);
    return search_cell(x, slot, next - slot + 1, thresholds);
  }
  const uint sum = entry + here;
  const uint slot = sum >> 10;
  return (sum & 1023) == 1023 && x >= thresholds[slot + 1] ? slot + 1 : slot;
}
inline uint sum_at_place(const uint place, bool *sure, const uint cells, HISTOGRAM_GUIDE_SPACE const uint *guide) {
  // In bytes at once: one instruction less.
  const uint entry = *(HISTOGRAM_GUIDE_SPACE const uint *)((HISTOGRAM_GUIDE_SPACE const uchar *)guide + (place >> 7 & cells << 2));
  const uint sum = entry + (place & 511);
  *sure = *sure & HISTOGRAM_SUM_IS_SURE(sum);
  return sum;
}
// A sum again, of a part where the cell has parts.
inline uint finer_sum(const uint cell_sum, bool *sure, HISTOGRAM_GUIDE_SPACE const uint *guide) {
  const uint sum = cell_sum >= HISTOGRAM_GUIDE_FINE ? guide[HISTOGRAM_FINE_ENTRY(cell_sum)] + HISTOGRAM_FINE_PLACE(cell_sum) : cell_sum;
  *sure = *sure & HISTOGRAM_SUM_IS_SURE(sum);
  return sum;
}

// A value finds its slot by PLACE(x), which is any place for what lies in no bin.
#define HISTOGRAM_DEFINE_EDGES(name, HISTOGRAM_PLACE_OF)                                    \
  MASU_NOINLINE uint slot_##name(const MASU_VALUE x, HISTOGRAM_SLOT_PARAMETERS) {           \
    if (!(x >= first && x <= last)) return outside_slot(x, bins, first, last);              \
    return slot_at_place(x, HISTOGRAM_PLACE_OF(x), cells, thresholds, guide);               \
  }                                                                                         \
  inline uint sum_##name(const MASU_VALUE x, bool *sure, HISTOGRAM_SLOT_PARAMETERS) {       \
    return sum_at_place(HISTOGRAM_PLACE_OF(x), sure, cells, guide);                         \
  }                                                                                         \
  inline uint try_##name(const MASU_VALUE x, bool *sure, HISTOGRAM_SLOT_PARAMETERS) {       \
    *sure = *sure & HISTOGRAM_INSIDE(x);                                                    \
    return sum_at_place(HISTOGRAM_PLACE_OF(x), sure, cells, guide) >> 10;                   \
  }
// Places of equal width, up to `error`. Where edges are infinite the product may be NaN, which fmin drops.
#define HISTOGRAM_FROM_BASE(x) (MASU_POSITION)((MASU_DISTANCE)(x) - (MASU_DISTANCE)base)
#define HISTOGRAM_PLACE_UP_TO(x) (uint)fmin(HISTOGRAM_FROM_BASE(x) * scale, error)
HISTOGRAM_DEFINE_EDGES(edges_up_to, HISTOGRAM_PLACE_UP_TO)
// The same where all bins lie within so many places that the low bits of a sum hold them.
#if MASU_POSITION_DOUBLE
#define HISTOGRAM_PLACE_BY_SUM(x) (uint)as_ulong(fma(HISTOGRAM_FROM_BASE(x), scale, 4503599627370496.0))
#else
#define HISTOGRAM_PLACE_BY_SUM(x) as_uint(fma(HISTOGRAM_FROM_BASE(x), scale, 8388608.0f))
#endif
HISTOGRAM_DEFINE_EDGES(edges, HISTOGRAM_PLACE_BY_SUM)

#if MASU_FLOAT
// The bits of a float as an unsigned integer in the order of the values, both zeros alike; of a double, those of its upper
// word.
inline uint ordered_bits(const MASU_VALUE x) {
#if MASU_ELEMENT_BYTES == 8
  const uint bits = (uint)(as_ulong(x + 0.0) >> 32);
#else
  const uint bits = as_uint(x + 0.0f);
#endif
  return bits ^ ((uint)((int)bits >> 31) | 0x80000000u);
}

// Places of 2^scale steps of the ordered bits: for edges whose distances grow with them.
#define HISTOGRAM_PLACE_BY_BITS(x) min((ordered_bits(x) - ordered_bits(base)) >> (uint)scale, cells << 9 | 511)
HISTOGRAM_DEFINE_EDGES(edges_by_bits, HISTOGRAM_PLACE_BY_BITS)
#endif

// The value of element e of some bytes.
inline MASU_VALUE value_at(__global const uchar *bytes, const size_t e) { return MASU_AS_VALUE(element_at(bytes, e)); }
