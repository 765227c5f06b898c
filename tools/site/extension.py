# SPDX-License-Identifier: Apache-2.0
"""Docstrings of what the extension module defines, read from its sources."""
import re

# A string, a comment, or one character of code.
TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|//[^\n]*|\'(?:[^\'\\]|\\.)\'|.', re.S)


def arguments(text, start):
    """(the arguments of a call whose parenthesis opens at `start`, the place after it). Strings are given as tuples of one."""
    found, depth, now, at = [], 0, [], start
    while True:
        match = TOKEN.match(text, at)
        at, token = match.end(), match[0]
        depth += (token in "([{" and len(token) == 1) - (token in ")]}" and len(token) == 1)
        if depth == 0 or (depth == 1 and token == ","):
            pieces = [one for one in now if isinstance(one, tuple) or one.strip()]
            whole = all(isinstance(one, tuple) for one in pieces)
            found.append(("".join(one[0] for one in pieces),) if whole and pieces else
                         "".join(one if isinstance(one, str) else f'"{one[0]}"' for one in now).strip())
            now = []
            if depth == 0:
                return found, at
        elif match[1] is not None:
            now.append((match[1].encode().decode("unicode_escape"),))
        elif depth > 1 or token != "(":
            now.append("" if token.startswith("//") else token)


def about(given):
    """The docstring among a definition's arguments."""
    return next((one[0] for one in reversed(given[1:]) if isinstance(one, tuple)), "")


def parameters(given):
    return "(" + ", ".join(re.findall(r'nb::arg\("(\w+)"\)', " ".join(one for one in given if isinstance(one, str)))) + ")"


def described(folder):
    """By the names of classes and functions: (docstring, the page's text)."""
    found = {}
    for path in sorted(folder.glob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"nb::class_<[^;(]*?>(?=\()|nb::class_<[^;(]*?>\s*(?=\(\s*m,)|\bm\.def(?=\()", text):
            given, at = arguments(text, match.end())
            if match[0] == "m.def":
                name, doc = given[0][0], about(given)
                found[name] = doc, f".. py:function:: {name}{parameters(given)}\n\n   {doc}\n"
                continue
            if not isinstance(given[1], tuple):
                continue
            name, doc, inside = given[1][0], about(given[1:]), ""
            made = ""
            while (call := re.compile(r"(?:\s|//[^\n]*)*\.(def\w*)(?=\()").match(text, at)):
                of, at = arguments(text, call.end())
                member = of[0][0] if isinstance(of[0], tuple) else ""
                if member == "__init__":
                    made = parameters(of)
                if not member or member[0] == "_":
                    continue
                kind = "property" if call[1] in ("def_ro", "def_prop_ro", "def_rw", "def_prop_rw") else "method"
                inside += f"   .. py:{kind}:: {member}{parameters(of) if kind == 'method' else ''}\n\n      {about(of)}\n\n"
            doc_lines = doc.replace("\n", "\n   ")
            found[name] = doc, f".. py:class:: {name}{made}\n\n   {doc_lines}\n\n{inside}"
    return found
