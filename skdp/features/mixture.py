"""Additive and random features side by side, each with a public share of the squared norm."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from skdp.features.additive import AdditiveFeatures, AdditiveMap
from skdp.features.base import FeatureMap
from skdp.features.fourier import FourierMap, RandomFourierFeatures
from skdp.features.public_features import PublicFeatures
from skdp.features.table import TableFacts
from skdp.features.tabulated import TabulatedMap
from skdp.features.trees import RandomTreeFeatures, TreeMap
from skdp.support.types import MatrixLike
from skdp.support.validation import check_real

__all__ = ["FeatureMixture", "MixtureMap"]

_RANDOM = (RandomFourierFeatures, RandomTreeFeatures)


@dataclass(frozen=True, eq=False, repr=False)
class _Rows:
    """Prepared rows of two maps."""

    additive: np.ndarray
    other: np.ndarray

    def __len__(self) -> int:
        return len(self.other)

    def __getitem__(self, rows: MatrixLike) -> _Rows:
        return _Rows(self.additive[rows], self.other[rows])


@dataclass(frozen=True, eq=False, kw_only=True)
class MixtureMap(FeatureMap):
    """[√s·a/max(1, |a|), √(1 − s)·b], of additive features a and of features b of norm 1.

    `additive_share` is s, strictly between 0 and 1, and `most_square` bounds |a|². Both maps read
    the same table.
    """

    additive: AdditiveMap | TabulatedMap
    other: FourierMap | TreeMap
    additive_share: float
    most_square: float

    @property
    def facts(self) -> TableFacts:  # type: ignore[override]
        return self.other.facts

    @property
    def n_features_out(self) -> int:
        return self.additive.n_features_out + self.other.n_features_out

    @property
    def n_entries(self) -> int:
        return self.additive.n_features_out + self.other.n_entries

    @property
    def is_sparse(self) -> bool:
        return self.other.is_sparse

    @property
    def cost(self) -> int:
        return 48 if self.is_single else 8

    @property
    def is_single(self) -> bool:
        return self.other.is_single

    def for_fits(self) -> MixtureMap:
        if isinstance(self.other, TreeMap):
            near = self.additive.for_fits()
            return replace(self, additive=near) if isinstance(near, TabulatedMap) else self
        return replace(self, other=self.other.for_fits())

    def prepare(self, X: np.ndarray) -> _Rows:
        return _Rows(self.additive.prepare(X), self.other.prepare(X))

    def expand(self, rows: _Rows) -> MatrixLike:
        first, second = self.additive.expand(rows.additive), self.other.expand(rows.other)
        lengths = _lengths(first, self.most_square)
        first = first * (math.sqrt(self.additive_share) / lengths)[:, None]
        second = second * math.sqrt(1.0 - self.additive_share)
        if self.is_sparse:
            return _side_by_side(first, second, self.other.n_entries)
        out = np.empty((self.n_features_out, len(first)), second.dtype)
        out[: first.shape[1]], out[first.shape[1] :] = first.T, second.T
        return out.T

    def names(self, columns: Sequence[Hashable]) -> list[str]:
        return self.additive.names(columns) + self.other.names(columns)


class FeatureMixture(PublicFeatures):
    r"""Put additive features and random features of the same columns side by side.

    A row becomes [√s·a/max(1, \|a\|), √(1 − s)·b], with a its additive features, b its random
    features and s = `additive_share`. It has norm 1 at most. The additive features learn the effect
    of each column, and the random features learn interactions of columns. The `DPKernel...` and
    `DPRandomForest...` models use this mixture. `fit` learns nothing.

    Parameters
    ----------
    additive : AdditiveFeatures
        *Public.* The additive features.
    random : RandomFourierFeatures or RandomTreeFeatures
        *Public.* The random features; `categories` and `missing` must be those of `additive`.
    additive_share : float in [0, 1], default 0.5
        *Public.* s, the share of the additive features in a row's squared norm. With 0 there are
        only random features, with 1 only additive ones, which are not shortened.

    Attributes
    ----------
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** A row of the output depends on the same row of the input and on public numbers,
    so neighboring inputs give neighboring outputs; *Feature maps* in the documentation has the
    proof of the norms.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import DPHuberRegressor
    >>> from skdp.features import AdditiveFeatures, FeatureMixture, RandomTreeFeatures
    >>> columns = {"bounds": (-1, 1)}
    >>> features = FeatureMixture(
    ...     additive=AdditiveFeatures(**columns), random=RandomTreeFeatures(n_trees=50, **columns)
    ... )
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(5000, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> model = DPHuberRegressor(
    ...     epsilon=3.0, features=features, target_bounds=(-1, 1), random_state=0
    ... )
    >>> model.fit(X, y).score(X, y) > 0.5
    True
    """

    def __init__(
        self,
        *,
        additive: AdditiveFeatures,
        random: RandomFourierFeatures | RandomTreeFeatures,
        additive_share: float = 0.5,
    ) -> None:
        self.additive = additive
        self.random = random
        self.additive_share = additive_share

    def feature_map(self, n_columns: int, names: Sequence[Hashable] = ()) -> FeatureMap:
        share = check_real("additive_share", self.additive_share, low=0.0, high=1.0, closed="[]")
        self._check_parts()
        alone = self.additive.feature_map(n_columns, names)
        other = self.random.feature_map(n_columns, names)
        if share in (0.0, 1.0):
            return alone if share else other
        if not alone.facts.codes_as(other.facts):
            raise ValueError("additive and random must have the same categories and missing.")
        return MixtureMap(
            additive=alone, other=other, additive_share=share, most_square=alone.most_square
        )

    def _check_parts(self) -> None:
        if not isinstance(self.additive, AdditiveFeatures):
            raise ValueError(f"additive must be an AdditiveFeatures, got {self.additive!r}.")
        if not isinstance(self.random, _RANDOM):
            raise ValueError(
                "random must be a RandomFourierFeatures or a RandomTreeFeatures, got "
                f"{self.random!r}."
            )

    def _takes_missing(self) -> bool:
        return bool(getattr(self.random, "missing", None) == "indicator")


def _lengths(rows: np.ndarray, most: float) -> np.ndarray:
    """Return max(1, |row|), the same number wherever a row stands, for squares of at most `most`.

    Squares are rounded to a grid on which a float64 holds their sums, which are then exact in any
    order. Features of single precision could make a last bit of the length a large difference.
    """
    steps = math.ldexp(1.0, 52 - math.frexp(most)[1])
    squares = np.square(rows) * steps
    return np.sqrt(np.maximum(np.rint(squares, out=squares).sum(axis=1) / steps, 1.0))


def _side_by_side(
    first: np.ndarray, second: sparse.csr_matrix, n_entries: int
) -> sparse.csr_matrix:
    """Return dense columns followed by sparse ones with `n_entries` in each row."""
    n, m = first.shape
    indices = np.tile(np.arange(m, dtype=np.int32), (n, 1))
    indices = np.hstack([indices, second.indices.reshape(n, n_entries) + np.int32(m)])
    entries = np.hstack([first, second.data.reshape(n, n_entries)])
    starts = np.arange(0, entries.size + 1, entries.shape[1])
    shape = (n, m + second.shape[1])
    return sparse.csr_matrix((entries.ravel(), indices.ravel(), starts), shape=shape, copy=False)
