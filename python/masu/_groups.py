# SPDX-License-Identifier: Apache-2.0
"""Groups of ids, and sums of segments."""
from typing import NamedTuple

import numpy as np

from . import _host, _kinds, _masu
from ._arrays import adapter, in_kind

_INTP = np.dtype(np.intp)
_MOST_GROUPS = 2**32


class Groups(NamedTuple):
    """What group returns."""

    counts: np.ndarray
    offsets: np.ndarray
    order: np.ndarray


@_masu.with_plain_calls
def group(ids, n, *, device=None):
    """Counts, offsets and the stable order of ids 0 … n - 1: for experts, buckets, categories and joins.

    `ids`: integers of any shape, taken flattened. `n`: how many groups there are, from 1 to 2^32. Returns
    Groups(counts, offsets, order), all of intp. `counts` has n elements: how many ids are g. `offsets` has n +
    1: how many are less than g. `order` has as many as there are ids: ``order[offsets[g]:offsets[g + 1]]`` are
    the places of g, ascending.

    An id out of range raises ValueError. A call on tensors of PyTorch and CuPy only enqueues, so it raises
    nothing. Such elements are counted nowhere and stand after all groups in `order`; offsets[n] is then less
    than the number of elements. Raises ValueError for an n out of range, and TypeError for ids that are not
    integers.

    >>> import masu
    >>> groups = masu.group([2, 0, 2, 1], 4)
    >>> groups.counts.tolist(), groups.offsets.tolist(), groups.order.tolist()
    ([1, 1, 2, 0], [0, 1, 2, 4, 4], [1, 3, 0, 2])
    """
    if (on := adapter(device, ids)) is None:
        return in_kind(group, locals())
    if isinstance(n, (bool, np.bool)) or not hasattr(n, "__index__"):
        raise TypeError(f"group: n must be an integer, got {type(n).__name__}")
    n = n.__index__()
    if not 1 <= n <= _MOST_GROUPS:
        raise ValueError(f"group: n must be from 1 to 2^32, got {n}")
    data = on.native(_kinds.whole(ids) if on is _host else ids)
    if data.size and data.dtype.kind not in "iu":
        raise TypeError(f"group: ids must be integers, got {data.dtype}")
    sizes = (n, n + 1, data.size)
    if not data.size:
        return Groups(*(on.sent(data, np.zeros(size, _INTP)) for size in sizes))
    found = Groups(*(on.empty(data, _INTP, (size,)) for size in sizes))
    _masu.group(data, *found, on.device_for(device, data))
    return found


@_masu.with_plain_calls
def segment_sum(a, offsets, *, device=None):
    """The exact sum of each segment of an array, rounded once, as `masu.sum` makes it.

    `a`: integers or floats in one dimension. `offsets`: integers, one more than segments: segment s is ``a[offsets[s]:offsets[s + 1]]``,
    so with the groups of ``group(ids, n)`` those of ``values[order]``. Returns an array of a's dtype, or of int64 or uint64 for
    integers, whose sums are modulo 2^64; 0 where a segment is empty. Sums by ids, in any order, are ``masu.bincount(ids, weights)``.

    Raises ValueError for offsets that decrease, are negative or beyond the end. On a GPU they are not checked: places outside
    the values count as no element. Raises TypeError for other dtypes. Data of the host are added on the CPU.

    >>> import masu
    >>> masu.segment_sum([1e16, 1.0, -1e16, 3.0], [0, 3, 3, 4]).tolist()
    [1.0, 0.0, 3.0]
    """
    if (on := adapter(device, a, offsets)) is None:
        return in_kind(segment_sum, locals())
    data = on.native(_kinds.whole(a) if on is _host else a)
    if data.dtype.kind == "b" or not _kinds.has_dtype(data):
        raise TypeError(f"segment_sum: the dtype must be an integer or float16 to float64, got {_kinds.in_words(data.dtype)}")
    places = offsets if isinstance(offsets, _masu.DeviceArray) else _kinds.native(_kinds.whole(offsets))
    if places.dtype.kind not in "iu":
        raise TypeError(f"segment_sum: offsets must be integers, got {places.dtype}")
    if data.ndim != 1 or places.ndim != 1 or not places.size:
        raise ValueError("segment_sum: a and offsets must have one dimension, offsets an element, "
                         f"got the shapes {data.shape} and {places.shape}")
    if places.dtype.kind == "i" and not isinstance(places, _masu.DeviceArray) and places.min() < 0:
        raise ValueError(f"segment_sum: offsets must not be negative, got {places.min()}")
    on.device_for(device, data)  # its errors
    places = on.sent(data, places if isinstance(places, _masu.DeviceArray) else places.astype(np.int64, copy=False))
    dtype = {"i": np.dtype(np.int64), "u": np.dtype(np.uint64)}.get(data.dtype.kind)  # None: that of a
    sums = on.empty(data, dtype, (places.size - 1,))
    if sums.size:
        _masu.segment_sum(data, on.converted(places, np.dtype(np.int64)), sums)
    return sums
