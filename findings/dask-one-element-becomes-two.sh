#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Arithmetic on a lazy array of one element gives two elements.
# Version: Dask 2026.8.0, NumPy 2.4.6, Python 3.11 or later.
# Expected: 7 is the one element of 0 … 9 that equals 7, so one more than it is 8, and it has one square.
# Seen: 8 and 8, two squares; the shape that Dask states is (1,). A mask leaves an empty chunk beside the chunk of one element, and an
# operation takes both for one that is repeated. The array itself, and a mask that leaves two elements, are right. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check 'dask[array]==2026.8.0' numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import dask.array as da

x = da.arange(10, chunks=5)
for wanted in (x == 7, x >= 8):
    found = x[wanted].compute_chunk_sizes()
    print(found.chunks, found.compute(), (found + 1).shape, (found + 1).compute(), (found**2).compute())
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
((0, 1),) [7] (1,) [8 8] [49 49]
((0, 2),) [8 9] (2,) [ 9 10] [64 81]
EOF
