# SPDX-License-Identifier: Apache-2.0
"""What gpu_calls.py and gpu_options.py have in common: data, the arrays of libraries, comparing, and running checks."""
import sys
import traceback

import numpy as np

import masu

try:
    import torch
except ImportError:
    torch = None
try:
    import cupy
except ImportError:
    cupy = None

random = np.random.default_rng(11)
DTYPES = "bool i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8".split()
SIZES = [1, 2, 31, 1000, 1024, 4099, 65536, 300_007, 1 << 20, (1 << 22) + 5]
UNSIGNED = {"u2", "u4", "u8"}  # whose tensors PyTorch has and does little with


def host(dtype, count):
    kind = np.dtype(dtype).kind
    if kind == "f":
        data = random.standard_normal(count).astype(dtype)
        if count > 100:
            data[random.integers(0, count, 5)] = -0.0
            data[random.integers(0, count, 3)] = 0.0
        return data
    if kind == "b":
        return random.integers(0, 2, count).astype(bool)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, count, dtype=dtype, endpoint=True)


class Torch:
    name = "torch"

    @staticmethod
    def give(array):
        return torch.from_numpy(np.array(array)).cuda()

    @staticmethod
    def get(array):
        assert type(array) is torch.Tensor and array.is_cuda, type(array)
        return array.cpu().numpy()


class CuPy:
    name = "cupy"

    @staticmethod
    def give(array):
        return cupy.asarray(array)

    @staticmethod
    def get(array):
        assert type(array) is cupy.ndarray, type(array)
        return array.get()


class OnDevice:
    """masu's own arrays: what is checked, and the checks, where there is no GPU."""

    name = "masu"

    @staticmethod
    def give(array):
        return masu.to_device(array, "cpu")

    @staticmethod
    def get(array):
        assert type(array) is masu.DeviceArray, type(array)
        return array.get()


LIBRARIES = ([Torch] if torch is not None and torch.cuda.is_available() else []) + ([CuPy] if cupy is not None else [])


def same(got, want):
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, got.shape, want.dtype, want.shape)
    if got.tobytes() != want.tobytes():
        differ = np.flatnonzero(got.reshape(-1).view(f"u{got.itemsize}") != want.reshape(-1).view(f"u{got.itemsize}"))
        raise AssertionError(f"{differ.size} of {got.size} differ, at {differ[:3]}: {got.reshape(-1)[differ[:3]]} "
                             f"for {want.reshape(-1)[differ[:3]]}")


def each(result):
    return result if isinstance(result, tuple) else (result,)


def run(checks):
    """Runs those whose names have one of the command's arguments in them; what the process returns."""
    wanted = [argument for argument in sys.argv[1:] if argument != "masu"]
    if "masu" in sys.argv[1:]:
        LIBRARIES[:] = [OnDevice]
    kept, failed, ran = [], 0, 0
    for check in checks:
        if wanted and not any(part in check.__name__ for part in wanted):
            continue
        ran += 1
        try:
            kept.append(check())
            synchronize()
            print(f"{check.__name__}: passed", flush=True)
        except Exception:
            failed += 1
            print(f"{check.__name__}: FAILED\n{traceback.format_exc(limit=-3)}", flush=True)
            try:
                synchronize()
            except RuntimeError as error:
                print(f"the device is lost: {error}", flush=True)
                break
    print(f"{ran} checks, {failed} failed")
    return 1 if failed else 0


def synchronize():
    if Torch in LIBRARIES:
        torch.cuda.synchronize()
