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

// What lies in front of a tile. All work-items come here: each looks at another tile, the first at the nearest.
inline MASU_WIDE look_back(__global volatile ulong *words, const ulong tile, const MASU_WIDE state,
                           __local uint *nearest, __local ulong *totals) {
  const uint lane = (uint)get_local_id(0);
  MASU_WIDE sum = MASU_IDENTITY;
  for (ulong before = tile;; before -= MASU_GROUP) {
    MASU_WIDE value = state;
    const bool tells_all = before <= lane || await(words, before - 1 - lane, &value) == MASU_STATUS_PREFIX;
    if (lane == 0) *nearest = MASU_GROUP;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tells_all) atomic_min(nearest, lane);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint last = *nearest;
    Total total = nothing();
    if (lane <= last) total.value = value;
    Total all;
    total_before(total, &all, totals);
    sum = combine(sum, all.value);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (last < MASU_GROUP) return sum;
  }
}

// `words` are zeros at the start, as is the first word of `ticket_memory`. Input and output may be the same memory.
__kernel MASU_WORK_GROUPS(MASU_GROUP, MASU_GROUPS_A_UNIT) void scan_once(__global const uchar *memory, const ulong memory_at,
                                                        __global uchar *output_memory, const ulong output_at,
                                                        const ulong count, const ulong state,
                                                        __global uchar *word_memory, const ulong tickets_at,
                                                        const ulong words_at, __local uint4 *tile,
                                                        __local ulong *totals) {
  MASU_LOCAL_POINTER(uint4, tile);    // MASU_GROUP * MASU_ITEM_VECTORS
  MASU_LOCAL_POINTER(ulong, totals);  // 4 * MASU_GROUP + 2
  __local ulong *const shared = totals + 4 * MASU_GROUP;
  const uint lane = (uint)get_local_id(0);
  __global const uchar *data = memory + memory_at;
  __global volatile uint *tickets = (__global volatile uint *)(word_memory + tickets_at);
  __global volatile ulong *words = (__global volatile ulong *)(word_memory + words_at);
  // Whole tiles come by way of registers, one tile ahead: they arrive while this one waits for those in front of it.
  const ulong whole = is_aligned(data) ? count / MASU_TILE : 0;
  uint4 next[MASU_ITEM_VECTORS];
  if (lane == 0) shared[0] = atomic_inc(tickets);
  barrier(CLK_LOCAL_MEM_FENCE);
  ulong ticket = shared[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (ticket < whole) load_vectors(data, ticket * MASU_TILE, next);
  while (ticket * MASU_TILE < count) {
    const ulong first = ticket * MASU_TILE;
    if (lane == 0) shared[0] = atomic_inc(tickets);
    if (ticket < whole) {
      put_vectors(tile, next);
    } else {
      put_elements(data, first, count, tile);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong following = shared[0];
    uint item[MASU_ITEM_WORDS];
    load_item(tile, item);
    if (following < whole) load_vectors(data, following * MASU_TILE, next);
    Total all;
    const Total before = total_before(total_of(item, 0), &all, totals);
    if (lane == 0 && ticket != 0) publish(words, ticket, MASU_STATUS_TOTAL, all.value);
    barrier(CLK_LOCAL_MEM_FENCE);
    const MASU_WIDE front = look_back(words, ticket, (MASU_WIDE)state, (__local uint *)(shared + 1), totals);
    if (lane == 0) publish(words, ticket, MASU_STATUS_PREFIX, combine(front, all.value));
    scan_item(item, 0, combine(front, before.value));
    store_item(tile, item);
    store_tile(output_memory + output_at, first, count, tile);
    ticket = following;
  }
}
