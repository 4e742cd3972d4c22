"""
Probability calibration: does it work with noise?
=================================================

Naive Bayes assumes independent columns. If columns are dependent, it counts the same evidence
several times, and its probabilities are over-confident.

Each point is a tenth of new records: the mean predicted probability, and the share of the class.
On the dashed line both are equal. Private calibration uses other records than the model. It spends
on one histogram of scores and learns a map from scores to probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss

from skdp import DPGaussianNB, PrivacyBudget
from skdp.calibration import DPCalibratedClassifier

rng = np.random.default_rng(0)
n = 30_000
hidden = rng.normal(size=(n, 2))
X = np.clip(np.repeat(hidden, 4, axis=1) + 0.4 * rng.normal(size=(n, 8)), -4, 4)
y = (hidden @ [1.0, -0.6] + rng.logistic(size=n) > 0).astype(int)
learn, calibrate, new = slice(0, 10_000), slice(10_000, 20_000), slice(20_000, n)

# %%
# Each record is used for learning or for calibration, never for both. The two partitions share one
# budget, and their costs do not add up.
budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
own = budget.at(partition="learn")
model = DPGaussianNB(bounds=(-4, 4), classes=(0, 1), epsilon=1.0, budget=own)
model.fit(X[learn], y[learn])
own = budget.at(partition="calibrate")
calibrated = DPCalibratedClassifier(model, method="sigmoid", epsilon=1.0, budget=own)
calibrated.fit(X[calibrate], y[calibrate])
print(budget)

# %%
# Before and after calibration, on records of neither partition.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
ways = {"naive Bayes": (model, "#c0392b"), "calibrated": (calibrated, "#2b6ca3")}
for name, (fitted, color) in ways.items():
    said = fitted.predict_proba(X[new])[:, 1]
    so, on_average = calibration_curve(y[new], said, n_bins=10, strategy="quantile")
    loss = log_loss(y[new], np.clip(said, 1e-6, 1 - 1e-6))
    left.plot(on_average, so, "o-", color=color, label=f"{name}: log-loss {loss:.2f}")
    right.hist(said, bins=40, range=(0, 1), color=color, alpha=0.55, label=name)
left.plot([0, 1], [0, 1], "k--", linewidth=1)
left.set(xlabel="what was said", ylabel="how many were", aspect="equal")
right.set(xlabel="what was said", ylabel="records")
left.legend(frameon=False, loc="upper left")
right.legend(frameon=False, loc="upper center")
for panel in (left, right):
    panel.spines[["top", "right"]].set_visible(False)
plt.show()
