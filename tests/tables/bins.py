#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of src/histogram/bins/*_test_data.h that come from NumPy >= 2 and from exact rational numbers.

Run from the repository's root where numpy can be imported: tests/tables/bins.py
"""
import math
import pathlib
import random
import struct
import subprocess
import warnings
from fractions import Fraction

import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")
ROOM = pathlib.Path(__file__).resolve().parents[2] / "src/histogram/bins"
MASK = 2**64 - 1
DTYPES = {"u8": "u1", "i8": "i1", "u16": "u2", "i16": "i2", "u32": "u4", "i32": "i4", "u64": "u8", "i64": "i8",
          "f16": "f2", "f32": "f4", "f64": "f8"}


def write(name, what, body):
    path = ROOM / name
    path.write_text(f"// SPDX-License-Identifier: Apache-2.0\n// {what}\n// Written by tests/tables/bins.py.\n"
                    f"#pragma once\n\n#include <masu/bins.h>\n\nnamespace masu::test {{\n\n{body}\n"
                    "}  // namespace masu::test\n")
    subprocess.run(["clang-format", "-i", path], check=True)


def digest(values):
    """FNV-1a over 64-bit words."""
    h = 0xCBF29CE484222325
    for v in values:
        h = ((h ^ int(v)) * 0x100000001B3) & MASK
    return h


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", float(x)))[0]


def half_table():
    rng = np.random.default_rng(5)
    values = np.arange(65536, dtype=np.uint16).view(np.float16)
    values = values[np.isfinite(values)]
    rows = []
    wanted = [("data", 10, -1.0, 1.0), ("data", 100, 0.0, 1.0), ("given", 10, 0.0, 1.0), ("given", 7, -3.3, 12.7),
              ("data", 1000, 0.0, 60000.0), ("given", 256, 0.0, 256.0), ("given", 10, -60000.0, 3000.0),
              ("data", 5, 0.0, 30 * 2.0**-24), ("data", 31, 0.0, 33 * 2.0**-24), ("given", 3, 1.0, 1.0)]
    while len(wanted) < 60:
        a, b = sorted(float(x) for x in (rng.normal(size=2) * 10 ** rng.uniform(-6, 3)).astype(np.float16))
        if a < b:
            wanted.append((str(rng.choice(["data", "given"])), int(rng.integers(1, 300)), a, b))
    for origin, n, lo, hi in wanted:
        inside = values[(values >= np.float16(lo)) & (values <= np.float16(hi))] if lo < hi else values
        try:
            counts, edges = np.histogram(inside, n, range=None if origin == "data" else (lo, hi))
        except ValueError:
            continue
        rows.append(f'{{{str(origin == "data").lower()}, {n}, {lo.hex()}, {hi.hex()}, {digest(counts):#x}u, '
                    f"{digest(bits(e) for e in edges):#x}u}},")
    write("bins_test_data.h", "numpy.histogram of all f16 values between lo and hi: digests of counts and edges.",
          "struct HalfCase {\nbool from_data; std::uint64_t n; double lo; double hi; std::uint64_t counts; "
          "std::uint64_t edges;\n};\ninline constexpr HalfCase half_cases[] = {\n" + "\n".join(rows) + "\n};\n")


class SplitMix:
    def __init__(self, seed):
        self.state = seed

    def unit(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53


def samples(seed, shape, n, lo, width):
    random_ = SplitMix(seed)
    result = []
    for _ in range(n):
        a, b, c = random_.unit(), random_.unit(), random_.unit()
        x = [a, (a + b + c) / 3, a * a * a * a, math.floor(a * 5) / 5][shape]
        result.append(lo + width * x)
    return result


def estimator_table():
    rng = random.Random(3)
    names = ["auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"]
    rows = []
    for dtype in DTYPES:
        for name in names:
            for _ in range(3):
                n = rng.choice([1, 2, 3, 10, 100, 1000, 3000])
                if name != "stone" and rng.random() < 0.2:
                    n = 20000
                shape = rng.randrange(4)
                lo, width = {"u": (0.0, 250.0), "i": (-120.0, 240.0), "f": (-3.0, 10.0)}[dtype[0]]
                if dtype[1:] in ("32", "64") and rng.random() < 0.5:
                    width *= 1000.0
                seed = rng.randrange(1 << 30)
                x = np.array(samples(seed, shape, n, lo, width))
                x = (np.floor(x) if dtype[0] != "f" else x).astype(DTYPES[dtype])
                given = rng.random() < 0.3
                range_ = (lo + width / 4, lo + width / 2) if given else None
                # f16 sums of NumPy's own standard deviation are too rough to compare with.
                if dtype == "f16" and name in ("scott", "doane"):
                    continue
                # Between neighbours more than 127 apart NumPy's percentile of int8 wraps around; that is not wanted.
                if dtype == "i8":
                    x = x.astype(np.int64)
                bins = len(np.histogram_bin_edges(x, name, range_)) - 1
                number = {"auto": "automatic"}.get(name, name)
                rows.append(f"{{Estimator::{number}, Dtype::{dtype}, {seed}, {shape}, {n}, {lo}, {width}, "
                            f"{str(given).lower()}, {bins}}},")
    write("bin_estimator_test_data.h", "len(numpy.histogram_bin_edges(…)) - 1 of samples that the test makes likewise.",
          "struct EstimatorCase {\nEstimator estimator; Dtype dtype; std::uint64_t seed; int shape; std::uint64_t n; "
          "double lo; double width; bool given; std::uint64_t bins;\n};\n"
          "inline constexpr EstimatorCase estimator_cases[] = {\n" + "\n".join(rows) + "\n};\n")


def rounded_root(power, n):
    """The double nearest to power^(1/n), by whole numbers alone; power is a Fraction."""
    low, high = 0, 0x7FEFFFFFFFFFFFFF  # patterns of doubles; low is never above the root
    as_double = lambda pattern: Fraction(struct.unpack("<d", struct.pack("<Q", pattern))[0])
    while high - low > 1:
        middle = (low + high) // 2
        if as_double(middle) ** n <= power:
            low = middle
        else:
            high = middle
    return low if ((as_double(low) + as_double(high)) / 2) ** n > power else high


def logarithmic_table():
    rng = random.Random(1)
    least = 5e-324
    cases = [(3, 1.0, 1000.0), (6, 1e-3, 1e3), (2, 1.0, 1.0 + 3 * 2.0**-52), (2, 1.0, 1.0 + 5 * 2.0**-52),
             (7, least, 1.7976931348623157e308), (4, least, 100 * least), (5, 3 * least, 2.0**-1000),
             (10, 0.1, 0.3), (12, 440.0, 880.0), (2, 2.0, 8.0), (9, 2.0**-1022, 2.0**-1013)]
    while len(cases) < 40:
        lo = math.ldexp(rng.random() + 0.5, rng.randrange(-300, 300))
        cases.append((rng.randrange(2, 8), lo, lo * math.ldexp(1 + rng.random(), rng.randrange(0, 100))))
    rows = []
    for n, lo, hi in cases:
        edges = [rounded_root(Fraction(lo) ** (n - i) * Fraction(hi) ** i, n) for i in range(n + 1)]
        rows.append(f"{{{n}, {lo.hex()}, {hi.hex()}, {digest(edges):#x}u}},")
    write("logarithmic_edges_test_data.h", "Edges rounded correctly by rational arithmetic: digests of their bits.",
          "struct LogarithmicCase {\nstd::uint64_t n; double lo; double hi; std::uint64_t edges;\n};\n"
          "inline constexpr LogarithmicCase logarithmic_cases[] = {\n" + "\n".join(rows) + "\n};\n")


half_table()
estimator_table()
logarithmic_table()
