"""Checks write to no ledger and change no object, whatever the class that they look at."""

import sys
import threading
from collections import deque
from functools import partial
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.exceptions import PrivacyLeakError
from skdp.pipeline import check_pipeline, make_private_pipeline
from skdp.preprocessing import DPStandardScaler
from skdp.privacy import GDPEvent, PrivacyGuarantee

RELEASE = PrivacyGuarantee(GDPEvent(0.01), "replace_one", "none")


class Slots:
    __slots__ = ("part",)

    def __init__(self, part):
        self.part = part


def closure_of(part):
    return lambda X: clone(part).fit(X)


class Holder(TransformerMixin, BaseEstimator):
    """An unknown class that fits whatever it holds."""

    def __init__(self, given):
        self.given = given

    def fit(self, X, y=None):
        fit_all(self.given, X)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X):
        return X


class Plain:
    """No parameters, no get_params."""

    def __init__(self, given):
        self._hidden = given

    def fit(self, X, y=None):
        fit_all(self._hidden, X)
        return self


def fit_all(given, X):
    if callable(given):
        given(X)
    elif hasattr(given, "fit"):
        clone(given, safe=False).fit(X)
    elif isinstance(given, dict):
        fit_all([*given.values()], X)
    elif isinstance(given, SimpleNamespace | Slots):
        fit_all(given.part, X)
    elif hasattr(given, "spend"):
        given.spend(RELEASE, delta=1e-5)
    elif not isinstance(given, str | int):
        for one in given:
            fit_all(one, X)


CONTAINERS = {
    "itself": lambda one: one,
    "a list": lambda one: [one, one],
    "a tuple in a list": lambda one: [("name", one)],
    "a dict": lambda one: {"name": (1, [one])},
    "a set": lambda one: {one},
    "a deque": lambda one: deque([one]),
    "an array of objects": lambda one: np.array([one, None], dtype=object)[:1],
    "an object": lambda one: SimpleNamespace(part=one),
    "slots": Slots,
    "a closure": closure_of,
    "a partial function": lambda one: partial(fit_all, one),
    "a bound method": lambda one: Plain(one).fit,
    "a pipeline": lambda one: [make_pipeline(one)],
}


def scaler_of(budget):
    return DPStandardScaler(epsilon=0.5, bounds=(-1, 1), budget=budget)


@pytest.mark.parametrize("holder", [Holder, Plain])
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_what_an_unknown_class_holds_is_named_and_spends_nothing(container, holder, budget):
    held = container(scaler_of(budget))
    [leak] = check_pipeline(holder(held))
    assert (leak.kind, leak.severity) == ("unknown stage", "high")
    assert "it can reach DPStandardScaler;" in leak.advice
    assert budget.history() == []
    with pytest.raises(PrivacyLeakError, match="unknown stage"):
        check_pipeline(holder(held), strict=True)
    fit_all(held, np.eye(4))  # the test can fail: outside of a check the class spends
    assert len(budget.history()) >= 1


def test_an_attribute_and_a_budget_are_held_as_well(unspent):
    marked = Holder(None)
    marked.later = [scaler_of(unspent)]
    assert [leak.kind for leak in check_pipeline(marked)] == ["unknown stage"]
    [leak] = check_pipeline(Holder([unspent.share(epsilon=1.0)]))
    assert "it can reach BudgetHandle;" in leak.advice


def test_an_unknown_step_that_holds_what_spends_is_found_inside_of_a_pipeline(budget):
    steps = make_pipeline(Holder([scaler_of(budget)]), DPLogisticRegression(budget=budget))
    assert [(one.path, one.kind) for one in check_pipeline(steps)] == [("holder", "unknown stage")]
    with pytest.raises(PrivacyLeakError, match="unknown stage"):
        make_private_pipeline(Holder([DPStandardScaler(bounds=(0, 1))]), DPLogisticRegression())


GLOBAL, SHELF = scaler_of(None), {"deep": [scaler_of(None)]}


def helper(X):
    return further(X)


def further(X):
    return GLOBAL.fit(X)


class Names(TransformerMixin, BaseEstimator):
    """An unknown class, which the check never runs."""

    def fit(self, X, y=None):
        raise AssertionError("it was fitted")

    def transform(self, X):
        return X


def test_no_unknown_class_is_fitted():
    [leak] = check_pipeline(Names())
    assert (leak.kind, leak.severity) == ("untested", "medium")


FUNCTIONS = {
    "directly": lambda X: GLOBAL.fit(X),
    "in a dict": lambda X: SHELF["deep"][0].fit(X),
    "in a function within": lambda X: (lambda: GLOBAL.fit(X))(),
    "in a list": lambda X: [GLOBAL.transform(X) for _ in range(2)],
    "by a function of a function": helper,
    "by a class": lambda X: DPStandardScaler(bounds=(0, 1)).fit(X),
    "by a closure": closure_of(GLOBAL),
    "by a default": lambda X, scaler=GLOBAL: scaler.fit(X),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_function_that_can_reach_what_spends_is_not_called(function):
    [leak] = check_pipeline(FunctionTransformer(function))
    assert (leak.kind, leak.severity) == ("unknown stage", "high")
    assert "DPStandardScaler" in leak.advice


OUT_OF_REACH = {}


def unseen():
    """Return an object that no check can see, because no code names it."""
    return vars(sys.modules[__name__])["OUT_OF_REACH"]


def spends(X):
    unseen()["n_calls"] += 1
    return unseen()["spend"]()


def test_a_budget_out_of_reach_is_not_spent(budget):
    spend = partial(budget.spend, RELEASE, delta=1e-5)
    OUT_OF_REACH.update(spend=spend, n_calls=0)
    [leak] = check_pipeline(FunctionTransformer(spends))
    assert OUT_OF_REACH["n_calls"] > 0
    assert (leak.kind, leak.severity) == ("untested", "medium")
    assert budget.history() == []
    spends(None)  # the test can fail: outside of a check the same call spends
    assert len(budget.history()) == 1


class SpendsWhenAsked(TransformerMixin, BaseEstimator):
    def get_params(self, deep=True):
        spends(None)
        return {}

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def test_a_class_that_spends_when_it_is_looked_at_spends_nothing(budget):
    OUT_OF_REACH.update(spend=partial(budget.spend, RELEASE, delta=1e-5), n_calls=0)
    step = SpendsWhenAsked()
    for given in (step, make_pipeline(step, DPLogisticRegression())):
        assert check_pipeline(given)
    assert OUT_OF_REACH["n_calls"] > 0
    assert budget.history() == []


def test_other_threads_spend_while_a_check_runs(budget):
    def spend():
        thread = threading.Thread(target=budget.spend, args=[RELEASE], kwargs={"delta": 1e-5})
        thread.start()
        thread.join()

    OUT_OF_REACH.update(spend=spend, n_calls=0)
    check_pipeline(FunctionTransformer(spends))
    assert len(budget.history()) == OUT_OF_REACH["n_calls"]


def test_a_check_makes_no_ledger_and_no_share(tmp_path, budget):
    before = budget.entries(), budget._ledger.shares()
    terms = {"epsilon": 1.0, "delta": 1e-5, "path": tmp_path / "new.db"}
    for make in (partial(PrivacyBudget, **terms), partial(budget.share, epsilon=0.5)):
        OUT_OF_REACH.update(spend=make, n_calls=0)
        check_pipeline(FunctionTransformer(spends))
        assert OUT_OF_REACH["n_calls"] > 0
    assert not [*tmp_path.iterdir()]
    assert (budget.entries(), budget._ledger.shares()) == before


def overwrites(X, settings=None):
    X[:] = 0.0
    settings["list"].append(1)
    return X


def test_a_check_changes_no_object_of_the_user():
    settings = {"list": [3]}
    step = FunctionTransformer(overwrites, kw_args={"settings": settings})
    estimator = make_pipeline(step, DPLogisticRegression())
    before = joblib.hash(estimator)
    check_pipeline(estimator)
    assert joblib.hash(estimator) == before
    assert settings == {"list": [3]}
