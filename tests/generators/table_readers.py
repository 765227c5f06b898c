# SPDX-License-Identifier: Apache-2.0
"""The other readers of tables. read_all(case, data, path) gives {reader: columns}; a column is a list of cells.

A cell is a float, an int (kept exact where the reader gave text or integers), or None: missing, NaN, or not a number. A reader
that refuses the file, or that cannot be told its dialect, is left out.
"""
import csv
import io
import math
import re
import warnings

import numpy as np
from sources import library

pandas, polars, duckdb, pyarrow = (library(name) for name in ("pandas", "polars", "duckdb", "pyarrow"))
if pyarrow:
    import pyarrow.csv  # noqa: F401
PLACE = ""  # the folder of the files
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.I | re.A)
WHOLE = re.compile(r"[+-]?\d+", re.A)
_connection = []


def duckdb_connection():
    if not _connection:
        _connection.append(duckdb.connect(config={"threads": 1}))
    return _connection[0]


def cell(value):
    """What a reader gave, as a number or None."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, str):
        text = value.strip(" \t")
        if WHOLE.fullmatch(text):
            return int(text)
        return float(text) if NUMBER.fullmatch(text) else None
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return None if math.isnan(value) else float(value)
    return None


def text_cell(value, decimal):
    if not isinstance(value, str):
        return cell(value)
    if decimal == ",":
        if "." in value:
            return None
        value = value.replace(",", ".")
    return cell(value)


def by_csv(case, data, path, typed):
    text = data.decode("utf-8-sig")
    blanks = case["delimiter"] == " "
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=case["delimiter"], skipinitialspace=blanks))
    if blanks:
        rows = [[field for field in row if field] for row in rows]
    rows = [row for row in rows if row]
    width = len(rows[0])
    rows, strict = (rows[1:], True) if case["header"] else (rows, False)
    return [[text_cell(row[i], case["decimal"]) if len(row) == width or (i < len(row) and not strict) else None for row in rows]
            for i in range(width)]


def by_pandas(case, data, path, typed):
    sep = r"\s+" if case["delimiter"] == " " else case["delimiter"]
    table = pandas.read_csv(io.BytesIO(data), sep=sep, header=0 if case["header"] else None, decimal=case["decimal"], float_precision="round_trip",
                            dtype=None if typed else str, encoding="utf-8-sig", on_bad_lines="skip", index_col=False, low_memory=False,
                            keep_default_na=typed, na_values=None if typed else [""])
    return [[text_cell(v, case["decimal"]) for v in table.iloc[:, i].tolist()] for i in range(table.shape[1])]


def by_polars(case, data, path, typed):
    if case["delimiter"] == " ":
        raise ValueError("no white space")
    table = polars.read_csv(data, has_header=case["header"], separator=case["delimiter"], infer_schema=typed, infer_schema_length=None,
                            decimal_comma=case["decimal"] == "," and typed, truncate_ragged_lines=False, glob=False,
                            eol_char="\r" if case["end"] == "\r" else "\n")
    return [[text_cell(v, case["decimal"]) for v in table.get_column(name).to_list()] for name in table.columns]


def by_duckdb(case, data, path, typed):
    if case["delimiter"] == " ":
        raise ValueError("no white space")
    table = duckdb.read_csv(path, header=case["header"], delimiter=case["delimiter"], quotechar='"', escapechar='"', all_varchar=not typed,
                            sample_size=-1, parallel=False, connection=duckdb_connection(), decimal=case["decimal"], normalize_names=False)
    rows = table.fetchall()
    return [[text_cell(row[i], case["decimal"]) for row in rows] for i in range(len(table.columns))]


def by_pyarrow(case, data, path, typed):
    if case["delimiter"] == " ":
        raise ValueError("no white space")
    table = pyarrow.csv.read_csv(io.BytesIO(data), pyarrow.csv.ReadOptions(use_threads=False, autogenerate_column_names=not case["header"]),
                                 pyarrow.csv.ParseOptions(delimiter=case["delimiter"], newlines_in_values=True),
                                 pyarrow.csv.ConvertOptions(decimal_point=case["decimal"]))
    return [[text_cell(v, case["decimal"]) for v in column.to_pylist()] for column in table.columns]


def by_loadtxt(case, data, path, typed):
    if case["decimal"] != "." or case["header"]:
        raise ValueError("numbers alone")
    delimiter = None if case["delimiter"] == " " else case["delimiter"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array = np.loadtxt(io.BytesIO(data), delimiter=delimiter, ndmin=2, encoding="utf-8-sig")
    return [[cell(v) for v in column] for column in array.T.tolist()]


def by_genfromtxt(case, data, path, typed):
    if case["decimal"] != "." or b'"' in data:
        raise ValueError("points alone, and no quotes")
    delimiter = None if case["delimiter"] == " " else case["delimiter"]
    array = np.genfromtxt(io.BytesIO(data), delimiter=delimiter, skip_header=int(case["header"]), comments=None, encoding="utf-8-sig")
    width = len(case["columns"])
    array = array.reshape(-1, width)
    return [[cell(v) for v in column] for column in array.T.tolist()]


READERS = {"csv": by_csv, "pandas": by_pandas, "polars": by_polars, "duckdb": by_duckdb, "pyarrow": by_pyarrow, "loadtxt": by_loadtxt}
WHITE = {"csv": by_csv, "pandas": by_pandas, "loadtxt": by_loadtxt, "genfromtxt": by_genfromtxt}
NEEDS = {"pandas": pandas, "polars": polars, "duckdb": duckdb, "pyarrow": pyarrow}


def read_all(case, data, path, typed):
    found = {}
    for name, reader in (WHITE if case["delimiter"] == " " else READERS).items():
        if NEEDS.get(name, True) is None:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[name] = reader(case, data, path, typed)
        except Exception:  # whatever a reader raises for what it does not read
            continue
    return found
