# SPDX-License-Identifier: Apache-2.0
"""Least and greatest elements of Dask arrays, and where they are."""
from __future__ import annotations

from functools import partial

import numpy as np

from .. import _extremes
from .._states import ReduceAccumulator
from . import _graph


def min(a, axis=None, keepdims=False, *, split_every=None):
    """The least element along axes, as `numpy.min`, with the bits of the first of them: for any chunks the same.

    A NaN is the result where there is one. `split_every`: how many chunks' results are put together at a time.
    """
    return _extreme(_extremes.min, a, axis, keepdims, split_every)


def max(a, axis=None, keepdims=False, *, split_every=None):
    """The greatest element along axes, as `min`."""
    return _extreme(_extremes.max, a, axis, keepdims, split_every)


def argmin(a, axis=None, keepdims=False, *, split_every=None):
    """Where the least element is first, as `numpy.argmin`: in the flattened array, or along an axis.

    >>> import dask.array, masu.dask
    >>> int(masu.dask.argmin(dask.array.from_array([3, 1, 2, 1], chunks=2)).compute())
    1
    """
    return _extreme(_extremes.argmin, a, axis, keepdims, split_every)


def argmax(a, axis=None, keepdims=False, *, split_every=None):
    """Where the greatest element is first, as `argmin`."""
    return _extreme(_extremes.argmax, a, axis, keepdims, split_every)


def _extreme(function, a, axis, keepdims, split_every):
    name = function.__name__
    a = _graph.taken(name, a)
    _graph.options(name, split_every)
    place = name.startswith("arg")
    dtype = np.dtype(np.intp) if place else a.dtype.newbyteorder("=")
    if place and axis is not None and np.ndim(axis):
        raise TypeError(f"{name}: axis must be an integer or None, got {axis!r}")
    axes = _graph.axes_of(a, axis, True)
    if any(a.shape[i] == 0 for i in (range(a.ndim) if axes is None else axes)):
        raise ValueError(f"{name}: the array must not be empty")
    if axes is not None:
        return _graph.along(partial(_places, name) if place else function, a, axes, dtype, keepdims)
    if a.ndim > 1:
        _graph.known(name, a)
    tasks = _graph.Tasks(name, a, keepdims, split_every, over=[a])
    starts = [_graph.starts(c) for c in a.chunks]
    more = []
    for i, key in enumerate(_graph.blocks(a)):
        begin = (i,) if np.isnan(a.size) else tuple(s[k] for s, k in zip(starts, key[1:]))
        more.append((name[-3:], begin, a.shape))
    total = tasks.total(_first, partial(_of_two, name[-3:]), _graph.itself, _graph.blocks(a), split_every=split_every, more=more)
    ends = [tasks.begins(a)] if place and np.isnan(a.size) else []
    return _graph.scalar(tasks, tasks.add("chosen", partial(_chosen, name), total, *ends), a, keepdims, dtype)


def _first(which, begin, shape, block):
    """(the extreme, its place in the whole array, or the chunk's number and the place there); None of an empty block."""
    block = _graph.near(block)
    if block.size == 0:
        return None
    found = ReduceAccumulator.of(block, which, device="cpu")  # of a block in device memory: there
    here = getattr(found, f"arg{which}")()
    value = np.array([getattr(found, which)()]).view(block.dtype.newbyteorder("="))
    if np.isnan(shape).any():
        return value, (begin[0], here)
    inside = np.unravel_index(here, block.shape)
    place = 0
    for size, offset, index in zip(shape, begin, inside):
        place = place * size + offset + int(index)
    return value, place


def _of_two(which, states):
    states = sorted((state for state in states if state is not None), key=lambda state: state[1])
    if not states:
        return None
    return states[int(getattr(np, f"arg{which}")(np.concatenate([value for value, _ in states])))]


def _chosen(name, state, begins=None):
    if state is None:
        raise ValueError(f"{name}: the array must not be empty")
    value, place = state
    if not name.startswith("arg"):
        return value[0]
    return place if begins is None else begins[place[0]] + place[1]


def _places(name, block, axis, keepdims=False):
    """Where the extremes of whole lines are; NumPy finds these sooner than masu."""
    return getattr(np, name)(_graph.on_host(block), axis=axis, keepdims=keepdims)
