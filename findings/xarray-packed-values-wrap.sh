#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Values that do not fit a packed variable come back as other values, some with another sign.
# Version: xarray 2026.9.0, netCDF4 1.7.5.1.post1, NumPy 2.4.6, Python 3.11 or later.
# Expected: an error, a missing value, or the nearest value that fits: 327.67.
# Seen: 400 is written as 40000 hundredths, which wrap in int16, and is read as -255.36; in uint8, 300 becomes 44. netCDF4 alone does the same. No
# warning, also with all warnings shown.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xarray==2026.9.0 netCDF4==1.7.5.1.post1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import os
import tempfile
import warnings

import netCDF4
import numpy as np
import xarray as xr

warnings.simplefilter("error")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.nc")
    for values, how in (([1.0, 400.0, -400.0], {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -32768}), ([1.0, 300.0], {"dtype": "uint8", "_FillValue": 255})):
        xr.Dataset({"x": ("i", values)}).to_netcdf(path, engine="netcdf4", encoding={"x": how})
        with xr.open_dataset(path) as found:
            print("xarray", found["x"].values)
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("i", 3)
        variable = file.createVariable("x", "i2", ("i",))
        variable.scale_factor = 0.01
        variable[:] = np.array([1.0, 400.0, -400.0])
        print("netCDF4", variable[:])
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
xarray [   1.   -255.36  255.36]
xarray [ 1. 44.]
netCDF4 [   1.   -255.36  255.36]
EOF
