# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library in, results of the same library out."""
import sys

import numpy as np

from . import _masu

#: The dtypes that masu computes with, by NumPy's character, in native byte order and the other.
NATIVE = frozenset("?bBhHiIlLqQefd")
_HOST_MEMORY = frozenset((1, 3, 11))  # DLPack's numbers: the host's, and what CUDA and ROCm lock in it
_CUDA_MEMORY = frozenset((2, 13))
_LEGACY_STREAM = 1


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
    the same name in `_on_device` is called, on the stream to which their library gives its work now.
    """
    give = next(_giver(array) for array in (*arrays, *options.values()) if foreign(array))
    arrays = [taken(array, device) if foreign(array) else array for array in arrays]
    options = {name: taken(value, device) if foreign(value) else value for name, value in options.items()}
    there = on_devices(*arrays, *options.values())
    if there:
        from . import _on_device
        with _masu.OnStream(there):
            result = _on_device.call(function.__name__, arrays, options)
    else:
        result = function(*arrays, device=device, **options)
    return _given(result, give)


def on_devices(*arrays):
    """Those in device memory."""
    return [array for array in arrays if isinstance(array, _masu.DeviceArray)]


def taken(array, device):
    """Another library's array as a NumPy array, or, on a device, as a DeviceArray; without a copy.

    The library's work on a DeviceArray may be under way: what uses it stands in `with _masu.OnStream(arrays)`.
    """
    from . import _device, _device_array
    if isinstance(array, _masu.DeviceArray):
        return array
    if hasattr(type(array), "__dlpack__"):
        try:
            memory, ordinal = array.__dlpack_device__()
        except (TypeError, BufferError):  # as pyarrow says of an array with nulls
            if not hasattr(type(array), "__array__"):
                raise
            return np.asarray(array)
        if memory in _HOST_MEMORY:
            return np.asarray(array) if hasattr(type(array), "__array__") else np.from_dlpack(array)
        if memory in _CUDA_MEMORY:
            stream = _current_stream(array, ordinal)
            # -1: nothing need wait, as masu works on the same stream; else the legacy default stream waits.
            asked = _LEGACY_STREAM if stream is None else -1
            try:
                capsule = array.__dlpack__(stream=asked, max_version=(1, 0))
            except TypeError:  # a producer from before DLPack 1
                capsule = array.__dlpack__(stream=asked)
            return _device_array.DeviceArray(capsule, stream=_LEGACY_STREAM if stream is None else stream)
    if hasattr(array, "__cuda_array_interface__"):
        where = None if device is None else _device.resolve(device)
        return _device_array.from_cuda_interface(array, where)
    raise TypeError(f"masu: the memory of {type(array).__name__} must be the host's or a CUDA device's")


def _current_stream(array, ordinal):
    """The handle of the stream to which the array's library gives work for the device now; None where it tells none."""
    library = _library(array)
    name = getattr(library, "__name__", None)
    if name == "torch":
        return library.cuda.current_stream(ordinal).cuda_stream
    if name == "cupy":
        return library.cuda.get_current_stream(ordinal).ptr
    return None


def _library(array):
    """The module of the library that `array` is of; None where it has no from_dlpack."""
    for kind in type(array).__mro__:
        root = kind.__module__.partition(".")[0]
        library = sys.modules.get("jax.numpy" if root in ("jax", "jaxlib") else root)
        if hasattr(library, "from_dlpack"):
            return library
    return None


def _giver(array):
    """What turns a result into an array of the library that `array` is of."""
    return None if isinstance(array, _masu.DeviceArray) else getattr(_library(array), "from_dlpack", None)


def _given(result, give):
    if give is None:
        return result
    if isinstance(result, np.ndarray):
        return give(result) if result.dtype.char in NATIVE and result.flags.writeable else result
    if isinstance(result, _masu.DeviceArray):
        # PyTorch takes a capsule too, and then asks for no stream: masu's work is done.
        return give(result._dlpack(False)) if give.__module__ == "torch.utils.dlpack" else give(result)
    if isinstance(result, list):
        return [_given(part, give) for part in result]
    if isinstance(result, tuple):
        parts = [_given(part, give) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return result
