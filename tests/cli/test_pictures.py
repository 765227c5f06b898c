# SPDX-License-Identifier: Apache-2.0
"""What the command says of pictures beyond their numbers, and which channels it takes."""

import gzip
import json
import os
import struct
import unittest
import zipfile
import zlib

import numpy as np

from command import CommandTest, masu, npy

BIT = "values are 0 to 1 as stored, not scaled to 255"
MORE = "read the first image only, another one follows"
LEFT_OUT = "alpha is left out (--alpha reads it)"


def png(width, height, depth, colour, rows, *chunks):
    """A PNG; `rows` with a filter byte before each, `chunks` of name and data before the pixels."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunk(*each) for each in chunks) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def bmp(width, height, bits, compression, palette, pixels):
    """A BMP of a palette of 4 bytes a colour."""
    start = 54 + len(palette)
    return (b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) +
            struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, len(pixels), 0, 0, len(palette) // 4, 0) +
            palette + pixels)


def tiff(samples, *tags):
    """A little-endian TIFF of one row of bytes; `tags` are numbers, types, counts and values of further fields."""
    entries = {256: (4, 1, len(samples)), 257: (4, 1, 1), 258: (3, 1, 8), 259: (3, 1, 1), 262: (3, 1, 1), 273: (4, 1, 8),
               277: (3, 1, 1), 278: (4, 1, 1), 279: (4, 1, len(samples))}
    entries.update({tag: rest for tag, *rest in tags})
    start = 8 + len(samples) + len(samples) % 2
    body = b"".join(struct.pack("<HHII", tag, *entries[tag]) for tag in sorted(entries))
    return (b"II*\0" + struct.pack("<I", start) + samples + b"\0" * (len(samples) % 2) +
            struct.pack("<H", len(entries)) + body + struct.pack("<I", 0))


BLACK_WHITE = b"\0\0\0\0\xff\xff\xff\0"
RGBA = png(2, 1, 8, 6, b"\0" + bytes([10, 20, 30, 255, 40, 50, 60, 0]))


class Pictures(CommandTest):
    def says(self, *arguments, **more):
        """The notes of a command that succeeds, without its name and the input's."""
        result = masu(*arguments, **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [line.split(": ", 2)[2] for line in result.stderr.decode().splitlines()]

    def test_one_bit_is_the_same_in_every_format(self):
        pictures = {
            "a.bmp": bmp(5, 1, 1, 0, BLACK_WHITE, b"\xa8\0\0\0"),
            "a.png": png(5, 1, 1, 0, b"\0\xa8"),
            "a.tif": tiff(b"\xa8", (256, 4, 1, 5), (258, 3, 1, 1)),
        }
        for name, data in pictures.items():
            path = self.write(name, data)
            counts = self.json(path)["counts"]
            self.assertEqual(counts, [2, 3] + [0] * 254, name)
            self.assertEqual(self.says("reduce", path), [BIT], name)
            self.assertIn(b"5 x 1 pixels, values 0 to 1, 256 bins", self.ok("hist", path))
            self.assertEqual(json.loads(self.ok("hist", path, "--json"))["notes"], [BIT])

    def test_each_note_is_said_once_by_every_command(self):
        data = b"P5 2 1 15\n\1\2P5 1 1 15\n\1"
        path = self.write("a.pgm", data)
        notes = ["values are 0 to 15 as stored, not scaled to 255", MORE]
        other = self.write("weights.npy", npy("<f8", (2,), struct.pack("<2d", 1, 2)))
        for arguments in (["reduce"], ["quantile"], ["unique"], ["topk", "-k", "1"], ["sort", "-o", self.path("s.npy")],
                          ["sort", "--is-sorted"], ["scan", "-o", self.path("s.npy")], ["hist"], ["hist", "--rows", "2"],
                          ["hist", "--weights", other], ["hist", "--joint", "--bins", "4"],
                          ["convert", "--to", "f32", "-o", self.path("s.npy")], ["transpose", "-o", self.path("s.npy")]):
            command, *more = arguments
            self.assertEqual(self.says(command, path, *more), notes, arguments)
            self.assertEqual(self.says(command, path, *more, "--quiet"), [], arguments)
            self.assertEqual(self.says(command, "-", *more, stdin=data), notes, arguments)
            if command not in ("sort", "scan", "convert", "transpose") or "-o" in more:
                self.assertEqual(json.loads(self.ok(command, path, *more, "--json"))["notes"], notes, arguments)
        plain = self.write("b.pgm", b"P5 2 1 255\n\1\2")
        self.assertEqual(self.says("dot", path, plain), notes)
        named = [f"{path}: {note}" for note in notes]
        self.assertEqual(json.loads(self.ok("dot", plain, path, "--json"))["notes"], named)
        self.assertEqual(self.json(plain, path, "--joint", "--bins", "4")["notes"], named)
        self.assertEqual(self.says("hist", other, "--weights", path), named)
        self.assertNotIn("notes", self.json(plain))
        keys = self.write("k.npy", npy("|u1", (2,), b"\2\1"))
        self.assertEqual(self.says("sort", keys, "-o", self.path("k.npy"), "--values", path, "--values-output",
                                   self.path("v.npy")), notes)

    def test_alpha_is_left_out_unless_asked_for(self):
        path = self.write("a.png", RGBA)
        for command, more, without, with_alpha in [
                ("reduce", ["--op", "sum,argmax"], b"sum     210\nargmax  5\n", b"sum     465\nargmax  3\n"),
                ("quantile", ["-q", "0.5,1"], None, None),
                ("unique", ["--json"], None, None),
                ("topk", ["-k", "1", "--index"], b"index\n    5\n", b"index\n    3\n")]:
            if without is not None:
                self.assertEqual(self.ok(command, path, *more), without, command)
                self.assertEqual(self.ok(command, path, *more, "--alpha"), with_alpha, command)
            self.assertEqual(self.says(command, path, *more), [LEFT_OUT])
            self.assertEqual(self.says(command, path, *more, "--alpha"), [])
            self.assertIn(LEFT_OUT.encode(), masu(command, path, *more, "--verify").stderr)
        self.assertEqual(json.loads(self.ok("quantile", path, "-q", "0,0.5,1", "--json"))["values"], [10, 35, 60])
        self.assertEqual(json.loads(self.ok("unique", path, "--json"))["values"], [10, 20, 30, 40, 50, 60])
        self.assertEqual(self.ok("sort", path), bytes([10, 20, 30, 40, 50, 60]))
        self.assertEqual(self.ok("sort", path, "--alpha"), bytes([0, 10, 20, 30, 40, 50, 60, 255]))
        self.assertEqual(self.ok("dot", path, path), b"9100\n")
        self.assertEqual(self.ok("reduce", path, "--rows", "2", "--op", "sum"), b"60\n150\n")
        self.assertEqual(self.ok("reduce", "-", "--op", "sum", stdin=RGBA), b"210\n")
        # As places and as channels, all stay.
        self.assertEqual(self.json(path)["channels"][3]["name"], "alpha")
        self.assertEqual(self.says("hist", path, "--channels", "1"), ["alpha is counted with the other channels"])
        self.assertEqual(self.says("hist", path), [])
        self.assertEqual(self.ok("convert", path, "--to", "u8", "-o", "-"), bytes([10, 20, 30, 255, 40, 50, 60, 0]))
        keyed = self.write("k.png", png(3, 1, 8, 0, b"\0\1\2\3", (b"tRNS", b"\0\2")))
        self.assertEqual(json.loads(self.ok("reduce", keyed, "--json"))["n"], 3)
        self.assertEqual(self.ok("reduce", keyed, "--op", "sum"), b"6\n")
        deep = self.write("d.png", png(2, 1, 16, 0, b"\0\1\0\0\5", (b"tRNS", b"\1\0")))
        self.assertEqual(self.ok("reduce", deep, "--op", "sum,max"), b"sum  261\nmax  256\n")
        gray = self.write("la.pam", b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n\7\xff")
        self.assertEqual(self.ok("reduce", gray, "--op", "sum"), b"7\n")
        self.assertEqual(self.says("reduce", self.write("g.png", png(1, 1, 8, 0, b"\0\1"))), [])

    def test_what_a_tiff_says_of_its_samples(self):
        white = self.write("w.tif", tiff(b"\0\x0a\xfa\xff", (262, 3, 1, 0)))
        self.assertEqual(self.ok("sort", white), b"\0\x0a\xfa\xff")
        self.assertEqual(self.says("reduce", white), ["0 is white (WhiteIsZero), as stored"])
        turned = self.write("o.tif", tiff(b"\1\2", (274, 3, 1, 4)))
        self.assertEqual(self.says("hist", turned, "--rows", "2"),
                         ["rows are read as stored; orientation 4 of the file asks viewers to turn or mirror them"])
        missing = self.write("n.tif", tiff(b"\1\2", (42113, 2, 4, 0x00353532)))
        self.assertEqual(self.says("reduce", missing), ["the file calls 255 no data (GDAL_NODATA); it is read as any value"])

    def test_png_palettes(self):
        bad = self.write("p.png", png(4, 1, 2, 3, b"\0\x1b", (b"PLTE", bytes(range(9)))))
        self.fails(1, "reduce", bad, says="p.png: png: a pixel has palette index 3, but there are 3")
        good = self.write("g.png", png(3, 1, 2, 3, b"\0\x1b", (b"PLTE", bytes(range(9)))))
        self.assertEqual(self.ok("sort", good), bytes(range(9)))

    def test_run_lengths_end_with_the_row(self):
        path = self.write("r.bmp", bmp(3, 1, 8, 1, b"\1\1\1\0\2\2\2\0", b"\4\1\0\0\0\1"))
        self.assertEqual(self.ok("convert", path, "--to", "u8", "-o", "-"), b"\2\2\2")

    def test_portable_floats(self):
        lower, upper = [1.5, -2.0], [3.0, 1e-40]
        data = {"<": b"Pf\n2 2\n-1.0\n", ">": b"Pf 2 2 1.0\n"}
        for order, head in data.items():
            path = self.write("a.pfm", head + struct.pack(order + "4f", *lower, *upper))
            self.assertEqual(self.ok("convert", path, "--to", "f32", "-o", "-"), struct.pack("<4f", *upper, *lower))
            self.assertEqual(self.ok("reduce", path, "--rows", "2", "--op", "min"), b"1e-40\n-2\n")
        scaled = b"PF 1 1 -2\n" + struct.pack("<3f", 1, 2, 3)
        self.assertEqual(self.ok("reduce", "-", "--op", "sum", stdin=scaled), b"6\n")
        self.assertEqual(self.says("reduce", "-", stdin=scaled), ["values are as stored, not multiplied by the scale 2"])
        self.fails(1, "reduce", self.write("c.pfm", b"Pf 2 2 -1\nabc"), says="c.pfm: truncated")
        self.fails(1, "reduce", self.write("t.pfm", b"Pf x 2 -1\nabc"), says="t.pfm: is named as an image")
        self.assertEqual(self.ok("reduce", "-", "--op", "sum", "--quiet", stdin=b"PF\n1\n2\n3\n"), b"6\n")


class Arrays(CommandTest):
    def test_booleans(self):
        stored = bytes([0, 1, 2, 255, 0, 3])
        path = self.write("b.npy", npy("|b1", (6,), stored))
        self.assertEqual(self.ok("reduce", path, "--op", "sum,max,count-nonzero"), b"sum            4\nmax            1\ncount-nonzero  4\n")
        self.assertEqual(json.loads(self.ok("unique", path, "--json"))["counts"], [2, 4])
        self.assertEqual(self.ok("convert", path, "--to", "u8", "-o", "-"), bytes([0, 1, 1, 1, 0, 1]))
        self.assertEqual(self.ok("reduce", "-", "--op", "sum", stdin=npy("|b1", (6,), stored)), b"4\n")
        raw = self.write("b.raw", stored)
        self.assertEqual(self.ok("reduce", raw, "--dtype", "bool", "--op", "sum"), b"4\n")
        self.assertEqual(self.ok("reduce", raw, "--dtype", "u8", "--op", "sum"), b"261\n")
        # The weights have a dtype of their own; where bool was another name of u8, the answer was that of numbers.
        for values, weights, total in (("u8", "bool", 4), ("bool", "u8", 261)):
            found = self.ok("histogram", raw, "--dtype", values, "--weights", raw, "--weights-dtype", weights, "--edges", "0,256", "--format", "csv")
            self.assertEqual(found, b"lo,hi,total\n0,256,%d\n" % total)
        self.fails(2, "convert", path, "--to", "bool", says="--to takes u8, ")
        self.fails(2, "sum", "-", "--dtype", "bool", stdin=b"5\n0\n", says="bool is a dtype of raw data")
        self.fails(2, "sum", "random:bool:5", says="DTYPE must be one of numbers, got bool")

    def test_dtypes_as_numpy_takes_them(self):
        data = struct.pack("<2f", 1.5, 2)
        for descr in ("f4", "float32", "|f4", "=f4", "<f", "single"):
            self.assertEqual(self.ok("reduce", self.write("a.npy", npy(descr, (2,), data)), "--op", "sum"), b"3.5\n", descr)
        self.fails(1, "reduce", self.write("a.npy", npy("<float32", (2,), data)), says="dtype '<float32'")

    def test_members_without_an_ending(self):
        array, other = npy("<i4", (2,), struct.pack("<2i", 3, 4)), npy("<i4", (1,), struct.pack("<i", 5))
        one, two = self.path("one.npz"), self.path("two.npz")
        with zipfile.ZipFile(one, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("a", array)
            file.writestr("readme", "no array")
        with zipfile.ZipFile(two, "w") as file:
            file.writestr("a", array)
            file.writestr("b.npy", other)
        self.assertEqual(self.ok("reduce", one, "--op", "sum"), b"7\n")
        self.assertEqual(self.ok("reduce", two + ":a", "--op", "sum"), b"7\n")
        self.fails(1, "reduce", two, says="holds 2 arrays (b, a): say which, as in FILE.npz:NAME")
        with open(two, "rb") as file:
            data = file.read()
        self.fails(1, "reduce", "-", stdin=data, says="holds 2 arrays (b, a): save it to a file, of which FILE.npz:NAME is")
        packed = self.write("two.npz.gz", gzip.compress(data))
        self.assertEqual(self.ok("reduce", packed + ":b", "--op", "sum"), b"5\n")



def evened(values, bins):
    """Samples after equalization, by the definition of equalization_map()."""
    counts = np.bincount(values.ravel(), minlength=bins).astype(object)
    sums, n, least = np.cumsum(counts), values.size, next(count for count in counts if count)
    if n == least:
        return np.zeros_like(values, np.uint8)
    return ((2 * np.maximum(sums - least, 0) * 255 + n - least) // (2 * (n - least)))[values].astype(np.uint8)


class MappedPictures(CommandTest):
    """histogram --equalize or --otsu with -o FILE.png, .pgm, .ppm or .pnm."""

    def samples(self, name):
        """Those of a PNM, read here; of a PNG, read by masu."""
        if name.endswith(".png"):
            self.ok("convert", self.path(name), "--to", "u8", "-o", self.path("read.npy"))
            return np.load(self.path("read.npy"))
        with open(self.path(name), "rb") as file:
            kind, size, most, data = file.read().split(b"\n", 3)
        self.assertEqual(most, b"255")
        width, height = map(int, size.split())
        return np.frombuffer(data, np.uint8).reshape((height, width) + {b"P5": (1,), b"P6": (3,)}[kind])

    def mapped(self, expected, *arguments, **more):
        ending = ".ppm" if expected.shape[2] == 3 else ".pgm"
        for name in ["m.png", "m" + ending, "m.pnm"]:
            self.assertEqual(self.ok("histogram", *arguments, "-o", self.path(name), **more), b"")
            found = self.samples(name)
            np.testing.assert_array_equal(found.reshape(expected.shape), expected, str(arguments))
        with open(self.path("m.pnm"), "rb") as file:
            self.assertEqual(self.ok("histogram", *arguments, "--format", "pnm", **more), file.read())

    def test_equalized(self):
        random = np.random.default_rng(5)
        for height, width, channels in [(1, 1, 1), (2, 1, 3), (31, 67, 1), (67, 31, 3)]:
            image = (random.normal(90, 20, (height, width, channels)) + [[[0, 30, 60][:channels]]]).astype(np.uint8)
            expected = np.stack([evened(image[:, :, i], 256) for i in range(channels)], axis=2)
            data = b"P%d %d %d 255\n" % (6 if channels == 3 else 5, width, height) + image.tobytes()
            path = self.write("i.pnm", data)
            self.mapped(expected, path, "--equalize")
            self.mapped(expected, "-", "--equalize", stdin=data)
            self.mapped(expected, path, "--equalize", "--memory", "1Mi", "--verify")
        self.mapped(evened(image[5:9, 3:20, 0], 256)[:, :, None], self.save_npy("a.npy", image[:, :, 0].copy()), "--equalize", "--region", "3,5,17,4")
        self.mapped(expected, self.save_npy("a.npy", image), "--equalize", "--channels", "3")
        wide = random.integers(0, 65536, (40, 30)).astype(np.uint16)
        wide[:, :3] = [0, 65535, 7]
        self.mapped(evened(wide, 65536)[:, :, None], self.write("w.pgm", b"P5 30 40 65535\n" + wide.astype(">u2").tobytes()), "--equalize")

    def test_alpha_is_left_out(self):
        pixels = np.random.default_rng(6).integers(0, 256, (5, 7, 4)).astype(np.uint8)
        path = self.write("a.png", png(7, 5, 8, 6, b"".join(b"\0" + row.tobytes() for row in pixels)))
        self.mapped(np.stack([evened(pixels[:, :, i], 256) for i in range(3)], axis=2), path, "--equalize")
        said = masu("histogram", path, "--otsu", "-o", self.path("o.png")).stderr.decode()
        self.assertTrue(said.endswith(": alpha is left out\n"), said)

    def test_floats_and_given_bins(self):
        values = np.random.default_rng(7).normal(size=(20, 30)).astype(np.float32)
        values[0, :5] = [np.nan, np.inf, -np.inf, 4, -4]
        path = self.save_npy("f.npy", values)
        for more in [["--range=-3:3"], ["--range=-2:2", "--bins", "9"], ["--edges=-1,0,0.5,1"], ["--range=-4:4", "--bins", "16", "--right-open"], []]:
            asked = more if "--bins" in more or "--edges=-1,0,0.5,1" in more else more + ["--bins", "65536"]
            told = self.json(path, *asked, "--equalize", "--otsu")
            edges, levels = np.array(told["edges"]), np.array(told["levels"])
            at = np.clip(np.searchsorted(edges, values.astype(float), "right"), 1, levels.size) - 1
            below = ~(values >= edges[0])
            above = (values >= edges[-1]) if "--right-open" in more else values > edges[-1]
            expected = np.where(below, 0, np.where(above, 255, levels[at]))
            self.mapped(expected[:, :, None].astype(np.uint8), path, *more, "--equalize")
            self.mapped(np.where(values >= told["otsu"], 255, 0)[:, :, None].astype(np.uint8), path, *more, "--otsu")

    def test_parted(self):
        image = np.array([[3, 4, 200], [3, 9, 250]], np.uint8)
        path = self.write("i.pgm", b"P5 3 2 255\n" + image.tobytes())
        self.mapped(np.where(image >= 10, 255, 0)[:, :, None].astype(np.uint8), path, "--otsu")
        flat = self.write("f.pgm", b"P5 2 1 255\n\7\7")
        self.assertFalse(os.path.exists(self.path("none.png")))
        self.fails(1, "histogram", flat, "--otsu", "-o", self.path("none.png"), says="parts two bins with counts")
        self.assertFalse(os.path.exists(self.path("none.png")))
        self.mapped(np.zeros((1, 2, 1), np.uint8), flat, "--equalize")

    def test_what_is_none(self):
        path = self.write("i.pgm", b"P5 3 2 255\n123456")
        out = ["-o", self.path("o.png")]
        self.fails(2, "histogram", path, *out, says="is made by --equalize or by --otsu; --plot draws the histogram")
        self.fails(2, "histogram", path, *out, "--equalize", "--otsu", says="is made by --equalize or by --otsu")
        self.fails(2, "histogram", path, path, *out, "--equalize", says="one input")
        self.fails(2, "histogram", path, *out, "--equalize", "--json", says="only .txt .json .csv .tsv .npy; got")
        self.fails(2, "histogram", path, *out, "--otsu", "--rows", "2", says="without --joint, --rows")
        self.fails(2, "histogram", path, *out, "--otsu", "--percent", says="goes without --density")
        self.fails(2, "histogram", path, "-o", self.path("o.tiff"), "--equalize", says=".png .pnm .pgm .ppm; got")
        self.fails(2, "histogram", self.save_npy("c.npy", np.zeros((3, 2, 2), np.uint8)), *out, "--equalize", "--channels", "2", says="has 1 or 3 channels")
        self.fails(2, "histogram", self.save_npy("c.npy", np.zeros((3, 2, 3), np.uint8)), *out, "--equalize", says="--channels 3")
        self.fails(2, "histogram", self.save_npy("l.npy", np.zeros((3, 2), np.int64)), *out, "--equalize", says="integers of at most 32 bits")
        for name in [self.write("t.txt", "1 2\n3 4\n"), "iota:u8:9", self.save_npy("1.npy", np.zeros(3, np.uint8)), self.save_npy("0.npy", np.zeros((0, 3), np.uint8))]:
            self.fails(2, "histogram", name, *out, "--equalize", says="a picture needs an image")
        self.assertFalse(os.path.exists(self.path("o.png")))


if __name__ == "__main__":
    unittest.main()
