# SPDX-License-Identifier: Apache-2.0
"""Histograms of rows, and exact totals of weights, as states that are merged."""
from __future__ import annotations

import numbers

import numpy as np

from . import _arrays, _bins, _counts, _histogram, _kinds, _masu
from ._histogram_class import Histogram
from ._state import State, SumState


def floats(data):
    return np.frombuffer(data, np.float64).copy()


def taken(name, x, device):
    """`x` as contiguous native elements or a DeviceArray, and the device."""
    x, where = _arrays.placed(x, device, name)
    if isinstance(x, _masu.DeviceArray):
        if x.dtype == np.bool:
            raise TypeError(f"{name}: truth values on a device are not supported")
        return x, where
    x = _counts.subtractable(x)
    if not _kinds.has_dtype(x):
        raise TypeError(f"{name}: {_histogram.lacking(x, None, 1)}")
    return _kinds.native(x), where


def weights_of(name, a, weights, device):
    """The same of weights, one for each element of `a`."""
    weights, _ = _arrays.placed(weights, device, name)
    if type(weights) is not type(a):
        raise TypeError(f"{name}: the data and the weights must be in one memory")
    if weights.shape != a.shape or weights.dtype.kind == "b" or not _kinds.has_dtype(weights):
        raise TypeError(f"{name}: {_histogram.lacking(a, weights, 1)}")
    return weights if isinstance(weights, _masu.DeviceArray) else _kinds.native(weights)


def _spec(name, x, bins, range, device):
    """The bins, made definite; without a range they span the finite values."""
    if isinstance(bins, str):
        raise TypeError(f"{name}: bins must be a number or edges, got the rule {bins!r}; see histogram_bin_edges")
    spec = _bins.edges_and_spec(x.dtype, bins, range, lambda: _counts.extremes(x, device, finite=True))[1]
    if spec is None:
        raise TypeError(f"{name}: {_histogram.lacking(x, None, bins)}")
    return spec


class RowHistograms(SumState):
    """One histogram for each row of an array, all with the same bins; what falls outside is counted too.

    Made by `RowHistograms.of`. Those of as many rows and the same edges are added with ``+`` or `merge`. They can be pickled,
    copied and compared, `tobytes` is the same on every machine, and `integers` are merged by addition.

    >>> import numpy as np, masu
    >>> h = masu.RowHistograms.of(np.array([[1, 2, 1], [9, 0, 1]]), bins=[0, 1, 2, 3])
    >>> h.counts().tolist(), h.above.tolist()
    ([[0, 2, 1], [1, 1, 0]], [0, 1])
    >>> (h + h).counts().sum()
    np.int64(10)
    """

    __slots__ = ()
    _kind = _masu.RowHistograms

    @classmethod
    def of(cls, a, bins=10, range=None, *, device=None):
        """The histograms of ``a[0]``, ``a[1]``, …; `bins` and `range` as in `masu.Histogram.of`, without rules by name.

        To be merged, histograms need the same bins: give edges or a range.
        """
        a, where = taken("RowHistograms", a, device)
        if a.ndim < 1 or len(a) < 1:
            raise ValueError(f"RowHistograms: there must be a row, got an array of shape {a.shape}")
        with _masu.OnStream(_arrays.on_devices(a)):
            return cls._of(_masu.RowHistograms.of(a, _spec("RowHistograms", a, bins, range, where), len(a), where))

    @property
    def edges(self):
        """All edges, float64."""
        return floats(self._native.edges())

    def __len__(self):
        return self._native.rows()

    def _parts(self):
        numbers, rows = self.integers(), len(self)
        outside = numbers[numbers.size - 3 * rows:].reshape(rows, 3)
        return numbers[:numbers.size - 3 * rows].reshape(rows, -1), outside

    def counts(self):
        """The counts, int64, a row for each histogram."""
        return self._parts()[0]

    @property
    def below(self):
        """How many values of each row lie below the first edge."""
        return self._parts()[1][:, 0]

    @property
    def above(self):
        """How many values of each row lie above the last edge."""
        return self._parts()[1][:, 1]

    @property
    def nan(self):
        """How many values of each row are NaN."""
        return self._parts()[1][:, 2]

    def __getitem__(self, row):
        """The histogram of one row, a masu.Histogram."""
        if not isinstance(row, numbers.Integral):
            raise TypeError(f"RowHistograms: an index must be an integer, got {row!r:.80}")
        counts, outside = self._parts()
        return Histogram(counts[row], self.edges, *outside[row].tolist())

    def __repr__(self):
        return f"<masu.RowHistograms: {len(self)} rows of {self.edges.size - 1} bins>"


class WeightedHistogram(State):
    """The exact total of the weights in each bin, and of their squares, before anything is rounded.

    Made by `WeightedHistogram.of`. Those of the same bins and dtypes are added with ``+`` or `merge`, exactly, where totals of
    `masu.Histogram` are rounded again. They can be pickled, copied and compared; `tobytes` is the same on every machine.

    >>> import masu
    >>> parts = [masu.WeightedHistogram.of([0.5], 1, (0, 1), weights=[weight]) for weight in (1e100, 1.0, -1e100)]
    >>> sum(parts).result().values()
    array([1.])
    """

    __slots__ = ()
    _kind = _masu.WeightedHistogram

    @classmethod
    def of(cls, a, bins=10, range=None, *, weights, device=None):
        """The totals of the weights of all values of ``a``; parameters are those of `masu.Histogram.of`, without rules by name.

        To be merged, histograms need the same bins: give edges or a range.
        """
        a, where = taken("WeightedHistogram", a, device)
        weights = weights_of("WeightedHistogram", a, weights, device)
        with _masu.OnStream(_arrays.on_devices(a, weights)):
            return cls._of(_masu.WeightedHistogram.of(a, weights, _spec("WeightedHistogram", a, bins, range, where), where))

    def result(self):
        """A masu.Histogram: totals and variances rounded once, integers exact. ValueError for an integer total that does not
        fit 64 bits."""
        dtype, totals, beside, variances, beside_variances, edges = self._native.result()
        below, above, nan = np.frombuffer(beside, dtype).tolist()
        return Histogram(np.frombuffer(totals, dtype), floats(edges), below, above, nan, floats(variances),
                         floats(beside_variances))

    def __repr__(self):
        try:
            return f"<masu.WeightedHistogram of {self.result()!r}>"
        except ValueError as error:
            return f"<masu.WeightedHistogram: {error}>"
