"""A fit below a method that another library has replaced raises before it spends."""

import functools
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import all_estimators

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.exceptions import PrivacyLeakError
from skdp.model_selection import DPGridSearchCV
from skdp.pipeline import PrivatePipeline, allow_replaced_fit, check_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.support.other_libraries import loaded_replacements, replaced_in

X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(120, 2))
Y = (X[:, 0] > 0).astype(int)


class Logger:
    """What an autologger does: it replaces a method of a class, and records."""

    def __init__(self, patch):
        self._patch, self.records = patch, []

    def replace(self, kind, way="a function"):
        original, records = kind.fit, self.records

        def patched(model, X, *args, **kwargs):
            records.append(len(X))
            return original(model, X, *args, **kwargs)

        if way == "wraps":  # it copies __module__ and __wrapped__
            patched = functools.wraps(original)(patched)
        elif way == "mock":
            patched = mock.create_autospec(original, side_effect=patched)
        self._patch.setattr(kind, "fit", patched)


PLACES = {
    "the model": (DPLogisticRegression, lambda m: m),
    "a pipeline": (Pipeline, lambda m: make_pipeline(BoundsScaler(bounds=(-1, 1)), m)),
    "a pipeline in a pipeline": (Pipeline, lambda m: make_pipeline(make_pipeline(m))),
    "a private pipeline": (Pipeline, lambda m: PrivatePipeline([("m", m)])),
    "its own class": (PrivatePipeline, lambda m: PrivatePipeline([("m", m)])),
    "an ensemble": (VotingClassifier, lambda m: VotingClassifier([("m", m)])),
    "a search": (GridSearchCV, lambda m: GridSearchCV(m, {}, cv=KFold(3), error_score="raise")),
}


@pytest.mark.parametrize("way", ["a function", "wraps", "mock"])
@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_spent_below_a_replaced_fit(place, way, monkeypatch):
    kind, make = PLACES[place]
    budget = PrivacyBudget(epsilon=50.0, delta=1e-5)
    model = make(DPLogisticRegression(classes=[0, 1], budget=budget))
    logger = Logger(monkeypatch)
    with monkeypatch.context() as patch:
        logger._patch = patch
        logger.replace(kind, way)
        with pytest.raises(PrivacyLeakError, match=rf"{kind.__name__}\.fit was replaced by"):
            model.fit(X, Y)
        assert budget.history() == []
        if place == "a private pipeline":  # it looks before the replaced method is called
            assert logger.records == []
        assert [one.kind for one in check_pipeline(model) if one.kind == "replaced"]
        with allow_replaced_fit():
            assert not [one for one in check_pipeline(model) if one.kind == "replaced"]
            model.fit(X, Y)
        assert logger.records
    spent = len(budget.history())
    assert spent >= 1
    model.fit(X, Y)
    assert len(budget.history()) == 2 * spent


def test_the_error_says_who_did_it_and_how_to_go_on(monkeypatch, budget):
    Logger(monkeypatch).replace(Pipeline, "wraps")
    with pytest.raises(PrivacyLeakError) as found:
        make_pipeline(DPLogisticRegression(budget=budget)).fit(X, Y)
    for said in (__name__, "autolog(disable=True)", "allow_replaced_fit()", "Nothing was spent."):
        assert said in str(found.value)


def test_a_function_inside_of_a_descriptor_is_found(monkeypatch, unspent):
    # `available_if` makes an object that stays the same while its function changes.
    descriptor = vars(Pipeline)["fit_transform"]
    original = descriptor.fn
    monkeypatch.setattr(descriptor, "fn", lambda *args, **kwargs: original(*args, **kwargs))
    steps = make_pipeline(DPStandardScaler(bounds=(-1, 1), budget=unspent))
    with pytest.raises(PrivacyLeakError, match=r"Pipeline\.fit_transform was replaced"):
        steps.fit_transform(X)


def test_a_method_of_one_object_is_found(unspent):
    model = make_pipeline(DPLogisticRegression(budget=unspent))
    fit = model.fit
    model.fit = lambda *args: fit(*args)
    with pytest.raises(PrivacyLeakError, match=r"Pipeline\.fit was replaced"):
        model.fit(X, Y)


class Own(Pipeline):
    """An override is no replacement."""

    def fit(self, X, y=None, **params):
        return super().fit(X, y, **params)


def test_an_override_in_a_subclass_is_no_replacement(monkeypatch, budget):
    own = Own([("m", DPLogisticRegression(budget=budget))])
    own.fit(X, Y)
    assert len(budget.history()) == 1
    Logger(monkeypatch).replace(Pipeline)  # which the override calls
    with pytest.raises(PrivacyLeakError, match=r"Pipeline\.fit was replaced"):
        own.fit(X, Y)
    assert len(budget.history()) == 1


def test_a_replacement_elsewhere_does_not_matter(monkeypatch, budget):
    Logger(monkeypatch).replace(VotingClassifier)
    make_pipeline(DPLogisticRegression(budget=budget)).fit(X, Y)
    assert len(budget.history()) == 1


def test_a_worker_thread_does_not_know_the_fits_above_it(monkeypatch, unspent):
    Logger(monkeypatch).replace(VotingClassifier)
    with ThreadPoolExecutor(1) as pool:
        fit = pool.submit(DPLogisticRegression(budget=unspent).fit, X, Y)
        with pytest.raises(PrivacyLeakError, match=r"VotingClassifier\.fit was replaced"):
            fit.result()


def test_the_advice_in_a_worker_thread_can_be_followed_there(monkeypatch, budget):
    Logger(monkeypatch).replace(VotingClassifier)
    model = DPLogisticRegression(budget=budget)

    def allowed():
        with allow_replaced_fit():
            return model.fit(X, Y)

    with ThreadPoolExecutor(1) as pool:
        with allow_replaced_fit():
            fit = pool.submit(model.fit, X, Y)
        with pytest.raises(PrivacyLeakError, match=r"in this worker thread.*n_jobs=None"):
            fit.result()
        assert budget.history() == []
        pool.submit(allowed).result()
    assert len(budget.history()) == 1


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_private_search_raises_before_it_is_paid_or_not_at_all(n_jobs, monkeypatch, budget):
    steps = make_pipeline(BoundsScaler(bounds=(-1, 1)), DPLogisticRegression(classes=[0, 1]))
    grid = {"dplogisticregression__C": [0.1, 1.0]}
    search = DPGridSearchCV(steps, grid, budget=budget, n_jobs=n_jobs)
    with monkeypatch.context() as patch:
        Logger(patch).replace(Pipeline)
        with pytest.raises(PrivacyLeakError, match="replaced"):
            search.fit(X, Y)
        assert budget.history() == []
    Logger(monkeypatch).replace(VotingClassifier)
    search.fit(X, Y)
    assert len(budget.history()) == 1


def test_no_method_of_scikit_learn_or_skdp_passes_for_replaced():
    assert len(all_estimators()) > 100
    assert loaded_replacements() == []
    assert replaced_in(FunctionTransformer()) == []


def test_a_check_calls_no_replaced_method(monkeypatch):
    logger = Logger(monkeypatch)
    logger.replace(Pipeline)
    [leak] = check_pipeline(Nested())
    assert logger.records == []
    assert (leak.severity, "Pipeline.fit was replaced" in leak.advice) == ("medium", True)


class Nested:
    def fit(self, X, y=None):
        make_pipeline(FunctionTransformer()).fit(X)
        return self
