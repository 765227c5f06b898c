# SPDX-License-Identifier: Apache-2.0
"""The warning where a result is not exact."""
import sys
import warnings

import numpy as np

SUMMED = "iufcO"  # the kinds of weights whose sums NumPy may round


class Fallback(Warning):
    """A call that NumPy made, as masu lacks the dtype or the shape, so that its sums are NumPy's and not exact.

    Each kind of call shows it once. Switch it off with ``warnings.simplefilter("ignore", masu.Fallback)``; ``"always"`` and ``"error"``
    make it louder.
    """


# The last filter, so that those of the user, and of python -W, come first.
warnings.simplefilter("once", Fallback, append=True)


def level():
    """The `stacklevel` for the line of the caller outside of the package, seen from the function that calls this one."""
    found, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        found, frame = found + 1, frame.f_back
    return found


def warn(function, why):
    """Issues it for the line of the caller outside of the package."""
    warnings.warn(f"{function}: {why}: the sums are NumPy's, not exact", Fallback, stacklevel=level())


def summed(function, result, a):
    """NumPy's result of a function that adds elements of `a`, with the warning where these are several and no integers."""
    dtype = getattr(result, "dtype", None)
    if (dtype is None or dtype.kind in "fcO") and np.size(a) > 1:
        warn(function, f"a result of {dtype or 'objects'}")
    return result
