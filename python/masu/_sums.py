# SPDX-License-Identifier: Apache-2.0
"""Exact sums, running sums and dot products: floats are added without error and rounded once."""
import math

import numpy as np

from . import _arrays, _device, _fallback, _masu, _small
from ._lines import NUMPY, axes_of, contiguous, device_for, host, into, line_axis, lines, reduced_axes, result_like, words

__all__ = ["cumsum", "dot", "sum"]

_ndarray = np.ndarray
_NoValue = np._NoValue
_names = {"e": "f16", "f": "f32", "d": "f64"}


def _loop_dtype(data, dtype, out):
    """The dtype in which NumPy would add."""
    if dtype is not None:
        return np.dtype(dtype)
    return data.dtype if out is None else np.promote_types(data.dtype, out.dtype)


@_masu.with_plain_calls
def sum(a, axis=None, dtype=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue, *, device=None):
    """The sum along axes, as `numpy.sum`, but exact: of floats the exact sum, rounded once, to nearest.

    `axis`: an axis, several, or None for all. `dtype`: what the sum is rounded to, by default a's dtype (intp or uintp
    for small integers, as NumPy has it); integers are converted to a float dtype first. `out`, `keepdims`, `initial`
    and `where` as NumPy has them; `initial` is a further addend. So the result does not depend on the order of the
    data, and nothing overflows on the way. A result of zero is 0.0, never -0.0; NaN, or infinities of both signs, give
    NaN, without a warning. Integers are added modulo 2^64, as NumPy does. NaN in a Series of pandas counts as well,
    where pandas' own sums leave it out; missing values (NA) of its nullable dtypes are a ValueError.

    Raises what NumPy raises, and hands to `numpy.sum` what `sort` hands to NumPy.

    >>> import masu
    >>> float(masu.sum([1e100, 1.0, -1e100]))
    1.0
    """
    if _arrays.foreign(a):
        dtype = _arrays.numpy_dtype("sum", dtype)
        if (initial is _NoValue and where is _NoValue and device is None
                and (keepdims is _NoValue or type(keepdims) is bool)):
            total = _masu.enqueue_sum(a, axis, _arrays.code_of(dtype), out, keepdims is True)
            if total is not None:
                return total
        return _arrays.in_kind(sum, a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where,
                               device=device)
    def numpys():
        return _fallback.summed("sum", np.sum(a, axis, dtype, out, keepdims, initial, where), a)

    data = host(a)
    if data is NUMPY or not (out is None or type(out) is _ndarray):
        return numpys()
    rounded = _loop_dtype(data, dtype, out)
    if data.dtype.kind != "f" and rounded.kind != "f":
        return _sum_integers(data, axis, dtype, out, keepdims, initial, where, device, numpys)
    if rounded.char not in _names or dtype is not None and not rounded.isnative:
        return numpys()
    rounded = rounded.newbyteorder("=")
    try:
        axes = reduced_axes(axis, data.ndim)
    except (TypeError, ValueError):
        return numpys()
    keep = keepdims is not _NoValue and bool(keepdims)
    kept = [i for i in range(data.ndim) if i not in axes]
    shape = tuple(data.shape[i] if i in kept else 1 for i in range(data.ndim) if keep or i in kept)
    if not axes or out is not None and out.shape != shape or initial is not _NoValue and np.ndim(initial):
        return numpys()
    if data.dtype.kind != "f":
        with np.errstate(over="ignore"):  # of f16
            data = data.astype(rounded)
    if where is not _NoValue and where is not True:
        mask = np.asarray(where, None if isinstance(where, _ndarray) else np.bool)
        if mask.dtype.char != "?" or initial is None:
            return numpys()
        data = np.where(np.broadcast_to(mask, data.shape), data, data.dtype.type(0))
    columns = initial is _NoValue and data.dtype.char in "fd" and data.dtype == rounded and _by_columns(data, axes)
    if columns and device_for(device, data.size).kind == "cpu":
        result = np.empty(columns[1], rounded)
        _masu.sum_columns(columns[0], result)
        return _placed(result.reshape(shape), out)
    turned = data.transpose(*kept, *sorted(axes, key=lambda i: -abs(data.strides[i])))
    rows = contiguous(turned, data.dtype.newbyteorder("=")).reshape(*turned.shape[:len(kept)], -1)
    if initial is not _NoValue and initial is not None:
        first = np.full((*rows.shape[:-1], 1), np.asarray(initial, rounded))
        rows = np.concatenate((rows, first), axis=-1)
    sums = np.empty(rows.shape[:-1])
    _masu.sum_rows(rows, sums, _names[rounded.char], device_for(device, rows.size))
    return _placed(sums.astype(rounded).reshape(shape), out)


def _by_columns(data, axes):
    """(a matrix, its columns) whose columns are to be summed: where all of `axes` lie before the others in memory."""
    kept = [i for i in range(data.ndim) if i not in axes]
    turned = data if axes == tuple(range(len(axes))) else data.transpose(*sorted(axes, reverse=True), *kept)
    if not kept or not (turned.flags.c_contiguous and turned.flags.aligned and data.dtype.isnative):
        return None
    columns = math.prod(data.shape[i] for i in kept)
    return turned.reshape(-1, columns), columns


def _placed(result, out):
    """A result as NumPy gives it, or in `out`."""
    if out is None:
        return result if result.shape else result[()]
    return into(out, result)


def _sum_integers(data, axis, dtype, out, keepdims, initial, where, device, numpys):
    """Sums of all integers of an array, modulo 2^64; others are NumPy's."""
    plain = (data.size >= _small.limit and axis is None and dtype is None and out is None and initial is _NoValue
             and where is _NoValue and (keepdims is _NoValue or not keepdims) and data.flags.forc)
    if not plain:
        return numpys()
    flat = words(contiguous(data.reshape(-1, order="A"), data.dtype.newbyteorder("=")))
    total = _masu.sum_all(flat, _device.resolve(device))
    if data.dtype.itemsize == 8:
        return data.dtype.type(total)
    return (np.uintp if data.dtype.kind == "u" else np.intp)(total)


@_masu.with_plain_calls
def cumsum(a, axis=None, dtype=None, out=None, *, device=None):
    """The running sum along an axis, as `numpy.cumsum`, but exact: each is the exact sum, rounded once, to nearest.

    `axis`: None takes the flattened array. `dtype`: the result's, by default a's (intp or uintp for small integers);
    elements are converted to it first. `out`: an array for the result. Running sums of integers are NumPy's, modulo
    2^64. A running sum behind a NaN, or behind infinities of both signs, is NaN. For a Series of pandas the result is a
    Series with its index.

    Raises what NumPy raises, and hands to `numpy.cumsum` what `sort` hands to NumPy.

    >>> import masu
    >>> masu.cumsum([1e100, 1.0, -1e100]).tolist()
    [1e+100, 1e+100, 1.0]
    """
    if _arrays.is_series(a):
        result = cumsum(_arrays.as_numpy(a), axis, dtype, out, device=device)
        return _arrays.like_series(a, result) if out is None else result
    if _arrays.foreign(a):
        dtype = _arrays.numpy_dtype("cumsum", dtype)
        if device is None:
            sums = _masu.enqueue_cumsum(a, axis, _arrays.code_of(dtype), out)
            if sums is not None:
                return sums
        return _arrays.in_kind(cumsum, a, axis=axis, dtype=dtype, out=out, device=device)
    data = host(a)
    if data is NUMPY or not (out is None or type(out) is _ndarray):
        return _fallback.summed("cumsum", np.cumsum(a, axis, dtype, out), a)
    summed = _loop_dtype(data, dtype, out)
    if summed.char not in _names:
        return _fallback.summed("cumsum", np.cumsum(a, axis, dtype, out), a)
    summed = summed.newbyteorder("=")
    flat = data.reshape(-1) if axis is None else data
    if out is not None and out.shape != flat.shape:
        return _fallback.summed("cumsum", np.cumsum(a, axis, dtype, out), a)
    data, axis = flat, 0 if axis is None else line_axis(axis, data.ndim)
    if data.dtype != summed:
        data = data.astype(summed)
    device = device_for(device, data.size)
    if data.ndim == 1:
        rows = lines(data, (0,))
        result = np.empty(data.shape, summed)
        _masu.cumsum(rows, result, 1, device)
    else:
        axes = axes_of(data, axis)
        rows = lines(data, axes)
        result = result_like(data, axes, summed, lambda to: _masu.cumsum(rows, to, rows.size // rows.shape[-1], device))
    return result if out is None else into(out, result)


@_masu.with_plain_calls
def dot(a, b, out=None, *, device=None):
    """The dot product, as `numpy.dot`, but exact for two arrays of floats in one dimension: the exact sum of the exact
    products, rounded once to the dtype that NumPy promotes both to.

    Infinity times zero is NaN, without a warning. Integers, matrices and all else are NumPy's.

    >>> import masu
    >>> float(masu.dot([1e100, 1.0, -1e100], [1.0, 1.0, 1.0]))
    1.0
    """
    if _arrays.foreign(a, b):
        return _arrays.in_kind(dot, a, b, out=out, device=device)
    left, right = host(a), host(b)
    if left is NUMPY or right is NUMPY or left.ndim != 1 or left.shape != right.shape:
        return _fallback.summed("dot", np.dot(a, b, out), a)
    common = left.dtype
    if right.dtype != common or not common.isnative:
        common = np.promote_types(common, right.dtype)
    if common.char not in _names or out is not None and not (
            type(out) is _ndarray and out.dtype == common and out.shape == () and out.flags.writeable):
        return _fallback.summed("dot", np.dot(a, b, out), a)
    product = common.type(_masu.dot(contiguous(left, common), contiguous(right, common), device_for(device, left.size)))
    if out is None:
        return product
    out[...] = product
    return out
