# SPDX-License-Identifier: Apache-2.0
"""masu histogram --weights: against math.fsum, in every form and shape, whole and in small pieces."""

import json
import math
import random
import struct
import unittest

from command import CommandTest, masu, npy


def raw(form, values):
    return struct.pack(f"<{len(values)}{form}", *values)


def hard(count, seed=1):
    """Weights of many sizes and both signs."""
    state = random.Random(seed)
    return [math.ldexp(state.uniform(-1, 1), state.randrange(-90, 90)) for _ in range(count)]


class Weights(CommandTest):
    def setUp(self):
        super().setUp()
        self.x = [(i * 37) % 11 for i in range(1000)]
        self.w = hard(1000)
        self.values = self.write("x.raw", bytes(self.x))
        self.weights = self.write("w.npy", npy("<f8", (1000,), raw("d", self.w)))

    def sums(self, weights, bins):
        return [math.fsum(w for x, w in zip(self.x, weights) if x == v) for v in range(bins)]

    def test_totals_variances_and_pieces(self):
        for memory in ([], ["--memory", "100"], ["--memory", "1Mi"]):
            found = self.json(self.values, "--dtype", "u8", "--weights", self.weights, "--variances", "--integers", "8",
                              "--verify", *memory)
            self.assertEqual(found["totals"], self.sums(self.w, 8))
            squares = [math.fsum(w * w for x, w in zip(self.x, self.w) if x == v) for v in range(8)]
            for got, expected in zip(found["variances"], squares):
                self.assertAlmostEqual(got / expected, 1, places=14)
            self.assertEqual(found["above"], math.fsum(w for x, w in zip(self.x, self.w) if x >= 8))
            self.assertEqual((found["below"], found["nan"], found["n"]), (0, 0, 1000))
            self.assertEqual((found["dtype"], found["weights"]), ("u8", "f64"))
            self.assertEqual(found["edges"], list(range(9)))

    def test_integers_are_exact(self):
        weights = [(-1) ** i * (2**53 + i) for i in range(1000)]
        file = self.write("w.raw", raw("q", weights))
        options = ["--dtype", "u8", "--weights", file, "--weights-dtype", "i64", "--integers", "11"]
        expected = [sum(w for x, w in zip(self.x, weights) if x == v) for v in range(11)]
        self.assertEqual(self.json(self.values, *options)["totals"], expected)
        self.ok("histogram", self.values, *options, "--format", "npy", "-o", self.path("t.npy"))
        with open(self.path("t.npy"), "rb") as result:
            self.assertEqual(list(struct.unpack("<11q", result.read()[-88:])), expected)
        full = self.write("full.raw", raw("Q", [2**64 - 1] * 1000))
        self.fails(1, "histogram", self.values, "--dtype", "u8", "--weights", full, "--weights-dtype", "u64",
                   "--weights-format", "raw", "--integers", "11", says="the total of bin 0 must fit u64")

    def test_rows(self):
        found = self.json(self.values, "--dtype", "u8", "--weights", self.weights, "--rows", "4", "--integers", "11",
                          "--verify")
        for row in range(4):
            part = slice(row * 250, (row + 1) * 250)
            expected = [math.fsum(w for x, w in zip(self.x[part], self.w[part]) if x == v) for v in range(11)]
            self.assertEqual(found["totals"][row], expected)
        self.assertEqual(found["above"], [0] * 4)

    def test_joint_of_a_table(self):
        table = self.write("t.csv", "a,b,w\n" + "".join(f"{x},{x % 2},{w!r}\n" for x, w in zip(self.x, self.w)))
        options = [table, "--header", "--joint", "--column", "a", "--column", "b", "--weights", table,
                   "--weights-column", "w", "--bins", "11;2", "--range", "0:11;0:2"]
        found = self.json(*options, "--verify")
        expected = [[math.fsum(w for x, w in zip(self.x, self.w) if (x, x % 2) == (a, b)) for b in range(2)]
                    for a in range(11)]
        self.assertEqual(found["totals"], expected)
        self.assertEqual((found["outside"], found["nan"]), (0, 0))
        lines = self.ok("histogram", *options, "--format", "csv").decode().splitlines()
        self.assertEqual(lines[0], "lo0,hi0,lo1,hi1,total")
        self.assertEqual([float(line.split(",")[4]) for line in lines[1:]], sum(expected, []))

    def test_table_csv_and_density(self):
        options = [self.values, "--dtype", "u8", "--weights", self.weights, "--bins", "2", "--range", "0:11", "--density"]
        lines = self.ok("histogram", *options, "--format", "csv").decode().splitlines()
        self.assertEqual(lines[0], "lo,hi,total,density")
        totals = [float(line.split(",")[2]) for line in lines[1:]]
        self.assertEqual([float(line.split(",")[3]) for line in lines[1:]], [t / 5.5 / math.fsum(totals) for t in totals])
        text = self.ok("histogram", *options).decode()
        self.assertIn("1000 of u8 weighted by f64 of", text)
        self.assertIn("below 0, above 0, nan 0", text)

    def test_bins_that_depend_on_the_values(self):
        found = self.json("-", "--input-format", "raw", "--dtype", "u8", "--weights", self.weights, "--bins", "5",
                          "--verify", stdin=bytes(self.x))
        self.assertEqual((found["edges"][0], found["edges"][-1], len(found["totals"])), (0, 10, 5))

    def test_empty_fields(self):
        """A value without a weight, or a weight without a value, is left out."""
        path = self.write("t.csv", "v,w\n1,10\n2,\n,30\n1,5\n,\n2,7\n")
        for options in (("--bins", "2"), ("--edges", "1,2,3"), ("--bins", "2", "--dtype", "f64", "--verify")):
            found = json.loads(self.ok("histogram", path, "--column", "v", "--weights", path, "--weights-column", "w", *options,
                                       "--json", "--quiet"))
            self.assertEqual((found["totals"], found["bad_lines"]), ([15, 7], 3))
        said = masu("histogram", path, "--column", "v", "--weights", path, "--weights-column", "w").stderr.decode()
        self.assertEqual(said, f"masu: {path}: 3 of 6 rows: 3 empty (line 3)\n")
        weights = self.write("w.txt", "1\n2\n3\n4\n5\n6\n")
        self.assertEqual(json.loads(self.ok("histogram", path, "--column", "v", "--weights", weights, "--edges", "1,2,3", "--json",
                                            "--quiet"))["totals"], [5, 8])
        for text, says in (("v,w\n1,2\n2,x\n", "line 3: the entry 'x' is not a number"), ("v,w\nx,2\n1,1\n", "line 2: the entry 'x'")):
            self.fails(1, "histogram", self.write("b.csv", text), "--column", "v", "--weights", self.path("b.csv"),
                       "--weights-column", "w", says=says)
        self.fails(1, "histogram", path, "--joint", "--column", "v", "--column", "w", says="--joint needs every entry")
        self.fails(1, "histogram", path, "--column", "v", "--weights", self.write("s.txt", "1\n2\n"), says="has 6 rows, ")

    def test_wrong_use(self):
        short = self.write("short.raw", raw("d", self.w[:-1]))
        given = [self.values, "--dtype", "u8", "--weights"]
        self.fails(1, "histogram", *given, short, "--weights-dtype", "f64",
                   says="there must be a weight for each value: " + self.values + " has 1000, " + short + " has 999")
        self.fails(1, "histogram", "-", "--input-format", "raw", "--dtype", "u8", "--integers", "11", "--weights", short,
                   "--weights-dtype", "f64", stdin=bytes(self.x), says="there must be a weight for each value")
        self.fails(2, "histogram", *given, self.weights, "--cumulative", says="--weights and --cumulative exclude")
        self.fails(2, "histogram", *given, self.weights, "--strategy", "local", says="--weights and --strategy exclude")
        self.fails(2, "histogram", self.values, "--dtype", "u8", "--variances", says="need --weights")
        self.fails(2, "histogram", "-", "--weights", "-", says="standard input")
        self.fails(2, "histogram", *given, self.weights, "--channels", "2", says="--weights takes one channel")
        self.fails(2, "histogram", *given, self.weights, "--rows", "3", says="--rows 3 must divide")


if __name__ == "__main__":
    unittest.main()
