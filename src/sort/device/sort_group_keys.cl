// SPDX-License-Identifier: Apache-2.0
// The ids of groups as keys of as few bytes as their number needs, in OpenCL C 1.2 (and, after the CUDA prelude, in CUDA
// C++). An element is an id. After elements.cl and first_position.cl.
//
// kernels.md has the parameters, which group.cpp gives.

// keys[i] is ids[i], or, where that is not below `groups`, `groups`. Each work-group notes the first such one.
__kernel MASU_WORK_GROUP(MASU_GROUP) void group_keys(__global const uchar *restrict ids, const ulong ids_at,
                                                     __global uchar *restrict workspace, const ulong keys_at,
                                                     const ulong notes_at, const ulong count, const ulong groups,
                                                     __local uint *words) {
  MASU_LOCAL_POINTER(uint, words);  // 2
  __global const uchar *const from = ids + ids_at;
  __global MASU_VALUE *const keys = (__global MASU_VALUE *)(workspace + keys_at);
  const size_t stride = get_global_size(0);
  ulong first_bad = MASU_NO_POSITION;
  for (size_t first = get_global_id(0); first < count; first += MASU_UNROLL * stride) {
    MASU_BITS id[MASU_UNROLL];
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      const size_t i = first + k * stride;
      id[k] = element_at(from, i < count ? i : first);
    }
    MASU_PRAGMA_UNROLL
    for (uint k = 0; k < MASU_UNROLL; ++k) {
      const size_t i = first + k * stride;
      if (i >= count) continue;
      const bool bad = id[k] >= groups || (MASU_SIGNED && (id[k] & MASU_SIGN) != 0);
      keys[i] = (MASU_VALUE)(bad ? groups : id[k]);
      if (bad && i < first_bad) first_bad = i;
    }
  }
  const ulong noted = first_of_group(first_bad, words);
  if (get_local_id(0) == 0) {
    __global ulong *const notes = (__global ulong *)(workspace + notes_at) + 2 * get_group_id(0);
    notes[0] = noted;
    notes[1] = noted == MASU_NO_POSITION ? noted : element_at(from, noted);
  }
}
