# SPDX-License-Identifier: Apache-2.0
"""Your own kernels: OpenCL C on OpenCL devices, CUDA C++ on CUDA devices."""
import operator
import re

import numpy as np

from . import _arrays, _device, _kinds, _masu

_VECTOR = re.compile(r"(?:const )?(u?char|u?short|u?int|u?long|half|float|double)(2|3|4|8|16)?$")
_SCALARS = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8",
            "ulong": "u8", "half": "f2", "float": "f4", "double": "f8"}


class LocalMemory:
    """A kernel argument: `bytes` bytes of local memory, a `__local` pointer in OpenCL C."""

    def __init__(self, bytes):
        self.bytes = operator.index(bytes)
        if self.bytes < 0:
            raise ValueError(f"LocalMemory: bytes must be at least 0, got {self.bytes}")

    def __repr__(self):
        return f"masu.LocalMemory({self.bytes})"


class Program:
    """Kernel source compiled for one device.

    `source` is OpenCL C on OpenCL devices and CUDA C++ on CUDA devices; `options` are the compiler's own. Compiled
    programs are kept in masu's cache. Raises RuntimeError with the compiler's log where the source does not compile, and
    TypeError on "cpu", which compiles no kernels. A program may be used by many threads.

    >>> import numpy as np
    >>> import masu
    >>> gpus = [d for d in masu.devices() if d.usable and d.kind == "opencl"]
    >>> if gpus:
    ...     program = masu.Program(gpus[0].id, "kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }")
    ...     x = np.arange(4, dtype=np.float32)
    ...     seconds = program.kernel("twice")(4, None, x)
    ... else:
    ...     x = np.float32([0, 2, 4, 6])
    >>> x
    array([0., 2., 4., 6.], dtype=float32)
    """

    def __init__(self, device, source, options=""):
        self.device = _device.resolve(device)
        self._program = _masu.Program.from_source(self.device, source, options)

    @property
    def kernel_names(self):
        """The names of its kernels."""
        return self._program.kernel_names

    @property
    def log(self):
        """What the compiler said, warnings too."""
        return self._program.log

    def kernel(self, name):
        """The kernel of that name. Raises ValueError, listing the names, where there is none."""
        return Kernel(self._program.kernel(name), self.device)

    def __repr__(self):
        return f"<masu.Program for {self.device.id}: {', '.join(self.kernel_names)}>"


class Kernel:
    """A compiled kernel: `kernel(global_size, local_size, *arguments)`. Used by one thread at a time."""

    def __init__(self, kernel, device):
        self._kernel = kernel
        self.device = device

    @property
    def name(self):
        return self._kernel.name

    @property
    def parameters(self):
        """What it wants, in order: `kind`, `type`, `name` and `bytes` of each; empty where the driver does not tell."""
        return self._kernel.parameters

    @property
    def max_work_group_size(self):
        return self._kernel.max_work_group_size

    def __repr__(self):
        return f"<masu.Kernel {self.name} for {self.device.id}>"

    def __call__(self, global_size, local_size, *arguments):
        """Runs the kernel, waits for it, and returns the seconds that it took on the device.

        `global_size` and `local_size` are in work-items, an int or 1 to 3 of them; `local_size` None leaves the choice to
        the device. An argument is

        - an array of a device, used where it is;
        - an array in host memory: copied to the device before the run, and back after it unless it is
          read-only. An array that is given twice is one there too, others are apart.
        - a number: of NumPy's (`np.float32(2)`), or of Python's where the kernel tells the type that it wants;
        - a tuple of numbers for a vector, likewise;
        - `masu.LocalMemory(bytes)`.

        Raises ValueError before anything runs for a wrong number, kind, type or size of arguments.
        """
        given = []
        back = []
        parameters = self.parameters
        for i, argument in enumerate(arguments):
            parameter = parameters[i] if i < len(parameters) else None
            if isinstance(argument, LocalMemory):
                given.append(argument.bytes)
            elif isinstance(argument, (bool, int, float, tuple, np.generic)):
                given.append(self._value(i, argument, parameter))
            elif _kinds.foreign(argument):
                memory = _arrays.taken(argument, self.device)
                given.append(memory if isinstance(memory, _masu.DeviceArray) else self._copied(i, memory, back))
            else:
                given.append(self._copied(i, np.asarray(argument), back))
        sizes = _sizes("global_size", global_size), [] if local_size is None else _sizes("local_size", local_size)
        with _masu.OnStream(_arrays.on_devices(*given)):
            seconds = self._kernel.launch(self.device, *sizes, given)
        for memory, array in back:
            array[...] = memory.get()
        return seconds

    def _copied(self, i, array, back):
        if not _kinds.has_dtype(array) or not array.dtype.isnative:
            raise TypeError(f"{self.name}: argument {i} must be of a native number dtype, got {array.dtype.str}")
        if array.flags.writeable:
            for memory, other in back:
                if np.may_share_memory(array, other):
                    if (array.dtype, array.__array_interface__["data"], array.strides) != (
                            other.dtype, other.__array_interface__["data"], other.strides) or array.shape != other.shape:
                        raise ValueError(f"{self.name}: argument {i} must be apart from the arrays before it, or one of them")
                    return memory
        memory = _arrays.to_device(array, self.device)
        if array.flags.writeable:
            back.append((memory, array))
        return memory

    def _value(self, i, argument, parameter):
        if isinstance(argument, np.generic):
            return np.ascontiguousarray(argument)
        known = _VECTOR.match(parameter.type) if parameter is not None else None
        if known is None:
            raise TypeError(f"{self.name}: argument {i} must be a number of NumPy's, as the kernel does not tell its type")
        width = int(known[2] or 1)
        if width != (len(argument) if isinstance(argument, tuple) else 1):
            raise ValueError(f"{self.name}: argument {i} must be {width} numbers for {parameter.type}, got {argument}")
        dtype = np.dtype(_SCALARS[known[1]])
        if dtype.kind != "f" and any(isinstance(n, (float, np.floating)) for n in np.array(argument, object).ravel()):
            raise TypeError(f"{self.name}: argument {i} must be of integers for {parameter.type}, got {argument}")
        return np.array(argument, dtype).reshape(-1)


def _sizes(name, sizes):
    try:
        found = [operator.index(size) for size in ([sizes] if np.ndim(sizes) == 0 else sizes)]
    except (TypeError, ValueError):
        raise TypeError(f"{name}: must be an int or 1 to 3 of them, got {sizes!r}") from None
    if not all(0 < size < 2**63 for size in found):
        raise ValueError(f"{name}: sizes must be at least 1 and below 2^63, got {sizes!r}")
    return found
