# SPDX-License-Identifier: Apache-2.0
"""masu run --check: every fault of tests/faulty is found, its mended twin passes, and bad input is told."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest
import unittest.mock

from command import MASU, CommandTest, masu, usable_devices

FAULTY = pathlib.Path(__file__).resolve().parents[1] / "faulty"
TABLE = json.loads((FAULTY / "faults.json").read_text())
GUIDE = FAULTY.parents[1] / "docs" / "checking-kernels.md"

GOOD = "__kernel void f(__global uint *out) {\n  out[get_global_id(0)] += 1;\n}\n"
ENDLESS = "__kernel void f(__global volatile uint *out) {\n  while (out[0] == 0) {\n  }\n}\n"
ONE_BUFFER = ("--arg", "buffer=zeros:u32:4,out=-", "--global", "4", "--local", "2")


def running(marker):
    """The processes that have a word in their command line."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if marker.encode() in words:
            found.append(int(process.name))
    return found


def lines(fault):
    """The lines of a fault's places, one that is named twice once."""
    return list(dict.fromkeys(place["line"] for place in fault["places"] if place["line"]))


@unittest.skipUnless(shutil.which("oclgrind"), "Oclgrind is not installed")
class Check(CommandTest):
    guide = GUIDE.read_text()

    def check(self, *arguments, **more):
        """The exit status, and what --check says as JSON."""
        result = masu("run", *arguments, "--check", "--json", **more)
        printed = result.stdout.decode()
        self.assertTrue(printed, result.stderr.decode(errors="replace"))
        return result.returncode, json.loads(printed)["check"], result.stderr.decode(errors="replace")

    def test_each_fault_is_found_and_nothing_else(self):
        for row in TABLE:
            with self.subTest(row["name"]):
                file = FAULTY / (row["name"] + ".cl")
                status, check, errors = self.check(file, *row["arguments"].split())
                self.assertEqual(status, row.get("status", 3), errors)
                self.assertIn(row.get("says", ""), errors)
                # What may follow from another fault is told, and marked.
                faults = [fault for fault in check["faults"] if not fault["follows"]]
                self.assertLessEqual({fault["kind"] for fault in check["faults"] if fault["follows"]},
                                     {"uninitialized", "invalid_pointer"})
                self.assertEqual([(fault["kind"], lines(fault)) for fault in faults],
                                 [(fault["kind"], fault["lines"]) for fault in row["finds"]])
                for fault, wanted in zip(faults, row["finds"]):
                    first = fault["places"][0]
                    self.assertIn(f"\n{file.name}:{first['line']}:{first['column']}: {fault['what']}\n", self.guide)
                    self.assertEqual(fault.get("memory"), wanted.get("memory", fault.get("memory")))
                    for place in fault["places"]:
                        if not place["line"]:
                            continue  # an asynchronous copy
                        self.assertEqual(place["file"], str(file))
                        self.assertEqual(place["text"], file.read_text().splitlines()[place["line"] - 1])

    def test_each_mended_twin_passes(self):
        for row in TABLE:
            with self.subTest(row["name"]):
                file = FAULTY / (row["name"] + "_mended.cl")
                arguments = row.get("mended_arguments", row["arguments"]).split()
                status, check, errors = self.check(file, *arguments)
                self.assertEqual((status, check["faults"]), (0, []), errors)
                self.assertIn("no faults found in", errors)

    def test_every_kernel_is_in_the_table(self):
        names = {row["name"] for row in TABLE}
        self.assertEqual({path.stem for path in FAULTY.glob("*.cl")}, names | {name + "_mended" for name in names})

    def test_report_says_what_where_and_who(self):
        file = str(FAULTY / "missing_barrier.cl")
        result = masu("run", file, "--check", "--global", 32, "--local", 16, "--arg", "buffer=iota:u32:32", "--arg",
                      "buffer=zeros:u32:32", "--arg", "local=64")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stdout, b"")
        self.assertEqual(result.stderr.decode().splitlines(), [
            file + ":6:27: data race in local memory: one work-item reads what another writes; they are of one "
            "work-group, and no barrier(CLK_LOCAL_MEM_FENCE) or atomic operation orders them",
            "    out[get_global_id(0)] = tile[get_local_size(0) - 1 - lane];",
            "                            ^",
            "    read by work-item (8,0,0), local (8,0,0), group (0,0,0)",
            file + ":5:14: the other side of the race",
            "    tile[lane] = in[get_global_id(0)];",
            "               ^",
            "    written by work-item (7,0,0), local (7,0,0), group (0,0,0)",
            "    32 times",
            "masu run: 1 fault found in 32 work-items",
        ])

    def test_the_buffer_is_named_with_the_byte(self):
        file = self.write("f.cl", "__kernel void f(__global const uint *a, __global uint *b) {\n"
                                  "  b[get_global_id(0)] = a[0];\n  b[(int)get_global_id(0) - 1] = a[1];\n}\n")
        _, check, _ = self.check(file, "--global", 1, "--arg", "buffer=iota:u32:4", "--arg", "buffer=zeros:u32:1")
        fault, = check["faults"]
        self.assertEqual((fault["argument"], fault["argument_name"], fault["byte"]), (1, "b", -4))
        self.assertIn("write of 4 bytes at byte -4 of argument 1 'b', which has 4 bytes", fault["what"])
        self.assertEqual(fault["places"][0]["global_id"], [0, 0, 0])

    def test_results_are_printed_as_usual(self):
        file = self.write("f.cl", GOOD)
        result = masu("run", file, "--check", *ONE_BUFFER)
        self.assertEqual((result.returncode, result.stdout.split()), (0, [b"1"] * 4))
        self.assertEqual(result.stderr, b"masu run: no faults found in 4 work-items\n")
        result = masu("run", file, "--check", "--quiet", *ONE_BUFFER)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        both = json.loads(masu("run", file, "--check", "--json", *ONE_BUFFER).stdout)
        if not usable_devices("opencl"):
            self.skipTest("no OpenCL device here")
        plain = json.loads(masu("run", file, "--json", *ONE_BUFFER).stdout)
        self.assertEqual(both.pop("check"), {"faults": [], "work_items": 4, "cut": False})
        self.assertEqual(both["outputs"], plain["outputs"])

    def test_expectations_hold_under_check(self):
        file = self.write("f.cl", GOOD)
        self.assertEqual(masu("run", file, "--check", *ONE_BUFFER, "--expect", "0=random:u32:4:lo=1:hi=1").returncode, 0)
        self.assertEqual(masu("run", file, "--check", *ONE_BUFFER, "--expect", "0=zeros:u32:4").returncode, 3)

    def test_kernel_from_standard_input(self):
        text = GOOD.replace("get_global_id(0)]", "get_global_id(0) + 1]")
        result = masu("run", "-", "--language", "opencl", "--check", *ONE_BUFFER, stdin=text.encode())
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"<stdin>:2:", result.stderr)

    def test_lines_of_included_and_renumbered_text(self):
        self.write("part.h", "uint part(__global uint *p);\nuint part(__global uint *p) {\n\treturn p[9];\n}\n")
        file = self.write("f.cl", '#include "part.h"\n__kernel void f(__global uint *out) {\n#line 70\n'
                                  "  out[0] = part(out);\n  out[8] = 1;\n}\n")
        os.mkdir(self.path("below"))
        # What the path has in common with the working directory is not in the debug information.
        for folder in (None, self.folder, self.path("below")):
            with self.subTest(folder):
                _, check, _ = self.check(file, "--global", 1, "--arg", "buffer=zeros:u32:4", "--options",
                                         "-I" + self.folder, cwd=folder)
                places = [fault["places"][0] for fault in check["faults"] if fault["kind"] == "out_of_bounds"]
                self.assertEqual([(os.path.basename(place["file"]), place["line"], place["text"]) for place in places],
                                 [("part.h", 3, "\treturn p[9];"), ("f.cl", 71, "  out[8] = 1;")])

    def test_column_stands_below_tabs(self):
        file = self.write("f.cl", "__kernel void f(__global uint *out) {\n\tif (1)\tout[4] = 1;\n}\n")
        result = masu("run", file, "--check", "--global", 1, "--arg", "buffer=zeros:u32:4")
        text = result.stderr.decode().splitlines()
        self.assertEqual(text[1:3], ["    if (1)\tout[4] = 1;", "          \t       ^"])

    def test_many_findings_end_in_a_note(self):
        file = self.write("f.cl", "__kernel void f(__global uint *out) {\n"
                                  "  for (uint i = 0; i < 400; ++i) out[i + 1] = 1;\n}\n")
        status, check, errors = self.check(file, "--global", 64, "--arg", "buffer=zeros:u32:1")
        self.assertEqual((status, len(check["faults"]), check["cut"]), (3, 1, True))
        self.assertIn("reported no more", errors)

    def test_answers_within_ten_seconds(self):
        file = FAULTY / "missing_barrier.cl"
        begin = time.monotonic()
        status, check, _ = self.check(file, "--global", 1024, "--local", 128, "--arg", "buffer=iota:u32:1024", "--arg",
                                      "buffer=zeros:u32:1024", "--arg", "local=512")
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual((status, len(check["faults"]), check["work_items"]), (3, 1, 1024))

    def test_the_end_of_oclgrind_is_told_with_its_findings(self):
        # A stand-in for Oclgrind, which writes a message and ends by a signal.
        self.write("oclgrind", """#!/bin/bash
while [[ $1 != --log ]]; do shift; done
printf 'Invalid read of size 4 at local memory address 0x1000000000010\\n\\tKernel: f\\n\\tEntity: Global(1,0,0) Local(1,0,0) Group(0,0,0)
\\tAt line 2 (column 3) of f.cl:\\n\\t  out[get_global_id(0)] += 1;\\n\\n' >"$2"
kill -ABRT $$
""")
        os.chmod(self.path("oclgrind"), 0o755)
        file = self.write("f.cl", GOOD)
        status, check, errors = self.check(file, *ONE_BUFFER, env={"PATH": self.folder + ":" + os.environ["PATH"]})
        self.assertEqual((status, [fault["kind"] for fault in check["faults"]]), (3, ["out_of_bounds"]))
        self.assertIn("Oclgrind ended by signal 6", check["error"])
        self.assertIn("masu run: Oclgrind ended by signal 6", errors)

    def kinds(self, text, *arguments, **more):
        """Of each fault the kind, and where it is: the column, the argument and the byte. At the end those that follow."""
        status, check, errors = self.check(self.write("f.cl", text), *arguments, **more)
        self.assertEqual(status, 3, errors)
        return [(fault["kind"], fault["places"][0]["column"], fault.get("argument"), fault.get("byte"))
                for fault in check["faults"]]

    def test_what_is_behind_a_bad_index_is_told(self):
        one = ("--global", 4, "--local", 4, "--arg", "buffer=zeros:u32:4", "--arg", "buffer=iota:u32:3")
        table = one + ("--arg", "buffer=iota:u32:3")
        head = "__kernel void f(__global uint *o, __global const uint *x"
        self.assertEqual(self.kinds(head + ") {\n  o[x[get_global_id(0)]] = 1;\n}\n", *one),
                         [("out_of_bounds", 5, 1, 12), ("invalid_pointer", 26, 0, self.ANY)])
        self.assertEqual(self.kinds(head + ", __global const uint *y) {\n  o[get_global_id(0)] = y[x[get_global_id(0)]];"
                                    "\n}\n", *table)[:1], [("out_of_bounds", 27, 1, 12)])
        # Through a macro all is at one column.
        self.assertEqual([kind[0] for kind in self.kinds("#define PUT(o, x, i) o[x[i]] = 1\n" + head +
                                                         ") {\n  PUT(o, x, get_global_id(0));\n}\n", *one)],
                         ["out_of_bounds", "invalid_pointer"])
        # An index that was read well and is too large, and one that was not read, at one store.
        self.assertEqual(self.kinds(head + ") {\n  o[x[get_global_id(0)] * 2] = 1;\n}\n", *one)[:2],
                         [("out_of_bounds", 30, 0, 16), ("out_of_bounds", 5, 1, 12)])

    ANY = unittest.mock.ANY

    def test_each_place_of_a_line_is_told(self):
        text = ("__kernel void f(__global int *o, __global const int *x) {\n  const size_t i = get_global_id(0);\n"
                "  o[i + 1] = x[i + 1] + x[i - 1];\n}\n")
        arguments = ("--global", 4, "--arg", "buffer=zeros:i32:4", "--arg", "buffer=iota:i32:4")
        self.assertEqual(self.kinds(text, *arguments), [("out_of_bounds", 25, 1, -4), ("out_of_bounds", 14, 1, 16),
                                                        ("out_of_bounds", 12, 0, 16)])
        # Both ends at one column.
        text = ("__kernel void f(__global int *o, __global const int *x) {\n  const int i = get_global_id(0);\n"
                "  int sum = 0;\n  for (int d = -1; d < 2; ++d) sum += x[i + d];\n  o[i] = sum;\n}\n")
        self.assertEqual(self.kinds(text, *arguments)[:2], [("out_of_bounds", 39, 1, -4), ("out_of_bounds", 39, 1, 16)])

    def test_conversions_out_of_range(self):
        data = ("--global", 4, "--arg", "buffer=zeros:i32:8", "--arg",
                "buffer=" + self.write("x.txt", "1.5\n-3\nnan\n3e9\n") + ",dtype=f32")
        def found(statement, count=1):
            text = ("__kernel void f(__global int *o, __global const float *x) {\n  const size_t i = get_global_id(0);\n"
                    f"  {statement}\n}}\n")
            status, check, errors = self.check(self.write("f.cl", text), *data)
            self.assertEqual((status, len(check["faults"])), (3, count) if count else (0, 0), (statement, errors))
            return check["faults"][0]["times"] if count else 0

        self.assertEqual(found("o[i] = (int)x[i];"), 2)
        self.assertEqual(found("o[i] = x[i];"), 2)
        self.assertEqual(found("o[i] = (uint)(x[i]);"), 2)  # 3e9 fits
        self.assertEqual(found("o[i] = (uchar)x[i];"), 3)
        self.assertEqual(found("o[i] = (long)x[i];"), 1)
        self.assertEqual(found("o[i] = convert_int(x[i]);"), 2)
        self.assertEqual(found("o[i] = convert_short_rte(x[i]);"), 2)
        self.assertEqual(found("o[i] = convert_int((double)x[i]);"), 2)
        self.assertEqual(found("vstore2(convert_int2(vload2(i / 2, x)), i / 2, o);"), 4)
        found("o[i] = convert_int_sat(x[i]);", 0)
        found("o[i] = x[i] >= 0 && x[i] < 100 ? (int)x[i] : -1;", 0)
        found("o[i] = convert_uchar((int)i) + (char)300 + convert_int(o[i]) + (int)(float)i;", 0)

    def test_printf_that_opencl_lacks(self):
        def found(call):
            text = ("__kernel void f(__global char *g, __constant char *c) {\n  int n = 5;\n  long l = 5;\n"
                    f"  {call}\n}}\n")
            status, check, errors = self.check(self.write("f.cl", text), "--global", 1, "--arg", "buffer=zeros:i8:4",
                                               "--arg", "buffer=zeros:i8:4")
            self.assertEqual({fault["kind"] for fault in check["faults"]} - {"format"}, set(), errors)
            return " | ".join(fault["what"] for fault in check["faults"])

        for call, says in (('printf("%zu", get_global_size(0));', "no length modifier z"),
                           ('printf("%zd %d", l, n);', "no length modifier z"),
                           ('printf("%5jd", l);', "no length modifier j"), ('printf("%td", l);', "no length modifier t"),
                           ('printf("%*d", n, n);', "no %*d"), ('printf("%.*d", n, n);', "no %.*d"),
                           ('printf("%1$d", n);', "order of the arguments"), ('printf("%\'d", n);', "no flag '"),
                           ('printf("%s", g);', "takes a string literal in OpenCL C, got g"),
                           ('printf("%d %s", n, c);', "got c"), ('printf("a" "%" "zu", get_global_id(0));', "no length"),
                           ('if (n == 5) printf("%d%% %zu", n, get_global_id(0));', "%zu")):
            with self.subTest(call):
                self.assertIn(says, found(call))
        for call in ('printf("%d %ld %#x %-5u %05d %+d %%", n, l, n, 3u, n, n);', 'printf("%s, %s", "a" "b", "%zu");',
                     'printf("%v4hlf %5.1f %c %p", (float4)(1.0f), 1.0f, 65, g);', 'printf("plain *zu\\n");',
                     '#if 0\n  printf("%zu", l);\n#endif', '// printf("%zu", l);'):
            with self.subTest(call):
                self.assertEqual(found(call), "")

    def test_language_versions(self):
        file = self.write("f.cl", GOOD)
        for version in ("CL", "CL1.0", "CL1.1", "CL1.2", "CL2.0", "cl2.0"):
            self.assertIn(b"no faults", masu("run", file, "--check", "--options", "-cl-std=" + version, *ONE_BUFFER).stderr)
        for version in ("CL3.0", "CL3.1", "CLC++", "CL9"):
            self.fails(1, "run", file, "--check", "--options", f"-DN=1 -cl-std={version} -w", *ONE_BUFFER,
                       says="reads OpenCL C 1.0, 1.1, 1.2 and 2.0")

    def test_functions_that_oclgrind_lacks(self):
        for call in ("work_group_reduce_add(1u)", "sub_group_reduce_add(1u)",
                     "atomic_load((__global atomic_uint *)out)"):
            with self.subTest(call):
                file = self.write("f.cl", f"__kernel void f(__global uint *out) {{ out[0] = {call}; }}\n"
                                          "__kernel void g(__global uint *out) { out[get_global_id(0)] += 1; }\n")
                options = ("--check", "--options", "-cl-std=CL2.0", *ONE_BUFFER)
                self.fails(1, "run", file, *options, "--kernel", "f",
                           says="does not have the function " + call.partition("(")[0])
                result = masu("run", file, *options, "--kernel", "g")
                self.assertEqual((result.returncode, result.stderr), (0, b"masu run: no faults found in 4 work-items\n"))

    def test_compile_errors_are_the_kernels_alone(self):
        file = self.write("f.cl", '__kernel void f(__global int *o, float x) {\n  printf("%d\\n", 1);\n  o[0] = x;\n'
                                  '  k = 1;\n}\n')
        result = masu("run", file, "--check", *ONE_BUFFER, "--arg", "f32=1")
        self.assertEqual(result.returncode, 1)
        self.assertNotIn(b"warning", result.stderr)
        self.assertIn(b"f.cl:4:3: error: use of undeclared identifier 'k'", result.stderr)

    def test_time_limit_ends_everything(self):
        file = self.write("f.cl", ENDLESS)
        marker = self.path("f.cl")
        out = self.path("out.npy")
        begin = time.monotonic()
        result = masu("run", marker, "--check", "--timeout", "0.5", "--global", 4, "--arg",
                      "buffer=zeros:u32:4,out=" + out)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertEqual(result.returncode, 1, file)
        self.assertIn(b"did not end within 0.5 s (--timeout)", result.stderr)
        self.assertEqual(running(marker), [])
        self.assertEqual(os.listdir(self.folder), ["f.cl"])

    def test_a_signal_to_the_parent_ends_the_child(self):
        marker = self.write("f.cl", ENDLESS)
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -9)):
            with self.subTest(number):
                process = subprocess.Popen([MASU, "run", marker, "--check", *ONE_BUFFER], stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
                self.wait_until(lambda: len(running(marker)) == 2)
                process.send_signal(number)
                self.assertEqual(process.wait(10), status)
                self.wait_until(lambda: not running(marker))

    def wait_until(self, reached):
        for _ in range(500):
            if reached():
                return
            time.sleep(0.02)
        self.fail("it takes too long")

    def test_bad_input(self):
        good = self.write("f.cl", GOOD)
        cuda = self.write("f.cu", "__global__ void f(unsigned *out) {}\n")
        self.fails(2, "run", cuda, "--check", *ONE_BUFFER, says="compute-sanitizer")
        self.fails(1, "run", self.path("absent.cl"), "--check", *ONE_BUFFER, says="absent.cl")
        self.fails(2, "run", good, "--check", "--global", 4, says="takes 1 argument")
        self.fails(2, "run", good, "--check", "--kernel", "g", *ONE_BUFFER, says="'g'")
        self.fails(2, "run", good, "--check", "--timeout", "soon", *ONE_BUFFER, says="soon")

    def test_settings_of_the_environment_do_not_disturb(self):
        file = self.write("f.cl", GOOD)
        environment = {"OCLGRIND_QUICK": "1", "OCLGRIND_INTERACTIVE": "1", "OCLGRIND_MAX_ERRORS": "0",
                       "MASU_DEVICE": "cpu"}
        result = masu("run", file, "--check", *ONE_BUFFER, env=environment)
        self.assertEqual((result.returncode, result.stdout.split()), (0, [b"1"] * 4), result.stderr)


class Absent(CommandTest):
    def test_without_oclgrind(self):
        file = self.write("f.cl", GOOD)
        self.fails(1, "run", file, "--check", *ONE_BUFFER, env={"PATH": self.folder},
                   says="needs Oclgrind, which is not installed (Debian: oclgrind)")


if __name__ == "__main__":
    unittest.main()
