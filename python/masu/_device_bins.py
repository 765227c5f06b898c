# SPDX-License-Identifier: Apache-2.0
"""Bins as NumPy has them, for data in device memory. Its rules for their number are its own functions, on a stand-in for
the data that has the few numbers that they ask for found there.
"""
import functools
import math
import sys

import numpy as np

from . import _bins, _masu
from ._device_array import to_device
from ._device_lines import array_like, converted, part
from ._quantile import Unforeseen


def on_host(bins):
    """Bins as NumPy takes them, so that its rules say what they are."""
    if type(bins) in (list, tuple):
        return [on_host(one) for one in bins]
    return bins.get() if isinstance(bins, _masu.DeviceArray) else bins


def number_of_columns(bins):
    """How many columns these bins are for, as NumPy counts them; None for all."""
    try:
        return len(bins)
    except TypeError:
        return None


class _Summary:
    """Stands for data that is not empty in NumPy's rules. `functions`: those of arrays on a device, by name."""

    def __init__(self, there, extremes, functions):
        self.there, self.size, self.dtype, self.functions = there, there.size, extremes.dtype, functions
        self._least, self._greatest = extremes

    def min(self):
        return self._least

    def max(self):
        return self._greatest

    def __array_function__(self, function, types, args, keywords):
        if function not in (np.std, np.percentile, np.histogram):
            raise Unforeseen
        found = self.functions[function.__name__](self.there, *args[1:], **keywords)
        return tuple(one.get() for one in found) if isinstance(found, tuple) else found.get()[()]


def number_by(name, rule, there, extremes, range, functions):
    """How many bins the rule gives. `there`: the data; `extremes(there)`: its least and greatest value, or nothing."""
    np.histogram_bin_edges(np.zeros(1), rule)  # NumPy's error for a name that it has not
    pair = extremes(there)
    np.histogram_bin_edges(pair, 1, range)  # and for the range
    dtype = pair.dtype
    first, last = _bins.ends(range if range is not None else tuple(pair) if pair.size else (0, 1))
    if there.dtype == np.bool:
        there = converted(there, dtype)
    if range is not None and pair.size and not (pair[0] >= first and pair[1] <= last):
        there = _within(there, first, last)
        pair = extremes(there)
    if not pair.size:
        return 1
    rules = getattr(sys.modules.get("numpy.lib._histograms_impl"), "_hist_bin_selectors", {})
    try:
        width = rules[rule](_Summary(there, pair, functions), (first, last))
    except (KeyError, Unforeseen, AttributeError):
        raise TypeError(f"{name}: the rule {rule!r} needs data in host memory") from None
    if not width:
        return 1
    if dtype.kind in "iu" and width < 1 and _at_least_one():
        width = 1
    return int(np.ceil(_bins.difference(last, first) / width))


@functools.cache
def _at_least_one():
    """Whether the running NumPy's rules give no bins of integers that are narrower than 1: from 2.1 on."""
    return np.histogram_bin_edges([0, 1] * 8, "sqrt").size == 2


def _within(there, first, last):
    """The elements from `first` to `last`, in order."""
    dtype = there.dtype
    low, high = _bins.compared(dtype, first), _bins.compared(dtype, last)
    if dtype.kind == "f":
        least, most = np.array([low, high], dtype)
        least = np.nextafter(least, dtype.type(np.inf)) if float(least) < low else least
        most = np.nextafter(most, dtype.type(-np.inf)) if float(most) > high else most
    else:
        info = np.iinfo(dtype)
        least, most = max(math.ceil(low), info.min), min(math.floor(high), info.max)
        if least > info.max or most < info.min:
            return part(there.reshape(-1), 0, 0)
    ordered, places = array_like(there, shape=(there.size,)), []
    _masu.sort(there, ordered, 1, there.device)
    for end, right in ((least, False), (most, True)):
        place = array_like(there, "i64", (1,))
        _masu.searchsorted(ordered, to_device(np.array([end], dtype), there.device), place, right, there.device)
        places.append(int(place.get()[0]))
    return part(ordered, places[0], max(places[1] - places[0], 0))
