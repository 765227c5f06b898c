# SPDX-License-Identifier: Apache-2.0
"""Random pictures: pixels as they are stored, a format, and the format's options.

A case is a dictionary: kind (one of DRAW), pixels (height x width x channels), and the options of the kind, all plain
values. A step that makes a case smaller cuts pixels or sets an option to its first value.
"""
import numpy as np

PNG_TYPES = {"gray": (0, 1, [1, 2, 4, 8, 16]), "rgb": (2, 3, [8, 16]), "palette": (3, 1, [1, 2, 4, 8]), "la": (4, 2, [8, 16]), "rgba": (6, 4, [8, 16])}
TIFF_COMPRESSIONS = [None, None, "zlib", "lzw", "packbits", "zstd", "lzma", "lerc", "jpeg", "webp"]
DESCRS = ["<f4", "<f8", "<f2", ">f4", ">f8", ">f2", "|u1", "|i1", "<u2", ">u2", "<i2", ">i2", "<u4", ">u4", "<i4", ">i4", "<u8", ">u8",
          "<i8", ">i8", "|b1", "f4", "float32", "|f4", "=f8", "uint8", "int16", "i8", "u1", "?", "bool", "b1", "H", "d", "e", "float64", "half",
          "double", "single", "B", "Q", "l", "=i4", "|i1", "f", "g", "<c8", "O", "<U3", "S2", "<M8[s]", "V4"]


def one(rng, choices):
    return choices[rng.integers(len(choices))]


def some(rng, probability):
    return bool(rng.random() < probability)


def size(rng):
    return int(rng.integers(1, 71)) if some(rng, 0.3) else int(rng.integers(1, 12))


def pixels(rng, channels, most, dtype="u1", least=0):
    """Height x width x channels of noise, few values, a ramp, or one value."""
    shape = size(rng), size(rng), channels
    kind = rng.integers(4)
    if np.dtype(dtype).kind == "f":
        drawn = rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 4)
        if kind == 1:
            drawn = np.where(rng.random(shape) < 0.1, one(rng, [np.nan, np.inf, -np.inf, -0.0]), drawn)
        return drawn.astype(dtype)
    if kind == 0:
        drawn = rng.integers(least, most, shape, dtype, endpoint=True)
    elif kind == 1:
        drawn = rng.choice(np.array([least, most, most // 2, min(least + 1, most)], dtype), shape)
    elif kind == 2:
        drawn = (np.arange(np.prod(shape)).reshape(shape) % min(int(most) - int(least) + 1, 2**62) + int(least)).astype(dtype)
    else:
        drawn = np.full(shape, rng.integers(least, most, dtype=dtype, endpoint=True), dtype)
    return drawn


def png(rng):
    kind = one(rng, list(PNG_TYPES))
    depth = int(one(rng, PNG_TYPES[kind][2]))
    entries = int(rng.integers(1, 2**depth + 1)) if kind == "palette" else 0
    most = entries - 1 if entries and not some(rng, 0.08) else 2**depth - 1
    case = {"pixels": pixels(rng, PNG_TYPES[kind][1], most, "u2" if depth == 16 else "u1"), "type": kind, "depth": depth,
            "interlace": some(rng, 0.25), "filters": int(one(rng, [0, 1, 2, 3, 4, 5])), "transparent": None, "palette": None, "frames": 1}
    if entries:
        case["palette"] = (rng.integers(0, 256, (entries, 3)) if some(rng, 0.7) else np.repeat(rng.integers(0, 256, (entries, 1)), 3, 1)).tolist()
        if some(rng, 0.3):
            case["transparent"] = rng.integers(0, 256, int(rng.integers(1, entries + 1))).tolist()
    elif kind in ("gray", "rgb") and some(rng, 0.25):
        case["transparent"] = case["pixels"][0, 0].tolist() if some(rng, 0.6) else [int(rng.integers(0, 2**depth))] * PNG_TYPES[kind][1]
    if some(rng, 0.06):
        case["frames"] = 2
    return case


def pnm(rng):
    kind = one(rng, ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P7"])
    most = 1 if kind in ("P1", "P4") else int(one(rng, [255, 255, 1, 3, 15, 100, 256, 1023, 65535]))
    channels = {"P3": 3, "P6": 3, "P7": int(rng.integers(1, 5))}.get(kind, 1)
    return {"pixels": pixels(rng, channels, most, "u2" if most > 255 else "u1"), "type": kind, "most": most, "comment": some(rng, 0.2),
            "images": int(one(rng, [1, 1, 1, 1, 2, 3])) if kind not in ("P1", "P2", "P3") else 1, "break": one(rng, ["\n", " ", "\r\n"]) if kind in ("P1", "P2", "P3") else "\n"}


def pfm(rng):
    return {"pixels": pixels(rng, int(one(rng, [1, 3])), 0, "f4"), "scale": float(one(rng, [-1.0, 1.0, -1.0, 2.5, -0.5, -255.0]))}


def bmp(rng):
    bits = int(one(rng, [1, 4, 8, 8, 16, 24, 32]))
    entries = int(rng.integers(1, 2**bits + 1)) if bits <= 8 else 0
    if bits == 1:
        entries = 2
    case = {"pixels": pixels(rng, 1 if entries else 3, entries - 1 if entries else 31 if bits == 16 else 255), "bits": bits, "palette": None,
            "top down": some(rng, 0.2), "rle": bits in (4, 8) and some(rng, 0.3), "over": False, "header": int(one(rng, [40, 40, 12, 108, 124]))}
    if entries:
        kind = rng.integers(3)
        case["palette"] = (rng.integers(0, 256, (entries, 3)) if kind == 0 else np.repeat(rng.integers(0, 256, (entries, 1)), 3, 1) if kind == 1
                           else np.repeat(np.linspace(0, 255, entries).astype(int)[:, None], 3, 1)).tolist()
    if case["rle"]:
        case["top down"], case["over"], case["header"] = False, some(rng, 0.4), 40
    if case["header"] == 12:
        case["top down"] = False
        if bits in (16, 32):
            case["header"] = 40
    return case


def pillow(rng):
    kind = one(rng, ["PNG", "JPEG", "JPEG", "BMP", "TIFF", "TIFF", "TIFF", "WEBP", "WEBP", "PPM", "MPO"])
    modes = {"PNG": ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"], "JPEG": ["L", "RGB", "CMYK"], "BMP": ["1", "L", "P", "RGB", "RGBA"],
             "TIFF": ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "I;16", "F", "I"], "WEBP": ["L", "RGB", "RGBA"], "PPM": ["1", "L", "RGB", "I;16", "F"],
             "MPO": ["RGB"]}
    mode = one(rng, modes[kind])
    channels = {"LA": 2, "PA": 2, "RGB": 3, "RGBA": 4, "RGBX": 4, "CMYK": 4}.get(mode, 1)
    dtype, most = {"I;16": ("u2", 65535), "F": ("f4", 0), "I": ("i4", 2**31 - 1)}.get(mode, ("u1", 1 if mode == "1" else 255))
    case = {"format": kind, "mode": mode, "pixels": pixels(rng, channels, most, dtype), "palette": None, "options": {}, "orientation": 1, "frames": 1}
    options = case["options"]
    if mode in ("P", "PA"):
        case["palette"] = rng.integers(0, 256, 768).tolist()
    if kind == "TIFF":
        compressions = [None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "zstd"]
        compressions += ["group3", "group4", "tiff_ccitt"] * 2 if mode == "1" else ["lzma", "jpeg"] if mode in ("L", "RGB") else []
        options["compression"] = one(rng, compressions)
        case["orientation"] = int(rng.integers(2, 9)) if some(rng, 0.1) else 1
    if kind in ("JPEG", "MPO"):
        options.update(quality=int(rng.integers(10, 101)), progressive=some(rng, 0.3), optimize=some(rng, 0.2))
        if mode == "RGB":
            options["subsampling"] = int(one(rng, [0, 1, 2]))
            options["keep_rgb"] = some(rng, 0.1)
        if some(rng, 0.2):
            options["restart_marker_blocks"] = int(rng.integers(1, 9))
        case["orientation"] = int(rng.integers(2, 9)) if kind == "JPEG" and some(rng, 0.1) else 1
    if kind == "WEBP":
        options.update(lossless=some(rng, 0.5), quality=int(rng.integers(10, 101)), exact=True)
        case["orientation"] = int(rng.integers(2, 9)) if some(rng, 0.05) else 1
    if kind in ("WEBP", "TIFF", "PNG", "MPO"):
        case["frames"] = 2 if kind == "MPO" or some(rng, 0.1) else 1
    if kind == "PNG" and mode in ("L", "P") and some(rng, 0.2):
        options["transparency"] = int(rng.integers(0, 256))
    return case


def tifffile(rng):
    photometric = one(rng, ["minisblack"] * 4 + ["miniswhite"] * 2 + ["rgb"] * 4 + ["palette", "separated", "separated"])
    channels = {"rgb": int(one(rng, [3, 3, 4])), "separated": 4}.get(photometric, int(one(rng, [1, 1, 1, 2])) if photometric == "minisblack" else 1)
    dtype = one(rng, ["u1", "u1", "u1", "u2", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"])
    if photometric in ("palette", "separated"):
        dtype = one(rng, ["u1", "u2"]) if photometric == "separated" else "u1"
    bits = None
    if dtype in ("u1", "u2") and photometric in ("minisblack", "miniswhite", "rgb") and some(rng, 0.3):
        bits = int(one(rng, [1, 2, 4, 3, 5, 7] if dtype == "u1" else [10, 12, 14, 9, 15]))
    kind = np.dtype(dtype).kind
    if kind in "ui":
        ends = np.iinfo(dtype)
        drawn = pixels(rng, channels, 2**bits - 1 if bits else ends.max, dtype, ends.min)
    else:
        drawn = pixels(rng, channels, 0, dtype)
    case = {"pixels": drawn, "photometric": photometric, "bits": bits, "compression": one(rng, TIFF_COMPRESSIONS), "predictor": False, "planar": False,
            "tile": None, "big": some(rng, 0.1), "order": one(rng, ["<", "<", ">"]), "extra": None, "pages": int(one(rng, [1] * 8 + [2, 3])),
            "rows": one(rng, [None, None, 1, 3]), "orientation": int(rng.integers(2, 9)) if some(rng, 0.08) else 1, "nodata": one(rng, [None] * 12 + ["0", "-9999"])}
    if case["compression"] in ("jpeg", "webp", "lerc") and (dtype != "u1" or bits or photometric in ("palette", "separated") or channels in (2, 4)):
        case["compression"] = None
    if case["compression"] == "webp" and channels != 3:
        case["compression"] = None
    if bits:
        case["compression"] = None
        case["order"] = "<" if bits > 8 else case["order"]  # tifffile 2026.3.3 packs swapped words in big-endian files
    if case["compression"] in ("zlib", "lzw", "zstd", "lzma") and not bits:
        case["predictor"] = some(rng, 0.4)
    if channels > 1 and some(rng, 0.3) and case["compression"] not in ("jpeg", "webp", "lerc") and not bits:
        case["planar"] = True
    if some(rng, 0.2):
        case["tile"] = (16 * int(rng.integers(1, 4)), 16 * int(rng.integers(1, 4)))
    if channels in (2, 4) and photometric != "separated":
        case["extra"] = one(rng, ["unassalpha", "assocalpha", "unspecified"])
    if case["tile"]:
        case["rows"] = None
    return case


def imagecodecs(rng):
    kind = one(rng, ["png", "jpeg", "jpeg", "webp"])
    channels = int(one(rng, {"png": [1, 2, 3, 4], "jpeg": [1, 3, 4], "webp": [3, 4]}[kind]))
    wide = kind == "png" and some(rng, 0.4)
    return {"format": kind, "pixels": pixels(rng, channels, 65535 if wide else 255, "u2" if wide else "u1"), "level": int(rng.integers(20, 101)),
            "subsampling": one(rng, ["444", "422", "420", "411", "440"]), "lossless": some(rng, 0.6)}


def npy(rng):
    descr = one(rng, DESCRS)
    return {"descr": descr, "shape": tuple(int(rng.integers(0, 6)) if some(rng, 0.1) else int(rng.integers(1, 6)) for _ in range(rng.integers(0, 4))),
            "fortran": some(rng, 0.3), "version": int(one(rng, [1, 1, 2, 3])), "archive": one(rng, ["", "", "npz", "compressed", "bare"]),
            "spaces": some(rng, 0.1), "pixels": rng.integers(0, 256, 2048, "u1")}


DRAW = {"png": png, "pnm": pnm, "pfm": pfm, "bmp": bmp, "pillow": pillow, "tifffile": tifffile, "imagecodecs": imagecodecs, "npy": npy}
SHARES = ["png", "png", "pnm", "pfm", "bmp", "pillow", "pillow", "pillow", "tifffile", "tifffile", "tifffile", "imagecodecs", "npy"]


def draw(rng):
    kind = one(rng, SHARES)
    case = {"kind": kind, **DRAW[kind](rng), "compressed": some(rng, 0.08)}
    if case.get("format") in ("JPEG", "jpeg"):
        case["junk"] = some(rng, 0.06)  # two bytes before a marker, which readers step over
    return case


PLAIN = {"compressed": False, "junk": False, "interlace": False, "filters": 0, "transparent": None, "frames": 1, "comment": False, "images": 1, "break": "\n", "scale": -1.0, "top down": False,
         "header": 40, "orientation": 1, "options": {}, "compression": None, "predictor": False, "planar": False, "tile": None, "big": False, "order": "<",
         "extra": None, "pages": 1, "rows": None, "nodata": None, "fortran": False, "version": 1, "archive": "", "spaces": False, "shape": (3,),
         "rle": False, "over": False, "lossless": True}


def smaller_cases():
    def cut(case):
        if case["kind"] == "npy":
            return
        height, width = case["pixels"].shape[:2]
        for rows, columns in [(height // 2, width), (height, width // 2), (height - 1, width), (height, width - 1)]:
            if rows > 0 and columns > 0 and (rows, columns) != (height, width):
                yield {**case, "pixels": case["pixels"][:rows, :columns]}
                yield {**case, "pixels": case["pixels"][height - rows:, width - columns:]}

    def plainer(case):
        for name, value in PLAIN.items():
            if name in case and case[name] != value:
                yield {**case, name: value}

    def zeros(case):
        if case["pixels"].any() and case["kind"] != "npy":
            yield {**case, "pixels": np.zeros_like(case["pixels"])}

    return [cut, plainer, zeros]
