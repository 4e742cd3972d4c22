"""Samples from the density of given rows, for research on samplers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length

from skdp.design import ClippedDesign
from skdp.losses import LOSSES, Loss, MarginLoss
from skdp.research.samplers.localized import LocalizedSampler
from skdp.research.samplers.proximal_chain import ProximalTVSampler
from skdp.research.samplers.zeroth_order import AlternatingSchedule, BlackBox, ZerothOrderSampler
from skdp.samplers.base import REFERENCE_SAMPLERS, SAMPLERS, Ball, Sampler, Setting, Target
from skdp.samplers.proximal import ExactSampler, TangentStep
from skdp.solvers.regularized_exponential import Schedule
from skdp.support.random import noise_generator
from skdp.support.types import MatrixLike, RandomState, VectorLike
from skdp.support.validation import check_choice, check_count, check_real, check_size

_RELAXATIONS = 30.0  # run time of a "stable" sampler, in units of 1/α
_TV = 1e-6
_TRIALS, _FEW_TRIES = 5, 40  # for the choice of "cheapest"
_NO_LIMIT = 1e300
_BY_NAME = (
    "logistic",
    "clipped_logistic",
    "hinge",
    "smoothed_hinge",
    "huber",
    "squared",
    "quantile",
)


def draw_samples(
    X: MatrixLike,
    y: VectorLike,
    *,
    loss: str | Loss = "logistic",
    temperature: float = 1.0,
    prior_precision: float = 1.0,
    domain: Ball | None = None,
    sampler: str | Sampler = "cheapest",
    tv: float = _TV,
    n_draws: int = 1,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return independent samples from the density ∝ exp(−c·Σ ℓ(y_i, x_i·θ) − (α/2)·|θ|²).

    For research on samplers. **Nothing here is private**: rows are not clipped, their largest norm
    is used, no budget is charged, and there is no guarantee.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, d)
        Rows; they are not clipped and get no intercept.
    y : array-like of shape (n_samples,)
        Targets coded for the loss: −1 and +1 for two classes, 0..K−1 for K, else any numbers.
    loss : str or Loss
        One of "logistic", "clipped_logistic", "hinge", "smoothed_hinge", "huber", "squared",
        "quantile", or an instance of any loss.
    temperature : float
        c, the weight of each record's loss.
    prior_precision : float
        α, in 1/coefficient².
    domain : Ball or None
        Domain of the density; None for all of space.
    sampler : str or Sampler
        A name from `SAMPLERS` or `REFERENCE_SAMPLERS`, an instance, or "cheapest": "exact" if it
        finds each of 5 samples within 40 proposals; else "localized" if possible, or
        "proximal_tv". That rule reads the data, so estimators do not offer it.
    tv : float in (0, 1)
        Largest total variation between a "tv" sampler's distribution and the density.
    n_draws : int
        Number of samples, each from a separate run of the sampler.
    random_state : None, int, Generator or RandomState
        The same integer gives the same samples for any `n_jobs`.
    n_jobs : int or None
        Number of processes, as in joblib.

    Returns
    -------
    ndarray of shape (n_draws, d), or (n_draws, d, K) for a loss of K scores
        Samples. **Not private.**

    Notes
    -----
    Named samplers reject settings that take too long for the worst data; "cheapest" does not.

    A "stable" sampler runs for 30 relaxation times 1/α, which leaves less than 1e-9 of the distance
    from its start to the density.

    Examples
    --------
    >>> draw_samples([[1.0, 0.0], [0.5, -1.0]], [1, -1], n_draws=3, random_state=0).shape
    (3, 2)
    """
    target = replace(_target(X, y, _loss(loss), temperature, prior_precision), domain=domain)
    setting = _setting(target)
    chosen = _sampler(sampler, target)
    chosen.check(setting)
    plan = chosen.plan(setting, check_real("tv", tv, low=0.0, high=1.0))
    return _independent(
        lambda rng: chosen.sample(target, plan, rng, lambda step, n_steps: None).theta,
        n_draws,
        random_state,
        n_jobs,
    )


def draw_black_box(
    potential: BlackBox,
    *,
    tv: float = _TV,
    n_draws: int = 1,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return independent samples from a density with a potential given by its values only.

    Applies the sampler "zeroth_order" to custom functions. For research: nothing is private.

    Parameters
    ----------
    potential : BlackBox
        Convex functions, their Lipschitz constant and the ridge. With more than one process the
        function must be picklable.
    tv : float
        Largest total variation between each sample's distribution and the density.
    n_draws : int
        Number of samples, each from a separate run of the sampler.
    random_state : None, int, Generator or RandomState
        The same integer gives the same samples for any `n_jobs`.
    n_jobs : int or None
        Number of processes, as in joblib.

    Returns
    -------
    ndarray of shape (n_draws, ...)
        Samples, each of the shape of the potential's θ.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([0.0, 0.2, 0.6])
    >>> def values(rows, theta):
    ...     return 0.1 * np.abs(theta[0] - points[rows])
    >>> potential = BlackBox(
    ...     values, n_terms=3, lipschitz=0.1, prior_precision=1.0, shape=(1,)
    ... )
    >>> draw_black_box(potential, tv=0.01, n_draws=2, random_state=0).shape
    (2, 1)
    """
    sampler = ZerothOrderSampler()
    return _independent(
        lambda rng: sampler.sample_black_box(potential, tv, rng).theta,
        n_draws,
        random_state,
        n_jobs,
    )


def _independent(
    draw: Callable[[np.random.Generator], np.ndarray],
    n_draws: int,
    random_state: RandomState,
    n_jobs: int | None,
) -> np.ndarray:
    """Return stacked samples, each from a spawned stream, so that `n_jobs` changes nothing."""
    streams = noise_generator(random_state).spawn(check_count("n_draws", n_draws))
    return np.stack(Parallel(n_jobs=n_jobs)(delayed(draw)(stream) for stream in streams))


def _loss(loss: str | Loss) -> Loss:
    return loss if isinstance(loss, Loss) else LOSSES[check_choice("loss", loss, _BY_NAME)]()


def _sampler(sampler: str | Sampler, target: Target) -> Sampler:
    if isinstance(sampler, Sampler):
        return sampler
    kinds = SAMPLERS | REFERENCE_SAMPLERS
    if check_choice("sampler", sampler, ("cheapest", *kinds)) == "cheapest":
        step = TangentStep(target, 1.0 / target.prior_precision, np.random.default_rng(0))
        trials = (step.attempt(np.zeros(target.shape), _FEW_TRIES) for _ in range(_TRIALS))
        if all(found is not None for found in trials):
            return ExactSampler(max_exponent=_NO_LIMIT)
        local = LocalizedSampler.requires <= _setting(target).offers and target.domain is None
        return (LocalizedSampler if local else ProximalTVSampler)(max_passes=_NO_LIMIT)
    return kinds[sampler]()


def _target(
    X: MatrixLike, y: VectorLike, loss: Loss, temperature: float, prior_precision: float
) -> Target:
    X = check_array(X, accept_sparse="csr", dtype=np.float64, copy=sparse.issparse(X))
    if sparse.issparse(X):
        X.sum_duplicates()
    y = check_array(y, ensure_2d=False, dtype=np.float64 if loss.n_scores == 1 else None)
    check_consistent_length(X, y)
    if isinstance(loss, MarginLoss) and not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"y must be −1 or +1 for {loss!r}, got {np.unique(y)[:5]}.")
    design = ClippedDesign(X, np.ones(X.shape[0]), targets=y)
    return Target(
        design=design,
        loss=loss,
        row_norm=float(design.row_norms().max()),
        temperature=check_size("temperature", temperature),
        prior_precision=check_size("prior_precision", prior_precision),
    )


def _setting(target: Target) -> Setting:
    C = target.temperature / target.prior_precision
    n, d = target.design.n_samples, target.design.n_features
    t, alpha = _RELAXATIONS * C, target.prior_precision
    return Setting(
        loss=target.loss,
        row_norm=target.row_norm,
        n_samples=n,
        n_is_public=True,
        n_features=d,
        C=C,
        flow_time=t,
        prior_precision=alpha,
        domain=target.domain,
    )


def expected_evaluations(schedule: Schedule, tv: float) -> float:
    """Return an upper bound of the mean number of losses that "zeroth_order" evaluates.

    Parameters
    ----------
    schedule : Schedule
        *Public.* The density, from a schedule with an `objective` and a known number of rows.
    tv : float
        *Public.* Total variation distance of the sample's distribution from the density.

    Returns
    -------
    expected : float
        It holds for all data; the mean is over the sampler's randomness.

    Examples
    --------
    >>> from skdp.losses import LogisticLoss
    >>> from skdp.privacy import Neighboring
    >>> from skdp.research import expected_evaluations
    >>> from skdp.samplers.base import Ball
    >>> from skdp.solvers import Problem, RegularizedExponential
    >>> facts = {"loss": LogisticLoss(), "neighboring": Neighboring.REPLACE_ONE, "n_features": 10}
    >>> problem = Problem(data_norm=1.0, intercept_scaling=0.0, n_samples=500, **facts)
    >>> solver = RegularizedExponential(objective="erm", domain=Ball(5.0))
    >>> schedule = solver.with_sampler("proximal_tv").plan(problem, 1.0, 1e-5).schedule
    >>> f"{expected_evaluations(schedule, tv=1e-6):.1e}"
    '5.1e+08'
    """
    balance = schedule.balance
    if balance is None or balance.n_samples is None:
        raise ValueError("schedule must have an objective and a number of rows.")
    return AlternatingSchedule.within(
        tv,
        lipschitz=balance.n_samples * schedule.temperature * balance.lipschitz,
        prior_precision=schedule.prior_precision,
        dimension=balance.size,
        radius=math.inf if schedule.domain is None else schedule.domain.radius,
    ).expected_evaluations
