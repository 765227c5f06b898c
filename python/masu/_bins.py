# SPDX-License-Identifier: Apache-2.0
"""Bins made definite: the edges that the running NumPy computes, and how masu counts between them."""

from __future__ import annotations

import functools
import math
import operator

import numpy as np

from . import _masu

_EXACT = 2**53  # up to here f64 has every integer
_MOST_OFF = 0.25  # bins that a guess may be off for its width alone
_MOST_KEPT_BINS = 10_000  # of edges that are kept
PLAIN = frozenset((int, float))


def check_edges(name, bins):
    """Raises ValueError where a NaN is among the edges; NumPy's counts may be negative then. `bins`: of one column or several."""
    several = type(bins) in (list, tuple) and any(map(np.ndim, bins))
    for part in bins if several else [bins]:
        if type(part) in (int, str) or not np.ndim(part):
            continue
        edges = np.asarray(part)
        if edges.dtype.kind == "f" and (nan := np.isnan(edges)).any():
            raise ValueError(f"{name}: edges must be numbers, got NaN at {int(np.flatnonzero(nan)[0])}")


def _beyond_exact(number):
    """Whether NumPy compares this end of a range exactly with 64-bit integers where masu rounds them to f64."""
    try:
        return abs(operator.index(number)) >= _EXACT
    except TypeError:
        return False


def edges_of(dtype, bins, range, extremes):
    """The edges as np.histogram_bin_edges has them, for `bins` that are no name; its errors and warnings too.

    `extremes()` gives the least and greatest value of the data as an array, or an empty one. NumPy is asked about
    these two values alone: nothing else of the data decides.
    """
    kept = _kept(dtype, bins, range)
    if kept is not None:
        return kept[0].copy()
    proxy = extremes() if range is None and np.ndim(bins) == 0 else np.empty(0, dtype)
    return np.histogram_bin_edges(proxy, bins, range)


def edges_and_spec(dtype, bins, range, extremes):
    """`edges_of` and their `spec`."""
    if range is None and type(bins) is int and dtype.kind in "iuf":
        ends = extremes()
        if ends.size and (own := _masu.own_bins(ends, bins, False)) is not None:
            return own
        return _numpys(dtype, bins, range, lambda: ends)
    return _numpys(dtype, bins, range, extremes)


def _numpys(dtype, bins, range, extremes):
    """The same as NumPy says it."""
    kept = _kept(dtype, bins, range)
    if kept is not None:
        return kept[0].copy(), kept[1]
    edges = edges_of(dtype, bins, range, extremes)
    return edges, spec(dtype.newbyteorder("="), edges, np.ndim(bins) == 0, range)


def plain_bins(dtype, bins, range, ends, few=False):
    """The same for plain arguments and data of native byte order, or NumPy's code for its dtype. `ends` has its
    least and greatest value as bytes. None for what NumPy counts. `few`: bins that are soon prepared.
    """
    dtype = np.dtype(dtype)
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            found = _numpys(dtype, bins, range, lambda: np.frombuffer(ends, dtype))
    except FloatingPointError:  # NumPy's to warn of
        return None
    return None if found[1] is None else soon_prepared(dtype, *found) if few else found


def soon_prepared(dtype, edges, counted):
    """Edges, and bins that take less time for few elements: without float16's arithmetic, where others count the same."""
    if dtype == np.float16 and counted is not None and _are_far_apart(numbers := edges.astype(np.float64)):
        counted = _masu.bins_between(numbers)
    return edges, counted


def _kept(dtype, bins, range):
    """Edges and spec of even bins over a range of plain numbers; None for other bins, and for truth values, of which NumPy warns."""
    if dtype.kind == "b":
        return None
    if type(range) is tuple and type(bins) is int and bins <= _MOST_KEPT_BINS and PLAIN.issuperset(map(type, range)):
        try:
            return _between(dtype, bins, range, str(range))
        except FloatingPointError:  # NumPy's to warn of
            pass
    return None


@functools.lru_cache(64)
def _between(dtype, bins, range, text):
    """Kept, as computing them takes longer than counting an image on a GPU.

    `text`, that of `range`, is there for the key: it tells 1 from 1.0 and 0.0 from -0.0.
    """
    with np.errstate(all="raise"):
        edges = np.histogram_bin_edges(np.empty(0, dtype), bins, range)
    return edges, spec(dtype.newbyteorder("="), edges, True, range)


def spec(dtype, edges, uniform, range):
    """The bins with which masu counts what np.histogram counts between these edges; None where it lacks NumPy's arithmetic."""
    if not _usable(dtype, edges, uniform, range):
        return None
    numbers = np.array(edges, np.float64)
    if not uniform:
        return _masu.bins_between(numbers)
    if not _guessed_as_searched(dtype, numbers, range) or dtype != np.float16 and not in_place(edges.dtype, numbers):
        return None
    if range is not None:
        low, high = (compared(dtype, end) for end in ends(range))
        if (low, high) != _ends(numbers):
            # NumPy has no bin for a value between an end and a greater first edge
            if dtype == np.float16 or not numbers[0] <= low <= numbers[1] or not numbers[-2] <= high:
                return None
            numbers[0], numbers[-1] = low, high
            return _masu.bins_between(numbers)
    narrow = dtype.kind == "f" and dtype.itemsize < 8
    if edges.dtype == np.float64:
        # NumPy compares float16 and float32 data in f64 here
        return _masu.bins_between(numbers) if narrow else _even(dtype, numbers, _ends(numbers))
    if not narrow or edges.dtype != dtype:
        return None
    return _even(dtype, numbers, _ends(numbers) if range is None else map(float, range), of_data=range is None)


def _even(dtype, numbers, ends, of_data=False, joint=False):
    found = _masu.even_bins(numbers, np.empty(0, dtype), *ends, of_data, joint)
    return _masu.bins_between(numbers) if found is None and _are_far_apart(numbers) else found


def _are_far_apart(numbers):
    """Whether edges of float16 are far enough apart. NumPy guesses a bin with three roundings to float16 and
    corrects it once; then this gives the bin that a search in the edges finds."""
    low, high = _ends(numbers)
    unit = 2.0 ** (max(math.frexp(max(abs(low), abs(high)))[1] - 1, -14) - 10)
    return len(numbers) <= 128 and high - low >= 4 * unit * len(numbers) and in_place(np.dtype(np.float16), numbers)


def ends(range):
    """The ends of even bins as NumPy has them: a range without width gets the width 1."""
    first, last = range
    return (first - 0.5, last + 0.5) if first == last else (first, last)


def difference(a, b):
    """a - b in NumPy's dtype of both, as np.histogram has it: of integers unsigned, so that nothing overflows."""
    dtype = np.result_type(a, b)
    if dtype.kind != "i":
        return np.subtract(a, b, dtype=dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return np.subtract(np.asarray(a, dtype), np.asarray(b, dtype), casting="unsafe", dtype=unsigned)


def compared(dtype, end):
    """The end of a range with which NumPy compares values, in its dtype of both."""
    if not isinstance(end, (int, np.integer)):
        with np.errstate(over="ignore"):
            end = np.asarray(end).astype(np.result_type(dtype, end))
    return float(end)


def _guessed_as_searched(dtype, numbers, range):
    """Whether NumPy's guess of a bin and its one correction end where a search in the edges does."""
    if range is None:
        if dtype.kind in "iu" and dtype.itemsize == 8:
            # NumPy guesses with the exact width of the range, but with values and edges that are rounded to f64
            low, high = _ends(numbers)
            return high - low >= 4 * np.spacing(max(abs(low), abs(high))) * len(numbers)
        return True
    if any(isinstance(end, (bool, np.bool)) for end in range):
        return False  # NumPy refuses to subtract them
    if dtype == np.float16:
        # NumPy's float16 scalars make the guess coarser than Python's numbers do
        return not any(isinstance(end, np.generic) for end in range)
    # The width has the dtype of the ends, which may be a narrow one.
    first, last = ends(range)
    try:
        with np.errstate(all="ignore"):
            width = float(difference(last, first))
    except OverflowError:  # np.histogram's to raise; the edges are there
        return False
    return abs(width / (numbers[-1] - numbers[0]) - 1) * len(numbers) < _MOST_OFF


def in_place(dtype, numbers):
    """Whether no edge is a bin away from where NumPy guesses it: a step of subnormal size is rounded."""
    width, bins = numbers[-1] - numbers[0], len(numbers) - 1
    if dtype.kind != "f" or not 0 < width < bins * float(np.finfo(dtype).tiny):
        return True
    return np.abs((numbers - numbers[0]) / width * bins - np.arange(bins + 1)).max() < 0.5


def column_spec(dtype, edges, uniform, range, alone=False):
    """The same for a column of np.histogramdd, which searches in the edges whatever the bins are. `alone`: it is the only one."""
    if not _usable(dtype, edges, uniform, range):
        return None
    numbers = np.ascontiguousarray(edges, np.float64)
    if not uniform or dtype == np.float16:
        return _masu.bins_between(numbers)
    return _even(dtype, numbers, _ends(numbers), of_data=range is None, joint=not alone)


def _ends(numbers):
    return float(numbers[0]), float(numbers[-1])


def _usable(dtype, edges, uniform, range):
    if edges.dtype.kind not in "iuf" or edges.dtype.itemsize > 8 or len(edges) < 2:
        return False
    if dtype.kind in "iu" and dtype.itemsize == 8:
        exact = range if uniform else edges[[0, -1]].tolist() if edges.dtype.kind in "iu" else None
        if exact is not None and any(map(_beyond_exact, exact)):
            return False
    if edges.dtype.kind != "f":
        return True
    # np.histogramdd has even edges that are not finite, or decrease at the end of a range of subnormal numbers
    return bool(np.isfinite(edges).all() and (edges[:-1] <= edges[1:]).all() if uniform else not np.isnan(edges).any())
