"""Ranks of numbers in private histograms, where no bounds are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skdp._private_fit import ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.exceptions import IncompatibleSolverError
from skdp.features import AdditiveFeatures
from skdp.features.table import TableFacts
from skdp.linear_model._base import is_auto
from skdp.linear_model._records import LinearRecords
from skdp.privacy import Event, GaussianCurve, GDPEvent, Neighboring
from skdp.solvers import Plan, Problem
from skdp.solvers.base import SCALE_MARGIN, composed, rounded

__all__ = [
    "RankRelease",
    "RankedPlan",
    "counts_of",
    "features_of",
    "plan_ranked",
    "ranks_of",
    "read_ranked",
    "unranked",
]

N_BINS = 128
_SHARE = 0.1  # of μ²; no guarantee rests on it
_CERTAIN = 2.0  # standard deviations of noise, below which a bin counts as empty; likewise
_REST_MARGIN = 1e-9  # relative; a guarantee rests on it: ε from μ and back is right to 1e-10
_ROWS = 4096
_WIDEST = 1e9  # of numbers without bounds; those beyond count as this
_FEATURES = (
    *("bounds", "categories", "n_terms", "linear_share", "transformation"),
    *("reference", "interactions", "norm", "missing"),
)


@dataclass(frozen=True, kw_only=True)
class RankRelease:
    """One Gaussian release of a histogram of each column of numbers.

    A record has one count in each of p histograms at most: adding or removing it changes all counts
    together by √p in l2, another in its place by √(2p). So does a person whose rows have parts of
    one count.

    Parameters
    ----------
    mu : float
        *Public.* Gaussian-DP parameter.
    scale : float
        *Public.* Standard deviation of the noise in each count.
    """

    mu: float
    scale: float

    @classmethod
    def plan(cls, n_numbers: int, mu: float, neighboring: Neighboring) -> RankRelease:
        """Return a release with a tenth of μ²."""
        share = math.sqrt(_SHARE) * mu
        sensitivity = math.sqrt(n_numbers * neighboring.n_changed)
        return cls(mu=share, scale=sensitivity / share * (1.0 + SCALE_MARGIN))

    def rest(self, mu: float, delta: float) -> float:
        """Return the ε that is left of a μ-Gaussian DP release, for the same δ."""
        left = math.sqrt(mu * mu - self.mu * self.mu) * (1.0 - _REST_MARGIN)
        return GaussianCurve(left).epsilon(delta)

    def release(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return ranks by the *private* `counts_of` a table."""
        noisy = rounded(counts + rng.normal(scale=self.scale, size=counts.shape), self.scale)
        return ranks_of(np.where(noisy < _CERTAIN * self.scale, 0.0, noisy))


@dataclass(frozen=True)
class RankedPlan:
    """Histograms, and then a fit; all of it public."""

    ranks: RankRelease
    fit: Plan

    @property
    def event(self) -> Event:
        """What will be released."""
        return composed((GDPEvent(self.ranks.mu), self.fit.event))

    @property
    def theorem(self) -> str:
        """The statement that proves the event."""
        return f"histograms by the Gaussian mechanism, then {self.fit.theorem}"

    @property
    def problem(self) -> Problem:
        """What is public about the fit."""
        return self.fit.problem


def counts_of(facts: TableFacts, X: np.ndarray, shares: np.ndarray | None = None) -> np.ndarray:
    """Return *private* counts of shape (n_numbers, 128), on the scales of the columns.

    `shares` are what each row counts, None for one each.
    """
    counts = np.zeros((facts.numbers.size, N_BINS))
    for start in range(0, len(X), _ROWS):
        places = facts.place(X[start : start + _ROWS])
        of_rows = None if shares is None else shares[start : start + _ROWS]
        for k, place in enumerate(places):
            known = ~np.isnan(place)
            bins = np.minimum(place[known] * N_BINS, N_BINS - 1).astype(np.intp)
            weights = None if of_rows is None else of_rows[known]
            counts[k] += np.bincount(bins, weights, minlength=N_BINS)
    return counts


def ranks_of(counts: np.ndarray) -> Any:
    """Return for each column the share below each edge of a bin, even if it has no count at all."""
    empty = counts.sum(axis=1) == 0.0
    counts = np.where(empty[:, None], 1.0, counts)
    below = np.cumsum(counts, axis=1)
    return np.column_stack([np.zeros(len(counts)), below / below[:, -1:]])


class _Ranked(NamedTuple):
    """Records with the map that was released, and what was learned with it."""

    records: LinearRecords
    learned: Any


def features_of(model: Any) -> AdditiveFeatures:
    """Return the features that a model's parameters describe, for unknown bounds wide ones."""
    given = {name: getattr(model, name) for name in _FEATURES}
    if is_auto(model.bounds):
        scale = model.transformation or "log"
        given |= {"bounds": (-_WIDEST, _WIDEST), "transformation": scale}
    return AdditiveFeatures(**given)


def plan_ranked(
    parameters: ReleaseParameters, records: LinearRecords, plan_fit: Callable[..., Any]
) -> RankedPlan:
    """Return a plan of histograms, and of a fit with what is left."""
    if not (records.facts.solver.is_gaussian and parameters.delta > 0.0):
        raise IncompatibleSolverError(
            "bounds='auto' needs delta > 0 and a solver with Gaussian privacy, such as 'auto' or "
            f"'noisy_gd', not {type(records.facts.solver).__name__}. Otherwise pass bounds."
        )
    mu, feature_map = gdp_mu(parameters.epsilon, parameters.delta), _additive_map(records)
    n_numbers = max(1, feature_map.facts.numbers.size)
    ranks = RankRelease.plan(n_numbers, mu, parameters.neighboring)
    rest = replace(parameters, epsilon=ranks.rest(mu, parameters.delta))
    return RankedPlan(ranks, plan_fit(rest, records))


def read_ranked(
    plan: Any, records: LinearRecords, rng: np.random.Generator, read_fit: Callable[..., Any]
) -> _Ranked:
    """Release ranks, without noise where the plan has none, and then fit to features of them."""
    feature_map = _additive_map(records)
    counts = records.total(partial(_counts, feature_map.facts))["counts"]
    if isinstance(plan, RankedPlan):
        found, plan = plan.ranks.release(counts, rng), plan.fit
    else:
        found = ranks_of(counts)
    ranked = replace(feature_map, facts=replace(feature_map.facts, ranks=found))
    records = records.with_facts(replace(records.facts, feature_map=ranked))
    return _Ranked(records, read_fit(plan, records, rng))


def unranked(records: LinearRecords, released: Any) -> tuple[LinearRecords, Any]:
    """Return the records whose map is published, and what was learned."""
    return released if isinstance(released, _Ranked) else (records, released)


def _additive_map(records: LinearRecords) -> Any:
    return records.facts.feature_map


def _counts(facts: TableFacts, records: LinearRecords) -> dict[str, np.ndarray]:
    shares = None if records.persons is None else records.persons.row_weights()
    return {"counts": counts_of(facts, records.X, shares)}
