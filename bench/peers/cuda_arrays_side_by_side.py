#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""masu's Python package beside PyTorch or CuPy on their own arrays in a GPU's memory: the same calls in turns, in one
process.

    python bench/peers/cuda_arrays_side_by_side.py [--peer torch|cupy] [--case TEXT,…] [--count N] [--repeats N]
        [-o REPORT.json]

A time is that of the whole call, from an idle GPU until its result is there. Results are compared before they are timed.
The table tells the median of each side, how many times as fast masu is by the median of the rounds' ratios, and the bytes
read in a second as a part of what plain copying on the device moves (read and written).
"""
import argparse
import datetime
import importlib
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import masu
import numpy as np

COUNT = 1 << 28
SECONDS = 1.5  # of a case at most, after 3 rounds


class Torch:
    def __init__(self):
        self.module = importlib.import_module("torch")
        self.module.manual_seed(5)
        self.wait = self.module.cuda.synchronize

    def uniform(self, count, dtype="float32"):
        return self.module.rand(count, device="cuda", dtype=getattr(self.module, dtype))

    def integers(self, count, most, dtype):
        return self.module.randint(most, (count,), device="cuda", dtype=getattr(self.module, dtype))

    def host(self, array):
        return array.cpu().numpy()

    def copy(self, array):
        return array.clone()

    def cases(self):
        torch = self.module
        f32 = self.uniform
        i64 = lambda n: self.integers(n // 2, 2**62, "int64")  # noqa: E731
        i32 = lambda n: self.integers(n, 2**31 - 1, "int32")  # noqa: E731
        u8 = lambda n: self.integers(4 * n, 256, "uint8")  # noqa: E731
        small = lambda n: self.integers(n // 2, 1000, "int64")  # noqa: E731
        f64 = lambda n: self.uniform(n // 2, "float64")  # noqa: E731
        return {
            "histogram f32, 100 bins": (f32, lambda a: torch.histc(a, 100, 0, 1), lambda a: masu.histogram(a, 100, (0, 1))[0]),
            "histogram f32, 1000 bins": (f32, lambda a: torch.histc(a, 1000, 0, 1),
                                         lambda a: masu.histogram(a, 1000, (0, 1))[0]),
            "histogram f32, 10000 bins": (f32, lambda a: torch.histc(a, 10000, 0, 1),
                                          lambda a: masu.histogram(a, 10000, (0, 1))[0]),
            "histogram f32, 100 bins, range found": (f32, lambda a: torch.histc(a, 100), lambda a: masu.histogram(a, 100)[0]),
            "histogram f64, 100 bins": (f64, lambda a: torch.histc(a, 100, 0, 1), lambda a: masu.histogram(a, 100, (0, 1))[0]),
            "bincount u8": (u8, lambda a: torch.bincount(a), lambda a: masu.bincount(a)),
            "bincount i64, 1000": (small, lambda a: torch.bincount(a), lambda a: masu.bincount(a)),
            "sort f32": (f32, lambda a: torch.sort(a)[0], masu.sort),
            "sort i32": (i32, lambda a: torch.sort(a)[0], masu.sort),
            "sort i64": (i64, lambda a: torch.sort(a)[0], masu.sort),
            "sort u8": (u8, lambda a: torch.sort(a)[0], masu.sort),
            "argsort f32, stable": (f32, lambda a: torch.argsort(a, stable=True), masu.argsort),
            "argsort i32, stable": (i32, lambda a: torch.argsort(a, stable=True), masu.argsort),
            "topk f32, 100": (f32, lambda a: torch.topk(a, 100)[0], lambda a: masu.topk(a, 100).values),
            "topk f32, 1000": (f32, lambda a: torch.topk(a, 1000)[0], lambda a: masu.topk(a, 1000).values),
            "topk f32, 10^6": (f32, lambda a: torch.topk(a, 10**6)[0], lambda a: masu.topk(a, 10**6).values),
            "topk i64, 100": (i64, lambda a: torch.topk(a, 100)[0], lambda a: masu.topk(a, 100).values),
            "unique i64 of 1000, counts": (small, lambda a: torch.unique(a, return_counts=True)[1],
                                           lambda a: masu.unique(a, return_counts=True)[1]),
            "median f32": (f32, lambda a: torch.median(a), lambda a: masu.quantile(a, 0.5, method="lower")),
            "cumsum i64": (small, lambda a: torch.cumsum(a, 0), masu.cumsum),
            "sum f32 (exact)": (f32, torch.sum, masu.sum),
            "sum f64 (exact)": (f64, torch.sum, masu.sum),
        }


class CuPy(Torch):
    def __init__(self):
        self.module = importlib.import_module("cupy")
        self.random = self.module.random.default_rng(5)
        self.wait = self.module.cuda.Device().synchronize

    def uniform(self, count, dtype="float32"):
        return self.random.random(count, dtype=dtype)

    def integers(self, count, most, dtype):
        return self.random.integers(0, most, count, dtype="uint64").astype(dtype)

    def host(self, array):
        return array.get()

    def copy(self, array):
        return array.copy()

    def cases(self):
        cupy = self.module
        f32, f64 = self.uniform, lambda n: self.uniform(n // 2, "float64")
        i32 = lambda n: self.integers(n, 2**31 - 1, "int32")  # noqa: E731
        i64 = lambda n: self.integers(n // 2, 2**62, "int64")  # noqa: E731
        u8 = lambda n: self.integers(n, 256, "uint8")  # noqa: E731
        small = lambda n: self.integers(n // 2, 1000, "int64")  # noqa: E731
        return {
            "histogram f32, 100 bins": (f32, lambda a: cupy.histogram(a, 100, (0, 1))[0],
                                        lambda a: masu.histogram(a, 100, (0, 1))[0]),
            "histogram f64, 1000 bins": (f64, lambda a: cupy.histogram(a, 1000, (0, 1))[0],
                                         lambda a: masu.histogram(a, 1000, (0, 1))[0]),
            "bincount u8": (u8, cupy.bincount, masu.bincount),
            "bincount i64, 1000": (small, cupy.bincount, masu.bincount),
            "sort f32": (f32, cupy.sort, masu.sort),
            "sort i32": (i32, cupy.sort, masu.sort),
            "sort i64": (i64, cupy.sort, masu.sort),
            "argsort f32": (f32, cupy.argsort, masu.argsort),
            "unique i64 of 1000, counts": (small, lambda a: cupy.unique(a, return_counts=True)[1],
                                           lambda a: masu.unique(a, return_counts=True)[1]),
            "median f32": (f32, cupy.median, masu.median),
            "cumsum i64": (small, cupy.cumsum, masu.cumsum),
            "sum f32 (exact)": (f32, cupy.sum, masu.sum),
        }


def agree(name, got, want):
    if "exact" in name:
        return bool(np.allclose(got, want, rtol=1e-4))
    if name.startswith("histogram f"):  # PyTorch and CuPy bin by multiplication: values near an edge fall elsewhere
        return bool(np.abs(got - want).max() <= 5e-3 * got.max() + 2)
    return bool(got.shape == want.shape and np.array_equal(got, want))


def timed(peer, call, array):
    peer.wait()
    start = time.perf_counter()
    call(array)
    peer.wait()
    return time.perf_counter() - start


def measure(peer, case, count, repeats):
    make, theirs, own = peer.cases()[case]
    array = make(count)
    alike = agree(case, peer.host(own(array)), peer.host(theirs(array)))
    timed(peer, peer.copy, array)
    rounds, end = [], time.perf_counter() + SECONDS
    while len(rounds) < repeats and (len(rounds) < 3 or time.perf_counter() < end):
        calls = [(0, theirs), (1, own)]
        seconds = {side: timed(peer, call, array) for side, call in (calls if len(rounds) % 2 else calls[::-1])}
        rounds.append((seconds[0], seconds[1], timed(peer, peer.copy, array)))
    return rounds, int(array.nbytes), str(array.dtype).removeprefix("torch."), alike


def rows_of(peer, title, device, case, count, repeats):
    rounds, size, dtype, alike = measure(peer, case, count, repeats)
    ratio = statistics.median(theirs / own for theirs, own, _ in rounds)
    copied = 2 * size / statistics.median(copy for _, _, copy in rounds)
    for who, seconds in ((None, [own for _, own, _ in rounds]), (title, [theirs for theirs, _, _ in rounds])):
        median = statistics.median(seconds)
        row = {"device": device, "kind": "call", "case": case, "dtype": dtype, "distribution": "uniform", "bytes": size,
               "count": size // np.dtype(dtype).itemsize, "repeats": len(seconds), "seconds_median": median,
               "seconds_min": min(seconds), "gb_per_s": size / median / 1e9, "ceiling": size / median / copied}
        yield {"peer": who, **row} if who else {**row, "times_peer": ratio, "alike": alike}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--peer", choices=("torch", "cupy"), default="torch")
    parser.add_argument("--case", type=lambda text: text.split(","), default=[""], help="those with one of these texts")
    parser.add_argument("--count", type=int, default=COUNT, help="of 4-byte elements; others have as many bytes")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    peer = {"torch": Torch, "cupy": CuPy}[options.peer]()
    title = f"{'PyTorch' if options.peer == 'torch' else 'CuPy'} {peer.module.__version__}"
    info = next(info for info in masu.devices() if info.kind == "cuda" and info.usable)
    rows = []
    print(f"| call | elements | {title}, ms | masu, ms | masu is faster | of copying |")
    print("| --- | --: | --: | --: | --: | --: |", flush=True)
    for case in peer.cases():
        if not any(text in case for text in options.case):
            continue
        try:
            own, theirs = rows_of(peer, title, info.id, case, options.count, options.repeats)
        except Exception as error:  # what a peer cannot do does not stop the others
            print(f"| {case} | | | | {type(error).__name__}: {str(error)[:200]} | |", flush=True)
            continue
        rows += [own, theirs]
        print(f"| {case} | {own['count']:,} | {theirs['seconds_median'] * 1e3:.4g} | {own['seconds_median'] * 1e3:.4g} | "
              f"{own['times_peer']:.3g} ×{'' if own['alike'] else ', RESULTS DIFFER'} | {own['ceiling']:.2f} |", flush=True)
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                            text=True, check=False).stdout.split("\n")[0]
    report = {"suite": "python", "program": "masu", "version": masu.__version__,
              "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(), "python": platform.python_version(),
              "devices": [{"id": info.id, "name": info.name, "driver": driver, "architecture": ""}], "rows": rows}
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row.get("alike", True) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
