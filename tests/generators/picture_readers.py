# SPDX-License-Identifier: Apache-2.0
"""The other readers of pictures. read_all(data, path) gives {reader: height x width x channels}, in one form (plain())."""
import io
import logging
import warnings

import numpy as np
from sources import library

PIL = library("PIL.Image", "pillow")
tifffile, codecs, cv2, imageio = library("tifffile"), library("imagecodecs"), library("cv2", "opencv-python-headless"), library("imageio.v3", "imageio")
try:
    import pyvips
except (ImportError, OSError) as error:
    pyvips = None
    print(f"skipped: pyvips ({error})")
if PIL:
    from PIL import Image
logging.getLogger("tifffile").setLevel(logging.CRITICAL)
if cv2:
    cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)


def plain(array):
    """Float64, three axes; equal red, green and blue are gray; alpha that hides nothing is left out."""
    kind = np.asarray(array).dtype
    array = np.asarray(array, "f8")
    array = array[:, :, None] if array.ndim == 2 else array
    channels = array.shape[2]
    if channels in (2, 4):
        opaque = {"u": 2.0 ** (8 * kind.itemsize) - 1, "i": 255.0}.get(kind.kind, 1.0)
        if (array[:, :, -1] == opaque).all():
            array = array[:, :, :-1]
    if array.shape[2] in (3, 4) and (array[:, :, :1] == array[:, :, :3]).all():
        array = np.delete(array, [1, 2], 2)
    return array + 0.0  # without the signs of zeros


def by_pillow(data, path):
    with Image.open(io.BytesIO(data)) as image:
        image.load()
        if image.mode == "P" or (image.mode == "PA") or (image.mode in ("1", "L", "RGB") and "transparency" in image.info):
            alpha = image.mode == "PA" or "transparency" in image.info
            image = image.convert("RGBA" if alpha else "RGB")
        if image.mode == "1":
            image = image.convert("L")
        return np.asarray(image)


def by_cv2(data, path):
    array = cv2.imdecode(np.frombuffer(data, "u1"), cv2.IMREAD_UNCHANGED)
    if array is None:
        raise ValueError("not read")
    if array.ndim == 3 and array.shape[2] >= 3:
        array = array[:, :, [2, 1, 0, *range(3, array.shape[2])]]
    return array


def by_vips(data, path):
    image = pyvips.Image.new_from_buffer(data, "")
    return image.numpy()


def by_tifffile(data, path):
    if data[:2] not in (b"II", b"MM"):
        raise ValueError("no TIFF")
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        page = file.pages[0]
        array = page.asarray()
        if page.planarconfig == 2 and array.ndim == 3:
            array = array.transpose(1, 2, 0)
        if page.photometric == 3:
            colours = page.colormap
            array = (colours[:, array] >> (8 if (colours % 257 == 0).all() else 0)).transpose(1, 2, 0)
            array = array.astype("u1" if (colours % 257 == 0).all() else "u2")
        return array.astype("u1") if array.dtype == bool else array


def by_imagecodecs(data, path):
    if data[:4] == b"\x89PNG":
        return codecs.png_decode(data)
    if data[:2] == b"\xff\xd8":
        return codecs.jpeg8_decode(data)
    if data[:4] == b"RIFF":
        return codecs.webp_decode(data)
    raise ValueError("another reader's")


def by_imageio(data, path):
    return imageio.imread(path, index=0)


READERS = {"pillow": (PIL, by_pillow), "cv2": (cv2, by_cv2), "pyvips": (pyvips, by_vips), "tifffile": (tifffile, by_tifffile),
           "imagecodecs": (codecs, by_imagecodecs), "imageio": (imageio, by_imageio)}


def read_all(data, path):
    found = {}
    for name, (module, reader) in READERS.items():
        if module is None:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[name] = plain(reader(data, path))
        except Exception:  # whatever a reader raises for what it does not read
            continue
    return found
