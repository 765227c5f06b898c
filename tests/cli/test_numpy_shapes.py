# SPDX-License-Identifier: Apache-2.0
"""Bins by NumPy's rules, f16, densities, rows and joint histograms are those of NumPy, bit by bit, in random cases."""

import json
import unittest
import warnings

from command import CommandTest, masu, usable_devices
from test_numpy_agreement import DTYPES, NUMPY_2, SIZES, np, on_the_edges, refused_with, text, values

RULES = ["auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"]


def numpy_says(function, *arguments, **more):
    """What NumPy returns, or the exception that it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments, **more)
    except (ValueError, IndexError, OverflowError, MemoryError) as error:
        return error


def too_many_bins(data, rule, value_range):
    """Whether a rule gives more bins than a test should hold: few values near each other in a wide range."""
    wide = data.astype("f8")
    lo, hi = value_range or ((wide.min(), wide.max()) if wide.size else (0, 1))
    wide = wide[(wide >= lo) & (wide <= hi)]
    if wide.size == 0 or np.ptp(wide) == 0:
        return False
    width = np.ptp(wide) / 100
    if rule in ("auto", "fd"):
        quartiles = 2 * np.subtract(*np.percentile(wide, [75, 25])) / wide.size ** (1 / 3)
        width = min(width, quartiles or width)
    return (hi - lo) / width > 1e5


def halves(rng, size):
    kind = rng.choice(["normal", "uniform", "huge", "tiny", "near", "steps"])
    data = {"normal": lambda: rng.normal(size=size), "uniform": lambda: rng.uniform(-3, 7, size),
            "huge": lambda: rng.normal(size=size) * 1e4, "tiny": lambda: rng.normal(size=size) * 1e-6,
            "near": lambda: 1000 + rng.uniform(-3, 3, size), "steps": lambda: rng.integers(-20, 20, size) / 10}[kind]()
    return np.clip(data, -65000, 65000).astype("f2")


def special(rng, data):
    """The same with values that are not finite, where the dtype has them."""
    if data.dtype.kind == "f" and data.size > 3:
        data = data.copy()
        data.flat[rng.choice(data.size, 3, replace=False)] = [np.nan, np.inf, -np.inf]
    return data


@unittest.skipUnless(NUMPY_2, "needs numpy >= 2")
class Agreement(CommandTest):
    def histogram(self, data, *arguments):
        np.save(self.path("x.npy"), data)
        return masu("histogram", self.path("x.npy"), "--json", "--device", "cpu", *arguments)

    def same(self, result, edges, counts, what):
        self.assertEqual(result.returncode, 0, (what, result.stderr))
        found = json.loads(result.stdout)
        got = np.array([float(x) for x in found["edges"]]).astype(edges.dtype)
        self.assertEqual(got.tobytes(), edges.tobytes(), what)
        self.assertEqual(found["counts"], counts.tolist(), what)
        return found

    def test_rules(self):
        for i in range(240):
            rng = np.random.default_rng([11, i])
            dtype = DTYPES[i % len(DTYPES)]
            data = values(rng, dtype, rng.choice(SIZES))
            rule = RULES[i // len(DTYPES) % len(RULES)]
            what = f"case {i}, {dtype}, {data.size} values, {rule}"
            arguments, value_range = ["--bins", rule], None
            if i % 3 == 2 and data.size > 1:
                lo, hi = float(data.min()), float(data.max())
                value_range = (lo / 2 + hi / 4, hi / 2 + lo / 4)
                value_range = (min(value_range), max(value_range))
                arguments += ["--range", ":".join(map(text, value_range))]
                what += f", range {value_range}"
            if too_many_bins(data, rule, value_range):
                continue
            expected = numpy_says(np.histogram, data, rule, value_range)
            result = self.histogram(data, *arguments)
            if isinstance(expected, Exception):
                if "Too many bins" not in str(expected):  # NumPy's own arithmetic overflows
                    continue
                wanted = 0 if value_range is None else refused_with(data.dtype, False)
                self.assertEqual(result.returncode, wanted, (what, expected, result.stderr))
                if wanted == 0:  # the range is widened
                    self.assertEqual(sum(json.loads(result.stdout)["counts"]), data.size, what)
                continue
            self.assertEqual(result.returncode, 0, (what, result.stderr))
            bins = len(json.loads(result.stdout)["counts"])
            if dtype == "f4" and bins != expected[0].size:
                # NumPy rounds an f32 standard deviation; masu's number of bins is that of the same values as f64.
                self.assertIn(rule, ("scott", "doane", "stone"), what)
                edges = numpy_says(np.histogram_bin_edges, data.astype("f8"), rule, value_range)
                self.assertEqual(bins, edges.size - 1, what)
                expected = np.histogram(data, bins, value_range)
            self.same(result, expected[1], expected[0], what)

    def test_half_precision(self):
        for i in range(120):
            rng = np.random.default_rng([12, i])
            data = halves(rng, rng.choice(SIZES))
            bins = int(rng.choice([1, 2, 3, 7, 10, 64, 100, 255, 1000]))
            what = f"case {i}, {data.size} values, {bins} bins"
            kind = i % 3
            if kind == 0:  # the range of the data
                expected, arguments = numpy_says(np.histogram, data, bins), ["--bins", str(bins)]
            elif kind == 1:
                value_range = sorted(float(x) for x in rng.choice(data, 2)) if data.size else [-1.0, 2.5]
                if data.size:
                    edges = numpy_says(np.histogram_bin_edges, data[:0], bins, value_range)
                    if not isinstance(edges, Exception):
                        data = on_the_edges(rng, data, edges.astype("f8"))
                expected = numpy_says(np.histogram, data, bins, value_range)
                arguments = ["--bins", str(bins), "--range", ":".join(map(text, value_range))]
                what += f" of {value_range}"
            else:
                edges = np.sort(rng.normal(size=bins + 1) * 10)
                data = special(rng, on_the_edges(rng, data, edges))
                expected = numpy_says(np.histogram, data, edges)
                arguments = ["--edges", ",".join(map(text, edges))]
            if isinstance(expected, Exception):
                continue  # NumPy's f16 arithmetic leaves its own bins now and then
            self.same(self.histogram(data, *arguments), expected[1], expected[0], what)

    def test_density(self):
        for i in range(40):
            rng = np.random.default_rng([13, i])
            dtype = DTYPES[i % len(DTYPES)]
            data = values(rng, dtype, 1000)
            edges = np.unique(rng.normal(size=20) * 50)
            expected = numpy_says(np.histogram, data, edges, density=True)[0]
            result = self.histogram(data, "--density", "--edges", ",".join(map(text, edges)))
            found = np.array([float(x) for x in json.loads(result.stdout)["density"]])
            np.testing.assert_array_equal(found, expected, str((i, dtype)))
            expected = numpy_says(np.histogram, data, 50, density=True)
            if isinstance(expected, Exception):
                continue
            found = np.array([float(x) for x in json.loads(self.histogram(data, "--density", "--bins", "50").stdout)
                              ["density"]])
            np.testing.assert_array_equal(found, expected[0], str((i, dtype)))

    def test_rows(self):
        for i in range(20):
            rng = np.random.default_rng([14, i])
            dtype = DTYPES[i % len(DTYPES)]
            rows = int(rng.choice([1, 2, 7, 64]))
            data = values(rng, dtype, rows * int(rng.choice([1, 3, 50, 200]))).reshape(rows, -1)
            edges = np.sort(rng.normal(size=20) * 50)
            found = json.loads(self.histogram(data, "--rows", str(rows), "--edges", ",".join(map(text, edges))).stdout)
            for row, counts in zip(data, found["counts"]):
                self.assertEqual(counts, np.histogram(row, edges)[0].tolist(), (i, dtype))

    def joint(self, data, bins, value_range, device, what, columns=False):
        """bins: for each column a number or its edges; value_range: None or a pair for each column."""
        if columns:
            inputs = []
            for d in range(data.shape[1]):
                inputs.append(self.path(f"column{d}.npy"))
                np.save(inputs[-1], data[:, d])
        else:
            inputs = [self.path("x.npy")]
            np.save(inputs[0], data)

        def each(texts):
            return ";".join(texts)
        arguments = ["--bins", each("" if np.ndim(b) else str(b) for b in bins),
                     "--edges", each(",".join(map(text, b)) if np.ndim(b) else "" for b in bins)]
        if value_range is not None:
            arguments += ["--range", each("" if np.ndim(b) else ":".join(map(text, r))
                                          for b, r in zip(bins, value_range))]
        if not any(np.ndim(b) for b in bins):
            del arguments[2:4]
        expected = numpy_says(np.histogramdd, data, bins, value_range)
        if not isinstance(expected, Exception) and any(
                not np.ndim(b) and np.any(np.diff(edges) <= 0) for b, edges in zip(bins, expected[1])):
            expected = ValueError("bins without a width, which numpy.histogram refuses and numpy.histogramdd does not")
        arguments = [a for pair in zip(arguments[::2], arguments[1::2]) if pair[1].strip(";") for a in pair]
        result = masu("histogram", *inputs, "--joint", "--json", "--device", device, *arguments)
        if isinstance(expected, Exception):
            found_in_data = value_range is None and not all(np.ndim(b) for b in bins)
            self.assertEqual(result.returncode, refused_with(data.dtype, found_in_data),
                             (what, expected, result.stderr))
            return
        self.assertEqual(result.returncode, 0, (what, result.stderr))
        found = json.loads(result.stdout)
        for got, edges in zip(found["edges"], expected[1]):
            edges = np.asarray(edges)
            self.assertEqual(np.array([float(x) for x in got]).astype(edges.dtype).tobytes(), edges.tobytes(), what)
        self.assertEqual(np.array(found["counts"]).tolist(), expected[0].astype("u8").tolist(), what)
        self.assertEqual(int(expected[0].sum()) + found["outside"] + found["nan"], data.shape[0], what)

    def joint_cases(self, seed, number, device):
        for i in range(number):
            rng = np.random.default_rng([seed, i])
            dtype = [*DTYPES, "f4", "f8"][i % 12]
            columns = int(rng.choice([1, 2, 2, 2, 3, 4]))
            size = int(rng.choice(SIZES))
            data = values(rng, dtype, size * columns).reshape(size, columns)
            bins = [int(rng.choice([1, 3, 10, 16])) if rng.random() < 0.6 else
                    np.unique(rng.normal(size=int(rng.choice([3, 10]))) * 50) for _ in range(columns)]
            value_range = None
            if rng.random() < 0.5:
                value_range = [tuple(sorted(float(x) for x in (rng.choice(data[:, d], 2) if size else (-1, 1))))
                               for d in range(columns)]
                data = special(rng, data)
            what = f"seed {seed}, case {i}, {dtype}, {data.shape}, bins {bins}, range {value_range}, {device}"
            if size == 0 and value_range is None:
                continue  # NumPy has no range for no points; masu takes 0:1
            self.joint(data, bins, value_range, device, what, columns=i % 4 == 3)

    def test_joint_on_the_cpu(self):
        self.joint_cases(15, 160, "cpu")

    def test_joint_on_opencl(self):
        for device in usable_devices("opencl")[:1]:
            self.joint_cases(16, 8, device)


if __name__ == "__main__":
    unittest.main()
