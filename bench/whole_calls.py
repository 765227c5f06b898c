#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole calls of masu's Python package on arrays in a GPU's memory, beside PyTorch's and CuPy's, from 2^10 elements on.

    python bench/whole_calls.py [--sizes 10,12,…,28] [--case TEXT,…] [--seconds S] [-o REPORT.jsonl]

`single`: a call and a synchronisation, the median. `pipelined`: calls back to back with one synchronisation at the
end, the time of one. The libraries take turns. Each line of the report is one cell: case, log2 of the elements, mode and
microseconds of each library. The table at the end has masu's speed over the better of the two others; below 1 masu is
slower.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time

import masu
import torch

try:
    import cupy
except ImportError:
    cupy = None

SIZES = range(10, 29, 2)
ROUNDS = 5
ROW = 1024  # of matrices


class Data:
    """Arrays of PyTorch, made when they are asked for, and of CuPy in the same memory."""

    def __init__(self, log):
        self.count = 1 << log
        self.made = {}

    def make(self, name):
        n, rand = self.count, torch.randint
        return {
            "f32": lambda: torch.rand(n, device="cuda"),
            "other f32": lambda: torch.rand(n, device="cuda"),  # a dot product of one array twice reads half as much
            "i32": lambda: rand(-2**31, 2**31 - 1, (n,), device="cuda", dtype=torch.int32),
            "i64": lambda: rand(-2**62, 2**62, (n,), device="cuda", dtype=torch.int64),
            "u8": lambda: rand(0, 256, (n,), device="cuda", dtype=torch.uint8),
            "few": lambda: rand(0, 1000, (n,), device="cuda", dtype=torch.int32),
            "edges": lambda: torch.rand(1000, device="cuda").sort().values,
            "rows": lambda: torch.rand(n // ROW, ROW, device="cuda"),
        }[name]()

    def torch(self, name):
        if name not in self.made:
            self.made[name] = self.make(name)
        return self.made[name]

    def cupy(self, name):
        return cupy.asarray(self.torch(name))


# Name: arrays, masu's call, PyTorch's or None, CuPy's or None.
CASES = {
    "sum f32": (["f32"], masu.sum, torch.sum, lambda a: cupy.sum(a)),
    "sum i32": (["i32"], masu.sum, torch.sum, lambda a: cupy.sum(a)),
    "mean f32": (["f32"], masu.mean, torch.mean, lambda a: cupy.mean(a)),
    "std f32": (["f32"], masu.std, lambda a: torch.std(a, correction=0), lambda a: cupy.std(a)),
    "dot f32": (["f32", "other f32"], masu.dot, torch.dot, lambda a, b: cupy.dot(a, b)),
    "cumsum i32": (["few"], masu.cumsum, lambda a: torch.cumsum(a, 0), lambda a: cupy.cumsum(a)),
    "cumsum f32": (["f32"], masu.cumsum, lambda a: torch.cumsum(a, 0), lambda a: cupy.cumsum(a)),
    "sort f32": (["f32"], masu.sort, torch.sort, lambda a: cupy.sort(a)),
    "sort i32": (["i32"], masu.sort, torch.sort, lambda a: cupy.sort(a)),
    "sort i64": (["i64"], masu.sort, torch.sort, lambda a: cupy.sort(a)),
    "argsort f32": (["f32"], masu.argsort, lambda a: torch.argsort(a, stable=True), lambda a: cupy.argsort(a)),
    "topk 100 f32": (["f32"], lambda a: masu.topk(a, 100), lambda a: torch.topk(a, 100), None),
    "searchsorted 1,000": (["edges", "f32"], masu.searchsorted, torch.searchsorted, lambda a, b: cupy.searchsorted(a, b)),
    "histogram 100 f32": (["f32"], lambda a: masu.histogram(a, 100, (0, 1)), lambda a: torch.histc(a, 100, 0, 1),
                          lambda a: cupy.histogram(a, 100, (0, 1))),
    "histogram found f32": (["f32"], lambda a: masu.histogram(a, 100), lambda a: torch.histc(a, 100),
                            lambda a: cupy.histogram(a, 100)),
    "bincount u8": (["u8"], lambda a: masu.bincount(a, minlength=256), lambda a: torch.bincount(a, minlength=256),
                    lambda a: cupy.bincount(a, minlength=256)),
    "bincount i32 of 1,000": (["few"], masu.bincount, torch.bincount, lambda a: cupy.bincount(a)),
    "sort rows f32": (["rows"], masu.sort, torch.sort, lambda a: cupy.sort(a)),
    "sum rows f32": (["rows"], lambda a: masu.sum(a, -1), lambda a: torch.sum(a, -1), lambda a: cupy.sum(a, -1)),
    "topk 50 rows f32": (["rows"], lambda a: masu.topk(a, 50), lambda a: torch.topk(a, 50), None),
    "median f32": (["f32"], masu.median, torch.median, lambda a: cupy.median(a)),
    # PyTorch's quantile takes up to 2^24 elements.
    "quantile f32": (["f32"], lambda a: masu.quantile(a, 0.3), lambda a: torch.quantile(a, 0.3), lambda a: cupy.quantile(a, 0.3)),
    "partition f32": (["f32"], lambda a: masu.partition(a, len(a) // 2), None, lambda a: cupy.partition(a, len(a) // 2)),
    "nanmedian f32": (["f32"], masu.nanmedian, torch.nanmedian, lambda a: cupy.nanmedian(a)),
    "unique i32 of 1,000": (["few"], masu.unique, torch.unique, lambda a: cupy.unique(a)),
}


def calls(case, data):
    """The libraries' calls of a case, by name."""
    arrays, *functions = CASES[case]
    of_torch = [data.torch(name) for name in arrays]
    result = {"masu": lambda: functions[0](*of_torch)}
    if functions[1] is not None and (case != "quantile f32" or data.count <= 1 << 24):
        result["torch"] = lambda: functions[1](*of_torch)
    if cupy is not None and functions[2] is not None:
        of_cupy = [data.cupy(name) for name in arrays]
        result["cupy"] = lambda: functions[2](*of_cupy)
        result["masu on cupy"] = lambda: functions[0](*of_cupy)
    return result


def timed(call, times):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / times * 1e6


def measured(calls, pipelined, seconds):
    """Microseconds of each call."""
    first = {name: min(timed(call, 1) for _ in range(3)) for name, call in calls.items()}
    share = seconds * 1e6 / ROUNDS / len(calls)
    found = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            times = int(min(max(share / first[name], 1), 200))
            if pipelined:
                found[name].append(timed(call, times))
            else:
                found[name] += [timed(call, 1) for _ in range(min(times, 20))]
    return {name: statistics.median(values) for name, values in found.items()}


def table(cells, mode, sizes):
    lines = [f"{mode}: speed of masu over the better of PyTorch and CuPy; masu's microseconds",
             f"{'':20}" + "".join(f"{'2^' + str(log):>15}" for log in sizes)]
    for case in CASES:
        line = f"{case:20}"
        for log in sizes:
            times = cells.get((case, log, mode))
            if times is None:
                line += f"{'-':>15}"
                continue
            peers = [times[name] for name in ("torch", "cupy") if name in times]
            ratio = f"{min(peers) / times['masu']:6.2f}" if peers else f"{'-':>6}"
            line += f"{ratio}{times['masu']:9.1f}"
        lines.append(line)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--case", default="")
    parser.add_argument("--seconds", type=float, default=140, help="for everything, about")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    chosen = [case for case in CASES if not options.case or any(part in case for part in options.case.split(","))]
    cell_seconds = options.seconds / (2 * len(sizes) * len(chosen))
    report = options.output.open("w") if options.output else None
    cells = {}
    end = time.monotonic() + options.seconds
    for log in sizes:
        data = Data(log)
        for case in chosen:
            if "rows" in CASES[case][0] and data.count < 4 * ROW or time.monotonic() > end:
                continue
            try:
                functions = calls(case, data)
                for call in functions.values():
                    call()
            except Exception as error:  # the others are still of interest
                print(f"{case} 2^{log}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                continue
            for mode in ("single", "pipelined"):
                times = measured(functions, mode == "pipelined", cell_seconds)
                cells[case, log, mode] = times
                if report is not None:
                    line = {"case": case, "log2": log, "mode": mode, "us": {k: round(v, 2) for k, v in times.items()}}
                    print(json.dumps(line), file=report, flush=True)
        del data
        torch.cuda.empty_cache()
        if cupy is not None:
            cupy.get_default_memory_pool().free_all_blocks()
    about = {"device": torch.cuda.get_device_name(), "masu": masu.__version__, "torch": torch.__version__,
             "cupy": cupy.__version__ if cupy is not None else None}
    if report is not None:
        print(json.dumps(about), file=report)
    print(json.dumps(about))
    for mode in ("single", "pipelined"):
        print(table(cells, mode, sizes), flush=True)


if __name__ == "__main__":
    main()
