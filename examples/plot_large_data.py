"""
Dask: how do private statistics work on a cluster?
==================================================

Private maps and clusters of four million events, which no single process holds.

The workers of a cluster generate the events of a synthetic town block by block. The events stay on
the workers. Only counts and sums of whole blocks are sent to the driver, which adds noise to the
totals.

Left: a map of 8000 cells at ε = 0.5. Middle: the same map at ε = 0.05. With this many events the
town is still visible, and the noise shows as speckles in empty cells. Right: the regions of 12
k-means centers at ε = 0.5, after seven reads of all blocks.
"""

import logging

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster
from matplotlib.colors import SymLogNorm

from skdp import DPKMeans, PrivacyBudget
from skdp.statistics import histogram

logging.getLogger("distributed").setLevel(logging.ERROR)
ROWS, BLOCKS = 250_000, 16
rng = np.random.default_rng(3)
districts = rng.uniform([-5.0, -3.5], [5.0, 3.5], (9, 2))
spreads, sizes = rng.uniform(0.15, 0.7, 9), rng.dirichlet(np.full(9, 2.0))


def events(block, block_info=None):
    """Return where the events of a block were: in districts, on a ring road, along a river."""
    rng = np.random.default_rng(block_info[None]["chunk-location"][0])
    place = rng.choice(9, ROWS, p=sizes)
    where = districts[place] + rng.normal(size=(ROWS, 2)) * spreads[place, None]
    kind, turn, along = rng.random(ROWS), rng.uniform(0, 2 * np.pi, ROWS), rng.uniform(-6, 6, ROWS)
    ring = np.column_stack([4.2 * np.cos(turn), 2.8 * np.sin(turn)])
    river = np.column_stack([along, 1.5 * np.sin(0.7 * along) + 0.2 * along])
    where = np.where(kind[:, None] < 0.25, ring, where)
    where = np.where(kind[:, None] > 0.85, river, where)
    return (where + 0.05 * rng.normal(size=(ROWS, 2))).astype(np.float32)


# %%
# Here two workers are threads of one process. Leave out ``processes=False`` to use processes, or
# pass the address of a cluster to `Client`. The releases stay the same, bit for bit.
bounds = {0: (-6.0, 6.0), 1: (-4.0, 4.0)}  # public: the limits of the map
edges = [np.linspace(-6, 6, 111), np.linspace(-4, 4, 74)]
budget = PrivacyBudget(epsilon=1.5, delta=1e-9)
with (
    LocalCluster(2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
    Client(cluster),
):
    empty = da.zeros((ROWS * BLOCKS, 2), chunks=(ROWS, 2), dtype=np.float32)
    town = empty.map_blocks(events, dtype=np.float32)  # no event is drawn yet
    maps = {e: histogram(town, epsilon=e, edges=edges, budget=budget).value for e in (0.5, 0.05)}
    kmeans = DPKMeans(epsilon=0.5, n_clusters=12, bounds=bounds, budget=budget).fit(town)

# %%
figure, panels = plt.subplots(1, 3, figsize=(12, 3.3), sharey=True, layout="constrained")
view = {"origin": "lower", "extent": (-6, 6, -4, 4), "aspect": "auto"}
for panel, (epsilon, counts) in zip(panels, maps.items(), strict=False):
    scale = SymLogNorm(30.0, vmin=-300, vmax=3e4)
    panel.imshow(counts.T, norm=scale, cmap="inferno", interpolation="nearest", **view)
    panel.set(title=f"events in each cell, ε = {epsilon:g}")
across, up = np.meshgrid(np.linspace(-6, 6, 400), np.linspace(-4, 4, 270))
regions = kmeans.predict(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
panels[2].imshow(regions, cmap="tab20", alpha=0.7, interpolation="nearest", **view)
panels[2].scatter(*kmeans.cluster_centers_.T, s=40, color="white", edgecolor="black")
panels[2].set(title="regions of 12 centers, ε = 0.5")
for panel in panels:
    panel.set(xticks=[], yticks=[])
plt.show()

# %%
print(budget)
