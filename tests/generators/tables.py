#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random tables (table_cases.py), written by six libraries and by hand, read by masu and by five other readers.

    python tests/generators/tables.py --count 300 --seed 1

A fault is a value of masu that most of the readers do not have at its place, a value of theirs that masu left out without
counting it, and a crash. Errors of masu are counted by their words. EXPLAINED has the differences that follow a rule of
docs/inputs.md. Needs tests/generators/requirements.txt and the program masu_read_many.
"""
import collections
import json
import math
import os
import re
import subprocess
import sys
import zlib

import sources
import table_cases
import table_readers
import table_writers

# Differences from most readers that a rule asks for: the outcome and the line of docs/inputs.md, section Text.
EXPLAINED = {
    "row names": "a header that is one name short of the first line names the columns behind the rows' names",
    "ragged": "without a header, lines may have any number of fields: one that lacks the column is a bad line",
    "hash lines": "in files without a header, lines that begin with # are skipped",
}
NUMERIC_NAME = re.compile(r"\d+")


def first_line(text, skip_hash):
    """The first line that is not empty and not skipped, as the delimiter's rule sees it: outside quotes, up to its end."""
    at = 0
    while at < len(text):
        out, quoted, start = [], False, True
        while at < len(text):
            c = text[at]
            if quoted:
                if c == '"' and text[at + 1: at + 2] == '"':
                    at += 1
                elif c == '"':
                    quoted = False
            elif c == '"' and start:
                quoted = True
            elif c in "\r\n":
                break
            else:
                out.append(c)
            start = not quoted and c in "\t,;| "
            at += 1
        line = "".join(out)
        at += 1
        if line.strip(" ") and not (skip_hash and line.startswith("#")):
            return line
    return ""


def rule(case, text):
    """The delimiter that masu takes by itself, and whether that is the table's."""
    line = first_line(text, not case["header"])
    found = next((d for d in table_cases.CANDIDATES if d in line and not (d == "," == case["decimal"])), " ")
    if found == case["delimiter"]:
        return True
    return found == " " and len(case["columns"]) == 1 and not re.search(r"[ \t]", text) and '"' not in text


def written(case):
    """The columns as a hand wrote them; None where a library wrote."""
    if case["writer"] not in ("hand", "csv") or any(change[0] == "blanks" for change in case["changes"]):
        return None
    rows = table_writers.records(case)
    width = len(case["columns"])
    rows = rows[1:] if case["header"] else rows
    if ("row names",) in case["changes"]:
        rows = [row[1:] for row in rows]
    fits = [[len(row) == width if case["header"] else i < len(row) for i in range(width)] for row in rows]
    return [[table_readers.text_cell(row[i], case["decimal"]) if fit[i] else None for row, fit in zip(rows, fits)] for i in range(width)]


def key(column):
    """What readers are compared by: values, without the signs of zeros and the digits of whole numbers beyond f64."""
    def of(value):
        try:
            return None if value is None else float(value) + 0.0
        except OverflowError:
            return math.inf
    return tuple(of(value) for value in column)


def majority(columns, own):
    """The column that more than half of the readers have (at least two of them, or one and the writer)."""
    votes = collections.Counter(key(c) for c in columns.values())
    if votes:
        best, count = votes.most_common(1)[0]
        if count >= 2 and 2 * count > len(columns):
            return next(c for c in columns.values() if key(c) == best)
    if own is not None and any(key(c) == key(own) for c in columns.values()):
        return own
    return None


def values_of(answer):
    return [v for v in answer["elements"].tolist() if not (isinstance(v, float) and math.isnan(v))]


def record_marks(text):
    """Of each record that is not an empty line, whether it begins with #; None where such a record goes on in another line."""
    marks, quoted, start = [], False, True
    for c in text:
        if quoted:
            quoted = c != '"'
            if c in "\r\n" and marks[-1]:
                return None
        elif c == '"':
            quoted = True
        elif c in "\r\n":
            start = True
            continue
        if start:
            marks.append(c == "#")
            start = False
    return marks


def compare(answer, want, exact):
    """(outcome, fault or None) of a column: its numbers, their rows, and the count of what was left out."""
    if "crash" in answer:
        return "crash", answer["crash"]
    if "error" in answer:
        return "refused: " + in_general(answer["error"]), None
    got, theirs = values_of(answer), [v for v in want if v is not None]
    counted = len(answer["elements"]) + answer["bad"]
    if answer.get("rows", counted) != counted:
        return "rows not counted", f"{answer['rows']} places, {len(answer['elements'])} numbers and {answer['bad']} bad entries"
    if "places" in answer and counted == len(want):
        for place, value in zip(answer["places"], answer["elements"].tolist()):
            if place >= len(want) or key([value if value == value else None]) != key([want[place]]):
                return "another row", f"{value} in row {place} of {want[:20]}; places {answer['places'][:20]}"
    if key(got) == key(theirs):
        wrong = [(g, e) for g, e in zip(got, [v for v in exact or [] if v is not None]) if g != e]
        if exact is not None and len(got) == sum(v is not None for v in exact) and wrong:
            return "another value", f"{wrong[0][0]!r} of {wrong[0][1]!r}"
        if counted == len(want):
            return "same", None
        return "rows not counted", f"{len(answer['elements'])} numbers and {answer['bad']} bad entries of {len(want)} rows"
    rest = iter(key(theirs))
    if all(any(mine == other for other in rest) for mine in key(got)):
        if counted == len(want):
            return "left out, counted", None
        return "left out quietly", f"{got[:20]} of {theirs[:20]}, {answer['bad']} bad entries"
    return "another value", f"{got[:20]} for {theirs[:20]}, {answer['bad']} bad entries"


def in_general(error):
    """An error's words without names, numbers and values."""
    text = re.sub(r"^\S*masu-generators-\S*?: ", "", error)
    text = re.sub(r"; there are: .*", "", text, flags=re.S)
    text = re.sub(r"^column .*? has no number", "column … has no number", text, flags=re.S)
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", text)
    return re.sub(r"-?[0-9][0-9.,e+]*", "N", text)[:90]


class Checker:
    def __init__(self, masu, place):
        self.masu, self.place = masu, place
        self.command = os.environ.get("MASU", str(sources.ROOT / "build/release/masu"))

    def ask(self, case, path, plain, **options):
        asked = {"input": path, "header": case["header"], **options}
        if not (rule(case, plain) and not case["tell"]):
            asked["delimiter"] = "blanks" if case["delimiter"] == " " else case["delimiter"]
        if case["decimal"] != ".":
            asked["decimal"] = case["decimal"]
        for change in case["changes"]:
            if change[0] == "comments":
                asked["comment"] = change[1]
        return asked

    def check(self, case, counts):
        """Yields the faults of a case as (kind, text)."""
        try:
            whole = table_writers.write({**case, "compressed": ""})
            data = table_writers.write({**case, "compressed": "", "changes": [c for c in case["changes"] if c[0] not in ("hash line", "comments")]})
        except (table_writers.Refused, UnicodeEncodeError):
            counts.note("not written by " + case["writer"])
            return []
        path, mine = f"{self.place}/t.csv", f"{self.place}/m.csv" + (".gz" if case["compressed"] else "")
        with open(path, "wb") as file:
            file.write(data)
        with open(mine, "wb") as file:
            file.write(table_writers.write(case) if case["compressed"] else whole)
        plain = whole.decode("utf-8-sig")
        others = table_readers.read_all(case, data, path, case["quoting"] == "minimal")
        own = written(case)
        faults = []
        self.check_columns(case, mine, plain, others, own, counts, faults)
        return faults

    def check_columns(self, case, mine, plain, others, own, counts, faults):
        width = len(case["columns"])
        kinds = {change[0] for change in case["changes"]}
        if "row names" in kinds or "title" in kinds:
            others = {}
        for at in range(width):
            votes = {name: columns[at] for name, columns in others.items() if len(columns) == width}
            want = majority(votes, own[at] if own else None)
            if own and ("row names" in kinds or (not case["header"] and kinds & {"one more", "one less"})):
                want = own[at]  # EXPLAINED
            if case["header"] and case["names"][at] and case["names"].count(case["names"][at]) > 1 and "title" not in kinds:
                self.check_twice(case, mine, plain, at, counts, faults)
                continue
            self.check_ambiguous(case, mine, plain, at, counts, faults)
            asked = self.ask(case, mine, plain, column=self.name(case, at), places=True)
            answer = self.masu.read(**asked)
            if "title" in kinds:
                quiet = "error" not in answer and answer.get("bad", 0) == 0
                counts.note("title lines: " + ("quiet" if quiet else "said"))
                if quiet and len(case["columns"][0]) > 1:
                    faults.append(("title line", f"column {at + 1}: nothing was said: {answer}"))
                continue
            if want is None:
                counts.note("no majority")
                continue
            exact = votes.get("csv") or (own and own[at])
            if answer.get("row_names") and "row names" not in kinds:
                counts.note("by the rule: " + EXPLAINED["row names"])
                continue
            kept = self.not_skipped(plain, answer, kinds, len(want))
            if kept is None:
                counts.note("by the rule: " + EXPLAINED["hash lines"])
                continue
            want, exact = [want[i] for i in kept], exact and [exact[i] for i in kept if i < len(exact)]
            if sum(v is not None for v in want) == 0 and "error" in answer:
                counts.note("same: no number")
                continue
            outcome, fault = compare(answer, want, exact)
            counts.note(outcome, (asked, plain, answer.get("error")))
            if fault:
                faults.append((outcome, f"column {at + 1} as {asked}: {fault}; readers: { {n: c for n, c in votes.items()} }"))
            if "error" in answer or "crash" in answer:
                continue
            if case["parts"] > 1:
                self.check_parts(case, asked, answer, counts, faults)
            if zlib.crc32(plain.encode()) % 25 == 0:
                self.check_command(asked, answer, counts, faults)
        self.check_matrix(case, mine, plain, others, counts, faults, kinds)

    def check_twice(self, case, mine, plain, at, counts, faults):
        """A name of two columns is an error."""
        answer = self.masu.read(**self.ask(case, mine, plain, column=self.name(case, at)))
        counts.note("a name of two columns: " + ("an error" if "error" in answer else "read"), answer)
        if "error" not in answer:
            faults.append(("name of two columns", f"{case['names']}: {answer['elements'][:5]}, bad {answer['bad']}"))

    def name(self, case, at):
        """A column by its name, or by its number where there is no header; so that it can only be the one where it could be both."""
        name = case["names"][at]
        if not case["header"]:
            return str(at + 1)
        if not name:
            return f"number:{at + 1}"
        return f"name:{name}" if NUMERIC_NAME.fullmatch(name) else name

    def not_skipped(self, plain, answer, kinds, rows):
        """The rows of the other readers that masu has: without those that begin with #, where it says that it skipped them."""
        if not answer.get("comment_lines") or "comments" in kinds:
            return range(rows)
        more, hashes = "hash line" in kinds, record_marks(plain)
        if hashes is None:
            return None
        hashes = hashes[more:]
        if sum(hashes) + more != answer["comment_lines"] or len(hashes) != rows:
            return range(rows)
        return [row for row, mark in enumerate(hashes) if not mark]

    def check_ambiguous(self, case, mine, plain, at, counts, faults):
        """A number that is the name of another column is an error."""
        name = case["names"][at]
        if not case["header"] or not NUMERIC_NAME.fullmatch(name) or int(name) in (0, at + 1) or int(name) > len(case["names"]):
            return
        answer = self.masu.read(**self.ask(case, mine, plain, column=name))
        counts.note("a number that is a name: " + ("an error" if "error" in answer else "read"), answer)
        if "error" not in answer:
            faults.append(("ambiguous name", f"--column {name} of {case['names']} is no error"))

    def check_command(self, asked, answer, counts, faults):
        """The command gives the count, the sum's bits and the row of the greatest that the library gives."""
        options = [f"--{name}={asked[name]}" for name in ("column", "delimiter", "decimal", "comment") if name in asked]
        command = [self.command, "reduce", asked["input"], "--json", "--quiet", "--op=sum,max,argmax", *options, *(["--header"] if asked["header"] else [])]
        done = subprocess.run(command, capture_output=True, text=True)
        values = answer["elements"].tolist()
        if done.returncode:
            counts.note("command: refused: " + in_general(done.stderr), command)
            return
        said = json.loads(done.stdout)
        largest = max(range(len(values)), key=lambda i: (values[i] == values[i], values[i]))
        want = {"n": len(values), "argmax": answer.get("places", list(range(len(values))))[largest]}
        if all(v == v for v in values):
            want["sum"] = sum(values) if answer["dtype"] != "f64" else None
        good = all(said[k] == v for k, v in want.items() if v is not None) or any(v != v for v in values)
        counts.note("command: " + ("same" if good else "another"), command)
        if not good:
            faults.append(("command", f"{command}: {said}, expected {want}"))

    def check_parts(self, case, asked, answer, counts, faults):
        parts = [self.masu.read(**asked, part=p, parts=case["parts"]) for p in range(case["parts"])]
        refused = [p for p in parts if "elements" not in p]
        if refused:
            counts.note("parts refused: " + in_general(str(refused[0])))
            return
        got = [float(v) + 0.0 for p in parts for v in p["elements"].tolist()]  # -0 is whole in a part of whole numbers
        want = [float(v) + 0.0 for v in answer["elements"].tolist()]
        good = repr(got) == repr(want) and sum(p["bad"] for p in parts) == answer["bad"]
        counts.note("parts: " + ("same" if good else "differ"))
        if not good:
            faults.append(("parts", f"{asked} in {case['parts']} parts: {got}, whole: {want}; bad {[p['bad'] for p in parts]}, {answer['bad']}"))

    def check_matrix(self, case, mine, plain, others, counts, faults, kinds):
        """All columns by rows: a text of numbers without a header."""
        width = len(case["columns"])
        if case["header"] or kinds & {"one more", "one less", "title"}:
            return
        columns = [majority({n: c[at] for n, c in others.items() if len(c) == width}, None) for at in range(width)]
        if any(c is None for c in columns):
            return
        answer = self.masu.read(**self.ask(case, mine, plain))
        kept = self.not_skipped(plain, answer, kinds, len(columns[0]))
        if kept is None:
            counts.note("matrix: by the rule: " + EXPLAINED["hash lines"])
            return
        columns = [[column[i] for i in kept] for column in columns]
        rows = [value for row in zip(*columns) for value in row]
        if all(v is None for v in rows):
            return
        outcome, fault = compare(answer, rows, None)
        counts.note("matrix: " + outcome, (case, plain))
        if fault:
            faults.append(("matrix: " + outcome, fault))


def show(case):
    try:
        data = table_writers.write({**case, "compressed": ""})
    except table_writers.Refused as error:
        data = error
    shown = {k: v for k, v in case.items() if k not in ("columns", "styles", "names")}
    return f"{repr(data)[:3000]}\n  {shown}"


def main():
    given = sources.arguments(__doc__.split("\n", maxsplit=1)[0], 300)
    with sources.folder() as place:
        table_readers.PLACE = place
        checker = Checker(sources.Masu(given.masu_read_many), place)
        return sources.run("tables", given, table_cases.draw, checker.check, table_cases.smaller_cases(), show)


if __name__ == "__main__":
    sys.exit(main())
