# SPDX-License-Identifier: Apache-2.0
"""Arrays of PyTorch, CuPy and JAX in the memory of a CUDA device: taken where they are, after their library's work, with
results of the same library on the same device. Skipped where there is no GPU or no such library."""
import gc
import math

import numpy as np
import pytest

import masu
from masu import _arrays

CUDA = [info.id for info in masu.devices() if info.usable and info.kind == "cuda"]
LIBRARIES = ["torch", "cupy", "jax"]
random = np.random.default_rng(7)
FLOATS = random.standard_normal(100_003).astype("f4")
FLOATS[[5, 50, 500]], FLOATS[[6, 60]] = 0.0, -0.0
BYTES = random.integers(0, 256, 100_003).astype("u1")
LONGS = random.integers(-2**62, 2**62, 50_000)


class Library:
    """What the tests need of a library: `give` makes an array on the GPU of a NumPy array, `get` brings it back."""

    def __init__(self, name):
        self.name, self.module = name, pytest.importorskip(name)
        if name == "torch":
            if not self.module.cuda.is_available():
                pytest.skip("torch has no CUDA device")
            self.kind, self.give = self.module.Tensor, lambda a: self.module.from_numpy(a).cuda()
            self.get, self.address = lambda a: a.cpu().numpy(), lambda a: a.data_ptr()
        elif name == "cupy":
            self.kind, self.give = self.module.ndarray, self.module.asarray
            self.get, self.address = lambda a: a.get(), lambda a: a.data.ptr
        else:
            import jax.numpy
            self.module.config.update("jax_enable_x64", True)
            if self.module.default_backend() != "gpu":
                pytest.skip("jax has no GPU")
            self.kind, self.give = self.module.Array, self.module.numpy.asarray
            self.get, self.address = np.asarray, lambda a: a.unsafe_buffer_pointer()

    def same(self, got, want, exact=True):
        if isinstance(want, (tuple, list)):
            assert len(got) == len(want)
            for one, other in zip(got, want):
                self.same(one, other, exact)
            return
        assert isinstance(got, self.kind), type(got)
        assert _arrays.taken(got, None).device.id == CUDA[0]
        got, want = self.get(got), np.asarray(want)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.tobytes() == want.tobytes() if exact else np.allclose(got, want)


@pytest.fixture(params=LIBRARIES, scope="module")
def library(request):
    if not CUDA:
        pytest.skip("there is no CUDA device")
    return Library(request.param)


def test_in_place(library):
    array = library.give(FLOATS)
    taken = _arrays.taken(array, None)
    assert taken._address == library.address(array) and taken.device.id == CUDA[0]
    ordered = masu.sort(array)
    library.same(array, FLOATS)  # the input is left as it was
    assert library.address(ordered) != library.address(array)
    del array, taken
    gc.collect()
    library.same(ordered, np.sort(FLOATS, kind="stable"))


@pytest.mark.parametrize("dtype", "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8".split())
def test_dtypes(library, dtype):
    data = random.integers(0, 2 if dtype == "?" else 100, (30, 100)).astype(dtype)
    array = library.give(data)
    library.same(masu.sort(array), np.sort(data, kind="stable"))
    library.same(masu.argsort(array), np.argsort(data, kind="stable"))
    if dtype != "?":
        library.same(masu.histogram(array, 9, (0, 90)), np.histogram(data, 9, (0, 90)))


def test_ordering(library):
    array, longs = library.give(FLOATS), library.give(LONGS)
    library.same(masu.argsort(array), np.argsort(FLOATS, kind="stable"))
    library.same(masu.sort(longs), np.sort(LONGS))
    best = masu.topk(array, 100)
    assert isinstance(best, masu.TopK)
    library.same(best.values, np.sort(FLOATS)[::-1][:100])
    library.same(best.indices, np.argsort(-FLOATS, kind="stable")[:100])
    library.same(masu.unique(library.give(BYTES), return_counts=True), np.unique(BYTES, return_counts=True))
    library.same(masu.median(array), np.median(FLOATS))
    library.same(masu.quantile(array, [0.1, 0.9]), np.quantile(FLOATS, [0.1, 0.9]))
    edges = np.sort(FLOATS)[::100].copy()
    library.same(masu.searchsorted(library.give(edges), array), np.searchsorted(edges, FLOATS))
    library.same(masu.digitize(array, library.give(edges)), np.digitize(FLOATS, edges))
    parted = library.get(masu.partition(array, 5000))
    assert parted[5000] == np.sort(FLOATS)[5000] and np.array_equal(np.sort(parted), np.sort(FLOATS))


def test_counting(library):
    array, small = library.give(FLOATS), library.give(BYTES)
    edges = np.array([-1, 0.25, 0.5, 3])
    for bins, ends in ((10, None), (1000, (-1, 1)), (edges, None)):
        library.same(masu.histogram(array, bins, ends), np.histogram(FLOATS, bins, ends))
    library.same(masu.histogram(array, library.give(edges)), np.histogram(FLOATS, edges))
    library.same(masu.bincount(small), np.bincount(BYTES))
    weights = random.integers(0, 9, FLOATS.size)
    library.same(masu.histogram(array, 10, weights=library.give(weights)), np.histogram(FLOATS, 10, weights=weights))
    x, y = FLOATS[:50_000], FLOATS[50_000:100_000]
    library.same(masu.histogram2d(library.give(x), library.give(y), 7), np.histogram2d(x, y, 7))


def test_sums(library):
    array = library.give(FLOATS)
    library.same(masu.sum(array), np.float32(math.fsum(FLOATS)))
    library.same(masu.dot(array, array), np.float32(math.fsum(FLOATS.astype("f8") ** 2)))
    library.same(masu.cumsum(library.give(LONGS)), np.cumsum(LONGS))
    library.same(masu.cumsum(array), masu.cumsum(FLOATS))


def test_axes(library):
    data = FLOATS[:99_960].reshape(40, 51, 49)
    array, bytes_ = library.give(data), library.give(BYTES[:99_960].reshape(40, 51, 49))
    for axis in (0, 1, -1):
        library.same(masu.sort(array, axis=axis), np.sort(data, axis, kind="stable"))
        library.same(masu.argsort(array, axis=axis), np.argsort(data, axis, kind="stable"))
        library.same(masu.sum(bytes_, axis=axis), np.sum(BYTES[:99_960].reshape(40, 51, 49), axis))
        library.same(masu.median(array, axis=axis), np.median(data, axis))
        want = masu.histogram(data, 9, (-2, 2), axis=axis)
        library.same(masu.histogram(array, 9, (-2, 2), axis=axis), want)


def test_empty_and_refused(library):
    library.same(masu.sort(library.give(FLOATS[:0])), FLOATS[:0])
    library.same(masu.histogram(library.give(FLOATS[:0]), 4, (0, 1)), np.histogram(FLOATS[:0], 4, (0, 1)))
    with pytest.raises(TypeError):
        masu.sort(library.give(FLOATS[:9] * np.complex64(1)))
    with pytest.raises(ValueError):
        masu.topk(library.give(FLOATS[:9]), 10)
    if library.name != "jax":  # whose transposition copies
        with pytest.raises(ValueError, match="C-contiguous"):
            masu.sort(library.give(FLOATS[:100].reshape(10, 10)).T)


def test_after_the_work_on_another_stream(library):
    """The values are those that work given to the library's current stream leaves, however long it takes."""
    if library.name == "jax":
        pytest.skip("jax has no streams of the user's")
    module = library.module
    for _ in range(5):
        stream = module.cuda.Stream() if library.name == "torch" else module.cuda.Stream(non_blocking=True)
        with (module.cuda.stream(stream) if library.name == "torch" else stream):
            array = library.give(np.zeros(1 << 24, "f4"))
            for _ in range(200):
                array += 1
            counts, _ = masu.histogram(array, 2, (0, 400))
            total = masu.sum(array)
            # Read on that stream: the calls have only been enqueued.
            assert library.get(counts).tolist() == [0, 1 << 24]
            assert float(library.get(total)) == 200 * 2.0**24


def test_work_goes_to_the_stream_of_the_library(library):
    """Not to the default stream, nor to one of masu's own: other streams' work is not waited for."""
    if library.name == "jax":
        pytest.skip("jax has no streams of the user's")
    module = library.module
    array = library.give(FLOATS)
    masu.sort(array), masu.histogram(array, 10, (-1, 1))  # compiled
    stream = module.cuda.Stream() if library.name == "torch" else module.cuda.Stream(non_blocking=True)
    handle = stream.cuda_stream if library.name == "torch" else stream.ptr
    with (module.cuda.stream(stream) if library.name == "torch" else stream):
        taken = _arrays.taken(array, None)
        assert taken._stream == handle
        library.same(masu.sort(array), np.sort(FLOATS, kind="stable"))
        library.same(masu.histogram(array, 10, (-1, 1)), np.histogram(FLOATS, 10, (-1, 1)))
    assert _arrays.taken(array, None)._stream != handle


def test_results_outlive_what_made_them(library):
    """A result's memory is given back when the library lets go of it, not before."""
    kept = []
    for step in range(20):
        kept.append(masu.sort(library.give(LONGS + step)))
        gc.collect()
    for step, result in enumerate(kept):
        library.same(result, np.sort(LONGS) + step)


def test_gradients_are_refused():
    if not CUDA:
        pytest.skip("there is no CUDA device")
    torch = pytest.importorskip("torch")
    tensor = torch.rand(9, device="cuda", requires_grad=True)
    with pytest.raises((BufferError, RuntimeError)):
        masu.sort(tensor)
    assert isinstance(masu.sort(tensor.detach()), torch.Tensor)
