# SPDX-License-Identifier: Apache-2.0
"""masu run: wrong arguments, options and files, and absent devices."""

import json
import unittest

from command import CommandTest, masu, usable_devices


class RunUsage(CommandTest):
    """What needs no device."""

    def test_wrong_arguments(self):
        file = self.write("k.cl", "__kernel void f(__global int *x) { }\n")
        for text, says in (
            ("foo", "got 'foo'"), ("q=1", "got 'q=1'"), ("buffer", "got 'buffer'"), ("buffer=", "an INPUT"),
            ("buffer=,out=-", "an INPUT"), ("buffer=x,out=a,out=b", "out= is given twice"),
            ("buffer=x,dtype=u8,dtype=u8", "dtype= is given twice"), ("buffer=x,dtype=", "dtype= needs a value"),
            ("buffer=x,dtype=f33", "got 'f33'"), ("buffer=x,dtype=f32x4", "got 'f32x4'"), ("local=0", "got '0'"),
            ("local=-1", "got '-1'"), ("local=x", "got 'x'"), ("local=99Ti", "got '99Ti'"), ("u32=", "got ''"),
            ("u32=-1", "from 0 to 4294967295, got '-1'"), ("u32=1x", "got '1x'"), ("u32=1.5", "got '1.5'"),
                           ("u32= 1", "got ' 1'"),
            ("u8=256", "from 0 to 255"), ("i8=-129", "from -128 to 127"), ("i8=0x80", "from -128 to 127"),
                           ("u8=0x", "got '0x'"),
            ("u64=18446744073709551616", "18446744073709551615"), ("i64=9223372036854775808", "9223372036854775807"),
            ("f32=abc", "got 'abc'"), ("f32=1e39", "got '1e39'"), ("f64=1e309", "got '1e309'"),
                           ("f16=65520", "got '65520'"),
            ("f32=1,2", "f32 takes 1 value, got 2"), ("f32x4=1,2", "f32x4 takes 4 values, got 2"),
                           ("f32x5=1,2,3,4,5", "got 'f32x5'"),
            ("f32x=1", "got 'f32x'"), ("f32x4=1,,2,3", "got ''"),
        ):
            self.fails(2, "run", file, "--global", "1", "--arg", text, says=says)

    def test_wrong_options(self):
        file = self.write("k.cl", "__kernel void f(__global int *x) { }\n")
        for arguments, says in (
            (("--global", "0"), "--global"), (("--global", "-1"), "--global"),
                                (("--global", "1,2,3,4"), "1 to 3 sizes"),
            (("--global", "1,,2"), "--global"), (("--global", "x"), "--global"), (("--local", "0"), "--local"),
            (("--local", "1,"), "--local"), (("--repeat", "0"), "--repeat"), (("--repeat", "2M"), "--repeat"),
            (("--timeout", "-1"), "--timeout"), (("--timeout", "nan"), "--timeout"), (("--timeout", "1s"), "--timeout"),
            (("--language", "sycl"), "--language takes opencl or cuda"), (("--kernl", "f"), "did you mean --kernel?"),
            (("--device", "cuda:0"), "OpenCL C"), (("x.cl",), "unexpected argument x.cl"), (("--arg",), "--arg"),
            (("--arg", "buffer=zeros:u8:1,out=a", "--arg", "buffer=zeros:u8:1,out=a"), "two buffers"),
            (("--arg", "buffer=zeros:u8:1,out=a", "--arg", "buffer=zeros:u8:1,out=./a"), "two buffers"),
        ):
            self.fails(2, "run", file, *arguments, says=says)
        self.fails(2, "run", file, "--arg", f"buffer=zeros:u8:1,out={file}", says="is the kernel's file")
        self.fails(2, "run", says="FILE")

    def test_wrong_files(self):
        self.fails(1, "run", self.path("none.cl"), says="none.cl: cannot be opened")
        self.fails(1, "run", self.write("empty.cl", " \n"), says="it is empty")
        self.fails(1, "run", self.write("zero.cl", b"__kernel void f() { }\0"), says="zero bytes")
        self.fails(1, "run", self.folder, "--language", "opencl", says="is a directory")

    def test_no_such_device(self):
        if not usable_devices("cuda"):
            file = self.write("k.cu", "__global__ void f() { }\n")
            self.fails(1, "run", file, "--global", "1", says="no usable cuda device")
        file = self.write("k.cl", "__kernel void f() { }\n")
        nowhere = {"OCL_ICD_VENDORS": self.folder, "OPENCL_VENDOR_PATH": self.folder}
        listed = json.loads(masu("devices", "--json", env=nowhere).stdout)
        if any(device["usable"] and device["kind"] == "opencl" for device in listed):
            self.skipTest("a driver is found all the same")
        self.fails(1, "run", file, "--global", "1", env=nowhere, says="no usable opencl device")

    def test_no_kernel(self):
        if usable_devices("opencl"):
            self.fails(2, "run", self.write("k.cl", "void f(void) { }\n"), "--global", "1", says="has no kernel")


if __name__ == "__main__":
    unittest.main()
