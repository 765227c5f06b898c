# SPDX-License-Identifier: Apache-2.0
"""Stable sorts and orders of Dask arrays.

Each chunk is sorted by itself. Then the element at which each chunk of the result begins is found exactly. Regular samples
of the sorted chunks are taken closer and closer around it: counts of samples bound counts of elements. The pieces of the
sorted chunks between these elements go to their chunk of the result; equals are divided in the order of the chunks.
"""
from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .. import _device, _order
from . import _graph

# Each pair of chunks has a task where there are few chunks, or not many and at least so many elements for a pair.
_FEW, _MANY, _PAIR = 16, 512, 2**14
_SAMPLES = (4096, 64)  # of a chunk in the first round; for each bound in the second. The third takes all that are left.


def sort(a, axis=-1, *, device=None):
    """A sorted copy along an axis: `masu.sort` of the whole array, for any chunks; axis None sorts the flattened array.

    The sort is stable, NaN last. An array of one dimension is sorted in three steps: every chunk, the exact places where
    the sorted chunks are divided, and what comes together. So each chunk crosses the network once, and the result has the
    chunks of `a`. Along an axis of several, whole lines are brought together first.

    >>> import dask.array, masu.dask
    >>> masu.dask.sort(dask.array.from_array([3, 1, 2], chunks=2)).compute().tolist()
    [1, 2, 3]
    """
    return _sorted(_order.sort, a, axis, device)


def argsort(a, axis=-1, *, device=None):
    """The indices that sort an array along an axis, stably: `masu.argsort` of the whole array, as `sort`.

    >>> import dask.array, masu.dask
    >>> masu.dask.argsort(dask.array.from_array([3, 1, 2, 1], chunks=2)).compute().tolist()
    [1, 3, 2, 0]
    """
    return _sorted(_order.argsort, a, axis, device)


def _sorted(of, a, axis, device):
    name = of.__name__
    a, device = _graph.taken(name, a), _graph.options(name, device=device)
    dtype = np.dtype(np.intp) if name == "argsort" else a.dtype
    if a.ndim > 1:
        _graph.known(name, a)
    if axis is None or name == "argsort" and a.ndim == 0:
        a, axis = _graph.flat(a), 0 if axis is None else axis
    axis = normalize_axis_index(axis, a.ndim)
    if a.ndim > 1 or a.numblocks[0] < 2:
        whole = a if a.numblocks[axis] == 1 else _graph.filled(a).rechunk({axis: -1})
        return whole.map_blocks(partial(_graph.run, _block, of, axis, device), dtype=dtype, meta=_graph.empty_like(a, a.ndim, dtype))
    tasks = _graph.Tasks(name, a, device, over=[a])
    begins = tasks.begins(a)
    runs = tasks.each("run", partial(_run, name, device), _graph.blocks(a))
    plan = tasks.add("plan", _begun, begins)
    for number, samples in enumerate((*_SAMPLES, None)):
        found = tasks.each(f"samples-{number}", partial(_probed, number == 0, samples), [plan] * len(runs), runs)
        plan = tasks.add(f"plan-{number}", partial(_narrowed, number == 0), plan, found)
    cuts = tasks.add("cuts", _cuts, plan, tasks.each("counts", _counted, [plan] * len(runs), runs))
    direct = len(runs) <= _FEW or len(runs) <= _MANY and a.size >= _PAIR * len(runs) ** 2
    like = None if isinstance(a._meta, np.ndarray) else a._meta
    made = _exchanged(tasks, name, device, like, 1 if direct else math.isqrt(len(runs)), begins, cuts, runs)
    return tasks.array(made, a.chunks, dtype, _graph.empty_like(a, 1, dtype))


def _exchanged(tasks, name, device, like, fan, begins, cuts, runs):
    """The chunks of the result. With a fan of 1 each pair of chunks has a piece. Else `fan` neighbours among
    the runs first bring together what belongs to `fan` neighbours among the results. So there are 2 count^1.5
    pieces in place of count^2."""
    count = len(runs)
    groups = [range(j, min(j + fan, count)) for j in range(0, count, fan)]
    made = []
    for chunks in groups if fan > 1 else [range(count)]:
        first, end = chunks[0], chunks[-1] + 1
        parts = runs
        if fan > 1:
            pieces = tasks.each(f"part-{first}", _piece, [cuts] * count, runs, [begins] * count,
                                more=[((j,), 0, first, end) for j in range(count)])
            parts = [tasks.add(f"group-{first}-{group[0]}", partial(_merged, name, device), pieces[group[0]:group[-1] + 1])
                     for group in groups]
        for i in chunks:
            pieces = tasks.each(f"piece-{i}", _piece, [cuts] * len(groups), parts, *([[begins] * count] if fan == 1 else []),
                                more=[(tuple(group), first, i, i + 1) for group in groups])
            made.append(tasks.add(f"merged-{i}", partial(_joined, name, device, like), pieces))
    return made


def _block(of, axis, device, block):
    return of(block, axis=axis, device=_device.resolve(device) if isinstance(block, np.ndarray) else None)


class _Run(NamedTuple):
    """A sorted chunk."""

    values: np.ndarray
    indices: np.ndarray | None  # in the chunk, and of a piece in the whole array; of argsort


def _run(name, device, block):
    block = _graph.near(block)
    there = _graph.there(block)
    where = None if there else _device.resolve(device)  # with a device masu sorts small blocks too, stably
    if name == "sort":
        return _Run(_graph.on_host(_order.sort(block, device=where)), None)
    order = _graph.on_host(_order.argsort(block, device=where))
    return _Run(_graph.on_host(block)[order], order)


class _Plan(NamedTuple):
    """What is known of the elements at the places where chunks of the result begin."""

    places: np.ndarray
    low: np.ndarray | None = None  # elements between which each lies, ends included; None: nothing is known
    high: np.ndarray | None = None


def _begun(begins):
    return _Plan(np.asarray(begins[1:-1], np.int64))


class _Samples(NamedTuple):
    until: np.ndarray  # elements of the run up to each place's lower bound,
    before: np.ndarray  # and in front of the upper bound
    elements: list  # for each place samples between its bounds, ends excluded
    positions: list  # and where these are in the run


def _probed(first, samples, plan, run):
    """A round's samples of a run; in the first all places have the same, of all elements."""
    values, places = run.values, plan.places.size
    if first:
        until, before = np.zeros(places, np.int64), np.full(places, values.size)
        positions = [_spread(0, values.size, samples)] * bool(places)
    else:
        until, before = values.searchsorted(plan.low, "right"), values.searchsorted(plan.high, "left")
        positions = [np.empty(0, np.int64) if known else _spread(*ends, samples)
                     for *ends, known in zip(until, before, _are_known(plan))]
    return _Samples(until, before, [values[part] for part in positions], positions)


def _are_known(plan):
    """For each place whether its element is known."""
    return (plan.low == plan.high) | (plan.low != plan.low) & (plan.high != plan.high)  # NaN is one element, the last


def _spread(begin, end, samples):
    """At most `samples` positions from begin to end - 1, both among them; None takes all."""
    if samples is None or end - begin <= samples:
        return np.arange(begin, end)
    return begin + np.arange(samples) * (end - begin - 1) // (samples - 1)


def _narrowed(first, plan, found):
    """The plan with the bounds that the samples allow."""
    if not plan.places.size:
        return plan._replace(low=plan.places, high=plan.places)
    shared = None
    if first:
        shared = _counts_at(found, 0)
        plan = _Plan(plan.places, *(np.resize(end, plan.places.size) for end in (shared[0][:1], shared[0][-1:])))
    low, high = plan.low.copy(), plan.high.copy()
    for i in np.flatnonzero(~_are_known(plan)):
        place = plan.places[i]
        if not first and place < sum(int(s.until[i]) for s in found):
            high[i] = low[i]
            continue
        if not first and place >= sum(int(s.before[i]) for s in found):
            low[i] = high[i]
            continue
        elements, before, upto = shared or _counts_at(found, i)
        # the last element of which surely no more lie in front; the first up to which surely more lie
        front, end = before.searchsorted(place, "right") - 1, upto.searchsorted(place, "right")
        if front >= 0:
            low[i] = elements[front]
        if end < elements.size:
            high[i] = elements[end]
    return plan._replace(low=low, high=high)


def _counts_at(found, i):
    """The sorted samples of all runs; how many elements lie at most in front of each, and at least up to it."""
    most = [np.append(s.positions[i], s.before[i]) for s in found]
    least = [np.append(s.until[i], s.positions[i] + 1) for s in found]
    elements = np.concatenate([s.elements[i] for s in found])
    order = np.argsort(elements, kind="stable")
    elements = elements[order]
    steps = np.concatenate([np.diff(m) for m in most])[order]
    before = np.cumsum(np.append(sum(int(m[0]) for m in most), steps))[elements.searchsorted(elements, "left")]
    steps = np.concatenate([np.diff(m) for m in least])[order]
    upto = np.cumsum(np.append(sum(int(m[0]) for m in least), steps))[elements.searchsorted(elements, "right")]
    return elements, before, upto


def _counted(plan, run):
    """How many elements of a run are less than the element at each place, and how many not greater."""
    return run.values.searchsorted(plan.low, "left"), run.values.searchsorted(plan.low, "right")


def _cuts(plan, counts):
    """For each run where it is divided: the less, and of the equal ones the first runs' first."""
    less = np.stack([c[0] for c in counts])
    equal = np.stack([c[1] for c in counts]) - less
    wanted = plan.places - less.sum(axis=0)
    before = np.cumsum(equal, axis=0) - equal
    return less + np.clip(wanted - before, 0, equal)


def _piece(runs, first, begin, end, cuts, run, begins=None):
    """The part of a sorted array that belongs to the chunks from `begin` to `end` of the result. Of these runs,
    the part that belongs to the chunks from `first` on."""
    def place(chunk):
        return int(cuts[runs, chunk - 1].sum()) if chunk else 0

    part = slice(place(begin) - place(first), place(end) - place(first) if end <= cuts.shape[1] else None)
    indices = None if run.indices is None else run.indices[part]
    return _Run(run.values[part], indices if begins is None or indices is None else indices + begins[runs[0]])


def _merged(name, device, pieces):
    """The sorted pieces together, equals in the order of the pieces."""
    pieces = [piece for piece in pieces if piece.values.size] or pieces[:1]
    values = _graph.together([piece.values for piece in pieces])
    if name == "sort":
        return _Run(_order.sort(values, device=_device.resolve(device)), None)
    order = _order.argsort(values, device=_device.resolve(device))
    return _Run(values[order], np.concatenate([piece.indices for piece in pieces])[order])


def _joined(name, device, like, pieces):
    run = _merged(name, device, pieces)
    result = run.values if name == "sort" else run.indices
    return result if like is None else np.asarray(result, like=like)
