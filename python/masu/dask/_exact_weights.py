# SPDX-License-Identifier: Apache-2.0
"""Exact totals of weights as integers that are added: a total is the sum of digit[k] * 2**(32 (low + k)).

Weights are cut into digits of 32 bits, and the digits of each place are totalled as integers. Totals are rounded once, when
all of them are together.
"""
from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from .. import _sums

_BITS = 32
_PIECE = 2**14  # weights that are cut at a time
_LEAST_PLACE = 40  # -40 is below the place of the least float64


class Exact(NamedTuple):
    low: int
    digits: np.ndarray  # int64, a row for each place
    specials: np.ndarray | None  # how many NaN, inf and -inf
    shape: tuple


def nothing(*shape):
    return Exact(0, np.zeros((1, math.prod(shape)), np.int64), None, shape)


def state(weights, totals, shape=None):
    """The exact totals of weights, where totals(int64 weights) are those of integers below 2**33."""
    flat = weights.reshape(-1)
    low, places, digits, specials = _of_integers(flat) if weights.dtype.kind in "iu" else _of_floats(flat)
    rows = {}
    for k in places:
        rows[k - low] = totals(digits(k).reshape(weights.shape)).astype(np.int64, copy=False)
    found = np.zeros((max(rows) + 1, rows[0].size), np.int64)
    for k, row in rows.items():
        found[k] = row
    counts = None
    if specials:
        counts = np.stack([totals(of(flat).astype(np.int64).reshape(weights.shape)) for of in
                           (np.isnan, partial(np.equal, np.inf), partial(np.equal, -np.inf))]).astype(np.int64, copy=False)
    return _carried(Exact(low, found, counts, shape or found.shape[1:]))


def _of_integers(weights):
    """(the lowest place, the places that are used, the digits of a place, whether there are NaNs and infinities)."""
    wide = weights.astype(np.uint64 if weights.dtype.kind == "u" else np.int64, copy=False)

    def digits(k):
        return (wide >> np.array(_BITS, wide.dtype) if k else wide & np.array(2**_BITS - 1, wide.dtype)).astype(np.int64)

    return 0, range(1 if weights.dtype.itemsize < 8 and weights.dtype.kind == "u" else 2), digits, False


def _of_floats(weights):
    """The same of floats; in pieces that stay in the cache. What `digits` returns is written again by its next call."""
    pieces = [slice(start, start + _PIECE) for start in range(0, weights.size, _PIECE)]
    mantissas, exponents = np.empty(weights.size, np.int64), np.empty(weights.size, np.int16)
    used, specials = np.zeros(_LEAST_PLACE + 32, bool), False
    for piece in pieces:
        part = weights[piece].astype(np.float64)
        finite = np.isfinite(part)
        if not finite.all():
            specials = True
            part = np.where(finite, part, 0.0)
        fraction, exponent = np.frexp(part)
        exponent -= 53
        mantissas[piece] = np.ldexp(fraction, 53)
        exponents[piece] = exponent
        used[np.flatnonzero(np.bincount((exponent >> 5)[fraction != 0] + _LEAST_PLACE))] = True
    first = (np.flatnonzero(used) - _LEAST_PLACE).tolist() or [0]
    found = np.empty(weights.size, np.int64)

    def digits(k):
        for piece in pieces:
            mantissa, up = mantissas[piece], exponents[piece] - np.int16(_BITS * k)
            part = np.abs(mantissa)
            part <<= np.clip(up, 0, _BITS)  # from 32 on nothing is left in this place
            part >>= np.clip(-up, 0, 63)
            part &= 2**_BITS - 1
            np.multiply(part, np.sign(mantissa), out=found[piece])
        return found

    last = int(exponents.max(initial=-32768, where=mantissas != 0)) + 52 >> 5
    return first[0], sorted({k + i for k in first for i in range(3) if k + i <= last} | {first[0]}), digits, specials


def _carried(exact):
    """The same totals with digits from 0 to 2**32 - 1, but for the last, which has the sign."""
    digits = list(exact.digits)
    for k in range(len(digits) - 1):
        digits[k + 1] = digits[k + 1] + (digits[k] >> _BITS)
        digits[k] = digits[k] & np.int64(2**_BITS - 1)
    top = digits[-1] >> _BITS
    if ((top != 0) & (top != -1)).any():
        digits[-1] = digits[-1] & np.int64(2**_BITS - 1)
        digits.append(top)
    return exact._replace(digits=np.stack(digits))


def added(parts):
    """Counts, totals modulo their dtype or exact totals of several chunks together; short ones are lengthened."""
    if not isinstance(parts[0], Exact):
        longest = max(parts, key=lambda part: part.size)
        total = longest.copy()
        for part in parts:
            if part is not longest:
                total[:len(part)] += part
        return total
    low = min(part.low for part in parts)
    high = max(part.low + len(part.digits) for part in parts)
    shape = max((part.shape for part in parts), key=math.prod)
    digits = np.zeros((high - low, math.prod(shape)), np.int64)
    specials = None
    for part in parts:
        size = part.digits.shape[1]
        digits[part.low - low:part.low - low + len(part.digits), :size] += part.digits
        if part.specials is not None:
            specials = np.zeros((3, math.prod(shape)), np.int64) if specials is None else specials
            specials[:, :size] += part.specials
    return _carried(Exact(low, digits, specials, shape))


def rounded(totals, dtype):
    """As an array: exact totals rounded to float64 once, then to the dtype."""
    if not isinstance(totals, Exact):
        return totals.astype(dtype, copy=False)
    negative = totals.digits[-1] < 0
    exact = _carried(totals._replace(digits=np.where(negative, -totals.digits, totals.digits)))
    terms = []
    with np.errstate(over="ignore"):
        for k, digit in enumerate(exact.digits):
            for bits, part in ((0, digit & np.int64(2**_BITS - 1)), (_BITS, digit >> _BITS)):
                terms.append(np.ldexp(part.astype(np.float64), _BITS * (exact.low + k) + bits))
    found = np.atleast_1d(_sums.sum(np.stack(terms, axis=1), axis=1)) if terms[0].size else np.zeros(0)
    found = np.where(negative, -found, found)
    if exact.specials is not None:
        nan, plus, minus = exact.specials != 0
        found = np.where(plus, np.inf, np.where(minus, -np.inf, found))
        found[nan | plus & minus] = np.nan
    return found.reshape(exact.shape).astype(dtype, copy=False)
