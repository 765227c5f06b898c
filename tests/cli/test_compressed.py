# SPDX-License-Identifier: Apache-2.0
"""gzip, zstd, xz, bzip2 and .npz as inputs of every subcommand: the same results as from the plain file."""

import bz2
import ctypes
import gzip
import io
import lzma
import os
import subprocess
import sys
import unittest
import warnings
import zipfile

import numpy as np

from command import MASU, CommandTest, bmp24, masu, npy
from samples import sample

LIBZSTD = ctypes.CDLL("libzstd.so.1")
LIBZSTD.ZSTD_createCCtx.restype = ctypes.c_void_p
LIBZSTD.ZSTD_CCtx_setParameter.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
LIBZSTD.ZSTD_compressBound.restype = LIBZSTD.ZSTD_compress2.restype = ctypes.c_size_t
LIBZSTD.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
LIBZSTD.ZSTD_compress2.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
LIBZSTD.ZSTD_freeCCtx.argtypes = [ctypes.c_void_p]


def zstd(data):
    """With a checksum, as the program zstd writes it."""
    checksum_flag = 201
    context = LIBZSTD.ZSTD_createCCtx()
    LIBZSTD.ZSTD_CCtx_setParameter(context, checksum_flag, 1)
    target = ctypes.create_string_buffer(LIBZSTD.ZSTD_compressBound(len(data)))
    length = LIBZSTD.ZSTD_compress2(context, target, len(target), data, len(data))
    LIBZSTD.ZSTD_freeCCtx(context)
    return target.raw[:length]


def npz(compressed=False, **arrays):
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays)
    return file.getvalue()


def npy_bytes(values):
    return npy(values.dtype.str, values.shape, values.tobytes())


# Runs the command in a process of its own and says how much memory it took at most.
PEAK = """import os, resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)"""


class CompressedTest(CommandTest):
    COMMANDS = [
        ["histogram", "--json"], ["histogram", "--bins", "7", "--format", "csv"], ["sort", "-o", "-"], ["sort", "--index", "-o", "-"],
        ["topk", "-k", "5"], ["unique", "--limit", "9"], ["reduce", "--op", "sum,mean,min,argmax,variance"],
        ["quantile", "-q", "0.1,0.5"], ["scan", "-o", "-"], ["transpose", "--shape", "50,100", "-o", "-"],
        ["convert", "--to", "f64", "-o", "-"],
    ]

    def outcome(self, command, *inputs, **more):
        out = self.ok(command[0], *inputs, *command[1:], "--device", "cpu", **more)
        return self.without_times(out) if "--json" in command else out

    @staticmethod
    def without_times(text):
        return text[: text.index(b'"seconds"')]

    def test_every_subcommand(self):
        values = sample("f4", 5000)
        values[np.isnan(values)] = 1
        plain = npy_bytes(values)
        files = {"x.npy.gz": gzip.compress(plain), "x.npy.zst": zstd(plain), "x.npy.xz": lzma.compress(plain),
                 "x.npy.bz2": bz2.compress(plain), "s.npz": npz(a=values), "d.npz": npz(True, a=values)}
        self.write("x.npy", plain)
        for name, data in files.items():
            self.write(name, data)
        self.write("two.npz", npz(True, other=np.arange(3), a=values))
        for command in self.COMMANDS:
            expected = self.outcome(command, self.path("x.npy"))
            for name in [*files, "two.npz:a"]:
                with self.subTest(command=command, name=name):
                    self.assertEqual(self.outcome(command, self.path(name)), expected)
            for name, data in files.items():
                with self.subTest(command=command, pipe=name):
                    self.assertEqual(self.outcome(command, "-", stdin=data), expected)

    def test_further_inputs(self):
        """Every option that names a file takes the same."""
        rng = np.random.default_rng(3)
        a, b = rng.normal(size=(2, 1000))
        for name, data in {"a.npy": npy_bytes(a), "a.npz": npz(True, a=a), "b.npy": npy_bytes(b), "b.npy.gz": gzip.compress(npy_bytes(b)),
                           "edges.txt": b"0\n1\n2\n", "edges.txt.zst": zstd(b"0\n1\n2\n")}.items():
            self.write(name, data)
        path = self.path
        self.assertEqual(self.ok("dot", path("a.npz"), path("b.npy.gz")), self.ok("dot", path("a.npy"), path("b.npy")))
        for options in [["--weights", path("b.npy")], ["--edges", "@" + path("edges.txt")]]:
            packed = [options[0], options[1].replace("b.npy", "b.npy.gz").replace("edges.txt", "edges.txt.zst")]
            arguments = ["--format", "csv", "--device", "cpu"]
            self.assertEqual(self.ok("histogram", path("a.npz"), *packed, *arguments),
                             self.ok("histogram", path("a.npy"), *options, *arguments))
        joint = ["histogram", "--joint", "--bins", "3", "--format", "csv", "--device", "cpu"]
        self.assertEqual(self.ok(*joint, path("a.npz"), path("b.npy.gz")), self.ok(*joint, path("a.npy"), path("b.npy")))
        for values in ("b.npy", "b.npy.gz"):
            self.ok("sort", path("a.npz"), "--values", path(values), "--values-output", path(values + ".out"), "-o", path("k"))
        with open(path("b.npy.out"), "rb") as one, open(path("b.npy.gz.out"), "rb") as two:
            self.assertEqual(one.read(), two.read())

    def test_text_raw_and_images(self):
        self.assertEqual(self.ok("reduce", self.write("t.csv.gz", gzip.compress(b"x,y\n1,2\n3,4\n")), "--column", "y", "--op", "sum"), b"6\n")
        raw = np.arange(1000, dtype=np.int16).tobytes()
        self.assertEqual(self.ok("reduce", self.write("r.i16.zst", zstd(raw)), "--dtype", "i16", "--op", "sum"), b"499500\n")
        self.assertEqual(self.ok("reduce", self.path("r.i16.zst"), "--dtype", "i16", "--offset", "2", "--count", "3",
                                 "--input-format", "raw", "--op", "sum"), b"6\n")
        picture = bmp24(31, 17, lambda x, y: (x * 5 % 256, y * 11 % 256, x * y % 256))
        expected = self.outcome(["histogram", "--json"], self.write("p.bmp", picture))
        self.assertEqual(self.outcome(["histogram", "--json"], self.write("p.bmp.gz", gzip.compress(picture))), expected)
        self.assertEqual(self.outcome(["histogram", "--json"], "-", stdin=zstd(picture)), expected)

    def test_damage_is_one_line(self):
        plain = npy_bytes(np.arange(100_000) % 977)
        for name, data in {"x.gz": gzip.compress(plain), "x.zst": zstd(plain), "x.xz": lzma.compress(plain), "x.bz2": bz2.compress(plain),
                           "x.npz": npz(a=np.arange(9)), "y.npz": npz(True, a=np.arange(9))}.items():
            for cut in (len(data) // 2, len(data) - 1):
                self.fails(1, "reduce", self.write(name, data[:cut]), says="truncated: the ")
            bad = bytearray(data)
            bad[len(bad) // 2] ^= 0xFF
            self.fails(1, "reduce", self.write(name, bytes(bad)), says=name + ": ")
            self.fails(1, "sort", "-", "-o", self.path("out.npy"), stdin=bytes(bad), says="standard input: ")
            self.assertFalse(os.path.exists(self.path("out.npy")))
        self.fails(1, "reduce", self.write("x.npz", npz(a=np.arange(3), b=np.arange(4))), says="holds 2 arrays (a, b): say which, as in FILE.npz:NAME")
        self.fails(1, "reduce", self.path("x.npz") + ":c", says="has no array c; it has a, b")
        with zipfile.ZipFile(self.path("l.npz"), "w", zipfile.ZIP_LZMA) as file:
            file.writestr("a.npy", plain)
        self.fails(1, "reduce", self.path("l.npz"), says="compressed by method 14")
        self.fails(1, "reduce", self.write("o.npz", npz(a=np.array([{}, None], object))), says="dtype '|O' is not one that masu reads")

    def test_what_only_looks_compressed(self):
        self.fails(1, "reduce", self.write("skipped", np.array([0x184d2a50, 8, 2, 3], "u4").tobytes()), "--dtype", "u32", says="no frame with data (--input-format raw reads the file's own bytes)")
        self.fails(1, "reduce", self.write("gzip", b"\x1f\x8b\x08" + bytes(5)), "--dtype", "u8", says="(--input-format raw reads the file's own bytes)")
        self.write("two.npz", npz(a=np.arange(3), b=np.arange(4)))
        for form in ("raw", "text", "image"):
            self.fails(1, "reduce", self.path("two.npz") + ":a", "--input-format", form, "--dtype", "u8", says="they are npy")

    def test_names_as_numpy_loads_them(self):
        names = ["x", "x.npy", "x.npy.npy", "y.npy", "y", "z.npy", "z.npy"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of two equal names
            with zipfile.ZipFile(self.path("n.npz"), "w") as file:
                for i, name in enumerate(names):
                    file.writestr(name, npy_bytes(np.array([i])))
        with np.load(self.path("n.npz")) as loaded:
            for name in [*names, "z"]:
                self.assertEqual(self.ok("reduce", self.path("n.npz") + ":" + name, "--op", "sum"), b"%d\n" % loaded[name][0], name)

    def test_much_of_little_takes_no_memory(self):
        """2 GiB of zeros in 2 MB of gzip, and a .npy in it, or in a pipe, that promises an exabyte."""
        block = gzip.compress(bytes(1 << 26))
        self.write("bomb.gz", block * 32)
        cases = [(["reduce", "bomb.gz", "--dtype", "u8", "--op", "sum"], 0, b"0\n", b""),
                 (["reduce", "absurd.npy.gz"], 1, b"", b"truncated"), (["sort", "absurd.npy.gz", "-o", "x"], 1, b"", b""),
                 (["quantile", "absurd.npy.gz"], 1, b"", b""), (["unique", "absurd.npy.gz"], 1, b"", b""),
                 (["histogram", "absurd.npy.gz"], 1, b"", b""), (["transpose", "absurd.npy.gz", "--shape", "2,%d" % (1 << 53), "-o", "x"], 1, b"", b"")]
        self.write("absurd.npy.gz", gzip.compress(npy("<f8", (1 << 54,), bytes(32))))
        for arguments, status, out, says in cases:
            with self.subTest(arguments=arguments):
                run = subprocess.run([sys.executable, "-c", PEAK, os.path.abspath(MASU) if "/" in MASU else MASU, *arguments],
                                     cwd=self.folder, capture_output=True, timeout=300, check=False)
                lines = run.stderr.splitlines()
                self.assertEqual((run.returncode, run.stdout), (status, out), run.stderr)
                self.assertEqual(len(lines), 2 if status else 1, lines)
                self.assertIn(says, lines[0] if status else b"")
                self.assertLess(int(lines[-1]), 300_000)  # KiB

    def test_damaged_beside_a_text_with_gaps(self):
        numbers = self.write("y.npy.gz", gzip.compress(npy("<f8", (3,), bytes(24)))[:-8] + bytes(8))
        path = self.write("t.csv", "a,b\n1,2\n3,4\n,5\n")
        self.fails(1, "dot", path, numbers, "--column", "a", "--dtype", "f64", says="gzip")

    def test_tables_cut_short(self):
        """A stream that ends early is an error of every command that reads tables, and nothing is written."""
        text = b"city,price\n" + b"".join(b"%c,%d\n" % (97 + i % 3, i * 7919 % 100003) for i in range(40000))
        commands = [("sum", "--column", "price"), ("sum", "--column", "price", "--dtype", "f64"), ("unique", "--column", "city"),
                    ("sort", "--key", "price", "--lines"), ("reduce", "--group", "city", "--column", "price"),
                    ("topk", "--lines", "--key", "price"), ("histogram", "--column", "price"), ("unique", "--text", "-t", "tab"),
                    ("convert", "--column", "price", "--to", "f32", "-o", self.path("out.npy"))]
        for ending, pack in (("gz", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress)):
            packed = pack(text)
            for size in (len(packed) - 1, len(packed) - 9, len(packed) // 2, 40):
                path = self.write(f"t.csv.{ending}", packed[:size])
                for command, *arguments in commands:
                    for source in (path, "-"):
                        result = masu(command, source, *arguments, stdin=packed[:size])
                        self.assertEqual((result.returncode, result.stdout), (1, b""), (ending, size, command))
                        self.assertFalse(os.path.exists(self.path("out.npy")))


if __name__ == "__main__":
    unittest.main()
