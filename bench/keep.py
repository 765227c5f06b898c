#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps reports of masu bench and its peers where the repository keeps them: DIR/VERSION/DEVICE/SUITE.json.

    bench/keep.py [--into DIR] REPORT.json [REPORT.json ...]

Rows are merged as compare.py merges them and go to their device: a peer's to the device that it ran on. Rows of a
ladder, where strategies were asked for, go to ladder.json. Files that are there are replaced.
"""
import argparse
import json
import pathlib
import re

import compare

RESULTS = pathlib.Path(__file__).resolve().parent / "results"


def folder_of(device, names):
    """h200-cuda for the device cuda:0 of the name "NVIDIA H200"."""
    name = re.sub(r"\(R\)|\(TM\)|NVIDIA|Intel|AMD|Processor", " ", names.get(device, device))
    name = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    backend = device.split(":")[0]
    return f"cpu-{name}" if backend == "cpu" else f"{name}-{backend}"


def keep(suite, reports, into):
    """Writes the reports of one suite."""
    merged = compare.merged_report(reports, compare.merge(reports))
    names = {device["id"]: device["name"] for device in merged["devices"]}
    files = {}
    for row in merged["rows"]:
        files.setdefault((row["device"], "ladder" if row.get("asked") else suite), []).append(row)
    for (device, name), rows in files.items():
        folder = into / merged["version"] / folder_of(device, names)
        folder.mkdir(parents=True, exist_ok=True)
        devices = [one for one in merged["devices"] if one["id"] == device]
        report = {**merged, "devices": devices, "rows": rows}
        (folder / f"{name}.json").write_text(compare.text_of(report), encoding="utf-8")
        print(folder / f"{name}.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--into", type=pathlib.Path, default=RESULTS, metavar="DIR")
    parser.add_argument("reports", nargs="+", type=pathlib.Path, metavar="REPORT.json")
    options = parser.parse_args()
    suites = {}
    for path in options.reports:
        report = json.loads(path.read_text(encoding="utf-8"))
        suites.setdefault(report["suite"], []).append(report)
    for suite, reports in suites.items():
        keep(suite, reports, options.into)


if __name__ == "__main__":
    main()
