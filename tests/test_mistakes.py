"""Beginners' mistakes: each has an error or a warning that names the mistake and what to do."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import skdp
from skdp import (
    DPAdditiveClassifier,
    DPGaussianNB,
    DPKMeans,
    DPLinearRegression,
    DPLogisticRegression,
    DPQuantileRegressor,
    DPRandomForestClassifier,
    DPTabularClassifier,
    PrivacyBudget,
    metrics,
    statistics,
)
from skdp._private_fit import PaidWarning
from skdp.exceptions import (
    BudgetExceededError,
    FewRowsWarning,
    PrivacyLeakError,
    WeakPrivacyWarning,
)
from skdp.model_selection import DPGridSearchCV
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import DPStandardScaler

N = 400
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({
    "age": RNG.integers(18, 90, N), "income": RNG.lognormal(10, 1, N),
    "job": RNG.choice(["a", "b"], N), "when": pd.date_range("2020-01-01", periods=N),
})  # fmt: skip
NUMBERS, BOUNDS = FRAME[["age", "income"]], {"age": (18, 90), "income": (0, 1e5)}
X = RNG.normal(size=(N, 2))
Y = (X[:, 0] > 0).astype(int)
WORDS = np.where(Y, "yes", "no")
CLASSES = ["no", "yes"]
FITTED = DPTabularClassifier(bounds=BOUNDS).fit(NUMBERS, Y)


def budget(**terms):
    return PrivacyBudget(**{"epsilon": 1.0, "delta": 1e-5} | terms)


def large(frame=FRAME, **model):
    """Fit many rows, whose released matrix is far above its noise."""
    columns = {"bounds": BOUNDS, "categories": {"job": ["a", "b"]}}
    model = DPAdditiveClassifier(epsilon=10.0, **columns | model)
    return model.fit(pd.concat([frame.drop(columns="when")] * 100), np.tile(Y, 100))


def fit(frame, model=None, y=Y, **data):
    return (DPLogisticRegression() if model is None else model).fit(frame, y, **data)


def table(columns, bounds, **more):
    return DPTabularClassifier(bounds=bounds, **more).fit(FRAME[columns], Y)


def linear(y=X[:, 0], **settings):
    return DPLinearRegression(**settings).fit(X, y)


def logistic(**settings):
    return DPLogisticRegression(**settings).fit(X, Y)


def search(grid, **settings):
    return DPGridSearchCV(DPLogisticRegression(), grid, **settings).fit(X, Y)


AGE, JOB, WHEN = ["age"], ["age", "job"], ["age", "when"]
OLD = {"age": (18, 90)}
MISTAKES = {
    # names of parameters, and what is positional
    "eps of a budget": (lambda: PrivacyBudget(eps=3), TypeError, "Did you mean epsilon"),
    "eps": (lambda: DPLogisticRegression(eps=3), TypeError, "Did you mean epsilon"),
    "seed": (lambda: DPLogisticRegression(seed=3), TypeError, "Did you mean random_state"),
    "alpha": (lambda: DPLinearRegression(alpha=1), TypeError, "Did you mean C"),
    "accountant": (lambda: DPGaussianNB(accountant=1), TypeError, "Did you mean budget"),
    "typo": (lambda: DPLogisticRegression(epsilonn=1), TypeError, "Did you mean epsilon"),
    "unknown": (lambda: DPGaussianNB(verbosity=2), TypeError, "The parameters are bounds, "),
    "bounds": (lambda: DPLinearRegression(bounds=OLD), TypeError, "BoundsScaler"),
    "categories as bounds": (
        lambda: skdp.DPAdditiveClassifier(epsilon=1.0, bounds={0: (0, 1), 1: ["a", "b"]}).fit(X, Y),
        ValueError, "TableSchema",
    ),
    "trees": (lambda: DPRandomForestClassifier(n_estimators=9), TypeError, "mean n_trees"),
    "cv": (lambda: search({"C": [1.0]}, cv=5), TypeError, "Did you mean holdout"),
    "number first": (lambda: DPKMeans(8), TypeError, "no positional argument. Pass all others"),
    "third place": (lambda: DPGridSearchCV(FITTED, {}, 5), TypeError, "estimator and param_grid"),
    "class": (lambda: skdp.LogisticRegression, AttributeError, "no attribute 'LogisticReg"),
    # privacy parameters
    "epsilon 0": (lambda: logistic(epsilon=0), ValueError, "epsilon must be a positive number"),
    "epsilon None": (lambda: logistic(epsilon=None), ValueError, "epsilon must be a positive"),
    "large epsilon": (lambda: logistic(epsilon=50), WeakPrivacyWarning, "protects records lit"),
    "delta 2": (lambda: logistic(delta=2), ValueError, r"delta must lie in \[0, 1\)"),
    "budget's delta": (lambda: budget(delta=0.5), WeakPrivacyWarning, "50 % of the records"),
    "larger delta": (lambda: logistic(delta=1e-4, budget=budget()), ValueError, "Leave out delta"),
    "few rows": (lambda: fit(X[:80], y=Y[:80]), FewRowsWarning, "It needs about .* rows or eps"),
    "budget a number": (lambda: logistic(budget=3), ValueError, "must be a PrivacyBudget"),
    "small budget": (
        lambda: logistic(epsilon=2, budget=budget()), BudgetExceededError, "has only epsilon=1",
    ),
    "two budgets": (
        lambda: make_private_pipeline(DPStandardScaler(budget=budget()), FITTED, budget=budget()),
        ValueError, "Pass budget= to make_private_pipeline",
    ),
    "seed and budget": (
        lambda: logistic(random_state=0, budget=budget()), ValueError, "random_state must be None",
    ),
    "relation": (lambda: logistic(neighboring="add"), ValueError, "one of 'replace_one', 'add_"),
    "unit": (lambda: budget(unit="user"), ValueError, "unit must be one of 'record', 'person'"),
    "no groups": (lambda: logistic(budget=budget(unit="person")), ValueError, "with groups="),
    # labels and targets
    "voting": (
        lambda: fit(X, VotingClassifier([("a", DPLogisticRegression(classes=CLASSES))]), WORDS),
        ValueError, r"pass classes=\[0, 1\]",
    ),
    "stacking": (
        lambda: fit(X, StackingClassifier([("a", DPLogisticRegression(classes=CLASSES))]), WORDS),
        ValueError, r"pass classes=\[0, 1\]",
    ),
    "other labels": (
        lambda: fit(X, DPLogisticRegression(classes=["a", "b"])), ValueError, "labels outside",
    ),
    "one class": (lambda: fit(X, y=np.zeros(N)), ValueError, "at least two classes"),
    "numbers as labels": (lambda: fit(X, y=X[:, 0]), ValueError, "Unknown label type: continuous"),
    "words as targets": (
        lambda: linear(WORDS, target_bounds=(0, 1)), ValueError, "Use a classifier for labels",
    ),
    "no target bounds": (linear, ValueError, "pass the interval of the targets"),
    "reversed targets": (lambda: linear(target_bounds=(1, 0)), ValueError, "with low < high"),
    "quantile": (
        lambda: fit(X, DPQuantileRegressor(quantile=90, target_bounds=(0, 1))),
        ValueError, r"in \(0, 1\), got 90",
    ),
    "balanced": (lambda: logistic(class_weight="balanced"), ValueError, "would reveal class"),
    "weights": (lambda: fit(X, sample_weight=np.ones(N)), ValueError, "max_weight, a public"),
    # bounds and columns
    "no bounds": (lambda: fit(X, DPGaussianNB()), ValueError, "bounds must be given"),
    "reversed bounds": (lambda: table(AGE, {"age": (90, 18)}), ValueError, "'age' are reversed"),
    "unknown column": (lambda: table(AGE, {"agee": (18, 90)}), ValueError, r"\['agee'\]. The col"),
    "missing column": (lambda: table(JOB, OLD), ValueError, r"no pair for the columns \['job'\]"),
    "one pair": (lambda: fit(X, DPGaussianNB(bounds=[(0, 1)])), ValueError, "one pair for each"),
    "names of an array": (
        lambda: fit(X, DPTabularClassifier(bounds=OLD)), ValueError, "numbers from 0 to 1",
    ),
    "text": (lambda: fit(FRAME[JOB]), ValueError, r"\['job'\] contain strings. Encode"),
    "bounds of text": (lambda: table(JOB, OLD | {"job": (0, 1)}), ValueError, "Name the values"),
    "numbers for text": (
        lambda: table(JOB, OLD, categories={"job": [1, 2]}), ValueError, "own type",
    ),
    "date": (lambda: fit(FRAME[WHEN]), TypeError, "'when' is not .* datetime64.* days since"),
    "mean of dates": (
        lambda: statistics.mean(FRAME["when"], bounds=(0, 1), epsilon=1), TypeError, "days since",
    ),
    "mean of text": (
        lambda: statistics.mean(FRAME["job"], bounds=(0, 1), epsilon=1), ValueError, "strings",
    ),
    "missing values": (lambda: fit(np.where(X > 2, np.nan, X)), ValueError, "by a public rule"),
    "no columns": (lambda: fit(FRAME[[]]), ValueError, "X must have at least one column"),
    "labels of bytes": (lambda: fit(X, y=np.where(Y, b"a", b"b")), ValueError, "contains bytes"),
    "unscaled columns": (
        lambda: fit(pd.concat([NUMBERS] * 50), y=np.tile(Y, 50)),
        PaidWarning, r"Columns \['income'\] make up most.*BoundsScaler",
    ),
    "unscaled numbers": (
        lambda: DPQuantileRegressor(target_bounds=(0, 1)).fit(
            np.tile(X * [1e3, 1.0], (50, 1)), np.tile(Y, 50)
        ),
        PaidWarning, r"Columns \[0\] make up",
    ),
    "other categories": (
        lambda: large(categories={"job": ["A", "B"]}),
        PaidWarning, r"Hardly any value of columns \['job'\] is",
    ),
    "no numbers": (
        lambda: large(FRAME.assign(age=np.nan)), PaidWarning, r"any value of columns \['age'\]",
    ),
    "other units": (
        lambda: large(FRAME.assign(age=12 * FRAME["age"])),
        PaidWarning, r"Values of columns \['age'\] vary little beside their bounds",
    ),
    "wide bounds": (
        lambda: large(bounds=BOUNDS | {"age": (-900, 1000)}),
        PaidWarning, r"Values of columns \['age'\] vary little",
    ),
    "clipped rows with intervals": (
        lambda: fit(X, DPLogisticRegression(standard_errors=True, epsilon=3)),
        PaidWarning, r"At least \d+% of the rows are longer than data_norm=1\. Coefficients",
    ),
    # other data, and what is not fitted
    "privacy_ before fit": (lambda: DPLogisticRegression().privacy_, NotFittedError, "Call fit"),
    "coef_ before fit": (lambda: DPLogisticRegression().coef_, NotFittedError, "'coef_'"),
    "predict before fit": (lambda: DPGaussianNB().predict(X), NotFittedError, "not fitted yet"),
    "effects before fit": (
        lambda: DPAdditiveClassifier(bounds=(0, 1)).explain_global(), NotFittedError, "not fitted",
    ),
    "other columns": (lambda: FITTED.predict(FRAME[JOB]), ValueError, "unseen at fit time:\n- job"),
    "other order": (lambda: FITTED.predict(NUMBERS.iloc[:, ::-1]), ValueError, "in the same order"),
    "one row": (lambda: FITTED.predict(X[0]), ValueError, "Expected 2D array"),
    "lengths": (lambda: fit(X, y=Y[:-1]), ValueError, "X and y must have equally many"),
    "interval": (lambda: FITTED.coef_interval(), ValueError, "Set standard_errors=True"),
    # around the model
    "scaler": (
        lambda: make_private_pipeline(StandardScaler(), DPLogisticRegression()),
        PrivacyLeakError, "BoundsScaler scales by public bounds",
    ),
    "public model": (
        lambda: DPGridSearchCV(LogisticRegression(), {"C": [1.0]}).fit(X, Y),
        PrivacyLeakError, "Use DPLogisticRegression",
    ),
    "wrong grid": (lambda: search({"CC": [1, 2]}), ValueError, "Invalid parameter 'CC'"),
    "scoring": (lambda: search({"C": [1]}, scoring="roc_auc"), ValueError, "one of 'accuracy'"),
    "solver": (lambda: logistic(solver="lbfgs"), ValueError, "solver must be one of 'auto'"),
    "report": (lambda: metrics.regression_report(Y, Y), TypeError, "'target_bounds'"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name):
    make, kind, words = MISTAKES[name]
    check = pytest.warns if issubclass(kind, Warning) else pytest.raises
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with check(kind, match=words):
            make()


def test_fitting_columns_are_not_named():
    """Means and squares are twenty deviations of the noise away from where a warning begins."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        large()


def test_containers_of_numbers_and_labels_are_read():
    """A matrix, as `todense` of a sparse matrix gives it, and labels of the type object."""
    expected = DPGaussianNB(bounds=(0, 1), random_state=0).fit(X, Y).predict_proba(X)
    dense = sparse.csr_matrix(X).todense()
    truth, mixed = Y.astype(bool), [float(Y[0]), bool(Y[1]), *Y[2:].tolist()]
    for y in (Y.astype(object), truth.astype(object), truth.tolist(), mixed):
        found = DPGaussianNB(bounds=(0, 1), random_state=0).fit(dense, y)
        assert np.array_equal(found.predict_proba(dense), expected)


def test_a_missing_attribute_of_a_fitted_model_is_an_ordinary_error():
    with pytest.raises(AttributeError, match="has no attribute 'coef_noise_'") as caught:
        _ = FITTED.coef_noise_
    assert not isinstance(caught.value, NotFittedError)
    assert not hasattr(DPLogisticRegression(), "coef_")


def test_no_warning_depends_on_a_type_that_a_single_value_decides():
    other = NUMBERS.astype(float)
    other.iloc[0] += 0.5
    shown = []
    for table in (NUMBERS, other):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit(table)
        shown.append([str(one.message) for one in caught])
    assert shown[0] == shown[1]
