# SPDX-License-Identifier: Apache-2.0
"""Generated calls on arrays of devices and of other libraries: what the same call on a NumPy array gives, or a clear error."""
import warnings

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import masu
from generators import WithDLPack

NAMES = [info.id for info in masu.devices() if info.usable]
DTYPES = "? b B h H i I q Q e f d".split()
ERRORS = (TypeError, ValueError, IndexError, BufferError, MemoryError)  # NumPy has IndexError for quantiles of nothing
SETTINGS = {"deadline": None, "derandomize": True, "suppress_health_check": list(hypothesis.HealthCheck)}


@pytest.fixture(autouse=True)
def small_arrays_too(monkeypatch):
    monkeypatch.setattr(masu._small, "limit", 0)


@st.composite
def arrays(draw, dtypes=DTYPES):
    """Few values, so that many are equal; of floats zeros of both signs, NaN and infinities too. Views with any strides."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 4, 7, 40]), max_size=3)))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    some = [0, 1, 1, 2, 3, 100] + ([-1, -128] if dtype.kind in "if" else [])
    if dtype.kind == "f":
        some += [-0.0, 0.5, draw(st.sampled_from([1, np.nan])), draw(st.sampled_from([1, np.inf, -np.inf]))]
    data = rng.choice(np.array(some), shape).astype(dtype)
    data = np.asarray(data, dtype)
    form = draw(st.sampled_from(["plain", "plain", "turned", "stepped", "backwards", "expanded", "offset", "overlapping"]))
    if form == "turned":
        data = data.T
    elif form == "stepped" and data.ndim:
        data = data[..., ::2]
    elif form == "backwards" and data.ndim:
        data = data[::-1]
    elif form == "expanded":
        data = np.broadcast_to(data, (3, *shape)) if data.ndim < 3 else data
    elif form == "offset" and data.ndim:
        data = data[..., 1:]
    elif form == "overlapping" and data.size > 4 and data.flags.c_contiguous:
        data = np.lib.stride_tricks.as_strided(data, (3, data.size - 2), (data.itemsize, data.itemsize))
    return data


AXES = st.one_of(st.none(), st.integers(-4, 3), st.just(()), st.lists(st.integers(-3, 2), max_size=3).map(tuple))
AXIS = st.one_of(st.none(), st.integers(-4, 3))
TYPES = st.sampled_from([None, None, *DTYPES, "F"])
QUANTILES = st.one_of(st.floats(-0.1, 1.1), st.lists(st.floats(0, 1), max_size=3))
METHODS = ["linear", "nearest", "lower", "inverted_cdf", "hazen", "midpoint", "no such"]


@st.composite
def calls(draw):
    """(function, arguments behind the array, options)"""
    name = draw(st.sampled_from(["sort", "argsort", "partition", "argpartition", "topk", "unique", "sum", "mean", "var", "std",
                                 "cumsum", "median", "quantile", "percentile", "nanmedian", "nanquantile", "nanpercentile", "histogram", "bincount", "searchsorted",
                                 "histogram_bin_edges", "digitize"]))
    arguments, options = [], {}
    if name in ("sort", "argsort"):
        options = {"axis": draw(AXIS), "descending": draw(st.booleans())}
    elif name in ("partition", "argpartition"):
        arguments = [draw(st.one_of(st.integers(-9, 8), st.lists(st.integers(-3, 3), min_size=1, max_size=3)))]
        options = {"axis": draw(AXIS)}
    elif name == "topk":
        arguments, options = [draw(st.integers(-1, 9))], {"axis": draw(AXIS), "largest": draw(st.booleans())}
    elif name == "unique":
        arguments = draw(st.lists(st.booleans(), max_size=3))
        options = {"equal_nan": draw(st.booleans())}
    elif name in ("sum", "mean", "var", "std"):
        options = {"axis": draw(AXES), "dtype": draw(TYPES), "keepdims": draw(st.booleans())}
        if name in ("var", "std"):
            options["ddof"] = draw(st.sampled_from([0, 0, 1, 3, -1, 0.5]))
    elif name == "cumsum":
        options = {"axis": draw(AXIS), "dtype": draw(TYPES)}
    elif name in ("median", "nanmedian"):
        options = {"axis": draw(AXES), "keepdims": draw(st.booleans())}
    elif name.endswith(("quantile", "percentile")):
        arguments = [draw(QUANTILES)]
        options = {"axis": draw(AXES), "method": draw(st.sampled_from(METHODS)), "keepdims": draw(st.booleans())}
    elif name in ("histogram", "histogram_bin_edges"):
        arguments = [draw(st.sampled_from([0, 1, 10, 1000, [0, 1, 5], [1, 0], [0.5], "auto", "fd", "sturges", "no such"])),
                     draw(st.sampled_from([None, (0, 5), (-1.5, 2.5), (1, 0), (0, np.inf), (2, 2)]))]
    elif name == "bincount":
        options = {"minlength": draw(st.sampled_from([0, 5, 300, -1])), "axis": draw(AXIS)}
    elif name == "searchsorted":
        arguments = [draw(st.sampled_from([2, 0.5, [1, 2], [[3]], []])), draw(st.sampled_from(["left", "right", "x"]))]
    else:
        arguments = [draw(st.sampled_from([[0, 1], [0, 1.5], [2, 1], [], [0]])), draw(st.booleans())]
    return name, arguments, options


def done(function, *arguments, **options):
    """What a call gives, as NumPy arrays; or its error, which must be one that a caller can expect."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = function(*arguments, **options)
        except ERRORS as error:
            assert str(error)
            return error
    return [np.asarray(part) for part in result] if isinstance(result, tuple) else [np.asarray(result)]


def check(got, want, where):
    if isinstance(got, Exception):
        return  # that it is clear is all that is asked for
    assert not isinstance(want, Exception), (where, want)
    assert len(got) == len(want)
    for one, other in zip(got, want):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        if other.dtype.kind == "f":
            np.testing.assert_array_equal(np.isnan(one), np.isnan(other), str(where))
            one, other = np.where(np.isnan(one), 0, one), np.where(np.isnan(other), 0, other)
        assert one.tobytes() == other.tobytes(), (where, one, other)


def defined(name, data, arguments, options, result):
    """What of a result is defined: of a partition, the elements at its places."""
    if name not in ("partition", "argpartition") or isinstance(result, Exception) or not (data.size and data.ndim):
        return result
    parted, axis = result[0], options["axis"]
    if axis is None:
        data, axis = data.reshape(-1), 0
    assert (parted.dtype, parted.shape) == (data.dtype if name == "partition" else np.intp, data.shape)
    whole = parted if name == "partition" else np.take_along_axis(data, parted, axis)
    wide = np.result_type(data.dtype, np.float32) if data.dtype == np.float16 else data.dtype  # NumPy's sort of float16
    np.testing.assert_array_equal(np.sort(whole.astype(wide), axis), np.sort(data.astype(wide), axis))  # errs with -0.0
    return [whole.take(arguments[0], axis) + np.array(0, data.dtype)]  # zeros of both signs are equal


def of_numbers(name, data, options, got, want):
    """What functions without NaN give on devices: NumPy's dtype is that of its first line's, a NaN of the data's dtype where
    that has no number; a median's zero has the sign that a sum beginning with +0 has, NumPy's may have another.
    """
    if isinstance(got, Exception) or isinstance(want, Exception) or got[0].shape != want[0].shape:
        return want
    if data.dtype.kind == "f" and data.size and np.isnan(want[0]).any():
        want = [want[0].astype(got[0].dtype)]
    if name == "nanmedian" and data.dtype.kind == "f":
        want = [np.where((want[0] == 0) & (got[0] == 0), got[0], want[0])]
    return want


def refused(name, data, options):
    """Whether a device may refuse what NumPy takes; else it must give the same."""
    dtype = options.get("dtype")
    return (dtype is not None or options.get("ddof") not in (None, 0, 1, 3) or name in ("searchsorted", "digitize", "bincount")
            or name.startswith("histogram") or data.size == 0 or name in ("var", "std"))


@pytest.mark.parametrize("device", NAMES)
def test_arrays_on_devices(device):
    dtypes = DTYPES if device == "cpu" else ["i", "f"]  # compiling kernels takes long

    @hypothesis.settings(max_examples=600 if device == "cpu" else 60, **SETTINGS)
    @hypothesis.given(arrays(dtypes), calls())
    def one(data, call):
        name, arguments, options = call
        function = getattr(masu, name)
        if name == "searchsorted":
            data = masu.sort(data, None)
        want = done(function, data, *arguments, **options)
        got = done(function, masu.to_device(data, device), *arguments, **options)
        if name.startswith("nan"):
            want = of_numbers(name, data, options, got, want)
        where = (name, data.dtype, data.shape, arguments, options)
        check(defined(name, data, arguments, options, got), defined(name, data, arguments, options, want), where)
        if isinstance(got, Exception) and not isinstance(want, Exception):
            assert refused(name, data, options), (*where, got)
        if isinstance(got, Exception) or name in ("unique", "histogram", "bincount", "histogram_bin_edges", "digitize"):
            return
        outs = [masu.to_device(np.full_like(part, 1), device) for part in want]
        result = done(function, masu.to_device(data, device), *arguments, **options, out=tuple(outs) if len(outs) > 1 else outs[0])
        check(result, want if name not in ("partition", "argpartition") else got, ("out", *where))
        assert isinstance(result, Exception) or all(np.asarray(out).tobytes() == part.tobytes() for out, part in zip(outs, result))

    one()


@hypothesis.settings(max_examples=300, **SETTINGS)
@hypothesis.given(arrays(), calls())
def test_tensors_of_the_host(data, call):
    name, arguments, options = call
    function = getattr(masu, name)
    if name == "searchsorted":
        data = masu.sort(data, None)
    check(done(function, WithDLPack(data), *arguments, **options), done(function, data, *arguments, **options),
          (name, data.dtype, data.shape, data.strides, arguments, options))


@hypothesis.settings(max_examples=300, **SETTINGS)
@hypothesis.given(arrays(), calls(), st.sampled_from(["same", "turned", "other dtype", "other shape", "read-only", "itself"]))
def test_out_of_the_host(data, call, kind):
    name, arguments, options = call
    if name not in ("sort", "argsort", "partition", "argpartition", "searchsorted", "cumsum"):
        return
    function = getattr(masu, name)
    want = done(function, data, *arguments, **options)
    if isinstance(want, Exception):
        return
    want = want[0]
    out = np.empty(want.shape[::-1], want.dtype).T if kind == "turned" else np.empty_like(want)
    own = name != "cumsum"
    if kind == "other dtype":
        out = out.astype("F")
    elif kind == "other shape":
        out = np.empty((*want.shape, 2), want.dtype)
    elif kind == "read-only":
        out.flags.writeable = False
    elif kind == "itself":
        out, own = data, own and data.size > 0 and data.dtype == want.dtype and data.shape == want.shape
    before = data.copy()
    got = done(function, data, *arguments, **options, out=out)
    if kind in ("same", "turned"):
        check(got, [want], (name, kind))
        assert not isinstance(got, Exception)
    elif own:
        assert isinstance(got, Exception), (name, kind)
        np.testing.assert_array_equal(data, before)
