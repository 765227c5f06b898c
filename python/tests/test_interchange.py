# SPDX-License-Identifier: Apache-2.0
"""Arrays that are not NumPy's: stand-ins for the protocols, and real libraries where they are installed."""
import array
import ctypes
import mmap
import sys
import types
import warnings

import numpy as np
import pytest

import masu
from generators import WithDLPack, outcome, same

DATA = np.random.default_rng(7).standard_normal(5000).astype("f4")


_read_only_dlpack = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # what is older has no word for it


class WithArray:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


class WithInterface:
    def __init__(self, values):
        self.values = values
        self.__array_interface__ = values.__array_interface__


def mapped(values):
    out = mmap.mmap(-1, values.nbytes)
    out.write(values.tobytes())
    return memoryview(out).cast("f")


KINDS = {
    "dlpack": WithDLPack,
    "array": WithArray,
    "array interface": WithInterface,
    "memoryview": lambda values: memoryview(values),
    "array.array": lambda values: array.array("f", values.tobytes()),
    "ctypes": lambda values: (ctypes.c_float * values.size).from_buffer_copy(values),
    "mmap": mapped,
    "list": lambda values: values.tolist(),
}


@pytest.fixture(autouse=True)
def small_arrays_too(monkeypatch):
    monkeypatch.setattr(masu._small, "limit", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_protocols(kind):
    given = KINDS[kind](DATA)
    as_numpy = np.asarray(DATA.tolist()) if kind == "list" else DATA
    np.testing.assert_array_equal(np.asarray(masu.sort(given)), np.sort(as_numpy))
    np.testing.assert_array_equal(np.asarray(masu.argsort(given, kind="stable")), np.argsort(as_numpy, kind="stable"))
    for got, want in zip(masu.histogram(given, 20), np.histogram(as_numpy, 20)):
        np.testing.assert_array_equal(np.asarray(got), want)
    np.testing.assert_array_equal(np.asarray(masu.unique(given)), np.unique(as_numpy))


@pytest.mark.parametrize("kind", [WithDLPack, WithArray, lambda values: memoryview(values)])
def test_read_only(kind):
    values = DATA.copy()
    values.flags.writeable = False
    if kind is WithDLPack and not _read_only_dlpack:
        pytest.skip("NumPy 2.0 does not export read-only arrays")
    np.testing.assert_array_equal(np.asarray(masu.sort(kind(values))), np.sort(DATA))


def test_bytes_and_bytearray_are_as_numpy_takes_them():
    """A string to NumPy, not numbers; a bytearray is numbers."""
    same(masu.sort(bytearray(b"masu")), np.sort(bytearray(b"masu")))
    same(masu.unique(b"masu"), np.unique(b"masu"))
    counts, _ = masu.histogram(memoryview(b"masu"), 256, (0, 256))
    assert counts[ord("m")] == 1 and counts.sum() == 4


def library(name):
    """A library of tensors on the CPU, of the least that masu needs: a type and from_dlpack."""
    module = types.ModuleType(name)

    class Tensor(WithDLPack):
        __module__ = f"{name}.core"

    module.Tensor = Tensor
    module.from_dlpack = lambda other: Tensor(np.from_dlpack(other))
    return module


def test_results_come_back_in_kind(monkeypatch):
    tensors = library("some_tensors")
    monkeypatch.setitem(sys.modules, "some_tensors", tensors)
    ordered = masu.sort(tensors.Tensor(DATA))
    assert type(ordered) is tensors.Tensor
    np.testing.assert_array_equal(ordered.values, np.sort(DATA))
    counts, edges = masu.histogram(tensors.Tensor(DATA), 10)
    assert type(counts) is type(edges) is tensors.Tensor
    np.testing.assert_array_equal(counts.values, np.histogram(DATA, 10)[0])
    if np.from_dlpack(DATA.copy()).flags.writeable:  # NumPy 2.0 and 2.1 take all of DLPack read-only
        ordered.values[0] = 0  # results are not read-only


def test_scalars_come_back_in_kind(monkeypatch):
    """What is a scalar of NumPy's is a tensor without dimensions."""
    tensors = library("some_tensors")
    monkeypatch.setitem(sys.modules, "some_tensors", tensors)
    whole = np.arange(40)
    for values in (DATA, DATA.astype("f8"), whole, whole.astype("u1"), DATA > 0, DATA.astype("D")):
        for name, *more in (("sum",), ("median",), ("quantile", 0.3), ("percentile", 30), ("nanmedian",), ("mean",),
                            ("var",), ("std",), ("searchsorted", 0), ("digitize", [0])):
            given = values[:1].reshape(()) if name == "digitize" else np.sort(values)
            want = outcome(getattr(masu, name), given, *more)[0]
            got = outcome(getattr(masu, name), tensors.Tensor(given), *more)[0]
            if isinstance(want, Exception):
                same(got, want)
                continue
            assert type(got) is tensors.Tensor, (name, values.dtype, got)
            same(got.values, np.asarray(want), (name, values.dtype))
        got = masu.dot(tensors.Tensor(values), tensors.Tensor(values))
        assert type(got) is tensors.Tensor
        same(got.values, np.asarray(masu.dot(values, values)))


def test_results_come_into_tensors(monkeypatch):
    tensors = library("some_tensors")
    monkeypatch.setitem(sys.modules, "some_tensors", tensors)
    if not np.from_dlpack(DATA.copy()).flags.writeable:
        pytest.skip("NumPy 2.0 and 2.1 take all of DLPack read-only")
    for name, arguments, shape, dtype in (("sort", (), DATA.shape, "f4"), ("argsort", (), DATA.shape, "i8"), ("sum", (), (), "f4"),
                                          ("cumsum", (), DATA.shape, "f4"), ("partition", (5,), DATA.shape, "f4"),
                                          ("median", (), (), "f4"), ("mean", (), (), "f4")):
        function = getattr(masu, name)
        for out in (tensors.Tensor(np.zeros(shape, dtype)), np.zeros(shape, dtype)):
            assert function(tensors.Tensor(DATA), *arguments, out=out) is out
            same(getattr(out, "values", out), np.asarray(function(DATA, *arguments)))
    outs = tensors.Tensor(np.zeros(3, "f4")), tensors.Tensor(np.zeros(3, "i8"))
    best = masu.topk(tensors.Tensor(DATA), 3, out=outs)
    assert isinstance(best, masu.TopK) and best == outs
    same(outs[0].values, masu.topk(DATA, 3).values)
    for wrong, error in ((np.zeros(4, "f4"), ValueError), (np.zeros(DATA.shape, "f8"), TypeError)):
        with pytest.raises(error, match="sort: out must have the"):
            masu.sort(tensors.Tensor(DATA), out=tensors.Tensor(wrong))


def test_tensors_that_are_not_written(monkeypatch):
    """Immutable arrays, and those whose memory holds the negated values."""
    tensors, arrays = library("some_tensors"), library("jaxlib")
    monkeypatch.setitem(sys.modules, "some_tensors", tensors)
    monkeypatch.setitem(sys.modules, "jax.numpy", types.ModuleType("jax.numpy"))
    sys.modules["jax.numpy"].from_dlpack = arrays.from_dlpack
    with pytest.raises(TypeError, match="sort: out must be writable.*JAX"):
        masu.sort(arrays.Tensor(DATA), out=arrays.Tensor(DATA.copy()))
    with pytest.raises(TypeError, match="topk: out must be writable.*JAX"):
        masu.topk(arrays.Tensor(DATA), 1, out=(arrays.Tensor(DATA[:1].copy()), arrays.Tensor(np.zeros(1, int))))
    negative = tensors.Tensor(DATA.copy())
    negative.is_neg = lambda: True
    with pytest.raises(ValueError, match="negative bit"):
        masu.sort(tensors.Tensor(DATA), out=negative)


def test_dtypes_of_pytorch(monkeypatch):
    tensors = library("some_tensors")
    monkeypatch.setitem(sys.modules, "some_tensors", tensors)

    class Dtype:
        __module__ = "torch"

        def __init__(self, name):
            self.name = name

        def __repr__(self):
            return f"torch.{self.name}"

    for name in ("sum", "mean", "std", "cumsum"):
        got = getattr(masu, name)(tensors.Tensor(DATA), dtype=Dtype("float64"))
        same(got.values, np.asarray(getattr(masu, name)(DATA, dtype="f8")))
        with pytest.raises(TypeError, match="float8_e5m2"):
            getattr(masu, name)(tensors.Tensor(DATA), dtype=Dtype("float8_e5m2"))


@pytest.mark.parametrize("limit", [0, 4096])
def test_bins_of_tensors_are_those_of_arrays(monkeypatch, limit):
    """Whatever the sizes of data and bins are."""
    tensors = library("some_tensors")
    monkeypatch.setitem(sys.modules, "some_tensors", tensors)
    monkeypatch.setattr(masu._small, "limit", limit)
    arrays = [np.array(bins) for bins in (5, [5], [0.5], [3, 4], [0.0, 1], [0.0, 0.5, 1], [], 0, 2.5, [[1, 2], [3, 4]])]
    for data in (DATA, DATA[:20]):
        for bins in arrays:
            for name, *given in (("histogram", data), ("histogram_bin_edges", data), ("digitize", data),
                                 ("histogram2d", data, data), ("histogramdd", np.stack([data, data], 1)),
                                 ("histogramdd", [data, data])):
                want = outcome(getattr(np, name), *given, bins)[0]
                got = outcome(getattr(masu, name), *given, tensors.Tensor(bins))[0]
                if not isinstance(want, Exception):
                    got = [part.values for part in flattened(got)]
                    want = flattened(want)
                same(got, want, (name, data.size, bins))
        both = [np.array([-1.0, 0, 1]), np.array(3)]
        want = np.histogram2d(data, data, both)
        for bins in ([tensors.Tensor(b) for b in both], [both[0], tensors.Tensor(both[1])]):
            same([part.values for part in masu.histogram2d(data, data, bins)], list(want))


def flattened(result):
    if isinstance(result, (tuple, list)):
        return [part for parts in result for part in flattened(parts)]
    return [result]


@pytest.mark.parametrize("bins", [5, [5], [3, 4], [0.0, 0.5, 1]])
def test_bins_on_a_device_are_those_of_arrays(bins):
    there, bins = masu.to_device(DATA, "cpu"), np.array(bins)
    for name, *given in (("histogram", there), ("histogram2d", there, there)):
        host = [DATA for _ in given]
        want = outcome(getattr(np, name), *host, bins)[0]
        got = outcome(getattr(masu, name), *given, masu.to_device(bins, "cpu"))[0]
        same(got if isinstance(got, Exception) else [part.get() for part in got],
             want if isinstance(want, Exception) else list(want), (name, bins))


def test_strided_tensors():
    """Of DLPack strides come as well."""
    view = DATA.reshape(50, 100)[::-2, 3::7]
    np.testing.assert_array_equal(np.asarray(masu.sort(WithDLPack(view.copy()), axis=0)), np.sort(view, 0))
    np.testing.assert_array_equal(np.from_dlpack(WithDLPack(masu.sort(view.T))), np.sort(view.T))


class OfTorch:
    """As a tensor of PyTorch on a GPU, which makes a contiguous copy of itself."""
    is_cuda = True

    def __init__(self, view):
        self.view, self.copies = view, 0

    def __dlpack__(self, **keywords):
        raise BufferError("the tensor itself was read")

    def __dlpack_device__(self):
        return (1, 0)

    def is_contiguous(self):
        return self.view.flags.c_contiguous

    def contiguous(self):
        self.copies += 1
        return np.ascontiguousarray(self.view)


class OfCuPy(OfTorch):
    """As an array of CuPy."""
    is_cuda = False
    __module__ = "cupy._core.core"

    @property
    def flags(self):
        return self.view.flags

    def copy(self, order):
        assert order == "C"
        return OfTorch.contiguous(self)


@pytest.mark.parametrize("kind", [OfTorch, OfCuPy])
def test_strided_tensors_on_a_gpu(kind):
    view = DATA.reshape(50, 100)[::-2, 3::7]
    for call in (masu.sort, masu.sum, masu.histogram, masu.unique, masu.topk, masu.median, masu.SumAccumulator.of):
        strided, more = kind(view), (3,) if call is masu.topk else ()
        got, want = (each.sum() if call is masu.SumAccumulator.of else each for each in (call(strided, *more), call(view, *more)))
        assert strided.copies == 1, call
        for one, other in zip(*([each] if not isinstance(each, tuple) else each for each in (got, want)), strict=True):
            np.testing.assert_array_equal(one, other)
    with pytest.raises(BufferError, match="itself"):
        masu.sort(kind(np.ascontiguousarray(view)))
    points = [kind(DATA[::2]), kind(DATA[1::2])]
    np.testing.assert_array_equal(masu.histogramdd(points, 4)[0], np.histogramdd([DATA[::2], DATA[1::2]], 4)[0])


class Broken:
    """Says that it is a tensor, and fails."""

    def __init__(self, error):
        self.error = error

    def __dlpack__(self, **keywords):
        raise self.error

    def __dlpack_device__(self):
        return (1, 0)


@pytest.mark.parametrize("error", [BufferError("cannot export"), RuntimeError("requires grad"), ValueError("no")])
def test_errors_of_a_library_are_told(error):
    with pytest.raises(type(error), match=str(error)):
        masu.sort(Broken(error))


class WithCuda:
    """An array in the memory of a GPU, or so it says."""

    def __init__(self, **changes):
        self.__cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (0x1000, False), "version": 3,
                                         "strides": None, **changes}


@pytest.mark.parametrize("changes", [{}, {"shape": (2**62, 2**62)}, {"typestr": "<c8"}, {"typestr": "?"},
                                     {"data": None}, {"shape": (-1,)}, {"shape": "four"}, {"version": 0},
                                     {"strides": (0,)}])
def test_device_arrays_without_their_device(changes):
    """Where there is no GPU, and where the description is broken, there is an error and no crash."""
    if any(device.usable and device.kind == "cuda" for device in masu.devices()):
        pytest.skip("there is a GPU, to which 0x1000 must not be shown")
    with pytest.raises(Exception) as caught:
        masu.sort(WithCuda(**changes))
    assert isinstance(caught.value, (ValueError, TypeError, RuntimeError, OSError, MemoryError, BufferError))


def test_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": DATA, "n": np.arange(DATA.size) % 7})
    np.testing.assert_array_equal(masu.sort(frame["x"]), np.sort(DATA))
    same(masu.histogram(frame["x"], 10), np.histogram(frame["x"], 10))
    same(masu.bincount(frame["n"]), np.bincount(frame["n"]))
    same(masu.histogram2d(frame["x"], frame["n"], 5), np.histogram2d(frame["x"], frame["n"], 5))
    same(masu.quantile(frame["x"].to_numpy(), 0.3), np.quantile(frame["x"].to_numpy(), 0.3))
    np.testing.assert_array_equal(masu.unique(frame["n"]), np.arange(7))


def test_pyarrow():
    pyarrow = pytest.importorskip("pyarrow")
    column = pyarrow.array(DATA)
    for given in (column, pyarrow.chunked_array([column.slice(0, 9), column.slice(9)])):
        np.testing.assert_array_equal(np.asarray(masu.sort(given)), np.sort(DATA))
        np.testing.assert_array_equal(np.asarray(masu.histogram(given, 10)[0]), np.histogram(DATA, 10)[0])


NULLS = {
    "pyarrow": lambda module, values, dtype: module.array(values, dtype),
    "pyarrow chunks": lambda module, values, dtype: module.chunked_array([values[:1], values[1:]], dtype),
    "pyarrow table": lambda module, values, dtype: module.table({"a": module.array(values, dtype)}),
    "polars": lambda module, values, dtype: module.Series(values, dtype=getattr(module, {"double": "Float64", "bool": "Boolean"}.get(
        dtype, dtype.title().replace("Ui", "UI")))),
    "pandas": lambda module, values, dtype: module.Series(values, dtype=f"{dtype}[pyarrow]"),
}


@pytest.mark.parametrize("kind", NULLS)
def test_nulls_are_an_error(kind):
    """NumPy gets NaN for a null, and floats for integers beside one: 2^53 + 1 would become 2^53."""
    library = pytest.importorskip(kind.partition(" ")[0])
    pytest.importorskip("pyarrow")
    for values, dtype in (([2**53 + 1, 2**53, None], "int64"), ([1.5, None, 2], "double"), ([True, None, True], "bool"), ([None] * 3, "int8")):
        column = NULLS[kind](library, values, dtype)
        three = np.arange(3.0)
        calls = [(name, column) for name in ("sum", "mean", "var", "cumsum", "sort", "argsort", "unique", "median", "nanmedian", "histogram",
                                             "bincount", "histogram_bin_edges")]
        calls += [("quantile", column, 0.5), ("topk", column, 1), ("partition", column, 1), ("digitize", column, [1]),
                  ("digitize", three, column), ("searchsorted", column, 1), ("searchsorted", three, column), ("dot", column, column),
                  ("histogram2d", column, column), ("histogramdd", [column, column]), ("histogram", three, 3, None, None, column),
                  ("bincount", np.arange(3), column), ("histogram2d", three, three, 2, None, None, column)]
        for name, *given in calls:
            with pytest.raises(ValueError, match="missing values"):
                getattr(masu, name)(*given)
        for function in (masu.SumAccumulator.of, masu.UniqueAccumulator.of, masu.Histogram.of, masu.RowHistograms.of,
                         lambda x: masu.to_device(x, "cpu")):
            with pytest.raises(ValueError, match="missing values"):
                function(column)


@pytest.mark.parametrize("limit", [0, 4096])
@pytest.mark.parametrize("kind", NULLS)
def test_columns_without_nulls(kind, limit, monkeypatch):
    monkeypatch.setattr(masu._small, "limit", limit)
    library = pytest.importorskip(kind.partition(" ")[0])
    pytest.importorskip("pyarrow")
    for values, dtype in (([2**53 + 1, 2**53, -1], "int64"), ([2**64 - 2, 1], "uint64"), ([1.5, -2.5], "double"), ([True, False], "bool")):
        column, array = NULLS[kind](library, values, dtype), np.array(values, {"double": "f8"}.get(dtype, dtype))
        if kind == "pyarrow table":
            array = array.reshape(-1, 1)
        for name, *more in (("sum",), ("sort",), ("unique",), ("mean",), ("median",), ("cumsum",), ("histogram", 2), ("partition", 0)):
            got, want = (outcome(getattr(masu, name), given, *more)[0] for given in (column, array))
            for mine, theirs in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
                np.testing.assert_array_equal(np.asarray(mine), theirs)
                assert np.asarray(mine).dtype == theirs.dtype
        assert masu.SumAccumulator.of(column).sum() == masu.SumAccumulator.of(array).sum()


def narrow_library(monkeypatch):
    """A library that has no dtype of 64 bits, as JAX has none unless jax_enable_x64 is set: from_dlpack cuts."""
    tensors = library("jaxlib")

    def from_dlpack(other):
        values = np.from_dlpack(other)
        narrow = values.dtype.itemsize == 8
        given = tensors.Tensor(values.astype(f"{values.dtype.kind}4") if narrow else values)
        given.dtype = given.values.dtype
        return given

    monkeypatch.setitem(sys.modules, "jax.numpy", types.ModuleType("jax.numpy"))
    sys.modules["jax.numpy"].from_dlpack = from_dlpack
    return tensors.Tensor


def test_results_of_64_bits_are_not_cut(monkeypatch):
    Tensor = narrow_library(monkeypatch)
    many = Tensor(np.full(5000, 2**30, "i4"))
    total = masu.sum(many)
    assert total == 5_368_709_120_000 and total.dtype == np.int64
    assert masu.cumsum(many)[-1] == 5_368_709_120_000
    assert masu.sum(Tensor(np.full(5000, 2**31, "u4")), dtype="u8") == 10_737_418_240_000
    assert masu.median(Tensor(np.array([2**24 + 1, 2**24 + 2], "i4"))) == 16_777_217.5
    assert masu.sum(many, dtype="float64").dtype == np.float64
    counts, edges = masu.histogram(many, 3)
    assert counts.dtype == np.int64 and edges.dtype == np.float64 and edges[0] == 2**30 - 0.5
    values, counts = masu.unique(many, return_counts=True)
    assert type(values) is Tensor and type(counts) is np.ndarray and counts.tolist() == [5000]
    for name, dtype in (("sort", "i4"), ("sum", "f4"), ("mean", "f4"), ("median", "f2")):  # what it has comes back in kind
        assert type(getattr(masu, name)(Tensor(np.arange(9).astype(dtype)))) is Tensor, name


def test_jax(monkeypatch):
    jax = pytest.importorskip("jax")
    many = jax.numpy.full(5000, 2**30, "int32")
    for wide in (False, True):
        monkeypatch.setattr(masu._small, "limit", 4096)
        with jax.enable_x64(wide):
            assert int(masu.sum(many)) == 5_368_709_120_000 and int(masu.cumsum(many)[-1]) == 5_368_709_120_000
            assert float(masu.median(jax.numpy.array([2**24 + 1, 2**24 + 2], "int32"))) == 16_777_217.5
            assert isinstance(masu.sum(many), jax.Array) is wide and isinstance(masu.sort(many), jax.Array)
            with warnings.catch_warnings():
                warnings.simplefilter("error", masu.Fallback)
                assert float(masu.bincount(many * 0, weights=many)[0]) == 5_368_709_120_000


class Unusable:
    """A tensor that PyTorch gives nobody the memory of, with the words that PyTorch has for it."""

    is_nested = is_meta = is_quantized = requires_grad = False
    layout, dtype = "torch.strided", "torch.float32"

    def __init__(self, error, **about):
        self.error = error
        vars(self).update(about)

    def is_conj(self):
        return self.dtype == "torch.complex64"

    def resolve_conj(self):
        raise AssertionError("masu changes no tensor")

    def __dlpack__(self, **keywords):
        raise self.error

    def __dlpack_device__(self):
        return 1, 0

    def __array__(self, dtype=None, copy=None):
        raise self.error


@pytest.mark.parametrize("about, error, words", [
    ({"dtype": "torch.float8_e4m3fn"}, TypeError("Got unsupported ScalarType"), r"use float\(\)"),
    ({"requires_grad": True}, RuntimeError("Can't call numpy()"), r"use detach\(\)"),
    ({"layout": "torch.sparse_coo"}, TypeError("can't convert Sparse layout tensor to numpy"), r"got the layout torch.sparse_coo; use to_dense\(\)"),
    ({"is_meta": True}, NotImplementedError("Cannot copy out of meta tensor"), "must hold data"),
    ({"is_nested": True, "layout": "torch.jagged"}, RuntimeError("numpy is not supported"), r"use unbind\(\)"),
    ({"is_quantized": True, "dtype": "torch.qint8"}, TypeError("Got unsupported ScalarType QInt8"), r"use dequantize\(\)"),
    ({"dtype": "torch.complex64"}, RuntimeError("Can't call numpy() on Tensor that has conjugate bit set"), r"use resolve_conj\(\)"),
])
def test_tensors_without_usable_memory(about, error, words):
    tensor = Unusable(error, **about)
    for name, *given in (("sum", tensor), ("sort", tensor), ("searchsorted", DATA, tensor), ("histogram", tensor), ("quantile", tensor, 0.5),
                         ("histogramdd", [tensor, tensor]), ("topk", tensor, 1)):
        with pytest.raises(TypeError, match=f"^{name}: the Unusable .*{words}") as caught:
            getattr(masu, name)(*given)
        assert caught.value.__cause__ is error and isinstance(caught.value, BufferError)
    with pytest.raises(TypeError, match=f"^SumAccumulator: the Unusable .*{words}"):
        masu.SumAccumulator.of(tensor)
    unknown = Unusable(RuntimeError("of its own"))
    with pytest.raises(RuntimeError, match="of its own"):
        masu.sum(unknown)


def test_torch_on_the_cpu():
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(DATA)
    ordered = masu.sort(tensor)
    assert isinstance(ordered, torch.Tensor)
    np.testing.assert_array_equal(ordered.numpy(), np.sort(DATA))
    counts, _ = masu.histogram(tensor, 10)
    assert counts.dtype == torch.int64
