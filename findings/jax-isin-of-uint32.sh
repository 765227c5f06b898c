#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A great number of uint32 is equal to a negative int32.
# Version: JAX 0.10.2 (on the CPU, 64 bits not enabled), NumPy 2.4.6, Python 3.11 or later.
# Expected: 2^31 + 5 is no element of {5 - 2^31}, and -1 belongs before 0 and 2^31 + 5, as in NumPy.
# Seen: it is one, and -1 belongs behind both. The common type of uint32 and int32 would be int64, which is cut to int32 without a word.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jax==0.10.2 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import jax.numpy as jnp
import numpy as np

for lib in np, jnp:
    print(lib.isin(lib.asarray([2**31 + 5], "uint32"), lib.asarray([5 - 2**31], "int32")),
          lib.searchsorted(lib.asarray([0, 2**31 + 5], "uint32"), lib.asarray([-1], "int32")),
          lib.maximum(lib.asarray([2**31 + 5], "uint32"), lib.asarray([7], "int32")))
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
[False] [0] [2147483653]
[ True] [2] [7]
EOF
