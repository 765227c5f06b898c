#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the Markdown tables of docs/ladder.md from reports of masu bench histogram --ladder --json.

    bench/ladder.py REPORT.json [REPORT.json ...]

One table a device and case: a line a strategy, a column a distribution, GB/s and the part of the reading speed.
"""
import argparse
import json

STEPS = ["sequential", "global", "private", "local", "lanes", "packed", "split", "partitioned", "auto"]
UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def size(count):
    for unit, factor in UNITS:
        if count >= factor and count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count} bytes"


def step(row):
    asked = row.get("asked") or row["strategy"]
    return f"auto ({row['strategy']})" if asked == "auto" else asked


def tables(report):
    names = {device["id"]: device["name"] for device in report["devices"]}
    groups = {}
    for row in report["rows"]:
        if row["kind"] == "kernel":
            groups.setdefault((row["device"], row["case"], row["threads"]), []).append(row)
    for (device, case, threads), rows in groups.items():
        shapes = list(dict.fromkeys(row["distribution"] for row in rows))
        text = f"{names.get(device, device)}, `{device}`, `{case}`"
        text += f", {threads} thread{'s' if threads > 1 else ''}" if threads else ""
        yield text + f"; {report['date']}"
        yield ""
        yield "| strategy | input | " + " | ".join(f"{shape}: GB/s | of the reading speed" for shape in shapes) + " |"
        yield "| --- | --- |" + " ---: | ---: |" * len(shapes)
        lines = {}
        for row in rows:
            lines.setdefault((row.get("asked") or row["strategy"]), {})[row["distribution"]] = row
        for asked in sorted(lines, key=STEPS.index):
            cells = lines[asked]
            first = next(iter(cells.values()))
            values = [f"{cells[s]['gb_per_s']:,.1f} | {cells[s]['ratio']:.3f}" if s in cells else "- | -" for s in shapes]
            yield f"| {step(first)} | {size(first['bytes'])} | " + " | ".join(values) + " |"
        yield ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("reports", nargs="+", metavar="REPORT.json")
    for path in parser.parse_args().reports:
        with open(path, encoding="utf-8") as file:
            print("\n".join(tables(json.load(file))))


if __name__ == "__main__":
    main()
