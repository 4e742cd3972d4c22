"""The transaction of every score and report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.data.records import Records
from skdp.metrics._pairs import pairs_of
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.workloads import Query, QueryPlan

__all__ = ["Evaluation", "Question"]


class Question(ABC):
    """One query about pairs of a true and a predicted value: a frozen dataclass of public settings.

    `name` is that of the public function, and `guess_name` what it calls the predicted values.
    """

    name: ClassVar[str]
    guess_name: ClassVar[str] = "y_pred"

    @abstractmethod
    def checked(self, parameters: ReleaseParameters, pairs: Records[Any]) -> Records[Any]:
        """Return pairs whose facts are this question with all settings known, after checks."""

    @abstractmethod
    def query(self, neighboring: Neighboring) -> Query:
        """Return what is asked."""

    @abstractmethod
    def answer(self, pairs: Records[Any], size: int) -> np.ndarray:
        """Return the *private* answer to the query."""

    @abstractmethod
    def result(
        self,
        answer: np.ndarray,
        *,
        n_samples: int | None,
        privacy: PrivacyGuarantee,
        _variance: float,
    ) -> Any:
        """Return the score or report of the released answer, whose noise has that variance."""


class Evaluation(PrivateFit[Records[Question], QueryPlan, np.ndarray]):
    """A private answer to one question about test rows."""

    takes_infinite_epsilon = False

    def __init__(self, question: Question, noise: str) -> None:
        self.question = question
        self.noise = noise

    @property
    def released_as(self) -> str:  # type: ignore[override]
        return f"metrics.{self.question.name}"

    def _check_data(
        self, parameters: ReleaseParameters, truth: Any, guess: Any, *, groups: Any = None
    ) -> Records[Question]:
        pairs = pairs_of(parameters, truth, guess, self.question.guess_name, groups)
        return self.question.checked(parameters, pairs)

    def _plan(self, parameters: ReleaseParameters, pairs: Records[Question]) -> QueryPlan:
        query = pairs.facts.query(parameters.neighboring)
        return parameters.plan_queries([query], self.noise)

    def _read(
        self, plan: QueryPlan, pairs: Records[Question], rng: np.random.Generator
    ) -> np.ndarray:
        (query,) = plan.queries
        answer = pairs.facts.answer(pairs, query.size)
        if query.integer:
            answer = np.rint(answer).astype(np.int64)
        return plan.release({query.name: answer}, rng)[query.name].astype(float)

    def _publish(
        self,
        plan: QueryPlan,
        pairs: Records[Question],
        released: np.ndarray,
        guarantee: PrivacyGuarantee,
    ) -> Any:
        return pairs.facts.result(
            released,
            n_samples=pairs.n_known,
            privacy=guarantee,
            _variance=plan.mechanism(plan.queries[0].name).expected_loss("l2"),
        )
