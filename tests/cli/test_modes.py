# SPDX-License-Identifier: Apache-2.0
"""The command beside a preloaded library that sets another floating-point mode when it is opened, as those do that were built
with -ffast-math: the same output."""

import os
import platform
import shutil
import struct
import subprocess
import unittest

import numpy

from command import CommandTest

SOURCE = """
#include <fenv.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
static void flush(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }
#else
static void flush(void) {
  unsigned long long x;
  __asm__ volatile("mrs %0, fpcr" : "=r"(x));
  __asm__ volatile("msr fpcr, %0" : : "r"(x | 1ull << 24));
}
#endif
__attribute__((constructor)) static void begin(void) { MODE; }
"""
MODES = {"flush": "flush()", "upward": "fesetround(FE_UPWARD); (void)flush", "downward": "fesetround(FE_DOWNWARD); (void)flush",
         "toward_zero": "fesetround(FE_TOWARDZERO); (void)flush"}


class Modes(CommandTest):
    def setUp(self):
        super().setUp()
        compiler = shutil.which(os.environ.get("CC", "cc"))
        if compiler is None or platform.machine() not in ("x86_64", "aarch64"):
            self.skipTest("no C compiler for this processor's modes")
        self.libraries = {}
        for name, mode in MODES.items():
            source = self.write(f"{name}.c", SOURCE.replace("MODE", mode))
            self.libraries[name] = self.path(f"{name}.so")
            subprocess.run([compiler, "-shared", "-fPIC", "-o", self.libraries[name], source, "-lm"], check=True)

    def all_same(self, *arguments, want=None, **more):
        """The output in every mode is that without one."""
        usual = self.ok(*arguments, **more)
        if want is not None:
            self.assertEqual(usual, want)
        for name, library in self.libraries.items():
            with self.subTest(mode=name, arguments=arguments):
                self.assertEqual(self.ok(*arguments, env={"LD_PRELOAD": library, "LSAN_OPTIONS": "detect_leaks=0"}, **more), usual)

    def test_a_last_edge_of_zero_ends(self):
        path = self.write("neg.raw", struct.pack("<d", -1.0) * 4096)
        self.all_same("histogram", path, "--input-format", "raw", "--dtype", "f64", "--edges=-10,-3,0", "--format", "csv")

    def test_decimal_text(self):
        lines = "0.651592972722763\n5e-324\n1e-310\n0.1\n" + "".join(f"0.{i * 104729}\n{i * 7919}e-{i % 40}\n" for i in range(1, 1500))
        path = self.write("numbers.txt", lines)
        for dtype in ("f64", "f32"):
            self.all_same("sort", path, "--dtype", dtype)
            self.all_same("reduce", path, "--dtype", dtype, "--op", "sum,mean,variance,min,max")
            self.all_same("quantile", path, "--dtype", dtype, "-q", "0.1,0.5,0.9")
            self.all_same("scan", path, "--dtype", dtype)

    def test_subnormal_numbers(self):
        numbers = self.save_npy("thin.npy", numpy.full(3, 1e-40, "f4"))
        self.all_same("convert", numbers, "--to", "f64", want=struct.pack("<3d", *3 * [float(numpy.float32(1e-40))]))
        units = self.write("units.txt", "5e-324\n1.5e-323\n1e-323\n")
        self.all_same("unique", units, want=b"   value  count\n  5e-324      1\n  1e-323      1\n1.5e-323      1\n")
        self.all_same("reduce", units, "--op", "sum")
        self.all_same("topk", units, "-k", "2")
        self.all_same("scan", units)

    def test_verify(self):
        self.all_same("reduce", "random:f64:100k", "--op", "sum", "--verify")


if __name__ == "__main__":
    unittest.main()
