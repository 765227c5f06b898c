# SPDX-License-Identifier: Apache-2.0
"""topk of lines with lengths, indices of int32 and `sorted`, on the host and on every device, against NumPy's stable order."""
import numpy as np
import pytest

import masu

NAMES = [info.id for info in masu.devices() if info.usable]
random = np.random.default_rng(9)


def numbers(dtype, *shape):
    """Few values, so that many are equal; floats with NaNs and zeros of both signs."""
    found = random.integers(-3, 12, shape)
    if np.dtype(dtype).kind != "f":
        return found.astype("i8").astype(dtype)
    found = np.asarray(found / 2, dtype)
    found[found == -1.5] = -0.0
    found[found == 5] = np.nan
    return found


def last(dtype, largest):
    """The number that stands where there is no element."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return -np.inf if largest else np.inf
    if dtype.kind == "b":
        return not largest
    return np.iinfo(dtype).min if largest else np.iinfo(dtype).max


def expected(a, k, axis, lengths, largest):
    lines = np.moveaxis(a, axis, -1)
    values = np.full((*lines.shape[:-1], k), last(a.dtype, largest), a.dtype)
    indices = np.full(values.shape, -1, np.intp)
    for place in np.ndindex(lines.shape[:-1]):
        line = lines[place][:max(int(lengths[place]), 0)]
        key = np.searchsorted(np.sort(line), line).astype(np.intp)  # equals share a place
        order = np.argsort(-key if largest else key, kind="stable")[:k]
        values[place][:order.size], indices[place][:order.size] = line[order], order
    return np.moveaxis(values, -1, axis), np.moveaxis(indices, -1, axis)


def same(found, want):
    assert type(found) is masu.TopK
    for one, other in zip(found, want):
        one = one.get() if isinstance(one, masu.DeviceArray) else one
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("device", [None, *NAMES])
@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u8", "f2", "f4", "f8"])
def test_lengths(dtype, device):
    if device not in (None, "cpu") and dtype not in ("?", "f4"):  # compiling kernels takes minutes
        pytest.skip("one dtype of 4 bytes and truth values there")
    for shape, axis in (((7, 9), 1), ((9, 7), 0), ((3, 9, 2), 1), ((9,), 0)):
        a = numbers(dtype, *shape)
        given = a if device is None else masu.to_device(a, device)
        others = a.shape[:axis] + a.shape[axis + 1:]
        for kind in ("i8", "u4", "i1") if dtype == "f4" else ("i4",):
            lengths = np.asarray(random.integers(0 if kind == "u4" else -1, 12, others), kind)
            for k in (1, 4, 9):
                for largest in (True, False):
                    want = expected(a, k, axis, lengths, largest)
                    same(masu.topk(given, k, axis, largest=largest, lengths=lengths), want)
            if device is not None:
                there = masu.to_device(lengths, device)
                same(masu.topk(given, k, axis, largest=False, lengths=there), want)
                same(masu.topk(given, k, axis, largest=False, lengths=there, index_dtype="i4"), (want[0], want[1].astype("i4")))


def test_lengths_in_any_shape_of_memory():
    a = numbers("f4", 6, 20)
    lengths = random.integers(-2, 23, (6, 2))
    want = expected(a, 5, 1, lengths[:, 0], True)
    for given in (lengths[:, 0], lengths[:, 0].astype(">i8"), lengths[:, 0].tolist(), lengths[:, 0].astype("i2")):
        same(masu.topk(a, 5, lengths=given), want)
    same(masu.topk(a[0], 5, lengths=3), expected(a[0], 5, 0, np.array(3), True))
    same(masu.topk(a, 5, None, lengths=33), expected(a.reshape(-1), 5, 0, np.array(33), True))
    same(masu.topk(a, 5, lengths=lengths[:, 0], device="cpu"), want)
    into = masu.TopK(np.empty_like(want[0]), np.empty(want[1].shape, "i4"))
    found = masu.topk(a, 5, lengths=lengths[:, 0], index_dtype=np.int32, out=into)
    assert found.values is into.values and found.indices is into.indices
    same(found, (want[0], want[1].astype("i4")))


def test_whole_lines():
    a = numbers("f8", 30, 50)
    whole = masu.topk(a, 7)
    for dtype in (np.int32, "int32", np.dtype("i4")):
        same(masu.topk(a, 7, index_dtype=dtype, sorted=False), (whole.values, whole.indices.astype("i4")))
    same(masu.topk(a, 7, index_dtype=np.int64, lengths=np.full(30, 50)), whole)
    same(masu.topk(np.empty((0, 4)), 2, lengths=np.empty(0, int)), (np.empty((0, 2)), np.empty((0, 2), np.intp)))


def test_bad_input():
    a = numbers("f4", 4, 9)
    for wrong in ([1, 2, 3], 5, np.ones((4, 1), int), np.ones((1, 4), int)):
        with pytest.raises(ValueError, match=r"topk: lengths must have the shape \(4,\), got"):
            masu.topk(a, 2, lengths=wrong)
    for wrong in ([1.0, 2, 3, 4], [True] * 4, ["1"] * 4, np.zeros(4, "m8[s]")):
        with pytest.raises(TypeError, match="topk: lengths must be integers, got"):
            masu.topk(a, 2, lengths=wrong)
    for wrong in ("f4", "u4", np.int16, bool):
        with pytest.raises(TypeError, match="topk: index_dtype must be int32 or int64, got"):
            masu.topk(a, 2, index_dtype=wrong)
    with pytest.raises(ValueError, match="topk: k must be from 1 to 9"):
        masu.topk(a, 10, lengths=[9] * 4)
    with pytest.raises(ValueError, match="mask"):
        masu.topk(a, 2, lengths=np.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0]))
    with pytest.raises(TypeError, match="topk: out must have the dtype int32"):
        masu.topk(a, 2, index_dtype="i4", out=(np.empty((4, 2), "f4"), np.empty((4, 2), np.intp)))
    if NAMES[-1] != "cpu":
        with pytest.raises(ValueError, match="topk: lengths of host data must lie on"):
            masu.topk(a, 2, lengths=masu.to_device(np.ones(4, int), NAMES[-1]))
