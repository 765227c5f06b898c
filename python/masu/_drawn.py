# SPDX-License-Identifier: Apache-2.0
"""Charts of histograms: SVG in a page of HTML, matplotlib's, and lines on a terminal as the command writes them."""
from __future__ import annotations

import html as _html
import shutil
import sys

import numpy as np

_WIDTH, _HEIGHT, _MOST = 400, 200, 100  # pixels, and bars or squares along an axis


def _coarse(values):
    """At most so many values along each axis: the greatest ones of neighbours."""
    for d, size in enumerate(values.shape):
        step = -(-size // _MOST)
        values = np.maximum.reduceat(values, np.arange(0, size, step), axis=d)
    return values


def html(h):
    """A histogram as HTML: a chart of one or two axes, and a table."""
    values, axes = np.nan_to_num(h.values(), posinf=0, neginf=0), h.axes
    shapes = ""
    if values.ndim <= 2:
        values = np.maximum(_coarse(values), 0) / max(values.max(), np.finfo(float).tiny)
        width = _WIDTH / len(values)
        if values.ndim == 1:
            shapes = "".join(f'<rect x="{i * width:.2f}" y="{_HEIGHT * (1 - v):.2f}" width="{width:.2f}" height="{_HEIGHT * v:.2f}"/>'
                             for i, v in enumerate(values.tolist()) if v > 0)
        else:
            height = _HEIGHT / values.shape[1]
            shapes = "".join(f'<rect x="{i * width:.2f}" y="{_HEIGHT - (j + 1) * height:.2f}" width="{width:.2f}" height="{height:.2f}" '
                             f'opacity="{values[i, j]:.3f}"/>' for i, j in zip(*(place.tolist() for place in np.nonzero(values))))
        shapes = (f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" fill="currentColor" role="img">'
                  f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="currentColor" opacity="0.3"/>{shapes}</svg>')
    rows = [(axis.label or f"axis {d}", repr(axis)[1:-1]) for d, axis in enumerate(axes)]
    rows += [("sum", f"{float(h.sum()):g}"), ("with flow bins", f"{float(h.sum(flow=True)):g}"), ("nan", f"{h.nan:g}")]
    table = "".join(f"<tr><th>{_html.escape(str(name))}</th><td>{_html.escape(str(text))}</td></tr>" for name, text in rows)
    return f"<div>{shapes}<table>{table}</table></div>"


def plot(h, ax, options):
    """A histogram on matplotlib's axes."""
    axes = h.axes
    if len(axes) > 2:
        raise ValueError(f"plot: there must be one or two axes, got {len(axes)}; see project")
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise ImportError("plot: matplotlib must be installed") from error
        ax = pyplot.gca()
    sides = (ax.xaxis, ax.yaxis)
    for side, axis in zip(sides, axes):
        if axis.label:
            side.set_label_text(axis.label)
        if axis.kind == "category":
            side.set_ticks(axis.centers, [str(label) for label in axis])
        elif axis.kind == "log":
            (ax.set_xscale if side is ax.xaxis else ax.set_yscale)("log")
    if len(axes) == 1:
        return ax.stairs(h.values(), axes[0].edges, **options)
    return ax.pcolormesh(axes[0].edges, axes[1].edges, h.values().T, **options)


_EIGHTHS, _SHADES, _NARROWEST = " ▏▎▍▌▋▊▉", " ·░▒▓█", 10
_PLAIN = str.maketrans({"·": ".", "░": ":", "▒": "+", "▓": "#", "█": "@", "│": "|", "…": ".."})  # for encodings without them
_UNGROUPED, _ROWS, _LINES = 40, 32, 24  # bins that have a row each, rows where more share one, lines of a map


def _grouped(values, axis, d, most):
    """Sums of neighbours, at most so many, with the label of each."""
    step = -(-len(axis) // most)
    firsts = np.arange(0, len(axis), step)
    lasts = np.append(firsts[1:], len(axis)) - 1
    if axis.kind in ("category", "integer"):
        labels = [str(axis[i]) if i == j else f"{axis[i]} … {axis[j]}" for i, j in zip(firsts, lasts)]
    else:
        edges = [int(edge) if edge == np.floor(edge) and abs(edge) < 2**53 else f"{edge:.6g}" for edge in axis.edges.tolist()]
        labels = [f"[{edges[i]}, {edges[j + 1]})" for i, j in zip(firsts, lasts)]
        labels[-1] = labels[-1][:-1] + "]"
    return np.add.reduceat(values, firsts, axis=d), labels, step


def show(h, width, file, log):
    """A histogram of one or two axes as lines of text."""
    axes, file = h.axes, sys.stdout if file is None else file
    if len(axes) > 2:
        raise ValueError(f"show: there must be one or two axes, got {len(axes)}; see project")
    width = shutil.get_terminal_size().columns if width is None else width
    try:
        plain = not "█…│".encode(getattr(file, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        plain = True
    values, labels, steps = h.totals(), [], []
    for d, axis in enumerate(axes):
        most = _LINES if d else max(_NARROWEST, width - 30) if len(axes) == 2 else _UNGROUPED if len(axis) <= _UNGROUPED else _ROWS
        values, names, step = _grouped(values, axis, d, most)
        labels.append(names)
        steps.append(step)
    counts = [f"{count:.6g}" if values.dtype.kind == "f" else str(count) for count in values.ravel().tolist()]
    parts = np.maximum(np.nan_to_num(values.astype(float), nan=0), 0)
    parts = (np.log1p(parts) / np.log1p(parts.max()) if log else parts / parts.max()) if parts.max() > 0 else parts
    if len(axes) == 1:
        label, count = max(map(len, labels[0])), max(map(len, counts))
        room = max(width - label - count - 4, _NARROWEST)
        eighths = np.maximum(np.floor(parts * room * 8 + 0.5), parts > 0).astype(int).tolist()
        bars = ["#" * ((n + 4) // 8) or "." * (n > 0) if plain else "█" * (n // 8) + _EIGHTHS[n % 8] for n in eighths]
        lines = [f"{name:>{label}}  {total:>{count}}  {bar}" for name, total, bar in zip(labels[0], counts, bars)]
    else:
        label = max(map(len, labels[1]))
        cell = max(1, min(4, (width - label - 3) // len(labels[0])))
        shades = np.maximum(np.floor(parts * 5 + 0.5), parts > 0).astype(int)
        lines = [f"{labels[1][j]:>{label}} │{''.join(_SHADES[n] * cell for n in shades[:, j].tolist())}│" for j in reversed(range(len(labels[1])))]
        lines.append(f"across: {axes[0].label or 'axis 0'}, {labels[0][0]} to {labels[0][-1]}; up: {axes[1].label or 'axis 1'}; "
                     f"darkest: {counts[int(parts.argmax())]}")
    shared = [f"{step} bins a place of axis {d}" for d, step in enumerate(steps) if step > 1]
    text = "\n".join([repr(h)[1:-1] + "".join(f", {one}" for one in shared) + (", logarithmic" if log else ""), *(line.rstrip() for line in lines), ""])
    file.write(text.translate(_PLAIN) if plain else text)
