# SPDX-License-Identifier: Apache-2.0
"""masu.SumAccumulator: exact sums of data that comes in pieces, or lies on several machines."""

from __future__ import annotations

import copy
import operator

import numpy as np

from . import _arrays, _device, _masu
from ._lines import contiguous, device_for, words

_FLOATS = {"e": "f16", "f": "f32", "d": "f64"}


class SumAccumulator:
    """Exact sums of data that comes in pieces: of chunks, threads or machines.

    The results are those of all data at once, whatever the pieces and their order: the exact real number, rounded once.
    Two accumulators of the same dtype and kind are added with ``+`` or `merge`. One can be pickled, copied and compared;
    `tobytes` is the same on every machine, and equal for equal totals.

    Parameters
    ----------
    dtype : dtype
        Of the data: an integer or float16 to float64; bool is taken as uint8.
    kind : {"sum", "squares", "dot"}
        What is kept: the sum (for `sum` and `mean`), by default the sum of squares too (also for `var`, `std` and
        `norm2`), or the sum of products of two inputs (for `dot`).
    device : str or masu.Device, optional
        Where data is added; ``"cpu"`` unless MASU_DEVICE says otherwise.

    >>> import masu
    >>> parts = [masu.SumAccumulator.of(part) for part in ([1e100, 1.0], [-1e100])]
    >>> float(sum(parts).sum()), sum(parts).count
    (1.0, 3)
    """

    __slots__ = ("_dtype", "_native")

    def __init__(self, dtype=np.float64, kind="squares", *, device=None):
        dtype = _plain(np.dtype(dtype))
        self._hold(_masu.SumAccumulator(_name(dtype), kind, _device.resolve(device)))

    def _hold(self, native):
        self._native = native
        self._dtype = np.dtype(native.dtype()[0] + str(int(native.dtype()[1:]) // 8))

    @classmethod
    def of(cls, x, y=None, *, kind=None, device=None):
        """The sums of an array, or with ``y`` the dot product of two."""
        given = _arrays.taken(x, device) if _arrays.foreign(x) else x if isinstance(x, _masu.DeviceArray) else _arrays.plain(x)
        where = given.device if isinstance(given, _masu.DeviceArray) else device_for(device, given.size)
        result = cls(given.dtype, kind or ("squares" if y is None else "dot"), device=where)
        result.add(given, y)
        return result

    @property
    def dtype(self):
        """The dtype of the data."""
        return self._dtype

    @property
    def kind(self):
        """What is kept: "sum", "squares" or "dot"."""
        return self._native.kind()

    @property
    def count(self):
        """How many elements were added."""
        return self._native.count()

    def add(self, x, y=None):
        """Adds the elements of an array of any shape; of kind "dot" the products of those of two arrays of one shape.

        Data of another dtype is converted where that changes no value; TypeError else.
        """
        if y is None:
            given = (self._given(x),)
        else:
            given = (self._given(x), self._given(y))
            if given[0].shape != given[1].shape:
                raise ValueError(f"SumAccumulator: x and y must have one shape, got {given[0].shape} and {given[1].shape}")
        with _masu.OnStream(_arrays.on_devices(*given)):
            self._native.add(*given) if y is None else self._native.add_products(*given)

    def _given(self, x):
        if _arrays.foreign(x):
            x = _arrays.taken(x, None)
        if isinstance(x, _masu.DeviceArray):
            if _plain(x.dtype) != self._dtype:
                raise TypeError(f"SumAccumulator: the data must be of {self._dtype}, got {x.dtype}")
            return x
        x = _arrays.plain(x)
        # NumPy calls it safe that 64-bit integers become float64
        wide = x.dtype.kind in "iu" and x.dtype.itemsize == 8 and self._dtype.kind == "f" and x.size != 0
        if wide and (x.max() > 2**53 or x.min() < -(2**53)):
            raise TypeError(f"SumAccumulator: {self._dtype} does not hold all of these values of {x.dtype}")
        if not np.can_cast(x.dtype, self._dtype, "safe") or x.dtype.kind not in "biuf":
            raise TypeError(f"SumAccumulator: the data must be of {self._dtype}, got {x.dtype}")
        if not x.flags.c_contiguous and x.flags.f_contiguous and self.kind != "dot":
            x = x.T
        return words(contiguous(x, self._dtype if x.dtype.kind != "b" or self._dtype.char != "B" else np.dtype("?")))

    def merge(self, other):
        """Adds what another accumulator of the same dtype and kind holds."""
        if not isinstance(other, SumAccumulator):
            raise TypeError(f"SumAccumulator: only a SumAccumulator can be merged, got {type(other).__name__}")
        if (self.dtype, self.kind) != (other.dtype, other.kind):
            raise ValueError("SumAccumulator: only accumulators of one dtype and kind can be merged, got "
                             f"{self.dtype} {self.kind!r} and {other.dtype} {other.kind!r}")
        self._native.merge(other._native)

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
        whole = name in ("sum", "dot") and self._dtype.kind != "f"
        if whole:
            rounded = np.dtype(np.uint64 if self._dtype.kind == "u" else np.int64)
            if dtype is not None and np.dtype(dtype) != rounded:
                raise TypeError(f"SumAccumulator: the {name} of {self._dtype} is {rounded}, got dtype {np.dtype(dtype)}")
        else:
            rounded = np.dtype(dtype or (self._dtype if self._dtype.kind == "f" else np.float64))
            if rounded.char not in _FLOATS:
                raise TypeError(f"SumAccumulator: dtype must be float16, float32 or float64, got {rounded}")
        return rounded.type(self._native.result(name, "f64" if whole else _FLOATS[rounded.char], ddof))

    def tobytes(self):
        """What it holds, exactly: little-endian, with a version; read by `frombytes` and by C++."""
        return self._native.bytes()

    @classmethod
    def frombytes(cls, data, *, device=None):
        """The accumulator of which `tobytes` wrote these bytes. Raises ValueError for anything else."""
        result = cls.__new__(cls)
        result._hold(_masu.SumAccumulator.from_bytes(bytes(memoryview(data)), _device.resolve(device)))
        return result

    def integers(self):
        """What it holds as int64 numbers, as many for every accumulator of one dtype and kind. Accumulators, up to 2^31
        of them, are merged by adding these: by MPI.SUM, or by ``all_reduce`` of torch.distributed.

        >>> import masu
        >>> a, b = masu.SumAccumulator.of([1e100, 1.0]), masu.SumAccumulator.of([-1e100])
        >>> float(a.with_integers(a.integers() + b.integers()).sum())
        1.0
        """
        return np.frombuffer(self._native.integers(), np.int64).copy()

    def with_integers(self, integers):
        """An accumulator of the same dtype and kind that holds what `integers` of others add up to. Raises ValueError
        where they are no such sum."""
        integers = _arrays.plain(integers)
        if integers.dtype != np.int64 or integers.ndim != 1:
            raise TypeError("SumAccumulator: with_integers needs int64 of one dimension, got "
                            f"{integers.dtype} of {integers.ndim}")
        result = SumAccumulator.__new__(SumAccumulator)
        result._hold(self._native.with_integers(contiguous(integers, np.dtype(np.int64))))
        return result

    def __add__(self, other):
        if not isinstance(other, SumAccumulator):
            return NotImplemented
        result = SumAccumulator.frombytes(self.tobytes(), device="cpu")
        result.merge(other)
        return result

    def __radd__(self, other):
        # sum([a, …]) starts with 0; what it returns is no part of the list
        return copy.copy(self) if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other):
        return self.tobytes() == other.tobytes() if isinstance(other, SumAccumulator) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):
        return SumAccumulator.frombytes, (self.tobytes(),)

    def __repr__(self):
        return f"<masu.SumAccumulator: {self.kind} of {self.count} elements of {self.dtype}>"


def _plain(dtype):
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype.newbyteorder("=")


def _name(dtype):
    if dtype.char not in _arrays.NATIVE:
        raise TypeError(f"SumAccumulator: the dtype must be bool, an integer or float16 to float64, got {dtype}")
    return f"{dtype.kind}{8 * dtype.itemsize}"
