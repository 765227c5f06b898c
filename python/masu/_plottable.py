# SPDX-License-Identifier: Apache-2.0
"""What masu.Histogram and masu.JointHistogram have in common: numbers with flow bins, slices, projections, arithmetic, charts, and
scikit-hep's exchange format."""
from __future__ import annotations

import builtins
import numbers
from typing import NamedTuple

import numpy as np

from . import _exchange, _masu, _sums
from ._exchange import Cells


class WeightedSum(NamedTuple):
    """The total of the weights in a bin, and its variance: the sum of the squared weights."""

    value: float
    variance: float

    def __float__(self):
        return float(self.value)


def fitting(found):
    """Python's integers in an array, as int64 or uint64, whichever holds them."""
    found = np.asarray(found, object)
    least, greatest = min(found.flat), max(found.flat)
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= least and greatest <= np.iinfo(dtype).max:
            return found.astype(dtype)
    raise ValueError(f"Histogram: totals must fit 64 bits, got {least} and {greatest}")


def _within(array, times):
    """Whether integers fit 64 bits when they are multiplied, or as many added."""
    return float(np.abs(array.astype(np.float64)).max(initial=0)) * times < 2**62


def added_up(array, axis=0):
    """The sums along an axis: of floats exact, rounded once; of integers exact, or ValueError."""
    if array.dtype.kind == "f":
        return np.asarray(_sums.sum(array, axis=axis))
    if _within(array, array.shape[axis]):
        return np.asarray(array.sum(axis=axis, dtype=array.dtype))
    return fitting(array.astype(object).sum(axis=axis))


def whole(array, beside=()):
    """The sum of an array and of more numbers as one of Python's: of integers exact, of floats exact, rounded once."""
    if array.dtype.kind == "f":
        return _sums.sum(np.append(array, beside)).item()
    return (int((array >> 32).sum()) << 32) + int((array & 0xFFFFFFFF).sum()) + sum(beside)


def _scaled(array, factor):
    if array.dtype.kind == "f" or not isinstance(factor, numbers.Integral):
        return array * float(factor)
    factor = int(factor)
    return array.astype(np.int64) * factor if _within(array, abs(factor)) else fitting(array.astype(object) * factor)


def subtracted(a, b):
    """a - b, totals; of integers exact."""
    if "f" in a.dtype.kind + b.dtype.kind:
        return a - b
    return fitting(a.astype(object) - b.astype(object))


def of_numbers(totals, variances):
    """A total as Python's number, with its variance where there is one."""
    return totals.item() if variances is None else WeightedSum(totals.item(), float(variances))


def _selected(cells, d, first, count, factor):
    """Keeps `count` bins, each of `factor` old ones, from the bin `first` on; the others go to the flow bins, or beside."""
    axis, last = cells.axes[d], first + count * factor
    kept = axis._kept(first, count, factor)

    def regrouped(array):
        array = _padded(array, axis, d)
        if axis.kind == "category" and axis.overflow:  # which holds all other categories
            array = np.concatenate([np.zeros_like(array[:1]), array[first + 1:], array[1:first + 1]])
            begin, end = 1, count + 1
        else:
            begin, end = first + 1, last + 1
        middle = array[begin:end].reshape(count, factor, *array.shape[1:])
        parts = [added_up(array[:begin])[None], middle[:, 0] if factor == 1 else added_up(middle, 1), added_up(array[end:])[None]]
        if len({part.dtype for part in parts}) > 1:  # int64 and uint64
            parts = [fitting(np.concatenate([part.astype(object) for part in parts]))]
        found = np.concatenate(parts)
        lost = [0 if there else added_up(found[end].reshape(-1)).item() for there, end in ((kept.underflow, 0), (kept.overflow, -1))]
        return np.moveaxis(found[not kept.underflow:count + 1 + kept.overflow], 0, d), sum(lost)

    return _mapped(cells, (*cells.axes[:d], kept, *cells.axes[d + 1:]), regrouped)


def _summed(cells, d, first, last):
    """Without an axis: the sums of its bins from `first` to `last`, where -1 and its length are flow bins; the rest goes beside."""
    axis = cells.axes[d]

    def one(array):
        array = _padded(array, axis, d)
        inside = added_up(array[first + 1:last + 1])
        outside = [added_up(part.reshape(-1)).item() for part in (array[:first + 1], array[last + 1:]) if part.size]
        return inside, sum(outside)

    return _mapped(cells, cells.axes[:d] + cells.axes[d + 1:], one)


def _padded(array, axis, d):
    """With both flow bins along the axis, which comes first."""
    array = np.moveaxis(array, d, 0)
    empty = np.zeros((1, *array.shape[1:]), array.dtype)
    return np.concatenate([empty] * (not axis.underflow) + [array] + [empty] * (not axis.overflow))


def _mapped(cells, axes, change):
    """The cells after `change` of totals and variances, which returns (array, what got lost)."""
    totals, lost = change(cells.totals)
    beside, squares, beside_squares = (cells.beside[0] + lost, cells.beside[1]), None, None
    if cells.squares is not None:
        squares, lost = change(cells.squares)
        beside_squares = cells.beside_squares[0] + lost, cells.beside_squares[1]
    return Cells(axes, totals, squares, beside, beside_squares)


def _place(tag, axis, what):
    """Where an index is, from -1 to the axis' length: an integer counts from the end where it is negative, a tag says it."""
    size = len(axis)
    if callable(tag):
        if what == "stop" and axis.kind in ("edges", "log") and hasattr(tag, "offset") and getattr(tag, "value", None) == axis.edges[-1]:
            return min(size, size + tag.offset)
        place = int(tag(axis))
    elif isinstance(tag, numbers.Integral) and not isinstance(tag, bool):
        place = int(tag) + size * (tag < 0)
        if what != "index":
            place = min(max(place, 0), size)
        elif not 0 <= place < size:
            raise IndexError(f"histogram: bins are numbered -{size} to {size - 1}, got {tag}")
    else:
        raise TypeError(f"histogram: an index must be an integer, a tag such as masu.loc, sum or a slice, got {tag!r:.80}")
    if what != "index":
        return min(max(place, 0), size)
    if not -axis.underflow <= place < size + axis.overflow:
        raise IndexError(f"histogram: this axis has {size} bins and no such flow bin, got place {place}")
    return place


class Plottable:
    """A histogram of scikit-hep's PlottableHistogram protocol, with UHI's indexing."""

    __slots__ = ()
    __array_ufunc__ = None  # arrays leave arithmetic to this class
    kind = "COUNT"

    def values(self, flow=False):
        """The counts, or the totals of the weights, as float64; with ``flow``, also of the flow bins that the axes have."""
        return self.totals(flow).astype(np.float64)

    def variances(self, flow=False):
        """The variance of each value: the count, or the sum of the squared weights; float64."""
        cells = self._cells()
        return self.values(flow) if cells.squares is None else self._inner(cells, cells.squares, flow).copy()

    def counts(self, flow=False):
        """The counts, int64. Of weighted data: the effective ones, values()**2 / variances(), float64."""
        if not self.weighted:
            return self.totals(flow)
        totals, variances = self.values(flow), self.variances(flow)
        return np.divide(totals**2, variances, out=np.zeros_like(totals), where=variances != 0)

    def totals(self, flow=False):
        """The counts, or the totals of the weights, in their own dtype."""
        cells = self._cells()
        return self._inner(cells, cells.totals, flow)

    @staticmethod
    def _inner(cells, array, flow):
        if flow:
            return array
        return array[tuple(slice(int(axis.underflow), axis.underflow + len(axis)) for axis in cells.axes)]

    @property
    def weighted(self):
        """Whether weights were summed."""
        return self._cells().squares is not None

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.axes)

    def sum(self, flow=False):
        """The sum of all bins; with ``flow``, of the flow bins too. Of weights: WeightedSum(value, variance)."""
        cells = self._cells()
        parts = [None if array is None else added_up(self._inner(cells, array, flow).reshape(-1))
                 for array in (cells.totals, cells.squares)]
        return of_numbers(*parts)

    def project(self, *axes):
        """The histogram of some axes, in this order; the others are added up, with their flow bins.

        >>> import masu
        >>> h = masu.JointHistogram.of([[0.5, 1.5, 7.0], [0.5, 2.5, 0.5]], (2, 3), ((0, 2), (0, 3)), flow=True)
        >>> h.project(1).values().tolist()
        [2.0, 0.0, 1.0]
        """
        cells = self._cells()
        if not axes or len(set(axes)) != len(axes) or not all(isinstance(d, numbers.Integral) and 0 <= d < len(cells.axes) for d in axes):
            raise ValueError(f"project: axes must be different numbers from 0 to {len(cells.axes) - 1}, got {axes!r:.80}")
        kept = sorted(axes)
        for d in reversed(range(len(cells.axes))):
            if d not in kept:
                cells = _summed(cells, d, -1, len(cells.axes[d]) + 1)
        order = [kept.index(d) for d in axes]
        squares = None if cells.squares is None else cells.squares.transpose(order)
        return self._made(cells._replace(axes=tuple(cells.axes[d] for d in order), totals=cells.totals.transpose(order), squares=squares))

    def __getitem__(self, index):
        """The number of a bin, or the histogram of a part of the bins, by UHI's rules.

        ``h[3]``, ``h[loc(2.0)]``: the value of a bin; of weights WeightedSum(value, variance). ``h[2:5]``, ``h[loc(1):loc(3)]``: these
        bins, the others go to the flow bins. ``h[::rebin(2)]``: bins put together. ``h[::sum]``, ``h[sum]``: the sum with the flow
        bins; ``h[2:5:sum]``: of these bins. Of several axes: an index for each, ``...``, or a dict ``{axis: index}``.
        """
        cells = self._cells()
        for d, one in reversed(list(enumerate(_of_each(index, len(cells.axes))))):
            cells = _at(cells, d, one)
        return self._made(cells) if cells.axes else of_numbers(cells.totals, cells.squares)

    def __mul__(self, factor):
        """Totals times a number; variances times its square. The result is weighted."""
        if not isinstance(factor, numbers.Real) or isinstance(factor, bool):
            return NotImplemented
        square = float(factor) ** 2
        return self._changed(lambda totals: _scaled(totals, factor), lambda one: _scaled(np.asarray(one), factor).item(),
                             lambda squares: squares * square)

    def __rmul__(self, factor):
        return self * factor

    def __truediv__(self, divisor):
        if not isinstance(divisor, numbers.Real) or isinstance(divisor, bool):
            return NotImplemented
        if divisor == 0:
            raise ZeroDivisionError("Histogram: division by zero")
        divisor, square = float(divisor), float(divisor) ** 2
        return self._changed(lambda totals: totals / divisor, lambda one: one / divisor, lambda squares: squares / square)

    def _changed(self, totals, beside, squares):
        """The histogram of weights after these changes of totals, of what is in no bin, and of variances."""
        cells = weighted(self._cells())
        return self._made(Cells(cells.axes, totals(cells.totals), squares(cells.squares), tuple(map(beside, cells.beside)),
                                tuple(map(squares, cells.beside_squares))))

    def __sub__(self, other):
        """Totals less those of a histogram of the same bins; variances are added. The result is weighted."""
        if not isinstance(other, Plottable):
            return NotImplemented
        check_alike(self, other)
        a, b = weighted(self._cells()), weighted(other._cells())
        return self._made(Cells(a.axes, subtracted(a.totals, b.totals), a.squares + b.squares,
                                tuple(x - y for x, y in zip(a.beside, b.beside)),
                                tuple(x + y for x, y in zip(a.beside_squares, b.beside_squares))))

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values() if dtype is None else self.totals(), dtype)

    def to_numpy(self):
        """``(totals, edges)``, of several axes ``(totals, edges, edges, …)``."""
        return (self.totals().copy(), *(axis.edges.copy() for axis in self.axes))

    def to_uhi(self):
        """The histogram in scikit-hep's exchange format, a dict: ``hist.Hist`` and ``uhi.io`` read it, and `from_uhi`.

        Counts are storage "int", weights "weighted". What lies in no bin and NaN stand in ``writer_info``, not in the overflow bin.

        >>> import masu
        >>> h = masu.Histogram.of([0.5, 1.5, 7.0], 2, (0, 2))
        >>> masu.Histogram.from_uhi(h.to_uhi()) == h
        True
        """
        cells = self._cells()
        own = {"version": _masu.__version__, "outside": cells.beside[0], "nan": cells.beside[1]}
        if cells.squares is not None:
            own |= {"outside_variance": cells.beside_squares[0], "nan_variance": cells.beside_squares[1]}
            storage = {"type": "weighted", "values": cells.totals.astype(np.float64), "variances": cells.squares}
        else:
            storage = {"type": "double" if cells.totals.dtype.kind == "f" else "int", "values": cells.totals.copy()}
        return {"uhi_schema": 1, "writer_info": {"masu": own}, "axes": [axis._described() for axis in cells.axes], "metadata": {},
                "storage": storage}

    _to_uhi_ = to_uhi

    @classmethod
    def from_uhi(cls, data):
        """The histogram of a dict of scikit-hep's exchange format, or of an object of `hist` or boost-histogram that gives one.

        Raises ValueError for anything else, and for profiles (means).
        """
        try:
            data = data._to_uhi_() if hasattr(data, "_to_uhi_") else data
            return cls._made_of(_exchange.read(data))
        except (TypeError, OverflowError, RecursionError, AttributeError) as error:
            raise ValueError(f"from_uhi: the histogram is not one of uhi_schema 1: {error}") from error

    _from_uhi_ = from_uhi

    @classmethod
    def _made_of(cls, cells):
        if len(cells.axes) != 1:
            raise ValueError(f"{cls.__name__}: there must be one axis, got {len(cells.axes)}; see JointHistogram")
        return cls._made(cells)

    def _repr_html_(self):
        from . import _drawn

        return _drawn.html(self)

    def show(self, width=None, file=None, log=False):
        """Writes the histogram as a chart of characters: bars of one axis, shades of two. Many bins share a row or a place.

        Parameters: ``width`` in columns (the terminal's by default); ``file``, where to write (standard output by default);
        ``log``, whether lengths and shades are logarithmic. Raises ValueError for more axes than two.

        >>> import masu
        >>> masu.Histogram.of([1, 2, 2, 3, 3, 3, 7], masu.Bins.integers(1, 5)).show(width=20)
        masu.Histogram: 4 bins over [1, 5], below 0, above 1, nan 0, n 7
        1  1  ████▋
        2  2  █████████▍
        3  3  ██████████████
        4  0
        """
        from . import _drawn

        _drawn.show(self, width, file, log)

    def plot(self, ax=None, **options):
        """Draws the histogram with matplotlib: steps, of two axes a map of colours; returns what was drawn.

        Parameters: ``ax``, the axes to draw on (pyplot's by default); ``options`` for ``Axes.stairs``, or ``Axes.pcolormesh``.
        """
        from . import _drawn

        return _drawn.plot(self, ax, options)


def weighted(cells):
    """Counts as totals of weights that are 1."""
    if cells.squares is not None:
        return cells
    return cells._replace(squares=cells.totals.astype(np.float64), beside_squares=tuple(map(float, cells.beside)))


def check_alike(a, b):
    """Raises ValueError unless two histograms can be added."""
    if a.axes != b.axes:
        raise ValueError("Histogram: only histograms of equal edges can be added")
    if a.weighted != b.weighted:
        raise ValueError("Histogram: counts and totals of weights cannot be added")


def added(a, b, add):
    """Cells of two histograms that are alike, where `add` adds totals."""
    squares = None if a.squares is None else a.squares + b.squares
    beside_squares = None if a.squares is None else tuple(x + y for x, y in zip(a.beside_squares, b.beside_squares))
    return Cells(a.axes, add(a.totals, b.totals), squares, tuple(x + y for x, y in zip(a.beside, b.beside)), beside_squares)


def equal(a, b):
    """Whether two have the same axes and numbers."""
    def same(x, y):
        if x is None or y is None:
            return x is y
        if isinstance(x, tuple):
            return all(one == other or one != one and other != other for one, other in zip(x, y))
        return np.array_equal(x, y, equal_nan=a.squares is not None)

    return a.axes == b.axes and all(map(same, a[1:], b[1:]))


def _of_each(index, dimensions):
    """An index for each axis."""
    if isinstance(index, dict):
        if not all(isinstance(d, numbers.Integral) and -dimensions <= d < dimensions for d in index):
            raise IndexError(f"histogram: axes are numbered 0 to {dimensions - 1}, got {list(index)!r:.80}")
        places = {d % dimensions: one for d, one in index.items()}
        return [places.get(d, slice(None)) for d in range(dimensions)]
    index = index if isinstance(index, tuple) else (index,)
    if any(one is ... for one in index):
        at = next(i for i, one in enumerate(index) if one is ...)
        index = (*index[:at], *[slice(None)] * (dimensions - len(index) + 1), *index[at + 1:])
    if len(index) != dimensions or any(one is ... for one in index):
        raise IndexError(f"histogram: there must be an index for each of {dimensions} axes, got {len(index)}")
    return index


def _adds(step):
    return any(step is one for one in (builtins.sum, np.sum, _sums.sum)) or getattr(step, "__name__", "") == "sum" and callable(step)


def _at(cells, d, index):
    """What an index along an axis leaves."""
    axis = cells.axes[d]
    if not isinstance(index, slice):
        if _adds(index):
            return _summed(cells, d, -1, len(axis) + 1)
        place = _place(index, axis, "index")
        return _summed(cells, d, place, place + 1)
    first = 0 if index.start is None else _place(index.start, axis, "start")
    last = len(axis) if index.stop is None else _place(index.stop, axis, "stop")
    if index.step is not None and _adds(index.step):
        return _summed(cells, d, -1 if index.start is None else first, len(axis) + 1 if index.stop is None else max(first, last))
    factor = getattr(index.step, "factor", None) if index.step is not None else 1
    if not isinstance(factor, numbers.Integral) or factor < 1:
        raise TypeError(f"histogram: the step of a slice must be sum or masu.rebin(n), got {index.step!r:.80}")
    count = (last - first) // int(factor)
    if count < 1:
        raise ValueError(f"histogram: a slice must have a bin, got bins {first} to {last} and a step of {factor}")
    return _selected(cells, d, first, count, int(factor))
