# SPDX-License-Identifier: Apache-2.0
"""Imported where the processor lacks SSE4.2, before NumPy: its wheels end the process there by an illegal instruction. A child tries it."""
import os
import sys

if "numpy" not in sys.modules:
    child = os.fork()
    if child == 0:
        try:
            import numpy  # noqa: F401
        finally:
            os._exit(0)
    if os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        raise ImportError("masu: NumPy's wheels need a processor with SSE4.2, which this one lacks")
