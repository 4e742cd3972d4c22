"""
What does a synthetic census look like?
=======================================

The made-up rows have columns of the *Adult* data (an extract of the US census of 1994). The schema
states what is public about them. One private release then gives as many synthetic rows as you like.
*Synthetic tables* in the user guide has the same lines for the file of Adult.

In the first picture, bars are the counts of synthetic rows. Lines are 95 % intervals for the counts
of the private rows, which follow from the released counts and the public scale of the noise. The
picture reads no private row.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skdp import DPTreeDensity, PrivacyBudget, TableSchema

rng, n = np.random.default_rng(0), 30_000
age = np.clip(17 + rng.gamma(2.5, 9, n), 17, 90).round()
years = np.clip(rng.normal(10, 2.5, n), 1, 16).round()
hours = np.clip(rng.normal(41, 12, n), 1, 99).round()
married = rng.random(n) < 0.9 / (1 + np.exp(-(age - 30) / 5)) - 0.2 * (age > 60)
gain = np.where(rng.random(n) < 0.08, rng.lognormal(8.3, 1, n), 0).round()
odds = -4.7 + 0.33 * (years - 10) + 0.03 * (hours - 40) + 2.2 * married + 0.3 * np.log1p(gain)
rich = rng.random(n) < 1 / (1 + np.exp(-odds - 0.03 * (age - 20)))
census = pd.DataFrame({"age": age, "education-num": years, "hours-per-week": hours})
census["capital-gain"] = gain
census["marital-status"] = np.where(married, "Married-civ-spouse", "Never-married")
older = ~married & (age >= 30)
census.loc[older, "marital-status"] = rng.choice(["Divorced", "Widowed"], older.sum(), p=[0.7, 0.3])
census["income"] = np.where(rich, ">50K", "<=50K")

# %%
# `TableSchema` takes bounds for numbers, and lists for categories.
schema = TableSchema(
    {
        **{"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99)},
        "capital-gain": {"bounds": (0, 100_000), "scale": "log"},
        "marital-status": ["Never-married", "Married-civ-spouse", "Divorced", "Widowed"],
        "income": ["<=50K", ">50K"],
    }
)
budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
density = DPTreeDensity(bounds=schema, target="income", n_bins=32, budget=budget).fit(census)
synthetic = density.sample(n)
print(synthetic.head(3).round(1).to_string())

# %%
# Every column, beside what was released about it:
figure, panels = plt.subplots(2, 3, figsize=(9, 5.2), layout="constrained")
for panel, name in zip(panels.flat, schema.columns, strict=True):
    table = density.one_way(name, level=0.95, max_levels=32)
    places, ends = np.arange(len(table.levels)), [0, len(table.levels) - 1]
    middle, half = 0.5 * (table.low + table.high), 0.5 * (table.high - table.low)
    panel.bar(places, table.expected, alpha=0.4)
    panel.errorbar(places, middle, half, fmt="none", ecolor="black", elinewidth=1.0)
    panel.set_xticks(ends, [table.levels[i] for i in ends], fontsize="small")
    panel.set_title(name, fontsize="medium")
plt.show()

# %%
# The synthetic rows keep relations to the target for most rows, but not for rare combinations. In
# the private rows, all people below 30 are married or never married, and all others were married at
# some time. The noise adds a few synthetic people of other kinds, and their incomes mean nothing.
# You can compare both tables here only because this census is simulated.
tables = {"private rows": census, "synthetic rows": synthetic}
fig, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for panel, (title, rows) in zip(panels, tables.items(), strict=True):
    decade = (rows["age"] // 10 * 10).clip(20, 80)
    is_rich = (rows["income"] == ">50K").groupby([decade, rows["marital-status"]], observed=True)
    shares = is_rich.mean().unstack()[[*schema.columns["marital-status"].categories]]
    shares.plot(ax=panel, marker="o", title=title, legend=panel is panels[0])
    panel.set_ylabel("share above 50K")
plt.show()

# %%
# The ledger has one release. Rows, tables and pictures are not in it.
print(budget)
