# SPDX-License-Identifier: Apache-2.0
"""Medians and quantiles: NumPy's own rules, on elements that masu finds.

NumPy's functions part a copy of the data around the places they need, and compute with what stands there. Here they get
an array whose partition() has masu find those places' elements and writes these alone. So every rule, warning and error is
that of the running NumPy, but for what lies between two elements (_interpolation.py).
"""
import functools
import math
import mmap

import numpy as np

from . import _device, _host, _interpolation, _kinds, _masu, _small, _weighted_quantile
from ._arrays import adapter, in_kind
from ._axes import reduced
from ._host import NUMPY, words
from ._interpolation import Unforeseen, applied, exact_q

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

_ndarray = np.ndarray
_RESERVED = 2**20  # bytes from which memory is neither there nor promised until it is written, page by page


# What a call ends with that NumPy's own function judges: which of several errors comes first is NumPy's to say.
_NUMPYS = (Unforeseen, IndexError, TypeError, ValueError)


class _Parted(_interpolation.Interpolated):
    """Stands for data in NumPy's functions: only the places that partition() was asked for are there."""

    __array_ufunc__ = None  # type: ignore[assignment]
    find = None  # find(places): the elements at these places of each row's order, a row of them for each

    def __array_finalize__(self, base):
        super().__array_finalize__(base)
        self.find = getattr(base, "find", None)

    def partition(self, kth, axis=-1, kind="introselect", order=None):
        out = np.moveaxis(self.view(_ndarray), axis, -1)
        places = np.unique(np.asarray(kth, np.intp) % out.shape[-1])
        out[..., places] = self.find(places).reshape(*out.shape[:-1], places.size)

    def __getitem__(self, index):
        found = super().__getitem__(index)
        return found.view(_ndarray) if isinstance(found, _Parted) else found

    def _unforeseen(self, *args, **keywords):
        raise Unforeseen

    sort = argsort = copy = flatten = mean = sum = _unforeseen


def of_found(function, shape, axes, dtype, find, out=None, keepdims=False, **keywords):
    """NumPy's function of data of that shape over `axes`, where find(places) gives the elements at these places of the
    order of what lies along them, a row of places for each position of the other axes.
    """
    ndim = len(shape)
    asked = []

    def noted(places):
        asked.append(True)
        return find(places)

    kept = tuple(shape[i] for i in range(ndim) if i not in axes)
    parted = _unwritten((*kept, math.prod(shape[i] for i in axes)), np.dtype(dtype)).view(_Parted)
    parted.find = noted
    if isinstance(function, functools.partial):
        function, keywords = function.func, {**function.keywords, **keywords}
    if "q" in keywords:
        keywords["q"], parted.narrow = exact_q(function, dtype, keywords["q"], parted.shape[-1])
    target = out
    if keepdims and out is not None:
        target = out[(..., *(0 if i in axes else slice(None) for i in range(ndim)))]
    result = function(parted, axis=-1, out=target, overwrite_input=True, **keywords)
    if not asked:
        raise Unforeseen
    if out is not None:
        return out
    if keepdims:
        result = result[(..., *(np.newaxis if i in axes else slice(None) for i in range(ndim)))]
    return result


class _Told(Exception):
    """What NumPy's function seeks is known."""


class _Element(_interpolation.Neighbours):
    """Stands for elements in NumPy's interpolation: notes at which t it is."""

    weights: list

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **keywords):
        if ufunc is not np.subtract or self.dtype == np.bool:
            raise Unforeseen
        return self

    def __mul__(self, t):
        self.weights.append(t)
        raise _Told


class _Sought(_Parted):
    """Stands for data in NumPy's functions, to see which places they look at."""

    places: list
    weights: list

    def __array_finalize__(self, base):
        self.places, self.weights = getattr(base, "places", []), getattr(base, "weights", [])

    def partition(self, kth, axis=-1, kind="introselect", order=None):
        pass

    def take(self, indices, *args, **keywords):
        self.places.append(indices)
        raise _Told

    def __getitem__(self, index):
        if not isinstance(index, (_ndarray, np.integer)):
            return super().__getitem__(index)
        self.places.append(index)
        element = np.zeros((), self.dtype).view(_Element)
        element.weights = self.weights
        return element


def points(function, count, dtype, q, method):
    """Which elements of the order of `count`, and what between them, NumPy's function of q gives: (places of the first,
    places of the second, weights, kinds, dtype of the results, their shape); the kinds are those of masu::QuantilePoint.
    Raises NumPy's errors, and Unforeseen.
    """
    dtype = np.dtype(dtype)
    q, narrow = exact_q(function, dtype, q, count)
    data = _unwritten((count,), dtype).view(_Sought)
    data.places, data.weights = [], []
    try:
        function(data, q=q, axis=-1, overwrite_input=True, method=method)
    except _Told:
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
    return (*(np.ravel(places[i]) for i in (0, -1)), np.ravel(weights).astype(np.float64), np.ravel(kinds), dtype,
            places[0].shape)


def plain_points(percent, count, dtype, q, method):
    """`points` for calls that only enqueue, with the bytes of the results in place of their dtype, 0 for that of the data,
    and behind them what `double_quantiles` gives; None for what the usual way must say.
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
    """(`q` as float64, from 0 to 1, a method's name) where NumPy computes places by masu's formulas of that method in
    float64, so that a device can do so for numbers of elements that it finds; else no elements.
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


def several_axes(axes, ndim):
    """Whether NumPy's nan functions bring several axes, or none, together as the last one beside others."""
    return len(axes) != 1 and len(axes) < ndim


def _at(rows, places, device):
    number = rows.size // rows.shape[-1]
    found = np.empty((number, len(places)), rows.dtype)
    _masu.elements_at(words(rows), words(found), number, list(places), _device.resolve(device))
    return found


def _without_nan(numpys, plain, data, axis, out, keepdims, device, **keywords):
    """NumPy's nan function: `plain`, the function without nan, of what is no NaN in each row. NaN is behind all else in
    the order, so that the elements of a row are those at its first places.
    """
    axes, shape = reduced(data, axis, keepdims)
    rows = _host.rows(data, axes)
    q = keywords.get("q", 0)
    if np.ndim(q) > 1 and several_axes(axes, data.ndim) or isinstance(q, _ndarray) and type(q) is not _ndarray:
        raise Unforeseen  # NumPy has an order of the axes of its own, and results of a subclass
    kept = rows.shape[:-1]
    if out is not None and getattr(out, "shape", None) != (*(np.shape(keywords["q"]) if "q" in keywords else ()), *shape):
        raise Unforeseen
    rows = rows.reshape(-1, rows.shape[-1])
    length = rows.shape[1]
    counts = length - np.count_nonzero(np.isnan(rows), axis=1) if rows.dtype.kind == "f" else np.full(len(rows), length)
    parts = []
    for count in np.unique(counts)[::-1].tolist():  # NaNs alone are warned of, which must not happen before an error
        chosen = np.flatnonzero(counts == count)
        these = rows if chosen.size == len(rows) else rows[chosen]
        if count == 0:
            nans = np.full((chosen.size, length)[not kept:], np.nan, rows.dtype)
            found = numpys(nans, axis=-1, **keywords)
        else:
            of = ((count,), (0,)) if kept == () else ((len(these), count), (1,))
            found = of_found(plain, *of, rows.dtype, lambda places: _at(these, places.tolist(), device), **keywords)
        parts.append((chosen, np.asarray(found)))
    if not kept:
        result = parts[0][1]
    else:
        first = next(found for chosen, found in parts if chosen[0] == 0)  # NumPy's dtype is that of the first row's
        result = np.empty((*first.shape[:-1], len(rows)), first.dtype)
        for chosen, found in parts:
            result[..., chosen] = found
        result = result.reshape(*first.shape[:-1], *kept)
    result = result.reshape((*result.shape[:result.ndim - len(kept)], *shape))
    if out is None:
        return result[()]
    out[...] = result[()]  # of one number NumPy assigns the number
    return out


def _of_q(function, numpys, plain, percent, a, q, axis, out, overwrite_input, method, keepdims, weights, device):
    """A function of q; `plain`: the function without nan, None where that is NumPy's itself."""
    if (on := adapter(device, a)) is None:
        return in_kind(function, locals())
    if on is not _host:
        if weights is None:
            return _there(on, numpys, plain, a, axis, keepdims, q=q, method=method)
        return _weighted_quantile.found(on, numpys, plain, a, q, axis, keepdims, method, weights)
    if weights is not None:
        return _weighted_quantile.here(numpys, a, q, axis, out, overwrite_input, method, keepdims, weights=weights)
    found = _here(numpys, plain, a, axis, out, keepdims, device, q=q, method=method)
    return applied(numpys, a, q, axis, out, overwrite_input, method, keepdims) if found is NUMPY else found


def _of_middle(function, numpys, plain, a, axis, out, overwrite_input, keepdims, device):
    """The same of the medians."""
    if (on := adapter(device, a)) is None:
        return in_kind(function, locals())
    if on is not _host:
        return _there(on, numpys, plain, a, axis, keepdims)
    found = _here(numpys, plain, a, axis, out, keepdims, device)
    return applied(numpys, a, axis, out, overwrite_input, keepdims) if found is NUMPY else found


def _here(numpys, plain, a, axis, out, keepdims, device, **options):
    """The same of an array in host memory; NUMPY where NumPy's own function is to be called."""
    rows = plain is np.median and axis is not None and np.ndim(a) > 1  # of which NumPy's is an arithmetic of its own
    little = (not rows and type(a) is _ndarray and a.size < _small.limit and device is None
              and (a.dtype.kind != "f" or not _masu.has_both_zeros(a)))  # NumPy chooses among zeros of both signs as masu does
    data = NUMPY if little else _host.data(a)
    if data is NUMPY or not data.dtype.isnative and numpys is not np.nanmedian:
        return NUMPY
    try:
        if plain is None:
            axes, _ = reduced(data, axis, False)
            lines = _host.rows(data, axes)
            return of_found(numpys, data.shape, axes, data.dtype, lambda places: _at(lines, places.tolist(), device), out,
                            keepdims, **options)
        return _without_nan(numpys, plain, data, axis, out, keepdims, device, **options)
    except _NUMPYS:
        return NUMPY


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
        if options:
            *where, dtype, front = points(plain or numpys, count, a.dtype, **options)
            doubles, formulas = double_quantiles(plain, a.dtype, **options) if skips else ((), "")
            if skips and not doubles.size and where[0].size:
                raise Unforeseen
    except _NUMPYS:
        return on.numpys(numpys.__name__, a, call)
    lines, number = on.rows(a, axes), a.size // count
    if not options:
        found = on.empty(a, None if a.dtype.kind == "f" else "f64", shape)
        _masu.medians(lines, found, number, plain is not None)
        return found
    found = on.empty(a, dtype if where[-1].any() else None, (*front, *shape))
    if found.size and skips:
        _masu.nan_quantiles(lines, found, number, formulas, doubles)
    elif found.size:
        _masu.quantiles(lines, found, number, *where)
    return on.converted(found, dtype)


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
    return _of_middle(median, np.median, None, a, axis, out, overwrite_input, keepdims, device)


@_masu.with_plain_calls
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=np._NoValue, *, device=None):
    """The median along an axis of what is no NaN, as `numpy.nanmedian`.

    Parameters are those of `median`. Where there are NaNs alone the result is NaN, with NumPy's warning.

    >>> import masu
    >>> float(masu.nanmedian([4.0, float("nan"), 3.0, 2.0]))
    3.0
    """
    return _of_middle(nanmedian, np.nanmedian, np.median, a, axis, out, overwrite_input, keepdims, device)


@_masu.with_plain_calls
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
             device=None):
    """Quantiles along an axis, as `numpy.quantile`.

    `q`: a number from 0 to 1, or an array of them, whose shape comes first in the result's. `axis`, `out`,
    `overwrite_input` and `keepdims` as for `median`. `method`: one of NumPy's thirteen. Places are computed by NumPy, in the
    dtype of `q`, among more than 65,504 elements in float64. What lies between two elements is NumPy's, to the bit, but where
    its formula wraps round, overflows or loses digits: there it is the real number, rounded once. A NaN makes every quantile
    NaN. With `weights`: the first element at which the exact running sum of the weights reaches the quantile of their exact
    sum; zeros of both signs are ordered stably.

    Raises ValueError for a q outside of 0 to 1 and for an unknown method, and hands to NumPy what `sort` does.

    >>> import masu
    >>> masu.quantile([1.0, 2.0, 3.0, 4.0, 5.0], [0.25, 0.5]).tolist()
    [2.0, 3.0]
    """
    return _of_q(quantile, np.quantile, None, False, a, q, axis, out, overwrite_input, method, keepdims, weights, device)


@_masu.with_plain_calls
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
               device=None):
    """Percentiles along an axis, as `numpy.percentile`: `quantile`, with `q` from 0 to 100.

    >>> import masu
    >>> masu.percentile([1.0, 2.0, 3.0, 4.0, 5.0], [25, 50]).tolist()
    [2.0, 3.0]
    """
    return _of_q(percentile, np.percentile, None, True, a, q, axis, out, overwrite_input, method, keepdims, weights, device)


@_masu.with_plain_calls
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=np._NoValue, *, weights=None,
                device=None):
    """Quantiles along an axis of what is no NaN, as `numpy.nanquantile`.

    Parameters are those of `quantile`. Where there are NaNs alone the result is NaN, with NumPy's warning.

    >>> import masu
    >>> float(masu.nanquantile([1.0, float("nan"), 3.0], 0.5))
    2.0
    """
    return _of_q(nanquantile, np.nanquantile, np.quantile, False, a, q, axis, out, overwrite_input, method, keepdims, weights, device)


@_masu.with_plain_calls
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=np._NoValue, *, weights=None,
                  device=None):
    """Percentiles along an axis of what is no NaN, as `numpy.nanpercentile`: `nanquantile`, with `q` from 0 to 100.

    >>> import masu
    >>> float(masu.nanpercentile([1.0, float("nan"), 3.0], 50))
    2.0
    """
    return _of_q(nanpercentile, np.nanpercentile, np.percentile, True, a, q, axis, out, overwrite_input, method, keepdims, weights, device)
