// SPDX-License-Identifier: Apache-2.0
// Work that several work-groups share, and the last one to arrive ends in the same launch, in OpenCL C 1.2 (and, after the
// CUDA prelude, in CUDA C++).

// Whether all others of the `members` work-groups were here before. `arrived` is 0 before the first comes; with one member nothing
// is asked. What they wrote before by atomics is there for atomics of the last one; on CUDA, if it `fences`, also without atomics. All
// work-items of the group come here.
inline bool is_last_group(__global uint *arrived, const ulong members, const bool fences, __local uint *is_last) {
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    is_last[0] = 1;
    if (members > 1) {
      masu_device_fence();
      is_last[0] = atomic_inc(arrived) + 1 == members ? 1u : 0;
      if (fences) masu_device_fence();  // takes 5 us at the end of a launch
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  return is_last[0] != 0;
}

// The kernel that comes before a launch with such work through OpenCL, where a fill costs more than a launch: in programs that name it.
#define MASU_CLEAR_ARRIVED                                                                                         \
  __kernel MASU_WORK_GROUP(MASU_GROUP) void clear_arrived(__global uchar *memory, const ulong at, const ulong words) { \
    for (ulong i = get_global_id(0); i < words; i += get_global_size(0)) ((__global uint *)(memory + at))[i] = 0; \
  }
