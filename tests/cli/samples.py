# SPDX-License-Identifier: Apache-2.0
"""Arrays that show every side of masu's order of values, and that order by NumPy."""

import json

import numpy as np

# masu's names of the element types, and NumPy's.
DTYPES = {"u8": "u1", "i8": "i1", "u16": "u2", "i16": "i2", "u32": "u4", "i32": "i4", "u64": "u8", "i64": "i8",
          "f16": "f2", "f32": "f4", "f64": "f8"}


def sample(dtype, count, seed=1):
    """Values with many equals and the dtype's extremes; floats with both zeros, infinities and NaNs of several bits."""
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind != "f":
        limits = np.iinfo(kind)
        values = random.integers(limits.min, limits.max, count, dtype=kind, endpoint=True)
        few = random.integers(0, 9, count).astype(kind)
        values = np.where(random.random(count) < 0.5, values, few)
        values[: min(count, 4)] = np.array([limits.max, limits.min, limits.max, 0], kind)[: min(count, 4)]
        return random.permutation(values)
    values = np.where(random.random(count) < 0.5, random.normal(size=count), random.integers(-3, 4, count)).astype(kind)
    bits = values.view(f"u{kind.itemsize}")
    sign = 1 << (8 * kind.itemsize - 1)
    infinity = int(np.array(np.inf, kind).view(bits.dtype))
    special = [0, sign, infinity, infinity | sign, infinity + 1, infinity | sign | 5, sign - 1, 1]
    where = random.random(count) < 0.2
    bits[where] = np.array(special, np.uint64)[random.integers(0, len(special), int(where.sum()))].astype(bits.dtype)
    return values


def order_of(values, descending=False):
    """The stable order: NaNs last when ascending, first when descending."""
    if not descending:
        return np.argsort(values, kind="stable")
    backwards = np.argsort(values[::-1], kind="stable")[::-1]  # equal values come out in their order
    return len(values) - 1 - backwards


def loads(text):
    """JSON, where -0 keeps its sign."""
    return json.loads(text, parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))


def as_json(values):
    """The numbers as masu's JSON has them, read back."""
    names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return [names.get(str(value), value.item()) for value in values]


def same_number(got, value):
    """Whether a number of JSON reads back to a value of its dtype."""
    if isinstance(got, str):
        return as_json([value]) == [got]
    return value.dtype.type(got).tobytes() == value.tobytes()
