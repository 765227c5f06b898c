#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what sorts of several ranks took, beside the model of docs/scaling.md, into docs/images.

    distributed/mpi/bench/charts.py [-o FOLDER]

Reads reports/cpu-RANKS.json (two cores) and reports/gpus-RANKS.json: what `masu-mpi-bench --json` wrote. Prints the figures too.
"""
import argparse
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import chart  # noqa: E402

BYTES = {"u32": 4, "f32": 4, "u64": 8, "u32+u32": 8}  # of a key with its value
MERGING = {"NVIDIA H200": 2.3e12, "NVIDIA H100 80GB HBM3": 1.8e12}  # bytes a second, read and written
KEY_ROUNDS = {"u32": 3, "f32": 3, "u64": 6, "u32+u32": 3}


def report(name):
    """{row's name: row} of a report."""
    path = HERE / "reports" / f"{name}.json"
    return {row["name"]: row for row in json.loads(path.read_text(encoding="utf-8"))}


def on_cores(kind, ranks, row, one, cores=2):
    """Milliseconds of ranks that share the cores: `one` is what one process takes on all of them."""
    bytes_a_core = row["elements"] * BYTES[kind] / cores
    passes = math.ceil(math.log2(ranks))
    merging = passes * (row["elements"] / cores * 2e-9 if kind == "u32+u32" else 2 * bytes_a_core / 25e9)
    return 1e3 * (one + (bytes_a_core / 10e9 if ranks > 1 else 0) + merging)


def on_gpus(kind, row):
    """Milliseconds of ranks with a GPU each."""
    passes = math.ceil(math.log2(row["ranks"]))
    merged = passes * 2 * row["elements"] / row["ranks"] * BYTES[kind] / MERGING[row["device"]]
    return 1e3 * (row["own_seconds"] + KEY_ROUNDS[kind] * 75e-6 + row["sent_bytes"] / 300e9 + merged)


def cpu_chart():
    ranks = [count for count in (1, 2, 4, 8) if (HERE / "reports" / f"cpu-{count}.json").exists()]
    series = {}
    for kind in ("u32", "u64"):
        rows = {count: report(f"cpu-{count}")[f"sort {kind} uniform"] for count in ranks}
        one = rows[1]["ranks_seconds"]
        for label, figure in (("measured", lambda count: 1e3 * rows[count]["ranks_seconds"]),
                              ("model", lambda count: on_cores(kind, count, rows[count], one))):
            series[f"{kind}, {label}"] = {f"{count} rank{'s' if count > 1 else ''}": figure(count) for count in ranks}
    return series, f"Sorting 2^{round(math.log2(rows[1]['elements']))} keys on two cores"


def gpu_chart():
    series = {}
    for ranks in (2, 4):
        for name, row in report(f"gpus-{ranks}").items():
            _, kind, data = name.split()
            if data == "sorted":
                continue
            for label, value in (("measured", 1e3 * row["ranks_seconds"]), ("model", on_gpus(kind, row))):
                series.setdefault(f"{ranks} GPUs, {label}", {})[f"{kind} {data}"] = value
    return series, f"Sorting 2^{round(math.log2(row['elements']))} keys on GPUs of one host ({row['device']})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", "--output", type=pathlib.Path, default=ROOT / "docs/images")
    folder = parser.parse_args().output
    for name, (series, title) in (("scaling-cores", cpu_chart()), ("scaling-gpus", gpu_chart())):
        (folder / f"{name}.svg").write_text(chart.draw(series, 0, title, "ms"), encoding="utf-8")
        print(title)
        for label, values in series.items():
            print(f"  {label}: " + ", ".join(f"{group} {value:.3g}" for group, value in values.items()))


if __name__ == "__main__":
    main()
