# SPDX-License-Identifier: Apache-2.0
"""masu.dask on processes: the bits of masu's function of the whole array, also when a worker dies."""
import os
import signal
import threading
import time

import numpy as np
import pytest

import masu

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

import masu.dask as md  # noqa: E402

RNG = np.random.default_rng(8)
LONG = "MASU_TEST_ALL" in os.environ or "MASU_TEST_LONG" in os.environ


@pytest.fixture(scope="module")
def client():
    # The cluster gives up a worker that is absent so long after a first loss, be it after a second loss.
    with dask.config.set({"distributed.comm.timeouts.connect": "60s", "distributed.admin.tick.limit": "60s",
                          "distributed.deploy.lost-worker-timeout": "1h"}):
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                                      memory_limit=0) as cluster, distributed.Client(cluster) as client:
            yield client


def data(count):
    x = (RNG.normal(size=count) * 10.0 ** RNG.integers(-3, 4, count)).astype("f4")
    x[RNG.integers(0, count, count // 10)] = 0.0
    x[RNG.integers(0, count, count // 10)] = -0.0
    return x


def everything(a, w, i):
    """A result of each kind."""
    return [md.sum(a), md.var(a, ddof=1), md.dot(a, w), md.argmin(a), md.max(a), *md.histogram(a, 50), *md.histogram(a, 9, weights=w),
            *md.histogram2d(a, w, bins=4), md.bincount(i, w), md.median(a, recompute=True),
            md.quantile(a, [0.01, 0.5, 0.9]), *md.topk(a, 7), *md.unique(a, True, True, True), md.sort(a), md.argsort(a)]


def expected(x, w, i):
    place = np.argmax(x)
    return [masu.sum(x), masu.var(x, ddof=1), masu.dot(x, w), np.argmin(x), x[place], *masu.histogram(x, 50),
            *masu.histogram(x, 9, weights=w), *masu.histogram2d(x, w, bins=4), masu.bincount(i, w),
            masu.median(x), masu.quantile(x, [0.01, 0.5, 0.9]), *masu.topk(x, 7), *masu.unique(x, True, True, True),
            masu.sort(x), masu.argsort(x)]


def same(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        one, other = np.ascontiguousarray(one), np.ascontiguousarray(other)
        assert one.dtype == other.dtype and one.shape == other.shape
        assert one.tobytes() == other.tobytes()


def test_workers_that_are_processes(client):
    x, w, i = data(30_011), RNG.normal(size=30_011), RNG.integers(0, 9, 30_011)
    a, b = da.from_array(x, chunks=7001), da.from_array(w, chunks=(0, 30_000, 11)).rechunk(7001)
    c = da.from_array(i, chunks=a.chunks)
    same(client.gather(client.compute(everything(a, b, c))), expected(x, w, i))
    kept = md.sort(a).persist()
    assert kept.chunks == a.chunks
    same([kept.compute()], [masu.sort(x)])


def test_the_scheduler_of_processes():
    x, w = data(5003), RNG.normal(size=5003)
    a, b = da.from_array(x, chunks=2000), da.from_array(w, chunks=2000)
    wanted = [md.sum(a), *md.histogram(a, 9, weights=b), md.median(a), md.sort(a)]
    found = dask.compute(*wanted, scheduler="processes", num_workers=2)
    same(found, [masu.sum(x), *masu.histogram(x, 9, weights=w), masu.median(x), masu.sort(x)])


def test_columns_of_a_data_frame(client):
    pytest.importorskip("pyarrow")
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    x, w, i = data(5003), RNG.normal(size=5003), RNG.integers(0, 99, 5003)
    frame = frames.from_pandas(pandas.DataFrame({"x": x, "w": w, "i": i}), npartitions=3)
    column, weights = frame["x"], frame["w"]
    same(dask.compute(*everything(column, weights, frame["i"])), expected(x, w, i))
    few = column[column > 1]  # of lengths that nobody knows
    y = x[x > 1]
    same(dask.compute(md.sort(few), md.argsort(few), md.argmax(few), *md.topk(few, 9), md.median(few)),
         [masu.sort(y), masu.argsort(y), np.argmax(y), *masu.topk(y, 9), masu.median(y)])
    both = frame[["w", "x"]]
    same(dask.compute(md.histogramdd(both, 4)[0]), [masu.histogramdd(np.stack([w, x.astype(float)], 1), 4)[0]])


def slowly(block):
    time.sleep(0.2)
    return block


@pytest.mark.skipif(not LONG, reason="takes half a minute")
def test_a_worker_that_is_killed(client):
    """Dask starts another and computes the lost tasks again; nothing is counted twice."""
    x, w, i = data(60_013), RNG.normal(size=60_013), RNG.integers(0, 9, 60_013)
    a = da.from_array(x, chunks=3001).map_blocks(slowly, dtype=x.dtype, meta=np.empty(0, x.dtype))
    b, c = da.from_array(w, chunks=3001), da.from_array(i, chunks=3001)
    for wait in (0.5, 1.5):
        workers = [worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()]
        killer = threading.Timer(wait, os.kill, (workers[0], signal.SIGKILL))
        killer.start()
        started = time.monotonic()
        futures = client.compute(everything(a, b, c))
        same(client.gather(futures), expected(x, w, i))
        del futures  # so that the next round computes them again
        assert time.monotonic() - started > wait
        killer.join()
        client.wait_for_workers(2, timeout=60)
        assert workers[0] not in [worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()]
