# SPDX-License-Identifier: Apache-2.0
"""Generated calls (generators/), some seeds of each on every device, and the cases that they were made from."""
import itertools
import math
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import generators
import masu
from generators import FLOATS, as_numpy, outcome, same
from generators.bins import KINDS, near
from generators.totals import exactly

LONG = bool(os.environ.get("MASU_TEST_LONG"))
# Kernels are compiled for other devices than the CPU: they are for MASU_TEST_LONG.
DEVICES = [info.id for info in masu.devices() if info.usable and (info.id == "cpu" or "MASU_TEST_LONG" in os.environ)]


@pytest.fixture(autouse=True)
def masu_itself():
    with generators.masu_itself():
        yield


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", generators.ALL)
def test_generated(name, device):
    generator = generators.ALL[name]
    if generator.host and device != "cpu":
        pytest.skip("of functions of the host alone")
    for seed in range(1000 if LONG else generator.few):
        try:
            generators.run(name, device, seed)
        except Exception as error:
            raise AssertionError(f"{name}, {device}, seed {seed}") from error


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
def test_bytes_beside_all_bins_of_a_column(device, dtype):
    points = np.array([[0, 5], [3, 9]], dtype)
    for beside in ([300, 400], [-400, -300]):
        for weights in (None, [1.5, 2]):
            as_numpy("histogramdd", points, [np.array([0, 10]), np.array(beside)], weights=weights, device=device)
            as_numpy("histogram2d", *points.T, 2, [(0, 10), tuple(beside)], weights=weights, device=device)


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


def test_histogram_names_what_it_cannot_take():
    """The dtype in the message is one that the caller gave."""
    values = np.arange(4.0)
    for given, options, word in [
        (values + 1j, {}, "complex128"), (values.astype("M8[s]"), {}, "datetime64"), (values.astype("g"), {}, "longdouble"),
        (values > 1, {"range": (0, True)}, "bool"), (values.astype("f2"), {"range": (np.float32(0), np.float32(1))}, "float16"),
        (values, {"weights": values > 1}, "bool"), (values, {"weights": values + 1j}, "complex128"),
        (values, {"weights": values[1:]}, "(3,)"), (values, {"bins": "auto", "weights": values}, "auto"),
        (values > 1, {"weights": values + 1j}, "complex128"), (values, {"bins": np.array([0, 1], "g")}, "longdouble"),
        (values > 1, {"bins": np.array([False, True])}, "bool"),
    ]:
        with pytest.raises((TypeError, ValueError)) as caught:
            masu.Histogram.of(given, **{"bins": 3, **options})
        assert word.replace("longdouble", str(np.dtype("g"))) in str(caught.value), (given.dtype, options, caught.value)
        assert "uint8" not in str(caught.value)


@pytest.mark.parametrize("bins", [50, 60_000])
@pytest.mark.parametrize("kind", ["uniform", "wide", "ties", "f4", "signs", "late"])
def test_bincount_of_many_weights(kind, bins):
    """As many as threads share; all of one grid of numbers, or not, or all but the last."""
    rng = np.random.default_rng(11)
    size = 600_000
    values = np.where(rng.random(size) < 0.1, 7, rng.integers(0, bins, size))
    weights = {"uniform": rng.random(size), "wide": 10.0 ** rng.uniform(-300, 300, size),
               "ties": rng.choice([1.0, 2.0**-53, 2.0**-54, 0.0], size), "f4": rng.random(size, "f4"),
               "signs": rng.integers(-2**40, 2**40, size) / 2**30, "late": rng.random(size)}[kind]
    if kind == "late":
        weights[-1] = 2.0**-300
    order = np.argsort(values, kind="stable")
    parts = np.split(weights[order].astype("f8"), np.flatnonzero(np.diff(values[order])) + 1)
    want = np.zeros(values.max() + 1)
    want[np.unique(values)] = [math.fsum(part) for part in parts]
    assert np.array_equal(exactly(masu.bincount, values, weights, device="cpu"), want)


def test_what_numpy_sums_is_told():
    """Where NumPy sums, the result is its own, and masu.Fallback says so."""
    values = np.zeros(4)
    weights = np.array([1e16, 1, 1, -1e16])
    calls = [
        lambda: masu.histogram(values, 1, (0, 1), weights=weights.astype(object)),
        lambda: masu.histogram(values, 1, (0, 1), weights=weights.astype("g")),
        lambda: masu.histogramdd([values, values], 1, [(0, 1)] * 2, weights=np.float64(weights).astype("g").astype(object)),
    ]
    for call in calls:
        value, seen = outcome(call)
        if not isinstance(value, Exception):
            assert masu.Fallback in {category for category, _ in seen}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", masu.Fallback)
            outcome(call)
        assert not told
    twice = "import masu, numpy\nfor kind in 'ggFg': masu.sum(numpy.ones(9, kind))"
    told = subprocess.run([sys.executable, "-c", twice], capture_output=True, text=True, check=True).stderr
    assert told.count("Fallback: sum: a result of") == 2  # each kind of call shows it once


def test_zeros_of_both_signs_in_f16(monkeypatch):
    a = np.round(np.random.default_rng(0).standard_normal(4402)).astype("f2")
    for limit in (0, 10**6):  # small ones, which are NumPy's, too
        monkeypatch.setattr(masu._small, "limit", limit)
        same(masu.sort(a), np.sort(a, kind="stable"))
    monkeypatch.setattr(masu._small, "limit", 0)
    np.testing.assert_array_equal(masu.unique(a), np.unique(a.astype("f8")))


@pytest.mark.parametrize("a", [[], 1, [1, 2, "a"], None, "text", {}, [[1], [1, 2]], object(), b"bytes", np.array(3.0)])
def test_things_that_are_no_arrays(a):
    for name in ("histogram", "histogram_bin_edges", "bincount", "sort", "argsort", "unique", "median", "cumsum"):
        want, got = outcome(getattr(np, name), a)[0], outcome(getattr(masu, name), a)[0]
        assert not isinstance(want, Exception) or isinstance(got, type(want)) or isinstance(want, type(got)), (name, want, got)
        if not isinstance(want, Exception):
            same(got, want, name)


def test_views_of_what_is_not_there():
    """Arrays whose elements are one and the same, or none, and of absurd shapes."""
    one = np.lib.stride_tricks.as_strided(np.array([5], "i4"), (1000, 3), (0, 0))
    none = np.empty((2**40, 0, 3), "u1")
    for a in (one, none, np.broadcast_to(np.float32(2), (4, 5))):
        for name in ("sort", "histogram", "unique"):
            as_numpy(name, a)
