# SPDX-License-Identifier: Apache-2.0
"""masu bench and what reads its reports: that each runs and says what it promises. How fast is not tested."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from command import MASU, CommandTest, usable_devices

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
DISTRIBUTIONS = ["uniform", "constant", "normal", "zipf", "sorted", "runs", "few"]
CASES = {"u8-256": ("u8", 256), "f32-100": ("f32", 100), "f64-100": ("f64", 100), "rgba-256": ("u8", 256),
         "f32-1000": ("f32", 1000), "f32-edges100": ("f32", 100)}


@unittest.skipUnless(os.access(MASU + "-bench", os.X_OK), "masu-bench is not built")
class Bench(CommandTest):
    def report(self, *arguments):
        return json.loads(self.ok("bench", "histogram", "--quick", "--json", *arguments))

    def check_rows(self, report, device, threads):
        self.assertEqual({row["device"] for row in report["rows"]}, {device})
        self.assertEqual(report["devices"][0]["id"], device)
        for row in report["rows"]:
            self.assertEqual((row["dtype"], row["bins"]), CASES[row["case"]])
            self.assertEqual(row["bytes"], 65536)
            self.assertEqual(row["threads"], threads)
            self.assertIn(row["strategy"], ["global", "private", "local", "lanes", "packed",
                                            "partitioned"])
            self.assertEqual(row["repeats"], 1)
            self.assertGreater(row["seconds_min"], 0)
            self.assertLessEqual(row["seconds_min"], row["seconds_median"])
            self.assertAlmostEqual(row["gb_per_s"], row["bytes"] / row["seconds_median"] / 1e9)
            self.assertAlmostEqual(row["ratio"], row["gb_per_s"] / row["ceiling_gb_per_s"])

    def test_cpu_measures_every_case_and_distribution(self):
        report = self.report("--device", "cpu")
        self.check_rows(report, "cpu", 1)
        self.assertEqual((report["suite"], report["program"]), ("histogram", "masu"))
        self.assertRegex(report["date"], r"^\d{4}-\d\d-\d\d$")
        self.assertRegex(report["version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual([(row["case"], row["distribution"], row["kind"]) for row in report["rows"]],
                         [(case, distribution, kind) for case in CASES for distribution in DISTRIBUTIONS
                          for kind in ("kernel", "call")])

    def test_devices_are_held_against_their_reading_kernel(self):
        devices = usable_devices("opencl") + usable_devices("cuda")
        if not devices:
            self.skipTest("no OpenCL and no CUDA device")
        for device in devices:
            report = self.report("--device", device, "--case", "u8-256", "--distribution", "zipf")
            self.check_rows(report, device, None)
            self.assertEqual([row["kind"] for row in report["rows"]], ["kernel", "call"])

    def test_strategies_and_threads_are_chosen(self):
        report = self.report("--device", "cpu", "--strategy", "global,private", "--threads", "1,2",
                             "--case", "u8-256", "--distribution", "few")
        found = [(row["threads"], row["strategy"]) for row in report["rows"] if row["kind"] == "kernel"]
        self.assertEqual(found, [(1, "global"), (1, "private"), (2, "global"), (2, "private")])

    def test_all_cases(self):
        report = self.report("--device", "cpu", "--case", "all", "--distribution", "normal", "--kind", "kernel")
        cases = {row["case"]: row for row in report["rows"]}
        self.assertEqual(len(cases), len(report["rows"]))
        self.assertGreaterEqual(set(cases), set(CASES) | {"rgb-256", "u16-65536", "i32-1e7", "f16-100", "f32-log100",
                                                          "joint-100x100", "rows-4096"})
        self.assertEqual(cases["rgb-256"]["bytes"], 65535)
        self.assertEqual((cases["i32-1e7"]["dtype"], cases["i32-1e7"]["bins"]), ("i32", 10**7))

    def test_host_data(self):
        devices = usable_devices("opencl") + usable_devices("cuda")
        if not devices:
            self.skipTest("no OpenCL and no CUDA device")
        for device in devices:
            report = self.report("--device", device, "--case", "f32-100", "--distribution", "few",
                                 "--kind", "pinned,pageable")
            self.check_rows(report, device, None)
            self.assertEqual([row["kind"] for row in report["rows"]], ["pinned", "pageable"])

    def test_ladder(self):
        chart, report_path = self.path("ladder.svg"), self.path("ladder.json")
        self.ok("bench", "histogram", "--ladder", "--quick", "--device", "cpu", "--json", "-o", report_path,
                "--chart", chart)
        report = json.loads(pathlib.Path(report_path).read_text(encoding="utf-8"))
        found = [(row["distribution"], row["asked"]) for row in report["rows"]]
        for distribution in ("uniform", "constant"):
            steps = [asked for shape, asked in found if shape == distribution]
            self.assertEqual(steps, [s for s in ("global", "private", "local", "lanes", "auto")
                                     if s in steps])
            self.assertLessEqual({"global", "private", "lanes", "auto"}, set(steps))
        self.assertEqual({row["kind"] for row in report["rows"]}, {"kernel"})
        table = subprocess.run([sys.executable, BENCH / "ladder.py", report_path], stdout=subprocess.PIPE, check=True,
                               text=True).stdout
        self.assertIn("| global |", table)
        self.assertIn("| auto (", table)
        self.assertTrue(pathlib.Path(chart).read_bytes().startswith(b"<?xml"))

    def test_table_and_chart(self):
        chart, table = self.path("chart.svg"), self.path("table.txt")
        self.ok("bench", "histogram", "--quick", "--device", "cpu", "--chart", chart, "-o", table)
        lines = pathlib.Path(table).read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(lines), 1 + 2 * len(CASES) * len(DISTRIBUTIONS))
        self.assertIn("RATIO", lines[0])
        root = xml.etree.ElementTree.parse(chart).getroot()
        shapes = [path.get("style", "") + path.get("fill", "") for path in root.iter("{http://www.w3.org/2000/svg}path")]
        bars = [shape for shape in shapes if re.search(r"rgb\(0%, ?44\.7", shape)]
        self.assertEqual(len(bars), len(CASES) * len(DISTRIBUTIONS))

    def test_charts_by_their_ending(self):
        for ending, begins in [("png", b"\x89PNG"), ("pdf", b"%PDF")]:
            chart = self.path("chart." + ending)
            self.ok("bench", "histogram", "--quick", "--device", "cpu", "--case", "u8-256", "--distribution", "few",
                    "--strategy", "global,private", "--chart", chart)
            self.assertTrue(pathlib.Path(chart).read_bytes().startswith(begins))
        self.fails(2, "bench", "histogram", "--quick", "--device", "cpu", "--chart", "chart.jpg", says="chart.jpg")

    def test_wrong_use(self):
        for arguments, says in [(["juggle"], "'juggle'"), (["histogram", "--case", "u9"], "'u9'"),
                                (["histogram", "--distribution", "gauss"], "'gauss'"), (["histogram", "--kind", "disk"], "'disk'"),
                                (["histogram", "--strategy", "magic"], "magic"),
                                (["histogram", "--size", "3"], "'3'"), (["histogram", "--size", "many"], "many"),
                                (["histogram", "--repeats", "0"], "--repeats"), ([], "SUITE")]:
            self.fails(2, "bench", *arguments, "--device", "cpu", says=says)

    def test_sorting(self):
        report = json.loads(self.ok("bench", "sort", "--quick", "--json", "--device", "cpu", "--case", "all",
                                    "--distribution", "uniform,special,reversed"))
        self.assertEqual(report["suite"], "sort")
        rows = {(row["case"], row["distribution"], row["kind"]): row for row in report["rows"]}
        self.assertEqual(len(rows), len(report["rows"]))
        dtypes = ["u8", "u16", "u32", "i32", "u64", "i64", "f16", "f32", "f64"]
        self.assertGreaterEqual({case for case, _, _ in rows},
                                {*dtypes, "pairs-u32-u32", "argsort-u32", "rows-256", "segments-4Ki"})
        # Integers have no special values.
        self.assertEqual({row["dtype"] for (_, shape, _), row in rows.items() if shape == "special"},
                         {"f16", "f32", "f64"})
        pairs = rows["pairs-u64-u32", "reversed", "call"]
        self.assertEqual((pairs["dtype"], pairs["count"], pairs["bytes"]), ("u64", 4096, 12 * 4096))
        self.assertAlmostEqual(pairs["elements_per_s"] * pairs["seconds_median"] / 4096, 1)

    def test_sorting_on_devices(self):
        devices = usable_devices("opencl") + usable_devices("cuda")
        if not devices:
            self.skipTest("no OpenCL and no CUDA device")
        report = json.loads(self.ok("bench", "sort", "--quick", "--json", "--device", devices[0], "--count", "1000,37",
                                    "--case", "f32,u16,rows-256", "--distribution", "zipf", "--kind", "kernel"))
        self.assertEqual([(row["case"], row["count"]) for row in report["rows"]],
                         [(case, count if case != "rows-256" else max(count // 256 * 256, 256))
                          for case in ("f32", "u16", "rows-256") for count in (1000, 37)])
        self.assertEqual({row["device"] for row in report["rows"]}, {devices[0]})

    def test_wrong_use_of_sorting(self):
        for arguments, says in [(["--case", "u8-256"], "'u8-256'"), (["--count", "0"], "--count"), (["--ladder"], "--ladder"),
                                (["--distribution", "gauss"], "'gauss'"), (["--algorithm", "magic"], "magic"),
                                (["--kind", "pinned"], "'pinned'")]:
            self.fails(2, "bench", "sort", *arguments, "--device", "cpu", says=says)
        self.fails(2, "bench", "histogram", "--count", "1000", "--device", "cpu", says="--count")

    def test_weighted_histograms(self):
        report = json.loads(self.ok("bench", "weighted", "--quick", "--device", "cpu", "--threads", "1", "--json"))
        cases = {(row["case"], row["distribution"]) for row in report["rows"]}
        self.assertEqual(cases, {(case, distribution) for case in ("f32-256", "f32-256-wide")
                                 for distribution in ("uniform", "constant", "zipf")})

    def test_tuning_prints_a_table_as_it_stands_in_its_file(self):
        devices = usable_devices("opencl") + usable_devices("cuda") + ["cpu"]
        for table, path in [("scan", "scan/scan_tuning.def"), ("topk", "topk/topk_tuning.def")]:
            source = (BENCH.parent / "src" / path).read_text(encoding="utf-8")
            printed = self.ok("bench", "tune", table, "--quick", "--device", devices[0]).decode()
            device, rows = printed.split("\n", 1)
            self.assertRegex(device, r"^// .+, \d{4}-\d\d$")
            self.assertEqual(re.sub(r"\([\d <,]*\)", "()", " ".join(rows.split())),
                             re.sub(r"\([\d <,]*\)", "()", " ".join(re.sub(r"^(//|#).*$", "", source, flags=re.M).split())))
            self.assertLessEqual(max(len(line) for line in rows.splitlines()), 120)
        for arguments, says in [(["tune"], "''"), (["tune", "convert"], "'convert'"), (["tune", "juggle"], "'juggle'"),
                                (["scan", "sum"], "'sum'"), (["tune", "scan", "--device", "cpu,cpu"], "got 2")]:
            self.fails(2, "bench", *arguments, *([] if "--device" in arguments else ["--device", "cpu"]), says=says)

    def test_an_absent_device(self):
        self.fails(1, "bench", "histogram", "--quick", "--device", "cuda:99", says="cuda:99")


def row(peer, seconds, ceiling=None, **more):
    result = {"device": "cpu", "kind": "kernel", "case": "u8-256", "dtype": "u8", "bins": 256, "distribution": "few",
              "bytes": 10**9, "threads": 1, "repeats": 3, "seconds_median": seconds, "seconds_min": seconds,
              "gb_per_s": 1 / seconds, **more}
    if peer:
        return {"peer": peer, **result}
    return {**result, "strategy": "lanes", "ceiling_gb_per_s": ceiling, "ratio": 1 / seconds / ceiling}


class Compare(CommandTest):
    def compare(self, reports, *options):
        paths = []
        for i, (program, rows) in enumerate(reports):
            report = {"suite": "histogram", "program": program, "devices": [], "rows": rows}
            paths.append(self.write(f"{i}.json", json.dumps(report)))
        return subprocess.run([sys.executable, BENCH / "compare.py", *paths, *options], stdout=subprocess.PIPE,
                              check=True, text=True).stdout

    def test_rounds_are_merged_and_peers_stand_beside(self):
        merged = self.path("merged.json")
        reports = [("masu", [row(None, s, 8)]) for s in (0.5, 0.25, 9)] + [
            ("slow", [row("slow", 1.5), row("slow", 1, threads=2)]), ("fast", [row("fast", 0.75)]),
            ("GPU", [row("GPU", 0.1, device="cuda:0", threads=None)])]
        text = self.compare(reports, "--markdown", "--merge", merged)
        cells = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in text.splitlines()]
        self.assertEqual(cells[0][6:], ["masu GB/s", "/ ceiling", "/ slow", "/ fast", "/ best"])
        self.assertEqual(cells[2], ["cpu", "u8-256", "few", "1000000000", "1", "lanes", "2.0", "0.250", "3.00", "1.50",
                                    "1.50"])
        self.assertEqual(len(cells), 3)
        rows = json.loads(pathlib.Path(merged).read_text(encoding="utf-8"))["rows"]
        self.assertEqual(len(rows), 5)
        self.assertEqual((rows[0]["seconds_median"], rows[0]["seconds_min"], rows[0]["repeats"]), (0.5, 0.25, 9))
        self.assertEqual(self.compare([("masu", rows)], "--markdown"), text)

    def test_ratios_on_one_page(self):
        reports = [("masu", [row(None, 0.5, 8, count=10**9), row(None, 0.25, 8, distribution="zipf", count=10**9)]),
                   ("slow", [row("slow", 1.5)]), ("fast", [row("fast", 0.75), row("fast", 1, distribution="zipf")])]
        paths = [self.write(f"{program}.json", json.dumps({"program": program, "rows": rows}))
                 for program, rows in reports]
        text = subprocess.run([sys.executable, BENCH / "ratios.py", "--markdown", *paths], stdout=subprocess.PIPE,
                              check=True, text=True).stdout
        cells = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in text.splitlines()]
        self.assertEqual(cells[0], ["device", "case", "count", "threads", "few", "zipf", "M/s", "peer"])
        self.assertEqual(cells[2][:6], ["cpu", "u8-256", "1000000000", "1", "1.50 .25", "4.00 .50"])
        self.assertEqual(cells[2][7], "fast")
        self.assertEqual(cells[3][4], "2.45")  # the geometric mean
        text = subprocess.run([sys.executable, BENCH / "ratios.py", "--against", "slow", *paths],
                              stdout=subprocess.PIPE, check=True, text=True).stdout
        self.assertIn("3.00 .25", text)


if __name__ == "__main__":
    unittest.main()
