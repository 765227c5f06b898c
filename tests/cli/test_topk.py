# SPDX-License-Identifier: Apache-2.0
"""masu topk against NumPy's stable order: every dtype, rows, and more than memory holds."""

import os
import resource
import unittest

import numpy as np

from command import CommandTest, masu, usable_devices
from samples import DTYPES, loads, order_of, same_number, sample


def first(values, k, smallest=False, nan="skip"):
    """The indices that topk has to give."""
    order = order_of(values, not smallest)
    if nan == "skip":
        order = order[~np.isnan(values[order])]
    return order[:k]


class TopkTest(CommandTest):
    def topk(self, *arguments, device="cpu", **more):
        return loads(self.ok("topk", *arguments, "--json", "--quiet", "--device", device, **more))

    def check(self, found, values, indices, message=None):
        self.assertEqual(found["indices"], indices.tolist(), message)
        self.assertEqual(len(found["values"]), len(indices), message)
        for got, value in zip(found["values"], values[indices]):
            self.assertTrue(same_number(got, value), (got, value, message))

    def every_side(self, file, values, k, *options, **more):
        for smallest in (False, True):
            for nan in ("skip", "last"):
                what = (values.dtype, len(values), k, smallest, nan, options, more)
                found = self.topk(file, "-k", k, "--nan", nan, *(["--smallest"] if smallest else []), *options, **more)
                self.check(found, values, first(values, k, smallest, nan), what)
                skipped = int(np.isnan(values).sum()) if nan == "skip" else 0
                self.assertEqual((found["n"], found["nan_skipped"]), (len(values), skipped), what)

    def test_every_dtype(self):
        for name, code in DTYPES.items():
            values = sample(code, 3001)
            file = self.save_npy("in.npy", values)
            self.every_side(file, values, 100, "--verify")
            self.check(self.topk(file, "-k", 10**12, "--memory", "1"), values, first(values, 3001), name)
            self.assertEqual(self.topk(file, "-k", 1)["dtype"], name)
        for count in (0, 1, 2):
            values = sample("f4", count)
            self.every_side(self.save_npy("in.npy", values), values, 1)
            self.every_side(self.save_npy("in.npy", values), values, 7, "--memory", "1")

    def test_devices(self):
        for device in usable_devices("opencl")[:1] + usable_devices("cuda")[:1]:
            for code, smallest, nan in (("i4", True, "last"), ("f4", False, "skip")):
                values = sample(code, 30_001, seed=7)
                file = self.save_npy("in.npy", values)
                how = ["-k", 77, "--nan", nan, *(["--smallest"] if smallest else [])]
                for memory in ([], ["--memory", "40k"]):
                    found = self.topk(file, *how, *memory, device=device)
                    self.check(found, values, first(values, 77, smallest, nan), (device, code, memory))

    def test_more_than_memory_holds(self):
        for code in ("f4", "i8"):
            values = sample(code, 60_007, seed=2)
            file = self.save_npy("in.npy", values)
            small = ["--memory", "128Ki", "--tmpdir", self.folder]
            self.every_side(file, values, 50, *small)
            self.every_side(file, values, 40_000, *small)  # these do not fit: sorted through files
            piped = self.topk("-", "--input-format", "raw", "--dtype", {"f4": "f32", "i8": "i64"}[code], "-k", 50_000,
                              "--verify", *small, stdin=values.tobytes())
            self.check(piped, values, first(values, 50_000))
            self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_rows(self):
        values = sample("f4", 40 * 501, seed=3).reshape(40, 501)
        values[7] = np.nan
        file = self.save_npy("in.npy", values)
        for memory, k in ([], 3), (["--memory", "300Ki"], 501), (["--memory", "1"], 9999):
            for nan in ("skip", "last"):
                found = self.topk(file, "--rows", 40, "-k", k, "--nan", nan, "--verify", *memory)
                self.assertEqual(len(found["values"]), 40)
                for row in range(40):
                    self.check({name: found[name][row] for name in ("values", "indices")}, values[row],
                               first(values[row], k, nan=nan), (row, k, nan, memory))
                self.assertEqual(found["nan_skipped"],
                                 (np.isnan(values).sum(axis=1) * (nan == "skip")).tolist())
        self.assertEqual(self.topk(self.save_npy("none.npy", values[:0]), "--rows", 3, "-k", 2)["values"], [[], [], []])
        self.assertEqual(self.topk(file, "--rows", 1, "-k", 1)["indices"], [first(values.ravel(), 1).tolist()])
        self.fails(2, "topk", file, "--rows", 7, "-k", 2, says="--rows 7 must divide the 20040 values")
        piped = self.topk("-", "--rows", 2, "-k", 1, "--smallest", stdin=b"5 4 6 1 0 2")
        self.assertEqual((piped["values"], piped["indices"]), ([[4], [0]], [[1], [1]]))

    def test_forms(self):
        text = self.write("in.txt", "3 nan -0 7 0 7")
        result = masu("topk", text, "-k", 4)
        self.assertEqual(result.stdout.decode(), "value  index\n    7      3\n    7      5\n    3      0\n   -0      2\n")
        self.assertEqual(result.stderr.decode(), f"masu: {text}: 1 NaNs left out\n")
        self.assertEqual(self.ok("topk", text, "-k", 2, "--nan", "last", "--index"), b"index\n    1\n    3\n")
        self.ok("topk", text, "-k", 2, "--smallest", "--rows", 2, "-o", self.path("o.csv"), "--quiet")
        with open(self.path("o.csv"), encoding="ascii") as file:
            self.assertEqual(file.read(), "row,value,index\n0,-0,2\n0,3,0\n1,0,1\n1,7,0\n")
        values = sample("u2", 1000)
        file = self.save_npy("in.npy", values.reshape(10, 10, 10))
        out = self.path("out.npy")
        self.ok("topk", file, "-k", 5, "-o", out)
        np.testing.assert_array_equal(np.load(out), values[first(values, 5)], strict=True)
        self.ok("topk", file, "-k", 5, "--index", "-o", out)
        np.testing.assert_array_equal(np.load(out), first(values, 5).astype("u8"), strict=True)
        self.ok("topk", file, "-k", 5, "--rows", 10, "-o", out)
        np.testing.assert_array_equal(np.load(out), -np.sort(-values.reshape(10, 100).astype("i8"), axis=1)[:, :5])
        self.fails(1, "topk", text, "-k", 3, "--rows", 2, "-o", self.path("no.npy"), "--quiet", says="rows of one length")
        self.assertFalse(os.path.exists(self.path("no.npy")))

    def test_nothing_but_nan(self):
        file = self.save_npy("nan.npy", np.full(5000, np.nan, "f4"))
        found = self.topk(file, "-k", 3)
        self.assertEqual((found["values"], found["indices"], found["nan_skipped"]), ([], [], 5000))
        found = self.topk(file, "-k", 3, "--smallest", "--nan", "last")
        self.assertEqual((found["values"], found["indices"], found["nan_skipped"]), (["NaN"] * 3, [0, 1, 2], 0))
        self.assertIn("5000 NaNs left out", masu("topk", file, "-k", 3).stderr.decode())

    def test_time(self):
        result = masu("topk", "random:f32:1M", "-k", 3, "--time", "--verify")
        self.assertRegex(result.stderr.decode(), r"(?s)verified: 1000000 values.*reading.*computing.*total.*B/s")

    def test_wrong_use(self):
        for arguments in (["-k", "0"], ["-k", "x"], ["-k", "-1"], ["-k", "3", "--nan", "first"],
                          ["-k", "3", "--rows", "0"], ["-k", "3", "-o", "x.npy", "--json"], ["-k", "3", "--device", "x"]):
            self.fails(2, "topk", "random:u8:10", *arguments)
        self.fails(1, "topk", self.path("absent.npy"), "-k", "3")
        self.fails(1, "topk", "random:u64:100k", "-k", "90k", "--memory", "64Ki", "--tmpdir", self.path("absent"),
                   says="cannot make a temporary file")

    def test_files_that_may_not_grow(self):
        big = ["random:u64:1M:seed=4", "-k", "900k", "--memory", "1Mi", "--tmpdir", self.folder]
        for output in ([], ["-o", self.path("o.json")]):
            result = masu("topk", *big, *output, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
            self.assertEqual((result.returncode, result.stdout), (1, b""))
            self.assertRegex(result.stderr, rb"^masu: .*File too large[^\n]*\n$")
            self.assertEqual(os.listdir(self.folder), [])

    def test_interrupted(self):
        for memory, k in (("1Gi", "10"), ("256Ki", "1M")):
            self.interrupted(bytes(4 << 20), "topk", "-k", k, "--memory", memory, "--tmpdir", self.folder)


if __name__ == "__main__":
    unittest.main()
