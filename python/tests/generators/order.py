# SPDX-License-Identifier: Apache-2.0
"""Quantiles, with sound and unsound arguments, and every function on dtypes that masu lacks."""
import contextlib

import numpy as np

import masu

from . import FLOATS, INTEGERS, as_exact, as_numpy, generator, numbers, one_of, outcome, quantile_rule, same

METHODS = ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "hazen",
           "weibull", "closest_observation", "interpolated_inverted_cdf", "median_unbiased", "normal_unbiased"]


def hard(rng, dtype, shape):
    """Data with NaN, infinities, zeros of one sign or both, and values whose sums overflow."""
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        return numbers(rng, dtype, shape)
    most = np.finfo(dtype).max
    pools = [[np.nan, 1, 2, 3, 5], [np.nan], [-0.0], [0.0], [-0.0, 0.0, 1], [-0.0, -1, 2, -0.0], [most, -most, most / 2],
             [np.inf, -np.inf, 1], [np.nan, np.inf, -np.inf], [np.nan, most, -most], [np.nan, 1, 2, 3, -0.0]]
    return rng.choice(np.array(one_of(rng, pools), dtype), shape)


def arguments(rng, data):
    """q and the other arguments of a quantile; one in four has something unsound, now and then two things."""
    q = rng.choice([0, 1, 0.5, 0.3, 0.25, 0.999]) if rng.integers(2) else rng.random(rng.integers(0, 4))
    options = {"axis": one_of(rng, [None, 0, -1, (0,), tuple(range(data.ndim))]),
               "method": one_of(rng, METHODS) if rng.integers(3) else "linear",
               "keepdims": bool(rng.integers(2))}
    if rng.integers(4) == 0:
        for _ in range(rng.integers(1, 3)):
            fault = rng.integers(6)
            if fault == 0:
                q = one_of(rng, [1.5, -0.1, np.nan, [0.5, 2], "x", None])
            elif fault == 1:
                options["axis"] = one_of(rng, [5, -4, (0, 0), 1.5, "x"])
            elif fault == 2:
                options["method"] = one_of(rng, ["no such", None, 3])
            elif fault == 3:
                options["out"] = np.zeros(one_of(rng, [(), (7,), (2, 3, 4)]), one_of(rng, ["f8", "i4"]))
            elif fault == 4:
                options["weights"] = one_of(rng, [np.ones(data.shape), np.ones(3), -1])
            else:
                options["overwrite_input"] = True
    return q, options


def both_zeros(data):
    """Whether which zero stands where is the partition's to say, which NumPy leaves open."""
    if data.dtype.kind != "f":
        return False
    signs = np.signbit(data[data == 0])
    return signs.any() and not signs.all()


@generator(300)
def quantiles(rng, form, device):
    dtype = one_of(form, [*FLOATS, *FLOATS, "?", *INTEGERS])
    shape = tuple(rng.integers(1, 7, rng.integers(1, 4))) if rng.integers(8) else (int(rng.choice([5000, 40_000])),)
    data = hard(rng, dtype, shape)
    q, options = arguments(rng, data)
    zeros = not both_zeros(data)
    for name in ("median", "quantile", "percentile", "nanmedian", "nanquantile", "nanpercentile"):
        middle = name.endswith("median")
        more = {k: v for k, v in options.items() if not middle or k not in ("method", "weights")}
        places = 100 * q if name.endswith("percentile") and isinstance(q, (float, np.ndarray)) else q
        given = (data,) if middle else (data, places)
        if more.pop("overwrite_input", False):
            given = (data.copy(), *given[1:])
        as_exact(name, *given, **more, device=device, zeros=zeros)
        if "out" in more or "weights" in more or isinstance(q, str) or name.startswith("nan"):
            continue
        want, _ = outcome(quantile_rule.exact, name, *given, **more)
        got, _ = outcome(getattr(masu, name), masu.to_device(data, device), *given[1:], **more)
        told = (name, data, given[1:], more, got, want)
        if isinstance(got, masu.DeviceArray):
            want = np.asarray(want)
            if want.size == 1 and (want != want).all():  # NumPy's is the element that is NaN
                want = want.astype(got.dtype)
            same(got.get(), want, told, zeros)
        else:
            assert type(got) is type(want) or isinstance(got, TypeError), told


@generator(150)
def neighbours_far_apart(rng, form, device):
    """Quantiles between extremes, infinities, and integers that float64 has not: in fractions, of host and device alike."""
    dtype = np.dtype(one_of(form, [*FLOATS, *INTEGERS, "i8", "u8"]))
    if dtype.kind == "f":
        most = np.finfo(dtype).max
        pool = np.array([most, -most, most / 3, -most / 7, np.inf, -np.inf, 0, 1, np.finfo(dtype).tiny], dtype)
    else:
        info = np.iinfo(dtype)
        near = [x for x in (2**53 + 1, 2**53 + 3, 2**53 + 4, 2**54 + 2, -2**53 - 1, -2**53 - 3) if info.min <= x <= info.max]
        pool = np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, *near], dtype)
    shape = (int(rng.integers(1, 4)), int(rng.choice([2, 3, 10, 5000])))
    data = rng.choice(rng.choice(pool, int(rng.integers(1, 4))), shape)
    if rng.integers(2) and dtype.kind != "f":
        data = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    q = one_of(rng, [0.5, 0.25, [0.0, 0.5, 0.75, 1.0], rng.random(), rng.random(3), 2.0**-int(rng.integers(1, 200))])
    axis, method = one_of(rng, [None, 0, 1] if shape[1] < 100 else [None, 1]), one_of(rng, METHODS)
    for name, *given in (("median", data), ("nanmedian", data), ("quantile", data, q), ("nanquantile", data, q)):
        options = {"axis": axis} if "median" in name else {"axis": axis, "method": method}
        as_exact(name, *given, **options, device=device)
        want, _ = outcome(quantile_rule.exact, name, *given, **options)
        got, _ = outcome(getattr(masu, name), masu.to_device(data, device), *given[1:], **options)
        if isinstance(got, masu.DeviceArray):
            same(got.get(), np.asarray(want), (name, data, given[1:], options))


@generator(100)
def weighted_quantiles(rng, form, device):
    """Weights whose sums are rounded in float64, beside fractions: of host and device alike."""
    weights_dtype = one_of(form, ["f8", "f8", "f4", "i8", "u8", "u1"])
    size = int(rng.integers(1, 40))
    if weights_dtype == "f8":
        weights = rng.choice(one_of(rng, [[1e16, 1.0], [2.0**53, 1, 3], [1e300, 1e-300, 1], [0.1, 0.2, 0.3], [0, 1, 5e-324]]), size)
    else:
        weights = numbers(rng, weights_dtype, size)
    weights = np.abs(weights).astype(weights_dtype)
    weights[weights < 0] = 1
    weights[rng.integers(size)] = 1
    data = rng.permutation(size).astype(one_of(form, ["f4", "f8", "i4"])) if rng.integers(2) else rng.integers(0, 5, size)
    for q in (0.5, 0.1, 0.3, 0.25, rng.random(), 1.0):
        want = quantile_rule.weighted(data, weights, q)
        got = masu.quantile(data, q, weights=weights, method="inverted_cdf")
        assert got == want and got.dtype == data.dtype, (data, weights, q, got, want)
        got = masu.quantile(masu.to_device(data, device), q, weights=weights, method="inverted_cdf").get()
        assert got == want, (data, weights, q, got, want)


@generator(80)
def zeros_of_both_signs(rng, form, device):
    """Which zero stands at a place is that of the stable order, on every device."""
    shape = (int(rng.integers(1, 4)), int(rng.choice([1, 5, 100, 40_000])))
    data = rng.choice(np.array([-0.0, 0.0, 1, -1], one_of(form, FLOATS)), shape)
    q = rng.random(3)
    want = np.quantile(np.arange(shape[1]), q, method="lower")
    want = np.moveaxis(np.sort(data, axis=1, kind="stable")[:, want], -1, 0)
    same(masu.quantile(data, q, axis=1, method="lower", device=device), want)
    same(masu.quantile(masu.to_device(data, device), q, axis=1, method="lower").get(), want)


@generator(60, host=True)
def columns_of_arrow(rng, form, device):
    """Of PyArrow and Polars: with nulls an error, else what the same numbers give as an array of NumPy."""
    masu._small.limit = int(rng.choice([0, 4096]))
    data = numbers(rng, one_of(form, ["?", *INTEGERS, *FLOATS]), rng.integers(1, 60))
    mask = rng.random(data.size) < one_of(rng, [0, 0, 0.1, 1])
    values = [None if null else value for null, value in zip(mask, data.tolist())]
    columns = []
    with contextlib.suppress(ImportError):
        import pyarrow

        half = data.size // 2
        kind = pyarrow.from_numpy_dtype(data.dtype)
        parts = [pyarrow.array(data[part], kind, mask=mask[part]) for part in (slice(half), slice(half, None))]
        columns += [pyarrow.array(data, kind, mask=mask), pyarrow.chunked_array(parts, kind)]
    with contextlib.suppress(ImportError):
        import polars

        if data.dtype != "f2":  # which Polars 1 has not
            columns.append(polars.Series(values, dtype=polars.Series(data).dtype))
    for column in columns:
        for name, *more in [("sum",), ("sort",), ("unique",), ("median",), ("histogram", 3), ("cumsum",), ("partition", 0), ("topk", 1)]:
            got, want = (outcome(getattr(masu, name), given, *more)[0] for given in (column, data))
            if mask.any():
                assert type(got) is ValueError and "missing values" in str(got), (name, column, got)
            else:
                same(got, want, (name, column))


FOREIGN = ["F", "D", "g", "O", "M8[s]", "m8[s]", "S3", "U3", "M8[D]", "V4", [("a", "i4"), ("b", "f4")]]
try:
    import ml_dtypes  # some of whose dtypes have the characters of NumPy's

    FOREIGN += [getattr(ml_dtypes, name) for name in ("float8_e4m3b11fnuz", "int1", "uint4", "int4", "float8_e5m2", "float8_e4m3fn")]
except ImportError:
    pass


@generator(250, host=True)
def dtypes_that_masu_lacks(rng, form, device):
    masu._small.limit = int(rng.choice([0, 4096]))
    dtype = np.dtype(one_of(form, FOREIGN))
    size = int(rng.choice([1, 2, 7, 5000]))
    with np.errstate(all="ignore"):
        data = np.zeros(size, dtype) if dtype.kind == "V" else rng.integers(0, 9, size).astype(dtype)
    kth = int(rng.integers(size))
    for name, *given in [
        ("partition", data, kth), ("argpartition", data, kth), ("sort", data), ("unique", data), ("median", data),
        ("quantile", data, 0.3), ("searchsorted", data, data[:1]), ("histogram", data, 3),
        ("histogram_bin_edges", data, 3), ("bincount", data), ("digitize", data, [1, 2]), ("cumsum", data),
        ("sum", data), ("nanmedian", data), ("nanquantile", data, 0.3), ("percentile", data, 30),
        ("histogramdd", [data, data], 2), ("histogram2d", data, data, 2),
        ("histogram", np.ones(size), 2, (0, 3), None, data), ("bincount", np.ones(size, int), data),
    ]:
        want, said = outcome(getattr(np, name), *given)
        got, mine = outcome(getattr(masu, name), *given)
        told = (name, dtype, size, got, want)
        if isinstance(want, Exception) or isinstance(got, Exception):
            same(got, want, told)
        elif name in ("partition", "argpartition"):
            assert got.dtype == want.dtype and got.shape == want.shape, told
        elif dtype.kind != "O" and not (name == "histogram" and len(given) > 3):
            same(got, want, told, zeros=False)
        assert {one for one in mine if one[0] is not masu.Fallback} == said.keys(), (told, mine, said)
    if dtype.kind not in "V":
        as_numpy("argsort", data, kind="stable")
