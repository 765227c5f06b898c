#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A dataset that keeps a digit after the point reads floats near zero as zero.
# Version: h5py 3.16.0 (its wheel has HDF5 2.0.0), NumPy 2.4.6, Python 3.11 or later.
# Expected: scaleoffset=1 keeps one digit after the point, so no element is off by more than 0.05: 0.09 is about 0.1.
# Seen: 0.09 and -0.09 are 0.0, also beside 0.9. With scaleoffset=0, 0.9 is 0.0. No warning. The filter takes each element that is less than a
# unit of the last digit from the fill value for the fill value, which is 0 by default. With fillvalue=-999, they are rounded.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check h5py==3.16.0 numpy==2.4.6
cd "$folder"
venv/bin/python >seen <<'EOF'
import h5py
import numpy as np

print("HDF5", h5py.version.hdf5_version)
for digits, values in ((1, [0.09, -0.09, 0.9, 0.5]), (0, [0.9, -0.9, 5.0, 9.0])):
    for fill in (0, -999):
        with h5py.File("x.h5", "w") as file:
            file.create_dataset("x", data=np.array(values), scaleoffset=digits, fillvalue=fill)
        with h5py.File("x.h5") as file:
            print(digits, fill, values, [round(float(v), 2) for v in file["x"][...]])
EOF
cat seen
diff seen - <<'EOF'
HDF5 2.0.0
1 0 [0.09, -0.09, 0.9, 0.5] [0.0, 0.0, 0.9, 0.5]
1 -999 [0.09, -0.09, 0.9, 0.5] [0.11, -0.09, 0.91, 0.51]
0 0 [0.9, -0.9, 5.0, 9.0] [0.0, 0.0, 5.0, 9.0]
0 -999 [0.9, -0.9, 5.0, 9.0] [1.1, -0.9, 5.1, 9.1]
EOF
