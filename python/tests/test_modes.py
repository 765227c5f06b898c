# SPDX-License-Identifier: Apache-2.0
"""Calls in a thread whose processor treats subnormal numbers as zero or rounds otherwise: the same bits, and the mode stays."""
import ctypes
import os
import pickle
import platform
import shutil
import subprocess
import threading

import numpy as np
import pytest

import masu

SOURCE = """
#include <fenv.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
unsigned mode(void) { return _mm_getcsr() & 0xffc0; }
void flush(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }
void usual(void) { fesetround(FE_TONEAREST); _mm_setcsr(0x1f80); }
#else
static unsigned long long fpcr(void) { unsigned long long x; __asm__ volatile("mrs %0, fpcr" : "=r"(x)); return x; }
static void set(unsigned long long x) { __asm__ volatile("msr fpcr, %0" : : "r"(x)); }
unsigned mode(void) { return (unsigned)fpcr(); }
void flush(void) { set(fpcr() | 1ull << 24); }
void usual(void) { set(0); }
#endif
void upward(void) { fesetround(FE_UPWARD); }
void downward(void) { fesetround(FE_DOWNWARD); }
void toward_zero(void) { fesetround(FE_TOWARDZERO); }
"""
MODES = ("flush", "upward", "downward", "toward_zero")


@pytest.fixture(scope="module")
def modes(tmp_path_factory):
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None or platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("no C compiler for this processor's modes")
    folder = tmp_path_factory.mktemp("modes")
    (folder / "modes.c").write_text(SOURCE)
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", folder / "modes.so", folder / "modes.c", "-lm"], check=True)
    return ctypes.CDLL(str(folder / "modes.so"))


def subnormals(n, dtype="f8"):
    """1 to 101 units of the least number."""
    return (np.arange(n) * 7 % 101 + 1).astype("u8" if dtype == "f8" else "u4").view(dtype)


def mixed(n):
    x = (np.arange(n) * 37 % 911) * 0.1 / 7 - 3
    x[::5] = subnormals(len(x[::5]))
    return x


FEW, MANY = 50, 6000
DATA = {n: (mixed(n), subnormals(n), subnormals(n, "f4"), np.full(n, 0.1)) for n in (FEW, MANY)}
EDGES = np.array([-10, -3, -1e-310, 0, 5e-324, 1e-310, 1])
LAST_ZERO = np.array([-10.0, -3, 0])


def each(function):
    """A call for few elements, which NumPy may compute, and for many."""
    return lambda: [function(x) for n in DATA for x in DATA[n]]


def state(make, *read):
    return lambda: [getattr(one, name)() for x in DATA[MANY][:2] for one in [make(x)] for name in read]


def finder(x):
    found = masu.QuantileFinder(x.dtype, [0, 0.1, 0.5])
    found.add(x)
    while found.next_pass():
        found.add(x)
    return found


# A new public name gets a line here.
CALLS = {
    **{name: each(getattr(masu, name)) for name in ("min", "max", "minmax", "argmin", "argmax", "count_nonzero")},
    "average": each(lambda x: [masu.average(x), masu.average(x, weights=np.abs(x[::-1]))]),
    "convert": each(lambda x: [masu.convert(x, "f4"), masu.convert(x, "f2"),
                               masu.convert(np.arange(256, dtype="u1"), "f4", format="float8_e5m2")]),
    "compress": each(lambda x: masu.compress(np.arange(len(x)) % 3 == 0, x)),
    "take": each(lambda x: masu.take(x, [0, -1, 2])),
    "lexsort": each(lambda x: masu.lexsort((x, x[::-1]))),
    "argpartition": each(lambda x: masu.argpartition(x, [3, 20])),
    "argsort": each(masu.argsort),
    "bincount": lambda: [masu.bincount(np.arange(n) % 7, weights=x) for n in DATA for x in DATA[n]],
    "cumsum": each(masu.cumsum),
    "digitize": each(lambda x: masu.digitize(x, EDGES)),
    "dot": each(lambda x: masu.dot(x, x)),
    "group": each(lambda x: masu.group((x > 0.1).astype("i4"), 3)),
    "histogram": each(lambda x: [masu.histogram(x, EDGES), masu.histogram(x, LAST_ZERO), masu.histogram(x, 7, range=(-0.3, 0.1)),
                                 masu.histogram(x, EDGES, weights=x), masu.histogram(x, 5, range=(0, 1), density=True)]),
    "histogram2d": lambda: [masu.histogram2d(x, x, [EDGES, LAST_ZERO]) for n in DATA for x in DATA[n]],
    "histogram_bin_edges": lambda: [masu.histogram_bin_edges(x, rule) for n in DATA for x in DATA[n][:1]
                                    for rule in ("auto", "fd", "scott", "doane", "stone", 10)],
    "histogramdd": lambda: [masu.histogramdd(np.stack([x, x], 1), [EDGES, LAST_ZERO], density=True) for n in DATA for x in DATA[n][:1]],
    "mean": each(masu.mean),
    "median": each(masu.median),
    "nanmedian": each(masu.nanmedian),
    "nanpercentile": each(lambda x: masu.nanpercentile(x, [0, 33.3, 50])),
    "nanquantile": each(lambda x: masu.nanquantile(x, [0, 0.333, 0.5])),
    "partition": each(lambda x: masu.partition(x, [3, 20])),
    "percentile": each(lambda x: masu.percentile(x, [0, 33.3, 50])),
    "quantile": each(lambda x: [masu.quantile(x, [0, 0.333, 0.5]), masu.quantile(x, 0.3, method="hazen")]),
    "searchsorted": each(lambda x: masu.searchsorted(np.sort(np.abs(x).view("u8" if x.itemsize == 8 else "u4")).view(x.dtype), x)),
    "segment_sum": each(lambda x: masu.segment_sum(x, [0, 9, 9, len(x)])),
    "sort": each(masu.sort),
    "std": each(masu.std),
    "sum": each(masu.sum),
    "to_device": lambda: [masu.to_device(x, "cpu").get() for x in DATA[MANY]],
    "topk": each(lambda x: masu.topk(x, 9)),
    "unique": each(lambda x: masu.unique(x, return_counts=True, return_inverse=True)),
    "var": each(lambda x: masu.var(x, ddof=1)),
    "Bins": lambda: [[bins.edges, bins.centers, list(map(bins.index, EDGES.tolist()))] for bins in
                     (masu.Bins(EDGES), masu.Bins.logarithmic(5, 1e-310, 1))],
    "Histogram": state(lambda x: masu.Histogram.of(x, EDGES), "counts", "density", "tobytes"),
    "JointHistogram": lambda: [[getattr(h, name)() for name in ("values", "variances", "tobytes")] for x in DATA[MANY][:2] for h in (
        masu.JointHistogram.of([x, x], [EDGES, LAST_ZERO]), masu.JointHistogram.of([x, x], [EDGES, LAST_ZERO], weights=x, flow=True) / 3,
        masu.JointHistogram.of([x, x], [EDGES, LAST_ZERO], weights=x, flow=True).project(1)[::masu.rebin(2)])],
    "QuantileFinder": state(finder, "result", "tobytes"),
    "ReduceAccumulator": state(masu.ReduceAccumulator.of, "min", "max", "argmin"),
    "RowHistograms": state(lambda x: masu.RowHistograms.of(x.reshape(60, -1), EDGES), "counts", "tobytes"),
    "RunAccumulator": state(masu.RunAccumulator.of, "result"),
    "SumAccumulator": state(masu.SumAccumulator.of, "sum", "mean", "norm2", "var", "std"),
    "TopkAccumulator": state(lambda x: masu.TopkAccumulator.of(x, 9), "result"),
    "UniqueAccumulator": state(masu.UniqueAccumulator.of, "result"),
    "WeightedHistogram": state(lambda x: masu.WeightedHistogram.of(x, EDGES, weights=x), "tobytes"),
}
WITHOUT_NUMBERS = {"Device", "DeviceArray", "DeviceInfo", "Fallback", "Groups", "Kernel", "LocalMemory", "Program", "TopK", "cpu_threads",
                   "devices", "loc", "rebin", "set_cpu_threads"}


def bits(found):
    """Everything in a result."""
    if isinstance(found, (list, tuple)):
        return [bits(one) for one in found]
    if isinstance(found, bytes):
        return found
    found = np.asarray(found)
    return found.dtype.str, found.shape, found.tobytes()


def in_mode(modes, name, call):
    """What it gives in the mode, and whether the mode stayed."""
    getattr(modes, name)()
    before = modes.mode()
    try:
        return call(), modes.mode() == before
    finally:
        modes.usual()


def test_every_public_name_is_tried():
    assert CALLS.keys() | WITHOUT_NUMBERS == set(masu.__all__)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("limit", [0, 4096])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_the_same_bits_and_leaves_the_mode(name, limit, modes, monkeypatch):
    monkeypatch.setattr(masu._small, "limit", limit)
    want = bits(CALLS[name]())
    for mode in MODES:
        found, stayed = in_mode(modes, mode, CALLS[name])
        assert stayed, mode
        assert bits(found) == want, mode


def test_hand_written_values(modes):
    tiny, unit = 2.0 ** -1022, 5e-324
    few, many = np.resize(np.array([3, 1, 2]) * unit, 3), np.resize(np.array([3, 1, 2]) * unit, 6000)
    one, cancels, thin, zeros = np.array([unit]), np.array([1.5 * tiny, -1.25 * tiny]), np.full(3, 1e-40, "f4"), np.zeros(5000)
    cases = (
        (lambda: masu.sum(one), unit),
        (lambda: masu.sum(cancels), 2.0 ** -1024),
        (lambda: masu.sum(np.repeat(cancels, 4000)), 4000 * 2.0 ** -1024),
        (lambda: masu.mean(thin), np.float32(1e-40)),
        (lambda: masu.partition(many, 3000)[3000], 2 * unit),
        (lambda: masu.median(many), 2 * unit),
        (lambda: masu.histogram(zeros, bins=[0, 1e-310, 1])[0].tolist(), [5000, 0]),
        (lambda: masu.histogram([-1] * 4096, bins=[-10, -3, 0])[0].tolist(), [0, 4096]),
        (lambda: masu.cumsum([0.1] * 10)[-1], 1.0),
        (lambda: masu.sum([2**24 + 1], dtype="f4"), np.float32(16777216)),
        (lambda: masu.median(np.array([2**53 + 1, 2**53 + 1])), 2.0 ** 53),
        (lambda: masu.sum([1.7e308] * 2), np.inf),
        (lambda: masu.sort(few).view("i8").tolist(), [1, 2, 3]),
        (lambda: masu.sort(many).view("i8").tolist(), [1] * 2000 + [2] * 2000 + [3] * 2000),
        (lambda: sorted(masu.partition(few, 1).view("i8").tolist()), [1, 2, 3]),
    )
    for call, want in cases:
        for mode in MODES:
            found, stayed = in_mode(modes, mode, call)
            assert found == want and stayed, (found, want, mode)


def test_errors_leave_the_mode(modes):
    def fails():
        for call in (lambda: masu.sum(np.zeros(5), axis=7), lambda: masu.histogram(np.zeros(9), bins=[2, 1]),
                     lambda: masu.quantile(np.zeros(9), 2), lambda: masu.Histogram.of(np.zeros(9), bins=[2, 1])):
            with pytest.raises(ValueError):
                call()

    for mode in MODES:
        assert in_mode(modes, mode, fails)[1]


def test_threads_have_modes_of_their_own(modes):
    found = {}

    def work(mode):
        found[mode] = in_mode(modes, mode, CALLS["sum"])

    threads = [threading.Thread(target=work, args=(mode,)) for mode in MODES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for mode in MODES:
        assert found[mode][1] and bits(found[mode][0]) == bits(CALLS["sum"]())


def test_tasks_of_dask(modes):
    da = pytest.importorskip("dask.array")
    import masu.dask
    x = da.from_array(np.concatenate([DATA[MANY][0], DATA[MANY][1]]), chunks=1700)
    whole = np.asarray(x)
    calls = (lambda: masu.dask.sum(x).compute(scheduler="sync"), lambda: masu.dask.histogram(x, bins=EDGES)[0].compute(scheduler="sync"),
             lambda: masu.dask.quantile(x, [0.1, 0.5]).compute(scheduler="sync"), lambda: masu.dask.sort(x).compute(scheduler="sync"))
    wants = masu.sum(whole), masu.histogram(whole, EDGES)[0], masu.quantile(whole, [0.1, 0.5]), masu.sort(whole)
    for call, want in zip(calls, wants):
        for mode in MODES:
            found, stayed = in_mode(modes, mode, call)
            assert stayed and bits(found) == bits(want), mode


def test_methods_are_methods():
    one = masu.Histogram.of([1.0, 2.0], [0, 2, 3])
    assert pickle.loads(pickle.dumps(one)) == one and pickle.loads(pickle.dumps(one.density))().tolist() == one.density().tolist()
    assert masu.Histogram.density(one).tolist() == [0.25, 0.5]
    assert pickle.loads(pickle.dumps(masu.quantile)) is masu.quantile
    assert one.edges.tolist() == [0, 2, 3] and "Histogram" in repr(one)
