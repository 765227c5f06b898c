# SPDX-License-Identifier: Apache-2.0
"""What is installed: names, types and the command."""
import ast
import importlib.metadata
import inspect
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import masu

PACKAGE = pathlib.Path(masu.__file__).parent
STUB = ast.parse((PACKAGE / "__init__.pyi").read_text())
USES = """
from typing import assert_type
import masu, numpy as np, numpy.typing as npt
x = np.zeros(5, np.float32)
assert_type(masu.sort(x), npt.NDArray[np.float32])
assert_type(masu.argsort(x), npt.NDArray[np.intp])
masu.sort([1, 2, 3], axis=None).sum()
h, e = masu.histogram(x, 10, (0, 1))
h.sum()
d = masu.to_device(x, "cpu")
assert_type(masu.sort(d), masu.DeviceArray)
masu.histogram(d)[0].get()
seconds: float = masu.Program("opencl", "").kernel("f")(4, None, x, masu.LocalMemory(4))
names = [device.name.upper() for device in masu.devices()]
masu.Histogram.of(x).values().sum()
assert_type(masu.Histogram.of(x) + masu.Histogram.of(x), masu.Histogram)
spread = masu.std(x, axis=0, ddof=1, keepdims=True) / masu.mean(x)
values, indices = masu.topk(x, 2)
assert_type(masu.sort(x, descending=True), npt.NDArray[np.float32])
assert_type(masu.cumsum(d), masu.DeviceArray)
h, x_edges, y_edges = masu.histogram2d(x, x, bins=(2, 3))
masu.sort(x, device=3)
"""
TYPES = """
from typing import Any, assert_type
import masu, numpy as np, numpy.typing as npt
x = np.zeros(5, np.float32)
y: npt.NDArray[np.float64] = np.zeros((3, 5))
i: npt.NDArray[np.int64] = np.arange(5)
d = masu.to_device(x, "cpu")
h = masu.Histogram.of(x, 5)
j = masu.JointHistogram.of(y.T[:, :2], 5, flow=True)
w = masu.WeightedHistogram.of(x, 5, weights=x)
b = masu.Bins.logarithmic(3, 1, 1000)
CALLS
"""
# (call, its type, for mypy and pyright)
TYPED = [line.split(" : ") for line in """
masu.sort(x) : npt.NDArray[np.float32]
masu.sort(y, axis=0, descending=True) : npt.NDArray[np.float64]
masu.sort(i, axis=None) : npt.NDArray[np.int64]
masu.sort(d) : masu.DeviceArray
masu.partition(i, 2) : npt.NDArray[np.int64]
masu.argsort(y) : npt.NDArray[np.intp]
masu.argpartition(x, 2) : npt.NDArray[np.intp]
masu.argsort(d) : masu.DeviceArray
masu.lexsort((x, x)) : npt.NDArray[np.intp]
masu.unique(x) : npt.NDArray[np.float32]
masu.unique(i) : npt.NDArray[np.int64]
masu.cumsum(d) : masu.DeviceArray
masu.cumsum(y) : npt.NDArray[Any]
masu.histogram(x, 10) : tuple[npt.NDArray[Any], npt.NDArray[Any]]
masu.histogram(y, [0, 1, 2], weights=y) : tuple[npt.NDArray[Any], npt.NDArray[Any]]
masu.histogram(d) : tuple[masu.DeviceArray, masu.DeviceArray]
masu.histogram2d(x, x) : tuple[npt.NDArray[np.float64], npt.NDArray[Any], npt.NDArray[Any]]
masu.histogram_bin_edges(x, "fd") : npt.NDArray[Any]
masu.bincount(i) : npt.NDArray[Any]
masu.min(d) : masu.DeviceArray
masu.minmax(d) : tuple[masu.DeviceArray, masu.DeviceArray]
masu.median(d) : masu.DeviceArray
masu.topk(x, 2) : masu.TopK
masu.group(i, 5) : masu.Groups
masu.to_device(x, "cpu").shape : tuple[int, ...]
d.get() : npt.NDArray[Any]
h : masu.Histogram
h + h : masu.Histogram
2 * h - h / 3 : masu.Histogram
h.fill(x) : masu.Histogram
h.values(flow=True) : npt.NDArray[np.float64]
h.variances() : npt.NDArray[np.float64]
h.edges : npt.NDArray[Any]
h.axes : tuple[masu.Bins, ...]
h.to_uhi() : dict[str, Any]
masu.Histogram.from_uhi({}) : masu.Histogram
j : masu.JointHistogram
j.values() : npt.NDArray[np.float64]
j.edges : list[npt.NDArray[np.float64]]
j.integers() : npt.NDArray[np.int64]
w.result() : masu.Histogram
b : masu.Bins
b.centers : npt.NDArray[np.float64]
len(b) : int
masu.loc(2.0) + 1 : masu.loc
masu.SumAccumulator.of(x) + masu.SumAccumulator.of(x) : masu.SumAccumulator
masu.QuantileFinder("f8", 0.5).result() : npt.NDArray[Any]
masu.RowHistograms.of(y, 5)[0] : masu.Histogram
masu.io.columns("x.csv") : list[str]
masu.io.read("x.csv", ["a", "b"], progress=print) : Any
next(masu.io.pieces("x.csv", "a", bytes=100)) : Any
""".strip().splitlines()]


def test_every_name_is_there_and_documented():
    named = next(node for node in STUB.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    assert ast.literal_eval(named.value) == masu.__all__
    assert sorted(masu.__all__) == masu.__all__
    for name in masu.__all__:
        assert getattr(masu, name).__doc__, name


def test_the_types_are_there_and_agree():
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_masu.pyi").exists()
    described = {}
    for node in STUB.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            described.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):  # percentile = quantile
            described[node.targets[0].id] = described[node.value.id]
        elif isinstance(node, ast.ImportFrom):
            described.update({alias.asname: [] for alias in node.names if alias.asname})
    assert set(masu.__all__) <= set(described)
    for name, nodes in described.items():
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                compare(getattr(masu, name), node)
            elif name in masu.__all__ and name not in ("TopK", "Groups"):
                for method in node.body:
                    if isinstance(method, ast.FunctionDef):
                        there = inspect.getattr_static(getattr(masu, name), method.name)
                        if inspect.isfunction(there) and name != "DeviceArray":
                            compare(there, method)


def compare(function, node):
    arguments = node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    parameters = inspect.signature(function).parameters.values()
    assert names == [p.name for p in parameters if p.kind != p.VAR_POSITIONAL], function
    defaults = len(arguments.defaults) + sum(default is not None for default in arguments.kw_defaults)
    assert defaults == sum(p.default is not p.empty for p in parameters), function


def test_a_type_checker_uses_them(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "uses.py").write_text(USES)
    environment = dict(os.environ)
    if PACKAGE.parent.name != "site-packages":
        environment["MYPYPATH"] = str(PACKAGE.parent)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", tmp_path / "uses.py"],
                          capture_output=True, text=True, cwd=tmp_path, timeout=200, env=environment)
    wrong = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(wrong) == 1 and "call-overload" in wrong[0], done.stdout  # the last line of it


@pytest.mark.parametrize("checker", [["mypy", "--strict", "--cache-dir=cache"], ["pyright", "--pythonpath", sys.executable]], ids=lambda words: words[0])
def test_type_checkers_infer_arrays_and_dtypes(checker, tmp_path):
    pytest.importorskip(checker[0])
    assert len(TYPED) > 40
    calls = "\n".join(f"assert_type({call}, {kind})" for call, kind in TYPED)
    (tmp_path / "uses.py").write_text(TYPES.replace("CALLS", calls))
    environment = dict(os.environ)
    if PACKAGE.parent.name != "site-packages":
        environment["MYPYPATH"] = str(PACKAGE.parent)
        (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(PACKAGE.parent)]}))
    done = subprocess.run([sys.executable, "-m", *checker, "uses.py"], capture_output=True, text=True, cwd=tmp_path, timeout=200,
                          env=environment)
    wrong = [line for line in done.stdout.splitlines() if "error" in line and "uses.py" in line]
    assert not wrong and done.stdout, done.stdout + done.stderr


# What the extension module and its base classes have, which nanobind describes, and constructors that are masu's own.
PRIVATE = r"""
masu\._.*
masu\.dask\._.*
masu\.(Device|DeviceArray|DeviceInfo)
masu\.(DeviceArray|Kernel|DeviceInfo)\.__init__
"""


@pytest.mark.skipif("MASU_TEST_LONG" not in os.environ, reason="takes a minute")
def test_the_types_are_those_at_run_time(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "private.txt").write_text(PRIVATE)
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "masu", "--allowlist", tmp_path / "private.txt",
                           "--ignore-unused-allowlist"],
                          capture_output=True, text=True, cwd=tmp_path, timeout=600,
                          env={**os.environ, "MYPYPATH": str(PACKAGE.parent) if PACKAGE.parent.name != "site-packages" else ""})
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command():
    version = f"masu {masu.__version__}\n"
    assert subprocess.run([sys.executable, "-m", "masu", "--version"], capture_output=True, text=True).stdout == version
    script = pathlib.Path(sys.executable).with_name("masu")
    if script.exists():
        assert subprocess.run([script, "--version"], capture_output=True, text=True).stdout == version
    wrong = subprocess.run([sys.executable, "-m", "masu", "nothing"], capture_output=True, text=True)
    assert wrong.returncode == 2 and wrong.stderr and not wrong.stdout


def test_the_version_is_the_librarys():
    root = pathlib.Path(__file__).resolve().parents[2]
    if not (root / "pyproject.toml").exists():
        pytest.skip("needs the source tree")
    assert f'version = "{masu.__version__}"' in (root / "pyproject.toml").read_text()


def test_the_module_needs_no_library_of_a_gpu():
    reader = shutil.which("readelf")
    if reader is None:
        pytest.skip("needs readelf")
    module = next(PACKAGE.glob("_masu.*so"))
    needed = subprocess.run([reader, "-d", module], capture_output=True, text=True, check=True).stdout
    assert "libmasu.so" in needed
    assert not any(name in needed for name in ("libcuda", "libOpenCL", "libcairo", "libpng", "libtbb"))


@pytest.mark.skipif("MASU_TEST_RUN" not in os.environ, reason="whoever runs single tests may leave libraries out")
def test_what_the_tests_read_is_installed():
    """In ./test no test is left out because one of the libraries is missing."""
    wanted = pathlib.Path(__file__).with_name("requirements.txt").read_text().splitlines()
    names = [re.match(r"[\w-]+", line).group() for line in wanted if line and not line.startswith("#")]
    assert {"h5py", "pillow", "scipy"} <= set(names) and not [name for name in names if not importlib.metadata.distribution(name)]
