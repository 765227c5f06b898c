# SPDX-License-Identifier: Apache-2.0
"""Exact statistics of data that is spread over the ranks of MPI: the same bits for any number of ranks.

    mpirun -n 4 python mpi_statistics.py [FILE.npy] [--bins N]

Each rank reads its part of the file; without one, a million random numbers are dealt out. Needs mpi4py.
"""
import argparse

import numpy as np
from mpi4py import MPI

import masu


def statistics(comm, part, bins):
    """(exact sums, extremes, histogram, the three greatest) of all ranks' parts, on every rank."""
    sums = comm.allreduce(masu.SumAccumulator.of(part))  # MPI.SUM of Python objects is +, in the order of the ranks
    extremes = comm.allreduce(masu.ReduceAccumulator.of(part))
    counts = comm.allreduce(masu.Histogram.of(part, bins, (extremes.min(), extremes.max())))
    return sums, extremes, counts, comm.allreduce(masu.TopkAccumulator.of(part, 3)).result()


def quantiles(comm, part, q):
    """Exact quantiles of all ranks' parts, on every rank: in passes over the parts, which exchange counts alone."""
    finder = masu.QuantileFinder(part.dtype, q)
    while True:
        finder.add(part)
        # all ranks begin a pass with equal finders: what is added is this pass's counts alone
        finder = comm.allreduce(finder)
        if not finder.next_pass():
            return finder.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--bins", type=int, default=10)
    options = parser.parse_args()
    comm = MPI.COMM_WORLD
    if options.file:
        data = np.load(options.file, mmap_mode="r").reshape(-1)
    else:
        data = np.random.default_rng(1).normal(size=1_000_003)
    begin, end = (data.size * (comm.rank + i) // comm.size for i in (0, 1))
    part = np.ascontiguousarray(data[begin:end])
    sums, extremes, counts, greatest = statistics(comm, part, options.bins)
    found = quantiles(comm, part, [0.25, 0.5, 0.999])
    if comm.rank == 0:
        print(f"n {sums.count} sum {sums.sum()!r} mean {sums.mean()!r} std {sums.std()!r}")
        print(*counts.counts())
        print(f"least at {extremes.argmin()}, greatest at {greatest.indices.tolist()}, quantiles {found.tolist()}")


if __name__ == "__main__":
    main()
