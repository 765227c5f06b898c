# SPDX-License-Identifier: Apache-2.0
"""mean, var and std: the real value, rounded once, with NumPy's parameters, errors and shapes."""
import doctest
import fractions
import importlib
import math
import os
import warnings

import numpy as np
import pytest

import masu
from generators import FLOATS, INTEGERS, numbers, outcome, same

LONG = "MASU_TEST_LONG" in os.environ
DEVICES = [info.id for info in masu.devices() if info.usable and (info.id == "cpu" or LONG)]


def rounded(exact, dtype):
    """A fraction as the nearest number of the dtype, ties to the even one."""
    dtype = np.dtype(dtype)
    near = dtype.type(float(exact))
    if np.isinf(near):
        near = np.copysign(np.finfo(dtype).max, near)
    best = [near, np.nextafter(near, dtype.type(-np.inf)), np.nextafter(near, dtype.type(np.inf))]
    best = [x for x in best if np.isfinite(x)]
    return min(best, key=lambda x: (abs(fractions.Fraction(float(x)) - exact), int(x.view(f"u{dtype.itemsize}")) & 1))


def root(exact, dtype):
    """The root of a fraction as the nearest number of the dtype, by whole numbers alone."""
    wide = 1 << 800  # the root has some hundred bits more than any dtype
    floor = math.isqrt(exact.numerator * wide**2 // exact.denominator)
    more = fractions.Fraction(floor, wide) ** 2 != exact
    return rounded(fractions.Fraction(2 * floor + more, 2 * wide), dtype)  # no tie where there is more


def exact(values, ddof=None):
    values = [fractions.Fraction(x) for x in values.tolist()]
    mean = sum(values, fractions.Fraction(0)) / len(values)
    if ddof is None:
        return mean
    return sum(((x - mean) ** 2 for x in values), fractions.Fraction(0)) / (len(values) - ddof)


def data_of(rng):
    """Elements whose sums are hard, none of them so large that a variance overflows."""
    dtype = np.dtype(rng.choice(["?", *INTEGERS, *FLOATS, *FLOATS]))
    shape = tuple(int(n) for n in rng.integers(1, 6, rng.integers(1, 4)))
    if dtype.kind != "f":
        return numbers(rng, dtype, shape)
    large = {2: 100, 4: 2.0**30, 8: 2.0**60}[dtype.itemsize]
    return rng.choice(np.array([large, -large, 1, 0.1, -3.7, 1e-4, 0, large + 1], dtype), shape)


@pytest.mark.parametrize("device", ["cpu", None])
def test_chosen_elements(device):
    for seed in range(150):
        rng = np.random.default_rng(seed)
        data = data_of(rng)
        where = rng.random(data.shape) < 0.7
        if seed % 3 == 0:
            data, where = data.T, where.T
        if seed % 7 == 0:
            data = data.astype(data.dtype.newbyteorder(">"))
        dtype = rng.choice([None, "f4", "f8"])
        chosen = data[where]
        wanted = dtype or (data.dtype.newbyteorder("=") if data.dtype.kind == "f" else "f8")
        if chosen.size:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = masu.mean(data, where=where, dtype=dtype, device=device)
            same(found, np.dtype(wanted).type(rounded(exact(chosen), wanted)))
        if chosen.size > 1:
            found = masu.var(data, where=where, dtype=dtype, ddof=1, device=device)
            same(found, np.dtype(wanted).type(rounded(exact(chosen, 1), wanted)))
            same(masu.std(data, where=where, dtype=dtype, device=device), masu.std(chosen, dtype=dtype))
            for name in ("mean", "var", "std"):
                kept = getattr(masu, name)(data, where=where, dtype=dtype, keepdims=True, device=device)
                same(kept, getattr(masu, name)(chosen, dtype=dtype).reshape((1,) * data.ndim))
    x = np.array([1.0, 2.0, 5.0])
    for options in ({"where": np.zeros(3, bool)}, {"where": [True, False, True]}, {"where": True}, {"where": x > 9, "axis": 0},
                    {"where": np.array([1, 0, 1])}, {"where": x > 1, "keepdims": True}, {"where": x > 1, "dtype": "i4"},
                    {"where": np.ones(2, bool)}, {"where": x > 1, "dtype": "no"}):
        for name in ("mean", "var", "std"):
            same(outcome(getattr(masu, name), x, **options)[0], outcome(getattr(np, name), x, **options)[0])


@pytest.mark.parametrize("device", DEVICES)
def test_the_real_value_rounded_once(device):
    for seed in range(1000 if LONG else 150 if device == "cpu" else 8):
        rng = np.random.default_rng(seed)
        data = data_of(rng)
        axis = [None, 0, -1, tuple(range(data.ndim))][rng.integers(4)]
        dtype = [None, "f8", "f4"][rng.integers(3)]
        keepdims = bool(rng.integers(2))
        for name, ddof in (("mean", None), ("var", 0), ("var", 1), ("std", 0), ("std", 1)):
            options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, **({} if name == "mean" else {"ddof": ddof})}
            shape = np.mean(data, axis=axis, keepdims=keepdims)
            want = dtype or (data.dtype if data.dtype.kind == "f" else "f8")
            axes = range(data.ndim) if axis is None else [axis % data.ndim] if isinstance(axis, int) else axis
            rest = [i for i in range(data.ndim) if i not in axes]
            rows = data.transpose(*rest, *axes).reshape(shape.size, -1)
            if rows.shape[1] <= (ddof or 0):
                continue
            got = getattr(masu, name)(data, **options, device=device)
            to = root if name == "std" else rounded
            wanted = np.array([to(exact(row, ddof), want) for row in rows], want).reshape(shape.shape)
            told = (device, seed, name, data, options)
            same(np.asarray(got), wanted, told)
            assert type(got) is type(getattr(np, name)(data, **options)), told
            there = getattr(masu, name)(masu.to_device(data, device), **options)
            same(there.get(), wanted, told)


def test_long_rows():
    data = np.random.default_rng(2).normal(size=(3, 40_000)) * 1e9
    for row, mean, variance in zip(data, masu.mean(data, axis=1), masu.var(data, 1, ddof=1)):
        assert mean == rounded(exact(row), "f8") and variance == rounded(exact(row, 1), "f8")


def test_roots_near_ties():
    """The root of the rounded variance would be another number for some of these."""
    rng = np.random.default_rng(5)
    differ = 0
    for dtype in ("f8", "f4", "f2"):
        for _ in range(300):
            data = rng.normal(size=rng.integers(2, 5)).astype(dtype)
            got = masu.std(data)
            assert got == root(exact(data, 0), dtype), data
            differ += got != np.sqrt(masu.var(data))
    assert differ > 50


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_what_is_numpys(name):
    """Errors, warnings and results of calls that masu leaves to NumPy."""
    data = np.array([[1.0, 2, 4, 5], [3, 5, 6, 10]])  # whose variances are exact in NumPy, too
    for options in ({"axis": 2}, {"axis": (0, 0)}, {"axis": 1.5}, {"dtype": "U3"}, {"dtype": "x"}, {"out": np.zeros(3)}, {"axis": 0, "out": np.zeros(4, "i4")},
                    {"axis": 0, "out": np.zeros(2)}, {"where": data > 2}, {"dtype": "i8"}, {"dtype": "D"}, {"axis": ()},
                    {"keepdims": True, "axis": 1}, {"axis": 0}, {}):
        as_numpys(name, data, **options)
    for a in (data[:0], data.astype("D"), data.astype("O"), "text", None, 3.0, np.float32(2)):
        as_numpys(name, a)
    if name != "mean":
        for options in ({"ddof": 8}, {"ddof": 9}, {"ddof": 0.5}, {"ddof": -1}, {"ddof": "x"}, {"ddof": 4, "correction": 4},
                        {"correction": 4}, {"mean": np.array([[4.5]])}, {"ddof": 4, "axis": 1}):
            as_numpys(name, data, **options)
    out = np.zeros(4, "f4")
    assert getattr(masu, name)(data, 0, out=out) is out and np.array_equal(out, getattr(np, name)(data, 0))


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_a_wider_out_is_not_rounded_to_the_dtype_of_the_data(dtype):
    data, out = np.array([1, 2, 4], dtype), np.zeros(())
    for name in "mean", "var", "std":
        getattr(masu, name)(data, out=out)
        assert out == getattr(masu, name)(data, dtype="f8")
        getattr(masu, name)(data, dtype=dtype, out=out)
        assert out == getattr(masu, name)(data)


def as_numpys(name, *args, **options):
    want, said = outcome(getattr(np, name), *args, **options)
    got, mine = outcome(getattr(masu, name), *args, **options)
    same(got, want, (name, args, options, got, want))
    assert {one for one in mine if one[0] is not masu.Fallback} == set(said), (name, args, options, mine, said)


def test_sums_of_numpys_are_told():
    for call in (lambda: masu.mean(np.ones(3, "D")), lambda: masu.var(np.ones(3), ddof=0.5), lambda: masu.std(np.ones(3), ddof=-1),
                 lambda: masu.mean(np.ones(3), where=[True, False, True])):
        assert masu.Fallback in {category for category, _ in outcome(call)[1]}
    for call in (lambda: masu.mean([1.0, 2]), lambda: masu.var([1, 2, 3]), lambda: masu.mean(3.0)):
        assert not outcome(call)[1]


def test_what_is_not_finite():
    inf, nan = np.inf, np.nan
    for values, mean in ([inf, 1], inf), ([-inf, 1], -inf), ([inf, -inf], nan), ([nan, 1], nan):
        same(masu.mean(np.float64(values)), np.float64(mean))
        assert np.isnan(masu.var(np.float64(values))) and np.isnan(masu.std(np.float64(values)))
    most = np.finfo("f8").max
    assert masu.mean(np.array([most] * 3)) == most and masu.var(np.array([most] * 3)) == 0
    assert np.isinf(masu.var(np.array([most, -most]))) and masu.std(np.array([most, -most])) == most


def test_what_devices_refuse():
    there = masu.to_device(np.ones(4), "cpu")
    rows = masu.to_device(np.ones((4, 1)), "cpu")
    for call in (lambda: masu.mean(there, dtype="i8"), lambda: masu.var(there, ddof=0.5), lambda: masu.var(there, ddof=4), lambda: masu.std(there, ddof=4),
                 lambda: masu.mean(there, where=np.ones(4)), lambda: masu.mean(rows, 1, where=np.ones((4, 1), bool)),
                 lambda: masu.var(masu.to_device(np.ones(0), "cpu"), ddof=1)):
        with pytest.raises((TypeError, ValueError)):
            call()


def test_examples_of_the_docstrings():
    failed, tried = doctest.testmod(importlib.import_module("masu._moments"))
    assert tried > 0 and failed == 0


@pytest.mark.parametrize("dtype", [None, "f2", "f4", "f8"])
def test_moments_along_no_axis(dtype):
    for x in (np.array([[32767, -12345, 2], [5, 2049, 0]], "i2"), np.array([[1 / 3, -1e-3, 5e4], [0.1, 2, 3]]), np.float32([[0.1, 7], [1 / 3, 0]]).T):
        wanted = dtype or ("f4" if x.dtype == "f4" else "f8")
        for name in ("var", "std"):
            same(getattr(masu, name)(x, axis=(), dtype=dtype), np.zeros(x.shape, wanted))
        same(masu.mean(x, axis=(), dtype=dtype), x.astype(wanted))
        same(masu.var(x, axis=(), dtype=dtype, keepdims=True), np.zeros(x.shape, wanted))
