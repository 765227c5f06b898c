# SPDX-License-Identifier: Apache-2.0
"""Running sums of Dask arrays, places among sorted elements, and elements at places."""
from __future__ import annotations

import copy
import operator
from functools import partial

import dask.array as da
import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .. import _bincount, _kinds, _order, _sums
from .._sum_accumulator import SumAccumulator
from . import _graph


def cumsum(a, axis=None, dtype=None, *, device=None):
    """The exact running sum along an axis, each rounded once: `masu.cumsum` of the whole array, for any chunks.

    `axis`: None takes the flattened array. Each chunk starts from the exact sum of those before it. Along an axis of several, whole
    lines are brought together first.

    >>> import dask.array, masu.dask
    >>> masu.dask.cumsum(dask.array.from_array([1e100, 1.0, -1e100], chunks=1)).compute().tolist()
    [1e+100, 1e+100, 1.0]
    """
    a, device = _graph.taken("cumsum", a), _graph.options("cumsum", device=device)
    result = _sums.cumsum(np.zeros(1, a.dtype), dtype=dtype).dtype
    if result.num not in _kinds.NATIVE or result.kind not in "iuf" or (a.dtype.kind == "f") > (result.kind == "f"):
        raise TypeError(f"cumsum: dtype must be an integer for integers, or float16 to float64, got {result}")
    a, axis = (_graph.flat(a), 0) if axis is None else (a, normalize_axis_index(axis, a.ndim))
    if a.ndim > 1 or a.numblocks[0] < 2:
        work = partial(_graph.run, partial(_graph.computed, _sums.cumsum, axis=axis, dtype=dtype, device=device))
        lines = _graph.filled(_graph.known("cumsum", a)).rechunk({axis: -1}) if a.ndim > 1 else a
        return lines.map_blocks(work, dtype=result, meta=np.empty((0,) * a.ndim, result))
    tasks = _graph.Tasks("cumsum", a, result, device, over=[a])
    first, *others = _graph.blocks(a)
    before = tasks.each("total", partial(_total, result), [first, *others[:-1]])
    for i in range(1, len(before)):
        before[i] = tasks.add(f"before-{i}", operator.add, before[i - 1], before[i])
    made = tasks.each("first", partial(_continued, result, device, None), [first]) + tasks.each("next", partial(_continued, result, device), before, others)
    return tasks.array(made, a.chunks, result)


def _total(dtype, block):
    """The exact sum of a block; of integers the sum modulo 2^64."""
    block = _graph.on_host(block).astype(dtype, copy=False)
    return SumAccumulator.of(block, kind="sum", device="cpu") if dtype.kind == "f" else np.add.reduce(block, keepdims=True)


def _parts(dtype, total, count):
    """Numbers of the dtype whose exact sum is that of the elements before `count` others; where all running sums overflow, as large ones."""
    if any(total.integers()[1:4]):  # NaN and infinities
        return np.array([total.sum(dtype)])
    rest, parts, most = copy.copy(total), [], np.finfo(dtype).max
    while len(parts) <= count + 2:
        found = rest.sum(np.float64)
        many = 1 if np.isinf(found) else min(abs(found) / float(most), count + 3)
        some = np.full(int(many), np.copysign(most, found)) if many >= 2 else np.atleast_1d(np.clip(rest.sum(dtype), -most, most))
        some = some.astype(dtype)
        if some[0] == 0:
            break
        parts.extend(some)
        rest.add(-some)
    return np.array(parts, dtype)


def _continued(dtype, device, before, block=None):
    """The running sums of a block after others; the first one has none before it."""
    before, block = (None, before) if block is None else (before, block)
    if before is None or dtype.kind != "f":
        found = _graph.computed(_sums.cumsum, block, dtype=dtype, device=device)
        return found if before is None else found + before
    block = _graph.on_host(block).astype(dtype, copy=False)
    parts = _parts(dtype, before, block.size)
    return _sums.cumsum(np.concatenate([parts, block]), device=device)[parts.size:]


def digitize(x, bins, right=False, *, device=None):
    """The bin of each element, as `masu.digitize`; `bins` are edges in memory.

    >>> import dask.array, masu.dask
    >>> masu.dask.digitize(dask.array.from_array([0.5, 2.5], chunks=1), [0, 1, 2, 3]).compute().tolist()
    [1, 3]
    """
    x, device = _graph.taken("digitize", x), _graph.options("digitize", device=device)
    _bincount.digitize(np.empty(0, x.dtype), bins, right)  # its errors
    work = partial(_graph.computed, partial(_bincount.digitize, bins=bins, right=right, device=device))
    return x.map_blocks(partial(_graph.run, work), dtype=np.intp, meta=np.empty((0,) * x.ndim, np.intp))


def searchsorted(a, v, side="left", *, split_every=None, device=None):
    """Where elements of `v` belong in the sorted array `a` of one dimension, as `masu.searchsorted`; either may be a NumPy array.

    >>> import dask.array, masu.dask
    >>> masu.dask.searchsorted(dask.array.arange(10, chunks=4), [2.5, 7]).compute().tolist()
    [3, 7]
    """
    a, v = (_graph.taken("searchsorted", one) for one in (a, v))
    device = _graph.options("searchsorted", split_every, device)
    _order.searchsorted(np.empty((0,) * a.ndim, a.dtype), np.empty(0, v.dtype), side)  # its errors
    tasks = _graph.Tasks("searchsorted", a, v, side, split_every, device, over=[a, v])
    work = partial(_graph.computed, partial(_order.searchsorted, side=side, device=device))
    # Each sorted chunk of `a` has so many elements before the place.
    made = [tasks.tree(f"places-{i}", sum, tasks.each(f"found-{i}", work, _graph.blocks(a), [block] * a.npartitions), split_every)
            for i, block in enumerate(_graph.blocks(v))]
    return tasks.array(made, v.chunks, np.dtype(np.intp))


def take(a, indices, axis=None):
    """Elements at places, as `numpy.take`: Dask's own, which moves elements only, of the flattened array without `axis`.

    >>> import dask.array, masu.dask
    >>> masu.dask.take(dask.array.arange(10, chunks=4), [7, 2]).compute().tolist()
    [7, 2]
    """
    a = _graph.taken("take", a)
    return da.take(_graph.filled(a if axis is not None else _graph.flat(a)), indices, 0 if axis is None else axis)


def compress(condition, a, axis=None):
    """The elements where a condition of one dimension holds, as `numpy.compress`: Dask's own, which moves elements only.

    >>> import dask.array, masu.dask
    >>> masu.dask.compress([True, False, True], dask.array.arange(3, chunks=2)).compute().tolist()
    [0, 2]
    """
    a = _graph.taken("compress", a)
    return da.compress(condition, _graph.filled(a if axis is not None else _graph.flat(a)), 0 if axis is None else axis)
