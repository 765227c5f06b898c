# SPDX-License-Identifier: Apache-2.0
"""Run by test_cuda_stand_in.py with stand-ins for the CUDA driver, NVRTC and a library of tensors: what was compiled quickly is
launched until what is compiled in full is there, which waits for a file.
"""
import ctypes
import os
import pathlib
import subprocess

import fake_tensors
import numpy as np

import masu

DRIVER = ctypes.CDLL(os.environ["MASU_CUDA_LIBRARY"])
DRIVER.fake_cuda_last_module.restype = ctypes.c_size_t
GATE = pathlib.Path(os.environ["FAKE_NVRTC_GATE"])
OLD = "FAKE_NVRTC_OLD" in os.environ  # all is compiled in full
x = fake_tensors.Tensor((1 << 18,), 2, 32, masu.to_device(np.zeros(1 << 18, "f4"), "cuda")._address)


def module_of_a_call():
    masu.sum(x)
    return DRIVER.fake_cuda_last_module()


if OLD:
    GATE.touch()
first = module_of_a_call()  # recorded
assert module_of_a_call() == first  # repeated
if OLD:
    assert len(list((GATE.parent / "masu").iterdir())) == 1
else:
    # A captured graph holds the full kernel: the capture waits for it.
    with subprocess.Popen(["sh", "-c", 'sleep 0.2; : >"$0"', GATE]):
        fake_tensors.set_stream(0x9000)
        captured = module_of_a_call()
        assert GATE.exists() and captured != first
    fake_tensors.set_stream(0)
    assert module_of_a_call() == captured
print("done")
