# SPDX-License-Identifier: Apache-2.0
"""Histograms as objects: flow bins, slices, projections, arithmetic, and other programs' histograms."""

import copy
import inspect
import itertools
import json
import math
import pickle
import random

import numpy as np
import pytest

import masu

RNG = np.random.default_rng(45)
POINTS = np.concatenate([RNG.normal(size=(997, 3)), [[np.nan, 0, 0], [np.inf, 0, -np.inf], [1, 2, 0.5]]])
WEIGHTS = RNG.normal(size=1000) * 10.0 ** RNG.integers(-9, 9, 1000)
BINS, RANGE = (6, [-2, -0.5, 0, 2], 4), ((-1, 1), None, (0.5, 2))
EDGES = [np.linspace(-1, 1, 7), np.array([-2, -0.5, 0, 2]), np.linspace(0.5, 2, 5)]


def joint(**options):
    return masu.JointHistogram.of(POINTS, BINS, RANGE, **options)


class Some(dict):
    """Histograms of each kind, made where they are asked for: what a module holds lives until the process ends."""

    def __getitem__(self, name):
        return super().__getitem__(name)()

    def values(self):
        return map(self.__getitem__, self)

    def items(self):
        return ((name, self[name]) for name in self)


X = POINTS[:, 0]
SOME = Some({
    "counts": lambda: masu.Histogram.of(X, 12, (-1, 1)),
    "edges": lambda: masu.Histogram.of(X.astype("f4"), [-1, 0, 0.1, 0.1, 2]),
    "weights": lambda: masu.Histogram.of(X, 12, (-1, 1), weights=WEIGHTS),
    "integers": lambda: masu.Histogram.of(X, 12, (-1, 1), weights=np.arange(1000) - 400),
    "scaled": lambda: masu.Histogram.of(X, 12, (-1, 1)) * 2.5,
    "log": lambda: masu.Histogram.of(np.abs(X), masu.Bins.logarithmic(12, 1e-3, 10, label="|x|")),
    "whole": lambda: masu.Histogram.of(X, masu.Bins.integers(-3, 3)),
    "texts": lambda: masu.Histogram.of(["a", "c", "a", "z"], masu.Bins.categories(["a", "b", "c"])),
    "joint": joint, "flow": lambda: joint(flow=True), "joint weights": lambda: joint(weights=WEIGHTS),
    "flow weights": lambda: joint(flow=True, weights=WEIGHTS), "flow integers": lambda: joint(flow=True, weights=np.arange(1000)),
    "joint scaled": lambda: joint() * 3,
})
NUMBERED = ["counts", "weights", "integers", "scaled", "log", "whole", "flow", "flow weights", "flow integers"]


def oracle(points, edges, weights=None):
    """Totals with flow bins, (exact totals of the weights, those of their squares), point by point."""
    places = [[] for _ in range(math.prod(len(one) + 1 for one in edges))]
    shape = [len(one) + 1 for one in edges]
    for i, point in enumerate(points.tolist()):
        if any(map(math.isnan, point)):
            continue
        at = [len(one) - 1 if x == one[-1] else int(np.searchsorted(one, x, "right")) for x, one in zip(point, edges)]
        places[np.ravel_multi_index(at, shape)].append(1.0 if weights is None else weights[i])
    return (np.array([math.fsum(part) for part in places]).reshape(shape),
            np.array([math.fsum(x * x for x in part) for part in places]).reshape(shape))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_flow_bins_of_every_axis(dtype):
    points = np.nan_to_num(POINTS, posinf=9, neginf=-9).astype(dtype) if dtype[0] == "i" else POINTS.astype(dtype)
    edges = [np.asarray(one, "f8") for one in EDGES]
    h = masu.JointHistogram.of(points, EDGES, flow=True)
    values, _ = oracle(points, edges)
    assert np.array_equal(h.values(flow=True), values) and np.array_equal(h.variances(flow=True), values)
    assert h.totals().dtype == h.counts(flow=True).dtype == np.int64 and np.array_equal(h.counts(), values[1:-1, 1:-1, 1:-1])
    plain = masu.JointHistogram.of(points, EDGES)
    assert np.array_equal(h.values(), plain.values()) and (h.outside, h.nan, h.n) == (plain.outside, plain.nan, plain.n)
    assert np.array_equal(plain.values(flow=True), plain.values())  # it has no flow bins
    assert h != plain and not plain.axes[0].underflow and h.axes[0].overflow
    by = np.arange(1000) % 7 - 2.5
    weighted = masu.JointHistogram.of(list(points.T), EDGES, flow=True, weights=by)
    values, squares = oracle(points, edges, by.tolist())
    assert np.array_equal(weighted.values(flow=True), values) and np.array_equal(weighted.variances(flow=True), squares)
    whole = masu.JointHistogram.of(points, EDGES, weights=np.arange(1000, dtype="u8"))
    assert whole.totals().dtype == np.uint64 and whole.n == 999 * 500


def test_weights_are_exact_in_every_order():
    h, shuffled = joint(flow=True, weights=WEIGHTS), RNG.permutation(1000)
    values, _ = oracle(POINTS, EDGES, WEIGHTS.tolist())
    assert np.array_equal(h.values(flow=True), values)
    assert h == masu.JointHistogram.of(POINTS[shuffled], BINS, RANGE, flow=True, weights=WEIGHTS[shuffled])
    one = SOME["weights"]
    assert one.variances(flow=True)[0] == math.fsum(WEIGHTS[POINTS[:, 0] < -1].tolist()[i] ** 2 for i in range((POINTS[:, 0] < -1).sum()))
    with pytest.raises(ValueError, match="must fit|does not fit|bin"):
        masu.JointHistogram.of([[0.5, 0.5], [0.5, 0.5]], [[0, 1], [0, 1]], weights=np.array([2**63 - 1, 1]))


@pytest.mark.parametrize("edge", [0.0, 1.0, math.inf, np.finfo(float).max, 5e-324])
def test_the_last_edge_belongs_to_the_last_bin(edge):
    points = np.array([[edge, 0.5], [math.nextafter(edge, math.inf), 0.5], [-math.inf, 0.5], [math.inf, 0.5]])
    h = masu.JointHistogram.of(points, [[-1, edge], [0, 1]], flow=True)
    flow = slice(None) if edge < math.inf else slice(None, -1)  # nothing lies above
    assert h.values(flow=True)[:, 1].tolist() == oracle(points, [np.array([-1, edge]), np.array([0.0, 1])])[0][flow, 1].tolist()


def test_points_come_as_rows_or_columns():
    h = joint()
    assert h == masu.JointHistogram.of(list(POINTS.T), BINS, RANGE) == masu.JointHistogram.of(np.asfortranarray(POINTS), BINS, RANGE)
    assert masu.JointHistogram.of(POINTS[:, 0], 3, ((0, 1),)) == masu.JointHistogram.of([POINTS[:, 0]], 3, ((0, 1),))
    there = masu.to_device(np.ascontiguousarray(POINTS), "cpu")
    assert masu.JointHistogram.of(there, BINS, RANGE) == h
    assert masu.JointHistogram.of(there, BINS, RANGE, flow=True) == joint(flow=True)
    with pytest.raises(TypeError, match="got the rule 'auto'"):
        masu.JointHistogram.of(POINTS, [masu.Bins([0, 1]), "auto", 3])
    for given in (POINTS.T, np.zeros((3, 4, 5)), [POINTS[:i, 0] for i in range(50)]):
        with pytest.raises(ValueError, match="JointHistogram") as error:
            masu.JointHistogram.of(given, 3)
        assert len(str(error.value)) < 200


def cut(values, first, last, step=1):
    """Of one axis with flow bins: what a slice leaves."""
    count = (last - first) // step
    inner, rest = values[first + 1:first + 1 + count * step], values[first + 1 + count * step:]
    return [values[:first + 1].sum(), *inner.reshape(count, step).sum(1), rest.sum()]


def test_slices_of_one_axis():
    h, loc, rebin = SOME["counts"], masu.loc, masu.rebin
    full = h.values(flow=True)
    assert [h[i] for i in range(-12, 12)] == 2 * h.counts().tolist() == 2 * list(h) and len(h) == 12
    for first, last, step in itertools.product((0, 1, 5), (7, 12), (1, 2, 3, 5)):
        if first + step > last:
            continue
        found = h[first:last:rebin(step)]
        assert found.values(flow=True).tolist() == cut(full, first, last, step) and (found.n, found.nan) == (h.n, h.nan)
        assert found.edges.tolist() == h.edges[first:last + 1:step].tolist()[:len(found) + 1]
    assert h[2:5] == h[-10:-7] == h[loc(h.edges[2]):loc(h.edges[5])] == h[2:5:rebin(1)] and h[:] == h[::rebin(1)] == h[-99:99] == h
    assert h[loc(-1):loc(1)] == h and h[loc(5) - 1] == h[-1] and h[loc(-5)] == h.below and h[loc(5)] == h.above
    assert h[loc(-1) + 1] == h[1] and h[len] == h.above
    assert h[sum] == h[::sum] == h.sum(flow=True) == h.n - h.nan and h[0:len:sum] == h.sum() and h[2:5:sum] == full[3:6].sum()
    assert h[:5:sum] == full[:6].sum() and h[5::sum] == full[6:].sum() and h[5:3:sum] == 0
    assert np.asarray(h).tolist() == h.values().tolist() and np.asarray(h, int).dtype == int
    weights = SOME["weights"]
    value, variance = weights[3]
    assert (value, variance) == (weights.values()[3], weights.variances()[3]) and float(weights[3]) == value
    assert weights[sum].variance == math.fsum(weights.variances(flow=True))
    for wrong in (12, -13, lambda axis: 13, lambda axis: -2, (1, 2), {1: 3}):
        with pytest.raises(IndexError):
            h[wrong]
    for wrong in (slice(3, 3), slice(7, 2), slice(0, 2, rebin(3))):
        with pytest.raises(ValueError, match="must have a bin"):
            h[wrong]
    for wrong in (1.5, "x", slice(None, None, 2), slice(None, None, 1.0), None, slice(1.5, 2), True):
        with pytest.raises(TypeError):
            h[wrong]
    with pytest.raises(ValueError, match="NaN"):
        h[loc(math.nan)]
    with pytest.raises(ValueError, match="at least 1"):
        rebin(0)


@pytest.mark.parametrize("name", ["flow", "flow weights", "flow integers", "joint", "joint weights"])
def test_slices_and_projections_of_several_axes(name):
    h = SOME[name]
    full = h.values(flow=True)
    one, inner = h[1, 2, 3], slice(1, -1)
    assert (one.value if h.weighted else one) == h.values()[1, 2, 3]
    assert np.allclose(h[..., 1].values(flow=True), full[..., 1 + h.axes[2].underflow])
    assert h[{1: 2}] == h[:, 2, :] and h[{-1: sum}] == h[..., sum] == h.project(0, 1)
    assert np.allclose(h.project(2, 0).values(flow=True), full.sum(1).T) and h.project(0, 1, 2) == h
    assert np.allclose(h.project(1).values(flow=True), full.sum((0, 2))) and isinstance(h.project(1), masu.Histogram)
    part = h[1:5:masu.rebin(2), :, masu.loc(1):]
    assert part.axes[0].edges.tolist() == h.axes[0].edges[1:6:2].tolist() and math.isclose(part.n, h.n, rel_tol=1e-9)
    middle = h.values()[1:5, :, 2:] if not h.axes[2].index(1) == 1 else h.values()[1:5, :, 1:]
    assert np.allclose(part.values(), middle.reshape(2, 2, 3, -1).sum(1))
    total = h[sum, sum, sum]
    assert math.isclose(float(total), full.sum(), rel_tol=1e-9) and np.allclose(total, h.sum(flow=True), rtol=1e-9)
    assert math.isclose(float(h.sum()), h.values().sum(), rel_tol=1e-9) and inner
    for wrong in ((1, 2), (1, 2, 3, 4), (..., 1, ...), {3: 1}):
        with pytest.raises(IndexError):
            h[wrong]
    for wrong in ((), (3,), (-1,), (0, 0), ("x",)):
        with pytest.raises(ValueError, match="project"):
            h.project(*wrong)
    with pytest.raises(TypeError):
        iter(h)


def test_arithmetic():
    for h in SOME.values():
        twice = h * 2
        assert twice == 2 * h == np.float64(2) * h or not h.totals().dtype.kind == "f"
        assert np.array_equal(twice.values(flow=True), 2 * h.values(flow=True)) and twice.weighted
        assert np.array_equal(twice.variances(flow=True), 4 * h.variances(flow=True)) and twice.nan == 2 * h.nan
        assert np.array_equal((h / 4).values(), h.values() / 4) and np.array_equal((h / 4).variances(), h.variances() / 16)
        nothing = h - h
        assert not nothing.values(flow=True).any() and np.array_equal(nothing.variances(), 2 * h.variances()) and nothing.n == 0
        assert np.array_equal((h + h).values(flow=True), 2 * h.values(flow=True)) and sum([h, h]) == h + h
        for wrong in (None, "2", [1, 2], np.ones(3), 1j, True):
            for operation in (lambda: h * wrong, lambda: wrong * h, lambda: h / wrong, lambda: h - wrong, lambda: h + wrong):
                with pytest.raises(TypeError):
                    operation()
        with pytest.raises(ZeroDivisionError):
            h / 0
    with pytest.raises(ValueError, match="equal edges"):
        SOME["flow"] - SOME["joint"]
    with pytest.raises(ValueError, match="weights"):
        SOME["flow"] - SOME["flow weights"]
    large = masu.Histogram.of([0.5], [0, 1], weights=[2**62])
    with pytest.raises(ValueError, match="fit 64 bits"):
        large * 8
    assert (large * 3).totals().tolist() == [3 * 2**62] and (large - large * 2).totals().tolist() == [-2**62]
    wide = masu.Histogram.of([0.5, 1.5, 1.5], [0, 1, 2], weights=[2**62, 2**62, 2**61])
    assert wide[sum].value == 2**63 + 2**61 and wide[::masu.rebin(2)].totals().dtype == np.uint64


def test_fill():
    for options in ({}, {"weights": WEIGHTS}, {"weights": np.arange(1000)}):
        def part(where):
            return {name: array[where] for name, array in options.items()}

        first, rest = slice(0, 300), slice(300, None)
        exact = {name: array for name, array in options.items() if array.dtype.kind == "i"}
        h = masu.Histogram.of(POINTS[first, 0], 12, (-1, 1), **part(first))
        assert h.fill(POINTS[rest, 0], **part(rest)) is h
        whole = masu.Histogram.of(POINTS[:, 0], 12, (-1, 1), **options)
        assert h == whole or (options and not exact and np.allclose(h.values(flow=True), whole.values(flow=True)))
        for flow in (False, True):
            h = masu.JointHistogram.of(POINTS[first], BINS, RANGE, flow=flow, **part(first))
            assert h.fill(POINTS[rest], **part(rest)) is h
            assert h == joint(flow=flow, **options) or (options and not exact and np.allclose(h.values(), joint(**options).values()))
    with pytest.raises(ValueError, match="weights"):
        masu.Histogram.of([1.0]).fill([1.0], weights=[1.0])
    for flow, given in itertools.product((False, True), (None, WEIGHTS)):
        with pytest.raises(ValueError, match="weights"):
            joint(flow=flow, weights=given).fill(POINTS, weights=WEIGHTS if given is None else None)
    texts = masu.Histogram.of(["b"], masu.Bins.categories("ab")).fill(np.array(["a", "x", "b"]))
    assert texts.values(flow=True).tolist() == [1, 2, 1]
    assert "fill" in dir(masu.Histogram) and list(inspect.signature(masu.Histogram.values).parameters) == ["self", "flow"]
    assert inspect.getfullargspec(SOME["joint"].values).args == ["self", "flow"]  # what programs that draw ask


@pytest.mark.parametrize("name", list(SOME))
def test_copies_pickles_bytes_and_messages(name):
    h = SOME[name]
    for other in (copy.copy(h), copy.deepcopy(h), pickle.loads(pickle.dumps(h)), type(h).frombytes(h.tobytes()),
                  type(h).from_uhi(h.to_uhi()), type(h).from_uhi(json.loads(json.dumps(h.to_uhi(), default=np.ndarray.tolist)))):
        assert other == h and type(other) is type(h) and other.axes == h.axes and other.n == h.n and other.nan == h.nan
        assert other.axes[0].kind == h.axes[0].kind and other.axes[0].label == h.axes[0].label and list(other.axes[0]) == list(h.axes[0])
    assert type(h).frombytes(h.tobytes()).tobytes() == h.tobytes()
    assert pickle.loads(pickle.dumps(h.axes)) == h.axes
    assert h != h * 2 and h != 3
    page = h._repr_html_()
    assert page.startswith("<div>") and page.count("<") == page.count(">") and len(page) < 10**6
    if isinstance(h, masu.JointHistogram):
        with pytest.raises(ValueError, match="one axis"):
            masu.Histogram.from_uhi(h.to_uhi())
        assert np.allclose(h.density(), h.values() / float(h.sum()) / volumes(h), rtol=1e-12)


def volumes(h):
    return math.prod(np.diff(edges).reshape([-1 if i == d else 1 for i in range(h.ndim)]) for d, edges in enumerate(h.edges))


def test_labels_are_escaped():
    h = masu.Histogram.of([0.5], masu.Bins([0, 1], label="<script>"))
    assert "<script>" not in h._repr_html_() and "&lt;script&gt;" in h._repr_html_()


def test_axes_of_each_kind():
    log = masu.Bins.logarithmic(3, 1, 1000)
    assert log.edges.tolist() == [1, 10, 100, 1000] and not log.traits.discrete and log.index(1000) == 2 and log.index(0.5) == -1
    assert masu.histogram([1, 5, 50.0], log)[0].tolist() == [2, 1, 0]
    whole = masu.Bins.integers(-1, 2)
    assert list(whole) == [-1, 0, 1] and whole.traits.discrete and [whole.index(x) for x in (-2, -1, 1.5, 2)] == [-1, 0, 2, 3]
    for data in (np.array([-2, -1, -1, 0, 1, 2]), np.array([-1.5, -1, -0.5, 0.9, 1.99, 2])):
        assert masu.Histogram.of(data, whole).values(flow=True).tolist() == [1, 2, 1, 1, 1]
        assert masu.JointHistogram.of([data, data], whole).values(flow=True).sum((0,)).tolist() == [1, 2, 1, 1, 1]
    names = masu.Bins.categories(["b", "a", "ccc"], label="name")
    assert list(names) == ["b", "a", "ccc"] and [names.index(x) for x in ("b", "a", "x")] == [0, 1, 3] and names[-1] == "ccc"
    texts = np.array(["a", "ccc", "", "a", "cccc", "b"])
    h = masu.Histogram.of(texts, names, weights=[1, 2, 4, 8, 16, 32])
    assert h.values(flow=True).tolist() == [32, 9, 2, 20] and h[masu.loc("a")].value == 9 and h[1:].values(flow=True).tolist() == [9, 2, 52]
    assert masu.Histogram.of(texts.astype(object), names) == masu.Histogram.of(texts, names)
    numbers = masu.Bins.categories([7, -3], overflow=False)
    assert masu.Histogram.of(np.array([7, 7, -3, 5], "i1"), numbers).values(flow=True).tolist() == [2, 1]
    assert masu.Histogram.of(np.array([7, 2**64 - 3], "u8"), numbers).values(flow=True).tolist() == [1, 0]
    both = masu.JointHistogram.of([texts, np.arange(6.0)], [names, masu.Bins([0, 3, 5])])
    assert both.values(flow=True)[:, 1:3].tolist() == [[0, 1], [1, 1], [1, 0], [1, 1]]
    assert both.fill([texts, np.arange(6.0)]).n == 12 and both[masu.loc("a"), sum] == 4
    truths = masu.Bins.categories([False, True], overflow=False)
    assert masu.Histogram.of(np.array([True, False, True]), truths).values().tolist() == [1, 2]
    for wrong in (lambda: masu.Bins([1]), lambda: masu.Bins([2, 1]), lambda: masu.Bins([0, math.nan]), lambda: masu.Bins(["a", "b"]),
                  lambda: masu.Bins.logarithmic(3, 0, 1), lambda: masu.Bins.logarithmic(0, 1, 2), lambda: masu.Bins.integers(3, 3),
                  lambda: masu.Bins.categories([]), lambda: masu.Bins.categories(["a", 1]), lambda: masu.Bins.categories(["a", "a"]),
                  lambda: masu.Bins.categories([2**70]), lambda: h[::masu.rebin(2)],
                  lambda: masu.JointHistogram.of([texts, texts], [names, names, names])):
        with pytest.raises(ValueError):
            wrong()
    for wrong in (lambda: masu.Histogram.of([1.5], names), lambda: masu.histogram([1.5], names), lambda: masu.Bins.integers(0.5, 2)):
        with pytest.raises(TypeError):
            wrong()


def test_hostile_messages_are_a_value_error():
    choose = random.Random(45)
    odd = [None, -1, 0, 2**70, 1e308, math.nan, math.inf, "x", [], {}, [[1], [2, 3]], [None], True, b"\0", object(), np.array([None]),
           np.array([1j]), {"type": "regular"}, [[[]]], "regular", "variable", np.zeros((3, 3)), 10**6]

    def spoiled(value):
        """A copy with one place changed."""
        if isinstance(value, dict) and value and choose.random() < 0.9:
            key = choose.choice(list(value))
            if choose.random() < 0.1:
                return {k: v for k, v in value.items() if k != key}
            return value | {key: spoiled(value[key])}
        if isinstance(value, list) and value and choose.random() < 0.9:
            place = choose.randrange(len(value))
            return value[:place] + [spoiled(value[place])] + value[place + 1:]
        return choose.choice(odd)

    refused = 0
    for h in SOME.values():
        message = json.loads(json.dumps(h.to_uhi(), default=np.ndarray.tolist))
        for _ in range(300):
            try:
                with np.errstate(all="ignore"):
                    read = type(h).from_uhi(spoiled(message))
                assert isinstance(repr(read), str) and isinstance(read.values(flow=True), np.ndarray)
            except ValueError:
                refused += 1
    assert refused > 1000
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for wrong in (None, 3, [], "", {}, {"uhi_schema": 2}, {"uhi_schema": 1, "axes": [], "storage": {}},
                  SOME["counts"].to_uhi() | {"storage": {"type": "mean", "values": [1]}},
                  SOME["counts"].to_uhi() | {"storage": {"type": "double", "values": "a/path"}},
                  SOME["counts"].to_uhi() | {"storage": {"type": "int", "values": [1], "index": [[0]]}},
                  SOME["counts"].to_uhi() | {"axes": [{"type": "regular", "bins": 10**12, "lower": 0, "upper": 1, "underflow": True,
                                                      "overflow": True, "circular": False}]}):
        with pytest.raises(ValueError):
            masu.Histogram.from_uhi(wrong)
    data = SOME["flow weights"].tobytes()
    for i in range(0, len(data), 7):
        for changed in (data[:i], data[:i] + bytes([data[i] ^ 4]) + data[i + 1:]):
            try:
                read = masu.JointHistogram.frombytes(changed)
            except ValueError as error:
                assert "JointHistogram" in str(error)
            else:
                assert read.tobytes() == changed
    with pytest.raises(ValueError):
        masu.JointHistogram.frombytes(data[:4] + b"\x01" + (200_000).to_bytes(4, "little") + b"[" * 200_000)
    with pytest.raises(TypeError):
        masu.JointHistogram.of(POINTS, BINS, RANGE, flow=True, weights=WEIGHTS).integers()


@pytest.mark.parametrize("name", list(SOME))
def test_hist_and_boost_histogram_read_and_write_them(name):
    hist = pytest.importorskip("hist")
    bh = pytest.importorskip("boost_histogram")
    h = SOME[name]
    if name == "edges":
        h = masu.Histogram.of(POINTS[:, 0].astype("f4"), [-1, 0, 0.1, 2])  # they have no bins without width
    for theirs in (hist.Hist(h), bh.Histogram._from_uhi_(h.to_uhi())):
        assert np.array_equal(theirs.values(flow=True), h.values(flow=True))
        assert np.array_equal(theirs.variances(flow=True), h.variances(flow=True))
        for mine, axis in zip(h.axes, theirs.axes):
            assert np.allclose(axis.edges, mine.edges, rtol=1e-14) and axis.traits.discrete == mine.traits.discrete
            assert (axis.traits.underflow, axis.traits.overflow) == (mine.underflow, mine.overflow)
        back = type(h).from_uhi(theirs)
        assert np.array_equal(back.values(flow=True), h.values(flow=True)) and back.weighted == h.weighted
        assert [axis.kind for axis in back.axes] == [axis.kind for axis in h.axes]


def test_histograms_of_boost_histogram():
    bh = pytest.importorskip("boost_histogram")
    axes = [bh.axis.StrCategory(["a", "b"]), bh.axis.IntCategory([3, 1]), bh.axis.Boolean(), bh.axis.Integer(2, 9),
            bh.axis.Regular(10, 1, 1000, transform=bh.axis.transform.log), bh.axis.Variable([1, 2, 5]),
            bh.axis.Regular(3, 0, 1, circular=True), bh.axis.Regular(3, 0, 1, underflow=False), bh.axis.StrCategory(["a"], overflow=False)]
    for several in (*((axis,) for axis in axes), axes[:3], axes[3:6]):
        for storage in (bh.storage.Int64(), bh.storage.Double(), bh.storage.Weight()):
            theirs = bh.Histogram(*several, storage=storage)
            view = theirs.view(flow=True)
            numbers = np.arange(view.size).reshape(view.shape)
            if isinstance(storage, bh.storage.Weight):
                view["value"], view["variance"] = numbers, 2 * numbers
            else:
                view[...] = numbers
            kind = masu.Histogram if len(several) == 1 else masu.JointHistogram
            mine = kind.from_uhi(theirs)
            assert np.array_equal(mine.values(flow=True), numbers) and kind.frombytes(mine.tobytes()) == mine
            back = bh.Histogram._from_uhi_(mine.to_uhi())
            assert np.array_equal(back.view(flow=True), theirs.view(flow=True)) and type(back.storage_type()) is type(storage)
            assert all(type(a) is type(b) and a.traits.circular == b.traits.circular for a, b in zip(back.axes, theirs.axes))
    profile = bh.Histogram(bh.axis.Regular(3, 0, 1), storage=bh.storage.Mean())
    with pytest.raises(ValueError, match="storage must be"):
        masu.Histogram.from_uhi(profile)


def test_filled_as_hist_fills():
    hist = pytest.importorskip("hist")
    inside = POINTS[:997]
    theirs = hist.Hist(*(hist.axis.Variable(edges) for edges in EDGES), storage=hist.storage.Weight())
    theirs.fill(*inside.T, weight=WEIGHTS[:997])
    mine = masu.JointHistogram.of(inside, EDGES, flow=True, weights=WEIGHTS[:997])
    assert np.allclose(mine.values(flow=True), theirs.values(flow=True)) and np.allclose(mine.variances(flow=True), theirs.variances(flow=True))


@pytest.mark.parametrize("name", NUMBERED)
def test_indexing_as_hist_does(name):
    hist = pytest.importorskip("hist")
    tag = pytest.importorskip("uhi.tag")
    mine = SOME[name]
    theirs = hist.Hist(mine)
    middle = mine.axes[0].centers if name != "whole" else mine.axes[0].edges
    places = [3, -1, tag.loc(middle[1]), tag.loc(middle[0]) + 2, tag.underflow, tag.overflow, tag.at(2), slice(1, 4), slice(None, None, tag.rebin(2)),
              slice(None, None, tag.rebin(3)), slice(tag.loc(middle[1]), tag.loc(middle[3])), slice(None, None, sum), slice(2, 5, sum),
              slice(0, len, sum), slice(None, 3, sum), slice(-4, None), slice(1, -1, tag.rebin(2)), sum]
    for one in places:
        if name == "whole" and isinstance(one, slice) and hasattr(one.step, "factor"):
            continue  # bins of integers are not put together there
        for index in [one] if mine.ndim == 1 else [(one, slice(None), 1), (slice(None), sum, 2), (one, ..., slice(1, 3))]:
            found, expected = mine[index], theirs[index]
            if hasattr(expected, "axes"):
                assert np.allclose(found.values(flow=True), expected.values(flow=True), rtol=1e-9)
                assert np.allclose(found.variances(flow=True), expected.variances(flow=True), rtol=1e-9)
                assert all(np.allclose(a.edges, b.edges) for a, b in zip(found.axes, expected.axes))
            elif mine.weighted:
                assert np.allclose(found, (expected.value, expected.variance), rtol=1e-9)
            else:
                assert found == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("flow", ["hint", "show", "sum", "none"])
def test_is_drawn(flow):
    matplotlib = pytest.importorskip("matplotlib")
    mplhep = pytest.importorskip("mplhep")
    matplotlib.use("agg")
    from matplotlib import pyplot

    for h in SOME.values():
        if flow == "sum" and not h.axes[0].overflow:
            continue  # mplhep adds flow bins that are not there
        flat = h if h.ndim < 3 else h.project(0, 2)
        drawn = flat.plot()
        assert np.array_equal(drawn.get_data().values if flat.ndim == 1 else np.ravel(drawn.get_array()), np.ravel(flat.values().T))
        pyplot.close("all")
        (mplhep.histplot if flat.ndim == 1 else mplhep.hist2dplot)(flat, flow=flow)
        pyplot.close("all")
    with pytest.raises(ValueError, match="one or two axes"):
        joint().plot()


def test_follows_the_protocol():
    plottable = pytest.importorskip("uhi.typing.plottable")
    for h in SOME.values():
        assert isinstance(h, plottable.PlottableHistogram) and h.kind == "COUNT" and len(h.axes) == h.values().ndim
        for axis in h.axes:
            assert isinstance(axis, plottable.PlottableAxisGeneric) and isinstance(axis.traits, plottable.PlottableTraits)
    schema = pytest.importorskip("uhi.schema")
    pytest.importorskip("fastjsonschema")
    uhi_json = pytest.importorskip("uhi.io.json")
    schema.validate({name: json.loads(json.dumps(h, default=uhi_json.default)) for name, h in SOME.items() if name != "edges"})


def test_other_programs_read_them(tmp_path):
    uproot = pytest.importorskip("uproot")
    pytest.importorskip("hist")
    written = {name: SOME[name] for name in ("counts", "weights", "scaled")}
    written |= {name.replace(" ", "_"): SOME[name].project(0, 2) for name in ("flow", "flow weights")}
    with uproot.recreate(tmp_path / "h.root") as file:
        for name, h in written.items():
            file[name] = h
    with uproot.open(tmp_path / "h.root") as file:
        for name, h in written.items():
            assert np.array_equal(file[name].values(flow=True), h.values(flow=True))
            assert np.allclose(file[name].variances(flow=True), h.variances(flow=True), rtol=1e-12)
