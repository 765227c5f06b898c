# SPDX-License-Identifier: Apache-2.0
"""Options of calls on arrays of devices: descending order, `out`, weights, rules for bins, and arrays of one element."""
import warnings

import numpy as np
import pytest
from test_devices import FLOATS, NAMES, as_on_the_host, cube, same, some

import masu


@pytest.fixture(params=NAMES)
def device(request):
    return request.param


@pytest.mark.parametrize("shape", [(5, 400), (7, 3, 50), (1, 9), (300, 2), (2000,)])
def test_descending(device, shape):
    """NaN is last in descending order too, and what is equal keeps its order and bits."""
    for dtype in "efd":
        a = np.random.default_rng(8).standard_normal(shape).round(1).astype(dtype)
        flat = a.reshape(-1)
        flat[::7] = np.nan
        flat[3::70] = -np.nan
        flat[5::11], flat[6::11] = 0.0, -0.0
        flat[1::50], flat[2::50] = np.inf, -np.inf
        a[0] = np.nan
        for axis in (None, *range(a.ndim)):
            for function in (masu.sort, masu.argsort):
                same(function(masu.to_device(a, device), axis, descending=True), function(a, axis, descending=True))


def test_without_dimensions(device):
    for dtype in "?bHqefd":
        data = np.array(1, dtype)
        for function in (masu.sum, masu.mean, masu.var, masu.std, masu.median, masu.cumsum, masu.argsort, masu.sort,
                         masu.unique):
            as_on_the_host(function, data, device)
        for function in (masu.sum, masu.mean, masu.var, masu.std, masu.median):
            for axis in (None, (), 0, -1, 1):
                as_on_the_host(function, data, device, axis, keepdims=True)


def test_zeros_of_medians(device):
    """Their sign is NumPy's."""
    for dtype in "efd":
        for values in ([-0.0], [-0.0, -0.0], [0.0, -0.0], [-0.0] * 3 + [1], [-1, -0.0, -0.0, 2]):
            data = np.array(values, dtype)
            for axis in (None, 0):
                as_on_the_host(masu.median, data, device, axis)
                same(masu.median(masu.to_device(data, device)), np.median(data))
                for q in (0.5, [0.25, 0.5, 0.9]):
                    as_on_the_host(masu.quantile, data, device, q, axis)


def into_of(result):
    """Arrays for a result, and what is no such array."""
    if isinstance(result, tuple):
        return masu.TopK(*(np.full_like(part, 7) for part in result))
    return np.full_like(result, 7)


@pytest.mark.parametrize("limit", [0, 4096])
@pytest.mark.parametrize("where", [None, *NAMES])
def test_out(where, limit, monkeypatch):
    monkeypatch.setattr(masu._small, "limit", limit)
    rng = np.random.default_rng(4)
    data = rng.standard_normal((20, 30, 4)).astype("f4").round(1)
    edges = np.sort(data[0, :, 0])
    calls = [(masu.sort, data), (masu.sort, data, 0), (masu.sort, data, None), (masu.argsort, data, 1),
             (masu.partition, data, 2), (masu.argpartition, data, [1, 2], 0), (masu.topk, data, 2, 1),
             (masu.searchsorted, edges, data), (masu.sum, data, (0, 2)), (masu.mean, data, 1), (masu.var, data),
             (masu.std, data, (1, 2)), (masu.median, data, 0), (masu.cumsum, data, 1), (masu.dot, edges, edges),
             (masu.quantile, data, 0.3, 1), (masu.percentile, data, [20, 30], 0)]
    for function, *arguments in calls:
        want = function(*arguments)
        want = type(want)(*map(np.asarray, want)) if isinstance(want, tuple) else np.asarray(want)
        out = into_of(want)
        given = arguments
        if where is not None:
            given = [masu.to_device(a, where) if isinstance(a, np.ndarray) else a for a in arguments]
            if isinstance(out, tuple):
                out = masu.TopK(*(masu.to_device(part, where) for part in out))
            else:
                out = masu.to_device(out, where)
        got = function(*given, out=out)
        for one, array, expected in zip(got, out, want) if isinstance(out, tuple) else [(got, out, want)]:
            assert one is array, function.__name__
            assert np.asarray(one).tobytes() == expected.tobytes(), function.__name__
        if isinstance(out, tuple):
            continue
        own = where is not None or function in (masu.sort, masu.argsort, masu.partition, masu.argpartition,
                                                masu.searchsorted)
        for wrong, error in (((want.shape + (1,), want.dtype), ValueError), ((want.shape, "i2"), TypeError)):
            bad = np.zeros(wrong[0], wrong[1])
            if own:
                with pytest.raises(error, match=f"{function.__name__}: out must have the"):
                    function(*given, out=bad if where is None else masu.to_device(bad, where))
        if where is not None:
            with pytest.raises(TypeError, match="on the device"):
                function(*given, out=want.copy())


@pytest.mark.parametrize("where", [None, *NAMES])
def test_out_that_is_refused(where):
    whole = np.arange(6000, dtype="f4").reshape(60, 100)
    a, before = whole, whole.copy()
    if where is not None:
        a = masu.to_device(whole, where)
    for function in (masu.sort, masu.partition) if where is None else (masu.sort, masu.partition, masu.cumsum):
        more = {masu.partition: (3,), masu.cumsum: (1,)}.get(function, ())
        with pytest.raises(ValueError, match="must not overlap"):
            function(a, *more, out=a)
        if where is None:
            with pytest.raises(ValueError, match="must not overlap"):
                function(a[:-1], *more, out=a[1:])
            with pytest.raises(ValueError, match="read-only"):
                locked = np.empty_like(a)
                locked.flags.writeable = False
                function(a, *more, out=locked)
            with pytest.raises(TypeError, match="array of NumPy"):
                function(a, *more, out=[1])
            apart = np.zeros((60, 200), "f4")
            apart[:, 1::2] = a
            assert function(apart[:, 1::2], *more, out=apart[:, ::2]) is not None
            np.testing.assert_array_equal(apart[:, ::2], function(a, *more))
        else:
            first, second = a.reshape(2, 30, 100).rows()
            assert function(first, *more, out=second) is second
            a = masu.to_device(whole, where)
    values, places = np.empty(2, "i8"), np.empty(2, "i8")
    longs = np.arange(9)
    if where is not None:
        values, places, longs = (masu.to_device(part, where) for part in (values, places, longs))
    with pytest.raises(ValueError, match="must not overlap"):
        masu.topk(longs, 2, out=(values, values))
    for out in (values, (values,), [values, places]):
        with pytest.raises(TypeError, match="tuple of two"):
            masu.topk(longs, 2, out=out)
    assert np.asarray(masu.topk(longs, 2, out=(values, places))[0]).tolist() == [8, 7]
    with pytest.raises(TypeError, match="tuple of two"):
        masu.topk(longs, 2, out=values, device="cpu")
    for k, error in ((1.5, TypeError), (True, TypeError), (0, ValueError), (10, ValueError)):
        with pytest.raises(error, match="topk: k must be"):
            masu.topk(longs, k)
    np.testing.assert_array_equal(np.asarray(a), before)


def test_masks_and_out():
    masked = np.ma.array([3.0, 1, 2], mask=[0, 1, 0])
    for function, more in ((masu.sort, ()), (masu.partition, (1,))):
        with pytest.raises(TypeError, match="without a mask"):
            function(masked, *more, out=np.zeros(3))
        with pytest.raises(TypeError, match="without a mask"):
            function(np.array([3.0, 1, 2]), *more, out=np.ma.array(np.zeros(3), mask=True))


@pytest.mark.parametrize("dtype", list("iefd"))
def test_every_nan_is_a_value(device, dtype):
    for count in (0, 1, 2, 300):
        data = cube(dtype, (count,))
        if dtype != "i":
            data[::3] = np.nan
        for wanted in ((), (True,), (False, True), (False, False, True), (True, True, True)):
            as_on_the_host(masu.unique, data, device, *wanted, equal_nan=False)
    as_on_the_host(masu.unique, cube(dtype, (5, 6)), device, False, True, equal_nan=False)


@pytest.mark.parametrize("shape", [(5, 3), (40, 2), (3, 4, 5), (30, 1, 2), (6, 0), (0, 3), (2, 0, 3), (1, 1), (100, 3)])
def test_distinct_parts(device, shape):
    """Along each axis; what has a NaN is equal to nothing."""
    for turn, dtype in enumerate(some("?bHiQfd", len(shape)) if device != "cpu" else "?bHiQfd"):
        for most in (2, 4, 1000):
            rng = np.random.default_rng(most)
            least = -2 if dtype in "bifd" else 0
            data = rng.integers(least, min(most, {"?": 2, "b": 120}.get(dtype, most)), shape).astype(dtype)
            if dtype in "fd" and most == 4:
                data = np.asarray(data / 2, dtype)
                data[data == 1], data[data == 1.5] = -0.0, np.nan
            for axis in range(-len(shape) - 1, len(shape) + 1):
                for wanted in ((True, True, True), (True,)) if turn else ((True, False, True), (True, True)):
                    as_on_the_host(masu.unique, data, device, *wanted, axis=axis)
    data = cube("f", (7, 3))
    same(masu.unique(masu.to_device(data, device), axis=0), masu.unique(data, True, axis=0)[0])


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="NumPy had mistakes in weighted quantiles")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_weights_of_quantiles(device):
    rng = np.random.default_rng(6)
    turn = 0
    for dtype in some("?bHiqefd", 1):
        for weights_dtype in some("?Biefd", 2):
            data = cube(dtype, (5, 3, 4))
            weights = rng.integers(0, 2 if weights_dtype == "?" else 9, data.shape).astype(weights_dtype)
            weights[..., 0] = 1
            for axis in (None, 0, -1, (2, 0)) if device == "cpu" else (-1, (2, 0)):
                for q in (0, 0.3, 1, [0.1, 0.5], np.float32([0.2, 0.4]), [[0.0], [1]])[::1 if device == "cpu" else 3]:
                    turn += 1
                    on = masu.to_device(weights, device) if turn % 2 else weights
                    for function, scale in ((masu.quantile, 1), (masu.percentile, 100)):
                        options = {"axis": axis, "method": "inverted_cdf", "keepdims": turn % 3 == 0}
                        sought = np.multiply(q, scale) if turn % 2 else scale * np.array(q)
                        want = function(data, sought, weights=weights, **options)
                        same(function(masu.to_device(data, device), sought, weights=on, **options), want)
    few = np.array([3.0, 1, 2])
    for weights in ([1, 2, 3], (0.5, 0, 1), 1):
        as_on_the_host(masu.quantile, few, device, 0.4, method="inverted_cdf", weights=weights)
    for weights in ([1j, 1, 1], ["a", "b", "c"]):
        with pytest.raises(TypeError, match="quantile: weights must be"):
            masu.quantile(masu.to_device(few, device), 0.4, method="inverted_cdf", weights=weights)
    data = rng.standard_normal((4, 5, 6))
    for axis, shape in ((1, (5,)), ((0, 2), (4, 6)), ((2, 0), (6, 4)), (0, (5,)), (None, (4,)), ((1, 2), (4,)), (1, (4, 5, 6))):
        for weights in (rng.random(shape), np.zeros(shape), np.full(shape, np.nan), np.full(shape, -1)):
            for method in ("inverted_cdf", "linear"):
                as_on_the_host(masu.quantile, data, device, 0.4, axis, method=method, weights=weights)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="NumPy had mistakes in weighted quantiles")
def test_weighted_zeros_are_ordered_stably(device):
    rng = np.random.default_rng(7)
    for dtype in "efd" if device == "cpu" else "f":
        for turn in range(20 if device == "cpu" else 4):
            data = rng.choice(np.array([-0.0, 0.0, 1, -1], dtype), (3, 200))
            weights = rng.integers(0, 4, 200)
            weights[0] = 1
            options = {"axis": 1, "method": "inverted_cdf", "weights": weights}
            want = masu.quantile(data, [0.3, 0.5, 0.6], **options)
            assert type(want) is np.ndarray
            for row, found in zip(data, want.T):
                order = np.argsort(row, kind="stable")
                sums = weights[order].cumsum() / weights.sum()
                assert found.tobytes() == row[order][np.searchsorted(sums, [0.3, 0.5, 0.6])].tobytes()
            same(masu.quantile(masu.to_device(data, device), [0.3, 0.5, 0.6], **options), want)


def test_weights_that_are_refused_in_numpys_order(device):
    few = np.array([3.0, 1, 2])
    for weights in ([np.nan, -1, 1], [np.inf, 1, -1], [np.nan, 1, 1], [0, 0, 0], [np.inf, 1, 1]):
        messages = []
        for data in (few, masu.to_device(few, device)):
            with np.errstate(all="ignore"), pytest.raises(ValueError) as caught:
                masu.quantile(data, 0.4, method="inverted_cdf", weights=weights)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


def test_dtypes_that_numpy_lacks():
    there = masu.to_device(np.float32([1, 2]), "cpu")
    for function in (masu.sum, masu.mean, masu.var, masu.std, masu.cumsum):
        with pytest.raises(TypeError, match=f"{function.__name__}: dtype must be one of NumPy's, got float8_e5m2"):
            function(there, dtype="float8_e5m2")


def test_rules_for_bins_by_name(device, monkeypatch):
    monkeypatch.setattr(masu._small, "limit", 0)
    for dtype in some("?bHiQefd", 3) if device != "cpu" else "?bHiQefd":
        for count in (0, 1, 5, 1000) if device == "cpu" else (5, 1000):
            numbers = np.random.default_rng(count).standard_normal(count) * 20
            data = (numbers if dtype in "biefd" else abs(numbers)).astype(dtype)
            for rule in ("auto", "fd", "scott", "rice", "sqrt", "sturges", "stone", "none of these"):
                for ends in (None, (-10, 10.5), (3, 3), (100, 200)):
                    if rule == "stone" and (count > 5 or dtype == "e") or rule == "scott" and dtype == "e":
                        continue
                    with np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        if dtype != "e":  # where NumPy's own counts may fail
                            as_on_the_host(masu.histogram, data, device, rule, ends)
                        as_on_the_host(masu.histogram_bin_edges, data, device, rule, ends)
    data = FLOATS.copy()
    data[7] = np.nan
    as_on_the_host(masu.histogram, data, device, "auto")
    as_on_the_host(masu.histogram, data, device, "auto", (-1, 1))
    as_on_the_host(masu.histogram, data, device, "auto", (-1, 1), weights=data)
    as_on_the_host(masu.histogram_bin_edges, data, device, "auto", (-1, 1), weights=data)
    as_on_the_host(masu.histogram_bin_edges, data, device, 10, (-1, 1), weights=data[1:])
    as_on_the_host(masu.histogram, FLOATS.reshape(30, 100), device, "fd", axis=1)


def test_where_and_initial(device):
    rng = np.random.default_rng(8)
    for dtype in ("f4", "f2", "u1", "i8", "?"):
        for shape in ((), (1,), (1000,), (7, 30), (3, 5, 4), (0,), (0, 3)):
            a = (rng.standard_normal(shape) * (8 if dtype[0] == "f" else 100)).astype(dtype)
            mask = np.asarray(rng.integers(0, 3, shape) > 0)
            there, chosen = masu.to_device(a, device), masu.to_device(mask, device)
            for axis in (None, *range(a.ndim), *([(0, a.ndim - 1)] if a.ndim > 1 else [])):
                for more in ({"initial": 3}, {"where": mask}, {"where": mask, "initial": 2.5}, {"where": False},
                             {"where": mask[..., :1] if shape else mask}, {"initial": 1, "keepdims": True},
                             {"initial": 2, "dtype": "f8"}, {"where": None}, {"where": None, "initial": 4}, {"where": 1}):
                    given = {**more, **({"where": chosen} if more.get("where") is mask else {})}
                    want, got = masu.sum(a, axis, **more), masu.sum(there, axis, **given)
                    same(got, want)
                    assert got.dtype == np.sum(a, axis, **more).dtype
            if dtype == "?" or mask.sum() < 2:
                continue
            for function in (masu.mean, masu.var, masu.std):
                same(function(there, where=chosen), function(a[mask]))
                same(function(there, where=chosen, keepdims=True), np.reshape(function(a[mask]), (1,) * a.ndim))
    wide = np.array([[1e300, 1.0, -1e300], [2.0**24, 1.0, 1.0]])
    for data in (wide, masu.to_device(wide, device)):
        for more in ({}, {"initial": 0.0}):
            assert np.asarray(masu.sum(data, 1, "f4", **more)).tolist() == [1, 2.0**24 + 2]
    a = masu.to_device(np.float32([[1, np.inf], [np.nan, 4]]), device)
    kept = masu.to_device(np.array([[True, False], [False, True]]), device)
    assert masu.sum(a, where=kept).get() == 5 and masu.mean(a, where=kept).get() == 2.5
    assert masu.sum(a, 1, where=kept).get().tolist() == [1, 4]


def test_where_and_initial_that_are_refused(device):
    a = masu.to_device(np.ones((3, 4), "f4"), device)
    for error, text, call in (
            (TypeError, "where is supported on a device for all axes together",
             lambda: masu.mean(a, 1, where=np.ones((3, 4), bool))),
            (TypeError, "where must be of truth values", lambda: masu.sum(a, where=a)),
            (TypeError, "where must be of truth values", lambda: masu.std(a, where=np.ones((3, 4)))),
            (TypeError, "where must be of truth values", lambda: masu.mean(a, where=None)),  # a TypeError of NumPy's too
            (ValueError, "where must have the shape",
             lambda: masu.sum(a, where=masu.to_device(np.ones(4, bool), device))),
            (ValueError, None, lambda: masu.sum(a, where=np.ones(5, bool))),
            (ValueError, None, lambda: masu.sum(a, initial=[1, 2])),
            (ValueError, None, lambda: masu.sum(a, initial=None, where=np.ones(4, bool))),
            (ValueError, None, lambda: masu.sum(masu.to_device(np.ones(0), device), initial=None)),
            (TypeError, None, lambda: masu.sum(a, initial=1j)),
            (OverflowError, None, lambda: masu.sum(masu.to_device(np.ones(3, "i4"), device), initial=np.inf)),
            (OverflowError, None, lambda: masu.sum(masu.to_device(np.ones((0, 2), "u8"), device), initial=-1)),
            (OverflowError, None, lambda: masu.sum(masu.to_device(np.ones(6, "u1"), device), dtype="u1", initial=300)),
            (ValueError, None, lambda: masu.sum(masu.to_device(np.ones(3, bool), device), initial=np.nan)),
            (ValueError, "there must be more than 1 elements",
             lambda: masu.var(a, ddof=1, where=np.arange(12).reshape(3, 4) < 1))):
        with pytest.raises(error, match=text):
            call()
    assert masu.sum(a, initial=None).get() == 12
    assert masu.sum(masu.to_device(np.ones((2, 0, 3)), device), 0, initial=None).shape == (0, 3)
