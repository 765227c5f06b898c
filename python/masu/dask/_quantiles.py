# SPDX-License-Identifier: Apache-2.0
"""Exact medians and quantiles of Dask arrays.

Elements are found by their places in the sorted order. Where chunks are kept, samples of them say between which keys the elements
most likely are. One pass counts the keys in front of these and collects those between. Else, and where the samples misled, each
pass counts by the bits that follow the known front bits of the ordered keys. Where few keys have these front bits, it collects
them. What NumPy's function computes of the elements that are found is the result.
"""
from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import dask.array as da
import numpy as np

from .. import _device, _device_array, _host, _masu, _order, _quantile
from . import _graph

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

_DIGIT = 16  # bits that a pass finds
_COLLECTED = 2**20  # keys that may be collected in all
_DENSE = 2**20  # counts that may be held one by one where most are zero
_SHARE = 32  # or this part of the elements, where that saves a pass
_SAMPLES = 8192  # keys of a chunk
_SAMPLED = 2**22  # elements from which on samples are worth it
_INTERVALS = 8  # that are looked at in one pass sooner than digits are counted in several
_SURE = 3.5  # standard deviations of a place among the samples


def median(a, axis=None, keepdims=False, *, recompute=False, split_every=None):
    """The median along axes, as `masu.median` of the whole array.

    The median of all elements is found in passes over the chunks that exchange counts alone. Data of 8 and 16 bits
    take one pass, 32 bits two, 64 bits two to four. `recompute`: True computes the chunks again for each pass, so
    that a worker needs memory for few of them. By default they are kept from pass to pass. `split_every`: how many
    chunks' counts are put together at a time. Along some of the axes, whole lines are brought together first.

    >>> import dask.array, masu.dask
    >>> float(masu.dask.median(dask.array.from_array([4.0, 1.0, 3.0, 2.0], chunks=2)).compute())
    2.5
    """
    return _found(_quantile.median, np.median, a, {}, (), axis, keepdims, recompute, split_every)


def quantile(a, q, axis=None, method="linear", keepdims=False, *, recompute=False, split_every=None):
    """Quantiles along axes, as `masu.quantile` of the whole array: `q` from 0 to 1, a number or an array; `method` one of
    NumPy's. Other parameters are those of `median`.

    >>> import dask.array, masu.dask
    >>> masu.dask.quantile(dask.array.arange(101, chunks=10), [0.25, 0.5]).compute().tolist()
    [25.0, 50.0]
    """
    return _found(_quantile.quantile, np.quantile, a, {"q": q, "method": method}, np.shape(q), axis, keepdims, recompute, split_every)


def percentile(a, q, axis=None, method="linear", keepdims=False, *, recompute=False, split_every=None):
    """Percentiles along axes, as `masu.percentile` of the whole array: `quantile`, with `q` from 0 to 100."""
    return _found(_quantile.percentile, np.percentile, a, {"q": q, "method": method}, np.shape(q), axis, keepdims, recompute, split_every)


def nanmedian(a, axis=None, keepdims=False, *, recompute=False, split_every=None):
    """The median without NaN along axes, as `masu.nanmedian` of the whole array; parameters are those of `median`.

    >>> import dask.array, masu.dask
    >>> float(masu.dask.nanmedian(dask.array.from_array([4.0, float("nan"), 3.0], chunks=2)).compute())
    3.5
    """
    return _found(_quantile.nanmedian, np.median, a, {}, (), axis, keepdims, recompute, split_every)


def nanquantile(a, q, axis=None, method="linear", keepdims=False, *, recompute=False, split_every=None):
    """Quantiles without NaN along axes, as `masu.nanquantile` of the whole array; parameters are those of `quantile`."""
    return _found(_quantile.nanquantile, np.quantile, a, {"q": q, "method": method}, np.shape(q), axis, keepdims, recompute, split_every)


def nanpercentile(a, q, axis=None, method="linear", keepdims=False, *, recompute=False, split_every=None):
    """Percentiles without NaN along axes, as `masu.nanpercentile` of the whole array; parameters are those of `quantile`."""
    return _found(_quantile.nanpercentile, np.percentile, a, {"q": q, "method": method}, np.shape(q), axis, keepdims, recompute, split_every)


def _found(function, numpys, a, options, front, axis, keepdims, recompute, split_every):
    name = function.__name__
    a = _graph.taken(name, a)
    _graph.options(name, split_every)
    # NumPy's dtype, and its errors for q and method
    dtype = np.asarray(numpys(np.zeros(3, a.dtype), **options)).dtype
    if a.size == 0 and name.startswith("nan"):
        dtype = np.result_type(dtype, np.float16 if a.dtype.kind == "f" else np.float64)
    axes = _graph.axes_of(a, axis)
    if axes is not None:
        return _graph.along(partial(function, **options), a, axes, dtype, keepdims, front)
    ndim = a.ndim
    if name.startswith("nan"):
        a = _graph.flat(a)
        a = a[~da.isnan(a)]
    tasks = _graph.Tasks(name, a, tuple(sorted(options.items(), key=str)), keepdims, recompute, split_every, over=[a])
    bits = 8 * a.dtype.itemsize
    blocks = _graph.blocks(a)
    plan = tasks.add("begin", partial(_Plan, numpys, options, a.dtype.newbyteorder("="), bits, min(_DIGIT, bits)))
    if not recompute and bits > _DIGIT and not a.size < _SAMPLED:
        plan = tasks.add("guess", _guessed, plan, tasks.each("sample", _sampled, [plan] * len(blocks), blocks,
                                                                more=[(i,) for i in range(len(blocks))]))
        parts = tasks.each("between", _between, [plan] * len(blocks), blocks)
        plan = tasks.add("found", _found_between, plan, tasks.tree("betweens", _all_between, parts, split_every))
    for number in range(-(-bits // _DIGIT)):
        if number and recompute:
            blocks, = tasks.again(plan, a)
        before = plan
        parts = tasks.each(f"pass-{number}", _counted, [plan] * len(blocks), blocks)
        counts = tasks.tree(f"counts-{number}", _added, parts, split_every)
        plan = tasks.add(f"plan-{number}", _narrowed, plan, counts)
    shape = (*front, *((1,) * ndim if keepdims else ()))
    signs = []
    if a.dtype.kind == "f":
        # chunks that are kept are looked at again where a zero was found; others in the last pass, where it may find one
        found = tasks.each("zeros", _zeros, blocks, [before if recompute else plan] * len(blocks))
        signs = [tasks.tree("signs", _zeros_of_all, found, split_every)]
    result = tasks.add("result", partial(_computed, name, shape, dtype), plan, *signs)
    return tasks.array([result], tuple((n,) for n in shape), dtype)


class _Plan(NamedTuple):
    """What is known of the elements at the places that NumPy's function needs."""

    function: object  # NumPy's
    options: dict
    dtype: np.dtype
    left: int  # bits of the keys that are not known
    width: int  # how many of these the next pass finds
    size: int | None = None  # elements in all
    fronts: np.ndarray = np.zeros(1, np.uint64)  # known front bits, ascending, each once
    places: np.ndarray | None = None  # in the sorted order, ascending
    front_of: np.ndarray | None = None  # for each place, which of the fronts
    rest: np.ndarray | None = None  # and its place among the keys with that front, in the end among equal ones
    lows: np.ndarray | None = None  # ends of the intervals in which the samples have the places, and
    highs: np.ndarray | None = None
    interval_of: np.ndarray | None = None  # for each place its interval


def _sampled(number, plan, block):
    """(elements, keys of some of them, evenly spread): of each chunk at other places, as chunks may be alike."""
    block = _graph.on_host(block).reshape(-1)
    step = max(1, block.size // _SAMPLES)
    some = _host.words(_host.contiguous(block[int(number * 0.618034 % 1 * step)::step], plan.dtype))
    keys = np.empty(some.size, np.uint64)
    _masu.keys_of(some, keys)
    return block.size, keys


def _guessed(plan, samples):
    """The plan with intervals that most likely have the keys at all places; without them where there are too many."""
    size = sum(count for count, _ in samples)
    if size == 0:
        return plan
    with_size = plan._replace(size=size)
    places = _places(with_size)
    keys = np.concatenate([keys for _, keys in samples])
    if not 0 < places.size <= 2 * _INTERVALS:
        return plan
    order = np.argsort(keys)
    keys, ranks = keys[order], np.cumsum(np.concatenate([np.full(part.size, count / max(1, part.size)) for count, part in samples])[order])
    share = places / size
    off = _SURE * size * np.sqrt((share * (1 - share) + 1 / keys.size) / keys.size) + size / keys.size
    first, last = ranks.searchsorted(places - off, "right") - 1, ranks.searchsorted(places + off, "left") + 1
    lows = np.where(first < 0, np.uint64(0), keys[np.maximum(first, 0)])
    highs = np.where(last >= keys.size, np.uint64(2**(8 * plan.dtype.itemsize) - 1), keys[np.minimum(last, keys.size - 1)])
    highs = np.maximum(lows, highs)
    starts = np.append(True, lows[1:] > np.maximum.accumulate(highs)[:-1])  # intervals that overlap are one
    number = np.cumsum(starts) - 1
    if number[-1] >= _INTERVALS:
        return plan
    return with_size._replace(places=places, lows=lows[starts], highs=np.maximum.reduceat(highs, np.flatnonzero(starts)),
                              interval_of=number)


def _between(plan, block):
    """A pass over a block: (counts at the ends of each interval, the keys between)."""
    if plan.lows is None:
        return None
    counts = np.zeros((plan.lows.size, 4), np.int64)
    data = _host.words(_host.contiguous(_graph.on_host(block), plan.dtype))
    inside = _masu.bracket_keys(data, plan.lows, plan.highs, counts)
    return counts, [np.frombuffer(keys, np.uint64) for keys in inside]


def _all_between(parts):
    if parts[0] is None:
        return None
    return sum(counts for counts, _ in parts), [np.concatenate(keys) for keys in zip(*(keys for _, keys in parts))]


def _found_between(plan, part):
    """The plan with the keys at all places; as it was in the beginning where an interval does not have one."""
    if part is None:
        return plan
    counts, inside = part
    rest = plan.places - counts[plan.interval_of, 0]
    if (rest < 0).any() or (rest >= counts[plan.interval_of, 1:].sum(axis=1)).any():
        return _Plan(plan.function, plan.options, plan.dtype, plan.left, plan.width)
    keys = [np.concatenate(([low], _order.sort(some), [high])) for low, some, high in zip(plan.lows, inside, plan.highs)]
    many = [np.concatenate(([low], np.ones(some.size, np.int64), [high])) for some, (_, low, _, high) in zip(inside, counts)]
    begins = np.cumsum([0, *(part.size for part in keys)])[plan.interval_of]
    here, rest = _numbers_at(np.concatenate(many), begins, rest)
    return plan._replace(left=0, fronts=np.concatenate(keys)[here], rest=rest)


def _numbers_at(counts, begins, rest):
    """(Numbers of keys among ascending ones, places among equal ones) of the places that come `rest` after key number `begins`."""
    until = np.cumsum(counts)
    place = np.append(0, until)[begins] + rest
    here = until.searchsorted(place, "right")
    return here, place - (until[here] - counts[here])


class _Counts(NamedTuple):
    """How often each next digit follows each of the fronts."""

    size: int  # elements, also those with other fronts
    digits: np.ndarray  # that occur, ascending: in front of each stands the number of its front
    counts: np.ndarray


def _counted(plan, block):
    """A pass over a block."""
    if plan.left == 0:
        return None
    data = _host.words(_host.contiguous(_graph.on_host(block), plan.dtype))
    count, width = len(plan.fronts), plan.width
    if width > _DIGIT or count > 1 and count << width > max(_DENSE, 2 * data.size):
        keys = np.frombuffer(_masu.collect_keys(data, plan.left, plan.fronts), np.uint64)
        numbers = plan.fronts.searchsorted(keys >> np.uint64(plan.left)).astype(np.uint64)
        digits = keys >> np.uint64(plan.left - width) & np.uint64((1 << width) - 1)
        return _Counts(data.size, *np.unique((numbers << np.uint64(width) | digits).view(np.int64), return_counts=True))
    counts = np.zeros((count, 1 << width), np.int64)
    _masu.count_digits(data, plan.left - width, width, plan.fronts, counts)
    used = np.flatnonzero(counts != 0)  # sooner found than in the counts
    return _Counts(data.size, used, counts.reshape(-1)[used])


def _added(parts):
    """The counts of several blocks as one's."""
    if parts[0] is None:
        return None
    digits, counts = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    size = sum(part.size for part in parts)
    if digits.max(initial=0) < _DENSE:
        counts = np.bincount(digits, counts).astype(np.int64)
        digits = np.flatnonzero(counts)
        return _Counts(size, digits, counts[digits])
    order = np.argsort(digits, kind="stable")  # which merges what is sorted already
    digits = digits[order]
    first = np.flatnonzero(np.append(True, digits[1:] != digits[:-1]))
    return _Counts(size, digits[first], np.add.reduceat(counts[order], first))


class _Zeros(NamedTuple):
    """The zeros of some chunks, which have one key: the signs in their order, packed where they differ."""

    many: int
    negative: bool | np.ndarray

    def signs(self):
        return np.unpackbits(self.negative, count=self.many).view(bool) if isinstance(
            self.negative, np.ndarray) else np.full(self.many, self.negative)

    def negative_at(self, places):
        return self.negative[places >> 3] >> (7 - (places & 7)) & 1 != 0 if isinstance(
            self.negative, np.ndarray) else np.full(places.shape, self.negative)


def _zeros(block, plan):
    """The zeros of a block; None where no place has a zero, as far as its key is known."""
    if not (plan.fronts == 1 << 8 * block.dtype.itemsize - 1 >> plan.left).any():
        return None
    block = _graph.on_host(block)
    return _packed(np.signbit(block[block == 0]))


def _packed(signs):
    alike = signs.all() or not signs.any()
    return _Zeros(signs.size, bool(signs.size and signs[0]) if alike else np.packbits(signs))


def _zeros_of_all(parts):
    if parts[0] is None:
        return None
    some = [part for part in parts if part.many] or parts[:1]
    if len(some) == 1 or not any(isinstance(part.negative, np.ndarray) or part.negative != some[0].negative for part in some):
        return _Zeros(sum(part.many for part in some), some[0].negative)
    return _packed(np.concatenate([part.signs() for part in some]))


def _narrowed(plan, part):
    """The plan after a pass."""
    if part is None:
        return plan
    if plan.size is None:
        plan = plan._replace(size=part.size)
        places = _places(plan)
        plan = plan._replace(places=places, front_of=np.zeros(places.size, np.intp), rest=places)
        if places.size == 0:
            return plan._replace(left=0)
    begins = plan.front_of << plan.width
    here, rest = _numbers_at(part.counts, part.digits.searchsorted(begins), plan.rest)
    keys = plan.fronts[plan.front_of] << np.uint64(plan.width) | (part.digits[here] - begins).astype(np.uint64)
    left = plan.left - plan.width
    if left == 0:
        return plan._replace(left=0, fronts=keys, rest=rest)
    fronts, first, front_of = np.unique(keys, return_index=True, return_inverse=True)
    few = _COLLECTED if left <= _DIGIT else max(_COLLECTED, plan.size // _SHARE)
    collect = part.counts[here[first]].sum() <= few and len(fronts) << left < 2**63
    return plan._replace(left=left, width=left if collect else min(_DIGIT, left), fronts=fronts, front_of=front_of, rest=rest)


def _places(plan):
    """The places that NumPy's function asks for."""
    if not plan.size:
        return np.empty(0, np.intp)
    return _quantile.wanted(plan.function, plan.size, plan.dtype, **plan.options).places(plan.size)


def _computed(name, shape, dtype, plan, zeros=None):
    """The result of the elements that were found, zeros with their signs."""
    if not plan.size and name.startswith("nan"):  # of integers too
        dtype = np.result_type(dtype, np.float16 if plan.dtype.kind == "f" else np.float64)
        return np.asarray(getattr(np, name)(np.full(1, np.nan, dtype), **plan.options), dtype).reshape(shape)[()]
    if not plan.size:
        return np.asarray(plan.function(np.empty(0, plan.dtype), **plan.options), dtype).reshape(shape)[()]
    elements = np.empty(plan.fronts.size, plan.dtype)
    _masu.elements_of(plan.fronts, _host.words(elements))
    if zeros is not None:
        here = elements == 0
        elements[here] = np.where(zeros.negative_at(plan.rest[here]), -0.0, 0.0)
    points = _quantile.wanted(plan.function, plan.size, plan.dtype, **plan.options)
    first, second = (plan.places.searchsorted(part) for part in points[:2])
    if not plan.options:  # NaN, which is last, or the middle ones
        elements = elements[-1:] if elements[-1] != elements[-1] else elements[[first[0], second[0]]]
    points = points._replace(first=first, second=second)
    result = _quantile.computed(_device_array.in_memory(elements, _device.cpu), 1, points).get()
    _quantile.warn_of_infinities(result, elements[np.newaxis], plan.options)
    return result.astype(dtype, copy=False).reshape(shape)[()]
