# SPDX-License-Identifier: Apache-2.0
"""masu convert against NumPy and exact fractions: every pair of dtypes, every rounding, what does not fit."""

import math
import os
import unittest
from fractions import Fraction

import numpy as np

from command import CommandTest, masu, npy, usable_devices
from samples import DTYPES, loads, sample

GREATEST = {"f2": 65504, "f4": float(np.finfo("f4").max), "f8": float(np.finfo("f8").max)}


def to_integer(value, kind, overflow):
    limits = np.iinfo(kind)
    if not math.isfinite(value):
        return None if overflow == "error" else 0 if overflow == "wrap" or math.isnan(value) else \
            limits.max if value > 0 else limits.min
    whole = math.trunc(value)
    if limits.min <= whole <= limits.max:
        return whole
    if overflow == "saturate":
        return limits.max if whole > 0 else limits.min
    bits = whole % 2 ** limits.bits
    return None if overflow == "error" else bits - 2 ** limits.bits if bits > limits.max else bits


def to_float(value, kind, overflow, rounding):
    """The exact value between its two neighbours of the dtype."""
    if not math.isfinite(value):
        return value
    exact, (mantissa, least, most) = Fraction(value), {"f2": (11, -24, 16), "f4": (24, -149, 128), "f8": (53, -1074, 1024)}[kind]
    if exact == 0:
        return value
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= 2**exponent > size if exponent >= 0 else Fraction(1, 2**-exponent) > size
    step = Fraction(2) ** max(exponent - mantissa + 1, least)
    below = math.floor(size / step)
    rest = size / step - below
    up = {"nearest-even": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1), "zero": False,
          "up": rest > 0 and exact > 0, "down": rest > 0 and exact < 0}[rounding]
    size = (below + up) * step
    if size >= 2**most:
        if overflow == "error":
            return None
        finite = overflow == "saturate" or rounding == "zero" or rounding == ("down" if exact > 0 else "up")
        size = GREATEST[kind] if finite else math.inf
    return math.copysign(float(size), exact)


def item(value):
    return value.item()


class ConvertTest(CommandTest):
    def convert(self, values, to, *options, device="cpu"):
        out = self.path("out.npy")
        self.ok("convert", self.save_npy("in.npy", values), "--to", to, "-o", out, "--quiet", "--device", device, *options)
        return np.load(out)

    def check(self, values, name, overflow, rounding="nearest-even", *options, device="cpu"):
        code = DTYPES[name]
        if code[0] == "f":
            want = [to_float(item(x), code, overflow, rounding) for x in values]
        else:
            want = [to_integer(item(x), code, overflow) for x in values]
        keep = [x is not None for x in want]
        values = values[keep]
        want = np.array([x for x in want if x is not None], code)
        found = self.convert(values, name, *([] if overflow == "error" else ["--" + overflow]), "--rounding", rounding,
                             "--verify", *options, device=device)
        message = (values.dtype, name, overflow, rounding, options)
        self.assertEqual((found.dtype, found.shape), (want.dtype, want.shape), message)
        if code[0] == "f":  # a NaN's bits are the reference's matter
            nan = np.isnan(want)
            np.testing.assert_array_equal(np.isnan(found), nan, str(message))
            found, want = found[~nan], want[~nan]
        self.assertEqual(found.tobytes(), want.tobytes(), message)

    def test_every_pair(self):
        turn = 0
        for code in DTYPES.values():
            for name in DTYPES:
                turn += 1
                self.check(sample(code, 401, seed=turn), name, ("error", "saturate", "wrap")[turn % 3],
                           ("nearest-even", "zero", "up", "down")[turn % 4])

    def test_halves(self):
        random = np.random.default_rng(5)
        values = np.ldexp(random.normal(size=600), random.integers(-28, 18, 600))
        middles = np.array([2049, 2051, 65519.99, 65520, 2.0**-25, 3 * 2.0**-25, -65520, 1e300, -5e-324])
        for rounding in ("nearest-even", "zero", "up", "down"):
            for overflow in ("error", "saturate", "wrap"):
                self.check(np.concatenate([values, middles]), "f16", overflow, rounding)

    def test_devices(self):
        for device in usable_devices("opencl")[:1] + usable_devices("cuda")[:1]:
            for name in ("f16", "u8"):
                self.check(sample("f4", 2001, seed=7), name, "saturate", "nearest-even", "--memory", "3k", device=device)

    def test_shapes_and_forms(self):
        values = np.arange(24, dtype="u1").reshape(2, 3, 4)
        np.testing.assert_array_equal(self.convert(values, "f32"), values.astype("f4"), strict=True)
        np.save(self.path("f.npy"), np.asfortranarray(values[0]))
        self.ok("convert", self.path("f.npy"), "--to", "i64", "-o", self.path("f.npy"), "--memory", "1")
        np.testing.assert_array_equal(np.load(self.path("f.npy")), values[0].astype("i8"), strict=True)
        self.assertEqual(self.ok("convert", "-", "--to", "u8", stdin=b"1 2.9 -0.5"), b"1\n2\n0\n")
        self.ok("convert", "-", "--to", "f32", "-o", self.path("o.npy"), stdin=b"1 2.5")
        np.testing.assert_array_equal(np.load(self.path("o.npy")), np.array([1, 2.5], "f4"), strict=True)
        found = loads(self.ok("convert", "iota:u8:200", "--to", "f16", "-o", self.path("o.raw"), "--json"))
        self.assertEqual((found["n"], found["dtype"], found["to"]), (200, "u8", "f16"))
        result = masu("convert", "random:f32:10k", "--to", "f16", "--time", "--verify", "-o", self.path("o.raw"))
        self.assertRegex(result.stderr.decode(), r"(?s)verified: 10000 values.*reading.*computing.*total.*B/s")

    def test_what_does_not_fit(self):
        values = np.zeros(5000, "i4")
        values[4321] = 256
        file = self.save_npy("in.npy", values)
        for memory in ([], ["--memory", "1000"]):
            self.fails(1, "convert", file, "--to", "u8", "-o", self.path("o.npy"), *memory, says="4321")
        self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_floats_of_8_bits(self):
        codes = np.arange(256, dtype=np.uint8)
        magnitude, sign = codes & 127, np.where(codes < 128, 1, -1)
        # e5m2 is the upper half of float16; e4m3fn has 2^8 times the value of such bits, and one NaN.
        numbers = {"f8e5m2": (codes.astype("u2") << 8).view("f2").astype("f4"),
                   "f8e4m3fn": np.where(magnitude == 127, np.nan, sign * (magnitude.astype("u2") << 7).view("f2").astype("f4") * 256).astype("f4")}
        raw, saved = self.write("codes.raw", codes.tobytes()), self.write("codes.npy", npy("<V1", (16, 16), codes.tobytes()))
        made = self.path("made.npy")
        numbers = {dtype: np.where(np.isnan(expected), np.float32("nan"), expected) for dtype, expected in numbers.items()}
        for dtype, expected in numbers.items():
            for name, shape in ((raw, (256,)), (saved, (16, 16))):
                for to, kind in (("f16", "f2"), ("f32", "f4"), ("f64", "f8")):
                    self.ok("convert", name, "--dtype", dtype, "--to", to, "--verify", "-o", made)
                    np.testing.assert_array_equal(np.load(made), expected.astype(kind).reshape(shape), strict=True)
            self.ok("convert", raw, "--dtype", "float8_" + dtype[2:], "--count", "9", "--offset", "100", "--to", "f32", "-o", made)
            np.testing.assert_array_equal(np.load(made), expected[100:109])
            found = self.json(raw, "--dtype", dtype, "--bins", "7", "--range=-448:448", "--verify")
            self.assertEqual(found["counts"], np.histogram(expected, 7, (-448, 448))[0].tolist())
        out = ("--to", "f32", "-o", self.path("none.npy"))
        self.fails(2, "convert", raw, "--dtype", "f8", *out, says="--dtype takes f8e4m3fn or f8e5m2, got 'f8'")
        self.fails(2, "convert", raw, "--dtype", "u8", "--to", "f8e5m2", "-o", self.path("none.npy"), says="--to takes")
        self.fails(2, "convert", raw, "--dtype", "f8e5m2", "--input-format", "text", *out, says="that of raw and .npy input")
        self.fails(1, "convert", saved, *out, says="floats of 8 bits are read with --dtype f8e4m3fn or f8e5m2")

    def test_wrong_use(self):
        for arguments in ([], ["--to", "f128"], ["--to", "u8", "--wrap", "--saturate"], ["--to", "u8", "--json"],
                          ["--to", "f16", "--rounding", "even"]):
            self.fails(2, "convert", "random:u8:10", *arguments)
        self.fails(1, "convert", self.path("absent.npy"), "--to", "u8")


if __name__ == "__main__":
    unittest.main()
