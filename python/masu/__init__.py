# SPDX-License-Identifier: Apache-2.0
"""NumPy's histograms and sorts, and exact sums, with the same bits on every device."""
from ._bincount import bincount, digitize
from ._histogram import histogram, histogram_bin_edges
from ._histogram_class import Histogram
from ._joint import histogram2d, histogramdd
from ._order import sort

__all__ = [
    "Histogram",
    "bincount",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "sort",
]
__version__ = "0.1.0"
