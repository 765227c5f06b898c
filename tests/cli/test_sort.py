# SPDX-License-Identifier: Apache-2.0
"""masu sort against NumPy's stable order: every dtype, in memory and through files."""

import json
import os
import resource
import signal
import subprocess
import unittest

import numpy as np

from command import MASU, CommandTest, masu, usable_devices
from samples import DTYPES, order_of, sample

class SortTest(CommandTest):
    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def sort(self, *arguments, **more):
        """The array that comes out, as saved."""
        out = self.path("out.npy")
        self.ok("sort", *arguments, "-o", out, "--device", "cpu", **more)
        return np.load(out)

    def same(self, got, expected, message=None):
        self.assertEqual(got.dtype, expected.dtype, message)
        self.assertEqual(got.tobytes(), expected.tobytes(), message)

    def test_every_dtype(self):
        for name, code in DTYPES.items():
            for count in (0, 1, 2, 1009):
                values = sample(code, count)
                file = self.save_npy("in.npy", values)
                for descending in (False, True):
                    options = ["--descending"] if descending else []
                    order = order_of(values, descending)
                    for memory in ([], ["--memory", "1"]):
                        what = (name, count, descending, memory)
                        self.same(self.sort(file, *options, *memory), values[order], what)
                    self.same(self.sort(file, *options, "--index"), order.astype("u8"), what)

    def test_through_files(self):
        for name, code in DTYPES.items():
            values = sample(code, 120_011, seed=3)
            file = self.save_npy("in.npy", values)
            labels = sample(DTYPES["f64" if name == "u8" else "u16"], len(values), seed=4)
            labels_file = self.save_npy("labels.npy", labels)
            for descending in (False, True):
                options = ["--memory", "64Ki", "--tmpdir", self.folder] + (["--descending"] if descending else [])
                order = order_of(values, descending)
                self.same(self.sort(file, *options), values[order], name)
                self.same(self.sort(file, *options, "--index"), order.astype("u8"), name)
                got = self.sort(file, *options, "--values", labels_file, "--values-output", self.path("l.npy"))
                self.same(got, values[order], name)
                self.same(np.load(self.path("l.npy")), labels[order], name)
        self.assertEqual({"in.npy", "labels.npy", "l.npy", "out.npy"}, set(os.listdir(self.folder)))

    def test_unique(self):
        for name, code in DTYPES.items():
            for count in (0, 1, 2, 1009, 70_001):
                values = sample(code, count)
                values = np.concatenate([values, values[::2]])
                file = self.save_npy("in.npy", values)
                for descending in (False, True):
                    found = values[order_of(values, descending)]
                    equal = (found[1:] == found[:-1]) | ((found[1:] != found[1:]) & (found[:-1] != found[:-1]))
                    expected = found[np.concatenate([[True], ~equal])] if count else found
                    for memory in ([], ["--memory", "64Ki"]):
                        got = self.sort(file, "-u", *(["-r"] if descending else []), *memory)
                        self.same(got, expected, (name, count, descending, memory))
        self.assertEqual(self.ok("sort", "-", "-nu", stdin=b"3\n1\n3\n2\n1\n"), b"1\n2\n3\n")

    def test_several_passes_of_merging(self):
        report = json.loads(self.ok("sort", "random:u16:1M:dist=zipf:seed=5", "-o", self.path("a.raw"), "--memory",
                                    "64Ki", "--index", "--json", "--verify", "--quiet", "--device", "cpu"))
        self.assertGreater(report["runs"], 200)
        self.assertEqual((report["n"], report["dtype"], report["order"], report["device"]),
                         (1_000_000, "u16", "ascending", "cpu"))
        self.ok("sort", "random:u16:1M:dist=zipf:seed=5", "-o", self.path("b.raw"), "--index", "--device", "cpu")
        self.same(np.fromfile(self.path("a.raw"), "u8"), np.fromfile(self.path("b.raw"), "u8"))

    def test_algorithms(self):
        values = sample("f4", 3001)
        file = self.save_npy("in.npy", values)
        for device in ["cpu"] + usable_devices("opencl")[:1] + usable_devices("cuda")[:1]:
            for algorithm in ("auto",) if device == "cpu" else ("auto", "radix", "merge"):
                for more, right in ([], values[order_of(values)]), (["--index", "--descending"],
                                                                    order_of(values, True).astype("u8")):
                    self.ok("sort", file, "--device", device, "--algorithm", algorithm, *more, "-o",
                            self.path("out.npy"))
                    self.same(np.load(self.path("out.npy")), right, algorithm)

    def test_removed_names_say_where_they_went(self):
        self.fails(2, "sort", "random:u32:64", "--algorithm", "bitonic", says="bitonic_sort")
        for more in ([], ["--algorithm", "bitonic"], ["-o", self.path("o.npy")], ["--is-sorted"]):
            self.fails(2, "sort", "random:u32:64", "--trace", *more, says="bitonic_sort")
        for algorithm in ("radix", "merge"):
            for more in ([], ["--index"], ["--rows", "2"]):
                for count in (64, 0):
                    file = self.save_npy("in.npy", np.zeros(count, "u4"))
                    self.fails(1, "sort", file, "--device", "cpu", "--algorithm", algorithm, *more,
                               says=f"{algorithm} has left the CPU")

    def test_nothing_but_nan(self):
        for bits in ("u2", "u4", "u8"):
            kind = f"f{bits[1]}"
            payloads = np.random.default_rng(1).integers(1, 99, 5001).astype(bits)
            values = (payloads | np.array(-np.inf if bits == "u4" else np.inf, kind).view(bits)).view(kind)
            file = self.save_npy("in.npy", values)
            for options in ([], ["--descending"], ["--memory", "64Ki"]):
                self.same(self.sort(file, "--verify", *options), values)
                self.same(self.sort(file, "--index", *options), np.arange(5001, dtype="u8"))

    def test_devices(self):
        for device in usable_devices("opencl")[:1] + usable_devices("cuda")[:1]:
            for code, more in (("i4", []), ("f4", ["--descending"]), ("f4", ["--descending", "--memory", "128Ki"])):
                values = sample(code, 60_003, seed=7)
                file = self.save_npy("in.npy", values)
                order = order_of(values, bool(more))
                for what, expected in ([], values[order]), (["--index"], order.astype("u8")):
                    out = self.path("out.npy")
                    self.ok("sort", file, "-o", out, "--device", device, *more, *what)
                    self.same(np.load(out), expected, (device, code, more, what))

    def test_rows(self):
        values = sample("i2", 60 * 501).reshape(60, 501)
        file = self.save_npy("in.npy", values)
        order = np.argsort(values, axis=1, kind="stable")
        for memory in ([], ["--memory", "64Ki"], ["--memory", "1"]):
            self.same(self.sort(file, "--rows", "60", *memory), np.sort(values, axis=1), memory)
            self.assertEqual(np.load(self.path("out.npy")).shape, (60, 501))
            self.same(self.sort(file, "--rows", "60", "--index", *memory), order.astype("u8"), memory)
        long_rows = sample("u4", 4 * 40_000).reshape(4, 40_000)  # none of them fits
        file = self.save_npy("long.npy", long_rows)
        small = ["--rows", "4", "--memory", "64Ki"]
        self.same(self.sort(file, *small), np.sort(long_rows, axis=1))
        self.same(self.sort(file, *small, "--index"), np.argsort(long_rows, axis=1, kind="stable").astype("u8"))
        self.assertEqual(self.sort("-", "--rows", "2", stdin=b"4 3 2 1 0 -1\n").tolist(), [[2, 3, 4], [-1, 0, 1]])
        self.assertEqual(self.sort(self.save_npy("e.npy", values[:0]), "--rows", "3").shape, (3, 0))
        self.fails(2, "sort", file, "--rows", "7", "-o", self.path("no.npy"), says="must divide the 160000 values")
        self.fails(2, "sort", file, "--rows", "0", "-o", self.path("no.npy"), says="--rows")
        self.assertFalse(os.path.exists(self.path("no.npy")))

    def test_shapes_and_forms(self):
        values = sample("f4", 24)
        expected = values[order_of(values)]
        as_text = ["--input-format", "text"]
        self.assertEqual(self.sort(self.save_npy("table.npy", values.reshape(2, 3, 4))).shape, (24,))
        self.same(self.sort(self.save_npy("big.npy", values.astype(">f4"))), expected)
        raw = self.write("in.raw", values.astype(">f4").tobytes())
        self.ok("sort", raw, "--dtype", "f32", "--endian", "big", "-o", self.path("out.raw"))
        self.assertEqual(self.read("out.raw"), expected.tobytes())
        self.assertEqual(self.ok("sort", raw, "--dtype", "f32", "--endian", "big"), expected.tobytes())
        self.assertEqual(self.ok("sort", raw, "--dtype", "f32", "--endian", "big", "-o", "-"), expected.tobytes())
        text = self.write("in.txt", "3\n1e2\n-inf\nnan\n0.1\n-0\n0\n")
        self.ok("sort", text, "-o", self.path("out.txt"))
        self.assertEqual(self.read("out.txt"), b"-inf\n-0\n0\n0.1\n3\n100\nnan\n")
        self.ok("sort", text, *as_text, "-o", self.path("out.csv"), "--dtype", "f16", "--descending")
        self.assertEqual(self.read("out.csv"), b"nan\n100\n3\n0.1\n-0\n0\n-inf\n")

    def test_terminal(self):
        leader, terminal = os.openpty()
        with os.fdopen(leader, "rb", 0) as shown:
            run = masu("sort", "-", "--input-format", "text", "--dtype", "u8", stdin=b"3 1 2\n", stdout=terminal)
            self.assertEqual(run.returncode, 0)
            os.close(terminal)
            self.assertEqual(shown.read(100), b"1\r\n2\r\n3\r\n")

    def test_standard_input(self):
        values = sample("u4", 50_021)
        for memory in ([], ["--memory", "64Ki"]):
            self.same(self.sort("-", "--input-format", "raw", "--dtype", "u32", *memory, stdin=values.tobytes()),
                      np.sort(values))
            text = "\n".join(map(str, values)).encode()
            for more in ([], ["--verify"]):
                self.same(self.sort("-", "--input-format", "text", "--dtype", "u32", *memory, *more, stdin=text),
                          np.sort(values))
        result = masu("sort", "-", "-o", self.path("o.txt"), stdin=b"5 x 4\n")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr, b"masu: standard input: 1 of 3 entries: 1 not a number (line 1: 'x')\n")
        self.fails(1, "sort", "-", "--strict", "-o", self.path("p.txt"), stdin=b"5 x 4\n")

    def test_the_input_may_be_the_output(self):
        values = sample("u8", 40_000)
        for memory in ([], ["--memory", "64Ki"]):
            file = self.save_npy("in.npy", values)
            self.ok("sort", file, "-o", file, *memory)
            self.same(np.load(file), np.sort(values))

    def test_values(self):
        keys, labels = sample("i1", 5000), sample("f8", 5000, seed=9)
        keys_file, labels_file = self.save_npy("k.npy", keys), self.write("l.raw", labels.tobytes())
        for memory in ([], ["--memory", "64Ki"]):
            self.sort(keys_file, "--values", labels_file, "--values-dtype", "f64", "--values-output",
                      self.path("moved.raw"), "--verify", *memory)
            self.same(np.fromfile(self.path("moved.raw"), "f8"), labels[order_of(keys)])
        short = self.save_npy("short.npy", labels[:-1])
        text = self.write("short.txt", " ".join(map(str, range(4999))))
        for file in (short, text):
            for arguments in ((keys_file, "--values", file), (file, "--values", keys_file)):
                self.fails(1, "sort", *arguments, "--values-output", self.path("v.npy"), "-o", self.path("o.npy"),
                           says="as many values as keys are needed")
        self.assertFalse(os.path.exists(self.path("v.npy")) or os.path.exists(self.path("o.npy")))
        for wrong in (["--values", labels_file], ["--values-output", "x"], ["--values-dtype", "u8"],
                      ["--values", short, "--values-output", "x", "--index"],
                      ["--values", short, "--values-output", self.path("o.npy")],
                      ["--values", short, "--values-output", "-", "-o", "-"]):
            output = [] if "-o" in wrong else ["-o", self.path("o.npy")]
            self.fails(2, "sort", keys_file, *output, *wrong)

    def test_keys_and_values_together(self):
        keys, labels = self.save_npy("k.npy", sample("i1", 50)), self.save_npy("l.npy", sample("f8", 50, seed=9))
        before = [self.read(file) for file in (keys, labels)]
        in_place = ["sort", keys, "-o", keys, "--values", labels, "--values-output"]
        self.fails(1, *in_place, "/dev/full", says="/dev/full: writing failed")
        self.assertEqual([self.read(file) for file in (keys, labels)], before)
        os.symlink("o.npy", self.path("link.npy"))
        for one, other in (("o.npy", "./o.npy"), ("o.npy", "link.npy"), (self.path("o.npy"), "o.npy")):
            run = masu("sort", keys, "-o", one, "--values", labels, "--values-output", other, cwd=self.folder)
            self.assertEqual(run.returncode, 2)
            self.assertIn(b"must be two files", run.stderr)
        self.ok(*in_place, labels)
        self.same(np.load(keys), np.sort(sample("i1", 50)))

    def test_is_sorted(self):
        values = np.sort(sample("f4", 70_001))
        file = self.save_npy("a.npy", values)
        self.assertEqual(self.ok("sort", file, "--is-sorted"), b"")
        self.assertTrue(json.loads(self.ok("sort", file, "--is-sorted", "--json"))["sorted"])
        self.ok("sort", self.save_npy("d.npy", values[order_of(values, True)]), "--is-sorted", "--descending")
        values = np.arange(70_001, dtype="i4")
        for place in (1, 4096, 33_333, 70_000):
            values[place] = -1
            file = self.save_npy("b.npy", values)
            for more in ([], ["--memory", "1000"], ["--verify"]):
                self.fails(3, "sort", file, "--is-sorted", *more,
                           says=f"not sorted: element {place} is -1, after {place - 1}")
            result = masu("sort", file, "--is-sorted", "--json")
            self.assertEqual((result.returncode, json.loads(result.stdout)["first"]), (3, place))
            values[place] = place
        rows = self.save_npy("r.npy", np.tile(np.arange(100, dtype="u1"), 50))
        for more in ([], ["--memory", "64"]):
            self.ok("sort", rows, "--is-sorted", "--rows", "50", *more)
            self.fails(3, "sort", rows, "--is-sorted", "--rows", "25", *more, says="element 100 is 0, after 99")
        for nothing in ("zeros:u8:0", "zeros:f64:1"):
            self.ok("sort", nothing, "--is-sorted")
        self.fails(2, "sort", file, "--is-sorted", "-o", "x")

    def test_wrong_use(self):
        for arguments in (["--algorithm", "bubble"], ["--memory", "0"], ["--dtype", "u7"], ["--json"],
                          ["--rows", "x"], ["--device", "tpu"]):
            self.fails(2, "sort", "random:u8:10", *arguments)
        self.fails(1, "sort", self.path("absent.npy"), "-o", self.path("o.npy"))
        self.fails(1, "sort", "random:u8:10", "-o", self.path("absent/o.npy"))


class LimitsTest(CommandTest):
    def start(self, *arguments, **more):
        return subprocess.Popen([MASU, "sort", *map(str, arguments)], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                                **more)

    def test_memory_is_kept(self):
        """Beside --memory, sorting much takes more of the program's own pages, buffers of files, and a thread's stack."""
        beside = 3 << 20

        def peak(count, *arguments):
            with self.start(*arguments, "--device", "cpu", "--threads", "2", stdout=subprocess.PIPE) as run:
                run.stdout.read(count * 8 - 200_000)  # the rest does not fit into the pipe, so it lives
                with open(f"/proc/{run.pid}/status") as status:
                    most = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
                run.stdout.read()
                self.assertEqual(run.wait(), 0, run.stderr.read())
            return most * 1024

        least = peak(50_000, "random:u64:50000", "--memory", "64Ki")
        file = self.path("in.npy")
        np.save(file, np.random.default_rng(1).integers(0, 1 << 60, 4_000_000, dtype="u8"))  # 32 MB
        for memory in (1 << 20, 8 << 20):
            for more in ([], ["--index"], ["--values", file, "--values-output", self.path("v.npy")]):
                used = peak(4_000_000, file, "--memory", memory, *more)
                self.assertLess(used - least, memory + beside, (memory, more))

    def test_ended_in_the_middle(self):
        values = np.random.default_rng(1).integers(0, 1 << 60, 400_000, dtype="u8").tobytes()
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.start("-", "--input-format", "raw", "--dtype", "u64", "--memory", "256Ki", "--tmpdir",
                            self.folder, "-o", self.path("o.npy")) as run:
                run.stdin.write(values)  # and no end: by now there are runs
                run.stdin.flush()
                open_files = [os.readlink(f"/proc/{run.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{run.pid}/fd")]
                self.assertTrue(any(self.folder in name and "deleted" in name for name in open_files), open_files)
                run.send_signal(how)
                run.wait()
                expected = 130 if how == signal.SIGINT else -how
                self.assertEqual((run.returncode, run.stderr.read()), (expected, b""))
            left = os.listdir(self.folder)
            if how == signal.SIGKILL:  # nobody can remove what has a name
                left = [name for name in left if not name.endswith(".part")]
            self.assertEqual(left, [])

    def limited(self, bytes_of_a_file, *arguments):
        return masu("sort", *arguments, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (bytes_of_a_file, bytes_of_a_file)))

    def test_files_that_may_not_grow(self):
        for arguments in (["random:u64:1M", "--memory", "1Mi"], ["random:u64:1M"]):
            result = self.limited(1 << 20, *arguments, "--tmpdir", self.folder, "-o", self.path("o.npy"))
            self.assertEqual(result.returncode, 1)
            self.assertIn(b"File too large", result.stderr)
            self.assertEqual(result.stderr.count(b"\n"), 1)
            self.assertEqual(os.listdir(self.folder), [])

    def test_the_input_is_kept_when_sorting_in_place_fails(self):
        values = sample("u8", 200_000)
        file = self.save_npy("in.npy", values)
        with open(file, "rb") as before:
            content = before.read()
        for memory in ([], ["--memory", "256Ki"]):
            result = self.limited(1 << 20, file, "-o", file, "--tmpdir", self.folder, *memory)
            self.assertEqual(result.returncode, 1, result.stderr)
            with open(file, "rb") as after:
                self.assertEqual(after.read(), content)
        with open(self.path("short.npy"), "wb") as short:
            short.write(content[:-1])
        self.fails(1, "sort", self.path("short.npy"), "-o", file, says="short.npy")
        with self.start("-", "--input-format", "raw", "--dtype", "u64", "-o", file) as run:
            run.stdin.write(content)  # and no end
            run.stdin.flush()
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(), 130)
        with open(file, "rb") as after:
            self.assertEqual(after.read(), content)
        self.assertEqual(set(os.listdir(self.folder)), {"in.npy", "short.npy"})

    def test_full_disk(self):
        self.fails(1, "sort", "random:u64:100k", "-o", "/dev/full", says="No space left")
        self.fails(1, "sort", "random:u64:100k", "--memory", "64Ki", "--tmpdir", self.path("absent"), "-o",
                   self.path("o.npy"), says="cannot make a temporary file")
        disk = self.path("disk")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], stderr=subprocess.DEVNULL,
                          check=False).returncode != 0:
            self.skipTest("no file system can be mounted")
        try:
            self.fails(1, "sort", "random:u64:1M", "--memory", "1Mi", "--tmpdir", disk, "-o", self.path("o.npy"),
                       says="No space left")
            self.assertEqual(os.listdir(disk), [])
            self.fails(1, "sort", "random:u64:1M", "-o", f"{disk}/o.npy", says="No space left")
            self.assertEqual(os.listdir(disk), [])
        finally:
            subprocess.run(["umount", disk], check=True)
        self.assertEqual(os.listdir(self.folder), ["disk"])


if __name__ == "__main__":
    unittest.main()
