# SPDX-License-Identifier: Apache-2.0
"""masu's sums beside math.fsum and fractions, which are exact, and NumPy's rules of shapes, dtypes and errors."""
import doctest
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import masu
from masu import _masu, _small, _sums


@pytest.fixture(autouse=True, params=[0, 4096])
def limit(request, monkeypatch):
    monkeypatch.setattr(_small, "limit", request.param)


def wide(*shape):
    """Numbers that a plain sum gets wrong."""
    r = np.random.default_rng(shape)
    return r.standard_normal(shape) * 10.0 ** r.integers(-20, 20, shape)


def exact(values):
    return math.fsum(np.ravel(values).tolist())


def single(values):
    """The exact sum rounded once to f32; by way of f64 it could be rounded twice."""
    total = sum((Fraction(float(v)) for v in np.ravel(values)), Fraction(0))
    near = np.float32(float(total))
    nearest = min((np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))),
                  key=lambda x: (abs(Fraction(float(x)) - total), int(x.view(np.uint32)) & 1))
    return nearest + np.float32(0)


def same(got, want):
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)


def kinds(r, dtype, count):
    """Numbers that are easy to add, that cancel, that lie between two f32, that are tiny or far apart."""
    half = np.ldexp(r.standard_normal(count), r.integers(-60, 60, count))
    low = -1070 if dtype == "d" else -145
    yield r.random(count)
    yield r.integers(-3, 4, count).astype("d")
    yield half
    yield r.permutation(np.concatenate([half, -half]))[:count]
    yield np.where(r.random(count) < 0.5, 1.0, 2.0**-24) * r.choice([1, -1], count)
    yield np.ldexp(r.standard_normal(count), r.integers(low, low + 40, count))
    yield np.zeros(count) * -1


@pytest.mark.parametrize("dtype", "fd")
def test_sums_of_columns_and_rows(dtype):
    want = exact if dtype == "d" else single
    r = np.random.default_rng(6)
    for shape in ((1, 5), (3, 1), (3, 7), (20, 33), (70, 515), (300, 5)):
        for values in kinds(r, dtype, shape[0] * shape[1]):
            a = values.astype(dtype).reshape(shape)
            for b in (a, np.asfortranarray(a), a[::-1]):
                for axis in (0, 1):
                    lines = b if axis else b.T
                    same(masu.sum(b, axis=axis), np.array([want(line) for line in lines], dtype))
            cube = a.reshape(1, *shape)
            same(masu.sum(cube, axis=(0, 1)), np.array([want(line) for line in a.T], dtype))


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("count", [1, 3, 17, 64, 65, 1000, 100_001])
def test_one_row(dtype, count):
    want = exact if dtype == "d" else single
    r = np.random.default_rng(count)
    for x in kinds(r, dtype, count):
        x = x.astype(dtype)
        same(masu.sum(x), x.dtype.type(want(x)))
        if count <= 1000:
            for y in kinds(r, dtype, count):
                y = y.astype(dtype)
                products = [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, y)]
                total = sum(products, Fraction(0))
                got = masu.dot(x, y)
                if dtype == "d":
                    assert got == float(total)
                else:
                    least = min(abs(Fraction(float(n)) - total) for n in (
                        np.nextafter(got, np.float32(-np.inf)), np.nextafter(got, np.float32(np.inf))))
                    assert abs(Fraction(float(got)) - total) <= least
            sums = masu.cumsum(x)
            for i in range(0, count, 50):
                same(sums[i], x.dtype.type(want(x[:i + 1])))


@pytest.mark.parametrize("bins", [3, 1000, 100_000])
@pytest.mark.parametrize("dtype", ["f", "d", "i4", "i8"])
def test_weighted_bincount_is_exact(bins, dtype):
    r = np.random.default_rng(bins)
    for count in (1, 10, 3000):
        for weights in kinds(r, "d" if dtype == "d" else "f", count):
            weights = r.integers(-99, 99, count).astype(dtype) if dtype[0] == "i" else weights.astype(dtype)
            x = r.integers(0, bins, count).astype(r.choice(["i8", "i4", "u4"]))
            want = np.zeros(max(int(x.max()) + 1, 7))
            for bin in np.unique(x):
                want[bin] = exact(weights[x == bin])
            same(masu.bincount(x, weights, 7), want)
    same(masu.bincount([0, 1, 1, 2, 2], [np.nan, np.inf, 1.0, np.inf, -np.inf]), np.array([np.nan, np.inf, np.nan]))


def test_weighted_bincount_touches_what_it_needs():
    """400 MB of totals of which one page is written."""
    totals = masu.bincount(np.array([50_000_000]), np.array([0.5]))
    assert totals.size == 50_000_001 and totals[-1] == 0.5 and not totals[:1000].any()


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sum_is_exact(axis, keepdims):
    base = wide(7, 30, 11)
    axes = range(3) if axis is None else [i % 3 for i in np.ravel(axis)]
    for a in (base, np.asfortranarray(base), base.T, base[::-1, ::2, ::3], base.astype(">f8")):
        rest = [i for i in range(3) if i not in axes]
        rows = a.transpose(*rest, *axes).reshape(*(a.shape[i] for i in rest), -1)
        like = np.sum(a, axis, keepdims=keepdims)
        want = np.apply_along_axis(lambda row: exact(row), -1, rows).reshape(np.shape(like))
        got = masu.sum(a, axis, keepdims=keepdims)
        same(got, want.astype(like.dtype))
        assert type(got) is type(like)
        out = np.zeros(np.shape(like))
        assert masu.sum(a, axis, None, out, keepdims) is out
        same(out, got)


@pytest.mark.parametrize("length", [1, 5, 100, 5000])
def test_hard_sums(length):
    r = np.random.default_rng(length)
    for _ in range(40 if length <= 100 else 3):
        half = r.standard_normal(length)
        for a in (half, np.ldexp(half, r.integers(-900, 900, length)), np.concatenate((half, -half, [2.0**-60])),
                  np.array([1, 2.0**-53, *r.integers(-1, 2, 3) * 2.0**-106]), np.round(half * 2) * 2.0**-1074,
                  r.permutation(np.concatenate((half, -half[1:])))):
            got = masu.sum(a)
            assert got == exact(a) and (got != 0 or not np.signbit(got))
        x, y = half.astype(np.float32), r.permutation(np.ldexp(half, r.integers(-30, 30, length))).astype(np.float32)
        same(masu.sum(y), single(y))
        for a, b in ((x, y), (x.astype("d"), y.astype("d")), (half, half), (half, -half), (half, half[::-1])):
            total = sum((Fraction(float(v)) * Fraction(float(w)) for v, w in zip(a, b)), Fraction(0))
            got = masu.dot(a, b)
            assert got.dtype == a.dtype
            if a.dtype == np.float64:
                assert got == float(total)
            else:
                assert abs(Fraction(float(got)) - total) <= abs(Fraction(float(np.spacing(got)))) / 2


def test_specials():
    inf, nan = np.inf, np.nan
    for values, want in (([inf, 1.0], inf), ([inf, -inf], nan), ([nan, 1.0], nan), ([1e308, 1e308, -1e308], 1e308),
                         ([1e308, 1e308], inf), ([-0.0, -0.0], 0.0), ([5e-324, -5e-324], 0.0)):
        for a in (np.array(values), np.resize(values + [0.0] * 6000, 6000)):
            same(masu.sum(a), np.float64(want))
        same(masu.cumsum(values)[-1], np.float64(want))
        same(masu.dot(values, np.ones(len(values))), np.float64(want))
    same(masu.dot([inf, 1.0], [0.0, 1.0]), np.float64(nan))
    same(masu.dot([1e200, 1e200], [1e200, -1e200]), np.float64(0))
    same(masu.dot([1e-200, 1.0], [1e-200, 2.0**-1074]), np.float64(2.0**-1074))
    assert masu.dot([1e-162, 1.0], [1e-162, 0.0]) == float(Fraction(1e-162) ** 2)


def test_where_initial_dtype():
    a = wide(6, 50)
    mask = np.random.default_rng(1).random(a.shape) < 0.5
    assert masu.sum(a, where=mask) == exact(a[mask])
    assert masu.sum(a, where=mask[:1]) == exact(a[np.broadcast_to(mask[:1], a.shape)])
    assert masu.sum(a, initial=1e30) == exact([*a.ravel(), 1e30])
    assert masu.sum(a, 1, initial=1e30).tolist() == [exact([*row, 1e30]) for row in a]
    short = a.astype("f")
    assert masu.sum(short, dtype="d") == exact(short) and masu.sum(short, dtype="d").dtype == np.float64
    assert masu.sum(a, dtype="f") == np.float32(exact(a))
    half = np.full(4000, 0.1, "e")
    same(masu.sum(half), np.float16(exact(half)))
    whole = np.zeros(50, int)
    assert masu.sum(a % 1e6, 0, out=whole) is whole and whole.tolist() == [int(exact(c)) for c in a.T % 1e6]
    out = np.zeros((), "f")
    assert masu.sum(a, out=out) is out and out == np.float32(exact(a))


def test_casts_do_not_warn():
    """As NumPy's do not where a result is cast to `out`, and integers to f16."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in (masu.sum, masu.mean, masu.var):
            assert function(np.array([1e30, 3e30]), out=np.zeros((), "f2")) == np.inf
        assert masu.sum(np.array([1e30, 1e30]), out=np.zeros((), "i8")).dtype == np.int64
        assert masu.cumsum(np.array([1e30, 1e30]), out=np.zeros(2, "f2")).tolist() == [np.inf] * 2
        assert masu.sum(np.array([2**40, 1]), dtype="f2") == np.inf


@pytest.mark.parametrize("dtype", "?bBhHiIlLqQ")
def test_integers_are_numpys(dtype):
    r = np.random.default_rng(ord(dtype))
    info = np.iinfo("u1" if dtype == "?" else dtype)
    for length in (1, 100, 9000):
        a = r.integers(info.min, info.max, length, np.uint8 if dtype == "?" else dtype, endpoint=True).astype(dtype)
        for b in (a, a[::-1], a.astype(a.dtype.newbyteorder(">"))):
            same(masu.sum(b), np.sum(b))
            same(masu.cumsum(b), np.cumsum(b))
            assert type(masu.sum(b)) is type(np.sum(b))
        same(masu.sum(a.reshape(1, -1), 1), np.sum(a.reshape(1, -1), 1))
        same(masu.dot(a, a), np.dot(a, a))
        assert masu.sum(a, dtype="d") == exact(a.astype("d"))
        assert masu.cumsum(a, dtype="d")[-1] == exact(a.astype("d"))


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
def test_cumsum_is_exact(axis):
    base = wide(5, 6, 9)
    for a in (base, base.T, base[:, ::-2], np.asfortranarray(base), base.astype(">f8"), base.astype("f")):
        got, like = masu.cumsum(a, axis), np.cumsum(a, axis)
        rows = a.reshape(1, -1) if axis is None else np.moveaxis(a, axis, -1).reshape(-1, a.shape[axis])
        rule = single if a.dtype.char == "f" else exact
        want = np.array([[rule(row[:i + 1]) for i in range(row.size)] for row in rows]).astype(like.dtype)
        if axis is None:
            want = want[0]
        else:
            moved = np.moveaxis(like, axis, -1)
            want = np.moveaxis(want.reshape(moved.shape), -1, axis)
        same(got, want)
        out = np.zeros(like.shape, like.dtype.newbyteorder("="))
        assert masu.cumsum(a, axis, None, out) is out
        same(out, got)
    same(masu.cumsum(base, axis, "f").dtype, np.cumsum(base, axis, "f").dtype)


def test_dot_of_other_shapes_and_dtypes():
    a, v = wide(4, 6), np.arange(6.0)
    same(masu.dot(a, v), np.dot(a, v))
    same(masu.dot(a, a.T), np.dot(a, a.T))
    same(masu.dot(3.0, v), np.dot(3.0, v))
    same(masu.dot(v, v + 1j), np.dot(v, v + 1j))
    same(masu.dot(np.arange(6), v), np.float64(55))
    same(masu.dot(v.astype("e"), v.astype("f")), np.float32(55))
    same(masu.dot(v[::-1], v.astype(">f8")), np.float64(20))
    assert masu.dot([], []) == np.dot([], [])


A = wide(3, 4)


@pytest.mark.parametrize("name, arguments, keywords", [
    ("sum", (A, 5), {}), ("sum", (A, (0, 0)), {}), ("sum", (A, None, None, np.zeros(3)), {}), ("sum", (A, 1.5), {}),
    ("sum", ("abc",), {}), ("sum", (A,), {"where": [1, 2]}), ("sum", (A, [0]), {}), ("sum", (A, {0: 1}), {}), ("sum", (A, True), {}),
    ("sum", (A, (True, False)), {}), ("cumsum", (A, True), {}), ("cumsum", (A, None, None, np.zeros(A.shape)), {}),
    ("sum", (A,), {"initial": [1]}),
    ("sum", (A,), {"initial": None, "where": A > 0}), ("mean", (A, [0]), {}), ("var", (A, [0, 1]), {}),
    ("sum", (A,), {"where": np.ones(3, bool)}), ("sum", (A,), {"initial": "x"}), ("sum", (iter,), {}),
    ("sum", (A, None, "nothing"), {}), ("cumsum", (A, 5), {}), ("cumsum", (A, None, None, np.zeros(3)), {}),
    ("cumsum", (A, 1.5), {}), ("cumsum", (["a", None],), {}),
    ("sum", (A, 0, ">f8"), {}), ("mean", (A, 0, ">f4"), {}), ("std", (A, None, ">f8"), {}),
    ("dot", (A, A), {}), ("dot", (A[0], A[:, 0]), {}), ("dot", (A[0], A[0], np.zeros(3)), {}),
])
@pytest.mark.filterwarnings("ignore:.*generator.*:DeprecationWarning")
def test_errors_are_numpys(name, arguments, keywords):
    def call(module):
        given = ((i for i in "a") if a is iter else a for a in arguments)  # a generator for each call
        return getattr(module, name)(*given, **keywords)

    with pytest.raises(Exception) as theirs:
        call(np)
    with pytest.raises(type(theirs.value)):
        call(masu)


def test_little_data_and_much_agree():
    """The sums of few elements are added another way than those of many."""
    device = masu.Device("cpu")
    r = np.random.default_rng(2)
    for _ in range(200):
        x, y = np.ldexp(r.standard_normal((2, 30)), r.integers(-40, 40, (2, 30))).astype(r.choice(["f", "d"]))
        padded = [np.concatenate((v, np.zeros(5000, v.dtype))) for v in (x, y)]
        found, rounded = np.empty((4, 1)), f"f{8 * x.itemsize}"
        for result, data in zip(found, (x, padded[0])):
            _masu.sum_rows(data, result, rounded, device)
        for result, pair in zip(found[2:], ((x, y), padded)):
            _masu.dot(*pair, result, rounded, device)
        assert found[0] == found[1] and found[2] == found[3]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_dot_takes_what_numpy_takes(dtype):
    """Lines of any layout, alignment and byte order, scalars of the dtype that NumPy gives."""
    x, y = wide(300).astype(dtype), wide(301)[1:].astype(dtype)
    want = masu.dot(x, y)
    assert type(want) is type(np.dot(x, y))
    packed = np.frombuffer(b" " + y.tobytes(), np.uint8)[1:].view(dtype)
    twice = np.repeat(y, 2)[::2]
    for other in (packed, twice, y.astype(y.dtype.newbyteorder(">"))):
        same(masu.dot(x, other), want)
    same(masu.dot(x.reshape(1, -1), y), np.dot(x.reshape(1, -1), y))
    same(masu.dot(x, y.astype("f8")), masu.dot(x.astype("f8"), y.astype("f8")))


def test_integers_wrap_round():
    for size in (10, 2_000_000):
        for dtype in ("i8", "u8"):
            x = np.full(size, np.iinfo(dtype).max - 5, dtype)
            same(masu.sum(x), np.sum(x))


def test_few_weights_in_many_bins():
    """The way of few elements beside that of many, which have zeros for weights."""
    for dtype in ("f4", "f8"):
        for values in (wide(200) % 4 - 2, np.array([-3.0, 3, 0, 2.9999999, np.nan, -np.inf]).astype(dtype)):
            weights = wide(len(values)).astype(dtype)
            more = 20000
            padded = np.concatenate((values, np.zeros(more, values.dtype)))
            by = np.concatenate((weights, np.zeros(more, dtype)))
            for options in ({"bins": 10**5, "range": (-3, 3)}, {"bins": 5000, "range": (-1, 2.5)}):
                got, edges = masu.histogram(values, weights=weights, **options)
                want, wanted = masu.histogram(padded, weights=by, **options)
                same(got, want)
                same(edges, wanted)


def test_what_is_numpys():
    same(masu.sum(np.empty((0, 3)), 0), np.zeros(3))
    same(masu.sum(np.array([1 + 2j, 3])), np.complex128(4 + 2j))
    same(masu.sum(np.array([1, 2], object)), np.sum(np.array([1, 2], object)))
    same(masu.sum(np.longdouble([1, 2])), np.longdouble(3))
    assert masu.sum(np.ma.array([1.0, 2.0], mask=[0, 1])) == 1
    same(masu.cumsum(np.matrix([[1.0, 2.0]])), np.matrix([[1.0, 3.0]]))
    same(masu.sum(np.float64(3)), np.float64(3))


def test_examples():
    assert doctest.testmod(_sums).failed == 0


@pytest.mark.parametrize("size", [1, 511, 513, 3000, 140_000])
def test_cumsum_of_one_line_is_that_of_many(size):
    """One line is added with errors beside the sum, several by exact numbers."""
    rng = np.random.default_rng(size)
    kinds = [
        rng.standard_normal(size), rng.random(size), 10.0 ** rng.uniform(-30, 30, size), rng.integers(-3, 4, size) * 0.5,
        rng.choice([1.0, -1.0, 2.0**-24, 2.0**-25, 2.0**-60, 2.0**-149], size), np.full(size, -0.0),
        rng.choice([2.0**24, 1.0, 2.0**-40, -(2.0**-40)], size), rng.choice([0.0, 2.0**-149, -(2.0**-149)], size),
        np.where(np.arange(size) == size // 2, np.inf, rng.random(size)), rng.choice([1e38, -1e38, 1e-38], size),
    ]
    for number, values in enumerate(kinds):
        for dtype in ("f4", "f8"):
            x = values.astype(dtype)
            got, want = masu.cumsum(x), masu.cumsum(np.stack([x, x]), axis=1)[1]
            assert got.tobytes() == want.tobytes(), (number, dtype)


@pytest.mark.parametrize("kind", ["any", "halves", "wide", "small", "special"])
def test_running_sums_of_lines_side_by_side(kind):
    r = np.random.default_rng(8)
    for shape, axis in [((1500,), 0), ((40, 37), 0), ((37, 40), 1), ((9, 130), 1), ((600, 8), 0), ((3, 400), 1)]:
        for dtype in ("f8", "f2"):
            a = {"any": r.random(shape), "halves": r.integers(-2000, 2000, shape) / 2, "small": r.random(shape) * 1e-300,
                 "wide": r.standard_normal(shape) * 10.0 ** r.integers(-20, 20, shape),
                 "special": r.random(shape)}[kind]
            if kind == "special":
                a.flat[a.size // 2] = r.choice([np.nan, np.inf, -np.inf, 1e308])
            with np.errstate(over="ignore"):
                a = a.astype(dtype)
            got = np.moveaxis(masu.cumsum(a, axis), axis, -1).reshape(-1, shape[axis])
            for line, sums in zip(np.moveaxis(a, axis, -1).reshape(-1, shape[axis]), got, strict=True):
                finite = int(np.argmin(np.isfinite(line))) if not np.isfinite(line).all() else len(line)
                total = Fraction(0)
                with np.errstate(over="ignore"):
                    for x, y in zip(line[:finite].tolist(), sums[:finite].tolist(), strict=True):
                        total += Fraction(x)
                        assert np.dtype(dtype).type(float(total)) == y, (kind, shape, axis)
                    assert not np.isfinite(sums[finite:]).any()


def test_what_is_added_first_leaves_the_data_as_wide_as_they_are():
    data = np.array([[1e300, 1.0, -1e300], [2.0**24, 1.0, 1.0]])
    for options in ({}, {"initial": 0.0}):
        same(masu.sum(data, 1, "f4", **options), np.float32([1, 2.0**24 + 2]))
