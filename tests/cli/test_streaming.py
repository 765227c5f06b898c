# SPDX-License-Identifier: Apache-2.0
"""Inputs larger than what is held: files in place, pipes, little memory, files that shrink."""

import array
import json
import os
import random
import subprocess
import threading
import time
import unittest

from command import MASU, CommandTest, npy


def numbers(count, seed=1):
    source = random.Random(seed)
    return array.array("f", (source.gauss(0, 1) for _ in range(count)))


class StreamingTest(CommandTest):
    def counts(self, *arguments, **more):
        found = self.json(*arguments, "--device", "cpu", **more)
        return {key: found[key] for key in ("edges", "counts", "below", "above", "nan", "n")}

    def test_little_memory_gives_the_same_counts(self):
        values = numbers(300_007)
        raw = self.write("v.raw", values.tobytes())
        array_file = self.write("v.npy", npy("<f4", (len(values),), values.tobytes()))
        big = values[:]
        big.byteswap()
        swapped = self.write("v.big", big.tobytes())
        odd = self.write("v.odd", b"x" + values.tobytes())
        as_raw = ["--input-format", "raw", "--dtype", "f32"]
        for bins in (["--bins", "37"], ["--bins", "37", "--range=-1:2"]):  # two passes, and one
            expected = self.counts(array_file, *bins, "--memory", "1Gi")
            self.assertEqual(self.counts(raw, *as_raw, *bins), expected)
            for memory in ("1Mi", "64Ki", "4099"):
                limit = ["--memory", memory]
                self.assertEqual(self.counts(array_file, *bins, *limit), expected, memory)
                self.assertEqual(self.counts(raw, *as_raw, *bins, *limit), expected, memory)
                self.assertEqual(self.counts(swapped, *as_raw, "--endian", "big", *bins, *limit), expected, memory)
                self.assertEqual(self.counts(odd, *as_raw, "--offset", "1", *bins, *limit), expected, memory)
                piped = self.counts("-", *as_raw, *bins, *limit, "--tmpdir", self.folder, stdin=values.tobytes())
                self.assertEqual(piped, expected, memory)

    def test_little_memory_for_the_exact_oracle(self):
        data = bytes(random.Random(2).randrange(256) for _ in range(100_003))
        file = self.write("b.raw", data)
        for memory in ("1", "1000", "1Mi"):
            found = self.json(file, "--input-format", "raw", "--dtype", "u8", "--memory", memory, "--device", "cpu")
            counts = [0] * 256
            for byte in data:
                counts[byte] += 1
            self.assertEqual(found["counts"], counts, memory)

    def test_standard_input_that_is_a_file_begins_where_it_stands(self):
        values = numbers(1000)
        file = self.write("v.raw", b"head" + values.tobytes())
        expected = self.counts("-", "--input-format", "raw", "--dtype", "f32", "--bins", "9", stdin=values.tobytes())
        with open(file, "rb", buffering=0) as handle:
            handle.seek(4)
            run = subprocess.run([MASU, "histogram", "-", "--input-format", "raw", "--dtype", "f32", "--bins", "9",
                                  "--device", "cpu", "--json"], stdin=handle, stdout=subprocess.PIPE, check=True)
        found = json.loads(run.stdout)
        self.assertEqual({key: found[key] for key in expected}, expected)

    def peak_of(self, arguments, feed=None):
        """Peak memory of a run in bytes, and what it found; `feed` writes to its standard input."""
        with subprocess.Popen([MASU, "histogram", *arguments, "--device", "cpu", "--json"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            writer = threading.Thread(target=feed or (lambda _: None), args=(process.stdin,))
            writer.start()
            writer.join()
            process.stdin.close()
            output = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024, json.loads(output)

    def test_a_long_pipe_takes_no_more_memory_than_a_short_one(self):
        block = bytes(range(256)) * 4096  # 1 MiB
        raw = ["-", "--input-format", "raw", "--dtype", "u8", "--memory", "1Mi"]

        def feed(times):
            def write(pipe):
                for _ in range(times):
                    pipe.write(block)
            return write

        short, _ = self.peak_of(raw, feed(1))
        long, found = self.peak_of(raw, feed(300))
        self.assertEqual(found["counts"], [300 * 4096] * 256)
        self.assertLess(long - short, 16 << 20)
        # The second pass reads what was spooled.
        ranged = ["-", "--input-format", "raw", "--dtype", "u16", "--bins", "10", "--memory", "1Mi", "--tmpdir",
                  self.folder]
        again, found = self.peak_of(ranged, feed(100))
        self.assertEqual(sum(found["counts"]), 100 << 19)
        self.assertLess(again - short, 16 << 20)

    def test_a_generator_is_not_held(self):
        small, _ = self.peak_of(["random:u8:1Mi", "--memory", "1Mi"])
        large, found = self.peak_of(["random:u8:256Mi", "--memory", "1Mi"])
        self.assertEqual(sum(found["counts"]), 256 << 20)
        self.assertLess(large - small, 16 << 20)

    def test_a_file_that_shrinks_meanwhile_is_an_error(self):
        file = self.path("s.raw")
        for _ in range(20):
            with open(file, "wb") as handle:
                handle.truncate(64 << 20)
            with subprocess.Popen([MASU, "histogram", file, "--input-format", "raw", "--dtype", "u8", "--memory",
                                   "1000", "--device", "cpu"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                while process.poll() is None and not self.maps(process.pid, file):
                    time.sleep(0.001)
                os.truncate(file, 5000)
                output, errors = process.communicate(timeout=100)
            if process.returncode == 0:  # it was done before
                continue
            self.assertEqual(process.returncode, 1, errors)
            self.assertEqual(output, b"")
            self.assertIn(b"the file shrank while it was read, to 5000 of 67108864 bytes", errors)
            self.assertEqual(errors.count(b"\n"), 1)
            return
        self.fail("masu was always done before the file shrank")

    def maps(self, pid, file):
        try:
            with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
                return file in maps.read()
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
