"""Naive Bayes: without noise it is scikit-learn's, with noise it pays first and tells no more."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from skdp import PrivacyBudget
from skdp.exceptions import BudgetExceededError
from skdp.naive_bayes import DPCategoricalNB, DPGaussianNB, DPMixedNB

IRIS, SPECIES = load_iris(return_X_y=True)
BOUNDS = ([4, 2, 0, 0], [8, 5, 8, 3])
CODES = np.floor(IRIS).astype(int)
FRAME = pd.DataFrame(
    {"long": IRIS[:, 2], "wide": np.where(IRIS[:, 3] > 1.0, "yes", "no"), "sepal": IRIS[:, 0]}
)
MIXED = {"categories": {"wide": ["yes", "no"]}, "bounds": {"long": (0, 8), "sepal": (4, 8)}}
FITS = {
    "gaussian": (DPGaussianNB(bounds=BOUNDS), IRIS),
    "categorical": (DPCategoricalNB(n_categories=9), CODES),
    "mixed": (DPMixedNB(**MIXED), FRAME),
}
every_kind = pytest.mark.parametrize(("model", "X"), FITS.values(), ids=FITS)
PUBLIC = {"classes_", "n_features_in_", "feature_names_in_", "privacy_"}
RELEASED = {"class_count_", "class_prior_", "theta_", "var_", "feature_log_prob_"}


def test_without_privacy_numbers_are_those_of_scikit_learn():
    model, reference = DPGaussianNB(epsilon=math.inf, bounds=(0, 1)), GaussianNB()
    ours, theirs = (one.fit(IRIS, SPECIES).predict_proba(IRIS) for one in (model, reference))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_without_privacy_categories_are_those_of_scikit_learn():
    model = DPCategoricalNB(epsilon=math.inf, n_categories=9)
    reference = CategoricalNB(min_categories=9)
    ours, theirs = (one.fit(CODES, SPECIES).predict_proba(CODES) for one in (model, reference))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_mixed_columns_are_the_two_kinds_side_by_side():
    mixed = DPMixedNB(epsilon=math.inf, **MIXED).fit(FRAME, SPECIES)
    numbers = DPGaussianNB(epsilon=math.inf).fit(FRAME[["long", "sepal"]], SPECIES)
    codes = (FRAME[["wide"]] == "yes").astype(int)
    categories = DPCategoricalNB(epsilon=math.inf).fit(codes, SPECIES)
    parts = numbers.predict_joint_log_proba(FRAME[["long", "sepal"]])
    parts = parts + categories.predict_joint_log_proba(codes) - np.log(mixed.class_prior_)
    np.testing.assert_allclose(mixed.predict_joint_log_proba(FRAME), parts, rtol=1e-9)


@every_kind
@pytest.mark.parametrize("neighboring", ["replace_one", "add_remove_one"])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_fit_costs_what_is_asked_and_is_paid_once(model, X, neighboring, delta):
    composition = "gdp" if delta else "pure"
    budget = PrivacyBudget(2.0, delta, neighboring=neighboring, composition=composition)
    model = clone(model).set_params(delta=delta, neighboring=neighboring, budget=budget)
    model.fit(X, SPECIES)
    assert model.privacy_.epsilon(delta) <= 1.0
    assert model.privacy_.epsilon(delta) == pytest.approx(1.0, rel=1e-4)
    assert budget.spent.epsilon == pytest.approx(1.0, rel=1e-4)


@every_kind
def test_a_fit_that_cannot_be_paid_changes_nothing(model, X):
    budget = PrivacyBudget(0.5, 1e-5)
    model = clone(model).set_params(budget=budget)
    with pytest.raises(BudgetExceededError):
        model.fit(X, SPECIES)
    assert budget.spent.epsilon == 0.0
    assert not [name for name in vars(model) if name.endswith("_")]


@every_kind
def test_nothing_but_released_and_public_attributes(model, X):
    model = clone(model).fit(X, SPECIES)
    assert {name for name in vars(model) if name.endswith("_")} <= PUBLIC | RELEASED
    assert set(vars(model)) - set(model.get_params()) <= PUBLIC | RELEASED


def test_class_sizes_have_the_noise_that_is_paid_for():
    """Kolmogorov and Smirnov's test of 400 fits; a false alarm in a million runs."""
    y = np.repeat([0, 1], 5000)
    X = np.zeros((y.size, 1))
    model = DPGaussianNB(noise="gaussian", classes=[0, 1])
    sizes = [clone(model).set_params(random_state=i).fit(X, y).class_count_[0] for i in range(400)]
    sigma = math.sqrt(2.0) * math.sqrt(2.0) / model.fit(X, y).privacy_.gdp_mu  # two queries
    assert stats.kstest((np.array(sizes) - 5000.0) / sigma, "norm").pvalue > 1e-6


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (DPGaussianNB(bounds=([1, 2, 3, 4], [0, 5, 6, 7])), IRIS, "each low must be below"),
        (DPGaussianNB(bounds=(0, math.inf)), IRIS, "both finite"),
        (DPGaussianNB(least_variance=0.0), IRIS, "least_variance must be"),
        (DPGaussianNB(priors=[0.5, 0.5]), IRIS, "priors must be 3 positive numbers"),
        (DPGaussianNB(noise="uniform"), IRIS, "noise must be one of"),
        (DPCategoricalNB(n_categories=[2, 3]), CODES, "one for each of the 4 features"),
        (DPCategoricalNB(n_categories=0), CODES, "n_categories must be a positive integer"),
        (DPMixedNB(bounds=(0, 8)), FRAME, "^column 1 holds text: name the values"),
        (DPMixedNB(categories={"width": [0]}), FRAME, "names or numbers of columns"),
        (DPMixedNB(categories={"wide": []}), FRAME, "must be different values, at least one"),
        (DPMixedNB(categories={"wide": [0]}, bounds={"long": (0, 8)}), FRAME, "must name just"),
    ],
)
def test_bad_public_input_is_settled_without_the_budget(model, X, message):
    budget = PrivacyBudget(2.0, 1e-5)
    with pytest.raises(ValueError, match=message) as error:
        model.set_params(budget=budget).fit(X, SPECIES)
    assert "Nothing was spent." in str(error.value)
    assert budget.spent.epsilon == 0.0


def test_values_outside_are_clipped_or_left_out_and_never_refused():
    far = np.vstack([IRIS, [[1e300, -1e300, 0.0, 1e5]]])
    y = np.append(SPECIES, 0)
    model = DPGaussianNB(bounds=BOUNDS, random_state=0).fit(far, y)
    assert np.isfinite(model.predict_log_proba(far)).all()
    codes = np.vstack([CODES, [[-7, 99, 3, 2]]])
    model = DPCategoricalNB(n_categories=9, random_state=0).fit(codes, y)
    assert np.isfinite(model.predict_log_proba(codes)).all()
    frame = pd.concat([FRAME, FRAME.iloc[:1].assign(wide="unheard of")])
    model = DPMixedNB(**MIXED, random_state=0).fit(frame, y)
    assert np.isfinite(model.predict_log_proba(frame)).all()


def test_a_frame_of_another_library():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(FRAME.to_dict("list"))
    ours, theirs = (DPMixedNB(**MIXED, random_state=0).fit(X, SPECIES) for X in (frame, FRAME))
    np.testing.assert_array_equal(ours.theta_, theirs.theta_)
    np.testing.assert_array_equal(ours.predict(frame), theirs.predict(FRAME))
