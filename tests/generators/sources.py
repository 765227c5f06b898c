# SPDX-License-Identifier: Apache-2.0
"""What tables.py and pictures.py share: masu's readers in one process, the loop over seeds, and smaller cases of a fault."""
import argparse
import collections
import functools
import importlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = {"u8": "u1", "i8": "i1", "u16": "<u2", "i16": "<i2", "u32": "<u4", "i32": "<i4", "u64": "<u8", "i64": "<i8",
          "f16": "<f2", "f32": "<f4", "f64": "<f8"}
SILENCE = 60  # seconds after which a read is counted as one that does not end


class Masu:
    """masu::io, asked in one process (read_many.cpp)."""

    def __init__(self, program):
        self.program, self.process = program, None

    def read(self, **asked):
        """The answer as a dictionary; `elements` as an array. `error` where masu refuses."""
        if self.process is None:
            self.process = subprocess.Popen(["timeout", "-s", "ABRT", "36000", self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            status, self.process = self.process.wait(), None
            return {"crash": f"the reader ended with status {status}"}
        answer = json.loads(line)
        if "elements" in answer:
            answer["elements"] = np.frombuffer(bytes.fromhex(answer["elements"]), DTYPES[answer["dtype"]])
        return answer


class Counts(collections.Counter):
    """How many cases had which outcome; the first example of each."""

    def __init__(self):
        super().__init__()
        self.examples = {}

    def note(self, outcome, example=None):
        self[outcome] += 1
        self.examples.setdefault(outcome, example)


def arguments(description, count):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=1, help="of the first case")
    parser.add_argument("--count", type=int, default=count, help="how many cases")
    parser.add_argument("--show", type=int, default=5, help="how many faults of one kind are printed")
    parser.add_argument("--masu-read-many", default=os.environ.get("MASU_READ_MANY", str(ROOT / "build/release/tests/generators/masu_read_many")))
    parser.add_argument("--verbose", action="store_true", help="prints an example of every outcome")
    return parser.parse_args()


def smaller(case, steps, is_fault, tries=300):
    """Applies the steps, each a function from a case to smaller ones, as long as the fault stays."""
    progress = True
    while progress and tries > 0:
        progress = False
        for candidate in (c for step in steps for c in step(case)):
            tries -= 1
            if tries <= 0:
                break
            try:
                still = is_fault(candidate)
            except Exception:  # a case that a writer refuses
                still = False
            if still:
                case, progress = candidate, True
                break
    return case


def run(name, given, draw, check, steps, show):
    """Checks `count` cases. check(case, counts) gives the faults as (kind, text); prints the smallest case of each kind."""
    counts, faults, began = Counts(), collections.defaultdict(list), time.monotonic()
    for seed in range(given.seed, given.seed + given.count):
        case = draw(np.random.default_rng([7, seed]))
        for kind, _ in check(case, counts):
            faults[kind].append((seed, case))
    for kind, found in sorted(faults.items()):
        print(f"\n{name}: {kind}: {len(found)} cases")
        shown = set()
        for seed, case in found[: given.show]:
            case = smaller(case, steps, lambda c, k=kind: any(other == k for other, _ in check(c, Counts())))
            text = show(case) + "".join(f"\n  {t}" for k, t in check(case, Counts()) if k == kind)
            if text not in shown:
                print(f"seed {seed}: {text}", flush=True)
            shown.add(text)
    print(f"\n{name}: {given.count} cases from seed {given.seed} in {time.monotonic() - began:.0f} s")
    for outcome, count in sorted(counts.items()):
        example = counts.examples[outcome] if given.verbose else None
        print(f"{count:8} {outcome}" + (f"\n         for example {example}" if example else ""))
    failed = sum(map(len, faults.values()))
    print(f"{given.count - len({seed for found in faults.values() for seed, _ in found})} passed, "
          f"{len({seed for found in faults.values() for seed, _ in found})} failed", flush=True)
    return 1 if failed else 0


def folder():
    """A folder for one file at a time, in memory where the machine has such a place."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.TemporaryDirectory(dir=place, prefix="masu-generators-")


@functools.cache
def library(name, wanted=None):
    """A module, or None with a line that says that it is skipped."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"skipped: {wanted or name} ({error})")
        return None
