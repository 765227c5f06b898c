# SPDX-License-Identifier: Apache-2.0
"""Sorting."""
import numpy as np

from . import _arrays, _device, _masu


def sort(a, *, device=None):
    data = _arrays.native(np.asarray(a))
    result = np.empty_like(data)
    _masu.sort(data, result, 1, _device.resolve(device))
    return result
