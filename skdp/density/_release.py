"""The plan and the releases of a fit, one after another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.special import log_ndtr

from skdp._private_fit import NonPrivatePlan, ReleaseParameters
from skdp.accounting import gdp_mu
from skdp.data.exact_sums import STEP_BITS, Sums, counts_from_steps
from skdp.density._cliques import (
    MOST_COLUMNS,
    CliqueModel,
    Cliques,
    fitted_pair,
    groups_of,
    independent,
    known_counts,
    label_counts,
    label_totals,
    level_counts,
    margins,
    summed,
    with_sums,
)
from skdp.density._counts import (
    MOST_LABELS,
    Levels,
    Pair,
    Rows,
    TreeFacts,
    pair_counts,
    relabeled,
    table_counts,
    target_counts,
)
from skdp.mechanisms import ExponentialMechanism
from skdp.privacy import ComposedEvent, Event, SelfComposedEvent
from skdp.support.safe_numbers import SERIES, down
from skdp.workloads.plan import ROUNDED_ONCE, GaussianPlan, GaussianStep, plan_steps

MOST_GROUPS = 64
"""Largest number of groups of the levels of a column, in tables of two columns."""
_MOST_CELLS = 2**24  # of all tables that are counted: 128 MB
_MOST_NODES = 1024  # columns: each pair of them has a table, of 1 kB and more

# Shares of μ², and pairs beside a tree for each of its edges, found on magic04, Adult, bank,
# California housing and wine quality. No guarantee rests on them.
_COUNT, _TARGET, _TABLES, _CHOICES = 0.01, 0.05, 0.3, 0.1
_MORE_PAIRS = 2.5
_EXACT_SCALE = 1e-6  # of a record, in place of the noise of fits without privacy


@dataclass(frozen=True)
class TreePlan(GaussianPlan):
    """Gaussian releases "count", "target", "tables" and "pairs", and choices between pairs."""

    choice: ExponentialMechanism | None = None
    n_pairs: int = 0  # most pairs of columns that are released

    theorem: ClassVar[str] = "Gaussian and exponential mechanisms, adaptive composition"

    @property
    def event(self) -> Event:
        if self.choice is None:
            return super().event
        return ComposedEvent((super().event, SelfComposedEvent(self.choice.event, self.n_pairs)))

    def choose(self, utilities: np.ndarray, rng: np.random.Generator) -> int:
        """Return the index of a large *private* utility."""
        assert self.choice is not None, "a single node has no pairs"
        return self.choice.release(utilities, rng)

    def release_pairs(
        self, values: np.ndarray, n_pairs: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        """Return *private* counts of pairs with noise, and the standard deviation of the noise.

        Fewer pairs than planned move less and have less noise. Their sensitivity is
        √(n_pairs/self.n_pairs) =: u of the planned one, so the values are released in units of
        u ≥ ½. The quotient adds a relative error of 2^−53: for fewer than 2^29 records less than
        2^−22 in each table of two neighbors together. u itself has a relative error of 2^−52, the
        same for both neighbors. `ROUNDED_ONCE` allows for 2^−20 in each table.
        """
        unit = math.sqrt(n_pairs / self.n_pairs)
        return self.release("pairs", values / unit, rng) * unit, self.scale("pairs") * unit


@dataclass(frozen=True)
class ExactPlan(NonPrivatePlan):
    """The same without privacy."""

    n_pairs: int = 0

    def scale(self, name: str) -> float:
        return _EXACT_SCALE

    def release(self, name: str, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(values, dtype=float)

    def choose(self, utilities: np.ndarray, rng: np.random.Generator) -> int:
        return int(np.argmax(utilities))

    def release_pairs(
        self, values: np.ndarray, n_pairs: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        return np.asarray(values, dtype=float), _EXACT_SCALE


Plan: TypeAlias = TreePlan | ExactPlan


def plan_tree(
    owner: str, parameters: ReleaseParameters, facts: TreeFacts, *, is_counted: bool
) -> Plan:
    """Return the plan for a table whose size `check_size` admits.

    `is_counted` says whether the number of records, or their total weight, is released first.

    A record is in one cell of each of p tables, with a mass of at most 1. If it is replaced, two
    vectors without negative numbers and of a length of at most 1 differ by at most √2 in each
    table. So the l2 sensitivity of p tables together is √(k·p), for k records that differ. The
    total moves by at most 1 in both cases, because each mass is from 0 to 1.
    Counts in steps of 2^−31 that exceed 2^53 steps are rounded to floats, by a relative 2^−53. With
    fewer than 2^29 records, the two tables of neighbors move by less than 2^−23 together, and by
    √p·2^−23 for p tables. `ROUNDED_ONCE` allows for √p·2^−20.
    """
    sizes, n_changed = facts.sizes, parameters.neighboring.n_changed
    p, n_pairs = len(sizes), _n_pairs(len(sizes))
    if not parameters.is_private:
        return ExactPlan(n_pairs=n_pairs)
    steps, left = [], 1.0
    if is_counted:
        steps.append(_step("count", 1, 1, _COUNT))
        left -= _COUNT
    of_tables = _TABLES
    if facts.has_number:
        steps.append(_step("target", facts.n_labels, n_changed, _TARGET))
        of_tables, left = _TABLES - _TARGET, left - _TARGET
    n_cells = sum(sizes) * facts.most_labels
    if not n_pairs:
        steps.append(_step("tables", n_cells, n_changed, left))
        gaussian = plan_steps(owner, steps, parameters.epsilon, parameters.delta)
        return TreePlan(gaussian.steps, gaussian.mechanisms)
    most = n_pairs * min(MOST_GROUPS, max(sizes)) ** 2 * facts.most_labels
    steps += [
        _step("tables", n_cells, n_changed * p, of_tables),
        _step("pairs", most, n_changed * n_pairs, left - of_tables - _CHOICES),
    ]
    gaussian = plan_steps(owner, steps, parameters.epsilon, parameters.delta, rest=_CHOICES)
    mu = gdp_mu(parameters.epsilon, parameters.delta) * math.sqrt(_CHOICES / n_pairs)
    # Choices of ε-bounded range are 2Φ⁻¹(e^(ε/2)/(1 + e^(ε/2)))-Gaussian DP: `BoundedRangeEvent`.
    epsilon = down(2.0 * float(log_ndtr(0.5 * mu) - log_ndtr(-0.5 * mu)), SERIES)
    choice = ExponentialMechanism(sensitivity=float(n_changed), epsilon=epsilon)
    return TreePlan(gaussian.steps, gaussian.mechanisms, choice, n_pairs)


def _n_pairs(p: int) -> int:
    """Return the largest number of pairs of p columns that are released."""
    more = int(_MORE_PAIRS * (p - 1)) if p <= MOST_COLUMNS else 0
    return min(p - 1 + more, p * (p - 1) // 2)


def _step(name: str, size: int, squared_sensitivity: int, share: float) -> GaussianStep:
    return GaussianStep(name, size, math.sqrt(squared_sensitivity) * ROUNDED_ONCE, share)


def check_size(owner: str, facts: TreeFacts) -> None:
    """Raise ValueError if there are too many tables or cells, whatever the data are."""
    sizes = np.array(facts.sizes)
    if len(sizes) > _MOST_NODES:
        raise ValueError(f"{owner} takes at most {_MOST_NODES} columns. Leave out columns.")
    grouped = np.minimum(sizes, MOST_GROUPS)
    pairs = (int(grouped.sum()) ** 2 - int((grouped**2).sum())) // 2
    n_cells = (int(sizes.sum()) + pairs) * facts.most_labels
    if n_cells > _MOST_CELLS:
        raise ValueError(
            f"{owner} would count {n_cells} cells in the tables of {len(sizes)} columns, at most "
            f"{_MOST_CELLS} are allowed. Leave out columns, merge categories, or use fewer bins."
        )


_GRID_BITS = 20  # of utilities, which have 2^31 as a bound: floats hold them exactly
_LARGEST = 2.0**30


def choose_pairs(
    plan: Plan,
    counts: Mapping[Pair, np.ndarray],
    margins: Sequence[np.ndarray],
    totals: np.ndarray,
    rng: np.random.Generator,
) -> Cliques:
    """Return cliques of pairs of nodes, one choice of the plan for each pair.

    The first pairs are a spanning tree (Kruskal's algorithm): candidates connect what earlier
    choices have not connected yet. Later candidates leave all cliques small.
    """
    values, pairs = utilities(plan.scale("pairs"), counts, margins, totals), [*counts]
    first, second = np.array(pairs).T

    def chosen(candidates: np.ndarray) -> Pair:
        k = candidates[plan.choose(values[candidates], rng)]
        is_left[k] = False
        return pairs[k]

    is_left = np.ones(len(pairs), bool)
    part, edges = np.arange(len(margins)), []
    for _ in range(len(margins) - 1):
        i, j = chosen(np.flatnonzero(part[first] != part[second]))
        edges.append((i, j))
        part[part == part[j]] = part[i]
    cliques = Cliques.of([len(margin) for margin in margins], totals.size, edges)
    for _ in range(plan.n_pairs - len(edges)):
        others = np.flatnonzero(is_left)
        candidates = others[cliques.admits([pairs[k] for k in others])]
        if not candidates.size:
            break
        cliques = cliques.with_edge(chosen(candidates))
    return cliques


def utilities(
    scale: float,
    counts: Mapping[Pair, np.ndarray],
    margins: Sequence[np.ndarray],
    totals: np.ndarray,
) -> np.ndarray:
    """Return the l1 distance of each pair's counts from their prediction by released tables.

    The expected l1 size of the noise of the pair is subtracted: σ·√(2/π) for each cell. Counts are
    in steps of 2^−31. Predictions are rounded to such steps, and the sums are integers, so a record
    that moves counts by at most Δ in l1 moves a utility by at most Δ = 1, or 2 if it is replaced.
    The distance is rounded down to the grid of 2^−20. Δ is a multiple of 2^−20, so it stays.
    Below 2^29 rows and predictions nothing overflows 63 bits.
    """
    found = []
    for (i, j), exact in counts.items():
        predicted = np.minimum(independent(margins[i], margins[j], totals), _LARGEST)
        predicted *= min(1.0, _LARGEST / max(float(predicted.sum()), 1.0))
        steps = np.rint(np.ldexp(predicted, STEP_BITS)).astype(np.int64)
        distance = int(np.abs(exact - steps).sum()) >> (STEP_BITS - _GRID_BITS)
        noise = min(math.sqrt(2.0 / math.pi) * scale * exact.size, _LARGEST)
        in_steps = distance - round(math.ldexp(noise, _GRID_BITS))
        found.append(math.ldexp(float(in_steps), -_GRID_BITS))
    return np.array(found)


_NO_NOISE = 1e-6  # records; without noise nothing is shrunk


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """*Released* tables with noise. Pairs of nodes that have a table connect all nodes."""

    levels: Levels
    tables: Sequence[np.ndarray]  # counts of each node, of shape (n_levels, n_labels)
    groups: Sequence[np.ndarray]  # the group of each level
    target: np.ndarray  # counts of the values of a numeric target; 1 for labels that are values
    labels: np.ndarray  # the label of each value
    n_known: float | None  # *public* number of records, None if it is private
    scales: tuple[float, float]  # *public* deviations of noise of tables, and of a numeric target
    pairs: Mapping[Pair, np.ndarray] = field(default_factory=dict)  # counts of groups and labels
    order: tuple[int, ...] = (0,)  # in which the cliques of all pairs are small
    scale_of_pairs: float = 1.0  # the standard deviation of their noise
    complete: tuple[int, ...] = ()  # *public* nodes whose last level is empty; -1: target

    def __getstate__(self) -> dict[str, object]:
        """Leave out what follows from the rest: models may be a hundred times as large."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def totals(self) -> np.ndarray:
        """The number of records of each label, at least 1."""
        return label_totals(self.tables, self.n_known)

    @cached_property
    def cliques(self) -> Cliques:
        """Cliques of nodes that contain all pairs."""
        sizes = [int(group.max()) + 1 for group in self.groups]
        return Cliques.in_order(sizes, self.totals.size, [*self.pairs], self.order)

    @cached_property
    def model(self) -> CliqueModel:
        """The density, whose pairs are shrunk toward independence: the best for predictions."""
        return self._model(self.scale_of_pairs)

    @cached_property
    def unshrunk(self) -> CliqueModel:
        """The density for intervals, which shrinkage toward independence would bias."""
        return self._model(_NO_NOISE)

    def _model(self, scale: float) -> CliqueModel:
        """Return the density for pairs with noise of this scale."""
        scales = self.scales[0], self.scale_of_pairs
        sides = margins(self.tables, self.groups, self.pairs, self.totals, scales)
        levels = [
            level_counts(table, group, side, self.scales[0])
            for table, group, side in zip(self.tables, self.groups, sides, strict=True)
        ]
        pairs = {
            (i, j): fitted_pair(pair, sides[i], sides[j], self.totals, scale)
            for (i, j), pair in self.pairs.items()
        }
        target = known_counts(self.target)
        given = self.totals, levels, self.groups, sides, pairs, target, self.labels
        return CliqueModel.of(self.cliques, *given, self.scale_of_pairs, self.complete)

    def redrawn(self, rng: np.random.Generator) -> NoisyTables:
        """Return tables of as many new records of the density, with new noise.

        They differ from these as these differ from tables of the population: by the choice of the
        records and by the noise (a parametric bootstrap). The pairs and the groups stay.
        """
        tables, pairs, values = self.unshrunk.counts(round(float(self.totals.sum())), rng)
        (of_tables, of_target), of_pairs = self.scales, self.scale_of_pairs
        target = values + rng.normal(0.0, of_target, values.shape) if of_target else self.target
        return replace(
            self,
            tables=[table + rng.normal(0.0, of_tables, table.shape) for table in tables],
            pairs={
                edge: pairs[edge] + rng.normal(0.0, of_pairs, pairs[edge].shape)
                for edge in self.pairs
            },
            target=target,
        )

    def level_counts(self, node: int) -> tuple[np.ndarray, float]:
        """Return unbiased counts of the levels of a node, and the deviation of their noise."""
        table = self.tables[node]
        return table.sum(axis=1), self.scales[0] * float(np.sqrt(table.shape[1]))

    def target_counts(self) -> tuple[np.ndarray, float]:
        """Return unbiased counts of the target's values, and a bound of their noise's deviation."""
        if self.scales[1]:
            return self.target, self.scales[1]
        counts, weight = label_counts(self.tables)
        return counts, self.scales[0] / float(np.sqrt(weight))


# Found on magic04, Adult, bank, California housing and wine quality; no guarantee rests on them.
_GROUPS, _LABELS, _POWER = 0.7, 0.5, 0.4
_BINS, _LEAST_BINS = 0.15, 8
_MOST_RECORDS = 2.0**29


def is_counted(records: Rows) -> bool:
    """Return whether the number or total weight of the records is private."""
    return records.weights is not None or records.n_known is None


def released_tables(plan: Plan, records: Rows, rng: np.random.Generator) -> NoisyTables:
    """Return the counts of all levels, and of chosen pairs of groups of them, with noise.

    What is named `exact` is *private*. All else is released, or follows from released numbers.
    """
    n_known, facts = None if is_counted(records) else records.n_known, records.facts
    target, labels = np.ones(facts.n_labels), np.arange(facts.n_labels)
    if facts.has_number:
        exact = records.total(target_counts)["target"]
        levels = _merged_levels(plan, records, exact, rng)
        assert facts.target is not None, "it has a number"
        merge = facts.levels.merge(levels, facts.target)
        counts = counts_from_steps(summed(exact, merge), records.steps)
        target = plan.release("target", counts, rng)
        known = known_counts(target)
        n_labels = _n_labels(plan, float(known.sum()))
        labels = groups_of(known[:, None], n_labels, ordered=True)
        records = relabeled(records, labels[merge])
        exact_tables = records.total(table_counts)
    else:
        exact_tables = records.total(table_counts)
        levels = _merged_levels(plan, records, exact_tables["0"], rng)
    merges = [facts.levels.merge(levels, j) for j in facts.columns]
    tables = _released_tables(plan, records, exact_tables, merges, rng)
    totals = label_totals(tables, n_known)
    places = {facts.target: -1} | {j: i for i, j in enumerate(facts.columns)}
    found = NoisyTables(
        levels=levels,
        tables=tables,
        groups=_groups(plan, facts, tables, totals),
        target=target,
        labels=labels,
        n_known=n_known,
        scales=(plan.scale("tables"), plan.scale("target") if facts.has_number else 0.0),
        complete=tuple(places[j] for j in levels.complete),
    )
    return _with_pairs(plan, records, found, merges, rng) if plan.n_pairs else found


def _merged_levels(
    plan: Plan, records: Rows, exact: np.ndarray, rng: np.random.Generator
) -> Levels:
    """Return levels with fewer bins where records are few, from counts that contain each record.

    The number of records is released first, unless it is public.
    """
    if is_counted(records):
        in_records = counts_from_steps(exact.sum().reshape(1), records.steps)
        noisy = float(plan.release("count", in_records, rng)[0])
        n_records = min(max(noisy, 1.0), _MOST_RECORDS)
    else:
        n_records = float(records.n_records)
    facts = records.facts
    n_labels = facts.n_labels if not facts.has_number else _n_labels(plan, n_records)
    noise = plan.scale("tables") * n_labels
    least = dict.fromkeys(facts.levels.edges, max(_n_bins(n_records, noise), _LEAST_BINS))
    if facts.has_number and facts.target is not None:
        least[facts.target] = max(_n_bins(n_records, plan.scale("target")), MOST_LABELS)
    return facts.levels.merged(least)


def _n_bins(n_records: float, noise: float) -> float:
    """Return how many bins can have counts that exceed the noise."""
    return _BINS * n_records / max(noise, 1.0)


def _n_labels(plan: Plan, n_records: float) -> int:
    scale = plan.scale("pairs" if plan.n_pairs else "tables")
    return _n_groups(_LABELS, n_records, scale, MOST_LABELS)


def _n_groups(factor: float, total: float, scale: float, most: int) -> int:
    """Return a number of groups that `groups_of` makes at most `most` of."""
    n_groups = int(factor * (total / np.hypot(scale, 1.0)) ** _POWER)
    return min(max(n_groups, 2), (most - 1) // 2)  # `groups_of` makes 2·n_groups + 1


def _released_tables(
    plan: Plan, records: Rows, exact: Sums, merges: Sequence[np.ndarray], rng: np.random.Generator
) -> list[np.ndarray]:
    """Return a noisy table of (level, label) for each node."""
    n_labels = records.facts.n_labels
    merged = [summed(exact[str(i)].reshape(-1, n_labels), merge) for i, merge in enumerate(merges)]
    counts = counts_from_steps(np.concatenate(merged).ravel(), records.steps)
    rows = plan.release("tables", counts, rng).reshape(-1, n_labels)
    return np.split(rows, np.cumsum([len(table) for table in merged])[:-1])


def _groups(
    plan: Plan, facts: TreeFacts, tables: Sequence[np.ndarray], totals: np.ndarray
) -> list[np.ndarray]:
    """Return the group of each level, so few that pairs of groups have more records than noise."""
    scale = plan.scale("pairs") if plan.n_pairs else 1.0
    factor = _GROUPS * min(2.0 / totals.size, 1.0) ** 0.25
    n_groups = _n_groups(factor, float(totals.sum()), scale, MOST_GROUPS)
    nominal = facts.levels.nominal
    return [
        groups_of(with_sums(table, totals), n_groups, ordered=j not in nominal)
        for j, table in zip(facts.columns, tables, strict=True)
    ]


def _with_pairs(
    plan: Plan,
    records: Rows,
    found: NoisyTables,
    merges: Sequence[np.ndarray],
    rng: np.random.Generator,
) -> NoisyTables:
    """Choose pairs of nodes, and return the tables with a noisy table of each pair."""
    totals, groups = found.totals, found.groups
    of_levels = [group[merge] for group, merge in zip(groups, merges, strict=True)]
    exact = pair_counts(records, of_levels)
    known = [
        summed(with_sums(table, totals), group)
        for table, group in zip(found.tables, groups, strict=True)
    ]
    cliques = choose_pairs(plan, exact, known, totals, rng)
    edges = cliques.edges
    counts = np.concatenate([exact[edge].ravel() for edge in edges]).astype(float)
    noisy, scale = plan.release_pairs(np.ldexp(counts, -STEP_BITS), len(edges), rng)
    parts = np.split(noisy, np.cumsum([exact[edge].size for edge in edges])[:-1])
    pairs = {edge: part.reshape(exact[edge].shape) for edge, part in zip(edges, parts, strict=True)}
    return replace(found, pairs=pairs, order=cliques.order, scale_of_pairs=scale)
