# SPDX-License-Identifier: Apache-2.0
"""Reads files as arrays: images, tables, JSON, .npy, .npz, HDF5 and FITS, also compressed by gzip, zstd, xz or bzip2.

The first bytes of a file decide how it is read. All of it can be read in pieces, so files may be larger than memory. The libraries
of a format are opened when it is first met; `formats` says what this machine can read.
"""
from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import _fallback, _kinds, _masu
from ._progress import Progress

__all__ = ["ReadWarning", "columns", "formats", "pieces", "read"]

_Column = str | int
_STEP = 1 << 22  # elements that are read between two looks at signals
_PARSED = 0.9  # of the time of a text, which is parsed when it is opened


class ReadWarning(UserWarning):
    """Entries of a text that were left out, or a fact about a file that its values do not show."""


def read(path: str | os.PathLike[str], column: _Column | Sequence[_Column] | None = None, *, dtype: Any = None, format: str | None = None,
         header: bool | None = None, delimiter: str | None = None, comment: str | None = None, decimal: str | None = None, strict: bool = False,
         alpha: bool = True, offset: int | None = None, count: int | None = None,
         progress: Callable[[float], object] | None = None) -> Any:
    """Reads a file whole.

    Returns an array. Of an image it is height × width × channels, of .npy, HDF5 and FITS the array in the file. Raw data and a
    column have one dimension. A text without `column` is rows × columns, or has one dimension where its lines have unlike
    numbers of fields. Several columns make a dict of arrays of one length. Numbers keep their values: whole ones are int64
    (uint64 beyond), others float64. A column without a number has dates (datetime64[us]) if one is a date, else texts: `str` in
    an array of objects.

    Parameters
    ----------
    path
        A file. ``"x.npz:NAME"``, ``"x.h5:/path"`` and ``"x.fits:1"`` name one array of several.
    column
        Of a table: the name of a column, or its place from 0. The key of JSON, ``"a.b"`` for b of the object a. A list: several of
        them. A name means that the first line has the names.
    dtype
        Needed for raw data, ">f4" where the greatest byte comes first. Of a text the dtype to read numbers as, or `str`: entries as they stand there. Of several columns a dict
        with `str` for those that are texts.
    format
        "raw", "text", "npy", "image" or "json"; without it the first bytes decide.
    header, delimiter, comment, decimal
        Of a text: whether the first line has names; what separates fields (a character, "tab", "blanks", …);
        what starts a comment; the mark in decimals. Without a delimiter the first line decides.
    strict
        Whether an entry or a line that cannot be read is an error. Else entries are left out, or NaN, NaT and "" where the other
        columns of their line are kept; a `ReadWarning` counts them.
    alpha
        False leaves the alpha channel of images out.
    offset, count
        Of raw data: bytes to skip, elements to read.
    progress
        Called by this thread with a fraction from 0 to 1, at most ten times a second and at the end. What it raises ends the call.

    Raises
    ------
    FileNotFoundError, OSError
        The file cannot be read, is damaged, or has no number.
    ImportError
        A library of the format is missing; the message names it.
    ValueError, TypeError
        An option is wrong.

    Examples
    --------
    >>> import masu.io, tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("city,price\\nRome,5\\nOslo,7.5\\n")
    ...     file.flush()
    ...     masu.io.read(file.name, "price")
    array([5. , 7.5])
    """
    tell = Progress(progress)
    options = _options("read", dtype, column, format, header, delimiter, comment, decimal, strict, alpha, offset, count)
    if _is_several(column):
        found = {}
        for name, source in _columns(path, list(column), options, tell).items():
            found[name] = source.rows(0, source.places)
            source.warn()
    else:
        source = _open(path, [column], options, tell)[0]
        found = source.whole()
        source.warn()
    tell(1)
    return found


def pieces(path: str | os.PathLike[str], column: _Column | Sequence[_Column] | None = None, *, bytes: int = 67_108_864, dtype: Any = None,
           format: str | None = None, header: bool | None = None, delimiter: str | None = None, comment: str | None = None,
           decimal: str | None = None, strict: bool = False, alpha: bool = True, offset: int | None = None, count: int | None = None,
           progress: Callable[[float], object] | None = None) -> Iterator[Any]:
    """Iterates over a file in pieces of about `bytes` bytes, at least a row each: what `read` gives, cut along the first axis.

    Arrays in Fortran's order are cut along their last axis. A text without `column` gives its numbers in one dimension, line by line.
    A text is parsed to its end when it is opened, and again where its numbers take more than 1 GiB. Several columns are kept in memory,
    unless the file is larger than half of the free memory. Other parameters and errors are those of `read`.

    >>> import masu, masu.io
    >>> h = masu.Histogram.of([], 4, (0, 256))
    >>> for piece in masu.io.pieces("random:u8:1000", bytes=256):
    ...     h = h.fill(piece)
    >>> int(h.n)
    1000
    """
    if bytes < 1:
        raise ValueError(f"pieces: bytes must be at least 1, got {bytes}")
    tell = Progress(progress)
    options = _options("pieces", dtype, column, format, header, delimiter, comment, decimal, strict, alpha, offset, count)
    if not _is_several(column):
        return _in_pieces(_open(path, [column], options, tell)[0], bytes)
    sources = _columns(path, list(column), options, tell)
    for source in list(sources.values())[:-1]:
        source.last = source.first  # the last one tells
    return _rows_in_pieces(sources, bytes)


def columns(path: str | os.PathLike[str], *, format: str | None = None, delimiter: str | None = None, comment: str | None = None,
            decimal: str | None = None) -> list[str]:
    """The names of a table's columns: the fields of a text's first line, or the keys of the first JSON object.

    Raises as `read` does, and OSError for what is no table.
    """
    return _said(_masu.columns_of_input, os.fsdecode(path), {"format": format, "delimiter": delimiter, "comment": comment, "decimal": decimal})


def formats() -> list[tuple[str, str, str]]:
    """Each format with the endings of its files, and what this machine lacks to read it: "" where it can.

    >>> import masu.io
    >>> [name for name, endings, missing in masu.io.formats() if "npy" in endings]
    ['.npy']
    """
    return _masu.formats()


def _words(text):
    """A text of masu::io with parameters instead of the command's options, and no commands."""
    text = re.sub(r"(: is [^:]+): .* \| masu \.\.\.( -t comma)?(; masu reads .*)?$", r"\1; masu does not read it, another library must", text)
    return re.sub(r"--([a-z-]+) ?", lambda found: {"input-format": "format"}.get(found[1], found[1]) + "=", re.sub(r"(column |')name:", r"\1", text))


def _said(call, *args):
    """What `call` returns; its errors are Python's."""
    try:
        return call(*args)
    except (OSError, TypeError, ValueError) as error:
        text = _words(str(error))
        kind = FileNotFoundError if text.endswith("No such file or directory") else ImportError if "(Debian: " in text else type(error)
        raise kind(text) from None


def _is_several(column):
    return not (column is None or isinstance(column, (str, int, np.integer))) and np.iterable(column)


def _options(name, dtype, column, format, header, delimiter, comment, decimal, strict, alpha, offset, count):
    """The options of an input, without its column."""
    texts = dtype if isinstance(dtype, dict) else {}
    if isinstance(dtype, dict) or dtype is str:
        if wrong := [one for one in texts.values() if one is not str]:
            raise TypeError(f"{name}: dtype of several columns must be str for texts, got {wrong[0]}")
        number = None
    elif dtype is not None and _is_several(column):
        raise TypeError(f"{name}: dtype of several columns must be a dict or str, got {dtype}")
    else:
        number = _kinds.numpy_dtype(name, dtype)
    if number is not None and number != bool and not _kinds.lacking(number) and number.str[1:] not in _kinds.NAMES:
        raise TypeError(f"{name}: dtype must be one that masu has, got {number}")
    return {"format": format, "delimiter": delimiter, "comment": comment, "decimal": decimal, "strict": bool(strict), "alpha": bool(alpha),
            "offset": offset, "count": count, "big_endian": number is not None and not number.isnative, "boolean": number is not None and number == bool, "places": True,
            "dtype": None if number is None else "u8" if number == bool else _kinds.name_of(number),
            "header": header, "texts": texts or dtype is str}


def _open(path, columns, options, tell):
    """Opens columns, read at once, or the one input where the only column is None."""
    chosen, named = [], any(isinstance(column, str) for column in columns)
    for column in columns:
        if not (isinstance(column, (str, int, np.integer)) or column is None and len(columns) == 1) or isinstance(column, bool):
            raise TypeError(f"masu.io: column must be a name, a place from 0 or a list of these, got {column!r:.80}")
        if not (column is None or isinstance(column, str)) and column < 0:
            raise ValueError(f"masu.io: column must be a name or a place from 0, got {column}")
        texts = options["texts"] is True or isinstance(options["texts"], dict) and column in options["texts"]
        chosen.append((f"name:{column}" if isinstance(column, str) else "" if column is None else f"number:{int(column) + 1}", "texts" if texts else "any"))
    options = options | {"header": named if options["header"] is None else bool(options["header"]), "entries": chosen[0][1] if chosen else "any"}
    parsed = _PARSED if options["dtype"] is None else 0.0

    def reading(read, there_are):
        tell(parsed * read / there_are if there_are else 0.0)
    opened = _said(_masu.open_input, os.fsdecode(path), options, [] if columns == [None] else chosen, None if tell.call is None else reading)
    step = (1 - parsed) / max(len(opened), 1)
    return [_Input(source, column, options, tell, parsed + i * step, parsed + (i + 1) * step) for i, (source, column) in enumerate(zip(opened, columns))]


def _columns(path, columns, options, tell):
    """Columns whose entries stand among the rows of all."""
    sources = dict(zip(columns, _open(path, columns, options, tell)))
    places = None
    for source in sources.values():
        source.align(places)
        places = source.places
    return sources


class _Input:
    """An opened input. `first` and `last`: its part of the progress."""

    def __init__(self, source, column, options, tell, first, last):
        self.source, self.tell, self.first, self.last = source, tell, first, last
        self._look()
        self.is_text = self.info["format"] == "text"
        if not self.is_text and column is not None:
            raise ValueError(f"{self.info['name']}: has no columns: it is {self.info['format']}")
        self.parsed = self.is_text and options["dtype"] is None
        if not self.parsed:
            self.first = 0.0
        self.matrix = self.is_text and column is None and self.info["kind"] == "numbers"
        self.shape = self.info["shape"] if self.info["shape"] or self.info["format"] in ("npy", "hdf5") else None
        self.done = 0

    def _look(self):
        self.info = self.source.info()
        self.count = self.info["count"]
        name = self.info["dtype"]
        self.dtype = np.dtype(_kinds.DTYPES[name])

    def elements(self, count):
        """The next elements, as many as there are where `count` is None."""
        if count is None:
            parts = [self.elements(_STEP)]
            while parts[-1].size == _STEP:
                parts.append(self.elements(_STEP))
            return np.concatenate(parts)
        words = np.empty(count, f"u{self.dtype.itemsize}")
        begin = self.done
        while (done := self.done - begin) < count:
            got = _said(self.source.read, words[done:done + _STEP])
            if got == 0:
                words = words[:done]
                break
            self.done += got
            if self.count and self.last > self.first:
                self.tell(self.first + (self.last - self.first) * min(self.done / self.count, 0.999))
        values = words.view(self.dtype)
        if self.info["kind"] == "instants":
            return values.view("M8[us]")
        if self.info["kind"] == "texts":
            if not hasattr(self, "texts"):  # NumPy takes 20 times as long to index its StringDType
                self.texts = np.array([text.decode("utf-8", "replace") for text in self.source.texts()], object)
            return self.texts[values]
        return values.view(np.bool_) if self.info["boolean"] else values

    def whole(self):
        """All elements in their shape."""
        columns = self.source.report()["columns"] if self.matrix and self.parsed else 1
        if columns > 1:
            self.align()
        values = self.elements(self.count)
        if self.shape is not None:
            return values.reshape(self.shape[::-1]).T if self.info["fortran_order"] else values.reshape(self.shape)
        report = self.source.report()
        if not self.matrix or report["columns"] < 2:
            return values
        _, line, entry = report["left_out"].get("not a number", (0, 0, ""))
        if line == 1:
            raise ValueError(f"{self.info['name']}: has {report['columns']} columns, and the first line has {entry}; choose columns of those that "
                             "masu.io.columns() lists, or give header=True")
        if not self.parsed:
            self.align()
        return self._filled(values, 0, 0, report["places"]).reshape(-1, report["columns"])

    def align(self, places=None):
        """Finds where numbers stand among the rows, of which another column has `places`."""
        if not self.is_text:
            raise ValueError(f"{self.info['name']}: has no columns: it is {self.info['format']}")
        self.places = self.source.report()["places"]
        if places is not None and places != self.places:
            raise OSError(f"{self.info['name']}: the columns have unlike numbers of rows, {places} and {self.places}: does the file change?")
        if self.parsed and self.places != self.count and self.info["kind"] == "numbers" and self.dtype.kind != "f":
            try:
                _said(self.source.retype, "f64")
            except OSError as error:
                raise OSError(f"{error}; a column of a list with entries that cannot be read is f64, for NaN: read it alone, or as str (dtype=)") from None
            self._look()
        gaps = np.frombuffer(self.source.gaps(), np.uint64).astype(np.int64).reshape(-1, 2)
        self.numbers, self.missing = (np.concatenate([[0], part]) for part in gaps.T)

    def _before(self, place):
        """How many numbers stand before a row."""
        gap = np.searchsorted(self.numbers + self.missing, place, "right") - 1
        following = self.numbers[gap + 1] if gap + 1 < len(self.numbers) else self.count
        return int(min(place - self.missing[gap], following))

    def rows(self, first, last):
        """The entries of the next rows; what is missing is NaN, NaT or ""."""
        begin = self._before(first)
        return self._filled(self.elements(self._before(last) - begin), begin, first, last)

    def _filled(self, values, begin, first, last):
        if len(values) == last - first:
            return values
        if values.dtype.kind in "iu":
            raise ValueError(f"{self.info['name']}: {last - first - len(values):,} entries cannot be read, and {values.dtype} has no NaN for them")
        filled = np.full(last - first, {"O": "", "M": "NaT"}.get(values.dtype.kind, np.nan), values.dtype)
        numbers = np.arange(begin, begin + len(values))
        filled[numbers + self.missing[np.searchsorted(self.numbers, numbers, "right") - 1] - first] = values
        return filled

    def warn(self):
        """Says what was left out, and what the values do not show."""
        report = self.source.report()
        notes = [_words(note) for note in self.source.info()["notes"] if not note.startswith("alpha is left out")]
        if report["row_names"]:
            notes.append("the header is one name short, so the first column has names of rows")
        if report["comment_lines"]:
            notes.append(f"{report['comment_lines']:,} lines begin with # and were skipped; comment='' reads such lines")
        if left := report["left_out"]:
            kinds = (f"{count:,} {reason} (line {line}{f': {entry}' if entry else ''})" for reason, (count, line, entry) in left.items())
            notes.append(f"{sum(count for count, *_ in left.values()):,} of {report['places']:,} {'rows' if report['rows'] else 'entries'} "
                         f"cannot be read: {', '.join(kinds)}")
        for note in notes:
            warnings.warn(f"{self.info['name']}: {note}", ReadWarning, stacklevel=_fallback.level())


def _in_pieces(source, size):
    if source.shape:
        backwards = source.info["fortran_order"]
        length, *inner = source.shape[::-1] if backwards else source.shape
        row = math.prod(inner)
        step = max(1, size // max(1, row * source.dtype.itemsize))
        for begin in range(0, length if row else 0, step):
            some = min(step, length - begin)
            part = source.elements(some * row).reshape(some, *inner)
            yield part.T if backwards else part
    elif source.shape is not None:
        yield source.whole()
    else:
        step = max(1, size // source.dtype.itemsize)
        while (part := source.elements(step if source.count is None else min(step, source.count - source.done))).size:
            yield part
    source.warn()
    source.tell(1)


def _rows_in_pieces(sources, size):
    places = next(iter(sources.values())).places if sources else 0
    step = max(1, size // max(1, sum(source.dtype.itemsize for source in sources.values())))
    for begin in range(0, places, step):
        yield {name: source.rows(begin, min(begin + step, places)) for name, source in sources.items()}
    for source in sources.values():
        source.warn()
    if sources:
        source.tell(1)
