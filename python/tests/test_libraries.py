# SPDX-License-Identifier: Apache-2.0
"""Data of pandas and Dask, of files that are mapped, and of libraries that have NumPy's functions of their own."""
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import masu
from generators import outcome, same

DATA = np.random.default_rng(3).standard_normal(5000).astype("f4")


@pytest.fixture(autouse=True, params=[0, 4096], ids=["masu", "small"])
def limit(request, monkeypatch):
    monkeypatch.setattr(masu._small, "limit", request.param)


class Own:
    """An array whose library has NumPy's functions of its own; it is in no memory that another library can use."""

    shape = (2,)

    def __array_function__(self, function, types, args, keywords):
        return function.__name__, len(args), sorted(keywords)


def test_a_library_with_functions_of_its_own_is_asked():
    own = Own()
    for name, *args in (("sort", own), ("argsort", own), ("unique", own), ("median", own), ("quantile", own, 0.5),
                        ("histogram", own), ("histogram2d", own, own), ("histogramdd", own), ("digitize", own, [1]),
                        ("bincount", own), ("searchsorted", own, 3), ("partition", own, 1), ("nanmedian", own),
                        ("sum", own), ("cumsum", own), ("mean", own), ("var", own), ("std", own), ("dot", own, own),
                        ("histogram_bin_edges", own), ("digitize", DATA, own), ("dot", DATA, own)):
        got, told = outcome(getattr(masu, name), *args)
        assert got[0] == name, (name, got)
        warned = {category for category, _ in told}
        assert warned == ({masu.Fallback} if name in ("sum", "cumsum", "mean", "var", "std", "dot") else set()), (name, told)
    assert masu.histogram(own, 5, (0, 1)) == ("histogram", 1, ["bins", "range"])
    assert masu.histogramdd([own, own])[0] == "histogramdd"
    assert masu.Fallback in {category for category, _ in outcome(masu.histogram, own, 5, weights=DATA)[1]}


def test_what_such_a_library_cannot_do():
    own = Own()
    for call in (lambda: masu.topk(own, 1), lambda: masu.Histogram.of(own), lambda: masu.histogram(own, axis=0),
                 lambda: masu.bincount(own, axis=0), lambda: masu.sort(own, device="cpu")):
        with pytest.raises(TypeError, match="numpy.asarray"):
            call()


def test_dask():
    """Its arrays stay lazy: nothing is loaded."""
    da = pytest.importorskip("dask.array")
    loaded = []

    def noted(block):
        loaded.append(block.shape)
        return block

    lazy = da.from_array(np.arange(6000) % 7, chunks=1000).map_blocks(noted, dtype=int, meta=np.empty(0, int))
    for call in (lambda: masu.bincount(lazy, minlength=7), lambda: masu.histogram(lazy, 7, (0, 7))[0], lambda: masu.sum(lazy),
                 lambda: masu.mean(lazy), lambda: masu.cumsum(lazy)):
        result = call()
        assert isinstance(result, da.Array) and not loaded
    assert masu.bincount(lazy, minlength=7).compute().tolist() == np.bincount(np.arange(6000) % 7).tolist()
    with pytest.raises(TypeError, match="numpy.asarray"):
        masu.topk(lazy, 3)


def test_series_keep_their_index():
    pandas = pytest.importorskip("pandas")
    for values in (DATA, np.arange(5000)[::-1], DATA.astype("f8")):
        series = pandas.Series(values, index=np.arange(5000) + 7, name="x")
        for name in ("argsort", "cumsum"):
            got = getattr(masu, name)(series)
            assert type(got) is pandas.Series and got.name == "x" and (got.index == series.index).all()
            same(got.to_numpy(), getattr(masu, name)(values))
        same(masu.argsort(series, descending=True).to_numpy(), masu.argsort(values, descending=True))
        out = np.empty_like(values)
        assert masu.cumsum(series, out=out) is out
        assert type(masu.sort(series)) is type(np.sort(series))


def test_nan_of_a_series_is_a_number():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, np.nan, 2.0])
    for name in ("sum", "mean", "var", "median"):
        assert np.isnan(getattr(masu, name)(series)) and np.isnan(getattr(masu, name)(series.to_numpy()))
    assert masu.sum(series.dropna()) == 3.0
    same(masu.cumsum(series).to_numpy(), np.array([1.0, np.nan, np.nan]))


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "UInt8"])
def test_missing_values_are_an_error(dtype):
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1, None, 0], dtype=dtype)
    for name, *more in (("sum",), ("mean",), ("var",), ("cumsum",), ("sort",), ("argsort",), ("unique",), ("median",),
                        ("quantile", 0.5), ("nanmedian",), ("histogram",), ("bincount",), ("digitize", [1]), ("topk", 1),
                        ("histogram_bin_edges",), ("partition", 1), ("searchsorted", 1)):
        for given in (series, series.array):
            with pytest.raises(ValueError, match=r"missing values \(NA\).*dropna"):
                getattr(masu, name)(given, *more)
    with pytest.raises(ValueError, match="missing values"):
        masu.Histogram.of(series)
    for call in (masu.sum, masu.unique, masu.sort, masu.SumAccumulator.of):
        with pytest.raises(ValueError, match=r"the DataFrame must have no missing values \(NA\)"):
            call(pandas.DataFrame({"a": [1, 2, 3], "b": series}))
        call(pandas.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]}))
    with pytest.raises(ValueError, match="missing values"):
        masu.histogram([1, 2, 3], weights=series)
    whole = series.dropna()
    for name in ("sum", "cumsum", "sort", "median"):
        np.testing.assert_array_equal(getattr(masu, name)(whole), getattr(np, name)(whole.to_numpy()))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<i2"])
def test_mapped_files(tmp_path, dtype, order):
    values = (np.arange(60_000) * 7919 % 10_007).reshape(300, 200).astype(dtype)
    np.save(tmp_path / "a.npy", np.asarray(values, order=order))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert type(mapped) is np.memmap and not mapped.flags.writeable
    calls = [("sort",), ("argsort", 0, "stable"), ("histogram", 20), ("median", 1), ("unique",), ("cumsum",),
             ("bincount",) if dtype == "<i2" else ("sort", 0)]
    for name, *more in calls:
        given, plain = (mapped.ravel(), values.ravel()) if name == "bincount" else (mapped, values)
        got, want = outcome(getattr(masu, name), given, *more)[0], outcome(getattr(np, name), plain, *more)[0]
        if name == "cumsum" and values.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=1e-3)
            continue
        for mine, theirs in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
            np.testing.assert_array_equal(mine, theirs)
    assert float(masu.sum(mapped)) == float(np.float32(values.astype("i8").sum()) if values.dtype.kind == "f" else values.sum())


PIECES = """
import resource, sys
import numpy as np, masu
masu.sum(np.ones(100_000, "f4")), masu.histogram(np.ones(100_000, "f4"), 9), masu.median(np.ones(100_000, "f4"))
size = 2**27
with open("a", "wb") as file:
    file.truncate(4 * size)
a = np.memmap("a", "f4", "r", shape=(2**13, 2**14), order=sys.argv[1])
used = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_DATA, (used + 160 * 2**20,) * 2)
try:
    np.ones(size, "f4")
except MemoryError:
    pass
else:
    sys.exit("no limit")
assert masu.sum(a) == 0 and masu.mean(a) == 0 and masu.var(a) == 0
assert masu.histogram(a, 4, (0, 1))[0].tolist() == [size, 0, 0, 0]
assert masu.histogram(a, 4)[0].tolist() == [0, 0, size, 0]
assert masu.Histogram.of(a, 4, (0, 1)).n == size
assert masu.topk(a.reshape(-1, order="A"), 1).values[0] == 0
if sys.argv[1] == "C":
    assert masu.bincount(a.view("i4").reshape(-1)).tolist() == [size]
    assert masu.dot(a.reshape(-1), a.reshape(-1)) == 0
    assert masu.sum(a, axis=0).shape == (2**14,)
"""


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_mapped_file_larger_than_memory_is_read_where_it_is(tmp_path, order, request):
    if not sys.platform.startswith("linux") or "small" in request.node.name:
        pytest.skip("needs RLIMIT_DATA; once is enough")
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(PIECES), order], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
