# SPDX-License-Identifier: Apache-2.0
"""Generated calls in other environments: masu's calls alone run there, what they are compared with does not.

`within(name)` makes every public function of masu run in an environment of ENVIRONMENTS and checks that the call leaves the
caller's arithmetic as it was. Setting the arithmetic takes a C compiler.
"""
import contextlib
import ctypes
import functools
import inspect
import os
import pathlib
import pickle
import shutil
import subprocess
import tempfile
import threading

import numpy as np

import masu

SOURCE = r"""
#include <fenv.h>
static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
#if defined(__x86_64__)
#include <xmmintrin.h>
unsigned long arithmetic(void) { return _mm_getcsr() & ~0x3fu; }
static void flush(int kind) { _mm_setcsr((_mm_getcsr() & ~0x8040u) | (kind & 1 ? 0x8000 : 0) | (kind & 2 ? 0x40 : 0)); }
#elif defined(__aarch64__)
unsigned long arithmetic(void) { unsigned long r; __asm__ volatile("mrs %0, fpcr" : "=r"(r)); return r; }
static void flush(int kind) {
  unsigned long r = (arithmetic() & ~(1ul << 24)) | (kind ? 1ul << 24 : 0);
  __asm__ volatile("msr fpcr, %0" : : "r"(r));
}
#endif
void set_arithmetic(int rounding, int kind) { fesetround(modes[rounding]); flush(kind); }
"""
# The rounding (to nearest, up, down, towards zero) and what is flushed (1: results, 2: operands).
ARITHMETIC = {"flush": (0, 3), "flush results": (0, 1), "flush operands": (0, 2), "up": (1, 0), "down": (2, 0), "towards zero": (3, 0),
              "flush up": (1, 3)}
ENVIRONMENTS = [*ARITHMETIC, "thread", "flushing workers", "usual workers", "fork"]
_started = []


@functools.cache
def library():
    """The compiled SOURCE, or None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "arithmetic.c").write_text(SOURCE)
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", path / "arithmetic.so", path / "arithmetic.c", "-lm"], check=True)
        loaded = ctypes.CDLL(str(path / "arithmetic.so"))
    loaded.arithmetic.restype = ctypes.c_ulong
    return loaded


@contextlib.contextmanager
def arithmetic(rounding, flush):
    library().set_arithmetic(rounding, flush)
    there = library().arithmetic()
    try:
        yield
        left = library().arithmetic()
    finally:
        library().set_arithmetic(0, 0)
    assert left == there, f"the call left the arithmetic {left:#x} for {there:#x}"


def on_a_thread(function):
    """The function's result or exception, from a thread of its own."""
    caught = []

    def call():
        try:
            caught.append((function(), None))
        except BaseException as error:
            caught.append((None, error))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    if caught[0][1] is not None:
        raise caught[0][1]
    return caught[0][0]


def start_workers(flush):
    """Calls large enough that masu starts its threads, once in a process."""
    if not _started:
        _started.append(flush)
        with arithmetic(0, flush):
            masu.sort(np.arange(4_000_000)[::-1].astype("f4"))
            masu.sum(np.ones(4_000_000))
    assert _started[0] == flush, "the threads of this process are of another environment"


def caller(name):
    """A function that calls a function in the environment."""
    if name in ARITHMETIC or name == "usual workers":
        def call(function):
            with arithmetic(*ARITHMETIC.get(name, (0, 3))):
                return function()
        return call
    return on_a_thread if name == "thread" else lambda function: function()


def wrapped(function, call):
    @functools.wraps(function)
    def wrapper(*args, **options):
        return call(lambda: function(*args, **options))
    return wrapper


@contextlib.contextmanager
def within(name):
    """Every function of masu, and every class method of its classes, runs in the environment `name`."""
    if name in ("flushing workers", "usual workers"):
        start_workers(3 if name == "flushing workers" else 0)
    call, before = caller(name), []

    def put(owner, attribute, old, new):
        before.append((owner, attribute, old))
        setattr(owner, attribute, new)

    for attribute in masu.__all__:
        value = getattr(masu, attribute)
        if inspect.isroutine(value):
            put(masu, attribute, value, wrapped(value, call))
        elif inspect.isclass(value):
            for method, held in list(vars(value).items()):
                if isinstance(held, classmethod) and value.__module__.startswith("masu"):
                    with contextlib.suppress(TypeError):  # a class of the extension cannot be changed
                        put(value, method, held, classmethod(wrapped(held.__func__, call)))
    try:
        yield
    finally:
        for owner, attribute, old in reversed(before):
            setattr(owner, attribute, old)


def run(name, function):
    """Calls function() within the environment; "fork": in a child of this process."""
    if name != "fork":
        with within(name):
            return function()
    start_workers(0)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        fault = b""
        try:
            function()
        except BaseException as error:
            import traceback

            fault = pickle.dumps("".join(traceback.format_exception(error))[-2000:])
        os.write(writer, fault)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        fault = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the forked child ended with status {status}"
    if fault:
        raise AssertionError("in a forked child: " + pickle.loads(fault))
