# SPDX-License-Identifier: Apache-2.0
"""The example programs, on the devices that are here."""

import os
import subprocess
import unittest

from command import MASU, CommandTest, bmp24, usable_devices

FOLDER = os.environ.get("MASU_EXAMPLES", os.path.join(os.path.dirname(MASU), "examples"))


@unittest.skipUnless(os.path.exists(os.path.join(FOLDER, "image_histogram")), "the examples are not built")
class Examples(CommandTest):
    def example(self, name, *arguments):
        result = subprocess.run([os.path.join(FOLDER, name), *arguments], stdin=subprocess.DEVNULL, timeout=300,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return result.returncode, result.stdout.decode(), result.stderr.decode()

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
            self.assertIn("all 64 tables of 256 bins agree", text)
            # Ragged ends, more groups than values, fewer bins than values, one item, more bins than items.
            for settings in ("--values 1000003", "--values 3 --groups 7", "--bins 3 --distinct 10", "--items 1",
                             "--bins 5000 --items 3 --distinct 6000", "--values 0", "--bins 1 --groups 1"):
                status, text, errors = self.example("atomic_histogram", "--device", device, *settings.split())
                self.assertEqual((status, errors), (0, ""), settings)
                self.assertIn("agree with plain C++", text)

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

    def test_no_device(self):
        for name in ("atomic_histogram", "image_histogram"):
            status, _, errors = self.example(name, "--device", "opencl:99")
            self.assertEqual((status, errors.count("\n")), (1, 1), errors)

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
