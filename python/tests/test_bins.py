# SPDX-License-Identifier: Apache-2.0
"""Bins of which NumPy makes wrong counts, or far too many: errors, and NaN in no bin."""
import numpy as np
import pytest

import masu


@pytest.mark.parametrize("limit", [0, 4096])
def test_no_edge_is_nan(limit, monkeypatch):
    """NumPy counts negative numbers between such edges."""
    monkeypatch.setattr(masu._small, "limit", limit)
    data, nan = np.arange(4.0), np.nan
    for edges in ([nan, 0, 2, 4], (0, 2, nan), np.array([0, nan, 4.0]), np.array([0, nan], "f4"), np.array([0, nan], ">f2"),
                  [np.float32(nan), 1]):
        for there in (data, data.astype("i4"), data.astype("f2"), data.tolist(), masu.to_device(data, "cpu")):
            for call in (lambda: masu.histogram(there, edges), lambda: masu.histogram_bin_edges(there, edges)):
                with pytest.raises(ValueError, match="edges must be numbers, got NaN at "):
                    call()
        with pytest.raises(ValueError, match="histogram: edges must be numbers"):
            masu.histogram(data, edges, weights=data)
        with pytest.raises(ValueError, match="histogram: edges must be numbers"):
            masu.histogram(data, edges, axis=0)
        with pytest.raises(ValueError, match="edges must be numbers"):
            masu.Histogram.of(data, edges)
        for bins in ([3, edges], [edges, 3], [edges, [0, 1]]):
            with pytest.raises(ValueError, match="histogram2d: edges must be numbers"):
                masu.histogram2d(data, data, bins)
            with pytest.raises(ValueError, match="histogramdd: edges must be numbers"):
                masu.histogramdd(np.stack([data, data], 1), bins)


def test_a_rule_that_finds_too_many_bins_takes_no_memory():
    """numpy 15332 and 28400: NumPy makes the edges of billions of bins."""
    far = np.concatenate([np.arange(100.0), [1e12]])
    for data, rule, limits in ((np.array([0.0, 1, 2]), "auto", (0, 2e9)), (np.array([0.0, 1, 2]), "sqrt", (0, 3e9)),
                               (np.array([0, 1, 2]), "doane", (0, 10**10)), (np.array([0, 1, 2], "f4"), "scott", (0, 3e9)),
                               (np.array([0.0, 1, 2]), "stone", (0, 3e9)), (far, "fd", None), (far.astype("i8"), "fd", None)):
        for there in (data, data.tolist(), masu.to_device(data, "cpu")) if rule != "doane" else (data,):
            for name in ("histogram", "histogram_bin_edges"):
                with pytest.raises(ValueError, match=rf"{name}: the rule '{rule}' must find at most 16777216 bins, got "):
                    getattr(masu, name)(there, rule, limits)
    assert masu.histogram(far[:-1], "fd")[0].sum() == 100
    for few in (np.array([0, 2**64 - 1], "u8"), np.array([0.0, 1]), np.array([0, 1], "u8")):
        assert masu.histogram(few, "doane", (-1.5, 1e300))[0].tolist() == [2]  # of two the rule makes one bin
        assert masu.histogram_bin_edges(few, "doane", (-1.5, 1e300)).tolist() == [-1.5, 1e300]


def test_nan_among_objects():
    """numpy 28730: it lies in no bin."""
    data = np.array([0.0, 1, np.nan], object)
    assert masu.histogram(data, np.arange(5))[0].tolist() == [1, 1, 0, 0]
    assert masu.histogram(data, [0, 1, 2])[0].tolist() == [1, 1]
    assert masu.histogram(data, 2, (0, 2))[0].tolist() == [1, 1]
    assert masu.histogram(np.array([3, 2**70, 1], object), [0, 2, 5])[0].tolist() == [1, 1]


def test_no_edge_of_dask_is_nan():
    data, nan = pytest.importorskip("dask.array").arange(4.0, chunks=2), np.nan
    import masu.dask as lazy

    for edges in ([nan, 0, 2, 4], (0, 2, nan), np.array([0, nan], "f2")):
        with pytest.raises(ValueError, match="histogram: edges must be numbers, got NaN at "):
            lazy.histogram(data, edges)
        with pytest.raises(ValueError, match="edges must be numbers, got NaN at "):
            lazy.histogram2d(data, data, [edges, [0, 1]])
        with pytest.raises(ValueError, match="edges must be numbers, got NaN at "):
            lazy.histogramdd((data, data), [[0, 1], edges])


def same(*args, **options):
    """masu's histogram and NumPy's."""
    try:
        wanted = np.histogram(*args, **options)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:20]):
            masu.histogram(*args, **options)
        return
    for mine, numpys in zip(masu.histogram(*args, **options), wanted):
        assert mine.dtype == numpys.dtype and np.array_equal(mine, numpys), (args, options)


def test_bins_of_float16():
    """Far from each other, where a search in the edges does, and near, where NumPy's arithmetic decides."""
    rng = np.random.default_rng(16)
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    every = np.sort(every[np.isfinite(every)])
    for _ in range(40):
        low, high = np.sort((rng.standard_normal(2) * 2.0 ** rng.integers(-18, 14)).astype(np.float16))
        inside = every[(every >= low) & (every <= high)]
        for bins in rng.integers(1, 160, 3).tolist():
            for data in (inside[::7], inside):
                same(data, bins)
                same(data, bins, (float(low), float(high)))
                same(data, bins, (float(low), float(high)), weights=np.ones(data.size, "i4"))
