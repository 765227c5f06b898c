# SPDX-License-Identifier: Apache-2.0
"""Medians and quantiles: NumPy's own rules, on elements that masu finds.

NumPy's function of q is called with an array that only notes at which places of the order it looks, and with which
weights. masu finds the elements at these places. So every rule, warning and error is that of the running NumPy,
but for numbers between two elements. There NumPy's formula wraps round, overflows and loses digits; masu's result
is the real number, rounded once.
"""
import math
import mmap
from typing import NamedTuple

import numpy as np

from . import _device, _host, _kinds, _masu, _small, _weighted_quantile
from ._arrays import adapter, in_kind
from ._axes import reduced
from ._device_array import in_memory
from ._host import NUMPY
from ._on_device import converted, empty

_ndarray = np.ndarray
_RESERVED = 2**20  # bytes from which memory is neither there nor promised until it is written, page by page
_NARROW = _kinds.FLOATS.keys() - {12}  # float16 and float32
_MOST_NARROW = 65_504  # elements up to which places are computed in q's dtype where that is narrower than float64


class Unforeseen(Exception):
    """NumPy's function did something else with the data than part it and take elements."""


# What a call ends with that NumPy's own function judges: which of several errors comes first is NumPy's to say.
_NUMPYS = (Unforeseen, IndexError, TypeError, ValueError)


class _Noted(Exception):
    """What NumPy's function seeks is known."""


class _Element(_ndarray):
    """Stands for elements in NumPy's interpolation, (b - a) * t: notes t."""

    weights: list

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **keywords):
        if ufunc is not np.subtract or self.dtype == np.bool:
            raise Unforeseen
        return self

    def __mul__(self, t):
        self.weights.append(t)
        raise _Noted


class _Sought(_ndarray):
    """Stands for data in NumPy's functions, to see which places they look at."""

    __array_ufunc__ = None  # type: ignore[assignment]
    places: list
    weights: list

    def __array_finalize__(self, base):
        self.places, self.weights = getattr(base, "places", []), getattr(base, "weights", [])

    def partition(self, kth, axis=-1, kind="introselect", order=None):
        pass

    def take(self, indices, *args, **keywords):
        self.places.append(indices)
        raise _Noted

    def __getitem__(self, index):
        if not isinstance(index, (_ndarray, np.integer)):
            return self.view(_ndarray)[index]
        self.places.append(index)
        element = np.zeros((), self.dtype).view(_Element)
        element.weights = self.weights
        return element

    def _unforeseen(self, *args, **keywords):
        raise Unforeseen

    sort = argsort = copy = flatten = mean = sum = _unforeseen


def _exact_q(function, dtype, q, count):
    """(`q`, None) usually. NumPy may compute places among `count` elements in float16 or float32, which end at
    65,504 or round. Then it is (`q` in float64, the dtype that the results would have).
    """
    if count <= _MOST_NARROW:
        return q, None
    known = type(q) in (int, float) or type(q) is _ndarray or isinstance(q, np.generic)
    if not known or (q.dtype if hasattr(q, "dtype") else np.dtype(dtype)).num not in _NARROW:
        return q, None
    try:
        return np.asarray(q, np.float64)[()], np.asarray(function(np.zeros(3, dtype), q)).dtype
    except (TypeError, ValueError):
        return q, None  # NumPy says what is wrong


class Points(NamedTuple):
    """Elements of an order, and what is computed of them."""

    first: np.ndarray  # places
    second: np.ndarray
    weights: np.ndarray
    kinds: np.ndarray  # of masu::QuantilePoint
    dtype: np.dtype  # of the results
    shape: tuple  # that of q

    def places(self, count):
        """All places that are looked at, ascending, the last of `count` too, where NaN is, if there is one."""
        return np.unique(np.concatenate((self.first, self.second, [count - 1])).astype(np.intp))


def points(function, count, dtype, q, method):
    """Which elements of the order of `count`, and what between them, NumPy's function of q gives. Raises NumPy's errors, and
    Unforeseen."""
    dtype = np.dtype(dtype)
    q, narrow = _exact_q(function, dtype, q, count)
    data = _unwritten((count,), dtype).view(_Sought)
    data.places, data.weights = [], []
    try:
        function(data, q=q, axis=-1, overwrite_input=True, method=method)
    except _Noted:
        pass
    else:
        raise Unforeseen
    places = [np.asarray(part, np.int64) % count for part in data.places]
    if len(places) == 1:
        weights, kinds = np.zeros(places[0].shape), np.zeros(places[0].shape, np.uint8)
    elif len(places) == 2 and data.weights:
        t, = data.weights
        dtype = narrow or np.result_type(dtype, t if type(t) is float else t.dtype)
        kinds = np.where(np.asarray(t) >= 0.5, np.uint8(2), np.uint8(1))
        weights = np.where(kinds == 2, 1 - np.asarray(t), t)
        whole = dtype.kind in "iu" and not np.where(places[0] == places[1], 0, weights).any()
        if weights.shape != places[0].shape or not (whole or dtype.num in _kinds.FLOATS):
            raise Unforeseen
        if whole:  # q are the integers 0 and 1
            places = [np.where(kinds == 2, *places[::-1])]
            kinds = np.zeros_like(kinds)
    else:
        raise Unforeseen
    return Points(*(np.ravel(places[i]) for i in (0, -1)), np.ravel(weights).astype(np.float64), np.ravel(kinds), dtype,
                  places[0].shape)


def plain_points(percent, count, dtype, q, method):
    """`points` for calls that only enqueue: the bytes of the results stand in place of their dtype, 0 for that
    of the data. What `double_quantiles` gives follows. None where the usual way gives the result or the error.
    """
    function = np.percentile if percent else np.quantile
    try:
        with np.errstate(all="ignore"):
            *found, result, shape = points(function, count, dtype, q, method)
    except Exception:  # what NumPy says of it
        return None
    own = result == np.dtype(dtype) and not found[-1].any()
    if not own and result.kind != "f":
        return None
    return (*found, 0 if own else result.itemsize, shape, *double_quantiles(function, dtype, q, method))


def double_quantiles(function, dtype, q, method):
    """(`q` as float64, from 0 to 1, a method's name) where NumPy computes places by masu's formulas of that
    method in float64. So a device can compute them for numbers of elements that it finds. Else an empty tuple.
    """
    wanted = np.ravel(q)
    if wanted.dtype not in (np.float64, np.int64, np.uint64):
        return np.empty(0), method
    wanted = np.true_divide(wanted, 100) if function is np.percentile else wanted.astype(np.float64)
    for name in (method, "lower"):  # of an array of the integers 0 and 1 NumPy takes elements as they are
        if all(_computed_alike(function, dtype, q, method, count, wanted, name) for count in (1, 2, 5, 10, 97, 1000)):
            return wanted, name
    return np.empty(0), method


def _computed_alike(function, dtype, q, method, count, wanted, name):
    """Whether NumPy's points of q are those of masu's formulas."""
    first, second, weights, kinds, _, _ = points(function, count, dtype, q, method)
    own_first, own_second, own_weights, own_kinds = map(np.asarray, _masu.points_of_method(name, count, wanted))
    between = kinds != 0
    return (np.array_equal(first, own_first) and np.array_equal(kinds, own_kinds)
            and np.array_equal(second[between], own_second[between])
            and np.array_equal(weights[between], own_weights[between]))


def _unwritten(shape, dtype):
    """Zeros, which take memory only where they are written; Dask's arrays may be larger than all memory."""
    size = math.prod(shape) * dtype.itemsize
    if size < _RESERVED:
        return np.zeros(shape, dtype)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    try:
        memory = mmap.mmap(-1, size, flags=flags)
    except OSError:
        raise MemoryError(f"quantile: {size} bytes of address space are needed") from None
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)  # a few elements are written: a large page each would be cleared for them
    return np.frombuffer(memory, dtype).reshape(shape)


def wanted(function, count, dtype, **options):
    """`points`, and the same of medians, whose kinds are None."""
    if options:
        return points(function, count, dtype, **options)
    dtype = np.dtype(dtype)
    return Points(np.array([(count - 1) // 2]), np.array([count // 2]), None, None, dtype if dtype.kind == "f" else np.dtype(np.float64), ())


def computed(lines, number, points):
    """What NumPy's function gives for `number` lines in device memory: for each q a row with a result for each line."""
    first, second, weights, kinds, dtype, shape = points
    found = empty(lines, None if kinds is not None and not kinds.any() else dtype, (*shape, number))
    if kinds is None:
        _masu.medians(lines, found, number, False)
    elif found.size:
        _masu.quantiles(lines, found, number, first, second, weights, kinds)
    return converted(found, dtype)


def several_axes(axes, ndim):
    """Whether NumPy's nan functions bring several axes, or none, together as the last one beside others; it moves axes of q then."""
    return len(axes) != 1 and len(axes) < ndim


def _here(numpys, plain, a, axis, out, keepdims, device, **options):
    """The same of an array in host memory; NUMPY where NumPy's own function is to be called."""
    data = _host.data(a)
    if data is NUMPY or _is_little(data, plain, axis, device):
        return NUMPY
    q = options.get("q", 0)
    try:
        axes, shape = reduced(data, axis, keepdims)
        moves = plain is not None and np.ndim(q) > 1 and several_axes(axes, data.ndim)
        if (isinstance(q, _ndarray) and type(q) is not _ndarray or not np.size(q)
                or moves and (out is not None or len(shape) + len(axes) > data.ndim)):
            raise Unforeseen  # results of a subclass, or none at all; axes of q at places of NumPy's own
        if out is not None and (type(out) is not _ndarray or out.shape != (*np.shape(q), *shape)):
            raise Unforeseen
        lines = _host.rows(data, axes)
        result, kinds = _of_lines(numpys, plain, lines.reshape(-1, lines.shape[-1]), _device.device_for(device, data), options)
        result = result.reshape((*result.shape[:-1], *shape))
        chosen = kinds is not None and result.dtype == lines.dtype and not kinds.any()
        if chosen and (np.ndim(q) or plain is None and len(axes) < data.ndim):
            result = result.astype(data.dtype, copy=False)  # but for numbers, with its byte order
        if moves:
            first = list(range(np.ndim(q)))
            result = np.moveaxis(np.moveaxis(result, first, [i - np.ndim(q) for i in first]), [i - 1 for i in first], first)
        if out is None:
            if plain is None and len(axes) == data.ndim and not np.ndim(q) and np.isnan(result).all() and np.isnan(lines).any():
                result = result.astype(lines.dtype)  # one NaN is the data's
            return result[()]
        if plain is not None:
            out[...] = result[()]  # as NumPy's nan functions assign: of one number the number
        else:  # elements, and what NumPy computes in the dtype of `out`, go to an array of their dtype alone
            np.copyto(out, result, casting="equiv" if chosen or not options else "same_kind")
        return out
    except _NUMPYS:
        return NUMPY


def _is_little(data, plain, axis, device):
    """Whether NumPy's function is as right, and sooner done with so few elements."""
    if data.size >= _small.limit or device is not None or plain is np.median and axis is not None and data.ndim > 1:
        return False  # NumPy computes nanmedian of several lines in another arithmetic
    if data.dtype.kind == "b":
        return True
    low, high = data.min(), data.max()
    if data.dtype.kind == "f":  # NumPy chooses among zeros of both signs as masu does
        return not _masu.has_both_zeros(data) and -_GREAT[data.dtype.num] < low and high < _GREAT[data.dtype.num]
    return int(high) - int(low) <= np.iinfo(data.dtype).max and (data.dtype.itemsize < 8 or -2**52 < low and high < 2**52)


_GREAT = {number: np.finfo(char).max / 4 for number, char in ((23, "e"), (11, "f"), (12, "d"))}


def _of_lines(numpys, plain, lines, device, options):
    """(Results of lines in host memory, their kinds.) `plain`: the function without nan, of what is no NaN in each."""
    length = lines.shape[1]
    groups = {length: slice(None)}
    if plain is not None and lines.dtype.kind == "f":
        counts = length - np.count_nonzero(np.isnan(lines), axis=1)
        groups = {count: np.flatnonzero(counts == count) for count in np.unique(counts)[::-1].tolist()}
    parts, kinds = [], np.ones(1)
    for count, chosen in groups.items():  # NaNs alone are warned of, which must not happen before an error
        these = lines if len(groups) == 1 else lines[chosen]
        if count:
            these = these if count == length else these[these == these].reshape(-1, count)
            points = wanted(plain or numpys, count, lines.dtype, **options)
            found, kinds = computed(in_memory(these, device), len(these), points).get(), points.kinds
            warn_of_infinities(found, these, options)
        else:
            found = numpys(these if len(lines) > 1 else these[0], axis=-1, **options)
        parts.append(np.reshape(found, (*np.shape(options.get("q", 0)), len(these))))
    if len(parts) == 1:
        return parts[0], kinds
    first = next(part for chosen, part in zip(groups.values(), parts) if chosen[0] == 0)  # whose dtype is NumPy's
    result = np.empty((*first.shape[:-1], len(lines)), first.dtype)
    for chosen, found in zip(groups.values(), parts):
        result[..., chosen] = found
    return result, kinds


def warn_of_infinities(found, lines, options):
    """NumPy's warning where its formula gives NaN between numbers."""
    nan = np.isnan(found) if found.dtype.kind == lines.dtype.kind == "f" else np.zeros(1, bool)
    if nan.any() and (nan & ~np.isnan(lines).any(axis=1)).any():
        infinite = np.full(2, np.inf)
        np.subtract(infinite, infinite) if options else np.mean(infinite * [1, -1])


def _found(function, numpys, plain, a, axis, out, overwrite_input, keepdims, device, q=None, method=None, weights=None, of_q=False):
    """A median, or a function of q; `plain`: the function without nan, None where that is NumPy's itself."""
    if (on := adapter(device, a)) is None:
        return in_kind(function, locals())
    options = {"q": q, "method": method} if of_q else {}
    if on is not _host:
        if weights is None:
            return _there(on, numpys, plain, a, axis, keepdims, **options)
        return _weighted_quantile.found(on, numpys, plain, a, q, axis, keepdims, method, weights)
    more = {"axis": axis, "out": out, "overwrite_input": overwrite_input, "keepdims": keepdims, **options}
    if weights is not None:
        return _weighted_quantile.here(numpys, plain, a, weights, **more)
    found = _here(numpys, plain, a, axis, out, keepdims, device, **options)
    return numpys(_as_given(a), **more) if found is NUMPY else found


def _as_given(a):
    """The data for NumPy's function: as a plain array, if it is one of numbers."""
    data = _kinds.as_numpy(a)
    if type(data) is np.memmap:
        data = data.view(_ndarray)
    return data if type(data) is _ndarray and data.dtype.num in _kinds.NATIVE - {_kinds.BOOL} else a


def _there(on, numpys, plain, a, axis, keepdims, **options):
    """The same of an array on a device."""
    def call(x):
        return numpys(x, axis=axis, keepdims=keepdims, **options)

    skips = plain is not None and a.dtype.kind == "f"
    try:
        axes, shape = reduced(a, axis, keepdims)
        if on.data(a) is NUMPY or plain is not None and np.ndim(options.get("q")) > 1 and several_axes(axes, a.ndim):
            raise Unforeseen
        count = math.prod(a.shape[i] for i in axes)
        points = wanted(plain or numpys, count, a.dtype, **options)
        doubles, formulas = double_quantiles(plain, a.dtype, **options) if skips and options else ((), "")
        if skips and options and not doubles.size and points.kinds.size:
            raise Unforeseen
    except _NUMPYS:
        return on.numpys(numpys.__name__, a, call)
    lines, number = on.rows(a, axes), a.size // count
    if not skips:
        return computed(lines, number, points).reshape((*points.shape, *shape))
    found = on.empty(a, points.dtype if points.kinds is None or points.kinds.any() else None, (*points.shape, *shape))
    if not options:
        _masu.medians(lines, found, number, True)
    elif found.size:
        _masu.nan_quantiles(lines, found, number, formulas, doubles)
    return on.converted(found, points.dtype)


@_masu.with_plain_calls
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False, *, device=None):
    """The median along an axis, as `numpy.median`.

    `axis`: an axis, several, or None for the flattened array. `out`: an array for the result. `overwrite_input`:
    allowed as NumPy has it; `a` is left as it is. `keepdims`: the reduced axes stay with length 1. The mean of the
    middle two is rounded once; it does not overflow. A NaN makes the median NaN. Returns float64, or a's dtype for floats.

    Raises what NumPy raises, and hands to NumPy what `sort` does.

    >>> import masu
    >>> float(masu.median([4.0, 1.0, 3.0, 2.0]))
    2.5
    """
    return _found(median, np.median, None, a, axis, out, overwrite_input, keepdims, device)


@_masu.with_plain_calls
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=np._NoValue, *, device=None):
    """The median along an axis of what is no NaN, as `numpy.nanmedian`.

    Parameters are those of `median`. Where there are NaNs alone the result is NaN, with NumPy's warning.

    >>> import masu
    >>> float(masu.nanmedian([4.0, float("nan"), 3.0, 2.0]))
    3.0
    """
    return _found(nanmedian, np.nanmedian, np.median, a, axis, out, overwrite_input, keepdims, device)


@_masu.with_plain_calls
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
             device=None):
    """Quantiles along an axis, as `numpy.quantile`.

    `q`: a number from 0 to 1, or an array of them, whose shape comes first in the result's. `axis`, `out`,
    `overwrite_input` and `keepdims` as for `median`. `method`: one of NumPy's thirteen. Places are computed by NumPy, in the
    dtype of `q`, among more than 65,504 elements in float64. A number between two elements is NumPy's, to the bit. Where
    NumPy's formula wraps round, overflows or loses digits, it is the real number, rounded once. A NaN makes every quantile
    NaN. With `weights`, the result is the first element at which the exact running sum of the weights reaches the quantile
    of their exact sum. Zeros of both signs are ordered stably.

    Raises ValueError for a q outside of 0 to 1 and for an unknown method, and hands to NumPy what `sort` does.

    >>> import masu
    >>> masu.quantile([1.0, 2.0, 3.0, 4.0, 5.0], [0.25, 0.5]).tolist()
    [2.0, 3.0]
    """
    return _found(quantile, np.quantile, None, a, axis, out, overwrite_input, keepdims, device, q, method, weights, True)


@_masu.with_plain_calls
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
               device=None):
    """Percentiles along an axis, as `numpy.percentile`: `quantile`, with `q` from 0 to 100.

    >>> import masu
    >>> masu.percentile([1.0, 2.0, 3.0, 4.0, 5.0], [25, 50]).tolist()
    [2.0, 3.0]
    """
    return _found(percentile, np.percentile, None, a, axis, out, overwrite_input, keepdims, device, q, method, weights, True)


@_masu.with_plain_calls
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=np._NoValue, *, weights=None,
                device=None):
    """Quantiles along an axis of what is no NaN, as `numpy.nanquantile`.

    Parameters are those of `quantile`. Where there are NaNs alone the result is NaN, with NumPy's warning.

    >>> import masu
    >>> float(masu.nanquantile([1.0, float("nan"), 3.0], 0.5))
    2.0
    """
    return _found(nanquantile, np.nanquantile, np.quantile, a, axis, out, overwrite_input, keepdims, device, q, method, weights, True)


@_masu.with_plain_calls
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=np._NoValue, *, weights=None,
                  device=None):
    """Percentiles along an axis of what is no NaN, as `numpy.nanpercentile`: `nanquantile`, with `q` from 0 to 100.

    >>> import masu
    >>> float(masu.nanpercentile([1.0, float("nan"), 3.0], 50))
    2.0
    """
    return _found(nanpercentile, np.nanpercentile, np.percentile, a, axis, out, overwrite_input, keepdims, device, q, method, weights, True)
