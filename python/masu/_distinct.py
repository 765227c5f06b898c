# SPDX-License-Identifier: Apache-2.0
"""Distinct parts of arrays in device memory, as NumPy has them."""
import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from . import _masu
from ._device_array import DeviceArray
from ._on_device import distinct, empty, nan_places, part, placed, put, rows, sent, swapped, take

_MOST = 2**32 - 1  # ranks of parts are halves of 64-bit numbers


def parts(a, axis):
    """unique's results for the parts of `a` along an axis: in the order of their first elements, then of the second, and so
    on. As NumPy has it, what has a NaN is equal to nothing.
    """
    axis = normalize_axis_index(axis, a.ndim)
    rest = (*a.shape[:axis], *a.shape[axis + 1:])
    shaped = np.unique(np.empty((1,) * a.ndim, a.dtype), return_inverse=True, axis=axis)[1].ndim  # 1 in NumPy 2.1 and later
    columns = rows(a, (axis,)).reshape(math.prod(rest), a.shape[axis]).rows()
    count, codes, marks = a.shape[axis], None, None
    if count > _MOST:
        raise ValueError(f"unique: on a device there must be at most {_MOST} parts along the axis, got {count}")
    for column in columns:
        found = _ranked(column)
        if a.dtype.kind == "f":
            marks = _marked(column, found, marks)
        if codes is not None:
            found = _ranked(_paired(codes, found[2]))
        codes = found[2]
        if found[0].size == count:
            break
    else:
        if marks is not None:
            found = _ranked(_paired(codes, marks))
    _, first, inverse, counts = found
    values = empty(a, shape=(len(columns), first.size))
    for column, value in zip(columns, values.rows()):
        _masu.gather(column, first, value, 1)
    if shaped > 1:
        inverse = inverse.reshape([count if i == axis else 1 for i in range(a.ndim)])
    return placed(values.reshape((*rest, first.size)), axis), first, inverse, counts


def _ranked(column):
    """Values, first places, ranks and counts of a line."""
    return distinct(column, True, True, True, None)


def _paired(high, low):
    """Two numbers below 2^32 of each element as one."""
    count = high.size
    halves = empty(high, "u32", (2, count))
    for half, number in zip(halves.rows(), (low, high)):
        _masu.convert(number, half, half.device)
    pairs = swapped(halves, 1, 2)
    return DeviceArray(pairs, (count,), pairs, 0, "u64")  # the low number comes first


def _marked(column, found, marks):
    """The marks of elements, u32, with a number of its own, from 1 on, for each at which the column has NaN."""
    values, _, _, counts = found
    if not np.isnan(part(values, values.size - 1, 1).get()[0]):
        return marks
    nans = int(part(counts, counts.size - 1, 1).get()[0])
    places = nan_places(column, nans)
    if marks is None:
        marks = sent(column, np.zeros(column.size, np.uint32))
    put(marks, places, take(sent(column, np.arange(1, column.size + 1, dtype=np.uint32)), places))
    return marks
