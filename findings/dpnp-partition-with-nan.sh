#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A partition of data with NaN has another element at its place than a sort.
# Version: dpnp 0.20.0 with Intel's OpenCL runtime for CPUs 2026.2.0, NumPy 2.4.6, Python 3.11 or later.
# Expected: partition puts the element of the sorted order at the place; dpnp's own sort, and NumPy's, have NaN last: 2.0 at place 1.
# Seen: 1.0 at place 1 of NaN, 3, 1, 2, with the NaN before it. NumPy has 2.0. No warning; without NaN both agree. The mean of
# float16 is added in float16: that of 60,000, 60,000 and 1 is inf.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check dpnp==0.20.0 dpctl==0.22.1 intel-opencl-rt==2026.2.0 intel-sycl-rt==2026.2.0 numpy==2.4.6
# Intel's loader of OpenCL drivers takes the one of the packages, not those of the system.
OCL_ICD_FILENAMES=$(find "$folder/venv/lib" -name 'libintelocl.so.*' ! -name '*.py' | head -n 1)
mkdir "$folder/vendors"
echo "$OCL_ICD_FILENAMES" >"$folder/vendors/intel.icd"
OCL_ICD_VENDORS=$folder/vendors
export OCL_ICD_FILENAMES OCL_ICD_VENDORS
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import dpnp
import numpy as np

nan = float("nan")
for values, place in (([nan, 3.0, 1.0, 2.0], 1), ([4.0, nan, 3.0, 2.0, 1.0], 2)):
    data = dpnp.asarray(np.array(values))
    found, ordered = dpnp.asnumpy(dpnp.partition(data, place)), dpnp.asnumpy(dpnp.sort(data))
    print(place, found[place], ordered[place], np.partition(values, place)[place])
print("mean", dpnp.asnumpy(dpnp.mean(dpnp.asarray(np.array([60000, 60000, 1], np.float16)))))
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
1 1.0 2.0 2.0
2 1.0 3.0 3.0
mean inf
EOF
