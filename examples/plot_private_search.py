"""
Hyper-parameter search: when is it worth its cost?
==================================================

A private search compared with the default, if the scale of the rows is unknown.

The default assumes rows of norm about 1. Here rows are up to e^4 times shorter or up to e^2 times
longer, and the analyst does not know the factor. Each gray dot is a fit to 5000 records at ε = 1.
Each blue dot is a search at ε = 1 in total. The search tries `data_norm` from 0.05 to 1 and scores
the candidates on held-out records. Its ε covers all runs, the choice and the final model.
"""

import matplotlib.pyplot as plt
import numpy as np

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.model_selection import DPGridSearchCV

rng = np.random.default_rng(3)
n, n_columns = 5000, 20


def draw(rows):
    """Return rows about 1 long, and labels of a noisy linear rule."""
    X = rng.normal(size=(rows, n_columns)) / np.sqrt(n_columns)
    rule = 3.0 * np.sign(np.arange(n_columns) - 9.5)
    return X, (X @ rule + rng.logistic(size=rows) > 0.0).astype(int)


default = DPLogisticRegression(epsilon=1.0, classes=(0, 1))
search = DPGridSearchCV(default, {"data_norm": np.geomspace(0.05, 1.0, 6)}, epsilon=1.0)
units = np.exp(np.arange(-4.0, 3.0))
accuracy = {"the default": [], "the search": []}
for unit in np.repeat(units, 3):
    (X, y), (X_test, y_test) = draw(n), draw(20_000)
    for name, model in zip(accuracy, (default, search), strict=True):
        accuracy[name].append(100.0 * model.fit(X * unit, y).score(X_test * unit, y_test))

# %%
# If rows are much shorter than the default assumes, the noise of the default fit is too large, and
# the search finds a better `data_norm`. Otherwise the default is already good and the search loses
# accuracy: each fit has fewer records and a smaller ε.
fig, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
place = np.repeat(np.log(units), 3)
for (name, points), shift, color in zip(
    accuracy.items(), (-0.12, 0.12), ("tab:gray", "tab:blue"), strict=True
):
    axes.scatter(place + shift, points, s=16, color=color, alpha=0.7, label=name)
    means = np.mean(np.reshape(points, (-1, 3)), axis=1)
    axes.plot(np.log(units) + shift, means, color=color)
axes.set(xlabel="logarithm of the rows' length, in units of the default", ylabel="accuracy in %")
axes.legend(frameon=False, loc="lower right")
plt.show()

# %%
# A search is one entry in the ledger. The number of runs stays secret: the ledger contains neither
# the number nor anything that depends on it.
budget = PrivacyBudget(epsilon=1.0, delta=1e-5, composition="basic")
search.set_params(budget=budget).fit(X, y)
print(budget)
print(search.privacy_)
