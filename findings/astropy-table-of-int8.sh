#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A column of int8 comes back from a FITS file as truth values.
# Version: Astropy 8.0.2, NumPy 2.4.6, Python 3.11 or later.
# Expected: the integers, as those of other widths; or an error, as FITS has no such column.
# Seen: 5, -100 and 0 are True, True and False. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check astropy==8.0.2 numpy==2.4.6
cd "$folder"
venv/bin/python >seen 2>&1 <<'EOF'
import numpy as np
from astropy.io import fits
from astropy.table import Table

for dtype in ("int8", "uint8", "int16", "uint16"):
    Table({"x": np.array([5, 100 if dtype[0] == "u" else -100, 0], dtype)}).write(f"{dtype}.fits")
    print(dtype, Table.read(f"{dtype}.fits")["x"].tolist(), fits.open(f"{dtype}.fits")[1].columns[0].format)
EOF
cat seen
diff seen - <<'EOF'
int8 [True, True, False] L
uint8 [5, 100, 0] B
int16 [5, -100, 0] I
uint16 [5, 100, 0] I
EOF
