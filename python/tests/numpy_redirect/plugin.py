# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: NumPy's own test files, as they lie in the installed numpy, run against masu.

    PYTHONPATH=python/tests python -m pytest -p numpy_redirect.plugin --numpy-redirect

redirect.py says how the files are changed. The tests that may fail stand in exceptions.md, each with its reason: one
that passes nevertheless, or is not there any more, is a failure. A line at the end counts.
"""
import collections
import pathlib
import re

import numpy
import pytest

from . import redirect

# The files, and the tests of each by class and name.
FILES = {
    "lib/tests/test_histograms.py": r"",
    "lib/tests/test_function_base.py": r"Test(Bincount|Digitize|Unique|Cumsum|Median|Quantile|Percentile)\b",
    "lib/tests/test_nanfunctions.py": r"TestNanFunctions_(Median|Percentile|Quantile)\b",
    "lib/tests/test_arraysetops.py": r"TestUnique\b",
    "_core/tests/test_multiarray.py": r"::test_\w*(sort|partition|search)",
    "_core/tests/test_numeric.py": r"TestNonarrayArgs::test_(cumsum|searchsorted|sort|argsort)\b",
}
ROOT = pathlib.Path(numpy.__file__).parent


def pytest_addoption(parser):
    parser.addoption("--numpy-redirect", action="store_true", help="run NumPy's own tests against masu")
    parser.addoption("--numpy-file", action="append", choices=FILES, help="only this file of them")
    parser.addoption("--numpy-exceptions", type=pathlib.Path, default=pathlib.Path(__file__).with_name("exceptions.md"),
                     metavar="FILE", help="the table of the tests that may fail")


def pytest_configure(config):
    if not config.getoption("--numpy-redirect"):
        return
    if hasattr(redirect.target, "_small"):
        redirect.target._small.limit = 0  # small arrays go through masu as well
    config.args[:] = [str(ROOT / name) for name in config.getoption("--numpy-file") or FILES]
    config.pluginmanager.register(Redirection(), "numpy_redirection")


def exceptions(path):
    """{test: reason} of a table like that of exceptions.md."""
    return dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", path.read_text(encoding="utf-8"), re.MULTILINE))


class RedirectedModule(pytest.Module):
    def _getobj(self):
        return redirect.load(self.path, ".".join(("numpy", *self.path.relative_to(ROOT).with_suffix("").parts)))


class Redirection:
    def __init__(self):
        self.counts = collections.Counter()

    def pytest_pycollect_makemodule(self, module_path, parent):
        return RedirectedModule.from_parent(parent, path=module_path)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        chosen, left = [], []
        for item in items:
            pattern = FILES[item.path.relative_to(ROOT).as_posix()]
            test = item.nodeid[item.nodeid.index("::"):]
            (chosen if re.search(pattern, test) else left).append(item)
        if left:
            config.hook.pytest_deselected(items=left)
            items[:] = chosen
        table = config.getoption("--numpy-exceptions")
        for test, reason in exceptions(table).items():
            matching = [item for item in items if test in (self.name(item), self.name(item).partition("[")[0])]
            file_runs = any(item.path.name == test.partition("::")[0] for item in items)
            if not matching and file_runs and not config.getoption("keyword"):
                raise pytest.UsageError(f"{table.name}: there is no test {test} (any more)")
            for item in matching:
                item.add_marker(pytest.mark.xfail(strict=True, reason=f"excepted: {reason}"))

    @staticmethod
    def name(item):
        return item.path.name + item.nodeid[item.nodeid.index("::"):]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        numpy.random.seed(0)
        before = dict(redirect.calls)
        try:
            return (yield)
        finally:
            for kind, calls in redirect.calls.items():
                self.counts[kind] += calls - before[kind]
                self.counts[f"tests {kind}"] += calls > before[kind]

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or not report.passed:
            excepted = report.skipped and getattr(report, "wasxfail", "").startswith("excepted")
            self.counts["excepted" if excepted else report.outcome] += 1

    def pytest_terminal_summary(self, terminalreporter):
        count = self.counts
        run = count["passed"] + count["failed"] + count["excepted"]
        terminalreporter.write_line(
            f"NumPy {numpy.__version__}'s own tests against {redirect.target.__name__}: {run} run, "
            f"{count['passed']} passed, {count['failed']} failed, {count['excepted']} excepted; "
            f"{count['skipped']} left out by NumPy itself. {count['tests masu']} tests made {count['masu']} "
            f"calls; {count['tests native']} tests made {count['native']} of masu's compiled code.")
