// SPDX-License-Identifier: Apache-2.0
// The first of the positions that the work-items of a group have found, in OpenCL C 1.2 (and, behind the CUDA prelude, in
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
