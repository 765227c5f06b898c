# SPDX-License-Identifier: Apache-2.0
"""histogramdd and histogram2d."""

from __future__ import annotations

import functools
import math
import operator

import numpy as np

from . import _bins, _by_place, _counts, _device, _fallback, _host, _kinds, _masu, _on_device, _order, _rules
from ._arrays import adapter, in_kind, on_devices

MOST_COLUMNS = 8
_MOST_CELLS = 2**31
_NOTHING = np.empty(0)


def histogramdd(sample, bins=10, range=None, density=None, weights=None, *, device=None):
    """How many points fall into each bin of a grid: ``numpy.histogramdd``, many times faster.

    Parameters
    ----------
    sample : (N, D) array, or a sequence of D arrays of length N
        The points, as in NumPy. Columns that are arrays of their own are used where they are.
    bins : sequence or int, optional
        As in NumPy: edges or a number of equal bins, for each column or for all.
    range : sequence of (lower, upper) or None, optional
        As in NumPy: for each column the ends of its equal bins.
    density : bool, optional
        Whether to return the probability density.
    weights : (N,) array_like, optional
        A weight for each point.
    device : str or masu.Device, optional
        Where to count data of the host.

    Returns
    -------
    hist : array of float64
        Of shape ``(n0, n1, …)``.
    edges : list of arrays
        The edges of each column.

    Counts, edges, dtypes, warnings and errors are NumPy's; totals of weights are exact, rounded to float64 once. More
    than 8 columns or 2**31 joint bins, and dtypes that masu lacks, are NumPy's to count; where NumPy sums weights too,
    masu.Fallback is issued.

    >>> import numpy as np, masu
    >>> points = np.array([[0.5, 0.5], [1.5, 0.5], [1.5, 2.5]])
    >>> masu.histogramdd(points, bins=(2, 3), range=((0, 2), (0, 3)))[0]
    array([[1., 0., 0.],
           [1., 0., 1.]])
    """
    on = adapter(device, weights, *_each(sample), *_each(bins))
    if on is not None:
        _bins.check_edges("histogramdd", bins := _rules.on_host(bins))
    if on is _host and (places := _as_places(sample, bins)):
        hist, edges = histogramdd(*places[:2], range, None, weights, device=device)
        edges = [own if given is None else given for own, given in zip(edges, places[2])]
        return densities(hist, edges) if density else hist, edges
    if on is None:
        return in_kind(histogramdd, locals())
    if on is _host and type(sample) in (list, tuple):
        sample = [column if type(column) in _kinds.PLAIN else _kinds.as_numpy(column) for column in sample]
    if on is _host:
        sample, weights = (part if type(part) in _kinds.PLAIN else _kinds.as_numpy(part) for part in (sample, weights))
    found = _count(on, sample, bins, range, weights, device)
    if found is None and on is not _host:
        raise _counts.NoSuchBins("histogramdd: these bins are not supported for the data on a device")
    if found is None and weights is not None:
        weights = np.asarray(weights)
        found = _by_place.histogramdd(sample, bins, range, weights, device)
    if found is None:
        result = np.histogramdd(sample, bins, range, density, weights)
        if weights is not None and weights.dtype.kind in _fallback.SUMMED:
            _fallback.warn("histogramdd", f"weights of {weights.dtype} in {result[0].size} joint bins")
        return result
    hist, edges = found
    if density:
        hist = densities(hist, edges)
    if on is not _host:
        like, = on_devices(*_each(sample))[:1]
        return on.sent(like, hist), [on.sent(like, one) for one in edges]
    return hist, edges


def of_two(bins):
    """Bins for two columns."""
    try:
        count = len(bins)
    except TypeError:
        count = 1
    return bins if count in (1, 2) else [np.asarray(bins)] * 2


def densities(hist, edges):
    """The probability density of counts, as NumPy computes it."""
    total = hist.sum()
    for i, widths in enumerate(map(np.diff, edges)):
        hist = hist / np.expand_dims(widths, tuple(j for j in np.arange(len(edges)) if j != i))
    return hist / total


def _each(several):
    """Arrays, if need be one, as several."""
    return several if type(several) in (list, tuple) else (several,)


def histogram2d(x, y, bins=10, range=None, density=None, weights=None, *, device=None):
    """How many points (x, y) fall into each bin of a grid: ``numpy.histogram2d``, many times faster.

    Parameters are those of NumPy, and ``device`` as in `histogramdd`, whose rules hold. Returns the counts, float64, of
    shape ``(nx, ny)``, the edges of x and the edges of y.

    >>> import masu
    >>> masu.histogram2d([0.5, 1.5, 1.5], [0.5, 0.5, 2.5], bins=(2, 3), range=((0, 2), (0, 3)))[0]
    array([[1., 0., 0.],
           [1., 0., 1.]])
    """
    on = adapter(device, x, y, weights, *_each(bins))
    if on is not None:
        _bins.check_edges("histogram2d", bins := _rules.on_host(bins))
    if on is None:
        return in_kind(histogram2d, locals(), 2)
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    hist, edges = histogramdd([x, y], of_two(_rules.on_host(bins)), range, density, weights, device=device)
    return hist, edges[0], edges[1]


def _as_places(sample, bins):
    """(columns, bins, edges), the numbers of bins in place of integers; None where NumPy compares these exactly with integer edges."""
    given = type(bins) in (list, tuple) or type(bins) is np.ndarray and bins.ndim
    edges = [np.asarray(rule) for rule in bins] if given and len(bins) <= MOST_COLUMNS else []
    edges = [one if one.ndim == 1 and one.dtype.kind in "iu" and one.size > 1 and max(int(one[-1]), -int(one[0])) >= 2**53
             and (one[:-1] <= one[1:]).all() else None for one in edges]
    if all(one is None for one in edges):
        return None
    several = type(sample) in (list, tuple)
    columns = list(map(_kinds.as_numpy, sample)) if several else list(_kinds.as_numpy(sample).T) if np.ndim(sample) == 2 else [sample]
    if len(columns) != len(edges) or not all(type(one) is np.ndarray and one.dtype.kind in "iu" and one.ndim == 1 for one in columns):
        return None
    common = functools.reduce(np.promote_types, [one.dtype for one in columns])
    if not any(one is not None and np.promote_types(common, one.dtype).kind == "f" for one in edges):
        return None
    bins = list(bins)
    for i, limits in enumerate(edges):
        if limits is not None:
            place = _order.searchsorted(limits[:-1], columns[i], "right") - 1
            place[_order.searchsorted(limits[-1:], columns[i]) > 0] = limits.size - 1
            columns[i], bins[i] = place, np.arange(limits.size) - 0.5
    return columns, bins, edges


def _columns_there(sample):
    """The columns of a sample on a device."""
    if type(sample) in (list, tuple):
        like = next(column for column in sample if isinstance(column, _masu.DeviceArray))
        columns = [_on_device.there("histogramdd", column, like) for column in sample]
    elif sample.ndim == 2:
        columns = _on_device.swapped(sample, 1, len(sample)).reshape(sample.shape[::-1]).rows()
    else:
        columns = [sample]
    if any(column.ndim != 1 or len(column) != len(columns[0]) for column in columns):
        raise ValueError("histogramdd: the columns must have one dimension and one length")
    return columns


def _columns(sample):
    """The columns, contiguous and of one dtype; None where they are not masu's to count."""
    if type(sample) in (list, tuple) and all(type(x) is np.ndarray and x.ndim == 1 for x in sample):
        if not sample or len({len(x) for x in sample}) != 1:
            return None
        try:
            dtype = functools.reduce(np.promote_types, [x.dtype for x in sample])  # one after the other, as in a list
        except TypeError:  # NumPy says it in its own way
            return None
        if not _kinds.has_dtype(np.empty(0, dtype)):
            return None
        return [_kinds.native(x.astype(dtype, copy=False)) for x in sample]
    if isinstance(sample, np.ndarray) and type(sample) not in (np.ndarray, np.memmap):
        return None
    if not hasattr(sample, "shape"):
        iter(sample)  # NumPy's error
    points = sample if hasattr(sample, "shape") and len(sample.shape) == 2 else np.atleast_2d(sample).T
    points = np.asarray(points)
    if points.ndim != 2 or not _kinds.has_dtype(points):
        return None
    if points.T.flags.c_contiguous or points.shape[1] < 2 or not points.flags.c_contiguous:
        return list(_kinds.native(points.T))
    turned = np.empty(points.shape[::-1], points.dtype.newbyteorder("="))
    _masu.copy(_kinds.native(points).T, turned)
    return list(turned)


def _edges_of(proxy, rule, ends):
    """A column's edges as np.histogramdd has them, of plain arguments. `proxy`: its least and greatest value."""
    if np.ndim(rule):
        edges = np.histogram_bin_edges(_NOTHING, rule)
    elif rule < 1 or not (proxy.size if ends is None else _bins.PLAIN.issuperset(map(type, ends))):
        raise ValueError
    else:
        edges = _bins.edges_of(proxy.dtype if ends is None else _NOTHING.dtype, rule, None if ends is None else tuple(ends),
                               lambda: proxy)
    np.diff(edges)  # with its warnings
    return edges


def edges_and_specs(columns, bins, range, where, finite=False, alone=False):
    """The edges of each column as NumPy has them, and how masu counts between them, None where it does not. NumPy's errors,
    without the number of the column. `finite`: bins without a range span the finite values. `alone`: a single column is counted
    as one that is not joint."""
    try:
        each = list(bins)
    except TypeError:
        each = [bins] * len(columns)
    ranges = [None] * len(columns) if range is None else list(range)
    if len(each) != len(columns):
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if len(ranges) != len(columns):
        raise ValueError("range argument must have one entry per dimension")
    uniform = [np.ndim(rule) == 0 for rule in each]
    rules = [operator.index(rule) if even else rule for rule, even in zip(each, uniform)]
    proxies = [_counts.extremes(column, where, finite) if even and ends is None else np.zeros(2, column.dtype)
               for column, even, ends in zip(columns, uniform, ranges)]
    joint = not alone or len(columns) > 1
    if ranges.count(None) == len(columns) and all(type(rule) is int and proxy.size for rule, proxy in zip(rules, proxies)):
        own = [_masu.own_bins(proxy, rule, joint) for proxy, rule in zip(proxies, rules)]
        if None not in own:
            return tuple(zip(*own))
    try:
        edges = [_edges_of(*column) for column in zip(proxies, rules, ranges)]
    except (TypeError, ValueError):  # which np.histogramdd has in its own words
        edges = [np.histogramdd(proxy.reshape(-1, 1), [rule], [ends])[1][0]
                 for proxy, rule, ends in zip(proxies, rules, ranges)]
    specs = [_bins.column_spec(column.dtype, found, even, ends, not joint)
             for column, found, even, ends in zip(columns, edges, uniform, ranges)]
    return edges, specs


def _count(on, sample, bins, range, weights, device):
    """(hist, edges); None where the call is NumPy's."""
    if on is _host:
        _device.resolve(device)  # its errors
    columns = _columns(sample) if on is _host else _columns_there(sample)
    if not columns or len(columns) > MOST_COLUMNS or columns[0].dtype.kind == "b":
        return None
    where = on.device_for(device, columns[0])
    if weights is not None:
        weights = on.sent(columns[0], np.asarray(weights) if on is _host else weights)
        if weights.shape != columns[0].shape or weights.dtype.kind == "b" or not _kinds.has_dtype(weights):
            if on is not _host:
                raise ValueError("The weights and list don't have the same length.")
            return None

    def ask():
        return edges_and_specs(columns, _rules.on_host(bins), range, where, alone=weights is not None)

    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            edges, specs = ask()
    except (FloatingPointError, TypeError, ValueError) as error:
        # NumPy says it with the number of the column, and warns itself
        if on is _host:
            return None
        if not isinstance(error, FloatingPointError):
            raise
        edges, specs = ask()
    if None in specs:
        return None
    shape = tuple(len(e) - 1 for e in edges)
    if math.prod(shape) > _MOST_CELLS:
        return None
    hist = np.zeros(shape)
    if not columns[0].size:
        return hist, edges
    if weights is None:
        _masu.joint_histogram(columns, specs, hist, where)
        return hist, edges
    extras = np.empty(3 if len(columns) == 1 else 2, np.float64)
    _masu.weighted_histogram(columns, on.native(weights), specs, 1, hist, extras, None, True, where)
    return hist, edges
