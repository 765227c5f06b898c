# SPDX-License-Identifier: Apache-2.0
"""Plain calls, which are compiled, beside the functions in Python that all other calls go to, and beside NumPy's."""
import copy
import inspect
import pickle

import numpy as np
import pytest

import masu
from masu import _small

DTYPES = "?bBhHiIlLqQefd"
COMPILED = (masu.sort, masu.argsort, masu.partition, masu.argpartition, masu.topk, masu.unique, masu.bincount, masu.digitize,
            masu.searchsorted, masu.sum, masu.cumsum, masu.dot, masu.mean, masu.var, masu.std)


@pytest.fixture(autouse=True, params=[0, 4096])
def limit(request, monkeypatch):
    monkeypatch.setattr(_small, "limit", request.param)


def same(got, want):
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            same(one, other)
        return
    assert type(got) is type(want)
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert got.tobytes() == want.tobytes() or np.array_equal(got, want, equal_nan=got.dtype.kind == "f")


def data(dtype, rng, shape):
    if dtype in "efd":
        x = rng.standard_normal(shape).astype(dtype)
        x.ravel()[:: 7] = 0
        return x
    if dtype == "?":
        return rng.random(shape) < 0.3
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def forms(dtype, rng):
    """Arrays that are plain, and such that are not."""
    for count in (1, 2, 15, 63, 100, 700, 3000, 5000, 20000):
        yield data(dtype, rng, count)
    yield data(dtype, rng, (3, 5))
    yield data(dtype, rng, (3, 2, 1))
    yield data(dtype, rng, (40, 100))
    yield data(dtype, rng, (4, 3, 50))
    yield data(dtype, rng, 300)[::3]
    yield data(dtype, rng, 300)[::-1]
    yield data(dtype, rng, (30, 20)).T
    yield data(dtype, rng, 200).astype(np.dtype(dtype).newbyteorder())
    fixed = data(dtype, rng, 100)
    fixed.flags.writeable = False
    yield fixed
    memory = np.zeros(801, "u1")
    size = np.dtype(dtype).itemsize
    askew = memory[1:1 + 100 * size].view(dtype)
    askew[:] = data(dtype, rng, 100)
    yield askew
    if dtype in "efd":
        special = data(dtype, rng, 200)
        special[3], special[50], special[51] = np.nan, -0.0, -np.inf
        yield special
        yield np.where(rng.random(6000) < 0.3, -0.0, 0.0).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sorts_and_their_kin(dtype):
    for x in forms(dtype, np.random.default_rng(1)):
        before = x.copy()
        for axis in (-1, 0, None):
            order = np.argsort(x, axis, "stable")
            line = x.ravel() if axis is None else x
            want = np.take_along_axis(line, order, -1 if axis is None else axis)
            for options in ({}, {"kind": "stable"}, {"kind": "quicksort"}, {"stable": True}, {"stable": False}):
                same(masu.argsort(x, axis, **options), order)
                same(masu.sort(x, axis=axis, **options), want)
        line = np.sort(x, -1, "stable")
        k = x.shape[-1] // 2
        for kth in (k, [k], (0, k), np.array([k, -1]), k - x.shape[-1]):
            parted = masu.partition(x, kth)
            same(parted, masu.partition.__wrapped__(x, kth))
            places = np.atleast_1d(kth)
            np.testing.assert_array_equal(parted[..., places], line[..., places])
            same(masu.argpartition(x, kth), masu.argpartition.__wrapped__(x, kth))
        for axis in (0, None):
            same(masu.partition(x, 0, axis), masu.partition.__wrapped__(x, 0, axis))
            same(masu.argpartition(x, 0, axis), masu.argpartition.__wrapped__(x, 0, axis))
        for largest in (True, False):
            found = masu.topk(x, k + 1 if k + 1 <= x.shape[-1] else 1, largest=largest)
            assert type(found) is masu.TopK
            same(tuple(found), tuple(masu.topk.__wrapped__(x, found.values.shape[-1], largest=largest)))
            for axis in range(-x.ndim, x.ndim):
                same(tuple(masu.topk(x, 1, axis, largest=largest)), tuple(masu.topk.__wrapped__(x, 1, axis, largest=largest)))
        same(masu.unique(x), np.unique(x))
        same(masu.unique(x, True, return_counts=True), np.unique(x, True, return_counts=True))
        same(x, before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_means_and_products(dtype):
    for x in forms(dtype, np.random.default_rng(2)):
        for axis in (None, -1, 0):
            same(masu.mean(x, axis), masu.mean.__wrapped__(x, axis))
            for ddof in (0, 1):
                if ddof < (x.size if axis is None else x.shape[axis]):
                    same(masu.var(x, axis, ddof=ddof), masu.var.__wrapped__(x, axis, ddof=ddof))
                    same(masu.std(x, axis, ddof=ddof), masu.std.__wrapped__(x, axis, ddof=ddof))
            for options in ({}, {"keepdims": True}, {"keepdims": False}):
                same(masu.sum(x, axis, **options), masu.sum.__wrapped__(x, axis, **options))
                same(masu.mean(x, axis, **options), masu.mean.__wrapped__(x, axis, **options))
                same(masu.std(x, axis, **options), masu.std.__wrapped__(x, axis, **options))
        for options in ({"where": x > 0}, {"where": x != x}, {"where": True}, {"initial": 3}, {"keepdims": True, "initial": 0}):
            same(masu.sum(x, **options), masu.sum.__wrapped__(x, **options))
        if x.ndim == 1:
            y = x[::-1].copy()
            same(masu.dot(x, y), masu.dot.__wrapped__(x, y))
            same(masu.dot(x, y.astype("d")), masu.dot.__wrapped__(x, y.astype("d")))
        elif x.ndim == 2 and x.dtype.kind in "iu":
            same(masu.dot(x, x.T.copy()), np.dot(x, x.T.copy()))


@pytest.mark.parametrize("dtype", "bBhHiIlLqQefd")
def test_counts(dtype):
    rng = np.random.default_rng(3)
    for count in (0, 1, 100, 5000, 20000):
        x = rng.integers(0, 100, count).astype(dtype)
        edges = np.unique(rng.integers(0, 100, 20)).astype(dtype)
        for right in (False, True):
            same(masu.digitize(x, edges, right), np.digitize(x, edges, right))
            same(masu.digitize(x, edges.tolist()[::-1], right=right), np.digitize(x, edges.tolist()[::-1], right=right))
        if np.can_cast(dtype, np.intp):
            weights = rng.integers(-9, 9, count).astype("d")
            same(masu.bincount(x), np.bincount(x))
            same(masu.bincount(x, minlength=200), np.bincount(x, minlength=200))
            same(masu.bincount(x, weights), np.bincount(x, weights))
            same(masu.bincount(x, weights=weights, minlength=3), np.bincount(x, weights=weights, minlength=3))


@pytest.mark.parametrize("dtype", DTYPES)
def test_places_in_sorted_data(dtype):
    rng = np.random.default_rng(4)
    x = np.sort(data(dtype, rng, 50))
    for sought in (x[7], x[7].item(), 0, 0.5, x[::-3], x.reshape(5, 10), data(dtype, rng, 6000)):
        for options in ({}, {"side": "right"}, {"sorter": np.arange(50)}):
            same(masu.searchsorted(x, sought, **options), np.searchsorted(x, sought, **options))
            same(masu.searchsorted.__wrapped__(x, sought, **options), np.searchsorted(x, sought, **options))


def test_errors_are_numpys():
    x = np.arange(5.0)
    calls = [
        lambda m: m.sort(x, 2), lambda m: m.sort(x, axis="a"), lambda m: m.sort(x, kind="none"), lambda m: m.sort(),
        lambda m: m.sort(x, order="f"), lambda m: m.sort(x, kind="stable", stable=True), lambda m: m.sort(np.float64(1)),
        lambda m: m.argsort(x, -2), lambda m: m.partition(x, 5), lambda m: m.partition(x, -6), lambda m: m.partition(x),
        lambda m: m.partition(x, [1.5]), lambda m: m.argpartition(x, 1, 3), lambda m: m.partition(x, 1, kind="other"),
        lambda m: m.dot(x, x[1:]), lambda m: m.dot(x), lambda m: m.mean(x, 1), lambda m: m.var(x, 1, ddof="a"),
        lambda m: m.bincount(x), lambda m: m.bincount(np.array([-1])), lambda m: m.bincount(x=np.array([1])),
        lambda m: m.bincount(np.array([1]), minlength=-1), lambda m: m.digitize(x, [1, 3, 2]), lambda m: m.unique(x, nothing=1),
        lambda m: m.sort(x, axis=0, a=x), lambda m: m.mean(x, 0, axis=0),
    ]
    for call in calls:
        with pytest.raises(Exception) as theirs:
            call(np)
        with pytest.raises(theirs.type):
            call(masu)


def test_the_default_device_is_heeded(monkeypatch):
    monkeypatch.setenv("MASU_DEVICE", "nothing:7")
    x = np.arange(30000.0)
    for call in (masu.mean, masu.var, masu.std, lambda a: masu.dot(a, a), lambda a: masu.partition(a, 5)):
        with pytest.raises((ValueError, TypeError), match="nothing:7"):
            call(x)


def test_they_are_functions_to_their_users():
    for function in COMPILED:
        assert inspect.signature(function) == inspect.signature(function.__wrapped__)
        assert callable(function) and inspect.isroutine(function)
        assert function.__doc__ and function.__name__ in repr(function)
        assert function.__module__.startswith("masu.")
        assert pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function
        assert getattr(type("Holder", (), {"function": function})(), "function") is function
    with pytest.raises(TypeError):
        type(masu.sort)()
    with pytest.raises(ValueError, match="nothing"):
        masu._masu.with_plain_calls(type("F", (), {"__name__": "nothing"})())


def test_subclasses_are_no_plain_arrays():
    class Named(np.ndarray):
        pass

    x = np.arange(20.0)[::-1].view(Named)
    assert type(masu.sort(x)) is Named and type(masu.partition(x, 3)) is Named
    masked = np.ma.array([3.0, 1.0, 2.0], mask=[0, 1, 0])
    assert np.ma.is_masked(masu.sort(masked))
    with pytest.warns(masu.Fallback):
        assert masu.mean(masked) == 2.5


@pytest.mark.parametrize("dtype", "fd")
def test_reductions_of_many_columns(dtype):
    x = data(dtype, np.random.default_rng(6), (400, 300))
    for function in (masu.sum, masu.mean, masu.var):
        same(function(x, axis=0), np.array([function(x[:, i].copy()) for i in range(300)]))
        same(function(x, axis=0, keepdims=True), function(x, axis=0)[np.newaxis])
        same(function(x.reshape(20, 20, 300), axis=1), np.array([function(part, axis=0) for part in x.reshape(20, 20, 300)]))


def test_calls_that_are_refused_before_numpy():
    """NumPy (2.4.6) does not check every call of this kind, and may damage its memory. It does check these."""
    most = 2**62 + 12345
    one = np.array([0, most])
    for x in (one, one.astype("u8"), one[::-1], np.repeat(one, 3)[::2], one.astype(">i8"), [most], (1, most), [most, 0.5],
              np.arange(20000) * 0 + most, np.ma.array([1, most], mask=[0, 1])):
        for weights in (None, np.ones(len(x)), np.ones(len(x), int), np.ones(len(x), bool)):
            with pytest.raises(ValueError, match="array is too big"):
                masu.bincount(x, weights)
    with pytest.raises(ValueError, match="array is too big"):
        masu.bincount(np.array([most - 1]))
    for x in (np.arange(3.0), np.arange(3), [1, 2], np.ones(20000), np.ones(3, complex)):
        for axis in (None, 0):
            with pytest.raises(ValueError, match="wrong size for the accumulation"):
                masu.cumsum(x, axis, out=np.empty(4, np.result_type(np.asarray(x), float)))
