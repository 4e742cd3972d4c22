"""check_private: on every estimator of the suite, and on estimators with mistakes made on purpose.

An estimator of the suite fails by chance with probability 1e-6. Mistakes are gross, so that the
short audits find them; benchmarks/bench_audit.py measures what longer ones find.
"""

import itertools
import re
import warnings
from collections import deque
from datetime import timedelta
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KDTree
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_X_y
from test_every_estimator import ESTIMATORS

import skdp
from skdp import DPLogisticRegression, PrivacyBudget
from skdp.auditing import CHECKS, Attack, CheckResults, MultiRunAudit, check_private
from skdp.auditing.attacks import Subject
from skdp.auditing.check_private import CheckResult
from skdp.exceptions import PrivacyLeakError
from skdp.model_selection import DPGridSearchCV
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import BoundsScaler, DPStandardScaler
from skdp.privacy import GDPEvent, PrivacyGuarantee
from skdp.solvers import NoisyGD

SURE = {"confidence": 1 - 1e-6}
SHORT, LONGER = {"n_runs": 45, **SURE}, {"n_runs": 200, **SURE}
# Data sets that 45 fits tell apart each time refute ε = 1: (1 + 1/e)^-45 is 7e-7.
CODES = np.array([[1, 1], [0, 0], *[[0, 0]] * 10])
MIXED = np.array([[1, 1e4], [0, -1e4], *[[0, 0]] * 10])
TABLES = {"categorical nb": CODES, "mixed nb": MIXED}
SLOW = {"dp_sgd", "objective_perturbation", "coordinate_descent", "phased_sgd", "adassp", "auto"}
LONG = {f"{kind} classifier" for kind in ("additive", "forest", "tabular")}
"""Estimators whose 45 fits take seconds. `tests/metamorphic` moves records in them exactly."""
RELATIONS = ["replace_one", "add_remove_one"]


def made(check, estimator, **settings):
    """Make one check; return its result."""
    (result,) = check_private(estimator, checks=[check], **settings)
    return result


def checks_of(name, neighboring, **settings):
    model = clone(ESTIMATORS[name][0]).set_params(neighboring=neighboring, budget=None)
    return [
        pytest.param(
            partial(made, check, model, X=TABLES.get(name), **settings),
            id=f"{name}-{neighboring}-{check}",
        )
        for check in CHECKS
    ]


def every_check(relations, leave=(), **settings):
    """The checks of every estimator; of two relations the short ones take turns."""
    names = [name for name in ESTIMATORS if name not in {"exponential_mechanism", *leave}]
    return [
        one
        for i, name in enumerate(names)
        for neighboring in (relations if len(relations) > 1 else [RELATIONS[i % 2]])
        for one in checks_of(name, neighboring, **settings)
    ]


def short_checks():
    left = {f"{name}-{neighboring}-multi run" for name in LONG for neighboring in RELATIONS}
    return (one for one in every_check(["in turn"], SLOW, **SHORT) if one.id not in left)


@pytest.mark.parametrize("check", [*short_checks()])
def test_every_estimator_passes(check):
    assert check().status in ("passed", "skipped")


@pytest.mark.slow
@pytest.mark.parametrize("check", every_check(RELATIONS, n_runs=400, **SURE))
def test_every_estimator_passes_with_many_runs(check):
    assert check().status in ("passed", "skipped")


def numbers(name, values):
    """NumPy's own message quotes a text."""
    try:
        return np.asarray(values, dtype=float)
    except ValueError:
        raise ValueError(f"{name} must be numbers.") from None


class NoisyMeans(ClassifierMixin, BaseEstimator):
    """A classifier of another library: a sum of clipped rows times labels, and Gaussian noise.

    Two neighbors are 2 apart, so that noise of sd s is 2/s-Gaussian DP.
    """

    def __init__(self, noise=2.0, random_state=None):
        self.noise, self.random_state = noise, random_state

    def fit(self, X, y):
        X, y = numbers("X", X), numbers("y", y)
        rows = X / np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, None]
        rng = np.random.default_rng(self.random_state)
        self.classes_ = np.array([0, 1])
        self.coef_ = (np.nan_to_num(rows).T @ (2 * y - 1)) + self.noise * rng.normal(
            size=X.shape[1]
        )
        return self

    def decision_function(self, X):
        return np.asarray(X) @ self.coef_

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


def failed(estimator, **settings):
    results = check_private(estimator, raises=False, **{**LONGER, **settings})
    return {result.check for result in results if result.status == "failed"}


def check_of(name, estimator, **settings):
    return partial(made, name, estimator, **settings)


def test_a_classifier_of_another_library_with_too_little_noise_is_caught():
    """Its noise is a 75th of what an ε of 1 needs."""
    assert failed(NoisyMeans(0.1), epsilon=1.0) == {"multi run", "one run"}
    with pytest.raises(PrivacyLeakError, match="multi run"):
        check_private(NoisyMeans(0.1), epsilon=1.0, **LONGER)


def test_a_classifier_of_another_library_with_enough_noise_passes():
    assert not failed(NoisyMeans(8.0), epsilon=1.0, delta=1e-5)


def test_a_gaussian_claim_finds_noise_that_a_claim_of_epsilon_and_delta_lets_pass():
    """A third of the noise: of 300 simulated audits p is below 2e-10 with μ, above .15 with ε."""
    audited = {"n_runs": 200, "kind": "classifier", **SURE}
    assert "multi run" in failed(NoisyMeans(2.0 / 3.0), mu=1.0, **audited)
    assert not failed(NoisyMeans(2.0 / 3.0), epsilon=4.38, delta=1e-5, **audited)
    right = check_private(NoisyMeans(2.0), mu=1.0, **audited)
    assert right[-2].claim == "1-Gaussian DP"


def test_a_gaussian_claim_is_made_alone():
    for more in ({"epsilon": 1.0}, {"delta": 1e-5}):
        with pytest.raises(ValueError, match="mu, or epsilon with delta"):
            check_private(NoisyMeans(8.0), mu=1.0, **more)
    for wrong in (0.0, -1.0, np.inf, "1"):
        with pytest.raises(ValueError, match="mu must be a number"):
            check_private(NoisyMeans(8.0), mu=wrong)


@pytest.mark.slow
def test_a_gaussian_claim_that_is_kept_is_refuted_as_seldom_as_said():
    """Of 400 audits at level .2 more than 112 are refuted with probability below 1e-4."""
    rng = np.random.default_rng()
    found = 0
    for _ in range(400):
        members = rng.integers(2, size=60)
        fits = (NoisyMeans(2.0).fit([[9.0]], [int(member)]) for member in members)
        audit = MultiRunAudit([float(fit.coef_[0]) for fit in fits], members)
        found += audit.p_value(PrivacyGuarantee(GDPEvent(1.0), "replace_one", "claimed")) <= 0.2
    assert found <= 112


def test_a_claim_that_nobody_makes_is_asked_for():
    with pytest.raises(ValueError, match=r"NoisyMeans has no privacy_ .* Pass mu=.*or epsilon"):
        check_private(NoisyMeans(8.0), n_runs=20)
    with pytest.raises(ValueError, match="delta needs epsilon"):
        check_private(NoisyMeans(8.0), delta=1e-5)
    with pytest.raises(ValueError, match="epsilon=inf cannot be audited"):
        check_private(DPLogisticRegression(epsilon=np.inf), n_runs=20)


class Plain:
    """An object with fit, predict and epsilon, and nothing of scikit-learn."""

    def __init__(self, epsilon=1.0):
        self.epsilon = epsilon

    def fit(self, X, y):
        self.noisy_sum_ = float(np.sum(y)) + np.random.default_rng().laplace(scale=1 / self.epsilon)
        return self

    def predict(self, X):
        return np.full(len(X), self.noisy_sum_)


def test_a_plain_object_is_audited():
    with pytest.raises(ValueError, match="kind="):
        check_private(Plain(), epsilon=1.0)
    y = np.zeros(5)
    attack = Attack((y[:, None], np.r_[1.0, y[1:]]), (y[:, None], y), lambda m: m.predict(y))
    settings = {"kind": attack, "raises": False}
    with pytest.raises(ValueError, match="kind="):  # whose targets do the other checks take?
        check_private(Plain(), epsilon=1.0, **settings)
    assert "multi run" in failed(Plain(30.0), epsilon=1.0, kind="regressor")


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        DPLogisticRegression(epsilon=300.0, classes=("yes", "no"), solver="output_perturbation"),
        DPLogisticRegression(epsilon=300.0, classes=(3, 1, 2), solver="output_perturbation"),
        skdp.DPHuberRegressor(epsilon=300.0, target_bounds=(-1, 1), solver="output_perturbation"),
        skdp.DPGaussianNB(epsilon=300.0, bounds=(-1, 1)),
        skdp.DPPCA(epsilon=300.0, bounds=(-1, 1)),
        skdp.DPKMeans(epsilon=300.0, bounds=(-1, 1), n_clusters=2, max_iter=2),
    ],
    ids=repr,
)
def test_the_attack_on_each_kind_finds_a_record_that_is_hardly_hidden(model, neighboring):
    model = clone(model).set_params(neighboring=neighboring)
    with pytest.raises(PrivacyLeakError, match="multi run"):
        check_of("multi run", model, epsilon=1.0, **LONGER)()


def noisy_means(**changes):
    return type("Faulty", (NoisyMeans,), changes)(8.0)


def with_a_count(self, X, y):
    NoisyMeans.fit(self, X, y)
    self.class_count_ = np.bincount(np.asarray(y, dtype=int))
    return self


def with_an_exact_part(self, X, y):
    NoisyMeans.fit(self, X, y)
    self._inside = {"rows": [float(np.max(np.abs(X))), self.coef_[0]]}
    return self


@pytest.mark.parametrize("fit", [with_a_count, with_an_exact_part])
def test_an_attribute_without_noise_is_caught(fit):
    assert "attributes" in failed(noisy_means(fit=fit), epsilon=1.0, delta=1e-5)


class Slots:
    """An object without a dictionary."""

    __slots__ = ("rows",)

    def __init__(self, rows):
        self.rows = rows


KEPT = {
    "a number of NumPy": lambda X, y: X[0, 0],
    "a truth value of NumPy": lambda X, y: X[0, 0] > 0.0,
    "a complex number": lambda X, y: complex(X.sum(), 1.0),
    "a decimal": lambda X, y: Decimal(X[0, 0]),
    "a time": lambda X, y: timedelta(seconds=abs(X).sum()),
    "a frame of pandas": lambda X, y: pd.DataFrame(X),
    "an index of pandas": lambda X, y: pd.Index(X[:, 0]),
    "a series of polars": lambda X, y: pl.Series(X[:, 0]),
    "values under a mask": lambda X, y: np.ma.array(X, mask=True),
    "keys": lambda X, y: dict.fromkeys(X[:, 0].tolist()),
    "a deque": lambda X, y: deque(X[:, 0].tolist()),
    "a closure": lambda X, y: lambda: X,
    "a partial function": lambda X, y: partial(print, X),
    "slots": lambda X, y: Slots(X),
    "a compiled tree": lambda X, y: DecisionTreeClassifier(random_state=0).fit(X, y).tree_,
    "a compiled index": lambda X, y: KDTree(X),
}


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("name", ["inside_", "noise"])
def test_whatever_is_kept_is_looked_into_and_parameters_too(kept, name):
    def fit(self, X, y):
        NoisyMeans.fit(self, X, y)
        setattr(self, name, kept(np.array(X, dtype=float), np.array(y, dtype=int)))
        return self

    model = type("Keeps", (NoisyMeans,), {"fit": fit})(8.0)
    with pytest.raises(PrivacyLeakError, match=name):
        check_of("attributes", model, epsilon=1.0)()


def with_a_message(self, X, y):
    if np.isnan(numbers("X", X)).any():
        raise ValueError(f"found {np.nanmax(X)}")
    return NoisyMeans.fit(self, X, y)


def with_a_largest_norm(self, X, y):
    warnings.warn(f"largest norm {np.max(np.abs(numbers('X', X)))!r}", stacklevel=2)
    return NoisyMeans.fit(self, X, y)


def with_a_short_form(self, X, y):
    warnings.warn(f"no value below {np.min(numbers('X', X)):.3g}", stacklevel=2)
    return NoisyMeans.fit(self, X, y)


def with_a_warning(self, X, y):
    if len(set(y)) > 2:
        warnings.warn(f"labels {set(y)}", stacklevel=2)
    return NoisyMeans.fit(self, X, np.where(np.asarray(y) == 1, 1, 0))


def with_scikit_learns_check(self, X, y):
    return NoisyMeans.fit(self, *check_X_y(X, y))


QUOTES = [
    (with_a_message, "X holds 87654.321 beside a missing value, ValueError", "found 87654.321"),
    (with_a_largest_norm, "X holds 87654.321 and its negative, UserWarning", "norm .*87654.321"),
    (with_a_short_form, "X holds 87654.321 and its negative, UserWarning", "below -8.77e.04"),
    (
        with_a_warning,
        "y holds the unknown label 'secret-4711', UserWarning",
        "labels {.*secret-4711",
    ),
    (with_scikit_learns_check, "X holds the string 'secret-4711', ValueError", "could not convert"),
]


@pytest.mark.parametrize(("fit", "situation", "quoted"), QUOTES)
def test_a_message_with_a_value_is_caught_and_shown(fit, situation, quoted):
    results = check_private(noisy_means(fit=fit), epsilon=1.0, delta=1e-5, raises=False, **LONGER)
    (found,) = (result for result in results if result.status == "failed")
    assert found.check == "messages"
    assert re.search(f"if {situation} quotes it: .*{quoted}", found.message)


def test_of_a_long_message_the_part_with_the_value_is_shown():
    def with_a_long_message(self, X, y):
        raise ValueError(500 * "a" + str(y) + 500 * "z")

    with pytest.raises(PrivacyLeakError, match=r"\.\.\.a+.*secret-4711.*z+\.\.\.") as caught:
        check_of("messages", noisy_means(fit=with_a_long_message))()
    assert len(str(caught.value)) < 400


def with_exact_means(self, X, y):
    X = np.asarray(X, dtype=float)
    with np.errstate(all="ignore"):
        return NoisyMeans.fit(self, *check_X_y((X - X.mean(axis=0)) / X.std(axis=0), y))


def with_an_error(self, X, y):
    raise KeyError("nothing is taken\nby this one")


class BreaksLate(NoisyMeans):
    """Can be fitted, and does not predict."""

    def decision_function(self, X):
        raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            noisy_means(fit=with_exact_means),
            {
                "attributes": "skipped: no fit at epsilon=0.01: ValueError: Input X contains NaN",
                "odd rows": r"failed: rows of norm 1e\+06 break a fit.*contains NaN",
                "seeds": "skipped: not made: it raised ValueError",
                "copies": "skipped: not made: it raised ValueError",
                "multi run": "failed: not made: it raised ValueError: Input X contains NaN",
                "one run": "skipped: not made: it raised ValueError",
            },
        ),
        (
            noisy_means(fit=with_an_error),
            {"odd rows": r"failed:.*KeyError: 'nothing.*", "multi run": "failed.*KeyError"},
        ),
        (
            BreaksLate(8.0),
            {"seeds": "passed", "multi run": "failed.*RuntimeError", "one run": "skipped.*not"},
        ),
    ],
    ids=["exact means", "no fit", "no predictions"],
)
def test_what_the_estimator_raises_in_a_check_is_its_result(model, expected):
    results = check_private(model, epsilon=1.0, delta=1e-5, raises=False, **SHORT)
    found = {result.check: f"{result.status}: {result.message}" for result in results}
    for name, text in expected.items():
        assert re.match(text, found[name]), found[name]
    assert len(found) == 8
    with pytest.raises(PrivacyLeakError, match="multi run"):
        check_private(model, epsilon=1.0, delta=1e-5, **SHORT)


def test_equal_rows_that_break_a_fit_are_told_from_far_ones():
    def needs_spread(self, X, y):
        if np.ptp(np.asarray(X, dtype=float), axis=0).max() == 0 and np.max(np.abs(X)) < 1e6:
            raise ZeroDivisionError("no spread")
        return NoisyMeans.fit(self, X, y)

    model = noisy_means(fit=needs_spread)
    with pytest.raises(PrivacyLeakError, match=r"equal rows break .* ZeroDivisionError: no spread"):
        check_of("odd rows", model)()


def test_without_a_claim_what_keeps_a_fit_from_making_one_is_said():
    with pytest.raises(ValueError, match=r"has no claim, because .* KeyError.*as X=") as caught:
        check_private(noisy_means(fit=with_an_error), raises=False)
    assert isinstance(caught.value.__cause__, KeyError)


def with_noise_of(generator):
    def fit(self, X, y):
        NoisyMeans.fit(self, X, y)
        self.coef_ = self.coef_ * 0 + generator().normal(size=self.coef_.shape)
        return self

    return fit


def test_noise_that_two_workers_share_is_caught():
    of_numpy = noisy_means(fit=with_noise_of(lambda: np.random.mtrand))
    assert failed(of_numpy, epsilon=1.0) == {"seeds", "copies"}
    of_one_seed = noisy_means(fit=with_noise_of(lambda: np.random.default_rng(0)))
    assert {"seeds", "copies"} <= failed(of_one_seed, epsilon=1.0)


class SpendsLate(DPLogisticRegression):
    """Reads before it spends."""

    def _plan(self, parameters, records):
        self._read(None, records, None)
        return super()._plan(parameters, records)


class KeepsTheOld(DPLogisticRegression):
    """Does not forget an older fit."""

    def _forget(self):
        self.old_ = 1


class SaysMore(DPLogisticRegression):
    """Publishes the number of rows."""

    def _publish(self, plan, records, released, guarantee):
        super()._publish(plan, records, released, guarantee)
        self.n_positive_ = int(np.sum(records.n_records))
        return self


@pytest.mark.parametrize("Model", [SpendsLate, KeepsTheOld])
def test_a_transaction_in_another_order_is_caught(Model):
    with pytest.raises(PrivacyLeakError, match="spends first"):
        made("spends first", Model(solver=NoisyGD(3)), **SHORT)


def test_a_count_of_rows_is_caught_where_it_is_private():
    settings = {"solver": NoisyGD(3), "classes": (0, 1)}
    assert check_of("attributes", SaysMore(**settings))().status == "passed"
    with pytest.raises(PrivacyLeakError, match="attributes"):
        check_of("attributes", SaysMore(**settings, neighboring="add_remove_one"))()


def test_an_estimator_without_noise_is_caught_by_both_audits():
    found = failed(LogisticRegression(), epsilon=1.0)
    assert {"attributes", "copies", "seeds", "multi run", "one run"} <= found


def test_results_say_what_was_found_and_that_a_pass_proves_nothing():
    results = check_private(DPLogisticRegression(solver=NoisyGD(3)), **SHORT)
    assert isinstance(results, CheckResults)
    audit = results[-2]
    assert (audit.check, audit.status) == ("multi run", "passed")
    assert audit.claim.startswith("(1, 1e-05)-DP")
    assert 0.0 <= audit.lower_mu < 1.0
    assert audit.p_value > 1e-6
    assert str(results).endswith("A pass is not a proof: other attacks may be stronger.")
    assert "<td>multi run</td>" in results._repr_html_()
    assert "&lt;b&gt;" in CheckResults([CheckResult(check="<b>", status="failed")])._repr_html_()


class LaplaceMeans(NoisyMeans):
    """Neighbors are 2 apart in the one column that is not zero: (2 / noise)-DP, and not less."""

    def fit(self, X, y):
        super().fit(X, y)
        self.coef_ += np.random.default_rng(self.random_state).laplace(scale=2.0 / 3.0, size=2)
        return self


def test_a_claim_that_passes_has_no_epsilon_above_it():
    """Laplace noise of ε = 3: Gaussian noise as weak would have an ε above 3."""
    settings = {"epsilon": 3.0, "n_runs": 600, "kind": "classifier", **SURE}
    results = check_private(LaplaceMeans(0.0), raises=False, **settings)
    audit = results[-2]
    assert (audit.status, audit.delta) == ("passed", 0.0)
    assert 0.5 < audit.lower_epsilon <= 3.0
    gaussian = PrivacyGuarantee(GDPEvent(audit.lower_mu), "replace_one", "as weak")
    assert gaussian.epsilon(1e-5) > 3.0
    assert str(audit).endswith("at delta = 0")
    assert "<th>at δ =</th>" in results._repr_html_()


def test_lower_bounds_are_printed_rounded_downwards():
    result = CheckResult(
        check="multi run",
        status="failed",
        claim="1-DP",
        p_value=0.0,
        lower_mu=1.2399,
        lower_epsilon=3.0499,
        delta=1e-5,
    )
    assert "mu >= 1.23, epsilon >= 3.04 at delta = 1e-05" in str(result)
    assert "<td>1.23</td><td>3.04</td><td>1e-05</td>" in CheckResults([result])._repr_html_()


def test_a_seed_repeats_the_audit():
    model = DPLogisticRegression(solver=NoisyGD(3))
    one, again = (check_private(model, n_runs=10, random_state=3, **SURE) for _ in range(2))
    assert list(map(str, one)) == list(map(str, again))


def logistic(budget, **parameters):
    return DPLogisticRegression(epsilon=1.0, solver=NoisyGD(3), budget=budget, **parameters)


HOLDERS = {
    "itself": logistic,
    "step": lambda budget: make_pipeline(BoundsScaler(bounds=(-1, 1)), logistic(budget)),
    "private steps": lambda budget: make_private_pipeline(
        DPStandardScaler(bounds=(-1, 1)), DPLogisticRegression(), epsilon=1.0, budget=budget
    ),
    "one against the rest": lambda budget: OneVsRestClassifier(logistic(budget)),
    "votes": lambda budget: VotingClassifier([("a", logistic(budget)), ("b", logistic(budget))]),
    "stack": lambda budget: StackingClassifier(
        [("a", logistic(budget))], final_estimator=logistic(budget), cv=2
    ),
    "search": lambda budget: GridSearchCV(logistic(budget), {"C": [1, 2]}, cv=2),
    "in other processes": lambda budget: GridSearchCV(logistic(budget), {}, cv=2, n_jobs=2),
    "as a candidate": lambda budget: GridSearchCV(logistic(None), {"budget": [budget]}, cv=2),
    "private search": lambda budget: DPGridSearchCV(
        logistic(None), {"C": [1, 2]}, epsilon=1.0, budget=budget
    ),
    "in a dictionary": lambda budget: Keeps({"models": [logistic(budget)]}),
}


class Keeps(ClassifierMixin, BaseEstimator):
    """Fits an estimator that stands in a dictionary."""

    def __init__(self, kept=None):
        self.kept = kept

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.model_ = self.kept["models"][0].fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.mark.filterwarnings("ignore")  # of scikit-learn, of scores on rows that it cannot take
@pytest.mark.parametrize(
    ("name", "of_a_share"), [*zip(HOLDERS, itertools.cycle([False, True])), ("itself", True)]
)
def test_no_budget_is_touched_wherever_it_is_held(name, of_a_share):
    budget, holder = PrivacyBudget(epsilon=100.0, delta=1e-5), HOLDERS[name]
    model = holder(budget.share(epsilon=90.0) if of_a_share else budget)
    check_private(model, epsilon=100.0, delta=1e-5, n_runs=4, **SURE)
    assert not budget.history()
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_pipeline_whose_own_budget_admits_one_fit_is_audited():
    scaler = DPStandardScaler(bounds=(-1, 1))
    model = make_private_pipeline(scaler, DPLogisticRegression(), epsilon=3.0)
    results = check_private(model, epsilon=3.0, delta=1e-5, **SHORT)
    assert [one.status for one in results if one.check.endswith("run")] == ["passed"] * 2
    assert not model[0].budget.history()
    assert not failed(model.fit(*default_data()), epsilon=3.0, delta=1e-5, n_runs=20)


def test_copies_have_budgets_of_the_same_terms():
    budget = PrivacyBudget(epsilon=1.0, delta=1e-9, unit="person", composition="zcdp")
    model = logistic(budget.share(epsilon=0.5), delta=None).set_params(epsilon=0.5)
    kept = copy_of(model)
    assert (kept.budget.epsilon, kept.budget.delta, kept.budget.unit) == (0.5, 1e-9, "record")
    assert kept.budget.composition == "zcdp"
    assert check_private(model, **SHORT)[-2].claim.startswith("(0.5, 1e-09)-DP")
    with pytest.raises(ValueError, match="has no claim"):  # nor would a fit be admitted
        check_private(model.set_params(epsilon=2.0), **SHORT)


def default_data():
    return np.array([[0.0], [1.0]] * 6), np.arange(12) % 2


def copy_of(model):
    rng = np.random.default_rng(0)
    return Subject(estimator=model, kind="auto", n_runs=2, level=0.05, rng=rng).copy()


def test_what_cannot_be_audited_is_refused():
    wrong_ones = [
        {"checks": ["rows"]},
        {"n_runs": 0},
        {"n_runs": 1},
        {"confidence": 1.0},
        {"kind": "tree"},
    ]
    for wrong in (*wrong_ones, {"epsilon": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            check_private(DPLogisticRegression(), **wrong)
    with pytest.raises(ValueError, match="object with fit"):
        check_private(DPLogisticRegression)


def test_a_density_with_less_noise_than_claimed_is_caught(neighboring):
    model = clone(ESTIMATORS["tree density"][0]).set_params(neighboring=neighboring)
    audited = {"epsilon": 0.5, "delta": 1e-5, "n_runs": 80}
    assert failed(model.set_params(epsilon=500.0), **audited) == {"multi run"}
