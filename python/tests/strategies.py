# SPDX-License-Identifier: Apache-2.0
"""Arrays as people hand them over, and how an answer of masu is compared with NumPy's."""
import os
import warnings

import hypothesis
import numpy as np
from hypothesis import strategies as st

import masu

INTEGERS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
FLOATS = ["f2", "f4", "f8"]
DTYPES = ["?", *INTEGERS, *FLOATS]
FOREIGN = ["F", "D", "g", "O", "M8[s]", "m8[s]", "S3", "U3"]  # that masu hands to NumPy

# The same examples every time; MASU_TEST_LONG takes many more, and new ones.
long = bool(os.environ.get("MASU_TEST_LONG"))
settings = hypothesis.settings(max_examples=1000 if long else 120, deadline=None, derandomize=not long, database=None,
                               suppress_health_check=list(hypothesis.HealthCheck))


def values(rng, dtype, count):
    """Elements of one of several kinds: few values, many, extremes, and of floats NaN, infinities and both zeros."""
    dtype = np.dtype(dtype)
    kind = rng.integers(4)
    if dtype.kind == "b":
        return rng.integers(2, size=count).astype(dtype)
    if dtype.kind in "ui":
        ends = np.iinfo(dtype)
        if kind == 0:
            return rng.integers(0, 5, count).astype(dtype)
        if kind == 1:
            return np.where(rng.random(count) < 0.3, dtype.type(ends.max), dtype.type(ends.min))
        if kind == 2:
            return (rng.integers(-3, 4, count) if dtype.kind == "i" else rng.integers(0, 300, count)).astype(dtype)
        return rng.integers(ends.min, ends.max, count, dtype, endpoint=True)
    if kind == 0:
        return rng.integers(-2, 5, count).astype(dtype)
    data = rng.standard_normal(count).astype(dtype)
    if kind == 1:
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype)
        data = np.where(rng.random(count) < 0.3, rng.choice(special, count), data)
    if kind == 2:
        data = np.round(data)  # with zeros of both signs
    # Without negative zeros of f16: NumPy's own np.sort leaves f16 unsorted that has zeros of both signs, on processors
    # with AVX-512 (2.4, 2026-11).
    return data.astype(dtype) + (dtype.itemsize == 2) * dtype.type(0)


def laid_out(rng, data, shape):
    """The same elements, as an array of that shape, in some layout."""
    data = data.reshape(shape)
    kind = rng.integers(7)
    if kind == 0 and data.ndim:  # every other element, backwards
        wide = np.zeros((*data.shape[:-1], 2 * data.shape[-1]), data.dtype)
        wide[..., ::-2] = data
        return wide[..., ::-2]
    if kind == 1:
        return np.asfortranarray(data)
    if kind == 2:
        return data.astype(data.dtype.newbyteorder())
    if kind == 3 and data.size:  # not aligned
        memory = np.empty(data.nbytes + 1, "u1")
        out = memory[1:].view(data.dtype).reshape(data.shape)
        out[...] = data
        return out
    data = data.copy()
    if kind == 4:
        data.flags.writeable = False
    return data


@st.composite
def arrays(draw, dtypes=tuple(DTYPES), dimensions=(0, 3), most=40):
    """A small array; once in a while a larger one, or one without elements."""
    dtype = draw(st.sampled_from(dtypes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rank = draw(st.integers(*dimensions))
    length = most if rank < 2 else 7
    if rank == 1 and draw(st.integers(0, 9)) == 0:
        shape = (int(rng.integers(1000, 5000)),)
    else:
        shape = tuple(draw(st.integers(0, length)) for _ in range(rank))
    return laid_out(rng, values(rng, dtype, int(np.prod(shape))), shape)


def outcome(function, *arguments, **keywords):
    """The result or the exception, and the categories of the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", masu.Fallback)
        try:
            result = function(*arguments, **keywords)
        except Exception as error:
            result = error
    return result, {one.category for one in caught}


def assert_same(got, want, bits=True):
    """The same type, dtype, shape and elements; with bits=False zeros of both signs, and all NaNs, are alike."""
    if isinstance(want, tuple):
        assert isinstance(got, tuple) and len(got) == len(want), (got, want)
        for one, other in zip(got, want):
            assert_same(one, other, bits)
        return
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), (got, want)
        for one, other in zip(got, want):
            assert_same(one, other, bits)
        return
    assert type(got) is type(want), (type(got), type(want))
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
    np.testing.assert_array_equal(got, want)
    if bits and want.dtype.kind == "f":
        real = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[real]), np.signbit(want[real]))


def check(own, numpys, *arguments, bits=True, warns=True, **keywords):
    """own and numpys give the same, or fail alike. Returns what own gave, None after an error.

    With warns=False own may leave out warnings.
    """
    want, said = outcome(numpys, *arguments, **keywords)
    got, told = outcome(own, *arguments, **keywords)
    if isinstance(want, IndexError) and not isinstance(got, Exception):
        return None  # no refusal of NumPy's: it fails on f16 in ranges that f16 cannot hold
    if isinstance(want, Exception):
        assert isinstance(got, Exception), f"no {type(want).__name__} ({want}), but {got!r}"
        assert isinstance(got, type(want)) or isinstance(want, type(got)), (got, want)
        return None
    if isinstance(got, Exception):
        raise got
    assert told == said or not warns and told < said, (told, said)
    assert_same(got, want, bits)
    return got
