"""Diagnostics of chains and samples. They prove nothing about the quality of a sample."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy import stats

from skdp.research.samplers.reference import Density
from skdp.samplers.base import Target

_POINTS = {1: 4001, 2: 401}
_REACH = 9.0  # standard deviations of the ridge, around the mode
_STEPS = (-1.0, -0.5, 0.0, 0.5, 1.0)
_SHRINKINGS = 40


def effective_sample_size(chains: np.ndarray) -> float:
    """Return the number of independent samples that estimate the mean as well as the chains.

    Autocovariances are averaged over chains, with the variance between their means included, and
    summed in pairs while these are positive and fall (Geyer 1992).

    Parameters
    ----------
    chains : array-like of shape (n_chains, n_steps) or (n_steps,)
        One coefficient along its chains, at least 4 steps.

    Returns
    -------
    size : float
        Between about 1 and, for chains that swing to and fro, more than their number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).standard_normal((4, 1000))
    >>> chains = {"independent": noise, "random walk": noise.cumsum(axis=1)}
    >>> {name: round(effective_sample_size(chain), -1) for name, chain in chains.items()}
    {'independent': 3910.0, 'random walk': 0.0}
    """
    values = _chains(chains)
    m, n = values.shape
    within, pooled = _variances(values)
    if pooled == 0.0:
        return float(m * n)
    correlation = 1.0 - (within - _autocovariances(values).mean(axis=0) * n / (n - 1.0)) / pooled
    correlation[0] = 1.0
    pairs = correlation[: n - n % 2].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs <= 0.0)) if (pairs <= 0.0).any() else pairs.size
    time = 2.0 * float(np.minimum.accumulate(pairs[:stop]).sum()) - 1.0
    return m * n / max(time, 1.0 / np.log10(max(m * n, 10)))


def split_rhat(chains: np.ndarray) -> float:
    """Return the split R̂ of Gelman and others: 1 where half chains agree, larger where not.

    Parameters
    ----------
    chains : array-like of shape (n_chains, n_steps) or (n_steps,)
        One coefficient along its chains, at least 4 steps.

    Returns
    -------
    rhat : float
        At least about 1; inf for constant half chains that differ.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).standard_normal((4, 1000))
    >>> round(split_rhat(noise), 1), round(split_rhat(noise + np.arange(4)[:, None]), 1)
    (1.0, 1.6)
    """
    values = _chains(chains)
    half = values.shape[1] // 2
    within, pooled = _variances(np.concatenate([values[:, :half], values[:, -half:]]))
    if within == 0.0:
        return 1.0 if pooled == 0.0 else float("inf")
    return float(np.sqrt(pooled / within))


def _chains(chains: np.ndarray) -> np.ndarray:
    values = np.atleast_2d(np.asarray(chains, dtype=float))
    if values.ndim != 2 or values.shape[1] < 4 or not np.isfinite(values).all():
        raise ValueError(
            "chains must be finite, of shape (n_chains, n_steps) with at least 4 steps, got "
            f"shape {np.shape(chains)}."
        )
    return values


def _variances(values: np.ndarray) -> tuple[float, float]:
    """Return the variance within chains, and the pooled variance, which includes their means."""
    m, n = values.shape
    within = float(values.var(axis=1, ddof=1).mean())
    between = float(values.mean(axis=1).var(ddof=1)) if m > 1 else 0.0
    return within, within * (n - 1.0) / n + between


def _autocovariances(values: np.ndarray) -> np.ndarray:
    """Return Σ_t (x_t − x̄)(x_(t+k) − x̄)/n by chain and lag k."""
    n = values.shape[1]
    spectrum = np.fft.rfft(values - values.mean(axis=1, keepdims=True), 2 * n, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=1)[:, :n] / n


@dataclass(frozen=True)
class DistributionCheck:
    """Comparison of independent samples with the exact distribution, for each coefficient.

    Parameters
    ----------
    ks_pvalues : tuple of float
        Of the test of Kolmogorov and Smirnov for each marginal.
    mean_z, variance_z : tuple of float
        Sample mean and variance less the exact ones, in standard errors.
    """

    ks_pvalues: tuple[float, ...]
    mean_z: tuple[float, ...]
    variance_z: tuple[float, ...]

    def passes(self, false_alarm: float = 1e-6) -> bool:
        """Return whether all marginals pass the Kolmogorov-Smirnov test.

        Parameters
        ----------
        false_alarm : float
            Probability with which right samples fail, at most.

        Returns
        -------
        bool
            True if they do.
        """
        return min(self.ks_pvalues) * len(self.ks_pvalues) > false_alarm


def compare_with_quadrature(samples: np.ndarray, target: Target) -> DistributionCheck:
    """Compare independent samples with the distribution of a target of one or two coefficients.

    Parameters
    ----------
    samples : ndarray of shape (n_samples, d)
        For instance from `draw_samples`; d ≤ 2.
    target : Target
        One score a record. Its density is summed on a grid around the mode, 9/√α wide each way:
        outside of it is less than 1e-12 of the mass.

    Returns
    -------
    DistributionCheck
        For each coefficient, how far the samples are off.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.design import ClippedDesign
    >>> from skdp.losses import LogisticLoss
    >>> from skdp.research import compare_with_quadrature, draw_samples
    >>> from skdp.samplers import Target
    >>> X, y = np.array([[1.0], [0.5], [-1.0]]), np.array([1.0, 1.0, -1.0])
    >>> rows = ClippedDesign.clip(X, data_norm=1.0, targets=y)
    >>> scales = {"row_norm": 1.0, "temperature": 1.0, "prior_precision": 1.0}
    >>> target = Target(design=rows, loss=LogisticLoss(), **scales)
    >>> draws = draw_samples(X, y, sampler="exact", n_draws=300, random_state=0)
    >>> found = compare_with_quadrature(draws, target)
    >>> found.passes(), [round(p, 1) for p in found.ks_pvalues]
    (True, [0.4])
    """
    samples = np.asarray(samples, dtype=float)
    d = target.design.n_features
    if target.shape not in ((1,), (2,)) or samples.ndim != 2 or samples.shape[1] != d:
        raise ValueError(
            "quadrature takes targets of one or two coefficients and samples of shape "
            f"(n_samples, d), got {target.shape} and {samples.shape}."
        )
    axes = _axes(target)
    p = _probabilities(target, axes)
    others = [tuple(i for i in range(d) if i != j) for j in range(d)]
    columns = [_check_marginal(samples[:, j], axes[j], p.sum(others[j])) for j in range(d)]
    return DistributionCheck(*(tuple(column) for column in zip(*columns, strict=True)))


def _axes(target: Target) -> list[np.ndarray]:
    d = target.design.n_features
    mode, reach = _near_mode(target), _REACH / np.sqrt(target.prior_precision)
    edge = np.inf if target.domain is None else target.domain.radius
    return [
        np.linspace(max(center - reach, -edge), min(center + reach, edge), _POINTS[d])
        for center in mode
    ]


def _near_mode(target: Target) -> np.ndarray:
    """Return the least of U on grids that shrink around the best point, nearly enough."""
    density, d = Density(target), target.design.n_features
    best = np.zeros(d)
    width = np.sqrt(2.0 * max(density.potential(best), 0.0) / target.prior_precision)
    for _ in range(_SHRINKINGS):
        points = best + width * np.array(list(itertools.product(_STEPS, repeat=d)))
        best = points[np.argmin([density.potential(point) for point in points])]
        width *= 0.7
    return best


def _probabilities(target: Target, axes: list[np.ndarray]) -> np.ndarray:
    """Return the probabilities of the grid's points, of shape (len(axis), ...)."""
    points = np.stack(np.meshgrid(*axes, indexing="ij")).reshape(len(axes), -1)
    energy = 0.5 * target.prior_precision * (points**2).sum(axis=0)
    for i in range(target.design.n_samples):
        record = target.design.take(slice(i, i + 1))
        scores = record.scores(points)[0]
        labels = np.full(scores.size, record.targets[0])
        energy += target.temperature * target.loss.value(labels, scores)
    if target.domain is not None:
        energy[np.linalg.norm(points, axis=0) > target.domain.radius] = np.inf
    p = np.exp(energy.min() - energy)
    return (p / p.sum()).reshape([axis.size for axis in axes])


def _check_marginal(
    samples: np.ndarray, axis: np.ndarray, p: np.ndarray
) -> tuple[float, float, float]:
    edges, cumulative = axis + 0.5 * (axis[1] - axis[0]), np.cumsum(p)
    pvalue = stats.kstest(samples, lambda x: np.interp(x, edges, cumulative)).pvalue
    mean = float(p @ axis)
    variance, fourth = float(p @ (axis - mean) ** 2), float(p @ (axis - mean) ** 4)
    root = np.sqrt(samples.size)
    mean_z = (samples.mean() - mean) / np.sqrt(variance) * root
    spread_z = (((samples - mean) ** 2).mean() - variance) / np.sqrt(fourth - variance**2) * root
    return float(pvalue), float(mean_z), float(spread_z)
