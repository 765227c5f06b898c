# SPDX-License-Identifier: Apache-2.0
"""Numbers in text: what their dtype is, against Python's exact integers; text in gives text out."""

import json
import math
import random
import resource
import subprocess
import unittest

import numpy

from command import MASU, CommandTest, masu, npy

WIDE = 1 << 53


def limited_to(name, value):
    """For subprocess: a limit of the process, as ulimit sets it."""
    return lambda: resource.setrlimit(name, (value, value))


class Column:
    """A column of text, and what it holds by Python's arithmetic."""

    def __init__(self, entries):
        self.entries = entries
        self.whole = []     # exact integers
        self.decimals = []  # floats
        self.bad = 0
        for entry in entries:
            try:
                self.whole.append(int(entry))
            except ValueError:
                try:
                    self.decimals.append(float(entry))
                except ValueError:
                    self.bad += 1

    @property
    def dtype(self):
        """The dtype of the rule; None where the column is an error."""
        if not self.whole and not self.decimals:
            return None
        if any(math.isinf(v) for v in self.decimals):
            return None
        f64 = "f64" if all(int(float(v)) == v for v in self.whole) else None
        if self.decimals or any(not -(1 << 63) <= v < 1 << 64 for v in self.whole):
            return f64
        if max(self.whole) < 1 << 63:
            return "i64"
        return f64 if min(self.whole) < 0 else "u64"

    @property
    def values(self):
        return self.whole if self.dtype != "f64" else [float(v) for v in self.whole] + self.decimals


def random_column(rng):
    """Entries of one of many kinds; most columns are good, some are errors."""
    whole = lambda bits, sign: str(rng.getrandbits(bits) * (-1 if sign and rng.random() < 0.5 else 1))
    kinds = {
        "small": lambda: whole(7, False), "signed": lambda: whole(20, True), "same": lambda: str(WIDE + rng.randrange(3)),
        "wide": lambda: whole(62, True), "unsigned": lambda: whole(64, False), "beyond": lambda: whole(70, True),
        "decimal": lambda: repr(rng.uniform(-1000, 1000)), "exponent": lambda: f"{rng.uniform(-9, 9):.3e}",
        "plus": lambda: "+" + whole(30, False), "zeros": lambda: "00" + whole(30, False),
        "junk": lambda: rng.choice(["x", "1x", "--1", "0x10", "1.2.3", "e5", "."]), "edge": lambda: str(rng.choice(
            [WIDE, -WIDE, (1 << 63) - 1, -(1 << 63), 1 << 63, (1 << 64) - 1, 0])),
    }
    chosen = rng.sample(sorted(kinds), rng.choice([1, 1, 1, 2, 2, 3]))
    return Column([kinds[rng.choice(chosen)]() for _ in range(rng.choice([1, 2, 5, 40]))])


class Generated(CommandTest):
    """Random columns, as files and as pipes."""

    def run_masu(self, column, rng, *arguments):
        """The same command over a file, a pipe, or a column of a table with a header."""
        form = rng.choice(["file", "pipe", "table"])
        if form == "table":
            lines = [f"{rng.randrange(9)};{entry};x" for entry in column.entries]
            path = self.write("t.csv", "a;b;c\n" + "\n".join(lines) + "\n")
            return masu(arguments[0], path, "--header", "--column", "b", *arguments[1:])
        text = rng.choice(["\n", " ", "\r\n", "\r", ", "]).join(column.entries) + rng.choice(["", "\n"])
        if form == "file":
            return masu(arguments[0], self.write("t.txt", text), *arguments[1:])
        return masu(arguments[0], "-", *arguments[1:], stdin=text.encode())

    def check(self, rng):
        """Compares sort, unique and reduce with Python's integers."""
        column = random_column(rng)
        shown = f"{column.entries}: {column.dtype}"
        results = [self.run_masu(column, rng, *command) for command in
                   (["sort"], ["unique", "--json"], ["reduce", "--op", "sum,min,max", "--json"])]
        if column.dtype is None:
            for result in results:
                self.assertEqual(result.returncode, 1, shown)
                self.assertEqual(result.stdout, b"", shown)
                self.assertEqual(result.stderr.count(b"\n"), 1, shown)
            return
        number = int if column.dtype != "f64" else float
        self.assertEqual(results[0].returncode, 0, shown + results[0].stderr.decode())
        self.assertEqual([number(line) for line in results[0].stdout.split()], sorted(column.values), shown)
        unique = json.loads(results[1].stdout)
        self.assertEqual(unique["dtype"], column.dtype, shown)
        distinct = sorted(set(column.values))
        self.assertEqual([unique["values"], unique["counts"]], [distinct, [column.values.count(v) for v in distinct]],
                         shown)
        self.assertEqual(unique.get("bad_lines", 0), column.bad, shown)
        total = sum(column.values) if number is int else math.fsum(column.values)
        fits = number is float or (0 <= total < 1 << 64 if column.dtype == "u64" else -(1 << 63) <= total < 1 << 63)
        self.assertEqual(results[2].returncode, 0 if fits else 1, shown)
        if fits:
            reduced = json.loads(results[2].stdout)
            self.assertEqual([reduced["sum"], reduced["min"], reduced["max"]], [total, distinct[0], distinct[-1]], shown)

    def test_random_columns(self):
        rng = random.Random(20261122)
        for _ in range(60):
            self.check(rng)


class Dtypes(CommandTest):
    def test_whole_numbers_stay_what_they_are(self):
        text = b"9007199254740993\n9007199254740992\n9007199254740993\n"
        for inputs in (["-"], [self.write("ids.txt", text)]):
            more = {"stdin": text} if inputs == ["-"] else {}
            self.assertEqual(self.ok("sort", *inputs, **more), b"9007199254740992\n9007199254740993\n9007199254740993\n")
            self.assertEqual(json.loads(self.ok("unique", *inputs, "--json", **more))["counts"], [1, 2])
            self.assertEqual(self.ok("reduce", *inputs, "--op", "max", **more), b"9007199254740993\n")
            self.assertEqual(json.loads(self.ok("topk", *inputs, "-k", "1", "--json", **more))["values"], [WIDE + 1])
            self.assertEqual(json.loads(self.ok("quantile", *inputs, "-q", "1", "--method", "lower", "--json",
                                                **more))["values"], [WIDE + 1])
            self.assertEqual(self.ok("scan", *inputs, "--op", "max", **more), b"9007199254740993\n" * 3)
            self.assertEqual(self.ok("transpose", *inputs, "--shape", "1,3", **more), text)
            self.assertEqual(self.ok("convert", *inputs, "--to", "u64", **more), text)
            histogram = self.json(*inputs, "--bins", "1", "--range", "0:1e16", **more)
            self.assertEqual((histogram["dtype"], histogram["counts"]), ("i64", [3]))
        ones = self.write("ones.txt", "1\n1\n1\n")
        self.assertEqual(self.ok("dot", "-", ones, stdin=text), f"{3 * WIDE + 2}\n".encode())

    def test_histogram_of_whole_numbers(self):
        text = self.json("-", stdin=b"1\n2\n2\n7\n")
        array = self.json(self.save_npy("x.npy", numpy.array([1, 2, 2, 7])))
        self.assertEqual((text["edges"], text["counts"]), (array["edges"], array["counts"]))
        self.assertEqual(text["counts"], [1, 2, 0, 0, 0, 0, 1])

    def test_decimals_beside_wide_numbers(self):
        self.fails(1, "sort", "-", stdin=b"1\n9007199254740993\n0.5\n", says="line 3 has 0.5, which needs f64, and line 2 has")
        self.assertEqual(self.ok("sort", "-", stdin=b"1.5\n9007199254740994\n"), b"1.5\n9.007199254740994e+15\n")
        self.assertEqual(self.ok("sort", "-", stdin=b"-1\n9223372036854775808\n"), b"-1\n9.223372036854776e+18\n")
        self.assertEqual(self.ok("sort", "-", "--dtype", "f64", stdin=b"9007199254740993\n0.5\n"),
                         b"0.5\n9007199254740992\n")
        self.assertEqual(self.ok("sort", "-", stdin=b"9007199254740992\n0.5\n-3"), b"-3\n0.5\n9007199254740992\n")

    def test_dtype_is_that_of_the_numbers(self):
        text = self.write("a.txt", "7\n250\n250\n")
        self.assertEqual(json.loads(self.ok("unique", text, "--dtype", "u8", "--json"))["values"], [7, 250])
        self.assertEqual(self.ok("sort", "-", "--dtype", "u8", stdin=b"3\n1\n2\n"), b"1\n2\n3\n")
        self.fails(1, "sort", self.write("b.txt", "7\n300\n"), "--dtype", "u8", says="line 2: 300 does not fit u8")
        self.fails(1, "reduce", "-", "--dtype", "i32", stdin=b"7\nx\n1.5\n", says="line 3: 1.5 does not fit i32")
        self.assertEqual(self.ok("reduce", text, "--dtype", "u8", "--input-format", "raw", "--op", "max"),
                         f"{ord('7')}\n".encode())
        # Elements that are no text stay raw.
        raw = self.write("x.raw", bytes(range(100, 200)) * 50)
        self.assertEqual(self.json(raw, "--dtype", "u8")["n"], 5000)

    def test_no_number_is_an_error(self):
        for text in (b"", b"\n\n", b"abc\ndef\n", b"# 1\n"):
            for command in (["histogram"], ["sort"], ["topk", "-k", "1"], ["unique"], ["reduce"], ["quantile"], ["scan"],
                            ["convert", "--to", "f32"]):
                result = masu(command[0], "-", *command[1:], stdin=text)
                self.assertEqual((result.returncode, result.stdout), (1, b""), (command, text))
                self.assertIn(b"has no number", result.stderr)
        table = self.write("t.csv", "name,n\na,1\nb,2\n")
        self.fails(1, "hist", table, "--header", "--column", "name", says="column name has no number")
        self.fails(1, "hist", table, "--header", "--column", "name", "--dtype", "f32", says="column name has no number")

    def test_a_column_by_name_implies_a_header(self):
        table = self.write("t.csv", "2020,b\n1,0.5\n2,0.25\n")
        self.assertEqual(self.ok("reduce", table, "--column", "b", "--op", "sum", "--strict"), b"0.75\n")
        self.assertEqual(self.ok("dot", table, "--column", "b", "--column", "1", "--strict"), b"1\n")
        found = self.json(table, "--column", "1", "--integers", "4", "--weights", table, "--weights-column", "b", "--header")
        self.assertEqual(found["totals"], [0, 0.5, 0.25, 0])
        # Of the weights' name and of the values' each for its own file.
        bare = self.write("bare.csv", "1\n2\n")
        found = self.json(bare, "--integers", "4", "--weights", table, "--weights-column", "b")
        self.assertEqual(found["totals"], [0, 0.5, 0.25, 0])
        found = self.json(table, "--column", "b", "--bins", "1", "--range", "0:1", "--weights", bare)
        self.assertEqual(found["totals"], [3])

    def test_columns_of_one_dtype(self):
        table = self.write("t.csv", "a,b\n1,0.5\n2,0.25\n")
        self.assertEqual(self.ok("dot", table, "--header", "--column", "a", "--column", "b"), b"1\n")
        joint = self.json(table, "--header", "--joint", "--column", "a", "--column", "b", "--bins", "2")
        self.assertEqual(joint["counts"], [[0, 1], [1, 0]])
        wide = self.write("w.csv", "a,b\n9007199254740993,0.5\n")
        self.fails(1, "dot", wide, "--header", "--column", "a", "--column", "b", says="9007199254740993 does not fit f64")
        x = self.save_npy("x.npy", numpy.array([0.5, 0.25]))
        self.assertEqual(self.ok("dot", x, "-", stdin=b"4\n8\n"), b"4\n")

    def test_more_than_memory_holds(self):
        values = [(i * 7919) % 100003 - 50000 + (1 << 60) for i in range(100003)]
        text = "\n".join(map(str, values)).encode()
        expected = "".join(f"{v}\n" for v in sorted(values)).encode()
        path = self.write("t.txt", text)
        for more in ({"stdin": text}, {}):
            name = "-" if more else path
            self.assertEqual(self.ok("sort", name, "--memory", "64Ki", "--tmpdir", self.folder, **more), expected)
            got = self.ok("reduce", name, "--memory", "64Ki", "--op", "min,max", **more)
            self.assertEqual(got, f"min  {min(values)}\nmax  {max(values)}\n".encode())


class Output(CommandTest):
    """Text in gives text out; endings that cannot be written are errors."""

    def test_to_a_pipe(self):
        self.assertEqual(self.ok("scan", "-", stdin=b"1 2 3"), b"1\n3\n6\n")
        self.assertEqual(self.ok("sort", "-", stdin=b"100000\n1000000\n0.5\n"), b"0.5\n100000\n1000000\n")
        self.assertEqual(len(self.ok("sort", "random:f32:10")), 40)
        self.assertEqual(self.ok("sort", "-", "--index", stdin=b"30 10 20"), b"1\n2\n0\n")

    def test_text_of_floats_is_read_as_floats(self):
        values = numpy.array([0.5, 2.0 ** 60, 1e22, -3, 100000])
        path = self.path("x.txt")
        self.ok("convert", self.save_npy("x.npy", values), "--to", "f64", "-o", path)
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), "0.5\n1.152921504606847e+18\n1e+22\n-3\n100000\n")
        self.ok("convert", path, "--to", "f64", "-o", self.path("y.npy"))
        self.assertEqual(numpy.load(self.path("y.npy")).tolist(), values.tolist())

    def test_endings(self):
        text = self.write("a.txt", "1\n2\n")
        for command in (["sort"], ["scan"], ["transpose", "--shape", "1,2"], ["convert", "--to", "f32"]):
            for ending in ("x.json", "x.csv.gz", "x.NPZ", "x.png", "x.parquet"):
                self.fails(2, *command, text, "-o", self.path(ending), says="cannot write the format")
            self.ok(*command, text, "-o", self.path("x.dat"))
            self.ok(*command, text, "-o", self.path("x"))
        for command in (["topk", "-k", "1"], ["unique"], ["quantile"], ["reduce"], ["histogram"]):
            self.fails(2, *command, text, "-o", self.path("x.json.gz"), says="cannot write the format")
        self.fails(2, "unique", text, "-o", self.path("x.npy"))
        self.fails(2, "dot", text, text, "-o", self.path("x.csv"))
        self.fails(2, "sort", text, "--values", text, "--values-output", self.path("x.json"), says="--values-output")

    def test_one_file_twice(self):
        text = self.write("a.txt", "1\n2\n")
        self.fails(2, "hist", "-", "-", says="standard input")
        self.fails(2, "hist", text, "--plot", self.path("x.svg"), "-o", self.path("./x.svg"))
        self.fails(2, "hist", text, "--plot", self.path("x.pdf"), "-o", self.path("x.pdf"))

    def test_a_pipe_reserves_what_it_needs(self):
        for command, data in ((["sort", "-"], b"3\n1\n2\n"), (["sort", "-", "--dtype", "u8"], b"\x03\x01\x02")):
            result = subprocess.run([MASU, *command], input=data, capture_output=True, check=False, timeout=100,
                                    preexec_fn=limited_to(resource.RLIMIT_AS, 3_000_000 << 10))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, bytes(sorted(data)) if b"\n" not in data else b"1\n2\n3\n")
        data = numpy.random.default_rng(1).integers(0, 1 << 40, 1_000_003)  # grows several times
        got = self.ok("sort", "-", "--dtype", "i64", stdin=data.tobytes())
        self.assertEqual(got, numpy.sort(data).tobytes())
        order = self.ok("sort", "-", "--dtype", "i64", "--index", stdin=data.tobytes())
        self.assertEqual(order, numpy.argsort(data, kind="stable").astype("u8").tobytes())


class Names(CommandTest):
    def test_a_file_named_as_what_it_is_not(self):
        for name in ("photo.png", "PHOTO.JPG", "x.npy"):
            path = self.write(name, "1\n2\n")
            self.fails(1, "reduce", path, says="is named as")
            self.assertEqual(self.ok("reduce", path, "--input-format", "text", "--op", "sum"), b"3\n")

    def test_pages_of_a_tiff(self):
        entries = [(256, 2), (257, 1), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, 1), (279, 2)]
        def directory(following):
            body = b"".join(tag.to_bytes(2, "little") + (4).to_bytes(2, "little") + (1).to_bytes(4, "little") +
                            value.to_bytes(4, "little") for tag, value in entries)
            return len(entries).to_bytes(2, "little") + body + following.to_bytes(4, "little")
        size = len(directory(0))
        two = b"II*\0" + (10).to_bytes(4, "little") + b"\5\6" + directory(10 + size) + directory(0)
        one = b"II*\0" + (10).to_bytes(4, "little") + b"\5\6" + directory(0)
        for command in ("hist", "reduce", "sort"):
            self.assertIn(b"read image 1 of 2", masu(command, self.write("two.tif", two)).stderr)
            self.assertEqual(masu(command, self.write("two.tif", two), "--quiet").stderr, b"")
            self.assertEqual(masu(command, self.write("one.tif", one)).stderr, b"")

    def test_control_characters_are_shown(self):
        name = "a\x1b[31m\x9b\u202e.txt".encode("latin-1", "replace")
        path = self.folder.encode() + b"/" + name
        with open(path, "wb") as file:
            file.write(b"1\n2\nx\n")
        for command in ("hist", "reduce", "sort"):
            result = subprocess.run([MASU, command, path], capture_output=True, check=False)
            self.assertNotIn(b"\x1b", result.stdout + result.stderr)
            self.assertNotIn(b"\x9b", result.stdout + result.stderr)
            self.assertIn(rb"a\x1b[31m", result.stdout + result.stderr)
        table = self.write("t.csv", "a\x1b[2J\n1\n")
        self.assertNotIn("\x1b", self.fails(2, "hist", table, "--input-format", "text", "--header", "--column", "b"))
        self.assertIn(r"\x1b", self.fails(2, "hist", table, "--bins", "\x1b[2J"))
        self.assertIn(r"\x1b", self.fails(1, "hist", "no\x1bsuch\nfile"))
        self.assertIn("é", self.fails(1, "hist", "é\u0085.txt"))
        self.assertNotIn("\u0085", self.fails(1, "hist", "é\u0085.txt"))

    def test_columns_are_capped(self):
        for columns in ("4000000000", "99999999999999999999"):
            out = self.ok("hist", "-", stdin=b"1\n2\n", env={"COLUMNS": columns})
            self.assertLess(len(out), 20000)


class Numbers(CommandTest):
    def test_whole_numbers_have_no_exponent(self):
        self.assertEqual(self.ok("reduce", "-", "--op", "mean,max", stdin=b"100000\n100000.0\n"), b"mean  100000\nmax   100000\n")
        for stdin in (b"100000\n1234567\n", b"100000.0\n1234567.5\n2000000\n"):
            out = self.ok("hist", "-", "--bins", "3", stdin=stdin).decode()
            self.assertNotIn("e+", out)
            self.assertIn("100000", out)
        self.assertEqual(self.json("-", "--edges", "0,100000,1000000", stdin=b"5.5")["edges"], [0, 100000, 1000000])

    def test_a_rule_finds_a_bounded_number_of_bins(self):
        text = b"0 1 2 3 4 5 6 7 8 1e300"
        self.fails(1, "hist", "-", "--bins", "fd", stdin=text, says="--range")
        self.fails(1, "hist", "-", "--bins", "fd", stdin=b"0 1 2 3 4 5 6 7 8 1e10", says="--range")
        self.assertEqual(self.json("-", "--bins", "fd", "--range", "0:10", stdin=b"0 1 2 3 4 5 6 7 8 1e10")["above"], 1)


if __name__ == "__main__":
    unittest.main()
