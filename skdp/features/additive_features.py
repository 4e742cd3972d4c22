"""Curves of numbers, indicators of categories, and products of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skdp.features.additive import AdditiveMap
from skdp.features.public_features import PublicFeatures

__all__ = ["AdditiveFeatures"]


class AdditiveFeatures(PublicFeatures):
    r"""Expand each column so that a linear model of the features is a sum of curves.

    A number x between its bounds is u = (t(x) − t(low))/(t(high) − t(low)), clipped to [0, 1], with
    t the identity or x ↦ sign(x)·log(1 + \|x\|/unit). Its features are √g·(2u − 1) and
    √((1 − g)·w_k)·cos(πku) for k = 1..K, with g = `linear_share`, K = `n_terms` and weights
    w_k = (1/k)/Σ(1/i): a vector no longer than 1. A category is a 1 in a column of its own. `fit`
    learns nothing.

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
    n_terms : int, default 8
        *Public.* K, the number of Fourier features of a numeric column.
    linear_share : float in [0, 1], default 0.5
        *Public.* Share g of the straight line, between 0 (only Fourier features) and 1 (only the
        line).
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    reference : None, "low" or list, default None
        *Public.* Numeric columns whose features are zero at the low bound, ``"low"`` for all. Use
        it if most values are at the low bound, as in counts of words.
    interactions : None, "pairs" or list of pairs, default None
        *Public.* Pairs of columns by name or position, ``"pairs"`` for all. The first three Fourier
        features, or the categories, of both columns are multiplied.
    norm : {"rows", "blocks"}, default "rows"
        *Public.* ``"rows"``: the features of each column have at most norm 1, and the model clips
        the row. ``"blocks"``: no row is longer than 1, so none is clipped; the model is then
        exactly additive, but noisier.

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
    >>> from skdp.features import AdditiveFeatures
    >>> features = AdditiveFeatures(bounds=(0, 100), n_terms=2, missing="error")
    >>> features.fit_transform([[0.0], [50.0]]).round(3)
    array([[-0.707,  0.577,  0.408],
           [ 0.   ,  0.   , -0.408]])
    >>> features.get_feature_names_out().tolist()
    ['x0', 'x0_wave1', 'x0_wave2']
    """

    def __init__(
        self,
        *,
        bounds: Any = None,
        categories: Any = None,
        missing: str = "indicator",
        n_terms: int = 8,
        linear_share: float = 0.5,
        transformation: Any = None,
        reference: Any = None,
        interactions: Any = None,
        norm: str = "rows",
    ) -> None:
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.n_terms = n_terms
        self.linear_share = linear_share
        self.transformation = transformation
        self.reference = reference
        self.interactions = interactions
        self.norm = norm

    def feature_map(self, n_columns: int, names: Sequence[Any] = ()) -> AdditiveMap:
        return AdditiveMap.of(
            self._facts(n_columns, names),
            names,
            n_terms=self.n_terms,
            linear_share=self.linear_share,
            reference=self.reference,
            interactions=self.interactions,
            norm=self.norm,
        )
