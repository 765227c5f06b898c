# SPDX-License-Identifier: Apache-2.0
"""What makes the site, on small inputs: `python -m unittest` in this folder."""
import ast
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import check
import extension
import headers
import python_api
import stage

SOURCE = '''
void register_device(nb::module_& m) {
  nb::class_<Device>(m, "Device", "A device: \\"cpu\\", \\n"
                     "or another.")  // of "m"
      .def("__init__", [](Device* self, const std::string& id) { new (self) Device(f(id, "(")); }, nb::arg("id"))
      .def_prop_ro("name", &Device::name, "its name")
      .def("trim", [](const Device& self) { self.trim(); }, nb::arg("a"), nb::arg("b"), "Frees memory.")
      .def("__hash__", [](const Device& self) { return 1; });
  m.def("devices", [] { return list(); }, "All devices.");
}
'''
PACKAGE = '''
_SHARED = "shared words"
_MORE = f"""{_SHARED}, more"""
class Base:
    def given(self, x=_NoValue, *, y=(1, 2)):
        """Given by the base."""
    def over(self):
        """What is overridden."""
class Public(Base):
    __doc__ = f"""The first sentence. The second.

    {_MORE}.

    >>> 1
    1
    """
    def __init__(self, a, b=None): pass
    def over(self): pass
    def _hidden(self):
        """Not shown."""
    @property
    def size(self):
        """How many."""
    @classmethod
    def of(cls, a):
        """Of `masu.sort` and `other`."""
'''


class Repository:
    """A repository with the files given, in a folder that is removed."""

    def __init__(self, files):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name) / "repository"
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text, encoding="utf-8")
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)


class Links(unittest.TestCase):
    def staged(self, page, navigation="[Start]\ndocs/*.md\n", **files):
        made = Repository({"docs/a.md": page, "tools/site/navigation.txt": navigation, "README.md": "# r\n", "src/x.cl": "kernel\n",
                           "docs/image.svg": "<svg/>", "examples/one.c": "", **files})
        self.addCleanup(made.folder.cleanup)
        site = stage.Stage(made.root, made.root.parent / "pages")
        return site, site.linked("docs/a.md", "docs/a.md", page)

    def test_a_link_leads_to_the_page_of_its_file(self):
        _, text = self.staged("[r](../README.md#x) [k](../src/x.cl) ![i](image.svg) [f](../examples) [u](https://x.example/a.md) [h](#b)")
        self.assertEqual("[r](../index.md#x) [k](../src/x.cl.md) ![i](image.svg) [f](../examples/index.md) [u](https://x.example/a.md) [h](#b)", text)

    def test_code_keeps_its_links(self):
        page = "`[k](../src/x.cl)` ``a ` [k](../src/x.cl)``\n```sh\n[k](../src/x.cl)\n```\n[k](../src/x.cl)\n"
        _, text = self.staged(page)
        self.assertEqual(page.rpartition("[k]")[0] + "[k](../src/x.cl.md)\n", text)

    def test_a_link_to_nothing_is_a_mistake(self):
        for target in ("missing.md", "../src/none.cl", "../src/notes.md", "../../outside.md"):
            site, _ = self.staged(f"[x]({target})", **{"src/notes.md": "# a page that is not in the navigation\n"})
            self.assertEqual(1, len(site.problems), target)

    def test_every_page_of_docs_has_a_place(self):
        site, _ = self.staged("x", navigation="[Start]\ndocs/b.md\n", **{"docs/b.md": "# b\n"})
        self.assertEqual(["docs/a.md is not in tools/site/navigation.txt"], site.missing())

    def test_a_place_without_a_page_is_a_mistake(self):
        site, _ = self.staged("x", navigation="[Start]\ndocs/*.md\ndocs/none.md\n")
        self.assertEqual(["tools/site/navigation.txt: no file is docs/none.md"], site.problems)


class Check(unittest.TestCase):
    def test_links_of_a_site(self):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder)
            (site / "a.html").write_text('<h1 id="top">a</h1><a href="b.html#there">x</a><a href="#top">y</a><a href="https://x.example">z</a>')
            (site / "b.html").write_text('<p id="there"><a href="a.html#gone">x</a><a href="c.html">y</a><img src="//x.example/i.png"></p>')
            (site / "c.css").write_text('a { background: url("https://x.example/i.png"); }')
            problems, count = check.links(site)
            self.assertEqual(5, count)
            self.assertEqual(["b.html: loads //x.example/i.png, which is not of the site", "b.html: a.html#gone is no place of that page",
                              "b.html: c.html leads nowhere", "b.html: //x.example/i.png leads nowhere", "c.css: loads https://x.example/i.png"], problems)

    def test_code_blocks(self):
        for language, good, bad in (("sh", "masu sort <file> -o [out…]", "if true"), ("python", ">>> f(1)\n2\n", "f(1"), ("json", "[1]", "[1"),
                                    ("toml", "a = 1", "a = "), ("", "anything (", None)):
            self.assertEqual("", check.mistake(language, good), language)
            if bad:
                self.assertNotEqual("", check.mistake(language, bad), language)
        self.assertEqual([("sh", "a\n"), ("", "b\n")], list(check.blocks("```sh\na\n```\n- x\n\n  ```\n  b\n  ```\n")))


class Python(unittest.TestCase):
    def setUp(self):
        module = ast.parse(PACKAGE)
        definitions = {node.name: (module, node) for node in module.body if isinstance(node, ast.ClassDef)}
        self.text = python_api.described("Public", definitions["Public"][1], module, definitions)
        self.about = python_api.docstring(definitions["Public"][1], module)

    def test_docstrings_are_put_together(self):
        self.assertIn("shared words, more.", self.text)
        self.assertEqual("The first sentence", python_api.first_sentence(self.about))

    def test_members(self):
        for shown in (".. py:class:: Public(a, b=None)", ".. py:method:: given(x=..., *, y=(1, 2))", ".. py:property:: size",
                      ".. py:method:: of(a)\n      :classmethod:", ":py:obj:`masu.sort` and `other`", "What is overridden."):
            self.assertIn(shown, self.text)
        for hidden in ("_hidden", "__init__", "cls"):
            self.assertNotIn(hidden, self.text)

    def test_the_extension(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "device.cpp").write_text(SOURCE)
            found = extension.described(pathlib.Path(folder))
        self.assertEqual(["Device", "devices"], sorted(found))
        self.assertEqual('A device: "cpu", \nor another.', found["Device"][0])
        for shown in (".. py:class:: Device(id)", ".. py:property:: name\n\n      its name", ".. py:method:: trim(a, b)\n\n      Frees memory."):
            self.assertIn(shown, found["Device"][1])
        self.assertEqual("All devices.", found["devices"][0])


class Cpp(unittest.TestCase):
    def words(self, xml):
        return headers.paragraphs(ElementTree.fromstring(f"<d>{xml}</d>")).strip()

    def test_descriptions(self):
        for xml, text in (("<para>a <computeroutput>b</computeroutput>s, *</para>", "a ``b``\\ s, \\*"), ("<para><bold>A.</bold> B</para>", "**A.** B"),
                          ("<para>a<itemizedlist><listitem><para>b</para></listitem></itemizedlist></para>", "a\n\n* b"),
                          ("<para><programlisting><codeline><highlight>f<sp/>(x)</highlight></codeline></programlisting>c</para>",
                           ".. code-block:: cpp\n   :force:\n\n   f (x)\n\nc")):
            self.assertEqual(text, self.words(xml))
        with self.assertRaises(SystemExit):
            self.words("<para><formula>x</formula></para>")

    def test_a_declaration_that_sphinx_does_not_read_is_code(self):
        self.assertTrue(headers.directive("function", "int f(int a)", "").startswith(".. cpp:function:: int f(int a)"))
        self.assertTrue(headers.directive("var", "T a = {.b = C::d}", "").startswith(".. code-block:: cpp"))


if __name__ == "__main__":
    unittest.main()
