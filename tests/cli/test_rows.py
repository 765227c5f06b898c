# SPDX-License-Identifier: Apache-2.0
"""Whole lines by the keys in them: masu sort --key, --lines and masu topk --lines, against Python's stable order."""

import functools
import json
import math
import os
import random
import subprocess
import sys
import unittest

import numpy as np

from command import MASU, CommandTest, masu


def number_of(text):
    """As masu reads entries; None for what is none."""
    text = text.strip()
    if not text or "_" in text:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def compare(a, b, kind, descending):
    """Of two entries: numbers, then texts, then nothing."""
    def rank(text):
        if kind == "text":
            return (0, text.encode())
        number = number_of(text)
        if number is not None:
            return (0, (1, 0) if math.isnan(number) else (0, number))
        if kind == "number" or not text.strip():
            return (2, 0)
        return (1, text.encode())
    (group_a, value_a), (group_b, value_b) = rank(a), rank(b)
    if group_a != group_b:
        return -1 if group_a < group_b else 1
    if value_a == value_b:
        return 0
    return (1 if descending else -1) if value_a < value_b else (-1 if descending else 1)


def in_order(rows, keys):
    """`rows`: lists of entries; `keys`: (column, kind, descending)."""
    def both(a, b):
        for column, kind, descending in keys:
            order = compare(a[column], b[column], kind, descending)
            if order:
                return order
        return 0
    return sorted(rows, key=functools.cmp_to_key(both))


class Lines(CommandTest):
    def sort(self, text, *arguments, quiet=True):
        return self.ok("sort", "-", *arguments, *(["--quiet"] if quiet else []), stdin=text.encode()).decode()

    def test_by_hand(self):
        sales = "order,city,price\n1,Oslo,9.5\n2,Bonn,10\n3,Oslo,-1\n4,\"Aix\nen P\",10\n"
        self.assertEqual(self.sort(sales, "--key", "price"),
                         "order,city,price\n3,Oslo,-1\n1,Oslo,9.5\n2,Bonn,10\n4,\"Aix\nen P\",10\n")
        self.assertEqual(self.sort(sales, "--lines", "--column", "price"), self.sort(sales, "--key", "price"))
        self.assertEqual(self.sort(sales, "-k", "price", "-r"),
                         "order,city,price\n2,Bonn,10\n4,\"Aix\nen P\",10\n1,Oslo,9.5\n3,Oslo,-1\n")
        self.assertEqual(self.sort(sales, "-k", "city,price:desc"),
                         "order,city,price\n4,\"Aix\nen P\",10\n2,Bonn,10\n1,Oslo,9.5\n3,Oslo,-1\n")
        self.assertEqual(self.sort(sales, "-k", "city", "-u"),
                         "order,city,price\n4,\"Aix\nen P\",10\n2,Bonn,10\n1,Oslo,9.5\n")
        self.assertEqual(self.sort(sales, "--key", "price:text"),
                         "order,city,price\n3,Oslo,-1\n2,Bonn,10\n4,\"Aix\nen P\",10\n1,Oslo,9.5\n")
        self.assertEqual(self.sort(sales, "--key", "price", "--index"), "2\n0\n1\n3\n")
        self.assertEqual(self.sort("b 2 x\n  a 10\n\nc 9\n", "-k2n"), "b 2 x\nc 9\n  a 10\n")
        self.assertEqual(self.sort("b 2\na 10\nc 2\n", "-k2nr", "-k", "1:r"), "a 10\nc 2\nb 2\n")
        self.assertEqual(self.sort("b 2\na 10\nc 2\n", "-k", "number:2,1:desc"), "c 2\nb 2\na 10\n")
        self.assertEqual(self.sort("pear\nApple\nfig\napple\n", "--lines"), "Apple\napple\nfig\npear\n")
        self.assertEqual(self.sort("pear\nfig\nApple\napple\n", "--lines", "-f"), "Apple\napple\nfig\npear\n")
        self.assertEqual(self.sort("pear\nfig\nApple\napple\n", "--lines", "-f", "-u"), "Apple\nfig\npear\n")
        self.assertEqual(self.sort("x;1,5\ny;1,25\n", "-k2", "--decimal", ","), "y;1,25\nx;1,5\n")
        self.assertEqual(self.sort("b,1\r\na,0", "-k", "1"), "a,0\r\nb,1\r\n")

    def test_wide_numbers_are_exact(self):
        values = [2**53 + 1, 2**53, 2**64 - 1, 2**64 - 2, -2**63, -2**63 + 1, 2**63, 1e19, -0.0, 0, 5e-324, math.inf,
                  -math.inf, 2**53 + 2, 1.5, -2**53 - 1, -2**53]
        lines = [repr(value) for value in values]
        random.Random(1).shuffle(lines)
        for descending in (False, True):
            expected = in_order([[line] for line in lines], [(0, "any", descending)])
            self.assertEqual(self.sort("\n".join(lines), "-k1", *(["-r"] if descending else [])).split(),
                             [row[0] for row in expected])

    def test_what_is_no_number(self):
        text = "k v\n1 10\n2 n/a\n3 nan\n4 9\n5 -\n6 \"\"\n"
        last = {"": "4 9\n1 10\n3 nan\n5 -\n2 n/a\n6 \"\"\n", "desc": "3 nan\n1 10\n4 9\n2 n/a\n5 -\n6 \"\"\n",
                "number": "4 9\n1 10\n3 nan\n2 n/a\n5 -\n6 \"\"\n"}
        for words, right in last.items():
            result = masu("sort", "-", "--key", "v" + (":" + words if words else ""), stdin=text.encode())
            self.assertEqual(result.stdout.decode(), "k v\n" + right)
            self.assertIn("key v: 3 of 6 are no number (line 3: 'n/a') and come last", result.stderr.decode())
        self.fails(1, "sort", "-", "--key", "v:number", "--strict", stdin=text.encode(),
                   says="line 3: the entry 'n/a' is not a number")
        self.ok("sort", "-", "--key", "v", "--strict", stdin=text.encode())
        self.assertEqual(masu("sort", "-", "--key", "v:text", stdin=text.encode()).stderr, b"")

    def test_dates_by_the_instant(self):
        """Zones and spellings do not decide; equal instants keep their order."""
        days = ["2026-10-25 02:30:00+01", "2026-10-25T02:30:00+02:00", "", "2026-10-25T00:30Z", "soon", "1969-12-31", "2026-02-30",
                "2026-10-25T00:30:00.000001Z", "7", "2026-10-25 02:30:00.000000999+02", "2026-10-25T00:30:00.0000010009"]
        path = self.write("d.csv", "n,day\n" + "".join(f"{i},{day}\n" for i, day in enumerate(days)))

        def order(command, *more):
            return [int(line.split(",")[0]) for line in self.ok(command, path, "--key", *more).decode().splitlines()[1:]]
        self.assertEqual(order("sort", "day"), [8, 5, 1, 3, 9, 7, 0, 6, 10, 4, 2])
        self.assertEqual(order("sort", "day:desc"), [8, 0, 7, 9, 1, 3, 5, 4, 10, 6, 2])
        self.assertEqual(order("sort", "day,n:desc"), [8, 5, 3, 1, 9, 7, 0, 6, 10, 4, 2])
        self.assertEqual(order("sort", "day", "--unique"), [8, 5, 1, 9, 7, 0, 6, 10, 4, 2])
        self.assertEqual(order("topk", "day", "-k", "4"), [8, 0, 7, 9])
        self.assertEqual(order("sort", "day:text"), [2, 5, 6, 0, 9, 10, 7, 3, 1, 8, 4])
        self.assertEqual(order("sort", "day:number"), [8, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10])

    def test_random_tables(self):
        dice = random.Random(5)
        words = ["", "a", "ab", "b", "B", "zz\0", "zz", "x" * 9, "x" * 9 + "y", "x" * 40 + "1", "x" * 40 + "2", "é", "12",
                 "-3", "1e3", "0.5", "nan", "inf"]
        for trial in range(60):
            delimiter = dice.choice(",;\t|")
            count = dice.choice((0, 1, 2, 17, 700, 3001))
            columns = dice.randint(1, 4)
            pools = [dice.choice((words, [str(n) for n in range(40)], [repr(n / 8) for n in range(-30, 30)]))
                     for _ in range(columns)]
            rows = [[f"r{i}"] + [dice.choice(pool) for pool in pools] for i in range(count)]
            head = delimiter.join(["row"] + [f"c{i}" for i in range(columns)])
            def line(row):
                return delimiter.join(f'"{entry}"' if dice_quotes and entry else entry for entry in row)
            dice_quotes = trial % 3 == 0
            keys = [(dice.randint(1, columns), dice.choice(("any", "number", "text")), dice.random() < 0.5)
                    for _ in range(dice.randint(1, 3))]
            asked = ",".join(f"c{column - 1}" + ("" if kind == "any" else ":" + kind) + (":desc" if down else "")
                             for column, kind, down in keys)
            text = "\n".join([head] + [line(row) for row in rows]) + "\n"
            expected = "\n".join([head] + [line(row) for row in in_order(rows, keys)]) + "\n"
            file = self.write("t.csv", text)
            for memory in ([], ["--memory", "64Ki"]):
                got = self.ok("sort", file, "--header", "--input-format", "text", "--delimiter", delimiter, "--key", asked,
                              "--quiet", *memory)
                self.assertEqual(got.decode(), expected, (trial, asked, memory))
            first = dice.choice((1, 5, 2000))
            got = self.ok("topk", file, "--header", "--input-format", "text", "--delimiter", delimiter, "--key", asked,
                          "--smallest", "-k", first, "--nan", "last", "--lines", "--quiet")
            self.assertEqual(got.decode().splitlines(True), expected.splitlines(True)[:first + 1], (trial, asked))

    def test_lines_that_all_lack_the_key(self):
        file = self.write("t.csv", "a,b\n1,2\n3,4\n")
        for arguments in (["sort", file, "--key", "9", "-o", file], ["topk", file, "--key", "9"], ["sort", file, file, "-k9n"]):
            self.fails(1, *arguments, says="t.csv: no line can be sorted (line 1: 2 of 9); the delimiter is comma, the first")
        self.fails(1, "sort", "-", "--key", "a", stdin=b"a,b\n1\n", says="no line can be sorted (line 2: 1 instead of 2)")
        self.assertEqual(self.ok("sort", file, "--key", "a:desc").decode(), "a,b\n3,4\n1,2\n")
        self.assertEqual(self.sort("", "--key", "1"), "")
        self.assertEqual(self.sort("a,b\n", "--header", "--key", "1"), "a,b\n")

    def test_many_keys_that_begin_alike(self):
        dice = random.Random(8)
        for count in (255, 256, 257, 400, 3000):
            for length in range(7, 27):
                keys = ["w" * length + end for end in ("", "a", "b", "ab", "b" * 9)]
                rows = [dice.choice(keys) for _ in range(count)]
                order = sorted(range(count), key=lambda i: rows[i])
                text = "".join(f"{key},{i}\n" for i, key in enumerate(rows))
                self.assertEqual(self.sort(text, "-k", "1"), "".join(f"{rows[i]},{i}\n" for i in order), (count, length))
        days = [f"2026-01-{dice.randint(1, 31):02d}" for _ in range(400)]
        text = "day,place\n" + "".join(f"{day},{i}\n" for i, day in enumerate(days))
        expected = "day,place\n" + "".join(f"{days[i]},{i}\n" for i in sorted(range(400), key=lambda i: days[i]))
        self.assertEqual(self.sort(text, "--key", "day"), expected)
        self.assertEqual(self.sort(text, "--key", "day:desc", "--index").split(),
                         [str(i) for i in sorted(range(400), key=lambda i: days[i], reverse=True)])
        whole = [2**53 + dice.randint(-1, 1) for _ in range(1000)]
        self.assertEqual(self.sort("".join(f"{value}\n" for value in whole), "--lines", "-n"),
                         "".join(f"{value}\n" for value in sorted(whole)))

    def test_through_files(self):
        dice = random.Random(6)
        rows = [[str(dice.randint(0, 3000)), f"{dice.random():.3f}", "w" * dice.randint(0, 90)] for _ in range(60_000)]
        file = self.write("in.csv", "".join(",".join(row) + "\n" for row in rows))
        expected = "".join(",".join(row) + "\n" for row in sorted(rows, key=lambda row: int(row[0])))
        for memory in ("1", "300Ki", "2Mi", "1Gi"):
            out = self.path("out.csv")
            said = json.loads(self.ok("sort", file, "-k1", "--memory", memory, "--tmpdir", self.folder, "-o", out, "--json"))
            self.assertEqual(said["n"], len(rows))
            self.assertEqual(said["runs"] > 1, memory != "1Gi")
            with open(out, encoding="ascii") as result:
                self.assertEqual(result.read(), expected, memory)
        self.assertEqual(self.ok("sort", file, "-k1", "--memory", "300Ki", "-u").decode().count("\n"),
                         len({row[0] for row in rows}))
        order = sorted(range(len(rows)), key=lambda i: -int(rows[i][0]))
        self.ok("sort", file, "-k1", "-r", "--index", "--memory", "300Ki", "-o", self.path("order.npy"))
        self.assertEqual(np.load(self.path("order.npy")).tolist(), order)
        for first in (1, 100, 50_000):
            got = self.ok("topk", file, "--key", "1", "-k", first, "--memory", "1Mi").decode().splitlines()
            self.assertEqual(got, [",".join(rows[i]) for i in order[:first]])
        self.ok("sort", file, "-k1", "-o", file)
        with open(file, encoding="ascii") as result:
            self.assertEqual(result.read(), expected)

    def test_memory_is_kept(self):
        dice = random.Random(7)
        file = self.write("in.txt", "".join(f"{dice.random()} {'v' * 60}\n" for _ in range(1_000_000)))
        # A small process of its own runs it: what a process holds before it becomes masu counts too.
        script = ("import os, resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        used = subprocess.run([sys.executable, "-c", script, MASU, "sort", file, "-k1", "--memory", "32Mi", "-o",
                               self.path("out.txt"), "--threads", "1"], check=True, stdout=subprocess.PIPE).stdout
        self.assertLess(int(used), (32 + 24) << 10)
        with open(self.path("out.txt"), encoding="ascii") as result:
            values = [float(line.split()[0]) for line in result]
        self.assertEqual(values, sorted(values))

    def test_topk(self):
        table = "name,score\nann,3\nbob,9\ncid,nan\ndee,9\neve,\n"
        self.assertEqual(self.ok("topk", "-", "--lines", "-k", "3", "--key", "score", "--quiet", stdin=table.encode()),
                         b"name,score\nbob,9\ndee,9\nann,3\n")
        self.assertEqual(self.ok("topk", "-", "--lines", "-k", "2", "--column", "score", "--smallest", "--quiet",
                                 stdin=table.encode()), b"name,score\nann,3\nbob,9\n")
        self.assertEqual(self.ok("topk", "-", "-k", "2", "--key", "score", "--index", "--quiet", stdin=table.encode()),
                         b"1\n3\n")
        self.assertIn(b"1 NaNs left out", masu("topk", "-", "-k", "9", "--key", "score", stdin=table.encode()).stderr)
        self.fails(2, "topk", "-", "-k", "2", "--lines", stdin=table.encode(), says="--lines needs --key or --column")

    def test_what_the_reader_leaves_out(self):
        text = "a,b\n2,x\n3\n1,y\n\n0,z,0\n"
        result = masu("sort", "-", "--key", "a", stdin=text.encode())
        self.assertEqual(result.stdout, b"a,b\n1,y\n2,x\n")
        self.assertIn(b"2 of 4 rows: 2 with a wrong number of fields (line 3: 1 instead of 2)", result.stderr)
        self.fails(1, "sort", "-", "--key", "a", "--strict", stdin=text.encode(), says="line 3 has 1 fields, the header 2")
        result = masu("sort", "-", "-k3", stdin=b"1 2 3\n4 5\n0 0 0\n")
        self.assertEqual(result.stdout, b"0 0 0\n1 2 3\n")
        self.assertIn(b"without the column", result.stderr)

    def test_bad_input(self):
        for text, options, says in (
                ("a,b\n1,2\n", ["--key", "c"], "no column is named 'c'; there are: a, b"),
                ("a,b\n1,\"2\n3,4\n", ["--key", "a"], "line 2: a quote is opened and never closed"),
                ("a\n123456789012345678901\n", ["--key", "a"], "line 2: 123456789012345678901 does not fit 64 bits"),
                ("a\n1e999\n", ["--key", "a"], "line 2: 1e999 does not fit f64"),
                ("", ["--key", "a"], "no column is named 'a'"),
                ("a\0b\n", ["--lines"], "is no text, but lines of text are needed"),
                ("one,two\n1,2\n\0,3\n", ["--lines"], "line 3, column 1 has a NUL (--input-format text reads it"),
                ("one,two\n1,2\n3,\033[1m3\n", ["--lines"], "line 3, column 3 has the byte 0x1b (--input-format text reads it"),
                ("\x93NUMPY", ["--lines"], "lines of text are needed")):
            self.fails(1 if "no column" not in says else 2, "sort", "-", *options, "-o", self.path("out"),
                       stdin=text.encode("latin-1"), says=says)
        self.assertEqual(os.listdir(self.folder), [])
        for options, says in (
                (["--key", "a,,b"], "--key takes COLUMN"), (["-f"], "--ignore-case is for --lines or --key"),
                (["--lines", "--rows", "2"], "--lines takes no"), (["--lines", "--dtype", "f32"], "--lines takes no --dtype"),
                (["--lines", "--index", "-u"], "--unique takes no --index"), (["--lines", "--key", "1", "--column", "2"], "exclude"),
                (["--lines", "-o", "x.npy"], "-o must not end in .npy")):
            self.fails(2, "sort", "-", *options, stdin=b"1\n", says=says)

    def test_several_inputs(self):
        first, second = self.write("a.csv", "k,v\n3,a\n1,b\n"), self.write("b.csv", "k,v\r\n2,c\r\n1,d\r\n,\r\n")
        self.assertEqual(self.ok("sort", first, second, "--key", "k", "--quiet"), b"k,v\n1,b\n1,d\n2,c\n3,a\n,\n")
        self.assertEqual(self.ok("sort", second, first, "--key", "k", "--index", "--quiet"), b"1\n4\n0\n3\n2\n")
        other = self.write("c.csv", "k,w\n1,2\n")
        self.fails(1, "sort", first, other, "--key", "k", says="several INPUTs must have one header")
        comma, semicolon = self.write("c.csv", "k,v\n1,2\n"), self.write("s.csv", "k;v\n0;3\n")  # lines of both were mixed
        self.fails(1, "sort", comma, semicolon, "--key", "k", says="one header: %s has 'k,v', %s has 'k;v'" % (comma, semicolon))
        self.fails(2, "sort", "-", "-", "--lines", says="standard input can be one INPUT only")

    def test_a_header_that_was_not_told(self):
        result = masu("sort", "-", "-k2", stdin=b"a b\n1 2\n3 1\n")
        self.assertEqual(result.stdout, b"3 1\n1 2\na b\n")
        self.assertIn(b"(line 1: 'b') and come last; --header leaves a header on top", result.stderr)

    def test_little(self):
        self.assertEqual(self.sort("", "--lines"), "")
        self.assertEqual(self.sort("a,b\n", "--key", "a"), "a,b\n")
        self.assertEqual(self.sort("a,b", "--key", "a"), "a,b\n")
        self.assertEqual(self.sort("1", "--lines"), "1\n")
        wide = ",".join(str(i) for i in range(100_000))
        self.assertEqual(self.sort(f"2,{wide}\n1,{wide}\n", "-k1,100001"), f"1,{wide}\n2,{wide}\n")
        long = "y" * 3_000_000
        self.assertEqual(self.sort(f"b,\"{long[:9]}\",{long}\na,x,{long}\n", "-k1", "--memory", "64Ki"),
                         f"a,x,{long}\nb,\"{long[:9]}\",{long}\n")

    def test_bytes_are_kept(self):
        lines = [b"\xff\xfe;2", b"a\0b;1", b"\xc3\xa9;0", b"a\0a;3"]
        text = b"\n".join(lines) + b"\n"
        got = self.ok("sort", "-", "-k1", "--delimiter", ";", "--input-format", "text", stdin=text)
        self.assertEqual(got, b"a\0a;3\na\0b;1\n\xc3\xa9;0\n\xff\xfe;2\n")

    def test_compressed_and_line_ends(self):
        import gzip
        file = self.write("t.csv.gz", gzip.compress(b"a,b\r\n2,x\r\n1,y\r\n"))
        self.assertEqual(self.ok("sort", file, "--key", "a"), b"a,b\r\n1,y\r\n2,x\r\n")


if __name__ == "__main__":
    unittest.main()
