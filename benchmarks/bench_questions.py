"""Differences, effects, survival curves, hazards and rates beside methods without privacy.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_questions.py [--runs 200] [--smallest]

Each line has a figure of the release and the same figure without privacy: coverage and median width
of 95 % intervals, errors of curves, concordance. δ = 1e-5, replace_one unless stated. Cox's model
and quasi-Poisson errors are those of lifelines and statsmodels where these are installed; else
those of this file.
"""

import argparse
import warnings

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, PoissonRegressor

from skdp import DPLogisticRegression, DPPoissonRegressor
from skdp.statistics import difference, survival_curve, treatment_effect

YEARS = 8
SIDES = 1.96


def coverage(name, trials, truth):
    """Print the coverage and the median width of pairs of intervals: with privacy, and without."""
    ends = np.array(list(trials))  # (runs, 2, low and high)
    hits = ((ends[..., 0] <= truth) & (truth <= ends[..., 1])).mean(axis=0)
    widths = np.median(ends[..., 1] - ends[..., 0], axis=0)
    print(
        f"{name:44} covers {hits[0]:.3f}, width {widths[0]:.4f}; without privacy {hits[1]:.3f}, "
        f"{widths[1]:.4f}",
        flush=True,
    )


def around(center, deviation):
    """Return the ends of a normal interval."""
    return center - SIDES * deviation, center + SIDES * deviation


def rates(n, rate, epsilon, runs, rng):
    """Yield intervals of the difference of two equal rates, and Wald's."""
    for _ in range(runs):
        arm, x = rng.integers(0, 2, n), rng.random(n) < rate
        low, high = difference(x, epsilon=epsilon, by=arm, keys=[0, 1]).interval()
        p, size = (np.array([f(x[arm == k]) for k in (0, 1)]) for f in (np.mean, len))
        yield (low[0], high[0]), around(p[1] - p[0], (p * (1 - p) / size).sum() ** 0.5)


def patients(n, rng, beta):
    """Return columns, times of a Weibull distribution with proportional hazards, and events."""
    X = rng.uniform(-1, 1, size=(n, beta.size))
    time, left = 5 * rng.weibull(1.5, n) * np.exp(-X @ beta / 1.5), rng.uniform(0, 8, n)
    return X, np.minimum(time, left), time <= left


def effects(n, epsilon, least, runs, rng):
    """Yield intervals of an effect of .1; `least` is None if the treatment is random."""
    for _ in range(runs):
        X = rng.random((n, 3))
        shift = 0.0 if least is None else 1.5 * X[:, 0] + 0.5 * X[:, -1] - 1.0
        treated = rng.random(n) < 1.0 / (1.0 + np.exp(-shift))
        y = 0.2 + 0.4 * (X[:, 0] - 0.3) ** 2 + 0.3 * X[:, -1] + (0.05 + 0.1 * X[:, 0]) * treated
        y += 0.1 * rng.standard_normal(n)
        asked = {"bounds": (0, 1), "covariate_bounds": (0, 1), "min_propensity": least}
        low, high = treatment_effect(y, treated, X, epsilon=epsilon, **asked).interval()
        yield (low[0], high[0]), around(*weighted(X, treated, y, least))


def weighted(X, treated, y, least):
    """Return the effect by augmented inverse propensity weighting, and its standard error."""
    e = np.full(len(y), treated.mean())
    if least is not None:
        found = LinearDiscriminantAnalysis().fit(X, treated).predict_proba(X)[:, 1]
        e = np.clip(found, least, 1 - least)
    m0, m1 = (LinearRegression().fit(X[own], y[own]).predict(X) for own in (~treated, treated))
    psi = m1 - m0 + np.where(treated, (y - m1) / e, (m0 - y) / (1 - e))
    return psi.mean(), psi.std() / len(y) ** 0.5


def curves(relation, runs, rng):
    """Return the median largest error of curves of 228 patients in ten cells at ε = 1."""
    edges, errors = np.linspace(0.0, 1022.0, 11), []
    for _ in range(runs):
        time, left = 418.0 * rng.weibull(1.3, 228), rng.uniform(200, 1100, 228)
        time, event = np.minimum(time, left), time <= left
        asked = {"edges": edges, "epsilon": 1.0, "delta": 0.0, "neighboring": relation}
        found = survival_curve(time, event, **asked).value
        errors.append(np.nanmax(np.abs(found - product_limit(time, event, edges[1:]))))
    return float(np.median(errors))


def product_limit(time, event, places):
    """Return the exact Kaplan-Meier curve."""
    times = np.sort(time[event])
    at_risk = (time >= times[:, None]).sum(axis=1)
    return np.array([np.prod(1.0 - 1.0 / at_risk[times <= place]) for place in places])


def years_of(X, time, event):
    """Return rows of patients and years, labels, the patient of each row and its weight."""
    last = np.minimum(time.astype(int), YEARS - 1)
    patient = np.repeat(np.arange(len(X)), last + 1)
    year = np.concatenate([np.arange(k + 1) for k in last])
    is_last = year == last[patient]
    happens = is_last & event[patient] & (time[patient] < YEARS)
    weight = (last[patient] + 1) * np.where(is_last & ~event[patient], 0.5, 1.0)
    return np.column_stack([X[patient], np.eye(YEARS)[year]]), happens, patient, weight


def cox(X, time, event):
    """Return the coefficients of Cox's model, by lifelines or by Newton's method."""
    try:
        from lifelines import CoxPHFitter
    except ImportError:
        return newton(X, time, event)
    import pandas as pd

    frame = pd.DataFrame(X).assign(time=time, event=event)
    return CoxPHFitter().fit(frame, "time", "event").params_.to_numpy()


def newton(X, time, event):
    """Return the coefficients of Cox's model."""
    order, beta = np.argsort(-time), np.zeros(X.shape[1])
    X, event = X[order], event[order]
    for _ in range(10):
        w = np.exp(X @ beta)
        total = np.cumsum(w)[:, None]
        mean = np.cumsum(w[:, None] * X, axis=0) / total
        square = np.cumsum(w[:, None, None] * X[:, :, None] * X[:, None], axis=0) / total[..., None]
        spread = square - mean[:, :, None] * mean[:, None]
        beta += np.linalg.solve(spread[event].sum(axis=0), (X - mean)[event].sum(axis=0))
    return beta


def concordance(time, event, score):
    """Return Harrell's concordance."""
    later = time > time[event][:, None]
    return (later & (score < score[event][:, None])).sum() / later.sum()


def hazards(n, epsilon, runs, rng):
    """Return the mean concordance on new patients, with privacy and of Cox's model."""
    beta, found = np.array([1.0, -0.7, 0.4, 0.0]), []
    for _ in range(runs):
        X, time, event = patients(n, rng, beta)
        rows, happens, patient, weight = years_of(X, time, event)
        model = DPLogisticRegression(
            epsilon=epsilon, classes=[False, True], data_norm=2.24, max_weight=YEARS
        ).fit(rows, happens, groups=patient, sample_weight=weight)
        X_new, *new = patients(4000, rng, beta)
        both = model.coef_[0, : beta.size], cox(X, time, event)
        found.append([concordance(*new, X_new @ one) for one in both])
    return np.mean(found, axis=0), np.max(np.diff(found))


def counts(n, epsilon, runs, rng):
    """Yield intervals of the logarithm of a rate ratio, of counts with twice their variance."""
    for _ in range(runs):
        X = np.column_stack([rng.random(n) < 0.5, rng.uniform(-0.5, 0.5, n)])
        y = rng.negative_binomial(np.exp(X @ [0.8, -0.5] + 0.3), 0.5)
        model = DPPoissonRegressor(
            target_bounds=(0, 20), data_norm=1.12, intercept_scaling=1.0, slope_bound=0.5,
            standard_errors=True, epsilon=epsilon,
        ).fit(X, y)  # fmt: skip
        yield [end[0] for end in model.coef_interval()], around(*quasi_poisson(X, y))


def quasi_poisson(X, y):
    """Return the first coefficient and its error, scaled by the dispersion."""
    A = np.column_stack([X, np.ones(len(X))])
    try:
        import statsmodels.api as sm
    except ImportError:
        model = PoissonRegressor(alpha=0.0, tol=1e-8).fit(X, y)
        mean = model.predict(X)
        dispersion = ((y - mean) ** 2 / mean).sum() / (len(y) - A.shape[1])
        covariance = dispersion * np.linalg.inv((A.T * mean) @ A)
        return model.coef_[0], covariance[0, 0] ** 0.5
    found = sm.GLM(y, A, sm.families.Poisson()).fit(scale="X2")
    return found.params[0], found.bse[0]


def main():
    """Print all lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--smallest", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    runs, rng = 2 if options.smallest else options.runs, np.random.default_rng(0)
    for n, rate, epsilon in ((300, 0.01, 1.0), (4000, 0.1, 1.0), (100_000, 0.01, 0.3)):
        name = f"two rates, n={n}, rate {rate:g}, ε={epsilon:g}"
        coverage(name, rates(n, rate, epsilon, runs, rng), 0.0)
    for n, epsilon, least in ((1000, 3.0, None), (10_000, 1.0, None), (10_000, 1.0, 0.1)):
        kind = "random treatment" if least is None else "observed treatment"
        coverage(f"{kind}, n={n}, ε={epsilon:g}", effects(n, epsilon, least, runs, rng), 0.1)
    for relation in ("add_remove_one", "replace_one"):
        error = curves(relation, runs, rng)
        print(f"curve of 228 patients, {relation}: median largest error {error:.3f}")
    (ours, best), worst = hazards(4000, 1.0, min(runs, 20), rng)
    print(f"concordance, n=4000, ε=1: {ours:.3f}, Cox {best:.3f}, largest loss {worst:.3f}")
    name = "log rate ratio, n=20000, dispersion 2, ε=3"
    coverage(name, counts(20_000, 3.0, runs, rng), 0.8)


if __name__ == "__main__":
    main()
