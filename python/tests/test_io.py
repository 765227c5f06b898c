# SPDX-License-Identifier: Apache-2.0
"""masu.io beside the readers of NumPy, pandas and Pillow, and beside what was written."""
import bz2
import doctest
import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import masu.io

RNG = np.random.default_rng(45)
SIZES = [0, 1, 2, 31, 1009, 70001]
DTYPES = ["u1", "i1", "<u2", ">u2", "<i4", ">i8", "<u8", "<f2", ">f4", "<f8", "?"]


def same(found, wanted):
    assert type(found) is np.ndarray and found.dtype == wanted.dtype.newbyteorder("=") and found.shape == wanted.shape
    assert found.dtype.isnative and np.array_equal(found, wanted, equal_nan=found.dtype.kind in "fM")
    return True


def in_pieces(wanted, *args, axis=0, sizes=(1, 7, 1000, 1 << 20), **options):
    """Whether pieces of every size are `wanted` when they are put together."""
    for size in sizes if wanted.size < 1000 else sizes[2:]:
        found = list(masu.io.pieces(*args, bytes=size, **options))
        assert all(piece.size for piece in found)
        row = wanted.itemsize * (wanted.size // wanted.shape[axis]) if wanted.size else 0
        assert all(piece.nbytes <= max(size, row) for piece in found)
        same(np.concatenate(found, axis) if found else np.empty(wanted.shape, wanted.dtype.newbyteorder("=")), wanted)
    return True


@pytest.mark.parametrize("dtype", DTYPES)
def test_npy_and_raw(dtype, tmp_path):
    for n in SIZES:
        x = RNG.integers(0, 256, n * np.dtype(dtype).itemsize, np.uint8)
        x = (x % 2).view(dtype) if dtype == "?" else x.view(dtype)
        np.save(tmp_path / "x.npy", x)
        assert same(masu.io.read(tmp_path / "x.npy"), np.load(tmp_path / "x.npy"))
        (tmp_path / "x.raw").write_bytes(b"abc" + x.tobytes())
        options = dict(dtype=x.dtype, offset=3, format="raw")
        assert same(masu.io.read(tmp_path / "x.raw", **options), x)
        assert same(masu.io.read(tmp_path / "x.raw", **options, count=n // 2), x[:n // 2])
        assert in_pieces(x, tmp_path / "x.raw", **options) and in_pieces(x, str(tmp_path / "x.npy"))


@pytest.mark.parametrize("shape", [(), (3, 5), (2, 3, 4), (0, 3), (3, 0), (1, 1, 1), (5, 1)])
def test_shapes_of_npy(shape, tmp_path):
    for order in "CF":
        x = np.asarray(RNG.integers(-9, 9, shape), order=order)
        np.save(tmp_path / "x.npy", x)
        assert same(masu.io.read(tmp_path / "x.npy"), x)
        found = list(masu.io.pieces(tmp_path / "x.npy", bytes=50))
        if not shape:
            assert same(found[0], x)
        elif x.size:
            axis = -1 if not np.load(tmp_path / "x.npy").flags.c_contiguous else 0
            assert same(np.concatenate(found, axis), x)
        else:
            assert not found


def test_npz_and_compressed(tmp_path):
    x, y = RNG.normal(size=(20, 30)), np.arange(7)
    np.savez_compressed(tmp_path / "x.npz", x=x, y=y)
    assert same(masu.io.read(f"{tmp_path}/x.npz:x"), x) and same(masu.io.read(f"{tmp_path}/x.npz:y"), y)
    with pytest.raises(OSError, match="x, y|x.npy, y.npy"):
        masu.io.read(tmp_path / "x.npz")
    np.save(tmp_path / "x.npy", x)
    for ending, module in (("gz", gzip), ("xz", lzma), ("bz2", bz2)):
        path = tmp_path / f"x.npy.{ending}"
        path.write_bytes(module.compress((tmp_path / "x.npy").read_bytes()))
        assert same(masu.io.read(path), x) and in_pieces(x, path)
        text = tmp_path / f"t.csv.{ending}"
        text.write_bytes(module.compress(b"a,b\n1,2.5\n3,4\n"))
        assert masu.io.read(text, "b").tolist() == [2.5, 4] and masu.io.columns(text) == ["a", "b"]


@pytest.mark.parametrize("mode,channels", [("L", 1), ("RGB", 3), ("RGBA", 4)])
@pytest.mark.parametrize("ending", ["png", "bmp", "tiff", "webp", "jpg", "ppm"])
def test_images(mode, channels, ending, tmp_path):
    image = pytest.importorskip("PIL.Image")
    if (mode, ending) in (("RGBA", "jpg"), ("RGBA", "ppm"), ("RGBA", "bmp"), ("L", "webp")):
        return
    path = tmp_path / f"x.{ending}"
    picture = image.fromarray(np.squeeze(RNG.integers(0, 256, (37, 53, channels), np.uint8)), mode if channels > 1 else None)
    picture.save(path, **({"lossless": True, "exact": True} if ending == "webp" else {}))
    wanted = np.asarray(image.open(path)).reshape(37, 53, -1)
    found = masu.io.read(path)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert np.abs(found.astype(int) - wanted).max() <= (1 if ending == "jpg" else 0)  # Pillow's libjpeg may be another one
    if channels == 4:
        assert same(masu.io.read(path, alpha=False), found[:, :, :3])
    assert in_pieces(found, path)


def test_hdf5_and_fits(tmp_path):
    x = RNG.normal(size=(6, 7, 8)).astype(np.float32)
    cards = ["SIMPLE  =                    T", "BITPIX  =                  -32", "NAXIS   =                    3",
             *(f"NAXIS{i + 1}  = {n:20}" for i, n in enumerate(x.shape[::-1])), "END"]
    (tmp_path / "x.fits").write_bytes("".join(f"{card:80}" for card in cards).ljust(2880).encode() + x.astype(">f4").tobytes().ljust(2880, b"\0"))
    assert same(masu.io.read(tmp_path / "x.fits"), x) and in_pieces(x, tmp_path / "x.fits")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a/b"] = x
        file["c"] = 5
    assert same(masu.io.read(f"{tmp_path}/x.h5:/a/b"), x) and masu.io.read(f"{tmp_path}/x.h5:/c") == 5


def table(n, holes):
    """A text of n rows, and its columns."""
    columns = {"k": RNG.integers(-10**12, 10**12, n), "v": RNG.normal(size=n), "w": RNG.choice(["red", "green, dark", 'the "blue"', "b c"], n),
               "t": np.datetime64("2026-01-01T00:00:00", "us") + RNG.integers(0, 10**14, n).astype("m8[us]")}
    missing = {name: RNG.random(n) < holes for name in columns}
    rows = [",".join("" if missing[name][i] else '"' + str(x[i]).replace('"', '""') + '"' if name == "w" else str(x[i]) for name, x in columns.items())
            for i in range(n)]
    return "\n".join(["k,v,w,t", *rows, ""]), columns, missing


@pytest.mark.parametrize("holes", [0, 0.1, 0.9])
@pytest.mark.parametrize("n", [2, 3, 1009, 30011])
def test_columns_are_those_of_pandas(n, holes, tmp_path):
    pandas = pytest.importorskip("pandas")
    text, columns, missing = table(n, holes)
    for name in columns:
        missing[name][0] = False
    path = tmp_path / "x.csv"
    path.write_text("\n".join([text.split("\n")[0], "5,1.5,red,2026-01-01T00:00:00.000001", *text.split("\n")[1:]]))
    wanted = pandas.read_csv(path, parse_dates=["t"])
    assert masu.io.columns(path) == list(columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", masu.io.ReadWarning)
        found = masu.io.read(path, list(columns))
        alone = {name: masu.io.read(path, name) for name in columns}
        reverse = masu.io.read(path, [3, 1], header=True)
        together = list(masu.io.pieces(path, ["t", "w", "k"], bytes=3000))
    assert list(found) == list(columns) and [len(x) for x in found.values()] == [n + 1] * 4
    for name, series in wanted.items():
        there = ~series.isna().to_numpy()
        if name == "w":
            assert found[name].dtype == object and found[name].tolist() == series.fillna("").tolist()
        else:
            assert same(found[name], series.to_numpy().astype("M8[us]" if name == "t" else series.dtype))
        assert alone[name].tolist() == (found[name][there].tolist() if name != "k" else [int(x) for x in series[there]])
    assert same(reverse[3], found["t"]) and same(reverse[1], found["v"])
    for name in "twk":
        assert np.concatenate([piece[name] for piece in together]).tolist() == pytest.approx(found[name].tolist(), nan_ok=True) if name == "k" else True
        assert len(np.concatenate([piece[name] for piece in together])) == n + 1
    assert np.array_equal(np.concatenate([piece["t"] for piece in together]), found["t"], equal_nan=True)


def test_columns_of_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text("a,b,c\n1,x,2.5\n3,y,4\n"))
    writer.start()
    found = masu.io.read(tmp_path / "pipe", ["a", 1, "c"])
    writer.join()
    assert {name: x.tolist() for name, x in found.items()} == {"a": [1, 3], 1: ["x", "y"], "c": [2.5, 4]}


def test_what_is_missing_is_counted_and_strict_refuses_it(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n,3\nx,4\n5\n6,7\n")
    with pytest.warns(masu.io.ReadWarning, match=r"3 of 5 rows cannot be read: 1 empty \(line 3\), 1 not a number \(line 4: 'x'\), "
                                                 r"1 with a wrong number of fields \(line 5") as told:
        assert masu.io.read(path, "a").tolist() == [1, 6]
    assert told[0].filename == __file__
    with pytest.warns(masu.io.ReadWarning) as told:
        assert masu.io.read(path, ["b", "a"])["a"].tolist()[0::4] == [1, 6]
    assert {one.filename for one in told} == {__file__}
    with pytest.warns(masu.io.ReadWarning) as told:
        assert [list(piece["b"]) for piece in masu.io.pieces(path, ["b"], bytes=16)][0] == [2, 3]
    assert told[0].filename == __file__
    for call in (masu.io.read, masu.io.pieces):
        with pytest.raises(OSError, match="line 3: .*empty"):
            call(path, "a", strict=True)
    # Integers that float64 does not hold are not rounded where it would be needed for NaN.
    path.write_text("a\n9007199254740993\n\"\"\n")
    with pytest.warns(masu.io.ReadWarning):
        assert masu.io.read(path, "a").tolist() == [9007199254740993]
    with pytest.raises(OSError, match="line 2: .*does not fit f64; a column of a list with entries that cannot be read is f64"):
        masu.io.read(path, ["a"])


def test_texts_without_a_column(tmp_path):
    path = tmp_path / "x.txt"
    x = RNG.integers(-5, 5, (100, 7))
    np.savetxt(path, x, fmt="%d")
    assert same(masu.io.read(path), x) and same(masu.io.read(path, dtype="f4"), x.astype("f4")) and in_pieces(x.reshape(-1), path)
    path.write_text("1 2 3\n4 x 6\n")
    for dtype in (None, "f4"):
        with pytest.warns(masu.io.ReadWarning, match="1 of 6 entries"):
            assert same(masu.io.read(path, dtype=dtype), np.array([[1, 2, 3], [4, np.nan, 6]], dtype))
    assert masu.io.read(path, 0).tolist() == [1, 4]
    with pytest.raises(ValueError, match="1 entries cannot be read, and int32 has no NaN"):
        masu.io.read(path, dtype="i4")
    path.write_text("1 2 3\n4\n")
    assert masu.io.read(path).tolist() == [1, 2, 3, 4]
    path.write_text("one\ntwo, three\n")
    assert masu.io.read(path).tolist() == ["one", "two, three"]
    path.write_bytes(b"caf\xe9\n")
    assert masu.io.read(path).tolist() == ["caf\ufffd"]
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"has 2 columns, and the first line has 'a'; choose columns"):
        masu.io.read(path)
    assert masu.io.read(path, header=True).tolist() == [[1, 2]]
    path.write_text("# of a machine\n1\n2\n")
    with pytest.warns(masu.io.ReadWarning, match="1 lines begin with #"):
        assert masu.io.read(path).tolist() == [1, 2]
    path.write_text("a;b\n1,5;2\n")
    assert masu.io.read(path, "a", decimal=",").tolist() == [1.5]
    path.write_text("1\n01\n")
    assert masu.io.read(path, dtype=str).tolist() == ["1", "01"] and masu.io.read(path, 0, dtype=str).tolist() == ["1", "01"]
    assert masu.io.read(path, [0], dtype={0: str})[0].tolist() == ["1", "01"]


def test_json(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps({"a": i, "b": {"c": i / 2}, "d": "x" if i else None}) + "\n" for i in range(5)))
    assert masu.io.columns(path) == ["a", "b.c", "d"]
    with pytest.warns(masu.io.ReadWarning, match="1 of 5 rows cannot be read: 1 empty"):
        found = masu.io.read(path, masu.io.columns(path))
    assert found["a"].tolist() == list(range(5)) and found["b.c"].tolist() == [0, 0.5, 1, 1.5, 2] and found["d"].tolist() == ["", *"xxxx"]
    path.write_text(json.dumps([{f"key{i}": 1 for i in range(100)}]))
    assert len(masu.io.columns(path)) == 100


def test_bfloat16(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(9).astype(ml_dtypes.bfloat16)
    (tmp_path / "x.raw").write_bytes(x.tobytes())
    assert same(masu.io.read(tmp_path / "x.raw", dtype=ml_dtypes.bfloat16, format="raw"), x)


def test_progress(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "1,2.5\n" * 10**6)
    for call in (lambda told: masu.io.read("random:f64:3e7", progress=told), lambda told: masu.io.read(path, ["a", "b"], progress=told),
                 lambda told: list(masu.io.pieces(path, "b", progress=told)), lambda told: list(masu.io.pieces(path, ["a", "b"], bytes=1 << 20, progress=told)),
                 lambda told: masu.io.read(path, "b", dtype="f4", progress=told)):
        told = []
        thread = threading.get_ident()

        def progress(fraction):
            assert threading.get_ident() == thread and 0 <= fraction <= 1
            told.append((fraction, time.monotonic()))
        call(progress)
        fractions, times = zip(*told)
        assert fractions[-1] == 1 and sorted(fractions) == list(fractions) and fractions.count(1) == 1
        assert all(b - a >= 0.09 for a, b in zip(times, times[1:-1]))

    def stop(fraction):
        raise LookupError("enough")
    for source in (path, "random:f64:1e7"):
        with pytest.raises(LookupError, match="enough"):
            masu.io.read(source, *["a"] * (source is path), progress=stop)


def test_ctrl_c_ends_a_call(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "1,2.5\n" * 3 * 10**6)
    code = ("import masu.io, sys\nprint('there', flush=True)\ntry:\n    while True: masu.io.read(sys.argv[1], 'b')\n"
            "except KeyboardInterrupt:\n    print('interrupted')")
    running = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    running.stdout.readline()
    time.sleep(0.3)
    began = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert out == "interrupted\n" and not err and time.monotonic() - began < 5


def test_pieces_may_be_left_and_threads_may_share_them(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(10**6))
    pieces = masu.io.pieces(tmp_path / "x.npy", bytes=800)
    assert next(pieces).tolist() == list(range(100))
    del pieces
    found = subprocess.run([sys.executable, "-c", "import masu, sys\np = masu.io.pieces('iota:i64:1000', bytes=80); next(p)\nmasu.io.read('iota:i64:10', progress=print)"],
                           capture_output=True, text=True, check=True)
    assert found.stdout.endswith("1.0\n") and not found.stderr


@pytest.mark.parametrize("call,kind,words", [
    (lambda p: masu.io.read(p / "none.csv"), FileNotFoundError, "none.csv: cannot be opened"),
    (lambda p: masu.io.read(p), OSError, "is a directory"),
    (lambda p: masu.io.read(p / "raw"), OSError, "of no known format; .*dtype="),
    (lambda p: masu.io.read(p / "t.csv", "z"), ValueError, "no column is named 'z'; there are: a, b"),
    (lambda p: masu.io.read(p / "t.csv", 5), OSError, "no number|column"),
    (lambda p: masu.io.read(p / "t.csv", -1), ValueError, "column must be a name or a place from 0, got -1"),
    (lambda p: masu.io.read(p / "x.npy", "a"), ValueError, "has no columns: it is npy"),
    (lambda p: masu.io.read(p / "x.npy", ["a"]), ValueError, "has no columns: it is npy"),
    (lambda p: masu.io.read(p / "x.npy", dtype="f4"), ValueError, "holds i64"),
    (lambda p: masu.io.read(p / "t.csv", "a", dtype="c8"), TypeError, "dtype must be one that masu has, got complex64"),
    (lambda p: masu.io.read(p / "t.csv", "a", dtype="u1"), OSError, "line 3: .*300"),
    (lambda p: masu.io.read(p / "t.csv", ["a"], dtype="f4"), TypeError, "dtype of several columns"),
    (lambda p: masu.io.read(p / "t.csv", ["a"], dtype={"a": int}), TypeError, "dtype of several columns must be str"),
    (lambda p: masu.io.read(p / "t.csv", format="xml"), ValueError, "input format: must be one of"),
    (lambda p: masu.io.read(p / "raw", dtype="u1", offset=-1), ValueError, "offset cannot be -1"),
    (lambda p: masu.io.read(p / "t.csv", "a", delimiter=5), ValueError, "delimiter cannot be 5"),
    (lambda p: masu.io.pieces(p / "raw", dtype="u1", bytes=0), ValueError, "bytes must be at least 1, got 0"),
    (lambda p: masu.io.columns(p / "x.npy"), OSError, "npy"),
    (lambda p: masu.io.read(p / "cut.npy"), OSError, "cut.npy"),
    (lambda p: masu.io.read(None), TypeError, "PathLike"),
])
def test_bad_input(call, kind, words, tmp_path):
    (tmp_path / "raw").write_bytes(bytes(range(100)))
    (tmp_path / "t.csv").write_text("a,b\n1,2\n300,4\n")
    np.save(tmp_path / "x.npy", np.arange(5))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-3])
    with pytest.raises(kind, match=words):
        call(tmp_path)


def test_a_missing_library_is_named(tmp_path):
    """In a process whose libbz2 is none."""
    (tmp_path / "x.bz2").write_bytes(bz2.compress(b"1\n"))
    (tmp_path / "libbz2.so.1.0").write_bytes(b"")
    code = "import masu.io, sys\ntry: masu.io.read(sys.argv[1])\nexcept ImportError as error: print(error)"
    found = subprocess.run([sys.executable, "-c", code, tmp_path / "x.bz2"], capture_output=True, text=True,
                           env=os.environ | {"LD_LIBRARY_PATH": str(tmp_path)})
    assert "x.bz2: " in found.stdout and "libbz2.so.1.0 (Debian: libbz2-1.0)" in found.stdout, found
    assert {"PNG", "xz"} <= {name for name, _, _ in masu.io.formats()}


def test_docstrings():
    for name in masu.io.__all__:
        thing = getattr(masu.io, name)
        assert thing.__doc__, name
        for test in doctest.DocTestFinder().find(thing, name):
            assert not doctest.DocTestRunner().run(test).failed, name


@pytest.mark.parametrize("column,kind,words", [
    (1.0, TypeError, "column must be a name, a place from 0 or a list of these, got 1.0"), (True, TypeError, "got True"), ([None, "a"], TypeError, "got None"),
    (["a", 1.5], TypeError, "got 1.5"), (["a", -1], ValueError, "got -1"), (["a", "z"], ValueError, "no column is named 'z'")])
def test_columns_that_are_none(column, kind, words, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    for call in (masu.io.read, lambda *args: list(masu.io.pieces(*args))):
        with pytest.raises(kind, match=words):
            call(tmp_path / "t.csv", column)


def test_other_names_of_files_and_columns(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    path = os.fsencode(tmp_path / "t.csv")
    for names in (("a", "b"), np.array(["a", "b"]), {"a": 1, "b": 2}, iter(["a", "b"])):
        assert {name: x.tolist() for name, x in masu.io.read(path, names).items()} == {"a": [1, 2], "b": ["x", "y"]}
    assert masu.io.read(path, []) == {} and masu.io.columns(path) == ["a", "b"]
    # A name among the columns says that the first line has names, for places too.
    assert masu.io.read(path, [0, "b"])[0].tolist() == [1, 2]
    (tmp_path / "p.parquet").write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(OSError, match="is a Parquet file; masu does not read it, another library must$"):
        masu.io.read(tmp_path / "p.parquet")
