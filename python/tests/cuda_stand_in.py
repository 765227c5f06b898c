# SPDX-License-Identifier: Apache-2.0
"""Run by test_cuda_stand_in.py with a stand-in for the CUDA driver, whose device memory is the host's.

Arrays that other libraries have on a device come in and go out. Kernels cannot run there.
"""
import ctypes
import gc
import os
import pathlib
import sys
import types
import weakref

import numpy as np

import masu
from masu import _arrays, _masu

DRIVER = ctypes.CDLL(pathlib.Path(os.environ["LD_LIBRARY_PATH"]) / "libcuda.so.1")
DRIVER.fake_cuda_synchronized.restype = ctypes.c_size_t
DATA = np.arange(6, dtype="f4").reshape(2, 3)
there = masu.to_device(DATA, "cuda")


def fails(error, text, call):
    try:
        call()
    except error as caught:
        assert text in str(caught), caught
    else:
        raise AssertionError(f"no {error.__name__} with {text}")


class Tensor:
    """Of a library that speaks DLPack: the memory is masu's own, the protocol as the library would have it."""

    __module__ = "tensors.core"

    def __init__(self, memory, versioned=True):
        self.memory, self.versioned, self.asked = memory, versioned, []

    def __dlpack_device__(self):
        return self.memory.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **versions):
        if versions and not self.versioned:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.asked.append(stream)
        return self.memory.__dlpack__(stream=stream, **versions)


tensors = types.ModuleType("tensors")
tensors.from_dlpack = lambda array: Tensor(masu.DeviceArray(array.__dlpack__(stream=None)))
sys.modules["tensors"] = tensors

# DLPack in: without a copy, after the work of the legacy default stream, kept alive and let go.
for versioned in (True, False):
    tensor = Tensor(masu.to_device(DATA, "cuda"), versioned)
    taken = _arrays.taken(tensor, None)
    assert tensor.asked == [1] and taken._stream == 1
    assert taken._address == tensor.memory._address and (taken.get() == DATA).all() and taken.device.id == "cuda:0"
    watch = weakref.ref(tensor.memory)
    del tensor
    gc.collect()
    assert watch() is not None and (taken.get() == DATA).all()
    del taken
    gc.collect()
    assert watch() is None
for dtype in "? b B h H i I q Q e f d".split():
    data = np.array([0, 1, 1], dtype)
    taken = masu.DeviceArray(masu.to_device(data, "cuda").__dlpack__(max_version=(1, 0)))
    assert taken.dtype == data.dtype and (taken.get() == data).all()
capsule = there.__dlpack__()
assert masu.DeviceArray(capsule)._stream is None and DRIVER.fake_cuda_synchronized() == 1
fails(TypeError, "used", lambda: masu.DeviceArray(capsule))
fails(TypeError, "", lambda: masu.DeviceArray(5))
there.__dlpack__(), there.__dlpack__(max_version=(1, 2))  # capsules that nobody takes
fails(BufferError, "without a copy", lambda: there.__dlpack__(copy=True))
fails(BufferError, "without a copy", lambda: there.__dlpack__(dl_device=(1, 0)))

# Results go out in kind.
empty = masu.sort(Tensor(masu.to_device(DATA[:0], "cuda")))
assert type(empty) is Tensor and empty.memory.shape == (0, 3)
counts, edges = masu.histogram(Tensor(masu.to_device(DATA[:0], "cuda")), 4, (0, 1))
assert type(counts) is type(edges) is Tensor
assert counts.memory.get().tolist() == [0] * 4 and edges.memory.get().tolist() == np.linspace(0, 1, 5).tolist()


class Interface:
    """Of a library that speaks __cuda_array_interface__ alone."""

    def __init__(self, memory, **changes):
        self.memory = memory
        self.__cuda_array_interface__ = {**memory.__cuda_array_interface__, **changes}


about = there.__cuda_array_interface__
assert about["shape"] == (2, 3) and about["typestr"] == "<f4" and about["strides"] is None and about["version"] == 3
assert about["data"] == (there._address, False) and about["stream"] is None
for stream in (None, 1, 2, 4096):
    taken = _arrays.taken(Interface(there, stream=stream, strides=(12, 4)), None)
    assert taken._address == there._address and taken._stream == stream
    with _masu.OnStream([there, taken]):
        assert (taken.get() == DATA).all()  # reads on that stream, and waits for it
        assert stream is None or DRIVER.fake_cuda_synchronized() == stream
    there.get()
    assert DRIVER.fake_cuda_synchronized() not in (1, 2, 4096)
# One call runs on one stream: the first array's. Other arrays' streams are waited for, where they are others.
one, same, other = (_arrays.taken(Interface(there, stream=stream), None) for stream in (4096, 4096, 8192))
for arrays, waited in (([one, same], False), ([one, other], True)):
    there.get()
    with _masu.OnStream(arrays):
        assert (DRIVER.fake_cuda_synchronized() == 8192) == waited
        with _masu.OnStream([there]):  # has none of its own
            one.get()
            assert DRIVER.fake_cuda_synchronized() == 4096


class StreamedTensor(Tensor):
    """Of a library that tells its current stream as PyTorch and CuPy do."""

    __module__ = "torch.core"


for name, current in (("torch", lambda ordinal: types.SimpleNamespace(cuda_stream=4096 + ordinal)),
                      ("cupy", lambda ordinal: types.SimpleNamespace(ptr=4096 + ordinal))):
    library = types.ModuleType(name)
    library.from_dlpack = tensors.from_dlpack
    library.cuda = types.SimpleNamespace(current_stream=current, get_current_stream=current)
    sys.modules[name], StreamedTensor.__module__ = library, f"{name}.core"
    tensor = StreamedTensor(masu.to_device(DATA, "cuda"))
    taken = _arrays.taken(tensor, None)
    assert tensor.asked == [-1] and taken._stream == 4096
    del sys.modules[name]
read_only = _arrays.taken(Interface(there, data=(there._address, True)), None)
assert read_only.__cuda_array_interface__["data"][1]
fails(BufferError, "read-only", read_only.__dlpack__)
assert masu.DeviceArray(read_only.__dlpack__(max_version=(1, 0)))._read_only
assert type(masu.sort(Interface(masu.to_device(DATA[:0], "cuda")))) is masu.DeviceArray
for changes, error, text in (({"strides": (4, 8)}, ValueError, "C-contiguous"), ({"mask": there}, TypeError, "masked"),
                             ({"typestr": "<c8"}, TypeError, "complex64"), ({"stream": 0}, ValueError, "stream"),
                             ({"data": (there._address + 2, False)}, ValueError, "aligned"),
                             ({"typestr": ">f4"}, TypeError, "byte order"), ({"shape": (-1,)}, ValueError, "lengths")):
    fails(error, text, lambda: masu.sort(Interface(there, **changes)))

# A forked child gets an error from the driver's device and from what is on it, and frees that without the driver.
child = os.fork()
if child == 0:
    for call in (lambda: masu.to_device(DATA, "cuda"), there.get, lambda: masu.Device("cuda:0")):
        fails(RuntimeError, "spawn", call)
    del there
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0 and there.get().tolist() == DATA.tolist()

print("done")
