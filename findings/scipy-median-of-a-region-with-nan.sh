#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scipy.ndimage takes NaN for a great number in the medians and minima of several regions, and not in those of one.
# Version: SciPy 1.17.1 with NumPy 2.4.6, Python 3.11 or later.
# Expected: NaN for the region 1 of 1, 5, NaN, as numpy.median and numpy.min have it, and the same whether its label stands alone
# or in a list.
# Seen: the median is 5 and the minimum 1 where labels come as a list, NaN where the label is a number. Maximum and mean are NaN
# in both. Several regions are sorted together, and the middle and the first of the sorted elements are taken.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check scipy==1.17.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import numpy as np
from scipy import ndimage

image = np.array([[1, 5, np.nan], [2, 4, 3]])
labels = np.array([[1, 1, 1], [2, 2, 2]])
for name in ("median", "minimum", "maximum", "mean"):
    function = getattr(ndimage, name)
    print(name, [float(x) for x in function(image, labels, [1, 2])], float(function(image, labels, 1)))
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
median [5.0, 3.0] nan
minimum [1.0, 2.0] nan
maximum [nan, 4.0] nan
mean [nan, 3.0] nan
EOF
