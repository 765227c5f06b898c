# SPDX-License-Identifier: Apache-2.0
"""States that are put together: masu.SumAccumulator, and the bytes of masu.Histogram."""
import copy
import math
import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest

import masu

RNG = np.random.default_rng(20)
DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8"]


def values(dtype, count):
    if dtype == "?":
        return RNG.integers(0, 2, count).astype(bool)
    if np.dtype(dtype).kind in "iu":
        return RNG.integers(0, 100, count).astype(dtype)
    return (RNG.normal(size=count) * 10.0 ** RNG.integers(-3, 4, count)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 2, 997, 10_007])
def test_parts_are_the_whole(dtype, count):
    x, y = values(dtype, count), values(dtype, count)
    cuts = np.sort(RNG.integers(0, count + 1, 4))
    whole = masu.SumAccumulator.of(x)
    parts = [masu.SumAccumulator.of(part) for part in np.split(x, cuts)]
    merged = sum(reversed(parts))
    assert merged == whole and merged.count == count and merged.kind == "squares"
    # what masu's functions give is NumPy's integer dtype
    assert merged.sum() == masu.sum(x)
    assert merged.mean().tobytes() == np.asarray(masu.mean(x)).tobytes()
    assert merged.var().tobytes() == np.asarray(masu.var(x)).tobytes()
    if count > 1:
        assert merged.std(ddof=1).tobytes() == np.asarray(masu.std(x, ddof=1)).tobytes()
    products = masu.SumAccumulator(dtype, "dot")
    for left, right in zip(np.split(x, cuts), np.split(y, cuts)):
        products.add(left, right)
    exact = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, y))
    assert products.dot() == (np.dtype(dtype).type(float(exact)) if dtype in ("f4", "f8") else products.dot())
    if np.dtype(dtype).kind != "f":
        assert int(products.dot()) == exact
    square = sum(Fraction(float(a)) ** 2 for a in x)
    assert math.isclose(float(merged.norm2("f8")), math.sqrt(square), rel_tol=1e-15)


def test_the_arrays_that_are_taken():
    x = np.asfortranarray(RNG.normal(size=(7, 9)))
    a = masu.SumAccumulator("f8")
    for given in (x, x[::2, ::-1], x.astype(">f8"), x.astype("f4"), x.tolist(), memoryview(np.ascontiguousarray(x)), 5, True):
        a.add(given)
    total = sum(map(Fraction, np.concatenate([
        x.ravel(), x[::2, ::-1].ravel(), x.ravel(), x.astype("f4").astype("f8").ravel(), x.ravel(), x.ravel(), [5, 1]]).tolist()))
    assert a.sum() == float(total) and a.sum().dtype == np.float64 and a.sum("f4") == np.float32(total)
    a.add([])
    on_device = masu.to_device(np.ascontiguousarray(x), "cpu")
    assert masu.SumAccumulator.of(on_device) == masu.SumAccumulator.of(x)
    assert masu.SumAccumulator.of(x, x).dot() == masu.SumAccumulator.of(x, x, kind="dot").dot()
    with pytest.raises(TypeError, match="must be of float32, got float64"):
        masu.SumAccumulator("f4").add(x)
    with pytest.raises(TypeError, match="got complex128"):
        masu.SumAccumulator(complex)
    with pytest.raises(TypeError, match="got complex128"):
        a.add([1j])
    with pytest.raises(ValueError, match="one shape"):
        masu.SumAccumulator("f8", "dot").add(x, x[1:])
    with pytest.raises(ValueError, match="kind must be"):
        masu.SumAccumulator("f8", "cube")
    with pytest.raises(ValueError, match="inputs"):
        masu.SumAccumulator("f8", "dot").add(x)
    with pytest.raises(ValueError, match="what SumKind::sum does not keep"):
        masu.SumAccumulator.of(x, kind="sum").var()


class Tensor:
    """Like one of PyTorch: its memory through DLPack, a dtype of its own, and a size that is a method."""

    dtype = "tensor.float64"

    def __init__(self, array):
        self.array = array

    def size(self):
        return self.array.shape

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


def test_arrays_of_other_libraries():
    x = RNG.normal(size=(50, 3))
    whole, products = masu.SumAccumulator.of(x), masu.SumAccumulator.of(x, x)
    assert masu.SumAccumulator.of(Tensor(x)) == whole and masu.SumAccumulator.of(Tensor(x), Tensor(x)) == products
    assert masu.Histogram.of(Tensor(x), 9) == masu.Histogram.of(x, 9)
    pandas = pytest.importorskip("pandas")
    assert masu.SumAccumulator.of(pandas.Series(x[0])) == masu.SumAccumulator.of(x[0])
    with pytest.raises(ValueError, match="missing values"):
        masu.SumAccumulator.of(pandas.Series([1, None], dtype="Int64"))


def test_results_that_there_are_not():
    empty = masu.SumAccumulator("f4")
    assert empty.sum().tobytes() == np.float32(0).tobytes() and empty.count == 0
    for call in (empty.mean, empty.var, lambda: masu.SumAccumulator.of([1.0]).var(ddof=1), lambda: empty.var(ddof=-1)):
        with pytest.raises(ValueError, match="SumAccumulator|mean|variance"):
            call()
    big = masu.SumAccumulator.of(np.array([2**63 - 1, 1]))
    with pytest.raises(ValueError):
        big.sum()
    assert big.mean() == 2.0**62
    with pytest.raises(TypeError, match="is int64, got dtype float64"):
        big.sum("f8")
    with pytest.raises(TypeError, match="got int64"):
        big.mean("i8")
    special = masu.SumAccumulator.of([math.inf, 1.0])
    assert special.sum() == math.inf and math.isnan((special + masu.SumAccumulator.of([-math.inf])).sum())


def test_copies_bytes_and_pickles():
    x = RNG.normal(size=1000)
    a, b = masu.SumAccumulator.of(x), masu.SumAccumulator.of(x[::-1].copy())
    assert a == b and a.tobytes() == b.tobytes() and a != masu.SumAccumulator.of(x[1:]) and a != 1
    for same in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a), masu.SumAccumulator.frombytes(bytearray(a.tobytes()))):
        assert same == a and same.sum() == a.sum()
    a.merge(a)
    assert a.count == 2000 and a.sum() == float(2 * sum(map(Fraction, x.tolist())))
    with pytest.raises(ValueError, match="float64 'squares' and float32 'squares'"):
        a + masu.SumAccumulator("f4")
    with pytest.raises(ValueError, match="float64 'squares' and float64 'dot'"):
        a.merge(masu.SumAccumulator("f8", "dot"))
    with pytest.raises(TypeError):
        a + 1
    with pytest.raises(TypeError, match="got int"):
        a.merge(1)
    assert "2000 elements of float64" in repr(a)


def test_threads_may_add_at_once():
    a, x = masu.SumAccumulator("f8", "sum"), RNG.normal(size=20_000)
    threads = [threading.Thread(target=lambda: [a.add(x) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert a.count == 80 * x.size and a.sum() == float(80 * sum(map(Fraction, x.tolist())))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["sum", "squares", "dot"])
def test_integers_that_are_added_merge_sums(dtype, kind):
    """Of many parts, of parts that are empty, of NaNs and infinities: what a plain sum of int64 gives is the state of all."""
    x, y = values(dtype, 4001), values(dtype, 4001)
    pieces = [x, x[:0], x[::-1].copy()]
    if np.dtype(dtype).kind == "f":
        pieces += [np.array([np.inf, np.nan], dtype), np.array([-np.inf, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal], dtype)]
    cut = [part for piece in pieces for part in np.array_split(piece, 50)]
    of = [masu.SumAccumulator(dtype, kind) for _ in cut]
    for state, part in zip(of, cut):
        state.add(*(part, y[:part.size])[:2 if kind == "dot" else 1])
    vectors = [state.integers() for state in of]
    assert {vector.dtype for vector in vectors} == {np.dtype(np.int64)} and len({vector.shape for vector in vectors}) == 1
    total = of[0].with_integers(np.add.reduce(vectors))
    assert total == sum(of) and (total.dtype, total.kind, total.count) == (of[0].dtype, kind, sum(part.size for part in cut))
    assert of[0].count == cut[0].size and of[0].with_integers(vectors[1]) == of[1]
    for given, error, says in ((vectors[0][:-1], ValueError, "integers, got"), (vectors[0].astype("u8"), TypeError, "got uint64"),
                               (vectors[0][None], TypeError, "got int64 of 2"), (-1 - vectors[0], ValueError, "no sum of"),
                               (np.where(np.arange(vectors[0].size) == 40, 5, 0), ValueError, "no sum of")):
        with pytest.raises(error, match=says):
            total.with_integers(given)


def test_integers_that_are_added_merge_counts():
    x = np.concatenate([RNG.normal(size=1000), [math.nan, math.inf, -math.inf, 9]])
    whole = masu.Histogram.of(x, 7, (-1, 1))
    parts = [masu.Histogram.of(part, 7, (-1, 1)) for part in np.array_split(x, 5)]
    assert parts[0].integers().dtype == np.int64 and parts[0].integers().sum() == parts[0].n
    assert parts[0].with_integers(np.add.reduce([part.integers() for part in parts])) == whole
    weighted = masu.Histogram.of([1, 2], 2, weights=[1, 2])
    with pytest.raises(TypeError, match="got totals of weights"):
        weighted.integers()
    for h in (masu.Histogram([1], [0, 1], below=2**63), masu.Histogram([-1], [0, 1]), masu.Histogram([1], [0, 1], nan=0.5),
              masu.Histogram([1.5], [0, 1])):
        with pytest.raises(ValueError, match=r"Histogram: integers needs counts from 0 to 2\^63 - 1, got"):
            h.integers()
    for given, error, says in ((whole.integers()[1:], TypeError, "needs 10 numbers of int64, got int64 of shape"),
                               (whole.integers() + 0.5, TypeError, "got float64"), (-whole.integers(), ValueError, "got -")):
        with pytest.raises(error, match=says):
            whole.with_integers(given)


def damaged(data):
    """Bytes that were not written: cut, longer, with a byte changed."""
    for size in (0, 1, 7, len(data) // 2, len(data) - 1):
        yield data[:size]
    yield data + b"\0"
    for place in RNG.integers(0, len(data), 300):
        changed = bytearray(data)
        changed[place] ^= 1 << int(RNG.integers(8))
        yield bytes(changed)
    for place in range(24):
        for byte in (0, 0x7F, 0xFF):
            yield data[:place] + bytes([byte]) + data[place + 1:]
    for _ in range(50):
        yield RNG.bytes(int(RNG.integers(0, 200)))


SOME_STATES = {  # made by the test: what is a parameter lives until the process ends
    "squares": lambda: masu.SumAccumulator.of(RNG.normal(size=100)),
    "integers": lambda: masu.SumAccumulator.of(np.arange(9)),
    "dot": lambda: masu.SumAccumulator.of([1e300, 2.0], [3.0, 1e-300]),
    "nan": lambda: masu.SumAccumulator.of([math.nan]),
    "histogram": lambda: masu.Histogram.of(RNG.normal(size=100), 5, (-1, 1)),
    "edges": lambda: masu.Histogram.of([1, 2, 300], [1, 2, 3]),
    "weighted": lambda: masu.Histogram.of(RNG.normal(size=100), 5, (-1, 1), weights=RNG.normal(size=100)),
}


@pytest.mark.parametrize("name", SOME_STATES)
def test_hostile_bytes_are_a_value_error(name):
    """What is read is what was written, or a ValueError that says so."""
    state = SOME_STATES[name]()
    kind, data = type(state), state.tobytes()
    refused = 0
    for given in damaged(data):
        try:
            read = kind.frombytes(given)
        except ValueError as error:
            assert kind.__name__ in str(error)
            refused += 1
            continue
        assert isinstance(read, kind) and isinstance(repr(read), str)
        assert kind.frombytes(read.tobytes()).tobytes() == read.tobytes()
    assert refused > 50
    with pytest.raises(TypeError):
        kind.frombytes("text")


def test_the_bytes_of_a_histogram():
    x = RNG.normal(size=500)
    for h in (masu.Histogram.of(x, 7), masu.Histogram.of(x.astype("f4"), 7), masu.Histogram.of(x.astype("f2"), [-1, 0, 1]),
              masu.Histogram.of(x, 7, (-1, 1), weights=x), masu.Histogram.of(x, 7, weights=np.arange(500)),
              masu.Histogram(np.array([1, 2], ">i4"), np.array([0, 1, 2], ">f4"), nan=3)):
        read = masu.Histogram.frombytes(memoryview(h.tobytes()))
        assert read == h and read.edges.dtype == h.edges.dtype.newbyteorder("=") and read.n == h.n
        assert read.totals().dtype == h.totals().dtype.newbyteorder("=") and type(read.below) is type(h.below)
        assert read.tobytes() == h.tobytes()
    parts = [masu.Histogram.of(part, 7, (-1, 1)) for part in np.array_split(x, 3)]
    parts[0].merge(parts[1])
    parts[0].merge(parts[2])
    assert parts[0] == masu.Histogram.of(x, 7, (-1, 1))
    with pytest.raises(TypeError, match="got int"):
        parts[0].merge(0)
    with pytest.raises(ValueError, match="version 1, got version 9"):
        masu.Histogram.frombytes(h.tobytes()[:4] + b"\x09" + h.tobytes()[5:])


def test_what_lies_beside_the_bins_is_exact():
    for below, above, nan in ((2**63 + 1, 0, 0), (-1.5, 2**62 + 1, 0.5), (0, math.inf, 2**64 - 1)):
        h = masu.Histogram([1, 2], [0, 1, 2], below, above, nan)
        same = masu.Histogram.frombytes(h.tobytes())
        assert same == h and (same.below, same.above, same.nan) == (below, above, nan)
        assert [type(part) for part in (same.below, same.above, same.nan)] == [type(below), type(above), type(nan)]
    beyond = masu.Histogram([1], [0, 1], below=2**70)
    assert beyond == masu.Histogram([1], [0, 1], below=2**70) != masu.Histogram([1], [0, 1])
    with pytest.raises(ValueError, match="integers of 64 bits"):
        beyond.tobytes()
    with pytest.raises(TypeError, match="longdouble|float128"):
        masu.Histogram(np.array([1], "g"), [0, 1]).tobytes()
    h = masu.Histogram([1, 2], [0, 1, 2])
    assert masu.Histogram.frombytes(memoryview(np.repeat(np.frombuffer(h.tobytes(), "u1"), 2))[::2]) == h
    for edges in ([0, 2, 1], [0, math.nan, 2]):
        with pytest.raises(ValueError, match="do not fall"):
            masu.Histogram([1, 2], edges)
    negative = masu.Histogram([-7], [0, 1]).tobytes()
    with pytest.raises(ValueError, match="negative"):
        masu.Histogram.frombytes(negative)


def test_masked_elements_are_refused():
    """Where there is no rule of NumPy's for them."""
    x, y = np.ma.array([3.0, 1, 2], mask=[0, 1, 0]), np.ma.array([3.0, 1, 2])
    calls = [lambda a: masu.topk(a, 2).values, lambda a: masu.to_device(a, "cpu").get(), lambda a: masu.SumAccumulator.of(a).sum(),
             lambda a: masu.SumAccumulator.of([1.0, 2, 3], a).dot(), lambda a: masu.ReduceAccumulator.of(a).max(),
             lambda a: masu.TopkAccumulator.of(a, 1).result().values, lambda a: masu.Histogram.of(a, 2).totals(),
             lambda a: masu.Histogram.of([1, 2, 3], 2, weights=a).totals(), lambda a: masu.UniqueAccumulator.of(a).result()[0],
             lambda a: masu.RowHistograms.of(a[None], 2).counts()]
    for call in calls:
        with pytest.raises(ValueError, match="must have no masked elements"):
            call(x)
        assert np.array_equal(call(y), call(y.data)) and type(call(y)) is type(call(y.data))


def test_counts_do_not_wrap():
    """However often states are merged: Python's, and those of C++ by their bytes."""
    h = masu.Histogram([2**62, 2**62 - 1, 1], [0, 1, 2, 3])
    assert h.n == 2**63 == masu.Histogram.frombytes(h.tobytes()).n
    with pytest.raises(ValueError, match="total of bin 0 must fit int64"):
        h + h
    states = [masu.SumAccumulator.of([1, 2]), masu.ReduceAccumulator.of([1, 2]), masu.TopkAccumulator.of([1, 2], 2),
              masu.UniqueAccumulator.of([1, 2]), masu.RunAccumulator.of([1, 1]), masu.RowHistograms.of([[1, 2]], [1, 2, 3]),
              masu.JointHistogram.of([[1, 2]], 2, [(1, 3)]), masu.WeightedHistogram.of([1, 2], [1, 2, 3], weights=[1, 2])]
    finder = masu.QuantileFinder("f8", [0.5])
    finder.add([1.0, 2.0])
    for state in [*states, finder]:
        for _ in range(61):
            state.merge(copy.copy(state))
        before = state.tobytes()
        with pytest.raises(ValueError, match="both must have fewer than 2\\^63 elements together, got 4611686018427387904"):
            state.merge(copy.copy(state))
        assert state.tobytes() == before


def test_sums_of_states_leave_them_as_they_are():
    a, b = masu.SumAccumulator.of([1.0]), masu.SumAccumulator.of([2.0])
    total = sum([a])
    total.merge(b)
    assert (total.sum(), a.sum()) == (3.0, 1.0)
    h = masu.Histogram.of([1, 2, 2], [1, 2, 3])
    total = sum([h])
    total.merge(h)
    assert (total.n, h.n) == (6, 3)


def test_integers_that_floats_do_not_hold_are_refused():
    a = masu.SumAccumulator("f8")
    for data in (np.array([1, 2**53 + 1]), np.array([2**64 - 1], "u8"), np.array([-2**53 - 1])):
        with pytest.raises(TypeError, match="float64"):
            a.add(data)
    for data in (np.array([2**53, -2**53]), np.array([7], "u8"), np.array([2**31 - 1], "i4"), np.array([], "i8")):
        a.add(data)
    assert a.sum() == 2**31 + 6
