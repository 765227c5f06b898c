# SPDX-License-Identifier: Apache-2.0
"""Histograms of Dask arrays."""
from __future__ import annotations

import operator
from functools import partial, reduce

import dask.array as da
import numpy as np
from dask.base import is_dask_collection

from .. import _arrays, _bincount, _counts, _device, _histogram, _joint, _masu
from .._bins import check_edges
from . import _exact_weights, _graph

_EXACT = 2**20  # so many integers below 2**33 have an exact float64 total


def histogram(a, bins=10, range=None, density=None, weights=None, *, recompute=False, split_every=None, device=None):
    """How many values fall into each bin: `masu.histogram` of the whole array, for any chunks.

    `a`, `bins`, `range`, `density` and `weights` as in `masu.histogram`; `bins` is a number or edges. Weights have the
    shape of `a`, and their totals are exact. Without a range, the least and the greatest value are found in a pass of
    their own. By default the chunks are kept for the second pass; `recompute` True computes them again. `split_every`:
    how many chunks' counts are put together at a time. Returns Dask arrays, the counts and the edges.

    >>> import dask.array, masu.dask
    >>> counts, edges = masu.dask.histogram(dask.array.from_array([1, 2, 1], chunks=2), bins=[0, 1, 2, 3])
    >>> counts.compute().tolist()
    [0, 2, 1]
    """
    a, device = _graph.taken("histogram", a), _graph.options("histogram", split_every, device)
    _computed("histogram", range, bins)
    bins = _bins("histogram", bins)
    weights = _weights("histogram", weights, a)
    # NumPy keeps the weights' byte order for equal bins only
    totals = np.dtype(np.int64) if weights is None else weights.dtype.newbyteorder("=") if np.ndim(bins) else weights.dtype
    hist, edges = _tasks("histogram", [a], [bins], [range], bool(density), weights, recompute, split_every, device, a.dtype, _edges,
                         partial(_count, bins, device), partial(_densities, bool(density), totals),
                         np.dtype(np.float64) if density else totals)
    return hist, edges[0]


def _tasks(name, columns, bins, ranges, density, weights, recompute, split_every, device, dtype, edges_of, count, finish, result):
    """The Dask arrays of counts and of each column's edges. `edges_of(number, points, bins, range)`: NumPy's edges of a column;
    `count(found, columns, weights)`: the counts of chunks, where `found` are the ranges and the edges; `finish(counts, found)`."""
    bounds = [edges_of(i, np.zeros(1, dtype), rule, ends).dtype for i, (rule, ends) in enumerate(zip(bins, ranges))]
    arrays = columns if weights is None else [*columns, weights]
    tasks = _graph.Tasks(name, *columns, bins, ranges, density, weights, recompute, split_every, device, over=arrays)
    keys = [_graph.blocks(array) for array in arrays]
    needed = [i for i, (rule, ends) in enumerate(zip(bins, ranges)) if ends is None and not np.ndim(rule)]
    pairs = [tasks.tree(f"pairs-{i}", _both, tasks.each(f"pair-{i}", partial(_pair, device), keys[i]), split_every) for i in needed]
    found = tasks.add("bins", partial(_even, edges_of, bins, ranges, dtype), pairs)
    if needed and recompute:
        keys = tasks.again(found, *arrays)
    rows = [list(parts) for parts in zip(*keys[:len(columns)])]
    parts = tasks.each("part", count, [found] * len(rows), rows, *keys[len(columns):])
    done = tasks.add("done", finish, tasks.tree("counts", _exact_weights.added, parts, split_every), found)
    shape = tuple(map(_number, bins))
    return (tasks.array([done], tuple((n,) for n in shape), result),
            [tasks.array([tasks.add(f"edges-{i}", partial(_graph.part, 1, i), found)], ((n + 1,),), bounds[i])
             for i, n in enumerate(shape)])


def _edges(i, points, rule, ends):
    """NumPy's edges of np.histogram, and its errors."""
    return np.histogram_bin_edges(points, rule, ends)


def _computed(function, range, bins):
    """Raises TypeError where ends or edges are not there yet."""
    for name, given in (("range", range), ("bins", bins)):
        parts = given if isinstance(given, (list, tuple)) else [given]
        if any(map(is_dask_collection, [given, *parts, *(p for part in parts if isinstance(part, (list, tuple)) for p in part)])):
            raise TypeError(f"{function}: {name} must be computed, got a Dask object; call compute() first")


def _bins(function, bins, of="bins"):
    if isinstance(bins, str):
        raise TypeError(f"{function}: {of} must be a number or edges, got the rule {bins!r}; its number of bins would be "
                        "known after the computation only")
    if np.ndim(bins):
        check_edges(function, bins)
        return np.asarray(bins)
    try:
        return operator.index(bins)
    except TypeError:
        raise TypeError(f"{function}: {of} must be an integer or edges, got {bins!r}") from None


def _number(bins):
    return len(bins) - 1 if np.ndim(bins) else bins


def _weights(function, weights, a):
    """The weights as a Dask array with the chunks of `a`."""
    if weights is None:
        return None
    weights = _graph.taken(function, weights)
    if weights.dtype.kind == "b":
        raise TypeError(f"{function}: the weights must be integers or float16 to float64, got bool")
    if weights.ndim != a.ndim or not all(np.isnan(n) or np.isnan(m) or n == m for n, m in zip(weights.shape, a.shape)):
        raise ValueError("weights should have the same shape as a.")
    return _graph.aligned(function, weights, a)


def _pair(device, block):
    """The least and the greatest value of a block, +0 for zeros; of an empty one nothing."""
    block = _graph.near(block)
    if block.dtype.kind == "b":
        block = _graph.on_host(block).view(np.uint8)
    with _masu.OnStream(_arrays.on_devices(block)):
        pair = _counts.extremes(block, block.device if _graph.there(block) else _device.resolve(device))
    return pair + pair.dtype.type(0)


def _both(pairs):
    pairs = [pair for pair in pairs if pair.size] or pairs[:1]
    return np.array([np.min([p[:1] for p in pairs]), np.max([p[1:] for p in pairs])], pairs[0].dtype) if pairs[
        0].size else pairs[0]


def _even(edges_of, bins, ranges, dtype, pairs):
    """(ranges, edges) of each column; `pairs`: the extremes of columns with equal bins that have no range."""
    left = iter(pairs)
    found, edges = [], []
    for i, (rule, ends) in enumerate(zip(bins, ranges)):
        pair = next(left) if ends is None and not np.ndim(rule) else np.empty(0, dtype)
        pair = pair.astype(dtype.newbyteorder("=") if dtype.kind != "b" else pair.dtype)
        edges.append(edges_of(i, pair, rule, ends))
        found.append((pair[0], pair[1]) if pair.size else ends)
    return found, edges


def _where_they_are(device, count, *blocks):
    """count(blocks, device) of blocks where they are; on the host where devices have no such bins."""
    try:
        return _graph.on_host(count(blocks, device))
    except _counts.NoSuchBins:
        return count([_graph.on_host(block) for block in blocks], device)


def _count(bins, device, found, blocks, weights=None):
    range, block = found[0][0], _graph.near(blocks[0])
    if weights is not None or block.dtype.kind == "b":
        block, weights = _graph.on_host(block), _graph.on_host(weights)
    if weights is None or weights.dtype.kind in "iu":
        return _where_they_are(device, lambda x, on: _histogram.histogram(*x, bins, range, weights=weights, device=on)[0], block)

    def totals(part):
        return _histogram.histogram(block, bins, range, weights=part, device=device)[0]

    return _exact_weights.state(weights, totals)


def _densities(density, dtype, counts, found):
    """The result; totals of floats are rounded to their dtype first, as masu.histogram has them."""
    hist = _exact_weights.rounded(counts, dtype)
    return hist / np.array(np.diff(found[1][0]), float) / hist.sum() if density else hist


def bincount(x, weights=None, minlength=0, *, split_every=None, device=None):
    """How often each of the integers 0, 1, 2, … occurs: `masu.bincount` of the whole array, for any chunks.

    `x` has one dimension. Totals of weights are exact. The length of the result is known after the computation only. With
    `minlength`, an element or a slice of the first `minlength` elements (``[2:5]``) can be taken before.

    >>> import dask.array, masu.dask
    >>> masu.dask.bincount(dask.array.from_array([0, 1, 1, 3], chunks=2)).compute().tolist()
    [1, 2, 0, 1]
    """
    x, device = _graph.taken("bincount", x), _graph.options("bincount", split_every, device)
    if x.ndim != 1:
        raise ValueError(f"bincount: the array must have one dimension, got {x.ndim}")
    np.bincount(np.empty(0, x.dtype), minlength=minlength)  # NumPy's errors
    weights = _weights("bincount", weights, x)
    tasks = _graph.Tasks("bincount", x, weights, minlength, split_every, device,
                         over=[x] if weights is None else [x, weights])
    other = [] if weights is None else [_graph.blocks(weights)]
    dtype = np.dtype(np.intp if weights is None or x.size == 0 else np.float64)  # NumPy's of nothing
    done = tasks.total(partial(_bins_of, device), _exact_weights.added, partial(_long_enough, minlength, dtype),
                       _graph.blocks(x), *other, split_every=split_every)
    least = operator.index(minlength)
    counts = tasks.array([done], ((np.nan,),), dtype)
    return counts if least == 0 else _Counts.of(counts, tasks.array([tasks.add("head", partial(_head, least), done)], ((least,),), dtype))


class _Counts(da.Array):
    """Counts of unknown length, at least that of `_head`, an array of the first ones."""

    __slots__ = ("_head",)

    @classmethod
    def of(cls, counts, head):
        result = cls(counts.dask, counts.name, counts.chunks, meta=counts._meta)
        result._head = head
        return result

    def __getitem__(self, index):
        one = index[0] if type(index) is tuple and len(index) == 1 else index
        if isinstance(one, slice):
            ends = (one.start or 0, -1 if one.stop is None else one.stop)
            known = min(ends) >= 0 and one.stop <= self._head.size and (one.step or 1) > 0
        else:
            known = isinstance(one, (int, np.integer)) and not isinstance(one, bool) and 0 <= one < self._head.size
        return self._head[one] if known else super().__getitem__(index)


def _head(count, counts):
    return counts[:count]


def _bins_of(device, block, weights=None):
    if weights is None:
        return _graph.computed(_bincount.bincount, block, device=device)
    block, weights = _graph.on_host(block), _graph.on_host(weights)

    def totals(part):
        return _counts.integers(values, part, length, None, device, dtype=None)

    length = _bincount.bincount(block).size
    values = block.view(np.uint8) if block.dtype.kind == "b" else block
    return _exact_weights.state(weights, totals) if length else _exact_weights.nothing(0)


def _long_enough(minlength, dtype, counts):
    hist = _exact_weights.rounded(counts, dtype)
    return np.concatenate([hist, np.zeros(max(0, minlength - hist.size), dtype)])


def histogramdd(sample, bins=10, range=None, density=None, weights=None, *, recompute=False, split_every=None, device=None):
    """How many points fall into each bin of several dimensions: `masu.histogramdd` of the whole sample, for any chunks.

    `sample`: an array of N rows and D columns, or a sequence of D arrays of length N. Parameters are those of `histogram`
    and of `masu.histogramdd`. Returns the counts, float64, and a list of the edges, as Dask arrays.

    >>> import dask.array, masu.dask
    >>> points = dask.array.from_array([[0.5, 0.5], [1.5, 0.5], [1.5, 2.5]], chunks=(2, 1))
    >>> masu.dask.histogramdd(points, bins=(2, 3), range=((0, 2), (0, 3)))[0].compute().tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    """
    device = _graph.options("histogramdd", split_every, device)
    _computed("histogramdd", range, bins)
    if isinstance(sample, (list, tuple)):
        columns = [_graph.taken("histogramdd", column) for column in sample]
    else:
        sample = _graph.taken("histogramdd", sample)
        if sample.ndim != 2:
            raise ValueError(f"histogramdd: the sample must have two dimensions, got {sample.ndim}")
        columns = [sample[:, i] for i in np.arange(sample.shape[1])]
    if not columns or any(column.ndim != 1 for column in columns):
        raise ValueError("histogramdd: the sample must have at least one column, each of one dimension")
    if len({column.size for column in columns if not np.isnan(column.size)}) > 1:
        raise ValueError("histogramdd: the columns must have one length, got "
                         + " and ".join(str(column.size) for column in columns))
    count = len(columns)
    each = [_bins("histogramdd", rule, f"bins[{i}]") for i, rule in enumerate(
        bins if hasattr(bins, "__len__") and not isinstance(bins, str) else [bins] * count)]
    ranges = [None] * count if range is None else list(range)
    if len(each) != count or len(ranges) != count:
        raise ValueError(f"histogramdd: bins and range must be given for each of {count} columns, "
                         f"got {len(each)} and {len(ranges)}")
    first = columns[0]
    columns = [c if np.isnan(c.size) else _graph.aligned("histogramdd", c, first) for c in columns]
    if any(column.numblocks != first.numblocks for column in columns):
        raise ValueError("histogramdd: columns of unknown chunks must have one number of chunks, got "
                         + " and ".join(str(column.numblocks[0]) for column in columns))
    common = reduce(np.promote_types, [column.dtype for column in columns])  # as NumPy has it of a list
    return _tasks("histogramdd", columns, each, ranges, density, _weights("histogramdd", weights, first), recompute, split_every, device,
                  common, _joint_edges, partial(_joint_bins, each, common, device), partial(_joint_densities, density), np.dtype(np.float64))


def histogram2d(x, y, bins=10, range=None, density=None, weights=None, *, recompute=False, split_every=None, device=None):
    """How many points (x, y) fall into each bin of two dimensions: `masu.histogram2d` of the whole arrays.

    Parameters are those of `histogramdd`. Returns the counts, float64, the edges of x and the edges of y.
    """
    hist, edges = histogramdd([x, y], _joint.of_two(bins), range, density, weights, recompute=recompute, split_every=split_every,
                              device=device)
    return hist, edges[0], edges[1]


def _joint_edges(i, points, rule, ends):
    """NumPy's edges of column i of np.histogramdd, and its errors."""
    try:
        return np.histogramdd(points.reshape(-1, 1), [rule], [ends])[1][0]
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("bins[0]", f"bins[{i}]")) from None


def _joint_bins(bins, dtype, device, found, columns, weights=None):
    ranges, _ = found
    columns = [_graph.near(column) for column in columns]
    if weights is None and all(_graph.there(column) and column.dtype == dtype and dtype.kind != "b" for column in columns):
        return _where_they_are(device, lambda x, on: _joint.histogramdd(x, bins, ranges, device=on)[0], *columns)
    columns, weights = [_graph.on_host(column).astype(dtype, copy=False) for column in columns], _graph.on_host(weights)
    if weights is None:
        return _joint.histogramdd(columns, bins, ranges, device=device)[0]

    def totals(part):
        hist = np.zeros(tuple(map(_number, bins)), np.int64)
        for start in np.arange(0, len(part), _EXACT).tolist():
            piece = slice(start, start + _EXACT)
            exact = _joint.histogramdd([c[piece] for c in columns], bins, ranges, weights=part[piece], device=device)[0]
            hist += exact.astype(np.int64)
        return hist.reshape(-1)

    return _exact_weights.state(weights, totals, tuple(map(_number, bins)))


def _joint_densities(density, counts, found):
    hist = _exact_weights.rounded(counts, np.dtype(np.float64))
    return _joint.densities(hist, found[1]) if density else hist
