"""Whole fits with random waves: their phases are part of the public map, wherever rows are."""

import pickle

import numpy as np
import pandas as pd
import pytest

from skdp import DPLogisticRegression, DPTabularClassifier, DPTabularRegressor
from skdp.design import ForestDesign, design_kind
from skdp.features import AdditiveFeatures, FeatureMixture, RandomFourierFeatures

BOX = {"bounds": (0, 1)}
NOISY = {"random_state": 0, "epsilon": 3.0}
CLASSES = {"classes": [0, 1], **NOISY}
WAVES = RandomFourierFeatures(**BOX, n_components=41)
MIXTURE = FeatureMixture(additive=AdditiveFeatures(**BOX), random=WAVES)
LINES = FeatureMixture(additive=AdditiveFeatures(**BOX, linear_share=1.0), random=WAVES)
MODELS = {
    "tabular": DPTabularClassifier(**BOX, **CLASSES),
    "mixture": DPLogisticRegression(features=MIXTURE, **CLASSES),
    "with a center": DPLogisticRegression(features=MIXTURE, center=True, **CLASSES),
    "waves": DPLogisticRegression(features=WAVES, **CLASSES),
    "without privacy": DPTabularClassifier(**BOX, **CLASSES | {"epsilon": np.inf}),
    "waves with a center": DPLogisticRegression(features=WAVES, center=True, **CLASSES),
}
X = np.random.default_rng(0).random((18_500, 3))
Y = (X[:, 0] * X[:, 1] > 0.3).astype(int)


@pytest.mark.parametrize("name", MODELS)
def test_predictions_read_the_phases_of_the_fit(name):
    """Rows that differ by less than a step of any wave or column have the same score.

    The features are fixed by public seeds, and the rows by theirs, so no noise decides.
    """
    model, rows = MODELS[name].fit(X[:5000], Y[:5000]), X[:2000]
    there = model._scores(rows)
    assert (model._scores(rows + 1e-9) == there).mean() > 0.99
    assert np.unique(there).size > 1900
    for same in (pickle.loads(pickle.dumps(model)), model):
        np.testing.assert_array_equal(same._scores(rows), there)
        np.testing.assert_array_equal(same._scores(pd.DataFrame(rows)), there)
    alone = [model._scores(rows[k : k + 1])[0, 0] for k in range(20)]
    np.testing.assert_allclose(alone, there[:20, 0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("features", [MIXTURE, LINES, WAVES], ids=["curves", "lines", "alone"])
def test_scores_of_the_fit_are_those_of_predictions(features):
    model = DPLogisticRegression(features=features, center=False, **CLASSES).fit(X, Y)
    read = model.feature_map_.for_fits()
    kind = design_kind(read)
    assert (kind is ForestDesign) == (features is MIXTURE)
    scores = kind.clip(X, read, model.data_norm_).scores(model.coef_.T) + model.intercept_
    np.testing.assert_allclose(model._scores(X), scores, rtol=1e-10, atol=1e-11)


@pytest.mark.usefixtures("one_thread")
def test_blocks_give_the_bits_of_memory():
    """The last of the blocks that are summed has so few rows that it is kept as features."""
    da = pytest.importorskip("dask.array")
    model = DPTabularRegressor(target_bounds=(0, 1), solver="noisy_gd", **NOISY, **BOX)
    whole = model.fit(X, Y).coef_
    assert isinstance(model.features_, FeatureMixture)
    there = da.from_array(X, chunks=(5000, 3)), da.from_array(Y, chunks=5000)
    np.testing.assert_array_equal(model.fit(*there).coef_, whole)


def test_batches_of_arrow_give_the_bits_of_memory():
    pa, ds = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.dataset")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    read = ds.dataset(pa.Table.from_pandas(frame.assign(y=Y))).scanner(batch_size=3000)
    model = DPTabularClassifier(**BOX, **CLASSES, solver="noisy_gd")
    whole = model.fit(frame, Y).coef_
    np.testing.assert_array_equal(model.fit(read, "y").coef_, whole)
