"""Random Fourier features: waves along random directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skdp.features.base import FeatureMap
from skdp.features.table import TableFacts
from skdp.support.validation import check_count, check_size

__all__ = ["FourierMap"]


@dataclass(frozen=True, eq=False, kw_only=True)
class FourierMap(FeatureMap):
    """[cos Wz, sin Wz]/√(D/2), for z of numbers 2u − 1 and of categories as ones over √3.

    Rows of W are N(0, τ²·3/p), with p columns of the table: W·z is about as wide as τ. Of an odd D
    the last row is 0, which has a cosine, 1, and no sine that would differ from 0.

    Parameters
    ----------
    facts : TableFacts
        *Public.* What the columns are.
    n_components : int
        *Public.* D.
    scale : float
        *Public.* τ.
    feature_seed : int
        *Public.* From which W follows.
    """

    facts: TableFacts
    n_components: int = 500
    scale: float = 2.0
    feature_seed: int = 0

    @classmethod
    def of(
        cls, facts: TableFacts, *, n_components: Any = 500, scale: Any = 2.0, feature_seed: Any = 0
    ) -> FourierMap:
        """Return what the parameters of an estimator say, checked."""
        return cls(
            facts=facts,
            n_components=check_count("n_components", n_components),
            scale=check_size("scale", scale),
            feature_seed=check_count("feature_seed", feature_seed, low=0),
        )

    @property
    def n_features_out(self) -> int:
        return self.n_components

    @property
    def cost(self) -> int:
        return 8

    @cached_property
    def directions(self) -> np.ndarray:
        """W without the row of zeros, of shape (D // 2, entries of z); public."""
        facts = self.facts
        size = len(facts.numbers) * (1 + facts.has_missing) + sum(map(facts.size, facts.categories))
        W = np.random.default_rng(self.feature_seed).standard_normal((self.n_components // 2, size))
        return W * (self.scale * math.sqrt(3.0 / facts.n_columns))

    def expand(self, rows: np.ndarray) -> np.ndarray:
        angles = self.directions @ self._inputs(rows)
        half, waves = self.n_components // 2, self.n_components - self.n_components % 2
        out = np.ones((self.n_components, len(rows)))
        np.cos(angles, out=out[:half])
        np.sin(angles, out=out[half:waves])
        out /= math.sqrt(self.n_components - half)
        return out.T

    def _inputs(self, rows: np.ndarray) -> np.ndarray:
        """Return z, a column a row: numbers, ones where they are missing, and categories."""
        z = np.zeros((self.directions.shape[1], len(rows)))
        u, p = self.facts.unit_interval(rows), len(self.facts.numbers)
        unknown = np.isnan(u)
        z[:p] = np.where(unknown, 0.0, 2.0 * u - 1.0)
        if self.facts.has_missing:
            z[p : 2 * p] = unknown
        start = p * (1 + self.facts.has_missing)
        for j in self.facts.categories:
            self.facts.one_hot(j, rows[:, j], z[start : start + self.facts.size(j)])
            start += self.facts.size(j)
        z[p:] /= math.sqrt(3.0)
        return z

    def names(self, columns: Sequence[Any]) -> list[str]:
        half, odd = range(self.n_components // 2), self.n_components % 2
        return [f"cos{k}" for k in half] + [f"sin{k}" for k in half] + ["constant"] * odd
