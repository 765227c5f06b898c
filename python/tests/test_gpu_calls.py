# SPDX-License-Identifier: Apache-2.0
"""Calls on arrays in a GPU's memory that only enqueue; skipped where there is no GPU or no PyTorch."""
import pathlib
import subprocess
import sys

import pytest


def test_calls_on_a_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA device")
    script = pathlib.Path(__file__).with_name("gpu_calls.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
