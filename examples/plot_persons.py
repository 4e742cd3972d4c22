"""
User-level privacy: what does it cost to protect whole persons?
===============================================================

Each visit of a patient is a row. The figure compares guarantees for one row with guarantees for all
rows of a patient.

Left: the share of members that an attacker finds, against the share of others accused, for a
patient with ten visits. Right: the accuracy on new patients. Dots are six fits at each ε, and lines
are their means.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skdp import DPLogisticRegression
from skdp.exceptions import FewRowsWarning
from skdp.privacy import GDPEvent, PrivacyGuarantee

warnings.simplefilter("ignore", FewRowsWarning)  # the figure shows what too small an ε does
rng = np.random.default_rng(0)
VISITS = 10


def clinic(n_patients):
    """Return rows, labels and the patient of each row: one to ten visits per patient."""
    patient = np.repeat(np.arange(n_patients), rng.integers(1, VISITS + 1, n_patients))
    own = rng.normal(size=(n_patients, 8))
    X = (0.8 * own[patient] + 0.6 * rng.normal(size=(len(patient), 8))) / 4
    y = (X @ np.linspace(-8, 8, 8) + rng.logistic(size=len(X)) > 0).astype(int)
    return X, y, patient


X, y, patient = clinic(800)
X_new, y_new, _ = clinic(4000)

# %%
# With ``groups`` the guarantee covers all rows of a person. Without ``groups``, the μ for a person
# with ten rows is ten times as large, by group privacy.
person = DPLogisticRegression(epsilon=1.0, classes=(0, 1)).fit(X, y, groups=patient)
record = DPLogisticRegression(epsilon=1.0, classes=(0, 1)).fit(X, y)
print(person.privacy_, record.privacy_, sep="\n\n")
ten_rows = PrivacyGuarantee(GDPEvent(VISITS * record.privacy_.gdp_mu), "replace_one", "ten rows")
promises = {"patients protected": person.privacy_, "rows protected": ten_rows}

# %%
# Left: no attack can be above the curve. Right: the loss of accuracy is small here, because a
# person counts as one row and the noise is the same.
colors = {"patients protected": "#2b6ca3", "rows protected": "#c0392b"}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
accused = np.linspace(0, 1, 300)
for name, promise in promises.items():
    left.plot(accused, 1 - promise.tradeoff(accused), color=colors[name], label=name)
left.plot(accused, accused, "k:", linewidth=1, label="no release")
left.set(
    xlabel="others accused", ylabel=f"patients of {VISITS} visits found, at most", aspect="equal"
)
left.legend(frameon=False, loc="lower right")

epsilons = [0.1, 0.3, 1.0, 3.0]
for name, groups in {"rows protected": None, "patients protected": patient}.items():
    scores = [
        [
            DPLogisticRegression(epsilon=e, classes=(0, 1))
            .fit(X, y, groups=groups)
            .score(X_new, y_new)
            for _ in range(6)
        ]
        for e in epsilons
    ]
    right.plot(epsilons, 100 * np.mean(scores, axis=1), color=colors[name])
    right.scatter(
        np.repeat(epsilons, 6), 100 * np.ravel(scores), s=9, alpha=0.5, color=colors[name]
    )
right.set(xscale="log", xlabel="ε", ylabel="accuracy in %")
right.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
for panel in (left, right):
    panel.spines[["top", "right"]].set_visible(False)
plt.show()
