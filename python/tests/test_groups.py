# SPDX-License-Identifier: Apache-2.0
"""Groups of ids beside NumPy's bincount and stable argsort."""
import numpy as np
import pytest

import masu

DEVICES = [one.id for one in masu.devices() if one.usable]


def same_as_numpy(ids, n, **options):
    found = masu.group(ids, n, **options)
    flat = np.asarray(ids).reshape(-1)
    counts = np.bincount(flat, minlength=n) if flat.size else np.zeros(n, np.intp)
    assert type(found) is masu.Groups
    for got, want in zip(found, (counts, np.concatenate(([0], np.cumsum(counts))), np.argsort(flat, kind="stable"))):
        assert got.dtype == np.intp and np.array_equal(got, want)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", ">i4"])
def test_dtypes(dtype):
    rng = np.random.default_rng(1)
    for n in (1, 2, 100, 127):
        same_as_numpy(rng.integers(0, n, 5003).astype(dtype), n)
    same_as_numpy(rng.integers(0, 100, (30, 20)).astype(dtype), 1000)  # of any shape, and not contiguous
    same_as_numpy(rng.integers(0, 100, (30, 20)).astype(dtype).T[::2], 100)


@pytest.mark.parametrize("device", DEVICES)
def test_devices(device):
    rng = np.random.default_rng(2)
    for count in (0, 1, 1000, 70001):
        for n in (1, 255, 256, 65537):
            same_as_numpy(rng.integers(0, n, count), n, device=device)
    ids = rng.integers(0, 8, 1000)
    there = masu.group(masu.to_device(ids, device), 8)
    for got, want in zip(there, masu.group(ids, 8)):
        assert type(got) is masu.DeviceArray and np.array_equal(got.get(), want)
    assert [one.shape for one in masu.group(masu.to_device(ids[:0], device), 8)] == [(8,), (9,), (0,)]
    with pytest.raises(ValueError, match="group: ids must be from 0 to 6, got 7 at position"):
        masu.group(masu.to_device(ids, device), 7)


def test_lists():
    same_as_numpy([2, 0, 2, 1], 4)
    assert [one.tolist() for one in masu.group([], 2)] == [[0, 0], [0, 0, 0], []]


def test_what_is_refused():
    for ids, n, error, text in (
        ([0, 3], 3, ValueError, "group: ids must be from 0 to 2, got 3 at position 1"),
        ([0, -1], 3, ValueError, "got -1 at position 1"),
        ([0.0], 3, TypeError, "group: ids must be integers, got float64"),
        ([True], 3, TypeError, "group: ids must be integers, got bool"),
        ([0], 0, ValueError, "group: n must be from 1 to 2\\^32, got 0"),
        ([0], 2**32 + 1, ValueError, "got 4294967297"),
        ([0], 1.0, TypeError, "group: n must be an integer, got float"),
        ([0], True, TypeError, "got bool"),
        (np.ma.array([0, 1], mask=[0, 1]), 2, ValueError, "masked"),
    ):
        with pytest.raises(error, match=text):
            masu.group(ids, n)


def exact(segment, dtype):
    if dtype.kind == "f":
        return masu.sum(segment, dtype=dtype) if segment.size else dtype.type(0)
    return np.sum(segment, dtype=np.int64 if dtype.kind == "i" else np.uint64)


@pytest.mark.parametrize("device", [None, *DEVICES])
@pytest.mark.parametrize("dtype", ["u1", "i4", "u8", "f2", "f4", "f8"])
def test_segments(dtype, device):
    rng = np.random.default_rng(3)
    values = (rng.standard_normal(20011) * 1000).astype(dtype)
    groups = masu.group(rng.integers(0, 300, values.size), 301)
    for data, offsets in ((values[groups.order], groups.offsets), (values, [0, 0, 1, 20011]), (values, [7]), (values[:0], [0, 0])):
        want = [exact(data[a:b], data.dtype) for a, b in zip(offsets[:-1], offsets[1:])]
        there = data if device is None else masu.to_device(data, device)
        found = masu.segment_sum(there, offsets)
        found = found if device is None else found.get()
        assert found.dtype == (np.array(want).dtype if want else found.dtype) and found.tolist() == [one.item() for one in want]


def test_bad_segments():
    for a, offsets, error, text in (
        ([1.0, 2.0], [0, 3], ValueError, "offsets must be non-decreasing and at most 2, got 3 after 0"),
        ([1.0, 2.0], [1, 0], ValueError, "got 0 after 1"),
        ([1.0, 2.0], [0, -1], ValueError, "offsets must not be negative, got -1"),
        ([1.0, 2.0], [0.0, 1.0], TypeError, "offsets must be integers, got float64"),
        ([True], [0, 1], TypeError, "got bool"),
        ([[1.0]], [0, 1], ValueError, "one dimension"),
        ([1.0], [], (TypeError, ValueError), "segment_sum: "),
    ):
        with pytest.raises(error, match=text):
            masu.segment_sum(a, offsets)
    assert masu.segment_sum(np.full(2, 2**62), [0, 2]).tolist() == [-(2**63)]


def test_dask_is_refused():
    array = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="group: dask.array.* convert it with numpy.asarray first"):
        masu.group(array.zeros(3, int), 2)
