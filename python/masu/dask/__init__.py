# SPDX-License-Identifier: Apache-2.0
"""masu's functions for Dask arrays: lazy, in tasks for any scheduler, with the bits of masu's function of the whole array.

Install it with ``pip install masu[dask]``.
"""
from .._entries import enter as _enter
from ._distinct import topk, unique
from ._extremes import argmax, argmin, max, min
from ._histograms import bincount, histogram, histogram2d, histogramdd
from ._places import compress, cumsum, digitize, searchsorted, take
from ._quantiles import median, nanmedian, nanpercentile, nanquantile, percentile, quantile
from ._sorts import argsort, sort
from ._totals import average, count_nonzero, dot, mean, std, sum, var

__all__ = sorted(name for name in globals() if name[0] != "_")
_enter(globals(), __all__)
