#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seconds of masu.dask beside Dask's own functions, on uniform f32 from 0 to 1: one table.

    python bench/dask_table.py [--count N] [--chunks N] [--frame N] [--workers N] [--runs N] [--only NAME,…] [--cluster]

"generated": chunks are computed again for each pass, from a block that is multiplied; the time of that alone is a row.
"kept": chunks lie in memory. Sorts are of both lengths; DataFrame.sort_values, which needs several times the memory, of
--frame elements alone. The least of --runs rounds in which all take turns; of sorts one. Results are checked: histograms
by their sum, medians by counting, sorts by their order, least and greatest element. --cluster: processes of
LocalCluster, where sort_values goes by P2P, in place of threads. Needs masu, dask[dataframe] and, with --cluster, distributed.
"""
import argparse
import functools
import time

import dask
import dask.array as da
import numpy as np

import masu
import masu.dask as md


@functools.cache
def block(size):
    return np.random.default_rng(1).random(size, np.float32)


def made(size, number):
    """A chunk: other numbers for each, at the speed of memory."""
    return block(size) * np.float32(1 - number / 2**20)


def generated(count, chunks):
    size = count // chunks
    parts = [da.from_delayed(dask.delayed(made, pure=True)(size, i), (size,), np.float32) for i in range(chunks)]
    return da.concatenate(parts)


def ends(part):
    """The first and the last element, and whether the order is right."""
    x = np.asarray(part).reshape(-1)
    return np.array([[x[0], x[-1], (x[1:] >= x[:-1]).all()]]) if x.size else np.empty((0, 3))


def check_sorted(found, x):
    assert found[:, 2].all() and (found[1:, 0] >= found[:-1, 1]).all()
    assert (found[0, 0], found[-1, 1]) == dask.compute(x.min(), x.max())


def check_median(found, x):
    below, upto = dask.compute((x < found).sum(), (x <= found).sum())
    assert below <= x.size / 2 <= upto


def check_counts(found, x):
    assert found.sum() == x.size


def masu_sort(x):
    return md.sort(x).map_blocks(ends, chunks=((1,) * x.numblocks[0], (3,)), new_axis=1, dtype=float).compute()


def frame_sort(method, x):
    with dask.config.set({"dataframe.shuffle.method": method}):
        parts = x.to_dask_dataframe(columns="x").to_frame().sort_values("x").to_delayed()
        return np.concatenate(dask.compute(*(dask.delayed(ends)(part) for part in parts)))


def rows(options):
    """(name, data, what masu.dask does, what Dask does, the check, whether it is measured once)."""
    a = generated(options.count, options.chunks)
    few = generated(options.frame, options.chunks)
    bins = {"bins": 100, "range": (0, 1)}
    for kind, x in (("generated", a), ("kept", "kept")):
        yield f"{kind}: reading alone", x, lambda x: x.map_blocks(lambda b: b[:1], dtype=x.dtype).sum().compute(), None, None, False
        yield (f"{kind}: histogram of 100 bins", x, lambda x: dask.compute(*md.histogram(x, **bins))[0],
               lambda x: dask.compute(*da.histogram(x, **bins))[0], check_counts, False)
        again = {"recompute": kind == "generated"}
        yield f"{kind}: median", x, functools.partial(lambda again, x: md.median(x, **again).compute(), again), None, check_median, False
        yield (f"{kind}: three quantiles (Dask: approximate)", x,
               functools.partial(lambda again, x: md.quantile(x, [0.1, 0.5, 0.9], **again).compute(), again),
               lambda x: da.percentile(x, [10, 50, 90]).compute(), None, False)
        yield f"{kind}: sum (masu: exact)", x, lambda x: md.sum(x).compute(), lambda x: x.sum().compute(), None, False
        yield f"{kind}: topk of 100", x, lambda x: dask.compute(*md.topk(x, 100))[0], lambda x: da.topk(x, 100).compute(), None, False
    yield f"generated: sort of {options.frame:,}", few, masu_sort, None, check_sorted, True
    for method in ("p2p", "tasks") if options.cluster else ("disk", "tasks"):
        yield (f"generated: sort of {options.frame:,} (DataFrame.sort_values by {method})", few, None,
               functools.partial(frame_sort, method), check_sorted, True)
    if options.count != options.frame:
        yield f"generated: sort of {options.count:,}", a, masu_sort, None, check_sorted, True


def timed(call, x):
    started = time.perf_counter()
    found = call(x)
    return time.perf_counter() - started, found


def measure(options):
    kept = None
    print(f"{options.count:,} f32 in {options.chunks} chunks, Dask {dask.__version__}, masu {masu.__version__}, "
          f"{options.workers} {'processes' if options.cluster else 'threads'}, seconds\n")
    print("| | masu.dask | Dask | ratio |\n| --- | ---: | ---: | ---: |", flush=True)
    for name, x, mine, theirs, check, once in rows(options):
        if options.only and not any(part in name for part in options.only.split(",")):
            continue
        if isinstance(x, str):
            if kept is None:
                kept = generated(options.count, options.chunks).persist()
            x = kept
        elif kept is not None:
            kept = None  # sorts need the memory
        best = {}
        for run in range(1 if once else options.runs):
            for side, call in (("masu", mine), ("Dask", theirs)):
                if call is not None:
                    seconds, found = timed(call, x)
                    best[side] = min(seconds, best.get(side, seconds))
                    if check is not None and not run:
                        check(found, x)
        times = (f"{best[side]:.3g}" if side in best else "" for side in ("masu", "Dask"))
        ratio = f"{best['Dask'] / best['masu']:.3g}" if len(best) == 2 else ""
        print("|", " | ".join((name, *times, ratio)), "|", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--frame", type=int, default=10**8)
    parser.add_argument("--chunks", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only")
    parser.add_argument("--cluster", action="store_true")
    options = parser.parse_args()
    if not options.cluster:
        with dask.config.set(scheduler="threads", num_workers=options.workers):
            measure(options)
        return
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        measure(options)


if __name__ == "__main__":
    main()
