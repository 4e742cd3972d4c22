"""What a fit released: noisy tables, the density that follows from them, and draws like it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np

from skdp.density._cliques import Cliques
from skdp.density._consistency import fitted_pair, known_counts, label_totals, level_counts, margins
from skdp.density._counts import Pair
from skdp.density._levels import Levels
from skdp.density._model import CliqueModel

_NO_NOISE = 1e-6  # records; without noise nothing is shrunk


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """*Released* tables with noise. Pairs of nodes that have a table connect all nodes.

    Parameters
    ----------
    levels : Levels
        The levels of all columns.
    tables : list of ndarray of shape (n_levels, n_labels)
        The counts of each node.
    groups : list of ndarray of shape (n_levels,)
        The group of each level.
    target : ndarray of shape (n_values,)
        The counts of the values of a numeric target; ones of labels that are values themselves.
    labels : ndarray of shape (n_values,)
        The label of each value.
    n_known : float or None
        *Public.* The number of records, None if it is private.
    scales : tuple of float
        *Public.* The standard deviations of the noise of tables, and of a numeric target; 0 without
        one.
    pairs : dict from pairs of nodes to ndarray of shape (n_groups, n_groups, n_labels)
        The counts of pairs.
    order : tuple of int
        The nodes in an order in which the cliques of all pairs are small.
    scale_of_pairs : float
        The standard deviation of their noise.
    complete : tuple of int
        *Public.* The nodes whose last level is empty by a schema; -1 is the target.
    """

    levels: Levels
    tables: Sequence[np.ndarray]
    groups: Sequence[np.ndarray]
    target: np.ndarray
    labels: np.ndarray
    n_known: float | None
    scales: tuple[float, float]
    pairs: Mapping[Pair, np.ndarray] = field(default_factory=dict)
    order: tuple[int, ...] = (0,)
    scale_of_pairs: float = 1.0
    complete: tuple[int, ...] = ()

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
        weights = np.array([1.0 / len(table) for table in self.tables])
        sums = np.stack([table.sum(axis=0) for table in self.tables])
        return weights @ sums / weights.sum(), self.scales[0] / float(np.sqrt(weights.sum()))
