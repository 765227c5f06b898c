# SPDX-License-Identifier: Apache-2.0
"""Files of kernels that masu finds beside its own package; nothing is imported from here."""
