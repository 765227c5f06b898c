#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The threshold of an image of uint64 is a negative number.
# Version: scikit-image 0.26.0, NumPy 2.4.6, Python 3.11 or later.
# Expected: a threshold between the least and the greatest pixel: from 2^63 to 2^63 + 5.
# Seen: -2^63. exposure.histogram names the values of its bins in int64, where they wrap. threshold_isodata, threshold_yen and threshold_triangle
# do the same. The image thus is all foreground. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check scikit-image==0.26.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import numpy as np
from skimage import exposure, filters

image = np.array([[2**63, 2**63 + 5], [2**63 + 5, 2**63 + 6]], np.uint64)
print("bins", exposure.histogram(image)[1][:2])
for name in ("otsu", "isodata", "yen", "triangle"):
    print(name, getattr(filters, "threshold_" + name)(image))
print("foreground", int((image > filters.threshold_otsu(image)).sum()), "of 4")
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
bins [-9223372036854775808 -9223372036854775807]
otsu -9223372036854775808
isodata -9223372036854775808
yen -9223372036854775808
triangle -9223372036854775804
foreground 4 of 4
EOF
