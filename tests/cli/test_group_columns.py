# SPDX-License-Identifier: Apache-2.0
"""Several columns of values, groups without values, groups of texts and dates, and the first lines of groups."""

import json
import random
import struct
import unittest

from command import masu
import test_groups
from test_groups import NAMES, table, text_of


class SeveralColumns(test_groups.GroupTest):
    """Each column of values has the results that it has alone."""

    def tables(self):
        generator = random.Random(11)
        for rows in (1, 2, 97, 3001):
            lines = [[row[0], *(part() for part in (
                lambda: generator.choice(("", "x", "1.25", "-3", "1e300", "nan")),
                lambda: generator.choice(("", str(generator.randrange(-9, 9)))),
                lambda: generator.choice(("", "?", "2026-01-31", f"2026-02-0{generator.randrange(1, 9)}T10:00"))))]
                     for row in table(generator, rows)]
            lines.append(["Rome", "2", "3", "2026-01-01"])
            yield text_of(lines, header=("place", "a", "b", "day")).encode()

    def test_reduce(self):
        for text in self.tables():
            for columns, operations in (("a,b", ("sum", "mean", "min", "argmax", "median", "count", "skipped", "std")),
                                        ("b,day,a", ("mean", "min", "max", "median", "count", "skipped", "argmin"))):
                for group in (("--group", "place"), ("--group", "place,b"), ()):
                    asked = ("--op", ",".join(operations), "--json", "--quiet", "--verify")
                    all_of_them = json.loads(self.ok("reduce", "-", *group, "--column", columns, *asked, stdin=text))
                    self.assertEqual(all_of_them["columns"], columns.split(","))
                    for number, column in enumerate(columns.split(",")):
                        alone = json.loads(self.ok("reduce", "-", *group, "--column", column, *asked, stdin=text))
                        self.assertEqual(all_of_them["n"][number], alone["n"])
                        self.assertEqual(all_of_them["dtype"][number], alone["dtype"])
                        for name in operations:
                            found = all_of_them[f"{column}_{name}"] if group else all_of_them[name][number]
                            self.assertEqual(found, alone[name], (column, name))

    def test_quantile(self):
        for text in self.tables():
            for group in (("--group", "place"), ()):
                for method in ("linear", "lower"):
                    asked = ("--json", "--quiet", "--verify", "--method", method)
                    both = json.loads(self.ok("quantile", "-", *group, "--column", "b", "--column", "day", *asked, stdin=text))
                    for number, column in enumerate(("b", "day")):
                        alone = json.loads(self.ok("quantile", "-", *group, "--column", column, *asked, stdin=text))
                        found = both[f"{column}_values"] if group else both["values"][number]
                        self.assertEqual(found, alone["values"], column)

    def test_forms(self):
        text = b'place,price,qty\nRome,1.5,3\nParis,,4\nRome,2.5,\n'
        asked = ("--column", "price,qty", "--op", "sum,max,skipped", "--quiet")
        self.assertEqual(self.ok("reduce", "-", *asked, "--format", "csv", stdin=text),
                         b"column,sum,max,skipped\nprice,4,2.5,1\nqty,7,4,1\n")
        self.assertEqual(self.ok("reduce", "-", "--group", "place", *asked, "--format", "csv", stdin=text),
                         b"place,price_sum,price_max,price_skipped,qty_sum,qty_max,qty_skipped\n"
                         b"Rome,4,2.5,0,3,3,1\nParis,0,,1,4,4,0\n")
        self.assertEqual(self.ok("sum", "-", "--column", "2,3", stdin=b"a,1,2\nb,0.5,3\n"),
                         b"column  sum\n2       1.5\n3         5\n")
        self.assertEqual(self.ok("quantile", "-", "--column", "price,qty", "-q", "1", "--quiet", stdin=text),
                         b"column    1\nprice   2.5\nqty       4\n")
        self.assertEqual(self.ok("sum", "-", "--column", "name:a,b", stdin=b'"a,b",c\n1,2\n'), b"1\n")
        found = masu("reduce", "-", "--column", "price,qty", stdin=text)
        self.assertIn(b"2 of 6 entries: 2 empty (line 3)", found.stderr)
        self.fails(1, "reduce", "-", "--column", "1,2", stdin=b"1,\n2,\n", says="column 2 has no number")
        self.fails(1, "reduce", "-", "--column", "1,2", "--strict", stdin=b"1,2\n2,x\n", says="line 2: the entry 'x' is not a number")

    def test_threads_and_memory(self):
        generator = random.Random(12)
        rows = [[f"g{generator.randrange(9)}", str(i), generator.choice(("", f"{i / 8}"))] for i in range(150000)]
        path = self.write("t.csv", text_of(rows, header=("place", "a", "b")))
        results = [masu("reduce", path, "--column", "a,b", "--threads", threads) for threads in (1, 2, 3)]
        for result in results:
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, results[0].stdout, results[0].stderr))
        self.fails(1, "reduce", path, "--column", "a,b", "--memory", "1Mi",
                   says="rows of 2 columns need more than the 1024 KiB that they may take (--memory)")


class WithoutValues(test_groups.GroupTest):
    """A group none of whose entries can be read has its line."""

    DATA = b"place,v\na,\nb,1\nc,x\na,\n"

    def of(self, *arguments, data=DATA):
        return self.ok(*arguments, "--group", "place", "--column", "v", "--quiet", stdin=data).decode()

    def test_lines(self):
        operations = "count,skipped,sum,mean,min,argmin,median,variance,count-nonzero"
        self.assertEqual(self.of("reduce", "-", "--op", operations, "--format", "csv"),
                         f"place,{operations}\na,0,2,0,,,,,,0\nb,1,0,1,1,1,1,1,0,1\nc,0,1,0,,,,,,0\n")
        found = json.loads(self.of("reduce", "-", "--op", operations, "--json"))
        self.assertEqual((found["mean"], found["min"], found["skipped"]), ([None, 1, None], [None, 1, None], [2, 0, 1]))
        self.assertEqual(self.of("quantile", "-", "-q", "0,1", "--format", "csv"), "place,0,1\na,,\nb,1,1\nc,,\n")
        self.assertEqual(self.of("quantile", "-", "-q", "0", "--method", "lower", "--format", "tsv"), "place\t0\na\t\nb\t1\nc\t\n")
        self.assertEqual(self.of("topk", "-"), "place  value  index\nb          1      1\n")
        self.assertEqual(self.of("unique", "-", data=self.DATA[:-4]), "place  value  count\nb          1      1\n")
        self.assertEqual(json.loads(self.of("topk", "-", "--json"))["values"], [[], [1], []])
        self.assertIn("\nc: n 0, range -, mean -,", self.of("histogram", "-", "--bins", "1"))
        self.assertEqual(self.of("reduce", "-", "--op", "std", "--ddof", "1", "--format", "csv"), "place,std\na,\nb,\nc,\n")

    def test_arrays(self):
        self.of("reduce", "-", "--op", "mean", "-o", self.path("o.npy"))
        with open(self.path("o.npy"), "rb") as file:
            self.assertEqual(struct.unpack("<3d", file.read()[-24:])[1], 1)
        self.fails(1, "reduce", "-", "--group", "place", "--column", "v", "--op", "min", "-o", self.path("p.npy"),
                   stdin=self.DATA, says="have no integer for a result without values")


class LinesOfGroups(test_groups.GroupTest):
    """topk --lines: the first lines of each group."""

    def first_of(self, rows, keys, group, k, smallest, nan_last):
        """The rows, stably sorted in each group; empty entries are last."""
        groups = {}
        for place, row in enumerate(rows):
            groups.setdefault(tuple(row[i] for i in group), []).append((place, row))

        def rank(row):
            parts = []
            for key in keys:
                value = float(row[key]) if row[key] else None
                kind = 1 if value is None else 0
                number = 0.0 if value is None else float("inf") if value != value else value
                is_nan = value is not None and value != value
                order = (is_nan, number) if smallest else (not is_nan, -number)
                parts.append((kind, order))
            return parts

        for members in groups.values():
            kept = [one for one in members if nan_last or one[1][keys[0]] != "nan"]
            yield from sorted(kept, key=lambda one: rank(one[1]))[:k]

    def test_lines(self):
        generator = random.Random(21)
        header = ["place", "a", "b", "c"]
        for rows, memory in ((1, ()), (2, ()), (97, ()), (20011, ("--memory", "1Mi"))):
            data = [[generator.choice(("Rome", "Oslo, old", "", f"x{generator.randrange(40)}")), str(generator.randrange(3)),
                     generator.choice(("", "nan", "-0", "1e9", str(generator.randrange(-50, 50)))),
                     str(generator.randrange(5))] for _ in range(rows)]
            data[0][2] = "1"
            path = self.write("t.csv", text_of(data, header=header))
            for group, indices in (("place", (0,)), ("a,place", (1, 0))):
                for k, smallest, nan in ((1, (), ()), (3, ("--smallest",), ()), (10 ** 6, (), ("--nan", "last"))):
                    for keys, places in (("b", (2,)), ("b,c", (2, 3))):
                        expected = list(self.first_of(data, places, indices, k, bool(smallest), bool(nan)))
                        asked = ("topk", path, "--group", group, "--key", keys, "-k", str(k), *smallest, *nan, *memory,
                                 "--quiet", "--lines")
                        lines = text_of([row for _, row in expected], header=header).encode()
                        self.assertEqual(self.ok(*asked), lines)
                        found = self.ok(*asked, "--index", "-o", "-", "--format", "csv").decode().split()
                        self.assertEqual(found, [str(place) for place, _ in expected])
                        self.ok(*asked, "--index", "-o", self.path("i.npy"))
                        with open(self.path("i.npy"), "rb") as file:
                            places_there = file.read()[-8 * len(expected):]
                        self.assertEqual(struct.unpack(f"<{len(expected)}Q", places_there), tuple(p for p, _ in expected))

    def test_inputs_and_errors(self):
        one = self.write("1.csv", "g,v\r\nb,1\r\n\"a\",2\r\n")
        two = self.write("2.csv", "g,v\na,3\nb,0\n")
        self.assertEqual(self.ok("topk", one, two, "--group", "g", "--column", "v", "-k", "1", "--lines"),
                         b"g,v\r\nb,1\r\na,3\r\n")
        self.fails(2, "topk", two, "--group", "g", "--column", "v", "--lines", "--group-order", "sorted", says="masu sort --key")
        self.fails(2, "topk", two, "--group", "g", "--lines", says="--lines needs --key or --column")
        self.fails(2, "topk", two, "--group", "x", "--column", "v", "--lines", says="no column is named")
        many = self.write("m.csv", "g,v\n" + "".join(f"{i * 2654435761 % 2 ** 32:040},1\n" for i in range(40000)))
        self.fails(1, "topk", many, "--group", "g", "--column", "v", "--lines", "--memory", "8Mi", says="--memory")


class OtherEntries(test_groups.GroupTest):
    """Texts and dates of groups, as the same command has them without groups."""

    def lines(self, rows):
        generator = random.Random(rows)
        return [[generator.choice(NAMES), generator.choice(("red", "Red", "blue", "", "b, c", "\u00e9t\u00e9")),
                 generator.choice(("", "2026-01-31", "2026-03-01T12:00:00.5", "1999-12-31T23:59Z"))] for _ in range(rows)]

    def test_texts(self):
        for rows, fold in ((1, ()), (50, ()), (1000, ("--ignore-case",))):
            lines = [["Rome", "red", "2026-01-01"], *self.lines(rows)]
            path = self.write("t.csv", text_of(lines, header=("place", "word", "day")))
            for source in (path, "-"):
                with open(path, "rb") as file:
                    text = file.read() if source == "-" else b""
                found = self.rows("unique", source, "--group", "place", "--column", "word", *fold, "--verify", stdin=text)
            expected = []
            groups = {}
            spelt = {}
            for place, word, _ in lines:
                of_place = groups.setdefault(place, {})
                if word:
                    key = spelt.setdefault(word.upper() if fold else word, word)
                    of_place[key] = of_place.get(key, 0) + 1
            for place, words in groups.items():
                order = sorted(words, key=lambda word: (word.upper() if fold else word).encode())
                expected += [[place, word, str(words[word])] for word in order]
            self.assertEqual(found[1:], expected)

    def test_text_of_numbers(self):
        found = self.rows("unique", "-", "--group", "1", "--column", "2", "--text", stdin=b"a,07\na,7\nb,x\n")
        self.assertEqual(found[1:], [["a", "07", "1"], ["a", "7", "1"], ["b", "x", "1"]])
        # A number anywhere makes numbers of all.
        text = "".join(f"a,x{i}\n" for i in range(9000)).encode() + b"b,5\n"
        for stdin in (text, b""):
            source = "-" if stdin else self.write("t.csv", text)
            self.assertEqual(self.rows("unique", source, "--group", "1", "--column", "2", stdin=stdin)[1:], [["b", "5", "1"]])

    def test_dates(self):
        lines = [["Rome", "", "2026-01-01"], *self.lines(500)]
        text = text_of(lines, header=("place", "word", "day")).encode()
        for command, options in (("reduce", ("--op", "min,max,mean,median,count,skipped")), ("quantile", ()),
                                 ("unique", ()), ("topk", ("-k", "2"))):
            grouped = json.loads(self.ok(command, "-", "--group", "place", "--column", "day", *options, "--json", "--quiet",
                                         "--verify", stdin=text))
            self.assertEqual(grouped["dtype"], "instant")
            for number, place in enumerate(grouped["groups"]["place"]):
                some = text_of([line for line in lines if line[0] == place], header=("place", "word", "day")).encode()
                if not any(line[2] for line in lines if line[0] == place):
                    continue
                alone = json.loads(self.ok(command, "-", "--column", "day", *options, "--json", "--quiet", stdin=some))
                for name in ("min", "max", "mean", "median", "count", "skipped", "values", "counts"):
                    if name in alone:
                        self.assertEqual([text[:10] for text in grouped[name][number]] if name == "values" else
                                         str(grouped[name][number])[:10],
                                         [text[:10] for text in alone[name]] if name == "values" else str(alone[name])[:10])
        self.assertEqual(self.rows("reduce", "-", "--group", "1", "--column", "2", "--op", "mean", stdin=b"a,2026-01-01\na,2026-01-02\n")[1:],
                         [["a", "2026-01-01T12:00:00Z"]])
        self.fails(1, "reduce", "-", "--group", "1", "--column", "2", "--op", "sum", stdin=b"a,2026-01-01\n", says="dates have no sum")
        chart = self.ok("histogram", "-", "--group", "1", "--column", "2", "--bins", "month", stdin=b"a,2026-01-01\nb,2026-02-02\n")
        self.assertIn(b"\na: n 1\n", chart)
        self.fails(1, "histogram", "-", "--group", "1", "--column", "2", stdin=b"a,x\n", says="column 2 has no number")
        self.fails(2, "histogram", "-", "--group", "1", "--column", "2", "--text", stdin=b"a,x\n", says="texts of one column")
        for twice in ("g,g", "number:1,number:2"):  # JSON had two keys of one name
            self.fails(2, "reduce", "-", "--header", "--group", twice, "--column", "number:3", stdin=b"g,g,v\n1,2,3\n" if "n" in twice else b"g,w,v\n1,2,3\n",
                       says="--group has g twice")
        great = b"g,v,w\na,5,1\nb,9223372036854775807,2\nb,1,3\n"
        self.fails(1, "reduce", "-", "--group", "g", "--column", "v,w", stdin=great,
                   says="standard input: group b: column v: sum: the result must fit i64, got about 9.2")
        self.fails(1, "reduce", "-", "--column", "v,w", stdin=great, says="standard input: column v: sum: the result must fit i64")


if __name__ == "__main__":
    unittest.main()
