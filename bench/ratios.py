#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts many measurements on one page: a line a device, case and size, a column a distribution.

    bench/ratios.py [--kind kernel] [--against TEXT] [--markdown] REPORT.json [REPORT.json ...]

A cell is how many times as fast masu is as the fastest peer on the same kind of processor (of those with TEXT in their
names), and behind it the part of the ceiling that masu reaches: 1.84 .41. The peer is named at the end of the line.
The last lines are the geometric means over all cells of a device.
"""
import argparse
import json
import math
import pathlib
import sys

import compare


def place(row):
    return row["device"], row["case"], row.get("count") or row["bytes"], row["threads"]


def cell(row, peers):
    """The text, the ratio to the fastest peer, and that peer."""
    seconds = row["seconds_median"]
    best = min(peers, key=lambda peer: peer["seconds_median"], default=None)
    text = []
    if not seconds:
        return "?", None, None
    if best:
        text.append(f"{best['seconds_median'] / seconds:.2f}")
    if row.get("ratio"):
        text.append(f"{row['ratio']:.2f}".lstrip("0"))
    return " ".join(text), best and best["seconds_median"] / seconds, best and best["peer"]


def table(rows, kind, against):
    own = [r for r in rows if not r.get("peer") and r["kind"] == kind]
    peers = [r for r in rows if r.get("peer") and against.lower() in r["peer"].lower()]
    shapes = list(dict.fromkeys(r["distribution"] for r in own))
    lines, means = {}, {}
    for row in own:
        text, ratio, name = cell(row, [p for p in peers if compare.comparable(row, p)])
        cells, names, speeds = lines.setdefault(place(row), ({}, set(), {}))
        cells[row["distribution"]] = text
        speeds[row["distribution"]] = row.get("elements_per_s") or 0
        if name:
            names.add(name)
        if ratio:
            means.setdefault(row["device"], []).append(math.log(ratio))
    yield ["device", "case", "count", "threads", *shapes, "M/s", "peer"]
    devices, cases = (list(dict.fromkeys(key[i] for key in lines)) for i in (0, 1))
    for key in sorted(lines, key=lambda k: (devices.index(k[0]), cases.index(k[1]), -k[2], k[3] or 0)):
        (device, case, count, threads), (cells, names, speeds) = key, lines[key]
        speed = speeds.get("uniform") or next(iter(speeds.values()))
        yield [device, case, compare.size(count), str(threads or "-"), *(cells.get(s, "-") for s in shapes),
               f"{speed / 1e6:.0f}", ", ".join(sorted(names))]
    for device, logarithms in means.items():
        mean = f"{math.exp(sum(logarithms) / len(logarithms)):.2f}"
        yield [device, "mean", "", "", mean, *[""] * (len(shapes) - 1), "", ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", type=pathlib.Path, metavar="REPORT.json")
    parser.add_argument("--kind", default="kernel", choices=["kernel", "call"])
    parser.add_argument("--against", default="", metavar="TEXT")
    parser.add_argument("--markdown", action="store_true", help="write a Markdown table")
    options = parser.parse_args()
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in options.reports]
    lines = list(table(compare.merge(reports), options.kind, options.against))
    sys.stdout.write((compare.markdown if options.markdown else compare.plain)(lines, numbers_from=4))


if __name__ == "__main__":
    main()
