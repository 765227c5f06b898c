# SPDX-License-Identifier: Apache-2.0
"""Run by test_cuda_stand_in.py with stand-ins for the CUDA driver, NVRTC and a library of tensors: which calls only
enqueue, on which stream, with whose memory. Kernels do nothing there.
"""
import ctypes
import gc
import os
import sys
import threading

import fake_tensors
import numpy as np

import masu
from masu import _masu

DRIVER = ctypes.CDLL(os.environ["MASU_CUDA_LIBRARY"])
DRIVER.fake_cuda_last_stream.restype = DRIVER.fake_cuda_synchronized.restype = ctypes.c_size_t
COUNT = 1 << 18
memory = masu.to_device(np.zeros(COUNT, "f8"), "cuda")
CODES = {"f2": (2, 16), "f4": (2, 32), "f8": (2, 64), "i1": (0, 8), "i4": (0, 32), "i8": (0, 64), "u1": (1, 8), "u8": (1, 64),
         "b1": (6, 8)}


def tensor(shape, dtype="f4", offset=0, **more):
    shape = (shape,) if isinstance(shape, int) else shape
    return fake_tensors.Tensor(shape, *CODES[dtype], memory._address + offset, **more)


def of(result):
    return result.shape, next(name for name, code in CODES.items() if code == result.dtype)


def fails(error, text, call):
    try:
        call()
    except error as caught:
        assert text in str(caught), caught
    else:
        raise AssertionError(f"no {error.__name__} with {text}")


def given_commands():
    return DRIVER.fake_cuda_launches() + DRIVER.fake_cuda_copies() + DRIVER.fake_cuda_fills()


def enqueued(call, want):
    """The call's results, which it must enqueue alone, once recorded, on the library's current stream."""
    call()
    waited = DRIVER.fake_cuda_synchronizations()
    result = enqueued_work(call, want)
    assert DRIVER.fake_cuda_synchronizations() == waited
    return result


def enqueued_work(call, want):
    fake_tensors.set_stream(0x5000)
    made = fake_tensors.counts()[0]
    allocations, commands = DRIVER.fake_cuda_allocations(), given_commands()
    result = call()
    assert DRIVER.fake_cuda_allocations() == allocations
    assert given_commands() > commands and DRIVER.fake_cuda_last_stream() == 0x5000
    assert fake_tensors.counts()[0] > made
    results = result if isinstance(result, tuple) else (result,)
    assert [of(one) for one in results] == want, ([of(one) for one in results], want)
    return result


# On the default stream a workspace of up to 1 MiB is masu's own.
small = tensor(1000)
masu.sum(small)
masu.sum(small)
fake_tensors.set_stream(0)
masu.sum(small)
made, launched = fake_tensors.counts()[0], DRIVER.fake_cuda_launches()
masu.sum(small)
assert fake_tensors.counts()[0] == made + 1 and DRIVER.fake_cuda_launches() == launched + 1

for count in (1, 1000, 100_000):
    for dtype in CODES:
        x = tensor(count, dtype)
        kind = dtype[0]
        total = dtype if kind == "f" else "u8" if kind == "u" else "i8"
        mean = dtype if kind == "f" else "f8"
        enqueued(lambda: masu.sum(x), [((), total)])
        enqueued(lambda: masu.mean(x), [((), mean)])
        enqueued(lambda: masu.var(x), [((), mean)])
        enqueued(lambda: masu.std(x), [((), mean)])
        enqueued(lambda: masu.median(x), [((), mean)])
        if kind != "b":
            enqueued(lambda: masu.quantile(x, 0.3), [((), mean)])
            enqueued(lambda: masu.quantile(x, [0.1, 0.5], method="hazen"), [((2,), "f8")])
            enqueued(lambda: masu.nanquantile(x, [0.1, 0.5], method="hazen"), [((2,), "f8")])
            enqueued(lambda: masu.nanpercentile(x, 10), [((), mean)])
        enqueued(lambda: masu.nanmedian(x), [((), mean)])
        enqueued(lambda: masu.percentile(x, 30, method="lower"), [((), dtype)])
        enqueued(lambda: masu.cumsum(x), [((count,), total)])
        enqueued(lambda: masu.sort(x), [((count,), dtype)])
        enqueued(lambda: masu.argsort(x), [((count,), "i8")])
        enqueued(lambda: masu.sort(x, kind="heapsort"), [((count,), dtype)])
        for kth in (count // 2, -1):
            enqueued(lambda: masu.partition(x, kth), [((count,), dtype)])
            enqueued(lambda: masu.partition(x, kth, kind="introselect"), [((count,), dtype)])
            enqueued(lambda: masu.argpartition(x, kth, None), [((count,), "i8")])
        best = enqueued(lambda: masu.topk(x, 1), [((1,), dtype), ((1,), "i8")])
        assert type(best) is masu.TopK
        if count > 5000:  # more than a work-group orders
            enqueued(lambda: masu.topk(x, 5000), [((5000,), dtype), ((5000,), "i8")])
            enqueued(lambda: masu.topk(x, 5000, lengths=tensor((), "i4")), [((5000,), dtype), ((5000,), "i8")])
        enqueued(lambda: masu.searchsorted(x, x, "right"), [((count,), "i8")])
        if kind != "b":
            enqueued(lambda: masu.dot(x, x), [((), dtype)])
            edges = dtype if kind == "f" else "f8"
            if dtype != "f2":
                enqueued(lambda: masu.histogram(x, 10, (0, 1)), [((10,), "i8"), ((11,), edges)])
for dtype in ("u1", "i1", "i4", "i8", "u8"):
    for n in (1, 256, 70000):
        groups = enqueued(lambda: masu.group(tensor((20, 50), dtype), n), [((n,), "i8"), ((n + 1,), "i8"), ((1000,), "i8")])
        assert type(groups) is masu.Groups
for dtype, total in (("u1", "u8"), ("i4", "i8"), ("f2", "f2"), ("f4", "f4"), ("f8", "f8")):
    enqueued(lambda: masu.segment_sum(tensor(1000, dtype), tensor(9, "i8")), [((8,), total)])
enqueued(lambda: masu.bincount(tensor(1000, "u1"), minlength=300), [((300,), "i8")])
enqueued(lambda: masu.bincount(tensor(1000, "b1"), minlength=2), [((2,), "i8")])



def waits_once(call, want):
    """The same of a call that waits for what the rest of it depends on, and only then: here zeros, which no kernel changes."""
    call()
    waited, locked = DRIVER.fake_cuda_synchronizations(), DRIVER.fake_cuda_live()
    results = enqueued_work(call, want)
    assert DRIVER.fake_cuda_synchronizations() == waited + 1 and DRIVER.fake_cuda_synchronized() == 0x5000
    del results
    for _ in range(20):
        call()
    assert DRIVER.fake_cuda_live() <= locked, "memory or events that stay"


for dtype in CODES:
    x, kind = tensor(1000, dtype), dtype[0]
    if kind != "b" and dtype != "f2":
        for bins in (1, 10, 3000, 65536):  # the edges copied by the kernel, or apart
            waits_once(lambda: masu.histogram(x, bins), [((bins,), "i8"), ((bins + 1,), dtype if kind == "f" else "f8")])
        waits_once(lambda: masu.histogram_bin_edges(x, 3000), [((3001,), dtype if kind == "f" else "f8")])
        waits_once(lambda: masu.histogram(x), [((10,), "i8"), ((11,), dtype if kind == "f" else "f8")])
    if kind != "f" and dtype != "u8":
        for least in (0, 1, 1000):
            if (kind, least) != ("b", 1000) and (dtype, least) != ("u1", 1000):
                waits_once(lambda: masu.bincount(x, minlength=least), [((max(least, 1),), "i8")])
waits_once(lambda: masu.unique(tensor(1000)), [((0,), "f4")])
waits_once(lambda: masu.unique(tensor((20, 50)), True, True, True), [((0,), "f4"), ((0,), "i8"), ((20, 50), "i8"), ((0,), "i8")])
waits_once(lambda: masu.unique(tensor(100_000, "i8"), return_inverse=True), [((0,), "i8"), ((100_000,), "i8")])

# Weights, whose totals have their dtype or f64; given edges, which are zeros here, and wait to be looked at.
for dtype in CODES:
    x, kind = tensor(1000, dtype), dtype[0]
    edges = dtype if kind == "f" else "f8"
    for by in ("f4", "f8", "i4", "u8"):
        weights = tensor(1000, by)
        if kind not in "bf" and dtype not in ("u1", "u8"):
            waits_once(lambda: masu.bincount(x, weights, 3000), [((3000,), "f8")])
        if kind != "b" and dtype != "f2" and by[0] == "f":
            enqueued(lambda: masu.histogram(x, 10, (0, 1), weights=weights), [((10,), by), ((11,), edges)])
            waits_once(lambda: masu.histogram(x, 3000, weights=weights), [((3000,), by), ((3001,), edges)])
    if kind != "b":
        for given in ("f4", "f8", "i8", "u1"):
            waits_once(lambda: masu.histogram(x, tensor(4, given)), [((3,), "i8"), ((4,), given)])
        waits_once(lambda: masu.histogram(x, tensor(4), weights=tensor(1000)), [((3,), "f4"), ((4,), "f4")])
enqueued(lambda: masu.bincount(tensor(1000, "u1"), tensor(1000), 256), [((256,), "f8")])
enqueued(lambda: masu.bincount(tensor(1000, "u1"), tensor(1000, "f2"), 256), [((256,), "f8")])
# The work for as many counts as the calls before have had is given before the greatest element is known.
for call in (lambda: masu.bincount(tensor(1001, "i4")), lambda: masu.bincount(tensor(1001, "i4"), tensor(1001), 5)):
    for _ in range(3):
        call()
    waited, events = DRIVER.fake_cuda_synchronizations(), DRIVER.fake_cuda_event_synchronizations()
    call()
    assert (DRIVER.fake_cuda_synchronizations(), DRIVER.fake_cuda_event_synchronizations()) == (waited, events + 1)
edge = masu.to_device(np.zeros(2), "cuda")
for number in range(40):  # more edges than are kept
    _masu.DeviceArray(edge, (2,), edge)._write(np.arange(2.) + number)
    given = fake_tensors.Tensor((2,), 2, 64, edge._address)
    for _ in range(2):
        assert [of(one) for one in masu.histogram(tensor(1000), given)] == [((1,), "i8"), ((2,), "f8")]

# Another addend.
for dtype in CODES:
    total = dtype if dtype[0] == "f" else "u8" if dtype[0] == "u" else "i8"
    enqueued(lambda: masu.sum(tensor(1000, dtype), initial=3), [((), total)])
    enqueued(lambda: masu.sum(tensor((40, 25), dtype), (0, 1), initial=3, keepdims=True), [((1, 1), total)])
enqueued(lambda: masu.sum(tensor(1000), initial=-2.5), [((), "f4")])
enqueued(lambda: masu.sum(tensor(1000), initial=None), [((), "f4")])
enqueued(lambda: masu.sum(tensor((40, 25)), 0, initial=1), [((25,), "f4")])

# Rows.
x = tensor((4, 5, 6))
enqueued(lambda: masu.sort(x), [((4, 5, 6), "f4")])
enqueued(lambda: masu.sort(tensor((4, 50_000))), [((4, 50_000), "f4")])
enqueued(lambda: masu.argsort(tensor((3, 70_000))), [((3, 70_000), "i8")])
enqueued(lambda: masu.sum(tensor((60_000, 3)), 1), [((60_000,), "f4")])
enqueued(lambda: masu.sort(x, None), [((120,), "f4")])
enqueued(lambda: masu.sum(x), [((), "f4")])
enqueued(lambda: masu.sum(x, 2), [((4, 5), "f4")])
enqueued(lambda: masu.cumsum(x, -1), [((4, 5, 6), "f4")])
enqueued(lambda: masu.topk(x, 2), [((4, 5, 2), "f4"), ((4, 5, 2), "i8")])
for dtype in ("i8", "u8", "i4", "i1", "u1"):
    enqueued(lambda: masu.topk(x, 2, lengths=tensor((4, 5), dtype), sorted=False, index_dtype="i4"), [((4, 5, 2), "f4"), ((4, 5, 2), "i4")])
    enqueued(lambda: masu.topk(x, 2, 0, lengths=tensor((5, 6), dtype)), [((2, 5, 6), "f4"), ((2, 5, 6), "i8")])
enqueued(lambda: masu.var(x, -1, ddof=1), [((4, 5), "f4")])
enqueued(lambda: masu.median(x, 2), [((4, 5), "f4")])
enqueued(lambda: masu.median(tensor((20_000, 3), "i4"), -1), [((20_000,), "f8")])
for q, shape, wide in ((0.5, (), "f4"), (np.float64(0.5), (), "f8"), (np.float32([0.5, 1]), (2,), "f4"), ((0, 0.5, 1), (3,), "f8"),
                       (np.full((2, 3), 0.5), (2, 3), "f8"), (1, (), "f4"), (np.float16(0.25), (), "f4")):
    enqueued(lambda: masu.quantile(x, q, method="weibull"), [(shape, wide)])
    enqueued(lambda: masu.quantile(x, q, 1, method="median_unbiased"), [((*shape, 4, 6), wide)])
    enqueued(lambda: masu.percentile(x, q, (0, 2), method="midpoint", keepdims=True), [((*shape, 1, 5, 1), wide)])
    enqueued(lambda: masu.quantile(x, q, 1, method="nearest"), [((*shape, 4, 6), "f4")])
enqueued(lambda: masu.quantile(x, np.linspace(0, 1, 100)), [((100,), "f8")])

# Other axes become rows first; axes are kept; descending order.
for shape in ((4, 5, 6), (100, 3, 70), (3, 300, 100), (2, 300, 400), (7, 1, 5), (1, 9, 1), (70, 200, 2)):
    x = tensor(shape)
    for axis in range(-3, 3):
        less, one, two = ([shape[i] if i != axis % 3 else n for i in range(3) if n or i != axis % 3] for n in (0, 1, 2))
        for function in (masu.sum, masu.mean, masu.var, masu.std, masu.median):
            enqueued(lambda: function(x, axis), [(tuple(less), "f4")])
            enqueued(lambda: function(x, axis, keepdims=True), [(tuple(one), "f4")])
        enqueued(lambda: masu.cumsum(x, axis), [(shape, "f4")])
        for descending in (False, True):
            enqueued(lambda: masu.sort(x, axis, descending=descending), [(shape, "f4")])
            enqueued(lambda: masu.argsort(x, axis, descending=descending), [(shape, "i8")])
        enqueued(lambda: masu.partition(x, 0, axis), [(shape, "f4")])
        enqueued(lambda: masu.argpartition(x, 0, axis), [(shape, "i8")])
        if shape[axis] > 1:
            enqueued(lambda: masu.topk(x, 2, axis), [(tuple(two), "f4"), (tuple(two), "i8")])
enqueued(lambda: masu.sum(x, keepdims=True), [((1, 1, 1), "f4")])
enqueued(lambda: masu.sort(x, None, descending=True), [((28_000,), "f4")])

# Several axes.
for shape, axes, left in (((4, 5, 6), (0, 2), (5,)), ((4, 5, 6), (2, 1), (4,)), ((4, 5, 6), (0, 1), (6,)), ((4, 5, 6), (-1, 0, 1), ()),
                          ((2, 300, 4, 90, 5), (1, 3), (2, 4, 5)), ((2, 3, 4, 5, 6), (0, 3, 4), (3, 4)),
                          ((2, 1, 4, 1, 6), (0, 2, 4), (1, 1)), ((7, 1), (1,), (7,))):
    x = tensor(shape)
    kept = tuple(1 if i in [axis % len(shape) for axis in axes] else n for i, n in enumerate(shape))
    for function in (masu.sum, masu.mean, masu.var, masu.std, masu.median):
        enqueued(lambda: function(x, axes), [(left, "f4")])
        enqueued(lambda: function(x, axes, keepdims=True), [(kept, "f4")])

# Other dtypes.
for dtype, others in (("f4", "f2 f4 f8"), ("f2", "f8"), ("i4", "u1 i4 u8 f2 f8"), ("b1", "i1 f4"), ("u8", "i8 f8")):
    x = tensor((40, 50), dtype)
    for other in others.split():
        enqueued(lambda: masu.sum(x, dtype=other), [((), other)])
        enqueued(lambda: masu.sum(x, (0,), dtype=np.dtype(other).newbyteorder(">")), [((50,), other)])
        enqueued(lambda: masu.cumsum(x, 0, other), [((40, 50), other)])
        if other[0] == "f":
            enqueued(lambda: masu.mean(x, 0, np.dtype(other).type), [((50,), other)])
            enqueued(lambda: masu.std(x, dtype=other), [((), other)])
# Given in any way: what was found for it is kept for the next call.
x = tensor((40, 50))
for given in ("float64", "double", float, np.float64, np.dtype("f8")):
    for function in (masu.sum, masu.mean, masu.var):
        for _ in range(2):
            enqueued(lambda: function(x, dtype=given), [((), "f8")])
class Named:
    dtype = np.dtype("f8")


for named in (Named(), Named):
    references = sys.getrefcount(named)
    enqueued(lambda: masu.sum(x, dtype=named), [((), "f8")])
    named.dtype = np.dtype("f4")  # another one from now on
    enqueued(lambda: masu.sum(x, dtype=named), [((), "f4")])
    assert sys.getrefcount(named) == references
for wrong in ("no dtype", [("field", "f8")], np.complex128, "\ud800", "f8\0x"):
    for _ in range(2):
        fails((TypeError, ValueError, BufferError), "", lambda: masu.sum(x, dtype=wrong))

# Results into the caller's arrays: one at another place and a place that is aligned in another way are no other array.
x = tensor((40, 50))
for place in (0x10000, 0x20008):
    def into(*shape, dtype="f4", more=0):
        return tensor(shape, dtype, place + more)

    for call, outs in ((lambda out: masu.sort(x, out=out), into(40, 50)),
                       (lambda out: masu.sort(x, 0, descending=True, out=out), into(40, 50)),
                       (lambda out: masu.argsort(x, None, out=out), into(2000, dtype="i8")),
                       (lambda out: masu.partition(x, 3, 1, out=out), into(40, 50)),
                       (lambda out: masu.argpartition(x, 3, None, out=out), into(2000, dtype="i8")),
                       (lambda out: masu.topk(x, 3, 0, out=out), (into(3, 50), into(3, 50, dtype="i8", more=0x8000))),
                       (lambda out: masu.searchsorted(tensor(9), x, out=out), into(40, 50, dtype="i8")),
                       (lambda out: masu.sum(x, 0, out=out), into(50)), (lambda out: masu.sum(x, None, "f8", out), into(dtype="f8")),
                       (lambda out: masu.mean(x, (0, 1), out=out, keepdims=True), into(1, 1)),
                       (lambda out: masu.std(x, 1, out=out), into(40)), (lambda out: masu.var(x, out=out), into()),
                       (lambda out: masu.median(x, 1, out), into(40)),
                       (lambda out: masu.quantile(x, [0.2, 0.3], 1, out), into(2, 40, dtype="f8")), (lambda out: masu.cumsum(x, 1, "f8", out), into(40, 50, dtype="f8")),
                       (lambda out: masu.dot(tensor(9), tensor(9), out), into())):
        call(outs)
        made, launches = fake_tensors.counts()[0], DRIVER.fake_cuda_launches()
        result = call(outs)
        assert result == outs if isinstance(outs, tuple) else result is outs
        assert DRIVER.fake_cuda_launches() > launches and fake_tensors.counts()[0] - made <= 1  # a workspace
for wrong in (tensor((40, 50), "f8", 0x10000), tensor((50, 40), offset=0x10000), tensor(2000, offset=0x10000), x,
              tensor((40, 50), offset=7996), tensor((40, 50), offset=0x10000, requires_grad=True),
              tensor((40, 50), strides=(1, 40), offset=0x10000), tensor((40, 50), offset=0x10000, id=1)):
    fails((BufferError, ValueError), "", lambda: masu.sort(x, out=wrong))
for wrong in (np.empty((40, 50), "f4"), 5, "x"):
    fails(BufferError, "the usual way", lambda: masu.sort(x, out=wrong))
for wrong in (5, (tensor(3),), [tensor(3), tensor(3)]):
    fails(TypeError, "tuple of two", lambda: masu.topk(x, 3, None, out=wrong))
fails(BufferError, "usual", lambda: masu.topk(x, 3, None, out=(tensor(3, offset=0x10000), tensor(3, "i8", 0x10000))))

# NaNs are last in descending order too: its floats are sorted with the other sign.
for dtype, more in (("f4", 2), ("f8", 2), ("f2", 2), ("i4", 0), ("u1", 0)):
    def launches(call):
        call()
        before = DRIVER.fake_cuda_launches()
        call()
        return DRIVER.fake_cuda_launches() - before

    for shape in (100_000, (500, 200)):
        x = tensor(shape, dtype)
        for function, less in ((masu.sort, 0), (masu.argsort, 1)):
            up, down = launches(lambda: function(x)), launches(lambda: function(x, descending=True))
            assert down == up + max(more - less, 0), (dtype, shape, function, up, down)

# What is not plain goes the usual way, in which these tensors cannot be taken.
def usual(call):
    fails(BufferError, "the usual way", call)


class Derived(fake_tensors.Tensor):
    """Inherits the functions, which know nothing of it."""


usual(lambda: masu.sort(Derived((4,), 2, 32, memory._address)))
for odd in (tensor(4, requires_grad=True), tensor(4, negative=True), tensor((4, 4), strides=(1, 4)), tensor(4, strides=(0,)),
            tensor((0,)), tensor((3, 0, 2)), tensor((2, 2), strides=(1, 1)), tensor(4, id=1)):
    usual(lambda: masu.sort(odd))
for dtype, offset in (("f4", 2), ("f8", 4), ("i8", 1), ("f2", 1)):
    usual(lambda: masu.sort(tensor(4, dtype, offset)))
usual(lambda: masu.sort(tensor(4), descending=None))
usual(lambda: masu.sort(tensor(4), kind=2))
usual(lambda: masu.sort(tensor(4), kind="stable", descending=True))
usual(lambda: masu.sort(tensor(4), 0, device="cuda"))
usual(lambda: masu.sort(tensor((4, 4)), 2))
usual(lambda: masu.sort(tensor((4, 4)), -3))
usual(lambda: masu.sum(tensor((4, 4)), (0, 0)))
usual(lambda: masu.sum(tensor((4, 4)), (0, 2)))
usual(lambda: masu.sum(tensor((4, 4)), ()))
usual(lambda: masu.sum(tensor((2, 3, 2, 3, 2)), (0, 2, 4)))
usual(lambda: masu.sort(tensor((4, 4)), (0,)))
usual(lambda: masu.partition(tensor(4), [1, 2]))
usual(lambda: masu.partition(tensor(4), 4))
usual(lambda: masu.sum(tensor(4), keepdims=1))
usual(lambda: masu.sort(tensor(())))
for wrong in ("i4", "?", "c8", "f16"):
    usual(lambda: masu.sum(tensor(4), dtype=wrong))
    usual(lambda: masu.cumsum(tensor(4), dtype=wrong))
    usual(lambda: masu.mean(tensor(4), dtype=wrong))
usual(lambda: masu.mean(tensor(4, "i4"), dtype="i4"))
for initial in (1e300, np.float32(1), float("nan"), "x", [1], True):
    usual(lambda: masu.sum(tensor(4), initial=initial))
usual(lambda: masu.sum(tensor(4, "i4"), initial=2.5))
usual(lambda: masu.sum(tensor(4, "u1"), initial=-1))
usual(lambda: masu.sum(tensor(4), dtype="f8", initial=1))
fails(TypeError, "nonsense", lambda: masu.sum(tensor(4), dtype="nonsense"))
usual(lambda: masu.topk(tensor(4), 5))
for wrong in (1.5, [], [0.5, -1], float("nan"), "x", [[0.5]], True, None, np.zeros((1, 1, 1)), np.longdouble([0.5])):
    usual(lambda: masu.quantile(tensor(4), wrong))
usual(lambda: masu.quantile(tensor(4), 0.5, method="no such"))
usual(lambda: masu.nanquantile(tensor(4), np.float32(0.5)))
usual(lambda: masu.quantile(tensor(4), 0.5, method="inverted_cdf", weights=tensor(4)))
usual(lambda: masu.quantile(tensor(4, "b1"), 0.5))
usual(lambda: masu.topk(tensor(4), True))
for wrong in (tensor(4, "i8"), tensor((), "f4"), tensor((), "b1"), 3):
    usual(lambda: masu.topk(tensor(4), 2, lengths=wrong))
usual(lambda: masu.topk(tensor(4), 2, index_dtype="i2"))
usual(lambda: masu.var(tensor(4), ddof=4))
usual(lambda: masu.histogram(tensor(4), 10, (0, float("nan"))))
usual(lambda: masu.histogram(tensor(4), 10, (1, 0)))
usual(lambda: masu.histogram(tensor(4), 10, density=True))
usual(lambda: masu.histogram(tensor(4), 70_000))
usual(lambda: masu.histogram(tensor(4, "b1"), 10))
usual(lambda: masu.bincount(tensor(4, "i4"), minlength=-1))
usual(lambda: masu.bincount(tensor(4, "i4"), minlength=1 << 25))
usual(lambda: masu.bincount(tensor(4, "u8"), minlength=300))
usual(lambda: masu.bincount(tensor((2, 2), "u1"), minlength=300))
usual(lambda: masu.dot(tensor(4), tensor(5)))
usual(lambda: masu.dot(tensor(4), tensor(4, "f8")))
usual(lambda: masu.searchsorted(tensor((2, 2)), tensor(4)))
usual(lambda: masu.searchsorted(tensor(2), 3.0))
usual(lambda: masu.unique(tensor(4), equal_nan=False))
usual(lambda: masu.unique(tensor(4), return_index=1))
for wrong in (tensor(5), tensor((2, 2)), tensor(4, "b1"), tensor(4, requires_grad=True), tensor(4, id=1)):
    usual(lambda: masu.histogram(tensor(4), 10, (0, 1), weights=wrong))
    usual(lambda: masu.bincount(tensor(4, "i4"), wrong))
for weights in ([1, 2, 3, 4], np.ones(4)):
    usual(lambda: masu.histogram(tensor(4), 10, (0, 1), weights=weights))
for by in ("f2", "i4", "u8"):
    usual(lambda: masu.histogram(tensor(4), 10, (0, 1), weights=tensor(4, by)))
usual(lambda: masu.bincount(tensor(4, "i4"), tensor(4), 1 << 20))
usual(lambda: masu.histogram_bin_edges(tensor(4), 10, weights=tensor(4)))
for bad in ([0, np.nan, 1], [2, 1, 0]):
    edge = masu.to_device(np.array(bad), "cuda")
    usual(lambda: masu.histogram(tensor(4), fake_tensors.Tensor((3,), 2, 64, edge._address)))
for wrong in (tensor(1), tensor((2, 2)), tensor(4, "b1"), tensor(70_000), tensor(4, id=1)):
    usual(lambda: masu.histogram(tensor(4), wrong))
usual(lambda: masu.histogram(tensor(4), tensor(4), (0, 1)))
usual(lambda: masu.sort(tensor(4, device=1)))  # in host memory

# Where the memory begins is a part of the plan.
for offset in (4, 8, 12, 16):
    enqueued(lambda: masu.sort(tensor(100_000, offset=offset)), [((100_000,), "f4")])
    enqueued(lambda: masu.sum(tensor(100_000, offset=offset)), [((), "f4")])

# A captured stream takes the commands, also those that were not recorded before.
fake_tensors.set_stream(0x9000)
waited = DRIVER.fake_cuda_synchronized()
for count in (1000, 1234):
    masu.sort(tensor(count))
    assert DRIVER.fake_cuda_last_stream() == 0x9000 and DRIVER.fake_cuda_synchronized() == waited
masu.histogram(tensor(1234), 13, (0, 1))
assert DRIVER.fake_cuda_last_stream() == 0x9000 and DRIVER.fake_cuda_synchronized() != 0x9000

# What counts the work-groups of a shared row is filled where neither the default stream nor a graph keeps zeros.
large = tensor(1 << 18, "f8")
for stream, filled in ((0, 0), (0x9000, 0), (0x5000, 1)):
    fake_tensors.set_stream(stream)
    for call in (lambda: masu.sum(large), lambda: masu.mean(large)):
        call()
        fills, launches = DRIVER.fake_cuda_fills(), DRIVER.fake_cuda_launches()
        call()
        assert DRIVER.fake_cuda_fills() == fills + filled and DRIVER.fake_cuda_launches() == launches + 1, stream
# Each captured call has zeros of its own, of any number of threads whose library lets others run.
fake_tensors.set_stream(0x9000)
fills = DRIVER.fake_cuda_fills()
for _ in range((1 << 20) // 32 - 4096 // 32 - 4 - 5):  # 4 calls have come before, 5 are left
    masu.sum(large)
assert DRIVER.fake_cuda_fills() == fills
fake_tensors.set_yields(True)
threads = [threading.Thread(target=lambda: [masu.sum(large) for _ in range(10)]) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
fake_tensors.set_yields(False)
assert DRIVER.fake_cuda_fills() == fills + 8 * 10 - 5, DRIVER.fake_cuda_fills() - fills


class Streamed:
    """Of a library whose stream is captured, in the usual way."""

    def __init__(self, stream):
        self.__cuda_array_interface__ = {**memory.__cuda_array_interface__, "stream": stream}


fails(RuntimeError, "captured", lambda: masu.unique(Streamed(0x9000)))
fake_tensors.set_stream(0x5000)

# Full memory is the library's own error, whichever array finds none.
for after in range(3):
    fake_tensors.fail_after(after)
    fails(MemoryError, "out of memory", lambda: (masu.argsort(tensor(100_000)), masu.argsort(tensor(100_000))))
fake_tensors.fail_after(-1)

# More shapes than are kept.
for count in range(1, 4200):
    masu.sum(tensor(count))
enqueued(lambda: masu.sum(tensor(7)), [((), "f4")])

# Threads.
errors = []


def work(first):
    try:
        for count in range(first, first + 200):
            assert masu.sort(tensor(count)).shape == (count,)
    except Exception as error:
        errors.append(error)


threads = [threading.Thread(target=work, args=(1000 + 50 * n,)) for n in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not errors, errors

# Nothing is kept of results and workspaces.
del best, groups, x, odd
gc.collect()
made, released = fake_tensors.counts()
assert made == released, (made, released)
print("done")
