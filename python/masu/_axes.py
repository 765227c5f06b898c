# SPDX-License-Identifier: Apache-2.0
"""The rules of NumPy's functions for axes, and masu's for arrays for results."""
import operator

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple


def one_axis(a, axis, counted=False):
    """(the array, an axis of it from 0); None takes all as one line. `counted`: by the rules of argsort, argpartition and
    cumsum, which take what has no dimension as a line.
    """
    if axis is None:
        return a if a.ndim == 1 else a.reshape(-1), 0
    if counted and isinstance(axis, (bool, np.bool)):
        raise TypeError("an integer is required for the axis")
    if counted and a.ndim == 0:
        a = a.reshape(1)
    return a, normalize_axis_index(axis, a.ndim)


def reduced(a, axis, keepdims):
    """(the axes that a reduction is along, in the order given; the result's shape). TypeError and AxisError for what
    NumPy's reductions refuse.
    """
    if axis is None:
        axes = tuple(range(a.ndim))
    elif type(axis) is int:
        axes = (normalize_axis_index(axis, a.ndim),)
    else:
        axes = axis if isinstance(axis, tuple) else (axis,)
        if any(isinstance(one, (bool, np.bool)) for one in axes):
            raise TypeError("an integer is required for the axis")
        axes = normalize_axis_tuple(tuple(operator.index(one) for one in axes), a.ndim)
    keep = keepdims is not np._NoValue and keepdims
    if len(axes) == a.ndim and not keep:
        return axes, ()
    if len(axes) == 1 and not keep:
        return axes, a.shape[:axes[0]] + a.shape[axes[0] + 1:]
    return axes, tuple(1 if i in axes else n for i, n in enumerate(a.shape) if keep or i not in axes)


def check_target(name, out, dtype, shape, read_only):
    """The rule for arrays for results where NumPy's functions have none: exact dtype and shape."""
    if out.dtype != dtype:
        raise TypeError(f"{name}: out must have the dtype {dtype}, got {out.dtype}")
    if out.shape != shape:
        raise ValueError(f"{name}: out must have the shape {shape}, got {out.shape}")
    if read_only:
        raise ValueError(f"{name}: out must be writable, got a read-only array")


def check_apart(name, overlaps):
    """The rule that they are apart from the input."""
    if overlaps:
        raise ValueError(f"{name}: out must not overlap the input")
