"""Private searches: what they cost, what they publish, what they refuse, and that they help."""

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_regressor
from sklearn.datasets import make_classification
from sklearn.exceptions import DataConversionWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from skdp import (
    DPPCA,
    DPGaussianNB,
    DPHingeClassifier,
    DPKMeans,
    DPLinearRegression,
    DPLogisticRegression,
    PrivacyBudget,
)
from skdp.calibration import DPCalibratedClassifier
from skdp.exceptions import BudgetExceededError, PrivacyLeakError
from skdp.mechanisms import ExponentialMechanism, Gaussian
from skdp.model_selection import DPGridSearchCV, DPRandomizedSearchCV
from skdp.preprocessing import BoundsScaler, DPStandardScaler


class OtherLibrary(TransformerMixin, BaseEstimator):
    """Spends by its own account, which no search knows of."""

    def __init__(self, epsilon=1.0, accountant=None):
        self.epsilon = epsilon
        self.accountant = accountant

    def fit(self, X, y=None):
        raise AssertionError("the data are read before anything is paid for")


X, Y = make_classification(1500, n_features=6, random_state=0)
MODEL = DPLogisticRegression(classes=(0, 1))
GRID = {"data_norm": [0.3, 1.0, 3.0, 10.0]}
methods = pytest.mark.parametrize("method", ["repeat", "all"])


@methods
def test_a_search_costs_what_was_asked_and_publishes_no_more(method, neighboring):
    search = DPGridSearchCV(MODEL, GRID, epsilon=2.0, method=method, neighboring=neighboring)
    assert search.fit(X, Y) is search
    assert 1.99 < search.privacy_.epsilon(1e-5) <= 2.0
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert set(search.cv_results_) == {"params", "param_data_norm"}
    assert search.n_splits_ == 1
    scored = method == "repeat" and neighboring == "replace_one"
    assert hasattr(search, "best_score_") == scored
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert search.predict_proba(X).shape == (len(X), 2)
    assert search.decision_function(X).shape == (len(X),)
    assert search.score(X, Y) > 0.5


@methods
@pytest.mark.parametrize(("distribution", "factor"), [("geometric", 3.0), ("logarithmic", 2.0)])
def test_a_search_without_delta_costs_what_was_asked(method, distribution, factor):
    model = DPGaussianNB(bounds=(-8, 8), classes=(0, 1))
    grid = {"least_variance": [1e-3, 1e-2, 0.1, 1.0]}
    budget = PrivacyBudget(epsilon=0.3, delta=0.0, composition="pure")
    search = DPGridSearchCV(
        model, grid, epsilon=0.3, method=method, distribution=distribution, budget=budget
    )
    assert search.fit(X, Y).privacy_.epsilon(0.0) == pytest.approx(0.3)
    assert budget.spent.epsilon == pytest.approx(0.3)
    once = search.best_estimator_.epsilon
    assert once == pytest.approx(0.3 / (factor if method == "repeat" else 4.0), rel=1e-3)


@methods
def test_each_fit_costs_less_than_the_search(method):
    search = DPGridSearchCV(MODEL, GRID, epsilon=2.0, method=method).fit(X, Y)
    once = search.best_estimator_.epsilon
    assert once == pytest.approx(2.0 * {"repeat": 0.655, "all": 0.46}[method], rel=0.03)


SCALED = Pipeline([("bounds", BoundsScaler(bounds=(-8, 8))), ("model", MODEL)])
SIGNS = FrozenEstimator(DPHingeClassifier(epsilon=1.0, random_state=0).fit(X, Y))
WINNERS = {
    "model": (MODEL, GRID, lambda won: [won.privacy_]),
    "pipeline": (SCALED, {"model__C": [0.1, 1.0]}, lambda won: [won[-1].privacy_]),
    "search": (
        DPGridSearchCV(SCALED, {"model__C": [0.1, 1.0]}),
        {"holdout": [0.2, 0.5]},
        lambda won: [won.privacy_, won.best_estimator_[-1].privacy_],
    ),
    "calibrated": (
        DPCalibratedClassifier(SIGNS, noise="gaussian"),
        {"method": ["sigmoid", "isotonic"]},
        lambda won: [won.privacy_, won.report_.privacy],
    ),
}


@pytest.mark.slow
@methods
@pytest.mark.parametrize(("model", "grid", "guarantees"), WINNERS.values(), ids=WINNERS)
def test_a_winner_promises_what_the_search_does(method, model, grid, guarantees):
    search = DPGridSearchCV(model, grid, epsilon=2.0, method=method).fit(X, Y)
    for promised in guarantees(search.best_estimator_):
        assert promised == search.privacy_
    assert SIGNS.privacy_.epsilon(1e-5) <= 1.0  # paid for elsewhere, and left alone


def test_what_is_learned_after_a_search_adds_to_it():
    model = DPGaussianNB(bounds=(-8, 8), classes=(0, 1))
    grid = {"least_variance": [1e-3, 1e-2]}
    search = DPGridSearchCV(model, grid, epsilon=0.3, delta=0.0, method="repeat").fit(X, Y)
    more = search.best_estimator_.set_params(epsilon=0.2).partial_fit(X, Y)
    assert more.privacy_.epsilon(0.0) == pytest.approx(0.5)


def test_noise_of_scores_and_of_the_choice_cost_no_more_than_a_run(monkeypatch):
    seen = []
    for kind in (Gaussian, ExponentialMechanism):
        release = kind.release

        def spy(self, *args, release=release):
            seen.append(self.event.gdp_mu("replace_one"))
            return release(self, *args)

        monkeypatch.setattr(kind, "release", spy)
    search = DPGridSearchCV(MODEL, GRID, method="repeat").fit(X, Y)
    assert max(seen) <= search.privacy_.event.event.mu
    seen.clear()
    search = DPGridSearchCV(MODEL, GRID, method="all").fit(X, Y)
    assert 0.99 * search.privacy_.gdp_mu < seen[-1] <= search.privacy_.gdp_mu


def test_the_method_follows_from_public_facts():
    methods = {}
    for budget in (
        None,
        PrivacyBudget(epsilon=5.0, delta=1e-5),
        PrivacyBudget(epsilon=5.0, delta=1e-5, composition="basic"),
    ):
        search = DPGridSearchCV(MODEL, GRID, epsilon=1.0, budget=budget).fit(X, Y)
        methods[None if budget is None else budget.composition] = type(
            search.privacy_.event
        ).__name__
        if budget is not None:
            assert len(budget.history()) == 1
            assert budget.history()[0]["label"] == "DPGridSearchCV"
    repeat = "RepeatAndSelectEvent"
    assert methods == {None: repeat, "gdp": "GDPEvent", "basic": repeat}
    few = DPGridSearchCV(MODEL, {"data_norm": [1.0, 2.0]}).fit(X, Y)
    assert type(few.privacy_.event).__name__ == "GDPEvent"


def test_a_good_candidate_is_found():
    """One of two candidates sees nothing of X; at ε = 8 it is chosen less than once in 1e9."""
    search = DPGridSearchCV(MODEL, {"data_norm": [1e-9, 3.0]}, epsilon=8.0, method="all")
    assert search.fit(X, Y).best_params_["data_norm"] == 3.0


def test_random_candidates_are_searched():
    search = DPRandomizedSearchCV(MODEL, {"data_norm": loguniform(0.1, 10)}, n_iter=5).fit(X, Y)
    assert len(search.cv_results_["params"]) == 5
    assert 0.1 <= search.best_params_["data_norm"] <= 10.0


def test_pipelines_and_regressions_are_searched_over():
    steps = make_pipeline(BoundsScaler(bounds=(-8, 8)), MODEL)
    grid = {"dplogisticregression__data_norm": [0.5, 1.0], "boundsscaler__bounds": [(-8, 8)]}
    assert DPGridSearchCV(steps, grid, epsilon=3.0).fit(X, Y).score(X, Y) > 0.5
    target = np.clip(X[:, 0], -3, 3)
    model = DPLinearRegression(target_bounds=(-3, 3))
    search = DPGridSearchCV(model, GRID, epsilon=3.0).fit(X, target)
    assert search.predict(X).shape == target.shape
    assert is_regressor(search)


@pytest.mark.slow
def test_workers_give_what_one_process_gives():
    one, two = (
        DPGridSearchCV(MODEL, GRID, method="all", random_state=3, n_jobs=n).fit(X, Y)
        for n in (None, 2)
    )
    np.testing.assert_array_equal(one.best_estimator_.coef_, two.best_estimator_.coef_)
    assert "VOID" in str(one.privacy_)


NOT_VALID = r"Invalid parameter 'Cc' for estimator DPLogisticRegression\. Valid.*'C'.*was spent"


SCALED = make_pipeline(BoundsScaler(bounds=(-8, 8)), MODEL)
STEPS = {"boundsscaler": [BoundsScaler(bounds=(-8, 8)), StandardScaler()]}
LAST = {"dplogisticregression": [MODEL, LogisticRegression()]}
NAMED = "'data_norm' for estimator Pipeline.*'dplogisticregression__data_norm'"


@pytest.mark.parametrize(
    ("model", "grid", "more", "error", "message"),
    [
        (MODEL, {"epsilon": [1.0, 2.0]}, {}, ValueError, "cannot be searched over"),
        (MODEL, {"data_norm": [1.0, -1.0]}, {}, ValueError, "data_norm"),
        (MODEL, GRID, {"method": "both"}, ValueError, "method"),
        (MODEL, {"Cc": [1, 2]}, {}, ValueError, NOT_VALID),
        (MODEL, {"Cc": [1, 2]}, {"n_iter": 2}, ValueError, NOT_VALID),
        (MODEL, {"features__n_terms": [1, 2]}, {}, ValueError, "'features__n_terms'"),
        (SCALED, GRID, {}, ValueError, NAMED),
        (MODEL, {"data_norm": 1.0}, {}, TypeError, "grid for parameter 'data_norm'"),
        (MODEL, {"C": 1.0}, {"n_iter": 10}, TypeError, "grid for parameter 'C'"),
        (MODEL, GRID, {"holdout": 1.5}, ValueError, "holdout"),
        (MODEL, GRID, {"delta": 0.0}, ValueError, "needs delta > 0"),
        (MODEL, [], {}, ValueError, "candidate"),
        (MODEL, {"solver": ["dp_sgd"]}, {}, ValueError, "Gaussian DP"),
        (LogisticRegression(), {}, {}, PrivacyLeakError, "LogisticRegression"),
        (make_pipeline(StandardScaler(), MODEL), {}, {}, PrivacyLeakError, "Scaler"),
        (MODEL, GRID, {"epsilon": 9.0}, BudgetExceededError, "budget"),
        (SCALED, STEPS, {}, PrivacyLeakError, "StandardScaler"),
        (SCALED, LAST, {}, PrivacyLeakError, "LogisticRegression"),
        (make_pipeline(DPStandardScaler(bounds=(-8, 8)), MODEL), {}, {}, ValueError, "last step"),
        (make_pipeline(OtherLibrary(), MODEL), {}, {}, ValueError, "covers the last step only"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_spent(model, grid, more, error, message, unspent):
    Search = DPRandomizedSearchCV if "n_iter" in more else DPGridSearchCV
    search = Search(model, grid, budget=unspent, **more)
    with pytest.raises(error, match=message):
        search.fit(X, Y)
    assert not hasattr(search, "best_estimator_")


def test_a_wrong_label_is_found_before_anything_is_spent():
    """Whether its row learns or judges, which is drawn anew each time."""
    budget, wrong = PrivacyBudget(epsilon=5.0, delta=1e-5), np.where(np.arange(1500) == 700, 7, Y)
    for _ in range(10):
        with pytest.raises(ValueError, match="Nothing was spent"):
            DPGridSearchCV(MODEL, GRID, budget=budget).fit(X, wrong)
    assert budget.history() == []


def test_dask_collections_are_refused():
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="compute"):
        DPGridSearchCV(MODEL, GRID).fit(da.from_array(X), da.from_array(Y))


@pytest.mark.filterwarnings("always")
def test_nothing_that_is_printed_or_warned_of_tells_how_many_runs_there_were(capsys):
    """A search warns of its large delta once, and prints what one without runs would: nothing."""
    loud = make_pipeline(BoundsScaler(bounds=(-8, 8)), clone(MODEL).set_params(verbose=1))
    search = DPGridSearchCV(loud.set_params(verbose=True), {}, delta=0.01, method="repeat")
    with pytest.warns(UserWarning, match="delta=0.01 is large") as warned:
        search.fit(X, Y)
    assert len(warned) == 1
    assert capsys.readouterr().out == ""


def test_results_show_the_parameters_as_scikit_learn_does():
    inner = [DPLogisticRegression(data_norm=norm) for norm in (1.0, 2.0)]
    grid = [
        {"model": inner, "model__classes": [(0, 1)]},
        {"model__data_norm": [1, 0.5], "model__fit_intercept": [True]},
    ]
    steps = Pipeline([("model", MODEL)])
    ours = DPGridSearchCV(steps, grid, epsilon=3.0).fit(X, Y).cv_results_
    theirs = GridSearchCV(steps, grid, cv=KFold(2)).fit(X[:100], Y[:100]).cv_results_
    names = {name for name in theirs if name.startswith("param")}
    assert set(ours) == names
    for name in names - {"params"}:
        np.testing.assert_array_equal(ours[name].mask, theirs[name].mask)
        assert repr(ours[name].tolist()) == repr(theirs[name].tolist())
    assert ours["param_model__data_norm"].dtype == float
    assert ours["param_model"][0] is not inner[0]
    assert len(pd.DataFrame(ours)) == 4


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, np.ndarray.tolist])
def test_a_column_of_targets_is_judged_row_by_row(form):
    y = np.ones((400, 1), dtype=int)
    y[0] = 0
    search = DPGridSearchCV(MODEL, {"data_norm": [1.0]}, epsilon=5.0, method="repeat", holdout=0.9)
    with pytest.warns(DataConversionWarning):
        search.fit(np.ones((400, 2)), form(y))
    assert abs(search.best_score_) < 3.0  # 360 times as much if all are compared with all


def test_two_columns_of_targets_are_refused(budget):
    with pytest.raises(ValueError, match="should be a 1d array"):
        DPGridSearchCV(MODEL, GRID, budget=budget).fit(X, np.stack([Y, Y], axis=1))


@methods
def test_estimators_in_a_grid_are_copied(method):
    given = [DPLogisticRegression(data_norm=norm, classes=(0, 1)) for norm in (1.0, 2.0)]
    before = [dict(vars(model)) for model in given]
    grid = {"model": given}
    search = DPGridSearchCV(Pipeline([("model", MODEL)]), grid, epsilon=3.0, method=method)
    search.fit(X, Y)
    assert [vars(model) for model in given] == before
    assert search.best_params_["model"] not in given
    assert search.best_estimator_[-1] is not search.best_params_["model"]
    assert not hasattr(search.cv_results_["params"][0]["model"], "coef_")
    assert search.best_estimator_[-1].data_norm == given[search.best_index_].data_norm


def test_what_a_context_of_joblib_prints_does_not_tell_how_many_runs_there_were(capfd):
    with joblib.parallel_config(verbose=10):
        DPGridSearchCV(MODEL, GRID, method="repeat").fit(X, Y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (DPPCA(bounds=(-8.0, 8.0)), {"n_components": [1, 2]}),
        (DPKMeans(bounds=(-8.0, 8.0)), {"n_clusters": [2, 3]}),
        (
            Pipeline([("model", DPLinearRegression(target_bounds=(0.0, 1.0)))]),
            {"model": [MODEL, DPLinearRegression(target_bounds=(0.0, 1.0))]},
        ),
    ],
)
def test_candidates_that_cannot_be_judged_are_refused(estimator, grid, unspent):
    with pytest.raises(ValueError, match="all be classifiers or all regressors"):
        DPGridSearchCV(estimator, grid, budget=unspent).fit(X, Y)


@pytest.mark.parametrize("seed", [lambda: 0, lambda: np.random.default_rng(0)])
def test_a_seed_repeats_random_candidates_as_well(seed):
    def fitted(random_state):
        norms = {"data_norm": loguniform(0.1, 10)}
        search = DPRandomizedSearchCV(MODEL, norms, n_iter=3, random_state=random_state).fit(X, Y)
        return search.cv_results_["params"], search.best_estimator_.coef_.tolist()

    assert fitted(seed()) == fitted(seed())
    np.random.seed(0)  # noqa: NPY002
    one, _ = fitted(None)
    np.random.seed(0)  # noqa: NPY002
    assert one != fitted(None)[0]


@pytest.mark.parametrize("distribution", ["geometric", "logarithmic"])
def test_hardly_more_than_one_run_is_planned(distribution, budget):
    search = DPGridSearchCV(
        MODEL, GRID, method="repeat", mean_runs=1 + 1e-10, distribution=distribution
    )
    assert search.fit(X, Y).privacy_.epsilon(1e-5) <= 1.0
    with pytest.raises(ValueError, match="mean_runs"):
        search.set_params(mean_runs=1e305, budget=budget).fit(X, Y)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["all", "repeat"])
def test_labels_of_all_rows_are_known_to_every_fit(neighboring, method):
    """A label of one row is among those that are learned from every other time."""
    rng = np.random.default_rng()
    X, y = rng.uniform(-1.0, 1.0, size=(60, 2)), np.array(["a", "b"] * 30)
    y[0] = "c"
    terms = {"method": method, "holdout": 0.5, "neighboring": neighboring}
    for _ in range(8):
        search = DPGridSearchCV(DPLogisticRegression(), {"data_norm": [0.5, 1.0]}, **terms)
        assert search.fit(X, y).classes_.tolist() == ["a", "b", "c"]


def test_a_refusal_does_not_hang_on_who_would_judge(neighboring):
    X, y = np.linspace(-1.0, 1.0, 40)[:, None], np.array([0] * 39 + [1])
    budget = PrivacyBudget(epsilon=0.01, delta=1e-5, neighboring=neighboring)
    terms = {"holdout": 0.5, "neighboring": neighboring, "budget": budget}
    search = DPGridSearchCV(DPLogisticRegression(), {"data_norm": [0.5, 1.0]}, **terms)
    for _ in range(20):
        with pytest.raises(BudgetExceededError):
            search.fit(X, y)


def test_caches_and_callbacks_do_not_tell_how_many_runs_there_were(tmp_path):
    class Counting:
        n_set_up = 0

        def setup(self, *args, **kwargs):
            self.n_set_up += 1

        teardown = on_fit_task_begin = on_fit_task_end = setup

    X, y = np.random.default_rng(0).uniform(-1.0, 1.0, size=(80, 2)), np.array([0, 1] * 40)
    memory = joblib.Memory(tmp_path, verbose=11)
    pipeline = Pipeline([("unit", Normalizer()), ("m", DPLogisticRegression())], memory=memory)
    pipeline._skl_callbacks = [counting := Counting()]
    DPGridSearchCV(pipeline, {"m__data_norm": [0.5, 1.0]}, method="repeat").fit(X, y)
    assert counting.n_set_up == 0
    assert not [*tmp_path.rglob("output.pkl")]
