# SPDX-License-Identifier: Apache-2.0
"""bincount and digitize."""

from __future__ import annotations

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from . import _counts, _fallback, _host, _kinds, _masu, _rules, _small
from ._arrays import adapter, in_kind
from ._device import device_for

_SAMPLE = 1024
_GUESS = 2**16  # as many counters as fit the second-level cache of any processor
_MOST_BINS = 2**31
_UNCOUNTED = 2**62  # from here on no memory is enough; NumPy (2.4.6) does not check all of these, and may damage its own


@_masu.with_plain_calls
def bincount(x, /, weights=None, minlength=0, *, axis=None, device=None):
    """How often each of the integers 0, 1, 2, … occurs: ``numpy.bincount``.

    Parameters
    ----------
    x : array_like of non-negative integers
        The data: one axis, or any number of them with ``axis``.
    weights : array_like, optional
        A weight for each value, of the shape of ``x``; entry i then is the total of the weights of the values i.
    minlength : int, optional
        The least length of the result.
    axis : int or tuple of int, optional
        Count along these axes: one result for each position of the remaining axes, all of one length. NumPy has no
        such parameter.
    device : str or masu.Device, optional
        Where to count data of the host.

    Returns
    -------
    counts : array
        int64 of length ``max(x.max() + 1, minlength)``; float64 with weights. With ``axis``, the shape of the
        remaining axes, then that length.

    Results, warnings and errors are NumPy's; totals of weights are exact, rounded to float64 once.

    >>> import numpy as np, masu
    >>> masu.bincount(np.array([0, 1, 1, 3]))
    array([1, 2, 0, 1])
    >>> masu.bincount(np.array([[0, 1], [1, 1]]), axis=1)
    array([[1, 1],
           [0, 2]])
    """
    small = 4 * _small.limit
    # NumPy's sums of few integers of 32 bits are exact
    plain = axis is None and device is None and (
        weights is None or type(weights) is np.ndarray and weights.dtype.kind in "iu" and weights.dtype.itemsize <= 4)
    if plain and (x.size if type(x) is np.ndarray else len(x) if type(x) is list else small) < small:
        return _numpys(x, weights, minlength)
    if (on := adapter(device, x, weights)) is None:
        return in_kind(bincount, locals())
    data = on.plain(x)
    by = None if weights is None else on.sent(data, on.plain(weights))
    if (on is _host and axis is None and by is not None
            and (found := _weighted(data, by, minlength, device)) is not None):
        return found
    fits = (
        data.size > 0
        and data.dtype.kind in "iub"
        and (data.ndim == 1 or axis is not None)
        and _counted(data.dtype)
        and (by is None or by.shape == data.shape and by.dtype.kind in "iuf" and _kinds.has_dtype(by))
    )
    if not fits:
        if axis is None:
            def ask():
                np.bincount(np.zeros((1,) * data.ndim, data.dtype), None if by is None or by.shape == data.shape else np.empty(2))

            return on.numpys("bincount", x, lambda x: _numpys(x, weights, minlength), ask=ask)
        return on.sent(data, _refused(data, by, minlength, axis))
    # NumPy's own errors for minlength
    least = np.bincount(np.empty(0, np.intp), minlength=minlength).size
    where = on.device_for(device, data)
    axes = None if axis is None else normalize_axis_tuple(axis, data.ndim)
    if axes is None and by is None and on is _host:
        counts = _guessed(data, least, where)
        if counts is not None:
            return counts
    low, high = _counts.extremes(data, where).tolist()
    if low < 0 or high >= _UNCOUNTED:
        return np.bincount(np.array([_UNCOUNTED - 1 if low >= 0 and high < 2**63 else -1]))
    size = max(high + 1, least)
    if size > _MOST_BINS and axes is not None:
        raise ValueError(f"bincount: with axis there must be at most {_MOST_BINS} counts in a row, got {size}")
    if size > _MOST_BINS and on is _host:
        return _numpys(x, weights, minlength)
    return on.sent(data, _counts.integers(data, by, size, axes, where))


def _counted(dtype):
    """Whether NumPy counts integers of the dtype: uint64 from 2.4 on."""
    if np.can_cast(dtype, np.intp):
        return True
    try:
        np.bincount(np.empty(0, dtype))
    except TypeError:
        return False
    return dtype.kind == "u"


def _numpys(x, weights, minlength):
    if type(x) in (list, tuple):
        x = np.asarray(x, np.intp)  # as NumPy converts it
    data = np.asarray(x)
    if (data.ndim == 1 and data.size and data.dtype.kind in "iu" and data.dtype.itemsize == 8 and data.min() >= 0
            and _UNCOUNTED <= data.max() < 2**63):
        np.bincount(np.array([_UNCOUNTED - 1]))
    result = np.bincount(x, weights, minlength)
    if weights is not None and (by := np.asarray(weights)).dtype.kind in _fallback.SUMMED and by.size and not _few_bits(by):
        _fallback.warn("bincount", f"weights of {by.dtype} in {result.size} bins")
    return result


def _few_bits(weights):
    """Whether the weights are integers whose sums are exact as float64."""
    return weights.dtype.kind in "iu" and max(int(weights.max()), -int(weights.min())) * weights.size <= 2**53


def _weighted(x, weights, minlength, device):
    """Exact totals of plain arrays on the CPU; None where another way must be taken."""
    if type(minlength) is not int or not 0 <= minlength <= _MOST_BINS:
        return None
    if (device is not None or x.size >= _small.limit) and device_for(device, x).kind != "cpu":
        return None
    return _masu.weighted_bincount(x, weights, minlength)


def _refused(data, weights, minlength, axis):
    """Counts along axes of nothing; errors for what cannot be counted."""
    axes = normalize_axis_tuple(axis, data.ndim)
    if weights is not None and weights.shape != data.shape:
        raise ValueError("The weights and list don't have the same length.")
    if data.size:
        raise TypeError(f"bincount: axis needs integers and weights of dtypes that masu has, got {data.dtype}")
    shape = tuple(n for i, n in enumerate(data.shape) if i not in axes)
    length = np.bincount(np.empty(0, np.intp), minlength=minlength).size
    return np.zeros((*shape, length), np.intp if weights is None else np.float64)


def _guessed(data, least, device):
    """The counts after one pass over the data, with as many counters as a sample suggests; None where it misleads."""
    flat = _counts.flat(data)
    sample = flat[:: max(1, flat.size // _SAMPLE)].copy()
    size = 256 if flat.dtype.itemsize == 1 else 1 << (3 * int(sample.max()) // 2 + 255).bit_length()
    if size > _GUESS or sample.min() < 0:
        return None
    counts, (below, above, _) = _counts.counted(flat, _masu.integer_bins(size), 1, 1, device)
    if below or above:
        return None
    length = max(int(np.flatnonzero(counts)[-1]) + 1, least)
    if length <= size:
        return counts[:length].copy()
    return np.concatenate([counts, np.zeros(length - size, np.intp)])


@_masu.with_plain_calls
def digitize(x, bins, right=False, *, device=None):
    """The bin of each value: ``numpy.digitize``.

    Parameters are those of NumPy: ``bins`` are monotonic edges. The answer is i where ``bins[i-1] <= x <
    bins[i]``, with ``right`` where ``bins[i-1] < x <= bins[i]``. Decreasing edges turn the comparisons round.
    ``device`` as in `masu.histogram`. Returns int64 of the shape of ``x``, bit for bit as NumPy, and its
    errors.

    >>> import numpy as np, masu
    >>> masu.digitize(np.array([0.2, 6.4, 3.0, 1.6]), [0.0, 1.0, 2.5, 4.0, 10.0])
    array([1, 4, 3, 2])
    """
    if type(x) is list:
        x = np.asarray(x)
    if (on := adapter(device, x, bins)) is None:
        return in_kind(digitize, locals())
    data, edges = on.plain(x), _kinds.plain(_rules.on_host(bins))
    if data.ndim == 0 and on is _host and data.dtype.kind in "iu" and edges.dtype.kind in "iu":
        return digitize(data.reshape(1), edges, right, device=device)[0]
    if data.ndim == 0 and on is _host or not (_kinds.has_dtype(data) and _kinds.has_dtype(edges)) or edges.dtype.kind == "b":
        return on.numpys("digitize", x, lambda x: np.digitize(x, bins, right))
    np.digitize(np.empty(0, data.dtype), edges, right)  # NumPy's errors
    if edges.size == 0 or edges.dtype.kind == "f" and np.isnan(edges).any():
        return on.numpys("digitize", x, lambda x: np.digitize(x, bins, right))
    decreasing = bool(edges[0] > edges[-1])
    if decreasing:
        edges = edges[::-1]
    common = np.result_type(np.uint8 if data.dtype.kind == "b" else data.dtype, edges.dtype)
    if common.kind == "f" and data.dtype.kind in "iu" and edges.dtype.kind in "iu":
        common = edges.dtype  # which thresholds compare with the data's integers
    if data.dtype.itemsize == 8 and data.dtype.kind in "iu" and common.kind == "f":
        data = on.converted(data, common)
    values = on.words(on.native(data))
    before, limits = _thresholds(edges.astype(common, copy=False), values.dtype, right)
    if on is not _host and (before or decreasing):
        raise TypeError("digitize: on a device the edges must increase, and the data's dtype must hold them")
    result = on.empty(values, np.dtype(np.intp))
    if values.size:
        _masu.searchsorted(on.sent(values, limits), values, result, not right, on.device_for(device, values))
    if before:
        result += before
    return np.subtract(edges.size, result, out=result) if decreasing else result


def _thresholds(edges, dtype, left):
    """(how many edges lie before every value, the others as values of the dtype), for searches on one side.

    Each edge is rounded upwards to the dtype, or downwards with `left`. For all x of the dtype, the number of
    edges e <= x, or e < x with `left`, stays the same.
    """
    if edges.dtype == dtype:
        return 0, _kinds.native(edges)
    if dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            near = edges.astype(dtype)
            off = near > edges if left else near < edges
            if not off.any():
                return 0, near
            return 0, np.where(off, np.nextafter(near, dtype.type(-np.inf if left else np.inf)), near)
    info = np.iinfo(dtype)
    whole = edges if edges.dtype.kind in "iu" else np.floor(edges) if left else np.ceil(edges)
    before = int(np.count_nonzero(whole < info.min))
    until = whole.size - int(np.count_nonzero(whole > info.max))
    return before, whole[before:until].astype(dtype)
