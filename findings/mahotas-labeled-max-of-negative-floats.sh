#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The greatest of a region of negative floats is a positive number.
# Version: mahotas 1.4.19, NumPy 2.4.6, Python 3.11 or later.
# Expected: labeled_max of -5, -3 and -4 is -3, as it is for integers.
# Seen: 2.2e-308 (1.2e-38 for float32): the search begins with the smallest positive number of the type, not with its least one. Labels without
# a pixel get it too. labeled_sum adds in the dtype of the image: 200 + 100 is 44 for uint8. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mahotas==1.4.19 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import mahotas
import numpy as np

labels = np.ones((1, 3), int)
for dtype in ("int16", "float32", "float64"):
    print(dtype, mahotas.labeled.labeled_max(np.array([[-5, -3, -4]], dtype), labels)[1])
print("sum", mahotas.labeled_sum(np.array([[200, 100, 0]], np.uint8), labels)[1])
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
int16 -3
float32 1.1754944e-38
float64 2.2250738585072014e-308
sum 44
EOF
