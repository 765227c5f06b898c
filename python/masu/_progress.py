# SPDX-License-Identifier: Apache-2.0
"""How far a long call is, for a function of the caller's."""
import math
import time

import numpy as np

from . import _masu


class Progress:
    """Passes growing fractions on, ten times a second, and 1 at the end. Without a function it does nothing."""

    def __init__(self, call):
        if not (call is None or callable(call)):
            raise TypeError(f"progress must be a function of a fraction, got {call!r:.80}")
        self.call, self.next, self.shown = call, 0.0, 0.0

    def __call__(self, fraction):
        if self.call is not None and (fraction >= 1 or time.monotonic() >= self.next and fraction >= self.shown):
            self.shown = fraction
            self.call(float(fraction))
            self.next = time.monotonic() + 0.1


def showing(call, a, work):
    """What `work` returns, a call that gives elements of `a` their final places; `call` gets the part that have theirs."""
    tell = Progress(call)
    result = _masu.telling(tell, math.prod(np.shape(a)), work)
    tell(1)
    return result
