# SPDX-License-Identifier: Apache-2.0
"""Tasks: a function of each chunk, states put together in a tree, passes over the chunks one after the other."""
from __future__ import annotations

import copy
import itertools
import math
import operator
from functools import partial

import dask
import dask.array as da
import numpy as np
from dask._task_spec import convert_legacy_graph
from dask.base import clone_key, tokenize
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.lib.array_utils import normalize_axis_tuple

from .. import _arrays, _kinds, _masu
from .._order import TopK

_FAN = 8  # states that are put together at a time


def taken(function, a):
    """`a` as a Dask array whose blocks masu can take."""
    if not isinstance(a, da.Array):
        a = da.asanyarray(a)
    kind = type(a._meta)
    if isinstance(a._meta, np.ma.MaskedArray) or not (isinstance(a._meta, np.ndarray) or _kinds.foreign(a._meta)
                                                      and hasattr(kind, "__array_function__") and _kinds.in_memory(a._meta)):
        raise TypeError(f"{function}: the blocks of the Dask array must be NumPy arrays, or of a library as CuPy, got {kind.__name__}")
    if a.dtype.num not in _kinds.NATIVE:
        raise TypeError(f"{function}: the dtype must be bool, an integer or float16 to float64, got {_kinds.in_words(a.dtype)}")
    return a


def near(block):
    """A block as masu takes it: a NumPy array, or a DeviceArray where the block's library has it on a device."""
    return _arrays.read(block, None) if _kinds.foreign(block) else block


def there(block):
    """Whether a block is in device memory."""
    return isinstance(block, _masu.DeviceArray)


def on_host(found):
    """What masu's function gave for blocks, in host memory."""
    if isinstance(found, tuple):
        parts = map(on_host, found)
        return TopK(*parts) if isinstance(found, TopK) else tuple(parts)
    if not _kinds.foreign(found):
        return found
    found = near(found)
    if not isinstance(found, _masu.DeviceArray):
        return found
    with _masu.OnStream([found]):
        return found.get()


def computed(function, *blocks, **keywords):
    """function(*blocks) where the blocks are; the result in host memory."""
    return on_host(function(*map(near, blocks), **keywords))


def state_of(kind, device, *blocks):
    """The state, `kind(device=…)`, of blocks where they are."""
    blocks = [near(block) for block in blocks]
    state = kind(device=blocks[0].device if there(blocks[0]) else device)
    state.add(*blocks)
    return state


def merged(states):
    """States together, in their order."""
    total = copy.copy(states[0])
    for state in states[1:]:
        total.merge(state)
    return total


def empty_like(a, ndim, dtype):
    """Dask's meta for results with blocks of the library of the array's."""
    meta = np.empty((0,) * ndim, dtype)
    return meta if isinstance(a._meta, np.ndarray) else np.asarray(meta, like=a._meta)


def options(function, split_every=None, device=None):
    """The name of the device, as workers may have others; errors of both arguments at the call."""
    _fan(split_every, function)
    if isinstance(device, (_masu.Device, _masu.DeviceInfo)):
        return device.id
    if not (device is None or isinstance(device, str)):
        raise TypeError(f"{function}: device must be a name or a masu.Device, got {type(device).__name__}")
    kind = (device or "").split(":")[0]
    if device not in (None, "", "auto", "cpu") and (kind not in ("opencl", "cuda") or device == f"{kind}:"):
        raise ValueError(f"{function}: a device is auto, cpu, opencl, cuda, opencl:N, cuda:N or a part of a name as in "
                         f"opencl:NAME, got {device!r}")
    return device


def known(function, a):
    """Raises ValueError where the sizes of chunks are not known."""
    if math.isnan(a.size):
        raise ValueError(f"{function}: the sizes of the chunks must be known; call compute_chunk_sizes() first")
    return a


def aligned(function, b, a):
    """`b` with the chunks of `a`; where sizes are not known, their numbers are those of `a`."""
    if b.chunks == a.chunks or math.isnan(a.size) and b.numblocks == a.numblocks:
        return b
    chunks = known(function, a).chunks
    return known(function, b).rechunk(chunks) if b.size else _nothing(b, b.shape, chunks)


def _nothing(a, shape, chunks=-1):
    """No elements, in these chunks, which Dask's `rechunk` does not make."""
    return da.from_array(np.empty_like(a._meta, shape=shape), chunks)


def filled(a):
    """The array without empty chunks, with which some of Dask's functions fail."""
    if not any(0 in sizes for sizes in a.chunks):
        return a
    return a.rechunk(tuple(tuple(n for n in sizes if n) for sizes in a.chunks)) if a.size else _nothing(a, a.shape)


def flat(a):
    """The array with one axis, in NumPy's order."""
    if a.ndim == 1:
        return a
    return filled(a).ravel() if a.size else _nothing(a, (0,))


def blocks(a):
    """The keys of the chunks, in NumPy's order of the blocks."""
    return [(a.name, *place) for place in itertools.product(*(range(len(c)) for c in a.chunks))]


def starts(chunks):
    """Where each chunk of an axis begins."""
    return np.cumsum([0, *chunks]).tolist()


def after(begins, parts):
    """Positions in chunks, as positions in all of them."""
    return np.concatenate([part + begin for part, begin in zip(parts, begins)])


def together(parts):
    """The parts one after the other, in their byte order."""
    return np.concatenate(parts, dtype=parts[0].dtype)


@_masu.in_usual_arithmetic
def run(work, *arguments):
    """Runs a task in masu's floating-point environment: a worker's thread has the mode of the thread that started it."""
    return work(*arguments)


class Tasks:
    """A function's tasks; arrays of its results are made by `array`."""

    def __init__(self, function, *arguments, over=()):
        self.token = tokenize(function, _masu.__version__, *arguments)
        self.name = f"masu_{function}"
        self.tasks = {}
        self.over = list(over)

    def add(self, label, work, *keys):
        """One task: work(*results of keys)."""
        key = f"{self.name}_{label}-{self.token}"
        self.tasks[key] = (partial(run, work), *keys)
        return key

    def each(self, label, work, *keys, more=None):
        """A task for each entry of `keys`, lists of equal length; `more[i]` are arguments of task i alone."""
        made = []
        for i, parts in enumerate(zip(*keys, strict=True)):
            key = (f"{self.name}_{label}-{self.token}", i)
            self.tasks[key] = (partial(run, work, *(() if more is None else more[i])), *parts)
            made.append(key)
        return made

    def begins(self, a):
        """A task: where each chunk of an array of one dimension begins, and the end of the last; sizes may be unknown."""
        if not math.isnan(a.size):
            return self.add("begins", partial(itself, starts(a.chunks[0])))
        return self.add("begins", starts, self.each("size", _size, blocks(a)))

    def tree(self, label, merge, keys, split_every=None):
        """One state of many: merge(list of states), in their order."""
        fan = _fan(split_every)
        for level in itertools.count():
            if len(keys) == 1:
                return keys[0]
            groups = [keys[i:i + fan] for i in range(0, len(keys), fan)]
            keys = self.each(f"{label}-{level}", partial(_merged, merge), groups)

    def total(self, work, merge, finish, *keys, split_every=None, more=None):
        """One result of all chunks: `work` makes a state of each, `merge` puts lists of states together, `finish` gets the last."""
        parts = self.each("part", work, *keys, more=more)
        return self.add("total", finish, self.tree("tree", merge, parts, split_every))

    def again(self, key, *arrays):
        """The chunks of each array, computed again after the task `key`."""
        self._close()
        copies = [_copied(a, Delayed(key, self.graph, layer=self.layer), self.layer) for a in arrays]
        self.over += copies
        return [blocks(copy) for copy in copies]

    def array(self, outputs, chunks, dtype, meta=None):
        """A Dask array whose blocks are the results of the tasks `outputs`, in NumPy's order; NumPy arrays without `meta`."""
        self._close()
        name = f"{self.name}-{tokenize(self.token, *map(str, outputs))}"
        places = itertools.product(*(range(len(c)) for c in chunks))
        layer = {(name, *place): (itself, key) for place, key in zip(places, outputs)}
        graph = HighLevelGraph({**self.graph.layers, name: layer}, {**self.graph.dependencies, name: {self.layer}})
        return da.Array(graph, name, chunks, meta=np.empty((0,) * len(chunks), dtype) if meta is None else meta)

    def _close(self):
        """Makes a layer of the tasks that were added."""
        if self.tasks:
            self.layer = f"{self.name}-{self.token}-{len(self.over)}"
            self.graph = HighLevelGraph.from_collections(self.layer, self.tasks, dependencies=self.over)
            self.over.append(Delayed(next(iter(self.tasks)), self.graph, layer=self.layer))
            self.tasks = {}


def _copied(a, before, seed):
    """The array with tasks of its own, none of which begins before the task `before` has ended.

    Dask's `bind` leaves tasks of Delayed objects as they are, so that these would be kept.
    """
    tasks = convert_legacy_graph(dict(dask.optimize(a)[0].__dask_graph__()))
    names = {key: clone_key(key, seed) for key in tasks}
    copy = {}
    for key, task in tasks.items():
        renamed = task.substitute(names, key=names[key])
        copy[names[key]] = renamed if names.keys() & task.dependencies else (_after, renamed, before.key)
    name = clone_key(a.name, seed)
    return da.Array(HighLevelGraph.from_collections(name, copy, dependencies=[before]), name, a.chunks, meta=a._meta)


def _after(result, before):
    return result


def _size(block):
    return block.size if isinstance(block, np.ndarray) else math.prod(block.shape)


def itself(x):
    return x


def part(*places):
    """The part x[i][j]… of x; x is the last argument, i, j, … are the others."""
    *places, x = places
    for place in places:
        x = x[place]
    return x


def _merged(merge, states):
    return merge(states) if len(states) > 1 else states[0]


def _fan(split_every, function="masu.dask"):
    if split_every is None:
        return _FAN
    if split_every is False:
        return 2**31
    try:
        fan = operator.index(split_every)
    except TypeError:
        raise TypeError(f"{function}: split_every must be an integer, False or None, got {split_every!r}") from None
    if fan < 2:
        raise ValueError(f"{function}: split_every must be at least 2, got {fan}")
    return fan


def axes_of(a, axis, of_scalar=False):
    """The axes that are reduced; None for all of them. `of_scalar`: an array of no dimensions has axis 0, as in NumPy's ufuncs."""
    if axis is None or of_scalar and a.ndim == 0 and not isinstance(axis, tuple) and operator.index(axis) in (0, -1):
        return None
    axes = normalize_axis_tuple(axis, a.ndim)
    return None if len(axes) == a.ndim else axes


def scalar(tasks, key, a, keepdims, dtype):
    """The Dask array of one number; with `keepdims` of as many dimensions as `a`."""
    shape = (1,) * a.ndim if keepdims else ()
    return tasks.array([tasks.add("shaped", partial(_shaped, shape, dtype), key)], tuple((1,) for _ in shape), dtype)


def _shaped(shape, dtype, number):
    return np.asarray(number, dtype).reshape(shape)[()]


def along(function, a, axes, dtype, keepdims=False, front=()):
    """function(block, axis=axes) of whole lines; `axes` become one element each, or are dropped. `front`: the shape of the axes
    that a result has before the others.
    """
    a = filled(a).rechunk(dict.fromkeys(axes, -1))
    kept = [(1,) if i in axes else c for i, c in enumerate(a.chunks) if keepdims or i not in axes]
    chunks = (*((n,) for n in front), *kept)
    work = partial(run, _block, function, axes[0] if len(axes) == 1 else axes, keepdims, front, dtype)
    return a.map_blocks(work, chunks=chunks, new_axis=list(range(len(front))) or None, drop_axis=[] if keepdims else list(axes),
                        dtype=dtype, meta=np.empty((0,) * len(chunks), dtype))


def _block(function, axis, keepdims, front, dtype, block):
    axes = axis if isinstance(axis, tuple) else (axis,)
    left = tuple(1 if i in axes else n for i, n in enumerate(block.shape) if keepdims or i not in axes)
    if 0 in left:  # NumPy's functions of q fail
        return np.empty((*front, *left), dtype)
    found = computed(function, block, axis=axis, **({"keepdims": True} if keepdims else {}))
    return found if block.size else np.full((*front, *left), found)  # NumPy's nan functions of nothing forget the shape of q
