#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CuPy on the inputs of masu bench, on the first CUDA device: cupy.sort, argsort, and a full sort for the greatest k;
unique; searchsorted.

    bench/peers/cupy_peer.py {sort,topk,unique,search} [--case NAME,…] [--distribution NAME,…] [--count N] …
"""
import cupy
import numpy as np

import rows

DTYPES = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "i32": np.int32, "u64": np.uint64, "i64": np.int64,
          "f16": np.float16, "f32": np.float32, "f64": np.float64}
SORTS = {**{name: name for name in DTYPES}, "argsort-u32": "u32", "argsort-f32": "f32", "rows-256": "u32"}
KS = {"1": 1, "10": 10, "100": 100, "1000": 1000, "1e6": 10**6}
TOPKS = {f"{dtype}-{k}": dtype for dtype in ("f32", "u32", "i64") for k in KS}


def record():
    event = cupy.cuda.Event()
    event.record()
    return event


def elapsed_ms(first, second):
    second.synchronize()
    return cupy.cuda.get_elapsed_time(first, second)


def both(function, repeats):
    return {"kernel": rows.event_seconds(function, repeats, record, elapsed_ms),
            "call": rows.host_seconds(function, repeats, cupy.cuda.get_current_stream().synchronize)}


def measure_sort(case, raw, repeats):
    data = cupy.asarray(np.frombuffer(raw, DTYPES[SORTS[case]]))
    if case == "rows-256":
        data = data.reshape(-1, 256)
    if case.startswith("argsort"):
        yield "argsort", both(lambda: cupy.argsort(data), repeats), {}
    else:
        yield "sort", both(lambda: cupy.sort(data), repeats), {}


def measure_topk(case, raw, repeats):
    dtype, k = case.split("-")
    data = cupy.asarray(np.frombuffer(raw, DTYPES[dtype]))
    k = min(KS[k], data.size)
    yield "partition", both(lambda: cupy.partition(data, data.size - k)[data.size - k:], repeats), {"k": k}


def measure_unique(case, raw, repeats):
    data = cupy.asarray(np.frombuffer(raw, DTYPES[rows.UNIQUES[case]]))
    yield "unique", both(lambda: cupy.unique(data, return_counts=True), repeats), {}


def measure_search(case, raw, repeats):
    data = cupy.asarray(np.frombuffer(raw, DTYPES[rows.SEARCHES[case]]))
    sorted_data, values = data[: rows.SOUGHT_IN[case]], data[rows.SOUGHT_IN[case]:]
    yield "searchsorted", both(lambda: cupy.searchsorted(sorted_data, values), repeats), {}


SUITES = {
    "sort": rows.Suite(SORTS, ["u32", "f32", "u64", "u8", "u16", "argsort-u32"], rows.ORDERING, "256Mi", measure_sort),
    "topk": rows.Suite(TOPKS, ["f32-100", "f32-1000", "i64-100"], rows.ORDERING, "256Mi", measure_topk),
    "unique": rows.Suite(rows.UNIQUES, ["unique-u8", "unique-u32", "unique-f32"], rows.ORDERING, "256Mi",
                         measure_unique),
    "search": rows.Suite(rows.SEARCHES, ["f32-in-1000", "f32-in-1Mi", "u64-in-1Mi"], rows.ORDERING, "64Mi",
                         measure_search, rows.SOUGHT_IN),
}

if __name__ == "__main__":
    rows.main(__doc__.splitlines()[0], f"CuPy {cupy.__version__}", "cuda:0", SUITES, repeats=11)
