"""Warnings of weak privacy and of few rows, and the error for a δ above the budget's."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from skdp import DPGaussianNB, DPKMeans, DPLinearRegression, DPLogisticRegression, PrivacyBudget
from skdp.accounting import gdp_mu
from skdp.exceptions import BudgetExceededError, FewRowsWarning, WeakPrivacyWarning
from skdp.model_selection import DPGridSearchCV
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import DPStandardScaler
from skdp.statistics import count, mean

OURS = (FewRowsWarning, WeakPrivacyWarning)


def data(n):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, (X[:, 0] > 0).astype(int)


def warned(action):
    """Return the warnings of an action that are about privacy or the number of rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [w for w in caught if issubclass(w.category, OURS)]


# -- ε ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [10.0, 10.5, 1e3, float("inf")])
def test_a_large_epsilon_is_warned_of_before_the_spend(epsilon):
    X, y = data(2000)
    is_large = 10.0 < epsilon < float("inf")
    found = warned(lambda: DPLogisticRegression(epsilon=epsilon).fit(X, y))
    assert [w.category for w in found] == [WeakPrivacyWarning] * is_large
    assert all(w.filename == __file__ for w in found)
    assert all(f"epsilon={epsilon:g} protects" in str(w.message) for w in found)


def test_statistics_warn_of_epsilon_too():
    (one,) = warned(lambda: count([True, False], epsilon=20.0))
    assert one.category is WeakPrivacyWarning


@pytest.mark.parametrize(
    ("category", "terms", "n"),
    [(WeakPrivacyWarning, {"epsilon": 50.0}, 2000), (FewRowsWarning, {"epsilon": 0.1}, 20)],
)
def test_a_warning_that_is_an_error_leaves_the_budget_as_it_was(category, terms, n, unspent):
    with warnings.catch_warnings():
        warnings.simplefilter("error", category)
        with pytest.raises(category):
            DPLogisticRegression(budget=unspent, **terms).fit(*data(n))


# -- rows ---------------------------------------------------------------------------------------


def test_few_rows_are_warned_of_with_the_rows_and_the_epsilon_that_would_do():
    X, y = data(60)
    (one,) = warned(lambda: DPLogisticRegression(epsilon=1.0).fit(X, y))
    assert (one.category, one.filename) == (FewRowsWarning, __file__)
    assert "60 rows are few for epsilon=1 and delta=1e-05" in str(one.message)
    assert "about 380 rows or epsilon=8.1." in str(one.message)
    for n, epsilon in ((380, 1.0), (60, 8.1)):
        assert n * gdp_mu(epsilon, 1e-5) >= 100.0
        assert not warned(lambda n=n, e=epsilon: DPLogisticRegression(epsilon=e).fit(*data(n)))


def test_no_epsilon_is_recommended_that_would_be_warned_of():
    (one,) = warned(lambda: DPLogisticRegression(epsilon=1.0).fit(*data(20)))
    assert str(one.message).endswith("It needs about 380 rows.")


def test_persons_count_instead_of_their_rows():
    X, y = data(600)
    persons = np.arange(600) // 6
    (one,) = warned(lambda: DPLogisticRegression(max_rows=6).fit(X, y, groups=persons))
    assert "100 persons are few" in str(one.message)


def test_a_private_number_of_rows_is_never_mentioned():
    """Nothing is said before the spend, and then of a released count alone."""
    own, none = (
        {"neighboring": "add_remove_one", "classes": [0, 1]},
        PrivacyBudget(epsilon=1e-4, delta=1e-5, neighboring="add_remove_one"),
    )
    for n in (1, 20, 2000):
        for model in (DPLogisticRegression(**own), DPGaussianNB(**own, bounds=(-1, 1))):
            texts = [str(w.message) for w in warned(lambda model=model, n=n: model.fit(*data(n)))]
            assert all(text.startswith("A noisy count finds") for text in texts)
            refused = clone(model).set_params(budget=none)
            with pytest.raises(BudgetExceededError):
                assert not warned(lambda model=refused, n=n: model.fit(*data(n)))


def test_every_kind_of_model_warns_and_a_scaler_does_not():
    X, y = data(30)
    box = {"bounds": (-1, 1)}
    for model in (
        DPGaussianNB(**box),
        DPKMeans(n_clusters=2, **box),
        DPLinearRegression(target_bounds=(0, 1)),
    ):
        assert [w.category for w in warned(lambda model=model: model.fit(X, y))] == [FewRowsWarning]
    assert not warned(lambda: DPStandardScaler(**box).fit(X))


# -- once ---------------------------------------------------------------------------------------


def test_dry_runs_do_not_warn():
    X, y = data(30)
    budget = PrivacyBudget(epsilon=100.0, delta=1e-5)
    model = DPLogisticRegression(epsilon=50.0)
    assert not warned(lambda: budget.price(model, X, y))
    assert not warned(lambda: budget.price(model.set_params(epsilon=0.1), X, y))


@pytest.mark.parametrize("terms", [{"epsilon": 30.0}, {"epsilon": 0.5}])
def test_a_search_warns_once(terms):
    X, y = data(100)
    search = DPGridSearchCV(DPLogisticRegression(), {"C": [1.0, 2.0, 3.0, 4.0]}, **terms)
    found = warned(lambda: search.fit(X, y))
    assert len(found) == 1
    assert found[0].filename == __file__


def test_a_private_pipeline_warns_for_its_model_once():
    X, y = data(60)
    steps = (DPStandardScaler(bounds=(-1, 1)), DPLogisticRegression())
    model = make_private_pipeline(*steps, budget=PrivacyBudget(epsilon=1.0, delta=1e-5))
    (one,) = warned(lambda: model.fit(X, y))
    assert (one.category, one.filename) == (FewRowsWarning, __file__)


# -- δ ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("delta", "is_large"), [(1e-3, False), (1.1e-3, True), (0.5, True)])
def test_a_large_delta_of_a_budget_is_warned_of(delta, is_large):
    found = warned(lambda: PrivacyBudget(epsilon=1.0, delta=delta))
    assert [(w.category, w.filename) for w in found] == [(WeakPrivacyWarning, __file__)] * is_large
    assert all(f"delta={delta:g} of the budget is large" in str(w.message) for w in found)


@pytest.mark.parametrize("composition", ["gdp", "basic", "zcdp", "rdp"])
def test_a_delta_above_the_budgets_is_rejected_and_nothing_is_spent(composition):
    budget = PrivacyBudget(epsilon=5.0, delta=1e-6, composition=composition)
    model = DPLogisticRegression(delta=1e-5, budget=budget)
    with pytest.raises(ValueError, match=r"delta=1e-05 is larger than the delta=1e-06.*Nothing"):
        model.fit(*data(500))
    with pytest.raises(ValueError, match="larger than the delta"):
        mean([1.0], bounds=(0, 2), epsilon=1.0, delta=1e-5, budget=budget)
    with pytest.raises(ValueError, match="larger than the delta"):
        budget.price(clone(model).set_params(budget=None), *data(500))
    assert budget.history() == []
    share = PrivacyBudget(epsilon=5.0, delta=1e-5).share(epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match="larger than the delta=1e-06"):
        DPLogisticRegression(delta=1e-5, budget=share).fit(*data(500))
