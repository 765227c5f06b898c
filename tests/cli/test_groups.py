# SPDX-License-Identifier: Apache-2.0
"""--group against plain Python, and against the same command without it on the rows of each group."""

import csv
import gzip
import io
import json
import math
import random
import unittest
from fractions import Fraction

from command import CommandTest, masu, usable_devices

COMMANDS = ("reduce", "quantile", "topk", "unique", "histogram")
NAMES = ("Rome", "Paris, FR", 'the "Hague"', "", " Oslo ", "São Paulo", "two\nlines", "7", "07", "-")
BITS = 1 << 53


def table(generator, rows, names=NAMES, value=None):
    """Rows of a place, a year and a value, as texts."""
    value = value or (lambda: generator.choice(("", "x", "nan", "1e300", "-0", "0"))
                      if generator.random() < 0.2 else f"{generator.uniform(-9, 9):.3f}")
    return [[generator.choice(names), str(generator.randrange(2019, 2022)), value()] for _ in range(rows)]


def text_of(rows, header=("place", "year", "value"), delimiter=",", ending="\n"):
    to = io.StringIO()
    writer = csv.writer(to, delimiter=delimiter, lineterminator=ending)
    writer.writerows([header] if header else [])
    writer.writerows(rows)
    return to.getvalue()


def readable(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def groups_of(rows, *columns, order="first"):
    """The values of each group, by the entries of its columns, in the order of the first row of each."""
    groups = {}
    for place, row in enumerate(rows):
        group = groups.setdefault(tuple(row[i] for i in columns), [])
        if readable(row[-1]):
            group.append((row[-1], place))
    if order == "first":
        return groups
    numbers = [all(readable(key[i].strip()) for key in groups) for i in range(len(columns))]
    return dict(sorted(groups.items(), key=lambda item: [
        float(part) if number else part.encode() for part, number in zip(item[0], numbers)]))


class GroupTest(CommandTest):
    def rows(self, *arguments, **more):
        """The lines of a result as CSV, without the header."""
        self.ok(*arguments, "-o", self.path("out.csv"), "--quiet", **more)
        with open(self.path("out.csv"), newline="", encoding="utf-8") as file:
            return list(csv.reader(file))


class AgainstPython(GroupTest):
    def test_random_tables(self):
        generator = random.Random(1)
        for rows in (1, 2, 3, 17, 200, 1009):
            data = table(generator, rows)
            data.append(["Rome", "2020", "1.5"])
            for delimiter, ending in ((",", "\n"), ("\t", "\r\n"), (";", "\n"), ("|", "\r")):
                names = [n for n in NAMES if "\n" not in n or ending == "\n"]
                lines = [[row[0] if row[0] in names else "Rome", *row[1:]] for row in data]
                self.write("t.csv", text_of(lines, delimiter=delimiter, ending=ending))
                for columns, order in (("place", "first"), ("year", "sorted"), ("place,year", "sorted"),
                                       ("number:2,1", "first")):
                    indices = [{"place": 0, "1": 0}.get(name, 1) for name in columns.split(",")]
                    expected = groups_of(lines, *indices, order=order)
                    found = self.rows("reduce", self.path("t.csv"), "--group", columns, "--group-order", order, "--header",
                                      "--column", "value", "--op", "sum,mean,count-nonzero,argmin,argmax", "--delimiter",
                                      delimiter if delimiter != "\t" else "tab")
                    self.assertEqual([tuple(row[:len(indices)]) for row in found[1:]], list(expected))
                    for row, entries in zip(found[1:], expected.values()):
                        self.check(row[len(indices):], entries)

    def check(self, found, entries):
        if not entries:
            self.assertIn(found, (["0", "", "0", "", ""], ["0.0", "", "0", "", ""]))
            return
        values = [float(text) for text, _ in entries]
        total = math.nan if any(map(math.isnan, values)) else sum(map(Fraction, values))
        mean = total / len(values)
        places = [place for _, place in entries]
        least = next((i for i, x in enumerate(values) if math.isnan(x)), values.index(min(values)))
        most = next((i for i, x in enumerate(values) if math.isnan(x)), values.index(max(values)))
        self.assertEqual(str(float(found[0])), str(float(total)))
        self.assertEqual(str(float(found[1])), str(float(mean)))
        self.assertEqual([int(text) for text in found[2:]], [sum(x != 0 for x in values), places[least], places[most]])

    def test_many_groups(self):
        generator = random.Random(2)
        data = [[f"g{generator.randrange(100000)}", "1", str(generator.randrange(-99, 99))] for _ in range(250000)]
        self.write("t.csv", text_of(data))
        expected = groups_of(data, 0)
        found = self.rows("reduce", self.path("t.csv"), "--group", "place", "--column", "value", "--op", "sum,min,max")
        self.assertEqual([row[0] for row in found[1:]], [key for key, in expected])
        for row, entries in zip(found[1:], expected.values()):
            values = [int(text) for text, _ in entries]
            self.assertEqual([int(text) for text in row[1:]], [sum(values), min(values), max(values)])

    def test_numbers(self):
        generator = random.Random(7)
        texts = ["0.0", "-0.0", "5.", ".5", "-.5", "1e0", "+1.5", "1E+22", "9007199254740993.0", "0.1", "1e-400", "4.9e-324",
                 "2.4703282292062328e-324", "1.7976931348623157e308", "00000000000000000000001.5", " 2.5 ", "inf", "-INF"]
        for _ in range(60000):
            digits = "".join(generator.choices("0123456789", k=generator.randrange(1, 22)))
            point = generator.randrange(len(digits) + 1)
            texts.append(generator.choice(("", "-")) + digits[:point] + "." + digits[point:] +
                         generator.choice(("", "", f"e{generator.randrange(-40, 40)}")))
        rows = [[str(i), text] for i, text in enumerate(texts)]
        found = self.rows("reduce", self.write("t.csv", text_of(rows, header=None)), "--group", "1", "--column", "2", "--op", "min")
        for row, text in zip(found[1:], texts):
            self.assertEqual(float(row[1]).hex(), float(text).hex(), text)
        for text in ("", "-", ".", "1e", "1.5x", "1 5", "0x10", "--1", "1.5\0"):
            self.fails(1, "reduce", "-", "--input-format", "text", "--delimiter", "comma", "--group", "1", "--column", "2",
                       stdin=f"a,{text}\n".encode(), says="no number")
        whole = ["0", "-0", "9223372036854775807", "-9223372036854775808", "9007199254740993", "-7", "0012"]
        found = self.rows("reduce", "-", "--group", "1", "--column", "2", "--op", "min",
                          stdin="".join(f"{i},{text}\n" for i, text in enumerate(whole)).encode())
        self.assertEqual([int(row[1]) for row in found[1:]], [int(text) for text in whole])

    def test_ragged_lines_and_names_of_rows(self):
        text = "place,value\na,1\nb\na,2,3\nb,4\n\n# no comment,1\na,5\n"
        found = self.ok("reduce", "-", "--group", "place", "--column", "value", "--op", "sum", "--json", stdin=text.encode())
        self.assertEqual(json.loads(found)["groups"], {"place": ["a", "b", "# no comment"]})
        self.assertEqual(json.loads(found)["sum"], [6, 4, 1])
        self.assertEqual(json.loads(found)["left_out"]["wrong_fields"], 2)
        text = "  1 x 5\n2   y\n1 z 6 7\n# 1 2 3\n 2 x 8\n"
        self.assertEqual(self.rows("reduce", "-", "--group", "1", "--column", "3", "--op", "sum", stdin=text.encode()),
                         [["1", "sum"], ["1", "11"], ["2", "8"]])

    def test_one_group_and_none(self):
        self.assertEqual(self.rows("unique", "-", "--group", "1", "--column", "2", stdin=b"a,3\na,1\na,3\n"),
                         [["1", "value", "count"], ["a", "1", "1"], ["a", "3", "2"]])
        for text in (b"a,b\n", b"a,b\n1,x\n2,\n"):
            self.fails(1, "reduce", "-", "--group", "a", "--column", "b", stdin=text, says="column b has no number")
        self.fails(1, "reduce", "-", "--group", "1", "--column", "1", stdin=b"")


class AgainstTheSameCommand(GroupTest):
    """A group's results are those of its rows alone, to the last digit."""

    def each_group(self, command, *options):
        generator = random.Random(3)
        rows = table(generator, 300)
        text = text_of(rows).encode()
        grouped = json.loads(self.ok(command, "-", "--group", "place", "--column", "value", *options, "--json", "--verify",
                                     "--quiet", stdin=text))
        groups = groups_of(rows, 0)
        self.assertEqual(grouped["n"], sum(map(len, groups.values())))
        for number, (key, entries) in enumerate(groups.items()):
            if not entries:
                continue
            alone = json.loads(self.ok(command, "-", *options, "--json", "--quiet", "--dtype", "f64",
                                       stdin="\n".join(text for text, _ in entries).encode()))
            yield number, key[0], grouped, alone, [place for _, place in entries]

    def test_reduce(self):
        operations = ("sum", "mean", "min", "max", "variance", "std", "norm2", "count-nonzero", "count", "median", "var")
        for number, key, grouped, alone, _ in self.each_group("reduce", "--op", ",".join(operations)):
            self.assertEqual(grouped["groups"]["place"][number], key)
            for name in operations:
                self.assertEqual(grouped[name][number], alone[name], (key, name))

    def test_quantile(self):
        for options in ((), ("-q", "0.1,0.5", "--method", "lower")):
            for number, _, grouped, alone, _ in self.each_group("quantile", *options):
                self.assertEqual((grouped["values"][number], grouped["q"]), (alone["values"], alone["q"]))

    def test_topk(self):
        for options in (("-k", 3), ("-k", 1000, "--smallest", "--nan", "last")):
            for number, _, grouped, alone, places in self.each_group("topk", *options):
                self.assertEqual(grouped["values"][number], alone["values"])
                self.assertEqual(grouped["indices"][number], [places[i] for i in alone["indices"]])

    def test_unique(self):
        for options in ((), ("--by", "count", "--limit", 2)):
            for number, _, grouped, alone, _ in self.each_group("unique", *options):
                self.assertEqual((grouped["values"][number], grouped["counts"][number], grouped["distinct"][number]),
                                 (alone["values"], alone["counts"], alone["distinct"]))

    def test_histogram(self):
        for number, key, grouped, alone, _ in self.each_group("histogram", "--range", "-5:5", "--bins", 7, "--density"):
            group = grouped["groups"][number]
            self.assertEqual(group.pop("group"), {"place": key})
            for name, value in group.items():
                self.assertEqual(value, alone[name], (key, name))


class Forms(GroupTest):
    DATA = b'place,year,value\nRome,2024,3.5\n"a, b",2023,1\nRome,2023,4\n,2024,7\n'

    def of(self, *arguments):
        return self.ok(*arguments, stdin=self.DATA).decode()

    def test_tables(self):
        self.assertEqual(self.of("reduce", "-", "--group", "place", "--column", "value", "--op", "sum,max"),
                         "place  sum  max\nRome   7.5    4\na, b     1    1\n         7    7\n")
        self.assertEqual(self.of("quantile", "-", "--group", "place", "--column", "value", "-q", "0.5,1"),
                         "place   0.5  1\nRome   3.75  4\na, b      1  1\n          7  7\n")
        self.assertEqual(self.of("quantile", "-", "--group", "place", "--column", "value", "-q", "0.5,1", "--format", "tsv"),
                         "place\t0.5\t1\nRome\t3.75\t4\n\"a, b\"\t1\t1\n\t7\t7\n")
        self.assertEqual(self.of("topk", "-", "-k", "1", "--group", "year", "--group-order", "sorted", "--column", "value"),
                         "year  value  index\n2023      4      2\n2024      7      3\n")
        self.assertEqual(self.of("unique", "-", "--group", "year,place", "--column", "year", "--limit", "1"),
                         "year  place  value  count\n2024  Rome    2024      1\n2023  a, b    2023      1\n"
                         "2023  Rome    2023      1\n2024          2024      1\n")
        chart = self.of("histogram", "-", "--group", "place", "--column", "value", "--bins", "2")
        for part in ("2 bins", "\nRome: n 2, range 3.5:4, mean 3.75,", '\n"": n 1, range 7:7,'):
            self.assertIn(part, chart)
        text = ("--input-format", "text", "--group", "1", "--column", "2", "--op", "sum")
        self.assertIn(b"\x1b[1m ", self.ok("reduce", "-", *text, stdin=b"\x1b[1m,2\n"))  # as it is, where no terminal is

    def test_files(self):
        for name in ("o.json", "o.csv"):
            self.ok("histogram", "-", "--group", "place", "--column", "value", "--bins", "2", "--cumulative", "-o",
                    self.path(name), stdin=self.DATA)
        with open(self.path("o.json"), encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual((found["edges"], found["n"]), ([1, 4, 7], 4))
        self.assertEqual([(group["group"], group["n"], group["counts"], group["cumulative"]) for group in found["groups"]],
                         [({"place": "Rome"}, 2, [1, 1], [1, 2]), ({"place": "a, b"}, 1, [1, 0], [1, 1]),
                          ({"place": ""}, 1, [0, 1], [0, 1])])
        with open(self.path("o.csv"), newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
        self.assertEqual(lines[0], ["place", "lo", "hi", "count", "cumulative"])
        self.assertEqual(lines[3:5], [["a, b", "1", "4", "1", "1"], ["a, b", "4", "7", "0", "1"]])
        one = self.ok("histogram", "-", "--group", "1", "--column", "2", "--integers", "3", "--json", stdin=b"a,1\na,2\n")
        self.assertEqual([group["counts"] for group in json.loads(one)["groups"]], [[0, 1, 1]])

    def test_arrays(self):
        for arguments, shape in ((("reduce", "--op", "sum"), "(3,)"), (("quantile", "-q", "0.5,1"), "(3, 2)"),
                                 (("topk", "-k", "1"), "(3, 1)"), (("histogram", "--bins", "2"), "(3, 2)")):
            self.ok(arguments[0], "-", "--group", "place", "--column", "value", *arguments[1:], "-o", self.path("o.npy"),
                    stdin=self.DATA)
            with open(self.path("o.npy"), "rb") as file:
                self.assertIn(shape, file.read(128).decode("latin-1"), arguments)
        self.fails(1, "topk", "-", "-k", "2", "--group", "place", "--column", "value", "-o", self.path("p.npy"),
                   stdin=self.DATA, says="rows of one length")

    def test_plot(self):
        self.write("t.csv", self.DATA)
        result = masu("histogram", self.path("t.csv"), "--group", "place", "--column", "value", "--plot", self.path("p.svg"))
        if b"libcairo" in result.stderr:
            self.skipTest("no Cairo")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_devices(self):
        for device in usable_devices("opencl"):
            for command in COMMANDS:
                arguments = (command, "-", *(["-k", "2"] if command == "topk" else []), "--group", "place", "--column", "value")
                self.assertEqual(self.of(*arguments, "--device", device, "--verify", "--quiet"),
                                 self.of(*arguments, "--device", "cpu"), (command, device))


class LargeFiles(GroupTest):
    """Files that are read by several threads have the results, notes and errors of one."""

    def same(self, text, *arguments, status=0):
        path = self.write("t.csv", text)
        results = [masu(*arguments[:1], path, *arguments[1:], "--threads", threads) for threads in (1, 2, 3)]
        for result in results:
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertEqual((result.stdout, result.stderr), (results[0].stdout, results[0].stderr))
        return results[0]

    def test_threads(self):
        generator = random.Random(4)
        for ending in ("\n", "\r\n"):
            rows = table(generator, 200000, [n for n in NAMES if ending == "\n" or "\n" not in n])
            rows[150000] = ["Rome", "2020"]
            rows[170000] = ["never seen", "2020", "17"]
            text = text_of(rows, ending=ending)
            found = self.same(text, "reduce", "--group", "place,year", "--column", "value", "--op", "sum,mean,argmax")
            self.assertIn(b"with a wrong number of fields (line ", found.stderr)
            self.same(text, "topk", "--group", "place", "--group-order", "sorted", "--column", "value", "-k", "5")
            failed = self.same(text, "reduce", "--group", "place", "--column", "value", "--strict", status=1)
            self.assertIn(b": line ", failed.stderr)
        rows = [["a", str(i), "1" * (i % 7 + 1)] for i in range(300000)]
        rows[299000][2] = "x"
        failed = self.same(text_of(rows), "quantile", "--group", "place", "--column", "value", "--strict", status=1)
        self.assertIn(b"line 299002: the entry 'x' is not a number", failed.stderr)

    def test_dtypes(self):
        rows = [[f"g{i % 5}", "1", str(i)] for i in range(400000)]
        for last, dtype in (("9" * 18, "i64"), (str(2**64 - 1), "u64"), ("0.5", "f64")):
            rows[-1][2] = last
            found = self.same(text_of(rows), "reduce", "--group", "place", "--column", "value", "--op", "min,max", "--quiet",
                              "-o", self.path("o.json"))
            self.assertEqual(found.stderr, b"")
            with open(self.path("o.json"), encoding="utf-8") as file:
                result = json.load(file)
            self.assertEqual((result["dtype"], str(result["max"][4])), (dtype, last if dtype != "f64" else "399994"))
        rows[0][2] = str(BITS + 1)
        failed = self.same(text_of(rows), "reduce", "--group", "place", "--column", "value", status=1)
        self.assertIn(b"f64 holds no such whole number", failed.stderr)
        failed = self.same(text_of(rows), "reduce", "--group", "place", "--column", "value", "--dtype", "u8", status=1)
        self.assertIn(f"line 2: {BITS + 1} does not fit u8".encode(), failed.stderr)

    def test_streams(self):
        text = text_of(table(random.Random(5), 5000)).encode()
        path = self.write("t.csv", text)
        packed = self.write("t.csv.gz", gzip.compress(text))
        arguments = ("--group", "place", "--column", "value", "--quiet")
        expected = self.ok("reduce", path, *arguments)
        self.assertEqual(self.ok("reduce", packed, *arguments), expected)
        self.assertEqual(self.ok("reduce", "-", *arguments, stdin=text), expected)


    def test_several_inputs(self):
        generator = random.Random(6)
        rows = [[f"g{generator.randrange(9)}", "1", str(generator.randrange(999))] for _ in range(150000)]
        rows[-1][2] = "x"
        all_of_them = self.write("all.csv", text_of(rows))
        first = self.write("a.csv", text_of(rows[:120000]))
        second = self.write("b.csv", text_of([row[::-1] for row in rows[120000:]], header=("value", "year", "place")))
        arguments = ("--group", "place", "--column", "value", "--op", "sum,median,argmax,argmin")
        expected = masu("reduce", all_of_them, *arguments)
        for threads in (1, 2):
            found = masu("reduce", first, second, *arguments, "--threads", threads)
            self.assertEqual((found.returncode, found.stdout), (0, expected.stdout))
            self.assertIn(b"1 of 150,000 rows: 1 not a number (line 30001: 'x' of " + second.encode(), found.stderr)


class BadInput(GroupTest):
    def test_memory(self):
        long = self.write("l.csv", "".join(f"{i:0400},{i}\n" for i in range(4000)))
        self.fails(1, "reduce", long, "--group", "1", "--column", "2", "--memory", "1Mi",
                   says="need more than the 1 MiB that they may take (--memory)")
        path = self.write("t.csv", "".join(f"{i},{i}\n" for i in range(200000)))
        same = self.write("s.csv", "".join(f"{i % 3},{i}\n" for i in range(200000)))
        self.fails(1, "reduce", same, "--group", "1", "--column", "2", "--memory", "1Mi",
                   says="rows of 3 groups need more than the 1024 KiB that --group may take (--memory)")
        self.ok("reduce", path, "--group", "1", "--column", "2", "--memory", "100Mi")
        self.fails(1, "histogram", path, "--group", "1", "--column", "2", "--bins", "60000", "--memory", "100Mi",
                   says="groups of 60000 bins need more than the 102400 KiB that --group may take (--memory)")

    def test_usage(self):
        path = self.write("t.csv", "a,b\n1,2\n")
        for arguments, says in ((("--group", "a"), "--group needs a --column"),
                                (("--group", "a", "--column", "b,b"), "--column has b twice"),
                                (("--column", "1,b", "--rows", "1"), "more than one --column and --rows exclude each other"),
                                (("--column", "1,b", "--input-format", "npy"), "takes a text, not npy"),
                                (("--column", "b,"), ""), (("--column", ","), ""),
                                (("--group", "a", "--column", "b,c"), "no column is named 'c'"),
                                (("--group", "a", "--column", "a,b", "-o", self.path("o.npy"), "--op", "sum"), ".npy"),
                                (("--group", "a", "--column", "b", "--rows", "1"), "--group and --rows exclude each other"),
                                (("--group", "c", "--column", "b"), "no column is named 'c'"),
                                (("--group", "a", "--column", "c"), "no column is named 'c'"),
                                (("--group", "a,", "--column", "b"), ""),
                                (("--group", "a", "--column", "b", "--group-order", "up"), "--group-order takes first or sorted")):
            self.fails(2, "reduce", path, *arguments, says=says)
        self.fails(2, "reduce", "-", "-", "--group", "a", "--column", "b", says="standard input can be one INPUT only")
        self.fails(2, "histogram", path, path, "--group", "a", "--column", "b", says="takes one INPUT")
        for option in (("--joint",), ("--region", "0,0,1,1"), ("--channels", "2"), ("--weights", path)):
            self.fails(2, "histogram", path, "--group", "a", "--column", "b", *option)
        self.fails(1, "reduce", self.path("none.csv"), "--group", "a", "--column", "b", says="none.csv")
        self.assertNotEqual(masu("reduce", "random:u8:10", "--group", "a", "--column", "b").returncode, 0)
        self.fails(1, "reduce", "-", "--group", "1", "--column", "2", stdin=b'a,1\nb,"2\n', says="a quote is opened")


if __name__ == "__main__":
    unittest.main()
