# SPDX-License-Identifier: Apache-2.0
"""Bool arrays whose bytes are not 0 and 1, as files and other programs have them: every byte but 0 is True."""
import numpy as np
import pytest

import masu
from generators import arrays, outcome

DEVICES = [info.id for info in masu.devices() if info.usable and info.kind in ("cpu", "opencl")]


@pytest.fixture(autouse=True, params=[0, 4096], ids=["masu", "small"])
def limit(request, monkeypatch):
    monkeypatch.setattr(masu._small, "limit", request.param)


def odd(size):
    """Arrays of any bytes, of every layout that is cut from them, each beside the same of bytes 0 and 1."""
    bytes_ = np.tile(np.array([2, 0, 1, 255, 0, 128, 0, 3], "u1"), size // 8 + 1)[:size]
    late = np.tile(np.array([1, 0, 0], "u1"), size)[:size]
    late[-1] = 255
    for data in (bytes_, late, bytes_[::-1], bytes_[::3], np.asfortranarray(bytes_[:size // 4 * 4].reshape(-1, 4)),
                 bytes_[:size // 4 * 4].reshape(4, -1).T[1:]):
        yield data.view(bool), data != 0


CALLS = [("sum",), ("mean",), ("var",), ("std", 0), ("sort",), ("sort", 0), ("argsort",), ("unique",), ("unique", True, True, True),
         ("histogram",), ("histogram", [0, 1, 2]), ("histogram_bin_edges",), ("median",), ("nanmedian",), ("cumsum",), ("topk", 3),
         ("quantile", 0.3, None, None, False, "lower"), ("partition", 1), ("argpartition", 1), ("digitize", [1]), ("digitize", [0, 1]),
         ("searchsorted", [0, 1, 2])]


def alike(got, want, told):
    got, want = arrays(got), arrays(want)
    if isinstance(want[0], Exception):
        assert type(got[0]) is type(want[0]), (told, got, want)
        return
    for mine, theirs in zip(got, want, strict=True):
        mine, theirs = np.asarray(mine), np.asarray(theirs)
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape and mine.tobytes() == theirs.tobytes(), (told, mine, theirs)


@pytest.mark.parametrize("device", [None, *DEVICES])
@pytest.mark.parametrize("size", [8, 5000, 70_000])
def test_functions(device, size):
    if device and device.startswith("opencl") and size != 5000:
        pytest.skip("one size is enough where kernels are compiled")
    for data, clean in odd(size):
        for name, *more in CALLS:
            told = name, more, data.shape, data.strides
            if name == "searchsorted":
                data, clean = (np.sort(one.view("u1") != 0 if one is clean else one.reshape(-1), axis=None) for one in (data, clean))
            got, want = (outcome(getattr(masu, name), one, *more, device=device)[0] for one in (data, clean))
            alike(got, want, told)


def test_right_values():
    mask = np.array([2, 0, 1, 255, 0], "u1").view(bool)
    assert masu.sum(mask) == 3 and masu.mean(mask) == 0.6 and masu.sum(np.tile(mask, 2000)) == 6000
    assert masu.unique(np.tile(mask, 2000), return_counts=True)[1].tolist() == [4000, 6000]
    assert masu.histogram(np.tile(mask, 2000), 2)[1].tolist() == [0, 0.5, 1]
    assert masu.sort(mask).view("u1").tolist() == [0, 0, 1, 1, 1]
    assert masu.argsort(mask).tolist() == [1, 4, 0, 2, 3]
    assert masu.bincount(np.tile(mask, 2000)).tolist() == [4000, 6000]
    assert masu.bincount(mask.reshape(1, -1), axis=1).tolist() == [[2, 3]]
    assert masu.mean(np.arange(5.0), where=mask) == 5 / 3 and masu.sum(np.arange(5.0), where=mask) == 5
    assert masu.dot(mask, mask) is np.True_


def test_states_and_devices():
    for data, clean in odd(5000):
        for kind in (masu.SumAccumulator, masu.ReduceAccumulator, masu.UniqueAccumulator, masu.RunAccumulator):
            assert kind.of(data) == kind.of(clean), kind
        assert masu.ReduceAccumulator.of(data).max() == 1
        assert masu.Histogram.of(data, 4) == masu.Histogram.of(clean, 4)
        assert masu.TopkAccumulator.of(data, 3) == masu.TopkAccumulator.of(clean, 3)
        assert masu.to_device(data, "cpu").get().tobytes() == np.ascontiguousarray(clean).tobytes()
        assert masu.histogram2d(data.reshape(-1), data.reshape(-1), 2)[0].tolist() == masu.histogram2d(clean.reshape(-1), clean.reshape(-1), 2)[0].tolist()


def test_other_kinds(tmp_path):
    np.save(tmp_path / "a.npy", np.array([2, 0, 255], "u1").view(bool))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    for given in (mapped, memoryview(mapped), np.frombuffer(b"\x02\x00\xff", bool)):
        assert masu.sum(given) == 2 and masu.mean(given) == 2 / 3 and masu.SumAccumulator.of(given).sum() == 2


class OfALibrary:
    """An array of another library, which tells the address of its memory and nothing else."""

    def __init__(self, values):
        self.values = values
        self.__cuda_array_interface__ = {"shape": values.shape, "typestr": values.dtype.str, "data": (values.ctypes.data, False),
                                         "strides": None, "version": 3, "stream": None}


def test_memory_of_other_libraries_on_a_device():
    mask = np.tile(np.array([2, 0, 1, 255, 0], "u1"), 2000).view(bool)
    before, there = mask.tobytes(), OfALibrary(mask)
    for name, *more in CALLS:
        if name not in ("searchsorted", "quantile", "histogram_bin_edges") and more not in ([0, 1, 2], [True] * 3):
            got, want = (outcome(getattr(masu, name), one, *more, device="cpu")[0] for one in (there, mask != 0))
            assert [np.asarray(part).tobytes() for part in arrays(got)] == [np.asarray(part).tobytes() for part in arrays(want)], (name, more)
    for kind in (masu.SumAccumulator, masu.ReduceAccumulator, masu.UniqueAccumulator):
        assert kind.of(there, device="cpu") == kind.of(mask != 0)
    numbers = np.arange(10_000.0)
    assert masu.sum(OfALibrary(numbers), where=there, device="cpu").get() == masu.sum(numbers, where=mask)
    assert mask.tobytes() == before


def test_dask():
    da = pytest.importorskip("dask.array")
    import masu.dask

    mask = np.tile(np.array([2, 0, 1, 255, 0], "u1"), 2000).view(bool)
    lazy = da.from_array(mask, chunks=999)
    assert masu.dask.sum(lazy).compute() == 6000 and masu.dask.mean(lazy).compute() == 0.6
    assert masu.dask.bincount(lazy).compute().tolist() == [4000, 6000]
    assert masu.dask.histogram(lazy, 2, (0, 1))[0].compute().tolist() == [4000, 6000]
    assert masu.dask.sort(lazy).compute().view("u1").tolist() == [0] * 4000 + [1] * 6000


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["i2", "u4", "i8", "f2", "f4", "f8"])
def test_numbers_become_truth_values_on_devices_too(device, dtype):
    x = np.array([0, 1, 256, 255, 512, 0, 3] if dtype[0] != "f" else [0, 0.5, 256, -0.0, 2.0**-20, np.nan, -np.inf], dtype)
    for data in (x, x.reshape(7, 1), x[:0]):
        found = masu.convert(masu.to_device(data, device), "?").get()
        alike(found, data.astype("?"), (device, dtype))
    assert masu.convert(masu.to_device(np.uint8([0, 0x80, 1, 0x38]), device), "?", format="float8_e4m3fn").get().tolist() == [False, False, True, True]
