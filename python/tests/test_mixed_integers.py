# SPDX-License-Identifier: Apache-2.0
"""int64 beside uint64: NumPy compares them as float64, which does not tell integers beyond 2^53 apart; masu compares integers."""
import bisect

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


def test_numpy_rounds():
    """Where this fails, NumPy (issue 29727) compares integers too, and the list in docs/coming-from-numpy.md is to be changed."""
    assert np.searchsorted(np.array([2**53, 2**53 + 1], "u8"), np.array([2**53 + 1])) == 0
