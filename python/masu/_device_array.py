# SPDX-License-Identifier: Apache-2.0
"""Arrays in device memory."""
import functools
import math
import operator

import numpy as np

from . import _device, _kinds, _masu

_HOST, _CUDA = 1, 2  # DLPack's numbers of memory


dtype_name = functools.cache(_kinds.name_of)  # masu's name of a dtype; TypeError where masu lacks it


class DeviceArray(_masu.DeviceArray):
    """A C-contiguous array in the memory of a device: what masu's functions give for arrays of a device.

    `DeviceArray(device, dtype, shape)` is uninitialised; `masu.to_device(array, device)` copies an array there.
    It has `__dlpack__` on CUDA devices and on the CPU, and `__cuda_array_interface__` on CUDA devices. So
    PyTorch, CuPy, JAX and Numba take it without a copy; `numpy.asarray` copies it to the host. Its work is done
    when the call that made it returns.

    >>> import numpy as np
    >>> import masu
    >>> on_device = masu.to_device(np.float32([3, 1, 2]), "cpu")
    >>> on_device
    masu.DeviceArray(shape=(3,), dtype=float32, device="cpu")
    >>> np.asarray(masu.sort(on_device))
    array([1., 2., 3.], dtype=float32)
    """

    def __init__(self, device, dtype=None, shape=None, *more, stream=None):
        if dtype is None:
            super().__init__(device, stream)
        elif isinstance(device, _masu.DeviceArray):
            super().__init__(device, dtype, shape, *more)
        else:
            device = _device.resolve(device)
            super().__init__(device, dtype if type(dtype) is str and dtype in _kinds.DTYPES else dtype_name(dtype), shape, *more)

    @property
    def dtype(self):
        return _kinds.DTYPES[self._dtype]

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self):
        return f'masu.DeviceArray(shape={self.shape}, dtype={self.dtype}, device="{self.device.id}")'

    def reshape(self, *shape):
        """The same memory with another shape; one length may be -1."""
        shape = [operator.index(n) for n in (shape[0] if len(shape) == 1 and np.ndim(shape[0]) else shape)]
        if shape.count(-1) == 1:
            rest = -math.prod(shape)
            shape[shape.index(-1)] = self.size // rest if rest else 0
        if min(shape, default=0) < 0 or math.prod(shape) != self.size:
            raise ValueError(f"reshape: the number of elements must stay {self.size}, got the shape {tuple(shape)}")
        return DeviceArray(self, shape, self)

    def rows(self):
        """The parts along the first axis, in the same memory."""
        each = self.size // max(len(self), 1)
        return [DeviceArray(self, self.shape[1:], self, i * each) for i in range(len(self))]

    def get(self):
        """A copy in host memory, as a NumPy array."""
        result = np.empty(self.shape, self.dtype)
        self._read(_words(result))
        return result

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("DeviceArray: an array on a device cannot be taken without a copy")
        result = self.get()
        return result if dtype is None else result.astype(dtype, copy=False)

    def __dlpack_device__(self):
        if self.device.kind == "opencl":
            raise BufferError(f"__dlpack__: the memory must be the host's or a CUDA device's, got {self.device.id}")
        return (_HOST, 0) if self.device.kind == "cpu" else (_CUDA, self._ordinal)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        here = self.__dlpack_device__()
        if copy or dl_device is not None and tuple(dl_device) != here:
            raise BufferError("__dlpack__: the memory is given as it is, without a copy")
        return self._dlpack(max_version is not None and max_version[0] >= 1)

    @property
    def __cuda_array_interface__(self):
        if self.device.kind != "cuda":
            raise AttributeError(f"__cuda_array_interface__: the memory must be a CUDA device's, got {self.device.id}")
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self._address if self.size else 0,
                self._read_only), "strides": None, "version": 3, "stream": None}


def _words(array):
    """An array of ml_dtypes as the words that its numbers are; any other as it is."""
    return array.view(f"u{array.itemsize}") if array.dtype.num > 255 else array


def upload(data, device):
    """A NumPy array, or a number, in the memory of a device."""
    data = np.asarray(data)
    name = dtype_name(data.dtype)
    data = np.require(data, data.dtype.newbyteorder("="), ["C", "A"])
    result = DeviceArray(device, name, data.shape)
    if data.size:
        result._write(_words(data))
    return result


def in_memory(a, device):
    """A contiguous, native array of NumPy's in the memory of a device: of the CPU where it is, without a copy."""
    if device.kind != "cpu":
        return upload(a, device)
    return DeviceArray(device, dtype_name(a.dtype), a.shape, a.__array_interface__["data"][0], not a.flags.writeable, None, a)


def from_cuda_interface(array, device=None):
    """The memory that `__cuda_array_interface__` (versions 2 and 3) names; its stream becomes the array's."""
    about = array.__cuda_array_interface__
    if about.get("mask") is not None:
        raise TypeError("masu: a masked array on a device is not supported")
    dtype = np.dtype(about["typestr"])
    name = dtype_name(dtype)
    if not dtype.isnative:
        raise TypeError(f"masu: an array on a device must have native byte order, got {dtype.str}")
    shape = tuple(about["shape"])
    address, read_only = about["data"]
    strides = about.get("strides")
    size = int(np.prod(shape, dtype=object))
    if strides is not None and size:
        expected = dtype.itemsize
        for length, stride in zip(reversed(shape), reversed(strides)):
            if length != 1 and stride != expected:
                raise ValueError("masu: an array on a device must be C-contiguous; make a contiguous copy of it first")
            expected *= length
    stream = about.get("stream")
    if stream == 0:
        raise ValueError("masu: __cuda_array_interface__: the stream must not be 0, got 0")
    device = _device.resolve("cuda") if device is None else device
    if not size:
        return DeviceArray(device, name, shape)
    return DeviceArray(device, name, shape, address, bool(read_only), stream, array)
