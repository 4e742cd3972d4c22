"""Tables of cliques that have given tables of pairs as margins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from skdp.density._cliques import Cliques
from skdp.density._consistency import ratio
from skdp.density._counts import Pair

_ROUNDS = 10  # more change little, and tables with noise do not agree exactly


def fitted_cliques(
    cliques: Cliques,
    margins: Sequence[np.ndarray],
    pairs: Mapping[Pair, np.ndarray],
    totals: np.ndarray,
) -> list[np.ndarray]:
    """Return the counts of the clique of each node, of shape (n_labels, *parents, node).

    Nodes start as independent given the label. Then the tables of pairs, of shape (n_values,
    n_values, n_labels), are fitted in turn (iterative proportional fitting), which leads to the
    distribution of the largest entropy with these margins. Each round walks along the tree of
    cliques, and takes what changed to the next clique. A tree of pairs needs one round.
    """
    tables = [_independent(cliques, i, margins, totals) for i in range(len(margins))]
    fit = _Fit(cliques, tables, pairs)
    is_tree = all(len(parents) < 2 for parents in cliques.parents)
    for _ in range(1 if is_tree else _ROUNDS):
        fit.walk()
    return tables


def _independent(
    cliques: Cliques, i: int, margins: Sequence[np.ndarray], totals: np.ndarray
) -> np.ndarray:
    """Return the counts of a clique of nodes that are independent given the label."""
    table = totals
    for k in cliques.scope(i):
        table = table[..., None] * _placed((margins[k] / totals).T, [0, table.ndim], table.ndim + 1)
    return table


def _placed(table: np.ndarray, axes: Sequence[int], n_axes: int) -> np.ndarray:
    """Return a table whose axes are some of `n_axes` axes, in their order."""
    return np.expand_dims(table, [axis for axis in range(n_axes) if axis not in axes])


class _Fit:
    """Tables of cliques, which are changed in place. Axis 0 is the label."""

    def __init__(
        self, cliques: Cliques, tables: list[np.ndarray], pairs: Mapping[Pair, np.ndarray]
    ) -> None:
        self.cliques, self.tables = cliques, tables
        self.pairs: list[list[tuple[Pair, np.ndarray]]] = [[] for _ in tables]
        for (i, j), table in pairs.items():
            if (home := cliques.home((i, j))) == i:
                i, j, table = j, i, table.swapaxes(0, 1)
            self.pairs[home].append(((i, j), np.moveaxis(table, 2, 0)))

    def walk(self) -> None:
        """Fit the clique of each node, from the first one down the tree and back.

        There may be more nodes in a line than Python allows calls within calls.
        """
        ahead = [(self.cliques.order[0], True)]
        while ahead:
            i, is_new = ahead.pop()
            shared = self.cliques.parents[i]
            if not is_new:
                self._set_margin(shared[-1], shared, self._margin(i, shared))
                continue
            if shared:
                self._set_margin(i, shared, self._margin(shared[-1], shared))
                ahead.append((i, False))
            for pair, wanted in self.pairs[i]:
                self._set_margin(i, pair, wanted)
            ahead += [(child, True) for child in reversed(self.cliques.children(i))]

    def _axes(self, i: int, nodes: Sequence[int]) -> list[int]:
        scope = self.cliques.scope(i)
        return [0, *(1 + scope.index(k) for k in nodes)]

    def _margin(self, i: int, nodes: Sequence[int]) -> np.ndarray:
        """Return the counts of the label and of some nodes of a clique, in their order."""
        axes = self._axes(i, nodes)
        return self.tables[i].sum(axis=tuple({*range(self.tables[i].ndim)} - {*axes}))

    def _set_margin(self, i: int, nodes: Sequence[int], wanted: np.ndarray) -> None:
        change = ratio(wanted, self._margin(i, nodes))
        self.tables[i] *= _placed(change, self._axes(i, nodes), self.tables[i].ndim)
