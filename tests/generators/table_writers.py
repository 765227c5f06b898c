# SPDX-License-Identifier: Apache-2.0
"""Writes a case of table_cases.py: write(case) gives the bytes of the file."""
import csv
import gzip
import io
import math

import numpy as np
from sources import library

pandas, polars, duckdb, pyarrow = (library(name) for name in ("pandas", "polars", "duckdb", "pyarrow"))
if pyarrow:
    import pyarrow.csv  # noqa: F401
QUOTING = {"minimal": csv.QUOTE_MINIMAL, "all": csv.QUOTE_ALL, "nonnumeric": csv.QUOTE_NONNUMERIC, "none": csv.QUOTE_NONE}


class Refused(Exception):
    """A writer has no such dialect, or is not installed."""


def write(case):
    writer = {"pandas": pandas_text, "polars": polars_text, "duckdb": duckdb_text, "pyarrow": pyarrow_text, "savetxt": savetxt_text,
              "hand": hand_text, "csv": csv_text}[case["writer"]]
    text = writer(case)
    text = text if isinstance(text, bytes) else text.encode()
    end = case["end"].encode()
    if ("no last end",) in case["changes"] and text.endswith(end):
        text = text[: -len(end)]
    for change in case["changes"]:
        if change[0] in ("title", "hash line"):
            text = change[1].encode() + end + text
        if change[0] == "comments":
            text = f"{change[1]} a, b".encode() + end + text + (b"" if text.endswith(end) else end) + f"{change[1]}1,2".encode()
    if ("bom",) in case["changes"]:
        text = b"\xef\xbb\xbf" + text
    return gzip.compress(text, 1, mtime=0) if case["compressed"] else text


def spelled(value, style, case):
    """A value as text by hand."""
    if value is None:
        return case["missing"]
    if isinstance(value, str):
        return value
    try:
        text = style.format(value)
    except (ValueError, OverflowError):
        text = repr(value)
    if case["writer"] == "hand" and case["delimiter"] == " ":
        text = text.strip() or "0"
    return text.replace(".", case["decimal"])


def records(case):
    """The lines as lists of fields, with what the changes do to them."""
    rows = [[spelled(v, s, case) for v, s in zip(row, case["styles"])] for row in zip(*case["columns"])]
    for change in case["changes"]:
        if change[0] == "one more":
            rows[change[1]] = [*rows[change[1]], change[2]]
        if change[0] == "one less" and rows[change[1]][:-1] != [""]:  # an empty line is no row
            rows[change[1]] = rows[change[1]][:-1]
    if ("row names",) in case["changes"]:
        rows = [[f"r{i}", *row] for i, row in enumerate(rows)]
    return ([list(case["names"])] if case["header"] else []) + rows


def with_blank_lines(lines, case):
    for change in case["changes"]:
        if change[0] == "blank line":
            at = change[1] + case["header"]
            lines = [*lines[:at], change[2], *lines[at:]]
    return lines


def hand_text(case):
    delimiter, end = case["delimiter"], case["end"]
    form = next((change[1] for change in case["changes"] if change[0] == "blanks"), "{}")

    def field(text, alone):
        must = any(c in text for c in (delimiter, '"', "\n", "\r")) or (alone and not text)
        if case["quoting"] == "none":
            if delimiter in text or "\n" in text or "\r" in text or text.startswith('"'):
                raise Refused("a field needs quotes")
            return text
        if must or case["quoting"] == "all":
            return '"' + text.replace('"', '""') + '"'
        return text

    lines = []
    for record in records(case):
        parts = [field(text, len(record) == 1) for text in record]
        if delimiter == " ":
            if any(not part or " " in part for part in parts):
                raise Refused("white space has no empty fields")
            lines.append("  ".join(parts) if form != "{}" else " ".join(parts))
        else:
            lines.append(delimiter.join(form.format(part) for part in parts))
    ends = ["\n", "\r\n", end] if ("mixed ends",) in case["changes"] else [end]
    return "".join(line + ends[at % len(ends)] for at, line in enumerate(with_blank_lines(lines, case)))


def csv_text(case):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=case["delimiter"], quoting=QUOTING[case["quoting"]], lineterminator=case["end"])
    for at, record in enumerate(records(case)):
        if case["end"] == "\r" and case["quoting"] != "all" and any("\n" in field for field in record):
            raise Refused("csv leaves line ends of another kind without quotes")
        before = out.tell()
        try:
            writer.writerow([float(f) if case["quoting"] == "nonnumeric" and at >= case["header"] and is_short_number(f) else f for f in record])
        except csv.Error as error:
            raise Refused(str(error)) from error
        if out.tell() == before + len(case["end"]) and len(record) != 1:
            raise Refused("an empty line")
    lines = out.getvalue()
    blank = next((change[1] for change in case["changes"] if change[0] == "blank line"), None)
    if blank == 0 and not case["header"]:
        lines = case["end"] + lines
    return lines


def is_short_number(text):
    try:
        return len(text) < 12 and math.isfinite(float(text)) and not text.startswith("0x") and "_" not in text
    except ValueError:
        return False


def frame(case):
    """Columns as numbers where they are, as text where they are text."""
    return {str(i): values for i, values in enumerate(case["columns"])}


def pandas_text(case):
    if not pandas:
        raise Refused("pandas is not here")
    table = pandas.DataFrame({key: pandas.Series(values, dtype=object if any(isinstance(v, (str, int)) for v in values) else None)
                              for key, values in frame(case).items()})
    table.columns = case["names"]
    index = ("row names",) in case["changes"]
    if case["end"] == "\r" and case["quoting"] != "all" and any("\n" in str(v) for values in case["columns"] for v in values):
        raise Refused("pandas leaves line ends of another kind without quotes")
    try:
        return table.to_csv(sep=case["delimiter"], header=case["header"], index=index, index_label=False if index else None, na_rep=case["missing"],
                            quoting=QUOTING[case["quoting"]], lineterminator=case["end"], decimal=case["decimal"])
    except csv.Error as error:
        raise Refused(str(error)) from error


def polars_text(case):
    if not polars:
        raise Refused("polars is not here")
    try:
        table = polars.DataFrame({n: polars.Series(n, v, strict=False) for n, v in zip(case["names"], case["columns"])}, strict=False)
    except (TypeError, OverflowError, polars.exceptions.PolarsError) as error:
        raise Refused(str(error)) from error
    style = {"minimal": "necessary", "all": "always", "nonnumeric": "non_numeric", "none": "necessary"}[case["quoting"]]
    return table.write_csv(include_header=case["header"], separator=case["delimiter"], quote_style=style, null_value=case["missing"])


def pyarrow_text(case):
    if not pyarrow:
        raise Refused("pyarrow is not here")
    out = pyarrow.BufferOutputStream()
    try:
        table = pyarrow.table([pyarrow.array(values) for values in case["columns"]], names=case["names"])
        style = {"minimal": "needed", "all": "all_valid", "nonnumeric": "needed", "none": "none"}[case["quoting"]]
        pyarrow.csv.write_csv(table, out, pyarrow.csv.WriteOptions(include_header=case["header"], delimiter=case["delimiter"], quoting_style=style))
    except (pyarrow.ArrowException, OverflowError) as error:
        raise Refused(str(error)) from error
    return out.getvalue().to_pybytes()


def duckdb_text(case):
    if not duckdb:
        raise Refused("duckdb is not here")
    import table_readers

    path = table_readers.PLACE + "/out.csv"
    table = pyarrow_table(case)
    quoted = case["quoting"] == "all"
    duckdb.from_arrow(table, connection=table_readers.duckdb_connection()).write_csv(
        path, sep=case["delimiter"], header=case["header"], quotechar='"', escapechar='"', na_rep=case["missing"] if not quoted else "",
        quoting="ALL" if quoted else None)
    with open(path, "rb") as file:
        return file.read()


def pyarrow_table(case):
    try:
        return pyarrow.table([pyarrow.array(values) for values in case["columns"]], names=case["names"])
    except (pyarrow.ArrowException, OverflowError) as error:
        raise Refused(str(error)) from error


def savetxt_text(case):
    """numpy.savetxt: one array, so all columns have one dtype."""
    values = [v for column in case["columns"] for v in column]
    floats = any(isinstance(v, float) for v in values)
    array = np.array(case["columns"], "f8" if floats else "i8").T
    out = io.BytesIO()
    fmt = {"minimal": "%.18e" if floats else "%d", "all": "%10.3f" if floats else "%6d", "nonnumeric": "%g", "none": "%.17g" if floats else "%d"}[case["quoting"]]
    heading = case["delimiter"].join(case["names"]) if case["header"] else ""
    np.savetxt(out, array, fmt=fmt, delimiter=case["delimiter"], newline=case["end"], header=heading, comments="")
    return out.getvalue()
