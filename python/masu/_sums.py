# SPDX-License-Identifier: Apache-2.0
"""Exact sums, running sums and dot products: floats are added without error and rounded once."""
import math

import numpy as np

from . import _fallback, _host, _kinds, _masu, _small
from ._arrays import adapter, in_kind
from ._axes import one_axis
from ._host import NUMPY, contiguous, words
from ._kinds import FLOATS, NATIVE, WIDE_FLOATS

_ndarray = np.ndarray
_NoValue = np._NoValue


def _loop_dtype(data, dtype, out):
    """The dtype in which NumPy adds."""
    if dtype is None and out is None and data.dtype.kind == "f" and data.dtype.isnative:
        return data.dtype
    if dtype is None:
        dtype = np.promote_types(data.dtype, out.dtype) if out is not None else _WIDE.get(data.dtype.kind, data.dtype)
    return _kinds.dtype_of(dtype).newbyteorder("=")


_WIDE = {"u": np.uintp, "i": np.intp, "b": np.intp}


def _adds(on, data, dtype):
    """Whether masu adds so; on the host NumPy adds integers."""
    return dtype.num in FLOATS or on is not _host and data.dtype.kind != "f" and dtype.kind in "iu"


@_masu.with_plain_calls
def sum(a, axis=None, dtype=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue, *, device=None):
    """The sum along axes, as `numpy.sum`, but exact: of floats the exact sum, rounded once, to nearest.

    `axis`: an axis, several, or None for all. `dtype`: what the sum is rounded to, by default a's dtype; intp or uintp
    for small integers, as NumPy has it. Integers are converted to a float dtype first. `out`, `keepdims`, `initial`
    and `where` as NumPy has them; `initial` is a further addend. So the result does not depend on the order of the
    data, and nothing overflows on the way. A result of zero is 0.0, never -0.0; NaN, or infinities of both signs, give
    NaN, without a warning. Integers are added modulo 2^64, as NumPy does. NaN in a Series of pandas counts as well,
    where pandas' own sums leave it out. Missing values (NA) of its nullable dtypes are a ValueError.

    Raises what NumPy raises, and hands to `numpy.sum` what `sort` hands to NumPy.

    >>> import masu
    >>> float(masu.sum([1e100, 1.0, -1e100]))
    1.0
    """
    if (on := adapter(device, a)) is None:
        return in_kind(sum, locals())

    def numpys(x):
        return _fallback.summed("sum", np.sum(x, axis, dtype, out, keepdims, initial, where), x)

    if axis is dtype is out is None and on is _host and keepdims is initial is where is _NoValue:
        if (found := _host.count_true(a, device)) is not None:
            return np.intp(found)
    data = on.data(a)
    if data is NUMPY or not (out is None or type(out) is _ndarray and out.dtype.num in NATIVE):
        return on.numpys("sum", a, numpys)
    rounded = _loop_dtype(data, dtype, out)
    if on is _host and data.dtype.kind != "f" and rounded.kind != "f":
        return _sum_integers(data, axis, dtype, out, keepdims, initial, where, device, numpys, a)
    if not _adds(on, data, rounded) or on is _host and dtype is not None and not np.dtype(dtype).isnative:
        return on.numpys("sum", a, numpys, ask=lambda: np.sum(np.zeros((1,) * data.ndim, data.dtype), axis, dtype),
                         what=f"a sum of {data.dtype} as {rounded}")
    axes, shape = on.reduced(data, None if data.ndim == 0 and axis in (0, -1) else axis, keepdims)  # of a scalar as NumPy has it
    more = initial is not _NoValue and initial is not None
    chosen = where is not _NoValue and where is not True
    if on is _host:
        if not axes or out is not None and out.shape != shape or more and np.ndim(initial) or chosen and initial is None:
            return numpys(a)
        if data.dtype.kind != "f":
            with np.errstate(over="ignore"):  # of float16
                data = data.astype(rounded)
    elif more:
        initial = np.sum(np.empty(0, rounded), dtype=rounded, initial=initial)  # as NumPy converts it, or its error
    elif initial is None and chosen:
        np.sum(np.empty(1), initial=None, where=np.True_[None])  # NumPy's own error
    if chosen:
        data = on.zeros_elsewhere("sum", data, where)
        if data is NUMPY:
            return numpys(a)
    columns = (on is _host and initial is _NoValue and data.dtype.num in WIDE_FLOATS and data.dtype == rounded
               and _by_columns(data, axes))
    if columns and on.device_for(device, data).kind == "cpu":
        found = np.empty(columns[1], rounded)
        _masu.sum_columns(columns[0], found)
        return on.returned(found.reshape(shape), out)
    lines = on.rows(data, axes)
    if rounded.kind == "f" and data.dtype.kind != "f":
        lines = on.converted(lines, rounded)
    if more:
        initial = np.asarray(initial, rounded).item()
        if rounded.kind == "f":
            lines = on.converted(lines, _kinds.promoted(lines.dtype, rounded))
    totals = on.totals(lines, shape, rounded)
    _masu.sum_rows(lines, totals, FLOATS.get(rounded.num, "f64"), on.device_for(device, lines), initial if more else None)
    return on.returned(on.converted(totals, rounded), out)


def _by_columns(data, axes):
    """(a matrix, its columns) whose columns are to be summed: where all of `axes` lie before the others in memory."""
    kept = [i for i in range(data.ndim) if i not in axes]
    turned = data if axes == tuple(range(len(axes))) else data.transpose(*sorted(axes, reverse=True), *kept)
    if not kept or not (turned.flags.c_contiguous and turned.flags.aligned and data.dtype.isnative):
        return None
    columns = math.prod(data.shape[i] for i in kept)
    return turned.reshape(-1, columns), columns


def _sum_integers(data, axis, dtype, out, keepdims, initial, where, device, numpys, a):
    """Sums of all integers of an array, modulo 2^64; others are NumPy's."""
    plain = (data.size >= _small.limit and axis is None and dtype is None and out is None and initial is _NoValue
             and where is _NoValue and (keepdims is _NoValue or not keepdims) and data.flags.forc)
    if not plain:
        return numpys(data if data.ndim == 1 else _kinds.for_numpy(a))
    flat = words(contiguous(data.reshape(-1, order="A"), data.dtype.newbyteorder("=")))
    total = np.empty((), flat.dtype if data.dtype.itemsize == 8 else _WIDE[data.dtype.kind])
    _masu.sum_rows(flat, total, "u64", _host.device_for(device, data))
    return total[()]


@_masu.with_plain_calls
def cumsum(a, axis=None, dtype=None, out=None, *, device=None):
    """The running sum along an axis, as `numpy.cumsum`, but exact: each is the exact sum, rounded once, to nearest.

    `axis`: None takes the flattened array. `dtype`: the result's, by default a's (intp or uintp for small integers);
    elements are converted to it first. `out`: an array for the result. Running sums of integers are NumPy's, modulo
    2^64. A running sum after a NaN, or after infinities of both signs, is NaN. For a Series of pandas the result is a
    Series with its index.

    Raises what NumPy raises, and hands to `numpy.cumsum` what `sort` hands to NumPy.

    >>> import masu
    >>> masu.cumsum([1e100, 1.0, -1e100]).tolist()
    [1e+100, 1e+100, 1.0]
    """
    if _kinds.is_series(a):
        result = cumsum(_kinds.as_numpy(a), axis, dtype, out, device=device)
        return _kinds.like_series(a, result) if out is None else result
    if (on := adapter(device, a)) is None:
        return in_kind(cumsum, locals())
    data, summed = on.data(a), None
    if data is not NUMPY and (out is None or type(out) is _ndarray and out.dtype.num in NATIVE):
        summed = _loop_dtype(data, dtype, out)
    if summed is None or not _adds(on, data, summed) or out is not None and out.shape != (data.shape, (data.size,))[axis is None]:
        # NumPy (2.4.6) does not check all of these, and may damage its memory.
        if isinstance(out, _ndarray) and (out.ndim == 0 or np.ndim(a) == 1 and out.shape != np.shape(a)):
            raise ValueError("provided out is the wrong size for the accumulation.")
        return on.numpys("cumsum", a, lambda x: _fallback.summed("cumsum", np.cumsum(x, axis, dtype, out), x),
                         what=f"a sum as {summed}")
    data, axis = one_axis(data, axis, True)
    where = on.device_for(device, data)
    sums = on.along("cumsum", data, axis, summed,
                    lambda lines, to, number: _masu.cumsum(
                        lines if lines.dtype.kind != "f" and summed.kind in "iu" and summed.itemsize == 8 else on.converted(lines, summed), to, number, where))
    return sums if out is None else _host.into(out, sums)


@_masu.with_plain_calls
def dot(a, b, out=None, *, device=None):
    """The dot product, as `numpy.dot`, but exact for two arrays of floats in one dimension. The exact sum of
    the exact products is rounded once to the dtype that NumPy promotes both to.

    Infinity times zero is NaN, without a warning. Integers, matrices and all else are NumPy's.

    >>> import masu
    >>> float(masu.dot([1e100, 1.0, -1e100], [1.0, 1.0, 1.0]))
    1.0
    """
    if (on := adapter(device, a, b)) is None:
        return in_kind(dot, locals(), 2)
    if on is not _host:
        return _dot_there(on, a, b)
    left, right = on.data(a), on.data(b)
    if left is NUMPY or right is NUMPY or left.ndim != 1 or left.shape != right.shape:
        return _fallback.summed("dot", np.dot(a, b, out), a)
    common = left.dtype
    if right.dtype != common or not common.isnative:
        common = np.promote_types(common, right.dtype)
    if common.num not in FLOATS or out is not None and not (
            type(out) is _ndarray and out.dtype == common and out.shape == () and out.flags.writeable):
        return _fallback.summed("dot", np.dot(a, b, out), a)
    product = on.totals(left, (), common)
    _masu.dot(contiguous(left, common), contiguous(right, common), product, FLOATS[common.num], on.device_for(device, left))
    return on.returned(on.converted(product, common), out)


def _dot_there(on, a, b):
    """The product of arrays on one device; that of integers is modulo 2^64."""
    if type(a) is not type(b) or a.dtype != b.dtype:
        raise TypeError("dot: both arrays must be on the device, of one dtype")
    if a.ndim != 1 or a.shape != b.shape:
        raise TypeError("dot: arrays on a device must have one dimension and one length")
    if not a.size:
        return on.sent(a, np.zeros((), a.dtype))
    total = on.totals(a, (), a.dtype)
    _masu.dot(a, b, total, "f64", a.device)
    if a.dtype == np.bool:
        return on.sent(a, total.get().astype(np.bool))
    return on.converted(total, a.dtype)  # as NumPy, which adds in the arrays' dtype
