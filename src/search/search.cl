// SPDX-License-Identifier: Apache-2.0
// Places of values in sorted data, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++).
//
// The sorted data is cut into blocks of 2^shift elements. The last elements of the full blocks lie in local memory, as a
// search tree in the order of its levels (Eytzinger's): node n has the children 2n and 2n + 1. Neighbours on a level lie in
// different banks, so work-items that go different ways do not wait for each other. The tree leads to a block; the rest
// is a binary search in it.
//
// After elements.cl and order.cl. kernels.md has the parameters, which search_plan.cpp gives.

#define SEARCH_KEY_MOST MASU_ALL_BITS

inline MASU_BITS search_key(const MASU_BITS bits) {
  return MASU_DESCENDING ? ordered_key(bits) ^ MASU_ALL_BITS : ordered_key(bits);
}

// Whether an element with this key stands before the place of a value with that key.
inline uint stands_before(const MASU_BITS element, const MASU_BITS value) {
#if MASU_RIGHT
  return element <= value;
#else
  return element < value;
#endif
}

// The tree has 2^levels - 1 nodes, at least as many as there are full blocks; those that are left over have the greatest
// key.
__kernel MASU_WORK_GROUPS(MASU_GROUP, 4) void search_sorted(__global const uchar *restrict sorted_data,
                                                        const ulong sorted_at, const ulong sorted_count,
                                                        __global const uchar *restrict value_data,
                                                        const ulong values_at, const ulong value_count,
                                                        __global uchar *restrict position_data,
                                                        const ulong positions_at, const uint levels, const uint shift,
                                                        __local MASU_BITS *tree) {
  MASU_LOCAL_POINTER(MASU_BITS, tree);  // 2^levels
  __global const MASU_ELEMENT *sorted = (__global const MASU_ELEMENT *)(sorted_data + sorted_at);
  __global const MASU_ELEMENT *values = (__global const MASU_ELEMENT *)(value_data + values_at);
  __global MASU_POSITION *positions = (__global MASU_POSITION *)(position_data + positions_at);
  const uint lane = (uint)get_local_id(0);
  const uint blocks = (uint)(sorted_count >> shift);
  for (uint node = 1 + lane; node < 1u << levels; node += MASU_GROUP) {
    const uint level = 31 - clz(node);
    const uint block = ((2 * (node - (1u << level)) + 1) << (levels - 1 - level)) - 1;
    tree[node] = block < blocks ? search_key(sorted[((ulong)(block + 1) << shift) - 1]) : SEARCH_KEY_MOST;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  const size_t stride = get_global_size(0);
  for (size_t first = get_global_id(0); first < value_count; first += MASU_UNROLL * stride) {
    MASU_BITS key[MASU_UNROLL];
    uint node[MASU_UNROLL];
    ulong place[MASU_UNROLL];
    ulong end[MASU_UNROLL];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      const size_t i = first + k * stride;
      key[k] = search_key(values[i < value_count ? i : first]);
      node[k] = 1;
    }
    for (uint level = 0; level < levels; ++level) {
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < MASU_UNROLL; ++k) node[k] = 2 * node[k] + stands_before(tree[node[k]], key[k]);
    }
    // The block, before whose last element the value has its place. Nodes that are left over may have counted.
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      const uint block = node[k] - (1u << levels) < blocks ? node[k] - (1u << levels) : blocks;
      place[k] = (ulong)block << shift;
      end[k] = place[k] + ((ulong)1 << shift) - 1;
      if (end[k] > sorted_count) end[k] = sorted_count;
    }
    for (ulong step = (ulong)1 << shift >> 1; step != 0; step >>= 1) {
      MASU_PRAGMA_UNROLL
      for (uint k = 0; k < MASU_UNROLL; ++k) {
        const ulong next = place[k] + step;
        if (next <= end[k] && stands_before(search_key(sorted[next - 1]), key[k])) place[k] = next;
      }
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      const size_t i = first + k * stride;
      if (i < value_count) positions[i] = (MASU_POSITION)place[k];
    }
  }
}
