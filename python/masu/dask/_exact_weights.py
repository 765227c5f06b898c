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
    rows = {place: totals(digits.reshape(weights.shape)).astype(np.int64, copy=False)
            for place, digits in (_of_integers if weights.dtype.kind in "iu" else _of_floats)(flat)}
    low = min(rows)
    found = np.zeros((max(rows) - low + 1, rows[low].size), np.int64)
    for place, row in rows.items():
        found[place - low] = row
    counts = None
    if weights.dtype.kind == "f" and not np.isfinite(flat).all():
        counts = np.stack([totals(of(flat).astype(np.int64).reshape(weights.shape)) for of in
                           (np.isnan, partial(np.equal, np.inf), partial(np.equal, -np.inf))]).astype(np.int64, copy=False)
    return _carried(Exact(low, found, counts, shape or found.shape[1:]))


def _of_integers(weights):
    """(place, digits) of each place that is used."""
    wide = weights.astype(np.uint64 if weights.dtype.kind == "u" else np.int64, copy=False)
    yield 0, (wide & np.array(2**_BITS - 1, wide.dtype)).astype(np.int64)
    if weights.dtype.itemsize == 8 or weights.dtype.kind == "i":
        yield 1, (wide >> np.array(_BITS, wide.dtype)).astype(np.int64)


def _of_floats(weights):
    """The same of floats, the greatest place first; NaN and infinities are zeros."""
    rest, digits = np.where(np.isfinite(weights), weights, 0).astype(np.float64, copy=False), np.empty(weights.size)
    while True:
        place = math.frexp(max(rest.max(initial=0), -rest.min(initial=0)))[1] - 1 >> 5
        np.trunc(np.ldexp(rest, -_BITS * place, out=digits), out=digits)
        yield place, digits.astype(np.int64)
        rest -= np.ldexp(digits, _BITS * place, out=digits)
        if not rest.any():
            return


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
