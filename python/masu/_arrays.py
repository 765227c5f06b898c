# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library in, results of the same library out."""
import functools
import inspect
import sys

import numpy as np

from . import _device, _device_array, _fallback, _host, _kinds, _masu, _on_device
from ._kinds import NATIVE, PLAIN, as_numpy, foreign, holds_lacking, in_memory, lacking, native, numpy_dtype, whole

_GIVEN = NATIVE | {14, 15}  # what DLPack has: complex64 and complex128 too
_HOST_MEMORY = frozenset((1, 3, 11))  # DLPack's numbers: the host's, and what CUDA and ROCm lock in it
_CUDA_MEMORY = frozenset((2, 13))
_LEGACY_STREAM = 1
_SEQUENCES = ("bins", "sample")  # arguments that may be several arrays


def adapter(device, *arrays):
    """The module that takes the arrays: `_host`, `_on_device` in a call of `in_kind`, or None where the call is for `in_kind`."""
    for array in arrays:
        kind = type(array)
        if (kind not in PLAIN or kind is np.ndarray and array.dtype.num > 255) and (foreign(array) or _kinds.has_labels(array)):
            return device if device is _on_device else None
    return _host


def in_kind(function, given, first=1):
    """Calls a public function again, with its locals() `given`, of which some are arrays of other libraries.
    Results are arrays of the first one's library.

    In host memory they become NumPy arrays without a copy. On a device they stay where they are. The function is called
    with `_on_device` for its device, on the stream that their library uses now. One of its `first` arguments must be
    there. A library whose arrays are not memory (Dask, sparse) has NumPy's functions of its own, and its function is
    called. `out`, an array or a tuple of them, is what is returned.
    """
    x, *names = _parameters(function)
    device, out, target = given["device"], given.get("out"), None
    options = {name: given[name] for name in (x, *names) if name != "out"}
    if any(map(_kinds.has_labels, _parts(options))):
        bare = _mapped(_bare, options)
        result = function(bare.pop(x), **bare, **({} if out is None else {"out": out}), device=device)
        return result if out is not None or function.__name__ not in _LABELLED else _kinds.with_labels(
            given[x], result, options["axis"], options.get("keepdims") in (False, np._NoValue, None))
    if any(map(_strided, _parts(options))):
        dense = _mapped(_contiguous, options)
        return function(dense.pop(x), **dense, **({} if out is None else {"out": out}), device=device)
    if "dtype" in options:
        options["dtype"] = numpy_dtype(function.__name__, options["dtype"])
    there = [array for array in (*_parts(options), *(out if type(out) is tuple else (out,))) if foreign(array)]
    for array in there:
        if not in_memory(array):
            options |= {} if out is None else {"out": out}
            return _its_own(array, function, [options.pop(name) for name in [*options][:first]], options, device)
    give = (None if isinstance(there[0], _masu.DeviceArray) else to_numpy if holds_lacking(there[0]) else
            getattr(_library(there[0]), "from_dlpack", None))
    rounded = lacking(getattr(given[x], "dtype", None)) if function.__name__ in _ROUNDED else None
    options = _mapped(lambda value: read(value, device, function.__name__) if foreign(value) else value, options)
    if out is not None:
        target = _target(function.__name__, out, device)
    inputs = on_devices(*_parts(options))
    there = inputs + on_devices(*(target if type(target) is tuple else (target,)))
    if there:
        with _masu.OnStream(there):
            _check_there(function, options, first, there)
            result = function(options.pop(x), **options, device=_on_device)
            if rounded:
                result = _rounded(result, rounded)
            if out is not None:
                targets = target if type(target) is tuple else (target,)
                if give is to_numpy:
                    targets = [_here(one, there[0].device) for one in targets]
                _on_device.fill(function.__name__, targets, result, inputs)
    else:
        if out is not None:
            options["out"] = target
        result = function(options.pop(x), **options, device=device)
    if out is None:
        return _given(result, give)
    return out if not isinstance(result, tuple) else type(result)(*out)


def _strided(array):
    """Whether it is an array of PyTorch or CuPy on a GPU that is not C-contiguous."""
    if getattr(array, "is_cuda", False) is True:
        return not array.is_contiguous()
    return type(array).__module__.partition(".")[0] == "cupy" and hasattr(array, "flags") and not array.flags.c_contiguous


def _contiguous(array):
    """A strided array's copy by its own library, on the stream to which that gives its work."""
    return (array.copy("C") if hasattr(array, "copy") else array.contiguous()) if _strided(array) else array


#: Functions whose results keep the labels of the data, as NumPy's do.
_LABELLED = frozenset(("sum", "mean", "var", "std", "min", "max", "cumsum"))


def _bare(array):
    return as_numpy(array) if _kinds.has_labels(array) else array


@functools.cache
def _parameters(function):
    """The names of a function's parameters, but for `device`, the last one."""
    code = inspect.unwrap(function).__code__
    return code.co_varnames[:code.co_argcount + code.co_kwonlyargcount - 1]


def _mapped(change, options):
    """The options after a change of each that may be an array."""
    return {name: list(map(change, value)) if name in _SEQUENCES and type(value) in (list, tuple) else change(value)
            for name, value in options.items()}


def _parts(options):
    """All that may be an array."""
    parts = [*options.values()]
    for name in _SEQUENCES:
        if type(options.get(name)) in (list, tuple):
            parts += options[name]
    return parts


def _check_there(function, options, first, there):
    """That the arrays are on one device, one of the `first` options among them; where the others of these are no arrays, they
    become some."""
    name = function.__name__
    if len(there) > 1 and len(devices := {array.device for array in there}) > 1:
        raise ValueError(f"{name}: the arrays must be on one device, got {' and '.join(d.id for d in devices)}")
    arrays = {one: options[one] for one in [*options][:first]}
    if not on_devices(*_parts(arrays)):
        _on_device.numpys(name, None, None)
    for one, array in arrays.items():
        if one not in _SEQUENCES and not isinstance(array, _masu.DeviceArray):
            options[one] = np.asarray(array)


def _here(out, device):
    """An array of NumPy's that is written beside arrays in host memory (of a dtype that NumPy lacks), as one of these."""
    plain = type(out) is np.ndarray and device.kind == "cpu" and out.flags.c_contiguous and out.dtype.num in NATIVE and out.dtype.isnative
    return _device_array.in_memory(out, device) if plain else out


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
    return taken(out, device, name)


def read(array, device, name="masu"):
    """`taken` of what is only read. Truth values on a device become bytes 0 and 1. What NumPy lacks becomes float32
    where the computation is in float32, and so do floats of 8 bits in the functions that take them."""
    if not isinstance(array, _masu.DeviceArray) and name in _TAKE_FLOAT8 and hasattr(array, "view") and (form := _kinds.float8_of(array)):
        return numbers(taken(_codes(array), device, name), form, device)
    found = taken(_contiguous(array), device, name)
    if not isinstance(found, _masu.DeviceArray):
        return found
    if name in _BY_FLOATS and lacking(found.dtype):
        with _masu.OnStream([found]):
            return _on_device.converted(found, _FLOAT)
    if found is array or found._dtype != "bool" or not found.size:
        return found
    with _masu.OnStream([found]):
        return _on_device.truths(found)


_FLOAT = np.dtype(np.float32)
#: Functions that see what NumPy lacks (bfloat16) as the numbers in float32 that they are; those that round their results to it, once.
_ROUNDED = frozenset(("quantile", "nanquantile", "percentile", "nanpercentile", "median", "nanmedian"))
_BY_FLOATS = _ROUNDED | {"histogram", "histogram_bin_edges", "histogram2d", "histogramdd", "digitize", "bincount", "Histogram",
                         "RowHistograms", "JointHistogram", "WeightedHistogram"}


_TAKE_FLOAT8 = frozenset(("convert", "histogram", "histogram_bin_edges", "digitize", "Histogram"))


def _codes(array):
    """Floats of 8 bits as the bytes that they are, in the same memory."""
    return array.view((_library(array) or np).uint8)


def numbers(codes, form, device):
    """Floats of 8 bits, given as bytes, in float32, which holds each."""
    if isinstance(codes, _masu.DeviceArray):
        with _masu.OnStream([codes]):
            result = _on_device.empty(codes, "f32")
            if codes.size:
                _masu.convert(codes, result, codes.device, form)
        return result
    codes = native(np.asarray(codes))
    result = np.empty(codes.shape, _FLOAT)
    if codes.size:
        _masu.convert(codes.reshape(-1), result.reshape(-1), _device.device_for(device, codes), form)
    return result


def convert(x, dtype, *, format=None, device=None):
    """The elements of `x` in another dtype: ``numpy.asarray(x).astype(dtype)``, and of floats of 8 bits.

    Parameters
    ----------
    x : array_like
        The data, of any shape; also of the dtypes ``float8_e4m3fn`` and ``float8_e5m2`` of ml_dtypes, PyTorch and JAX.
    dtype : dtype
        One of bool, an integer, bfloat16 or float16 to float64.
    format : {"float8_e4m3fn", "float8_e5m2"}, optional
        Of ``x`` of uint8: the bytes are the codes of such numbers.
    device : str or masu.Device, optional
        Where to convert codes of the host; ``"cpu"`` unless MASU_DEVICE says otherwise.

    Returns
    -------
    array
        Of the shape of ``x`` and its library: where ``x`` has the dtype, it may be ``x`` itself.

    Floats are rounded once, to nearest even; on a device integers are taken modulo the range. Numbers of 8 bits go by way
    of float32, which holds each exactly. Raises TypeError for another dtype or format, and for a format where ``x`` is not of
    uint8. ``histogram``, ``histogram_bin_edges``, ``digitize`` and ``Histogram`` take tensors of 8 bits too; other functions
    need them converted. Arrays of ml_dtypes are NumPy's to compute with.

    >>> import numpy as np, masu
    >>> masu.convert(np.uint8([0x38, 0xc0]), "float32", format="float8_e4m3fn")
    array([ 1., -2.], dtype=float32)
    """
    dtype = numpy_dtype("convert", dtype)
    _kinds.name_of(dtype)
    if (on := adapter(device, x)) is None:
        return in_kind(convert, locals())
    x = on.plain(x)
    if format is None and (format := _kinds.float8_of(x)):
        x = _codes(x)
    if format is not None:
        if format not in _kinds.FLOAT8 or x.dtype != np.uint8:
            raise TypeError("convert: format must be float8_e4m3fn or float8_e5m2, of data of uint8, "
                            f"got {format} of data of {x.dtype}")
        x = numbers(x, format, device)
    return on.converted(x, dtype)


def _rounded(result, dtype):
    """Results in float32 as of a dtype that NumPy lacks."""
    if isinstance(result, _masu.DeviceArray) and result._dtype == "f32":
        return _on_device.converted(result, dtype)
    return result


def _its_own(array, function, arrays, options, device):
    """What the library of `array` computes where NumPy's function of the same name is called."""
    name, kind = function.__name__, type(array)
    has_own = f"{name}: {kind.__module__}.{kind.__qualname__} has functions of its own"
    if not hasattr(np, name) or device is not None:
        raise TypeError(f"{has_own}, and none with {'this name' if device is None else 'device'}; "
                        "convert it with numpy.asarray first")
    defaults = inspect.signature(function).parameters
    options = {key: value for key, value in options.items()
               if key not in defaults or value is not defaults[key].default}
    if name in ("histogram", "bincount") and "axis" in options:
        raise TypeError(f"{has_own}, and none with axis; convert it with numpy.asarray first")
    if name in _SUMS or options.get("weights") is not None:
        _fallback.warn(name, f"an array of {kind.__module__}")
    return getattr(np, name)(*arrays, **options)


_SUMS = frozenset(("sum", "cumsum", "dot", "mean", "var", "std"))


def on_devices(*arrays):
    """Those in device memory."""
    return [array for array in arrays if isinstance(array, _masu.DeviceArray)]


def taken(array, device, name="masu"):
    """Another library's array as a NumPy array, or, on a device, as a DeviceArray; without a copy. `name`: the function that
    an error names.

    The library's work on a DeviceArray may be under way: what uses it stands in `with _masu.OnStream(arrays)`.
    """
    if isinstance(array, _masu.DeviceArray):
        return array
    try:
        return _memory(array, device)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        if (way := _way_out(array)) is None:
            raise
        raise Unusable(f"{name}: the {type(array).__name__} {way} ({error})") from error


class Unusable(TypeError, BufferError):
    """Raised for an array whose library does not give its memory: a TypeError, and DLPack's BufferError."""


_WAYS = {  # of attributes that are True
    "is_nested": "must not be nested; use unbind(), or torch.nested.to_padded_tensor, first",
    "is_meta": "must hold data, got one on the device meta",
    "is_quantized": "must not be quantized; use dequantize() first",
    "requires_grad": "must not require a gradient; use detach() first",
}


def _way_out(array):
    """In words, the condition that an array fails where a library as PyTorch does not give its memory; None where it is
    unknown."""
    for attribute, way in _WAYS.items():
        if getattr(array, attribute, False) is True:
            return way
    layout = str(getattr(array, "layout", ""))
    if layout.startswith("torch.") and not layout.endswith("strided"):
        return f"must be dense, got the layout {layout}; use to_dense() first"
    if hasattr(array, "resolve_conj") and array.is_conj():
        return "must not have the conjugate bit; use resolve_conj() first"
    dtype = str(getattr(array, "dtype", ""))
    if dtype.startswith("torch.") and ("float" in dtype or dtype.endswith(("bits8", "int4"))) and not hasattr(np, dtype[6:]):
        return f"must be of a dtype that NumPy has, got {dtype}; use float() or masu.convert first"
    return None


def to_numpy(result):
    """A result as NumPy gives it."""
    found = result.get() if isinstance(result, _masu.DeviceArray) else result
    return found if found.shape else found[()]


def _host_memory(array, device):
    """An array in host memory as one of NumPy's, or, of a dtype that NumPy lacks, as a DeviceArray."""
    if not isinstance(array, (np.ndarray, np.generic)):
        if str(getattr(array, "dtype", None)).startswith("torch.") and lacking(array.dtype):
            return _device_array.DeviceArray(array.contiguous().__dlpack__())
        array = np.asarray(as_numpy(array)) if hasattr(type(array), "__array__") else np.from_dlpack(array)
    if not holds_lacking(array):
        return array
    return _device_array.in_memory(native(np.asarray(array)), _device.device_for(device, array))


def _memory(array, device):
    if isinstance(array, (np.ndarray, np.generic)):
        return _host_memory(array, device)
    if hasattr(type(array), "__dlpack__"):
        try:
            memory, ordinal = array.__dlpack_device__()
        except (TypeError, BufferError):  # as pyarrow says of an array with nulls
            if not hasattr(type(array), "__array__"):
                raise
            return np.asarray(as_numpy(array))
        if memory in _HOST_MEMORY:
            return _host_memory(array, device)
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


def to_device(array, device):
    """Copies an array to a device, as a `DeviceArray`.

    `device` is a name, a `masu.Device` or an entry of `masu.devices()`. Raises TypeError for a dtype that masu lacks, and ValueError for masked elements.
    """
    device = _device.resolve(device)
    if foreign(array) and not isinstance(array, _device_array.DeviceArray):
        array = taken(array, None, "to_device")
    return _device_array.upload(array.get() if isinstance(array, _device_array.DeviceArray) else whole(array), device)


def placed(x, device, name="masu"):
    """`x` as a plain array or a DeviceArray, and the device on which work on it is done. `name`: what an error names."""
    if foreign(x):
        x = read(x, device, name)
    if isinstance(x, _masu.DeviceArray):
        return x, x.device
    x = whole(x)
    return x, _device.device_for(device, x)


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


def _is_narrower(given, dtype):
    """Whether an array has elements of less bytes than the dtype; False for one without a dtype."""
    if dtype.itemsize < 8:
        return False
    name = str(getattr(given, "dtype", dtype)).rpartition(".")[2]
    return name != dtype.name and name.rstrip("0123456789") == dtype.name.rstrip("0123456789")


def _given(result, give):
    """A result as an array that `give` makes. It stays as it is where its library has a narrower dtype only, as
    JAX without jax_enable_x64."""
    if give is None:
        return result
    if isinstance(result, (np.ndarray, np.generic)):
        if give is to_numpy:
            return result
        array = np.asarray(result)  # of a scalar, an array without dimensions
        if array.dtype.num not in _GIVEN:
            return array
        given = give(array if array.flags.writeable and array.dtype.isnative else native(array).copy())
        return result if _is_narrower(given, array.dtype) else given
    if isinstance(result, _masu.DeviceArray):
        # PyTorch takes a capsule too, and then asks for no stream: masu's work is done.
        given = give(result._dlpack(False)) if give.__module__ == "torch.utils.dlpack" else give(result)
        return result if _is_narrower(given, result.dtype) else given
    if isinstance(result, list):
        return [_given(part, give) for part in result]
    if isinstance(result, tuple):
        parts = [_given(part, give) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return result
