# SPDX-License-Identifier: Apache-2.0
"""Sorts, orders, partitions, searches, distinct values and the k first, with NumPy's signatures and results."""
import inspect
from typing import NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from . import _distinct, _host, _kinds, _masu, _small
from ._arrays import adapter, in_kind
from ._axes import one_axis
from ._host import NUMPY, check_out, written
from ._progress import showing

_NoValue = np._NoValue
_INTP = np.dtype(np.intp)
_SORTS = (None, "quicksort", "heapsort", "mergesort", "stable", "quick", "heap", "merge")
# From 2.3 on; what is older always sorts.
_unsorted = {"sorted": False} if "sorted" in inspect.signature(np.unique).parameters else {}
_numpy_descends = "descending" in inspect.signature(np.sort).parameters  # from 2.5 on


def _usual(kind, order, stable):
    """Whether these are arguments for which every order of NumPy's is masu's; NumPy judges the others."""
    if order is not None or not (kind is None or type(kind) is str):
        return False
    if kind not in _SORTS:
        np.empty(0).argsort(kind=kind)  # NumPy's error; it takes short names too
    return stable is None or kind is None and isinstance(stable, (int, np.bool))


def _direction(descending, kind):
    """Whether the order is descending, and NumPy's keyword for it."""
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


def _ordered(on, numpys, dtype, a, axis, kind, order, stable, descending, out, device):
    """An array sorted, or ordered, along an axis; `dtype`: the result's, None for that of a."""
    name = numpys.__name__
    backwards, direction = _direction(descending, kind)
    data = on.data(a)
    if data is NUMPY or not _usual(kind, order, None if backwards else stable):
        return on.numpys(name, a, lambda x: _numpys(numpys, x, axis, kind, order, stable, direction), out, what="this kind or order")
    data, axis = one_axis(data, axis, dtype is _INTP)
    where = on.device_for(device, data)
    return on.along(name, data, axis, dtype,
                    lambda lines, to, number: _masu.sort(lines, to, number, where, backwards, dtype is _INTP), out)


@_masu.with_plain_calls
def sort(a, axis=-1, kind=None, order=None, *, stable=None, descending=_NoValue, out=None, progress=None, device=None):
    """A sorted copy of an array, as `numpy.sort`.

    `a`: an array of any shape. `axis`: the axis along which to sort; None sorts the flattened array. `kind`, `order` and
    `stable` as NumPy has them. Every kind gives the same order: NaN last, -0.0 equal to 0.0; equal elements keep their
    order and bits. NumPy sorts small arrays where it does the same. `descending`: True sorts from the greatest to the least
    element, NaN last, as NumPy 2.5 does; it works with older NumPy too. `out`, which NumPy has not: an array for the
    result, of exactly its dtype and shape, on its device, apart from `a`. It cannot be JAX's, whose arrays are immutable.
    `progress`: called by this thread with a fraction from 0 to 1, at most ten times a second and at the end. The fraction
    is that of the elements in their final places, as far as masu knows it. Sorts on a device, other libraries' sorts and
    those of few elements report the end alone. It must not call masu. What it raises ends the call, as Ctrl-C does; `a` is
    unchanged, and the elements of `out` are unspecified. Returns an array of a's dtype and shape, or `out`.

    Raises AxisError (a ValueError) for an axis that there is not, and what NumPy raises for `kind` and `order`.
    Complex, object, string, long double, date and structured arrays and subclasses of ndarray are handed to
    `numpy.sort`. With `descending`, NumPy before 2.5 cannot sort them, and TypeError is raised.

    >>> import masu
    >>> masu.sort([3, 1, 2]).tolist()
    [1, 2, 3]
    >>> masu.sort([3.0, float("nan"), 4.0], descending=True).tolist()
    [4.0, 3.0, nan]
    """
    if progress is not None:
        return showing(progress, a, lambda: sort(a, axis, kind, order, stable=stable, descending=descending, out=out, device=device))
    if (on := adapter(device, a)) is None:
        return in_kind(sort, locals())
    return _ordered(on, np.sort, None, a, axis, kind, order, stable, descending, out, device)


@_masu.with_plain_calls
def argsort(a, axis=-1, kind=None, order=None, *, stable=None, descending=_NoValue, out=None, device=None):
    """The indices that sort an array, as `numpy.argsort`, always stably.

    `a`: an array of any shape. `axis`: the axis along which to sort; None takes the flattened array. Equal elements keep
    their order whatever the `kind`: where NumPy's default leaves it open, masu's order is that of kind="stable".
    `descending` and `out`: as `sort` has them; equal elements keep their order in descending order too. Returns an array
    of intp of a's shape, such that `take_along_axis(a, argsort(a, axis), axis)` is sorted; for a Series of pandas a
    Series with its index.

    Raises and hands to NumPy what `sort` does.

    >>> import masu
    >>> masu.argsort([3.0, 1.0, 2.0, 1.0]).tolist()
    [1, 3, 2, 0]
    """
    if _kinds.is_series(a):
        order = argsort(_kinds.as_numpy(a), axis, kind, order, stable=stable, descending=descending, out=out, device=device)
        return _kinds.like_series(a, order) if out is None else out
    if (on := adapter(device, a)) is None:
        return in_kind(argsort, locals())
    return _ordered(on, np.argsort, _INTP, a, axis, kind, order, stable, descending, out, device)


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
        np.partition(np.empty(length, np.bool), kth)  # NumPy's error
        return None
    return sorted({k % length for k in places})


def _part(function, numpys, dtype, a, kth, axis, kind, order, out, device):
    """partition or argpartition; `dtype`: the result's, None for that of a."""
    if (on := adapter(device, a)) is None:
        return in_kind(function, locals())
    name, data, places = numpys.__name__, on.data(a), None
    if data is not NUMPY and order is None and kind == "introselect":
        data, along = one_axis(data, axis, dtype is _INTP)
        places = _places(kth, data.shape[along])
    if places is None:
        return on.numpys(name, a, lambda x: numpys(x, kth, axis, kind, order), out, what="this kind, order or kth")
    on.device_for(device, data)  # its errors
    return on.along(name, data, along, dtype,
                    lambda lines, to, number: _masu.partition(lines, to, number, places, dtype is _INTP), out)


@_masu.with_plain_calls
def partition(a, kth, axis=-1, kind="introselect", order=None, *, out=None, device=None):
    """A copy of an array parted around the elements at the places `kth` of its sorted order, as `numpy.partition`.

    `kth`: a place, or several; negative ones count from the end. `axis`: the axis along which to part; None takes the
    flattened array. What stands at those places is as in NumPy's result. Unlike NumPy's, the result is defined
    everywhere: the elements between two of the places keep the order of the input. Equals of the element at a place
    stand beside it. Several rows of up to 64 elements, and several places or rows on a GPU, are sorted. `out`: as
    `sort` has it.

    Raises ValueError for a place outside of the axis, and hands to NumPy what `sort` does.

    >>> import masu
    >>> masu.partition([7, 1, 5, 9, 3], 2).tolist()
    [1, 3, 5, 7, 9]
    """
    return _part(partition, np.partition, None, a, kth, axis, kind, order, out, device)


@_masu.with_plain_calls
def argpartition(a, kth, axis=-1, kind="introselect", order=None, *, out=None, device=None):
    """The indices that part an array as `partition` does, as `numpy.argpartition`: intp, of a's shape.

    >>> import masu
    >>> masu.argpartition([7, 1, 5, 9, 3], 2).tolist()
    [1, 4, 2, 0, 3]
    """
    return _part(argpartition, np.argpartition, _INTP, a, kth, axis, kind, order, out, device)


@_masu.with_plain_calls
def searchsorted(a, v, side="left", sorter=None, *, out=None, device=None):
    """Where the elements of `v` go in sorted data, as `numpy.searchsorted`.

    `a`: sorted in one dimension (or with `sorter`, the indices that sort it). `v`: values of any shape. `side`:
    "left", before what is equal, or "right", after it. Integers are compared as integers, also int64 with
    uint64, which NumPy rounds to float64. All else is compared in the dtype that NumPy promotes both to. `out`:
    as `sort` has it. Returns intp of v's shape. Where `a` is not sorted, the results are unspecified numbers
    from 0 to its length.

    Raises what `numpy.searchsorted` does.

    >>> import masu
    >>> masu.searchsorted([1.0, 2.0, 4.0], [0.5, 2.0, 9.0]).tolist()
    [0, 1, 3]
    """
    if (on := adapter(device, a, v)) is None:
        return in_kind(searchsorted, locals(), 2)
    if out is not None:
        return written("searchsorted", out, searchsorted(a, v, side, sorter, device=device), a, v)
    if on is _host:
        a, v = _kinds.as_numpy(a), _kinds.as_numpy(v)
    if (fits := _as_integers_of(a, v)) is None:
        return _searched(on, a, v, side, sorter, device)
    v, outside, limits = fits
    found = _searched(on, a, v, side, sorter, device)
    if outside.size:
        found = found if on is not _host else np.asarray(found)
        on.put(found, on.sent(found, outside), on.sent(found, limits))
    return on.returned(found)


def _searched(on, a, v, side, sorter, device):
    """The same of values that NumPy compares as masu does."""
    if device is None and v.size < _small.limit:
        return np.searchsorted(a, v, side, sorter)
    data, sought = (_host.data(a), _host.data(v)) if on is _host else (a, v)
    if data is NUMPY or sought is NUMPY or data.ndim != 1 or side not in ("left", "right"):
        return on.numpys("searchsorted", v, lambda x: np.searchsorted(a, x, side, sorter),
                         ask=lambda: np.searchsorted(np.empty((0,) * a.ndim), 0, side))
    if sorter is not None:
        order = _host.data(sorter)
        if (on is not _host or order is NUMPY or order.shape != data.shape or order.dtype.kind not in "iu"
                or not np.can_cast(order.dtype, np.intp, "safe") or order.min() < 0 or order.max() >= order.size):
            return on.numpys("searchsorted", v, lambda x: np.searchsorted(a, x, side, sorter))
        data = data[order]
    data, sought = on.alike("searchsorted", data, sought)
    found = on.empty(sought, _INTP)
    if found.size:
        _masu.searchsorted(data, sought, found, side == "right", on.device_for(device, data))
    return on.returned(found)


def _as_integers_of(a, v):
    """Integers of the host that are sought in integers of another dtype. Returns (the integers in that dtype,
    the places of those that it does not hold, where these go). None for all else: what has one dtype, or what
    NumPy promotes to integers on the host.
    """
    if type(v) is not np.ndarray or v.dtype == a.dtype or v.dtype.kind not in "iu" or a.dtype.kind not in "iu":
        return None
    if type(a) is np.ndarray and np.promote_types(v.dtype, a.dtype).kind != "f":
        return None
    info = np.iinfo(a.dtype)
    below, above = v < info.min, v > info.max
    outside = np.flatnonzero(below | above)
    return (np.where(below | above, 0, v).astype(a.dtype), outside,
            np.where(below.reshape(-1)[outside], 0, a.size).astype(_INTP))


@_masu.with_plain_calls
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True,
           sorted=True, device=None):
    """The sorted distinct elements of an array, as `numpy.unique`.

    Optionally gives more, all of intp: the index where each is first (`return_index`), and how often each occurs (`return_counts`).
    `return_inverse` gives the place of each element's value, in ar's shape. `equal_nan=False` keeps every NaN. A value is represented by
    its first occurrence, which tells -0.0 from 0.0. The result is sorted also with sorted=False. `axis`: the distinct parts of an array
    along an axis, of which those with NaN are equal to nothing. On the host, `ar` of several dimensions is handed to NumPy. Returns the
    distinct values, or a tuple of them and the optional arrays.

    Hands to NumPy what `sort` does, and raises what it raises.

    >>> import masu
    >>> values, counts = masu.unique([3, 1, 3], return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """
    if (on := adapter(device, ar)) is None:
        return in_kind(unique, locals())
    data = on.data(ar)
    if data is NUMPY or axis is not None and data.ndim != 1 and on is _host:
        more = {} if sorted else _unsorted
        return on.numpys("unique", ar, lambda x: np.unique(x, return_index, return_inverse, return_counts, axis,
                                                           equal_nan=equal_nan, **more))
    if axis is not None and data.ndim != 1:
        found = _distinct.parts(data, axis)
    else:
        if axis is not None:
            normalize_axis_index(axis, 1)
        every = not equal_nan and data.dtype.kind == "f"
        found = on.distinct(data, bool(return_index), bool(return_inverse), bool(return_counts) or every, device)
        if every:
            on.divide_nans(data, found)
        found[0] = on.converted(found[0], data.dtype)
        if return_inverse:
            found[2] = found[2].reshape(data.shape)
    if not (return_index or return_inverse or return_counts):
        return found[0]
    return tuple([one for one, asked in zip(found, (True, return_index, return_inverse, return_counts)) if asked])


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
    """k as an integer that topk can have. A length that is not known is NaN."""
    if isinstance(k, (bool, np.bool)) or not hasattr(k, "__index__"):
        raise TypeError(f"topk: k must be an integer, got {type(k).__name__}")
    k = k.__index__()
    if k < 1 or k > length:
        most = "" if length != length else f" to {length}"
        raise ValueError(f"topk: k must be from 1{most}, the length of the axis, got {k}")
    return k


def _lengths(on, lengths, data, shape):
    """The lengths of lines, of that shape, as _masu.topk takes them."""
    if not isinstance(lengths, _masu.DeviceArray):
        lengths = _kinds.whole(lengths)
    if lengths.dtype.kind not in "iu":
        raise TypeError(f"topk: lengths must be integers, got {lengths.dtype}")
    if lengths.shape != shape:
        raise ValueError(f"topk: lengths must have the shape {shape}, got {lengths.shape}")
    if not isinstance(lengths, _masu.DeviceArray):
        lengths = on.sent(data, np.ascontiguousarray(lengths, lengths.dtype.newbyteorder("=")))
    return lengths if lengths.dtype.itemsize >= 4 else on.converted(lengths, _INTP)


@_masu.with_plain_calls
def topk(a, k, axis=-1, *, largest=True, lengths=None, sorted=True, index_dtype=None, out=None, device=None):
    """The k largest (or smallest) elements along an axis and where they stand, in order.

    `k`: from 1 to the length of the axis. `axis`: None takes the flattened array. `largest=False`: the smallest first.
    What is equal comes by index, the lower first; NaN counts as the largest. Returns TopK(values, indices), both with
    k in place of the axis's length. Values are of a's dtype and keep their bits. Indices are of intp, or of the
    `index_dtype` int32 for lines of at most 2^31 elements. `out`: a tuple of two arrays for them, as `sort` has it.
    `sorted`: False lets any order do, which is the same one.

    `lengths`: integers in the shape of a without the axis. Of each line only so many of the first elements count: none
    where the length is negative, all where it is beyond the line. Where these are fewer than k, the places after them
    have the index -1 and the value -inf, or inf with `largest=False`. Integers have the least, or the greatest, of the
    dtype there.

    Raises ValueError for a k outside of its range and for lengths of another shape, and AxisError for an axis
    that there is not. Raises TypeError for dtypes that masu has not, and for lengths that are not integers.

    >>> import masu
    >>> masu.topk([3, 9, 1, 9], 2).indices.tolist()
    [1, 3]
    >>> masu.topk([[3., 9., 1.], [4., 5., 6.]], 2, lengths=[2, 1]).values.tolist()
    [[9.0, 3.0], [4.0, -inf]]
    """
    index_dtype = _INTP if index_dtype is None else _kinds.numpy_dtype("topk", index_dtype)
    if (on := adapter(device, a)) is None:
        if out is not None:
            out = tuple(_two(out))
        return in_kind(topk, locals())
    if out is not None:
        values, places = _two(out)
        found = topk(a, k, axis, largest=largest, lengths=lengths, index_dtype=index_dtype, device=device)
        check_out("topk", values, found.values.dtype, found.values.shape, a)
        check_out("topk", places, found.indices.dtype, found.indices.shape, a, values)
        return TopK(written("topk", values, found.values), written("topk", places, found.indices))
    data = on.data(a)
    if data is NUMPY:
        data = a if on is not _host else _kinds.whole(a)
        if not _kinds.has_dtype(data):
            raise TypeError(f"topk: the dtype must be bool, an integer or float16 to float64, got {_kinds.in_words(data.dtype)}")
    data, axis = one_axis(data, axis)
    k = number_of_first(k, data.shape[axis])
    if index_dtype not in (np.int32, np.int64):
        raise TypeError(f"topk: index_dtype must be int32 or int64, got {index_dtype}")
    if lengths is not None:
        lengths = _lengths(on, lengths, data, data.shape[:axis] + data.shape[axis + 1:])
    lines = on.words(on.rows(data, (axis,)))
    values = on.empty(data, shape=(*lines.shape[:-1], k))
    indices = on.empty(values, index_dtype)
    if values.size:
        _masu.topk(lines, on.words(values), indices, k, bool(largest), values.size // k, on.device_for(device, data), lengths)
        if lengths is not None and data.dtype == np.bool:
            values = on.truths(values)
    return TopK(on.converted(on.placed(values, axis), data.dtype), on.placed(indices, axis))
