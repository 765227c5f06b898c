# SPDX-License-Identifier: Apache-2.0
"""Weighted quantiles: the first element at which the exact running sum of the weights, which is not zero, reaches the
quantile of their exact sum.

A quantile is reached by what is not less than it, or than the decimal that it prints as: three of ten equal weights reach 0.3
and one reaches 0.1, although the double of 0.1 is greater than a tenth.
"""
from fractions import Fraction

import numpy as np

from . import _kinds, _masu, _sums
from ._axes import reduced
from ._on_device import empty, rows, sent

_WRONG_SUM = "Weights included NaN, inf or were all zero."  # in NumPy's words
_NEAR = 2.0**-48  # far more than the relative error of a rounded running sum
_CHUNK = 2**26  # whole numbers below 2^27 whose sum a double holds


def _exact_sum(weights):
    """The sum of weights, none of them negative, as an integer: floats in units of 2^-1126."""
    if weights.dtype.kind != "f":
        weights = weights.astype(np.uint64)
        return (int((weights >> np.uint64(32)).sum()) << 32) + int((weights & np.uint64(2**32 - 1)).sum())
    total = 0
    for first in range(0, weights.size, _CHUNK):
        parts, exponents = np.frexp(weights[first:first + _CHUNK].astype(np.float64))
        digits, exponents = (parts * 2.0**53).astype(np.int64), exponents + 1073
        for shift, half in ((27, digits >> 27), (0, digits & 2**27 - 1)):
            sums = np.bincount(exponents, half)
            total += sum(int(sums[k]) << int(k) + shift for k in np.flatnonzero(sums))
    return total


def _first_reaching(weights, q):
    """For each row of weights in their elements' order the places at which they reach each of a list of quantiles."""
    with np.errstate(over="ignore"):
        running = _sums.cumsum(weights.astype(np.float64), axis=1)
    totals, length = running[:, -1], weights.shape[1]
    if not (np.isfinite(totals) & (totals != 0)).all():
        raise ValueError(_WRONG_SUM)
    places, nothing = np.empty((len(weights), len(q)), np.int64), np.count_nonzero(running <= 0, axis=1)
    for i, one in enumerate(q):
        about = float(one) * totals
        with np.errstate(over="ignore"):
            low, high = np.nextafter(about * (1 - _NEAR), -1), np.nextafter(about * (1 + _NEAR), np.inf)
        first = np.maximum(np.count_nonzero(running < low[:, np.newaxis], axis=1), nothing)
        last = np.minimum(np.count_nonzero(running <= high[:, np.newaxis], axis=1), length - 1)
        for row in np.flatnonzero(first < last):
            first[row] = _exact_place(weights[row], one, first[row], last[row])
        places[:, i] = np.minimum(first, length - 1)
    return places


def _exact_place(weights, q, first, last):
    """The place in one row, from `first` to `last`; the sum at `last` reaches the quantile."""
    share = min(Fraction(float(q)), Fraction(str(q)))
    before = _exact_sum(weights[:first])
    wanted = share.numerator * (before + _exact_sum(weights[first:]))
    begin = first
    while first < last:
        middle = (first + last) // 2
        if (before + _exact_sum(weights[begin:middle + 1])) * share.denominator >= wanted:
            last = middle
        else:
            first = middle + 1
    return first


class _Weights(np.ndarray):
    """Weights in NumPy's functions, whose running sums find places exactly."""

    def cumsum(self, axis=None, dtype=None, out=None):
        running = self.view(np.ndarray).cumsum(axis, dtype, out).view(_Running)
        running.weights = self.view(np.ndarray)
        return running


class _Running(np.ndarray):
    """Running sums along the first axis, beside their weights."""

    weights = None

    def __array_finalize__(self, base):
        self.weights = getattr(base, "weights", None)

    def __getitem__(self, index):
        found = super().__getitem__(index)
        if type(index) is tuple and index and index[0] == slice(None):  # a line
            found.weights = self.weights[index]
        return found

    def __array_function__(self, function, types, args, keywords):
        if function is np.searchsorted:
            q = np.asarray(args[1])
            return _first_reaching(args[0].weights[np.newaxis], [*q.flat]).reshape(q.shape)
        return super().__array_function__(function, types, args, keywords)


class _StablyOrdered(np.ndarray):
    """NumPy's functions of it order it stably, so that which of the zeros of both signs stands where is defined."""

    def __array_function__(self, function, types, args, keywords):
        if function is np.argsort:
            keywords = {**keywords, "kind": "stable"}
        return super().__array_function__(function, types, args, keywords)


def here(numpys, a, weights, **options):
    """NumPy's function with weights, of data in host memory."""
    data, by = _kinds.as_numpy(a), _kinds.as_numpy(weights)
    if type(by) is not np.ndarray or by.dtype.num not in _kinds.NATIVE or type(data) is not np.ndarray:
        return numpys(a, weights=weights, **options)
    if data.dtype.kind == "f" and numpys in (np.quantile, np.percentile):
        data = data.view(_StablyOrdered)
    result = numpys(data, weights=by.view(_Weights), **options)
    return result.view(np.ndarray) if type(result) in (_StablyOrdered, _Weights) else result


class _Sought(Exception):
    """The quantiles that NumPy seeks, as it has computed them."""


class _Asked(np.ndarray):
    """Weights that tell what NumPy seeks in their running sums."""

    def __array_function__(self, function, types, args, keywords):
        if function is np.searchsorted:
            raise _Sought(args[1])
        return super().__array_function__(function, types, args, keywords)


def found(on, function, plain, a, q, axis, keepdims, method, weights):
    """NumPy's function with weights, of data on a device."""
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
    if by.dtype.kind in "if" and least.get()[0] < 0:
        raise ValueError("Weights must be non-negative.")  # in NumPy's words
    lines = rows(a, axes)
    chosen = _reached(lines.reshape(-1, lines.shape[-1]), by.reshape(-1, lines.shape[-1]), sought.reshape(-1))
    return sent(a, chosen.T.reshape((*sought.shape, *kept)))


def _weights_of_lines(function, a, q, axis, axes, method, weights):
    """The weights on the device: a line of them for each line of `a`, or one for all."""
    if weights.dtype.kind == "b":
        weights = weights.view(np.uint8)
    if weights.shape == a.shape:
        return rows(weights if isinstance(weights, _masu.DeviceArray) else sent(a, weights), axes)
    given = axis if isinstance(axis, tuple) else (axis,)
    if axis is None or weights.shape != tuple(a.shape[i] for i in given):
        function(np.broadcast_to(np.zeros((), a.dtype), a.shape), q, axis=axis, method=method,
                 weights=np.broadcast_to(1.0, weights.shape))  # NumPy's error
    order = np.argsort([i % a.ndim for i in given])
    return sent(a, np.ascontiguousarray(np.asarray(weights).transpose(order).reshape(-1)))


def _reached(lines, weights, sought):
    """The elements of lines at which the running sums of the weights reach what is sought: a row of them for each. `weights`:
    as many lines, or one for all.
    """
    number, length = lines.shape
    order, sorted_weights = empty(lines, "i64"), empty(weights, shape=lines.shape)
    _masu.argsort(lines, order, number, lines.device)
    if len(weights) == number:
        _masu.gather(weights, order, sorted_weights, number)
    else:
        _masu.gather(weights, order, sorted_weights)
    low = _first_reaching(sorted_weights.get(), [*sought.flat])
    last = np.full((number, 1), length - 1)
    where = sent(lines, np.concatenate((low, last), axis=1))
    places, elements = empty(order, shape=where.shape), empty(lines, shape=where.shape)
    _masu.gather(order, where, places, number)
    _masu.gather(lines, places, elements, number)
    found = elements.get()
    if lines.dtype.kind != "f":
        return found[:, :-1]
    return np.where(np.isnan(found[:, -1:]), found[:, -1:], found[:, :-1])  # NaN is last in the order
