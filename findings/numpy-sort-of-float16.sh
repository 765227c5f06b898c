#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# numpy.sort leaves half a million float16 unsorted where some are negative; numpy.unique then gives values twice.
# Version: NumPy 2.4.6 on a processor with AVX-512 of Ice Lake (numpy.show_config() names AVX512_ICL), Python 3.11 or later.
# Expected: no element is less than the one before it, and the 1,024 values are each there once, as for the same values in float32.
# Seen: some hundred elements are less than the one before. 400,000 such elements, those without negative numbers, and
# kind="stable" are sorted.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numpy==2.4.6
"$folder/venv/bin/python" >"$folder/seen" <<'EOF'
import numpy as np

data = np.random.default_rng(0).integers(-512, 512, 1_000_000).astype(np.float16)
for kind in ("quicksort", "stable"):
    ordered = np.sort(data, kind=kind)
    print(kind, "sorted" if (ordered[:-1] <= ordered[1:]).all() else "unsorted")
print(np.unique(data.astype(np.float32)).size, "values; more in float16:", np.unique(data).size > 1024)
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
quicksort unsorted
stable sorted
1024 values; more in float16: True
EOF
