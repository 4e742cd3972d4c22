"""
Principal component analysis (PCA): how accurate is it at a given ε?
====================================================================

Principal components of handwritten digits, released under differential privacy.

Each row of images shows a principal component of 64 pixels: on the left the exact one, then
releases at growing ε. Blue and red are opposite signs. At ε = 0.1 the components are mostly noise.
At ε = 1 the strokes are visible. The curve below shows the share of the variance that ten
components capture.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from skdp import DPPCA
from skdp.exceptions import FewRowsWarning

warnings.simplefilter("ignore", FewRowsWarning)  # ε = 0.1 is too small here, as the figure shows
digits = load_digits().data
bounds = (0, 16)  # public: so many shades of gray there are
exact = PCA(n_components=10).fit(digits)
rows = digits - digits.mean(axis=0)


def captured(pca):
    """Return the share of the variance along the components."""
    return ((rows @ pca.components_.T) ** 2).sum() / (rows**2).sum()


def drawn(panels, pca):
    """Draw four components, turned to the side of the exact ones."""
    for panel, one, other in zip(panels, pca.components_, exact.components_, strict=False):
        picture = np.sign(one @ other) * one.reshape(8, 8)
        panel.imshow(picture, cmap="RdBu_r", vmin=-0.35, vmax=0.35)
        panel.set(xticks=[], yticks=[])


shown = (0.1, 0.3, 1.0, 3.0)
figure, panels = plt.subplots(4, 1 + len(shown), figsize=(6.6, 5.4), layout="constrained")
drawn(panels[:, 0], exact)
panels[0, 0].set_title("exact")
for column, epsilon in zip(panels.T[1:], shown, strict=True):
    drawn(column, DPPCA(epsilon=epsilon, n_components=10, bounds=bounds).fit(digits))
    column[0].set_title(f"ε = {epsilon:g}")
for place, panel in enumerate(panels[:, 0]):
    panel.set_ylabel(f"{place + 1}.")
plt.show()

# %%
# The variance captured by ten components, a mean of eight fits. Under ``add_remove_one`` the number
# of digits is private too, but the noise is smaller: a record is only added or removed, whereas
# ``replace_one`` replaces it by another record.
figure, axes = plt.subplots(figsize=(6.6, 4.0), layout="constrained")
epsilons = np.geomspace(0.05, 10.0, 9)
for neighboring, color in (("replace_one", "#2b6ca3"), ("add_remove_one", "#c0504d")):
    model = DPPCA(n_components=10, bounds=bounds, neighboring=neighboring)
    fits = [
        [captured(model.set_params(epsilon=epsilon).fit(digits)) for _ in range(8)]
        for epsilon in epsilons
    ]
    axes.plot(epsilons, np.mean(fits, axis=1), "o-", color=color, label=neighboring, markersize=4)
axes.axhline(captured(exact), color="black", linewidth=1)
axes.text(0.05, captured(exact) + 0.01, "exact")
axes.axhline(10 / 64, color="gray", linewidth=1, linestyle=":")
axes.text(10.0, 10 / 64 - 0.015, "random directions", ha="right", va="top", color="gray")
axes.set(xscale="log", ylim=(0.08, 0.8), xlabel="ε", ylabel="captured variance, 10 of 64")
axes.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="center right")
plt.show()
