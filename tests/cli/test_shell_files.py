# SPDX-License-Identifier: Apache-2.0
"""The manual page and the completions: that they have every option, and that the shells take them."""

import json
import os
import re
import shutil
import subprocess
import unittest

from command import MASU, CommandTest


def commands_and_options(ok):
    """Every subcommand with its long options, as the command's own help has them."""
    listed = re.findall(r"^  (\w+)(?:, \w+)? {2,}", ok("--help").decode().split("Commands:")[1], re.M)
    return {name: re.findall(r"(--[a-z][a-z-]*)", " ".join(
        line for line in ok(name, "--help-all").decode().splitlines() if re.match(r"  -", line))) for name in listed}


class ShellFiles(CommandTest):
    def setUp(self):
        super().setUp()
        self.options = commands_and_options(self.ok)
        self.assertIn("--joint", self.options["histogram"])

    def test_what_is_printed(self):
        for arguments in (["--print", "tcsh"], ["--print"], ["--print", "man", "x"], ["--print", "bash", "sort"]):
            self.fails(2, *arguments)
        self.assertEqual(self.ok("--print", "commands").decode().split(), list(self.options))

    def test_every_option_is_in_every_file(self):
        for what, spell in (("man", lambda name: name.replace("-", "\\-")), ("bash", str), ("zsh", str),
                            ("fish", lambda name: "-l " + name[2:])):
            for command, names in self.options.items():
                text = self.ok("--print", what, *([command] if what == "man" else [])).decode()
                self.assertIn(command, text)
                for name in names:
                    self.assertIn(spell(name), text, what)

    def test_manual(self):
        for command in ("", *self.options):
            with self.subTest(command):
                self.check_page(command)

    def check_page(self, command):
        page = self.write("page.1", self.ok("--print", "man", *command.split()))
        for tool, arguments in (("groff", ["-man", "-Tascii", "-ww", "-z"]), ("mandoc", ["-Tlint", "-W", "warning"]),
                                ("man", ["--warnings", "-l"])):
            if shutil.which(tool):
                run = subprocess.run([tool, *arguments, page], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual((run.returncode, run.stderr), (0, b""), tool)
                if tool == "man":
                    text = re.sub(r".\x08", "", run.stdout.decode())
                    for heading in ("NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"):
                        self.assertIn(heading, text)
                    self.assertTrue(re.search(r"masu\(1\)" if command else r"masu-sort\s*\(1\)", text))

    def bash(self, line, breaks=" \t\n\"'><=;|&(:"):
        script = self.write("masu.bash", self.ok("--print", "bash"))
        code = ('COMP_WORDBREAKS=$3; source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; _masu; '
                'printf "%s\\n" "${COMPREPLY[@]}"')
        run = subprocess.run(["bash", "--norc", "-c", code, "bash", script, line, breaks], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, cwd=self.folder)
        self.assertEqual((run.returncode, run.stderr), (0, b""), line)
        return [word for word in run.stdout.decode().split("\n") if word]

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_bash(self):
        self.assertEqual(set(self.bash("masu ")), {*self.options, "help", "--help", "--version"})
        self.assertEqual(set(self.bash("masu help ")), set(self.options))
        self.assertEqual(self.bash("masu hi"), ["histogram"])
        self.assertEqual(self.bash("masu histogram --den"), ["--density"])
        self.assertEqual(self.bash("masu hist x --den"), ["--density"])
        self.assertEqual(set(self.bash("masu histogram --format ")), {"table", "csv", "tsv", "json", "npy", "raw", "uhi", "png", "pnm"})
        self.assertEqual(self.bash("masu histogram x.png --format j"), ["json"])
        self.assertEqual(self.bash("masu histogram --format=j"), ["json"])
        self.assertEqual(self.bash("masu histogram --format=j", breaks=" \t\n"), ["--format=json"])
        self.assertEqual(set(self.bash("masu histogram --bins s")), {"scott", "stone", "sturges", "sqrt"})
        self.assertEqual(self.bash("masu histogram --strategy part"), ["partitioned"])
        self.assertEqual(self.bash("masu histogram --dtype f3"), ["f32"])
        self.assertEqual(set(self.bash("masu histogram --endian ")), {"little", "big"})
        self.assertEqual(self.bash("masu histogram --device cuda:"), ["0"])
        self.assertEqual(self.bash("masu histogram --device cuda:", breaks=" "), ["cuda:0"])
        self.assertEqual(self.bash("masu histogram --range "), [])
        self.assertEqual(self.bash("masu devices --js"), ["--json"])
        self.write("photo one.png", "")
        self.assertEqual(self.bash("masu histogram pho"), ["photo one.png"])
        self.assertEqual(self.bash("masu histogram --plot pho"), ["photo one.png"])
        self.assertEqual(self.bash("masu histogram --density pho"), ["photo one.png"])
        self.assertEqual(self.bash("masu histogram ran"), ["random:"])
        for command, names in self.options.items():
            self.assertLessEqual(set(names), set(self.bash(f"masu {command} --")))

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_columns_and_lists(self):
        self.write("t.csv", "order,city,price in EUR,citizens\n1,Rome,2,3\n")
        self.write("k.jsonl", '{"user":{"age":3},"n":1}\n')
        path = self.path("t.csv")
        self.assertEqual(self.ok("--print", "columns", path), b"order\ncity\nprice in EUR\ncitizens\n")
        self.assertEqual(self.bash(f"{MASU} sum t.csv --column "), ["order", "city", "price\\ in\\ EUR", "citizens"])
        self.assertEqual(self.bash(f"{MASU} sum t.csv --column ci"), ["city", "citizens"])
        self.assertEqual(self.bash(f"{MASU} sum t.csv --column=or", breaks=" \t\n"), ["--column=order"])
        self.assertEqual(self.bash(f"{MASU} sum t.csv --group city,ci"), ["city,city", "city,citizens"])
        self.assertEqual(self.bash(f"{MASU} sort t.csv --key or"), ["order"])
        self.assertEqual(self.bash(f"{MASU} sum k.jsonl --column user"), ["user.age"])
        for line in ("sum none.csv --column ", "sum --column ", "sum t.csv --column x"):
            self.assertEqual(self.bash(f"{MASU} {line}"), [])
        self.assertEqual(self.bash("masu reduce t.csv --op sum,me"), ["sum,mean", "sum,median"])
        self.assertEqual(self.bash("masu reduce --op=mi"), ["min"])
        self.assertRegex(self.fails(1, "--print", "columns", self.path("none")), "none: cannot be opened")

    def test_offered_values_are_taken(self):
        if not shutil.which("bash"):
            self.skipTest("no bash")
        for option in ("--bins", "--strategy", "--outside", "--progress", "--format", "--endian", "--input-format"):
            for value in self.bash(f"masu histogram {option} "):
                if value not in ("npy", "image", "json") or option == "--format":  # those need such an input
                    data = [self.write("a.txt", "1 2 3 4\n"), "--dtype", "u8"]
                    if value in ("png", "pnm"):
                        data = [self.write("a.pgm", b"P5 2 1 255\n12"), "--equalize"]
                    run = subprocess.run([MASU, "histogram", *data, option, value, "--device", "cpu"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                    fine = (0, 1) if option == "--strategy" else (0,)
                    self.assertIn(run.returncode, fine, (option, value, run.stderr))
        for dtype in self.bash("masu histogram --dtype "):
            codes = dtype.startswith("f8")  # of raw input alone, which is read as f32
            data = [self.write("codes.raw", "abc"), "--dtype", dtype] if codes else [f"zeros:{dtype}:3"]
            found = json.loads(self.ok("histogram", *data, "--json"))
            self.assertEqual(found["dtype"], "f32" if codes else dtype)

    def with_masu(self):
        """An environment whose masu is the one under test."""
        os.makedirs(self.path("bin"), exist_ok=True)
        if not os.path.exists(self.path("bin/masu")):
            os.symlink(MASU, self.path("bin/masu"))
        return {**os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"], "HOME": self.folder}

    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        script = self.write("_masu", self.ok("--print", "zsh"))
        run = subprocess.run(["zsh", "-n", script], stderr=subprocess.PIPE)
        self.assertEqual((run.returncode, run.stderr), (0, b""))
        # A completion system with an _arguments that says what it was given.
        code = ('_arguments() { print -rl -- "$@"; [[ $1 == -C ]] && { state=argument; line=(histogram) }; true }; '
                'source "$1"')
        run = subprocess.run(["zsh", "-f", "-c", code, "zsh", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((run.returncode, run.stderr), (0, b""))
        given = run.stdout.decode()
        self.assertRegex(given, r"--format=\[.*\]:table\|csv\|tsv\|json\|npy\|raw\|uhi:\(table csv tsv json npy raw uhi\)")
        self.assertIn("(auto cpu opencl opencl\\:0 cuda cuda\\:0)", given)
        self.assertRegex(given, r"\*--column=\[.*_masu_columns")
        # The names of columns, with a completion system that says what it was given.
        self.write("t.csv", "order,city,price in EUR\n1,Rome,2\n")
        code = ('_arguments() { true }; compset() { print -r -- "$@" }; compadd() { print -rl -- "${@[4,-1]}" }; source "$1"; '
                'words=(sum none.csv t.csv --column ""); _masu_columns')
        run = subprocess.run(["zsh", "-f", "-c", code, "zsh", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             cwd=self.folder, env=self.with_masu())
        self.assertEqual((run.stderr, run.stdout), (b"", b"-P *,\norder\ncity\nprice in EUR\n"))

    def fish(self, line):
        script = self.write("masu.fish", self.ok("--print", "fish"))
        run = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder, env=self.with_masu())
        self.assertEqual((run.returncode, run.stderr), (0, b""), line)
        return [word.split("\t")[0] for word in run.stdout.decode().splitlines()]

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        self.assertEqual(set(self.fish("masu ")), {*self.options, "help"})
        self.assertLessEqual(set(self.options), set(self.fish("masu help ")))
        self.assertEqual(self.fish("masu histogram --den"), ["--density"])
        self.assertEqual(set(self.fish("masu histogram --format ")), {"table", "csv", "tsv", "json", "npy", "raw", "uhi", "png", "pnm"})
        self.assertEqual(set(self.fish("masu histogram --bins s")), {"scott", "stone", "sturges", "sqrt"})
        self.write("photo.png", "")
        self.assertIn("photo.png", self.fish("masu histogram pho"))
        self.assertIn("photo.png", self.fish("masu histogram --plot pho"))
        self.write("t.csv", "order,city,price in EUR,citizens\n1,Rome,2,3\n")
        self.assertEqual(set(self.fish("masu sum t.csv --column ")), {"order", "city", "price in EUR", "citizens"})
        self.assertEqual(self.fish("masu sum t.csv --column ci"), ["citizens", "city"])
        self.assertEqual(self.fish("masu reduce t.csv --group city,or"), ["city,order"])
        self.assertEqual(self.fish("masu reduce t.csv --column=or"), ["--column=order"])


if __name__ == "__main__":
    unittest.main()
