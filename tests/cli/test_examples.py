# SPDX-License-Identifier: Apache-2.0
"""The example programs, on the devices that are here."""

import os
import re
import subprocess
import unittest
from fractions import Fraction

from command import MASU, CommandTest, bmp24, usable_devices

FOLDER = os.environ.get("MASU_EXAMPLES", os.path.join(os.path.dirname(MASU), "examples"))

# The examples that take numbers, and one of those.
NUMBERS = {"atomic_histogram": "--values", "atomics": "--n", "bitonic_sort": "--n", "dot_product": "--n", "graph_capture": "--n",
           "group_sum": "--n", "memory_fence": "--n", "shuffle": "--n", "transpose": "--rows", "vector_load_store": "--n"}


def made_up(count):
    """The numbers that the examples make up."""
    state = 1
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        yield state >> 32


@unittest.skipUnless(os.path.exists(os.path.join(FOLDER, "image_histogram")), "the examples are not built")
class Examples(CommandTest):
    def example(self, name, *arguments):
        result = subprocess.run([os.path.join(FOLDER, name), *arguments], stdin=subprocess.DEVNULL, timeout=300,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        # PoCL says so of vectors that the processor has no registers for.
        errors = re.sub(r"^\d+ warnings? generated\.\n", "", result.stderr.decode(), flags=re.MULTILINE)
        return result.returncode, result.stdout.decode(), errors

    def devices(self, kind):
        devices = usable_devices(kind)
        if not devices:
            self.skipTest(f"no {kind} device here")
        return devices

    def test_atomic_histogram(self):
        for device in self.devices("opencl"):
            status, text, errors = self.example("atomic_histogram", "--device", device)
            self.assertEqual((status, errors), (0, ""))
            self.assertIn("total 2097152\n", text)
            self.assertIn("all 64 tables of 256 bins: agrees", text)
            # Ragged ends, more groups than values, fewer bins than values, one item, more bins than items.
            for settings in ("--values 1000003", "--values 3 --groups 7", "--bins 3 --distinct 10", "--items 1",
                             "--bins 5000 --items 3 --distinct 6000", "--values 0", "--bins 1 --groups 1"):
                status, text, errors = self.example("atomic_histogram", "--device", device, *settings.split())
                self.assertEqual((status, errors), (0, ""), settings)
                self.assertIn("agrees with plain C++", text)

    def test_image_histogram(self):
        colour = self.write("a.bmp", bmp24(37, 11, lambda x, y: (x, y, 255)))
        gray = self.write("a.pgm", b"P5 3 1 255\n\x05\x05\xff")
        for device in self.devices("opencl"):
            status, text, errors = self.example("image_histogram", "--device", device)
            self.assertEqual((status, errors), (0, ""))
            self.assertIn("total 135300\n", text)
            self.assertIn("agrees with plain C++", text)
            status, text, errors = self.example("image_histogram", "--device", device, colour)
            self.assertEqual((status, errors, text.count("total 407\n")), (0, "", 3))
            status, text, errors = self.example("image_histogram", gray, "--device", device)
            self.assertEqual((status, errors, text.count("total 3\n")), (0, "", 1))

    def test_csv_column(self):
        table = self.write("a.csv", b"city,price\n\"Bern, old\",2.5\nRiga,9\nOslo,\nRiga,1\nBern,4\n")
        self.assertEqual(self.example("csv_column", table, "price"), (
            0, "4 values, 1 entries could not be read\nsum 16.5\nquartiles 2.125 3.25 5.25\n"
               "1 ... 3: 2\n3 ... 5: 1\n5 ... 7: 0\n7 ... 9: 1\n", ""))
        status, text, errors = self.example("csv_column", table, "weight")
        self.assertEqual((status, text), (1, ""))
        self.assertIn("weight", errors)
        self.assertEqual(self.example("csv_column", table)[0], 2)

    def agrees(self, name, device, settings=""):
        """Runs the example; returns what it printed, when it says that all is right."""
        status, text, errors = self.example(name, "--device", device, *settings.split())
        self.assertEqual((status, errors), (0, ""), (name, device, settings))
        if name != "transpose":
            self.assertIn("agrees with plain C++", text)
        self.assertNotIn("wrong", text)
        return text

    def test_vector_load_store(self):
        for device in self.devices("opencl"):
            self.assertTrue(self.agrees("vector_load_store", device).startswith("0,1,2,3\n4,5,6,7\n"))
            for n in (0, 1, 2, 3, 15, 16, 17, 1009):
                text = self.agrees("vector_load_store", device, f"--n {n} --doubles 0")
                self.assertEqual(text.count(": right\n"), 15)

    def test_group_sum(self):
        for device in self.devices("opencl"):
            for settings, n in (("", 1 << 20), ("--n 0", 0), ("--n 1", 1), ("--n 2 --groups 1 --items 1", 2),
                                ("--n 1009 --groups 13 --items 77", 1009), ("--n 3 --groups 1000 --items 2", 3)):
                text = self.agrees("group_sum", device, settings)
                self.assertTrue(text.startswith(f"sum {sum(made_up(n))}\n"), (text, settings))

    def test_memory_fence(self):
        for device in self.devices("opencl") + usable_devices("cuda"):
            for settings, n, rounds in (("", 100000, 100), ("--n 0 --rounds 3", 0, 3),
                                        ("--n 1009 --groups 7 --items 13 --pairs 17 --rounds 20", 1009, 20),
                                        ("--n 5 --groups 1000 --items 1 --pairs 1 --rounds 10", 5, 10)):
                text = self.agrees("memory_fence", device, settings)
                self.assertTrue(text.startswith(f"sum {sum(made_up(n))}, by the last of "), (text, settings))
                self.assertEqual(text.count(f"right {rounds} times of {rounds}\n"), 2)

    def test_transpose(self):
        for device in self.devices("opencl"):
            for rows, columns in ((300, 1000), (0, 5), (5, 0), (1, 1), (1, 1009), (1009, 1), (32, 64), (97, 131)):
                text = self.agrees("transpose", device, f"--rows {rows} --columns {columns}")
                self.assertTrue(text.startswith("0 4 8 12 1 5 9 13 2 6 10 14 3 7 11 15\n"))
                self.assertEqual(text.count(f"{rows} x {columns} of "), 5)
                self.assertEqual(text.count("agrees with plain C++"), 5)

    def test_atomics(self):
        for device in self.devices("opencl") + usable_devices("cuda"):
            for settings, n in (("", 10000), ("--n 0", 0), ("--n 1", 1), ("--n 1009", 1009), ("--n 77 --items 5", 77)):
                text = self.agrees("atomics", device, settings)
                total = sum(x % 2001 - 1000 for x in made_up(n))
                self.assertTrue(text.startswith(f"int: add {total} sub {-total} inc {n} dec {-n} "), (text, settings))
                self.assertIn(f"\nfloat: add {n}\n", text)
                for line in ("int in global", "int in local", "uint in global", "uint in local", "float in global",
                             "float in local"):
                    self.assertIn(f"\n{line} memory: right\n", text)

    def test_shuffle(self):
        for device in self.devices("opencl"):
            for n in (100, 0, 1, 1009):
                text = self.agrees("shuffle", device, f"--n {n}")
                self.assertTrue(text.startswith("1.5,7.5,5.0,15.0\n1.5,7.5,5.0,15.0,-5.0,-20.0,100.0,1.0\n"))
                self.assertGreaterEqual(text.count(": right\n"), 9)

    def test_bitonic_sort(self):
        for device in self.devices("opencl"):
            text = self.agrees("bitonic_sort", device)
            values = sorted((7 * (i + 3) ** 2 % 101 for i in range(32)), reverse=True)
            self.assertIn("\n" + " ".join(map(str, values)) + "\n", text)
            for n, before, merge in ((0, 0, 0), (1, 0, 0), (2, 0, 1), (16, 6, 4), (24, 10, 5), (64, 15, 6),
                                     (1000, 45, 10), (1009, 45, 10), (65537, 136, 17)):
                text = self.agrees("bitonic_sort", device, f"--n {n} --items 7")
                self.assertEqual((text.count("stage="), text.count("merge pass=")), (before, merge), n)
        lines = self.agrees("bitonic_sort", device, "--n 8").splitlines()
        self.assertEqual(lines[:6], ["stage=0 pass=0 distance=1", "stage=1 pass=0 distance=2",
                                     "stage=1 pass=1 distance=1", "merge pass=0 distance=4", "merge pass=1 distance=2",
                                     "merge pass=2 distance=1"])
        chart = os.path.join(self.folder, "cost.svg")
        text = self.agrees("bitonic_sort", device, f"--n 0 --most 4096 --chart {chart}")
        self.assertRegex(text, r"\n +1024 +55 .*\n +4096 +78 ")
        with open(chart, encoding="utf-8") as file:
            self.assertIn("</svg>", file.read())

    def test_dot_product(self):
        for device in ["cpu"] + usable_devices("opencl") + usable_devices("cuda"):
            for settings, n in (("--n 100003 --runs 2", 100003), ("--n 0 --runs 1", 0), ("--n 1 --runs 1", 1),
                                ("--n 1009 --groups 7 --items 13 --runs 2", 1009),
                                ("--n 5 --groups 100 --items 1 --runs 1", 5)):
                text = self.agrees("dot_product", device, settings)
                values = [x >> 8 for x in made_up(2 * n)]
                exact = float(Fraction(sum(x * y for x, y in zip(values[:n], values[n:])), 2**48))
                self.assertIn(f"\nthe dot product of {n} values is ", text)
                found = re.search(r"values is (\S+)\n", text)[1]
                self.assertEqual(float(found), exact, settings)
                self.assertRegex(text, r"\nmasu::dot +0 +1 ")
                self.assertGreaterEqual(text.count("\n"), 6 if device == "cpu" else 7)
        for device in ("opencl:99", "cuda:99", "nonsense"):
            status, _, errors = self.example("dot_product", "--device", device)
            self.assertEqual((status, errors.count("\n")), (1, 1), errors)

    def test_graph_capture(self):
        for device in self.devices("cuda"):
            for settings in ("", "--n 1 --launches 1", "--n 1009 --launches 20"):
                self.agrees("graph_capture", device, settings)

    def test_no_device(self):
        for name in ("image_histogram", *(set(NUMBERS) - {"dot_product"})):
            for device in ("opencl:99", "cpu", "cuda:99", "nonsense"):
                status, _, errors = self.example(name, "--device", device)
                self.assertEqual((status, errors.count("\n")), (1, 1), errors)
                self.assertTrue(errors.startswith(f"{name}: "), errors)
        for device in usable_devices("cuda"):
            for name in ("bitonic_sort", "group_sum", "shuffle", "transpose", "vector_load_store"):
                status, _, errors = self.example(name, "--device", device)
                self.assertEqual((status, errors.count("\n")), (1, 1), errors)
                self.assertIn("needs an OpenCL device", errors)

    def test_bad_options(self):
        for name, number in NUMBERS.items():
            for options in ("--nonsense 1", "nonsense", f"{number} x", f"{number} -1", f"{number} 1.5", number,
                            f"{number} 1000000000", "--device"):
                status, text, errors = self.example(name, *options.split())
                self.assertEqual((status, text, errors.count("\n")), (2, "", 1), errors)
                self.assertTrue(errors.startswith(f"{name}: "), errors)
            status, text, errors = self.example(name, number, "")
            self.assertEqual((status, text, errors.count("\n")), (2, "", 1), errors)
        status, _, errors = self.example("group_sum", "--items", "0")
        self.assertEqual((status, errors), (2, "group_sum: --items takes a number from 1 to 999999999, got 0\n"))

    def test_shared_memory_histogram(self):
        if not os.path.exists(os.path.join(FOLDER, "shared_memory_histogram")):
            self.skipTest("not built")
        status, text, errors = self.example("shared_memory_histogram")
        if usable_devices("cuda"):
            self.assertEqual((status, errors), (0, ""))
            self.assertIn("104857600", text)
        else:
            self.assertEqual((status, errors.count("\n")), (1, 1), errors)


if __name__ == "__main__":
    unittest.main()
