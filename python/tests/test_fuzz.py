# SPDX-License-Identifier: Apache-2.0
"""Every function on arrays of all dtypes and layouts, with sound and unsound arguments, beside NumPy's."""
import math

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import masu
from strategies import DTYPES, FLOATS, FOREIGN, INTEGERS, arrays, assert_same, check, outcome, settings, values

RULES = ["auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"]
HUGE = [2**40, 2**62, 2**63, 2**64, 2**70]
ENDS = st.one_of(st.floats(-4, 4), st.integers(-4, 300),
                 st.sampled_from([math.nan, math.inf, -math.inf, 1e300, 1e-300]))
AXES = st.one_of(st.integers(-3, 2), st.none())


@pytest.fixture(autouse=True, scope="module")
def small_arrays_too():
    limit, masu._small.limit = masu._small.limit, 0
    yield
    masu._small.limit = limit


@st.composite
def edges(draw):
    """Mostly edges that rise, weakly; now and then others."""
    dtype = draw(st.sampled_from(DTYPES[1:]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    out = values(rng, dtype, draw(st.integers(0, 12)))
    return np.sort(out) if draw(st.integers(0, 9)) else out


@st.composite
def bins(draw):
    kind = draw(st.integers(0, 9))
    if kind < 4:
        return draw(st.integers(-1, 300))
    if kind == 4:
        return draw(st.sampled_from([*HUGE, 0, True, 2.5, "none", None, [[1, 2]], [1], [], ["a"], np.int8(7)]))
    return draw(edges())


ranges = st.one_of(st.none(), st.tuples(ENDS, ENDS).map(lambda ends: tuple(sorted(ends))), st.tuples(ENDS, ENDS))


def same_totals(a, weights, given_edges, got):
    """Totals of float weights against math.fsum, which rounds once as masu does."""
    a, weights = np.ravel(a).astype("f8"), np.ravel(weights).astype("f8")
    for i, total in enumerate(got):
        low, high = given_edges[i], given_edges[i + 1]
        inside = (a >= low) & ((a <= high) if i + 2 == len(given_edges) else (a < high))
        assert total == math.fsum(weights[inside])


class TestHistogram:
    @given(arrays(), bins(), ranges, st.booleans())
    @settings
    def test_any(self, a, bins, range, density):
        check(masu.histogram, np.histogram, a, bins, range, density=density)

    @given(arrays(dtypes=INTEGERS + FLOATS, dimensions=(1, 1), most=20), st.sampled_from(RULES), ranges)
    @hypothesis.settings(settings, max_examples=settings.max_examples // 3)
    def test_rules(self, a, rule, range):
        if range is None and a.size and abs(np.nan_to_num(a.astype("f8"))).max() > 1e4:
            range = (-4, 300)  # the rules would want very many bins
        check(masu.histogram, np.histogram, a, rule, range)
        check(masu.histogram_bin_edges, np.histogram_bin_edges, a, rule, range)

    @given(arrays(), bins(), ranges)
    @settings
    def test_edges(self, a, bins, range):
        check(masu.histogram_bin_edges, np.histogram_bin_edges, a, bins, range)

    @given(st.data(), st.sampled_from(INTEGERS + ["?"]), bins(), ranges)
    @settings
    def test_integer_weights(self, data, dtype, bins, range):
        a = data.draw(arrays(dimensions=(1, 1)))
        # Small ones: NumPy adds integers in f64 and turns the total back.
        weights = np.resize(values(np.random.default_rng(a.size), dtype, 9).astype("u1") % 100, a.size).astype(dtype)
        check(masu.histogram, np.histogram, a, bins, range, weights=weights)

    @given(arrays(dtypes=FLOATS, dimensions=(1, 1)), st.sampled_from(["f4", "f8"]))
    @settings
    def test_float_weights(self, a, dtype):
        weights = (np.random.default_rng(a.size).standard_normal(a.size) * 1e5).astype(dtype)
        given_edges = np.array([-2, -0.5, 0, 1, 4])
        counts, returned = masu.histogram(a, given_edges, weights=weights)
        expected, _ = outcome(np.histogram, a, given_edges, weights=weights)
        assert counts.dtype == expected[0].dtype
        assert_same(returned, given_edges)
        # NumPy's totals of float32 are rounded at each step.
        expected, _ = outcome(np.histogram, a, given_edges, weights=weights.astype("f8"))
        np.testing.assert_allclose(counts, expected[0], rtol=1e-6, atol=1e-6)
        if dtype == "f8":
            same_totals(a, weights, given_edges, counts)

    @given(arrays(dtypes=DTYPES, dimensions=(1, 1)), st.one_of(st.integers(0, 20), edges()), st.booleans())
    @settings
    def test_two_columns(self, a, bins, density):
        check(masu.histogram2d, np.histogram2d, a, a[::-1], bins, density=density)

    @given(arrays(dimensions=(1, 2)), st.integers(-1, 6), st.booleans())
    @settings
    def test_many_columns(self, a, bins, density):
        a = a[:, :3] if a.ndim == 2 else a
        check(masu.histogramdd, np.histogramdd, a, bins, density=density)

    @given(arrays(dtypes=["?", *INTEGERS, "f8"], dimensions=(1, 1)),
           st.sampled_from([0, 0, 3, 100, -1, *HUGE, 2.0, None]))
    @settings
    def test_bincount(self, a, minlength):
        if a.size and a.dtype.kind in "iu" and 1e4 < a.astype("f8").max() < 2.0**40:
            a = a % a.dtype.type(100)
        if minlength in HUGE:
            a = a[a >= 0]  # one error at a time
        check(masu.bincount, np.bincount, a, minlength=minlength)

    @given(arrays(), edges(), st.booleans())
    @settings
    def test_digitize(self, a, bins, right):
        check(masu.digitize, np.digitize, a, bins, right)


def stable(kind):
    return kind in ("stable", "mergesort")


METHODS = ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "hazen",
           "weibull", "closest_observation", "interpolated_inverted_cdf", "median_unbiased", "normal_unbiased", "no such"]
KINDS = st.sampled_from([None, "stable", "quicksort", "mergesort", "heapsort", "no such"])


class TestOrder:
    @given(arrays(), AXES, KINDS)
    @settings
    def test_sort(self, a, axis, kind):
        check(masu.sort, np.sort, a, axis, kind, bits=stable(kind))

    @given(arrays(), AXES, KINDS)
    @settings
    def test_argsort(self, a, axis, kind):
        if stable(kind) or kind == "no such" or a.ndim == 0:
            check(masu.argsort, np.argsort, a, axis, kind)
            return
        want, _ = outcome(np.argsort, a, axis, kind)
        if isinstance(want, Exception):
            check(masu.argsort, np.argsort, a, axis, kind)
            return
        got = masu.argsort(a, axis, kind)
        assert got.dtype == want.dtype and got.shape == want.shape
        if axis is None:
            a, axis = a.ravel(), 0
        np.testing.assert_array_equal(np.take_along_axis(a, got, axis), np.sort(a, axis))

    @given(arrays(), st.one_of(st.integers(-45, 45), st.lists(st.integers(-8, 8), max_size=3)), AXES)
    @settings
    def test_partition(self, a, kth, axis):
        want, _ = outcome(np.partition, a, kth, axis)
        if isinstance(want, Exception):
            check(masu.partition, np.partition, a, kth, axis)
            check(masu.argpartition, np.argpartition, a, kth, axis)
            return
        got, order = masu.partition(a, kth, axis), masu.argpartition(a, kth, axis)
        assert got.dtype == want.dtype and got.shape == want.shape and order.dtype == np.intp
        if a.ndim == 0 or not a.size:
            return
        if axis is None:
            a, axis = a.ravel(), 0
        np.testing.assert_array_equal(np.take_along_axis(a, order, axis), got)
        ordered = np.sort(a, axis)
        np.testing.assert_array_equal(np.sort(got, axis), ordered)
        for k in np.atleast_1d(kth) % a.shape[axis]:
            k = int(k)
            at = np.take(ordered, [k], axis)
            np.testing.assert_array_equal(np.take(got, [k], axis), at)
            low, high = np.split(got, [k], axis)
            assert (np.isnan(at) | ~(low > at)).all() if a.dtype.kind == "f" else (low <= at).all()
            assert not (high < at).any()

    @given(st.data(), arrays(), st.sampled_from(["left", "right", "middle"]), st.booleans())
    @settings
    def test_searchsorted(self, data, v, side, with_sorter):
        a = data.draw(arrays(dimensions=(1, 1)))
        sorter = np.argsort(a, kind="stable") if with_sorter else None
        check(masu.searchsorted, np.searchsorted, a if with_sorter else np.sort(a), v, side, sorter)

    @given(arrays(), *[st.booleans()] * 4, st.sampled_from([None, None, None, 0, 1, -1]))
    @settings
    def test_unique(self, a, index, inverse, counts, equal_nan, axis):
        check(masu.unique, np.unique, a, index, inverse, counts, axis, equal_nan=equal_nan, bits=False)

    @given(arrays(), AXES, st.booleans())
    @settings
    def test_median(self, a, axis, keepdims):
        check(masu.median, np.median, a, axis, keepdims=keepdims)

    @given(arrays(), st.one_of(st.floats(0, 1), st.sampled_from([-0.1, 1.5, math.nan]),
                               st.lists(st.floats(0, 1), max_size=4)), AXES, st.sampled_from(METHODS))
    @settings
    def test_quantile(self, a, q, axis, method):
        check(masu.quantile, np.quantile, a, q, axis, method=method)


def test_zeros_of_both_signs_in_f16():
    a = np.round(np.random.default_rng(0).standard_normal(4402)).astype("f2")
    ordered = np.sort(a, kind="stable")
    for limit in (0, 10**6):  # small ones, which are NumPy's, too
        masu._small.limit = limit
        assert_same(masu.sort(a), ordered)
    masu._small.limit = 0
    np.testing.assert_array_equal(masu.unique(a), np.unique(a.astype("f8")))


class TestSums:
    @given(arrays(dtypes=["?", *INTEGERS]), AXES, st.sampled_from([None, "i8", "u4"]))
    @settings
    def test_cumsum_of_integers(self, a, axis, dtype):
        check(masu.cumsum, np.cumsum, a, axis, dtype)

    @given(arrays(dtypes=["f8"], dimensions=(1, 1)))
    @settings
    def test_cumsum_of_floats(self, a):
        a = np.where(np.isfinite(a) & (abs(a) < 1e300), a, 1.0)[:100]
        assert masu.cumsum(a).tolist() == [math.fsum(a[: i + 1]) for i in range(a.size)]

    @given(arrays(dtypes=["f8"], dimensions=(1, 1)))
    @settings
    def test_sum(self, a):
        a = np.where(np.isfinite(a) & (abs(a) < 1e300), a, 1.0)
        assert masu.sum(a) == math.fsum(a)


@pytest.mark.parametrize("dtype", FOREIGN)
def test_foreign_dtypes_are_numpys(dtype):
    a = np.array([3, 1, 2, 1]).astype(dtype)
    check(masu.sort, np.sort, a)
    check(masu.argsort, np.argsort, a, kind="stable")
    check(masu.unique, np.unique, a, return_counts=True)
    check(masu.searchsorted, np.searchsorted, np.sort(a), a)
    check(masu.partition, np.partition, a, 2, bits=False)
    check(masu.histogram, np.histogram, a, 3)
    check(masu.bincount, np.bincount, a)
    check(masu.cumsum, np.cumsum, a)
    check(masu.median, np.median, a)


@pytest.mark.parametrize("a", [[], 1, [1, 2, "a"], None, "text", {}, [[1], [1, 2]], object(), b"bytes", np.array(3.0)])
def test_things_that_are_no_arrays(a):
    for name in ("histogram", "histogram_bin_edges", "bincount", "sort", "argsort", "unique", "median", "cumsum"):
        check(getattr(masu, name), getattr(np, name), a)


def test_views_of_what_is_not_there():
    """Arrays whose elements are one and the same, or none, and of absurd shapes."""
    same = np.lib.stride_tricks.as_strided(np.array([5], "i4"), (1000, 3), (0, 0))
    none = np.empty((2**40, 0, 3), "u1")
    for a in (same, none, np.broadcast_to(np.float32(2), (4, 5))):
        check(masu.sort, np.sort, a)
        check(masu.histogram, np.histogram, a)
        check(masu.unique, np.unique, a)
