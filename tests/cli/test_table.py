# SPDX-License-Identifier: Apache-2.0
"""Tables in text: which column is read, what is left out and said, and where values stood. Right values by hand, or by
Python's csv."""

import csv
import io
import json
import random
import unittest

from command import CommandTest, masu


class TableTest(CommandTest):
    def sum(self, text, *options, strict=True):
        """By default nothing may have been left out."""
        found = self.ok("reduce", "-", "--op", "sum", *options, *(["--strict"] if strict else []), stdin=text.encode())
        return float(found)

    def said(self, *arguments, stdin=""):
        result = masu(*arguments, stdin=stdin.encode())
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr.decode()


class Columns(TableTest):
    def test_one_delimiter(self):
        for text, column, right in (
                ("place,price\nRoom 12,5.5\nRoom 13,6.5\nHall 7,8\n", "price", 20),
                ("date,price\nJan 1,39\nFeb 1,43\n", "price", 82),
                ("unit price,qty\n9.5,2\n1.5,3\n", "unit price", 11),
                ("a\tb\n1 2\t3\n4;5\t6\n", "b", 9),
                ("a;b\n1 2,5;3\n;6\n", "b", 9),
                ("a|b\n1 2,5|3\n|6\n", "b", 9),
                ("a   b\n 1  3\n4\t6\n", "b", 9),
                ("name,3,x\n10,20,30\n", "number:3", 30), ("name,3,x\n10,20,30\n", "name:3", 20),
                ("color,v\n#ff0000,5\nred,7\n", "v", 12), ("id,tag,v\n1,#x,5\n2,y,6\n", "v", 11),
                ("a,b\n#1,2\n3,4\n", "b", 6),
                ('"a""1",b\n"x""1",3\n', "b", 3), ('b,c\n3,"a\n1,2"\n4,5\n', "b", 7),
                ("x,y\n1,10,100\n2,20,200\n", "x", 30)):
            self.assertEqual(self.sum(text, "--header", "--column", column), right, text)
            self.assertEqual(self.sum(text.replace("\n", "\r\n"), "--header", "--column", column), right, text)
            self.assertEqual(self.sum(text.replace("\n", "\r"), "--header", "--column", column), right, text)
        self.assertEqual(self.sum("a\tb\tc\n1\t\t2\n3\t4\t5\n", "--column", "b", strict=False), 4)
        self.assertEqual(self.sum("1,10\r2,20\r3,30\r", "--column", "1"), 6)
        self.assertEqual(self.sum('"a""1",3\n', "--column", "2", "--delimiter", ","), 3)
        self.assertEqual(self.sum('3,"a\n1,2"\n', "--column", "1", "--delimiter", ","), 3)
        for delimiter, text in (("comma", "a,b\tc\n1,2\n"), ("tab", "a,\tb\n1,\t2\n"), ("semicolon", "a,x;b\n1,x;2\n"),
                                ("pipe", "a,x|b\n1,x|2\n"), ("space", "a, b\n1, 2\n"), ("blanks", "a,   b\n1,  2\n"),
                                (":", "a,:b\n1,:2\n"), ("\\t", "a,\tb\n1,\t2\n")):
            self.assertEqual(self.sum(text, "--header", "--column", "2", "--delimiter", delimiter), 2)
        self.fails(2, "reduce", "-", "--column", "3", "--header", stdin=b"name,3,x\n10,20,30\n", says="name:3 or number:3")
        self.fails(2, "reduce", "-", "--column", "price", stdin=b"unit price,qty\n9.5,2\n", says="no column is named 'price'")
        self.fails(2, "reduce", "-", "--column", "a", stdin=b"a,b,a\n1,2,3\n", says="number:1 or number:3")
        self.fails(2, "reduce", "-", "--column", "9", "--header", stdin=b"a,b\n1,2\n", says="there are 2 columns")
        self.fails(1, "reduce", "-", "--column", "1", stdin=b'1,2\n3,"4\n5,6\n', says="line 2: a quote is opened and never closed")

    def test_first_lines_that_decide_wrongly(self):
        text = b"Report of 2026\nplace,price\nA,1\n"
        cut = "the delimiter is white space, the first line has 'Report', 'of', '2026'"
        self.fails(2, "reduce", "-", "--column", "price", stdin=text, says=cut)
        self.fails(1, "reduce", "-", "--column", "2026", stdin=text, says=cut)
        self.fails(1, "reduce", "-", "--column", "4", stdin=text, says=cut)
        self.assertIn(cut, self.said("reduce", "-", "--column", "3", stdin=text.decode()))
        self.assertEqual(self.said("reduce", "-", "--column", "price", stdin="\ufeffplace,price\nx,m\nA,1\n"),
                         "masu: standard input: 1 of 2 rows: 1 not a number (line 2: 'm')\n")

    def test_decimal_commas(self):
        self.assertEqual(self.sum("1,5\n2,5\n", "--decimal", ","), 4)
        self.assertEqual(self.sum("1,5\n2,5\n", "--delimiter", "comma"), 13)
        self.assertEqual(self.sum("a;b\n1,5;x\n2,25;y\n", "--column", "a", "--decimal", ","), 3.75)
        self.assertEqual(self.sum("x\n1,234\n5\n", "--column", "x", strict=False), 5)
        for says in ("--decimal ,", "--delimiter comma"):
            self.fails(1, "reduce", "-", stdin=b"1,5\n2,5\n", says=says)
            self.fails(1, "sort", self.write("t.txt", "1,5\n2,5\n"), "--dtype", "f32", says=says)
        self.fails(2, "reduce", "-", "--decimal", ",", "--delimiter", "comma", stdin=b"1,5\n", says="decimal mark")
        self.fails(2, "reduce", "-", "--decimal", ":", stdin=b"1,5\n", says="the decimal mark must be . or ,")

    def test_several_columns(self):
        """A command of one column asks which, and names them."""
        names = [f"c{i}" for i in range(11)]
        row = ",".join(str(i) for i in range(11))
        commands = (["histogram"], ["quantile"], ["sort"], ["unique"], ["topk"], ["sum"], ["reduce"], ["scan"], ["min"],
                    ["histogram", "--weights", self.write("w.txt", "1\n")], ["dot", self.write("d.txt", "1\n")])
        for columns in (2, 7, 8, 11):
            for end in ("\n", "\r\n"):
                lines = [",".join(line.split(",")[:columns]) for line in (",".join(names), row, row)]
                file = self.write("t.csv", end.join(lines))
                known = ", ".join(names[:min(columns, 8)]) + (f" and {columns - 8} more" if columns > 8 else "")
                for command in commands:
                    for options in ([], ["--header"], ["--delimiter", "comma"], ["--dtype", "f64"]):
                        said = self.fails(1, command[0], file, *command[1:], *options)
                        self.assertEqual(said, f"masu: {file}: has {columns} columns; choose one with --column: "
                                         f"{known}\n", (command, options))
                self.assertEqual(self.ok("sum", file, "--column", "c1"), b"2\n")
        for delimiter, name in ((",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "pipe")):
            text = delimiter.join(("1.5", "2")) + "\n" + delimiter.join(("3", "4")) + "\n"
            self.fails(1, "sum", "-", stdin=text.encode(), says="has 2 columns; choose one with --column: 1 to 2 "
                       f"(the first line has 1.5, 2); --delimiter {name} takes all")
            self.assertEqual(self.sum(text, "--delimiter", name), 10.5)
            self.assertEqual(self.sum(text, "--rows", "1"), 10.5)
            self.ok("transpose", "-", stdin=text.encode())
            self.ok("convert", "-", "--to", "f32", "-o", self.path("c.raw"), stdin=text.encode())
            self.ok("histogram", "-", "--channels", "2", stdin=text.encode())
        said = self.fails(1, "sum", "-", stdin=b"1,Rome,2\n2,Oslo,3\n", says="1 to 3 (the first line has 1, Rome, 2)\n")
        self.assertNotIn("takes all", said)
        self.fails(1, "sum", "-", stdin=b"1,2\n" * 9000 + b"1.5,2\n3,4\n", says="choose one with --column: 1 to 2")
        # White space separates numbers of one stream; lines that are texts are whole.
        self.assertEqual(self.sum("1 2\n3 4\n"), 10)
        self.assertEqual(self.ok("sort", "-", stdin=b"b, c\na, d\n"), b"a, d\nb, c\n")
        self.assertEqual(self.sum("n, m\n1\n2\n", strict=False), 3)
        # One line is a list.
        for text in ("1,2,3", "1, 2, 3\n", "# a\n1;2;3\n\n", ",".join(["1"] * 50000) + "\n"):
            self.assertEqual(self.sum(text), 50000 if len(text) > 1000 else 6)
        self.fails(1, "sum", "-", stdin=(",".join(f"c{i}" for i in range(50000)) + "\n" + "1," * 49999 + "1\n").encode(),
                   says="columns; choose one with --column: c0, c1, c2, c3, c4, c5, c6, c7 and ")

    def test_what_needs_every_entry(self):
        file = self.write("t.txt", "1 2 x 4\n5 6 7 8\n")
        for command in (["sort", "--rows", "2"], ["reduce", "--rows", "2"], ["topk", "-k", "1", "--rows", "2"],
                        ["quantile", "--rows", "2"], ["scan", "--rows", "2"], ["histogram", "--rows", "2"],
                        ["histogram", "--channels", "2"], ["transpose"]):
            said = self.fails(1, command[0], file, *command[1:], says="line 1: the entry 'x' is not a number")
            self.assertIn("needs every entry", said)
        good = self.write("g.txt", "1\n2\n3\n4\n")
        bad = self.write("b.txt", "1\nx\n3\n4\n5\n")
        self.fails(1, "sort", good, "--values", bad, "--values-output", self.path("v.txt"), "-o", self.path("k.txt"),
                   says="--values needs every entry")
        self.fails(1, "sort", bad, "--values", good, "--values-output", self.path("v.txt"), "-o", self.path("k.txt"),
                   says="--values needs every entry")

    def test_random_tables(self):
        """Written and read by Python's csv, of awkward fields."""
        rng = random.Random(20261128)
        awkward = ["Room 12", "a,b", 'say ""', "x\ny", "", " 3", "#1", "1;2", "\t", "it's", "é", '"', "\r\n", "7"]
        for _ in range(40):
            columns = rng.randrange(2, 6)
            wanted = rng.randrange(columns)
            names = [f"{rng.choice(['n', 'a b', 'x,y', 'q' + chr(34)])}{i}" for i in range(columns)]
            rows = []
            for _ in range(rng.randrange(1, 30)):
                row = [rng.choice(awkward) for _ in range(columns)]
                row[wanted] = rng.choice(["", "x", str(rng.randrange(1000)), str(rng.randrange(1000)), "2.5"])
                rows.append(row)
            rows.append(["1"] * columns)
            delimiter = rng.choice(",;\t|")
            out = io.StringIO(newline="")
            csv.writer(out, delimiter=delimiter, lineterminator=rng.choice(["\n", "\r\n"]),
                       quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])).writerows([names] + rows)
            text = out.getvalue()
            named = [] if not any(c in "".join(names) for c in ",") or delimiter == "," else ["--delimiter", delimiter]
            right = [(i, float(row[wanted])) for i, row in enumerate(rows) if row[wanted] not in ("", "x")]
            found = json.loads(self.ok("topk", "-", "-k", "100", "--column", f"name:{names[wanted]}", *named, "--json",
                                       stdin=text.encode()))
            self.assertEqual(sorted(zip(found["indices"], found["values"])), right, text)
            self.assertEqual(found.get("bad_lines", 0), len(rows) - len(right), text)


class LeftOut(TableTest):
    def test_notes(self):
        rows = [str(i) for i in range(20000)]
        rows[3] = rows[700] = ""
        rows[15] = "1.#QNAN"
        table = self.write("t.csv", "a,b\n" + "".join(f"x,{row}\n" for row in rows))
        note = f"masu: {table}: 3 of 20,000 rows: 2 empty, 1 not a number (line 17: '1.#QNAN')\n"
        for command in (["reduce"], ["sort"], ["unique"], ["topk", "-k", "1"], ["quantile"], ["histogram"], ["scan"],
                        ["convert", "--to", "f64"], ["reduce", "--dtype", "f32"]):
            self.assertEqual(self.said(command[0], table, "--column", "b", *command[1:]), note, command)
            self.assertEqual(self.said(command[0], table, "--column", "b", *command[1:], "--quiet"), "", command)
            self.fails(1, command[0], table, "--column", "b", "--strict", *command[1:], says="line 5: the entry '' is empty")
        for command in (["reduce"], ["topk", "-k", "1"], ["unique"], ["quantile"], ["histogram"]):
            found = json.loads(self.ok(command[0], table, "--column", "b", "--json", *command[1:]))
            self.assertEqual((found["bad_lines"], found["left_out"]),
                             (3, {"empty": 2, "not_a_number": 1, "wrong_fields": 0, "no_column": 0, "too_long": 0}))
        self.assertNotIn("left_out", json.loads(self.ok("reduce", "-", "--json", stdin=b"1")))

    def test_kinds(self):
        cut = "; the delimiter is comma, the first line has 'a', 'b'\n"
        self.assertEqual(self.said("reduce", "-", "--column", "b", stdin="a,b\n1,2\n3\n4,5,6\n7,\n"),
                         "masu: standard input: 3 of 4 rows: 1 empty, 2 with a wrong number of fields "
                         "(line 3: 1 instead of 2)" + cut)
        self.assertEqual(self.said("reduce", "-", "--column", "2", stdin="1,2\n3\n"),
                         "masu: standard input: 1 of 2 rows: 1 without the column (line 2: 1 of 2)" +
                         "; the delimiter is comma, the first line has '1', '2'\n")
        self.assertEqual(self.said("reduce", "-", stdin="1\n" + "x" * 40000 + "\n"),
                         "masu: standard input: 1 of 2 rows: 1 too long (line 2: '" + "x" * 40 + "...')\n")
        for entry, shown in (("Zürich–東京", "Zürich–東京"), ("a" * 39 + "é", "a" * 39 + "é"), ("é" * 21, "é" * 20 + "..."),
                             ("\x85\u009f€", "????€")):
            self.assertEqual(self.said("reduce", "-", stdin=f"1\n{entry}\n"),
                             f"masu: standard input: 1 of 2 rows: 1 not a number (line 2: '{shown}')\n")
        for entry, shown in ((b"\xff\xc3", "??"), (b"\xed\xa0\x80", "???"), (b"\xe0\x80\xaf", "???"), (b"\xf4\x90\x80\x80", "????"),
                             (b"\xc3-x", "?-x"), (b"\xf0\x9f\x8d\x9a", "\U0001f35a")):
            self.assertIn(f"(line 2: '{shown}')", masu("reduce", "-", stdin=b"1\n" + entry + b"\n").stderr.decode())
        self.assertEqual(self.said("reduce", "-", "-t", "comma", stdin="1,2\n3,\n"),
                         "masu: standard input: 1 of 4 entries: 1 empty (line 2)\n")
        self.assertEqual(self.said("reduce", "-", stdin="# a\n1\n#2\n"),
                         "masu: standard input: 2 lines begin with # and were skipped (--comment '' reads such lines)\n")
        other = self.write("w.txt", "# kg\n2\n3\n")
        for command in (["histogram", "--weights", other, "--bins", "1"], ["dot", other], ["dot", other, "--json"],
                        ["histogram", other, "--joint", "--bins", "1"],
                        ["sort", "--values", other, "--values-output", self.path("v.txt")]):
            note = f"masu: {other}: 1 line begins with # and was skipped (--comment '' reads such lines)\n"
            self.assertEqual(self.said(command[0], "-", *command[1:], stdin="1\n2\n"), note, command)
            self.assertEqual(self.said(command[0], "-", *command[1:], "--quiet", stdin="1\n2\n"), "", command)
        for command in (["dot"], ["histogram", "--joint"], ["sort", "-o", self.path("k.txt")],
                        ["histogram", "--weights", self.write("w2.txt", "1\n2\n")]):
            found = json.loads(self.ok(command[0], other, *([other] if command == ["dot"] else []), *command[1:], "--json"))
            self.assertEqual(found["comment_lines"], 1, command)
        self.assertIn("names of rows", self.said("reduce", "-", "--column", "x", stdin="x,y\n1,10,100\n"))
        self.assertEqual(self.said("reduce", "-", "--comment", "#", stdin="# a\n1\n#2\n"), "")


    def test_lines_of_different_lengths(self):
        """Not a matrix: without a header and a column, all fields are read."""
        for text, line in (("1 2\n3\n\n4 5 6\n", 2), ("1,2\n3,4\n5,6,7\n", 3), ("# c\r1;2\r\r3\r", 4)):
            note = f"line {line} has not as many fields as the first line; places count all fields\n"
            file = self.write("t.txt", text)
            cut = ["--delimiter", "comma"] if "," in text else []
            for command in (["reduce"], ["sort"], ["unique"], ["topk", "-k", "1"], ["quantile"], ["histogram"], ["scan"],
                            ["convert", "--to", "f64"], ["sort", "--is-sorted"], ["reduce", "--dtype", "f32"],
                            ["dot", file], ["sort", "--values", file, "--values-output", self.path("v.txt")]):
                said = masu(command[0], file, *cut, *command[1:]).stderr.decode()
                self.assertIn(f"masu: {file}: {note}", said, command)
            self.assertEqual(json.loads(self.ok("reduce", file, *cut, "--json"))["ragged_line"], line)
            self.assertEqual(self.said("reduce", file, *cut, "--quiet"), "")
        for text in ("1 2\n3 4\n", "1\n\n2\n", "1 2 3"):
            self.assertEqual(self.said("reduce", "-", stdin=text), "")
        self.assertNotIn("as many fields", self.said("reduce", "-", "--column", "1", stdin="1 2\n3\n"))

    def test_options_hold_for_the_other_file(self):
        keys = self.write("k.txt", "2,5\n1,5\n")
        other = self.write("o.txt", "// x\n0,25\n7,5\n")
        values = self.path("v.txt")
        options = ["--decimal", ",", "--comment", "//"]
        self.ok("sort", keys, "--values", other, "--values-output", values, *options)
        with open(values, encoding="ascii") as file:
            self.assertEqual(file.read(), "7.5\n0.25\n")
        self.assertEqual(self.ok("dot", keys, other, *options), b"11.875\n")
        self.assertIn("7.5", self.ok("histogram", keys, "--weights", other, "--bins", "2", *options).decode())
        self.fails(1, "sort", keys, "--values", other, "--values-output", values, "--delimiter", "comma",
                   says="line 1: the entry '// x' is not a number")


class Places(TableTest):
    TABLE = "v,w\n5,a\n,b\nx,c\n1\n\n9,d\n9,e\n2,f\n"  # rows 0 to 6

    def places(self, *arguments):
        for options in ([], ["--dtype", "f64"], ["--memory", "64Ki"]):
            got = self.ok(*arguments[:1], "-", "--column", "v", "--quiet", *arguments[1:], *options,
                          stdin=self.TABLE.encode())
            yield got.decode().split()

    def test_rows(self):
        for got in self.places("reduce", "--op", "argmin,argmax"):
            self.assertEqual(got, ["argmin", "6", "argmax", "4"])
        for got in self.places("topk", "-k", "3", "--index"):
            self.assertEqual(got, ["index", "4", "5", "0"])
        for got in self.places("sort", "--index", "--verify"):
            self.assertEqual(got, ["6", "0", "4", "5"])
        result = masu("sort", "-", "--column", "v", "--is-sorted", stdin=self.TABLE.encode())
        self.assertIn(b"element 6 is 2, after 9", result.stderr)
        self.assertEqual(self.ok("reduce", "-", "--op", "argmax", "--quiet", stdin=b"1 2 3\nx 9 4\n"), b"4\n")

    def test_many(self):
        rng = random.Random(7)
        rows = [str(rng.randrange(10 ** 6)) if rng.random() < 0.7 else rng.choice(["", "NA"]) for _ in range(30000)]
        text = "v,w\n" + "".join(f"{row},\n" for row in rows)
        order = sorted((i for i, row in enumerate(rows) if row.isdigit()), key=lambda i: int(rows[i]))
        for options in ([], ["--memory", "64Ki"], ["--memory", "64Ki", "--dtype", "i64"]):
            for name in ("-", self.write("t.csv", text)):
                more = {"stdin": text.encode()} if name == "-" else {}
                got = self.ok("sort", name, "--column", "v", "--index", "--quiet", "--tmpdir", self.folder, *options, **more)
                self.assertEqual(list(map(int, got.split())), order)
            got = self.ok("topk", "-", "--smallest", "-k", "20000", "--column", "v", "--index", "--quiet", *options,
                          stdin=text.encode())
            self.assertEqual(list(map(int, got.split()[1:])), order[:20000])


class Transpose(TableTest):
    def test_lines_of_fields(self):
        for text, want in (("1 2 3\n4 5 6\n", "1 4\n2 5\n3 6\n"), ("1,2\n3,4.5\n", "1,3\n2,4.5\n"),
                           ("1\t2\n3\t4", "1\t3\n2\t4\n"), ("1\n2\n3\n", "1 2 3\n"), ("7 8 9", "7\n8\n9\n"),
                           ("1;2\r\n3;4\r\n", "1;3\n2;4\n")):
            for options in ([], ["--dtype", "f64"], ["--verify", "--quiet"], ["--memory", "1"]):
                self.assertEqual(self.ok("transpose", "-", *options, stdin=text.encode()), want.encode())
                self.assertEqual(self.ok("transpose", self.write("t.txt", text), *options), want.encode())
        self.assertEqual(self.ok("transpose", "-", "--header", stdin=b"a,b\n1,2\n3,4\n"), b"1,3\n2,4\n")
        self.assertEqual(self.ok("transpose", "-", "--column", "b", stdin=b"a,b\n1,2\n3,4\n"), b"2,4\n")
        self.assertEqual(self.ok("transpose", "-", "--shape", "2,3", stdin=b"1 2 3\n4 5 6\n"), b"1 4\n2 5\n3 6\n")
        self.ok("transpose", "-", "-o", self.path("t.csv"), stdin=b"1 2 3\n4 5 6\n")
        with open(self.path("t.csv"), encoding="ascii") as file:
            self.assertEqual(file.read(), "1,4\n2,5\n3,6\n")
        self.assertEqual(self.ok("transpose", self.path("t.csv"), "--delimiter", "comma"), b"1,2,3\n4,5,6\n")

    def test_what_is_no_matrix(self):
        self.fails(1, "transpose", "-", stdin=b"1 2 3\n\n4 5\n", says="line 3 has more or fewer than the first")
        self.fails(1, "transpose", "-", stdin=b"1 2 3\n4 5 x\n", says="line 2: the entry 'x' is not a number")
        self.fails(1, "transpose", "-", stdin=b"1,2\n3,\n", says="line 2: the entry '' is empty")
        self.fails(1, "transpose", "-", stdin=b"", says="has no number")


if __name__ == "__main__":
    unittest.main()
