# SPDX-License-Identifier: Apache-2.0
"""Weighted quantiles of arrays in device memory: the elements at which the exact running sums of the weights reach the
quantiles that NumPy seeks.
"""
import numpy as np

from . import _masu
from ._axes import reduced
from ._on_device import converted, empty, rows, sent


class _Sought(Exception):
    """The quantiles that NumPy seeks, as it has computed them."""


class _Asked(np.ndarray):
    """Weights that tell what NumPy seeks in their running sums."""

    def __array_function__(self, function, types, args, keywords):
        if function is np.searchsorted:
            raise _Sought(args[1])
        return super().__array_function__(function, types, args, keywords)


def found(on, function, plain, a, q, axis, keepdims, method, weights):
    """NumPy's function with weights. Their running sums are exact, where NumPy's are rounded at each step."""
    name = function.__name__

    def numpys(x):
        return function(x, q, axis=axis, method=method, keepdims=keepdims, weights=np.ones(x.shape))

    if plain is not None:
        return on.numpys(name, a, numpys)
    if not isinstance(weights, _masu.DeviceArray):
        weights = np.asarray(weights)
        if weights.dtype.kind not in "buif" or weights.dtype.itemsize > 8:
            raise TypeError(f"{name}: weights must be bool, integers or float16 to float64, got {weights.dtype}")
    try:
        function(np.zeros(1, a.dtype), q, method=method, weights=np.ones(1).view(_Asked))
        return on.numpys(name, a, numpys)
    except _Sought as told:
        sought = np.asarray(told.args[0])
    if not a.size:
        return on.numpys(name, a, numpys)
    axes, kept = reduced(a, axis, keepdims)
    by = _weights_of_lines(function, a, q, axis, axes, method, weights)
    least, place = empty(by, shape=(1,)), empty(by, "i64", (1,))
    _masu.topk(by, least, place, 1, False, 1, a.device)  # NaN is none
    if least.get()[0] < 0:
        raise ValueError("Weights must be non-negative.")  # in NumPy's words
    lines = rows(a, axes)
    chosen = _reached(lines.reshape(-1, lines.shape[-1]), by.reshape(-1, lines.shape[-1]), sought.reshape(-1))
    return sent(a, chosen.T.reshape((*sought.shape, *kept)))


def _weights_of_lines(function, a, q, axis, axes, method, weights):
    """The weights as float64 on the device: a line of them for each line of `a`, or one for all."""
    if weights.shape == a.shape:
        there = weights if isinstance(weights, _masu.DeviceArray) else sent(a, weights)
        return rows(converted(there, np.dtype(np.float64)), axes)
    given = axis if isinstance(axis, tuple) else (axis,)
    if axis is None or weights.shape != tuple(a.shape[i] for i in given):
        function(np.broadcast_to(np.zeros((), a.dtype), a.shape), q, axis=axis, method=method,
                 weights=np.broadcast_to(1.0, weights.shape))  # NumPy's error
    order = np.argsort([i % a.ndim for i in given])
    line = np.asarray(weights).transpose(order).reshape(-1)
    return sent(a, line.astype(np.float64))


def _reached(lines, weights, sought):
    """The elements of lines at which the running sums of the weights, over their sum, reach what is sought: a row of them for
    each. `weights`: as many lines, or one for all.
    """
    number, length = lines.shape
    order, sorted_weights = empty(lines, "i64"), empty(weights, shape=lines.shape)
    _masu.argsort(lines, order, number, lines.device)
    if len(weights) == number:
        _masu.gather(weights, order, sorted_weights, number)
    else:
        _masu.gather(weights, order, sorted_weights)
    sums = empty(sorted_weights)
    _masu.cumsum(sorted_weights, sums, number, lines.device)

    def at(array, places):
        """The elements at places of each row."""
        where = sent(lines, np.asarray(places, np.int64))
        elements = empty(array, shape=where.shape)
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
    elements = empty(lines, shape=places.shape)
    _masu.gather(lines, places, elements, number)
    found = elements.get()
    if lines.dtype.kind != "f":
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
