"""
Privacy audit: does it catch a bug?
===================================

An audit of an estimator with half of the required noise.

An attack sees 600 fits, each to one of two data sets that differ in one label. If the score of a
fit exceeds a threshold, the attack guesses the first data set. The colored line shows the false
positive and false negative rates for all thresholds. The black line is the trade-off function of
the claim.

If the claim is true, no attack is below the black line, except by chance. The correct estimator
stays above the line, and a copy with half of the noise does not. The p-value accounts for chance:
if the claim is true, it is below 1 % in at most one of a hundred audits.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.accounting import gdp_mu
from skdp.auditing import MultiRunAudit
from skdp.exceptions import FewRowsWarning

warnings.simplefilter("ignore", FewRowsWarning)  # these models are attacked, not used
X, y = np.zeros((11, 2)), np.arange(11) % 2  # public: made up for the attack
X[0, 0] = 1e4  # is clipped, and pulls as far as a row can
turned = np.r_[1 - y[0], y[1:]]


def fit(labels, epsilon, noise=None):
    """Return a model that is fitted to the rows above with these labels."""
    model = DPLogisticRegression(
        epsilon=epsilon,
        center=False,  # the release of a center would not be attacked
        solver="output_perturbation",
        random_state=noise,
    )
    return model.fit(X, labels)


# %%
# Half of the noise means twice the μ, so the true ε is larger than the claimed one.
# Φ(μ), where the claim has Φ(μ/2):
twice = PrivacyBudget.from_risk(accuracy=(0.764, 0.5)).epsilon
claim = fit(y, 3.0).privacy_
print(f"claimed: mu = {claim.gdp_mu:.2f}; with the bug: mu = {gdp_mu(twice, 1e-5):.2f}")

figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
alpha = np.linspace(0.0, 1.0, 200)
ways = {"the estimator": (3.0, "#2b6ca3"), "its copy with half of the noise": (twice, "#c0392b")}
for panel, (title, (epsilon, color)) in zip(panels, ways.items(), strict=True):

    def release(labels, noise, epsilon=epsilon):
        """Return the score of the row that pulls."""
        return fit(labels, epsilon, noise).decision_function(X[:1])[0]

    audit = MultiRunAudit.run(release, turned, y, n_runs=600, random_state=0)
    panel.fill_between(alpha, claim.tradeoff(alpha), color="0.9")
    panel.plot(alpha, claim.tradeoff(alpha), color="black")
    panel.plot(*audit.roc(), color=color)
    panel.plot([0, 1], [1, 0], ":", color="0.6")
    panel.set(title=f"{title}: p = {audit.p_value(claim):.2g}", xlabel="accused wrongly")
    panel.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    panel.spines[["top", "right"]].set_visible(False)
    print(f"{title}: mu is at least {audit.lower_mu(0.99):.2f}")
panels[0].set_ylabel("missed")
panels[0].text(0.03, 0.06, "no attack reaches here\nif the claim is true", color="0.35")
plt.show()
