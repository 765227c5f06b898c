#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weightedstats takes elements that weigh nothing into its weighted median.
# Version: weightedstats 0.4.1, Python 3.11 or later.
# Expected: the median of 1, 2, 3, 4 with the weights 1, 0, 0, 1 is that of 1 and 4, which is 2.5.
# Seen: 3.5. Where half of the weight is reached exactly, the two elements before the next weight are taken, also one that weighs
# nothing. Weights of 0.1 give another median than weights of 1, since running sums are rounded.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check weightedstats==0.4.1
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
from weightedstats import weighted_median

print(weighted_median([1, 2, 3, 4], weights=[1, 0, 0, 1]), weighted_median([1, 4], weights=[1, 1]))
print(weighted_median(list(range(6)), weights=[0.1] * 6), weighted_median(list(range(6)), weights=[1] * 6))
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
3.5 2.5
2 2.5
EOF
