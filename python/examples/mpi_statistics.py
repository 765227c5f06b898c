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
    """(exact sums, histogram) of all ranks' parts, on every rank."""
    sums = comm.allreduce(masu.SumAccumulator.of(part))  # MPI.SUM of Python objects is +
    low, high = comm.allreduce(part.min(initial=np.inf), MPI.MIN), comm.allreduce(part.max(initial=-np.inf), MPI.MAX)
    counts = masu.Histogram.of(part, bins, (low, high))
    return sums, comm.allreduce(counts)


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
    sums, counts = statistics(comm, data[begin:end], options.bins)
    if comm.rank == 0:
        print(f"n {sums.count} sum {sums.sum()!r} mean {sums.mean()!r} std {sums.std()!r}")
        print(*counts.counts())


if __name__ == "__main__":
    main()
