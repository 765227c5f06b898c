# SPDX-License-Identifier: Apache-2.0
"""Generated calls of quantiles, with sound and unsound arguments, and of every function on dtypes that masu lacks."""
import numpy as np
import pytest

import masu
from generators import DEVICES, FLOATS, INTEGERS, as_numpy, numbers, outcome, same, seeds

METHODS = ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "hazen",
           "weibull", "closest_observation", "interpolated_inverted_cdf", "median_unbiased", "normal_unbiased"]


@pytest.fixture(autouse=True)
def masu_itself(monkeypatch):
    monkeypatch.setattr(masu._small, "limit", 0)


def hard(rng, dtype, shape):
    """Data with NaN, infinities, zeros of one sign or both, and values whose sums overflow."""
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        return numbers(rng, dtype, shape)
    most = np.finfo(dtype).max
    pools = [[np.nan, 1, 2, 3, 5], [np.nan], [-0.0], [0.0], [-0.0, 0.0, 1], [-0.0, -1, 2, -0.0], [most, -most, most / 2], [np.inf, -np.inf, 1],
             [np.nan, np.inf, -np.inf], [np.nan, most, -most], [np.nan, 1, 2, 3, -0.0]]
    return rng.choice(np.array(pools[rng.integers(len(pools))], dtype), shape)


def arguments(rng, data):
    """q and the other arguments of a quantile; one in four has something unsound, now and then two things."""
    q = rng.choice([0, 1, 0.5, 0.3, 0.25, 0.999]) if rng.integers(2) else rng.random(rng.integers(0, 4))
    options = {"axis": [None, 0, -1, (0,), tuple(range(data.ndim))][rng.integers(5)],
               "method": METHODS[rng.integers(len(METHODS))] if rng.integers(3) else "linear",
               "keepdims": bool(rng.integers(2))}
    if rng.integers(4) == 0:
        for _ in range(rng.integers(1, 3)):
            fault = rng.integers(6)
            if fault == 0:
                q = [1.5, -0.1, np.nan, [0.5, 2], "x", None][rng.integers(6)]
            elif fault == 1:
                options["axis"] = [5, -4, (0, 0), 1.5, "x"][rng.integers(5)]
            elif fault == 2:
                options["method"] = ["no such", None, 3][rng.integers(3)]
            elif fault == 3:
                options["out"] = np.zeros([(), (7,), (2, 3, 4)][rng.integers(3)], ["f8", "i4"][rng.integers(2)])
            elif fault == 4:
                options["weights"] = [np.ones(data.shape), np.ones(3), -1][rng.integers(3)]
            else:
                options["overwrite_input"] = True
    return q, options


def both_zeros(data):
    """Whether which zero stands where is the partition's to say, which NumPy leaves open."""
    if data.dtype.kind != "f":
        return False
    signs = np.signbit(data[data == 0])
    return signs.any() and not signs.all()


@pytest.mark.parametrize("device", DEVICES)
def test_quantiles(device):
    for seed, rng in seeds(300, device):
        shape = tuple(rng.integers(1, 7, rng.integers(1, 4))) if seed % 8 else (int(rng.choice([5000, 40_000])),)
        data = hard(rng, rng.choice([*FLOATS, *FLOATS, "?", *INTEGERS]), shape)
        q, options = arguments(rng, data)
        zeros = not both_zeros(data)
        for name in ("median", "quantile", "percentile", "nanmedian", "nanquantile", "nanpercentile"):
            middle = name.endswith("median")
            more = {k: v for k, v in options.items() if not middle or k not in ("method", "weights")}
            places = 100 * q if name.endswith("percentile") and isinstance(q, (float, np.ndarray)) else q
            given = (data,) if middle else (data, places)
            if more.pop("overwrite_input", False):
                given = (data.copy(), *given[1:])
            as_numpy(name, *given, **more, device=device, zeros=zeros, told=seed)
            if "out" in more or "weights" in more or isinstance(q, str) or name.startswith("nan"):
                continue
            want, said = outcome(getattr(np, name), *given, **more)
            got, mine = outcome(getattr(masu, name), masu.to_device(data, device), *given[1:], **more)
            told = (name, device, seed, data, given[1:], more)
            if isinstance(got, masu.DeviceArray):
                same(got.get(), np.asarray(want), told, zeros)
                assert mine == said, told
            else:
                assert type(got) is type(want) or isinstance(got, TypeError), (told, got, want)


@pytest.mark.parametrize("device", DEVICES)
def test_zeros_of_both_signs(device):
    """Which zero stands at a place is that of the stable order, on every device."""
    for seed, rng in seeds(80, device):
        shape = (int(rng.integers(1, 4)), int(rng.choice([1, 5, 100, 40_000])))
        data = rng.choice(np.array([-0.0, 0.0, 1, -1], rng.choice(FLOATS)), shape)
        q = rng.random(3)
        want = np.quantile(np.arange(shape[1]), q, method="lower")
        want = np.moveaxis(np.sort(data, axis=1, kind="stable")[:, want], -1, 0)
        same(masu.quantile(data, q, axis=1, method="lower", device=device), want, (device, seed))
        same(masu.quantile(masu.to_device(data, device), q, axis=1, method="lower").get(), want, (device, seed))


FOREIGN = ["F", "D", "g", "O", "M8[s]", "m8[s]", "S3", "U3", "M8[D]", "V4", [("a", "i4"), ("b", "f4")]]


def test_dtypes_that_masu_lacks(monkeypatch):
    for seed, rng in seeds(250):
        monkeypatch.setattr(masu._small, "limit", int(rng.choice([0, 4096])))
        dtype = np.dtype(FOREIGN[rng.integers(len(FOREIGN))])
        size = int(rng.choice([1, 2, 7, 5000]))
        with np.errstate(all="ignore"):
            data = np.zeros(size, dtype) if dtype.kind == "V" else rng.integers(0, 9, size).astype(dtype)
        kth = int(rng.integers(size))
        stable = {"kind": "stable"}
        for name, *given in [
            ("partition", data, kth), ("argpartition", data, kth), ("sort", data), ("unique", data), ("median", data),
            ("quantile", data, 0.3), ("searchsorted", data, data[:1]), ("histogram", data, 3),
            ("histogram_bin_edges", data, 3), ("bincount", data), ("digitize", data, [1, 2]), ("cumsum", data),
            ("sum", data), ("nanmedian", data), ("nanquantile", data, 0.3), ("percentile", data, 30), ("histogramdd", [data, data], 2), ("histogram2d", data, data, 2),
            ("histogram", np.ones(size), 2, (0, 3), None, data), ("bincount", np.ones(size, int), data),
        ]:
            want, said = outcome(getattr(np, name), *given)
            got, mine = outcome(getattr(masu, name), *given)
            told = (seed, name, dtype, size, got, want)
            if isinstance(want, Exception) or isinstance(got, Exception):
                same(got, want, told)
            elif name in ("partition", "argpartition"):
                assert got.dtype == want.dtype and got.shape == want.shape, told
            elif dtype.kind != "O" and not (name == "histogram" and len(given) > 3):
                same(got, want, told, zeros=False)
            assert {one for one in mine if one[0] is not masu.Fallback} == said, (told, mine, said)
        if dtype.kind not in "V":
            as_numpy("argsort", data, **stable)


def test_histogram_names_what_it_cannot_take():
    """The dtype in the message is one that the caller gave."""
    values = np.arange(4.0)
    for given, options, word in [
        (values + 1j, {}, "complex128"), (values.astype("M8[s]"), {}, "datetime64"), (values.astype("g"), {}, "longdouble"),
        (values > 1, {"range": (0, True)}, "bool"), (values.astype("f2"), {"range": (np.float32(0), np.float32(1))}, "float16"),
        (values, {"weights": values > 1}, "bool"), (values, {"weights": values + 1j}, "complex128"),
        (values, {"weights": values[1:]}, "(3,)"), (values, {"bins": "auto", "weights": values}, "auto"),
        (values > 1, {"weights": values + 1j}, "complex128"), (values, {"bins": np.array([0, 1], "g")}, "longdouble"),
        (values > 1, {"bins": np.array([False, True])}, "bool"),
    ]:
        with pytest.raises((TypeError, ValueError)) as caught:
            masu.Histogram.of(given, **{"bins": 3, **options})
        assert word.replace("longdouble", str(np.dtype("g"))) in str(caught.value), (given.dtype, options, caught.value)
        assert "uint8" not in str(caught.value)
