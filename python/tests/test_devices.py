# SPDX-License-Identifier: Apache-2.0
"""Devices, arrays in their memory and kernels, on the CPU and on OpenCL where there is a device."""
import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import masu

NAMES = [info.id for info in masu.devices() if info.usable]
KERNELS = [name for name in NAMES if name.startswith("opencl")]
random = np.random.default_rng(5)
FLOATS = random.standard_normal(3000).astype("f4").round(2)
FLOATS[7], FLOATS[11], FLOATS[13] = -0.0, 0.0, 0.0
SMALL = random.integers(0, 200, 3000).astype("u1")


@pytest.fixture(params=NAMES)
def device(request):
    return request.param


def same(got, want):
    """What a device has is what NumPy has: dtype, shape and bits."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            same(one, other)
        return
    assert type(got) is masu.DeviceArray
    want = np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert got.get().tobytes() == want.tobytes()


def test_what_devices_say():
    infos = masu.devices()
    assert infos[0].id == infos[0].kind == "cpu" and infos[0].usable and infos[0].why == ""
    assert all(info.usable or info.why for info in infos)
    cpu = masu.Device("cpu")
    assert repr(cpu) == 'masu.Device("cpu")' and cpu.name == cpu.info.name and cpu.memory_bytes > 0
    np.testing.assert_array_equal(masu.sort([3, 1, 2], device=infos[0]), [1, 2, 3])
    assert cpu == masu.Device("cpu") and len({cpu, masu.Device("cpu")}) == 1 and cpu != "cpu"


@pytest.mark.parametrize("wrong, error", [("gpu", ValueError), ("cuda:77", TypeError), ("opencl:77", TypeError),
                                          (5, TypeError), (b"cpu", TypeError)])
def test_wrong_devices(wrong, error):
    with pytest.raises(error):
        masu.sort(FLOATS, device=wrong)
    with pytest.raises(TypeError if type(wrong) is not str else error):
        masu.Device(wrong)


def test_the_environment_names_the_device():
    code = ("import masu, numpy; masu._small.limit = 0\n"
            "try: masu.sort(numpy.ones(9))\n"
            "except ValueError as error: print(error)")
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "MASU_DEVICE": "nonsense"},
                          capture_output=True, text=True, timeout=100)
    assert "nonsense" in done.stdout, done


@pytest.mark.parametrize("dtype", "? b B h H i I q Q e f d".split())
def test_there_and_back(device, dtype):
    data = random.integers(0, 2, (3, 1, 5)).astype(dtype)
    there = masu.to_device(data[:, :, ::-1], device)
    assert there.device.id == device and (there.dtype, there.shape) == (data.dtype, data.shape)
    assert (there.ndim, there.size, there.nbytes, len(there)) == (3, 15, 15 * data.itemsize, 3)
    np.testing.assert_array_equal(np.asarray(there), data[:, :, ::-1])
    np.testing.assert_array_equal(np.asarray(there.reshape(5, -1), float), data[:, :, ::-1].reshape(5, 3))
    assert np.array(there, copy=True).dtype == data.dtype


def test_device_arrays_refuse(device):
    there = masu.to_device(FLOATS, device)
    with pytest.raises(TypeError):
        masu.to_device(FLOATS + 1j, device)
    for shape, error in (((7, 11), ValueError), ((-1, 0), ValueError), ((-1, -1), ValueError), ((2**62, 4), ValueError),
                         (("a",), TypeError), ((2.0, -1), TypeError)):
        with pytest.raises(error, match="number of elements must stay" if error is ValueError else "as an integer"):
            there.reshape(*shape)
    with pytest.raises(ValueError):
        np.asarray(there, copy=False)
    with pytest.raises(TypeError):
        len(masu.DeviceArray(masu.Device(device), "f4", ()))
    with pytest.raises(ValueError):
        masu.DeviceArray(masu.Device(device), "f4", (-1,))
    with pytest.raises(ValueError):
        masu.DeviceArray(masu.Device(device), "f4", (2**40, 2**40))
    with pytest.raises((MemoryError, ValueError)):
        masu.DeviceArray(masu.Device(device), "f4", (2**46,))
    if there.device.kind == "cuda":
        assert there.__dlpack_device__() == (2, 0) and there.__cuda_array_interface__["shape"] == FLOATS.shape
    else:
        if there.device.kind == "cpu":
            assert (np.from_dlpack(there) == FLOATS).all()
        else:
            with pytest.raises(BufferError):
                there.__dlpack__()
        assert not hasattr(there, "__cuda_array_interface__")
    with pytest.raises(TypeError):
        pickle.dumps(there)
    assert masu.to_device(np.empty((0, 3)), device).get().shape == (0, 3)
    for wrong in (5, b"cpu"):
        with pytest.raises(TypeError, match="must be a name or a masu.Device"):
            masu.to_device(FLOATS, wrong)


def test_ordering(device):
    there = masu.to_device(FLOATS, device)
    square = FLOATS.reshape(30, 100)
    on_rows = masu.to_device(square, device)
    same(masu.sort(there), np.sort(FLOATS, kind="stable"))
    same(masu.sort(on_rows), np.sort(square, kind="stable"))
    same(masu.sort(on_rows, axis=None), np.sort(square, None, kind="stable"))
    same(masu.argsort(there), np.argsort(FLOATS, kind="stable"))
    same(masu.argsort(on_rows), np.argsort(square, kind="stable"))
    for k in (0, 1500, -1):
        parted = masu.partition(there, k).get()
        assert parted[k] == np.sort(FLOATS)[k] and np.array_equal(np.sort(parted), np.sort(FLOATS))
        assert FLOATS[masu.argpartition(there, k).get()[k]] == np.sort(FLOATS)[k]
    best = masu.topk(there, 5)
    same(best.values, np.sort(FLOATS)[::-1][:5])
    assert isinstance(best, masu.TopK)
    same(masu.unique(there, True, True, True), np.unique(FLOATS, True, True, True))
    same(masu.unique(masu.to_device(FLOATS > 0, device)), np.array([False, True]))
    edges = np.sort(FLOATS)[::10].copy()
    same(masu.searchsorted(masu.to_device(edges, device), there), np.searchsorted(edges, FLOATS))
    same(masu.searchsorted(edges, there, "right"), np.searchsorted(edges, FLOATS, "right"))
    same(masu.digitize(there, edges), np.digitize(FLOATS, edges))
    for q in (0.3, [0.0, 0.25, 1.0]):
        same(masu.quantile(there, q), np.quantile(FLOATS, q))
        same(masu.quantile(on_rows, q, axis=1, method="nearest"), np.quantile(square, q, axis=1, method="nearest"))
    same(masu.median(on_rows, axis=-1), np.median(square, axis=-1))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_keys_of_the_host_that_are_nan(device, dtype, side):
    """A NaN belongs behind all numbers and before the NaNs of the array; keys of the host may be an array, a list or a number."""
    data, nan = np.array([-1, 0, 2, math.inf, math.nan], dtype), math.nan
    some = np.array([nan, 1, -nan, math.inf, -2], dtype)
    for a in (data, data[:4], data[:1], data[4:]):
        there = masu.to_device(a, device)
        right = np.searchsorted(a, some, side).tolist()
        for keys in (some, some.reshape(1, -1), some.astype(some.dtype.newbyteorder()), *([some.tolist()] if dtype == "f8" else [])):
            assert masu.searchsorted(there, keys, side).get().reshape(-1).tolist() == right
        for key in (some[0], np.array(nan, dtype), *([nan] if dtype == "f8" else [])):
            assert masu.searchsorted(there, key, side).get() == right[0]
        assert masu.searchsorted(a, masu.to_device(some, device), side).get().tolist() == right


def test_sums(device):
    there = masu.to_device(FLOATS, device)
    same(masu.sum(there), np.float32(math.fsum(FLOATS)))
    same(masu.sum(masu.to_device(SMALL, device)), SMALL.sum())
    same(masu.sum(there.reshape(30, 100), axis=1), np.float32([math.fsum(row) for row in FLOATS.reshape(30, 100)]))
    same(masu.dot(there, there), np.float32(math.fsum(FLOATS.astype("f8") ** 2)))
    same(masu.cumsum(masu.to_device(SMALL.astype("i8"), device)), np.cumsum(SMALL.astype("i8")))


def test_histograms(device):
    there = masu.to_device(FLOATS, device)
    small = masu.to_device(SMALL, device)
    edges = np.array([-1, 0.25, 0.5, 3])
    for bins, ends in ((10, None), (1000, (-1, 1)), (edges, None)):
        same(masu.histogram(there, bins, ends), np.histogram(FLOATS, bins, ends))
        same(masu.histogram(there, bins, ends, density=True), np.histogram(FLOATS, bins, ends, density=True))
        same(masu.histogram_bin_edges(there, bins, ends), np.histogram_bin_edges(FLOATS, bins, ends))
    same(masu.histogram(there, masu.to_device(edges, device)), np.histogram(FLOATS, edges))
    for odd in (edges.astype(">f8"), np.repeat(edges, 2)[::2], [-1, 0, 2], np.float32([-2, 0, 3]), np.int8([-1, 0, 1])):
        counts, found = np.histogram(FLOATS, odd)
        same(masu.histogram(there, odd), (counts, found.astype(found.dtype.newbyteorder("="))))
    for dtype in "B h H i I q Q e f d".split():  # counted in the device's memory, where it has the rule
        data = np.abs(FLOATS * 30).astype(dtype)
        for bins, ends in ((7, (0, 50)), (7, (0.5, 50.0)), (7, (-1, -0.0)), (edges, None), (300, None)):
            same(masu.histogram(masu.to_device(data, device), bins, ends), np.histogram(data, bins, ends))
    weights = random.integers(0, 9, FLOATS.size)
    same(masu.histogram(there, 10, weights=masu.to_device(weights, device)), np.histogram(FLOATS, 10, weights=weights))
    same(masu.histogram(small.reshape(30, 100), 10, axis=1)[0],
         np.array([np.histogram(row, np.histogram_bin_edges(SMALL, 10))[0] for row in SMALL.reshape(30, 100)]))
    same(masu.bincount(small), np.bincount(SMALL))
    same(masu.bincount(small, weights.astype("f8"), 300), np.bincount(SMALL, weights, 300))
    x, y = FLOATS[:1500], FLOATS[1500:]
    pair = masu.to_device(x, device), masu.to_device(y, device)
    same(masu.histogram2d(*pair, 7), np.histogram2d(x, y, 7))
    same(masu.histogram2d(*pair, (edges, 3), density=True), np.histogram2d(x, y, (edges, 3), density=True))
    points = FLOATS.reshape(1000, 3)
    same(masu.histogramdd(masu.to_device(points, device), 4), np.histogramdd(points, 4))


SHAPES = [(2, 3, 4), (4, 3, 2), (4, 2, 3), (5, 1, 3), (3, 2, 1), (2, 0, 3), (1, 3, 2, 2), (7,), (0,), ()]


def cube(dtype, shape):
    """Few values, so that many are equal, and in floats zeros of both signs and a NaN."""
    numbers = np.random.default_rng(len(shape)).integers(-3, 9, shape)
    if dtype not in "efd":
        return numbers.astype("i8").astype(dtype)
    numbers = np.asarray(numbers / 2, dtype)
    numbers[numbers == -1.5] = -0.0
    numbers[numbers == 4] = np.nan
    return numbers


def as_on_the_host(function, data, device, *args, **options):
    """The function does with an array on the device what it does with one on the host, be it an error."""
    try:
        want = function(data, *args, **options)
    except Exception as error:  # noqa: BLE001
        with pytest.raises(type(error)):
            function(masu.to_device(data, device), *args, **options)
    else:
        same(function(masu.to_device(data, device), *args, **options), want)


def some(dtypes, turn):
    """Two of them, others at each turn, as compiling kernels for all takes minutes; with MASU_TEST_LONG all."""
    if os.environ.get("MASU_TEST_LONG"):
        return dtypes
    return (dtypes * 2)[2 * turn % len(dtypes) :][:2]


@pytest.mark.parametrize("shape", SHAPES)
def test_lines_along_any_axis(device, shape, monkeypatch):
    monkeypatch.setattr(masu._small, "limit", 0)
    for turn, axis in enumerate((None, *range(-len(shape) - 1, len(shape) + 1)), SHAPES.index(shape)):
        for dtype in some("?bHiQefd", turn):
            data = cube(dtype, shape)
            as_on_the_host(masu.sort, data, device, axis)
            as_on_the_host(masu.cumsum, data, device, axis)
        for dtype in some("?he", turn):
            data = cube(dtype, shape)
            as_on_the_host(masu.argsort, data, device, axis)
            as_on_the_host(masu.topk, data, device, 2, axis)
            as_on_the_host(masu.topk, data, device, 1, axis, largest=False)


@pytest.mark.parametrize("k", (0, -1, (2, 0), 4))
def test_parts_along_any_axis(device, k):
    for shape in ((4, 3, 4), (3, 5), (6,)):
        data = cube("i", shape)
        there = masu.to_device(data, device)
        for axis in (None, *range(-len(shape), len(shape))):
            try:
                want = np.partition(data, k, axis)
            except ValueError as error:
                for function in (masu.partition, masu.argpartition):
                    with pytest.raises(type(error)):
                        function(there, k, axis)
                continue
            parted, places = masu.partition(there, k, axis).get(), masu.argpartition(there, k, axis).get()
            source, axis = (data.reshape(-1), 0) if axis is None else (data, axis)
            assert (parted.dtype, places.dtype) == (data.dtype, np.intp) and parted.shape == places.shape == want.shape
            np.testing.assert_array_equal(np.sort(parted, axis), np.sort(source, axis))
            np.testing.assert_array_equal(np.sort(places, axis), np.argsort(np.sort(places, axis), axis, stable=True))
            for found in (parted, np.take_along_axis(source, places, axis)):
                np.testing.assert_array_equal(found.take(k, axis), want.take(k, axis))


def test_many_short_lines(device):
    """More matrices than are turned one by one, and few large ones."""
    for shape in ((300, 20, 30), (300, 30, 20), (3, 700, 500)):
        data = random.integers(0, 99, shape).astype("H")
        same(masu.sort(masu.to_device(data, device), axis=1), np.sort(data, axis=1))


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::masu.Fallback")
@pytest.mark.parametrize("shape", SHAPES)
def test_several_axes_reduced(device, shape, monkeypatch):
    monkeypatch.setattr(masu._small, "limit", 0)
    axes = [None, (), (0, 0), *range(-len(shape) - 1, len(shape) + 1)]
    axes += [pair for pair in ((0, 1), (2, 0), (1, 2), (0, -1, 1)) if len(shape) > 2]
    for turn, axis in enumerate(axes, SHAPES.index(shape)):
        keepdims = turn % 2 == 0
        for dtype in some("?bIqed", turn):
            as_on_the_host(masu.sum, cube(dtype, shape), device, axis, keepdims=keepdims)
        for dtype in some("?bIqed", turn):
            data = cube(dtype, shape)
            as_on_the_host(masu.mean, data, device, axis, "fd"[turn % 2], keepdims=keepdims)
            as_on_the_host(masu.var, data, device, axis, keepdims=keepdims)
            as_on_the_host(masu.std, data, device, axis, keepdims=keepdims)
        for dtype in "Be"[turn % 2]:
            data = cube(dtype, shape)
            as_on_the_host(masu.median, data, device, axis, keepdims=keepdims)
            as_on_the_host(masu.quantile, data, device, [[0.25], [1]], axis, method="linear", keepdims=keepdims)
        data = cube("h", shape)
        weights = np.arange(data.size, dtype="f4").reshape(shape)
        as_on_the_host(masu.histogram, data, device, [-2, 0, 5], density=True, axis=axis)
        as_on_the_host(masu.histogram, data, device, 3, (-1, 4), weights=weights, axis=axis)
        as_on_the_host(masu.bincount, abs(data), device, axis=axis)
        as_on_the_host(masu.bincount, abs(data), device, weights, 4, axis=axis)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::masu.Fallback")
@pytest.mark.parametrize("dtype", list("bBhHiIqQefd"))
def test_sums_as_another_dtype(device, dtype):
    for source in some("?iQ", "bBhHiIqQ".index(dtype)) if dtype not in "efd" else some("?bQefd", "efd".index(dtype)):
        data = cube(source, (3, 4, 2))
        for axis in (None, 0, 2):
            as_on_the_host(masu.sum, data, device, axis, dtype)
            as_on_the_host(masu.cumsum, data, device, axis, dtype)


def test_integers_beyond_64_bits(device):
    """Sums and dot products wrap round as NumPy's do."""
    for dtype in "qQ":
        data = random.integers(0, np.iinfo(dtype).max, (3, 50, 4), dtype, endpoint=True)
        for axis in (None, 0, 1, (0, 2)):
            same(masu.sum(masu.to_device(data, device), axis), data.sum(axis))
    for dtype in "?bBhHiIqQ":
        data = random.integers(0, 2 if dtype == "?" else min(np.iinfo(dtype).max, 2**27), 200).astype(dtype)
        there = masu.to_device(data, device)
        same(masu.dot(there, there), np.dot(data, data))
    for data in (np.full(4, 2**62), np.full(5, 2**62 + 3), np.full(7, 2**64 - 5, "Q"), np.array([-2**63, 5, -7])):
        there = masu.to_device(data, device)
        same(masu.dot(there, there), np.dot(data, data))


def test_unique_of_one_axis(device):
    there = masu.to_device(SMALL, device)
    same(masu.unique(there, return_counts=True, axis=-1, equal_nan=False), np.unique(SMALL, return_counts=True))
    with pytest.raises(np.exceptions.AxisError):
        masu.unique(there, axis=1)


def test_what_devices_have_not(device):
    there = masu.to_device(FLOATS.reshape(30, 100), device)
    small = masu.to_device(SMALL, device)
    for call in (lambda: masu.histogram(there, "doane"), lambda: masu.bincount(there.reshape(-1)),
                 lambda: masu.sum(there, dtype="i4"), lambda: masu.sum(small, dtype="?"),
                 lambda: masu.cumsum(there, dtype="F"),
                 lambda: masu.dot(there, there), lambda: masu.dot(there.reshape(-1), small),
                 lambda: masu.histogram(small, weights=SMALL > 3),
                 lambda: masu.nanquantile(small, 0.5, method="inverted_cdf", weights=SMALL)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(np.exceptions.AxisError):
        masu.sort(there, axis=2)
    with pytest.raises(ValueError):
        masu.topk(there, 101)
    with pytest.raises(ValueError):
        masu.partition(there, 100)
    with pytest.raises(ValueError):
        masu.histogram(there, weights=small)
    wide = masu.to_device(np.float32([-3e38, 3e38]), device)
    for call in (lambda: masu.histogram(wide, 4), lambda: masu.histogram2d(wide, wide, 4)):
        with np.errstate(all="ignore"), pytest.raises(ValueError):
            call()


def test_every_word_for_stable(device):
    there = masu.to_device(SMALL, device)
    for stable in (True, 1, np.True_, False, 0):
        same(masu.argsort(there, stable=stable), np.argsort(SMALL, stable=True))
        same(masu.sort(there, stable=stable), np.sort(SMALL))


def test_arrays_of_two_devices():
    if len(NAMES) < 2:
        pytest.skip("there is one device")
    with pytest.raises(ValueError, match="one device"):
        masu.dot(masu.to_device(FLOATS, NAMES[0]), masu.to_device(FLOATS, NAMES[1]))


SOURCE = """
kernel void scale(global float *x, float a, float4 v) { x[get_global_id(0)] = x[get_global_id(0)] * a + v.y; }
kernel void add(global float *to, global float *from, uchar n) { to[get_global_id(0)] = from[get_global_id(0)] + n; }
kernel void turn(global const int *from, global int *to, local int *tile) {
  tile[get_local_id(0)] = from[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  to[get_global_id(0)] = tile[get_local_size(0) - 1 - get_local_id(0)];
}
"""


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name):
    program = masu.Program(name, SOURCE)
    assert sorted(program.kernel_names) == ["add", "scale", "turn"] and "scale" in repr(program)
    scale = program.kernel("scale")
    assert scale.name == "scale" and scale.max_work_group_size >= 1
    x = np.arange(64, dtype="f4")
    assert scale(64, None, x, 3, (0, 1, 0, 0)) >= 0
    np.testing.assert_array_equal(x, np.arange(64) * 3 + 1)
    there = masu.to_device(x, name)
    scale(there.size, 32, there, np.float32(2), (0.0, 0.5, 0.0, 0.0))
    np.testing.assert_array_equal(there.get(), x * 2 + 0.5)
    numbers = np.arange(64, dtype="i4")
    numbers.flags.writeable = False
    turned = np.zeros(64, "i4")
    program.kernel("turn")((64,), (8,), numbers, turned, masu.LocalMemory(32))
    np.testing.assert_array_equal(turned, numbers.reshape(8, 8)[:, ::-1].reshape(-1))
    strided = np.zeros(128, "f4")[::2]
    scale(64, None, strided, 1, (0, 7, 0, 0))
    assert (strided == 7).all()
    add, same = program.kernel("add"), np.arange(8, dtype="f4")
    add(8, None, same, same, 2)  # an array that is given twice is one on the device, too
    np.testing.assert_array_equal(same, np.arange(8) + 2)
    for other in (same[::-1], same.view("i4"), same.reshape(2, 4)):
        with pytest.raises(ValueError, match="argument 1 must be apart"):
            add(8, None, same, other, 2)


@pytest.mark.parametrize("name", KERNELS)
def test_wrong_kernels_and_arguments(name):
    with pytest.raises(RuntimeError, match="does not compile(.|\n)*error"):
        masu.Program(name, "kernel void f(int x { }")
    program = masu.Program(name, SOURCE)
    with pytest.raises(ValueError, match="scale"):
        program.kernel("missing")
    scale = program.kernel("scale")
    x = np.zeros(8, "f4")
    four = (0, 0, 0, 0)
    for arguments, error in (((x,), ValueError), ((x, 1, 2), ValueError), ((x, 1, (1, 2)), ValueError),
                             ((x.astype("f8"), 1, four), ValueError), ((x, np.float64(1), four), ValueError),
                             ((x + 1j, 1, four), TypeError), ((x.astype(">f4"), 1, four), TypeError),
                             ((x, "1", four), TypeError), ((x, masu.LocalMemory(4), four), ValueError)):
        with pytest.raises(error):
            scale(8, None, *arguments)
    for sizes, error in (((0, 1, 2, 3), ValueError), ("x", TypeError), (None, TypeError), (8.5, TypeError), ((8, 8), ValueError),
                         (-1, ValueError), (2**70, ValueError)):
        with pytest.raises(error):
            scale(sizes, 4, x, 1, four)
    with pytest.raises(TypeError, match="must be of integers for uchar, got 1.5"):
        program.kernel("add")(8, None, x, x, 1.5)
    with pytest.raises(ValueError, match="bytes must be at least 0, got -1"):
        masu.LocalMemory(-1)


def test_the_cpu_compiles_nothing():
    with pytest.raises(TypeError):
        masu.Program("cpu", SOURCE)
