# SPDX-License-Identifier: Apache-2.0
"""The modules of the package import each other without a circle; imports in functions count."""
import ast
import graphlib
import importlib.util
import inspect
import pathlib
import subprocess
import sys

import pytest

import masu

ROOT = pathlib.Path(masu.__file__).parent
COMPILED = "masu._masu"


def imported(path):
    """What a file imports: modules, and names of modules as if they were modules too."""
    package = ".".join(path.relative_to(ROOT.parent).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((name.name, True) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module
            yield from ((f"{base}.{name.name}", base) for name in node.names)


def graph():
    """{module: the modules of the package that it imports}"""
    paths = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    modules = {*paths, COMPILED}
    # from . import module: a module, else what stands in the one behind "from"
    return {module: {name if name in modules else base for name, base in imported(path)} & modules
            for module, path in paths.items()}


def test_there_is_no_circle_of_imports():
    found = graph()
    assert len(found) > 30 and "masu._order" in found["masu"] and COMPILED in found["masu._order"]
    list(graphlib.TopologicalSorter(found).static_order())


def test_importing_takes_no_module_that_few_calls_need():
    wanted = "import sys, numpy; before = set(sys.modules); import masu; print(*set(sys.modules) - before)"
    loaded = set(subprocess.run([sys.executable, "-c", wanted], capture_output=True, text=True, check=True).stdout.split())
    assert {"masu", "masu._masu"} <= loaded
    assert not loaded & {"ctypes", "dask", "decimal", "fractions", "json", "masu.dask", "subprocess", "tempfile"}


def test_a_circle_is_found():
    found = graph()
    found["masu._kinds"].add("masu.dask")
    with pytest.raises(graphlib.CycleError):
        list(graphlib.TopologicalSorter(found).static_order())


def test_the_adapters_have_the_same_functions():
    """What the package's functions call of an adapter `on` takes the same arguments in both."""
    called = set()
    for path in ROOT.glob("*.py"):
        called.update(node.attr for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                      if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "on")
    assert {"along", "data", "numpys", "rows", "sent"} <= called
    for name in called:
        host, there = (inspect.signature(getattr(adapter, name)).parameters.values() for adapter in (masu._host, masu._on_device))
        assert [(one.kind, one.default) for one in host] == [(one.kind, one.default) for one in there], name
