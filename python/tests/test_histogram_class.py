# SPDX-License-Identifier: Apache-2.0
"""masu.Histogram: its numbers, and that other programs draw it as it is."""

import copy
import fractions
import math
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import masu

DATA = np.concatenate([np.random.default_rng(2).normal(size=500), [np.nan, np.inf, -np.inf, 9.0]])


def test_nothing_is_lost():
    h = masu.Histogram.of(DATA, bins=[-1, 0, 0.5, 2])
    assert h.counts().tolist() == np.histogram(DATA, [-1, 0, 0.5, 2])[0].tolist()
    assert h.below == np.count_nonzero(DATA < -1)
    assert h.above == np.count_nonzero(DATA > 2)
    assert h.nan == 1
    assert h.n == DATA.size
    assert len(h) == 3
    assert h.edges.tolist() == [-1, 0, 0.5, 2]
    assert h.cumulative().tolist() == np.cumsum(h.counts()).tolist()
    assert np.array_equal(h.density(), np.histogram(DATA, [-1, 0, 0.5, 2], density=True)[0])
    assert h.variances().tolist() == h.values().tolist() == h.counts().tolist()
    assert "below" in repr(h)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8", "u1", "?"])
@pytest.mark.filterwarnings("ignore")
def test_bins_over_the_finite_values(dtype):
    finite = DATA[np.isfinite(DATA)].astype(dtype)
    data = DATA.astype(dtype) if np.dtype(dtype).kind == "f" else finite
    h = masu.Histogram.of(data, bins=12)
    counts, edges = np.histogram(finite, 12)
    assert h.counts().tolist() == counts.tolist()
    assert h.edges.dtype == edges.dtype and h.edges.tobytes() == edges.tobytes()
    assert masu.Histogram.of(np.array([np.nan], "f4"), 2).edges.tolist() == [0, 0.5, 1]


def test_weights():
    weights = np.random.default_rng(4).normal(size=DATA.size)
    edges = [-1, 0.5, 2]
    h = masu.Histogram.of(DATA, edges, weights=weights)
    parts = [(DATA >= -1) & (DATA < 0.5), (DATA >= 0.5) & (DATA <= 2)]
    assert h.values().tolist() == [math.fsum(weights[p]) for p in parts]
    assert np.allclose(h.variances(), [math.fsum(weights[p] ** 2) for p in parts], rtol=1e-15)
    assert np.array_equal(h.counts(), h.values() ** 2 / h.variances())
    assert h.below == math.fsum(weights[DATA < -1])
    assert h.nan == math.fsum(weights[np.isnan(DATA)])
    assert h.weighted and (h + h).values().tolist() == (2 * h.values()).tolist()
    whole = masu.Histogram.of(DATA, edges, weights=np.full(DATA.size, 3))
    assert whole.totals().dtype == np.int64 and whole.n == 3 * DATA.size


def test_sums_equality_copies_and_pickles():
    halves = [masu.Histogram.of(part, 5, (-2, 2)) for part in np.array_split(DATA, 2)]
    both = masu.Histogram.of(DATA, 5, (-2, 2))
    assert sum(halves) == both == halves[0] + halves[1] and both != halves[0]
    weighted = masu.Histogram.of(DATA, 5, (-2, 2), weights=DATA)
    for h in (both, weighted):
        assert pickle.loads(pickle.dumps(h)) == h == copy.deepcopy(h)
    with pytest.raises(ValueError, match="equal edges"):
        both + masu.Histogram.of(DATA, 5, (-2, 3))
    with pytest.raises(ValueError, match="weights"):
        both + weighted
    with pytest.raises(TypeError):
        both + 1
    with pytest.raises(ValueError):
        both.counts()[0] = 1
    with pytest.raises(ValueError, match="n \\+ 1 edges"):
        masu.Histogram([1, 2], [0, 1])
    with pytest.raises(TypeError, match="a dtype that masu has"):
        masu.Histogram.of(DATA.astype(complex))


def test_integers_that_do_not_fit():
    def of(*weights):
        return masu.Histogram.of(np.arange(len(weights)), len(weights), weights=np.array(weights))

    large = of(2**62, 2**62)
    assert large.n == 2**63 and large.density().tolist() == [1.0, 1.0] and f"n {2**63}" in repr(large)
    with pytest.raises(ValueError, match="the total of bin 1 must fit int64"):
        large.cumulative()
    with pytest.raises(ValueError, match="the total of bin 1 must fit int64"):
        of(5, 2**62) + of(-7, 2**62)
    with pytest.raises(ValueError, match="the total of bin 0 must fit int64"):
        of(-2**62, 0) + of(-2**62 - 1, 0)
    assert (of(-2**62, 2**62) + of(-2**62, 2**62 - 1)).totals().tolist() == [-2**63, 2**63 - 1]
    unsigned = of(np.uint64(2**63), np.uint64(1))
    with pytest.raises(ValueError, match="the total of bin 0 must fit uint64"):
        unsigned + unsigned
    assert (large + unsigned).totals().tolist() == [2**62 + 2**63, 2**62 + 1]
    assert (unsigned + of(-1, -3)).totals().tolist() == [2**63 - 1, -2]
    with pytest.raises(ValueError, match="must fit 64 bits"):
        unsigned + of(1, -2)
    small = masu.Histogram(np.array([250, 9], "u1"), [0, 1, 2])
    assert (small + small).totals().tolist() == [500, 18] and small.cumulative().tolist() == [250, 259]


def test_totals_of_weights_that_cancel():
    weights = [1e16, 1.0, -1e16]
    h = masu.Histogram.of([0.5, 1.5, 2.5], [0, 1, 2, 3], weights=weights)
    assert h.n == h.sum(flow=True).value == 1.0 and h.cumulative().tolist() == [1e16, 1e16, 1.0]
    beside = masu.Histogram.of([0.5, 9.0, np.nan, -1.0], [0, 1], weights=[1e16, 1.0, -1e16, 2.0**-60])
    assert beside.n == 1.0 + 2.0**-60 == 1.0 and beside.cumulative().tolist() == [1e16]
    assert masu.JointHistogram.of([[0.5, 7.0, np.nan]] * 2, 1, [(0, 1)] * 2, weights=weights).n == 1.0
    assert masu.JointHistogram.from_uhi(masu.Histogram([2**63 - 1, 2**63 - 1], [0, 1, 2])).n == 2**64 - 2


def test_integers_are_found_between_edges_of_integers():
    for dtype, first in (("i8", 2**53), ("u8", 2**63), ("i8", -2**63)):
        axis = masu.Bins(np.arange(5, dtype=dtype) + np.array(first, dtype))
        assert [axis.index(first + i) for i in range(-1, 6)] == [-1, 0, 1, 2, 3, 3, 4]
        assert axis.index(np.array(first + 1, dtype)[()]) == 1 and axis.index(10**30) == 4 and axis.index(-(10**30)) == -1
    assert masu.Histogram([1, 2], np.array([0, 2**53, 2**53 + 1]))[masu.loc(2**53 - 1)] == 1


def test_flow_bins_that_are_not_there_have_no_variance():
    for underflow, overflow in ((False, True), (True, False), (False, False)):
        axis = masu.Bins([0, 1, 2], underflow=underflow, overflow=overflow)
        h = masu.Histogram.of([-1.0, 0.5, 7.0, np.nan], axis, weights=[2.0, 3.0, 4.0, 5.0])
        assert (h.below, h.above, h.nan, h.n) == (2 * underflow, 4 * overflow, 5, 8 + 2 * underflow + 4 * overflow)
        assert masu.Histogram.from_uhi(h.to_uhi()) == masu.Histogram.frombytes(h.tobytes()) == h


def test_axes():
    (axis,) = masu.Histogram.of(DATA, [-1, 0, 2]).axes
    assert len(axis) == 2 and list(axis) == [(-1, 0), (0, 2)] == [axis[0], axis[-1]]
    assert axis == masu.Histogram.of(DATA, [-1, 0, 2]).axes[0] != masu.Histogram.of(DATA, [-1, 0, 3]).axes[0]
    assert not axis.traits.circular and not axis.traits.discrete
    with pytest.raises(IndexError):
        axis[2]


def test_follows_scikit_heps_protocol():
    plottable = pytest.importorskip("uhi.typing.plottable")
    h = masu.Histogram.of(DATA, 5)
    assert isinstance(h, plottable.PlottableHistogram)
    assert isinstance(h.axes[0], plottable.PlottableAxisGeneric)
    assert isinstance(h.axes[0].traits, plottable.PlottableTraits)


def test_is_drawn_by_matplotlib():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    h = masu.Histogram.of(DATA, 5)
    drawn = pyplot.stairs(*h.to_numpy()).get_data()
    assert np.array_equal(drawn.values, h.values()) and np.array_equal(drawn.edges, h.edges)
    pyplot.close("all")


@pytest.mark.filterwarnings("ignore")
def test_is_drawn_by_mplhep():
    mplhep = pytest.importorskip("mplhep")
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    h = masu.Histogram.of(DATA, 5)
    drawn = mplhep.histplot(h, yerr=False)[0].stairs.get_data()
    assert np.array_equal(drawn.values, h.values()) and np.array_equal(drawn.edges, h.edges)
    pyplot.close("all")


def test_the_example_draws_its_charts(tmp_path):
    pytest.importorskip("mplhep")
    pytest.importorskip("PIL")
    example = pathlib.Path(__file__).parents[1] / "examples" / "histograms.py"
    subprocess.run([sys.executable, example, tmp_path], check=True)
    assert len(list(tmp_path.glob("*.svg"))) == 4


@pytest.mark.parametrize("a,options,kind,words", [
    (["a", "b"], {}, TypeError, "got <U1; texts need bins=masu.Bins.categories"), (np.array(["a"], object), {}, TypeError, "got object of str; texts need"),
    ((x for x in range(3)), {}, TypeError, "got object of generator$"), ({1, 2}, {}, TypeError, "got object of set$"), (None, {}, TypeError, "got object of NoneType$"),
    ([2**70], {}, TypeError, "got object of int$"), (np.array([], object), {}, TypeError, "got object$"), ("file.csv", {}, TypeError, "got <U8$"),
    ([1, 2], {"range": (1, 2, 3)}, ValueError, r"range must be two numbers, got \(1, 2, 3\)"), ([1, 2], {"range": "0:5"}, ValueError, "range must be two numbers, got '0:5'"),
    (np.array(["2026-01-01"], "M8[D]"), {}, TypeError, "take the numbers of dates")])
def test_messages_of_odd_data(a, options, kind, words):
    with pytest.raises(kind, match=words):
        masu.Histogram.of(a, 2, **options)


def test_what_an_infinite_bin_has_is_beside_the_others_where_it_is_cut():
    for bins in ([-np.inf, 0, 1, 2], [0, 1, 2, np.inf], [-np.inf, 0, 1, np.inf]):
        h = masu.Histogram.of([-5, 0.5, 0.6, 1.5, 9], bins)
        for part in (h[1:], h[:2], h[1:2], h[1::masu.rebin(2)], h[1:][:1]):
            assert part.n == h.n == 5 and part == masu.Histogram.of([-5, 0.5, 0.6, 1.5, 9], part.edges)
        j = masu.JointHistogram.of(([-5, 0.5, 0.6, 1.5, 9], [1.0, 2, 3, 4, 5]), [masu.Bins(bins), masu.Bins([0, 3, np.inf])])
        part = j[1:, :1]
        assert part.n == j.n == 5 and part.project(0) == h[1:] and part.values(flow=True).sum() == 5
        assert h[::masu.rebin(3)] == masu.Histogram.of([-5, 0.5, 0.6, 1.5, 9], bins[::3])


@pytest.mark.parametrize("divisor", [3, np.int8(3), np.float64(3), np.float32(3), np.float16(3), fractions.Fraction(3)])
def test_a_divisor_of_any_kind_divides_what_is_in_no_bin(divisor):
    points = [[0.5, 9.0, np.nan], [0.5, 0.5, 0.5]]
    for h in (masu.Histogram.of(points[0], 2, (0, 2)), masu.JointHistogram.of(points, (2, 3), ((0, 2), (0, 3)))):
        found = h / divisor
        assert found == h / 3.0 and found.nan == 1 / 3 and type(found.nan) is float
        assert type(found).from_uhi(found.to_uhi()) == found == type(found).frombytes(found.tobytes())


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "f2", "i4", "f4", "f8"])
@pytest.mark.filterwarnings("ignore")
def test_categories_beside_small_numbers(dtype):
    names, numbers = ["a", "b", "z", "b"], np.array([1, 0, 1, 3], dtype)
    bins = [masu.Bins.categories(["a", "b"]), masu.Bins([0, 1, 2])]
    found = masu.JointHistogram.of((names, numbers), bins).values(flow=True).tolist()
    assert found == [[0, 0, 1, 0], [0, 1, int(dtype == "?"), int(dtype != "?")], [0, 0, 1, 0]]


def test_messages_of_odd_bins_and_indices():
    for bins in ([1], [], np.array([1.5])):
        with pytest.raises(TypeError, match=f"there must be at least two edges, got {len(bins)}$"):
            masu.Histogram.of([1, 2], bins)
    with pytest.raises(TypeError, match="an index must be an integer, a tag such as masu.loc"):
        masu.Histogram.of([1, 2], 2)[np.array([0, 1])]
    for index in (slice(0, 2), 1.0, "a"):
        with pytest.raises(TypeError, match="RowHistograms: an index must be an integer, got"):
            masu.RowHistograms.of([[1, 2], [3, 4]], 2, (0, 4))[index]
    for offsets in ([-1, 2], np.array([0, -(2**63)]), np.array([0, -1, 2], "i1")):
        with pytest.raises(ValueError, match=f"segment_sum: offsets must not be negative, got {min(offsets)}$"):
            masu.segment_sum([1, 2, 3], offsets)
