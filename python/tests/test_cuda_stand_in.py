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


def stand_ins(folder):
    """The environment of a process that has them."""
    include = pathlib.Path(sysconfig.get_path("include"))
    if not (include / "Python.h").exists():
        pytest.skip("needs the headers of Python")
    built("fake_cuda.c", folder / "libcuda.so.1", "-DFAKE_CUDA_ANY")
    built("fake_nvrtc.c", folder / "libnvrtc.so")
    built("fake_tensors.c", folder / "fake_tensors.so", f"-I{include}")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"MASU_CUDA_LIBRARY": str(folder / "libcuda.so.1"), "MASU_NVRTC": str(folder / "libnvrtc.so"), "MASU_CACHE": "off",
            "PYTHONPATH": path}


def test_calls_enqueue(tmp_path):
    environment = stand_ins(tmp_path)
    for script, devices in (("enqueue_stand_in.py", "1"), ("enqueue_fuzz.py", "1"), ("two_devices_stand_in.py", "2")):
        run(script, FAKE_CUDA_DEVICES=devices, **environment)


def test_common_calls_are_in_packages(tmp_path):
    environment = stand_ins(tmp_path)
    subprocess.run([sys.executable, "-m", "masu", "cache", "build", "--arch", "sm_90", "-o", tmp_path],
                   env={**os.environ, **environment}, check=True)
    run("first_calls_stand_in.py", **{**environment, "MASU_NVRTC": "/no/nvrtc", "MASU_PACKAGED_KERNELS": str(tmp_path)})


@pytest.mark.parametrize("nvrtc", ["new", "old"])
def test_quick_kernels_are_replaced(tmp_path, nvrtc):
    environment = {**stand_ins(tmp_path), "MASU_CACHE": "", "XDG_CACHE_HOME": str(tmp_path), "MASU_COMPILE": "quick"}
    old = {"FAKE_NVRTC_OLD": "1"} if nvrtc == "old" else {}
    run("quick_stand_in.py", FAKE_NVRTC_GATE=str(tmp_path / "gate"), **environment, **old)
    assert len(list((tmp_path / "masu").iterdir())) == 1
    # A process that ends before: it waits for what is compiled, and drops the rest.
    (tmp_path / "gate").unlink()
    run("first_calls_stand_in.py", FAKE_NVRTC_GATE=str(tmp_path), **environment, **old)
