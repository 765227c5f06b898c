# SPDX-License-Identifier: Apache-2.0
"""NumPy's histograms and sorts, and exact sums, with the same bits on every device."""
from ._bincount import bincount, digitize
from ._histogram import histogram, histogram_bin_edges
from ._histogram_class import Histogram
from ._joint import histogram2d, histogramdd
from ._order import TopK, argpartition, argsort, partition, searchsorted, sort, topk, unique
from ._quantile import median, quantile
from ._sums import cumsum, dot, sum

__all__ = [
    "Histogram",
    "TopK",
    "argpartition",
    "argsort",
    "bincount",
    "cumsum",
    "digitize",
    "dot",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "median",
    "partition",
    "quantile",
    "searchsorted",
    "sort",
    "sum",
    "topk",
    "unique",
]
__version__ = "0.1.0"
