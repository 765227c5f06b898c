// SPDX-License-Identifier: Apache-2.0
// memory_fence.cl in CUDA C++: one block tells another something, by memory, without waiting for it.
//
// What CUDA promises: __threadfence() orders what the calling thread wrote and read before it and after it, as every
// thread of the device sees it. Together with an atomic that one thread changes and another one finds changed, it makes
// what came before the fence of the first visible after the fence of the second. So here a fence stands on both sides of
// the flag. Then even plain stores and loads of the message would be right, which OpenCL 1.2 does not promise; the
// atomics keep the two programs alike. Blocks need not run at the same time, so nobody waits.

typedef unsigned long long Sum;

extern __shared__ Sum sums[];  // one for each thread of the block

// The sum of `mine` over the block.
__device__ Sum sum_of_block(Sum mine) {
  const unsigned thread = threadIdx.x;
  sums[thread] = mine;
  __syncthreads();
  for (unsigned left = blockDim.x; left > 1;) {
    const unsigned lower = (left + 1) / 2;
    if (thread < left - lower) sums[thread] += sums[thread + lower];
    __syncthreads();
    left = lower;
  }
  return sums[0];
}

// The sum of all values in one kernel: each block leaves its own in partial[b], and the block that arrives last adds
// them. `arrived` must be 0 before.
extern "C" __global__ void sum_by_last_group(const unsigned* values, Sum n, Sum* partial, unsigned* arrived,
                                             Sum* total) {
  __shared__ bool last;
  Sum mine = 0;
  const Sum threads = (Sum)gridDim.x * blockDim.x;
  for (Sum i = (Sum)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) mine += values[i];
  const Sum sum = sum_of_block(mine);
  if (threadIdx.x == 0) {
    atomicExch(&partial[blockIdx.x], sum);
    __threadfence();                                    // the sum is in memory before the block is counted
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;     // true in one block: all others have been counted
    __threadfence();                                    // and before the sums are read
  }
  __syncthreads();
  if (!last) return;  // the whole block or none of it

  mine = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x) mine += atomicAdd(&partial[b], 0ull);
  const Sum all = sum_of_block(mine);
  if (threadIdx.x == 0) *total = all;
}

// Word w of the message of thread i; not 0.
__device__ unsigned message(Sum i, unsigned w) { return (unsigned)(i * 4 + w) * 2654435761u | 1u; }

// Threads i and i + pairs each write a message of four words into their box and raise the flag of the pair. Who finds
// it raised reads the other's message: it is there, and whole. Boxes, flags and what was received are 0 before.
extern "C" __global__ void pass_messages(Sum pairs, unsigned* boxes, unsigned* flags, unsigned* received) {
  const Sum i = (Sum)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 2 * pairs) return;
  const bool upper = i >= pairs;
  const Sum other = upper ? i - pairs : i + pairs;
  for (unsigned w = 0; w < 4; ++w) atomicExch(&boxes[4 * i + w], message(i, w));
  __threadfence();  // the message before the flag
  if (atomicExch(&flags[upper ? other : i], 1u) == 0) return;
  __threadfence();  // the flag before the message
  for (unsigned w = 0; w < 4; ++w) received[4 * i + w] = atomicAdd(&boxes[4 * other + w], 0u);
}
