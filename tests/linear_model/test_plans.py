"""A plan is computed once, before the spend; what was planned is what runs."""

from collections import Counter

import numpy as np
import pytest

from skdp import DPLogisticRegression
from skdp.samplers.proximal import ProximalSampler
from skdp.solvers import SOLVERS, NoisyGD, RegularizedExponential

X = np.linspace(-1.0, 1.0, 400).reshape(200, 2)
Y = np.arange(200) % 2


@pytest.fixture
def planned(monkeypatch):
    """How often each solver and sampler planned."""
    found = Counter()

    def count(owner, name):
        old = getattr(owner, name)

        def new(self, *args, **more):
            found[type(self).__name__] += 1
            return old(self, *args, **more)

        monkeypatch.setattr(owner, name, new)

    for kind in SOLVERS.values():
        count(kind, "plan")
    for kind in (RegularizedExponential, NoisyGD):
        count(kind, "plan_at")
    count(ProximalSampler, "plan")
    return found


SAMPLE = {"AutoSolver": 1, "RegularizedExponential": 1, "ProximalSampler": 1}
STEPS = {**SAMPLE, "NoisyGD": 1}  # a sample was planned first, and would have been too long


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, SAMPLE),
        ({"neighboring": "add_remove_one"}, SAMPLE),
        ({"neighboring": "add_remove_one", "n_samples_hint": 300}, SAMPLE),
        ({"subsample": 0.5}, SAMPLE),
        ({"epsilon": 1000.0}, STEPS),
        ({"solver": "regularized_exponential"}, {**SAMPLE, "AutoSolver": 0}),
        ({"solver": "noisy_gd"}, {"NoisyGD": 1}),
    ],
    ids=str,
)
def test_a_plan_is_computed_once(given, expected, planned):
    DPLogisticRegression(**given).fit(X, Y)
    assert planned == Counter(expected)
