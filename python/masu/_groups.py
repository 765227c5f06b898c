# SPDX-License-Identifier: Apache-2.0
"""Groups of ids."""
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
    Groups(counts, offsets, order), all of intp: `counts` of n elements, how many ids are g; `offsets` of n + 1, how many are less than
    g; `order` of as many as ids, such that ``order[offsets[g]:offsets[g + 1]]`` are the places of g, ascending.

    An id out of range raises ValueError. A call on tensors of PyTorch and CuPy, which only enqueues, raises nothing: such elements
    stand behind all groups in `order`, so that offsets[n] is less than their number, and are counted nowhere. Raises
    ValueError for an n out of range, and TypeError for ids that are not integers.

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
