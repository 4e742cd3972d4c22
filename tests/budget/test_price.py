"""What something would cost is said before it is fitted, and then it costs that."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from skdp import (
    DPPCA,
    DPGaussianNB,
    DPKMeans,
    DPLinearRegression,
    DPLogisticRegression,
    PrivacyBudget,
)
from skdp.exceptions import BudgetExceededError
from skdp.metrics import dp_accuracy_score, make_private_scorer
from skdp.model_selection import DPGridSearchCV
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.privacy import PrivacyGuarantee, PureDPEvent
from skdp.statistics import mean

SHAPE = (300, 3)
BOX = {"bounds": (0, 1)}


def made(kind, budget):
    """Return an estimator that spends from the budget, or from any if it is None."""
    model = DPLogisticRegression(epsilon=0.3, delta=1e-6, classes=[0, 1], budget=budget)
    return {
        "model": model,
        "sampled": DPLogisticRegression(epsilon=0.3, delta=1e-6, budget=budget, subsample=0.5),
        "regressor": DPLinearRegression(
            epsilon=0.3, delta=1e-6, target_bounds=(5, 9), budget=budget
        ),
        "naive Bayes": DPGaussianNB(epsilon=0.3, delta=1e-6, **BOX, budget=budget),
        "scaler": DPStandardScaler(epsilon=0.3, delta=1e-6, **BOX, budget=budget),
        "components": DPPCA(epsilon=0.3, delta=1e-6, n_components=2, **BOX, budget=budget),
        "clusters": DPKMeans(epsilon=0.3, delta=1e-6, n_clusters=2, **BOX, budget=budget),
        "pipeline": make_pipeline(BoundsScaler(bounds=(0, 1)), model),
        "grid": GridSearchCV(model, {"C": [1.0, 3.0]}, cv=KFold(4), n_jobs=2),
        "voting": VotingClassifier(
            [("a", model), ("b", DPGaussianNB(epsilon=0.3, delta=1e-6, **BOX, budget=budget))]
        ),
        "search": DPGridSearchCV(
            DPLogisticRegression(), {"C": [1.0, 3.0]}, epsilon=0.3, delta=1e-6, budget=budget
        ),
    }[kind]


KINDS = ["model", "sampled", "regressor", "naive Bayes", "scaler", "components", "clusters",
         "pipeline", "grid", "voting", "search"]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("composition", ["gdp", "basic"])
def test_it_costs_what_was_said(kind, composition):
    said, paid = (PrivacyBudget(epsilon=3.0, delta=1e-4, composition=composition) for _ in range(2))
    price = said.price(made(kind, None), SHAPE)
    assert said.history() == []
    assert said.price(made(kind, said), SHAPE) == price
    assert price.admitted
    rng = np.random.default_rng()
    y = rng.uniform(5, 9, 300) if kind == "regressor" else np.arange(300) % 2
    model = made(kind, paid)
    if kind == "grid":
        model.set_params(n_jobs=None)  # several processes take their time to start
    model.fit(rng.uniform(size=SHAPE), y)
    assert len(paid.history()) == price.n_releases
    if composition == "gdp" and kind != "sampled":
        assert price.epsilon == pytest.approx(paid.spent.epsilon, rel=1e-4)


def test_a_private_pipeline_costs_what_it_was_made_for():
    steps = DPStandardScaler(**BOX), DPLogisticRegression()
    pipeline = make_private_pipeline(*steps, epsilon=1.0, delta=1e-5)
    budget = pipeline[-1].budget
    price = budget.price(pipeline, SHAPE)
    assert price.n_releases == 2
    assert price.admitted
    assert 0.99 < price.epsilon <= 1.0
    assert budget.history() == []


def test_a_winner_of_unequal_candidates_is_the_one_that_costs_most(unspent):
    scaler = DPStandardScaler(epsilon=0.05, bounds=(0, 1), budget=unspent)
    model = DPLogisticRegression(epsilon=0.5, budget=unspent)
    steps = Pipeline([("scaler", "passthrough"), ("model", model)])
    search = GridSearchCV(steps, {"scaler": ["passthrough", scaler]}, cv=KFold(3))
    assert unspent.price(search, (100, 3)).n_releases == 3 + 6 + 2
    grid = {"model": [LogisticRegression(), model]}
    search = GridSearchCV(steps, grid, cv=KFold(3))
    assert unspent.price(search, (100, 3)).n_releases == 3 + 1
    search = GridSearchCV(steps, {"scaler": ["passthrough", scaler]}, cv=GroupKFold(3))
    price = unspent.price(search, (100, 3), groups=np.arange(100) % 7)
    assert price.n_releases == 3 + 6 + 2


def test_a_grid_over_epsilon_is_priced_with_the_dearest_as_its_winner(budget):
    grid = {"epsilon": [0.1, 0.5, 0.2]}
    search = GridSearchCV(DPLogisticRegression(), grid, cv=KFold(3))
    mus = [budget.price(DPLogisticRegression(epsilon=e), SHAPE) for e in (0.1, 0.5, 0.2)]
    price = budget.price(search, SHAPE)
    assert price.n_releases == 10
    once = budget.price(search.set_params(refit=False), SHAPE)
    assert once.n_releases == 9
    assert once.epsilon < price.epsilon < once.epsilon + mus[1].epsilon


def test_more_than_is_left_is_priced_and_not_admitted():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-5)
    price = budget.price(DPLogisticRegression(epsilon=2.0), SHAPE)
    assert price.epsilon == pytest.approx(2.0)
    assert not price.admitted
    assert not budget.price(DPLogisticRegression(epsilon=math.inf), SHAPE).admitted


def test_rows_that_are_nobodys_stand_for_columns_with_names_and_types():
    frame = pd.DataFrame({"age": [20.0, 90.0] * 20, "sex": ["f", "m"] * 20})
    encoder = OneHotEncoder(categories=[["f", "m"]], handle_unknown="ignore")
    columns = ColumnTransformer(
        [("a", BoundsScaler(bounds=(17, 90)), ["age"]), ("b", encoder, ["sex"])], sparse_threshold=0
    )
    model = make_pipeline(columns, DPLogisticRegression(epsilon=0.7, classes=["no", "yes"]))
    price = PrivacyBudget(epsilon=1.0, delta=1e-5).price(model, frame, ["no", "yes"] * 20)
    assert price.epsilon == pytest.approx(0.7)


def test_a_share_prices_by_its_own_ceiling_and_by_that_of_the_budget(budget):
    share = budget.share(epsilon=1.0)
    model = DPLogisticRegression(epsilon=2.0)
    assert budget.price(model, SHAPE).admitted
    assert not share.price(model, SHAPE).admitted
    assert not share.price(DPLogisticRegression(epsilon=2.0, budget=share), SHAPE).admitted


class _Sharing(ClassifierMixin, BaseEstimator):
    """A model that makes a share, and pickles its budget if it is told to."""

    def __init__(self, budget=None, pickles=False):
        self.budget, self.pickles = budget, pickles

    def fit(self, X, y):
        if self.pickles:
            pickle.loads(pickle.dumps(self.budget))
        budget = self.budget.share(epsilon=0.5, name="inner")
        DPLogisticRegression(epsilon=0.3, delta=1e-6, budget=budget).fit(X, y)
        return self


def test_what_makes_shares_is_priced_and_what_leaves_the_process_is_not(budget):
    price = budget.price(_Sharing(), SHAPE)
    assert price.n_releases == 1
    assert price.epsilon < 0.3
    with pytest.raises(ValueError, match="in one process"):
        budget.price(_Sharing(pickles=True), SHAPE)
    assert budget.history() == []
    assert "inner" not in budget.to_json()


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (BoundsScaler(bounds=(0, 1)), "has spent nothing from this budget"),
        (DPLogisticRegression(budget=PrivacyBudget(epsilon=1.0, delta=1e-5)), "another budget"),
        (DPLogisticRegression(random_state=0), "random_state must be None"),
        (DPLogisticRegression(neighboring="add_remove_one"), "neighboring"),
        (GridSearchCV(DPLogisticRegression(), {"epsilon": [-1.0]}), "epsilon"),
    ],
)
def test_what_would_be_refused_for_another_reason_has_no_price(estimator, message, unspent):
    with pytest.raises(ValueError, match=message):
        unspent.price(estimator, SHAPE)


@pytest.mark.parametrize("composition", ["gdp", "zcdp", "rdp", "basic"])
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("k", [1, 7])
def test_so_many_fits_at_what_is_left_for_each_are_admitted_and_one_more_is_not(
    composition, begun, k
):
    budget = PrivacyBudget(epsilon=2.0, delta=1e-4, composition=composition)
    rows = np.random.default_rng().uniform(size=(40, 2)), np.arange(40) % 2
    if begun:
        DPLogisticRegression(epsilon=0.5, delta=1e-5, budget=budget).fit(*rows)
    epsilon, delta = budget.epsilon_each(k)
    for _ in range(k):
        DPLogisticRegression(epsilon=epsilon, delta=delta, budget=budget).fit(*rows)
    with pytest.raises(BudgetExceededError):
        DPLogisticRegression(epsilon=0.1 * epsilon, delta=delta, budget=budget).fit(*rows)


def test_after_a_first_release_that_was_not_gaussian_epsilon_and_delta_are_shared_out(budget):
    guarantee = PrivacyGuarantee(PureDPEvent(2.0), "replace_one", "test")
    budget.spend(guarantee, delta=0.0, name="first")
    assert budget.epsilon_each(4) == pytest.approx((0.25, 2.5e-6))


def test_each_of_several_for_a_given_total(budget):
    epsilon, delta = budget.epsilon_each(11, epsilon=1.0)
    search = GridSearchCV(
        DPLogisticRegression(epsilon=epsilon, delta=delta), {"C": [1, 2]}, cv=KFold(5)
    )
    assert budget.price(search, SHAPE).epsilon == pytest.approx(1.0, rel=1e-2)
    assert PrivacyBudget(epsilon=1.0, delta=0.0, composition="pure").epsilon_each(
        4
    ) == pytest.approx((0.25, 0))
    with pytest.raises(ValueError, match="n_releases"):
        budget.epsilon_each(0)


def _centered(X, ledger):
    mean(X[:, 0], epsilon=0.2, bounds=(0, 1), delta=1e-6, budget=ledger)
    return X


class _Elsewhere(ClassifierMixin, BaseEstimator):
    """A model that spends in a thread of its own, or through joblib, whatever it is told."""

    def __init__(self, ledger=None, where="thread"):
        self.ledger, self.where = ledger, where

    def fit(self, X, y):
        if self.where == "thread":
            with ThreadPoolExecutor(1) as pool:
                pool.submit(_centered, X, self.ledger).result()
        else:
            prefer = {"prefer": "threads"} if self.where == "preferred" else {"backend": self.where}
            Parallel(2, **prefer)(delayed(_centered)(X, self.ledger) for _ in range(2))
        self.classes_ = np.unique(y)
        return self


def test_what_spends_by_any_other_way_is_priced_too_and_spends_nothing():
    def made(ledger):
        scoring = make_private_scorer(dp_accuracy_score, epsilon=0.2, delta=1e-6, budget=ledger)
        hidden = FunctionTransformer(
            _centered, kw_args={"ledger": ledger.share(epsilon=2.0, name="a")}
        )
        model = DPLogisticRegression(epsilon=0.2, delta=1e-6, budget=ledger)
        pipeline = make_pipeline(hidden, BoundsScaler(bounds=(0, 1)), model)
        grid = {"dplogisticregression__C": [1.0, 3.0]}
        return GridSearchCV(pipeline, grid, cv=KFold(2), scoring=scoring)

    said, paid = (PrivacyBudget(epsilon=9.0, delta=1e-4) for _ in range(2))
    search = made(said)
    price = said.price(search, SHAPE)
    assert price == said.share(epsilon=9.0, name="a share").price(search, SHAPE)
    assert said.history() == []
    made(paid).fit(np.random.default_rng().uniform(size=SHAPE), np.arange(300) % 2)
    assert len(paid.history()) == price.n_releases
    assert price.epsilon == pytest.approx(paid.spent.epsilon, rel=1e-4)
    assert price.admitted
    assert not said.price(
        DPLogisticRegression(epsilon=2.0, budget=said.share(epsilon=1.0)), SHAPE
    ).admitted


def test_what_spends_in_other_threads_is_priced_and_in_other_processes_is_not(unspent):
    for where, n in {"thread": 1, "threading": 2, "preferred": 2}.items():
        price = unspent.price(_Elsewhere(unspent, where), SHAPE)
        assert (price.n_releases, price.admitted) == (n, True)
    with pytest.raises(ValueError, match="A price is found in one process"):
        unspent.price(_Elsewhere(unspent, "multiprocessing"), SHAPE)


@pytest.mark.parametrize(
    "shape", [1000, None, "1000", (1000,), (1000, 5, 2), (1000, 2.5), (1000, -3), (0, 3)]
)
def test_what_is_neither_two_numbers_nor_rows_is_refused(shape):
    message = "X must be the numbers of rows and columns|n_(samples|features) must be a positive"
    with pytest.raises(ValueError, match=message):
        PrivacyBudget(epsilon=1.0, delta=1e-5).price(DPLogisticRegression(), shape)


def test_a_pipeline_with_a_budget_of_its_own_is_priced_there_and_the_message_says_where():
    scaler = DPStandardScaler(bounds=(-1, 1))
    pipeline = make_private_pipeline(scaler, DPLogisticRegression(), epsilon=1.0)
    with pytest.raises(ValueError, match=r"Call estimator\.get_params") as no:
        PrivacyBudget(epsilon=3.0, delta=1e-5).price(pipeline, SHAPE)
    name = str(no.value).split("'")[1]
    cost = pipeline.get_params()[name].price(pipeline, SHAPE)
    assert cost.admitted
    assert cost.n_releases == 2


def test_another_budget_that_is_hidden_spends_nothing_either():
    budget, other = (PrivacyBudget(epsilon=3.0, delta=1e-5) for _ in range(2))
    hidden = FunctionTransformer(_centered, kw_args={"ledger": other})
    with pytest.raises(ValueError, match="another budget"):
        budget.price(make_pipeline(hidden, DPLogisticRegression(epsilon=0.5)), SHAPE)
    assert budget.history() == other.history() == []


KEPT = []


def _keeping(X, ledger):
    KEPT.append(ledger)
    return X


BEGUN, SPENT = Event(), Event()


def _waiting(X):
    BEGUN.set()
    SPENT.wait(60)
    return X


def test_other_threads_spend_while_a_price_is_found(budget):

    def spend():
        BEGUN.wait(60)
        _centered(np.zeros(SHAPE), budget)
        SPENT.set()

    with ThreadPoolExecutor(1) as pool:
        spending = pool.submit(spend)
        model = make_pipeline(FunctionTransformer(_waiting), DPLogisticRegression(epsilon=0.5))
        price = budget.price(model, SHAPE)
        spending.result()
    assert price.n_releases == len(budget.history()) == 1


def test_what_outlives_its_price_releases_nothing(monkeypatch, budget):
    monkeypatch.setitem(globals(), "KEPT", [])
    hidden = FunctionTransformer(_keeping, kw_args={"ledger": budget.share(epsilon=2.0, name="a")})
    budget.price(make_pipeline(hidden, DPLogisticRegression(epsilon=0.5)), SHAPE)
    with pytest.raises(ValueError, match="The dry run is over"):
        _centered(np.zeros(SHAPE), KEPT[0])
    assert KEPT[0].history() == budget.history() == []


GLOBAL = []
Y_OF = np.arange(SHAPE[0]) % 2


class HasBudget(TransformerMixin, BaseEstimator):
    """It spends from a budget that is no parameter of its own."""

    def __init__(self, calls=None):
        self.calls = calls

    def fit(self, X, y=None):
        self.calls["fit"](X) if self.calls else _centered(X, GLOBAL)
        return self

    def transform(self, X):
        return X


def test_what_refers_to_a_budget_by_no_parameter_has_no_price(monkeypatch, unspent):
    monkeypatch.setitem(globals(), "GLOBAL", unspent)
    scorer = make_private_scorer(dp_accuracy_score, epsilon=0.2, delta=1e-6, budget=unspent)
    functions = (
        lambda X: _centered(X, unspent),
        lambda X: _centered(X, GLOBAL),
        lambda X: scorer(DummyClassifier().fit(X, Y_OF), X, Y_OF),
        lambda X, ledger=unspent: _centered(X, ledger),
        lambda X, *, ledger=unspent: _centered(X, ledger),
        partial(lambda X: _centered(X, unspent)),
    )
    steps = [FunctionTransformer(function) for function in functions]
    for step in [*steps, HasBudget(), HasBudget({"fit": functions[0]})]:
        hidden = make_pipeline(step, DPLogisticRegression(epsilon=0.5))
        with pytest.raises(ValueError, match="refers to the budget outside"):
            unspent.price(hidden, SHAPE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_price_is_a_function_of_public_facts(kind):
    """Two data sets of one shape, with the same labels, cost the same to the last bit."""
    budget, rng = PrivacyBudget(epsilon=3.0, delta=1e-4), np.random.default_rng(0)
    regresses = kind == "regressor"
    prices = []
    for X in (rng.uniform(size=SHAPE), np.full(SHAPE, 1e6), -rng.exponential(size=SHAPE)):
        y = rng.uniform(5, 9, 300) if regresses else rng.permutation(np.arange(300) % 2)
        prices.append(budget.price(made(kind, None), X, y))
    assert prices == [budget.price(made(kind, None), SHAPE)] * 3


def test_targets_are_made_up_beside_made_up_rows(budget):
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"a": [0.1] * 50})
    model = make_pipeline(
        BoundsScaler(bounds={"a": (0, 1)}), DPLogisticRegression(epsilon=0.3, classes=("no", "yes"))
    )
    assert budget.price(model, rows) == budget.price(model, rows, ["no", "yes"] * 25)
