# SPDX-License-Identifier: Apache-2.0
"""The Python reference: a page for each public name, from the sources' docstrings. Nothing of the package is imported, so that
it needs no build."""
import ast
import copy
import importlib.util
import re

from sphinx.ext.napoleon import Config, NumpyDocstring

import extension

TITLES = {"_histogram": "Histograms", "_joint": "Histograms", "_bincount": "Histograms", "_histogram_class": "Histograms as objects",
          "_joint_class": "Histograms as objects", "_bin_axis": "Histograms as objects",
          "_histogram_states": "Histograms as objects", "_order": "Orders", "lexsort": "Orders", "_quantile": "Quantiles",
          "_sums": "Sums and moments", "_moments": "Sums and moments", "average": "Sums and moments", "_extremes": "Extremes and counts",
          "_groups": "Groups", "_sum_accumulator": "States of other results", "_states": "States of other results",
          "_device_array": "Devices and arrays", "_masu": "Devices and arrays", "_arrays": "Devices and arrays",
          "_program": "Kernels of your own"}  # by module, or by name
OTHERS, FILES, DASK = "Other names", "Files (`masu.io`)", "Dask arrays (`masu.dask`)"


def strings(module):
    """The module's own constants that are strings, by name: docstrings are composed of them."""
    found = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, (ast.Constant, ast.JoinedStr)):
            found[node.targets[0].id] = eval(compile(ast.Expression(node.value), "constant", "eval"), {"__builtins__": {}}, found)
    return found


def docstring(node, module):
    """A definition's docstring, also where it is assigned to __doc__."""
    text = ast.get_docstring(node)
    for one in getattr(node, "body", ()):
        if text is None and isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "__doc__":
            text = eval(compile(ast.Expression(one.value), "docstring", "eval"), {"__builtins__": {}}, strings(module))
            indent = re.search(r"\n( +)\S", text)
            text = re.sub(rf"^{indent[1]}", "", text, flags=re.M) if indent else text
    return (text or "").strip()


def signature(node, method=False):
    """The parameters in Python's words; a default that stands for none given is shown as three dots."""
    args = copy.deepcopy(node.args)
    if method and not any(ast.unparse(one) == "staticmethod" for one in node.decorator_list):
        (args.posonlyargs or args.args).pop(0)
    for one in [*args.posonlyargs, *args.args, *args.kwonlyargs]:
        one.annotation = None
    for defaults in (args.defaults, args.kw_defaults):
        for at, default in enumerate(defaults):
            if default is not None and not isinstance(default, (ast.Constant, ast.UnaryOp, ast.Tuple)):
                if not ast.unparse(default).startswith("np.") or ast.unparse(default).endswith("_NoValue"):
                    defaults[at] = ast.Constant(...)
    return f"({ast.unparse(args)})"


def rst(text):
    """A docstring as Sphinx reads it; names of the package in backticks are links."""
    if "Examples\n" not in text:
        text = re.sub(r"(?<=\n)\n(?=>>> )", "\nExamples\n--------\n", text, count=1)
    text = str(NumpyDocstring(text, Config(napoleon_use_param=False, napoleon_use_rtype=False, napoleon_use_ivar=True)))
    return re.sub(r"(?<![`:\w])`(masu\.[\w.]+)`(?!`)", r":py:obj:`\1`", text)


def indented(text, by):
    return re.sub(r"^(?=.)", " " * by, text, flags=re.M)


def members(node, definitions):
    """Methods and properties of a class, those of its bases in the package after its own."""
    seen = {}
    for one in node.body:
        if isinstance(one, ast.FunctionDef):
            seen.setdefault(one.name, one)
    own = list(seen.values())
    for base in node.bases:
        if ast.unparse(base) in definitions:
            module, parent = definitions[ast.unparse(base)]
            for other, of in members(parent, definitions):
                if other.name not in seen:
                    seen[other.name] = other
                    own.append((other, of))
                elif not ast.get_docstring(seen[other.name]) and ast.get_docstring(other):
                    seen[other.name].body.insert(0, other.body[0])  # an override without one of its own
    module_of = next((module for module, other in definitions.values() if other is node), None)
    return [one if isinstance(one, tuple) else (one, module_of) for one in own]


def described_member(one, module):
    decorators = [ast.unparse(each) for each in one.decorator_list]
    text = docstring(one, module)
    if one.name == "__init__" or (one.name[0] == "_" and not (text and one.name.startswith("__"))) or any(".setter" in d for d in decorators):
        return ""
    if any(d in ("property", "functools.cached_property") for d in decorators):
        head = f".. py:property:: {one.name}"
    else:
        flags = "".join(f"\n   :{d}:" for d in decorators if d in ("classmethod", "staticmethod"))
        head = f".. py:method:: {one.name}{signature(one, True)}{flags}"
    return f"{head}\n\n{indented(rst(text), 3)}\n\n"


def described(name, node, module, definitions):
    if isinstance(node, ast.FunctionDef):
        return f".. py:function:: {name}{signature(node)}\n\n{indented(rst(docstring(node, module)), 3)}\n"
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    inside = members(node, definitions)
    init = next((one for one, _ in inside if one.name == "__init__"), None)
    given = signature(init, True) if init else f"({', '.join(one.target.id for one in fields)})" if fields else ""
    kind = "exception" if any("Warning" in ast.unparse(base) or "Error" in ast.unparse(base) for base in node.bases) else "class"
    text = rst(docstring(node, module))
    if init and docstring(init, module):
        text += f"\n\n{rst(docstring(init, module))}"
    text += "\n\n" + "".join(described_member(one, of) for one, of in inside)
    return f".. py:{kind}:: {name}{given}\n\n{indented(text, 3)}\n"


def first_sentence(text):
    return re.split(r"(?<=\.)\s", text.split("\n\n")[0].replace("\n", " "))[0].rstrip(".:")


def packages(root, stubs):
    """(how names begin, the public names, {file: its tree}, {name: its file}) of each package."""
    def parsed(paths):
        return {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in paths}

    for package, prefix in ((root / "python/masu", "masu"), (root / "python/masu/dask", "masu.dask")):
        modules = parsed(sorted(package.glob("_*.py")))
        yield prefix, stubs.sources(package)[0], modules, {
            (one.asname or one.name): node.module for node in modules["__init__"].body if isinstance(node, ast.ImportFrom) for one in node.names}
    modules = parsed([root / "python/masu/io.py"])
    public = [one.name for one in modules["io"].body if isinstance(one, (ast.FunctionDef, ast.ClassDef)) and one.name[0] != "_"]
    yield "masu.io", sorted(public), modules, dict.fromkeys(public, "io")


def stage(root, write):
    spec = importlib.util.spec_from_file_location("stubs", root / "python/stubs.py")
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    native = extension.described(root / "python/src")
    pages, groups = [], {}
    for prefix, public, modules, homes in packages(root, stubs):
        definitions = {node.name: (module, node) for module in modules.values() for node in module.body
                       if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        for name in public:
            home = homes[name]
            found = next((node for node in modules.get(home, ast.Module([])).body if getattr(node, "name", None) == name), None)
            if found is not None:
                about = docstring(found, modules[home])
                text = described(name, found, modules[home], definitions)
            elif name in native:
                about, text = native[name]
            else:
                continue
            if not about:
                raise SystemExit(f"python/masu: {prefix}.{name} has no docstring")
            title = f"{prefix}.{name}"
            # Where a file's name has no case, a class and a function would have one page.
            twin = [other for other in public if other.lower() == name.lower()] != [name] and name != name.lower()
            page = title.removeprefix("masu.") + ("-class" if twin else "")
            pages.append(page)
            group = TITLES.get(name, TITLES.get(home, OTHERS)) if prefix == "masu" else FILES if prefix == "masu.io" else DASK
            groups.setdefault(group, []).append(f"| [{title}]({page}.rst) | {first_sentence(about)} |\n")
            write(f"python/masu/{page}.rst", f"{title}\n{'=' * len(title)}\n\n.. py:currentmodule:: {prefix}\n\n.. highlight:: python\n\n{text}")
    order = [group for group in (*dict.fromkeys(TITLES.values()), OTHERS, FILES, DASK) if group in groups]
    table = "".join(f"\n## {group}\n\n| name | |\n| --- | --- |\n{''.join(groups[group])}" for group in order)
    write("python/masu/index.md", "# Python reference\n\nEvery public name of the package, with its docstring.\n" + table
          + "\n```{toctree}\n:hidden:\n\n" + "\n".join(sorted(pages, key=lambda page: (page.partition(".")[0] if "." in page else "", page.lower()))) + "\n```\n")
