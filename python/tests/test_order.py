# SPDX-License-Identifier: Apache-2.0
"""masu's ordering functions beside NumPy's: the same bits, dtypes, shapes and errors."""
import doctest

import numpy as np
import pytest

import masu
from generators import outcome
from generators.quantile_rule import exact
from masu import _order, _quantile, _small

DTYPES = "?bBhHiIlLqQefd"
LENGTHS = (1, 2, 7, 100, 5000, 70000)
METHODS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
           "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest")


@pytest.fixture(autouse=True)
def no_limit(monkeypatch):
    """masu itself is tested, for arrays of every size."""
    monkeypatch.setattr(_small, "limit", 0)


def same(got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)


def same_bits(got, want):
    same(got, want)
    assert np.asarray(got).tobytes() == np.asarray(want).tobytes()


def data(dtype, length, specials=True):
    r = np.random.default_rng([ord(dtype), length])
    if dtype in "efd":
        a = ((r.random(length) - 0.5) * 200).astype(dtype)
        if specials and length > 50:
            a[::17] = np.nan
            a[1::17] = -np.nan
            a[2::5] = 0.0
            a[3::5] = -0.0
            a[4::97] = np.inf
        return a
    info = np.iinfo("u1" if dtype == "?" else dtype)
    return r.integers(info.min, info.max, length, np.uint8 if dtype == "?" else dtype, endpoint=True).astype(dtype)


def layouts(a):
    """The same kind of data in other strides and bytes."""
    return a, a[::-2] if a.size > 1 else a, a.astype(a.dtype.newbyteorder(">"))


def cube(dtype="d"):
    return data(dtype, 4 * 5 * 60, specials=False).reshape(4, 5, 60)


def cubes():
    a = cube()
    return a, np.asfortranarray(a), a[:, ::2, ::-3], a.T


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_and_argsort_are_the_stable_ones(dtype):
    for length in LENGTHS:
        for a in layouts(data(dtype, length)):
            # NumPy's own sorts leave the bits of NaNs and the order of both zeros open; the stable order does not.
            order = np.argsort(a, kind="stable")
            same_bits(masu.argsort(a), order)
            same_bits(masu.argsort(a, kind="stable"), order)
            same_bits(masu.sort(a), a[order])
            same(masu.sort(a, kind="heapsort"), np.sort(a))


def descending(a):
    """The stable order from the greatest to the least, NaN last."""
    key = np.searchsorted(np.sort(a), a).astype(np.intp)  # equals share a place
    return np.argsort(np.where(a != a, a.size, -key), kind="stable")


@pytest.mark.parametrize("dtype", DTYPES)
def test_descending(dtype):
    for length in LENGTHS:
        for a in layouts(data(dtype, length)):
            order = descending(a)
            for keywords in ({"descending": True}, {"descending": True, "stable": True}):
                same_bits(masu.argsort(a, **keywords), order)
                same_bits(masu.sort(a, **keywords), a[order])
            for no in (False, None, np._NoValue):
                same_bits(masu.sort(a, descending=no), masu.sort(a))
                same_bits(masu.argsort(a, descending=no), masu.argsort(a))
    rows = data(dtype, 2000).reshape(20, 100)
    for axis in (0, 1, None):
        lines = rows.reshape(1, -1) if axis is None else rows if axis else rows.T
        order = np.array([descending(line) for line in lines])
        want = np.take_along_axis(lines, order, 1)
        same_bits(masu.sort(rows, axis, descending=True), want.ravel() if axis is None else want if axis else want.T)
        order = order.ravel() if axis is None else order if axis else order.T
        same_bits(masu.argsort(rows, axis, descending=True), order)
    all_nan = np.full(99, np.nan)
    same_bits(masu.argsort(all_nan, descending=True), np.arange(99))


def test_descending_beside_numpys(monkeypatch):
    a = data("d", 300)
    for limit in (0, 4096):
        monkeypatch.setattr(_small, "limit", limit)
        for function in (masu.sort, masu.argsort):
            with pytest.raises(ValueError):
                function(a, kind="stable", descending=True)
            assert function(np.empty((0, 3)), descending=True).shape == (0, 3)
            assert function([3, 1, 2], descending=True).tolist() == ([3, 2, 1] if function is masu.sort else [0, 2, 1])
            if _order._numpy_descends:
                same(function(np.array(["b", "c"]), descending=True), getattr(np, function.__name__)(
                    np.array(["b", "c"]), descending=True))
            else:
                with pytest.raises(TypeError, match="requires NumPy 2.5"):
                    function(np.array(["b", "c"]), descending=True)
        if _order._numpy_descends:
            same(masu.sort(a, descending=True), np.sort(a, descending=True))
            same_bits(masu.argsort(a, descending=True), np.argsort(a, stable=True, descending=True))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3, None])
def test_axes_and_memory_order(axis):
    for a in cubes():
        got, want = masu.sort(a, axis), np.sort(a, axis)
        same_bits(got, want)
        assert got.strides == want.strides
        same_bits(masu.argsort(a, axis=axis), np.argsort(a, axis=axis, kind="stable"))
        for kth in (0, 1, [-1, 0]):
            index = np.asarray(kth)
            same_bits(np.take(masu.partition(a, kth, axis), index, axis), np.take(want, index, axis))
        flat = a if axis is not None else a.ravel()
        parted = np.take_along_axis(flat, masu.argpartition(a, 1, axis), axis if axis is not None else -1)
        same_bits(parted, masu.partition(a, 1, axis))
        top = masu.topk(a, 2, axis)
        along = -1 if axis is None else axis
        same_bits(top.values, np.take(np.flip(want, along), [0, 1], along))
        same_bits(np.take_along_axis(flat, top.indices, along), top.values)


@pytest.mark.parametrize("dtype", "?hfd")
def test_large_matrices_are_turned(dtype):
    a = data(dtype, 60 * 7 * 200).reshape(60, 7, 200)
    swapped = a.astype(a.dtype.newbyteorder(">"))
    for b in (a, a.T, a.transpose(1, 0, 2), np.broadcast_to(a[:1], a.shape), a[:, ::2], swapped):
        for axis in range(3):
            order = np.argsort(b, axis, kind="stable")
            same_bits(masu.argsort(b, axis), order)
            same_bits(masu.sort(b, axis), np.take_along_axis(b, order, axis))


def stable_partition(a, places):
    """Elements between the pivots' values in input order; the rule that partition has and NumPy has not."""
    ordered = np.sort(a)
    key = np.searchsorted(ordered, a)  # equals share the place of the first of them
    pivots = np.unique(np.searchsorted(ordered, ordered[places]))
    part = 2 * np.searchsorted(pivots, key) + np.isin(key, pivots)
    return np.argsort(part, kind="stable")


@pytest.mark.parametrize("limit", [0, 4096])
@pytest.mark.parametrize("dtype", DTYPES)
def test_partition_is_stable(dtype, limit, monkeypatch):
    monkeypatch.setattr(_small, "limit", limit)
    for length in LENGTHS if limit == 0 else LENGTHS[:4]:
        for a in layouts(data(dtype, length)):
            n = a.size
            for kth in (0, n // 2, n - 1, -1, [0, n // 3, -1], list(range(0, n, max(1, n // 25)))):
                order = stable_partition(a, np.ravel(kth))
                same_bits(masu.argpartition(a, kth), order)
                same_bits(masu.partition(a, kth), a[order])


@pytest.mark.parametrize("dtype", DTYPES)
def test_searchsorted(dtype):
    for length in LENGTHS:
        a = data(dtype, length)
        ordered, order = np.sort(a), np.argsort(a, kind="stable")
        for side in ("left", "right"):
            same_bits(masu.searchsorted(ordered, a, side), np.searchsorted(ordered, a, side))
            same_bits(masu.searchsorted(a, a[::-1], side, order), np.searchsorted(a, a[::-1], side, order))
            for other in ("f", "q", ">i2"):
                values = np.arange(-6, 6).astype(other).reshape(3, 4)
                same_bits(masu.searchsorted(ordered, values, side), np.searchsorted(ordered, values, side))
        assert type(masu.searchsorted(ordered, 3)) is np.intp


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique(dtype):
    for length in LENGTHS:
        for a in layouts(data(dtype, length)):
            same(masu.unique(a), np.unique(a))
            for nan in (True, False):
                got = masu.unique(a, True, True, True, equal_nan=nan)
                want = np.unique(a, True, True, True, equal_nan=nan)
                assert len(got) == len(want) == 4
                for x, y in zip(got, want):
                    same_bits(x, y)
    a = data(dtype, 100).reshape(4, 25)
    for axis in (None, 0, -1):
        got, want = masu.unique(a, return_inverse=True, axis=axis), np.unique(a, return_inverse=True, axis=axis)
        same(got[0], want[0])
        same_bits(got[1], want[1])
    same_bits(masu.unique(a, return_counts=True, sorted=False)[1], np.unique(a, return_counts=True)[1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_topk(dtype):
    for length in LENGTHS:
        for a in layouts(data(dtype, length)):
            for k in {1, min(5, a.size), a.size}:
                # Largest first, equals by index: the stable order of the keys turned round.
                keys = np.searchsorted(np.sort(a), a)
                order = np.argsort(-keys, kind="stable")[:k]
                got = masu.topk(a, k)
                same_bits(got.indices, order)
                same_bits(got.values, a[order])
                same_bits(masu.topk(a, k, largest=False).indices, np.argsort(a, kind="stable")[:k])


@pytest.mark.parametrize("dtype", DTYPES)
def test_median_and_quantile(dtype):
    for length in (1, 2, 101, 5000):
        for specials in (True, False):
            a = data(dtype, length, specials)
            with np.errstate(all="ignore"):
                same(masu.median(a), exact("median", a))
                for method in METHODS if dtype != "?" else ():
                    for q in (0.3, 1, np.float32(0.7), [0.1, 0.9], np.array([[0, 1.0], [0.5, 0.2]])):
                        want = outcome(exact, "quantile", a, q, method=method)[0]
                        got = outcome(masu.quantile, a, q, method=method)[0]
                        if isinstance(want, Exception):  # NumPy 2.0 finds no place in much data of f16
                            assert (type(got), str(got)) == (type(want), str(want))
                        else:
                            same(got, want)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (2, 0), (0, 1, 2)])
def test_median_and_quantile_axes(axis):
    for a in cubes():
        for keepdims in (False, True):
            for q in (0.4, [0.1, 0.5]):
                for method in ("linear", "lower"):
                    want = np.quantile(a, q, axis, method=method, keepdims=keepdims)
                    same_bits(masu.quantile(a, q, axis, method=method, keepdims=keepdims), want)
                    out = np.zeros(np.shape(want))
                    assert masu.quantile(a, q, axis, out, method=method, keepdims=keepdims) is out
                    same_bits(out, want)
            want = np.median(a, axis, keepdims=keepdims)
            same_bits(masu.median(a, axis, keepdims=keepdims, overwrite_input=True), want)
            out = np.zeros(np.shape(want))
            assert masu.median(a, axis, out, keepdims=keepdims) is out
            same_bits(out, want)


def test_median_and_quantile_are_masu_s(monkeypatch):
    """NumPy's functions still part and take as foreseen: nothing falls back to them."""

    def fail(*args, **keywords):
        raise AssertionError("NumPy's partition was called")

    a = data("d", 5000)
    monkeypatch.setattr(_quantile, "Unforeseen", AssertionError)
    monkeypatch.setattr(np, "partition", fail)
    assert np.isnan(masu.median(a)) and np.isnan(masu.quantile(a, 0.5))


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
@pytest.mark.parametrize("method", ["linear", "lower", "hazen", "median_unbiased"])
def test_no_quantile_at_all_is_numpys(name, method):
    """The shape, the dtype and its byte order where `q` has no elements."""
    for dtype in ("<f8", ">f8", ">f4", "f2", ">i4", "u1"):
        a = np.arange(600).reshape(3, 200).astype(dtype)
        for q in ([], np.empty(0), np.empty(0, "f4")):
            for axis in (None, 0, -1):
                same(getattr(masu, name)(a, q, axis, method=method), getattr(np, name)(a, q, axis, method=method))


def test_quantile_weights_and_errors_are_numpys():
    a = data("d", 500, specials=False)
    weights = np.arange(500.0)
    same(masu.quantile(a, [0.2, 0.8], method="inverted_cdf", weights=weights),
         np.quantile(a, [0.2, 0.8], method="inverted_cdf", weights=weights))
    for arguments in ((a, 1.5), (a, -0.1), (a, np.nan), (a, 0.5, 3), (a, 0.5, (0, 0)), (a, 0.5, None, np.zeros(3)),
                      (a, np.zeros((1, 1, 1))), (a, 0.5, None, None, False, "middle")):
        try:
            want = np.quantile(*arguments)
        except Exception as error:
            with pytest.raises(type(error)):
                masu.quantile(*arguments)
        else:
            same(masu.quantile(*arguments), want)


@pytest.mark.parametrize("name, arguments", [
    ("sort", ([3, 1], 1)), ("sort", ([3, 1], -1, "bogo")), ("sort", (np.array(3),)), ("sort", ([1, 2], -1, None, "x")),
    ("argsort", ([3, 1], 7)), ("argsort", ([3, 1], -1, "bogo")), ("argsort", ([1, 2], 0.5)), ("argsort", ([[1, 2]], True)),
    ("argpartition", ([[1, 2]], 0, True)),
    ("partition", ([3, 1], 2)), ("partition", ([3, 1], -3)), ("partition", ([3, 1], 0.5)),
    ("partition", ([3, 1], [[0]])), ("partition", ([3, 1], 0, 2)), ("partition", ([3, 1], 0, -1, "quick")),
    ("argpartition", ([3, 1], [0, 5])), ("argpartition", ([3, 1], "0")),
    ("searchsorted", ([1, 2], 1, "middle")), ("searchsorted", ([[1, 2]], 1)),
    ("searchsorted", ([1, 2], [1], "left", [0])), ("searchsorted", ([1, 2], [1], "left", [0, 2])),
    ("searchsorted", ([1, 2], [1], "left", [0, -1])), ("searchsorted", ([1, 2], [1], "left", [0.0, 1.0])),
    ("unique", ([1, 2], False, False, False, 1)), ("median", ([1, 2], 1)), ("median", (["a", "b"],)),
])
def test_errors_are_numpys(name, arguments):
    with pytest.raises(Exception) as theirs:
        getattr(np, name)(*arguments)
    with pytest.raises(type(theirs.value)):
        getattr(masu, name)(*arguments)


def test_topk_errors():
    a = np.arange(6).reshape(2, 3)
    for k in (0, -1, 4):
        with pytest.raises(ValueError, match="topk: k must be from 1 to 3"):
            masu.topk(a, k)
    for arguments in ((a, 1.5), (a, True), (a.astype(complex), 1)):
        with pytest.raises(TypeError, match="^topk: "):
            masu.topk(*arguments)
    with pytest.raises(ValueError):
        masu.topk(a, 1, 2)
    assert masu.topk(np.empty((0, 3)), 2).values.shape == (0, 2)


def test_what_is_numpys():
    for a in (np.array([2 + 1j, 1]), np.array(["b", "a"]), np.array([3, 1], object), np.empty(0), np.empty((0, 3)),
              np.array([3, 1], "M8[s]"), np.ma.array([3, 1], mask=[0, 1]), np.matrix([[3, 1]])):
        same(masu.sort(a), np.sort(a))
        same(masu.argsort(a), np.argsort(a))
        assert type(masu.sort(a)) is type(np.sort(a))
        if not np.ma.isMaskedArray(a):
            same(masu.unique(a), np.unique(a))
    pairs = np.array([(2, 1), (1, 3)], "i4,i4")
    same(masu.sort(pairs, order="f1"), np.sort(pairs, order="f1"))
    with pytest.warns(RuntimeWarning):
        assert np.isnan(masu.median([]))


def test_read_only_lists_and_views():
    a = data("d", 300, specials=False)
    a.flags.writeable = False
    same_bits(masu.sort(a), np.sort(a))
    same_bits(masu.sort(memoryview(a)), np.sort(a))
    same_bits(masu.sort(a.tolist()), np.sort(a))
    same_bits(masu.argsort(range(9, 0, -1)), np.arange(8, -1, -1))
    unaligned = np.zeros(300 * 8 + 1, np.uint8)[1:].view(np.float64)
    unaligned[:] = a
    same_bits(masu.sort(unaligned), np.sort(a))
    same_bits(masu.median(unaligned), np.median(a))


def test_small_half_precision_is_sorted():
    _small.limit = 4096  # the fixture puts it back
    a = np.array([0.0, -0.0, 1.0, -1.0, np.nan] * 40, "e")
    ordered = masu.sort(a)
    assert (ordered[:-41] <= ordered[1:-40]).all() and np.isnan(ordered[-40:]).all()
    same(masu.unique(a), np.array([-1, 0, 1, np.nan], "e"))


def test_small_arrays_give_the_same(monkeypatch):
    for dtype in "Bid":
        a = data(dtype, 100, specials=False)
        for limit in (0, 4096):
            monkeypatch.setattr(_small, "limit", limit)
            same_bits(masu.sort(a), np.sort(a))
            same_bits(masu.argsort(a), np.argsort(a, kind="stable"))
            same_bits(masu.sort(a.reshape(10, 10), None), np.sort(a))
            same_bits(masu.unique(a), np.unique(a))
            same_bits(masu.median(a), np.median(a))


def test_examples():
    for module in (_order, _quantile):
        assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("dtype", ["u1", "i4", "f4", "f8"])
def test_little_data_is_parted_as_much(dtype):
    """Arguments of every form, for little data and, with the limit at 0, by the way of much."""
    rng = np.random.default_rng(4)
    for shape in ((1,), (9,), (1000,), (30, 10), (3, 4, 5), (2, 700)):
        x = rng.integers(0, 60, shape).astype(dtype)
        length = shape[-1]
        few = sorted({0, length // 2, length - 1})
        for kth in (length // 2, -1, few, [-1, 0], np.array(few), np.arange(length), tuple(few), np.int64(0)):
            for function in (masu.partition, masu.argpartition):
                got = function(x, kth)
                limit, masu._small.limit = masu._small.limit, 0
                try:
                    want = function(x, kth)
                finally:
                    masu._small.limit = limit
                assert got.dtype == want.dtype and got.tobytes() == want.tobytes(), (shape, kth)
        for wrong in (length, -length - 1, [0, length], 2**70, 0.5, [], [0.5], None, "1"):
            for module in (np, masu):
                try:
                    module.partition(x, wrong)
                    error = None
                except Exception as raised:
                    error = type(raised)
                if module is np:
                    wanted = error
            assert error is wanted, (shape, wrong)


@pytest.mark.parametrize("dtype", ["i4", "u8", "f4", "f8"])
def test_orders_of_little_data_are_stable(dtype):
    rng = np.random.default_rng(6)
    for size in (511, 512, 3000):
        x = rng.integers(0, 50, size).astype(dtype)
        if dtype[0] == "f":
            x[rng.integers(0, size, 20)] = np.nan
            x[rng.integers(0, size, 20)] = -0.0
        for axis in (-1, 0, None):
            np.testing.assert_array_equal(masu.argsort(x, axis), np.argsort(x, kind="stable"))
        with pytest.raises(np.exceptions.AxisError):
            masu.argsort(x, 1)


@pytest.mark.parametrize("dtype", "efd")
@pytest.mark.parametrize("length", [2, 5, 20, 100, 600, 4000])
def test_little_data_are_ordered_as_much_are(monkeypatch, dtype, length):
    """What NumPy sorts sooner: zeros of both signs and NaNs of any bits keep their order, whatever NumPy does with them."""
    r = np.random.default_rng([ord(dtype), length])
    for turn in range(6):
        a = np.abs(r.standard_normal(length)).astype(dtype) * r.choice(((1, 1), (-1, 1), (-1, -1))[turn % 3], length)
        a = a.astype(dtype)
        a[r.random(length) < 0.3] = -0.0
        a[r.random(length) < 0.3] = 0.0
        if turn > 2:
            nans = np.flatnonzero(r.random(length) < 0.1)
            a[nans] = np.nan
            words = a.view(f"u{a.itemsize}")
            words[nans] |= (np.arange(nans.size) % 4).astype(words.dtype)
        order = np.argsort(a, kind="stable")
        of = {"sort": masu.sort, "heapsort": lambda a: masu.sort(a, kind="heapsort"), "unique": masu.unique,
              "counts": lambda a: masu.unique(a, return_counts=True)[0], "whole": lambda a: masu.sort(a, None),
              "median": masu.median, "nanmedian": masu.nanmedian,
              "quantile": lambda a: masu.quantile(a, [0, 0.1, 0.3, 0.5, 0.7, 1]),
              "nanquantile": lambda a: masu.nanquantile(a, [0, 0.1, 0.3, 0.5, 0.7, 1], method="nearest")}
        for name, call in of.items():
            for given in (a, np.repeat(a, 2)[::2], a[::-1].copy()[::-1]):
                monkeypatch.setattr(_small, "limit", 4096)
                with np.errstate(all="ignore"):
                    little = call(given)
                    monkeypatch.setattr(_small, "limit", 0)
                    same_bits(little, call(given))
                if name in ("sort", "heapsort", "whole"):
                    same_bits(little, a[order])


@pytest.mark.parametrize("arguments", [{"kind": "quicksort"}, {"kind": "heapsort"}, {"stable": False}, {"kind": None}])
def test_little_data_is_ordered_stably(arguments):
    a = (np.arange(1000) % 3).astype("i1")
    assert masu.argsort(a, **arguments).tolist() == np.argsort(a, kind="stable").tolist()


def test_quantiles_at_objects_are_asked_anew():
    a, q = np.arange(100.0), np.empty(1, object)
    for number in (0.25, 0.25, 0.25, 0.7, 0.25, 0.9):
        q[0] = [number][0] * 1.0  # another object, at times where the last one was
        for method in ("lower", "inverted_cdf"):
            assert masu.quantile(a, q, method=method).tolist() == np.quantile(a, q, method=method).tolist()
    assert masu.quantile(a, np.array([0.25], ">f8")).tolist() == masu.quantile(a, np.array([0.25])).tolist()


@pytest.mark.parametrize("q", [[25, 75], [0, 100], np.int64(50), np.array(50), np.array([1, 99], "u8"), 50, [12.5]], ids=str)
def test_whole_percents_of_device_arrays_with_nan(q):
    a = np.array([1, 2, np.nan, 4, 8.5])
    for dtype in ("f4", "f8"):
        want = np.nanpercentile(a.astype(dtype), q)
        got = np.asarray(masu.nanpercentile(masu.to_device(a.astype(dtype), "cpu"), q).get())
        assert got.dtype == np.asarray(want).dtype and got.tobytes() == np.asarray(want).tobytes()


@pytest.mark.parametrize("limit", [0, 4096])
def test_short_names_of_kinds_are_stable_too(limit, monkeypatch):
    monkeypatch.setattr(masu._small, "limit", limit)
    a = np.tile([3, 1, 2, 1], 2000)
    for data in (a, a[:40]):
        assert np.array_equal(masu.argsort(data, kind="q"), np.argsort(data, kind="stable"))
        with pytest.raises(ValueError, match="sort kind must be"):
            masu.argsort(data, kind="none")
