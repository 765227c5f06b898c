# SPDX-License-Identifier: Apache-2.0
"""Exact means, variances and standard deviations."""
import operator

import numpy as np

from . import _fallback, _host, _masu
from ._arrays import adapter, in_kind
from ._host import NUMPY
from ._kinds import FLOATS, dtype_of

_NoValue = np._NoValue


@_masu.with_plain_calls
def mean(a, axis=None, dtype=None, out=None, keepdims=_NoValue, *, where=_NoValue, device=None):
    """The mean along axes, as `numpy.mean`, but exact: the real mean of the elements, rounded once, to nearest.

    `axis`: an axis, several, or None for all. `dtype`: what the mean is rounded to, float16 to float64; by default a's
    dtype, float64 for integers. `out` and `keepdims` as NumPy has them. Nothing overflows on the way, and the order of
    the data does not matter. A result of zero is 0.0, never -0.0; NaN, or infinities of both signs, give NaN, without
    a warning.

    Raises what NumPy raises. Means of nothing, other dtypes and calls with `where` along an axis are NumPy's.

    >>> import masu
    >>> float(masu.mean([1e100, 1.0, -1e100, 2.0]))
    0.75
    """
    return _found(mean, np.mean, a, axis, dtype, out, keepdims, where, device)


@_masu.with_plain_calls
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NoValue, *, where=_NoValue, mean=_NoValue,
        correction=_NoValue, device=None):
    """The variance along axes, as `numpy.var`, but exact: the real variance of the elements, rounded once, to nearest.

    Parameters are those of `mean`. `ddof`, or `correction`: the sum of the squared distances from the mean is divided
    by the number of elements minus this. Data with NaN or an infinity give NaN, without a warning.

    Raises what NumPy raises. These are NumPy's: at most `ddof` elements, other dtypes, a `ddof` that is
    negative or no integer, `mean`, and `where` along an axis.

    >>> import masu
    >>> float(masu.var([1e8 + 1, 1e8 + 2, 1e8 + 3], ddof=1))
    1.0
    """
    return _found(var, np.var, a, axis, dtype, out, keepdims, where, device, ddof=ddof, mean=mean, correction=correction)


@_masu.with_plain_calls
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NoValue, *, where=_NoValue, mean=_NoValue,
        correction=_NoValue, device=None):
    """The standard deviation along axes, as `numpy.std`, but exact: the root of the real variance, rounded once, to
    nearest.

    Parameters, errors and what is NumPy's are those of `var`. It is finite also where the variance is too large for the
    dtype.

    >>> import masu
    >>> float(masu.std([1e8 + 1, 1e8 + 2, 1e8 + 3], ddof=1))
    1.0
    """
    return _found(std, np.std, a, axis, dtype, out, keepdims, where, device, ddof=ddof, mean=mean, correction=correction)


def _found(function, numpys, a, axis, dtype, out, keepdims, where, device, **more):
    """mean, var or std; `more`: what var and std have beside the mean's parameters."""
    if (on := adapter(device, a)) is None:
        return in_kind(function, locals() | more)
    less = -1  # this is subtracted from the number of elements; None where NumPy judges `more`
    if more:
        less = freedom(more["ddof"], more["correction"]) if more["mean"] is _NoValue else None
    if less == -1 and on is _host and axis is dtype is out is None and keepdims is where is _NoValue:
        if (found := _host.count_true(a, device)) is not None:
            return np.float64(found / a.size)
    data, found = NUMPY if less is None else _host.data(a) if on is _host else a, NUMPY
    if data is not NUMPY and (where is _NoValue or where is True and on is not _host):
        found = _moment(on, numpys, data, axis, dtype, out, less, keepdims, device)
    elif data is not NUMPY and out is None and (on is not _host or axis is None):
        axes, shape = on.reduced(data, axis, keepdims)
        data = on.chosen(numpys.__name__, data, where, axes)
        if data is not NUMPY:
            found = _moment(on, numpys, data, None, dtype, None, less, _NoValue, device)
        if found is not NUMPY and shape:
            found = found.reshape(shape)
    if found is not NUMPY:
        return found
    more = {name: value for name, value in {**more, "keepdims": keepdims, "where": where}.items() if value is not _NoValue}
    return on.numpys(numpys.__name__, a, lambda x: _fallback.summed(numpys.__name__, numpys(x, axis, dtype, out, **more), x),
                     ask=lambda: numpys(np.zeros((1,) * a.ndim, a.dtype), axis, dtype, **{**more, "where": True}),
                     what="this dtype, ddof or mean")


def freedom(ddof, correction):
    """What is taken from the number of elements; None where NumPy is to judge it."""
    if correction is not _NoValue:
        if ddof != 0:
            return None
        ddof = correction
    try:
        less = operator.index(ddof)
    except TypeError:
        return None
    return less if 0 <= less < 2**63 else None


def rounded_to(data, dtype):
    """The dtype of the result; None where masu lacks it."""
    if dtype is None:
        dtype = data.dtype.newbyteorder("=") if data.dtype.kind == "f" else np.float64
    try:
        dtype = dtype_of(dtype)
    except TypeError:
        return None
    return dtype if dtype.num in FLOATS and dtype.isnative else None


def _moment(on, numpys, data, axis, dtype, out, less, keepdims, device):
    """Means, variances or their roots; NUMPY where they are NumPy's."""
    if out is not None and (type(out) is not np.ndarray or out.dtype.num not in FLOATS):
        return NUMPY
    if dtype is None and out is not None and data.dtype.kind == "f":
        dtype = np.promote_types(data.dtype, out.dtype)  # as NumPy computes
    rounded = rounded_to(data, dtype)
    axes, shape = on.reduced(data, axis, keepdims)
    if rounded is None or axes is None or out is not None and out.shape != shape:
        return NUMPY
    lines = on.rows(data, axes)
    if lines.shape[-1] <= max(less, 0) or not lines.size:
        return on.few(numpys, lines, shape, dtype, less)
    found = on.totals(lines, shape, rounded)
    _masu.moments(on.words(lines), found, FLOATS[rounded.num], less, numpys is np.std, on.device_for(device, lines))
    return on.returned(on.converted(found, rounded), out)
