#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The inverse of `unique` sends a NaN to another value.
# Version: Dask 2026.8.0, NumPy 2.4.6, Python 3.11 or later.
# Expected: values[inverse] is the input again, and counts add up to its length, as in NumPy.
# Seen: the NaN has the place 0, so it comes back as the least value; NaN is counted 0 times. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check 'dask[array]==2026.8.0' numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import dask.array as da
import numpy as np

x = np.array([3.0, np.nan, 1.0])
values, inverse, counts = (part.compute() for part in da.unique(da.from_array(x, chunks=2), return_inverse=True, return_counts=True))
print(values, inverse, values[inverse], counts)
values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
print(values, inverse, values[inverse], counts)
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
[ 1.  3. nan] [1 0 0] [3. 1. 1.] [1 1 0]
[ 1.  3. nan] [1 2 0] [ 3. nan  1.] [1 1 1]
EOF
