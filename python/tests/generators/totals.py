# SPDX-License-Identifier: Apache-2.0
"""Weights: totals are the exact ones of each bin's weights, whatever the dtypes, and which bin is NumPy's to say."""
import math
import warnings

import numpy as np

import masu

from . import FLOATS, INTEGERS, generator, numbers, one_of, outcome


def exactly(function, *args, **options):
    """What a call gives that must not leave its sums to NumPy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", masu.Fallback)
        return function(*args, **options)


def weights_of(rng, dtype, size):
    """Weights whose sums are hard: ones that cancel, of very different sizes, and integers near the ends of 64 bits."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        part = dtype.char.lower()
        return (weights_of(rng, part, size) + 1j * weights_of(rng, part, size)).astype(dtype)
    if dtype.kind in "iu":
        return numbers(rng, dtype, size)
    large = {2: 2.0**11, 4: 2.0**25, 8: 1e16}[dtype.itemsize]
    return rng.choice(np.array([large, -large, 1, 1, 3, 0.5], dtype), size)


def exact(weights, dtype):
    """The real sum, rounded to f64 and then to the dtype; of integers modulo the dtype."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        return complex(math.fsum(weights.real.astype("f8")), math.fsum(weights.imag.astype("f8")))
    if weights.dtype.kind in "iu":
        total = sum(weights.tolist())
        return float(total) if dtype.kind == "f" else np.uint64(total % 2**64).astype(dtype)
    return math.fsum(weights.astype("f8"))


def totals_by(numpys, values, weights, dtype):
    """The exact total of each bin, where numpys(weights) says with a weight of 1 in which bin a value lies."""
    members = {}
    for value in np.unique(values):
        here = values == value if value == value else np.isnan(values)
        ones = numpys(here.astype("f8")).ravel()
        for i in np.flatnonzero(ones):
            members.setdefault(i, []).append(np.flatnonzero(here))
    none = [np.zeros(0, np.intp)]
    with np.errstate(all="ignore"):
        return np.array([exact(weights[np.concatenate(members.get(i, none))], dtype) for i in range(ones.size)], dtype)


def few(rng, values, most=8):
    """The same number of elements, but few different ones."""
    return values[rng.integers(min(most, values.size), size=values.size)] if values.size else values


RULES = [
    {}, {"bins": 4, "range": (0, True)}, {"bins": 3, "range": (False, 2.5)},
    {"bins": np.array([False, True])}, {"bins": [False, True, True]},
    {"bins": np.array([0, 1, 2**53, 2**53 + 1])}, {"bins": np.array([0, 2**53 + 1, 2**63], "u8")},
    {"bins": 3, "range": (0, 2**53 + 2)}, {"bins": 4, "range": (np.float32(-1), np.float32(2.5))},
    {"bins": 4, "range": (np.float16(0.1), 0.9)}, {"bins": 4, "range": (0.1, np.float16(0.9))},
    {"bins": [-1, 0, 0.1, 1]}, {"bins": np.array([0, 0.5, 1], "f2")}, {"bins": 5, "range": (-2, 3)},
    {"bins": np.array([0, 1, 2], "g")}, {"bins": 700, "range": (np.float16(-1), np.float16(1))},
]


@generator(240)
def totals(rng, form, device):
    dtype, of, options = one_of(form, ["?", *INTEGERS, *FLOATS]), one_of(form, [*INTEGERS, *FLOATS, "F", "D"]), one_of(form, RULES)
    values = few(rng, numbers(rng, dtype, rng.integers(1, 60)))
    weights = weights_of(rng, of, values.size)
    if "bins" not in options and values.dtype.kind == "f":
        values = np.where(np.isfinite(values), values, 0)
    want, _ = outcome(np.histogram, values, **options, weights=weights)
    if isinstance(want, Exception):
        got, _ = outcome(masu.histogram, values, **options, weights=weights, device=device)
        assert type(got) is type(want) or isinstance(want, IndexError), (want, got)
        return
    hist, edges = exactly(masu.histogram, values, **options, weights=weights, device=device)
    told = (values, weights, options, hist)
    assert hist.dtype == want[0].dtype and edges.dtype == want[1].dtype and np.array_equal(edges, want[1]), told
    wanted = totals_by(lambda one: np.histogram(values, **options, weights=one)[0], values, weights, weights.dtype)
    assert np.array_equal(hist, wanted, equal_nan=hist.dtype.kind in "fc"), (told, wanted)


@generator(160)
def totals_of_integers(rng, form, device):
    values = rng.integers(0, 7, rng.integers(1, 60)).astype(one_of(form, ["?", *INTEGERS]))
    weights = weights_of(rng, one_of(form, [*INTEGERS, *FLOATS]), values.size)
    want, _ = outcome(np.bincount, values, weights)
    if isinstance(want, TypeError):  # of uint64 before NumPy 2.4
        return
    got = exactly(masu.bincount, values, weights, device=device)
    assert got.dtype == np.float64
    wanted = [exact(weights[values == i], "f8") for i in range(int(values.max()) + 1)]
    assert got.tolist() == wanted, (values, weights, got, wanted)


KINDS = [
    lambda rng, n: rng.random(n), lambda rng, n: rng.integers(0, 9, n) * 2.0 ** rng.integers(-60, 3, n),
    lambda rng, n: 10.0 ** rng.uniform(-200, 200, n), lambda rng, n: rng.choice([0.0, 5e-324, 2.0**-1022, 1.0], n),
    lambda rng, n: rng.choice([1.0, 2.0**-53, 2.0**-54, 3 * 2.0**-54], n), lambda rng, n: rng.standard_normal(n),
    lambda rng, n: rng.choice([np.inf, 1.0, 1e308], n), lambda rng, n: rng.integers(0, 2**63, n, "i8") * 1.0,
    lambda rng, n: rng.random(n, "f4"), lambda rng, n: rng.choice([-0.0, 0.0], n), lambda rng, n: np.zeros(n),
    lambda rng, n: rng.integers(-9, 9, n).astype("i2"), lambda rng, n: rng.integers(0, 2**32, n).astype("u4"),
]


@generator(120)
def totals_in_few_and_many_bins(rng, form, device):
    """Weights above 0, of one size and of many, whose sums lie between two numbers or exactly in the middle."""
    kind, most = one_of(form, KINDS), form.integers(4)
    size = int(rng.integers(1, 400))
    values = rng.integers(0, [2, 30, size + 1, 9 * size][most], size)
    weights = kind(rng, size)
    got = exactly(masu.bincount, values, weights, device=device)
    want = np.zeros(int(values.max()) + 1)
    for i in np.unique(values):
        try:
            want[i] = math.fsum(weights[values == i].astype("f8"))
        except OverflowError:
            want[i] = np.inf
    assert np.array_equal(got, want) and not np.signbit(got[want == 0]).any(), (values, weights, got, want)


@generator(120)
def joint_totals(rng, form, device):
    dtype, of = one_of(form, ["?", "u1", "i2", "i8", "u8", *FLOATS]), one_of(form, [*INTEGERS, *FLOATS])
    width = int(form.choice([1, 2, 3, 9]))
    options = one_of(form, [
        {"bins": 2}, {"bins": 2, "range": [(0, True)] * width}, {"bins": [np.array([False, True])] * width},
        {"bins": [np.array([0, 1, 2**53 + 1])] * width}, {"bins": 2, "range": [(0, 3)] * width},
        {"bins": 2, "range": [(np.float32(0), 2.5)] * width}])
    points = numbers(rng, dtype, (rng.integers(1, 6), width))
    points = points[rng.integers(len(points), size=rng.integers(1, 40))]
    weights = weights_of(rng, of, len(points))
    want, _ = outcome(np.histogramdd, points, **options, weights=weights)
    if isinstance(want, Exception):
        got, _ = outcome(masu.histogramdd, points, **options, weights=weights, device=device)
        assert type(got) is type(want), (want, got)
        return
    hist, edges = exactly(masu.histogramdd, points, **options, weights=weights, device=device)
    told = (points, weights, options, hist)
    assert hist.dtype == want[0].dtype and hist.shape == want[0].shape, told
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(edges, want[1])), told
    numbered = np.unique(points, axis=0, return_inverse=True)[1].ravel()
    wanted = totals_by(lambda one: np.histogramdd(points, **options, weights=one)[0], numbered, weights, "f8")
    assert hist.ravel().tolist() == wanted.tolist(), (told, wanted)


@generator(120)
def totals_that_do_not_fit(rng, form, device):
    """Bins that fit stay exact beside ones that do not, which are modulo the dtype; Histogram.of names those."""
    dtype = np.dtype(one_of(form, ["i8", "u8"]))
    values = rng.integers(-1, 6, rng.integers(1, 30))
    most = np.iinfo(dtype).max
    weights = rng.choice(np.array([most, most - 1, 2**53 + 1, 1, 2, np.iinfo(dtype).min], dtype), values.size)
    told = (values, weights)
    got = masu.histogram(values, [0, 1, 2, 3, 4], weights=weights, device=device)[0]
    bins = [values == 0, values == 1, values == 2, (values == 3) | (values == 4)]
    wanted = [sum(weights[here].tolist()) for here in bins]
    assert got.tolist() == [np.uint64(t % 2**64).astype(dtype).item() for t in wanted], (told, got)
    rows = masu.histogram(np.stack([values] * 2), [0, 1, 2, 3, 4], weights=np.stack([weights] * 2), axis=1, device=device)[0]
    assert np.array_equal(rows, [got, got]), (told, rows)
    there = masu.histogram(masu.to_device(values, device), [0, 1, 2, 3, 4], weights=masu.to_device(weights, device))
    assert np.array_equal(there[0].get(), got), (told, there)
    outside = [sum(weights[values < 0].tolist()), sum(weights[values > 4].tolist())]
    fits = [np.iinfo(dtype).min <= total <= most for total in wanted + outside]
    h, _ = outcome(masu.Histogram.of, values, [0, 1, 2, 3, 4], weights=weights, device=device)
    if all(fits):
        assert h.totals().tolist() == wanted and [h.below, h.above] == outside, (told, h)
    else:
        names = [*(f"bin {i} " for i in range(4)), "the values below", "the values above"]
        assert isinstance(h, ValueError) and names[fits.index(False)] in str(h), (told, h)
