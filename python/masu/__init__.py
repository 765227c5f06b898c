# SPDX-License-Identifier: Apache-2.0
"""NumPy's histograms and sorts, and exact sums, with the same bits on every device."""
from ._order import sort

__all__ = ["sort"]
__version__ = "0.1.0"
