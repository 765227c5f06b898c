# SPDX-License-Identifier: Apache-2.0
"""--digits: how floats are printed for people, and that everything else keeps all of them."""

import json
import unittest

from command import CommandTest

VALUES = "0.123456789 2.5 1234567.891 -3 1e-30"


class Digits(CommandTest):
    def setUp(self):
        super().setUp()
        self.input = self.write("a.txt", VALUES)

    def lines(self, *arguments):
        return self.ok(*arguments).decode().split()

    def test_lines(self):
        for n in (1, 3, 6, 12, 17):
            expected = [float(f"{value:.{n}g}") for value in (0.123456789, 1234567.891)]
            found = self.lines("reduce", self.write("b.txt", "0.123456789 1234567.891"), "--op", "min,max", "--digits", n)
            self.assertEqual([float(text) for text in found[1::2]], expected)
        self.assertEqual(self.lines("reduce", self.input, "--op", "max", "--digits", "3"), ["1230000"])
        self.assertEqual(self.lines("reduce", self.input, "--op", "min", "--digits", "3"), ["-3"])
        third = self.write("c.txt", "1 0.3333333333333333")
        self.assertEqual(self.lines("dot", third, third, "--digits", "4"), ["1.111"])
        self.assertEqual(self.lines("dot", third, third, "--digits", "full"), self.lines("dot", third, third))

    def test_tables(self):
        self.assertEqual(self.lines("quantile", self.input, "-q", "1", "--digits", "2"), ["q", "value", "1", "1200000"])
        self.assertEqual(self.lines("topk", self.input, "-k", "2", "--digits", "2")[2:], ["1200000", "2", "2.5", "1"])
        self.assertEqual(self.lines("unique", self.input, "--limit", "2", "--digits", "1")[2:], ["-3", "1", "1e-30", "1"])
        narrow = self.write("d.txt", "0.1 0.2")
        self.assertIn("range 0.1:0.2, mean 0.15,", self.ok("histogram", narrow, "--digits", "3").decode())
        three = self.ok("histogram", narrow, "--bins", "3", "--digits", "3").decode()
        self.assertIn("0.133", three)
        self.assertNotIn("0.1333", three)
        six = self.ok("histogram", narrow, "--bins", "3").decode()
        self.assertIn("0.133333", six)
        self.assertNotIn("0.1333333", six)
        self.assertIn("0.13333333333333", self.ok("histogram", narrow, "--bins", "3", "--digits", "full").decode())

    def test_infinities_halves_and_integers(self):
        odd = self.write("e.txt", "inf -inf nan 0.1")
        self.assertEqual(self.lines("unique", odd, "--digits", "2")[2:], ["-inf", "1", "0.1", "1", "inf", "1", "nan", "1"])
        self.assertEqual(self.lines("unique", odd, "--dtype", "f16", "--digits", "6")[4:5], ["0.0999756"])
        self.assertEqual(self.lines("reduce", "iota:u32:123457", "--op", "max", "--digits", "2"), ["123456"])

    def test_what_keeps_all_digits(self):
        for arguments in (["reduce", self.input], ["quantile", self.input], ["topk", self.input, "-k", "2"]):
            full, less = (json.loads(self.ok(*arguments, "--json", *digits)) for digits in ([], ["--digits", "2"]))
            full.pop("seconds"), less.pop("seconds")
            self.assertEqual(full, less)
            out = [self.path("x.csv"), self.path("y.csv")]
            self.ok(*arguments, "-o", out[0])
            self.ok(*arguments, "-o", out[1], "--digits", "2")
            with open(out[0], "rb") as a, open(out[1], "rb") as b:
                self.assertEqual(a.read(), b.read())

    def test_wrong_values(self):
        for digits in ("0", "18", "x", "-1", "1Ki", "2.5", "FULL"):
            self.fails(2, "reduce", self.input, f"--digits={digits}", says="--digits takes")
        self.fails(2, "sort", self.input, "--digits", "3", says="--digits")
        self.fails(2, "histogram", self.input, "--weights", self.input, "--digits", "3", says="exclude each other")


if __name__ == "__main__":
    unittest.main()
