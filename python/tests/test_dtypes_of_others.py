# SPDX-License-Identifier: Apache-2.0
"""Dtypes that other libraries add to NumPy. Some have the character of one of NumPy's: int1 of ml_dtypes that of float16."""
import numpy as np
import pytest

import masu
from masu import _kinds
from generators import outcome


def added():
    """Dtypes by name: all of ml_dtypes that masu lacks, and NumPy's own example of one, where these are there."""
    found = {}
    try:
        import ml_dtypes

        kinds = [kind for kind in vars(ml_dtypes).values() if isinstance(kind, type) and issubclass(kind, np.generic)]
        found |= {np.dtype(kind).name: np.dtype(kind) for kind in kinds if kind is not ml_dtypes.bfloat16}
    except ImportError:
        pass
    try:
        from numpy._core._rational_tests import rational

        found["rational"] = np.dtype(rational)
    except ImportError:
        pass
    return found


DTYPES = added()


def described(found):
    """A result, to the bit; of an exception its type."""
    if isinstance(found, Exception):
        return type(found)
    if isinstance(found, (tuple, list)):
        return [described(part) for part in found]
    array = np.asarray(found)
    return type(found), array.dtype, array.shape, array.tobytes()


@pytest.mark.parametrize("size", [10, 5000])
@pytest.mark.parametrize("name", DTYPES)
def test_every_function_is_numpys(name, size):
    dtype = DTYPES[name]
    data = (np.arange(size) * 7 % 5 % 4).astype(dtype)
    floats = np.arange(size) % 7 / 2
    calls = [(name, (data,), {}) for name in (
        "sum", "mean", "var", "std", "sort", "argsort", "unique", "histogram", "histogram_bin_edges", "median", "nanmedian", "cumsum",
        "bincount")]
    calls += [(name, (data, *more), {}) for name, *more in (
        ("quantile", 0.3), ("percentile", 30), ("partition", 5), ("argpartition", 5), ("digitize", [1]), ("histogram", [0, 1, 2]),
        ("histogram", [0.0, 1.5, 2.5]), ("dot", data), ("histogram2d", data), ("searchsorted", data))]
    calls += [("sort", (data.reshape(2, -1), 0), {}), ("histogramdd", ([data, data],), {}), ("searchsorted", (floats, data), {}),
              ("searchsorted", (np.sort(data), floats), {}), ("dot", (floats, data), {}), ("histogram2d", (floats, data), {}),
              ("histogram", (floats,), {"weights": data}), ("bincount", (np.arange(size) % 3, data), {}), ("digitize", (floats, data[:1]), {})]
    calls += [(name, (floats,), {"dtype": dtype}) for name in ("sum", "cumsum", "mean", "var")]
    calls += [("sum", (floats,), {"out": np.zeros((), dtype)}), ("sum", (floats,), {"where": data}), ("sum", (data,), {"dtype": "f8"})]
    for function, given, options in calls:
        want, got = (outcome(getattr(module, function), *given, **options)[0] for module in (np, masu))
        assert described(got) == described(want), (function, given, options, got, want)


@pytest.mark.parametrize("name", DTYPES)
def test_what_numpy_has_no_function_for_names_the_dtype(name):
    dtype, floats = DTYPES[name], np.ones(6)
    data = np.zeros(6, dtype)
    for call in (lambda: masu.topk(data, 2), lambda: masu.SumAccumulator.of(data), lambda: masu.ReduceAccumulator.of(data),
                 lambda: masu.TopkAccumulator.of(data, 2), lambda: masu.UniqueAccumulator.of(data), lambda: masu.RunAccumulator.of(data),
                 lambda: masu.QuantileFinder(dtype, 0.5), lambda: masu.SumAccumulator(dtype),
                 *(() if name in _kinds.FLOAT8 else [lambda: masu.Histogram.of(data, 3, (0, 1))]),
                 lambda: masu.RowHistograms.of(data, 3, (0, 1)), lambda: masu.JointHistogram.of([data, data], 3),
                 lambda: masu.WeightedHistogram.of(floats, 3, weights=data), lambda: masu.to_device(data, "cpu"),
                 lambda: masu.DeviceArray("cpu", dtype, (3,)), lambda: masu.histogram(data.reshape(2, 3), 3, axis=1),
                 lambda: masu.bincount(data.reshape(2, 3), axis=1), lambda: masu.SumAccumulator.of(floats).sum(dtype)):
        with pytest.raises(TypeError) as caught:
            call()
        assert str(dtype) in str(caught.value), caught.value


def test_names_of_one_width():
    """int64 has two numbers in NumPy, of C's long and long long; masu knows both, in either byte order."""
    values = np.random.default_rng(5).integers(-(2**45), 2**45, 6000)
    for code in ("l", "q", ">l", ">q"):
        data = values.astype(code)
        for function in (np.sort, np.argsort, np.unique, np.sum, np.cumsum):
            assert described(getattr(masu, function.__name__)(data)) == described(function(data)), (code, function)
        assert masu.SumAccumulator.of(data).sum() == masu.SumAccumulator.of(values).sum()
        assert (masu.topk(data, 3).indices == np.argsort(-values.astype(object), kind="stable")[:3]).all()
