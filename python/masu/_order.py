# SPDX-License-Identifier: Apache-2.0
"""Sorts, orders, partitions, searches, distinct values and the k first, with NumPy's signatures and results."""
import inspect
from typing import NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from . import _arrays, _device, _masu, _small
from ._lines import NUMPY, axes_of, check_out, contiguous, device_for, host, line_axis, lines, result_like, words, written

__all__ = ["TopK", "argpartition", "argsort", "partition", "searchsorted", "sort", "topk", "unique"]

_NoValue = np._NoValue
_kinds = (None, "quicksort", "heapsort", "mergesort", "stable", "quick", "heap", "merge")
# From 2.3 on; what is older always sorts.
_unsorted = {"sorted": False} if "sorted" in inspect.signature(np.unique).parameters else {}
_numpy_descends = "descending" in inspect.signature(np.sort).parameters  # from 2.5 on


def _usual(kind, order, stable):
    """Whether these are arguments for which every order of NumPy's is masu's; NumPy judges the others."""
    if order is not None or not (kind is None or type(kind) is str):
        return False
    if kind not in _kinds:
        np.empty(0).argsort(kind=kind)  # NumPy's error; it takes short names too
    return stable is None or kind is None and type(stable) is bool


def _direction(descending, kind):
    """Whether the order is descending, and the keyword with which NumPy's function is told so."""
    if descending is _NoValue:
        return False, {}
    if kind is not None and descending is not None:  # in NumPy's words
        raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
    return bool(descending), {"descending": descending}


def _numpys(function, a, axis, kind, order, stable, direction):
    """NumPy's sort or argsort of what masu does not sort."""
    if direction and not _numpy_descends:
        data = np.asanyarray(a)
        if direction["descending"] and data.size and data.ndim:
            raise TypeError(f"{function.__name__}: descending order of {data.dtype} requires NumPy 2.5, "
                            f"got {np.__version__}")
        direction = {}
    return function(a, axis, kind, order, stable=stable, **direction)


def _ordered(call, numpys, dtype, a, axis, kind, order, stable, descending, out, device):
    """A host array sorted, or ordered, along an axis; `dtype`: the result's, None for that of a."""
    name = numpys.__name__
    backwards, direction = _direction(descending, kind)
    data = host(a)
    if data is NUMPY or not _usual(kind, order, None if backwards else stable):
        return written(name, out, _numpys(numpys, a, axis, kind, order, stable, direction), a)
    if axis is None:
        data, axis = data.reshape(-1), -1
    axes = axes_of(data, (line_axis if numpys is np.argsort else normalize_axis_index)(axis, data.ndim))
    rows = lines(data, axes)
    where = _device.resolve(device)
    dtype = np.dtype(dtype or data.dtype)
    if out is not None:
        check_out(name, out, dtype, data.shape, data)
    return result_like(data, axes, dtype, lambda to: call(rows, to, rows.size // rows.shape[-1], where, backwards), out)


@_masu.with_plain_calls
def sort(a, axis=-1, kind=None, order=None, *, stable=None, descending=_NoValue, out=None, device=None):
    """A sorted copy of an array, as `numpy.sort`.

    `a`: an array of any shape. `axis`: the axis along which to sort; None sorts the flattened array. `kind`, `order`
    and `stable` as NumPy has them: every kind gives the same order, NaN last and -0.0 equal to 0.0, and what is equal
    keeps its order and bits; arrays too small to be worth a call are sorted by NumPy where it does the same.
    `descending`: True sorts from the greatest to the least element, NaN last, as NumPy 2.5 does; it works with older
    NumPy too. `out`: an array for the result, which NumPy has not: of exactly its dtype and shape, on its device, apart
    from `a`; not of JAX, whose arrays are immutable. Returns an array of a's dtype and shape, or `out`.

    Raises AxisError (a ValueError) for an axis that there is not, and what NumPy raises for `kind` and `order`.
    Complex, object, string, long double, date and structured arrays and subclasses of ndarray are handed to
    `numpy.sort`; with `descending`, NumPy before 2.5 cannot sort them, and TypeError is raised.

    >>> import masu
    >>> masu.sort([3, 1, 2]).tolist()
    [1, 2, 3]
    >>> masu.sort([3.0, float("nan"), 4.0], descending=True).tolist()
    [4.0, 3.0, nan]
    """
    if _arrays.foreign(a):
        return _arrays.in_kind(sort, a, axis=axis, kind=kind, order=order, stable=stable, descending=descending, out=out,
                               device=device)
    return _ordered(_masu.sort, np.sort, None, a, axis, kind, order, stable, descending, out, device)


@_masu.with_plain_calls
def argsort(a, axis=-1, kind=None, order=None, *, stable=None, descending=_NoValue, out=None, device=None):
    """The indices that sort an array, as `numpy.argsort`, always stably.

    `a`: an array of any shape. `axis`: the axis along which to sort; None takes the flattened array. What is equal
    keeps its order whatever the `kind`: where NumPy's default leaves it open, masu's order is that of kind="stable".
    `descending` and `out`: as `sort` has them; what is equal keeps its order in descending order too.
    Returns an array of intp of a's shape, such that `take_along_axis(a, argsort(a, axis), axis)` is sorted; for a Series
    of pandas a Series with its index.

    Raises and hands to NumPy what `sort` does.

    >>> import masu
    >>> masu.argsort([3.0, 1.0, 2.0, 1.0]).tolist()
    [1, 3, 2, 0]
    """
    if _arrays.is_series(a):
        order = argsort(_arrays.as_numpy(a), axis, kind, order, stable=stable, descending=descending, out=out, device=device)
        return _arrays.like_series(a, order) if out is None else out
    if _arrays.foreign(a):
        return _arrays.in_kind(argsort, a, axis=axis, kind=kind, order=order, stable=stable, descending=descending,
                               out=out, device=device)
    return _ordered(_masu.argsort, np.argsort, np.intp, a, axis, kind, order, stable, descending, out, device)


def _places(kth, length):
    """kth as ascending places below length; None where NumPy is to judge them."""
    if type(kth) is int:
        places = {kth}
    elif type(kth) in (list, tuple) and kth and all(type(k) is int for k in kth):
        places = set(kth)
    else:
        places = np.asarray(kth)
        if places.dtype.kind not in "iu" or places.ndim > 1 or places.size == 0:
            return None
        places = set(places.ravel().tolist())
    if min(places) < -length or max(places) >= length:
        return None
    return sorted({k % length for k in places})


def _part(function, numpys, call, dtype, a, kth, axis, kind, order, out, device):
    """partition or argpartition; `dtype`: the result's, None for that of a."""
    name = numpys.__name__
    if _arrays.foreign(a):
        return _arrays.in_kind(function, a, kth=kth, axis=axis, kind=kind, order=order, out=out, device=device)
    data = host(a)
    if data is NUMPY or order is not None or kind != "introselect":
        return written(name, out, numpys(a, kth, axis, kind, order), a)
    if axis is None:
        data = data.reshape(-1)
    along = (line_axis if numpys is np.argpartition else normalize_axis_index)(-1 if axis is None else axis, data.ndim)
    places = _places(kth, data.shape[along])
    if places is None:
        return written(name, out, numpys(a, kth, axis, kind, order), a)
    axes = axes_of(data, along)
    rows = lines(data, axes)
    where = device_for(device, data.size)
    dtype = np.dtype(dtype or data.dtype)
    if out is not None:
        check_out(name, out, dtype, data.shape, data)
    return result_like(data, axes, dtype, lambda to: call(rows, to, rows.size // rows.shape[-1], places, where), out)


@_masu.with_plain_calls
def partition(a, kth, axis=-1, kind="introselect", order=None, *, out=None, device=None):
    """A copy of an array parted around the elements at the places `kth` of its sorted order, as `numpy.partition`.

    `kth`: a place, or several; negative ones count from the end. `axis`: the axis along which to part; None takes the
    flattened array. What stands at those places is as in NumPy's result. Unlike NumPy's, the result is defined
    everywhere: what lies between two of the places keeps the order of the input, equals of the element at a place
    standing beside it (several rows of up to 64 elements, and on a GPU several places or rows, are sorted). `out`: as
    `sort` has it.

    Raises ValueError for a place outside of the axis, and hands to NumPy what `sort` does.

    >>> import masu
    >>> masu.partition([7, 1, 5, 9, 3], 2).tolist()
    [1, 3, 5, 7, 9]
    """
    return _part(partition, np.partition, _masu.partition, None, a, kth, axis, kind, order, out, device)


@_masu.with_plain_calls
def argpartition(a, kth, axis=-1, kind="introselect", order=None, *, out=None, device=None):
    """The indices that part an array as `partition` does, as `numpy.argpartition`: intp, of a's shape.

    >>> import masu
    >>> masu.argpartition([7, 1, 5, 9, 3], 2).tolist()
    [1, 4, 2, 0, 3]
    """
    return _part(argpartition, np.argpartition, _masu.argpartition, np.intp, a, kth, axis, kind, order, out, device)


@_masu.with_plain_calls
def searchsorted(a, v, side="left", sorter=None, *, out=None, device=None):
    """Where the elements of `v` go in sorted data, as `numpy.searchsorted`.

    `a`: sorted in one dimension (or with `sorter`, the indices that sort it). `v`: values of any shape. `side`:
    "left", in front of what is equal, or "right", behind it. Both are compared in the dtype that NumPy promotes them
    to. `out`: as `sort` has it. Returns intp of v's shape. Where `a` is not sorted, the results are unspecified numbers from 0 to its length.

    Raises what `numpy.searchsorted` does.

    >>> import masu
    >>> masu.searchsorted([1.0, 2.0, 4.0], [0.5, 2.0, 9.0]).tolist()
    [0, 1, 3]
    """
    if _arrays.foreign(a, v):
        return _arrays.in_kind(searchsorted, a, v, side=side, sorter=sorter, out=out, device=device)
    if out is not None:
        return written("searchsorted", out, searchsorted(a, v, side, sorter, device=device), a, v)
    if device is None and np.size(v) < _small.limit:
        return np.searchsorted(_arrays.as_numpy(a), _arrays.as_numpy(v), side, sorter)
    data, sought = host(a), host(v)
    if data is NUMPY or sought is NUMPY or data.ndim != 1 or side not in ("left", "right"):
        return np.searchsorted(a, v, side, sorter)
    common = np.promote_types(data.dtype, sought.dtype)
    if sorter is not None:
        order = host(sorter)
        if (order is NUMPY or order.shape != data.shape or order.dtype.kind not in "iu"
                or not np.can_cast(order.dtype, np.intp, "safe") or order.min() < 0 or order.max() >= order.size):
            return np.searchsorted(a, v, side, sorter)
        data = data[order]
    data = words(contiguous(data, common))
    values = words(contiguous(sought, common))
    found = np.empty(sought.shape, np.intp)
    _masu.searchsorted(data, values, found, side == "right", _device.resolve(device))
    return found if found.ndim else found[()]


@_masu.with_plain_calls
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True,
           sorted=True, device=None):
    """The sorted distinct elements of an array, as `numpy.unique`.

    Optionally with the indices where each is first (`return_index`), for each element the place of its value
    (`return_inverse`, of ar's shape) and how often each occurs (`return_counts`), all of intp. `equal_nan=False` keeps
    every NaN. A value is represented by its first occurrence, which tells -0.0 from 0.0. The result is sorted also with
    sorted=False. `axis`: the distinct parts of an array along an axis, of which those with NaN are equal to nothing; on
    the host they are handed to NumPy unless `ar` has one dimension. Returns the distinct values, or a tuple of them and what was asked for.

    Hands to NumPy what `sort` does, and raises what it raises.

    >>> import masu
    >>> values, counts = masu.unique([3, 1, 3], return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """
    if _arrays.foreign(ar):
        if not return_index and not return_inverse and axis is None and equal_nan is True and device is None:
            found = _masu.enqueue_unique(ar, bool(return_counts))
            if found is not None:
                return found
        return _arrays.in_kind(unique, ar, return_index=return_index, return_inverse=return_inverse,
                               return_counts=return_counts, axis=axis, equal_nan=equal_nan, sorted=sorted,
                               device=device)
    data = host(ar)
    if data is NUMPY or axis is not None and data.ndim != 1:
        more = {} if sorted else _unsorted
        return np.unique(ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan, **more)
    if axis is not None:
        normalize_axis_index(axis, 1)
    rows = words(contiguous(data, data.dtype.newbyteorder("=")))
    found, first, inverse, counts = _masu.unique(rows, bool(return_index), bool(return_inverse), bool(return_counts),
                                                 _device.resolve(device))
    values = found.view(data.dtype.newbyteorder("="))
    if not equal_nan and values.dtype.kind == "f" and values[-1] != values[-1]:
        values, first, inverse, counts = _every_nan(rows.reshape(-1), values, first, inverse, counts)
    if not data.dtype.isnative:
        values = values.astype(data.dtype)
    results = (values,)
    if return_index:
        results += (first,)
    if return_inverse:
        results += (inverse.reshape(data.shape),)
    if return_counts:
        results += (counts,)
    return results if len(results) > 1 else values


def _every_nan(data, values, first, inverse, counts):
    """unique's results with every NaN a value of its own, in the order of the input."""
    places = np.flatnonzero(np.isnan(data))
    values = np.concatenate((values[:-1], data[places]))
    if first is not None:
        first = np.concatenate((first[:-1], places))
    if inverse is not None:
        inverse[places] += np.arange(places.size)
    if counts is not None:
        counts = np.concatenate((counts[:-1], np.ones(places.size, np.intp)))
    return values, first, inverse, counts


class TopK(NamedTuple):
    """What topk returns."""

    values: np.ndarray
    indices: np.ndarray


def _two(out):
    if out is None:
        return None, None
    if type(out) is not tuple and not isinstance(out, TopK) or len(out) != 2:
        raise TypeError(f"topk: out must be a tuple of two arrays, got {type(out).__name__}")
    return out


def number_of_first(k, length):
    """k as an integer that topk can have."""
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise TypeError(f"topk: k must be an integer, got {type(k).__name__}")
    k = k.__index__()
    if not 1 <= k <= length:
        raise ValueError(f"topk: k must be from 1 to {length}, the length of the axis, got {k}")
    return k


@_masu.with_plain_calls
def topk(a, k, axis=-1, *, largest=True, out=None, device=None):
    """The k largest (or smallest) elements along an axis and where they stand, in order.

    `k`: from 1 to the length of the axis. `axis`: None takes the flattened array. `largest=False`: the smallest first.
    What is equal comes by index, the lower first; NaN counts as the largest. Returns TopK(values, indices), both with k
    in place of the axis's length: values of a's dtype with the bits that they had, indices of intp. `out`: a tuple of
    two arrays for them, as `sort` has it.

    Raises ValueError for a k outside of its range, AxisError for an axis that there is not and TypeError for dtypes
    that masu has not.

    >>> import masu
    >>> masu.topk([3, 9, 1, 9], 2).indices.tolist()
    [1, 3]
    """
    if _arrays.foreign(a):
        found = _masu.enqueue_topk(a, k, axis, bool(largest), *_two(out)) if device is None else None
        if found is not None:
            return TopK(*found)
        return _arrays.in_kind(topk, a, k=k, axis=axis, largest=largest, out=None if out is None else tuple(_two(out)), device=device)
    if out is not None:
        values, places = _two(out)
        found = topk(a, k, axis, largest=largest, device=device)
        check_out("topk", values, found.values.dtype, found.values.shape, a)
        check_out("topk", places, found.indices.dtype, found.indices.shape, a, values)
        return TopK(written("topk", values, found.values), written("topk", places, found.indices))
    data = host(a)
    if data is NUMPY:
        data = _arrays.whole(a)
        if not _arrays.has_dtype(data):
            raise TypeError(f"topk: the dtype must be bool, an integer or float16 to float64, got {data.dtype}")
    if axis is None:
        data, axis = data.reshape(-1), -1
    axis = normalize_axis_index(axis, data.ndim)
    k = number_of_first(k, data.shape[axis])
    axes = (*(i for i in range(data.ndim) if i != axis), axis)
    rows = lines(data, axes)
    shape = (*rows.shape[:-1], k)
    values, indices = np.empty(shape, data.dtype.newbyteorder("=")), np.empty(shape, np.intp)
    if values.size:
        _masu.topk(rows, words(values), indices, k, bool(largest), values.size // k, device_for(device, data.size))
    if not data.dtype.isnative:
        values = values.astype(data.dtype)
    return TopK(np.moveaxis(values, -1, axis), np.moveaxis(indices, -1, axis))
