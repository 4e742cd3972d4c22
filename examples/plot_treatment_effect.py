"""
Treatment effect: does the drug work, and do covariates help?
=============================================================

A trial assigns a drug at random. :func:`skdp.statistics.treatment_effect` compares the mean
outcomes of both arms in one private release. Covariates from before the treatment explain a part of
the outcome, so that less is left to chance. They also need noise of their own.

The trial is simulated: patients are drawn from the diabetes data of scikit-learn, a coin assigns
the drug, and the drug lowers the progression of the disease by 12 points.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from skdp.statistics import treatment_effect

# %%
# The covariates are the body mass index and a blood value, which are centered and scaled in these
# data. The bounds are public: they are chosen from the meaning of each column.

rng = np.random.default_rng(0)
X, y = load_diabetes(return_X_y=True)
rows = rng.integers(len(y), size=40_000)
before, drug = X[rows][:, [2, 8]], rng.integers(0, 2, size=len(rows))
after = y[rows] - 12 * drug

known = {"covariates": before, "covariate_bounds": (-0.15, 0.15)}
found = treatment_effect(after, drug, **known, bounds=(0, 350), epsilon=1.0)
print(found)
print(f"p-value: at most {found.p_value[0]:.0e}")

# %%
# The interval counts the noise and the sampling of patients. How wide is it, with the covariates
# and without them? At a small ε the noise of more sums outweighs what the covariates explain.

epsilons = np.array([0.1, 0.2, 0.5, 1.0, 2.0, 5.0])


def width(epsilon, **known):
    """Return the mean width of intervals of ten releases."""
    ends = [
        treatment_effect(after, drug, **known, bounds=(0, 350), epsilon=epsilon).interval()
        for _ in range(10)
    ]
    return np.mean([high[0] - low[0] for low, high in ends])


fig, ax = plt.subplots(figsize=(6, 4))
ax.plot(epsilons, [width(one) for one in epsilons], "o-", label="two means")
ax.plot(epsilons, [width(one, **known) for one in epsilons], "s-", label="two covariates")
deviations = [after[drug == arm].std() / np.sqrt((drug == arm).sum()) for arm in (0, 1)]
ax.axhline(2 * 1.96 * np.hypot(*deviations), color="gray", ls=":", label="two means, no privacy")
ax.set(xscale="log", yscale="log", xlabel="ε", ylabel="width of the 95 % interval")
ax.legend()
fig.tight_layout()
plt.show()

# %%
# Covariates help if there are many rows for this ε. Choose them before the release, because each
# attempt spends budget. Rows without an outcome are left out, so ask why outcomes are missing.
