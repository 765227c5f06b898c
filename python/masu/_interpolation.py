# SPDX-License-Identifier: Apache-2.0
"""Numbers between two elements, and the mean of two, in NumPy's functions: masu's rule in place of NumPy's formula.

NumPy's formula wraps round, overflows and loses digits. Its functions get arrays whose elements, once taken at the places
that they want, interpolate by masu's rule; all else stays theirs.
"""
import numpy as np

from . import _kinds, _masu, _small

_ndarray = np.ndarray
_NUMBERS = _kinds.NATIVE - {_kinds.BOOL}
_NARROW = _kinds.FLOATS.keys() - {12}  # float16 and float32
_MOST_NARROW = 65_504  # elements up to which places are computed in q's dtype where that is narrower than float64


class Unforeseen(Exception):
    """NumPy's function did something else with the data than part it and take elements."""


def exact_q(function, dtype, q, count):
    """(`q`, None), or where NumPy would compute places among `count` elements in float16 or float32, which end at 65,504 or
    round: (`q` in float64, the dtype that the results would have).
    """
    if count <= _MOST_NARROW:
        return q, None
    known = type(q) in (int, float) or type(q) is _ndarray or isinstance(q, np.generic)
    if not known or (q.dtype if hasattr(q, "dtype") else np.dtype(dtype)).num not in _NARROW:
        return q, None
    try:
        return np.asarray(q, np.float64)[()], np.asarray(function(np.zeros(3, dtype), q)).dtype
    except (TypeError, ValueError):
        return q, None  # NumPy says what is wrong


def interpolated(first, second, t, dtype):
    """The numbers between elements of native dtypes at t from 0 to 1, in a dtype of floats."""
    shape = np.broadcast_shapes(first.shape, np.shape(t))
    first, second, t = (np.ascontiguousarray(np.broadcast_to(x, shape)) for x in (first, second, np.asarray(t, np.float64)))
    result = np.empty(shape, dtype)
    if result.size:
        _masu.interpolate(first, second, t, result)
    nan = np.isnan(result)
    if nan.any() and (bad := nan & (first == first) & (second == second)).any():
        np.subtract(second[bad], first[bad])  # NumPy's warning of infinities
    return result


class Interpolated(_ndarray):
    """Data whose elements at places that NumPy's functions of quantiles and medians take are `Neighbours`."""

    narrow = None  # the dtype of the results where it is not that of the weights

    def __array_finalize__(self, base):
        self.narrow = getattr(base, "narrow", None)

    def take(self, *args, **keywords):
        return self.view(_ndarray).take(*args, **keywords)

    def __getitem__(self, index):
        places = isinstance(index, (_ndarray, np.integer)) and index.dtype.kind == "i"
        if not places and not (type(index) is tuple and any(type(part) is slice for part in index)):
            return super().__getitem__(index)
        found = np.asarray(self.view(_ndarray)[index])
        if found.dtype.num not in _NUMBERS:
            return found
        found = found.astype(found.dtype.newbyteorder("="), copy=False).view(Neighbours)
        found.narrow = self.narrow
        return found


class Neighbours(_ndarray):
    """Elements whose mean NumPy takes, or between which it interpolates: b - a, a + (b - a) * t, b - (b - a) * (1 - t)."""

    narrow = None

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **keywords):
        other = inputs[1] if len(inputs) == 2 else None
        if ufunc is np.subtract and isinstance(other, Neighbours):
            return _Difference(other.view(_ndarray), self.view(_ndarray), self.narrow)
        if ufunc is np.subtract and isinstance(other, _Difference) and out is not None:
            return out[0]  # has the whole result by now
        if ufunc is np.add and isinstance(other, _Difference):
            return other.result(out[0] if out else None)
        raise Unforeseen

    def mean(self, axis=None, dtype=None, out=None):
        """The mean of one or two, rounded once."""
        a = self.view(_ndarray)
        with np.errstate(over="ignore"):
            result = np.mean(a, axis=axis, out=out)
        infinite = np.isinf(result)
        if a.shape[axis] != 2 or a.dtype.kind == "f" and not infinite.any():
            return result
        low, high = a.take(0, axis), a.take(1, axis)
        if a.dtype.kind in "iu":
            if a.dtype.itemsize < 8:
                return result
            exact = interpolated(low, high, 0.5, np.float64)
        else:
            great = infinite & np.isfinite(low) & np.isfinite(high)
            with np.errstate(invalid="ignore"):
                exact = np.where(great, low / 2 + high / 2, result)
        if out is None:
            return exact[()]
        np.copyto(out, exact, casting="unsafe")
        return out


class _Difference:
    """Stands for (b - a) * t; it keeps a, b and t and computes nothing."""

    def __init__(self, a, b, narrow):
        self.a, self.b, self.narrow = a, b, narrow

    def __mul__(self, t):
        self.t = t  # NumPy multiplies by 1 - t later, whose product is not read
        return self

    def result(self, out):
        """The interpolated numbers, written to `out` where NumPy's sum would be cast to it."""
        a, b, t = self.a, self.b, self.t
        dtype = self.narrow or np.result_type(a.dtype, t if type(t) is float else t.dtype)
        if dtype.num in _kinds.FLOATS:
            found = interpolated(a, b, t, dtype)
            if isinstance(t, _ndarray) and type(t) is not _ndarray:
                found = t.__array_wrap__(found)
        else:
            found = np.where(np.asarray(t) >= 0.5, b - (b - a) * (1 - t), a + (b - a) * t)
        return found if out is None else np.add(found, found.dtype.type(-0.0), out=out)


def _are_near(a):
    """Whether NumPy's formula is sound between any two of a few elements."""
    low, high = a.min(), a.max()
    if a.dtype.kind == "f":
        return -_GREAT[a.dtype.num] < low and high < _GREAT[a.dtype.num]
    most = np.iinfo(a.dtype).max
    return int(high) - int(low) <= most and (a.dtype.itemsize < 8 or -2**52 < low and high < 2**52)


_GREAT = {number: np.finfo(char).max / 4 for number, char in ((23, "e"), (11, "f"), (12, "d"))}


def applied(function, a, *arguments, **keywords):
    """Calls NumPy's function of medians or quantiles with masu's rule between elements, for data that masu's functions do not
    take."""
    data = _kinds.as_numpy(a)
    if type(data) is np.memmap:
        data = data.view(_ndarray)
    if type(data) is not _ndarray or data.dtype.num not in _NUMBERS:
        return function(a, *arguments, **keywords)
    if 0 < data.size < _small.limit and _are_near(data):
        return function(data, *arguments, **keywords)
    data = data.view(Interpolated)
    if arguments and "median" not in function.__name__:
        q, data.narrow = exact_q(function, data.dtype, arguments[0], data.size)
        arguments = (q, *arguments[1:])
    result = function(data, *arguments, **keywords)
    return result.view(_ndarray) if isinstance(result, (Interpolated, Neighbours)) else result
