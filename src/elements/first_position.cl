// SPDX-License-Identifier: Apache-2.0
// The first of the positions that the work-items of a group have found, in OpenCL C 1.2 (and, after the CUDA prelude, in
// CUDA C++).

#define MASU_NO_POSITION (~(ulong)0)

// The least position of all work-items of the group, each of which has one or MASU_NO_POSITION. `words` are two in local
// memory. All work-items must come here.
inline ulong first_of_group(const ulong mine, __local uint *words) {
  if (get_local_id(0) == 0) {
    words[0] = UINT_MAX;
    words[1] = UINT_MAX;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint high = (uint)(mine >> 32);
  if (mine != MASU_NO_POSITION) atomic_min(&words[0], high);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (mine != MASU_NO_POSITION && high == words[0]) atomic_min(&words[1], (uint)mine);
  barrier(CLK_LOCAL_MEM_FENCE);
  return (ulong)words[0] << 32 | words[1];
}

// The first of `count` notes, each a position and what is there: to status, its position from `base` on; two words of
// ones where there is none. One work-group. MASU_GROUP: its work-items.
__kernel MASU_WORK_GROUP(MASU_GROUP) void first_note(__global const uchar *restrict note_memory, const ulong notes_at,
                                                     const uint count, const ulong base, __global uchar *status_memory,
                                                     const ulong status_at, __local uint *words) {
  MASU_LOCAL_POINTER(uint, words);  // 2
  __global const ulong *notes = (__global const ulong *)(note_memory + notes_at);
  __global ulong *status = (__global ulong *)(status_memory + status_at);
  ulong mine = MASU_NO_POSITION;
  ulong there = MASU_NO_POSITION;
  for (uint i = (uint)get_local_id(0); i < count; i += MASU_GROUP) {
    if (notes[2 * i] >= mine) continue;
    mine = notes[2 * i];
    there = notes[2 * i + 1];
  }
  const ulong first = first_of_group(mine, words);
  if (first == MASU_NO_POSITION) {
    if (get_local_id(0) < 2) status[get_local_id(0)] = MASU_NO_POSITION;
  } else if (mine == first) {  // of one work-item
    status[0] = base + first;
    status[1] = there;
  }
}
