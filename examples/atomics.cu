// SPDX-License-Identifier: Apache-2.0
// atomics.cl in CUDA C++: the atomic functions on integers and floats, in global and in shared memory, which one pointer
// type covers. Built with -DNUMBER=int, uint or ulong.

typedef unsigned uint;
typedef unsigned long long ulong;

const uint cells_of_a_set = 11;

// There is no atomicSub of 64 bits; without a sign it is an addition.
__device__ ulong atomicSub(ulong* cell, ulong value) { return atomicAdd(cell, 0 - value); }

// What one thread does to `cells`, which all threads of a set share; `number` is its number in the set. All functions
// return what was there before; three of the answers are kept. CUDA's atomicInc and atomicDec count round a limit, and
// only uint: what OpenCL means by inc and dec is adding and subtracting 1.
__device__ void every_atomic(NUMBER* cells, NUMBER value, NUMBER number, NUMBER* old) {
  atomicAdd(&cells[0], value);
  atomicSub(&cells[1], value);
  old[0] = atomicAdd(&cells[2], NUMBER(1));  // a ticket: each thread gets another
  atomicSub(&cells[3], NUMBER(1));
  atomicMin(&cells[4], value);
  atomicMax(&cells[5], value);
  atomicAnd(&cells[6], value);
  atomicOr(&cells[7], value);
  atomicXor(&cells[8], value);
  old[1] = atomicExch(&cells[9], number);             // a chain: each gets what another one left
  old[2] = atomicCAS(&cells[10], NUMBER(0), number);  // a claim: only the first finds 0
}

// One set of cells in global memory for all threads.
extern "C" __global__ void in_global(const NUMBER* values, ulong n, NUMBER* cells, NUMBER* olds) {
  const ulong i = (ulong)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) every_atomic(cells, values[i], NUMBER(i + 1), olds + 3 * i);
}

// One set of cells in shared memory for each block, from and to cells[11 * block] … in global memory.
extern "C" __global__ void in_local(const NUMBER* values, ulong n, NUMBER* cells, NUMBER* olds) {
  extern __shared__ NUMBER own[];
  const ulong i = (ulong)blockIdx.x * blockDim.x + threadIdx.x;
  NUMBER* outside = cells + (ulong)cells_of_a_set * blockIdx.x;
  for (uint c = threadIdx.x; c < cells_of_a_set; c += blockDim.x) own[c] = outside[c];
  __syncthreads();  // nobody counts before all cells are set
  if (i < n) every_atomic(own, values[i], NUMBER(threadIdx.x + 1), olds + 3 * i);
  __syncthreads();  // nobody copies before all have counted
  for (uint c = threadIdx.x; c < cells_of_a_set; c += blockDim.x) outside[c] = own[c];
}

// Floats: cells[0] is exchanged, to cells[1] is added, for which CUDA has a function.
extern "C" __global__ void floats_in_global(const float* values, ulong n, float* cells, float* olds) {
  const ulong i = (ulong)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  olds[i] = atomicExch(&cells[0], values[i]);
  atomicAdd(&cells[1], values[i]);
}

extern "C" __global__ void floats_in_local(const float* values, ulong n, float* cells, float* olds) {
  extern __shared__ float own_floats[];
  const ulong i = (ulong)blockIdx.x * blockDim.x + threadIdx.x;
  float* outside = cells + 2 * (ulong)blockIdx.x;
  for (uint c = threadIdx.x; c < 2; c += blockDim.x) own_floats[c] = outside[c];
  __syncthreads();
  if (i < n) {
    olds[i] = atomicExch(&own_floats[0], values[i]);
    atomicAdd(&own_floats[1], values[i]);
  }
  __syncthreads();
  for (uint c = threadIdx.x; c < 2; c += blockDim.x) outside[c] = own_floats[c];
}
