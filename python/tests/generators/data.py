# SPDX-License-Identifier: Apache-2.0
"""Arrays as people hand them over: every dtype, kind of values, shape and layout."""
import numpy as np

from . import one_of


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
    if kind == 4 and data.ndim > 1:
        return data.transpose(rng.permutation(data.ndim))
    data = data.copy()
    if kind == 5:
        data.flags.writeable = False
    return data


def other_bytes(rng, mask):
    """The same truth values, in the same order in memory, with gaps or without, True as any byte but 0."""
    out = np.empty_like(mask) if rng.integers(2) else np.empty((*mask.shape, 2), bool)[..., 0]
    out.view("u1")[...] = np.where(mask, rng.integers(1, 256, mask.shape), 0)
    return out


def array(rng, dtype, dimensions=(0, 3), most=40):
    """A small array of one of the dimensions; once in a while a larger one, or one without elements."""
    rank = rng.integers(*dimensions, endpoint=True)
    if rank == 1 and rng.integers(10) == 0:
        shape = (int(rng.integers(1000, 5000)),)
    else:
        shape = tuple(rng.integers(0, most if rank < 2 else 7, rank, endpoint=True).tolist())
    return laid_out(rng, values(rng, dtype, int(np.prod(shape))), shape)


def edges(rng, dtype):
    """Mostly edges that rise, weakly; now and then others."""
    out = values(rng, dtype, rng.integers(0, 12, endpoint=True))
    return np.sort(out) if rng.integers(10) else out


HUGE = [2**47, 2**62, 2**63, 2**64, 2**70]


def bins(rng, dtype):
    """A number of bins, edges, or neither."""
    kind = rng.integers(10)
    if kind < 4:
        return int(rng.integers(-1, 301))
    if kind == 4:
        return one_of(rng, [*HUGE, 0, True, 2.5, "none", None, [[1, 2]], [1], [], ["a"], np.int8(7)])
    return edges(rng, dtype)


def span(rng):
    """A range, mostly in order, or none."""
    def end():
        return [lambda: float(rng.uniform(-4, 4)), lambda: int(rng.integers(-4, 301)),
                lambda: one_of(rng, [np.nan, np.inf, -np.inf, 1e300, 1e-300])][rng.integers(3) if rng.integers(2) else 0]()

    if rng.integers(3) == 0:
        return None
    pair = end(), end()
    return tuple(sorted(pair)) if rng.integers(5) else pair
