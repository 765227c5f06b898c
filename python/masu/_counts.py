# SPDX-License-Identifier: Apache-2.0
"""Counts, exact totals of weights and extremes of arrays of either adapter, by masu; in host memory."""

from __future__ import annotations

import math

import numpy as np

from . import _host, _masu, _on_device
from ._kinds import native

_MOST_CHANNELS = 16
_PIECE = 2**24  # elements that are counted between two looks at the caller's progress
_SUMS = 2**18  # exact sums at a time: 137 MiB of float64 weights


class NoSuchBins(TypeError):
    """Bins that masu counts on the host alone."""


def subtractable(data):
    """Truth values as uint8, with NumPy's warning."""
    if data.dtype.kind != "b":
        return data
    np.histogram_bin_edges(np.empty(0, bool))
    return _on(data).words(data)


def as_integers_of(edges, data, weights):
    """Integers and their weights to be counted between edges. Where NumPy would round both to float64, these
    are the values that the edges' dtype holds, in that dtype. The others lie outside of all bins.
    """
    kinds = data.dtype.kind + edges.dtype.kind
    if (kinds not in ("iu", "ui") or np.promote_types(data.dtype, edges.dtype).kind != "f" or not edges.size
            or max(int(edges.max()), -int(edges.min())) < 2**53 or weights is not None and weights.shape != data.shape):
        return data, weights
    kept = data >= 0 if kinds == "iu" else data <= np.iinfo(edges.dtype).max
    return data[kept].astype(edges.dtype), None if weights is None else weights[kept]


def _on(data):
    return _on_device if isinstance(data, _masu.DeviceArray) else _host


def extremes(data, device, finite=False):
    """The least and the greatest value as an array of the data's dtype, empty where there is none; NaN propagates.

    With `finite`, those of the finite values.
    """
    if data.size == 0:
        return np.empty(0, data.dtype)
    values, where = flat(data), _on(data).device_for(device, data)
    dtype = data.dtype.newbyteorder("=")
    if finite and dtype.kind == "f":
        return np.array(_masu.finite_range(values, where) or (), dtype)
    pair = np.empty(2, dtype)
    _masu.reduce_rows(values, "minmax", pair[:1], pair[1:], where)
    return pair


def flat(data):
    """All elements in the order in which they lie in memory, contiguous and native: a view where possible."""
    if _on(data) is _on_device:
        return data
    if not data.flags.c_contiguous:
        data = data.ravel(order="K")
    return native(data)


def counted(data, bins, rows, channels, device, tell=None):
    """Counts and what lies outside of `rows` rows; one row in pieces where `tell` gets how much is counted."""
    counts = np.zeros(rows * channels * bins.size, np.int64)
    extras = np.zeros(3 * rows * channels, np.int64)
    if tell is not None and data.size > _PIECE and _on(data) is _host:
        for first, last in _pieces(data.size, tell):
            for sums, more in zip((counts, extras), counted(data[first:last], bins, rows, channels, device)):
                sums += more
    elif data.size:
        _masu.histogram(data, bins, rows, channels, counts, extras, device)
    return counts, extras


def _pieces(size, tell):
    """(first, end) of pieces; `tell` gets where each one ends."""
    for first in range(0, size, _PIECE):
        yield first, min(first + _PIECE, size)
        tell(min(first + _PIECE, size - 1) / size)


def totals_told(data, weights, bins, device, tell):
    """`totals` with variances, of one row in pieces; they are added exactly, and rounded once."""
    whole = None
    for first, last in _pieces(data.size, tell) if data.size else [(0, 0)]:
        part = _masu.WeightedHistogram.of(native(data[first:last]), native(weights[first:last]), bins, device)
        if whole is None:
            whole = part
        else:
            whole.merge(part)
    dtype, sums, beside, variances, beside_variances, _ = whole.result()
    return np.frombuffer(sums, dtype), np.frombuffer(beside, dtype), np.frombuffer(variances + beside_variances)


def _ordered(data, axes):
    """(flat data, rows, channels, shape of the remaining axes) where `axes` are counted along."""
    rest = tuple(i for i in range(data.ndim) if i not in axes)
    shape = tuple(data.shape[i] for i in rest)
    if _on(data) is _on_device:
        return _on_device.rows(data, axes), math.prod(shape), 1, shape
    first = min(axes, default=data.ndim)
    together = sorted(axes) == list(range(first, first + len(axes)))
    channels = math.prod(data.shape[first + len(axes) :])
    if together and channels <= _MOST_CHANNELS and data.flags.c_contiguous:
        # the library counts interleaved channels where they are
        return native(data), math.prod(data.shape[:first]), channels, shape
    return native(data.transpose(rest + tuple(axes))), math.prod(shape), 1, shape


def of_rows(data, bins, axes, device):
    """One histogram for each position of the axes that are not in `axes`."""
    values, rows, channels, shape = _ordered(data, axes)
    return counted(values, bins, rows, channels, device)[0].reshape(*shape, bins.size)


def totals(data, weights, bins, axes, device, variances=False, dtype=None, wrap=True):
    """(totals, what lies outside, variances or None: of the bins, then of what lies outside).

    Without `wrap`, an integer total that does not fit 64 bits is a ValueError that names the bin.
    """
    there = _on(data) is _on_device
    axes = tuple(range(data.ndim)) if axes is None else axes
    shape = tuple(n for i, n in enumerate(data.shape) if i not in axes)
    rows, size = math.prod(shape), bins.size
    dtype = dtype or {"i": np.int64, "u": np.uint64}.get(weights.dtype.kind, np.float64)
    sums, extras = np.zeros((rows, size), dtype), np.zeros((rows, 3), dtype)
    squares = np.zeros((rows, size + 3)) if variances else None
    values, by = data, weights
    if there:
        values, by = _on_device.rows(data, axes), _on_device.rows(weights, axes)
    elif data.size:
        order = tuple(i for i in range(data.ndim) if i not in axes) + axes
        values, by = (native(part.transpose(order)).reshape(rows, -1) for part in (data, weights))
    step = max(1, rows if there else _SUMS // size)
    for start in range(0, rows if data.size else 0, step):
        part = slice(start, start + step)
        _masu.weighted_histogram(
            [values if there else values[part]], by if there else by[part], [bins], len(sums[part]), sums[part],
            extras[part], None if squares is None else squares[part], wrap, device,
        )  # fmt: skip
    return sums.reshape(*shape, size), extras[0] if rows == 1 else extras, None if squares is None else squares[0]


def integers(data, weights, size, axes, device, dtype=np.float64):
    """np.bincount of data that lies in 0 … size - 1; totals of that dtype, None: the one in which they are exact."""
    bins = _masu.integer_bins(size)
    if weights is not None:
        return totals(data, weights, bins, axes, _on(data).device_for(device, data), dtype=dtype)[0]
    return counted(flat(data), bins, 1, 1, device)[0] if axes is None else of_rows(data, bins, axes, device)
