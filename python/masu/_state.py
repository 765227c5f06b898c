# SPDX-License-Identifier: Apache-2.0
"""What all states have: they are merged, added, compared, copied, pickled, and kept as bytes."""
from __future__ import annotations

import copy

import numpy as np

from . import _arrays, _device, _kinds, _masu
from ._host import contiguous, words


class State:
    """A state of masu's C++ library, held by `_native`, which is of the class `_kind`."""

    __slots__ = ("_native",)
    _kind: type

    @classmethod
    def _of(cls, native):
        result = cls.__new__(cls)
        result._native = native
        return result

    def merge(self, other):
        """Takes what another state of the same kind holds, as the data that follows this one's. Raises ValueError for one that
        does not fit."""
        if type(other) is not type(self):
            raise TypeError(f"{type(self).__name__}: only a {type(self).__name__} can be merged, got {type(other).__name__}")
        self._fits(other)
        self._native.merge(other._native)

    def _fits(self, other):
        """Raises ValueError where the library's words are not Python's."""

    def tobytes(self):
        """What it holds, exactly: little-endian, with a version; read by `frombytes` and by C++."""
        return self._native.tobytes()

    @classmethod
    def frombytes(cls, data, *, device=None):
        """The state of which `tobytes` wrote these bytes; more data is added on `device`. Raises ValueError for anything
        else."""
        return cls._of(cls._kind.from_bytes(bytes(memoryview(data)), _device.resolve(device)))

    def __add__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        result = copy.copy(self)
        result.merge(other)
        return result

    def __radd__(self, other):
        # sum([a, …]) starts with 0; what it returns is no part of the list
        return copy.copy(self) if isinstance(other, int) and other == 0 else NotImplemented

    def __eq__(self, other):
        return self.tobytes() == other.tobytes() if type(other) is type(self) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):
        return _read, (type(self), self.tobytes())

    def __dask_tokenize__(self):
        return type(self).__name__, self.tobytes()


def _read(kind, data, device="cpu"):
    return kind.frombytes(data, device=device)


class Accumulator(State):
    """A state that takes elements of one dtype."""

    __slots__ = ()

    @classmethod
    def _of_array(cls, x, device, *arguments, **options):
        """The state of an array, made with further arguments."""
        x, where = _arrays.placed(x, device, cls.__name__)
        result = cls(x.dtype, *arguments, device=where, **options)
        result.add(x)
        return result

    @property
    def dtype(self):
        """The dtype of the data; of truth values uint8."""
        return dtype_of(self._native)

    @property
    def count(self):
        """How many elements were added."""
        return self._native.count()

    def add(self, x):
        """Adds the elements of an array of any shape, in NumPy's order, after those before.

        Data of another dtype is converted where that changes no value; TypeError else.
        """
        taken = given(type(self).__name__, x, self.dtype)
        with _masu.OnStream(_arrays.on_devices(taken)):
            self._native.add(taken)

    def __repr__(self):
        return f"<masu.{type(self).__name__}: {self.count} elements of {self.dtype}>"


class SumState(State):
    """A state that a plain sum of integers merges."""

    __slots__ = ()

    @property
    def dtype(self):
        """The dtype of the data."""
        return dtype_of(self._native)

    def integers(self):
        """What it holds as int64 numbers, as many for every state of one kind. States are merged by adding these: by
        MPI.SUM, or by ``all_reduce`` of torch.distributed."""
        return np.frombuffer(self._native.integers(), np.int64).copy()

    def with_integers(self, integers):
        """A state of the same kind that holds what `integers` of others add up to. Raises ValueError where they are no
        such sum."""
        integers = _kinds.plain(integers)
        if integers.dtype != np.int64 or integers.ndim != 1:
            raise TypeError(f"{type(self).__name__}: with_integers needs int64 of one dimension, got "
                            f"{integers.dtype} of {integers.ndim}")
        return self._of(self._native.with_integers(contiguous(integers, np.dtype(np.int64))))


def given(name, x, dtype, keep_order=True):
    """`x` as the extension takes it: elements of `dtype` in host memory, or a DeviceArray. TypeError where the conversion
    would change a value. `keep_order` False: in any order."""
    if _kinds.foreign(x):
        x = _arrays.read(x, None, name)
    if isinstance(x, _masu.DeviceArray):
        if plain(x.dtype) != dtype:
            raise TypeError(f"{name}: the data must be of {dtype}, got {x.dtype}")
        return x
    x = _kinds.whole(x)
    # NumPy calls it safe that 64-bit integers become float64
    wide = x.dtype.kind in "iu" and x.dtype.itemsize == 8 and dtype.kind == "f" and x.size != 0
    if wide and (x.max() > 2**53 or x.min() < -(2**53)):
        raise TypeError(f"{name}: {dtype} does not hold all of these values of {x.dtype}")
    if not np.can_cast(x.dtype, dtype, "safe") or x.dtype.kind not in "biuf":
        raise TypeError(f"{name}: the data must be of {dtype}, got {x.dtype}")
    if not keep_order and not x.flags.c_contiguous and x.flags.f_contiguous:
        x = x.T
    return words(contiguous(x, dtype if x.dtype.kind != "b" or dtype.num != 2 else np.dtype("?")))


def plain(dtype):
    """The dtype of the elements as masu has them: of truth values uint8."""
    dtype = _kinds.dtype_of(dtype)
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype.newbyteorder("=")


def name_of(name, dtype):
    """masu's name of a dtype: "f32"."""
    return _kinds.name_of(dtype, name)


def dtype_of(native):
    """The dtype of a state's data."""
    return _kinds.DTYPES[native.dtype()]
