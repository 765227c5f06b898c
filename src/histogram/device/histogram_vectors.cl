// SPDX-License-Identifier: Apache-2.0
// How the kernels of histogram.cl go through their data: 16-byte vectors, their values in order, and the values before
// and after them. histogram_slots.cl comes before this file.
//
// They read `count` elements that start `byte_offset` bytes into `data`, or `rows` times that many, `pitch` bytes
// from row to row; and add to `totals`, from slot `first_total` on, one 64-bit count a slot as two 32-bit words, low word
// first.
//
// kernels.md has the parameters, which histogram_plan.cpp gives.

#define HISTOGRAM_PARAMETERS_AS(HISTOGRAM_ALONE)                                                                   \
  __global const uchar *HISTOGRAM_ALONE data, const ulong byte_offset, const ulong count, const ulong rows,         \
      const ulong pitch, const uint slots, HISTOGRAM_RULE_PARAMETERS_AS(0, HISTOGRAM_ALONE), __global uint *totals, const ulong first_total
#define HISTOGRAM_PARAMETERS HISTOGRAM_PARAMETERS_AS(restrict)
#define HISTOGRAM_ARGUMENTS data, byte_offset, count, rows, pitch, slots, HISTOGRAM_RULE_ARGUMENTS(0), totals, first_total

// The elements are a head of up to 15 bytes, 16-byte vectors, and a tail; head and tail are read one by one.
inline size_t head_of(__global const uchar *bytes, const ulong count) {
  const size_t misaligned = (size_t)bytes & 15;
  const size_t head = misaligned == 0 ? 0 : (16 - misaligned) / MASU_ELEMENT_BYTES;
  return head < count ? head : (size_t)count;
}

// HISTOGRAM_COUNT(x) is what a kernel does with one value, HISTOGRAM_COUNT_BIN(bin) with one whose bin is known. These hand it every
// value of a 16-byte vector, in order: all bins first, so that one branch serves them all.
#ifdef MASU_SUM
// Given edges: sums of the guide, then, where one is not sure, those of parts of its cells.
#define HISTOGRAM_TRY_VALUE(n, bits)                 \
  const MASU_VALUE x##n = MASU_AS_VALUE(bits);       \
  uint bin##n = MASU_SUM(x##n, &sure, HISTOGRAM_RULE(0)); \
  inside = inside & (x##n >= first0) & (x##n <= last0);
#define HISTOGRAM_TRY_FINER(n) bin##n = finer_sum(bin##n, &sure, HISTOGRAM_GUIDE(0));
#define HISTOGRAM_COUNT_TRIED(n) HISTOGRAM_COUNT_BIN(bin##n >> 10)
// The slots of four values. One call for all, since what is computed here must not become a part of what the loop computes:
// predicates that it keeps for this cost it a quarter of its speed.
MASU_NOINLINE uint4 slots_slowly(const MASU_VALUE x0, const MASU_VALUE x1, const MASU_VALUE x2, const MASU_VALUE x3,
                                 HISTOGRAM_SLOT_PARAMETERS) {
  uint4 found;
#define HISTOGRAM_FIND_SLOWLY(slot, x)                                                      \
  if (x >= first && x <= last) {                                                            \
    bool tried = true;                                                                      \
    bool sure = true;                                                                       \
    slot = finer_sum(MASU_SUM(x, &tried, HISTOGRAM_SLOT_ARGUMENTS), &sure, guide) >> 10;    \
    if (!sure) slot = MASU_SLOT(x, HISTOGRAM_SLOT_ARGUMENTS);                               \
  } else {                                                                                  \
    slot = outside_slot(x, bins, first, last);                                              \
  }
  HISTOGRAM_FIND_SLOWLY(found.x, x0)
  HISTOGRAM_FIND_SLOWLY(found.y, x1)
  HISTOGRAM_FIND_SLOWLY(found.z, x2)
  HISTOGRAM_FIND_SLOWLY(found.w, x3)
  return found;
}
#else
#define HISTOGRAM_TRY_VALUE(n, bits)           \
  const MASU_VALUE x##n = MASU_AS_VALUE(bits); \
  const uint bin##n = MASU_TRY(x##n, &sure, HISTOGRAM_RULE(0));
#define HISTOGRAM_COUNT_TRIED(n) HISTOGRAM_COUNT_BIN(bin##n)
#define HISTOGRAM_COUNT_VALUE(n) HISTOGRAM_COUNT(x##n)
#endif
#if MASU_ELEMENT_BYTES == 1
#define HISTOGRAM_COUNT_WORD(w)        \
  HISTOGRAM_COUNT(MASU_AS_VALUE((w) & 255)) \
  HISTOGRAM_COUNT(MASU_AS_VALUE((w) >> 8 & 255)) HISTOGRAM_COUNT(MASU_AS_VALUE((w) >> 16 & 255)) HISTOGRAM_COUNT(MASU_AS_VALUE((w) >> 24))
#define HISTOGRAM_COUNT_VECTOR(v) HISTOGRAM_COUNT_WORD(v.x) HISTOGRAM_COUNT_WORD(v.y) HISTOGRAM_COUNT_WORD(v.z) HISTOGRAM_COUNT_WORD(v.w)
#else
#if MASU_ELEMENT_BYTES == 2
#define HISTOGRAM_TRY_VECTOR(v)                                                              \
  HISTOGRAM_TRY_VALUE(0, v.x & 65535) HISTOGRAM_TRY_VALUE(1, v.x >> 16) HISTOGRAM_TRY_VALUE(2, v.y & 65535) \
  HISTOGRAM_TRY_VALUE(3, v.y >> 16) HISTOGRAM_TRY_VALUE(4, v.z & 65535) HISTOGRAM_TRY_VALUE(5, v.z >> 16) \
  HISTOGRAM_TRY_VALUE(6, v.w & 65535) HISTOGRAM_TRY_VALUE(7, v.w >> 16)
#define HISTOGRAM_OF_EACH(HISTOGRAM_DO) \
  HISTOGRAM_DO(0) HISTOGRAM_DO(1) HISTOGRAM_DO(2) HISTOGRAM_DO(3) HISTOGRAM_DO(4) HISTOGRAM_DO(5) HISTOGRAM_DO(6) HISTOGRAM_DO(7)
#elif MASU_ELEMENT_BYTES == 4
#define HISTOGRAM_TRY_VECTOR(v) \
  HISTOGRAM_TRY_VALUE(0, v.x) HISTOGRAM_TRY_VALUE(1, v.y) HISTOGRAM_TRY_VALUE(2, v.z) HISTOGRAM_TRY_VALUE(3, v.w)
#define HISTOGRAM_OF_EACH(HISTOGRAM_DO) HISTOGRAM_DO(0) HISTOGRAM_DO(1) HISTOGRAM_DO(2) HISTOGRAM_DO(3)
#else
#define HISTOGRAM_TRY_VECTOR(v) \
  HISTOGRAM_TRY_VALUE(0, (ulong)v.y << 32 | (ulong)v.x) HISTOGRAM_TRY_VALUE(1, (ulong)v.w << 32 | (ulong)v.z)
#define HISTOGRAM_OF_EACH(HISTOGRAM_DO) HISTOGRAM_DO(0) HISTOGRAM_DO(1)
#endif
#ifndef MASU_SUM
#define HISTOGRAM_COUNT_SLOWLY HISTOGRAM_OF_EACH(HISTOGRAM_COUNT_VALUE)
#else
#define HISTOGRAM_COUNT_FOUR(x0, x1, x2, x3)                        \
  {                                                                 \
    const uint4 found = slots_slowly(x0, x1, x2, x3, HISTOGRAM_RULE(0)); \
    HISTOGRAM_COUNT_BIN(found.x)                                    \
    HISTOGRAM_COUNT_BIN(found.y)                                    \
    if (MASU_ELEMENT_BYTES < 8) {                                   \
      HISTOGRAM_COUNT_BIN(found.z)                                  \
      HISTOGRAM_COUNT_BIN(found.w)                                  \
    }                                                               \
  }
#if MASU_ELEMENT_BYTES == 2
#define HISTOGRAM_COUNT_SLOWLY HISTOGRAM_COUNT_FOUR(x0, x1, x2, x3) HISTOGRAM_COUNT_FOUR(x4, x5, x6, x7)
#elif MASU_ELEMENT_BYTES == 4
#define HISTOGRAM_COUNT_SLOWLY HISTOGRAM_COUNT_FOUR(x0, x1, x2, x3)
#else
#define HISTOGRAM_COUNT_SLOWLY HISTOGRAM_COUNT_FOUR(x0, x1, x0, x1)
#endif
#endif
#define HISTOGRAM_COUNT_VECTOR(v)    \
  {                                  \
    bool sure = true;                \
    bool inside = true;              \
    HISTOGRAM_TRY_VECTOR(v)          \
    HISTOGRAM_TRY_AGAIN              \
    if (sure & inside) {             \
      HISTOGRAM_OF_EACH(HISTOGRAM_COUNT_TRIED) \
    } else {                         \
      HISTOGRAM_COUNT_SLOWLY         \
    }                                \
  }
#ifdef MASU_SUM
#define HISTOGRAM_TRY_AGAIN        \
  if (!sure) {                     \
    sure = true;                   \
    HISTOGRAM_OF_EACH(HISTOGRAM_TRY_FINER) \
  }
#else
#define HISTOGRAM_TRY_AGAIN
#endif
#endif

// Interleaved channels: `channel_slot` is the first slot of the next value's channel. Nothing is left of this with one
// channel. `channel` is a keyword where there is cl_intel_channels.
#if MASU_CHANNELS == 1
#define HISTOGRAM_SET_CHANNEL(element)
#define HISTOGRAM_CHANNEL 0
#define HISTOGRAM_NEXT_CHANNEL
#else
#define HISTOGRAM_SET_CHANNEL(element) uint channel_slot = (uint)((element) % MASU_CHANNELS) * slots;
#define HISTOGRAM_CHANNEL channel_slot
#define HISTOGRAM_NEXT_CHANNEL \
  channel_slot = channel_slot + slots == MASU_CHANNELS * slots ? 0 : channel_slot + slots;
#endif
#define HISTOGRAM_SLOT_OF(x) MASU_SLOT(x, HISTOGRAM_RULE(0))

// Hands every value of `count` elements from `bytes` on to HISTOGRAM_COUNT, `stride` work-items side by side, this one the
// number `item` of them.
#define HISTOGRAM_COUNT_SPAN(bytes, item, stride)                                                     \
  {                                                                                                   \
    const size_t head = head_of(bytes, count);                                                        \
    const size_t vectors = (size_t)(count - head) / MASU_PER_VECTOR;                                  \
    __global const uint4 *body = (__global const uint4 *)((bytes) + head * MASU_ELEMENT_BYTES);         \
    size_t i = (item);                                                                                \
    for (; i + (MASU_UNROLL - 1) * (stride) < vectors; i += MASU_UNROLL * (stride)) {                 \
      uint4 loaded[MASU_UNROLL];                                                                      \
      MASU_PRAGMA_UNROLL                                                                              \
      for (int k = 0; k < MASU_UNROLL; ++k) loaded[k] = masu_load_streaming(body + i + k * (stride)); \
      MASU_PRAGMA_UNROLL                                                                              \
      for (int k = 0; k < MASU_UNROLL; ++k) {                                                         \
        const uint4 v = loaded[k];                                                                    \
        HISTOGRAM_SET_CHANNEL(head + (i + k * (stride)) * MASU_PER_VECTOR)                            \
        HISTOGRAM_COUNT_VECTOR(v)                                                                     \
      }                                                                                               \
    }                                                                                                 \
    for (; i < vectors; i += (stride)) {                                                              \
      const uint4 v = masu_load_streaming(body + i);                                                  \
      HISTOGRAM_SET_CHANNEL(head + i * MASU_PER_VECTOR)                                               \
      HISTOGRAM_COUNT_VECTOR(v)                                                                       \
    }                                                                                                 \
    const size_t tail = head + vectors * MASU_PER_VECTOR;                                             \
    for (size_t e = (item); e < head + (size_t)(count - tail); e += (stride)) {                       \
      const size_t element = e < head ? e : tail + (e - head);                                        \
      HISTOGRAM_SET_CHANNEL(element)                                                                  \
      HISTOGRAM_COUNT(value_at(bytes, element))                                                       \
    }                                                                                                 \
  }
// All elements: of one span, the work-items of the whole launch side by side; of rows, each by one work-group.
#if MASU_ROWS
#define HISTOGRAM_COUNT_ALL                                                       \
  for (size_t row = get_group_id(0); row < rows; row += get_num_groups(0)) {      \
    __global const uchar *bytes = data + byte_offset + row * pitch;               \
    HISTOGRAM_COUNT_SPAN(bytes, get_local_id(0), (size_t)MASU_GROUP)              \
  }
#else
#define HISTOGRAM_COUNT_ALL                                      \
  {                                                              \
    __global const uchar *bytes = data + byte_offset;            \
    HISTOGRAM_COUNT_SPAN(bytes, get_global_id(0), get_global_size(0)) \
  }
#endif
