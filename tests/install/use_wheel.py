# SPDX-License-Identifier: Apache-2.0
"""Uses an installed wheel: its functions, and what the process then has of it."""
import importlib.metadata
import pathlib
import re
import sys
import time

import numpy as np

started = time.process_time()
import masu  # noqa: E402

imported = time.process_time() - started
package = pathlib.Path(masu.__file__).parent
x = np.random.default_rng(1).standard_normal(100_000).astype("f4")
for ours, numpys in ((masu.histogram(x, 100), np.histogram(x, 100)), (masu.unique(x[:99] > 0, return_counts=True),
                                                                      np.unique(x[:99] > 0, return_counts=True))):
    assert all(np.array_equal(one, other) for one, other in zip(ours, numpys))
assert np.array_equal(masu.argsort(x, kind="stable"), np.argsort(x, kind="stable"))
assert masu.sum([1e16, 1.0, -1e16]) == 1.0 and masu.median(x) == np.median(x)

# Its own libraries, each once, and none of the system's.
used = {line.split()[-1] for line in open("/proc/self/maps") if re.search(r"/lib(masu|tbb|hwy)", line)}
assert used and all(package.parent in pathlib.Path(file).parents for file in used), used
names = sorted(re.match(r"lib\w+", pathlib.Path(file).name).group() for file in used)
assert names == ["libhwy", "libhwy_contrib", "libmasu", "libmasu_io", "libtbb"], names
carried = {re.match(r"lib[a-z_]+", file.name).group() for file in package.parent.glob("masu.libs/*")}
assert carried <= set(names), carried
licences = [file for file in importlib.metadata.files("masu") if file.name == "THIRD_PARTY_LICENSES.txt"]
assert len(licences) == 1 and "oneTBB" in licences[0].read_text() and "nanobind" in licences[0].read_text()
print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}: import masu takes {imported * 1e3:.0f} ms of the processor after NumPy")
assert imported < 0.04
