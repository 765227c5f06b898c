# SPDX-License-Identifier: Apache-2.0
"""min, max, minmax, argmin, argmax, count_nonzero, average and lexsort beside NumPy's."""

import math
import warnings

import numpy as np
import pytest

import masu

RNG = np.random.default_rng(452)
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
NAMES = ["min", "max", "argmin", "argmax", "count_nonzero"]
DEVICES = [d.id for d in masu.devices() if d.usable]


def values(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        x = RNG.integers(-3, 4, shape).astype(dtype)
        return np.where(RNG.random(shape) < 0.2, -x * 0, x).astype(dtype)
    return RNG.integers(0, 2, shape).astype(dtype) if dtype.kind == "b" else RNG.integers(0, 50, shape).astype(dtype)


def same(found, expected):
    assert type(found) is type(expected) or np.ndim(expected) == 0 and np.asarray(found).dtype == np.asarray(expected).dtype
    assert np.shape(found) == np.shape(expected) and np.array_equal(found, expected, equal_nan=np.asarray(found).dtype.kind == "f")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limit", [0, 4096])
def test_numpys_results(name, dtype, limit, monkeypatch):
    monkeypatch.setattr(masu._small, "limit", limit)
    mine, numpys = getattr(masu, name), getattr(np, name)
    for n in (1, 2, 3, 31, 257, 5003):
        x = values(dtype, n)
        for given in (x, x[::-1], x[1:] if n > 1 else x, np.full(n, x[0]), x.astype(x.dtype.newbyteorder(">")), x.tolist()):
            same(mine(given), numpys(given))
        if x.dtype.kind == "f":
            x[n // 2:] = np.nan
            same(mine(x), numpys(x))
            same(mine(np.where(np.isnan(x), np.inf, x)), numpys(np.where(np.isnan(x), np.inf, x)))
    x = values(dtype, (7, 5, 11))
    for given in (x, x.T, x[:, ::2], np.asfortranarray(x)):
        for axis in (None, 0, 1, 2, -1):
            for keepdims in (False, True):
                same(mine(given, axis, keepdims=keepdims), numpys(given, axis, keepdims=keepdims))
        if name[:3] != "arg":
            for axis in ((0, 1), (1, 2), (2, 1), (0, 1, 2), ()):
                same(mine(given, axis), numpys(given, axis))
    if name[-2:] in ("in", "ax"):
        out = np.empty(x.shape[1:], np.intp if name[:3] == "arg" else dtype)
        assert mine(x, 0, out) is out and np.array_equal(out, numpys(x, 0))


def test_the_first_of_equals():
    zeros = np.array([0.0, -0.0, 1.0, -0.0], "f4")
    assert math.copysign(1, masu.min(zeros)) == 1 and math.copysign(1, masu.min(zeros[1:])) == -1
    payload = np.array([1, 0x7FF8000000000007, 0x7FF8000000000001], "u8").view("f8")
    assert masu.max(payload).view("u8") == 0x7FF8000000000007 == masu.min(payload).view("u8") and masu.argmin(payload) == 1
    both = masu.minmax(zeros)
    assert [float(one) for one in both] == [0, 1] and both[0].dtype == np.float32
    assert [one.tolist() for one in masu.minmax([[3, 1], [4, 9]], axis=1)] == [[1, 4], [3, 9]]
    assert [one.shape for one in masu.minmax(np.zeros((3, 4)), 0, keepdims=True)] == [(1, 4), (1, 4)]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8"])
def test_the_first_of_equals_in_every_layout(dtype):
    """NumPy's vectors find any of the zeros and NaNs, depending on the layout."""
    generator = np.random.default_rng(7)
    for turn in range(60):
        rows, columns = generator.integers(1, 130), generator.integers(1, 9)
        x = np.where(generator.random((rows, columns)) < 0.5, 0.0, -0.0).astype(dtype)
        if turn % 3:
            x[generator.random(x.shape) < 0.1] = np.copysign(np.nan if turn % 3 == 2 else 1, generator.random() - 0.5)
        for name in ("min", "max", "minmax"):
            for axis in (0, 1, (1, 0), None):
                lines = np.moveaxis(x, 0, -1) if axis == 0 else x if axis == 1 else x.reshape(1, -1)
                wanted = [each(line, name) for line in lines]
                for laid in (x, np.asfortranarray(x), np.repeat(x, 2, -1)[:, ::2], x[::-1][::-1]):
                    found = np.moveaxis(np.atleast_2d(getattr(masu, name)(laid, axis)), 0, -1) if name == "minmax" else getattr(masu, name)(laid, axis)
                    assert np.asarray(found).tobytes() == np.array(wanted, np.dtype(dtype).newbyteorder("=")).reshape(np.shape(found)).tobytes(), (name, axis)


def each(line, name):
    """The extreme of a line by Python alone: the first NaN, or the first of the least or the greatest."""
    if name == "minmax":
        return [each(line, "min"), each(line, "max")]
    nans = np.flatnonzero(np.isnan(line))
    return line[nans[0]] if nans.size else (min if name == "min" else max)(line, key=float)


def test_what_is_numpys():
    x = np.array([3, 1, 2])
    assert masu.min(x, initial=0) == 0 and masu.max(x, where=[False, True, True], initial=-1) == 2
    assert masu.min(np.array([3, 1], object)) == 1 and masu.max(3) == 3 and masu.argmax(np.array(["b", "a"])) == 0
    assert masu.count_nonzero(["", "a"]) == 1 and masu.count_nonzero([]) == 0 and masu.max(np.array([1 + 2j, 3])) == 3
    assert masu.min(np.ma.array([1, 2], mask=[1, 0])) == 2
    for name in NAMES[:4]:
        for given, axis in (([], None), (x, 1), (x, -2), (np.zeros((0, 3)), 0)):
            with pytest.raises(ValueError) as mine:
                getattr(masu, name)(given, axis)
            with pytest.raises(ValueError) as numpys:
                getattr(np, name)(given, axis)
            assert str(mine.value) == str(numpys.value)
    with pytest.raises(TypeError):
        masu.argmin(x, (0,))
    with pytest.raises(TypeError):
        masu.min(x, 1.5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_on_a_device(device, dtype):
    x = values(dtype, (6, 5, 70))
    there = masu.to_device(x, device)
    for name in NAMES:
        mine, numpys = getattr(masu, name), getattr(np, name)
        for axis in (None, 0, 1, -1) + (() if name[:3] == "arg" else ((0, 2),)):
            for keepdims in (False, True):
                found, expected = mine(there, axis, keepdims=keepdims), numpys(x, axis, keepdims=keepdims)
                assert isinstance(found, masu.DeviceArray) and found.get().dtype == np.asarray(expected).dtype
                assert np.array_equal(found.get(), expected) and found.shape == np.shape(expected)
    least, greatest = masu.minmax(there, axis=1)
    assert np.array_equal(least.get(), x.min(1)) and np.array_equal(greatest.get(), x.max(1))
    with pytest.raises(TypeError):
        masu.min(there, initial=1)
    with pytest.raises(ValueError):
        masu.min(masu.to_device(np.zeros(0, dtype), device))


@pytest.mark.parametrize("device", [None, *DEVICES])
@pytest.mark.parametrize("dtype", ["?", "u1", "f2", "i4", "f8"])
def test_chosen_elements(device, dtype):
    x = values(dtype, (4, 5, 6))

    def there(array):
        return array if device is None else masu.to_device(np.ascontiguousarray(array), device)

    def here(found):
        assert isinstance(found, np.ndarray) or device is not None and isinstance(found, masu.DeviceArray) or np.ndim(found) == 0
        return np.asarray(found.get() if isinstance(found, masu.DeviceArray) else found)

    for axis in (None, 0, 1, -1):
        for indices in ([2, 0, -1], 3, [[1, 2], [3, 3]], np.array([], np.intp), np.uint8([1])):
            same(here(masu.take(there(x), indices, axis)), np.asarray(np.take(x, indices, axis)))
        for mode in ("wrap", "clip"):
            same(here(masu.take(there(x), [-9, 99, 1], axis, mode=mode)), np.take(x, [-9, 99, 1], axis, mode=mode))
        for condition in ([True, False, True], np.zeros(3, bool), [0, 2]):
            same(here(masu.compress(condition, there(x), axis)), np.compress(condition, x, axis))
        for call in (lambda: masu.take(there(x), [500], axis), lambda: masu.compress(np.ones(500, bool), there(x), axis)):
            with pytest.raises(IndexError):
                call()
    with pytest.raises(ValueError, match="1-d"):
        masu.compress([[True]], there(x))
    line = np.ascontiguousarray(x[0, 0])
    same(here(masu.take(there(line), there(np.array([5, 0, 1])))), line[[5, 0, 1]])
    same(here(masu.compress(there(line > 0), there(line))), line[line > 0])


def test_averages():
    x, w = RNG.normal(size=1000) * 10.0 ** RNG.integers(-9, 9, 1000), RNG.random(1000)
    assert masu.average(x) == masu.mean(x) and masu.average(x.reshape(10, 100), 1).tolist() == masu.mean(x.reshape(10, 100), 1).tolist()
    found, total = masu.average(x, weights=w, returned=True)
    assert total == math.fsum(w) and found == masu.dot(x, w) / total and masu.average(x, weights=w) == found
    assert masu.average(x.reshape(10, 100), weights=w.reshape(10, 100)) == found
    assert masu.average([1e100, 3.0, -1e100], weights=[1.0, 2.0, 1.0]) == 1.5
    for given in ((x.reshape(10, 100), 0, w[:10]), (np.arange(5), None, np.arange(5)), ([1, 2], None, [3, 4])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", masu.Fallback)
            assert np.array_equal(masu.average(*given), np.average(*given))
    for wrong in ((x, None, w[:3]), (x, None, np.zeros(1000)), (x, 1)):
        with pytest.raises(Exception) as mine:
            masu.average(*wrong)
        with pytest.raises(Exception) as numpys:
            np.average(*wrong)
        assert type(mine.value) is type(numpys.value)
    with pytest.warns(masu.Fallback):
        warnings.simplefilter("always", masu.Fallback)
        masu.average(x.reshape(10, 100), 0, w[:10])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weights", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_dtypes_of_averages(dtype, weights):
    x, by = np.array([1, 0, 1, 1], dtype), np.array([1, 1, 0, 1], weights)
    for returned in (False, True):
        found, wanted = (np.array(f(x, weights=by, returned=returned)) for f in (masu.average, np.average))
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)


def test_takes_of_no_elements():
    for shape, axis, indices in (((0, 3, 0), 1, [3, -1]), ((2, 0), 0, [5]), ((0,), 0, np.empty(0, int))):
        found = masu.take(np.zeros(shape), indices, axis, mode="wrap")
        assert found.shape == (*shape[:axis], *np.shape(indices), *shape[axis + 1:])
    for shape, axis in (((0, 3), 0), ((0,), None), ((0, 3), 5)):
        for mode in ("raise", "wrap", "clip"):
            with pytest.raises(IndexError):
                masu.take(np.zeros(shape), [1, 2], axis, mode=mode)


@pytest.mark.parametrize("dtype", [*DTYPES, "U2", "c8"])
def test_orders_by_several_keys(dtype):
    keys = [values("u1", 1000) % 5, values("f4", 1000), values(dtype if dtype[0] not in "Uc" else "u1", 1000).astype(dtype)]
    for given in (keys, keys[::-1], tuple(keys), [key.reshape(10, 100) for key in keys], [keys[0]]):
        for axis in {0, -1}:
            assert np.array_equal(masu.lexsort(given, axis), np.lexsort(given, axis))
    several = np.array([keys[0], keys[0][::-1]])
    assert np.array_equal(masu.lexsort(several), np.lexsort(several)) and masu.lexsort(several).dtype == np.intp
    for wrong in ((), np.array(3), ([1, 2], [1])):
        with pytest.raises((TypeError, ValueError)) as numpys:
            np.lexsort(wrong)
        with pytest.raises(type(numpys.value)):
            masu.lexsort(wrong)
