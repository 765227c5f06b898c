# SPDX-License-Identifier: Apache-2.0
"""The public functions for arrays in device memory: read where they are, results on their device.

What is small (edges, a few places, totals) is computed on the host with NumPy's rules, as for host arrays. Where NumPy
has a choice that devices have not (other dtypes), TypeError says so.
"""
import math
import types

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from . import (_arrays, _bincount, _bins, _device_quantile, _device_sums, _histogram, _joint, _masu, _moments, _order, _quantile,
               _sums)
from ._device_array import DeviceArray, to_device
from ._device_bins import number_by, number_of_columns, on_host
from ._device_lines import along, array_like, axes_of, converted, lines, one_axis, part, placed, refuse
from ._device_unique import distinct_parts, every_nan

_functions: dict = {}  # by masu's function of arrays of any kind


def call(masus, arrays, options):
    """masu's function of arrays, at least one of them (or of the options) a DeviceArray. Its result comes into the option
    `out`, an array or a tuple of them, where that is given.
    """
    name = masus.__name__
    out = options.pop("out", None)
    outs = out if type(out) is tuple else () if out is None else (out,)
    inputs = [array for array in (*arrays, *options.values()) if isinstance(array, _masu.DeviceArray)]
    there = inputs + [array for array in outs if isinstance(array, _masu.DeviceArray)]
    devices = {array.device for array in there} if len(there) > 1 else ()
    if len(devices) > 1:
        raise ValueError(f"{name}: the arrays must be on one device, got {' and '.join(d.id for d in devices)}")
    function = _functions.get(masus)
    if function is None or not any(isinstance(array, _masu.DeviceArray) for array in arrays):
        raise TypeError(f"{name}: this is not supported with arrays on a device; copy them to the host")
    result = function(*[a if isinstance(a, _masu.DeviceArray) else np.asarray(a) for a in arrays], **options)
    return result if out is None else _into(name, outs, result, inputs)


def _into(name, outs, result, inputs):
    """The results, copied to arrays that the caller gave: of exactly their dtypes and shapes, apart from the inputs."""
    results = result if isinstance(result, tuple) else (result,)
    if len(outs) != len(results):
        raise TypeError(f"{name}: out must be {len(results)} arrays, got {len(outs)}")
    for i, (out, one) in enumerate(zip(outs, results)):
        if not isinstance(out, _masu.DeviceArray):
            raise TypeError(f"{name}: out must be an array on the device {one.device.id}, got {type(out).__name__}")
        if out.dtype != one.dtype:
            raise TypeError(f"{name}: out must have the dtype {one.dtype}, got {out.dtype}")
        if out.shape != one.shape:
            raise ValueError(f"{name}: out must have the shape {one.shape}, got {out.shape}")
        if out._read_only:
            raise ValueError(f"{name}: out must be writable, got a read-only array")
        if any(out._overlaps(other) for other in inputs):
            raise ValueError(f"{name}: out must not overlap the input")
        if any(out._overlaps(other) for other in outs[:i]):
            raise ValueError(f"{name}: the arrays of out must not overlap")
    for out, one in zip(outs, results):
        if one.size:
            _masu.convert(one, out, out.device)
    return result


def _is(masus):
    """Says that a function is `masus` of arrays on a device."""
    def put(function):
        _functions[masus] = function
        return function

    return put


def _there(name, array, like):
    """A host array on the device of `like`, in its dtype, if that changes no value."""
    if isinstance(array, _masu.DeviceArray):
        if array.dtype != like.dtype:
            raise TypeError(f"{name}: on a device the dtypes must be the same, got {like.dtype} and {array.dtype}")
        return array
    converted = array.astype(like.dtype)
    if not np.array_equal(converted, array):
        raise TypeError(f"{name}: the values must be of the dtype {like.dtype} of the array on the device")
    return to_device(converted, like.device)


@_is(_order.sort)
def sort(a, axis=-1, kind=None, order=None, *, stable=None, descending=np._NoValue):
    refuse("sort", order=order)
    backwards, _ = _order._direction(descending, kind)
    a, axis = one_axis(a, axis)
    return along(a, axis, None, lambda rows, out, number: _masu.sort(rows, out, number, a.device, backwards))


@_is(_order.argsort)
def argsort(a, axis=-1, kind=None, order=None, *, stable=None, descending=np._NoValue):
    refuse("argsort", order=order)
    backwards, _ = _order._direction(descending, kind)
    a, axis = one_axis(a if a.ndim else a.reshape(1), axis)
    return along(a, axis, "i64", lambda rows, out, number: _masu.argsort(rows, out, number, a.device, backwards))


def _parted(name, native, dtype, a, kth, axis, order):
    refuse(name, order=order)
    a, axis = one_axis(a, axis)
    length = a.shape[axis]
    wanted = np.asarray(kth)
    if wanted.dtype.kind not in "iu" or wanted.ndim > 1 or not ((wanted >= -length) & (wanted < length)).all():
        np.partition(np.empty(length, np.bool), kth)  # NumPy's error, if it has one
    places = np.unique(wanted % max(length, 1)).tolist()
    return along(a, axis, dtype, lambda rows, out, number: native(rows, out, number, places, a.device))


@_is(_order.partition)
def partition(a, kth, axis=-1, kind="introselect", order=None):
    return _parted("partition", _masu.partition, None, a, kth, axis, order)


@_is(_order.argpartition)
def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    return _parted("argpartition", _masu.argpartition, "i64", a if a.ndim else a.reshape(1), kth, axis, order)


@_is(_order.searchsorted)
def searchsorted(a, v, side="left", sorter=None):
    refuse("searchsorted", sorter=sorter)
    np.searchsorted(np.empty(0), 0, side)  # NumPy's errors
    if isinstance(a, _masu.DeviceArray):
        v = _there("searchsorted", v, a)
    else:
        a = _there("searchsorted", a, v)
    if a.ndim != 1:
        raise ValueError("object too deep for desired array")
    result = array_like(v, "i64")
    if v.size:
        _masu.searchsorted(a, v, result, side in ("right", "r", "R"), a.device)
    return result


@_is(_order.unique)
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True,
           sorted=True):
    if axis is not None and ar.ndim != 1:
        found = distinct_parts(ar, axis)
        wanted = (True, return_index, return_inverse, return_counts)
        results = [one for one, asked in zip(found, wanted) if asked]
        return tuple(results) if len(results) > 1 else results[0]
    if axis is not None:
        normalize_axis_index(axis, 1)
    every = not equal_nan and ar.dtype.kind == "f"
    found = _masu.unique(ar, bool(return_index), bool(return_inverse), bool(return_counts) or every, ar.device)
    values, first, inverse, counts = (None if part is None else DeviceArray(part, part.shape, part) for part in found)
    if ar.dtype == np.bool:
        values = to_device(values.get().view(np.bool), ar.device)
    if every and values.size and np.isnan(part(values, values.size - 1, 1).get()[0]):
        values, first, inverse, counts = every_nan(ar.reshape(-1), values, first, inverse, counts)
    if inverse is not None:
        inverse = inverse.reshape(ar.shape)
    counts = counts if return_counts else None
    results = [found for found in (values, first, inverse, counts) if found is not None]
    return tuple(results) if len(results) > 1 else values


@_is(_order.topk)
def topk(a, k, axis=-1, *, largest=True):
    a, axis = one_axis(a, axis)
    k = _order.number_of_first(k, a.shape[axis])
    rows = lines(a, (axis,))
    shape = (*rows.shape[:-1], k)
    values, indices = array_like(a, shape=shape), array_like(a, "i64", shape)
    if values.size:
        _masu.topk(rows, values, indices, k, bool(largest), values.size // k, a.device)
    return _order.TopK(placed(values, axis), placed(indices, axis))


_functions.update({_sums.sum: _device_sums.sum, _sums.cumsum: _device_sums.cumsum, _sums.dot: _device_sums.dot,
                   _moments.mean: _device_sums.mean, _moments.var: _device_sums.var, _moments.std: _device_sums.std})


def _of_middle(masus, function):
    def middle(a, axis=None, overwrite_input=False, keepdims=False):
        return _device_quantile.median(function, a, axis, keepdims)

    _functions[masus] = middle


def _of_q(masus, function, weighted):
    name = function.__name__

    def of_q(a, q, axis=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
        if weights is None:
            return _device_quantile.quantiles(name, function, a, q, axis, keepdims, method)
        if not weighted:
            raise _device_quantile.unsupported(name)
        return _device_quantile.weighted(name, function, a, q, axis, keepdims, method, weights)

    _functions[masus] = of_q


_of_middle(_quantile.median, np.median)
_of_middle(_quantile.nanmedian, np.nanmedian)
_of_q(_quantile.quantile, np.quantile, True)
_of_q(_quantile.percentile, np.percentile, True)
_of_q(_quantile.nanquantile, np.nanquantile, False)
_of_q(_quantile.nanpercentile, np.nanpercentile, False)


def _numbers(array):
    """The dtype in which NumPy counts: truth values as uint8, with its warning."""
    if array.dtype != np.bool:
        return array.dtype
    np.histogram_bin_edges(np.empty(0, np.bool))
    return np.dtype(np.uint8)


def _extremes(array):
    dtype = _numbers(array)
    pair = np.empty(2, dtype)
    return pair if array.size and _masu.extremes(array, pair, False, array.device) else np.empty(0, dtype)


def _edges_and_spec(name, a, bins, range, weights=None):
    bins = on_host(bins)
    if isinstance(bins, str):
        if weights is not None:
            np.histogram_bin_edges(np.zeros(1), bins, range, np.ones(1))  # NumPy's error
        bins = number_by(name, bins, a, _extremes, range, _SUMMARIES)
    return _bins.edges_and_spec(_numbers(a), bins, range, lambda: _extremes(a))


_SUMMARIES = types.SimpleNamespace(std=_device_sums.std, percentile=_functions[_quantile.percentile],
                                   histogram=lambda *given, **options: histogram(*given, **options))


class NoSuchBins(TypeError):
    """Bins that masu counts on the host alone."""


@_is(_histogram.histogram_bin_edges)
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    if weights is not None and (shape := getattr(weights, "shape", None) or np.shape(weights)) != a.shape:
        raise ValueError(f"histogram_bin_edges: weights must have the shape {a.shape} of a, got {shape}")
    return to_device(_edges_and_spec("histogram_bin_edges", a, bins, range, weights)[0], a.device)


@_is(_histogram.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None, axis=None):
    axes = axes_of(a, axis)
    weights = None if weights is None else _weights(weights, a, axes)
    a = lines(a, axes)
    rows = math.prod(a.shape[:-1])
    edges, spec = _edges_and_spec("histogram", a, bins, range, weights)
    if len(edges) < 2:  # no bins, as NumPy has it
        hist = np.zeros((*a.shape[:-1], 0), np.intp if weights is None else weights.dtype)
        return to_device(hist, a.device), to_device(edges, a.device)
    if spec is None:
        raise NoSuchBins(f"histogram: these bins are not supported for {a.dtype} on a device")
    shape = (*a.shape[:-1], len(edges) - 1)
    if weights is None and not density and a.size and len(shape) == 1:
        counts = DeviceArray(a.device, "i64", (shape[0] + 3,))
        found = DeviceArray(a.device, edges.dtype, edges.shape)
        if _masu.histogram_there(a, spec, counts, _arrays.native(edges), found, a.device):
            return DeviceArray(counts, shape, counts, 0), found
    if weights is None:
        found = _histogram.native(a, spec, rows, 1, a.device) if a.size else (np.zeros(math.prod(shape), np.int64), None)
        hist = None if found is None else found[0].reshape(shape)
    else:
        hist = _weighted(a, weights, spec, rows, shape)
    if hist is None:
        raise NoSuchBins(f"histogram: these bins are not supported for {a.dtype} on a device")
    if density:
        hist = hist / np.array(np.diff(edges), float) / hist.sum(axis=-1, keepdims=True)
    return to_device(hist, a.device), to_device(edges, a.device)


def _weights(weights, a, axes):
    """The weights of the elements of `a`, there, as lines along the axes."""
    if not isinstance(weights, _masu.DeviceArray):
        weights = to_device(weights, a.device)
    if weights.shape != a.shape:
        raise ValueError("weights should have the same shape as a.")
    if weights.dtype == np.bool:
        raise TypeError("histogram: weights of bool are not supported on a device")
    return lines(weights, axes)


def _weighted(a, weights, spec, rows, shape, dtype=None):
    exact = dtype or {"i": np.int64, "u": np.uint64}.get(weights.dtype.kind, np.float64)
    totals, extras = np.zeros(math.prod(shape), exact), np.zeros(3 * rows, exact)
    if a.size and not _masu.weighted_histogram([a], weights, [spec], rows, totals, extras, None, True, a.device):
        return None
    return totals.astype(dtype or weights.dtype).reshape(shape)


@_is(_bincount.bincount)
def bincount(x, weights=None, minlength=0, axis=None):
    if x.dtype.kind not in "iub" or not np.can_cast(x.dtype, np.intp):
        np.bincount(np.empty(0, x.dtype))  # NumPy's error
        raise TypeError(f"bincount: the dtype must fit int64, got {x.dtype}")
    least = np.bincount(np.empty(0, np.intp), minlength=minlength).size
    if axis is None and x.ndim != 1:
        raise ValueError("object of too small depth for desired array" if x.ndim < 1 else "object too deep for desired array")
    axes = axes_of(x, axis)
    weights = None if weights is None else _weights(weights, x, axes)
    x = lines(x, axes)
    if not x.size:
        # without an axis NumPy has integers here, weights or not
        dtype = np.intp if weights is None or axis is None else np.float64
        return to_device(np.zeros((*x.shape[:-1], least), dtype), x.device)
    pair = np.empty(2, np.uint8 if x.dtype == np.bool else x.dtype)
    _masu.extremes(x, pair, False, x.device)
    low, high = pair.tolist()
    if low < 0:
        np.bincount(np.array([low]))
    size = max(high + 1, least)
    spec, rows, shape = _bins.integers(size), math.prod(x.shape[:-1]), (*x.shape[:-1], size)
    if weights is None:
        counts = _histogram.native(x, spec, rows, 1, x.device)[0].reshape(shape)
    else:
        counts = _weighted(x, weights, spec, rows, shape, np.float64)
    return to_device(counts, x.device)


@_is(_joint.histogram2d)
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    bins = on_host(bins)
    bins = bins if number_of_columns(bins) in (1, 2) else [bins, bins]
    hist, edges = _of_columns(x, y, bins=bins, range=range, density=density, weights=weights)
    return hist, *edges


@_is(_joint.histogramdd)
def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    if sample.ndim == 1:
        return _of_columns(sample, bins=bins, range=range, density=density, weights=weights)
    if sample.ndim != 2:
        raise ValueError(f"histogramdd: the sample must have 2 dimensions, got {sample.ndim}")
    rows, width = sample.shape
    turned = array_like(sample, shape=(width, rows))
    if sample.size:
        _masu.columns(sample, rows, turned, sample.device)
    return _of_columns(*turned.rows(), bins=bins, range=range, density=density, weights=weights)


@_is(_joint._of_columns)
def _of_columns(*columns, bins=10, range=None, density=None, weights=None):
    like = next(column for column in columns if isinstance(column, _masu.DeviceArray))
    columns = [_there("histogramdd", column, like) for column in columns]
    if any(column.ndim != 1 or len(column) != len(like) for column in columns):
        raise ValueError("histogramdd: the columns must have one dimension and one length")
    edges, specs = ([], [None]) if like.dtype == np.bool else _joint.edges_and_specs(columns, on_host(bins), range, like.device)
    if None in specs:
        raise NoSuchBins(f"histogramdd: these bins are not supported for {like.dtype} on a device")
    hist = np.zeros(tuple(len(e) - 1 for e in edges))
    if like.size and weights is None:
        _masu.joint_histogram(columns, specs, hist, like.device)
    elif like.size:
        by = weights if isinstance(weights, _masu.DeviceArray) else to_device(weights, like.device)
        if by.shape != like.shape or by.dtype == np.bool:
            raise ValueError("The weights and list don't have the same length.")
        extras = np.empty(3 if len(columns) == 1 else 2)
        _masu.weighted_histogram(columns, by, specs, 1, hist, extras, None, True, like.device)
    if density:
        total = hist.sum()
        for i, widths in enumerate(map(np.diff, edges)):
            hist = hist / np.expand_dims(widths, [axis for axis in np.arange(len(edges)) if axis != i])
        hist = hist / total
    return to_device(hist, like.device), [to_device(e, like.device) for e in edges]


@_is(_bincount.digitize)
def digitize(x, bins, right=False):
    edges = bins.get() if isinstance(bins, _masu.DeviceArray) else np.asarray(bins)
    np.digitize(np.empty(0), edges, right)  # NumPy's errors
    converted = edges.astype(x.dtype)
    if edges.size == 0 or not np.array_equal(converted, edges) or edges[0] > edges[-1] or x.dtype == np.bool:
        raise TypeError(f"digitize: on a device the edges must increase and be values of the data's dtype {x.dtype}")
    result = array_like(x, "i64")
    if x.size:
        _masu.digitize(to_device(converted, x.device), x, result, bool(right), x.device)
    return result
