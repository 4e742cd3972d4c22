"""A private ridge of several targets, the example of `docs/extending`."""

from typing import NamedTuple

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from skdp._private_fit import PrivateEstimator
from skdp.data.column_facts import ColumnBounds
from skdp.data.exact_sums import exact_sums
from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records, check_numeric
from skdp.data.validation import column_names, validated_numbers
from skdp.exceptions import InvalidDataError
from skdp.workloads import Query
from skdp.workloads.plan import ROUNDED_ONCE


class Known(NamedTuple):
    bounds: ColumnBounds
    target_bounds: ColumnBounds


class SeveralRidge(MultiOutputMixin, RegressorMixin, PrivateEstimator):
    """Noisy AᵀA and Aᵀy of rows a = (1, x) and targets y, all of them scaled to [−1, 1]."""

    takes_infinite_epsilon = False

    def __init__(
        self,
        *,
        bounds=None,
        target_bounds=None,
        alpha=1.0,
        epsilon=1.0,
        delta=None,
        neighboring="replace_one",
        budget=None,
        random_state=None,
    ):
        self.bounds, self.target_bounds, self.alpha = bounds, target_bounds, alpha
        self.epsilon, self.delta, self.neighboring = epsilon, delta, neighboring
        self.budget, self.random_state = budget, random_state

    def fit(self, X, y, groups=None):
        return self._fit_privately(X, y, groups=groups)

    def _check_data(self, parameters, X, y, **more):
        if not self.alpha > 0:
            raise InvalidDataError(f"alpha must be positive, got {self.alpha!r}.")
        records = Records.of(self, X, y, **more)
        records.check(check_numeric)
        bounds = ColumnBounds.of(self.bounds, self.n_features_in_, column_names(self))
        ends = ColumnBounds.of(self.target_bounds, records.n_targets, parameter="target_bounds")
        return records.with_facts(Known(bounds, ends))

    def _sizes(self, records):
        d = 1 + self.n_features_in_
        return {"products": d * d, "moments": d * records.n_targets}

    def _plan(self, parameters, records):
        most = parameters.neighboring.n_changed * ROUNDED_ONCE
        queries = [
            Query(name, size=size, linf_sensitivity=most)
            for name, size in self._sizes(records).items()
        ]
        return parameters.plan_queries(queries, "auto")

    def _read(self, plan, records, rng):
        return plan.release(exact_sums(self._sizes(records), records, _products), rng)

    def _publish(self, plan, records, released, guarantee):
        d = 1 + self.n_features_in_
        square = released["products"].reshape(d, d)
        square = (square + square.T) / 2 + self.alpha * np.eye(d)
        self.coef_ = np.linalg.lstsq(square, released["moments"].reshape(d, -1), rcond=None)[0]
        self.bounds_, self.target_bounds_ = records.facts
        self.privacy_ = guarantee
        return self

    @lazy_on_blocks
    def predict(self, X):
        units = _with_constant(self.bounds_.unit(validated_numbers(self, X, reset=False)))
        return self.target_bounds_.middle + self.target_bounds_.half * (units @ self.coef_)


def _with_constant(units):
    return np.column_stack([np.ones(len(units)), np.nan_to_num(units)])


def _products(records):
    for rows, y, _ in records.chunks(width=(1 + records.columns.n_columns) ** 2):
        a, b = _with_constant(records.facts.bounds.unit(rows)), records.facts.target_bounds.unit(y)
        products = (a[:, :, None] * part[:, None, :] for part in (a, b))
        names = ("products", "moments")
        yield {name: one.reshape(len(a), -1) for name, one in zip(names, products, strict=True)}
