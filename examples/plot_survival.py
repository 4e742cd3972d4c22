"""
Survival analysis: how long does it last, and for whom?
=======================================================

Kaplan-Meier curves show how long patients stay free of an event, also if some leave the study
early. A model of hazards says who is at risk. Both are released privately.

The patients are simulated by the method of Bender, Augustin and Blettner (2005, *Statistics in
Medicine* 24): times have a Weibull distribution whose hazard is proportional to exp(x·β).
"""

import matplotlib.pyplot as plt
import numpy as np

from skdp import DPLogisticRegression
from skdp.statistics import survival_curve

rng = np.random.default_rng(0)
n, beta = 4000, np.array([1.0, -0.7, 0.4])
X = rng.uniform(-1, 1, size=(n, 3))
time = 5 * rng.weibull(1.5, n) * np.exp(-X @ beta / 1.5)
left = rng.uniform(0, 8, n)  # the end of observation
time, event = np.minimum(time, left), time <= left

# %%
# One histogram of times and events gives the curve of each group. The edges are public.

edges = np.arange(9.0)
curve = survival_curve(time, event, edges=edges, by=X[:, 0] > 0, keys=[False, True], epsilon=1.0)
fig, ax = plt.subplots(figsize=(6, 4))
for k, label in enumerate(["first column below 0", "above 0"]):
    low, high = (end[k] for end in curve.interval())
    ax.step(edges[1:], curve.value[k], where="mid", label=label)
    ax.fill_between(edges[1:], low, high, alpha=0.3, step="mid")
ax.set(xlabel="years", ylabel="share without an event", ylim=(0, 1))
ax.legend()
fig.tight_layout()
plt.show()

# %%
# A model of discrete-time hazards is a classifier of years: a patient has a row for each year that
# begins under observation, and the label says whether the event happens in that year. All rows of a
# patient are one record, so pass `groups`. There, a patient with m rows counts as one row does. The
# number of rows as `sample_weight` undoes this: each year then counts alike. Years in which
# patients left count half, as in the curve.

n_years = 8
last = np.minimum(time.astype(int), n_years - 1)
patient = np.repeat(np.arange(n), last + 1)
year = np.concatenate([np.arange(k + 1) for k in last])
is_last = year == last[patient]
happens = is_last & event[patient] & (time[patient] < n_years)
weight = (last[patient] + 1) * np.where(is_last & ~event[patient], 0.5, 1.0)
rows = np.column_stack([X[patient], np.eye(n_years)[year]])

model = DPLogisticRegression(epsilon=1.0, classes=[False, True], data_norm=2, max_weight=n_years)
model.fit(rows, happens, groups=patient, sample_weight=weight)
print(model.privacy_)
print("coefficients", model.coef_[0, :3].round(2))

# %%
# The score ranks patients by risk. Concordance is the share of pairs in which the patient with the
# earlier event has the higher score.


def concordance(time, event, score):
    """Return Harrell's concordance; 0.5 is a random order."""
    earlier = event[:, None] & (time[:, None] < time)
    return (earlier & (score[:, None] > score)).sum() / earlier.sum()


risk, truth = X @ model.coef_[0, :3], X @ beta
print(f"private {concordance(time, event, risk):.3f}, true {concordance(time, event, truth):.3f}")
