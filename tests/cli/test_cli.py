# SPDX-License-Identifier: Apache-2.0
"""What the command does when all is well: every option and every form of input and output."""

import collections
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "layout"))
import prose
from command import MASU, CommandTest, bmp24, masu, npy, pgm16, usable_devices


def raw(form, values):
    return struct.pack(f"<{len(values)}{form}", *values)


class Bins(CommandTest):
    def test_bytes_have_a_bin_for_each_value(self):
        data = bytes(i * i % 251 for i in range(1000))
        found = self.json(self.write("a.raw", data), "--dtype", "u8")
        counts = collections.Counter(data)
        self.assertEqual(found["counts"], [counts[i] for i in range(256)])
        self.assertEqual(found["edges"], list(range(257)))
        self.assertEqual((found["n"], found["dtype"]), (1000, "u8"))
        self.assertEqual((found["below"], found["above"], found["nan"]), (0, 0, 0))
        self.assertIn(found["strategy"], ["global", "private", "local", "lanes", "packed", "partitioned"])
        self.assertEqual(set(found["seconds"]), {"read", "transfer", "compute", "total"})
        self.assertEqual(list(found), ["n", "dtype", "device", "strategy", "below", "above", "nan", "edges", "counts",
                                       "seconds"])

    def test_signed_bytes(self):
        data = raw("b", [-128, -1, -1, 0, 127])
        found = self.json(self.write("a.raw", data), "--dtype", "i8")
        self.assertEqual(found["edges"][0], -128)
        self.assertEqual(found["counts"][0], 1)
        self.assertEqual(found["counts"][127], 2)
        self.assertEqual(found["counts"][255], 1)
        self.assertEqual(sum(found["counts"]), 5)

    def test_few_integers_have_a_bin_each(self):
        found = self.json(self.write("a.raw", raw("i", [-5, 10, 10, 994])), "--dtype", "i32")
        self.assertEqual(len(found["counts"]), 1000)
        self.assertEqual([found["counts"][i] for i in (0, 15, 999)], [1, 2, 1])

    def test_many_integers_have_bins_of_one_whole_width(self):
        found = self.json("iota:u32:100000")
        widths = {b - a for a, b in zip(found["edges"], found["edges"][1:])}
        self.assertEqual(widths, {1000})
        self.assertEqual(found["counts"], [1000] * 100)

    def test_floats_have_100_bins_over_their_range(self):
        found = self.json(self.write("a.raw", raw("d", [float(i) for i in range(201)])), "--dtype", "f64")
        self.assertEqual(len(found["counts"]), 100)
        self.assertEqual((found["edges"][0], found["edges"][-1]), (0, 200))
        self.assertEqual(found["counts"], [2] * 99 + [3])

    def test_bins_and_range(self):
        data = self.write("a.raw", raw("f", [-1.5, 0.0, 0.25, 0.5, 1.0, 2.0, float("nan"), float("inf")]))
        found = self.json(data, "--dtype", "f32", "--bins", "2", "--range", "0:1")
        self.assertEqual(found["counts"], [2, 2])
        self.assertEqual((found["below"], found["above"], found["nan"]), (1, 2, 1))
        found = self.json(data, "--dtype", "f32", "--bins", "2", "--range", "0:1", "--right-open")
        self.assertEqual((found["counts"], found["above"]), ([2, 1], 3))
        found = self.json(data, "--dtype", "f32", "--bins", "2", "--range", "0:1", "--outside", "clamp")
        self.assertEqual((found["counts"], found["nan"]), ([3, 4], 1))
        self.assertEqual((found["below"], found["above"]), (0, 0))
        found = self.json(data, "--dtype", "f32", "--bins", "3", "--range", "-2:-1")
        self.assertEqual(sum(found["counts"]), 1)

    def test_range_alone(self):
        self.assertEqual(len(self.json("iota:u16:100", "--range", "0:50")["counts"]), 50)
        self.assertEqual(len(self.json("zeros:f32:5", "--range", "-0.5:0.5")["counts"]), 100)

    def test_bins_alone_takes_the_range_of_the_data(self):
        found = self.json("iota:i64:11", "--bins", "5")
        self.assertEqual(found["edges"], [0, 2, 4, 6, 8, 10])
        self.assertEqual(found["counts"], [2, 2, 2, 2, 3])

    def test_f32_edges_are_printed_as_f32(self):
        found = self.json("zeros:f32:1", "--bins", "10", "--range", "0:1")
        self.assertEqual(found["edges"][1], 0.1)
        self.assertEqual(found["edges"][7], 0.7)

    def test_edges(self):
        found = self.json("iota:u8:20", "--edges", "0,2.5,2.5,1e1,19")
        self.assertEqual(found["counts"], [3, 0, 7, 10])
        found = self.json("iota:u8:20", "--edges", "@" + self.write("edges.txt", "-4\n5 # five\n100\n"))
        self.assertEqual(found["counts"], [5, 15])
        found = self.json("iota:u8:20", "--edges", "-inf,5,inf")
        self.assertEqual(found["edges"], ["-Infinity", 5, "Infinity"])
        self.assertEqual(found["counts"], [5, 15])

    def test_integers(self):
        found = self.json(self.write("a.raw", raw("h", [-3, 0, 1, 1, 4, 5, 300])), "--dtype", "i16", "--integers", "5")
        self.assertEqual(found["counts"], [1, 2, 0, 0, 1])
        self.assertEqual((found["below"], found["above"]), (1, 2))

    def test_sizes_take_suffixes(self):
        self.assertEqual(len(self.json("zeros:u8:1Ki", "--bins", "4Ki", "--range", "0:1")["counts"]), 4096)

    def test_empty_input(self):
        found = self.json(self.write("a.raw", b""), "--dtype", "f64")
        self.assertEqual((found["n"], sum(found["counts"]), found["edges"][0], found["edges"][-1]), (0, 0, 0, 1))
        self.assertIn(b"n 0, range -, mean -", self.ok("histogram", "zeros:u8:0"))

    def test_alias(self):
        self.assertEqual(json.loads(self.ok("hist", "zeros:u8:7", "--json"))["counts"][0], 7)


class Inputs(CommandTest):
    def test_standard_input(self):
        found = self.json("-", "--input-format", "raw", "--dtype", "u8", stdin=b"\1\2\2")
        self.assertEqual(found["counts"][:4], [0, 1, 2, 0])
        # Text has to be read twice, so it is kept on the way.
        text = "\n".join(str(i) for i in range(50000)).encode()
        found = self.json("-", "--tmpdir", self.folder, "--memory", "64Ki", "--bins", "10", stdin=text)
        self.assertEqual(found["counts"], [5000] * 10)
        self.assertEqual(os.listdir(self.folder), [])

    def test_text(self):
        table = self.write("t.csv", "name,price\na,1\nb,oops\nc,3\n% nothing\n")
        options = ["--header", "--delimiter", ",", "--comment", "%", "--edges", "0,2,4", "--column"]
        found = self.json(table, *options, "price")
        self.assertEqual((found["counts"], found["bad_lines"], found["dtype"]), ([1, 1], 1, "i64"))
        found = self.json(table, *options, "2", "--dtype", "i16")
        self.assertEqual((found["counts"], found["dtype"]), ([1, 1], "i16"))
        result = masu("histogram", table, *options, "price")
        self.assertIn(b"1 of 3 rows: 1 not a number (line 3: 'oops')", result.stderr)
        self.assertEqual(masu("histogram", table, *options, "price", "--quiet").stderr, b"")
        self.fails(1, "histogram", table, *options, "price", "--strict", says="t.csv")

    def test_bad_lines_are_counted_once(self):
        text = b"".join(b"%d\nbad\n" % i for i in range(3000))
        for memory in ("1Gi", "1000"):
            found = self.json("-", "--memory", memory, "--tmpdir", self.folder, stdin=text)
            self.assertEqual((found["n"], found["bad_lines"]), (3000, 3000))
            found = self.json(self.write("t.txt", text), "--memory", memory)
            self.assertEqual((found["n"], found["bad_lines"]), (3000, 3000))
            os.remove(self.path("t.txt"))

    def test_raw_options(self):
        data = self.write("a.raw", b"x" + struct.pack(">4H", 1, 2, 3, 4))
        found = self.json(data, "--dtype", "u16", "--offset", "1", "--count", "3", "--endian", "big", "--integers", "5")
        self.assertEqual(found["counts"], [0, 1, 1, 1, 0])

    def test_npy(self):
        found = self.json(self.write("a.npy", npy("<f4", (2, 2), raw("f", [0, 1, 2, 4]))), "--bins", "2")
        self.assertEqual((found["counts"], found["dtype"]), ([2, 2], "f32"))

    def test_colour_image(self):
        image = self.write("a.bmp", bmp24(5, 3, lambda x, y: (x, 100 + y, 255)))
        found = self.json(image)
        self.assertEqual([channel["name"] for channel in found["channels"]], ["red", "green", "blue"])
        self.assertNotIn("counts", found)
        self.assertEqual(found["n"], 45)
        red, green, blue = (channel["counts"] for channel in found["channels"])
        self.assertEqual(red[:6], [3, 3, 3, 3, 3, 0])
        self.assertEqual(green[99:104], [0, 5, 5, 5, 0])
        self.assertEqual((blue[255], sum(blue)), (15, 15))
        self.assertEqual(found["channels"][0]["n"], 15)
        whole = self.json(image, "--channels", "1")
        self.assertEqual((whole["n"], whole["counts"][255], whole["counts"][0]), (45, 15, 3))
        self.fails(2, "histogram", image, "--channels", "2", says="--channels")

    def test_image_of_16_bits(self):
        found = self.json(self.write("a.pgm", pgm16(2, 2, [0, 65535, 7, 7])))
        self.assertEqual(len(found["counts"]), 65536)
        self.assertEqual([found["counts"][i] for i in (0, 7, 65535)], [1, 2, 1])

    def test_channels(self):
        data = self.write("a.raw", bytes([1, 2, 1, 3, 1, 4]))
        found = self.json(data, "--dtype", "u8", "--channels", "2", "--integers", "5")
        self.assertEqual([c["counts"] for c in found["channels"]], [[0, 3, 0, 0, 0], [0, 0, 1, 1, 1]])
        self.fails(2, "histogram", data, "--dtype", "u8", "--channels", "4", says="must divide")
        self.fails(2, "histogram", "-", "--input-format", "raw", "--dtype", "u8", "--channels", "4", stdin=b"12345",
                   says="must divide")

    def test_small_pieces_give_the_same(self):
        for text in ("random:f32:30000:dist=normal:seed=3", "random:u8:30000", "random:u64:3000:hi=70000"):
            whole = self.json(text, "--device", "cpu")
            for memory in ("1", "100", "4099", "64Ki"):
                parts = self.json(text, "--device", "cpu", "--memory", memory)
                for key in ("n", "counts", "edges", "below", "above", "nan"):
                    self.assertEqual(whole[key], parts[key], (text, memory))

    def test_generators_are_the_same_every_time(self):
        first = self.json("random:u16:1000:dist=zipf:seed=5")["counts"]
        self.assertEqual(first, self.json("random:u16:1000:dist=zipf:seed=5")["counts"])
        self.assertNotEqual(first, self.json("random:u16:1000:dist=zipf:seed=6")["counts"])

    def test_several_inputs(self):
        lines = self.ok("histogram", "zeros:u8:3", "iota:f32:4", "--json").splitlines()
        found = [json.loads(line) for line in lines]
        self.assertEqual([one["input"] for one in found], ["zeros:u8:3", "iota:f32:4"])
        self.assertEqual([one["n"] for one in found], [3, 4])
        table = self.ok("histogram", "zeros:u8:3", "iota:f32:4").decode()
        self.assertIn("zeros:u8:3", table)
        self.assertIn("iota:f32:4", table)


class Outputs(CommandTest):
    def test_csv(self):
        text = self.ok("histogram", "iota:u8:4", "--edges", "0,1,2.5,9", "--format", "csv").decode()
        self.assertEqual(text, "lo,hi,count\n0,1,1\n1,2.5,2\n2.5,9,1\n")
        text = self.ok("histogram", "iota:u8:4", "--channels", "2", "--edges", "0,9", "--format", "csv").decode()
        self.assertEqual(text, "channel,lo,hi,count\n0,0,9,2\n1,0,9,2\n")
        text = self.ok("histogram", "iota:u8:4", "zeros:u8:1", "--edges", "0,9", "--format", "csv").decode()
        self.assertEqual(text, "input,channel,lo,hi,count\niota:u8:4,,0,9,4\nzeros:u8:1,,0,9,1\n")
        result = masu("histogram", "iota:u8:4", "--edges", "0,1", "--format", "csv")
        self.assertIn(b"2 values lie in no bin", result.stderr)

    def test_npy(self):
        data = self.ok("histogram", "iota:u8:4", "--integers", "6", "--format", "npy")
        self.assertEqual(data[:6], b"\x93NUMPY")
        self.assertIn(b"'<u8'", data)
        self.assertIn(b"(6,)", data)
        self.assertEqual(struct.unpack("<6Q", data[-48:]), (1, 1, 1, 1, 0, 0))
        data = self.ok("histogram", "iota:u8:4", "--integers", "3", "--channels", "2", "--format", "npy")
        self.assertIn(b"(2, 3)", data)
        self.fails(2, "histogram", "iota:u8:4", "iota:u8:4", "--format", "npy", says="one input")

    def test_output_file(self):
        for name, start in (("a.json", b"{"), ("a.csv", b"lo,"), ("a.npy", b"\x93NUMPY"), ("a.txt", b"zeros:u8:3")):
            self.assertEqual(self.ok("histogram", "zeros:u8:3", "-o", self.path(name)), b"")
            with open(self.path(name), "rb") as file:
                self.assertTrue(file.read().startswith(start), name)
        self.assertEqual(self.ok("histogram", "zeros:u8:3", "-o", "-", "--json")[:1], b"{")
        self.ok("histogram", "zeros:u8:3", "-o", self.path("b.csv"), "--json")
        with open(self.path("b.csv"), "rb") as file:
            self.assertEqual(json.load(file)["n"], 3)
        self.assertEqual(len(os.listdir(self.folder)), 5)

    def test_output_may_be_the_input(self):
        data = self.write("a.npy", npy("<u8", (3,), raw("Q", [1, 1, 2])))
        self.ok("histogram", data, "--integers", "4", "-o", data)
        self.assertEqual(self.json(data, "--integers", "4")["counts"], [2, 1, 1, 0])

    def test_table(self):
        text = self.ok("histogram", "random:u8:10000:dist=normal", env={"COLUMNS": "60", "LC_ALL": "C.UTF-8"}).decode()
        bars = [line for line in text.splitlines() if "█" in line]
        self.assertIn("8 in each row", text)
        self.assertLessEqual(len(bars), 32)
        self.assertEqual(max(len(line) for line in bars), 60)
        text = self.ok("histogram", "random:u8:10000:dist=normal", env={"COLUMNS": "100", "LC_ALL": "C"})
        self.assertTrue(text.isascii())
        self.assertEqual(max(len(line) for line in text.splitlines() if b"##" in line), 100)

    def test_table_counts_every_value(self):
        text = self.ok("histogram", "random:f64:12345", env={"LC_ALL": "C"}).decode()
        rows = re.findall(r"^ *\[\S+, \S+[)\]] +(\d+)", text, re.M)
        self.assertEqual(sum(map(int, rows)), 12345)

    def test_exact_range_and_mean(self):
        def head(*arguments):
            return self.ok("histogram", *arguments).decode()

        self.assertIn("n 3, range 1:4, mean 2.33333, below 0", head(self.write("a", b"\1\2\4"), "--dtype",
                                                                               "u8"))
        # A sum that rounds at every step would lose the 1.
        data = self.write("b", raw("d", [1e100, 1.0, -1e100, 0.0]))
        self.assertIn("range -1e+100:1e+100, mean 0.25", head(data, "--dtype", "f64"))
        data = self.write("c", raw("f", [0.1, float("nan"), float("inf"), 0.1]))
        self.assertIn("range 0.1:0.1, mean 0.1, below 0, above 1, nan 1", head(data, "--dtype", "f32"))
        data = self.write("d", raw("q", [2**63 - 1, -2**63, 5]))
        self.assertIn("range -9223372036854775808:9223372036854775807", head(data, "--dtype", "i64"))
        # Outsiders belong to range and mean.
        self.assertIn("range 0:9, mean 4.5, below 2, above 4", head("iota:u8:10", "--range", "2:5"))
        image = self.write("a.bmp", bmp24(4, 1, lambda x, y: (x, 7, 2 * x)))
        self.assertIn("blue: n 4, range 0:6, mean 3,", head(image, "--range", "0:2"))

    def test_time(self):
        result = masu("histogram", "random:f32:100000", "--time", "--json")
        for what in (b"reading", b"transfer", b"computing", b"total"):
            self.assertRegex(result.stderr, what + rb" +\d+\.\d+ s +[-\d.]+ GB/s")

    def test_verify(self):
        result = masu("histogram", "random:f32:100000:dist=normal", "--verify", "--json")
        self.assertEqual((result.returncode, result.stderr), (0, b"verified: 100000 values\n"))
        self.assertEqual(masu("histogram", "random:f32:10", "--verify", "--quiet").stderr, b"")

    def test_progress(self):
        result = masu("histogram", "zeros:u8:100000", "--progress", "always", "--json")
        self.assertRegex(result.stderr, rb"histogram \[#+\.*\] \d+ % of 0 MB, \d+ s left")
        self.assertTrue(result.stderr.endswith(b"\r\033[K"))
        for mode in ("auto", "never"):
            self.assertEqual(masu("histogram", "zeros:u8:100000", "--progress", mode).stderr, b"")
        with tempfile.NamedTemporaryFile(suffix=".txt") as text:
            text.write(b"123456789\n" * 1000000)
            text.flush()
            result = masu("reduce", text.name, "--progress", "always")
            self.assertRegex(result.stderr, rb"^\rreading \[\.+\] 0 % of 10 MB")
            self.assertTrue(result.stderr.endswith(b"\r\033[K"))
            self.assertEqual(result.stderr.count(b"\r\033[K"), result.stderr.count(b"\r\033[K\r") + 1)

    def test_terminal(self):
        def on_terminal(*arguments, **environment):
            leader, follower = pty.openpty()
            process = subprocess.Popen([MASU, *arguments], stdout=follower, stderr=subprocess.PIPE,
                                       env={**os.environ, "NO_COLOR": "", **environment})
            os.close(follower)
            text = b""
            try:
                while piece := os.read(leader, 65536):
                    text += piece
            except OSError:  # the terminal is gone with its last writer
                pass
            os.close(leader)
            errors = process.stderr.read()
            process.stderr.close()
            return process.wait(), text, errors

        status, text, _ = on_terminal("histogram", "zeros:u8:5")
        self.assertEqual(status, 0)
        self.assertIn(b"n 5", text)
        image = self.write("a.bmp", bmp24(4, 1, lambda x, y: (x, 7, 2 * x)))
        for arguments in ([image], [image, "--rows", "2"]):
            status, text, _ = on_terminal("histogram", *arguments, TERM="xterm", LC_ALL="C.UTF-8")
            self.assertEqual((status, sorted(set(re.findall(rb"\x1b\[(\d*)m", text)))), (0, [b"", b"31", b"32", b"34"]))
            self.assertIn("\u2588".encode(), text)
            for plain in ({"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}):
                self.assertNotIn(b"\x1b", on_terminal("histogram", *arguments, **plain)[1])
            self.assertNotIn(b"\xe2", on_terminal("histogram", *arguments, TERM="linux", LC_ALL="C.UTF-8")[1])
            self.assertNotIn(b"\x1b", self.ok("histogram", *arguments))
        groups = self.write("g.csv", "place,value\nRome,1\nBern,2\n")
        text = on_terminal("histogram", groups, "--group", "place", "--column", "value", TERM="xterm")[1]
        self.assertEqual(len(set(re.findall(rb"\x1b\[(\d+)m", text))), 2)
        status, text, errors = on_terminal("histogram", "zeros:u8:5", "--format", "npy")
        self.assertEqual((status, text), (2, b""))
        self.assertIn(b"terminal", errors)


class Devices(CommandTest):
    def test_list(self):
        listed = json.loads(self.ok("devices", "--json"))
        self.assertEqual(listed[0]["id"], "cpu")
        for device in listed:
            for key in ("id", "kind", "name", "usable", "memory_bytes", "compute_units", "local_bytes", "driver"):
                self.assertIn(key, device)
            self.assertEqual("why" in device, not device["usable"])
        text = self.ok("devices").decode()
        for device in listed:
            self.assertIn(device["id"], text)

    def test_a_driver_that_crashes_is_a_line(self):
        library = self.write("crash.so", b"")
        source = self.write("crash.cpp", b"#include <cstdlib>\nstruct Crash { Crash() { std::abort(); } } crash;\n")
        subprocess.run(["g++", "-shared", "-fPIC", source, "-o", library], check=True)
        vendors = os.path.join(self.folder, "vendors")
        os.mkdir(vendors)
        self.write("vendors/crash.icd", library.encode())
        environment = {"OCL_ICD_VENDORS": vendors}
        listed = json.loads(self.ok("devices", "--json", env=environment))
        self.assertEqual(listed[0]["id"], "cpu")
        opencl = [device for device in listed if device["kind"] == "opencl"]
        self.assertEqual([device["usable"] for device in opencl], [False])
        if "libOpenCL" not in opencl[0]["why"]:  # a machine without a loader opens no driver
            self.assertIn("the driver crashed", opencl[0]["why"])
        self.assertIn(opencl[0]["why"].encode(), self.ok("devices", env=environment))

    def test_cpu_opens_no_gpu_library(self):
        result = masu("histogram", "zeros:u8:1Mi", "--device", "cpu", "--json", env={"LD_DEBUG": "files"})
        self.assertEqual(result.returncode, 0)
        self.assertNotRegex(result.stderr, rb"libOpenCL|libcuda|libnvrtc")

    def test_environment(self):
        self.assertEqual(self.json("zeros:u8:9", env={"MASU_DEVICE": "cpu"})["device"], "cpu")
        self.fails(2, "histogram", "zeros:u8:9", env={"MASU_DEVICE": "abacus"}, says="abacus")
        self.assertEqual(self.json("zeros:u8:9", "--device", "auto", env={"MASU_DEVICE": "abacus"})["device"], "cpu")

    def test_every_strategy_on_every_device(self):
        for device in ["cpu", *usable_devices("opencl"), *usable_devices("cuda")]:
            for strategy in ("auto", "global", "private", "local", "lanes", "packed", "partitioned"):
                result = masu("histogram", "random:u8:50001:dist=zipf", "--device", device, "--strategy", strategy,
                              "--verify", "--json")
                if strategy == "auto" or result.returncode == 0:
                    self.assertEqual(result.stderr, b"verified: 50001 values\n", (device, strategy))
                    self.assertEqual(json.loads(result.stdout)["device"], device)
                else:  # a strategy that this device has not, said in one line
                    self.assertEqual((result.returncode, result.stderr.count(b"\n")), (1, 1), result.stderr)
            for text in ("random:f32:40001:dist=normal", "random:i16:40001", "random:u8:30003"):
                self.ok("histogram", text, "--device", device, "--verify", "--channels", "1")
            self.ok("histogram", "random:u8:30003", "--device", device, "--verify", "--channels", "3")

    def test_threads(self):
        self.assertEqual(self.json("random:u8:3Mi", "--threads", "1", "--device", "cpu")["counts"],
                         self.json("random:u8:3Mi", "--threads", "3", "--device", "cpu")["counts"])

    def test_selftest(self):
        result = masu("selftest", "--device", "cpu")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout.decode().splitlines()[-1], r"^\d{3,} passed, 0 failed$")


class Help(CommandTest):
    def test_help_and_version(self):
        for arguments in ((), ("histogram",), ("devices",), ("selftest",)):
            self.assertIn(b"Usage: masu", self.ok(*arguments, "--help"))
            self.assertRegex(self.ok(*arguments, "--version"), rb"^masu \d+\.\d+\.\d+\n$")
        self.assertIn(b"Examples:", self.ok("histogram", "--help"))
        for name in ("-V", "-v", "version"):
            self.assertEqual(self.ok(name), self.ok("--version"))

    def test_without_a_command_they_are_listed(self):
        run = masu()
        self.assertEqual((run.returncode, run.stdout, run.stderr), (1, self.ok("--help"), b""))
        self.assertEqual(self.ok("help"), run.stdout)
        self.assertIn(b"  quantile ", run.stdout)

    def test_help_of_a_command(self):
        """It fits a page: what everybody needs first, the rest under --help-all; no line is longer than a terminal."""
        for command in ("", *self.ok("--print", "commands").decode().split()):
            short = self.ok(*command.split(), "--help").decode().splitlines()
            whole = self.ok(*command.split(), "--help-all").decode().splitlines()
            with self.subTest(command):
                self.assertLessEqual(len(short), 60)
                self.assertLessEqual(max(map(len, short + whole)), 80)
                if command != "formats":  # help formats lists them
                    self.assertEqual(short, self.ok("help", *command.split()).decode().splitlines())
                self.assertNotIn("", (short[0], short[-1], whole[-1]))
                names = [line.split()[0] for line in short if line.startswith("  -")]
                self.assertLessEqual(set(names), {line.split()[0] for line in whole if line.startswith("  -")})
                self.assertEqual([], prose.long_sentences(prose.of_help("\n".join(whole))))
        self.assertIn(b"--bins", self.ok("hist", "--help"))


if __name__ == "__main__":
    unittest.main()
