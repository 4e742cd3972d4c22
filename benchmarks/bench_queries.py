"""Evaluations by the sampler from values beside its upper bound and lower bounds for any sampler.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_queries.py [--steepest 4] [--figure queries.png]
       [--smallest]

Gopi, Lee and Liu (2022). The hard instance of Section 7: records s_i ~ N(δv, σ²I), v a random
corner of the cube, f(θ; s) = ⟨θ, s⟩. The sampler sees values only, as `draw_black_box` does.

Left: evaluations for a sample within TV 0.01 of exp(−E f − μ|θ|²/2) against G²/μ, G² = E|s|². Each
of the T steps of `AlternatingSchedule` asks for 4e/(1 − δ_in) values on average, at most. Lower
bounds on the mean number of evaluations by any such sampler, for many records: a sample gets wrong
at most a fraction Φ(−δ/√μ) + TV of the signs of −v, while Lemma 7.4 allows no algorithm with k
evaluations fewer than (1 − δ√k/(σ√d))/2; for δ = √μ/2 that makes k ≥ 0.52·dσ²/μ. Corollary 7.7 goes
by way of risks and loses a constant: with its O's written out it is k ≥ G²/(1296μ) − d/4 for small
TV.

Middle: the density of a private fit has Γ²/(kμ) = (nm/2)², m(ε, δ) the Gaussian-DP parameter; so
evaluations grow like n²ε² (Theorem 6.4).

Right: population risk of the sample, projected to the unit ball, against its evaluations, on the
instance that is hardest for that number; Theorem 7.1. Its last step, 1/√(1 + x) ≥ min(1, 1/√x),
fails by up to √2; what its proof shows is GD/(16·√(1 + 4k/d)), and that is drawn.
"""

import argparse
import math
import time

import numpy as np
from scipy.stats import norm

from skdp.accounting import gdp_mu
from skdp.research import BlackBox
from skdp.research.samplers.zeroth_order import AlternatingSchedule, ZerothOrderSampler

TV, D_LEFT, ROWS_LEFT, OFFSET = 0.01, 8, 4000, 0.5
STEEPNESSES = 2.0 ** np.arange(-1, 9)
ENOUGH = 200_000
SIZES, EPSILONS, D_MIDDLE = (25, 50, 100, 200, 400, 800), (0.1, 0.3, 1.0), 5
D_RIGHT, ROWS_RIGHT, WEIGHTS = 20, 20_000, (0.25, 0.5, 1.0, 2.0, 4.0)


def black_box(s, weight, prior_precision, norm_bound):
    """Return weight·mean ⟨θ, s_i⟩ + (prior_precision/2)·|θ|² by its values."""
    n, d = s.shape
    assert np.linalg.norm(s, axis=1).max() <= norm_bound
    scaled = s * (weight / n)
    lipschitz = weight / n * norm_bound
    return BlackBox(
        lambda rows, theta: scaled[rows] @ theta,
        n_terms=n,
        lipschitz=lipschitz,
        prior_precision=prior_precision,
        shape=(d,),
    )


def instance(n, d, delta, sigma, rng):
    """Return v and n records of the hard instance."""
    v = rng.choice([-1.0, 1.0], size=d)
    return v, delta * v + sigma * rng.normal(size=(n, d))


def longest(n, d, delta, sigma):
    """Return a bound that all |s_i| of an instance keep but for a probability of 1e-6."""
    return delta * math.sqrt(d) + sigma * (math.sqrt(d) + math.sqrt(2.0 * math.log(1e6 * n)))


def allowed(potential):
    """Return an upper bound of the expected number of evaluations."""
    return AlternatingSchedule.within(
        TV,
        lipschitz=potential.n_terms * potential.lipschitz,
        prior_precision=potential.prior_precision,
        dimension=potential.dimension,
    ).expected_evaluations


def draw(potential, rng, enough=ENOUGH):
    """Return a sample, and means over enough of them: evaluations, and seconds."""
    start, n_draws, n_evaluations = time.perf_counter(), 0, 0
    while n_evaluations < enough:
        found = ZerothOrderSampler().sample_black_box(potential, TV, rng)
        n_evaluations += found.diagnostics["n_evaluations"]
        n_draws += 1
    return found.theta, n_evaluations / n_draws, (time.perf_counter() - start) / n_draws


def by_signs(delta, sigma, mu, d):
    """Return the lower bound by Lemma 7.4: signs that the target itself would show."""
    wrong = norm.cdf(-delta / math.sqrt(mu)) + TV
    return (1.0 - 2.0 * wrong) ** 2 * d * sigma**2 / delta**2


def by_corollary(delta, sigma, mu, d):
    """Return the lower bound by the proof of Corollary 7.7, its constants written out."""
    G, D = math.sqrt(d * (delta**2 + sigma**2)), math.sqrt(d / mu)
    excess = d + mu * D**2 / 8.0 + TV * (G * D + mu * D**2 / 8.0)
    return max(0.25 * d * ((G * D / (16.0 * excess)) ** 2 - 1.0), 0.0)


def left_rows(steepest, rng):
    """Yield (G²/μ, evaluations, upper bound, by Lemma 7.4, by Corollary 7.7, seconds), μ = 1."""
    for lipschitz in STEEPNESSES:
        sigma, delta = lipschitz / math.sqrt(D_LEFT), OFFSET
        _, s = instance(ROWS_LEFT, D_LEFT, delta, sigma, rng)
        potential = black_box(s, 1.0, 1.0, longest(ROWS_LEFT, D_LEFT, delta, sigma))
        evaluations = seconds = math.nan
        if lipschitz <= steepest:
            _, evaluations, seconds = draw(potential, rng)
        upper = allowed(potential)
        lower = by_signs(delta, sigma, 1.0, D_LEFT), by_corollary(delta, sigma, 1.0, D_LEFT)
        yield D_LEFT * (delta**2 + sigma**2), evaluations, upper, *lower, seconds


def middle_rows(steepest, rng):
    """Yield (ε, n, evaluations, upper bound, seconds) for densities of private fits."""
    for epsilon in EPSILONS:
        m = gdp_mu(epsilon, 1e-5)
        for n in SIZES:
            s = rng.normal(size=(n, D_MIDDLE))
            s /= np.linalg.norm(s, axis=1, keepdims=True)
            mu = math.sqrt(2.0 * D_MIDDLE) / (n * m)
            k = mu * (0.5 * n * m) ** 2
            potential, evaluations, seconds = (
                black_box(s, k, k * mu, 1.0 + 1e-9),
                math.nan,
                math.nan,
            )
            if 0.5 * n * m <= steepest:
                _, evaluations, seconds = draw(potential, rng)
            upper = allowed(potential)
            yield epsilon, n, evaluations, upper, seconds


def right_rows(steepest, rng):
    """Yield (evaluations, G, excess risk, its standard error, lower bound), hardest for each."""
    for weight in WEIGHTS:
        if weight > steepest:
            return
        planned = allowed(_on_the_ball(0.0, weight, rng)[1])
        delta = 0.5 * math.sqrt(D_RIGHT / planned)
        risks, counts = np.transpose([_one_risk(delta, weight, rng) for _ in range(6)])
        G = math.sqrt(D_RIGHT * (1.0 + delta**2))
        lower = 2.0 * G / (16.0 * math.sqrt(1.0 + 4.0 * counts.mean() / D_RIGHT))
        yield counts.mean(), G, risks.mean(), risks.std() / math.sqrt(5.0), lower


def _one_risk(delta, weight, rng):
    v, potential = _on_the_ball(delta, weight, rng)
    found = ZerothOrderSampler().sample_black_box(potential, TV, rng)
    theta = found.theta / max(1.0, float(np.linalg.norm(found.theta)))
    return delta * (theta @ v + math.sqrt(D_RIGHT)), found.diagnostics["n_evaluations"]


def _on_the_ball(delta, weight, rng):
    """Return v and a density of radius about 1 on the instance of σ = 1."""
    v, s = instance(ROWS_RIGHT, D_RIGHT, delta, 1.0, rng)
    norm_bound = longest(ROWS_RIGHT, D_RIGHT, delta, 1.0)
    return v, black_box(s, weight, float(D_RIGHT), norm_bound)


def show(title, header, rows):
    """Print a table as its rows come in; return them."""
    print(f"\n{title}\n\n| {header} |\n{'|---' * (header.count('|') + 1)}|")
    kept = []
    for row in rows:
        kept.append(row)
        print(f"| {' | '.join(f'{value:.3g}' for value in row)} |", flush=True)
    return np.array(kept)


def draw_figure(left, middle, right, path):
    """Plot the three tables."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(14, 4.6))
    steep, evaluations, upper, lower, corollary, _ = left.T
    axes[0].plot(steep, upper, "k-", label="allowed, Theorem 5.6 with constants")
    axes[0].plot(steep, evaluations, "o", color="tab:blue", label="measured")
    axes[0].plot(steep, lower, "-", color="tab:red", label="lower bound, Lemma 7.4")
    seen = corollary > 0.0
    axes[0].plot(
        steep[seen], corollary[seen], "--", color="tab:red", label="lower bound, Corollary 7.7"
    )
    axes[0].set(
        ylim=(0.05, 1e15),
        xlabel="G²/μ",
        ylabel="evaluations",
        title=f"hard instance, d = {D_LEFT}, TV {TV:g}",
    )
    for epsilon, color in zip(EPSILONS, ("tab:green", "tab:orange", "tab:purple"), strict=True):
        _, n, found, bound, _ = middle[middle[:, 0] == epsilon].T
        axes[1].plot(n, bound, "-", color=color)
        axes[1].plot(n, found, "o", color=color, label=f"ε = {epsilon:g}")
    axes[1].plot(SIZES, 30.0 * np.square(SIZES), ":", color="0.5", label="slope of n²")
    axes[1].set(xlabel="records n", title="densities of private fits: lines allowed")
    counts, G, risks, errors, floor = right.T
    axes[2].errorbar(
        counts, risks / G, 2.0 * errors / G, fmt="o", color="tab:blue", label="measured"
    )
    axes[2].plot(counts, floor / G, "-", color="tab:red", label="lower bound, Theorem 7.1")
    axes[2].set(xlabel="evaluations", ylabel="excess risk / G", title=f"Theorem 7.1, d = {D_RIGHT}")
    for axis in axes:
        axis.set(xscale="log", yscale="log")
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=9)
    axes[1].set_xticks(SIZES, [str(n) for n in SIZES])
    axes[1].set_xticks([], minor=True)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steepest", type=float, default=4.0, help="largest Γ/√μ; time is ~ its²")
    parser.add_argument("--figure", default=None, help="file for the figure")
    parser.add_argument("--smallest", action="store_true", help="densities of small Γ only")
    options = parser.parse_args()
    rng, limit = np.random.default_rng(0), 0.25 if options.smallest else options.steepest
    left = show(
        "Hard instance of Section 7",
        "G²/μ | evaluations | upper bound | Lemma 7.4 | Corollary 7.7 | s",
        left_rows(limit, rng),
    )
    middle = show(
        "Densities of private fits",
        "ε | n | evaluations | upper bound | s",
        middle_rows(limit, rng),
    )
    right = show(
        "Risk on the instance of Theorem 7.1",
        "evaluations | G | excess risk | standard error | lower bound",
        right_rows(limit, rng),
    )
    if options.figure:
        draw_figure(left, middle, right, options.figure)


if __name__ == "__main__":
    main()
