"""Noisy sums over test rows of numbers that each row has, for one score."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.data.blocks import Block
from skdp.data.exact_sums import exact_sums
from skdp.metrics._estimate import interval_of, ratio
from skdp.metrics._pairs import Pairs
from skdp.metrics._score import Score
from skdp.privacy import PrivacyGuarantee
from skdp.workloads import Query, QueryPlan
from skdp.workloads.plan import ROUNDED_ONCE

__all__ = ["RowMean", "RowSums", "SummedPairs"]

_AT_ONCE = 2**16  # rows
_SUMS = "sums"


@dataclass(frozen=True, eq=False, repr=False)
class SummedPairs:
    """*Private* pairs, and public facts that were checked with them."""

    pairs: Pairs
    facts: Any = None

    @property
    def n_records(self) -> int:
        """The number of records: of rows, or of persons."""
        return self.pairs.n_records


class RowSums(PrivateFit):
    """The transaction of a score that is a function of sums over rows."""

    takes_infinite_epsilon = False
    guess_name: ClassVar[str] = "y_pred"

    def __init__(self, noise: str) -> None:
        self.noise = noise

    @abstractmethod
    def _query(self, count_is_public: bool) -> Query:
        """Return what is asked."""

    @abstractmethod
    def _rows(self, facts: Any, truth: Any, guess: Any) -> list[np.ndarray]:
        """Return the numbers that some rows have, a column for each sum that may be asked."""

    @abstractmethod
    def _score(
        self,
        facts: Any,
        *,
        sums: np.ndarray,
        n_samples: int | None,
        noise: float,
        privacy: PrivacyGuarantee,
    ) -> Score:
        """Return the score of released sums, each with noise of that variance."""

    def _plan(self, parameters: ReleaseParameters, records: SummedPairs) -> QueryPlan:
        query = self._query(parameters.neighboring.count_is_public)
        return parameters.plan_queries([query], self.noise)

    def _read(self, plan: QueryPlan, records: SummedPairs, rng: np.random.Generator) -> np.ndarray:
        query = plan.queries[0]
        rows = partial(_of_block, self._rows, records.facts, query.size)
        sums = exact_sums({_SUMS: query.size}, records.pairs, records.pairs.of_records(rows))
        if query.integer:
            sums = {_SUMS: np.rint(sums[_SUMS]).astype(np.int64)}
        return plan.release(sums, rng)[_SUMS].astype(float)

    def _publish(
        self, plan: QueryPlan, records: SummedPairs, released: Any, guarantee: PrivacyGuarantee
    ) -> Score:
        return self._score(
            records.facts,
            sums=released,
            n_samples=records.n_records if guarantee.neighboring.count_is_public else None,
            noise=plan.mechanism(_SUMS).expected_loss("l2"),
            privacy=guarantee,
        )


class RowMean(RowSums):
    """The mean over rows of a number x in [0, 1].

    Where the number of rows is private, the sum of 1 − x is released beside that of x: a row adds
    (x, 1 − x), of length 1 at most in l1 and in l2, and both together are the number of rows.
    """

    integer: ClassVar[bool] = False

    @abstractmethod
    def _losses(self, facts: Any, truth: Any, guess: Any) -> np.ndarray:
        """Return x of some rows."""

    def _unit(self, facts: Any) -> float:
        """Return what x = 1 stands for."""
        return 1.0

    def _query(self, count_is_public: bool) -> Query:
        exact = 1.0 if self.integer else ROUNDED_ONCE
        size = 1 if count_is_public else 2
        return Query(
            _SUMS,
            size=size,
            linf_sensitivity=exact,
            l0_sensitivity=1 if self.integer else size,
            l1_sensitivity=exact,
            l2_sensitivity=exact,
            integer=self.integer,
        )

    def _rows(self, facts: Any, truth: Any, guess: Any) -> list[np.ndarray]:
        x = self._losses(facts, truth, guess).astype(float)
        return [x, 1.0 - x]

    def _score(
        self,
        facts: Any,
        *,
        sums: np.ndarray,
        n_samples: int | None,
        noise: float,
        privacy: PrivacyGuarantee,
    ) -> Score:
        unit = self._unit(facts)
        between = partial(_interval_of_mean, sums, n_samples, noise, unit)
        value = unit * _mean(n_samples, sums)
        return Score(value=value, n_samples=n_samples, privacy=privacy, _between=between)


def _mean(n_samples: int | None, sums: np.ndarray) -> float:
    return float(ratio(sums[0], float(sums.sum() if n_samples is None else n_samples)))


def _interval_of_mean(
    sums: np.ndarray,
    n_samples: int | None,
    noise: float,
    unit: float,
    level: float,
    *,
    sampling: bool,
) -> tuple[float, float]:
    """Return an interval; numbers in [0, 1] of mean m have a variance of m·(1 − m) at most."""
    total = float(sums.sum() if n_samples is None else n_samples)
    mean = min(max(_mean(n_samples, sums), 0.0), 1.0)
    spread = mean * (1.0 - mean) / total if sampling and total > 0.0 else 0.0
    low, high = interval_of(
        partial(_mean, n_samples),
        sums,
        lambda slopes: noise * float(slopes @ slopes) + spread,
        level,
        (0.0, 1.0),
    )
    return unit * low, unit * high


def _of_block(rows: Any, facts: Any, size: int, block: Block) -> Iterator[dict[str, np.ndarray]]:
    """Yield what rows add to the sums."""
    truth, guess = block.y, block.X
    for start in range(0, len(truth), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        yield {_SUMS: np.stack(rows(facts, truth[some], guess[some])[:size], axis=1)}
