"""
What does a forest see that curves do not?
==========================================

A sum of one curve a column cannot say that a region matters. The leaves of random trees can, and
cost no more: trees are drawn from public bounds and a public seed, and only their leaves are
learned from the data, all at once.
"""

import matplotlib.pyplot as plt
import numpy as np

from skdp import DPAdditiveClassifier, DPRandomForestClassifier

rng = np.random.default_rng(0)


def chance(X):
    """Chance of the second class: a spiral with two arms."""
    angle, radius = np.arctan2(X[:, 1], X[:, 0]), np.hypot(X[:, 0], X[:, 1])
    return 1 / (1 + np.exp(-4 * np.cos(2 * angle - 5 * radius)))


X = rng.uniform(-1, 1, size=(20_000, 2))
y = (rng.random(len(X)) < chance(X)).astype(int)

# %%
# The same budget for each model, but for the last. At a tenth of ε, what is left of the spiral is
# what many rows agree on.
models = {
    "additive, ε = 1": DPAdditiveClassifier(epsilon=1.0, bounds=(-1, 1)),
    "forest, ε = 1": DPRandomForestClassifier(epsilon=1.0, bounds=(-1, 1)),
    "forest, ε = 0.1": DPRandomForestClassifier(epsilon=0.1, bounds=(-1, 1)),
}
side = np.linspace(-1, 1, 201)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
pictures = {"the truth": chance(grid)}
for name, model in models.items():
    model.fit(X, y)
    right = ((model.predict(grid) == 1) == (chance(grid) > 0.5)).mean()
    pictures[f"{name}: {right:.0%} right"] = model.predict_proba(grid)[:, 1]

# %%
# Shares of right decisions are of the better class at each point of the square.
figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained", sharey=True)
for ax, (name, picture) in zip(axes, pictures.items(), strict=True):
    image = ax.imshow(
        picture.reshape(201, 201),
        extent=(-1, 1, -1, 1),
        origin="lower",
        vmin=0,
        vmax=1,
        cmap="RdBu",
    )
    ax.set_title(name, fontsize=10)
figure.colorbar(image, ax=axes, label="chance of the second class", shrink=0.9)
plt.show()
