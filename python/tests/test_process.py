# SPDX-License-Identifier: Apache-2.0
"""masu among what else a process does: its start, threads, forks, Ctrl-C."""
import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import masu

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="there is no /proc")


def python(code, **keywords):
    """What a new interpreter prints."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, timeout=120,
                          check=True, text=True, **keywords)
    return done.stdout.strip()


@needs_proc
def test_import_starts_no_thread_and_opens_no_driver():
    told = python("""
        import os
        import numpy  # which may start the threads of its linear algebra
        before = len(os.listdir("/proc/self/task"))
        import masu
        masu.sort(numpy.arange(9.0))
        maps = open("/proc/self/maps").read()
        print(len(os.listdir("/proc/self/task")) - before,
              [name for name in ("libcuda", "libnvrtc", "libOpenCL", "libpocl", "libcairo", "libpng") if name in maps])
    """)
    assert told == "0 []"


def test_import_takes_in_little(capsys):
    """What it imports is NumPy, and a handful of modules; how long that takes is only told."""
    told = python("""
        import sys, time
        import numpy
        before, start = set(sys.modules), time.process_time()
        import masu
        took = time.process_time() - start
        print(f"{took * 1000:.1f}", *sorted(name for name in set(sys.modules) - before))
    """)
    took, *modules = told.split()
    with capsys.disabled():
        print(f"\nimport masu, after numpy: {took} ms of the processor, {len(modules)} modules")
    foreign = {"torch", "cupy", "jax", "pandas", "pyarrow", "matplotlib", "subprocess", "multiprocessing", "asyncio"}
    assert not foreign & set(modules)


CALLS = {
    "histogram": lambda a: masu.histogram(a, 50)[0],
    "sort": masu.sort,
    "argsort": lambda a: masu.argsort(a, kind="stable"),
    "unique": masu.unique,
    "quantile": lambda a: masu.quantile(a, [0.1, 0.9]),
    "cumsum": masu.cumsum,
    "searchsorted": lambda a: masu.searchsorted(np.linspace(-3, 3, 99), a),
}


def test_threads_call_at_once():
    """On arrays of their own, and all on one."""
    rng = np.random.default_rng(1)
    data = [rng.standard_normal(20_000) for _ in range(4)]
    tasks = [(name, a) for name in CALLS for a in (*data, data[0], data[0])]
    alone = [CALLS[name](a) for name, a in tasks]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda task: CALLS[task[0]](task[1]), tasks * 3))
    for got, want in zip(together, alone * 3):
        np.testing.assert_array_equal(got, want)


def test_other_threads_run_during_a_call():
    data = np.random.default_rng(2).standard_normal(6_000_000)
    work = threading.Thread(target=masu.argsort, args=(data,), kwargs={"kind": "stable"})
    ticks = 0
    work.start()
    while work.is_alive():
        time.sleep(0.002)
        ticks += 1
    assert ticks > 5  # one, if the call held the interpreter


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("first", ["import masu", "import masu; masu.sort(numpy.random.rand(1_000_000))"])
def test_a_forked_child_calls(first):
    told = python(f"""
        import numpy, os, signal
        {first}
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            a = numpy.random.rand(1_000_000)
            good = (masu.sort(a) == numpy.sort(a)).all() and masu.histogram(a)[0].sum() == a.size
            os._exit(0 if good else 1)
        print(os.waitpid(child, 0)[1], (masu.sort(numpy.arange(300_000)[::-1])[:3]).tolist())
    """)
    assert told == "0 [0, 1, 2]"


def load(seed):
    """A batch, as the worker of a loader prepares it."""
    batch = np.random.default_rng(seed).integers(0, 256, 300_000, dtype="u1")
    return masu.bincount(batch, minlength=256), masu.sort(batch)[::1000]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("ask", [
    "masu.sum(x, device=name)",
    "masu.histogram(x, bins=50, range=(-3, 3), device=name)",
    "masu.sum(there)",
    "there.get()",
    "masu.to_device(x, name)",
    "masu.DeviceArray(name, 'f4', (9,))",
    "masu.Program(name, 'kernel void f() {}')",
])
@pytest.mark.parametrize("parent", ["pass", "there = masu.to_device(x, name)"])
def test_a_device_in_a_forked_child_is_an_error(parent, ask):
    """The parent only lists the devices, or works on one; the child must not wait for a driver whose threads are gone."""
    if "there" in ask and parent == "pass":
        return
    told = python(f"""
        import os, time
        import numpy as np
        import masu
        x = np.linspace(-3, 3, 5000).astype("f4")
        name = next((info.id for info in masu.devices() if info.usable and info.id != "cpu"), None)
        if name is None:
            print("no device")
            raise SystemExit
        {parent}
        child = os.fork()
        if child == 0:
            try:
                {ask}
            except RuntimeError as error:
                right = "spawn" in str(error)
                there = None
                os._exit(0 if right and masu.sum(x) == masu.sum(x, device="cpu") else 1)
            os._exit(2)
        for wait in range(600):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                print(os.waitstatus_to_exitcode(status))
                break
            time.sleep(0.05)
        else:
            os.kill(child, 9)
            print("the child hangs")
    """)
    if told == "no device":
        pytest.skip("no device but the CPU")
    assert told == "0"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", sorted(set(multiprocessing.get_all_start_methods()) & {"fork", "spawn"}))
def test_the_workers_of_a_loader(method):
    masu.sort(np.random.rand(500_000))  # the parent has threads by now
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        for seed, (counts, ordered) in enumerate(pool.map(load, range(4))):
            batch = np.random.default_rng(seed).integers(0, 256, 300_000, dtype="u1")
            np.testing.assert_array_equal(counts, np.bincount(batch, minlength=256))
            np.testing.assert_array_equal(ordered, np.sort(batch)[::1000])


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("call", ["masu.argsort(a, kind='stable')", "masu.histogram(a, numpy.sort(a[::50]))",
                                  "masu.cumsum(a)"])
def test_control_c_stops_a_call(call):
    """The interpreter goes on, and so does masu, which takes further calls."""
    code = f"""
        import numpy, signal, time
        import masu
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
        a = numpy.random.default_rng(3).standard_normal(2_000_000)
        a = numpy.concatenate([a] * 20)
        print("ready", flush=True)
        try:
            while True:  # a call that has just ended is made again, so that the signal comes in one
                {call}
        except KeyboardInterrupt:
            stopped = time.time()
        print(masu.sort(a[:200_000])[0] == a[:200_000].min(), stopped)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        sent = time.time()
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
    finally:
        child.kill()
    good, stopped = out.split()
    assert good == "True"
    print(f"{call}: stopped after {float(stopped) - sent:.2f} s")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX")
@pytest.mark.parametrize("call", [
    "masu.partition(a, a.size // 2)", "masu.argpartition(a, [9, a.size // 2])", "masu.median(a)", "masu.sort(a)",
    "masu.sort(a, descending=True)", "masu.argsort(a)", "masu.unique(a)", "masu.bincount(x, a)"])
def test_control_c_stops_a_call_soon(call, capsys):
    """A fifth of the way: the call ends before the half of its own length is over, or within 0.2 s.

    The best of three counts, for what else the machine does delays a signal too."""
    told = python(f"""
        import numpy, signal, time
        import masu
        a = numpy.random.default_rng(4).standard_normal(10_000_000)
        x = numpy.random.default_rng(5).integers(0, 1_000_000, a.size)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        lengths, late = [], []
        for _ in range(3):
            start = time.perf_counter()
            {call}
            lengths.append(time.perf_counter() - start)
            due = time.perf_counter() + min(lengths) / 5
            signal.setitimer(signal.ITIMER_REAL, min(lengths) / 5)
            try:
                while True:  # a call that is over before the signal is made again, so that it comes in one
                    {call}
            except KeyboardInterrupt:
                late.append(time.perf_counter() - due)
        print(min(lengths), min(late))
    """)
    length, late = map(float, told.split())
    assert -0.001 <= late <= max(0.2, length / 2), (length, late)
    with capsys.disabled():
        print(f"\n{call}: {length:.2f} s, stopped after {late * 1000:.0f} ms")


@needs_proc
def test_too_little_memory_is_a_memory_error():
    told = python("""
        import resource
        import numpy as np
        import masu
        masu.set_cpu_threads(1)
        x = np.random.default_rng(1).random(1 << 21)
        calls = [masu.sort, masu.argsort, masu.unique, masu.median, lambda x: masu.quantile(x.reshape(-1, 8), [0.1, 0.3], axis=1),
                 lambda x: masu.nanquantile(x.reshape(-1, 8), 0.3, axis=1), lambda x: masu.partition(x, 9), masu.cumsum,
                 lambda x: masu.topk(x, 1 << 20), masu.UniqueAccumulator.of, lambda x: masu.histogram(x, 1 << 20, weights=x)]
        for call in calls:
            call(x)
        pages = int(open("/proc/self/statm").read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (4096 * pages + (1 << 20), -1))
        held = []
        try:
            while True:
                held.append(np.empty(1 << 17))  # what is left of memory that is kept
        except MemoryError:
            pass
        errors = set()
        for call in calls:
            try:
                call(x)
            except Exception as error:
                errors.add(type(error).__name__)
        print(errors)
    """)
    assert told == "{'MemoryError'}"


@needs_proc
def test_results_that_cannot_be_rounded_are_not_kept():
    """Where memory ends while rows of f16 are summed and rounded, the array of the results goes too."""
    told = python("""
        import resource
        import tracemalloc
        import numpy as np
        import masu
        masu.set_cpu_threads(1)
        x = np.ones((9 << 22, 2), np.float16)
        masu.mean(x, axis=1)
        tracemalloc.start()
        def traced():  # NumPy counts the last array that could not be had: always the same one here
            try:
                np.empty(1 << 60, np.uint8)
            except MemoryError:
                return tracemalloc.get_traced_memory()[0]
        pages = int(open("/proc/self/statm").read().split()[0])
        kept = failed = 0
        for mebibytes in range(0, 160, 16):  # the results take 72, more than what an arena of glibc has in reserve
            before = traced()
            resource.setrlimit(resource.RLIMIT_AS, (4096 * pages + (mebibytes << 20), -1))
            try:
                masu.mean(x, axis=1)
            except MemoryError:
                failed += 1
            resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
            kept += traced() - before > 1 << 20
        print(kept, failed > 0)
    """)
    assert told == "0 True"


def test_the_environment_is_read_once():
    """Calls run without the GIL, so another thread may be writing the environment: reading it then crashes."""
    told = python("""
        import os
        import numpy as np
        import masu
        x = np.arange(300_000.0)
        calls = [masu.sort, masu.unique, lambda x: masu.histogram(x, 10, (0, 1)), lambda x: masu.histogram(x, 10, (0, 1), weights=x)]
        os.environ["MASU_THREADS"] = "two"
        for call in (masu.sort, masu.cumsum):
            try:
                call(x)
            except ValueError as error:
                print(error)
        os.environ["MASU_THREADS"] = "2"
        for call in calls:
            call(x)
            os.environ["MASU_THREADS"] = "three"
        print(masu.cpu_threads())
    """)
    wrong = 'cpu_threads: MASU_THREADS must be a whole number >= 1, got "two"'
    assert told == f"{wrong}\n{wrong}\n2"


def test_numbers_of_threads():
    before = masu.cpu_threads()
    masu.set_cpu_threads(1)
    assert masu.cpu_threads() == 1
    with pytest.raises(ValueError, match="threads must be at least 0, got -1"):
        masu.set_cpu_threads(-1)
    masu.set_cpu_threads(2**40)
    assert masu.cpu_threads() >= 1
    masu.set_cpu_threads(0)
    assert masu.cpu_threads() >= 1
    masu.set_cpu_threads(before)
