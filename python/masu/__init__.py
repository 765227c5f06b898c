# SPDX-License-Identifier: Apache-2.0
"""NumPy's histograms and sorts, and exact sums, with the same bits on every device."""
from ._bincount import bincount, digitize
from ._device_array import DeviceArray, to_device
from ._histogram import histogram, histogram_bin_edges
from ._histogram_class import Histogram
from ._joint import histogram2d, histogramdd
from ._masu import Device, DeviceInfo, cpu_threads, devices, set_cpu_threads
from ._order import sort
from ._program import Kernel, LocalMemory, Program

__all__ = [
    "Device",
    "DeviceArray",
    "DeviceInfo",
    "Histogram",
    "Kernel",
    "LocalMemory",
    "Program",
    "bincount",
    "cpu_threads",
    "devices",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "set_cpu_threads",
    "sort",
    "to_device",
]
__version__ = "0.1.0"
