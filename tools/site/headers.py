# SPDX-License-Identifier: Apache-2.0
"""The C++ reference: a page for each public header, from what Doxygen reads in them."""
import functools
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

from sphinx.domains.cpp import DefinitionError, DefinitionParser
from sphinx.util.cfamily import UnsupportedMultiCharacterCharLiteral

FOLDERS = ("include/masu", "distributed/mpi/include/masu")
WORDS = {"mdash": "–", "ndash": "–", "hellip": "…", "sp": " ", "linebreak": "\n", "nonbreakablespace": " "}
NOTES = {"return": "Returns: ", "note": "Note: ", "see": "See "}
MEMBERS = {"public-type", "public-func", "public-static-func", "public-attrib", "public-static-attrib", "user-defined"}


@functools.cache
def public(root):
    """Paths of the public headers; what the headers of a folder below are made of stands on the pages of these."""
    return [str(path.relative_to(root)) for folder in FOLDERS for path in sorted((root / folder).glob("*.h"))]


def escaped(text):
    return re.sub(r"([*`|\\]|_(?=\W|$))", r"\\\1", text or "")


def literal(text):
    return f"``{text}``" if text.strip() == text and text else escaped(text)


def joined(before, mark):
    """reStructuredText asks for a space, or an escaped one, around marked words."""
    return ("\\ " if before and not before[-1].isspace() and before[-1] not in "([{\"'/-–" else "") + mark


def inline(node):
    """Words of a paragraph."""
    text = escaped(node.text)
    for one in node:
        inside = "".join(one.itertext())
        if one.tag == "computeroutput":
            mark = literal(inside)
        elif one.tag in ("bold", "emphasis"):
            stars = "**" if one.tag == "bold" else "*"
            mark = f"{stars}{escaped(inside.strip())}{stars}" if inside.strip() else ""
        elif one.tag == "ulink":
            mark = f"`{escaped(inside)} <{one.get('url')}>`__"
        elif one.tag in WORDS:
            text += WORDS[one.tag] + escaped(one.tail)
            continue
        elif one.tag == "ref":
            text += escaped(inside) + escaped(one.tail)
            continue
        else:
            raise SystemExit(f"tools/site/headers.py: no words for Doxygen's <{one.tag}>: {inside}")
        text += joined(text, mark)
        if one.tail:
            text += ("\\ " if mark and not one.tail[0].isspace() and one.tail[0] not in ".,:;!?)]}\"'/-–" else "") + escaped(one.tail)
    return text


BLOCKS = {"programlisting", "itemizedlist", "orderedlist", "simplesect", "parameterlist", "verbatim"}


def indented(text, by=3):
    return re.sub(r"^(?=.)", " " * by, text, flags=re.M)


def code(node):
    """The lines of an example."""
    def line(one):
        text = one.text or ""
        for child in one:
            text += (" " if child.tag == "sp" else line(child)) + (child.tail or "")
        return text
    return "\n".join(line(one) for one in node.findall("codeline"))


def paragraphs(node):
    """A description as reStructuredText."""
    text = ""
    for para in [node] if node.tag == "para" else list(node):
        if para.tag != "para":
            raise SystemExit(f"tools/site/headers.py: no paragraph for Doxygen's <{para.tag}>")
        words = ElementTree.Element("para")
        words.text = para.text
        blocks = ""

        def flush(words=words):
            return inline(words).strip() + "\n\n" if inline(words).strip() else ""
        for one in para:
            if one.tag not in BLOCKS:
                words.append(one)
                continue
            blocks += flush(words)
            if one.tag == "programlisting":
                blocks += f".. code-block:: cpp\n   :force:\n\n{indented(code(one))}\n\n"
            elif one.tag in ("itemizedlist", "orderedlist"):
                mark = "* " if one.tag == "itemizedlist" else "#. "
                for item in one:
                    blocks += mark + indented(paragraphs(item), len(mark)).lstrip() + "\n"
                blocks += "\n"
            elif one.tag == "simplesect":
                blocks += NOTES.get(one.get("kind"), "") + paragraphs(one)
            elif one.tag == "verbatim":
                blocks += f"::\n\n{indented(one.text)}\n\n"
            else:
                for item in one:
                    names = ", ".join(literal("".join(name.itertext())) for name in item.iter("parametername"))
                    blocks += f"* {names}: " + indented(paragraphs(item.find("parameterdescription")), 2).lstrip()
            words.clear()
            words.text = one.tail
        text += blocks + flush(words)
    return text


def description(node):
    return "".join(paragraphs(node.find(part)) for part in ("briefdescription", "detaileddescription") if node.find(part) is not None)


def plain(node, part):
    found = node.find(part)
    return " ".join("".join(found.itertext()).split()) if found is not None else ""


def template(node):
    parameters = node.find("templateparamlist")
    if parameters is None:
        return ""
    shown = []
    for one in parameters:
        name, default = plain(one, "declname"), plain(one, "defval")
        shown.append(f"{plain(one, 'type')} {name}".strip() + (f" = {default}" if default else ""))
    return f"template<{', '.join(shown)}> "


def directive(kind, declaration, body):
    """A declaration of Sphinx's C++ domain; what its parser does not read is shown as code."""
    parsed = {"struct": "class", "enum-class": "enum", "var": "member"}.get(kind, kind)
    parser = DefinitionParser(declaration, location=None, config=type("Config", (), {
        "cpp_id_attributes": [], "cpp_paren_attributes": [], "strip_signature_backslash": False})())
    try:
        parser.parse_declaration(parsed, kind)
        parser.assert_end()
    except (DefinitionError, UnsupportedMultiCharacterCharLiteral):
        return f".. code-block:: cpp\n\n   {declaration}\n\n{indented(body)}\n"
    return f".. cpp:{kind}:: {declaration}\n\n{indented(body)}\n"


def number(node):
    """The number that an enumerator is given, where it is given one."""
    value = plain(node, "initializer")
    return f" {value}" if re.fullmatch(r"= -?\d+", value) else ""


def member(node, prefix):
    """A function, a value, a name for a type, or an enumeration."""
    kind, name = node.get("kind"), plain(node, "name")
    if kind in ("friend", "define") or plain(node, "argsstring").endswith(("=delete", "= delete")):
        return ""
    body = description(node)
    qualified = f"{prefix}::{name}" if prefix else name
    if kind == "enum":
        if not name or name.startswith("@"):
            qualified = f"{prefix}::@{line(node)}" if prefix else f"@{line(node)}"
        body += "".join(f".. cpp:enumerator:: {plain(one, 'name')}{number(one)}\n\n{indented(description(one))}\n" for one in node.findall("enumvalue"))
        return directive("enum-class" if node.get("strong") == "yes" else "enum", qualified, body)
    if kind == "typedef":
        return directive("type", f"{template(node)}{qualified} = {plain(node, 'type')}", body)
    if kind == "variable":
        value = plain(node, "initializer")
        value = f" {value}" if len(value) <= 60 else ""
        static = "static " if node.get("static") == "yes" else ""
        fixed = "constexpr " if node.get("constexpr") == "yes" and "constexpr" not in plain(node, "type") else ""
        return directive("var", f"{template(node)}{static}{fixed}{plain(node, 'type')} {qualified}{plain(node, 'argsstring')}{value}", body)
    words = "".join(f"{word} " for word in ("static", "explicit") if node.get(word) == "yes")
    clause = plain(node, "requiresclause")
    shown = f"{template(node)}{words}{plain(node, 'type')} {qualified}{plain(node, 'argsstring')}" + (f" requires {clause}" if clause else "")
    return directive("function", re.sub(r"\s+", " ", shown).replace("> >", ">>"), body)


def line(node):
    return int(node.find("location").get("line", 0))


class Reference:
    def __init__(self, folder):
        self.folder = folder
        index = ElementTree.parse(folder / "index.xml").getroot()
        self.files = {one.find("name").text: one.get("refid") for one in index if one.get("kind") == "file"}

    def compound(self, refid):
        return ElementTree.parse(self.folder / f"{refid}.xml").getroot().find("compounddef")

    def about(self, name):
        """What the header says of itself, its first sentence."""
        node = self.compound(self.files[name])
        words = next((plain(node.find(part), "para") for part in ("briefdescription", "detaileddescription")
                      if node.find(f"{part}/para") is not None), "")
        if not words:
            raise SystemExit(f"{name}: the header says nothing of itself after @file")
        return re.split(r"(?<=\.) ", words)[0].rstrip(".:")

    def record(self, refid, prefix=None):
        """A class with its public members, in the header's order."""
        node = self.compound(refid)
        if node.get("prot") == "private":
            return ""
        name = node.find("compoundname").text
        bases = [base.text for base in node.findall("basecompoundref") if base.get("prot") == "public" and "detail::" not in base.text]
        inner = [(line(self.compound(one.get("refid"))), self.record(one.get("refid"))) for one in node.findall("innerclass")
                 if one.get("prot") == "public"]
        found = [(line(one), member(one, "")) for section in node.findall("sectiondef") if section.get("kind") in MEMBERS
                 for one in section.findall("memberdef") if one.get("prot") == "public"]
        body = description(node) + "".join(text for _, text in sorted(inner + found, key=lambda one: one[0]))
        shown = name.rpartition("::")[2] if prefix is None else name
        return directive(node.get("kind"), f"{template(node)}{shown}" + (f" : public {', public '.join(bases)}" if bases else ""), body)

    def page(self, name):
        """A header's contract and declarations."""
        node = self.compound(self.files[name])
        records = {one.get("refid"): one.text for one in node.findall("innerclass")}
        top = {refid: record for refid, record in records.items() if record.rpartition("::")[0] not in records.values()
               and "detail" not in record.split("::") and not record.startswith("std::")}
        found = [(line(self.compound(refid)), self.record(refid, "")) for refid in top]
        spaces = [self.compound(one.get("refid")) for one in node.findall("innernamespace") if "detail" not in one.text.split("::")]
        for space in [node, *spaces]:
            prefix = "" if space is node else space.find("compoundname").text
            found += [(line(one), member(one, prefix)) for one in space.findall("sectiondef/memberdef")
                      if pathlib.Path(one.find("location").get("file")).name == name]
        return description(node) + "".join(text for _, text in sorted(found, key=lambda one: one[0]))


def flat(name):
    """Doxygen knows files by their names without folders."""
    return name.removeprefix("masu/").replace("/", ".")


def stage(root, work, write):
    """Writes the pages. Doxygen reads copies of the headers in which every rule of a comment is a paragraph."""
    copies = work / "include"
    shutil.rmtree(copies, ignore_errors=True)
    shutil.copytree(root / "include/masu", copies / "masu", ignore=shutil.ignore_patterns("*.h"))
    headers = {f"masu/{path.relative_to(root / folder)}": path for folder in FOLDERS for path in sorted((root / folder).rglob("*.h"))}
    for short, path in headers.items():
        text = re.sub(r"^(\s*///| \*) (?=\*\*\w|Example)", r"\1\n\1 ", path.read_text(encoding="utf-8"), flags=re.M)
        (copies / flat(short)).write_text(text, encoding="utf-8")
    shutil.rmtree(work / "doxygen", ignore_errors=True)
    subprocess.run(["doxygen", str(root / "tools/site/Doxyfile")], cwd=work, check=True)
    reference = Reference(work / "doxygen/xml")
    tables, names = {}, []
    for short, path in headers.items():
        page = str(path.relative_to(root))
        if page not in public(root):
            continue
        text = path.read_text(encoding="utf-8")
        parts = re.findall(r'#include [<"](masu/mpi/\w+\.h)', text)
        body = "".join(reference.page(flat(one)) for one in [short, *parts])
        write(f"{page}.rst", f"{path.name}\n{'=' * len(path.name)}\n\n.. code-block:: cpp\n\n   #include <{short}>\n\n{body}")
        names.append(f"../../{page}")
        tables.setdefault(path.parent, []).append(f"| [{path.name}](../../{page}.rst) | {reference.about(flat(short))} |\n")
    text = "".join(f"\n## {title}\n\n| header | |\n| --- | --- |\n{''.join(rows)}" for title, rows in zip(("The library", "Over MPI"), tables.values()))
    write("include/masu/index.md", "# C++ and C reference\n\nThe public headers. Each page has a header's contract, then its declarations.\n"
          + text + "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n")
