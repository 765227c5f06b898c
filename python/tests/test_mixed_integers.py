# SPDX-License-Identifier: Apache-2.0
"""int64 beside uint64: NumPy compares them as float64, which does not tell integers beyond 2^53 apart; masu compares integers."""
import bisect
import importlib

import numpy as np
import pytest

import masu

EXACT = 2**53
SIGNED = [-(2**63), -(2**53) - 1, -(2**53), -1, 0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**62 + 1, 2**63 - 2, 2**63 - 1]
UNSIGNED = [0, 0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
PAIRS = [(np.array(SIGNED), np.array(UNSIGNED, "u8")), (np.array(UNSIGNED, "u8"), np.array(SIGNED)),
         (np.array(UNSIGNED, "u8"), np.array([-128, -1, 0, 1, 127], "i1")), (np.array([-5, 0, 2**31 - 1], "i4"), np.array(UNSIGNED, "u8"))]
DEVICES = [info.id for info in masu.devices() if info.usable and info.kind in ("cpu", "opencl")]


@pytest.fixture(autouse=True, params=[0, 4096], ids=["masu", "small"])
def limit(request, monkeypatch):
    monkeypatch.setattr(masu._small, "limit", request.param)


def _module(name):
    """A module, None where it or what it needs is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def places(a, v, side):
    search = bisect.bisect_left if side == "left" else bisect.bisect_right
    return [search(a.tolist(), one) for one in v.reshape(-1).tolist()]


@pytest.mark.parametrize("device", [None, *DEVICES])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("a, v", PAIRS)
def test_searchsorted(a, v, side, device):
    want = places(a, v, side)
    assert masu.searchsorted(a, v, side, device=device).tolist() == want
    assert masu.searchsorted(a, v.astype(v.dtype.newbyteorder(">")), side, device=device).tolist() == want
    assert masu.searchsorted(a[::-1], v, side, np.arange(a.size)[::-1], device=device).tolist() == want
    two = np.stack([v, v])
    assert masu.searchsorted(a, two, side, device=device).tolist() == [want, want]
    many = np.tile(v, 1000)
    assert masu.searchsorted(a, many, side, device=device).tolist() == want * 1000
    out = np.empty(v.size, np.intp)
    assert masu.searchsorted(a, v, side, out=out, device=device) is out and out.tolist() == want
    for one, place in zip(v, want):
        found = masu.searchsorted(a, one, side, device=device)
        assert type(found) is np.intp and found == place


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("a, v", [*PAIRS, (np.array([1, 5], "i2"), np.array([-(10**6), 5, 10**6])), (np.array([1, 5], "u1"), np.array([300, 5, -1]))])
def test_searchsorted_on_a_device(a, v, side, device):
    there = masu.to_device(a, device)
    for given in (v, v.tolist(), v.reshape(1, -1)) if np.asarray(v.tolist()).dtype.kind != "f" else (v,):
        found = masu.searchsorted(there, given, side)
        assert found.get().reshape(-1).tolist() == places(a, v, side) and found.shape == np.shape(given)
    assert masu.searchsorted(there, int(v[-1]), side).get() == places(a, v[-1:], side)[0]


def test_keys_of_python():
    data = np.array([2**53, 2**53 + 1], "u8")
    for given in (data, data.astype("i8")):
        assert masu.searchsorted(given, 2**53 + 1) == 1 and masu.searchsorted(given, [2**53], "right").tolist() == [1]
        assert masu.searchsorted(given, 2**63) == 2 and masu.searchsorted(given, -1) == 0
        assert masu.searchsorted(given, np.uint64(2**53 + 1)) == masu.searchsorted(given, np.int64(2**53 + 1)) == 1
    assert masu.searchsorted(data.tolist(), data).tolist() == [0, 1]


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("edges, x", PAIRS)
def test_digitize(edges, x, right):
    want = places(edges, x, "left" if right else "right")
    assert masu.digitize(x, edges, right).tolist() == want
    if np.asarray(edges.tolist()).dtype.kind != "f":  # as which NumPy takes a list with numbers beyond int64
        assert masu.digitize(x, edges.tolist(), right).tolist() == want
    assert masu.digitize(np.tile(x, 1000), edges, right).tolist() == want * 1000
    assert masu.digitize(x, edges[::-1], right).tolist() == [edges.size - one for one in want]
    for one, place in zip(x, want):
        assert masu.digitize(one, edges, right) == place


def test_digitize_on_a_device():
    for one, other in (("u8", "i8"), ("i8", "u8")):
        there = masu.to_device(np.array([2**53, 2**53 + 1, 5], one), "cpu")
        assert masu.digitize(there, np.array([6, 2**53 + 1, 2**62], other)).get().tolist() == [1, 2, 0]


@pytest.mark.parametrize("edges, data", PAIRS)
def test_histogram(edges, data):
    want = [sum(low <= one < high or one == high == int(edges[-1]) and i == edges.size - 2 for one in data.tolist())
            for i, (low, high) in enumerate(zip(edges.tolist(), edges.tolist()[1:]))]
    weights = np.arange(data.size) + 0.5
    totals = [sum(w for one, w in zip(data.tolist(), weights) if low <= one < high or one == high == int(edges[-1]) and i == edges.size - 2)
              for i, (low, high) in enumerate(zip(edges.tolist(), edges.tolist()[1:]))]
    for given in (edges, edges.tolist()) if np.asarray(edges.tolist()).dtype.kind != "f" else (edges,):
        counts, found = masu.histogram(data, given)
        assert counts.tolist() == want and found.tolist() == edges.tolist() and found.dtype == np.asarray(given).dtype
        assert masu.histogram(np.tile(data, 1000), given)[0].tolist() == [1000 * one for one in want]
        assert masu.histogram(data.reshape(1, -1), given, weights=weights.reshape(1, -1))[0].tolist() == totals


def bin_of(edges, one):
    """The bin of an integer, None outside."""
    edges = [int(edge) for edge in edges]
    return None if not edges[0] <= one <= edges[-1] else min(bisect.bisect_right(edges, one), len(edges) - 1) - 1 if one < edges[-1] else len(edges) - 2


@pytest.mark.parametrize("edges, data", PAIRS)
def test_histograms_of_several_columns(edges, data):
    other = data[::-1]
    places = [(bin_of(edges, a), bin_of(edges, b)) for a, b in zip(data.tolist(), other.tolist())]
    weights = np.arange(data.size) + 0.5
    want, totals, one, mixed = np.zeros((4, edges.size - 1, edges.size - 1))
    for (i, k), weight, second in zip(places, weights, other.tolist()):
        if None not in (i, k):
            want[i, k] += 1
            totals[i, k] += weight
        if i is not None and 0 <= float(second) <= 2**63:
            one[i, int(second >= 2**62)] += 1
    points = np.stack([data, other], 1)
    frames = [pandas.DataFrame(points), [pandas.Series(data), pandas.Series(other)]] if (pandas := _module("pandas")) else []
    for sample in ([data, other], (data, other), points, np.asfortranarray(points), points.astype(points.dtype.newbyteorder()), *frames):
        counts, found = masu.histogramdd(sample, [edges, edges])
        assert counts.tolist() == want.tolist() and all(e.tolist() == edges.tolist() and e.dtype == edges.dtype for e in found)
        assert masu.histogramdd(sample, (edges, edges), weights=weights)[0].tolist() == totals.tolist()
        assert masu.histogramdd(sample, np.stack([edges, edges]))[0].tolist() == want.tolist()
        if edges.dtype == np.int64:
            halves = masu.histogramdd(sample, [edges, 2], [None, (0, 2**63)])
            assert halves[0].tolist() == one[:, :2].tolist() and halves[1][1].tolist() == [0, 2.0**62, 2.0**63]
    assert masu.histogram2d(data, other, [edges, edges], weights=weights)[0].tolist() == totals.tolist()
    if lazy := _module("masu.dask"):
        chunked = [_module("dask.array").from_array(one, chunks=5) for one in (data, other)]
        assert lazy.histogram2d(*chunked, [edges, edges])[0].compute().tolist() == want.tolist()
    assert masu.histogram2d(np.tile(data, 1000), np.tile(other, 1000), [edges, edges])[0].tolist() == (1000 * want).tolist()
    assert masu.histogramdd([data], [edges])[0].tolist() == masu.histogram(data, edges)[0].tolist()
    if (np.diff(edges) > 0).all() and want.any():
        density, found = masu.histogramdd(points, [edges, edges], density=True)
        assert density.tolist() == masu._joint.densities(want, [edges, edges]).tolist()
    if data.dtype.itemsize == 8:  # NumPy makes float64 of both columns
        beside = data.astype("i8") if data.dtype == np.uint64 else data.astype("u8")
        for (i, _), second in zip(places, beside.tolist()):
            k = bin_of(edges, second)
            if None not in (i, k):
                mixed[i, k] += 1
        assert masu.histogramdd([data, beside], [edges, edges])[0].tolist() == mixed.tolist()


def test_edges_of_several_columns_that_fall():
    data, falling = np.array([2**53, 2**53 + 1], "u8"), np.array([2**62, 0])
    with pytest.raises(ValueError, match="monotonically"):
        masu.histogram2d(data, data, [falling, falling])
