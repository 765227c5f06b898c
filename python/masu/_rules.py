# SPDX-License-Identifier: Apache-2.0
"""Rules for bins by name, for data in device memory, and bins in that of the host."""
import functools
import math
import warnings

import numpy as np

from . import _bins, _masu
from ._on_device import empty, part, sent


def on_host(bins):
    """Bins as NumPy takes them, so that its rules say what they are."""
    if type(bins) in (list, tuple):
        return [on_host(one) for one in bins]
    return bins.get() if isinstance(bins, _masu.DeviceArray) else bins


class _Summary:
    """What rules ask of data in device memory that is not empty: NumPy's formulas, in its dtypes, on numbers found there.
    `functions`: std, percentile and histogram of arrays on a device.
    """

    def __init__(self, there, extremes, ends, functions):
        self.there, self.ends, self.functions = there, ends, functions
        self.size, self.spread = there.size, _bins.difference(extremes[1], extremes[0])

    def sqrt(self):
        return self.spread / np.sqrt(self.size)

    def sturges(self):
        return self.spread / (np.log2(self.size) + 1.0)

    def rice(self):
        return self.spread / (2.0 * self.size ** (1.0 / 3))

    def scott(self):
        return (24.0 * np.pi**0.5 / self.size) ** (1.0 / 3.0) * on_host(self.functions.std(self.there))[()]

    def fd(self):
        quarters = on_host(self.functions.percentile(self.there, [75, 25]))
        return 2.0 * np.subtract(*quarters) * self.size ** (-1.0 / 3.0)

    def auto(self):
        width, most = self.fd(), self.sturges()
        if _bounded():
            return min(max(width, self.sqrt() / 2), most)
        return min(width, most) if width else most

    def stone(self):
        if self.size <= 1 or self.spread == 0:
            return 0
        least, best = np.inf, 1
        most = max(100, int(np.sqrt(self.size)))
        for bins in range(1, most + 1):
            parts = self.functions.histogram(self.there, bins, range=self.ends)[0].get() / self.size
            loss = (2 - (self.size + 1) * parts.dot(parts)) / (self.spread / bins)
            if loss < least:
                least, best = loss, bins
        if best == most:
            warnings.warn("histogram: the rule stone took the most bins that it tries; there may be better numbers of them",
                          RuntimeWarning, stacklevel=2)
        return self.spread / best


_MOST_BINS = 2**24  # that a rule may find: the command's limit too
_RULES = frozenset(("auto", "fd", "rice", "scott", "sqrt", "stone", "sturges"))


@functools.cache
def _bounded():
    """Whether the running NumPy's rule auto takes no more than twice as many bins as sqrt: from 2.3 on."""
    return np.histogram_bin_edges([0.0] * 15 + [1.0], "auto").size == 9


def number_by(name, rule, there, extremes, range, functions):
    """How many bins the rule gives. `there`: the data; `extremes(there)`: its least and greatest value, or nothing."""
    np.histogram_bin_edges(np.zeros(1), rule)  # NumPy's error for a name that it has not
    pair = extremes(there)
    np.histogram_bin_edges(pair, 1, range)  # and for the range
    dtype = pair.dtype
    first, last = _bins.ends(range if range is not None else tuple(pair) if pair.size else (0, 1))
    if range is not None and pair.size and not (pair[0] >= first and pair[1] <= last):
        there = _within(there, first, last)
        pair = extremes(there)
    if not pair.size:
        return 1
    if rule not in _RULES:
        raise TypeError(f"{name}: the rule {rule!r} needs data in host memory")
    width = getattr(_Summary(there, pair, (first, last), functions), rule)()
    if not width:
        return 1
    if dtype.kind in "iu" and width < 1 and _at_least_one():
        width = 1
    return int(_few_enough(name, rule, np.ceil(_bins.difference(last, first) / width)))


def _few_enough(name, rule, number):
    """Returns the number of bins that a rule finds; raises ValueError for more than _MOST_BINS."""
    if not number <= _MOST_BINS:
        raise ValueError(f"{name}: the rule {rule!r} must find at most {_MOST_BINS} bins, got {number:.4g}; give a range, "
                         "which leaves far values out, or a number of bins")
    return number


def check_number(name, rule, a, extremes, range, functions):
    """Raises ValueError where NumPy's rule would find too many bins for an array of the host, before it makes their edges."""
    if rule not in (_RULES | {"doane"}) or not a.size or not (
            range is not None or rule == "fd" or rule == "auto" and not _bounded()):
        return  # no more than there are elements
    try:
        first, last = _bins.ends(map(float, range if range is not None else extremes(a)))
    except (TypeError, ValueError):
        return  # NumPy says what is wrong
    with np.errstate(all="ignore"):
        inside = a if range is None else a[(a >= first) & (a <= last)]
        pair = extremes(inside) if inside.size else ()
        if not len(pair) or not np.isfinite((first, last, pair[1] - pair[0] if a.dtype.kind == "f" else 0)).all():
            return
        if rule == "doane" and inside.size <= 2:
            return  # which has one bin for them
        summary = _Summary(inside, pair, (first, last), functions)
        width = (float(summary.spread) / max(100, summary.size**0.5) if rule == "stone" else  # or wider
                 getattr(summary, "sturges" if rule == "doane" else rule)())
        if width:
            width = max(width, 1) if a.dtype.kind in "iu" and _at_least_one() else width
            _few_enough(name, rule, (last - first) / float(width))


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
    ordered, places = empty(there, shape=(there.size,)), []
    _masu.sort(there, ordered, 1, there.device, False, False)
    for end, right in ((least, False), (most, True)):
        place = empty(there, "i64", (1,))
        _masu.searchsorted(ordered, sent(there, np.array([end], dtype)), place, right, there.device)
        places.append(int(place.get()[0]))
    return part(ordered, places[0], max(places[1] - places[0], 0))
