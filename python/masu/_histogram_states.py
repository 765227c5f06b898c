# SPDX-License-Identifier: Apache-2.0
"""Histograms of rows, of several columns together, and exact totals of weights, as states that are merged."""
from __future__ import annotations

import numpy as np

from . import _arrays, _bins, _counts, _histogram, _joint, _kinds, _masu
from ._histogram_class import Histogram
from ._state import State, SumState


def _floats(data):
    return np.frombuffer(data, np.float64).copy()


def _taken(name, x, device):
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
        a, where = _taken("RowHistograms", a, device)
        if a.ndim < 1 or len(a) < 1:
            raise ValueError(f"RowHistograms: there must be a row, got an array of shape {a.shape}")
        with _masu.OnStream(_arrays.on_devices(a)):
            return cls._of(_masu.RowHistograms.of(a, _spec("RowHistograms", a, bins, range, where), len(a), where))

    @property
    def edges(self):
        """All edges, float64."""
        return _floats(self._native.edges())

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
        counts, outside = self._parts()
        return Histogram(counts[row], self.edges, *outside[row].tolist())

    def __repr__(self):
        return f"<masu.RowHistograms: {len(self)} rows of {self.edges.size - 1} bins>"


class JointHistogram(SumState):
    """How many points fall into each bin of a grid, how many outside, and how many have a NaN.

    Made by `JointHistogram.of`. Those of the same edges are added with ``+`` or `merge`. They can be pickled, copied and
    compared, `tobytes` is the same on every machine, and `integers` are merged by addition.

    >>> import masu
    >>> h = masu.JointHistogram.of([[0.5, 1.5, 7.0], [0.5, 2.5, 0.5]], bins=(2, 3), range=((0, 2), (0, 3)))
    >>> h.counts().tolist(), h.outside, h.nan
    ([[1, 0, 0], [0, 0, 1]], 1, 0)
    """

    __slots__ = ()
    _kind = _masu.JointHistogram

    @classmethod
    def of(cls, columns, bins=10, range=None, *, device=None):
        """The histogram of columns: arrays of one length and dtype. `bins` and `range` as in `masu.histogramdd`; without a
        range, bins span the finite values of a column.

        To be merged, histograms need the same bins: give edges or a range.
        """
        taken = [_taken("JointHistogram", column, device) for column in columns]
        arrays, where = [array for array, _ in taken], taken[0][1] if taken else None
        if not arrays or len(arrays) > _joint.MOST_COLUMNS or any(array.ndim != 1 or len(array) != len(arrays[0]) for array in arrays):
            raise ValueError("JointHistogram: there must be 1 to 8 columns of one dimension and one length, got shapes "
                             f"{[array.shape for array in arrays]}")
        if any(array.dtype != arrays[0].dtype or type(array) is not type(arrays[0]) for array in arrays):
            raise TypeError(f"JointHistogram: the columns must have one dtype and be in one memory, got "
                            f"{[str(array.dtype) for array in arrays]}")
        with _masu.OnStream(_arrays.on_devices(*arrays)):
            specs = _joint.edges_and_specs(arrays, bins, range, where, finite=True)[1]
            if None in specs:
                raise TypeError(f"JointHistogram: these bins are not supported for data of {arrays[0].dtype}")
            return cls._of(_masu.JointHistogram.of(arrays, specs, where))

    @property
    def edges(self):
        """The edges of each column, float64."""
        return [_floats(edges) for edges in self._native.edges()]

    def counts(self):
        """The counts, int64, with an axis for each column."""
        return self.integers()[:-2].reshape([edges.size - 1 for edges in self.edges])

    @property
    def outside(self):
        """How many points have a coordinate outside of its bins."""
        return int(self.integers()[-2])

    @property
    def nan(self):
        """How many points have a NaN."""
        return int(self.integers()[-1])

    def __repr__(self):
        return f"<masu.JointHistogram: {' x '.join(str(edges.size - 1) for edges in self.edges)} bins>"


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
        a, where = _taken("WeightedHistogram", a, device)
        weights, _ = _arrays.placed(weights, device, "WeightedHistogram")
        if type(weights) is not type(a):
            raise TypeError("WeightedHistogram: the data and the weights must be in one memory")
        if weights.shape != a.shape or weights.dtype.kind == "b" or not _kinds.has_dtype(weights):
            raise TypeError(f"WeightedHistogram: {_histogram.lacking(a, weights, 1)}")
        if not isinstance(weights, _masu.DeviceArray):
            weights = _kinds.native(weights)
        with _masu.OnStream(_arrays.on_devices(a, weights)):
            return cls._of(_masu.WeightedHistogram.of(a, weights, _spec("WeightedHistogram", a, bins, range, where), where))

    def result(self):
        """A masu.Histogram: totals and variances rounded once, integers exact. ValueError for an integer total that does not
        fit 64 bits."""
        dtype, totals, beside, variances, edges = self._native.result()
        below, above, nan = np.frombuffer(beside, dtype).tolist()
        return Histogram(np.frombuffer(totals, dtype), _floats(edges), below, above, nan, _floats(variances))

    def __repr__(self):
        try:
            return f"<masu.WeightedHistogram of {self.result()!r}>"
        except ValueError as error:
            return f"<masu.WeightedHistogram: {error}>"
