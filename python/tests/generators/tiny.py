# SPDX-License-Identifier: Apache-2.0
"""Subnormal numbers and numbers near them: whole multiples of the least one, so that integers say what is right."""
from fractions import Fraction

import numpy as np

import masu

from . import generator, one_of, same

BITS = {"f2": "i2", "f4": "i4", "f8": "i8"}


def multiples(form, rng, most=2**9):
    """(integers, the same times the least number of the dtype). Many elements now and then: threads share these."""
    dtype = one_of(form, list(BITS))
    size = int(one_of(rng, [1, 5, 100, 5000, 5000, 300_000] if rng.integers(30) else [2_000_000]))
    whole = rng.integers(-most, most, size, "i8", endpoint=True)
    if rng.integers(2):
        whole = abs(whole)
    bits = abs(whole).astype(BITS[dtype]) | np.where(whole < 0, np.iinfo(BITS[dtype]).min, 0).astype(BITS[dtype])
    return whole, bits.view(dtype)


def whole_of(values):
    """The integers of multiples."""
    bits = np.asarray(values).view(BITS[np.asarray(values).dtype.str[1:]])
    size = (bits & np.iinfo(bits.dtype).max).astype("i8")
    return np.where(bits < 0, -size, size)


def least(dtype):
    return Fraction(float(np.finfo(dtype).smallest_subnormal))


@generator(40)
def tiny_orders(rng, form, device):
    whole, values = multiples(form, rng)
    ordered = np.sort(whole)
    same(whole_of(masu.sort(values, device=device)), ordered)
    same(masu.argsort(values, kind="stable", device=device), np.argsort(whole, kind="stable"))
    same(whole_of(masu.unique(values, device=device)), np.unique(whole))
    k = int(rng.integers(1, whole.size, endpoint=True))
    same(whole_of(masu.topk(values, k, device=device).values), ordered[::-1][:k])
    kth = int(rng.integers(whole.size))
    got = whole_of(masu.partition(values, kth, device=device))
    same(np.sort(got), ordered)
    assert got[kth] == ordered[kth] and (got[:kth] <= got[kth]).all() and (got[kth:] >= got[kth]).all(), (values, kth)
    edges = values[np.unique(whole, return_index=True)[1]]  # NumPy 2.4 leaves 2,000,000 f16 unsorted
    same(masu.searchsorted(edges, values, device=device), np.searchsorted(np.unique(whole), whole))


@generator(40)
def tiny_totals(rng, form, device):
    whole, values = multiples(form, rng)
    step, total = least(values.dtype), sum(whole.tolist())
    got = masu.sum(values, device=device)
    assert got == values.dtype.type(float(step * total)), (values, got)
    mean = masu.mean(values.astype("f8"), device=device)
    assert mean == float(step * total / whole.size), (values, mean)
    running = masu.cumsum(values.astype("f8"), device=device)
    want = [float(step * int(part)) for part in np.cumsum(whole)[:100]]
    same(running[:100], np.array(want))


@generator(40)
def tiny_bins(rng, form, device):
    """Given edges around zero; the last one is often 0 or subnormal."""
    whole, values = multiples(form, rng)
    kind = rng.integers(3)
    edges = np.unique(np.concatenate([rng.integers(-600, 600, 4), [0]]))
    if kind == 0:
        edges = np.array([-1000, -3, 0])
    given = np.array([float(least(values.dtype) * int(e)) for e in edges])
    if kind == 1:
        given, edges = np.concatenate([given[given < 0], [0.0, 1.0]]), np.concatenate([edges[edges < 0], [0, 10**6]])
    want = np.histogram(whole, edges)[0]
    got = masu.histogram(values.astype("f8"), given, device=device)
    same(got[0], want, (values, given))
    if values.dtype != "f2":
        same(masu.histogram(values, given, device=device)[0], want, (values, given))
    same(masu.histogram(values, 4, (0, 1), device=device)[0], np.array([(whole >= 0).sum(), 0, 0, 0]), (values, "between 0 and 1"))


@generator(40)
def tiny_quantiles(rng, form, device):
    whole, values = multiples(form, rng)
    values = values.astype("f8")
    q = float(one_of(rng, [0, 0.5, 1, 0.25, rng.random()]))
    for method in ("lower", "higher", "inverted_cdf"):
        want = np.quantile(whole, q, method=method)
        got = masu.quantile(values, q, method=method, device=device)
        ratio = Fraction(float(got)) / least(form_of(values, whole))
        assert ratio == int(want), (values, q, method, got, want)


def form_of(values, whole):
    """The dtype whose least number the values are multiples of."""
    at = np.flatnonzero(whole)
    if not at.size:
        return "f8"
    step = Fraction(float(values[at[0]])) / int(whole[at[0]])
    return next(dtype for dtype in BITS if least(dtype) == step)
