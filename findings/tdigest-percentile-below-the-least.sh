#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tdigest's percentiles of data with equal elements lie outside of the data.
# Version: tdigest 0.5.2.2, Python 3.11 or later.
# Expected: of 50 zeros and 50 hundreds the percentiles below the 50th are 0 and those above it 100. A sketch may be off by some
# ranks, but a percentile lies between the least and the greatest element.
# Seen: the 10th percentile is -30, the 25th of 1, 1, 1, 1, 9 is -1.4. Equal elements become one centroid. The percentile goes
# on in a straight line beyond the middle of the first centroid, past the least element.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tdigest==0.5.2.2
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
from tdigest import TDigest

for values, places in (([0] * 50 + [100] * 50, (10, 40, 60)), ([1, 1, 1, 1, 9], (25, 50, 75))):
    digest = TDigest()
    digest.batch_update(values)
    print(min(values), max(values), [round(digest.percentile(place), 6) for place in places])
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
0 100 [-30.0, 30.0, 70.0]
1 9 [-1.4, 2.6, 6.6]
EOF
