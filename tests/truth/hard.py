"""Hard tables with known truth: rare, skewed, gappy, tied or loosely bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from releases import Record

__all__ = ["NUMBERS", "TARGETS", "Columns", "Target"]

N_CATEGORIES = 5


@dataclass(frozen=True)
class Columns:
    """Two columns of numbers with public bounds, and all else that a record has.

    `draw` maps a generator and a number of rows to the two columns. The target is the first one.
    """

    name: str
    bounds: tuple[tuple[float, float], tuple[float, float]]
    draw: Callable[[np.random.Generator, int], np.ndarray]
    n_rows: int = 3000

    def __str__(self) -> str:
        return self.name

    @cached_property
    def records(self) -> list[Record]:
        """The rows, the same in each run."""
        rng = np.random.default_rng(sum(map(ord, self.name)))
        numbers = self.draw(rng, self.n_rows)
        code, score = rng.zipf(1.7, self.n_rows) % N_CATEGORIES, rng.beta(1.0, 8.0, self.n_rows)
        flag = rng.random(self.n_rows) < 0.02
        label = np.where(rng.random(self.n_rows) < 0.04, 2, rng.random(self.n_rows) < score)
        return [
            Record(
                numbers=tuple(numbers[i]),
                categories=(int(code[i]), int(code[i] == 0)),
                flag=bool(flag[i]),
                label=int(label[i]),
                guess=int(score[i] > 0.3),
                target=numbers[i, 0],
                guessed=0.9 * numbers[i, 0],
                score=float(score[i]),
                weight=1.0,
                key=int(code[i]),
            )
            for i in range(self.n_rows)
        ]


def _gappy(share: float, rng: np.random.Generator, n: int) -> np.ndarray:
    rows = np.column_stack([rng.lognormal(4.0, 0.5, n), rng.integers(0, 90, n).astype(float)])
    rows[rng.random((n, 2)) < share] = np.nan
    return rows


def _wide(scale: float, rng: np.random.Generator, n: int) -> np.ndarray:
    return np.column_stack([rng.lognormal(np.log(scale), 0.8, n), rng.normal(0.0, scale, n)])


def _zeros(rng: np.random.Generator, n: int) -> np.ndarray:
    money = rng.lognormal(6.0, 1.0, n) * (rng.random(n) < 0.05)
    return np.column_stack([money, (rng.random(n) < 0.05).astype(float)])


def _ties(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.column_stack([rng.integers(18, 24, n), 100.0 * rng.geometric(0.3, n)]).astype(float)


def _shifted(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.column_stack([rng.normal(990.0, 2.0, n), rng.normal(-0.95, 0.01, n)])


def _heavy(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.column_stack([rng.standard_cauchy(n), rng.pareto(1.1, n)])


def _plain(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.column_stack([rng.normal(50.0, 12.0, n), rng.uniform(0.0, 1.0, n)])


def _days(rng: np.random.Generator, n: int) -> np.ndarray:
    days = np.floor(rng.beta(5.0, 2.0, n) * 36_500)
    return np.column_stack([days, 1000.0 * rng.poisson(30.0, n)])


NUMBERS = [
    Columns("plain", ((0.0, 100.0), (0.0, 1.0)), _plain),
    Columns("few rows", ((0.0, 100.0), (0.0, 1.0)), _plain, 300),
    Columns("10% gaps", ((0.0, 500.0), (0.0, 120.0)), partial(_gappy, 0.1)),
    Columns("40% gaps", ((0.0, 500.0), (0.0, 120.0)), partial(_gappy, 0.4)),
    Columns("bounds 10 times too wide", ((0.0, 100.0), (-30.0, 30.0)), partial(_wide, 1.0)),
    Columns("bounds 1000 times too wide", ((0.0, 1e4), (-3e3, 3e3)), partial(_wide, 1.0)),
    Columns("bounds 10^6 times too wide", ((0.0, 3e10), (-3e10, 3e10)), partial(_wide, 3e4)),
    Columns("95% zeros", ((0.0, 50_000.0), (0.0, 3.0)), _zeros),
    Columns("ties", ((0.0, 100.0), (0.0, 5000.0)), _ties),
    Columns("far from the middle", ((0.0, 1000.0), (-1.0, 1.0)), _shifted),
    Columns("heavy tails", ((-1e4, 1e4), (0.0, 1e4)), _heavy),
    Columns("days", ((0.0, 36_500.0), (0.0, 1e6)), _days),
]
"""Tables for statistics and metrics."""


@dataclass(frozen=True)
class Target:
    """Two columns in [−1, 1], a category, and a target that depends on them.

    `mean` maps the linear score of a row to the mean of its target; `draw` draws targets. With
    `classes` targets are labels.
    """

    name: str
    mean: Callable[[np.ndarray], np.ndarray]
    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    bounds: tuple[float, float] = (0.0, 1.0)
    n_classes: int = 0

    def __str__(self) -> str:
        return self.name

    def records(self, n_rows: int, seed: int) -> list[Record]:
        """Return rows; the same for equal seeds."""
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.0, 1.0, (n_rows, 2))
        score = X @ [1.5, -1.0]
        y = self.draw(rng, self.mean(score))
        code = np.clip(np.rint(score + rng.normal(0.0, 0.7, n_rows)) + 2, 0, N_CATEGORIES - 1)
        is_class = self.n_classes > 0
        return [
            Record(
                numbers=tuple(X[i]),
                categories=(int(code[i]), int(X[i, 0] > 0.0)),
                flag=False,
                label=int(y[i]) if is_class else 0,
                guess=0,
                target=0.0 if is_class else float(y[i]),
                guessed=0.0,
                score=0.0,
                weight=1.0,
                key=0,
            )
            for i in range(n_rows)
        ]


def _share(base: float, score: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-(np.log(base / (1.0 - base)) + score)))


def _labels(rng: np.random.Generator, mean: np.ndarray) -> np.ndarray:
    return (rng.random(len(mean)) < mean).astype(int)


def _three(rng: np.random.Generator, mean: np.ndarray) -> np.ndarray:
    rare = rng.random(len(mean)) < 0.03
    return np.where(rare, 2, _labels(rng, mean))


def _times(factor: float, score: np.ndarray) -> np.ndarray:
    return factor * np.exp(0.4 * score)


def _money(rng: np.random.Generator, mean: np.ndarray) -> np.ndarray:
    return (rng.random(len(mean)) < 0.05) * rng.lognormal(0.0, 0.8, len(mean)) * 20.0 * mean


def _skewed(rng: np.random.Generator, mean: np.ndarray) -> np.ndarray:
    return mean * rng.lognormal(0.0, 0.6, len(mean))


def _near(rng: np.random.Generator, mean: np.ndarray) -> np.ndarray:
    return mean + rng.normal(0.0, 2.0, len(mean))


TARGETS = [
    Target("20% positives", partial(_share, 0.15), _labels, n_classes=2),
    Target("2% positives", partial(_share, 0.016), _labels, n_classes=2),
    Target("three classes", partial(_share, 0.3), _three, n_classes=3),
    Target("rare counts", partial(_times, 0.05), np.random.Generator.poisson, (0.0, 3.0)),
    Target("zeros and money", partial(_times, 1.0), _money, (0.0, 200.0)),
    Target("log-normal", partial(_times, 20.0), _skewed, (0.0, 500.0)),
    Target("far from the middle", lambda s: 940.0 + 2.0 * s, _near, (0.0, 1000.0)),
]
"""Targets for models."""
