"""
Quantile regression: how good are private prediction intervals?
===============================================================

Prediction intervals for waiting times at a level of 90 %.

One release at ε = 1 learns three quantiles: the 5 %, 50 % and 95 % lines. Dots are new records.
The band contains about 90 % of them, and is wider where waiting times vary more.
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
# There is one column of predictions per quantile. The bounds are public: the opening hours, and an
# upper limit of waiting times. This solver releases a minimizer, which suits quantiles far from the
# median. Less smoothing than the default makes the outer quantiles more accurate.
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
# The share of new records in the band:
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
