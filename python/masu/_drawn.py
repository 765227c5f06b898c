# SPDX-License-Identifier: Apache-2.0
"""Charts of histograms: SVG in a page of HTML, and matplotlib's."""
from __future__ import annotations

import html as _html

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
