# SPDX-License-Identifier: Apache-2.0
"""Run by test_cuda_stand_in.py with stand-ins for the CUDA driver and a library of tensors, without NVRTC, and with a
package of kernels: what common calls launch must be in it. Kernels do nothing there.
"""
import fake_tensors
import numpy as np

import masu

CODES = {"f2": (2, 16), "f4": (2, 32), "f8": (2, 64), "i4": (0, 32), "i8": (0, 64), "u1": (1, 8)}
memory = masu.to_device(np.zeros(1 << 25, "u1"), "cuda")


def tensor(shape, dtype):
    return fake_tensors.Tensor(shape, *CODES[dtype], memory._address)


AXES = {"sum": masu.sum, "mean": masu.mean, "std": masu.std, "var": masu.var, "cumsum": masu.cumsum, "sort": masu.sort,
        "argsort": masu.argsort, "median": masu.median,
        "topk": lambda x, **axis: masu.topk(x, 10, **axis), "quantile": lambda x, **axis: masu.quantile(x, 0.25, **axis)}
WHOLE = {"dot": lambda x: masu.dot(x, x), "partition": lambda x: masu.partition(x, 1000), "unique": masu.unique,
         "searchsorted": lambda x: masu.searchsorted(x, x), "histogram": lambda x: masu.histogram(x, 100, (0, 1)),
         "histogram of all": lambda x: masu.histogram(x, 10), "bincount": masu.bincount}
missed = []
for dtype in CODES:
    for shape, functions in ((1 << 20, {**AXES, **WHOLE}), (1 << 11, {**AXES, **WHOLE}), ((1 << 10, 1 << 10), AXES)):
        for name, function in functions.items():
            if name == "bincount" and dtype in ("f2", "f4", "f8"):
                continue
            for axis in ({},) if isinstance(shape, int) else ({"axis": 0}, {"axis": 1}):
                try:
                    function(tensor(shape if isinstance(shape, tuple) else (shape,), dtype), **axis)
                except Exception as error:  # noqa: BLE001  all of them are printed
                    missed.append(f"{name} {dtype} {shape} {axis}: {str(error)[:100]}")
assert not missed, "\n".join(missed)
print("done")
