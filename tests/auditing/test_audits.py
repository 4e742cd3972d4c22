"""The two audits: a true claim is refuted at most as often as stated, a false one is found."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

from skdp import statistics
from skdp.accounting import gdp_mu
from skdp.auditing import MultiRunAudit, OneRunAudit
from skdp.privacy import (
    ApproxDPEvent,
    Event,
    GaussianCurve,
    GDPEvent,
    LaplaceEvent,
    PrivacyGuarantee,
    PureDPEvent,
)

MU = gdp_mu(3.0, 1e-5)
LEVELS = np.array([0.2, 0.05, 0.01, 1e-3, 1e-5])


def claim(event, neighboring="replace_one"):
    return PrivacyGuarantee(event, neighboring, "a test")


def gaussian_coins(rng, mu, m):
    members = rng.integers(2, size=m)
    return members * mu + rng.standard_normal(m), members


def with_right(kind, m, r, v):
    """An audit of m scores with r guesses, v of which are right."""
    low = r // 2
    members = np.zeros(m, dtype=int)
    members[m - (r - low) :] = 1  # all are right now
    wrong = np.r_[np.arange(low), np.arange(m - (r - low), m)][: r - v]
    members[wrong] = 1 - members[wrong]
    audit = kind(np.arange(m), members, n_guesses=r)
    assert audit.n_right == v
    return audit


def distribution_of_right_guesses(mu, m, r):
    """Exact distribution of the right guesses among the r surest of m independent Gaussian scores.

    By |score|, not by halves: the surest have the largest posteriors, which is the worst case. Of
    all r, conditional on the distance t of the (r + 1)-th, independent with a common probability.
    """
    t, step = np.linspace(0.0, 8.0, 4001, retstep=True)
    right, wrong = stats.norm.sf(t, mu / 2), stats.norm.sf(t, -mu / 2)
    share = right + wrong
    density = stats.norm.pdf(t, mu / 2) + stats.norm.pdf(t, -mu / 2)
    weights = stats.beta.pdf(share, r + 1, m - r) * density * step
    return stats.binom.pmf(np.arange(r + 1)[:, None], r, right / share) @ weights


@pytest.mark.parametrize(("mu", "m", "r"), [(MU, 60, 40), (0.27, 60, 20), (2.0, 30, 10)])
@pytest.mark.parametrize("kind", [MultiRunAudit, OneRunAudit])
def test_the_true_claim_is_refuted_at_most_at_the_level_by_the_exact_law(kind, mu, m, r):
    law = distribution_of_right_guesses(mu, m, r)
    assert law.sum() == pytest.approx(1.0, abs=1e-6)
    values = np.array(
        [with_right(kind, m, r, v).p_value(claim(GDPEvent(mu))) for v in range(r + 1)]
    )
    assert (np.diff(values) <= 1e-12).all()
    rates = np.array([law[values <= level].sum() for level in LEVELS])
    assert (rates <= LEVELS + 1e-9).all()
    tails = law[::-1].cumsum()[::-1]
    if kind is MultiRunAudit:  # which loses nothing but rounding, one run must lose something
        seen = tails > 1e-7
        np.testing.assert_allclose(values[seen], tails[seen], rtol=0.1)
        assert (values[seen] >= tails[seen] - 1e-9).all()


@pytest.mark.parametrize("kind", [MultiRunAudit, OneRunAudit])
@pytest.mark.parametrize("event", [GDPEvent(0.7), PureDPEvent(0.8), ApproxDPEvent(0.5, 0.05)])
def test_all_guesses_of_independent_coins_are_binomial(kind, event):
    """Every score is guessed: the largest accuracy is (1 + δ(0))/2."""
    m, bound = 40, claim(event)
    right = 0.5 * (1.0 + float(bound.delta(0.0)))
    values = np.array([with_right(kind, m, m, v).p_value(bound) for v in range(m + 1)])
    exact = stats.binom.sf(np.arange(m + 1) - 1, m, right)
    assert (values >= exact * (1 - 1e-9)).all()
    if kind is MultiRunAudit:
        np.testing.assert_allclose(values, exact, rtol=1e-9)


def brute_force(posteriors, chances, m, r, v):
    """P(v or more right) where runs have one of a few posteriors and the r surest are guessed."""
    total = 0.0
    for counts in np.ndindex(*([m + 1] * len(posteriors))):
        if sum(counts) != m:
            continue
        chance = stats.multinomial.pmf(counts, m, chances)
        law, left = np.ones(1), r
        for q, count in sorted(zip(posteriors, counts, strict=True), reverse=True):
            taken = min(count, left)
            law = np.convolve(law, stats.binom.pmf(np.arange(taken + 1), taken, q))
            left -= taken
        total += chance * law[v:].sum()
    return total


def test_no_release_that_keeps_a_claim_is_right_more_often_than_the_bound():
    """Random finite releases, each with the least claim that it keeps: its own curve."""
    rng, m, r = np.random.default_rng(), 6, 4
    for _ in range(20):
        posteriors = rng.uniform(0.5, 1.0, size=3)
        chances = rng.dirichlet(np.ones(3))
        bound = claim(_Finite(tuple(posteriors), tuple(chances)))
        for v in range(r + 1):
            value = with_right(MultiRunAudit, m, r, v).p_value(bound)
            assert value >= brute_force(posteriors, chances, m, r, v) * (1 - 1e-9)


class _Finite(Event):
    """A release whose posteriors max(q, 1 − q) are a few numbers, as often on either side."""

    def __init__(self, posteriors, chances):
        object.__setattr__(self, "parts", (posteriors, chances))

    def curve(self, neighboring):
        q, chance = (np.array(part) for part in self.parts)

        class Curve:
            def delta(self, epsilon):
                ratio = np.exp(np.asarray(epsilon, dtype=float))[..., None]
                return (chance * np.maximum(q - ratio * (1 - q), 0.0)).sum(axis=-1)

            def reversed(self):
                return self

        return Curve()


def test_noise_of_half_the_size_is_found_in_100_runs_a_side():
    """At ε = 3 and level .01 with probability .965: of 200 audits, 170 fail to with p < 1e-10."""
    rng = np.random.default_rng()
    found = [
        MultiRunAudit(*gaussian_coins(rng, 2 * MU, 200)).p_value(claim(GDPEvent(MU))) <= 0.01
        for _ in range(200)
    ]
    assert sum(found) > 170


def test_right_noise_is_refuted_as_seldom_as_stated():
    """At level 1e-3, of 200 audits, more than 6 with probability below 1e-8."""
    rng = np.random.default_rng()
    values = [
        MultiRunAudit(*gaussian_coins(rng, MU, 200)).p_value(claim(GDPEvent(MU)))
        for _ in range(200)
    ]
    assert sum(value <= 1e-3 for value in values) <= 6


def test_bounds_on_mu_lie_below_the_truth_and_rise_with_the_runs():
    """Above the truth with probability 1e-6 each."""
    rng, bounds = np.random.default_rng(), []
    for m in (200, 2000, 20_000):
        audit = MultiRunAudit(*gaussian_coins(rng, 1.5, m))
        bounds.append(audit.lower_mu(1 - 1e-6))
    assert max(bounds) <= 1.5
    assert bounds[0] < bounds[2]
    assert bounds[2] > 1.3
    assert MultiRunAudit(*gaussian_coins(rng, 0.0, 100)).lower_mu(1 - 1e-9) == 0.0


def two_sided_geometric(rng, epsilon, n):
    """Noise of a count that is epsilon-DP, and not less: differences of geometric numbers."""
    one, other = rng.geometric(-np.expm1(-epsilon), size=(2, n))
    return one - other


def in_blocks(rng, epsilon, n):
    """Integer scores: n runs on each of two neighbors, one after the other."""
    noise = two_sided_geometric(rng, epsilon, 2 * n)
    return np.repeat([0, 1], n) + noise, np.repeat([0, 1], n)


@pytest.mark.parametrize("kind", [MultiRunAudit, OneRunAudit])
@pytest.mark.parametrize("n", [5, 300])
def test_the_order_of_runs_and_the_scale_of_scores_change_nothing(kind, n):
    rng = np.random.default_rng()
    scores, members = in_blocks(rng, 1.0, n)
    audit = kind(scores, members)
    orders = [np.arange(2 * n)[::-1], np.lexsort((members, scores)), rng.permutation(2 * n)]
    for order in orders:
        other = kind(scores[order], members[order])
        assert other.n_right == audit.n_right
        assert other.p_value(claim(PureDPEvent(1.0))) == audit.p_value(claim(PureDPEvent(1.0)))
    assert kind(np.exp(0.1 * scores), members).n_right == audit.n_right


@pytest.mark.parametrize("kind", [MultiRunAudit, OneRunAudit])
def test_integer_scores_in_blocks_do_not_refute_a_true_claim(kind):
    """By position ties gave p = 1e-15. The probability of less than 1e-6 is 1e-6."""
    audit = kind(*in_blocks(np.random.default_rng(), 1.0, 2000))
    assert audit.p_value(claim(PureDPEvent(1.0))) > 1e-6
    assert audit.lower_mu(1 - 1e-6) < claim(PureDPEvent(1.0)).gdp_mu


@pytest.mark.parametrize("kind", [MultiRunAudit, OneRunAudit])
@pytest.mark.parametrize("n", [13, 60, 159])
def test_a_constant_score_refutes_a_true_claim_no_more_often_than_said(kind, n):
    """The exact probability over fair coins: an audit depends on their sum alone."""
    weak, refuted = claim(GDPEvent(1e-3)), 0.0
    for total in range(n + 1):
        members = np.arange(n) < total
        if kind(np.zeros(n), members).p_value(weak) <= 0.05:
            refuted += stats.binom.pmf(total, n, 0.5)
    assert refuted <= 0.05


def test_a_lot_reaches_the_guesses_that_are_counted():
    """Lots by brute force: a share of .95 of them is right as often, but for 6 standard errors."""
    rng = np.random.default_rng()
    scores, members = rng.integers(4, size=40), rng.integers(2, size=40)
    audit, lots = MultiRunAudit(scores, members), 4000
    order = np.argsort(scores + rng.random((lots, 40)), axis=1)
    low = members[order[:, : audit.n_guesses // 2]]
    high = members[order[:, 40 - (audit.n_guesses - audit.n_guesses // 2) :]]
    reached = (high.sum(axis=1) + (1 - low).sum(axis=1) >= audit.n_right).mean()
    assert reached > 0.95 - 6.0 * np.sqrt(0.05 * 0.95 / lots)


@pytest.mark.parametrize("sign", [1, -1])
def test_integer_scores_refute_a_false_claim(sign):
    """Noise for ε = 2 under a claim of 1: missed with probability below 1e-9."""
    rng = np.random.default_rng()
    members = rng.integers(2, size=4000)
    scores = sign * (members + two_sided_geometric(rng, 2.0, 4000))
    audit = MultiRunAudit(scores, members if sign == 1 else 1 - members)
    assert audit.p_value(claim(PureDPEvent(1.0))) < 1e-6


@pytest.mark.parametrize(
    ("kind", "delta"), [(MultiRunAudit, 0.0), (MultiRunAudit, 1e-3), (OneRunAudit, 0.0)]
)
def test_the_bound_on_epsilon_is_below_the_truth_and_close_to_it(kind, delta):
    """Randomized response, every run guessed: above the truth with probability 1e-6.

    A standard error of the share of right guesses is .007; .6 is 11 of them below ε = 1.
    """
    rng, epsilon, m = np.random.default_rng(), 1.0, 4000
    members = rng.integers(2, size=m)
    told = rng.random(m) < 1.0 / (1.0 + np.exp(-epsilon))
    audit = kind(np.where(told, members, 1 - members), members, n_guesses=m)
    lower = audit.lower_epsilon(delta, 1 - 1e-6)
    assert 0.6 < lower <= epsilon
    refuted, kept = (claim(ApproxDPEvent(lower + step, delta)) for step in (0.0, 2e-3))
    assert audit.p_value(refuted) <= 1.002e-6 < audit.p_value(kept) * 1.002


def test_noise_that_is_not_gaussian_has_no_epsilon_above_its_own():
    """Noise of ε = 3. The ε of equally weak Gaussian noise is above 3, the bound is not."""
    rng = np.random.default_rng()
    members = rng.integers(2, size=4000)
    audit = MultiRunAudit(members + two_sided_geometric(rng, 3.0, 4000), members)
    assert audit.lower_epsilon(0.0, 1 - 1e-6) <= 3.0
    assert GaussianCurve(audit.lower_mu(1 - 1e-6)).epsilon(1e-5) > 3.0
    for delta in (-0.1, 1.0, np.nan):
        with pytest.raises(ValueError, match="delta"):
            audit.lower_epsilon(delta)


def test_nothing_refuted_gives_bounds_of_0():
    audit = MultiRunAudit(np.zeros(100), np.arange(100) % 2)
    bounds = [audit.lower_mu, audit.lower_epsilon]
    assert [bound(confidence=1 - 1e-9) for bound in bounds] == [0.0] * 2


def largest_chance(bound, m, r, v, epsilon):
    """The largest Pr[V >= v] of p_0, ..., p_r that the claim allows, by a linear program."""
    delta, ratio = np.asarray(bound.delta(epsilon)), np.exp(epsilon)
    slopes, intercepts = np.r_[1 / ratio, ratio], np.r_[-delta / ratio, 1 - delta - ratio]
    number = np.arange(r + 1)
    at_least = number >= number[:, None]
    right, wrong = at_least * number / m, at_least * (r - number) / m
    least_wrong = np.concatenate([slope * right[1:] - wrong[:-1] for slope in slopes])
    limits, all_one = np.repeat(-intercepts, r), np.ones((1, r + 1))
    return -linprog(-(number >= v).astype(float), least_wrong, limits, all_one, [1.0]).fun


def test_the_recursion_of_one_run_is_the_linear_program():
    """64 cases: an (ε, δ) claim has two lines, a Gaussian one those of a grid, as in the audit."""
    rng = np.random.default_rng()
    gaussian = np.r_[np.linspace(0.0, 3.0, 121)[:-1], np.geomspace(3.0, 60.0, 120)[:20]]
    for case in range(64):
        m = rng.integers(6, 25)
        r = rng.integers(2, m + 1)
        v = rng.integers(r // 2 + 1, r + 1)
        event = ApproxDPEvent(rng.uniform(0.1, 3.0), rng.choice([0.0, 1e-3, 0.05]))
        grid = np.array([event.epsilon])
        if case % 2:
            event, grid = GDPEvent(rng.uniform(0.2, 1.5)), gaussian
        found = with_right(OneRunAudit, m, r, v).p_value(claim(event))
        expected = largest_chance(claim(event), m, r, v, grid)
        assert found == pytest.approx(expected, rel=1.1e-3, abs=1e-7)  # 1e-3 by the bisection


def test_one_run_finds_an_error_of_a_factor_four():
    """1000 Gaussian canaries at four times the μ that is claimed: 25 wrong guesses would pass."""
    rng = np.random.default_rng()
    audit = OneRunAudit(*gaussian_coins(rng, 4 * MU, 1000))
    assert audit.p_value(claim(GDPEvent(MU))) < 1e-3
    assert MU < audit.lower_mu(1 - 1e-3) <= 4 * MU


@pytest.mark.parametrize("m", [10, 1000])
@pytest.mark.parametrize("offsets", [0.0, 2.0])
def test_the_bound_from_sums_of_gaussian_scores_misses_as_seldom_as_stated(m, offsets):
    """At 80 % more than 76 of 200 bounds are too high at most once in 1e8."""
    assert stats.binom.sf(76, 200, 0.2) < 1e-8
    rng, high = np.random.default_rng(), 0
    for _ in range(200):
        scores, members = gaussian_coins(rng, 1.0, m)
        scores = 3.0 + 0.1 * (scores + offsets * rng.standard_normal(m))
        high += OneRunAudit(scores, members).gaussian_mu(0.8) > 1.0
    assert high <= 76
    assert high >= 9 or offsets > 0.0  # below once in 1e8: the bound is exact


def test_the_bound_from_sums_is_the_quantile_of_a_noncentral_t():
    scores, members = gaussian_coins(np.random.default_rng(), 1.0, 60)
    audit, parts = OneRunAudit(scores, members), [scores[members == one] for one in (1, 0)]
    h = (1.0 / parts[0].size + 1.0 / parts[1].size) ** -0.5
    t = stats.ttest_ind(*parts).statistic
    bound = audit.gaussian_mu(0.9)
    tail = stats.nct.sf(t, 58, np.array([bound, bound + 2e-3]) * h) if bound else [0.0, 1.0]
    assert tail[0] <= 0.1 <= tail[1] + 2e-3


def test_independent_canaries_prove_four_fifths_of_mu_in_one_run():
    """One bound of sums is below .8 with probability .08, of guesses .14: half of 41 below 1e-6."""
    assert stats.binom.sf(20, 41, 0.16) < 1e-6
    rng = np.random.default_rng()
    audits = [gaussian_coins(rng, 1.0, 1000) for _ in range(41)]
    assert np.median([OneRunAudit(*audit).gaussian_mu() for audit in audits]) >= 0.8
    assert np.median([MultiRunAudit(*audit).lower_mu() for audit in audits]) >= 0.8


def test_no_audit_of_one_run_is_as_sharp_for_every_release():
    """The release of *Audits*: .8-Gaussian DP by its curve, and the sum refutes it too often."""
    epsilon = np.linspace(0.0, 4.0, 1601)
    cut = np.minimum(epsilon, 2.0) + 0.5
    clipped = stats.norm.sf(cut - 1.0) - np.exp(epsilon) * stats.norm.sf(cut)
    assert (
        0.17 * np.maximum(clipped, 0.0) <= GDPEvent(0.8).curve("replace_one").delta(epsilon)
    ).all()
    rng, high = np.random.default_rng(), 0
    for _ in range(100):
        scores, members = gaussian_coins(rng, 1.0, 1000)
        high += OneRunAudit(np.clip(scores, -1.5, 2.5), members).gaussian_mu() > 0.8
    assert 0.17 * high / 100 > 0.05  # fails up to 29 of 100; 90 are expected: below 1e-9


def test_sums_of_scores_without_information_or_noise_have_bounds():
    members = np.arange(100) % 2
    assert OneRunAudit(np.zeros(100), members).gaussian_mu() == 0.0
    assert OneRunAudit(1.0 - members, members).gaussian_mu() == 0.0
    assert OneRunAudit(np.arange(100), np.zeros(100)).gaussian_mu() == 0.0
    assert OneRunAudit([0.0, 1.0], [0, 1]).gaussian_mu() == 0.0
    assert OneRunAudit(1.0 * members, members).gaussian_mu() == pytest.approx(30.0, abs=1e-2)


@pytest.mark.parametrize(
    ("call", "more"),
    [
        (statistics.count, {}),
        (statistics.mean, {"bounds": (0.0, 1.0)}),
        (statistics.quantile, {"bounds": (0.0, 1.0), "q": 0.5}),
    ],
)
def test_statistics_survive_an_audit(call, more, neighboring):
    """A right one is refuted with probability 1e-6."""
    one, other = np.r_[1.0, np.full(9, 0.0)], np.zeros(10)
    other = other if neighboring == "replace_one" else other[1:]
    if call is statistics.count:
        one, other = one > 0, other > 0

    def release(x, rng):
        found = call(x, epsilon=1.0, neighboring=neighboring, random_state=rng, **more)
        release.guarantee = found.privacy
        return float(np.nan_to_num(np.ravel(found.value)[0], nan=-1.0))  # noise may outweigh it

    audit = MultiRunAudit.run(release, one, other, n_runs=60)
    assert audit.p_value(release.guarantee) > 1e-6


def test_a_count_with_the_noise_of_another_epsilon_is_caught():
    """Laplace noise for ε = 4 under a claim of 1: missed with probability below 1e-6."""

    def release(x, rng):
        return float(statistics.count(x, epsilon=4.0, random_state=rng).value)

    audit = MultiRunAudit.run(release, [True] * 3, [True, True, False], n_runs=800)
    assert audit.p_value(claim(LaplaceEvent(1.0))) < 1e-6
    assert audit.p_value(claim(LaplaceEvent(0.25))) > 1e-6


def test_the_audit_is_the_same_again_with_the_same_seed():
    def release(x, rng):
        return x + rng.standard_normal()

    one, again = (MultiRunAudit.run(release, 1.0, 0.0, 50, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(one.scores, again.scores)
    np.testing.assert_array_equal(one.members, again.members)


def test_roc_has_the_errors_of_every_threshold():
    audit = MultiRunAudit([3.0, 2.0, 1.0, 0.0], [1, 0, 1, 0])
    false_positives, false_negatives = audit.roc()
    assert false_positives.tolist() == [0.0, 0.0, 0.5, 0.5, 1.0]
    assert false_negatives.tolist() == [1.0, 0.5, 0.5, 0.0, 0.0]


def test_roc_has_no_threshold_between_equal_scores():
    for members in ([1, 0, 1, 0], [0, 1, 0, 1]):
        false_positives, false_negatives = MultiRunAudit([2.0, 2.0, 1.0, 1.0], members).roc()
        assert false_positives.tolist() == [0.0, 0.5, 1.0]
        assert false_negatives.tolist() == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("kind", [MultiRunAudit, OneRunAudit])
def test_scores_and_coins_that_make_no_sense_are_refused(kind):
    for scores, members in [
        ([1.0], [1]),
        ([1.0, 2.0], [1]),
        ([1.0, np.nan], [1, 0]),
        ([1.0, 2.0], [1, 2]),
    ]:
        with pytest.raises(ValueError, match="scores"):
            kind(scores, members)
    for n in (0, 3, 1.5):
        with pytest.raises(ValueError, match="n_guesses"):
            kind([1.0, 2.0], [1, 0], n_guesses=n)
