"""
Log-concave samplers: which one works for a non-smooth density?
===============================================================

Accuracy and cost of samplers for a log-concave density that is not smooth.

The density is that of one coefficient with the hinge loss, and is not smooth at 1. Each panel shows
the samples of one sampler and the exact density. Samplers with a proved distance are run for a
distance of 0.6 in total variation. The others make a short run. † marks a smoothed hinge, and ‡ the
logistic loss. Estimators accept the first six samplers. The others are references.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace

import matplotlib.pyplot as plt
import numpy as np

from skdp.exceptions import IncompatibleSolverError
from skdp.losses import HingeLoss, LogisticLoss, SmoothedHingeLoss
from skdp.research import draw_samples
from skdp.samplers import REFERENCE_SAMPLERS, SAMPLERS, Sampler

LOSSES = {"": HingeLoss(), "†": SmoothedHingeLoss(0.5), "‡": LogisticLoss()}
X, Y, C = np.ones((20, 1)), np.ones(20), 0.06
STEPS = {"stable": 20, "asymptotic": 50}
COLORS = {"exact": "tab:green", "tv": "tab:purple", "stable": "tab:blue", "asymptotic": "0.6"}
AXIS = np.linspace(-2.5, 3.7, 500)


@dataclass(frozen=True)
class Watched(Sampler):
    """A sampler, cut short where nothing depends on it, and what its samples cost."""

    inner: Sampler
    evaluations: list = field(default_factory=list)

    def check(self, *facts):
        """Refuse what the sampler refuses."""
        self.inner.check(*facts)

    def plan(self, setting, tv):
        """Take few steps."""
        plan = self.inner.plan(setting, tv)
        return replace(plan, n_steps=STEPS.get(self.inner.certifies, plan.n_steps))

    def sample(self, target, plan, rng, progress):
        """Sample, and note the evaluations."""
        draw = self.inner.sample(target, plan, rng, progress)
        self.evaluations.append(draw.diagnostics["n_evaluations"])
        return draw


def show(axis, name, sampler, loss, mark):
    """Compare samples with the density."""
    watched = Watched(sampler)
    options = {"loss": loss, "temperature": C, "tv": 0.6, "n_draws": 200, "random_state": 0}
    draws = draw_samples(X, Y, sampler=watched, **options)[:, 0]
    density = np.exp(-C * loss.value(Y[:, None], X * AXIS).sum(axis=0) - 0.5 * AXIS**2)
    axis.hist(draws, AXIS[::21], density=True, color=COLORS[sampler.certifies], alpha=0.5)
    axis.plot(AXIS, density / (density.sum() * (AXIS[1] - AXIS[0])), color="black")
    passes = np.mean(watched.evaluations) / len(Y)
    axis.set_title(f"{name}{mark}\n{passes:,.{1 if passes < 10 else 0}f} passes", fontsize=11)
    axis.spines[["left", "right", "top"]].set_visible(False)
    axis.set_yticks([])


def main():
    """Draw a panel for each sampler."""
    samplers = [*SAMPLERS.items(), *REFERENCE_SAMPLERS.items()]
    rows = -(-len(samplers) // 5)
    figure, axes = plt.subplots(rows, 5, figsize=(13, 2.5 * rows), sharey=True)
    for axis, (name, kind) in zip(axes.flat, samplers, strict=False):
        for mark, loss in LOSSES.items():
            with suppress(IncompatibleSolverError):
                show(axis, name, kind(), loss, mark)
                break
    patches = [plt.Rectangle((0, 0), 1, 1, fc=color, alpha=0.5) for color in COLORS.values()]
    figure.legend(patches, COLORS, title="what is proved", loc="lower center", ncols=4)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    plt.show()


if __name__ == "__main__":
    main()
