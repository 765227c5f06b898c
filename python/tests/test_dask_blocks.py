# SPDX-License-Identifier: Apache-2.0
"""masu.dask on blocks of another library than NumPy, on a device: with a stand-in for CuPy whose arrays lie where masu's own do, and
with CuPy where there is a GPU."""
import numpy as np
import pytest

import masu
from masu import _device_array

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

import masu.dask as md  # noqa: E402
from test_dask import chunked, values  # noqa: E402

RNG = np.random.default_rng(12)


class Block(masu.DeviceArray):
    """An array on a device of a library that Dask can use: NumPy's functions and indices of it go by the host."""

    copies = 0  # of whole blocks to the host

    @classmethod
    def of(cls, array, device):
        array = np.ascontiguousarray(array)
        result = cls(masu.Device(device), _device_array.dtype_name(array.dtype), array.shape)
        if array.size:
            result._write(array)
        return result

    def get(self):
        Block.copies += 1
        return super().get()

    def __array_function__(self, function, types, arguments, keywords):
        keywords.pop("like", None)
        return self._back(function(*map(self._there, arguments), **keywords))

    def __getitem__(self, key):
        return self._back(super().get()[key])

    def reshape(self, *shape):
        return self._back(super().get().reshape(*shape))

    @staticmethod
    def _there(x):
        if isinstance(x, (list, tuple)):
            return type(x)(map(Block._there, x))
        return masu.DeviceArray.get(x) if isinstance(x, masu.DeviceArray) else x

    def _back(self, x):
        return Block.of(x, self.device.id) if isinstance(x, (np.ndarray, np.generic)) else x


def cupy_blocks(x):
    cupy = pytest.importorskip("cupy")
    return x.map_blocks(cupy.asarray)


def of_library(x, library):
    """The Dask array with blocks of the library."""
    if library == "cupy":
        return cupy_blocks(x)
    return x.map_blocks(Block.of, library, dtype=x.dtype, meta=Block.of(np.empty((0,) * x.ndim, x.dtype), library))


def plain(found):
    if isinstance(found, (list, tuple)):
        return [plain(part) for part in found]
    return masu.DeviceArray.get(found) if isinstance(found, masu.DeviceArray) else found.get() if hasattr(found, "get") else found


def same(mine, theirs):
    """Equal bits, and dtypes and sizes as they were told."""
    mine, theirs = (x if isinstance(x, (list, tuple)) else (x,) for x in (mine, theirs))
    for one, other in zip(mine, theirs, strict=True):
        if isinstance(one, (list, tuple)):
            same(one, other)
            continue
        found, expected = np.asarray(plain(dask.compute(one)[0])), np.asarray(dask.compute(other)[0])
        assert (found.dtype, found.shape, found.tobytes()) == (expected.dtype, expected.shape, expected.tobytes()), (found, expected)
        assert one.dtype == expected.dtype


LIBRARIES = [device.id for device in masu.devices() if device.usable and device.kind != "cuda"] + ["cupy"]
# of one array; a copy of each block is needed, or not
ON_DEVICE = {
    "sum": md.sum, "mean": md.mean, "var": lambda x: md.var(x, ddof=1), "std": md.std, "min": md.min, "max": md.max,
    "argmin": md.argmin, "argmax": md.argmax, "range": lambda x: md.histogram(x, 9, (-3, 50)),
    "edges": lambda x: md.histogram(x, [-1, 0, 3, 90]), "density": lambda x: md.histogram(x, 5, (0, 9), density=True),
    "topk": lambda x: md.topk(x, 7), "smallest": lambda x: md.topk(x, 7, largest=False),
    "unique": lambda x: md.unique(x, return_index=True, return_counts=True), "sort": md.sort,
    "dot": lambda x: md.dot(x, x), "histogram2d": lambda x: md.histogram2d(x, x, (4, 3), ((0, 9), (-2, 5))),
}
BY_THE_HOST = {
    "argsort": md.argsort, "median": md.median, "quantile": lambda x: md.quantile(x, [0.1, 0.5]),
    "recomputed": lambda x: md.quantile(x, 0.3, recompute=True), "inverse": lambda x: md.unique(x, return_inverse=True),
    "weights": lambda x: md.histogram(x, 5, (0, 9), weights=x),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "f4", "f8"])
@pytest.mark.parametrize("kind", ["even", "empty", "one"])
def test_blocks_of_a_device(library, dtype, kind):
    x = values(dtype, 1003, awkward=False)
    if dtype == "f8":
        x[5] = np.nan
    here = chunked(x, kind)
    there = of_library(here, library)
    for name, function in {**ON_DEVICE, **BY_THE_HOST}.items():
        if dtype == "?" and name in ("range", "edges", "density", "histogram2d", "weights", "quantile", "recomputed"):
            continue  # NumPy warns of truth values, or refuses them
        Block.copies = 0
        mine, theirs = function(there), function(here)
        with np.errstate(all="ignore"):
            same(mine, theirs)
        if name in ON_DEVICE and library != "cupy" and not (name == "dot" and x.dtype.kind != "f"):
            assert Block.copies == 0, name


@pytest.mark.parametrize("library", LIBRARIES)
def test_lines_and_other_arguments(library):
    x = values("f4", 7 * 9 * 11, awkward=False).reshape(7, 9, 11)
    here = da.from_array(x, chunks=(3, 9, 4))
    there = of_library(here, library)
    for axis in (1, -1, (0, 2)):
        for function in (md.sum, md.mean, md.var, md.median, md.max):
            same(function(there, axis), function(here, axis))
            same(function(there, axis, keepdims=True), function(here, axis, keepdims=True))
    for axis in (0, 1, None):
        same(md.sort(there, axis), md.sort(here, axis))
        same(md.argsort(there, axis), md.argsort(here, axis))
    same(md.quantile(there, [0.2, 0.9], 0), md.quantile(here, [0.2, 0.9], 0))
    same(md.topk(there, 3, 0), md.topk(here, 3, 0))
    same(md.argmin(there, 2), md.argmin(here, 2))
    flat, other = here.reshape(-1), there.reshape(-1)
    same(md.histogram(other), md.histogram(flat))
    same(md.histogram(other, recompute=True), md.histogram(flat, recompute=True))
    small = chunked(RNG.integers(0, 50, 500), "random")
    same(md.bincount(of_library(small, library)), md.bincount(small))
    same(md.bincount(of_library(small, library), of_library(small * 0.1, library)), md.bincount(small, small * 0.1))
    same(md.sum(there, dtype="f8"), md.sum(here, dtype="f8"))
    unknown, known = of_library(flat[flat > 0], library), flat[flat > 0]
    for function in (md.sort, md.sum, md.argmax, lambda a: md.topk(a, 3)):
        same(function(unknown), function(known))


@pytest.mark.parametrize("library", LIBRARIES)
def test_bins_that_devices_do_not_have(library):
    x = values("f2", 1003, awkward=False)
    here = chunked(x, "even")
    there = of_library(here, library)
    for recompute in (False, True):
        same(md.histogram(there, 9, recompute=recompute), md.histogram(here, 9, recompute=recompute))
    same(md.histogramdd([there, there], (3, 4)), md.histogramdd([here, here], (3, 4)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_sorted_blocks_are_of_the_library(library):
    there = of_library(da.arange(1000, chunks=300)[::-1], library)
    kind = type(there._meta)
    for lazy in (md.sort(there), md.argsort(there), md.sort(there[:100].rechunk(100))):
        assert type(lazy._meta) is kind and isinstance(lazy.blocks[0].compute(), masu.DeviceArray if library != "cupy" else kind)
    assert type(md.sum(there).compute()) is np.int64


def test_blocks_that_masu_cannot_use():
    for meta in (np.ma.zeros(3), ):
        lazy = da.from_array(np.arange(9.0), chunks=3).map_blocks(lambda x: x, meta=meta)
        with pytest.raises(TypeError, match="sum: the blocks of the Dask array must be NumPy arrays, or of a library as CuPy, got"):
            md.sum(lazy)
    sparse = pytest.importorskip("scipy.sparse", reason="blocks that are no memory")
    with pytest.raises(TypeError, match="got csr"):
        md.sum(da.from_array(np.eye(3), chunks=3).map_blocks(sparse.csr_matrix))
