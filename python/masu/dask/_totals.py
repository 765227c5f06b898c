# SPDX-License-Identifier: Apache-2.0
"""Exact sums, dot products, means and variances of Dask arrays."""
from __future__ import annotations

import operator
from functools import partial

import numpy as np

from .. import _kinds, _moments, _sums
from .._extremes import averaged_in
from .._sum_accumulator import SumAccumulator
from . import _graph


def sum(a, axis=None, dtype=None, keepdims=False, *, split_every=None, device=None):
    """The exact sum along axes, rounded once: `masu.sum` of the whole array, for any chunks.

    `axis`, `dtype` and `keepdims` as `masu.sum` has them. `split_every`: how many partial sums are put together at a
    time. `device`: where the workers add, as in `masu.sum`. Along some of the axes, whole lines are brought together
    first.

    >>> import dask.array, masu.dask
    >>> x = dask.array.from_array([1e100, 1.0, -1e100], chunks=1)
    >>> float(masu.dask.sum(x).compute())
    1.0
    """
    a, device = _graph.taken("sum", a), _graph.options("sum", split_every, device)
    result = _sums.sum(np.zeros(1, a.dtype), dtype=dtype).dtype
    if result.num not in _kinds.NATIVE:
        raise TypeError(f"sum: dtype must be an integer or float16 to float64, got {result}")
    if result.kind != "f":
        work = partial(_graph.computed, _sums.sum, dtype=dtype, device=device), _wrapped, _graph.itself
    else:
        work = (partial(_state, a.dtype if a.dtype.kind == "f" else result, "sum", device), _graph.merged,
                partial(SumAccumulator.sum, dtype=result))
    return _reduced("sum", _sums.sum, work, a, axis, result, {"dtype": dtype, "device": device}, keepdims, split_every)


def _reduced(name, function, work, a, axis, result, options, keepdims, split_every):
    """function(a, axis, **options), of all axes by `work`: what `Tasks.total` has."""
    axes = _graph.axes_of(a, axis, name == "sum")
    if axes is not None:
        return _graph.along(partial(function, **options), a, axes, result, keepdims)
    tasks = _graph.Tasks(name, a, result, sorted(options.items()), keepdims, split_every, over=[a])
    return _graph.scalar(tasks, tasks.total(*work, _graph.blocks(a), split_every=split_every), a, keepdims, result)


def dot(a, b, *, split_every=None, device=None):
    """The exact dot product of two arrays of one dimension, rounded once: `masu.dot`, for any chunks.

    Other arrays than floats are multiplied by NumPy, chunk by chunk, modulo 2^64 for integers.

    >>> import dask.array, masu.dask
    >>> x = dask.array.from_array([1e100, 1.0, -1e100], chunks=2)
    >>> float(masu.dask.dot(x, dask.array.ones(3)).compute())
    1.0
    """
    a, b, device = _graph.taken("dot", a), _graph.taken("dot", b), _graph.options("dot", split_every, device)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"dot: both arrays must have one dimension, got {a.ndim} and {b.ndim}")
    if a.shape != b.shape and not (np.isnan(a.size) or np.isnan(b.size)):
        raise ValueError(f"dot: both arrays must have one length, got {a.size} and {b.size}")
    common = np.promote_types(a.dtype, b.dtype)
    b = _graph.aligned("dot", b, a)
    tasks = _graph.Tasks("dot", a, b, split_every, device, over=[a, b])
    work = (_numpys_product, np.any if common.kind == "b" else _wrapped, _graph.itself)
    if common.kind == "f":
        work = partial(_products, common, device), _graph.merged, SumAccumulator.dot
    total = tasks.total(*work, _graph.blocks(a), _graph.blocks(b), split_every=split_every)
    return _graph.scalar(tasks, total, a, False, common)


def mean(a, axis=None, dtype=None, keepdims=False, *, split_every=None, device=None):
    """The exact mean along axes, rounded once: `masu.mean` of the whole array. Parameters are those of `sum`.

    >>> import dask.array, masu.dask
    >>> float(masu.dask.mean(dask.array.from_array([1e100, 1.0, -1e100, 2.0], chunks=3)).compute())
    0.75
    """
    return _moment(np.mean, _moments.mean, SumAccumulator.mean, a, axis, dtype, {}, keepdims, split_every, device)


def average(a, axis=None, weights=None, returned=False, keepdims=False, *, split_every=None, device=None):
    """The weighted average: `masu.average`, exact. Without weights it is `mean`.

    With weights the sum of the products and the sum of the weights are exact, each rounded once. Then one array must be of floats, the
    weights have the shape of `a`, and `axis` is None. With `returned` the sum of the weights is given too.

    >>> import dask.array, masu.dask
    >>> x = dask.array.from_array([1e100, 3.0, -1e100], chunks=2)
    >>> float(masu.dask.average(x, weights=[1.0, 2.0, 1.0]).compute())
    1.5
    """
    if weights is None and not returned:
        return mean(a, axis, keepdims=keepdims, split_every=split_every, device=device)
    a = _graph.taken("average", a)
    by = a if weights is None else _graph.taken("average", weights)
    common = averaged_in(a.dtype, by.dtype)
    if weights is None or axis is not None or keepdims or a.ndim != by.ndim or common.kind != "f":
        raise TypeError("average: returned needs weights; with these axis must be None, keepdims False, one array of floats, and both of one shape")
    parts = [_graph.flat(one).astype(common) for one in (a, by)]
    total = sum(parts[1], split_every=split_every, device=device)
    found = dot(*parts, split_every=split_every, device=device)
    found = found.map_blocks(partial(_graph.run, _divided), total, dtype=common, meta=np.empty((), common))
    return (found, total) if returned else found


def _divided(found, total):
    if total == 0:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    return np.asarray(found / total)[()]


def count_nonzero(a, axis=None, keepdims=False, *, split_every=None, device=None):
    """How many elements are not zero, as `numpy.count_nonzero`. A NaN is not zero.

    >>> import dask.array, masu.dask
    >>> int(masu.dask.count_nonzero(dask.array.from_array([0, 1, 2], chunks=2)).compute())
    2
    """
    # Dask's own comparison takes one element beside an empty chunk for two.
    there = _graph.taken("count_nonzero", a).map_blocks(partial(operator.ne, 0), dtype=bool)
    return sum(there, axis, np.intp, keepdims, split_every=split_every, device=device)


def var(a, axis=None, dtype=None, ddof=0, keepdims=False, *, split_every=None, device=None):
    """The exact variance along axes, rounded once: `masu.var` of the whole array. Other parameters are those of `sum`.

    >>> import dask.array, masu.dask
    >>> float(masu.dask.var(dask.array.from_array([1e8 + 1, 1e8 + 2, 1e8 + 3], chunks=2), ddof=1).compute())
    1.0
    """
    return _moment(np.var, _moments.var, SumAccumulator.var, a, axis, dtype, {"ddof": ddof}, keepdims, split_every, device)


def std(a, axis=None, dtype=None, ddof=0, keepdims=False, *, split_every=None, device=None):
    """The root of the exact variance, rounded once: `masu.std` of the whole array. Parameters are those of `var`.

    >>> import dask.array, masu.dask
    >>> float(masu.dask.std(dask.array.from_array([1e8 + 1, 1e8 + 2, 1e8 + 3], chunks=2), ddof=1).compute())
    1.0
    """
    return _moment(np.std, _moments.std, SumAccumulator.std, a, axis, dtype, {"ddof": ddof}, keepdims, split_every, device)


def _moment(numpys, function, of_state, a, axis, dtype, options, keepdims, split_every, device):
    name = numpys.__name__
    a, device = _graph.taken(name, a), _graph.options(name, split_every, device)
    result = _moments.rounded_to(a, dtype)
    if result is None:
        raise TypeError(f"{name}: dtype must be float16, float32 or float64, got {dtype}")
    for ddof in options.values():
        if not hasattr(ddof, "__index__") or operator.index(ddof) < 0:
            raise ValueError(f"{name}: ddof must be an integer that is not negative, got {ddof}")
    work = (partial(_state, a.dtype, "squares" if options else "sum", device), _graph.merged,
            partial(_finished, numpys, of_state, result, options))
    return _reduced(name, function, work, a, axis, result, {"dtype": dtype, "device": device, **options}, keepdims, split_every)


def _state(dtype, kind, device, block):
    if dtype.kind == "f" and _graph.near(block).dtype != dtype:
        block = _graph.on_host(block).astype(dtype)
    return _graph.state_of(partial(SumAccumulator, dtype, kind), device, block)


def _products(dtype, device, x, y):
    x, y = _graph.near(x), _graph.near(y)
    if x.dtype != dtype or y.dtype != dtype or _graph.there(x) != _graph.there(y):
        x, y = (_graph.on_host(block).astype(dtype, copy=False) for block in (x, y))
    return _graph.state_of(partial(SumAccumulator, dtype, "dot"), device, x, y)


def _numpys_product(x, y):
    return np.dot(_graph.on_host(x), _graph.on_host(y))


def _wrapped(parts):
    return np.add.reduce(np.array(parts), dtype=parts[0].dtype)


def _finished(numpys, of_state, dtype, options, state):
    if state.count > options.get("ddof", 0):
        return of_state(state, dtype, **options)
    # too few elements: NumPy's result and warning, 0 / 0 or what is more / 0
    few = np.zeros(state.count, dtype)
    if state.count:
        spread = state.var(np.float64)
        few[0] = 1 if spread > 0 else spread
    return numpys(few, **options)
