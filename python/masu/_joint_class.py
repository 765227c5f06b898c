# SPDX-License-Identifier: Apache-2.0
"""masu.JointHistogram: the histogram of several columns together, as a state that is merged and as an object."""
from __future__ import annotations

import math

import numpy as np

from . import _arrays, _exchange, _histogram_class, _histogram_states, _joint, _kinds, _masu, _plottable
from ._bin_axis import Bins
from ._exchange import Cells
from ._plottable import Plottable
from ._state import SumState

_MOST_BINS = 2**31


class _Held:
    """Cells in the place of the library's state, which has neither weights nor flow bins."""

    __slots__ = ("cells", "_dtype")

    def __init__(self, cells, dtype):
        self.cells, self._dtype = cells, dtype

    def dtype(self):
        return self._dtype

    def tobytes(self):
        return _exchange.to_bytes(self.cells, "JointHistogram")

    def integers(self):
        if self.cells.squares is not None or self.cells.totals.dtype.kind == "f":
            raise TypeError("JointHistogram: integers needs counts, got totals of weights")
        return np.array([*self.cells.totals.flat, *self.cells.beside], np.int64).tobytes()

    def with_integers(self, integers):
        self.integers()
        size = self.cells.totals.size
        if integers.size != size + 2 or (integers < 0).any():
            raise ValueError(f"JointHistogram: with_integers needs {size + 2} numbers that are not negative, got {integers.size}")
        return _Held(self.cells._replace(totals=integers[:-2].reshape(self.cells.totals.shape), beside=tuple(integers[-2:].tolist())),
                     self._dtype)


class JointHistogram(SumState, Plottable):
    """How many points fall into each bin of a grid, how many outside, and how many have a NaN.

    Made by `JointHistogram.of`. Those of the same edges are added with ``+`` or `merge`. They can be pickled, copied and
    compared, `tobytes` is the same on every machine, and `integers` of counts are merged by addition.

    It follows scikit-hep's PlottableHistogram, as `Histogram` does: UHI's indexing with an index for each axis, `project`,
    ``fill``, ``hist.Hist(h)``. It has neither a length nor an iterator.

    >>> import masu
    >>> h = masu.JointHistogram.of([[0.5, 1.5, 7.0], [0.5, 2.5, 0.5]], bins=(2, 3), range=((0, 2), (0, 3)))
    >>> h.counts().tolist(), h.outside, h.nan
    ([[1, 0, 0], [0, 0, 1]], 1, 0)
    >>> h[0, 0], h[:, sum].values().tolist()
    (1, [1.0, 1.0])
    """

    __slots__ = ()
    _kind = _masu.JointHistogram
    __iter__ = None

    @classmethod
    def of(cls, columns, bins=10, range=None, *, weights=None, flow=False, device=None):
        """The histogram of points.

        Parameters
        ----------
        columns : (N, D) array, or a list or tuple of D arrays of length N
            The points, as `masu.histogramdd` takes them; columns of one dtype, at most 8.
        bins, range
            As in `masu.histogramdd`, also a `masu.Bins` for each column; without a range, bins span the finite values of a column.
            To be merged, histograms need the same bins: give edges or a range.
        weights : (N,) array, optional
            A weight for each point: totals and variances are exact, each rounded once to float64; totals of integers are integers.
        flow : bool
            Whether what lies below and above is counted along each axis, in flow bins: see ``values(flow=True)``. Else all of it
            is counted in `outside`.
        device : str or masu.Device, optional

        >>> import numpy as np, masu
        >>> points = np.array([[0.5, 0.5], [1.5, 2.5], [7.0, 0.5]])
        >>> masu.JointHistogram.of(points, (1, 2), ((0, 2), (0, 3)), flow=True).values(flow=True)[1:, 1:3].tolist()
        [[1.0, 1.0], [1.0, 0.0]]
        """
        axes = bins if isinstance(bins, Bins) or isinstance(bins, (list, tuple)) and any(isinstance(one, Bins) for one in bins) else None
        arrays, where, axes, edges = _columns(columns, axes, device)
        if axes is not None:
            bins = edges
        for rule in bins if isinstance(bins, (list, tuple)) else [bins]:
            if isinstance(rule, str):
                raise TypeError(f"JointHistogram: bins must be numbers or edges, got the rule {rule!r}; see histogram_bin_edges")
        with _masu.OnStream(_arrays.on_devices(*arrays)):
            numbers, specs = _joint.edges_and_specs(arrays, bins, range, where, finite=True)
            if None in specs:
                raise TypeError(f"JointHistogram: these bins are not supported for data of {arrays[0].dtype}")
            if weights is None and not flow and axes is None:
                return cls._of(_masu.JointHistogram.of(arrays, specs, where))
            made = [Bins(np.asarray(one, np.float64), underflow=flow, overflow=flow) for one in numbers]
            for d, axis in enumerate(axes or ()):
                if isinstance(axis, Bins):
                    made[d] = axis
            if any(axis.underflow or axis.overflow for axis in made):
                specs = [_with_flow(axis, np.asarray(one, np.float64), spec) for axis, one, spec in zip(made, numbers, specs)]
            return cls._of(_Held(_counted(arrays, tuple(made), specs, weights, where),
                                 _kinds.NAMES.get(np.dtype(arrays[0].dtype).str[1:], "f64")))

    def fill(self, columns, weights=None, *, device=None):
        """Counts more points between the same edges, and returns the histogram. One of weights needs ``weights``."""
        cells = self._cells()
        if (weights is not None) != (cells.squares is not None):
            raise ValueError("JointHistogram: counts and totals of weights cannot be added")
        bins = self.edges if isinstance(self._native, _masu.JointHistogram) else list(cells.axes)
        self.merge(JointHistogram.of(columns, bins, weights=weights, device=device))
        return self

    def merge(self, other):
        native = isinstance(self._native, _masu.JointHistogram)
        if type(other) is not JointHistogram or native and isinstance(other._native, _masu.JointHistogram):
            return super().merge(other)
        _plottable.check_alike(self, other)
        added = _plottable.added(self._cells(), other._cells(), _histogram_class._added)
        self._native = _Held(added, self._native.dtype())

    merge.__doc__ = SumState.merge.__doc__

    @classmethod
    def frombytes(cls, data, *, device=None):
        data = bytes(memoryview(data))
        if data[:4] != _exchange.MAGIC:
            return super().frombytes(data, device=device)
        return cls._of(_Held(_exchange.from_bytes(data, "JointHistogram"), "f64"))

    frombytes.__func__.__doc__ = SumState.frombytes.__doc__

    def _cells(self):
        if not isinstance(self._native, _masu.JointHistogram):
            return self._native.cells
        numbers = self.integers()
        axes = tuple(Bins(_histogram_states.floats(edges), underflow=False, overflow=False) for edges in self._native.edges())
        return Cells(axes, numbers[:-2].reshape([len(axis) for axis in axes]), None, tuple(numbers[-2:].tolist()), None)

    @staticmethod
    def _made(cells):
        if len(cells.axes) == 1:
            return _histogram_class.Histogram._made(cells)
        return JointHistogram._of(_Held(cells, "f64"))

    @classmethod
    def _made_of(cls, cells):
        return cls._of(_Held(cells, "f64"))

    @property
    def axes(self):
        """The bins of each column, `masu.Bins`."""
        return self._cells().axes

    @property
    def edges(self):
        """The edges of each column, float64."""
        return [np.array(axis.edges, np.float64) for axis in self.axes]

    @property
    def outside(self):
        """How many points have a coordinate outside of its bins (their total weight)."""
        cells = self._cells()
        if not any(axis.underflow or axis.overflow for axis in cells.axes):
            return cells.beside[0]
        around = cells.totals.copy()
        self._inner(cells, around, False)[...] = 0
        return cells.beside[0] + _plottable.added_up(around.reshape(-1)).item()

    @property
    def nan(self):
        """How many points have a NaN (their total weight)."""
        return self._cells().beside[1]

    @property
    def n(self):
        """How many points were counted, wherever they fell (the total weight)."""
        cells = self._cells()
        return _plottable.whole(cells.totals, cells.beside)

    def density(self):
        """The probability density, as ``numpy.histogramdd(density=True)``: its integral over the bins is 1."""
        return _joint.densities(self.totals(), [axis.edges for axis in self.axes])

    def __eq__(self, other):
        if not isinstance(other, JointHistogram):
            return NotImplemented
        if type(self._native) is type(other._native) is _masu.JointHistogram:
            return super().__eq__(other)
        return _plottable.equal(self._cells(), other._cells())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        what = " of weights" if self.weighted else ""
        return f"<masu.JointHistogram{what}: {' x '.join(str(len(axis)) for axis in self.axes)} bins>"


def _columns(columns, axes, device):
    """(contiguous columns of one dtype, the device, the bins of each where some are given, and the edges that these are counted
    between)."""
    if not isinstance(columns, (list, tuple)):
        whole, where = _histogram_states.taken("JointHistogram", columns, device)
        if whole.ndim not in (1, 2):
            raise ValueError(f"JointHistogram: the points must be an array of shape (N, D), got shape {whole.shape}")
        each = whole.shape[1] if whole.ndim == 2 else 1
        if not 1 <= each <= _joint.MOST_COLUMNS:
            raise ValueError(f"JointHistogram: there must be 1 to 8 columns, got {each} in an array of shape {whole.shape}; "
                             "an array has a row for each point")
        columns = (_joint._columns_there if isinstance(whole, _masu.DeviceArray) else _joint._columns)(whole)
    edges = None
    if axes is not None:
        axes = [axes] * len(columns) if isinstance(axes, Bins) else list(axes)
        if len(axes) != len(columns):
            raise ValueError(f"JointHistogram: there must be bins for each column, got {len(axes)} for {len(columns)}")
        pairs = [axis._counting(column) if isinstance(axis, Bins) else (column, axis) for axis, column in zip(axes, columns)]
        others = [np.asarray(column).dtype for axis, column in zip(axes, columns)
                  if not (isinstance(axis, Bins) and axis.kind == "category") and not isinstance(column, _masu.DeviceArray)]
        # places of categories are counted beside numbers in these' dtype, where it holds them
        common = next((np.dtype("u1") if one.kind == "b" else one for one in others if one.kind in "biuf"), None)
        if common is not None and common.itemsize <= 2:
            most = 2048 if common.kind == "f" else np.iinfo(common).max
            common = common if all(len(edges) - 1 <= most for axis, (_, edges) in zip(axes, pairs)
                                   if isinstance(axis, Bins) and axis.kind == "category") else None
        columns = [column.astype(common) if common is not None and isinstance(axis, Bins) and axis.kind == "category" else column
                   for axis, (column, _) in zip(axes, pairs)]
        edges = [one for _, one in pairs]
    taken = [_histogram_states.taken("JointHistogram", column, device) for column in columns]
    arrays, where = [array for array, _ in taken], taken[0][1] if taken else None
    if not arrays or len(arrays) > _joint.MOST_COLUMNS or any(array.ndim != 1 or len(array) != len(arrays[0]) for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays[:3]) + (", …" if len(arrays) > 3 else "")
        raise ValueError(f"JointHistogram: there must be 1 to 8 columns of one dimension and one length, got {len(arrays)} of shapes "
                         f"[{shapes}]")
    if any(array.dtype != arrays[0].dtype or type(array) is not type(arrays[0]) for array in arrays):
        raise TypeError(f"JointHistogram: the columns must have one dtype and be in one memory, got "
                        f"{[str(array.dtype) for array in arrays]}")
    return arrays, where, axes, edges


def _with_flow(axis, edges, spec):
    """Bins with one below and one above, where the axis has one: what is equal to the last edge stays in the last bin."""
    if not axis.underflow and not axis.overflow:
        return spec
    around = list(edges[:-1])
    if axis.underflow:
        around.insert(0, -math.inf)
    if not axis.overflow:
        around.append(edges[-1])
    elif edges[-1] == math.inf:
        around += [math.inf, math.inf]
    else:
        around += [math.nextafter(edges[-1], math.inf), math.inf]
    return _masu.bins_between(np.array(around))


def _counted(arrays, axes, specs, weights, where):
    """The cells of columns."""
    shape = tuple(len(axis) + axis.underflow + axis.overflow for axis in axes)
    size = math.prod(shape)
    if size > _MOST_BINS:
        raise ValueError(f"JointHistogram: there must be at most 2^31 joint bins, got {size}")
    if weights is None:
        found = np.frombuffer(_masu.JointHistogram.of(arrays, specs, where).integers(), np.int64)
        return Cells(axes, found[:-2].reshape(shape).copy(), None, tuple(found[-2:].tolist()), None)
    by = _histogram_states.weights_of("JointHistogram", arrays[0], weights, where)
    dtype = {"i": np.int64, "u": np.uint64}.get(by.dtype.kind, np.float64)
    more = 3 if len(arrays) == 1 else 2
    totals, extras, squares = np.zeros(size, dtype), np.zeros(more, dtype), np.zeros(size + more)
    if arrays[0].size:
        _masu.weighted_histogram(arrays, by, specs, 1, totals, extras, squares, False, where)
    around = [(sum(part[:more - 1].tolist()), part[more - 1].item()) for part in (extras, squares[size:])]
    return Cells(axes, totals.reshape(shape), squares[:size].reshape(shape), *around)
