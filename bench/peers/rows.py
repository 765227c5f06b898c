# SPDX-License-Identifier: Apache-2.0
"""What the peers in Python share: the options of masu bench, its inputs, and rows of the same form.

The inputs come from the program peer_input (of build/bench/bench, or named by PEER_INPUT).
"""
import argparse
import dataclasses
import datetime
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "k": 1000, "M": 1000**2, "G": 1000**3}
BYTES = {"u8": 1, "u16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8, "f16": 2, "f32": 4, "f64": 8,
         "c128": 16}
ORDERING = ["uniform", "and3", "constant", "zipf", "sorted", "reversed"]  # usual but for histogram, and all:
EVERY_ORDERING = ["uniform", "and2", "and3", "and5", "bits", "constant", "few", "normal", "zipf", "sorted", "reversed",
                  "runs", "special"]
MOST_SECONDS = 2  # of the repeats, unless their number is asked for; of 3 at least

UNIQUES = {f"unique-{dtype}": dtype for dtype in ("u8", "u16", "u32", "f32", "u64")}
RUNS = {f"run-length-{dtype}": dtype for dtype in ("u8", "u16", "f16", "u32", "f32", "u64", "f64")}
SEARCHES = {"f32-in-1000": "f32", "f32-in-1Mi": "f32", "f32-in-256Mi": "f32", "u64-in-1Mi": "u64", "u32-in-1Mi": "u32",
            "u16-in-1000": "u16"}
EXTREMES = {f"{dtype}-{op}": dtype for dtype in ("u8", "i32", "u64", "f16", "f32", "f64")
            for op in ("min", "max", "minmax", "count-nonzero")}
EXTREMES["f32-nanmin"] = "f32"
SUMS = {f"{dtype}-{op}": dtype for dtype in ("i32", "u64", "f32", "f64") for op in ("sum", "dot")}
SCANS = {f"{dtype}-sum": dtype for dtype in ("u32", "i32", "u64", "f32", "f64")}
CONVERSIONS = {pair: pair.split("-")[0] for pair in (
    "u8-to-f32", "u16-to-f32", "i32-to-f32", "f32-to-u8", "f32-to-i32", "f32-to-f16", "f16-to-f32", "f32-to-f64",
    "f64-to-f32", "f64-to-f16", "i64-to-f64", "i64-to-i32-wrap")}
SQUARES = {f"{size}-square": dtype for size, dtype in
           ((1, "u8"), (2, "u16"), (4, "u32"), (8, "u64"), (16, "c128"))}
FLAT = ["uniform"]  # what the data are changes nothing
SOUGHT_IN = {case: {"1000": 1000, "1Mi": 1 << 20, "256Mi": 1 << 28}[case.split("-")[-1]] for case in SEARCHES}


@dataclasses.dataclass
class Suite:
    """A suite that a peer has: measure(case, raw, repeats) yields (name, {kind: seconds of each repeat}, details)."""

    dtypes: dict  # of each case
    usual: list
    distributions: list
    amount: str  # bytes of a histogram's input, elements of others, unless asked for
    measure: typing.Callable
    before: dict = dataclasses.field(default_factory=dict)  # elements in front of a case's input, of what it is sought in


def size(text):
    for unit, factor in UNITS.items():
        if text.endswith(unit):
            return int(text[: -len(unit)]) * factor
    return int(text)


def square(count):
    """The rows and columns of the matrix of masu bench transpose: rows are a power of two."""
    height = 1 << (math.isqrt(count).bit_length() - 1)
    return height, count // height


def host_seconds(function, repeats, finish=lambda: None, prepare=lambda: None):
    """The host's seconds of each repeat, from the call until finish() returns; the first call, and prepare(), are not."""
    seconds = []
    prepare()
    function()
    finish()
    end = time.perf_counter() + MOST_SECONDS
    while len(seconds) < repeats and (len(seconds) < 3 or time.perf_counter() < end):
        prepare()
        start = time.perf_counter()
        function()
        finish()
        seconds.append(time.perf_counter() - start)
    return seconds


def event_seconds(function, repeats, record, elapsed_ms):
    """The device's seconds of each repeat: record() gives an event in the stream, elapsed_ms(a, b) waits for b."""
    seconds = []
    function()
    end = time.perf_counter() + MOST_SECONDS
    while len(seconds) < repeats and (len(seconds) < 3 or time.perf_counter() < end):
        first = record()
        function()
        seconds.append(elapsed_ms(first, record()) / 1e3)
    return seconds


def fits(suite, dtype, distribution):
    """Integers have no bits and no special values of their own."""
    return suite == "histogram" or dtype.startswith("f") or distribution not in ("bits", "special")


def measure_all(suite, about, options, program, device):
    executable = os.environ.get("PEER_INPUT", ROOT / "build/bench/bench/peer_input")
    if not os.access(executable, os.X_OK):
        sys.exit(f"{program}: {executable} is not built; PEER_INPUT names another")
    for case in options.case or about.usual:
        dtype = about.dtypes[case]
        amounts = [size(text) for text in options.count]
        amounts += [size(text) // (1 if suite == "histogram" else BYTES[dtype]) for text in options.size]
        small = "64Ki" if suite == "histogram" else "4Ki"
        for amount in amounts or [size(small if options.quick else about.amount)]:
            for distribution in options.distribution or about.distributions:
                if not fits(suite, dtype, distribution):
                    continue
                raw = subprocess.run([executable, suite, case, distribution, str(amount)], stdout=subprocess.PIPE,
                                     check=True).stdout
                size_bytes = len(raw) - about.before.get(case, 0) * BYTES[dtype]
                for name, kinds, details in about.measure(case, raw, options.repeats):
                    for kind, seconds in kinds.items():
                        median = statistics.median(seconds)
                        count = size_bytes // BYTES[dtype]
                        yield {"peer": f"{program} {name}", "device": device, "kind": kind, "case": case,
                               "dtype": dtype, **details, "distribution": distribution, "bytes": size_bytes,
                               "count": count, "threads": 1 if device == "cpu" else None, "repeats": len(seconds),
                               "seconds_median": median, "seconds_min": min(seconds),
                               "gb_per_s": size_bytes / median / 1e9, "elements_per_s": count / median}


def listed(text):
    return text.split(",")


def main(description, program, device, suites, repeats):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("suite", choices=suites)
    for name in ("size", "count", "case", "distribution"):
        parser.add_argument(f"--{name}", type=listed, action="extend", default=[])
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--threads", help="taken and left alone, as other peers know it")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    about = suites[options.suite]
    if "all" in options.case:
        options.case = list(about.dtypes)
    if "all" in options.distribution:
        options.distribution = about.distributions if options.suite == "histogram" else EVERY_ORDERING
    options.repeats = options.repeats or (1 if options.quick else repeats)
    for case in options.case:
        if case not in about.dtypes:
            parser.error(f"--case must be one of {', '.join(about.dtypes)}, got '{case}'")
    rows = list(measure_all(options.suite, about, options, program, device))
    report = {"suite": options.suite, "program": program,
              "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
              "host_cpu": platform.processor(), "devices": [], "rows": rows}
    text = json.dumps(report, indent=2) + "\n"
    if options.output:
        pathlib.Path(options.output).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
