# SPDX-License-Identifier: Apache-2.0
"""Sums, means, variances, running sums and dot products of arrays in device memory."""
import math

import numpy as np

from . import _masu, _moments
from ._device_array import dtype_name, to_device
from ._device_lines import along, array_like, converted, joined, lines, one_axis, part, reduced, refuse, swapped


def _summed(name, a, dtype):
    """The dtype in which NumPy adds."""
    if dtype is None:
        dtype = {"u": np.uintp, "i": np.intp, "b": np.intp}.get(a.dtype.kind, a.dtype)
    dtype = np.dtype(dtype).newbyteorder("=")
    if dtype.kind not in ("f" if a.dtype.kind == "f" else "iuf") or dtype.itemsize > 8:
        raise TypeError(f"{name}: {a.dtype} on a device cannot be summed as {dtype}")
    return dtype


def _sums_like(a, dtype, shape):
    """An array for exact sums: of integers modulo 2^64, as NumPy adds them."""
    return array_like(a, dtype_name(dtype) if dtype.kind == "f" else "i64" if a.dtype.kind == "i" else "u64", shape)


def _chosen_by(name, where, a):
    """NumPy's `where` as an array like `a` on its device; None where it chooses all."""
    if where is True or where is np._NoValue:
        return None
    if where is None and name != "sum":  # whose None chooses nothing
        raise TypeError(f"{name}: where must be of truth values, got None")
    if not isinstance(where, _masu.DeviceArray):
        where = np.asarray(where, None if isinstance(where, np.ndarray) else np.bool)
        where = to_device(np.broadcast_to(where, a.shape), a.device)
    if where.dtype != np.bool:
        raise TypeError(f"{name}: where must be of truth values, got {where.dtype}")
    if where.shape != a.shape:
        raise ValueError(f"{name}: where must have the shape {a.shape} on a device, got {where.shape}")
    return where


def _with_first(rows, initial):
    """`rows` with one element more, the same in each."""
    number = rows.size // rows.shape[-1]
    columns = swapped(rows.reshape(number, -1), 1, number)
    first = to_device(np.full(number, initial, rows.dtype), rows.device)
    longer = joined(columns.reshape(-1), first).reshape(-1, number)
    return swapped(longer, 1, len(longer)).reshape((*rows.shape[:-1], len(longer)))


def sum(a, axis=None, dtype=None, keepdims=False, initial=np._NoValue, where=np._NoValue):
    dtype = _summed("sum", a, dtype)
    axes, shape = reduced(a, None if a.ndim == 0 and axis in (0, -1) else axis, keepdims)  # as NumPy has it
    chosen = _chosen_by("sum", where, a)
    given = initial is not np._NoValue and initial is not None
    if given:
        initial = np.sum(np.empty(0, dtype), dtype=dtype, initial=initial)  # as NumPy converts it, or its error
    elif initial is None and a.size and chosen is not None:
        np.sum(np.empty(1), initial=None, where=np.True_[None])  # NumPy's own error
    elif initial is None and not a.size:
        np.sum(np.empty(a.shape), axis=axis, initial=None, where=True if chosen is None else np.empty(a.shape, bool))
    if not a.size:
        return to_device(np.full(shape, initial if given else 0, dtype), a.device)
    if chosen is not None:
        kept = array_like(a)
        _masu.zeros_elsewhere(a, chosen, kept)
        a = kept
    rows = lines(a, axes)
    if dtype.kind == "f" and a.dtype.kind != "f" or given:
        rows = converted(rows, dtype)
    if given:
        rows = _with_first(rows, initial)
    sums = _sums_like(rows, dtype, shape)
    _masu.sum_rows(rows, sums, dtype_name(sums.dtype), a.device)
    return converted(sums, dtype)


def _moment(name, a, axis, dtype, ddof, keepdims, where, root=False):
    chosen = _chosen_by(name, where, a)
    if chosen is not None:
        axes, shape = reduced(a, axis, keepdims)
        if len(axes) != a.ndim:
            raise TypeError(f"{name}: where is supported on a device for all axes together, got axis={axis}")
        kept = array_like(a, shape=(a.size,))
        number = _masu.chosen(a, chosen, kept) if a.size else 0
        return _moment(name, part(kept, 0, number), None, dtype, ddof, False, True, root).reshape(shape)
    rounded = _moments.rounded_to(a, dtype)
    if rounded is None:
        raise TypeError(f"{name}: the dtype of a result on a device must be a float's, got {np.dtype(dtype)}")
    if ddof is None:
        raise TypeError(f"{name}: ddof must be an integer >= 0 on a device")
    axes, shape = reduced(a, axis, keepdims)
    length = math.prod(a.shape[i] for i in axes)
    if not a.size and ddof <= 0:
        nothing = np.empty(a.shape, rounded)
        return to_device(np.asarray((np.mean if ddof < 0 else np.var)(nothing, axis=axes).reshape(shape)), a.device)
    if length <= max(ddof, 0):
        raise ValueError(f"{name}: on a device there must be more than {max(ddof, 0)} elements, got {length}")
    found = array_like(a, _moments.name_of(rounded), shape)
    if a.size:
        _masu.moments(lines(a, axes), found, _moments.name_of(rounded), ddof, root, a.device)
    return found


def mean(a, axis=None, dtype=None, keepdims=np._NoValue, where=np._NoValue):
    return _moment("mean", a, axis, dtype, -1, keepdims, where)


def var(a, axis=None, dtype=None, ddof=0, keepdims=np._NoValue, where=np._NoValue, mean=np._NoValue,
        correction=np._NoValue):
    refuse("var", mean=mean)
    return _moment("var", a, axis, dtype, _moments.freedom(ddof, correction), keepdims, where)


def std(a, axis=None, dtype=None, ddof=0, keepdims=np._NoValue, where=np._NoValue, mean=np._NoValue,
        correction=np._NoValue):
    refuse("std", mean=mean)
    return _moment("std", a, axis, dtype, _moments.freedom(ddof, correction), keepdims, where, root=True)


def cumsum(a, axis=None, dtype=None):
    dtype = _summed("cumsum", a, dtype)
    a, axis = one_axis(a if a.ndim else a.reshape(1), axis)
    return along(a, axis, dtype_name(dtype),
                  lambda rows, out, number: _masu.cumsum(converted(rows, dtype), out, number, a.device))


def dot(a, b):
    if not (isinstance(a, _masu.DeviceArray) and isinstance(b, _masu.DeviceArray)) or a.dtype != b.dtype:
        raise TypeError("dot: both arrays must be on the device, of one dtype")
    if a.ndim != 1 or a.shape != b.shape:
        raise TypeError("dot: arrays on a device must have one dimension and one length")
    if not a.size:
        return to_device(np.zeros((), a.dtype), a.device)
    total = _sums_like(a, a.dtype, ())
    _masu.dot_there(a, b, total)
    if a.dtype == np.bool:
        return to_device(total.get().astype(np.bool), a.device)
    return converted(total, a.dtype)  # as NumPy, which adds in the arrays' dtype
