"""What a scikit-learn user may pass, and what comes back."""

import numpy as np
import pytest
from linear_models import CLASSIFIERS, every_model
from scipy import sparse
from sklearn.datasets import make_blobs

from skdp import DPHingeClassifier, DPLogisticRegression

every_classifier = pytest.mark.parametrize("Model", CLASSIFIERS)
both_sizes = pytest.mark.parametrize("n_classes", [2, 3])


def data(n_classes=2, n=300):
    """Well separated blobs inside the unit ball."""
    angles = np.arange(n_classes) * 2 * np.pi / n_classes
    centers = 0.7 * np.column_stack([np.cos(angles), np.sin(angles)])
    X, y = make_blobs(n, centers=centers, cluster_std=0.05, random_state=0)[:2]
    return X, y


@every_classifier
@both_sizes
def test_easy_data_are_learned(Model, n_classes, neighboring):
    X, y = data(n_classes)
    model = Model(epsilon=10.0, neighboring=neighboring, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.privacy_.neighboring == neighboring


@pytest.mark.parametrize(
    ("Model", "n_classes", "convert"),
    [
        (DPLogisticRegression, 2, sparse.csr_matrix),
        (DPLogisticRegression, 3, sparse.csc_matrix),
        (DPHingeClassifier, 2, sparse.coo_array),
        (DPHingeClassifier, 3, sparse.csr_array),
    ],
)
def test_sparse_input_gives_the_dense_fit(Model, n_classes, convert):
    X, y = data(n_classes)
    dense = Model(random_state=0, center=False).fit(X, y)
    model = Model(random_state=0, center=False).fit(convert(X), y)
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        model.decision_function(convert(X)), model.decision_function(X), atol=1e-12
    )


@every_classifier
def test_public_classes_need_not_occur(Model):
    X, y = data(2)
    model = Model(classes=[2, 0, 1], random_state=0).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.coef_.shape == (3, 2)
    lonely = Model(classes=[0, 1], random_state=0).fit(X, np.zeros(len(X), dtype=int))
    assert lonely.coef_.shape == (1, 2)


@both_sizes
def test_probabilities_agree_with_scores(n_classes):
    X, y = data(n_classes)
    model = DPLogisticRegression(random_state=0).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X))
    assert (model.classes_[p.argmax(axis=1)] == model.predict(X)).all()


@every_classifier
def test_without_an_intercept_there_is_none(Model):
    X, y = data()
    assert Model(fit_intercept=False, random_state=0).fit(X, y).intercept_.tolist() == [0.0]


@every_classifier
def test_prediction_clips_rows_as_the_fit_does(Model):
    X, y = data()
    model = Model(random_state=0).fit(X, y)
    far = 1e6 * np.array([[3.0, 4.0]])
    np.testing.assert_allclose(
        model.decision_function(far), model.decision_function([[0.6, 0.8]]), rtol=1e-9
    )


@every_classifier
def test_more_weight_on_a_class_wins_it_more_rows(Model):
    X, y = data()
    X = 0.05 * X  # hard to tell apart
    model = Model(epsilon=3.0, class_weight={1: 20.0}, random_state=0).fit(X, y)
    assert (model.predict(X) == 1).mean() > 0.7


@every_model
def test_a_far_wrong_hint_is_private_and_still_ends(Model):
    X, y = data()
    for hint in (30, 30_000):
        model = Model(neighboring="add_remove_one", n_samples_hint=hint, random_state=0)
        assert model.fit(X, y).privacy_.epsilon(1e-5) <= 1.0
    many = np.random.default_rng(0).normal(size=(5000, 5))
    model = Model(neighboring="add_remove_one", n_samples_hint=750, random_state=0)
    assert model.fit(many, (many[:, 0] > 0).astype(int)).n_iter_ >= 32


@every_model
def test_a_hint_of_more_rows_than_there_can_be_costs_nothing(Model):
    """Past 1e308 it is no float, which came to light only after the spend."""
    X, y = data()
    model = Model(neighboring="add_remove_one", n_samples_hint=10**400)
    with pytest.raises(ValueError, match=r"n_samples_hint"):
        model.fit(X, y)
    assert model.set_params(n_samples_hint=10**14).fit(X, y).privacy_.epsilon(1e-5) <= 1.0
    assert model.n_iter_ < 50_000  # the noise for rounding errors of as many rows would need 6e6


@pytest.mark.parametrize("smoothing", [0.05, 0.2])
def test_sharp_bends_with_repeated_rows_end(smoothing):
    X = np.random.default_rng(0).integers(0, 2, (2000, 3)).astype(float)
    model = DPHingeClassifier(epsilon=20.0, smoothing=smoothing, random_state=0)
    assert model.fit(X, X[:, 0].astype(int)).score(X, X[:, 0].astype(int)) > 0.9


@pytest.mark.parametrize("smoothing", [0.0, 0.01, -1.0, float("nan"), "wide"])
def test_a_bend_too_sharp_to_bound_the_run_time_is_refused(smoothing):
    with pytest.raises(ValueError, match="smoothing"):
        DPHingeClassifier(smoothing=smoothing).fit(*data())


@pytest.mark.slow
@every_classifier
def test_many_columns_need_no_square_matrix(Model):
    X = sparse.random(300, 50_000, density=4e-4, format="csr", random_state=0)
    model = Model(random_state=0).fit(X, np.arange(300) % 2)
    assert model.coef_.shape == (1, 50_000)


@every_classifier
def test_sparse_input_is_left_as_it_was(Model):
    X = sparse.csr_matrix((np.ones(6), np.array([0, 0, 1, 1, 0, 1]), [0, 2, 4, 6]), shape=(3, 2))
    for part in (X.data, X.indices, X.indptr):
        part.setflags(write=False)
    Model(classes=[0, 1], random_state=0).fit(X, [0, 1, 0]).predict(X)
    assert X.nnz == 6


@every_model
def test_huge_finite_values_are_clipped_or_refused(Model):
    X, y = data()
    assert np.isfinite(Model(random_state=0).fit(1e90 * X, y).coef_).all()
    with pytest.raises(ValueError, match="counts as infinity"):
        Model().fit(1e120 * X, y)
