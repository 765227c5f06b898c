# SPDX-License-Identifier: Apache-2.0
"""NumPy's own tests, run against masu. See plugin.py."""
