# SPDX-License-Identifier: Apache-2.0
"""Medians and quantiles of little data, with NaNs left out and not, beside NumPy's: results, shapes, types and warnings."""
import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest
from generators import ARITHMETIC
from generators.quantile_rule import exact, rounded
from test_devices import NAMES, as_on_the_host

import masu
from masu import _small

DTYPES = "?bHlQefd"
OF_Q = ("quantile", "percentile", "nanquantile", "nanpercentile")


@pytest.fixture(params=[0, 4096])
def limit(request, monkeypatch):
    monkeypatch.setattr(_small, "limit", request.param)


def outcome(call):
    """What a call does: its result, and what it warns of; or its error."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:  # noqa: BLE001
            return type(error), None
    return result, sorted({str(warning.message) for warning in met if ARITHMETIC not in str(warning.message)})


def by_rule(name, *given, **options):
    """`outcome` of NumPy's function by masu's rule."""
    result, _ = outcome(lambda: exact(name, *given, **options))
    return result, outcome(lambda: getattr(np, name)(*given, **options))[1]


def same(ours, theirs, of):
    (got, warned), (want, numpy_warned) = ours, theirs
    if isinstance(want, type):
        assert got is want, of
        return
    assert type(got) is type(want) or isinstance(got, np.generic) and isinstance(want, np.generic), of
    assert warned == numpy_warned, of
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, of
    np.testing.assert_array_equal(got, want, err_msg=str(of))


def data(dtype, rng):
    """Without and with NaN, infinities, zeros of both signs, equals; one row and several."""
    for count in (1, 2, 17, 5000):
        if dtype in "efd":
            x = rng.standard_normal(count).astype(dtype)
            yield x
            some = x.copy()
            some[rng.random(count) < 0.2] = np.nan
            yield some
            both = some.copy()
            both[:: 3] = np.inf
            both[1:: 3] = -np.inf
            yield both
            yield np.where(rng.random(count) < 0.5, 0.0, x).astype(dtype)
            yield np.full(count, np.nan, dtype)
        elif dtype == "?":
            yield rng.random(count) < 0.4
        else:
            info = np.iinfo(dtype)
            yield rng.integers(info.min, info.max, count, dtype, endpoint=True)
    square = (rng.standard_normal((30, 20)) * 50).astype(dtype)
    yield square
    yield square.T
    yield square.astype(square.dtype.newbyteorder())
    if dtype in "efd":
        square = square.copy()
        square[3, 5] = np.nan
        yield square


@pytest.mark.parametrize("dtype", DTYPES)
def test_medians(dtype, limit):
    for x in data(dtype, np.random.default_rng(1)):
        before = x.copy()
        for axis in (None, -1, 0):
            for name in ("median", "nanmedian"):
                for _ in range(2):
                    same(outcome(lambda: getattr(masu, name)(x, axis)), by_rule(name, x, axis=axis), (name, axis, x))
        assert x.tobytes() == before.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OF_Q)
def test_quantiles(name, dtype, limit):
    most = 100 if "percent" in name else 1
    for x in data(dtype, np.random.default_rng(2)):
        for axis in (None, -1):
            for q in (0.3 * most, [0.05 * most, 0.5 * most], 0, 1, [0, most], np.array([[0.1, 0.2], [0.3, 0.9]]) * most):
                for method in ("linear", "median_unbiased" if axis is None else "nearest"):
                    theirs = by_rule(name, x, q, axis, method=method)
                    for _ in range(3):  # an answer is kept from the second time on
                        same(outcome(lambda: getattr(masu, name)(x, q, axis, method=method)), theirs, (q, axis, method, x))


@pytest.mark.parametrize("name", OF_Q)
def test_the_type_of_q_decides(name, limit):
    """What one type of q gives is not given for another of the same bytes."""
    class Named(np.ndarray):
        pass

    x = np.random.default_rng(3).standard_normal(50).astype("f")
    for value in (0.25, 0.75):
        kinds = [value, np.float64(value), np.array(value), np.float32(value), np.array(value, "f"), [value], (value,),
                 np.array([value]), np.array([value]).view(Named), np.ma.array([value]), np.array([[value]])]
        for _ in range(4):
            for q in kinds:
                same(outcome(lambda: getattr(masu, name)(x, q)), outcome(lambda: getattr(np, name)(x, q)), (name, q))


@pytest.mark.parametrize("dtype", "efdbhiq")
def test_what_overflows(dtype, limit):
    """Sums and differences of the greatest elements overflow in NumPy, which warns of them beside a NaN, too."""
    rng = np.random.default_rng(6)
    if dtype in "efd":
        most = np.finfo(dtype).max
        pools = [[most, -most, np.nan], [most / 2, -most / 2, np.nan], [most * 0.51, -most * 0.51, np.nan],
                 [most, -most, np.inf, np.nan], [most, most, -most]]
    else:
        info = np.iinfo(dtype)
        pools = [[info.min, info.max], [info.min, 0, 1, info.max], [info.min // 2, info.max // 2 + 1]]
    for pool in pools:
        for shape in ((3,), (6,), (3, 1), (1, 3), (3, 5)):
            x = rng.choice(np.array(pool, dtype), shape)
            for axis in (None, 0, -1):
                calls = [(name, ()) for name in ("median", "nanmedian")]
                calls += [(name, (q,)) for name in ("quantile", "nanquantile") for q in (0.25, 0.5, [0, 0.7], np.float32(0.5))]
                for name, q in calls:
                    theirs = by_rule(name, x, *q, axis=axis)
                    for _ in range(3):
                        same(outcome(lambda: getattr(masu, name)(x, *q, axis=axis)), theirs, (name, q, axis, x))


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 5), (40, 120), (6,)])
def test_several_axes_and_quantiles(shape, limit):
    """NumPy's nan functions have an order of the axes of their own for q of two dimensions and several axes."""
    x = np.random.default_rng(4).random(shape)
    for name in OF_Q:
        for q in (0.5, [0.2, 0.3], [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]):
            for axis in (None, 0, (0,), (), (0, 1), (0, 2), (-1, 0), (0, 1, 2)):
                for keepdims in (False, True):
                    def call(module, name=name, q=q, axis=axis, keepdims=keepdims):
                        return outcome(lambda: getattr(module, name)(x, q, axis=axis, keepdims=keepdims))
                    same(call(masu), call(np), (name, q, axis, keepdims))


@pytest.mark.parametrize("device", NAMES)
@pytest.mark.parametrize("dtype", "efdi")
def test_whole_q_of_devices(device, dtype):
    """Of an array of the integers 0 and 1 the least and the greatest element are taken as they are."""
    x = (np.random.default_rng(5).standard_normal((4, 60)) * 9).astype(dtype)
    if dtype in "efd":
        x[0, ::7] = np.nan
        x[1, 3], x[1, 4] = np.inf, -np.inf
        x[2, :] = -np.inf
    for name in ("nanquantile", "quantile"):
        for q in ([0, 1], [1], np.array([1, 0]), np.array(0), np.array([[0], [1]]), 1):
            for axis in (None, 0, -1):
                for method in ("linear", "higher", "inverted_cdf"):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        as_on_the_host(getattr(masu, name), x, device, q, axis, method=method)
    for q in ([0, 2], [-1]):
        as_on_the_host(masu.nanquantile, x, device, q)
    with pytest.raises(TypeError, match="not supported with arrays on a device"):
        masu.nanquantile(masu.to_device(np.ones((2, 3), "f"), device), [[0.1], [0.2]], ())


@pytest.mark.parametrize("name", OF_Q)
def test_places_of_more_elements_than_the_dtype_of_q_counts(name, limit):
    """numpy 31487: float16 ends at 65,504, and float32 rounds places of many elements."""
    percent = 100 if "percent" in name else 1
    function = getattr(masu, name)
    zeros = np.zeros(65_521, "e")
    rising = np.random.default_rng(8).permutation(70_001)
    for q in (0.5, np.float16(0.5), np.array([0.25, 0.5], "e"), np.float32(0.5)):
        for method in ("linear", "lower", "hazen", "closest_observation"):
            found = function(zeros, q * percent, method=method)
            assert not np.any(found) and found.dtype == np.quantile(zeros[:5], q, method=method).dtype, (q, method)
    for kind in "ef":
        for dtype in "fdi":
            found = function(rising.astype(dtype), np.array([0.25, 0.75], kind) * percent)
            assert found.tolist() == [17_500, 52_500]
            assert found.dtype == np.quantile(np.arange(5, dtype=dtype), np.zeros(1, kind)).dtype
    found = function(np.stack([rising, rising[::-1]], 1).astype("f"), np.float32(0.5) * percent, axis=0, keepdims=True)
    assert found.tolist() == [[35_000, 35_000]] and found.dtype == np.float32
    if not name.startswith("nan"):
        assert function(masu.to_device(zeros, "cpu"), np.float16(0.5) * percent).get() == 0
        assert function(masu.to_device(rising.astype("f"), "cpu"), np.array([0.25], "f") * percent).get().tolist() == [17_500]


def test_known_values(limit):
    """Right values beside their reports: numpy 30376, 21091, 27549."""
    inf = np.inf
    for function in (masu.quantile, masu.nanquantile):
        for dtype, values, q, right in (
                ("i1", [127, -128], 0.5, -0.5), ("i2", [32767, -1], 0.5, 16383), ("i8", [2**53 + 1, 2**53 + 3], 0.5, 2**53 + 2),
                ("i8", [-2**63, 2**63 - 1], 0.5, -0.5), ("u8", [0, 2**64 - 1], 0.25, 2.0**62), ("f8", [inf, inf], 0.3, inf),
                ("f8", [0, inf], 0, 0), ("f8", [0, inf], 0.5, inf), ("f8", [1, 2, inf], 1, inf), ("f8", [-inf, 0], 1, 0),
                ("f8", [-1.5e308, 1.5e308], 0.5, 0), ("f4", [-3e38, 3e38], 0.5, 0), ("f2", [65504, -65504], 0.75, 32752)):
            x = np.array(values, dtype)
            for data in (x, x[::-1], x.astype(x.dtype.newbyteorder()), np.stack([x, x]), masu.to_device(x, "cpu")):
                found = function(data, q) if data.ndim == 1 else function(data, q, axis=1)
                assert np.all((found.get() if isinstance(found, masu.DeviceArray) else found) == right), (dtype, values, q)
    for weights, place in (([1e16, 1, 1, 1, 1e16], 2), ([2**53, 1, 1, 2**53], 1), ([1e16] + [1] * 5 + [1e16], 3), ([1] * 10, 4)):
        for kind in ("f8", "i8", "u8"):
            by, data = np.array(weights, kind), np.arange(len(weights))
            options = {"weights": by, "method": "inverted_cdf"}
            assert masu.quantile(data, 0.5, **options) == masu.percentile(data, 50, **options) == place
            assert masu.nanquantile(data * 1.0, 0.5, **options) == place
            for function in (masu.quantile, masu.nanquantile):  # NumPy's nan functions raise IndexError
                for a, axis in ((np.stack([data, data]), 1), (np.stack([data, data], 1) * 1.0, -2)):
                    assert function(a, [0.5, 0.5], axis=axis, **options).tolist() == [[place] * 2] * 2
            assert masu.nanpercentile([[np.nan, 2], [3, np.nan], [5, 6]], 50, axis=0, weights=[1, 1, 3], method="inverted_cdf").tolist() == [5, 6]
            with pytest.raises(ValueError, match="all zero"):
                masu.nanquantile([[1.0, np.nan], [2, 3]], 0.5, axis=1, weights=[0, 1], method="inverted_cdf")
            assert masu.quantile(masu.to_device(data, "cpu"), 0.5, **options).get() == place


@pytest.mark.parametrize("device", NAMES)
def test_the_middle_of_extremes(device, limit):
    """The exact mean of two, rounded once, whose sum may be beyond the dtype."""
    for dtype in "bBhHiIqQefd":
        info = (np.finfo if dtype in "efd" else np.iinfo)(dtype)
        some = [info.min, info.min, info.max, info.max, info.max // 2, info.min // 2, 0]
        for low, high in itertools.combinations(sorted(some), 2):
            x = np.array([high, low], dtype)
            right = (Fraction(x[0].item()) + Fraction(x[1].item())) / 2
            right = rounded(right, dtype if dtype in "efd" else "d")
            there = masu.to_device(x, device)
            for function in (masu.median, masu.nanmedian):
                assert function(x) == function(x.astype(x.dtype.newbyteorder())) == function(x, device=device) == right, x
                assert function(there).get() == right, x
                assert function(np.stack([x, x]).astype(x.dtype.newbyteorder()), axis=1).tolist() == [right] * 2, x
                assert function(masu.to_device(np.stack([x, x], 1), device), axis=0).get().tolist() == [right] * 2, x


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
@pytest.mark.parametrize("dtype", "efd")
@pytest.mark.parametrize("q", [25, np.float64(25), np.float32(50), 1], ids=str)
def test_nan_of_infinities_has_numpys_dtype(limit, name, dtype, q):
    """Beside NaNs that are left out, and where nothing but NaN is there."""
    q = q if "percentile" in name or q == 1 else q / 100
    for numbers in ([np.inf, np.nan, np.inf, np.nan, -np.inf, np.inf], [np.nan] * 5, [np.inf, -np.inf], [np.inf, np.nan]):
        for a in (np.array(numbers, dtype), np.tile(np.array(numbers, dtype), 500)):
            for method in ("midpoint", "linear", "lower", "hazen"):
                same(outcome(lambda: getattr(masu, name)(a, q, method=method)), by_rule(name, a, q, method=method),
                     (name, a, q, method))
