# SPDX-License-Identifier: Apache-2.0
"""Exact means, variances and standard deviations."""
import operator

import numpy as np

from . import _arrays, _fallback, _masu
from ._lines import NUMPY, contiguous, device_for, host, into, reduced_axes, words

__all__ = ["mean", "std", "var"]

_ndarray = np.ndarray
_NoValue = np._NoValue
_names = {"e": "f16", "f": "f32", "d": "f64"}
_CHARS = "?bBhHiIlLqQefd"


@_masu.with_plain_calls
def mean(a, axis=None, dtype=None, out=None, keepdims=_NoValue, *, where=_NoValue, device=None):
    """The mean along axes, as `numpy.mean`, but exact: the real mean of the elements, rounded once, to nearest.

    `axis`: an axis, several, or None for all. `dtype`: what the mean is rounded to, float16 to float64; by default a's
    dtype, float64 for integers. `out` and `keepdims` as NumPy has them. Nothing overflows on the way, and the order of
    the data does not matter. A result of zero is 0.0, never -0.0; NaN, or infinities of both signs, give NaN, without
    a warning.

    Raises what NumPy raises. Means of nothing, other dtypes and calls with `where` along an axis are NumPy's.

    >>> import masu
    >>> float(masu.mean([1e100, 1.0, -1e100, 2.0]))
    0.75
    """
    if _arrays.foreign(a):
        dtype = _arrays.numpy_dtype("mean", dtype)
        if where is _NoValue and device is None and (keepdims is _NoValue or type(keepdims) is bool):
            found = _masu.enqueue_mean(a, axis, _arrays.code_of(dtype), out, keepdims is True)
            if found is not None:
                return found
        return _arrays.in_kind(mean, a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=where, device=device)
    if where is _NoValue:
        found = _moment(a, axis, dtype, out, None, False, keepdims, device)
        if found is not None:
            return found
    elif axis is None and out is None and keepdims is _NoValue and _selects(where, a, dtype):
        chosen = a[where]
        if chosen.size:
            return mean(chosen, None, dtype, device=device)
    more = {} if where is _NoValue else {"where": where}
    return _fallback.summed("mean", np.mean(a, axis, dtype, out, keepdims, **more), a)


@_masu.with_plain_calls
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NoValue, *, where=_NoValue, mean=_NoValue,
        correction=_NoValue, device=None):
    """The variance along axes, as `numpy.var`, but exact: the real variance of the elements, rounded once, to nearest.

    Parameters are those of `mean`. `ddof`, or `correction`: the sum of the squared distances from the mean is divided
    by the number of elements minus this. Data with NaN or an infinity give NaN, without a warning.

    Raises what NumPy raises. Where no more than `ddof` elements are there, other dtypes, a `ddof` that is negative or no
    integer, and calls with `mean`, or with `where` along an axis, are NumPy's.

    >>> import masu
    >>> float(masu.var([1e8 + 1, 1e8 + 2, 1e8 + 3], ddof=1))
    1.0
    """
    return _spread(var, a, axis, dtype, out, ddof, keepdims, where, mean, correction, device)


@_masu.with_plain_calls
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NoValue, *, where=_NoValue, mean=_NoValue,
        correction=_NoValue, device=None):
    """The standard deviation along axes, as `numpy.std`, but exact: the root of the real variance, rounded once, to
    nearest.

    Parameters, errors and what is NumPy's are those of `var`. It is finite also where the variance is too large for the
    dtype.

    >>> import masu
    >>> float(masu.std([1e8 + 1, 1e8 + 2, 1e8 + 3], ddof=1))
    1.0
    """
    return _spread(std, a, axis, dtype, out, ddof, keepdims, where, mean, correction, device)


def _spread(function, a, axis, dtype, out, ddof, keepdims, where, mean, correction, device):
    """var or std."""
    if _arrays.foreign(a):
        dtype = _arrays.numpy_dtype(function.__name__, dtype)
        if (where is _NoValue and mean is _NoValue and correction is _NoValue and device is None
                and (keepdims is _NoValue or type(keepdims) is bool)):
            enqueue = _masu.enqueue_std if function is std else _masu.enqueue_var
            found = enqueue(a, axis, _arrays.code_of(dtype), out, keepdims is True, ddof)
            if found is not None:
                return found
        return _arrays.in_kind(function, a, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=where,
                               mean=mean, correction=correction, device=device)
    less = freedom(ddof, correction) if mean is _NoValue else None
    if less is None:
        pass
    elif where is _NoValue:
        found = _moment(a, axis, dtype, out, less, function is std, keepdims, device)
        if found is not None:
            return found
    elif axis is None and out is None and keepdims is _NoValue and _selects(where, a, dtype):
        chosen = a[where]
        if chosen.size > less:
            return function(chosen, None, dtype, None, less, device=device)
    given = {"where": where, "mean": mean, "correction": correction}
    more = {name: value for name, value in given.items() if value is not _NoValue}
    name = function.__name__
    return _fallback.summed(name, getattr(np, name)(a, axis, dtype, out, ddof, keepdims, **more), a)


def _selects(where, a, dtype):
    """Whether masu has the dtypes of an array and of its result, and `where` tells of each element."""
    return (type(a) is _ndarray and type(where) is _ndarray and where.dtype.char == "?" and where.shape == a.shape
            and a.dtype.char in _CHARS and (dtype is None or rounded_to(a, dtype) is not None))


def freedom(ddof, correction):
    """What is taken from the number of elements; None where NumPy is to judge it."""
    if correction is not _NoValue:
        if ddof != 0:
            return None
        ddof = correction
    try:
        less = operator.index(ddof)
    except TypeError:
        return None
    return less if 0 <= less < 2**63 else None


def rounded_to(data, dtype):
    """The dtype of the result; None where masu lacks it."""
    if dtype is None:
        dtype = data.dtype.newbyteorder("=") if data.dtype.kind == "f" else np.float64
    try:
        dtype = np.dtype(dtype)
    except TypeError:
        return None
    return dtype if dtype.char in _names and dtype.isnative else None


def name_of(dtype):
    return _names[dtype.char]


def _moment(a, axis, dtype, out, ddof, root, keepdims, device):
    """Means, or with a ddof variances, or their roots; None where they are NumPy's."""
    data = host(a)
    if data is NUMPY or not (out is None or type(out) is _ndarray and out.dtype.kind == "f"):
        return None
    if dtype is None and out is not None and data.dtype.kind == "f":
        dtype = np.promote_types(data.dtype, out.dtype)  # as NumPy computes
    rounded = rounded_to(data, dtype)
    try:
        axes = reduced_axes(axis, data.ndim)
    except (TypeError, ValueError):
        return None
    keep = keepdims is not _NoValue and bool(keepdims)
    kept = [i for i in range(data.ndim) if i not in axes]
    shape = tuple(data.shape[i] if i in kept else 1 for i in range(data.ndim) if keep or i in kept)
    if rounded is None or not axes or out is not None and out.shape != shape:
        return None
    turned = data.transpose(*kept, *sorted(axes, key=lambda i: -abs(data.strides[i])))
    rows = contiguous(turned, data.dtype.newbyteorder("=")).reshape(*turned.shape[:len(kept)], -1)
    if ddof is not None and rows.shape[-1] <= ddof:
        return None
    found = np.empty(rows.shape[:-1])
    device = device_for(device, rows.size)
    _masu.moments(words(rows), found, name_of(rounded), -1 if ddof is None else ddof, root, device)
    result = found.astype(rounded).reshape(shape)
    if out is None:
        return result if shape else result[()]
    return into(out, result)
