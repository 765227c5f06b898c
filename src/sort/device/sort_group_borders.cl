// SPDX-License-Identifier: Apache-2.0
// Where groups begin in the order of their keys, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA C++).
//
// kernels.md has the parameters, which group.cpp gives.

// How many of the keys are less than `key`. Each step looks at several at once, as each look waits for memory twice.
inline ulong keys_below(const ulong key, __global const MASU_VALUE *keys, __global const MASU_INDEX *order,
                        const ulong count) {
  ulong begin = 0;  // of those from here to end it is not known
  ulong end = count;
  while (begin < end) {
    const ulong step = (end - begin) / (MASU_PROBES + 1) + 1;
    bool below[MASU_PROBES];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_PROBES; ++k) {
      const ulong at = begin + (k + 1) * step - 1;
      below[k] = at < end && keys[order[at < end ? at : begin]] < key;
    }
    ulong less = 0;
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_PROBES; ++k) less += below[k] ? 1 : 0;
    begin += less * step;
    end = min(end, begin + step - 1);
  }
  return begin;
}

// offsets[g], of g up to `groups`, and counts[g], below it. A work-group's last begin is the next one's first.
__kernel MASU_WORK_GROUP(MASU_GROUP) void group_borders(__global const uchar *restrict workspace, const ulong keys_at,
                                                        __global const uchar *restrict order_memory,
                                                        const ulong order_at, const ulong count, const ulong groups,
                                                        __global uchar *restrict count_memory, const ulong counts_at,
                                                        __global uchar *restrict offset_memory, const ulong offsets_at,
                                                        __local ulong *begins) {
  MASU_LOCAL_POINTER(ulong, begins);  // MASU_GROUP
  const uint lid = (uint)get_local_id(0);
  const ulong g = (ulong)get_group_id(0) * (MASU_GROUP - 1) + lid;
  if (g <= groups) {
    begins[lid] = keys_below(g, (__global const MASU_VALUE *)(workspace + keys_at),
                             (__global const MASU_INDEX *)(order_memory + order_at), count);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (g > groups || (lid + 1 == MASU_GROUP && g < groups)) return;
  ((__global ulong *)(offset_memory + offsets_at))[g] = begins[lid];
  if (g < groups) ((__global ulong *)(count_memory + counts_at))[g] = begins[lid + 1] - begins[lid];
}
