"""A new family of models gets Dask, persons, weights and dry runs without a line for them."""

import inspect
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import ClassifierMixin, clone

from skdp import PrivacyBudget
from skdp._private_fit import PrivateEstimator
from skdp.data.column_facts import ColumnBounds
from skdp.data.exact_sums import exact_sums
from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import ByClass, Records, check_numeric, labels_of
from skdp.data.validation import column_names, validated_numbers
from skdp.exceptions import BudgetExceededError
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import DPStandardScaler
from skdp.privacy import Unit
from skdp.workloads import Query
from skdp.workloads.plan import ROUNDED_ONCE

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


class Known(NamedTuple):
    classes: np.ndarray
    bounds: ColumnBounds


class NearestCentroid(ClassifierMixin, PrivateEstimator):
    takes_infinite_epsilon = False

    def __init__(self, *, bounds=None, classes=None, max_weight=None, epsilon=1.0, delta=None,
                 neighboring="replace_one", budget=None, random_state=None):  # fmt: skip
        self.bounds, self.classes, self.max_weight = bounds, classes, max_weight
        self.epsilon, self.delta, self.neighboring = epsilon, delta, neighboring
        self.budget, self.random_state = budget, random_state

    def fit(self, X, y, sample_weight=None, groups=None):
        return self._fit_privately(X, y, sample_weight=sample_weight, groups=groups)

    def _check_data(self, parameters, X, y, **more):
        records = Records.of(self, X, y, **more, max_weight=self.max_weight)
        records, classes = labels_of(records, "It", self.classes, check_numeric)
        bounds = ColumnBounds.of(self.bounds, self.n_features_in_, column_names(self))
        return records.with_facts(Known(classes, bounds))

    def _plan(self, parameters, records):
        """Ask for sums of numbers in [−1, 1], of each class; one record may change two of them."""
        n_classes, n_changed = records.facts.classes.size, parameters.neighboring.n_changed
        size = n_classes * (1 + self.n_features_in_)
        most, n_moved = n_changed * ROUNDED_ONCE, n_changed * (1 + self.n_features_in_)
        query = Query("sums", size=size, linf_sensitivity=most, l0_sensitivity=n_moved)
        return parameters.plan_queries([query], "auto")

    def _read(self, plan, records, rng):
        by, size = ByClass(records.facts.classes.size), 1 + self.n_features_in_
        return plan.release(exact_sums({"sums": size}, records, _numbers, by), rng)["sums"]

    def _publish(self, plan, records, released, guarantee):
        sums = released.reshape(records.facts.classes.size, -1)
        self.privacy_, self.class_count_ = guarantee, sums[:, 0]
        self.classes_, self.bounds_ = records.facts
        self.centroids_ = sums[:, 1:] / np.maximum(sums[:, :1], 1.0)
        return self

    @lazy_on_blocks
    def predict(self, X):
        units = self.bounds_.unit(validated_numbers(self, X, reset=False))
        distances = np.linalg.norm(units[:, None] - self.centroids_, axis=2)
        return self.classes_[distances.argmin(axis=1)]


def _numbers(records):
    for rows, _, _ in records.chunks():
        units = records.facts.bounds.unit(rows)
        yield {"sums": np.column_stack([np.ones(len(units)), units])}


RNG = np.random.default_rng(0)
N = 300
Y = np.array(["no", "yes"])[RNG.integers(0, 2, N)]
X = RNG.normal(size=(N, 2)) + 2.0 * (Y == "yes")[:, None]
X[::7, 1] = np.nan
WEIGHTS = 3.0 * RNG.random(N)
GROUPS = RNG.integers(0, 60, N)
TOY = NearestCentroid(bounds=(-4, 4), classes=["no", "yes"], random_state=0)
RELEASED = ["centroids_", "class_count_"]


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in RELEASED)


def test_the_family_is_short_and_says_nothing_of_all_this():
    source = inspect.getsource(NearestCentroid) + inspect.getsource(_numbers)
    assert len(source.splitlines()) <= 60
    for word in ("is_collection", "Dask", "Blocks", "Persons", "weights", "price", "isnan"):
        assert word not in source


def test_it_learns():
    assert TOY.fit(X, Y).score(X, Y) > 0.85


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_blocks_give_the_same_bits_as_memory(neighboring, weights):
    toy = clone(TOY).set_params(neighboring=neighboring, max_weight=2.0)
    expected = clone(toy).fit(X, Y, weights)
    cut = {"chunks": (100, 2)}
    lazy = da.from_array(X, **cut), da.from_array(Y, chunks=100)
    assert same(clone(toy).fit(*lazy, weights), expected)
    frame, labels = pd.DataFrame(X, columns=["a", "b"]), pd.Series(Y)
    lazy = dd.from_pandas(frame, npartitions=4), dd.from_pandas(labels, npartitions=4)
    fitted = clone(toy).fit(*lazy, weights)
    assert same(fitted, expected)
    assert [*fitted.feature_names_in_] == ["a", "b"]
    assert fitted.predict(lazy[0]).compute().tolist() == expected.predict(X).tolist()


def test_the_unit_is_a_person_whose_rows_count_one_together():
    fitted = clone(TOY).set_params(epsilon=1e6).fit(X, Y, groups=GROUPS)
    assert fitted.privacy_.unit is Unit.PERSON
    assert fitted.class_count_.sum() == pytest.approx(len(np.unique(GROUPS)), abs=0.1)
    twice = (
        clone(TOY)
        .set_params(epsilon=1e6)
        .fit(np.vstack([X, X]), np.tile(Y, 2), groups=np.tile(GROUPS, 2))
    )
    np.testing.assert_allclose(twice.centroids_, fitted.centroids_, atol=1e-3)


def test_weights_are_clipped_to_their_public_bound():
    toy = clone(TOY).set_params(epsilon=1e6, max_weight=1.0)
    clipped = clone(toy).fit(X, Y, WEIGHTS)
    assert same(clone(toy).fit(X, Y, np.clip(WEIGHTS, 0.0, 1.0)), clipped)
    assert clipped.class_count_.sum() == pytest.approx(np.minimum(WEIGHTS, 1.0).sum(), abs=0.1)
    with pytest.raises(ValueError, match="sample_weight needs max_weight"):
        clone(TOY).fit(X, Y, WEIGHTS)


def test_a_price_spends_nothing_and_is_what_a_fit_costs():
    budget = PrivacyBudget(epsilon=1.1, delta=1e-5)
    toy = clone(TOY).set_params(random_state=None)
    cost = budget.price(toy, (N, 2))
    assert budget.history() == []
    toy.set_params(budget=budget).fit(X, Y)
    assert len(budget.history()) == 1
    assert budget.spent.epsilon == pytest.approx(cost.epsilon)
    with pytest.raises(BudgetExceededError):
        toy.fit(X, Y)
    assert len(budget.history()) == 1
    assert not budget.price(toy, (N, 2)).admitted
    scaler = DPStandardScaler(bounds=(-4, 4))
    pipeline = make_private_pipeline(scaler, clone(toy).set_params(budget=None), epsilon=1.0)
    with pytest.raises(ValueError, match="Nothing was spent"):
        pipeline.fit(X, np.full(N, "maybe"))
    assert pipeline[0].budget.history() == []
    pipeline.fit(X, Y)
    assert len(pipeline[0].budget.history()) == 2


@pytest.mark.parametrize(
    "wrong",
    [(X.astype(str), Y), (X, np.full(N, "maybe")), (X[:9], Y)],
    ids=["text", "label", "length"],
)
def test_what_is_wrong_costs_nothing(wrong, unspent):
    with pytest.raises(ValueError, match="Nothing was spent"):
        clone(TOY).set_params(random_state=None, budget=unspent).fit(*wrong)
