// SPDX-License-Identifier: Apache-2.0
// Crowded buckets whose keys differ in their lower 16 bits only, each counted and written anew by one work-group, in OpenCL
// C 1.2 (and, behind the CUDA prelude, in CUDA C++). It needs 128 KiB of local memory for the counters of all 65,536 values.
// sort_key.cl, sort_placed.cl, sort_scan.cl and sort_lists.cl stand in front of this file.
//
// Defines beside those of these, all given by sort_keys.cpp:
#ifndef MASU_GROUP            // work-items in a work-group: a power of two from 256 on
#error "MASU_GROUP is not defined"
#endif
#ifndef MASU_TALLIED          // keys of a bucket: no more than 2^21
#error "MASU_TALLIED is not defined"
#endif
#define MASU_TALLY_WORDS 32768                  // two counters of 16 bits a word
#define MASU_EACH 8                             // counters of a work-item, of those that are written at once
#define MASU_PLACES 16                          // places that a work-item writes at once
#define MASU_WINDOW (MASU_GROUP * MASU_PLACES)
#define MASU_OVERFLOWS (MASU_TALLIED / 32768)   // values that may each have run over half a counter

// The greatest x of the work-items before this one, and `least`; *most is that of all.
MASU_INLINE uint greatest_before(const uint x, const uint least, __local uint *partial, const uint lid, uint *most) {
#if MASU_SHUFFLE_LANES == 32
  const uint lanes = masu_max_lanes(x);
  if (lid % 32 == 31) partial[lid / 32] = lanes;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint before = least;
  uint all = least;
  MASU_PRAGMA_UNROLL
  for (uint i = 0; i < MASU_GROUP / 32; ++i) {
    const uint one = partial[i];
    if (i < lid / 32) before = max(before, one);
    all = max(all, one);
  }
  *most = all;
  const uint neighbour = masu_lane_before(lanes);
  return lid % 32 == 0 ? before : max(before, neighbour);
#else
  partial[lid] = x;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = 1; distance < MASU_GROUP; distance *= 2) {
    const uint other = lid >= distance ? partial[lid - distance] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    partial[lid] = max(partial[lid], other);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  *most = max(least, partial[MASU_GROUP - 1]);
  return lid == 0 ? least : max(least, partial[lid - 1]);
#endif
}

inline void tally_key(const uint value, const uint number, __local uint *counters, __local uint *overflows) {
  const uint upper = (value & 1) << 4;
  const uint old = atomic_add(&counters[value >> 1], number << upper) >> upper & 0xffff;
  if (old < 0x8000 && old + number >= 0x8000) {
    atomic_sub(&counters[value >> 1], 0x8000U << upper);
    overflows[1 + atomic_inc(&overflows[0])] = value;
  }
}

// Entries: first key, keys, and whether they are in `parted`.
__kernel MASU_WORK_GROUP(MASU_GROUP) void crowd_tally(__global uchar *sorted, const ulong sorted_at,
                                                      __global const uchar *parted, const ulong parted_at,
                                                      __global uchar *scratch, const ulong found_at,
                                                      const ulong entries_at, const uint flipped,
                                                      __local uint4 *local_memory) {
  MASU_LOCAL_POINTER(uint4, local_memory);
  __local uint *const counters = (__local uint *)local_memory;
  __local ushort *const marks = (__local ushort *)(counters + MASU_TALLY_WORDS);
  __local uint *const partial = counters + MASU_TALLY_WORDS + MASU_WINDOW / 2;
  __local uint *const overflows = partial + MASU_GROUP;
  const uint lid = (uint)get_local_id(0);
  const uint found = MASU_AT(const uint, found_at)[0];
  const MASU_KEY flip = flipped != 0 ? MASU_ALL : 0;
  for (uint entry = (uint)get_group_id(0); entry < found; entry += (uint)get_num_groups(0)) {
    __global const uint *const row = MASU_AT(const uint, entries_at) + (size_t)entry * 3;
    const uint begin = row[0];
    const uint size = row[1];
    __global const MASU_KEY *const from =
        (row[2] != 0 ? (__global const MASU_KEY *)(parted + parted_at) : (__global const MASU_KEY *)(sorted + sorted_at)) +
        begin;
    __global MASU_KEY *const to = (__global MASU_KEY *)(sorted + sorted_at) + begin;
    const MASU_KEY base = from[0] & ~(MASU_KEY)0xffff;
    for (uint i = lid; i < MASU_TALLY_WORDS; i += MASU_GROUP) counters[i] = 0;
    if (lid == 0) overflows[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint first = 0; first < size; first += 8 * MASU_GROUP) {
      uint values[8];
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < 8; ++k) {
        const uint place = first + k * MASU_GROUP + lid;
        values[k] = place < size ? (uint)from[place] & 0xffff : 0x10000;
      }
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < 8; ++k) {
        if (masu_lanes_agree(values[k])) {
          if (values[k] < 0x10000 && lid % MASU_SHUFFLE_LANES == 0) {
            tally_key(values[k], MASU_SHUFFLE_LANES, counters, overflows);
          }
        } else if (values[k] < 0x10000) {
          tally_key(values[k], 1, counters, overflows);
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // Stretch by stretch of the values: where those of each work-item begin, then window by window of these places.
    const uint runs_over = overflows[0];
    uint place = 0;
    for (uint stretch = 0; stretch < 65536; stretch += MASU_GROUP * MASU_EACH) {
      uint starts[MASU_EACH + 1];
      uint sum = 0;
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < MASU_EACH; ++k) {
        const uint value = stretch + lid * MASU_EACH + k;
        uint number = counters[value >> 1] >> ((value & 1) << 4) & 0xffff;
        for (uint i = 0; i < runs_over; ++i) number += overflows[1 + i] == value ? 0x8000 : 0;
        starts[k] = sum;
        sum += number;
      }
      starts[MASU_EACH] = sum;
      uint total;
      const uint before = scan_group(sum, MASU_GROUP, partial, lid, &total) - sum;
      uint carried = 0;  // the value at the place before the window
      for (uint window = 0; window < total; window += MASU_WINDOW) {
        const uint places = min(total - window, (uint)MASU_WINDOW);
        for (uint i = lid; i < (places + MASU_PLACES - 1) / MASU_PLACES * (MASU_PLACES / 8); i += MASU_GROUP) {
          uint4 clear;
          clear.x = 0;
          clear.y = 0;
          clear.z = 0;
          clear.w = 0;
          ((__local uint4 *)marks)[i] = clear;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        MASU_PRAGMA_UNROLL
        for (uint k = 0; k < MASU_EACH; ++k) {
          const uint at = before + starts[k] - window;  // wraps in front of the window
          if (starts[k + 1] != starts[k] && at < places) marks[at] = (ushort)(1 + lid * MASU_EACH + k);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        uint own[MASU_PLACES];
        uint most = 0;
        if (lid * MASU_PLACES < places) {
          MASU_PRAGMA_UNROLL
          for (uint k = 0; k < MASU_PLACES / 8; ++k) {
            const uint4 eight = ((__local uint4 *)marks)[lid * (MASU_PLACES / 8) + k];
            own[8 * k] = eight.x & 0xffff;
            own[8 * k + 1] = eight.x >> 16;
            own[8 * k + 2] = eight.y & 0xffff;
            own[8 * k + 3] = eight.y >> 16;
            own[8 * k + 4] = eight.z & 0xffff;
            own[8 * k + 5] = eight.z >> 16;
            own[8 * k + 6] = eight.w & 0xffff;
            own[8 * k + 7] = eight.w >> 16;
          }
          MASU_PRAGMA_UNROLL
          for (uint k = 0; k < MASU_PLACES; ++k) most = own[k] = max(most, own[k]);
        }
        const uint least = greatest_before(most, carried, partial, lid, &carried);
        if (lid * MASU_PLACES < places) {
          MASU_PRAGMA_UNROLL
          for (uint k = 0; k < MASU_PLACES / 8; ++k) {
            uint4 eight;
            eight.x = max(least, own[8 * k]) | max(least, own[8 * k + 1]) << 16;
            eight.y = max(least, own[8 * k + 2]) | max(least, own[8 * k + 3]) << 16;
            eight.z = max(least, own[8 * k + 4]) | max(least, own[8 * k + 5]) << 16;
            eight.w = max(least, own[8 * k + 6]) | max(least, own[8 * k + 7]) << 16;
            ((__local uint4 *)marks)[lid * (MASU_PLACES / 8) + k] = eight;
          }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = lid; i < places; i += MASU_GROUP) {
          to[place + window + i] = natural_key(base | (stretch + marks[i] - 1), flip);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      place += total;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
}
