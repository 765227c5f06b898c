#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the inputs of masu bench, on the first CUDA device: torch.sort (with its indices), argsort, topk;
unique, unique_consecutive; searchsorted; sum, dot; min, max, aminmax, argmin, count_nonzero; cumsum;
to; t().contiguous.

    bench/peers/torch_peer.py SUITE [--case NAME,…] [--distribution NAME,…] [--count N] …
"""
import numpy as np
import torch

import rows

DTYPES = {"u8": np.uint8, "i32": np.int32, "i64": np.int64, "f16": np.float16, "f32": np.float32, "f64": np.float64}
MOVED = {**DTYPES, "u16": np.int16, "u32": np.int32, "u64": np.int64, "c128": np.complex128}
TARGETS = {"u8": torch.uint8, "i32": torch.int32, "f16": torch.float16, "f32": torch.float32, "f64": torch.float64}
SORTS = {**{name: name for name in DTYPES}, "argsort-f32": "f32"}
KS = {"1": 1, "10": 10, "100": 100, "1000": 1000, "1e6": 10**6}
TOPKS = {f"{dtype}-{k}": dtype for dtype in ("f32", "i64") for k in KS}


def record():
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def elapsed_ms(first, second):
    second.synchronize()
    return first.elapsed_time(second)


def both(function, repeats):
    return {"kernel": rows.event_seconds(function, repeats, record, elapsed_ms),
            "call": rows.host_seconds(function, repeats, torch.cuda.synchronize)}


def on_device(raw, dtype):
    return torch.from_numpy(np.frombuffer(raw, DTYPES[dtype]).copy()).cuda()


def measure_sort(case, raw, repeats):
    data = on_device(raw, SORTS[case])
    if case.startswith("argsort"):
        yield "argsort(stable)", both(lambda: torch.argsort(data, stable=True), repeats), {}
    else:
        yield "sort(stable)", both(lambda: torch.sort(data, stable=True), repeats), {}


def measure_topk(case, raw, repeats):
    dtype, k = case.split("-")
    data = on_device(raw, dtype)
    k = min(KS[k], data.numel())
    yield "topk", both(lambda: torch.topk(data, k), repeats), {"k": k}


def measure_unique(case, raw, repeats):
    if case in rows.RUNS:
        data = on_device(raw, rows.RUNS[case])
        yield "unique_consecutive", both(lambda: torch.unique_consecutive(data, return_counts=True), repeats), {}
    else:
        data = on_device(raw, rows.UNIQUES[case])
        yield "unique", both(lambda: torch.unique(data, return_counts=True), repeats), {}


def measure_search(case, raw, repeats):
    data = on_device(raw, rows.SEARCHES[case])
    sorted_data, values = data[: rows.SOUGHT_IN[case]], data[rows.SOUGHT_IN[case]:]
    yield "searchsorted", both(lambda: torch.searchsorted(sorted_data, values), repeats), {}


EXTREMES = {"min": {"min": torch.min, "argmin": torch.argmin}, "max": {"max": torch.max, "argmax": torch.argmax},
            "minmax": {"aminmax": torch.aminmax}, "count-nonzero": {"count_nonzero": torch.count_nonzero}}


def measure_reduce(case, raw, repeats):
    dtype, op = case.split("-", 1)
    data = on_device(raw, dtype)
    for name, function in EXTREMES.get(op, {}).items():
        yield name, both(lambda function=function: function(data), repeats), {}


def measure_sum(case, raw, repeats):
    dtype, op = case.split("-")
    data = on_device(raw, dtype)
    if op == "dot":
        x, y = torch.chunk(data, 2)
        yield "dot", both(lambda: torch.dot(x, y), repeats), {}
    else:
        yield "sum", both(lambda: torch.sum(data), repeats), {}


def measure_scan(case, raw, repeats):
    data = on_device(raw, rows.SCANS[case])
    yield "cumsum", both(lambda: torch.cumsum(data, 0, dtype=data.dtype), repeats), {}


def measure_convert(case, raw, repeats):
    source, _, target = case.split("-")[:3]
    data = on_device(raw, source)
    yield "to", both(lambda: data.to(TARGETS[target]), repeats), {}


def measure_transpose(case, raw, repeats):
    data = torch.from_numpy(np.frombuffer(raw, MOVED[rows.SQUARES[case]]).copy()).cuda()
    data = data.view(rows.square(data.numel()))
    yield "t().contiguous", both(lambda: data.t().contiguous(), repeats), {}


def known(cases):
    """Those whose types PyTorch sorts."""
    return {case: dtype for case, dtype in cases.items() if dtype in DTYPES}


SUITES = {
    "sort": rows.Suite(SORTS, ["f32", "i32", "i64", "u8", "argsort-f32"], rows.ORDERING, "256Mi", measure_sort),
    "topk": rows.Suite(TOPKS, ["f32-100", "f32-1000", "i64-100"], rows.ORDERING, "256Mi", measure_topk),
    "unique": rows.Suite(known({**rows.UNIQUES, **rows.RUNS}), ["run-length-f32", "unique-u8", "unique-f32"],
                         rows.ORDERING, "256Mi", measure_unique),
    "search": rows.Suite(known(rows.SEARCHES), ["f32-in-1000", "f32-in-1Mi"], rows.ORDERING, "64Mi", measure_search,
                         rows.SOUGHT_IN),
    "reduce": rows.Suite(known(rows.EXTREMES), ["f32-min", "f32-minmax", "f64-min", "f16-min", "u8-max", "i32-max",
                                                "f32-count-nonzero"], rows.FLAT, "256Mi", measure_reduce),
    "sum": rows.Suite(known(rows.SUMS), ["f32-sum", "f64-sum", "f32-dot", "f64-dot"], rows.FLAT, "256Mi", measure_sum),
    "scan": rows.Suite(known(rows.SCANS), ["i32-sum", "f32-sum", "f64-sum"], rows.FLAT, "256Mi", measure_scan),
    "convert": rows.Suite(known(rows.CONVERSIONS), ["i32-to-f32", "f32-to-u8", "f32-to-f16", "f16-to-f32", "f64-to-f32"],
                          rows.FLAT, "256Mi", measure_convert),
    "transpose": rows.Suite(rows.SQUARES, list(rows.SQUARES), rows.FLAT, "256Mi", measure_transpose),
}

if __name__ == "__main__":
    with torch.no_grad():
        rows.main(__doc__.splitlines()[0], f"PyTorch {torch.__version__}", "cuda:0", SUITES, repeats=11)
