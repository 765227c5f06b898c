# SPDX-License-Identifier: Apache-2.0
"""Charts of characters, beside those of the command and beside a plain loop."""
import io
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import masu

RNG = np.random.default_rng(46)


def shown(h, **options):
    file = io.StringIO()
    assert h.show(file=file, **options) is None
    text = file.getvalue()
    assert text.endswith("\n") and "\n\n" not in text and not any(line.endswith(" ") for line in text.splitlines())
    return text.splitlines()


@pytest.mark.parametrize("n", [1, 2, 17, 40, 41, 64, 100, 1009])
@pytest.mark.parametrize("log", [False, True])
def test_bars_are_those_of_the_command(n, log, tmp_path):
    x = RNG.normal(size=1000) * 5
    np.save(tmp_path / "x.npy", x)
    command = [sys.executable, "-m", "masu", "histogram", tmp_path / "x.npy", "--bins", str(n), *["--log-counts"] * log]
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"LC_ALL": "C.UTF-8", "COLUMNS": "70"}).stdout
    assert shown(masu.Histogram.of(x, n), width=70, log=log)[1:] == found.split("\n\n", 1)[1].splitlines()[1:]


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (20, 50), (200, 7)])
def test_shades_are_those_of_a_loop(shape):
    h = masu.JointHistogram.of(list(RNG.normal(size=(2, 5000))), shape)
    _, *lines, legend = shown(h, width=80)
    across, up = (math.ceil(size / most) for size, most in zip(shape, (50, 24)))
    totals = np.array([[h.totals()[i:i + across, j:j + up].sum() for j in range(0, shape[1], up)] for i in range(0, shape[0], across)])
    cell = max(1, min(4, (80 - lines[0].index("│") - 2) // len(totals)))
    for j, line in enumerate(reversed(lines)):
        shades = [" ·░▒▓█"[max(math.floor(n / totals.max() * 5 + 0.5), int(n > 0))] * cell for n in totals[:, j]]
        assert line.split("│")[1] == "".join(shades)
    assert legend.endswith(f"darkest: {totals.max()}") and legend.startswith("across: axis 0, [")


def test_other_axes_and_totals():
    assert shown(masu.Histogram.of(list("abcaab"), masu.Bins.categories("abc")), width=19)[1:] == ["a  3  █████████████", "b  2  ████████▋", "c  1  ████▍"]
    whole = shown(masu.Histogram.of(np.arange(100), masu.Bins.integers(0, 100)), width=10)
    assert len(whole) == 26 and whole[1] == "  0 … 3  4  ██████████" and "4 bins a place" in whole[0]
    weighted = shown(masu.Histogram.of([0.5, 1.5, 2.5], 3, (0, 3), weights=[1, -2.5, np.nan]), width=30)
    assert [line.split()[2] for line in weighted[1:]] == ["1", "-2.5", "nan"] and weighted[1].count("█") == 16
    assert not any("█" in line for line in weighted[2:])
    assert [line[-1] for line in shown(masu.Histogram.of([], 3, (0, 1)))[1:]] == ["0"] * 3
    assert shown(masu.JointHistogram.of([[1], [1]], 2, ((0, 2), (0, 2)), flow=True)[0, :])[0].startswith("masu.Histogram: 2 bins")


def test_where_it_is_written(capsys):
    h = masu.Histogram.of([1, 2, 2], 2, (1, 3))
    h.show(30)
    assert capsys.readouterr().out.splitlines() == shown(h, width=30)
    plain = io.TextIOWrapper(io.BytesIO(), "ascii")
    h.show(30, plain)
    masu.JointHistogram.of([[1, 2, 2], [0, 1, 1]], 2).show(30, plain)
    plain.flush()
    text = plain.buffer.getvalue().decode()
    assert "[1, 2)  1  ##########\n[2, 3]  2  ###################\n" in text and "|    @@@@|\n" in text and "|++++    |\n" in text
    with pytest.raises(ValueError, match="show: there must be one or two axes, got 3; see project"):
        masu.JointHistogram.of([[1], [1], [1]], 2).show()
    with pytest.raises(TypeError):
        h.show("wide")
