"""
Skewed targets: why use a logarithmic scale?
============================================

Most rents are small and a few are huge. The noise must cover the largest possible rent.

Gray dots are synthetic flats. Lines are predictions at two distances from the center. Both models
have the same bounds, ε = 1, and one curve for each of two columns. The blue model learns the
logarithm of the rent. The orange model learns the rent itself. Relative to the bounds nearly all
rents are equally small, so the orange curves are mostly noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from skdp import DPAdditiveRegressor, PrivacyBudget

rng = np.random.default_rng(0)
n = 9000
size, distance = rng.uniform(15, 200, n), rng.uniform(0, 30, n)
rent = np.exp(4.6 + 0.7 * np.log(size) - 0.8 * np.sqrt(distance / 30) + rng.normal(0, 0.25, n))
flats = np.column_stack([size, distance])

# %%
# The bounds of the target are public and generous. They do not depend on the largest rent.
terms = {
    "bounds": {0: (15, 200), 1: (0, 30)},
    "target_bounds": (50.0, 100_000.0),
    "budget": PrivacyBudget(epsilon=3.0, delta=1e-5),
}
models = {
    "as it is": DPAdditiveRegressor(epsilon=1.0, **terms),
    "its logarithm": DPAdditiveRegressor(epsilon=1.0, target_transform="log", **terms),
}

# %%
# The errors are factors: half of the predictions for new flats are closer to the rent than this.
figure, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
ax.scatter(size[::9], rent[::9], s=4, color="0.75")
colors = {"as it is": "#d9822b", "its logarithm": "#2b6ca3"}
grid = np.linspace(15, 200, 120)
for name, model in models.items():
    model.fit(flats[:6000], rent[:6000])
    factor = np.abs(np.log(np.maximum(model.predict(flats[6000:]), 1.0) / rent[6000:]))
    label = f"{name}: off by a factor of {np.exp(np.median(factor)):.2f}"
    for far, width in ((2.0, 2.4), (25.0, 1.2)):
        line = model.predict(np.column_stack([grid, np.full(120, far)]))
        ax.plot(grid, line, color=colors[name], linewidth=width, label=label)
        if name == "its logarithm":
            ax.annotate(f"{far:.0f} km", (202, line[-1]), color=colors[name], va="center")
        label = None
ax.set(yscale="log", xlabel="square metres", ylabel="rent", xlim=(10, 222), ylim=(150, 12_000))
ax.set_yticks([200, 500, 1000, 2000, 5000], ["200", "500", "1000", "2000", "5000"])
ax.minorticks_off()
ax.legend(frameon=False, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
