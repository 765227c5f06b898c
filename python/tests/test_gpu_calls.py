# SPDX-License-Identifier: Apache-2.0
"""Calls on arrays in a GPU's memory, skipped where there is no GPU or no PyTorch; their checks on masu's own arrays too."""
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


def run(script, *arguments):
    done = subprocess.run([sys.executable, HERE / script, *arguments], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("script", ["gpu_calls.py", "gpu_counts.py", "gpu_options.py", "gpu_several.py"])
def test_calls_on_a_gpu(script):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA device")
    run(script)


def test_the_checks_of_options():
    assert run("gpu_options.py", "masu").endswith(" 0 failed\n")


def test_the_checks_compile():
    for name in ("gpu_calls.py", "gpu_counts.py"):
        compile((HERE / name).read_text(), name, "exec")
