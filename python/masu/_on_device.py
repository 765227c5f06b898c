# SPDX-License-Identifier: Apache-2.0
"""The adapter of arrays in device memory. _host.py has the same functions and says what they do. Arrays are read where they
are, results stay on their device. Where NumPy has what devices have not, TypeError says so.
"""
import itertools
import math
import warnings

import numpy as np

from . import _axes, _kinds, _masu
from ._device_array import DeviceArray, dtype_name, upload

reduced = _axes.reduced
_PIECE = 2**24  # elements that become truth values by way of integers of 64 bits
#: In place of an array: NumPy's own function is to be called.
NUMPY = None


def data(a):
    """`a`; NUMPY for what is empty."""
    return a if a.size else NUMPY


def truths(a):
    """A copy of truth values as bytes 0 and 1. Other libraries may have other bytes for True."""
    result = empty(a)
    _masu.convert(a, result, a.device)
    return result


def words(a):
    return DeviceArray(a, a.shape, a, 0, "u8") if a._dtype == "bool" else a


def plain(a):
    """An array."""
    return a


native = plain


def device_for(device, a):
    return a.device


def numpys(name, a, call, out=None, *, ask=None, what="this"):
    """Sends NumPy's result to the device where the array is empty. Else raises NumPy's error, if it has one for one element or in
    ask(), or TypeError.
    """
    if isinstance(a, _masu.DeviceArray) and not a.size:
        found = call(np.empty(a.shape, a.dtype))
        return type(found)(sent(a, one) for one in found) if type(found) in (tuple, list) else sent(a, found)
    if call is not None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            ask() if ask is not None else call(np.zeros((1,) * a.ndim, a.dtype))
    if isinstance(a, _masu.DeviceArray) and (lacking := _kinds.lacking(a.dtype)):  # also of an array that is on the host
        raise TypeError(f"{name}: {what} is not supported with {lacking}; use float32, as of masu.convert")
    raise TypeError(f"{name}: {what} is not supported with arrays on a device; copy them to the host")


def returned(found, out=None):
    return found


def sent(a, found):
    """What was computed in host memory for `a`, or given there beside it, on its device."""
    return found if isinstance(found, _masu.DeviceArray) else upload(found, a.device)


def there(name, array, like):
    """A host array on the device of `like`, in its dtype, if that changes no value."""
    if isinstance(array, _masu.DeviceArray):
        if array.dtype != like.dtype:
            raise TypeError(f"{name}: on a device the dtypes must be the same, got {like.dtype} and {array.dtype}")
        return array
    array = np.asarray(array)
    with np.errstate(all="ignore"):
        changed = array.astype(like.dtype)
    if not np.array_equal(changed, array, equal_nan=array.dtype.kind == changed.dtype.kind == "f"):
        raise TypeError(f"{name}: the values must be of the dtype {like.dtype} of the array on the device")
    return sent(like, changed)


def alike(name, a, b):
    return (a, there(name, b, a)) if isinstance(a, _masu.DeviceArray) else (there(name, a, b), b)


def distinct(a, index, inverse, counts, device):
    found = [None if one is None else DeviceArray(one, one.shape, one)
             for one in _masu.unique(a, index, inverse, counts, a.device)]
    if a.dtype == np.bool:
        found[0] = sent(a, found[0].get().view(np.bool))
    return found


def _mask(name, a, where):
    """NumPy's `where` as an array like `a` on its device."""
    if not isinstance(where, _masu.DeviceArray):
        where = np.asarray(where, None if isinstance(where, np.ndarray) else np.bool)
        where = sent(a, np.broadcast_to(where, a.shape))
    if where.dtype != np.bool:
        raise TypeError(f"{name}: where must be of truth values, got {where.dtype}")
    if where.shape != a.shape:
        raise ValueError(f"{name}: where must have the shape {a.shape} on a device, got {where.shape}")
    return where


def chosen(name, a, where, axes):
    """The elements of an array where `where` is true, to be reduced along `axes`."""
    if len(axes) != a.ndim:
        raise TypeError(f"{name}: where is supported on a device for all axes together, got the axes {axes}")
    if where is None:
        raise TypeError(f"{name}: where must be of truth values, got None")
    kept = empty(a, shape=(a.size,))
    return part(kept, 0, _masu.chosen(a, _mask(name, a, where), kept))


def few(numpys, lines, shape, dtype, less):
    """A moment of no more than `less` elements: of nothing NumPy's."""
    if less >= max(lines.shape[-1], 1):
        raise ValueError(f"{numpys.__name__}: on a device and in bfloat16 there must be more than {less} elements, got {lines.shape[-1]}")
    return sent(lines, np.asarray(numpys(np.empty(lines.shape, lines.dtype), axis=-1, dtype=dtype)).reshape(shape))


def zeros_elsewhere(name, a, where):
    kept = empty(a)
    _masu.zeros_elsewhere(a, _mask(name, a, where), kept)
    return kept


def totals(a, shape, dtype):
    """An array for what masu finds for each line: integers modulo 2^64, as NumPy adds them."""
    return empty(a, dtype if dtype.kind == "f" else "i64" if a.dtype.kind == "i" else "u64", shape)


def histogram(a, spec, edges):
    """(counts, edges) of all elements, counted into memory of the device."""
    counts, found = empty(a, "i64", (len(edges) + 2,)), DeviceArray(a.device, edges.dtype, edges.shape)
    _masu.histogram_there(a, spec, counts, edges, found, a.device)
    return DeviceArray(counts, (len(edges) - 1,), counts, 0), found


def divide_nans(a, found):
    values, first, inverse, counts = found
    different = values.size - 1
    if not np.isnan(part(values, different, 1).get()[0]):
        return
    places = nan_places(a.reshape(-1), int(part(counts, different, 1).get()[0]))
    if inverse is not None:
        put(inverse, places, sent(a, np.arange(different, different + places.size)))
    if first is not None:
        found[1] = joined(part(first, 0, different), places)
    found[0] = joined(part(values, 0, different), take(a, places))
    found[3] = joined(part(counts, 0, different), sent(a, np.ones(places.size, np.intp)))


def nan_places(a, number):
    """Where the NaNs of an array are, `number` of them: last in the order."""
    order = empty(a, "i64")
    _masu.sort(a, order, 1, a.device, False, True)
    return part(order, a.size - number, number)


def take(a, places):
    """The elements at places."""
    found = empty(a, shape=places.shape)
    _masu.gather(a, places, found, 1)
    return found


def put(a, places, numbers):
    """Writes elements at places."""
    _masu.scatter(numbers, places, a)


def empty(a, dtype=None, shape=None):
    return DeviceArray(a.device, a._dtype if dtype is None else dtype, a.shape if shape is None else shape)


def part(array, first, count):
    """`count` elements from number `first` on, in the same memory."""
    return DeviceArray(array, (count,), array, first)


def joined(*parts):
    """Joins arrays of one dimension."""
    result, first = empty(parts[0], shape=(sum(one.size for one in parts),)), 0
    for one in parts:
        if one.size:
            _masu.convert(one, part(result, first, one.size), one.device)
        first += one.size
    return result


def converted(array, dtype):
    """`array` in another dtype, integers modulo its range; in bool whether elements are not zero."""
    if array.dtype == dtype:
        return array
    result = empty(array, dtype_name(dtype))
    if dtype == np.bool:
        for begin in range(0, array.size, _PIECE):
            size = min(_PIECE, array.size - begin)
            found = empty(array, "i64", (size,))
            _masu.reduce_rows(DeviceArray(array, (size, 1), array, begin), "count_nonzero", found, found, array.device)
            _masu.convert(found, DeviceArray(result, (size,), result, begin), array.device)
    elif array.size:
        _masu.convert(array, result, array.device)
    return result


def swapped(array, outer, length):
    """The elements, outer x length x inner of them, as outer x inner x length."""
    if not array.size or length in (1, array.size // outer):
        return array
    result = empty(array)
    _masu.swap_axes(array, result, outer, length)
    return result


def rows(array, axes):
    """`array` with `axes` after the others, in their order, as one axis."""
    if array.ndim == len(axes) == 1:
        return array
    result, outer = array, 1
    for reduced, run in itertools.groupby(range(array.ndim), axes.__contains__):
        length = math.prod(array.shape[i] for i in run)
        if reduced:
            result = swapped(result, outer, length)
        else:
            outer *= length
    kept = (n for i, n in enumerate(array.shape) if i not in axes)
    return result.reshape((*kept, math.prod(array.shape[i] for i in axes)))


def placed(array, axis):
    *others, length = array.shape
    before, after = others[:axis], others[axis:]
    return swapped(array, math.prod(before), math.prod(after)).reshape((*before, length, *after))


def along(name, a, axis, dtype, write, out=None):
    from_lines = rows(a, (axis,))
    to = empty(from_lines, dtype)
    if a.size:
        write(from_lines, to, a.size // a.shape[axis])
    return placed(to, axis)


def fill(name, outs, result, inputs):
    """Copies results to arrays that the caller gave: of exactly their dtypes and shapes, apart from the inputs."""
    results = result if isinstance(result, tuple) else (result,)
    if len(outs) != len(results):
        raise TypeError(f"{name}: out must be {len(results)} arrays, got {len(outs)}")
    for i, (out, one) in enumerate(zip(outs, results)):
        if not isinstance(out, _masu.DeviceArray):
            raise TypeError(f"{name}: out must be an array on the device {one.device.id}, got {type(out).__name__}")
        _axes.check_target(name, out, one.dtype, one.shape, out._read_only)
        _axes.check_apart(name, any(out._overlaps(other) for other in inputs))
        if any(out._overlaps(other) for other in outs[:i]):
            raise ValueError(f"{name}: the arrays of out must not overlap")
    for out, one in zip(outs, results):
        if one.size:
            _masu.convert(one, out, out.device)
