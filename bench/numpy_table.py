#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time of every NumPy function of masu over NumPy's own, on host arrays: one table, cells over their limit marked.

    python bench/numpy_table.py [--case TEXT,…] [--count N,…] [--rounds N] [--limits]

A cell is masu's time / NumPy's: the median of five rounds in which both take turns. Marked `*` where it is over its
limit: 1.05, or 2.0 for exact float totals in cache (10^3 and 10^5 elements). Needs numpy and masu in the Python that
runs it. MASU_THREADS is honoured; NumPy has one thread, but in `dot`
OPENBLAS_NUM_THREADS. `--limits` ends with 1 where a cell is over its limit.
"""
import argparse
import os
import statistics
import sys
import time

import masu
import numpy as np

LIMIT, LIMIT_EXACT = 1.05, 2.0
SECONDS = 0.004  # of a round at least


def values(dtype, rng, n):
    """Random elements of all their range."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (rng.random(n) if dtype.itemsize == 2 else rng.standard_normal(n)).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype, endpoint=True)


def one(dtype, call):
    return lambda rng, n: (lambda x: lambda np: call(np, x))(values(dtype, rng, n))


def rows(dtype, call, columns=10):
    return lambda rng, n: (lambda x: lambda np: call(np, x))(values(dtype, rng, n // columns * columns).reshape(-1, columns))


def square(dtype, call):
    return lambda rng, n: (lambda side: (lambda x: lambda np: call(np, x))(
        values(dtype, rng, side * side).reshape(side, side)))(int(n**0.5))


def strided(dtype, call):
    return lambda rng, n: (lambda x: lambda np: call(np, x))(values(dtype, rng, 3 * n)[::3])


def below(dtype, most, call):
    return lambda rng, n: (lambda x: lambda np: call(np, x))(rng.integers(0, most, n, dtype))


def weighted(most, call, dtype="f8"):
    """Places below `most` (0: below n / 10) and a weight for each."""
    def make(rng, n):
        x, w = rng.integers(0, most or max(n // 10, 10), n), rng.random(n, dtype)
        return lambda np: call(np, x, w)
    return make


def pair(dtype, call):
    def make(rng, n):
        x, y = values(dtype, rng, n), values(dtype, rng, n)
        return lambda np: call(np, x, y)
    return make


def sought(dtype):
    def make(rng, n):
        x, v = np.sort(values(dtype, rng, max(n // 10, 10))), values(dtype, rng, n)
        return lambda np: np.searchsorted(x, v)
    return make


def sampled(call):
    """Elements, and 1,000 places or 10,000 numbers from 0 to 1."""
    def make(rng, n):
        x, places, q = values("f8", rng, n), np.unique(rng.integers(0, n, 1000)), rng.random(10000)
        return lambda np: call(np, x, places, q)
    return make


def cases():
    """name: (how to make the call, whether it is an exact total)."""
    made = {}

    def add(name, make, exact=False):
        made[name] = make, exact

    for dtype in ("f2", "f4", "f8", "i4", "i8", "u1", "u2"):
        add(f"sort {dtype}", one(dtype, lambda np, x: np.sort(x)))
    for dtype in ("f4", "f8", "i4"):
        add(f"sort {dtype}, rows of 10", rows(dtype, lambda np, x: np.sort(x)))
        add(f"sort {dtype}, columns", square(dtype, lambda np, x: np.sort(x, axis=0)))
        add(f"sort {dtype}, strided", strided(dtype, lambda np, x: np.sort(x)))
    for dtype in ("u1", "u2", "i4", "i8", "f4", "f8"):
        add(f"argsort {dtype}", one(dtype, lambda np, x: np.argsort(x)))
        add(f"argsort {dtype}, stable", one(dtype, lambda np, x: np.argsort(x, kind="stable")))
    add("argsort f8, rows of 10", rows("f8", lambda np, x: np.argsort(x)))
    for dtype in ("f4", "f8", "i4", "i8", "u1", "f2"):
        add(f"partition {dtype}", one(dtype, lambda np, x: np.partition(x, x.size // 2)))
    for dtype in ("f4", "f8", "i4"):
        add(f"argpartition {dtype}", one(dtype, lambda np, x: np.argpartition(x, x.size // 2)))
        add(f"partition {dtype}, rows of 10", rows(dtype, lambda np, x: np.partition(x, 5)))
        add(f"median {dtype}", one(dtype, lambda np, x: np.median(x)))
        add(f"median {dtype}, rows of 10", rows(dtype, lambda np, x: np.median(x, axis=1)))
        add(f"quantile {dtype}, 3", one(dtype, lambda np, x: np.quantile(x, [0.05, 0.5, 0.95])))
    add("partition f8, 10th", one("f8", lambda np, x: np.partition(x, 10)))
    add("partition f8, 3 places", one("f8", lambda np, x: np.partition(x, [x.size // 4, x.size // 2, x.size * 3 // 4])))
    add("partition f8, 1,000 places", sampled(lambda np, x, places, q: np.partition(x, places)))
    add("argpartition f8, rows of 10", rows("f8", lambda np, x: np.argpartition(x, 5)))
    add("quantile f8, 10^4", sampled(lambda np, x, places, q: np.quantile(x, q)))
    for dtype in ("f2", "f4", "f8", "i4", "i8"):
        add(f"unique {dtype}", one(dtype, lambda np, x: np.unique(x)))
    add("unique i8 below 1,000, counts", below("i8", 1000, lambda np, x: np.unique(x, return_counts=True)))
    add("unique f8, inverse", one("f8", lambda np, x: np.unique(x, return_inverse=True)))
    add("searchsorted f8", sought("f8"))
    add("sum i8", one("i8", lambda np, x: np.sum(x)))
    add("cumsum i8", one("i8", lambda np, x: np.cumsum(x)))
    for dtype in ("f2", "f4", "f8"):
        add(f"sum {dtype}", one(dtype, lambda np, x: np.sum(x)), True)
    for dtype in ("f4", "f8"):
        add(f"sum {dtype}, axis 0", square(dtype, lambda np, x: np.sum(x, axis=0)), True)
        add(f"sum {dtype}, axis 1", square(dtype, lambda np, x: np.sum(x, axis=1)), True)
        add(f"sum {dtype}, rows of 10", rows(dtype, lambda np, x: np.sum(x, axis=1)), True)
        add(f"dot {dtype}", pair(dtype, lambda np, x, y: np.dot(x, y)), True)
        add(f"cumsum {dtype}", one(dtype, lambda np, x: np.cumsum(x)), True)
        add(f"mean {dtype}", one(dtype, lambda np, x: np.mean(x)), True)
        add(f"var {dtype}", one(dtype, lambda np, x: np.var(x)), True)
    for dtype in ("u1", "i4", "i8", "f4", "f8"):
        most = 256 if dtype == "u1" else 10**6
        if dtype[0] == "f":
            add(f"histogram {dtype}, range", one(dtype, lambda np, x: np.histogram(x, 100, (-3, 3))))
            add(f"histogram {dtype}", one(dtype, lambda np, x: np.histogram(x, 100)))
        else:
            add(f"histogram {dtype}, range", below(dtype, most, lambda np, x, m=most: np.histogram(x, 100, (0, m))))
            add(f"histogram {dtype}", below(dtype, most, lambda np, x: np.histogram(x, 100)))
    edges = np.sort(np.random.default_rng(9).standard_normal(101))
    add("histogram f8, 100 edges", one("f8", lambda np, x: np.histogram(x, edges)))
    add("histogram f8, 10^5 bins", one("f8", lambda np, x: np.histogram(x, 10**5)))
    for bins in (10**2, 10**5):
        add(f"histogram f8, {bins} bins, weights", pair("f8", lambda np, x, w, b=bins: np.histogram(
            x, b, (-3, 3), weights=w)), True)
    add("histogram2d f8", pair("f8", lambda np, x, y: np.histogram2d(x, y, 100)))
    add("histogram2d f8, weights", pair("f8", lambda np, x, y: np.histogram2d(x, y, 100, weights=y)), True)
    add("digitize f8", one("f8", lambda np, x: np.digitize(x, edges)))
    add("bincount u1", below("u1", 256, lambda np, x: np.bincount(x)))
    add("bincount i8", below("i8", 1000, lambda np, x: np.bincount(x)))
    for most in (1000, 0, 10**6):
        name = most or "n / 10"
        add(f"bincount, {name} bins, weights", weighted(most, lambda np, x, w: np.bincount(x, w)), True)
    return made


def timed(call, module, loops):
    start = time.perf_counter()
    for _ in range(loops):
        call(module)
    return (time.perf_counter() - start) / loops


def seconds(call, rounds):
    """The medians of NumPy's and of masu's seconds."""
    call(masu)
    loops = max(1, round(SECONDS / timed(call, np, 1)))
    if loops > 1:
        loops = max(1, round(SECONDS / timed(call, np, min(loops, 10))))
    taken = {np: [], masu: []}
    for number in range(rounds):
        for module in (np, masu) if number % 2 else (masu, np):  # neither side is always the first
            taken[module].append(timed(call, module, loops))
    return statistics.median(taken[np]), statistics.median(taken[masu])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--case", type=lambda text: text.split(","), default=[""], help="those with one of these texts")
    parser.add_argument("--count", type=lambda text: [int(n) for n in text.split(",")], default=[10**3, 10**5, 10**7])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limits", action="store_true", help="end with 1 where a cell is over its limit")
    options = parser.parse_args()
    threads = os.environ.get("MASU_THREADS") or len(os.sched_getaffinity(0))
    print(f"masu's time / NumPy {np.__version__}'s, {threads} threads; NumPy's time; * over its limit\n")
    print("| call |" + "".join(f" {count:,} |" for count in options.count))
    print("| --- |" + " --- |" * len(options.count))
    over = 0
    for name, (make, exact) in cases().items():
        if not any(text in name for text in options.case):
            continue
        cells = []
        for count in options.count:
            numpys, own = seconds(make(np.random.default_rng(5), count), options.rounds)
            limit = LIMIT_EXACT if exact and count <= 10**5 else LIMIT
            marked = own > limit * numpys
            over += marked
            cells.append(f"{own / numpys:.2f}{'*' if marked else ''} ({numpys * 1e6:,.3g} µs)")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print(f"\n{over} cells are over their limit")
    sys.exit(1 if over and options.limits else 0)


if __name__ == "__main__":
    main()
