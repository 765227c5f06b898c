# SPDX-License-Identifier: Apache-2.0
"""Floats of 8 bits: arrays of ml_dtypes, tensors, bytes; all codes beside the same numbers in float32."""
import sys
import types

import numpy as np
import pytest

import masu

ml_dtypes = pytest.importorskip("ml_dtypes")
FORMATS = ["float8_e4m3fn", "float8_e5m2"]


class Tensor:
    """A tensor of PyTorch's in host memory, whose dtype NumPy does not take."""

    def __init__(self, array):
        self.array = array

    @property
    def dtype(self):
        return f"torch.{self.array.dtype}"

    def view(self, dtype):
        return Tensor(self.array.view(dtype))

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __array__(self, dtype=None, copy=None):
        if self.array.dtype.num > 255:
            raise TypeError(f"Got unsupported ScalarType {self.array.dtype}")
        return self.array


@pytest.fixture
def tensors(monkeypatch):
    module = types.ModuleType("some_tensors")
    module.from_dlpack, module.uint8 = Tensor, np.uint8
    monkeypatch.setattr(Tensor, "__module__", "some_tensors")
    monkeypatch.setitem(sys.modules, "some_tensors", module)
    return Tensor


@pytest.fixture(params=["numpy", "tensor"])
def kind(request, tensors):
    """(arrays of this kind, their results as NumPy's)."""
    if request.param == "numpy":
        return (lambda a: a), (lambda found: found)
    return tensors, lambda found: found.array


@pytest.fixture(params=FORMATS)
def dtype(request):
    return np.dtype(getattr(ml_dtypes, request.param))


def codes(count):
    return (np.arange(count) * 167 + np.arange(count) // 256).astype(np.uint8)


def same(found, expected):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    nan = np.isnan(expected) if expected.dtype.kind in "fV" else np.zeros(expected.shape, bool)
    assert (np.isnan(found) == nan).all() if nan.any() else True
    assert found[~nan].tobytes() == expected[~nan].tobytes()


@pytest.mark.parametrize("count", [0, 1, 2, 257, 70001])
def test_convert(kind, dtype, count):
    make, got = kind
    data = codes(count).view(dtype)
    numbers = data.astype(np.float32)  # ml_dtypes' own table
    for to in (np.float32, np.float16, np.float64):
        same(got(masu.convert(make(data), to)), numbers.astype(to))
        same(masu.convert(data.view(np.uint8), to, format=dtype.name), numbers.astype(to))
    small = data[np.abs(numbers) < 100]
    same(got(masu.convert(make(small), np.int8)), small.astype(np.float32).astype(np.int8))


def test_shapes(dtype):
    data = codes(600).view(dtype).reshape(20, 30)
    for view in (data, data.T, data[::2, 1::3], data[3], data[3:3]):
        same(masu.convert(view, "float32"), view.astype(np.float32))
    on_device = masu.to_device(data.view(np.uint8), "cpu")
    same(masu.convert(on_device, "float32", format=dtype.name).get(), data.astype(np.float32))


def test_histogram(tensors, dtype):
    make, got = tensors, lambda found: found.array
    data = codes(70001).view(dtype)
    numbers = data.astype(np.float32)
    weights = np.arange(data.size) % 7
    for bins, range in ((100, (-448, 448)), (10, (0, 1)), ([-448, -1, 0, 1, 448], None), (np.float32([0, 0.5, 2]), None)):
        for options in ({}, {"density": True}, {"weights": weights}):
            for found, expected in zip(masu.histogram(make(data), bins, range, **options), np.histogram(numbers, bins, range, **options)):
                found = got(found)
                assert found.dtype == expected.dtype and (found == expected).all()
    finite = data[np.isfinite(numbers)]
    for bins in (10, "sturges"):
        expected = np.histogram(finite.astype(np.float32), bins)
        found = masu.histogram(make(finite), bins)
        assert (got(found[0]) == expected[0]).all() and (got(found[1]) == expected[1]).all()
    for bad in (data, data[:0]):
        try:
            expected = np.histogram(bad.astype(np.float32))
        except ValueError as error:
            with pytest.raises(ValueError, match="autodetected range"):
                masu.histogram(make(bad))
            assert "autodetected range" in str(error)
        else:
            assert (got(masu.histogram(make(bad))[1]) == expected[1]).all()


def test_bins_of_values(kind, dtype):
    make, _ = kind
    data = codes(1000).view(dtype)
    h = masu.Histogram.of(make(data), 10, range=(-448, 448))
    assert h.counts().tolist() == np.histogram(data.astype(np.float32), 10, (-448, 448))[0].tolist()
    edges = np.float32([-100, -1, 0, 1, 100])
    assert np.asarray(masu.digitize(make(data), edges)).tolist() == np.digitize(data.astype(np.float32), edges).tolist()


CALLS = {
    name: (lambda x, name=name: getattr(masu, name)(x)) for name in
    "argmax argmin argsort cumsum count_nonzero max mean median min minmax nanmedian sort std sum unique var bincount".split()
} | {
    "argpartition": lambda x: masu.argpartition(x, 3), "partition": lambda x: masu.partition(x, 3),
    "compress": lambda x: masu.compress([True] * 40, x), "dot": lambda x: masu.dot(x, x),
    "histogram2d": lambda x: masu.histogram2d(x, x), "histogramdd": lambda x: masu.histogramdd([x, x]),
    "group": lambda x: masu.group(x, 3), "nanpercentile": lambda x: masu.nanpercentile(x, 5), "nanquantile": lambda x: masu.nanquantile(x, 0.5),
    "percentile": lambda x: masu.percentile(x, 5), "quantile": lambda x: masu.quantile(x, 0.5),
    "searchsorted": lambda x: masu.searchsorted(x, x), "segment_sum": lambda x: masu.segment_sum(x, [0, 5, 40]),
    "take": lambda x: masu.take(x, [1, 2]), "to_device": lambda x: masu.to_device(x, "cpu"), "topk": lambda x: masu.topk(x, 3),
}


@pytest.mark.parametrize("name", CALLS)
def test_other_functions_name_convert(tensors, dtype, name):
    with pytest.raises(TypeError, match=rf"^{name}: the Tensor must be of a dtype that NumPy has, got torch.{dtype.name}; use .*masu\.convert"):
        CALLS[name](tensors(codes(40).view(dtype)))


def test_arrays_that_numpy_has_no_function_for_name_convert(dtype):
    data = codes(40).view(dtype)
    for call in (lambda: masu.topk(data, 2), lambda: masu.to_device(data, "cpu"), lambda: masu.SumAccumulator.of(data),
                 lambda: masu.RowHistograms.of(data.reshape(4, 10), 3, (0, 1)), lambda: masu.histogram(data.reshape(4, 10), 3, (0, 1), axis=1),
                 lambda: masu.DeviceArray("cpu", dtype, (3,))):
        with pytest.raises(TypeError, match=rf"{dtype.name}; use masu\.convert"):
            call()


def test_bad_input():
    with pytest.raises(TypeError, match="convert: format must be float8_e4m3fn or float8_e5m2, of data of uint8, got float8 of data of uint8"):
        masu.convert(codes(3), np.float32, format="float8")
    with pytest.raises(TypeError, match="of data of float32"):
        masu.convert(np.float32([1]), np.float32, format="float8_e5m2")
    for dtype in (np.complex64, ml_dtypes.float8_e5m2, ml_dtypes.int4):
        with pytest.raises(TypeError):
            masu.convert(codes(3), dtype)
