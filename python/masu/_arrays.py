# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library in, results of the same library out."""
import sys

import numpy as np

from . import _masu

#: The dtypes that masu computes with, by NumPy's character, in native byte order and the other.
NATIVE = frozenset("?bBhHiIlLqQefd")
_HOST_MEMORY = frozenset((1, 3, 11))  # DLPack's numbers: the host's, and what CUDA and ROCm lock in it
_CUDA_MEMORY = frozenset((2, 13))


def has_dtype(array):
    """Whether masu has the dtype of a NumPy array; what it lacks is handed to NumPy's function."""
    return array.dtype.char in NATIVE


def native(array):
    """The array C-contiguous, aligned and in native byte order: itself where it is so already."""
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"])


def foreign(*arrays):
    """Whether one of them is neither NumPy's nor a plain sequence, so that the call is for `in_kind`."""
    for array in arrays:
        kind = type(array)
        if (kind is not np.ndarray and kind not in _PLAIN and not isinstance(array, (np.ndarray, np.generic))
                and (hasattr(kind, "__dlpack__") or hasattr(array, "__cuda_array_interface__"))):
            return True
    return False


_PLAIN = frozenset((list, tuple, int, float, bool, str, type(None), memoryview, bytes, bytearray))


def in_kind(function, *arrays, device=None, **options):
    """Calls `function(*arrays, **options)` for arrays of other libraries; results are arrays of the first one's library.

    In host memory they become NumPy arrays without a copy. On a device they stay where they are, and the function of
    the same name in `_on_device` is called.
    """
    give = next(_giver(array) for array in (*arrays, *options.values()) if foreign(array))
    arrays = [taken(array, device) if foreign(array) else array for array in arrays]
    options = {name: taken(value, device) if foreign(value) else value for name, value in options.items()}
    if any(isinstance(array, _masu.DeviceArray) for array in (*arrays, *options.values())):
        from . import _on_device
        result = _on_device.call(function.__name__, arrays, options)
    else:
        result = function(*arrays, device=device, **options)
    return _given(result, give)


def taken(array, device):
    """Another library's array as a NumPy array, or, on a device, as a DeviceArray; without a copy."""
    from . import _device, _device_array
    if isinstance(array, _masu.DeviceArray):
        return array
    if hasattr(type(array), "__dlpack__"):
        try:
            memory = array.__dlpack_device__()[0]
        except (TypeError, BufferError):  # as pyarrow says of an array with nulls
            if not hasattr(type(array), "__array__"):
                raise
            return np.asarray(array)
        if memory in _HOST_MEMORY:
            return np.asarray(array) if hasattr(type(array), "__array__") else np.from_dlpack(array)
        if memory in _CUDA_MEMORY:
            # Stream 1, the legacy default stream, then waits for the producer's work, and masu for that stream.
            try:
                capsule = array.__dlpack__(stream=1, max_version=(1, 0))
            except TypeError:  # a producer from before DLPack 1
                capsule = array.__dlpack__(stream=1)
            return _device_array.DeviceArray(capsule)
    if hasattr(array, "__cuda_array_interface__"):
        where = None if device is None else _device.resolve(device)
        return _device_array.from_cuda_interface(array, where)
    raise TypeError(f"masu: the memory of {type(array).__name__} must be the host's or a CUDA device's")


def _giver(array):
    """What turns a result into an array of the library that `array` is of."""
    if isinstance(array, _masu.DeviceArray):
        return None
    for kind in type(array).__mro__:
        root = kind.__module__.partition(".")[0]
        library = sys.modules.get("jax.numpy" if root in ("jax", "jaxlib") else root)
        give = getattr(library, "from_dlpack", None)
        if give is not None:
            return give
    return None


def _given(result, give):
    if give is None:
        return result
    if isinstance(result, np.ndarray):
        return give(result) if result.dtype.char in NATIVE and result.flags.writeable else result
    if isinstance(result, _masu.DeviceArray):
        return give(result)
    if isinstance(result, list):
        return [_given(part, give) for part in result]
    if isinstance(result, tuple):
        parts = [_given(part, give) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return result
