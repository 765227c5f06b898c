# SPDX-License-Identifier: Apache-2.0
"""bfloat16: arrays of ml_dtypes, tensors that NumPy does not take, device arrays; all values beside the same ones in float32."""
import math
import pickle
import sys
import types

import numpy as np
import pytest

import masu

ml_dtypes = pytest.importorskip("ml_dtypes")
BF16 = np.dtype(ml_dtypes.bfloat16)
ALL = (np.arange(65536, dtype=np.uint32) * 40503).astype(np.uint16).view(BF16)
FINITE = ALL[np.isfinite(ALL.astype(np.float32))]


def floats(a):
    return (np.asarray(a).view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def rounded(numbers):
    """float64 as bfloat16, to nearest even, rounded once."""
    numbers = np.asarray(numbers, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = np.maximum(np.frexp(numbers)[1] - 8, -133)
        nearest = np.ldexp(np.rint(np.ldexp(numbers, -exponent)), exponent)
        return nearest.astype(np.float32).astype(BF16)


def bits(a):
    return np.asarray(a).view(np.uint16).tolist()


class Tensor:
    """A tensor of PyTorch's in host memory, whose dtype NumPy does not take."""

    requires_grad = False

    def __init__(self, memory):
        self.memory = memory if isinstance(memory, masu.DeviceArray) else masu.to_device(memory, "cpu")

    @property
    def dtype(self):
        return f"torch.{self.memory.dtype}"

    @property
    def values(self):
        return self.memory.get()

    def contiguous(self):
        return self

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        return self.memory.__dlpack__(**options)

    def __array__(self, dtype=None, copy=None):
        if self.memory.dtype == BF16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values


@pytest.fixture
def tensors(monkeypatch):
    module = types.ModuleType("some_tensors")
    module.from_dlpack = lambda array: Tensor(masu.DeviceArray(array.__dlpack__())) if not isinstance(array, np.ndarray) else Tensor(array)
    monkeypatch.setattr(Tensor, "__module__", "some_tensors")
    monkeypatch.setitem(sys.modules, "some_tensors", module)
    return Tensor


@pytest.fixture(params=["numpy", "tensor", "device"])
def kind(request, tensors):
    """(arrays of this kind, their results as NumPy's)."""
    if request.param == "numpy":
        return (lambda a: a), (lambda found: found)
    if request.param == "tensor":
        return tensors, lambda found: found.values
    return (lambda a: masu.to_device(a, "cpu")), lambda found: np.asarray(found)


def test_orders(kind):
    make, got = kind
    x, numbers = make(ALL), floats(ALL)
    order = np.argsort(numbers, kind="stable")
    assert got(masu.argsort(x)).tolist() == order.tolist()
    found = got(masu.sort(x))
    assert found.dtype == BF16 and bits(found) == bits(ALL[order])
    rows = ALL[:65000].reshape(65, 1000)
    for axis in (0, 1):
        order = np.argsort(floats(rows), axis=axis, kind="stable")
        assert bits(got(masu.sort(make(rows), axis=axis))) == bits(np.take_along_axis(rows, order, axis))
        assert (got(masu.argsort(make(rows), axis)) == order).all()
    values, places = masu.topk(x, 300)
    expected = masu.topk(numbers, 300)
    assert got(places).tolist() == expected.indices.tolist() and bits(got(values)) == bits(ALL[expected.indices])
    values, first, inverse, counts = (got(one) for one in masu.unique(x, True, True, True))
    expected = masu.unique(numbers, True, True, True)
    assert bits(values) == bits(ALL[expected[1]])
    for a, b in zip((first, inverse, counts), expected[1:]):
        assert a.tolist() == b.tolist()
    there = masu.to_device(numbers, "cpu")
    for places in (777, [5, 30000]):
        assert np.array_equal(floats(got(masu.partition(x, places))), np.asarray(masu.partition(there, places)), equal_nan=True)
        assert got(masu.argpartition(x, places)).tolist() == np.asarray(masu.argpartition(there, places)).tolist()
    ascending = FINITE[np.argsort(floats(FINITE), kind="stable")]
    for side in ("left", "right"):
        assert got(masu.searchsorted(make(ascending), x, side)).tolist() == np.searchsorted(floats(ascending), numbers, side).tolist()


def test_sums(kind):
    make, got = kind
    rng = np.random.default_rng(3)
    for x in (rng.standard_normal(3000).astype(BF16), FINITE[:20000], rng.integers(-300, 300, 5000).astype(BF16), np.full(999, 0.1, BF16)):
        numbers = floats(x).astype(np.float64)
        exact = math.fsum(numbers)
        total = got(masu.sum(make(x)))
        assert total.dtype == BF16 and bits(total) == bits(rounded(exact))
        assert bits(got(masu.mean(make(x)))) == bits(rounded(exact / x.size))
        few = x[:301]
        running = [math.fsum(numbers[:i + 1]) + 0.0 for i in range(few.size)]
        assert bits(got(masu.cumsum(make(few)))) == bits(rounded(running))
        assert float(got(masu.std(make(few)))) == float(rounded(masu.std(few.astype(np.float64))))
        assert float(got(masu.var(make(few), ddof=1))) == float(rounded(masu.var(few.astype(np.float64), ddof=1)))
        small = few.astype(np.float64)
        small[np.abs(small) > 1e30] = 1
        small = rounded(small)
        products = math.fsum(floats(small).astype(np.float64) ** 2)
        assert float(got(masu.dot(make(small), make(small)))) == float(rounded(products))
    rows = rng.standard_normal((40, 70)).astype(BF16)
    for axis in (0, 1):
        expected = rounded(np.apply_along_axis(math.fsum, axis, floats(rows).astype(np.float64)))
        assert bits(got(masu.sum(make(rows), axis))) == bits(expected)
    assert got(masu.sum(make(rows), keepdims=True)).shape == (1, 1)
    assert got(masu.sum(make(rows), dtype=np.float64)).dtype == np.float64


def test_numbers_between(kind):
    make, got = kind
    x = FINITE[:9999]
    numbers = floats(x)
    for q in (0, 0.1, 0.5, 1 / 3, [0.25, 0.75]):
        for found, expected in ((masu.quantile(make(x), q), masu.quantile(numbers, q)),
                                (masu.nanpercentile(make(x), np.multiply(q, 100).tolist()), masu.nanpercentile(numbers, np.multiply(q, 100).tolist()))):
            found = got(found)
            if expected.dtype == np.float32:
                assert found.dtype == BF16 and bits(found) == bits(rounded(expected))
            else:  # of an array of float64, as of float16
                assert found.dtype == expected.dtype and found.tolist() == expected.tolist()
    assert bits(got(masu.median(make(x)))) == bits(rounded(masu.median(numbers)))
    rows = x[:9990].reshape(90, 111)[:, :110]
    assert bits(got(masu.median(make(np.ascontiguousarray(rows)), axis=1))) == bits(rounded(np.median(floats(np.ascontiguousarray(rows)), axis=1)))


def test_histograms(kind):
    make, got = kind
    x = ALL[np.abs(floats(ALL)) < 1e4]
    numbers = floats(x)
    for options in ({"bins": 37}, {"bins": 100, "range": (-3, 8)}, {"bins": [-5, 0.1, 0.2, 7]}, {"bins": "sturges"}, {"bins": 12, "range": (0, 0.7)}):
        counts, edges = masu.histogram(make(x), **options)
        want, at = masu.histogram(numbers, **options)
        assert got(counts).tolist() == want.tolist() and np.asarray(got(edges)).tolist() == at.tolist(), options
    assert got(masu.digitize(make(x), np.array([-1.0, 0.5, 2]))).tolist() == np.digitize(numbers, [-1.0, 0.5, 2]).tolist()
    counted = masu.Histogram.of(make(x), 20, (0, 1))
    assert counted.counts().tolist() == np.histogram(numbers, 20, (0, 1))[0].tolist()


def test_device_arrays():
    there = masu.to_device(ALL, "cpu")
    assert there.dtype == BF16 and str(there.dtype) == "bfloat16" and there.nbytes == 131072
    assert bits(there.get()) == bits(ALL)
    taken = masu.DeviceArray(there.__dlpack__(max_version=(1, 0)))
    assert taken.__dlpack_device__() == (1, 0) and bits(taken.get()) == bits(ALL)
    assert masu.DeviceArray("cpu", "bfloat16", (3,)).dtype == masu.DeviceArray("cpu", BF16, (2,)).dtype
    for dtype in (BF16, ml_dtypes.bfloat16):
        found = masu.sum(masu.to_device(np.float32([1, 2**-9]), "cpu"), dtype=dtype)
        assert found.dtype == BF16 and float(found.get()) == 1


def test_into_arrays_of_the_caller():
    for shape in ((70,), (7, 10)):
        x = FINITE[:70].reshape(shape)
        out = np.empty(shape, BF16)
        assert masu.sort(x, out=out) is out and bits(out) == bits(masu.sort(x))
    places = np.empty(70, np.intp)
    assert masu.argsort(FINITE[:70], out=places) is places and places.tolist() == masu.argsort(FINITE[:70]).tolist()
    total = np.empty((), BF16)
    masu.sum(FINITE[:70], out=total)
    assert bits(total) == bits(masu.sum(FINITE[:70]))


def test_states():
    x = FINITE[:5000]
    sums = masu.SumAccumulator.of(x[:3000])
    sums.add(x[3000:])
    assert sums.dtype == BF16
    assert float(sums.sum()) == float(masu.sum(x)) and float(sums.mean(np.float64)) == masu.mean(floats(x), dtype=np.float64)
    assert float(pickle.loads(pickle.dumps(sums)).sum()) == float(sums.sum())
    values, counts = masu.UniqueAccumulator.of(x).result()
    assert values.dtype == BF16 and bits(values) == bits(masu.unique(x)) and counts.sum() == x.size
    assert bits(masu.TopkAccumulator.of(x, 9).result().values) == bits(masu.topk(x, 9).values)


def test_views_and_byte_order():
    square = FINITE[:2500].reshape(50, 50)
    for x in (square.T, square[::2, 1::3], np.asfortranarray(square)):
        numbers = floats(np.ascontiguousarray(x))
        assert bits(masu.sort(x, axis=0)) == bits(np.ascontiguousarray(x)[np.argsort(numbers, 0, "stable"), np.arange(x.shape[1])])
        assert bits(masu.sum(x)) == bits(masu.sum(np.ascontiguousarray(x)))
    empty = np.empty((0, 3), BF16)
    assert masu.sort(empty).shape == (0, 3) and float(masu.sum(empty)) == 0
    one = np.array(1.5, BF16)
    assert float(masu.sum(one)) == 1.5


@pytest.mark.parametrize(("call", "says"), [
    (lambda x: masu.var(x, ddof=-1), "var: this dtype, ddof or mean is not supported with bfloat16; use float32"),
    (lambda x: masu.min(x, where=np.ones(3, bool), initial=1), "min: initial or where is not supported with bfloat16"),
    (lambda x: masu.sum(x, dtype="i8"), "sum: a sum of bfloat16 as int64 is not supported with bfloat16"),
    (lambda x: masu.cumsum(x, dtype="i8"), "cumsum: a sum as int64 is not supported with bfloat16"),
])
def test_errors_do_not_speak_of_devices(kind, call, says):
    with pytest.raises(TypeError, match=says):
        call(kind[0](np.array([1, 2, 3], BF16)))
