"""Leaves of totally random trees, from public bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skdp.features.public_features import PublicFeatures
from skdp.features.trees import TreeMap

__all__ = ["RandomTreeFeatures"]


class RandomTreeFeatures(PublicFeatures):
    """Indicators of the leaves of random trees; rows have norm exactly 1.

    Each node of a complete tree tests one column, chosen uniformly: whether a number lies above a
    threshold that is uniform in the node's own cell, or whether a category is in a random subset. A
    row has 1/√T in the column of its leaf in each of T trees, and zeros elsewhere. `fit` learns
    nothing, and trees do not depend on the data. (`RandomTreesEmbedding` of scikit-learn draws
    thresholds between the least and the largest value of the data, and keeps them.)

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, or dict
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    categories : dict, list or None, default None
        *Public.* Possible values of categorical columns: a dict from names or positions of columns
        to lists, or one list for all columns. Other values belong to no category.
    missing : {"indicator", "error"}, default "indicator"
        *Public.* Treatment of NaN, ``None`` and ``pandas.NA``: an indicator or category of their
        own, or a ValueError.
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    n_trees : int, default 100
        *Public.* T, the number of trees.
    depth : int or pair (least, most), default 8
        *Public.* Depth of the trees, at most 16. A pair spreads the depths evenly over the trees:
        shallow trees learn smooth effects from few rows, deep trees learn the rest.
    feature_seed : int, default 0
        *Public.* Seed of the random features; not secret, unlike `random_state`.

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

    References
    ----------
    Geurts, Ernst and Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

    Examples
    --------
    >>> from skdp.features import RandomTreeFeatures
    >>> features = RandomTreeFeatures(bounds=(0, 100), n_trees=4, depth=2)
    >>> rows = features.fit_transform([[0.0], [50.0]])
    >>> rows.shape, rows.nnz, float(rows.max())
    ((2, 16), 8, 0.5)
    """

    def __init__(
        self,
        *,
        bounds: Any = None,
        categories: Any = None,
        missing: str = "indicator",
        transformation: Any = None,
        n_trees: int = 100,
        depth: Any = 8,
        feature_seed: int = 0,
    ) -> None:
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.transformation = transformation
        self.n_trees = n_trees
        self.depth = depth
        self.feature_seed = feature_seed

    def feature_map(self, n_columns: int, names: Sequence[Any] = ()) -> TreeMap:
        return TreeMap.of(
            self._facts(n_columns, names),
            n_trees=self.n_trees,
            depth=self.depth,
            feature_seed=self.feature_seed,
        )
