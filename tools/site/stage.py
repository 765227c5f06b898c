# SPDX-License-Identifier: Apache-2.0
"""Lays out the pages of the site for Sphinx: `stage.py <repository> <folder>`.

A page lies at its file's path. README.md is the first page. A link to a file that is no page leads to a page made for it: a
header to its reference, another file to its text, a folder to the list of its files. Links that lead nowhere end it.
"""
import glob
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

import headers
import python_api

LANGUAGES = {".py": "python", ".sh": "bash", ".json": "json", ".cpp": "cpp", ".h": "cpp", ".cl": "c", ".cu": "cpp"}
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\[\]]*\])*\])\(([^()\s]+)\)")
TEXT_BYTES = 200_000  # of a file that is shown


def prose(text, change):
    """The text, with `change` applied to each stretch that is not code."""
    parts = re.split(r"(^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$)", text, flags=re.M | re.S)
    for i in range(0, len(parts), 3):
        spans = re.split(r"((?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))", parts[i], flags=re.S)
        spans[::3] = map(change, spans[::3])
        parts[i] = "".join(span for at, span in enumerate(spans) if at % 3 < 2)
    return "".join(part for at, part in enumerate(parts) if at % 3 < 2)


class Stage:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.files = set(subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root, check=True,
                                        capture_output=True, text=True).stdout.splitlines())
        self.problems = []
        self.navigation, self.below = self.read_navigation()  # (heading, its pages) in order; by page, those below it
        self.pages = {page for _, pages in self.navigation for page in pages} | {page for pages in self.below.values() for page in pages}
        self.made = set()  # files with a page made for them

    def matching(self, pattern):
        if pattern.endswith("index"):
            return [pattern]
        found = sorted(path for path in glob.glob(pattern, root_dir=self.root) if path in self.files)
        if not found:
            self.problems.append(f"tools/site/navigation.txt: no file is {pattern}")
        return found

    def read_navigation(self):
        navigation, below = [], {}
        for line in (self.root / "tools/site/navigation.txt").read_text(encoding="utf-8").splitlines():
            if not line or line[0] == "#":
                continue
            if line[0] == "[":
                navigation.append((line.strip("[]"), []))
                continue
            pattern, _, children = line.partition(" > ")
            for page in self.matching(pattern):
                if not any(page in pages for pages in below.values()):
                    navigation[-1][1].append(page)
                folder = posixpath.dirname(page)
                found = [glob.glob(posixpath.join(folder, child), root_dir=self.root) for child in children.split()]
                found = sorted(path for paths in found for path in paths if path in self.files and path != page)
                if found:
                    below[page] = found
        return navigation, below

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def page_of(self, target):
        """The page's file for a file or folder of the repository, or None."""
        if target == "README.md":
            return "index.md"
        if target in self.pages:
            return target
        if (self.root / target).is_dir():
            readme = posixpath.join(target, "README.md")
            return readme if readme in self.pages else self.make(target, folder=True)
        if target in headers.public(self.root):
            return f"{target}.rst"
        if target.endswith(".md") or target not in self.files:
            return None
        return self.make(target)

    def make(self, target, folder=False):
        name = f"{target}/index.md" if folder else f"{target}.md"
        if target in self.made:
            return name
        self.made.add(target)
        if folder:
            inside = sorted(path for path in self.files if path.startswith(target + "/"))
            text = "\n".join(path[len(target) + 1:] for path in inside)
            language = "text"
        else:
            text = (self.root / target).read_text(encoding="utf-8")
            language = LANGUAGES.get(posixpath.splitext(target)[1], "text")
            if len(text) > TEXT_BYTES:
                text, language = text[:TEXT_BYTES].rpartition("\n")[0] + "\n…", "text"
        fence = "`" * 8
        self.write(name, f"---\norphan: true\n---\n# {target}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n")
        return name

    def linked(self, page, to, text):
        """The text of a page with its links leading to pages; `to`: the staged page's path."""
        def change(match):
            words, target = match.groups()
            if "://" in target or target.startswith(("#", "mailto:")):
                return match[0]
            path, _, place = target.partition("#")
            path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
            if path in self.files and path.endswith((".svg", ".png")):
                self.write_image(path)
                return match[0]
            found = self.page_of(path)
            if found is None:
                self.problems.append(f"{page}: {target} is no file, or a page that is not in tools/site/navigation.txt")
                return match[0]
            found = posixpath.relpath(found, posixpath.dirname(to) or ".")
            return f"{words}({found}{'#' + place if place else ''})"
        return prose(text, lambda span: LINK.sub(change, span))

    def write_image(self, path):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.root / path, self.folder / path)

    def tree(self, pages, from_page, caption=""):
        start = posixpath.dirname(from_page) or "."
        names = "\n".join(posixpath.relpath(posixpath.splitext(page)[0] if page.endswith(".md") else page, start) for page in pages)
        caption = f":caption: {caption}\n" if caption else ""
        return f"\n```{{toctree}}\n:hidden:\n{caption}\n{names}\n```\n"

    def missing(self):
        """Pages of docs/ without a place in the navigation."""
        return [f"{page} is not in tools/site/navigation.txt" for page in sorted(self.files)
                if re.fullmatch(r"docs/[^/]+\.md", page) and page not in self.pages]

    def run(self):
        self.problems += self.missing()
        for page in sorted(self.pages | {"README.md"}):
            if not page.endswith(".md"):
                continue
            to = "index.md" if page == "README.md" else page
            text = self.linked(page, to, (self.root / page).read_text(encoding="utf-8"))
            if page == "README.md":
                text += "".join(self.tree(pages, to, heading) for heading, pages in self.navigation if pages)
            if page in self.below:
                text += self.tree(self.below[page], to)
            self.write(to, text)
        headers.stage(self.root, self.folder.parent, self.write)
        python_api.stage(self.root, self.write)
        return self.problems


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[2]).resolve()
    shutil.rmtree(target, ignore_errors=True)
    problems = Stage(pathlib.Path(sys.argv[1]).resolve(), target).run()
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    sys.exit(bool(problems))
