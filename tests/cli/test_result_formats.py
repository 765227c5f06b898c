# SPDX-License-Identifier: Apache-2.0
"""--format of every command that writes a result: each form says the same, read by Python's own readers."""

import csv
import json
import os
import unittest

import numpy as np

from command import CommandTest


def number(text):
    return float(text.replace("Infinity", "inf")) if isinstance(text, str) else float(text)


class ResultFormatsTest(CommandTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(11)
        self.values = np.round(rng.normal(size=200), 2)
        self.save_npy("x.npy", self.values)

    def out(self, form, *arguments):
        """What the command writes to a pipe, and to a file of any name."""
        piped = self.ok(*arguments, "--format", form, "--device", "cpu")
        self.assertEqual(self.ok(*arguments, "--format", form, "--device", "cpu", "-o", self.path("o.csv")), b"")
        with open(self.path("o.csv"), "rb") as file:
            written = file.read()
        if form == "json" and b'"seconds"' in piped:
            piped, written = piped[: piped.index(b'"seconds"')], written[: written.index(b'"seconds"')]
        self.assertEqual(piped, written)
        return self.ok(*arguments, "--format", form, "--device", "cpu")

    def npy_of(self, *arguments):
        self.ok(*arguments, "--format", "npy", "-o", self.path("o.dat"))
        return np.load(self.path("o.dat"))

    def test_columns(self):
        x = self.path("x.npy")
        for arguments, columns in [(["topk", x, "-k", "5"], ["values", "indices"]), (["quantile", x, "-q", "0,0.3,1"], ["q", "values"]),
                                   (["topk", x, "-k", "3", "--index"], ["indices"]), (["reduce", x, "--op", "max"], ["max"]), (["dot", x, x], ["dot"]),
                                   (["unique", x, "--limit", "9"], ["values", "counts"])]:
            with self.subTest(arguments=arguments):
                said = json.loads(self.out("json", *arguments))
                expected = np.array([np.atleast_1d(said[name]) for name in columns], float).T
                for form, between in (("csv", ","), ("tsv", "\t")):
                    rows = list(csv.reader(self.out(form, *arguments).decode().splitlines(), delimiter=between))
                    np.testing.assert_array_equal(np.array(rows[1:], float), expected)
                self.assertIn(str(said[columns[-1]] if not isinstance(said[columns[-1]], list) else said[columns[-1]][0]),
                              self.out("table", *arguments).decode())
                if arguments[0] == "unique":
                    for form in ("npy", "raw"):
                        self.fails(2, *arguments, "--format", form, says=f"--format {form}: the result is not one array")
                    continue
                array = self.npy_of(*arguments)
                np.testing.assert_array_equal(array.astype(float), expected[:, columns.index("values") if "values" in columns else 0])
                self.assertEqual(self.out("raw", *arguments), array.tobytes())
                self.assertEqual(self.out("npy", *arguments)[-array.nbytes:], array.tobytes())

    def test_arrays(self):
        x = self.path("x.npy")
        for arguments, expected in [(["sort", x], np.sort(self.values)), (["scan", x], None), (["convert", x, "--to", "f32"], self.values.astype("f4")),
                                    (["sort", x, "--index"], np.argsort(self.values, kind="stable").astype("u8"))]:
            with self.subTest(arguments=arguments):
                array = self.npy_of(*arguments)
                if expected is not None:
                    np.testing.assert_array_equal(array, expected)
                    self.assertEqual(array.dtype, expected.dtype)
                self.assertEqual(self.out("raw", *arguments), array.tobytes())
                for form in ("table", "csv", "tsv"):
                    self.assertEqual([array.dtype.type(line) for line in self.out(form, *arguments).decode().split()], list(array))
                self.assertEqual([array.dtype.type(one) for one in json.loads(self.out("json", *arguments))], list(array))
        self.assertEqual(json.loads(self.ok("convert", "-", "--to", "f64", "--format", "json", stdin=b"1\nnan\n-inf\n")), [1, "NaN", "-Infinity"])
        self.assertEqual(self.ok("sort", "zeros:u8:0", "--format", "json"), b"[]\n")

    def test_arrays_of_more_dimensions(self):
        for shape in [(3, 4), (2, 3, 4), (1, 1), (5, 1)]:
            values = np.arange(np.prod(shape)).reshape(shape)
            self.save_npy("a.npy", values)
            self.assertEqual(json.loads(self.ok("convert", self.path("a.npy"), "--to", "i32", "--format", "json")), values.tolist())
        matrix = np.arange(70_000).reshape(70, 1000)
        self.save_npy("m.npy", matrix)
        self.assertEqual(json.loads(self.ok("transpose", self.path("m.npy"), "--format", "json")), matrix.T.tolist())
        self.write("t.csv", "1;2\n3;4\n")
        for form, text in (("csv", b"1,3\n2,4\n"), ("tsv", b"1\t3\n2\t4\n")):
            self.assertEqual(self.ok("transpose", self.path("t.csv"), "--format", form), text)
        fortran = np.asfortranarray(np.arange(6).reshape(2, 3))
        np.save(self.path("f.npy"), fortran)
        self.assertEqual(json.loads(self.ok("convert", self.path("f.npy"), "--to", "i32", "--format", "json")), fortran.ravel("K").tolist())

    def test_endings(self):
        x = self.path("x.npy")
        self.ok("topk", x, "-k", "3", "-o", self.path("o.tsv"))
        self.ok("sort", x, "-o", self.path("s.tsv"))
        self.ok("histogram", x, "--bins", "3", "-o", self.path("h.tsv"))
        for name, first in (("o.tsv", "value\tindex"), ("h.tsv", "lo\thi\tcount"), ("s.tsv", f"{min(self.values)}")):
            with open(self.path(name), encoding="ascii") as file:
                self.assertEqual(file.readline().rstrip("\n"), first)

    def test_wrong_use(self):
        x = self.path("x.npy")
        for command in (["topk", "-k", "1"], ["sort"], ["reduce"], ["convert", "--to", "f32"], ["histogram"]):
            self.fails(2, command[0], x, *command[1:], "--format", "xml", says="--format takes table, csv, tsv, json, npy")
        self.fails(2, "topk", x, "-k", "1", "--format", "csv", "--json", says="--json and --format csv exclude each other")
        self.fails(2, "histogram", x, "--format", "csv", "--json", says="--json and --format csv exclude each other")
        self.fails(2, "sort", x, "--format", "json", "--json", says="--json needs standard output")
        self.fails(2, "topk", x, "-k", "1", "-o", self.path("x.parquet"), says="cannot write the format")
        self.assertFalse(os.path.exists(self.path("x.parquet")))


class UhiTest(CommandTest):
    """Histograms as scikit-hep's UHI has them: without the package uhi, by the members that its schema asks for."""

    def one(self, *arguments, name="histogram"):
        said = json.loads(self.ok("histogram", *arguments, "--format", "uhi"))
        try:
            import uhi.schema
            uhi.schema.validate(said)
        except ImportError:
            pass
        self.assertIn(name, said)
        one = said[name]
        self.assertEqual((one["uhi_schema"], set(one)), (1, {"uhi_schema", "writer_info", "metadata", "axes", "storage"}))
        return one

    def test_counts(self):
        values = np.array([-1, 0, 0.5, 1, 1.5, 2, 2, 3, np.nan])
        path = self.save_npy("x.npy", values)
        one = self.one(path, "--edges", "0,1,2")
        self.assertEqual(one["axes"], [{"type": "variable", "edges": [0, 1, 2], "underflow": True, "overflow": True, "circular": False}])
        self.assertEqual(one["storage"], {"type": "int", "values": [1, 2, 4, 1]})
        self.assertEqual((one["metadata"]["nan"], one["metadata"]["source"]), (1, path))
        plain = self.json(path, "--edges", "0,1,2")
        self.assertEqual([plain["below"], *plain["counts"], plain["above"]], one["storage"]["values"])

    def test_channels_rows_joint_and_weights(self):
        rng = np.random.default_rng(2)
        table = rng.integers(0, 5, (50, 2))
        path = self.save_npy("t.npy", table)
        joint = self.one(path, "--joint", "--bins", "2;5")
        counts, edges = np.histogramdd(table, (2, 5))
        self.assertEqual(joint["storage"], {"type": "int", "values": counts.astype(int).tolist()})
        for axis, expected in zip(joint["axes"], edges):
            self.assertEqual((axis["edges"], axis["underflow"]), (expected.tolist(), False))
        for row in range(2):
            one = self.one(path, "--rows", "2", "--integers", "5", name=f"row {row}")
            self.assertEqual(one["storage"]["values"][1:-1], np.bincount(table.ravel()[row * 50:][:50].astype(int), minlength=5).tolist())
        x, weights = self.save_npy("x.npy", table[:, 0].copy()), self.save_npy("w.npy", table[:, 1] + 0.5)
        totals = np.bincount(table[:, 0].astype(int), table[:, 1] + 0.5, 5).tolist()
        one = self.one(x, "--weights", weights, "--integers", "5")
        self.assertEqual((one["storage"]["type"], one["storage"]["values"][1:-1]), ("double", totals))
        one = self.one(x, "--weights", weights, "--variances", "--integers", "5")
        squares = np.bincount(table[:, 0].astype(int), (table[:, 1] + 0.5) ** 2, 5).tolist()
        self.assertEqual(one["storage"], {"type": "weighted", "values": totals, "variances": squares})
        self.assertEqual(one["axes"][0]["underflow"], False)
        rgb = b"P6\n2 1\n255\n" + bytes([1, 2, 3, 1, 5, 6])
        self.assertEqual(self.one(self.write("p.ppm", rgb), "--integers", "7", name="red")["storage"]["values"], [0, 0, 2, 0, 0, 0, 0, 0, 0])
        for more in ("--density", "--cumulative"):
            self.fails(2, "histogram", x, "--format", "uhi", more, says="--format uhi has no --density")
        self.fails(2, "histogram", x, x, "--format", "uhi", says="--format uhi takes one input")
        groups = self.write("g.csv", 'g,h,v\n"a, b",c,1\na,"b, c",2\n,x,3\n"""""",x,3\n')  # equal keys hid a histogram from readers
        said = json.loads(self.ok("histogram", groups, "--column", "v", "--group", "g,h", "--integers", "4", "--format", "uhi"))
        self.assertEqual({name: one["storage"]["values"] for name, one in said.items()},
                         {"a, b, c": [0, 0, 1, 0, 0, 0], "a, b, c (2)": [0, 0, 0, 1, 0, 0], ", x": [0, 0, 0, 0, 1, 0], '"", x': [0, 0, 0, 0, 1, 0]})


if __name__ == "__main__":
    unittest.main()
