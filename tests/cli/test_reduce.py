# SPDX-License-Identifier: Apache-2.0
"""masu reduce against exact arithmetic on fractions and NumPy: every dtype, rows, and data in pieces."""

import math
import unittest
from fractions import Fraction

import numpy as np

from command import CommandTest, masu, usable_devices
from samples import DTYPES, as_json, loads, sample, same_number

ALL = "sum,mean,min,max,argmin,argmax,variance,var,std,norm2,count-nonzero,count,skipped,median"


def rounded(value):
    """An exact number as f64; Python rounds fractions once, to nearest."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def root(square):
    """The square root of a fraction, rounded once."""
    scale = 4 ** max(0, (130 - square.numerator.bit_length() + square.denominator.bit_length()) // 2 + 1)
    scaled = square * scale
    whole = math.isqrt(math.floor(scaled))
    more = Fraction(1, 4) if whole * whole != scaled else 0  # what is below the whole part only breaks ties
    return rounded((whole + more) / Fraction(math.isqrt(scale)))


def finite(values):
    return values[np.isfinite(values)] if values.dtype.kind == "f" else values


def total(values, squares=False):
    """The exact sum, and what NaNs and infinities make of it."""
    if values.dtype.kind == "f":
        plus, minus = bool((values == np.inf).any()), bool((values == -np.inf).any())
        if squares:
            plus, minus = plus or minus, False
        if np.isnan(values).any() or (plus and minus):
            return math.nan
        if plus or minus:
            return math.inf if plus else -math.inf
    fractions = (Fraction(x.item()) for x in values)
    return sum(((x * x if squares else x) for x in fractions), Fraction(0))


def expected(values, ddof=0):
    exact, squares, n = total(values), total(values, True), len(values)
    result = {"sum": exact, "mean": exact / n, "min": values.min(), "max": values.max(),
              "argmin": int(values.argmin()), "argmax": int(values.argmax()), "count-nonzero": int((values != 0).sum()),
              "count": n, "skipped": 0, "norm2": root(squares) if isinstance(squares, Fraction) else squares}
    result["variance"] = (squares / (n - ddof) - exact * exact / n / (n - ddof)) if isinstance(squares, Fraction) else math.nan
    result["var"] = result["variance"]
    result["std"] = root(result["variance"]) if isinstance(squares, Fraction) else math.nan
    if values.dtype.kind == "f":  # the first of equals, with its sign and its NaN
        result["min"], result["max"] = values[result["argmin"]], values[result["argmax"]]
    return result


class ReduceTest(CommandTest):
    def reduce(self, *arguments, device="cpu", **more):
        return loads(self.ok("reduce", *arguments, "--json", "--quiet", "--device", device, **more))

    def check(self, found, values, message, ddof=0):
        for name, value in expected(values, ddof).items():
            if name not in found:
                continue
            if name in ("min", "max"):
                self.assertTrue(same_number(found[name], value), (name, found[name], value, message))
            elif name in ("argmin", "argmax", "count-nonzero", "count", "skipped") or (name == "sum" and values.dtype.kind != "f"):
                self.assertEqual(found[name], value, (name, message))
            else:
                number = rounded(value) if isinstance(value, Fraction) else value
                self.assertEqual([found[name]], as_json([np.float64(number)]), (name, message))

    def test_every_dtype(self):
        for name, code in DTYPES.items():
            for values in (sample(code, 801), finite(sample(code, 901, seed=2))):
                if values.dtype.itemsize == 8 and values.dtype.kind != "f":
                    values = values >> 11  # so that the sum fits
                file = self.save_npy("in.npy", values)
                for memory in ([], ["--memory", "1000"]):
                    found = self.reduce(file, "--op", ALL, "--verify", *memory)
                    self.check(found, values, (name, memory))
                    self.assertEqual((found["n"], found["dtype"]), (len(values), name))
        for value in (0.0, -0.0, 1.5, np.inf, np.nan, 5e-324):
            self.check(self.reduce(self.save_npy("in.npy", np.array([value])), "--op", ALL), np.array([value]), value)

    def test_adversarial(self):
        random = np.random.default_rng(5)
        values = np.ldexp(random.normal(size=500), random.integers(-1074, 1000, 500))
        pairs = np.concatenate([values, -values, [1e-300, 2.0**-1074]])
        for data in (values, random.permutation(pairs), np.full(9, np.finfo("f8").max), np.array([1e308, 1e308, -1e308])):
            file = self.save_npy("in.npy", data)
            self.check(self.reduce(file, "--op", "sum,mean,norm2,variance,std", "--verify"), data, data[:3])
        self.assertEqual(self.reduce(self.save_npy("in.npy", pairs), "--op", "sum")["sum"], math.fsum(pairs))

    def test_devices(self):
        for device in usable_devices("opencl")[:1] + usable_devices("cuda")[:1]:
            for code in ("i4", "f4"):
                values = finite(sample(code, 30_001, seed=7))
                file = self.save_npy("in.npy", values)
                for memory in ([], ["--memory", "40k"]):
                    found = self.reduce(file, "--op", ALL, "--verify", *memory, device=device)
                    self.check(found, values, (device, code, memory))

    def test_rows(self):
        for code in ("f4", "i2"):
            values = finite(sample(code, 41 * 300, seed=3))[: 40 * 250].reshape(40, 250)
            file = self.save_npy("in.npy", values)
            for memory in ([], ["--memory", "1"], ["--memory", "70k"]):
                found = self.reduce(file, "--op", ALL, "--rows", 40, "--ddof", 1, "--verify", *memory)
                for row in range(40):
                    self.check({name: found[name][row] for name in ALL.split(",")}, values[row], (code, row), ddof=1)
        text = self.ok("reduce", "-", "--rows", 2, "--op", "max,sum", "--quiet", stdin=b"5 4 6 1 0 2").decode()
        self.assertEqual(text, "max  sum\n  6   15\n  2    3\n")
        self.assertEqual(self.ok("reduce", "zeros:f32:0", "--rows", 3, "--op", "sum,count-nonzero,count"),
                         b"sum  count-nonzero  count\n" + b"  0              0      0\n" * 3)
        self.fails(2, "reduce", file, "--rows", 7, says="--rows 7 must divide the 10000 values")

    def test_result(self):
        values = np.array([1, 2.0**-24, 2.0**-60])  # two roundings would give 1
        file = self.save_npy("in.npy", values)
        self.assertEqual(self.ok("reduce", file, "--op", "sum", "--result", "f32"), b"1.0000001\n")
        self.assertEqual(self.ok("reduce", file, "--op", "sum"), b"1.0000000596046448\n")
        big = self.save_npy("big.npy", np.array([3e38, 3e38], "f4"))
        self.assertEqual(self.ok("reduce", big, "--op", "sum,mean", "--result", "f32", "--verify", "--quiet"), b"sum   inf\nmean  3e+38\n")

    def test_forms(self):
        text = self.write("in.txt", "3 -0.0 7 0 7")
        self.assertEqual(self.ok("reduce", text), b"sum   17\nmean  3.4\nmin   -0\nmax   7\n")
        self.assertEqual(self.ok("reduce", text, "--op", "argmax,count-nonzero"), b"argmax         2\ncount-nonzero  3\n")
        self.ok("reduce", text, "--op", "min,max", "--rows", 5, "-o", self.path("o.csv"))
        with open(self.path("o.csv"), encoding="ascii") as file:
            self.assertEqual(file.read(), "row,min,max\n0,3,3\n1,-0,-0\n2,7,7\n3,0,0\n4,7,7\n")
        values = sample("u2", 1000)
        file = self.save_npy("in.npy", values.reshape(10, 100))
        self.ok("reduce", file, "--op", "argmax", "--rows", 10, "-o", self.path("o.npy"))
        np.testing.assert_array_equal(np.load(self.path("o.npy")), values.reshape(10, 100).argmax(axis=1).astype("u8"),
                                      strict=True)
        self.ok("reduce", file, "--op", "max", "-o", self.path("o.npy"))
        np.testing.assert_array_equal(np.load(self.path("o.npy")), values.max(keepdims=True), strict=True)
        self.ok("reduce", file, "-o", self.path("o.json"))
        with open(self.path("o.json"), encoding="ascii") as out:
            self.assertEqual(loads(out.read())["sum"], int(values.sum(dtype="u8")))
        bad = masu("reduce", "-", "--json", stdin=b"1 2 x 4")
        self.assertEqual((loads(bad.stdout)["sum"], loads(bad.stdout)["bad_lines"]), (7, 1))
        self.assertIn(b"1 of 4 entries: 1 not a number (line 1: 'x')", bad.stderr)
        result = masu("reduce", "random:f32:100k", "--time", "--verify")
        self.assertRegex(result.stderr.decode(), r"(?s)verified: 100000 values.*reading.*computing.*total.*B/s")

    def test_median_is_the_quantile(self):
        for code in ("i1", "u4", "f2", "f8"):
            for count in (1, 2, 4099):
                file = self.save_npy("in.npy", sample(code, count * 3, seed=5).reshape(3, count))
                for rows in ([], ["--rows", "3"]):
                    for memory in ([], ["--memory", "64Ki"]):
                        median = loads(self.ok("quantile", file, "-q", "50%", "--json", *rows))["values"]
                        median = [value[0] for value in median] if rows else median[0]
                        found = self.reduce(file, "--op", "max,median,count,skipped", "--verify", *rows, *memory)
                        self.assertEqual((found["median"], found["n"]), (median, 3 * count), (code, count, rows))
                        self.assertEqual((found["count"], found["skipped"]), ([count] * 3, [0] * 3) if rows else (3 * count, 0))
                        self.assertEqual(self.reduce(file, "--op", "median", *rows, *memory)["median"], median)

    def test_commands_of_one_operation(self):
        text = b"3 -0.0 x 7 0 7\n"
        for op in ("sum", "mean", "min", "max", "median", "count"):
            for arguments in ([], ["--verify", "--memory", "64Ki"]):
                self.assertEqual(self.ok(op, *arguments, stdin=text), self.ok("reduce", "--op", op, stdin=text))
            self.assertEqual(loads(self.ok(op, "iota:u8:9", "--rows", 3, "--json"))[op],
                             loads(self.ok("reduce", "iota:u8:9", "--rows", 3, "--op", op, "--json"))[op])
            self.fails(2, op, "iota:u8:9", "--op", "sum", says="unknown option --op")
        self.assertEqual(self.ok("reduce", "-", "--op", "count,skipped", stdin=text), b"count    5\nskipped  1\n")
        for op in ("mean", "min", "median"):
            self.fails(1, op, "zeros:f32:0", says=f"there are no values, so no {op}")
        self.assertEqual(self.ok("count", "zeros:f32:0"), b"0\n")

    def test_several_inputs_are_one(self):
        a, b, c = (self.write(f"{name}.csv", text) for name, text in
                   (("a", "p,v\n9,1\n9,x\n"), ("b", "v,p\n5,9\n,9\n"), ("c", "v\n-2\n7.5\n")))
        whole = "1 5 -2 7.5"
        for command, *options in (("reduce", "--op", "sum,min,median,count"), ("sort",), ("quantile",), ("topk",), ("unique",),
                                  ("scan",), ("median", "--verify", "--memory", "64Ki")):
            named = self.ok(command, a, b, c, "--column", "v", *options, "--quiet")
            self.assertEqual([word for word in named.split() if command != "topk" or b"." in word],
                             [word for word in self.ok(command, *options, "--quiet", stdin=whole.encode()).split()
                              if command != "topk" or b"." in word], command)
        self.assertEqual(self.ok("topk", a, b, c, "--column", "v", "--index", "--quiet").split()[1:], [b"5", b"2", b"0", b"4"])
        self.assertEqual(self.ok("reduce", a, b, "--column", "v", "--op", "count,skipped", "--quiet"),
                         b"count    2\nskipped  2\n")
        said = masu("sum", a, b, "--column", "v").stderr.decode()
        self.assertIn("a.csv and 1 more: 2 of 4 rows: 1 empty, 1 not a number (line 3: 'x')", said.replace(" of b.csv", ""))
        x, y = (self.save_npy(name, np.arange(5, dtype="f8").reshape(5, 1)) for name in ("x.npy", "y.npy"))
        self.assertEqual(self.ok("sum", x, y), b"20\n")
        self.assertEqual(self.ok("median", x, "-", y, stdin=b"1.5"), b"2\n")
        self.fails(1, "sum", x, "iota:u8:3", says="several INPUTs must have one dtype")
        self.fails(2, "sum", "-", "-", says="standard input can be one INPUT only")
        self.fails(1, "sum", x, self.path("absent.npy"), says="absent.npy")

    def test_wrong_data(self):
        top = np.array([2**63 - 1, 1], "i8")
        self.fails(1, "reduce", self.save_npy("in.npy", top), "--op", "sum", says="in.npy: ")
        self.assertEqual(self.ok("reduce", self.save_npy("in.npy", top), "--op", "mean"), b"4.611686018427388e+18\n")
        back = np.array([2**63 - 1, 1, -1], "i8")  # only the final result counts
        self.assertEqual(self.ok("reduce", self.save_npy("in.npy", back), "--op", "sum"), b"9223372036854775807\n")
        self.fails(1, "reduce", self.save_npy("in.npy", np.array([2**64 - 1, 1], "u8")), "--op", "sum")
        for op in ("mean", "min", "argmax", "variance", "std", "median"):
            self.fails(1, "reduce", "zeros:f32:0", "--op", op, says=f"there are no values, so no {op}")
        self.assertEqual(self.ok("reduce", "zeros:i8:0", "--op", "sum,norm2,count-nonzero"), b"sum            0\nnorm2          0\ncount-nonzero  0\n")
        for op in ("variance", "std"):
            self.fails(1, "reduce", "iota:u8:3", "--op", op, "--ddof", 3, says=f"too few for {op}")
        self.fails(1, "reduce", self.path("absent.npy"))

    def test_wrong_use(self):
        for arguments in (["--op", "sum,"], ["--op", "mode"], ["--op", "sum,sum"], ["--ddof", "-1"], ["--rows", "0"],
                          ["--result", "i32"], ["-o", "x.npy"], ["--device", "x"], ["--op", ""]):
            self.fails(2, "reduce", "random:u8:10", *arguments)
        self.fails(1, "reduce", "random:u8:10", "--device", "cuda:99")

    def test_interrupted(self):
        self.interrupted(bytes(1 << 20), "reduce")


if __name__ == "__main__":
    unittest.main()
