# SPDX-License-Identifier: Apache-2.0
"""Texts, dates and times as values, against plain Python: unique, sort and topk, of columns and of whole lines."""

import collections
import csv
import datetime
import io
import json
import random
import unittest

from command import CommandTest, masu

CITIES = ["Berlin", "Paris", "New York", "Zürich", "zürich", "a, b", 'say "x"', "two\nlines", "0x", "naïve", "-", "="]


def table(rows, header=("order", "city", "note")):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def counted(texts, by_count=False):
    """Texts with counts, by bytes or the most frequent first."""
    counts = collections.Counter(texts)
    pairs = sorted(counts.items(), key=lambda pair: pair[0].encode())
    return sorted(pairs, key=lambda pair: -pair[1]) if by_count else pairs


def pairs(found):
    return list(zip(found["values"], found["counts"]))


class TextColumnTest(CommandTest):
    def unique(self, *arguments, **more):
        return json.loads(self.ok("unique", *arguments, "--json", "--quiet", "--device", "cpu", **more))

    def random_column(self, rows, different, seed=1):
        source = random.Random(seed)
        pool = CITIES + [f"city {source.randrange(10**6)}" for _ in range(different)]
        texts = [source.choice(pool) if source.random() > 0.1 else "" for _ in range(rows)]
        return texts, self.write("t.csv", table([(i, text, "x") for i, text in enumerate(texts)]))

    def test_counts_of_a_column(self):
        for rows, different in ((1, 0), (2, 0), (3001, 0), (6007, 5000)):
            texts, file = self.random_column(rows, different, rows)
            full = [text for text in texts if text]
            if not full:
                continue
            for extra in ([], ["--verify"], ["--threads", "1"]):
                found = self.unique(file, "--column", "city", *extra)
                self.assertEqual(pairs(found), counted(full))
                self.assertEqual((found["n"], found["distinct"], found["dtype"]), (len(full), len(set(full)), "text"))
                self.assertEqual(found.get("bad_lines", 0), len(texts) - len(full))
                found = self.unique(file, "--column", "city", "--by", "count", "--limit", "5", *extra)
                self.assertEqual(pairs(found), counted(full, True)[:5])

    def test_parts_on_threads_are_one_text(self):
        """A file that is large enough for several threads, with a quoted line end here and there."""
        texts, file = self.random_column(250_000, 40_000)
        texts = [text for text in texts if text]
        for threads in (1, 2, 3):
            found = self.unique(file, "--column", "city", "--threads", threads)
            self.assertEqual(pairs(found), counted(texts))
            self.assertEqual(found["left_out"]["empty"], 250_000 - len(texts))
        order = json.loads(self.ok("topk", file, "--column", "city", "-k", "20", "--smallest", "--json", "--quiet"))
        self.assertEqual(order["values"], sorted(texts, key=str.encode)[:20])

    def test_ignore_case(self):
        file = self.write("w.txt", "Berlin\nberlin\nBERLIN\nzürich\nZürich\nZÜRICH\nParis\n")
        self.assertEqual(pairs(self.unique(file, "--ignore-case")),
                         [("Berlin", 3), ("Paris", 1), ("ZÜRICH", 1), ("zürich", 2)])
        self.assertEqual(len(self.unique(file)["values"]), 7)

    def test_a_line_is_a_text(self):
        file = self.write("words.txt", "the\nNew York\n\nthe\n the\nquick, brown\n")
        expected = b"value         count\n the              1\nNew York          1\nquick, brown      1\nthe               2\n"
        self.assertEqual(self.ok("unique", file), expected)
        self.assertEqual(self.ok("sort", file), b" the\nNew York\nquick, brown\nthe\nthe\n")
        self.assertEqual(self.ok("unique", "-", stdin=b"b\na\nb"), b"value  count\na          1\nb          2\n")

    def test_bytes_come_out_as_they_went_in(self):
        source = random.Random(3)
        lines = [bytes(source.choice(b'ab\x00\xff\xc3\xb6\x1b;') for _ in range(source.randrange(1, 9))) for _ in range(999)]
        file = self.write("b.bin", b"\n".join(lines))
        self.assertEqual(self.ok("sort", file, "--text"), b"".join(line + b"\n" for line in sorted(lines)))
        self.ok("sort", file, "--text", "--descending", "-o", self.path("o.txt"))
        with open(self.path("o.txt"), "rb") as found:
            self.assertEqual(found.read(), b"".join(line + b"\n" for line in sorted(lines, reverse=True)))

    def test_what_a_column_is(self):
        cases = {
            "a\nb\n": "text", "a\n1\n": "i64", "1.5\n2026-01-31\n": "f64", "a\n2026-01-31\n": "instant",
            "2026-02-30\n2026-13-01\n": "text", "nan\nx\n": "f64", "2026-01-31T10:00\n2026-01-31\nx\n": "instant",
        }
        for text, dtype in cases.items():
            self.assertEqual(self.unique(self.write("c.txt", text))["dtype"], dtype, text)
            lines = text.splitlines()
            self.assertEqual(pairs(self.unique(self.path("c.txt"), "--text")), counted(lines), text)
        # What a late entry shows holds for all.
        for last, dtype, n in (("7", "i64", 1), ("2026-01-31", "instant", 1), ("x", "text", 10_001)):
            file = self.write("late.csv", table([(0, f"c{i}", "") for i in range(10_000)] + [(0, last, "")]))
            for where in ([file], ["-"]):
                with open(file, "rb") as data:
                    found = self.unique(*where, "--column", "city", stdin=data.read())
                self.assertEqual((found["dtype"], found["n"]), (dtype, n))

    def test_forms(self):
        file = self.write("t.csv", table([(1, 'a, "b"', ""), (2, "c", ""), (3, "c", "")]))
        self.ok("unique", file, "--column", "city", "-o", self.path("o.csv"))
        with open(self.path("o.csv"), encoding="utf-8", newline="") as found:
            self.assertEqual(list(csv.reader(found)), [["value", "count"], ['a, "b"', "1"], ["c", "2"]])
        self.assertEqual(self.ok("sort", file, "--column", "city", "--index"), b"0\n1\n2\n")
        self.fails(2, "sort", file, "--column", "city", "-o", self.path("o.npy"), says="write .txt")
        self.fails(2, "unique", file, "--column", "city", "--text", "--dtype", "u8", says="exclude each other")
        self.fails(1, "unique", file, "--header", "--text",
                   says="has 3 columns; choose one with --column: order, city, note")
        self.fails(1, "quantile", file, "--column", "city", says="has no number")
        self.fails(1, "unique", self.write("e.txt", "\n\n"), "--text", says="has no text")
        self.fails(1, "unique", self.write("s.csv", table([(1, "a", ""), (2, "", "")])), "--column", "city", "--strict",
                   says="line 3: the entry '' is empty")

    def test_places_count_what_was_left_out(self):
        file = self.write("t.csv", "id,city\n\n1,b\n2,\"\"\n3,a\n4,x,y\n5,c\n")
        found = json.loads(self.ok("topk", file, "--column", "city", "-k", "3", "--json", "--quiet"))
        self.assertEqual((found["values"], found["indices"]), (["c", "b", "a"], [4, 0, 2]))
        self.assertEqual(self.ok("sort", file, "--column", "city", "--index"), b"2\n0\n4\n")

    def test_several_inputs_are_one(self):
        one = self.write("a.csv", "city\nc\na\nb\na\n")
        two = self.write("b.csv", "city\na\n\"\"\nZ\nb\n")
        found = self.unique(one, two, "--column", "city")
        self.assertEqual(pairs(found), [("Z", 1), ("a", 3), ("b", 2), ("c", 1)])
        self.assertEqual(self.ok("sort", one, two, "--column", "city"), b"Z\na\na\na\nb\nb\nc\n")
        self.assertEqual(self.ok("sort", one, two, "--column", "city", "--index"), b"6\n1\n3\n4\n2\n7\n0\n")
        self.fails(1, "unique", one, self.write("n.csv", "city\n1\n"), "--column", "city", says="has text")

    def test_is_sorted(self):
        file = self.write("w.txt", "a\nc\nb\n")
        self.fails(3, "sort", file, "--is-sorted", says="not sorted: element 2 is b, after c")
        self.ok("sort", self.write("v.txt", "B\na\naa\n"), "--is-sorted")

    def test_more_texts_than_memory_holds(self):
        file = self.write("w.txt", "".join(f"text n{i}\n" for i in range(200_000)))
        self.fails(1, "unique", file, "--memory", "1Mi", says="its different texts need more than")
        self.assertEqual(self.unique(file, "--memory", "128Mi")["distinct"], 200_000)
        # Several threads read it.
        file = self.write("long.txt", "".join(f"text n{i}\n" for i in range(500_000)))
        self.fails(1, "unique", file, "--memory", "1Mi", says="long.txt: its different texts need more than")

    def test_quotes_without_end(self):
        self.fails(1, "unique", self.write("q.csv", 'city\na\n"b\nc\n'), "--column", "city", says="line 3")


class DateTest(CommandTest):
    def test_dates_are_instants(self):
        source = random.Random(5)
        first = datetime.datetime(1890, 1, 1, tzinfo=datetime.timezone.utc)
        for step, form in ((86400, "%Y-%m-%d"), (60, "%Y-%m-%d %H:%M"), (1, "%Y-%m-%dT%H:%M:%SZ")):
            times = [first + datetime.timedelta(seconds=step * source.randrange(10**8 // step)) for _ in range(500)]
            file = self.write("d.csv", table([(i, time.strftime(form), "") for i, time in enumerate(times)]))
            shown = "%Y-%m-%d" if step == 86400 else "%Y-%m-%dT%H:%M:%SZ"
            expected = [time.strftime(shown) for time in sorted(times)]
            self.assertEqual(self.ok("sort", file, "--column", "city").decode().split(), expected)
            found = json.loads(self.ok("unique", file, "--column", "city", "--json"))
            self.assertEqual((pairs(found), found["dtype"]), (counted(expected), "instant"))
            found = json.loads(self.ok("topk", file, "--column", "city", "-k", "7", "--json"))
            self.assertEqual(found["values"], expected[::-1][:7])

    def test_zones_and_fractions(self):
        file = self.write("d.txt", "2026-01-31T00:30+02:00\n2026-01-30T22:30Z\n2026-01-30 22:30:00.000001\n")
        self.assertEqual(self.ok("sort", file),
                         b"2026-01-30T22:30:00.000000Z\n2026-01-30T22:30:00.000000Z\n2026-01-30T22:30:00.000001Z\n")

    def test_quantiles(self):
        file = self.write("d.txt", "2026-01-01\n2026-01-02\n2026-01-04\n2026-02-01\n")
        self.assertEqual(json.loads(self.ok("quantile", file, "-q", "0,0.5,1", "--json", "--verify"))["values"],
                         ["2026-01-01", "2026-01-03", "2026-02-01"])
        self.assertIn(b"0.5  2026-01-02", self.ok("quantile", file, "-q", "0.5", "--method", "lower"))

    def test_reduced(self):
        days = [datetime.date(2026, 1, 31) + datetime.timedelta(days=n * n) for n in range(10)]
        rows = [(n, day.isoformat(), "") for n, day in enumerate(days)]
        file = self.write("t.csv", table(rows))
        options = (file, "--column", "city", "--json", "--verify")
        found = json.loads(self.ok("reduce", *options, "--op", "min,max,mean,median,count,argmax,skipped"))
        mean = datetime.datetime(2026, 1, 31) + datetime.timedelta(days=28.5)
        self.assertEqual({name: found[name] for name in ("min", "max", "mean", "median", "count", "argmax", "skipped")},
                         {"min": "2026-01-31", "max": days[-1].isoformat(), "mean": mean.strftime("%Y-%m-%dT%H:%M:%SZ"),
                          "median": "2026-02-20T12:00:00Z", "count": 10, "argmax": 9, "skipped": 0})
        self.assertEqual(found["dtype"], "instant")
        self.assertEqual(list(json.loads(self.ok("reduce", *options)))[:4], ["mean", "min", "max", "n"])
        self.assertEqual(self.ok("max", file, "--column", "city"), f"{days[-1]}\n".encode())
        self.assertEqual(self.ok("min", file, "--column", "city", "--format", "csv"), b"min\n2026-01-31\n")
        for op in ("sum", "std", "var", "norm2", "count-nonzero"):
            self.fails(1, "reduce", file, "--column", "city", "--op", f"min,{op}", says=f"dates have no {op}: of them")
        self.fails(1, "sum", file, "--column", "city", says="dates have no sum")

    def test_bad_dates(self):
        file = self.write("d.csv", table([(0, text, "") for text in ("2026-01-31", "2026-02-30", "", "soon")]))
        result = masu("sort", file, "--column", "city")
        self.assertEqual(result.stdout, b"2026-01-31\n")
        self.assertIn(b"3 of 4 rows: 1 empty, 2 not a date or a time (line 3: '2026-02-30') (--text", result.stderr)
        self.fails(1, "sort", file, "--column", "city", "--strict",
                   says="line 3: the entry '2026-02-30' is not a date or a time")

    def histogram(self, times, *arguments):
        file = self.write("d.txt", "".join(time + "\n" for time in times))
        return json.loads(self.ok("histogram", file, "--json", "--verify", "--quiet", "--device", "cpu", *arguments))

    def test_bins_of_the_calendar(self):
        source = random.Random(6)
        first = datetime.datetime(1999, 12, 31)
        times = [first + datetime.timedelta(seconds=source.randrange(900 * 86400)) for _ in range(2000)]
        texts = [time.isoformat() for time in times]
        for unit, form in (("day", "%Y-%m-%d"), ("month", "%Y-%m-01"), ("year", "%Y-01-01"), ("hour", "%Y-%m-%dT%H")):
            found = self.histogram(texts, "--bins", unit)
            begins = [edge[:13] if unit == "hour" else edge[:10] for edge in found["edges"]]
            expected = collections.Counter(time.strftime(form) for time in times)
            self.assertEqual({begin: count for begin, count in zip(begins, found["counts"]) if count}, dict(expected))
            self.assertEqual((found["n"], found["below"], found["above"]), (2000, 0, 0))
            self.assertTrue(all(edge.endswith("Z") for edge in found["edges"]))

    def test_bins_are_picked(self):
        for span, least in ((30, 1), (3600, 60), (86400, 900), (40 * 86400, 86400), (365 * 86400, 7 * 86400),
                            (4 * 365 * 86400, 28 * 86400), (40 * 365 * 86400, 365 * 86400)):
            first = datetime.datetime(2001, 2, 3, 4, 5, 6)
            times = [first, first + datetime.timedelta(seconds=span)]
            found = self.histogram([time.isoformat() for time in times])
            edges = [datetime.datetime.fromisoformat(edge[:19]) for edge in found["edges"]]
            self.assertLessEqual(len(found["counts"]), 61)
            self.assertGreaterEqual((edges[1] - edges[0]).total_seconds(), least)
            self.assertEqual(sum(found["counts"]), 2)
            self.assertLessEqual(edges[0], first)
            self.assertLess(edges[-2], times[1] + datetime.timedelta(seconds=1))
        self.assertEqual(self.histogram(["2026-01-31"])["edges"], ["2026-01-31", "2026-01-31T00:00:01Z"])
        found = self.histogram(["0001-01-01", "2299-12-31T23:59:59", "9999-12-31T23:59:59"], "--bins", "year")
        self.assertEqual([i + 1 for i, count in enumerate(found["counts"]) if count], [1, 2299, 9999])
        self.assertEqual(len(found["counts"]), 9999)

    def test_forms_of_dates(self):
        file = self.write("d.txt", "2026-01-31\n2026-03-01\n2026-03-31\n")
        self.assertEqual(self.ok("histogram", file, "--bins", "month", "--format", "csv"),
                         b"lo,hi,count\n2026-01-01,2026-02-01,1\n2026-02-01,2026-03-01,0\n2026-03-01,2026-04-01,2\n")
        shown = self.ok("histogram", file, "--bins", "month", env={"LC_ALL": "C"}).decode()
        self.assertIn("[2026-03-01, 2026-04-01]  2  #", shown)
        self.assertEqual(len(self.histogram(["2026-01-31", "2026-03-01"], "--bins", "7")["counts"]), 7)
        self.fails(2, "histogram", file, "--bins", "day", "--log", says="takes no --range or --log")
        self.fails(2, "histogram", file, "--range", "0:1", says="has dates: their bins are --bins N or minute")
        self.fails(2, "histogram", self.write("n.txt", "1\n2\n"), "--bins", "day", says="is for dates")
        self.fails(1, "histogram", self.write("f.txt", "0001-01-01\n9999-01-01\n"), "--bins", "minute", says="bins of a minute")


class TextHistogramTest(CommandTest):
    def test_bars_of_the_most_frequent(self):
        source = random.Random(9)
        texts = [f"t{int(source.expovariate(0.1))}" for _ in range(5000)]
        file = self.write("t.csv", table([(i, text, "") for i, text in enumerate(texts)]))
        expected = counted(texts, True)
        for limit in (1, 5, 1000):
            found = json.loads(self.ok("histogram", file, "--column", "city", "--limit", limit, "--json", "--verify",
                                       "--quiet"))
            self.assertEqual(pairs(found), expected[:limit])
            self.assertEqual(found["other"], sum(count for _, count in expected[limit:]))
            self.assertEqual((found["n"], found["distinct"], found["dtype"]), (5000, len(expected), "text"))
        rows = self.ok("histogram", file, "--column", "city", "--format", "csv").decode().split()
        self.assertEqual(rows, ["value,count"] + [f"{text},{count}" for text, count in expected[:20]])
        shown = self.ok("histogram", file, "--column", "city", "--limit", "2", env={"LC_ALL": "C"}).decode()
        self.assertIn(f"other ({len(expected) - 2} texts)", shown)
        self.assertIn(f"{expected[0][0]}  ", shown)

    def test_percent(self):
        file = self.write("t.txt", "b\na\nb\nc\nb\nb\na\nd\n")
        self.assertEqual(self.ok("histogram", file, "--percent", "--format", "csv", "--limit", "2"),
                         b"value,count,percent\nb,4,50\na,2,25\n")
        self.assertEqual(json.loads(self.ok("histogram", file, "--percent", "--json"))["percent"], [50, 25, 12.5, 12.5])
        shown = self.ok("histogram", file, "--percent", "--limit", "2", env={"LC_ALL": "C"}).decode()
        self.assertRegex(shown, r"\n +count +percent\n +b +4 +50 .*\n +a +2 +25 .*\nother \(2 texts\) +2 +25 ")
        days = self.write("d.txt", "2026-01-31\n2026-01-02\n2026-02-01\n2026-01-03\n")
        self.assertEqual(self.ok("histogram", days, "--bins", "month", "--percent", "--format", "csv"),
                         b"lo,hi,count,percent\n2026-01-01,2026-02-01,3,75\n2026-02-01,2026-03-01,1,25\n")

    def test_one_column_has_blanks(self):
        """Under a header of one name nothing but a tab separates."""
        cities = ["New York", "Paris", " Rio de Janeiro", "New York", '"a ""b"" c"', "x, y; z|", "5"]
        text = "city\n" + "\n".join(cities) + "\n\n"
        file = self.write("one.csv", text)
        found = self.ok("unique", file, "--column", "city", "--text", "--json")
        self.assertEqual(json.loads(found)["values"], [" Rio de Janeiro", "5", "New York", "Paris", 'a "b" c', "x, y; z|"])
        self.assertEqual(json.loads(found)["counts"], [1, 1, 2, 1, 1, 1])
        self.assertEqual(self.ok("sort", file, "--key", "city").count(b"\n"), 1 + len(cities))
        piped = json.loads(self.ok("unique", "-", "--header", "--text", "--json", stdin=text.encode()))
        self.assertEqual(piped["values"], json.loads(found)["values"])
        times = self.write("when.csv", "when\n2026-01-31 10:00\n2026-01-31 12:00\n")
        self.assertEqual(self.ok("median", times, "--column", "when"), b"2026-01-31T11:00:00Z\n")
        self.assertEqual(self.ok("sum", self.write("n.csv", '"n"\n 1 \n2\n\n3\n'), "--column", "n"), b"6\n")
        self.fails(1, "sum", self.write("r.csv", "x\n1 10\n2 20\n"), "--column", "x", says="the entry '1 10' is not a number")

    def test_what_texts_do_not_take(self):
        file = self.write("t.txt", "a\nb\n")
        self.fails(2, "histogram", file, "--bins", "7", says="each is a bin of its own")
        days = self.write("days.txt", "2026-01-31\n2026-03-01T12:00Z\n2026-03-31\nsoon\n")
        self.assertEqual(self.json(days, "--bins", "month", "--cumulative")["cumulative"], [1, 1, 3])
        self.fails(2, "histogram", file, "--text", "--cumulative", says="counted alone")
        self.fails(2, "histogram", file, "--text", "--density", says="t.txt has texts; --percent has shares")
        self.fails(2, "histogram", self.write("d.txt", "2026-01-01\n"), "--density", says="has dates; --percent")
        self.fails(2, "histogram", file, "--format", "npy", "-o", self.path("o.npy"), says="has texts")
        self.fails(1, "histogram", file, "--cumulative", says="has no number")
        self.ok("histogram", file, "--ignore-case")


if __name__ == "__main__":
    unittest.main()
