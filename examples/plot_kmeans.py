"""
K-means clustering: how does it find clusters through noise?
============================================================

Dots are records in 15 clusters. White crosses are the true centers, and black rings are the centers
of the fit. Each color is the region of one center.

A fit first releases noisy counts in a grid and clusters synthetic rows with these counts. Restarts
of this clustering cost nothing. Then the fit makes three noisy steps on the records. The inertia is
in percent of the inertia of a single center. It is computed from the records for this figure only.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from skdp import DPKMeans, PrivacyBudget

rng = np.random.default_rng(7)
centers = np.array([(x, y) for x in (-8, -4, 0, 4, 8) for y in (-6, 0, 6)], dtype=float)
centers += rng.uniform(-1.2, 1.2, centers.shape)
records = centers[rng.integers(15, size=6000)] + rng.normal(0.0, 0.5, (6000, 2))
bounds = {0: (-12, 12), 1: (-10, 10)}  # public: chosen without looking

budget = PrivacyBudget(epsilon=2.0, delta=1e-5)
ways = {
    "ε = 0.1": DPKMeans(epsilon=0.1, n_clusters=15, bounds=bounds, budget=budget),
    "ε = 1": DPKMeans(epsilon=1.0, n_clusters=15, bounds=bounds, budget=budget),
    "without privacy": KMeans(15, n_init=10, random_state=0),
}

# %%
# At ε = 0.1 some clusters have two centers, and some centers cover two clusters. At ε = 1 nearly
# every cluster has its own center, close to the mean of its records.
across, up = np.meshgrid(np.linspace(-12, 12, 300), np.linspace(-10, 10, 250))
everywhere = np.column_stack([across.ravel(), up.ravel()])
colors = plt.get_cmap("tab20")(np.arange(20) % 20)[:15]

figure, panels = plt.subplots(1, 3, figsize=(11, 3.7), sharey=True, layout="constrained")
whole = ((records - records.mean(axis=0)) ** 2).sum()
for panel, (title, model) in zip(panels, ways.items(), strict=True):
    found = model.fit(records).cluster_centers_
    regions = model.predict(everywhere).reshape(across.shape)
    order = np.argsort(np.argsort(found[:, 0]))
    panel.imshow(
        colors[order[regions]], extent=(-12, 12, -10, 10), origin="lower", alpha=0.45, aspect="auto"
    )
    panel.scatter(*records[::4].T, s=2, color="black", alpha=0.35, linewidths=0)
    panel.scatter(*centers.T, marker="P", s=55, color="white", edgecolor="black", linewidths=0.7)
    panel.scatter(*found.T, s=170, facecolor="none", edgecolor="black", linewidths=1.5)
    share = -model.score(records) / whole
    panel.set(title=f"{title}: inertia {100 * share:.1f} %", xlim=(-12, 12), ylim=(-10, 10))
    panel.set(xticks=[], yticks=[])
plt.show()

# %%
# Both private fits spend from one budget.
print(budget)
