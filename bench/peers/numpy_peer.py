#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""numpy.histogram, histogram2d and bincount on the inputs of masu bench histogram, one thread; writes the same JSON.

The inputs come from the program peer_input (of build/bench/bench, or named by PEER_INPUT).
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import numpy as np

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = {"u8-256": ("u8", np.uint8, 256), "f32-100": ("f32", np.float32, 100), "f64-100": ("f64", np.float64, 100),
         "f32-1000": ("f32", np.float32, 1000), "f32-edges100": ("f32", np.float32, 100),
         "f32-edges1000": ("f32", np.float32, 1000), "joint-100x100": ("f32", np.float32, 100),
         "i32-1e7": ("i32", np.int32, 10**7)}
USUAL = ["u8-256", "f32-100", "f64-100"]
DISTRIBUTIONS = ["uniform", "constant", "normal", "zipf", "sorted", "runs", "few"]
UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "k": 1000, "M": 1000**2, "G": 1000**3}


def size(text):
    for unit, factor in UNITS.items():
        if text.endswith(unit):
            return int(text[: -len(unit)]) * factor
    return int(text)


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def random_edges(bins):
    """The edges of masu bench: the elements of random:f32:N:seed=1 (docs/generators.md) in order, between 0 and 1."""
    base = mix(1 + GOLDEN & MASK)
    inner = [(mix(base + (k + 1) * GOLDEN & MASK) >> 40) * 2.0**-24 for k in range(bins - 1)]
    return np.sort(np.array([0.0, *inner, 1.0]))


def joint(data, bins):
    half = data.size // 2
    return np.histogram2d(data[:half], data[half:], bins=bins, range=((0, 1), (0, 1)))[0]


def functions(case):
    """What is measured for a case, by name."""
    bins = CASES[case][2]
    if case == "u8-256":
        return {
            "bincount": lambda data: np.bincount(data, minlength=256),
            "histogram": lambda data: np.histogram(data, bins=256, range=(0, 256))[0],
        }
    if case == "i32-1e7":
        return {"bincount": lambda data: np.bincount(data, minlength=bins)}
    if case.startswith("joint"):
        return {"histogram2d": lambda data: joint(data, bins)}
    if "edges" in case:
        edges = random_edges(bins)
        return {"histogram": lambda data: np.histogram(data, bins=edges)[0]}
    return {"histogram": lambda data: np.histogram(data, bins=bins, range=(0, 1))[0]}


def measure(function, data, points, repeats):
    seconds = []
    counts = function(data)  # warms up
    for _ in range(repeats):
        start = time.perf_counter()
        counts = function(data)
        seconds.append(time.perf_counter() - start)
    if int(counts.sum()) != points:
        sys.exit("numpy_peer: the counts do not add up")
    return seconds


def rows_of(case, distribution, amount, repeats):
    name, dtype, bins = CASES[case]
    program = os.environ.get("PEER_INPUT", ROOT / "build/bench/bench/peer_input")
    raw = subprocess.run([program, case, distribution, str(amount)], stdout=subprocess.PIPE, check=True).stdout
    data = np.frombuffer(raw, dtype)
    points = data.size // 2 if case.startswith("joint") else data.size
    for label, function in functions(case).items():
        seconds = measure(function, data, points, repeats)
        median = statistics.median(seconds)
        yield {"peer": f"NumPy {np.__version__} {label}", "device": "cpu", "kind": "kernel", "case": case,
               "dtype": name, "bins": bins, "distribution": distribution, "bytes": len(raw), "threads": 1,
               "repeats": repeats, "seconds_median": median, "seconds_min": min(seconds),
               "gb_per_s": len(raw) / median / 1e9}


def names(known):
    def parse(text):
        for name in text.split(","):
            if name not in known:
                raise argparse.ArgumentTypeError(f"must be one of {', '.join(known)}, got '{name}'")
        return text.split(",")
    return parse


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", action="append", type=size)
    parser.add_argument("--case", type=names(CASES), default=USUAL)
    parser.add_argument("--distribution", type=names(DISTRIBUTIONS), default=DISTRIBUTIONS)
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    sizes = options.size or [size("64Ki" if options.quick else "100Mi")]
    repeats = options.repeats or (1 if options.quick else 5)
    rows = [row for amount in sizes for case in options.case for distribution in options.distribution
            for row in rows_of(case, distribution, amount, repeats)]
    report = {"suite": "histogram", "program": f"NumPy {np.__version__}",
              "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
              "host_cpu": platform.processor(), "devices": [], "rows": rows}
    text = json.dumps(report, indent=2) + "\n"
    if options.output:
        pathlib.Path(options.output).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
