#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time of every NumPy function of masu over NumPy's own, on host arrays: one table, cells over their limit marked.

    python bench/numpy_table.py [--case TEXT,…] [--count N,…] [--rounds N] [--small] [--limits] [--every]

A cell is masu's least time / NumPy's, of rounds in which both take turns. Marked `*` where it is over its limit: 1.1 up
to 10,000 elements and 1.05 above, or 2.0 for exact float totals up to 10^5 elements. `--small`: 100, 1,000, 5,000 and
10,000 elements. `--every`: every function of each of 11 dtypes, in up to seven forms, of 100, 1,000 and 10,000 elements
(3,000 cells); only those above 1.1 are shown, the better of two measurements. Needs numpy and masu in the Python that
runs it. MASU_THREADS is honoured; NumPy has one thread, but in `dot` OPENBLAS_NUM_THREADS. `--limits` ends with 1 where
a cell is over its limit.
"""
import argparse
import math
import os
import sys
import time

import masu
import numpy as np

LIMIT, LIMIT_SMALL, LIMIT_EXACT = 1.05, 1.1, 2.0
SMALL = [100, 1000, 5000, 10000]
SECONDS = 0.0004  # of a round at least


DTYPES = ("u1", "u2", "i4", "i8", "f2", "f4", "f8")
EVERY_DTYPE = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
EVERY_COUNT = [100, 1000, 10000]


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


def with_nan(dtype, call):
    """A tenth of the elements is NaN."""
    def make(rng, n):
        x = values(dtype, rng, n)
        x[rng.random(n) < 0.1] = np.nan
        return lambda np: call(np, x)
    return make


def first_ten(module, x):
    """The ten greatest elements and their places, in order."""
    if module is masu:
        return masu.topk(x, 10)
    places = np.argpartition(x, -10)[-10:]
    places = places[np.argsort(-x[places])]
    return x[places], places


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

    for dtype in DTYPES:
        add(f"sort {dtype}", one(dtype, lambda np, x: np.sort(x)))
        add(f"sort {dtype}, stable", one(dtype, lambda np, x: np.sort(x, kind="stable")))
    for dtype in ("f4", "f8", "i4"):
        add(f"sort {dtype}, rows of 10", rows(dtype, lambda np, x: np.sort(x)))
        add(f"sort {dtype}, columns", square(dtype, lambda np, x: np.sort(x, axis=0)))
        add(f"sort {dtype}, strided", strided(dtype, lambda np, x: np.sort(x)))
    for dtype in DTYPES:
        add(f"argsort {dtype}", one(dtype, lambda np, x: np.argsort(x)))
        add(f"argsort {dtype}, stable", one(dtype, lambda np, x: np.argsort(x, kind="stable")))
    add("argsort f8, rows of 10", rows("f8", lambda np, x: np.argsort(x)))
    for dtype in DTYPES:
        add(f"partition {dtype}", one(dtype, lambda np, x: np.partition(x, x.size // 2)))
        add(f"argpartition {dtype}", one(dtype, lambda np, x: np.argpartition(x, x.size // 2)))
        if dtype[0] != "f" or dtype == "f2":
            add(f"median {dtype}", one(dtype, lambda np, x: np.median(x)))
            add(f"quantile {dtype}", one(dtype, lambda np, x: np.quantile(x, 0.3)))
    for dtype in ("f4", "f8"):
        add(f"nanmedian {dtype}", one(dtype, lambda np, x: np.nanmedian(x)))
        add(f"nanmedian {dtype}, NaN", with_nan(dtype, lambda np, x: np.nanmedian(x)))
        add(f"nanquantile {dtype}, 3", with_nan(dtype, lambda np, x: np.nanquantile(x, [0.05, 0.5, 0.95])))
        add(f"nanpercentile {dtype}", with_nan(dtype, lambda np, x: np.nanpercentile(x, 30)))
        add(f"median {dtype}, NaN", with_nan(dtype, lambda np, x: np.median(x)))
        add(f"percentile {dtype}", one(dtype, lambda np, x: np.percentile(x, 30)))
        add(f"topk {dtype}, 10", one(dtype, first_ten))
    add("topk i4, 10", one("i4", first_ten))
    for dtype in ("f4", "f8", "i4"):
        add(f"partition {dtype}, rows of 10", rows(dtype, lambda np, x: np.partition(x, 5)))
        add(f"median {dtype}", one(dtype, lambda np, x: np.median(x)))
        add(f"median {dtype}, rows of 10", rows(dtype, lambda np, x: np.median(x, axis=1)))
        add(f"quantile {dtype}, 3", one(dtype, lambda np, x: np.quantile(x, [0.05, 0.5, 0.95])))
    add("partition f8, 10th", one("f8", lambda np, x: np.partition(x, 10)))
    add("partition f8, 3 places", one("f8", lambda np, x: np.partition(x, [x.size // 4, x.size // 2, x.size * 3 // 4])))
    add("partition f8, 1,000 places", sampled(lambda np, x, places, q: np.partition(x, places)))
    add("argpartition f8, rows of 10", rows("f8", lambda np, x: np.argpartition(x, 5)))
    add("quantile f8, 10^4", sampled(lambda np, x, places, q: np.quantile(x, q)))
    for dtype in DTYPES:
        add(f"unique {dtype}", one(dtype, lambda np, x: np.unique(x)))
        add(f"unique {dtype}, index, inverse, counts", one(dtype, lambda np, x: np.unique(x, True, True, True)))
    add("unique f8, NaN", with_nan("f8", lambda np, x: np.unique(x)))
    add("unique i8 below 1,000, counts", below("i8", 1000, lambda np, x: np.unique(x, return_counts=True)))
    add("unique f8, inverse", one("f8", lambda np, x: np.unique(x, return_inverse=True)))
    for dtype in ("i4", "f4", "f8"):
        add(f"searchsorted {dtype}", sought(dtype))
    add("searchsorted f8, one", one("f8", lambda np, x: np.searchsorted(x, 0.5)))
    for dtype in ("u1", "u2", "i4", "i8"):
        add(f"sum {dtype}", one(dtype, lambda np, x: np.sum(x)))
        add(f"sum {dtype}, axis 0", square(dtype, lambda np, x: np.sum(x, axis=0)))
        add(f"mean {dtype}", one(dtype, lambda np, x: np.mean(x)), True)
        add(f"var {dtype}", one(dtype, lambda np, x: np.var(x)), True)
        add(f"cumsum {dtype}", one(dtype, lambda np, x: np.cumsum(x)))
        add(f"dot {dtype}", pair(dtype, lambda np, x, y: np.dot(x, y)))
    add("sum f8, where", one("f8", lambda np, x: np.sum(x, where=x > 0)), True)
    for dtype in ("f2",):
        add(f"dot {dtype}", pair(dtype, lambda np, x, y: np.dot(x, y)), True)
        add(f"mean {dtype}", one(dtype, lambda np, x: np.mean(x)), True)
        add(f"cumsum {dtype}", one(dtype, lambda np, x: np.cumsum(x)), True)
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
        add(f"std {dtype}, ddof 1", one(dtype, lambda np, x: np.std(x, ddof=1)), True)
        add(f"mean {dtype}, axis 0", square(dtype, lambda np, x: np.mean(x, axis=0)), True)
        add(f"mean {dtype}, axis 1", square(dtype, lambda np, x: np.mean(x, axis=1)), True)
        add(f"var {dtype}, axis 0", square(dtype, lambda np, x: np.var(x, axis=0)), True)
        add(f"var {dtype}, axis 1", square(dtype, lambda np, x: np.var(x, axis=1)), True)
        add(f"cumsum {dtype}, axis 0", square(dtype, lambda np, x: np.cumsum(x, axis=0)), True)
        add(f"cumsum {dtype}, axis 1", square(dtype, lambda np, x: np.cumsum(x, axis=1)), True)
    for dtype in ("u1", "u2", "i4", "i8", "f4", "f8"):
        most = {"u1": 256, "u2": 2**16}.get(dtype, 10**6)
        if dtype[0] == "f":
            add(f"histogram {dtype}, range", one(dtype, lambda np, x: np.histogram(x, 100, (-3, 3))))
            add(f"histogram {dtype}", one(dtype, lambda np, x: np.histogram(x, 100)))
        else:
            add(f"histogram {dtype}, range", below(dtype, most, lambda np, x, m=most: np.histogram(x, 100, (0, m))))
            add(f"histogram {dtype}", below(dtype, most, lambda np, x: np.histogram(x, 100)))
    edges = np.sort(np.random.default_rng(9).standard_normal(101))
    add("histogram f8, 100 edges", one("f8", lambda np, x: np.histogram(x, edges)))
    add("histogram f8, auto", one("f8", lambda np, x: np.histogram(x, "auto")))
    add("histogram f8, density", one("f8", lambda np, x: np.histogram(x, 100, density=True)))
    add("histogram_bin_edges f8", one("f8", lambda np, x: np.histogram_bin_edges(x, 100)))
    add("histogram_bin_edges f8, fd", one("f8", lambda np, x: np.histogram_bin_edges(x, "fd")))
    add("histogram i8, weights i8", pair("i8", lambda np, x, w: np.histogram(x, 100, weights=w)))
    add("histogram f8, 10^5 bins", one("f8", lambda np, x: np.histogram(x, 10**5)))
    for bins in (10**2, 10**5):
        add(f"histogram f8, {bins} bins, weights", pair("f8", lambda np, x, w, b=bins: np.histogram(
            x, b, (-3, 3), weights=w)), True)
    add("histogram2d f8", pair("f8", lambda np, x, y: np.histogram2d(x, y, 100)))
    add("histogram2d f8, weights", pair("f8", lambda np, x, y: np.histogram2d(x, y, 100, weights=y)), True)
    add("histogram2d f4", pair("f4", lambda np, x, y: np.histogram2d(x, y, 10)))
    add("histogramdd f8, 3", rows("f8", lambda np, x: np.histogramdd(x, 10), 3))
    add("digitize f8", one("f8", lambda np, x: np.digitize(x, edges)))
    add("bincount u1", below("u1", 256, lambda np, x: np.bincount(x)))
    add("bincount i4", below("i4", 1000, lambda np, x: np.bincount(x)))
    add("bincount i8", below("i8", 1000, lambda np, x: np.bincount(x)))
    add("bincount i8, minlength", below("i8", 1000, lambda np, x: np.bincount(x, minlength=2000)))
    for most in (1000, 0, 10**6):
        name = most or "n / 10"
        add(f"bincount, {name} bins, weights", weighted(most, lambda np, x, w: np.bincount(x, w)), True)
    return made


def every_case():
    """name: how to make the call. Every function of each dtype, along each axis and with the arguments that matter."""
    made = {}

    def add(function, dtype, form, call, make=one, **more):
        made[f"{function} {dtype} {form}".rstrip()] = make(dtype, lambda np, *x: call(getattr(np, function), *x), **more)

    def weighted_by(dtype, call):
        def make(rng, n):
            x, y, w = values(dtype, rng, n), values(dtype, rng, n), rng.random(n)
            return lambda np: call(np, x, y, w)
        return make

    for dtype in EVERY_DTYPE:
        real = dtype[0] == "f"
        low, high = (-3, 3) if real else (int(np.iinfo(dtype).min), min(int(np.iinfo(dtype).max), 2**62))
        edges = np.linspace(low, high, 101)
        for function in ("sort", "argsort"):
            add(function, dtype, "", lambda f, x: f(x))
            add(function, dtype, "stable", lambda f, x: f(x, kind="stable"))
            add(function, dtype, "rows of 10", lambda f, x: f(x), rows)
            for axis in (0, 1):
                add(function, dtype, f"axis {axis}", lambda f, x, axis=axis: f(x, axis=axis), square)
        for function in ("partition", "argpartition"):
            for form, kth in (("middle", lambda x: x.size // 2), ("10th", lambda x: 10), ("last", lambda x: -1),
                              ("3", lambda x: [x.size // 4, x.size // 2, x.size * 3 // 4])):
                add(function, dtype, form, lambda f, x, kth=kth: f(x, kth(x)))
            add(function, dtype, "rows of 10", lambda f, x: f(x, 5), rows)
            add(function, dtype, "axis 0", lambda f, x: f(x, 5, axis=0), square)
        for function in ("median", "nanmedian", "quantile", "nanquantile", "percentile", "nanpercentile"):
            q = () if "median" in function else (30 if "perc" in function else 0.3,)
            add(function, dtype, "", lambda f, x, q=q: f(x, *q))
            add(function, dtype, "rows of 10", lambda f, x, q=q: f(x, *q, axis=1), rows)
            add(function, dtype, "axis 0", lambda f, x, q=q: f(x, *q, axis=0), square)
            if q:
                add(function, dtype, "3", lambda f, x, q=q: f(x, [q[0] / 3, q[0], q[0] * 2]))
                add(function, dtype, "lower", lambda f, x, q=q: f(x, *q, method="lower"))
        for form, options in (("", {}), ("counts", {"return_counts": True}), ("inverse", {"return_inverse": True}),
                              ("index", {"return_index": True})):
            add("unique", dtype, form, lambda f, x, options=options: f(x, **options))
        made[f"searchsorted {dtype}"] = sought(dtype)
        add("searchsorted", dtype, "one", lambda f, x: f(x, x[3]))
        for function in ("sum", "mean", "var", "std"):
            add(function, dtype, "", lambda f, x: f(x))
            add(function, dtype, "rows of 10", lambda f, x: f(x, axis=1), rows)
            for axis in (0, 1):
                add(function, dtype, f"axis {axis}", lambda f, x, axis=axis: f(x, axis=axis), square)
            add(function, dtype, "keepdims", lambda f, x: f(x, keepdims=True), square)
            add(function, dtype, "where", lambda f, x: f(x, where=x > 0))
            add(function, dtype, "strided", lambda f, x: f(x), strided)
        add("cumsum", dtype, "", lambda f, x: f(x))
        for axis in (0, 1):
            add("cumsum", dtype, f"axis {axis}", lambda f, x, axis=axis: f(x, axis=axis), square)
        add("dot", dtype, "", lambda f, x, y: f(x, y), pair)
        for form, options in (("", {}), ("range", {"range": (low, high)}), ("density", {"density": True})):
            add("histogram", dtype, form, lambda f, x, options=options: f(x, 100, **options))
        for form, bins in (("edges", edges), ("sqrt", "sqrt")):
            add("histogram", dtype, form, lambda f, x, bins=bins: f(x, bins))
        made[f"histogram {dtype} weights"] = weighted_by(dtype, lambda np, x, y, w: np.histogram(x, 100, weights=w))
        add("histogram", dtype, "own weights", lambda f, x, y: f(x, 100, weights=y), pair)
        add("histogram2d", dtype, "", lambda f, x, y: f(x, y, 10), pair)
        made[f"histogram2d {dtype} weights"] = weighted_by(dtype, lambda np, x, y, w: np.histogram2d(x, y, 10, weights=w))
        add("histogram_bin_edges", dtype, "", lambda f, x: f(x, 100))
        add("digitize", dtype, "", lambda f, x, edges=edges: f(x, edges))
        if not real:
            made[f"bincount {dtype}"] = below(dtype, 100, lambda np, x: np.bincount(x))
            made[f"bincount {dtype} minlength"] = below(dtype, 100, lambda np, x: np.bincount(x, minlength=200))
    return made


def show_every(texts, rounds):
    """The cells of every_case() that are above the limit, and their number."""
    cells = over = 0
    print("| call | elements | masu / NumPy | NumPy's µs |\n| --- | --- | --- | --- |")
    for name, make in every_case().items():
        if not any(text in name for text in texts):
            continue
        for count in EVERY_COUNT:
            ratio = math.inf
            for attempt in range(2):
                if ratio > LIMIT_SMALL:
                    numpys, own = seconds(make(np.random.default_rng(5 + attempt), count), rounds * (1 + attempt))
                    ratio = min(ratio, own / numpys)
            cells += 1
            over += ratio > LIMIT_SMALL
            if ratio > LIMIT_SMALL:
                print(f"| {name} | {count:,} | {ratio:.2f} | {numpys * 1e6:,.3g} |", flush=True)
    print(f"\n{over} of {cells} cells are above {LIMIT_SMALL}")
    return over


def timed(call, module, loops):
    start = time.perf_counter()
    for _ in range(loops):
        call(module)
    return (time.perf_counter() - start) / loops


def seconds(call, rounds):
    """NumPy's and masu's least seconds."""
    call(masu)
    loops = max(1, round(SECONDS / timed(call, np, 1)))
    if loops > 1:
        loops = max(1, round(SECONDS / timed(call, np, min(loops, 10))))
    taken = {np: math.inf, masu: math.inf}
    for number in range(rounds):
        for module in (np, masu) if number % 2 else (masu, np):  # neither side is always the first
            taken[module] = min(taken[module], timed(call, module, loops))
    return taken[np], taken[masu]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--case", type=lambda text: text.split(","), default=[""], help="those with one of these texts")
    parser.add_argument("--count", type=lambda text: [int(n) for n in text.split(",")], default=[10**3, 10**5, 10**7])
    parser.add_argument("--small", dest="count", action="store_const", const=SMALL, help="sizes up to 10,000")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--every", action="store_true", help="every function of every dtype: what is above its limit")
    parser.add_argument("--limits", action="store_true", help="end with 1 where a cell is over its limit")
    options = parser.parse_args()
    threads = os.environ.get("MASU_THREADS") or len(os.sched_getaffinity(0))
    print(f"masu's time / NumPy {np.__version__}'s, {threads} threads; NumPy's time; * over its limit\n")
    if options.every:
        sys.exit(1 if show_every(options.case, options.rounds) and options.limits else 0)
    print("| call |" + "".join(f" {count:,} |" for count in options.count))
    print("| --- |" + " --- |" * len(options.count))
    over = 0
    for name, (make, exact) in cases().items():
        if not any(text in name for text in options.case):
            continue
        cells = []
        for count in options.count:
            numpys, own = seconds(make(np.random.default_rng(5), count), options.rounds)
            limit = LIMIT_EXACT if exact and count <= 10**5 else LIMIT_SMALL if count <= SMALL[-1] else LIMIT
            marked = own > limit * numpys
            over += marked
            cells.append(f"{own / numpys:.2f}{'*' if marked else ''} ({numpys * 1e6:,.3g} µs)")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print(f"\n{over} cells are over their limit")
    sys.exit(1 if over and options.limits else 0)


if __name__ == "__main__":
    main()
