# SPDX-License-Identifier: Apache-2.0
"""masu scan against NumPy, and against exact sums of fractions for floats: every dtype, rows, and data in pieces."""

import math
import os
import unittest
from fractions import Fraction

import numpy as np

from command import CommandTest, masu, usable_devices
from samples import DTYPES, loads, sample


def float_sums(values):
    """Each prefix's exact sum as an f64; the caller's dtypes have few enough bits that rounding it again is exact, or f64."""
    sums, exact, special = [], Fraction(0), 0.0
    for value in values:
        if np.isfinite(value):
            exact += Fraction(value.item())
        else:
            special += float(value)
        sums.append(special if special != 0 else exact)
    return sums


def nearest(value, dtype):
    """A fraction in a float dtype, rounded once."""
    if not isinstance(value, Fraction):
        return dtype.type(value)
    try:
        guess = float(value)
    except OverflowError:
        return dtype.type(math.inf if value > 0 else -math.inf)
    if dtype.itemsize == 8:
        return dtype.type(guess)
    with np.errstate(over="ignore"):
        near = dtype.type(guess)
    if not np.isfinite(near) or Fraction(guess) == value:
        return near
    # Rounding twice errs where the first rounding met the middle of two neighbours.
    for other in (np.nextafter(near, dtype.type(np.inf)), np.nextafter(near, dtype.type(-np.inf))):
        if np.isfinite(other) and 2 * Fraction(guess) == Fraction(near.item()) + Fraction(other.item()):
            return max(near, other) if value > Fraction(guess) else min(near, other)
    return near


def expected(values, op, exclusive):
    dtype = values.dtype
    if op == "sum":
        if dtype.kind == "f":
            result = np.array([nearest(x, dtype) for x in float_sums(values)], dtype)
            result[np.isnan(result)] = np.nan
        else:
            result = np.cumsum(values, dtype=dtype)
        first = dtype.type(0)
    else:
        beyond = np.less if op == "min" else np.greater
        result = values.copy()
        for i in range(1, len(values)):
            before = result[i - 1]
            result[i] = values[i] if before == before and (values[i] != values[i] or beyond(values[i], before)) else before
        limits = np.iinfo(dtype) if dtype.kind != "f" else None
        first = {"min": np.inf if limits is None else limits.max, "max": -np.inf if limits is None else limits.min}[op]
    if not exclusive:
        return result
    return np.concatenate([np.array([first], dtype), result[:-1]])[: len(values)]


class ScanTest(CommandTest):
    def check(self, values, op, exclusive, *options, device="cpu"):
        file, out = self.save_npy("in.npy", values), self.path("out.npy")
        self.ok("scan", file, "--op", op, *(["--exclusive"] if exclusive else []), "-o", out, "--quiet", "--device", device,
                *options)
        found = np.load(out)
        want = expected(values, op, exclusive)
        message = (values.dtype, len(values), op, exclusive, options)
        self.assertEqual((found.dtype, found.shape), (want.dtype, want.shape), message)
        self.assertEqual(found.tobytes(), want.tobytes(), message)

    def test_every_dtype(self):
        for code in DTYPES.values():
            for op in ("sum", "min", "max"):
                for exclusive in (False, True):
                    self.check(sample(code, 701), op, exclusive, "--verify")
                self.check(sample(code, 501, seed=4), op, False, "--memory", "1000")
                self.check(sample(code, 0), op, True)
                self.check(sample(code, 1), op, True)
        random = np.random.default_rng(5)
        for code, low, high in (("f8", -1074, 1000), ("f4", -149, 120), ("f2", -24, 14)):
            values = np.ldexp(random.normal(size=700), random.integers(low, high, 700)).astype(code)
            values = values[np.isfinite(values)]
            self.check(random.permutation(np.concatenate([values, -values])), "sum", False, "--verify")

    def test_devices(self):
        for device in usable_devices("opencl")[:1] + usable_devices("cuda")[:1]:
            for code, op in (("i4", "sum"), ("f4", "sum"), ("f4", "max")):
                values = sample(code, 9001, seed=7)
                values = values[np.isfinite(values)] if code == "f4" else values
                for memory in ([], ["--memory", "10k"]):
                    self.check(values, op, False, *memory, device=device)

    def test_rows(self):
        values = sample("f4", 40 * 51, seed=3).reshape(40, 51)
        file, out = self.save_npy("in.npy", values), self.path("out.npy")
        for memory in ([], ["--memory", "1"]):
            for exclusive in (False, True):
                self.ok("scan", file, "--rows", 40, "--verify", "--quiet", "-o", out, *memory,
                        *(["--exclusive"] if exclusive else []))
                want = np.array([expected(row, "sum", exclusive) for row in values])
                found = np.load(out)
                self.assertEqual((found.shape, found.tobytes()), (want.shape, want.tobytes()))
        long = self.save_npy("long.npy", np.ones(100_000, "u4"))
        self.ok("scan", long, "--rows", 2, "-o", out, "--memory", "64Ki")
        np.testing.assert_array_equal(np.load(out), np.tile(np.arange(1, 50_001, dtype="u4"), (2, 1)), strict=True)
        self.fails(2, "scan", file, "--rows", 7, says="--rows 7 must divide the 2040 values")
        self.ok("scan", "zeros:u8:0", "--rows", 3, "-o", out)
        self.assertEqual(np.load(out).shape, (3, 0))

    def test_forms(self):
        text = self.write("in.txt", "3 1 x 2")
        self.ok("scan", text, "-o", self.path("o.txt"), "--quiet")
        with open(self.path("o.txt"), encoding="ascii") as file:
            self.assertEqual(file.read(), "3\n4\n6\n")
        self.assertEqual(self.ok("scan", "-", "--input-format", "text", "--dtype", "u8", stdin=b"1 2 3"), b"1\n3\n6\n")
        self.ok("scan", "-", "--op", "max", "-o", self.path("o.npy"), stdin=b"1 5 3")
        np.testing.assert_array_equal(np.load(self.path("o.npy")), [1, 5, 5])
        file = self.save_npy("same.npy", np.arange(100_000, dtype="i8"))
        found = loads(self.ok("scan", file, "-o", file, "--json"))
        self.assertEqual((found["n"], found["dtype"], found["op"], found["exclusive"]), (100_000, "i64", "sum", False))
        np.testing.assert_array_equal(np.load(file), np.cumsum(np.arange(100_000)))
        result = masu("scan", "random:f32:10k", "--time", "--verify", "-o", self.path("o.raw"))
        self.assertRegex(result.stderr.decode(), r"(?s)verified: 10000 values.*reading.*computing.*total.*B/s")

    def test_wrong_use(self):
        for arguments in (["--op", "mean"], ["--rows", "0"], ["--json"], ["-o", "-", "--json"]):
            self.fails(2, "scan", "random:u8:10", *arguments)
        self.fails(1, "scan", self.path("absent.npy"))
        self.fails(1, "scan", "iota:u8:9", "-o", os.path.join(self.folder, "none", "o.npy"))
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
