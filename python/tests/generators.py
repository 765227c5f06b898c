# SPDX-License-Identifier: Apache-2.0
"""What the tests on generated calls share: seeds, calls beside NumPy's, and data of every dtype."""
import os
import warnings

import numpy as np

import masu

LONG = bool(os.environ.get("MASU_TEST_LONG"))
# Each new shape compiles kernels: other devices than the CPU are for MASU_TEST_LONG.
DEVICES = [info.id for info in masu.devices() if info.usable and (info.id == "cpu" or "MASU_TEST_LONG" in os.environ)]
INTEGERS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
FLOATS = ["f2", "f4", "f8"]


def seeds(few, device="cpu"):
    """(seed, random numbers) of so many calls, a twentieth where kernels are compiled for each; a thousand in long tests."""
    for seed in range(1000 if LONG else few if device == "cpu" else few // 20):
        yield seed, np.random.default_rng(seed)


def outcome(function, *args, **options):
    """The result or the exception, and the warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            value = function(*args, **options)
        except Exception as error:
            value = error
    return value, {(w.category, str(w.message)) for w in seen}


def arrays(value):
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in arrays(part)]
    return [value]


def same(got, want, told=None, zeros=True):
    """The same types, dtypes, shapes, elements and, with `zeros`, signs of zeros; of exceptions type and words."""
    if isinstance(want, Exception) or isinstance(got, Exception):
        assert (type(got), str(got)) == (type(want), str(want)), told
        return
    for mine, theirs in zip(arrays(got), arrays(want), strict=True):
        assert type(mine) is type(theirs), (told, type(mine), type(theirs))
        mine, theirs = np.asarray(mine), np.asarray(theirs)
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), told
        assert np.array_equal(mine, theirs, equal_nan=theirs.dtype.kind in "fc"), (told, mine, theirs)
        if zeros and theirs.dtype.kind == "f":
            assert np.array_equal(np.signbit(mine) & ~np.isnan(mine), np.signbit(theirs) & ~np.isnan(theirs)), told


def as_numpy(name, *args, device=None, zeros=True, told=None, **options):
    """masu's function and NumPy's have the same results, errors and warnings."""
    want, said = outcome(getattr(np, name), *args, **options)
    got, mine = outcome(getattr(masu, name), *args, **options, **({} if device is None else {"device": device}))
    told = (told, name, args, options, got, want)
    same(got, want, told, zeros)
    assert mine == said, (told, mine, said)


def numbers(rng, dtype, size):
    """Elements of a dtype: its ends, few values around zero, or any."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(bool)
    kind = rng.integers(3)
    if dtype.kind == "f":
        if kind == 0:
            return rng.choice(np.array([0.0, -0.0, 1, -1, 0.1, 0.9, 2.5, 60000], dtype), size)
        return (rng.normal(size=size) * (1 if kind == 1 else 50)).astype(dtype)
    info = np.iinfo(dtype)
    if kind == 0:
        return rng.choice(np.array([info.min, info.min + 1, 0, 1, 2, info.max - 1, info.max], dtype), size)
    if kind == 1:
        return rng.integers(0, 6, size).astype(dtype)
    return rng.integers(info.min, info.max, size, dtype, endpoint=True)
