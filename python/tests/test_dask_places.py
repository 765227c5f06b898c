# SPDX-License-Identifier: Apache-2.0
"""Sorts, orders, distinct values, the k first, medians and quantiles of masu.dask: the bits of masu's function."""
import itertools
import math
import tracemalloc
from functools import partial

import numpy as np
import pytest

import masu

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

import masu.dask as md  # noqa: E402
from test_dask import CASES, DTYPES, RNG, all_same, chunked, same, values  # noqa: E402


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_places(dtype):
    """Sorts, orders, distinct values, the k first, medians and quantiles."""
    three = {"return_index": True, "return_inverse": True, "return_counts": True}
    for count, kind in CASES:
        x = values(dtype, count)
        a = chunked(x, kind)
        pairs = [(md.sort(a), masu.sort(x, device="cpu")), (md.argsort(a), masu.argsort(x)),
                 (md.unique(a), masu.unique(x, device="cpu")),
                 *zip(md.unique(a, **three, split_every=3), masu.unique(x, **three, device="cpu"))]
        assert md.sort(a).chunks == a.chunks
        for k, largest in {(1, True), (min(count, 5), False), (count, True)}:
            pairs += zip(md.topk(a, k, largest=largest), masu.topk(x, k, largest=largest))
        plain = (np.nan_to_num(x) + 0).astype(dtype) if x.dtype.kind == "f" else x
        for y in (x, plain) if x.dtype.isnative else (plain,):  # NumPy's choice of NaNs and zeros in the other byte order
            pairs.append((md.median(chunked(y, kind)), masu.median(y, device="cpu")))
            if dtype != "?":
                pairs.append((md.quantile(chunked(y, kind), [0.1, 1.0]), masu.quantile(y, [0.1, 1.0], device="cpu")))
        all_same(pairs)
    if dtype != "?":
        y = x if x.dtype.isnative else plain
        a = chunked(y, kind)
        same(md.quantile(a, 0.3, method="nearest", keepdims=True), masu.quantile(y, 0.3, method="nearest", keepdims=True))
        same(md.percentile(a, [[1, 2], [3, 99]], recompute=True), masu.percentile(y, [[1, 2], [3, 99]]))


@pytest.mark.parametrize("make", [
    lambda n: np.zeros(n), lambda n: np.arange(n), lambda n: np.arange(n)[::-1].copy(), lambda n: np.arange(n) % 3,
    lambda n: np.where(np.arange(n) < n // 2, 1.0, 2.0), lambda n: np.full(n, math.nan),
    lambda n: RNG.integers(0, 20, n) * 1e300, lambda n: np.sort(RNG.zipf(1.3, n)), lambda n: RNG.choice([0.0, -0.0], n)],
    ids=["equal", "ascending", "descending", "three", "halves", "nan", "twenty", "zipf", "zeros"])
def test_data_that_are_hard_to_divide(make, monkeypatch):
    from masu.dask import _sorts

    x = make(50_021)
    for chunks in (9000, (1, 1, 50_000, 19)):
        a = da.from_array(x, chunks=(chunks,) if isinstance(chunks, tuple) else chunks)
        with np.errstate(all="ignore"):
            all_same([(md.sort(a), masu.sort(x)), (md.argsort(a), masu.argsort(x)),
                      (md.quantile(a, [0, 0.25, 0.5, 0.999]), masu.quantile(x, [0, 0.25, 0.5, 0.999]))])
            with monkeypatch.context() as patch:
                patch.setattr(_sorts, "_FEW", 3)
                all_same([(md.sort(a), masu.sort(x)), (md.argsort(a), masu.argsort(x))])


def test_sorts_of_many_chunks_have_few_tasks():
    x = RNG.integers(0, 50, 4000)
    a = da.from_array(x, chunks=13)
    result = md.argsort(a)
    assert len(result.dask) < 3 * a.numblocks[0] ** 1.5
    same(result, masu.argsort(x))


def test_many_quantiles_take_little_memory(monkeypatch):
    """Where each has a front of its own and nothing is collected."""
    from masu.dask import _quantiles

    x, q = RNG.normal(size=40_000), np.linspace(0, 1, 301)
    a = da.from_array(x, chunks=10_000)
    wanted = masu.quantile(x, q)
    monkeypatch.setattr(_quantiles, "_COLLECTED", 3)
    monkeypatch.setattr(_quantiles, "_SHARE", 10**9)
    for dense in (_quantiles._DENSE, 1, 2**40):
        monkeypatch.setattr(_quantiles, "_DENSE", dense)
        tracemalloc.start()
        found = md.quantile(a, q if dense < 2**40 else q[::30]).compute(scheduler="synchronous")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found.tobytes() == (wanted if dense < 2**40 else masu.quantile(x, q[::30])).tobytes()
        assert dense == 2**40 or peak < 2**25
    y = RNG.integers(0, 2**32, 300_000, dtype="u4")
    same(md.quantile(da.from_array(y, chunks=90_000), q, split_every=2), masu.quantile(y, q))


def test_signs_of_zeros_that_are_places():
    for x in (np.full(9001, -0.0), np.zeros(9001), RNG.choice([0.0, -0.0], 9001), RNG.choice([-1, 0.0, -0.0, 2], 9001),
              np.sort(RNG.choice([-1, 0.0, -0.0, math.inf], 9001).astype("f2")), np.repeat([-0.0, 0.0], [5000, 4001])):
        for chunks, recompute in itertools.product((4000, (0, 1, 5000, 0, 4000)), (False, True)):
            a = da.from_array(x, chunks=(chunks,))
            for q in (0.25, np.linspace(0, 1, 40)):
                same(md.quantile(a, q, method="nearest", recompute=recompute), masu.quantile(x, q, method="nearest", device="cpu"))
            same(md.median(a, recompute=recompute), masu.median(x, device="cpu"))


@pytest.mark.parametrize("few", [2, 16])
@pytest.mark.filterwarnings("ignore")
def test_sorts_divide_in_several_rounds(few, monkeypatch):
    """With few samples, so that each round leaves something to the next."""
    from masu.dask import _quantiles, _sorts

    monkeypatch.setattr(_sorts, "_SAMPLES", (5, 3))
    monkeypatch.setattr(_sorts, "_FEW", few)
    monkeypatch.setattr(_quantiles, "_COLLECTED", 3)
    for dtype in ("f8", "i4", "u1"):
        for x in (values(dtype, 30_011), values(dtype, 30_011) // np.dtype(dtype).type(50)):
            a = chunked(x, "random")
            all_same([(md.sort(a), masu.sort(x)), (md.argsort(a), masu.argsort(x)), (md.median(a), masu.median(x)),
                      (md.median(a, recompute=True), masu.median(x))])


@pytest.mark.parametrize("make", [
    lambda n: np.where(np.arange(n) < n // 2 - 5, np.arange(n), 2**63 - 1),
    lambda n: np.where(np.arange(n) < n // 2 - 5, np.arange(n), math.nan),
    lambda n: np.where(np.arange(n) < n // 2 - 5, 0, np.uint64(2**64 - 1)),
    lambda n: np.where(np.arange(n) <= n // 2, 2**63 - 1, -2**63)], ids=["i8", "f8", "u8", "extremes"])
def test_sorted_chunks_have_the_chunks_sizes(make):
    """Where what divides them has the greatest key that there is."""
    x = np.random.default_rng(1).permutation(make(100_000))
    for chunks in (50_000, (50_000, 3, 0, 49_997)):
        a = da.from_array(x, chunks=(chunks,))
        for result, expected in ((md.sort(a), masu.sort(x)), (md.argsort(a), masu.argsort(x))):
            found = dask.compute(*result.to_delayed())
            assert tuple(block.size for block in found) == result.chunks[0]
            assert np.array_equal(np.concatenate(found), expected, equal_nan=True)


@pytest.mark.parametrize("dtype", ["i4", "f4", ">f8"])
@pytest.mark.filterwarnings("ignore")
def test_positions_of_unknown_chunks(dtype):
    """In chunks of any size, empty ones among them, and where nothing is left of all."""
    for count, kind in CASES:
        x, keep = values(dtype, count), RNG.random(count) < 0.6
        keep[: count // 3] = count < 3
        a = chunked(x, kind)
        a = a[da.from_array(keep, chunks=a.chunks)]
        y = x[keep]
        three = {"return_index": True, "return_inverse": True, "return_counts": True}
        pairs = [(md.sort(a), masu.sort(y, device="cpu")), (md.argsort(a), masu.argsort(y)),
                 *zip(md.unique(a, **three, split_every=2), masu.unique(y, **three, device="cpu"))]
        if y.size:
            k = min(y.size, 40)
            pairs += [(md.argmin(a, split_every=2), np.argmin(y)), (md.argmax(a), np.argmax(y)), (md.max(a), y[np.argmax(y)]),
                      *zip(md.topk(a, k, split_every=2), masu.topk(y, k))]
        else:
            with pytest.raises(ValueError, match="argmin: the array must not be empty"):
                md.argmin(a).compute()
        all_same(pairs)
        with pytest.raises(ValueError, match=f"topk: k must be from 1 to {y.size}, the length of the axis, got {y.size + 1}"):
            md.topk(a, y.size + 1).values.compute()
        with pytest.raises(ValueError, match="topk: k must be from 1.*, the length of the axis, got 0") as refused:
            md.topk(a, 0)
        assert "nan" not in str(refused.value)
    flat = da.from_array(np.arange(24.0).reshape(6, 4), chunks=(2, 4))
    some = flat[flat[:, 0] > 5]
    for call in (md.sort, md.argsort, md.argmin, md.max, lambda b: md.topk(b, 1), md.unique, partial(md.sort, axis=None)):
        with pytest.raises(ValueError, match="compute_chunk_sizes"):
            call(some)


@pytest.mark.parametrize("function, options", [(np.median, {}), (np.quantile, {"q": [0.0, 0.3, 1.0], "method": "linear"})])
def test_places_of_more_data_than_memory(function, options):
    """NumPy's function is asked about 800 GB, of which it reads a few elements."""
    from masu.dask import _quantiles

    plan = _quantiles._Plan(function, options, np.dtype(float), 64, 16, size=10**11)
    places = _quantiles._places(plan)
    assert places.max() == 10**11 - 1 and places.size <= 8
    found = _quantiles._computed(function.__name__, np.shape(options.get("q", 0)), np.dtype(float),
                                 plan._replace(left=0, places=places, fronts=np.full(places.size, 1 << 63, np.uint64)))
    assert not found.any()


@pytest.mark.parametrize("sure", [3.5, 0.0, -2.0], ids=["sure", "narrow", "misled"])
@pytest.mark.parametrize("dtype", ["i4", "u4", "f4", "i8", "u8", "f8", ">f4"])
@pytest.mark.filterwarnings("ignore")
def test_samples_say_between_which_keys_quantiles_are(dtype, sure, monkeypatch):
    """Also where they are wrong, and of data that are few values, one value, NaN."""
    from masu.dask import _quantiles

    monkeypatch.setattr(_quantiles, "_SAMPLED", 0)
    monkeypatch.setattr(_quantiles, "_SAMPLES", 50)
    monkeypatch.setattr(_quantiles, "_SURE", sure)
    native = np.dtype(dtype).isnative
    for count in (1, 3, 20_011):
        random = values(dtype, count, awkward=False)
        for x in (random, np.sort(random), random[RNG.integers(0, min(count, 5), count)], np.full(count, random[0]),
                  *([values(dtype, count), np.full(count, math.nan, dtype)] if dtype[-2:] in ("f4", "f8") and native else [])):
            if not native:
                x = x + np.zeros(1, dtype)  # zeros of one sign
            for kind in ("even", "empty", "random"):
                a = chunked(x, kind)
                all_same([(md.median(a), masu.median(x, device="cpu")), (md.quantile(a, 0.9), masu.quantile(x, 0.9, device="cpu")),
                          (md.quantile(a, [0.1, 0.11, 0.999]), masu.quantile(x, [0.1, 0.11, 0.999], device="cpu")),
                          *([(md.percentile(a[a == a], 40.0, split_every=2), masu.percentile(x[x == x], 40.0))] if (x == x).any() else [])])


def test_keys_in_intervals():
    """Each count of bracket_keys, and the keys between, against NumPy."""
    from masu import _masu

    for dtype in ("u1", "i1", "f2", "u4", "f4", "i8", "f8"):
        x = values(dtype, 5003)
        keys = np.empty(x.size, np.uint64)
        _masu.keys_of(x, keys)
        some = np.sort(RNG.choice(keys, 4))
        lows = np.array([0, some[0], some[1], some[2]], np.uint64)
        highs = np.array([some[3], some[0], some[2], 2**(8 * x.itemsize) - 1], np.uint64)
        counts = np.zeros((4, 4), np.int64)
        inside = _masu.bracket_keys(x, lows, highs, counts)
        for low, high, found, between in zip(lows, highs, counts.tolist(), inside):
            expected = keys[(keys > low) & (keys < high)]
            assert np.array_equal(np.frombuffer(between, np.uint64), expected)
            assert found == [(keys < low).sum(), (keys == low).sum(), expected.size, (keys == high).sum() if high != low else 0]
    with pytest.raises(ValueError, match="four counts"):
        _masu.bracket_keys(x, lows, highs[:3], counts)


@pytest.mark.parametrize("many", [1, 2, 3, 5, 8, 9, 40])
def test_digits_behind_fronts(many):
    """Each count of count_digits, and the keys of collect_keys, against NumPy."""
    from masu import _masu

    for dtype in ("u1", "i2", "f2", "u4", "f4", "i8", "f8"):
        x = values(dtype, 5003)
        keys = np.empty(x.size, np.uint64)
        _masu.keys_of(x, keys)
        for left in (4, 4 * x.itemsize):
            last = 2**(8 * x.itemsize - left) - 1
            fronts = np.unique(np.append(RNG.choice(keys >> np.uint64(left), many), np.uint64(last)))[-many:]
            width = min(16, left)
            counts = np.zeros((fronts.size, 1 << width), np.int64)
            _masu.count_digits(x, left - width, width, fronts, counts)
            inside = keys[np.isin(keys >> np.uint64(left), fronts)]
            expected = np.zeros_like(counts)
            np.add.at(expected, (fronts.searchsorted(inside >> np.uint64(left)),
                                 (inside >> np.uint64(left - width) & np.uint64((1 << width) - 1)).astype(int)), 1)
            assert np.array_equal(counts, expected)
            assert np.array_equal(np.frombuffer(_masu.collect_keys(x, left, fronts), np.uint64), inside)


def outcome_of(call):
    """(shape, dtype, values) of each result, or the error's type."""
    try:
        found = call()
        found = [np.asarray(one) for one in (found if isinstance(found, tuple) else (found,))]
    except (ValueError, TypeError) as error:  # AxisError is both a ValueError and an IndexError
        return type(error)
    return [(one.shape, one.dtype, one.tolist()) for one in found]


@pytest.mark.parametrize("name", ["sum", "min", "max", "argmin", "argmax", "mean", "var", "std", "median", "sort", "argsort"])
@pytest.mark.parametrize("axis", [None, 0, -1, 1, (), (0,)])
def test_an_array_of_no_dimensions(name, axis):
    x = np.array(3.0)
    assert outcome_of(lambda: getattr(md, name)(da.from_array(x, chunks=()), axis=axis).compute()) == \
        outcome_of(lambda: getattr(np, name)(x, axis=axis))


def test_distinct_values_of_no_dimensions():
    x = np.array(3)
    wanted = {"return_index": True, "return_inverse": True, "return_counts": True}
    found = md.unique(da.from_array(x, chunks=()), **wanted)
    assert found[2].shape == () and outcome_of(lambda: dask.compute(*found)) == outcome_of(lambda: np.unique(x, **wanted))


@pytest.mark.filterwarnings("ignore")  # NumPy's, of empty lines
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "median"])
def test_totals_of_nothing(name, shape):
    for axis in (None, 0, 1, (0, 1)):
        for keepdims in (False, True):
            found = getattr(md, name)(da.empty(shape, chunks=2), axis=axis, keepdims=keepdims)
            expected = getattr(np, name)(np.empty(shape), axis=axis, keepdims=keepdims)
            assert found.shape == expected.shape
            np.testing.assert_array_equal(found.compute(), expected, strict=True)


def test_quantiles_of_extremes_and_infinities():
    """Right values beside NumPy's reports: numpy 30376, 21091, 31487."""
    inf = math.inf
    for dtype, some, q, right in (
            ("i1", [127, -128], 0.5, -0.5), ("i2", [32767, -1], 0.5, 16383), ("i8", [2**53 + 1, 2**53 + 3], 0.5, 2**53 + 2),
            ("i8", [-2**63, 2**63 - 1], 0.5, -0.5), ("u8", [0, 2**64 - 1], 0.25, 2.0**62), ("f8", [inf, inf], 0.3, inf),
            ("f8", [0, inf], 0, 0), ("f8", [0, inf], 0.5, inf), ("f8", [1, 2, inf], 1, inf), ("f8", [-inf, 0], 1, 0),
            ("f8", [-1.5e308, 1.5e308], 0.5, 0), ("f4", [-3e38, 3e38], 0.5, 0), ("f2", [65504, -65504], 0.75, 32752)):
        for kind in (dtype, ">" + dtype):
            a = da.from_array(np.array(some, kind), chunks=1)
            for recompute in (False, True):
                assert md.quantile(a, q, recompute=recompute).compute() == md.percentile(a, 100 * q, recompute=recompute).compute() == right
            assert md.quantile(da.stack([a, a]), q, axis=1).compute().tolist() == [right] * 2
            assert q != 0.5 or md.median(a).compute() == right
    zeros = da.from_array(np.zeros(65_521, "f2"), chunks=9000)
    for q in (0.5, np.float16(0.5), np.array([0.25, 0.5], "f2"), np.float32(0.5)):
        found = md.quantile(zeros, q)
        assert not found.compute().any() and found.dtype == np.quantile(np.zeros(5, "f2"), q).dtype
    rising = da.from_array(np.random.default_rng(8).permutation(70_001).astype("f4"), chunks=9000)
    assert md.quantile(rising, np.array([0.25, 0.75], "f2")).compute().tolist() == [17_500, 52_500]
