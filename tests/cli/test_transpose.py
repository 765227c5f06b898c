# SPDX-License-Identifier: Apache-2.0
"""masu transpose against NumPy: shapes, both orders, images, and more than memory holds."""

import os
import unittest

import numpy as np

from command import CommandTest, bmp24, masu, usable_devices
from samples import DTYPES, loads, sample


class TransposeTest(CommandTest):
    def turned(self, file, *options, device="cpu"):
        out = self.path("out.npy")
        self.ok("transpose", file, "-o", out, "--quiet", "--device", device, *options)
        return np.load(out)

    def same(self, found, want, message=None):
        self.assertEqual((found.dtype, found.shape), (want.dtype, want.shape), message)
        self.assertEqual(found.tobytes(), want.tobytes(), message)

    def test_shapes(self):
        for code in DTYPES.values():
            values = sample(code, 37 * 61).reshape(37, 61)
            for options in (["--verify"], ["--memory", "1", "--verify"]):
                self.same(self.turned(self.save_npy("in.npy", values), *options), values.T, (code, options))
        for shape in ((0, 5), (5, 0), (1, 1), (1, 301), (301, 1), (16, 16), (97, 3)):
            values = np.arange(shape[0] * shape[1], dtype="u4").reshape(shape)
            self.same(self.turned(self.save_npy("in.npy", values), "--verify"), values.T, shape)
        big = np.arange(300 * 400, dtype="f8").reshape(300, 400)  # several bands of columns
        for source in ("in.npy", "-"):
            raw = self.save_npy("in.npy", big)
            arguments = [raw] if source != "-" else ["-", "--input-format", "raw", "--dtype", "f64", "--shape", "300,400"]
            out = self.path("out.npy")
            self.ok("transpose", *arguments, "-o", out, "--memory", "128Ki", "--tmpdir", self.folder, "--verify", "--quiet",
                    stdin=big.tobytes())
            self.same(np.load(out), big.T)

    def test_orders(self):
        values = np.asfortranarray(np.arange(12, dtype="i2").reshape(3, 4))
        np.save(self.path("f.npy"), values)
        self.same(self.turned(self.path("f.npy"), "--verify"), np.ascontiguousarray(values.T))
        self.same(self.turned(self.path("f.npy"), "--shape", "3,4"), np.ascontiguousarray(values.T))
        self.fails(1, "transpose", self.path("f.npy"), "--shape", "4,3", says="Fortran")
        file = self.save_npy("in.npy", np.arange(24, dtype="u1").reshape(2, 3, 4))
        self.same(self.turned(file, "--shape", "6,4"), np.arange(24, dtype="u1").reshape(6, 4).T)
        self.fails(2, "transpose", file, says="--shape R,C is needed")

    def test_images(self):
        image = self.write("a.bmp", bmp24(7, 5, lambda x, y: (x, y, 255)))
        want = np.array([[(x, y, 255) for y in range(5)] for x in range(7)], "u1")
        self.same(self.turned(image, "--verify"), want)
        gray = self.write("a.pgm", b"P5 3 2 255\n\1\2\3\4\5\6")
        self.same(self.turned(gray), np.array([[1, 4], [2, 5], [3, 6]], "u1"))

    def test_devices(self):
        for device in usable_devices("opencl")[:1] + usable_devices("cuda")[:1]:
            values = sample("f4", 123 * 457).reshape(123, 457)
            self.same(self.turned(self.save_npy("in.npy", values), "--verify", device=device), values.T)

    def test_forms(self):
        turned = self.ok("transpose", "-", "--input-format", "text", "--dtype", "u8", "--shape", "2,3", stdin=b"1 2 3 4 5 6")
        self.assertEqual(turned, b"1 4\n2 5\n3 6\n")
        file = self.save_npy("same.npy", np.arange(6, dtype="i8").reshape(2, 3))
        found = loads(self.ok("transpose", file, "-o", file, "--json"))
        self.assertEqual((found["n"], found["dtype"], found["shape"]), (6, "i64", [3, 2]))
        np.testing.assert_array_equal(np.load(file), np.arange(6).reshape(2, 3).T)
        result = masu("transpose", "random:f32:10k", "--shape", "100,100", "--time", "--verify", "-o", self.path("o"))
        self.assertRegex(result.stderr.decode(), r"(?s)verified: 10000 values.*reading.*computing.*total.*B/s")

    def test_wrong_use(self):
        for shape in ("2", "2,6", "x,2", "2,5,1", "-2,5", "18446744073709551615,2", ",", "0,10", "10,0"):
            self.fails(2, "transpose", "random:u8:10", "--shape", shape)
        for arguments in ([], ["--shape", "2,5", "--json"], ["--shape", "2,5", "second.npy"]):
            self.fails(2, "transpose", "random:u8:10", *arguments)
        self.fails(1, "transpose", self.path("absent.npy"))
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
