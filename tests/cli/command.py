# SPDX-License-Identifier: Apache-2.0
"""Runs the command masu, and writes the small files that the tests give it."""

import json
import os
import signal
import struct
import subprocess
import tempfile
import unittest

MASU = os.environ.get("MASU", "masu")

# A shell's background job ignores SIGINT, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def masu(*arguments, stdin=b"", env=None, **more):
    """Runs masu to its end; the result has returncode, stdout and stderr (bytes)."""
    if "stdout" not in more:
        more["stdout"] = subprocess.PIPE
    environment = dict(os.environ, **(env or {}))
    return subprocess.run([MASU, *map(str, arguments)], input=stdin, stderr=subprocess.PIPE, env=environment,
                          timeout=300, check=False, **more)


def usable_devices(kind):
    """The ids of the usable devices of that kind."""
    listed = json.loads(masu("devices", "--json").stdout)
    return [device["id"] for device in listed if device["usable"] and device["kind"] == kind]


class CommandTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return self.path(name)

    def save_npy(self, name, values):
        """Writes a NumPy array."""
        with open(self.path(name), "wb") as file:
            file.write(npy(values.dtype.str, values.shape, values.tobytes()))
        return self.path(name)

    def interrupted(self, data, *arguments):
        """A call that reads u64 from standard input, gets `data` and no end, and then SIGINT: it leaves nothing."""
        with subprocess.Popen([MASU, arguments[0], "-", "--input-format", "raw", "--dtype", "u64", *arguments[1:], "-o",
                               self.path("o.csv")], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            run.stdin.write(data)
            run.stdin.flush()
            run.send_signal(signal.SIGINT)
            self.assertEqual((run.wait(timeout=60), run.stderr.read()), (130, b""))
        self.assertEqual(os.listdir(self.folder), [])

    def ok(self, *arguments, **more):
        """Standard output of a call that must succeed."""
        result = masu(*arguments, **more)
        self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace"))
        return result.stdout

    def json(self, *arguments, **more):
        return json.loads(self.ok("histogram", *arguments, "--json", **more))

    def fails(self, status, *arguments, says="", **more):
        """A call that must fail with that status and one clear line."""
        result = masu(*arguments, **more)
        errors = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, status, errors)
        self.assertEqual(errors.count("\n"), 1, errors)
        self.assertTrue(errors.startswith("masu"), errors)
        self.assertIn(says, errors)
        return errors


def bmp24(width, height, pixel):
    """A BMP of 24 bits; pixel(x, y) gives (red, green, blue)."""
    rows = []
    for y in reversed(range(height)):
        row = b"".join(bytes(pixel(x, y)[::-1]) for x in range(width))
        rows.append(row + b"\0" * (-len(row) % 4))
    body = b"".join(rows)
    head = struct.pack("<2sIHHI", b"BM", 54 + len(body), 0, 0, 54)
    return head + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(body), 2835, 2835, 0, 0) + body


def pgm16(width, height, values):
    """A PGM of 16 bits."""
    return f"P5\n{width} {height}\n65535\n".encode() + struct.pack(f">{len(values)}H", *values)


def npy(dtype, shape, data):
    """A .npy file, version 1.0; dtype as NumPy spells it ("<f4")."""
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data
