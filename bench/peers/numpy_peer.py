#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NumPy on the inputs of masu bench, one thread: histogram, bincount; sort, argsort; partition; unique; searchsorted;
sum, dot, and math.fsum of Python; min, max, count_nonzero; cumsum; conversions and transposes by copyto.

    bench/peers/numpy_peer.py SUITE [--case NAME,…] [--distribution NAME,…] [--size N] [--count N] …
"""
import math
import sys

import numpy as np

import rows

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
DTYPES = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "i32": np.int32, "u64": np.uint64, "i64": np.int64,
          "f16": np.float16, "f32": np.float32, "f64": np.float64, "c128": np.complex128}
BINS = {"u8-256": ("u8", 256), "f32-100": ("f32", 100), "f64-100": ("f64", 100), "f32-1000": ("f32", 1000),
        "f32-edges100": ("f32", 100), "f32-edges1000": ("f32", 1000), "joint-100x100": ("f32", 100),
        "i32-1e7": ("i32", 10**7)}
SORTS = {**{name: name for name in DTYPES}, "argsort-u32": "u32", "argsort-f32": "f32", "rows-256": "u32"}
KS = {"1": 1, "10": 10, "100": 100, "1000": 1000, "1e6": 10**6}
TOPKS = {f"{dtype}-{k}": dtype for dtype in ("f32", "u32", "i64") for k in KS}


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def random_edges(bins):
    """The edges of masu bench: the elements of random:f32:N:seed=1 (docs/generators.md) in order, between 0 and 1."""
    base = mix(1 + GOLDEN & MASK)
    inner = [(mix(base + (k + 1) * GOLDEN & MASK) >> 40) * 2.0**-24 for k in range(bins - 1)]
    return np.sort(np.array([0.0, *inner, 1.0]))


def joint(data, bins):
    half = data.size // 2
    return np.histogram2d(data[:half], data[half:], bins=bins, range=((0, 1), (0, 1)))[0]


def counting(case):
    """What counts a case, by name."""
    bins = BINS[case][1]
    if case == "u8-256":
        return {
            "bincount": lambda data: np.bincount(data, minlength=256),
            "histogram": lambda data: np.histogram(data, bins=256, range=(0, 256))[0],
        }
    if case == "i32-1e7":
        return {"bincount": lambda data: np.bincount(data, minlength=bins)}
    if case.startswith("joint"):
        return {"histogram2d": lambda data: joint(data, bins)}
    if "edges" in case:
        edges = random_edges(bins)
        return {"histogram": lambda data: np.histogram(data, bins=edges)[0]}
    return {"histogram": lambda data: np.histogram(data, bins=bins, range=(0, 1))[0]}


def measure_histogram(case, raw, repeats):
    dtype, bins = BINS[case]
    data = np.frombuffer(raw, DTYPES[dtype])
    points = data.size // 2 if case.startswith("joint") else data.size
    for name, function in counting(case).items():
        if int(function(data).sum()) != points:
            sys.exit("numpy_peer: the counts do not add up")
        yield name, {"kernel": rows.host_seconds(lambda: function(data), repeats)}, {"bins": bins}


def measure_sort(case, raw, repeats):
    data = np.frombuffer(raw, DTYPES[SORTS[case]])
    if case == "rows-256":
        data = data.reshape(-1, 256)
    if case.startswith("argsort"):
        seconds = rows.host_seconds(lambda: np.argsort(data, kind="stable"), repeats)
        yield "argsort(stable)", {"kernel": seconds}, {}
        return
    work = data.copy()
    for name, kind in {"sort": None, "sort(stable)": "stable"}.items():
        seconds = rows.host_seconds(lambda kind=kind: work.sort(kind=kind), repeats,
                                    prepare=lambda: np.copyto(work, data))
        yield name, {"kernel": seconds}, {}


def measure_topk(case, raw, repeats):
    dtype, k = case.split("-")
    data = np.frombuffer(raw, DTYPES[dtype])
    k = min(KS[k], data.size)

    def greatest():
        return np.sort(np.partition(data, data.size - k)[data.size - k:])

    yield "partition", {"kernel": rows.host_seconds(greatest, repeats)}, {"k": k}


def run_length(data):
    """The runs' values and lengths, by what NumPy has for it."""
    starts = np.flatnonzero(np.concatenate(([True], data[1:] != data[:-1])))
    return data[starts], np.diff(np.append(starts, data.size))


def measure_unique(case, raw, repeats):
    if case in rows.RUNS:
        data = np.frombuffer(raw, DTYPES[rows.RUNS[case]])
        yield "flatnonzero", {"kernel": rows.host_seconds(lambda: run_length(data), repeats)}, {}
    else:
        data = np.frombuffer(raw, DTYPES[rows.UNIQUES[case]])
        yield "unique", {"kernel": rows.host_seconds(lambda: np.unique(data, return_counts=True), repeats)}, {}


def measure_search(case, raw, repeats):
    data = np.frombuffer(raw, DTYPES[rows.SEARCHES[case]])
    sorted_data, values = np.split(data, [rows.SOUGHT_IN[case]])
    yield "searchsorted", {"kernel": rows.host_seconds(lambda: np.searchsorted(sorted_data, values), repeats)}, {}


def minmax(data):
    return data.min(), data.max()


EXTREMES = {"min": np.min, "max": np.max, "minmax": minmax, "count-nonzero": np.count_nonzero, "nanmin": np.nanmin}


def measure_reduce(case, raw, repeats):
    data = np.frombuffer(raw, DTYPES[rows.EXTREMES[case]])
    op = case.split("-", 1)[1]
    yield op.replace("-", "_"), {"kernel": rows.host_seconds(lambda: EXTREMES[op](data), repeats)}, {}


def measure_sum(case, raw, repeats):
    """Of a dot product the data is both vectors, one behind the other."""
    dtype, op = case.split("-")
    data = np.frombuffer(raw, DTYPES[dtype])
    if op == "dot":
        x, y = np.split(data, 2)
        yield "dot", {"kernel": rows.host_seconds(lambda: np.dot(x, y), repeats)}, {}
        return
    yield "sum", {"kernel": rows.host_seconds(lambda: data.sum(), repeats)}, {}
    if dtype == "f64":
        yield "math.fsum", {"kernel": rows.host_seconds(lambda: math.fsum(data), repeats)}, {}


def measure_scan(case, raw, repeats):
    data = np.frombuffer(raw, DTYPES[rows.SCANS[case]])
    out = np.empty_like(data)
    yield "cumsum", {"kernel": rows.host_seconds(lambda: np.cumsum(data, dtype=data.dtype, out=out), repeats)}, {}


def measure_convert(case, raw, repeats):
    source, _, target = case.split("-")[:3]
    data = np.frombuffer(raw, DTYPES[source])
    out = np.empty(data.shape, DTYPES[target])
    yield "copyto", {"kernel": rows.host_seconds(lambda: np.copyto(out, data, casting="unsafe"), repeats)}, {}


def measure_transpose(case, raw, repeats):
    data = np.frombuffer(raw, DTYPES[rows.SQUARES[case]])
    data = data.reshape(rows.square(data.size))
    out = np.empty(data.shape[::-1], data.dtype)
    yield "copyto", {"kernel": rows.host_seconds(lambda: np.copyto(out, data.T), repeats)}, {}


SUITES = {
    "histogram": rows.Suite({case: dtype for case, (dtype, _) in BINS.items()}, ["u8-256", "f32-100", "f64-100"],
                            ["uniform", "constant", "normal", "zipf", "sorted", "runs", "few"], "100Mi",
                            measure_histogram),
    "sort": rows.Suite(SORTS, ["u32", "f32", "u64", "u8", "u16", "argsort-u32"], rows.ORDERING, "16Mi", measure_sort),
    "topk": rows.Suite(TOPKS, ["f32-100", "f32-1000", "i64-100"], rows.ORDERING, "16Mi", measure_topk),
    "unique": rows.Suite({**rows.UNIQUES, **rows.RUNS}, ["run-length-u32", "unique-u8", "unique-u32", "unique-f32"],
                         rows.ORDERING, "16Mi", measure_unique),
    "search": rows.Suite(rows.SEARCHES, ["f32-in-1000", "f32-in-1Mi", "u64-in-1Mi"], rows.ORDERING, "4Mi",
                         measure_search, rows.SOUGHT_IN),
    "reduce": rows.Suite(rows.EXTREMES, ["f32-min", "f32-minmax", "f64-min", "f16-min", "u8-max", "i32-max",
                                         "f32-count-nonzero", "u8-count-nonzero"], rows.FLAT, "16Mi", measure_reduce),
    "sum": rows.Suite(rows.SUMS, ["f32-sum", "f64-sum", "f32-dot", "f64-dot"], rows.FLAT, "16Mi", measure_sum),
    "scan": rows.Suite(rows.SCANS, ["u32-sum", "f32-sum", "f64-sum"], rows.FLAT, "16Mi", measure_scan),
    "convert": rows.Suite(rows.CONVERSIONS, list(rows.CONVERSIONS), rows.FLAT, "16Mi", measure_convert),
    "transpose": rows.Suite(rows.SQUARES, list(rows.SQUARES), rows.FLAT, "16Mi", measure_transpose),
}

if __name__ == "__main__":
    rows.main(__doc__.splitlines()[0], f"NumPy {np.__version__}", "cpu", SUITES, repeats=5)
