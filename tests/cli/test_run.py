# SPDX-License-Identifier: Apache-2.0
"""masu run: arguments, launches, results, and what it says when something is wrong."""

import json
import os
import shutil
import signal
import struct
import subprocess
import time
import unittest

from command import MASU, CommandTest, masu, npy, usable_devices

# Texts in both languages, behind the same names.
COMMON = {
    "opencl": "#define KERNEL __kernel\n#define GLOBAL __global\n#define ID get_global_id(0)\n",
    "cuda": "#define KERNEL extern \"C\" __global__\n#define GLOBAL\n"
            "#define ID (blockIdx.x * blockDim.x + threadIdx.x)\ntypedef unsigned int uint;\n",
}
ENDING = {"opencl": ".cl", "cuda": ".cu"}
SAXPY = ("KERNEL void saxpy(GLOBAL float *y, const GLOBAL float *x, float a, uint n) {\n"
         "  if (ID < n) y[ID] = a * x[ID] + y[ID];\n}\n")
TWO = ("KERNEL void one_more(GLOBAL int *x) { x[ID] += 1; }\n"
       "KERNEL void twice(GLOBAL int *x) { x[ID] *= 2; }\n")
COPY = {"u8": "uchar", "i8": "char", "u16": "ushort", "i16": "short", "u32": "uint", "i32": "int", "u64": "ulong",
        "i64": "long", "f32": "float", "f64": "double"}


class RunTest(CommandTest):
    kind = "opencl"

    def setUp(self):
        super().setUp()
        if not usable_devices(self.kind):
            self.skipTest(f"no {self.kind} device")

    def kernel(self, text, name="kernel"):
        return self.write(name + ENDING[self.kind], COMMON[self.kind] + text)

    def needs_pocl(self):
        """What is PoCL's way, or only harmless there."""
        names = {device["id"]: device["name"] for device in json.loads(masu("devices", "--json").stdout)}
        if not names["opencl:0"].startswith("pthread"):
            self.skipTest("the device is not PoCL's")

    def opencl(self, text, name="kernel.cl"):
        return self.write(name, text)

    def run_ok(self, *arguments, **more):
        return self.ok("run", *arguments, **more).decode()

    def values(self, *arguments, **more):
        return self.run_ok(*arguments, **more).split()


class Both:
    """What a run does on OpenCL and on CUDA devices alike."""

    def test_saxpy(self):
        for n in (1, 31, 65537):
            x = [struct.unpack("f", struct.pack("f", i * 0.25))[0] for i in range(n)]
            data = self.write("x.npy", npy("<f4", f"({n},)", struct.pack(f"<{n}f", *x)))
            got = self.values(self.kernel(SAXPY), "--arg", f"buffer=iota:f32:{n},out=-", "--arg", f"buffer={data}",
                              "--arg", "f32=2", "--arg", f"u32={n}")
            self.assertEqual([float(v) for v in got], [i * 1.5 for i in range(n)])

    def test_outputs_by_their_ending(self):
        file = self.kernel(SAXPY)
        more = ("--arg", "buffer=iota:f32:4", "--arg", "f32=0.1", "--arg", "u32=4")
        got = {}
        for name in ("a.npy", "b,=.txt", "c.csv", "d.raw"):
            self.assertEqual(self.run_ok(file, "--arg", f"buffer=zeros:f32:4,out={self.path(name)}", *more), "")
            with open(self.path(name), "rb") as result:
                got[name[0]] = result.read()
        expected = struct.pack("<4f", 0, 0.1, 0.2, struct.unpack("f", struct.pack("f", 0.1))[0] * 3)
        self.assertEqual(got["b"], b"0\n0.1\n0.2\n0.3\n")
        self.assertEqual(got["c"], got["b"])
        self.assertEqual(got["d"], expected)
        self.assertTrue(got["a"].endswith(expected))
        self.assertIn(b"'descr': '<f4'", got["a"])
        self.assertEqual(sorted(os.listdir(self.folder)),
                         sorted(["a.npy", "b,=.txt", "c.csv", "d.raw", os.path.basename(file)]))

    def test_the_input_file_may_be_the_output(self):
        data = self.write("x.raw", struct.pack("<3i", 1, 2, 3))
        self.run_ok(self.kernel(TWO), "--kernel", "twice", "--arg", f"buffer={data},dtype=i32,out={data}")
        with open(data, "rb") as file:
            self.assertEqual(struct.unpack("<3i", file.read()), (2, 4, 6))

    def test_kernel_by_name(self):
        file = self.kernel(TWO)
        self.assertEqual(self.values(file, "--kernel", "twice", "--arg", "buffer=iota:i32:3,out=-"), ["0", "2", "4"])
        self.assertEqual(self.values(file, "--kernel=one_more", "--arg", "buffer=iota:i32:3,out=-"), ["1", "2", "3"])
        self.fails(2, "run", file, "--arg", "buffer=iota:i32:3", says="one of one_more, twice")
        self.fails(2, "run", file, "--kernel", "thrice", "--arg", "buffer=iota:i32:3",
                   says="has the kernels one_more, twice")

    def test_repeat_runs_on_the_same_buffers(self):
        file = self.kernel(TWO)
        for times in (2, 257, 1000):
            got = self.values(file, "--kernel", "one_more", "--repeat", times, "--arg", "buffer=iota:i32:3,out=-")
            self.assertEqual(got, [str(times + i) for i in range(3)])

    def test_several_results_have_headings(self):
        got = self.run_ok(self.kernel(SAXPY), "--arg", "buffer=iota:f32:2,out=-", "--arg", "buffer=iota:f32:2,out=-",
                          "--arg", "f32=1", "--arg", "u32=2").splitlines()
        self.assertEqual([got[1], got[2], got[4], got[5]], ["0", "2", "0", "1"])
        self.assertRegex(got[0], r"^# argument 0( \(y\))?: 2 f32$")
        self.assertRegex(got[3], r"^# argument 1( \(x\))?: 2 f32$")

    def test_expect(self):
        arguments = ("run", self.kernel(TWO), "--kernel", "one_more", "--arg", "buffer=iota:i32:5")
        want = self.write("want.txt", "1 2 3 4 5\n")
        self.assertEqual(self.ok(*arguments, "--expect", f"0={want}"), b"")
        other = self.write("other.txt", "1 2 9 4 7\n")
        says = self.fails(3, *arguments, "--expect", f"0={other}",
                          says="2 of 5 elements differ, the first is number 2: expected 9, got 3")
        self.assertIn("argument 0", says)
        self.fails(3, *arguments, "--expect", f"0={self.write('short.txt', '1 2 3')}",
                   says="3 elements were expected, it has 5")
        self.fails(3, *arguments, "--expect", f"0={self.write('long.txt', '1 2 3 4 5 6')}",
                   says="6 elements were expected, it has 5")
        told = masu(*arguments, "--expect", f"0={other}", "--json")
        self.assertEqual(told.returncode, 3)
        found = json.loads(told.stdout)["expect"][0]
        self.assertEqual((found["argument"], found["equal"], found["elements"], found["differing"]), (0, False, 5, 2))
        self.assertEqual(found["first"], {"index": 2, "expected": 9, "got": 3})
        self.fails(2, *arguments, "--expect", "0=iota:f32:5", says="the buffer holds i32")
        self.fails(1, *arguments, "--expect", f"0={self.write('bad.txt', '1 2 x 4 5')}",
                   says="entry 'x' is not a number")
        for text in ("iota:i32:5", "=iota:i32:5", "1=iota:i32:5", "nobody=iota:i32:5", "-1=iota:i32:5", "0="):
            self.fails(2, *arguments, "--expect", text, says="--expect")

    def test_json(self):
        told = json.loads(self.run_ok(
            self.kernel(SAXPY), "--json", "--repeat", 3, "--global", "4", "--local", "2", "--arg",
                                      "buffer=iota:f32:4,out=-",
            "--arg", f"buffer=iota:f32:4,out={self.path('x.raw')}", "--arg", "f32=inf", "--arg", "u32=4"))
        self.assertEqual((told["kernel"], told["language"], told["global"], told["local"], told["repeat"]),
                         ("saxpy", self.kind, [4], [2], 3))
        self.assertEqual(told["device"], usable_devices(self.kind)[0])
        self.assertEqual(told["outputs"][0]["values"], ["NaN", "Infinity", "Infinity", "Infinity"])
        self.assertEqual([(o["argument"], o["dtype"], o["count"]) for o in told["outputs"]],
                         [(0, "f32", 4), (1, "f32", 4)])
        self.assertEqual(told["outputs"][1]["file"], self.path("x.raw"))
        seconds = told["seconds"]
        self.assertEqual(set(seconds), {"compile", "input", "write", "kernel", "kernel_median", "read", "total"})
        self.assertTrue(0 < seconds["kernel"] <= seconds["kernel_median"] < seconds["total"], seconds)

    def test_time(self):
        result = masu("run", self.kernel(TWO), "--kernel", "twice", "--arg", "buffer=iota:i32:3,out=-", "--time",
                      "--quiet",
                      "--repeat", "5")
        self.assertEqual((result.returncode, result.stdout), (0, b"0\n32\n64\n"))
        self.assertRegex(result.stderr.decode(),
                         r"(?s)compile +[0-9.]+ s\n.*kernel +[0-9.]+ s \(the fastest of 5, their "
                                                 r"median [0-9.]+ s\)\nread.*total +[0-9.]+ s\n")

    def test_printf_of_the_kernel(self):
        file = self.kernel('KERNEL void f(GLOBAL int *x) { printf("item %d\\n", (int)ID); x[ID] = 7; }\n')
        printed = b"item 0\nitem 1\nitem 2\n"
        result = masu("run", file, "--arg", "buffer=zeros:i32:3", "--local", "1")
        self.assertEqual((result.returncode, sorted(result.stdout.splitlines())), (0, sorted(printed.splitlines())))
        self.assertNotIn(b"item", result.stderr)
        for more in ((), ("--json",)):
            result = masu("run", file, "--arg", "buffer=zeros:i32:3,out=-", "--local", "1", *more)
            self.assertEqual(result.returncode, 0)
            lines = [line for line in result.stderr.splitlines() if line.startswith(b"item")]
            self.assertEqual(sorted(lines), sorted(printed.splitlines()))
            if more:
                self.assertEqual(json.loads(result.stdout)["outputs"][0]["values"], [7, 7, 7])
            else:
                self.assertEqual(result.stdout, b"7\n7\n7\n")
        with open(self.path("both"), "wb") as both:  # nothing is lost where the two are one
            subprocess.run([MASU, "run", file, "--arg", "buffer=zeros:i32:3,out=-", "--local", "1", "--quiet"],
                           stdout=both,
                           stderr=both, check=True)
        with open(self.path("both"), "rb") as both:
            lines = both.read().splitlines()
        self.assertEqual(sorted(line for line in lines if line.startswith(b"item")), sorted(printed.splitlines()))
        self.assertEqual(lines[-3:], [b"7", b"7", b"7"])

    def test_does_not_compile(self):
        file = self.kernel("KERNEL void f(GLOBAL int *x) {\n  x[0] = y;\n}\n", "wrong")
        line = COMMON[self.kind].count("\n") + 2
        with open(file, "rb") as text:
            text = text.read()
        for run, stdin, name in ((file, b"", file), ("-", text, "<stdin>")):
            result = masu("run", run, "--language", self.kind, "--arg", "buffer=zeros:i32:1", stdin=stdin)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr.decode(), rf"{name}[:(]{line}\b")
            self.assertRegex(result.stderr.decode(), r"undeclared identifier 'y'|identifier \"y\" is undefined")
        self.assertEqual(masu("run", file, "--global", "1", "--options", "-nonsense=4 --no").returncode, 1)

    def test_options_of_the_compiler(self):
        file = self.kernel("KERNEL void f(GLOBAL int *x) { x[ID] = N + M; }\n")
        self.assertEqual(self.values(file, "--options", "-DN=40 -DM=2", "--arg", "buffer=zeros:i32:1,out=-"), ["42"])
        self.assertEqual(self.values(file, "--options=-DN=1 -DM=0", "--arg", "buffer=zeros:i32:1,out=-"), ["1"])

    def test_included_files(self):
        file = self.kernel('#include "number.h"\nKERNEL void f(GLOBAL int *x) { x[ID] = NUMBER; }\n')
        for number in ("1", "2"):
            self.write("number.h", f"#define NUMBER {number}\n")
            self.assertEqual(self.values(file, "--arg", "buffer=zeros:i32:1,out=-"), [number])
        folder = os.path.dirname(file)
        self.assertEqual(self.values(os.path.basename(file), "--arg", "buffer=zeros:i32:1,out=-", cwd=folder), ["2"])

    def test_three_dimensions(self):
        ids = ("get_global_id(0) + 10 * get_global_id(1) + 100 * get_global_id(2)" if self.kind == "opencl" else
               "(blockIdx.x * blockDim.x + threadIdx.x) + 10 * (blockIdx.y * blockDim.y + threadIdx.y) + "
               "100 * (blockIdx.z * blockDim.z + threadIdx.z)")
        file = self.kernel(f"KERNEL void f(GLOBAL int *x) {{ int id = {ids}; x[id] = id + 1; }}\n")
        expected = [x + 10 * y + 100 * z for z in range(2) for y in range(4) for x in range(6)]
        for local in ((), ("--local", "3,2,1"), ("--local", "6,4,2")):
            got = self.values(file, "--global", "6,4,2", *local, "--arg", "buffer=zeros:i32:200,out=-")
            self.assertEqual([i for i, value in enumerate(got) if value != "0"], expected)
        self.fails(2, "run", file, "--global", "6,4,2", "--local", "3,2", "--arg", "buffer=zeros:i32:200",
                   says="--local takes as many sizes as --global")

    def test_launches_that_cannot_be(self):
        file = self.kernel(SAXPY)
        buffers = ("--arg", "buffer=iota:f32:8", "--arg", "buffer=iota:f32:8")
        good = ("--arg", "f32=1", "--arg", "u32=8")
        for arguments, says in (
            ((), "takes 4 arguments"),
            ((*buffers, "--arg", "f32=1"), "takes 4 arguments"),
            ((*buffers, *good, "--arg", "u32=8"), "got 5"),
            ((*buffers, "--arg", "f64=1", "--arg", "u32=8"), "argument 2"),
            ((*buffers, "--arg", "f32x2=1,2", "--arg", "u32=8"), "argument 2"),
            ((*buffers, *good, "--global", "8", "--local", "1Mi"), "local"),
            ((*buffers, *good, "--global", "100,100", "--local", "100,100"),
             "at most" if self.kind == "opencl" else "<="),
            (("--arg", "buffer=iota:f32:8", "--arg", "buffer=iota:f32:9", *good), "--global is needed"),
            (("--arg", "buffer=iota:f32:0", "--arg", "buffer=iota:f32:0", *good), "--global is needed"),
        ):
            self.fails(2, "run", file, *(("--global", "8") if not arguments else ()), *arguments, says=says)
        self.assertEqual(self.run_ok(file, "--global", "5", "--arg", "buffer=zeros:f32:0,out=-", "--arg",
                                     "buffer=zeros:f32:0",
                                     "--arg", "f32=1", "--arg", "u32=0"), "")

    def test_data_that_cannot_be(self):
        file = self.kernel(TWO)
        one = ("run", file, "--kernel", "twice", "--global", "1", "--arg")
        self.fails(1, *one, "buffer=zeros:i32:100Ti", says="do not fit")
        self.fails(1, *one, f"buffer={self.path('nothing.npy')}", says="cannot be opened")
        self.fails(1, *one, f"buffer={self.write('odd.raw', b'12345')},dtype=i32,format=raw", says="5")
        self.fails(1, *one, f"buffer={self.write('text.txt', '1 two 3')},dtype=i32,format=text", says="entry 'two'")
        self.fails(1, *one, "buffer=-,dtype=f32", stdin=b"1 2 3e 4", says="1 of its entries")
        self.fails(2, *one, "buffer=iota:i32:1,dtype=f32", says="dtype")
        self.fails(2, *one, "buffer=iota:i32:x", says="size")
        self.fails(1, *one, f"buffer=iota:i32:1,out={self.path('no/such/folder')}", says="cannot be written")
        self.fails(1, *one, f"buffer=iota:i32:1,out={self.folder}", says="is a directory")
        self.assertEqual(sorted(os.listdir(self.folder)), sorted([os.path.basename(file), "odd.raw", "text.txt"]))

    def test_endless_kernel(self):
        file = self.kernel("KERNEL void spin(volatile GLOBAL uint *x) { while (x[0] == 0) x[1] += 1; }\n")
        arguments = (file, "--global", "1", "--arg", f"buffer=zeros:u32:2,out={self.path('out.npy')}")
        self.run_ok(file, "--global", "1", "--arg", "buffer=random:u32:2:lo=1")  # so that it is compiled
        began = time.monotonic()
        self.fails(1, "run", *arguments, "--timeout", "1.5",
                   says="the kernel spin did not end within 1.5 s (--timeout)")
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(os.listdir(self.folder), [os.path.basename(file)])
        with subprocess.Popen([MASU, "run", *arguments], stderr=subprocess.PIPE) as process:
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(30), 130)
            self.assertEqual(process.stderr.read(), b"")
        self.assertEqual(os.listdir(self.folder), [os.path.basename(file)])
        # The device is as good as before, and --timeout 0 waits for ever.
        self.assertEqual(self.values(self.kernel(TWO, "two"), "--kernel", "twice", "--timeout", "0", "--arg",
                                     "buffer=iota:i32:2,out=-"), ["0", "2"])


class OpenclRun(Both, RunTest):
    def test_every_dtype(self):
        for dtype, name in COPY.items():
            file = self.opencl(f"__kernel void copy(__global {name} *to, const __global {name} *from, {name} last) {{\n"
                               "  size_t i = get_global_id(0);\n  to[i] = i == 0 ? last : from[i];\n}\n")
            value = "0x7f" if dtype[0] != "f" else "0.1"
            got = self.values(file, "--arg", f"buffer=zeros:{dtype}:4,out=-", "--arg", f"buffer=iota:{dtype}:4",
                              "--arg",
                              f"{dtype}={value}")
            self.assertEqual(got, ["127" if dtype[0] != "f" else "0.1", "1", "2", "3"], dtype)
        half = self.opencl("__kernel void f(__global half *to, __global const half *from) {\n  size_t i = get_global_id(0);\n"
                           "  vstore_half(vload_half(i, from) * 0.5f, i, to);\n}\n")
        self.assertEqual(self.values(half, "--arg", "buffer=zeros:f16:4,out=-", "--arg", "buffer=iota:f16:4"),
                         ["0", "0.5", "1", "1.5"])

    def test_extreme_values(self):
        for dtype, texts in (("u8", ("0", "255", "0xFF")), ("i8", ("-128", "127", "+5")),
                             ("i16", ("-32768", "-0x8000")),
                             ("u32", ("4294967295", "4Ki")), ("i64", ("-9223372036854775808", "9223372036854775807")),
                             ("u64", ("18446744073709551615", "0xffffffffffffffff")),
                             ("f32", ("3.4028235e+38", "1e-45", "-0", "inf", "-inf", "nan", "0x1p-3", "16777217")),
                             ("f64", ("1.7976931348623157e+308", "5e-324", "0.1", "-inf"))):
            file = self.opencl(f"__kernel void f(__global {COPY[dtype]} *x, {COPY[dtype]} v) {{ x[0] = v; }}\n")
            for text in texts:
                got = self.values(file, "--arg", f"buffer=zeros:{dtype}:1,out=-", "--arg", f"{dtype}={text}")[0]
                if dtype[0] == "f":
                    wanted = float.fromhex(text) if text.startswith("0x") else float(text)
                    if dtype == "f32" and abs(wanted) < 1e39:
                        wanted = struct.unpack("f", struct.pack("f", wanted))[0]
                    found = float(got) if dtype == "f64" else struct.unpack("f", struct.pack("f", float(got)))[0]
                    self.assertEqual(struct.pack("d", found), struct.pack("d", wanted), (dtype, text, got))
                else:
                    wanted = 4096 if text == "4Ki" else int(text, 0)
                    self.assertEqual(int(got), wanted)

    def test_vectors(self):
        widths = (2, 3, 4, 8, 16)
        for dtype in ("u8", "i16", "u64", "f32", "f64"):
            name = COPY[dtype]
            parameters = ", ".join(f"{name}{width} v{width}" for width in widths)
            stores = " ".join(f"vstore{width}(v{width}, 0, x + {sum(w for w in widths if w < width)});" for width in widths)
            file = self.opencl(f"__kernel void f(__global {name} *x, {parameters}) {{ {stores} }}\n")
            values = [str(i + 1) for i in range(sum(widths))]
            arguments, rest = [], values
            for width in widths:
                arguments += ["--arg", f"{dtype}x{width}={','.join(rest[:width])}"]
                rest = rest[width:]
            got = self.values(file, "--global", "1", "--arg", f"buffer=zeros:{dtype}:{len(values)},out=-", *arguments)
            self.assertEqual(got, values, dtype)

    def test_local_memory(self):
        file = self.opencl("__kernel void turn(__global int *x, __local int *t) {\n  size_t l = get_local_id(0), "
                           "n = get_local_size(0);\n  t[l] = x[get_global_id(0)];\n  barrier(CLK_LOCAL_MEM_FENCE);\n"
                           "  x[get_global_id(0)] = t[n - 1 - l];\n}\n")
        arguments = (file, "--local", "4", "--arg", "buffer=iota:i32:8,out=-", "--arg")
        self.assertEqual(self.values(*arguments, "local=16"), ["3", "2", "1", "0", "7", "6", "5", "4"])
        self.assertEqual(self.values(*arguments, "local=1Ki"), ["3", "2", "1", "0", "7", "6", "5", "4"])
        self.fails(2, "run", *arguments, "local=1Gi", says="local memory")
        self.fails(2, "run", *arguments, "u32=16", says="argument 1")

    def test_global_size_that_is_no_multiple(self):
        file = self.opencl("__kernel void f(__global int *x) { x[get_global_id(0)] = 1; }\n")
        result = masu("run", file, "--global", "10", "--local", "4", "--arg", "buffer=zeros:i32:12,out=-")
        if result.returncode == 0:
            self.assertEqual(result.stdout.split(), [b"1"] * 10 + [b"0"] * 2)
        else:
            self.assertEqual(result.returncode, 2)
            self.assertIn(b"must be a multiple of the local size, got 10 and 4", result.stderr)
        self.assertEqual(self.values(file, "--global", "7", "--arg", "buffer=zeros:i32:8,out=-"), ["1"] * 7 + ["0"])

    def test_standard_input(self):
        text = b"__kernel void f(__global float *x) { x[get_global_id(0)] += 1; }\n"
        one = ("--arg", "buffer=iota:f32:2,out=-")
        self.assertEqual(self.values("-", "--language", "opencl", *one, stdin=text), ["1", "2"])
        self.assertEqual(self.values("-", "--device", "opencl", *one, stdin=b"\xef\xbb\xbf" + text), ["1", "2"])
        file = self.opencl(text)
        self.assertEqual(self.values(file, "--arg", "buffer=-,dtype=f32,out=-", stdin=b"1.5 2.5\n"), ["2.5", "3.5"])
        self.assertEqual(self.values(file, "--arg", "buffer=-,dtype=f32,out=-", stdin=struct.pack("<2f", 1, 2)),
                         ["2", "3"])
        self.fails(2, "run", "-", *one, stdin=text, says="--language")
        self.fails(2, "run", "-", "--language", "opencl", "--arg", "buffer=-,dtype=f32", stdin=text,
                   says="can be read once")
        self.fails(2, "run", file, "--arg", "buffer=-,dtype=f32", "--expect", "0=-", says="can be read once")

    def test_images_and_text(self):
        file = self.opencl("__kernel void f(__global uchar *x) { x[get_global_id(0)] = 255 - x[get_global_id(0)]; }\n")
        image = self.write("p.pgm", b"P5\n3 1\n255\n\x00\x01\xfe")
        self.assertEqual(self.values(file, "--arg", f"buffer={image},out=-"), ["255", "254", "1"])
        text = self.write("t.txt", "0 1 254\n")
        self.assertEqual(self.values(file, "--arg", f"buffer={text},dtype=u8,out=-"), ["255", "254", "1"])
        raw = self.values(file, "--arg", f"buffer={text},dtype=u8,format=raw,out=-")
        self.assertEqual(raw[:2], [str(255 - 48), str(255 - 32)])
        numbers = self.write("numbers", "0 1 254")
        self.assertEqual(self.values(file, "--arg", f"buffer={numbers},dtype=u8,format=text,out=-"),
                         ["255", "254", "1"])

    def test_expect_of_floats(self):
        file = self.opencl("__kernel void f(__global float *x) { x[0] = NAN; x[1] = -0.0f; x[2] = INFINITY; x[3] = 0.1f; }\n")
        arguments = ("run", file, "--global", "1", "--arg", "buffer=zeros:f32:4")
        self.ok(*arguments, "--expect", f"0={self.write('want.txt', 'nan 0 inf 0.1')}")
        self.ok(*arguments, "--expect", f"x={self.write('want.txt', 'nan -0 inf 0.1')}")
        self.fails(3, *arguments, "--expect", f"x={self.write('w.txt', '0 0 inf 0.10000001')}",
                   says="argument 0 (x): 2 of 4 elements differ, the first is number 0: expected 0, got NaN")
        self.fails(3, *arguments, "--expect", f"x={self.write('w.txt', 'nan 0 -inf 0.1')}",
                   says="number 2: expected -Infinity, got Infinity")

    def test_the_device(self):
        file = self.opencl("__kernel void f(__global int *x) { x[0] = 1; }\n")
        one = ("--arg", "buffer=zeros:i32:1,out=-")
        for device, env in (("opencl", {}), ("opencl:0", {}), ("auto", {"MASU_DEVICE": "cuda:0"}), ("", {}),
                            ("", {"MASU_DEVICE": "opencl:0"}), ("", {"MASU_DEVICE": "cpu"})):
            self.assertEqual(self.values(file, "--device", device, *one, env=env), ["1"])
        self.fails(2, "run", file, *one, "--device", "cuda", says="is OpenCL C, which cuda does not run")
        self.fails(2, "run", file, *one, "--device", "cpu", says="is OpenCL C, which cpu does not run")
        self.fails(2, "run", file, *one, "--device", "gpu", says="gpu")
        self.fails(1, "run", file, *one, "--device", "opencl:99", says="opencl:99")
        shutil.copy(file, self.path("kernel.txt"))
        self.fails(2, "run", self.path("kernel.txt"), *one, says="ends neither in .cl nor in .cu")
        self.assertEqual(self.values(self.path("kernel.txt"), "--language", "opencl", *one), ["1"])

    def test_warnings_of_the_compiler(self):
        self.needs_pocl()
        file = self.opencl('__kernel void f(__global int *x) { printf("%f\\n", x[0]); }\n')
        for _ in range(2):  # from the cache too
            self.assertIn(b"format specifies type", masu("run", file, "--arg", "buffer=zeros:i32:1").stderr)
        self.assertNotIn(b"format specifies type", masu("run", file, "--arg", "buffer=zeros:i32:1", "--quiet").stderr)

    def test_kernels_that_crash(self):
        self.needs_pocl()
        div = self.opencl("__kernel void f(__global int *x) { x[0] = x[1] / x[2]; }\n")
        self.fails(1, "run", div, "--global", "1", "--arg", f"buffer=zeros:i32:3,out={self.path('o.npy')}",
                   says="by zero")
        wild = self.opencl("__kernel void f(__global int *x, ulong far) { x[far] = 1; }\n")
        self.fails(1, "run", wild, "--global", "1", "--arg", f"buffer=zeros:i32:3,out={self.path('o.npy')}", "--arg",
                   "u64=1000000000000", says="accessed memory that does not exist")
        self.assertEqual(os.listdir(self.folder), ["kernel.cl"])

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_a_compiler_that_crashes_is_told_from_a_kernel(self):
        # Stand-ins in front of the driver raise a signal themselves: in the build, and in the launch with a compiler's library
        # on the stack or another one.
        self.needs_pocl()
        file = self.opencl("__kernel void f(__global int *x) { x[get_global_id(0)] += 1; }\n")
        for library, function, says in (("libshim.so", "clBuildProgram", "compiler of opencl:0 crashed (SIGSEGV) while it compiled"),
                                        ("libLLVM-shim.so", "clEnqueueNDRangeKernel", "compiler of opencl:0 crashed (SIGSEGV)"),
                                        ("libshim.so", "clEnqueueNDRangeKernel", "the kernel f accessed memory")):
            source = self.write("shim.c", f"#include <signal.h>\nint {function}(void) {{ raise(SIGSEGV); return 0; }}\n")
            subprocess.run(["cc", "-shared", "-fPIC", source, "-o", self.path(library), "-Wl,--no-as-needed", "-l:libOpenCL.so.1"],
                           check=True)
            self.fails(1, "run", file, "--arg", "buffer=zeros:i32:4", env={"LD_PRELOAD": self.path(library), "MASU_CACHE": "off"},
                       says=says)

    def test_reader_that_goes_away(self):
        file = self.opencl("__kernel void f(__global int *x) { }\n")
        command = f"'{MASU}' run '{file}' --arg buffer=iota:i32:100000,out=- | head -n 2"
        run = subprocess.run(["bash", "-o", "pipefail", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, b"0\n1\n", b""))

    def test_more_than_one_piece(self):
        file = self.opencl("__kernel void f(__global uint *x) { x[get_global_id(0)] ^= 1; }\n")
        n = (16 << 20) // 4 * 2 + 7
        out = self.path("o.raw")
        self.run_ok(file, "--arg", f"buffer=iota:u32:{n},out={out}")
        with open(out, "rb") as data:
            data = data.read()
        self.assertEqual(len(data), 4 * n)
        for i in (0, 1, (4 << 20) - 1, 4 << 20, 8 << 20, n - 1):
            self.assertEqual(struct.unpack_from("<I", data, 4 * i)[0], i ^ 1)


class CudaRun(Both, RunTest):
    kind = "cuda"

    def test_names_without_extern_c(self):
        file = self.write("k.cu", "template <class T> __device__ T add(T a, T b) { return a + b; }\n"
                                  "__global__ void more(int *x, int by) { x[threadIdx.x] = add(x[threadIdx.x], by); }\n")
        for name in ((), ("--kernel", "more")):
            self.assertEqual(self.values(file, *name, "--arg", "buffer=iota:i32:3,out=-", "--arg", "i32=5"),
                             ["5", "6", "7"])

    def test_shared_memory(self):
        file = self.write("k.cu", "extern __shared__ int t[];\n__global__ void turn(int *x) {\n  int l = threadIdx.x;\n"
                                  "  t[l] = x[l];\n  __syncthreads();\n  x[l] = t[blockDim.x - 1 - l];\n}\n")
        self.assertEqual(self.values(file, "--local", "4", "--arg", "buffer=iota:i32:4,out=-", "--arg", "local=16"),
                         ["3", "2", "1", "0"])
        self.fails(2, "run", file, "--local", "4", "--arg", "buffer=iota:i32:4", "--arg", "local=1Gi",
                   says="local memory")

    def test_vectors(self):
        file = self.write("k.cu",
                          "__global__ void f(float *x, float4 v, double2 d) { x[0] = v.x; x[1] = v.w; x[2] = d.y; }\n")
        self.assertEqual(self.values(file, "--global", "1", "--arg", "buffer=zeros:f32:3,out=-", "--arg",
                                     "f32x4=1,2,3,4.5",
                                     "--arg", "f64x2=1,2.25"), ["1", "4.5", "2.25"])


if __name__ == "__main__":
    unittest.main()
