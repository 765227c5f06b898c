# SPDX-License-Identifier: Apache-2.0
"""histogram, histogram2d, histogramdd, histogram_bin_edges, bincount and digitize beside NumPy's, bit for bit."""

import doctest
import importlib
import itertools
import math
import warnings

import numpy as np
import pytest

import masu

DTYPES = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", ">f4", ">i2", "c8", "O", "g"]


@pytest.fixture(autouse=True)
def masu_itself(monkeypatch):
    monkeypatch.setattr(masu._small, "limit", 0)


def outcome(function, args, options):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", masu.Fallback)
        try:
            value = function(*args, **options)
        except Exception as error:
            value = error
    return value, [(w.category, str(w.message)) for w in seen]


def arrays(value):
    if isinstance(value, (np.ndarray, np.generic)):
        return [value]
    return [array for part in value for array in arrays(part)]


def same(name, *args, **options):
    """masu's function and NumPy's give the same arrays, warnings and errors."""
    got, got_warnings = outcome(getattr(masu, name), args, options)
    want, want_warnings = outcome(getattr(np, name), args, options)
    told = (name, args, options, got, want)
    if isinstance(got, Exception) or isinstance(want, Exception):
        assert (type(got), str(got)) == (type(want), str(want)), told
        return
    assert type(got) is type(want), told
    for mine, theirs in zip(arrays(got), arrays(want), strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), told
        assert np.array_equal(mine, theirs, equal_nan=theirs.dtype.kind in "fc"), told
    assert got_warnings == want_warnings, told


def sample(dtype, size=2000):
    return (np.random.default_rng(7).normal(size=size) * 20 + 50).astype(dtype)


BINS = [
    {},
    {"bins": 37},
    {"bins": 20, "range": (3, 60.5)},
    {"bins": 20, "range": (-3, 60)},
    {"bins": 20, "range": (-3.25, np.float64(60))},
    {"bins": 20, "range": (np.float32(1.1), np.float32(60))},
    {"bins": [0, 1, 5.5, 20, 100]},
    {"bins": np.array([0, 1, 5, 20, 20], "i4")},
    {"bins": "sqrt"},
    {"bins": "auto", "range": (40, 60)},
    {"bins": 5, "density": True},
    {"bins": [0, np.inf]},
    {"range": (5, 5)},
    {"bins": 100_000},
    # what NumPy refuses, or answers in its own way
    {"bins": 0},
    {"bins": 2.5},
    {"bins": "x"},
    {"bins": [3, 2]},
    {"bins": []},
    {"bins": [1]},
    {"bins": [[1, 2]]},
    {"range": (3, 1)},
    {"range": (0, np.inf)},
    {"range": (0, 1e-300), "bins": 1_000_000},
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
def test_histogram_is_numpys(dtype):
    data = sample(dtype)
    for options in BINS:
        same("histogram", data, **options)
        same("histogram", data[:0], **options)
        same("histogram_bin_edges", data, **{k: v for k, v in options.items() if k != "density"})


@pytest.mark.parametrize("dtype", ["u1", "i8", "f2", "f8"])
def test_memory_order_strides_and_kinds_of_input(dtype):
    data = sample(dtype, 2520).reshape(7, 40, 9)
    read_only = data.copy()
    read_only.setflags(write=False)
    columns = np.asfortranarray(data)
    for view in (data.T, data[::2, ::-3], columns, read_only, data[0, 0, 0], data[:, 1:2], data.tolist()):
        same("histogram", view, 12)
        same("histogram", view, [0, 30, 50.5, 70])


def test_ends_of_64_bit_integers():
    for dtype in ("i8", "u8"):
        top = np.iinfo(dtype).max
        data = np.array([0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, top - 1, top], dtype)
        for options in (
            {"bins": 7},
            {"bins": 4, "range": (0, 2**53)},
            {"bins": 4, "range": (0.0, float(2**53))},
            {"bins": np.array([0, 2**53 - 1, 2**53], dtype)},
            {"bins": np.array([0, 2**53, 2**53 + 1, top], dtype)},
            {"bins": [0.0, 2.0**53]},
        ):
            same("histogram", data, **options)
        # here NumPy's guess of a bin ends elsewhere than a search, or fails
        for bins in (1, 3, 10, 100):
            same("histogram", np.arange(top - 99, top, dtype=dtype), bins)
            same("histogram", np.arange(top // 2, top // 2 + 99_900, 999, dtype=dtype), bins)


def test_ends_of_float16():
    data = np.random.default_rng(0).normal(size=3000).astype("f2") * np.float16(0.02)
    for ends in ((-0.011246, 0.00833), (np.float16(-0.011246), np.float16(0.00833)), (-0.01, np.float64(0.01))):
        same("histogram", data, 700, ends)


def test_values_that_are_not_finite():
    data = np.array([1.0, 2, np.nan, np.inf, -np.inf, 3, -0.0], "f4")
    same("histogram", data)
    same("histogram", data, 4, (0, 3))
    same("histogram", data, [0, 1, np.inf])
    same("histogram", data, [-np.inf, 1, 2])
    same("histogramdd", data.reshape(-1, 1), 3)
    same("histogramdd", np.stack([data, data], 1), 3, [(0, 3), (0, 3)])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_values_at_the_edges(dtype):
    kind = np.dtype(dtype).type
    for low, high, bins in ((0, 1, 10), (-0.1, 0.7, 7), (1e-3, 12.3, 100), (-1, 1, 3)):
        edges = np.histogram_bin_edges(np.array([low, high], dtype), bins)
        near = np.concatenate([np.nextafter(edges, kind(-np.inf)), edges, np.nextafter(edges, kind(np.inf))])
        same("histogram", near.astype(dtype), bins, (low, high))
        same("histogram", near.astype(dtype), edges)
        same("histogram", near.astype(dtype), bins)


def test_edges_of_any_layout():
    """Strided, of the other byte order, of small integers; and the same even bins asked for again and again."""
    x, edges = sample("f4"), np.array([-1, 0.5, 7, 30, 80])
    for odd in (np.repeat(edges, 2)[::2], edges[::-1].copy()[::-1], edges.astype(">f8"), edges.astype("i1"), edges.tolist()):
        same("histogram", x, odd)
        same("histogram2d", x, x[::-1], (odd, odd))
        same("histogram", x, odd, weights=np.arange(x.size))
    for _ in range(2):
        for ends in ((0, 1), (0.0, 1.0), (-1.0, 0.0), (-1.0, -0.0), (-1, 0), [0, 1], (False, True), (-1e300, 1e300), (0, 1e-320)):
            for data in (x, x.astype("f2"), x.astype("i4"), x.astype("f8")):
                same("histogram", data, 10, ends)
                same("histogram_bin_edges", data, 10, ends)
    masu.histogram(x, 5, (0, 50))[1][:] = 0  # the result is the caller's
    same("histogram", x, 5, (0, 50))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["?", "u1", "i8", "f2", "f4", "f8", "O"])
def test_joint_histograms_are_numpys(dtype):
    x = sample(dtype, 600)
    points = x.reshape(-1, 2)
    edges = [[0, 1, 5.5, 80], [1, 2, 3, 100]]
    for bins in (5, [5, [0, 10, 50, 100]], edges, [0, 1, 2], 0, [5, 0], [1, 2.5], [3, [3, 2]], [5]):
        for ends in (None, [[0, 50], [0, 50]], [None, (0.1, 50)], [(3, 1), None]):
            same("histogram2d", x, x[::-1], bins, ends)
            same("histogramdd", points, bins, ends, True)
            same("histogramdd", np.asfortranarray(points), bins, ends)
            same("histogramdd", points[:0], bins, ends)
    same("histogram2d", x, x[1:])
    same("histogramdd", [x, x, x], 3)
    same("histogramdd", points.tolist()[:2], 3)


def test_edges_of_ranges_beyond_64_bits():
    for dtype in ("u1", "i8", "f4"):
        for ends in ((0, 2**63), (-1, 2**64), (-2**70, 2**70)):
            same("histogram_bin_edges", sample(dtype), 5, ends)
            same("histogram", sample(dtype), 5, ends)


def test_bins_of_float16():
    """Far from each other, where a search in the edges does, and near, where NumPy's arithmetic decides."""
    rng = np.random.default_rng(16)
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    every = np.sort(every[np.isfinite(every)])
    for _ in range(40):
        low, high = np.sort((rng.standard_normal(2) * 2.0 ** rng.integers(-18, 14)).astype(np.float16))
        inside = every[(every >= low) & (every <= high)]
        for bins in rng.integers(1, 160, 3).tolist():
            for data in (inside[::7], inside):
                same("histogram", data, bins)
                same("histogram", data, bins, (float(low), float(high)))
                same("histogram", data, bins, (float(low), float(high)), weights=np.ones(data.size, "i4"))


def test_more_bins_than_there_is_memory_for():
    for bins in (2**62, 2**70):
        for dtype in ("u1", "f8"):
            same("histogram", sample(dtype), bins)
            same("histogram2d", sample(dtype), sample(dtype), bins)
            same("histogram_bin_edges", sample(dtype), bins)
            same("histogram", sample(dtype).reshape(2, -1)[:, ::2], bins, weights=sample("f8").reshape(2, -1)[:, ::2])


def test_every_call_warns_of_truth_values():
    for _ in range(2):  # edges are kept
        same("histogram_bin_edges", sample("?"), 5, (0, 1))
        same("histogram", sample("?"), 5, (0, 1))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_steps_of_subnormal_size(dtype):
    """NumPy's edges are rounded to multiples of the least number, its guess of a bin is not."""
    rng = np.random.default_rng(11)
    least = float(np.finfo(dtype).smallest_subnormal)
    for low, bins in ((-14, 23), (-10, 23), (0, 10), (-100, 300)):
        ends = (low * least, (low + bins + 17) * least)
        data = (rng.integers(low - 3, low + bins + 20, 2000) * least).astype(dtype)
        inside = data[(data >= ends[0]) & (data <= ends[1])]
        for options in ({"range": ends}, {"range": tuple(map(np.dtype(dtype).type, ends))}):
            same("histogram", data, bins, **options)
            same("histogram", data, bins, **options, weights=np.ones(data.size))
        same("histogram", inside, bins)
        same("histogram", inside, bins, weights=np.ones(inside.size))


def test_columns_without_a_common_dtype():
    x = sample("i4")
    for other in (x.astype("M8[s]"), x.view("V4")):
        got, want = (outcome(module.histogram2d, (x, other, 3), {})[0] for module in (masu, np))
        assert type(got) is type(want) is TypeError, (got, want)


def test_masked_elements_are_left_out(monkeypatch):
    """NumPy counts them (issue 10019), and refuses a range that a masked NaN has part in."""
    a = np.ma.array([1, 2, np.nan, 3], mask=[0, 0, 1, 0])
    weights = np.array([1.0, 2, 4, 8])
    for limit in (0, 4096):
        monkeypatch.setattr(masu._small, "limit", limit)
        for rule in (3, [1, 2, 3, 4], "sqrt"):
            for mine, theirs in zip(masu.histogram(a, rule), np.histogram(a.compressed(), rule)):
                np.testing.assert_array_equal(mine, theirs)
            np.testing.assert_array_equal(masu.histogram_bin_edges(a, rule), np.histogram_bin_edges(a.compressed(), rule))
        assert masu.histogram(a, 3)[0].tolist() == [1, 1, 1] and masu.histogram(a, 3, weights=weights)[0].tolist() == [1, 2, 8]
        assert masu.histogram(a, 3, weights=np.ma.array(weights, mask=[1, 0, 0, 0]))[0].tolist() == [2, 0, 8]
        assert masu.histogram(np.tile(a.data, (3, 1)), 3, weights=np.ma.array(np.tile(weights, (3, 1)), mask=np.tile(a.mask, (3, 1))))[0].sum() == 33
        assert masu.histogram(np.ma.array([1, 2]), 2)[0].tolist() == [1, 1]
        with pytest.raises(ValueError, match="masked elements"):
            masu.histogram(a.reshape(2, 2), 3, axis=1)


def test_masked_points_are_numpys():
    points = np.ma.array([[1], [2], [1], [0], [2], [0]], mask=[[0]] * 4 + [[1], [0]])
    same("histogramdd", points, 3)
    same("histogram", np.empty(0, "c8"), weights=np.empty(0))


def test_columns_of_different_dtypes():
    x, y = sample("i4"), sample("f4")
    same("histogram2d", x, y, 20)
    same("histogram2d", y, sample("f8"), 20, [[0, 100], [10, 90]])
    same("histogramdd", (x, y, sample("u1")), (3, [0, 50, 100], 4))
    same("histogramdd", [y] * 9, 2)
    for dtypes in itertools.permutations(["u2", "i2", "f2"]):  # u2 and i2 are i4, and f8 with f2; u2 and f2 are f4
        same("histogramdd", tuple(map(sample, dtypes)), 5)


def exact(data, edges, weights):
    place = np.minimum(np.searchsorted(edges, data, "right") - 1, len(edges) - 2)
    held = (data >= edges[0]) & (data <= edges[-1])
    return [math.fsum(weights[held & (place == i)].astype("f8")) for i in range(len(edges) - 1)]


@pytest.mark.parametrize("bins", [6, [0, 20, 50.5, 80]])
def test_totals_of_weights(bins):
    data = sample("f8")
    for dtype in ("i1", "u2", "i4", "u8", "i8"):
        weights = (abs(data) * 3).astype(dtype)
        same("histogram", data, bins, weights=weights)
    for dtype in ("f2", "f4", "f8", ">f8"):
        weights = np.random.default_rng(3).normal(size=data.size).astype(dtype)
        totals, edges = masu.histogram(data, bins, weights=weights)
        assert totals.dtype == np.histogram(data, bins, weights=weights)[0].dtype
        assert totals.tolist() == np.array(exact(data, edges, weights)).astype(dtype).tolist()
    for weights in (data > 50, data.astype(object), data.astype("g"), data[1:], "x"):
        same("histogram", data, bins, weights=weights)
    totals, edges = masu.histogram(data, bins, weights=data - 0.1j)
    assert totals.real.tolist() == exact(data, edges, data)
    assert totals.imag.tolist() == exact(data, edges, np.full(data.size, -0.1))
    totals, edges = masu.histogram(data, bins, weights=data, density=True)
    assert np.allclose((totals * np.diff(edges)).sum(), 1)


@pytest.mark.parametrize("dtype", ["u1", "i4", "u8", "i8", "f2", "f4", "f8"])
def test_totals_in_even_bins(dtype):
    random = np.random.default_rng(4)
    low, high = (-3, 5) if dtype[0] == "f" or dtype[0] == "i" else (0, 9)
    for size, bins, span in [(300, 40, None), (300, 7, (0, 4)), (300, 7, (0.5, 4.25)), (20, 340 if dtype == "f2" else 3000, None), (200, 100, (0.1, 0.7))]:
        data = random.uniform(low, high, size).astype(dtype) if dtype[0] == "f" else random.integers(low, high, size, dtype)
        edges = np.histogram_bin_edges(data, bins, span)
        with np.errstate(all="ignore"):  # values on the edges, and beside them
            data[: size // 2] = random.choice(edges, size // 2).astype(dtype)
            if dtype[0] == "f":
                data[: size // 4] = np.nextafter(data[: size // 4], data.dtype.type(random.choice([-9, 9])))
        counts = np.histogram(data, bins, span)[0]
        for by in ("i2", "u8", "i8", "f2", "f4", "f8"):
            totals, found = masu.histogram(data, bins, span, weights=np.ones(size, by))
            assert totals.dtype == by and totals.tolist() == counts.tolist()
            same("histogram_bin_edges", data, bins, span)
            assert found.tolist() == np.histogram_bin_edges(data, bins, span).tolist()
        if dtype != "f2":
            weights = random.normal(size=size) * 10.0 ** (np.arange(size) % 17)
            for by in (weights, weights.astype("f4"), np.where(np.arange(size) % 50, weights, np.inf)):
                totals, edges = masu.histogram(data, bins, span, weights=by)
                assert totals.tolist() == np.array(exact(data, edges, by)).astype(by.dtype).tolist()
        if span is None and bins == 40:
            counts, *_ = np.histogram2d(data, data[::-1].copy(), bins)
            for by in (np.ones(size), np.ones(size, "u8"), np.ones(size, "f2")):
                totals, *found = masu.histogram2d(data, data[::-1].copy(), bins, weights=by)
                assert totals.tolist() == counts.tolist()
                assert [e.tolist() for e in found] == [e.tolist() for e in np.histogram2d(data, data[::-1], bins)[1:]]
                assert [e.dtype for e in found] == [e.dtype for e in np.histogram2d(data, data[::-1], bins)[1:]]
    wide = np.full(3, 2**63 + 1, "u8")
    assert masu.histogram2d(data[:3], data[:3], 2, weights=wide)[0].sum() == 3 * (2**63 + 1)
    assert masu.histogram(data[:3], 1, weights=wide)[0].tolist() == [(3 * (2**63 + 1)) % 2**64]


def test_totals_of_points_and_counts():
    x, y = sample("f8"), sample("f8")[::-1]
    cancels = np.random.default_rng(5).normal(size=x.size) * 10.0 ** np.arange(x.size).__mod__(17)
    totals, x_edges, y_edges = masu.histogram2d(x, y, (1, 4), weights=cancels)
    assert totals.tolist() == [exact(y, y_edges, cancels)]
    totals = masu.histogramdd(x.reshape(-1, 1), 4, weights=cancels)[0]
    assert totals.tolist() == exact(x, np.histogram_bin_edges(x, 4), cancels)
    values = np.arange(x.size) % 5
    got = masu.bincount(values, cancels, 7)
    assert got.tolist() == [math.fsum(cancels[values == i]) for i in range(7)]
    same("bincount", values, np.arange(x.size, dtype="i2"))
    same("bincount", values, cancels[1:])
    same("bincount", values, cancels + 1j)
    same("bincount", values, cancels, minlength=2**64)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f2", "f4", ">f8"])
@pytest.mark.parametrize("axis", [0, 1, -1, (1, 2), (0, 1), (3, 0), (0, 1, 2, 3), ()])
def test_one_histogram_for_each_remaining_position(dtype, axis):
    data = sample(dtype, 3 * 40 * 4 * 5).reshape(3, 40, 4, 5)
    weights = np.random.default_rng(1).integers(-9, 9, size=data.shape)
    axes = (axis,) if isinstance(axis, int) else axis
    axes = tuple(i % 4 for i in axes)
    rest = tuple(i for i in range(4) if i not in axes)
    shape = tuple(data.shape[i] for i in rest)
    flat = data.transpose(rest + axes).reshape(math.prod(shape), -1)
    by = weights.transpose(rest + axes).reshape(flat.shape)
    ends = np.array([data.min(), data.max()], data.dtype)
    hist, edges = masu.histogram(data, 7, axis=axis)
    totals, _ = masu.histogram(data, 7, axis=axis, weights=weights)
    assert edges.tobytes() == np.histogram_bin_edges(data, 7).tobytes()
    assert hist.shape == totals.shape == (*shape, 7)
    for values, w, counts, sums in zip(flat, by, hist.reshape(-1, 7), totals.reshape(-1, 7), strict=True):
        # with both ends added, NumPy finds the same bins
        more = np.concatenate([values, ends]).astype(data.dtype)
        assert counts.tolist() == (np.histogram(more, 7)[0] - np.histogram(ends, 7)[0]).tolist()
        assert sums.tolist() == np.histogram(more, 7, weights=np.concatenate([w, [0, 0]]))[0].tolist()
    if data.dtype.kind in "iu":
        data = abs(data)
        counts = masu.bincount(data, axis=axis)
        want = [np.bincount(v, minlength=int(data.max()) + 1) for v in data.transpose(rest + axes).reshape(flat.shape)]
        assert np.array_equal(counts, np.reshape(want, counts.shape)) and counts.shape[:-1] == shape


def test_axes_of_nothing_and_wrong_ones():
    assert masu.histogram(np.empty((3, 0)), 4, axis=1)[0].tolist() == [[0] * 4] * 3
    assert masu.histogram(np.empty((0, 3)), 4, axis=1)[0].shape == (0, 4)
    assert masu.bincount(np.empty((2, 0), int), minlength=3, axis=1).tolist() == [[0, 0, 0]] * 2
    assert np.allclose(masu.histogram(np.eye(4), 2, axis=0, density=True)[0].sum(axis=1) * 0.5, 1)
    for wrong in (2, (0, 0)):
        with pytest.raises(ValueError):
            masu.histogram(np.ones((2, 2)), axis=wrong)
    with pytest.raises(TypeError, match="with axis the data must be of a dtype that masu has|bincount: axis needs"):
        masu.histogram(np.ones((2, 2), object), axis=0)
    with pytest.raises(TypeError, match="with axis the data must be of a dtype that masu has|bincount: axis needs"):
        masu.bincount(np.ones((2, 2)), axis=0)
    with pytest.raises(ValueError):
        masu.histogram(np.ones((2, 2)), axis=0, weights=np.ones(2))
    with pytest.raises(TypeError, match="with axis this range is not supported for data of float64"):
        masu.histogram(np.ones((2, 2)), 23, (-14 * 5e-324, 12 * 5e-324), axis=0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
def test_bincount_is_numpys(dtype):
    data = sample(dtype)
    for values in (data, data if dtype == "?" else abs(data), data[::3], data[:0], data[:1], data.reshape(2, -1)):
        same("bincount", values)
        same("bincount", values, None, 200)
        same("bincount", values, minlength=-1)
        same("bincount", values, minlength=None)
        same("bincount", values, minlength=2.5)


def test_bincount_of_values_that_a_sample_does_not_show():
    data = np.zeros(100_000, int)
    data[12_345] = 70_000
    same("bincount", data)
    data[12_346] = -1
    same("bincount", data)
    same("bincount", np.arange(100_000))
    same("bincount", [2**40, -3])


def test_bincount_of_the_greatest_values():
    """They are refused before NumPy is asked, which does not check all of them (2.4.6). These it does check."""
    for most in (2**62 - 1, 2**62, 2**62 + 12345):
        data = np.array([1, most])
        for weights in (None, np.ones(2), np.ones(2, "i8"), np.ones(2, "f2")):
            with pytest.raises(ValueError, match="array is too big"):
                masu.bincount(data, weights)
    with pytest.raises(ValueError, match="at most 2147483648 counts in a row, got 1099511627777"):
        masu.bincount(np.array([[2**40, 1]]), axis=0)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
def test_integers_far_outside_of_the_bins(dtype):
    info = np.iinfo(dtype)
    data = np.array([info.min, info.max, 0, 1, 6, 7, 8, 100], dtype)
    more = [value for value in (-1, 2**31, 2**32, 2**32 + 3, -(2**32) + 3) if info.min <= value <= info.max]
    data = np.concatenate([data, np.array(more, dtype)] * 41)
    counts, extras = np.empty(7, np.int64), np.empty(3, np.int64)
    masu._masu.histogram(data, masu._masu.integer_bins(7), 1, 1, counts, extras, masu.Device("cpu"))
    assert counts.tolist() == [np.count_nonzero(data == i) for i in range(7)]
    assert extras.tolist() == [np.count_nonzero(data < 0), np.count_nonzero(data >= 7), 0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
def test_digitize_is_numpys(dtype):
    data = sample(dtype)
    same_dtype = np.array([1, 5, 50], "u1" if dtype == "?" else dtype)
    for bins in (
        [0, 1, 5.5, 20, 100],
        [0, 1, 5, 20, 300],
        [100, 50, 2, -70000],
        [1e300, 49.5, -1e300],
        [-(2**40), 2**40],
        [2**60, 2**62],
        same_dtype,
        np.array([3, 7], "f2"),
        np.array([0.1, 50.7], ">f4"),
        [2, 2, 2],
        [5],
        [],
        [3, 1, 2],
        [0, np.nan],
        [[1, 2]],
        [True, False],
    ):
        for right in (False, True):
            same("digitize", data, bins, right)
            same("digitize", data.reshape(2, -1).T, bins, right)


@pytest.mark.filterwarnings("ignore:overflow")
def test_digitize_of_values_at_the_edges():
    bins = [0.1, 0.2, 0.7, 1e-46, 65504.5]
    for dtype in ("f2", "f4", "f8"):
        near = np.array(sorted(bins)).astype(dtype)
        kind = near.dtype.type
        next_ones = [np.nextafter(near, kind(-np.inf)), np.nextafter(near, kind(np.inf))]
        near = np.concatenate([near, *next_ones, [kind(np.nan)]])
        for right in (False, True):
            same("digitize", near, sorted(bins), right)
    same("digitize", 3, [1, 2])


def test_small_input_is_counted_without_the_functions_for_much(monkeypatch):
    data = sample("f4", 100)
    by_masu = masu.histogram(data, 9), masu.bincount(abs(data).astype(int))
    monkeypatch.setattr(masu._small, "limit", 4096)
    monkeypatch.delattr(masu._masu, "histogram")
    again = masu.histogram(data, 9), masu.bincount(abs(data).astype(int))
    for mine, theirs in zip(arrays(by_masu), arrays(again), strict=True):
        assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs)


@pytest.mark.parametrize("module", ["_bincount", "_histogram", "_histogram_class", "_joint"])
def test_examples_of_the_docstrings(module):
    failed, tried = doctest.testmod(importlib.import_module(f"masu.{module}"))
    assert tried > 0 and failed == 0
