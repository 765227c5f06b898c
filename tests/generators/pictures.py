#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random pictures and arrays (picture_cases.py), read by masu and by six other readers, compared pixel by pixel.

    python tests/generators/pictures.py --count 100 --seed 1

A fault is a picture that masu reads without a note and that most of its readers see otherwise, one that is neither what they
see nor what was stored, and a crash. Errors of masu are counted by their words. Needs tests/generators/requirements.txt and
the program masu_read_many.
"""
import collections
import gzip
import io
import re
import sys

import numpy as np
import picture_cases
import picture_readers
import picture_writers
import sources

# Pictures that masu gives as another one than most readers, without a note, by a rule: (whether, the line of docs/inputs.md).
EXPLAINED = []


def explained(why):
    """Registers a rule: a function of (case, masu's picture, the readers') that says whether it explains a difference."""

    def register(function):
        EXPLAINED.append((function, why))
        return function

    return register


@explained("BMP: samples of other than 8 bits are scaled to 0 … 255, rounded")
def scaled(case, mine, want):
    """Pillow cuts, OpenCV shifts the 5 bits of a sample."""
    return case["kind"] == "bmp" and case["bits"] == 16 and mine.shape == want.shape and abs(mine - want).max() <= 7


@explained("TIFF: samples keep their values")
def cut(case, mine, want):
    """Pillow and vips cut samples of 16 bits to 8."""
    stored = case["pixels"]
    return case["kind"] == "tifffile" and stored.dtype.itemsize == 2 and want.max() <= 255 and same(mine, picture_readers.plain(stored))


def of_masu(answer):
    """The elements as height x width x channels."""
    return answer["elements"].reshape(answer["shape"])


def key(array):
    return array.shape, array.tobytes()


def majority(others):
    """The picture that more than half of the readers have, at least two of them. imageio, which reads with the others, has no
    vote of its own where it agrees with one."""
    votes = {name: array for name, array in others.items() if name != "imageio"}
    if "imageio" in others and key(others["imageio"]) not in map(key, votes.values()):
        votes["imageio"] = others["imageio"]
    counts = collections.Counter(key(array) for array in votes.values())
    if not counts:
        return None
    best, count = counts.most_common(1)[0]
    if count >= 2 and 2 * count > len(votes):
        return next(array for array in votes.values() if key(array) == best)
    return None


def same(mine, theirs):
    return mine.shape == theirs.shape and np.array_equal(mine, theirs, equal_nan=True)


def in_general(text):
    text = re.sub(r"^\S*masu-generators-\S*?: ", "", text)
    return re.sub(r"-?[0-9][0-9.,e+]*", "N", re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", text))[:100]


def summary(array):
    flat = array.reshape(-1)[:24].tolist()
    return f"{array.shape} {flat}"


class Checker:
    def __init__(self, masu, place):
        self.masu, self.place = masu, place

    def check(self, case, counts):
        try:
            data, ending, stored = picture_writers.write(case)
        except picture_writers.Refused as error:
            counts.note(f"not written by {case['kind']}", (str(error), options(case)))
            return []
        if case.get("junk"):
            data = data.replace(b"\xff\xdb", b"\0\0\xff\xdb", 1)
        path = f"{self.place}/p.{ending}"
        with open(path, "wb") as file:
            file.write(data)
        mine = path + (".gz" if case["compressed"] else "")
        if case["compressed"]:
            with open(mine, "wb") as file:
                file.write(gzip.compress(data, 1))
        answer = self.masu.read(input=mine, map=len(data) % 2 == 0)
        if "crash" in answer:
            counts.note("crash")
            return [("crash", answer["crash"])]
        if case["kind"] == "npy":
            return self.check_array(case, data, ending, answer, counts)
        others = picture_readers.read_all(data, path)
        want = majority(others)
        label = case["kind"] + (" " + case["format"] if "format" in case else "")
        if "error" in answer:
            counts.note(f"{label}: refused{'' if want is None else ' though most read it'}: {in_general(answer['error'])}", (options(case), answer["error"]))
            return []
        if answer["format"] in ("text", "raw"):
            counts.note(f"{label}: read as {answer['format']}", options(case))
            return [("no picture", f"{label} is read as {answer['format']}")]
        mine, notes = picture_readers.plain(of_masu(answer)), answer.get("notes") or []
        for why, words in wanted_notes(case, data, answer):
            if not any(re.search(words, note) for note in notes):
                counts.note(f"{label}: no note of {why}", options(case))
                return [("no note of " + why, f"masu's notes: {notes}")]
        good = stored is None or same(mine, picture_readers.plain(stored_as(stored, answer)))
        if want is not None and same(mine, want):
            counts.note("same" + (", said: " + in_general(notes[0]) if notes else ""))
            return []
        if want is None:
            agree = ", ".join(name for name, array in others.items() if same(mine, array)) or "no other reader"
            known = "" if stored is None else ", as stored" if good else ", not as stored"
            counts.note(f"{label}: no majority{known}" + (f", as {agree}" if stored is None or not good else ""), (options(case), sorted(others)))
            return [] if good or notes or not others else [("neither", self.text(mine, None, others, notes, stored))]
        why = next((line for rule, line in EXPLAINED if rule(case, mine, want)), None)
        if notes or why:
            counts.note(f"{label}: differs, " + (f"said: {in_general('; '.join(notes))}" if notes else f"by the rule: {why}") + ("" if good else ", not as stored"), (options(case), notes))
            return [] if good else [("neither", self.text(mine, want, others, notes, stored))]
        counts.note(f"{label}: quiet difference")
        return [("quiet difference", self.text(mine, want, others, notes, stored))]

    def text(self, mine, want, others, notes, stored):
        lines = [f"masu {summary(mine)}, notes {notes}"] + [f"{name} {summary(array)}" for name, array in others.items()]
        return "\n    ".join([*lines, "stored " + ("unknown" if stored is None else summary(picture_readers.plain(stored)))])

    def check_array(self, case, data, ending, answer, counts):
        """Arrays: NumPy says what the file holds."""
        try:
            want = np.load(io.BytesIO(data))
            if ending == "npz":
                want = want[want.files[0]]
        except Exception as error:
            counts.note("npy: refused by NumPy and " + ("by masu" if "error" in answer else "read by masu"), (options(case), str(error)))
            return []
        if "error" in answer:
            kind = want.dtype.kind if isinstance(want, np.ndarray) else "?"
            counts.note(f"npy: refused, kind {kind}: {in_general(answer['error'])}", (options(case), answer["error"]))
            return []
        mine = answer["elements"].reshape(answer["shape"], order="F" if answer["fortran_order"] else "C")
        want = want.astype("u1") if want.dtype == bool else want
        good = mine.dtype == want.dtype.newbyteorder("<") and mine.shape == want.shape and np.array_equal(mine, want, equal_nan=want.dtype.kind == "f")
        counts.note("npy: " + ("same" if good else "another array"))
        return [] if good else [("npy", f"masu {mine.dtype} {summary(mine)}, NumPy {want.dtype} {summary(want)}")]


def stored_as(stored, answer):
    """The samples as the writer stored them; masu gives colour maps of 8 bits as u8."""
    stored = np.asarray(stored)
    if answer["dtype"] == "u8" and stored.max(initial=0) > 255 and (stored[:, :, :3] % 257 == 0).all():
        return stored // 257
    return stored.astype(np.dtype(sources.DTYPES[answer["dtype"]])) if stored.dtype.kind != "f" else stored


def wanted_notes(case, data, answer):
    """What a note must say of this file: (why, words of it)."""
    kind = case["kind"]
    # Writers leave out frames that are equal.
    several = {"WEBP": data.count(b"ANMF") > 1, "PNG": b"fdAT" in data}.get(case.get("format"), True)
    if max(case.get(name, 1) for name in ("frames", "images", "pages")) > 1 and several:
        yield "several images", r"image|frame|animation"
    if case.get("orientation", 1) != 1:
        yield "orientation", r"orientation"
    if case.get("photometric") == "miniswhite":
        yield "0 is white", r"white"
    if case.get("nodata") is not None:
        yield "NODATA", r"(?i)nodata"
    if case.get("extra") == "assocalpha":
        yield "colours multiplied by alpha", r"multiplied|associated"
    if kind == "pfm" and abs(case["scale"]) != 1:
        yield "scale", r"scale"
    gray = answer["channels"] in (["gray"], ["gray", "alpha"])
    depth = case.get("bits") if kind == "tifffile" else case.get("depth")
    if gray and kind in ("png", "tifffile") and depth is not None and depth < 8 and not case.get("palette"):
        yield "values that are not scaled", r"scaled|bit"
    if kind == "imagecodecs" and case["format"] == "jpeg" and len(answer["channels"]) == 4:
        yield "CMYK without a marker", r"CMYK"
    if kind == "pnm" and case["most"] < 255:
        yield "values that are not scaled", r"scaled|bit"


def options(case):
    return {k: v for k, v in case.items() if k != "pixels"} | {"size": case["pixels"].shape}


def show(case):
    try:
        data = picture_writers.write(case)[0]
    except picture_writers.Refused as error:
        data = error
    text = repr(data) if len(data) < 400 else f"{len(data)} bytes"
    return f"{options(case)}, pixels {case['pixels'].shape} {case['pixels'].reshape(-1)[:12].tolist()}\n  {text}"


def main():
    given = sources.arguments(__doc__.split("\n", maxsplit=1)[0], 100)
    with sources.folder() as place:
        checker = Checker(sources.Masu(given.masu_read_many), place)
        return sources.run("pictures", given, picture_cases.draw, checker.check, picture_cases.smaller_cases(), show)


if __name__ == "__main__":
    sys.exit(main())
