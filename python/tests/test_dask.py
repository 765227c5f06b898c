# SPDX-License-Identifier: Apache-2.0
"""masu.dask: the bits of masu's function of the whole array, whatever the chunks, on Dask's threads."""
import itertools
import math
import pickle
import tracemalloc
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import masu

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

import masu.dask as md  # noqa: E402
from test_docs import run  # noqa: E402

RNG = np.random.default_rng(4)
DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", ">f4", ">i8"]


def values(dtype, count, awkward=True):
    """Random elements with extremes, both zeros, subnormals, infinities and NaNs of several kinds among them."""
    dtype = np.dtype(dtype)
    return _values(dtype.newbyteorder("="), count, awkward).astype(dtype)


def _values(dtype, count, awkward):
    if dtype.kind == "b":
        return RNG.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        x = RNG.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
        some = RNG.random(count) < 0.2
        x[some] = np.array([info.min, info.max, 0, 1], dtype)[RNG.integers(0, 4, np.count_nonzero(some))]
        return x
    x = (RNG.normal(size=count) * 10.0 ** RNG.integers(-3, 3, count)).astype(dtype)
    few = np.array([0.0, -0.0, 1.0, np.finfo(dtype).smallest_subnormal], dtype)
    x = np.where(RNG.random(count) < 0.2, few[RNG.integers(0, 4, count)], x)
    if awkward and count > 2:
        x[RNG.integers(0, count, 3)] = [math.inf, -math.inf, math.nan]
        x[RNG.integers(0, count)] = -np.array(math.nan, dtype)
    return x


def cut(count, kind):
    """Sizes of chunks."""
    if kind == "even":
        return (-(-count // 7),) * (count // -(-count // 7)) + ((count % -(-count // 7),) if count % -(-count // 7) else ())
    if kind == "one":
        return (count,)
    if kind == "empty":
        return (0, count // 3, 0, 0, count - count // 3, 0)
    if kind == "all in the last":
        return (0, 0, count)
    cuts = np.sort(RNG.integers(0, count + 1, min(count, 7)))
    return tuple(np.diff([0, *cuts, count]).tolist())


CUTS = ["even", "one", "empty", "all in the last", "random"]


def chunked(x, kind):
    return da.from_array(x, chunks=tuple(cut(n, kind) for n in x.shape))


def same(lazy, expected):
    """Equal bits, and what was said of the result before it was computed."""
    all_same([(lazy, expected)])


def all_same(pairs):
    for (lazy, expected), found in zip(pairs, dask.compute(*(lazy for lazy, _ in pairs))):
        one_same(lazy, found, np.asarray(expected))


def one_same(lazy, found, expected):
    assert found.dtype == expected.dtype == lazy.dtype
    assert found.shape == expected.shape
    assert len(lazy.shape) == expected.ndim
    assert all(math.isnan(n) or n == m for n, m in zip(lazy.shape, expected.shape))
    assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes(), (found, expected)


CASES = [(1, "one"), (2, "empty"), (997, "random"), (997, "all in the last"), (6007, "even"), (6007, "random")]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_totals_and_extremes(dtype):
    for (count, kind), awkward in itertools.product(CASES, (False, True)):
        x, y = values(dtype, count, awkward), values("f4", count, awkward)
        a, b = chunked(x, kind), chunked(y, "random")
        pairs = [(md.sum(a), masu.sum(x)),
                 (md.sum(a, dtype="f4", keepdims=True), masu.sum(x, dtype="f4", keepdims=True)),
                 (md.mean(a, split_every=2), masu.mean(x)), (md.var(a, ddof=1), masu.var(x, ddof=1)),
                 (md.std(a, dtype="f8"), masu.std(x, dtype="f8"))]
        if np.result_type(x, y).kind == "f":
            pairs.append((md.dot(a, b), masu.dot(x, y)))
        for name in ("argmin", "argmax"):
            place = getattr(np, name)(x)
            pairs += [(getattr(md, name)(a), place), (getattr(md, name[3:])(a), x[place])]
        all_same(pairs)


@pytest.mark.parametrize("weights", [None, "i2", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("dtype", ["u1", "i4", "f2", "f4", "f8"])
@pytest.mark.filterwarnings("ignore")
def test_histograms(dtype, weights):
    for kind, count in zip(CUTS, (5, 997, 997, 997, 5009)):
        x = values(dtype, count, False)
        if x.dtype.kind == "f":
            x = np.clip(x, -1000, 1000)
        by = None if weights is None else values(weights, count)
        a, w = chunked(x, kind), None if weights is None else chunked(by, "random")
        pairs = []
        for options in ({}, {"bins": 7, "range": (-3, 3)}, {"bins": [-5.0, 0.0, 0.25, 9.0]}, {"bins": 12, "recompute": True},
                        {"bins": 4, "density": True}):
            plain = {name: value for name, value in options.items() if name != "recompute"}
            hist, edges = masu.histogram(x, **plain, weights=by)
            pairs += zip(md.histogram(a, **options, weights=w), (hist, edges + 0))  # of zeros masu's edge may be -0
        all_same(pairs)
    y = RNG.normal(size=count).astype("f4")
    if weights in (None, "i2", "f8"):
        for options in ({"bins": (3, 4)}, {"bins": [3, [-1.0, 0.0, 2.0]], "range": [(-2, 2), None], "density": True}):
            hist, *edges = masu.histogram2d(x, y, **options, weights=by)
            all_same(list(zip(md.histogram2d(a, chunked(y, "even"), **options, weights=w), (hist, *(e + 0 for e in edges)))))
        points = np.stack([x, np.asarray(y, x.dtype)], axis=1)
        hist, edges = md.histogramdd(chunked(points, "even"), bins=5, weights=w, recompute=True)
        expected = masu.histogramdd(points, bins=5, weights=by)
        all_same([(hist, expected[0]), *((lazy, e + 0) for lazy, e in zip(edges, expected[1]))])


@pytest.mark.parametrize("weights", [None, "i8", "u8", "f2", "f8"])
def test_bincount(weights):
    for kind, high in zip(CUTS, (1, 300, 5000, 300, 5000)):
        x = RNG.integers(0, high, 3011)
        by = None if weights is None else values(weights, x.size, False)
        a, w = chunked(x, kind), None if weights is None else chunked(by, "random")
        all_same([(md.bincount(a, w), masu.bincount(x, by)),
                  (md.bincount(a, w, minlength=400), masu.bincount(x, by, minlength=400))])
    with pytest.raises(ValueError, match="negative"):
        md.bincount(chunked(np.array([1, -1, 2]), "even")).compute()
    with pytest.raises(ValueError, match="one dimension, got 2"):
        md.bincount(da.zeros((2, 2), int))


def test_the_first_counts_are_there_before():
    """As many as minlength says, whatever the length comes to."""
    for data, minlength in (([0, 1, 2, 3], 6), ([0, 1, 2, 9], 6), ([], 6), ([0, 1, 2, 3], 4)):
        x = np.array(data, int)
        for weights in (None, x * 0.5):
            want = np.bincount(x, weights, minlength)
            counts = md.bincount(da.from_array(x, chunks=2), None if weights is None else da.from_array(weights, chunks=2), minlength)
            assert np.isnan(counts.size)
            same(counts, want)
            same(counts[2:4], want[2:4])
            assert counts[2:4].shape == (2,) and counts[:minlength].shape == (minlength,) and counts[1:4:2].shape == (2,)
            same(counts[:minlength], want[:minlength])
            assert counts[3].compute() == want[3] and counts[np.int64(0),].compute() == want[0]
            same(counts + 1, want + 1)
            for unknown in (slice(2, minlength + 1), slice(2, None), slice(-1, None), minlength, -1):
                with pytest.raises(ValueError, match="unknown"):
                    counts[unknown]
            assert counts.compute_chunk_sizes()[-1].compute() == want[-1]
    with pytest.raises(ValueError, match="unknown"):
        md.bincount(da.from_array(np.array([0, 1]), chunks=1))[0:1]


def test_totals_of_cells_beyond_float64():
    """Of a chunk, whose total of digits passes 2^53."""
    w = np.random.default_rng(5).integers(0, 2**32, 12_000_001)
    x = np.zeros(w.size, "u1")
    same(md.histogramdd([da.from_array(x, chunks=-1)], [1], [(0, 1)], weights=da.from_array(w, chunks=-1))[0],
         np.array([float(int(w.sum()))]))


def test_weights_are_cut_at_the_cost_of_few_arrays():
    """The digits of a place at a time, exact over all of float64's range."""
    from masu.dask import _exact_weights

    w = RNG.uniform(-1, 1, 100_000) * 10.0 ** RNG.integers(-320, 308, 100_000)
    for part in (w, w[:1], np.clip(w, -1e38, 1e38).astype("f4"), np.zeros(3), w[:0], RNG.integers(-2**63, 2**63, 1000), np.array([-1], "i1")):
        part = part[np.isfinite(part)]
        tracemalloc.start()
        total = _exact_weights.state(part, lambda digits: np.atleast_1d(digits.sum()))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 26 * part.size + 2**20
        wanted = sum(map(Fraction, part.tolist()))
        assert sum(Fraction(int(d)) * Fraction(2) ** (32 * (total.low + k)) for k, (d,) in enumerate(total.digits)) == wanted


def test_blocks_of_unknown_chunks_are_not_lost():
    x, y = RNG.normal(size=9), RNG.normal(size=9)
    thirds, halves = (da.from_array(z, chunks=n)[da.from_array(z, chunks=n) > -100] for z, n in ((x, 3), (y, 5)))
    even = {"bins": 2, "range": [(-9, 9)] * 2}
    for one, other in ((thirds, halves), (halves, thirds)):
        for call in (lambda: md.histogram2d(one, other, **even), lambda: md.dot(one, other),
                     lambda: md.histogram(one, 2, (-9, 9), weights=other), lambda: md.bincount(one.astype(int), other)):
            with pytest.raises(ValueError, match="chunks"):
                call()
    same(md.histogram2d(thirds, da.from_array(y, chunks=3), **even)[0], masu.histogram2d(x, y, **even)[0])
    fewer = da.from_array(y, chunks=3)[da.from_array(np.arange(9), chunks=3) != 4]  # of other sizes
    for lazy in (md.histogram2d(thirds, fewer, **even)[0], md.dot(thirds, fewer),
                 md.histogram(thirds, 2, (-9, 9), weights=fewer)[0], md.bincount(abs(thirds).astype(int), fewer)):
        with pytest.raises(ValueError):
            lazy.compute()


def test_totals_of_weights_are_exact():
    """Beyond what float64 holds on the way, from the least subnormal to sums that overflow."""
    x = np.zeros(8, int)
    for by in ([1e308] * 4 + [-1e308] * 4, [5e-324] * 8, [1e308] * 8, [-1e308] * 8, [1e16, 1, -1e16, 1, 0, 0, 0, 2.0**-1000],
               [math.inf] * 8, [math.inf, -math.inf] * 4, [math.nan] + [1.0] * 7, [-0.0] * 8, [-1.5, 1.0] * 4,
               [np.finfo(float).max] + [-2.0**-1074] * 7):
        same(md.bincount(da.from_array(x, chunks=3), da.from_array(by, chunks=2)), masu.bincount(x, np.array(by)))
        same(md.histogram(da.from_array(x, chunks=3), 3, (-1, 1), weights=da.from_array(by, chunks=2))[0],
             masu.histogram(x, 3, (-1, 1), weights=np.array(by))[0])


@pytest.mark.filterwarnings("ignore")
def test_axes():
    x = values("f4", 7 * 12 * 10, False).reshape(7, 12, 10)
    a = da.from_array(x, chunks=(4, 12, 5))
    for axis in (0, -1, (0, 2), (0, 1, 2), None):
        pairs = []
        for keepdims in (False, True):
            options = {"axis": axis, "keepdims": keepdims}
            pairs += [(getattr(md, name)(a, **options), getattr(masu, name)(x, **options))
                      for name in ("sum", "mean", "var", "std")]
            pairs += [(md.median(a, **options), masu.median(x, **options, device="cpu")),
                      (md.quantile(a, [[0.1], [0.9]], **options), masu.quantile(x, [[0.1], [0.9]], **options, device="cpu")),
                      (md.min(a, **options) + 0, np.min(x, **options) + 0), (md.max(a, **options) + 0, np.max(x, **options) + 0)]
        if not isinstance(axis, tuple):
            pairs += [(md.argmin(a, axis=axis), np.argmin(x, axis=axis)),
                      (md.sort(a, axis=axis), masu.sort(x, axis=axis, device="cpu")),
                      (md.argsort(a, axis=axis), masu.argsort(x, axis=axis)),
                      *zip(md.topk(a, 3, axis=axis), masu.topk(x, 3, axis=axis))]
        all_same(pairs)
    same(md.argmax(a, keepdims=True), np.argmax(x, keepdims=True))
    all_same(list(zip(md.unique(a, True, True, True), masu.unique(x, True, True, True))))
    same(md.histogram(a, 9)[0], masu.histogram(x, 9)[0])
    same(md.sum(da.from_array(np.float32(3))), masu.sum(np.float32(3)))


@pytest.mark.filterwarnings("ignore")
def test_axes_with_no_elements():
    for shape, chunks in (((3, 5), ((0, 3), (5,))), ((0, 5), ((0,), (2, 3)))):
        x = np.arange(math.prod(shape), dtype="f4").reshape(shape)
        a = da.from_array(x, chunks=chunks)
        all_same([(getattr(md, name)(a, axis=1, **options), np.asarray(getattr(np, name)(x, axis=1, **options), x.dtype)
                   if name in ("min", "max", "sum") else getattr(np, name)(x, axis=1, **options))
                  for name in ("min", "max", "argmin", "argmax", "sum", "median") for options in ({}, {"keepdims": True})])
    for name in ("min", "argmax"):
        with pytest.raises(ValueError, match="must not be empty"):
            getattr(md, name)(a, axis=0)
    y = values("f4", 24, False).reshape(2, 3, 4)
    b = da.from_array(y, chunks=2)
    for options in ({}, {"keepdims": True}):
        all_same([(getattr(md, name)(b, axis=(), **options), getattr(masu, name, getattr(np, name))(y, axis=(), **options))
                  for name in ("sum", "mean", "var", "std", "min", "max", "median")])


def test_empty_chunks_of_several_dimensions():
    x = values("f4", 30, False).reshape(5, 6)
    a = da.from_array(x, chunks=((0, 2, 3, 0), (1, 0, 5)))
    assert a.compute().tobytes() == x.tobytes()
    all_same(list(zip(md.unique(a, True, True, True), masu.unique(x, True, True, True))))
    all_same(list(zip(md.topk(a, 4, axis=None), masu.topk(x, 4, axis=None))))
    same(md.sort(a, axis=None), masu.sort(x, axis=None, device="cpu"))
    for options in ({}, {"keepdims": True}):
        same(md.median(a, axis=(), **options), masu.median(x, axis=(), device="cpu"))
        same(md.quantile(a, [0.5, 1], axis=(), **options), masu.quantile(x, [0.5, 1], axis=(), device="cpu"))
        same(md.median(a[..., None], axis=(0, 2), **options), masu.median(x[..., None], axis=(0, 2), device="cpu", **options))
    for shape in ((4, 0), (0, 2)):
        nothing = da.zeros(shape, chunks=((0, shape[0]), (shape[1], 0)))
        all_same(list(zip(md.unique(nothing, True, True, True), masu.unique(np.zeros(shape), True, True, True))))


@pytest.mark.filterwarnings("ignore")
def test_variances_of_too_few():
    for x, ddof, wanted in (([0.1] * 3, 3, math.nan), ([1e200, -1e200], 2, math.inf), ([1.0, 2.0], 3, math.inf),
                            ([math.inf, 1.0], 2, math.nan), ([math.nan], 1, math.nan)):
        for function in (md.var, md.std):
            np.testing.assert_equal(function(da.from_array(x, chunks=1), ddof=ddof).compute(), wanted)
    same(md.var(da.from_array(np.array([1e-4, 2e-4], "f2"), chunks=1), ddof=2), np.float16(math.inf))


def test_devices():
    a, w = da.from_array(np.arange(9.0), chunks=4), da.ones(9, chunks=3)
    calls = [getattr(md, name) for name in ("sum", "mean", "var", "sort", "argsort", "unique", "median", "min")]
    calls += [partial(md.dot, b=w), partial(md.histogram, bins=3, range=(0, 9)), partial(md.topk, k=2),
              partial(md.histogramdd, bins=3, weights=w), lambda b, **k: md.bincount(b.astype(int), w, **k)]
    for call in calls:
        of = a if getattr(call, "func", None) is not md.histogramdd else [a]
        if call not in (md.median, md.min):
            one, other = (call(of, device=device) for device in ("cpu", masu.Device("cpu")))
            one, other = (dask.base.unpack_collections(r)[0] for r in (one, other))
            assert [r.name for r in one] == [r.name for r in other]
            pickle.dumps([dict(r.dask) for r in other])
            with pytest.raises(TypeError, match="device must be a name or a masu.Device, got int"):
                call(of, device=5)
            for wrong in ("nope", "cuda:", "cpu:0", "gpu"):
                with pytest.raises(ValueError, match=f"[a-z]+: a device is auto, .*, got '{wrong}'"):
                    call(of, device=wrong)
            call(of, device="cuda:7")  # a worker may have it
        if call not in (md.sort, md.argsort):
            for wrong in (0, 1, "x"):
                with pytest.raises((TypeError, ValueError), match="[a-z]+: split_every must be"):
                    call(of, split_every=wrong)
    for call in (md.sum, md.min, md.median, lambda *b, **k: md.topk(b[0], 1, **k)):
        with pytest.raises(ValueError, match="split_every must be at least 2"):
            call(a.reshape(3, 3), axis=0, split_every=1)


def test_scalars_and_edges():
    a = da.from_array(np.arange(9.0), chunks=4)
    for lazy in (md.sum(a), md.median(a), md.min(a), md.argmax(a), md.quantile(a, 0.5), md.dot(a, a)):
        assert isinstance(lazy.compute(), np.generic)
    for x in (np.array([-1.0, 0.0, -0.0, -0.5, -0.5]), np.array([-0.0, 0.0]), -np.arange(4.0), np.array([-0.0, 1.0])):
        for chunks in (1, 2, 3, 5):
            for edges in (md.histogram(da.from_array(x, chunks=chunks), 2)[1],
                          md.histogramdd([da.from_array(x, chunks=chunks)], 2)[1][0]):
                one_same(edges, edges.compute(), masu.histogram(x + 0, 2)[1])
    nothing = da.zeros(0, dtype=int)
    same(md.bincount(nothing, nothing * 1.0, minlength=2), masu.bincount(np.zeros(0, int), np.zeros(0), minlength=2))


def test_conventions():
    x = RNG.normal(size=1000)
    a = da.from_array(x, chunks=100)
    for name, options in (("sum", {}), ("median", {}), ("sort", {}), ("argmin", {}), ("bincount", {}), ("histogram", {"bins": 3})):
        of = a if name != "bincount" else (a * 10).astype(int) ** 2
        one, other, another = (getattr(md, name)(given, **options) for given in (of, of, of + 1))
        one, other, another = (r[0] if isinstance(r, tuple) else r for r in (one, other, another))
        assert one.name == other.name != another.name
        assert dask.base.tokenize(one) == dask.base.tokenize(other)
        assert isinstance(one._meta, np.ndarray) and one._meta.dtype == one.dtype
        assert np.array_equal(one.persist().compute(), other.compute(scheduler="synchronous"))
        one.dask.validate()
    assert md.sum(a, split_every=2).name != md.sum(a, split_every=3).name
    assert float((md.sum(a) + 1).compute()) == masu.sum(x) + 1
    calls = []
    slow = a.map_blocks(lambda block: calls.append(1) or block, dtype=a.dtype, meta=np.empty(0))
    md.quantile(slow, 0.5).compute()
    kept = len(calls)
    md.quantile(slow, 0.5, recompute=True).compute()
    assert kept == 10 and len(calls) > 2 * kept
    unknown = a[a > 0]
    positive = x[x > 0]
    same(md.sum(unknown), masu.sum(positive))
    same(md.median(unknown), masu.median(positive))
    same(md.min(unknown), positive.min())
    same(md.histogram(unknown, 5)[0], masu.histogram(positive, 5)[0])


def delayed(made, size, chunks):
    return da.concatenate([da.from_delayed(dask.delayed(made)(i), (size,), float) for i in range(chunks)])


def mapped(made, size, chunks):
    return da.map_blocks(lambda block_info=None: made(block_info[None]["chunk-location"][0]), chunks=((size,) * chunks,),
                         dtype=float, meta=np.empty(0))


def legacy(made, size, chunks):
    """Tasks as tuples, with another between."""
    tasks = {("made", i): (made, i) for i in range(chunks)}
    tasks.update({("legacy", i): (np.add, ("made", i), (sum, [0.0, 0.0])) for i in range(chunks)})
    return da.Array(tasks, "legacy", ((size,) * chunks,), dtype=float)


@pytest.mark.parametrize("source", [delayed, mapped, legacy])
def test_chunks_that_are_computed_again_take_little_memory(source):
    """A worker holds few chunks at a time, however many there are, wherever they come from."""
    size, chunks = 2**18, 48
    calls = []

    def made(i):
        calls.append(i)
        return np.random.default_rng(i).normal(size=size)

    a = source(made, size, chunks)
    kept = a.compute()
    for call, wanted in ((partial(md.histogram, bins=100), masu.histogram(kept, 100)[0]), (md.median, masu.median(kept)),
                         (partial(md.quantile, q=[0.01, 0.9]), masu.quantile(kept, [0.01, 0.9]))):
        calls.clear()
        tracemalloc.start()
        found = dask.compute(call(a, recompute=True), scheduler="threads", num_workers=2)[0]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 12 * 8 * size < 8 * size * chunks / 3, call
        assert len(calls) >= 2 * chunks and sorted(calls) == sorted(list(range(chunks)) * (len(calls) // chunks))
        assert np.array_equal(found[0] if isinstance(found, tuple) else found, wanted)


@pytest.mark.filterwarnings("ignore")
def test_nothing_and_errors():
    nothing = da.zeros(0, chunks=3)
    same(md.sum(nothing), masu.sum(np.zeros(0)))
    same(md.mean(nothing), masu.mean(np.zeros(0)))
    same(md.var(da.ones(1), ddof=1), masu.var(np.ones(1), ddof=1))
    same(md.median(nothing), masu.median(np.zeros(0)))
    same(md.sort(nothing), np.zeros(0))
    same(md.histogram(nothing, 3)[0], masu.histogram(np.zeros(0), 3)[0])
    same(md.unique(nothing), np.zeros(0))
    a = da.from_array(np.array([1.0, math.nan, 2.0]), chunks=2)
    with pytest.raises(ValueError, match="autodetected range of .* is not finite"):
        md.histogram(a, 3)[0].compute()
    with pytest.raises(ValueError, match="`bins` must be positive"):
        md.histogram(a, 0, (0, 1))
    with pytest.raises(TypeError, match="rule 'auto'"):
        md.histogram(a, "auto")
    with pytest.raises(ValueError, match="argmin: the array must not be empty"):
        md.argmin(nothing)
    with pytest.raises(ValueError, match="k must be from 1 to 3"):
        md.topk(a, 4)
    with pytest.raises(ValueError, match="Quantiles must be in the range"):
        md.quantile(a, 2)
    with pytest.raises(ValueError, match="split_every must be at least 2, got 1"):
        md.sum(a, split_every=1)
    with pytest.raises(ValueError, match="ddof must be an integer"):
        md.var(a, ddof=0.5)
    with pytest.raises(TypeError, match="got complex128"):
        md.sum(a.astype(complex))
    with pytest.raises(TypeError, match="or of a library as CuPy, got MaskedArray"):
        md.sum(da.ma.masked_invalid(a))
    with pytest.raises(TypeError, match="unexpected keyword argument 'where'"):
        md.sum(a, where=True)
    with pytest.raises(np.exceptions.AxisError):
        md.sort(a, axis=1)
    for wrong, call in ((r"`bins\[1\]` must be positive", lambda: md.histogram2d(a, a, [2, 0])),
                        (r"`bins\[1\]` must be positive", lambda: md.histogram2d(a, a, [2, 0], [(0, 1), (0, 1)])),
                        (r"histogram: bins must be an integer or edges, got 2\.0", lambda: md.histogram(a, 2.0)),
                        (r"histogramdd: bins\[1\] must be an integer", lambda: md.histogram2d(a, a, [2, None])),
                        ("range must be computed", lambda: md.histogram(a, 2, (0, a.max()))),
                        ("range must be computed", lambda: md.histogram2d(a, a, 2, [(0, 1), (0, a.max())])),
                        ("bins must be computed", lambda: md.histogram(a, a)),
                        ("bins must be computed", lambda: md.histogramdd([a], [a]))):
        with pytest.raises((TypeError, ValueError), match=wrong):
            call()
    two = da.ones((4, 2), chunks=2)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        md.unique(two[two[:, 0] > 0])
    with pytest.raises(ValueError, match="one length, got 3 and 2"):
        md.dot(a, da.ones(2))
    with pytest.raises(ValueError, match="same shape"):
        md.histogram(a, 3, (0, 1), weights=da.ones(2))


def test_every_name_is_there_and_documented():
    assert sorted(md.__all__) == md.__all__
    for name in md.__all__:
        function = getattr(md, name)
        assert function.__doc__, name
        run(function.__doc__, name, {})
