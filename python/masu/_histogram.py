# SPDX-License-Identifier: Apache-2.0
"""histogram and histogram_bin_edges, and what masu.Histogram is made of."""

from __future__ import annotations

import types

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from . import _arrays, _bins, _by_place, _counts, _fallback, _host, _kinds, _masu, _moments, _on_device, _quantile, _rules, _small
from ._arrays import adapter, in_kind

_MOST_BINS = 2**31
_FEW = 2**14  # elements


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
    real sum, rounded to float64 once and then to the weights' dtype. NumPy's carry rounding errors. Totals of
    integer weights are exact, modulo the weights' dtype. Data, edges or weights of a dtype that masu lacks (object,
    longdouble, datetime; complex data) are NumPy's to count; with ``axis`` they are a TypeError. Where NumPy sums the
    weights, masu.Fallback is issued. Masked elements are left out, which NumPy counts; with ``axis`` they are a ValueError.

    >>> import numpy as np, masu
    >>> masu.histogram([1, 2, 1], bins=[0, 1, 2, 3])
    (array([0, 2, 1]), array([0, 1, 2, 3]))
    >>> masu.histogram(np.array([[1, 2, 1], [1, 0, 1]]), bins=[0, 1, 2, 3], axis=1)[0]
    array([[0, 2, 1],
           [1, 2, 0]])
    """
    if type(a) is list:
        return histogram(np.asarray(a), bins, range, density, weights, axis=axis, device=device)
    a, weights, bins = _given(a, weights, bins, axis)
    if (on := adapter(device, a, bins, weights)) is None:
        return in_kind(histogram, locals())
    _bins.check_edges("histogram", bins := _rules.on_host(bins))
    data = on.plain(a)
    if on is _host and data.dtype.kind == "O" and weights is None and (range is not None or np.ndim(bins)):
        data = data[np.equal(data, data, dtype=object).astype(bool)]  # NumPy's order of objects has no place for NaN
    data = _counts.subtractable(data)
    by = None if weights is None else on.sent(data, on.plain(weights))
    if on is _host and axis is None and data.dtype.kind in "iu" and np.ndim(bins) == 1:
        data, by = _counts.as_integers_of(np.asarray(bins), data, by)
        weights = weights if by is None else by
    found = _count(on, data, bins, range, by, axis, device, there=on is not _host and not density)
    if found is None and on is not _host:
        of = f", got edges of {_kinds.in_words(np.asarray(bins).dtype)}" if np.ndim(bins) else ""
        raise _counts.NoSuchBins(f"histogram: these bins are not supported for {a.dtype} on a device{of}")
    if found is None:
        if axis is not None:
            raise TypeError(f"histogram: with axis {lacking(data, by, bins)}")
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
    return on.sent(data, hist), on.sent(data, edges)


@_masu.with_plain_calls
def histogram_bin_edges(a, bins=10, range=None, weights=None, *, device=None):
    """The edges that `histogram` uses: ``numpy.histogram_bin_edges``, without NumPy's passes over the data.

    Parameters are those of `histogram`. Edges, dtype, warnings and errors are those of the running NumPy, which
    gets the least and the greatest value alone. Rules by name (``bins="auto"`` …) are NumPy's own computation.
    For data on a device, masu finds the deviation, the quartiles and the counts there.

    >>> import masu
    >>> masu.histogram_bin_edges([0, 0, 0, 1, 2, 3, 3, 4, 5], bins=5)
    array([0., 1., 2., 3., 4., 5.])
    """
    if type(a) is list:
        a = np.asarray(a)
    a, weights, bins = _given(a, weights, bins, None)
    if (on := adapter(device, a, bins)) is None:
        return in_kind(histogram_bin_edges, locals())
    _bins.check_edges("histogram_bin_edges", bins := _rules.on_host(bins))
    if on is _host and isinstance(bins, str) and weights is None:
        _check_rule("histogram_bin_edges", _kinds.as_numpy(a), bins, range)
    if on is _host and (type(a) is np.ndarray and a.size < 4 * _small.limit or isinstance(bins, str) or weights is not None):
        return np.histogram_bin_edges(a, bins, range, weights)
    data = on.plain(a)
    if not _kinds.has_dtype(data):
        return np.histogram_bin_edges(a, bins, range)
    if weights is not None and np.shape(weights) != a.shape:
        raise ValueError(f"histogram_bin_edges: weights must have the shape {a.shape} of a, got {np.shape(weights)}")
    data = _counts.subtractable(data)
    bins = _definite("histogram_bin_edges", data, bins, range, weights)
    return on.sent(data, _bins.edges_of(data.dtype, bins, range, lambda: _counts.extremes(data, device)))


def _check_rule(name, data, rule, range):
    """Raises ValueError where a rule finds too many bins for data of the host."""
    if type(data) is np.ndarray and data.dtype.kind in "iuf" and _kinds.has_dtype(data):
        _rules.check_number(name, rule, data, lambda x: _counts.extremes(x, None), range, _SUMMARIES)


def _definite(name, data, bins, range, weights):
    """Bins of data on a device, a number in place of a rule's name."""
    if not isinstance(bins, str):
        return bins
    if weights is not None:
        np.histogram_bin_edges(np.zeros(1), bins, range, np.ones(1))  # NumPy's error
    return _rules.number_by(name, bins, data, lambda x: _counts.extremes(x, None), range, _SUMMARIES)


def everything(a, bins, range, weights, device, tell=None):
    """What masu.Histogram consists of: counts or totals, edges, below, above, nan, variances. `tell` gets how much is counted."""
    data, by, bins = (_arrays.read(x, device, "Histogram") if _kinds.foreign(x) or _kinds.float8_of(x) else x for x in (a, weights, bins))
    with _masu.OnStream(_arrays.on_devices(data, by, bins)):
        _bins.check_edges("Histogram", bins := _rules.on_host(bins))
        on, given = _on_device if isinstance(data, _masu.DeviceArray) else _host, data
        if on is _host or by is not None or data.dtype.kind == "b":
            # the weights' way is the host's
            on, given = _host, _kinds.whole(data)
            data = _counts.subtractable(given)
            by = None if by is None else _kinds.whole(by)
        found = _count(on, data, bins, range, by, None, device, complete=True, tell=tell)
    if found is None:
        raise TypeError(f"Histogram: {lacking(given, by, bins)}")
    return found


def _given(a, weights, bins, axis):
    """The arguments without what is masked, and bins of Arrow's as an array."""
    if isinstance(a, np.ma.MaskedArray) or isinstance(weights, np.ma.MaskedArray):
        a, weights = _kinds.unmasked(a, weights) if axis is None else (
            _kinds.whole(a), None if weights is None else _kinds.whole(weights))
    return a, weights, _kinds.for_numpy(bins)


def lacking(data, weights, bins):
    """What of a call is of a dtype that masu lacks, in words."""
    if not _kinds.has_dtype(data):
        first = data.flat[0] if data.dtype.kind in "OUT" and data.size else None
        of = f" of {type(first).__name__}" if data.dtype.kind == "O" and data.size else ""
        hint = "; texts need bins=masu.Bins.categories([…])" if isinstance(first, str) and data.ndim else ""
        return f"the data must be of a dtype that masu has, got {_kinds.in_words(data.dtype)}{of}{hint}"
    if weights is not None and weights.shape != data.shape:
        return f"the weights must have the shape of the data, {data.shape}, got {weights.shape}"
    if weights is not None and (weights.dtype.kind == "b" or not _kinds.has_dtype(weights)):
        return f"the weights must be integers or float16 to float64, got {weights.dtype}"
    if isinstance(bins, str):
        return f"rules for bins by name take no weights, got {bins!r}"
    if np.ndim(bins) == 1 and np.size(bins) < 2:
        return f"there must be at least two edges, got {np.size(bins)}"
    return f"these bins are not supported for data of {data.dtype}, got edges of {_kinds.in_words(np.asarray(bins).dtype)}" if np.ndim(
        bins) else f"this range is not supported for data of {data.dtype}"


def _count(on, data, bins, range, weights, axis, device, complete=False, there=False, tell=None):
    """(hist, edges), None where masu does not have what NumPy does. `complete`: what `everything` returns. `there`: counts may
    stay on the device."""
    if not _kinds.has_dtype(data):
        return None
    bins = _rules.on_host(bins)
    if on is not _host:
        bins = _definite("histogram", data, bins, range, weights)
    if weights is not None and (
        isinstance(bins, str)
        or weights.shape != data.shape
        or weights.dtype.kind == "b"
        or not _kinds.has_dtype(weights)
    ):
        # a bad shape is NumPy's to refuse
        if (axis is not None or on is not _host) and weights.shape != data.shape:
            raise ValueError("weights should have the same shape as a.")
        return None
    axes = None if axis is None else normalize_axis_tuple(axis, data.ndim)
    uniform = np.ndim(bins) == 0
    if isinstance(bins, str):
        _check_rule("histogram", data, bins, range)
        edges = np.histogram_bin_edges(data, bins, range)
        spec = _bins.spec(data.dtype.newbyteorder("="), edges, True, range)
    else:
        def ask():
            return _bins.edges_and_spec(data.dtype, bins, range, lambda: _counts.extremes(data, device, finite=complete))

        try:
            with np.errstate(divide="raise", over="raise", invalid="raise"):
                edges, spec = ask()
        except FloatingPointError:
            if not complete and axes is None and on is _host:
                return None  # NumPy's to warn of
            edges, spec = ask()
    if len(edges) < 2 and on is not _host:  # no bins, as NumPy has it
        shape = () if axes is None else tuple(n for i, n in enumerate(data.shape) if i not in axes)
        return np.zeros((*shape, 0), np.intp if weights is None else weights.dtype), edges
    if spec is None or len(edges) > _MOST_BINS:
        return None
    if data.size <= _FEW and on is _host:
        edges, spec = _bins.soon_prepared(data.dtype, edges, spec)
    where = on.device_for(device, data)
    if weights is None:
        if there and data.size and (axes is None or len(axes) == data.ndim):
            return _on_device.histogram(data, spec, _kinds.native(edges))
        if axes is not None:
            return _counts.of_rows(data, spec, axes, where), edges
        counts, extras = _counts.counted(_counts.flat(data), spec, 1, 1, where, tell)
        return (counts, edges, *extras.tolist()) if complete else (counts, edges)
    if tell is None:
        hist, extras, variances = _counts.totals(data, weights, spec, axes, where, complete, wrap=not complete)
    else:
        hist, extras, variances = _counts.totals_told(data.reshape(-1), weights.reshape(-1), spec, where, tell)
    if complete:
        return hist, edges, *extras.tolist(), variances
    # NumPy keeps the weights' byte order for equal bins only
    dtype = weights.dtype if uniform and axes is None else weights.dtype.newbyteorder("=")
    return hist.astype(dtype, copy=False), edges


_SUMMARIES = types.SimpleNamespace(std=_moments.std, percentile=_quantile.percentile, histogram=histogram)
