#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The distinct values of data with NaN lack the NaN, and other values are counted too often.
# Version: ONNX Runtime 1.32.0, ONNX 1.23.2, NumPy 2.4.6, Python 3.11 or later.
# Expected: 1 once, 2 twice and NaN twice, or each NaN by itself; the inverse gives the input again.
# Seen: 1 twice and 2 three times; the inverse makes a 2 of the first NaN and a 1 of the second. No warning: the values are found in a tree in which
# a NaN is equal to what it meets.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" -W ignore >"$folder/seen" <<'EOF'
import numpy as np
import onnx
import onnxruntime
from onnx import helper

names = ["values", "first", "inverse", "counts"]
node = helper.make_node("Unique", ["x"], names, sorted=1)
inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None])]
graph = helper.make_graph([node], "unique", inputs, [helper.make_empty_tensor_value_info(name) for name in names])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
x = np.array([2, np.nan, 1, np.nan, 2], np.float32)
values, first, inverse, counts = session.run(None, {"x": x})
print(values, counts, values[inverse])
print(*np.unique(x, return_counts=True))
EOF
cat "$folder/seen"
diff "$folder/seen" - <<'EOF'
[1. 2.] [2 3] [2. 2. 1. 1. 2.]
[ 1.  2. nan] [1 2 2]
EOF
