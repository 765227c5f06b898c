#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The mean of four equal positive integers is 0.
# Version: mlx 0.32.4 with its device for CPUs (mlx-cpu 0.32.4), NumPy 2.4.6, Python 3.11 or later.
# Expected: the mean of 2^30, four times, is 2^30: the result is a float32, which holds it. The variance of 1, 2, 3, a thousand times, plus a million, is 2 / 3.
# Seen: 0 and 8.2: integers are added in int32, which wraps, before the sum is divided; the mean of floats is a rounded running sum, so
# 2^25 ones have the mean 0.5. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mlx==0.32.4 mlx-cpu==0.32.4 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)
print("int32", mx.mean(mx.array([2**30] * 4, dtype=mx.int32)).item())
print("int64", mx.mean(mx.array(np.full(4, 2**62))).item())
print("variance", round(mx.var(mx.array((np.array([1, 2, 3] * 1000) + 1e6).astype(np.float32))).item(), 1))
print("ones", mx.mean(mx.ones(1 << 25)).item())
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
int32 0.0
int64 0.0
variance 8.2
ones 0.5
EOF
