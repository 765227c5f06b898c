// SPDX-License-Identifier: Apache-2.0
// Counts bytes: each block in a table in shared memory, then all blocks into one result. Any number of threads a block
// and of blocks; counts are 64-bit. A block's own table is 32-bit, so it is merged before a block has read 2^32 bytes.

typedef unsigned char Byte;
typedef unsigned long long Count;

const unsigned bins = 256;
const Count most = 1ull << 31;  // bytes that a block counts before it merges

__device__ void clear(unsigned *table) {
  for (unsigned bin = threadIdx.x; bin < bins; bin += blockDim.x) table[bin] = 0;
  __syncthreads();
}

__device__ void merge(const unsigned *table, Count *counts) {
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < bins; bin += blockDim.x) {
    if (table[bin] != 0) atomicAdd(&counts[bin], (Count)table[bin]);
  }
  __syncthreads();
}

// `counts` must be zero before.
extern "C" __global__ void shared_memory_histogram(const Byte *data, Count n, Count *counts) {
  __shared__ unsigned table[bins];
  const Count threads = (Count)gridDim.x * blockDim.x;
  const Count rounds = most / blockDim.x;  // in which each thread of the block counts one byte
  Count first = (Count)blockIdx.x * blockDim.x;
  while (first < n) {  // the same for every thread of the block
    clear(table);
    for (Count round = 0; round < rounds && first < n; ++round, first += threads) {
      if (first + threadIdx.x < n) atomicAdd(&table[data[first + threadIdx.x]], 1u);
    }
    merge(table, counts);
  }
}
