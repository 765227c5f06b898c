# SPDX-License-Identifier: Apache-2.0
"""Run by test_gpu_calls.py, or alone: options of calls on PyTorch's and CuPy's arrays in a GPU's memory, against masu's
functions on host arrays, which the other tests hold against NumPy's. `gpu_options.py masu` runs them on masu's own arrays
on the CPU, without a GPU.
"""
import sys
import warnings

import numpy as np
from gpu_arrays import DTYPES, LARGE, LIBRARIES, UNSIGNED, WHOLE, Torch, cupy, each, host, of_each, random, run, same, torch

import masu

TURNS = range(2)  # recorded, then repeated


def with_nans(dtype, shape):
    """Floats of few values: NaNs of both signs, infinities, zeros of both signs, whole rows of NaN."""
    data = random.standard_normal(shape).round(1).astype(dtype)
    flat = data.reshape(-1)
    for first, step, value in ((0, 7, np.nan), (3, 70, -np.nan), (5, 11, 0.0), (6, 11, -0.0), (1, 50, np.inf), (2, 50, -np.inf)):
        flat[first::step] = value
    if data.ndim > 1:
        data[0] = np.nan
    return data


def refuses(error, call):
    try:
        call()
    except error as caught:
        assert str(caught)
    else:
        raise AssertionError(f"no {error}")


@of_each(("f2", "f4", "f8"))
def check_descending(dtype):
    """NaN is last in descending order too, and what is equal keeps its order and bits."""
    for library in LIBRARIES:
        for shape in ((9,), (3000,), (100_003,), (40, 300), (3, 70_000), (7, 3, 50), (3000, 2), (1 << 21,)):
            data = with_nans(dtype, shape)
            array = library.give(data)
            for axis in (None, *range(data.ndim)):
                for function in (masu.sort, masu.argsort):
                    want = function(data, axis, descending=True)
                    for _ in TURNS:
                        same(library.get(function(array, axis, descending=True)), want)
        for function in (masu.sort, masu.argsort):
            data = host("i4", 5000)
            same(library.get(function(library.give(data), descending=True)), function(data, descending=True))


def check_zeros_of_medians():
    for library in LIBRARIES:
        for dtype in ("f2", "f4", "f8"):
            for values in ([-0.0], [-0.0, -0.0], [0.0, -0.0], [-0.0, 0.0], [-0.0] * 3 + [1], [-1, -0.0, -0.0, 2], [-0.0] * 70_001):
                data = np.array(values, dtype)
                for _ in TURNS:
                    same(library.get(masu.median(library.give(data))), np.median(data))
                    same(library.get(masu.median(library.give(data.reshape(-1, 1)), 0)), np.median(data.reshape(-1, 1), 0))


def quiet(array):
    """With one NaN, the quiet one: what infinity less infinity is differs between processors."""
    return np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array) if array.dtype.kind == "f" else array


METHODS = ("linear", "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
           "weibull", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest")


@of_each(DTYPES)
def check_quantiles(dtype):
    many = np.linspace(0, 1, 23)
    whole = dtype in WHOLE
    for library in LIBRARIES if whole else LIBRARIES[:1]:
        shapes = ((1,), (1000,), (100_003,), (40, 300), (3, 70_000), (7, 3, 50)) if whole else ((1000,), (3, 70_000))
        for shape in shapes + ((LARGE,),) * (library is Torch and whole):
            for make in (with_nans, lambda dtype, shape: host(dtype, int(np.prod(shape))).reshape(shape)):
                if make is with_nans and dtype[0] != "f":
                    continue
                data = make(dtype, shape)
                array = library.give(data)
                for turn, axis in enumerate((None, *range(data.ndim))):
                    some = METHODS if data.size < 5000 and dtype in ("f4", "i4", "u1") else METHODS[turn::3]
                    for number, method in enumerate(some):
                        if dtype == "bool" and method not in ("inverted_cdf", "closest_observation", "lower", "higher", "nearest"):
                            continue
                        q = (0.3, [0.1, 0.5, 0.99], np.float32([[0, 0.4]]), 1, many)[number % 5]
                        keepdims = number % 2 == 0
                        with warnings.catch_warnings(), np.errstate(all="ignore"):
                            warnings.simplefilter("ignore")
                            want = quiet(np.asarray(masu.quantile(data, q, axis, method=method, keepdims=keepdims)))
                            scaled = q * 100 if type(q) in (int, float) else np.multiply(q, 100)
                            hundred = quiet(np.asarray(masu.percentile(data, scaled, axis, method=method)))
                        for _ in TURNS:
                            try:
                                same(quiet(library.get(masu.quantile(array, q, axis, method=method, keepdims=keepdims))), want)
                                same(quiet(library.get(masu.percentile(array, scaled, axis, method=method))), hundred)
                            except Exception as error:
                                raise AssertionError(f"{dtype} {shape} {axis} {method} {q}: {error}") from error
        data = library.give(host("f4", 50))
        for q in (1.5, -0.1, [0.5, 2], np.nan, "x", [[[0.5]]]):
            refuses((ValueError, TypeError), lambda: masu.quantile(data, q))
        refuses(ValueError, lambda: masu.quantile(data, 0.5, method="no such"))


@of_each(("f2", "f4", "f8", "i4"))
def check_without_nan(dtype):
    """NumPy's dtype depends on whether its first line has a number, so the first line has."""
    for library in LIBRARIES:
        for shape in ((9,), (5000,), (100_003,), (40, 300), (7, 3, 50)):
            data = with_nans(dtype, shape) if dtype[0] == "f" else host(dtype, int(np.prod(shape))).reshape(shape)
            if dtype[0] == "f":
                data[np.isinf(data)] = 3
                data += np.asarray(0, dtype)  # zeros without a sign
            if data.ndim > 1:
                data[0] = np.arange(data[0].size).reshape(data[0].shape) % 50
            array = library.give(data)
            for axis in (None, *range(data.ndim)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    wanted = [quiet(np.asarray(call(data))) for call in without_nan(axis)]
                for _ in TURNS:
                    for number, (call, want) in enumerate(zip(without_nan(axis), wanted)):
                        try:
                            same(quiet(library.get(call(array))), want)
                        except Exception as error:
                            raise AssertionError(f"{dtype} {shape} {axis}, call {number}: {error}") from error


def without_nan(axis):
    return [lambda a: masu.nanmedian(a, axis), lambda a: masu.nanmedian(a, axis, keepdims=True),
            *(lambda a, method=method: masu.nanquantile(a, [0, 0.1, 0.5, 0.77, 0.99, 1], axis, method=method) for method in METHODS),
            lambda a: masu.nanpercentile(a, 30, axis), lambda a: masu.nanquantile(a, 0.3, axis, method="nearest", keepdims=True)]


@of_each(("f4", "i4", "u1"))
def check_several_axes(dtype):
    for library in LIBRARIES:
        for shape in ((4, 5, 6), (60, 3, 500), (2, 300, 4, 90), (7, 1, 5), (3, 4, 5, 6, 2)):
            data = host(dtype, int(np.prod(shape))).reshape(shape)
            array = library.give(data)
            for axes in ((0, 1), (0, 2), (2, 1), (1, -1), (0, 1, 2), (-1, 0), (0, 2, len(shape) - 1) if len(shape) > 3 else (1,)):
                for function in (masu.sum, masu.mean, masu.var, masu.std, masu.median):
                    for keepdims in (False, True):
                        want = function(data, axes, keepdims=keepdims)
                        for _ in TURNS:
                            same(library.get(function(array, axes, keepdims=keepdims)), np.asarray(want))


@of_each(("bool", "u1", "i4", "u8", "f2", "f4"))
def check_dtypes(source):
    for library in LIBRARIES:
        data = host(source, 6000).reshape(30, 200)
        array = library.give(data)
        for dtype in DTYPES[1:]:
            if source[0] == "f" and dtype[0] != "f" or library is Torch and dtype in UNSIGNED:
                continue
            with np.errstate(all="ignore"):
                for axis in (None, 0, 1):
                    for _ in TURNS:
                        same(library.get(masu.sum(array, axis, dtype)), np.asarray(masu.sum(data, axis, dtype)))
                        same(library.get(masu.cumsum(array, axis, dtype)), masu.cumsum(data, axis, dtype))
                        if dtype[0] == "f":
                            for function in (masu.mean, masu.std):
                                same(library.get(function(array, axis, dtype)), np.asarray(function(data, axis, dtype)))
        if library is Torch and source == "f4":
            same(Torch.get(masu.sum(array, dtype=torch.float32)), np.asarray(masu.sum(data, dtype="f4")))
            assert masu.sum(array, dtype=torch.bfloat16).dtype == torch.bfloat16
            refuses(TypeError, lambda: masu.sum(array, dtype=torch.float8_e5m2))


def check_out():
    """Results come into the arrays that are given, wherever these begin, and into no others."""
    data, line = host("f4", 20 * 30 * 40).reshape(20, 30, 40), np.sort(host("f4", 500))
    calls = {
        "sort": lambda a, l, out: masu.sort(a, out=out), "columns": lambda a, l, out: masu.sort(a, 0, descending=True, out=out),
        "argsort": lambda a, l, out: masu.argsort(a, None, out=out), "partition": lambda a, l, out: masu.partition(a, 3, out=out),
        "argpartition": lambda a, l, out: masu.argpartition(l, 100, out=out), "topk": lambda a, l, out: masu.topk(a, 5, 1, out=out),
        "searchsorted": lambda a, l, out: masu.searchsorted(l, a, out=out), "sum": lambda a, l, out: masu.sum(a, (0, 2), out=out),
        "wide sum": lambda a, l, out: masu.sum(a, None, "f8", out), "mean": lambda a, l, out: masu.mean(a, 1, out=out),
        "std": lambda a, l, out: masu.std(a, out=out), "var": lambda a, l, out: masu.var(a, 2, out=out, keepdims=True),
        "median": lambda a, l, out: masu.median(a, 0, out), "cumsum": lambda a, l, out: masu.cumsum(a, 1, "f8", out),
        "dot": lambda a, l, out: masu.dot(l, l, out), "quantile": lambda a, l, out: masu.quantile(a, 0.3, 1, out),
    }
    for library in LIBRARIES:
        a, l = library.give(data), library.give(line)
        for name, call in calls.items():
            want = [np.asarray(part) for part in each(call(data, line, None))]
            for skip in (0, 1, 3) if library.name != "masu" else (0,):  # whose arrays have no slices
                outs = [library.give(np.full(part.size + skip, 7, part.dtype)) for part in want]
                views = [(out[skip:] if skip else out).reshape(part.shape) for out, part in zip(outs, want)]
                for _ in TURNS:
                    found = each(call(a, l, tuple(views) if len(views) > 1 else views[0]))
                    for got, view, part in zip(found, views, want):
                        assert got is view, name
                        same(library.get(got), part)
            before = [library.give(np.full((*part.shape, 2), 7, part.dtype)) for part in want]
            refuses((ValueError, TypeError), lambda: call(a, l, tuple(before) if len(before) > 1 else before[0]))
            other = [library.give(np.full(part.shape, 7, "i2")) for part in want]
            refuses((ValueError, TypeError), lambda: call(a, l, tuple(other) if len(other) > 1 else other[0]))
            on_host = [np.full_like(part, 7) for part in want]
            refuses((ValueError, TypeError), lambda: call(a, l, tuple(on_host) if len(on_host) > 1 else on_host[0]))
        refuses(ValueError, lambda: masu.sort(a, out=a))
        same(library.get(a), data)
    if Torch in LIBRARIES:
        x = torch.rand(1000, device="cuda")
        for wrong in (x[:500].expand(2, 500), torch.empty(1000, device="cuda", requires_grad=True), torch._neg_view(torch.empty(1000, device="cuda")),
                      torch.empty(2000, device="cuda")[::2], torch.empty(1000)):
            refuses((ValueError, TypeError, BufferError, RuntimeError), lambda: masu.sort(x, out=wrong))
        half = torch.rand(1500, device="cuda")
        refuses(ValueError, lambda: masu.sort(half[:1000], out=half[500:]))
        jax_refuses_out()


def jax_refuses_out():
    try:
        import jax.numpy
    except ImportError:
        return
    x = jax.numpy.arange(9.0)
    refuses(TypeError, lambda: masu.sort(x, out=jax.numpy.zeros(9)))


def check_weights_of_quantiles():
    for library in LIBRARIES:
        for dtype in ("f4", "f8", "i4"):
            data, weights = host(dtype, 6000).reshape(6, 1000), random.integers(0, 5, (6, 1000))
            weights[0] += 1  # no line has weights of 0 alone, which NumPy refuses
            if dtype[0] == "f":
                data[:, 100:300] = random.choice([0.0, -0.0], (6, 200))
            for axis in (None, 0, 1):
                for q in (0, 0.3, [0.1, 0.5, 1]):
                    options = {"axis": axis, "method": "inverted_cdf"}
                    want = masu.quantile(data, q, weights=weights, **options)
                    for given in (weights, library.give(weights)):
                        same(library.get(masu.quantile(library.give(data), q, weights=given, **options)), np.asarray(want))


def check_every_nan_of_unique():
    for library in LIBRARIES:
        for dtype in ("f2", "f4", "f8"):
            for count in (1, 20, 5000, 300_000):
                data = with_nans(dtype, count)
                for wanted in ((), (True, True, True), (False, True)):
                    for got, want in zip(each(masu.unique(library.give(data), *wanted, equal_nan=False)),
                                         each(masu.unique(data, *wanted, equal_nan=False))):
                        same(library.get(got), want)


def check_rules_for_bins():
    for library in LIBRARIES:
        for dtype in ("f4", "f8", "i4", "u1"):
            data = (random.standard_normal(50_000) * 20 + (100 if dtype == "u1" else 0)).astype(dtype)
            for rule in ("auto", "fd", "scott", "rice", "sqrt", "sturges"):
                for ends in (None, (-10, 30), (500, 600)):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        want = masu.histogram(data, rule, ends)
                        for got, part in zip(masu.histogram(library.give(data), rule, ends), want):
                            same(library.get(got), part)
                        same(library.get(masu.histogram_bin_edges(library.give(data), rule, ends)), want[1])
        refuses(TypeError, lambda: masu.histogram(library.give(data), "doane"))
        refuses(ValueError, lambda: masu.histogram(library.give(data), "no such"))


def check_without_dimensions():
    for library in LIBRARIES:
        for dtype in ("f4", "f8", "i4"):
            data = np.array(3, dtype)
            for function in (masu.sum, masu.mean, masu.var, masu.std, masu.median, masu.cumsum):
                for _ in TURNS:
                    same(library.get(function(library.give(data))), np.asarray(function(data)))


def check_captured_options():
    """A graph writes into the arrays that were given; so do its replays."""
    if Torch not in LIBRARIES:
        return
    data = with_nans("f4", (300, 400))
    x, out, total = torch.from_numpy(data).cuda(), torch.empty(300, 400, device="cuda"), torch.empty(400, device="cuda", dtype=torch.float64)

    def calls():
        masu.sort(x, 1, descending=True, out=out)
        masu.sum(x.nan_to_num(0, 0, 0).reshape(30, 10, 400), (0, 1), "f8", total)
        found.append(masu.quantile(x.nan_to_num(0, 0, 0), [0.1, 0.7], 1))

    found = []
    for fresh in (True, False):
        if not fresh:
            calls()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            calls()
        for _ in TURNS:
            data = random.permutation(data)
            x.copy_(torch.from_numpy(data))
            graph.replay()
            torch.cuda.synchronize()
            same(Torch.get(out), masu.sort(data, 1, descending=True))
            finite = np.nan_to_num(data, nan=0, posinf=0, neginf=0)
            same(Torch.get(total), masu.sum(finite, 0, "f8"))
            same(Torch.get(found[-1]), masu.quantile(finite, [0.1, 0.7], 1))


def check_lengths_of_topk():
    """Of lines along any axis, beyond both ends of these, shorter and longer than k; with indices of both dtypes."""
    for library in LIBRARIES:
        for dtype in ("f4", "i8"):
            for shape, axis, ks in (((300, 1000), 1, (1, 50, 1000)), ((40, 50_257), 1, (50, 2048, 6000)), ((5000, 33), 1, (3,)),
                                    ((2000, 7), 0, (20,)), ((3, 1_300_001), 1, (7, 9000)), ((200_003,), 0, (64, 5000))):
                data = with_nans(dtype, shape) if dtype == "f4" else host(dtype, np.prod(shape)).reshape(shape)
                others = shape[:axis] + shape[axis + 1:]
                lengths = np.asarray(random.integers(-3, shape[axis] + 5, others))
                for k in ks:
                    for largest, kind, index in ((True, "i8", "int64"), (False, "i4", "int32"), (True, "i2", "int64")):
                        given = np.minimum(lengths, 32767).astype(kind)
                        array, there = library.give(data), library.give(given)
                        for _ in TURNS:
                            found = masu.topk(array, k, axis, largest=largest, lengths=there, index_dtype=index)
                            want = masu.topk(data, k, axis, largest=largest, lengths=given, index_dtype=index)
                            for got, part in zip(found, want):
                                same(library.get(got), part)


def check_misaligned():
    if cupy is None or Torch not in LIBRARIES:
        return
    memory = cupy.cuda.alloc(1024)
    array = cupy.ndarray(10, "f4", cupy.cuda.MemoryPointer(memory.mem, memory.ptr - memory.mem.ptr + 2))
    refuses((ValueError, BufferError), lambda: masu.sort(array))


if __name__ == "__main__":
    sys.exit(run(globals()))
