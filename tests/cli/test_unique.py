# SPDX-License-Identifier: Apache-2.0
"""masu unique against NumPy: counts by value and by count, in memory and through files."""

import os
import resource
import unittest

import numpy as np

from command import CommandTest, masu
from samples import DTYPES, loads, order_of, same_number, sample


def distinct(values):
    """Each value as it is first, and its count; -0 and 0 are one value, and all NaNs are one."""
    order = order_of(values)
    put = values[order]
    new = np.ones(len(put), bool)
    new[1:] = (put[1:] != put[:-1]) & ~(np.isnan(put[1:]) & np.isnan(put[:-1]))
    starts = np.flatnonzero(new)
    return put[starts], np.diff(np.append(starts, len(put)))


class UniqueTest(CommandTest):
    def unique(self, *arguments, **more):
        return loads(self.ok("unique", *arguments, "--json", "--quiet", "--device", "cpu", **more))

    def check(self, found, values, counts, message=None):
        self.assertEqual(found["counts"], counts.tolist(), message)
        self.assertEqual(len(found["values"]), len(values), message)
        for got, value in zip(found["values"], values):
            self.assertTrue(same_number(got, value), (got, value, message))

    def test_every_dtype(self):
        for name, code in DTYPES.items():
            for count in (0, 1, 2, 4001):
                data = sample(code, count)
                file = self.save_npy("in.npy", data)
                values, counts = distinct(data)
                by_count = np.argsort(-counts, kind="stable")
                for memory in ([], ["--memory", "64Ki"], ["--memory", "1"]):
                    what = (name, count, memory)
                    found = self.unique(file, *memory)
                    self.check(found, values, counts, what)
                    self.assertEqual((found["n"], found["distinct"], found["dtype"]), (count, len(values), name), what)
                    found = self.unique(file, "--by", "count", "--limit", 7, "--verify", *memory)
                    self.check(found, values[by_count][:7], counts[by_count][:7], what)
                    self.assertEqual(found["distinct"], len(values), what)

    def test_more_values_than_memory_holds(self):
        for code, name in (("u8", "u64"), ("f4", "f32")):
            data = np.concatenate([sample(code, 60_000, seed) for seed in (1, 2, 1)])
            file = self.save_npy("in.npy", data)
            values, counts = distinct(data)
            by_count = np.argsort(-counts, kind="stable")
            small = ["--memory", "128Ki", "--tmpdir", self.folder]
            found = self.unique(file, *small)
            self.assertGreater(found["runs"], 10)
            self.check(found, values, counts, name)
            self.check(self.unique(file, "--by", "count", "--verify", *small), values[by_count], counts[by_count], name)
            self.check(self.unique(file, "--limit", 5, *small), values[:5], counts[:5], name)
            piped = self.unique("-", "--input-format", "raw", "--dtype", name, *small, stdin=data.tobytes())
            self.check(piped, values, counts, name)
            self.assertEqual(os.listdir(self.folder), ["in.npy"])

    def test_forms(self):
        text = self.write("in.txt", "3 1 3 nan 3 -0 0 nan 10")
        self.assertEqual(self.ok("unique", text).decode(),
                         "value  count\n   -0      2\n    1      1\n    3      3\n   10      1\n  nan      2\n")
        result = masu("unique", text, "--by", "count", "--limit", 2, "-o", self.path("out.csv"))
        self.assertEqual(result.stderr.decode(), f"masu: {text}: 2 of 5 distinct values\n")
        with open(self.path("out.csv"), encoding="ascii") as file:
            self.assertEqual(file.read(), "value,count\n3,3\n-0,2\n")
        self.assertEqual(self.unique(text)["values"], [0, 1, 3, 10, "NaN"])
        self.fails(1, "unique", "-", stdin=b"", says="has no number")

    def test_nothing_but_nan(self):
        for dtype in ("f2", "f4", "f8"):
            found = self.unique(self.save_npy("nan.npy", np.full(3001, -np.nan, dtype)), "--verify")
            self.assertEqual((found["values"], found["counts"]), (["NaN"], [3001]))

    def test_files_that_may_not_grow(self):
        for more in ([], ["--by", "count"], ["-o", self.path("o.json")]):
            result = masu("unique", "random:u64:1M", "--memory", "1Mi", "--tmpdir", self.folder, *more,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
            self.assertEqual((result.returncode, result.stdout), (1, b""))
            self.assertRegex(result.stderr, rb"^masu: .*File too large[^\n]*\n$")
            self.assertEqual(os.listdir(self.folder), [])

    def test_interrupted(self):
        # By now there are runs.
        self.interrupted(np.arange(400_000, dtype="u8").tobytes(), "unique", "--memory", "128Ki", "--tmpdir", self.folder)

    def test_wrong_use(self):
        for arguments in (["--by", "size"], ["--limit", "0"], ["--limit", "x"], ["-o", "x.npy"], ["-d", "-u"]):
            self.fails(2, "unique", "random:u8:10", *arguments)
        self.fails(1, "unique", "random:u64:100k", "--memory", "64Ki", "--tmpdir", self.path("absent"),
                   says="cannot make a temporary file")
        self.fails(1, "unique", self.path("absent.npy"))


if __name__ == "__main__":
    unittest.main()
