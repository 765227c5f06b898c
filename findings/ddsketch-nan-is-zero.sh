#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A DDSketch counts NaN as zero in its quantiles.
# Version: ddsketch 3.0.1, Python 3.11 or later.
# Expected: an error, NaN left out, or NaN for the quantiles that have one.
# Seen: of 5, NaN, 7, NaN, 6 the least value and the quarter are 0, and the median is 5. A NaN is neither above nor below the
# least number that has a bucket, so it is counted with the zeros. The mean is NaN.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ddsketch==3.0.1
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
from ddsketch import DDSketch

for values in ([5.0, 7.0, 6.0], [5.0, float("nan"), 7.0, float("nan"), 6.0]):
    sketch = DDSketch(0.01)
    for value in values:
        sketch.add(value)
    print(sketch.count, [round(sketch.get_quantile_value(q), 1) for q in (0, 0.25, 0.5, 1)], sketch.avg)
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
3.0 [5.0, 5.0, 6.0, 7.0] 6.0
5.0 [0, 0, 5.0, 7.0] nan
EOF
