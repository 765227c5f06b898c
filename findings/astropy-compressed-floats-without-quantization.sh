#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Floats in a compressed FITS image lose their fractions.
# Version: Astropy 8.0.2, NumPy 2.4.6, Python 3.11 or later.
# Expected: quantize_level=0 of CompImageHDU means that floats are not made integers before compression. So they come back as they were, or
# the compression, Rice by default, which packs integers alone, is refused.
# Seen: Rice stores the integer part of each float. No warning. With GZIP_2 they come back as they were.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check astropy==8.0.2 numpy==2.4.6
cd "$folder"
venv/bin/python >seen <<'EOF'
import numpy as np
from astropy.io import fits

image = np.array([[0.25, 1.5], [2.75, -3.5]], dtype="f4")
for kind in ("RICE_1", "GZIP_2"):
    compressed = fits.CompImageHDU(image, compression_type=kind, quantize_level=0)
    fits.HDUList([fits.PrimaryHDU(), compressed]).writeto(f"{kind}.fits")
    print(kind, fits.getdata(f"{kind}.fits", 1).tolist())
EOF
cat seen
diff seen - <<'EOF'
RICE_1 [[0.0, 1.0], [2.0, -3.0]]
GZIP_2 [[0.25, 1.5], [2.75, -3.5]]
EOF
