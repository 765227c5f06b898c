#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the Markdown tables of docs/ladder.md from reports of masu bench histogram --ladder --json.

    bench/ladder.py [--chart FILE.svg] REPORT.json [REPORT.json ...]

One table a device and case: a line a strategy, a column a distribution, GB/s and the part of the reading speed. The
chart has a bar for each row; `masu bench --chart` draws one where it measures.
"""
import argparse
import json
from xml.sax.saxutils import escape

STEPS = ["sequential", "global", "private", "local", "lanes", "packed", "partitioned", "auto"]
WIDTH, LEFT, UNIT, LONGEST = 860, 250, 420, 1.1  # of the chart, in pixels; UNIT is the reading speed
UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def size(count):
    for unit, factor in UNITS:
        if count >= factor and count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count} bytes"


def step(row):
    asked = row.get("asked") or row["strategy"]
    return f"auto ({row['strategy']})" if asked == "auto" else asked


def groups(report):
    """(title, rows) of each device, case and number of threads."""
    names = {device["id"]: device["name"] for device in report["devices"]}
    found = {}
    for row in report["rows"]:
        if row["kind"] == "kernel":
            found.setdefault((row["device"], row["case"], row["threads"]), []).append(row)
    for (device, case, threads), rows in found.items():
        title = f"{names.get(device, device)}, {device}, {case}"
        title += f", {threads} thread{'s' if threads > 1 else ''}" if threads else ""
        yield f"{title}; {report['date']}", rows


def tables(report):
    for title, rows in groups(report):
        shapes = list(dict.fromkeys(row["distribution"] for row in rows))
        yield title
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


def chart(reports):
    """Horizontal bars, as long as the part of the reading speed."""
    parts, y = [], 10
    for title, rows in (group for report in reports for group in groups(report)):
        parts.append(f'<text x="10" y="{y + 18}" font-weight="bold">{escape(title)}</text>')
        y += 28
        top = y
        for shape in dict.fromkeys(row["distribution"] for row in rows):
            for row in (row for row in rows if row["distribution"] == shape):
                width = min(row["ratio"], LONGEST) * UNIT
                text = f"{row['ratio']:.3f} · {row['gb_per_s']:,.1f} GB/s"
                parts.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(shape)}, '
                             f'{escape(step(row))}, {size(row["bytes"])}</text>')
                parts.append(f'<rect x="{LEFT}" y="{y + 2}" width="{width:.1f}" height="14" fill="#2a6f97"/>')
                parts.append(f'<text x="{LEFT + max(width, 0) + 6:.1f}" y="{y + 13}">{text}</text>')
                y += 18
            y += 6
        x = LEFT + UNIT
        parts.append(f'<line x1="{x}" x2="{x}" y1="{top}" y2="{y - 4}" stroke="#333333" stroke-dasharray="5 4"/>')
        y += 8
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 24}" viewBox="0 0 {WIDTH} {y + 24}" '
            f'font-family="sans-serif" font-size="12"><rect width="{WIDTH}" height="{y + 24}" fill="#ffffff"/>')
    foot = f'<text x="{LEFT + UNIT}" y="{y + 12}" text-anchor="middle">reading speed</text></svg>'
    return "\n".join([head, *parts, foot]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("reports", nargs="+", metavar="REPORT.json")
    parser.add_argument("--chart", metavar="FILE.svg")
    options = parser.parse_args()
    reports = []
    for path in options.reports:
        with open(path, encoding="utf-8") as file:
            reports.append(json.load(file))
    for report in reports:
        print("\n".join(tables(report)))
    if options.chart:
        with open(options.chart, "w", encoding="utf-8") as file:
            file.write(chart(reports))


if __name__ == "__main__":
    main()
