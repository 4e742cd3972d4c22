"""Clipping rows to a norm that is fixed beforehand."""

from __future__ import annotations

from typing import Any

from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from skdp.data.lazy import fit_of_columns, lazy_on_blocks
from skdp.data.validation import validated
from skdp.design import clip_factors
from skdp.support.validation import check_size

__all__ = ["RowClipper"]


class RowClipper(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale down to `max_norm` each row whose l2 norm is larger; leave the others as they are.

    The private estimators clip by themselves. This is for seeing what they see, and for handing
    the same rows to a non-private model. (`sklearn.preprocessing.Normalizer` also stretches short
    rows.) It learns nothing.

    Parameters
    ----------
    max_norm : float, default 1.0
        *Public.* In the units of X.

    Attributes
    ----------
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** A row of the output depends on the same row of the input and on `max_norm`
    only, so neighboring inputs give neighboring outputs.

    Examples
    --------
    >>> from skdp.preprocessing import RowClipper
    >>> RowClipper(max_norm=5.0).fit_transform([[6.0, 8.0], [1.0, 0.0]]).round(6)
    array([[3., 4.],
           [1., 0.]])
    """

    def __init__(self, *, max_norm: float = 1.0) -> None:
        self.max_norm = max_norm

    @fit_of_columns
    def fit(self, X: Any, y: Any = None) -> RowClipper:
        """Check the parameter; nothing is learned.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Only its columns matter, and that values are finite numbers.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The clipper.
        """
        self._check_columns()
        validated(self, X, accept_sparse="csr")
        return self

    def _check_columns(self) -> float:
        return check_size("max_norm", self.max_norm)

    @lazy_on_blocks
    def transform(self, X: Any) -> Any:
        """Return the clipped rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Finite values.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features)
            *Private.* As X is, with rows no longer than `max_norm`.
        """
        first = not hasattr(self, "n_features_in_")
        X = validated(self, X, accept_sparse="csr", reset=first)
        factors = clip_factors(X, self._check_columns())
        if sparse.issparse(X):
            return sparse.csr_matrix(sparse.diags(factors) @ X)
        return X * factors[:, None]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = []
        return tags
