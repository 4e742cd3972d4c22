"""The transaction of every score and report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar, Generic, NamedTuple, Self, TypeAlias, TypedDict, TypeVar, Unpack

import numpy as np

from skdp._private_fit import PrivateFit, ReleaseParameters
from skdp.budget import PrivacyBudget
from skdp.data.records import Records
from skdp.data.validation import present
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.support.types import MatrixLike, RandomState, VectorLike
from skdp.workloads import Query, QueryPlan

ResultT = TypeVar("ResultT", covariant=True)


class Known(TypedDict):
    """Facts about a release: number of test records, guarantee, variance of the noise."""

    n_samples: int | None
    privacy: PrivacyGuarantee
    _variance: float


class Question(ABC, Generic[ResultT]):
    """One query about pairs of a true and a predicted value: a frozen dataclass of public settings.

    `name` is the name of the public function, and `guess_name` its parameter of predicted values.
    In `Records`, X has the predicted values and y the true ones.
    """

    name: ClassVar[str]
    guess_name: ClassVar[str] = "y_pred"

    @abstractmethod
    def checked(self, parameters: ReleaseParameters, pairs: Records[None]) -> Records[Self]:
        """Check the pairs, and attach this question with all settings known."""

    @abstractmethod
    def query(self, neighboring: Neighboring) -> Query:
        """Return the query to release."""

    def warn(self, n_records: int, variance: float) -> None:
        """Warn before the spend if a public number of records is small for this noise."""

    @abstractmethod
    def answer(self, pairs: Records[Self], size: int) -> np.ndarray:
        """Return the *private* answer to the query."""

    @abstractmethod
    def result(self, answer: np.ndarray, **known: Unpack[Known]) -> ResultT:
        """Return the score or report of the *released* answer."""


Pairs: TypeAlias = Records[Question[ResultT]]


class Evaluation(PrivateFit[Pairs[ResultT], QueryPlan, np.ndarray]):
    """A private answer to one question about test rows."""

    takes_infinite_epsilon = False

    def __init__(self, question: Question[ResultT], noise: str) -> None:
        self.question = question
        self.noise = noise

    @property
    def released_as(self) -> str:  # type: ignore[override]
        return f"metrics.{self.question.name}"

    def _check_data(
        self,
        parameters: ReleaseParameters,
        truth: VectorLike,
        guess: MatrixLike,
        *,
        groups: VectorLike | None = None,
    ) -> Pairs[ResultT]:
        pairs = Records.of_rows(
            guess,
            truth,
            groups,
            read=_present,
            names=(self.question.guess_name, "y_true", "sample_weight"),
            count_is_public=parameters.neighboring.count_is_public,
        )
        return self.question.checked(parameters, pairs)

    def _plan(self, parameters: ReleaseParameters, pairs: Pairs[ResultT]) -> QueryPlan:
        query = pairs.facts.query(parameters.neighboring)
        return parameters.plan_queries([query], self.noise)

    def _warn(self, parameters: ReleaseParameters, plan: QueryPlan, pairs: Pairs[ResultT]) -> None:
        super()._warn(parameters, plan, pairs)
        if pairs.n_known is not None:
            pairs.facts.warn(pairs.n_known, _noise(plan))

    def _read(self, plan: QueryPlan, pairs: Pairs[ResultT], rng: np.random.Generator) -> np.ndarray:
        (query,) = plan.queries
        answer = pairs.facts.answer(pairs, query.size)
        if query.integer:
            answer = np.rint(answer).astype(np.int64)
        return plan.release({query.name: answer}, rng)[query.name].astype(float)

    def _publish(
        self,
        plan: QueryPlan,
        pairs: Pairs[ResultT],
        released: np.ndarray,
        guarantee: PrivacyGuarantee,
    ) -> ResultT:
        return pairs.facts.result(
            released,
            n_samples=pairs.n_known,
            privacy=guarantee,
            _variance=_noise(plan),
        )


def _noise(plan: QueryPlan) -> float:
    """Return the variance of the noise in each number."""
    return plan.mechanism(plan.queries[0].name).expected_loss("l2")


class Terms(NamedTuple):
    """The parameters that all scores and reports share."""

    epsilon: float
    delta: float | None
    groups: VectorLike | None
    noise: str
    neighboring: str
    budget: PrivacyBudget | None
    random_state: RandomState


def evaluate(
    question: Question[ResultT], truth: VectorLike, guess: MatrixLike, terms: Terms
) -> ResultT:
    """Release the answer to a question."""
    parameters = terms._asdict()
    evaluation = Evaluation(question, parameters.pop("noise"))
    result: ResultT = evaluation._release((truth, guess), **parameters)
    return result


def _present(pairs: Records[None]) -> Records[None]:
    X, y = present(pairs.parameter, pairs.X), present("y_true", pairs.y)
    if np.shape(X)[:1] != np.shape(y)[:1]:
        raise ValueError(f"{pairs.parameter} must have as many rows as y_true.")
    return replace(pairs, X=X, y=y)
