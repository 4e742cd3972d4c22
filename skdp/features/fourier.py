"""Random Fourier features: waves along random directions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skdp.features.base import FeatureMap
from skdp.features.public_features import PublicFeatures
from skdp.features.table import TableFacts
from skdp.support.types import Bounds, Categories, Transformation
from skdp.support.validation import check_count, check_real, check_size

__all__ = ["FourierMap", "RandomFourierFeatures"]

_MOST_SCALE = 1e6  # angles of single precision stay finite
_BITS = 26  # of z, and of the largest sum of |W|·|z|: their products are whole numbers below 2^53


@dataclass(frozen=True, eq=False, kw_only=True)
class FourierMap(FeatureMap):
    """[cos Wz, sin Wz]/√(D/2), for z of numbers 2u − 1 and of categories as ones over √3.

    Rows of W are N(0, τ²·3/p), with p columns of the table, so W·z is about as wide as τ. If D is
    odd, the last row of W is 0 and has a cosine only. W and z are rounded to public grids on which
    W·z is exact, so it does not depend on the order in which a matrix product adds.
    """

    facts: TableFacts
    n_components: int = 500
    scale: float = 2.0
    feature_seed: int = 0
    is_single: bool = False  # type: ignore[misc]

    @classmethod
    def of(
        cls,
        facts: TableFacts,
        *,
        n_components: int = 500,
        scale: float = 2.0,
        feature_seed: int = 0,
    ) -> FourierMap:
        """Return the map for the parameters of `RandomFourierFeatures`, checked."""
        return cls(
            facts=facts,
            n_components=check_count("n_components", n_components),
            scale=check_real("scale", check_size("scale", scale), low=0.0, high=_MOST_SCALE),
            feature_seed=check_count("feature_seed", feature_seed, low=0),
        )

    @property
    def n_features_out(self) -> int:
        return self.n_components

    @property
    def cost(self) -> int:
        return 48 if self.is_single else 8

    def for_fits(self) -> FourierMap:
        """Return the map in single precision, which takes a fraction of the time and memory.

        Angles are rounded, and so are the features, for any number of rows: it may be private. A
        feature moves by 2⁻²⁴ of its angle and 2⁻²² at most. Designs compute the norms of rows from
        the rounded features, so what they add up has the norm that sensitivities assume.
        """
        return replace(self, is_single=True)

    @cached_property
    def _grid(self) -> tuple[np.ndarray, float]:
        """W in whole steps, of shape (D // 2, entries of z), and the unit of its products with z.

        Steps are a power of two, so that |W|·|z| adds up to 2²⁶ steps of W at most. z has steps of
        2⁻²⁶. In these units all partial sums are whole numbers up to 2⁵², plus half a step of W for
        each entry of z. That is less for up to 10⁶ entries, because no text is longer than 100. So
        a float64 holds them.
        """
        facts = self.facts
        size = len(facts.numbers) * (1 + facts.has_missing)
        size += sum(map(facts.size, facts.categories)) + sum(map(facts.bag_size, facts.bags))
        W = np.random.default_rng(self.feature_seed).standard_normal((self.n_components // 2, size))
        W *= self.scale * math.sqrt(3.0 / facts.n_inputs)
        largest = max([1.0, *(bag.norm for bag in facts.bags.values())])  # entry of z
        most = largest * np.abs(W).sum(axis=1).max(initial=0.0)
        step = math.ldexp(1.0, math.frexp(most)[1] - _BITS)
        return np.rint(W / step), math.ldexp(step, -_BITS)

    def expand(self, rows: np.ndarray) -> np.ndarray:
        dtype = np.float32 if self.is_single else np.float64
        W, unit = self._grid
        angles = W @ self._inputs(rows)
        angles *= unit
        angles = angles.astype(dtype, copy=False)
        half, waves = self.n_components // 2, self.n_components - self.n_components % 2
        out = np.ones((self.n_components, len(rows)), dtype)
        np.cos(angles, out=out[:half])
        np.sin(angles, out=out[half:waves])
        out /= math.sqrt(self.n_components - half)
        return out.T

    def _inputs(self, rows: np.ndarray) -> np.ndarray:
        """Return z in steps of 2⁻²⁶, one column per row.

        z is numbers, ones where they are missing, categories and texts.
        """
        z = np.zeros((self._grid[0].shape[1], len(rows)))
        u, p = self.facts.unit_interval(rows), len(self.facts.numbers)
        unknown = np.isnan(u)
        z[:p] = np.where(unknown, 0.0, 2.0 * u - 1.0)
        if self.facts.has_missing:
            z[p : 2 * p] = unknown
        start = p * (1 + self.facts.has_missing)
        for j in self.facts.categories:
            self.facts.one_hot(j, rows[:, j], z[start : start + self.facts.size(j)])
            start += self.facts.size(j)
        for j in self.facts.bags:
            self.facts.bag_rows(j, rows, z[start : start + self.facts.bag_size(j)])
            start += self.facts.bag_size(j)
        z[p:] /= math.sqrt(3.0)
        z *= 2.0**_BITS
        return np.rint(z, out=z)

    def names(self, columns: Sequence[Hashable]) -> list[str]:
        half, odd = range(self.n_components // 2), self.n_components % 2
        return [f"cos{k}" for k in half] + [f"sin{k}" for k in half] + ["constant"] * odd


class RandomFourierFeatures(PublicFeatures):
    """Cosines and sines of random combinations of the columns; rows have norm exactly 1.

    A number at place u in [0, 1] of its bounds becomes 2u − 1; a category is 1/√3 in a column of
    its own. These are z. A row of the output is [cos Wz, sin Wz]/√(D/2), where the entries of W are
    N(0, 3·τ²/p) for p columns. Products of two rows are close to exp(−3·τ²·|z − z'|²/(2p)), so a
    linear model of the features is close to a model of that kernel. W does not depend on the data,
    and `fit` learns nothing.

    Parameters
    ----------
    bounds : pair (low, high), one pair per column, dict or TableSchema
        *Public.* A dict from names or positions of columns to pairs, a list of pairs, or a tuple
        (lows, highs). Required, and never taken from the data: see :term:`bounds`.
    categories : dict, list or None, default None
        *Public.* Possible values of categorical columns: a dict from names or positions of columns
        to lists, or one list for all columns. Other values belong to no category.
    missing : {"indicator", "error"}, default "indicator"
        *Public.* Treatment of NaN, ``None`` and ``pandas.NA``: an indicator or category of their
        own, or a ValueError.
    transformation : None, "log" or dict, default None
        *Public.* Scale of numeric columns. Use ``"log"`` for amounts and counts. A dict maps
        columns to ``None``, ``"log"`` (unit 1) or the unit of a logarithmic scale.
    n_components : int, default 500
        *Public.* D, the number of features. If it is odd, one feature is constant.
    scale : float, default 2.0
        *Public.* τ, the standard deviation of the angles W·z of a row that is uniform in its
        bounds, at most 1e6. Larger values fit rougher functions.
    feature_seed : int, default 0
        *Public.* Seed of the random features; not secret, unlike `random_state`.

    Attributes
    ----------
    n_features_in_ : int
        *Public.*
    feature_names_in_ : ndarray of shape (n_features,)
        *Public.* Only if the column names of X are strings.

    Notes
    -----
    **Guarantee.** A row of the output depends on the same row of the input and on public numbers,
    so neighboring inputs give neighboring outputs. See *Feature maps* in the user guide for the
    norms.

    References
    ----------
    Rahimi and Recht 2007, "Random features for large-scale kernel machines".

    Examples
    --------
    >>> from skdp.features import RandomFourierFeatures
    >>> features = RandomFourierFeatures(bounds=(0, 100), n_components=4)
    >>> rows = features.fit_transform([[0.0], [50.0]])
    >>> (rows**2).sum(axis=1).round(12)
    array([1., 1.])
    """

    def __init__(
        self,
        *,
        bounds: Bounds | None = None,
        categories: Categories | None = None,
        missing: str = "indicator",
        transformation: Transformation | None = None,
        n_components: int = 500,
        scale: float = 2.0,
        feature_seed: int = 0,
    ) -> None:
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.transformation = transformation
        self.n_components = n_components
        self.scale = scale
        self.feature_seed = feature_seed

    def feature_map(self, n_columns: int, names: Sequence[Hashable] = ()) -> FourierMap:
        return FourierMap.of(
            self._facts(n_columns, names),
            n_components=self.n_components,
            scale=self.scale,
            feature_seed=self.feature_seed,
        )
