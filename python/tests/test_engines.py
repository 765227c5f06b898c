# SPDX-License-Identifier: Apache-2.0
"""The examples of states on MPI and torch.distributed: the same bits for any number of ranks."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import masu

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
DATA = np.random.default_rng(1).normal(size=1_000_003)
# Open MPI: any number of ranks, as any user, without a network; waiting ranks leave the processor to the others.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm_rsh_agent": "/bin/true",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader"}


def told():
    counts = masu.histogram(DATA, 10)[0]
    return [f"n {DATA.size} sum {masu.sum(DATA)!r} mean {masu.mean(DATA)!r} std {masu.std(DATA)!r}",
            " ".join(map(str, counts.tolist()))]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **MPI})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("ranks", [1, 3])
def test_mpi4py(ranks, tmp_path):
    pytest.importorskip("mpi4py")
    mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("needs mpirun")
    np.save(tmp_path / "data.npy", DATA)
    found = run(mpirun, "-n", str(ranks), sys.executable, EXAMPLES / "mpi_statistics.py", tmp_path / "data.npy")
    assert found == [*told(), f"least at {DATA.argmin()}, greatest at {masu.topk(DATA, 3).indices.tolist()}, "
                     f"quantiles {masu.quantile(DATA, [0.25, 0.5, 0.999]).tolist()}"]


@pytest.mark.parametrize("processes", [1, 3])
def test_torch_distributed(processes, tmp_path):
    pytest.importorskip("torch")
    np.save(tmp_path / "data.npy", DATA)
    found = run(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes),
                EXAMPLES / "torch_statistics.py", tmp_path / "data.npy")
    assert found == told()


class Tensor(np.ndarray):
    """An array with what the example uses of a tensor."""

    def cpu(self):
        return self

    def numpy(self):
        return self.view(np.ndarray)


class Processes:
    """Threads in place of torch.distributed's processes."""

    ReduceOp = types.SimpleNamespace(SUM=np.add, MIN=np.minimum)

    def __init__(self, count):
        self.met = threading.Barrier(count, timeout=60)
        self.given = {}

    def all_reduce(self, tensor, op):
        self.given[threading.get_ident()] = tensor.copy()
        self.met.wait()
        tensor[:] = op.reduce(list(self.given.values()))
        self.met.wait()


@pytest.mark.parametrize("cuts", [[], [300_000, 300_000], [0, 1, 999_999]], ids=["one", "three", "four"])
def test_torch_distributed_by_threads(cuts, monkeypatch):
    """What the example sends and merges, where PyTorch is not installed."""
    parts = np.split(DATA, cuts)
    torch = types.ModuleType("torch")
    torch.distributed = Processes(len(parts))
    torch.from_numpy = lambda numbers: numbers.view(Tensor)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", torch.distributed)
    spec = importlib.util.spec_from_file_location("torch_statistics", EXAMPLES / "torch_statistics.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    with ThreadPoolExecutor(len(parts)) as pool:
        found = list(pool.map(lambda part: example.statistics(part, 10), parts))
    for sums, counts in found:
        assert sums == masu.SumAccumulator.of(DATA) and counts == masu.Histogram.of(DATA, 10)
        assert [f"n {sums.count} sum {sums.sum()!r} mean {sums.mean()!r} std {sums.std()!r}",
                " ".join(map(str, counts.counts().tolist()))] == told()
