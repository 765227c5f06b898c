# SPDX-License-Identifier: Apache-2.0
"""Run by test_cuda_stand_in.py with the stand-ins of enqueue_stand_in.py: generated calls on tensors of any dtype, shape,
strides, offset, device and flags. A plain one is enqueued, with the shape and dtype that a NumPy array gives; others go the
usual way, in which these tensors cannot be taken, or are an error. Kernels do nothing there.
"""
import ctypes
import math
import os
import warnings

import fake_tensors
import hypothesis
import numpy as np
from hypothesis import strategies as st

import masu

DRIVER = ctypes.CDLL(os.environ["MASU_CUDA_LIBRARY"])
CODES = {"f2": (2, 16), "f4": (2, 32), "f8": (2, 64), "i1": (0, 8), "i2": (0, 16), "i4": (0, 32), "i8": (0, 64), "u1": (1, 8),
         "u2": (1, 16), "u4": (1, 32), "u8": (1, 64), "b1": (6, 8), "c8": (5, 64), "f1": (2, 8)}
NAMES = {code: name for name, code in CODES.items()}
memory = masu.to_device(np.zeros(1 << 20, "f8"), "cuda")
masu._small.limit = 0


@st.composite
def tensors(draw, place=0):
    """(tensor, the same as a NumPy array of zeros, or None where it is not plain)"""
    dtype = draw(st.sampled_from([*CODES, "f4", "i4"]))
    shape = tuple(draw(st.lists(st.sampled_from([1, 1, 2, 3, 5, 64, 300]), max_size=4)))
    if math.prod(shape) > 1 << 16:
        shape = shape[:2]
    plain, more = dtype not in ("c8", "f1"), {}
    size = CODES[dtype][1] // 8
    offset = draw(st.sampled_from([0, 0, 0, size, 3 * size, 16, 1, 2]))
    plain &= offset % size == 0
    odd = draw(st.sampled_from(["no"] * 8 + ["grad", "negative", "host", "other", "strides", "expanded", "empty"]))
    if odd == "grad":
        more, plain = {"requires_grad": True}, False
    elif odd == "negative":
        more, plain = {"negative": True}, False
    elif odd == "host":
        more, plain = {"device": 1}, False
    elif odd == "other":
        more, plain = {"id": 1}, False
    elif odd == "strides" and len(shape) > 1 and min(shape[-2:]) > 1:
        steps = [math.prod(shape[i + 1:]) for i in range(len(shape))]
        more, plain = {"strides": (*steps[:-2], 1, shape[-2])}, False
    elif odd == "expanded" and shape and max(shape) > 1:
        more, plain = {"strides": (0,) * len(shape)}, False
    elif odd == "empty" and shape:
        shape, plain = (0, *shape[1:]), False
    tensor = fake_tensors.Tensor(shape, *CODES[dtype], memory._address + place + offset, **more)
    return tensor, np.zeros(shape, "?" if dtype == "b1" else dtype) if plain else None


AXIS = st.one_of(st.none(), st.integers(-5, 4))
AXES = st.one_of(AXIS, st.lists(st.integers(-4, 3), max_size=4).map(tuple))
TYPES = st.sampled_from([None, None, "f2", "f4", "f8", "u1", "i4", "i8", "?", "c8", np.float32])


QUANTILES = st.sampled_from([0.5, 0, 1.0, 1.5, [0.1, 0.5], (1.0,), [], np.float32(0.25), np.float16([[0.5, 1]]), np.arange(2)])
METHODS = ["linear", "hazen", "midpoint", "lower", "closest_observation", "averaged_inverted_cdf", "no such"]


@st.composite
def calls(draw):
    name = draw(st.sampled_from(["sort", "argsort", "partition", "argpartition", "topk", "sum", "mean", "var", "std", "cumsum",
                                 "median", "quantile", "percentile", "nanmedian", "nanquantile", "nanpercentile"]))
    if name in ("sort", "argsort"):
        return name, [], {"axis": draw(AXIS), "descending": draw(st.booleans())}
    if name in ("partition", "argpartition"):
        return name, [draw(st.integers(-70, 70))], {"axis": draw(AXIS)}
    if name == "topk":
        return name, [draw(st.integers(-1, 70))], {"axis": draw(AXIS), "largest": draw(st.booleans()), "index_dtype": draw(st.sampled_from([None, "i4", np.int64, "f4"]))}
    if name == "cumsum":
        return name, [], {"axis": draw(AXIS), "dtype": draw(TYPES)}
    options = {"axis": draw(AXES), "keepdims": draw(st.booleans())}
    if name.endswith(("quantile", "percentile")):
        return name, [draw(QUANTILES)], options | {"method": draw(st.sampled_from(METHODS))}
    if not name.endswith("median"):
        options["dtype"] = draw(TYPES)
    return name, [], options


def given_commands():
    return DRIVER.fake_cuda_launches() + DRIVER.fake_cuda_copies() + DRIVER.fake_cuda_fills()


def results(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = function(*arguments, **options)
        except (TypeError, ValueError, BufferError) as error:
            assert str(error)
            return error
    return found if isinstance(found, tuple) else (found,)


seen = {"enqueued": 0, "the usual way": 0, "error": 0}


@hypothesis.settings(max_examples=2000, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(tensors(), calls(), tensors(1 << 20))
def check(given, call, other):
    tensor, data = given
    name, arguments, options = call
    function = getattr(masu, name)
    want = None if data is None else results(function, data, *arguments, **options)
    found = results(function, tensor, *arguments, **options)
    if data is None or isinstance(want, Exception):
        assert isinstance(found, Exception), (name, tensor.shape, options)
    if isinstance(found, Exception):
        seen["the usual way" if "usual way" in str(found) else "error"] += 1
        return
    shapes = [(one.shape, NAMES[one.dtype]) for one in found]
    assert shapes == [(np.shape(one), np.asarray(one).dtype.str[1:]) for one in want], (name, options)
    seen["enqueued"] += 1
    # Into arrays of the right shape and dtype, apart from the data, and into others.
    outs = [fake_tensors.Tensor(shape, *CODES[code], memory._address + (1 << 21) + i * (1 << 20)) for i, (shape, code) in
            enumerate(shapes)]
    before = given_commands()
    again = results(function, tensor, *arguments, **options, out=tuple(outs) if len(outs) > 1 else outs[0])
    assert all(one is out for one, out in zip(again, outs)) and given_commands() > before
    if len(outs) == 1:
        wrong, its = other
        right = its is not None and (wrong.shape, NAMES[wrong.dtype]) == shapes[0]
        assert right != isinstance(results(function, tensor, *arguments, **options, out=wrong), Exception), (name, options)
        same = (tensor.shape, NAMES[tensor.dtype]) == shapes[0]
        if same:
            assert isinstance(results(function, tensor, *arguments, **options, out=tensor), Exception)


check()
assert seen["enqueued"] > 300 and seen["the usual way"] > 100, seen
made, released = fake_tensors.counts()
assert made == released, (made, released)
print("done")
