#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws reports of masu bench and of its peers as one chart of grouped bars, an SVG.

    bench/chart.py --case u8-256 --size 1Gi -o CHART.svg REPORT.json [REPORT.json ...]

One group a distribution, one bar a program and device (and number of threads), GB/s; a dashed line is the best reading
speed that a report of masu gives for that size.
"""
import argparse
import json
import math
from xml.sax.saxutils import escape

SIZES = {"100Mi": 100 << 20, "1Gi": 1 << 30, "4Gi": 4 << 30}
COLOURS = ["#2a6f97", "#61a5c2", "#bc6c25", "#8a817c", "#606c38", "#dda15e"]
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 860, 360, 60, 64, 40


def bars(paths, case, size):
    """{label: {distribution: GB/s}}, and the ceiling."""
    series, ceiling = {}, 0.0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        for row in report["rows"]:
            if row["case"] != case or row["bytes"] != size or row.get("kind", "kernel") != "kernel":
                continue
            label = report["program"]
            if report["program"] == "masu":
                label += " " + str(row["device"])
                ceiling = max(ceiling, row.get("ceiling_gb_per_s") or 0)
            if row.get("threads"):
                label += f", {row['threads']} threads"
            series.setdefault(label, {})[row["distribution"]] = row["gb_per_s"]
    return series, ceiling


def draw(series, ceiling, title, unit="GB/s"):
    groups = list(dict.fromkeys(name for values in series.values() for name in values))
    most = max([ceiling, *(value for values in series.values() for value in values.values())])
    plot_height = HEIGHT - TOP - BOTTOM
    group_width = (WIDTH - LEFT - 10) / len(groups)
    bar_width = group_width * 0.8 / len(series)

    def y(value):
        return TOP + plot_height * (1 - value / most)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="10" y="20" font-size="15">{escape(title)}</text>']
    x = LEFT
    for index, label in enumerate(series):
        out.append(f'<rect x="{x}" y="34" width="12" height="12" fill="{COLOURS[index % len(COLOURS)]}"/>')
        out.append(f'<text x="{x + 17}" y="44">{escape(label)}</text>')
        x += 40 + 7 * len(label)
    for g, name in enumerate(groups):
        left = LEFT + g * group_width
        for index, values in enumerate(series.values()):
            if name not in values:
                continue
            top, bar = y(values[name]), left + group_width * 0.1 + index * bar_width
            out.append(f'<rect x="{bar:.1f}" y="{top:.1f}" width="{bar_width * 0.92:.1f}" '
                       f'height="{TOP + plot_height - top:.1f}" fill="{COLOURS[index % len(COLOURS)]}"/>')
            out.append(f'<text x="{bar + bar_width * 0.46:.1f}" y="{top + 11:.1f}" font-size="9" fill="#ffffff" '
                       f'text-anchor="middle">{values[name]:.{0 if values[name] >= 100 else 1 if values[name] >= 10 else 2}f}</text>')
        out.append(f'<text x="{left + group_width / 2:.1f}" y="{HEIGHT - 20}" text-anchor="middle">{escape(name)}</text>')
    if ceiling:
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y(ceiling):.1f}" y2="{y(ceiling):.1f}" '
                   'stroke="#333333" stroke-dasharray="5 4"/>')
        out.append(f'<text x="{WIDTH - 10}" y="{y(ceiling) - 4:.1f}" text-anchor="end">'
                   f'reading speed {ceiling:.0f} GB/s</text>')
    out.append(f'<text x="10" y="{TOP + 4}">{escape(unit)}</text></svg>')
    return "\n".join(out) + "\n"


def bars_across(values, title):
    """{label: value} as horizontal bars, a line a label, on a logarithmic scale from the least of them, or 1."""
    least, most = min(1, *values.values()), max(*values.values())
    left, line, width = 270, 18, WIDTH - 270 - 60
    height = 40 + line * len(values) + 10

    def length(value):
        return width * math.log(value / least) / math.log(most / least)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           f'<text x="10" y="20" font-size="15">{escape(title)}</text>']
    for index, (label, value) in enumerate(values.items()):
        y = 36 + line * index
        start, end = left + length(min(value, 1)), left + length(max(value, 1))
        out.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{escape(label)}</text>')
        out.append(f'<rect x="{start:.1f}" y="{y + 1}" width="{end - start:.1f}" height="{line - 4}" '
                   f'fill="{COLOURS[0 if value >= 1 else 2]}"/>')
        out.append(f'<text x="{end + 4:.1f}" y="{y + 12}">{value:.3g}</text>')
    one = left + length(1)
    out.append(f'<line x1="{one:.1f}" x2="{one:.1f}" y1="32" y2="{height - 8}" stroke="#333333"/></svg>')
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("reports", nargs="+", metavar="REPORT.json")
    parser.add_argument("--case", default="u8-256")
    parser.add_argument("--size", default="1Gi", choices=SIZES)
    parser.add_argument("--title", default="")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    series, ceiling = bars(options.reports, options.case, SIZES[options.size])
    if not series:
        parser.error(f"no row of {options.case} at {options.size} in these reports")
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(draw(series, ceiling, options.title or f"{options.case}, {options.size}"))


if __name__ == "__main__":
    main()
