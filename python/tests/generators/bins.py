# SPDX-License-Identifier: Apache-2.0
"""Bins: edges and ranges inside and outside of the data's dtype, and ranges of every kind of number."""
import numpy as np

import masu

from . import FLOATS, INTEGERS, as_numpy, generator, numbers, one_of, outcome, same


def end(rng, dtype):
    """A number around one of the dtype's ends, around zero, or far outside."""
    least, most = (-65504, 65504) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if dtype.itemsize == 8:
        least, most = max(least, -(2**40)), 2**40
    return one_of(rng, [least - 300, least - 1, least, least + 1, -1, 0, 1, 3.5, most - 1, most, most + 1, most + 300])


def rule(rng, form, dtype):
    """(bins, range) of a column."""
    low, high = sorted((end(rng, dtype), end(rng, dtype)))
    even, count, more = form.integers(2), int(form.integers(1, 9)), form.integers(3)
    if even and low < high:
        return count, (low, high)
    edges = np.array(sorted([low, high, *(end(rng, dtype) for _ in range(more))]))
    return edges, (0, 1)  # a range that edges do not look at


def dtype_of(form, bytes_alone):
    return np.dtype(one_of(form, ["u1", "i1"] if bytes_alone else [*INTEGERS, *FLOATS]))


@generator(160)
def joint_bins(rng, form, device):
    """Joint histograms, most of bytes, with bins that hold some values, all or none."""
    dtype = dtype_of(form, form.integers(3))
    width, weighted = form.integers(1, 4), form.integers(2)
    size = rng.integers(0, 400)
    columns = [numbers(rng, dtype, size) for _ in range(width)]
    bins, ends = zip(*(rule(rng, form, dtype) for _ in columns))
    weights = rng.integers(-9, 9, size) / 4 if weighted else None
    if width == 2:
        as_numpy("histogram2d", *columns, list(bins), list(ends), weights=weights, device=device)
    points = np.stack(columns, 1)
    as_numpy("histogramdd", points, list(bins), list(ends), weights=weights, device=device)
    if dtype.itemsize < 8:
        there = masu.to_device(points, device)
        got, _ = outcome(masu.histogramdd, there, list(bins), list(ends), weights=weights)
        want, _ = outcome(np.histogramdd, points, list(bins), list(ends), weights=weights)
        told = (points, bins, ends, weights, got, want)
        if isinstance(got, tuple):
            same((got[0].get(), [e.get() for e in got[1]]), want, told)
        else:
            assert type(got) is type(want) or "not supported" in str(got), told


@generator(120)
def bins_of_rows(rng, form, device):
    """One column, whole and by rows, interleaved with another or not."""
    dtype = dtype_of(form, form.integers(2))
    bins, ends = rule(rng, form, dtype)
    data = numbers(rng, dtype, (rng.integers(1, 5), rng.integers(1, 300)))
    want, _ = outcome(lambda: np.stack([np.histogram(row, bins, ends)[0] for row in data]))
    if isinstance(want, IndexError):  # NumPy's of f16 in ranges whose width f16 does not hold
        return
    as_numpy("histogram", data, bins, ends, device=device)
    as_numpy("histogram", data, bins, ends, weights=rng.integers(-9, 9, data.shape), device=device)
    got, _ = outcome(lambda: masu.histogram(data, bins, ends, axis=1, device=device)[0])
    if not isinstance(got, TypeError):
        same(got, want, (data, bins, ends))
    got, _ = outcome(lambda: masu.histogram(np.stack([data] * 2, 2), bins, ends, axis=1, device=device)[0][:, 1])
    if not isinstance(got, TypeError):
        same(got, want, (data, bins, ends))


KINDS = [float, int, np.float16, np.float32, np.float64, np.int8, np.int64, np.uint16, bool]
NUMBERS = [0.1, 0.3, 0.7, 0.9, 1.1, 2.5, -0.1, -0.7, 3, -2, 0, 1, 60.2]


def ends_of_kinds(rng, form):
    """Two ends, mostly of two kinds, mostly in order; once in a while ones that a narrow kind cannot hold."""
    pair = sorted(rng.choice(NUMBERS, 2).tolist())
    if rng.integers(8) == 0:
        pair[1] *= rng.choice([1e5, 1e39])
    if rng.integers(12) == 0:
        pair.reverse()
    kinds = [one_of(form, KINDS), one_of(form, KINDS)]
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


@generator(400)
def ranges_of_mixed_kinds(rng, form, device):
    dtype = np.dtype(one_of(form, [*FLOATS, *FLOATS, *INTEGERS]))
    pair, bins = ends_of_kinds(rng, form), int(form.choice([1, 2, 3, 7, 10, 100, 700, 5000]))
    data = near(rng, dtype, pair, bins)
    want, _ = outcome(np.histogram, data, bins, pair)
    if not isinstance(want, (IndexError, ValueError)):  # of NumPy's own making, where a value has no bin
        as_numpy("histogram", data, bins, pair, device=device)
    as_numpy("histogram_bin_edges", data, bins, pair, device=device)
    as_numpy("histogramdd", data.reshape(-1, 1), bins, [pair], device=device)
    other = pair[::-1] if rng.integers(9) == 0 else pair
    as_numpy("histogram2d", data, data[::-1], min(bins, 100), [pair, other], device=device)
