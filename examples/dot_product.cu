// SPDX-License-Identifier: Apache-2.0
// dot_product.cl in CUDA C++, which has an atomic addition of floats. Built with -DSUM=float or double.

typedef unsigned long long ulong;

__device__ ulong first_index() { return (ulong)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ ulong all_threads() { return (ulong)gridDim.x * blockDim.x; }

extern "C" __global__ void dot_atomic(const float* x, const float* y, ulong n, float* total) {
  for (ulong i = first_index(); i < n; i += all_threads()) atomicAdd(total, x[i] * y[i]);
}

extern "C" __global__ void dot_items(const float* x, const float* y, ulong n, float* sums) {
  float mine = 0;
  for (ulong i = first_index(); i < n; i += all_threads()) mine += x[i] * y[i];
  sums[first_index()] = mine;
}

extern __shared__ SUM sums_of_block[];  // one for each thread of the block

extern "C" __global__ void dot_groups(const float* x, const float* y, ulong n, SUM* partial) {
  const unsigned thread = threadIdx.x;
  SUM mine = 0;
  for (ulong i = first_index(); i < n; i += all_threads()) mine += SUM(x[i]) * SUM(y[i]);
  sums_of_block[thread] = mine;
  __syncthreads();  // nobody adds before all have written
  for (unsigned left = blockDim.x; left > 1;) {
    const unsigned lower = (left + 1) / 2;
    if (thread < left - lower) sums_of_block[thread] += sums_of_block[thread + lower];
    __syncthreads();
    left = lower;
  }
  if (thread == 0) partial[blockIdx.x] = sums_of_block[0];
}
