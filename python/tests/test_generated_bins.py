# SPDX-License-Identifier: Apache-2.0
"""Generated bins: edges and ranges inside and outside of the data's dtype, and ranges of every kind of number, on every
device beside NumPy."""
import itertools

import numpy as np
import pytest

import masu
from generators import DEVICES, FLOATS, INTEGERS, as_numpy, numbers, outcome, same, seeds


@pytest.fixture(autouse=True)
def masu_itself(monkeypatch):
    monkeypatch.setattr(masu._small, "limit", 0)


def end(rng, dtype):
    """A number around one of the dtype's ends, around zero, or far outside."""
    least, most = (-65504, 65504) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if dtype.itemsize == 8:
        least, most = max(least, -(2**40)), 2**40
    ends = [least - 300, least - 1, least, least + 1, -1, 0, 1, 3.5, most - 1, most, most + 1, most + 300]
    return ends[rng.integers(len(ends))]


def rule(rng, dtype):
    """(bins, range) of a column."""
    low, high = sorted((end(rng, dtype), end(rng, dtype)))
    if rng.integers(2) and low < high:
        return int(rng.integers(1, 9)), (low, high)
    edges = np.array(sorted([low, high, *(end(rng, dtype) for _ in range(rng.integers(3)))]))
    return edges, (0, 1)  # a range that edges do not look at


@pytest.mark.parametrize("device", DEVICES)
def test_columns(device):
    """Joint histograms, most of bytes, with bins that hold some values, all or none."""
    for seed, rng in seeds(160, device):
        dtype = np.dtype(rng.choice([*INTEGERS, *FLOATS]) if seed % 3 == 0 else rng.choice(["u1", "i1"]))
        columns = [numbers(rng, dtype, rng.integers(0, 400)) for _ in range(rng.integers(1, 4))]
        columns = [column[:min(map(len, columns))] for column in columns]
        bins, ends = zip(*(rule(rng, dtype) for _ in columns))
        weights = rng.integers(-9, 9, len(columns[0])) / 4 if rng.integers(2) else None
        told = (device, seed)
        if len(columns) == 2:
            as_numpy("histogram2d", *columns, list(bins), list(ends), weights=weights, device=device, told=told)
        points = np.stack(columns, 1)
        as_numpy("histogramdd", points, list(bins), list(ends), weights=weights, device=device, told=told)
        if not dtype.itemsize == 8:
            there = masu.to_device(points, device)
            got, _ = outcome(masu.histogramdd, there, list(bins), list(ends), weights=weights)
            want, _ = outcome(np.histogramdd, points, list(bins), list(ends), weights=weights)
            if isinstance(got, tuple):
                same((got[0].get(), [e.get() for e in got[1]]), want, told)
            else:
                assert type(got) is type(want) or "not supported" in str(got), (told, got)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
def test_bytes_beside_all_bins_of_a_column(device, dtype):
    points = np.array([[0, 5], [3, 9]], dtype)
    for beside in ([300, 400], [-400, -300]):
        for weights in (None, [1.5, 2]):
            as_numpy("histogramdd", points, [np.array([0, 10]), np.array(beside)], weights=weights, device=device)
            as_numpy("histogram2d", *points.T, 2, [(0, 10), tuple(beside)], weights=weights, device=device)


@pytest.mark.parametrize("device", DEVICES)
def test_one_column(device):
    for seed, rng in seeds(120, device):
        dtype = np.dtype(rng.choice([*INTEGERS, *FLOATS]) if seed % 2 else rng.choice(["u1", "i1"]))
        data = numbers(rng, dtype, (rng.integers(1, 5), rng.integers(1, 300)))
        bins, ends = rule(rng, dtype)
        as_numpy("histogram", data, bins, ends, device=device, told=seed)
        as_numpy("histogram", data, bins, ends, weights=rng.integers(-9, 9, data.shape), device=device, told=seed)
        want, _ = outcome(lambda: np.stack([np.histogram(row, bins, ends)[0] for row in data]))
        got, _ = outcome(lambda: masu.histogram(data, bins, ends, axis=1, device=device)[0])
        if not isinstance(got, TypeError):
            same(got, want, (device, seed))
        got, _ = outcome(lambda: masu.histogram(np.stack([data] * 2, 2), bins, ends, axis=1, device=device)[0][:, 1])
        if not isinstance(got, TypeError):
            same(got, want, (device, seed))


KINDS = [float, int, np.float16, np.float32, np.float64, np.int8, np.int64, np.uint16, bool]
NUMBERS = [0.1, 0.3, 0.7, 0.9, 1.1, 2.5, -0.1, -0.7, 3, -2, 0, 1, 60.2]


def ends_of_kinds(rng):
    """Two ends, mostly of two kinds, mostly in order; once in a while ones that a narrow kind cannot hold."""
    pair = sorted(rng.choice(NUMBERS, 2).tolist())
    if rng.integers(8) == 0:
        pair[1] *= rng.choice([1e5, 1e39])
    if rng.integers(12) == 0:
        pair.reverse()
    kinds = [KINDS[i] for i in rng.integers(len(KINDS), size=2)]
    with np.errstate(all="ignore"):
        return tuple(kind(np.float64(x)) if np.isfinite(x) and abs(x) < 100 else x for kind, x in zip(kinds, pair))


def near(rng, dtype, pair, bins):
    """Values of the dtype on the edges and beside them."""
    with np.errstate(all="ignore"):
        edges = np.linspace(float(pair[0]), float(pair[1]), min(bins, 40) + 1)
        values = np.concatenate([edges, np.float32(edges), np.float16(edges)]).astype("f8")
        if dtype.kind != "f":
            values = np.clip(np.nan_to_num(values), -100, 100)
            values = np.concatenate([np.floor(values), np.ceil(values)])
            return (values if dtype.kind == "i" else abs(values)).astype(dtype)
        values = values.astype(dtype)
        inf = dtype.type(np.inf)
        values = np.concatenate([values, np.nextafter(values, inf), np.nextafter(values, -inf)])
    return rng.permutation(values)


@pytest.mark.parametrize("device", DEVICES)
def test_ranges_of_mixed_kinds(device):
    for seed, rng in seeds(400, device):
        dtype = np.dtype(rng.choice([*FLOATS, *FLOATS, *INTEGERS]))
        pair, bins = ends_of_kinds(rng), int(rng.choice([1, 2, 3, 7, 10, 100, 700, 5000]))
        data = near(rng, dtype, pair, bins)
        want, _ = outcome(np.histogram, data, bins, pair)
        if not isinstance(want, (IndexError, ValueError)):  # of NumPy's own making, where a value has no bin
            as_numpy("histogram", data, bins, pair, device=device, told=seed)
        as_numpy("histogram_bin_edges", data, bins, pair, device=device, told=seed)
        as_numpy("histogramdd", data.reshape(-1, 1), bins, [pair], device=device, told=seed)
        as_numpy("histogram2d", data, data[::-1], min(bins, 100), [pair, pair[::-1] if seed % 9 == 0 else pair],
                 device=device, told=seed)


def test_ranges_of_every_two_kinds():
    """(0.1, 0.9) of each kind and each other, for each dtype of floats, on the ends and beside them."""
    for dtype, (low, high), bins in itertools.product(FLOATS, itertools.product(KINDS[:5], KINDS[:5]), (10, 5000)):
        pair = (low(0.1), high(0.9)) if high is not int else (low(0.1), 1)
        if pair[0] != pair[1]:
            data = near(np.random.default_rng(1), np.dtype(dtype), pair, bins)
            want, _ = outcome(np.histogram, data, bins, pair)
            if not isinstance(want, (IndexError, ValueError)):
                as_numpy("histogram", data, bins, pair)
            as_numpy("histogramdd", data.reshape(-1, 1), bins, [pair])
