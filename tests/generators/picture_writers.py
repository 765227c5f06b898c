# SPDX-License-Identifier: Apache-2.0
"""Writes a case of picture_cases.py: write(case) gives (bytes, ending of the name, samples as stored or None)."""
import io

import numpy as np
import picture_formats
from sources import library

PIL = library("PIL.Image", "pillow")
tifffile, codecs = library("tifffile"), library("imagecodecs")
if PIL:
    from PIL import Image


class Refused(Exception):
    """A writer has no such format, or is not installed."""


def write(case):
    if case["kind"] in ("pillow", "tifffile", "imagecodecs"):
        needed = {"pillow": PIL, "tifffile": tifffile, "imagecodecs": codecs}[case["kind"]]
        if needed is None:
            raise Refused("not here")
        try:
            return {"pillow": by_pillow, "tifffile": by_tifffile, "imagecodecs": by_imagecodecs}[case["kind"]](case)
        except (ValueError, OSError, KeyError, TypeError, RuntimeError, NotImplementedError, SystemError, struct_error()) as error:
            raise Refused(f"{type(error).__name__}: {error}") from error
    return getattr(picture_formats, case["kind"])(case)


def struct_error():
    import struct

    return struct.error


def picture(case, pixels):
    mode, (height, width) = case["mode"], pixels.shape[:2]
    if mode == "1":
        made = Image.fromarray(np.where(pixels[:, :, 0] != 0, 255, 0).astype("u1")).convert("1", dither=0)
    else:
        dtype = {"I;16": "<u2", "F": "<f4", "I": "<i4"}.get(mode, "u1")
        made = Image.frombytes(mode, (width, height), pixels.astype(dtype).tobytes())
    if case["palette"]:
        made.putpalette(case["palette"])
    return made


def by_pillow(case):
    out, pixels, options = io.BytesIO(), case["pixels"], dict(case["options"])
    made = picture(case, pixels)
    if case["frames"] > 1:
        options.update(save_all=True, append_images=[picture(case, pixels[::-1])])
    if case["orientation"] != 1:
        exif = Image.Exif()
        exif[274] = case["orientation"]
        options["exif"] = exif
    made.save(out, case["format"], **options)
    stored = pixels
    if case["palette"]:
        stored = np.array(case["palette"]).reshape(-1, 3)[pixels[:, :, 0]]
        if case["mode"] == "PA":
            stored = np.concatenate([stored, pixels[:, :, 1:]], 2)
        if "transparency" in options:
            alpha = np.where(pixels == options["transparency"], 0, 255)
            stored = np.concatenate([stored, alpha], 2)
    elif "transparency" in options:
        stored = np.concatenate([pixels, np.where(pixels == options["transparency"], 0, 255)], 2)
    if (case["format"], case["mode"]) == ("PPM", "1"):
        stored = 1 - pixels  # 1 is black
    lossy = case["format"] in ("JPEG", "MPO") or options.get("compression") == "jpeg" or (case["format"] == "WEBP" and not options.get("lossless"))
    return out.getvalue(), case["format"].lower(), None if lossy else stored


def by_tifffile(case):
    out, pixels = io.BytesIO(), case["pixels"]
    gray = pixels.shape[2] == 1
    data = pixels[:, :, 0] if gray else pixels.transpose(2, 0, 1) if case["planar"] else pixels
    tags = [] if case["nodata"] is None else [(42113, 2, 0, case["nodata"], True)]
    if case["orientation"] != 1:
        tags.append((274, 3, 1, case["orientation"], True))
    options = {"photometric": case["photometric"], "compression": case["compression"], "predictor": case["predictor"] or None, "tile": case["tile"],
               "rowsperstrip": case["rows"], "extratags": tags, "metadata": None}
    if not gray:
        options["planarconfig"] = "separate" if case["planar"] else "contig"
    if case["photometric"] == "palette":
        options["colormap"] = colormap()
    if case["extra"]:
        options["extrasamples"] = [case["extra"]]
    if case["bits"]:
        options["bitspersample"] = case["bits"]
    with tifffile.TiffWriter(out, bigtiff=case["big"], byteorder=case["order"]) as writer:
        for page in range(case["pages"]):
            writer.write(np.ascontiguousarray(np.flip(data, -1) if page else data), **options)
    stored = pixels
    if case["photometric"] == "palette":
        stored = colormap()[:, pixels[:, :, 0]].transpose(1, 2, 0)
    return out.getvalue(), "tif", None if case["compression"] in ("jpeg", "webp") else stored


def colormap():
    return (np.arange(768).reshape(3, 256) * 7919 % 256 * 257).astype("u2")


def by_imagecodecs(case):
    pixels = case["pixels"]
    data = np.ascontiguousarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    if case["format"] == "png":
        return codecs.png_encode(data), "png", pixels
    if case["format"] == "webp":
        return codecs.webp_encode(data, level=case["level"], lossless=case["lossless"]), "webp", pixels if case["lossless"] and pixels.shape[2] == 3 else None
    return codecs.jpeg8_encode(data, level=case["level"], subsampling=case["subsampling"] if pixels.shape[2] == 3 else None), "jpg", None
