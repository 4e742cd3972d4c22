"""
Additive model (GAM): what has it learned?
==========================================

A generalized additive model (GAM) has one curve per column. The features depend on public bounds
only and cost no privacy, so the model has the cost of a linear model. Bands show the noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from skdp import DPAdditiveClassifier, DPLogisticRegression
from skdp.inspection import AdditiveEffectsDisplay
from skdp.preprocessing import BoundsScaler

rng = np.random.default_rng(0)
n = 40_000
age = rng.uniform(18, 90, size=n)
income = rng.lognormal(10, 1, size=n)
region = rng.integers(4, size=n)
score = 2 * np.cos((age - 50) / 12) + np.log(income / 22_000) + np.array([0, 0.8, -0.8, 0])[region]
buys = (score + rng.logistic(size=n) > 0).astype(int)
X = np.column_stack([age, income, region])

# %%
# Bounds come from public knowledge. Incomes are on a logarithmic scale, where generous bounds cost
# little. The scale is almost linear below the unit and logarithmic above it.
model = DPAdditiveClassifier(
    epsilon=1.0,
    bounds={0: (18, 90), 1: (0, 1e7)},
    categories={2: range(4)},
    transformation={1: 1000.0},
)
model.fit(X[: n // 2], buys[: n // 2])
scaler, straight = (
    BoundsScaler(bounds=([18, 0, 0], [90, 2e5, 3])),
    DPLogisticRegression(epsilon=1.0),
)
straight.fit(scaler.fit_transform(X[: n // 2]), buys[: n // 2])
print(f"additive {model.score(X[n // 2 :], buys[n // 2 :]):.3f}")
print(f"straight {straight.score(scaler.transform(X[n // 2 :]), buys[n // 2 :]):.3f}")

# %%
# Dashed lines are the true effects, on the scale of the first curve. Bands cover about 95 % of the
# privacy noise. They do not cover the sampling error.
figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
display = AdditiveEffectsDisplay.from_estimator(model, terms=["0", "1", "2"], ax=axes)
grid = np.linspace(18, 90, 101)
truth = 2 * np.cos((grid - 50) / 12)
axes[0].plot(grid, truth - truth.mean(), "k--", linewidth=1)
effect = "effect on the score"
axes[0].set(title="age", xlabel="age (years)", ylabel=effect)
axes[1].set(title="income", xlabel="income (per year)", ylabel=effect)
axes[2].set(title="region", xlabel=effect, ylabel="region")
plt.show()

# %%
# The contributions of the columns add up to the score.
parts = model.explain_local(X[:3])
print(np.round(np.column_stack([parts, parts.sum(axis=1) + model.intercept_]), 2))
print(np.round(model.decision_function(X[:3]), 2))
