// SPDX-License-Identifier: Apache-2.0
// Stands in front of masu's own kernels on OpenCL. The CUDA twin, src/backends/cuda/prelude.cuh, gives the same names.
//
// A kernel is plain OpenCL C 1.2 without static __local arrays. Where it takes a __local pointer, its first statement
// is MASU_LOCAL_POINTER(type, name): on CUDA the argument is an offset that this turns into a pointer.
#pragma OPENCL FP_CONTRACT OFF
#define MASU_OPENCL 1
#define MASU_LOCAL_POINTER(type, name)
