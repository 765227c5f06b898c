# SPDX-License-Identifier: Apache-2.0
"""Checks a site that was made: `check.py <repository> <site>`. Every link and image leads to a file and a place of the site,
nothing is loaded from another host, and the code blocks of the pages of docs/ are read by their languages."""
import json
import pathlib
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from urllib.parse import unquote


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.places, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.places.update(given[name] for name in ("id", "name") if given.get(name))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag in ("img", "script", "iframe", "source") and given.get("src"):
            self.loaded.append(given["src"])
        elif tag == "link" and given.get("href") and given.get("rel") not in ("next", "prev", "canonical"):
            self.loaded.append(given["href"])


def links(site):
    """Mistakes of links, and how many links there are."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    problems, count = [], 0
    for path, page in pages.items():
        name = path.relative_to(site)
        for target in page.loaded:
            if "//" in target or target.startswith("/"):
                problems.append(f"{name}: loads {target}, which is not of the site")
        for target in page.links + page.loaded:
            if re.match(r"[a-z+]+:", target):
                continue
            count += 1
            file, _, place = target.partition("#")
            to = (path.parent / unquote(file.partition("?")[0])).resolve() if file else path
            if target.startswith("/") or not to.exists():
                problems.append(f"{name}: {target} leads nowhere")
            elif place and to in pages and unquote(place) not in pages[to].places:
                problems.append(f"{name}: {target} is no place of that page")
    for path in site.rglob("*.css"):
        for target in re.findall(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)", path.read_text(encoding="utf-8")):
            if re.match(r"(https?:)?//", "".join(target)):
                problems.append(f"{path.relative_to(site)}: loads {''.join(target)}")
    return problems, count


def blocks(text):
    """(language, code) of each block."""
    for match in re.finditer(r"^( *)(```+)(\S*)[^\n]*\n(.*?)^\1\2[ \t]*$", text, re.M | re.S):
        yield match[3], re.sub(rf"^{match[1]}", "", match[4], flags=re.M)


def mistake(language, code):
    """What is wrong with a block of code, or nothing."""
    if language in ("sh", "bash"):
        done = subprocess.run(["bash", "-n"], input=re.sub(r"<[\w ]+>|\[[^\]\n]*…\]|…", "X", code), capture_output=True, text=True)
        return done.stderr
    try:
        if language == "json":
            json.loads(code)
        elif language == "toml":
            tomllib.loads(code)
        elif language in ("py", "python"):
            if ">>>" in code:
                lines = [line[4:] for line in code.splitlines() if re.match(r"(>>>|\.\.\.)( |$)", line)]
                code = "\n".join(lines)
            compile(code, "block", "exec")
    except (ValueError, SyntaxError) as error:
        return str(error)
    return ""


def main(root, site):
    problems, count = links(site)
    found = 0
    for path in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        for number, (language, code) in enumerate(blocks(path.read_text(encoding="utf-8")), 1):
            found += language != ""
            if wrong := mistake(language, code):
                problems.append(f"{path.relative_to(root)}: block {number}, {language}: {wrong.strip()}")
    print(f"{len(list(site.rglob('*.html')))} pages, {count} links, {found} code blocks, {len(problems)} mistakes")
    print(*problems, sep="\n", end="\n" if problems else "")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
