# SPDX-License-Identifier: Apache-2.0
"""Every command of docs/tasks.md prints what the page says, with the files that the page shows."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from command import MASU

PAGE = Path(__file__).resolve().parents[2] / "docs/tasks.md"


def steps(block):
    """(command, what it prints) of a console block."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, printed) for command, _, printed in (part.partition("\n") for part in parts)]


class Tasks(unittest.TestCase):
    maxDiff = None

    def test_every_block(self):
        blocks = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 30)
        environment = dict(os.environ, COLUMNS="80", LC_ALL="C.UTF-8", MASU_DEVICE="cpu",
                           PATH=f"{os.path.dirname(os.path.abspath(MASU))}:{os.environ['PATH']}")
        with tempfile.TemporaryDirectory() as folder:
            for command, text in steps(blocks[0]):
                (Path(folder) / command.removeprefix("cat ")).write_text(text, encoding="utf-8")
            for block in blocks[1:]:
                for command, expected in steps(block):
                    with self.subTest(command):
                        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
                        self.assertEqual(done.stdout.decode(), expected)
                        self.assertEqual(done.returncode, 0)
