#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quantile of groups goes through float64 and int64, whatever the dtype: what interpolation="lower" gives is not in the data.
# Version: pandas 3.1.1 with NumPy 2.4.6, Python 3.11 or later.
# Expected: the lower of two elements, the first, as Series.quantile gives it.
# Seen: for uint64 from 2^63 on the groups' result is -2^63, negative and int64 (NumPy warns of an invalid cast); for int64
# beyond 2^53 it is a neighbour of the element, without a warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pandas==3.1.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import pandas as pd

for dtype, first in (("uint64", 2**63 + 1), ("int64", 2**53 + 1)):
    data = pd.Series([first, first + 2], dtype=dtype)
    grouped = data.groupby([0, 0]).quantile(0.5, interpolation="lower")
    print(dtype, first, data.quantile(0.5, interpolation="lower"), grouped.item(), grouped.dtype)
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
uint64 9223372036854775809 9223372036854775809 -9223372036854775808 int64
int64 9007199254740993 9007199254740993 9007199254740992 int64
EOF
