#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The greatest of a group of integers is greater than all of them, if numbagg is installed.
# Version: flox 0.11.2, numbagg 0.9.6, NumPy 2.4.6, Python 3.11 or later.
# Expected: nanmax of 2^53 + 1 and 2^53 + 3 is 2^53 + 3, as max is, and as nanmax is with every other engine.
# Seen: 2^53 + 4. nanmin is 2^53. flox takes numbagg for the functions that skip NaN, where it is installed; the integers
# go through float64 there and come back as int64. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check flox==0.11.2 numbagg==0.9.6 numpy==2.4.6 pandas==3.1.1
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import numpy as np
from flox.core import groupby_reduce

data = np.array([2**53 + 1, 2**53 + 3])
for function in ("max", "nanmax", "nanmin"):
    default = groupby_reduce(data, np.zeros(2, int), func=function)[0]
    plain = groupby_reduce(data, np.zeros(2, int), func=function, engine="numpy")[0]
    print(function, default - 2**53, plain - 2**53, default.dtype)
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
max [3] [3] int64
nanmax [4] [3] int64
nanmin [0] [1] int64
EOF
