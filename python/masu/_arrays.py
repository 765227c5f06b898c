# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library in, results of the same library out."""
import inspect
import sys

import numpy as np

from . import _fallback, _masu

#: The dtypes that masu computes with, by NumPy's character, in native byte order and the other.
NATIVE = frozenset("?bBhHiIlLqQefd")
_GIVEN = NATIVE | frozenset("FD")  # what DLPack has
_HOST_MEMORY = frozenset((1, 3, 11))  # DLPack's numbers: the host's, and what CUDA and ROCm lock in it
_CUDA_MEMORY = frozenset((2, 13))
_LEGACY_STREAM = 1


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
        if (kind is not np.ndarray and kind not in _PLAIN and not isinstance(array, (np.ndarray, np.generic))
                and (in_memory(array) or hasattr(kind, "__array_function__"))):
            if hasattr(kind, "__dlpack__"):
                _foreign_kinds.add(kind)
            return True
    return False


_foreign_kinds: set[type] = set()  # of which it is known
_PLAIN = frozenset((list, tuple, int, float, bool, str, type(None), memoryview, bytes, bytearray))


def in_memory(array):
    """Whether masu can use the memory of an array of another library."""
    return hasattr(type(array), "__dlpack__") or hasattr(array, "__cuda_array_interface__")


def foreign_bins(bins):
    """Whether bins, or one of a sequence of bins, are an array of another library."""
    return foreign(*bins) if type(bins) in (list, tuple) else foreign(bins)


def _of_pandas(a):
    kind = type(a)
    return kind is not np.ndarray and kind not in _PLAIN and "pandas" in sys.modules and any(
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


def in_kind(function, *arrays, device=None, **options):
    """Calls `function(*arrays, **options)` for arrays of other libraries; results are arrays of the first one's library.

    In host memory they become NumPy arrays without a copy. On a device they stay where they are, and `_on_device` has
    the function for them, which is called on the stream to which their library gives its work now. A library whose
    arrays are not memory (Dask, sparse) has NumPy's functions of its own, and its function is called. `out` among the
    options, an array or a tuple of them, is what is returned.
    """
    given = [*arrays, *options.values(), *_parts(options.get("bins"))]
    there = [array for array in given if foreign(array)]
    for array in there:
        if not in_memory(array):
            return _its_own(array, function, arrays, options, device)
    give = _giver(there[0])
    arrays = [_taken(array, device) for array in arrays]
    out = options.pop("out", None)
    options = {name: _taken(value, device) for name, value in options.items()}
    if out is not None:
        options["out"] = _target(function.__name__, out, device)
    if type(options.get("bins")) in (list, tuple):
        options["bins"] = [_taken(part, device) for part in options["bins"]]
    there = on_devices(*arrays, *options.values(), *_parts(options.get("out")))
    if there:
        from . import _on_device
        with _masu.OnStream(there):
            result = _on_device.call(function, arrays, options)
    else:
        result = function(*arrays, device=device, **options)
    if out is None:
        return _given(result, give)
    return out if not isinstance(result, tuple) else type(result)(*out)


def _parts(value):
    return value if type(value) in (list, tuple) else ()


def _target(name, out, device):
    """`taken` of what is written."""
    if type(out) is tuple:
        return tuple(_target(name, part, device) for part in out)
    if not foreign(out):
        return out
    if getattr(_library(out), "__name__", None) == "jax.numpy":
        raise TypeError(f"{name}: out must be writable, got an array of JAX, whose arrays are immutable")
    if hasattr(out, "is_neg") and out.is_neg():
        raise ValueError(f"{name}: out must not have the negative bit; use resolve_neg() first")
    return taken(out, device)


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


def _taken(value, device):
    return taken(value, device) if foreign(value) else value


def _its_own(array, function, arrays, options, device):
    """What the library of `array` computes where NumPy's function of the same name is called."""
    name, kind = function.__name__, type(array)
    told = f"{name}: {kind.__module__}.{kind.__qualname__} has functions of its own"
    if name == "_of_columns":
        name, arrays = "histogramdd", [arrays]
    if not hasattr(np, name) or device is not None:
        raise TypeError(f"{told}, and none with {'this name' if device is None else 'device'}; "
                        "convert it with numpy.asarray first")
    defaults = inspect.signature(function).parameters
    options = {key: value for key, value in options.items()
               if key not in defaults or value is not defaults[key].default}
    if name in ("histogram", "bincount") and "axis" in options:
        raise TypeError(f"{told}, and none with axis; convert it with numpy.asarray first")
    if name in _SUMS or options.get("weights") is not None:
        _fallback.warn(name, f"an array of {kind.__module__}")
    return getattr(np, name)(*arrays, **options)


_SUMS = frozenset(("sum", "cumsum", "dot", "mean", "var", "std"))


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
            if hasattr(array, "resolve_neg"):  # the memory, which DLPack tells alone, may have the other signs
                array = array.resolve_neg()
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
    if hasattr(type(array), "__array_function__"):
        raise TypeError(f"masu: {type(array).__name__} must be converted with numpy.asarray first")
    raise TypeError(f"masu: the memory of {type(array).__name__} must be the host's or a CUDA device's")


def placed(x, device):
    """`x` as a plain array or a DeviceArray, and the device on which work on it is done."""
    from ._lines import device_for
    if foreign(x):
        x = taken(x, device)
    if isinstance(x, _masu.DeviceArray):
        return x, x.device
    x = whole(x)
    return x, device_for(device, x.size)


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
    if isinstance(result, (np.ndarray, np.generic)):
        result = np.asarray(result)  # of a scalar, an array without dimensions
        if result.dtype.char not in _GIVEN:
            return result
        return give(result if result.flags.writeable and result.dtype.isnative else native(result).copy())
    if isinstance(result, _masu.DeviceArray):
        # PyTorch takes a capsule too, and then asks for no stream: masu's work is done.
        return give(result._dlpack(False)) if give.__module__ == "torch.utils.dlpack" else give(result)
    if isinstance(result, list):
        return [_given(part, give) for part in result]
    if isinstance(result, tuple):
        parts = [_given(part, give) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return result
