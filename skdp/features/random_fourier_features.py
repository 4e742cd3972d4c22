"""Random Fourier features of numbers and categories, from public bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skdp.features.fourier import FourierMap
from skdp.features.public_features import PublicFeatures

__all__ = ["RandomFourierFeatures"]


class RandomFourierFeatures(PublicFeatures):
    """Cosines and sines of random combinations of the columns; rows have norm exactly 1.

    With z made of numbers as 2u − 1, u in [0, 1] the place between the bounds, and of categories as
    1/√3 in a column of their own, a row is [cos Wz, sin Wz]/√(D/2), where the entries of W are
    N(0, 3·τ²/p) for p columns. Products of two rows are close to exp(−3·τ²·|z − z'|²/(2p)), so a
    linear model of the features is close to one of that kernel. `fit` learns nothing, and W does
    not depend on the data.

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
    n_components : int, default 500
        *Public.* D, the number of features. If it is odd, one feature is constant.
    scale : float, default 2.0
        *Public.* τ, the standard deviation of the angles W·z of a row that is uniform in its
        bounds. Larger values fit rougher functions.
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
    Rahimi and Recht 2007, "Random features for large-scale kernel machines".

    Examples
    --------
    >>> from skdp.features import RandomFourierFeatures
    >>> features = RandomFourierFeatures(bounds=(0, 100), n_components=4)
    >>> rows = features.fit_transform([[0.0], [50.0]])
    >>> (rows**2).sum(axis=1).round(12)
    array([1., 1.])
    """

    def __init__(
        self,
        *,
        bounds: Any = None,
        categories: Any = None,
        missing: str = "indicator",
        transformation: Any = None,
        n_components: int = 500,
        scale: float = 2.0,
        feature_seed: int = 0,
    ) -> None:
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.transformation = transformation
        self.n_components = n_components
        self.scale = scale
        self.feature_seed = feature_seed

    def feature_map(self, n_columns: int, names: Sequence[Any] = ()) -> FourierMap:
        return FourierMap.of(
            self._facts(n_columns, names),
            n_components=self.n_components,
            scale=self.scale,
            feature_seed=self.feature_seed,
        )
