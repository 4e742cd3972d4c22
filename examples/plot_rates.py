"""
Rates: do smokers die of heart disease more often?
==================================================

A rate is a number of events per year of observation. This example releases counts of deaths and
years by group, compares the groups, and publishes a table by the rule of an office.

The data are those of the British doctors (Doll and Hill 1966, *National Cancer Institute Monograph*
19): deaths from coronary heart disease and years of observation of male doctors, by age and
smoking. Only the table below was published. Here each record stands for about five years of one
doctor.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skdp import DPPoissonRegressor, PrivacyBudget, statistics

AGES = ["35-44", "45-54", "55-64", "65-74", "75-84"]
YEARS = {"no": [18790, 10673, 5710, 2585, 1462], "yes": [52407, 43248, 28612, 12663, 5317]}
DEATHS = {"no": [2, 12, 28, 28, 31], "yes": [32, 104, 206, 186, 102]}

cells = [
    pd.DataFrame({"smokes": smokes, "age": age, "years": years / (years // 5), "died": row < died})
    for smokes in ("no", "yes")
    for age, years, died in zip(AGES, YEARS[smokes], DEATHS[smokes], strict=True)
    for row in [np.arange(years // 5)]
]
doctors = pd.concat(cells, ignore_index=True)

# %%
# The keys are public, and so is the bound of the years: the length of a visit. One record is in one
# cell of each table.

budget = PrivacyBudget(epsilon=2.0, delta=1e-6)
by = {"by": ["smokes", "age"], "keys": {"smokes": ["no", "yes"], "age": AGES}}
spend = {"epsilon": 0.5, "budget": budget}
deaths = statistics.count(doctors[["smokes", "age", "died"]], **by, **spend)
years = statistics.sum(doctors[["smokes", "age", "years"]], bounds=(0, 6), **by, **spend)
rates = 1000 * deaths.value.reshape(2, 5) / years.value.reshape(2, 5)
low, high = (1000 * end.reshape(2, 5) / years.value.reshape(2, 5) for end in deaths.interval())

fig, ax = plt.subplots(figsize=(6, 4))
for k, label in enumerate(["others", "smokers"]):
    ends = np.abs([rates[k] - low[k], high[k] - rates[k]])
    ax.errorbar(np.arange(5) + 0.1 * k, rates[k], ends, fmt="o-", capsize=3, label=label)
ax.set_xticks(range(5), AGES)
ax.set(xlabel="age", ylabel="deaths per 1000 years")
ax.legend()
fig.tight_layout()
plt.show()

# %%
# Is there a difference? Deaths per record of five years, and their ratio. The intervals also count
# sampling. Smokers were younger, so the ratio is not yet one at the same age: compare the lines of
# the figure.

found = statistics.difference(doctors["died"], by=doctors["smokes"], keys=["no", "yes"], **spend)
print(found.to_frame().round(4))
print("ratio", found.ratio.round(2), *(end.round(2) for end in found.ratio_interval()))

# %%
# A model of rates has counts per year as its target, and the years as weights. It assumes one
# ratio for ten years of age.

X = doctors["age"].map(AGES.index).to_numpy()[:, None] / 2.0 - 1.0
model = DPPoissonRegressor(
    target_bounds=(0, 0.2), max_weight=6.0, data_norm=1.42, intercept_scaling=1.0,
    standard_errors=True, epsilon=3.0, delta=1e-6,
)  # fmt: skip
model.fit(X, doctors["died"] / doctors["years"], sample_weight=doctors["years"])
ratio, *ends = (np.exp(one / 2.0) for one in (model.coef_, *model.coef_interval()))
print(model.privacy_)
print("ratio for ten years of age", ratio.round(2), *(end.round(2) for end in ends))

# %%
# Offices do not publish small counts. The rule is applied after the noise, and costs no privacy.

print(deaths.to_frame(rounded="cms")[["published"]].to_string())
print(budget.spent)
