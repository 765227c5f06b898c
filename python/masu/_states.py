# SPDX-License-Identifier: Apache-2.0
"""States of extremes, the k first, quantiles, distinct values and runs of data that comes in pieces, or lies on several
machines."""
from __future__ import annotations

import operator

import numpy as np

from . import _arrays, _device, _kinds, _masu
from ._order import TopK
from ._state import Accumulator, _read, name_of, plain

_MERGED = """    Two of the same kind are put together with ``+`` or `merge`: the second one's data comes after the first one's. One can be
    pickled, copied and compared; `tobytes` is the same on every machine."""


class ReduceAccumulator(Accumulator):
    __doc__ = f"""The least and the greatest element with their places, or the number of elements that are not zero.

    The extreme is the first of equals, with its bits; -0.0 equals 0.0. A NaN is the least and the greatest, unless NaNs are
    skipped. Places are counted over all that was added.
{_MERGED}

    Parameters
    ----------
    dtype : dtype
        Of the data: an integer or float16 to float64; bool is taken as uint8.
    op : {{"minmax", "min", "max", "count-nonzero"}}
    nan : {{"propagate", "skip"}}
    device : str or masu.Device, optional
        Where data is added; ``"cpu"`` unless MASU_DEVICE says otherwise.

    >>> import masu
    >>> parts = [masu.ReduceAccumulator.of(part) for part in ([3, 1], [7, 1])]
    >>> both = parts[0] + parts[1]
    >>> int(both.min()), both.argmin(), int(both.max()), both.argmax()
    (1, 1, 7, 2)
    """

    __slots__ = ()
    _kind = _masu.ReduceAccumulator

    def __init__(self, dtype=np.float64, op="minmax", nan="propagate", *, device=None):
        self._native = _masu.ReduceAccumulator(name_of("ReduceAccumulator", plain(dtype)), op, nan, _device.resolve(device))

    @classmethod
    def of(cls, x, op="minmax", nan="propagate", *, device=None):
        """The state of an array."""
        return cls._of_array(x, device, op, nan)

    @property
    def op(self):
        """What is found."""
        return self._native.op()

    def min(self):
        """The least element; ValueError where there is none."""
        return self._value(False)

    def max(self):
        """The greatest element; ValueError where there is none."""
        return self._value(True)

    def argmin(self):
        """Where the least element is first; ValueError where there is none, and where all are NaNs that are skipped."""
        return self._native.place(False)

    def argmax(self):
        """Where the greatest element is first, as `argmin`."""
        return self._native.place(True)

    def nonzero(self):
        """How many elements are not zero, of ``op="count-nonzero"``."""
        return self._native.nonzero()

    def _value(self, greatest):
        return np.frombuffer(self._native.value(greatest), self.dtype)[0]

    def __repr__(self):
        return f"<masu.ReduceAccumulator: {self.op} of {self.count} elements of {self.dtype}>"


class TopkAccumulator(Accumulator):
    __doc__ = f"""The k largest (or smallest) elements and their places, as `masu.topk` of all data.

    Equals come by place, the lower first; NaN counts as the largest, or is skipped. Places are counted over all that was added.
{_MERGED}

    Parameters
    ----------
    dtype : dtype
        Of the data: an integer or float16 to float64; bool is taken as uint8.
    k : int
        How many elements are kept.
    largest : bool
        False keeps the smallest, the smallest first.
    nan : {{"last", "skip"}}
    device : str or masu.Device, optional
        Where data is added; ``"cpu"`` unless MASU_DEVICE says otherwise.

    >>> import masu
    >>> parts = [masu.TopkAccumulator.of(part, 2) for part in ([3, 9, 1], [9, 4])]
    >>> sum(parts).result().indices.tolist()
    [1, 3]
    """

    __slots__ = ()
    _kind = _masu.TopkAccumulator

    def __init__(self, dtype, k, *, largest=True, nan="last", device=None):
        k = operator.index(k)
        if not 1 <= k < 2**63:
            raise ValueError(f"TopkAccumulator: k must be at least 1, got {k}")
        name = name_of("TopkAccumulator", plain(dtype))
        self._native = _masu.TopkAccumulator(name, k, bool(largest), nan, _device.resolve(device))

    @classmethod
    def of(cls, x, k, *, largest=True, nan="last", device=None):
        """The state of an array, which may have less than k elements."""
        return cls._of_array(x, device, k, largest=largest, nan=nan)

    @property
    def k(self):
        """How many elements are kept."""
        return self._native.k()

    def result(self):
        """TopK(values, indices): k elements, or all that came where these are fewer."""
        values, indices, _ = self._native.result()
        return TopK(np.frombuffer(values, self.dtype).copy(), np.frombuffer(indices, np.int64).astype(np.intp))

    @property
    def skipped(self):
        """How many NaNs were skipped."""
        return self._native.result()[2]

    def __repr__(self):
        return f"<masu.TopkAccumulator: {self.k} of {self.count} elements of {self.dtype}>"


_OF_HOST = f"""{_MERGED}

    Parameters
    ----------
    dtype : dtype
        Of the data: an integer or float16 to float64; bool is taken as uint8.
    device : str or masu.Device, optional
        Where data is added; ``"cpu"`` unless MASU_DEVICE says otherwise. Arrays on a device are copied to the host first."""


class _OfHost(Accumulator):
    """What those that take elements in host memory have."""

    __slots__ = ()

    def __init__(self, dtype=np.float64, *, device=None):
        self._native = self._kind(name_of(type(self).__name__, plain(dtype)), _device.resolve(device))

    @classmethod
    def of(cls, x, *, device=None):
        """The state of an array."""
        return cls._of_array(x, device)

    def add(self, x):
        if _kinds.foreign(x):
            x = _arrays.read(x, None)
        there = isinstance(x, _masu.DeviceArray) and not (_kinds.lacking(x.dtype) and x.device.kind == "cpu")
        super().add(x.get() if there else x)

    add.__doc__ = Accumulator.add.__doc__


class UniqueAccumulator(_OfHost):
    __doc__ = f"""The sorted distinct elements and how often each occurs, as `masu.unique` with counts of all data.

{_OF_HOST}

    >>> import masu
    >>> values, counts = sum(masu.UniqueAccumulator.of(part) for part in ([3, 1], [3])).result()
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """

    __slots__ = ()
    _kind = _masu.UniqueAccumulator

    def result(self):
        """(values, counts), as ``masu.unique(…, return_counts=True)``."""
        values, counts = self._native.result()
        return np.frombuffer(values, self.dtype).copy(), np.frombuffer(counts, np.int64).astype(np.intp)


class RunAccumulator(_OfHost):
    __doc__ = f"""The runs of equal neighbours, their lengths and where each begins; a run may go on in the next piece.

    -0.0 equals 0.0 and NaN equals NaN; a run's value is its first element.
{_OF_HOST}

    >>> import masu
    >>> values, lengths, starts = sum(masu.RunAccumulator.of(part) for part in ([3, 1, 1], [1, 3])).result()
    >>> values.tolist(), lengths.tolist(), starts.tolist()
    ([3, 1, 3], [1, 3, 1], [0, 1, 4])
    """

    __slots__ = ()
    _kind = _masu.RunAccumulator

    def result(self):
        """(values, lengths, starts)."""
        values, *places = self._native.result()
        return np.frombuffer(values, self.dtype).copy(), *(np.frombuffer(part, np.int64).astype(np.intp) for part in places)


class QuantileFinder(Accumulator):
    """Exact quantiles of data that is given several times: a pass for 8- and 16-bit data, as a rule two for the others.

    In each pass all data is added, in any order, by any number of finders; ``+`` or `merge` puts these
    together. `next_pass` says whether another pass is needed. The result has the bits of one process. A finder
    can be pickled, copied and compared; those that are put together work on ``"cpu"``, or all on GPUs.

    Parameters
    ----------
    dtype : dtype
        Of the data: an integer or float16 to float64; bool is taken as uint8.
    q : float or sequence of them
        From 0 to 1.
    method : str
        One of NumPy's thirteen.
    device : str or masu.Device, optional
        Where data is added; ``"cpu"`` unless MASU_DEVICE says otherwise.

    >>> import masu
    >>> parts, finder = [[5.0, 1.0], [3.0]], masu.QuantileFinder("f8", [0.5, 1])
    >>> while True:
    ...     for part in parts:
    ...         finder.add(part)
    ...     if not finder.next_pass():
    ...         break
    >>> finder.result().tolist()
    [3.0, 5.0]
    """

    __slots__ = ("_device",)
    _kind = _masu.QuantileFinder

    def __init__(self, dtype, q, method="linear", *, device=None):
        q = np.ascontiguousarray(q, np.float64).reshape(-1)
        where = _device.resolve(device)
        self._native = _masu.QuantileFinder(name_of("QuantileFinder", plain(dtype)), q, method, where)
        self._device = where.id

    @classmethod
    def frombytes(cls, data, *, device=None):
        """The finder of which `tobytes` wrote these bytes, on a device of the kind that it was on. Raises ValueError for anything
        else."""
        where = _device.resolve(device)
        result = super().frombytes(data, device=where)
        result._device = where.id
        return result

    def next_pass(self):
        """Ends a pass. True when all data has to be added once more; ValueError where there was none."""
        return self._native.next_pass()

    def result(self):
        """The quantiles in the order of ``q``: float64, or elements of the data where the method chooses among them.
        ValueError before the passes have ended."""
        values, elements = self._native.result()
        values = np.frombuffer(values, np.float64)
        chosen = np.frombuffer(elements, self.dtype)
        return (chosen if chosen.size == values.size else values).copy()

    def __reduce__(self):
        return _read, (type(self), self.tobytes(), self._device)

    def __repr__(self):
        return f"<masu.QuantileFinder: {self.count} elements of {self.dtype} in a pass>"
