# SPDX-License-Identifier: Apache-2.0
"""Logarithmic and automatic bins, half precision, density and cumulative counts."""

import bisect
import decimal
import json
import math
import os
import struct
import unittest
import xml.etree.ElementTree

from command import CommandTest, masu, npy


def raw(form, values):
    return struct.pack(f"<{len(values)}{form}", *values)


class Logarithmic(CommandTest):
    def test_edges_are_correctly_rounded(self):
        decimal.getcontext().prec = 60
        for lo, hi, n in (("1", "1000", 3), ("0.1", "7", 10), ("1e-300", "1e300", 7), ("2.5", "2.75", 100)):
            found = self.json("zeros:f64:1", "--log", "--bins", n, "--range", f"{lo}:{hi}")
            a, b = decimal.Decimal(float(lo)), decimal.Decimal(float(hi))
            expected = [float(a * (b / a) ** (decimal.Decimal(i) / n)) for i in range(n + 1)]
            expected[0], expected[-1] = float(lo), float(hi)
            self.assertEqual(found["edges"], expected)

    def test_counts(self):
        found = self.json(self.write("a.txt", "0.5 1 5 10 99 100 101 -1 0 nan"), "--log", "--bins", "2", "--range",
                          "1:100", "--verify")
        self.assertEqual(found["counts"], [2, 3])
        self.assertEqual((found["below"], found["above"], found["nan"]), (3, 1, 1))

    def test_the_range_of_the_data(self):
        found = self.json("random:f32:1000:lo=1:hi=1000", "--log", "--verify")
        self.assertEqual((len(found["counts"]), sum(found["counts"]), found["n"]), (100, 1000, 1000))
        data = struct.unpack("<3f", raw("f", [3, 0.1, 77]))
        found = self.json(self.write("a", raw("f", data)), "--dtype", "f32", "--log", "--bins", "1")
        self.assertEqual((found["edges"], found["counts"]), ([min(data), 77], [3]))
        self.assertEqual(self.json(self.write("b", "8 8"), "--log", "--bins", "2")["edges"], [4, 8, 16])
        self.assertEqual(self.json(self.write("c", "nan"), "--log", "--bins", "1")["edges"], [1, 10])

    def test_near_values(self):
        above = 1 + 2**-52
        for values, edges in (([1, above], [1, above]), ([5e-324, 1e-323], [5e-324, 1e-323]), ([5e-324], [5e-324, 1e-323])):
            path = self.write("a", raw("d", values))
            found = self.json(path, "--dtype", "f64", "--log", "--verify")
            self.assertEqual((found["edges"], found["counts"]), (edges, [len(values)]))
            self.fails(2, "histogram", path, "--dtype", "f64", "--log", "--bins", "9", says="have no width")
        found = self.json(path, "--dtype", "f64", "--log", "--range", f"1:{1 + 30 * 2**-52!r}")
        self.assertEqual((len(found["counts"]), found["below"]), (20, 1))
        path = self.write("b", raw("q", [2**60, 2**60 + 1, 2**60 + 256]))
        found = self.json(path, "--dtype", "i64", "--log", "--verify")
        self.assertEqual((found["edges"], found["counts"]), ([2**60, 2**60 + 256], [3]))

    def test_ranges_that_are_not_positive(self):
        self.fails(1, "histogram", "iota:u8:5", "--log", says="--log needs positive values, the least one is 0")
        for limits in ("0:1", "-1:1", "5:5", "7:2"):
            self.fails(2, "histogram", "iota:u8:5", "--log", "--range", limits, says="0 < lo < hi")
        self.fails(2, "histogram", "iota:u8:5", "--log", "--bins", "auto", says="--log")
        self.fails(2, "histogram", "iota:u8:5", "--log", "--edges", "1,2", says="exclude each other")
        self.fails(2, "histogram", "iota:u8:5", "--log", "--integers", "2", says="exclude each other")


class LargeIntegers(CommandTest):
    """Whole numbers beyond 2^53 that lie close together."""

    def expect_all(self, path, dtype, values, *options):
        found = self.json(path, "--dtype", dtype, *options, "--verify")
        edges = found["edges"]
        self.assertTrue(all(a < b for a, b in zip(edges, edges[1:])), (values, edges))
        bins = [min(bisect.bisect_right(edges, float(x)), len(edges) - 1) - 1 for x in values]
        self.assertEqual(found["counts"], [bins.count(i) for i in range(len(edges) - 1)], (values, options))
        return found

    def test_default_bins_and_those_of_a_rule(self):
        rules = [["--bins", rule] for rule in ("auto", "sqrt", "sturges", "rice", "scott", "doane", "fd", "stone")]
        for form, firsts in (("q", (2**53, 2**53 - 3, 2**60, -2**62, -2**63, 2**63 - 20)),
                             ("Q", (2**53 + 1, 2**63 + 5, 2**63 - 7, 2**64 - 20))):
            dtype = {"q": "i64", "Q": "u64"}[form]
            for first in firsts:
                for step, n in ((0, 1), (0, 4), (1, 2), (1, 20)):
                    values = [first + step * i for i in range(n)]
                    path = self.write(f"{first}.{step}.{n}", raw(form, values))
                    bins = len(self.expect_all(path, dtype, values)["counts"])
                    self.assertEqual(bins, 100 if max(map(abs, values)) >= 2**53 else len(set(values)))
                    for options in rules if n in (4, 20) else []:
                        self.expect_all(path, dtype, values, *options)
        values = [-2**63, 2**63 - 1, 0, 2**53 + 1]
        self.expect_all(self.write("far", raw("q", values)), "i64", values)

    def test_shapes(self):
        values = [2**60 + i for i in range(20)]
        path = self.write("a", raw("q", values))
        for options in ([], ["--json"], ["--rows", "2"], ["--channels", "2"], ["--channels", "2", "--joint"]):
            self.ok("histogram", path, "--dtype", "i64", *options)
        found = json.loads(self.ok("histogram", path, "--dtype", "i64", "--rows", "2", "--json"))
        self.assertEqual([sum(row) for row in found["counts"]], [10, 10])

    def test_a_range_has_bins_with_a_width(self):
        values = [2**60 + 256 * i for i in range(4)]
        path = self.write("a", raw("q", values))
        found = self.expect_all(path, "i64", values, "--range", f"{2**60}:{2**60 + 768}")
        self.assertEqual(found["counts"], [4])
        values = [2**53 + 2 * i for i in range(16)]  # numbers 2 apart: 31 bins of a number each have no width
        found = self.expect_all(self.write("b", raw("q", values)), "i64", values, "--range", f"{2**53}:{2**53 + 30}")
        self.assertEqual((len(found["counts"]), sum(found["counts"])), (10, 16))

    def test_a_given_number_without_width(self):
        for name, form, first in (("a", "q", 2**60), ("b", "Q", 2**63 + 5), ("c", "q", -2**62)):
            path = self.write(name, raw(form, [first + i for i in range(20)]))
            dtype = {"q": "i64", "Q": "u64"}[form]
            self.fails(1, "histogram", path, "--dtype", dtype, "--bins", "5", says="masu unique")
            limits = f"{first}:{first + 20}"
            self.fails(2, "histogram", path, "--dtype", dtype, f"--range={limits}", says="wider --range")
            low = first // 4096 * 4096
            found = self.json(path, "--dtype", dtype, f"--range={low - 4096}:{low + 8192}", "--bins", "3", "--verify")
            self.assertEqual(sum(found["counts"]), 20)
            self.assertEqual(len(self.ok("unique", path, "--dtype", dtype).splitlines()), 21)


class NearAndFarValues(CommandTest):
    """Default bins and those of a rule hold every file."""

    FILES = (
        ("f16", "e", [16, 16]), ("f16", "e", [65504, 65504]), ("f16", "e", [-65504, 65504]), ("f16", "e", [2**-24, 2**-23]),
        ("f16", "e", [2048, 2050]), ("f32", "f", [131072, 131072]), ("f32", "f", [3e38, 3e38]), ("f32", "f", [-3.4e38, 3.4e38]),
        ("f32", "f", [1e-45, 3e-45, 0]), ("f64", "d", [1e300, 1e300]), ("f64", "d", [-1e300]), ("f64", "d", [5e-324, 0.0]),
        ("f64", "d", [1.0, 1.0 + 2**-52]), ("f64", "d", [1e17, 1e17 + 16]), ("f64", "d", [-1.7e308, 1.7e308]),
        ("f64", "d", [1.7976931348623157e308] * 3), ("f64", "d", [-1.7976931348623157e308, 1.7976931348623157e308]),
    )

    def test_default_bins(self):
        for i, (dtype, form, values) in enumerate(self.FILES):
            path = self.write(f"{i}.raw", raw(form, values))
            found = self.json(path, "--dtype", dtype, "--verify")
            edges, counts = found["edges"], found["counts"]
            self.assertEqual((len(counts), sum(counts)), (100, len(values)), values)
            self.assertTrue(all(a < b for a, b in zip(edges, edges[1:])), (values, edges))
            close = [1e-3 * abs(x) for x in (min(values), max(values))]  # as few digits as f16 has
            self.assertTrue(edges[0] - close[0] <= min(values) and edges[-1] + close[1] >= max(values), (values, edges))
            self.ok("histogram", path, "--dtype", dtype)
            self.ok("histogram", path, "--dtype", dtype, "--rows", "1", "--json")

    def test_rules(self):
        for i, (dtype, form, values) in enumerate(self.FILES):
            path = self.write(f"{i}.raw", raw(form, values * 20))
            for rule in ("auto", "sqrt", "sturges", "rice", "scott", "doane", "fd", "stone"):
                counts = self.json(path, "--dtype", dtype, "--bins", rule, "--verify")["counts"]
                self.assertEqual(sum(counts), 20 * len(values), (values, rule))

    def test_rules_of_the_widest_range_are_those_of_a_narrower_one(self):
        # Every rule divides lengths by lengths: a power of two changes none.
        values = [(-1)**i * (1 + i % 7) / 7 for i in range(60)]
        for rule in ("auto", "sqrt", "sturges", "rice", "scott", "doane", "fd", "stone"):
            sizes = []
            for exponent in (1, 1023, 1024):
                top = [x * 2.0**(exponent - 1) * (2 - 2.0**-52) for x in values]
                counts = self.json(self.write(f"{exponent}.raw", raw("d", top)), "--dtype", "f64", "--bins", rule)["counts"]
                self.assertEqual(sum(counts), 60)
                sizes.append(len(counts))
            self.assertEqual(len(set(sizes)), 1, (rule, sizes))

    def test_a_given_range(self):
        path = self.write("a.raw", raw("f", [131072, 131072.01]))
        found = self.json(path, "--dtype", "f32", "--range", "131072:131072.5", "--verify")
        self.assertEqual((len(found["counts"]), sum(found["counts"])), (20, 2))
        self.fails(2, "histogram", path, "--dtype", "f32", "--range", "131072:131072.5", "--bins", "100",
                   says="give fewer bins, a wider range or edges")
        self.fails(2, "histogram", path, "--dtype", "f32", "--bins", "1000", says="give fewer bins, a wider range or edges")

    def test_rules_find_no_billions(self):
        self.fails(1, "histogram", self.write("a.txt", "\n".join(map(str, [*range(100), 1e12]))), "--bins", "fd",
                   says="the rule must find at most 16777216 bins")


class Rules(CommandTest):
    def test_small_pieces_and_pipes_give_the_same(self):
        data = b"".join(b"%d\n" % (i * i % 1009) for i in range(5000))
        for rule in ("auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"):
            whole = self.json(self.write("a.txt", data), "--bins", rule, "--verify")
            parts = self.json("-", "--bins", rule, "--memory", "1000", "--tmpdir", self.folder, stdin=data)
            self.assertEqual((whole["edges"], whole["counts"]), (parts["edges"], parts["counts"]), rule)
            self.assertEqual(sum(whole["counts"]), 5000)
        self.assertEqual(len(self.json("iota:f64:100", "--bins", "sqrt")["counts"]), 10)
        self.assertEqual(len(self.json("iota:f64:64", "--bins", "sturges")["counts"]), 7)

    def test_range(self):
        found = self.json("iota:f64:100", "--bins", "sqrt", "--range", "0:24")
        self.assertEqual((len(found["counts"]), found["edges"][-1], found["above"]), (5, 24, 75))

    def test_joint(self):
        found = self.json("iota:f64:200", "--channels", "2", "--joint", "--bins", "sqrt;3")
        self.assertEqual([len(edges) - 1 for edges in found["edges"]], [10, 3])


class HalfPrecision(CommandTest):
    def test_f16(self):
        values = [0, 0.5, 1, 1.5, 2, -3, math.inf, math.nan, 65504, 6e-8]
        data = self.write("a", raw("e", values))
        found = self.json(data, "--dtype", "f16", "--bins", "4", "--range", "0:2", "--verify")
        self.assertEqual((found["counts"], found["dtype"]), ([2, 1, 1, 2], "f16"))
        self.assertEqual((found["below"], found["above"], found["nan"]), (1, 2, 1))
        found = self.json(data, "--dtype", "f16", "--edges", "-4,0,1,7e4", "--verify")
        self.assertEqual(found["counts"], [1, 3, 4])
        found = self.json(self.write("b.npy", npy("<f2", (3,), raw("e", [0.1, 0.2, 0.3]))), "--bins", "2")
        self.assertEqual((found["edges"], found["counts"]), ([0.1, 0.2, 0.3], [1, 2]))
        text = self.ok("histogram", data, "--dtype", "f16").decode()
        self.assertIn("range -3:65500", text.replace("65504", "65500"))
        self.assertIn("nan 1", text)
        edges = self.write("e.npy", npy("<f2", (3,), raw("e", [0, 1, 2])))
        self.assertEqual(self.json("iota:u8:3", "--edges", "@" + edges)["counts"], [1, 2])


class RoundEdges(CommandTest):
    def edges(self, *arguments, **more):
        return self.json(*arguments, **more)["edges"]

    def test_width(self):
        path = self.write("w.txt", "0.12 0.25 0.3 0.71 nan inf")
        self.assertEqual(self.edges(path, "--width", "0.1"), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
        self.assertEqual(self.json(path, "--width", "0.1", "--verify")["counts"], [1, 1, 1, 0, 0, 0, 1])
        self.assertEqual(self.edges(path, "--width", "0.5", "--range", "-1:0.7"), [-1, -0.5, 0, 0.5, 1])
        self.assertEqual(self.edges("iota:u8:11", "--width", "5"), [0, 5, 10, 15])  # 10 to 14, not 5 to 10
        self.assertEqual(self.edges("iota:u8:11", "--width", "5", "--range", "0:10"), [0, 5, 10])
        self.assertEqual(self.edges("iota:f32:11", "--width", "5"), [0, 5, 10])
        self.assertEqual(self.edges("zeros:f32:3", "--width", "3"), [0, 3])
        self.assertEqual(self.edges("zeros:f32:0", "--width", "3"), [0, 3])
        self.assertEqual(self.json("-", "--width", "0.7", stdin=b"-0.7 0.7 2.1")["counts"], [1, 0, 1, 1])
        self.assertEqual(self.json(path, path, "--joint", "--width", "0.5;1")["edges"], [[0, 0.5, 1], [0, 1]])
        for width in ("0", "-1", "nan", "inf", "x", ""):
            self.fails(2, "histogram", path, "--width", width, says="--width")
        for more in (["--bins", "3"], ["--edges", "1,2"], ["--integers", "3"], ["--log"], ["--nice"]):
            self.fails(2, "histogram", path, "--width", "1", *more, says="exclude each other")
        for width in ("1e-300", "5e-324", "1e-12"):
            self.fails(1, "histogram", path, "--width", width, says="too many")
        self.assertEqual(self.edges("iota:i64:5", "--width", "9e18"), [0, 9e18])
        self.fails(1, "histogram", "-", "--width", "1e-3", says="too narrow", stdin=b"1e300 1e300")

    def test_nice(self):
        self.assertEqual(self.edges("iota:u8:101", "--nice"), list(range(0, 106, 5)))
        self.assertEqual(self.edges("iota:f64:101", "--nice", "--bins", "5"), [0, 20, 40, 60, 80, 100])
        self.assertEqual(self.edges("iota:u8:4", "--nice"), [0, 1, 2, 3, 4])
        self.assertEqual(self.edges("zeros:f32:4", "--nice"), [0, 1])
        self.assertEqual(self.edges("-", "--nice", "--bins", "3", stdin=b"0.013 0.061"), [0, 0.02, 0.04, 0.06, 0.08])
        for data in ("random:f64:1000:lo=-1e300:hi=1e300", "random:i64:1000", "random:u64:1000", "random:f32:1000:lo=1e-30:hi=2e-30"):
            found = self.json(data, "--nice", "--verify")
            self.assertEqual((found["n"], found["below"] + found["above"], sum(found["counts"])), (1000, 0, 1000), data)
            self.assertLessEqual(len(found["counts"]), 32)
        for more in (["--bins", "fd"], ["--log"], ["--edges", "1,2"]):
            self.fails(2, "histogram", "iota:u8:4", "--nice", *more, says="--nice")


class Quantities(CommandTest):
    def test_density_and_cumulative(self):
        options = [self.write("a.txt", "0 1 1 5 7 50"), "--edges", "0,1,2,10", "--density", "--cumulative"]
        found = self.json(*options)
        self.assertEqual(found["counts"], [1, 2, 2])
        self.assertEqual(found["density"], [0.2, 0.4, 2 / 5 / 8])
        self.assertEqual(found["cumulative"], [1, 3, 5])
        self.assertEqual(list(found)[-4:], ["counts", "density", "cumulative", "seconds"])
        text = self.ok("histogram", *options, "--format", "csv").decode()
        self.assertEqual(text, "lo,hi,count,density,cumulative\n0,1,1,0.2,1\n1,2,2,0.4,3\n2,10,2,0.05,5\n")
        data = self.ok("histogram", *options[:3], "--density", "--format", "npy")
        self.assertEqual(struct.unpack("<3d", data[-24:]), (0.2, 0.4, 0.05))
        data = self.ok("histogram", *options[:3], "--cumulative", "--format", "npy")
        self.assertEqual(struct.unpack("<3Q", data[-24:]), (1, 3, 5))
        self.fails(2, "histogram", *options, "--format", "npy", says="not both")
        text = self.ok("histogram", *options, env={"LC_ALL": "C"}).decode()
        self.assertRegex(text, r"count +density +cumulative\n")
        self.assertRegex(text, r"\[1, 2\) +2 +0\.4 +3 +#")
        self.assertIn("[2, 10] ", text)  # the last bin holds its upper edge
        self.assertIn("[2, 10) ", self.ok("histogram", *options, "--right-open", env={"LC_ALL": "C"}).decode())
        found = self.json("iota:u8:4", "--channels", "2", "--edges", "0,4", "--cumulative")
        self.assertEqual([channel["cumulative"] for channel in found["channels"]], [[2], [2]])
        found = self.json("zeros:u8:0", "--edges", "0,1,1", "--density")
        self.assertEqual(found["density"], ["NaN", "NaN"])

    def test_percent(self):
        path = self.write("p.txt", "1 1 1 5 50 nan")
        found = self.json(path, "--edges", "0,2,10", "--percent")
        self.assertEqual(found["percent"], [50, 100 / 6])
        self.assertEqual(self.ok("histogram", path, "--edges", "0,2", "--percent", "--format", "csv"), b"lo,hi,count,percent\n0,2,3,50\n")
        self.assertRegex(self.ok("histogram", path, "--edges", "0,2,10", "--percent", env={"LC_ALL": "C"}).decode(),
                         r"percent\n *\[0, 2\) +3 +50 +#+\n *\[2, 10\] +1 +16\.67 +#+\n")
        self.assertEqual(self.json("zeros:u8:0", "--edges", "0,1", "--percent")["percent"], ["NaN"])
        self.fails(2, "histogram", path, "--weights", path, "--percent", says="exclude each other")

    def test_equalize_and_otsu(self):
        path = self.write("e.txt", "0 0 0 10 10 200 200 200 200 201")
        found = self.json(path, "--dtype", "u8", "--equalize", "--otsu")
        self.assertEqual(found["otsu"], 11)
        sums, least, n = 0, 3, 10
        for value, count, level in zip(range(256), found["counts"], found["levels"]):
            sums += count
            self.assertEqual(level, max(0, (2 * (sums - least) * 255 + n - least) // (2 * (n - least))), value)
        rows = self.json("iota:u8:8", "--rows", "2", "--otsu", "--equalize", "--integers", "8")
        self.assertEqual((rows["otsu"], len(rows["levels"])), ([2, 6], 2))
        for data in ("zeros:u8:3", "zeros:u8:0"):
            found = self.json(data, "--otsu", "--equalize")
            self.assertEqual((found["otsu"], set(found["levels"])), (None, {0}))
            self.ok("histogram", data, "--otsu", "--equalize")
        self.fails(2, "histogram", path, path, "--joint", "--otsu", says="counts of one column")

    def test_log_counts(self):
        data = self.write("a", bytes([0] * 999 + [1] * 9))
        options = [data, "--dtype", "u8", "--integers", "2"]
        environment = {"LC_ALL": "C", "COLUMNS": "80"}

        def bars(*more):
            text = self.ok("histogram", *options, *more, env=environment).decode()
            return [line.count("#") for line in text.splitlines()[-2:]]
        self.assertLessEqual(bars()[1], 1)
        linear, (high, low) = bars(), bars("--log-counts")
        self.assertEqual(high, linear[0])
        self.assertAlmostEqual(low / high, 1 / 3, delta=0.02)


class Plots(CommandTest):
    def plot(self, name, *arguments):
        self.ok("histogram", *arguments, "--quiet", "--plot", self.path(name))
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_every_shape_in_every_format(self):
        available = masu("histogram", "zeros:u8:3", "--plot", self.path("a.svg"))
        if available.returncode == 1 and b"libcairo" in available.stderr:
            self.skipTest("no Cairo")
        for number, arguments in enumerate((
                ["random:u8:3000", "--channels", "3"], ["random:f32:3000", "--density"],
                ["random:f32:3000", "--cumulative"], ["random:f32:3000", "--log-counts"],
                ["random:u8:3000", "--rows", "10"], ["random:u8:3000", "--rows", "10", "--channels", "3"],
                ["random:f32:3000", "--channels", "2", "--joint", "--bins", "20"],
                ["random:f32:3000", "--joint", "--bins", "20"], ["zeros:u8:0"],
                ["random:f32:3000:lo=1:hi=1000", "--log", "--log-counts"])):
            svg = self.plot(f"{number}.svg", *arguments)
            root = xml.etree.ElementTree.fromstring(svg)
            self.assertTrue(root.tag.endswith("svg"), arguments)
        self.assertEqual(self.plot("a.png", "zeros:u8:3")[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(self.plot("a.pdf", "zeros:u8:3")[:5], b"%PDF-")
        self.assertEqual(self.plot("a.pdf", "zeros:u8:3"), self.plot("b.pdf", "zeros:u8:3"))

    def texts(self, *arguments, **how):
        found = self.ok("histogram", *arguments, "--plot", "svg:-", **how)
        return [text.text for text in xml.etree.ElementTree.fromstring(found).iter("{http://www.w3.org/2000/svg}text")]

    def test_names(self):
        table = self.write("sales.csv", "qty,price (EUR),town\n1,2.5,Rome\n2,3.5,Bern\n3,4.25,Rome\n")
        found = self.texts(table, "--column", "price (EUR)")
        self.assertEqual(found[0], "sales.csv: price (EUR)")
        self.assertEqual({"price (EUR)", "count", "n = 3"} - set(found), set())
        self.assertIn("percent", self.texts(table, "--column", "price (EUR)", "--percent"))
        self.assertEqual(self.texts(table, "--column", "qty", "--title", "a & b")[0], "a & b")
        found = self.texts(table, "--column", "qty")
        self.assertEqual([text for text in found if text in ("0", "1", "2", "3", "4", "0.5", "1.5")][:3], ["1", "2", "3"])
        found = self.texts(table, "--column", "price (EUR)", "--group", "town")
        self.assertEqual(found[0], "sales.csv: price (EUR) by town")
        self.assertEqual({"Rome", "Bern"} - set(found), set())
        self.assertIn("value", self.texts("-", stdin=b"1\n2\n"))
        found = self.texts(table, "--column", "price (EUR)", "--weights", table, "--weights-column", "qty")
        self.assertIn("sum of qty", found)

    def test_several_inputs(self):
        found = self.texts("iota:u8:9", "iota:u8:5")
        self.assertEqual({"iota:u8:9", "iota:u8:5"} - set(found), set())
        many = self.write("many.csv", "".join(f"g{i},{j}\n" for i in range(10) for j in range(i + 1)))
        found = self.texts(many, "--group", "1", "--column", "2")
        self.assertEqual([text for text in found if text.startswith("g")], [f"g{i}" for i in range(2, 10)])
        self.assertTrue(any("and 2 smaller ones" in text for text in found), found)

    def test_size_dark_and_quiet(self):
        self.assertEqual(self.ok("histogram", "zeros:u8:3", "--quiet", "--plot", self.path("a.png"), "--size", "321x200"), b"")
        with open(self.path("a.png"), "rb") as file:
            self.assertEqual(struct.unpack(">II", file.read(24)[16:]), (321, 200))
        self.assertIn(b"n 3", self.ok("histogram", "zeros:u8:3", "--plot", self.path("a.svg"), "--dark"))
        self.assertIn(b'"n":3', self.ok("histogram", "zeros:u8:3", "--plot", self.path("a.svg"), "--json", "--quiet"))
        self.ok("histogram", "zeros:u8:3", "--plot", "png:-", "-o", self.path("t.csv"))
        with open(self.path("t.csv"), "rb") as file:
            self.assertTrue(file.read().startswith(b"lo,hi,count"))

    def test_wrong_use(self):
        svg = self.path("a.svg")
        self.fails(2, "histogram", *["zeros:u8:3"] * 9, "--plot", svg, says="at most 8 inputs")
        self.fails(2, "histogram", "zeros:u8:4", "zeros:u8:4", "--rows", "2", "--plot", svg, says="one input")
        self.fails(2, "histogram", "zeros:u8:3", "--title", "x", says="need --plot")
        self.fails(2, "histogram", "zeros:u8:3", "--plot", "-", says="svg:-")
        self.fails(2, "histogram", "zeros:u8:3", "--plot", "svg:-", "-o", "-", says="two files")
        for size in ("800", "800x", "99x500", "800x20001", "800x500x2", "800xa"):
            self.fails(2, "histogram", "zeros:u8:3", "--plot", svg, "--size", size, says="--size")
        self.fails(2, "histogram", "iota:u8:4", "--rows", "2", "--weights", "iota:u8:4", "--plot", svg, says="one column")
        self.fails(2, "histogram", "zeros:u8:3", "--density", "--cumulative", "--plot", svg, says="not both")
        self.fails(2, "histogram", "zeros:u8:3", "--channels", "3", "--joint", "--bins", "2", "--plot", svg,
                   says="1 or 2 columns")
        self.fails(1, "histogram", "zeros:u8:3", "--plot", self.path("no/a.svg"), says="no/a.svg")
        self.assertEqual(os.listdir(self.folder), [])


class ManyRows(CommandTest):
    def test_more_than_a_million(self):
        out = self.path("counts.npy")
        self.ok("histogram", "zeros:u8:2Mi", "--rows", "2Mi", "--bins", "1", "--range", "0:1", "--device", "cpu", "--format", "npy", "-o", out)
        with open(out, "rb") as file:
            self.assertIn(b"'shape': (2097152, 1)", file.read(128))
        self.assertEqual(os.path.getsize(out), 128 + 8 * 2**21)


class Strategies(CommandTest):
    def test_all_give_the_same(self):
        whole = self.json("random:u16:50000:dist=zipf", "--integers", "65536", "--device", "cpu")["counts"]
        for strategy in ("global", "private", "local", "lanes", "packed", "partitioned"):
            result = masu("histogram", "random:u16:50000:dist=zipf", "--integers", "65536", "--device", "cpu",
                          "--strategy", strategy, "--json")
            if result.returncode == 0:
                self.assertEqual(json.loads(result.stdout)["counts"], whole, strategy)
            else:
                self.assertEqual((result.returncode, result.stderr.count(b"\n")), (1, 1), result.stderr)


if __name__ == "__main__":
    unittest.main()
