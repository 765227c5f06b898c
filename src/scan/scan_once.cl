// SPDX-License-Identifier: Apache-2.0
// Scans in one launch, by decoupled look-back (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled
// Look-back", 2016), in OpenCL C 1.2 (and, behind the CUDA prelude, in CUDA C++). Behind scan_tile.cl. Integers without
// segments only: their totals may be joined in any order.
//
// Work-groups wait for others here. That ends where a work-group that has begun goes on whatever others do, as on
// NVIDIA's devices: the plan knows. Tiles are taken by ticket, so all tiles in front of one have been taken by groups
// that have begun.
//
// A tile's word tells first its own total, then that of all up to it. It has value and status together and is read and
// written as a whole, so no fence is needed; elements of 8 bytes have two words, each with the status.

// Define beside those of scan_tile.cl, given by scan_plan.cpp:
#ifndef MASU_GROUPS_A_UNIT    // work-groups that share a compute unit
#error "MASU_GROUPS_A_UNIT is not defined"
#endif

#define MASU_STATUS_TOTAL 1u
#define MASU_STATUS_PREFIX 2u

inline void publish(__global volatile ulong *words, const ulong tile, const uint status, const MASU_WIDE value) {
#if MASU_BYTES == 8
  words[2 * tile] = (ulong)status << 32 | (uint)value;
  words[2 * tile + 1] = (ulong)status << 32 | value >> 32;
#else
  words[tile] = (ulong)status << 32 | value;
#endif
}

// Waits until the tile tells something; gives the status.
inline uint await(__global volatile ulong *words, const ulong tile, MASU_WIDE *value) {
#if MASU_BYTES == 8
  ulong low;
  ulong high;
  do {
    low = words[2 * tile];
    high = words[2 * tile + 1];
  } while (low >> 32 == 0 || low >> 32 != high >> 32);
  *value = high << 32 | (uint)low;
  return (uint)(low >> 32);
#else
  ulong word;
  do {
    word = words[tile];
  } while (word >> 32 == 0);
  *value = (uint)word;
  return (uint)(word >> 32);
#endif
}

// What lies in front of a tile, in the first MASU_SHUFFLE_LANES work-items, which come here.
inline MASU_WIDE look_back(__global volatile ulong *words, const ulong tile, const MASU_WIDE state) {
  MASU_WIDE sum = MASU_IDENTITY;
#if MASU_SHUFFLE_LANES > 1
  const uint lane = (uint)get_local_id(0);
  for (ulong before = tile;; before -= MASU_SHUFFLE_LANES) {
    // Each looks at another tile, the first at the nearest.
    uint nearest = MASU_SHUFFLE_LANES;  // that tells of all up to it
    MASU_WIDE value = state;
    if (before <= lane || await(words, before - 1 - lane, &value) == MASU_STATUS_PREFIX) nearest = lane;
    for (uint mask = 1; mask < MASU_SHUFFLE_LANES; mask *= 2) nearest = min(nearest, masu_shuffle_xor(nearest, mask));
    Total total = nothing();
    if (lane <= nearest) total.value = value;
    for (uint mask = 1; mask < MASU_SHUFFLE_LANES; mask *= 2) total = joined(total, other_total(total, mask));
    sum = combine(sum, total.value);
    if (nearest < MASU_SHUFFLE_LANES) return sum;
  }
#else
  for (ulong before = tile; before != 0; --before) {
    MASU_WIDE value;
    const uint status = await(words, before - 1, &value);
    sum = combine(sum, value);
    if (status == MASU_STATUS_PREFIX) return sum;
  }
  return combine(sum, state);
#endif
}

// A work-group takes a tile. `words` are zeros at the start, as is the first word of `ticket_memory`. Input and output may
// be the same memory.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void scan_once(
    __global const uchar *memory, const ulong memory_at, __global uchar *output_memory, const ulong output_at,
    const ulong count, const ulong state, __global uchar *word_memory, const ulong tickets_at, const ulong words_at,
    __local uint4 *tile, __local ulong *totals) {
  MASU_LOCAL_POINTER(uint4, tile);    // MASU_GROUP * MASU_ITEM_VECTORS
  MASU_LOCAL_POINTER(ulong, totals);  // 4 * MASU_GROUP + 2
  __local ulong *const shared = totals + 4 * MASU_GROUP;
  const uint lane = (uint)get_local_id(0);
  __global volatile ulong *words = (__global volatile ulong *)(word_memory + words_at);
  if (lane == 0) shared[0] = atomic_inc((__global volatile uint *)(word_memory + tickets_at));
  barrier(CLK_LOCAL_MEM_FENCE);
  const ulong ticket = shared[0];
  const ulong first = ticket * MASU_TILE;
  load_tile(memory + memory_at, first, count, tile);
  uint item[MASU_ITEM_WORDS];
  load_item(tile, item);
  Total all;
  const Total before = total_before(total_of(item, 0), &all, totals);
  if (lane == 0 && ticket != 0) publish(words, ticket, MASU_STATUS_TOTAL, all.value);
  if (lane < MASU_SHUFFLE_LANES) {
    const MASU_WIDE front = look_back(words, ticket, (MASU_WIDE)state);
    if (lane == 0) {
      publish(words, ticket, MASU_STATUS_PREFIX, combine(front, all.value));
      shared[1] = front;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  scan_item(item, 0, combine((MASU_WIDE)shared[1], before.value));
  store_item(tile, item);
  store_tile(output_memory + output_at, first, count, tile);
}
