# SPDX-License-Identifier: Apache-2.0
"""What the command does when something is wrong: one clear line, the right status, nothing partial left."""

import json
import os
import resource
import signal
import subprocess
import tempfile
import time
import unittest

from command import MASU, CommandTest, bmp24, masu, npy


class ClosedStreams(CommandTest):
    def test_output_file_with_closed_standard_output(self):
        with tempfile.TemporaryDirectory() as folder:
            command = f"exec '{MASU}' histogram zeros:u8:3 -o out.json >&-"
            run = subprocess.run(["sh", "-c", command], cwd=folder, stderr=subprocess.PIPE)
            self.assertEqual((run.returncode, run.stderr), (0, b""))
            self.assertEqual(os.listdir(folder), ["out.json"])
            with open(os.path.join(folder, "out.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["n"], 3)

    def test_closed_standard_output(self):
        run = subprocess.run(["sh", "-c", f"exec '{MASU}' histogram zeros:u8:3 >&-"], stderr=subprocess.PIPE)
        self.assertEqual(run.returncode, 1)
        self.assertIn(b"standard output: writing failed", run.stderr)


class Memory(CommandTest):
    def test_more_bins_than_memory(self):
        for arguments in (["random:u32:10", "--integers", "2147483648"], ["random:u8:10", "--bins", "2147483648"]):
            command = ["sh", "-c", 'ulimit -v 12000000; exec "$0" histogram "$@" --format csv', MASU, *arguments]
            run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(run.returncode, 1)
            self.assertRegex(run.stderr, rb"histogram: 2147483648 bins need [0-9]{11} bytes of memory")
            self.assertEqual(run.stderr.count(b"\n"), 1)


class Usage(CommandTest):
    def test_without_an_input_standard_input_is_read(self):
        for arguments in (["sort"], ["sort", "--descending", "--dtype", "u8"], ["unique", "--json"], ["topk", "-k", "2"], ["reduce"]):
            run = masu(*arguments, stdin=b"3\n1\n2\n")
            self.assertEqual(run.returncode, 0, run.stderr)
            named = masu(arguments[0], "-", *arguments[1:], stdin=b"3\n1\n2\n")
            self.assertEqual([line for line in run.stdout.split() if b"seconds" not in line],
                             [line for line in named.stdout.split() if b"seconds" not in line])
        self.assertIn(b"unknown option --bogus", masu("sort", "--bogus", stdin=b"1").stderr)
        terminal, other = os.openpty()
        for descriptor in terminal, other:
            self.addCleanup(os.close, descriptor)
        run = subprocess.run([MASU, "histogram"], stdin=other, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((run.returncode, b"INPUT is required" in run.stderr), (2, True))

    def test_wrong_use(self):
        for arguments, says in (
            (["histogran", "x"], "did you mean histogram?"),
            (["srot", "x"], "did you mean sort?"),
            (["foo", "sort", "x"], "unknown command foo"),
            (["help", "foo"], "unknown command foo"),
            (["help", "sort", "topk"], "help takes one COMMAND"),
            (["--bogus"], "unknown option --bogus"),
            (["histogram", "zeros:u8:3", "--cumul"], "did you mean --cumulative?"),
            (["histogram", "zeros:u8:3", "--bins", "3", "--bins", "4"], "--bins is given twice"),
            (["histogram", "zeros:u8:3", "--bin", "3"], "did you mean --bins?"),
            (["histogram", "zeros:u8:3", "--densty"], "did you mean --density?"),
            (["histogram", "zeros:u8:3", "--bins", "0"], "--bins"),
            (["histogram", "zeros:u8:3", "--bins", "-1"], "--bins"),
            (["histogram", "zeros:u8:3", "--bins", "freedman"], "or a rule (auto, fd,"),
            (["histogram", "zeros:u8:3", "--bins", "1;2"], "--bins"),
            (["histogram", "zeros:u8:3", "--joint", "--bins", "1;2;3", "--range", "0:1;0:1"], "3 columns"),
            (["histogram", "zeros:u8:3", "--joint", "--bins", "1;2"], "bins are given for 2 columns"),
            (["histogram", "zeros:u8:3", "--joint", "--rows", "3"], "exclude each other"),
            (["histogram", "zeros:u8:3", "--joint", "--cumulative"], "exclude each other"),
            (["histogram", "zeros:u8:3", "--joint", "--edges", "0,1;3,2"], "must not decrease"),
            (["histogram", "zeros:u8:3", "--rows", "2"], "--rows 2 must divide the 3 values"),
            (["histogram", "zeros:u8:6", "--rows", "2", "--channels", "2"], "3 values of each of the 2 channels"),
            (["histogram", "zeros:u8:3", "--rows", "0"], "--rows"),
            (["histogram", "zeros:u8:3", "--rows", "2Mi"], "--rows"),
            (["histogram", "zeros:u8:3", "--region", "1,2,3"], "--region takes X,Y,W,H"),
            (["histogram", "zeros:u8:3", "--region", "1,2,3,4,5"], "--region"),
            (["histogram", "zeros:u8:3", "--region", "0,0,0,1"], "--region"),
            (["histogram", "zeros:u8:3", "--region", "-1,0,1,1"], "--region"),
            (["histogram", "zeros:u8:3", "--region", "0,0,a,1"], "--region"),
            (["histogram", "zeros:u8:3", "--pitch", "3"], "--pitch needs --region"),
            (["histogram", "zeros:u8:3", "--pitch", "0", "--region", "0,0,1,1"], "--pitch"),
            (["histogram", "zeros:u8:3", "--plot", "a.gif"], ".svg"),
            (["histogram", "zeros:u8:3", "--bins", "3000000000"], "--bins"),
            (["histogram", "zeros:u8:3", "--bins"], "--bins needs a value: N|RULE"),
            (["histogram", "zeros:u8:3", "--bins", ""], "--bins got an empty value"),
            (["histogram", ""], "INPUT got an empty value"),
            (["histogram", "zeros:u8:3", "--range", "5"], "LO:HI"),
            (["histogram", "zeros:u8:3", "--range", "5:1"], "lo <= hi"),
            (["histogram", "zeros:u8:3", "--range", "nan:1"], "finite"),
            (["histogram", "zeros:u8:3", "--range", "0:inf"], "finite"),
            (["histogram", "zeros:u8:3", "--range", "0:1x"], "--range takes numbers"),
            (["histogram", "zeros:u8:3", "--range", "0:1e999"], "--range"),
            (["histogram", "zeros:u8:3", "--edges", "1,0"], "must not decrease"),
            (["histogram", "zeros:u8:3", "--edges", "1,nan,2"], "NaN"),
            (["histogram", "zeros:u8:3", "--edges", "1"], "at least 2"),
            (["histogram", "zeros:u8:3", "--edges", "1,,2"], "--edges takes numbers"),
            (["histogram", "zeros:u8:3", "--edges", "1,2", "--bins", "3"], "exclude each other"),
            (["histogram", "zeros:u8:3", "--edges", "1,2", "--range", "0:3"], "exclude each other"),
            (["histogram", "zeros:u8:3", "--integers", "3", "--bins", "3"], "exclude each other"),
            (["histogram", "zeros:u8:3", "--integers", "0"], "--integers"),
            (["histogram", "zeros:f32:3", "--integers", "3"], "integers"),
            (["histogram", "zeros:u8:3", "--channels", "0"], "--channels"),
            (["histogram", "zeros:u8:3", "--channels", "17"], "--channels"),
            (["histogram", "zeros:u8:3", "--outside", "in"], "--outside takes drop or clamp"),
            (["histogram", "zeros:u8:3", "--strategy", "luck"], "lanes"),
            (["histogram", "zeros:u8:3", "--format", "xml"], "table, csv, tsv, json, npy, raw, uhi, png or pnm"),
            (["histogram", "zeros:u8:3", "--format", "csv", "--json"], "exclude each other"),
            (["histogram", "zeros:u8:3", "--device", "abacus"], "abacus"),
            (["histogram", "zeros:u8:3", "--threads", "0"], "--threads"),
            (["histogram", "zeros:u8:3", "--memory", "0"], "--memory"),
            (["histogram", "zeros:u8:3", "--memory", "lots"], "--memory"),
            (["histogram", "zeros:u8:3", "--progress", "often"], "--progress takes auto, always or never"),
            (["histogram", "x", "--dtype", "u9"], "u9"),
            (["histogram", "x", "--endian", "middle", "--dtype", "u8"], "--endian takes little or big"),
            (["histogram", "x", "--input-format", "tape"], "tape"),
            (["histogram", "x", "--count", "many", "--dtype", "u8"], "--count"),
            (["histogram", "random:u9:3"], "u9"),
            (["histogram", "random:u8:x"], "x"),
            (["histogram", "random:u8:3:dist=odd"], "odd"),
            (["dot", "zeros:u8:3"], "two INPUTs, or one INPUT and --column twice; got 1 INPUT and 0 --column"),
            (["convert", "zeros:u8:3", "--to", "foo"], "--to takes u8, i8,"),
            (["histogram", "x", "--dtype", "foo"], "--dtype takes u8, i8,"),
            (["histogram", "zeros:u8:3", "--threads", "0"], "from 1 to 65536, got '0'"),
            (["histogram", "zeros:u8:3", "--memory", "10Gb"], "1e6, 10MB), got '10Gb'"),
            (["topk", "zeros:u8:3", "-k"], "-k needs a value: K"),
            (["devices", "--jsonn"], "did you mean --json?"),
            (["devices", "x"], "unexpected argument x"),
            (["selftest", "--device", "abacus"], "abacus"),
        ):
            with self.subTest(arguments):
                self.fails(2, *arguments, says=says)

    def test_no_guess_where_no_name_is_near(self):
        for option in ("--zzz", "--bogus", "--elephant"):
            self.assertTrue(self.fails(2, "histogram", "zeros:u8:3", option).endswith(f"unknown option {option}\n"))

    def test_names_the_command(self):
        self.assertTrue(self.fails(2, "histogram", "zeros:u8:3", "--bins", "0").startswith("masu histogram: "))
        self.assertTrue(self.fails(2, "hist", "zeros:f32:3", "--integers", "3").startswith("masu histogram: "))

    def test_absent_device(self):
        self.fails(1, "histogram", "zeros:u8:3", "--device", "opencl:99", says="opencl:99")
        self.fails(1, "histogram", "zeros:u8:3", "--device", "cuda:99", says="cuda")


class BadInput(CommandTest):
    def test_files(self):
        image = bmp24(9, 7, lambda x, y: (x, y, 0))
        array = npy("<f8", (100,), bytes(800))
        for name, data, options in (
            ("short.bmp", image[:-20], []),
            ("header.bmp", image[:20], []),
            ("short.npy", array[:-1], []),
            ("lie.npy", npy("<f8", (10**15,), bytes(80)), []),
            ("complex.npy", npy("<c16", (5,), bytes(80)), []),
            ("odd.raw", b"\0\1\2\3\4", ["--dtype", "f32"]),
        ):
            with self.subTest(name):
                self.fails(1, "histogram", self.write(name, data), *options, says=name)
        self.fails(1, "histogram", self.path("absent"), says="absent")
        self.fails(1, "histogram", self.folder, "--dtype", "u8")
        self.fails(1, "histogram", "zeros:u8:3", "--edges", "@" + self.path("absent"), says="absent")
        self.fails(1, "histogram", "zeros:u8:3", "--edges", "@" + self.write("e", "1 2 x"), says="e")

    def test_a_name_with_a_line_break_stays_one_line(self):
        self.fails(1, "histogram", self.path("a\nb"))

    def test_first_results_stay_when_a_later_input_fails(self):
        result = masu("histogram", "zeros:u8:3", self.path("absent"), "--json")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.count(b"\n"), 1)
        masu("histogram", "zeros:u8:3", self.path("absent"), "--json", "-o", self.path("out.json"))
        self.assertEqual(os.listdir(self.folder), [])


class Endings(CommandTest):
    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            for arguments in (["histogram", "zeros:u8:3", "--json"], ["devices"], ["--help"], ["--version"],
                              ["histogram", "zeros:u8:3", "--format", "npy"]):
                self.fails(1, *arguments, stdout=full, says="No space left")

    def test_a_plot_without_its_histogram(self):
        plot = self.path("p.svg")
        self.fails(1, "histogram", "iota:u8:9", "--json", "-o", "/dev/full", "--plot", plot, says="No space left")
        self.assertFalse(os.path.exists(plot))

    def test_output_that_cannot_be_made(self):
        self.fails(1, "histogram", "zeros:u8:3", "-o", self.path("no/folder.json"), says="no/folder.json")
        with open(self.write("kept.json", "old"), "rb") as kept:
            self.fails(1, "histogram", self.path("absent"), "-o", self.path("kept.json"))
            self.assertEqual(kept.read(), b"old")
        self.assertEqual(os.listdir(self.folder), ["kept.json"])

    def test_reader_that_goes_away(self):
        for form in ("json", "csv", "npy"):
            with subprocess.Popen([MASU, "histogram", "zeros:u32:10", "--bins", "1M", "--range", "0:1", "--quiet",
                                   "--format", form], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                process.stdout.read(10)
                process.stdout.close()
                self.assertEqual((process.stderr.read(), process.wait()), (b"", 0), form)

    def interrupt(self, arguments, stop, stdin=None):
        with subprocess.Popen([MASU, *arguments], stdin=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            if stdin is not None:
                try:
                    process.stdin.write(b"1.5 2.5\n" * 100000)
                    process.stdin.flush()
                except BrokenPipeError:
                    pass
            time.sleep(0.4)
            self.assertIsNone(process.poll(), process.stderr)
            process.send_signal(stop)
            status = process.wait(timeout=20)
            self.assertEqual(process.stdout.read(), b"")
            if stdin is not None:
                process.stdin.close()
        self.assertEqual(os.listdir(self.folder), [])
        return status

    def test_interrupt(self):
        generator = ["histogram", "random:u8:8Ti", "-o", self.path("out.json"), "--device", "cpu"]
        self.assertEqual(self.interrupt(generator, signal.SIGINT), 130)
        self.assertEqual(self.interrupt(generator, signal.SIGTERM), -signal.SIGTERM)
        several = ["histogram", "zeros:u8:3", "random:f32:1Ti", "-o", self.path("out.csv"), "--device", "cpu"]
        self.assertEqual(self.interrupt(several, signal.SIGINT), 130)

    def test_signals_at_any_time(self):
        for stop in (signal.SIGINT, signal.SIGXCPU, signal.SIGTERM):
            for delay in (0, 0.002, 0.01, 0.03, 0.1):
                # On the CPU: an OpenCL driver made with LLVM has a handler of its own, which swallows the first SIGXCPU.
                with subprocess.Popen([MASU, "histogram", "zeros:u8:3", "random:u8:8Ti", "-o", self.path("out.json"),
                                       "--device", "cpu"], stderr=subprocess.PIPE) as process:
                    time.sleep(delay)
                    process.send_signal(stop)
                    try:
                        self.assertIn(process.wait(timeout=60), (-stop, 130), (stop, delay))
                    finally:
                        process.kill()
                self.assertEqual(os.listdir(self.folder), [], (stop, delay))

    def test_kills_at_any_time(self):
        """No handler can tidy up after these."""
        self.ok("convert", "iota:u8:9", "--to", "u8", "-o", self.path("first.npy"))
        probe = subprocess.Popen([MASU, "histogram", "zeros:u8:3", "random:u8:8Ti", "-o", self.path("out.json"), "--device",
                                  "cpu"], stderr=subprocess.PIPE)
        with probe:
            time.sleep(0.3)
            named = any(name.endswith(".part") for name in os.listdir(self.folder))
            probe.kill()
        if named:
            self.skipTest("the file system has no files without a name")
        for out in ("out.json", "first.npy"):
            for delay in (0, 0.002, 0.01, 0.03, 0.1):
                command = ["histogram", "zeros:u8:3", "random:u8:8Ti", "--device", "cpu"] if out == "out.json" else [
                    "convert", "random:u8:8Ti", "--to", "u8", "--device", "cpu"]
                limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2**30, 2**30))
                with subprocess.Popen([MASU, *command, "-o", self.path(out)], stderr=subprocess.PIPE,
                                      preexec_fn=limit) as process:
                    time.sleep(delay)
                    process.kill()
                    process.wait(timeout=60)
                self.assertEqual(os.listdir(self.folder), ["first.npy"], (out, delay))
        self.assertEqual(os.path.getsize(self.path("first.npy")), 128 + 9)

    def test_without_proc(self):
        """Then no file without a name can be given one: it has another name first."""
        hidden = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" "$@"', MASU]
        try:
            tried = subprocess.run([*hidden[:-1], "true"], capture_output=True, check=False)
        except FileNotFoundError:
            self.skipTest("needs unshare")
        if tried.returncode != 0:
            self.skipTest("needs a mount namespace")
        for text in ("1\n2\n", "1\n2\n3\n"):
            subprocess.run([*hidden, "sort", self.write("in.txt", text), "-o", self.path("out.txt")], check=True)
            with open(self.path("out.txt"), encoding="ascii") as file:
                self.assertEqual(file.read(), text)
            self.assertEqual(sorted(os.listdir(self.folder)), ["in.txt", "out.txt"])
        arguments = [*hidden, "histogram", "zeros:u8:3", "random:u8:8Ti", "-o", self.path("a.json"), "--device", "cpu"]
        with subprocess.Popen(arguments, stderr=subprocess.PIPE) as process:
            while not any(name.endswith(".part") for name in os.listdir(self.folder)):
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            process.terminate()
            process.wait(timeout=60)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.txt", "out.txt"])

    def test_limit_of_time(self):
        result = masu("histogram", "zeros:u8:3", "random:u8:8Ti", "-o", self.path("out.json"),
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, 10)))
        self.assertEqual((result.returncode, os.listdir(self.folder)), (-signal.SIGXCPU, []))

    def test_input_that_is_rewritten(self):
        path = self.write("a.txt", "2\n1\n")
        os.chmod(path, 0o640)
        if os.geteuid() == 0:
            os.chown(path, 1234, 2345)
        before = os.stat(path)
        os.symlink("a.txt", self.path("link.txt"))
        self.ok("sort", self.path("link.txt"), "-o", self.path("link.txt"))
        after = os.stat(path)
        self.assertEqual((after.st_mode, after.st_uid, after.st_gid), (before.st_mode, before.st_uid, before.st_gid))
        self.assertTrue(os.path.islink(self.path("link.txt")))
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"1\n2\n")
        os.symlink("b.txt", self.path("dangling.txt"))
        self.ok("sort", path, "-o", self.path("dangling.txt"))
        self.assertFalse(os.path.islink(self.path("b.txt")))
        self.assertTrue(os.path.islink(self.path("dangling.txt")))
        self.assertEqual(len(os.listdir(self.folder)), 4)

    def test_interrupt_while_a_stream_is_kept(self):
        arguments = ["histogram", "-", "--tmpdir", self.folder, "--memory", "64Ki"]
        self.assertEqual(self.interrupt(arguments, signal.SIGINT, stdin=subprocess.PIPE), 130)


if __name__ == "__main__":
    unittest.main()
