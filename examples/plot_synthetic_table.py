"""
Synthetic data: how close is a synthetic table to the records?
==============================================================

The left panel shows records, the others synthetic rows from one private release each. Colors are
the label. The tree keeps how the two columns depend on each other and on the label. At a small ε it
has few groups of bins and much noise, so details are lost.

The accuracy is that of boosting without privacy, trained on the rows that are shown and tested on
new records. Training it costs nothing more, because it reads synthetic rows only.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.ensemble import HistGradientBoostingClassifier

from skdp import DPTreeNB, PrivacyBudget

X, y = make_moons(20_000, noise=0.15, random_state=0)
X_test, y_test = make_moons(5000, noise=0.15, random_state=1)
bounds = [(-2.0, 3.0), (-1.5, 2.0)]  # public: chosen without looking

budget = PrivacyBudget(epsilon=2.0, delta=1e-5)
tables = {"records": (X, y)}
for epsilon in (1.0, 0.1):
    model = DPTreeNB(epsilon=epsilon, bounds=bounds, missing="error", budget=budget).fit(X, y)
    tables[f"synthetic, ε = {epsilon:g}"] = model.sample(len(y), random_state=0)

# %%
# At ε = 1 the two moons are clear. At ε = 0.1 their shape is coarse.
figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), sharex=True, sharey=True)
for panel, (title, (rows, labels)) in zip(panels, tables.items(), strict=True):
    boosting = HistGradientBoostingClassifier(random_state=0).fit(rows, labels)
    colors = np.where(labels[:4000] == 1, "#d9822b", "#2b6ca3")
    panel.scatter(*rows[:4000].T, s=2, c=colors, alpha=0.5, linewidths=0)
    panel.set(title=f"{title}: accuracy {boosting.score(X_test, y_test):.2f}", xticks=[], yticks=[])
figure.tight_layout()
plt.show()

# %%
# The ledger has two releases, one for each fit. Samples are not in it.
print(budget)
