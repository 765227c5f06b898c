# SPDX-License-Identifier: Apache-2.0
"""masu.Histogram: the counts of all values, those outside of the bins and NaN too, as one object."""

from __future__ import annotations

import copy

import numpy as np

from . import _exchange, _histogram, _plottable, _sums
from ._bin_axis import Bins
from ._exchange import Cells
from ._plottable import Plottable
from ._progress import Progress


def _fitting(a, b, both):
    """`both`, a + b; ValueError where it is an integer that wrapped."""
    if both.dtype.kind == "f":
        return both
    lost = both < b if both.dtype.kind == "u" else ((a ^ both) & (b ^ both)) < 0
    if lost.any():
        raise ValueError(f"Histogram: the total of bin {lost.argmax()} must fit {both.dtype}, got one that does not")
    return both


def _added(a, b):
    """a + b, totals; of integers exact."""
    if {a.dtype.kind, b.dtype.kind} != {"i", "u"}:
        return _fitting(a, b, a + b)
    return _plottable.fitting(a.astype(object) + b.astype(object))


class Histogram(Plottable):
    """How many values fall into each bin, below the bins, above them, and how many are NaN.

    Nothing is lost: the counts of the bins, ``below``, ``above`` and ``nan`` add up to ``n``. Made by
    `Histogram.of`; two histograms of the same edges are added with ``+``. It is a plain value: it can be compared,
    pickled and copied, and its arrays are read-only.

    It follows scikit-hep's PlottableHistogram protocol (``axes``, ``kind``, ``values()``, ``variances()``,
    ``counts()``), so mplhep and other programs draw it as it is; ``plt.stairs(*h.to_numpy())`` does too. With ``flow=True``
    these have ``below`` first and ``above`` last. UHI's indexing cuts it (see ``Histogram.__getitem__``), ``fill`` counts more,
    and ``hist.Hist(h)`` and `from_uhi` convert it. Iteration gives the value of each bin.

    Of weighted data, the values are the exact totals of the weights, each rounded once to float64. Integer weights
    give exact integers. The variances are the exact sums of the squared weights, rounded once. Totals that are added
    with ``+`` are rounded again; those of integers are exact, and ValueError is raised where one does not fit 64 bits.

    >>> import numpy as np, masu
    >>> h = masu.Histogram.of(np.array([0.5, 1.5, 1.6, 9.0, np.nan]), bins=2, range=(0, 2))
    >>> h.counts(), h.below, h.above, h.nan, h.n
    (array([1, 2]), 0, 1, 1, 5)
    >>> (h + h).values()
    array([2., 4.])
    >>> h[masu.loc(1):].values(flow=True), h[::sum]
    (array([1., 2., 1.]), 4)
    """

    __slots__ = ("_held",)  # Cells without flow bins: below, above and NaN are beside

    def __init__(self, counts, edges, below=0, above=0, nan=0, variances=None, beside_variances=None):
        counts = np.array(counts)
        axis = edges if isinstance(edges, Bins) else None
        edges = np.array(edges) if axis is None else axis.edges
        if counts.ndim != 1 or edges.shape != (len(counts) + 1,) or len(counts) < 1:
            raise ValueError(
                f"Histogram: n counts need n + 1 edges, n >= 1, got shapes {counts.shape} and {edges.shape}"
            )
        if counts.dtype.kind not in "iuf":
            raise TypeError(f"Histogram: counts must be numbers, got {counts.dtype}")
        if counts.dtype.kind != "f":
            counts = counts.astype(np.int64 if counts.dtype.kind == "i" else np.uint64, copy=False)
        if not (edges[1:] >= edges[:-1]).all():
            raise ValueError("Histogram: edges must be numbers that do not fall")
        if variances is not None:
            variances = np.array(variances, dtype=np.float64)
            if variances.shape != counts.shape:
                raise ValueError(f"Histogram: a variance for each bin, got {len(variances)} for {len(counts)}")
            beside_variances = tuple(map(float, (np.nan,) * 3 if beside_variances is None else beside_variances))
            if len(beside_variances) != 3:
                raise ValueError("Histogram: beside_variances must be those of below, above and NaN, "
                                 f"got {len(beside_variances)}")
        beside = tuple(part if isinstance(part, int) else np.asarray(part).item() for part in (below, above, nan))
        self._hold(Cells((Bins(edges) if axis is None else axis,), counts, variances, beside,
                         None if variances is None else beside_variances))

    def _hold(self, cells):
        """Takes these, whose arrays nobody writes any more."""
        for array in cells.totals, cells.squares:
            if array is not None:
                array.setflags(write=False)
        self._held = cells
        return self

    @classmethod
    def of(cls, a, bins=10, range=None, weights=None, *, device=None, progress=None):
        """The histogram of all values of ``a``.

        Parameters: ``a``, ``bins``, ``range``, ``weights`` and ``device`` as in `masu.histogram`, with one difference. Without a
        range, the bins span the finite values, so data may have NaN and infinities. ``progress``: called by this thread with a
        fraction from 0 to 1, at most ten times a second and at the end. What it raises ends the call, as Ctrl-C does. Data on a
        device, and few values, are counted at once. Raises TypeError for dtypes that masu lacks.

        >>> import masu
        >>> masu.Histogram.of([1, 2, 2, 3], bins=[1, 2, 3]).values()
        array([1., 3.])
        """
        axis, bins = (bins, bins.edges) if isinstance(bins, Bins) else (None, bins)
        if range is not None and np.shape(range) != (2,):
            raise ValueError(f"Histogram: range must be two numbers, got {range!r:.80}")
        if axis is not None and axis.kind in ("category", "integer"):
            a, bins = axis._counting(a)
        tell = Progress(progress)
        found, edges, below, above, nan, *squares = _histogram.everything(a, bins, range, weights, device, None if progress is None else tell)
        tell(1)
        if axis is not None:
            edges, below, above = axis, below if axis.underflow else 0, above if axis.overflow else 0
            for one in squares:
                one[-3:-1] = np.where([axis.underflow, axis.overflow], one[-3:-1], 0)
        return cls(found, edges, below, above, nan, *(part for one in squares for part in (one[:-3], one[-3:])))

    def fill(self, a, weights=None, *, device=None):
        """Counts more data between the same edges, and returns the histogram.

        A histogram of weights needs ``weights``. Totals of floats are rounded again; `WeightedHistogram` adds them exactly.

        >>> import masu
        >>> masu.Histogram.of([1, 2], bins=[1, 2, 3]).fill([2, 2, 9]).values(flow=True).tolist()
        [0.0, 1.0, 3.0, 1.0]
        """
        self.merge(Histogram.of(a, *self.axes, weights=weights, device=device))
        return self

    def _cells(self):
        (axis,), totals, variances, beside, beside_variances = self._held
        flow = (axis.underflow, axis.overflow)

        def whole(inside, ends):
            parts = [np.array([end]) for end, kept in zip(ends, flow) if kept]
            kind = inside.dtype
            if kind.kind != "f" and all(part.dtype.kind in "iu" and np.iinfo(kind).min <= part[0] <= np.iinfo(kind).max for part in parts):
                parts = [part.astype(kind) for part in parts]
            parts.insert(int(flow[0]), inside)
            return np.concatenate([part.astype(np.float64) if part.dtype.kind == "O" else part for part in parts])

        squares = None if variances is None else whole(variances, beside_variances)
        return Cells((axis,), whole(totals, beside), squares, (0, beside[2]), None if squares is None else (0.0, beside_variances[2]))

    @staticmethod
    def _made(cells):
        axis, = cells.axes
        inside = slice(int(axis.underflow), axis.underflow + len(axis))

        def parts(array):
            below, above = array[:inside.start], array[inside.stop:]
            return array[inside], below.item() if below.size else 0, above.item() if above.size else 0

        totals, below, above = parts(cells.totals)
        if cells.squares is None:
            return Histogram(totals, axis, below, above, cells.beside[1])
        variances, *around = parts(cells.squares)
        return Histogram(totals, axis, below, above, cells.beside[1], variances, (*around, cells.beside_squares[1]))

    @property
    def edges(self):
        """All n + 1 edges, as `masu.histogram` returns them."""
        return self.axes[0].edges

    @property
    def below(self):
        """How many values lie below the first edge (their total weight)."""
        return self._held.beside[0]

    @property
    def above(self):
        """How many values lie above the last edge (their total weight)."""
        return self._held.beside[1]

    @property
    def nan(self):
        """How many values are NaN (their total weight)."""
        return self._held.beside[2]

    @property
    def n(self):
        """How many values were counted, wherever they fell (the total weight)."""
        return _plottable.whole(self.totals(), self._held.beside)

    @property
    def weighted(self):
        """Whether weights were summed."""
        return self._held.squares is not None

    @property
    def axes(self):
        """One axis, a `masu.Bins`: a sequence of (lower edge, upper edge)."""
        return self._held.axes

    def totals(self, flow=False):
        return super().totals(flow) if flow else self._held.totals

    totals.__doc__ = Plottable.totals.__doc__

    def density(self):
        """The probability density, as ``numpy.histogram(density=True)``: its integral over the bins is 1."""
        totals = self.totals()
        return totals / np.array(np.diff(self.edges), float) / (totals.sum() if totals.dtype.kind == "f" else _plottable.whole(totals))

    def cumulative(self):
        """Entry i is the sum of the values 0 to i, in the dtype of `totals`: exact, rounded once.

        Raises ValueError for an integer that it does not hold.
        """
        totals = self.totals()
        if totals.dtype.kind == "f":
            return _sums.cumsum(totals)
        sums = np.cumsum(totals, dtype=totals.dtype)
        return _fitting(sums - totals, totals, sums)

    def __len__(self):
        return len(self._held.totals)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __add__(self, other):
        if not isinstance(other, Histogram):
            return NotImplemented
        _plottable.check_alike(self, other)
        return Histogram.__new__(Histogram)._hold(_plottable.added(self._held, other._held, _added))

    def merge(self, other):
        """Adds the counts of another histogram of the same edges to this one, as ``+`` does."""
        if not isinstance(other, Histogram):
            raise TypeError(f"Histogram: only a Histogram can be merged, got {type(other).__name__}")
        self._held = (self + other)._held

    def tobytes(self):
        """All of it as bytes, the same on every machine: little-endian, with a version; read by `frombytes`.

        >>> import masu
        >>> h = masu.Histogram.of([1, 2, 2, 3], bins=[1, 2, 3])
        >>> masu.Histogram.frombytes(h.tobytes()) == h
        True
        """
        return _exchange.to_bytes(self._held, "Histogram")

    @classmethod
    def frombytes(cls, data):
        """The histogram of which `tobytes` wrote these bytes. Raises ValueError for anything else."""
        return cls.__new__(cls)._hold(_exchange.from_bytes(bytes(memoryview(data)), "Histogram", flow=False))

    def integers(self):
        """The counts, then ``below``, ``above`` and ``nan``, as int64. Histograms of the same bins are merged by adding these,
        while ``n`` stays below 2^63: by MPI.SUM, or by ``all_reduce`` of torch.distributed. TypeError for totals of weights.

        >>> import masu
        >>> h = masu.Histogram.of([1, 2, 2, 9], bins=[1, 2, 3])
        >>> h.integers()
        array([1, 2, 0, 1, 0])
        >>> h.with_integers(h.integers() + h.integers()) == h + h
        True
        """
        if self.weighted:
            raise TypeError("Histogram: integers needs counts, got totals of weights")
        numbers = [*self.totals().tolist(), *self._held.beside]
        for number in numbers:
            if not isinstance(number, int) or not 0 <= number < 2**63:
                raise ValueError(f"Histogram: integers needs counts from 0 to 2^63 - 1, got {number}")
        return np.array(numbers, np.int64)

    def with_integers(self, integers):
        """A histogram of the same bins with other numbers, in the order of `integers`."""
        integers = np.asarray(integers)
        if integers.dtype != np.int64 or integers.shape != (len(self) + 3,):
            raise TypeError(f"Histogram: with_integers needs {len(self) + 3} numbers of int64, got "
                            f"{integers.dtype} of shape {integers.shape}")
        if (integers < 0).any():
            raise ValueError(f"Histogram: counts must not be negative, got {integers.min()}")
        return Histogram(integers[:-3], *self.axes, *integers[-3:].tolist())

    def __radd__(self, other):
        # sum([h, …]) starts with 0; what it returns is no part of the list
        return copy.copy(self) if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other):
        return _plottable.equal(self._held, other._held) if isinstance(other, Histogram) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __dask_tokenize__(self):
        return "Histogram", self.__reduce__()[1]

    def __reduce__(self):
        (axis,), totals, variances, beside, beside_variances = self._held
        return Histogram, (totals, axis, *beside, variances, beside_variances)

    def __repr__(self):
        return (
            f"<masu.Histogram: {len(self)} bins over [{self.edges[0]}, {self.edges[-1]}], "
            f"below {self.below}, above {self.above}, nan {self.nan}, n {self.n}>"
        )
