# SPDX-License-Identifier: Apache-2.0
"""Exact totals of weights as integers that are added: a total is the sum of digit[k] * 2**(32 (low + k)).

Weights are cut into digits of 32 bits, and the digits of each place are totalled as integers. Totals are rounded once, when
all of them are together.
"""
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .. import _sums

_BITS = 32
_MASK = np.uint64(2**_BITS - 1)


class Exact(NamedTuple):
    low: int
    digits: np.ndarray  # int64, a row for each place
    specials: np.ndarray | None  # how many NaN, inf and -inf
    shape: tuple


def nothing(*shape):
    return Exact(0, np.zeros((1, math.prod(shape)), np.int64), None, shape)


def state(weights, totals, shape=None):
    """The exact totals of weights, where totals(int64 weights) are those of integers below 2**33."""
    low, places, specials = _digits_of(weights.ravel())
    first = totals(places[0].reshape(weights.shape)).astype(np.int64, copy=False)
    digits = np.zeros((len(places), first.size), np.int64)
    digits[0] = first
    for k, part in enumerate(places[1:], 1):
        if part is not None:
            digits[k] = totals(part.reshape(weights.shape))
    counts = None if specials is None else np.stack([totals(part.reshape(weights.shape)) for part in specials])
    return _carried(Exact(low, digits, None if counts is None else counts.astype(np.int64, copy=False),
                          shape or digits.shape[1:]))


def _digits_of(weights):
    """(place of the lowest digit, the digits of each place or None, which elements are NaN, inf and -inf or None)."""
    if weights.dtype.kind in "iu":
        wide = weights.astype(np.uint64 if weights.dtype.kind == "u" else np.int64)
        upper = (wide >> np.array(_BITS, wide.dtype)).astype(np.int64)
        lower = (wide & np.array(2**_BITS - 1, wide.dtype)).astype(np.int64)
        return 0, [lower, upper] if upper.any() else [lower], None
    weights = weights.astype(np.float64)
    finite = np.isfinite(weights)
    specials = None
    if not finite.all():
        specials = [(x).astype(np.int64) for x in (np.isnan(weights), weights == np.inf, weights == -np.inf)]
        weights = np.where(finite, weights, 0.0)
    fraction, exponent = np.frexp(weights)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    exponent = exponent.astype(np.int64) - 53
    there = mantissa != 0
    if not there.any():
        return 0, [mantissa], specials
    place = exponent >> 5
    shift = (exponent & 31).astype(np.uint64)
    low, high = int(place[there].min()), int(place[there].max())
    magnitude, sign = np.abs(mantissa).astype(np.uint64), np.sign(mantissa)
    lower = (magnitude & _MASK) << shift
    upper = ((magnitude >> np.uint64(_BITS)) << shift) + (lower >> np.uint64(_BITS))
    parts = [(part.astype(np.int64) * sign) for part in (lower & _MASK, upper & _MASK, upper >> np.uint64(_BITS))]
    places = [None] * (high + 3 - low)
    for k in np.unique(place[there]).tolist():
        here = place == k
        for i, part in enumerate(parts, k - low):
            places[i] = np.where(here, part, 0 if places[i] is None else places[i])
    return low, places, specials


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
