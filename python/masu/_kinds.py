# SPDX-License-Identifier: Apache-2.0
"""Which arrays and dtypes there are: NumPy's, those of other libraries, what masu computes with."""
import sys

import numpy as np

FLAGS = frozenset((bool, type(np._NoValue)))  # what `keepdims` is in calls that only enqueue
#: The dtypes that masu computes with, by NumPy's character, in native byte order and the other.
NATIVE = frozenset("?bBhHiIlLqQefd")


def has_dtype(array):
    """Whether masu has the dtype of a NumPy array; what it lacks is handed to NumPy's function."""
    return array.dtype.char in NATIVE


def native(array):
    """The array C-contiguous, aligned and in native byte order: itself where it is so already."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative:
        return array
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"])


def foreign(*arrays):
    """Whether one of them is neither NumPy's nor a plain sequence, so that the call is for `in_kind`."""
    for array in arrays:
        kind = type(array)
        if kind in _foreign_kinds:
            return True
        if (kind not in PLAIN and not isinstance(array, (np.ndarray, np.generic))
                and (in_memory(array) or hasattr(kind, "__array_function__"))):
            if hasattr(kind, "__dlpack__"):
                _foreign_kinds.add(kind)
            return True
    return False


_foreign_kinds: set[type] = set()  # of which it is known
PLAIN = frozenset((np.ndarray, list, tuple, int, float, bool, str, type(None), type(np._NoValue), memoryview, bytes, bytearray))


def in_memory(array):
    """Whether masu can use the memory of an array of another library."""
    return hasattr(type(array), "__dlpack__") or hasattr(array, "__cuda_array_interface__")


def _of_pandas(a):
    kind = type(a)
    return kind not in PLAIN and "pandas" in sys.modules and any(
        base.__module__.partition(".")[0] == "pandas" for base in kind.__mro__)


def as_numpy(a):
    """`np.asanyarray(a)`; ValueError where `a` is of pandas and has missing values (NA), which no number stands for."""
    if _of_pandas(a) and getattr(getattr(a, "dtype", None), "na_value", None) is sys.modules["pandas"].NA and a.isna().any():
        raise ValueError(f"masu: the {type(a).__name__} must have no missing values (NA), got some in dtype {a.dtype}; "
                         "use dropna() or fillna() first")
    return np.asanyarray(a)


def plain(a):
    """The same as a plain array."""
    return np.asarray(as_numpy(a))


def whole(a):
    """The same for what NumPy has no function for, whose rules would stand; ValueError where elements are masked."""
    a = as_numpy(a)
    if isinstance(a, np.ma.MaskedArray) and np.ma.is_masked(a):
        raise ValueError("masu: the MaskedArray must have no masked elements, got some; use compressed() or filled() first")
    return np.asarray(a)


def is_series(a):
    """Whether `a` is a Series of pandas, for which NumPy's functions that keep the shape give a Series."""
    return _of_pandas(a) and isinstance(a, sys.modules["pandas"].Series)


def like_series(a, result):
    """The result for each element of a Series, with its index and name."""
    return a._constructor(result, index=a.index, name=a.name)


def numpy_dtype(name, dtype):
    """A dtype of NumPy's or PyTorch's as NumPy's, for the function of that name."""
    if dtype is None:
        return None
    try:
        return np.dtype(str(dtype).removeprefix("torch.") if type(dtype).__module__ == "torch" else dtype)
    except TypeError:
        raise TypeError(f"{name}: dtype must be one of NumPy's, got {dtype}") from None


def code_of(dtype):
    """NumPy's code of one of its dtypes, "f4", in which a call that only enqueues takes it."""
    return None if dtype is None else dtype.str[1:]
