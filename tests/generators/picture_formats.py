# SPDX-License-Identifier: Apache-2.0
"""Formats written byte by byte, where libraries write few of their kinds: PNG, PNM, PAM, PFM, BMP, .npy and .npz."""
import io
import struct
import zipfile
import zlib

import numpy as np

ADAM7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]


def packed(rows, depth):
    """Samples of 1, 2, 4, 8 or 16 bits as rows of bytes, the first sample in the highest bits."""
    rows = np.ascontiguousarray(rows).reshape(rows.shape[0], -1)
    if depth == 16:
        return rows.astype(">u2").view("u1").reshape(rows.shape[0], -1)
    if depth == 8:
        return rows.astype("u1")
    bits = (rows[:, :, None] >> np.arange(depth - 1, -1, -1)) & 1
    return np.packbits(bits.reshape(rows.shape[0], -1).astype("u1"), axis=1)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def filtered(rows, kind, width):
    """A row's filter byte and its bytes; kind 5: another filter each row."""
    out, above = bytearray(), np.zeros(rows.shape[1], int)
    for at, row in enumerate(rows.astype(int)):
        use = at % 5 if kind == 5 else kind
        left = np.concatenate([np.zeros(width, int), row[:-width]]) if len(row) > width else np.zeros(len(row), int)
        corner = np.concatenate([np.zeros(width, int), above[:-width]]) if len(row) > width else np.zeros(len(row), int)
        guess = left + above - corner
        near = [abs(guess - left), abs(guess - above), abs(guess - corner)]
        paeth = np.where((near[0] <= near[1]) & (near[0] <= near[2]), left, np.where(near[1] <= near[2], above, corner))
        out += bytes([use]) + ((row - [0, left, above, (left + above) // 2, paeth][use]) % 256).astype("u1").tobytes()
        above = row
    return bytes(out)


def png(case):
    kind = {"gray": 0, "rgb": 2, "palette": 3, "la": 4, "rgba": 6}[case["type"]]
    pixels, depth = case["pixels"], case["depth"]
    height, width, channels = pixels.shape
    step = max(1, depth * channels // 8)

    def scanlines(picture):
        passes = ADAM7 if case["interlace"] else [(0, 0, 1, 1)]
        parts = [picture[y::dy, x::dx] for y, x, dy, dx in passes]
        return zlib.compress(b"".join(filtered(packed(p, depth), case["filters"], step) for p in parts if p.size))

    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, case["interlace"]))
    if case["frames"] > 1:
        out += chunk(b"acTL", struct.pack(">II", 2, 0)) + chunk(b"fcTL", struct.pack(">IIIIIHHBB", 0, width, height, 0, 0, 1, 10, 0, 0))
    if case["palette"]:
        out += chunk(b"PLTE", np.array(case["palette"], "u1").tobytes())
    if case["transparent"] is not None:
        out += chunk(b"tRNS", bytes(case["transparent"]) if case["palette"] else struct.pack(f">{channels}H", *case["transparent"]))
    out += chunk(b"IDAT", scanlines(pixels))
    if case["frames"] > 1:
        out += chunk(b"fcTL", struct.pack(">IIIIIHHBB", 1, width, height, 0, 0, 1, 10, 0, 0))
        out += chunk(b"fdAT", struct.pack(">I", 2) + scanlines(pixels[::-1]))
    out += chunk(b"IEND", b"")
    stored = pixels
    if case["palette"]:
        table = np.array(case["palette"])
        if pixels.max() >= len(table):
            return out, "png", None
        if case["transparent"] is not None:
            alpha = np.full((len(table), 1), 255)
            alpha[: len(case["transparent"]), 0] = case["transparent"]
            table = np.concatenate([table, alpha], 1)
        stored = table[pixels[:, :, 0]]
    elif case["transparent"] is not None:
        clear = (pixels == np.array(case["transparent"])).all(2, keepdims=True)
        stored = np.concatenate([pixels, np.where(clear, 0, 2**depth - 1)], 2)
    return out, "png", stored


def pnm(case):
    pixels, kind, most = case["pixels"], case["type"], case["most"]
    height, width, channels = pixels.shape
    note = b"# made by hand\n" if case["comment"] else b""
    if kind == "P7":
        names = {1: b"GRAYSCALE", 2: b"GRAYSCALE_ALPHA", 3: b"RGB", 4: b"RGB_ALPHA"}
        head = b"P7\n%sWIDTH %d\nHEIGHT %d\nDEPTH %d\nMAXVAL %d\nTUPLTYPE %s\nENDHDR\n" % (note, width, height, channels, most, names[channels])
    else:
        head = kind.encode() + b"\n" + note + b"%d %d\n" % (width, height) + (b"" if kind in ("P1", "P4") else b"%d\n" % most)
    if kind in ("P1", "P2", "P3"):
        end = case["break"].encode()
        return head + end.join(b" ".join(b"%d" % v for v in row) for row in pixels.reshape(height, -1).tolist()) + b"\n", "pnm", pixels
    body = packed(pixels, 1 if kind == "P4" else 16 if most > 255 else 8).tobytes()
    return (head + body) * case["images"], "pam" if kind == "P7" else "pnm", pixels


def pfm(case):
    height, width, channels = case["pixels"].shape
    body = case["pixels"][::-1].astype("<f4" if case["scale"] < 0 else ">f4").tobytes()
    return b"%s\n%d %d\n%s\n" % (b"Pf" if channels == 1 else b"PF", width, height, repr(case["scale"]).encode()) + body, "pfm", case["pixels"]


def rle(case):
    """Run-length codes of BMP, with runs over the row's end where asked for."""
    out, bits = bytearray(), case["bits"]
    for row in case["pixels"][::-1, :, 0].tolist():
        at = 0
        while at < len(row):
            run = 1
            while at + run < len(row) and run < 200 and row[at + run] == row[at]:
                run += 1
            more = -len(row) % 4 if case["over"] and at + run == len(row) else 0
            out += bytes([run + more, row[at] if bits == 8 else row[at] * 17])
            at += run
        out += b"\0\0"
    return bytes(out) + b"\0\1"


def bmp(case):
    pixels, bits = case["pixels"], case["bits"]
    height, width = pixels.shape[:2]
    rows = pixels if case["top down"] else pixels[::-1]
    if bits <= 8:
        body = packed(rows, bits)
    elif bits == 16:
        words = rows.astype("u2")
        body = (words[:, :, 0] << 10 | words[:, :, 1] << 5 | words[:, :, 2]).astype("<u2").view("u1").reshape(height, -1)
    else:
        body = np.concatenate([rows[:, :, ::-1], np.zeros((height, width, bits // 8 - 3), "u1")], 2).astype("u1").reshape(height, -1)
    body = np.pad(body, ((0, 0), (0, -body.shape[1] % 4))).tobytes()
    if case["rle"]:
        body = rle(case)
    table = np.array(case["palette"] or np.zeros((0, 3)), "u1")[:, ::-1]
    old = case["header"] == 12
    if old and bits <= 8:
        table = np.pad(table, ((0, 2**bits - len(table)), (0, 0)))
    colours = (table if old else np.pad(table, ((0, 0), (0, 1)))).tobytes()
    start = 14 + case["header"] + len(colours)
    if old:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", case["header"], width, -height if case["top down"] else height, 1, bits,
                           {4: 2, 8: 1}[bits] if case["rle"] else 0, len(body), 2835, 2835, len(table), 0).ljust(case["header"], b"\0")
    out = b"BM" + struct.pack("<IHHI", start + len(body), 0, 0, start) + info + colours + body
    stored = np.array(case["palette"])[pixels[:, :, 0]] if case["palette"] else pixels if bits != 16 else np.round(pixels.astype(int) * 255 / 31)
    if bits == 1 and sorted(map(tuple, case["palette"])) == [(0, 0, 0), (255, 255, 255)]:
        stored = stored[:, :, :1] // 255  # black and white are 0 and 1, as in other files of 1 bit
    return out, "bmp", stored


def npy(case):
    """Elements of any dtype's text; the bytes of a bool are any."""
    dtype = np.dtype(case["descr"])
    count = int(np.prod(case["shape"], dtype=int))
    data = case["pixels"][: count * dtype.itemsize].tobytes()
    if case["descr"] == "O":
        data = b"\0" * 8 * count
    header = f"{{'descr': '{case['descr']}', 'fortran_order': {case['fortran']}, 'shape': {case['shape']}, }}"
    if case["spaces"]:
        header = header.replace(": ", ":   ").replace("'", '"')
    width = 2 if case["version"] == 1 else 4
    header += " " * (-(8 + width + len(header) + 1) % 64) + "\n"
    array = b"\x93NUMPY" + bytes([case["version"], 0]) + len(header).to_bytes(width, "little") + header.encode() + data
    if not case["archive"]:
        return array, "npy", None
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if case["archive"] == "compressed" else zipfile.ZIP_STORED) as archive:
        archive.writestr("a" if case["archive"] == "bare" else "a.npy", array)
    return out.getvalue(), "npz", None
