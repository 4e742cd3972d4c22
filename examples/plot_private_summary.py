"""
Private histogram: how much does noise change it?
=================================================

The bars are 15 released counts. Replacing one record changes two of them by one. The error bars
contain all fifteen true counts with probability 95 %. They follow from the distribution of the
noise and cost nothing. The outline shows the true counts, which only the owner of the data knows.
"""

import matplotlib.pyplot as plt
import numpy as np

from skdp import PrivacyBudget, statistics

rng = np.random.default_rng(0)
ages = np.concatenate([rng.normal(34.0, 8.0, 900), rng.normal(63.0, 9.0, 600)])
edges = np.arange(15, 95, 5)  # public: chosen without looking

budget = PrivacyBudget(epsilon=1.0, delta=0.0, composition="pure")
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for panel, epsilon in zip(panels, (0.1, 0.5), strict=True):
    found = statistics.histogram(ages, edges=edges, epsilon=epsilon, budget=budget)
    low, high = found.interval(simultaneous=True)
    middle = 0.5 * (edges[:-1] + edges[1:])
    panel.bar(middle, found.value, width=4.4, color="#b9d4ea", label="released")
    panel.vlines(middle, low, high, color="#2b6ca3", label="holds the truth, 95 %")
    panel.stairs(np.histogram(ages, edges)[0], edges, color="black", label="truth")
    panel.set(title=f"ε = {epsilon}", xlabel="age")
    panel.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("records")
panels[1].legend(frameon=False)
plt.show()

# %%
# Both releases spend from one budget.
print(budget)
