# SPDX-License-Identifier: Apache-2.0
"""Exact statistics of tensors that are spread over the processes of torch.distributed.

    torchrun --nproc-per-node 4 torch_statistics.py

Counts are integers, so all_reduce adds them exactly; exact sums are gathered as objects and added. The result has the same
bits for any number of processes. Needs PyTorch.
"""
import numpy as np
import torch
import torch.distributed as dist

import masu


def statistics(part, bins, limits):
    """(exact sums, counts) of all processes' parts, on every process."""
    states = [None] * dist.get_world_size()
    dist.all_gather_object(states, masu.SumAccumulator.of(part))
    counts = masu.histogram(part, bins, limits)[0].to(torch.int64)
    dist.all_reduce(counts)
    return sum(states), counts


def main():
    dist.init_process_group("gloo")
    data = torch.from_numpy(np.random.default_rng(1).normal(size=1_000_003))
    part = data.tensor_split(dist.get_world_size())[dist.get_rank()]
    sums, counts = statistics(part, 10, (-5.0, 5.0))
    if dist.get_rank() == 0:
        print(f"n {sums.count} sum {sums.sum()!r} mean {sums.mean()!r} std {sums.std()!r}")
        print(*counts.tolist())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
