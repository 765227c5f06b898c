# SPDX-License-Identifier: Apache-2.0
"""Rows, joint histograms, regions: against plain Python, whole and in small pieces."""

import bisect
import json
import os
import struct
import subprocess
import unittest

from command import MASU, CommandTest, bmp24, masu, npy, pgm16

SMALL = (None, "1", "100", "1Mi")


def raw(form, values):
    return struct.pack(f"<{len(values)}{form}", *values)


def bin_of(x, edges):
    """The bin of x, or None outside; the last bin holds its upper edge."""
    if not edges[0] <= x <= edges[-1]:
        return None
    return min(bisect.bisect_right(edges, x), len(edges) - 1) - 1


def pseudo(count, limit, seed=1):
    values, state = [], seed
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        values.append((state >> 33) % limit)
    return values


class Same(CommandTest):
    def in_pieces(self, *arguments, **more):
        """The result, which must be the same for every --memory, verified each time."""
        first = None
        for memory in SMALL:
            limit = ["--memory", memory] if memory else []
            result = masu("histogram", *arguments, "--json", "--verify", *limit, **more)
            self.assertEqual(result.returncode, 0, (memory, result.stderr))
            self.assertIn(b"verified: ", result.stderr)
            found = json.loads(result.stdout)
            del found["seconds"], found["strategy"], found["device"]
            first = first or found
            self.assertEqual(found, first, memory)
        return first


class Rows(Same):
    def test_bytes(self):
        data = pseudo(600, 7)
        found = self.in_pieces(self.write("a", bytes(data)), "--dtype", "u8", "--rows", "12", "--integers", "6")
        rows = [data[i * 50:(i + 1) * 50] for i in range(12)]
        self.assertEqual(found["counts"], [[row.count(v) for v in range(6)] for row in rows])
        self.assertEqual(found["above"], [row.count(6) for row in rows])
        self.assertEqual((found["below"], found["nan"], found["n"]), ([0] * 12, [0] * 12, 600))
        self.assertEqual(found["edges"], list(range(7)))

    def test_floats_with_outsiders(self):
        data = self.write("a", raw("f", [0, 1, float("nan"), -1, 2, 2, 9, 0.5]))
        found = self.in_pieces(data, "--dtype", "f32", "--rows", "2", "--edges", "0,1,2")
        self.assertEqual((found["counts"], found["below"]), ([[1, 1], [1, 2]], [1, 0]))
        self.assertEqual((found["above"], found["nan"]), ([0, 1], [1, 0]))
        found = self.in_pieces(data, "--dtype", "f32", "--rows", "2", "--edges", "0,1,2", "--outside", "clamp",
                               "--right-open")
        self.assertEqual((found["counts"], found["nan"]), ([[2, 1], [1, 3]], [1, 0]))

    def test_channels(self):
        data = pseudo(240, 5)
        found = self.in_pieces(self.write("a", bytes(data)), "--dtype", "u8", "--rows", "4", "--channels", "3",
                               "--integers", "5")
        self.assertEqual([channel["name"] for channel in found["channels"]], ["0", "1", "2"])
        for c, channel in enumerate(found["channels"]):
            rows = [data[i * 60 + c:(i + 1) * 60:3] for i in range(4)]
            self.assertEqual(channel["counts"], [[row.count(v) for v in range(5)] for row in rows])
            self.assertEqual((channel["n"], channel["nan"]), (80, [0] * 4))

    def test_bins_of_the_data_are_those_of_all_of_it(self):
        found = self.in_pieces("iota:u32:100", "--rows", "4", "--bins", "4")
        self.assertEqual(found["counts"], [[25, 0, 0, 0], [0, 25, 0, 0], [0, 0, 25, 0], [0, 0, 0, 25]])
        self.assertEqual(found["edges"], [0, 24.75, 49.5, 74.25, 99])
        found = self.in_pieces(self.write("a", raw("d", [])), "--dtype", "f64", "--rows", "3", "--bins", "2")
        self.assertEqual((found["counts"], found["n"]), ([[0, 0]] * 3, 0))

    def test_a_stream_of_unknown_length(self):
        text = "\n".join(map(str, range(3000))).encode()
        for options in (["--integers", "3000"], ["--bins", "3000"], ["--bins", "sqrt"]):
            extra = ["--dtype", "i32"] if options[0] == "--integers" else []
            found = self.in_pieces("-", "--rows", "3", *options, *extra, "--tmpdir", self.folder, stdin=text)
            self.assertEqual([sum(row) for row in found["counts"]], [1000] * 3)
            self.assertEqual(sum(found["counts"][0][:len(found["counts"][0]) // 3 + 1]), 1000)
        self.assertEqual(os.listdir(self.folder), [])

    def test_image(self):
        image = self.write("a.bmp", bmp24(4, 3, lambda x, y: (y, x, 9)))
        found = self.in_pieces(image, "--rows", "3", "--integers", "10")
        red, green, blue = (channel["counts"] for channel in found["channels"])
        self.assertEqual([row.index(4) for row in red], [0, 1, 2])
        self.assertEqual(green, [[1, 1, 1, 1, 0, 0, 0, 0, 0, 0]] * 3)
        self.assertEqual([row[9] for row in blue], [4, 4, 4])

    def test_forms(self):
        arguments = ["histogram", "iota:u8:6", "--rows", "2", "--edges", "0,2,9"]
        text = self.ok(*arguments, "--format", "csv", "--cumulative", "--density").decode()
        self.assertEqual(text, "row,lo,hi,count,density,cumulative\n0,0,2,2,0.3333333333333333,2\n"
                               "0,2,9,1,0.047619047619047616,3\n1,0,2,0,0,0\n1,2,9,3,0.14285714285714285,3\n")
        text = self.ok(*arguments, "--channels", "3", "--format", "csv").decode().splitlines()
        self.assertEqual(text[:3], ["row,channel,lo,hi,count", "0,0,0,2,1", "0,0,2,9,0"])
        found = self.json(*arguments[1:], "--cumulative", "--density")
        self.assertEqual(found["cumulative"], [[2, 3], [0, 3]])
        self.assertEqual(found["density"], [[1 / 3, 1 / 21], [0, 1 / 7]])
        data = self.ok(*arguments, "--format", "npy")
        self.assertIn(b"(2, 2)", data)
        self.assertEqual(struct.unpack("<4Q", data[-32:]), (2, 1, 0, 3))
        data = self.ok(*arguments, "--format", "npy", "--channels", "3")
        self.assertIn(b"(2, 3, 2)", data)
        data = self.ok(*arguments, "--format", "npy", "--density")
        self.assertEqual(struct.unpack("<4d", data[-32:]), (1 / 3, 1 / 21, 0, 1 / 7))
        data = self.ok(*arguments, "--format", "npy", "--cumulative")
        self.assertEqual(struct.unpack("<4Q", data[-32:]), (2, 3, 0, 3))

    def test_table(self):
        for environment in ({"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C"}):
            text = self.ok("histogram", "random:u8:6400:dist=zipf", "--rows", "64",
                           env={**environment, "COLUMNS": "80"}).decode()
            self.assertLessEqual(max(map(len, text.splitlines())), 80)
            self.assertIn("64 rows, 256 bins, 4 in each column", text)
            self.assertIn("24 more rows", text)
            self.assertEqual(text.isascii(), environment["LC_ALL"] == "C")
        text = self.ok("histogram", "iota:u8:4", "--rows", "2", "--integers", "4", env={"LC_ALL": "C"}).decode()
        self.assertIn("\n0  @@\n1    @@\n", text)


class Joint(Same):
    def expected(self, columns, edges):
        shape = [len(e) - 1 for e in edges]
        counts, outside, nan = {}, 0, 0
        for point in zip(*columns):
            if any(x != x for x in point):
                nan += 1
                continue
            cell = tuple(map(bin_of, point, edges))
            if None in cell:
                outside += 1
            else:
                counts[cell] = counts.get(cell, 0) + 1

        def nested(prefix):
            if len(prefix) == len(shape):
                return counts.get(tuple(prefix), 0)
            return [nested(prefix + [i]) for i in range(shape[len(prefix)])]
        return nested([]), outside, nan

    def check(self, found, columns, edges):
        counts, outside, nan = self.expected(columns, edges)
        self.assertEqual((found["counts"], found["outside"], found["nan"]), (counts, outside, nan))
        self.assertEqual(found["edges"], edges)
        self.assertEqual(found["n"], len(columns[0]))
        self.assertEqual(list(found), ["n", "dtype", "outside", "nan", "edges", "counts"])

    def test_several_inputs(self):
        x = [v / 8 for v in pseudo(500, 30)] + [float("nan"), 1.0, 99.0]
        y = [v / 4 - 5 for v in pseudo(500, 41, 2)] + [0.0, float("nan"), 0.0]
        files = [self.write("x", raw("d", x)), self.write("y", raw("d", y))]
        found = self.in_pieces(*files, "--dtype", "f64", "--joint", "--edges", "0,1,2.5,3;-4,0,0,5")
        self.check(found, [x, y], [[0, 1, 2.5, 3], [-4, 0, 0, 5]])
        found = self.in_pieces(*files, "--dtype", "f64", "--joint", "--bins", "2;", "--range", "0:3;",
                               "--edges", ";-4,0,5")
        self.check(found, [x, y], [[0, 1.5, 3], [-4, 0, 5]])

    def test_interleaved(self):
        data = pseudo(600, 9)
        columns = [data[0::3], data[1::3], data[2::3]]
        file = self.write("a", bytes(data))
        found = self.in_pieces(file, "--dtype", "u8", "--channels", "3", "--joint", "--edges", "0,2,9;0,5;1,2,3,4")
        self.check(found, columns, [[0, 2, 9], [0, 5], [1, 2, 3, 4]])

    def test_array_of_points(self):
        data = [v / 2 for v in pseudo(300, 9)]
        edges = [[0, 1, 2, 3], [0.0, 4.5]]
        options = ["--joint", "--edges", "0,1,2,3;0,4.5"]
        c_order = npy("<f4", (150, 2), raw("f", data))
        found = self.in_pieces(self.write("c.npy", c_order), *options)
        self.check(found, [data[0::2], data[1::2]], edges)
        columns = raw("f", data[0::2] + data[1::2])
        fortran = npy("<f4", (150, 2), columns).replace(b"'fortran_order': False", b"'fortran_order': True ")
        self.check(self.in_pieces(self.write("f.npy", fortran), *options), [data[0::2], data[1::2]], edges)
        self.fails(2, "histogram", "-", *options, stdin=fortran, says="Fortran")
        found = self.in_pieces("-", *options, "--tmpdir", self.folder, stdin=c_order)
        self.check(found, [data[0::2], data[1::2]], edges)
        one = npy("<f4", (300,), raw("f", data))
        self.check(self.in_pieces(self.write("o.npy", one), "--joint", "--edges", "0,1,3"), [data], [[0, 1, 3]])
        wide = npy("<f4", (2, 150), raw("f", data))
        self.fails(2, "histogram", self.write("w.npy", wide), "--joint", says="1 to 8 columns")

    def test_columns_of_a_table(self):
        table = self.write("t.csv", "x,name,y\n1,a,2\n3,b,4\n5,c,6\n")
        found = self.in_pieces(table, "--header", "--column", "y", "--column", "x", "--joint", "--bins", "2")
        self.assertEqual(found["edges"], [[2, 4, 6], [1, 3, 5]])
        self.assertEqual(found["counts"], [[1, 0], [0, 2]])
        found = self.in_pieces("-", "--channels", "2", "--joint", "--bins", "1", "--range", "0:9", stdin=b"1 2\n3 4\n")
        self.assertEqual((found["n"], found["counts"]), (2, [[2]]))
        broken = self.write("b.csv", "1,2\n3,oops\n5,6\n")
        self.fails(1, "histogram", broken, "--column", "1", "--column", "2", "--joint", "--bins", "2", says="b.csv")

    def test_the_range_of_each_column(self):
        found = self.in_pieces("iota:i32:12", "--channels", "2", "--joint", "--bins", "5;2")
        self.assertEqual(found["edges"], [[0, 2, 4, 6, 8, 10], [1, 6, 11]])
        found = self.in_pieces("iota:u8:20", "iota:u8:20", "--joint", "--integers", "20")
        self.assertEqual(found["counts"], [[int(i == j) for j in range(20)] for i in range(20)])

    def test_image(self):
        image = self.write("a.bmp", bmp24(6, 5, lambda x, y: (40 * x, 50 * y, 0)))
        found = self.in_pieces(image, "--joint", "--bins", "2;5;1", "--range", "0:240;0:250;0:1")
        self.assertEqual(found["counts"], [[[3]] * 5] * 2)

    def test_outside_and_density(self):
        file = self.write("a", bytes([0, 0, 5, 1, 1, 9, 2, 2]))
        options = [file, "--dtype", "u8", "--channels", "2", "--joint", "--edges", "0,1,2;0,2"]
        found = self.in_pieces(*options)
        self.assertEqual((found["counts"], found["outside"]), ([[1], [1]], 2))
        found = self.in_pieces(*options, "--right-open")
        self.assertEqual((found["counts"], found["outside"]), ([[1], [0]], 3))
        found = self.in_pieces(*options, "--outside", "clamp")
        self.assertEqual((found["counts"], found["outside"]), ([[1], [3]], 0))
        self.assertEqual(self.json(*options, "--density")["density"], [[0.25], [0.25]])

    def test_forms(self):
        options = ["histogram", "iota:u8:8", "--channels", "2", "--joint", "--edges", "0,4,8;0,1,9"]
        text = self.ok(*options, "--format", "csv", "--density").decode()
        self.assertEqual(text.splitlines(), ["lo0,hi0,lo1,hi1,count,density", "0,4,0,1,0,0", "0,4,1,9,2,0.015625",
                                             "4,8,0,1,0,0", "4,8,1,9,2,0.015625"])
        data = self.ok(*options, "--format", "npy")
        self.assertIn(b"(2, 2)", data)
        self.assertEqual(struct.unpack("<4Q", data[-32:]), (0, 2, 0, 2))
        data = self.ok(*options, "--format", "npy", "--density")
        self.assertEqual(struct.unpack("<4d", data[-32:]), (0, 1 / 64, 0, 1 / 64))
        result = masu("histogram", "iota:u8:8", "--channels", "2", "--joint", "--edges", "0,4;0,9", "--format", "csv")
        self.assertIn(b"1 points lie in no bin", result.stderr)

    def test_table(self):
        for environment in ({"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C"}):
            text = self.ok("histogram", "random:f32:20000:dist=normal", "--channels", "2", "--joint", "--bins",
                           "100;50", env={**environment, "COLUMNS": "80"}).decode()
            lines = text.splitlines()
            self.assertLessEqual(max(map(len, lines)), 80)
            self.assertLessEqual(len(lines), 40)
            self.assertIn("n 10000, outside 0, nan 0", text)
            self.assertEqual(text.isascii(), environment["LC_ALL"] == "C")
        text = self.ok("histogram", "random:u8:3000", "--channels", "3", "--joint", "--bins", "4", "--range", "0:256",
                       env={"LC_ALL": "C"}).decode()
        self.assertIn("4 x 4 x 4 bins", text)
        self.assertEqual(text.count("192 .. 256"), 3)


class Regions(Same):
    def test_image(self):
        image = self.write("a.bmp", bmp24(7, 5, lambda x, y: (x, y, 10 * y + x)))
        for x, y, w, h in ((0, 0, 7, 5), (2, 1, 3, 2), (6, 4, 1, 1), (0, 3, 7, 1)):
            found = self.in_pieces(image, "--region", f"{x},{y},{w},{h}")
            blue = found["channels"][2]["counts"]
            expected = {10 * j + i for j in range(y, y + h) for i in range(x, x + w)}
            self.assertEqual({value for value, count in enumerate(blue) if count}, expected)
            self.assertEqual((found["n"], max(blue)), (3 * w * h, 1))
        gray = self.write("a.pgm", pgm16(4, 3, range(12)))
        found = self.in_pieces(gray, "--region", "1,1,2,2", "--edges", "0,6,8,99")
        self.assertEqual(found["counts"], [1, 1, 2])

    def test_raw_with_a_pitch(self):
        # Three rows of 2 pixels of 3 u16 each, 20 bytes apart; the last row may end early.
        data = b"".join(raw("H", [10 * row + i for i in range(6)]) + b"\xff" * 8 for row in range(3))[:-8]
        file = self.write("a", data)
        options = [file, "--dtype", "u16", "--channels", "3", "--pitch", "20"]
        found = self.in_pieces(*options, "--region", "0,0,2,3", "--integers", "26")
        for c, channel in enumerate(found["channels"]):
            values = [v for v, count in enumerate(channel["counts"]) if count]
            self.assertEqual(values, sorted(10 * row + c + 3 * i for row in range(3) for i in range(2)))
        found = self.in_pieces(*options, "--region", "1,2,1,1", "--integers", "26")
        self.assertEqual([channel["counts"].index(1) for channel in found["channels"]], [23, 24, 25])
        found = self.in_pieces("-", *options[1:], "--region", "1,2,1,1", "--bins", "1", stdin=data)
        self.assertEqual(found["edges"], [23, 25])

    def test_arrays(self):
        plain = self.write("a.npy", npy("<i4", (4, 5), raw("i", range(20))))
        found = self.in_pieces(plain, "--region", "1,2,3,2", "--bins", "18")
        self.assertEqual((found["n"], found["edges"][0], found["edges"][-1]), (6, 11, 18))
        deep = self.write("b.npy", npy("<u1", (2, 3, 2), bytes(range(12))))
        found = self.in_pieces(deep, "--region", "1,0,2,1", "--channels", "2", "--integers", "6")
        self.assertEqual([c["counts"] for c in found["channels"]], [[0, 0, 1, 0, 1, 0], [0, 0, 0, 1, 0, 1]])

    def test_with_rows_and_joint(self):
        image = self.write("a.bmp", bmp24(6, 4, lambda x, y: (x, y, 0)))
        found = self.in_pieces(image, "--region", "1,1,4,3", "--rows", "3", "--integers", "6")
        self.assertEqual(found["channels"][0]["counts"], [[0, 1, 1, 1, 1, 0]] * 3)
        found = self.in_pieces(image, "--region", "1,1,2,2", "--joint", "--edges", "0,2,3;0,2,3;0,1")
        self.assertEqual(found["counts"], [[[1], [1]], [[1], [1]]])

    def test_outside(self):
        image = self.write("a.bmp", bmp24(7, 5, lambda x, y: (x, y, 0)))
        for region in ("0,0,8,1", "0,0,1,6", "7,0,1,1", "0,5,1,1", "1Ti,1Ti,1Ti,1Ti"):
            self.fails(1, "histogram", image, "--region", region, says="outside of its 7 x 5 pixels")
        data = self.write("a.raw", bytes(100))
        for region in ("0,9,2,1", "9,9,1,2", "0,1Ti,1,1", "0,0,1,11"):
            self.fails(1, "histogram", data, "--dtype", "u8", "--pitch", "11" if region == "0,9,2,1" else "10",
                       "--region", region, says="lies outside")
        self.fails(1, "histogram", "-", "--input-format", "raw", "--dtype", "u8", "--pitch", "10", "--region",
                   "0,3,10,1", stdin=bytes(39), says="ends after 39 values, 40 are needed")
        self.fails(2, "histogram", data, "--dtype", "u8", "--pitch", "10", "--region", "5,0,6,1", says="too small")
        self.fails(2, "histogram", data, "--dtype", "u16", "--pitch", "11", "--region", "0,0,1,1", says="multiple")
        self.fails(2, "histogram", data, "--dtype", "u8", "--region", "0,0,1,1", says="needs --pitch")
        self.fails(2, "histogram", image, "--pitch", "30", "--region", "0,0,1,1", says="--pitch")


class ShrinkingFile(CommandTest):
    SIZE = 32 << 20

    def start(self, *arguments, **more):
        with open(self.path("a.raw"), "wb") as file:
            file.truncate(self.SIZE)
        command = [MASU, "histogram", *arguments, "--dtype", "u8", "--memory", "1Mi", "--json", "--device", "cpu"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def shrink(self):
        with open(self.path("a.raw"), "r+b") as file:
            file.truncate(4096)

    def test_while_another_column_is_waited_for(self):
        with self.start("-", self.path("a.raw"), "--input-format", "raw", "--joint", "--bins", "4", "--range", "0:4",
                        stdin=subprocess.PIPE, bufsize=0) as process:
            process.stdin.write(bytes(1 << 20))  # more than a pipe holds, so some of it has been read
            process.stdin.flush()
            self.shrink()
            try:
                process.stdin.write(bytes(self.SIZE - (1 << 20)))
                process.stdin.close()
            except BrokenPipeError:
                pass
            self.assertEqual(process.wait(timeout=100), 1)
            self.assertEqual(process.stdout.read(), b"")
            self.assertIn(b"a.raw", process.stderr.read())

    def test_in_the_middle_of_each_shape(self):
        for options in (["--rows", "16", "--bins", "4"], ["--integers", "4"], ["--bins", "fd"],
                        ["--channels", "2", "--joint", "--bins", "4"], ["--pitch", "1Mi", "--region", "0,0,1Mi,32"]):
            with self.start(self.path("a.raw"), *options, "--verify", "--progress", "always") as process:
                process.stderr.read(1)  # it has begun
                self.shrink()
                out, errors = process.communicate(timeout=100)
                # It was told, or it came too late.
                self.assertIn(process.returncode, (0, 1), (options, errors))
                if process.returncode == 1:
                    self.assertEqual(out, b"")
                    self.assertIn(b"a.raw", errors)


class ManyNumbers(CommandTest):
    def test_too_many_counts_are_told_before_memory_is_taken(self):
        limit = 'ulimit -v 4000000; exec "$0" histogram "$@" --device cpu'
        for arguments in (["zeros:u8:1Mi", "--rows", "1Mi", "--bins", "1Mi", "--range", "0:1"],
                          ["zeros:u8:16Mi", "--rows", "1Mi", "--channels", "16", "--bins", "1Ki", "--range", "0:1"],
                          ["zeros:u8:8", "--channels", "4", "--joint", "--bins", "1000", "--range", "0:1"],
                          ["zeros:u8:8", "--channels", "8", "--joint", "--bins", "2Gi", "--range", "0:1"]):
            result = subprocess.run(["sh", "-c", limit, MASU, *arguments], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
            self.assertIn(result.returncode, (1, 2), arguments)
            self.assertEqual((result.stdout, result.stderr.count(b"\n")), (b"", 1), result.stderr)


class Columns(CommandTest):
    def test_columns_that_do_not_fit_together(self):
        a, b = self.write("a", bytes(10)), self.write("b", bytes(12))
        options = ["--joint", "--bins", "2", "--input-format", "raw", "--dtype"]
        self.fails(1, "histogram", a, b, *options, "u8", says="equally long")
        c = self.write("c.npy", npy("<u2", (5,), bytes(10)))
        d = self.write("d.npy", npy("<i2", (5,), bytes(10)))
        self.fails(1, "histogram", c, d, "--joint", "--bins", "2", says="one dtype")
        x, y = self.write("x.txt", "1\n2\n3\n"), self.write("y.txt", "1\n2\n")
        self.fails(1, "histogram", x, y, "--joint", "--bins", "2", "--range", "0:9", says="equally long")
        self.fails(2, "histogram", "-", "-", "--joint", says="standard input")
        self.fails(2, "histogram", *[x] * 9, "--joint", says="1 to 8 columns")
        self.fails(2, "histogram", x, x, "--joint", "--bins", "1;2;3", says="3 columns")
        self.fails(2, "histogram", x, "--column", "1", "--column", "2", says="need --joint")
        image = self.write("a.bmp", bmp24(3, 3, lambda x, y: (x, y, 0)))
        self.fails(2, "histogram", image, image, "--joint", says="3 channels")


if __name__ == "__main__":
    unittest.main()
