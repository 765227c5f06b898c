# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries on a CUDA device, with a stand-in for the driver: no GPU is needed, and no kernel runs."""
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest

HERE = pathlib.Path(__file__).resolve().parent
STAND_INS = HERE.parents[1] / "tests/fake_cuda"


def built(source, library, *options):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not (STAND_INS / source).exists():
        pytest.skip("needs a C compiler and the source tree")
    subprocess.run([compiler, "-shared", "-fPIC", *options, "-o", library, STAND_INS / source], check=True)


def run(script, **environment):
    done = subprocess.run([sys.executable, HERE / script], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stderr


def test_arrays_come_in_and_go_out(tmp_path):
    built("fake_cuda.c", tmp_path / "libcuda.so.1")
    run("cuda_stand_in.py", LD_LIBRARY_PATH=str(tmp_path))


def build_stand_ins(tmp_path):
    """The stand-ins of driver, compiler and tensors; gives the PYTHONPATH with the latter."""
    include = pathlib.Path(sysconfig.get_path("include"))
    if not (include / "Python.h").exists():
        pytest.skip("needs the headers of Python")
    built("fake_cuda.c", tmp_path / "libcuda.so.1", "-DFAKE_CUDA_ANY")
    built("fake_nvrtc.c", tmp_path / "libnvrtc.so")
    built("fake_tensors.c", tmp_path / "fake_tensors.so", f"-I{include}")
    return os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])


def test_calls_enqueue(tmp_path):
    path = build_stand_ins(tmp_path)
    for script, devices in (("enqueue_stand_in.py", "1"), ("enqueue_fuzz.py", "1"), ("two_devices_stand_in.py", "2")):
        run(script, FAKE_CUDA_DEVICES=devices, MASU_CUDA_LIBRARY=str(tmp_path / "libcuda.so.1"), MASU_NVRTC=str(tmp_path / "libnvrtc.so"),
            MASU_CACHE="off", PYTHONPATH=path)


def test_common_calls_are_in_packages(tmp_path):
    path = build_stand_ins(tmp_path)
    subprocess.run([sys.executable, "-m", "masu", "cache", "build", "--arch", "sm_90", "-o", tmp_path],
                   env={**os.environ, "MASU_NVRTC": str(tmp_path / "libnvrtc.so")}, check=True)
    run("first_calls_stand_in.py", MASU_CUDA_LIBRARY=str(tmp_path / "libcuda.so.1"), MASU_NVRTC="/no/nvrtc", MASU_CACHE="off",
        MASU_PACKAGED_KERNELS=str(tmp_path), PYTHONPATH=path)
