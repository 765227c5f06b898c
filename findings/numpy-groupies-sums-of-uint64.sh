#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sums of groups of uint64 are float32.
# Version: numpy-groupies 0.16.0 with NumPy 2.4.6, Python 3.11 or later, with and without Numba.
# Expected: the sum of 2^24 + 1 and 2 is 16777219, as int64 gives it.
# Seen: 16777220, in float32, which holds 24 bits. No warning. The implementation in pure Python is right.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numpy-groupies==0.16.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import numpy as np
import numpy_groupies as npg

for dtype in ("int64", "uint64"):
    total = npg.aggregate([0, 0], np.array([2**24 + 1, 2], dtype), func="sum")
    print(dtype, total.dtype, int(total[0]))
print("python", npg.aggregate_py([0, 0], np.array([2**24 + 1, 2], "uint64"), func="sum")[0])
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
int64 int64 16777219
uint64 float32 16777220
python 16777219
EOF
