# SPDX-License-Identifier: Apache-2.0
"""masu.dask has every function that masu and dask.array have; those of them that test_dask.py does not try."""
import itertools
import math

import numpy as np
import pytest

import masu

da = pytest.importorskip("dask.array")

import masu.dask as md  # noqa: E402
from test_dask import CASES, CUTS, DTYPES, RNG, all_same, chunked, cut, same, values  # noqa: E402
from test_docs import run  # noqa: E402


def test_every_function_that_dask_has_too():
    both = {name for name in masu.__all__ if hasattr(da, name) and not isinstance(getattr(masu, name), type)}
    assert both <= set(md.__all__)
    assert {"cumsum", "nanmedian", "searchsorted", "take"} <= both


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_running_sums(dtype):
    for (count, kind), awkward in itertools.product(CASES, (False, True)):
        x = values(dtype, count, awkward)
        a = chunked(x, kind)
        pairs = [(md.cumsum(a), masu.cumsum(x)), (md.cumsum(a, dtype="f4"), masu.cumsum(x, dtype="f4")),
                 (md.cumsum(a, dtype="f2"), masu.cumsum(x, dtype="f2"))]
        if count == 6007:
            y = x[:6000].reshape(30, 20, 10)
            b = da.from_array(y, chunks=(7, (9, 0, 11), 10))
            pairs += [(md.cumsum(b), masu.cumsum(y)), (md.cumsum(b, 1), masu.cumsum(y, 1)), (md.cumsum(b, axis=-1), masu.cumsum(y, -1))]
        all_same(pairs)


@pytest.mark.parametrize("shape", [(1,), (1, 4), (4, 1)])
def test_one_element_beside_an_empty_chunk(shape):
    x = np.arange(1.0, 1 + math.prod(shape)).reshape(shape)
    for chunks in ((0, 1), (1, 0), (0, 1, 0)):
        a = da.from_array(x, chunks=tuple(chunks if n == 1 else (n,) for n in shape))
        same(md.count_nonzero(a), masu.count_nonzero(x))
        for axis in range(x.ndim):
            same(md.count_nonzero(a, axis), masu.count_nonzero(x, axis))
        pairs = [(md.sum(a), masu.sum(x)), (md.mean(a), masu.mean(x)), (md.max(a), masu.max(x)), (md.argmax(a), masu.argmax(x)),
                 (md.average(a, weights=a), masu.average(x, weights=x)), (md.median(a), masu.median(x)), (md.nanmedian(a), masu.nanmedian(x)),
                 (md.cumsum(a), masu.cumsum(x)), (md.sort(a, 0), masu.sort(x, 0)), (md.unique(a), masu.unique(x)),
                 (md.digitize(a, [2.0]), masu.digitize(x, [2.0])), (md.topk(a, 1, 0).values, masu.topk(x, 1, 0).values),
                 (md.histogram(a, 3, (0, 5))[0], masu.histogram(x, 3, (0, 5))[0])]
        for found, wanted in pairs:
            same(found, wanted)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.filterwarnings("ignore")
def test_running_sums_that_overflow_or_cancel(dtype):
    most = np.finfo(dtype).max
    for x in ([most] * 9 + [-most] * 9 + [1], [most, most, 1, -most, -most, 1, 0, most], [1, most, -most, 1e-4, -1], [-0.0] * 7, [most] * 30 + [math.inf, -most],
              [math.inf, 1, 1, -math.inf, 1, 1], [1, math.nan, 1, 1], np.tile([most, most / 3, 1e-3], 40), -np.tile([most, most / 3, 1e-3], 400)):
        x = np.asarray(x, dtype)
        for size in (1, 2, 5):
            same(md.cumsum(da.from_array(x, chunks=size)), masu.cumsum(x))
    large = RNG.permutation(np.concatenate([np.full(3000, 1000), np.full(3000, -1000), np.full(4000, 900)])).astype(dtype)
    same(md.cumsum(da.from_array(large, chunks=1000)), masu.cumsum(large))
    for size in (7, 3):  # of sizes that are not known, in one chunk and in several
        x = da.from_array(np.arange(7.0), chunks=size)
        same(md.cumsum(x[x > 2]), np.cumsum(np.arange(3.0, 7)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_quantiles_without_nan(dtype):
    q = [0, 0.25, 0.7, 1]
    for count, kind in CASES:
        x = values(dtype, count)
        if x.dtype.kind == "f":
            x[RNG.random(count) < 0.4] = math.nan
            x[-1] = 2  # all of NaN: below
        a = chunked(x, kind)
        pairs = [(md.nanmedian(a), masu.nanmedian(x)), (md.nanmedian(a, keepdims=True, recompute=True), masu.nanmedian(x, keepdims=True))]
        for method in ("linear", "nearest"):
            if x.dtype.kind != "b":
                pairs += [(md.nanquantile(a, q, method=method), masu.nanquantile(x, q, method=method)),
                          (md.nanpercentile(a, 30, method=method), masu.nanpercentile(x, 30, method=method))]
        all_same(pairs)
    if x.dtype.kind == "f":
        x[:12] = math.nan
        y = x[:6000].reshape(600, 10)
        b = da.from_array(y, chunks=(100, 3))
        all_same([(md.nanmedian(b, 1), masu.nanmedian(y, 1)), (md.nanquantile(b, q, 0, keepdims=True), masu.nanquantile(y, q, 0, keepdims=True)),
                  (md.nanmedian(b), masu.nanmedian(y)), (md.nanmedian(b, keepdims=True), masu.nanmedian(y, keepdims=True))])
        none = np.full(9, math.nan, x.dtype.newbyteorder("="))
        for name, arguments in (("nanmedian", ()), ("nanquantile", (q,)), ("nanpercentile", (50,))):
            with pytest.warns(RuntimeWarning, match="All-NaN slice"):
                assert np.array_equal(getattr(md, name)(da.from_array(none, chunks=4), *arguments).compute(), getattr(masu, name)(none, *arguments), equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_places(dtype):
    for kind, count in zip(CUTS, (5, 997, 997, 997, 5009)):
        x, v = np.sort(values(dtype, count)), values(dtype, 300).reshape(3, 100)
        a, w = chunked(x, kind), da.from_array(v, chunks=(2, 30))
        pairs = [(searched(one, other, side), masu.searchsorted(x, v, side)) for one, other in ((a, w), (x, w), (a, v)) for side in ("left", "right")
                 for searched in [lambda one, other, side: md.searchsorted(one, other, side)]]
        pairs.append((md.searchsorted(a, v[0, 0]), masu.searchsorted(x, v[0, 0])))
        bins = np.unique(x[np.isfinite(x)].astype("f8"))[:50]
        pairs += [(md.digitize(w, part, right), masu.digitize(v, part, right)) for part in (bins, bins[::-1]) for right in (False, True)]
        pairs += [(md.count_nonzero(a), np.asarray(masu.count_nonzero(x))), (md.count_nonzero(w, 1), masu.count_nonzero(v, 1)),
                  (md.count_nonzero(w, keepdims=True), np.asarray(masu.count_nonzero(v, keepdims=True)))]
        all_same(pairs)
        places, some = RNG.integers(0, count, 40), RNG.random(count) < 0.3
        for lazy, wanted in ((md.take(a, places), x[places]), (md.take(w, [5, 7, 250]), v.take([5, 7, 250])), (md.take(w, [5, 7], 1), v[:, [5, 7]]),
                             (md.compress(some, a), x[some]), (md.compress([True, False, True], w, 0), v[::2])):
            assert lazy.compute().astype(x.dtype).tobytes() == np.ascontiguousarray(wanted).tobytes()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i4"])
def test_averages(dtype):
    for count, kind in CASES:
        x, w = values(dtype, count, False), np.abs(values("f4", count, False)) + np.float32(1)
        a = chunked(x, kind)
        found, total = md.average(a, weights=w, returned=True)
        wanted, weight = masu.average(x, weights=w, returned=True)
        all_same([(found, wanted), (total, weight), (md.average(a, weights=chunked(w, "random")), wanted)])
        same(md.average(a), masu.average(x))
    with pytest.raises(ZeroDivisionError, match="Weights sum to zero"):
        md.average(a, weights=np.zeros(count)).compute()


@pytest.mark.parametrize("chunks", [(0, 0, 1, 1, 0), (1, 0, 0, 0, 1), (0, 2)])
def test_elements_beside_many_empty_chunks(chunks):
    x = RNG.integers(0, 9, (2, 3))
    line, a = da.from_array(x[:, 0], chunks=(chunks,)), da.from_array(x, chunks=(chunks, (0, 2, 0, 1)))
    all_same([(md.take(line, [0, -1, 0]), x[[0, -1, 0], 0]), (md.take(a, [1, 0], 0), x[::-1]), (md.take(a, [2], 1), x[:, 2:]), (md.take(a, [5]), x[1:, 2]),
              (md.compress([False, True], line), x[1:, 0]), (md.compress([False, True], a, 0), x[1:]), (md.cumsum(a, 1), masu.cumsum(x, 1)),
              (md.sort(a, 0), masu.sort(x, 0))])


@pytest.mark.parametrize("shape,axis", [((0, 0), 1), ((3, 0), 1), ((0, 3, 1), 0), ((2, 0, 3), -2)])
@pytest.mark.filterwarnings("ignore")
def test_lines_of_no_elements_in_several_chunks(shape, axis):
    for dtype, keepdims in itertools.product(("u8", "f4"), (False, True)):
        x = np.empty(shape, dtype)
        a = da.from_array(x, chunks=tuple((0, 0) if n == 0 else (1,) * n for n in shape))
        all_same([(md.count_nonzero(a, axis, keepdims), masu.count_nonzero(x, axis, keepdims=keepdims)), (md.sum(a, axis, None, keepdims), masu.sum(x, axis, keepdims=keepdims)),
                  (md.cumsum(a, axis), x if dtype == "f4" else x.astype("u8")), (md.sort(a, axis), x)])
        for q in (0.5, [0.25, 0.5]):
            found = md.nanquantile(a, q, axis, keepdims=keepdims)
            wanted = np.full((*np.shape(q), *(1 if i == axis % x.ndim else n for i, n in enumerate(shape) if keepdims or i != axis % x.ndim)), np.nan)
            assert found.shape == wanted.shape and np.array_equal(found.compute(), wanted, equal_nan=True)


def test_two_arrays_of_no_elements_in_other_chunks():
    for one, other in (((0,), (0, 0)), ((0, 0, 0), (0,))):
        a, b = (da.from_array(np.empty(0), chunks=(chunks,)) for chunks in (one, other))
        assert md.dot(a, b).compute() == 0 and md.histogram(a, 3, (0, 3), weights=b)[0].compute().tolist() == [0, 0, 0]
        assert md.bincount(a.astype("u1"), b, 2).compute().tolist() == [0, 0] and not md.histogram2d(a, b, 2, ((0, 1), (0, 1)))[0].compute().any()


@pytest.mark.parametrize("dtype", ["u8", "i1", "f4", "f8"])
@pytest.mark.filterwarnings("ignore")
def test_quantiles_of_nothing_are_no_integers(dtype):
    x = da.from_array(np.ones(3, dtype), chunks=2)
    for a in (da.from_array(np.empty(0, dtype), chunks=2), x[x != x]):
        for found in (md.nanquantile(a, 0.5, method="nearest"), md.nanpercentile(a, [5, 9], method="lower"), md.nanmedian(a)):
            assert np.isnan(found.compute()).all() and found.compute().dtype == ("f4" if dtype == "f4" else "f8")


@pytest.mark.parametrize("call,kind,words", [
    (lambda a: md.average(a, 0, [1.0]), TypeError, "average: returned needs weights; with these axis"), (lambda a: md.average(a, returned=True), TypeError, "average"), (lambda a: md.cumsum(a, 3), ValueError, "axis 3"),
    (lambda a: md.cumsum(a, dtype="i4"), TypeError, "cumsum: dtype"), (lambda a: md.cumsum(a, dtype="c8"), TypeError, "cumsum: dtype"),
    (lambda a: md.digitize(a, [1, 0, 2]), ValueError, "monotonic"), (lambda a: md.searchsorted(a, a, "middle"), ValueError, "side"),
    (lambda a: md.searchsorted(a.reshape(2, 2), a), ValueError, "object too deep|dimension"), (lambda a: md.nanquantile(a, 2), ValueError, "range"),
    (lambda a: md.cumsum(da.ones((2, 2), chunks=1)[da.ones(2, chunks=1) > 0], 0), ValueError, "sizes of the chunks must be known"),
])
def test_bad_arguments(call, kind, words):
    with pytest.raises(kind, match=words):
        call(da.from_array(np.arange(4.0), chunks=3))


def test_chunks_of_unknown_sizes():
    x = np.arange(100.0)
    a = da.from_array(x, chunks=7)
    a = a[a % 3 > 0]
    x = x[x % 3 > 0]
    all_same([(md.cumsum(a), masu.cumsum(x)), (md.nanmedian(a), masu.nanmedian(x)), (md.searchsorted(a, [5.0, 50.0]), masu.searchsorted(x, [5.0, 50.0])),
              (md.count_nonzero(a), np.asarray(masu.count_nonzero(x))), (md.digitize(a, [5, 50]), masu.digitize(x, [5, 50]))])


@pytest.mark.parametrize("name", ["average", "compress", "count_nonzero", "cumsum", "digitize", "nanmedian", "searchsorted", "take"])
def test_docstrings(name):
    assert run(getattr(md, name).__doc__, name, {})
