// SPDX-License-Identifier: Apache-2.0
// How kernels that do not take whole vectors of one column go through their data, element by element, in OpenCL C 1.2
// (and, after the CUDA prelude, in CUDA C++): joint histograms, whose points have a coordinate in each of several columns,
// bins that are partitioned, and weights. histogram_slots.cl comes before this file.
//
// Defines beside those of histogram_slots.cl, all given by histogram_plan.cpp:
// - MASU_GROUP     work-items in a work-group, a power of two
// - MASU_UNROLL    elements in flight for each work-item
// - MASU_CHANNELS  interleaved channels, each with slots of its own
// - MASU_COLUMNS   columns of a joint histogram; 0: one column, not joint

#if MASU_COLUMNS == 0
#define MASU_INPUT                                                                                           \
  __global const uchar *restrict data, const ulong byte_offset, const ulong count, const ulong row_elements, \
      const ulong pitch, const uint slots, MASU_RULE_PARAMETERS(0)
// The value of element e; rows of `row_elements` lie `pitch` bytes apart, pitch 0: there is one row. Loads stand apart
// from finding slots, so that many are in flight.
inline MASU_VALUE element_value(__global const uchar *bytes, const ulong e, const ulong row_elements,
                                const ulong pitch) {
  const ulong row = pitch == 0 ? 0 : e / row_elements;
  return value_at(bytes + row * pitch, (size_t)(e - row * row_elements));
}
#define MASU_DECLARE_VALUES(n) MASU_VALUE values[n];
#define MASU_LOAD_VALUES(e, k) values[k] = element_value(data + byte_offset, e, row_elements, pitch);
#define MASU_CHANNEL_OF(e) (MASU_CHANNELS == 1 ? 0 : (uint)((e) % MASU_CHANNELS) * slots)
// Declares `slot`, that of element e, whose value is number k of those loaded: clears `sure` where that is not known.
#define MASU_TRY_SLOT(e, k, slot, sure) \
  const uint slot = MASU_CHANNEL_OF(e) + MASU_TRY(values[k], &sure, MASU_RULE(0));
#define MASU_FIND_SLOWLY(e, k, slot) \
  const uint slot = MASU_CHANNEL_OF(e) + MASU_SLOT(values[k], MASU_RULE(0));
#else
// The columns of a joint histogram. `slots` is two more than the cells: points outside of the bins, and with a NaN.
#define MASU_NONE()
#define MASU_COMMA() ,
#define MASU_EACH_1(f, between) f(0)
#define MASU_EACH_2(f, between) MASU_EACH_1(f, between) between() f(1)
#define MASU_EACH_3(f, between) MASU_EACH_2(f, between) between() f(2)
#define MASU_EACH_4(f, between) MASU_EACH_3(f, between) between() f(3)
#define MASU_EACH_5(f, between) MASU_EACH_4(f, between) between() f(4)
#define MASU_EACH_6(f, between) MASU_EACH_5(f, between) between() f(5)
#define MASU_EACH_7(f, between) MASU_EACH_6(f, between) between() f(6)
#define MASU_EACH_8(f, between) MASU_EACH_7(f, between) between() f(7)
#define MASU_PASTE(a, b) a##b
#define MASU_EACH_TO(n) MASU_PASTE(MASU_EACH_, n)
#define MASU_EACH_COLUMN(f, between) MASU_EACH_TO(MASU_COLUMNS)(f, between)

#define MASU_COLUMN(d) __global const uchar *restrict data##d, const ulong byte_offset##d, MASU_RULE_PARAMETERS(d)
#define MASU_INPUT const ulong count, const uint slots, MASU_EACH_COLUMN(MASU_COLUMN, MASU_COMMA)
#define MASU_COLUMN_ARGUMENTS(d) data##d, byte_offset##d, MASU_RULE_ARGUMENTS(d)
#define MASU_DECLARE_COLUMN(d) MASU_VALUE values##d[MASU_UNROLL];
#define MASU_DECLARE_VALUES(n) MASU_EACH_COLUMN(MASU_DECLARE_COLUMN, MASU_NONE)
#define MASU_LOAD_COLUMN(d) values##d[in_flight] = value_at(data##d + byte_offset##d, (size_t)element);
#define MASU_LOAD_VALUES(e, k)                  \
  {                                             \
    const ulong element = (e);                  \
    const int in_flight = (k);                  \
    MASU_EACH_COLUMN(MASU_LOAD_COLUMN, MASU_NONE) \
  }
// Adds a coordinate of a point to its cell, the last column's bins next to each other.
#define MASU_ADD_COLUMN(d)                                                                                         \
  {                                                                                                                \
    const uint bin = MASU_SLOT_##d(values##d[in_flight], MASU_RULE(d));                                            \
    outside = outside || bin >= bins##d;                                                                           \
    nan = nan || bin == bins##d + 2;                                                                               \
    cell = cell * bins##d + bin;                                                                                   \
  }
#define MASU_TRY_COLUMN(d) \
  cell = cell * bins##d + MASU_TRY_##d(values##d[in_flight], &sure, MASU_RULE(d));
#define MASU_TRY_SLOT(e, k, slot, sure)        \
  uint slot;                                   \
  {                                            \
    const int in_flight = (k);                 \
    uint cell = 0;                             \
    MASU_EACH_COLUMN(MASU_TRY_COLUMN, MASU_NONE) \
    slot = cell;                               \
  }
#define MASU_FIND_SLOWLY(e, k, slot)                         \
  uint slot;                                                 \
  {                                                          \
    const int in_flight = (k);                               \
    bool outside = false;                                    \
    bool nan = false;                                        \
    uint cell = 0;                                           \
    MASU_EACH_COLUMN(MASU_ADD_COLUMN, MASU_NONE)             \
    slot = nan ? slots - 1 : outside ? slots - 2 : cell;     \
  }
#endif

#define MASU_FIND_SLOT(e, k, slot)       \
  bool sure = true;                      \
  MASU_TRY_SLOT(e, k, tried, sure)       \
  uint slot = tried;                     \
  if (!sure) {                           \
    MASU_FIND_SLOWLY(e, k, slowly)       \
    slot = slowly;                       \
  }

// Does ONE(slot) for every element, MASU_UNROLL of each work-item in flight.
#define MASU_EACH_ELEMENT(MASU_ONE)                                                 \
  {                                                                                 \
    const size_t stride = get_global_size(0);                                       \
    size_t e = get_global_id(0);                                                    \
    MASU_DECLARE_VALUES(MASU_UNROLL)                                                \
    for (; e + (MASU_UNROLL - 1) * stride < count; e += MASU_UNROLL * stride) {     \
      MASU_PRAGMA_UNROLL                                                            \
      for (int k = 0; k < MASU_UNROLL; ++k) {                                       \
        MASU_LOAD_VALUES(e + k * stride, k)                                         \
      }                                                                             \
      MASU_PRAGMA_UNROLL                                                            \
      for (int k = 0; k < MASU_UNROLL; ++k) {                                       \
        MASU_FIND_SLOT(e + k * stride, k, of_element)                               \
        MASU_ONE(of_element);                                                       \
      }                                                                             \
    }                                                                               \
    for (; e < count; e += stride) {                                                \
      MASU_LOAD_VALUES(e, 0)                                                        \
      MASU_FIND_SLOT(e, 0, of_element)                                              \
      MASU_ONE(of_element);                                                         \
    }                                                                               \
  }

#if MASU_COLUMNS != 0
// What the kernels of histogram.cl take in place of histogram_vectors.cl.
#define MASU_PARAMETERS_AS(MASU_ALONE) MASU_INPUT, __global uint *totals, const ulong first_total
#define MASU_PARAMETERS MASU_PARAMETERS_AS(restrict)
#define MASU_ARGUMENTS count, slots, MASU_EACH_COLUMN(MASU_COLUMN_ARGUMENTS, MASU_COMMA), totals, first_total
#define MASU_CHANNEL 0
#define MASU_NEXT_CHANNEL
#define MASU_COUNT_ALL MASU_EACH_ELEMENT(MASU_COUNT_BIN)
#endif
