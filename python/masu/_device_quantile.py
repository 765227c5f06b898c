# SPDX-License-Identifier: Apache-2.0
"""Quantiles of arrays in device memory: NumPy's own rules on the elements that masu finds at the places that it asks for;
with weights, on those where the running sums of the weights reach the quantiles that it seeks.
"""
import numpy as np

from . import _lines, _masu, _quantile
from ._device_array import to_device
from ._device_lines import array_like, axes_of, converted, lines, part


def unsupported(name):
    return TypeError(f"{name}: this is not supported with arrays on a device; copy them to the host")


def located(name, function, a, axis, keepdims, **options):
    """NumPy's function of an array on a device."""
    if not a.size:
        return to_device(function(np.empty(a.shape, a.dtype), axis=axis, keepdims=keepdims, **options), a.device)

    def find(places):
        found = np.empty((number, places.size), a.dtype)
        _masu.elements_at(rows, _lines.words(found), number, places.tolist(), a.device)
        return found

    try:
        axes = axes_of(a, axis)
        rows = lines(a, axes)
        number = a.size // rows.shape[-1]
        result = _quantile.of_found(function, a.shape, axes, a.dtype, find, keepdims=keepdims, **options)
    except _quantile.Unforeseen:
        raise unsupported(name) from None
    except (IndexError, TypeError, ValueError):
        function(np.zeros((1,) * a.ndim, a.dtype), axis=axis, keepdims=keepdims, **options)  # NumPy's error, if it has one
        raise
    return to_device(result, a.device)


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
    axes = axes_of(a, axis)
    if not a.size:
        empty = np.empty(a.shape, a.dtype)
        result = function(empty, q, axis=axis, method=method, keepdims=keepdims, weights=np.empty(a.shape))
        return to_device(np.asarray(result), a.device)
    by = _of_lines(function, a, q, axis, axes, method, weights)
    least = np.empty(2, by.dtype)
    _masu.extremes(by, least, False, a.device)
    if least[0] < 0:
        raise ValueError("Weights must be non-negative.")  # in NumPy's words
    rows = lines(a, axes)
    length = rows.shape[-1]
    number = a.size // length
    found = np.empty((number, sought.size), a.dtype)
    for i in range(number):
        row = part(rows, i * length, length)
        found[i] = _reached(row, part(by, i * length % by.size, length), sought.reshape(-1))
    keep = keepdims is not np._NoValue and keepdims
    kept = tuple(1 if i in axes else n for i, n in enumerate(a.shape) if keep or i not in axes)
    return to_device(found.T.reshape((*sought.shape, *kept)), a.device)


def _of_lines(function, a, q, axis, axes, method, weights):
    """The weights as float64 on the device: a line of them for each line of `a`, or one for all."""
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


def _reached(row, weights, sought):
    """The elements of a row at which the running sum of the weights, over their sum, reaches what is sought."""
    order, sorted_weights, sums = array_like(row, "i64"), array_like(weights), array_like(weights)
    _masu.argsort(row, order, 1, row.device)
    _masu.gather(weights, order, sorted_weights)
    _masu.cumsum(sorted_weights, sums, 1, row.device)
    total = part(sums, row.size - 1, 1).get()[0]
    if not np.isfinite(total) or total == 0:
        raise ValueError("Weights included NaN, inf or were all zero.")  # in NumPy's words
    least = to_device(_least_reaching(sought, total), row.device)
    places = array_like(least, "i64")
    if least.size:
        _masu.searchsorted(sums, least, places, False, row.device)
    at = np.append(np.minimum(places.get(), row.size - 1), row.size - 1)
    where = to_device(at, row.device)
    elements, found = array_like(where), array_like(row, shape=where.shape)
    _masu.gather(order, where, elements)
    _masu.gather(row, elements, found)
    found = found.get()
    if row.dtype.kind == "f" and np.isnan(found[-1]):  # NaN is last in the order
        return np.full(sought.shape, found[-1])
    return found[:-1]


def _least_reaching(sought, total):
    """For each quantile the least running sum that reaches it in NumPy's arithmetic; by bisection of the doubles' bits."""
    low = np.zeros(sought.shape, np.int64)
    high = np.full(sought.shape, total).view(np.int64)
    while (high - low > 1).any():
        middle = low + (high - low) // 2
        part_of_all = middle.view(np.float64) / total
        if sought.dtype.kind == "f":
            part_of_all = part_of_all.astype(sought.dtype)
        reaches = (part_of_all >= sought) & (part_of_all > 0)  # NumPy skips weights of zero in front
        low, high = np.where(reaches, low, middle), np.where(reaches, middle, high)
    return high.view(np.float64)
