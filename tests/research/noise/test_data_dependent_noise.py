"""Noise with one density for each part of a range.

Statistical tests raise a false alarm with probability 1e-6 each, whatever the seed.
"""

import dataclasses
import itertools
import math
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from skdp.accounting import PLDAccountant
from skdp.budget import PrivacyBudget
from skdp.mechanisms import OptimizedNoise
from skdp.privacy import PrivacyGuarantee, SelfComposedEvent, event_from_dict
from skdp.research import DataDependentNoise

FALSE_ALARM = 1e-6
RELATION = "replace_one"
COARSE = (-432.0, -10.0, -5.0, -2.0, -1.0, 0.0, 1.0, 2.0, 5.0, 10.0, 432.0)
BANDS = (-432.0, *np.arange(-10.0, 10.1, 0.5), 432.0)


def even(parts):
    return tuple(np.linspace(-2.0, 2.0, parts + 1))


def wrong_side(ends, half, width):
    """|x|, and 1000 times that where the released number may be past 0 by more than 1."""
    lows = np.arange(-half, half) * width
    loss = np.abs(lows + 0.5 * width)
    rows = []
    for a, b in itertools.pairwise(ends):
        past = a + lows + width > 1.0 if b <= 0.0 else b + lows < -1.0
        rows.append(tuple(loss * np.where(past, 1000.0, 1.0)))
    return tuple(rows)


def test_four_parts_gain_much():
    noise = DataDependentNoise(1.0, 0.2, partition=even(4), sensitivity=2.0, cells=2)
    assert noise.objective == pytest.approx(0.956512, abs=2e-6)
    assert noise.objective < 1.162183 - 0.2
    lower, upper = noise.bracket
    assert 0.3255 < lower < upper == noise.objective
    assert (
        noise.bracket[0]
        <= DataDependentNoise(1.0, 0.2, partition=even(8), sensitivity=2.0).objective
    )


@pytest.mark.parametrize(
    ("arguments", "best"),
    [
        ({"delta": 0.2, "partition": (-2.0, 2.0)}, 1.132125),
        ({"delta": 0.2, "partition": even(8)}, 0.815253),
        ({"delta": 0.1, "partition": COARSE, "weights": (1.0,) * 10}, 1.370987),
    ],
)
def test_reference_values(arguments, best):
    assert DataDependentNoise(1.0, sensitivity=2.0, **arguments).objective == pytest.approx(
        best, abs=2e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "delta", "arguments", "best"),
    [
        (1.0, 0.2, {"partition": even(16), "sensitivity": 2.0, "cells": 8}, 0.733117),
        (1.0, 0.2, {"partition": range(0, 19, 2), "sensitivity": 10.0, "cells": 10}, 3.64988),
        (0.6, 0.2, {"partition": range(0, 19, 2), "sensitivity": 10.0, "cells": 10}, 4.15969),
        (0.6, 0.1, {"partition": range(0, 19, 2), "sensitivity": 10.0, "cells": 10}, 4.69538),
        (1.0, 0.1, {"partition": BANDS, "sensitivity": 2.0}, 1.393840),
        (1.0, 0.1, {"partition": BANDS, "sensitivity": 2.0, "weights": (1.0,) * 42}, 1.361216),
    ],
)
def test_larger_reference_values(epsilon, delta, arguments, best):
    """With equal weights on 42 parts a wider support than the reference's does better."""
    found = DataDependentNoise(epsilon, delta, **arguments).objective
    assert 0.99 * best < found < best + 1e-5


def test_one_part_is_noise_that_does_not_depend_on_the_value():
    one = DataDependentNoise(1.0, 0.2, partition=(-2.0, 2.0), sensitivity=2.0, cells=6)
    assert (
        one.objective
        >= OptimizedNoise(1.0, 0.2, sensitivity=2.0, cells=6).expected_loss("l1") - 1e-6
    )
    assert one.objective == pytest.approx(2.0 * 0.5600, rel=5e-3)


def test_costs_and_caps():
    costs = wrong_side(COARSE, 10, 0.5)
    noise = DataDependentNoise(
        1.0,
        0.1,
        partition=COARSE,
        sensitivity=2.0,
        loss="l1",
        weights=(1.0,) * 10,
        costs=costs,
        cap=1.42,
        half_cells=10,
    )
    assert noise.objective == pytest.approx(104.960, abs=1e-3)
    assert noise.losses("l1").max() <= 1.42 + 1e-6
    means = noise.probabilities @ (noise.edges[:-1] + 0.25)
    assert abs(means[0]) == pytest.approx(0.31, abs=0.02)
    assert means[0] == pytest.approx(-means[-1], abs=1e-9)


def test_a_cap_holds_and_costs():
    free = DataDependentNoise(1.0, 0.2, partition=even(8), sensitivity=2.0)
    capped = DataDependentNoise(1.0, 0.2, partition=even(8), sensitivity=2.0, cap=0.95)
    assert free.losses("l1").max() > 1.0
    assert capped.losses("l1").max() <= 0.95 + 1e-6
    assert free.objective < capped.objective < 0.95


NOISES = [
    DataDependentNoise(1.0, 0.2, partition=even(4), sensitivity=2.0, cells=2),
    DataDependentNoise(
        1.0,
        0.1,
        partition=(-3.0, -1.0, 0.0, 0.5, 4.0),
        sensitivity=1.0,
        loss="l2",
        weights=(1, 3, 3, 1),
        cells=2,
    ),
    DataDependentNoise(2.0, 1e-4, partition=(0.0, 1.0, 1.5), sensitivity=1.0, cells=2),
]
every_noise = pytest.mark.parametrize("noise", NOISES, ids=repr)


def density(noise, value):
    """The distribution of what is released for a value: ends of its cells, and masses."""
    part = int(np.searchsorted(noise.partition, value, side="right")) - 1
    return value + noise.edges, noise.probabilities[part]


def direct_delta(noise, here, there, epsilon):
    """∫ (f(y | here) − e^ε·f(y | there))_+ dy, by the breakpoints of both."""
    (x, p), (y, q) = density(noise, here), density(noise, there)
    ends = np.unique(np.concatenate([x, y]))
    sums = [np.concatenate([[0.0], np.cumsum(mass)]) for mass in (p, q)]
    first, second = (np.diff(np.interp(ends, e, s)) for e, s in zip((x, y), sums, strict=True))
    return np.maximum(first - math.exp(epsilon) * second, 0.0).sum()


@every_noise
def test_any_two_neighbors_are_private_and_the_event_covers_them(noise):
    rng = np.random.default_rng()
    low, high = noise.partition[0], noise.partition[-1]
    curve = noise.event.curve(RELATION)
    assert event_from_dict(noise.event.to_dict()) == noise.event
    claims = {epsilon: curve.delta(epsilon) for epsilon in (0.0, noise.epsilon, 3.0)}
    assert 0.999 * noise.delta < claims[noise.epsilon] <= noise.delta
    worst = 0.0
    for _ in range(400):
        here = rng.uniform(low, high)
        there = rng.uniform(max(low, here - noise.sensitivity), min(high, here + noise.sensitivity))
        for epsilon, claim in claims.items():
            found = direct_delta(noise, here, there, epsilon)
            assert found <= claim * (1 + 1e-9) + 1e-12
            worst = max(worst, found / claim)
    assert worst > 0.5


def test_knots_that_are_whole_cells_apart_reach_the_delta():
    noise = NOISES[0]
    ends = np.array(noise.partition)
    values = np.concatenate([ends[:-1], ends[1:] - 1e-9])
    near = [(a, b) for a in values for b in values if 0.0 < abs(a - b) <= 2.0]
    worst = max(direct_delta(noise, a, b, 1.0) for a, b in near)
    assert worst == pytest.approx(0.2, rel=1e-5)


@every_noise
def test_samples_have_the_distribution_of_their_part_and_cost_what_the_event_says(
    noise, monkeypatch
):
    """On a grid of 8 to 15 steps in a sensitivity; all values, all neighbors."""
    monkeypatch.setattr("skdp.mechanisms.grid_gaussian._BITS_OF_SENSITIVITY", 3)
    noise = dataclasses.replace(noise)
    step = noise.step
    sums = [np.concatenate([[0.0], np.cumsum(masses)]) for masses in noise.probabilities]
    reach = round(noise.edges[-1] / step)
    n = np.arange(-reach, reach + 1)
    mass = [np.diff(np.interp(n * step, noise.edges, s)) for s in sums]
    cells = np.diff(noise.edges)[0] / step
    ends = np.array(noise.event.event.partition) * round(cells)
    middle = ends.size // 2
    value = ends[middle] * step
    rng = np.random.default_rng()
    draws = [noise.release(value, rng) for _ in range(2000)]
    places = np.round(np.array(draws) / step).astype(int) - ends[middle]
    expected = mass[middle] * 2000.0
    seen = expected >= 20.0
    counts = np.bincount(places + reach, minlength=expected.size)
    assert counts.size == expected.size
    counts = np.append(counts[seen], counts[~seen].sum())
    expected = np.append(expected[seen], expected[~seen].sum())
    statistic = ((counts - expected) ** 2 / np.maximum(expected, 20.0)).sum()
    assert stats.chi2.sf(statistic, seen.sum()) > FALSE_ALARM
    farthest = math.ceil(noise.sensitivity / step)
    claim = noise.event.curve(RELATION).delta(noise.epsilon)
    for here in range(ends[0], ends[-1]):
        for there in range(here + 1, min(here + farthest + 1, ends[-1])):
            p, q = (mass[np.searchsorted(ends, v, side="right") - 1] for v in (here, there))
            shift = there - here
            p, q = np.pad(p, (0, shift)), np.pad(q, (shift, 0))
            for a, b in ((p, q), (q, p)):
                worst = np.maximum(a - math.exp(noise.epsilon) * b, 0.0).sum()
                assert worst <= claim + 1e-12


def test_values_are_clipped_to_the_range_and_none_is_refused():
    noise = NOISES[0]
    for value, near in ((-1e9, -2.0), (2.0, 2.0), (math.inf, 2.0), (math.nan, 0.0), (-0.5, -0.5)):
        released = noise.release(value, np.random.default_rng())
        assert type(released) is float
        assert abs(released - near) <= noise.edges[-1] + 1e-6
        assert released / noise.step == round(released / noise.step)


def test_symmetric_costs_have_mirrored_noise():
    masses = NOISES[0].probabilities
    assert np.abs(masses - masses[::-1, ::-1]).max() < 1e-14


def test_it_composes():
    event = NOISES[0].event
    accountant = PLDAccountant(RELATION)
    assert accountant.delta(event, 1.0) <= 0.2
    assert 0.2 < accountant.delta(SelfComposedEvent(event, 2), 2.0) <= 0.3601


def test_it_is_a_value():
    noise = NOISES[0]
    assert pickle.loads(pickle.dumps(noise)) == noise
    assert eval(repr(noise), {"DataDependentNoise": DataDependentNoise}) == noise
    again = DataDependentNoise(1.0, 0.2, partition=list(even(4)), sensitivity=2.0, cells=2)
    assert again == noise
    assert hash(again) == hash(noise)
    tenfold = DataDependentNoise(
        1.0, 0.2, partition=[-20, -10, 0, 10, 20], sensitivity=20.0, cells=2
    )
    assert tenfold.objective == pytest.approx(10.0 * noise.objective, rel=1e-6)
    assert tenfold.bracket[0] == pytest.approx(10.0 * noise.bracket[0], rel=1e-6)


REFUSED = [
    ({"partition": (2.0, 1.0)}, "partition must be at least two increasing multiples"),
    ({"partition": (0.0,)}, "partition must be at least two increasing multiples"),
    ({"partition": (0.0, 0.3)}, "multiples of sensitivity/cells = 0.25"),
    ({"partition": (0.0, math.inf)}, "partition[1] must be a number"),
    ({"partition": 3.0}, "partition must be a sequence of numbers"),
    ({"weights": (1.0,)}, "weights must be 2 numbers"),
    ({"weights": (1.0, -1.0)}, "weights[1] must be a number in (0"),
    ({"sensitivity": 0.0}, "sensitivity must be a number"),
    ({"delta": 0.0}, "delta must be a number"),
    ({"cap": 0.0}, "cap must be a number"),
    ({"cap": 0.01}, "No noise on"),
    ({"half_cells": 1}, "No noise on"),
    ({"costs": ((1.0, 2.0),)}, "costs must be finite numbers in 2 rows"),
    ({"partition": tuple(range(60)), "cells": 20}, "more than 50000"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_cannot_be_is_refused(arguments, message):
    usual = {"epsilon": 1.0, "delta": 0.1, "partition": (0.0, 1.0, 2.0)}
    with pytest.raises(ValueError, match=re.escape(message)):
        DataDependentNoise(**usual | arguments).event  # noqa: B018


def test_a_lower_bound_is_not_claimed_for_uneven_parts():
    with pytest.raises(ValueError, match=r"parts of equal width "):
        NOISES[1].bracket  # noqa: B018


@pytest.mark.filterwarnings("ignore:delta=0.4 of the budget:UserWarning")
def test_a_ledger_with_such_a_release_opens_in_a_new_process(tmp_path):
    """There nothing of research was imported: the event's name is all that the ledger keeps."""
    path = tmp_path / "ledger"
    noise = DataDependentNoise(1.0, 0.2, partition=even(4), sensitivity=2.0, cells=2)
    budget = PrivacyBudget(epsilon=2.0, delta=0.4, composition="basic", path=path)
    budget.spend(PrivacyGuarantee(noise.event, "replace_one", "test"), delta=0.2, name="a mean")
    code = (
        "import sys, skdp, skdp.privacy\n"
        "assert not [name for name in sys.modules if name.startswith('skdp.research')]\n"
        "terms = {'epsilon': 2.0, 'delta': 0.4, 'composition': 'basic'}\n"
        f"budget = skdp.PrivacyBudget(**terms, path={str(path)!r})\n"
        "(release,) = budget.history()\n"
        "print(repr(skdp.privacy.event_from_dict(release['event'])))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{noise.event!r}\n"
