# SPDX-License-Identifier: Apache-2.0
"""masu.Histogram: the counts of all values, those outside of the bins and NaN too, as one object."""

from __future__ import annotations

import copy
import struct
from typing import NamedTuple

import numpy as np

from . import _histogram, _kinds


class _Traits(NamedTuple):
    """What scikit-hep's PlottableAxis asks: these axes neither wrap around nor have labels for bins."""

    circular: bool = False
    discrete: bool = False


class _Axis:
    """The bins as a sequence of (lower edge, upper edge)."""

    __slots__ = ("edges",)
    traits = _Traits()
    label = ""

    def __init__(self, edges):
        self.edges = edges

    def __len__(self):
        return len(self.edges) - 1

    def __getitem__(self, index):
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"axis: bins are numbered -{size} to {size - 1}, got {index}")
        index %= size
        return (float(self.edges[index]), float(self.edges[index + 1]))

    def __iter__(self):
        lower = self.edges.tolist()
        return zip(map(float, lower), map(float, lower[1:]))

    def __eq__(self, other):
        return isinstance(other, _Axis) and np.array_equal(self.edges, other.edges)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        return f"<axis of {len(self)} bins over [{self.edges[0]}, {self.edges[-1]}]>"


# The bytes of a histogram: magic, version, whether weights were summed, the dtypes of totals, edges, below, above and
# NaN, the number of bins; then these, and the variances of weighted ones.
_HEAD = struct.Struct("<4sBB2s2s2s2s2sQ")
_MAGIC, _VERSION = b"mhis", 1
_DTYPES = frozenset(code.encode() for code in _kinds.NAMES)


def _number(value):
    """A Python number as an array of one element that holds it exactly."""
    array = np.array([value + 0])
    if array.dtype.kind == "O":
        raise ValueError(f"Histogram: tobytes writes integers of 64 bits, got {value}")
    return array


def _sum(numbers):
    """The sum of an array as a number of Python's: of integers of 64 bits, exact."""
    if numbers.dtype.kind == "f":
        return numbers.sum().item()
    return (int((numbers >> 32).sum()) << 32) + int((numbers & 0xFFFFFFFF).sum())


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
    both = a.astype(object) + b.astype(object)
    least, greatest = min(both), max(both)
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= least and greatest <= np.iinfo(dtype).max:
            return both.astype(dtype)
    raise ValueError(f"Histogram: totals must fit 64 bits, got {least} and {greatest}")


def _frozen(array):
    array = np.asarray(array)
    array.setflags(write=False)
    return array


class Histogram:
    """How many values fall into each bin, below the bins, above them, and how many are NaN.

    Nothing is lost: the counts of the bins, ``below``, ``above`` and ``nan`` add up to ``n``. Made by
    `Histogram.of`; two histograms of the same edges are added with ``+``. It is a plain value: it can be compared,
    pickled and copied, and its arrays are read-only.

    It follows scikit-hep's PlottableHistogram protocol (``axes``, ``kind``, ``values()``, ``variances()``,
    ``counts()``), so mplhep and other programs draw it as it is; ``plt.stairs(*h.to_numpy())`` does too.

    Of weighted data, the values are the exact totals of the weights, each rounded once to float64 (exact integers for
    integer weights), and the variances are the exact sums of the squared weights, rounded once. Totals that are added
    with ``+`` are rounded again; those of integers are exact, and ValueError is raised where one does not fit 64 bits.

    >>> import numpy as np, masu
    >>> h = masu.Histogram.of(np.array([0.5, 1.5, 1.6, 9.0, np.nan]), bins=2, range=(0, 2))
    >>> h.counts(), h.below, h.above, h.nan, h.n
    (array([1, 2]), 0, 1, 1, 5)
    >>> (h + h).values()
    array([2., 4.])
    """

    __slots__ = ("_above", "_below", "_edges", "_nan", "_totals", "_variances")
    kind = "COUNT"

    def __init__(self, counts, edges, below=0, above=0, nan=0, variances=None):
        counts = np.array(counts)
        edges = np.array(edges)
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
        self._totals = _frozen(counts)
        self._edges = _frozen(edges)
        self._variances = None if variances is None else _frozen(variances)
        self._below, self._above, self._nan = (
            part if isinstance(part, int) else np.asarray(part).item() for part in (below, above, nan)
        )

    @classmethod
    def of(cls, a, bins=10, range=None, weights=None, *, device=None):
        """The histogram of all values of ``a``.

        Parameters: ``a``, ``bins``, ``range``, ``weights`` and ``device`` as in `masu.histogram`, with one difference:
        without a range, the bins span the finite values, so data with NaN or infinities are welcome.
        Raises TypeError for dtypes that masu lacks.

        >>> import masu
        >>> masu.Histogram.of([1, 2, 2, 3], bins=[1, 2, 3]).values()
        array([1., 3.])
        """
        return cls(*_histogram.everything(a, bins, range, weights, device))

    @property
    def edges(self):
        """All n + 1 edges, as `masu.histogram` returns them."""
        return self._edges

    @property
    def below(self):
        """How many values lie below the first edge (their total weight)."""
        return self._below

    @property
    def above(self):
        """How many values lie above the last edge (their total weight)."""
        return self._above

    @property
    def nan(self):
        """How many values are NaN (their total weight)."""
        return self._nan

    @property
    def n(self):
        """How many values were counted, wherever they fell (the total weight)."""
        return _sum(self._totals) + sum(self._beside())

    @property
    def weighted(self):
        """Whether weights were summed."""
        return self._variances is not None

    @property
    def axes(self):
        """One axis: a sequence of (lower edge, upper edge)."""
        return (_Axis(self._edges),)

    def counts(self):
        """The counts, int64. Of weighted data: the effective ones, values()**2 / variances(), float64."""
        if self._variances is None:
            return self._totals
        totals = self._totals.astype(np.float64)
        return np.divide(totals**2, self._variances, out=np.zeros_like(totals), where=self._variances != 0)

    def values(self):
        """The counts, or the totals of the weights, as float64."""
        return self._totals.astype(np.float64)

    def totals(self):
        """The counts, or the totals of the weights, in their own dtype."""
        return self._totals

    def variances(self):
        """The variance of each value: the count, or the sum of the squared weights; float64."""
        return self.values() if self._variances is None else self._variances.copy()

    def density(self):
        """The probability density, as ``numpy.histogram(density=True)``: its integral over the bins is 1."""
        return self._totals / np.array(np.diff(self._edges), float) / _sum(self._totals)

    def cumulative(self):
        """Entry i is the sum of the values 0 to i, in the dtype of `totals`; ValueError for an integer that it does not hold."""
        sums = np.cumsum(self._totals, dtype=self._totals.dtype)
        return _fitting(sums - self._totals, self._totals, sums)

    def to_numpy(self):
        """``(totals, edges)``, as `masu.histogram` returns them."""
        return self._totals.copy(), self._edges.copy()

    def _beside(self):
        return self._below, self._above, self._nan

    def __len__(self):
        return len(self._totals)

    def __add__(self, other):
        if not isinstance(other, Histogram):
            return NotImplemented
        if not np.array_equal(self._edges, other._edges):
            raise ValueError("Histogram: only histograms of equal edges can be added")
        if self.weighted != other.weighted:
            raise ValueError("Histogram: counts and totals of weights cannot be added")
        variances = self._variances + other._variances if self.weighted else None
        return Histogram(
            _added(self._totals, other._totals),
            self._edges,
            self._below + other._below,
            self._above + other._above,
            self._nan + other._nan,
            variances,
        )

    def merge(self, other):
        """Adds the counts of another histogram of the same edges to this one, as ``+`` does."""
        if not isinstance(other, Histogram):
            raise TypeError(f"Histogram: only a Histogram can be merged, got {type(other).__name__}")
        both = self + other
        for name in Histogram.__slots__:
            setattr(self, name, getattr(both, name))

    def tobytes(self):
        """All of it as bytes, the same on every machine: little-endian, with a version; read by `frombytes`.

        >>> import masu
        >>> h = masu.Histogram.of([1, 2, 2, 3], bins=[1, 2, 3])
        >>> masu.Histogram.frombytes(h.tobytes()) == h
        True
        """
        arrays = [self._totals, self._edges, *map(_number, self._beside())]
        names = [a.dtype.str[1:].encode() for a in arrays]
        if any(name not in _DTYPES for name in names):
            raise TypeError(f"Histogram: tobytes writes integers and float16 to float64, got totals of {self._totals.dtype} "
                            f"and edges of {self._edges.dtype}")
        if self.weighted:
            arrays.append(self._variances)
        head = _HEAD.pack(_MAGIC, _VERSION, self.weighted, *names, len(self))
        return head + b"".join(a.astype(a.dtype.newbyteorder("<"), copy=False).tobytes() for a in arrays)

    @classmethod
    def frombytes(cls, data):
        """The histogram of which `tobytes` wrote these bytes. Raises ValueError for anything else."""
        data = memoryview(data)
        data = (data if data.c_contiguous else memoryview(data.tobytes())).cast("B")
        if len(data) < _HEAD.size:
            raise ValueError(f"Histogram: frombytes needs at least {_HEAD.size} bytes, got {len(data)}")
        magic, version, weighted, *names, bins = _HEAD.unpack_from(data)
        if magic != _MAGIC:
            raise ValueError("Histogram: frombytes needs bytes that tobytes wrote")
        if version != _VERSION:
            raise ValueError(f"Histogram: frombytes reads version {_VERSION}, got version {version}")
        if weighted > 1 or not 1 <= bins <= len(data) or any(name not in _DTYPES for name in names):
            raise ValueError("Histogram: frombytes: the head of these bytes is damaged")
        totals, edges, *beside = (np.dtype("<" + name.decode()) for name in names)
        if any(dtype.kind == "b" for dtype in (totals, *beside)):
            raise ValueError("Histogram: frombytes: the head of these bytes is damaged")
        parts = [(totals, bins), (edges, bins + 1), *((dtype, 1) for dtype in beside)]
        if weighted:
            parts.append((np.dtype("<f8"), bins))
        size = _HEAD.size + sum(dtype.itemsize * count for dtype, count in parts)
        if len(data) != size:
            raise ValueError(f"Histogram: frombytes: {bins} bins of this kind need {size} bytes, got {len(data)}")
        place, found = _HEAD.size, []
        for dtype, count in parts:
            found.append(np.frombuffer(data, dtype, count, place).astype(dtype.newbyteorder("="), copy=False))
            place += dtype.itemsize * count
        if edges.kind == "b" and not np.isin(np.frombuffer(found[1], np.uint8), (0, 1)).all():
            raise ValueError("Histogram: frombytes: the edges must be 0 or 1")
        if not weighted and any(totals.dtype.kind != "f" and (totals < 0).any() for totals in (found[0], *found[2:5])):
            raise ValueError("Histogram: frombytes: counts must not be negative")
        return cls(found[0], found[1], *(part.item() for part in found[2:5]), found[5] if weighted else None)

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
        numbers = [*self._totals.tolist(), *self._beside()]
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
        return Histogram(integers[:-3], self._edges, *integers[-3:].tolist())

    def __radd__(self, other):
        # sum([h, …]) starts with 0; what it returns is no part of the list
        return copy.copy(self) if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other):
        if not isinstance(other, Histogram):
            return NotImplemented
        beside = zip(self._beside(), other._beside())
        return (
            np.array_equal(self._edges, other._edges)
            and np.array_equal(self._totals, other._totals, equal_nan=self.weighted)
            and all(mine == theirs or (mine != mine and theirs != theirs) for mine, theirs in beside)
            and self.weighted == other.weighted
            and (not self.weighted or np.array_equal(self._variances, other._variances, equal_nan=True))
        )

    __hash__ = None  # type: ignore[assignment]

    def __dask_tokenize__(self):
        return "Histogram", self.__reduce__()[1]

    def __reduce__(self):
        return Histogram, (self._totals, self._edges, self._below, self._above, self._nan, self._variances)

    def __repr__(self):
        return (
            f"<masu.Histogram: {len(self)} bins over [{self._edges[0]}, {self._edges[-1]}], "
            f"below {self._below}, above {self._above}, nan {self._nan}, n {self.n}>"
        )
