# SPDX-License-Identifier: Apache-2.0
"""NumPy's own tests pass against masu, but for those that numpy_redirect/exceptions.md names."""
import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

HERE = pathlib.Path(__file__).parent


def run(*options, **environment):
    if not (pathlib.Path(numpy.__file__).parent / "lib/tests/test_histograms.py").exists():
        pytest.skip("this NumPy comes without its tests")
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "numpy_redirect.plugin", "--numpy-redirect",
               "-p", "no:cacheprovider", "--rootdir", str(pathlib.Path(numpy.__file__).parent), "-c", os.devnull,
               "--noconftest", "-W", "ignore", "--tb=short", *options]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def line(done):
    return re.search(r"^NumPy .* own tests against .*$", done.stdout, re.MULTILINE)[0]


def test_numpys_own_tests(capsys):
    done = run()
    assert done.returncode == 0, done.stdout[-20_000:]
    with capsys.disabled():
        print("\n" + line(done))


def test_the_changes_of_the_files_alone_fail_nothing():
    """The same way to NumPy itself, which needs no exception."""
    done = run("--numpy-file", "lib/tests/test_histograms.py", "--numpy-file", "lib/tests/test_arraysetops.py",
               NUMPY_REDIRECT_TARGET="numpy")
    assert done.returncode == 0, done.stdout[-20_000:]
    assert " 0 failed, 0 excepted" in line(done)


@pytest.mark.parametrize("row, word", [
    ("| `test_histograms.py::TestHistogram::test_one_bin` | it passes, in truth |", "XPASS(strict)"),
    ("| `test_histograms.py::TestHistogram::test_of_no_name` | it is not there |", "there is no test"),
])
def test_exceptions_that_are_none_fail(row, word, tmp_path):
    table = tmp_path / "exceptions.md"
    table.write_text(row + "\n", encoding="utf-8")
    done = run("--numpy-exceptions", str(table), "--numpy-file", "lib/tests/test_histograms.py",
               NUMPY_REDIRECT_TARGET="numpy")
    assert done.returncode != 0
    assert word in done.stdout
