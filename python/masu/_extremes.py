# SPDX-License-Identifier: Apache-2.0
"""Least and greatest elements and their places, elements that are not zero or are chosen, averages, and orders by several keys."""
import math

import numpy as np

from . import _fallback, _host, _kinds, _masu, _on_device, _order, _small, _sums
from ._arrays import adapter, in_kind
from ._axes import one_axis
from ._host import NUMPY
from ._moments import mean

_NoValue = np._NoValue
_INTP = np.dtype(np.intp)


def _given(**options):
    return {name: value for name, value in options.items() if value is not _NoValue}


def _found(function, numpys, a, axis, out, keepdims, device, initial=_NoValue, where=_NoValue):
    """What one function finds of each line; `numpys`: NumPy's, of an array."""
    if (on := adapter(device, a)) is None:
        return in_kind(function, locals())
    name = function.__name__
    if name in ("argmin", "argmax") and isinstance(axis, tuple):
        raise TypeError("'tuple' object cannot be interpreted as an integer")
    data = on.data(a) if initial is where is _NoValue else NUMPY
    place = name.startswith("arg") or name == "count_nonzero"
    axes, shape = (None, None) if data is NUMPY or out is not None and on is _host else on.reduced(data, axis, keepdims)
    if not axes:
        plain = initial is where is _NoValue  # else NumPy is not asked: `where` has the shape of `a`
        return on.numpys(name, a, numpys, ask=None if plain else lambda: None, what="this call" if plain else "initial or where")
    last = tuple(range(data.ndim - len(axes), data.ndim))
    if on is _host and (axes != last or not data.flags.c_contiguous and data.ndim > 1 or data.dtype.kind in "biu" and (
            data.size < _small.limit or data.dtype.kind == "b" and name[-3:] in ("min", "max"))):  # which NumPy does without a copy
        found = on.numpys(name, a, numpys)
        if place or data.dtype.kind != "f" or all(np.all(one) and not np.isnan(one).any() for one in (found if name == "minmax" else (found,))):
            return found
        # Which of several zeros or NaNs NumPy finds depends on the layout and on the processor.
        data, axes = np.ascontiguousarray(np.moveaxis(data, sorted(axes), last)), last
    lines = on.rows(data, axes)
    found = [on.empty(lines, (_INTP if on is _host else "i64") if place else None, shape) for _ in ("least", "greatest")[:1 + (name == "minmax")]]
    _masu.reduce_rows(on.words(lines), name, on.words(found[0]), on.words(found[-1]), on.device_for(device, lines))
    found = tuple(map(on.returned, found))
    return found if name == "minmax" else found[0]


def min(a, axis=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue, *, device=None):
    """The least element along axes, as `numpy.min`, with the bits of the first of them. A NaN is the result where there is one.

    Parameters, results and errors are those of `numpy.min`. With `out`, `initial` or `where`, NumPy computes it; arrays on a device
    do not take these.

    >>> import masu
    >>> int(masu.min([3, 1, 2]))
    1
    """
    return _found(min, lambda x: np.min(x, axis, out, **_given(keepdims=keepdims, initial=initial, where=where)), a, axis, out,
                  keepdims, device, initial, where)


def max(a, axis=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue, *, device=None):
    """The greatest element along axes, as `numpy.max`: see `min`.

    >>> import masu
    >>> int(masu.max([3, 1, 2]))
    3
    """
    return _found(max, lambda x: np.max(x, axis, out, **_given(keepdims=keepdims, initial=initial, where=where)), a, axis, out,
                  keepdims, device, initial, where)


def minmax(a, axis=None, keepdims=False, *, device=None):
    """(the least, the greatest element) along axes, in one pass over the data: see `min`. NumPy has no such function.

    >>> import masu
    >>> [int(one) for one in masu.minmax([3, 1, 2])]
    [1, 3]
    """
    return _found(minmax, lambda x: (np.min(x, axis, keepdims=keepdims), np.max(x, axis, keepdims=keepdims)), a, axis, None, keepdims, device)


def argmin(a, axis=None, out=None, *, keepdims=_NoValue, device=None):
    """Where the least element is first, as `numpy.argmin`: in the flattened array, or along an axis.

    >>> import masu
    >>> int(masu.argmin([3, 1, 2, 1]))
    1
    """
    return _found(argmin, lambda x: np.argmin(x, axis, out, **_given(keepdims=keepdims)), a, axis, out, keepdims, device)


def argmax(a, axis=None, out=None, *, keepdims=_NoValue, device=None):
    """Where the greatest element is first, as `numpy.argmax`: see `argmin`.

    >>> import masu
    >>> int(masu.argmax([3, 1, 2, 1]))
    0
    """
    return _found(argmax, lambda x: np.argmax(x, axis, out, **_given(keepdims=keepdims)), a, axis, out, keepdims, device)


def count_nonzero(a, axis=None, *, keepdims=False, device=None):
    """How many elements are not zero, as `numpy.count_nonzero`. A NaN is not zero.

    >>> import masu
    >>> int(masu.count_nonzero([0, 1, -0.0, 2]))
    2
    """
    return _found(count_nonzero, lambda x: np.count_nonzero(x, axis, keepdims=keepdims), a, axis, None, keepdims, device)


def averaged_in(dtype, weights):
    """The dtype of a weighted average, NumPy's: of integers at least float64."""
    common = np.promote_types(dtype, weights)
    return np.promote_types(common, np.float64) if dtype.kind in "biu" and common.kind == "f" else common.newbyteorder("=")


def average(a, axis=None, weights=None, returned=False, *, keepdims=_NoValue):
    """The weighted average, as `numpy.average`. Without weights it is `mean`, exact.

    For floats in host memory, with weights of the same shape and without `axis`, both sums are exact: of the
    products and of the weights. Each is rounded once. Others are NumPy's, with masu.Fallback.

    >>> import masu
    >>> float(masu.average([1e100, 3.0, -1e100], weights=[1.0, 2.0, 1.0]))
    1.5
    """
    if weights is None and not returned:
        return mean(a, axis, **_given(keepdims=keepdims))
    data, by = (NUMPY if one is None else _host.data(one) if isinstance(one, (np.ndarray, list, tuple)) else NUMPY for one in (a, weights))
    plain = data is not NUMPY and by is not NUMPY and axis is None and keepdims in (_NoValue, False) and data.shape == by.shape
    if not plain or np.promote_types(data.dtype, by.dtype).num not in _kinds.FLOATS:
        return _fallback.summed("average", np.average(a, axis, weights, returned, **_given(keepdims=keepdims)), a)
    common = averaged_in(data.dtype, by.dtype)
    data, by = (one.reshape(-1).astype(common, copy=False) for one in (data, by))
    total = _sums.sum(by)
    if total == 0:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    found = _sums.dot(data, by) / total
    return (found, total) if returned else found


def lexsort(keys, axis=-1):
    """The indices that sort by several keys, the last one first, as `numpy.lexsort`, always stably.

    >>> import masu
    >>> masu.lexsort(([2, 1, 2, 1], [0, 1, 0, 0])).tolist()
    [3, 0, 2, 1]
    """
    if isinstance(keys, np.ndarray) and keys.ndim == 0 or not len(keys):
        return np.lexsort(keys, axis)  # NumPy's error, or result
    keys = [_kinds.as_numpy(key) for key in keys]
    if keys[0].ndim == 0 or any(key.shape != keys[0].shape for key in keys):
        return np.lexsort(keys, axis)
    order = _order.argsort(keys[0], axis, "stable")
    for key in keys[1:]:
        order = np.take_along_axis(order, _order.argsort(np.take_along_axis(key, order, axis), axis, "stable"), axis)
    return order


def take(a, indices, axis=None, out=None, mode="raise", *, device=None):
    """Elements at places, as `numpy.take`. An array on a device stays there. Indices that are there too count
    from the start, with `mode` "raise"; the array has one dimension, or there is no `axis`.

    >>> import masu
    >>> masu.take([10, 20, 30], [2, 0]).tolist()
    [30, 10]
    """
    if (on := adapter(device, a, indices)) is None:
        return in_kind(take, locals())
    if on is not _host:
        return _taken(a, indices, axis, mode)
    # no elements are the same in both modes, and NumPy 2.4.6 does not always end with them
    return np.take(a, indices, axis, out, mode if mode == "raise" or np.size(a) else "clip")


def compress(condition, a, axis=None, out=None, *, device=None):
    """The elements where a condition of one dimension holds, as `numpy.compress`. An array on a device stays there.

    >>> import masu
    >>> masu.compress([True, False, True], [10, 20, 30]).tolist()
    [10, 30]
    """
    if (on := adapter(device, condition, a)) is None:
        return in_kind(compress, locals(), 2)
    if on is _host:
        return np.compress(condition, a, axis, out)
    if not isinstance(a, _masu.DeviceArray):
        raise TypeError("compress: the array must be on the device of the condition")
    condition = condition.get() if isinstance(condition, _masu.DeviceArray) else np.asarray(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return _taken(a, np.flatnonzero(condition), axis, "raise")


def _taken(a, indices, axis, mode):
    """`take` of an array on a device."""
    a, axis = one_axis(a, axis)
    if isinstance(indices, _masu.DeviceArray):
        if a.ndim > 1 or mode != "raise" or indices.dtype.kind not in "iu":
            raise TypeError("take: indices on a device must be integers, for one dimension and mode 'raise'")
        shape, places = indices.shape, _on_device.converted(indices, np.dtype(np.int64)).reshape(-1)
    else:
        indices, length = np.asarray(indices), a.shape[axis]
        np.take(np.empty(length, np.dtype([])), indices, mode=mode)  # NumPy's errors, of elements without bytes
        found = indices.astype(np.int64).reshape(-1, 1)
        if mode in ("clip", 0):
            found = found.clip(0, length - 1)
        elif length:
            found %= length
        inner, outer = math.prod(a.shape[axis + 1:]), math.prod(a.shape[:axis])
        found = (np.arange(outer).reshape(-1, 1, 1) * a.shape[axis] + found) * inner + np.arange(inner)
        shape, places = a.shape[:axis] + indices.shape + a.shape[axis + 1:], _on_device.sent(a, found.reshape(-1))
    if not places.size:
        return _on_device.empty(a, shape=shape)
    return _on_device.take(a.reshape(-1), places).reshape(shape)
