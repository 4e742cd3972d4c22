"""A fixed list of queries, the noise of each, and what all answers together reveal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from skdp._validation import check_choice, check_delta, check_epsilon
from skdp.accounting import PLDAccountant
from skdp.exceptions import IncompatibleSolverError
from skdp.mechanisms import AdditiveMechanism
from skdp.privacy import ComposedEvent, Event, Neighboring, SelfComposedEvent
from skdp.workloads.noise import NOISES, Queries
from skdp.workloads.query import Query

__all__ = ["QueryPlan", "plan_queries"]

_FEW = 5  # numbers that one person may change, beyond which splitting δ loses against composing
_FLAT = 5e-4  # δ up to which staircase noise has nearly all of the gain of optimised noise


@dataclass(frozen=True)
class QueryPlan:
    """Queries with the noise of each: public, made before any data are read.

    Parameters
    ----------
    queries : tuple of Query
    noise : str
        The kind of noise.
    mechanisms : tuple of AdditiveMechanism
        One for each query.
    """

    queries: Queries
    noise: str
    mechanisms: tuple[AdditiveMechanism, ...]

    theorem = "additive noise, composition"

    @property
    def event(self) -> Event:
        """What all the answers together are."""
        events = tuple(
            _together(query, mechanism)
            for query, mechanism in zip(self.queries, self.mechanisms, strict=True)
        )
        return events[0] if len(events) == 1 else ComposedEvent(events)

    @property
    def loss(self) -> float:
        """Sum of the mean sizes of noise in units of `Query.largest`, the mean over queries."""
        sizes = [
            mechanism.expected_loss("l1") / query.largest
            for query, mechanism in zip(self.queries, self.mechanisms, strict=True)
        ]
        return math.fsum(sizes) / len(sizes)

    def mechanism(self, name: str) -> AdditiveMechanism:
        """Return the noise of a query."""
        return dict(zip((query.name for query in self.queries), self.mechanisms, strict=True))[name]

    def release(self, answers: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        """Return the *private* answers with noise, an array of `Query.size` numbers each."""
        flat = {query.name: np.ravel(answers[query.name]).astype(float) for query in self.queries}
        for query in self.queries:
            if flat[query.name].size != query.size:
                raise ValueError(
                    f"The answer to {query.name!r} must have {query.size} numbers, got "
                    f"{flat[query.name].size}. Nothing was released."
                )
        return {
            query.name: _noisy(mechanism, flat[query.name], rng)
            for query, mechanism in zip(self.queries, self.mechanisms, strict=True)
        }


def plan_queries(
    queries: Sequence[Query],
    epsilon: float,
    delta: float,
    noise: str = "auto",
    *,
    pays_in: str | None = None,
) -> QueryPlan:
    """Return noise with which all answers together are (ε, δ)-DP.

    Parameters
    ----------
    queries : sequence of Query
    epsilon, delta : float
        *Public.* The guarantee of all answers together.
    noise : str
        *Public.* One of `NOISES`, or "auto": the least mean size of noise, in units of the
        sensitivities. Kinds that split δ between numbers are tried for up to five of them, as
        others compose better, and optimised noise on the reals for δ above 5e-4.
    pays_in : str or None
        *Public.* Composition of the budget that pays. "gdp", "zcdp" and "rdp" price Gaussian
        noise at what it costs and other noise at more, so "auto" takes it there.
    """
    queries, epsilon, delta = tuple(queries), check_epsilon(epsilon), check_delta(delta)
    check_choice("noise", noise, ("auto", *NOISES))
    if not queries or len({query.name for query in queries}) < len(queries):
        raise ValueError(f"queries must have different names, at least one, got {queries!r}.")
    if noise != "auto":
        return _within(queries, epsilon, delta, noise)
    if delta > 0.0 and pays_in in ("gdp", "zcdp", "rdp"):
        return _within(queries, epsilon, delta, "gaussian")
    plans = list(_candidates(queries, epsilon, delta))
    if not plans:
        raise IncompatibleSolverError(
            f"No kind of noise is known for epsilon={epsilon!r} and delta={delta!r} here: the one "
            "asked for would be too small or too large."
        )
    return min(plans, key=attrgetter("loss"))


def _candidates(queries: Queries, epsilon: float, delta: float) -> Iterator[QueryPlan]:
    few = sum(query.n_touched for query in queries) <= _FEW
    worth = delta > _FLAT or all(query.integer for query in queries)
    for name, kind in NOISES.items():
        composes = name in ("gaussian", "laplace")
        if (kind.needs_delta and delta == 0.0) or not (few or composes):
            continue
        if name == "optimized" and not worth:
            continue
        with suppress(
            ValueError, RuntimeError
        ):  # out of a mechanism's public range: another takes its place
            yield _within(queries, epsilon, delta, name)


def _within(queries: Queries, epsilon: float, delta: float, noise: str) -> QueryPlan:
    """Return the plan of a kind of noise, checked by the accountant that will be asked again."""
    for rounding in (0.0, *np.geomspace(1e-7, 1e-2, 12)):
        mechanisms = NOISES[noise].for_all(queries, epsilon * (1.0 - rounding), delta)
        plan = QueryPlan(queries, noise, tuple(mechanisms))
        if _meets(plan.event, epsilon, delta):
            return plan
    raise IncompatibleSolverError(
        f"No {noise!r} noise for {len(queries)} queries was found to be private with "
        f"epsilon={epsilon!r} and delta={delta!r}; noise='auto' finds another."
    )


def _meets(event: Event, epsilon: float, delta: float) -> bool:
    relation = Neighboring.REPLACE_ONE  # no event of a mechanism depends on it
    if delta == 0.0:
        return event.pure_epsilon(relation) <= epsilon
    return PLDAccountant(relation).epsilon(event, delta) <= epsilon


def _together(query: Query, mechanism: AdditiveMechanism) -> Event:
    """Return what the answers to a query are: one release, or one for each that may change."""
    if mechanism.dimension == query.size or query.n_touched == 1:
        return mechanism.event
    return SelfComposedEvent(mechanism.event, query.n_touched)


def _noisy(
    mechanism: AdditiveMechanism, values: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    if mechanism.dimension == values.size:
        return np.asarray(mechanism.release(values, rng))
    return np.array([mechanism.release(value, rng) for value in values])
