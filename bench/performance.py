#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints docs/performance.md from the reports in bench/results.

    bench/performance.py > docs/performance.md

Reads each device's newest report of each suite, results/VERSION/DEVICE/SUITE.json (rows as bench/README.md describes
them), and results/recorded.json: figures whose reports were not kept, one row a line. A report that no subject below
names is an error, so that no measurement is left out.
"""
import json
import math
import pathlib
import re
import sys
import textwrap

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
H200 = {"CUDA": "h200-cuda", "OpenCL": "h200-opencl"}
ZEN5, ZEN4, POCL = "cpu-amd-epyc-zen5-2-cores", "cpu-amd-epyc-zen4-2-cores", "pocl-amd-epyc-zen5-2-cores"
MACHINES = {
    "h200-cuda": "NVIDIA H200, driver 580.159.04, CUDA 13.0",
    "h200-opencl": "NVIDIA H200, NVIDIA's OpenCL 3.0, driver 580.159.04",
    ZEN5: "AMD EPYC (Zen 5, AVX-512), 2 cores",
    ZEN4: "AMD EPYC (Zen 4, AVX-512), 2 cores",
    POCL: "PoCL 3.1 (Debian 12) on an AMD EPYC (Zen 5, AVX-512), 2 cores",
}
SHORTEST = 1e-8  # seconds: a row below it was not timed

# title, suite, {column: folder}, what a row's speed is held against, options of Subject
READING, COPYING = "reading", "copying"
SUBJECTS = [
    ("Histograms on a GPU", "histogram", H200, READING, {}),
    ("Weighted histograms on a GPU, exact", "weighted", H200, READING, {}),
    ("Histograms on OpenCL for the CPU", "histogram", {"PoCL": POCL}, READING, {"kinds": ["kernel"]}),
    ("Histograms on the CPU", "histogram", {"CPU": ZEN5}, READING, {"kinds": ["kernel"]}),
    ("Sorting on a GPU", "sort", H200, COPYING, {"unit": "G/s"}),
    ("Sorting on a GPU, by distribution", "sort", H200, COPYING, {"across": "CUB 3.6.0"}),
    ("Sorting on the CPU", "sort", {"CPU": ZEN5}, COPYING, {"unit": "M/s"}),
    ("Top-k on a GPU", "topk", H200, READING, {}),
    ("Medians and partitions on a GPU", "quantile", H200, READING, {}),
    ("Distinct values on a GPU", "unique", H200, READING, {}),
    ("Distinct values and runs on the CPU", "unique", {"CPU": ZEN5}, READING, {}),
    ("Searching on a GPU", "search", H200, READING, {"unit": "M/s"}),
    ("Searching on the CPU", "search", {"CPU": ZEN5}, READING, {"unit": "M/s"}),
    ("Exact sums and dot products on a GPU", "sum", H200, READING, {}),
    ("Extremes and counts on a GPU", "reduce", H200, READING, {}),
    ("Scans on a GPU", "scan", H200, COPYING, {}),
    ("Converting on a GPU", "convert", H200, COPYING, {}),
    ("Transposing on a GPU", "transpose", H200, COPYING, {}),
    ("Gathering, scattering, reversing, compacting on a GPU", "gather", H200, COPYING, {}),
    ("Python beside NumPy", "python", {"Zen 5": ZEN5, "Zen 4": ZEN4}, None, {"unit": "ms"}),
]
ELSEWHERE = {"ladder"}  # docs/ladder.md has its table
NOTES = {
    "Histograms on a GPU": """
![GB/s of masu through CUDA and OpenCL and of CUB, for five distributions](images/h200-u8-256.svg)

Rows of CUB with 10^6 bins and more are of runs of their own. With very many bins CUB 3.0.1 wrote outside of its tables (fixed in 3.6).
`pinned` and `pageable` rows start with data in host memory and are held against the plain copy to the device.""",
    "Sorting on a GPU": "CUB sorts with a 64-bit number of items.",
    "Sorting on a GPU, by distribution": "masu's speed as a multiple of CUB 3.6's. Below 1 masu is slower.",
    "Exact sums and dot products on a GPU": "masu's results are exact; those of CUB and cuBLAS are rounded in every step.",
    "Histograms on the CPU": "The loops and OpenCV use the plain product, which puts some values on edges into the wrong bin; masu and NumPy compare with "
                             "the edges. Differences below 15% are noise. NumPy's column has the fastest call that does the same: "
                             "`histogram`, `bincount` or `histogram2d`.",
    "Python beside NumPy": """
![Times as fast as NumPy, of 30 calls](images/python-numpy.svg)

`sum` and `cumsum` of floats are exact in masu and rounded in NumPy; masu's `partition` is stable. The chart is of Zen 5.""",
    "Functions along the axes of matrices of every shape on a GPU, whole calls": """
![The ratio of the fastest peer's time and masu's, a square for each shape, a picture for each function](images/h200-shapes.svg)

The cells are 37 shapes of 2^12, 2^19, 2^25 and 2^27 elements, from one row to one column, both axes, f16, f32 and i64. The values are of a
normal distribution times 1,000, so their sums nearly cancel. Of those of 2^27 elements there was time for a part. A ratio is the time of the fastest peer over masu's. A cell below 0.9 is measured three times and counts by its median.""",
    "Back-to-back calls from Python on arrays in GPU memory, the time of one, µs": """
![masu's speed over the faster of PyTorch and CuPy by the number of elements, a chart for each call](images/whole-calls.svg)
""",
}
HEAD = """# Performance

<!-- Written by bench/performance.py from bench/results. Do not edit. -->
Every measurement of masu that is kept, wins and losses alike. `bench/performance.py` writes this page from
[bench/results](../bench/results); [bench/README.md](../bench/README.md) says how each figure is measured and how to repeat it.

- `/ NAME`: masu's speed as a multiple of NAME's on the same data. Above 1 masu is faster.
- `of reading`, `of copying`: masu's speed as a part of the speed at which the device reads or copies the same bytes, in the same run.
- `0.83 – 5.2`: the worst and the best of the distributions measured; one number where they agree or where there is one.
  Speeds and times are of uniform data.
- `kernel`: the work alone, on data that is on the device. `call`: a whole call, with the host's clock. GB are 10^9 bytes.
- An empty cell was not measured.
- The line above each table has its date and version. Those of the CPU with masu 0.1.0 were not measured again. Since then sorts of short rows,
  quantiles, sums of rows and calls on few elements have become faster."""


def number(value):
    """Three significant digits at most."""
    if value in (None, ""):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return span(value)
    if value == 0:
        return "0"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    text = f"{rounded:,.{max(0, digits)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def size(count):
    if count >= 100 and set(str(count)[1:]) == {"0"}:
        return f"{count:,}"
    for unit, factor in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if count >= 0.999 * factor:
            return number(count / factor) + unit
    return str(count)


def span(values):
    ends = list(dict.fromkeys((number(min(values)), number(max(values))))) if values else []
    return " – ".join(ends)


def anchor(title):
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def markdown(lines):
    widths = [max(map(len, column)) for column in zip(*lines)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    head, rule, *body = ["| " + " | ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) + " |"
                         for line in (lines[0], rule, *lines[1:])]
    return "\n".join([head, rule, *body])


class Subject:
    """One table: a line for each case, number of elements, kind and number of threads."""

    def __init__(self, suite, folders, ceiling, unit="GB/s", kinds=None, across=None):
        self.unit, self.ceiling, self.across = unit, ceiling, across
        self.folders = folders
        self.reports = {name: json.loads(newest(folder, suite).read_text(encoding="utf-8")) for name, folder in folders.items()}
        timed = {name: [r for r in report["rows"] if r["seconds_median"] > SHORTEST and r["kind"] in (kinds or [r["kind"]])]
                 for name, report in self.reports.items()}
        self.own = {name: [r for r in rows if not r.get("peer")] for name, rows in timed.items()}
        self.peers = {name: [r for r in rows if r.get("peer")] for name, rows in timed.items()}
        if "OpenCL" in self.peers:  # the device's peers ran through CUDA
            self.peers["OpenCL"] = self.peers["CUDA"]

    def key(self, row):
        return row["case"], row.get("count") or row["bytes"], row["kind"], row.get("threads")

    def rows(self, name, key):
        return [row for row in self.own[name] if self.key(row) == key]

    def lines_of(self):
        """The keys: cases in the order of the report, the largest inputs first."""
        keys = list(dict.fromkeys(self.key(r) for rows in self.own.values() for r in rows))
        kinds = ["kernel", "call", "pinned", "pageable"]
        if self.unit == "ms":
            return sorted(keys, key=lambda k: -k[1]) if len(self.folders) > 1 else keys
        cases = list(dict.fromkeys(k[0] for k in keys))
        return sorted(keys, key=lambda k: (kinds.index(k[2]), cases.index(k[0]), -k[1], k[3] or 0))

    def speed(self, rows):
        one = next((r for r in rows if r["distribution"] == "uniform"), rows[0] if rows else None)
        if one is None:
            return ""
        if self.unit == "GB/s":
            return number(one["gb_per_s"])
        if self.unit == "ms":
            return number(one["seconds_median"] * 1e3)
        return number(one["elements_per_s"] / {"M/s": 1e6, "G/s": 1e9}[self.unit])

    def family(self, peer):
        """CUB's and NumPy's calls share a column: the fastest that does the same work counts."""
        short = peer.removesuffix("+cu130").removesuffix(" dot")
        return " ".join(short.split()[:2]) if peer.startswith(("CUB", "NumPy")) else short

    def ratios(self, name, key, family):
        """{distribution: the peer's time over masu's}"""
        found = {}
        rows = self.reports[name]["rows"]
        for row, peer in zip(rows, rows[1:]):  # taken in turns: the row has the median of the ratios, its peer follows
            times = row.get("times_numpy") or row.get("times_peer")
            if times and self.key(row) == key and self.family(peer["peer"]) == family:
                found[row["distribution"]] = times
        if found:
            return found
        for row in self.rows(name, key):
            times = [p["seconds_median"] for p in self.peers[name] if self.family(p["peer"]) == family and
                     p["distribution"] == row["distribution"] and self.key(p) == key and p["bytes"] == row["bytes"]]
            if times:
                found[row["distribution"]] = min(times) / row["seconds_median"]
        return found

    def labels(self, keys):
        """Columns that tell the lines apart, and the cells of a key."""
        columns = [("case", lambda k: k[0])]
        if len({k[1] for k in keys}) > 1:
            sized = not any(r.get("count") for rows in self.own.values() for r in rows)
            columns.append(("bytes" if sized else "elements", lambda k: size(k[1])))
        if len({k[2] for k in keys}) > 1:
            columns.append(("kind", lambda k: k[2]))
        if len({k[3] for k in keys}) > 1:
            columns.append(("threads", lambda k: str(k[3] or "")))
        return columns

    def table(self):
        keys = self.lines_of()
        columns = self.labels(keys)
        for name in self.folders:
            prefix = f"{name} " if len(self.folders) > 1 else ""
            columns.append((prefix + self.unit, lambda k, n=name: self.speed(self.rows(n, k))))
            if self.ceiling:
                columns.append((f"of {self.ceiling}", lambda k, n=name: span([r["ratio"] for r in self.rows(n, k)])))
            for family in dict.fromkeys(self.family(p["peer"]) for p in self.peers[name]):
                columns.append((f"{prefix}/ {family}", lambda k, n=name, f=family: span(list(self.ratios(n, k, f).values()))))
        filled = [[head, *(cell(k) for k in keys)] for head, cell in columns]
        return [list(line) for line in zip(*(c for c in filled if any(c[1:])))]

    def table_across(self):
        """A column for each distribution."""
        shapes, lines = [], []
        for key in self.lines_of():
            for name in self.folders:
                found = self.ratios(name, key, self.across)
                if key[2] == "kernel" and found:
                    shapes += [s for s in found if s not in shapes]
                    lines.append(([key[0], size(key[1]), name], found))
        return [["case", "elements", "through", *shapes], *([*head, *(number(found.get(s)) for s in shapes)] for head, found in lines)]

    def caption(self):
        told = {}
        for name, folder in self.folders.items():
            told.setdefault((MACHINES[folder], self.reports[name]["date"], self.reports[name]["version"]), []).append(name)
        return "; ".join(f"{machine}, {date}, masu {version}" for machine, date, version in told) + "."


def newest(folder, suite):
    return max(RESULTS.glob(f"*/{folder}/{suite}.json"), key=lambda path: [int(part) for part in path.parts[-3].split(".")])


def measured():
    used = set()
    for title, suite, folders, ceiling, options in SUBJECTS:
        used |= {(folder, suite) for folder in folders.values()}
        subject = Subject(suite, folders, ceiling, **options)
        text = "\n".join(part for part in (NOTES.get(title, "").strip(), subject.caption()) if part)
        yield title, text, markdown(subject.table_across() if subject.across else subject.table())
    left = {(p.parent.name, p.stem) for p in RESULTS.glob("*/*/*.json")} - used
    left = sorted(f"{folder}/{suite}" for folder, suite in left if suite not in ELSEWHERE)
    if left:
        sys.exit(f"performance.py: no subject names {', '.join(left)}")


def recorded():
    """Subjects of recorded.json: rows with the same subject are one table, with the columns of all of them."""
    rows = json.loads((RESULTS / "recorded.json").read_text(encoding="utf-8"))["rows"]
    for title in dict.fromkeys(row["subject"] for row in rows):
        lines = [row for row in rows if row["subject"] == title]
        heads = [list(dict.fromkeys(name for row in lines for name in row[part])) for part in ("of", "values")]
        table = [[number(cells.get(name)) for name in heads[0] + heads[1]]
                 for cells in ({**row["of"], **row["values"]} for row in lines)]
        where = list(dict.fromkeys(f"{row['device']}, {row['date']}, {row['versions']}. Source: {row['source']}" for row in lines))
        note = [NOTES[title].strip(), ""] if title in NOTES else []
        text = "\n".join([*note, *(f"{text}." for text in where)])
        yield title, text, markdown([heads[0] + heads[1], *table])


def page():
    chapters = {"Measured by `masu bench` and its peers": ("Each row is in bench/results/VERSION/DEVICE/SUITE.json.", measured()),
                "Recorded": ("Figures whose reports were not kept: [recorded.json](../bench/results/recorded.json).", recorded())}
    parts, contents = [], []
    for chapter, (about, tables) in chapters.items():
        contents.append(f"\n{chapter}:\n")
        parts.append(f"\n## {chapter}\n{about}")
        for title, text, table in tables:
            contents.append(f"- [{title}](#{anchor(title)})")
            lines = "\n".join("\n".join(textwrap.wrap(line, 140)) for line in text.splitlines())
            parts.append(f"\n### {title}\n{lines}\n\n{table}")
    return "\n".join([HEAD, *contents, *parts]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
