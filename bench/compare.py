#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts reports of masu bench and of its peers side by side: how many times as fast masu is, and how near the ceiling.

Reports of several rounds are merged first: the median of their medians, the least of their least; with --best a row is
that of its best round, for machines that others use as well.
"""
import argparse
import json
import pathlib
import statistics
import sys

KEY = ("peer", "device", "kind", "case", "distribution", "bytes", "threads", "strategy", "asked")


def merge(reports, middle=statistics.median):
    """One row for each KEY; `middle` makes one time of those of several rounds."""
    rounds = {}
    for report in reports:
        for row in report["rows"]:
            rounds.setdefault(tuple(row.get(name) for name in KEY), []).append(row)
    rows = []
    for group in rounds.values():
        row = dict(group[0])
        row["seconds_median"] = middle([r["seconds_median"] for r in group])
        row["seconds_min"] = min(r["seconds_min"] for r in group)
        row["repeats"] = sum(r["repeats"] for r in group)
        row["gb_per_s"] = row["bytes"] / row["seconds_median"] / 1e9
        if "ceiling_gb_per_s" in row:
            row["ceiling_gb_per_s"] = row["bytes"] / middle([r["bytes"] / r["ceiling_gb_per_s"] for r in group])
            row["ratio"] = row["gb_per_s"] / row["ceiling_gb_per_s"]
        rows.append(row)
    return rows


def merged_report(reports, rows):
    """A report like those that were read; masu's own says on what it ran."""
    first = next((r for r in reports if r["program"] == "masu"), reports[0])
    devices = {d["id"]: d for report in reports for d in report["devices"]}
    return {**{k: v for k, v in first.items() if k != "rows"}, "devices": list(devices.values()), "rows": rows}


def size(count):
    for unit, factor in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if count >= factor and count % factor == 0:
            return f"{count // factor}{unit}"
    return str(count)


def comparable(row, peer):
    """The same work on the same kind of processor, with as many threads, from the same place."""
    same = all(row.get(k) == peer.get(k) for k in ("kind", "case", "distribution", "bytes", "threads"))
    return same and (row["device"] == "cpu") == (peer["device"] == "cpu")


def table(rows):
    own = [r for r in rows if not r.get("peer") and r["kind"] != "call"]
    peers = [r for r in rows if r.get("peer")]
    names = list(dict.fromkeys(p["peer"] for p in peers if any(comparable(r, p) for r in own)))
    lines = [["device", "case", "distribution", "size", "threads", "strategy", "masu GB/s", "/ ceiling",
              *(f"/ {name}" for name in names), *(["/ best"] if len(names) > 1 else [])]]
    for row in own:
        ratios = {p["peer"]: p["seconds_median"] / row["seconds_median"] for p in peers if comparable(row, p)}
        case = row["case"] if row["kind"] == "kernel" else f"{row['case']} ({row['kind']})"
        line = [row["device"], case, row["distribution"], size(row["bytes"]), str(row["threads"] or "-"),
                row.get("strategy", "-"), f"{row['gb_per_s']:.1f}", f"{row['ratio']:.3f}" if row.get("ratio") else "-"]
        line += [f"{ratios[name]:.2f}" if name in ratios else "-" for name in names]
        if len(names) > 1:
            line.append(f"{min(ratios.values()):.2f}" if ratios else "-")
        lines.append(line)
    return lines


def markdown(lines, numbers_from=6):
    head, *body = lines
    rule = ["---" if i < numbers_from else "---:" for i in range(len(head))]
    return "".join("| " + " | ".join(line) + " |\n" for line in [head, rule, *body])


def text_of(report):
    """A report as JSON with one line a row, its measured numbers to eight digits."""
    def short(value):
        return float(f"{value:.8g}") if isinstance(value, float) else value

    def line(value):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

    head = "".join(f" {line(key)}: {line(value)},\n" for key, value in report.items() if key != "rows")
    rows = ",\n".join(line({key: short(value) for key, value in row.items()}) for row in report["rows"])
    return "{\n" + head + ' "rows": [\n' + rows + "\n ]\n}\n"


def plain(lines, numbers_from=6):
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "".join("  ".join(cell.ljust(w) if i < numbers_from else cell.rjust(w) for i, (cell, w) in
                             enumerate(zip(line, widths))).rstrip() + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", type=pathlib.Path, metavar="REPORT.json")
    parser.add_argument("--markdown", action="store_true", help="write a Markdown table")
    parser.add_argument("--best", action="store_true", help="take each row's best round, not the median of all")
    parser.add_argument("--merge", type=pathlib.Path, metavar="FILE", help="write all rows, merged, as one report")
    options = parser.parse_args()
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in options.reports]
    rows = merge(reports, min if options.best else statistics.median)
    if options.merge:
        options.merge.write_text(text_of(merged_report(reports, rows)), encoding="utf-8")
    lines = table(rows)
    sys.stdout.write(markdown(lines) if options.markdown else plain(lines))


if __name__ == "__main__":
    main()
