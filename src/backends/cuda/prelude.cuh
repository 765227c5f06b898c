// SPDX-License-Identifier: Apache-2.0
// Stands in front of masu's own kernels (OpenCL C 1.2) when NVRTC compiles them for CUDA. The OpenCL twin,
// src/backends/opencl/prelude.cl, gives the same MASU_ names.
//
// It offers the part of OpenCL C that masu's kernels use and redefines no keyword of C++ or CUDA. What differs:
// - `__local` and its like mean nothing here: a pointer is generic, and the compiler finds its address space.
// - A `__local T *name` parameter arrives as an offset into the block's dynamic shared memory; the kernel's first
//   statement, MASU_LOCAL_POINTER(T, name), makes it a pointer. There are no static __local arrays.
// - Vectors are structs: members x, y, z, w, no arithmetic.
// - `private`, `global`, `kernel` without underscores are not there: `private` is a C++ keyword.
#define MASU_CUDA 1

#define __kernel extern "C" __global__
// In place of __kernel before kernels that a program leaves out: nothing uses the template.
#define MASU_LEFT_OUT template <int> __global__
#define __global
#define __local
#define __constant
#define __private
#define __read_only
#define __write_only
#define restrict __restrict__

// Between __kernel and void: the kernel always runs in work-groups of n work-items (in one dimension). One of them fills
// a multiprocessor: without the 1, NVRTC 13.0 spills registers to make room for two (2026-11).
#define MASU_WORK_GROUP(n) __launch_bounds__(n, 1)
// The same where `groups` of them, or as many as it has room for, share a multiprocessor: the compiler leaves registers
// for all.
#if __CUDA_ARCH__ == 750
#define MASU_RESIDENT_THREADS 1024
#define MASU_RESIDENT_GROUPS 16
#elif (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1200
#define MASU_RESIDENT_THREADS 1536
#define MASU_RESIDENT_GROUPS 16
#else
#define MASU_RESIDENT_THREADS 2048
#define MASU_RESIDENT_GROUPS 32
#endif
#define MASU_LESSER(a, b) ((a) < (b) ? (a) : (b))
#define MASU_WORK_GROUPS(n, groups) \
  __launch_bounds__(n, MASU_LESSER(MASU_LESSER(groups, MASU_RESIDENT_GROUPS), MASU_RESIDENT_THREADS / (n)))
// Behind those, from sm_90 on: each n neighbouring work-groups are a cluster. They are on the device at once.
#if __CUDA_ARCH__ >= 900
#define MASU_CLUSTERS(n) __cluster_dims__(n, 1, 1)
#else
#define MASU_CLUSTERS(n)
#endif
// Before a function that is called rarely: it stays out of the way of the loop that calls it.
#define MASU_NOINLINE __noinline__
// Before a function with barriers that is called rarely.
#define MASU_APART __noinline__
// Before a function with arrays in registers: it becomes part of its caller, where their subscripts are constants.
#define MASU_INLINE __forceinline__
#define MASU_PRAGMA_UNROLL _Pragma("unroll")
// Before a loop that is rarely run, and would be unrolled: what is compiled is what a first call waits for.
#define MASU_ROLLED _Pragma("unroll 1")

extern __shared__ __align__(16) unsigned char masu_local_memory[];
#define MASU_LOCAL_POINTER(type, name) name = (type *)(masu_local_memory + (size_t)name)

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulong;

#define UINT_MAX 0xffffffffU
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define ULONG_MAX 0xffffffffffffffffULL
#define LONG_MAX 0x7fffffffffffffffLL
#define LONG_MIN (-LONG_MAX - 1)
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)

// Work-items: 64-bit, as in OpenCL.
inline size_t get_local_id(uint d) { return d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : d == 2 ? threadIdx.z : 0; }
inline size_t get_group_id(uint d) { return d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : d == 2 ? blockIdx.z : 0; }
inline size_t get_local_size(uint d) { return d == 0 ? blockDim.x : d == 1 ? blockDim.y : d == 2 ? blockDim.z : 1; }
inline size_t get_num_groups(uint d) { return d == 0 ? gridDim.x : d == 1 ? gridDim.y : d == 2 ? gridDim.z : 1; }
inline size_t get_global_id(uint d) { return get_group_id(d) * get_local_size(d) + get_local_id(d); }
inline size_t get_global_size(uint d) { return get_num_groups(d) * get_local_size(d); }
inline size_t get_global_offset(uint) { return 0; }

// Synchronisation. A barrier orders both kinds of memory within the work-group, whichever flags it is given.
#define CLK_LOCAL_MEM_FENCE 1U
#define CLK_GLOBAL_MEM_FENCE 2U
inline void barrier(uint) { __syncthreads(); }
// A barrier of all work-items of a cluster: afterwards each sees what the others wrote.
inline void masu_cluster_barrier() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
#else
  asm volatile("trap;");  // compiled for less than the device is: an error instead of wrong results
#endif
}
// What lies in this work-group's local memory at `p`, in that of work-group `group` of the cluster.
template <class T>
inline T *masu_of_group(T *p, uint group) {
  T *other = p;
#if __CUDA_ARCH__ >= 900
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(other) : "l"(p), "r"(group));
#endif
  return other;
}
inline void mem_fence(uint flags) { (flags & CLK_GLOBAL_MEM_FENCE) != 0 ? __threadfence() : __threadfence_block(); }
inline void masu_device_fence() { __threadfence(); }
inline void read_mem_fence(uint flags) { mem_fence(flags); }
inline void write_mem_fence(uint flags) { mem_fence(flags); }

// The x of the work-item whose number differs by `mask`, below MASU_SHUFFLE_LANES. All work-items of the group must come
// there.
#define MASU_SHUFFLE_LANES 32
inline uint masu_shuffle_xor(uint x, uint mask) { return __shfl_xor_sync(0xffffffffU, x, (int)mask); }
// Whether x is the same in all lanes, and the sum of the x of the lanes up to this one: the same.
inline bool masu_lanes_agree(uint x) { return __all_sync(0xffffffffU, x == __shfl_sync(0xffffffffU, x, 0)) != 0; }
// The x of the first lane, that of the last one, and the sum of the x of all lanes.
inline uint masu_first_lane(uint x) { return __shfl_sync(0xffffffffU, x, 0); }
inline uint masu_last_lane(uint x) { return __shfl_sync(0xffffffffU, x, 31); }
inline uint masu_sum_lanes(uint x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xffffffffU, x);
#else
  for (uint mask = 1; mask < 32; mask *= 2) x += masu_shuffle_xor(x, mask);
  return x;
#endif
}
// The greatest x of all lanes: the same.
inline uint masu_greatest_of_lanes(uint x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffU, x);
#else
  for (uint mask = 1; mask < 32; mask *= 2) x = max(x, masu_shuffle_xor(x, mask));
  return x;
#endif
}
// The x of the lane `distance` before this one; of the first ones their own. The same.
inline uint masu_lane_at(uint x, uint distance) { return __shfl_up_sync(0xffffffffU, x, distance); }
inline uint masu_scan_lanes(uint x) {
  for (uint distance = 1; distance < 32; distance *= 2) {
    const uint other = __shfl_up_sync(0xffffffffU, x, distance);
    x += threadIdx.x % 32 >= distance ? other : 0;
  }
  return x;
}
// The greatest x of the lanes up to this one, and the x of the lane before this one.
inline uint masu_max_lanes(uint x) {
  for (uint distance = 1; distance < 32; distance *= 2) {
    const uint other = __shfl_up_sync(0xffffffffU, x, distance);
    x = threadIdx.x % 32 >= distance && other > x ? other : x;
  }
  return x;
}
// Whether x holds in all lanes.
inline bool masu_all_lanes(bool x) { return __all_sync(0xffffffffU, x) != 0; }
// The lanes whose x is this one's, as bits. Of x only the lowest `bits` may differ. In PTX, of which the compiler makes half as
// many instructions.
inline uint masu_lanes_like(uint x, uint bits) {
  uint equal = 0xffffffffU;
#pragma unroll
  for (uint bit = 0; bit < bits; ++bit) {
    uint agree;
    asm volatile(
        "{ .reg .pred p; .reg .b32 one; and.b32 one, %1, %2; setp.ne.u32 p, one, 0; "
        "vote.sync.ballot.b32 %0, p, 0xffffffff; @!p not.b32 %0, %0; }"
        : "=r"(agree)
        : "r"(x), "r"(1U << bit));
    equal &= agree;
  }
  return equal;
}
inline uint masu_lane_before(uint x) { return __shfl_up_sync(0xffffffffU, x, 1); }
// A barrier of a sub-group: afterwards each work-item sees what the others wrote to local memory.
inline void masu_sub_group_barrier() { __syncwarp(); }

// Atomics, relaxed, on local and global memory alike; each returns the old value.
#define MASU_ATOMIC(T, name, cuda)                                                         \
  inline T atomic_##name(volatile T *p, T value) { return cuda(const_cast<T *>(p), value); }
#define MASU_ATOMICS(T)                                                                    \
  MASU_ATOMIC(T, add, atomicAdd)                                                           \
  MASU_ATOMIC(T, sub, atomicSub)                                                           \
  MASU_ATOMIC(T, xchg, atomicExch)                                                         \
  MASU_ATOMIC(T, min, atomicMin)                                                           \
  MASU_ATOMIC(T, max, atomicMax)                                                           \
  MASU_ATOMIC(T, and, atomicAnd)                                                           \
  MASU_ATOMIC(T, or, atomicOr)                                                             \
  MASU_ATOMIC(T, xor, atomicXor)                                                           \
  inline T atomic_inc(volatile T *p) { return atomicAdd(const_cast<T *>(p), (T)1); }       \
  inline T atomic_dec(volatile T *p) { return atomicSub(const_cast<T *>(p), (T)1); }       \
  inline T atomic_cmpxchg(volatile T *p, T expected, T value) {                            \
    return atomicCAS(const_cast<T *>(p), expected, value);                                 \
  }
MASU_ATOMICS(int)
MASU_ATOMICS(uint)
MASU_ATOMIC(float, xchg, atomicExch)
inline ulong atom_add(volatile ulong *p, ulong value) { return atomicAdd(const_cast<ulong *>(p), value); }
inline ulong atom_inc(volatile ulong *p) { return atom_add(p, 1); }
// A sum and the bytes of a word.
inline uint masu_add_bytes(uint sum, uint w) {
#if __CUDA_ARCH__ >= 610
  return __dp4a(w, 0x01010101U, sum);
#else
  return sum + (w & 255) + (w >> 8 & 255) + (w >> 16 & 255) + (w >> 24);
#endif
}
// Adds to a number of 64 bits in global memory and does not wait: there where MASU_ADDS_LONG is defined.
#define MASU_ADDS_LONG
inline void masu_add_long(ulong *p, ulong value) { atomicAdd(p, value); }
#undef MASU_ATOMICS
#undef MASU_ATOMIC

// Bits as another type of the same size.
template <class To, class From>
inline To masu_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "as_type: the sizes must be equal");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
#define as_char(x) masu_as<char>(x)
#define as_uchar(x) masu_as<uchar>(x)
#define as_short(x) masu_as<short>(x)
#define as_ushort(x) masu_as<ushort>(x)
#define as_int(x) masu_as<int>(x)
#define as_uint(x) masu_as<uint>(x)
#define as_long(x) masu_as<long>(x)
#define as_ulong(x) masu_as<ulong>(x)
#define as_float(x) masu_as<float>(x)
#define as_double(x) masu_as<double>(x)

// Conversions of scalars, towards zero from a float; the value must fit.
#define convert_char(x) ((char)(x))
#define convert_uchar(x) ((uchar)(x))
#define convert_short(x) ((short)(x))
#define convert_ushort(x) ((ushort)(x))
#define convert_int(x) ((int)(x))
#define convert_uint(x) ((uint)(x))
#define convert_long(x) ((long)(x))
#define convert_ulong(x) ((ulong)(x))
#define convert_float(x) ((float)(x))
#define convert_double(x) ((double)(x))
#define convert_int_rtz(x) convert_int(x)
#define convert_uint_rtz(x) convert_uint(x)
#define convert_long_rtz(x) convert_long(x)
#define convert_ulong_rtz(x) convert_ulong(x)

// Integers. min, max, abs, isnan, isinf, fma, sqrt, floor and their like are CUDA's own.
template <class T>
inline T clamp(T x, T low, T high) { return min(max(x, low), high); }
template <class T, class C>
inline T select(T otherwise, T then, C condition) { return condition ? then : otherwise; }
inline int mul24(int a, int b) { return __mul24(a, b); }
inline uint mul24(uint a, uint b) { return __umul24(a, b); }
inline int mad24(int a, int b, int c) { return __mul24(a, b) + c; }
inline uint mad24(uint a, uint b, uint c) { return __umul24(a, b) + c; }
inline uint mul_hi(uint a, uint b) { return __umulhi(a, b); }
inline ulong mul_hi(ulong a, ulong b) { return __umul64hi(a, b); }
inline uint popcount(uint x) { return (uint)__popc(x); }
inline ulong popcount(ulong x) { return (ulong)__popcll(x); }
inline uint clz(uint x) { return (uint)__clz((int)x); }
inline ulong clz(ulong x) { return (ulong)__clzll((long long)x); }
inline uint rotate(uint x, uint n) { return __funnelshift_l(x, x, n); }
inline ulong rotate(ulong x, ulong n) { return x << (n & 63) | x >> (-n & 63); }

// Both 16-bit halves of a word at once, as unsigned numbers; differences wrap.
inline uint masu_min_pair(uint a, uint b) { return __vminu2(a, b); }
inline uint masu_max_pair(uint a, uint b) { return __vmaxu2(a, b); }
inline uint masu_sub_pair(uint a, uint b) { return __vsub2(a, b); }

// Vectors at element alignment.
#define MASU_VECTORS(T, T2, T4)                                                            \
  inline T2 vload2(size_t i, const T *p) {                                                 \
    p += 2 * i;                                                                            \
    return make_##T2(p[0], p[1]);                                                          \
  }                                                                                        \
  inline T4 vload4(size_t i, const T *p) {                                                 \
    p += 4 * i;                                                                            \
    return make_##T4(p[0], p[1], p[2], p[3]);                                              \
  }                                                                                        \
  inline void vstore2(T2 v, size_t i, T *p) { p += 2 * i, p[0] = v.x, p[1] = v.y; }         \
  inline void vstore4(T4 v, size_t i, T *p) { p += 4 * i, p[0] = v.x, p[1] = v.y, p[2] = v.z, p[3] = v.w; }
MASU_VECTORS(uchar, uchar2, uchar4)
MASU_VECTORS(ushort, ushort2, ushort4)
MASU_VECTORS(int, int2, int4)
MASU_VECTORS(uint, uint2, uint4)
MASU_VECTORS(float, float2, float4)
#undef MASU_VECTORS

// Asks for global memory, which comes to a cache.
inline void prefetch(const uchar *p, size_t) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(p)));
}

// 16 bytes of global memory, aligned to 16, that this launch reads once and nobody writes: they need no room in L1.
inline uint4 masu_load_streaming(const uint4 *p) {
  uint4 v;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "l"(__cvta_generic_to_global(p)));
  return v;
}

// Copies 4 or 8 bytes to local memory: they are there after masu_copies_done() of the same work-item.
template <class T>
inline void masu_copy_async(T *to, const T *from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "masu_copy_async: 4 or 8 bytes");
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
               :
               : "r"((uint)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)), "n"(sizeof(T))
               : "memory");
#else
  *to = *from;
#endif
}
inline void masu_copies_done() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

// x, which the compiler then holds as it is: it computes nothing from what x was made of.
inline uint masu_computed(uint x) {
  asm("" : "+r"(x));
  return x;
}
inline ulong masu_computed(ulong x) {
  asm("" : "+l"(x));
  return x;
}

// Byte k of a word, which the compiler then holds as it is.
#define masu_byte(w, k) masu_computed(__byte_perm(w, 0, 0x4440 | (k)))

// The extreme of two floats, given by their bits, that comes first: b where it is a NaN or better than a, and a is no NaN; else a.
// In PTX, since the compiler makes a maximum of such a choice, which loses a NaN's bits.
#define MASU_FIRST_EXTREMES 1
#define MASU_FIRST_EXTREME(name, compare)                                                                            \
  inline uint name(uint a, uint b) {                                                                                 \
    uint c;                                                                                                          \
    asm("{ .reg .pred p; .reg .f32 x, y; mov.b32 x, %1; mov.b32 y, %2; setp.num.f32 p, x, x; setp." compare          \
        ".and.f32 p, y, x, p; selp.b32 %0, %2, %1, p; }"                                                             \
        : "=r"(c)                                                                                                    \
        : "r"(a), "r"(b));                                                                                           \
    return c;                                                                                                        \
  }                                                                                                                  \
  inline ulong name(ulong a, ulong b) {                                                                              \
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

// The value of an f16 number by its bits, exactly.
inline float masu_half_value(uint bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((ushort)bits));
  return x;
}
// The bits of the f16 number nearest to x, ties to even.
inline uint masu_nearest_half(double x) {
  ushort bits;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
  return bits;
}
