# SPDX-License-Identifier: Apache-2.0
"""masu dot against exact arithmetic on fractions: every dtype, data in pieces, columns of a text."""

import json
import math
import unittest
from fractions import Fraction

import numpy as np

from command import CommandTest, masu, usable_devices
from samples import DTYPES, as_json, loads, sample


def expected(x, y):
    products = [float(a) * float(b) for a, b in zip(x, y)] if x.dtype.kind == "f" else []
    special = {p for p in products if math.isinf(p) and (np.isinf(x).any() or np.isinf(y).any())}
    if any(math.isnan(p) for p in products) or len(special) == 2:
        return math.nan
    if special:
        return special.pop()
    exact = sum((Fraction(a.item()) * Fraction(b.item()) for a, b in zip(x, y)), Fraction(0))
    return float(exact) if x.dtype.kind == "f" else int(exact)


class DotTest(CommandTest):
    def dot(self, *arguments, device="cpu", **more):
        return loads(self.ok("dot", *arguments, "--json", "--quiet", "--device", device, **more))

    def check(self, x, y, *options, device="cpu"):
        found = self.dot(self.save_npy("x.npy", x), self.save_npy("y.npy", y), *options, device=device)
        self.assertEqual([found["dot"]], as_json([np.array(expected(x, y))]), (x.dtype, options))
        self.assertEqual(found["n"], len(x))

    def test_every_dtype(self):
        for code in DTYPES.values():
            x, y = sample(code, 701), sample(code, 701, seed=2)
            if x.dtype.kind != "f" and x.dtype.itemsize > 2:
                bits = 8 * x.dtype.itemsize - 27
                x, y = x >> bits, y >> bits
            for options in ([], ["--verify"], ["--memory", "500", "--verify"]):
                self.check(x, y, *options)
            keep = np.isfinite(x) & np.isfinite(y) if x.dtype.kind == "f" else slice(None)
            self.check(x[keep], y[keep], "--verify")
            self.check(x[:0], y[:0])

    def test_adversarial(self):
        random = np.random.default_rng(5)
        x = np.ldexp(random.normal(size=500), random.integers(-1074, 100, 500))
        y = np.ldexp(random.normal(size=500), random.integers(-1074, 100, 500))
        self.check(x, y, "--verify")
        both = random.permutation(1001)
        self.check(np.concatenate([x, -x, [3e-200]])[both], np.concatenate([y, y, [1e-190]])[both], "--verify")
        self.check(np.array([1e308, 1e308, 1.0]), np.array([10.0, -10.0, 1.0]))

    def test_devices(self):
        for device in usable_devices("opencl")[:1] + usable_devices("cuda")[:1]:
            x, y = (values[np.isfinite(values)][:20_001] for values in (sample("f4", 40_001), sample("f4", 40_001, 9)))
            for memory in ([], ["--memory", "40k"]):
                self.check(x, y, "--verify", *memory, device=device)

    def test_inputs_and_forms(self):
        table = self.write("t.csv", "a,b\n1,10\n2,20\n3,0.5\n")
        self.assertEqual(self.ok("dot", table, "--header", "--column", "a", "--column", "b"), b"51.5\n")
        self.assertEqual(self.ok("dot", "-", "iota:f64:3", stdin=b"1 2 4"), b"10\n")
        self.assertEqual(self.ok("dot", "iota:u8:4", "iota:u8:4", "--result", "f32"), b"14\n")
        x = self.save_npy("x.npy", np.array([1, 1.0]))
        y = self.save_npy("y.npy", np.array([1, 2.0**-24 + 2.0**-60]))
        self.assertEqual(self.ok("dot", x, y, "--result", "f32"), b"1.0000001\n")
        self.ok("dot", x, y, "-o", self.path("o.npy"))
        self.assertEqual(np.load(self.path("o.npy")).tolist(), [1 + 2.0**-24])
        result = masu("dot", "random:f32:10k", "random:f32:10k:seed=1", "--time", "--verify")
        self.assertRegex(result.stderr.decode(), r"(?s)verified: 10000 values.*reading.*computing.*total.*B/s")

    def test_empty_fields(self):
        """A pair with an empty field is left out."""
        generator = np.random.default_rng(8)
        for rows in (1, 2, 3, 97, 20_001):
            texts = [[("" if generator.random() < 0.2 else str(generator.integers(-99, 99) / 4)) for _ in range(2)]
                     for _ in range(rows)]
            texts[rows // 2] = ["1.5", "2"]
            pairs = [(float(a), float(b)) for a, b in texts if a and b]
            empty = rows - len(pairs)
            path = self.write("t.csv", "a,b\n" + "".join(f"{a},{b}\n" for a, b in texts))
            for options in ((), ("--dtype", "f64"), ("--memory", "64Ki"), ("--verify",), ("--threads", "1")):
                found = json.loads(self.ok("dot", path, "--column", "a", "--column", "b", "--json", *options, "--quiet"))
                self.assertEqual((found["dot"], found["n"]), (sum(a * b for a, b in pairs), len(pairs)))
                self.assertEqual(found.get("bad_lines", 0), empty)
            said = masu("dot", path, "--column", "a", "--column", "b").stderr.decode()
            if empty:
                line = next(i for i, row in enumerate(texts) if not all(row)) + 2
                self.assertEqual(said, f"masu: {path}: {empty:,} of {rows:,} rows: {empty:,} empty (line {line})\n")
            # Two inputs, of which one may have no gaps, or be no text.
            other = self.save_npy("y.npy", np.arange(rows) + 0.0)
            expected = sum(float(a) * i for i, (a, _) in enumerate(texts) if a)
            self.assertEqual(float(self.ok("dot", path, other, "--column", "a", "--dtype", "f64", "--quiet")), expected)
        path = self.write("t.csv", "a,b\n1,\n3,x\n")
        self.fails(1, "dot", path, "--column", "a", "--column", "b",
                   says="line 3: the entry 'x' is not a number (dot of column b needs every entry)")
        self.fails(1, "dot", path, "--column", "a", "--column", "b", "--strict", says="line 2: the entry '' is empty")
        path = self.write("t.csv", "a,b\n1,\n,2\n")
        self.fails(1, "dot", path, "--column", "a", "--column", "b", says="has no pair of numbers")
        short = self.write("s.csv", "a\n1\n")
        self.fails(1, "dot", path, short, "--column", "a", says="2 rows, ")

    def test_wrong_data(self):
        self.fails(1, "dot", "iota:f32:10", "iota:f32:11", says="equally long")
        self.fails(1, "dot", "-", "iota:f64:4", stdin=b"1 2 3", says="equally long")
        self.fails(1, "dot", "iota:f32:10", "iota:f64:10", says="one dtype")
        self.fails(1, "dot", "-", "iota:f64:3", stdin=b"1 x 3")
        self.fails(1, "dot", "random:u64:9:lo=9000000000000000000", "random:u64:9", says="random:u64:9")
        self.fails(1, "dot", "iota:f32:10", self.path("absent"))

    def test_wrong_use(self):
        for arguments in (["iota:u8:3"], ["iota:u8:3"] * 3, ["-", "-"], ["iota:u8:3", "iota:u8:3", "--result", "u8"],
                          ["iota:u8:3", "iota:u8:3", "--memory", "x"], []):
            self.fails(2, "dot", *arguments)


if __name__ == "__main__":
    unittest.main()
