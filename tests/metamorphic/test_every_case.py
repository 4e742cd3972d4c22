"""What all releases share: their cost, rows in blocks, and persons who count alike.

The cases are those of `test_every_release.py`, of few records and of real sizes, so that a new
release and a new setting are asked at once.
"""

from dataclasses import replace
from itertools import groupby

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import releases as suite
from comparison import domain_of, run
from neighbors import Domain, some_persons
from real_sizes import REAL, RealCase, population
from tape import Tape, recorded

from skdp import PrivacyBudget
from skdp.exceptions import IncompatibleSolverError, OutOfRangeError


def opposites(cases, turn=0):
    """Return two ways of each setting with other relations and, if it has them, other units.

    Settings in turn have all pairs of relation, unit, and weights or keys.
    """
    settings = groupby(cases, key=lambda case: id(case.settings))
    for k, ways in enumerate((list(own) for _, own in settings), turn):
        yield ways[k % len(ways)]
        if len(ways) > 1:
            yield ways[-1 - k % len(ways)]


FEW = [*suite.cases(), *(way for case in suite.variants() for way in suite.ways(case))]
REAL_CASES = [replace(case, in_budget=False) for cases in REAL.values() for case in cases]
ALL = [*FEW, *REAL_CASES]
MOVED = ("cluster.DPKMeans", "density.DPTreeDensity(bounds, categories, target)")
"""Rounding may move a number of these to another cell."""
PERSONS = [
    case
    for case in opposites(case for case in [*suite.cases(), *REAL_CASES] if case.persons)
    if not str(case).startswith(MOVED)
]
SLOW = ("solver", "standard_errors")
"""Settings whose prices take seconds, and are held by `tests/linear_model`."""
PAID = [case for case in ALL if case.name not in suite.MADE and not {*SLOW} & {*case.own}]
EPSILONS = (0.1, 1.0, 8.0)
TARGETS = [(1e-5, "gdp"), (1e-5, "zcdp"), (1e-5, "basic"), (0.0, "pure")]
CHOICES = ("statistics.quantile", "preprocessing.DPMinMaxScaler", "preprocessing.DPQuantileClipper")
WITH_CHOICES = ("density.", "statistics.describe")
ROUNDING = 1e-4
"""Relative: the rows of a person are halves and thirds, each rounded to a step of the sum."""
USUAL = [case for case in FEW if not case.own]
IN_MEMORY = ("calibration.", "model_selection.", "statistics.treatment_effect")
SINGLY = ("survival_curve", "keys=[[", "coordinate_descent")
"""Settings for which only rows in memory are read, as parts of the names of cases."""


def in_turn(cases):
    """Return all ways of usual settings, and one of others: with weights or keys, or without."""
    settings = groupby(cases, key=lambda case: id(case.settings))
    for k, ways in enumerate(list(own) for _, own in settings):
        yield from ways if ways[0] in USUAL else [ways[k % len(ways)]]


def is_read_in_memory(case):
    """Whether a case reads rows in memory only: it refuses collections before the spend."""
    return case.name.startswith(IN_MEMORY) or any(part in str(case) for part in SINGLY)


def each(cases):
    names = [f"{i} {case}" for i, case in enumerate(cases)]
    return pytest.mark.parametrize("case", cases, ids=names)


def ordinary_persons(case):
    """Return persons without extreme values: what a release costs does not depend on its data."""
    rng, domain = np.random.default_rng(0), Domain.ordinary(case.n_numbers)
    return (
        population(case, domain, rng)
        if isinstance(case, RealCase)
        else some_persons(case, domain, 12, rng)
    )


def persons_of(case):
    rng, domain = np.random.default_rng(0), domain_of(case)
    if isinstance(case, RealCase):
        return population(case, domain, rng)
    return some_persons(case, domain, 12, rng)


def with_settings(case, **more):
    known = {name: value for name, value in more.items() if name in case.parameters}
    return replace(case, settings={**case.settings, **known})


def check_cost(case, delta, composition):
    asked, unit = case.settings["epsilon"], "person" if case.persons else "record"
    data = case.arguments(ordinary_persons(case))
    if composition == "pure":
        case = with_settings(case, noise="laplace")
    terms = {"composition": composition, "neighboring": case.relation, "unit": unit}
    budget = PrivacyBudget(epsilon=3.0 * asked, delta=2.0 * delta, **terms)
    paid = with_settings(case, budget=budget, delta=delta, random_state=None)
    result = paid.release(data)
    privacy = getattr(result, "privacy_", getattr(result, "privacy", None))
    (row,) = budget.history()
    assert case.name.endswith(row["label"])
    assert row["epsilon"] == pytest.approx(asked, rel=1e-6)
    assert (privacy.unit, privacy.neighboring) == (unit, case.relation)
    # A budget that counts in Gaussians plans a choice by the Gaussian release that covers it.
    least = 0.9997 if not case.name.startswith(WITH_CHOICES) else 0.97
    least = 0.6 if case.name in CHOICES and composition in ("gdp", "zcdp") else least
    assert least * asked <= privacy.epsilon(delta) <= asked * (1.0 + 1e-9)
    if composition == "gdp" and hasattr(case.kind, "fit") and "estimator" not in case.parameters:
        unpaid = with_settings(paid, budget=None)
        priced = budget.price(unpaid.made(), **data)
        assert priced.epsilon == pytest.approx(privacy.epsilon(2.0 * delta), rel=1e-6)


@pytest.mark.parametrize(("delta", "composition"), TARGETS)
@pytest.mark.parametrize("name", dict.fromkeys(case.name for case in PAID))
def test_a_release_costs_what_was_asked(name, delta, composition):
    cases = [case for case in PAID if case.name == name and case in FEW]
    turn = TARGETS.index((delta, composition))
    for i, case in enumerate(opposites(cases if turn == 0 else suite.ways(cases[0]), turn)):
        if "epsilon" not in case.own:
            case = with_settings(case, epsilon=EPSILONS[i % 3])
        try:
            check_cost(case, delta, composition)
        except (IncompatibleSolverError, OutOfRangeError):
            assert delta == 0.0 or case.own


@each([*opposites(case for case in PAID if isinstance(case, RealCase))])
def test_a_release_of_many_records_costs_what_was_asked(case):
    check_cost(case, 1e-5, "gdp")


def in_blocks(column):
    """Return a column or a table as a collection of Dask, whose columns are cut as well."""
    if isinstance(column, np.ndarray):
        return da.from_array(column, chunks=(max(len(column) // 3, 1), *[1] * (column.ndim - 1)))
    frame = column if isinstance(column, pd.DataFrame) else pd.Series(column)
    return dd.from_pandas(frame, npartitions=3)


RECORDS = [case for case in ALL if not case.persons and case.relation == "replace_one"]


@each([*in_turn(case for case in RECORDS if not is_read_in_memory(case))])
@pytest.mark.usefixtures("one_thread")
def test_rows_in_blocks_give_the_bits_of_rows_in_memory(case):
    data = case.arguments(persons_of(case))
    if case.weighted and case.settings.get("solver") == "adassp":
        return  # it takes no weights
    answers = []
    for read in (lambda column: column, in_blocks):
        with recorded(Tape()) as tape:
            case.release({name: read(column) for name, column in data.items()})
        answers.append(tape.answers)
    assert [(one.name, one.values.tobytes()) for one in answers[0]] == [
        (one.name, one.values.tobytes()) for one in answers[1]
    ]


@each(PERSONS)
def test_persons_count_alike(case):
    """Each row of some persons three times or twice, and of others once, changes nothing."""
    persons = persons_of(replace(case, persons=False))
    copied = [rows * (1 + i % 3) for i, rows in enumerate(persons)]
    (first, _), (second, _) = run(case, persons), run(case, copied)
    for one, other in zip(first.answers, second.answers, strict=True):
        assert one.name == other.name
        size = 1.0 + np.abs(one.values).max(initial=0.0)
        assert np.abs(one.values - other.values).max(initial=0.0) <= ROUNDING * size
