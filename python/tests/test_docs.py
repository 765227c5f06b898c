# SPDX-License-Identifier: Apache-2.0
"""The examples of the documents on Python, and of every public function, do what they say."""
import doctest
import inspect
import pathlib
import re

import numpy as np
import pytest

import masu

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGES = ["../README.md", "python.md", "coming-from-numpy.md", "coming-from-torch-and-cupy.md", "coming-from-cub-and-thrust.md", "dask.md"]


def run(text, name, names):
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    told = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=told.append)
    assert not runner.failures, "".join(told)
    return len(test.examples)


@pytest.mark.parametrize("page", PAGES)
def test_page(page):
    """The blocks of a page one after the other, with one set of names; the rest becomes empty lines, so that the numbers
    of lines are right."""
    if page == "dask.md":
        pytest.importorskip("dask")
    inside, lines = False, []
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        fence = line.startswith("```")
        inside = not inside and line == "```python" if fence else inside
        lines.append(line if inside and not fence else "")
    assert run("\n".join(lines) + "\n", page, {}) > 0


@pytest.mark.parametrize("page", PAGES)
def test_links(page):
    path = DOCS / page
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("name", [name for name in masu.__all__ if type(getattr(masu, name)) is type(masu.sum)])
def test_the_page_names_every_function(name):
    assert re.search(rf"\b{name}\b", (DOCS / "python.md").read_text(encoding="utf-8")), name


@pytest.mark.parametrize("name", masu.__all__)
def test_docstring(name):
    thing = getattr(masu, name)
    if not callable(thing):
        return
    assert inspect.getdoc(thing), f"masu.{name} has no docstring"
    examples = sum(run(test.docstring, test.name, {**test.globs, "masu": masu})
                   for test in doctest.DocTestFinder().find(thing, f"masu.{name}") if test.examples)
    assert examples or not hasattr(np, name), f"masu.{name} has no example"
