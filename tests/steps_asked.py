"""What the steps of a sequence of Gaussian releases are asked for."""

import warnings

import numpy as np
from sklearn.base import clone

from skdp.workloads.gaussian_steps import GaussianPlan


def answers(model, rows, groups, monkeypatch, told=None):
    """Return for each step what it is asked for, what it releases and its price.

    `told` replaces the releases.
    """
    asked, given, prices, release = {}, {}, {}, GaussianPlan.release

    def spy(plan, name, values, rng):
        noisy = release(plan, name, values, rng)
        asked[name], given[name] = np.array(values, float), noisy if told is None else told[name]
        prices[name] = next(s.l2_sensitivity for s in plan.steps if s.name == name)
        return given[name]

    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, of rows that are made up
        patch.setattr(GaussianPlan, "release", spy)
        clone(model).fit(rows, groups=groups)
    return asked, given, prices
