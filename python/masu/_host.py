# SPDX-License-Identifier: Apache-2.0
"""The adapter of arrays in host memory; _on_device.py has the same functions. NumPy takes what masu has not."""
import math

import numpy as np

from . import _axes, _kinds, _masu
from ._device import device_for

__all__ = ["device_for"]
native, plain, truths = _kinds.native, _kinds.plain, _kinds.truths
#: In place of an array: NumPy's own function is to be called.
NUMPY = None

_ndarray = np.ndarray
_MANY_TRUTHS = 1 << 15  # elements
_MOST_OVERLAP_WORK = 10_000  # of NumPy's search for an element of two arrays


def data(a):
    """`a` as a plain array that masu can take; NUMPY for all else, and for what is empty or has no dimension."""
    if type(a) is not _ndarray:
        a = _kinds.as_numpy(a)
        if type(a) is np.memmap:
            a = a.view(_ndarray)
        elif type(a) is not _ndarray:
            return NUMPY
    number = a.dtype.num
    if number not in _kinds.NATIVE or not a.size or not a.ndim:
        return NUMPY
    return a if number != _kinds.BOOL else _kinds.truths(a)


def count_true(a, device):
    """How many elements of a large bool array are true, whatever their bytes; None for all else."""
    if type(a) is not _ndarray or a.dtype.num != _kinds.BOOL or a.size < _MANY_TRUTHS or not a.flags.forc or device_for(device, a).kind != "cpu":
        return None
    return _masu.count_true(a.reshape(-1, order="A").view(np.uint8))


def words(a):
    """A contiguous array, bool as the bytes that it is stored in."""
    return a.view(np.uint8) if a.dtype.num == _kinds.BOOL else a


def contiguous(a, dtype):
    """`a` as C-contiguous, aligned elements of `dtype`, which is native; itself where it is so."""
    if a.dtype != dtype:
        return a.astype(dtype, "C")
    if a.flags.c_contiguous and a.flags.aligned:
        return a
    result = np.empty(a.shape, a.dtype)
    _masu.copy(a, result)
    return result


def _ordered(a, axis):
    """The axes with `axis` last and the others as they lie in memory, so that lines need no copy where that is so."""
    if a.ndim == 1:
        return (0,)
    rest = [i for i in range(a.ndim) if i != axis]
    if not a.flags.c_contiguous:
        rest.sort(key=lambda i: -abs(a.strides[i]))
    return (*rest, axis)


def empty(a, dtype=None, shape=None):
    """An uninitialised array of the dtype and shape of `a`, but for those that are given, in native byte order."""
    return np.empty(a.shape if shape is None else shape, a.dtype.newbyteorder("=") if dtype is None else dtype)


def converted(a, dtype):
    """`a` in another dtype."""
    return a if a.dtype == dtype else a.astype(dtype)


def rows(a, axes):
    """What lies along `axes`, in any order, as the last axis: contiguous, aligned and native."""
    dtype = _native(a.dtype)
    if a.ndim == len(axes) == 1:
        return contiguous(a, dtype)
    kept = [i for i in range(a.ndim) if i not in axes]
    turned = a.transpose(*kept, *sorted(axes, key=lambda i: -abs(a.strides[i])))
    return contiguous(turned, dtype).reshape(*turned.shape[:len(kept)], math.prod(a.shape[i] for i in axes))


def placed(a, axis):
    """`a` with its last axis in the place of `axis`."""
    return np.moveaxis(a, -1, axis)


def _native(dtype):
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def check_out(name, out, dtype, shape, *inputs):
    """The rule for arrays for results where NumPy's functions have none: exact dtype and shape, apart from the inputs."""
    if not isinstance(out, _ndarray) or isinstance(out, np.ma.MaskedArray):
        raise TypeError(f"{name}: out must be an array of NumPy without a mask, got {type(out).__name__}")
    _axes.check_target(name, out, dtype, shape, not out.flags.writeable)
    _axes.check_apart(name, any(isinstance(a, _ndarray) and np.may_share_memory(a, out, _MOST_OVERLAP_WORK) for a in inputs))


def numpys(name, a, call, out=None, *, ask=None, what="this"):
    """What NumPy gives, call(a), into `out` where its function has none. `ask`, `what`: for errors on devices."""
    a = _kinds.for_numpy(a)
    return call(a) if out is None else written(name, out, call(a), a)


def written(name, out, result, *inputs):
    """A result, or `out` with its elements."""
    if out is None:
        return result
    if isinstance(result, np.ma.MaskedArray):
        raise TypeError(f"{name}: with out the data must be an array without a mask, got MaskedArray")
    result = np.asarray(result)
    check_out(name, out, result.dtype, result.shape, *inputs)
    np.copyto(out, result)
    return out


def into(out, result):
    """`out` with the elements of a result, cast as NumPy's reductions cast them: in any way, without a warning."""
    with np.errstate(all="ignore"):
        np.copyto(out, result, casting="unsafe")
    return out


def returned(found, out=None):
    """A result as NumPy gives it, or in the array `out` of a reduction."""
    if out is not None:
        return into(out, found)
    return found if found.shape else found[()]


def sent(a, found):
    """What was computed in host memory for `a`, where that is."""
    return found


def alike(name, a, b):
    """Two arrays as contiguous elements of the dtype that NumPy promotes both to."""
    common = np.promote_types(a.dtype, b.dtype)
    return words(contiguous(a, common)), words(contiguous(b, common))


def distinct(a, index, inverse, counts, device):
    """masu's distinct elements: [values, first places, inverse, counts], None for what is not asked for."""
    dtype = _native(a.dtype)
    found = [*_masu.unique(words(contiguous(a, dtype)), index, inverse, counts, device_for(device, a))]
    found[0] = found[0].view(dtype)
    return found


def chosen(name, a, where, axes):
    """The elements of an array where `where` tells so of each, to be reduced along `axes`; NUMPY for all else."""
    if type(where) is not _ndarray or where.dtype.num != _kinds.BOOL or where.shape != a.shape:
        return NUMPY
    return a[_kinds.truths(where)]


def reduced(a, axis, keepdims):
    """(the axes that are reduced, the result's shape); NUMPY for axes that NumPy refuses."""
    try:
        return _axes.reduced(a, axis, keepdims)
    except (TypeError, ValueError):
        return NUMPY, None


def few(numpys, lines, shape, dtype, less):
    """A moment of no more than `less` elements: NumPy's."""
    return NUMPY


def zeros_elsewhere(name, a, where):
    """`a`, but zeros where `where` is not true; NUMPY where NumPy is to judge it."""
    mask = np.asarray(where, None if isinstance(where, _ndarray) else np.bool)
    if mask.dtype.num != _kinds.BOOL:
        return NUMPY
    mask = _kinds.truths(mask)
    return np.where(np.broadcast_to(mask, a.shape), a, a.dtype.type(0))


def put(a, places, numbers):
    """Writes elements at places of a contiguous array."""
    a.reshape(-1)[places] = numbers


def totals(a, shape, dtype):
    """An array for what masu finds for each line, of one dtype for all."""
    return np.empty(shape)


def divide_nans(a, found):
    """Makes each NaN a value of its own in what `distinct` found with counts, in the order of the input."""
    values, first, inverse, counts = found
    if values[-1] == values[-1]:
        return
    places = np.flatnonzero(np.isnan(a.reshape(-1)))
    if inverse is not None:
        inverse[places] += np.arange(places.size)
    if first is not None:
        found[1] = np.concatenate((first[:-1], places))
    found[0] = np.concatenate((values[:-1], a.reshape(-1)[places]), dtype=values.dtype)
    found[3] = np.concatenate((counts[:-1], np.ones(places.size, np.intp)))


def along(name, a, axis, dtype, write, out=None):
    """An array of a's shape and order in memory, or `out`, whose lines along an axis write(lines, result, their number)
    fills. `dtype`: None for that of `a`.
    """
    dtype = a.dtype if dtype is None else dtype
    if out is None:
        out = np.empty_like(a, dtype, subok=False)
    else:
        check_out(name, out, dtype, a.shape, a)
    axes = _ordered(a, axis)
    lines, result = (part if part.ndim == 1 else part.transpose(axes) for part in (a, out))
    filled = result.flags.c_contiguous and result.flags.aligned and dtype.isnative
    to = result if filled else np.empty(result.shape, _native(dtype))
    write(words(contiguous(lines, _native(a.dtype))), words(to), a.size // a.shape[axis])
    if not filled and dtype.isnative:
        _masu.copy(to, result)
    elif not filled:
        result[...] = to
    return out
