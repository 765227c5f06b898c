# SPDX-License-Identifier: Apache-2.0
"""The lines of an array in device memory along any of its axes, as rows: matrices are turned where they are. And what functions
of such arrays do with their options."""
import itertools
import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from . import _masu
from ._device_array import DeviceArray, dtype_name

_WORTH_TURNING = 1 << 18  # elements of a matrix: below, starting a kernel for each takes longer than two more passes


def array_like(array, dtype=None, shape=None):
    """An uninitialised array of the dtype and shape of `array`, but for those that are given."""
    return DeviceArray(array.device, array._dtype if dtype is None else dtype, array.shape if shape is None else shape)


def axes_of(array, axis):
    """Axes to be reduced, ascending; None stands for all."""
    return tuple(range(array.ndim)) if axis is None else tuple(sorted(normalize_axis_tuple(axis, array.ndim)))


def part(array, first, count):
    """`count` elements from number `first` on, in the same memory."""
    return DeviceArray(array, (count,), array, first)


def joined(*parts):
    """Arrays of one dimension behind each other."""
    result, first = array_like(parts[0], shape=(sum(one.size for one in parts),)), 0
    for one in parts:
        if one.size:
            _masu.convert(one, part(result, first, one.size), one.device)
        first += one.size
    return result


def converted(array, dtype):
    """`array` in another dtype, integers modulo its range."""
    if array.dtype == dtype:
        return array
    result = array_like(array, dtype_name(dtype))
    if array.size:
        _masu.convert(array, result, array.device)
    return result


def _turned(array, matrices, columns):
    result = array_like(array)
    _masu.turn(array, result, matrices, columns)
    return result


def swapped(array, outer, length):
    """The elements, outer x length x inner of them, as outer x inner x length."""
    inner = array.size // (outer * length) if array.size else 0
    if not array.size or length == 1 or inner == 1:
        return array
    least = min(outer, length, inner)
    if outer == least or array.size // outer >= _WORTH_TURNING:
        return _turned(array, outer, inner)
    # The shortest of the three first, so that there are few matrices.
    if inner == least:
        return _turned(_turned(_turned(array, 1, inner), inner, length), 1, outer)
    return _turned(_turned(_turned(array, 1, length * inner), length, outer), 1, outer * inner)


def lines(array, axes):
    """`array` with `axes` behind the others, in their order, as one axis."""
    if array.ndim == len(axes) == 1:
        return array
    result, outer = array, 1
    for reduced, run in itertools.groupby(range(array.ndim), axes.__contains__):
        length = math.prod(array.shape[i] for i in run)
        if reduced:
            result = swapped(result, outer, length)
        else:
            outer *= length
    kept = (n for i, n in enumerate(array.shape) if i not in axes)
    return result.reshape((*kept, math.prod(array.shape[i] for i in axes)))


def placed(array, axis):
    """`array` with its last axis in the place of `axis`."""
    *others, length = array.shape
    before, behind = others[:axis], others[axis:]
    return swapped(array, math.prod(before), math.prod(behind)).reshape((*before, length, *behind))


def one_axis(a, axis):
    """(array, axis); None takes all as one line."""
    return (a.reshape(-1), 0) if axis is None else (a, normalize_axis_index(axis, a.ndim))


def reduced(a, axis, keepdims):
    """(axes to be reduced, the result's shape)"""
    axes = axes_of(a, axis)
    keep = keepdims is not np._NoValue and keepdims
    return axes, tuple(1 if i in axes else n for i, n in enumerate(a.shape) if keep or i not in axes)


def along(a, axis, dtype, write):
    """An array like `a` whose lines along an axis write(lines, result, number of lines) fills."""
    rows = lines(a, (axis,))
    result = array_like(rows, dtype)
    if a.size:
        write(rows, result, a.size // rows.shape[-1])
    return placed(result, axis)


def refuse(name, **options):
    """For what only NumPy has."""
    for option, value in options.items():
        if value is not None and value is not False and value is not np._NoValue:
            raise TypeError(f"{name}: {option} is not supported for arrays on a device")
