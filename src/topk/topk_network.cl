// SPDX-License-Identifier: Apache-2.0
// A network that brings entries in local memory into order, by a work-group. topk_select.cl stands in front of this file.

// A step of the order with this distance is followed by one that reads what other sub-groups wrote, or is one that other sub-groups
// read: with up to 32, a sub-group stays within 64 entries.
#if MASU_SHUFFLE_LANES == 32
#define TOPK_STEP_ENDS                                                     \
  if (distance > 32 || (distance == 1 && size > 32)) barrier(CLK_LOCAL_MEM_FENCE); \
  else masu_sub_group_barrier();
#else
#define TOPK_STEP_ENDS barrier(CLK_LOCAL_MEM_FENCE);
#endif

// Puts `places` (a power of two) entries into order, the greatest key first and of equal ones the lowest index.
// TOPK_PAIRS 1: keys and indices apart; 0: keys alone. Begins and ends with a barrier.
inline void order_entries(__local ulong *keys, __local uint *indices, const uint places) {
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint size = 2; size <= places; size *= 2) {
    for (uint distance = size / 2; distance > 0; distance /= 2) {
      for (uint i = (uint)get_local_id(0); i < places / 2; i += MASU_GROUP) {
        const uint a = 2 * i - (i & (distance - 1));
        const uint b = a + distance;
        const ulong key_a = keys[a];
        const ulong key_b = keys[b];
#if TOPK_PAIRS
        const uint index_a = indices[a];
        const uint index_b = indices[b];
        const bool b_first = key_b > key_a || (key_b == key_a && index_b < index_a);
#else
        const bool b_first = key_b > key_a;
#endif
        // Blocks of `size` are put into descending and ascending order in turns.
        if (b_first == ((a & size) == 0)) {
          keys[a] = key_b;
          keys[b] = key_a;
#if TOPK_PAIRS
          indices[a] = index_b;
          indices[b] = index_a;
#endif
        }
      }
      TOPK_STEP_ENDS
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Whether entry a comes before an entry b.
inline bool is_before(__local const ulong *keys, __local const uint *indices, const uint a, const ulong key_b,
                      const uint index_b) {
#if TOPK_PAIRS
  return keys[a] > key_b || (keys[a] == key_b && indices[a] < index_b);
#else
  return keys[a] > key_b;
#endif
}
