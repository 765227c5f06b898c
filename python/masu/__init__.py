# SPDX-License-Identifier: Apache-2.0
"""NumPy's histograms and sorts, and exact sums, with the same bits on every device."""
from ._masu import old_processor as _old_processor

if _old_processor:  # before NumPy is imported
    from . import _processor as _processor
from ._arrays import convert, to_device
from ._bin_axis import Bins, loc, rebin
from ._bincount import bincount, digitize
from ._device_array import DeviceArray
from ._entries import enter as _enter
from ._extremes import argmax, argmin, average, compress, count_nonzero, lexsort, max, min, minmax, take
from ._fallback import Fallback
from ._groups import Groups, group, segment_sum
from ._histogram import histogram, histogram_bin_edges
from ._histogram_class import Histogram
from ._histogram_states import RowHistograms, WeightedHistogram
from ._joint import histogram2d, histogramdd
from ._joint_class import JointHistogram
from ._masu import Device, DeviceInfo, __version__, cpu_threads, devices, set_cpu_threads
from ._moments import mean, std, var
from ._order import TopK, argpartition, argsort, partition, searchsorted, sort, topk, unique
from ._program import Kernel, LocalMemory, Program
from ._quantile import median, nanmedian, nanpercentile, nanquantile, percentile, quantile
from ._states import QuantileFinder, ReduceAccumulator, RunAccumulator, TopkAccumulator, UniqueAccumulator
from ._sum_accumulator import SumAccumulator
from ._sums import cumsum, dot, sum

__all__ = sorted(name for name in globals() if name[0] != "_")
_enter(globals(), __all__)


def __getattr__(name):
    if name != "io":
        raise AttributeError(f"module 'masu' has no attribute '{name}'")
    import importlib
    return importlib.import_module("masu.io")
