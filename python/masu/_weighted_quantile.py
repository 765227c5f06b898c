# SPDX-License-Identifier: Apache-2.0
"""Weighted quantiles: the first element at which the exact running sum of the weights, which is not zero, reaches the
quantile of their exact sum.

A sum reaches a quantile where it is not less than the quantile, or than the decimal that this prints as. So
three of ten equal weights reach 0.3, and one reaches 0.1, although the double of 0.1 is greater than a tenth.
"""
import warnings

import numpy as np

from . import _host, _kinds, _masu, _sums
from ._axes import reduced
from ._device import cpu
from ._device_array import in_memory
from ._host import NUMPY
from ._on_device import empty, rows, sent
from ._sum_accumulator import SumAccumulator

_WRONG_SUM = "Weights included NaN, inf or were all zero."  # in NumPy's words
_NEAR = 2.0**-48  # far more than the relative error of a rounded running sum


def _exact_sum(weights):
    """The sum of weights as an integer, in units of 2^-1088."""
    _, _, _, _, *digits = SumAccumulator.of(weights, kind="sum", device=cpu).integers().tolist()
    return sum(digit << 32 * place for place, digit in enumerate(digits))


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
    from fractions import Fraction  # here, as it takes an eighth of the package's time to import

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


class _Sought(Exception):
    """The quantiles that NumPy seeks, as it has computed them."""


class _Asked(np.ndarray):
    """Weights that tell what NumPy seeks in their running sums."""

    def __array_function__(self, function, types, args, keywords):
        if function is np.searchsorted:
            raise _Sought(args[1])
        return super().__array_function__(function, types, args, keywords)


def _sought(function, dtype, q, method):
    """The quantiles as NumPy has computed them; its errors."""
    try:
        function(np.zeros(1, dtype), q, method=method, weights=np.ones(1).view(_Asked))
    except _Sought as found:
        return np.asarray(found.args[0])
    raise ValueError  # NumPy sought nothing


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
        sought = _sought(function, a.dtype, q, method)
    except ValueError:
        return on.numpys(name, a, numpys)
    if not a.size:
        return on.numpys(name, a, numpys)
    return sent(a, _chosen(function, a, weights, sought, q, axis, keepdims, method))


def _chosen(function, a, weights, sought, q, axis, keepdims, method, skips=False):
    axes, kept = reduced(a, axis, keepdims)
    by = _weights_of_lines(function, a, q, axis, axes, method, weights)
    least, place = empty(by, shape=(1,)), empty(by, "i64", (1,))
    _masu.topk(by, least, place, 1, False, 1, a.device)  # NaN is none
    if by.dtype.kind in "if" and least.get()[0] < 0:
        raise ValueError("Weights must be non-negative.")  # in NumPy's words
    return _reached(rows(a, axes), by, sought.reshape(-1), skips).T.reshape((*sought.shape, *kept))


def here(function, plain, a, weights, axis, out, keepdims, **options):
    """The same of data in host memory."""
    data, by = _host.data(a), _kinds.as_numpy(weights)
    if plain is not None and data is not NUMPY and isinstance(axis, int) and -data.ndim <= axis < data.ndim and by.shape == (data.shape[axis],):
        # weights of an axis, of which NumPy's nan functions (2.4.6) take the first line alone
        weights = by = np.broadcast_to(np.expand_dims(by, tuple(range(1, data.ndim - axis % data.ndim))), data.shape)
    fits = data is not NUMPY and type(by) is np.ndarray and by.dtype.num in _kinds.NATIVE and (plain is None or by.shape == data.shape)
    if fits and (out is None or type(out) is np.ndarray):
        try:
            chosen = _found_here(function, plain, data, by, axis, keepdims, options["q"], options["method"])
            if out is None:
                return chosen if chosen.shape or chosen == chosen else chosen[()]
            if out.shape == chosen.shape:
                np.copyto(out, chosen)
                return out
        except (IndexError, TypeError, ValueError):
            pass  # NumPy says what is wrong
    return function(a, axis=axis, out=out, keepdims=keepdims, weights=weights, **options)


def _found_here(function, plain, data, by, axis, keepdims, q, method):
    sought = _sought(function, data.dtype, q, method)
    skips = plain is not None and data.dtype.kind == "f" and (nan := np.isnan(data)).any()
    nothing = np.zeros(0)
    if skips:  # NaN weighs nothing, but where there is nothing else
        if (by < 0).any():
            raise ValueError
        nothing = nan.all(axis=reduced(data, axis, False)[0], keepdims=True)
        by = np.where(nan, nothing, by)
    there = (in_memory(_host.words(_kinds.native(part)), cpu) for part in (data, by))
    chosen = _chosen(function, *there, sought, q, axis, keepdims, method, skips)
    if nothing.any():
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=5)
    return chosen.view(data.dtype) if data.dtype.kind == "b" else chosen.astype(data.dtype, copy=False)


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


def _reached(lines, weights, sought, skips=False):
    """The elements of lines at which the running sums of the weights reach what is sought: a row of them for each. `weights`:
    as many lines, or one for all. `skips`: NaN is passed over.
    """
    lines, weights = (part.reshape(-1, part.shape[-1]) for part in (lines, weights))
    number, length = lines.shape
    order, sorted_weights = empty(lines, "i64"), empty(weights, shape=lines.shape)
    _masu.sort(lines, order, number, lines.device, False, True)
    _masu.gather(weights, order, sorted_weights, number if len(weights) == number else 1)
    low = _first_reaching(sorted_weights.get(), [*sought.flat])
    last = np.full((number, 1), length - 1)
    where = sent(lines, np.concatenate((low, last), axis=1))
    places, elements = empty(order, shape=where.shape), empty(lines, shape=where.shape)
    _masu.gather(order, where, places, number)
    _masu.gather(lines, places, elements, number)
    found = elements.get()
    if lines.dtype.kind != "f" or skips:
        return found[:, :-1]
    return np.where(np.isnan(found[:, -1:]), found[:, -1:], found[:, :-1])  # NaN is last in the order
