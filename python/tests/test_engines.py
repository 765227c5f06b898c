# SPDX-License-Identifier: Apache-2.0
"""The examples of states on MPI and torch.distributed: the same bits for any number of ranks."""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import masu

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
DATA = np.random.default_rng(1).normal(size=1_000_003)
# Open MPI: any number of ranks, as any user, without a network; waiting ranks leave the processor to the others.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm_rsh_agent": "/bin/true",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader"}


def told(limits):
    counts = masu.histogram(DATA, 10, limits)[0]
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
    assert found == told((DATA.min(), DATA.max()))


@pytest.mark.parametrize("processes", [1, 2])
def test_torch_distributed(processes):
    pytest.importorskip("torch")
    found = run(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes),
                EXAMPLES / "torch_statistics.py")
    assert found == told((-5.0, 5.0))
