#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole calls along the axes of matrices of every shape, beside PyTorch and CuPy on a GPU, beside NumPy on the CPU.

    python bench/shapes.py [--quick | --sample SEED [--cells N]] [--device cuda|cpu] [--case TEXT,…] [--dtype NAME,…]
                           [--seconds S] [--limit RATIO] [--map MAP.svg] [-o REPORT.jsonl]

A cell is one function of one matrix of R x C elements along one axis. `--quick` (the default) takes 22 shapes of about
2^25 elements and five each of 2^12, 2^19 and 2^27, both axes, f16, f32 and i64, values of a normal distribution times
1,000 (their sums cancel). `--sample` draws cells from the whole grid instead: rows and columns from 1 to 2^27 and their odd
neighbours, totals of about 2^12, 2^19, 2^25 and 2^27, every dtype, uniform, normal and constant values.

The libraries take turns, a synchronisation after each turn. The ratio of a cell is the time of the fastest peer over
masu's; a peer that lacks the function or the dtype is left out. A cell below the limit is measured twice more and counts by
its median. Printed are the cells below 1.0, the count of those below the limit and the geometric mean; `-o` keeps all of
them; `--map` draws them, a square for each shape. With `--seconds`, cells that no time is left for are left out, and counted.
"""
import argparse
import collections
import json
import math
import pathlib
import random
import statistics
import sys
import time

import masu
import numpy as np

QUICK = ("f16", "f32", "i64")
DTYPES = {"f16": np.float16, "bf16": None, "f32": np.float32, "f64": np.float64, "u8": np.uint8, "i32": np.int32, "i64": np.int64}
VALUES = ("uniform", "normal", "constant")
TOTALS = (12, 19, 25, 27)
# Rows of the 22 shapes of 2^25 elements; columns fill them up. Odd ones stand beside powers of two.
QUICK_ROWS = (1, 2, 3, 7, 16, 31, 64, 127, 255, 1000, 1024, 4099, 10007, 32768, 65537, 131071, 262144, 524288, 1 << 21, 1 << 22, 1 << 23, 1 << 24)
QUICK_SMALL = (1, 4, 61, 1024)  # and one column
TURNS = 3
TURN_SECONDS = 0.003
SLOW_SECONDS = 0.2  # a call of this time is made once a turn


def sides(total):
    """Numbers of rows of the whole grid: powers of two, their neighbours, and the primes between."""
    found = set()
    for log in range(total + 1):
        found.update(value for value in ((1 << log) - 1, 1 << log, (1 << log) + 1, prime_above(3 << log >> 1)) if 1 <= value <= 1 << total)
    return sorted(found)


def prime_above(value):
    value = max(value, 2)
    while any(value % divisor == 0 for divisor in range(2, math.isqrt(value) + 1)):
        value += 1
    return value


def shape_of(rows, total):
    return rows, max(1, (1 << total) // rows)


Cell = collections.namedtuple("Cell", "function dtype values rows columns axis")


def quick_cells(functions, dtypes):
    shapes = [shape_of(rows, 25) for rows in QUICK_ROWS]
    for total in (12, 19, 27):
        shapes += [shape_of(rows, total) for rows in QUICK_SMALL] + [(1 << total, 1)]
    return [Cell(function, dtype, "normal", rows, columns, axis)
            for rows, columns in shapes for dtype in dtypes for axis in (0, 1) for function in functions]


def sampled_cells(functions, dtypes, seed, count):
    draw = random.Random(seed)
    grid = {total: sides(total) for total in TOTALS}
    cells = set()
    for _ in range(100 * count):
        total = draw.choice(TOTALS)
        rows, columns = shape_of(draw.choice(grid[total]), total)
        if draw.random() < 0.5:
            rows, columns = columns, rows
        cells.add(Cell(draw.choice(functions), draw.choice(dtypes), draw.choice(VALUES), rows, columns, draw.choice((0, 1))))
        if len(cells) == count:
            break
    return sorted(cells, key=lambda cell: (cell.rows * cell.columns, cell.rows, cell.dtype, cell.values, cell.axis, cell.function))


class OnGpu:
    """PyTorch's tensors, and CuPy's arrays in the same memory."""

    def __init__(self):
        import torch
        self.torch = torch
        try:
            import cupy
        except ImportError:
            cupy = None
        self.cupy = cupy
        self.dtypes = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "u8": torch.uint8,
                       "i32": torch.int32, "i64": torch.int64}
        self.peers = {"torch": self.torch_calls()}
        if cupy is not None:
            self.peers["cupy"] = numpy_calls(cupy)
        self.wait = torch.cuda.synchronize

    def torch_calls(self):
        torch = self.torch

        def only_floats(call):
            def checked(x, axis):
                if not x.is_floating_point():
                    raise TypeError("PyTorch takes floats here")
                return call(x, axis)
            return checked
        return {
            "sum": lambda x, axis: torch.sum(x, axis), "mean": only_floats(lambda x, axis: torch.mean(x, axis)),
            "std": only_floats(lambda x, axis: torch.std(x, axis, correction=0)), "var": only_floats(lambda x, axis: torch.var(x, axis, correction=0)),
            "cumsum": lambda x, axis: torch.cumsum(x, axis), "sort": lambda x, axis: torch.sort(x, axis).values,
            "argsort": lambda x, axis: torch.argsort(x, axis, stable=True), "topk": lambda x, axis: torch.topk(x, k_of(x, axis), axis),
            # PyTorch's median is the lower of the two in the middle: less work, the peer nevertheless.
            "median": lambda x, axis: torch.median(x, axis).values, "quantile": only_floats(lambda x, axis: torch.quantile(x, 0.3, axis)),
        }

    def versions(self):
        return {"device": self.torch.cuda.get_device_name(), "torch": self.torch.__version__, "cupy": self.cupy and self.cupy.__version__}

    def make(self, dtype, values, rows, columns):
        torch, kind = self.torch, self.dtypes[dtype]
        shape = (rows, columns)
        if values == "constant":
            x = torch.full(shape, 7, dtype=kind, device="cuda")
        elif values == "normal":
            x = torch.randn(shape, device="cuda").mul_(1000 if dtype != "u8" else 30).to(kind)
        elif kind.is_floating_point:
            x = torch.rand(shape, device="cuda", dtype=kind)
        else:
            info = torch.iinfo(kind)
            x = torch.randint(info.min, info.max, shape, device="cuda", dtype=kind)
        arrays = {"torch": x}
        if self.cupy is not None and dtype != "bf16":
            arrays["cupy"] = self.cupy.asarray(x)
        return x, arrays

    def free(self):
        self.torch.cuda.empty_cache()
        if self.cupy is not None:
            self.cupy.get_default_memory_pool().free_all_blocks()


class OnCpu:
    """NumPy's arrays."""

    def __init__(self):
        np.seterr(all="ignore")  # f16 overflows in NumPy's sums
        self.peers = {"numpy": numpy_calls(np)}
        self.wait = lambda: None
        self.generator = np.random.default_rng(1)

    def versions(self):
        return {"device": "cpu", "numpy": np.__version__}

    def make(self, dtype, values, rows, columns):
        kind, shape = DTYPES[dtype], (rows, columns)
        if kind is None:
            raise TypeError(f"NumPy has no {dtype}")
        if values == "constant":
            x = np.full(shape, 7, kind)
        elif values == "normal":
            x = (self.generator.standard_normal(shape, np.float32) * np.float32(1000 if dtype != "u8" else 30)).astype(np.int64).astype(kind)
        elif np.dtype(kind).kind == "f":
            x = self.generator.random(shape, np.float32).astype(kind)
        else:
            info = np.iinfo(kind)
            x = self.generator.integers(info.min, info.max, shape, kind)
        return x, {"numpy": x}

    def free(self):
        pass


def k_of(x, axis):
    return min(8, x.shape[axis])


def numpy_calls(np_like):
    """The functions of NumPy and of CuPy, which has the same names."""
    calls = {name: lambda x, axis, call=getattr(np_like, name): call(x, axis=axis)
             for name in ("sum", "mean", "std", "var", "cumsum", "sort", "median")}
    calls["argsort"] = lambda x, axis: np_like.argsort(x, axis=axis, kind="stable")
    calls["quantile"] = lambda x, axis: np_like.quantile(x, 0.3, axis=axis)
    calls["partition"] = lambda x, axis: np_like.partition(x, x.shape[axis] // 2, axis=axis)
    return calls


MASU = {
    "sum": masu.sum, "mean": masu.mean, "std": masu.std, "var": masu.var, "cumsum": masu.cumsum, "sort": masu.sort,
    "argsort": masu.argsort, "median": masu.median, "quantile": lambda x, axis: masu.quantile(x, 0.3, axis=axis),
    "topk": lambda x, axis: masu.topk(x, k_of(x, axis), axis=axis),
    "partition": lambda x, axis: masu.partition(x, x.shape[axis] // 2, axis=axis),
}


def run_for(call, times, wait):
    wait()
    start = time.perf_counter()
    for _ in range(times):
        call()
    wait()
    return (time.perf_counter() - start) / times


def seconds_of(calls, wait):
    """The median time of each call, the calls in turns."""
    first = {name: run_for(call, 1, wait) for name, call in calls.items()}
    found = {name: [] for name in calls}
    for _ in range(TURNS):
        for name, call in calls.items():
            times = 1 if first[name] > SLOW_SECONDS else int(min(max(TURN_SECONDS / first[name], 1), 50))
            found[name].append(run_for(call, times, wait))
    return {name: statistics.median(times) for name, times in found.items()}


def measure(cell, place, made, limit):
    """The seconds of masu and of each peer that takes the call, or None where masu or every peer refuses it."""
    x, arrays = made
    calls = {"masu": lambda: MASU[cell.function](x, axis=cell.axis)}
    calls["masu"]()
    for name, peer in place.peers.items():
        if cell.function not in peer or name not in arrays:
            continue
        call = lambda function=peer[cell.function], array=arrays[name]: function(array, cell.axis)  # noqa: E731
        try:
            call()
        except Exception:  # every peer raises its own errors for what it lacks
            continue
        calls[name] = call
    if len(calls) == 1:
        return None
    place.wait()
    tries = [seconds_of(calls, place.wait)]
    if ratio_of(tries[0]) < limit:
        tries += [seconds_of(calls, place.wait) for _ in range(2)]
    return sorted(tries, key=ratio_of)[len(tries) // 2]


def ratio_of(seconds):
    return min(value for name, value in seconds.items() if name != "masu") / seconds["masu"]


def draw_map(results, path):
    """A picture for each function: a square for each shape, its colour the worst ratio of that shape's cells."""
    worst = {}
    for cell, seconds in results:
        key = (cell.function, round(math.log2(cell.rows)), round(math.log2(cell.columns)))
        worst[key] = min(worst.get(key, math.inf), ratio_of(seconds))
    functions = list(dict.fromkeys(function for function, _, _ in worst))
    most = max(max(rows, columns) for _, rows, columns in worst) + 1
    square, gap, across = 6, 34, 4
    side = most * square + gap
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{across * side + 10}" height="{-(-len(functions) // across) * side + 40}" '
           'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="#ffffff"/>']
    for index, (limit, colour) in enumerate(COLOURS):
        out.append(f'<rect x="{10 + 110 * index}" y="6" width="10" height="10" fill="{colour}"/>'
                   f'<text x="{24 + 110 * index}" y="15">{"below " + str(limit) if limit < math.inf else "above"}</text>')
    for index, function in enumerate(functions):
        left, top = 10 + index % across * side, 36 + index // across * side
        out.append(f'<text x="{left}" y="{top}">{function}: rows to the right, columns down, 2^0 to 2^{most - 1}</text>'
                   f'<rect x="{left}" y="{top + 4}" width="{most * square}" height="{most * square}" fill="none" stroke="#cccccc"/>')
        for (name, rows, columns), ratio in worst.items():
            if name == function:
                colour = next(colour for limit, colour in COLOURS if ratio < limit)
                out.append(f'<rect x="{left + rows * square}" y="{top + 4 + columns * square}" width="{square}" height="{square}" fill="{colour}">'
                           f'<title>2^{rows} x 2^{columns}: {ratio:.2f}</title></rect>')
    path.write_text("\n".join([*out, "</svg>", ""]), encoding="utf-8")


COLOURS = ((0.6, "#b2182b"), (0.9, "#ef8a62"), (1.0, "#fddbc7"), (2.0, "#92c5de"), (math.inf, "#2166ac"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the fixed list; the default")
    parser.add_argument("--sample", type=int, metavar="SEED", help="cells of the whole grid, drawn by SEED")
    parser.add_argument("--cells", type=int, default=1500, help="of a sample")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--case", default="", help="functions whose name has one of these texts")
    parser.add_argument("--dtype", default="", help="dtypes, by name")
    parser.add_argument("--most", type=int, default=27, help="log2 of the most elements")
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most, about")
    parser.add_argument("--limit", type=float, default=0.9)
    parser.add_argument("--map", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    functions = [name for name in MASU if not options.case or any(part in name for part in options.case.split(","))]
    known = QUICK if options.sample is None else tuple(DTYPES)
    dtypes = [name for name in known if not options.dtype or name in options.dtype.split(",")]
    if not functions or not dtypes:
        parser.error("no function or no dtype has such a name")
    if options.sample is None:
        cells = quick_cells(functions, dtypes)
    else:
        cells = sampled_cells(functions, dtypes, options.sample, options.cells)
    cells = [cell for cell in cells if cell.rows * cell.columns <= 1 << options.most]

    place = OnGpu() if options.device == "cuda" else OnCpu()
    report = options.output.open("w", encoding="utf-8") if options.output else None
    end, results, key, made, counted = time.monotonic() + options.seconds, [], None, None, collections.Counter()
    for cell in cells:
        if time.monotonic() > end:
            counted["no time left"] += 1
            continue
        if cell[1:5] != key:
            made = None
            place.free()
            try:
                made = place.make(*cell[1:5])
            except TypeError:
                pass
            key = cell[1:5]
        try:
            seconds = measure(cell, place, made, options.limit) if made else None
        except TypeError:  # a dtype that masu lacks
            seconds = None
        except Exception as error:  # an error is a result of its own; the other cells are still of interest
            print(f"{cell}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            counted["errors"] += 1
            continue
        if seconds is None:
            counted["not comparable"] += 1
            continue
        results.append((cell, seconds))
        if report is not None:
            print(json.dumps({**cell._asdict(), "us": {name: round(value * 1e6, 2) for name, value in seconds.items()}}), file=report, flush=True)

    about = {**place.versions(), "masu": masu.__version__}
    print(json.dumps(about))
    if report is not None:
        print(json.dumps(about), file=report)
    for cell, seconds in sorted(results, key=lambda result: ratio_of(result[1])):
        if ratio_of(seconds) < 1:
            others = ", ".join(f"{name} {value * 1e6:.1f}" for name, value in seconds.items() if name != "masu")
            print(f"{ratio_of(seconds):7.4f}  {cell.function:9} {cell.dtype:5} {cell.values:8} {cell.rows} x {cell.columns} axis {cell.axis}: "
                  f"masu {seconds['masu'] * 1e6:.1f} us, {others}")
    below = sum(ratio_of(seconds) < options.limit for _, seconds in results)
    print(f"{below} of {len(results)} cells are below {options.limit}"
          + (f", geometric mean {math.exp(statistics.fmean(math.log(ratio_of(s)) for _, s in results)):.3f}" if results else "")
          + "".join(f"; {name}: {number}" for name, number in counted.items()))
    if options.map is not None and results:
        draw_map(results, options.map)
    return 1 if counted["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
