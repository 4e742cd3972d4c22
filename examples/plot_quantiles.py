"""
In which range will a number lie?
=================================

A mean says nothing about how far off it is. Can a private model say between which two numbers nine
of ten waiting times will lie?

Three quantiles are learned together, as one release at ε = 1: the 5 %, the 50 % and the 95 % line.
Dots are new records. The band holds about as many as it should, and widens as waiting times
spread.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from skdp import DPQuantileRegressor
from skdp.preprocessing import BoundsScaler

rng = np.random.default_rng(0)
n = 20_000
hour = rng.uniform(8, 20, n)
waited = 10 + 2.5 * (hour - 8) + (2 + 1.4 * (hour - 8)) * rng.standard_normal(n)
waited = np.clip(waited, 0, 90)

# %%
# One column of predictions for each quantile. Bounds are public: the opening hours, and the longest
# time that is counted. This solver finds a minimum, and so reaches lines far from the middle; less
# smoothing than by default lets the outer ones lie close to where records are rare.
lines = make_pipeline(
    BoundsScaler(bounds={0: (8, 20)}),
    DPQuantileRegressor(
        epsilon=1.0,
        quantile=(0.05, 0.5, 0.95),
        target_bounds=(0, 90),
        solver="objective_perturbation",
        smoothing=0.1,
    ),
)
lines.fit(hour[:15_000, None], waited[:15_000])
print(lines[-1].privacy_)

# %%
# How many of the new records are in the band?
low, middle, high = lines.predict(hour[15_000:, None]).T
inside = (low <= waited[15_000:]) & (waited[15_000:] <= high)
grid = np.linspace(8, 20, 100)
low, middle, high = lines.predict(grid[:, None]).T
figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for which, color in ((inside, "#2b6ca3"), (~inside, "#c0392b")):
    ax.scatter(hour[15_000:][which], waited[15_000:][which], s=3, color=color, alpha=0.4, lw=0)
ax.fill_between(grid, low, high, color="#2b6ca3", alpha=0.15)
ax.plot(grid, middle, color="#0b4f8a")
ax.set(title=f"{inside.mean():.1%} of new records are in the band of 90 %")
ax.set(xlabel="hour of the day", ylabel="minutes waited", xlim=(8, 20), ylim=(0, 90))
ax.spines[["top", "right"]].set_visible(False)
plt.show()
