"""partial_fit over chunks: what all calls cost together, in `privacy_` and in a budget."""

import math

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from skdp import DPHingeClassifier, DPLinearRegression, PrivacyBudget
from skdp.accounting import PLDAccountant
from skdp.exceptions import BudgetExceededError
from skdp.naive_bayes import DPCategoricalNB, DPGaussianNB, DPMixedNB
from skdp.privacy import ComposedEvent
from skdp.solvers import DPSGD

RNG = np.random.default_rng(0)
X = np.clip(RNG.normal(size=(4000, 2)), -3.0, 3.0)
Y = (X[:, 0] + RNG.normal(size=4000) > 0).astype(int)
CODES = (X > 0).astype(int)
BOX = {"bounds": (-3.0, 3.0)}
MODELS = {
    "sgd classifier": (DPHingeClassifier(solver=DPSGD(n_steps=10), classes=[0, 1]), X),
    "sgd regressor": (DPLinearRegression(solver=DPSGD(n_steps=10), target_bounds=(0, 1)), X),
    "gaussian nb": (DPGaussianNB(classes=[0, 1], **BOX), X),
    "categorical nb": (DPCategoricalNB(classes=[0, 1], categories=[0, 1]), CODES),
    "mixed nb": (DPMixedNB(classes=[0, 1], categories={0: [0, 1]}, bounds={1: (-3, 3)}),
                 np.c_[CODES[:, 0], X[:, 1]]),
}  # fmt: skip
every_model = pytest.mark.parametrize("name", MODELS)
NAIVE = [name for name in MODELS if name.endswith("nb")]


def fresh(name, **asked):
    from sklearn.base import clone

    model, x = MODELS[name]
    return clone(model).set_params(**asked), x


def chunks(n_chunks, n=4000):
    return np.array_split(np.arange(n), n_chunks)


@every_model
def test_one_pass_over_disjoint_chunks_costs_one_call(name, neighboring):
    budget = PrivacyBudget(epsilon=3.0, delta=1e-5, neighboring=neighboring)
    asked = {"epsilon": 0.5, "neighboring": neighboring, "budget": budget}
    model, x = fresh(name, **asked)
    for k, rows in enumerate(chunks(4)):
        model.set_params(budget=budget.at(partition=k)).partial_fit(x[rows], Y[rows])
    assert [row["part"] for row in budget.history()] == ["0", "1", "2", "3"]
    one = PrivacyBudget(epsilon=3.0, delta=1e-5, neighboring=neighboring)
    single, _ = fresh(name, **asked | {"budget": one})
    single.fit(x[rows], Y[rows])
    assert budget.spent == one.spent
    assert model.privacy_.epsilon(1e-5) == single.privacy_.epsilon(1e-5)
    assert np.isfinite(model.predict(x)).all()


@every_model
def test_a_part_twice_costs_twice_and_no_part_counts_for_all(name, budget):
    model, x = fresh(name, epsilon=0.3, budget=budget)
    model.set_params(budget=budget.at(partition="a")).partial_fit(x[:1000], Y[:1000])
    model.set_params(budget=budget.at(partition="b")).partial_fit(x[1000:2000], Y[1000:2000])
    first, spent = model.privacy_.epsilon(1e-5), budget.spent.epsilon
    model.set_params(budget=budget.at(partition="a")).partial_fit(x[:1000], Y[:1000])
    second, again = model.privacy_.epsilon(1e-5), budget.spent.epsilon
    model.set_params(budget=budget).partial_fit(x[:1000], Y[:1000])
    assert first == pytest.approx(0.3, rel=2e-3)
    assert 1.2 * first < second < 2.0 * first + 1e-9
    assert second < model.privacy_.epsilon(1e-5) < 3.0 * first + 1e-9
    assert 1.2 * spent < again < budget.spent.epsilon
    parts = dict(model.privacy_.by_part)
    assert set(parts) == {"a", "b", None}


def test_unequal_chunks_cost_the_costliest_and_not_all_of_them():
    """σ depends on a chunk's size where the rate does: two events, one for each part."""
    budget = PrivacyBudget(epsilon=9.0, delta=1e-4, composition="basic")
    model = DPHingeClassifier(solver=DPSGD(n_steps=10), epsilon=0.5, delta=1e-5, classes=[0, 1])
    for k, rows in enumerate((slice(0, 1500), slice(1500, 3900), slice(3900, 4000))):
        model.set_params(budget=budget.at(partition=k)).partial_fit(X[rows], Y[rows])
    events = [event for _, event in model.privacy_.by_part]
    accountant = PLDAccountant("replace_one")
    each = [accountant.epsilon(event, 1e-5) for event in events]
    small = DPHingeClassifier(
        solver=DPSGD(n_steps=20, sampling_rate=0.5), epsilon=0.5, delta=1e-5, classes=[0, 1]
    )
    small.set_params(budget=budget.at(partition="a")).partial_fit(X, Y)
    small.set_params(solver__n_steps=30, epsilon=0.3, budget=budget.at(partition="b")).partial_fit(
        X, Y
    )
    own = [accountant.epsilon(event, 1e-5) for _, event in small.privacy_.by_part]
    assert model.privacy_.epsilon(1e-5) == pytest.approx(max(each), rel=1e-4)
    assert small.privacy_.epsilon(1e-5) == pytest.approx(max(own), rel=1e-4)
    both = ComposedEvent(tuple(event for _, event in small.privacy_.by_part))
    assert small.privacy_.epsilon(1e-5) < 0.95 * accountant.epsilon(both, 1e-5)
    assert accountant.epsilon(small.privacy_.event, 1e-5) >= max(own)


@pytest.mark.parametrize("name", NAIVE)
def test_sums_of_chunks_are_sums_of_all(name):
    """Without privacy chunks give what all rows give; with little noise almost so."""
    whole, x = fresh(name, epsilon=1e6, delta=0.0)
    parts, _ = fresh(name, epsilon=1e6, delta=0.0)
    whole.fit(x, Y)
    for rows in chunks(5):
        parts.partial_fit(x[rows], Y[rows])
    np.testing.assert_allclose(parts.class_count_, whole.class_count_, atol=1e-3)
    np.testing.assert_allclose(parts.predict_proba(x), whole.predict_proba(x), atol=1e-4)


def test_without_privacy_it_is_the_twin_in_scikit_learn():
    ours, theirs = DPGaussianNB(epsilon=math.inf, classes=[0, 1]), GaussianNB()
    for rows in chunks(3):
        ours.partial_fit(X[rows], Y[rows])
        theirs.partial_fit(X[rows], Y[rows], classes=[0, 1])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


@pytest.mark.slow
def test_the_noise_of_chunks_adds_up_in_squares():
    """Class counts without a public n: variance k·σ²; χ² with a false-alarm rate of 1e-6."""
    from scipy import stats

    counts = []
    for _ in range(60):
        model = DPGaussianNB(epsilon=1.0, classes=[0, 1], neighboring="add_remove_one", **BOX)
        for rows in chunks(4, 400):
            model.partial_fit(X[rows], Y[rows])
        counts.append(model.class_count_ - np.bincount(Y[:400]))
    singles = []
    for _ in range(60):
        model = DPGaussianNB(epsilon=1.0, classes=[0, 1], neighboring="add_remove_one", **BOX)
        singles.append(model.fit(X[:400], Y[:400]).class_count_ - np.bincount(Y[:400]))
    ratio = np.var(counts) / np.var(singles) / 4.0
    law = stats.f(118, 118)
    assert law.ppf(0.5e-6) < ratio < law.isf(0.5e-6)


@pytest.mark.parametrize("name", NAIVE)
def test_what_may_not_change_between_calls_is_refused(name, budget):
    model, x = fresh(name, epsilon=0.1, budget=budget)
    model.partial_fit(x[:2000], Y[:2000])
    with pytest.raises(ValueError, match=r"features"):
        model.partial_fit(x[2000:, :1], Y[2000:])
    with pytest.raises(ValueError, match=r"classes=\[0, 1, 2\] differ from \[0, 1\]"):
        model.partial_fit(x[2000:], Y[2000:], classes=[0, 1, 2])
    other = {"categories": {0: [0, 1, 2]}} if name == "mixed nb" else {"bounds": (-4.0, 4.0)}
    if name == "categorical nb":
        other = {"categories": [0, 1, 2]}
    before = model.get_params()
    with pytest.raises(ValueError, match=r"may not change in partial_fit.*Nothing was spent"):
        model.set_params(**other).partial_fit(x[2000:], Y[2000:])
    model.set_params(**before)
    with pytest.raises(
        ValueError, match=r"neighboring may not change in partial_fit.*got 'add_remove_one'"
    ):
        model.set_params(neighboring="add_remove_one", budget=None).partial_fit(x, Y)
    assert len(budget.history()) == 1
    assert model.predict(x).shape == Y.shape  # it is as it was


def test_classes_are_known_before_the_first_chunk():
    with pytest.raises(ValueError, match="classes must be given to the first call"):
        DPGaussianNB(**BOX).partial_fit(X, Y)
    model = DPGaussianNB(**BOX).partial_fit(X[Y == 1], Y[Y == 1], classes=[0, 1])
    model.partial_fit(X[Y == 0], Y[Y == 0])
    assert model.classes_.tolist() == [0, 1]
    assert model.score(X, Y) > 0.6


@every_model
def test_a_refused_chunk_leaves_the_model_and_a_new_fit_starts_anew(name):
    budget = PrivacyBudget(epsilon=0.5, delta=1e-5)
    model, x = fresh(name, epsilon=0.45, budget=budget)
    model.set_params(budget=budget.at(partition=0)).partial_fit(x[:2000], Y[:2000])
    with pytest.raises(BudgetExceededError):
        model.partial_fit(x[:2000], Y[:2000])
    model.set_params(budget=budget.at(partition=1)).partial_fit(x[2000:], Y[2000:])
    model.set_params(budget=budget.at(partition=2)).fit(x, Y)
    assert dict(model.privacy_.by_part).keys() == {"2"}
