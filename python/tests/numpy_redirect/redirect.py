# SPDX-License-Identifier: Apache-2.0
"""Loads a test file of NumPy so that what it calls is masu's.

Its source is compiled with three changes, and is not changed otherwise:
- `np`, where it stands for numpy, is a module that has masu's functions and for the rest is numpy;
- names that it imports from numpy, functions that masu has, are masu's;
- methods of arrays that masu has as functions, x.sort(), call the function: masu.sort(x), and put the result into x
  where the method works in place. Arrays of subclasses keep their methods.
What numpy calls inside, and what numpy.testing does, stays numpy's.
"""
import ast
import functools
import importlib
import os
import sys
import types

import numpy

FUNCTIONS = ("histogram", "histogram2d", "histogramdd", "histogram_bin_edges", "bincount", "digitize", "searchsorted",
             "sort", "argsort", "partition", "argpartition", "unique", "cumsum", "median", "quantile", "percentile",
             "nanmedian", "nanquantile", "nanpercentile")
METHODS = ("sort", "argsort", "partition", "argpartition", "searchsorted", "cumsum")
IN_PLACE = ("sort", "partition")

calls = {"masu": 0, "native": 0}  # so far: of redirected functions, and of masu's compiled code


def counted(function, kind="masu"):
    @functools.wraps(function)
    def call(*arguments, **keywords):
        calls[kind] += 1
        return function(*arguments, **keywords)
    return call


# "numpy" as the target shows that the changes alone make no test fail.
target = importlib.import_module(os.environ.get("NUMPY_REDIRECT_TARGET", "masu"))
functions = {name: counted(getattr(target, name)) for name in FUNCTIONS}
if hasattr(target, "_masu"):
    for compiled in [name for name, value in vars(target._masu).items() if type(value).__name__ == "nb_func"]:
        setattr(target._masu, compiled, counted(getattr(target._masu, compiled), "native"))
by_original = {getattr(numpy, name): function for name, function in functions.items()}


class Numpy(types.ModuleType):
    """numpy with the functions of the target."""

    def __init__(self):
        super().__init__("numpy")
        self.__dict__.update(functions)

    def __getattr__(self, name):
        return getattr(numpy, name)

    def __dir__(self):
        return dir(numpy)


proxy = Numpy()


def pick(value):
    """What a name imported from numpy shall be."""
    if value is numpy:
        return proxy
    try:
        return by_original.get(value, value)
    except TypeError:  # not hashable
        return value


def method(owner, name):
    """owner.name of the source: a redirected method where owner is an array."""
    if type(owner) is not numpy.ndarray or name not in functions:
        return getattr(owner, name)

    def result(*arguments, **keywords):
        return functions[name](owner, *arguments, **keywords)

    def in_place(*arguments, **keywords):
        axis = arguments[name == "partition"] if len(arguments) > (name == "partition") else keywords.get("axis", -1)
        if axis is None or not owner.flags.writeable:  # the methods have an error for that, the functions a result
            return getattr(owner, name)(*arguments, **keywords)
        owner[...] = functions[name](owner, *arguments, **keywords)
        return None
    return in_place if name in IN_PLACE else result


class Redirect(ast.NodeTransformer):
    def picked(self, node, names):
        lines = [ast.Assign([ast.Name(name, ast.Store())], ast.Call(ast.Name("__pick__", ast.Load()),
                                                                   [ast.Name(name, ast.Load())], [])) for name in names]
        return [node, *(ast.fix_missing_locations(ast.copy_location(line, node)) for line in lines)]

    def visit_Import(self, node):
        return self.picked(node, [one.asname or one.name for one in node.names if one.name == "numpy"])

    def visit_ImportFrom(self, node):
        if node.module is None or node.module.split(".")[0] != "numpy":
            return node
        return self.picked(node, [one.asname or one.name for one in node.names])

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr not in METHODS or not isinstance(node.ctx, ast.Load):
            return node
        call = ast.Call(ast.Name("__method__", ast.Load()), [node.value, ast.Constant(node.attr)], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))


def load(path, name):
    """The module of a test file."""
    with open(path, encoding="utf-8") as file:
        tree = Redirect().visit(ast.parse(file.read(), str(path)))
    module = types.ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = name.rpartition(".")[0]
    module.__dict__.update(__pick__=pick, __method__=method)
    sys.modules[name] = module
    exec(compile(tree, str(path), "exec"), module.__dict__)
    return module
