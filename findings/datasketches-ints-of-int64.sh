#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A quantile sketch of positive integers says that its greatest is less than its least input.
# Version: datasketches 5.2.0, NumPy 2.4.6, Python 3.11 or later.
# Expected: a sketch of 3 and 2^31 + 5 has the greatest value 2^31 + 5, or refuses what 32 bits do not hold, as it does for a Python int.
# Seen: 3; the least is -2147483643. An array of int64 is cut to 32 bits, one of floats to whole numbers. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check datasketches==5.2.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import datasketches
import numpy as np

sketch = datasketches.kll_ints_sketch(200)
sketch.update(np.array([3, 2**31 + 5]))
print("array", sketch.get_min_value(), sketch.get_max_value())
try:
    sketch.update(2**31 + 5)
except TypeError:
    print("int: TypeError")
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
array -2147483643 3
int: TypeError
EOF
