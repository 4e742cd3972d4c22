"""Linear models of the features of a public map."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skdp.data.blocks import Blocks
from skdp.data.validation import column_names, remember_names, validated_table
from skdp.design import Design, ExpandedDesign, TabulatedDesign, expanded_scores
from skdp.features import (
    AdditiveMap,
    FeatureMap,
    FourierMap,
    MixtureMap,
    TableFacts,
    TabulatedMap,
    TreeMap,
)
from skdp.linear_model._base import PrivateLinearModel
from skdp.linear_model._block_rows import BlockRows, MappedBlockRows
from skdp.privacy import PrivacyGuarantee
from skdp.support.validation import check_real

__all__ = ["MappedModel", "MappedRows", "MixtureModel"]


@dataclass(frozen=True, eq=False, repr=False)
class MappedRows:
    """The features of a coded table X by a public map."""

    X: np.ndarray
    feature_map: FeatureMap

    @property
    def n_samples(self) -> int:
        return len(self.X)

    @property
    def n_columns(self) -> int:
        return self.feature_map.n_features_out

    def design(self, data_norm: float, intercept_scaling: float, targets: Any) -> Design:
        read = self.feature_map.for_fits()
        kind = TabulatedDesign if isinstance(read, TabulatedMap) else ExpandedDesign
        return kind.clip(self.X, read, data_norm, intercept_scaling, targets)

    def take(self, rows: np.ndarray, targets: Any) -> tuple[MappedRows, np.ndarray]:
        return replace(self, X=self.X[rows]), targets[rows]

    def joined(self, others: Sequence[MappedRows]) -> MappedRows:
        """Return these rows and those of others."""
        return replace(self, X=np.concatenate([self.X, *(one.X for one in others)]))

    def matrix(self) -> Any:
        return self.feature_map.whole(self.feature_map.prepare(self.X))

    def mapped(self, feature_map: FeatureMap) -> MappedRows:
        """Return the features of the same rows by another map, which codes tables alike."""
        return replace(self, feature_map=feature_map)

    def total(self, function: Callable[[np.ndarray], Any]) -> Any:
        """Return a function of the coded table."""
        return function(self.X)

    def products(self, coef: Any, data_norm: float) -> np.ndarray:
        return expanded_scores(self.X, self.feature_map, data_norm, coef)


class MappedModel(PrivateLinearModel):
    """A linear model of the features of a public map, for tables of numbers and categories.

    Among the bases of a class it stands before the linear model that it changes.
    """

    feature_map_: FeatureMap

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
        """Learn the coefficients of the features privately.

        Parameters
        ----------
        X : array-like, frame or dask collection of shape (n_samples, n_columns)
            *Private.* Numbers, and values of the columns that have `categories`; some may be
            missing, unless `missing` refuses them. Sparse X is refused.
        y : array-like or dask collection of shape (n_samples,)
            *Private.* Labels, of which the set is public, or numbers.
        sample_weight : array-like or dask collection of shape (n_samples,) or None
            *Private.* What the loss of each record is multiplied by, clipped to [0, max_weight];
            as it is with ``epsilon=inf``. ``None`` weighs all records alike.
        groups : array-like of shape (n_samples,) or None
            *Private.* Whose each row is, where a person may have several: then all rows of a person
            are protected together, and count together as one record. ``None``: each row is a
            record of its own.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter, a shape or a type is wrong, `groups` have missing values or
            another length, or weights have no public `max_weight`; nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the fit; then nothing is learnt.
        """
        return super().fit(X, y, sample_weight, groups)

    @abstractmethod
    def _feature_map(self, n_columns: int, names: Sequence[Any]) -> FeatureMap:
        """Return the map by the parameters, all of them public, for columns of these names."""

    def _rows(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Return the rows of a table, and y if it is given."""
        checked = validated_table(self, X, y, reset=reset)
        if reset:
            remember_names(self, X)
        found = self._new_map() if reset else self.feature_map_
        table, *targets = checked if isinstance(checked, tuple) else (checked,)
        rows = MappedRows(found.facts.coded(table, column_names(self)), found)
        return (rows, *targets) if targets else rows

    def _for_blocks(self) -> Any:
        model = super()._for_blocks()
        model.feature_map_ = self._new_map()
        return model

    def _block_rows(self, blocks: Blocks, model: Any, task: Any) -> BlockRows:
        return MappedBlockRows(blocks, model, task)

    def _facts(self, n_columns: int, names: Sequence[Any], **instead: Any) -> TableFacts:
        """Return what the parameters, or others in their place, say of the columns."""
        given = vars(self) | instead
        facts = ("bounds", "categories", "transformation", "missing")
        return TableFacts.of(n_columns, names, **{name: given[name] for name in facts})

    def _new_map(self) -> FeatureMap:
        return self._feature_map(self.n_features_in_, column_names(self))

    def _publish(self, plan: Any, records: Any, released: Any, guarantee: PrivacyGuarantee) -> Any:
        self.feature_map_ = records.rows.feature_map
        return super()._publish(plan, records, released, guarantee)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        return tags


class MixtureModel(MappedModel):
    """A linear model of additive features beside random ones, which see columns together."""

    n_terms: Any
    linear_share: Any
    additive_share: Any

    @abstractmethod
    def _random_map(self, facts: TableFacts) -> FourierMap | TreeMap:
        """Return the random features by the parameters."""

    def _feature_map(self, n_columns: int, names: Sequence[Any]) -> FeatureMap:
        facts = self._facts(n_columns, names)
        share = check_real("additive_share", self.additive_share, low=0.0, high=1.0, closed="[]")
        alone = AdditiveMap.of(facts, names, n_terms=self.n_terms, linear_share=self.linear_share)
        random = self._random_map(facts)
        if share in (0.0, 1.0):
            return alone if share else random
        return MixtureMap(additive=alone, other=random, additive_share=share)
