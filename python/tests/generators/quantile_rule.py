# SPDX-License-Identifier: Apache-2.0
"""Medians and quantiles as masu defines them, in fractions: NumPy's result, but the exact real number, rounded once, where NumPy's
formula wraps round, overflows, loses digits or meets infinities."""
import warnings
from fractions import Fraction

import numpy as np

from masu import _quantile

_DIGITS = {"e": (11, -24), "f": (24, -149), "d": (53, -1074)}


def rounded(number, dtype):
    """A fraction as the nearest number of a dtype of floats, ties to even."""
    digits, least = _DIGITS[np.dtype(dtype).char]
    if number == 0:
        return 0.0
    top = abs(number).numerator.bit_length() - number.denominator.bit_length()
    top -= abs(number) < Fraction(2)**top
    unit = Fraction(2)**max(top - digits + 1, least)
    return float(np.dtype(dtype).type(float(round(number / unit) * unit)))


def between(a, b, weight, kind, dtype):
    """The exact number where NumPy's formula is not taken, else None. `kind`: 1 from a, 2 from b."""
    near, sign = (a, 1) if kind == 1 else (b, -1)
    weight = Fraction(float(np.dtype(dtype).type(weight)))
    if a.dtype.kind == "f":
        if np.isinf(a) or np.isinf(b):
            if a == b or weight == 0:
                return near
            return np.nan if np.isinf(a) and np.isinf(b) else a if np.isinf(a) else b
        with np.errstate(all="ignore"):
            if np.isfinite(b - a):
                return None
        step = Fraction(float(b)) - Fraction(float(a))
    else:
        step = int(b) - int(a)
        if step <= np.iinfo(a.dtype).max and all(rounded(Fraction(x), dtype) == x for x in (int(a), int(b), step)):
            return None
    return rounded(Fraction(near.item()) + sign * step * weight, dtype)


def mean_of_middle(a, b, dtype):
    if a.dtype.kind == "f" and not (np.isfinite(a) and np.isfinite(b)):
        return a if a == b else np.nan if np.isinf(a) and np.isinf(b) else a if np.isinf(a) else b
    return rounded((Fraction(a.item()) + Fraction(b.item())) / 2, dtype)


def weighted(a, weights, q):
    """The first element, by a stable order, at which the running sum of the weights reaches q of all."""
    order = np.argsort(a, kind="stable")
    sums, total = [], Fraction(0)
    for weight in weights[order]:
        total += Fraction(weight.item())
        sums.append(total)
    share = min(Fraction(float(q)), Fraction(str(q)))
    return a[order][next(i for i, one in enumerate(sums) if one > 0 and one >= share * total)]


def _of_line(name, line, q, method, dtype):
    """The results of a line, None for those that are NumPy's."""
    if line.dtype.kind == "f":
        numbers = line[~np.isnan(line)]
        if len(numbers) < len(line) and not name.startswith("nan") or not len(numbers):
            return [None] * max(1, np.size(q))
        line = numbers
    line = np.sort(line)
    if name.endswith("median"):
        a, b = line[(len(line) - 1) // 2], line[len(line) // 2]
        return [None if a.dtype.kind == "b" or a == b == 0 else mean_of_middle(a, b, dtype)]
    function = getattr(np, name.removeprefix("nan"))
    first, second, weights, kinds, computed, _ = _quantile.points(function, len(line), line.dtype, q, method)
    dtype = np.promote_types(dtype, computed)  # narrower results come from a first line of NaNs alone
    return [None if kind == 0 or line[i] == line[k] == 0 else between(line[i], line[k], weight, kind, dtype)
            for i, k, weight, kind in zip(first, second, weights, kinds)]


def exact(name, a, *arguments, **options):
    """numpy's function of that name, by masu's rule."""
    given = dict(zip(("axis", "out") if name.endswith("median") else ("q", "axis", "out"), arguments)) | options
    q, axis, out, method = given.get("q"), given.get("axis"), given.get("out"), given.get("method", "linear")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = getattr(np, name)(a, *arguments, **options)
    a = np.asarray(a)
    result = np.array(want, order="C")  # whose lines are written below
    if not a.size or a.ndim == 0 or given.get("weights") is not None or result.dtype.char not in _DIGITS:
        return want
    axes = tuple(range(a.ndim)) if axis is None else tuple(i % a.ndim for i in (axis if type(axis) is tuple else (axis,)))
    if name.startswith("nan") and np.ndim(q) > 1 and len(axes) != 1:
        return want
    kept = [i for i in range(a.ndim) if i not in axes]
    lines = a.astype(a.dtype.newbyteorder("=")).transpose(*kept, *axes)
    lines = lines.reshape(int(np.prod([a.shape[i] for i in kept])), -1)
    found = result.reshape(-1, len(lines))
    dtype = result.dtype if out is None else np.result_type(a.dtype, np.float64)
    for i, line in enumerate(lines):
        for k, value in enumerate(_of_line(name, line, q, method, dtype)):
            if value is not None:
                found[k, i] = value
    if out is not None:
        out[...] = result
        return out
    return result if type(want) is np.ndarray else result[()]
