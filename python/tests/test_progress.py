# SPDX-License-Identifier: Apache-2.0
"""Functions that learn how far a call is: fractions that grow, on the caller's thread; what they raise; Ctrl-C."""
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import masu

RNG = np.random.default_rng(45)
N = 20_000_000


def told(call):
    """The result, and the fractions, which are checked."""
    fractions, times, thread = [], [], threading.get_ident()

    def progress(fraction):
        assert threading.get_ident() == thread and type(fraction) is float and 0 <= fraction <= 1
        fractions.append(fraction)
        times.append(time.monotonic())
    result = call(progress)
    assert fractions == sorted(fractions) and fractions[-1] == 1 and fractions.count(1) == 1
    assert all(b - a >= 0.09 for a, b in zip(times, times[1:-1]))
    return result, fractions


def test_a_long_sort_tells_what_is_done():
    x = RNG.normal(size=N)
    kept = x.copy()
    found, fractions = told(lambda progress: masu.sort(x, progress=progress))
    assert found.tobytes() == masu.sort(x).tobytes() and np.array_equal(x, kept)
    assert len(fractions) > 2 and any(0.1 < fraction < 0.95 for fraction in fractions)
    out = np.empty_like(x)
    found, _ = told(lambda progress: masu.sort(x.reshape(-1, 8), axis=1, out=out.reshape(-1, 8), progress=progress))
    assert out.tobytes() == masu.sort(x.reshape(-1, 8)).tobytes()


@pytest.mark.parametrize("x", [[], [3, 1, 2], np.array([2.0, np.nan, -0.0, 0.0]), RNG.integers(0, 256, 10**6, np.uint8), np.array(["b", "a"]),
                               np.array(3), np.arange(12).reshape(3, 4)[:, ::-1], RNG.normal(size=10**6).astype(">f4")])
def test_other_sorts_tell_the_end(x):
    axis = None if np.ndim(x) == 0 else -1
    found, _ = told(lambda progress: masu.sort(x, axis, progress=progress))
    assert found.dtype == masu.sort(x, axis).dtype and found.tobytes() == masu.sort(x, axis).tobytes()


def test_sorts_of_other_libraries():
    pandas = pytest.importorskip("pandas")
    assert told(lambda progress: masu.sort(pandas.Series([3, 1]), progress=progress))[0].tolist() == [1, 3]
    found, _ = told(lambda progress: masu.sort(masu.to_device(np.float32([3, 1]), "cpu"), progress=progress))
    assert np.asarray(found).tolist() == [1, 3]


@pytest.mark.parametrize("dtype", ["f8", "u1", ">i4"])
@pytest.mark.parametrize("options", [{}, dict(bins=7, range=(20, 90)), dict(bins=[0, 10.5, 30, 200]), dict(bins=masu.Bins.integers(3, 90))])
def test_histograms_in_pieces_are_the_same(dtype, options):
    x = RNG.integers(0, 100, N, np.uint8).astype(dtype)
    if dtype == "f8":
        x[[5, -5]] = np.nan, np.inf
    found, fractions = told(lambda progress: masu.Histogram.of(x, progress=progress, **options))
    assert found == masu.Histogram.of(x, **options) and found.edges.dtype == masu.Histogram.of(x[:9], **options).edges.dtype
    assert found.totals().dtype == np.int64 and len(fractions) > 1


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u8"])
@pytest.mark.parametrize("n", [0, 5, N // 2 + 1])
def test_weighted_histograms_in_pieces_are_the_same(n, dtype):
    x = RNG.random(n, np.float32)
    weights = (RNG.normal(size=n) * 10.0 ** RNG.integers(-9, 9, n)).astype(dtype) if dtype[0] == "f" else RNG.integers(0, 100, n).astype(dtype)
    found, _ = told(lambda progress: masu.Histogram.of(x, 5, (0.1, 1), weights, progress=progress))
    whole = masu.Histogram.of(x, 5, (0.1, 1), weights)
    assert found == whole and found.totals().dtype == whole.totals().dtype and found.edges.dtype == whole.edges.dtype
    assert (found + whole).totals().tolist() == (whole + whole).totals().tolist() and type(found.nan) is type(whole.nan)


def test_other_data_of_histograms():
    pandas = pytest.importorskip("pandas")
    for x in ([1, 2, 2.5], pandas.Series([1.0, None, 3.0]), masu.to_device(np.float32([1, 2]), "cpu"),
              np.arange(12.0).reshape(3, 4).T, np.array([True, False])):
        assert told(lambda progress: masu.Histogram.of(x, 3, (0, 3), progress=progress))[0] == masu.Histogram.of(x, 3, (0, 3))
    assert told(lambda progress: masu.Histogram.of(np.arange(50.0), "auto", progress=progress))[0] == masu.Histogram.of(np.arange(50.0), "auto")


@pytest.mark.parametrize("call", [lambda x, progress: masu.sort(x, progress=progress), lambda x, progress: masu.Histogram.of(x, progress=progress)])
def test_what_is_raised_ends_the_call(call):
    x = RNG.normal(size=N)
    kept = x.copy()

    def progress(fraction):
        assert fraction < 1
        raise LookupError("enough")
    with pytest.raises(LookupError, match="enough"):
        call(x, progress)
    assert np.array_equal(x, kept)
    for wrong in (5, "bar"):
        with pytest.raises(TypeError, match="progress must be a function of a fraction, got"):
            call(x[:3], wrong)
    assert masu.sort(x[:5]).tolist() == sorted(x[:5].tolist())  # nothing is reported any more


def test_two_threads_are_told_apart():
    x = RNG.normal(size=N // 4)
    threads = [threading.Thread(target=lambda: told(lambda progress: masu.sort(x, progress=progress))) for _ in range(3)]
    failed = []
    hook, threading.excepthook = threading.excepthook, failed.append
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    threading.excepthook = hook
    assert not failed


@pytest.mark.parametrize("call", ["masu.sort(x, progress=print_nothing)", "masu.Histogram.of(x, progress=print_nothing)"])
def test_ctrl_c_leaves_the_input_whole(call):
    code = f"""
import masu, numpy as np
x = np.random.default_rng(1).normal(size={N // 2})
kept = x.copy()
print_nothing = lambda fraction: None
print("there", flush=True)
try:
    while True: {call}
except KeyboardInterrupt:
    print("interrupted", np.array_equal(x, kept))
"""
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    running.stdout.readline()
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert out == "interrupted True\n" and not err
