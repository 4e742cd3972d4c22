"""Densities of tables, and a classifier by the densities of its classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import DensityMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import ReleaseParameters
from skdp.data.lazy import JointClassifier, lazy_on_blocks, log_proba, summed_over_blocks
from skdp.data.records import Records, labels_of
from skdp.density._base import PrivateTree, library_of, sample_generator
from skdp.density._cliques import CliqueModel
from skdp.density._counts import Rows, TreeFacts
from skdp.density._release import NoisyTables, Plan
from skdp.privacy import PrivacyGuarantee
from skdp.support.types import (
    Label,
    MatrixLike,
    RandomState,
    VectorLike,
)
from skdp.support.validation import check_count, parameters

_MOST_CELLS = 2**24  # of a table of `marginal`


@parameters
class DPTreeDensity(DensityMixin, PrivateTree):
    r"""The density of a table: private counts of columns and of pairs, for synthetic rows.

    One fit releases the counts of each column beside the target. Pairs of columns whose counts
    are predicted badly are chosen privately: first a tree that connects all columns, then more.
    Then the counts of these pairs are released. The density is that of the largest entropy that
    agrees with all counts. Samples, tables, scores and predictions follow from these numbers, and
    none of them spends anything.

    Numbers are counted in at most `n_bins` bins, and in tables of pairs in at most 64 groups of
    bins: the more records and the less noise, the more bins and groups. Relations of three columns
    beside the target, and rare combinations, are lost. *Synthetic tables* in the user guide says
    what the samples are good for.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    categories : dict, list or None, default None
        *Public.* Possible values of categorical columns: a dict from names or positions of columns
        to lists, or one list for all columns.
    target : label, int or None, default None
        *Public.* Name or position of one column, which is part of each released table. The samples
        then keep how other columns depend on it. A number is counted in at most 16 groups of bins,
        which follow from its released counts. ``None``: all columns are alike.
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
    **Guarantee.** μ-Gaussian DP for the μ of (`epsilon`, `delta`): Gaussian releases and
    exponential mechanisms of bounded range, composed adaptively. A record is in one cell of each
    table, so p tables have the l2 sensitivity √p, and √(2p) if it is replaced. The utility of a
    pair is an l1 distance from a prediction by released tables only, so its sensitivity is 1, or 2.
    If the number of records is private, it is released first, with sensitivity 1. *Synthetic
    tables* in the documentation has the proofs, also for persons and weights.

    References
    ----------
    R. McKenna, G. Miklau and D. Sheldon, *Winning the NIST contest: a scalable and general approach
    to differentially private synthetic data*, Journal of Privacy and Confidentiality 11(3), 2021.

    R. McKenna, B. Mullins, D. Sheldon and G. Miklau, *AIM: an adaptive and iterative mechanism for
    differentially private synthetic data*, VLDB 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.density import DPTreeDensity
    >>> first = np.random.default_rng(0).normal(size=5000)
    >>> X = np.column_stack([first, -first])
    >>> density = DPTreeDensity(bounds=(-4, 4), missing="error", random_state=0).fit(X)
    >>> rows = density.sample(1000, random_state=0)
    >>> rows.shape, bool(np.corrcoef(rows.T)[0, 1] < -0.8)
    ((1000, 2), True)
    """

    target: Label | None = None
    random_state: RandomState = None

    def fit(
        self,
        X: MatrixLike,
        y: None = None,
        sample_weight: VectorLike = None,
        groups: VectorLike = None,
    ) -> Self:
        """Learn the density privately.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            *Private.* Numbers are clipped to their bounds.
        y : None
            Ignored.
        sample_weight : array-like or dask collection of shape (n_samples,) or None
            *Private.* Weight of each record, clipped to [0, `max_weight`] unless ``epsilon=inf``.
        groups : array-like of shape (n_samples,) or None
            *Private.* The person of each row. All rows of a person are one record. ``None``: each
            row is a record.

        Returns
        -------
        self
            The fitted density.

        Raises
        ------
        ValueError
            If a parameter, a shape or a type is wrong, or if the tables would have too many cells;
            nothing is spent.
        BudgetExceededError, BudgetClosedError
            If the budget does not admit the fit; then nothing is learned.
        """
        self._fit_privately(X, sample_weight=sample_weight, groups=groups)
        return self

    def _check_data(self, parameters: ReleaseParameters, X: MatrixLike, **more: VectorLike) -> Rows:
        records = Records.of(
            self,
            X,
            **more,
            max_weight=self.max_weight,
            is_private=parameters.is_private,
            facts=self._levels,
        )
        levels, target, library = records.facts, self._target(), library_of(X)
        n_labels = 1
        if target is not None:
            if levels.facts.n_columns < 2:
                raise ValueError("X must have a column beside the target.")
            n_labels = levels.sizes[target]
        return self._coded(records.with_facts(TreeFacts(levels, n_labels, target, library)))

    def _target(self) -> int | None:
        return None if self.target is None else self._number_of(self.target, "target")

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> MatrixLike:
        """Return synthetic rows, at no cost.

        Numbers are uniform in their bins. A missing number is NaN, or null in polars, and a missing
        category ``None``. The
        rows are drawn evenly: each has the distribution of the density, and counts of all rows are
        closer to their expectations than those of independent rows.

        Parameters
        ----------
        n_samples : int, default 1
            *Public.* Number of rows.
        random_state : None, int, Generator or RandomState
            *Public.* Seed of the sample. It may be known: the rows depend on released numbers only.

        Returns
        -------
        ndarray or data frame of shape (n_samples, n_features)
            A pandas or polars frame if X was one, else an array. If `bounds` is a schema, the rows
            have its columns and kinds, and `fit` with the same schema accepts them. Codes and IDs
            are made up, and ignored columns are empty.
        """
        check_is_fitted(self, "privacy_")
        n = check_count("n_samples", n_samples)
        return self._sampled(self._released_.model, n, sample_generator(random_state), evenly=True)

    def _sampled(
        self, model: CliqueModel, n: int, rng: np.random.Generator, *, evenly: bool
    ) -> MatrixLike:
        nodes, labels = model.sample(n, rng, evenly=evenly)
        target = self._target()
        codes = nodes if target is None else np.insert(nodes, target, labels, axis=1)
        return self._as_table(codes, rng)

    @lazy_on_blocks
    def score_samples(self, X: MatrixLike) -> np.ndarray:
        """Return the logarithm of the density at each row.

        Numbers outside their bounds count as the bounds.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Per unit of each number that is not missing. As private as X.
        """
        codes, target = self._levels_of(X), self._target()
        joint = self._released_.model.log_joint(
            np.delete(codes, [] if target is None else target, axis=1)
        )
        labels = 0 if target is None else codes[:, target]
        return joint[np.arange(len(codes)), labels] - self._released_.levels.log_widths(codes)

    @summed_over_blocks
    def score(self, X: MatrixLike, y: None = None) -> float:
        """Return the sum of the logarithms of the density at all rows.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            Rows, with the columns of `fit`.
        y : None
            Ignored.

        Returns
        -------
        float
            As private as X.
        """
        return float(self.score_samples(X).sum())

    def marginal(self, columns: Label | Sequence[Label]) -> np.ndarray:
        """Return the joint probabilities of the levels of some columns, at no cost.

        Parameters
        ----------
        columns : label or list of labels
            *Public.* Names or positions of different columns.

        Returns
        -------
        ndarray
            *Released.* An axis for each column, in the order given. Levels are ordered as in
            `levels_`; with ``missing="indicator"`` the last one is for missing values.
        """
        check_is_fitted(self, "privacy_")
        listed = columns if isinstance(columns, (list, tuple)) else [columns]
        chosen = [self._number_of(one, "columns") for one in listed]
        if not chosen or len({*chosen}) < len(chosen):
            raise ValueError(f"columns must be different, at least one, got {columns!r}.")
        n_cells = float(np.prod([float(self._released_.levels.sizes[j]) for j in chosen]))
        if n_cells > _MOST_CELLS:
            raise ValueError(
                f"The table of {columns!r} has {n_cells:.0f} cells, at most {_MOST_CELLS} are "
                "allowed."
            )
        target = self._target()
        nodes = [j for j in range(self._levels().facts.n_columns) if j != target]
        others = [nodes.index(j) for j in chosen if j != target]
        table = self._released_.model.marginal(others, by_value=target in chosen)
        return np.moveaxis(table, -1, chosen.index(target)) if target in chosen else table

    @available_if(lambda self: self.target is not None)
    @lazy_on_blocks
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the probability of each category or bin of the target, given the other columns.

        This method is there if a `target` is given.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            Rows, with the columns of `fit`. The target's own values are not used.

        Returns
        -------
        ndarray of shape (n_samples, n_categories) or (n_samples, n_bins)
            In the order of `levels_`. As private as X.
        """
        codes, target = self._levels_of(X), self._target()
        assert target is not None, "the method is there with a target only"
        nodes = np.delete(codes, target, axis=1)
        known = self._released_.model.log_joint(nodes)[:, : self._released_.levels.n_known(target)]
        return np.exp(log_proba(known))


@parameters
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
    >>> model.predict([[0.5, 0.5], [0.5, -0.5]]), round(model.score(X, y), 1)
    (array([ True, False]), 1.0)
    """

    classes: ArrayLike | None = None
    random_state: RandomState = None

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
