# SPDX-License-Identifier: Apache-2.0
"""Distinct values and the k greatest of Dask arrays."""
from __future__ import annotations

from functools import partial

import dask.array as da
import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .. import _order
from .._order import TopK
from .._states import TopkAccumulator
from . import _graph


def unique(ar, return_index=False, return_inverse=False, return_counts=False, *, split_every=None, device=None):
    """The sorted distinct elements: `masu.unique` of the whole array, for any chunks.

    `return_index`, `return_inverse` and `return_counts` as in `masu.unique`. How many values there are is known after the
    computation only. All values are brought together in one task. `split_every`: how many chunks' values are put together
    at a time. All NaNs are one value.

    >>> import dask.array, masu.dask
    >>> values, counts = masu.dask.unique(dask.array.from_array([3, 1, 3], chunks=2), return_counts=True)
    >>> values.compute().tolist(), counts.compute().tolist()
    ([1, 3], [1, 2])
    """
    ar, device = _graph.taken("unique", ar), _graph.options("unique", split_every, device)
    x = _graph.flat(_graph.known("unique", ar) if ar.ndim > 1 else ar)
    tasks = _graph.Tasks("unique", x, split_every, device, bool(return_index), bool(return_inverse), bool(return_counts),
                         over=[x])
    found = tasks.total(partial(_distinct, bool(return_index), bool(return_counts), device), partial(_distinct_of_all, device),
                        _graph.itself, _graph.blocks(x), split_every=split_every)
    dtypes = (x.dtype, np.dtype(np.intp), np.dtype(np.intp))
    outputs = [tasks.array([tasks.add(f"output-{i}", partial(_graph.part, i), found)], ((np.nan,),), dtypes[i])
               if wanted else None for i, wanted in enumerate((True, return_index, return_counts))]
    results = [outputs[0]]
    if return_index:
        results.append(outputs[1])
    if return_inverse:
        places = tasks.each("inverse", partial(_places, device), [found] * x.numblocks[0], _graph.blocks(x))
        inverse = tasks.array(places, x.chunks, np.dtype(np.intp))
        if ar.ndim != 1:
            inverse = inverse.reshape(ar.shape).rechunk(ar.chunks) if ar.size else da.zeros(ar.shape, dtype=np.intp, chunks=ar.chunks)
        results.append(inverse)
    if return_counts:
        results.append(outputs[2])
    return tuple(results) if len(results) > 1 else results[0]


def _distinct(index, counts, device, block):
    """(values, where each is first, how often it occurs, elements in all)."""
    found = _graph.computed(_order.unique, block, return_index=index, return_counts=counts, device=device)
    values, *more = found if isinstance(found, tuple) else (found,)
    first = more.pop(0) if index else None
    return values, first, more[0] if counts else None, block.size


def _distinct_of_all(device, parts):
    values = _graph.together([part[0] for part in parts])
    if not values.size:
        return parts[0]
    found, places, inverse = _order.unique(values, return_index=True, return_inverse=True, device=device)
    begins = _graph.starts([part[3] for part in parts])
    first = None if parts[0][1] is None else _graph.after(begins, [part[1] for part in parts])
    counts = None if parts[0][2] is None else np.concatenate([part[2] for part in parts])
    if first is not None:
        first = first[places]
    if counts is not None:
        total = np.zeros(found.size, np.intp)
        np.add.at(total, inverse, counts)
        counts = total
    return found, first, counts, begins[-1]


def _places(device, found, block):
    block = _graph.on_host(block)
    if not block.size:
        return np.empty(0, np.intp)
    return _order.searchsorted(found[0], block, device=device)


def topk(a, k, axis=-1, *, largest=True, split_every=None, device=None):
    """The k largest (or smallest) elements along an axis and where they stand: `masu.topk` of the whole array.

    Parameters and order are those of `masu.topk`; `split_every`: how many chunks' elements are put together at a time.
    Returns TopK(values, indices) of Dask arrays.

    >>> import dask.array, masu.dask
    >>> masu.dask.topk(dask.array.from_array([3, 9, 1, 9], chunks=3), 2).indices.compute().tolist()
    [1, 3]
    """
    a, device = _graph.taken("topk", a), _graph.options("topk", split_every, device)
    if a.ndim > 1:
        _graph.known("topk", a)
    if axis is None:
        a, axis = _graph.flat(a), 0
    axis = normalize_axis_index(axis, a.ndim)
    k = _order.number_of_first(k, a.shape[axis])  # an unknown length is looked at later
    if a.ndim > 1:
        a = _graph.filled(a).rechunk({axis: -1})
    tasks = _graph.Tasks("topk", a, k, axis, largest, split_every, device, over=[a])
    if a.ndim == 1:
        parts = [tasks.total(partial(_graph.state_of, partial(TopkAccumulator, a.dtype, k, largest=largest), device), _graph.merged,
                             partial(_first_of_all, a.dtype, k), _graph.blocks(a), split_every=split_every)]
    else:
        parts = tasks.each("part", partial(_first_of, k, axis, largest, device), _graph.blocks(a))
    chunks = tuple((k,) if i == axis else c for i, c in enumerate(a.chunks))
    values, indices = ([tasks.add(f"output-{i}-{n}", partial(_graph.part, i), part) for n, part in enumerate(parts)]
                       for i in (0, 1))
    return TopK(tasks.array(values, chunks, a.dtype), tasks.array(indices, chunks, np.dtype(np.intp)))


def _first_of_all(dtype, k, state):
    values, indices = state.result()
    _order.number_of_first(k, state.count)
    return (values.view(dtype) if dtype.kind == "b" else values.astype(dtype, copy=False)), indices


def _first_of(k, axis, largest, device, block):
    """(values, where they stand) of whole lines."""
    block = _graph.near(block)
    if block.size == 0:
        shape = tuple(k if i == axis else n for i, n in enumerate(block.shape))
        return np.empty(shape, block.dtype), np.empty(shape, np.intp)
    return _graph.on_host(_order.topk(block, k, axis, largest=largest, device=device))
