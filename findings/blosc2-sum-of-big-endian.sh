#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sums, means and arithmetic of a big-endian array take its bytes for little-endian ones.
# Version: Blosc2 4.14.1 with NumPy 2.4.6, Python 3.11 or later.
# Expected: the array reads back as 1, 2, 3 (it does); its sum is 6, and adding 1 gives 2, 3, 4.
# Seen: the sum of >f8 is 3.1e-319, and adding 1 gives 1, 1, 1; the sum of >i4 is 100663296. Means follow the sums.
# No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check blosc2==4.14.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import blosc2
import numpy as np

for dtype in ("<f8", ">f8", "<i4", ">i4"):
    array = blosc2.asarray(np.array([1, 2, 3], dtype))
    print(dtype, array[:].tolist(), array.sum(), array.mean(), (array + 1)[:].tolist())
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
<f8 [1.0, 2.0, 3.0] 6.0 2.0 [2.0, 3.0, 4.0]
>f8 [1.0, 2.0, 3.0] 3.14616e-319 1.0487e-319 [1.0, 1.0, 1.0]
<i4 [1, 2, 3] 6 2.0 [2, 3, 4]
>i4 [1, 2, 3] 100663296 33554432.0 [16777217, 33554433, 50331649]
EOF
