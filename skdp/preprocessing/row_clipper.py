"""Clipping rows to a public norm."""

from __future__ import annotations

from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags

from skdp.data.lazy import fit_of_columns, lazy_on_blocks
from skdp.data.validation import validated
from skdp.design import clip_factors
from skdp.support.types import MatrixLike
from skdp.support.validation import check_size

__all__ = ["RowClipper"]


class RowClipper(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale rows down to an l2 norm of at most `max_norm`; it learns nothing.

    Private estimators clip rows themselves. Use this class to see the same rows, or to pass them to
    a non-private model. (`sklearn.preprocessing.Normalizer` also scales short rows up.)

    Parameters
    ----------
    max_norm : float, default 1.0
        *Public.* In units of X.

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
    def fit(self, X: MatrixLike, y: None = None) -> RowClipper:
        """Check the parameter; nothing is learned.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Only its columns matter, and whether values are finite.
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
    def transform(self, X: MatrixLike) -> MatrixLike:
        """Return the clipped rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            *Private.* Finite values.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features)
            *Private.* Rows with norms of at most `max_norm`; CSR if X is sparse.
        """
        first = not hasattr(self, "n_features_in_")
        X = validated(self, X, accept_sparse="csr", reset=first)
        factors = clip_factors(X, self._check_columns())
        if sparse.issparse(X):
            return sparse.csr_matrix(sparse.diags(factors) @ X)
        return X * factors[:, None]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.requires_fit = False
        tags.transformer_tags.preserves_dtype = []
        return tags
