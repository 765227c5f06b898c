# SPDX-License-Identifier: Apache-2.0
"""Run by test_gpu_calls.py, or alone: counts and totals of weights on PyTorch's and CuPy's arrays in a GPU's memory, bins whose
range or edges the call finds there. Results against NumPy's functions, or masu's own on the host.
"""
import concurrent.futures
import sys

import numpy as np
import torch
from gpu_arrays import LIBRARIES, Torch, each, host, random, run, same

import masu


def check_counts():
    for library in LIBRARIES:
        for dtype in ("f4", "f8", "f2", "i4", "u1", "i8"):
            data = random.integers(-50, 150, 200_003).astype(dtype) if dtype != "u1" else host("u1", 200_003)
            for bins, ends in ((100, (0, 100)), (7, (-3.5, 99.25)), (1000, (0.0, 1.0)), (1, (0, 1))):
                for _ in range(2):
                    counts, edges = masu.histogram(library.give(data), bins, ends)
                    want, want_edges = np.histogram(data, bins, ends)
                    same(library.get(counts), want)
                    same(library.get(edges), want_edges)
            # Between their own extremes, which in f2 can lie too near to each other for 50 bins.
            for part in (data, data[:1000], data[:3] // 4, data[:1])[:2 if dtype == "f2" else 4]:
                for found, want in zip(masu.histogram(library.give(part), 50), np.histogram(part, 50)):
                    same(library.get(found), want)
        edges[...] = 0  # the caller's own
        same(library.get(masu.histogram(library.give(data), bins, ends)[1]), want_edges)
        for dtype, least in (("u1", 256), ("u1", 300), ("u2", 65536), ("u1", 5), ("i4", 300)):
            data = random.integers(0, 256, 100_003).astype(dtype)
            for _ in range(2):
                same(library.get(masu.bincount(library.give(data), minlength=least)), np.bincount(data, minlength=least))
        # The number of counts is guessed from the calls before, rightly or not.
        for most in (5, 5, 5, 5, 5, 9, 9, 9, 9, 9, 3, 9, 3, 3, 3, 3, 3, -1, 3):
            data = random.integers(0, most, 4099) if most > 0 else np.full(4099, -1)
            try:
                found = library.get(masu.bincount(library.give(data)))
            except ValueError:
                assert most < 0
            else:
                same(found, np.bincount(data))


def check_weights_and_edges():
    """Weights, and edges that are arrays: against the host, whose totals are exact too."""
    for library in LIBRARIES:
        for dtype, by in (("f4", "f4"), ("f8", "f8"), ("i4", "f4"), ("u1", "f8"), ("f2", "f4"), ("f4", "i4"), ("i8", "u1"), ("f4", "i8")):
            for size in (1, 3000, 200_003):
                data = random.integers(0, 150, size).astype(dtype)
                weights = host(by, size)
                x, w = library.give(data), library.give(weights)
                calls = [lambda x, w, _: masu.histogram(x, 100, (0, 100), weights=w), lambda x, w, _: masu.histogram(x, 3, weights=w)]
                given = [np.array([1, 4, 4, 90.5]), np.linspace(0, 150, 1001).astype("f4"), np.arange(3, 90), np.array([-np.inf, 3, np.inf])]
                for edges in given:
                    edges = library.give(edges)
                    calls += [lambda x, w, get, e=edges: masu.histogram(x, get(e)),
                              lambda x, w, get, e=edges: masu.histogram(x, get(e), weights=w)]
                if np.dtype(dtype).kind != "f":
                    calls += [lambda x, w, _: masu.bincount(x, w), lambda x, w, _: masu.bincount(x, w, 3000)]
                for call in calls:
                    wanted = each(call(data, weights, library.get))
                    for _ in range(2):
                        for got, want in zip(each(call(x, w, lambda e: e)), wanted, strict=True):
                            same(library.get(got), want)
        for edges, text in (([0, np.nan, 1], "edges must be numbers, got NaN at 1"), ([0, 2, 1], "must increase monotonically")):
            try:
                masu.histogram(x, library.give(np.array(edges)))
            except ValueError as error:
                assert text in str(error), error
            else:
                raise AssertionError(f"no error: {text}")


def check_found_ranges():
    """Bins between extremes that are found: of many ranges and sizes, one after the other and beside each other."""
    for number in range(300):
        dtype = ("f4", "f8", "i4", "i2", "i8", "u1")[number % 6]
        size = int(random.choice([2, 50, 3000, 70_000]))
        values = random.standard_normal(size) * 2.0 ** random.integers(-60, 60) + random.standard_normal()
        data = values.astype(dtype) if dtype[0] == "f" else host("i8", size).astype(dtype)
        bins = int(random.choice([1, 7, 10, 64, 100, 333, 1000, 20_000, 65_536], p=[.2, .1, .2, .1, .2, .1, .08, .01, .01]))
        try:
            want = np.histogram(data, bins)
        except ValueError:  # too many bins
            continue
        library = LIBRARIES[number % len(LIBRARIES)]
        for found, wanted in zip(masu.histogram(library.give(data), bins), want):
            same(library.get(found), wanted)
        same(library.get(masu.histogram_bin_edges(library.give(data), bins)), want[1])
    arrays = [torch.rand(1 << 22, device="cuda") * (number + 1) for number in range(6)]
    wanted = [np.histogram(x.cpu().numpy(), 100) for x in arrays]
    streams = [torch.cuda.Stream() for _ in range(4)]

    def work(own):
        results = []
        for number in range(60):
            with torch.cuda.stream(own[number % len(own)]):
                results.append(masu.histogram(arrays[number % 6], 100))
        torch.cuda.synchronize()
        for number, result in enumerate(results):
            for found, want in zip(result, wanted[number % 6]):
                same(Torch.get(found), want)

    torch.cuda.synchronize()
    work(streams)
    with concurrent.futures.ThreadPoolExecutor(len(streams)) as pool:
        list(pool.map(work, [[stream] for stream in streams]))


if __name__ == "__main__":
    sys.exit(run(globals()))
