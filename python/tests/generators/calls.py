# SPDX-License-Identifier: Apache-2.0
"""Every function on arrays of all dtypes and layouts, with sound and unsound arguments."""
import math

import numpy as np

import masu

from . import FLOATS, INTEGERS, arrays, as_exact, as_numpy, found_as_integers, generator, one_of, outcome, rounded_by_numpy, same
from .data import HUGE, array, bins, edges, other_bytes, span, values

DTYPES = ["?", *INTEGERS, *FLOATS]
SORTS = [None, "stable", "quicksort", "mergesort", "heapsort", "no such"]
STABLE = ("stable", "mergesort")
AXES = [None, 0, 1, 2, -1, -2, -3]


@generator(120)
def histograms(rng, form, device):
    a, density = array(rng, one_of(form, DTYPES)), bool(rng.integers(2))
    given = bins(rng, one_of(form, DTYPES[1:])), span(rng)
    as_numpy("histogram_bin_edges", a, *given, device=device)
    if isinstance(given[0], np.ndarray) and given[0].ndim == 1 and rounded_by_numpy(a, given[0]):
        counted_as_integers(a, *given, device)
    else:
        as_numpy("histogram", a, *given, density=density, device=device)


def counted_as_integers(a, edges, span, device):
    """A histogram of integers between integers, of which one has a sign."""
    want, _ = outcome(np.histogram, a, edges, span)
    if isinstance(want, tuple) and edges.size > 1:
        inside = np.sort(a.astype(object), axis=None)
        last = found_as_integers(inside, edges[-1:], "right")
        want = np.diff(np.concatenate((found_as_integers(inside, edges[:-1], "left"), last))), want[1]
    same(outcome(masu.histogram, a, edges, span, device=device)[0], want, (a, edges))


@generator(40)
def histograms_by_rule(rng, form, device):
    a = array(rng, one_of(form, DTYPES[1:]), (1, 1), 20)
    rule = one_of(form, ["auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"])
    limits = span(rng)
    if limits is None and a.size and abs(np.nan_to_num(a.astype("f8"))).max() > 1e4:
        limits = (-4, 300)  # the rules would want very many bins
    as_numpy("histogram", a, rule, limits, device=device)
    as_numpy("histogram_bin_edges", a, rule, limits, device=device)


@generator(120)
def joint_histograms(rng, form, device):
    dtype, width, density = one_of(form, DTYPES), int(form.integers(1, 4)), bool(rng.integers(2))
    a = array(rng, dtype, (1, 1))
    given = int(rng.integers(0, 21)) if form.integers(2) else edges(rng, one_of(form, DTYPES[1:]))
    as_numpy("histogram2d", a, a[::-1], given if isinstance(given, int) else [given] * 2, density=density, device=device)
    points = array(rng, dtype, (1, 2))
    points = points[:, :width] if points.ndim == 2 else points
    as_numpy("histogramdd", points, int(rng.integers(-1, 7)), density=density, device=device)


@generator(120)
def bincounts(rng, form, device):
    a = array(rng, one_of(form, ["?", *INTEGERS, "f8"]), (1, 1))
    minlength = one_of(rng, [0, 0, 3, 100, -1, *HUGE, 2.0, None])
    if a.size and a.dtype.kind in "iu" and 1e4 < a.astype("f8").max() < 2.0**40:
        a = a % a.dtype.type(100)
    if minlength in HUGE:
        a = a[a >= 0] % a.dtype.type(100 if a.dtype.kind == "u" else 127)  # one error at a time
    as_numpy("bincount", a, minlength=minlength, device=device)


@generator(120)
def searches(rng, form, device):
    """searchsorted and digitize."""
    v, side = array(rng, one_of(form, DTYPES)), one_of(rng, ["left", "right", "left", "right", "middle"])
    a = array(rng, one_of(form, DTYPES), (1, 1))
    if rounded_by_numpy(a, v) and side != "middle":
        want = found_as_integers(np.sort(a), v, side)
        same(masu.searchsorted(np.sort(a), v, side, device=device), want, (a, v, side))
        same(masu.searchsorted(a, v, side, np.argsort(a, kind="stable"), device=device), want, (a, v, side))
    else:
        as_numpy("searchsorted", np.sort(a), v, side, device=device)
        as_numpy("searchsorted", a, v, side, np.argsort(a, kind="stable"), device=device)
    limits, right = edges(rng, one_of(form, DTYPES[1:])), bool(rng.integers(2))
    want = outcome(np.digitize, v, limits, right)[0] if rounded_by_numpy(v, limits) and limits.size else None
    if want is None or isinstance(want, Exception):
        as_numpy("digitize", v, limits, right, device=device)
    else:
        falls = limits[0] > limits[-1]
        place = found_as_integers(limits[::-1] if falls else limits, v, "left" if right else "right")
        same(masu.digitize(v, limits, right, device=device), limits.size - place if falls else place, (v, limits, right))


@generator(80)
def truth_values(rng, form, device):
    """Every byte but 0 is True: what every function gives is what it gives for the same of bytes 0 and 1."""
    clean = array(rng, "?", (1, 3))
    odd = other_bytes(rng, clean)
    axis, k = one_of(rng, [None, *range(clean.ndim)]), int(rng.integers(0, 3))
    calls = [("sum", axis), ("mean", axis), ("std", axis), ("cumsum", axis), ("sort", axis), ("argsort", axis), ("unique", True, True, True),
             ("topk", k, axis), ("partition", k, axis), ("median", axis), ("histogram", 3), ("bincount",), ("digitize", [1]), ("digitize", [0, 1]),
             ("searchsorted", [0, 1, 2])]
    for name, *more in calls:
        given = [x if name != "searchsorted" else np.sort(x.reshape(-1) != 0) if x is clean else x.reshape(-1)[np.argsort(clean, axis=None)]
                 for x in (odd, clean)]
        got, want = (outcome(getattr(masu, name), x, *more, device=device)[0] for x in given)
        if isinstance(want, Exception):
            assert type(got) is type(want), (name, more, odd.view("u1"), got, want)
            continue
        same(got, want, (name, more, odd.view("u1")))
        assert [np.asarray(x).tobytes() for x in arrays(got)] == [np.asarray(x).tobytes() for x in arrays(want)], (name, more, odd.view("u1"))

def sorted_and_behind(a, axis, descending):
    """(the sorted array, its order), by NumPy's stable order of ascending ranks."""
    if axis is None:
        a, axis = a.ravel(), -1
    if descending:
        ranks = np.unique(a, return_inverse=True)[1].reshape(a.shape)  # all NaNs are one, the last
        last = np.isnan(a) if a.dtype.kind == "f" else False
        order = np.argsort(np.where(last, a.size, -ranks), axis, kind="stable")
    else:
        order = np.argsort(a, axis, kind="stable")
    return np.take_along_axis(a, order, axis), order


@generator(120)
def sorts(rng, form, device):
    a, axis, kind = array(rng, one_of(form, DTYPES)), one_of(rng, AXES), one_of(rng, SORTS)
    as_numpy("sort", a, axis, kind, device=device, zeros=kind in STABLE)
    if kind in STABLE or kind == "no such" or not a.ndim or isinstance(outcome(np.argsort, a, axis)[0], Exception):
        as_numpy("argsort", a, axis, kind, device=device)
        return
    for descending in (False, True):
        want, order = sorted_and_behind(a, axis, descending)
        same(masu.sort(a, axis, descending=descending, device=device), want, (a, axis, descending))
        same(masu.argsort(a, axis, descending=descending, device=device), order, (a, axis, descending))


@generator(120)
def partitions(rng, form, device):
    a, axis = array(rng, one_of(form, DTYPES)), one_of(rng, AXES)
    length = a.size if axis is None else a.shape[axis] if -a.ndim <= axis < a.ndim else 9
    most = max(length, 1) if rng.integers(6) else length + 3  # mostly places that there are
    kth = int(rng.integers(-most, most)) if rng.integers(2) else rng.integers(-most, most, rng.integers(0, 4)).tolist()
    want, _ = outcome(np.partition, a, kth, axis)
    if isinstance(want, Exception):
        as_numpy("partition", a, kth, axis, device=device)
        as_numpy("argpartition", a, kth, axis, device=device)
        return
    got, order = masu.partition(a, kth, axis, device=device), masu.argpartition(a, kth, axis, device=device)
    told = (a, kth, axis, got, order)
    assert got.dtype == want.dtype and got.shape == want.shape and order.dtype == np.intp, told
    if a.ndim == 0 or not a.size:
        return
    if axis is None:
        a, axis = a.ravel(), 0
    same(got, np.take_along_axis(a, order, axis).astype(got.dtype), told)
    ordered = np.sort(a, axis)
    same(np.sort(got, axis), ordered, told, zeros=False)
    for k in np.atleast_1d(kth) % a.shape[axis]:
        at = np.take(ordered, [k], axis)
        same(np.take(got, [k], axis), at, told, zeros=False)
        low, high = np.split(got, [int(k)], axis)
        assert (np.isnan(at) | ~(low > at)).all() if a.dtype.kind == "f" else (low <= at).all(), told
        assert not (high < at).any(), told


@generator(120)
def distinct(rng, form, device):
    a, axis = array(rng, one_of(form, DTYPES)), one_of(rng, [None, None, None, 0, 1, -1])
    wanted = [bool(form.integers(2)) for _ in range(3)]
    equal_nan = bool(rng.integers(2)) or not wanted[0]  # else NumPy numbers NaNs in any order
    as_numpy("unique", a, *wanted, axis, equal_nan=equal_nan, device=device, zeros=False)


@generator(120)
def firsts(rng, form, device):
    """The k largest or smallest: the first of a stable order in which NaN is the greatest."""
    a, largest = array(rng, one_of(form, DTYPES), (1, 3)), bool(form.integers(2))
    axis = one_of(rng, [None, *range(a.ndim)])
    rows = a.ravel() if axis is None else a
    along = -1 if axis is None else axis
    if not rows.shape[along]:
        return
    k = int(rng.integers(1, rows.shape[along], endpoint=True))
    ranks = np.unique(rows, return_inverse=True)[1].reshape(rows.shape)
    order = np.take(np.argsort(-ranks if largest else ranks, along, kind="stable"), range(k), along)
    got = masu.topk(a, k, axis, largest=largest, device=device)
    same(got.indices, order, (a, k, axis, largest))
    same(got.values, np.take_along_axis(rows, order, along), (a, k, axis, largest))


@generator(80)
def medians(rng, form, device):
    """Of every layout; `quantiles` has the hard values."""
    a, axis, keepdims = array(rng, one_of(form, DTYPES)), one_of(rng, AXES), bool(rng.integers(2))
    as_exact("median", a, axis, keepdims=keepdims, device=device, zeros=False)
    as_exact("quantile", a, rng.random(rng.integers(0, 4)), axis, keepdims=keepdims, device=device, zeros=False)


@generator(120)
def sums(rng, form, device):
    """Of integers NumPy's, of floats the real ones, rounded once."""
    a, axis = array(rng, one_of(form, ["?", *INTEGERS])), one_of(rng, AXES)
    dtype = one_of(form, [None, "i8", "u4"])
    as_numpy("cumsum", a, axis, dtype, device=device)
    as_numpy("sum", a, axis, dtype, device=device)
    a = values(rng, one_of(form, ["f4", "f8"]), rng.integers(1, 100))
    a = np.where(np.isfinite(a) & (abs(a) < 1e30), a, 1)
    with np.errstate(over="ignore"):
        running = np.array([math.fsum(a[:i + 1].tolist()) for i in range(a.size)]).astype(a.dtype)
    if a.dtype == "f8":  # f4 may not be rounded twice
        same(masu.cumsum(a, device=device), running, a, zeros=False)
        same(masu.sum(a, device=device), running[-1], a, zeros=False)
        product = masu.dot(a, a[::-1], device=device)
        assert product == masu.sum(np.concatenate(two_products(a, a[::-1])), device="cpu"), (a, product)


def two_products(x, y):
    """x * y as sums of f64 without an error (Dekker), where nothing overflows or is tiny."""
    def halves(v):
        high = v * 134217729.0
        high = high - (high - v)
        return high, v - high

    product = x * y
    (a, b), (c, d) = halves(x), halves(y)
    return product, ((a * c - product) + a * d + b * c) + b * d
