"""How well all releases of DPPCA and DPKMeans distinguish neighboring data sets.

`fit` adds Gaussian noise to one list of numbers after another. A second fit, to the neighboring
data set and with the same noisy numbers, shows the exact numbers of that data set. Both and the
planned noise give the exact log likelihood ratio of the release.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from skdp import DPPCA, DPKMeans
from skdp.auditing import MultiRunAudit
from skdp.privacy import Neighboring
from skdp.workloads.plan import GaussianPlan

FALSE_ALARM = 1e-6
RELEASE = GaussianPlan.release
RNG = np.random.default_rng()
N_ROWS = 2000
# At this ε (2.76-Gaussian DP) the audits of many runs need the fewest runs.
MODELS = {
    "pca": DPPCA(epsilon=15.0, delta=1e-5, n_components=1),
    "k-means": DPKMeans(epsilon=15.0, delta=1e-5, n_clusters=2),
}
SHAPES = {
    "all components": (DPPCA(epsilon=8.0), 4, 0.97),
    "clipped rows": (DPPCA(epsilon=8.0, n_components=1, data_norm=0.3), 2, 0.97),
    "one component of one column": (DPPCA(epsilon=8.0), 1, 0.93),
    "three clusters": (DPKMeans(epsilon=8.0, n_clusters=3, max_iter=1), 5, 0.97),
    "clusters in one column": (DPKMeans(epsilon=8.0, n_clusters=2), 1, 0.99),
    "one cluster": (DPKMeans(epsilon=8.0, n_clusters=1), 2, 0.9),
} | {name: (model, 2, 0.97) for name, model in MODELS.items()}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def worst_pair(n_columns, neighboring):
    """Return bounds, and neighboring data sets that are nearly the farthest apart in every step.

    A record lies in one corner of the box, or in the opposite one. The mean is close to a third
    corner, from which both are seen at a right angle, by Thales. They are in different shells, and
    beyond the radius. All other records are at two places that become two clusters, one on the
    side of each corner.
    """
    half = np.r_[1.0, np.full(n_columns - 1, 0.4 / math.sqrt(max(n_columns - 1, 1)))]
    first, center = half.copy(), half.copy()
    center[0] = -1.0 if n_columns > 1 else 0.3
    toward, away = np.zeros((2, n_columns))
    toward[0], away[1:] = 0.05, -0.125 * half[1:]
    rest = np.repeat([center + toward, center + away], N_ROWS // 2, axis=0)
    second = [-first] if neighboring.count_is_public else np.empty((0, n_columns))
    return [(-h, h) for h in half.tolist()], (np.r_[[first], rest], np.r_[second, rest])


class Release:
    """The exact numbers of a fit, the noisy numbers, and the planned noise.

    With `told`, the noisy numbers come from another fit. `noise` is a factor of the drawn noise.
    """

    def __init__(self, model, rows, *, seed, told=None, noise=1.0, groups=None):
        self.asked, self.noisy, self.scales = {}, {}, {}
        self.told, self.noise = told, noise
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(GaussianPlan, "release", lambda *call: self.release(*call))
            self.fitted = clone(model).set_params(random_state=seed).fit(rows, groups=groups)

    def release(self, plan, name, values, _):
        self.plan, self.asked[name] = plan, np.array(values, dtype=float)
        self.scales[name] = plan.scale(name)
        if self.told is None:
            drawn = RELEASE(plan, name, values, RNG) - self.asked[name]
            self.noisy[name] = self.asked[name] + self.noise * drawn
            return self.noisy[name]
        return self.told[name]


class Run:
    """A fit to one of two data sets, and its exact log likelihood ratio.

    `along` is the noise of each step in the only direction that distinguishes the data sets, in
    units of the planned noise: independent and standard normal, if the noise is as planned.
    """

    def __init__(self, model, worlds, true, *, noise=1.0):
        seed = int(RNG.integers(2**31))
        real = Release(model, worlds[true], seed=seed, noise=noise)
        other = Release(model, worlds[1 - true], seed=seed, told=real.noisy)
        self.claim, self.along, self.distances = real.fitted.privacy_, [], []
        for name, noisy in real.noisy.items():
            shift = np.ravel(other.asked[name] - real.asked[name]) / real.scales[name]
            drawn = np.ravel(noisy - real.asked[name]) / real.scales[name]
            distance = float(np.linalg.norm(shift))
            if distance > 0.0:
                self.distances.append(distance)
                self.along.append(float(shift @ drawn) / distance)
        for_other = np.dot(self.distances, self.along) - 0.5 * np.square(self.distances).sum()
        self.score = for_other if true else -for_other

    def share(self):
        """Distance of the data sets in units of the noise, as a share of the claimed μ."""
        return float(np.linalg.norm(self.distances)) / self.claim.gdp_mu


def prepared(model, n_columns, neighboring):
    bounds, worlds = worst_pair(n_columns, neighboring)
    return clone(model).set_params(bounds=bounds, neighboring=neighboring), worlds


@pytest.mark.slow
@pytest.mark.parametrize(("model", "n_columns", "least"), SHAPES.values(), ids=SHAPES)
def test_neighbors_are_as_far_apart_as_claimed(model, n_columns, least, relation):
    """Every run reaches the share `least` of the claimed μ, and none exceeds the claim."""
    model, worlds = prepared(model, n_columns, relation)
    for true in (0, 1):
        assert least <= Run(model, worlds, true).share() <= 1.0


HALF = np.array([1.0, 0.4])  # of the widths of two columns, around 0


def contributions(units, mean, radius, neighboring):
    """Return the contributions of records in [−1, 1]² to each step, by the page of proofs.

    The first direction and two clusters' centers are on the side of a corner and of another one.
    """
    counts, z = not neighboring.count_is_public, units * HALF - mean
    lengths = np.linalg.norm(z, axis=1)
    y, w = z / lengths[:, None], z / np.maximum(lengths, radius)[:, None]
    shells = np.searchsorted(np.linalg.norm(HALF) * 2.0 ** (np.arange(-31, 1) / 4.0), lengths)
    squares = w[:, 0] ** 2
    cluster = np.eye(2)[np.argmin(np.abs(w), axis=1)]
    count = 2.0**-0.25 if counts else 1.0
    return {
        "center": np.c_[units * np.sqrt(HALF / HALF.sum()), np.full(len(z), counts * count)],
        "radius": np.eye(32)[np.minimum(shells, 31)],
        "directions": y[:, :, None] * y[:, None, :],
        "variances": np.c_[squares, (w**2).sum(axis=1) - squares],
        "cells": np.eye(4)[2 * (z[:, 0] > 0.0) + (z[:, 1] > 0.0)],
        "step 0": cluster[:, :, None] * np.c_[np.full(len(z), count), w][:, None, :],
    }


@every_model
def test_no_pair_of_records_is_farther_apart_than_declared(model, relation):
    """40 000 pairs around 200 means; some reach .98 of the bound in all steps at once."""
    model, (rows, _) = prepared(clone(model), 2, relation)
    if isinstance(model, DPKMeans):
        model.set_params(max_iter=1)
    steps, rng, found = Release(model, rows, seed=0).plan.steps, np.random.default_rng(0), []
    for _ in range(200):
        mean = np.round(rng.uniform(-1.5, 1.5, 2)).clip(-0.97, 0.97) * HALF
        pairs = rng.uniform(-1.4, 1.4, (2, 200, 2)).clip(-1.0, 1.0)
        added, others = (contributions(u, mean, rng.random(), relation) for u in pairs)
        away = [added[s.name] - relation.count_is_public * others[s.name] for s in steps]
        distances = [np.linalg.norm(x.reshape(200, -1), axis=1) for x in away]
        found.append([d / s.l2_sensitivity for d, s in zip(distances, steps, strict=True)])
    shares = np.concatenate(found, axis=1)
    largest = shares.max(axis=1)
    assert ((largest >= 0.98) & (largest <= 1.0)).all()
    together = np.sqrt([step.share for step in steps] @ shares**2)
    assert 0.98 <= together.max() <= 1.0


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("n_rows", [None, 3], ids=["records", "persons"])
def test_some_neighbors_are_as_far_apart_as_declared(model, relation, n_rows):
    """Over all pairs of some records, all of them at the radius; else the noise could be less.

    The code answers here, not the formulas of the page. A person has the same row several times.
    """
    places = [(x, y) for x in np.linspace(-1.0, 3.0, 7) for y in np.linspace(0.0, 10.0, 7)]
    model = clone(model).set_params(neighboring=relation, bounds=([-1.0, 0.0], [3.0, 10.0]))
    copies = n_rows or 1
    worlds = [np.repeat([(0.9, 4.9), one], copies, axis=0) for one in places]
    if not relation.count_is_public:
        worlds.insert(0, worlds[0][:copies])
    shapes = {name: noisy.shape for name, noisy in Release(model, worlds[1], seed=0).noisy.items()}
    largest = dict.fromkeys(shapes, 0.0)
    for seed in range(12):  # of made-up centers, which records lie across from in turn
        rng = np.random.default_rng(seed)
        told = {name: 5.0 * rng.random(shape) for name, shape in shapes.items()}
        told["radius"] = np.r_[1.0, np.zeros(31)]
        asked = []
        for rows in worlds:
            groups = np.arange(len(rows)) // copies if n_rows else None
            release = Release(model, rows, seed=0, told=told, groups=groups)
            asked.append(release.asked)
        others = asked if relation.count_is_public else asked[:1]
        for one, other in itertools.product(asked, others):
            for name, answer in one.items():
                largest[name] = max(largest[name], np.linalg.norm(answer - other[name]))
    for step in release.plan.steps:
        assert 0.97 * step.l2_sensitivity <= largest[step.name] <= step.l2_sensitivity, step


def test_a_sensitivity_that_is_wrong_is_caught(monkeypatch):
    """Under replacement with the noise of add/remove."""
    monkeypatch.setattr(Neighboring.REPLACE_ONE, "n_changed", 1)
    model, worlds = prepared(MODELS["pca"], 2, Neighboring.REPLACE_ONE)
    assert Run(model, worlds, 0).share() > 1.1


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("noise", [1.0, 0.5])
def test_likelihood_ratios_have_the_noise_that_was_claimed(model, noise):
    """In directions that distinguish the data sets; half of it is caught.

    A false alarm has a probability of 2e-6, for the sum of squares is χ²-distributed. With at
    least 120 degrees of freedom in 30 runs, half the noise is missed with one below 1e-9.
    """
    model, worlds = prepared(model, 2, list(Neighboring)[RNG.integers(2)])
    runs = [Run(model, worlds, coin, noise=noise) for coin in RNG.integers(2, size=30)]
    squares = np.square([along for run in runs for along in run.along])
    level = stats.chi2.cdf(squares.sum(), squares.size)
    assert (FALSE_ALARM < level < 1.0 - FALSE_ALARM) == (noise == 1.0)


def audit(model, neighboring, n_runs, noise=1.0):
    """Return an audit of the claim, and the claim: no guess relies on the shape of the noise."""
    model, worlds = prepared(model, 2, neighboring)
    coins = RNG.integers(2, size=n_runs)
    runs = [Run(model, worlds, 1 - coin, noise=noise) for coin in coins]
    scores = [run.score for run in runs]
    return MultiRunAudit(scores, coins, n_guesses=int(0.85 * n_runs)), runs[0].claim


@pytest.mark.slow
@every_model
def test_a_lower_bound_on_mu_is_within_a_tenth_of_the_claim(model, relation):
    """Each assertion fails with a probability of 1e-6."""
    found, claim = audit(model, relation, 8000)
    assert found.lower_mu(0.95) >= 0.9 * claim.gdp_mu
    assert found.p_value(claim) > FALSE_ALARM


@pytest.mark.slow
@every_model
def test_half_the_noise_is_refuted(model, relation):
    """Missed with a probability below 1e-6: 8 of 850 guesses would have to be wrong.

    Nearly always this requires coins that have one of their sides 417 times or less.
    """
    found, claim = audit(model, relation, 1000, noise=0.5)
    assert found.p_value(claim) < FALSE_ALARM
