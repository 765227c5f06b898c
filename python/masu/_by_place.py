# SPDX-License-Identifier: Apache-2.0
"""Exact totals of weights where masu lacks NumPy's way to find a value's bin: NumPy's way, then masu's totals of the bins'
numbers. NumPy's own counts decide whether every value was found where NumPy finds it.
"""

from __future__ import annotations

import numpy as np

from . import _bins, _counts, _masu
from ._device import device_for
from ._kinds import WIDE_FLOATS, has_dtype

_MOST_BINS = 2**31
_COMPLEX = (14, 15)  # NumPy's numbers of complex64 and complex128


def histogram(data, bins, range, weights, device):
    """(totals, edges) of np.histogram, exact; None where its totals are NumPy's to find."""
    if weights.shape != data.shape or isinstance(bins, str) or not _summed(weights, "fiuc"):
        return None
    counts, edges = np.histogram(data, bins, range)  # NumPy's errors and warnings
    uniform = np.ndim(bins) == 0
    if len(edges) < 2:
        return None
    try:
        with np.errstate(all="ignore"):
            places = _evenly(data.ravel(), edges, range) if uniform else _between(data.ravel(), edges)
    except (TypeError, ValueError, IndexError):
        return None
    if not np.array_equal(np.bincount(places, minlength=len(edges))[:-1], counts):
        return None
    totals = _totals(places, weights.ravel(), len(counts), device)
    # NumPy keeps the weights' byte order for equal bins only
    return totals.astype(weights.dtype if uniform else weights.dtype.newbyteorder("="), copy=False), edges


def histogramdd(sample, bins, range, weights, device):
    """The same of np.histogramdd."""
    points = sample if len(getattr(sample, "shape", ())) == 2 else np.atleast_2d(sample).T
    points = np.asarray(points)
    if points.ndim != 2 or weights.shape != points.shape[:1] or not _summed(weights, "fiu"):
        return None
    counts, edges = np.histogramdd(sample, bins, range)
    if counts.size > _MOST_BINS:
        return None
    places, inside = np.zeros(len(points), np.intp), np.ones(len(points), bool)
    for column, limits in zip(points.T, edges):
        place = np.searchsorted(limits, column, "right")
        place[column == limits[-1]] -= 1
        inside &= (place >= 1) & (place < len(limits))
        places = places * (len(limits) - 1) + place - 1
    places[~inside] = counts.size
    if not np.array_equal(np.bincount(places, minlength=counts.size + 1)[:-1], counts.ravel()):
        return None
    return _totals(places, weights, counts.size, device, np.float64).reshape(counts.shape), edges


def _summed(weights, kinds):
    return weights.dtype.kind in kinds and (has_dtype(weights) or weights.dtype.num in _COMPLEX)


def _totals(places, weights, size, device, dtype=None):
    """The total of the weights of each place below `size`."""
    if weights.dtype.kind == "c":
        result = np.empty(size, complex)
        result.real = _totals(places, weights.real, size, device)
        result.imag = _totals(places, weights.imag, size, device)
        return result
    found = None
    if weights.dtype.num in WIDE_FLOATS and device_for(device, places).kind == "cpu":
        found = _masu.weighted_bincount(places, weights, size + 1)
    if found is None:
        found = _counts.integers(places, weights, size + 1, None, device, dtype)
    return found[:size]


def _between(data, edges):
    """The bin of each value between given edges, as np.histogram has it; the number of bins where there is none."""
    places = np.searchsorted(edges[:-1], data, "right") - 1
    places[(places < 0) | (np.searchsorted(edges[-1:], data, "left") > 0)] = len(edges) - 1
    return places


def _evenly(data, edges, range):
    """The same of even bins: np.histogram guesses, and corrects the guess by one at most."""
    if not data.size:
        return np.empty(0, np.intp)
    first, last = _bins.ends(range if range is not None else (data.min(), data.max()))
    bins = len(edges) - 1
    kept = (data >= first) & (data <= last)
    values = data[kept].astype(edges.dtype, copy=False)
    at = (_bins.difference(values, first) / _bins.difference(last, first) * bins).astype(np.intp)
    at[at == bins] -= 1
    at[values < edges[at]] -= 1
    at[(values >= edges[at + 1]) & (at != bins - 1)] += 1
    places = np.full(data.shape, bins)
    places[kept] = at
    return places
