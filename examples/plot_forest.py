"""
Random forest or additive model?
================================

A sum of one curve per column cannot represent interactions. The leaves of random trees can, at the
same privacy cost: the trees depend on public bounds and a public seed only, and one fit learns the
values of all leaves.
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
# All models except the last have the same ε. At a tenth of this ε, only those parts of the spiral
# remain that contain many rows.
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
# The percentages are the shares of points where the model predicts the more probable class.
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
