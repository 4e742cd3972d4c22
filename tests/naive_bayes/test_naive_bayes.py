"""Naive Bayes: without noise it is scikit-learn's, with noise it spends first and tells no more."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from skdp.exceptions import FewRowsWarning
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
    "categorical": (DPCategoricalNB(categories=range(9)), CODES),
    "mixed": (DPMixedNB(**MIXED), FRAME),
}
every_kind = pytest.mark.parametrize(("model", "X"), FITS.values(), ids=FITS)
PUBLIC = {"classes_", "n_features_in_", "feature_names_in_", "privacy_", "_totals_"}
RELEASED = {"class_count_", "class_prior_", "theta_", "var_", "feature_log_prob_"}


def test_without_privacy_numbers_are_those_of_scikit_learn():
    model, reference = DPGaussianNB(epsilon=math.inf, bounds=(0, 1)), GaussianNB()
    ours, theirs = (one.fit(IRIS, SPECIES).predict_proba(IRIS) for one in (model, reference))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_without_privacy_categories_are_those_of_scikit_learn():
    model = DPCategoricalNB(epsilon=math.inf, categories=range(9))
    reference = CategoricalNB(min_categories=9)
    ours, theirs = (one.fit(CODES, SPECIES).predict_proba(CODES) for one in (model, reference))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_mixed_columns_are_the_two_kinds_side_by_side():
    mixed = DPMixedNB(epsilon=math.inf, **MIXED).fit(FRAME, SPECIES)
    numbers = DPGaussianNB(epsilon=math.inf).fit(FRAME[["long", "sepal"]], SPECIES)
    codes = (FRAME[["wide"]] == "yes").astype(int)
    categories = DPCategoricalNB(epsilon=math.inf, categories=[0, 1]).fit(codes, SPECIES)
    parts = numbers.predict_joint_log_proba(FRAME[["long", "sepal"]])
    parts = parts + categories.predict_joint_log_proba(codes) - np.log(mixed.class_prior_)
    np.testing.assert_allclose(mixed.predict_joint_log_proba(FRAME), parts, rtol=1e-9)


def test_a_variance_is_never_less_than_its_noise(neighboring):
    rows, labels = np.full((2000, 12), 0.2), np.arange(2000) % 2
    model = DPGaussianNB(epsilon=0.3, bounds=(-1, 1), neighboring=neighboring)
    first = model.partial_fit(rows, labels, classes=[0, 1])._totals_.noise
    assert model.var_.min() > 2.0 * model.least_variance
    both = model.partial_fit(rows, labels)._totals_.noise
    assert both == pytest.approx({name: 2.0 * square for name, square in first.items()})
    assert model.var_.min() > 2.0 * model.least_variance


@every_kind
def test_nothing_but_released_and_public_attributes(model, X):
    model = clone(model).fit(X, SPECIES)
    assert {name for name in vars(model) if name.endswith("_")} <= PUBLIC | RELEASED
    types = {"_column_types"}  # of columns, which are public
    assert set(vars(model)) - set(model.get_params()) - types <= PUBLIC | RELEASED


NAMED = r"^column 'wide' contains strings, not numbers\. Name .* categories={'wide': \[...\]}"
WIDE = {"categories": {"wide": [0]}, "bounds": {"long": (0, 8), "wide": (0, 1)}}
TWICE = FRAME.set_axis(["one", "one", "two"], axis=1)


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (DPGaussianNB(bounds=([1, 2, 3, 4], [0, 5, 6, 7])), IRIS, "bounds of column .* reversed"),
        (DPGaussianNB(bounds=(0, math.inf)), IRIS, "must be finite"),
        (DPGaussianNB(bounds=BOUNDS, least_variance=0.0), IRIS, "least_variance must be"),
        (DPGaussianNB(bounds=BOUNDS, priors=[0.5, 0.5]), IRIS, "priors must be 3 positive numbers"),
        (DPGaussianNB(noise="uniform"), IRIS, "noise must be one of"),
        (DPGaussianNB(), IRIS, "bounds must be given"),
        (DPGaussianNB(bounds={0: (0, 8)}), IRIS, "no pair for the columns"),
        (DPGaussianNB(bounds=BOUNDS, max_weight=0.0), IRIS, "max_weight must be"),
        (DPCategoricalNB(), CODES, "categories must be given"),
        (DPCategoricalNB(categories={0: [2, 3]}), CODES, r"\[1, 2, 3\] have none"),
        (DPCategoricalNB(categories=5), CODES, "categories must be a list"),
        (DPCategoricalNB(categories=[1, None]), CODES, "none missing"),
        (DPMixedNB(bounds=(0, 8)), FRAME, NAMED),
        (DPMixedNB(categories={"width": [0]}, bounds=(0, 8)), FRAME, "Unknown columns in"),
        (DPMixedNB(categories={"wide": []}, bounds=(0, 8)), FRAME, "different values, at least"),
        (DPGaussianNB(bounds=(0, 8)), FRAME, r"^column 'wide' .* not numbers\.(?! Name)"),
        (DPMixedNB(**WIDE), FRAME, r"no pair for the columns \['sepal'\]. Add"),
        (DPMixedNB(bounds=(0, 8)), TWICE, r"X has several columns of one name, \['one'\]"),
    ],
)
def test_bad_public_input_is_settled_without_the_budget(model, X, message, unspent):
    with pytest.raises(ValueError, match=rf"(?s)({message}).*Nothing was spent"):
        model.set_params(budget=unspent).fit(X, SPECIES)


def test_values_outside_are_clipped_or_left_out_and_never_refused():
    far = np.vstack([IRIS, [[1e300, -1e300, 0.0, 1e5]]])
    y = np.append(SPECIES, 0)
    model = DPGaussianNB(bounds=BOUNDS, random_state=0).fit(far, y)
    assert np.isfinite(model.predict_log_proba(far)).all()
    codes = np.vstack([CODES, [[-7, 99, 3, 2]]])
    model = DPCategoricalNB(categories=range(9), random_state=0).fit(codes, y)
    assert np.isfinite(model.predict_log_proba(codes)).all()
    frame = pd.concat([FRAME, FRAME.iloc[:1].assign(wide="unheard of")])
    model = DPMixedNB(**MIXED, random_state=0).fit(frame, y)
    assert np.isfinite(model.predict_log_proba(frame)).all()


@pytest.mark.slow
def test_class_sizes_are_projected_on_a_public_number_of_rows():
    """Three classes: the sum is n, and deviations are √(2/3) of the noise that is asked for.

    The standard deviation of 600 fits is within 15 % of it but for one run in a million (5 σ).
    """
    y = np.repeat([0, 1, 2], 3000)
    X = np.zeros((y.size, 1))
    model = DPGaussianNB(bounds=(-1, 1), noise="gaussian", classes=[0, 1, 2])
    fits = [clone(model).set_params(random_state=i).fit(X, y) for i in range(600)]
    sizes = np.array([fit.class_count_ for fit in fits])
    np.testing.assert_allclose(sizes.sum(axis=1), y.size)
    sigma = 2.0 / fits[0].privacy_.gdp_mu * math.sqrt(2.0 / 3.0)
    assert sizes[:, 0].std() == pytest.approx(sigma, rel=0.15)
    private = clone(model).set_params(neighboring="add_remove_one", random_state=0).fit(X, y)
    assert private.class_count_.sum() != y.size


def test_weights_without_privacy_are_those_of_scikit_learn():
    weights = np.random.default_rng(0).uniform(0.0, 3.0, len(IRIS))
    pairs = [
        (DPGaussianNB(epsilon=math.inf), GaussianNB(), IRIS),
        (
            DPCategoricalNB(epsilon=math.inf, categories=range(9)),
            CategoricalNB(min_categories=9),
            CODES,
        ),
    ]
    for ours, theirs, X in pairs:
        probabilities = [m.fit(X, SPECIES, weights).predict_proba(X) for m in (ours, theirs)]
        np.testing.assert_allclose(*probabilities, atol=1e-6)


@every_kind
def test_weights_need_a_public_largest_one(model, X, unspent):
    weights = np.ones(len(X))
    model = clone(model).set_params(budget=unspent)
    with pytest.raises(ValueError, match=r"needs max_weight.*Nothing was spent\."):
        model.fit(X, SPECIES, sample_weight=weights)
    weights[:75] = 0.0
    few = model.set_params(max_weight=2.0, epsilon=1000.0, budget=None).fit(X, SPECIES, weights)
    np.testing.assert_allclose(few.class_count_, [2.0, 25.0, 50.0], atol=4.0)
    far = model.fit(X, SPECIES, 1e300 * weights)  # clipped to 2
    np.testing.assert_allclose(far.class_count_, [2.0, 50.0, 100.0], atol=4.0)


@pytest.mark.slow
def test_a_record_of_the_largest_weight_is_told_apart_no_better_than_is_claimed(neighboring):
    """By noisy counts, of which what the record moves is Gaussian with a distance of at most μ.

    The distance in 150 fits each is off by 0.13, and is 0.6 or more: either side fails with
    probability below 1e-5. Noise for weight 1 would make it 8 times as large.
    """
    X, y, weights = np.zeros((41, 1)), np.arange(41) % 2, np.full(41, 4.0)
    y[0], weights[0] = 1, 1e9  # clipped to max_weight
    other = X, np.r_[0, y[1:]], weights
    if neighboring == "add_remove_one":
        other = X[1:], y[1:], weights[1:]
    model = DPGaussianNB(epsilon=5.0, delta=1e-5, bounds=(-1, 1), classes=[0, 1], max_weight=8.0)
    model.set_params(noise="gaussian", neighboring=neighboring)
    moved = np.array([-1, 1] if neighboring == "replace_one" else [0, 1])
    high, low = (
        np.array([model.fit(*world).class_count_ @ moved for _ in range(150)])
        for world in ((X, y, weights), other)
    )
    apart = (high.mean() - low.mean()) / np.sqrt(0.5 * (high.var() + low.var()))
    assert 0.0 < apart <= model.privacy_.gdp_mu + 0.7


NUMBERS = [1.0, 2.0, 2.0, 1.0, 3.0, None] * 30
TEXTS = ["a", "b", "b", "a", "c", None] * 30
LABELS = [0, 1, 1, 0, 1, 0] * 30
NUMERIC_TYPES = ["Int64", "Float64", "float64", "object", "category"]
TEXT_TYPES = ["string", "object", "category", "str"]


@pytest.mark.parametrize("dtype", NUMERIC_TYPES)
def test_a_missing_number_is_the_middle_of_its_bounds_in_every_type(dtype):
    frame = pd.DataFrame({"x": pd.Series(NUMBERS, dtype=dtype)})
    filled = pd.DataFrame({"x": pd.Series(NUMBERS, dtype=float).fillna(2.0)})
    ours, theirs = (
        DPGaussianNB(bounds={"x": (1, 3)}, random_state=0).fit(X, LABELS) for X in (frame, filled)
    )
    np.testing.assert_array_equal(ours.theta_, theirs.theta_)
    np.testing.assert_array_equal(ours.predict_proba(frame), theirs.predict_proba(filled))
    with pytest.raises(ValueError, match="column 'x' has missing values"):
        DPGaussianNB(epsilon=math.inf).fit(frame, LABELS)


@pytest.mark.parametrize("dtype", [*TEXT_TYPES, "Int64", "boolean"])
def test_a_missing_category_counts_in_none_in_every_type(dtype):
    known = {"Int64": [1, 2], "boolean": [True, False]}.get(dtype, ["a", "b"])
    codes = {"a": known[0], "b": known[1], "c": None, None: None}
    values = [codes[text] for text in TEXTS]
    frame = pd.DataFrame({"x": pd.Series(values, dtype=dtype), "y": NUMBERS})
    model = DPMixedNB(categories={"x": known}, bounds={"y": (1, 3)}, random_state=0)
    model.fit(frame, LABELS)
    plain = frame.assign(x=pd.Series(["?" if v is None else v for v in values], dtype=object))
    same = clone(model).fit(plain, LABELS)
    np.testing.assert_array_equal(model.feature_log_prob_[0], same.feature_log_prob_[0])
    np.testing.assert_array_equal(model.predict_proba(frame), same.predict_proba(plain))


def test_missing_labels_are_refused_without_a_value():
    for y in (pd.Series([*LABELS[:-1], None], dtype="Int64"), [*TEXTS]):
        with pytest.raises(ValueError, match=r"y has missing values|NaN"):
            DPGaussianNB(bounds=(1, 3), classes=[0, 1]).fit(np.ones((180, 1)), np.asarray(y))


def test_numbers_of_columns_may_stand_for_their_names():
    public = {"categories": {1: ["yes", "no"]}, "bounds": {0: (0, 8), 2: (4, 8)}}
    ours, theirs = (DPMixedNB(**p, random_state=0).fit(FRAME, SPECIES) for p in (public, MIXED))
    np.testing.assert_array_equal(ours.theta_, theirs.theta_)
    all_codes = DPMixedNB(categories=range(9), random_state=0).fit(CODES, SPECIES)
    alone = DPCategoricalNB(categories=range(9), random_state=0).fit(CODES, SPECIES)
    np.testing.assert_array_equal(all_codes.predict_proba(CODES), alone.predict_proba(CODES))


def test_a_huge_weight_is_clipped_without_a_warning():
    weights = np.full(len(IRIS), 1e-3)
    weights[0] = 1e308
    model = DPGaussianNB(bounds=BOUNDS, max_weight=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", FewRowsWarning)
        assert model.fit(IRIS, SPECIES, weights).class_count_.sum() < 1.0
