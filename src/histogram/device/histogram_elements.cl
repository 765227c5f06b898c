// SPDX-License-Identifier: Apache-2.0
// How kernels that do not take whole vectors of one column go through their data, element by element, in OpenCL C 1.2
// (and, after the CUDA prelude, in CUDA C++): joint histograms, whose points have a coordinate in each of several columns,
// bins that are partitioned, and weights. histogram_slots.cl comes before this file.
//
// kernels.md has the parameters, which histogram_plan.cpp gives.

#if MASU_COLUMNS == 0
#define HISTOGRAM_INPUT                                                                                      \
  __global const uchar *restrict data, const ulong byte_offset, const ulong count, const ulong row_elements, \
      const ulong pitch, const uint slots, HISTOGRAM_RULE_PARAMETERS(0)
// The value of element e; rows of `row_elements` lie `pitch` bytes apart, pitch 0: there is one row. Loads stand apart
// from finding slots, so that many are in flight.
inline MASU_VALUE element_value(__global const uchar *bytes, const ulong e, const ulong row_elements,
                                const ulong pitch) {
  const ulong row = pitch == 0 ? 0 : e / row_elements;
  return value_at(bytes + row * pitch, (size_t)(e - row * row_elements));
}
#define HISTOGRAM_DECLARE_VALUES(n) MASU_VALUE values[n];
#define HISTOGRAM_LOAD_VALUES(e, k) values[k] = element_value(data + byte_offset, e, row_elements, pitch);
#define HISTOGRAM_CHANNEL_OF(e) (MASU_CHANNELS == 1 ? 0 : (uint)((e) % MASU_CHANNELS) * slots)
// Declares `slot`, that of element e, whose value is number k of those loaded: clears `sure` where that is not known.
#define HISTOGRAM_TRY_SLOT(e, k, slot, sure) \
  const uint slot = HISTOGRAM_CHANNEL_OF(e) + MASU_TRY(values[k], &sure, HISTOGRAM_RULE(0));
#define HISTOGRAM_FIND_SLOWLY(e, k, slot) \
  const uint slot = HISTOGRAM_CHANNEL_OF(e) + MASU_SLOT(values[k], HISTOGRAM_RULE(0));
#else
// The columns of a joint histogram. `slots` is two more than the cells: points outside of the bins, and with a NaN.
#define HISTOGRAM_NONE()
#define HISTOGRAM_COMMA() ,
#define HISTOGRAM_EACH_1(f, between) f(0)
#define HISTOGRAM_EACH_2(f, between) HISTOGRAM_EACH_1(f, between) between() f(1)
#define HISTOGRAM_EACH_3(f, between) HISTOGRAM_EACH_2(f, between) between() f(2)
#define HISTOGRAM_EACH_4(f, between) HISTOGRAM_EACH_3(f, between) between() f(3)
#define HISTOGRAM_EACH_5(f, between) HISTOGRAM_EACH_4(f, between) between() f(4)
#define HISTOGRAM_EACH_6(f, between) HISTOGRAM_EACH_5(f, between) between() f(5)
#define HISTOGRAM_EACH_7(f, between) HISTOGRAM_EACH_6(f, between) between() f(6)
#define HISTOGRAM_EACH_8(f, between) HISTOGRAM_EACH_7(f, between) between() f(7)
#define HISTOGRAM_PASTE(a, b) a##b
#define HISTOGRAM_EACH_TO(n) HISTOGRAM_PASTE(HISTOGRAM_EACH_, n)
#define HISTOGRAM_EACH_COLUMN(f, between) HISTOGRAM_EACH_TO(MASU_COLUMNS)(f, between)

#define HISTOGRAM_COLUMN_AS(d, HISTOGRAM_ALONE) \
  __global const uchar *HISTOGRAM_ALONE data##d, const ulong byte_offset##d, HISTOGRAM_RULE_PARAMETERS_AS(d, HISTOGRAM_ALONE)
#define HISTOGRAM_COLUMN(d) HISTOGRAM_COLUMN_AS(d, restrict)
#define HISTOGRAM_INLINED_COLUMN(d) HISTOGRAM_COLUMN_AS(d, const)
#define HISTOGRAM_INPUT const ulong count, const uint slots, HISTOGRAM_EACH_COLUMN(HISTOGRAM_COLUMN, HISTOGRAM_COMMA)
#define HISTOGRAM_COLUMN_ARGUMENTS(d) data##d, byte_offset##d, HISTOGRAM_RULE_ARGUMENTS(d)
#define HISTOGRAM_DECLARE_COLUMN(d) MASU_VALUE values##d[MASU_UNROLL];
#define HISTOGRAM_DECLARE_VALUES(n) HISTOGRAM_EACH_COLUMN(HISTOGRAM_DECLARE_COLUMN, HISTOGRAM_NONE)
#define HISTOGRAM_LOAD_COLUMN(d) values##d[in_flight] = value_at(data##d + byte_offset##d, (size_t)element);
#define HISTOGRAM_LOAD_VALUES(e, k)             \
  {                                             \
    const ulong element = (e);                  \
    const int in_flight = (k);                  \
    HISTOGRAM_EACH_COLUMN(HISTOGRAM_LOAD_COLUMN, HISTOGRAM_NONE) \
  }
// Adds a coordinate of a point to its cell, the last column's bins next to each other.
#define HISTOGRAM_ADD_COLUMN(d)                                                                                    \
  {                                                                                                                \
    const uint bin = MASU_SLOT_##d(values##d[in_flight], HISTOGRAM_RULE(d));                                       \
    outside = outside || bin >= bins##d;                                                                           \
    nan = nan || bin == bins##d + 2;                                                                               \
    cell = cell * bins##d + bin;                                                                                   \
  }
#define HISTOGRAM_TRY_COLUMN(d) \
  cell = cell * bins##d + MASU_TRY_##d(values##d[in_flight], &sure, HISTOGRAM_RULE(d));
#define HISTOGRAM_TRY_SLOT(e, k, slot, sure)   \
  uint slot;                                   \
  {                                            \
    const int in_flight = (k);                 \
    uint cell = 0;                             \
    HISTOGRAM_EACH_COLUMN(HISTOGRAM_TRY_COLUMN, HISTOGRAM_NONE) \
    slot = cell;                               \
  }
#define HISTOGRAM_FIND_SLOWLY(e, k, slot)                    \
  uint slot;                                                 \
  {                                                          \
    const int in_flight = (k);                               \
    bool outside = false;                                    \
    bool nan = false;                                        \
    uint cell = 0;                                           \
    HISTOGRAM_EACH_COLUMN(HISTOGRAM_ADD_COLUMN, HISTOGRAM_NONE) \
    slot = nan ? slots - 1 : outside ? slots - 2 : cell;     \
  }
#endif

#define HISTOGRAM_FIND_SLOT(e, k, slot)  \
  bool sure = true;                      \
  HISTOGRAM_TRY_SLOT(e, k, tried, sure)  \
  uint slot = tried;                     \
  if (!sure) {                           \
    HISTOGRAM_FIND_SLOWLY(e, k, slowly)  \
    slot = slowly;                       \
  }

// Does ONE(slot) for every element, MASU_UNROLL of each work-item in flight.
#define HISTOGRAM_EACH_ELEMENT(HISTOGRAM_ONE)                                       \
  {                                                                                 \
    const size_t stride = get_global_size(0);                                       \
    size_t e = get_global_id(0);                                                    \
    HISTOGRAM_DECLARE_VALUES(MASU_UNROLL)                                           \
    for (; e + (MASU_UNROLL - 1) * stride < count; e += MASU_UNROLL * stride) {     \
      MASU_PRAGMA_UNROLL                                                            \
      for (int k = 0; k < MASU_UNROLL; ++k) {                                       \
        HISTOGRAM_LOAD_VALUES(e + k * stride, k)                                    \
      }                                                                             \
      MASU_PRAGMA_UNROLL                                                            \
      for (int k = 0; k < MASU_UNROLL; ++k) {                                       \
        HISTOGRAM_FIND_SLOT(e + k * stride, k, of_element)                          \
        HISTOGRAM_ONE(of_element);                                                  \
      }                                                                             \
    }                                                                               \
    for (; e < count; e += stride) {                                                \
      HISTOGRAM_LOAD_VALUES(e, 0)                                                   \
      HISTOGRAM_FIND_SLOT(e, 0, of_element)                                         \
      HISTOGRAM_ONE(of_element);                                                    \
    }                                                                               \
  }

#if MASU_COLUMNS != 0
// What the kernels of histogram.cl take in place of histogram_vectors.cl.
#define HISTOGRAM_PARAMETERS HISTOGRAM_INPUT, __global uint *totals, const ulong first_total
// The parameters of an inlined function have no `restrict`, as in histogram_vectors.cl: Oclgrind 21.10 lacks what it becomes.
#define HISTOGRAM_PARAMETERS_AS(HISTOGRAM_ALONE) \
  const ulong count, const uint slots, HISTOGRAM_EACH_COLUMN(HISTOGRAM_INLINED_COLUMN, HISTOGRAM_COMMA), __global uint *totals, \
      const ulong first_total
#define HISTOGRAM_ARGUMENTS count, slots, HISTOGRAM_EACH_COLUMN(HISTOGRAM_COLUMN_ARGUMENTS, HISTOGRAM_COMMA), totals, first_total
#define HISTOGRAM_CHANNEL 0
#define HISTOGRAM_NEXT_CHANNEL
#define HISTOGRAM_COUNT_ALL HISTOGRAM_EACH_ELEMENT(HISTOGRAM_COUNT_BIN)
#endif
