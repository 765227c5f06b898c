# SPDX-License-Identifier: Apache-2.0
"""masu selftest: what it prints, and that each of its checks finds a device that computes nothing."""

import pathlib
import re
import subprocess
import unittest

from command import CommandTest, masu

STAND_INS = pathlib.Path(__file__).resolve().parents[1] / "fake_cuda"


class Selftest(CommandTest):
    def lines(self, result):
        """The lines of checks as (device, check, passed, failed), and the numbers of the last line."""
        *checks, last = result.stdout.decode().splitlines()
        found = [re.fullmatch(r"(\S+) (.+): (\d+) passed, (\d+) failed \(.+\)", line).groups() for line in checks]
        total = re.fullmatch(r"(\d+) passed, (\d+) failed", last).groups()
        return [(device, check, int(passed), int(failed)) for device, check, passed, failed in found], tuple(map(int, total))

    def test_quick(self):
        result = masu("selftest", "--quick", "--device", "cpu")
        checks, (passed, failed) = self.lines(result)
        self.assertEqual((result.returncode, failed, result.stderr), (0, 0, b""))
        self.assertEqual(passed, sum(check[2] for check in checks))
        self.assertEqual({check[0] for check in checks}, {"cpu"})
        names = " ".join(check[1] for check in checks)
        for word in ("histogram", "joint", "weighted", "sort by key", "argsort", "topk", "unique", "quantile", "search", "sum, mean",
                     "reduce", "dot", "scan", "transpose", "gather", "scatter", "compact", "convert"):
            self.assertIn(word, names)

    def stand_in(self, source, name, *options):
        subprocess.run(["cc", "-shared", "-fPIC", *options, "-o", self.path(name), STAND_INS / source], check=True)
        return self.path(name)

    def test_every_check_finds_a_device_that_computes_nothing(self):
        # A stand-in for CUDA's driver whose kernels do nothing.
        environment = {"MASU_CUDA_LIBRARY": self.stand_in("fake_cuda.c", "libcuda.so.1", "-DFAKE_CUDA_ANY"),
                       "MASU_NVRTC": self.stand_in("fake_nvrtc.c", "libnvrtc.so"), "MASU_CACHE": "off"}
        result = masu("selftest", "--device", "cuda:0", env=environment)
        checks, (_, failed) = self.lines(result)
        self.assertEqual(result.returncode, 3)
        self.assertEqual([check for check in checks if check[3] == 0], [])
        self.assertEqual(failed, sum(check[3] for check in checks))
        # A difference is reported with a command that shows it again.
        errors = result.stderr.decode()
        line = re.search(r"^cuda:0 sort: masu (sort random:\S+ .*) -o /dev/null: .*differ.*$", errors, re.M)
        self.assertIsNotNone(line, errors)
        again = masu(*line.group(1).split(), "-o", self.path("sorted.raw"), env=environment)
        self.assertEqual(again.returncode, 3, again.stderr)


if __name__ == "__main__":
    unittest.main()
