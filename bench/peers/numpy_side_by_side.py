#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""masu's Python package beside NumPy: the same calls in turns, in one process, on 10^7 elements and on 100.

    python bench/peers/numpy_side_by_side.py [--case TEXT,…] [--count N,…] [--repeats N] [-o REPORT.json]
        [--chart CHART.svg]

Needs numpy and masu in the Python that runs it. Results are compared before they are timed. The table tells the median
of each side, and how many times as fast masu is by the median of the rounds' ratios. MASU_THREADS is honoured; NumPy has
one thread.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import sys
import time

import masu
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import chart  # noqa: E402

COUNTS = [10_000_000, 100]
SECONDS = 2  # of a case at most, after 3 rounds


def floats(dtype):
    return lambda rng, n: (rng.random(n, "f4" if dtype == "f4" else "f8").astype(dtype),)


def integers(dtype, most):
    return lambda rng, n: (rng.integers(0, most, n, dtype),)


def columns(count, dtype):
    return lambda rng, n: tuple(rng.random(n, dtype) for _ in range(count))


def sought(rng, n):
    return np.sort(rng.random(max(n // 10, 10))), rng.random(n)


EDGES = np.concatenate(([0.0], np.sort(np.random.default_rng(9).random(99)), [1.0]))

# name: the arguments, and the call with np being numpy or masu.
CASES = {
    "histogram u8, 256 bins": (integers("u1", 256), lambda np, a: np.histogram(a, 256, (0, 256))),
    "histogram f32, 100 bins": (floats("f4"), lambda np, a: np.histogram(a, 100, (0, 1))),
    "histogram f64, 100 bins": (floats("f8"), lambda np, a: np.histogram(a, 100, (0, 1))),
    "histogram f64, 100 bins, range found": (floats("f8"), lambda np, a: np.histogram(a, 100)),
    "histogram i32, 1000 bins": (integers("i4", 10**6), lambda np, a: np.histogram(a, 1000, (0, 10**6))),
    "histogram f32, 100 given edges": (floats("f4"), lambda np, a: np.histogram(a, EDGES.astype("f4"))),
    "histogram f64, 100 given edges": (floats("f8"), lambda np, a: np.histogram(a, EDGES)),
    "histogram f64, 100 bins, weights": (columns(2, "f8"), lambda np, a, w: np.histogram(a, 100, (0, 1), weights=w)),
    "histogram2d f64, 100 x 100": (columns(2, "f8"), lambda np, x, y: np.histogram2d(x, y, 100, ((0, 1), (0, 1)))),
    "histogram2d f32, 100 x 100": (columns(2, "f4"), lambda np, x, y: np.histogram2d(x, y, 100, ((0, 1), (0, 1)))),
    "bincount u8": (integers("u1", 256), lambda np, a: np.bincount(a)),
    "bincount i64, 1000": (integers("i8", 1000), lambda np, a: np.bincount(a)),
    "digitize f64, 100 edges": (floats("f8"), lambda np, a: np.digitize(a, EDGES)),
    "searchsorted f64, in n / 10": (sought, lambda np, a, v: np.searchsorted(a, v)),
    "sort u8": (integers("u1", 256), lambda np, a: np.sort(a)),
    "sort i32": (integers("i4", 2**31 - 1), lambda np, a: np.sort(a)),
    "sort i64": (integers("i8", 2**62), lambda np, a: np.sort(a)),
    "sort f32": (floats("f4"), lambda np, a: np.sort(a)),
    "sort f64": (floats("f8"), lambda np, a: np.sort(a)),
    "argsort stable i32": (integers("i4", 2**31 - 1), lambda np, a: np.argsort(a, kind="stable")),
    "argsort stable f32": (floats("f4"), lambda np, a: np.argsort(a, kind="stable")),
    "argsort stable f64": (floats("f8"), lambda np, a: np.argsort(a, kind="stable")),
    "partition f64, middle": (floats("f8"), lambda np, a: np.partition(a, a.size // 2)),
    "unique i64 of 1000, counts": (integers("i8", 1000), lambda np, a: np.unique(a, return_counts=True)),
    "unique f64": (floats("f8"), lambda np, a: np.unique(a)),
    "median f64": (floats("f8"), lambda np, a: np.median(a)),
    "quantile f64, 3": (floats("f8"), lambda np, a: np.quantile(a, [0.05, 0.5, 0.95])),
    "cumsum i64": (integers("i8", 1000), lambda np, a: np.cumsum(a)),
    "cumsum f64 (exact)": (floats("f8"), lambda np, a: np.cumsum(a)),
    "sum f64 (exact)": (floats("f8"), lambda np, a: np.sum(a)),
}
ROUNDED = ("weights", "exact")  # masu's are exact, NumPy's are not


def agree(name, got, want):
    if any(word in name for word in ROUNDED):
        close = lambda a, b: np.allclose(a, b, rtol=1e-9)  # noqa: E731
    elif name.startswith("partition"):
        close = lambda a, b: np.array_equal(np.sort(a), np.sort(b))  # noqa: E731
    else:
        close = np.array_equal
    if not isinstance(want, tuple):
        got, want = (got,), (want,)
    return len(got) == len(want) and all(close(a, b) for a, b in zip(got, want))


def timed(call, arguments, loops):
    start = time.perf_counter()
    for _ in range(loops):
        call(*arguments)
    return (time.perf_counter() - start) / loops


def measure(name, count, repeats):
    """The seconds of NumPy and of masu in each round."""
    make, call = CASES[name]
    arguments = make(np.random.default_rng(5), count)
    sides = [lambda *a: call(np, *a), lambda *a: call(masu, *a)]
    if not agree(name, sides[1](*arguments), sides[0](*arguments)):
        sys.exit(f"numpy_side_by_side: {name}, {count} elements: the results differ")
    loops = max(1, round(0.002 / timed(sides[0], arguments, 1)))
    rounds, end = [], time.perf_counter() + SECONDS
    while len(rounds) < repeats and (len(rounds) < 3 or time.perf_counter() < end):
        first = len(rounds) % 2  # neither side is always the first
        seconds = {side: timed(sides[side], arguments, loops) for side in (first, 1 - first)}
        rounds.append((seconds[0], seconds[1]))
    return rounds, sum(a.nbytes for a in arguments), str(arguments[0].dtype)


def rows_of(name, count, repeats):
    rounds, size, dtype = measure(name, count, repeats)
    ratio = statistics.median(numpys / own for numpys, own in rounds)
    for peer, seconds in ((None, [own for _, own in rounds]), (f"NumPy {np.__version__}", [n for n, _ in rounds])):
        median = statistics.median(seconds)
        row = {"device": "cpu", "kind": "call", "case": name, "dtype": dtype, "distribution": "uniform", "bytes": size,
               "count": count, "threads": threads() if peer is None else 1, "repeats": len(seconds),
               "seconds_median": median, "seconds_min": min(seconds), "gb_per_s": size / median / 1e9,
               "elements_per_s": count / median}
        yield {"peer": peer, **row} if peer else {**row, "times_numpy": ratio}


def threads():
    return int(os.environ.get("MASU_THREADS") or len(os.sched_getaffinity(0)))


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def table(rows):
    yield "| call | elements | NumPy, ms | masu, ms | masu is faster |"
    yield "| --- | --: | --: | --: | --: |"
    for own, numpys in zip(rows[::2], rows[1::2]):
        yield (f"| {own['case']} | {own['count']:,} | {numpys['seconds_median'] * 1e3:,.4g} | "
               f"{own['seconds_median'] * 1e3:,.4g} | {own['times_numpy']:.3g} × |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--case", type=lambda text: text.split(","), default=[""], help="those with one of these texts")
    parser.add_argument("--count", type=lambda text: [int(n) for n in text.split(",")], default=COUNTS)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("-o", "--output")
    parser.add_argument("--chart")
    options = parser.parse_args()
    rows = []
    for count in options.count:
        for name in CASES:
            if any(text in name for text in options.case):
                rows += rows_of(name, count, options.repeats)
                print(list(table(rows[-2:]))[-1], file=sys.stderr, flush=True)
    report = {"suite": "python", "program": "masu", "version": masu.__version__,
              "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(), "host_cpu": processor(),
              "host_threads": os.cpu_count(), "load": list(os.getloadavg()), "python": platform.python_version(),
              "devices": [{"id": "cpu", "name": processor(), "driver": "", "architecture": platform.machine()}],
              "rows": rows}
    print("\n".join(table(rows)))
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.chart:
        many = [row for row in rows if "peer" not in row and row["count"] == max(options.count)]
        pathlib.Path(options.chart).write_text(chart.bars_across(
            {row["case"]: row["times_numpy"] for row in many},
            f"masu beside NumPy {np.__version__}, {max(options.count):,} elements, {threads()} threads: times as fast"),
            encoding="utf-8")


if __name__ == "__main__":
    main()
