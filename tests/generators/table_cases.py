# SPDX-License-Identifier: Apache-2.0
"""Random tables: columns of values, a dialect, and what hands and editors do to a file afterwards.

A case is a dictionary of plain values, so that it can be printed and made smaller:
writer, delimiter, end, header, quoting, decimal, names, columns (lists of int, float, str or None), changes (what is done to
the text), tell (whether masu gets --delimiter).
"""
import math

CANDIDATES = ["\t", ",", ";", "|"]
WRITERS = ["hand", "hand", "hand", "csv", "csv", "pandas", "polars", "duckdb", "pyarrow", "savetxt"]
WORDS = ["Room 12", "a", "new york", "x y z", "2020-01-01", "12:30", "5 kg", "5%", "#ff0000", "#1", "C#", "no. 5", "left # right",
         "True", "false", "Jan 1", "0x10", "1_000", "1.2.3", "--", "1.#QNAN", "5#3", "naïve", "ü", "$5", "(3)", " lead", "trail ",
         "NA", "N/A", "null", "nan", "None", "-", "?", ".", "e5", "+", "inf", "1e", "1 2", "3 4 5"]
QUOTED = ["a,b", "a;b", "a|b", "a\tb", "say \"hi\"", "\"", "\"\"", "line\nbreak", "line\r\nbreak", "1,234", "1;2", "x\n1,2,3", "x\n#,2",
          "\n", ",", ";;", "a \"b\", c", "\n5\n"]
NAMES = ["a", "b", "price", "unit price", "qty", "x", "y", "place", "Room 12", "# of rooms", "#id", "price (USD)", "größe", "e5",
         "nan", "id", "date", "value [m/s]", "a.b", "col 1", "v"]
ODD_NAMES = ["3", "1", "2", "1.5", "10", "a,b", "a;b", "say \"x\"", "two\nlines", " a", "a ", "-1", "a|b", "a\tb"]


def one(rng, choices):
    return choices[rng.integers(len(choices))]


def some(rng, probability):
    return bool(rng.random() < probability)


def whole(rng):
    kind = rng.integers(8)
    if kind < 4:
        return int(rng.integers(-20, 200))
    if kind < 6:
        return int(rng.integers(-(10**9), 10**9))
    return [lambda: int(rng.integers(-(2**63), 2**63 - 1)), lambda: one(rng, [2**53, 2**53 + 2, -(2**53), 2**62, 0, 9007199254740994])][kind - 6]()


def decimal(rng):
    kind = rng.integers(8)
    if kind < 3:
        return round(float(rng.normal() * 100), int(rng.integers(1, 4)))
    if kind < 5:
        return float(rng.normal() * 10.0 ** rng.integers(-12, 12))
    if kind == 5:
        return float(rng.integers(-50, 50))
    if kind == 6:
        return float(rng.integers(1, 2**62)) * 2.0 ** float(rng.integers(-1100, 900))
    return one(rng, [0.0, 0.5, 1e300, 5e-324, 1e-310, 0.1, 1e22, 1e23, 123456789.123, 9007199254740994.0])


def column(rng, rows):
    """Values of a column: numbers of one kind or text, some missing."""
    kind = one(rng, ["whole", "whole", "small", "decimal", "decimal", "mixed", "text", "text", "quoted", "unsigned", "numbers and words", "names"])
    draw = {
        "whole": lambda: whole(rng), "small": lambda: int(rng.integers(0, 10)), "decimal": lambda: decimal(rng),
        "mixed": lambda: decimal(rng) if some(rng, 0.5) else int(rng.integers(-1000, 1000)),
        "text": lambda: one(rng, WORDS), "quoted": lambda: one(rng, QUOTED) if some(rng, 0.5) else one(rng, WORDS),
        "unsigned": lambda: int(rng.integers(2**63 - 5, 2**63 + 5, dtype="u8")) if some(rng, 0.3) else int(rng.integers(0, 2**40)),
        "numbers and words": lambda: one(rng, WORDS) if some(rng, 0.15) else int(rng.integers(0, 100)),
        "names": lambda: one(rng, ["ada", "bob", "c", "d e", "x"]),
    }[kind]
    missing = one(rng, [0, 0, 0.1, 0.4])
    values = [None if some(rng, missing) else draw() for _ in range(rows)]
    if kind in ("decimal", "mixed") and some(rng, 0.1):
        values = [one(rng, [math.nan, math.inf, -math.inf]) if some(rng, 0.3) else v for v in values]
    return values


def names(rng, count):
    odd = one(rng, [0, 0, 0.3])
    found = []
    while len(found) < count:
        name = one(rng, ODD_NAMES) if some(rng, odd) else one(rng, NAMES)
        if name not in found:
            found.append(name)
    return found


def changes(rng, case, rows):
    """What happens to the text of a table after it was written."""
    drawn = []
    if some(rng, 0.08):
        drawn.append(("bom",))
    if some(rng, 0.2):
        drawn.append(("no last end",))
    if case["writer"] in ("hand", "csv") and rows:
        if some(rng, 0.06):
            drawn.append(("one more", int(rng.integers(rows)), one(rng, ["9", "x", ""])))
        if some(rng, 0.06) and len(case["columns"]) > 1:
            drawn.append(("one less", int(rng.integers(rows))))
        if some(rng, 0.06):
            blank = "  " if case["delimiter"] == " " and case["writer"] == "hand" and some(rng, 0.5) else ""
            drawn.append(("blank line", int(rng.integers(rows + 1)), blank))
        if some(rng, 0.05) and case["writer"] == "hand" and case["end"] != "\r":
            drawn.append(("mixed ends",))
        if some(rng, 0.04) and not case["header"]:
            drawn.append(("hash line", one(rng, ["# made by hand", "#1,2", "#"])))
        elif some(rng, 0.04):
            cells = [v for values in [case["names"], *case["columns"]] for v in values if isinstance(v, str)]
            drawn.append(("comments", "%" if any("#" in v for v in cells) else one(rng, ["#", "%", "//", "!"])))
        if some(rng, 0.03) and case["header"] and not any(change[0] in ("one more", "one less") for change in drawn):
            drawn.append(("row names",))
        if some(rng, 0.03) and case["header"]:
            drawn.append(("title", one(rng, ["Sales of 2026", "Sales, by shop", "made; by hand"])))
        if some(rng, 0.05) and case["writer"] == "hand":
            drawn.append(("blanks", one(rng, [" {}", "{} ", " {} "])))
    return drawn


def draw(rng):
    writer = one(rng, WRITERS)
    rows, width = int(one(rng, [1, 2, 3, 3, 4, 6, 9, 12])), int(one(rng, [1, 2, 2, 3, 3, 4, 5]))
    case = {"writer": writer, "delimiter": one(rng, [*CANDIDATES, ",", ",", "\t"]), "end": one(rng, ["\n", "\n", "\r\n", "\r"]),
            "header": some(rng, 0.7), "quoting": one(rng, ["minimal", "minimal", "all", "nonnumeric", "none"]), "decimal": ".",
            "names": names(rng, width), "columns": [column(rng, rows) for _ in range(width)],
            "styles": [one(rng, ["{!r}", "{!r}", "{:g}", "{:.3f}", "{:e}", "{:+}", "{:.17g}", "{:.0f}", "{:10.2f}"]) for _ in range(width)],
            "missing": one(rng, ["", "", "", "NA", "nan", "NaN", "null"]), "tell": some(rng, 0.3), "compressed": one(rng, ["", "", "", "", "gz"]),
            "parts": int(one(rng, [1, 1, 1, 2, 3])), "repeat": int(one(rng, [1] * 60 + [300, 3000]))}
    if some(rng, 0.04):
        case["delimiter"] = one(rng, [":", "^", "~", "!"])
    if writer == "savetxt" or (writer == "hand" and some(rng, 0.1)):
        case["delimiter"] = one(rng, [" ", " ", " ", "\t", ",", ";"]) if writer == "savetxt" else " "
        case["columns"] = [numeric_column(rng, rows) for _ in range(width)]
        case["names"] = [f"n{i}" for i in range(width)]
        case["missing"] = "nan"
    if writer in ("hand", "pandas") and case["delimiter"] != "," and some(rng, 0.12):
        case["decimal"] = ","
    if writer in ("polars", "duckdb", "pyarrow"):
        case["end"] = "\n"
        case["columns"] = [of_one_type(c) for c in case["columns"]]
    if writer == "duckdb" and case["delimiter"] not in CANDIDATES:
        case["delimiter"] = ","
    if not case["header"] and case["delimiter"] in ":^~!":
        case["tell"] = True
    if writer != "savetxt" and case["delimiter"] != " " and some(rng, 0.06):  # as pandas writes its index
        case["names"], case["columns"] = ["", *case["names"]], [list(range(rows)), *case["columns"]]
        case["styles"] = ["{!r}", *case["styles"]]
    if some(rng, 0.02) and width > 1 and writer != "savetxt" and case["delimiter"] != " ":
        case["columns"][0] = ["long " * int(rng.integers(1000, 20000)), *case["columns"][0][1:]]
    if some(rng, 0.02) and writer in ("hand", "csv") and width > 1:
        case["names"][-1] = case["names"][0]
    case["changes"] = changes(rng, case, rows)
    case["columns"] = [values * case["repeat"] for values in case["columns"]]
    return case


def numeric_column(rng, rows):
    kind = rng.integers(3)
    return [whole(rng) if kind == 0 else decimal(rng) if kind == 1 else int(rng.integers(0, 100)) for _ in range(rows)]


def of_one_type(values):
    """A column for a library whose columns have one type: text beside numbers makes all text."""
    if any(isinstance(v, str) for v in values):
        return [v if v is None else str(v) for v in values]
    if any(isinstance(v, float) for v in values):
        return [v if v is None else float(v) for v in values]
    if any(v is not None and v > 2**63 - 1 for v in values):
        return [v if v is None else abs(v) for v in values]
    return values


def smaller_cases():
    """Steps of sources.smaller: fewer rows, columns and changes, plainer values."""
    def without_row(case):
        rows = len(case["columns"][0])
        if rows > 20:
            for first, last in ((0, rows // 2), (rows // 2, rows)):
                yield {**case, "columns": [c[first:last] for c in case["columns"]],
                       "changes": [c for c in case["changes"] if not (len(c) > 1 and isinstance(c[1], int))]}
            return
        for row in range(rows if rows > 1 else 0):
            yield {**case, "columns": [c[:row] + c[row + 1:] for c in case["columns"]],
                   "changes": [c for c in case["changes"] if not (len(c) > 1 and isinstance(c[1], int) and c[1] >= rows - 1)]}

    def without_column(case):
        for at in range(len(case["columns"]) if len(case["columns"]) > 1 else 0):
            yield {**case, **{key: case[key][:at] + case[key][at + 1:] for key in ("columns", "names", "styles")}}

    def without_change(case):
        for at in range(len(case["changes"])):
            yield {**case, "changes": case["changes"][:at] + case["changes"][at + 1:]}

    def plainer(case):
        for key, value in [("end", "\n"), ("quoting", "minimal"), ("decimal", "."), ("missing", ""), ("compressed", ""), ("tell", False),
                           ("delimiter", ","), ("writer", "csv"), ("header", True), ("parts", 1)]:
            if case[key] != value:
                yield {**case, key: value}
        for key, plain in [("names", "abcdefgh"), ("styles", ["{!r}"] * 8)]:
            if case[key] != list(plain)[: len(case[key])]:
                yield {**case, key: list(plain)[: len(case[key])]}

    def plainer_values(case):
        for at, values in enumerate(case["columns"] if len(case["columns"][0]) < 20 else []):
            for row, value in enumerate(values):
                for plain in (1, 2.5, "t", None):
                    if value != plain and (value is None or len(repr(plain)) < len(repr(value))) and value is not None:
                        changed = [list(c) for c in case["columns"]]
                        changed[at][row] = plain
                        yield {**case, "columns": changed}

    return [without_row, without_column, without_change, plainer, plainer_values]
