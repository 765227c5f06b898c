# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries on a CUDA device, with a stand-in for the driver: no GPU is needed, and no kernel runs."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
STAND_IN = HERE.parents[1] / "tests/fake_cuda/fake_cuda.c"


def test_arrays_come_in_and_go_out(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not STAND_IN.exists():
        pytest.skip("needs a C compiler and the source tree")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1", STAND_IN], check=True)
    done = subprocess.run([sys.executable, HERE / "cuda_stand_in.py"], capture_output=True, text=True, timeout=100,
                          env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stderr
