"""Hard tables with known truth: rare, skewed, gappy, tied or loosely bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from releases import Record

__all__ = [
    "FIRST_DAY",
    "LABELS",
    "LEVELS",
    "NUMBERS",
    "N_CATEGORIES",
    "TARGETS",
    "Columns",
    "Target",
    "amounts",
]

N_CATEGORIES = 5
FIRST_DAY = np.datetime64("1950-01-01")


def _of_persons(sizes: np.ndarray, rows: list[Record]) -> list[list[Record]]:
    ends = np.cumsum(sizes)
    return [rows[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _sizes(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Return numbers of rows from 1 to 50 in increasing order: persons with many rows are last."""
    sizes = rng.integers(1, 51, n_rows)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), n_rows))]
    return np.sort([*sizes, n_rows - sizes.sum()])


def _usual(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.beta(1.0, 8.0, n)


@dataclass(frozen=True)
class Columns:
    """Two columns of numbers with public bounds, and all else that a record has.

    `draw` maps a generator and a number of rows to the two columns, and `scores` to probabilities
    of label 1. The target is the first column. `has_dates`: it is read as dates. `has_persons`:
    they have 1 to 50 rows, and those with more have larger numbers.
    """

    name: str
    bounds: tuple[tuple[float, float], tuple[float, float]]
    draw: Callable[[np.random.Generator, int], np.ndarray]
    n_rows: int = 3000
    scores: Callable[[np.random.Generator, int], np.ndarray] = _usual
    n_levels: int = N_CATEGORIES
    has_dates: bool = False
    has_persons: bool = False

    def __str__(self) -> str:
        return self.name

    @cached_property
    def persons(self) -> list[list[Record]]:
        """The rows of each person, the same in each run."""
        rows = self.records
        if not self.has_persons:
            return [[row] for row in rows]
        rows = sorted(rows, key=lambda row: row.numbers[0])
        return _of_persons(_sizes(np.random.default_rng(self.n_rows), self.n_rows), rows)

    @cached_property
    def records(self) -> list[Record]:
        """The rows, the same in each run."""
        rng = np.random.default_rng(sum(map(ord, self.name)))
        numbers = self.draw(rng, self.n_rows)
        code, score = rng.zipf(1.7, self.n_rows) % self.n_levels, self.scores(rng, self.n_rows)
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


def _few_integers(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.column_stack([rng.integers(0, 3, n), rng.binomial(1, 0.3, n)]).astype(float)


def _dependent(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.normal(50.0, 12.0, n)
    return np.column_stack([x, 0.01 * x + rng.normal(0.0, 1e-3, n)])


PLAIN = ((0.0, 100.0), (0.0, 1.0))
_IN_ALL = [
    Columns("plain", PLAIN, _plain),
    Columns("few rows", PLAIN, _plain, 300),
    Columns("many rows", PLAIN, _plain, 30_000),
    Columns("persons", PLAIN, _plain, has_persons=True),
]
NUMBERS = [
    *_IN_ALL,
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
    Columns("dates", ((0.0, 36_500.0), (0.0, 1e6)), _days, has_dates=True),
    Columns("shifted bounds", ((45.0, 145.0), (-0.7, 0.3)), _plain),
    Columns("few integers", ((0.0, 9.0), (0.0, 1.0)), _few_integers),
    Columns("dependent columns", PLAIN, _dependent),
]
"""Tables of numbers for statistics and metrics."""


def _rare(share: float, rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.beta(1.0, 1.0 / share - 1.0, n)


def _tied(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.choice([0.05, 0.1, 0.1, 0.3, 0.6], n)


LABELS = [
    *_IN_ALL,
    Columns("2% positives", PLAIN, _plain, scores=partial(_rare, 0.02)),
    Columns("0.3% positives", PLAIN, _plain, 10_000, scores=partial(_rare, 0.003)),
    Columns("tied scores", PLAIN, _plain, scores=_tied),
]
"""Tables of labels and scores for metrics."""

LEVELS = [
    *_IN_ALL,
    Columns("100 levels", PLAIN, _plain, n_levels=100),
    Columns("3000 levels", PLAIN, _plain, n_levels=3000),
]
"""Tables of categories for statistics."""


def _even(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.uniform(-1.0, 1.0, (n, 2))


@dataclass(frozen=True)
class Target:
    """Two columns in [−1, 1], categories, and a target that depends on the columns.

    `columns` draws the columns, `mean` maps the linear score of a row to the mean of its target,
    and `draw` draws targets. With `n_classes` targets are labels, and `rarest` is the share of the
    rarest. `scale`: columns are so much narrower than their bounds. `gaps`: share of missing values
    in them. `n_levels`: the second column is a category. `has_persons`: they have 1 to 50 rows, and
    those with more have larger first columns.
    """

    name: str
    mean: Callable[[np.ndarray], np.ndarray]
    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    bounds: tuple[float, float] = (0.0, 1.0)
    n_classes: int = 0
    rarest: float = 1.0
    n_rows: int = 4000
    columns: Callable[[np.random.Generator, int], np.ndarray] = _even
    scale: float = 1.0
    gaps: float = 0.0
    n_levels: int = 0
    has_dates: bool = False
    has_persons: bool = False

    def __str__(self) -> str:
        return self.name

    def persons(self, n_rows: int, seed: int) -> list[list[Record]]:
        """Return the rows of each person; the same for equal seeds."""
        rng = np.random.default_rng(seed)
        X = self.columns(rng, n_rows)
        score = X @ [1.5, -1.0]
        y = self.draw(rng, self.mean(score))
        code = np.clip(np.rint(score + rng.normal(0.0, 0.7, n_rows)) + 2, 0, N_CATEGORIES - 1)
        level = rng.zipf(1.3, n_rows) % self.n_levels if self.n_levels else X[:, 0] > 0.0
        X = np.where(rng.random(X.shape) < self.gaps, np.nan, self.scale * X)
        label = y.astype(int) if self.n_classes else np.zeros(n_rows, dtype=int)
        target = np.zeros(n_rows) if self.n_classes else np.clip(y, *self.bounds)
        columns = (X, code.astype(int), level.astype(int), label, target)
        rows = [
            Record(
                numbers=tuple(x),
                categories=(own, other),
                flag=False,
                label=k,
                guess=0,
                target=value,
                guessed=0.0,
                score=0.0,
                weight=1.0,
                key=0,
            )
            for x, own, other, k, value in zip(*(one.tolist() for one in columns), strict=True)
        ]
        if not self.has_persons:
            return [[row] for row in rows]
        return _of_persons(_sizes(rng, n_rows), sorted(rows, key=lambda row: row.numbers[0]))


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


def _plus(rng: np.random.Generator, mean: np.ndarray) -> np.ndarray:
    return mean + rng.normal(0.0, 1.0, len(mean))


def _far_out(rng: np.random.Generator, mean: np.ndarray) -> np.ndarray:
    return mean + rng.standard_t(1.5, len(mean))


def _few(rng: np.random.Generator, mean: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(mean + rng.normal(0.0, 0.6, len(mean))), 0.0, 3.0)


def _gamma(rng: np.random.Generator, mean: np.ndarray) -> np.ndarray:
    return mean * rng.gamma(8.0, 1.0 / 8.0, len(mean))


def _alike(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.uniform(-1.0, 1.0, n)
    return np.column_stack([x, np.clip(x + rng.normal(0.0, 0.02, n), -1.0, 1.0)])


def _line(score: np.ndarray) -> np.ndarray:
    return 1.0 + 2.0 * score


def amounts(factor: float) -> Target:
    """Return positive targets whose bounds are too wide by a factor."""
    name = f"bounds {factor:g} times too wide"
    return Target(name, partial(_times, 5.0), _gamma, (0.0, 25.0 * factor), n_rows=2000)


COLUMNS: dict[str, dict[str, Any]] = {
    "40% gaps": {"gaps": 0.4},
    "persons": {"has_persons": True, "n_rows": 12_000},
    "dependent columns": {"columns": _alike},
    "wide columns": {"scale": 0.1},
    "100 levels": {"n_levels": 100},
    "3000 levels": {"n_levels": 3000},
}
"""Hard columns, for numbers and for classes."""

TARGETS = [
    Target("20% positives", partial(_share, 0.15), _labels, n_classes=2, rarest=0.2),
    Target("2% positives", partial(_share, 0.016), _labels, n_classes=2, rarest=0.02),
    Target("0.3% positives", partial(_share, 0.0024), _labels, n_classes=2, rarest=0.003),
    Target("three classes", partial(_share, 0.3), _three, n_classes=3, rarest=0.03),
    Target("rare counts", partial(_times, 0.05), np.random.Generator.poisson, (0.0, 3.0)),
    Target("zeros and money", partial(_times, 1.0), _money, (0.0, 200.0)),
    Target("log-normal", partial(_times, 20.0), _skewed, (0.0, 500.0)),
    Target("far from the middle", lambda s: 940.0 + 2.0 * s, _near, (0.0, 1000.0)),
    Target("shifted bounds", _line, _plus, (1.0, 15.0)),
    Target("heavy tails", _line, _far_out, (-100.0, 100.0)),
    Target("few integers", lambda s: 1.0 + 0.5 * s, _few, (0.0, 9.0)),
    amounts(1000.0),
    amounts(1e6),
    *(
        Target(f"{name}, {of}", mean, draw, bounds, n_classes, rarest, **more)
        for of, mean, draw, bounds, n_classes, rarest in (
            ("numbers", _line, _plus, (-6.0, 8.0), 0, 1.0),
            ("classes", partial(_share, 0.15), _labels, (0.0, 1.0), 2, 0.2),
        )
        for name, more in COLUMNS.items()
    ),
]
"""Targets for models."""
