# SPDX-License-Identifier: Apache-2.0
"""Generated calls beside NumPy's or beside exact results: what the generators share, and how one call is repeated.

A generator is a function of (rng, form, device) that makes a call and compares its result: what it draws from `form`
decides which kernels are compiled (dtypes, kinds of bins, options), what it draws from `rng` does not (values, sizes,
layouts). On devices other than the CPU a thousand seeds have FORMS forms, so that they compile few programs. `seeds.py`
runs any number of seeds; `test_generated.py` runs some.

Needs NumPy and masu alone.
"""
import collections
import contextlib
import warnings

import numpy as np

import masu

FORMS = 40
INTEGERS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
FLOATS = ["f2", "f4", "f8"]
ALL = {}  # by name


def generator(few, host=False):
    """Registers a generator. `few`: how many seeds the tests run on the CPU; `host`: it is of functions of the host alone."""

    def register(function):
        name = function.__name__
        assert name not in ALL, name
        function.few, function.host = few, host
        ALL[name] = function
        return function

    return register


def run(name, device, seed, itself=True):
    """One call: the same for the same arguments and version of the generators. `itself`: no array is left to NumPy."""
    form = np.random.default_rng([1, seed] if device == "cpu" else [1, seed // 1000, seed % FORMS])
    with masu_itself() if itself else contextlib.nullcontext(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ALL[name](np.random.default_rng(seed), form, device)


@contextlib.contextmanager
def masu_itself():
    """Small arrays go to masu's code, too, not to NumPy."""
    limit, masu._small.limit = masu._small.limit, 0
    try:
        yield
    finally:
        masu._small.limit = limit


def rounded_by_numpy(a, b):
    """Whether NumPy compares two arrays of integers as float64 (issue 29727), where masu compares integers."""
    kinds = {a.dtype.kind, b.dtype.kind}
    return kinds == {"i", "u"} and np.promote_types(a.dtype, b.dtype).kind == "f"


def found_as_integers(a, v, side):
    """np.searchsorted of the numbers of Python's, in the dtype and shape that it has."""
    return np.searchsorted(a.astype(object), v.astype(object), side)


def one_of(rng, choices):
    """One of a list of anything."""
    return choices[rng.integers(len(choices))]


def outcome(function, *args, **options):
    """The result or the exception, and how often there is each warning."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            value = function(*args, **options)
        except Exception as error:
            value = error
    return value, collections.Counter((w.category, str(w.message)) for w in seen)


def arrays(value):
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in arrays(part)]
    return [value]


def same(got, want, told=None, zeros=True):
    """The same types, dtypes, shapes, elements and, with `zeros`, signs of zeros; of exceptions type and words."""
    if isinstance(want, Exception) or isinstance(got, Exception):
        assert (type(got), str(got)) == (type(want), str(want)), (told, got, want)
        return
    for mine, theirs in zip(arrays(got), arrays(want), strict=True):
        assert type(mine) is type(theirs), (told, type(mine), type(theirs))
        mine, theirs = np.asarray(mine), np.asarray(theirs)
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), (told, mine, theirs)
        assert np.array_equal(mine, theirs, equal_nan=theirs.dtype.kind in "fc"), (told, mine, theirs)
        if zeros and theirs.dtype.kind == "f":
            assert np.array_equal(np.signbit(mine) & ~np.isnan(mine), np.signbit(theirs) & ~np.isnan(theirs)), (
                told, mine, theirs)


class WithDLPack:
    """A tensor of a library on the CPU that speaks DLPack and nothing else."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **keywords):
        return self.values.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def as_numpy(name, *args, device=None, zeros=True, **options):
    """masu's function and NumPy's have the same results, errors and warnings."""
    want, said = outcome(getattr(np, name), *args, **options)
    got, mine = outcome(getattr(masu, name), *args, **options, **({} if device is None else {"device": device}))
    told = (name, args, options)
    if name.startswith("histogram") and "edges must be numbers, got NaN" in str(got):
        given = args[1 + (name == "histogram2d")]
        assert any(np.isnan(one).any() for one in (given if isinstance(given, list) else [given])), told
        return  # NumPy's counts between such edges may be negative
    if "must find at most 16777216 bins" in str(got):
        assert isinstance(want, Exception) or np.size(want[1] if name == "histogram" else want) > 2**24, told
        return
    same(got, want, told, zeros)
    assert mine.keys() == said.keys(), (told, mine, said)
    if name in ("nanquantile", "nanpercentile") and not isinstance(want, Exception):
        assert mine <= said, (told, mine, said)  # a call that is left to NumPy after masu has warned warns twice


ARITHMETIC = "encountered in"  # in what NumPy warns of where its formulas overflow


def as_exact(name, *args, device=None, zeros=True, **options):
    """The same of medians and quantiles by masu's rule, which does not overflow: without the warnings of that."""
    want, _ = outcome(quantile_rule.exact, name, *args, **options)
    said = outcome(getattr(np, name), *args, **options)[1]
    got, mine = outcome(getattr(masu, name), *args, **options, **({} if device is None else {"device": device}))
    told = (name, args, options)
    same(got, want, told, zeros)
    mine, said = ({key for key in seen if ARITHMETIC not in key[1]} for seen in (mine, said))
    assert mine == said, (told, mine, said)


def numbers(rng, dtype, size):
    """Elements of a dtype: its ends, few values around zero, or any."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(bool)
    kind = rng.integers(3)
    if dtype.kind == "f":
        if kind == 0:
            return rng.choice(np.array([0.0, -0.0, 1, -1, 0.1, 0.9, 2.5, 60000], dtype), size)
        return (rng.normal(size=size) * (1 if kind == 1 else 50)).astype(dtype)
    info = np.iinfo(dtype)
    if kind == 0:
        return rng.choice(np.array([info.min, info.min + 1, 0, 1, 2, info.max - 1, info.max], dtype), size)
    if kind == 1:
        return rng.integers(0, 6, size).astype(dtype)
    return rng.integers(info.min, info.max, size, dtype, endpoint=True)


from . import bins, calls, order, quantile_rule, tiny, totals  # noqa: E402, F401  they register their generators
