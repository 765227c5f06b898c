#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sums of uint64 are rounded to float64, or are 0.
# Version: sparse 0.19.3, NumPy 2.4.6, Python 3.11 or later.
# Expected: the sum of 2^62 + 1, 2^62 + 1 and 0 is 2^63 + 2; 2^53 + 1 and 0 have the sum 2^53 + 1, as in NumPy and with int64.
# Seen: 2^63 and 2^53, of dtype uint64. The number of zeros, a signed integer, makes float64 of the sum. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check sparse==0.19.3 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import numpy as np
import sparse

for values in [2**62 + 1, 2**62 + 1, 0], [2**53 + 1, 0]:
    for dtype in np.uint64, np.int64:
        if sum(values) > np.iinfo(dtype).max:
            continue
        x = np.array(values, dtype)
        found = sparse.COO.from_numpy(x).sum()
        print(found.dtype, int(found.todense()), x.sum())
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
uint64 9223372036854775808 9223372036854775810
uint64 9007199254740992 9007199254740993
int64 9007199254740993 9007199254740993
EOF
