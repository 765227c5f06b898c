#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A weighted average of equal elements is not that element in a compiled function.
# Version: Numba 0.68.1, NumPy 2.4.6, Python 3.11 or later.
# Expected: the average of 100 and 100 with any weights is 100, as in NumPy; that of 1,000 and 2,000 (int32) with equal weights is 1,500.
# Seen: 0.16 with int8, 68.3 with int32: products of elements and weights are computed in their own dtype, where they wrap. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numba==0.68.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import numba
import numpy as np


@numba.njit
def average(data, weights):
    return np.average(data, None, weights)


for data, weights in (([100, 100], np.array([100, 100], np.int8)), ([1000, 2000], np.array([3000000, 3000000], np.int32))):
    data = np.array(data, weights.dtype)
    print(data.dtype, round(average(data, weights), 2), np.average(data, None, weights))
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
int8 0.16 100.0
int32 68.34 1500.0
EOF
