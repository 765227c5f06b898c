#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A sort replaces a NaN by a copy of another element.
# Version: tinygrad 0.14.0, NumPy 2.4.6, Python 3.11 or later; its CPU device needs clang.
# Expected: the elements of the input in another order, with NaN at one end: 1, 2, 3, NaN.
# Seen: 1, 2, 3, 3, and an order that names the element of 3 twice and that of the NaN never. The sort is made of maxima and minima, which
# leave NaN out or not by its place: max of 1, NaN, 3 is 3, of NaN, 1, 3 it is NaN. No warning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tinygrad==0.14.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import os

os.environ["DEV"] = "CPU"
from tinygrad import Tensor

nan = float("nan")
values, order = Tensor([3.0, nan, 1.0, 2.0]).sort()
print("sort", values.numpy(), order.numpy())
print("max", Tensor([1.0, nan, 3.0]).max().item(), Tensor([nan, 1.0, 3.0]).max().item())
print("topk", Tensor([1.0, nan, 3.0, 2.0]).topk(2)[0].numpy())
print("cummax", Tensor([1.0, nan, 3.0]).cummax()[0].numpy())
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
sort [1. 2. 3. 3.] [2 3 0 0]
max 3.0 nan
topk [3. 2.]
cummax [1. 1. 3.]
EOF
