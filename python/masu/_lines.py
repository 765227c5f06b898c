# SPDX-License-Identifier: Apache-2.0
"""The lines of an array along an axis, as rows of contiguous memory, and arrays like it for the results."""
import math
import operator

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from . import _arrays, _device, _masu, _small

#: In place of an array: NumPy's own function is to be called.
NUMPY = None

_ndarray = np.ndarray
_WORTH_TURNING = 1 << 14  # elements
_MOST_OVERLAP_WORK = 10_000  # of NumPy's search for an element of two arrays


def device_for(device, size):
    """The device of a call. Little data stays on the CPU, whatever MASU_DEVICE says: no device's start is worth it."""
    if device is None and (size < _small.limit or _masu.stays_here(size)):
        return _device.cpu
    return _device.resolve(device)


def host(a):
    """`a` as a plain array that masu can take; NUMPY for all else, and for what is empty or has no dimension."""
    if type(a) is not _ndarray:
        a = _arrays.as_numpy(a)
        if type(a) is np.memmap:
            a = a.view(_ndarray)
        elif type(a) is not _ndarray:
            return NUMPY
    return a if a.dtype.char in _arrays.NATIVE and a.size and a.ndim else NUMPY


def words(a):
    """A contiguous array, bool as the bytes that it is stored in."""
    return a.view(np.uint8) if a.dtype.char == "?" else a


def contiguous(a, dtype):
    """`a` as C-contiguous, aligned elements of `dtype`, which is native; itself where it is so."""
    if a.dtype == dtype and a.flags.aligned:
        return a if a.flags.c_contiguous else a.copy("C")
    return a.astype(dtype, "C")


def axes_of(a, axis):
    """The axes with `axis` last and the others as they lie in memory, so that lines need no copy where that is so."""
    if a.ndim == 1:
        return (0,)
    rest = [i for i in range(a.ndim) if i != axis]
    if not a.flags.c_contiguous:
        rest.sort(key=lambda i: -abs(a.strides[i]))
    return (*rest, axis)


def _matrices(a, axes):
    """(a in the order of its memory, number of matrices, elements behind the last of `axes`), where `a` has no gaps and
    the other axes lie in their order: masu turns matrices far faster than NumPy copies such views. Else None."""
    axis = axes[-1]
    order = sorted(range(a.ndim), key=lambda i: -abs(a.strides[i]))
    straight = a.transpose(order)
    flags = straight.flags
    if not (flags.c_contiguous and flags.aligned and a.dtype.isnative):
        return None
    if [i for i in order if i != axis and a.shape[i] > 1] != [i for i in axes[:-1] if a.shape[i] > 1]:
        return None
    behind = math.prod(a.shape[i] for i in order[order.index(axis) + 1:])
    matrices = a.size // (behind * a.shape[axis])
    return None if matrices * _WORTH_TURNING > a.size else (words(straight), matrices, behind)


def lines(a, axes):
    """The lines of `a` along the last of `axes`: contiguous, aligned and native."""
    turned = a if a.ndim == 1 else a.transpose(axes)
    flags = turned.flags
    if flags.c_contiguous and flags.aligned and a.dtype.isnative:
        return words(turned)
    if a.size >= _WORTH_TURNING and a.ndim > 1 and (found := _matrices(a, axes)):
        straight, matrices, behind = found
        rows = words(np.empty(turned.shape, a.dtype))
        _masu.turn(straight, rows, matrices, behind)
        return rows
    return words(contiguous(turned, a.dtype if a.dtype.isnative else a.dtype.newbyteorder("=")))


def check_out(name, out, dtype, shape, *inputs):
    """The rule for arrays for results where NumPy's functions have none: exact dtype and shape, apart from the inputs."""
    if not isinstance(out, _ndarray) or isinstance(out, np.ma.MaskedArray):
        raise TypeError(f"{name}: out must be an array of NumPy without a mask, got {type(out).__name__}")
    if out.dtype != dtype:
        raise TypeError(f"{name}: out must have the dtype {dtype}, got {out.dtype}")
    if out.shape != shape:
        raise ValueError(f"{name}: out must have the shape {shape}, got {out.shape}")
    if not out.flags.writeable:
        raise ValueError(f"{name}: out must be writable, got a read-only array")
    if any(isinstance(a, _ndarray) and np.may_share_memory(a, out, _MOST_OVERLAP_WORK) for a in inputs):
        raise ValueError(f"{name}: out must not overlap the input")


def written(name, out, result, *inputs):
    """A result, or `out` with its elements."""
    if out is None:
        return result
    if isinstance(result, np.ma.MaskedArray):
        raise TypeError(f"{name}: with out the data must be an array without a mask, got MaskedArray")
    result = np.asarray(result)
    check_out(name, out, result.dtype, result.shape, *inputs)
    np.copyto(out, result)
    return out


def into(out, result):
    """`out` with the elements of a result, cast as NumPy's reductions cast them: in any way, without a warning."""
    with np.errstate(all="ignore"):
        np.copyto(out, result, casting="unsafe")
    return out


def reduced_axes(axis, dimensions):
    """The axes that a reduction is along, in the order given. TypeError and AxisError for what NumPy's reductions refuse."""
    if axis is None:
        return tuple(range(dimensions))
    axes = axis if isinstance(axis, tuple) else (axis,)
    if any(isinstance(one, (bool, np.bool)) for one in axes):
        raise TypeError
    return normalize_axis_tuple(tuple(operator.index(one) for one in axes), dimensions)


def line_axis(axis, dimensions):
    """The axis of argsort, argpartition and cumsum from 0, or the errors that NumPy's raise."""
    if isinstance(axis, (bool, np.bool)):
        raise TypeError("an integer is required for the axis")
    return normalize_axis_index(axis, dimensions)


def result_like(a, axes, dtype, write, out=None):
    """An array of a's shape and order in memory, or `out` of its shape, its lines written by write(contiguous rows)."""
    if out is None:
        out = np.empty_like(a, dtype, subok=False)
    turned = out if out.ndim == 1 else out.transpose(axes)
    if turned.flags.c_contiguous and out.flags.aligned and out.dtype.isnative:
        write(words(turned))
        return out
    rows = words(np.empty(turned.shape, out.dtype.newbyteorder("=")))
    write(rows)
    if out.size >= _WORTH_TURNING and out.ndim > 1 and (found := _matrices(out, axes)):
        straight, matrices, _ = found
        _masu.turn(rows, straight, matrices, out.shape[axes[-1]])
    else:
        turned[...] = rows if out.dtype.char != "?" else rows.view(out.dtype)
    return out
