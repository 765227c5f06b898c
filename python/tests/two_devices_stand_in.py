# SPDX-License-Identifier: Apache-2.0
"""Run by test_cuda_stand_in.py with the stand-ins of enqueue_stand_in.py and two devices: each call is given to its tensor's
device, whichever was used before, and its result is there.
"""
import ctypes
import os

import fake_tensors
import numpy as np

import masu

DRIVER = ctypes.CDLL(os.environ["MASU_CUDA_LIBRARY"])
COUNT = 5000
memory = [masu.to_device(np.zeros(COUNT, "f8"), f"cuda:{number}") for number in range(2)]


def tensor(number, count=COUNT):
    return fake_tensors.Tensor((count,), 2, 32, memory[number]._address, id=number)


CALLS = {
    "sum": masu.sum, "sort": masu.sort, "argsort": masu.argsort, "cumsum": masu.cumsum, "median": masu.median,
    "quantile": lambda a: masu.quantile(a, [0.1, 0.5]), "nanmedian": masu.nanmedian, "topk": lambda a: masu.topk(a, 3),
    "partition": lambda a: masu.partition(a, 9), "histogram": lambda a: masu.histogram(a, 10, (0, 1)),
    "histogram between extremes": lambda a: masu.histogram(a, 10), "edges": lambda a: masu.histogram_bin_edges(a, 3000),
    "unique": masu.unique,
    "dot": lambda a: masu.dot(a, a), "searchsorted": lambda a: masu.searchsorted(a, a),
}
for name, call in CALLS.items():
    for number in (0, 1, 1, 0, 1):
        launches = DRIVER.fake_cuda_launches()
        found = call(tensor(number))
        assert DRIVER.fake_cuda_launches() > launches and DRIVER.fake_cuda_last_device() == number, name
        for one in found if isinstance(found, tuple) else (found,):
            assert one.__dlpack_device__() == (2, number), name
    assert DRIVER.fake_cuda_depth() == 0

# One call, two devices; a result on another one.
for call in (lambda: masu.dot(tensor(0), tensor(1)), lambda: masu.searchsorted(tensor(0), tensor(1)),
             lambda: masu.sort(tensor(0), out=tensor(1))):
    try:
        call()
    except (BufferError, ValueError, TypeError):
        continue
    raise AssertionError("no error")
# A device that there is not.
missing = fake_tensors.Tensor((4,), 2, 32, memory[0]._address, id=7)
try:
    masu.sort(missing)
except (BufferError, ValueError, TypeError):
    pass
else:
    raise AssertionError("no error")
print("done")
