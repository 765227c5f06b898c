# SPDX-License-Identifier: Apache-2.0
"""histogram and histogram_bin_edges, and what masu.Histogram is made of."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from . import _arrays, _bins, _by_place, _device, _fallback, _masu, _small
from ._lines import device_for

_MOST_ROWS = 2**20  # of one native call
_MOST_CHANNELS = 16
_MOST_BINS = 2**31
_MANY_BINS = 16  # for one element
_FEW = 2**14  # elements whose weights are added without preparing the bins
_SUMS = 2**18  # exact sums at a time: 137 MiB of float64 weights


@_masu.with_plain_calls
def histogram(a, bins=10, range=None, density=None, weights=None, *, axis=None, device=None):
    """How many values fall into each bin: ``numpy.histogram``, many times faster, on the device where the data is.

    Parameters
    ----------
    a : array_like
        The data, of any shape.
    bins : int, sequence of edges or str
        As in NumPy: a number of equal bins, the edges themselves, or the name of a rule for their number.
    range : (lower, upper), optional
        As in NumPy: the ends of equal bins; without it, the least and greatest value.
    density : bool, optional
        Whether to return the probability density, whose integral over the bins is 1.
    weights : array_like, optional
        A weight for each value, of the shape of ``a``; each bin then holds the total of its weights.
    axis : int or tuple of int, optional
        Count along these axes only: one histogram for each position of the remaining axes, all with the same bins,
        found from all of ``a``. NumPy has no such parameter.
    device : str or masu.Device, optional
        Where to count data of the host; ``"cpu"`` unless MASU_DEVICE says otherwise.

    Returns
    -------
    hist : array
        The counts, int64, of shape ``(n,)``; with ``axis``, the shape of the remaining axes, then ``n``. With weights
        their totals, of the weights' dtype; with density, float64.
    edges : array
        All n + 1 edges, of the dtype that NumPy gives them.

    Counts, edges, dtypes, warnings and errors are NumPy's, bit for bit. Totals of floating-point weights are exact: the
    real sum, rounded to float64 once and then to the weights' dtype, where NumPy's carry rounding errors; totals of
    integer weights are exact, modulo the weights' dtype. Data, edges or weights of a dtype that masu lacks (object,
    longdouble, datetime; complex data) are NumPy's to count; with ``axis`` they are a TypeError. Where NumPy sums the
    weights, masu.Fallback is issued.

    >>> import numpy as np, masu
    >>> masu.histogram([1, 2, 1], bins=[0, 1, 2, 3])
    (array([0, 2, 1]), array([0, 1, 2, 3]))
    >>> masu.histogram(np.array([[1, 2, 1], [1, 0, 1]]), bins=[0, 1, 2, 3], axis=1)[0]
    array([[0, 2, 1],
           [1, 2, 0]])
    """
    if type(a) is list:
        return histogram(np.asarray(a), bins, range, density, weights, axis=axis, device=device)
    if _arrays.foreign(a, bins, weights):
        if weights is None and axis is None and not density and device is None:
            found = None
            if range is None:
                found = _masu.enqueue_histogram_of_all(a, bins, _bins.over)
            elif type(range) is tuple and len(range) == 2:
                found = _masu.enqueue_histogram(a, bins, *range, _bins.between)
            if found is not None:
                return found
        options = {"bins": bins, "range": range, "density": density, "weights": weights, "axis": axis}
        return _arrays.in_kind(histogram, a, **options, device=device)
    data = _subtractable(_arrays.plain(a))
    by = None if weights is None else _arrays.plain(weights)
    found = None
    if (by is not None and axis is None and type(bins) is int
            and (data.size <= _FEW or bins > _MANY_BINS * data.size)
            and device_for(device, data.size).kind == "cpu"):
        found = _by_place.even(data, bins, range, by)
    if found is None:
        found = _count(data, bins, range, by, axis, device)
    if found is None:
        if axis is not None:
            raise TypeError(f"histogram: with axis {_lacking(data, by, bins)}")
        found = None if by is None else _by_place.histogram(data, bins, range, by, device)
    if found is None:
        result = np.histogram(data, bins, range, density, weights)
        if by is not None and by.dtype.kind in _fallback.SUMMED:
            _fallback.warn("histogram", f"weights of {by.dtype} for data of {data.dtype}")
        return result
    hist, edges = found
    if density:
        widths = np.array(np.diff(edges), float)
        hist = hist / widths / (hist.sum() if axis is None else hist.sum(axis=-1, keepdims=True))
    return hist, edges


def histogram_bin_edges(a, bins=10, range=None, weights=None, *, device=None):
    """The edges that `histogram` uses: ``numpy.histogram_bin_edges``, without NumPy's passes over the data.

    Parameters are those of `histogram`. Edges, dtype, warnings and errors are those of the running NumPy, which is
    asked about the least and the greatest value alone; rules by name (``bins="auto"`` …) are NumPy's own computation, for
    data on a device with the deviation, the quartiles and the counts that masu finds there.

    >>> import masu
    >>> masu.histogram_bin_edges([0, 0, 0, 1, 2, 3, 3, 4, 5], bins=5)
    array([0., 1., 2., 3., 4., 5.])
    """
    if type(a) is list:
        a = np.asarray(a)
    if _arrays.foreign(a, bins):
        if range is None and weights is None and device is None:
            found = _masu.enqueue_bin_edges(a, bins, _bins.over)
            if found is not None:
                return found
        options = {"bins": bins, "range": range, "weights": weights}
        return _arrays.in_kind(histogram_bin_edges, a, **options, device=device)
    if type(a) is np.ndarray and a.size < 4 * _small.limit or isinstance(bins, str) or weights is not None:
        return np.histogram_bin_edges(a, bins, range, weights)
    data = _arrays.plain(a)
    if not _arrays.has_dtype(data):
        return np.histogram_bin_edges(a, bins, range)
    return _bins.edges_of(data.dtype, bins, range, lambda: extremes(data, device))


def _subtractable(data):
    """Truth values as uint8, with NumPy's warning."""
    if data.dtype.kind != "b":
        return data
    np.histogram_bin_edges(np.empty(0, bool))
    return data.view(np.uint8)


def extremes(data, device, finite=False):
    """The least and the greatest value as an array of the data's dtype, empty where there is none; NaN propagates.

    With `finite`, those of the finite values.
    """
    if data.size == 0:
        return np.empty(0, data.dtype)
    values = flat(data)
    wide = finite and data.dtype.kind == "f"
    pair = np.empty(2, np.float64 if wide else values.dtype)
    if not _masu.extremes(values, pair, finite, _device.resolve(device)):
        return np.empty(0, data.dtype)
    return pair.astype(data.dtype.newbyteorder("="), copy=False)


def everything(a, bins, range, weights, device):
    """What masu.Histogram consists of: counts or totals, edges, below, above, nan, variances."""
    data, by, bins = (_arrays.taken(x, device) if _arrays.foreign(x) else x for x in (a, weights, bins))
    with _masu.OnStream(_arrays.on_devices(data, by, bins)):
        return _everything(data, bins, range, by, device)


def _everything(data, bins, range, by, device):
    if isinstance(bins, _masu.DeviceArray):
        bins = bins.get()
    given = data
    if not isinstance(data, _masu.DeviceArray) or by is not None or data.dtype.kind == "b":
        # the weights' way is the host's
        given = _arrays.whole(data)
        data = _subtractable(given)
        by = None if by is None else _arrays.whole(by)
    found = _count(data, bins, range, by, None, device, complete=True)
    if found is None:
        raise TypeError(f"Histogram: {_lacking(given, by, bins)}")
    return found


def _lacking(data, weights, bins):
    """What of a call is of a dtype that masu lacks, in words."""
    if not _arrays.has_dtype(data):
        return f"the data must be of a dtype that masu has, got {data.dtype}"
    if weights is not None and weights.shape != data.shape:
        return f"the weights must have the shape of the data, {data.shape}, got {weights.shape}"
    if weights is not None and (weights.dtype.kind == "b" or not _arrays.has_dtype(weights)):
        return f"the weights must be integers or float16 to float64, got {weights.dtype}"
    if isinstance(bins, str):
        return f"rules for bins by name take no weights, got {bins!r}"
    return f"these bins are not supported for data of {data.dtype}, got edges of {np.asarray(bins).dtype}" if np.ndim(
        bins) else f"this range is not supported for data of {data.dtype}"


def _count(data, bins, range, weights, axis, device, complete=False):
    """(hist, edges), None where masu does not have what NumPy does. `complete`: what `everything` returns."""
    if not _arrays.has_dtype(data):
        return None
    if weights is not None and (
        isinstance(bins, str)
        or weights.shape != data.shape
        or weights.dtype.kind == "b"
        or not _arrays.has_dtype(weights)
    ):
        # a bad shape is NumPy's to refuse
        if axis is not None and weights.shape != data.shape:
            raise ValueError("weights should have the same shape as a.")
        return None
    axes = None if axis is None else normalize_axis_tuple(axis, data.ndim)
    uniform = np.ndim(bins) == 0
    if isinstance(bins, str):
        edges = np.histogram_bin_edges(data, bins, range)
        spec = _bins.spec(data.dtype.newbyteorder("="), edges, True, range)
    else:
        def ask():
            return _bins.edges_and_spec(data.dtype, bins, range, lambda: extremes(data, device, finite=complete))

        try:
            with np.errstate(divide="raise", over="raise", invalid="raise"):
                edges, spec = ask()
        except FloatingPointError:
            if not complete and axes is None:
                return None  # NumPy's to warn of
            edges, spec = ask()
    if spec is None or len(edges) > _MOST_BINS:
        return None
    where = _device.resolve(device)
    if weights is None:
        if axes is not None:
            counts = _rows(data, spec, axes, where)
            return None if counts is None else (counts, edges)
        found = native(flat(data), spec, 1, 1, where)
        if found is None:
            return None
        counts, extras = found
        return (counts, edges, *extras.tolist()) if complete else (counts, edges)
    totals = _totals(data, weights, spec, axes, where, complete, wrap=not complete)
    if totals is None:
        return None
    hist, extras, variances = totals
    if complete:
        return hist, edges, *extras.tolist(), variances
    # NumPy keeps the weights' byte order for equal bins only
    dtype = weights.dtype if uniform and axes is None else weights.dtype.newbyteorder("=")
    return hist.astype(dtype, copy=False), edges


def flat(data):
    """All elements in the order in which they lie in memory, contiguous and native: a view where possible."""
    if isinstance(data, _masu.DeviceArray):
        return data
    if not data.flags.c_contiguous:
        data = data.ravel(order="K")
    return _arrays.native(data)


def native(data, spec, rows, channels, device):
    """Counts and what lies outside of `rows` rows; None where NumPy's f16 arithmetic is not masu's."""
    bins = _bins.size(spec)
    counts = np.empty(rows * channels * bins, np.int64)
    extras = np.empty(3 * rows * channels, np.int64)
    return (counts, extras) if _masu.histogram(data, spec, rows, channels, counts, extras, device) else None


def _ordered(data, axes):
    """(flat data, rows, channels, shape of the remaining axes) where `axes` are counted along."""
    rest = tuple(i for i in range(data.ndim) if i not in axes)
    shape = tuple(data.shape[i] for i in rest)
    first = min(axes, default=data.ndim)
    together = sorted(axes) == list(range(first, first + len(axes)))
    channels = math.prod(data.shape[first + len(axes) :])
    if together and channels <= _MOST_CHANNELS and data.flags.c_contiguous:
        # the library counts interleaved channels where they are
        return _arrays.native(data), math.prod(data.shape[:first]), channels, shape
    return _arrays.native(data.transpose(rest + tuple(axes))), math.prod(shape), 1, shape


def _rows(data, spec, axes, device):
    """One histogram for each position of the axes that are not in `axes`."""
    values, rows, channels, shape = _ordered(data, axes)
    bins = _bins.size(spec)
    if data.size == 0:
        return np.zeros((*shape, bins), np.int64)
    values = values.reshape(rows, -1)
    parts = []
    for start in range(0, rows, _MOST_ROWS):
        piece = values[start : start + _MOST_ROWS]
        found = native(piece, spec, len(piece), channels, device)
        if found is None:
            return None
        parts.append(found[0])
    return (parts[0] if len(parts) == 1 else np.concatenate(parts)).reshape(*shape, bins)


def _totals(data, weights, spec, axes, device, variances=False, dtype=None, wrap=True):
    """(totals, what lies outside, variances or None); None where NumPy's f16 arithmetic is not masu's.

    Without `wrap`, an integer total that does not fit 64 bits is a ValueError that names the bin.
    """
    if axes is None:
        rows, shape = 1, ()
        values, by = _arrays.native(data).reshape(1, -1), _arrays.native(weights).reshape(1, -1)
    else:
        order = tuple(i for i in range(data.ndim) if i not in axes)
        shape = tuple(data.shape[i] for i in order)
        rows = math.prod(shape)
        order += axes
        values = _arrays.native(data.transpose(order)).reshape(rows, -1) if data.size else data
        by = _arrays.native(weights.transpose(order)).reshape(rows, -1) if data.size else weights
    bins = _bins.size(spec)
    exact = {"i": np.int64, "u": np.uint64}.get(weights.dtype.kind, np.float64)
    dtype = dtype or exact
    totals = np.zeros((rows, bins), dtype)
    extras = np.zeros((rows, 3), dtype)
    squares = np.zeros((rows, bins)) if variances else None
    step = max(1, _SUMS // bins)
    for start in range(0, rows if data.size else 0, step):
        part = slice(start, start + step)
        same = _masu.weighted_histogram(
            [values[part]], by[part], [spec], len(values[part]), totals[part], extras[part],
            None if squares is None else squares[part], wrap, device,
        )  # fmt: skip
        if not same:
            return None
    return totals.reshape(*shape, bins), extras[0] if rows == 1 else extras, None if squares is None else squares[0]


def integers(data, weights, size, axes, device, dtype=np.float64):
    """np.bincount of data that lies in 0 … size - 1; totals of that dtype, None: the one in which they are exact."""
    spec = _bins.integers(size)
    if weights is not None:
        return _totals(data, weights, spec, axes, _device.resolve(device), dtype=dtype)[0]
    return native(flat(data), spec, 1, 1, device)[0] if axes is None else _rows(data, spec, axes, device)
