# SPDX-License-Identifier: Apache-2.0
"""Histograms that masu counts and other programs draw; every cell stands alone in a notebook.

    python python/examples/histograms.py [folder]

writes the charts that the documentation shows, as SVG, into the folder (docs/images unless another is named). It needs
NumPy, Matplotlib, Pillow and mplhep.
"""

# %% What is used
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import mplhep
import numpy as np
from matplotlib import pyplot as plt
from PIL import Image

import masu

root = Path(__file__).resolve().parents[2]
folder = Path(sys.argv[1]) if len(sys.argv) > 1 else root / "docs" / "images"
plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "masu", "font.family": "sans-serif", "font.size": 9})
size = (6, 2.6)


def save(figure, name):
    """The same chart is the same bytes, whenever it is drawn."""
    figure.tight_layout()
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)


# %% An image: a histogram for each channel, in one call, without taking the channels apart
pixels = np.asarray(Image.open(root / "images" / "cat.png").convert("RGB"))
counts, edges = masu.histogram(pixels, bins=64, range=(0, 256), axis=(0, 1))
assert counts.shape == (3, 64) and counts.sum() == pixels.size

figure, axes = plt.subplots(figsize=size)
for channel, color in zip(counts, ("#bc3c29", "#2a7f3b", "#2a6f97")):
    axes.stairs(channel, edges, color=color, fill=True, alpha=0.35)
    axes.stairs(channel, edges, color=color)
axes.set(title="The three channels of images/cat.png", xlabel="level", ylabel="pixels", xlim=(0, 256))
save(figure, "python-channels")

# %% Events: masu.Histogram is drawn by mplhep as it is, and nothing that lies outside of the bins is lost
random = np.random.default_rng(7)
background = random.exponential(60, 400_000).astype(np.float32)
signal = random.normal(125, 4, 6_000).astype(np.float32)
# pieces are counted one by one, and added
pieces = np.array_split(np.concatenate([background, signal]), 8)
measured = sum(masu.Histogram.of(piece, bins=60, range=(80, 200)) for piece in pieces)
expected = masu.Histogram.of(background, bins=60, range=(80, 200))
assert measured.n == 406_000 and measured.below > 0 and measured.above > 0

figure, axes = plt.subplots(figsize=size)
mplhep.histplot(expected, ax=axes, histtype="fill", color="#a9d6e5", label="background")
dots = {"histtype": "errorbar", "color": "#013a63", "markersize": 3, "w2method": "sqrt"}
mplhep.histplot(measured, ax=axes, label="measured", **dots)
axes.set(title="406,000 events, most of them below the bins", xlabel="mass", ylabel="events", xlim=(80, 200))
axes.legend(frameon=False)
save(figure, "python-events")

# %% Weights: totals are exact, so the answer does not depend on the order of the data
energy = random.normal(5, 2, 100_000)
weights = random.normal(size=energy.size) * 10.0 ** random.integers(-8, 9, size=energy.size)
order = random.permutation(energy.size)
bins = np.linspace(0, 10, 41)
totals = masu.histogram(energy, bins, weights=weights)[0]
assert np.array_equal(totals, masu.histogram(energy[order], bins, weights=weights[order])[0])
by_numpy = [np.histogram(energy[o], bins, weights=weights[o])[0] for o in (slice(None), order)]

figure, axes = plt.subplots(figsize=size)
for found, label, color in zip(by_numpy, ("NumPy", "NumPy, other order"), ("#bc6c25", "#dda15e")):
    axes.stairs(found - totals, bins, label=label, color=color)
axes.axhline(0, label="masu, any order", color="#2a6f97")
axes.set(title="How far totals of weights are from the exact ones", xlabel="energy", ylabel="error", xlim=(0, 10))
axes.legend(frameon=False, loc="lower left")
save(figure, "python-weights")

# %% Two columns together
angle = random.uniform(0, 2 * np.pi, 300_000)
radius = random.gamma(9, 1 / 9, angle.size)
grid, x_edges, y_edges = masu.histogram2d(radius * np.cos(angle), radius * np.sin(3 * angle), 60, [[-2, 2], [-2, 2]])

figure, axes = plt.subplots(figsize=(4, 3))
mesh = axes.pcolormesh(x_edges, y_edges, grid.T, cmap="viridis", rasterized=True)
figure.colorbar(mesh, label="points")
axes.set(title="300,000 points in 60 × 60 cells", aspect="equal")
save(figure, "python-joint")
