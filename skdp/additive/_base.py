"""What the additive models share: their features, and what they say of themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp._private_fit import ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.additive.effects import AdditiveEffect, NoiseBound, effect_of, typical_factor
from skdp.additive.ranks import RankedPlan, RankRelease, counts_of, ranks_of
from skdp.data.columns import column_name
from skdp.data.lazy import lazy_on_blocks
from skdp.data.validation import column_names
from skdp.design import clip_factors
from skdp.exceptions import IncompatibleSolverError
from skdp.features import AdditiveMap
from skdp.linear_model._base import LinearRecords, dense, is_auto
from skdp.linear_model._mapped import MappedModel
from skdp.privacy import PrivacyGuarantee
from skdp.solvers import Problem, Solution

__all__ = ["AdditiveModel"]

_WIDEST = 1e9  # of numbers without bounds; those beyond count as this


class _Ranked(NamedTuple):
    """Records with the map that was released, and what was learnt with it."""

    records: LinearRecords
    learnt: Any


class AdditiveModel(MappedModel):
    """A linear model of the additive features, with explanations."""

    feature_map_: AdditiveMap
    coef_: Any
    coef_noise_bound_: float | None
    _noise_root_: np.ndarray | None

    def _feature_map(self, n_columns: int, names: Sequence[Any]) -> AdditiveMap:
        given, instead = vars(self), {}
        if is_auto(given["bounds"]):
            scale = given["transformation"] or "log"
            instead = {"bounds": (-_WIDEST, _WIDEST), "transformation": scale}
        features = ("n_terms", "linear_share", "reference", "interactions", "norm")
        return AdditiveMap.of(
            self._facts(n_columns, names, **instead),
            names,
            **{name: given[name] for name in features},
        )

    def _publish_solution(self, solution: Solution, task: Any, problem: Problem) -> None:
        super()._publish_solution(solution, task, problem)
        sigma = solution.noise_bound
        self.coef_noise_bound_ = None if sigma is None else sigma * self._unit(task)
        self._noise_root_ = solution.noise_root

    def _plan_fit(self, parameters: ReleaseParameters, records: LinearRecords) -> Any:
        if not is_auto(vars(self)["bounds"]):
            return super()._plan_fit(parameters, records)
        if not (records.solver.is_gaussian and parameters.delta > 0.0):
            raise IncompatibleSolverError(
                "bounds='auto' divides a Gaussian release between histograms and the fit: it needs "
                "delta > 0 and a solver that makes one, such as 'auto' or 'noisy_gd', not "
                f"{type(records.solver).__name__}. Or give bounds."
            )
        mu, facts = (
            gdp_mu(parameters.epsilon, parameters.delta),
            cast(Any, records.rows).feature_map.facts,
        )
        ranks = RankRelease.plan(max(1, facts.numbers.size), mu, parameters.neighboring)
        rest = replace(parameters, epsilon=ranks.rest(mu, parameters.delta))
        return RankedPlan(ranks, super()._plan_fit(rest, records))

    def _read_fit(self, plan: Any, records: LinearRecords, rng: np.random.Generator) -> Any:
        if not is_auto(vars(self)["bounds"]):
            return super()._read_fit(plan, records, rng)
        rows: Any = records.rows
        facts = rows.feature_map.facts
        shares = None if records.persons is None else records.persons.row_weights()
        counts = rows.total(partial(counts_of, facts, shares=shares))
        if isinstance(plan, RankedPlan):
            found, plan = plan.ranks.release(counts, rng), plan.fit
        else:
            found = ranks_of(counts)
        ranked = replace(rows.feature_map, facts=replace(facts, ranks=found))
        records = replace(records, rows=rows.mapped(ranked))
        return _Ranked(records, super()._read_fit(plan, records, rng))

    def _publish(self, plan: Any, records: Any, released: Any, guarantee: PrivacyGuarantee) -> Any:
        if isinstance(released, _Ranked):
            records, released = released
        if math.isinf(self.epsilon):
            self.coef_noise_bound_, self._noise_root_ = 0.0, None
        return super()._publish(plan, records, released, guarantee)

    @property
    def term_names_(self) -> list[str]:
        """Names of the terms: numbers, then categories, then pairs of columns, "a & b".

        Returns
        -------
        list of str
            *Public.*
        """
        check_is_fitted(self, "coef_")
        names = column_names(self)
        return [
            " & ".join(str(column_name(names, j)) for j in columns)
            for columns, _ in self.feature_map_.spans
        ]

    def explain_global(self) -> dict[str, AdditiveEffect]:
        """Return the curve of each column of numbers, the numbers of categories, and of pairs.

        Returns
        -------
        dict of str to AdditiveEffect
            One for each of `term_names_`. Computed from what was released: no privacy is spent.
        """
        check_is_fitted(self, "coef_")
        coef, names = np.atleast_2d(dense(self.coef_)), column_names(self)
        factor = typical_factor(self.feature_map_, self.data_norm_)
        noise = self._noise_bound()
        return {
            term: effect_of(self.feature_map_, k, coef, factor, noise, names)
            for k, term in enumerate(self.term_names_)
        }

    @lazy_on_blocks
    def explain_local(self, X: Any) -> np.ndarray:
        """Return what each term contributes to the scores of rows.

        The contributions of a row and `intercept_` add up to its score: what `decision_function`
        returns, or what `predict` of a regressor clips to the bounds of the targets.

        Parameters
        ----------
        X : array-like, frame or dask collection of shape (n_samples, n_features)
            *Private.*

        Returns
        -------
        ndarray of shape (n_samples, n_terms), and (n_scores,) for several scores
            In the order of `term_names_`. As private as X.
        """
        check_is_fitted(self, "coef_")
        rows, coef = self._rows(X, reset=False), np.atleast_2d(dense(self.coef_))
        spans = self.feature_map_.spans
        parts = np.empty((rows.n_samples, len(spans), len(coef)))
        for where, features in self.feature_map_.blocks(rows.X):
            if not math.isinf(self.data_norm_):
                features = features * clip_factors(features, self.data_norm_)[:, None]
            for k, (_, span) in enumerate(spans):
                parts[where, k] = features[:, span] @ coef[:, span].T
        return parts[:, :, 0] if len(coef) == 1 else parts

    def term_importances(self) -> np.ndarray:
        """Return the root mean square of each term's effect over its public values.

        Returns
        -------
        ndarray of shape (n_terms,)
            In the order of `term_names_`. Computed from what was released.
        """
        return np.array([effect.importance for effect in self.explain_global().values()])

    def _noise_bound(self) -> NoiseBound | None:
        sigma = self.coef_noise_bound_
        return None if sigma is None else NoiseBound(sigma, self._noise_root_)
