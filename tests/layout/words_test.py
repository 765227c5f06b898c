# SPDX-License-Identifier: Apache-2.0
"""Checks what can be checked of the style of texts: the length of sentences, and words that have a better one."""
import re
import unittest

import prose
from layout_test import FILES, ROOT, name, read

PAGES = [p for p in FILES if name(p) == "README.md" or (p.parent == ROOT / "docs" and p.suffix == ".md")]
HEADERS = [p for p in FILES if name(p).startswith("include/") and p.suffix == ".h"]
# Phrases that readers stumbled over, and what to write instead.
INSTEAD = {
    r"help who comes?": "help users who come from",
    r"\basks? for a stream without": "asks for a stream without timing events",
    r"has no user\b": "no pending work uses it",
    r"are no whole number of": "must be a multiple of",
    r"must not fall\b": "must be non-decreasing",
    r"^Who \w+ (?!.*\?)": "name the subject",
    r"\b(?:is|are|be|was|were) told\b": "is published; is given; is reported",
    r"parts no values": "does not partition the values",
    r"values that go along|companion values": "payload",
    r"what is equal keeps its order": "equal keys keep their order",
    r"nobody (?:sees|looks|asks|can see)": "say what does not depend on it",
    r"\bfrom a multiple of \d+(?: bytes)? on\b": "aligned to N bytes",
    r"\b(?:each|all|those) for (?:itself|themselves)\b": "each separately",
    r"\bas many as it is wide\b|\bof so many\b|\bso much of the data\b": "at most N, N of them",
    r"\b(?:was|were|is|are) asked for\b": "requested",
    r"tests of every day": "the everyday tests",
    r"calls in Python behind each other": "Python calls back to back",
    r"in rounds of as many": "is split",
    r"it is NumPy's error": "it raises the same error as NumPy",
    r"as many values as keys, got": "the number of values must equal the number of keys",
    r"\bVALUE_BYTES\b|\bKEY_BYTES\b": "element size, MASU_ELEMENT_BYTES",
}


ROOMS = [p for p in FILES if p.name == "README.md" and p not in PAGES]
DOCSTRINGS = [p for p in FILES if name(p).startswith("python/masu/") and p.suffix == ".py"]
KINDS = {".md": prose.of_markdown, ".h": prose.of_header, ".py": prose.of_docstrings}


def blocks(path):
    return KINDS[path.suffix](read(path))


class Words(unittest.TestCase):
    def test_sentences_are_counted(self):
        long = " ".join(["word"] * 26)
        for text, lengths in (("One. Two words! `a. b c` is one.", [1, 2, 3]), ("See [the page](a/b.md). 1,000 f32's.", [3, 2]),
                              ("No end: a; b, c (d, e) f", [8]), ("", [])):
            self.assertEqual(lengths, [prose.words(s) for s in prose.sentences(text)], text)
        page = f"# {long}\n\n| {long} |\n\n```sh\n{long}\n```\n    {long}\n\n- item\n- item\n\n{long}.\nEnd."
        self.assertEqual([f"{long}."], prose.long_sentences(prose.of_markdown(page)))
        header = f'/// One\n/// line.\nint a;  ///< {long}\n        ///< on\nauto b = "// {long}";\n/// @code\n/// {long}\n/// @endcode\n'
        self.assertEqual(["One line.", f"{long} on"], prose.of_header(header))
        code = f'"""One\nline.\n\n>>> {long}\n{long}\n\nHead\n----\nx : {long}\n    {long}.\ny, z\n    Last.\n"""\nx = "{long}"\n'
        self.assertEqual(["One line.", f"{long}.", "y, z", "Last."], prose.of_docstrings(code))
        page = f"Usage: masu x\nA text\nof two lines.\n\nOptions:\n  --a, -b     {long}\n{' ' * 24}more\n  --c         text\n\nExamples:\n  masu {long}\n"
        self.assertEqual(["A text of two lines.", f"{long} more", "text"], prose.of_help(page))

    def test_sentences_are_short(self):
        self.assertGreater(len(PAGES), 30)
        self.assertGreater(sum(len(blocks(p)) for p in HEADERS), 900)
        self.assertGreater(sum(len(blocks(p)) for p in DOCSTRINGS), 700)
        self.assertGreater(sum(len(blocks(p)) for p in ROOMS), 200)
        self.assertEqual([], [f"{name(p)}: {prose.words(s)} words, at most {prose.MOST_WORDS}: {s}"
                              for p in PAGES + HEADERS + DOCSTRINGS + ROOMS for s in prose.long_sentences(blocks(p))])

    def test_words_are_the_fields(self):
        self.assertEqual([], [f"{name(p)}: {found.group()}: instead: {better}" for p in PAGES + HEADERS + DOCSTRINGS + ROOMS for block in blocks(p)
                              for text in prose.sentences(block) for worse, better in INSTEAD.items()
                              if (found := re.search(worse, text, re.I))])

    def test_pages_for_users_have_no_microseconds(self):
        """Times of calls stand on the page of performance; a µs elsewhere is a property of the data, such as a date's."""
        self.assertEqual([], [f"{name(p)}: {s}" for p in PAGES if p.name != "performance.md" for block in blocks(p)
                              for s in prose.sentences(block) if "µs" in s and not re.search(r"instant|date", s)])


if __name__ == "__main__":
    unittest.main()
