# SPDX-License-Identifier: Apache-2.0
"""Run by test_gpu_calls.py, or alone: the calls of gpu_calls.py on the arrays of several GPUs, from threads of which each has its own,
and in captured graphs. Where there is one GPU, nothing is checked.
"""
import concurrent.futures
import sys

import numpy as np
import torch
from gpu_arrays import Torch, each, host, run, same
from gpu_calls import CALLS, WAITING

import masu


def check_several_gpus():
    """Each call on its array's GPU, whichever the thread's is and whatever another one does; nothing where there is one."""
    count = torch.cuda.device_count()
    if count < 2:
        return
    data = [host("f4", 70_001 + number) for number in range(count)]
    arrays = [torch.from_numpy(one).to(f"cuda:{number}") for number, one in enumerate(data)]
    calls = {**CALLS, "histogram": lambda a: masu.histogram(a, 10, (0, 1)), "found range": lambda a: masu.histogram(a, 10),
             "dot": lambda a: masu.dot(a, a), "sum of rows": lambda a: masu.sum(a[:70_000].reshape(100, 700), 1)}
    wanted = {name: [[np.asarray(part) for part in each(call(one))] for one in data] for name, call in calls.items()}

    def check(name, number):
        for got, want in zip(each(calls[name](arrays[number])), wanted[name][number]):
            assert got.device == arrays[number].device, (name, got.device)
            same(Torch.get(got), want)

    for name in calls:
        for own in range(count):
            with torch.cuda.device(own):
                for number in (0, 1, 1, 0):
                    check(name, number)
                assert torch.cuda.current_device() == own, name

    def work(own):
        with torch.cuda.device(own % count), torch.cuda.stream(torch.cuda.Stream(own % count)):
            for turn in range(3):
                for name in calls:
                    check(name, (own + turn) % count)

    torch.cuda.synchronize()
    for number in range(count):
        torch.cuda.synchronize(number)
    with concurrent.futures.ThreadPoolExecutor(2 * count) as pool:
        list(pool.map(work, range(2 * count)))
    graphs = []
    for number in range(count):
        with torch.cuda.device(number):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=torch.cuda.Stream(number)):  # PyTorch's own is one GPU's
                graphs.append((graph, [(name, calls[name](arrays[number])) for name in calls
                                       if name not in WAITING and name != "found range"]))
    for _ in range(3):
        for graph, _ in graphs:
            graph.replay()
    for number, (_, results) in enumerate(graphs):
        torch.cuda.synchronize(number)
        for name, result in results:
            for got, want in zip(each(result), wanted[name][number]):
                same(Torch.get(got), want)
    for call in (lambda: masu.dot(arrays[0], arrays[1]), lambda: masu.searchsorted(arrays[0], arrays[1]),
                 lambda: masu.sort(arrays[0], out=torch.empty_like(arrays[1]))):
        try:
            call()
        except (BufferError, ValueError, TypeError):
            continue
        raise AssertionError("no error")
    # masu's own arrays on the second one.
    there = masu.to_device(data[1], "cuda:1")
    same(np.asarray(masu.sort(there).get()), masu.sort(data[1]))
    return graphs


if __name__ == "__main__":
    sys.exit(run({"check_several_gpus": check_several_gpus}))
