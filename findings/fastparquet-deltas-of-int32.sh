#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Integers in a Parquet file come back as other integers.
# Version: fastparquet 2026.9.0, PyArrow 26.0.1, DuckDB 2.0.1, NumPy 2.4.6, Python 3.11 or later.
# Expected: the elements that were written, as PyArrow and DuckDB read them.
# Seen: where neighbours are more than 2^31 apart, later elements of int32 are others: 1 is -2147483647. No warning. It holds for the encoding
# DELTA_BINARY_PACKED, whose differences wrap. PyArrow writes it on request.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check fastparquet==2026.9.0 pyarrow==26.0.1 duckdb==2.0.1 pandas==3.1.1 numpy==2.4.6
cd "$folder"
venv/bin/python >seen <<'EOF'
import duckdb
import fastparquet
import pyarrow as pa
import pyarrow.parquet as pq

for dtype in ("int32", "int64"):
    table = pa.table({"x": pa.array([-(2**31), 2**31 - 1, 0, 1, 2], dtype)})
    pq.write_table(table, "x.parquet", use_dictionary=False, column_encoding={"x": "DELTA_BINARY_PACKED"})
    print(dtype, "PyArrow", pq.read_table("x.parquet")["x"].to_pylist())
    print(dtype, "DuckDB", [x for x, in duckdb.sql("select x from 'x.parquet'").fetchall()])
    print(dtype, "fastparquet", fastparquet.ParquetFile("x.parquet").to_pandas()["x"].tolist())
EOF
cat seen
diff seen - <<'EOF'
int32 PyArrow [-2147483648, 2147483647, 0, 1, 2]
int32 DuckDB [-2147483648, 2147483647, 0, 1, 2]
int32 fastparquet [-2147483648, 2147483647, 0, -2147483647, 2]
int64 PyArrow [-2147483648, 2147483647, 0, 1, 2]
int64 DuckDB [-2147483648, 2147483647, 0, 1, 2]
int64 fastparquet [-2147483648, 2147483647, 0, -2147483647, -4294967294]
EOF
