# SPDX-License-Identifier: Apache-2.0
"""Run by test_gpu_calls.py, or alone: calls on PyTorch's and CuPy's arrays in a GPU's memory that only enqueue.

Results against NumPy's functions on host arrays, streams, captured graphs, memory that goes right after the call, and
tensors that are not plain. Prints what is wrong and ends with a line that counts.
"""
import gc
import sys
import threading

import numpy as np
import torch
from gpu_arrays import DTYPES, LARGE, LIBRARIES, SIZES, UNSIGNED, WHOLE, Torch, cupy, each, host, of_each, random, run, same

import masu

BOOL = getattr(torch, "bool", None)
CALLS = {
    "sort": lambda a: masu.sort(a),
    "argsort": lambda a: masu.argsort(a),
    "sum": lambda a: masu.sum(a),
    "mean": lambda a: masu.mean(a),
    "std": lambda a: masu.std(a),
    "var": lambda a: masu.var(a),
    "median": lambda a: masu.median(a),
    "quantile": lambda a: masu.quantile(a, 0.3, method="hazen" if a.dtype not in (bool, BOOL) else "lower"),
    "nanmedian": lambda a: masu.nanmedian(a),
    "nanquantile": lambda a: masu.nanquantile(a, [0.1, 0.5], method="lower"),
    "percentiles": lambda a: masu.percentile(a, [1, 50, 99], method="nearest"),
    "cumsum": lambda a: masu.cumsum(a),
    "partition": lambda a: masu.partition(a, len(a) // 2),
    "argpartition": lambda a: masu.argpartition(a, len(a) // 3),
    "topk": lambda a: masu.topk(a, min(len(a), 7)),
    "least": lambda a: masu.topk(a, min(len(a), 7), largest=False),
    "topk 100": lambda a: masu.topk(a, min(len(a), 100)),
    "topk 5000": lambda a: masu.topk(a, min(len(a), 5000)),
    "unique": lambda a: masu.unique(a),
    "unique counts": lambda a: masu.unique(a, return_counts=True),
    "unique all": lambda a: masu.unique(a, True, True, True),
}
WAITING = ("unique", "unique counts", "unique all")  # cannot be captured


SORTED = ("sort", "argsort", "unique", "unique counts", "unique all", "topk", "least", "topk 100", "topk 5000")


@of_each(f"{dtype} {part}" for dtype in DTYPES for part in (("sorted", "selected") if dtype in WHOLE else ("all",)))
def check_results(dtype_and_part):
    """A dtype against masu's own functions on the host, which the other tests hold against NumPy's. What is recorded does
    not depend on the library."""
    dtype, part = dtype_and_part.split()
    whole = dtype in WHOLE
    for size in (*SIZES, LARGE) if whole else (1000, 65536):
        data = host(dtype, size)
        libraries = LIBRARIES if size in (1000, 65536) else LIBRARIES[:1]
        arrays = [library.give(data) for library in libraries]
        for name, call in CALLS.items():
            if (name in SORTED) != (part == "sorted") if whole else name in ("least", "topk 100", "topk 5000"):
                continue
            wanted = [np.asarray(part) for part in each(call(data))]
            for library, array in zip(libraries, arrays):
                for turn in range(2):  # recorded, then repeated
                    try:
                        for got, want in zip(each(call(array)), wanted):
                            same(library.get(got), want)
                    except Exception as error:
                        raise AssertionError(f"{library.name} {name} of {size}, call {turn}: {error}") from error


def check_special_floats():
    for dtype in ("f2", "f4", "f8"):
        data = host(dtype, 5000)
        data[[5, 77, 4000]] = np.nan
        data[[9, 99]] = np.inf
        for library in LIBRARIES:
            array = library.give(data)
            for name in ("sort", "argsort", "topk", "sum", "median", "cumsum", "unique", "unique counts", "unique all"):
                for got, want in zip(each(CALLS[name](array)), each(CALLS[name](data))):
                    got, want = library.get(got), np.asarray(want)
                    if want.dtype.kind == "f":
                        assert np.array_equal(got, want, equal_nan=True), (name, dtype)
                    else:
                        same(got, want)
            for columns in (100, 30_000):
                lines = host(dtype, 40 * columns).reshape(40, columns)
                lines.ravel()[7::101] = np.resize([np.inf, np.nan, -np.inf], lines.ravel()[7::101].size)
                for name in ("cumsum", "sum", "mean", "median", "sort", "max"):
                    for axis in (0, 1):
                        with np.errstate(invalid="ignore"):
                            want = getattr(masu, name)(lines, axis=axis)
                        got = library.get(getattr(masu, name)(library.give(lines), axis=axis))
                        assert np.array_equal(got, want, equal_nan=True), (name, dtype, columns, axis)


def check_axes():
    data = host("f4", 64 * 300).reshape(4, 16, 300)
    for library in LIBRARIES:
        array = library.give(data)
        for axis in (None, -1, 2, 0, 1):
            for descending in (False, True):
                for function in (masu.sort, masu.argsort):
                    for _ in range(2):
                        same(library.get(function(array, axis, descending=descending)),
                             function(data, axis, descending=descending))
            same(library.get(masu.sort(array, axis)), masu.sort(data, axis))
            for function in (masu.sum, masu.mean, masu.var, masu.median):
                for _ in range(2):
                    same(library.get(function(array, axis, keepdims=True)), function(data, axis, keepdims=True))
            same(library.get(masu.sum(array, axis)), masu.sum(data, axis))
            same(library.get(masu.sum(array, axis, initial=2.5)), masu.sum(data, axis, initial=2.5))
            same(library.get(masu.mean(array, axis)), masu.mean(data, axis))
            same(library.get(masu.median(array, axis)), masu.median(data, axis))
            same(library.get(masu.cumsum(array, axis)), masu.cumsum(data, axis))
            same(library.get(masu.argsort(array, axis)), masu.argsort(data, axis))
            for got, want in zip(masu.topk(array, 3, axis), masu.topk(data, 3, axis)):
                same(library.get(got), want)
        assert type(masu.topk(array, 3)).__name__ == "TopK"
        # Each way in which lines that are not contiguous become rows.
        for shape in ((100, 3, 70), (3, 300, 100), (2, 300, 1000), (70, 200, 2), (7, 1, 5)):
            for dtype in ("u1", "f2", "i4", "f8"):
                lines = host(dtype, int(np.prod(shape))).reshape(shape)
                array = library.give(lines)
                for _ in range(2):
                    same(library.get(masu.sum(array, 1)), masu.sum(lines, 1))
                    same(library.get(masu.cumsum(array, 1)), masu.cumsum(lines, 1))
                    same(library.get(masu.argpartition(array, 0, 1)), masu.argsort(lines, 1))
                    same(library.get(masu.argsort(array, 1, descending=True)), masu.argsort(lines, 1, descending=True))
                    for got, want in zip(masu.topk(array, 1, 1), masu.topk(lines, 1, 1)):
                        same(library.get(got), want)


def check_two_inputs():
    for library in LIBRARIES:
        for dtype in ("i4", "i8", "f4", "f8"):
            x, y = host(dtype, 100_003), host(dtype, 100_003)
            same(library.get(masu.dot(library.give(x), library.give(y))), masu.dot(x, y))
            one = library.give(x)
            same(library.get(masu.dot(one, one)), masu.dot(x, x))
            edges = np.sort(host(dtype, 1000))
            for side in ("left", "right"):
                same(library.get(masu.searchsorted(library.give(edges), library.give(x), side)),
                     np.searchsorted(edges, x, side))


def check_offsets():
    """Storage that begins anywhere."""
    for dtype in ("u1", "i2", "f4", "f8"):
        data = host(dtype, 70_000)
        whole = torch.from_numpy(data).cuda()
        for skip in (1, 2, 3, 5, 7, 1001):
            for name in ("sort", "argsort", "sum", "median", "cumsum", "topk", "unique counts"):
                for got, want in zip(each(CALLS[name](whole[skip:])), each(CALLS[name](data[skip:]))):
                    same(Torch.get(got), want)


def check_enqueued():
    """Calls on plain arrays wait for nothing: they return while a long kernel is still running before them."""
    x, bytes_, edges = torch.rand(1 << 16, device="cuda"), torch.zeros(1 << 16, dtype=torch.uint8, device="cuda"), \
        torch.linspace(0, 1, 100, device="cuda")
    whole, total = torch.empty_like(x), torch.empty((), device="cuda")
    calls = {
        "sum": lambda: masu.sum(x), "mean": lambda: masu.mean(x), "std": lambda: masu.std(x), "dot": lambda: masu.dot(x, x),
        "median": lambda: masu.median(x), "quantile": lambda: masu.quantile(x, 0.3),
        "quantiles": lambda: masu.quantile(x.reshape(256, 256), [0.1, 0.9], 1),
        "cumsum": lambda: masu.cumsum(x), "cumsum i64": lambda: masu.cumsum(bytes_), "sort": lambda: masu.sort(x),
        "argsort": lambda: masu.argsort(x), "partition": lambda: masu.partition(x, 100), "topk": lambda: masu.topk(x, 10),
        "sum of columns": lambda: masu.sum(x.reshape(256, 256), 0, keepdims=True),
        "sum of two axes": lambda: masu.sum(x.reshape(16, 64, 64), (0, 2), "f8"), "sum into": lambda: masu.sum(x, out=total),
        "sort into": lambda: masu.sort(x, descending=True, out=whole),
        "sort of columns": lambda: masu.sort(x.reshape(256, 256), 0, descending=True),
        "searchsorted": lambda: masu.searchsorted(edges, x), "histogram": lambda: masu.histogram(x, 10, (0, 1)),
        "bincount": lambda: masu.bincount(bytes_, minlength=256),
        "bincount of weights": lambda: masu.bincount(bytes_, x, 256), "weights": lambda: masu.histogram(x, 10, (0, 1), weights=x),
    }
    late = []
    for name, call in calls.items():
        call()
        torch.cuda.synchronize()
        torch.cuda._sleep(200_000_000)
        event = torch.cuda.Event()
        event.record()
        call()
        if event.query():
            late.append(name)
        torch.cuda.synchronize()
    assert not late, f"these waited: {late}"


def check_streams():
    side = torch.cuda.Stream()
    data = host("f4", 1 << 20)
    want = masu.sort(data)
    for _ in range(20):
        with torch.cuda.stream(side):
            torch.cuda._sleep(1_000_000)
            x = torch.from_numpy(data).cuda(non_blocking=True)
            x *= 1
            result = masu.sort(x)
            del x
            other = torch.zeros(1 << 20, device="cuda")  # may take the memory of x
            total = masu.sum(result)
        side.synchronize()
        same(Torch.get(result), want)
        same(Torch.get(total), masu.sum(data))
        del other
    if cupy is not None:
        with cupy.cuda.Stream():
            x = cupy.asarray(data)
            result = masu.sort(x)
            del x
            same(result.get(), want)


def check_threads():
    data = {n: host("f4", 100_000 + n) for n in range(4)}
    wanted = {n: masu.sort(one) for n, one in data.items()}
    errors = []

    def work(n):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                x = torch.from_numpy(data[n]).cuda()
                for _ in range(50):
                    result = masu.sort(x)
                same(result.cpu().numpy(), wanted[n])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in data]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not errors, errors


def captured(make, wanted, arrays, fresh=False):
    """Captures `make(*arrays)`, changes the arrays, replays, and compares."""
    tensors = [torch.from_numpy(array.copy()).cuda() for array in arrays]
    if not fresh:
        make(*tensors)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = make(*tensors)
    for _ in range(3):
        arrays = [random.permutation(array) for array in arrays]
        for tensor, array in zip(tensors, arrays):
            tensor.copy_(torch.from_numpy(array))
        graph.replay()
        torch.cuda.synchronize()
        for got, want in zip(each(result), each(wanted(*arrays))):
            same(Torch.get(got), want)
    return graph


def check_graphs():
    f4, u1, i4 = host("f4", 100_000), host("u1", 100_000), host("i4", 10_000)
    edges = np.linspace(-1, 1, 50, dtype="f4")
    graphs = []
    for name, call in CALLS.items():
        if name in WAITING:
            continue
        try:
            graphs.append(captured(call, call, [f4]))
            graphs.append(captured(call, call, [i4]))
        except Exception as error:
            raise AssertionError(f"{name}: {error}") from error
    graphs.append(captured(lambda x: masu.histogram(x, 10, (0, 1)), lambda x: np.histogram(x, 10, (0, 1)), [f4]))
    graphs.append(captured(lambda x: masu.bincount(x, minlength=256), lambda x: np.bincount(x, minlength=256), [u1]))
    graphs.append(captured(lambda x: masu.dot(x, x), lambda x: masu.dot(x, x), [f4]))
    there = torch.from_numpy(edges).cuda()
    graphs.append(captured(lambda x: masu.searchsorted(there, x), lambda x: np.searchsorted(edges, x), [f4]))
    # Shapes that have not been seen before: recorded while the capture runs.
    graphs.append(captured(masu.sort, masu.sort, [host("f4", 54_321)], fresh=True))
    graphs.append(captured(lambda x: masu.histogram(x, 17, (0, 2)), lambda x: np.histogram(x, 17, (0, 2)),
                           [host("f4", 54_321)], fresh=True))
    return graphs


def check_graphs_beside_each_other():
    """Sums whose work-groups count each other: in graphs on several streams, and beside calls on the default stream."""
    whole = host("f4", 1 << 20)
    one = torch.from_numpy(whole).cuda()
    jobs = []
    for n in range(6):
        data = host("f4", (1 << 20) + n)
        x = torch.from_numpy(data).cuda()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = masu.sum(x), masu.dot(x, x), masu.mean(x), masu.sum(x[:1 << 20].reshape(2, 1 << 19), 1)
        jobs.append((torch.cuda.Stream(), graph, results, x,  # which the graph reads
                     (masu.sum(data), masu.dot(data, data), masu.mean(data), masu.sum(data[:1 << 20].reshape(2, 1 << 19), 1))))
    for _ in range(20):
        for stream, graph, results, *_ in jobs:
            with torch.cuda.stream(stream):
                [result.zero_() for result in results]
                graph.replay()
        direct = [masu.sum(one) for _ in range(3)]
        torch.cuda.synchronize()
        for _, _, results, _, wanted in jobs:
            for got, want in zip(results, wanted):
                same(Torch.get(got), np.asarray(want))
        for got in direct:
            same(Torch.get(got), np.asarray(masu.sum(whole)))
    return jobs


def check_refused_captures():
    """A call that has to wait fails, and the capture goes on."""
    x, i = torch.rand(5000, device="cuda"), torch.randint(0, 9, (5000,), device="cuda", dtype=torch.int32)
    for call in (lambda: masu.unique(i), lambda: masu.histogram(x), lambda: masu.bincount(i), lambda: masu.histogram(x, x[:1]),
                 lambda: masu.bincount(i, x), lambda: masu.unique(i, return_inverse=True)):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            try:
                call()
            except RuntimeError as error:
                assert "captured" in str(error), error
            else:
                raise AssertionError("no error")
            result = masu.sort(x)
        x.copy_(torch.rand(5000, device="cuda"))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(result, torch.sort(x).values)


def check_truth_values():
    """Every byte but 0 is True, also in calls that only enqueue."""
    data = random.integers(0, 4, 300_007).astype("u1")
    clean = data > 1
    odd = torch.from_numpy(np.where(clean, data * 85, 0).astype("u1")).cuda().view(torch.bool)
    for name, *more in (("sum",), ("mean",), ("var",), ("sort",), ("argsort",), ("unique",), ("cumsum",), ("topk", 3), ("partition", 5),
                        ("median",), ("bincount",), ("quantile", 0.3), ("histogram",)):
        options = {"method": "lower"} if name == "quantile" else {}
        got, want = (each(getattr(masu, name)(x, *more, **options)) for x in (odd, torch.from_numpy(clean).cuda()))
        for mine, theirs in zip(got, want, strict=True):
            assert mine.dtype == theirs.dtype and torch.equal(mine.reshape(-1).view(torch.uint8), theirs.reshape(-1).view(torch.uint8)), name
    assert masu.SumAccumulator.of(odd).sum() == clean.sum()


def check_strided():
    """Views whose elements do not lie side by side, and results into one, which is refused."""
    data = random.standard_normal((100, 50, 6)).astype("f4")
    for library in LIBRARIES:
        x = library.give(data)
        views = [x.T if library.name == "cupy" else x.permute(2, 1, 0), x[:, ::2], x[3], x[1:, 3:7, ::3]]
        if library.name == "torch":
            views += [x[0, 0].expand(100, 6), torch.as_strided(x, (10, 10), (1, 1)), torch.as_strided(x, (10, 10), (1, 1)).double()]
        for view in views:
            same_values = library.get(view).copy()
            for name, *more in (("sort", 0), ("argsort",), ("sum", 0), ("mean", -1), ("cumsum", 1), ("median", 0), ("unique",), ("topk", 3, 0),
                                ("quantile", 0.3, 0), ("histogram", 10), ("max", 0)):
                for got, want in zip(each(getattr(masu, name)(view, *more)), each(getattr(masu, name)(same_values, *more)), strict=True):
                    same(library.get(got), np.asarray(want))
            line, values = view[0, ..., 0] if view.ndim == 3 else view[:, 0], same_values[0, ..., 0] if view.ndim == 3 else same_values[:, 0]
            same(library.get(masu.dot(line, line)), np.asarray(masu.dot(values, values)))
            same(library.get(masu.searchsorted(masu.sort(line), line)), masu.searchsorted(np.sort(values), values))
            assert np.array_equal(library.get(view), same_values)
        try:
            masu.sort(x[:, :, 0], out=x[:, :, 1])
        except (ValueError, BufferError):
            continue
        raise AssertionError("a strided out was taken")


def check_not_plain():
    x = torch.rand(100, 50, device="cuda")
    for call in (masu.sort, masu.sum):
        for array in (x.clone().requires_grad_(), x.to(torch.complex64)):
            try:
                result = call(array)
            except (ValueError, TypeError, BufferError, RuntimeError):
                continue
            raise AssertionError(f"{call.__name__} of a {array.stride()} tensor gave {result}")
    negative = torch._neg_view(x)
    assert negative.is_neg()
    try:
        assert torch.equal(masu.sort(negative), torch.sort(-x).values), "the negative bit was overlooked"
    except (ValueError, TypeError, BufferError, RuntimeError):
        pass

    class Derived(torch.Tensor):
        pass

    derived = x.as_subclass(Derived)
    for bits in (torch.nn.Parameter(x.clone(), requires_grad=False), derived):
        assert torch.equal(torch.Tensor(masu.sort(bits)), torch.sort(x).values)
    zero = torch.tensor(2.5, device="cuda")
    assert masu.sum(zero).shape == () and masu.sum(zero).item() == 2.5
    empty = torch.empty(0, device="cuda")
    assert masu.sort(empty).shape == (0,) and masu.sum(empty).item() == 0 and masu.cumsum(empty).shape == (0,)
    for call in (lambda: masu.topk(x, 51), lambda: masu.topk(x, 0), lambda: masu.sort(x, 5), lambda: masu.sort(zero)):
        try:
            call()
        except (ValueError, TypeError, np.exceptions.AxisError):
            continue
        raise AssertionError("no error")
    with torch.no_grad():
        masu.sort(x)
    assert torch.equal(masu.sort(x.to("cuda").detach()), torch.sort(x).values)


def check_memory():
    """Results and workspaces are the library's: nothing is left when they are gone."""
    x = torch.rand(1 << 20, device="cuda")
    for call in (masu.sort, masu.argsort, masu.sum, masu.cumsum):
        call(x)
    gc.collect()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(50):
        for call in (masu.sort, masu.argsort, masu.sum, masu.cumsum):
            call(x)
    assert torch.cuda.memory_allocated() == before
    torch.cuda.empty_cache()
    big = torch.empty(torch.cuda.mem_get_info()[0] // 8 * 5, dtype=torch.uint8, device="cuda")
    try:
        masu.sort(big)
    except torch.OutOfMemoryError:
        pass
    except RuntimeError as error:
        raise AssertionError(f"full memory: {type(error)} {error}") from error
    else:
        raise AssertionError("full memory: no error")
    del big
    gc.collect()
    torch.cuda.empty_cache()
    assert torch.equal(masu.sort(x), torch.sort(x).values)


def check_fuzz():
    generator = np.random.default_rng(5)
    for _ in range(300):
        dtype = str(generator.choice([d for d in DTYPES if d not in UNSIGNED]))
        shape = tuple(generator.integers(0, 40, generator.integers(0, 4)))
        data = host(dtype, int(np.prod(shape))).reshape(shape)
        x = torch.from_numpy(data).cuda()
        if generator.random() < 0.3 and x.ndim > 1:
            x, data = x.transpose(0, -1), data.swapaxes(0, -1)
        if generator.random() < 0.3 and x.ndim:
            x, data = x[..., 1:], data[..., 1:]
        axis = generator.choice([None, -1, 0])
        axis = None if axis is None else int(axis)
        name = str(generator.choice(["sort", "argsort", "sum", "cumsum"]))
        try:
            want = getattr(masu, name)(data, axis)
        except ValueError as error:
            want = error
        try:
            got = getattr(masu, name)(x, axis)
        except ValueError as error:
            assert type(error) is type(want), (name, dtype, shape, axis, want)
            continue
        assert not isinstance(want, Exception), (name, dtype, shape, axis, want)
        same(got.cpu().numpy(), want)


if __name__ == "__main__":
    sys.exit(run(globals()))
