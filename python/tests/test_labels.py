# SPDX-License-Identifier: Apache-2.0
"""DataFrames of pandas and DataArrays of xarray keep their labels where NumPy's functions keep them."""

import numpy as np
import pytest

import masu

NAMES = ["sum", "mean", "var", "std", "min", "max", "cumsum"]
VALUES = np.random.default_rng(11).integers(0, 99, (3, 4)).astype("f8")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, -2])
def test_data_frames(name, axis):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(VALUES, index=list("xyz"), columns=list("abcd"))
    found = getattr(masu, name)(frame, axis=axis)
    if axis is None:
        assert np.array_equal(found, getattr(masu, name)(VALUES)) and not isinstance(found, pd.DataFrame)
        return
    expected = getattr(np, name)(frame, axis=axis % 2)
    assert type(found) is type(expected)
    (pd.testing.assert_series_equal if isinstance(found, pd.Series) else pd.testing.assert_frame_equal)(found, expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (1,)])
def test_data_arrays(name, axis):
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(VALUES, dims=("p", "q"), coords={"p": [1, 2, 3], "q": list("abcd"), "s": 5, "r": ("p", [7, 8, 9])},
                         attrs={"unit": "m"}, name="length")
    if name == "cumsum" and (axis is None or isinstance(axis, tuple)):
        if axis is None:
            assert np.array_equal(masu.cumsum(array), masu.cumsum(VALUES))
        return
    found, expected = getattr(masu, name)(array, axis=axis), getattr(np, name)(array, axis=axis)
    assert isinstance(found, xr.DataArray) and found.dims == expected.dims and found.coords.equals(expected.coords)
    xr.testing.assert_allclose(found, expected)
    assert found.attrs == array.attrs and found.name == "length"


def test_other_functions_and_arguments():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(VALUES, columns=list("abcd"))
    out = np.empty(4)
    assert masu.sum(frame, 0, out=out) is out and np.array_equal(out, VALUES.sum(0))
    assert isinstance(masu.sum(frame, 0, keepdims=True), np.ndarray)
    assert np.array_equal(masu.median(frame, axis=0), np.median(VALUES, axis=0))
    assert np.array_equal(masu.histogramdd(frame, 3)[0], np.histogramdd(VALUES, 3)[0])
    assert np.array_equal(masu.histogram(frame, 3)[0], np.histogram(VALUES, 3)[0])
    assert masu.histogram2d(frame["a"], frame["b"], 2)[0].sum() == 3 and masu.Histogram.of(frame, 3).n == 12
    assert masu.JointHistogram.of(frame, 2).n == 3 and np.array_equal(masu.sort(frame), np.sort(VALUES))
    assert masu.sum(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), axis=0).tolist() == [3, 7]
    with pytest.raises(ValueError):
        masu.sum(frame, axis=5)
    missing = pd.DataFrame({"a": pd.array([1, None], "Int64")})
    with pytest.raises(ValueError, match="missing"):
        masu.sum(missing, axis=0)
