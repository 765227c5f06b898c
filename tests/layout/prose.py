# SPDX-License-Identifier: Apache-2.0
"""Sentences of what people read: of pages in Markdown, of comments in headers, of help. What `words_test.py` counts."""
import ast
import re

MOST_WORDS = 25


def plain(text):
    """Without what is no word of a sentence: addresses of links, marks; code is one word."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"(`+)(.+?)\1", "code", text, flags=re.S)
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"!?\[([^]]*)\]\[[^]]*\]", r"\1", text)
    return re.sub(r"https?://\S+", "address", text.replace("**", "").replace("*", ""))


def sentences(block):
    """The sentences of one paragraph: they end at a full stop, a question mark or an exclamation mark, and at nothing else."""
    text = " ".join(plain(block).split())
    return [s for s in re.split(r"(?<=[.!?])[\"”)\]]*\s+", text) if s]


def words(sentence):
    """How many words a sentence has: runs of letters and digits, with what joins them (`dtype's`, `two-dimensional`, `1,000`)."""
    return len(re.findall(r"\w+(?:[-'’.,/^:_=]\w+)*", sentence))


def long_sentences(blocks):
    return [s for block in blocks for s in sentences(block) if words(s) > MOST_WORDS]


def of_markdown(text):
    """The paragraphs and items of a page: no code, tables, headings, pictures."""
    text = re.sub(r"^([ >]*)(```|~~~).*?^\1\2[ ]*$", "\n\n", text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", "\n\n", text, flags=re.S)
    blocks = [[]]
    for line in text.splitlines():
        if not line.strip() or re.match(r"\s*(?:\||#{1,6} |!\[|<[a-z/])", line) or (not blocks[-1] and line.startswith("    ")):
            blocks.append([])
        elif re.match(r"\s*(?:[-*+]|\d+[.)]) ", line):
            blocks.append([re.sub(r"^\s*(?:[-*+]|\d+[.)]) ", "", line)])
        else:
            blocks[-1].append(line)
    return [" ".join(block) for block in blocks if block]


def of_header(text):
    """The comments of C and C++ code: a paragraph is consecutive lines of them."""
    text = re.sub(r"^\s*//+ ?[@\\]code.*?[@\\]endcode", "", text, flags=re.M | re.S)
    blocks, open_comment, column = [], False, 0
    for line in text.splitlines():
        comment = re.match(r'((?:[^"/]|"(?:[^"\\]|\\.)*"|/(?![/*]))*)(?://[/!]?<?|/\*\*?<?|^\s*\*(?!/))(.*?)(?:\*/)?$', line)
        if not comment:
            open_comment = False
            continue
        code, said = comment.group(1).strip(), comment.group(2).strip()
        if not said or said.startswith("SPDX") or re.match(r"[@\\]file\b", said):
            open_comment = False
            continue
        item = re.match(r"(?:- |[@\\](?:param|return|throws)\b)", said)
        if code or item or not open_comment or (column and comment.start(2) < column):  # ends one that stood behind code
            blocks.append("")
            column = comment.start(2) if code else 0
        blocks[-1] += " " + re.sub(r"^- ", "", said)
        open_comment = True
    return [block.strip() for block in blocks]


def of_help(text):
    """The sentences of a page of help: of its paragraphs, and of what stands to the right of each name."""
    blocks, example = [[]], False
    for line in text.splitlines():
        entry = re.match(r"  ?\S.*?(?:\s{2,}(\S.*))?$", line)
        if not line.strip() or re.match(r"\S.*:$", line):
            example = line.startswith("Examples") if line.strip() else example
            blocks.append([])
        elif example or line.startswith(("Usage:", "       ")) and not line.startswith(" " * 20):
            continue
        elif entry and line.startswith("  "):
            blocks.append([entry.group(1) or ""])
        else:
            blocks[-1].append(line.strip())
    return [" ".join(block) for block in blocks if block]


def of_docstrings(text):
    """The docstrings of Python code: no examples, no headings, no names of parameters with their types."""
    found = [ast.get_docstring(node) for node in ast.walk(ast.parse(text))
             if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))]
    blocks = []
    for doc in filter(None, found):
        doc = re.sub(r"^ *>>> .*?(?=^ *$|\Z)", "", doc, flags=re.M | re.S)
        doc = re.sub(r"^( *).*\n\1-{3,}$", "\n", doc, flags=re.M)
        doc = re.sub(r"^(\S.*)\n(?=    \S)", r"\n\1\n\n", doc, flags=re.M)  # a parameter's name, above what it is
        blocks += of_markdown(re.sub(r"^[\w*, ]+ : .*$", "\n", doc, flags=re.M).replace("\n    ", "\n"))
    return blocks
