# SPDX-License-Identifier: Apache-2.0
"""Medians and quantiles: NumPy's own rules, on elements that masu finds.

NumPy's functions part a copy of the data around the places they need, and compute with what stands there. Here they get
an array whose partition() has masu find those places' elements and writes these alone. So every rule, rounding, warning
and error is that of the running NumPy.
"""
import math

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from . import _arrays, _device, _masu, _small
from ._lines import NUMPY, contiguous, host, words

__all__ = ["median", "quantile"]

_ndarray = np.ndarray


class Unforeseen(Exception):
    """NumPy's function did something else with the data than part it and take elements."""


# What a call ends with that NumPy's own function judges: which of several errors comes first is NumPy's to say.
_NUMPYS = (Unforeseen, IndexError, TypeError, ValueError)


class _Parted(np.ndarray):
    """Stands for data in NumPy's functions: only the places that partition() was asked for are there."""

    __array_ufunc__ = None
    find = None  # find(places): the elements at these places of each row's order, a row of them for each

    def __array_finalize__(self, base):
        self.find = getattr(base, "find", None)

    def partition(self, kth, axis=-1, kind="introselect", order=None):
        out = np.moveaxis(self.view(_ndarray), axis, -1)
        places = np.unique(np.asarray(kth, np.intp) % out.shape[-1])
        out[..., places] = self.find(places).reshape(*out.shape[:-1], places.size)

    def take(self, *args, **keywords):
        return self.view(_ndarray).take(*args, **keywords)

    def __getitem__(self, index):
        return self.view(_ndarray)[index]

    def _unforeseen(self, *args, **keywords):
        raise Unforeseen

    sort = argsort = copy = flatten = mean = sum = _unforeseen


def of_found(function, shape, axes, dtype, find, out=None, keepdims=False, **keywords):
    """NumPy's function of data of that shape over `axes`, where find(places) gives the elements at these places of the
    order of what lies along them, a row of places for each position of the other axes.
    """
    ndim = len(shape)
    asked = []

    def noted(places):
        asked.append(True)
        return find(places)

    kept = tuple(shape[i] for i in range(ndim) if i not in axes)
    parted = np.zeros((*kept, math.prod(shape[i] for i in axes)), dtype).view(_Parted)
    parted.find = noted
    target = out
    if keepdims and out is not None:
        target = out[(..., *(0 if i in axes else slice(None) for i in range(ndim)))]
    result = function(parted, axis=-1, out=target, overwrite_input=True, **keywords)
    if not asked:
        raise Unforeseen
    if out is not None:
        return out
    if keepdims:
        result = result[(..., *(np.newaxis if i in axes else slice(None) for i in range(ndim)))]
    return result


def _reduced(function, data, axis, out, keepdims, device, **keywords):
    """NumPy's function of the axes that are reduced, brought together as the last one."""
    ndim = data.ndim
    axes = tuple(range(ndim)) if axis is None else normalize_axis_tuple(axis, ndim)
    kept = [i for i in range(ndim) if i not in axes]
    turned = data.transpose(*kept, *sorted(axes, key=lambda i: -abs(data.strides[i])))
    rows = contiguous(turned, data.dtype).reshape(*turned.shape[:len(kept)], -1)

    def find(places):
        number = rows.size // rows.shape[-1]
        found = np.empty((number, places.size), rows.dtype)
        _masu.elements_at(words(rows), words(found), number, places.tolist(), _device.resolve(device))
        return found

    return of_found(function, data.shape, axes, data.dtype, find, out, keepdims, **keywords)


def median(a, axis=None, out=None, overwrite_input=False, keepdims=False, *, device=None):
    """The median along an axis, as `numpy.median`.

    `axis`: an axis, several, or None for the flattened array. `out`: an array for the result. `overwrite_input`:
    allowed as NumPy has it; `a` is left as it is. `keepdims`: the reduced axes stay with length 1. The mean of the
    middle two is computed by NumPy, in the dtype that it uses; a NaN makes the median NaN. Returns float64, or a's
    dtype for floats.

    Raises what NumPy raises, and hands to NumPy what `sort` does.

    >>> import masu
    >>> float(masu.median([4.0, 1.0, 3.0, 2.0]))
    2.5
    """
    if _arrays.foreign(a):
        return _arrays.in_kind(median, a, axis=axis, out=out, overwrite_input=overwrite_input, keepdims=keepdims,
                               device=device)
    if not (type(a) is _ndarray and a.size < _small.limit and device is None):
        data = host(a)
        if data is not NUMPY and data.dtype.isnative:
            try:
                return _reduced(np.median, data, axis, out, keepdims, device)
            except _NUMPYS:
                pass
    return np.median(a, axis, out, overwrite_input, keepdims)


def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
             device=None):
    """Quantiles along an axis, as `numpy.quantile`.

    `q`: a number from 0 to 1, or an array of them, whose shape comes first in the result's. `axis`, `out`,
    `overwrite_input` and `keepdims` as for `median`. `method`: one of NumPy's thirteen. Places and interpolation are
    computed by NumPy, in the dtypes that it uses; a NaN makes every quantile NaN. With `weights` the whole is NumPy's.

    Raises ValueError for a q outside of 0 to 1 and for an unknown method, and hands to NumPy what `sort` does.

    >>> import masu
    >>> masu.quantile([1.0, 2.0, 3.0, 4.0, 5.0], [0.25, 0.5]).tolist()
    [2.0, 3.0]
    """
    if _arrays.foreign(a):
        return _arrays.in_kind(quantile, a, q=q, axis=axis, out=out, overwrite_input=overwrite_input, method=method,
                               keepdims=keepdims, weights=weights, device=device)
    if weights is None and not (type(a) is _ndarray and a.size < _small.limit and device is None):
        data = host(a)
        if data is not NUMPY and data.dtype.isnative:
            try:
                return _reduced(np.quantile, data, axis, out, keepdims, device, q=q, method=method)
            except _NUMPYS:
                pass
    return np.quantile(a, q, axis, out, overwrite_input, method, keepdims, weights=weights)
