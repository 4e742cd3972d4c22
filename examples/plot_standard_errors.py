"""
Standard errors: which coefficients can be trusted?
===================================================

How much do wages rise with schooling, and do men and women with the same schooling earn the same?
The wages are simulated, so that the answer is known. A private regression gives a table like that
of statsmodels, with standard errors for the sample and for the noise. The figure compares its
intervals with those without privacy.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder

from skdp import DPHuberRegressor, DPLogisticRegression
from skdp.preprocessing import BoundsScaler

rng = np.random.default_rng(0)
N = 20_000
REGIONS = ["north", "south", "west"]
people = pd.DataFrame(
    {
        "schooling": rng.integers(8, 21, N),
        "experience": rng.uniform(0, 40, N),
        "sex": rng.choice(["female", "male"], N),
        "region": rng.choice(REGIONS, N),
    }
)
TRUTH = {
    "schooling": 0.08,
    "experience": 0.01,
    "sex_male": 0.12,
    "region_south": 0.0,
    "region_west": 0.05,
}
effects = 0.08 * people["schooling"] + 0.01 * people["experience"]
effects += 0.12 * (people["sex"] == "male") + 0.05 * (people["region"] == "west")
log_wage = 1.5 + effects + 0.4 * rng.normal(size=N)

# %%
# Numbers are scaled by public bounds, and each category has a reference level: ``female`` and
# ``north``. No row is longer than 2: two numbers in [−1, 1], and two indicators. The column of the
# intercept is as large as the others.
levels = OneHotEncoder(
    categories=[["female", "male"], REGIONS],
    drop="first",
    handle_unknown="ignore",
    sparse_output=False,
)
features = make_column_transformer(
    (BoundsScaler(bounds={"schooling": (8, 20), "experience": (0, 40)}), [0, 1]),
    (levels, ["sex", "region"]),
    verbose_feature_names_out=False,
)
terms = {"features": features, "data_norm": 2.0, "intercept_scaling": 1.0, "standard_errors": True}
model = DPHuberRegressor(target_bounds=(0, 6), epsilon=1.0, **terms).fit(people, log_wage)
model.summary()

# %%
# The same as text. Coefficients are in the units of the columns: a year of schooling raises wages
# by about 8 %.
print(model.summary())

# %%
# Do regions differ? A Wald test of both levels together says so.
print(model.wald_test(["region_south", "region_west"]))

# %%
# Without privacy the intervals are narrower, because they contain no noise.
exact = DPHuberRegressor(target_bounds=(0, 6), epsilon=np.inf, **terms).fit(people, log_wage)
figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
for shift, (name, fit) in enumerate({"ε = 1": model, "without privacy": exact}.items()):
    rows = fit.summary().to_frame().loc[list(TRUTH)]
    half = 0.5 * (rows["0.975]"] - rows["[0.025"])
    places = np.arange(len(TRUTH)) + 0.2 * shift
    axis.errorbar(rows["coef"], places, xerr=half, fmt="o", capsize=3, label=name)
axis.plot(list(TRUTH.values()), np.arange(len(TRUTH)) + 0.1, "k|", markersize=22, label="truth")
axis.set_yticks(np.arange(len(TRUTH)) + 0.1, list(TRUTH))
axis.set(xlabel="coefficient, in log wages")
axis.legend(frameon=False)
plt.show()

# %%
# Logistic regression: who earns more than the median? The errors are valid for the model of
# log-odds. Pass ``standard_errors="robust"`` if it may be wrong.
above = (log_wage > 2.8).astype(int)
print(DPLogisticRegression(epsilon=1.0, **terms).fit(people, above).summary())
