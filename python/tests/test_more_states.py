# SPDX-License-Identifier: Apache-2.0
"""States beside sums and histograms: what parts are put together to is what masu and NumPy find in all data."""
import copy
import itertools
import math
import pickle

import numpy as np
import pytest

import masu
from test_states import damaged, values

RNG = np.random.default_rng(21)
DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8"]
MERGED = ["ReduceAccumulator", "TopkAccumulator", "UniqueAccumulator", "RunAccumulator", "RowHistograms", "JointHistogram", "WeightedHistogram"]


def awkward(dtype, count):
    """With NaNs and zeros of both signs, if there are such."""
    x = values(dtype, count)
    if np.dtype(dtype).kind == "f" and count > 3:
        x[RNG.integers(0, count, count // 3)] = -0.0
        x[RNG.integers(0, count, count // 5)] = 0.0
        x[RNG.integers(0, count, count // 50 + 1)] = np.nan
    return x


def parts_of(x, pieces=5):
    return np.split(x, np.sort(RNG.integers(0, len(x) + 1, pieces - 1)))


def bits(array):
    return np.asarray(array).tobytes()


def stored(x):
    """The elements as states have them."""
    return x.view(np.uint8) if x.dtype.kind == "b" else x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 5, 3001])
def test_extremes_and_their_places(dtype, count):
    x = awkward(dtype, count)
    states = [masu.ReduceAccumulator(dtype) for _ in range(5)]
    for state, part in zip(states, parts_of(x)):
        state.add(part)
    whole = sum(states)
    assert (whole.count, whole.dtype, whole.op) == (count, stored(x).dtype, "minmax")
    assert (whole.argmin(), whole.argmax()) == (int(np.argmin(x)), int(np.argmax(x)))
    assert bits(whole.min()) == bits(stored(x)[np.argmin(x)]) and bits(whole.max()) == bits(stored(x)[np.argmax(x)])
    skipping = sum(masu.ReduceAccumulator.of(part, nan="skip") for part in parts_of(x))
    if not np.isnan(x).all():
        assert (skipping.argmin(), skipping.argmax()) == (int(np.nanargmin(x)), int(np.nanargmax(x)))
    assert sum(masu.ReduceAccumulator.of(part, "count-nonzero") for part in parts_of(x)).nonzero() == np.count_nonzero(x)
    assert whole == masu.ReduceAccumulator.of(x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_k_first(dtype):
    x = awkward(dtype, 2003)
    for k, largest in itertools.product((1, 7, 2003), (True, False)):
        states = [masu.TopkAccumulator.of(part, k, largest=largest) for part in parts_of(x)]
        found = sum(states).result()
        expected = masu.topk(x, k, largest=largest)
        assert bits(found.values) == bits(expected.values) and bits(found.indices) == bits(expected.indices)
    few = masu.TopkAccumulator.of(x[:3], 10)
    assert few.result().values.size == 3 and (few.k, few.count) == (10, 3)
    skipping = masu.TopkAccumulator.of(x, 5, nan="skip")
    assert skipping.skipped == np.count_nonzero(x != x) and not np.isnan(skipping.result().values).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_distinct_values(dtype):
    x = awkward(dtype, 2003)
    found, counts = sum(masu.UniqueAccumulator.of(part) for part in parts_of(x)).result()
    expected, expected_counts = masu.unique(x, return_counts=True, device="cpu")
    assert bits(found) == bits(stored(expected)) and bits(counts) == bits(expected_counts)


@pytest.mark.parametrize("dtype", DTYPES)
def test_runs_that_go_on_in_the_next_part(dtype):
    x = np.repeat(awkward(dtype, 500), RNG.integers(1, 6, 500))
    y = stored(x)
    new = np.append(True, ~((y[1:] == y[:-1]) | (y[1:] != y[1:]) & (y[:-1] != y[:-1])))
    starts = np.flatnonzero(new)
    values, lengths, found = sum(masu.RunAccumulator.of(part) for part in parts_of(x, 9)).result()
    assert np.array_equal(found, starts) and np.array_equal(lengths, np.diff(np.append(starts, x.size)))
    assert bits(values) == bits(y[starts]) and found.dtype == lengths.dtype == np.intp


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("method", ["linear", "inverted_cdf", "midpoint"])
def test_quantiles_in_passes(dtype, method):
    x = values(dtype, 5003)
    q = [0, 0.1, 0.5, 0.999, 1]
    finder, passes = masu.QuantileFinder(dtype, q, method), 0
    while True:
        # each part by a finder of its own, which comes from another process
        parts = [copy.copy(finder) for _ in range(5)]
        for part, data in zip(parts, parts_of(x)):
            part.add(data)
        finder = sum(pickle.loads(pickle.dumps(part)) for part in parts)
        passes += 1
        if not finder.next_pass():
            break
    assert passes <= (1 if x.dtype.itemsize < 4 else 8) and finder.count == x.size
    expected = np.quantile(x.astype(np.float64) if method != "inverted_cdf" and dtype != "f8" else x, q, method=method)
    if method == "inverted_cdf":
        assert bits(finder.result()) == bits(expected.astype(x.dtype))
    else:
        assert finder.result().dtype == np.float64
        np.testing.assert_allclose(finder.result(), expected, rtol=1e-2 if dtype == "f2" else 1e-6)
    with pytest.raises(ValueError, match="passes have ended"):
        finder.add(x)
    with pytest.raises(ValueError, match="both must be in the same pass"):
        finder.merge(masu.QuantileFinder(dtype, q, method))
    with pytest.raises(ValueError, match="quantile"):
        masu.QuantileFinder(dtype, q, method).next_pass()


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_histograms_of_rows(dtype):
    x = awkward(dtype, 7 * 400).reshape(7, 20, 20)
    states = [masu.RowHistograms.of(part, 12, (-3, 50)) for part in np.split(x, [5, 11], axis=1)]
    whole = sum(states)
    assert len(whole) == 7 and whole == masu.RowHistograms.of(x, 12, (-3, 50))
    for row in range(7):
        one = masu.Histogram.of(x[row], 12, (-3, 50))
        assert np.array_equal(whole.counts()[row], one.counts())
        assert (whole.below[row], whole.above[row], whole.nan[row]) == (one.below, one.above, one.nan)
        assert np.array_equal(whole.edges, one.edges) and whole[row] == one
    assert np.array_equal(whole.counts(), masu.histogram(x, 12, (-3, 50), axis=(1, 2))[0])
    total = np.add.reduce([state.integers() for state in states])
    assert states[0].with_integers(total) == whole and total.dtype == np.int64
    given = masu.RowHistograms.of(x, [0, 1, 1, 30])
    assert np.array_equal(given.counts(), masu.histogram(x, [0, 1, 1, 30], axis=(1, 2))[0])
    with pytest.raises(ValueError, match="same edges, got 7 rows of 1 channels and 12 bins of .* and 7 rows of 1 channels and 12 bins of .* to 51"):
        whole.merge(masu.RowHistograms.of(x, 12, (-3, 51)))
    with pytest.raises(ValueError, match="7 rows of 1 channels and 12 bins .* and 3 rows"):
        whole.merge(masu.RowHistograms.of(x[:3], 12, (-3, 50)))
    with pytest.raises(ValueError, match="integers, got|numbers"):
        whole.with_integers(total[1:])
    with pytest.raises(ValueError, match="negative"):
        whole.with_integers(-1 - total)


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_histograms_of_columns(dtype):
    x, y = awkward(dtype, 3000), awkward(dtype, 3000)
    options = {"bins": (5, [0, 1, 2, 60]), "range": ((-2, 40), None)}
    cuts = [0, 700, 700, 2999, 3000]
    states = [masu.JointHistogram.of([x[a:b], y[a:b]], **options) for a, b in zip(cuts, cuts[1:])]
    whole = sum(states)
    assert whole == masu.JointHistogram.of((x, y), **options)
    there = ~(np.isnan(x) | np.isnan(y))
    expected, edges = np.histogramdd([x[there], y[there]], **options)
    assert np.array_equal(whole.counts(), expected) and whole.nan == 3000 - there.sum()
    assert whole.outside == there.sum() - expected.sum()
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(whole.edges, edges, strict=True))
    total = np.add.reduce([state.integers() for state in states])
    assert states[0].with_integers(total) == whole
    with pytest.raises(ValueError, match="same edges, got .* and "):
        whole.merge(masu.JointHistogram.of((x, y), bins=5, range=((-2, 40), (0, 1))))


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("weights", ["i4", "u8", "f4", "f8"])
def test_exact_totals_of_weights(dtype, weights):
    x, by = awkward(dtype, 3000), values(weights, 3000)
    if by.dtype.kind == "f":
        by = by * (10.0 ** RNG.integers(-20, 20, 3000)).astype(weights)
    cuts = [0, 700, 700, 2999, 3000]
    states = [masu.WeightedHistogram.of(x[a:b], 9, (-1, 40), weights=by[a:b]) for a, b in zip(cuts, cuts[1:])]
    whole, expected = sum(reversed(states)), masu.Histogram.of(x, 9, (-1, 40), weights=by)
    assert whole.result() == expected and whole.result().totals().dtype == expected.totals().dtype
    assert whole == masu.WeightedHistogram.of(x, 9, (-1, 40), weights=by)
    with pytest.raises(ValueError, match="same|got"):
        whole.merge(masu.WeightedHistogram.of(x, 9, (-1, 41), weights=by))


def some_states():
    x = awkward("f4", 200)
    finder = masu.QuantileFinder("f4", [0.25, 0.5])
    finder.add(np.nan_to_num(x))
    later = copy.copy(finder)
    later.next_pass()
    return {
        "extremes": masu.ReduceAccumulator.of(x), "skipped": masu.ReduceAccumulator.of(x, "min", "skip"),
        "nonzero": masu.ReduceAccumulator.of(x, "count-nonzero"), "nothing": masu.ReduceAccumulator("i8"),
        "topk": masu.TopkAccumulator.of(x, 9, largest=False, nan="skip"), "unique": masu.UniqueAccumulator.of(x[:50]),
        "runs": masu.RunAccumulator.of(x),
        "pass 1": finder, "pass 2": later,
        "rows": masu.RowHistograms.of(x.reshape(4, 50), 5, (-1, 1)), "edges": masu.RowHistograms.of(x[None], [0, 1, 9]),
        "joint": masu.JointHistogram.of([x, x], 3, ((-1, 1), (0, 2))),
        "weighted": masu.WeightedHistogram.of(x, 4, (0, 9), weights=np.arange(200.0) - 7),
        "integers": masu.WeightedHistogram.of(x, 4, (0, 9), weights=np.arange(200)),
    }


NAMES = list(some_states())  # not the states: what is a parameter lives until the process ends


@pytest.mark.parametrize("name", NAMES)
def test_copies_bytes_and_pickles(name):
    state = some_states()[name]
    kind = type(state)
    for same in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state), kind.frombytes(bytearray(state.tobytes()))):
        assert same == state and same.tobytes() == state.tobytes() and type(same) is kind and repr(same) == repr(state)
    assert state != 1 and (state == object()) is False
    before = state.tobytes()
    if kind is not masu.QuantileFinder or name == "pass 1":
        twice, both = state + state, sum([state, state])
        assert twice == both and state.tobytes() == before
        own = copy.copy(state)
        own.merge(own)
        assert own == twice
    with pytest.raises(TypeError, match=f"{kind.__name__}: only a {kind.__name__} can be merged, got int"):
        state.merge(1)
    with pytest.raises(TypeError):
        state + 1
    with pytest.raises(ValueError, match="version"):
        kind.frombytes(before[:4] + b"\x7f" + before[5:])


@pytest.mark.parametrize("name", NAMES)
def test_hostile_bytes_are_a_value_error(name):
    """What is read is what was written, or a ValueError that says so."""
    state = some_states()[name]
    kind, data, refused = type(state), state.tobytes(), 0
    for given in damaged(data):
        try:
            read = kind.frombytes(given)
        except ValueError as error:
            assert str(error)
            refused += 1
            continue
        assert type(read) is kind and kind.frombytes(read.tobytes()) == read
    assert refused > 50
    for other in some_states().values():
        if type(other) is not kind:
            with pytest.raises(ValueError):
                kind.frombytes(other.tobytes())


def test_what_does_not_fit_is_refused_with_both_named():
    a = masu.ReduceAccumulator("f4")
    with pytest.raises(ValueError, match="the minmax of f32, NaN propagated and the min of f32, NaN propagated"):
        a + masu.ReduceAccumulator("f4", "min")
    with pytest.raises(ValueError, match="of f32, NaN .* and .* of f64, NaN"):
        a.merge(masu.ReduceAccumulator("f8"))
    with pytest.raises(ValueError, match="the 3 largest of f64, NaN last and the 4 largest of f64"):
        masu.TopkAccumulator("f8", 3) + masu.TopkAccumulator("f8", 4)
    with pytest.raises(ValueError, match="i32 as before, got u8"):
        masu.UniqueAccumulator("i4") + masu.UniqueAccumulator("u1")
    with pytest.raises(TypeError, match="must be of float32, got float64"):
        a.add([0.5])
    with pytest.raises(TypeError, match="got complex128"):
        masu.TopkAccumulator(complex, 1)
    for k in (0, -1, 2**63):
        with pytest.raises(ValueError, match="k must be at least 1"):
            masu.TopkAccumulator("f4", k)
    for wrong in ({"op": "median"}, {"nan": "last"}):
        with pytest.raises(ValueError):
            masu.ReduceAccumulator("f4", **wrong)
    with pytest.raises(ValueError, match="at least one element"):
        a.min()
    with pytest.raises(ValueError):
        masu.ReduceAccumulator.of([1.0], "min").max()
    with pytest.raises(ValueError):
        masu.ReduceAccumulator.of([math.nan], nan="skip").argmin()
    with pytest.raises(ValueError, match="within 0"):
        masu.QuantileFinder("f4", 1.5)
    with pytest.raises(ValueError):
        masu.QuantileFinder("f4", 0.5, "middle")
    with pytest.raises(TypeError, match="got the rule 'auto'"):
        masu.RowHistograms.of([[1.0]], "auto")
    with pytest.raises(ValueError, match="must be a row"):
        masu.RowHistograms.of(1.0)
    with pytest.raises(ValueError, match="1 to 8 columns"):
        masu.JointHistogram.of([[1.0], [1.0, 2.0]], 2, ((0, 1), (0, 1)))
    with pytest.raises(TypeError, match="one dtype"):
        masu.JointHistogram.of([[1.0], [1]], 2, ((0, 1), (0, 1)))
    with pytest.raises(TypeError, match="the shape of the data"):
        masu.WeightedHistogram.of([1.0], 2, (0, 1), weights=[1.0, 2.0])
    with pytest.raises(ValueError, match="bin"):
        masu.WeightedHistogram.of([0.5, 0.5], 1, (0, 1), weights=np.array([2**63 - 1, 1])).result()


def test_bins_without_a_range_span_the_finite_values():
    x = np.array([[1.0, math.inf, 4.0], [math.nan, 2.0, -math.inf]])
    rows = masu.RowHistograms.of(x, 3)
    assert rows.edges.tolist() == [1, 2, 3, 4] and (rows.above.tolist(), rows.nan.tolist()) == ([1, 0], [0, 1])
    joint = masu.JointHistogram.of(x.T, 3)
    assert joint == masu.JointHistogram.of(list(x), 3)
    assert joint.edges[0].tolist() == [1, 2, 3, 4] and (joint.nan, joint.outside) == (1, 2)


@pytest.mark.parametrize("device", [d.id for d in masu.devices() if d.usable])
def test_data_on_a_device(device):
    """Each state there has the bytes of the CPU's."""
    x = awkward("f4", 1000)
    there, rows = masu.to_device(x, device), masu.to_device(x.reshape(4, 250), device)
    by = np.arange(1000.0)
    for mine, cpu in (
        (masu.ReduceAccumulator.of(there), masu.ReduceAccumulator.of(x)),
        (masu.TopkAccumulator.of(there, 9), masu.TopkAccumulator.of(x, 9)),
        (masu.UniqueAccumulator.of(there), masu.UniqueAccumulator.of(x)),
        (masu.RunAccumulator.of(there), masu.RunAccumulator.of(x)),
        (masu.RowHistograms.of(rows, 5, (-1, 9)), masu.RowHistograms.of(x.reshape(4, 250), 5, (-1, 9))),
        (masu.JointHistogram.of([there, there], 5, ((-1, 9), (0, 4))), masu.JointHistogram.of([x, x], 5, ((-1, 9), (0, 4)))),
        (masu.WeightedHistogram.of(there, 5, (-1, 9), weights=masu.to_device(by, device)),
         masu.WeightedHistogram.of(x, 5, (-1, 9), weights=by)),
    ):
        assert mine.tobytes() == cpu.tobytes() and mine + cpu == cpu + mine == cpu + cpu
    finder = masu.QuantileFinder("f4", [0.1, 0.5], "lower", device=device)
    while True:
        half = pickle.loads(pickle.dumps(finder))
        finder.add(masu.to_device(np.nan_to_num(x[:400]), device))
        half.add(np.nan_to_num(x[400:]))
        finder += half
        if not finder.next_pass():
            break
    assert finder.result().tolist() == np.quantile(np.nan_to_num(x), [0.1, 0.5], method="lower").tolist()  # zeros are +0


def test_tokens_of_dask():
    """Equal states have equal tokens, in every process."""
    tokenize = pytest.importorskip("dask.base").tokenize
    states = [*some_states().values(), masu.SumAccumulator.of([1.0]), masu.Histogram.of([1.0, 2.0], 3)]
    tokens = [tokenize(state) for state in states]
    assert len(set(tokens)) == len(tokens) and tokens == [tokenize(pickle.loads(pickle.dumps(state))) for state in states]


def test_every_state_is_tested_here():
    assert {type(state).__name__ for state in some_states().values()} == {*MERGED, "QuantileFinder"}


def test_totals_that_do_not_fit_are_told():
    state = masu.WeightedHistogram.of([1, 1], 2, (0, 1), weights=[2**63 - 1] * 2)
    assert "must fit i64" in repr(state)
    state.merge(masu.WeightedHistogram.of([1], 2, (0, 1), weights=[-2**63]))
    assert state.result().n == 2**63 - 2
