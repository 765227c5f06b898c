// SPDX-License-Identifier: Apache-2.0
// Stands in front of masu's own kernels on OpenCL. The CUDA twin, src/backends/cuda/prelude.cuh, gives the same names.
//
// A kernel is plain OpenCL C 1.2 without static __local arrays. Where it takes a __local pointer, its first statement
// is MASU_LOCAL_POINTER(type, name): on CUDA the argument is an offset that this turns into a pointer. OpenCL aligns the
// memory for that type alone: where a kernel uses it as vectors too, the type is a vector.
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
// Before a function with barriers that is called rarely.
#define MASU_APART inline
// Where work-groups wait for each other: plans for OpenCL have none that do.
#define masu_cluster_barrier()
#define masu_of_group(p, group) (p)
#define MASU_PRAGMA_UNROLL _Pragma("unroll")
// Before a loop that is rarely run, and would be unrolled.
#define MASU_ROLLED _Pragma("unroll 1")
// masu_shuffle_xor(x, mask) is the x of the work-item whose number differs by `mask`, below MASU_SHUFFLE_LANES. All
// work-items of the group must come there. Where nothing is known of lanes it is not there, and MASU_SHUFFLE_LANES is 1:
// exchange through local memory. In the same way masu_lanes_agree(x) is whether x is the same in all lanes (false where nothing
// is known of them), masu_first_lane(x) and masu_last_lane(x) the x of the first lane and of
// the last one, masu_sum_lanes(x) the sum of the x of all lanes, masu_greatest_of_lanes(x) the greatest of them,
// masu_lane_at(x, distance) the x of the lane so far before this one, and
// masu_scan_lanes(x) that of the lanes up to this one. masu_first_least(a, b) and masu_first_greatest(a, b), of two floats by their bits,
// are there where MASU_FIRST_EXTREMES is 1: see the CUDA prelude. After masu_sub_group_barrier() the work-items of as many lanes see what each of them wrote to
// local memory.
#ifdef __NV_CL_C_VERSION
#define MASU_SHUFFLE_LANES 32
inline uint masu_shuffle_xor(const uint x, const uint mask) {
  uint y;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(y) : "r"(x), "r"(mask));
  return y;
}
inline bool masu_lanes_agree(const uint x) {
  uint first;
  asm volatile("shfl.sync.idx.b32 %0, %1, 0, 31, 0xffffffff;" : "=r"(first) : "r"(x));
  uint same;
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, %2; vote.sync.all.pred p, p, 0xffffffff; selp.u32 %0, 1, 0, p; }"
               : "=r"(same)
               : "r"(x), "r"(first));
  return same != 0;
}
inline uint masu_first_lane(const uint x) {
  uint first;
  asm volatile("shfl.sync.idx.b32 %0, %1, 0, 31, 0xffffffff;" : "=r"(first) : "r"(x));
  return first;
}
inline uint masu_last_lane(const uint x) {
  uint last;
  asm volatile("shfl.sync.idx.b32 %0, %1, 31, 31, 0xffffffff;" : "=r"(last) : "r"(x));
  return last;
}
inline uint masu_sum_lanes(uint x) {
  for (uint mask = 1; mask < 32; mask *= 2) x += masu_shuffle_xor(x, mask);
  return x;
}
inline uint masu_greatest_of_lanes(uint x) {
  for (uint mask = 1; mask < 32; mask *= 2) x = max(x, masu_shuffle_xor(x, mask));
  return x;
}
inline uint masu_lane_at(const uint x, const uint distance) {
  uint other;
  asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(other) : "r"(x), "r"(distance));
  return other;
}
inline uint masu_scan_lanes(uint x) {
  for (uint distance = 1; distance < 32; distance *= 2) {
    const uint other = masu_lane_at(x, distance);
    x += get_local_id(0) % 32 >= distance ? other : 0;
  }
  return x;
}
inline uint masu_max_lanes(uint x) {
  for (uint distance = 1; distance < 32; distance *= 2) {
    const uint other = masu_lane_at(x, distance);
    x = get_local_id(0) % 32 >= distance ? max(x, other) : x;
  }
  return x;
}
inline uint masu_lane_before(const uint x) { return masu_lane_at(x, 1); }
#define masu_sub_group_barrier() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#define MASU_FIRST_EXTREMES 1
#define MASU_FIRST_EXTREME(name, compare)                                                                            \
  inline uint __attribute__((overloadable)) name(const uint a, const uint b) {                                       \
    uint c;                                                                                                          \
    asm("{ .reg .pred p; .reg .f32 x, y; mov.b32 x, %1; mov.b32 y, %2; setp.num.f32 p, x, x; setp." compare          \
        ".and.f32 p, y, x, p; selp.b32 %0, %2, %1, p; }"                                                             \
        : "=r"(c)                                                                                                    \
        : "r"(a), "r"(b));                                                                                           \
    return c;                                                                                                        \
  }                                                                                                                  \
  inline ulong __attribute__((overloadable)) name(const ulong a, const ulong b) {                                    \
    ulong c;                                                                                                         \
    asm("{ .reg .pred p; .reg .f64 x, y; mov.b64 x, %1; mov.b64 y, %2; setp.num.f64 p, x, x; setp." compare          \
        ".and.f64 p, y, x, p; selp.b64 %0, %2, %1, p; }"                                                             \
        : "=l"(c)                                                                                                    \
        : "l"(a), "l"(b));                                                                                           \
    return c;                                                                                                        \
  }
MASU_FIRST_EXTREME(masu_first_least, "ltu")
MASU_FIRST_EXTREME(masu_first_greatest, "gtu")
#undef MASU_FIRST_EXTREME
#else
#define MASU_FIRST_EXTREMES 0
#define MASU_SHUFFLE_LANES 1
#define masu_lanes_agree(x) ((void)(x), false)
#define masu_first_lane(x) (x)
#define masu_last_lane(x) (x)
#define masu_sum_lanes(x) (x)
#define masu_scan_lanes(x) (x)
#define masu_sub_group_barrier()
#endif
// A sum and the bytes of a word.
inline uint masu_add_bytes(const uint sum, const uint w) {
  return sum + (w & 255) + (w >> 8 & 255) + (w >> 16 & 255) + (w >> 24);
}
// What this work-item wrote, and others of its group before a barrier, is there for all of the device before what it writes next.
// mem_fence promises that to the group alone.
#ifdef __NV_CL_C_VERSION
#define masu_device_fence() asm volatile("membar.gl;" ::: "memory")
#else
#define masu_device_fence() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif
// 16 bytes of global memory, aligned to 16, that this launch reads once and nobody writes: p is a __global const uint4 *.
#define masu_load_streaming(p) (*(p))
// Both 16-bit halves of a word at once, as unsigned numbers; differences wrap.
#define masu_min_pair(a, b) as_uint(min(as_ushort2(a), as_ushort2(b)))
#define masu_max_pair(a, b) as_uint(max(as_ushort2(a), as_ushort2(b)))
#define masu_sub_pair(a, b) as_uint(as_ushort2(a) - as_ushort2(b))
// x, which a compiler for CUDA then holds as it is: it computes nothing from what x was made of.
#define masu_computed(x) (x)
// Byte k of a word, which a compiler for NVIDIA then holds as it is.
#ifdef __NV_CL_C_VERSION
inline uint masu_byte(const uint w, const uint k) {
  uint byte;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(byte) : "r"(w), "r"(0x4440 | k));
  return byte;
}
#else
#define masu_byte(w, k) ((w) >> 8 * (k) & 255)
#endif
// The value of an f16 number by its bits, exactly.
inline float masu_half_value(const uint bits) {
#ifdef __NV_CL_C_VERSION
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((ushort)bits));
  return x;
#else
  const uint magnitude = (bits & 0x7fff) << 13;
  const float x = magnitude >= 0x0f800000u ? as_float(magnitude | 0x7f800000u) : as_float(magnitude) * 0x1p112f;
  return (bits & 0x8000) != 0 ? -x : x;
#endif
}
