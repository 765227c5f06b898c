// SPDX-License-Identifier: Apache-2.0
// Counting values into bins, in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++).
//
// Every kernel reads `count` values that start `byte_offset` bytes into `data`, gives each a slot (its bin, or one of three
// slots behind the bins: below, above, NaN) and adds to `totals`, one 64-bit count a slot as two 32-bit words, low word
// first. The kernels differ in where they count before that; they are the steps of src/histogram/README.md.
//
// Defines, all given by histogram_plan.cpp:
#ifndef MASU_VALUE            // the element type: uchar … double
#error "MASU_VALUE is not defined"
#endif
#ifndef MASU_VALUE_BYTES      // its size: 1, 2, 4, 8
#error "MASU_VALUE_BYTES is not defined"
#endif
#ifndef MASU_AS_VALUE         // turns its bits, in an unsigned integer of at least its size, into it
#error "MASU_AS_VALUE is not defined"
#endif
#ifndef MASU_DISTANCE         // the unsigned type (or the float type) of a difference of two values
#error "MASU_DISTANCE is not defined"
#endif
#ifndef MASU_POSITION         // the type in which a bin is guessed: float, or double for double values
#error "MASU_POSITION is not defined"
#endif
#ifndef MASU_BINNING          // how a value finds its slot: one of the four below
#error "MASU_BINNING is not defined"
#endif
#ifndef MASU_GROUP            // work-items in a work-group
#error "MASU_GROUP is not defined"
#endif
#ifndef MASU_UNROLL           // 16-byte loads in flight for each work-item
#error "MASU_UNROLL is not defined"
#endif
#ifndef MASU_COPIES           // copies of the table in local memory, a power of two: 1 for `local`, more for `lanes`
#error "MASU_COPIES is not defined"
#endif
#ifndef MASU_ROW_BITS         // log2 of the bytes of a slot with all its copies: log2(4 * MASU_COPIES)
#error "MASU_ROW_BITS is not defined"
#endif
#ifndef MASU_CHANNELS         // interleaved channels, each with slots of its own
#error "MASU_CHANNELS is not defined"
#endif
#ifndef MASU_KERNEL           // which one kernel to compile: one of the five below
#error "MASU_KERNEL is not defined"
#endif
#ifndef MASU_PRIVATE_SLOTS    // slots that a work-item's private table has room for
#error "MASU_PRIVATE_SLOTS is not defined"
#endif

#define MASU_BINNING_BYTES 0     // the value's byte is its slot; the host folds the 256 counts into bins
#define MASU_BINNING_INTEGERS 1  // value v is bin v
#define MASU_BINNING_EVEN 2      // a guess by multiplication, corrected by one threshold
#define MASU_BINNING_EDGES 3     // a search in the thresholds

#define MASU_KERNEL_LOCAL 0
#define MASU_KERNEL_GLOBAL 1
#define MASU_KERNEL_PRIVATE 2
#define MASU_KERNEL_SEQUENTIAL 3
#define MASU_KERNEL_RANGE 4

// What every kernel needs to find a slot. `thresholds` holds the least value of each bin; bins from `reachable` on start
// above the largest value of the type. first <= x <= last says that x lies in a bin. x - base is where a guess starts.
#define MASU_RULE_PARAMETERS                                                                               \
  __global const MASU_VALUE *restrict thresholds, const uint reachable, const uint bins, const MASU_VALUE first, \
      const MASU_VALUE last, const MASU_VALUE base, const MASU_POSITION scale, const MASU_POSITION shift,  \
      const MASU_POSITION error
#define MASU_RULE thresholds, reachable, bins, first, last, base, scale, shift, error

inline uint slot_of(const MASU_VALUE x, MASU_RULE_PARAMETERS) {
#if MASU_BINNING == MASU_BINNING_BYTES
  return (uint)(uchar)x;
#else
  if (!(x >= first && x <= last)) {
    return x < first ? bins : x > last ? bins + 1 : bins + 2;
  }
#if MASU_BINNING == MASU_BINNING_INTEGERS
  return (uint)x;
#elif MASU_BINNING == MASU_BINNING_EVEN
  // The host has proved that a position is off by `error` bins at most. So one that is clear of whole numbers decides;
  // otherwise a guess a quarter of a bin low is the value's bin or the one before it.
  const MASU_POSITION position = (MASU_POSITION)(MASU_DISTANCE)(x - base) * scale + shift;
  const uint whole = (uint)(int)position;
  const MASU_POSITION part = position - (MASU_POSITION)whole;
  if (part >= error && part <= 1 - error) return whole;
  const uint guess = min((uint)max(position - (MASU_POSITION)0.25, (MASU_POSITION)0), reachable - 1);
  const uint next = min(guess + 1, reachable - 1);
  return x >= thresholds[next] ? next : guess;
#else
  uint slot = 0;  // thresholds[slot] <= x
  uint length = reachable;
  while (length > 1) {
    const uint middle = length / 2;
    if (x >= thresholds[slot + middle]) slot += middle;
    length -= middle;
  }
  return slot;
#endif
#endif
}

// A 64-bit sum in two words: whoever makes the low word wrap adds the carry. Needs no 64-bit atomics.
inline void add_total(__global uint *totals, const size_t slot, const uint amount) {
  const uint before = atomic_add(&totals[2 * slot], amount);
  if (before + amount < before) atomic_inc(&totals[2 * slot + 1]);
}

// The values lie as 16-byte vectors behind up to 15 bytes of head and before a tail; both are read one by one.
inline size_t head_of(__global const uchar *bytes, const ulong count) {
  const size_t misaligned = (size_t)bytes & 15;
  const size_t head = misaligned == 0 ? 0 : (16 - misaligned) / MASU_VALUE_BYTES;
  return head < count ? head : (size_t)count;
}

#define MASU_PER_VECTOR (16 / MASU_VALUE_BYTES)

// MASU_COUNT(x) is what a kernel does with one value; these hand it every value of a 16-byte vector, in order.
#if MASU_VALUE_BYTES == 1
#define MASU_COUNT_WORD(w)             \
  MASU_COUNT(MASU_AS_VALUE((w) & 255)) \
  MASU_COUNT(MASU_AS_VALUE((w) >> 8 & 255)) MASU_COUNT(MASU_AS_VALUE((w) >> 16 & 255)) MASU_COUNT(MASU_AS_VALUE((w) >> 24))
#define MASU_COUNT_VECTOR(v) MASU_COUNT_WORD(v.x) MASU_COUNT_WORD(v.y) MASU_COUNT_WORD(v.z) MASU_COUNT_WORD(v.w)
#elif MASU_VALUE_BYTES == 2
#define MASU_COUNT_WORD(w) MASU_COUNT(MASU_AS_VALUE((w) & 65535)) MASU_COUNT(MASU_AS_VALUE((w) >> 16))
#define MASU_COUNT_VECTOR(v) MASU_COUNT_WORD(v.x) MASU_COUNT_WORD(v.y) MASU_COUNT_WORD(v.z) MASU_COUNT_WORD(v.w)
#elif MASU_VALUE_BYTES == 4
#define MASU_COUNT_VECTOR(v)                                                                      \
  MASU_COUNT(MASU_AS_VALUE(v.x))                                                                  \
  MASU_COUNT(MASU_AS_VALUE(v.y)) MASU_COUNT(MASU_AS_VALUE(v.z)) MASU_COUNT(MASU_AS_VALUE(v.w))
#else
#define MASU_COUNT_VECTOR(v)                              \
  MASU_COUNT(MASU_AS_VALUE((ulong)v.y << 32 | (ulong)v.x)) \
  MASU_COUNT(MASU_AS_VALUE((ulong)v.w << 32 | (ulong)v.z))
#endif

// Interleaved channels: `channel` is the first slot of the next value's channel. Nothing is left of this with one channel.
#if MASU_CHANNELS == 1
#define MASU_SET_CHANNEL(element)
#define MASU_CHANNEL 0
#define MASU_NEXT_CHANNEL
#else
#define MASU_SET_CHANNEL(element) uint channel = (uint)((element) % MASU_CHANNELS) * slots;
#define MASU_CHANNEL channel
#define MASU_NEXT_CHANNEL channel = channel + slots == MASU_CHANNELS * slots ? 0 : channel + slots;
#endif

// Hands every value of the input to MASU_COUNT, the work-items of the whole launch side by side.
#define MASU_COUNT_ALL                                                                                      \
  {                                                                                                         \
    __global const uchar *bytes = data + byte_offset;                                                       \
    const size_t head = head_of(bytes, count);                                                              \
    const size_t vectors = (size_t)(count - head) / MASU_PER_VECTOR;                                        \
    __global const uint4 *body = (__global const uint4 *)(bytes + head * MASU_VALUE_BYTES);                 \
    const size_t stride = get_global_size(0);                                                               \
    size_t i = get_global_id(0);                                                                            \
    for (; i + (MASU_UNROLL - 1) * stride < vectors; i += MASU_UNROLL * stride) {                           \
      uint4 loaded[MASU_UNROLL];                                                                            \
      MASU_PRAGMA_UNROLL                                                                                    \
      for (int k = 0; k < MASU_UNROLL; ++k) loaded[k] = masu_load_streaming(body + i + k * stride);         \
      MASU_PRAGMA_UNROLL                                                                                    \
      for (int k = 0; k < MASU_UNROLL; ++k) {                                                               \
        const uint4 v = loaded[k];                                                                          \
        MASU_SET_CHANNEL(head + (i + k * stride) * MASU_PER_VECTOR)                                         \
        MASU_COUNT_VECTOR(v)                                                                                \
      }                                                                                                     \
    }                                                                                                       \
    for (; i < vectors; i += stride) {                                                                      \
      const uint4 v = masu_load_streaming(body + i);                                                        \
      MASU_SET_CHANNEL(head + i * MASU_PER_VECTOR)                                                          \
      MASU_COUNT_VECTOR(v)                                                                                  \
    }                                                                                                       \
    const size_t tail = head + vectors * MASU_PER_VECTOR;                                                   \
    for (size_t e = get_global_id(0); e < head + (count - tail); e += stride) {                             \
      const size_t element = e < head ? e : tail + (e - head);                                              \
      MASU_SET_CHANNEL(element)                                                                             \
      MASU_COUNT(((__global const MASU_VALUE *)bytes)[element])                                             \
    }                                                                                                       \
  }

#define MASU_PARAMETERS                                                                                      \
  __global const uchar *restrict data, const ulong byte_offset, const ulong count, const uint slots, MASU_RULE_PARAMETERS, \
      __global uint *totals

#if MASU_KERNEL == MASU_KERNEL_LOCAL
// `local` and `lanes`: a table for each work-group in local memory, MASU_COPIES words a slot. With as many copies as the
// memory has banks, the word `slot * copies + lane` lies in the lane's own bank: no two lanes of a warp ever wait for each
// other, whatever the values are. A group counts fewer than 2^32 values (the host splits larger launches).
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_local(MASU_PARAMETERS, __local uint *table) {
  MASU_LOCAL_POINTER(uint, table);
  const uint lane = (uint)get_local_id(0);
  const uint words = slots * MASU_CHANNELS * MASU_COPIES;
  for (uint w = lane; w < words; w += MASU_GROUP) table[w] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

#if MASU_BINNING == MASU_BINNING_BYTES && MASU_CHANNELS == 1
  // The slot is the byte: one shift and one three-way logical instruction make its place in the table, in bytes.
  __local uchar *places = (__local uchar *)table;
  const uint column = 4 * (lane & (MASU_COPIES - 1));
#define MASU_COUNT(x) atomic_inc((__local uint *)(places + ((uint)(x) * (4 * MASU_COPIES) | column)));
#define MASU_PLACE(bits) atomic_inc((__local uint *)(places + (((bits) & (255 * 4 * MASU_COPIES)) | column)));
#define MASU_SHIFT(w, right) ((right) >= MASU_ROW_BITS ? (w) >> ((right) - MASU_ROW_BITS) : (w) << (MASU_ROW_BITS - (right)))
#undef MASU_COUNT_WORD
#define MASU_COUNT_WORD(w)        \
  MASU_PLACE(MASU_SHIFT((w), 0))  \
  MASU_PLACE(MASU_SHIFT((w), 8))  \
  MASU_PLACE(MASU_SHIFT((w), 16)) \
  MASU_PLACE(MASU_SHIFT((w), 24))
#else
  const uint copy = lane & (MASU_COPIES - 1);
#define MASU_COUNT(x)                                                              \
  atomic_inc(&table[(MASU_CHANNEL + slot_of(x, MASU_RULE)) * MASU_COPIES + copy]); \
  MASU_NEXT_CHANNEL
#endif
  MASU_COUNT_ALL
#undef MASU_COUNT

  barrier(CLK_LOCAL_MEM_FENCE);
  // Each work-item sums the copies of some slots, starting at its own bank.
  for (uint s = lane; s < slots * MASU_CHANNELS; s += MASU_GROUP) {
    uint sum = 0;
    for (uint c = 0; c < MASU_COPIES; ++c) sum += table[s * MASU_COPIES + ((c + lane) & (MASU_COPIES - 1))];
    if (sum != 0) add_total(totals, s, sum);
  }
}
#endif

#if MASU_KERNEL == MASU_KERNEL_GLOBAL
// `global`: every value is one atomic addition to the result.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_global(MASU_PARAMETERS) {
#define MASU_COUNT(x)                                            \
  add_total(totals, MASU_CHANNEL + slot_of(x, MASU_RULE), 1); \
  MASU_NEXT_CHANNEL
  MASU_COUNT_ALL
#undef MASU_COUNT
}
#endif

#if MASU_KERNEL == MASU_KERNEL_PRIVATE
// `private`: each work-item has a table of its own, then adds it to the result.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_private(MASU_PARAMETERS) {
  uint table[MASU_PRIVATE_SLOTS];
  for (uint s = 0; s < slots * MASU_CHANNELS; ++s) table[s] = 0;
#define MASU_COUNT(x)                               \
  ++table[MASU_CHANNEL + slot_of(x, MASU_RULE)]; \
  MASU_NEXT_CHANNEL
  MASU_COUNT_ALL
#undef MASU_COUNT
  for (uint s = 0; s < slots * MASU_CHANNELS; ++s) {
    if (table[s] != 0) add_total(totals, s, table[s]);
  }
}
#endif

#if MASU_KERNEL == MASU_KERNEL_SEQUENTIAL
// `sequential`: one work-item, one loop, one table. For learning and for tests.
__kernel void histogram_sequential(MASU_PARAMETERS) {
  __global const MASU_VALUE *values = (__global const MASU_VALUE *)(data + byte_offset);
  for (ulong element = 0; element < count; ++element) {
    MASU_SET_CHANNEL(element)
    const size_t slot = MASU_CHANNEL + slot_of(values[element], MASU_RULE);
    if (++totals[2 * slot] == 0) ++totals[2 * slot + 1];
  }
}
#endif

#if MASU_KERNEL == MASU_KERNEL_RANGE
// The least and the greatest finite value: two values for each work-group, `least` > `greatest` where it met none.
__kernel MASU_WORK_GROUP(MASU_GROUP) void histogram_range(__global const uchar *data, const ulong byte_offset,
                                                          const ulong count, const MASU_VALUE highest,
                                                          const MASU_VALUE lowest, __global MASU_VALUE *result,
                                                          __local MASU_VALUE *least, __local MASU_VALUE *greatest) {
  MASU_LOCAL_POINTER(MASU_VALUE, least);
  MASU_LOCAL_POINTER(MASU_VALUE, greatest);
  __global const MASU_VALUE *values = (__global const MASU_VALUE *)(data + byte_offset);
  const uint lane = (uint)get_local_id(0);
  MASU_VALUE lo = highest;
  MASU_VALUE hi = lowest;
  for (size_t i = get_global_id(0); i < count; i += get_global_size(0)) {
    const MASU_VALUE x = values[i];
    if (x >= lowest && x <= highest) {  // false for NaN and the infinities: `lowest` and `highest` are finite
      lo = x < lo ? x : lo;
      hi = x > hi ? x : hi;
    }
  }
  least[lane] = lo;
  greatest[lane] = hi;
  for (uint distance = MASU_GROUP / 2; distance > 0; distance /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < distance) {
      const MASU_VALUE other_lo = least[lane + distance];
      const MASU_VALUE other_hi = greatest[lane + distance];
      if (other_lo < least[lane]) least[lane] = other_lo;
      if (other_hi > greatest[lane]) greatest[lane] = other_hi;
    }
  }
  if (lane == 0) {
    result[2 * get_group_id(0)] = least[0];
    result[2 * get_group_id(0) + 1] = greatest[0];
  }
}
#endif
