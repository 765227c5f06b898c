# SPDX-License-Identifier: Apache-2.0
"""Sorting, searching and sets of the Python array API standard, on masu.

array-api-strict holds to the standard strictly and computes by calling NumPy; here it calls masu. Its own tests are
run, and what the standard says of each function is asked of it. (The standard's test suite is not on PyPI.)
"""
import os
import pathlib

import numpy as np
import pytest

import masu
from generators import FLOATS, INTEGERS, one_of
from generators.data import array
from numpy_redirect import redirect

xp = pytest.importorskip("array_api_strict")
from array_api_strict import _searching_functions, _set_functions, _sorting_functions, _statistical_functions

TESTS = pathlib.Path(xp.__file__).parent / "tests"
seeds = pytest.mark.parametrize("seed", range(1000 if os.environ.get("MASU_TEST_LONG") else 100))


@pytest.fixture(autouse=True, scope="module")
def on_masu():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(masu._small, "limit", 0)
        for module in (_searching_functions, _set_functions, _sorting_functions, _statistical_functions):
            patch.setattr(module, "np", redirect.proxy)
        before = redirect.calls["masu"]
        yield
    assert redirect.calls["masu"] > before


def wrapped(a):
    return xp.asarray(np.array(a, a.dtype.newbyteorder("=")))


def own_tests():
    """The tests of array-api-strict for these functions, as parameters."""
    if not TESTS.is_dir():
        return []
    return [TESTS / "test_sorting_functions.py", TESTS / "test_set_functions.py"]


@pytest.mark.parametrize("path", own_tests(), ids=lambda path: path.name)
def test_of_array_api_strict(path):
    before = redirect.calls["masu"]
    assert pytest.main([str(path), "-q", "-p", "no:cacheprovider", "--rootdir", str(TESTS), "-c", os.devnull]) == 0
    assert redirect.calls["masu"] > before


def drawn(seed):
    """Random numbers, and an array."""
    rng = np.random.default_rng(seed)
    return rng, array(rng, one_of(rng, INTEGERS + FLOATS[1:]), (1, 3))


@seeds
def test_sort(seed):
    """Sorted along the axis; of the same dtype and elements."""
    rng, a = drawn(seed)
    axis, descending, stable = int(rng.integers(a.ndim)), bool(rng.integers(2)), bool(rng.integers(2))
    a = np.nan_to_num(a)  # where NaN goes is left open by the standard
    got = np.asarray(xp.sort(wrapped(a), axis=axis, descending=descending, stable=stable)._array)
    rows = np.moveaxis(got, axis, -1).reshape(-1, a.shape[axis]).tolist() if a.size else []
    given_rows = np.moveaxis(a, axis, -1).reshape(-1, a.shape[axis]).tolist() if a.size else []
    assert rows == [sorted(row, reverse=descending) for row in given_rows]
    assert got.dtype == a.dtype.newbyteorder("=") and got.shape == a.shape


@seeds
def test_stable_argsort(seed):
    """The relative order of equal values is kept, in both directions."""
    rng, a = drawn(seed)
    axis, descending = int(rng.integers(a.ndim)), bool(rng.integers(2))
    a = np.nan_to_num(a)
    got = np.asarray(xp.argsort(wrapped(a), axis=axis, descending=descending)._array)
    if a.size:
        for row, order in zip(np.moveaxis(a, axis, -1).reshape(-1, a.shape[axis]).tolist(),
                              np.moveaxis(got, axis, -1).reshape(-1, a.shape[axis]).tolist()):
            assert order == sorted(range(len(row)), key=row.__getitem__, reverse=descending)


@seeds
def test_searchsorted(seed):
    """left: x1[i-1] < v <= x1[i]; right: x1[i-1] <= v < x1[i]."""
    rng = np.random.default_rng(seed)
    a, v = np.nan_to_num(array(rng, "f8", (1, 1))), np.nan_to_num(array(rng, "f8", (0, 2)))
    side, with_sorter = one_of(rng, ["left", "right"]), bool(rng.integers(2))
    sorter = xp.argsort(wrapped(a)) if with_sorter else None
    ordered = np.sort(a)
    got = xp.searchsorted(wrapped(a if with_sorter else ordered), wrapped(v), side=side, sorter=sorter)._array
    assert np.shape(got) == v.shape
    ends = [-np.inf, *ordered.tolist(), np.inf]
    for value, i in zip(np.ravel(v).tolist(), np.ravel(got).tolist()):
        below, at = ends[i], ends[i + 1]
        if side == "left":
            assert (below < value or i == 0) and value <= at
        else:
            assert below <= value and (value < at or i == a.size)


@seeds
def test_unique(seed):
    """Distinct values; NaNs are distinct from each other, zeros of both signs are not."""
    _, a = drawn(seed)
    x = wrapped(a)
    every = xp.unique_all(x)
    values = np.asarray(every.values._array)
    flat = a.ravel().tolist()
    real = [value for value in flat if value == value]
    assert sorted(values[values == values].tolist()) == sorted(set(real))
    assert int((values != values).sum()) == len(flat) - len(real)
    assert every.inverse_indices.shape == x.shape and int(np.sum(every.counts._array)) == a.size
    np.testing.assert_array_equal(values[every.inverse_indices._array], a)
    np.testing.assert_array_equal(a.ravel()[every.indices._array], values)
    for value, count in zip(values.tolist(), every.counts._array.tolist()):
        assert count == (flat.count(value) if value == value else 1)
    for short in (xp.unique_values(x), xp.unique_counts(x).values, xp.unique_inverse(x).values):
        np.testing.assert_array_equal(short._array, values)
