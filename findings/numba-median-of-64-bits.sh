#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The median of large integers is near zero in a compiled function.
# Version: Numba 0.68.1, NumPy 2.4.6, Python 3.11 or later.
# Expected: the median of 2^63 + 1 and 2^63 + 3 (uint64) is 2^63, rounded to float64, as in NumPy; that of 2^63 - 1 and 2^63 - 3 (int64) likewise.
# Seen: 2.0 and -2.0. The two elements in the middle are added in their dtype, where the sum wraps, before they are halved. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numba==0.68.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import numba
import numpy as np


@numba.njit
def median(data):
    return np.median(data)


for data in (np.array([2**63 + 1, 2**63 + 3], np.uint64), np.array([2**63 - 1, 2**63 - 3], np.int64)):
    print(data.dtype, median(data), np.median(data))
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
uint64 2.0 9.223372036854776e+18
int64 -2.0 9.223372036854776e+18
EOF
