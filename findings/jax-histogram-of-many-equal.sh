#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A histogram of many equal values has too few of them.
# Version: JAX 0.10.2 (on the CPU), NumPy 2.4.6, Python 3.11 or later.
# Expected: 20,000,000 zeros in the bin of zero.
# Seen: 16,777,216, as the counts are added as float32, where 2^24 + 1 is 2^24. float64 with 64 bits enabled is right. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jax==0.10.2 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import jax.numpy as jnp

counts, _ = jnp.histogram(jnp.zeros(20_000_000), bins=2, range=(0, 1))
print(counts.dtype, [int(count) for count in counts])
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
float32 [16777216, 0]
EOF
