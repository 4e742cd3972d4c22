"""Results of the statistics: noise, intervals, labels, displays, house rules, groups by keys."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from itertools import product
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from skdp.data.column import check_plain, received
from skdp.data.column_facts import category_codes, check_comparable, checked_keys
from skdp.data.columns import Columns, frame_names, is_label, own_name
from skdp.data.records import Records
from skdp.mechanisms import AdditiveMechanism, Gaussian
from skdp.privacy import Neighboring, PrivacyGuarantee
from skdp.support.display import html_table
from skdp.support.types import KeysLike, Label, MatrixLike, VectorLike
from skdp.support.validation import check_choice, check_real
from skdp.workloads import QueryPlan

# No guarantee rests on these: they set the precision of intervals.
_BITS = 12  # 2^12 points represent the joint distribution of the noise
_LEAST_RISK = 0.005  # for smaller risks too few points lie outside
_AT_ONCE = 2**8  # sums
_MANY = 16  # terms of a sum that is about normal

_OUTWEIGHS = 0.25  # of what a warning names; no guarantee rests on it
MOST_OF_COUNTS = 1.0  # the same for an average count: the largest ones are several times as large

Terms = Sequence[tuple[str | AdditiveMechanism, float | np.ndarray]]
"""Names of queries, or mechanisms, and the factors of one number of each."""

SAMPLING = Gaussian(sensitivity=1.0, scale=1.0)
"""A term of sums of noise; its factor is the standard deviation of the sampling error."""


def effect_of_noise(
    of: str, n_parts: Callable[[Any], int], most: float = _OUTWEIGHS
) -> Callable[..., str | None]:
    """Return the method `_effect_of_noise` of a statistic of rows in parts, by its facts.

    It compares noise with `most` of what the rows of an average part can change, named by `of`.
    """

    def effect(_: object, plan: Any, records: Records[Any]) -> str | None:
        share = largest_noise(plan) * n_parts(records.facts) / max(records.n_records, 1)
        if share <= most:
            return None
        return (
            f"the noise may be {share:.0%} of {of}. Use more records, a larger epsilon, or fewer "
            "groups, cells or columns."
        )

    return effect


def largest_noise(plan: Any) -> float:
    """Return a bound in rows that noise exceeds in 5 % of releases, about."""
    if not isinstance(plan, QueryPlan):
        return float(plan.rank_error(0.05, 0.01))  # values fill a hundredth of a fine grid
    return max(half_width(plan, query.name, 0.05) for query in plan.queries)


def half_width(plan: QueryPlan, name: str, risk: float) -> float:
    """Return a bound that the noise of a query exceeds with probability at most `risk`."""
    return _width(plan.mechanism(name), risk)


def _width(mechanism: AdditiveMechanism, risk: float) -> float:
    rounding = 0.0 if mechanism.step == 1.0 else mechanism.step * 2  # none on the integers
    return float(mechanism.quantile(1.0 - 0.5 * risk)) + rounding


def sum_half_widths(plan: QueryPlan, terms: Terms, risk: float) -> np.ndarray:
    """Return bounds that sums of independent noise exceed with probability of about `risk`.

    One number of each term is multiplied by its factor; arrays of factors make as many sums. The
    bound is exact for one term and for Gaussian noise. Otherwise it comes from points that
    represent the joint distribution, and for very small risks from a union bound, which is larger.
    """
    shape = np.broadcast_shapes(*(np.shape(factor) for _, factor in terms))
    mechanisms = [plan.mechanism(one) if isinstance(one, str) else one for one, _ in terms]
    factors = [np.abs(np.broadcast_to(factor, shape).ravel()) for _, factor in terms]
    each = [_width(one, risk / len(mechanisms)) for one in mechanisms]  # a union bound
    widths = np.asarray(np.sum([w * f for w, f in zip(each, factors, strict=True)], axis=0))
    gaussians = [one for one in mechanisms if isinstance(one, Gaussian)]
    if len(gaussians) == len(terms):
        widths = np.minimum(widths, _normal(gaussians, factors, risk))
    elif len(terms) > 1 and risk >= _LEAST_RISK:
        widths = np.minimum(widths, _spread(tuple(mechanisms), np.array(factors), risk))
    return widths.reshape(shape)


def lines_of_rest(
    plan: QueryPlan, most: float, tables: Iterable[tuple[str, str, np.ndarray]]
) -> tuple[str, ...]:
    """Return a line on the records in no cell of each table, by its label, query and counts.

    They are computed from the noisy counts at no cost of privacy. There are no lines if the number
    of all records is private.
    """
    return () if math.isinf(most) else tuple(_line_of_rest(plan, most, *one) for one in tables)


def _line_of_rest(plan: QueryPlan, most: float, label: str, query: str, cells: np.ndarray) -> str:
    rest, risk = most - cells.sum(), 1.0 - _LEVEL
    if cells.size < _MANY:
        width = float(sum_half_widths(plan, [(query, 1.0)] * cells.size, risk))
    else:
        variance = cells.size * plan.mechanism(query).expected_loss("l2")
        width = float(ndtri(1.0 - 0.5 * risk)) * math.sqrt(variance)
    if 2.0 * width >= most:
        return f"{label}: unknown, as the noise outweighs the number"
    found, low, high = np.clip([rest, rest - width, rest + width], 0.0, most)
    return f"{label}: {found:.6g} of {most:.6g}, 95 % interval [{low:.6g}, {high:.6g}]"


def _normal(
    mechanisms: Sequence[Gaussian], factors: Sequence[np.ndarray], risk: float
) -> np.ndarray:
    scales = [one.scale * factor for one, factor in zip(mechanisms, factors, strict=True)]
    rounding = [2.0 * one.step * f for one, f in zip(mechanisms, factors, strict=True)]
    deviations = np.sqrt(np.sum(np.square(scales), axis=0))
    return np.asarray(float(ndtri(1.0 - 0.5 * risk)) * deviations + np.sum(rounding, axis=0))


def _spread(
    mechanisms: tuple[AdditiveMechanism, ...], factors: np.ndarray, risk: float
) -> np.ndarray:
    """Return quantiles of absolute sums, some at a time."""
    points = _points(mechanisms)
    found = [
        np.quantile(np.abs(points @ factors[:, start : start + _AT_ONCE]), 1.0 - risk, axis=0)
        for start in range(0, factors.shape[1], _AT_ONCE)
    ]
    return np.concatenate(found)


@lru_cache(maxsize=16)
def _points(mechanisms: tuple[AdditiveMechanism, ...]) -> np.ndarray:
    """Return the noise of each mechanism at points of a Sobol sequence, a row for each point."""
    levels = qmc.Sobol(len(mechanisms), scramble=False).random_base2(_BITS)
    levels += math.ldexp(0.5, -_BITS)
    columns = [one.quantile(p) for one, p in zip(mechanisms, levels.T, strict=True)]
    return np.stack(columns, axis=1)


_LEVEL = 0.95
NONE_OF_THESE = "None of these values"
_MOST_GROUPS = 2**20  # each group has several numbers in memory
_BOOLEANS = (bool, np.bool_)

Numbers: TypeAlias = float | np.ndarray
"""One number, or an array."""

Axes: TypeAlias = tuple[tuple[str, Sequence[Label]], ...]
"""Name and labels of each axis of an array."""


@dataclass(frozen=True)
class Labels:
    """*Public* labels of released numbers, the library of frames, and lines on the records left."""

    axes: Axes
    library: str
    rest: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Statistic(ABC):
    """A released number, or an array of them.

    Parameters
    ----------
    value : float or ndarray
        *Released.*
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    _labels : object
        *Public.* The labels in `to_frame`.

    Examples
    --------
    >>> from skdp.statistics import mean
    >>> table = [[20, 1], [30, 0], [70, 1], [40, 1]] * 1000
    >>> found = mean(table, epsilon=1.0, bounds={0: (0, 100), 1: (0, 1)}, random_state=0)
    >>> found.to_frame()[["estimate", "lower", "upper"]].round(2).to_dict("list")
    {'estimate': [39.94, 0.75], 'lower': [39.78, 0.75], 'upper': [40.09, 0.75]}
    """

    value: Any
    privacy: PrivacyGuarantee
    _labels: Labels = field(kw_only=True)

    @property
    def notes(self) -> tuple[str, ...]:
        """*Released.* Sentences about numbers that are nan or doubtful."""
        index = zip(*(labels for _, labels in self._index()), strict=True)
        names = [", ".join(map(str, key)) for key in index]
        lost = [name for name, x in zip(names or [""], np.ravel(self.value), strict=True) if x != x]
        if not lost:
            return ()
        return (
            f"The noise outweighs {'; '.join(lost) or 'the number'}: the estimate is nan. Use "
            "narrower bounds, more rows, or a larger epsilon.",
        )

    @abstractmethod
    def _ends(self, risk: float) -> tuple[Numbers, Numbers]:
        """Return ends of intervals, each of which misses its number with probability `risk`."""

    def interval(
        self, level: float | None = None, *, simultaneous: bool = False
    ) -> tuple[Any, Any]:
        """Return intervals for the statistic of the same data without noise.

        Those of differences and survival curves are for the population: they also count sampling.

        Parameters
        ----------
        level : float in (0, 1) or None, default None
            *Public.* Probability, over the noise, that an interval contains its number. It is
            approximate for functions of several noisy numbers. Intervals contain their number more
            often if rows are few for the noise, and for counts with little noise. ``None``: 0.95.
            Quantiles have intervals only at the level of their release.
        simultaneous : bool, default False
            *Public.* Whether `level` holds for all intervals at once, by a union bound, instead of
            each by itself. Not available for quantiles.

        Returns
        -------
        low, high : float or ndarray
            *Released.* They have the shape of `value`.

        Raises
        ------
        ValueError
            If `level` is not in (0, 1), or quantiles have no such intervals.
        """
        risk = risk_of(_LEVEL if level is None else level)
        low, high = self._ends(risk / (np.size(self.value) if simultaneous else 1))
        return shown(low), shown(high)

    def to_frame(
        self,
        level: float | None = None,
        *,
        simultaneous: bool = False,
        rounded: str | None = None,
    ) -> MatrixLike:
        """Return the numbers and their intervals as a data frame.

        Parameters
        ----------
        level : float in (0, 1) or None, default None
            *Public.* As in `interval`.
        simultaneous : bool, default False
            *Public.* As in `interval`.
        rounded : {"census", "census_2000", "cms", "ofqual", "uk_llc"} or None, default None
            *Public.* Rule of an office by which noisy numbers are rounded or masked, at no cost of
            privacy (*Tables as they are published* in the user guide). It adds the column
            published, and masked numbers are nan.

        Returns
        -------
        DataFrame
            One row per number, with the columns estimate, lower, upper and level. It is a polars
            frame with columns of labels if the data were polars, else a pandas frame indexed by
            labels. Without intervals lower, upper and level are nan.
        """
        columns: Mapping[str, Any] = self._columns(level, simultaneous)
        if rounded is not None:
            columns = rounded_columns(rounded, columns, self._are_counts())
        return framed(self._index(), columns, self._labels.library)

    def _are_counts(self) -> list[bool]:
        return [False] * np.size(self.value)

    def _index(self) -> Axes:
        """Return the labels of all numbers, a list for each axis."""
        keys = [*product(*(labels for _, labels in self._labels.axes))]
        return tuple(
            (name, [key[k] for key in keys]) for k, (name, _) in enumerate(self._labels.axes)
        )

    def _columns(
        self, level: float | None = None, simultaneous: bool = False
    ) -> dict[str, list[float]]:
        low, high = self.interval(level, simultaneous=simultaneous)
        return columns_of(self.value, low, high, level or _LEVEL)

    def _repr_html_(self) -> str:
        return view(
            beside(self._index(), self._columns()), self.privacy, self._labels.rest + self.notes
        )

    def __repr__(self) -> str:
        return "\n".join([*self._text(), *self._labels.rest, *self.notes, str(self.privacy)])

    def _text(self) -> list[str]:
        if np.size(self.value) > 1:
            return [np.array2string(np.asarray(self.value), precision=6)]
        low, high = (float(np.ravel(end)[0]) for end in self.interval())
        return [f"{float(np.ravel(self.value)[0]):.6g}, 95 % interval [{low:.6g}, {high:.6g}]"]


@dataclass(frozen=True, eq=False, repr=False)
class NoisyNumbers(Statistic):
    """Numbers plus noise: counts, sums, the cells of a histogram.

    Parameters
    ----------
    value : float or ndarray
        *Released.*
    privacy : PrivacyGuarantee
        *Public.* The guarantee of all numbers together.
    _plan : QueryPlan
        *Public.* The noise.
    _unit : float or ndarray
        *Public.* Factor of the noise.
    _noisy : float or ndarray
        *Released.* The numbers before `value` was limited to what is possible.
    _most : float or None
        *Public.* The largest possible number of counts, None for other numbers.
    _labels : object
        *Public.* The labels in `to_frame`.

    Examples
    --------
    >>> from skdp.statistics import histogram
    >>> ages = [15, 30, 45, 80] * 250
    >>> found = histogram(ages, epsilon=1.0, edges=[0, 20, 65, 100], random_state=0)
    >>> found.to_frame()["estimate"].to_dict()
    {'[0, 20)': 247.0, '[20, 65)': 502.0, '[65, 100]': 250.0}
    >>> found.interval()[0]
    array([241., 496., 244.])
    """

    _plan: QueryPlan = field(kw_only=True)
    _unit: Numbers = field(default=1.0, kw_only=True)
    _noisy: Numbers = field(kw_only=True)
    _most: float | None = field(default=None, kw_only=True)

    def _are_counts(self) -> list[bool]:
        return [self._most is not None] * np.size(self.value)

    def _ends(self, risk: float) -> tuple[Numbers, Numbers]:
        (query,) = self._plan.queries
        width = self._unit * half_width(self._plan, query.name, risk)
        ends = self._noisy - width, self._noisy + width
        if self._most is None:
            return ends
        return np.clip(ends[0], 0.0, self._most), np.clip(ends[1], 0.0, self._most)


def noisy_counts(
    counts: np.ndarray,
    plan: QueryPlan,
    records: Records[Any],
    axes: Axes,
    guarantee: PrivacyGuarantee,
    tables: Mapping[str, np.ndarray],
) -> NoisyNumbers:
    """Return released counts, limited to what is possible; a record is in one cell of a table."""
    (query,), most, unit = plan.queries, most_records(records, guarantee), records.max_weight or 1.0
    asked = ((label, query.name, cells) for label, cells in tables.items())
    labels = Labels(axes, records.columns.library, lines_of_rest(plan, most, asked))
    noisy, value = shown(unit * counts), shown(unit * np.clip(counts, 0.0, most))
    known: dict[str, Any] = {"_plan": plan, "_unit": unit, "_most": most, "_labels": labels}
    return NoisyNumbers(value, guarantee, _noisy=noisy, **known)


def columns_of(
    value: Numbers, low: Numbers, high: Numbers, level: float | None
) -> dict[str, list[float]]:
    """Return the columns of a frame; the level is nan for numbers without an interval."""
    estimate, lower, upper = (np.ravel(one).tolist() for one in (value, low, high))
    levels = [math.nan if level is None or end != end else level for end in lower]
    return {"estimate": estimate, "lower": lower, "upper": upper, "level": levels}


def framed(index: Axes, columns: Mapping[str, Sequence[float]], library: str) -> MatrixLike:
    """Return a frame of columns, with labels as columns of polars or as the index of pandas."""
    index = tuple((name, _told_apart(labels)) for name, labels in index)
    if library == "polars":
        import polars

        return polars.DataFrame(beside(index, columns), strict=False)
    import pandas

    frame = pandas.DataFrame(columns)
    if index:
        labels = pandas.DataFrame({k: list(own) for k, (_, own) in enumerate(index)})
        frame.index = labels.set_index([*labels]).index
        frame.index.names = [name for name, _ in index]
    return frame


def _told_apart(labels: Sequence[Label]) -> list[Label]:
    """Return labels with booleans as text if there are numbers beside them.

    Frames take 1 and True for the same label, because they are equal in Python.
    """
    flat = [one for label in labels for one in (label if isinstance(label, tuple) else (label,))]
    if len({isinstance(one, _BOOLEANS) for one in flat if isinstance(one, (Number, np.bool_))}) < 2:
        return [*labels]
    return [tuple(map(_shown, one)) if isinstance(one, tuple) else _shown(one) for one in labels]


def _shown(label: Label) -> Label:
    return str(label) if isinstance(label, _BOOLEANS) else label


def beside(
    index: Axes, columns: Mapping[str, Sequence[float]]
) -> dict[str, Sequence[Label] | Sequence[float]]:
    """Return labels and numbers as columns; a label's name gets an underscore if it is taken."""
    found: dict[str, Sequence[Label] | Sequence[float]] = {}
    for name, labels in reversed(index):  # the first axis may have the user's name
        while name in columns or name in found:
            name += "_"
        found = {name: labels} | found
    return found | dict(columns)


def view(
    columns: Mapping[str, Sequence[Label]], privacy: PrivacyGuarantee, notes: Sequence[str] = ()
) -> str:
    """Return HTML of the columns that have a number, of notes, and of the guarantee."""
    texts = {name: [*map(_text, column)] for name, column in columns.items()}
    texts = {name: column for name, column in texts.items() if any(column)}
    table = html_table([*texts], zip(*texts.values(), strict=True))
    return table + "".join(f"<p>{escape(text)}</p>" for text in (*notes, str(privacy)))


def _text(value: Label) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def risk_of(level: float) -> float:
    """Return the probability with which an interval may miss."""
    return 1.0 - check_real("level", level, low=0.0, high=1.0)


def shown(values: Numbers) -> Numbers:
    """Return a single number as a float, and an array as it is."""
    return values if np.ndim(values) else float(values)


@dataclass(frozen=True, eq=False)
class Keys:
    """*Public* keys of columns, and their names; each combination of keys is a group.

    Rows with another key, or without one, are in no group.
    """

    names: tuple[Label, ...]
    values: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, x: MatrixLike, by: VectorLike | None, keys: KeysLike) -> Keys | None:
        """Return the checked keys, None if the rows of `x` are not grouped."""
        if by is None and keys is None:
            return None
        if by is None or keys is None:
            raise ValueError(
                "by and keys go together: pass the column to group by, and the list of its values "
                "to report. The list is public: choose it without looking at the data."
            )
        if not is_several(keys):
            by, keys = [by], [keys]
        elif not (isinstance(by, list) and len(by) == len(keys)):
            raise ValueError("by must be a list of as many columns as there are lists of keys.")
        n_groups = math.prod(map(np.size, keys.values() if isinstance(keys, Mapping) else keys))
        if not (by and n_groups <= _MOST_GROUPS):
            raise ValueError(
                f"by must list a column, and keys at most {_MOST_GROUPS} combinations."
            )
        check_plain(*map(received, by))
        names = (one if is_label(one, frame_names(x)) else own_name(one) for one in by)
        found = tuple("by" if name in (None, "") else name for name in names)
        if isinstance(keys, Mapping):
            if {*keys} != {*found}:
                raise ValueError(f"by must list the columns of keys, {[*keys]}; got {[*found]}.")
            keys = [keys[name] for name in found]
        return cls(found, tuple(map(checked_keys, keys)))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(values.size for values in self.values)

    @property
    def n_groups(self) -> int:
        return math.prod(self.shape)

    def check(self, records: Records[Any]) -> None:
        """Raise ValueError if the type of a column rules out all of its keys."""
        for column, values, name in zip(_parts(records), self.values, self.names, strict=True):
            check_comparable(column, values, name)

    def codes(self, records: Records[Any]) -> np.ndarray:
        """Return the group of each row, −1 for none."""
        each = [*map(category_codes, _parts(records), self.values)]
        groups = np.ravel_multi_index([np.maximum(one, 0) for one in each], self.shape)
        return np.where(np.min(each, axis=0) < 0, -1, groups)


def _parts(records: Records[Any]) -> list[Any]:
    """Return the columns by which rows are grouped."""
    return records.y.parts if isinstance(records.y, Columns) else [records.y]


def is_several(keys: KeysLike) -> bool:
    """Return whether keys are those of several columns."""
    is_list = isinstance(keys, (list, tuple))
    return isinstance(keys, Mapping) or (is_list and any(map(np.ndim, keys)))


def grouped(
    x: MatrixLike, by: VectorLike | None, keys: KeysLike, parameter: str = "x", **more: Any
) -> tuple[Records[Any], Keys | None]:
    """Return the rows of a statistic, and the checked keys of their groups."""
    found, several = Keys.of(x, by, keys), is_several(keys)
    return Records.of_columns(x, parameter, by=by, several=several, **more), found


def most_records(records: Records[Any], privacy: PrivacyGuarantee) -> float:
    """Return the number of records if it is public and rows have no weights, else infinity."""
    is_known = privacy.neighboring is Neighboring.REPLACE_ONE and records.weights is None
    return records.n_records if is_known else math.inf


def axes_of(keys: Keys | None) -> Axes:
    if keys is None:
        return ()
    return tuple((str(k), own.tolist()) for k, own in zip(keys.names, keys.values, strict=True))


_CENSUS_BASES = ((100, 10), (1000, 50), (10_000, 100), (100_000, 500), (1_000_000, 1000))


@dataclass(frozen=True)
class HouseRule:
    """A rule for counts, and for other numbers if it has one; a text replaces a masked count."""

    counts: Callable[[int], float | str]
    others: Callable[[float], float] | None
    rule: str
    source: str
    date: str


def _four_digits(x: float) -> float:
    return float(f"{x:.4g}")  # half to even


def _multiple(n: int, base: int) -> int:
    return base * round(n / base)  # half to even


def _census(n: int) -> float | str:
    if n < 15:
        return "<15"
    bases = (_multiple(n, base) for end, base in _CENSUS_BASES if n < end)
    return next(bases, _four_digits(n))


RULES = {
    "census": HouseRule(
        _census,
        _four_digits,
        "Counts below 15 are masked. Others are rounded to 10 below 100, 50 below 1000, 100 below "
        "10 000, 500 below 100 000, and 1000 below a million. Larger counts and all other numbers "
        "keep four significant digits, half to even.",
        "U.S. Census Bureau, Disclosure Review Board; github.com/simsong/drb_rounder",
        "2019-09",
    ),
    "census_2000": HouseRule(
        lambda n: 4 if 1 <= n <= 7 else _multiple(n, 5),
        None,
        "0 stays 0, counts of 1 to 7 become 4, others the nearest multiple of 5.",
        "U.S. Census Bureau, Disclosure Review Board, special tabulations of the 2000 census; "
        "www.census.gov/population/www/cen2000/sptabs/disclosure.html",
        "2004-01-29",
    ),
    "cms": HouseRule(
        lambda n: "1 to 10" if 1 <= n <= 10 else n,
        None,
        "Counts of 1 to 10 are masked, and may not follow from other cells. 0 is shown.",
        "U.S. Centers for Medicare and Medicaid Services, cell size suppression policy; "
        "resdac.org/articles/cms-cell-size-suppression-policy",
        "2024-01-26",
    ),
    "ofqual": HouseRule(
        lambda n: "fewer than 5" if 1 <= n <= 4 else _multiple(n, 5),
        None,
        "Counts of 1 to 4 are masked, others rounded to the nearest multiple of 5. 0 is shown.",
        "Ofqual, England, rounding policy; www.gov.uk/government/publications/"
        "ofquals-statistics-policies-and-procedures/rounding-policy",
        "2025-10-30",
    ),
    "uk_llc": HouseRule(
        lambda n: "<10" if n < 10 else n,
        None,
        "Counts below 10 are masked, also 0.",
        "UK Longitudinal Linkage Collaboration, Guidebook; github.com/UKLLC/Guidebook",
        "2025-07-04",
    ),
}
"""*Public* rules by name, each with its source and the date of the source."""


def rounded_columns(
    name: str, columns: Mapping[str, Sequence[float]], are_counts: Sequence[bool]
) -> dict[str, Sequence[Any]]:
    """Return the columns of a frame by a rule: a text to publish, and numbers, nan if masked.

    Counts are rounded to integers first. Ends of intervals follow the same rule. It never
    decreases, so they contain the rounded true number if they contained the true number.
    """
    rule = RULES[check_choice("rounded", name, RULES)]
    if rule.others is None and not all(are_counts):
        raise ValueError(f"rounded={name!r} is a rule for counts, and these are other numbers.")
    found = {
        column: [_by(rule, x, own) for x, own in zip(columns[column], are_counts, strict=True)]
        for column in ("estimate", "lower", "upper")
    }
    shown = found["estimate"]
    texts = [one if isinstance(one, str) else f"{one:.15g}" for one in shown]
    numbers = {
        column: [
            math.nan if str in map(type, pair) else pair[0] for pair in zip(own, shown, strict=True)
        ]
        for column, own in found.items()
    }
    return {"published": texts, **numbers, "level": columns["level"]}


def _by(rule: HouseRule, x: float, is_count: bool) -> Any:
    if is_count and math.isfinite(x):
        return rule.counts(round(x))
    return x if rule.others is None else rule.others(x)
