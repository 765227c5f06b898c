# SPDX-License-Identifier: Apache-2.0
"""Where NumPy's own function is called instead of masu's: below `limit` elements a call costs more than the work.

Only where both give the same bits. The tests set the limit to 0, so that masu is what they test.
"""

limit = 4096
