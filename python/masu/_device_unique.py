# SPDX-License-Identifier: Apache-2.0
"""Distinct elements of arrays in device memory, as NumPy has them."""
import numpy as np

from . import _masu
from ._device_array import to_device
from ._device_lines import array_like, joined, part


def every_nan(a, values, first, inverse, counts):
    """unique's results with every NaN a value of its own, in the order of the input."""
    different = values.size - 1
    nans = int(part(counts, different, 1).get()[0])
    order = array_like(a, "i64")
    _masu.argsort(a, order, 1, a.device)
    places = part(order, a.size - nans, nans)  # NaN is last in the order
    elements = array_like(a, shape=(nans,))
    _masu.gather(a, places, elements)
    if inverse is not None:
        _masu.scatter(to_device(np.arange(different, different + nans), a.device), places, inverse)
    return (joined(part(values, 0, different), elements),
            None if first is None else joined(part(first, 0, different), places), inverse,
            joined(part(counts, 0, different), to_device(np.ones(nans, np.intp), a.device)))
