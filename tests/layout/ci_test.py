# SPDX-License-Identifier: Apache-2.0
"""./test --ci with parts that only wait: it ends in time, leaves out what does not fit, and fails where a test has failed."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

SETUP = """
die() { echo "$*" >&2; exit 1; }
say() { echo "$*" >&2; }
say_if_full() { :; }
set_up() { :; }
"""
# Every part takes about a second but those that the environment makes slow or lets fail.
PARTS = """
parts=(build unit cli)
more_parts=(numpy asan tidy)
long_parts=()
all_differs=(cli)
alone=(build asan)
declare -A shards=([unit]=2)
declare -A part_seconds=([build]=1 [unit]=1 [cli]=1 [numpy]=1 [asan]=1 [tidy]=1000 [all:cli]=1)
work() {
  local name=$1
  [[ $name == "${FAILS-}" ]] && echo "failed: $name"
  if [[ $name == "${ENDLESS-}" ]]; then sleep 600; fi
  sleep "${LASTS-0}"
  [[ $name != "${FAILS-}" ]] && echo "passed: $name ${MASU_TEST_ALL+with all}"
}
part_build() { sleep "${BUILD-0}"; work build; }
part_unit() { work unit; }
part_cli() { work cli; }
part_numpy() { work numpy; }
part_asan() { work asan; }
part_tidy() { work tidy; }
"""


class CiTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "tools").mkdir()
        (self.root / "tests").mkdir()
        shutil.copy(ROOT / "test", self.root)
        shutil.copy(ROOT / "tests/count.awk", self.root / "tests")
        (self.root / "tools/setup.sh").write_text(SETUP)
        (self.root / "tests/parts.sh").write_text(PARTS)

    def ci(self, **settings):
        settings = {name: str(value) for name, value in settings.items()}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MASU_TEST_")}
        done = subprocess.run([self.root / "test", "--ci"], env=inherited | settings, text=True, capture_output=True, timeout=120)
        lines = done.stdout.splitlines()
        self.assertTrue(lines[-3].startswith("run: "), done.stdout + done.stderr)
        self.assertTrue(lines[-2].startswith("not run, for lack of time:"), done.stdout)
        return done.returncode, set(lines[-3].split()[1:]), lines[-2].partition(": ")[2], lines[-1]

    def test_what_cannot_end_in_time_is_left_out(self):
        status, ran, left_out, last = self.ci(MASU_TEST_LAST_START=900)
        self.assertEqual((status, left_out, last), (0, "tidy", "7 passed, 0 failed"))
        self.assertEqual(ran, {"build", "unit.1", "unit.2", "cli", "numpy", "asan", "all:cli"})
        self.assertIn("with all", (self.root / "build/test-logs/all-cli.log").read_text())
        self.assertNotIn("with all", (self.root / "build/test-logs/cli.log").read_text())

    def test_a_slow_build_says_that_the_machine_is_slow(self):
        # Four times as slow: what takes a second here has no time any more.
        status, ran, left_out, last = self.ci(BUILD=4, MASU_TEST_LAST_START=7)
        self.assertEqual((status, ran), (0, {"build"}))
        self.assertIn("unit.1, unit.2, cli", left_out)
        self.assertEqual(last, "1 passed, 0 failed")

    def test_what_runs_at_the_end_is_stopped_and_has_not_failed(self):
        status, ran, left_out, last = self.ci(ENDLESS="cli", MASU_TEST_LAST_START=11, MASU_TEST_LAST_END=12)
        self.assertEqual(status, 0)
        self.assertNotIn("cli", ran)
        self.assertRegex(left_out, r"cli \(stopped after \d+ s, 0 failed\)")
        self.assertRegex(last, r"^\d passed, 0 failed$")

    def test_what_has_failed_has_failed(self):
        status, _, _, last = self.ci(FAILS="numpy", MASU_TEST_LAST_START=900)
        self.assertEqual((status, last), (1, "6 passed, 1 failed"))

    def test_what_had_failed_before_it_was_stopped_has_failed(self):
        status, _, left_out, last = self.ci(FAILS="cli", ENDLESS="cli", MASU_TEST_LAST_START=11, MASU_TEST_LAST_END=12)
        self.assertEqual(status, 1)
        self.assertIn("1 failed", left_out)
        self.assertRegex(last, r"^\d passed, [12] failed$")


class TableTest(unittest.TestCase):
    def test_every_part_has_a_time(self):
        script = 'root=$PWD; source tests/parts.sh; for p in "${parts[@]}" "${more_parts[@]}" "${all_differs[@]/#/all:}"; do ' \
                 'echo "$p ${part_seconds[$p]-none}"; done'
        rows = subprocess.run(["bash", "-c", script], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
        self.assertGreater(len(rows), 10)
        for row in rows:
            self.assertRegex(row, r"^\S+ [1-9]\d*$")


if __name__ == "__main__":
    unittest.main()
