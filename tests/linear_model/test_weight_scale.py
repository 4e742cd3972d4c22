"""A bound of weights far above the weights costs noise, and no more: n is the sum of shares."""

from __future__ import annotations

import inspect
import math
from dataclasses import replace

import numpy as np
import pytest
import releases as suite

from skdp import DPLinearRegression, DPLogisticRegression, DPTabularClassifier, DPTabularRegressor
from skdp.data.persons import Persons
from skdp.data.records import Records
from skdp.exceptions import FewRowsWarning
from skdp.losses import SquaredLoss
from skdp.losses.weighted import WeightedLoss
from skdp.privacy import Neighboring
from skdp.solvers import Problem
from skdp.solvers.base import RowCount

N, MOST = 6000, 100.0
SMALL = [2.0**-21, 0.1, 1.0 / 3.0, 0.7, 1.0]


def table(n=N):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    rare = (rng.random(n) < 0.1).astype(int)
    return X, 10.0 + 5.0 * X[:, 0] + 0.3 * rng.normal(size=n), rare


def of_numbers():
    """Return the regressors with weights whose bounds are numbers; forests and SGD take seconds."""
    for name, kind in suite.releases().items():
        parameters = inspect.signature(kind).parameters
        if {"max_weight", "target_bounds"} <= {*parameters} and not any(
            slow in name for slow in ("RandomForest", "SGD")
        ):
            yield pytest.param(kind, id=name)


@pytest.mark.parametrize("kind", [*of_numbers()])
def test_a_fit_with_a_wide_bound_is_no_worse_than_noise_makes_it(kind):
    """At ε = 3000 even 60 records have little noise: one cause less than 1e-9 of failures."""
    X, y, _ = table()
    own = {"bounds": [(-1.0, 1.0)] * 2} if "bounds" in inspect.signature(kind).parameters else {}
    model = kind(epsilon=3000.0, target_bounds=(0.0, 20.0), max_weight=MOST, **own)
    predicted = model.fit(X, y, sample_weight=np.ones(N)).predict(X)
    assert 1.0 - np.mean((predicted - y) ** 2) / y.var() > 0.95


def test_probabilities_do_not_move_to_one_half(relation):
    """10 % of labels, and 260 records at ε = 100: the mean was .30 with a count of rows.

    The noise of a mean is below .01, so 99.99 % of fits are within .05.
    """
    X, _, rare = table(26_000)
    found = DPLogisticRegression(
        epsilon=100.0, classes=[0, 1], max_weight=MOST, neighboring=relation
    ).fit(X, rare, sample_weight=np.ones(rare.size))
    assert abs(found.predict_proba(X)[:, 1].mean() - 0.1) < 0.05


@pytest.mark.parametrize("kind", [DPTabularClassifier, DPTabularRegressor])
def test_a_model_of_noise_says_so_after_the_spend(kind, relation):
    """6000 rows are enough, and 60 shares of them are not."""
    X, y, rare = table()
    own = {"target_bounds": (0.0, 20.0)} if kind is DPTabularRegressor else {"classes": [0, 1]}
    model = kind(epsilon=1.0, bounds=[(-1.0, 1.0)] * 2, max_weight=MOST, neighboring=relation)
    model.set_params(**own)
    with pytest.warns(FewRowsWarning, match=r"A noisy count finds .* divided by max_weight"):
        model.fit(X, y if kind is DPTabularRegressor else rare, sample_weight=np.ones(N))


def test_a_private_count_of_few_records_is_reported_without_weights():
    X, y, _ = table(100)
    model = DPLinearRegression(epsilon=1.0, target_bounds=(0.0, 20.0), neighboring="add_remove_one")
    with pytest.warns(FewRowsWarning, match="A noisy count"):
        model.fit(X, y)


def test_the_number_of_shares_is_exact_and_moves_by_one_at_most():
    """For all pairs of neighbors of three persons, whose rows have some weights."""
    weights = np.array([SMALL, SMALL[::-1], [1.0] * 5]).T.ravel()
    records = Records(np.zeros((15, 1)), None, weights=weights, max_weight=1.0)
    assert records.size == math.fsum(math.floor(w * 2**20) / 2**20 for w in weights)
    for k in range(1, 8):
        own = {"weights": np.ones(k), "persons": Persons.of([0] * k, k)}
        one = replace(records, X=np.zeros((k, 1)), **own)
        assert 0.99 < one.size <= 1.0


def test_rows_beyond_the_estimate_are_covered():
    """The public number of rows bounds rounding errors, not the smaller number of shares."""
    loss = WeightedLoss(SquaredLoss(), MOST)
    facts = {"data_norm": 1.0, "intercept_scaling": 1.0, "neighboring": Neighboring.REPLACE_ONE}
    problem = Problem(loss=loss, n_samples=None, weighted_rows=1000, **facts)
    assert problem.covered_rows == replace(problem, n_samples=60).covered_rows == 1000
    assert not replace(problem, n_samples=60).count_is_public
    assert RowCount.plan(problem, 1.0, 1e-5).largest == MOST
