# SPDX-License-Identifier: Apache-2.0
"""What gpu_calls.py, gpu_counts.py and gpu_options.py have in common: data, the arrays of libraries, comparing, and running checks."""
import concurrent.futures
import functools
import os
import subprocess
import sys
import time
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
SIZES = [1, 1000, 4099, 65536, 300_007]
LARGE = (1 << 22) + 5
# Dtypes of which every size and call is checked. Most of the time kernels are compiled, and those of every dtype are the C++
# tests' matter.
WHOLE = ("u1", "i8", "f2", "f4")
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


def of_each(parts):
    """A decorator: the check is one for each of `parts`, its argument."""
    def with_parts(check):
        check.parts = tuple(parts)
        return check
    return with_parts


def run(names):
    """Runs the checks of a module whose names have one of the command's arguments in them; what the process returns.

    All of them run in processes of their own, some at a time: most of their time kernels are compiled.
    """
    checks = {}
    for name, check in names.items():
        if name.startswith("check_"):
            checks.update({f"{name} {part}": functools.partial(check, part) for part in check.parts}
                          if hasattr(check, "parts") else {name: check})
    wanted = [argument for argument in sys.argv[1:] if argument != "masu"]
    own = "masu" in sys.argv[1:]
    if not wanted and not own:
        return run_apart(checks)
    if own:
        LIBRARIES[:] = [OnDevice]
    kept, failed, ran = [], 0, 0
    for name, check in checks.items():
        if wanted and name not in wanted and not any(part in name for part in wanted if " " not in part):
            continue
        ran += 1
        start = time.monotonic()
        try:
            kept.append(check())
            synchronize()
            print(f"{name}: passed, {time.monotonic() - start:.1f} s", flush=True)
        except Exception:
            failed += 1
            print(f"{name}: FAILED\n{traceback.format_exc(limit=-3)}", flush=True)
            try:
                synchronize()
            except RuntimeError as error:
                print(f"the device is lost: {error}", flush=True)
                break
    print(f"{ran} checks, {failed} failed")
    return 1 if failed else 0


def run_apart(checks):
    """Each check in a process of its own."""
    environment = {"MASU_THREADS": "2", **os.environ}
    def one(name):
        done = subprocess.run([sys.executable, sys.argv[0], name], capture_output=True, text=True, env=environment)
        print((done.stdout + done.stderr).strip().removesuffix("1 checks, 0 failed").strip(), flush=True)
        return done.returncode
    with concurrent.futures.ThreadPoolExecutor(min(len(checks), os.cpu_count(), 16)) as threads:
        failed = sum(code != 0 for code in threads.map(one, checks))
    print(f"{len(checks)} checks, {failed} failed")
    return 1 if failed else 0


def synchronize():
    if Torch in LIBRARIES:
        torch.cuda.synchronize()
