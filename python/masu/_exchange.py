# SPDX-License-Identifier: Apache-2.0
"""What a histogram consists of, and how it is read: from scikit-hep's exchange format, and from bytes."""
from __future__ import annotations

import math
import struct
from typing import NamedTuple

import numpy as np

from ._bin_axis import Bins

_MOST_AXES = 32
_HEAD = struct.Struct("<4sBI")  # magic, version, the bytes of the JSON text that follows; then totals and variances
MAGIC, _VERSION = b"mcel", 1
_DTYPES = ("i8", "u8", "f2", "f4", "f8")


class Cells(NamedTuple):
    """What a histogram consists of. `totals` has an axis for each one of `axes`, with its flow bins. `beside`
    are the points that are in no bin, and those with a NaN. Of counts, the variances are None."""

    axes: tuple
    totals: np.ndarray
    squares: np.ndarray | None
    beside: tuple
    beside_squares: tuple | None


def _shape(axes):
    return tuple(len(axis) + axis.underflow + axis.overflow for axis in axes)


def _numbers(name, values, shape):
    """Numbers of a message as an array of that shape."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        raise ValueError(f"from_uhi: {name} must be numbers, got {array.dtype}")
    if array.size != math.prod(shape):
        raise ValueError(f"from_uhi: {name} must have the shape {shape}, got {array.shape}")
    if array.dtype.kind != "f":
        return array.reshape(shape).astype(np.int64 if array.dtype.kind == "i" else np.uint64)
    return array.reshape(shape).astype(np.float64)


def read(data):
    """Cells of a dict of the exchange format."""
    if not isinstance(data, dict) or data.get("uhi_schema") != 1:
        raise ValueError("from_uhi: there must be a dict of uhi_schema 1")
    given, storage = data.get("axes"), data.get("storage")
    if not isinstance(given, (list, tuple)) or not 1 <= len(given) <= _MOST_AXES or not isinstance(storage, dict):
        raise ValueError(f"from_uhi: there must be 1 to {_MOST_AXES} axes and a storage")
    kind, values = storage.get("type"), storage.get("values")
    if kind not in ("int", "double", "weighted") or "index" in storage:
        raise ValueError(f"from_uhi: the storage must be int, double or weighted, and dense, got {kind!r:.80}")
    if not isinstance(values, (list, tuple, np.ndarray)):
        raise ValueError(f"from_uhi: values must be an array, got {type(values).__name__}")
    axes = tuple(Bins._from_described(one, np.size(values)) for one in given)
    shape = _shape(axes)
    totals = _numbers("values", values, shape)
    squares = _numbers("variances", storage.get("variances"), shape).astype(np.float64) if kind == "weighted" else None
    if kind == "int" and totals.dtype.kind == "f":
        if not ((np.abs(totals) < 2**53) & (totals == np.floor(totals))).all():
            raise ValueError("from_uhi: the values of a storage of int must be integers")
        totals = totals.astype(np.int64)
    elif kind == "double":
        totals = totals.astype(np.float64)
    info = data.get("writer_info", {})
    info = info.get("masu", {}) if isinstance(info, dict) else {}

    def beside(*names):
        found = tuple(info.get(name, 0) if isinstance(info, dict) else 0 for name in names)
        if not all(type(one) in (int, float) for one in found):
            raise ValueError(f"from_uhi: {' and '.join(names)} must be numbers")
        return found

    return checked(Cells(axes, totals, squares, beside("outside", "nan"),
                         None if squares is None else tuple(map(float, beside("outside_variance", "nan_variance")))))


def checked(cells):
    """The cells; ValueError where counts or variances are negative."""
    if cells.squares is None and (cells.totals.dtype.kind != "f" and (cells.totals < 0).any() or
                                  any(type(one) is int and one < 0 for one in cells.beside)):
        raise ValueError("Histogram: counts must not be negative")
    if cells.squares is not None and ((cells.squares < 0).any() or min(cells.beside_squares) < 0):
        raise ValueError("Histogram: variances must not be negative")
    return cells


def to_bytes(cells, name):
    """Cells as bytes: little-endian, with a version."""
    import json

    if cells.totals.dtype.str[1:] not in _DTYPES or any(axis.edges.dtype.itemsize > 8 for axis in cells.axes):
        raise TypeError(f"{name}: tobytes writes integers and float16 to float64, got totals of {cells.totals.dtype} "
                        f"and edges of {cells.axes[0].edges.dtype}")
    for one in cells.beside:
        if type(one) is int and not -2**63 <= one < 2**64:
            raise ValueError(f"{name}: tobytes writes integers of 64 bits, got {one}")
    head = json.dumps({"axes": [axis._exact() for axis in cells.axes], "dtype": cells.totals.dtype.str[1:], "beside": cells.beside,
                       "beside_squares": cells.beside_squares}).encode()
    parts = [cells.totals] if cells.squares is None else [cells.totals, cells.squares]
    return _HEAD.pack(MAGIC, _VERSION, len(head)) + head + b"".join(
        np.ascontiguousarray(part, part.dtype.newbyteorder("<")).tobytes() for part in parts)


def from_bytes(data, name, flow=True):
    """The cells of which `to_bytes` wrote these bytes. ValueError, which begins with `name`, for anything else. Without `flow`, below
    and above are beside."""
    import json

    try:
        _, version, length = _HEAD.unpack_from(data)
        if version != _VERSION:
            raise ValueError(f"version {_VERSION}, got version {version}")
        head, rest = json.loads(bytes(data[_HEAD.size:_HEAD.size + length])), data[_HEAD.size + length:]
        dtype, beside, squares = head["dtype"], tuple(head["beside"]), head["beside_squares"]
        if dtype not in _DTYPES or not 1 <= len(head["axes"]) <= _MOST_AXES:
            raise ValueError("the dtype or the number of axes is not one of a histogram")
        axes = tuple(Bins._from_described(one, len(rest)) for one in head["axes"])
        shape = _shape(axes) if flow else tuple(map(len, axes))
        if len(beside) != 3 - flow or len(beside) != len(beside if squares is None else squares) or len(axes) > 1 > flow or not all(
                type(one) in (int, float) for one in (*beside, *(squares or ()))):
            raise ValueError("what lies beside the bins is damaged")
        end = int(dtype[1:]) * math.prod(shape)
        if len(rest) != end + (0 if squares is None else 8 * math.prod(shape)):
            raise ValueError(f"{shape} bins need {end} bytes and their variances, got {len(rest)}")
        parts = [np.frombuffer(part, f"<{kind}").reshape(shape).astype(kind) for part, kind in ((rest[:end], dtype), (rest[end:], "f8"))
                 if part]
        squares = None if squares is None else tuple(map(float, squares))
        cells = checked(Cells(axes, parts[0], None if squares is None else parts[1], beside, squares))
        if to_bytes(cells, name) != data:
            raise ValueError("they are written in another way")
        return cells
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError, struct.error) as error:
        raise ValueError(f"{name}: frombytes needs bytes that tobytes wrote: {error}") from error
