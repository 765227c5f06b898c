#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The histogram of equal values is empty in a compiled function.
# Version: Numba 0.68.1, NumPy 2.4.6, Python 3.11 or later.
# Expected: five values of 3 in four bins are five counts: NumPy widens the range to 2.5 to 3.5, which puts them into the third bin.
# Seen: no counts at all; all edges are 3. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numba==0.68.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import numba
import numpy as np


@numba.njit
def histogram(data):
    return np.histogram(data, 4)


data = np.full(5, 3.0)
print("numba", *histogram(data))
print("numpy", *np.histogram(data, 4))
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
numba [0 0 0 0] [3. 3. 3. 3. 3.]
numpy [0 0 5 0] [2.5  2.75 3.   3.25 3.5 ]
EOF
