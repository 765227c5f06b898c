# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library in, results of the same library out."""
import numpy as np

#: The dtypes that masu computes with, by NumPy's character, in native byte order and the other.
NATIVE = frozenset("?bBhHiIlLqQefd")


def has_dtype(array):
    """Whether masu has the dtype of a NumPy array; what it lacks is handed to NumPy's function."""
    return array.dtype.char in NATIVE


def native(array):
    """The array C-contiguous, aligned and in native byte order: itself where it is so already."""
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"])
