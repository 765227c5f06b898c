# SPDX-License-Identifier: Apache-2.0
"""Medians and quantiles of arrays in device memory. Which elements quantiles are made of, and with which weights, is asked
of NumPy; with weights of the elements they are those where the running sums of the weights reach the quantiles that it seeks.
"""
import numpy as np

from . import _masu, _quantile
from ._device_array import dtype_name, to_device
from ._device_lines import array_like, axes_of, converted, lines


def unsupported(name):
    return TypeError(f"{name}: this is not supported with arrays on a device; copy them to the host")


def _numpys(function, shape, dtype, options, error):
    """Raises the error that NumPy's function has for data like this, else the one that was met."""
    function(np.zeros((1,) * len(shape), dtype), **options)
    raise error


def _of_lines(a, axis, keepdims):
    """(the lines along the axes, how many, the shape of a result for each)"""
    axes = axes_of(a, axis)
    rows = lines(a, axes)
    keep = keepdims is not np._NoValue and keepdims
    kept = tuple(1 if i in axes else n for i, n in enumerate(a.shape) if keep or i not in axes)
    return rows, a.size // rows.shape[-1], kept


def median(function, a, axis, keepdims):
    """The medians of an array on a device; `function`: np.median, or np.nanmedian, which leaves NaNs out."""
    if not a.size:
        return to_device(np.asarray(function(np.empty(a.shape, a.dtype), axis, keepdims=keepdims)), a.device)
    try:
        rows, number, shape = _of_lines(a, axis, keepdims)
    except (IndexError, TypeError, ValueError) as error:
        _numpys(function, a.shape, a.dtype, {"axis": axis, "keepdims": keepdims}, error)
    found = array_like(a, None if a.dtype.kind == "f" else "f64", shape)
    _masu.medians(rows, found, number, function is np.nanmedian)
    return found


_WITH_NAN = {np.quantile: np.quantile, np.percentile: np.percentile, np.nanquantile: np.quantile,
             np.nanpercentile: np.percentile}


def quantiles(name, function, a, q, axis, keepdims, method):
    """NumPy's function of q of an array on a device."""
    plain = _WITH_NAN[function]
    skips = plain is not function and a.dtype.kind == "f"
    options = {"q": q, "axis": axis, "keepdims": keepdims, "method": method}
    if not a.size:
        return to_device(np.asarray(function(np.empty(a.shape, a.dtype), **options)), a.device)
    try:
        rows, number, kept = _of_lines(a, axis, keepdims)
        if plain is not function and np.ndim(q) > 1 and _quantile.several_axes(axes_of(a, axis), a.ndim):
            raise _quantile.Unforeseen
        *points, dtype, shape = _quantile.points(plain, rows.shape[-1], a.dtype, q, method)
        doubles, formulas = _quantile.double_quantiles(plain, a.dtype, q, method) if skips else ((), method)
        if skips and not doubles.size and points[0].size:
            raise _quantile.Unforeseen
    except _quantile.Unforeseen:
        raise unsupported(name) from None
    except (IndexError, TypeError, ValueError) as error:
        _numpys(function, a.shape, a.dtype, options, error)
    found = array_like(a, dtype_name(dtype) if points[-1].any() else None, (*shape, *kept))
    if found.size and skips:
        _masu.nan_quantiles(rows, found, number, formulas, doubles)
    elif found.size:
        _masu.quantiles(rows, found, number, *points)
    return converted(found, dtype)


class _Sought(Exception):
    """The quantiles that NumPy seeks, as it has computed them."""


class _Asked(np.ndarray):
    """Weights that tell what NumPy seeks in their running sums."""

    def __array_function__(self, function, types, args, keywords):
        if function is np.searchsorted:
            raise _Sought(args[1])
        return super().__array_function__(function, types, args, keywords)


def weighted(name, function, a, q, axis, keepdims, method, weights):
    """The same with weights. Their running sums are exact, where NumPy's are rounded at each step."""
    if not isinstance(weights, _masu.DeviceArray):
        weights = np.asarray(weights)
        if weights.dtype.kind not in "buif" or weights.dtype.itemsize > 8:
            raise TypeError(f"{name}: weights must be bool, integers or float16 to float64, got {weights.dtype}")
    try:
        function(np.zeros(1, a.dtype), q, method=method, weights=np.ones(1).view(_Asked))
        raise unsupported(name)
    except _Sought as told:
        sought = np.asarray(told.args[0])
    if not a.size:
        empty = np.empty(a.shape, a.dtype)
        result = function(empty, q, axis=axis, method=method, keepdims=keepdims, weights=np.empty(a.shape))
        return to_device(np.asarray(result), a.device)
    by = _weights_of_lines(function, a, q, axis, method, weights)
    least, place = array_like(by, shape=(1,)), array_like(by, "i64", (1,))
    _masu.topk(by, least, place, 1, False, 1, a.device)  # NaN is none
    if least.get()[0] < 0:
        raise ValueError("Weights must be non-negative.")  # in NumPy's words
    rows, number, kept = _of_lines(a, axis, keepdims)
    found = _reached(rows.reshape(number, -1), by.reshape(-1, rows.shape[-1]), sought.reshape(-1))
    return to_device(found.T.reshape((*sought.shape, *kept)), a.device)


def _weights_of_lines(function, a, q, axis, method, weights):
    """The weights as float64 on the device: a line of them for each line of `a`, or one for all."""
    axes = axes_of(a, axis)
    if weights.shape == a.shape:
        there = weights if isinstance(weights, _masu.DeviceArray) else to_device(weights, a.device)
        return lines(converted(there, np.dtype(np.float64)), axes)
    given = axis if isinstance(axis, tuple) else (axis,)
    if axis is None or weights.shape != tuple(a.shape[i] for i in given):
        function(np.broadcast_to(np.zeros((), a.dtype), a.shape), q, axis=axis, method=method,
                 weights=np.broadcast_to(1.0, weights.shape))  # NumPy's error
    order = np.argsort([i % a.ndim for i in given])
    line = np.asarray(weights).transpose(order).reshape(-1)
    return to_device(line.astype(np.float64), a.device)


def _reached(rows, weights, sought):
    """The elements of rows at which the running sums of the weights, over their sum, reach what is sought: a row of them for
    each. `weights`: as many rows, or one for all.
    """
    number, length = rows.shape
    order, sorted_weights = array_like(rows, "i64"), array_like(weights, shape=rows.shape)
    _masu.argsort(rows, order, number, rows.device)
    if len(weights) == number:
        _masu.gather(weights, order, sorted_weights, number)
    else:
        _masu.gather(weights, order, sorted_weights)
    sums = array_like(sorted_weights)
    _masu.cumsum(sorted_weights, sums, number, rows.device)

    def at(array, places):
        """The elements at places of each row."""
        where = to_device(np.asarray(places, np.int64), rows.device)
        elements = array_like(array, shape=where.shape)
        _masu.gather(array, where, elements, number)
        return elements

    last = np.full((number, 1), length - 1)
    totals = at(sums, last).get()
    if not (np.isfinite(totals) & (totals != 0)).all():
        raise ValueError("Weights included NaN, inf or were all zero.")  # in NumPy's words
    least = _least_reaching(np.broadcast_to(sought, (number, sought.size)), totals)
    low, high = np.zeros(least.shape, np.int64), np.full(least.shape, length - 1)
    while (low < high).any():
        middle = low + (high - low) // 2
        reaches = at(sums, middle).get() >= least
        low, high = np.where(reaches, low, middle + 1), np.where(reaches, middle, high)
        low = np.minimum(low, high)
    places = at(order, np.concatenate((low, last), axis=1))
    elements = array_like(rows, shape=places.shape)
    _masu.gather(rows, places, elements, number)
    found = elements.get()
    if rows.dtype.kind != "f":
        return found[:, :-1]
    return np.where(np.isnan(found[:, -1:]), found[:, -1:], found[:, :-1])  # NaN is last in the order


def _least_reaching(sought, total):
    """For each quantile the least running sum that reaches it in NumPy's arithmetic; by bisection of the doubles' bits."""
    low = np.zeros(sought.shape, np.int64)
    high = np.broadcast_to(total, sought.shape).copy().view(np.int64)
    while (high - low > 1).any():
        middle = low + (high - low) // 2
        part_of_all = middle.view(np.float64) / total
        if sought.dtype.kind == "f":
            part_of_all = part_of_all.astype(sought.dtype)
        reaches = (part_of_all >= sought) & (part_of_all > 0)  # NumPy skips weights of zero in front
        low, high = np.where(reaches, low, middle), np.where(reaches, middle, high)
    return high.view(np.float64)
