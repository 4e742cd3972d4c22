"""Standard errors, intervals, tests and tables of private fits."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skdp import DPHuberRegressor, DPLinearRegression, DPLogisticRegression
from skdp._private_fit import PaidWarning
from skdp.linear_model._intervals import Curvature
from skdp.linear_model._standard_errors import MatrixRelease
from skdp.preprocessing import BoundsScaler

rng = np.random.default_rng(0)
N = 4000
X = rng.uniform(-0.5, 0.5, size=(N, 3))
BETA = np.array([1.0, -1.5, 0.0])
LABELS = (rng.random(N) < 1.0 / (1.0 + np.exp(0.3 - X @ BETA))).astype(int)
NUMBERS = 10.0 + 4.0 * X @ BETA + (0.5 + np.abs(X[:, 0])) * rng.normal(size=N)
BOUNDS = {"target_bounds": (-10.0, 30.0)}
ROWS = np.column_stack([X, np.ones(N)])
WITHOUT = float("inf")


def sandwich(bread, middle):
    inverse = np.linalg.inv(bread)
    return inverse @ middle @ inverse


def close(found, wanted, **more):
    np.testing.assert_allclose(found, wanted, **{"rtol": 1e-3, "atol": 1e-7} | more)


# Without privacy: the textbook.


@pytest.mark.parametrize("kind", [True, "robust"])
def test_logistic_without_privacy_is_maximum_likelihood(kind):
    model = DPLogisticRegression(epsilon=WITHOUT, standard_errors=kind).fit(X, LABELS)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(ROWS.T @ (LABELS - p), 0.0, atol=0.02)
    H = (ROWS.T * (p * (1.0 - p))) @ ROWS
    middle = H if kind is True else (ROWS.T * (LABELS - p) ** 2) @ ROWS
    close(model.coef_covariance_, sandwich(H, middle))
    close(model.coef_std_error_, np.sqrt(np.diag(sandwich(H, middle)))[None, :3])
    assert not model.coef_noise_std_.any()


@pytest.mark.parametrize("kind", [True, "robust"])
def test_least_squares_without_privacy_is_ols(kind):
    model = DPLinearRegression(**BOUNDS, epsilon=WITHOUT, standard_errors=kind, solver="adassp")
    model.fit(X, NUMBERS)
    theta, rss = np.linalg.lstsq(ROWS, NUMBERS)[:2]
    close(np.append(model.coef_, model.intercept_), theta)
    G, r = ROWS.T @ ROWS, NUMBERS - ROWS @ theta
    middle = rss / (N - 4) * G if kind is True else (ROWS.T * r**2) @ ROWS
    close(model.coef_covariance_, sandwich(G, middle))


@pytest.mark.parametrize("Model", [DPLinearRegression, DPHuberRegressor])
def test_a_regression_whose_residuals_are_not_clipped_is_ols(Model):
    loss = {"slope_bound": 1.0} if Model is DPLinearRegression else {"threshold": 1.0}
    model = Model(**BOUNDS, **loss, epsilon=WITHOUT, standard_errors="robust").fit(X, NUMBERS)
    theta = np.linalg.lstsq(ROWS, NUMBERS)[0]
    r = NUMBERS - ROWS @ theta
    close(np.append(model.coef_, model.intercept_), theta)
    close(model.coef_covariance_, sandwich(ROWS.T @ ROWS, (ROWS.T * r**2) @ ROWS))
    assert "0% of the residuals were clipped" in str(model.summary())


@pytest.mark.parametrize("neighboring", ["replace_one", "add_remove_one"])
@pytest.mark.parametrize("kind", [True, "robust"])
def test_a_warning_says_if_residuals_are_clipped(kind, neighboring):
    """Of targets that are 0 or 1, a slope of .2 was .05. The noise in the share is below .02."""
    rng = np.random.default_rng()
    X = rng.uniform(-1.0, 1.0, size=(10_000, 2))
    y = (rng.random(len(X)) < 0.3 + 0.2 * X[:, 0]).astype(float)
    terms = {"epsilon": 3.0, "standard_errors": kind, "neighboring": neighboring}
    model = DPLinearRegression(**terms, target_bounds=(0, 1), data_norm=2**0.5)
    with pytest.warns(PaidWarning, match=r"At least \d+% of the residuals were clipped"):
        model.fit(X, y)
    (note,) = [one for one in model.summary().notes if "residuals" in one]
    assert 25 < float(note.split("%")[0].split()[-1]) < 36
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        low, high = clone(model).set_params(slope_bound=2.0).fit(X, y).coef_interval(0.999)
    assert low[0] < 0.2 < high[0]


def test_groups_give_cluster_robust_errors():
    codes = rng.integers(0, 500, size=N)
    counts = np.bincount(codes)[codes]
    model = DPLogisticRegression(epsilon=WITHOUT, standard_errors=True, max_rows=100)
    p = model.fit(X, LABELS, groups=codes).predict_proba(X)[:, 1]
    H = (ROWS.T * (p * (1.0 - p) / counts)) @ ROWS
    sums = np.zeros((500, 4))
    np.add.at(sums, codes, ((p - LABELS) / counts)[:, None] * ROWS)
    close(model.coef_covariance_, sandwich(H, sums.T @ sums))
    assert "cluster-robust" in str(model.summary())


def test_weights_give_robust_errors():
    weights = rng.uniform(0.0, 2.0, size=N)
    model = DPLogisticRegression(epsilon=WITHOUT, standard_errors=True, max_weight=2.0)
    p = model.fit(X, LABELS, sample_weight=weights).predict_proba(X)[:, 1]
    H = (ROWS.T * (weights * p * (1.0 - p))) @ ROWS
    middle = (ROWS.T * (weights * (p - LABELS)) ** 2) @ ROWS
    close(model.coef_covariance_, sandwich(H, middle))


def test_collinear_columns_are_not_identified():
    model = DPLogisticRegression(epsilon=WITHOUT, standard_errors=True)
    model.fit(np.column_stack([X, X[:, 1]]), LABELS)
    assert np.array_equal(np.isnan(model.coef_std_error_[0]), [False, True, False, True])
    assert "not identified" in str(model.summary())
    assert np.isnan(model.wald_test(["x1", "x3"]).pvalue)
    assert np.isfinite(model.wald_test(["x0", "x2"]).pvalue)


# Formulas.


def test_the_noise_of_a_matrix_times_a_vector_has_the_covariance_of_the_formula():
    """Each of six entries is a mean of 40,000; five standard errors fail with chance 4e-6."""
    random, v = np.random.default_rng(1), np.array([1.0, -2.0, 0.5])
    release = MatrixRelease(1.0, 2.0)
    found = np.array([release.release(np.zeros((3, 3)), random) @ v for _ in range(40_000)])
    wanted = release.covariance_of_product(v)
    spread = np.sqrt((np.outer(np.diag(wanted), np.diag(wanted)) + wanted**2) / len(found))
    assert (np.abs(found.T @ found / len(found) - wanted) < 5.0 * spread).all()


def test_the_bias_of_a_noisy_inverse_is_that_of_the_formula():
    random, H, scale = np.random.default_rng(2), np.diag([30.0, 50.0, 80.0]), 3.0
    release = MatrixRelease(1.0, scale)
    inverses = [np.linalg.inv(release.release(H, random)) @ H for _ in range(20_000)]
    wanted = np.eye(3) + Curvature.of(H, 1e-9).bias_of_inverse(scale)
    assert np.abs(np.mean(inverses, axis=0) - wanted).max() < 0.005


@pytest.mark.parametrize("d", [1, 3, 30])
def test_directions_without_curvature_are_mostly_found(d):
    """Noise alone passes for curvature in 1 % of matrices, or less; 20 of 400 have chance 4e-8."""
    random, release = np.random.default_rng(), MatrixRelease(1.0, 2.0)
    missed = 0
    for _ in range(400):
        exact = np.diag(np.append(np.zeros(d), 1000.0))
        found = Curvature.of(release.release(exact, random), release.scale)
        assert not found.is_weak[-1]
        missed += not found.is_weak[:-1].all()
    assert missed < 20


# Noise.


FITS = 60
KINDS = [
    (DPLogisticRegression(), LABELS),
    (DPHuberRegressor(**BOUNDS), NUMBERS),
    (DPLinearRegression(**BOUNDS, solver="adassp"), NUMBERS),
]
every_kind = pytest.mark.parametrize(("model", "y"), KINDS, ids=["logistic", "huber", "linear"])


@every_kind
def test_fits_to_the_same_rows_vary_as_their_noise_does(model, y):
    """Of 60 fits the squared deviations are chi-squared; each bound fails with chance 1e-7.

    The noise of the matrices adds up to 10 % of a standard error.
    """
    exact = clone(model).set_params(epsilon=WITHOUT, standard_errors=True).fit(X, y).coef_.ravel()
    model = clone(model).set_params(standard_errors=True, epsilon=3.0)
    z = np.empty((FITS, 3))
    for k in range(FITS):
        fit = model.fit(X, y)
        z[k] = (fit.coef_.ravel() - exact) / fit.coef_noise_std_.ravel()
    least, most = stats.chi2.ppf([1e-7, 1.0 - 1e-7], FITS)
    squares = (z**2).sum(axis=0)
    assert (least / 1.1**2 < squares).all()
    assert (squares < most * 1.1**2).all()


@pytest.mark.slow
@every_kind
def test_intervals_cover_the_population_as_often_as_they_say(model, y):
    """Coverage of 250 samples at .9; binomial counts are outside with chance 1e-7, and 2 % more."""
    random = np.random.default_rng()
    model = clone(model).set_params(standard_errors=True, epsilon=1.0)
    truth = BETA if model.__class__ is DPLogisticRegression else 4.0 * BETA
    hits, n_samples = np.zeros(3), 250
    for _ in range(n_samples):
        rows = random.uniform(-0.5, 0.5, size=(N, 3))
        score = rows @ BETA
        if model.__class__ is DPLogisticRegression:
            target = (random.random(N) < 1.0 / (1.0 + np.exp(0.3 - score))).astype(int)
        else:
            target = 10.0 + 4.0 * score + random.normal(size=N)
        low, high = model.fit(rows, target).coef_interval(0.9)
        hits += ((low <= truth) & (truth <= high)).ravel()
    least = stats.binom.ppf(1e-7, n_samples, 0.88)
    most = stats.binom.ppf(1.0 - 1e-7, n_samples, 0.92)
    assert (least <= hits).all()
    assert (hits <= most).all()


def test_too_much_noise_is_said_and_not_guessed():
    model = DPLogisticRegression(epsilon=0.01, standard_errors=True).fit(X[:500], LABELS[:500])
    assert np.isnan(model.coef_std_error_).all()
    assert np.isnan(model.coef_covariance_).all()
    assert np.isnan(model.coef_interval()[0]).all()
    assert "not identified at this epsilon" in str(model.summary())


# What is shown.


@pytest.fixture(scope="module")
def logistic():
    frame = pd.DataFrame(X, columns=["age", "income", "height"])
    return DPLogisticRegression(standard_errors=True, epsilon=3.0).fit(frame, LABELS)


@pytest.mark.parametrize("way", ["rows", "persons", "weights", "classes"])
def test_a_ridge_that_outweighs_a_rare_class_leaves_no_intervals(way, rng):
    """The step of the correction is 2.8 in log-odds on average, and 1.2 is the most."""
    X = rng.normal(size=(4000, 2))
    y = (rng.random(4000) < 1.0 / (1.0 + np.exp(5.0 - X @ [1.5, -1.0]))).astype(int)
    asked = {"weights": {"max_weight": 1.0}, "classes": {"class_weight": {0: 0.9, 1: 1.0}}}
    given = {"persons": {"groups": np.arange(4000)}, "weights": {"sample_weight": np.ones(4000)}}
    model = DPLogisticRegression(
        epsilon=4.5, delta=1e-5, classes=[0, 1], standard_errors=True, data_norm=2.0,
        random_state=0, **asked.get(way, {}),
    )  # fmt: skip
    low, high = model.fit(X, y, **given.get(way, {})).coef_interval()
    assert np.isnan([low, high]).all()
    assert "outweighs the rarer class" in model.summary().as_text()


def test_intervals_are_normal_and_have_the_shape_of_the_coefficients(logistic):
    low, high = logistic.coef_interval(0.8)
    half = stats.norm.ppf(0.9) * logistic.coef_std_error_
    close(low, logistic.coef_ - half)
    close(high, logistic.coef_ + half)
    low, high = logistic.coef_interval(0.8, sampling=False)
    close(high - low, 2.0 * stats.norm.ppf(0.9) * logistic.coef_noise_std_)
    assert (logistic.coef_noise_std_ < logistic.coef_std_error_).all()
    close(np.sqrt(np.diag(logistic.coef_covariance_))[:3], logistic.coef_std_error_[0])


def test_a_summary_has_the_columns_of_statsmodels(logistic):
    frame = logistic.summary(level=0.9).to_frame()
    assert list(frame.index) == ["Intercept", "age", "income", "height"]
    assert {"coef", "std err", "z", "P>|z|", "[0.05", "0.95]"} <= set(frame.columns)
    ages = frame.loc["age"]
    close(ages["z"], ages["coef"] / ages["std err"])
    close(ages["P>|z|"], 2.0 * stats.norm.sf(abs(ages["z"])))
    close(ages["std err"], math.hypot(ages["sampling"], ages["noise"]))
    close(frame.loc["Intercept", "coef"], logistic.intercept_[0])


def test_a_summary_prints_as_text_and_as_html(logistic):
    summary = logistic.summary()
    for shown in (str(summary), repr(summary), summary.as_html(), summary._repr_html_()):
        assert "income" in shown
        assert "std err" in shown
        assert "epsilon=3" in shown
    lines = summary.as_text().splitlines()
    assert len({len(line) for line in lines[6:11]}) == 1, "columns are aligned"
    assert (
        "<b>"
        not in DPLogisticRegression(standard_errors=True, epsilon=3.0)
        .fit(pd.DataFrame(X, columns=["<b>", "b", "c"]), LABELS)
        .summary()
        .as_html()
        .split("</thead>", 2)[2]
    )


BOUNDS_OF = {"age": (20.0, 60.0), "height": (100.0, 220.0)}


def frame_of(random, n=3000):
    frame = pd.DataFrame(
        {
            "age": random.uniform(20.0, 60.0, n),
            "height": random.uniform(100.0, 220.0, n),
            "region": random.choice(["north", "south", "west"], n),
        }
    )
    score = 0.05 * (frame.age - 40.0) + 0.5 * (frame.region == "south")
    return frame, (random.random(n) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def test_a_scaler_in_front_gives_coefficients_in_its_units():
    frame, y = frame_of(rng)
    columns = frame[["age", "height"]]
    model = DPLogisticRegression(standard_errors=True, epsilon=WITHOUT, data_norm=2.0)
    pipeline = make_pipeline(BoundsScaler(bounds=BOUNDS_OF), model).fit(columns, y)
    A, theta = np.column_stack([np.ones(len(y)), columns]), np.zeros(3)
    for _ in range(20):  # Newton's method for the columns as they are
        p = 1.0 / (1.0 + np.exp(-A @ theta))
        V = np.linalg.inv((A.T * (p * (1.0 - p))) @ A)
        theta = theta + V @ (A.T @ (y - p))
    for scaler in (pipeline[0], pipeline[:-1], pipeline):
        found = pipeline[-1].summary(scaler=scaler).to_frame()
        assert list(found.index) == ["Intercept", "age", "height"]
        close(found["coef"], theta, rtol=0.01, atol=1e-4)
        close(found["std err"], np.sqrt(np.diag(V)), rtol=0.01)
    test = pipeline[-1].wald_test(["age"], value=0.05, scaler=pipeline[0])
    age = found.loc["age"]
    close(test.statistic, ((age["coef"] - 0.05) / age["std err"]) ** 2)


def test_an_intercept_carries_the_center_of_a_scaler():
    frame, y = frame_of(rng)
    model = DPLogisticRegression(standard_errors=True, fit_intercept=False, data_norm=2.0)
    pipeline = make_pipeline(BoundsScaler(bounds=BOUNDS_OF), model).fit(frame[["age", "height"]], y)
    assert list(pipeline[-1].summary().to_frame().index) == ["x0", "x1"]
    with pytest.raises(ValueError, match="fit_intercept=True"):
        pipeline[-1].summary(scaler=pipeline[0])


def test_features_name_categories_by_level_and_keep_units():
    frame, y = frame_of(rng)
    regions = [["north", "south", "west"]]
    coded = OneHotEncoder(
        categories=regions, drop="first", handle_unknown="ignore", sparse_output=False
    )
    features = make_column_transformer(
        (BoundsScaler(bounds=BOUNDS_OF), ["age", "height"]),
        (coded, ["region"]),
        verbose_feature_names_out=False,
    )
    model = DPLogisticRegression(
        standard_errors=True, epsilon=WITHOUT, data_norm=2.0, features=features
    )
    found = model.fit(frame, y).summary().to_frame()
    assert list(found.index) == ["Intercept", "age", "height", "region_south", "region_west"]
    assert abs(found.loc["age", "coef"] - 0.05) < 0.02
    assert abs(found.loc["region_south", "coef"] - 0.5) < 0.6
    assert model.wald_test(["region_south", "region_west"]).df == 2


def test_a_scaler_of_other_columns_is_refused(logistic):
    scaler = BoundsScaler(bounds=(0.0, 1.0)).fit(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="2 columns"):
        logistic.summary(scaler=scaler)


def test_units_of_several_transformers_are_unknown(logistic):
    scaler = BoundsScaler(bounds=(0.0, 1.0)).fit(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="several transformers"):
        logistic.summary(scaler=make_pipeline(scaler, scaler))


# Wald tests.


def test_a_wald_test_is_that_of_its_matrix(logistic):
    found = logistic.wald_test(["age", "income"])
    coef, V = logistic.coef_[0, :2], logistic.coef_covariance_[:2, :2]
    close(found.statistic, coef @ np.linalg.solve(V, coef))
    close(found.pvalue, stats.chi2.sf(found.statistic, 2), rtol=1e-9)
    assert found == logistic.wald_test([0, 1]) == logistic.wald_test(np.eye(4)[:2])
    assert logistic.wald_test().df == 3
    assert logistic.wald_test("Intercept").df == 1
    difference = logistic.wald_test([[1.0, -1.0, 0.0, 0.0]], value=[2.5])
    assert difference.df == 1
    assert difference.pvalue > 1e-9


@pytest.mark.parametrize(
    ("hypothesis", "message"),
    [
        (["weight"], "Unknown coefficient 'weight'"),
        ([7], "from 0 to 3"),
        ([0, 0], "once"),
        ([], "once"),
        (np.ones((1, 3)), "4 finite columns"),
        (np.ones((2, 4)), "independent"),
        (np.ones((0, 4)), "must have rows"),
    ],
)
def test_a_wrong_hypothesis_is_refused(logistic, hypothesis, message):
    with pytest.raises(ValueError, match=message):
        logistic.wald_test(hypothesis)


@pytest.mark.parametrize("value", [np.nan, np.inf, [1.0, 2.0, 3.0]])
def test_a_wrong_value_of_a_hypothesis_is_refused(logistic, value):
    with pytest.raises(ValueError, match="finite number, or one for each of 2 rows"):
        logistic.wald_test([0, 1], value=value)


def test_fits_without_standard_errors_say_which_parameter_to_set():
    model = DPLogisticRegression().fit(X, LABELS)
    for call in (model.summary, model.wald_test, model.coef_interval):
        with pytest.raises(ValueError, match="standard_errors=True"):
            call()
    model.set_params(solver="output_perturbation").fit(X, LABELS)
    with pytest.raises(ValueError, match="standard_errors=True"):
        model.coef_interval(sampling=True)


def test_a_refit_without_them_drops_them():
    model = DPLogisticRegression(standard_errors=True).fit(X, LABELS)
    model.set_params(standard_errors=False).fit(X, LABELS)
    assert not hasattr(model, "coef_std_error_")
    with pytest.raises(ValueError, match="standard_errors=True"):
        model.summary()
