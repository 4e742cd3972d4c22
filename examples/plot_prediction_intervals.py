"""
Conformal prediction intervals: how wide are they?
==================================================

Split conformal prediction turns errors on held-out records into prediction intervals that cover new
records with a stated probability. With privacy the quantile of the errors is noisy. Its rank is
raised so that the coverage holds with the noise.

Each point is the mean of 40 fits to fresh records. With few records intervals are wide. From some
thousands on, they are as wide as without privacy.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skdp import DPLinearRegression, PrivacyBudget
from skdp.calibration import DPConformalRegressor
from skdp.exceptions import FewRowsWarning

warnings.simplefilter("ignore", FewRowsWarning)  # few rows are shown on purpose
rng = np.random.default_rng(0)
BOUNDS = (-2.0, 2.0)


def sample(n):
    """Return n records whose errors have long tails."""
    X = rng.uniform(-0.5, 0.5, size=(n, 3))
    return X, X @ [1.0, -1.0, 0.5] + 0.2 * rng.standard_t(5, size=n)


# %%
# One fit learns the model from one half of the records, and the width from the other half. It
# costs as much as a fit of the model alone.
budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
model = DPConformalRegressor(DPLinearRegression(target_bounds=BOUNDS), epsilon=1.0, budget=budget)
model.fit(*sample(5000))
print(budget)
X, y = sample(200)
predicted, intervals = model.predict_interval(X)
order = np.argsort(predicted)

figure, left = plt.subplots(figsize=(6, 4), layout="constrained")
left.fill_between(np.arange(200), *intervals[order, :, 0].T, color="#2b6ca3", alpha=0.2)
left.plot(predicted[order], color="#2b6ca3", label="prediction, 90 % interval")
left.plot(y[order], ".", color="#c0392b", markersize=4, label="target")
left.set(xlabel="new record, by prediction", ylabel="target")
left.legend(frameon=False, loc="upper left")
left.spines[["top", "right"]].set_visible(False)

# %%
# The coverage of new records, and the width relative to an ε of 10 000.
sizes = [300, 600, 1200, 2500, 5000, 10_000]
new = np.abs(0.2 * rng.standard_t(5, size=100_000))  # errors of new records
figure, (middle, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
colors = {0.5: "#c0392b", 1.0: "#2b6ca3", 3.0: "#27824a"}
for epsilon, color in colors.items():
    coverage, width = [], []
    for n in sizes:
        fits = []
        for _ in range(40):
            rows, error = np.zeros((n // 2, 3)), 0.2 * rng.standard_t(5, size=n // 2)
            terms = {"target_bounds": BOUNDS, "prefit": True}
            found = DPConformalRegressor(model.estimator_, epsilon=epsilon, **terms)
            plain = DPConformalRegressor(model.estimator_, epsilon=1e4, **terms)
            target = error + model.estimator_.predict(rows)
            with warnings.catch_warnings(action="ignore"):
                both = [one.conformalize(rows, target).quantiles_[0] for one in (found, plain)]
            fits.append((np.mean(new <= both[0]), both[0], both[1]))
        means = np.mean(fits, axis=0)
        coverage.append(means[0])
        width.append(means[1] / means[2])
    middle.plot(sizes, coverage, "o-", color=color, label=f"ε = {epsilon:g}")
    right.plot(sizes, width, "o-", color=color, label=f"ε = {epsilon:g}")
middle.axhline(0.9, color="k", linestyle="--", linewidth=1)
middle.set(xscale="log", xlabel="records", ylabel="coverage of new records", ylim=(0.85, 1.01))
right.axhline(1.0, color="k", linestyle="--", linewidth=1)
right.set(xscale="log", yscale="log", xlabel="records", ylabel="width, without privacy = 1")
right.legend(frameon=False)
for panel in (middle, right):
    panel.spines[["top", "right"]].set_visible(False)
plt.show()
