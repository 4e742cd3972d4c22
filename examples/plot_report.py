"""
Privacy report: how does an analysis go from a table to its report?
===================================================================

This example analyzes a synthetic census-like table with missing values under one budget. The budget
is derived from an acceptable gain of an attacker. The example checks the pipeline, computes its
cost in advance, fits it, evaluates it, and prints a report for a privacy officer.

Left: the quality of the model, from one private release on test rows. Right: the possible gain of
an attacker who sees all releases.
"""

import io
import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.metrics import score_report
from skdp.pipeline import check_pipeline
from skdp.preprocessing import BoundsScaler

rng, n = np.random.default_rng(0), 20_000
work = rng.choice(["private", "public", "self-employed"], n, p=[0.7, 0.18, 0.12])
age, hours = rng.integers(17, 91, n), np.clip(rng.normal(40, 12, n), 1, 99).round()
schooling = np.clip(rng.normal(10, 2.5, n), 1, 16).round()
odds = 0.55 * (schooling - 11) + 0.04 * (hours - 42) + 0.03 * (age - 42) + (work == "public") - 0.8
table = pd.DataFrame({"age": age, "hours": hours, "schooling": schooling, "work": work})
table = table.mask(rng.uniform(size=table.shape) < 0.03)  # unknown
table["income"] = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-odds)), ">50K", "<=50K")
file = io.StringIO(table.sample(frac=1.0, random_state=1).to_csv(index=False))

# %%
# Public facts: names of columns, bounds and categories. A typical scikit-learn pipeline would learn
# them from the records. `check_pipeline` reports this before anything is fitted.
data = pd.read_csv(file)
numbers = {"age": (17, 90), "hours": (0, 80), "schooling": (1, 16)}
kinds = [["private", "public", "self-employed"]]
print(check_pipeline(make_pipeline(StandardScaler(), DPLogisticRegression())))

encoder = OneHotEncoder(categories=kinds, handle_unknown="ignore", sparse_output=False)
columns = ColumnTransformer(
    [
        ("numbers", BoundsScaler(bounds=numbers, missing="indicator"), [*numbers]),
        ("work", encoder, ["work"]),
    ]
)
model = make_pipeline(
    columns, DPLogisticRegression(epsilon=1.0, classes=["<=50K", ">50K"], data_norm=2.5)
)
found = check_pipeline(model)
print(found)

# %%
# The budget: no membership test may have an advantage above 15 %. The first 15 000 rows are for
# learning and the others for testing. Each record is in one of these two partitions, so their costs
# do not add up.
budget = PrivacyBudget.from_risk(advantage=0.15, delta=1e-6)
epsilon = 0.9 * budget.epsilon
model.set_params(
    dplogisticregression__epsilon=epsilon,
    dplogisticregression__budget=budget.at(partition="learning"),
)
made_up = pd.DataFrame({"age": [40], "hours": [40], "schooling": [9], "work": ["public"]})
print(budget.price(model, made_up.loc[[0, 0]], ["<=50K", ">50K"]))

learning, judging = data[:15_000], data[15_000:]
model.fit(learning.drop(columns="income"), learning["income"])
scores = model.predict_proba(judging.drop(columns="income"))[:, 1]
judged = score_report(
    judging["income"],
    scores,
    epsilon=epsilon,
    classes=["<=50K", ">50K"],
    budget=budget.at(partition="judging"),
)
print(judged)

# %%
# The report, as Markdown.
about = {"name": "Income by work", "data_curators": "The office", "intended_use": "An example"}
print(budget.report(about=about, checked=found))

# %%
# The numbers of the report as JSON. All of them are functions of the ledger, not of the data.
told = json.loads(budget.report("json"))
risks = {at: [*told[at]["risk"].values()][:3] for at in ("ceiling", "meter")}
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
fpr, tpr, _ = judged.roc_curve()
left.plot(fpr, tpr, color="#2b6ca3")
left.plot([0, 1], [0, 1], "k:", linewidth=1)
low, high = judged.interval("roc_auc")
left.set(title=f"area {judged.roc_auc:.3f}, 95 % in [{low:.3f}, {high:.3f}]")
left.set(xlabel="false positives", ylabel="true positives", xlim=(0, 1), ylim=(0, 1.01))
place = np.arange(3)
for shift, at, label, color in (
    (0.2, "ceiling", "at the limit (guarantee)", "#b9d4ea"),
    (-0.2, "meter", "so far", "#2b6ca3"),
):
    bars = right.barh(place + shift, risks[at], 0.38, color=color, label=label)
    right.bar_label(bars, [f"{risk:.1%}" for risk in risks[at]], padding=3)
right.vlines([0, 0.01, 0.1], place - 0.45, place + 0.45, color="black", label="without any release")
right.set_yticks(place, ["advantage", "found at 1 %\nfalse alarms", "one of 10\nvalues guessed"])
right.set(title="what an attacker gains", xlim=(0, 0.24), xlabel="probability")
right.invert_yaxis()
right.legend(frameon=False, loc="center right", fontsize="small")
for panel in (left, right):
    panel.spines[["top", "right"]].set_visible(False)
plt.show()
