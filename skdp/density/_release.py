"""The releases of a fit, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from skdp.data.exact_sums import STEP_BITS, Sums, counts_from_steps
from skdp.density._choice import choose_pairs
from skdp.density._consistency import groups_of, known_counts, label_totals, summed, with_sums
from skdp.density._counts import (
    MOST_LABELS,
    Rows,
    TreeFacts,
    pair_counts,
    relabeled,
    table_counts,
    target_counts,
)
from skdp.density._levels import Levels
from skdp.density._noisy_tables import NoisyTables
from skdp.density._plan import MOST_GROUPS, Plan

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
        labels = _labels(plan, target)
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


def _labels(plan: Plan, target: np.ndarray) -> np.ndarray:
    """Return the label of each level of a numeric target, from noisy counts."""
    known = known_counts(target)
    return groups_of(known[:, None], _n_labels(plan, float(known.sum())), ordered=True)


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
    categories = facts.levels.facts.categories
    return [
        groups_of(with_sums(table, totals), n_groups, ordered=j not in categories)
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
