# SPDX-License-Identifier: Apache-2.0
"""masu quantile against numpy.quantile, to the bit: every dtype and method, rows, and data that is read in pieces."""

import os
import resource
import unittest

import numpy as np

from command import CommandTest, masu, usable_devices
from samples import DTYPES, loads, sample

METHODS = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
           "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest")
ELEMENTS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")  # results are elements of the data
Q = (0, 1e-3, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.999, 1)


def ordinary(dtype, count, seed=1):
    """Values with many equals, and both zeros of floats; neighbours whose difference NumPy can compute."""
    values = sample(dtype, count, seed)
    if values.dtype.kind == "f":
        return np.where(np.isfinite(values), values, 2).astype(dtype)
    return (values // 2 if values.dtype.itemsize < 8 else values % 1000).astype(dtype)


def number(got):
    return float({"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.get(got, got))


class QuantileTest(CommandTest):
    def quantile(self, *arguments, device="cpu", **more):
        return loads(self.ok("quantile", *arguments, "--json", "--quiet", "--device", device, **more))

    def check(self, found, values, q=Q, method="linear", message=None):
        with np.errstate(all="ignore"):
            expected = np.quantile(values, np.array(q, "f8"), method=method)
        kind = values.dtype.type if method in ELEMENTS else np.float64
        self.assertEqual(len(found), len(q))
        for place, got, right in zip(q, found, expected):
            if kind is np.float64 or values.dtype.kind == "f":
                same = kind(number(got)) == kind(right) or (np.isnan(number(got)) and np.isnan(right))
            else:
                same = int(got) == int(right)
            self.assertTrue(same, (values.dtype, len(values), method, place, got, right, message))

    def test_every_dtype_and_method(self):
        some = ",".join(map(str, Q))
        for name, code in DTYPES.items():
            for count, methods in (1, ("hazen",)), (2, ("weibull",)), (2003, METHODS):
                values = ordinary(code, count)
                file = self.save_npy("in.npy", values)
                for method in methods:
                    found = self.quantile(file, "-q", some, "--method", method, "--verify")
                    self.check(found["values"], values, Q, method)
                    self.assertEqual(found["q"], list(Q))
                    self.assertEqual((found["n"], found["dtype"], found["method"]), (count, name, method))

    def test_where_numpys_formula_is_wrong(self):
        inf, most = np.inf, float(np.finfo("f8").max)
        for code, values, q, right in (
                ("i1", [127, -128], [0.5], [-0.5]), ("i2", [32767, -1], [0.25, 0.5], [8191, 16383]),
                ("i4", [2**31 - 1, -2**31], [0.25], [-1073741824.25]), ("i8", [2**53 + 1, 2**53 + 3], [0.5], [2**53 + 2]),
                ("u8", [2**64 - 1, 0], [0.5, 0.75], [2**63, 3 * 2**62]), ("i8", [2**63 - 1, -2**63], [0.5], [-0.5]),
                ("f8", [most, -most], [0.25, 0.5], [-most / 2, 0]), ("f4", [3e38, -3e38], [0.5], [0]),
                ("f2", [65504, -65504], [0.5, 0.75], [0, 32752]), ("f8", [inf, inf], list(Q), [inf] * len(Q)),
                ("f8", [0, inf], [0, 0.25, 0.5, 1], [0, inf, inf, inf]), ("f4", [-inf, 7], [0, 0.5, 1], [-inf, -inf, 7]),
                ("f8", [-inf, inf], [0, 1], [-inf, inf])):
            file = self.save_npy("in.npy", np.array(values, code))
            for device in ("cpu", *usable_devices("opencl")[:1]):
                found = self.quantile(file, "-q", ",".join(map(repr, q)), "--verify", device=device)
                self.assertEqual([number(x) for x in found["values"]], right, (code, values, device))
        found = self.quantile(self.save_npy("in.npy", np.array([-inf, inf])), "-q", "0.5")
        self.assertTrue(np.isnan(number(found["values"][0])))
        # 65,521 elements, more than f16 can count
        found = self.quantile(self.save_npy("in.npy", np.zeros(65_521, "f2")))
        self.assertEqual(found["values"], [0] * 5)

    def test_pieces(self):
        for code in ("u2", "f4", "f8"):
            values = ordinary(code, 200_007, seed=5)
            file = self.save_npy("in.npy", values)
            name = next(name for name, kind in DTYPES.items() if kind == code)
            small = ["--memory", "100k", "--tmpdir", self.folder, "-q", ",".join(map(str, Q))]
            self.check(self.quantile(file, *small)["values"], values)
            piped = self.quantile("-", "--input-format", "raw", "--dtype", name, *small, stdin=values.tobytes())
            self.check(piped["values"], values)
            tiny = ["--memory", "1", "-q", ",".join(map(str, Q))]  # element by element: a second, without a thread for each
            self.check(self.quantile(self.save_npy("in.npy", values.astype(">" + code)), *tiny)["values"], values)
            self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_devices(self):
        for device in usable_devices("opencl")[:1] + usable_devices("cuda")[:1]:
            for code in ("u2", "f4"):
                values = ordinary(code, 50_021, seed=6)
                file = self.save_npy("in.npy", values)
                found = self.quantile(file, "-q", "0,0.25,0.5,0.99,1", "--memory", "30k", device=device)
                self.check(found["values"], values, (0, 0.25, 0.5, 0.99, 1))
                rows = self.quantile(self.save_npy("r.npy", values[:50_000]), "--rows", 50, "-q", "0.5", device=device)
                for row, got in enumerate(rows["values"]):
                    self.check(got, values[1000 * row:1000 * row + 1000], (0.5,))

    def test_rows(self):
        values = ordinary("f4", 12 * 5001, seed=8).reshape(12, 5001)
        values[3, 17] = np.nan
        file = self.save_npy("in.npy", values)
        for memory in ([], ["--memory", "300k"], ["--memory", "64Ki"]):  # the last: no row fits
            found = self.quantile(file, "--rows", 12, "-q", "0.1,0.9", "--verify", *memory)
            self.assertEqual(found["q"], [0.1, 0.9])
            for row in range(12):
                self.check(found["values"][row], values[row], (0.1, 0.9), message=memory)
            self.assertEqual(found["n"], values.size)
        out = self.path("out.npy")
        self.ok("quantile", file, "--rows", 12, "-q", "0,0.5", "-o", out)
        np.testing.assert_array_equal(np.load(out), np.quantile(values, np.array([0, 0.5]), axis=1).T, strict=True)
        piped = self.quantile("-", "--rows", 2, "-q", "0.5", stdin=b"5 4 6 1 0 2")
        self.assertEqual(piped["values"], [[5], [1]])
        self.fails(2, "quantile", file, "--rows", 7, says="--rows 7 must divide the 60012 values")
        self.fails(1, "quantile", "zeros:u8:0", "--rows", 3, says="no values")

    def test_forms(self):
        text = self.write("in.txt", "1 2 4 -0")
        self.assertEqual(self.ok("quantile", text, "-q", "0,.5,1").decode(),
                         "  q  value\n  0      0\n0.5    1.5\n  1      4\n")
        self.assertEqual(self.quantile(text)["q"], [0, 0.25, 0.5, 0.75, 1])
        self.ok("quantile", text, "-q", "0.5", "--rows", 2, "-o", self.path("o.csv"))
        with open(self.path("o.csv"), encoding="ascii") as file:
            self.assertEqual(file.read(), "row,q,value\n0,0.5,1.5\n1,0.5,2\n")
        values = ordinary("i2", 1001)
        out = self.path("out.npy")
        for method in ("linear", "lower"):
            self.ok("quantile", self.save_npy("in.npy", values), "-q", "0.3,0.9", "--method", method, "-o", out)
            np.testing.assert_array_equal(np.load(out), np.quantile(values, np.array([0.3, 0.9]), method=method),
                                          strict=True)
        big = self.save_npy("big.npy", np.array([2**64 - 1, 2**63 + 1, 5], "u8"))
        self.assertEqual(self.quantile(big, "-q", "0.5,1", "--method", "nearest")["values"], [2**63 + 1, 2**64 - 1])

    def test_nan_and_infinities(self):
        nan, inf = np.nan, np.inf
        for values, linear in (([nan] * 9, [nan] * 5), ([1, 2, nan], [nan] * 5), ([inf], [inf] * 5),
                               ([-inf, -inf, 1, inf, inf], [-inf, -inf, 1, inf, inf]),
                               ([-inf, inf], [-inf, nan, nan, nan, inf])):
            for code in ("f2", "f4", "f8"):
                data = np.array(values, code)
                file = self.save_npy("in.npy", data)
                found = self.quantile(file, "--method", "lower", "--verify")
                self.check(found["values"], data, found["q"], "lower")
                found = self.quantile(file, "--verify")["values"]
                np.testing.assert_array_equal([number(x) for x in found], linear)

    def test_nothing(self):
        self.fails(1, "quantile", "zeros:f32:0", says="zeros:f32:0: there are no values")
        self.fails(1, "quantile", "-", "-o", self.path("o.json"), stdin=b"", says="standard input: has no number")
        self.assertEqual(os.listdir(self.folder), [])

    def test_wrong_use(self):
        for arguments in (["-q", "1.5"], ["-q", "-0.1"], ["-q", "nan"], ["-q", "0.5,"], ["-q", "half"], ["-q", ""],
                          ["--method", "best"], ["--rows", "0"], ["--device", "x"], ["-q", "p101"], ["-q", "%"], ["-q", "1%%"], ["-q", "p1e1"],
                          ["--deciles", "--quartiles"],
                          ["-o", "x.npy", "--json"]):
            self.fails(2, "quantile", "random:u8:10", *arguments)
        self.fails(2, "quantile", "random:u8:10", "--method", "best", says="averaged_inverted_cdf")
        self.fails(1, "quantile", self.path("absent.npy"))
        result = masu("quantile", "random:f32:1M", "--time", "--verify")
        self.assertRegex(result.stderr.decode(), r"(?s)verified: 1000000 values.*reading.*computing.*total.*B/s")

    def test_stream_that_cannot_be_kept(self):
        data = np.arange(1 << 20, dtype="u8").tobytes()
        stream = ["quantile", "-", "--input-format", "raw", "--dtype", "u64", "--memory", "64Ki", "--tmpdir"]
        self.fails(1, *stream, self.path("absent"), stdin=data)
        result = masu(*stream, self.folder, stdin=data, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, rb"^masu: .*File too large[^\n]*\n$")
        self.assertEqual(os.listdir(self.folder), [])

    def test_interrupted(self):
        self.interrupted(bytes(4 << 20), "quantile", "--memory", "64Ki", "--tmpdir", self.folder)


if __name__ == "__main__":
    unittest.main()
