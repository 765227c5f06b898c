# SPDX-License-Identifier: Apache-2.0
"""Writes the types of the public names, __init__.pyi and dask/__init__.pyi, into a folder: `stubs.py <python/masu> <folder>`.

Parameters, their order and their defaults are those of the sources; the types that their names stand for are below. It imports
nothing of the package, so it runs before there is one.
"""
import ast
import pathlib
import sys

HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Types of the public names. An array of another library that speaks DLPack gives results of that library.
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt
from numpy._globals import _NoValueType

from . import _masu, io as io
from ._masu import Device as Device, DeviceInfo as DeviceInfo, KernelParameter
from ._masu import cpu_threads as cpu_threads, devices as devices, set_cpu_threads as set_cpu_threads

__version__: str

class _DLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, Any]: ...

class TopK(NamedTuple):
    values: Any
    indices: Any

class Groups(NamedTuple):
    counts: Any
    offsets: Any
    order: Any

_Array: TypeAlias = npt.NDArray[Any]
_Floats: TypeAlias = npt.NDArray[np.float64]
_Integers: TypeAlias = npt.NDArray[np.int64]
_Counts: TypeAlias = npt.NDArray[np.intp]
_Plain: TypeAlias = npt.NDArray[Any] | Sequence[Any] | complex | memoryview
_T = TypeVar("_T", bound=_DLPack)
_Scalar = TypeVar("_Scalar", bound=np.generic)
_Device: TypeAlias = str | Device | None
_Axis: TypeAlias = int | None
_Axes: TypeAlias = int | tuple[int, ...] | None
_Kind: TypeAlias = Literal["quicksort", "heapsort", "mergesort", "stable"] | None
_Method: TypeAlias = Literal["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
                             "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"]
'''
DASK_HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Types of masu.dask.
from typing import Any, Literal, TypeAlias

import numpy.typing as npt
from dask.array import Array

from .. import Device, TopK as TopK, _Method

_Axis: TypeAlias = int | None
_Axes: TypeAlias = int | tuple[int, ...] | None
_Device: TypeAlias = str | Device | None
'''
# Results for an array of NumPy's, and for one of another library.
SAME = "npt.NDArray[_Scalar]"  # of the array's own type, and _Array where that is not known
RESULTS = {
    "sort": (SAME, "_T"), "partition": (SAME, "_T"), "argsort": ("_Counts", "_T"), "argpartition": ("_Counts", "_T"), "cumsum": ("_Array", "_T"),
    **dict.fromkeys(("min", "max", "argmin", "argmax", "count_nonzero"), ("Any", "_T")), "take": ("Any", "_T"), "minmax": ("tuple[Any, Any]", "tuple[_T, _T]"),
    **dict.fromkeys(("searchsorted", "dot", "sum", "segment_sum", "median", "quantile", "percentile", "nanmedian", "nanquantile", "nanpercentile",
                     "digitize"), ("Any", "_T")),
    "histogram": ("tuple[_Array, _Array]", "tuple[_T, _T]"), "histogram_bin_edges": ("_Array", "_T"),
    "histogram2d": ("tuple[_Floats, _Array, _Array]", "tuple[_T, _T, _T]"), "bincount": ("_Array", "_T"),
}
ANY_ARRAY = {  # functions whose types do not depend on the library
    **dict.fromkeys(("mean", "var", "std", "average", "compress"), "Any"), "lexsort": "_Counts", "histogramdd": "tuple[Any, list[Any]]", "topk": "TopK", "group": "Groups",
    "to_device": "DeviceArray", "convert": "Any",
}
DASK_RESULTS = {"average": "Any", "histogram": "tuple[Array, Array]", "histogram2d": "tuple[Array, Array, Array]",
                "histogramdd": "tuple[Array, list[Array]]", "topk": "TopK", "unique": "Any"}
ONE_AXIS = {"sort", "argsort", "partition", "argpartition", "cumsum", "topk", "unique", "argmax", "argmin"}
PARAMETERS = {  # "function.name" where one name has another type elsewhere
    "stable": "bool | None", "descending": "bool | _NoValueType | None", "keepdims": "bool", "density": "bool | None",
    **dict.fromkeys(("return_index", "return_inverse", "return_counts", "equal_nan", "sorted", "overwrite_input", "right", "largest",
                     "recompute", "returned"), "bool"),
    **dict.fromkeys(("minlength", "k", "n", "row", "index", "bytes"), "int"), "device": "_Device", "convert.dtype": "npt.DTypeLike",
    "format": 'Literal["float8_e4m3fn", "float8_e5m2"] | None', "to_device.device": "str | Device",
    "DeviceArray.device": "Device", "kth": "npt.ArrayLike", "q": "npt.ArrayLike", "array": "npt.ArrayLike",
    "side": 'Literal["left", "right"]', "dtype": "npt.DTypeLike | None", "ddof": "float", "correction": "float | _NoValueType",
    "method": "_Method", "mode": 'Literal["raise", "wrap", "clip"]', "QuantileFinder.method": "str", "split_every": "int | Literal[False] | None", "source": "str", "options": "str",
    "range": "tuple[Any, Any] | None", **dict.fromkeys(("histogram2d.range", "histogramdd.range", "JointHistogram.range"), "Any"),
    "kind": "_Kind", **dict.fromkeys(("partition.kind", "argpartition.kind"), 'Literal["introselect"]'),
    "SumAccumulator.kind": 'Literal["sum", "squares", "dot"] | None', "op": 'Literal["minmax", "min", "max", "count-nonzero"]',
    "ReduceAccumulator.nan": 'Literal["propagate", "skip"]', "TopkAccumulator.nan": 'Literal["last", "skip"]', "columns": "Sequence[Any]",
    "topk.out": "tuple[Any, Any] | None", "below": "float", "above": "float", "nan": "float", "counts": "npt.ArrayLike",
    "edges": "npt.ArrayLike", "offsets": "npt.ArrayLike", "variances": "npt.ArrayLike | None", "integers": "npt.ArrayLike", "data": "bytes | bytearray | memoryview",
    "shape": "Sequence[int] | None", "copy": "bool | None", "max_version": "tuple[int, int] | None", "dl_device": "tuple[int, int] | None",
    **dict.fromkeys(("Plottable.data", "Plottable.index", "Bins.lower", "Bins.upper", "JointHistogram.columns"), "Any"),
    **dict.fromkeys(("flow", "underflow", "overflow"), "bool"), "label": "str", "beside_variances": "npt.ArrayLike | None",
    **dict.fromkeys(("Bins.start", "Bins.stop", "offset", "factor", "axes"), "int"), "Plottable.factor": "float", "divisor": "float",
    "categories": "Sequence[str] | Sequence[int]", "name": "str", "global_size": "int | Sequence[int]", "local_size": "int | Sequence[int] | None",
}
MEMBERS = {  # what methods return, and properties; "Class.name" where one name has another type elsewhere
    **dict.fromkeys(("__init__", "merge", "add"), "None"), **dict.fromkeys(("of", "frombytes", "with_integers", "__add__", "__radd__"), "Self"),
    "tobytes": "bytes", "integers": "_Integers", "dtype": "np.dtype[Any]", "next_pass": "bool", "weighted": "bool",
    **dict.fromkeys(("count", "k", "skipped", "argmin", "argmax", "nonzero", "outside", "ndim", "size", "nbytes", "__len__",
                     "JointHistogram.nan", "max_work_group_size"), "int"),
    **dict.fromkeys(("op", "kind", "log", "name"), "str"), **dict.fromkeys(("below", "above", "nan", "n", "__call__"), "float"),
    **dict.fromkeys(("edges", "totals", "cumulative", "get", "__array__"), "_Array"),
    **dict.fromkeys(("RowHistograms.edges", "values", "density", "variances", "centers"), "_Floats"),
    "JointHistogram.edges": "list[_Floats]",
    **dict.fromkeys(("RowHistograms.below", "RowHistograms.above", "RowHistograms.nan", "RowHistograms.counts",
                     "JointHistogram.counts"), "_Integers"),
    "axes": "tuple[Bins, ...]", "to_numpy": "tuple[_Array, ...]", "RowHistograms.__getitem__": "Histogram",
    **dict.fromkeys(("from_uhi", "fill", "logarithmic", "categories", "loc.__add__", "loc.__sub__", "__mul__", "__rmul__", "__truediv__",
                     "Bins.integers"), "Self"), "to_uhi": "dict[str, Any]", "index": "int", "loc.__call__": "int", "__sub__": "Self",
    "JointHistogram.integers": "_Integers", "Histogram.__iter__": "Iterator[Any]", "Bins.__iter__": "Iterator[Any]",
    "TopkAccumulator.result": "TopK", "UniqueAccumulator.result": "tuple[_Array, _Counts]",
    "RunAccumulator.result": "tuple[_Array, _Counts, _Counts]", "QuantileFinder.result": "_Array", "WeightedHistogram.result": "Histogram",
    "reshape": "DeviceArray", "rows": "list[DeviceArray]", "__dlpack_device__": "tuple[int, int]", "__cuda_array_interface__": "dict[str, Any]",
    "kernel_names": "list[str]", "kernel": "Kernel", "parameters": "list[KernelParameter]",
}
ATTRIBUTES = {  # which no method of the class declares
    "DeviceArray": ("device", "Device", "shape", "tuple[int, ...]"), "Program": ("device", "Device"), "Kernel": ("device", "Device"),
    "LocalMemory": ("bytes", "int"), "Plottable": ("kind", "str"), "loc": ("value", "Any", "offset", "int"), "rebin": ("factor", "int"),
    "Bins": ("edges", "_Array", "kind", "str", "label", "str", "underflow", "bool", "overflow", "bool", "circular", "bool"),
}
UNDESCRIBED = ("__repr__", "__eq__", "__hash__", "__reduce__", "Kernel.__init__")


def found(types, owner, name):
    return types.get(f"{owner}.{name}", types.get(name, "Any"))


def parameters(node, owner, types, first=""):
    """A function's parameters. `first`: of a method, the one without a type."""
    args = node.args
    count = len(args.posonlyargs) + len(args.args)
    defaults = [None] * (count - len(args.defaults)) + args.defaults + args.kw_defaults

    def described(arg, default):
        if arg.arg == first:
            return first
        kind = types.get(arg.arg) or found(PARAMETERS, owner, arg.arg)
        if arg.arg == "axis" and "axis" not in types:
            kind = "_Axis" if owner in ONE_AXIS else "_Axes"
        text = "" if default is None else ast.unparse(default)
        if text.endswith("_NoValue"):
            kind = kind if "_NoValueType" in kind or kind == "Any" else f"{kind} | _NoValueType"
        simple = isinstance(default, (ast.Constant, ast.UnaryOp))
        return f"{arg.arg}: {kind}" + (f" = {text if simple else '...'}" if text else "")

    parts = list(map(described, args.posonlyargs + args.args, defaults))
    if args.posonlyargs:
        parts.insert(len(args.posonlyargs), "/")
    if args.vararg or args.kwonlyargs:
        parts.append(f"*{args.vararg.arg}: {found(PARAMETERS, owner, args.vararg.arg)}" if args.vararg else "*")
    more = [f"**{args.kwarg.arg}: Any"] if args.kwarg else []
    return ", ".join(parts + list(map(described, args.kwonlyargs, defaults[count:])) + more)


def function(node):
    name = node.name
    if name == "unique":
        alone = dict.fromkeys(("return_index", "return_inverse", "return_counts"), "Literal[False]") | {"ar": SAME}
        return (f"@overload\ndef unique({parameters(node, name, alone)}) -> {SAME}: ...\n"
                f"@overload\ndef unique({parameters(node, name, {})}) -> Any: ...\n")
    if name in ANY_ARRAY:
        return f"def {name}({parameters(node, name, {})}) -> {ANY_ARRAY[name]}: ...\n"
    plain, other = RESULTS[name]
    text = ""
    for array, result in ((SAME if plain == SAME else "_Plain", plain), ("_T", other),
                          ("npt.ArrayLike", "_Array" if plain == SAME else plain)):
        out = "_T | None" if array == "_T" else "_Array | None"
        types = dict.fromkeys(("a", "x", "y", "v", "b"), array) | {"out": out} | ({"dtype": "Any"} if array == "_T" else {})
        text += f"@overload\ndef {name}({parameters(node, name, types)}) -> {result}: ...\n"
    return text


def private(name):
    """How a base class is called that is not public."""
    return name if name[0] == "_" or name == "Warning" else f"_{name}"


def described_class(node, name):
    bases = [private(ast.unparse(base)) for base in node.bases]
    text = f"\nclass {name}" + (f"({', '.join(bases)})" if bases else "") + ":\n"
    members = [member for member in node.body if isinstance(member, ast.FunctionDef) and member.name not in UNDESCRIBED
               and f"{node.name}.{member.name}" not in UNDESCRIBED and (member.name[0] != "_" or member.name.startswith("__"))]
    attributes = ATTRIBUTES.get(node.name, ())
    for name, kind in zip(attributes[::2], attributes[1::2]):
        text += f"    {name}: {kind}\n" if node.name != "DeviceArray" else f"    @property\n    def {name}(self) -> {kind}: ...\n"
    for member in members:
        for decorator in member.decorator_list:
            text += f"    @{ast.unparse(decorator)}\n"
        types = dict.fromkeys(("other",), "Self") if member.name != "__radd__" else {"other": "int"}
        given = parameters(member, node.name, types, member.args.args[0].arg)
        text += f"    def {member.name}({given}) -> {found(MEMBERS, node.name, member.name)}: ...\n"
    return text if members or attributes else text[:-1] + " ...\n"


def sources(package):
    """(the public names, which the package imports, and the definitions in the files that they come from)."""
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    public = sorted(one.asname or one.name for node in tree.body if isinstance(node, ast.ImportFrom) for one in node.names
                    if (one.asname or one.name)[0] != "_")
    definitions = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            path = package / f"{node.module}.py"
            if path.exists():
                module = ast.parse(path.read_text(encoding="utf-8"))
                definitions |= {one.name: one for one in module.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
    return public, definitions


def write(package, folder):
    public, definitions = sources(package)
    for path in package.glob("_*.py"):  # base classes
        for one in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(one, ast.ClassDef):
                definitions.setdefault(one.name, one)
    described = {"TopK": "", "Groups": ""}

    def add(name):
        node = definitions.get(name)
        if node is None or name in described:
            return
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                add(ast.unparse(base))
        described[name] = function(node) if isinstance(node, ast.FunctionDef) else described_class(
            node, name if name in public else private(name))

    for name in public:
        add(name)
    (folder / "__init__.pyi").write_text(f"{HEAD}\n__all__ = {public}\n\n{''.join(described.values())}", encoding="utf-8")

    public, definitions = sources(package / "dask")
    text = "".join(f"def {name}({parameters(definitions[name], name, {})}) -> {DASK_RESULTS.get(name, 'Array')}: ...\n" for name in public)
    (folder / "dask").mkdir(exist_ok=True)
    (folder / "dask" / "__init__.pyi").write_text(f"{DASK_HEAD}\n__all__ = {public}\n\n{text}", encoding="utf-8")


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
