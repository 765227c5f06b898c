// SPDX-License-Identifier: Apache-2.0
// Stands in front of masu's own kernels on OpenCL. The CUDA twin, src/backends/cuda/prelude.cuh, gives the same names.
//
// A kernel is plain OpenCL C 1.2 without static __local arrays. Where it takes a __local pointer, its first statement
// is MASU_LOCAL_POINTER(type, name): on CUDA the argument is an offset that this turns into a pointer.
#pragma OPENCL FP_CONTRACT OFF
#define MASU_OPENCL 1
#define MASU_LOCAL_POINTER(type, name)

// Between __kernel and void: the kernel always runs in work-groups of n work-items (in one dimension).
#define MASU_WORK_GROUP(n) __attribute__((reqd_work_group_size(n, 1, 1)))
#define MASU_WORK_GROUPS(n, groups) MASU_WORK_GROUP(n)
// Before a function that is called rarely: it stays out of the way of the loop that calls it.
#define MASU_NOINLINE __attribute__((noinline))
// Before a function with arrays in registers: it becomes part of its caller, where their subscripts are constants.
#define MASU_INLINE inline __attribute__((always_inline))
#define MASU_PRAGMA_UNROLL _Pragma("unroll")
// masu_shuffle_xor(x, mask) is the x of the work-item whose number differs by `mask`, below MASU_SHUFFLE_LANES. All
// work-items of the group must come there. Where nothing is known of lanes it is not there, and MASU_SHUFFLE_LANES is 1:
// exchange through local memory. After masu_sub_group_barrier() the work-items of as many lanes see what each of them wrote to
// local memory.
#ifdef __NV_CL_C_VERSION
#define MASU_SHUFFLE_LANES 32
inline uint masu_shuffle_xor(const uint x, const uint mask) {
  uint y;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(y) : "r"(x), "r"(mask));
  return y;
}
#define masu_sub_group_barrier() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#else
#define MASU_SHUFFLE_LANES 1
#define masu_sub_group_barrier()
#endif
// 16 bytes of global memory, aligned to 16, that this launch reads once and nobody writes: p is a __global const uint4 *.
#define masu_load_streaming(p) (*(p))
// The value of an f16 number by its bits, exactly.
inline float masu_half_value(const uint bits) {
  const uint magnitude = (bits & 0x7fff) << 13;
  const float x = magnitude >= 0x0f800000u ? as_float(magnitude | 0x7f800000u) : as_float(magnitude) * 0x1p112f;
  return (bits & 0x8000) != 0 ? -x : x;
}
