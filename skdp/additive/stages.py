"""The stages of a fit of an additive model: ranks or densities, pairs of columns, and the fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_ndtr

from skdp._private_fit import ReleaseParameters
from skdp.data.exact_sums import STEP_BITS, Sums, counted, from_steps
from skdp.features.additive import AdditiveMap
from skdp.features.base import TableFacts
from skdp.linear_model._base import learn
from skdp.linear_model._first_releases import HistogramRelease, histograms, map_of
from skdp.linear_model._plans import (
    Fits,
    Learned,
    LinearPlan,
    PlanFit,
    StagedPlan,
    check_gaussian,
    most_rest,
    plan_counted,
    rest_of,
    signal_of,
)
from skdp.linear_model._records import LinearRecords, TaskT, row_scores
from skdp.mechanisms import ExponentialMechanism
from skdp.privacy import Event, GDPEvent, Neighboring, NonPrivateEvent
from skdp.samplers.base import Progress
from skdp.solvers.base import composed

Residuals = Callable[[Learned, np.ndarray, np.ndarray], np.ndarray]
"""Function of a fit, targets and scores that returns residuals of shape (n_rows, n_outputs)."""

_BINS = 6  # of a numeric column
_DEVIATION = 0.5  # of a residual: |Σr| of a cell with N records without a signal is about √N/2
_LEAST_MEAN = 1.0 / 100.0  # |r|₁ that a pair must explain: features of weaker pairs cost accuracy

_MOST_FALL = 1.0 + 1.0 / (1.0 + math.sqrt(17.0))  # D = 1.1952
_ROUNDING = 2.0**-9
SENSITIVITY = 0.5 * (1.0 + _MOST_FALL) + _ROUNDING
"""Half of the most that adding or removing a record changes the difference of two scores.

A cell with the sums R of residuals and N of shares adds f − N/100, f = max(|R|₁ − √(1 + N)/2, 0).
A row with the share s of a record adds s·r to R, with |r|₁ ≤ 1, and s to N. So f rises by at most
s. As |R|₁ ≤ N, f > 0 needs N > m = (1 + √17)/8. There the derivative of √(1 + N)/2 is at most
1/(4·√(1 + m)) = 1/(8m), so that f falls by at most s·D, D = 1 + 1/(8m). The shares of a record
add up to at most 1. So each score changes by the same multiple of 1/100 plus a number in [−D, 1],
and differences change by at most 1 + D. A person with many rows attains it, and a row 2.134.

Sums are exact. With K outputs and up to 289 cells, the scores of two neighbors are off by
4·(K + 300)·n·2⁻⁵³ at most, less than 2·`_ROUNDING` if (K + 300)·n < 2⁴³.
"""


@dataclass(frozen=True, eq=False)
class PairCells:
    """Public cells of pairs of columns: six bins of numbers, categories, and missing values."""

    facts: TableFacts
    pairs: tuple[tuple[int, int], ...]

    def size(self, j: int) -> int:
        """Return the number of a column's cells; the last is for unknown and missing values."""
        known = self.facts.categories.get(j)
        return (_BINS if known is None else known.size) + 1

    def codes(self, rows: np.ndarray) -> dict[int, np.ndarray]:
        """Return the cell of each coded row, by column."""
        places = np.floor(_BINS * self.facts.unit_interval(rows))
        numbers = dict(zip(self.facts.numbers.tolist(), np.minimum(places, _BINS - 1), strict=True))
        columns = {*np.ravel(self.pairs).astype(int).tolist()}
        return {j: self._code(j, numbers.get(j, rows[:, j])) for j in columns}

    def _code(self, j: int, places: np.ndarray) -> np.ndarray:
        last = self.size(j) - 1
        return np.where(places >= 0.0, places, last).astype(np.intp)  # unknown is −1, missing NaN

    def sums(self, rows: np.ndarray, steps: np.ndarray) -> Sums:
        """Return the sums of integer steps (n_values, n_rows) in each cell, by pair."""
        codes, found = self.codes(rows), {}
        for i, j in self.pairs:
            places, size = codes[i] * self.size(j) + codes[j], self.size(i) * self.size(j)
            found[f"{i} {j}"] = np.stack([counted(places, size, column) for column in steps])
        return found


def _sums(
    cells: PairCells,
    residuals: Callable[[np.ndarray, np.ndarray], np.ndarray],
    scores: Callable[[LinearRecords[Any]], np.ndarray],
    records: LinearRecords[Any],
) -> Sums:
    """Return the sums of shares and of residuals for each pair, in steps."""
    shares = records.steps
    if shares is None:
        shares = np.full(len(records.X), 2.0**STEP_BITS)
    found = residuals(records.y, scores(records)).T
    return cells.sums(records.X, np.vstack([shares, np.trunc(shares * found)]))


def score_of(sums: np.ndarray) -> float:
    """Return the score of a pair for the sums (1 + n_outputs, n_cells) of shares and residuals."""
    shares, size = sums[0], np.abs(sums[1:]).sum(axis=0)
    signal = np.maximum(size - _DEVIATION * np.sqrt(1.0 + shares), 0.0)
    return float((signal - _LEAST_MEAN * shares).sum())


# Chosen by experiment on the development tables; no guarantee rests on these numbers.
_MOST_FEATURES = 1023  # with an intercept as many as a solver's metric takes
_MOST_NUMBERS = 12  # columns of numbers up to which all pairs are features
_FEWEST_FOR_ALL = 150.0  # n·μ/k for each column
_LEARN_SHARE, _CHOICE_SHARE = 0.1, 0.05  # of μ²
_MOST_PAIRS = 3
_MOST_COLUMNS, _MOST_FACTORS = 64, 16  # of a search; a column with more factors is in no pair
_DOUBT = 2.0  # candidates with score 0 are found with a chance of e^−2, and most have less
_MOST_STOP = 0.008  # of the records: a search that stops above misses pairs that matter
_LARGEST = 2.0**20  # ε of a choice without privacy
_LEAST = 2.0**-20

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class PairSearch:
    """Pairs that explain the residuals of an additive fit, by the exponential mechanism.

    A fit without pairs is released. Given its scores, a pair's utility is that of `score_of`.
    Each choice removes the chosen pair from the candidates. One more candidate with the public
    utility `stop` ends the search, so that noise alone finds no pair.
    """

    plan: LinearPlan  # of the fit without pairs
    progress: Progress
    residuals: Residuals
    candidates: Pairs
    mechanism: ExponentialMechanism
    relation: Neighboring
    exact: ClassVar[bool] = False  # a row's score may differ in the last bit at another place
    name: ClassVar[str] = "an additive fit, pairs of columns by the exponential mechanism"

    @property
    def mu(self) -> float:
        choices = math.sqrt(self.most_pairs) * self.mechanism.event.gdp_mu(self.relation)
        return math.hypot(self.plan.event.gdp_mu(self.relation), choices)

    @property
    def most_pairs(self) -> int:
        """Number of choices, which is public."""
        return min(_MOST_PAIRS, len(self.candidates))

    def pairs(self, records: LinearRecords[Any], rng: np.random.Generator) -> Pairs:
        # Blocks elsewhere get the fit without its rows.
        learned = learn(self.plan, records, rng, self.progress)._replace(design=None)
        feature_map = map_of(records)
        cells = PairCells(feature_map.facts, self.candidates)
        problem = learned.plan.problem
        scores = partial(row_scores, problem, learned.fitted.theta)
        sums = partial(_sums, cells, partial(self.residuals, learned), scores)
        found = from_steps(records.with_facts(learned.facts).total(sums))
        utilities = np.array([score_of(found[f"{i} {j}"]) for i, j in cells.pairs])
        return _fitting(self.chosen(utilities, rng), feature_map)

    def chosen(self, scores: np.ndarray, rng: np.random.Generator) -> Pairs:
        """Choose pairs by *private* scores of the candidates, the best ones first."""
        utilities = np.append(scores, stop_of(self.mechanism, scores.size))
        left, found = list(range(utilities.size)), []
        for _ in range(self.most_pairs):
            k = left.pop(self.mechanism.release(utilities[left], rng))
            if k == scores.size:
                break
            found.append(self.candidates[k])
        return tuple(found)


@dataclass(frozen=True)
class PairsPlan(StagedPlan[Any]):
    """The public plan of a search for pairs, then of a fit with them.

    The fit is planned again once its features are known, from the public facts of the first plan.
    Its cost is at most `rest`, as that of every plan for these parameters; should one cost more,
    the fit has no pairs.
    """

    replan: Callable[[Pairs], LinearPlan]
    rest: Event
    relation: Neighboring

    @property
    def event(self) -> Event:
        return composed((GDPEvent(self.first.mu), self.rest))

    @property
    def theorem(self) -> str:
        return f"{self.first.name}, then {self.fit.theorem}"

    def next(
        self, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> tuple[LinearPlan, LinearRecords[TaskT]]:
        pairs = self.first.pairs(records, rng)
        plan = self.replan(pairs)
        if plan.event.gdp_mu(self.relation) <= self.rest.gdp_mu(self.relation):
            return plan, _with_pairs(records, pairs)
        return self.fit, records


@dataclass(frozen=True)
class PairsOf:
    """Plans of fits with all pairs, with pairs that are found, or without pairs.

    All pairs are taken for up to 12 columns of numbers, at most half as many others, and many
    records; `with_known_pairs` has done so if their number is known. Other tables are searched if
    there are enough records for a signal above the noise. An unknown number is released first.
    """

    plan_fit: PlanFit
    progress: Progress
    residuals: Residuals

    def plan(self, parameters: ReleaseParameters, records: LinearRecords[Any]) -> LinearPlan:
        """Return the plan of a count or a search, if there is one, and of the fit after it."""
        feature_map, n_known = map_of(records), records.facts.n_known
        every, candidates = _all_pairs(feature_map), _candidates(feature_map)
        is_known = n_known is not None or not parameters.is_private
        if not candidates or (every and is_known):
            return self.plan_fit(parameters, records)
        if parameters.is_private:
            needs, otherwise = "interactions='auto' needs", " Otherwise name the pairs."
            check_gaussian(parameters, records, needs, otherwise)
        if not is_known:
            return plan_counted(parameters, partial(self._fits, records), _counted)
        is_unbounded = n_known is None or not parameters.is_private
        signal = math.inf if is_unbounded else signal_of(parameters, n_known or 0)
        fits = ((0.0, self.plan_fit), (_least_signal(parameters, candidates), self._searched))
        return [plan for least, plan in fits if least <= signal][-1](parameters, records)

    def _fits(self, records: LinearRecords[Any], parameters: ReleaseParameters) -> Fits:
        """Return the plans among which a count decides."""
        feature_map, plain = map_of(records), self.plan_fit(parameters, records)
        if every := _all_pairs(feature_map):
            paired = self.plan_fit(parameters, _with_pairs(records, every))
            return (0.0, plain), (_least_for_all(feature_map), paired)
        least = _least_signal(parameters, _candidates(feature_map))
        if math.isinf(least):
            return ((0.0, plain),)
        return (0.0, plain), (least, self._searched(parameters, records))

    def _searched(self, parameters: ReleaseParameters, records: LinearRecords[Any]) -> LinearPlan:
        candidates, relation = _candidates(map_of(records)), parameters.neighboring
        mechanism, first, rest = _choice(parameters, len(candidates)), parameters, parameters
        bound: Event = NonPrivateEvent()
        if parameters.is_private:
            first = rest_of(parameters, math.sqrt(1.0 - _LEARN_SHARE) * parameters.typical_mu)
        learned = self.plan_fit(first, records)
        search = PairSearch(learned, self.progress, self.residuals, candidates, mechanism, relation)
        if parameters.is_private:
            rest = rest_of(parameters, search.mu)
            bound = GDPEvent(most_rest(parameters, search.mu))

        def replan(pairs: Pairs) -> LinearPlan:
            return self.plan_fit(rest, _with_pairs(records, pairs))

        replan(_widest(candidates, map_of(records)))  # what it rejects, nothing is spent on
        return PairsPlan(search, replan(()), replan, bound, relation)


def with_known_pairs(
    records: LinearRecords[TaskT], parameters: ReleaseParameters
) -> LinearRecords[TaskT]:
    """Return records with all pairs of columns if public facts decide so."""
    n_known = records.facts.n_known
    if not parameters.is_private:
        return _counted(records, math.inf)
    return records if n_known is None else _counted(records, signal_of(parameters, n_known))


def _counted(records: LinearRecords[TaskT], signal: float) -> LinearRecords[TaskT]:
    """Return records with all pairs for a large signal; found pairs come later."""
    feature_map = map_of(records)
    is_enough = signal >= _least_for_all(feature_map)
    return _with_pairs(records, _all_pairs(feature_map)) if is_enough else records


def _least_for_all(feature_map: AdditiveMap) -> float:
    return _FEWEST_FOR_ALL * feature_map.facts.n_columns


def _least_signal(parameters: ReleaseParameters, candidates: Pairs) -> float:
    """Return n·μ/k from which on a pair that matters is found in spite of the noise."""
    if not parameters.is_private:
        return 0.0
    if _epsilon_of_choice(parameters, len(candidates)) < _LEAST:
        return math.inf
    mechanism, relation = _choice(parameters, len(candidates)), parameters.neighboring
    stop = stop_of(mechanism, len(candidates))
    return stop * parameters.typical_mu / (relation.n_changed * _MOST_STOP)


def _choice(parameters: ReleaseParameters, n_candidates: int) -> ExponentialMechanism:
    """Return the mechanism of each choice, which compares differences of scores."""
    sensitivity = SENSITIVITY * parameters.neighboring.n_changed
    epsilon = _epsilon_of_choice(parameters, n_candidates)
    return ExponentialMechanism(sensitivity=sensitivity, epsilon=epsilon)


def _epsilon_of_choice(parameters: ReleaseParameters, n_candidates: int) -> float:
    """Return ε of each choice; all together cost 5 % of μ²."""
    if not parameters.is_private:
        return _LARGEST
    each = parameters.typical_mu * math.sqrt(_CHOICE_SHARE / min(_MOST_PAIRS, n_candidates))
    # Choices of ε-bounded range are 2Φ⁻¹(1/(1 + e^(−ε/2)))-Gaussian DP.
    return min(2.0 * float(log_ndtr(0.5 * each) - log_ndtr(-0.5 * each)), _LARGEST)


def stop_of(mechanism: ExponentialMechanism, n_candidates: int) -> float:
    """Return a utility beside which as many candidates with score 0 are rarely chosen."""
    scale = 2.0 * mechanism.sensitivity / mechanism.epsilon  # divides a chance by e
    return scale * (math.log(n_candidates) + _DOUBT)


def _all_pairs(feature_map: AdditiveMap) -> Pairs:
    """Return all pairs of numeric columns, none if the table is wide or has many categories."""
    numbers, n_columns = feature_map.facts.numbers.tolist(), feature_map.facts.n_columns
    few = len(numbers) <= _MOST_NUMBERS and 3 * len(feature_map.facts.categories) <= n_columns
    pairs = tuple(combinations(numbers, 2)) if few else ()
    return pairs if len(_fitting(pairs, feature_map)) == len(pairs) else ()


def _candidates(feature_map: AdditiveMap) -> Pairs:
    facts = feature_map.facts
    columns = sorted({*facts.numbers.tolist(), *facts.categories})
    few = [j for j in columns if feature_map.n_factors(j) <= _MOST_FACTORS]
    return tuple(combinations(few, 2)) if len(few) <= _MOST_COLUMNS else ()


def _widest(candidates: Pairs, feature_map: AdditiveMap) -> Pairs:
    """Return the pairs with the most features among those that a search may find."""

    def size(pair: tuple[int, int]) -> int:
        return math.prod(map(feature_map.n_factors, pair))

    return _fitting(tuple(sorted(candidates, key=size)[-_MOST_PAIRS:]), feature_map)


def _fitting(pairs: Pairs, feature_map: AdditiveMap) -> Pairs:
    """Return the pairs that the number of features leaves room for, the first ones first."""
    found: Pairs = ()
    for pair in pairs:
        wider = tuple(sorted((*found, pair)))
        if replace(feature_map, pairs=wider).n_features_out <= _MOST_FEATURES:
            found = wider
    return found


def _with_pairs(records: LinearRecords[TaskT], pairs: Pairs) -> LinearRecords[TaskT]:
    wider = replace(map_of(records), pairs=pairs)
    facts = replace(records.facts, feature_map=wider, n_columns=wider.n_features_out)
    return records.with_facts(facts)


@dataclass(frozen=True, kw_only=True)
class DensityRelease(HistogramRelease):
    """Densities of the columns with a constraint, in increasing order."""

    name: ClassVar[str] = "histograms of columns with constraints"
    n_bins: ClassVar[int] = 16  # chosen by experiment, as the share
    share: ClassVar[float] = 0.02

    def prepared(
        self, records: LinearRecords[TaskT], rng: np.random.Generator
    ) -> LinearRecords[TaskT]:
        """Release densities; return the records with a map that has them."""
        feature_map = map_of(records)
        own = np.isin(feature_map.facts.numbers, self.columns)
        released = self.release(histograms(records, self.n_bins)[own], rng)
        densities = dict(zip(self.columns, released, strict=True))
        known = replace(feature_map, densities=densities)
        return records.with_facts(replace(records.facts, feature_map=known))

    def release(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Release shares of rows from *private* counts. Empty columns are uniform."""
        noisy = np.maximum(self.noise.release(counts, rng), 0.0)
        noisy[noisy.sum(axis=1) == 0.0] = 1.0
        return np.asarray(noisy / noisy.sum(axis=1, keepdims=True))
