#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pandas.cut and value_counts(bins=N) of signed integers that span most of their dtype leave out the minimum.
# Version: pandas 3.1.1 with NumPy 2.4.6, Python 3.11 or later.
# Expected: two bins over [-128, 0, 127] hold all three values, as they do for the same values in int64.
# Seen: for int8 the first bin begins at -127.999 (shown as -128.0), so -128 is in no bin: cut gives NaN, value_counts counts two of
# three values. The spread 127 - (-128) is computed in int8 and wraps to -1; NumPy warns of an overflow, cut does not fail.
# int32 and int64 do the same at their own ends.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pandas==3.1.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import numpy as np
import pandas as pd

for dtype in ("int64", "int8"):
    data = pd.Series([-128, 0, 127], dtype=dtype)
    counts = data.value_counts(bins=2, sort=False)
    print(dtype, counts.index[0], counts.tolist(), pd.cut(data, 2).cat.codes.tolist())
ends = np.iinfo("int32")
print("int32", pd.cut(pd.Series([ends.min, 0, ends.max], dtype="int32"), 2).cat.codes.tolist())
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
int64 (-128.256, -0.5] [1, 2] [0, 1, 1]
int8 (-128.0, -0.5] [0, 2] [-1, 1, 1]
int32 [-1, 1, 1]
EOF
