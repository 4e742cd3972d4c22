"""Nothing but the release depends on the table, and attacks prove no more than was claimed.

The audit fits often on two neighbors of which one record is the only one that pulls, and bounds μ
from below by how often the coefficient tells which; it is above the truth with probability 1e-6.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from additive_models import composed
from audit_bounds import lower_bound

from skdp import DPAdditiveClassifier, DPAdditiveRegressor, PrivacyBudget
from skdp.solvers import RegularizedExponential, Solution

FACTS = {"bounds": {"age": (0, 100)}, "categories": {"job": ["clerk", "cook"]}}
TARGET = {"target_bounds": (0.0, 1.0)}
MODELS = {
    "classes": DPAdditiveClassifier(**FACTS, classes=(0, 1)),
    "pairs": DPAdditiveClassifier(**FACTS, classes=(0, 1), interactions="pairs"),
    "ranks": DPAdditiveClassifier(**{**FACTS, "bounds": "auto"}, classes=(0, 1)),
    "number": DPAdditiveRegressor(**FACTS, **TARGET),
}
every_relation = pytest.mark.parametrize("neighboring", ["replace_one", "add_remove_one"])


@dataclass(frozen=True)
class ConstantSolver(RegularizedExponential):
    """Plans and spends like the real solver, reads the rows, and releases a constant."""

    def solve(self, plan, design, rng, progress):
        scores = design.scores(np.ones(design.n_features))
        shape = (design.n_features, plan.problem.loss.n_scores)
        return Solution(np.ones(shape).squeeze(), 7, {"secret": scores}, noise_bound=1.0)


def two_worlds(neighboring):
    """Two tables as different as they can be, with the same public facts."""
    n = 40 if neighboring == "replace_one" else 120
    jobs = pd.Series(["clerk", "cook"] * 20, dtype=object)  # as that of the other: types are public
    tame = pd.DataFrame({"age": np.linspace(1, 99, 40), "job": jobs})
    wild = pd.DataFrame({"age": [np.nan, 1e300, -np.inf, 5.0] * (n // 4), "job": [None] * n})
    return (tame, np.arange(40) % 2), (wild, np.ones(n, dtype=int))


def unstretch(values):
    """Undo what a center does to the coefficients, remove it, and return its stretch."""
    center, radius = values.pop("center_"), values.pop("center_radius_")
    if kept := values.get("_probabilities_"):
        values["_probabilities_"] = replace(kept, is_centered=False)
    if center is None:
        return 1.0
    values["intercept_"] = np.round(values["intercept_"] + values["coef_"] @ center, 9)
    for name in ("coef_", "coef_noise_bound_"):
        values[name] = np.round(values[name] * radius, 9)
    return 1.0 / radius


@every_relation
@pytest.mark.parametrize("name", MODELS)
def test_two_tables_show_the_same_but_for_the_release(name, neighboring, capsys):
    shown = []
    for X, y in two_worlds(neighboring):
        model = MODELS[name].set_params(
            solver=ConstantSolver(),
            neighboring=neighboring,
            budget=PrivacyBudget(epsilon=10.0, delta=1e-4, neighboring=neighboring),
            verbose=1,
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        values = {k: v for k, v in vars(model).items() if k not in ("budget", "feature_map_")}
        effects = model.explain_global()
        stretch = unstretch(values)
        texts = repr(model.privacy_), [str(w.message) for w in caught], capsys.readouterr()
        shown.append((values, effects, texts, stretch))
    (values, effects, texts, stretch), (others, other_effects, other_texts, other) = shown
    assert values.keys() == others.keys()
    for key in values:
        np.testing.assert_array_equal(values[key], others[key], err_msg=key)
    for term, effect in effects.items():
        if name == "ranks" and term == "age":
            continue  # its values are quantiles that were released
        there, scale = other_effects[term], stretch / other
        np.testing.assert_allclose(effect.effect, there.effect * scale, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(effect.noise, there.noise * scale, rtol=1e-9)
    assert texts == other_texts


@pytest.mark.slow
@every_relation
@pytest.mark.parametrize("solver", ["regularized_exponential", "noisy_gd"])
def test_attacks_prove_no_more_than_the_claim(neighboring, solver):
    """One record is at an end of the interval; all others are unknown categories, and silent."""
    front = DPAdditiveClassifier(
        epsilon=5.0,
        bounds={0: (0, 1)},
        categories={1: [1.0]},
        n_terms=2,
        missing="error",
        classes=(0, 1),
        neighboring=neighboring,
        solver=solver,
        random_state=np.random.default_rng(0),
    )
    model = composed(front, fit_intercept=False, n_samples_hint=3)
    silent = np.array([[0.5, 0.0]] * 3)
    loud = silent.copy()
    loud[0] = 1.0, 0.0
    other = silent[1:]
    if neighboring == "replace_one":
        other = silent.copy()
        other[0] = 0.0, 0.0
    pulls = []
    for X in (loud, other):
        y = np.ones(len(X), dtype=int)
        coefs = np.array([model.fit(X, y).coef_[0] for _ in range(800)])
        ends = model.feature_map_.expand(np.array([[1.0, 0.0], [0.0, 0.0]]))
        direction = ends[0] - ends[1] if neighboring == "replace_one" else ends[0]
        pulls.append(coefs @ direction)
    claimed = model.privacy_.gdp_mu
    proved = lower_bound(*pulls)
    assert 0.1 * claimed < proved <= claimed
