"""Queries, kinds of noise, and plans with one guarantee for all answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from skdp.accounting import PLDAccountant, calibrate, gdp_mu
from skdp.exceptions import OutOfRangeError, UncertifiedNoiseError
from skdp.mechanisms import (
    AdditiveMechanism,
    Gaussian,
    Geometric,
    Laplace,
    OptimizedNoise,
    Staircase,
    TruncatedLaplace,
)
from skdp.privacy import (
    ComposedEvent,
    Event,
    GDPEvent,
    LaplaceEvent,
    Neighboring,
    SelfComposedEvent,
)
from skdp.privacy.composed_events import BetweenNeighborsEvent
from skdp.privacy.neighboring import Composition
from skdp.privacy.noise_events import DiscreteLaplaceEvent
from skdp.support.safe_numbers import ROOT, SERIES, down
from skdp.support.validation import (
    check_choice,
    check_count,
    check_delta,
    check_epsilon,
    check_real,
    set_checked,
)

_MOST_COUNTS = 2**26  # of a table, which needs half a gigabyte
ROUNDED_ONCE = 1.0 + 2.0**-20
"""Factor of sensitivities of sums that are rounded once, as floats of at most 2^31."""

# No guarantee rests on these six: they select the kinds of noise to try.
_FEW = 5  # numbers that one record may change, beyond which splitting δ loses against composing
_FLAT = 5e-4  # δ up to which staircase noise has nearly all of the gain of optimized noise
_ALMOST_PURE = 2e4  # (e^ε − 1)/δ, ε ≤ 1, beyond which δ makes the noise of a count 0.4 % less
_SMOOTH = 0.005  # ε up to which staircase noise is at most 1.1e-6 less than Laplace noise, ε²/24
_WORTHWHILE = 1.004  # the loss of other noise over the bound on optimized noise, to look for it
_FINE = 0.5  # of the scale, below which noise on the integers is much less than on the reals

# No guarantee rests on these factors, because `_within` checks every plan. They save a second
# attempt where rounding to the grid makes sensitivities a little larger: of Laplace noise by up to
# 2^−30, twice.
_MARGIN = down(1.0, ROOT)
_ON_GRID = 1.0 - 2.0**-28


@dataclass(frozen=True)
class Query:
    """Numbers that are released together, such as the cells of a histogram.

    Parameters
    ----------
    name : str
        *Public.* Key of the answer.
    linf_sensitivity : float
        *Public.* Largest change of one number between neighbors.
    size : int, default 1
        *Public.* How many numbers there are.
    l0_sensitivity : int, default 1
        *Public.* How many numbers may differ between neighbors.
    l1_sensitivity, l2_sensitivity : float, default inf
        *Public.* Largest distance between neighbors in l1 and in l2. They are at most
        `linf_sensitivity` · `l0_sensitivity`, and √(`linf_sensitivity` · `l1_sensitivity`) by
        Hölder's inequality.
    integer : bool, default False
        *Public.* Whether all numbers are integers, and so are their changes.

    Examples
    --------
    >>> from skdp.workloads import Query
    >>> cells = Query("cells", size=50, linf_sensitivity=1.0, l0_sensitivity=2, integer=True)
    >>> cells.l1_sensitivity, round(cells.l2_sensitivity, 4)
    (2.0, 1.4142)
    """

    name: str
    _: KW_ONLY
    linf_sensitivity: float
    size: int = 1
    l0_sensitivity: int = 1
    l1_sensitivity: float = math.inf
    l2_sensitivity: float = math.inf
    integer: bool = False

    def __post_init__(self) -> None:
        linf = check_real("linf_sensitivity", self.linf_sensitivity, low=0.0)
        size = check_count("size", self.size)
        l0 = min(check_count("l0_sensitivity", self.l0_sensitivity), size)
        l1 = check_real("l1_sensitivity", self.l1_sensitivity, low=0.0, closed="]")
        l2 = check_real("l2_sensitivity", self.l2_sensitivity, low=0.0, closed="]")
        l1 = min(l1, linf * l0)
        l2 = min(l2, math.sqrt(linf * l1))
        set_checked(self, l0_sensitivity=l0, l1_sensitivity=l1, l2_sensitivity=l2)

    def of_persons(self) -> Query:
        """Return the same query for records that are means of a person's rows.

        Such a mean is in the convex hull of rows: no norm of a difference is larger, but any of the
        numbers may change, and integers are rounded.

        Returns
        -------
        Query
        """
        rounding = ROUNDED_ONCE if self.integer else 1.0
        return replace(
            self,
            linf_sensitivity=self.linf_sensitivity * rounding,
            l0_sensitivity=self.size,
            l1_sensitivity=self.l1_sensitivity * rounding,
            l2_sensitivity=self.l2_sensitivity * rounding,
            integer=False,
        )


def counts_query(name: str, size: int, n_changed: int) -> Query:
    """Return a query of `size` counts; a record changes at most `n_changed` of them, by 1."""
    if size > _MOST_COUNTS:
        raise ValueError(f"{size} counts are too many for memory: at most {_MOST_COUNTS}.")
    return Query(name, size=size, linf_sensitivity=1.0, l0_sensitivity=n_changed, integer=True)


Queries = tuple[Query, ...]


@dataclass(frozen=True)
class Noise:
    """A kind of noise for several queries with one guarantee.

    `mechanisms(queries, epsilon, delta)` returns one mechanism for each query, such that all
    answers together are (ε, δ)-DP; a plan checks that. It raises OutOfRangeError if the noise
    would be too small or too large to be sampled exactly.
    """

    name: str
    mechanisms: Callable[[Queries, float, float], list[AdditiveMechanism]]
    needs_delta: bool = True


def _gaussian_noise(queries: Queries, epsilon: float, delta: float) -> list[AdditiveMechanism]:
    """Gaussian noise; each query gets an equal part of μ²."""
    mu = gdp_mu(epsilon, delta) / math.sqrt(len(queries)) * _MARGIN
    return [_gaussian(query.l2_sensitivity, query.size, mu) for query in queries]


def _laplace_noise(queries: Queries, epsilon: float, delta: float) -> list[AdditiveMechanism]:
    """Laplace noise, two-sided geometric for integers; each query gets the same pure ε.

    With δ > 0 this ε is the largest whose composition is (ε, δ)-DP by the numerical accountant.
    """
    each = _pure_share(queries, epsilon, delta) * _ON_GRID
    return [_laplace(query, each) for query in queries]


def _staircase_noise(queries: Queries, epsilon: float, delta: float) -> list[AdditiveMechanism]:
    """Staircase noise; each number that may change gets the same pure ε."""
    each = epsilon / _l0_sensitivity(queries) * _MARGIN
    return [
        Staircase(
            sensitivity=q.linf_sensitivity,
            epsilon=each,
            dimension=q.size,
            l0_sensitivity=q.l0_sensitivity,
        )
        for q in queries
    ]


def _truncated_noise(queries: Queries, epsilon: float, delta: float) -> list[AdditiveMechanism]:
    """Truncated Laplace noise; ε and δ are split evenly between the queries."""
    epsilon, delta = (whole / len(queries) * _MARGIN for whole in (epsilon, delta))
    return [
        TruncatedLaplace.calibrate(epsilon, delta, q.l1_sensitivity, dimension=q.size)
        for q in queries
    ]


def _optimized_noise(queries: Queries, epsilon: float, delta: float) -> list[AdditiveMechanism]:
    """Optimized noise; ε and δ are split evenly between the numbers that may change."""
    parts = _l0_sensitivity(queries) / _MARGIN
    return [
        OptimizedNoise(
            epsilon / parts,
            delta / parts,
            sensitivity=q.linf_sensitivity,
            support="integer" if q.integer else "real",
        )
        for q in queries
    ]


NOISES: dict[str, Noise] = {
    kind.name: kind
    for kind in (
        Noise("gaussian", _gaussian_noise),
        Noise("laplace", _laplace_noise, needs_delta=False),
        Noise("staircase", _staircase_noise, needs_delta=False),
        Noise("truncated_laplace", _truncated_noise),
        Noise("optimized", _optimized_noise),
    )
}
"""Kinds of noise by name."""


@dataclass(frozen=True)
class QueryPlan:
    """Queries and their noise, planned before any data are read.

    Parameters
    ----------
    queries : tuple of Query
        *Public.*
    noise : str
        *Public.* The kind of noise.
    mechanisms : tuple of AdditiveMechanism
        *Public.* One for each query.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.workloads import Query, plan_queries
    >>> rows = Query("rows", linf_sensitivity=1.0, integer=True)
    >>> plan = plan_queries([rows, Query("hours", linf_sensitivity=60.0)], epsilon=1.0, delta=1e-5)
    >>> plan.noise, [round(mechanism.scale, 1) for mechanism in plan.mechanisms]
    ('laplace', [2.0, 120.0])
    >>> answers = plan.release({"rows": 1000, "hours": 35250.0}, np.random.default_rng(0))
    >>> {name: float(answer[0].round()) for name, answer in answers.items()}
    {'rows': 995.0, 'hours': 35180.0}
    """

    queries: Queries
    noise: str
    mechanisms: tuple[AdditiveMechanism, ...]

    theorem: ClassVar[str] = "additive noise, composition"
    exact: ClassVar[bool] = True

    @property
    def event(self) -> Event:
        """The event of all answers: of one release, or one for each number that may change."""
        events = tuple(
            noise.event
            if noise.dimension == query.size or query.l0_sensitivity == 1
            else SelfComposedEvent(noise.event, query.l0_sensitivity)
            for query, noise in zip(self.queries, self.mechanisms, strict=True)
        )
        return events[0] if len(events) == 1 else ComposedEvent(events)

    @cached_property
    def loss(self) -> float:
        """Mean absolute noise in units of `linf_sensitivity`, averaged over the queries."""
        sizes = [
            mechanism.expected_loss("l1") / query.linf_sensitivity
            for query, mechanism in zip(self.queries, self.mechanisms, strict=True)
        ]
        return math.fsum(sizes) / len(sizes)

    def mechanism(self, name: str) -> AdditiveMechanism:
        """Return the noise of a query.

        Parameters
        ----------
        name : str
            *Public.* Name of the query.

        Returns
        -------
        AdditiveMechanism
        """
        return dict(zip((query.name for query in self.queries), self.mechanisms, strict=True))[name]

    def release(
        self, answers: Mapping[str, ArrayLike], rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Return the answers with noise.

        Parameters
        ----------
        answers : mapping of str to array-like
            *Private.* `Query.size` numbers by the name of each query.
        rng : numpy.random.Generator
            *Secret.* Source of the noise.

        Returns
        -------
        dict of str to ndarray
            *Released.* `Query.size` numbers by the name of each query.
        """
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
    composition: str | None = None,
) -> QueryPlan:
    """Return noise with which all answers together are (ε, δ)-DP.

    Parameters
    ----------
    queries : sequence of Query
        *Public.* At least one, with different names.
    epsilon, delta : float
        *Public.* The guarantee of all answers together.
    noise : str, default "auto"
        *Public.* One of `NOISES`. "auto" takes Gaussian noise for a Gaussian `composition`, else
        the least `QueryPlan.loss`. It skips kinds that are rarely better. These are noise that
        splits δ between more than five numbers, and optimized noise on the reals for δ ≤ 5e-4 or
        several numbers. Optimized noise must gain .4 %, as noise that needs δ must for one count.
    composition : str or None, default None
        *Public.* Composition of the budget. "gdp", "zcdp" and "rdp" count Gaussian noise at its
        cost, and other noise at more.

    Returns
    -------
    QueryPlan
        *Public.*

    Raises
    ------
    ValueError
        If a parameter is wrong.
    OutOfRangeError
        If no such noise is known for this ε and δ.

    Examples
    --------
    >>> from skdp.workloads import Query, plan_queries
    >>> plan_queries([Query("count", linf_sensitivity=1.0, integer=True)], 1.0, 0.0).mechanisms
    (Geometric(sensitivity=1, scale=1.0000009536743164, dimension=1),)
    """
    queries, epsilon, delta = tuple(queries), check_epsilon(epsilon), check_delta(delta)
    check_choice("noise", noise, ("auto", *NOISES))
    if not queries or len({query.name for query in queries}) < len(queries):
        raise ValueError(f"queries must have different names, at least one, got {queries!r}.")
    if noise != "auto":
        return _within(queries, epsilon, delta, noise)
    if delta > 0.0 and composition and Composition(composition).counts_gaussians:
        return _within(queries, epsilon, delta, "gaussian")
    return _least(queries, epsilon, delta)


def becomes_gaussian(noise: str) -> bool:
    """Return whether `plan_queries` takes Gaussian noise for a Gaussian composition."""
    return noise in ("auto", "gaussian")


@lru_cache(maxsize=256)
def _least(queries: Queries, epsilon: float, delta: float) -> QueryPlan:
    """Return the plan with the least loss among the kinds worth trying."""
    names = list(_worth_trying(queries, epsilon, delta))
    if len(names) == 1:
        return _within(queries, epsilon, delta, names[0])
    plans: list[QueryPlan] = []
    for name in names:
        enough = min((plan.loss for plan in plans), default=math.inf)
        if name == "optimized" and enough < _WORTHWHILE * _least_loss(queries, epsilon, delta):
            break  # it is the last kind
        with suppress(OutOfRangeError, UncertifiedNoiseError):
            if name != "laplace" or not _beats_laplace(plans, epsilon, delta):
                plans.append(_within(queries, epsilon, delta, name, enough))
    if not plans:
        raise OutOfRangeError(
            f"epsilon={epsilon!r} and delta={delta!r} need noise that is too small or too large to "
            "be sampled exactly."
        )
    return min(plans, key=attrgetter("loss"))


def _beats_laplace(plans: list[QueryPlan], epsilon: float, delta: float) -> bool:
    """Return whether Laplace noise of the same loss as the first plan would cost more than (ε, δ).

    One evaluation of the accountant, where finding the Laplace noise that costs (ε, δ) takes ten.
    """
    if not plans:
        return False
    queries, loss = plans[0].queries, plans[0].loss

    def laplace(each: float) -> QueryPlan:
        return QueryPlan(queries, "laplace", tuple(_laplace(query, each) for query in queries))

    # The mean size of Laplace noise is its scale, l1/each. On the integers it is less, by a factor
    # that falls with `each`. So after one correction by that factor the loss is not less.
    scales = [query.l1_sensitivity / query.linf_sensitivity for query in queries]
    each = math.fsum(scales) / len(scales) / loss
    with suppress(OutOfRangeError):
        factor = laplace(each).loss / loss
        equal = laplace(each * min(max(factor, _FINE), 1.0))
        return equal.loss >= loss * _MARGIN and not _meets(equal.event, epsilon, delta)
    return False


def _least_loss(queries: Queries, epsilon: float, delta: float) -> float:
    """Bound from below the loss of optimized noise, whose program and event may be large.

    Of the best noise X for one number, taken symmetric, let u_k be P(X ≤ −k) in sensitivities.
    Then 1 − u_1 ≤ e^ε·u_1 + δ and u_k ≤ e^ε·u_{k+1} + δ, and the mean size is at least 2·Σ u_k,
    on the reals as on the integers. With u_k = x_k − c, c = δ/(e^ε − 1), x falls by e^−ε a step.
    """
    parts = _l0_sensitivity(queries)
    epsilon, delta = min(epsilon / parts, 20.0), max(delta / parts, 1e-12)  # limits of its ε and δ
    c = delta / math.expm1(epsilon)
    first = (1.0 - delta) / (1.0 + math.exp(epsilon)) + c
    n = math.ceil(math.log(first / c) / epsilon)
    return 2.0 * (first * math.expm1(-n * epsilon) / math.expm1(-epsilon) - n * c)


def _worth_trying(queries: Queries, epsilon: float, delta: float) -> Iterator[str]:
    l0, integer = _l0_sensitivity(queries), all(query.integer for query in queries)
    one_count = l0 == 1 and integer
    almost_pure = one_count and math.expm1(min(epsilon, 1.0)) >= _ALMOST_PURE * delta
    for name, kind in NOISES.items():
        if kind.needs_delta and (delta == 0.0 or almost_pure):
            continue
        if name not in ("gaussian", "laplace") and l0 > _FEW:
            continue
        if name == "staircase" and (integer or epsilon <= _SMOOTH):
            continue  # the geometric distribution is never larger
        if name == "optimized" and not (integer or (l0 == 1 and delta > _FLAT)):
            continue
        yield name


def _within(
    queries: Queries, epsilon: float, delta: float, noise: str, enough: float = math.inf
) -> QueryPlan:
    """Return the plan of a kind of noise, of loss below `enough`, checked as the ledger does."""
    kind = NOISES[noise]
    if kind.needs_delta and delta == 0.0:
        raise OutOfRangeError(f"noise={noise!r} needs delta > 0; 'laplace' and 'staircase' do not.")
    for rounding in (0.0, *np.geomspace(1e-7, 1e-2, 6)):
        mechanisms = kind.mechanisms(queries, epsilon * (1.0 - rounding), delta)
        plan = QueryPlan(queries, noise, tuple(mechanisms))
        if math.isfinite(enough) and plan.loss >= enough:
            break
        if _meets(plan.event, epsilon, delta):
            return plan
    raise OutOfRangeError(
        f"noise={noise!r} for {len(queries)} queries is not private at epsilon={epsilon!r} and "
        f"delta={delta!r}. Use noise='auto'."
    )


def _meets(event: Event, epsilon: float, delta: float) -> bool:
    relation = Neighboring.REPLACE_ONE  # no event of a mechanism depends on it
    if event.pure_epsilon(relation) <= epsilon:
        return True
    if delta > 0.0 and isinstance(event, GDPEvent):  # whose curve is exact
        return event.curve(relation).epsilon(delta) <= epsilon
    return delta > 0.0 and PLDAccountant(relation).epsilon(event, delta) <= epsilon


def _noisy(
    mechanism: AdditiveMechanism, values: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    if mechanism.dimension == values.size:
        return np.asarray(mechanism.release(values, rng))
    return np.array([mechanism.release(value, rng) for value in values])


def _gaussian(l2: float, size: int, mu: float) -> Gaussian:
    """Return noise of about Δ/μ, made larger by what rounding to its grid adds to Δ."""
    first = Gaussian(sensitivity=l2, scale=l2 / mu, dimension=size)
    return replace(first, scale=first.scale * max(first.event.mu / mu, 1.0))


def _laplace(query: Query, epsilon: float) -> AdditiveMechanism:
    l1, (least, largest) = query.l1_sensitivity, Geometric.scales
    if query.integer and l1 / epsilon <= largest:
        scale = max(l1 / epsilon, least)
        return Geometric(sensitivity=int(l1), scale=scale, dimension=query.size)
    return Laplace(sensitivity=l1, scale=l1 / epsilon, dimension=query.size)


def _l0_sensitivity(queries: Queries) -> int:
    """Return the number of entries of all answers that may differ between neighbors."""
    return sum(query.l0_sensitivity for query in queries)


@lru_cache(maxsize=256)
def _pure_share(queries: Queries, epsilon: float, delta: float) -> float:
    """Return the pure ε of each Laplace release such that all together are (ε, δ)-DP."""
    n = len(queries)
    if n == 1 or delta == 0.0:
        return epsilon / n
    kinds = Counter(int(query.l1_sensitivity) if query.integer else 0 for query in queries)

    def together(each: float) -> ComposedEvent:
        return ComposedEvent(tuple(_pure(each, l1, count) for l1, count in kinds.items()))

    return calibrate(together, epsilon, delta, low=epsilon / n, high=epsilon, accountant="pld")


def _pure(epsilon: float, l1: int, count: int) -> SelfComposedEvent:
    """Return the event of Laplace releases: on the integers for l1 > 0, else on the reals."""
    noise = DiscreteLaplaceEvent(l1 / epsilon, l1) if l1 else LaplaceEvent(1.0 / epsilon)
    return SelfComposedEvent(BetweenNeighborsEvent(noise), count)


# A guarantee rests on this factor: rounding may add a few units of 2⁻⁵³ per step to the sum of the
# squares of μ.
_STEP_MARGIN = down(1.0, SERIES)


@dataclass(frozen=True)
class GaussianStep:
    """Numbers that are released in one step."""

    name: str
    size: int  # largest number of numbers
    l2_sensitivity: float  # of neighbors, whatever was released before
    share: float  # of μ², relative to the shares of the other steps


@dataclass(frozen=True)
class GaussianPlan:
    """The steps of a fit and the noise of each, fixed before any data are read."""

    steps: tuple[GaussianStep, ...]
    mechanisms: tuple[Gaussian, ...]

    theorem: ClassVar[str] = "Gaussian mechanism, adaptive composition"
    exact: ClassVar[bool] = True

    @property
    def event(self) -> Event:
        """The event of all steps together."""
        return ComposedEvent(tuple(mechanism.event for mechanism in self.mechanisms))

    def scale(self, name: str) -> float:
        """Return the standard deviation of the noise of a step."""
        return self.mechanism(name).scale

    def release(self, name: str, values: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        """Return the *private* numbers of a step with noise; release each step once.

        Their number is public, and at most the size of the step.
        """
        mechanism, values = self.mechanism(name), np.asarray(values, dtype=float)
        if values.size > mechanism.dimension:
            raise ValueError(
                f"step {name!r} was planned for {mechanism.dimension} numbers, got {values.size}. "
                "Nothing was released."
            )
        return np.asarray(replace(mechanism, dimension=values.size).release(values, rng))

    def mechanism(self, name: str) -> Gaussian:
        """Return the noise of a step."""
        return dict(zip((step.name for step in self.steps), self.mechanisms, strict=True))[name]


def plan_steps(
    owner: str, steps: Sequence[GaussianStep], epsilon: float, delta: float, *, rest: float = 0.0
) -> GaussianPlan:
    """Return noise with which all steps together are (ε, δ)-DP, even if chosen adaptively.

    `owner` is the name in error messages. `rest` is a share of μ² left for other releases. Raises
    OutOfRangeError if δ is 0, or if the noise would be too small or too large to be sampled
    exactly.
    """
    if delta == 0.0:
        raise OutOfRangeError(f"{owner} needs delta > 0, because its noise is Gaussian.")
    mu = gdp_mu(epsilon, delta) * _STEP_MARGIN
    total = math.fsum([rest, *(step.share for step in steps)])
    return GaussianPlan(
        tuple(steps), tuple(_within_mu(step, mu * math.sqrt(step.share / total)) for step in steps)
    )


def _within_mu(step: GaussianStep, mu: float) -> Gaussian:
    """Return noise that is at most μ-Gaussian DP, including the rounding to its grid."""
    found = _gaussian(step.l2_sensitivity, step.size, mu)
    while found.event.mu > mu:
        found = replace(found, scale=found.scale + found.step)
    return found
