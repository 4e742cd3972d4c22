"""What each sampler needs to come near one density: Figure 1 of Gopi, Lee and Liu (2022), measured.

Usage: OMP_NUM_THREADS=1 python benchmarks/bench_samplers.py [--draws 600] [--seconds 0.5]
       [--figure samplers.png] [--smallest]

The density is exp(−c·Σ hinge − |θ|²/2) of 50 records of norm 1 at most, Γ = 50·c = 1.5, in d = 1
and 10. Samplers that refuse the hinge loss, or are too slow with it, get a smoothed one (†) or the
logistic loss (‡). A sampler is run with more and more steps, or asked for less and less total
variation, whichever it takes, until its samples cannot be told from the density. Distance is that
of Kolmogorov and Smirnov between independent draws and the exact distribution: by quadrature in d =
1; in d = 10 from 20 000 draws of the sampler "exact", along the direction of their mean. Slow
samplers make fewer draws; noise alone is 0.9/√draws on average. An evaluation is of one record at
one point. The table names the first setting within 0.1. On the right of the picture, distances that
are proved.
"""

import argparse
import dataclasses
import time

import numpy as np
from scipy import stats

from skdp.exceptions import IncompatibleSolverError
from skdp.losses import HingeLoss, LogisticLoss, SmoothedHingeLoss
from skdp.research import draw_samples
from skdp.samplers import REFERENCE_SAMPLERS, SAMPLERS, Sampler

N, LIPSCHITZ, DIMENSIONS, NEAR, FEWEST = 50, 1.5, (1, 10), 0.1, 150
STEPS, ASKED, PROVED = (1, 4, 16, 64, 256, 1024), (0.5, 0.1, 0.01), (0.5, 0.1, 1e-2, 1e-4, 1e-8)
LONGEST = 10_000
LOSSES = {"": HingeLoss(), "†": SmoothedHingeLoss(0.5), "‡": LogisticLoss()}


@dataclasses.dataclass(frozen=True)
class Watched(Sampler):
    """A sampler at one setting of its dial, that notes evaluations and seconds of each draw."""

    inner: Sampler
    setting: float
    costs: list

    def check(self, *facts):
        """Check as the sampler does."""
        self.inner.check(*facts)

    def plan(self, setting, tv):
        """Return the run at this setting: a distance to ask for, or a number of steps."""
        if self.inner.certifies == "tv":
            plan = self.inner.plan(setting, self.setting)
        else:
            plan = dataclasses.replace(self.inner.plan(setting, 1e-6), n_steps=int(self.setting))
        if plan.n_steps > LONGEST:
            raise IncompatibleSolverError(f"{plan.n_steps} steps are too many here.")
        return plan

    def sample(self, target, plan, rng, progress):
        """Sample, and note what it cost."""
        start = time.perf_counter()
        draw = self.inner.sample(target, plan, rng, progress)
        self.costs.append((draw.diagnostics["n_evaluations"], time.perf_counter() - start))
        return draw


@dataclasses.dataclass(frozen=True)
class Case:
    """A density, and draws from it."""

    X: np.ndarray
    y: np.ndarray
    loss: object

    @classmethod
    def of(cls, d, loss):
        """Return the density in d dimensions."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(N, d))
        X /= np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(1.0, 2.0, size=(N, 1))
        X /= np.linalg.norm(X, axis=1).max()
        return cls(X, np.where(rng.random(N) < 0.9, np.sign(X[:, 0]), -np.sign(X[:, 0])), loss)

    def draws(self, sampler, count, seed):
        """Return independent draws."""
        return draw_samples(
            self.X,
            self.y,
            loss=self.loss,
            temperature=LIPSCHITZ / N,
            sampler=sampler,
            n_draws=count,
            random_state=seed,
        )

    def reference(self):
        """Return (a direction, the distribution function of the coordinate along it)."""
        if self.X.shape[1] > 1:
            draws = self.draws("exact", 20_000, 1)
            direction = draws.mean(axis=0) / np.linalg.norm(draws.mean(axis=0))
            points = np.sort(draws @ direction)
            return direction, lambda t: np.searchsorted(points, t) / points.size
        axis = np.linspace(-8.0, 8.0, 8001)
        losses = self.loss.value(self.y[:, None], self.X * axis)
        energy = 0.5 * axis**2 + LIPSCHITZ * losses.mean(axis=0)
        cumulative = np.cumsum(np.exp(energy.min() - energy))
        return np.ones(1), lambda t: np.interp(t, axis + 0.001, cumulative / cumulative[-1])


def dial(sampler, certified):
    """Return the settings to try."""
    if sampler.certifies == "tv":
        return PROVED if certified else ASKED
    return (1,) if sampler.certifies == "exact" or certified else STEPS


def measure(case, sampler, setting, options):
    """Return (draws, mean evaluations, mean seconds): as many draws as time allows."""
    watched, batches, seed = Watched(sampler, setting, []), [], 0
    while seed < options.draws:
        if sum(cost[1] for cost in watched.costs) > options.seconds and seed >= FEWEST:
            break
        count = 1 if seed == 0 else min(50, options.draws - seed)
        batches.append(case.draws(watched, count, seed))
        seed += count
    evaluations, seconds = np.mean(watched.costs, axis=0)
    return np.concatenate(batches), evaluations, seconds


def case_for(sampler, d):
    """Return the mark and the case of the first loss that the sampler takes."""
    for mark, loss in LOSSES.items():
        case = Case.of(d, loss)
        try:
            case.draws(Watched(sampler, dial(sampler, False)[0], []), 1, 0)
        except IncompatibleSolverError as error:
            reason = error
        else:
            return mark, case
    raise reason


def approach(case, sampler, options):
    """Yield (setting, draws, evaluations, seconds, distance) until the noise floor is reached."""
    direction, exact = case.reference()
    for setting in dial(sampler, False):
        try:
            draws, evaluations, seconds = measure(case, sampler, setting, options)
        except IncompatibleSolverError:
            return
        distance = stats.kstest(draws @ direction, exact).statistic
        yield setting, len(draws), evaluations, seconds, distance
        if distance < 1.2 / np.sqrt(len(draws)):
            return


def proofs(case, sampler, options):
    """Yield (total variation, evaluations) of what is proved."""
    if sampler.certifies not in ("tv", "exact"):
        return
    for tv in dial(sampler, True):
        try:
            _, evaluations, _ = measure(case, sampler, tv, options)
        except IncompatibleSolverError:
            return
        yield (tv if sampler.certifies == "tv" else 0.0), evaluations


def run_all(options):
    """Print the table; return {name: (label, approaches by d, proofs)}."""
    columns = [f"d = {d}: setting | draws | KS | evaluations | ms" for d in DIMENSIONS]
    print(f"| sampler | certificate | {' | '.join(columns)} | evaluations for TV 0.01 proved |")
    print("|---" * (3 + 5 * len(DIMENSIONS)) + "|")
    found = {}
    for name, kind in (SAMPLERS | REFERENCE_SAMPLERS).items():
        sampler, cells, ways, proved, mark = kind(), [], {}, {}, ""
        for d in DIMENSIONS:
            try:
                mark, case = case_for(sampler, d)
            except IncompatibleSolverError:
                cells += ["too long"] + 4 * ["–"]
                continue
            ways[d] = list(approach(case, sampler, options))
            cells += _cheapest(ways[d], mark)
            if d == DIMENSIONS[-1]:
                proved = dict(proofs(case, sampler, dataclasses.replace(options, draws=3)))
        found[name] = f"{name}{mark}", ways, proved
        cost = proved.get(0.01, proved.get(0.0))
        cells.append("" if cost is None else f"{cost:.3g}")
        print(f"| {name} | {sampler.certifies} | {' | '.join(cells)} |", flush=True)
    return found


def _cheapest(way, mark):
    """Return the cells of the first setting that comes near enough, or of the last."""
    near = [row for row in way if row[-1] <= NEAR]
    setting, n_draws, evaluations, seconds, distance = (near or way[-1:])[0]
    far = "" if near else " (not near)"
    cells = f"{setting:g}{mark}", str(n_draws), f"{distance:.3f}{far}", f"{evaluations:.3g}"
    return [*cells, f"{1e3 * seconds:.3g}"]


def draw_figure(found, path):
    """Plot distances measured in both dimensions, and distances proved."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(15, 5.2))
    colors = plt.get_cmap("tab20").colors
    for i, (label, ways, proved) in enumerate(found.values()):
        style = {"color": colors[i % 20], "label": label, "marker": "osD^v<>PX*hpd"[i % 13]}
        for d, way in ways.items():
            _, _, evaluations, _, distances = np.transpose(way)
            axes[DIMENSIONS.index(d)].plot(evaluations, distances, **style)
        if proved:
            tv, evaluations = np.transpose(list(proved.items()))
            axes[2].plot(evaluations, np.maximum(tv, 1e-10), **style)
    for axis, d in zip(axes, DIMENSIONS, strict=False):
        axis.axhline(NEAR, color="0.5", linewidth=1)
        axis.set(title=f"measured, d = {d}", ylabel="distance of Kolmogorov and Smirnov")
    axes[2].set(title=f"proved, d = {DIMENSIONS[-1]} (exact: TV = 0)", ylabel="total variation")
    for axis in axes:
        axis.set(xscale="log", yscale="log", xlabel="evaluations of one sample")
        axis.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7)
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    figure.savefig(path, dpi=150)


@dataclasses.dataclass(frozen=True)
class Options:
    """How much to spend on one setting."""

    draws: int
    seconds: float


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=600, help="most draws at one setting")
    parser.add_argument("--seconds", type=float, default=0.5, help="about the time for one setting")
    parser.add_argument("--figure", default=None, help="file for the figure")
    parser.add_argument("--smallest", action="store_true", help="two samples at one setting")
    options = parser.parse_args()
    if options.smallest:
        global STEPS, ASKED, PROVED, FEWEST, DIMENSIONS
        STEPS, ASKED, PROVED, FEWEST, DIMENSIONS = (1,), (0.5,), (0.5,), 2, (1,)
        options.draws, options.seconds = 2, 0.0
    found = run_all(Options(options.draws, options.seconds))
    if options.figure:
        draw_figure(found, options.figure)


if __name__ == "__main__":
    main()
