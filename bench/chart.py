#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws figures as an SVG.

    bench/chart.py --case u8-256 --size 1Gi -o CHART.svg REPORT.json [REPORT.json ...]
    bench/chart.py --calls -o docs/images/whole-calls.svg

Reports of masu bench and of its peers: one group a distribution, one bar a program and device (and number of threads),
GB/s; a dashed line is the best reading speed that a report of masu gives for that size. With --calls, what
results/recorded.json has of whole_calls.py: for each call its speed over the faster of PyTorch and CuPy, over the number
of elements.
"""
import argparse
import json
import math
import pathlib
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


def recorded_calls():
    """{call: {elements: masu's speed over the faster of PyTorch and CuPy}}, calls back to back."""
    rows = json.loads((pathlib.Path(__file__).parent / "results/recorded.json").read_text(encoding="utf-8"))["rows"]
    calls = {}
    for row in rows:
        if row["source"] == "bench/whole_calls.py" and row["subject"].startswith("Back-to-back calls"):
            calls.setdefault(row["of"]["call"], {})[row["of"]["elements"]] = row["values"]["/ the faster of PyTorch and CuPy"]
    return calls


def over_sizes(calls, title, columns=5, low=0.4, high=30):
    """{name: {"2^10": ratio}} as a small chart a name: ratios on one logarithmic scale over sizes, a line at 1."""
    wide, tall, left, top = 166, 104, 26, 46
    sizes = sorted({int(size.removeprefix("2^")) for ratios in calls.values() for size in ratios})
    rows = math.ceil(len(calls) / columns)
    height = top + rows * tall + 8
    inner_wide, inner_tall = wide - left - 10, tall - 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="10">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           f'<text x="10" y="20" font-size="15">{escape(title)}</text>']
    for index, (name, ratios) in enumerate(calls.items()):
        x0, y0 = 10 + index % columns * wide + left, top + index // columns * tall + 16

        def x(size, x0=x0):
            return x0 + inner_wide * (size - sizes[0]) / (sizes[-1] - sizes[0])

        def y(value, y0=y0):
            return y0 + inner_tall * (1 - math.log(min(max(value, low), high) / low) / math.log(high / low))

        out.append(f'<text x="{x0}" y="{y0 - 6}" font-size="11">{escape(name)}</text>')
        for value in (0.5, 1, 2, 10):
            colour = "#333333" if value == 1 else "#dddddd"
            out.append(f'<line x1="{x0}" x2="{x0 + inner_wide}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="{colour}"/>')
            out.append(f'<text x="{x0 - 4}" y="{y(value) + 3:.1f}" text-anchor="end">{value}</text>')
        points = sorted((int(size.removeprefix("2^")), value) for size, value in ratios.items())
        path = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[0]}" stroke-width="1.5"/>')
        for size, value in points:
            out.append(f'<circle cx="{x(size):.1f}" cy="{y(value):.1f}" r="2.2" fill="{COLOURS[0 if value >= 1 else 2]}">'
                       f"<title>{escape(name)}, 2^{size}: {value:.3g}</title></circle>")
        for size, anchor in ((sizes[0], "start"), (sizes[-1], "end")):
            out.append(f'<text x="{x(size):.1f}" y="{y0 + inner_tall + 14}" text-anchor="{anchor}">2^{size}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("reports", nargs="*", metavar="REPORT.json")
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--case", default="u8-256")
    parser.add_argument("--size", default="1Gi", choices=SIZES)
    parser.add_argument("--title", default="")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    if options.calls:
        title = options.title or "Calls from Python on an H200: masu's speed over the faster of PyTorch and CuPy"
        pathlib.Path(options.output).write_text(over_sizes(recorded_calls(), title), encoding="utf-8")
        return
    series, ceiling = bars(options.reports, options.case, SIZES[options.size])
    if not series:
        parser.error(f"no row of {options.case} at {options.size} in these reports")
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(draw(series, ceiling, options.title or f"{options.case}, {options.size}"))


if __name__ == "__main__":
    main()
