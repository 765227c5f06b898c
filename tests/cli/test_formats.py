# SPDX-License-Identifier: Apache-2.0
"""JSON lines, HDF5 and FITS as inputs, beside what other programs write and read; formats that masu does not read are named."""

import bz2
import ctypes
import json
import lzma
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import unittest
import zipfile

import numpy as np

from command import MASU, CommandTest, masu


def library(*files):
    for file in files:
        try:
            return ctypes.CDLL(file)
        except OSError:
            pass
    return None


HDF5 = library("libhdf5_serial.so.103", "libhdf5.so.103")
FITS = library("libcfitsio.so.10")


class Hdf5Writer:
    """Datasets, written by libhdf5 itself."""

    def __init__(self, path):
        self.of = {}
        for name, arguments in {"H5Fcreate": "sIhh", "H5Fclose": "h", "H5Screate_simple": "ipp", "H5Screate": "i", "H5Dcreate2": "hshhhhh",
                                "H5Dwrite": "hhhhhp", "H5Gcreate2": "hshhh", "H5Pcreate": "h", "H5Pset_chunk": "hip", "H5Pset_deflate": "hI",
                                "H5Tcopy": "h", "H5Tset_size": "hz", "H5Tenum_create": "h", "H5Tenum_insert": "hsp"}.items():
            function = getattr(HDF5, name)
            function.restype = ctypes.c_int64
            function.argtypes = [{"s": ctypes.c_char_p, "I": ctypes.c_uint, "i": ctypes.c_int, "h": ctypes.c_int64, "p": ctypes.c_void_p,
                                  "z": ctypes.c_size_t}[a] for a in arguments]
        HDF5.H5open()
        self.file = HDF5.H5Fcreate(os.fsencode(path), 2, 0, 0)
        assert self.file >= 0

    @staticmethod
    def known(name):
        return ctypes.c_int64.in_dll(HDF5, name + "_g").value

    def close(self):
        HDF5.H5Fclose(self.file)
        HDF5.H5close()  # what is still open, too

    def group(self, name):
        HDF5.H5Gcreate2(self.file, name.encode(), 0, 0, 0)

    def add(self, name, values, stored, chunk=None):
        """`values` as elements of the type that libhdf5 calls `stored`."""
        values = np.asarray(values)
        sizes = lambda extents: (ctypes.c_uint64 * len(extents))(*extents)
        space = HDF5.H5Screate_simple(values.ndim, sizes(values.shape), None) if values.ndim else HDF5.H5Screate(0)
        how = 0
        if chunk:
            how = HDF5.H5Pcreate(self.known("H5P_CLS_DATASET_CREATE_ID"))
            HDF5.H5Pset_chunk(how, values.ndim, sizes(chunk))
            HDF5.H5Pset_deflate(how, 5)
        dataset = HDF5.H5Dcreate2(self.file, name.encode(), self.known(stored), space, 0, how, 0)
        memory = "H5T_NATIVE_" + {"f4": "FLOAT", "f8": "DOUBLE"}.get(values.dtype.str[1:], values.dtype.name.upper())
        data = np.ascontiguousarray(values)
        assert dataset >= 0 and HDF5.H5Dwrite(dataset, self.known(memory), 0, 0, 0, data.ctypes.data) >= 0

    def add_enumeration(self, name, values, stored):
        """Each value of `values` is a member of the enumeration."""
        kind = HDF5.H5Tenum_create(self.known(stored))
        for i, value in enumerate(values):
            HDF5.H5Tenum_insert(kind, b"of %d" % value, values[i:i + 1].tobytes())
        space = HDF5.H5Screate_simple(1, (ctypes.c_uint64 * 1)(values.size), None)
        dataset = HDF5.H5Dcreate2(self.file, name.encode(), kind, space, 0, 0, 0)
        assert dataset >= 0 and HDF5.H5Dwrite(dataset, kind, 0, 0, 0, values.ctypes.data) >= 0

    def add_texts(self, name):
        text = HDF5.H5Tcopy(self.known("H5T_C_S1"))
        HDF5.H5Tset_size(text, 4)
        HDF5.H5Dcreate2(self.file, name.encode(), text, HDF5.H5Screate(0), 0, 0, 0)


def fits_unit(values=None, head="SIMPLE  =                    T", **cards):
    """A header and its data by FITS 4.0: big-endian, the first axis the one whose elements lie side by side."""
    bits = 8
    data = b""
    shape = ()
    if values is not None:
        big = values.astype(values.dtype.newbyteorder(">"))
        bits = (-1 if values.dtype.kind == "f" else 1) * 8 * values.itemsize
        shape, data = values.shape, big.tobytes()
    lines = [head, f"BITPIX  = {bits:20d}", f"NAXIS   = {len(shape):20d}"]
    lines += [f"{'NAXIS%d' % (i + 1):8s}= {extent:20d}" for i, extent in enumerate(reversed(shape))]
    if head.startswith("XTENSION"):
        lines += [f"PCOUNT  = {0:20d}", f"GCOUNT  = {1:20d}"]
    lines += [f"{name:8s}= {value!r:>20s}" for name, value in cards.items()] + ["END"]
    text = "".join(line.ljust(80) for line in lines).encode()
    return text + b" " * (-len(text) % 2880) + data + bytes(-len(data) % 2880)


EXTENSION = "XTENSION= 'IMAGE   '"


class FormatsTest(CommandTest):
    def values(self, dtype, *arguments, **more):
        return np.frombuffer(self.ok("convert", *arguments, "--to", np.dtype(dtype).name.replace("int", "i").replace("float", "f").replace("ui", "u"),
                                     "-o", "-", **more), dtype)


class JsonTest(FormatsTest):
    def test_what_python_writes(self):
        """Random objects, as a line each, as an array, and indented: the same numbers, whichever way they come."""
        rng = random.Random(5)
        rows = []
        for _ in range(2000):
            row = {"id": rng.randrange(-2**63, 2**63), "name": rng.choice(["a\"b", "ä,\n", "", "x\\"]), "in": {"x": rng.gauss(0, 1e3), "y.z": rng.randrange(9)},
                   "list": [rng.random(), {"deep": rng.randrange(100)}], "none": None, "flag": True}
            keys = list(row)
            rng.shuffle(keys)
            rows.append({key: row[key] for key in keys})
        lines = "\n".join(map(json.dumps, rows)) + "\n"
        files = {"l.jsonl": lines, "a.json": json.dumps(rows), "i.json": json.dumps(rows, indent=2, ensure_ascii=False),
                 "c.ndjson": "\r\n".join(json.dumps(row, separators=(",", ":")) for row in rows)}
        expected = {"id": [row["id"] for row in rows], "in.x": [row["in"]["x"] for row in rows], "in.y.z": [row["in"]["y.z"] for row in rows],
                    "list.0": [row["list"][0] for row in rows], "list.1.deep": [row["list"][1]["deep"] for row in rows]}
        for name, text in files.items():
            for key, values in expected.items():
                with self.subTest(name=name, key=key):
                    out = self.ok("sort", self.write(name, text), "--column", key, "--dtype", "i64" if isinstance(values[0], int) else "f64")
                    self.assertEqual([type(values[0])(line) for line in out.split()], sorted(values))
        self.assertEqual(self.ok("sort", "-", "--column", "id", stdin=lines.encode()), self.ok("sort", self.path("l.jsonl"), "--column", "id"))
        for name, packed in {"l.jsonl.xz": lzma.compress(lines.encode()), "l.jsonl.bz2": bz2.compress(lines.encode())}.items():
            self.assertEqual(self.ok("sort", self.write(name, packed), "--column", "id"), self.ok("sort", self.path("l.jsonl"), "--column", "id"))

    def test_what_is_missing(self):
        # Arrays and objects are texts as they stand in the file; they were all one text.
        nested = ['[1, 2]', '{"b": [3,"\u00e4 \\u00e4"]}', "[1,2]", "[\n1]", "[" + "7," * 40000 + "7]", "[1, 2]"]
        self.write("n.jsonl", "".join('{"k": 1, "a": %s, "b": {"c": %s}}\n' % (text, text) for text in nested))
        for key in ("a", "b.c"):
            found = json.loads(self.ok("unique", self.path("n.jsonl"), "--column", key, "--json"))
            self.assertEqual(dict(zip(found["values"], found["counts"])), {"[1, 2]": 2, nested[1]: 1, "[1,2]": 1, "[\n1]": 1})
            self.assertEqual(found["left_out"]["too_long"], 1)
        found = json.loads(self.ok("reduce", self.path("n.jsonl"), "--group", "a,b", "--column", "k", "--op", "count", "--json"))
        self.assertEqual(found["groups"]["b"][:4], ['{"c": %s}' % text for text in nested[:4]])
        self.write("t.jsonl", '{"a": 1}\n{"b": 2}\n{"a": null}\n{"a": "x"}\n{"a": 5}\n')
        run = masu("reduce", self.path("t.jsonl"), "--column", "a", "--op", "sum")
        self.assertEqual((run.returncode, run.stdout), (0, b"6\n"))
        self.assertIn(b"3 of 5 rows: 2 empty, 1 not a number (line 4: 'x')", run.stderr)
        self.fails(1, "reduce", self.path("t.jsonl"), "--column", "a", "--strict", says="line 2: the entry '' is empty; the key of the JSON is 'a'")
        self.assertEqual(json.loads(self.ok("topk", self.path("t.jsonl"), "--column", "a", "-k", "1", "--json"))["indices"], [4])

    def test_errors_are_one_line(self):
        for text, says in {'{"a":1}\n{"a":1': "truncated: the file ends inside the object that begins in line 2", '{"a":1}\n{"a":1,}\n': "line 2: is no JSON",
                           '{"a":1,"b":2}\n': "the keys a, b: say which, as in --column NAME", "[" + '{"a":[' * 600: "nested deeper than 512"}.items():
            self.fails(1, "sort", self.write("t.jsonl", text), "-o", self.path("out.npy"), says=says)
            self.fails(1, "sort", "-", "-o", self.path("out.npy"), stdin=text.encode(), says=says)
        self.fails(1, "reduce", self.path("t.jsonl"), "--column", "x", says="nested deeper")
        self.fails(1, "reduce", self.write("t.jsonl", '{"a":1,"b":2}\n'), "--column", "x", says="no object has the key 'x'; the first one has a, b")
        self.assertFalse(os.path.exists(self.path("out.npy")))


class Hdf5Test(FormatsTest):
    def written(self):
        rng = np.random.default_rng(3)
        whole = {"/i1": rng.integers(-128, 128, 1000).astype("i1"), "/u2": rng.integers(0, 2**16, (7, 11)).astype("u2"),
                 "/in/i8": rng.integers(-2**63, 2**63, 500), "/in/u4": rng.integers(0, 2**32, (3, 4, 5)).astype("u4"),
                 "/f4": rng.normal(size=(40, 50)).astype("f4"), "/f8": rng.normal(size=999), "/one": np.array(2.5), "/empty": np.zeros((0, 5)),
                 "/chunks": rng.normal(size=(30, 14, 30))}
        stored = {"/i1": "H5T_STD_I8LE", "/u2": "H5T_STD_U16BE", "/in/i8": "H5T_STD_I64BE", "/in/u4": "H5T_STD_U32LE", "/f4": "H5T_IEEE_F32BE",
                  "/f8": "H5T_IEEE_F64LE", "/one": "H5T_IEEE_F64BE", "/empty": "H5T_IEEE_F64LE", "/chunks": "H5T_IEEE_F64BE"}
        chunks = {"/u2": (3, 4), "/chunks": (8, 5, 30)}
        writer = Hdf5Writer(self.path("t.h5"))
        writer.group("/in")
        for name, values in whole.items():
            writer.add(name, values, stored[name], chunks.get(name))
        writer.add_texts("/texts")
        writer.close()
        return whole

    def test_datasets(self):
        if HDF5 is None:
            self.fails(1, "reduce", self.write("t.h5", b"\x89HDF\r\n\x1a\n" + bytes(500)), says="HDF5 needs the library libhdf5_serial.so.103 (Debian: libhdf5-103-1)")
            return
        whole = self.written()
        with open(self.path("t.h5"), "rb") as file:
            packed = lzma.compress(file.read(), preset=0)
        self.write("p.h5.xz", packed)
        for name, values in whole.items():
            with self.subTest(name=name):
                self.ok("sort", self.path("t.h5") + ":" + name, "-o", self.path("o.npy"))
                np.testing.assert_array_equal(np.load(self.path("o.npy")).ravel(), np.sort(values, axis=None))
                if values.ndim:
                    self.ok("convert", self.path("t.h5") + ":" + name, "--to", "f64", "-o", self.path("o.npy"))
                    np.testing.assert_array_equal(np.load(self.path("o.npy")), values.astype("f8"))
                if values.size:
                    self.assertEqual(self.ok("reduce", self.path("p.h5.xz") + ":" + name, "--op", "max"),
                                     self.ok("reduce", self.path("t.h5") + ":" + name, "--op", "max"))
        head = self.ok("histogram", self.path("t.h5") + ":/u2", "--json")
        self.assertEqual(json.loads(head)["dtype"], "u16")
        self.fails(1, "reduce", self.path("t.h5"), says="holds 9 datasets (/chunks, /empty, /f4, /f8, /i1, /in/i8, /in/u4, /one, /u2): say which, as in FILE.h5:/path")
        self.fails(1, "reduce", self.path("t.h5") + ":/texts", says="has no dataset /texts of numbers; it has /chunks, ")
        self.fails(2, "reduce", self.path("t.h5") + ":/f8", "--dtype", "f32", says="the file holds f64, but dtype f32 was asked for")
        writer = Hdf5Writer(self.path("one.h5"))
        writer.add("/only", np.arange(10), "H5T_STD_I16LE")
        writer.close()
        self.assertEqual(self.ok("reduce", self.path("one.h5"), "--op", "sum"), b"45\n")
        with open(self.path("one.h5"), "rb") as file:
            self.assertEqual(self.ok("reduce", "-", "--op", "sum", stdin=file.read()), b"45\n")

    def test_enumerations(self):
        if HDF5 is None:
            self.assertIn("libhdf5-103-1", self.ok("formats").decode())
            return
        for stored, values, dtype in (("H5T_STD_I8LE", np.array([0, 1], "i1"), "u1"), ("H5T_STD_I8LE", np.array([1, 0], "i1"), "u1"),
                                      ("H5T_STD_I8LE", np.array([-1, 1], "i1"), "i1"), ("H5T_STD_I8LE", np.array([0, 1, 2], "i1"), "i1"),
                                      ("H5T_STD_U8LE", np.array([3, 255], "u1"), "u1"), ("H5T_STD_I16BE", np.array([-300, 0], ">i2"), "i2"),
                                      ("H5T_STD_I64LE", np.array([-1, 2**62], "i8"), "i8"), ("H5T_STD_U32LE", np.array([2**32 - 1], "u4"), "u4")):
            with self.subTest(stored=stored, values=values):
                writer = Hdf5Writer(self.path("e.h5"))
                writer.add_enumeration("/e", values, stored)
                writer.close()
                self.ok("sort", self.path("e.h5"), "-o", self.path("o.npy"))
                found = np.load(self.path("o.npy"))
                self.assertEqual((found.dtype, found.tolist()), (np.dtype(dtype), sorted(values.tolist())))

    def test_blocks(self):
        """More than is read at a time, along each axis."""
        if HDF5 is None:
            self.assertIn("libhdf5-103-1", self.ok("formats").decode())
            return
        shapes = {(3_000_000,): (1 << 20,), (3000, 700): None, (2, 1100, 1100): (1, 300, 1100), (2, 2, 2_500_000): None}
        for shape, chunk in shapes.items():
            values = (np.arange(np.prod(shape)) * 2654435761 % 2**32).astype("u4").reshape(shape)
            writer = Hdf5Writer(self.path("b.h5"))
            writer.add("/b", values, "H5T_STD_U64BE", chunk)
            writer.close()
            self.assertEqual(self.ok("convert", self.path("b.h5"), "--to", "u32", "--format", "raw"), values.tobytes(), shape)

    def test_cut_files(self):
        if HDF5 is None:
            self.assertIn("libhdf5-103-1", self.ok("formats").decode())
            return
        writer = Hdf5Writer(self.path("c.h5"))
        writer.add("/only", np.arange(5000), "H5T_STD_I32LE", (100,))
        writer.close()
        with open(self.path("c.h5"), "rb") as file:
            data = file.read()
        for cut in [8, 64, 500, len(data) // 3, len(data) - 200]:
            self.fails(1, "sort", self.write("cut.h5", data[:cut]), "-o", self.path("out.npy"), says="hdf5: ")
        self.assertFalse(os.path.exists(self.path("out.npy")))
        self.fails(1, "reduce", self.write("text.h5", "1\n2\n"), says="is named as an HDF5 file, but is none")
        # A dataset that the library cannot open, as newer ones write them, counts among the others.
        writer = Hdf5Writer(self.path("new.h5"))
        writer.add("/new", np.arange(7, 100), "H5T_STD_I64LE")
        writer.add("/old", np.arange(5), "H5T_STD_I64LE")
        writer.close()
        with open(self.path("new.h5"), "rb") as file:
            data = file.read()
        layout = b"\3\1" + data.index(np.arange(7, 100).tobytes()).to_bytes(8, "little")
        self.assertEqual(data.count(layout), 1)
        self.write("new.h5", data.replace(layout, b"\x7f" + layout[1:]))
        self.fails(1, "sum", self.path("new.h5"), says="holds 2 datasets (/new, /old): say which")
        self.fails(1, "sum", self.path("new.h5") + ":/new", says="hdf5: /new cannot be opened: bad version number")
        self.assertEqual(self.ok("sum", self.path("new.h5") + ":/old"), b"10\n")


class FitsTest(FormatsTest):
    def test_images(self):
        rng = np.random.default_rng(4)
        image = rng.integers(-2**15, 2**15, (21, 17)).astype("i2")
        self.write("one.fits", fits_unit(image))
        if FITS is None:
            self.fails(1, "reduce", self.path("one.fits"), says="FITS needs the library libcfitsio.so.10 (Debian: libcfitsio10)")
            return
        units = [fits_unit(), fits_unit(image, EXTENSION), fits_unit(rng.normal(size=(4, 5, 6)), EXTENSION),
                 fits_unit(image, EXTENSION, BZERO=32768.0, BSCALE=1.0), fits_unit(image, EXTENSION, BZERO=10.0, BSCALE=0.25),
                 fits_unit(rng.integers(0, 256, 1000).astype("u1"), EXTENSION), fits_unit(rng.integers(-2**63, 2**63, 10), EXTENSION),
                 fits_unit(rng.normal(size=7).astype("f4"), EXTENSION)]
        rng = np.random.default_rng(4)
        self.assertTrue((rng.integers(-2**15, 2**15, (21, 17)).astype("i2") == image).all())
        cube = rng.normal(size=(4, 5, 6))
        expected = {1: image, 2: cube, 3: (image.astype("i4") + 32768).astype("u2"), 4: (image * 0.25 + 10).astype("f4"),
                    5: rng.integers(0, 256, 1000).astype("u1"), 6: rng.integers(-2**63, 2**63, 10), 7: rng.normal(size=7).astype("f4")}
        self.write("t.fits", b"".join(units))
        for unit, values in expected.items():
            with self.subTest(unit=unit):
                self.ok("sort", self.path("t.fits") + f":{unit}", "-o", self.path("o.npy"))
                found = np.load(self.path("o.npy"))
                self.assertEqual(found.dtype, values.dtype)
                np.testing.assert_array_equal(found.ravel(), np.sort(values, axis=None))
                self.ok("convert", self.path("t.fits") + f":{unit}", "--to", "f64", "-o", self.path("o.npy"))
                np.testing.assert_array_equal(np.load(self.path("o.npy")), values.astype("f8"))
        self.assertEqual(self.ok("reduce", self.path("one.fits"), "--op", "sum"), b"%d\n" % image.sum(dtype="i8"))
        with open(self.path("one.fits"), "rb") as file:
            data = file.read()
        self.assertEqual(self.ok("reduce", "-", "--op", "sum", stdin=data), b"%d\n" % image.sum(dtype="i8"))
        self.assertEqual(self.ok("reduce", self.write("one.fits.bz2", bz2.compress(data)), "--op", "sum"), b"%d\n" % image.sum(dtype="i8"))
        self.fails(1, "reduce", self.path("t.fits"), says="holds 7 images (1, 2, 3, 4, 5, 6, 7): say which, as in FILE.fits:N")
        self.fails(1, "reduce", self.path("t.fits") + ":0", says="has no image 0 of numbers; it has 1, 2")
        for cut in [100, 2000, 2880, 2880 + 300]:
            self.fails(1, "sort", self.write("cut.fits", data[:cut]), "-o", self.path("out.npy"), says="cut.fits: ")
        self.assertFalse(os.path.exists(self.path("out.npy")))
        self.fails(1, "reduce", self.write("text.fits", "1\n2\n"), says="is named as a FITS file, but is none")

    def test_floats_keep_their_bits(self):
        if FITS is None:
            self.assertIn("libcfitsio10", self.ok("formats").decode())
            return
        for dtype in ("f4", "f8"):
            tiny = np.finfo(dtype).smallest_subnormal
            values = np.array([1.5, np.inf, -np.inf, np.nan, -0.0, tiny, -tiny, 0.0], dtype)
            found = self.values(dtype, self.write("x.fits", fits_unit(values)))
            self.assertEqual(found.tobytes(), values.tobytes())
            found = self.values(dtype, self.write("x.fits", fits_unit(values, BSCALE=2.0, BZERO=1.0)))
            np.testing.assert_array_equal(found, values * 2 + 1)

    def test_scaled_integers(self):
        if FITS is None:
            self.assertIn("libcfitsio10", self.ok("formats").decode())
            return
        for dtype in ("u1", "i2", "i4", "i8"):
            limits = np.iinfo(dtype)
            values = np.array([limits.min, 0, 1, 2, limits.max], dtype)
            half = -128 if dtype == "u1" else -limits.min
            swapped = np.dtype(("i" if dtype == "u1" else "u") + dtype[1])
            with self.subTest(dtype=dtype):
                self.ok("sort", self.write("x.fits", fits_unit(values, BSCALE=1, BZERO=half)), "-o", self.path("o.npy"))
                found = np.load(self.path("o.npy"))
                self.assertEqual((found.dtype, found.tolist()), (swapped, [int(v) + half for v in values]))
                for scale, zero in ((0.5, 0.25), (1.0, 0.5), (-2.0, 0.0)):
                    found = self.values("f8", self.write("x.fits", fits_unit(values, BSCALE=scale, BZERO=zero)))
                    self.assertEqual(found.tolist(), (values * np.float64(scale) + zero).tolist())
        found = self.values("f8", self.write("x.fits", fits_unit(values, BSCALE=0.5, BLANK=2)))
        np.testing.assert_array_equal(found, [-(2.0**62), 0, 0.5, np.nan, 2.0**62])

    def test_missing_values(self):
        image = np.array([1, -99, 3], "i2")
        self.write("b.fits", fits_unit(image, BLANK=-99))
        self.write("f.fits", fits_unit(image, BLANK=-99, BSCALE=0.5))
        if FITS is None:
            self.assertIn("libcfitsio10", self.ok("formats").decode())
            return
        result = masu("reduce", self.path("b.fits"), "--op", "min")
        self.assertEqual((result.returncode, result.stdout), (0, b"-99\n"))
        self.assertIn("b.fits: the file calls -99 no value (BLANK); it is read as any value", result.stderr.decode())
        self.assertEqual(self.ok("sort", self.path("f.fits"), "-o", self.path("o.txt")), b"")
        with open(self.path("o.txt"), encoding="ascii") as file:
            self.assertEqual(file.read(), "0.5\n1.5\nnan\n")


class ForeignTest(FormatsTest):
    def test_formats_are_named(self):
        with zipfile.ZipFile(self.path("b.xlsx"), "w") as book:
            book.writestr("[Content_Types].xml", "<x/>")
        with zipfile.ZipFile(self.path("t.zip"), "w") as archive:
            archive.writestr("t.csv", "1\n2\n")
        sqlite = sqlite3.connect(self.path("t.db"))
        sqlite.execute("create table t (x)")
        sqlite.commit()
        sqlite.close()
        for name, data, says in [
                ("t.parquet", b"PAR1" + bytes(90), "is a Parquet file: duckdb -csv -nullvalue '' -c"), ("t.feather", b"ARROW1\0\0" + bytes(90), "is an Arrow IPC (Feather) file: python3 -c"),
                ("t.arrows", b"\xff" * 4 + b"\x48\3\0\0\x10\0\0\0" + bytes(90), "is an Arrow IPC stream: python3 -c"),
                ("u.txt", "1\n2\n".encode("utf-16"), "is UTF-16 text: iconv -f UTF-16 -t UTF-8 FILE | masu"), ("t.7z", b"7z\xbc\xaf\x27\x1c" + bytes(90), "is a 7z archive: 7z x -so FILE | masu"),
                ("b.xlsx", None, "is an Excel workbook: xlsx2csv FILE | masu"), ("t.zip", None, "unzip -p FILE | masu"), ("t.db", None, "is an SQLite database: sqlite3 -csv")]:
            path = self.path(name) if data is None else self.write(name, data)
            self.fails(1, "reduce", path, says=says)
        self.fails(1, "reduce", self.write("x.csv.xz", "1\n2\n"), says="is named as compressed by xz, but is none")

    def test_the_pipes_work(self):
        """The command that the error names, where what it needs is installed."""
        try:
            import pyarrow  # noqa: F401
            from pyarrow import feather, parquet
        except ImportError:
            self.assertIn("pyarrow.parquet", self.fails(1, "reduce", self.write("t.parquet", b"PAR1" + bytes(90))))
            return
        times = pyarrow.array([1_700_000_000_123_456_000, 1_700_000_000_000_000_000, None], pyarrow.timestamp("ns", tz="UTC"))
        table = pyarrow.table({"x": [1, 2, 39], "s": ["a", None, "b,c"], "t": times, "l": [[1], [], [2, 3]]})
        parquet.write_table(table, self.path("t.parquet"))
        feather.write_feather(table, self.path("t.feather"), compression="uncompressed")
        with pyarrow.OSFile(self.path("t.arrows"), "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
        for name in ["t.parquet", "t.feather", "t.arrows"]:
            says = self.fails(1, "reduce", self.path(name))
            pipes = [says[says.index("python3 -c"):says.index(" | masu ...", says.index("python3 -c"))].replace("python3", sys.executable, 1)]
            if shutil.which("duckdb") and name == "t.parquet":
                pipes.append(says[says.index("duckdb"):says.index(" | masu ...")])
            for pipe in pipes:
                for column, command, expected in [("x", "sum", b"42\n"), ("s", "unique --format csv", b'value,count\na,1\n"b,c",1\n'),
                                                  ("t", "unique --format csv", b"value,count\n2023-11-14T22:13:20.000000Z,1\n2023-11-14T22:13:20.123456Z,1\n")]:
                    done = subprocess.run(["sh", "-c", f"{pipe.replace('FILE', self.path(name)).replace('NAME', column)} | {os.path.abspath(MASU)} {command} --column {column} -t comma"],
                                          capture_output=True, check=True, timeout=100)
                    self.assertEqual(done.stdout, expected)

    def test_the_list(self):
        text = self.ok("formats").decode()
        for name in ["HDF5", "FITS", "JSON lines", "xz", "bzip2", "Zstandard", "PNG"]:
            self.assertIn(name, text)
        rows = json.loads(self.ok("formats", "--json"))
        self.assertEqual([row["name"] for row in rows if row["name"] in ("HDF5", "FITS") and row["missing"]],
                         [name for name, there in (("HDF5", HDF5), ("FITS", FITS)) if there is None])
        self.assertEqual(self.ok("help", "formats").decode(), text)


if __name__ == "__main__":
    unittest.main()
