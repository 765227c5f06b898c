# SPDX-License-Identifier: Apache-2.0
"""Exact statistics of tensors that are spread over the processes of torch.distributed: the same bits for any number.

    torchrun --nproc-per-node 4 torch_statistics.py [FILE.npy] [--bins N]

Each process reads its part of the file; without one, a million random numbers are dealt out. A state is a vector of int64,
and all_reduce of these vectors merges the states. Needs PyTorch.
"""
import argparse
import math

import numpy as np
import torch
import torch.distributed as dist

import masu


def all_reduced(numbers, op=dist.ReduceOp.SUM):
    """The numbers of all processes together, on every process."""
    tensor = torch.from_numpy(numbers)  # for the backend nccl in memory of the GPU: .cuda(), and .cpu() behind
    dist.all_reduce(tensor, op)
    return tensor.numpy()


def merged(state):
    """The state of all processes' data, of a masu.SumAccumulator or a masu.Histogram."""
    return state.with_integers(all_reduced(state.integers()))


def statistics(part, bins):
    """(exact sums, histogram) of all processes' parts, on every process."""
    ends = [float(part.min()), -float(part.max())] if len(part) else [math.inf, math.inf]
    low, high = all_reduced(np.array(ends), dist.ReduceOp.MIN).tolist()
    return merged(masu.SumAccumulator.of(part)), merged(masu.Histogram.of(part, bins, (low, -high)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--bins", type=int, default=10)
    options = parser.parse_args()
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    if options.file:
        data = np.load(options.file, mmap_mode="r").reshape(-1)
    else:
        data = np.random.default_rng(1).normal(size=1_000_003)
    begin, end = (data.size * (rank + i) // size for i in (0, 1))
    sums, counts = statistics(torch.tensor(data[begin:end]), options.bins)
    if rank == 0:
        print(f"n {sums.count} sum {sums.sum()!r} mean {sums.mean()!r} std {sums.std()!r}")
        print(*counts.counts())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
