"""Augmented naive Bayes: a private density of a table, as a classifier."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.joint import JointClassifier
from skdp.data.lazy import lazy_on_blocks
from skdp.data.records import Records, labels_of
from skdp.density._base import PrivateTree, library_of, sample_generator
from skdp.density._counts import Rows, TreeFacts
from skdp.density._model import CliqueModel
from skdp.density._noisy_tables import NoisyTables
from skdp.density._plan import Plan
from skdp.privacy import PrivacyGuarantee
from skdp.support.types import (
    Bounds,
    Categories,
    MatrixLike,
    RandomState,
    Transformation,
    VectorLike,
)
from skdp.support.validation import check_count

__all__ = ["DPTreeNB"]


class DPTreeNB(JointClassifier, PrivateTree):
    r"""Augmented naive Bayes with (ε, δ)-differential privacy.

    Naive Bayes assumes that columns are independent given the class. Here pairs of columns may
    depend on each other: a tree that connects all columns, and more pairs, chosen privately. The
    model is a `DPTreeDensity` whose target is y. So synthetic labeled rows cost nothing more: see
    `sample`.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    categories : dict, list or None, default None
        *Public.* Possible values of categorical columns: a dict from names or positions of columns
        to lists, or one list for all columns.
    classes : array-like or None
        *Public.* All labels that may occur. ``None`` treats the labels in `y` as public; pass
        `classes` if a rare label would reveal something.
    max_weight : float or None
        *Public.* Private fits clip `sample_weight` to [0, max_weight]; the noise is proportional to
        it. ``None``: weights raise ValueError.
    missing : {"indicator", "error"}, default "indicator"
        *Public.* Treatment of missing values and of categories that are not listed: a level of
        their own, or a ValueError.
    epsilon : float, default 1.0
        *Public.* Privacy loss of one fit, in nats.
    delta : float or None
        *Public.* Probability that the ε bound fails, well below 1/n. ``None``: the budget's δ, or
        1e-5. It must be positive unless ``epsilon=inf``.
    neighboring : {"replace_one", "add_remove_one"}
        *Public.* Whether neighbors differ in the values of one record (n is then public) or in its
        presence (n is then private).
    budget : PrivacyBudget or None
        *Public.* Budget that `fit` spends from before it reads the data.
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    n_bins : int, default 64
        *Public.* Number of bins of each numeric column, from 2 to 1024. An even number is halved,
        once or more, if records are too few for so many bins.
    random_state : None, int, Generator or RandomState
        *Secret.* Seed of the noise, for tests only: a known seed voids the guarantee. See
        :term:`seed`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        *Public* by assumption, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        *Released.* Probability of each class.
    edges_ : list of (label, label)
        *Released.* The pairs of columns that have a table, in the order they were chosen. The
        second column of a pair is sampled after the first.
    levels_ : list of ndarray
        *Released.* For each column its categories, or the edges of its bins.
    privacy_ : PrivacyGuarantee
        *Public.* The release and its guarantee.
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** That of `DPTreeDensity`.

    References
    ----------
    N. Friedman, D. Geiger and M. Goldszmidt, *Bayesian network classifiers*, Machine Learning 29,
    1997.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.density import DPTreeNB
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(5000, 2))
    >>> y = X[:, 0] * X[:, 1] > 0  # which naive Bayes cannot learn
    >>> model = DPTreeNB(bounds=(-1, 1), random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        bounds: Bounds | None = None,
        categories: Categories | None = None,
        classes: ArrayLike | None = None,
        max_weight: float | None = None,
        missing: str = "indicator",
        epsilon: float = 1.0,
        delta: float | None = None,
        neighboring: str = "replace_one",
        budget: PrivacyBudget | None = None,
        transformation: Transformation | None = None,
        n_bins: int = 64,
        random_state: RandomState = None,
    ) -> None:
        self.bounds = bounds
        self.categories = categories
        self.classes = classes
        self.max_weight = max_weight
        self.missing = missing
        self.epsilon = epsilon
        self.delta = delta
        self.neighboring = neighboring
        self.budget = budget
        self.transformation = transformation
        self.n_bins = n_bins
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        sample_weight: VectorLike = None,
        groups: VectorLike = None,
    ) -> Self:
        """Learn the classifier privately.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            *Private.* Numbers are clipped to their bounds.
        y : array-like or dask collection of shape (n_samples,)
            *Private.* Labels from a public set.
        sample_weight : array-like or dask collection of shape (n_samples,) or None
            *Private.* Weight of each record, clipped to [0, `max_weight`] unless ``epsilon=inf``.
        groups : array-like of shape (n_samples,) or None
            *Private.* The person of each row. All rows of a person are one record. ``None``: each
            row is a record.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If a parameter, a shape or a type is wrong, or if the tables would have too many cells;
            nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the fit; then nothing is learned.
        """
        self._fit_privately(X, y, sample_weight=sample_weight, groups=groups)
        return self

    def _check_data(
        self, parameters: ReleaseParameters, X: MatrixLike, y: VectorLike, **more: VectorLike
    ) -> Rows:
        more |= {"max_weight": self.max_weight, "is_private": parameters.is_private}
        given = Records.of(self, X, y, **more, facts=self._levels)
        levels, library = given.facts, library_of(X)
        records, classes = labels_of(given, type(self).__name__, self.classes)
        facts = TreeFacts(levels, classes.size, library=library, classes=classes)
        return self._coded(records.with_facts(facts))

    def _publish(
        self, plan: Plan, records: Rows, released: NoisyTables, guarantee: PrivacyGuarantee
    ) -> Self:
        super()._publish(plan, records, released, guarantee)
        assert records.facts.classes is not None, "those of `_check_data`"
        self.classes_, self.class_prior_ = records.facts.classes, self._released_.model.label
        return self

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None
    ) -> tuple[MatrixLike, np.ndarray]:
        """Return synthetic rows with labels, at no cost.

        Numbers are uniform in their bins. A missing number is NaN, or null in polars, and a missing
        category ``None``. The
        rows are drawn evenly, see `DPTreeDensity.sample`.

        Parameters
        ----------
        n_samples : int, default 1
            *Public.* Number of rows.
        random_state : None, int, Generator or RandomState
            *Public.* Seed of the sample. It may be known: the rows depend on released numbers only.

        Returns
        -------
        X : ndarray or data frame of shape (n_samples, n_features)
            A pandas or polars frame if X was one, else an array. If `bounds` is a schema, the rows
            have its columns and kinds, and `fit` with the same schema accepts them. Codes and IDs
            are made up, and ignored columns are empty.
        y : ndarray of shape (n_samples,)
            Labels from `classes_`.
        """
        check_is_fitted(self, "privacy_")
        n = check_count("n_samples", n_samples)
        return self._sampled(self._released_.model, n, sample_generator(random_state), evenly=True)

    def _sampled(
        self, model: CliqueModel, n: int, rng: np.random.Generator, *, evenly: bool
    ) -> tuple[MatrixLike, np.ndarray]:
        nodes, labels = model.sample(n, rng, evenly=evenly)
        return self._as_table(nodes, rng), self.classes_[labels]

    @lazy_on_blocks
    def predict_joint_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Return log P(levels of x, class).

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            Rows, treated as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`. As private as X.
        """
        codes = self._levels_of(X)  # first: it raises NotFittedError
        return self._released_.model.log_joint(codes)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.epsilon < np.inf  # noise, on tiny data
        return tags
