#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A weighted mean whose weights are small integers divides by a sum of weights that wraps.
# Version: xarray 2026.9.0 with NumPy 2.4.6, Python 3.11 or later.
# Expected: 300 ones, each of weight 1, have the sum of weights 300 and the mean 1.
# Seen: with weights of int8 the sum is 44 and the mean 6.82; 256 weights of uint8 have the sum 0, which xarray
# replaces by NaN. int64 is right. No warning. (A dot product of a mask and the weights is taken in the weights' dtype.
# Weights of bool are converted first.)
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xarray==2026.9.0 numpy==2.4.6 pandas==3.1.1
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import numpy as np
import xarray as xr

for dtype, n in (("int64", 300), ("int8", 300), ("uint8", 256), ("bool", 300)):
    weighted = xr.DataArray(np.ones(n), dims="x").weighted(xr.DataArray(np.ones(n, dtype), dims="x"))
    print(dtype, weighted.sum_of_weights().item(), round(weighted.mean().item(), 2))
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
int64 300.0 1.0
int8 44.0 6.82
uint8 nan nan
bool 300.0 1.0
EOF
