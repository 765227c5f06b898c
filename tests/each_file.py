#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""each_file.py BUILD: reads every source of the build folder BUILD by itself, with clang and without precompiled headers,
and reports includes that are missing. BUILD needs to be configured only (cmake --preset single)."""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def reads(entry):
    arguments = shlex.split(entry["command"])
    output = arguments.index("-o")
    del arguments[output:output + 2]
    command = ["clang++", *arguments[1:], "-fsyntax-only", "-Werror", "-Wno-unknown-warning-option"]
    done = subprocess.run(command, cwd=entry["directory"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return entry["file"], done.returncode, done.stdout


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(__file__).resolve().parents[1]
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    rooms = [str(root / room) + os.sep for room in ("src", "cli", "bench")]
    wanted = [entry for entry in entries
              if entry["file"].startswith(tuple(rooms)) and not entry["file"].endswith("_test.cpp")]
    if not wanted:
        sys.exit(f"each_file.py: {build} names no source of {root}")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (file, status, text) in enumerate(pool.map(reads, wanted), 1):
            if status:
                failed += 1
                print(f"failed: {os.path.relpath(file, root)} by itself\n{text}", flush=True)
            elif number % 20 == 0:
                print(f"{number} of {len(wanted)} files read", flush=True)
    if not failed:
        print(f"passed: {len(wanted)} files, each by itself")
    return failed != 0


sys.exit(main())
