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
#define MASU_PRAGMA_UNROLL _Pragma("unroll")
// 16 bytes of global memory, aligned to 16, that this launch reads once and nobody writes: p is a __global const uint4 *.
#define masu_load_streaming(p) (*(p))
