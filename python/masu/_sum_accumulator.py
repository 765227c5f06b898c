# SPDX-License-Identifier: Apache-2.0
"""masu.SumAccumulator: exact sums of data that comes in pieces, or lies on several machines."""

from __future__ import annotations

import operator

import numpy as np

from . import _arrays, _device, _masu
from ._kinds import FLOATS, LACKINGS, dtype_of
from ._state import Accumulator, SumState, given, name_of, plain


class SumAccumulator(Accumulator, SumState):
    """Exact sums of data that comes in pieces: of chunks, threads or machines.

    The results are those of all data at once, whatever the pieces and their order: the exact real number, rounded once.
    Two accumulators of the same dtype and kind are added with ``+`` or `merge`. One can be pickled, copied and compared;
    `tobytes` is the same on every machine, and equal for equal totals.

    Parameters
    ----------
    dtype : dtype
        Of the data: an integer or float16 to float64; bool is taken as uint8.
    kind : {"sum", "squares", "dot"}
        What is kept. "sum" serves `sum` and `mean`. "squares", the default, keeps the sum of squares too, for
        `var`, `std` and `norm2`. "dot" keeps the sum of products of two inputs, for `dot`.
    device : str or masu.Device, optional
        Where data is added; ``"cpu"`` unless MASU_DEVICE says otherwise.

    >>> import masu
    >>> parts = [masu.SumAccumulator.of(part) for part in ([1e100, 1.0], [-1e100])]
    >>> float(sum(parts).sum()), sum(parts).count
    (1.0, 3)
    """

    __slots__ = ()
    _kind = _masu.SumAccumulator

    def __init__(self, dtype=np.float64, kind="squares", *, device=None):
        self._native = _masu.SumAccumulator(name_of("SumAccumulator", plain(dtype)), kind, _device.resolve(device))

    @classmethod
    def of(cls, x, y=None, *, kind=None, device=None):
        """The sums of an array, or with ``y`` the dot product of two."""
        x, where = _arrays.placed(x, device, "SumAccumulator")
        result = cls(x.dtype, kind or ("squares" if y is None else "dot"), device=where)
        result.add(x, y)
        return result

    @property
    def kind(self):
        """What is kept: "sum", "squares" or "dot"."""
        return self._native.kind()

    def add(self, x, y=None):
        """Adds the elements of an array of any shape; of kind "dot" the products of those of two arrays of one shape.

        Data of another dtype is converted where that changes no value; TypeError else.
        """
        taken = tuple(given("SumAccumulator", array, self.dtype, keep_order=self.kind == "dot")
                      for array in ((x,) if y is None else (x, y)))
        if y is not None and taken[0].shape != taken[1].shape:
            raise ValueError(f"SumAccumulator: x and y must have one shape, got {taken[0].shape} and {taken[1].shape}")
        with _masu.OnStream(_arrays.on_devices(*taken)):
            self._native.add(*taken) if y is None else self._native.add_products(*taken)

    def _fits(self, other):
        if (self.dtype, self.kind) != (other.dtype, other.kind):
            raise ValueError("SumAccumulator: only accumulators of one dtype and kind can be merged, got "
                             f"{self.dtype} {self.kind!r} and {other.dtype} {other.kind!r}")

    def sum(self, dtype=None):
        """The sum, rounded to ``dtype``, by default the data's. Sums of integers are exact, int64 or uint64; ValueError
        where they do not fit."""
        return self._result("sum", dtype)

    def dot(self, dtype=None):
        """The dot product, as `sum`."""
        return self._result("dot", dtype)

    def mean(self, dtype=None):
        """The mean, rounded to ``dtype``, by default the data's, float64 for integers; ValueError where there is no data."""
        return self._result("mean", dtype)

    def norm2(self, dtype=None):
        """The root of the sum of the squares, rounded as `mean`."""
        return self._result("norm2", dtype)

    def var(self, dtype=None, ddof=0):
        """The variance with the divisor count - ddof, rounded as `mean`; ValueError for no more elements than ``ddof``."""
        return self._result("var", dtype, ddof)

    def std(self, dtype=None, ddof=0):
        """The root of the variance, rounded once."""
        return self._result("std", dtype, ddof)

    def _result(self, name, dtype, ddof=0):
        ddof = operator.index(ddof)
        if ddof < 0:
            raise ValueError(f"SumAccumulator: ddof must not be negative, got {ddof}")
        of = self.dtype
        whole = name in ("sum", "dot") and of.kind != "f"
        if whole:
            rounded = np.dtype(np.uint64 if of.kind == "u" else np.int64)
            if dtype is not None and np.dtype(dtype) != rounded:
                raise TypeError(f"SumAccumulator: the {name} of {of} is {rounded}, got dtype {np.dtype(dtype)}")
        else:
            rounded = dtype_of(dtype or (of if of.kind == "f" else np.float64))
            if rounded.num not in FLOATS:
                raise TypeError(f"SumAccumulator: dtype must be {', '.join(LACKINGS)}, float16, float32 or float64, got {rounded}")
        return rounded.type(self._native.result(name, "f64" if whole else FLOATS[rounded.num], ddof))

    def integers(self):
        """What it holds as int64 numbers, as many for every accumulator of one dtype and kind. Accumulators, up to 2^31
        of them, are merged by adding these: by MPI.SUM, or by ``all_reduce`` of torch.distributed.

        >>> import masu
        >>> a, b = masu.SumAccumulator.of([1e100, 1.0]), masu.SumAccumulator.of([-1e100])
        >>> float(a.with_integers(a.integers() + b.integers()).sum())
        1.0
        """
        return super().integers()

    def __repr__(self):
        return f"<masu.SumAccumulator: {self.kind} of {self.count} elements of {self.dtype}>"
