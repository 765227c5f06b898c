# SPDX-License-Identifier: Apache-2.0
"""Counts and edges are those of numpy.histogram and numpy.bincount, bit by bit, in random cases."""

import json
import random
import unittest
import warnings

from command import CommandTest, masu, usable_devices

try:
    import numpy as np
except ImportError:
    np = None

NUMPY_2 = np is not None and int(np.__version__.split(".")[0]) >= 2

DTYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
SIZES = [0, 1, 2, 3, 17, 100, 1000, 4097]
BINS = [1, 2, 3, 7, 10, 64, 100, 255, 256, 1000, 4096, 10007]


def integers(rng, dtype, size):
    limits = np.iinfo(dtype)
    kind = rng.choice(["all", "small", "top", "few"])
    if kind == "few":
        return rng.choice(np.array([limits.min, 0, 1, 5, limits.max], dtype=dtype), size)
    lo, hi = {"all": (limits.min, limits.max), "small": (max(limits.min, -40), 100),
              "top": (limits.max - 100, limits.max)}[kind]
    return rng.integers(lo, hi, size, dtype=dtype, endpoint=True)


def floats(rng, dtype, size):
    kind = rng.choice(["normal", "uniform", "huge", "tiny", "near", "steps"])
    if kind == "normal":
        data = rng.normal(size=size)
    elif kind == "uniform":
        data = rng.uniform(-3, 7, size)
    elif kind == "huge":
        data = rng.normal(size=size) * (1e30 if dtype == "f4" else 1e300)
    elif kind == "tiny":
        data = rng.normal(size=size) * (1e-40 if dtype == "f4" else 1e-310)
    elif kind == "near":
        data = 1000 + rng.uniform(-1e-3, 1e-3, size)
    else:
        data = rng.integers(-20, 20, size) / 10
    return data.astype(dtype)


def values(rng, dtype, size):
    return (floats if dtype[0] == "f" else integers)(rng, dtype, size)


def on_the_edges(rng, data, edges):
    """Puts the edges themselves and their neighbours among the data, where the dtype has them."""
    if data.size == 0:
        return data
    picked = rng.choice(edges, data.size // 2 + 1)
    if data.dtype.kind == "f":
        picked = picked.astype(data.dtype)
        away = rng.choice(np.array([-np.inf, np.inf], dtype=data.dtype), picked.size)
        picked = np.where(rng.random(picked.size) < 0.5, picked, np.nextafter(picked, away))
    else:
        limits = np.iinfo(data.dtype)
        picked = np.array([min(max(int(x), limits.min), limits.max) for x in picked], dtype=data.dtype)
    return np.concatenate([data, picked]).astype(data.dtype)


def text(number):
    return repr(float(number))


def refused_with(dtype, found_in_data):
    """The status for bins without a width: 1 where values of a file lie too close together for f64, else 2."""
    return 1 if found_in_data and dtype.kind in "iu" and dtype.itemsize == 8 else 2


@unittest.skipUnless(NUMPY_2, "needs numpy >= 2")
class Agreement(CommandTest):
    def check(self, data, bins, value_range, device, what):
        np.save(self.path("x.npy"), data)
        arguments = ["histogram", self.path("x.npy"), "--json", "--device", device]
        if isinstance(bins, int):
            arguments += ["--bins", str(bins)]
            if value_range is not None:
                arguments += ["--range", ":".join(map(text, value_range))]
        else:
            arguments += ["--edges", ",".join(map(text, bins))]
        result = masu(*arguments)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                counts, edges = np.histogram(data, bins, value_range)
        except ValueError as error:
            found_in_data = isinstance(bins, int) and value_range is None
            self.assertEqual(result.returncode, refused_with(data.dtype, found_in_data), (what, error, result.stderr))
            return
        self.assertEqual(result.returncode, 0, (what, result.stderr))
        found = json.loads(result.stdout)
        got = np.array([float(x) for x in found["edges"]])
        if isinstance(bins, int):
            got = got.astype(edges.dtype)
        self.assertEqual(got.tobytes(), np.asarray(edges, dtype=got.dtype).tobytes(), what)
        self.assertEqual(found["counts"], counts.tolist(), what)
        self.assertEqual(sum(found["counts"]) + found["below"] + found["above"] + found["nan"], data.size, what)

    def cases(self, seed, number, device):
        for i in range(number):
            rng = np.random.default_rng([seed, i])
            dtype = DTYPES[i % len(DTYPES)]
            data = values(rng, dtype, rng.choice(SIZES))
            what = f"seed {seed}, case {i}, {dtype}, {data.size} values, {device}"
            kind = rng.choice(["range", "found", "edges"])
            if kind == "found":
                self.check(data, int(rng.choice(BINS)), None, device, what)
            elif kind == "range":
                lo, hi = self.some_range(rng, data)
                bins = int(rng.choice(BINS))
                try:
                    data = on_the_edges(rng, data, np.histogram_bin_edges(data[:0], bins, (lo, hi)))
                except ValueError:
                    pass  # too many bins: check() expects the same of both
                if dtype[0] == "f" and data.size > 3:
                    data[:3] = [np.nan, np.inf, -np.inf]
                self.check(data, bins, (lo, hi), device, what + f", {bins} bins of {lo}:{hi}")
            else:
                edges = np.sort(self.some_edges(rng, data))
                data = on_the_edges(rng, data, edges)
                if dtype[0] == "f" and data.size > 3:
                    data[:3] = [np.nan, np.inf, -np.inf]
                self.check(data, edges, None, device, what + f", edges {edges}")

    @staticmethod
    def some_range(rng, data):
        kind = rng.choice(["data", "inside", "equal", "fixed", "narrow"])
        if data.size == 0 or kind == "fixed":
            return (-3.3, 7.1)
        lo, hi = float(data.min()), float(data.max())
        if kind == "inside":
            lo, hi = lo + (hi / 4 - lo / 4), hi - (hi / 4 - lo / 4)
        if kind == "equal":
            hi = lo
        if kind == "narrow":
            hi = float(np.nextafter(lo, np.inf))
        return (min(lo, hi), max(lo, hi))

    @staticmethod
    def some_edges(rng, data):
        count = int(rng.choice([2, 3, 10, 200]))
        if data.size > 0 and rng.random() < 0.5:
            edges = rng.choice(data, count).astype("f8")  # many equal ones
        else:
            edges = rng.normal(size=count) * 50
        return edges

    def test_histogram_on_the_cpu(self):
        self.cases(1, 300, "cpu")

    def test_histogram_on_opencl(self):
        for device in usable_devices("opencl")[:1]:
            self.cases(2, 10, device)  # few: a device compiles kernels for most of them

    def test_bincount(self):
        for i, dtype in enumerate(["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]):
            rng = np.random.default_rng([3, i])
            size = random.Random(i).choice([1, 100, 5000])
            data = rng.integers(0, 120, size, dtype=dtype)
            np.save(self.path("x.npy"), data)
            found = self.json(self.path("x.npy"), "--integers", "120", "--device", "cpu")
            self.assertEqual(found["counts"], np.bincount(data.astype("i8"), minlength=120).tolist())


if __name__ == "__main__":
    unittest.main()
