"""
Messy CSV: how does one script get to a privacy report?
=======================================================

The file has dates, free text, gaps, product codes with hundreds of levels, skewed amounts and
several rows per customer. One script of 40 lines reads it, fits two models, evaluates them
privately, adds prediction intervals, and writes a report. All rows of a customer are protected
together.

The figure shows the classifier on the customers who were held out.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

# %%
# **A made-up file**, so that the script runs anywhere. With your own file, begin at the next block.
file = Path(mkdtemp()) / "orders.csv"
rng = np.random.default_rng(3)
customer = np.repeat(np.arange(8000), 1 + rng.poisson(3, 8000))
n = len(customer)
age = rng.integers(18, 88, 8000)[customer]
city = rng.choice(["Basel", "Bern", "Geneva", "Zurich"], 8000)[customer]
code = rng.zipf(1.6, n) % 700
amount = np.exp(3 + 0.02 * (age - 50) + 0.7 * (city == "Zurich") + 0.7 * rng.normal(size=n))
phrases = ["item broken", "great service", "wrong size", "thank you", "fast"]
comment = rng.choice(phrases, n)
unhappy = np.isin(comment, ["item broken", "wrong size"]) + 0.5 * (code == 1) + np.log10(amount)
made_up = pd.DataFrame(
    {
        "customer": [f"C-{one:05}" for one in customer],
        "day": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
        "age": age,
        "city": city,
        "product": [f"P{one:04}" for one in code],
        "comment": comment,
        "amount": amount.round(2),
        "returned": np.where(2 * unhappy - 4 + rng.logistic(size=n) > 0, "yes", "no"),
    }
)
gaps = ["age", "city", "comment", "amount"]
made_up[gaps] = made_up[gaps].mask(rng.random((n, 4)) < [0.07, 0.05, 0.25, 0.03])
made_up.to_csv(file, index=False, date_format="%d.%m.%Y")
print(made_up.head().to_string())

# %%
# **The script.** The schema states what is known about the columns without looking at the rows.
# ``HashSplit`` keeps all orders of a customer on one side, so the costs of the two sides do not add
# up. A missing target needs a public rule: here a missing amount counts as 30. On average over new
# customers, 90 % of the intervals contain the amount.
from skdp import DPAdditiveClassifier, DPAdditiveRegressor, PrivacyBudget, TableSchema
from skdp.calibration import DPConformalRegressor
from skdp.metrics import regression_report, score_report
from skdp.model_selection import HashSplit

orders = pd.read_csv(file, dtype=str)
returned = orders.pop("returned")
amounts = np.log10(pd.to_numeric(orders.pop("amount")).fillna(30).clip(1, 10_000))
schema = TableSchema(
    {
        "customer": "id",
        "day": {"bounds": ("2023-01-01", "2024-12-31"), "date_format": "%d.%m.%Y"},
        "age": (18, 100),
        "city": ["Basel", "Bern", "Geneva", "Zurich"],
        "product": {"kind": "code", "buckets": 32},
        "comment": {"kind": "text", "buckets": 64},
    },
    source="order form",
)
person = schema.groups(orders)
train, test = next(HashSplit(n_splits=4).split(orders, groups=person))
budget = PrivacyBudget.from_risk(advantage=0.2, unit="person")
learn, judge = budget.at(partition="learn"), budget.at(partition="judge")

classifier = DPAdditiveClassifier(epsilon=1.0, bounds=schema, classes=["no", "yes"], budget=learn)
classifier.fit(orders.iloc[train], returned.iloc[train])  # the schema identifies persons
inner = DPAdditiveRegressor(bounds=schema, target_bounds=(0, 4))  # log10 of 1 to 10 000
regressor = DPConformalRegressor(inner, confidence_level=0.9, epsilon=1.5, budget=learn)
regressor.fit(orders.iloc[train], amounts.iloc[train])

held_out, theirs = orders.iloc[test], {"groups": person.iloc[test], "budget": judge}
scores = classifier.predict_proba(held_out)[:, 1]
judged = score_report(returned.iloc[test], scores, classes=["no", "yes"], epsilon=1.0, **theirs)
guesses, intervals = regressor.predict_interval(held_out)
terms = {"target_bounds": (0, 4), "error_bound": 1.0, "epsilon": 1.0} | theirs
errors = regression_report(amounts.iloc[test], guesses, **terms)
(file.parent / "report.md").write_text(budget.report(about={"name": "Returns"}))
print(judged, errors, budget, sep="\n\n")
low, high = 10 ** intervals[0, :, 0]
print(f"\n90 % interval of the first order: {low:.0f} to {high:.0f}")

# %%
# The curves are computed from the same release as the scores, at no further cost.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
judged.roc_display().plot(ax=left)
judged.calibration_display().plot(ax=right)
plt.show()
